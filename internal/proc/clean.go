package proc

import (
	"bytes"
	"encoding/binary"
	"unicode/utf8"
)

// cleaner turns what a program writes to a terminal into the text that would be
// seen: escape sequences are gone, a line that is written over has its last
// state, what is not UTF-8 is U+FFFD, and of the control characters only tab and
// newline are left. It keeps every newline, so line numbers are those of the raw
// output. It is a truncate.Filter.
type cleaner struct {
	line  []byte // the unfinished line
	base  int    // how much of it cannot be taken back
	fixed bool   // the line got so long that its text goes on at once
	over  bool   // a carriage return was seen: what comes next replaces the line
	part  []byte // an unfinished character
	seq   sequence
	arg   []byte // parameters of the sequence
	skip  int    // bytes of the sequence
	// Space for what the methods return.
	buf, good, pend []byte
}

// sequence is how far an escape sequence was read.
type sequence int

const (
	noSeq     sequence = iota
	escSeq             // after ESC
	interSeq           // ESC and intermediate bytes, as in the choice of a character set
	csiSeq             // control sequence: ESC [
	stringSeq          // operating system command and the like: ESC ], up to BEL or ESC \
	stringEsc          // an ESC within that
)

const (
	// maxLine is how much of an unfinished line can still be written over.
	maxLine = 16 << 10
	// maxSeq is after how much a sequence is taken for a mistake.
	maxSeq = 4 << 10
)

// Append implements truncate.Filter.
func (c *cleaner) Append(dst, src []byte) []byte {
	plain, ascii := classify(src)
	if len(c.part) > 0 || !ascii {
		src = c.whole(src)
	}
	if plain && c.seq == noSeq {
		return c.text(dst, src)
	}
	for len(src) > 0 {
		if c.seq != noSeq {
			src = c.sequence(src)
			continue
		}
		n := nextControl(src)
		dst = c.text(dst, src[:n])
		if n == len(src) {
			break
		}
		switch src[n] {
		case '\r':
			c.over = true
		case '\b':
			c.erase()
		case 0x1b:
			c.seq, c.arg, c.skip = escSeq, c.arg[:0], 0
		}
		src = src[n+1:]
	}
	return dst
}

// Pending implements truncate.Filter.
func (c *cleaner) Pending() []byte {
	if len(c.part) == 0 {
		return c.line
	}
	c.pend = append(c.pend[:0], c.line...)
	for range c.part {
		c.pend = append(c.pend, "\uFFFD"...)
	}
	return c.pend
}

// whole returns src as valid UTF-8, with the character that was unfinished
// before and without the one that is now.
func (c *cleaner) whole(src []byte) []byte {
	if len(c.part) > 0 {
		c.buf = append(append(c.buf[:0], c.part...), src...)
		src, c.part = c.buf, c.part[:0]
	}
	for n := len(src) - 1; n >= 0 && n > len(src)-utf8.UTFMax; n-- {
		if utf8.RuneStart(src[n]) {
			if !utf8.FullRune(src[n:]) {
				c.part = append(c.part, src[n:]...)
				src = src[:n]
			}
			break
		}
	}
	if utf8.Valid(src) {
		return src
	}
	// One U+FFFD for every byte, so that it does not matter in which pieces they
	// came; bytes.ToValidUTF8 would make one of several.
	c.good = c.good[:0]
	for len(src) > 0 {
		r, n := utf8.DecodeRune(src)
		c.good = utf8.AppendRune(c.good, r)
		src = src[n:]
	}
	return c.good
}

// text adds text without control characters.
func (c *cleaner) text(dst, s []byte) []byte {
	if len(s) == 0 {
		return dst
	}
	if c.over {
		c.over = false
		if s[0] != '\n' {
			c.clear()
		}
	}
	if nl := bytes.LastIndexByte(s, '\n') + 1; nl > 0 {
		dst = append(append(dst, c.line...), s[:nl]...)
		c.line, c.base, c.fixed = c.line[:0], 0, false
		s = s[nl:]
	}
	if c.fixed || len(c.line)+len(s) > maxLine {
		dst = append(append(dst, c.line...), s...)
		c.line, c.base, c.fixed = c.line[:0], 0, true
		return dst
	}
	c.line = append(c.line, s...)
	return dst
}

// clear empties the line so that it can be written anew. If its beginning is
// out already, a blank keeps the two apart.
func (c *cleaner) clear() {
	if c.fixed {
		c.line = append(c.line, ' ')
		c.base, c.fixed = len(c.line), false
	}
	c.line = c.line[:c.base]
}

// erase takes the last character of the line away.
func (c *cleaner) erase() {
	if c.over {
		return // at the beginning of the line
	}
	_, n := utf8.DecodeLastRune(c.line[c.base:])
	c.line = c.line[:len(c.line)-n]
}

