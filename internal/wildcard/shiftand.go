package wildcard

import "unicode/utf8"

const wordBits = 64

// A shiftAnd finds a piece of characters and question marks in a text by keeping,
// as bits, at which characters of the piece all texts stand that could become an
// occurrence: each character of the text moves all of them on at once, 64 in a word.
type shiftAnd struct {
	length int
	any    []uint64                // the question marks
	is     map[rune][]uint64       // the places of each other character, and the question marks
	low    [utf8.RuneSelf][]uint64 // the same of ASCII
}

// newShiftAnd takes a piece that is valid UTF-8.
func newShiftAnd(piece string) *shiftAnd {
	a := &shiftAnd{length: utf8.RuneCountInString(piece), is: map[rune][]uint64{}}
	words := (a.length + wordBits - 1) / wordBits
	a.any = make([]uint64, words)
	i := 0
	for _, r := range piece {
		m := a.any
		if r != '?' {
			if m = a.is[r]; m == nil {
				m = make([]uint64, words)
				a.is[r] = m
			}
		}
		m[i/wordBits] |= 1 << (i % wordBits)
		i++
	}
	for _, m := range a.is {
		for w := range m {
			m[w] |= a.any[w]
		}
	}
	for r := range a.low {
		if a.low[r] = a.is[rune(r)]; a.low[r] == nil {
			a.low[r] = a.any
		}
	}
	return a
}

// places returns where a character may stand. One that is no character is none but
// a question mark's.
func (a *shiftAnd) places(r rune, size int) []uint64 {
	switch {
	case r < utf8.RuneSelf:
		return a.low[r]
	case r == utf8.RuneError && size == 1:
		return a.any
	}
	if m, ok := a.is[r]; ok {
		return m
	}
	return a.any
}

// end returns where the first occurrence in s ends.
func (a *shiftAnd) end(s string) (n int, ok bool) {
	at := make([]uint64, len(a.any))
	last, bit := (a.length-1)/wordBits, uint64(1)<<((a.length-1)%wordBits)
	for n < len(s) {
		r, size := utf8.DecodeRuneInString(s[n:])
		n += size
		places := a.places(r, size)[:len(at)]
		carry := uint64(1) // an occurrence may begin anywhere
		for w, x := range at {
			at[w] = (x<<1 | carry) & places[w]
			carry = x >> (wordBits - 1)
		}
		if at[last]&bit != 0 {
			return n, true
		}
	}
	return len(s), false
}
