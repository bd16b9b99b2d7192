package textfile

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

// A LineRange is the lines First to Last of a file, both included, counted from 1.
type LineRange struct {
	First int `json:"first"`
	Last  int `json:"last"`
}

// mergeLines returns the ranges sorted, without empty ones, joined where they touch or overlap.
func mergeLines(ranges []LineRange) []LineRange {
	sorted := slices.DeleteFunc(slices.Clone(ranges), func(r LineRange) bool { return r.Last < r.First || r.Last < 1 })
	slices.SortFunc(sorted, func(a, b LineRange) int {
		return cmp.Or(cmp.Compare(a.First, b.First), cmp.Compare(a.Last, b.Last))
	})
	var out []LineRange
	for _, r := range sorted {
		r.First = max(r.First, 1)
		if n := len(out); n > 0 && r.First <= out[n-1].Last+1 {
			out[n-1].Last = max(out[n-1].Last, r.Last)
		} else {
			out = append(out, r)
		}
	}
	return out
}

// missingLines returns what of want is not in merged.
func missingLines(merged []LineRange, want LineRange) []LineRange {
	var out []LineRange
	at := max(want.First, 1)
	from, _ := slices.BinarySearchFunc(merged, at, func(r LineRange, at int) int { return cmp.Compare(r.Last, at) })
	for _, r := range merged[from:] {
		if r.First > want.Last {
			break
		}
		if r.First > at {
			out = append(out, LineRange{at, r.First - 1})
		}
		at = r.Last + 1
	}
	if at <= want.Last {
		out = append(out, LineRange{at, want.Last})
	}
	return out
}

// A lineEdit replaces the old lines first to last (last = first-1: none, before first) by count new ones.
type lineEdit struct{ first, last, count int }

// lineEdits says which lines the spans touch. A line of which a part stays counts as replaced.
func lineEdits(f *File, spans []Span) []lineEdit {
	sorted := slices.Clone(spans)
	slices.SortStableFunc(sorted, func(a, b Span) int { return cmp.Compare(a.Start, b.Start) })
	var out []lineEdit
	line, at := 1, 0 // the number of the line that offset at is in
	for _, s := range sorted {
		text := strings.ReplaceAll(s.New, "\r\n", "\n")
		if s.Start < at || s.End > len(f.Text) || s.End < s.Start {
			continue
		}
		line += strings.Count(f.Text[at:s.Start], "\n")
		first := line
		last := line + strings.Count(f.Text[s.Start:s.End], "\n")
		count := strings.Count(text, "\n") + 1
		line, at = last, s.End
		startsLine := s.Start == 0 || f.Text[s.Start-1] == '\n'
		if startsLine && (s.End == 0 || f.Text[s.End-1] == '\n') && (text == "" || text[len(text)-1] == '\n') {
			last, count = last-1, count-1 // only whole lines
		}
		if n := len(out); n > 0 && first <= out[n-1].last {
			// two spans in one line
			out[n-1].count += count - 1
			out[n-1].last = max(out[n-1].last, last)
			continue
		}
		out = append(out, lineEdit{first, last, count})
	}
	return out
}

// shiftSeen moves ranges of lines seen before the edits to where the lines are afterwards. The new lines are seen too: the
// session wrote them.
func shiftSeen(seen []LineRange, edits []lineEdit) []LineRange {
	var out []LineRange
	delta := 0
	at := 1 // the first old line not dealt with
	seen = mergeLines(slices.Clone(seen))
	next := 0 // the first range that may hold lines from there on
	keep := func(first, last int) {
		for next < len(seen) && seen[next].Last < first {
			next++
		}
		for _, r := range seen[next:] {
			if r.First > last {
				break
			}
			out = append(out, LineRange{max(r.First, first) + delta, min(r.Last, last) + delta})
		}
	}
	for _, e := range edits {
		keep(at, e.first-1)
		out = append(out, LineRange{e.first + delta, e.first + delta + e.count - 1})
		delta += e.count - (e.last - e.first + 1)
		at = e.last + 1
	}
	keep(at, math.MaxInt-max(delta, 0))
	return mergeLines(out)
}

// commonEnds describes the change from before to after as one edit: the lines between the common beginning and the common
// end. It serves to carry over what was seen of a file that somebody else changed; the changed lines are not seen.
func commonEnds(before, after string) lineEdit {
	n := 0
	for n < len(before) && n < len(after) && before[n] == after[n] {
		n++
	}
	if n == len(before) && n == len(after) {
		return lineEdit{first: 1, last: 0}
	}
	n = strings.LastIndexByte(before[:n], '\n') + 1
	first := strings.Count(before[:n], "\n") + 1
	before, after = before[n:], after[n:]
	m := 0
	for m < len(before) && m < len(after) && before[len(before)-1-m] == after[len(after)-1-m] {
		m++
	}
	startsLine := func(s string) bool { return m == len(s) || s[len(s)-m-1] == '\n' }
	if !startsLine(before) || !startsLine(after) {
		if i := strings.IndexByte(before[len(before)-m:], '\n'); i >= 0 {
			m -= i + 1 // the rest of a line that only ends alike
		} else {
			m = 0
		}
	}
	return lineEdit{
		first: first,
		last:  first + countLines(before[:len(before)-m]) - 1,
		count: countLines(after[:len(after)-m]),
	}
}

func countLines(s string) int {
	n := strings.Count(s, "\n")
	if s != "" && s[len(s)-1] != '\n' {
		n++
	}
	return n
}
