package search

import (
	"time"

	"github.com/agenttool/tool/internal/search/pattern"
)

// Limits that apply where a query says 0.
const (
	DefaultLimit      = 100
	DefaultMaxPerFile = 20
	DefaultLineWidth  = 200
)

// Hidden says what happens to names that begin with a dot.
type Hidden uint8

const (
	// HiddenShown treats them like others. Version control directories are
	// passed over in any case.
	HiddenShown Hidden = iota
	// HiddenNamed passes them over unless a pattern or include names something
	// that begins with a dot.
	HiddenNamed
	// HiddenSkipped passes them over.
	HiddenSkipped
)

// Privacy says what may be done with a file.
type Privacy uint8

const (
	Public Privacy = iota
	Secret         // its name may be told, its content may not
	Denied         // neither
)

// A Scope says which files a query is about. The zero value is every file below
// the root that is not ignored.
type Scope struct {
	// Paths are files and directories relative to the root, or globs if nothing
	// of that name exists. None means the root. A directory named here is
	// searched even if it is hidden or ignored, and a file whatever the rest of
	// the scope says.
	Paths []string
	// Include, if not empty, admits only files that match one of the globs. One
	// that begins with "!" excludes instead. A glob with a slash is relative to
	// the path searched or to the root.
	Include []string
	// Exclude are globs of files and directories to pass over.
	Exclude []string
	// Types, if not empty, admits only files of these kinds: "go", "ts", ...; see Types.
	Types []string
	// NoIgnore searches ignored files too.
	NoIgnore bool
	Hidden   Hidden
	// Follow enters links to files and directories below the root.
	Follow bool
	// MaxDepth is how many directories deep to go; 0 means any depth. (What is
	// more than 1000 deep is counted as unreadable.)
	MaxDepth int
	// Private, if not nil, is asked about every file before it is opened, with
	// its path relative to the root. The content of one that is not public is not
	// touched, and Glob passes over what is denied. Files does not ask it. It is
	// called concurrently.
	Private func(path string) Privacy
	// Timeout ends the search; what was found so far is returned. 0 means none
	// but that of the context.
	Timeout time.Duration

	left bool // only what ignore rules and Hidden leave out
}

// Output says what is wanted of the files that match.
type Output uint8

const (
	Lines     Output = iota // the matching lines
	FilesOnly               // only which files match
	Counts                  // how many lines match in each file
)

// A Query is what Grep is asked.
type Query struct {
	Scope
	Pattern string
	// Case, Literal, Word and Multiline say how the pattern is meant; see
	// pattern.Options. A pattern that names "\n" is multiline by itself.
	Case      pattern.Case
	Literal   bool
	Word      bool
	Multiline bool

	Output Output
	// Limit is how many lines, or with another Output files, are returned; 0
	// means DefaultLimit, less than 0 all.
	Limit int
	// Offset is how many to leave out first, for the next page.
	Offset int
	// MaxPerFile is how many lines of one file are returned; 0 means
	// DefaultMaxPerFile, less than 0 all.
	MaxPerFile int
	// Before and After are how many lines around each match are returned with it.
	Before, After int
	// LineWidth is how many characters of a line are returned, around the match;
	// 0 means DefaultLineWidth, less than 0 all of up to 64 KiB.
	LineWidth int
	// Spans locates every match within the lines returned, which costs more
	// than finding the lines. Matches in lines that are cut are located anyway.
	Spans bool
	// TotalsWithin is how long files are searched just to know the totals. After
	// that, once enough lines of newer files are known, older files are not
	// opened any more and Result.Exact is false. 0 means always know the totals,
	// less than 0 never search a file for that alone.
	TotalsWithin time.Duration
	// Hints is how long to look for reasons when nothing was found; 0 means not
	// at all.
	Hints time.Duration
}

// A Result is what Grep found.
type Result struct {
	// Files are the newest files that match, newest first, ties by path.
	Files []FileMatch
	// Matches and MatchedFiles count all matching lines (matches, if multiline)
	// and files. They are lower bounds unless Exact.
	Matches, MatchedFiles int
	// Exact says that every file in scope that is text and could be read was
	// searched to its end. If it is set, Matches is 0 and Stats.Skipped is 0,
	// there is no match.
	Exact bool
	// TimedOut says that Scope.Timeout or the deadline of the context ended the search.
	TimedOut bool
	// More is how many of the lines (files) counted follow the page returned.
	More int
	// Multiline says that matches could span lines.
	Multiline bool
	Stats     Stats
	Hints     *Hints // only if nothing was found and Query.Hints asked for them
}

