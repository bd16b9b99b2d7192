package schema

import (
	"math"
	"strconv"
	"unicode/utf8"
)

// flags say what is special about an input that a program accepts.
type flags struct {
	odd    bool   // an integer is written with a fraction or an exponent
	nulls  bool   // null stands for an absent property
	absent uint64 // properties of the root that are absent and have a default
}

// maxRunDepth bounds the recursion of a program.
const maxRunDepth = 200

// run reports whether input is surely valid. A nil program does not know.
func (p *program) run(input []byte) (bool, flags) {
	if p == nil {
		return false, flags{}
	}
	r := runner{b: input, root: p.root}
	return r.run(), r.flags
}

func (r *runner) run() bool {
	i := r.value(r.root, r.skip(0), 0)
	return i >= 0 && r.skip(i) == len(r.b)
}

// runner is one pass. Its methods take the position of a value and return the
// position after it, or -1 for "don't know".
type runner struct {
	b    []byte
	root *node
	flags
	lists lists
}

// skip returns the position of the next byte that is not blank.
func (r *runner) skip(i int) int {
	for i < len(r.b) && r.b[i] <= ' ' && (r.b[i] == ' ' || r.b[i] == '\n' || r.b[i] == '\t' || r.b[i] == '\r') {
		i++
	}
	return i
}

func (r *runner) value(n *node, i, depth int) int {
	if i >= len(r.b) || depth > maxRunDepth {
		return -1
	}
	if n.any {
		return r.anything(i, depth)
	}
	if n.either != nil && !r.oneFits(n, i, depth) {
		return -1
	}
	switch c := r.b[i]; c {
	case '"':
		if n.types&tString == 0 {
			return -1
		}
		return r.text(n, i)
	case '{':
		if n.types&tObject == 0 {
			return -1
		}
		return r.object(n, i, depth)
	case '[':
		if n.types&tArray == 0 {
			return -1
		}
		return r.array(n, i, depth)
	case 't':
		return r.word(i, "true", n.types&tBoolean)
	case 'f':
		return r.word(i, "false", n.types&tBoolean)
	case 'n':
		return r.word(i, "null", n.types&tNull)
	default:
		if n.types&(tInteger|tNumber) == 0 {
			return -1
		}
		return r.number(n, i)
	}
}

// oneFits reports whether the value fits one of the alternatives.
func (r *runner) oneFits(n *node, i, depth int) bool {
	for _, e := range n.either {
		if r.value(e, i, depth+1) >= 0 {
			return true
		}
	}
	return false
}

func (r *runner) word(i int, word string, allowed typeSet) int {
	if allowed == 0 || len(r.b)-i < len(word) || string(r.b[i:i+len(word)]) != word {
		return -1
	}
	return i + len(word)
}

func (r *runner) object(n *node, i, depth int) int {
	var seen uint64
	next := 0
	i = r.skip(i + 1)
	if i < len(r.b) && r.b[i] == '}' {
		return r.closeObject(n, i+1, seen)
	}
	for {
		if i >= len(r.b) || r.b[i] != '"' {
			return -1
		}
		start := i + 1
		end, escaped := r.scan(start)
		if end < 0 || escaped {
			return -1
		}
		key := r.b[start:end]
		i = r.skip(end + 1)
		if i >= len(r.b) || r.b[i] != ':' {
			return -1
		}
		if i = r.skip(i + 1); i >= len(r.b) {
			return -1
		}
		at := -1
		// Models mostly keep to the order of the schema.
		for k := range n.fields {
			j := next + k
			if j >= len(n.fields) {
				j -= len(n.fields)
			}
			if n.fields[j].name == string(key) {
				at = j
				break
			}
		}
		switch {
		case at >= 0:
			bit := uint64(1) << at
			if seen&bit != 0 {
				return -1 // twice: which of them counts is not for here
			}
			next = at + 1
			f := &n.fields[at]
			if f.nullable && r.b[i] == 'n' {
				i = r.word(i, "null", tNull)
				r.nulls = true
				if n.fallback&bit != 0 && n == r.root && depth == 0 {
					r.absent |= bit
				} else if n.fallback&bit != 0 {
					return -1
				}
				seen |= bit
				break
			}
			seen |= bit
			i = r.value(f.node, i, depth+1)
		case n.extra == nil || n.clash != nil && resembles(string(key), n.clash):
			return -1
		default:
			i = r.value(n.extra, i, depth+1)
		}
		if i < 0 {
			return -1
		}
		if i = r.skip(i); i >= len(r.b) {
			return -1
		}
		switch r.b[i] {
		case ',':
			i = r.skip(i + 1)
		case '}':
			if missing := n.fallback &^ seen; missing != 0 && n == r.root && depth == 0 {
				r.absent |= missing
				seen |= missing
			}
			return r.closeObject(n, i+1, seen)
		default:
			return -1
		}
	}
}

// closeObject checks that all is there, and returns i if so.
func (r *runner) closeObject(n *node, i int, seen uint64) int {
	if (n.required|n.fallback)&^seen != 0 {
		return -1
	}
	return i
}

