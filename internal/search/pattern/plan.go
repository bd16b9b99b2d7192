package pattern

import (
	"regexp/syntax"
	"strings"
)

// Costs in nanoseconds, measured once; they only have to be roughly right.
const (
	costIndexByte = 0.06 // per byte read by bytes.IndexByte
	costStop      = 13.0 // each time that stops at a byte
	costPair      = 0.30 // per byte of the scan for two bytes at once
	costAutomaton = 0.45 // per byte of lazydfa with four streams
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
	set := f.best()
	if set == nil {
		return
	}
	set, merged := merge(set)
	if cost(set) > costAutomaton {
		return
	}
	p.exact = !merged && f.exact != nil && f.sure && !p.Multiline
	var extra []literal
	for _, l := range set {
		p.find = append(p.find, newFinder(l))
		if !l.fold {
			continue
		}
		// Two letters beyond ASCII are another case of k and s. Each is looked for on
		// its own, which costs next to nothing.
		if strings.Contains(l.s, "k") {
			extra = union(extra, []literal{{s: "\u212a"}})
		}
		if strings.Contains(l.s, "s") {
			extra = union(extra, []literal{{s: "\u017f"}})
		}
	}
	for _, l := range extra {
		fd := newFinder(l)
		fd.verify = true
		p.find = append(p.find, fd)
	}
}