// A FileMatch is a file with matching lines.
type FileMatch struct {
	Path    string // relative to the root, separated by slashes
	ModTime time.Time
	Size    int64
	Lines   []Line // in order; with context lines among them
	// Count is how many lines of the file match, at least; it is exact if
	// Result.Exact is. With FilesOnly it is 1.
	Count int
	// More is how many matching lines of the file are not in Lines because of
	// MaxPerFile.
	More int
}

// A Line is a line of a result. Its text is valid UTF-8 without the line break.
type Line struct {
	Number int    // from 1
	Text   string // the line, or the part around the match
	// Column is the position of the first match in the line, in bytes from 1; 0
	// if it was not located (Query.Spans), and for context lines.
	Column int
	// Spans are matches within Text, as byte offsets; of a line that was cut
	// only the one that is shown.
	Spans [][2]int
	// CutBefore and CutAfter say that Text is a part of the line.
	CutBefore, CutAfter bool
	Context             bool // not a match itself
	Continued           bool // belongs to the match that began on a line before
}

// Stats say what a walk saw and what it left out, and why.
type Stats struct {
	Dirs     int   // directories read
	Files    int   // files in scope
	Searched int   // files whose content was searched, to the end or as far as needed
	Bytes    int64 // bytes of content read

	Ignored     int // entries left out by ignore rules; a directory counts once
	HiddenFiles int // entries left out by Scope.Hidden
	Binary      int // files with NUL bytes
	TooLarge    int // files too large for multiline search or for decoding
	Private     int // files left out because Scope.Private said Secret
	Denied      int // files left out because it said Denied
	Unreadable  int // files and directories that could not be opened or read
	Special     int // directories of virtual file systems
	Links       int // links not followed, among them those that lead nowhere
	Older       int // files not opened because newer ones filled the result
	Deep        int // directories below Scope.MaxDepth

	// Problems name the first few of what was Unreadable, TooLarge or Special.
	Problems []Problem
}

// Skipped is the number of files and directories in scope whose content is
// unknown to the search for other reasons than being asked to leave them out.
func (s *Stats) Skipped() int {
	return s.Binary + s.TooLarge + s.Private + s.Denied + s.Unreadable + s.Special
}

// A Problem is a path that could not be searched.
type Problem struct {
	Path string
	Err  error
}

const maxProblems = 10

func (s *Stats) problem(path string, err error) {
	if len(s.Problems) < maxProblems {
		s.Problems = append(s.Problems, Problem{path, err})
	}
}

func (s *Stats) add(o *Stats) {
	s.Dirs += o.Dirs
	s.Files += o.Files
	s.Searched += o.Searched
	s.Bytes += o.Bytes
	s.Ignored += o.Ignored
	s.HiddenFiles += o.HiddenFiles
	s.Binary += o.Binary
	s.TooLarge += o.TooLarge
	s.Private += o.Private
	s.Denied += o.Denied
	s.Unreadable += o.Unreadable
	s.Special += o.Special
	s.Links += o.Links
	s.Older += o.Older
	s.Deep += o.Deep
	for _, p := range o.Problems {
		s.problem(p.Path, p.Err)
	}
}

// Hints are reasons why nothing was found. Counts are lower bounds unless
// Complete.
type Hints struct {
	OtherCase int  // matches if case is ignored
	Ignored   int  // matches in ignored or hidden files
	Literal   int  // matches if the pattern is taken as plain text
	Complete  bool // everything was looked at within the time allowed
	// Paths are the newest few of what Glob counted in OtherCase.
	Paths []string
}

const hintPaths = 3

// A GlobQuery is what Glob is asked.
type GlobQuery struct {
	Scope
	// Pattern is a glob; see package glob. Its leading part without wildcards
	// is where the search begins, and is not hidden by ignore rules. Without a slash
	// it matches names at any depth.
	Pattern string
	// Dirs finds directories too; a pattern that ends in a slash finds only them.
	Dirs bool
	// Fold ignores case.
	Fold bool
	// Limit is how many paths are returned; 0 means DefaultLimit, less than 0
	// all. Offset is how many to leave out first.
	Limit, Offset int
	// Hints is how long to look for reasons when nothing was found.
	Hints time.Duration
}

// A GlobResult is what Glob found.
type GlobResult struct {
	Entries []Entry // newest first, ties by path
	Total   int     // how many paths match, at least; exact if Exact
	More    int     // how many of them follow Entries
	Exact   bool
	// TimedOut says that Scope.Timeout or the deadline of the context ended the search.
	TimedOut bool
	// Hidden counts matches in this walk that ignore rules or the hidden policy
	// left out; what lies in an ignored directory is not among them.
	Hidden int
	Stats  Stats
	Hints  *Hints
}

// An Entry is a path with its status. A link is listed as a link.
type Entry struct {
	Path    string
	ModTime time.Time
	Size    int64
	Dir     bool
	Link    bool
	Exec    bool
}
