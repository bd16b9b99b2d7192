package lazydfa

import (
	"bytes"
	"encoding/binary"
	"math"
)

// fourStreams is the length from which a text is worth cutting in four.
const fourStreams = 1 << 10

// MaxText is the longest text that Lines accepts.
const MaxText = math.MaxInt32

// run advances from row over b until it meets a match or a dead end, or b ends.
// It returns the row reached and the number of bytes read to reach it.
func (d *DFA) run(row uint32, b []byte) (uint32, int) {
	class := &d.p.class
	i := 0
	for {
		trans := d.trans
		for i+8 <= len(b) {
			c := (*[8]byte)(b[i:])
			s := trans[row+uint32(class[c[0]])]
			s = trans[s+uint32(class[c[1]])]
			s = trans[s+uint32(class[c[2]])]
			s = trans[s+uint32(class[c[3]])]
			s = trans[s+uint32(class[c[4]])]
			s = trans[s+uint32(class[c[5]])]
			s = trans[s+uint32(class[c[6]])]
			s = trans[s+uint32(class[c[7]])]
			if s < d.first {
				break
			}
			row = s
			i += 8
		}
		var n int
		row, n = d.walk(row, b[i:min(i+8, len(b))])
		i += n
		if row < d.first || i >= len(b) {
			return row, i
		}
	}
}

// walk is run, byte by byte, computing what is missing.
func (d *DFA) walk(row uint32, b []byte) (uint32, int) {
	for i, c := range b {
		to := d.trans[row+uint32(d.p.class[c])]
		if to < d.p.stride {
			to = d.step(row, c)
		}
		row = to
		if row < d.first {
			return row, i + 1
		}
	}
	return row, len(b)
}

// Find returns the end of the match in text that ends first, or -1. With
// Multiline the text is taken as a whole, otherwise as one line, which must not
// hold a line feed.
func (d *DFA) Find(text []byte) int {
	if d.p.always {
		return 0
	}
	row, n := d.run(d.start, text)
	switch {
	case row >= d.first:
		if d.finish(row) {
			return n
		}
		return -1
	case row == rowMatch*d.p.stride:
		return n - 1
	}
	return -1
}

// finish reports whether a text that ends in row matches.
func (d *DFA) finish(row uint32) bool {
	if d.p.multiline {
		return d.ends(row)
	}
	to := d.trans[row+uint32(d.p.class['\n'])]
	if to < d.p.stride {
		to = d.step(row, '\n')
	}
	return to == rowMatch*d.p.stride
}

// Lines appends to at one position for each line of text that matches, in
// order: the place where the match was certain, which lies within the line or
// is the line feed that ends it (or, at the end of a text that has none, the end
// of the text). The text starts at the start of a line and is at most MaxText
// bytes long.
func (d *DFA) Lines(text []byte, at []int32) []int32 {
	if d.p.always {
		return everyLine(text, at)
	}
	if len(text) == 0 {
		return at
	}
	if len(text) >= fourStreams && !d.leaps {
		return d.lines4(text, at)
	}
	return d.lines1(text, 0, len(text), d.start, at)
}

func everyLine(text []byte, at []int32) []int32 {
	for i := 0; i < len(text); {
		at = append(at, int32(i))
		n := bytes.IndexByte(text[i:], '\n')
		if n < 0 {
			break
		}
		i += n + 1
	}
	return at
}

// deadAtOnce reports whether most lines are known not to match after one byte,
// as for an expression that begins with "^": leaping from line break to line
// break is then faster than reading every byte.
func (d *DFA) deadAtOnce() bool {
	dead := 0
	for c := byte('a'); c <= 'z'; c++ {
		if row, _ := d.walk(d.start, []byte{c}); row == rowDead*d.p.stride {
			dead++
		}
	}
	return dead > 13
}

