package lazydfa

import (
	"errors"
	"regexp/syntax"
	"unicode"
	"unicode/utf8"
)

// ErrTooLarge is returned by Compile for an expression whose automaton would
// exceed Config.MaxNodes: counted repeats multiply, and so do large classes.
var ErrTooLarge = errors.New("lazydfa: expression too large")

// Config says how a text is cut and how much memory may be spent.
type Config struct {
	// Multiline treats the text as a whole: "\n" is a byte like any other and
	// a match may span lines. It is only meaningful with DFA.Find.
	Multiline bool
	// KeepCR makes a "\r" before "\n" a part of the line.
	KeepCR bool
	// MaxNodes bounds the automaton; 0 means 65536.
	MaxNodes int
	// MaxStates bounds the table of each DFA; 0 means 8000. When it is full it
	// is emptied and filled again.
	MaxStates int
}

type opcode uint8

const (
	opFail  opcode = iota
	opRange        // one byte in lo..hi, then out
	opSet          // one byte of sets[arg], then out
	opAlt          // without a byte: each of list[arg : arg+n]
	opLook         // without a byte: out, if the assertion holds here
	opMatch
)

type node struct {
	op     opcode
	lo, hi byte
	look   syntax.EmptyOp
	out    uint32
	arg, n uint32
}

type byteSet [4]uint64

func (s *byteSet) add(lo, hi byte) {
	for b := int(lo); b <= int(hi); b++ {
		s[b>>6] |= 1 << (b & 63)
	}
}

func (s *byteSet) has(b byte) bool { return s[b>>6]&(1<<(b&63)) != 0 }

// A Prog is a compiled expression. It is immutable and may be shared.
type Prog struct {
	nodes []node
	list  []uint32
	sets  []byteSet
	start uint32

	multiline bool
	crlf      bool // "\r\n" ends a line
	always    bool // matches the empty string everywhere
	maxStates int

	class   [256]uint16 // byte to column, premultiplied by nothing
	rep     []byte      // column to one of its bytes
	stride  uint32      // row length, a power of two
	hasLook bool
}

// Compile builds the automaton of re. The expression is not modified.
func Compile(re *syntax.Regexp, c Config) (*Prog, error) {
	prog, err := syntax.Compile(re.Simplify())
	if err != nil {
		return nil, err
	}
	if c.MaxNodes == 0 {
		c.MaxNodes = 1 << 16
	}
	if c.MaxStates == 0 {
		c.MaxStates = 8000
	}
	b := &builder{
		p: &Prog{
			multiline: c.Multiline,
			crlf:      !c.KeepCR && !c.Multiline,
			maxStates: max(c.MaxStates, 4),
			start:     uint32(prog.Start),
		},
		max:   c.MaxNodes,
		cache: map[suffix]uint32{},
	}
	if len(prog.Inst) > b.max {
		return nil, ErrTooLarge
	}
	b.p.nodes = make([]node, len(prog.Inst), len(prog.Inst)*2)
	for pc := range prog.Inst {
		b.inst(uint32(pc), &prog.Inst[pc])
		if len(b.p.nodes) > b.max {
			return nil, ErrTooLarge
		}
	}
	b.p.columns()
	b.p.always = newDFA(b.p).matchesEmpty()
	return b.p, nil
}

// Always reports whether every line matches.
func (p *Prog) Always() bool { return p.always }

// Nodes is the size of the automaton, a measure of what one step can cost.
func (p *Prog) Nodes() int { return len(p.nodes) }

type suffix struct {
	out    uint32
	lo, hi byte
}

type builder struct {
	p     *Prog
	max   int
	cache map[suffix]uint32
	heads []uint32
}

// inst fills the node that has the number of the instruction.
func (b *builder) inst(pc uint32, in *syntax.Inst) {
	n := &b.p.nodes[pc]
	switch in.Op {
	case syntax.InstAlt, syntax.InstAltMatch:
		n.op, n.arg, n.n = opAlt, uint32(len(b.p.list)), 2
		b.p.list = append(b.p.list, in.Out, in.Arg)
	case syntax.InstCapture, syntax.InstNop:
		n.op, n.arg, n.n = opAlt, uint32(len(b.p.list)), 1
		b.p.list = append(b.p.list, in.Out)
	case syntax.InstEmptyWidth:
		n.op, n.look, n.out = opLook, syntax.EmptyOp(in.Arg), in.Out
		b.p.hasLook = true
	case syntax.InstMatch:
		n.op = opMatch
	case syntax.InstRune, syntax.InstRune1:
		b.runes(pc, in)
	case syntax.InstRuneAny, syntax.InstRuneAnyNotNL:
		b.class(pc, []rune{0, unicode.MaxRune}, in.Out, in.Op == syntax.InstRuneAnyNotNL)
	}
}

func (b *builder) runes(pc uint32, in *syntax.Inst) {
	if len(in.Rune) != 1 {
		b.class(pc, in.Rune, in.Out, false)
		return
	}
	r := in.Rune[0]
	pairs := []rune{r, r}
	if syntax.Flags(in.Arg)&syntax.FoldCase != 0 {
		for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
			pairs = append(pairs, f, f)
		}
	}
	b.class(pc, pairs, in.Out, false)
}

