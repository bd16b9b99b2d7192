// Package diff compares texts line by line and writes unified diffs that git
// apply and patch accept.
//
// The comparison itself is go-diff's, on lines taken as characters. Its costs
// are bounded from outside: equal ends are cut off, lines that occur once on
// both sides split the rest into small parts, and a part that is still too large
// or comes too late is reported as replaced as a whole. The result is always a
// correct diff, though then not the shortest one.
package diff

import (
	"strings"
	"time"

	"github.com/sergi/go-diff/diffmatchpatch"
)

// An Op says what happens to a line.
type Op int8

const (
	Equal Op = iota
	Delete
	Insert
)

// Options bound and shape a diff. The zero value is usable, as is nil.
type Options struct {
	// Context is the number of equal lines around a change. Zero means three,
	// negative means none.
	Context int

	// Timeout bounds the search for a short diff. Zero means half a second.
	// What is not compared by then is reported as replaced.
	Timeout time.Duration
}

func (o *Options) context() int {
	switch {
	case o == nil || o.Context == 0:
		return 3
	case o.Context < 0:
		return 0
	}
	return o.Context
}

func (o *Options) timeout() time.Duration {
	if o == nil || o.Timeout == 0 {
		return 500 * time.Millisecond
	}
	return o.Timeout
}

// A Diff is the difference between two texts.
type Diff struct {
	Hunks     []Hunk
	Additions int // lines of the new text only
	Deletions int // lines of the old text only

	// Coarse is set when a part was too large to be compared line by line.
	Coarse bool
}

// A Hunk is a group of changes with the equal lines around them.
type Hunk struct {
	OldStart, OldLines int // lines from 1; with OldLines zero, the line before
	NewStart, NewLines int
	Lines              []Line
}

// A Line is a line of a hunk.
type Line struct {
	Op    Op
	Text  string // without its LF; a CR stays
	NoEOL bool   // the text ends here without a line break
	Words []Range
}

// A Range is a range of bytes of a line, set on changed lines by [Diff.Highlight].
type Range struct{ Start, End int }

// run is a stretch of one kind: old lines [a0,a1) become new lines [b0,b1).
type run struct{ a0, a1, b0, b1 int }

// Compute compares two texts. Lines end in LF; CR counts as content, so that a
// change of line endings shows. Compute may be called concurrently.
func Compute(old, new string, opts *Options) *Diff {
	a, b := split(old), split(new)
	c := &comparer{deadline: time.Now().Add(opts.timeout())}
	c.intern(a, b)
	c.compare(0, len(a), 0, len(b), true)
	d := &Diff{Coarse: c.coarse}
	for _, r := range c.runs {
		d.Deletions += r.a1 - r.a0
		d.Additions += r.b1 - r.b0
	}
	d.Hunks = hunks(a, b, c.runs, opts.context())
	return d
}

func split(s string) []string {
	if s == "" {
		return nil
	}
	lines := make([]string, 0, strings.Count(s, "\n")+1)
	for s != "" {
		i := strings.IndexByte(s, '\n')
		if i < 0 {
			return append(lines, s)
		}
		lines = append(lines, s[:i+1])
		s = s[i+1:]
	}
	return lines
}

// A comparer finds the runs of changed lines, lines standing as numbers.
type comparer struct {
	a, b     []int32
	lines    int // numbers in use
	runs     []run
	deadline time.Time
	coarse   bool
}

func (c *comparer) intern(a, b []string) {
	ids := make(map[string]int32, len(a))
	number := func(lines []string) []int32 {
		out := make([]int32, len(lines))
		for i, l := range lines {
			id, ok := ids[l]
			if !ok {
				id = int32(len(ids))
				ids[l] = id
			}
			out[i] = id
		}
		return out
	}
	c.a, c.b = number(a), number(b)
	c.lines = len(ids)
}

// partLines bounds the lines of a part on either side that go-diff compares: its
// time grows with the square of them at worst.
const partLines = 3000

