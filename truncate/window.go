package truncate

import (
	"strings"
	"unicode/utf8"
)

// headEnd returns the end of the longest beginning of s within maxBytes and
// maxLines (negative: no limit) that ends well: after a line if that leaves at
// least half of the bytes, else after a character. It looks at no more than
// maxBytes of s. whole says that s is not itself a beginning of something longer.
func headEnd(s string, maxBytes, maxLines int, whole bool) int {
	w := s
	if maxBytes >= 0 && maxBytes < len(s) {
		w = s[:maxBytes]
	}
	if maxLines >= 0 && maxLines < len(w) {
		if end := afterLines(w, maxLines); end >= 0 && end < len(w) {
			return end
		}
	}
	if len(w) == len(s) && whole || len(w) == 0 {
		return len(w)
	}
	if nl := strings.LastIndexByte(w, '\n') + 1; nl > 0 && nl >= len(w)/2 {
		return nl
	}
	return runeFloor(s, len(w))
}

// tailStart is headEnd for the other end: it returns where the kept end begins.
// atLine says that s begins with a line, and not within one.
func tailStart(s string, maxBytes, maxLines int, atLine bool) int {
	from := 0
	if maxBytes >= 0 && maxBytes < len(s) {
		from = len(s) - maxBytes
	}
	w := s[from:]
	if len(w) == 0 {
		return from
	}
	if maxLines >= 0 && maxLines < len(w) {
		if drop := countLines(w) - maxLines; drop > 0 {
			return from + afterLines(w, drop)
		}
	}
	if from == 0 && atLine || from > 0 && s[from-1] == '\n' {
		return from
	}
	if nl := strings.IndexByte(w, '\n') + 1; nl > 0 && nl < len(w) && nl <= len(w)/2 {
		return from + nl
	}
	return runeCeil(s, from)
}

// afterLines returns the position after the nth newline of s, len(s) if n is
// one more than there are and s has an unfinished line, and -1 if s has fewer
// lines. It halves the window with Count, which is many times faster than to go
// from newline to newline.
func afterLines(s string, n int) int {
	if n <= 0 {
		return 0
	}
	lo, hi := 0, len(s)
	// The nth newline is in s[lo:hi] if it is there at all.
	for hi-lo > 256 {
		mid := lo + (hi-lo)/2
		if c := strings.Count(s[lo:mid], "\n"); c >= n {
			hi = mid
		} else {
			n -= c
			lo = mid
		}
	}
	for ; n > 0; n-- {
		i := strings.IndexByte(s[lo:], '\n')
		if i < 0 {
			if n == 1 && lo < len(s) {
				return len(s)
			}
			return -1
		}
		lo += i + 1
	}
	return lo
}

// runeFloor moves i back to the start of the character that it is in.
func runeFloor(s string, i int) int {
	for j := i; j >= 0 && j > i-utf8.UTFMax && j < len(s); j-- {
		if utf8.RuneStart(s[j]) {
			return j
		}
	}
	return i
}

// runeCeil moves i on to the end of the character that it is in.
func runeCeil(s string, i int) int {
	for j := i; j < len(s) && j < i+utf8.UTFMax; j++ {
		if utf8.RuneStart(s[j]) {
			return j
		}
	}
	return i
}

// scan counts the newlines of s, if they are wanted, and reports whether s is
// valid UTF-8. Both in blocks that stay in the cache: two passes over a megabyte
// would cost half as much again.
func scan(s string, count bool) (newlines int, valid bool) {
	const block = 8 << 10
	valid = true
	ascii := true
	for i := 0; i < len(s); i += block {
		b := s[i:min(i+block, len(s))]
		if count {
			newlines += strings.Count(b, "\n")
		}
		if ascii && !isASCII(b) {
			ascii = false
			valid = utf8.ValidString(s[i:])
		}
		if !ascii && !count {
			break
		}
	}
	return newlines, valid
}

// isASCII reports whether s is all ASCII.
func isASCII(s string) bool {
	i := 0
	for ; i+64 <= len(s); i += 64 {
		b := s[i : i+64]
		x := word(b[0:8]) | word(b[8:16]) | word(b[16:24]) | word(b[24:32]) |
			word(b[32:40]) | word(b[40:48]) | word(b[48:56]) | word(b[56:64])
		if x&0x8080808080808080 != 0 {
			return false
		}
	}
	for ; i < len(s); i++ {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// word reads eight bytes; the compiler makes one load of it.
func word(s string) uint64 {
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}