// sequence reads on in an escape sequence and returns what follows it. A byte
// that cannot belong to it ends it; a newline does always.
func (c *cleaner) sequence(src []byte) []byte {
	for i, b := range src {
		c.skip++
		if b == '\n' || c.skip > maxSeq {
			c.seq = noSeq
			return src[i:]
		}
		switch c.seq {
		case escSeq:
			switch {
			case b == '[':
				c.seq = csiSeq
			case b == ']' || b == 'P' || b == 'X' || b == '^' || b == '_':
				c.seq = stringSeq
			case b >= 0x20 && b <= 0x2f:
				c.seq = interSeq
			case b == 0x1b:
			case b >= 0x30 && b <= 0x7e:
				c.seq = noSeq
				return src[i+1:]
			default:
				c.seq = noSeq
				return src[i:]
			}
		case interSeq:
			switch {
			case b >= 0x20 && b <= 0x2f:
			case b >= 0x30 && b <= 0x7e:
				c.seq = noSeq
				return src[i+1:]
			default:
				c.seq = noSeq
				return src[i:]
			}
		case csiSeq:
			switch {
			case b >= 0x20 && b <= 0x3f:
				if len(c.arg) < 32 {
					c.arg = append(c.arg, b)
				}
			case b >= 0x40 && b <= 0x7e:
				c.seq = noSeq
				c.control(b)
				return src[i+1:]
			default:
				c.seq = noSeq
				return src[i:]
			}
		case stringSeq:
			switch b {
			case 0x07:
				c.seq = noSeq
				return src[i+1:]
			case 0x1b:
				c.seq = stringEsc
			}
		case stringEsc:
			c.seq = noSeq
			if b == '\\' {
				return src[i+1:]
			}
			// A new sequence without an end of the string.
			c.seq, c.arg, c.skip = escSeq, c.arg[:0], 0
			return src[i:]
		}
	}
	return nil
}

// control does what a control sequence says, if it is about the current line.
func (c *cleaner) control(final byte) {
	switch final {
	case 'K': // erase in line
		if arg := string(c.arg); arg == "2" || c.over && (arg == "" || arg == "0") {
			c.clear()
		}
	case 'G': // to a column
		if arg := string(c.arg); arg == "" || arg == "0" || arg == "1" {
			c.over = true
		}
	case 'C': // to the right: what some programs write for blanks
		n := 0
		for _, d := range c.arg {
			if d < '0' || d > '9' || n > 80 {
				return
			}
			n = 10*n + int(d-'0')
		}
		if !c.over && len(c.line) < maxLine {
			c.line = append(c.line, "                                                                                "[:min(max(n, 1), 80)]...)
		}
	}
}

// The tests below look at eight bytes at a time. Each adds to the low seven bits
// of every byte so that its high bit tells; no byte carries into the next.
const (
	ones  = 0x0101010101010101
	high  = 0x80 * ones
	low   = 0x7f * ones
	blank = 0x60 * ones // plus 0x20 gives 0x80
)

// nonPrinting returns the high bit of every byte of w that is a control character.
func nonPrinting(w uint64) uint64 {
	v := w & low
	return (^(v + blank) | (v + ones)) &^ w & high
}

// differs returns the high bit of every byte of w that is not that of v.
func differs(w, v uint64) uint64 {
	x := w ^ v
	return (x&low + low) | x
}

// controls is nonPrinting without tab and newline.
func controls(w uint64) uint64 {
	return nonPrinting(w) & differs(w, '\n'*ones) & differs(w, '\t'*ones)
}

// classify reports whether b has no control characters but tab and newline, and
// whether it is ASCII.
func classify(b []byte) (plain, ascii bool) {
	var ctl, all uint64
	i := 0
	for ; i+16 <= len(b); i += 16 {
		w0, w1 := binary.LittleEndian.Uint64(b[i:i+8]), binary.LittleEndian.Uint64(b[i+8:i+16])
		all |= w0 | w1
		// Most of sixteen bytes of text have none at all.
		if nonPrinting(w0)|nonPrinting(w1) != 0 {
			ctl |= controls(w0) | controls(w1)
		}
	}
	plain, ascii = ctl == 0, all&high == 0
	for ; i < len(b); i++ {
		plain = plain && !isControl(b[i])
		ascii = ascii && b[i] < utf8.RuneSelf
	}
	return plain, ascii
}

// nextControl returns the index of the first control character of b but tab and
// newline, len(b) if there is none.
func nextControl(b []byte) int {
	i := 0
	for ; i+8 <= len(b); i += 8 {
		if controls(binary.LittleEndian.Uint64(b[i:])) != 0 {
			break
		}
	}
	for ; i < len(b); i++ {
		if isControl(b[i]) {
			return i
		}
	}
	return len(b)
}

func isControl(b byte) bool { return b < 0x20 && b != '\n' && b != '\t' || b == 0x7f }
