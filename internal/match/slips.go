package match

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits of the Slips level. They keep apart what a memory gets slightly wrong
// from what is another text: another key, another number, a newer line.
const (
	slipLines     = 5    // lines with content that the block must have
	slipShare     = 0.3  // share of them that may differ
	slipLike      = 0.6  // how alike a differing line must be
	slipLikeClose = 0.85 // the same where another place is nearly as good
	slipClose     = 0.2  // how near the second best place may come, as a share of the lines
	slipLost      = 0.7  // how alike a line must be whose own words the edit removes
	slipVotes     = 64   // a line that occurs more often says nothing about the place
	slipTries     = 64   // candidates that are compared in full
)

// A candidate is a place where most lines of a block are equal.
type candidate struct {
	start int // among the lines with content
	votes int
	diffs []int // differing lines, as indexes into block.filled
}

// slips plans an edit of a block that was remembered with small differences.
func (f *finder) slips(v *variant) (*Plan, error) {
	lines := newLines(v.old, v.new)
	at, slips, spans, near := f.text.slip(v.block(), lines, nil)
	if at == nil {
		if near { // and no other reading of old may do better elsewhere
			return nil, f.refuseNotFound([]*variant{v})
		}
		return nil, nil
	}
	p := &Plan{Level: Slips, Repaired: v.repaired, Slips: slips}
	p.add(spans, at.first, at.last)
	return f.finish(p)
}

// slip finds the one place that a block can mean although some of its lines are
// slightly different there, and writes the change. src is the old line that each
// new line is, nil to have them aligned. Without a place, near reports whether
// there are some that come near, but none that is sure.
func (t *Text) slip(b *block, new []string, src []int) (at *place, slips []Slip, spans []Span, near bool) {
	m := len(b.filled)
	if m < slipLines {
		return nil, nil, nil, false
	}
	lines, keys := t.nonBlank()
	best, second := bestCandidates(keys, b.nkeys)
	if best == nil {
		return nil, nil, nil, false
	}
	like := slipLike
	if second != nil {
		more := len(second.diffs) - len(best.diffs)
		if more <= 0 {
			return nil, nil, nil, true
		}
		if float64(more) <= slipClose*float64(m) {
			like = slipLikeClose
		}
	}
	found := t.sparse(b, lines[best.start:best.start+m])
	found.level = Slips
	if found.tooWide(len(b.lines)) {
		return nil, nil, nil, true
	}
	c := t.wholeChange(&found, b.lines, new)
	if c.src = src; src == nil {
		c.align()
	}
	kept := map[int]bool{}
	for _, i := range c.src {
		if i >= 0 {
			kept[i] = true
		}
	}
	for _, n := range best.diffs {
		i, k := b.filled[n], int(lines[best.start+n])
		want, have := b.lines[i], t.Line(k)
		if similarity(want, have) < like || kept[i] && digits(want) != digits(have) {
			return nil, nil, nil, true
		}
		slips = append(slips, Slip{k + 1, want, have})
	}
	spans = c.spans()
	if !c.harmless() || c.unclear() {
		return nil, nil, nil, true
	}
	return &found, slips, spans, false
}

// harmless reports whether what the edit removes without having named it can be
// put down to a slip of memory: no number, and a line much like what was named.
func (c *change) harmless() bool {
	for _, x := range c.clash {
		if digits(x.old) != digits(x.have) {
			return false
		}
	}
	for _, x := range c.lost {
		if similarity(x.Want, x.Have) < slipLost {
			return false
		}
	}
	return true
}

// bestCandidates returns the places with the fewest differing lines, the first
// one only if it is good enough to be used.
func bestCandidates(keys, want []uint64) (best, second *candidate) {
	m := len(want)
	if m > len(keys) {
		return nil, nil
	}
	limit := int(slipShare * float64(m))
	ids := newKeyIndex(want)
	where := make([][]int32, len(ids.first))
	for j, k := range keys {
		if id := ids.find(k); id >= 0 && len(where[id]) <= slipVotes {
			where[id] = append(where[id], int32(j))
		}
	}
	votes := map[int]int{}
	voters := 0
	for i, k := range want {
		at := where[ids.find(k)]
		if len(at) == 0 || len(at) > slipVotes {
			continue
		}
		voters++
		for _, j := range at {
			if s := int(j) - i; s >= 0 && s+m <= len(keys) {
				votes[s]++
			}
		}
	}
	var all []candidate
	for s, n := range votes {
		// Within twice the limit a place may still be the runner-up.
		if voters-n <= 2*limit+1 {
			all = append(all, candidate{start: s, votes: n})
		}
	}
	slices.SortFunc(all, func(a, b candidate) int {
		if a.votes != b.votes {
			return b.votes - a.votes
		}
		return a.start - b.start
	})
	all = all[:min(len(all), slipTries)]
	for n := range all {
		c := &all[n]
		for i, k := range want {
			if keys[c.start+i] != k {
				c.diffs = append(c.diffs, i)
			}
		}
		switch {
		case best == nil || len(c.diffs) < len(best.diffs):
			best, second = c, best
		case second == nil || len(c.diffs) < len(second.diffs):
			second = c
		}
	}
	if best == nil || len(best.diffs) == 0 || len(best.diffs) > limit ||
		best.diffs[0] == 0 || best.diffs[len(best.diffs)-1] == m-1 {
		return nil, nil
	}
	return best, second
}

// similarity is one minus the edit distance over the length of the longer line,
// blanks folded.
func similarity(a, b string) float64 {
	a, b = normalize(Folded, a), normalize(Folded, b)
	x, y := []rune(a), []rune(b)
	longer := max(len(x), len(y))
	if longer == 0 {
		return 1
	}
	for len(x) > 0 && len(y) > 0 && x[0] == y[0] {
		x, y = x[1:], y[1:]
	}
	for len(x) > 0 && len(y) > 0 && x[len(x)-1] == y[len(y)-1] {
		x, y = x[:len(x)-1], y[:len(y)-1]
	}
	const most = 2000 // a longer difference is no slip
	if len(x) > most || len(y) > most {
		return 0
	}
	return 1 - float64(editDistance(x, y))/float64(longer)
}

// editDistance counts insertions, deletions, replacements and swaps of
// neighbours.
func editDistance(a, b []rune) int {
	if len(a) < len(b) {
		a, b = b, a
	}
	before, row, next := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i, r := range a {
		next[0] = i + 1
		for j, s := range b {
			cost := row[j]
			if r != s {
				cost = 1 + min(row[j], row[j+1], next[j])
			}
			if i > 0 && j > 0 && r == b[j-1] && a[i-1] == s {
				cost = min(cost, before[j-1]+1)
			}
			next[j+1] = cost
		}
		before, row, next = row, next, before
	}
	return row[len(b)]
}

// digits returns the digits of a line, numbers kept apart.
func digits(s string) string {
	var b strings.Builder
	gap := false
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		i += n
		if unicode.IsDigit(r) {
			if gap && b.Len() > 0 {
				b.WriteByte(' ')
			}
			gap = false
			b.WriteRune(r)
			continue
		}
		gap = true
	}
	return b.String()
}
