package match

import (
	"slices"
	"strings"
)

// listMax is how many places a refusal lists.
const listMax = 20

// A finder plans one edit.
type finder struct {
	text     *Text
	edit     Edit
	old, new string // with LF breaks
}

// A variant is the edit as it stands or with transport damage undone.
type variant struct {
	old, new string
	repaired string
	whole    bool // a listing: parts of lines do not count
	b        *block
}

func (v *variant) block() *block {
	if v.b == nil {
		lines, _ := splitLines(v.old)
		v.b = newBlock(lines)
	}
	return v.b
}

func (f *finder) all() bool { return f.edit.All || f.edit.Expect > 1 }

func (f *finder) plan() (*Plan, error) {
	switch {
	case f.old == "" || isBlankText(f.old):
		return nil, refuseBlank(f.edit.Old)
	case f.old == f.new:
		return nil, f.refuseUnchanged()
	case !f.edit.AllowPlaceholders:
		if line := placeholderOnlyIn(f.new, f.old); line != "" {
			return nil, refusePlaceholder(line)
		}
	}
	base := &variant{old: f.old, new: f.new}
	if p, err := f.exact(base); p != nil || err != nil {
		return p, err
	}
	for _, l := range lineLevels {
		if p, err := f.lines(base, l); p != nil || err != nil {
			return p, err
		}
	}
	variants := repairs(f.old, f.new)
	for _, v := range variants {
		exact := f.exact
		if v.whole {
			exact = func(v *variant) (*Plan, error) { return f.lines(v, Exact) }
		}
		if p, err := exact(v); p != nil || err != nil {
			return p, err
		}
	}
	for _, l := range lineLevels {
		for _, v := range variants {
			if p, err := f.lines(v, l); p != nil || err != nil {
				return p, err
			}
		}
	}
	variants = append([]*variant{base}, variants...)
	for _, l := range lineLevels {
		for _, v := range variants {
			places := f.text.withoutBlanks(v.block(), l)
			if p, err := f.choose(v, places); p != nil || err != nil {
				return p, err
			}
		}
	}
	for _, v := range variants {
		if p, err := f.ellipsis(v); p != nil || err != nil {
			return p, err
		}
	}
	if !f.all() {
		for _, v := range variants {
			if p, err := f.slips(v); p != nil || err != nil {
				return p, err
			}
		}
	}
	return nil, f.refuseNotFound(variants)
}

func isBlankText(s string) bool {
	if len(s) > 1<<16 {
		return false
	}
	return isBlank(s)
}

// exact looks for the text itself, parts of lines allowed.
func (f *finder) exact(v *variant) (*Plan, error) {
	if v.old == "" {
		return nil, nil
	}
	hay := f.text.normal()
	step := 1
	if f.all() {
		step = len(v.old)
	}
	var offs []int
	seek := newSeeker(hay, v.old)
	for pos := seek.next(0); pos >= 0; pos = seek.next(pos + step) {
		offs = append(offs, pos)
		if !f.all() && len(offs) > listMax {
			break
		}
	}
	if len(offs) == 0 {
		return nil, nil
	}
	if v.old == v.new {
		return nil, refuseSame(Exact)
	}
	ends := make([]int, len(offs))
	for i, o := range offs {
		ends[i] = o + len(v.old)
	}
	if !f.all() && len(offs) > 1 || f.miscounted(len(offs)) {
		f.text.raw(offs)
		f.text.raw(ends)
		// The lines up to the last place are all that the refusal shows.
		const beyond = 16 << 10
		part := &finder{text: NewText(f.text.s[:min(len(f.text.s), ends[len(ends)-1]+beyond)]), edit: f.edit}
		ranges := make([]lineRange, len(offs))
		for i, o := range offs {
			ranges[i] = part.text.rangeOf(o, ends[i])
		}
		return nil, part.refuseMany(v, Exact, ranges)
	}
	f.text.raw(offs)
	f.text.raw(ends)
	p := &Plan{Level: Exact, Repaired: v.repaired}
	inLine := !strings.Contains(v.old, "\n") && !strings.Contains(v.new, "\n")
	for i, o := range offs {
		r := f.text.rangeOf(o, ends[i])
		if inLine {
			p.Spans = append(p.Spans, Span{o, ends[i], v.new})
			p.Places = append(p.Places, Place{First: r.first + 1, Last: r.last + 1})
			continue
		}
		p.add(f.text.partChange(o, ends[i], v.old, v.new).spans(), r.first, r.last)
	}
	return f.finish(p)
}

func (f *finder) miscounted(n int) bool { return f.edit.Expect > 0 && f.edit.Expect != n }

// lines looks for whole lines at a level.
func (f *finder) lines(v *variant, l Level) (*Plan, error) {
	limit := listMax + 1
	if f.all() {
		limit = 0
	}
	return f.choose(v, f.text.whole(v.block(), l, limit))
}

