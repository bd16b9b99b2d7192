package match

import (
	"slices"
	"strings"
)

// A Block is a change of whole lines whose shared lines are known beforehand,
// as they are in a patch.
type Block struct {
	Old, New []string

	// Shared has, for every line of New, the line of Old that it is, or -1.
	Shared []int
}

// A Region is a place where the old lines of a block fit.
type Region struct {
	First, Last int // lines, counted from 1
	Level       Level
	Repaired    string // damage undone first, as in [Plan]
	Slips       []Slip

	block   Block
	at      place
	spans   []Span
	written bool
	unclear bool
}

// Locate returns the places of a block, up to a thousand, at the first level that
// has any, with the same levels as [Find] but for parts of lines and ellipses. The block must
// have old lines with content; without any there is no place.
func (t *Text) Locate(b Block) []Region {
	base := newBlock(b.Old)
	if len(base.filled) == 0 {
		return nil
	}
	regions := func(b Block, places []place, repaired string) []Region {
		out := make([]Region, len(places))
		for i, p := range places {
			out[i] = Region{First: p.first + 1, Last: p.last + 1, Level: p.level, Repaired: repaired, block: b, at: p}
		}
		return out
	}
	type attempt struct {
		b        Block
		key      *block
		repaired string
	}
	tries := []attempt{{b, base, ""}}
	levels := [...]Level{Exact, TrailingBlanks, Indentation, Folded, Spacing}
	for _, l := range levels {
		if places := t.whole(base, l, maxSparse); len(places) > 0 {
			return regions(b, places, "")
		}
	}
	for _, v := range repairs(strings.Join(b.Old, "\n"), strings.Join(b.New, "\n")) {
		old, new := strings.Split(v.old, "\n"), strings.Split(v.new, "\n")
		if len(old) == len(b.Old) && len(new) == len(b.New) {
			tries = append(tries, attempt{Block{old, new, b.Shared}, newBlock(old), v.repaired})
		}
	}
	for _, l := range levels {
		for _, a := range tries[1:] {
			if places := t.whole(a.key, l, maxSparse); len(places) > 0 {
				return regions(a.b, places, a.repaired)
			}
		}
	}
	for _, l := range lineLevels {
		for _, a := range tries {
			if places := t.withoutBlanks(a.key, l); len(places) > 0 {
				return regions(a.b, places, a.repaired)
			}
		}
	}
	for _, a := range tries {
		at, slips, spans, near := t.slip(a.key, a.b.New, a.b.Shared)
		if near {
			return nil
		}
		if at != nil {
			return []Region{{First: at.first + 1, Last: at.last + 1, Level: Slips, Repaired: a.repaired, Slips: slips, block: a.b, at: *at, spans: spans}}
		}
	}
	return nil
}

// TooWide reports whether a region has many more lines than its block, so that
// it should be refused: blank lines were ignored, and too many of them lie in it.
func (r *Region) TooWide() bool { return r.at.tooWide(len(r.block.Old)) }

// Write returns the spans that make the block's change at the region.
func (t *Text) Write(r *Region) []Span {
	if r.spans != nil || r.written {
		return r.spans
	}
	c := t.wholeChange(&r.at, r.block.Old, r.block.New)
	c.src = r.block.Shared
	r.spans, r.written = c.spans(), true
	r.unclear = c.unclear()
	return r.spans
}

// Unclear reports whether [Text.Write] would have to guess how new lines are
// indented at the region, so that it should be refused.
func (t *Text) Unclear(r *Region) bool {
	t.Write(r)
	return r.unclear
}

// InsertAfter returns the span that puts whole lines behind line n, counted from
// 1; zero puts them in front of the first line.
func (t *Text) InsertAfter(n int, lines []string) []Span {
	return t.insertLines(min(n, t.Len()), lines).Spans
}

// LineRefusal is the [ErrNotFound] or [ErrApplied] refusal for a block that
// [Text.Locate] does not find.
func (t *Text) LineRefusal(b Block) *Error {
	key := newBlock(b.Old)
	if next := newBlock(b.New); len(next.filled) > 0 && !slices.Equal(next.nkeys, key.nkeys) {
		if places := t.whole(next, Spacing, 2); len(places) == 1 {
			at := places[0]
			return &Error{Reason: ErrApplied, Lines: []int{at.first + 1}, message: "the lines are as the hunk would leave them already: " +
				placeList([]Place{{First: at.first + 1, Last: at.last + 1}}) + ". It seems to be applied."}
		}
	}
	near := t.nearest(key)
	if near == nil {
		return &Error{Reason: ErrNotFound, message: "no part of the file resembles these lines."}
	}
	return &Error{Reason: ErrNotFound, Near: near, Lines: []int{near.First}, message: t.Describe(near)}
}
