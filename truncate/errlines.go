package truncate

import (
	"bytes"
	"slices"
	"strings"
)

// errLine is a line that looks like an error.
type errLine struct {
	line int   // from 1
	off  int64 // of its beginning in the whole text
	text string
	weak bool // only a warning
}

const (
	maxErrLine   = 200      // bytes of a line that are shown
	maxErrSearch = 64 << 20 // bytes that are searched: as much as a Store keeps
)

// findErrors returns the lines within src.text[from:to] and the gap that look
// like errors, in order: at most n errors and n warnings. gap are those of the gap.
func findErrors(src *source, from, to, n int, gap []errLine) []errLine {
	before, after := src.text[from:to], ""
	if src.at >= 0 {
		before, after = src.text[from:max(from, min(src.at, to))], src.text[min(src.at, to):to]
	}
	var f errFinder
	f.max = n
	f.find(before, src, from, 0)
	f.found = append(f.found, gap...)
	for _, e := range gap {
		f.count(e)
	}
	if after != "" {
		f.find(after, src, to-len(after), src.gapLines)
	}
	return f.found
}

// fitErrors chooses at most n of errs with at most size bytes: errors before
// warnings, then the first ones; still in order.
func fitErrors(errs []errLine, n, size int) []errLine {
	var out []errLine
	for _, weak := range []bool{false, true} {
		for _, e := range errs {
			if e.weak != weak {
				continue
			}
			cost := len(e.text) + 12
			if len(out) == n || cost > size {
				continue
			}
			size -= cost
			out = append(out, e)
		}
	}
	slices.SortStableFunc(out, func(a, b errLine) int { return a.line - b.line })
	return out
}

// errFinder collects up to max errors and as many warnings.
type errFinder struct {
	max          int
	strong, weak int
	found        []errLine
}

func (f *errFinder) full() bool { return f.strong >= f.max }

func (f *errFinder) count(e errLine) bool {
	if e.weak {
		f.weak++
		return f.weak <= f.max
	}
	f.strong++
	return f.strong <= f.max
}

// find searches part, which begins at off in src.text with so many lines missing before it.
func (f *errFinder) find(part string, src *source, off, missing int) {
	part = part[:min(len(part), maxErrSearch)]
	line, counted := 0, off
	for i := 0; i < len(part) && !f.full(); {
		hit, weak := nextError(part[i:])
		if hit < 0 {
			return
		}
		hit += i
		start := strings.LastIndexByte(part[:hit], '\n') + 1
		end := len(part)
		if nl := strings.IndexByte(part[hit:], '\n'); nl >= 0 {
			end = hit + nl
		}
		if line == 0 {
			line = src.line(off+start) + missing
		} else {
			line += src.linesBetween(counted, off+start)
		}
		counted = off + start
		e := errLine{line: line, weak: weak && !hasStrong(part[hit:end]), text: clipLine(part[start:end], hit-start)}
		if f.count(e) {
			f.found = append(f.found, e)
		}
		i = end
	}
}

// linesBetween counts the lines from one line's beginning to another's.
func (s *source) linesBetween(from, to int) int {
	n := strings.Count(s.text[from:to], "\n")
	for _, f := range s.folds {
		if f.off > from && f.off <= to {
			n += f.lines
		}
	}
	return n
}

// hasStrong reports whether a line that has a warning has an error as well.
func hasStrong(line string) bool {
	for len(line) > 0 {
		i, weak := nextError(line)
		if i < 0 {
			return false
		}
		if !weak {
			return true
		}
		line = line[i+1:]
	}
	return false
}

// clipLine shortens a line to what is shown, with the hit in it.
func clipLine(line string, hit int) string {
	line = strings.TrimRight(line, "\r")
	if len(line) <= maxErrLine {
		return valid(line)
	}
	from := 0
	if hit > maxErrLine/2 {
		from = runeCeil(line, min(hit-maxErrLine/4, len(line)-maxErrLine))
	}
	to := runeFloor(line, min(len(line), from+maxErrLine))
	out := valid(line[from:to])
	if from > 0 {
		out = "…" + out
	}
	if to < len(line) {
		out += "…"
	}
	return out
}

