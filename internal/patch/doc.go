// Package patch reads patches as models write them and plans what they change.
//
// Two notations are understood: the envelope between "*** Begin Patch" and
// "*** End Patch", and unified diffs. Hunks are found by their lines, with the
// forgiveness of package match; line numbers in a patch prove nothing. Lines of
// context keep the bytes that the file has, new lines get the indentation and
// the line ending of their place, and a file without a final line break stays
// without one.
//
// [Plan] is pure: it reads files through a function and returns what they would
// become. Either every hunk of every file has its one place or nothing is
// planned.
package patch
