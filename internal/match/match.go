package match

import "strings"

// An Edit asks for one text to be replaced by another.
// Line breaks in Old and New may be LF or CRLF; both mean "a line break".
type Edit struct {
	// Old is the text to find. It may be a part of a line, whole lines or
	// many lines. Blank text is refused with [ErrBlank].
	Old string

	// New is the text to put in its place, taken literally. Empty deletes.
	New string

	// All replaces every place instead of insisting on a single one.
	// Places are taken from left to right and never overlap.
	All bool

	// Expect is the number of places the caller expects. Zero means no
	// expectation; any other number that differs from what is found is
	// refused with [ErrCount]. A number above one implies All.
	Expect int

	// AllowPlaceholders switches off the guard against new text that says
	// "rest of the code unchanged" instead of giving the code.
	AllowPlaceholders bool
}

// A Span replaces the bytes [Start, End) of a text by Text.
type Span struct {
	Start, End int
	Text       string
}

// A Place is where an edit matched, as line numbers counted from 1.
type Place struct {
	First, Last       int // lines of the given text
	NewFirst, NewLast int // lines of the result; NewLast < NewFirst when nothing is left
}

// A Plan says what an edit changes. It is immutable once returned.
type Plan struct {
	// Level is the rung of the ladder that found the places.
	Level Level

	// Repaired names damage that was undone on Old and New together before
	// they matched ("line numbers", "code fence", "backslash escapes",
	// "HTML entities"), empty when there was none.
	Repaired string

	// Places has one entry for each place, in file order.
	Places []Place

	// Spans are the changes in file order. They do not overlap, and every
	// byte outside them stays as it is. There is at least one.
	Spans []Span

	// Slips lists the lines that were not quite what Old said. It is empty
	// except at [Slips].
	Slips []Slip
}

// A Slip is a line of the text that Old had misremembered.
type Slip struct {
	Line int    // in the given text, counted from 1
	Want string // what Old said
	Have string // what the text has
}

// Apply returns text with the spans of the plan applied.
// The text must be the one that the plan was made for.
func (p *Plan) Apply(text string) string { return Apply(text, p.Spans) }

// Note describes in one line how a match came about, for the model that asked
// for it. It is empty for an exact match, where there is nothing to say.
func (p *Plan) Note() string {
	if p.Level == Exact && p.Repaired == "" {
		return ""
	}
	var b strings.Builder
	b.WriteString("matched ")
	b.WriteString(placeList(p.Places))
	if p.Level != Exact {
		b.WriteString(" with " + p.Level.String())
	}
	if p.Repaired != "" {
		b.WriteString(", after removing " + p.Repaired + " from oldString and newString")
	}
	return b.String()
}

// Apply returns text with the spans applied. Spans must be sorted and must not
// overlap, as those of a [Plan] are.
func Apply(text string, spans []Span) string {
	if len(spans) == 0 {
		return text
	}
	size := len(text)
	for _, s := range spans {
		size += len(s.Text) - (s.End - s.Start)
	}
	var b strings.Builder
	b.Grow(size)
	pos := 0
	for _, s := range spans {
		b.WriteString(text[pos:s.Start])
		b.WriteString(s.Text)
		pos = s.End
	}
	b.WriteString(text[pos:])
	return b.String()
}

// Invert returns the spans that turn the result of applying spans to text back
// into text.
func Invert(text string, spans []Span) []Span {
	inverse := make([]Span, len(spans))
	shift := 0
	for i, s := range spans {
		start := s.Start + shift
		inverse[i] = Span{Start: start, End: start + len(s.Text), Text: text[s.Start:s.End]}
		shift += len(s.Text) - (s.End - s.Start)
	}
	return inverse
}

// Find plans an edit of text. Offsets of the spans are bytes of text as given,
// whatever its line endings are.
//
// Places are sought by a ladder of levels, from exact to lenient, that stops at
// the first level where anything matches. Two places at that level are refused
// unless the edit asks for all of them. What is written is the difference
// between Old and New: lines that both share keep the bytes that text has, and
// new lines get the indentation and the line ending in force at the place.
//
// Every error is an [*Error] that wraps one of this package's sentinels; text is
// to be left alone then. Find keeps no state and may be called concurrently.
func Find(text string, e Edit) (*Plan, error) {
	return NewText(text).Find(e)
}

// Find is like the function [Find] for a text that is searched repeatedly.
func (t *Text) Find(e Edit) (*Plan, error) {
	f := &finder{text: t, edit: e, old: toLF(e.Old), new: toLF(e.New)}
	return f.plan()
}

func toLF(s string) string {
	if strings.IndexByte(s, '\r') < 0 {
		return s
	}
	return strings.ReplaceAll(s, "\r\n", "\n")
}
