// Package wildcard matches the patterns of permission rules.
package wildcard

import (
	"strings"
	"unicode/utf8"
)

// Match reports whether all of s matches pattern, as package permission documents
// it: * is any run of characters, ? exactly one, and a pattern that ends in a
// space and a star also matches without that tail.
func Match(pattern, s string) bool {
	if FoldsCase {
		pattern, s = strings.ToLower(pattern), strings.ToLower(s)
	}
	if wild(pattern, s) {
		return true
	}
	head, ok := strings.CutSuffix(pattern, " *")
	return ok && wild(head, s)
}

// wild is Match without its two exceptions. Each piece between two stars is
// looked for where it first occurs, which is enough, as what is left for the
// later pieces is then longest.
func wild(pattern, s string) bool {
	star := strings.IndexByte(pattern, '*')
	if star < 0 {
		n, ok := prefix(pattern, s)
		return ok && n == len(s)
	}
	n, ok := prefix(pattern[:star], s)
	if !ok {
		return false
	}
	s, pattern = s[n:], pattern[star+1:]
	for {
		star = strings.IndexByte(pattern, '*')
		if star < 0 {
			return suffix(pattern, s)
		}
		if s, ok = after(pattern[:star], s); !ok {
			return false
		}
		pattern = pattern[star+1:]
	}
}

// prefix reports whether s begins with piece, which has no star, and how many
// bytes of s that takes.
func prefix(piece, s string) (n int, ok bool) {
	for i := 0; i < len(piece); i++ {
		if n == len(s) {
			return 0, false
		}
		if piece[i] == '?' {
			_, size := utf8.DecodeRuneInString(s[n:])
			n += size
			continue
		}
		if piece[i] != s[n] {
			return 0, false
		}
		n++
	}
	return n, true
}

// suffix reports whether s ends with piece, which has no star.
func suffix(piece, s string) bool {
	if strings.IndexByte(piece, '?') < 0 {
		return strings.HasSuffix(s, piece)
	}
	for i := len(piece) - 1; i >= 0; i-- {
		if s == "" {
			return false
		}
		if piece[i] == '?' {
			_, size := utf8.DecodeLastRuneInString(s)
			s = s[:len(s)-size]
			continue
		}
		if piece[i] != s[len(s)-1] {
			return false
		}
		s = s[:len(s)-1]
	}
	return true
}

// after returns what follows the first occurrence of piece, which has no star, in s.
func after(piece, s string) (rest string, ok bool) {
	if strings.IndexByte(piece, '?') < 0 {
		_, rest, ok = strings.Cut(s, piece)
		return rest, ok
	}
	if len(piece) > wordBits && len(s) > len(piece) && utf8.ValidString(piece) {
		n, ok := newShiftAnd(piece).end(s)
		return s[n:], ok
	}
	for {
		if n, ok := prefix(piece, s); ok {
			return s[n:], true
		}
		if s == "" {
			return "", false
		}
		_, size := utf8.DecodeRuneInString(s)
		s = s[size:]
	}
}
