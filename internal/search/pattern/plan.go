package pattern

import (
	"regexp/syntax"
	"strings"
)

// Costs in nanoseconds, measured once; they only have to be roughly right.
const (
	costIndexByte = 0.05 // per byte read by bytes.IndexByte
	costStop      = 20.0 // each time that stops at a byte
	costPair      = 0.30 // per byte of the scan for two bytes at once
	costAutomaton = 0.45 // per byte of lazydfa with four streams
	costSieve     = 0.03 // per byte that passes by a sieve
	costPairProbe = 0.30 // each place where it looks at two bytes
	costGramProbe = 0.35 // each place where it looks at three
	costHit       = 18.0 // each time that it has to look twice
	costVerify    = 30.0 // each line found by a literal, beyond what the automaton spends on a match
)

func freq(b byte) float64 { return float64(frequency[b]) / 65536 }

// chance estimates how often the byte of a literal occurs, in either case if
// that does not matter.
func (l literal) chance(i int) float64 {
	f := freq(l.s[i])
	if l.fold && isLetter(l.s[i]) {
		f += freq(l.s[i] &^ 0x20)
	}
	return f
}

func isLetter(b byte) bool { return 'a' <= b|0x20 && b|0x20 <= 'z' }

// rarest returns the positions of the two rarest bytes of the literal.
func (l literal) rarest() (i, j int) {
	j = -1
	for k := range len(l.s) {
		switch {
		case l.chance(k) < l.chance(i):
			i, j = k, i
		case k != i && (j < 0 || l.chance(k) < l.chance(j)):
			j = k
		}
	}
	if j < 0 {
		j = i
	}
	return i, j
}

// cost estimates what looking for a set costs per byte of text. Letters follow
// each other by habit, so a word is about as frequent as its two rarest letters
// beside each other.
func cost(set []literal) float64 {
	if !usable(set) {
		return 1e9
	}
	sum := 0.0
	for _, l := range set {
		i, j := l.rarest()
		rate := l.chance(i)
		if i != j {
			rate *= l.chance(j)
			for k := 6; k < min(len(l.s), 10); k++ {
				rate *= 0.3
			}
		}
		sum += min(l.byteCost(i), pairCost(l)) + rate*costVerify
	}
	return sum
}

func (l literal) byteCost(i int) float64 {
	if l.fold && isLetter(l.s[i]) {
		return 1e6 // two bytes to look for
	}
	return costIndexByte + costStop*freq(l.s[i])
}

func pairCost(l literal) float64 {
	if len(l.s) < 2 {
		return 1e6
	}
	return costPair
}

// shared is the shortest substring that is worth looking for in place of two
// literals that have it in common.
const shared = 4

// merge replaces literals that have a part in common by that part while this
// makes looking for the set cheaper: "json.Marshal" and "xml.Marshal" are both
// where ".Marshal" is. Two are left alone, for what they find needs no verifying.
func merge(set []literal) (_ []literal, merged bool) {
	for len(set) > 2 {
		best, least := set, 0.9*cost(set)
		for i := range set {
			for j := range i {
				if set[i].fold != set[j].fold {
					continue
				}
				part := common(set[i].s, set[j].s)
				if len(part) < shared {
					continue
				}
				fewer := []literal{{part, set[i].fold}}
				for _, l := range set {
					if l.fold != set[i].fold || !strings.Contains(l.s, part) {
						fewer = append(fewer, l)
					}
				}
				if c := cost(fewer); c < least {
					best, least = fewer, c
				}
			}
		}
		if len(best) == len(set) {
			break
		}
		set, merged = best, true
	}
	return set, merged
}

// common returns the longest common substring, the first of several.
func common(a, b string) string {
	best := ""
	for i := range len(a) {
		for i+len(best) < len(a) && strings.Contains(b, a[i:i+len(best)+1]) {
			best = a[i : i+len(best)+1]
		}
	}
	return best
}

