package pattern

import (
	"bytes"
	"encoding/binary"
	"math/bits"
)

// A finder looks for one literal, or has a sieve that looks for several.
type finder struct {
	lit    literal
	verify bool   // a hit proves nothing, whatever the others do
	sieve  *sieve // if not nil, it looks for all that there is to find

	i, j   int // the positions that are looked at first
	pair   bool
	b1, b2 byte
	// For the scan of words: the byte eight times, and what makes both cases of
	// a letter equal.
	r1, r2, m1, m2 uint64
}

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

func newFinder(l literal) finder {
	f := finder{lit: l}
	f.i, f.j = l.rarest()
	f.b1, f.b2 = l.s[f.i], l.s[f.j]
	f.pair = pairCost(l) < l.byteCost(f.i)
	f.r1, f.r2 = uint64(f.b1)*ones, uint64(f.b2)*ones
	if l.fold {
		if isLetter(f.b1) {
			f.m1 = 0x20 * ones
		}
		if isLetter(f.b2) {
			f.m2 = 0x20 * ones
		}
	}
	return f
}

// at reports whether the literal stands at text[p:].
func (l *literal) at(text []byte, p int) bool {
	n := len(l.s)
	if p < 0 || p+n > len(text) {
		return false
	}
	t := text[p : p+n]
	if !l.fold {
		return string(t) == l.s
	}
	for i := range n {
		a, b := t[i], l.s[i]
		if a != b && (a|0x20 != b || !isLetter(b)) {
			return false
		}
	}
	return true
}

// longest is the length of the longest string that is looked for.
func (f *finder) longest() int {
	n := len(f.lit.s)
	if f.sieve != nil {
		for i := range f.sieve.seqs {
			n = max(n, len(f.sieve.seqs[i].classes))
		}
	}
	return n
}

// next returns where the literal stands first in text at or after from, or len(text),
// and how long it is. Effort grows with what is spent beyond the ordinary.
func (f *finder) next(text []byte, from int, effort *int) (pos, n int) {
	switch {
	case f.sieve != nil:
		return f.sieve.next(text, from, effort)
	case f.pair:
		return f.nextPair(text, from), len(f.lit.s)
	}
	return f.nextByte(text, from), len(f.lit.s)
}

// nextByte looks for one byte of the literal.
func (f *finder) nextByte(text []byte, from int) int {
	for p := from + f.i; p < len(text); p++ {
		k := bytes.IndexByte(text[p:], f.b1)
		if k < 0 {
			break
		}
		p += k
		start := p - f.i
		if q := start + f.j; q < len(text) && (text[q] == f.b2 || f.m2 != 0) && f.lit.at(text, start) {
			return start
		}
	}
	return len(text)
}

// nextPair compares two bytes of the literal at eight places at once.
func (f *finder) nextPair(text []byte, from int) int {
	last := max(f.i, f.j)
	t1, t2 := text[min(f.i, len(text)):], text[min(f.j, len(text)):]
	r1, r2, m1, m2 := f.r1, f.r2, f.m1, f.m2
	p := from
	for ; p+last+32 <= len(text); p += 32 {
		a, b := (*[32]byte)(t1[p:]), (*[32]byte)(t2[p:])
		x0 := (binary.LittleEndian.Uint64(a[0:]) | m1) ^ r1 | (binary.LittleEndian.Uint64(b[0:]) | m2) ^ r2
		x1 := (binary.LittleEndian.Uint64(a[8:]) | m1) ^ r1 | (binary.LittleEndian.Uint64(b[8:]) | m2) ^ r2
		x2 := (binary.LittleEndian.Uint64(a[16:]) | m1) ^ r1 | (binary.LittleEndian.Uint64(b[16:]) | m2) ^ r2
		x3 := (binary.LittleEndian.Uint64(a[24:]) | m1) ^ r1 | (binary.LittleEndian.Uint64(b[24:]) | m2) ^ r2
		// Zero bytes of x become high bits; a false one may follow a true one.
		z0, z1, z2, z3 := (x0-ones)&^x0&highs, (x1-ones)&^x1&highs, (x2-ones)&^x2&highs, (x3-ones)&^x3&highs
		if z0|z1|z2|z3 == 0 {
			continue
		}
		for i, z := range [4]uint64{z0, z1, z2, z3} {
			for ; z != 0; z &= z - 1 {
				if q := p + i*8 + bits.TrailingZeros64(z)/8; f.lit.at(text, q) {
					return q
				}
			}
		}
	}
	for ; p+len(f.lit.s) <= len(text); p++ {
		if f.lit.at(text, p) {
			return p
		}
	}
	return len(text)
}
