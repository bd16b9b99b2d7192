package patch

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agenttool/tool/internal/match"
)

// A finding is a hunk with the places where it fits.
type finding struct {
	t      *match.Text
	h      *Hunk
	path   string
	number int
	block  match.Block

	regions []match.Region // what is left to choose from
	all     int            // how many places there were at first
	region  *match.Region  // the place, once there is only one

	insert   int // line behind which a hunk of additions goes
	inserted bool
	err      *Error
}

// locate lists the places of the hunk and lets its own marks decide.
func (f *finding) locate() {
	f.block = blockOf(f.h)
	if !f.h.changes() {
		f.fail(ErrEmpty, nil, "it neither adds nor removes a line")
		return
	}
	if !hasContent(f.block.Old) {
		f.locateInsertion()
		return
	}
	f.regions = f.t.Locate(f.block)
	f.all = len(f.regions)
	if len(f.regions) == 0 {
		return
	}
	scopes := f.scopes()
	if len(f.regions) > 1 && len(scopes) > 0 {
		f.keep(func(r *match.Region) bool { return inScope(scopes, r) })
	}
	if len(f.regions) > 1 && len(scopes) > 0 {
		// In flat text an anchor opens nothing: there it is the line before.
		f.keep(func(r *match.Region) bool { return f.follows(scopes, r) })
	}
	if len(f.regions) > 1 && f.h.EndOfFile {
		f.keep(func(r *match.Region) bool { return f.atEnd(r.Last) })
	}
}

func hasContent(lines []string) bool {
	for _, l := range lines {
		if strings.TrimSpace(l) != "" {
			return true
		}
	}
	return false
}

func blockOf(h *Hunk) match.Block {
	var b match.Block
	for _, l := range h.Lines {
		switch l.Mark {
		case '-':
			b.Old = append(b.Old, l.Text)
		case '+':
			b.New = append(b.New, l.Text)
			b.Shared = append(b.Shared, -1)
		default:
			b.Old = append(b.Old, l.Text)
			b.New = append(b.New, l.Text)
			b.Shared = append(b.Shared, len(b.Old)-1)
		}
	}
	return b
}

// keep narrows the places to those that pass, unless none does.
func (f *finding) keep(pass func(r *match.Region) bool) {
	var left []match.Region
	for i := range f.regions {
		if pass(&f.regions[i]) {
			left = append(left, f.regions[i])
		}
	}
	if len(left) > 0 {
		f.regions = left
	}
}

// atEnd reports whether nothing but blank lines follows line n.
func (f *finding) atEnd(n int) bool {
	for i := n; i < f.t.Len(); i++ {
		if strings.TrimSpace(f.t.Line(i)) != "" {
			return false
		}
	}
	return true
}

// A scope is the range of lines, counted from 1, that an anchor opens. Lines
// behind its end still come after the anchor.
type scope struct{ anchor, end int }

func inScope(scopes []scope, r *match.Region) bool {
	for _, s := range scopes {
		if s.anchor <= r.First && r.First <= s.end {
			return true
		}
	}
	return false
}

// follows reports whether a place comes right behind an anchor, but for blank lines.
func (f *finding) follows(scopes []scope, r *match.Region) bool {
	n := r.First - 1
	for n > 0 && strings.TrimSpace(f.t.Line(n-1)) == "" {
		n--
	}
	return slices.ContainsFunc(scopes, func(s scope) bool { return s.anchor == n })
}

// scopes returns what the anchors of the hunk narrow the file to: one scope for
// each line that the innermost anchor can mean.
func (f *finding) scopes() []scope {
	current := []scope{{0, f.t.Len()}}
	for _, a := range f.h.Anchors {
		var next []scope
		for _, s := range current {
			for _, n := range f.anchorLines(a, s) {
				next = append(next, scope{n, min(s.end, f.scopeEnd(n))})
			}
		}
		if len(next) == 0 {
			// An anchor that the file does not have says nothing.
			continue
		}
		current = next
	}
	if current[0].anchor == 0 {
		return nil
	}
	return current
}

