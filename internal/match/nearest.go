package match

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Near is the block of the text that comes nearest to an old text.
type Near struct {
	First, Last int    // lines, counted from 1
	Equal       int    // lines of old found there, blanks aside
	Of          int    // lines of old, blank ones not counted
	Differs     int    // the first differing line of the text, 0 if none
	Column      int    // where it differs, in characters from 1
	Reason      string // what kind of difference it is

	want string // what the line that differs should have been
}

// nearShown is how many lines of the nearest block a refusal shows.
const nearShown = 24

// refuseNotFound is the refusal for text that is nowhere, with what comes nearest.
func (f *finder) refuseNotFound(variants []*variant) error {
	if at, ok := f.applied(); ok {
		return &Error{Reason: ErrApplied, Lines: []int{at.first + 1}, message: fmt.Sprintf(
			"oldString is not in the file, but newString is, at lines %d-%d: the edit seems to be applied already. Read those lines before changing anything.",
			at.first+1, at.last+1)}
	}
	var near *Near
	for _, v := range variants {
		n := f.text.nearest(v.block())
		if n != nil && (near == nil || n.Equal > near.Equal) {
			near = n
		}
	}
	e := &Error{Reason: ErrNotFound, Near: near}
	if near == nil {
		e.message = "oldString was not found in the file, and no part of it resembles oldString. Check that this is the right file, then read it."
		return e
	}
	e.Lines = []int{near.First}
	e.message = "oldString was not found in the file. " + f.text.Describe(near)
	return e
}

// applied looks for the new text where the old one is missing.
func (f *finder) applied() (lineRange, bool) {
	if len(strings.TrimSpace(f.new)) < 10 {
		return lineRange{}, false
	}
	hay := f.text.normal()
	if i := strings.Index(hay, f.new); i >= 0 {
		if strings.Contains(hay[i+1:], f.new) {
			return lineRange{}, false
		}
		first := strings.Count(hay[:i], "\n")
		return lineRange{first, first + strings.Count(strings.TrimSuffix(f.new, "\n"), "\n")}, true
	}
	lines, _ := splitLines(f.new)
	if places := f.text.whole(newBlock(lines), Spacing, 2); len(places) == 1 {
		return lineRange{places[0].first, places[0].last}, true
	}
	return lineRange{}, false
}

// Nearest returns the block of the text that comes nearest to some lines, nil
// if none resembles them.
func (t *Text) Nearest(lines []string) *Near { return t.nearest(newBlock(lines)) }

func (t *Text) nearest(b *block) *Near {
	if len(b.filled) == 0 || t.Len() == 0 {
		return nil
	}
	if len(b.filled) == 1 && t.lacks(b) {
		return t.nearestLine(b)
	}
	first, last, equal := t.bestWindow(b)
	if equal == 0 {
		return t.nearestLine(b)
	}
	n := &Near{First: first + 1, Last: last + 1, Equal: equal, Of: len(b.filled)}
	t.compare(n, b)
	return n
}