func (r *runner) array(n *node, i, depth int) int {
	count, slot := 0, r.lists.n
	if slot < len(r.lists.at) {
		r.lists.at[slot].start = i
		r.lists.n++
	}
	i = r.skip(i + 1)
	if i < len(r.b) && r.b[i] == ']' {
		i++
	} else {
		for {
			if i = r.value(n.items, i, depth+1); i < 0 {
				return -1
			}
			count++
			if i = r.skip(i); i >= len(r.b) {
				return -1
			}
			if r.b[i] == ']' {
				i++
				break
			}
			if r.b[i] != ',' {
				return -1
			}
			i = r.skip(i + 1)
		}
	}
	if count < n.minItems || count > n.maxItems {
		return -1
	}
	if slot < len(r.lists.at) {
		r.lists.at[slot].count = count
	}
	return i
}

func (r *runner) text(n *node, i int) int {
	start := i + 1
	end, escaped := r.scan(start)
	if end < 0 {
		return -1
	}
	s := r.b[start:end]
	if n.hasEnum {
		if escaped {
			return -1
		}
		found := false
		for _, t := range n.texts {
			if t == string(s) {
				found = true
				break
			}
		}
		if !found {
			return -1
		}
	}
	if n.counted {
		count := utf8.RuneCount(s)
		if escaped {
			count = length(s)
		}
		if count < n.minLen || count > n.maxLen {
			return -1
		}
	}
	if n.pattern != nil && (escaped || !n.pattern.Match(s)) {
		return -1
	}
	return end + 1
}

func (r *runner) number(n *node, i int) int {
	start := i
	negative := r.b[i] == '-'
	if negative {
		i++
	}
	first := i
	var abs int64
	for i < len(r.b) && '0' <= r.b[i] && r.b[i] <= '9' {
		abs = abs*10 + int64(r.b[i]-'0') // may overflow, but then is not used
		i++
	}
	digits := i - first
	if digits == 0 || digits > 1 && r.b[first] == '0' {
		return -1
	}
	if i < len(r.b) && (r.b[i] == '.' || r.b[i] == 'e' || r.b[i] == 'E') {
		return r.fraction(n, start)
	}
	if digits > 18 {
		return -1
	}
	if n.bounded {
		if negative {
			abs = -abs
		}
		f := float64(abs)
		// Beyond 2^53 a float64 is not exact, and equal is not known to be equal.
		vague := abs >= 1<<53 || abs <= -1<<53
		if !inBounds(f, n, vague) {
			return -1
		}
	}
	return i
}

// inBounds reports whether f is within the bounds of n; strictly, if need be.
func inBounds(f float64, n *node, strict bool) bool {
	if n.openLow || strict {
		if f <= n.min {
			return false
		}
	} else if f < n.min {
		return false
	}
	if n.openHigh || strict {
		return f < n.max
	}
	return f <= n.max
}

// fraction checks a number that is not only digits.
func (r *runner) fraction(n *node, i int) int {
	const most = 24
	window := r.b[i:min(len(r.b), i+most)]
	end := scanNumber(string(window), 0)
	if end < 0 || end >= most || end > len(window) {
		return -1
	}
	end += i
	lit := r.b[i:end]
	f, err := strconv.ParseFloat(string(lit), 64)
	if err != nil || math.Abs(f) >= 1<<53 || n.bounded && !inBounds(f, n, false) {
		return -1
	}
	if n.types&tNumber == 0 {
		if !parseDecimal(string(lit)).isInt() {
			return -1
		}
		r.odd = true
	}
	return end
}

// anything checks that there is a JSON value, whatever it is.
func (r *runner) anything(i, depth int) int {
	if i >= len(r.b) || depth > maxRunDepth {
		return -1
	}
	switch r.b[i] {
	case '"':
		end, _ := r.scan(i + 1)
		if end < 0 {
			return -1
		}
		return end + 1
	case '{', '[':
		return r.compound(i, depth)
	case 't':
		return r.word(i, "true", tAny)
	case 'f':
		return r.word(i, "false", tAny)
	case 'n':
		return r.word(i, "null", tAny)
	}
	return r.number(&anyNumber, i)
}

var anyNumber = node{types: tNumber | tInteger}

func (r *runner) compound(i, depth int) int {
	object := r.b[i] == '{'
	closing := byte(']')
	if object {
		closing = '}'
	}
	i = r.skip(i + 1)
	if i < len(r.b) && r.b[i] == closing {
		return i + 1
	}
	for {
		if object {
			if i >= len(r.b) || r.b[i] != '"' {
				return -1
			}
			if i, _ = r.scan(i + 1); i < 0 {
				return -1
			}
			i = r.skip(i + 1)
			if i >= len(r.b) || r.b[i] != ':' {
				return -1
			}
			i = r.skip(i + 1)
		}
		if i = r.anything(i, depth+1); i < 0 {
			return -1
		}
		if i = r.skip(i); i >= len(r.b) {
			return -1
		}
		switch r.b[i] {
		case ',':
			i = r.skip(i + 1)
		case closing:
			return i + 1
		default:
			return -1
		}
	}
}
