package pattern

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

// A sieve finds any of several short sequences of byte classes by looking at
// two or three neighbouring bytes here and there: as every sequence is longer
// than that, it is enough to look at every stride-th place. What stands there
// is an index into a table that says which sequences it could be part of. Mostly
// there are none, and most of the text is never looked at.
type sieve struct {
	seqs   []sequence
	stride int
	span   int // bytes looked at in one place: 2 or 3
	fold   uint32
	pairs  *[1 << 16]uint8       // by two bytes
	grams  *[1 << gramBits]uint8 // by a hash of three, with fold
	places [][]place             // by what the tables say; the first is empty
}

// place says that a sequence may have begun off bytes before.
type place struct{ seq, off uint8 }

const (
	gramBits     = 13
	gramHash     = 0x9E3779B1 << 8 & (1<<32 - 1) // the fourth byte is shifted out
	maxSequences = 64
	maxOffset    = 200 // where a window begins at most
	maxMembers   = 512 // spellings of two or three bytes that a table is filled with for each place
)

// class is a set of bytes.
type class [4]uint64

func (c *class) add(lo, hi byte) {
	for b := int(lo); b <= int(hi); b++ {
		c[b>>6] |= 1 << (b & 63)
	}
}

func (c *class) has(b byte) bool { return c[b>>6]&(1<<(b&63)) != 0 }

func (c *class) union(o class) {
	for i := range c {
		c[i] |= o[i]
	}
}

func (c *class) members() []byte {
	var out []byte
	for i, w := range c {
		for ; w != 0; w &= w - 1 {
			out = append(out, byte(64*i+bits.TrailingZeros64(w)))
		}
	}
	return out
}

// chance estimates how often a byte of the class occurs.
func (c *class) chance() float64 {
	sum := 0.0
	for _, b := range c.members() {
		sum += freq(b)
	}
	return min(sum, 1)
}

// A sequence is a string of byte classes, or a literal.
type sequence struct {
	classes []class
	lit     *literal
}

func sequenceOf(l literal) sequence {
	s := sequence{lit: &l}
	for i := range len(l.s) {
		var c class
		c.add(l.s[i], l.s[i])
		if l.fold && isLetter(l.s[i]) {
			c.add(l.s[i]&^0x20, l.s[i]&^0x20)
		}
		s.classes = append(s.classes, c)
	}
	return s
}

// at reports whether the sequence stands at text[p:].
func (s *sequence) at(text []byte, p int) bool {
	if p < 0 || p+len(s.classes) > len(text) {
		return false
	}
	if s.lit != nil {
		return s.lit.at(text, p)
	}
	for i := range s.classes {
		if !s.classes[i].has(text[p+i]) {
			return false
		}
	}
	return true
}

// chances of a sequence: of each class, and of two and three beside each other.
type chances struct{ one, two, three []float64 }

func (s *sequence) chances() chances {
	var c chances
	for i := range s.classes {
		if s.lit != nil {
			c.one = append(c.one, s.lit.chance(i))
		} else {
			c.one = append(c.one, s.classes[i].chance())
		}
	}
	for i := range c.one[1:] {
		c.two = append(c.two, min(s.pair(i), c.one[i], c.one[i+1]))
	}
	for i := range c.two[min(1, len(c.two)):] {
		p := 2 * c.two[i] * c.two[i+1] / max(c.one[i+1], 1e-9)
		c.three = append(c.three, min(p, c.two[i], c.two[i+1]))
	}
	return c
}

// pair estimates how often what stands at i and behind it are beside each other.
func (s *sequence) pair(i int) float64 {
	a, b := s.classes[i].members(), s.classes[i+1].members()
	if len(a)*len(b) > 16 {
		return s.classes[i].chance() * s.classes[i+1].chance() * habitClass
	}
	sum := 0.0
	for _, x := range a {
		for _, y := range b {
			sum += pairChance(x, y)
		}
	}
	return sum
}

// rate estimates how often the sequence occurs.
func (c chances) rate() float64 {
	r := 1.0
	for _, p := range c.one {
		r = min(r, p)
	}
	for _, p := range c.two {
		r = min(r, p)
	}
	for i, p := range c.three {
		if r = min(r, p); i%3 == 2 {
			r *= 0.3
		}
	}
	return r
}

// A layout is how a sieve looks for sequences, and what that costs per byte.
type layout struct {
	span, stride int
	from         []int // where the window of each sequence begins
	cost         float64
}

