package lazydfa

import (
	"regexp/syntax"
	"slices"
	"sync/atomic"
)

// The first three rows of the table have a meaning of their own. They come
// first so that one comparison tells them from the others, and each leads only
// to itself, so that it is enough to look once in eight bytes.
const (
	rowUnknown = iota // not computed yet; also what a new row is filled with
	rowMatch
	rowDead // the rest of the line cannot match
	rowFirst
)

const (
	afterWord uint8 = 1 << iota // the byte before was a word character
	lineStart
	textStart
	pendingCR // a "\r" was read and may turn out to belong to the line break
)

type state struct {
	from, to uint32 // its nodes, in DFA.arena
	flags    uint8
}

// A DFA holds the table of one Prog while it is being filled. It must not be
// used by two goroutines at once.
type DFA struct {
	p     *Prog
	stop  *atomic.Bool
	trans []uint32 // rows of p.stride entries; an entry is the offset of a row
	first uint32   // offset of the first ordinary row
	start uint32   // row at the start of a line (of the text with Multiline)
	gen   int      // counts how often the table was emptied: rows of old are void

	states []state
	arena  []uint32
	table  []int32 // open hash table of states; -1 is free

	q, r, s set
	stack   []uint32
	sorted  []uint32

	leaps bool // see deadAtOnce
	four  [4][]int32
}

// set is a sparse set of nodes.
type set struct {
	dense  []uint32
	sparse []uint32
}

func newSet(n int) set { return set{make([]uint32, 0, n), make([]uint32, n)} }

func (s *set) has(x uint32) bool {
	i := s.sparse[x]
	return int(i) < len(s.dense) && s.dense[i] == x
}

func (s *set) add(x uint32) {
	s.sparse[x] = uint32(len(s.dense))
	s.dense = append(s.dense, x)
}

// New returns an empty table. Once stop is set, which may happen at any time,
// no state is computed any more and a search that needs one ends without having found
// all: the caller must ask the flag. Nil means never.
func (p *Prog) New(stop *atomic.Bool) *DFA {
	d := newDFA(p)
	d.stop = stop
	d.flush()
	d.leaps = !p.always && d.deadAtOnce()
	return d
}

// Use makes stop the flag that ends a search; see Prog.New.
func (d *DFA) Use(stop *atomic.Bool) { d.stop = stop }

// Size is the number of bytes that the tables hold.
func (d *DFA) Size() int {
	n := 4*(cap(d.trans)+cap(d.arena)+cap(d.table)) + 12*cap(d.states) + 3*8*len(d.p.nodes)
	for _, at := range d.four {
		n += 4 * cap(at)
	}
	return n
}

func newDFA(p *Prog) *DFA {
	n := len(p.nodes)
	return &DFA{p: p, first: rowFirst * p.stride, q: newSet(n), r: newSet(n), s: newSet(n)}
}

func (d *DFA) matchesEmpty() bool {
	d.r.dense = d.r.dense[:0]
	return d.close(&d.r, d.p.start, lineStart|textStart, 0)
}

// flush empties the table and computes the start row again.
func (d *DFA) flush() {
	d.gen++
	stride := int(d.p.stride)
	d.trans = d.trans[:0]
	for row := range rowFirst {
		for range stride {
			d.trans = append(d.trans, uint32(row*stride))
		}
	}
	d.states, d.arena = d.states[:0], d.arena[:0]
	if d.table == nil {
		d.table = make([]int32, 64)
	}
	for i := range d.table {
		d.table[i] = -1
	}
	d.r.dense = d.r.dense[:0]
	if !d.p.always {
		d.close(&d.r, d.p.start, lineStart|textStart, 0)
	}
	d.start = d.intern(d.r.dense, lineStart|textStart)
}

