package match

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// A place is a match on whole lines.
type place struct {
	level Level
	// at has, for every line of the old block, the line of the text that it
	// matched, or -1 for a blank line that the text does not have. It is nil
	// when the lines match one by one from first on.
	at []int
	// first and last bound the matched lines of the text, inclusive.
	first, last int
}

// tooWide reports whether the place has many more lines than the block, which
// only blank lines can bring about.
func (p *place) tooWide(lines int) bool {
	more := p.last - p.first + 1 - lines
	return more > 3 && more > lines/2
}

var lineLevels = [...]Level{TrailingBlanks, Indentation, Folded, Spacing}

// A block is a list of old lines with their keys, so that a block is normalized
// once however often it is tried.
type block struct {
	lines   []string
	keys    []uint64 // lenient
	from    int      // lines[from:to] are the lines between blank ends
	to      int
	filled  []int // indexes of the lines that are not blank
	nkeys   []uint64
	normals map[Level][]string

	sought     *Text // the text that lacking is about
	lacking    bool
	anchoredIn *Text // the text that anchors is about
	anchors    []int
}

func newBlock(lines []string) *block {
	b := &block{lines: lines, keys: make([]uint64, len(lines)), normals: map[Level][]string{}}
	for i, l := range lines {
		b.keys[i] = lenientKey(l)
		if b.keys[i] != blankKey {
			b.filled = append(b.filled, i)
			b.nkeys = append(b.nkeys, b.keys[i])
		}
	}
	if len(b.filled) > 0 {
		b.from, b.to = b.filled[0], b.filled[len(b.filled)-1]+1
	}
	return b
}

func (b *block) normal(l Level) []string {
	n, ok := b.normals[l]
	if !ok {
		n = make([]string, len(b.lines))
		for i, line := range b.lines {
			n[i] = normalize(l, line)
		}
		b.normals[l] = n
	}
	return n
}

// search returns the starts of every occurrence of pattern, overlapping ones
// included, in time linear in both.
func search(keys, pattern []uint64) []int {
	m := len(pattern)
	if m == 0 || m > len(keys) {
		return nil
	}
	fail := make([]int, m)
	for i, k := 1, 0; i < m; i++ {
		for k > 0 && pattern[i] != pattern[k] {
			k = fail[k-1]
		}
		if pattern[i] == pattern[k] {
			k++
		}
		fail[i] = k
	}
	var found []int
	for i, k := 0, 0; i < len(keys); i++ {
		for k > 0 && keys[i] != pattern[k] {
			k = fail[k-1]
		}
		if keys[i] == pattern[k] {
			k++
		}
		if k == m {
			found = append(found, i-m+1)
			k = fail[k-1]
		}
	}
	return found
}

// verifyBudget bounds how many line comparisons verifying candidates may cost,
// per line of the text, before keys of the whole text are cheaper.
const verifyBudget = 4

// whole finds the block line for line at one level: up to limit places, which may
// overlap, or with limit 0 all that do not overlap an earlier one.
func (t *Text) whole(b *block, l Level, limit int) []place {
	if len(b.filled) == 0 || t.lacks(b) || l <= TrailingBlanks && t.lacksLine(b) {
		return nil
	}
	if limit > 0 {
		// A text of repetitions shows in its beginning that there are too many.
		if head := t.beginning(); head != nil {
			if places := head.whole(b, l, limit); len(places) == limit {
				return places
			}
		}
	}
	starts, ok := t.anchored(b, l)
	if !ok {
		starts = t.lenientPlaces(b)
	}
	m := len(b.lines)
	budget := verifyBudget*t.Len() + 1000
	want := b.normal(l)
	var places []place
	free := 0
	for _, s := range starts {
		if limit == 0 && s < free {
			continue
		}
		if budget < 0 {
			return t.byKeys(b, l, s, limit, places)
		}
		ok := true
		for i := 0; i < m && ok; i++ {
			ok = normalize(l, t.Line(s+i)) == want[i]
			budget--
		}
		if !ok {
			continue
		}
		free = s + m
		if places = append(places, linear(l, s, m)); len(places) == limit {
			break
		}
	}
	return places
}