// arrange finds the cheapest layout.
func arrange(seqs []sequence) layout {
	best := layout{cost: 1e9}
	shortest := 1 << 10
	all := make([]chances, len(seqs))
	for i := range seqs {
		shortest = min(shortest, len(seqs[i].classes))
		if shortest < 2 {
			return best
		}
		all[i] = seqs[i].chances()
	}
	for span := 2; span <= 3; span++ {
		for _, stride := range strides {
			if stride+span-1 > shortest {
				break
			}
			l := layout{span: span, stride: stride, cost: costSieve + costPairProbe/float64(stride)}
			if span == 3 {
				l.cost = costSieve + costGramProbe/float64(stride)
			}
			for i := range seqs {
				p := all[i].two
				if span == 3 {
					p = all[i].three
				}
				at, least := -1, 0.0
				for from := 0; from+stride <= min(len(p), maxOffset); from++ {
					sum := 0.0
					for _, x := range p[from : from+stride] {
						sum += x
					}
					if (at < 0 || sum < least) && seqs[i].fits(from, stride, span) {
						at, least = from, sum
					}
				}
				if at < 0 {
					l.cost = 1e9
					break
				}
				l.from = append(l.from, at)
				l.cost += least*costHit/float64(stride) + all[i].rate()*costVerify
			}
			if l.cost < best.cost {
				best = l
			}
		}
	}
	return best
}

// fits reports whether all spellings of the window can be put into a table.
func (s *sequence) fits(from, stride, span int) bool {
	if span == 2 || s.lit != nil {
		return true
	}
	for i := from; i < from+stride; i++ {
		n := 1
		for k := range span {
			n *= len(s.classes[i+k].members())
		}
		if n > maxMembers {
			return false
		}
	}
	return true
}

func newSieve(seqs []sequence, l layout) *sieve {
	s := &sieve{seqs: seqs, stride: l.stride, span: l.span}
	found := map[uint32][]place{}
	if l.span == 3 {
		for i := range seqs {
			for _, c := range seqs[i].classes {
				for b := byte('a'); b <= 'z'; b++ {
					if c.has(b) && c.has(b&^0x20) {
						s.fold = 0x202020
					}
				}
			}
		}
	}
	for i := range seqs {
		for off := l.from[i]; off < l.from[i]+s.stride; off++ {
			p := place{uint8(i), uint8(off)}
			s.spell(seqs[i].classes[off:off+s.span], 0, 0, func(x uint32) {
				if l.span == 3 {
					x = gram(x | s.fold)
				}
				if !slices.Contains(found[x], p) {
					found[x] = append(found[x], p)
				}
			})
		}
	}
	if l.span == 3 {
		s.grams = new([1 << gramBits]uint8)
	} else {
		s.pairs = new([1 << 16]uint8)
	}
	s.places = [][]place{nil}
	index := map[string]int{}
	for x, list := range found {
		key := ""
		for _, p := range list {
			key += string([]byte{p.seq, p.off})
		}
		i, ok := index[key]
		switch {
		case ok:
		case len(s.places) < 255:
			i = len(s.places)
			index[key] = i
			s.places = append(s.places, list)
		default: // too many combinations: the last stands for all
			i = 255
		}
		if s.grams != nil {
			s.grams[x] = uint8(i)
		} else {
			s.pairs[x] = uint8(i)
		}
	}
	if len(s.places) == 255 {
		var every []place
		for i := range seqs {
			for off := l.from[i]; off < l.from[i]+s.stride; off++ {
				every = append(every, place{uint8(i), uint8(off)})
			}
		}
		s.places = append(s.places, every)
	}
	return s
}

// spell calls f with every spelling of the classes, the first byte lowest.
func (s *sieve) spell(classes []class, x uint32, shift int, f func(uint32)) {
	if len(classes) == 0 {
		f(x)
		return
	}
	for _, b := range classes[0].members() {
		s.spell(classes[1:], x|uint32(b)<<shift, shift+8, f)
	}
}

func gram(x uint32) uint32 { return x * gramHash >> (32 - gramBits) }

// next returns where the first line that holds one of the sequences has one, at or
// after from, and how long that is, or len(text). It adds to effort each time
// that it had to look twice.
func (s *sieve) next(text []byte, from int, effort *int) (pos, n int) {
	for i := from; ; {
		if s.grams != nil {
			i = s.skipGrams(text, i)
		} else {
			i = s.skipPairs(text, i)
		}
		if i+s.span > len(text) {
			return len(text), 0
		}
		// One of the next four places has something, or the end is near.
		for range 4 {
			if list := s.places[s.look(text, i)]; list != nil {
				*effort++
				if pos, n = s.check(text, i, from, list); n > 0 {
					return pos, n
				}
			}
			i += s.stride
		}
	}
}