// lines1 searches text[from:to], beginning in row.
func (d *DFA) lines1(text []byte, from, to int, row uint32, at []int32) []int32 {
	match := rowMatch * d.p.stride
	for {
		var n int
		row, n = d.run(row, text[from:to])
		from += n
		if row >= d.first { // the text ended, perhaps within a line
			if text[to-1] != '\n' && d.finish(row) {
				at = append(at, int32(to))
			}
			return at
		}
		if row == match {
			at = append(at, int32(from-1))
		}
		if text[from-1] != '\n' { // else the line feed itself decided
			nl := bytes.IndexByte(text[from:to], '\n')
			if nl < 0 {
				return at
			}
			from += nl + 1
		}
		if from >= to {
			return at
		}
		row = d.start
	}
}

// stream is one of four parts of a text, cut at line breaks.
type stream struct {
	begin, pos, end int
	row             uint32
	done            bool
}

// lines4 searches text with four automata at a time.
func (d *DFA) lines4(text []byte, at []int32) []int32 {
	var st [4]stream
	pos := 0
	for k := range st {
		end := len(text)
		if k < 3 {
			end = max(pos, (k+1)*len(text)/4)
			if nl := bytes.IndexByte(text[end:], '\n'); nl >= 0 {
				end += nl + 1
			} else {
				end = len(text)
			}
		}
		st[k] = stream{pos, pos, end, d.start, pos == end}
		pos = end
		d.four[k] = d.four[k][:0]
	}
	// Where matches are frequent most time goes into the change-overs, and one
	// stream is faster. Where the table overflows again and again, four streams
	// would throw each other back for ever.
	first := d.gen
	for changes := 0; changes <= len(text)/256 && d.gen-first < 3; {
		n := math.MaxInt
		for k := range st {
			n = min(n, (st[k].end-st[k].pos)/8)
		}
		if n == 0 {
			break
		}
		if d.run4(text, &st, n) == n {
			continue
		}
		for k := range st {
			gen := d.gen
			if d.replay(text, &st[k], &d.four[k]) {
				changes++
			}
			d.restart(text, &st, k, gen)
		}
	}
	for k := range st {
		if s := &st[k]; !s.done {
			gen := d.gen
			d.four[k] = d.lines1(text, s.pos, s.end, s.row, d.four[k])
			s.done = true
			d.restart(text, &st, k, gen)
		}
	}
	for k := range st {
		at = append(at, d.four[k]...)
	}
	return at
}

// restart moves all streams but k back to the start of their lines if the table
// was emptied since gen, which voided their rows.
func (d *DFA) restart(text []byte, st *[4]stream, k, gen int) {
	if d.gen == gen {
		return
	}
	for j := range st {
		if s := &st[j]; j != k && !s.done {
			s.pos = s.begin + bytes.LastIndexByte(text[s.begin:s.pos], '\n') + 1
			s.row = d.start
		}
	}
}

// replay reads the next eight bytes of s one by one, computing what is missing.
// If they hold a match or a dead end it leaps to the next line and returns true.
func (d *DFA) replay(text []byte, s *stream, hits *[]int32) bool {
	row, n := d.walk(s.row, text[s.pos:min(s.pos+8, s.end)])
	s.pos += n
	s.row = row
	if row >= d.first {
		return false
	}
	if row == rowMatch*d.p.stride {
		*hits = append(*hits, int32(s.pos-1))
	}
	if text[s.pos-1] != '\n' {
		if nl := bytes.IndexByte(text[s.pos:s.end], '\n'); nl >= 0 {
			s.pos += nl + 1
		} else {
			s.pos = s.end
		}
	}
	s.done = s.pos == s.end
	s.row = d.start
	return true
}