// choose plans the edit at the places of one level.
func (f *finder) choose(v *variant, places []place) (*Plan, error) {
	if len(places) == 0 {
		return nil, nil
	}
	if f.all() {
		places = disjoint(places)
	}
	level := places[0].level
	if !f.all() && len(places) > 1 || f.miscounted(len(places)) {
		return nil, f.refuseMany(v, level, rangesOf(places))
	}
	lines := newLines(v.old, v.new)
	p := &Plan{Level: level, Repaired: v.repaired}
	p.Places, p.Spans = make([]Place, 0, len(places)), make([]Span, 0, len(places))
	written := map[string][]Span{} // by the text of the place
	for i := range places {
		at := &places[i]
		if at.tooWide(len(v.block().lines)) {
			return nil, f.refuseWide(at, len(v.block().lines))
		}
		start, end := f.text.index()[max(0, at.first-1)], f.text.index()[at.last+1]
		twin, ok := written[f.text.s[start:end]]
		if !ok {
			c := f.text.wholeChange(at, v.block().lines, lines)
			spans := c.spans()
			if c.unclear() {
				return nil, f.refuseUnclear(at)
			}
			p.add(spans, at.first, at.last)
			if len(places) > 1 && at.first > 0 {
				written[f.text.s[start:end]] = moved(spans, -start)
			}
			continue
		}
		p.add(moved(twin, start), at.first, at.last)
	}
	return f.finish(p)
}

// moved returns the spans with their offsets moved by d.
func moved(spans []Span, d int) []Span {
	out := make([]Span, len(spans))
	for i, s := range spans {
		out[i] = Span{s.Start + d, s.End + d, s.Text}
	}
	return out
}

// add appends the spans of one place, whose lines count from 0.
func (p *Plan) add(spans []Span, first, last int) {
	p.Spans = append(p.Spans, spans...)
	p.Places = append(p.Places, Place{First: first + 1, Last: last + 1})
}

// finish fills in what the result will look like.
func (f *finder) finish(p *Plan) (*Plan, error) {
	if len(p.Spans) == 0 {
		return nil, refuseSame(p.Level)
	}
	f.text.resultLines(p)
	return p, nil
}

// resultLines computes where the places are in the result.
func (t *Text) resultLines(p *Plan) {
	shift, k := 0, 0
	line := 0 // of the span k, counted from 0
	for i := range p.Places {
		pl := &p.Places[i]
		pl.NewFirst = pl.First + shift
		for k < len(p.Spans) && p.Spans[k].Start <= t.index()[min(pl.Last, t.Len())] {
			s := p.Spans[k]
			for line+1 < t.Len() && t.index()[line+1] <= s.Start {
				line++
			}
			if i+1 < len(p.Places) && line+1 >= p.Places[i+1].First && line+1 > pl.Last {
				break
			}
			shift += strings.Count(s.Text, "\n") - strings.Count(t.s[s.Start:s.End], "\n")
			k++
		}
		pl.NewLast = pl.Last + shift
	}
}

// A lineRange is a range of lines counted from 0, inclusive.
type lineRange struct{ first, last int }

func (t *Text) rangeOf(start, end int) lineRange {
	return lineRange{t.lineAt(start), t.lineAt(max(start, end-1))}
}

func rangesOf(places []place) []lineRange {
	out := make([]lineRange, len(places))
	for i, p := range places {
		out[i] = lineRange{p.first, p.last}
	}
	return out
}

// ellipsis plans an edit whose old and new text stand for more by lines of dots.
func (f *finder) ellipsis(v *variant) (*Plan, error) {
	oldParts, oldDots := stretches(v.block().lines)
	if len(oldDots) == 0 {
		return nil, nil
	}
	newParts, newDots := stretches(newLines(v.old, v.new))
	if !slices.Equal(oldDots, newDots) || f.all() {
		return nil, refuseEllipsis("oldString has " + count(len(oldDots), "ellipsis line") +
			" and newString does not have the same ones")
	}
	p := &Plan{Level: Ellipsis, Repaired: v.repaired}
	end := -1
	for i, part := range oldParts {
		part, next := trimBlank(part, newParts[i])
		if len(part) == 0 {
			if len(next) > 0 {
				return nil, refuseEllipsis("newString adds lines beside an ellipsis, where oldString has none to find the place by")
			}
			continue
		}
		places := f.text.stretch(newBlock(part))
		if len(places) != 1 {
			if len(places) == 0 {
				return nil, nil
			}
			return nil, refuseEllipsis("the lines between the ellipsis lines fit " + count(len(places), "place") +
				", for example “" + clip(strings.TrimSpace(part[0]), 60) + "”")
		}
		at := &places[0]
		if at.first <= end {
			return nil, refuseEllipsis("the stretches around the ellipsis lines come in another order in the file")
		}
		end = at.last
		c := f.text.wholeChange(at, part, next)
		p.add(c.spans(), at.first, at.last)
		if c.unclear() {
			return nil, f.refuseUnclear(at)
		}
	}
	return f.finish(p)
}

// stretch returns the places of lines at the first level that has any.
func (t *Text) stretch(b *block) []place {
	for _, l := range [...]Level{Exact, TrailingBlanks, Indentation, Folded, Spacing} {
		if places := t.whole(b, l, listMax+1); len(places) > 0 {
			return places
		}
	}
	return nil
}

// trimBlank removes blank ends of old, and as many from new as it has.
func trimBlank(old, new []string) (o, n []string) {
	for len(old) > 0 && isBlank(old[0]) {
		old = old[1:]
		if len(new) > 0 && isBlank(new[0]) {
			new = new[1:]
		}
	}
	for len(old) > 0 && isBlank(old[len(old)-1]) {
		old = old[:len(old)-1]
		if len(new) > 0 && isBlank(new[len(new)-1]) {
			new = new[:len(new)-1]
		}
	}
	return old, new
}

// stretches cuts lines at ellipsis lines and returns the parts and the ellipses.
func stretches(lines []string) (parts [][]string, dots []string) {
	start := 0
	for i, l := range lines {
		if isEllipsisLine(l) {
			parts = append(parts, lines[start:i])
			dots = append(dots, normalize(Spacing, l))
			start = i + 1
		}
	}
	return append(parts, lines[start:]), dots
}