// bestWindow returns the stretch of the text, about as long as the block, that
// has most of its lines. Rare lines weigh more than common ones.
func (t *Text) bestWindow(b *block) (first, last, equal int) {
	type hit struct{ line, id int32 }
	ids := newKeyIndex(b.nkeys)
	total := make([]int, len(ids.first)) // occurrences in the text
	var hits []hit
	for i, k := range t.lenient() {
		if id := ids.find(k); id >= 0 {
			hits = append(hits, hit{int32(i), int32(id)})
			total[id]++
		}
	}
	if len(hits) == 0 {
		return 0, 0, 0
	}
	weight := make([]float64, len(total))
	for id, n := range total {
		weight[id] = 1 + 8/float64(max(1, n))
	}
	// Slide a window a little longer than the block over the hits.
	size := int32(len(b.lines) + max(2, len(b.lines)/4))
	have := make([]int, len(total))
	var sum, best float64
	lo, bestLo, bestHi := 0, 0, 0
	for hi, h := range hits {
		if have[h.id]++; have[h.id] == 1 {
			sum += weight[h.id]
		}
		for hits[lo].line <= h.line-size {
			id := hits[lo].id
			if have[id]--; have[id] == 0 {
				sum -= weight[id]
			}
			lo++
		}
		if sum > best+1e-9 {
			best, bestLo, bestHi = sum, lo, hi
		}
	}
	// The block starts where most of the lines in the window say it does.
	places := make([][]int, len(total)) // of the lines in the block
	for n, k := range b.nkeys {
		if id := ids.find(k); len(places[id]) < 8 {
			places[id] = append(places[id], b.filled[n])
		}
	}
	votes := map[int]float64{}
	distinct := map[int32]bool{}
	for _, h := range hits[bestLo : bestHi+1] {
		distinct[h.id] = true
		for _, i := range places[h.id] {
			votes[int(h.line)-i] += weight[h.id] / float64(len(places[h.id]))
		}
	}
	at, most := 0, -1.0
	for s, v := range votes {
		if v > most+1e-9 || v > most-1e-9 && s < at {
			at, most = s, v
		}
	}
	first = max(0, at)
	last = min(t.Len(), at+len(b.lines)) - 1
	for _, h := range hits[bestLo : bestHi+1] {
		if l := int(h.line); l > last && l < at+int(size) {
			last = l
		}
	}
	return first, max(first, last), len(distinct)
}

// A keyIndex numbers the distinct keys of a block. Most lines of a text are not
// in the block, or are the same few, so that a small table answers for them.
type keyIndex struct {
	ids   map[uint64]int
	first []int // the first place of every key in the list
	cache [512]struct {
		key uint64
		id  int
	}
}

func newKeyIndex(keys []uint64) *keyIndex {
	x := &keyIndex{ids: make(map[uint64]int, len(keys))}
	for n, k := range keys {
		if _, ok := x.ids[k]; !ok {
			x.ids[k] = len(x.first)
			x.first = append(x.first, n)
		}
	}
	for i := range x.cache {
		x.cache[i].key = blankKey
		x.cache[i].id = -1
	}
	return x
}

// find returns the number of a key, or -1.
func (x *keyIndex) find(k uint64) int {
	c := &x.cache[k>>8%512]
	if c.key != k {
		id, ok := x.ids[k]
		if !ok {
			id = -1
		}
		c.key, c.id = k, id
	}
	return c.id
}

// compare finds the first line of the nearest block that differs from old.
func (t *Text) compare(n *Near, b *block) {
	have := make([]string, 0, n.Last-n.First+1)
	for i := n.First - 1; i < n.Last; i++ {
		have = append(have, t.Line(i))
	}
	folded := func(lines []string) []string {
		out := make([]string, len(lines))
		for i, l := range lines {
			out[i] = normalize(Spacing, l)
		}
		return out
	}
	src := alignLines(folded(have), folded(b.lines), true)
	next := 0
	for j, i := range src {
		if isBlank(b.lines[j]) {
			continue
		}
		if i < 0 {
			at := min(next, len(have)-1)
			for at < len(have)-1 && isBlank(have[at]) {
				at++
			}
			n.Differs = n.First + at
			n.want = b.lines[j]
			n.Column = firstDifference(b.lines[j], have[at])
			n.Reason = difference(b.lines[j], have[at])
			if n.Reason == "" {
				n.Reason = "line " + strconv.Itoa(j+1) + " of the wanted text is not there"
			}
			return
		}
		if normalizedDiffer(have[i], b.lines[j]) && n.Reason == "" {
			n.Reason = difference(b.lines[j], have[i])
		}
		next = i + 1
	}
	// Every line is there: lines lie between them, or their order is another.
	n.Reason = "the file has other lines between them"
	for j, i := range src {
		if i >= 0 && i != j && j > 0 {
			n.Differs = n.First + j
			return
		}
	}
}

