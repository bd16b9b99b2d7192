package shellscan

import (
	"strings"
	"unicode/utf8"
)

// Match reports whether a rule's pattern covers s: * is any run of characters, also of slashes, blanks and newlines, ? is any
// one character, everything else stands for itself. Both ends are anchored. A pattern that ends in a blank and a star also
// covers what is before them: "ls *" covers "ls".
func Match(pattern, s string) bool {
	if short, ok := strings.CutSuffix(pattern, " *"); ok && matchRunes(short, s) {
		return true
	}
	return matchRunes(pattern, s)
}

// matchRunes is linear in practice and never worse than the product of the lengths. Unknown parts of s match only stars.
func matchRunes(p, s string) bool {
	star, mark := -1, 0
	i, j := 0, 0
	for i < len(s) {
		r, n := utf8.DecodeRuneInString(s[i:])
		if j < len(p) {
			if p[j] == '*' {
				star, mark = j, i
				j++
				continue
			}
			q, m := utf8.DecodeRuneInString(p[j:])
			if q == r && !placeholder(r) || p[j] == '?' && !placeholder(r) {
				i += n
				j += m
				continue
			}
		}
		if star < 0 {
			return false
		}
		_, n = utf8.DecodeRuneInString(s[mark:])
		mark += n
		i, j = mark, star+1
	}
	for j < len(p) && p[j] == '*' {
		j++
	}
	return j == len(p)
}

func placeholder(r rune) bool { return r == Unknown || r == UnknownWords || r == inBlank }

const maxCells = 4 << 20 // of the tables below

// mayMatch reports whether s may be covered when its unknown parts have some value.
func mayMatch(pattern, s string) bool {
	if !strings.ContainsRune(s, Unknown) && !strings.ContainsRune(s, UnknownWords) {
		return Match(pattern, s)
	}
	if short, ok := strings.CutSuffix(pattern, " *"); ok && mayMatchRunes([]rune(short), []rune(s)) {
		return true
	}
	return mayMatchRunes([]rune(pattern), []rune(s))
}

func mayMatchRunes(p, s []rune) bool {
	if len(p)*len(s) > maxCells {
		return true
	}
	// at[j]: what is read of s may be covered by p[:j].
	at, next := make([]bool, len(p)+1), make([]bool, len(p)+1)
	at[0] = true
	closeStars := func(row []bool) {
		for j := range p {
			if row[j] && p[j] == '*' {
				row[j+1] = true
			}
		}
	}
	closeStars(at)
	for i, r := range s {
		clear(next)
		switch {
		case r == Unknown || r == UnknownWords:
			run := false
			for j := 0; j <= len(p); j++ {
				run = run || at[j]
				next[j] = run
				if j < len(p) && p[j] == ' ' && r == Unknown {
					run = false
				}
			}
		default:
			for j := 0; j < len(p); j++ {
				if at[j] && (p[j] == '*' || p[j] == '?' || p[j] == r) {
					if p[j] == '*' {
						next[j] = true
					} else {
						next[j+1] = true
					}
				}
			}
			if r == ' ' && i+1 < len(s) && s[i+1] == UnknownWords { // the words may be none
				for j := range at {
					next[j] = next[j] || at[j]
				}
			}
		}
		closeStars(next)
		at, next = next, at
	}
	return at[len(p)]
}

// spells reports whether pattern covers s so that the bytes from..to of it stand in the pattern, not under a star.
func spells(pattern, s string, from, to int) bool {
	if short, ok := strings.CutSuffix(pattern, " *"); ok && spellsRunes(short, s, from, to) {
		return true
	}
	return spellsRunes(pattern, s, from, to)
}

func spellsRunes(pattern, s string, from, to int) bool {
	p := []rune(pattern)
	if len(p)*len(s) > maxCells {
		return false
	}
	at, next := make([]bool, len(p)+1), make([]bool, len(p)+1)
	at[0] = true
	for i, r := range s {
		hard := i >= from && i < to
		for j := range p {
			if at[j] && p[j] == '*' {
				at[j+1] = true
			}
		}
		clear(next)
		for j := range p {
			if !at[j] {
				continue
			}
			switch {
			case p[j] == '*':
				next[j] = next[j] || !hard
			case p[j] == r && !placeholder(r), p[j] == '?' && !hard && !placeholder(r):
				next[j+1] = true
			}
		}
		at, next = next, at
	}
	for j := range p {
		if at[j] && p[j] == '*' {
			at[j+1] = true
		}
	}
	return at[len(p)]
}