// headSize is how much of a large text is looked at first.
const headSize = 128 << 10

// beginning returns the first lines of a large text as a text, nil for others.
func (t *Text) beginning() *Text {
	if t.head == nil && len(t.s) > 8*headSize {
		if i := strings.LastIndexByte(t.s[:headSize], '\n'); i >= 0 {
			t.head = NewText(t.s[:i+1])
		}
	}
	return t.head
}

// lacksLine reports whether no line of the text begins with the longest line of
// the block, blanks at its end aside.
func (t *Text) lacksLine(b *block) bool {
	long := ""
	for _, i := range b.filled {
		if l := normalize(TrailingBlanks, b.lines[i]); len(l) > len(long) {
			long = l
		}
	}
	return !strings.HasPrefix(t.s, long) && !strings.Contains(t.s, "\n"+long)
}

// byKeys adds the places from a start line on by keys of the whole text at the
// level, for texts so repetitive that comparing candidates would take too long.
func (t *Text) byKeys(b *block, l Level, from, limit int, places []place) []place {
	pattern := make([]uint64, len(b.lines))
	for i, s := range b.normal(l) {
		pattern[i] = hash(s)
	}
	keys := t.levelKeys(l)
	if l == Spacing {
		pattern = b.keys
	}
	free := 0
	for _, s := range search(keys[from:], pattern) {
		if limit == 0 && s < free {
			continue
		}
		free = s + len(b.lines)
		if places = append(places, linear(l, from+s, len(b.lines))); len(places) == limit {
			break
		}
	}
	return places
}

// anchorMost is how many lines may be equal to the longest line of a block for
// them to be tried one by one.
const anchorMost = 32

// anchored lists where the block may start by looking for its longest line, which
// spares keys of the whole text. It is of no use at levels that change the
// inside of lines, nor for lines that are too common.
func (t *Text) anchored(b *block, l Level) ([]int, bool) {
	if l > Indentation {
		return nil, false
	}
	if b.anchoredIn != t {
		b.anchoredIn, b.anchors = t, t.anchors(b)
	}
	return b.anchors, b.anchors == nil || len(b.anchors) > 0
}

// anchors returns the starts; nil if there are none, and an empty list if there
// are too many.
func (t *Text) anchors(b *block) []int {
	at, anchor := 0, ""
	for _, i := range b.filled {
		if s := normalize(Indentation, b.lines[i]); len(s) > len(anchor) {
			at, anchor = i, s
		}
	}
	var starts []int
	for pos, seen := 0, 0; ; seen++ {
		i := strings.Index(t.s[pos:], anchor)
		if i < 0 {
			return starts
		}
		if seen == 4*anchorMost || len(starts) == anchorMost {
			return []int{}
		}
		k := t.lineAt(pos + i)
		if normalize(Indentation, t.Line(k)) == anchor && k >= at && k-at+len(b.lines) <= t.Len() {
			starts = append(starts, k-at)
		}
		pos = t.index()[k+1]
	}
}

// lacks reports whether the text does not have some word of the block, so that
// no level can match. Words are the same at every level.
func (t *Text) lacks(b *block) bool {
	if b.sought == t {
		return b.lacking
	}
	b.sought, b.lacking = t, false
	lines := []int{b.filled[0], b.filled[len(b.filled)/2], b.filled[len(b.filled)-1]}
	if len(b.filled) == 1 {
		lines = lines[:1]
	}
	for _, i := range lines {
		ws := plainWords(b.lines[i])
		slices.SortFunc(ws, func(a, b string) int { return len(b) - len(a) })
		if ws = slices.Compact(ws); len(b.filled) > 1 {
			ws = ws[:min(1, len(ws))]
		}
		for _, w := range ws[:min(8, len(ws))] {
			if !strings.Contains(t.s, w) {
				b.lacking = true
				return true
			}
		}
	}
	return false
}