// close adds to s what can be reached from x without reading a byte, and
// reports whether that includes a match. What precedes the position is known
// (flags); holds has the assertions about what follows that hold. The others,
// while the next byte is unknown all of them, stay in the set as they are.
func (d *DFA) close(s *set, x uint32, flags uint8, holds syntax.EmptyOp) bool {
	matched := false
	d.stack = append(d.stack[:0], x)
	for len(d.stack) > 0 {
		x := d.stack[len(d.stack)-1]
		d.stack = d.stack[:len(d.stack)-1]
		if s.has(x) {
			continue
		}
		n := &d.p.nodes[x]
		switch n.op {
		case opFail:
			continue
		case opMatch:
			matched = true
			continue
		}
		s.add(x)
		switch n.op {
		case opAlt:
			d.stack = append(d.stack, d.p.list[n.arg:n.arg+n.n]...)
		case opLook:
			var ok bool
			switch n.look {
			case syntax.EmptyBeginLine:
				ok = flags&lineStart != 0
			case syntax.EmptyBeginText:
				ok = flags&textStart != 0
			default:
				ok = holds&n.look != 0
			}
			if ok {
				d.stack = append(d.stack, n.out)
			}
		}
	}
	return matched
}

// follows returns the assertions that hold between a position with flags and
// the byte b; atEnd stands for the end of the text in place of b.
func (d *DFA) follows(flags uint8, b byte, atEnd bool) syntax.EmptyOp {
	var holds syntax.EmptyOp
	if b == '\n' || atEnd {
		holds |= syntax.EmptyEndLine
		if atEnd || !d.p.multiline {
			holds |= syntax.EmptyEndText
		}
	}
	if before := flags&afterWord != 0; before != (isWord(b) && !atEnd) {
		holds |= syntax.EmptyWordBoundary
	} else if atEnd || b&0xC0 != 0x80 {
		holds |= syntax.EmptyNoWordBoundary
	}
	return holds
}

// resolve fills q with nodes and what their assertions lead to, now that the
// next byte is known, and reports whether that is a match.
func (d *DFA) resolve(q *set, nodes []uint32, flags uint8, holds syntax.EmptyOp) bool {
	q.dense = q.dense[:0]
	for _, x := range nodes {
		if n := &d.p.nodes[x]; n.op == opLook {
			if d.close(q, x, flags, holds) {
				return true
			}
		} else if !q.has(x) {
			q.add(x)
		}
	}
	return false
}

// advance reads b at a position with the given nodes and flags. The result, in
// r, is valid until the next call with the same set.
func (d *DFA) advance(r *set, nodes []uint32, flags uint8, b byte) (newFlags uint8, matched bool) {
	if d.p.hasLook {
		if d.resolve(&d.q, nodes, flags, d.follows(flags, b, false)) {
			return 0, true
		}
		nodes = d.q.dense
	}
	r.dense = r.dense[:0]
	if b == '\n' {
		newFlags = lineStart
	} else if isWord(b) {
		newFlags = afterWord
	}
	for _, x := range nodes {
		n := &d.p.nodes[x]
		if n.op == opRange && n.lo <= b && b <= n.hi || n.op == opSet && d.p.sets[n.arg].has(b) {
			if d.close(r, n.out, newFlags, 0) {
				return 0, true
			}
		}
	}
	if d.close(r, d.p.start, newFlags, 0) { // a match may begin anywhere
		return 0, true
	}
	return newFlags, false
}

// step computes the row that follows row on b and enters it in the table. It
// may flush the table, and then returns a row of the new one.
func (d *DFA) step(row uint32, b byte) uint32 {
	if d.stop != nil && d.stop.Load() {
		return rowDead * d.p.stride
	}
	gen := d.gen
	to := d.compute(row, b)
	if d.gen == gen {
		d.trans[row+uint32(d.p.class[b])] = to
	}
	return to
}

