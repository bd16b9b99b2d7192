package match

import (
	"fmt"
	"strings"
)

// A LineEdit names its place by line numbers, and guards them by what the lines
// say, so that a number from before another change cannot hit a wrong place.
type LineEdit struct {
	// First and Last are the lines to replace, counted from 1. With Last equal
	// to First-1 nothing is replaced and Text goes in front of line First;
	// First may then be one behind the last line.
	First, Last int

	// FirstText and LastText are what lines First and Last say now. For an
	// insertion they are the lines before and behind the new text, and one of
	// them may be left empty; at least one must have content unless the text is
	// empty. Blanks at both ends do not count.
	FirstText, LastText string

	// Text is the new text, whole lines. Empty deletes.
	Text string
}

// FindLines plans a line edit. The error is an [*Error] wrapping [ErrGuard] when
// the lines do not say what they should, and names the line where they do.
func FindLines(text string, e LineEdit) (*Plan, error) {
	return NewText(text).FindLines(e)
}

// FindLines is like the function [FindLines] for a prepared text.
func (t *Text) FindLines(e LineEdit) (*Plan, error) {
	insert := e.Last == e.First-1
	switch {
	case e.First < 1 || e.Last < e.First-1 || e.Last > t.Len() || e.First > t.Len()+1:
		return nil, &Error{Reason: ErrGuard, message: fmt.Sprintf("lines %d-%d are not in the file, which has %s.",
			e.First, e.Last, count(t.Len(), "line"))}
	case insert && e.Text == "":
		return nil, refuseSame(Exact)
	case strings.TrimSpace(e.FirstText) == "" && strings.TrimSpace(e.LastText) == "" && t.guardable(e, insert):
		return nil, &Error{Reason: ErrGuard, message: "the line numbers come without the text of the lines. Give what the first and the last line say, so that a number that is out of date cannot hit a wrong place."}
	}
	first, last := e.First, e.Last
	if insert {
		first, last = e.First-1, e.First // the lines around the place
	}
	if err := t.guard(first, e.FirstText, insert); err != nil {
		return nil, err
	}
	if err := t.guard(last, e.LastText, insert); err != nil {
		return nil, err
	}
	lines, _ := splitLines(toLF(e.Text))
	if insert {
		return t.insertLines(e.First-1, lines), nil
	}
	old := make([]string, 0, e.Last-e.First+1)
	for i := e.First - 1; i < e.Last; i++ {
		old = append(old, t.Line(i))
	}
	at := linear(Exact, e.First-1, len(old))
	p := &Plan{}
	p.add(t.wholeChange(&at, old, lines).spans(), at.first, at.last)
	return (&finder{text: t}).finish(p)
}

// guardable reports whether there is any text around the place to guard it by.
func (t *Text) guardable(e LineEdit, insert bool) bool {
	if !insert {
		return true
	}
	for _, k := range [...]int{e.First - 2, e.First - 1} {
		if k >= 0 && k < t.Len() && !isBlank(t.Line(k)) {
			return true
		}
	}
	return false
}

// guard checks that line n, counted from 1, says text. Optional guards may be blank.
func (t *Text) guard(n int, text string, optional bool) error {
	want := normalize(Folded, text)
	if want == "" && (optional || n >= 1 && n <= t.Len() && isBlank(t.Line(n-1))) {
		return nil
	}
	have := ""
	if n >= 1 && n <= t.Len() {
		if have = t.Line(n - 1); normalize(Folded, have) == want {
			return nil
		}
	}
	e := &Error{Reason: ErrGuard}
	for i := 0; i < t.Len() && want != ""; i++ {
		if normalize(Folded, t.Line(i)) == want {
			if e.Lines = append(e.Lines, i+1); len(e.Lines) > listMax {
				break
			}
		}
	}
	msg := fmt.Sprintf("line %d does not say %s; ", n, quote(clip(strings.TrimSpace(text), 80)))
	switch {
	case n < 1 || n > t.Len():
		msg += fmt.Sprintf("the file has %s.", count(t.Len(), "line"))
	case isBlank(have):
		msg += "it is blank."
	default:
		msg += "it says " + quote(clip(visible(strings.TrimSpace(have)), 80)) + "."
	}
	switch len(e.Lines) {
	case 0:
		msg += " No line of the file says that. Read the lines again."
	case 1:
		msg += fmt.Sprintf(" That is line %d now: correct all line numbers by %+d, or read the lines again.", e.Lines[0], e.Lines[0]-n)
	default:
		at := make([]lineRange, len(e.Lines))
		for i, l := range e.Lines {
			at[i] = lineRange{l - 1, l - 1}
		}
		msg += " " + lineList(at) + " say that. Read the lines again."
	}
	e.message = msg
	return e
}

// insertLines plans new lines in front of line at, counted from 0.
func (t *Text) insertLines(at int, lines []string) *Plan {
	eol := t.eolNear(at - 1)
	if at == 0 {
		eol = t.eolNear(0)
	}
	s := Span{Start: t.index()[min(at, t.Len())]}
	s.End = s.Start
	s.Text = strings.Join(lines, eol) + eol
	if at == t.Len() && at > 0 && t.eol(at-1) == "" {
		// The text does not end in a line break, and still does not afterwards.
		s.Text = eol + strings.Join(lines, eol)
	}
	return &Plan{Spans: []Span{s}, Places: []Place{{First: at + 1, Last: at, NewFirst: at + 1, NewLast: at + len(lines)}}}
}
