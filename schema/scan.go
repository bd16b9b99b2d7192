package schema

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// scan finds the end of a string whose text starts at i: the position of the
// closing quote, or -1 if there is none, an escape is not well formed, a control
// character is not escaped, or the text is not valid UTF-8 or UTF-16.
func (r *runner) scan(i int) (end int, escaped bool) {
	b := r.b
	start := i
	var beyond uint64 // bits of bytes beyond ASCII
	for {
		// Eight bytes at a time: a byte of mask has its high bit set, if it is a
		// quote, a backslash or a control character. Bytes after the first such
		// may be set by mistake, never before.
		for i+8 <= len(b) {
			x := binary.LittleEndian.Uint64(b[i:])
			quote := x ^ ones*'"'
			slash := x ^ ones*'\\'
			mask := ((quote - ones) &^ quote) | ((slash - ones) &^ slash) | ((x - ones*' ') &^ x)
			mask &= highs
			if mask != 0 {
				n := bits.TrailingZeros64(mask) / 8
				beyond |= x & (1<<(8*n) - 1)
				i += n
				break
			}
			beyond |= x
			i += 8
		}
		for i < len(b) && b[i] != '"' && b[i] != '\\' && b[i] >= ' ' {
			beyond |= uint64(b[i])
			i++
		}
		if i >= len(b) || b[i] < ' ' {
			return -1, false
		}
		if b[i] == '"' {
			if beyond&highs != 0 && !utf8.Valid(b[start:i]) {
				return -1, false
			}
			return i, escaped
		}
		escaped = true
		if i = escape(b, i); i < 0 {
			return -1, false
		}
	}
}

// escape returns the position after the escape at b[i], or -1.
func escape(b []byte, i int) int {
	if i+1 >= len(b) {
		return -1
	}
	switch b[i+1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return i + 2
	case 'u':
		u := unit(b, i)
		switch {
		case u < 0, 0xDC00 <= u && u < 0xE000:
			return -1
		case 0xD800 <= u && u < 0xDC00:
			if low := unit(b, i+6); low < 0xDC00 || low >= 0xE000 {
				return -1
			}
			return i + 12
		}
		return i + 6
	}
	return -1
}

// unit returns the value of the \u escape at b[i], or -1.
func unit(b []byte, i int) rune {
	if i+6 > len(b) || b[i] != '\\' || b[i+1] != 'u' {
		return -1
	}
	var u rune
	for _, c := range b[i+2 : i+6] {
		h := unhex(c)
		if h < 0 {
			return -1
		}
		u = u<<4 | h
	}
	return u
}

// length counts the characters that a well-formed text with escapes stands for.
func length(s []byte) int {
	count := utf8.RuneCount(s)
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			continue
		}
		i++
		count--
		if s[i] == 'u' {
			count -= 4
			if hi := hex4(string(s[i+1 : i+5])); hi >= 0xD800 && hi < 0xDC00 {
				count -= 6 // the other half, which scan has made sure of
				i += 6
			}
			i += 4
		}
	}
	return count
}