func (d *DFA) compute(row uint32, b byte) uint32 {
	st := d.states[row/d.p.stride-rowFirst]
	nodes, flags := d.arena[st.from:st.to], st.flags
	match := rowMatch * d.p.stride
	if flags&pendingCR != 0 {
		flags &^= pendingCR
		if b != '\n' {
			var matched bool
			if flags, matched = d.advance(&d.s, nodes, flags, '\r'); matched {
				return match
			}
			nodes = d.s.dense
		}
	}
	switch {
	case b == '\n' && !d.p.multiline:
		if d.p.hasLook && d.resolve(&d.q, nodes, flags, d.follows(flags, b, false)) {
			return match
		}
		return d.start
	case b == '\r' && d.p.crlf:
		return d.intern(nodes, flags|pendingCR)
	}
	flags, matched := d.advance(&d.r, nodes, flags, b)
	if matched {
		return match
	}
	return d.intern(d.r.dense, flags)
}

// intern returns the row of the state, making it if it is new. Nodes that only
// lead on are left out, and flags that no assertion will ask for are dropped, so
// that equal behaviour is mostly one state.
func (d *DFA) intern(nodes []uint32, flags uint8) uint32 {
	keep := flags & pendingCR
	d.sorted = d.sorted[:0]
	for _, x := range nodes {
		switch n := &d.p.nodes[x]; {
		case n.op == opAlt:
			continue
		case n.op == opLook:
			if n.look&(syntax.EmptyBeginLine|syntax.EmptyBeginText) != 0 {
				continue // decided when it was reached
			}
			keep = flags
		}
		d.sorted = append(d.sorted, x)
	}
	if len(d.sorted) == 0 && len(d.states) > 0 && !d.p.multiline {
		return rowDead * d.p.stride
	}
	slices.Sort(d.sorted)
	h := hash(d.sorted, keep)
	for i := h; ; i++ {
		slot := d.table[i&uint32(len(d.table)-1)]
		if slot < 0 {
			break
		}
		st := &d.states[slot]
		if st.flags == keep && slices.Equal(d.arena[st.from:st.to], d.sorted) {
			return (uint32(slot) + rowFirst) * d.p.stride
		}
	}
	if len(d.states) >= d.p.maxStates || len(d.arena) > 1<<20 {
		keepNodes := slices.Clone(d.sorted)
		d.flush()
		return d.intern(keepNodes, keep)
	}
	id := len(d.states)
	from := uint32(len(d.arena))
	d.arena = append(d.arena, d.sorted...)
	d.states = append(d.states, state{from, uint32(len(d.arena)), keep})
	row := (uint32(id) + rowFirst) * d.p.stride
	for range d.p.stride {
		d.trans = append(d.trans, rowUnknown)
	}
	if 2*len(d.states) > len(d.table) {
		d.rehash()
	} else {
		d.place(h, int32(id))
	}
	return row
}

func (d *DFA) place(h uint32, id int32) {
	for i := h; ; i++ {
		if slot := &d.table[i&uint32(len(d.table)-1)]; *slot < 0 {
			*slot = id
			return
		}
	}
}

func (d *DFA) rehash() {
	d.table = make([]int32, 4*len(d.table))
	for i := range d.table {
		d.table[i] = -1
	}
	for i, st := range d.states {
		d.place(hash(d.arena[st.from:st.to], st.flags), int32(i))
	}
}

func hash(nodes []uint32, flags uint8) uint32 {
	h := uint64(flags) + 0x9E3779B97F4A7C15
	for _, x := range nodes {
		h = (h ^ uint64(x)) * 0xFF51AFD7ED558CCD
		h ^= h >> 29
	}
	return uint32(h ^ h>>32)
}

// ends reports whether the text may end in row with a match.
func (d *DFA) ends(row uint32) bool {
	st := d.states[row/d.p.stride-rowFirst]
	if !d.p.hasLook {
		return false
	}
	// Without Multiline the end of the text ends a line, so a pending "\r" is
	// dropped as it is before "\n".
	flags := st.flags &^ pendingCR
	return d.resolve(&d.q, d.arena[st.from:st.to], flags, d.follows(flags, 0, true))
}
