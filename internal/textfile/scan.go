package textfile

import (
	"bytes"
	"context"
	"io"
	"unicode/utf8"

	"golang.org/x/text/transform"
)

const indexStep = 4096 // lines between two entries of an index

// A lineIndex remembers where lines of one version of a file begin. It grows as far as the file was scanned.
type lineIndex struct {
	stat    Stat
	hash    Hash    // of the whole file; zero when not known
	entries []int64 // entries[i] is where line 1+i*indexStep begins
	lines   int     // complete lines before upTo
	upTo    int64   // how far lines were counted; at the beginning of a line
	total   int     // lines of the file, once known; else -1

	longAt    int64 // a place inside a long line: where the line begins,
	longRunes int   // how many of its runes come before,
	longOff   int64 // and where that is
	longTotal int   // the runes of that line; -1 unknown
	longNext  int64 // where the next line begins; -1 unknown

	countedTo    int64 // how far the runes of that line were counted,
	countedRunes int   // and how many there are up to there
}

func newIndex(st Stat, start int64) *lineIndex {
	return &lineIndex{stat: st, entries: []int64{start}, upTo: start, total: -1}
}

// before returns the last known beginning of a line at or before the given one.
func (x *lineIndex) before(line int) (known int, off int64) {
	if line > x.lines {
		return x.lines + 1, x.upTo
	}
	i := min((line-1)/indexStep, len(x.entries)-1)
	return 1 + i*indexStep, x.entries[i]
}

// A source reads a file's bytes by position, through one window.
type source struct {
	ctx  context.Context
	r    io.ReaderAt
	size int64 // as far as it is read, even if the file grows
	c    codec

	buf []byte
	win []byte // bytes at off, in buf
	off int64
}

// at returns the bytes from off on: at least one full character, up to a chunk; none at the end.
func (s *source) at(off int64) ([]byte, error) {
	if off >= s.size {
		return nil, nil
	}
	if off >= s.off && off < s.off+int64(len(s.win)) {
		return s.win[off-s.off:], nil
	}
	return s.fill(off)
}

// fill reads a chunk beginning at off.
func (s *source) fill(off int64) ([]byte, error) {
	if err := s.ctx.Err(); err != nil {
		return nil, err
	}
	if s.buf == nil {
		s.buf = make([]byte, min(chunkSize, s.size))
	}
	n, err := s.r.ReadAt(s.buf[:min(int64(len(s.buf)), s.size-off)], off)
	if err != nil && err != io.EOF {
		return nil, err
	}
	if n == 0 {
		s.size = off // the file was cut meanwhile
		return nil, nil
	}
	s.win, s.off = s.buf[:n], off
	return s.win, nil
}

// newline returns the index of the first line end in b, which begins at a character, -1 when there is none.
func (c codec) newline(b []byte) int {
	if c.unit == 1 {
		return bytes.IndexByte(b, '\n')
	}
	at := 0 // of the byte that holds 0x0a within a unit
	if c.name == "utf-16be" || c.name == "utf-32be" {
		at = c.unit - 1
	}
	for i := 0; i+c.unit <= len(b); {
		k := bytes.IndexByte(b[i+at:], '\n')
		if k < 0 {
			return -1
		}
		m := k - k%c.unit // where the unit that the byte was found in begins, or the one before that
		if k == m && i+m+c.unit <= len(b) && isUnit(b[i+m:i+m+c.unit], at) {
			return i + m
		}
		i += m + c.unit
	}
	return -1
}

// isUnit reports whether a unit is a newline: 0x0a at the place at, zero elsewhere.
func isUnit(unit []byte, at int) bool {
	for i, b := range unit {
		if i == at && b != '\n' || i != at && b != 0 {
			return false
		}
	}
	return true
}

func (c codec) countNewlines(b []byte) int {
	if c.unit == 1 {
		return bytes.Count(b, []byte{'\n'})
	}
	n := 0
	for {
		i := c.newline(b)
		if i < 0 {
			return n
		}
		n++
		b = b[i+c.unit:]
	}
}