func normalizedDiffer(a, b string) bool {
	return strings.TrimRight(a, " \t") != strings.TrimRight(b, " \t")
}

// difference names how two lines differ.
func difference(old, have string) string {
	switch {
	case old == have:
		return ""
	case normalize(TrailingBlanks, old) == normalize(TrailingBlanks, have):
		return "blanks at the end of the line differ"
	case normalize(Indentation, old) == normalize(Indentation, have):
		return "indentation differs"
	case normalize(Folded, old) == normalize(Folded, have):
		return "blanks or typographic characters differ"
	case normalize(Spacing, old) == normalize(Spacing, have):
		return "spacing differs"
	case strings.TrimSpace(old) != "" && strings.Contains(have, strings.TrimSpace(old)):
		return partOfLine
	}
	return ""
}

const partOfLine = "it is there as part of a line, and whole lines are wanted"

// firstDifference returns the character, from 1, where have departs from old,
// indentation aside unless that is all that differs.
func firstDifference(old, have string) int {
	skip := 0
	if oi, hi := indentOf(old), indentOf(have); oi != hi && old[len(oi):] != have[len(hi):] {
		skip = utf8.RuneCountInString(hi)
		old, have = old[len(oi):], have[len(hi):]
	}
	col := 0
	for len(old) > 0 && len(have) > 0 {
		a, n := utf8.DecodeRuneInString(old)
		b, m := utf8.DecodeRuneInString(have)
		if a != b {
			break
		}
		old, have = old[n:], have[m:]
		col++
	}
	return skip + col + 1
}

// lineBudget bounds the bytes that looking for a similar single line may read.
const lineBudget = 16 << 20

// nearestLine looks for the line most like the longest line of the block, by
// shared trigrams first and edit distance among the best.
func (t *Text) nearestLine(b *block) *Near {
	long := b.filled[0]
	for _, i := range b.filled {
		if len(strings.TrimSpace(b.lines[i])) > len(strings.TrimSpace(b.lines[long])) {
			long = i
		}
	}
	want := strings.TrimSpace(b.lines[long])
	if len(want) > 400 {
		want = want[:400]
	}
	if len(want) < 4 {
		return nil
	}
	var set [1 << 12]bool
	tri := func(s string, i int) uint32 {
		h := (uint32(s[i])<<16 | uint32(s[i+1])<<8 | uint32(s[i+2])) * 2654435761
		return h >> 20
	}
	for i := 0; i+3 <= len(want); i++ {
		set[tri(want, i)] = true
	}
	starts := t.index()
	type scored struct {
		line  int
		score float64
	}
	var top [8]scored
	read := 0
	for i := 0; i < t.Len() && read < lineBudget; i++ {
		line := t.s[starts[i]:starts[i+1]]
		if len(line) > 2000 {
			line = line[:2000]
		}
		read += len(line)
		n := 0
		for k := 0; k+3 <= len(line); k++ {
			if set[tri(line, k)] {
				n++
			}
		}
		score := float64(2*n) / float64(len(line)+len(want)-4)
		if score > top[len(top)-1].score {
			k := len(top) - 1
			for ; k > 0 && top[k-1].score < score; k-- {
				top[k] = top[k-1]
			}
			top[k] = scored{i, score}
		}
	}
	best, like := -1, 0.0
	for _, s := range top {
		if s.score < 0.25 {
			continue
		}
		have := strings.TrimSpace(t.Line(s.line))
		if len(have) > 600 {
			have = have[:600]
		}
		if sim := similarity(want, have); sim > like {
			best, like = s.line, sim
		}
	}
	if best < 0 || like < 0.4 {
		return t.part(b)
	}
	first := max(0, best-long)
	n := &Near{First: first + 1, Last: min(t.Len(), first+len(b.lines)), Of: len(b.filled), Differs: best + 1, want: b.lines[long]}
	have := t.Line(best)
	n.Column = firstDifference(b.lines[long], have)
	n.Reason = difference(b.lines[long], have)
	return n
}

