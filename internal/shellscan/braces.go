package shellscan

import (
	"fmt"
	"strconv"
	"strings"
)

// braces applies brace expansion as bash does it. It reports false if there would be more than maxBraces words, or words
// that depend on the character set.
func braces(a atoms) ([]atoms, bool) {
	e := braceExpander{budget: maxBraces}
	out := e.expand(a)
	return out, !e.failed
}

type braceExpander struct {
	budget int
	steps  int
	failed bool
}

func (e *braceExpander) expand(a atoms) []atoms {
	if e.steps++; e.steps > 4*maxBraces {
		e.failed = true
	}
	if e.failed {
		return nil
	}
	open, end := -1, -1
	for i := range a {
		if a[i] != (atom{'{', plain}) {
			continue
		}
		if i == 0 && len(a) > 1 && a[1] == (atom{'}', plain}) {
			continue
		}
		if end = closing(a, i+1); end >= 0 {
			open = i
			break
		}
	}
	if open < 0 {
		return []atoms{a}
	}
	inner := a[open+1 : end]
	var middle []atoms
	hasComma := false
	for _, at := range inner {
		hasComma = hasComma || at == atom{',', plain}
	}
	if hasComma {
		for _, part := range splitComma(inner) {
			middle = append(middle, e.expand(part)...)
		}
	} else if middle = e.sequence(inner); middle == nil && !e.failed {
		middle = []atoms{a[open : end+1]}
	}
	rest := e.expand(a[end+1:])
	if e.failed || len(middle)*len(rest) > e.budget {
		e.failed = true
		return nil
	}
	out := make([]atoms, 0, len(middle)*len(rest))
	for _, m := range middle {
		for _, r := range rest {
			w := make(atoms, 0, open+len(m)+len(r))
			out = append(out, append(append(append(w, a[:open]...), m...), r...))
		}
	}
	return out
}

// closing finds the brace that ends an expression which starts at from: the first one on that level after a comma or two
// dots.
func closing(a atoms, from int) int {
	level, marks := 0, 0
	for i := from; i < len(a); i++ {
		switch a[i] {
		case atom{'{', plain}:
			level++
		case atom{'}', plain}:
			if level == 0 && marks > 0 {
				return i
			}
			level = max(0, level-1)
		case atom{',', plain}:
			if level == 0 {
				marks++
			}
		case atom{'.', plain}:
			if level == 0 && i+2 < len(a) && a[i+1] == (atom{'.', plain}) && a[i+2] != (atom{'}', plain}) {
				marks++
			}
		}
	}
	return -1
}

func splitComma(a atoms) []atoms {
	var out []atoms
	level, start := 0, 0
	for i, at := range a {
		switch at {
		case atom{'{', plain}:
			level++
		case atom{'}', plain}:
			level = max(0, level-1)
		case atom{',', plain}:
			if level == 0 {
				out = append(out, a[start:i])
				start = i + 1
			}
		}
	}
	return append(out, a[start:])
}

// sequence expands x..y and x..y..step, or returns nil if it is none.
func (e *braceExpander) sequence(a atoms) []atoms {
	var b strings.Builder
	for _, at := range a {
		if at.k != plain {
			// Quoted parts keep bash from seeing a number; what it makes of them differs between releases.
			e.failed = e.failed || at.k != quoted
			return nil
		}
		b.WriteRune(at.r)
	}
	parts := strings.Split(b.String(), "..")
	if len(parts) != 2 && len(parts) != 3 {
		return nil
	}
	step := int64(1)
	if len(parts) == 3 {
		var err error
		if step, err = strconv.ParseInt(parts[2], 10, 64); err != nil {
			return nil
		}
		if step < 0 {
			step = -step
		}
		step = max(step, 1)
	}
	lo, err1 := strconv.ParseInt(parts[0], 10, 64)
	hi, err2 := strconv.ParseInt(parts[1], 10, 64)
	letters := len(parts[0]) == 1 && len(parts[1]) == 1 && isLetter(parts[0][0]) && isLetter(parts[1][0])
	switch {
	case letters:
		lo, hi = int64(parts[0][0]), int64(parts[1][0])
		if (parts[0][0] <= 'Z') != (parts[1][0] <= 'Z') {
			e.failed = true // runs over backquote and backslash
			return nil
		}
	case err1 != nil || err2 != nil:
		return nil
	}
	const far = 1 << 40
	if lo > far || lo < -far || hi > far || hi < -far || step > far {
		e.failed = true
		return nil
	}
	span := hi - lo
	if span < 0 {
		span = -span
	}
	if span/step >= int64(e.budget) {
		e.failed = true
		return nil
	}
	width := 0
	if !letters && (padded(parts[0]) || padded(parts[1])) {
		width = max(len(parts[0]), len(parts[1]))
	}
	var out []atoms
	for n := int64(0); n <= span/step; n++ {
		x := lo + n*step
		if hi < lo {
			x = lo - n*step
		}
		s := strconv.FormatInt(x, 10)
		switch {
		case letters:
			s = string(rune(x))
		case width > 0:
			s = fmt.Sprintf("%0*d", width, x)
		}
		out = append(out, atoms(nil).text(plain, s))
	}
	return out
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

func padded(s string) bool {
	s = strings.TrimLeft(s, "+-")
	return len(s) > 1 && s[0] == '0'
}
