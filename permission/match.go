package permission

import "github.com/agenttool/tool/internal/wildcard"

// Match reports whether all of s matches pattern. In a pattern, * stands for any
// run of characters, also an empty one, also over slashes and newlines; ? stands
// for exactly one character; everything else stands for itself. There are no
// classes, braces or escapes, and ** is just two stars. A pattern that ends in a
// space and a star also matches without that tail: "git *" matches "git" and
// "git push", but not "gitk".
//
// Case counts, except on Windows, where names that differ only in case are one
// file or program and are compared that way.
//
// The time is linear in len(s), but for a long piece with ? between two stars, which adds
// one step for each 64 of its characters: 4 KiB of them against 64 KiB take some
// milliseconds. Nothing is allocated but for such a piece, and for folding case
// on Windows.
func Match(pattern, s string) bool { return wildcard.Match(pattern, s) }