// run4 advances all streams by eight bytes up to n times and stops before
// the eight bytes in which one of them meets a special row. It returns how often
// it did.
func (d *DFA) run4(text []byte, st *[4]stream, n int) int {
	class, trans, first := &d.p.class, d.trans, d.first
	b0 := text[st[0].pos:][:n*8]
	b1 := text[st[1].pos:][:n*8]
	b2 := text[st[2].pos:][:n*8]
	b3 := text[st[3].pos:][:n*8]
	r0, r1, r2, r3 := st[0].row, st[1].row, st[2].row, st[3].row
	i := 0
	for ; i < n; i++ {
		w0 := binary.LittleEndian.Uint64(b0[i*8:])
		w1 := binary.LittleEndian.Uint64(b1[i*8:])
		w2 := binary.LittleEndian.Uint64(b2[i*8:])
		w3 := binary.LittleEndian.Uint64(b3[i*8:])
		s0 := trans[r0+uint32(class[uint8(w0)])]
		s1 := trans[r1+uint32(class[uint8(w1)])]
		s2 := trans[r2+uint32(class[uint8(w2)])]
		s3 := trans[r3+uint32(class[uint8(w3)])]
		s0 = trans[s0+uint32(class[uint8(w0>>8)])]
		s1 = trans[s1+uint32(class[uint8(w1>>8)])]
		s2 = trans[s2+uint32(class[uint8(w2>>8)])]
		s3 = trans[s3+uint32(class[uint8(w3>>8)])]
		s0 = trans[s0+uint32(class[uint8(w0>>16)])]
		s1 = trans[s1+uint32(class[uint8(w1>>16)])]
		s2 = trans[s2+uint32(class[uint8(w2>>16)])]
		s3 = trans[s3+uint32(class[uint8(w3>>16)])]
		s0 = trans[s0+uint32(class[uint8(w0>>24)])]
		s1 = trans[s1+uint32(class[uint8(w1>>24)])]
		s2 = trans[s2+uint32(class[uint8(w2>>24)])]
		s3 = trans[s3+uint32(class[uint8(w3>>24)])]
		s0 = trans[s0+uint32(class[uint8(w0>>32)])]
		s1 = trans[s1+uint32(class[uint8(w1>>32)])]
		s2 = trans[s2+uint32(class[uint8(w2>>32)])]
		s3 = trans[s3+uint32(class[uint8(w3>>32)])]
		s0 = trans[s0+uint32(class[uint8(w0>>40)])]
		s1 = trans[s1+uint32(class[uint8(w1>>40)])]
		s2 = trans[s2+uint32(class[uint8(w2>>40)])]
		s3 = trans[s3+uint32(class[uint8(w3>>40)])]
		s0 = trans[s0+uint32(class[uint8(w0>>48)])]
		s1 = trans[s1+uint32(class[uint8(w1>>48)])]
		s2 = trans[s2+uint32(class[uint8(w2>>48)])]
		s3 = trans[s3+uint32(class[uint8(w3>>48)])]
		s0 = trans[s0+uint32(class[uint8(w0>>56)])]
		s1 = trans[s1+uint32(class[uint8(w1>>56)])]
		s2 = trans[s2+uint32(class[uint8(w2>>56)])]
		s3 = trans[s3+uint32(class[uint8(w3>>56)])]
		if min(s0, s1, s2, s3) < first {
			break
		}
		r0, r1, r2, r3 = s0, s1, s2, s3
	}
	st[0].row, st[1].row, st[2].row, st[3].row = r0, r1, r2, r3
	for k := range st {
		st[k].pos += i * 8
	}
	return i
}

// A Stream searches one line that arrives in pieces.
type Stream struct {
	d       *DFA
	row     uint32
	settled bool
}

// Stream begins a line. The DFA must not be used for anything else until the
// line is finished.
func (d *DFA) Stream() *Stream { return &Stream{d: d, row: d.start} }

// Feed reads the next piece of the line, which must not hold its line feed, and
// returns the offset within the piece at which a match became certain, or -1. At most
// one call returns something else.
func (s *Stream) Feed(piece []byte) int {
	if s.settled {
		return -1
	}
	if s.d.p.always {
		s.settled = true
		return 0
	}
	row, n := s.d.run(s.row, piece)
	s.row = row
	if row < s.d.first {
		s.settled = true
		if row == rowMatch*s.d.p.stride {
			return n - 1
		}
	}
	return -1
}

// Finish reports whether the end of the line completes a match that Feed has
// not reported.
func (s *Stream) Finish() bool { return !s.settled && (s.d.p.always || s.d.finish(s.row)) }
