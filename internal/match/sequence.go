package match

import (
	"errors"
	"fmt"
	"strings"
)

// A Status says what became of one edit of a sequence.
type Status int

const (
	Planned   Status = iota // it applies to the result of the edits before it
	Redundant               // it repeats an earlier edit and adds nothing
	Failed                  // it was refused; see the error
	Untried                 // it seems to build on an edit that was refused
)

// An Outcome is what became of one edit.
type Outcome struct {
	Status Status
	Plan   *Plan // against the text that the edits before it leave; only when Planned
	Err    error // only when Failed or Untried
	After  int   // the number of the earlier edit that a Redundant or Untried one refers to, from 1
}

// A Sequence is the plan of several edits of one text, each made on the result
// of those before it.
type Sequence struct {
	Outcomes []Outcome // one for each edit, in order
	Text     string    // the result; the text as it was when any edit was refused
	Spans    []Span    // the changes against the text as it was, nil when any edit was refused
}

// ErrSequence is what the error of [FindAll] wraps, beside the refusals of the
// single edits.
var ErrSequence = errors.New("not all edits apply")

// FindAll plans edits one after the other. Either all of them apply or none:
// with any refusal the error lists what became of every edit, and the sequence
// has the text unchanged. Edits behind a refused one are still tried, so that
// one report is enough to correct them all.
func FindAll(text string, edits []Edit) (*Sequence, error) {
	seq := &Sequence{Outcomes: make([]Outcome, len(edits)), Text: text}
	current := text
	var spans []Span
	failed := 0
	for i, e := range edits {
		o := &seq.Outcomes[i]
		if k := repeated(edits[:i], e); k >= 0 && seq.Outcomes[k].Status != Failed {
			*o = Outcome{Status: Redundant, After: k + 1}
			continue
		}
		p, err := Find(current, e)
		if err != nil {
			*o = explain(text, edits, seq.Outcomes, i, err)
			failed++
			continue
		}
		*o = Outcome{Status: Planned, Plan: p}
		spans = Compose(text, spans, p.Spans)
		current = Apply(current, p.Spans)
	}
	if failed > 0 {
		return seq, &sequenceError{seq.Outcomes, failed}
	}
	seq.Text, seq.Spans = current, spans
	return seq, nil
}

func repeated(before []Edit, e Edit) int {
	for k, b := range before {
		if b == e {
			return k
		}
	}
	return -1
}

// explain finds out why edit i was refused when the edits around it may be the
// reason.
func explain(text string, edits []Edit, done []Outcome, i int, err error) Outcome {
	e := edits[i]
	if !errors.Is(err, ErrNotFound) && !errors.Is(err, ErrApplied) {
		return Outcome{Status: Failed, Err: err}
	}
	for k := range i {
		if done[k].Status != Failed && done[k].Status != Untried {
			continue
		}
		if p, ferr := Find(edits[k].New, Edit{Old: e.Old, New: e.New, AllowPlaceholders: true}); ferr == nil && p != nil {
			return Outcome{Status: Untried, After: k + 1, Err: fmt.Errorf("not tried, because it builds on edit %d: %w", k+1, err)}
		}
	}
	orig, ferr := Find(text, e)
	if ferr != nil {
		return Outcome{Status: Failed, Err: err}
	}
	// Which edit before took the place away?
	at := orig.Places[0]
	t := NewText(text)
	for k := range i {
		if done[k].Status != Planned {
			continue
		}
		p, kerr := t.Find(edits[k])
		if kerr != nil || p.Places[0].Last < at.First || at.Last < p.Places[0].First {
			continue
		}
		return Outcome{Status: Failed, After: k + 1, Err: fmt.Errorf(
			"edit %d already changed this region (%s); give the text as that edit leaves it, or make one edit of both: %w",
			k+1, placeList(p.Places), err)}
	}
	return Outcome{Status: Failed, Err: fmt.Errorf("it fits the file (%s), but an earlier edit already changed this region: %w",
		placeList(orig.Places), err)}
}