// plan decides how lines are found.
func (p *Pattern) plan(re *syntax.Regexp) {
	f := analyse(re, p.Multiline)
	way := wayOf(f.best())
	exact := f.exact != nil && f.sure && !p.Multiline
	if parts, merged := merge(way.set); merged {
		if w := wayOf(parts); w.cost < 0.9*way.cost {
			way, exact = w, false
		}
	}
	if !exact {
		shape := shapeOf(re, p.Multiline)
		if len(way.set) == 1 && !p.Multiline && shape.begins(way.set[0]) {
			// Most lines that have the literal may be too short for what follows it, and
			// that is seen at once.
			if p.minAfter = minLen(re); p.minAfter >= longMatch {
				way.cost = min(way.cost, newFinder(way.set[0]).lit.cheapest())
			}
		}
		seqs := []sequence{{classes: shape.any()}}
		if l := arrange(seqs); l.cost < min(0.8*way.cost, 0.7*costAutomaton) {
			way, p.minAfter = route{seqs: seqs, layout: l, cost: l.cost}, 0
		}
	}
	if way.cost > costAutomaton {
		return
	}
	p.exact = exact
	var extra []literal
	if way.seqs != nil {
		p.find = append(p.find, finder{sieve: newSieve(way.seqs, way.layout)})
	} else {
		for _, l := range way.set {
			p.find = append(p.find, newFinder(l))
			// Two letters beyond ASCII are another case of k and s. Each is looked for on
			// its own, which costs next to nothing.
			if l.fold && strings.Contains(l.s, "k") {
				extra = union(extra, []literal{{s: kelvin}})
			}
			if l.fold && strings.Contains(l.s, "s") {
				extra = union(extra, []literal{{s: longS}})
			}
		}
	}
	for _, l := range extra {
		fd := newFinder(l)
		fd.verify = true
		p.find = append(p.find, fd)
	}
	if p.exact && extra == nil {
		for i := range p.find {
			p.longest = max(p.longest, p.find[i].longest())
		}
	}
	if !p.exact && !p.Multiline {
		p.also = f.others(way.set)
	}
}

// longMatch is the shortest match that is longer than most lines of text, or what
// is left of them.
const longMatch = 40

// cheapest is what looking for a literal costs where a line is refused for its length
// mostly: a stop for the literal and one for the end of the line.
func (l literal) cheapest() float64 {
	i, _ := l.rarest()
	return costIndexByte + l.chance(i)*costStop
}

// A route is a way to find lines: literals, each on its own, or with seqs all at once.
type route struct {
	set    []literal
	seqs   []sequence
	layout layout
	cost   float64
}

// The other case of k and of s, beyond ASCII.
const kelvin, longS = "\u212a", "\u017f"

// maxForms is how many spellings of a literal a sieve looks for.
const maxForms = 16

// forms returns the spellings of a literal with letters beyond ASCII, itself first;
// nil if they are too many.
func (l literal) forms() []literal {
	out := []literal{l}
	if !l.fold {
		return out
	}
	for i := len(l.s) - 1; i >= 0; i-- {
		other := ""
		switch l.s[i] {
		case 'k':
			other = kelvin
		case 's':
			other = longS
		default:
			continue
		}
		for _, f := range out {
			out = append(out, literal{f.s[:i] + other + f.s[i+1:], true})
		}
		if len(out) > maxForms {
			return nil
		}
	}
	return out
}

// wayOf returns the cheapest way to look for a set of literals.
func wayOf(set []literal) route {
	w := route{set: set, cost: cost(set)}
	if !usable(set) {
		return w
	}
	var seqs []sequence
	for _, l := range set {
		forms := l.forms()
		if forms == nil {
			return w
		}
		for _, f := range forms {
			seqs = append(seqs, sequenceOf(f))
		}
	}
	if len(seqs) > maxSequences {
		return w
	}
	if l := arrange(seqs); l.cost < 0.9*w.cost {
		w.seqs, w.layout, w.cost = seqs, l, l.cost
	}
	return w
}
