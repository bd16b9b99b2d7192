package pattern

import (
	"regexp/syntax"
	"unicode"
	"unicode/utf8"
)

// A shape is what is known of the bytes of every match, place by place.
type shape struct {
	fixed bool    // head is all of it
	head  []class // every match begins with these
	tail  []class // every match ends with these; not if fixed
	best  []class // the best that every match holds somewhere
}

const maxShape = 24

// better returns the sequence that is cheaper to look for.
func better(a, b []class) []class {
	if len(b) < 2 || len(a) >= 2 && arrange([]sequence{{classes: a}}).cost <= arrange([]sequence{{classes: b}}).cost {
		return a
	}
	return b
}

func fixed(c ...class) shape { return shape{fixed: true, head: c} }

// open is a shape that is not fixed.
func open(head, tail, best []class) shape {
	head, tail = head[:min(len(head), maxShape)], tail[max(len(tail)-maxShape, 0):]
	return shape{head: head, tail: tail, best: better(best, better(head, tail))}
}

func joined(a, b []class) []class { return append(append(make([]class, 0, len(a)+len(b)), a...), b...) }

func (a shape) then(b shape) shape {
	switch {
	case a.fixed && b.fixed && len(a.head)+len(b.head) <= maxShape:
		return fixed(joined(a.head, b.head)...)
	case a.fixed && b.fixed:
		return open(joined(a.head, b.head), joined(a.head, b.head), nil)
	case a.fixed:
		return open(joined(a.head, b.head), b.tail, b.best)
	case b.fixed:
		return open(a.head, joined(a.tail, b.head), a.best)
	}
	return open(a.head, b.tail, better(better(a.best, b.best), joined(a.tail, b.head)))
}

// either is the shape of an alternation.
func (a shape) either(b shape) shape {
	if a.fixed && b.fixed && len(a.head) == len(b.head) {
		return fixed(overlay(a.head, b.head, false)...)
	}
	return open(overlay(a.head, b.head, false), overlay(a.end(), b.end(), true), nil)
}

// any is the best that every match holds somewhere.
func (a shape) any() []class {
	if a.fixed {
		return a.head
	}
	return a.best
}

func (a shape) end() []class {
	if a.fixed {
		return a.head
	}
	return a.tail
}

// overlay unites two sequences place by place, from their beginnings or ends.
func overlay(a, b []class, atEnd bool) []class {
	n := min(len(a), len(b))
	if atEnd {
		a, b = a[len(a)-n:], b[len(b)-n:]
	}
	out := append([]class(nil), a[:n]...)
	for i := range out {
		out[i].union(b[i])
	}
	return out
}

// shapeOf computes the shape of an expression without counted repeats.
func shapeOf(re *syntax.Regexp, multiline bool) shape {
	switch re.Op {
	case syntax.OpEmptyMatch, syntax.OpBeginLine, syntax.OpEndLine, syntax.OpBeginText, syntax.OpEndText, syntax.OpWordBoundary, syntax.OpNoWordBoundary:
		return fixed()
	case syntax.OpLiteral:
		out := fixed()
		for _, r := range re.Rune {
			forms := []rune{r, r}
			if re.Flags&syntax.FoldCase != 0 {
				for x := unicode.SimpleFold(r); x != r; x = unicode.SimpleFold(x) {
					forms = append(forms, x, x)
				}
			}
			out = out.then(shapeOfRunes(forms))
		}
		return out
	case syntax.OpAnyCharNotNL:
		return shapeOfRunes([]rune{0, '\n' - 1, '\n' + 1, unicode.MaxRune})
	case syntax.OpAnyChar:
		return shapeOfRunes([]rune{0, unicode.MaxRune})
	case syntax.OpCharClass:
		s := shapeOfRunes(re.Rune)
		if !multiline && s.fixed && len(s.head) == 1 {
			s.head[0][0] &^= 1 << '\n'
		}
		return s
	case syntax.OpCapture:
		return shapeOf(re.Sub[0], multiline)
	case syntax.OpPlus:
		s := shapeOf(re.Sub[0], multiline)
		return open(s.head, s.end(), s.best)
	case syntax.OpConcat:
		out := fixed()
		for _, sub := range re.Sub {
			switch sub.Op {
			case syntax.OpQuest, syntax.OpStar:
				x := shapeOf(sub.Sub[0], multiline)
				if sub.Op == syntax.OpStar {
					x = open(x.head, x.end(), x.best)
				}
				with := out.either(out.then(x))
				with.best = better(with.best, out.any())
				out = with
			default:
				out = out.then(shapeOf(sub, multiline))
			}
		}
		return out
	case syntax.OpAlternate:
		out := shapeOf(re.Sub[0], multiline)
		for _, sub := range re.Sub[1:] {
			out = out.either(shapeOf(sub, multiline))
		}
		return out
	}
	return open(nil, nil, nil)
}

// shapeOfRunes is the shape of one character out of ranges.
func shapeOfRunes(ranges []rune) shape {
	if len(ranges) == 0 {
		return fixed(class{}) // matches nothing
	}
	var out shape
	first := true
	for i := 0; i < len(ranges); i += 2 {
		lo, hi := ranges[i], ranges[i+1]
		for _, end := range []rune{0x7F, 0x7FF, 0xFFFF, unicode.MaxRune} {
			if lo > end || lo > hi {
				continue
			}
			s := shapeOfRange(lo, min(hi, end))
			if first {
				out, first = s, false
			} else {
				out = out.either(s)
			}
			lo = end + 1
		}
	}
	return out
}

// shapeOfRange is the shape of characters that take the same number of bytes.
func shapeOfRange(lo, hi rune) shape {
	if 0xD800 <= lo && lo <= 0xDFFF {
		lo = 0xE000
	}
	if 0xD800 <= hi && hi <= 0xDFFF {
		hi = 0xD7FF
	}
	if lo > hi {
		return fixed(class{})
	}
	var a, b [utf8.UTFMax]byte
	n := utf8.EncodeRune(a[:], lo)
	utf8.EncodeRune(b[:], hi)
	out := make([]class, n)
	same := true
	for i := range out {
		if same {
			out[i].add(a[i], b[i])
		} else {
			out[i].add(0x80, 0xBF)
		}
		same = same && a[i] == b[i]
	}
	return fixed(out...)
}

// minLen is the length in bytes of the shortest match.
func minLen(re *syntax.Regexp) int {
	n := 0
	switch re.Op {
	case syntax.OpLiteral:
		for _, r := range re.Rune {
			least := utf8.RuneLen(r)
			if re.Flags&syntax.FoldCase != 0 {
				for x := unicode.SimpleFold(r); x != r; x = unicode.SimpleFold(x) {
					least = min(least, utf8.RuneLen(x))
				}
			}
			n += max(least, 1)
		}
	case syntax.OpCharClass:
		if len(re.Rune) > 0 {
			n = max(utf8.RuneLen(re.Rune[0]), 1) // the lowest is the shortest
		}
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		n = 1
	case syntax.OpCapture, syntax.OpPlus:
		n = minLen(re.Sub[0])
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			n += minLen(sub)
		}
	case syntax.OpAlternate:
		n = minLen(re.Sub[0])
		for _, sub := range re.Sub[1:] {
			n = min(n, minLen(sub))
		}
	}
	return min(n, 1<<16)
}

// begins reports whether every match of the shape begins with the literal.
func (a shape) begins(l literal) bool {
	if len(a.head) < len(l.s) || l.fold {
		return false
	}
	for i := range len(l.s) {
		var c class
		c.add(l.s[i], l.s[i])
		if a.head[i] != c {
			return false
		}
	}
	return true
}