type sequenceError struct {
	outcomes []Outcome
	failed   int
}

func (e *sequenceError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d of %s cannot be applied, so nothing was changed.", e.failed, count(len(e.outcomes), "edit"))
	long := 0
	for i, o := range e.outcomes {
		fmt.Fprintf(&b, "\nEdit %d: ", i+1)
		switch o.Status {
		case Planned:
			fmt.Fprintf(&b, "ok (%s)", placeList(o.Plan.Places))
		case Redundant:
			fmt.Fprintf(&b, "the same as edit %d, redundant", o.After)
		default:
			msg := o.Err.Error()
			if long++; long > 2 {
				// Two full explanations are enough for one answer.
				msg, _, _ = strings.Cut(msg, "\n")
				msg = clip(msg, 300)
			}
			b.WriteString(msg)
		}
	}
	return b.String()
}

// Unwrap returns ErrSequence and every refusal.
func (e *sequenceError) Unwrap() []error {
	errs := []error{ErrSequence}
	for _, o := range e.outcomes {
		if o.Err != nil {
			errs = append(errs, o.Err)
		}
	}
	return errs
}

// Compose returns the spans against text that have the effect of applying a to
// text and then b to the result.
func Compose(text string, a, b []Span) []Span {
	if len(a) == 0 {
		return b
	}
	// The middle text as stretches: kept from text, or new from a span of a.
	type stretch struct {
		start, end int // in text
		text       string
		kept       bool
	}
	var mid []stretch
	pos := 0
	for _, s := range a {
		if s.Start > pos {
			mid = append(mid, stretch{pos, s.Start, text[pos:s.Start], true})
		}
		mid = append(mid, stretch{s.Start, s.End, s.Text, false})
		pos = s.End
	}
	mid = append(mid, stretch{pos, len(text), text[pos:], true})

	// cut splits the middle text at an offset; offsets only grow.
	var out []Span
	open := false // the last span of out ends where the next stretch starts
	add := func(start, end int, s string) {
		if open {
			last := &out[len(out)-1]
			last.End, last.Text = end, last.Text+s
			return
		}
		out = append(out, Span{start, end, s})
		open = true
	}
	k := 0
	// take consumes n bytes of the middle text, kept or dropped.
	take := func(n int, drop bool) {
		for n > 0 || !drop && k < len(mid) && len(mid[k].text) == 0 && !mid[k].kept {
			st := &mid[k]
			size := min(n, len(st.text))
			whole := size == len(st.text)
			piece := st.text[:size]
			if drop {
				piece = ""
			}
			switch {
			case st.kept && drop:
				add(st.start, st.start+size, "")
				st.start += size
			case st.kept:
				if size > 0 {
					open = false
				}
				st.start += size
			case whole:
				add(st.start, st.end, piece)
			default:
				add(st.start, st.start, piece)
			}
			st.text = st.text[size:]
			n -= size
			if whole {
				k++
			}
		}
	}
	at := 0
	here := func() int {
		if k < len(mid) {
			return mid[k].start
		}
		return len(text)
	}
	for _, s := range b {
		take(s.Start-at, false)
		take(s.End-s.Start, true)
		if s.Text != "" {
			add(here(), here(), s.Text)
		}
		at = s.End
	}
	rest := 0
	for _, st := range mid[k:] {
		rest += len(st.text)
	}
	take(rest, false)
	for k < len(mid) && !mid[k].kept {
		add(mid[k].start, mid[k].end, mid[k].text)
		k++
	}
	return tidy(text, out)
}

// tidy drops spans that change nothing and joins spans that touch.
func tidy(text string, spans []Span) []Span {
	out := spans[:0]
	for _, s := range spans {
		if n := len(out); n > 0 && out[n-1].End >= s.Start {
			out[n-1].End = max(out[n-1].End, s.End)
			out[n-1].Text += s.Text
			continue
		}
		out = append(out, s)
	}
	kept := out[:0]
	for _, s := range out {
		if text[s.Start:s.End] != s.Text {
			kept = append(kept, s)
		}
	}
	return kept
}