// plainWords returns the runs of ASCII letters and digits of a line. What folding
// could compose with a character behind it is left out.
func plainWords(line string) []string {
	var out []string
	for i := 0; i < len(line); {
		j := i
		for j < len(line) && line[j] < utf8.RuneSelf && isWordByte(line[j]) {
			j++
		}
		w := line[i:j]
		if j < len(line) && line[j] >= utf8.RuneSelf && w != "" {
			w = w[:len(w)-1]
		}
		if w != "" {
			out = append(out, w)
		}
		i = max(j, i+1)
	}
	return out
}

func (t *Text) lenientPlaces(b *block) []int {
	if t.memoBlock == b {
		return t.memoStarts
	}
	t.memoBlock, t.memoStarts = b, search(t.lenient(), b.keys)
	return t.memoStarts
}

func linear(l Level, start, m int) place {
	return place{level: l, first: start, last: start + m - 1}
}

// line returns the line of the text that old line i matched, or -1.
func (p *place) line(i int) int {
	if p.at == nil {
		return p.first + i
	}
	return p.at[i]
}

// withoutBlanks finds the block with blank lines ignored on both sides, lines
// compared at level l.
func (t *Text) withoutBlanks(b *block, l Level) []place {
	if len(b.filled) == 0 || t.lacks(b) {
		return nil
	}
	if head := t.beginning(); head != nil {
		if places := head.withoutBlanks(b, l); len(places) > listMax {
			return places
		}
	}
	lines, keys := t.nonBlank()
	if t.memoSparse != b {
		t.memoSparse, t.sparseStarts = b, search(keys, b.nkeys)
	}
	m := len(b.nkeys)
	if len(t.sparseStarts)*m > 16*(verifyBudget*t.Len()+1000) && l != Spacing {
		return nil // a text of repetitions; the most lenient level reports them
	}
	want := b.normal(l)
	var places []place
	for n, s := range t.sparseStarts {
		ok := true
		if n == 0 || l != Spacing {
			for i := 0; i < m && ok; i++ {
				ok = normalize(l, t.Line(int(lines[s+i]))) == want[b.filled[i]]
			}
		}
		if ok {
			places = append(places, t.sparse(b, lines[s:s+m]))
		}
		if len(places) > maxSparse {
			break
		}
	}
	return places
}

// maxSparse bounds the places kept when blank lines are ignored: more than a
// few are refused anyway.
const maxSparse = 1000

// sparse makes a place from the lines that the lines of b that are not blank
// matched. Blank lines of b pair with blank lines of the text in order.
func (t *Text) sparse(b *block, lines []int32) place {
	p := place{level: BlankLines, at: make([]int, len(b.lines))}
	for i := range p.at {
		p.at[i] = -1
	}
	for n, i := range b.filled {
		p.at[i] = int(lines[n])
		if n == 0 {
			continue
		}
		prev := b.filled[n-1]
		have := p.at[i] - p.at[prev] - 1
		for k := 0; k < have && prev+1+k < i; k++ {
			p.at[prev+1+k] = p.at[prev] + 1 + k
		}
	}
	p.first, p.last = p.at[b.filled[0]], p.at[b.filled[len(b.filled)-1]]
	// Blank ends of the block pair with blank lines around the place.
	for k := 1; b.from-k >= 0 && p.first > 0 && t.lenient()[p.first-1] == blankKey; k++ {
		p.first--
		p.at[b.from-k] = p.first
	}
	for k := 0; b.to+k < len(b.lines) && p.last+1 < t.Len() && t.lenient()[p.last+1] == blankKey; k++ {
		p.last++
		p.at[b.to+k] = p.last
	}
	return p
}

// disjoint drops places that overlap an earlier one.
func disjoint(places []place) []place {
	kept := places[:0]
	end := -1
	for _, p := range places {
		if p.first > end {
			kept = append(kept, p)
			end = p.last
		}
	}
	return slices.Clip(kept)
}
