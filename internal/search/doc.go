// Package search finds files by name and lines by content below a root
// directory, in process and faster than a spawned ripgrep.
//
// An [Engine] answers four questions: [Engine.Grep] finds matching lines,
// [Engine.Glob] finds paths, [Engine.Files] lists what a search would look at
// and [Engine.List] shows a directory breadth first. All take an [os.Root] and
// touch nothing outside it but the ignore files of the repository around it.
//
// # How it works
//
// One pass walks and searches: workers share a stack of directories, read a
// directory's entries at once and so know which ignore files there are without asking for them,
// and search its files themselves. On Linux directories and files are opened by descriptor; the
// kernel refuses links and anything outside the root. Elsewhere the same walk
// runs on os.Root. What a pattern must contain is looked for first (package
// pattern), and what cannot be found that way is read by an automaton with a
// bounded table (package lazydfa), so no pattern is slow.
//
// Results are the newest files first, ties by path, whatever order the walk
// had. Only as many are kept as were asked for.
//
// # What it says about itself
//
// A search never claims more than it did. [Stats] counts what was passed over
// and why, Result.Exact says whether totals are totals, and a search that ran
// into its timeout returns what it has with TimedOut set.
//
// # Which files
//
// Ignore files are obeyed as git does; see package ignore for sources and
// precedence. A path that the caller names is searched even if a rule excludes
// it. Hidden files are searched, version control directories are not. Links are
// not followed unless asked for, never lead outside the root, and no directory
// is entered twice through them. FIFOs and devices are never opened.
//
// # Which lines
//
// Expressions are those of package regexp: \w, \d, \s and \b are ASCII, there
// is no look-around. A line ends before "\n" or "\r\n"; a class, also the dot,
// matches well-formed UTF-8 only. Text in UTF-16 with a byte order mark is
// decoded, other encodings if the host supplies Options.Decode. A file with a
// NUL byte in its first 64 KiB is binary and passed over; in a larger file the
// search ends at the block of a later NUL.
package search