// anchorLines returns the lines of a scope that say what the anchor says: equal
// ones, or else those that start with it or that it starts with.
func (f *finding) anchorLines(anchor string, s scope) []int {
	want := fields(anchor)
	var equal, like []int
	for i := s.anchor; i < s.end; i++ {
		have := fields(f.t.Line(i))
		switch {
		case have == "":
		case have == want:
			equal = append(equal, i+1)
		case len(want) >= 3 && strings.HasPrefix(have, want), len(have) >= 12 && strings.HasPrefix(want, have):
			like = append(like, i+1)
		}
	}
	if len(equal) > 0 {
		return equal
	}
	return like
}

func fields(s string) string { return strings.Join(strings.Fields(s), " ") }

// scopeEnd returns the last line of the block that line n opens, by indentation.
func (f *finding) scopeEnd(n int) int {
	depth := indent(f.t.Line(n - 1))
	for i := n; i < f.t.Len(); i++ {
		line := f.t.Line(i)
		body := strings.TrimSpace(line)
		if body == "" || strings.ContainsRune("})]{#", rune(body[0])) || strings.HasPrefix(body, "end") {
			continue
		}
		if indent(line) <= depth {
			return i
		}
	}
	return f.t.Len()
}

func indent(line string) int {
	n := 0
	for i := 0; i < len(line); i++ {
		switch line[i] {
		case ' ':
			n++
		case '\t':
			n += 4
		default:
			return n
		}
	}
	return n
}

// locateInsertion finds the place of a hunk that only adds lines: behind its
// anchor, or at the end of the file if it says so.
func (f *finding) locateInsertion() {
	var added []string
	for _, l := range f.h.Lines {
		if l.Mark == '-' {
			f.fail(ErrHunk, nil, "it removes blank lines and has no other line to find them by. Add lines of context")
			return
		}
		if l.Mark == '+' {
			added = append(added, l.Text)
		}
	}
	f.block.New = added
	if f.h.EndOfFile || f.t.Len() == 0 {
		f.insert, f.inserted = f.t.Len(), true
		return
	}
	if len(f.h.Anchors) == 0 {
		f.fail(ErrHunk, nil, "it only adds lines and does not say where. Give lines of context, an @@ line to add them after, or *** End of File")
		return
	}
	scopes := f.scopes()
	switch len(scopes) {
	case 0:
		f.fail(ErrHunk, match.ErrNotFound, "the line %q of its @@ is not in the file", short(f.h.Anchors[len(f.h.Anchors)-1]))
	case 1:
		f.insert, f.inserted = scopes[0].anchor, true
	default:
		lines := make([]string, 0, len(scopes))
		for _, s := range scopes[:min(20, len(scopes))] {
			lines = append(lines, fmt.Sprint(s.anchor))
		}
		f.fail(ErrHunk, match.ErrAmbiguous, "the line %q of its @@ is in the file %d times (lines %s). Add lines of context",
			short(f.h.Anchors[len(f.h.Anchors)-1]), len(scopes), strings.Join(lines, ", "))
	}
}

// narrow settles hunks with several places by the order of the hunks, and then
// by line numbers if other hunks prove that these are right.
func narrow(found []*finding) {
	for changed := true; changed; {
		changed = false
		for i, f := range found {
			if len(f.regions) < 2 {
				continue
			}
			lo, hi := 0, f.t.Len()+1
			for k := i - 1; k >= 0; k-- {
				if end, ok := found[k].last(); ok {
					lo = end
					break
				}
			}
			for k := i + 1; k < len(found); k++ {
				if start, ok := found[k].first(); ok {
					hi = start
					break
				}
			}
			before := len(f.regions)
			f.keep(func(r *match.Region) bool { return r.First > lo && r.Last < hi })
			changed = changed || len(f.regions) < before
		}
	}
	if numbersProven(found) {
		for _, f := range found {
			if len(f.regions) > 1 && f.h.Line > 0 {
				f.keep(func(r *match.Region) bool { return r.First == f.h.Line })
			}
		}
	}
	for _, f := range found {
		if len(f.regions) == 1 {
			f.region = &f.regions[0]
		}
	}
}