// look is what the table says of text[i:]; bytes beyond the end are taken as 0.
func (s *sieve) look(text []byte, i int) uint8 {
	if i+s.span > len(text) {
		return 0
	}
	if s.pairs != nil {
		return s.pairs[binary.LittleEndian.Uint16(text[i:])]
	}
	x := uint32(text[i]) | uint32(text[i+1])<<8 | uint32(text[i+2])<<16
	return s.grams[gram(x|s.fold)]
}

func (s *sieve) check(text []byte, i, from int, list []place) (pos, n int) {
	pos = len(text)
	for _, p := range list {
		q := &s.seqs[p.seq]
		if begin := i - int(p.off); begin >= from && begin < pos && q.at(text, begin) {
			pos, n = begin, len(q.classes)
		}
	}
	return pos, n
}

// The strides that there is code for: constant distances make it three times as
// fast. A block is as long as four strides of the longest and one more look.
const blockSize = 4*12 + 4

var strides = [...]int{2, 3, 4, 5, 6, 8, 10, 12}

// skipGrams goes on by four places at a time while the table knows none of them.
func (s *sieve) skipGrams(text []byte, i int) int {
	g, f, d := s.grams, s.fold, s.stride
	for i+blockSize <= len(text) {
		t := (*[blockSize]byte)(text[i:])
		var z uint8
		switch d {
		case 2:
			z = g[gram(four(t[:])|f)] | g[gram(four(t[2:])|f)] | g[gram(four(t[4:])|f)] | g[gram(four(t[6:])|f)]
		case 3:
			z = g[gram(four(t[:])|f)] | g[gram(four(t[3:])|f)] | g[gram(four(t[6:])|f)] | g[gram(four(t[9:])|f)]
		case 4:
			z = g[gram(four(t[:])|f)] | g[gram(four(t[4:])|f)] | g[gram(four(t[8:])|f)] | g[gram(four(t[12:])|f)]
		case 5:
			z = g[gram(four(t[:])|f)] | g[gram(four(t[5:])|f)] | g[gram(four(t[10:])|f)] | g[gram(four(t[15:])|f)]
		case 6:
			z = g[gram(four(t[:])|f)] | g[gram(four(t[6:])|f)] | g[gram(four(t[12:])|f)] | g[gram(four(t[18:])|f)]
		case 8:
			z = g[gram(four(t[:])|f)] | g[gram(four(t[8:])|f)] | g[gram(four(t[16:])|f)] | g[gram(four(t[24:])|f)]
		case 10:
			z = g[gram(four(t[:])|f)] | g[gram(four(t[10:])|f)] | g[gram(four(t[20:])|f)] | g[gram(four(t[30:])|f)]
		default:
			z = g[gram(four(t[:])|f)] | g[gram(four(t[12:])|f)] | g[gram(four(t[24:])|f)] | g[gram(four(t[36:])|f)]
		}
		if z != 0 {
			break
		}
		i += 4 * d
	}
	return i
}

func (s *sieve) skipPairs(text []byte, i int) int {
	p, d := s.pairs, s.stride
	for i+blockSize <= len(text) {
		t := (*[blockSize]byte)(text[i:])
		var z uint8
		switch d {
		case 2:
			z = p[two(t[:])] | p[two(t[2:])] | p[two(t[4:])] | p[two(t[6:])]
		case 3:
			z = p[two(t[:])] | p[two(t[3:])] | p[two(t[6:])] | p[two(t[9:])]
		case 4:
			z = p[two(t[:])] | p[two(t[4:])] | p[two(t[8:])] | p[two(t[12:])]
		case 5:
			z = p[two(t[:])] | p[two(t[5:])] | p[two(t[10:])] | p[two(t[15:])]
		case 6:
			z = p[two(t[:])] | p[two(t[6:])] | p[two(t[12:])] | p[two(t[18:])]
		case 8:
			z = p[two(t[:])] | p[two(t[8:])] | p[two(t[16:])] | p[two(t[24:])]
		case 10:
			z = p[two(t[:])] | p[two(t[10:])] | p[two(t[20:])] | p[two(t[30:])]
		default:
			z = p[two(t[:])] | p[two(t[12:])] | p[two(t[24:])] | p[two(t[36:])]
		}
		if z != 0 {
			break
		}
		i += 4 * d
	}
	return i
}

func two(b []byte) uint16  { return binary.LittleEndian.Uint16(b) }
func four(b []byte) uint32 { return binary.LittleEndian.Uint32(b) }