// skipTo moves to the beginning of a line, remembering on the way where lines begin. It reads at most budget bytes beyond what
// the index knows (negative: all). found is false at the end of the file, or when the budget ended it.
func (s *source) skipTo(x *lineIndex, line int, budget int64) (off int64, found bool, err error) {
	at, off := x.before(line)
	for at < line {
		b, err := s.at(off)
		if err != nil {
			return off, false, err
		}
		if len(b) == 0 {
			if off >= s.size && at == x.lines+1 {
				x.total = x.lines
				if off > x.upTo {
					x.total++ // a last line without a line end
				}
			}
			return off, false, nil
		}
		n := s.c.countNewlines(b)
		if at+n < line && (at+n-1)/indexStep == (at-1)/indexStep {
			// nothing to find out in this chunk but the count; off is now inside a line
			if n > 0 {
				last := lastNewline(s.c, b)
				s.count(x, at+n, off+int64(last+s.c.unit))
			}
			at += n
		} else {
			rest, pos := b, off
			for at < line {
				i := s.c.newline(rest)
				if i < 0 {
					break
				}
				pos += int64(i + s.c.unit)
				rest = rest[i+s.c.unit:]
				at++
				s.count(x, at, pos)
			}
			if at == line {
				return pos, true, nil
			}
		}
		off += int64(len(b) - len(b)%s.c.unit)
		if len(b) < s.c.unit {
			off = s.size
		}
		if budget >= 0 {
			if budget -= int64(len(b)); budget < 0 {
				return off, false, nil
			}
		}
	}
	return off, true, nil
}

// count records that line begins at off.
func (s *source) count(x *lineIndex, line int, off int64) {
	if line-1 <= x.lines {
		return
	}
	x.lines, x.upTo = line-1, off
	if (line-1)%indexStep == 0 && (line-1)/indexStep == len(x.entries) {
		x.entries = append(x.entries, off)
	}
}

func lastNewline(c codec, b []byte) int {
	if c.unit == 1 {
		return bytes.LastIndexByte(b, '\n')
	}
	last, base := -1, 0
	for {
		i := c.newline(b[base:])
		if i < 0 {
			return last
		}
		last = base + i
		base = last + c.unit
	}
}

// tailStart returns where the last n lines begin, looking backwards over at most budget bytes; found is false when that
// did not reach so far, and off is then where it stopped.
func (s *source) tailStart(start int64, n int, budget int64) (off int64, found bool, err error) {
	end := s.size - (s.size-start)%int64(s.c.unit)
	pos := end
	last := true
	for pos > start {
		from := max(start, pos-chunkSize)
		if end-from > budget {
			return pos, false, nil
		}
		b, err := s.fill(from)
		if err != nil {
			return pos, false, err
		}
		b = b[:min(int64(len(b)), pos-from)]
		for {
			i := lastNewline(s.c, b)
			if i < 0 {
				break
			}
			next := from + int64(i+s.c.unit)
			if last && next == end {
				last = false // the line end of the last line begins no other
			} else {
				last = false
				if n--; n == 0 {
					return next, true, nil
				}
			}
			b = b[:i]
		}
		pos = from
	}
	return start, true, nil
}

// countRunes counts characters in b and says how many bytes they take; a character cut off at the end is left unless it is
// the last of the file. want bounds the count (negative: none).
func (c codec) countRunes(b []byte, want int, last bool) (runes, bytesUsed int) {
	if c.unit == 4 {
		n := len(b) / 4
		if want >= 0 {
			n = min(n, want)
		}
		return n, 4 * n
	}
	if c.unit == 2 {
		for bytesUsed+2 <= len(b) && runes != want {
			hi := b[bytesUsed+1]
			if c.name == "utf-16be" {
				hi = b[bytesUsed]
			}
			n := 2
			if hi&0xfc == 0xd8 {
				if bytesUsed+4 > len(b) {
					if !last {
						return runes, bytesUsed
					}
				} else {
					n = 4
				}
			}
			bytesUsed += n
			runes++
		}
		return runes, bytesUsed
	}
	if c.table == nil {
		if want < 0 && (last || utf8.RuneStart(b[len(b)-1]) && b[len(b)-1] < utf8.RuneSelf) {
			return utf8.RuneCount(b), len(b)
		}
		for bytesUsed < len(b) && runes != want {
			if b[bytesUsed] < utf8.RuneSelf {
				bytesUsed++
			} else {
				if !last && !utf8.FullRune(b[bytesUsed:]) {
					return runes, bytesUsed
				}
				_, n := utf8.DecodeRune(b[bytesUsed:])
				bytesUsed += n
			}
			runes++
		}
		return runes, bytesUsed
	}
	dec := c.table.NewDecoder()
	var dst [8]byte
	for bytesUsed < len(b) && runes != want {
		// one character at a time: the destination has room for no more than two
		n := 1
		for ; n <= 4 && bytesUsed+n <= len(b); n++ {
			dec.Reset()
			nDst, nSrc, err := dec.Transform(dst[:], b[bytesUsed:bytesUsed+n], false)
			if err != transform.ErrShortSrc && nSrc == n && nDst > 0 {
				break
			}
		}
		if bytesUsed+n > len(b) || n > 4 {
			if !last && len(b)-bytesUsed < 4 {
				return runes, bytesUsed
			}
			n = 1
		}
		bytesUsed += n
		runes++
	}
	return runes, bytesUsed
}
