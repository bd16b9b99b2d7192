package builtin

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"
)

// sniffLen is how much of a file decides whether it is text.
const sniffLen = 8 << 10

// isBinary reports whether a file that begins with head is not text: it holds a
// NUL byte, or is mostly control characters and bytes that are not UTF-8.
func isBinary(head []byte) bool {
	if bytes.IndexByte(head, 0) >= 0 {
		return true
	}
	odd := 0
	for b := head; len(b) > 0; {
		r, n := utf8.DecodeRune(b)
		switch {
		case r == utf8.RuneError && n == 1 && utf8.FullRune(b):
			odd++
		case r < ' ' && r != '\t' && r != '\n' && r != '\r' && r != '\f' && r != '\x1b':
			odd++
		}
		b = b[n:]
	}
	return odd*10 > len(head)*3
}

var bom = []byte("\xEF\xBB\xBF")

// countLines counts lines: what ends in a newline, and a rest that does not.
func countLines(data []byte) int {
	n := bytes.Count(data, []byte{'\n'})
	if len(data) > 0 && data[len(data)-1] != '\n' {
		n++
	}
	return n
}

// visible makes a line safe to show: valid UTF-8, with control characters and
// those that reorder text written as escapes, so that a file can neither repaint
// a terminal nor show what it does not say.
func visible(s string) string {
	clean := true
	for _, r := range s {
		if hides(r) || r == utf8.RuneError {
			clean = false
			break
		}
	}
	if clean {
		return s
	}
	var b strings.Builder
	for _, r := range strings.ToValidUTF8(s, "\uFFFD") {
		switch {
		case !hides(r):
			b.WriteRune(r)
		case r < 0x80:
			fmt.Fprintf(&b, `\x%02x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

func hides(r rune) bool {
	switch {
	case r == '\t', r == '\n':
		return false
	case r < ' ', 0x7f <= r && r < 0xa0:
		return true
	case 0x202a <= r && r <= 0x202e, 0x2066 <= r && r <= 0x2069, r == 0x200e, r == 0x200f, r == 0x061c:
		return true
	}
	return false
}

// cutLine shortens a line to limit runes and says how many are missing; more is
// how many were left out before.
func cutLine(s string, limit, more int) string {
	n := 0
	for i := range s {
		if n == limit {
			return fmt.Sprintf("%s…[+%d characters]", s[:i], countRunes(s[i:])+more)
		}
		n++
	}
	return s
}

// countRunes counts the bytes that begin a rune, so that the parts of a text
// that is cut anywhere add up.
func countRunes[T string | []byte](s T) int {
	n := 0
	for i := range len(s) {
		if s[i]&0xC0 != 0x80 {
			n++
		}
	}
	return n
}

// lineView is a text as a model sees it, with every CR LF as one newline, and the
// way back to the bytes it was made of.
type lineView struct {
	raw  []byte
	text string
	crs  []int // offsets in text of the newlines that are CR LF in raw
}

func viewOf(raw []byte) *lineView {
	v := &lineView{raw: raw}
	if !bytes.Contains(raw, crlf) {
		v.text = string(raw)
		return v
	}
	var b strings.Builder
	b.Grow(len(raw))
	for rest := raw; ; {
		i := bytes.Index(rest, crlf)
		if i < 0 {
			b.Write(rest)
			break
		}
		b.Write(rest[:i])
		v.crs = append(v.crs, b.Len())
		b.WriteByte('\n')
		rest = rest[i+2:]
	}
	v.text = b.String()
	return v
}

var crlf = []byte("\r\n")

// at returns the offset in raw of an offset in text; before a CR LF, not within.
func (v *lineView) at(off int) int {
	lo, hi := 0, len(v.crs)
	for lo < hi {
		mid := (lo + hi) / 2
		if v.crs[mid] < off {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return off + lo
}

// ending returns how lines that are put in at an offset in text are to end: as
// the line that they are put into, or, between two lines, as the one before.
func (v *lineView) ending(off int) string {
	if len(v.crs) == 0 {
		return "\n"
	}
	before := strings.LastIndexByte(v.text[:off], '\n')
	if before >= 0 && before == off-1 {
		return v.endingAt(before)
	}
	if i := strings.IndexByte(v.text[off:], '\n'); i >= 0 {
		return v.endingAt(off + i)
	}
	if before >= 0 {
		return v.endingAt(before)
	}
	return "\n"
}

func (v *lineView) endingAt(newline int) string {
	if raw := v.at(newline); raw < len(v.raw) && v.raw[raw] == '\r' {
		return "\r\n"
	}
	return "\n"
}

// mostlyCRLF reports whether most lines end in CR LF.
func mostlyCRLF(raw []byte) bool {
	n := bytes.Count(raw, crlf)
	return n > 0 && 2*n >= bytes.Count(raw, []byte{'\n'})
}

func plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	if strings.HasSuffix(word, "ch") {
		return fmt.Sprintf("%d %ses", n, word)
	}
	return fmt.Sprintf("%d %ss", n, word)
}
