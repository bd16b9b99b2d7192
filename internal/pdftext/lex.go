package pdftext

import (
	"bytes"
	"strconv"
)

// The objects of a PDF, beside nil, bool and float64.
type (
	name    string
	str     string // bytes
	keyword string
	array   []any
	dict    map[string]any
	ref     struct{ num, gen int }
	stream  struct {
		dict dict
		raw  []byte
	}
)

const maxNesting = 100

// A lexer reads objects from bytes.
type lexer struct {
	b       []byte
	pos     int
	content bool // of a page: there are no references
}

func isBlank(c byte) bool {
	return c == ' ' || c == '\n' || c == '\r' || c == '\t' || c == '\f' || c == 0
}

func isDelim(c byte) bool {
	switch c {
	case '(', ')', '<', '>', '[', ']', '{', '}', '/', '%':
		return true
	}
	return false
}

func (l *lexer) blanks() {
	for l.pos < len(l.b) {
		switch c := l.b[l.pos]; {
		case isBlank(c):
			l.pos++
		case c == '%':
			for l.pos < len(l.b) && l.b[l.pos] != '\n' && l.b[l.pos] != '\r' {
				l.pos++
			}
		default:
			return
		}
	}
}

// next reads an object or a keyword; ok is false at the end.
func (l *lexer) next(depth int) (v any, ok bool) {
	l.blanks()
	if l.pos >= len(l.b) {
		return nil, false
	}
	switch c := l.b[l.pos]; {
	case c == '/':
		return l.name(), true
	case c == '(':
		return l.literal(), true
	case c == '<' && l.at(1) == '<':
		l.pos += 2
		return l.dict(depth), true
	case c == '<':
		return l.hex(), true
	case c == '[':
		l.pos++
		return l.array(depth), true
	case c == ']' || c == '{' || c == '}' || c == ')':
		l.pos++
		return keyword(c), true
	case c == '>':
		l.pos++
		if l.at(0) == '>' {
			l.pos++
		}
		return keyword(">>"), true
	}
	start := l.pos
	for l.pos < len(l.b) && !isBlank(l.b[l.pos]) && !isDelim(l.b[l.pos]) {
		l.pos++
	}
	word := l.b[start:l.pos]
	if c := word[0]; c >= '0' && c <= '9' || c == '-' || c == '+' || c == '.' {
		if f, ok := number(word); ok {
			return l.reference(f), true
		}
	}
	switch string(word) {
	case "true":
		return true, true
	case "false":
		return false, true
	case "null":
		return nil, true
	}
	return keyword(word), true
}

func (l *lexer) at(k int) byte {
	if l.pos+k < len(l.b) {
		return l.b[l.pos+k]
	}
	return 0
}

func number(word []byte) (float64, bool) {
	if len(word) > 40 {
		return 0, false
	}
	f, err := strconv.ParseFloat(string(word), 64)
	if err != nil {
		// Some writers put a second sign or point into numbers.
		if i := bytes.LastIndexAny(word, "-+"); i > 0 {
			f, err = strconv.ParseFloat(string(word[:i]), 64)
		}
	}
	return f, err == nil && f > -1e15 && f < 1e15
}

// reference turns a number that begins "12 0 R" into a reference.
func (l *lexer) reference(f float64) any {
	if l.content || f < 0 || f != float64(int(f)) {
		return f
	}
	p := l.pos
	for p < len(l.b) && isBlank(l.b[p]) {
		p++
	}
	start := p
	for p < len(l.b) && p-start < 6 && l.b[p] >= '0' && l.b[p] <= '9' {
		p++
	}
	if p == start {
		return f
	}
	gen, err := strconv.Atoi(string(l.b[start:p]))
	for p < len(l.b) && isBlank(l.b[p]) {
		p++
	}
	if err != nil || p >= len(l.b) || l.b[p] != 'R' || p+1 < len(l.b) && !isBlank(l.b[p+1]) && !isDelim(l.b[p+1]) {
		return f
	}
	l.pos = p + 1
	return ref{int(f), gen}
}

func (l *lexer) name() name {
	var out []byte
	for l.pos++; l.pos < len(l.b) && !isBlank(l.b[l.pos]) && !isDelim(l.b[l.pos]); l.pos++ {
		c := l.b[l.pos]
		if c == '#' && l.pos+2 < len(l.b) {
			if v, err := strconv.ParseUint(string(l.b[l.pos+1:l.pos+3]), 16, 8); err == nil {
				out = append(out, byte(v))
				l.pos += 2
				continue
			}
		}
		out = append(out, c)
	}
	return name(out)
}

func (l *lexer) literal() str {
	var out []byte
	depth := 1
	for l.pos++; l.pos < len(l.b); l.pos++ {
		switch c := l.b[l.pos]; c {
		case '(':
			depth++
			out = append(out, c)
		case ')':
			if depth--; depth == 0 {
				l.pos++
				return str(out)
			}
			out = append(out, c)
		case '\\':
			l.pos++
			switch e := l.at(0); {
			case e == 'n':
				out = append(out, '\n')
			case e == 'r':
				out = append(out, '\r')
			case e == 't':
				out = append(out, '\t')
			case e == 'b':
				out = append(out, '\b')
			case e == 'f':
				out = append(out, '\f')
			case e == '\r':
				if l.at(1) == '\n' {
					l.pos++
				}
			case e == '\n':
			case e >= '0' && e <= '7':
				v := 0
				for k := 0; k < 3 && l.at(0) >= '0' && l.at(0) <= '7'; k++ {
					v = v*8 + int(l.at(0)-'0')
					l.pos++
				}
				l.pos--
				out = append(out, byte(v))
			default:
				out = append(out, e)
			}
		default:
			out = append(out, c)
		}
	}
	l.pos = len(l.b)
	return str(out)
}

func (l *lexer) hex() str {
	var out []byte
	half, odd := byte(0), false
	for l.pos++; l.pos < len(l.b) && l.b[l.pos] != '>'; l.pos++ {
		v, ok := hexDigit(l.b[l.pos])
		if !ok {
			continue
		}
		if odd {
			out = append(out, half<<4|v)
		}
		half, odd = v, !odd
	}
	if odd {
		out = append(out, half<<4)
	}
	l.pos = min(l.pos+1, len(l.b))
	return str(out)
}

func hexDigit(c byte) (byte, bool) {
	switch {
	case '0' <= c && c <= '9':
		return c - '0', true
	case 'a' <= c|0x20 && c|0x20 <= 'f':
		return (c | 0x20) - 'a' + 10, true
	}
	return 0, false
}

func (l *lexer) array(depth int) array {
	var out array
	for {
		v, ok := l.next(depth + 1)
		if !ok || v == keyword("]") {
			return out
		}
		if k, bad := v.(keyword); bad {
			if k == "endobj" || k == "stream" {
				return out
			}
			continue
		}
		if depth < maxNesting {
			out = append(out, v)
		}
	}
}

func (l *lexer) dict(depth int) dict {
	out := make(dict)
	for {
		k, ok := l.next(depth + 1)
		if !ok || k == keyword(">>") || k == keyword("endobj") {
			return out
		}
		key, ok := k.(name)
		if !ok {
			continue
		}
		v, ok := l.next(depth + 1)
		if !ok || v == keyword(">>") {
			return out
		}
		if depth < maxNesting {
			out[string(key)] = v
		}
	}
}