// numbersProven reports whether line numbers can be trusted: every hunk with one
// place is where its head says, and there is such a hunk.
func numbersProven(found []*finding) bool {
	proven := false
	for _, f := range found {
		if f.all == 1 {
			if f.regions[0].First != f.h.Line {
				return false
			}
			proven = true
		}
	}
	return proven
}

// first and last are the lines of a place that is certain.
func (f *finding) first() (int, bool) {
	switch {
	case f.inserted:
		return f.insert + 1, true
	case len(f.regions) == 1:
		return f.regions[0].First, true
	}
	return 0, false
}

func (f *finding) last() (int, bool) {
	switch {
	case f.inserted:
		return f.insert, true
	case len(f.regions) == 1:
		return f.regions[0].Last, true
	}
	return 0, false
}

func (f *finding) placement() Placement {
	if f.inserted {
		return Placement{First: f.insert + 1, Last: f.insert}
	}
	r := f.region
	return Placement{First: r.First, Last: r.Last, Level: r.Level, Repaired: r.Repaired, Slips: r.Slips}
}

func (f *finding) write() []match.Span {
	if f.inserted {
		return f.t.InsertAfter(f.insert, f.block.New)
	}
	return f.t.Write(f.region)
}

func (f *finding) fail(reason, cause error, format string, args ...any) {
	f.err = &Error{Reason: reason, Path: f.path, Hunk: f.number, Line: f.h.line, Cause: cause,
		message: fmt.Sprintf("%s, hunk %d: ", f.path, f.number) + fmt.Sprintf(format, args...)}
}

// refusal says why the hunk has no place, nil if it has.
func (f *finding) refusal() *Error {
	switch {
	case f.err != nil || f.inserted:
		return f.err
	case f.region == nil && len(f.regions) == 0:
		why := f.t.LineRefusal(f.block)
		f.fail(ErrHunk, why, "its lines are not in the file. Expected:\n%s%s", f.expected(), why)
	case f.region == nil:
		lines := make([]string, 0, 20)
		for _, r := range f.regions[:min(20, len(f.regions))] {
			lines = append(lines, fmt.Sprint(r.First))
		}
		f.fail(ErrHunk, match.ErrAmbiguous, "its lines fit %d places: lines %s. Add lines of context, or an @@ line that names what they are in. Expected:\n%s",
			len(f.regions), strings.Join(lines, ", "), strings.TrimSuffix(f.expected(), "\n"))
	case f.region.TooWide():
		f.fail(ErrHunk, match.ErrProportion, "with blank lines ignored its %d lines fit lines %d-%d. Copy the lines exactly as they are",
			len(f.block.Old), f.region.First, f.region.Last)
	case f.t.Unclear(f.region):
		f.fail(ErrHunk, match.ErrIndentation, "its lines are lines %d-%d with other indentation, and how the new ones are to be indented there is not clear. Copy the lines with the indentation that they have in the file",
			f.region.First, f.region.Last)
	case f.contradicted():
		f.fail(ErrHunk, match.ErrAmbiguous, "its lines are at line %d, but its @@ line %q names another place (line %d). Correct one of them",
			f.region.First, short(f.h.Anchors[len(f.h.Anchors)-1]), f.scopes()[0].anchor)
	}
	return f.err
}

// contradicted reports whether the only place of the hunk comes before the only
// line that its anchor can mean.
func (f *finding) contradicted() bool {
	if f.h.Line > 0 {
		return false // what stands behind a unified head is not an instruction
	}
	scopes := f.scopes()
	if len(scopes) == 0 {
		return false
	}
	for _, s := range scopes {
		if s.anchor <= f.region.Last {
			return false
		}
	}
	return true
}

// expected shows the lines that were looked for.
func (f *finding) expected() string {
	const most = 8
	var b strings.Builder
	for i, l := range f.block.Old {
		if i == most {
			fmt.Fprintf(&b, "  … %d more lines\n", len(f.block.Old)-most)
			break
		}
		b.WriteString("  " + short(l) + "\n")
	}
	return b.String()
}