func (c *comparer) compare(a0, a1, b0, b1 int, anchor bool) {
	for a0 < a1 && b0 < b1 && c.a[a0] == c.b[b0] {
		a0++
		b0++
	}
	for a0 < a1 && b0 < b1 && c.a[a1-1] == c.b[b1-1] {
		a1--
		b1--
	}
	if a0 == a1 || b0 == b1 {
		c.add(a0, a1, b0, b1)
		return
	}
	if anchor && (a1-a0) > 64 && (b1-b0) > 64 {
		pairs := c.anchors(a0, a1, b0, b1)
		if len(pairs) > 0 {
			for _, p := range pairs {
				c.compare(a0, int(p[0]), b0, int(p[1]), false)
				a0, b0 = int(p[0])+1, int(p[1])+1
			}
			c.compare(a0, a1, b0, b1, false)
			return
		}
	}
	left := time.Until(c.deadline)
	if a1-a0 > partLines || b1-b0 > partLines || left <= 0 {
		c.coarse = true
		c.add(a0, a1, b0, b1)
		return
	}
	// Lines as runes of their own, numbered afresh to stay clear of surrogates.
	local := make(map[int32]rune, a1-a0)
	runes := func(ids []int32) []rune {
		out := make([]rune, len(ids))
		for i, id := range ids {
			r, ok := local[id]
			if !ok {
				r = rune(len(local) + 1)
				local[id] = r
			}
			out[i] = r
		}
		return out
	}
	dmp := diffmatchpatch.New()
	dmp.DiffTimeout = left
	ra, rb := runes(c.a[a0:a1]), runes(c.b[b0:b1])
	for _, d := range dmp.DiffMainRunes(ra, rb, false) {
		n := 0
		for range d.Text {
			n++
		}
		switch d.Type {
		case diffmatchpatch.DiffEqual:
			a0 += n
			b0 += n
		case diffmatchpatch.DiffDelete:
			c.add(a0, a0+n, b0, b0)
			a0 += n
		case diffmatchpatch.DiffInsert:
			c.add(a0, a0, b0, b0+n)
			b0 += n
		}
	}
}

// add appends a run, joined with the one before if nothing lies between them.
func (c *comparer) add(a0, a1, b0, b1 int) {
	if a0 == a1 && b0 == b1 {
		return
	}
	if n := len(c.runs); n > 0 && c.runs[n-1].a1 == a0 && c.runs[n-1].b1 == b0 {
		c.runs[n-1].a1, c.runs[n-1].b1 = a1, b1
		return
	}
	c.runs = append(c.runs, run{a0, a1, b0, b1})
}

// anchors pairs the lines that occur once on each side, as far as their order
// agrees.
func (c *comparer) anchors(a0, a1, b0, b1 int) [][2]int32 {
	count := make([]int8, c.lines)
	where := make([]int32, c.lines)
	for j := b0; j < b1; j++ {
		count[c.b[j]] = min(count[c.b[j]]+1, 2)
		where[c.b[j]] = int32(j)
	}
	for i := a0; i < a1; i++ {
		if count[c.a[i]] >= 1 {
			count[c.a[i]] += 4 // seen in a: 5 is once on both sides
			if count[c.a[i]] > 8 {
				count[c.a[i]] = 2
			}
		}
	}
	var pairs [][2]int32
	for i := a0; i < a1; i++ {
		if count[c.a[i]] == 5 {
			pairs = append(pairs, [2]int32{int32(i), where[c.a[i]]})
		}
	}
	return increasing(pairs)
}

// increasing returns a longest subsequence whose second members increase.
func increasing(pairs [][2]int32) [][2]int32 {
	tails := make([]int, 0, len(pairs))
	prev := make([]int, len(pairs))
	for n, p := range pairs {
		lo, hi := 0, len(tails)
		for lo < hi {
			mid := (lo + hi) / 2
			if pairs[tails[mid]][1] < p[1] {
				lo = mid + 1
			} else {
				hi = mid
			}
		}
		prev[n] = -1
		if lo > 0 {
			prev[n] = tails[lo-1]
		}
		if lo == len(tails) {
			tails = append(tails, n)
		} else {
			tails[lo] = n
		}
	}
	out := make([][2]int32, len(tails))
	if len(tails) > 0 {
		for n, k := tails[len(tails)-1], len(tails)-1; n >= 0; n, k = prev[n], k-1 {
			out[k] = pairs[n]
		}
	}
	return out
}

func hunks(a, b []string, runs []run, context int) []Hunk {
	var out []Hunk
	for i := 0; i < len(runs); {
		j := i + 1
		for j < len(runs) && runs[j].a0-runs[j-1].a1 <= 2*context {
			j++
		}
		group := runs[i:j]
		lead := min(context, group[0].a0)
		h := Hunk{OldStart: group[0].a0 - lead + 1, NewStart: group[0].b0 - lead + 1}
		pos := group[0].a0 - lead
		for _, r := range group {
			h.add(Equal, a[pos:r.a0])
			h.add(Delete, a[r.a0:r.a1])
			h.add(Insert, b[r.b0:r.b1])
			pos = r.a1
		}
		h.add(Equal, a[pos:min(len(a), pos+context)])
		if h.OldLines == 0 {
			h.OldStart--
		}
		if h.NewLines == 0 {
			h.NewStart--
		}
		out = append(out, h)
		i = j
	}
	return out
}

func (h *Hunk) add(op Op, lines []string) {
	for _, l := range lines {
		text, eol := strings.CutSuffix(l, "\n")
		h.Lines = append(h.Lines, Line{Op: op, Text: text, NoEOL: !eol})
	}
	if op != Insert {
		h.OldLines += len(lines)
	}
	if op != Delete {
		h.NewLines += len(lines)
	}
}
