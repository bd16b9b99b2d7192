package lsp

import (
	"strings"
	"unicode/utf8"
)

// Encoding is how a server counts characters within a line.
type Encoding string

// The encodings of the protocol. UTF16 is what a server uses that says nothing.
const (
	UTF8  Encoding = "utf-8"
	UTF16 Encoding = "utf-16"
	UTF32 Encoding = "utf-32"
)

// Lines are the lines of a text, for going back and forth between positions. A
// line ends with "\n"; a "\r" before that belongs to the line's end.
type Lines struct {
	text  string
	start []int // of each line; there is always one
}

// NewLines finds the lines of a text.
func NewLines(text string) *Lines {
	l := &Lines{text: text, start: make([]int, 1, 1+strings.Count(text, "\n"))}
	for i := 0; ; {
		n := strings.IndexByte(text[i:], '\n')
		if n < 0 {
			return l
		}
		i += n + 1
		l.start = append(l.start, i)
	}
}

// Len returns the number of lines; a text that ends in a newline has an empty
// last one.
func (l *Lines) Len() int { return len(l.start) }

// Line returns line n, which counts from 1, without its end; "" if there is none.
func (l *Lines) Line(n int) string {
	if n < 1 || n > len(l.start) {
		return ""
	}
	s := l.text[l.start[n-1]:]
	if i := strings.IndexByte(s, '\n'); i >= 0 {
		s = strings.TrimSuffix(s[:i], "\r")
	}
	return s
}

// Offset returns the byte offset of a position. A line beyond the last means the
// end of the text, a column beyond the end of its line that end.
func (l *Lines) Offset(p Position) int {
	if p.Line > len(l.start) {
		return len(l.text)
	}
	if p.Line < 1 {
		return 0
	}
	line := l.Line(p.Line)
	return l.start[p.Line-1] + runeOffset(line, p.Column-1)
}

// Position returns the position of a byte offset.
func (l *Lines) Position(offset int) Position {
	offset = max(0, min(offset, len(l.text)))
	lo, hi := 0, len(l.start)-1 // the last line that starts at or before offset
	for lo < hi {
		mid := (lo + hi + 1) / 2
		if l.start[mid] <= offset {
			lo = mid
		} else {
			hi = mid - 1
		}
	}
	line := l.Line(lo + 1)
	return Position{Line: lo + 1, Column: 1 + utf8.RuneCountInString(line[:min(offset-l.start[lo], len(line))])}
}

// runeOffset returns the byte offset of rune n of a line, at most its end.
func runeOffset(line string, n int) int {
	if n <= 0 {
		return 0
	}
	for i := range line {
		if n == 0 {
			return i
		}
		n--
	}
	return len(line)
}

// Wire converts a position to the server's count.
func (l *Lines) Wire(p Position, enc Encoding) wirePosition {
	line := l.Line(p.Line)
	return wirePosition{Line: int64(max(0, p.Line-1)), Character: int64(wireColumn(line, max(0, p.Column-1), enc))}
}

// FromWire converts a position in the server's count. What lies beyond the end
// of a line is its end, as the protocol wants it.
func (l *Lines) FromWire(p wirePosition, enc Encoding) Position {
	n := clampInt(p.Line) + 1
	return Position{Line: n, Column: 1 + runeColumn(l.Line(n), clampInt(p.Character), enc)}
}

// wireColumn returns how the server counts the first n runes of a line.
func wireColumn(line string, n int, enc Encoding) int {
	head := line[:runeOffset(line, n)]
	switch enc {
	case UTF8:
		return len(head)
	case UTF32:
		return utf8.RuneCountInString(head)
	}
	units := 0
	for _, r := range head {
		units += utf16Len(r)
	}
	return units
}

// runeColumn returns how many runes of a line the server's count covers. A count
// that ends within a character ends before it.
func runeColumn(line string, units int, enc Encoding) int {
	n := 0
	for i, r := range line {
		size := 1
		switch enc {
		case UTF8:
			_, size = utf8.DecodeRuneInString(line[i:])
		case UTF32:
		default:
			size = utf16Len(r)
		}
		if units < size {
			break
		}
		units -= size
		n++
	}
	return n
}

func utf16Len(r rune) int {
	if r >= 0x10000 {
		return 2
	}
	return 1
}

// clampInt makes what a server sends as an unsigned number a sane one.
func clampInt(n int64) int { return int(max(0, min(n, 1<<31-2))) }