// class compiles pairs of runes (lo, hi) to sequences of bytes. ASCII is one
// node; the rest is a list of chains that share their tails.
func (b *builder) class(pc uint32, pairs []rune, out uint32, notNL bool) {
	var ascii byteSet
	b.heads = b.heads[:0]
	for i := 0; i+1 < len(pairs); i += 2 {
		lo, hi := pairs[i], pairs[i+1]
		if lo < utf8.RuneSelf {
			ascii.add(byte(lo), byte(min(hi, utf8.RuneSelf-1)))
			lo = utf8.RuneSelf
		}
		if lo <= hi {
			b.wide(lo, hi, out)
		}
		if len(b.p.nodes) > b.max {
			return
		}
	}
	if notNL {
		ascii['\n'>>6] &^= 1 << ('\n' & 63)
	}
	n := node{op: opSet, out: out, arg: uint32(len(b.p.sets))}
	if lo, hi, one := ascii.single(); one {
		n = node{op: opRange, lo: lo, hi: hi, out: out}
	} else if ascii == (byteSet{}) {
		n = node{op: opFail}
	} else {
		b.p.sets = append(b.p.sets, ascii)
	}
	if len(b.heads) == 0 {
		b.p.nodes[pc] = n
		return
	}
	if n.op != opFail {
		b.heads = append(b.heads, uint32(len(b.p.nodes)))
		b.p.nodes = append(b.p.nodes, n)
	}
	b.p.nodes[pc] = node{op: opAlt, arg: uint32(len(b.p.list)), n: uint32(len(b.heads))}
	b.p.list = append(b.p.list, b.heads...)
}

// single reports whether the set is one run of bytes.
func (s *byteSet) single() (lo, hi byte, ok bool) {
	runs := 0
	for i := range 256 {
		if !s.has(byte(i)) {
			continue
		}
		if runs == 0 || byte(i) != hi+1 {
			runs++
			lo = byte(i)
		}
		hi = byte(i)
	}
	return lo, hi, runs == 1
}

// wide adds the chains for a range of runes beyond ASCII, cutting it until both
// ends differ only in bytes that run through their whole range.
func (b *builder) wide(lo, hi rune, out uint32) {
	const surrLo, surrHi = 0xD800, 0xDFFF
	if lo <= surrHi && hi >= surrLo { // surrogates have no UTF-8 form
		if lo < surrLo {
			b.wide(lo, surrLo-1, out)
		}
		if hi > surrHi {
			b.wide(surrHi+1, hi, out)
		}
		return
	}
	for _, last := range [...]rune{0x7FF, 0xFFFF} {
		if lo <= last && hi > last {
			b.wide(lo, last, out)
			b.wide(last+1, hi, out)
			return
		}
	}
	for i := 1; i < utf8.RuneLen(lo); i++ {
		m := rune(1)<<(6*i) - 1
		if lo&^m == hi&^m {
			continue
		}
		if lo&m != 0 {
			b.wide(lo, lo|m, out)
			b.wide((lo|m)+1, hi, out)
			return
		}
		if hi&m != m {
			b.wide(lo, (hi&^m)-1, out)
			b.wide(hi&^m, hi, out)
			return
		}
	}
	var l, h [utf8.UTFMax]byte
	n := utf8.EncodeRune(l[:], lo)
	utf8.EncodeRune(h[:], hi)
	for i := n - 1; i >= 0; i-- {
		key := suffix{out, l[i], h[i]}
		id, ok := b.cache[key]
		if !ok {
			id = uint32(len(b.p.nodes))
			b.p.nodes = append(b.p.nodes, node{op: opRange, lo: l[i], hi: h[i], out: out})
			b.cache[key] = id
		}
		out = id
	}
	b.heads = append(b.heads, out)
}

func isWord(b byte) bool {
	return 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' || '0' <= b && b <= '9' || b == '_'
}

// columns groups the bytes that no node and no assertion can tell apart.
func (p *Prog) columns() {
	var cut [257]bool
	mark := func(lo, hi byte) { cut[lo], cut[int(hi)+1] = true, true }
	mark('\n', '\n')
	if p.crlf {
		mark('\r', '\r')
	}
	if p.hasLook {
		mark(0x80, 0xBF) // \B never holds inside a rune
		for i := 1; i < 256; i++ {
			if isWord(byte(i)) != isWord(byte(i-1)) {
				cut[i] = true
			}
		}
	}
	for i := range p.nodes {
		if n := &p.nodes[i]; n.op == opRange {
			mark(n.lo, n.hi)
		}
	}
	for i := range p.sets {
		for b := 1; b < 256; b++ {
			if p.sets[i].has(byte(b)) != p.sets[i].has(byte(b-1)) {
				cut[b] = true
			}
		}
	}
	for b := range 256 {
		if b == 0 || cut[b] {
			p.rep = append(p.rep, byte(b))
		}
		p.class[b] = uint16(len(p.rep) - 1)
	}
	p.stride = 1
	for int(p.stride) < len(p.rep) {
		p.stride *= 2
	}
}