// part finds a line that contains a single old line with blanks ignored.
func (t *Text) part(b *block) *Near {
	if len(b.filled) != 1 {
		return nil
	}
	want := normalize(Spacing, b.lines[b.filled[0]])
	if len(want) < 4 {
		return nil
	}
	if t.lacks(b) {
		return nil
	}
	read := 0
	for i := 0; i < t.Len() && read < lineBudget/4; i++ {
		line := t.Line(i)
		read += len(line)
		if strings.Contains(normalize(Spacing, line), want) {
			n := &Near{First: i + 1, Last: i + 1, Of: 1, Differs: i + 1, Column: 1, Reason: "spacing differs"}
			if k := strings.Index(line, b.lines[b.filled[0]]); k >= 0 {
				n.Column, n.Reason = utf8.RuneCountInString(line[:k])+1, partOfLine
			}
			return n
		}
	}
	return nil
}

// Describe shows the nearest block with line numbers and its first difference
// from the lines that were looked for, in at most forty lines.
func (t *Text) Describe(n *Near) string {
	var b strings.Builder
	where := fmt.Sprintf("lines %d-%d", n.First, n.Last)
	if n.First == n.Last {
		where = fmt.Sprintf("line %d", n.First)
	}
	fmt.Fprintf(&b, "Nearest is %s", where)
	if n.Of > 1 {
		fmt.Fprintf(&b, " (%d of %d lines are there)", n.Equal, n.Of)
	}
	if n.Reason != "" {
		b.WriteString("; " + n.Reason)
	}
	if n.Differs > 0 {
		fmt.Fprintf(&b, "; first difference in line %d", n.Differs)
		if n.Column > 0 {
			fmt.Fprintf(&b, ", character %d", n.Column)
		}
	}
	b.WriteString(":\n")
	from, to := n.First, n.Last
	if to-from+1 > nearShown {
		if n.Differs > 0 {
			from = max(from, n.Differs-nearShown/2)
		}
		to = min(to, from+nearShown-1)
	}
	width := len(strconv.Itoa(to))
	for i := from; i <= to; i++ {
		line := t.Line(i - 1)
		mark, col := ' ', 0
		if i == n.Differs {
			mark, col = '>', n.Column
		}
		text, caret := window(line, col)
		fmt.Fprintf(&b, "%c %*d| %s\n", mark, width, i, text)
		if col > 0 {
			fmt.Fprintf(&b, "  %*s  %s^\n", width, "", strings.Repeat(" ", caret))
			if n.want != "" {
				text, _ := window(n.want, firstDifference(line, n.want))
				fmt.Fprintf(&b, "  %*s  %s  (wanted)\n", width, "", text)
			}
		}
	}
	b.WriteString("→ is a tab, · a blank at the end. Copy the lines from the file as they are now.")
	return b.String()
}

// window makes a line's blanks visible and cuts it to the part around a column.
// It returns where the column is in what is left.
func window(line string, col int) (string, int) {
	const most = 160
	runes := []rune(line)
	from := 0
	if len(runes) > most {
		if col > most*3/4 {
			from = col - most/2
		}
		to := min(len(runes), from+most)
		cut := visible(string(runes[from:to]))
		if to < len(runes) {
			cut += "…"
		}
		lead := ""
		if from > 0 {
			lead = "…"
		}
		before := visible(string(runes[from:min(to, max(from, col-1))]) + "x")
		return lead + cut, utf8.RuneCountInString(lead+before) - 1
	}
	if col == 0 {
		return visible(line), 0
	}
	before := visible(string(runes[:min(len(runes), col-1)]) + "x")
	return visible(line), utf8.RuneCountInString(before) - 1
}
