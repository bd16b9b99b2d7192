package pdftext

import (
	"context"
	"unicode/utf16"
)

// A cmap says what the codes of a font stand for.
type cmap struct {
	lengths [5]bool // of codes, in bytes
	chars   map[string]string
	ranges  []cmapRange
}

type cmapRange struct {
	lo, hi string // of one length
	text   string // of lo; the last character counts up
	list   []string
}

const (
	maxMappings = 200_000
	maxRanges   = 20_000 // they are gone through one by one
)

// readCmap reads a ToUnicode map.
func readCmap(ctx context.Context, data []byte) *cmap {
	m := &cmap{chars: make(map[string]string)}
	l := &lexer{b: data, content: true}
	var stack []any
	for n := 0; ; n++ {
		if n%1024 == 0 && ctx.Err() != nil {
			return m
		}
		v, ok := l.next(0)
		if !ok {
			return m
		}
		k, isOp := v.(keyword)
		if !isOp {
			if len(stack) < maxMappings {
				stack = append(stack, v)
			}
			continue
		}
		switch k {
		case "endcodespacerange":
			for _, v := range stack {
				if s, ok := v.(str); ok && len(s) >= 1 && len(s) <= 4 {
					m.lengths[len(s)] = true
				}
			}
		case "endbfchar":
			for i := 0; i+1 < len(stack) && len(m.chars) < maxMappings; i += 2 {
				from, ok1 := stack[i].(str)
				to, ok2 := stack[i+1].(str)
				if ok1 && ok2 {
					m.chars[string(from)] = utf16Text(string(to))
				}
			}
		case "endbfrange":
			for i := 0; i+2 < len(stack) && len(m.ranges) < maxRanges; i += 3 {
				m.addRange(stack[i], stack[i+1], stack[i+2])
			}
		}
		stack = stack[:0]
	}
}

func (m *cmap) addRange(a, b, to any) {
	lo, ok1 := a.(str)
	hi, ok2 := b.(str)
	if !ok1 || !ok2 || len(lo) != len(hi) || len(lo) == 0 || len(lo) > 4 {
		return
	}
	r := cmapRange{lo: string(lo), hi: string(hi)}
	switch to := to.(type) {
	case str:
		r.text = utf16Text(string(to))
	case array:
		for _, v := range to {
			s, _ := v.(str)
			r.list = append(r.list, utf16Text(string(s)))
		}
	}
	m.ranges = append(m.ranges, r)
}

// lookup returns what a code stands for.
func (m *cmap) lookup(code string) (string, bool) {
	if s, ok := m.chars[code]; ok {
		return s, true
	}
	for _, r := range m.ranges {
		if len(r.lo) != len(code) || code < r.lo || code > r.hi {
			continue
		}
		k := codeOf(code) - codeOf(r.lo)
		if r.list != nil {
			if k < len(r.list) {
				return r.list[k], true
			}
			continue
		}
		rs := []rune(r.text)
		if len(rs) == 0 {
			return "", true
		}
		rs[len(rs)-1] += rune(k)
		return string(rs), true
	}
	return "", false
}

func codeOf(s string) int {
	v := 0
	for i := range len(s) {
		v = v<<8 | int(s[i])
	}
	return v
}

// utf16Text decodes big-endian UTF-16; one byte is a character of Latin-1.
func utf16Text(s string) string {
	if len(s) == 1 {
		return string(rune(s[0]))
	}
	units := make([]uint16, len(s)/2)
	for i := range units {
		units[i] = uint16(s[2*i])<<8 | uint16(s[2*i+1])
	}
	return string(utf16.Decode(units))
}