// nextError returns where the next word of s begins that marks an error, and
// whether it is only a warning; -1 if there is none. "0 errors" and "no
// failures" are not marks.
func nextError[T string | []byte](s T) (at int, weak bool) {
	for i := 0; i+4 <= len(s); i++ {
		// A switch on the first letter is all that most bytes cost. A search for
		// several words that skips ahead was no faster: these are common letters.
		var w string
		switch s[i] | 0x20 {
		case 'e':
			w = "error"
		case 'f':
			if w = "fail"; s[i+2]|0x20 == 't' {
				w = "fatal"
			}
		case 'p':
			w = "panic"
		case 'w':
			w = "warning"
		default:
			continue
		}
		if len(s)-i >= len(w) && foldEqual(s[i:i+len(w)], w) && !denied(s[:i]) {
			return i, s[i]|0x20 == 'w'
		}
	}
	return -1, false
}

// foldEqual reports whether s is the lower-case ASCII word w in any case.
func foldEqual[T string | []byte](s T, w string) bool {
	for i := range len(w) {
		if s[i]|0x20 != w[i] {
			return false
		}
	}
	return true
}

// denied reports whether what precedes a mark says that there is none.
func denied[T string | []byte](s T) bool {
	n := len(s)
	if n < 2 || s[n-1] != ' ' {
		return false
	}
	switch {
	case s[n-2] == '0':
		return n == 2 || !isDigit(s[n-3])
	case n >= 3 && s[n-2]|0x20 == 'o' && s[n-3]|0x20 == 'n':
		return n == 3 || s[n-4]|0x20 < 'a' || s[n-4]|0x20 > 'z'
	}
	return false
}

func isDigit(b byte) bool { return '0' <= b && b <= '9' || b == '.' }

// lineScanner looks for errors in a text that passes by in pieces.
type lineScanner struct {
	errFinder
	searched int64
	line     []byte // the beginning of the unfinished line
	lineOff  int64
	lineNo   int
}

// scan searches the next piece, which begins at off in the text after so many newlines.
func (s *lineScanner) scan(p []byte, off, newlines int64) {
	if s.max <= 0 || s.full() || s.searched >= maxErrSearch {
		return
	}
	s.searched += int64(len(p))
	lineNo := int(newlines) + 1
	if s.lineNo != 0 {
		// The rest of a line of which the beginning came before.
		end := bytes.IndexByte(p, '\n')
		rest := p
		if end >= 0 {
			rest = p[:end]
		}
		s.line = append(s.line, rest[:min(len(rest), maxScanLine-len(s.line))]...)
		if end < 0 {
			return
		}
		s.check(s.line, s.lineOff, s.lineNo)
		s.lineNo, s.line = 0, s.line[:0]
		p, off, lineNo = p[end+1:], off+int64(end)+1, lineNo+1
	}
	last := bytes.LastIndexByte(p, '\n') + 1
	counted := 0
	for i := 0; i < last && !s.full(); {
		hit, _ := nextError(p[i:last])
		if hit < 0 {
			break
		}
		hit += i
		start := bytes.LastIndexByte(p[:hit], '\n') + 1
		end := hit + bytes.IndexByte(p[hit:], '\n')
		lineNo += bytes.Count(p[counted:start], newline)
		counted = start
		s.check(p[start:end], off+int64(start), lineNo)
		i = end
	}
	if rest := p[last:]; len(rest) > 0 {
		s.line = append(s.line[:0], rest[:min(len(rest), maxScanLine)]...)
		s.lineOff = off + int64(last)
		s.lineNo = lineNo + bytes.Count(p[counted:last], newline)
	}
}

// maxScanLine is how much of a line is searched that comes in several pieces.
const maxScanLine = 4 << 10

func (s *lineScanner) check(line []byte, off int64, no int) {
	hit, weak := nextError(line)
	if hit < 0 {
		return
	}
	text := string(line)
	e := errLine{line: no, off: off, weak: weak && !hasStrong(text[hit:]), text: clipLine(text, hit)}
	if s.count(e) {
		s.found = append(s.found, e)
	}
}
