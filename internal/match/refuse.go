package match

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Why an edit was refused. Every error of this package is an [*Error] that
// wraps exactly one of these.
var (
	ErrBlank       = errors.New("blank old text")
	ErrUnchanged   = errors.New("nothing to change")
	ErrPlaceholder = errors.New("placeholder instead of code")
	ErrNotFound    = errors.New("old text not found")
	ErrAmbiguous   = errors.New("old text found more than once")
	ErrCount       = errors.New("unexpected number of places")
	ErrApplied     = errors.New("already applied")
	ErrProportion  = errors.New("match much larger than the old text")
	ErrGuard       = errors.New("line guard does not hold")
	ErrIndentation = errors.New("unclear indentation")
)

// An Error says why an edit was refused and what to do about it. Its text is
// meant for the model that asked for the edit: at most forty lines, blanks made
// visible where they matter.
type Error struct {
	// Reason is one of this package's sentinels.
	Reason error

	// Lines are the first lines of the places concerned, counted from 1: all
	// places of an ambiguous edit up to twenty, the start of the nearest block
	// of one that was not found.
	Lines []int

	// Near is the nearest block of an edit that was not found, nil if nothing
	// comes near.
	Near *Near

	message string
}

func (e *Error) Error() string { return e.message }

// Unwrap returns the Reason.
func (e *Error) Unwrap() error { return e.Reason }

func refuseBlank(old string) error {
	what := "oldString is empty"
	if old != "" {
		what = "oldString has only blanks"
	}
	return &Error{Reason: ErrBlank, message: what + ", so there is no place to find. Give the lines that are to change, " +
		"or write the whole file instead."}
}

func (f *finder) refuseUnchanged() error {
	at := strings.Index(f.text.normal(), f.old)
	if at < 0 {
		return &Error{Reason: ErrUnchanged, message: "oldString and newString are the same, and the file does not contain it. " +
			"Read the file and give the text as it is now and as it should become."}
	}
	line := 1 + strings.Count(f.text.normal()[:at], "\n")
	return &Error{Reason: ErrUnchanged, Lines: []int{line}, message: fmt.Sprintf("oldString and newString are the same: nothing to change. "+
		"The text is in the file at line %d already.", line)}
}

func refuseSame(l Level) error {
	msg := "the edit changes nothing: the file has the text of newString already"
	if l != Exact {
		msg += " (" + l.String() + ")"
	}
	return &Error{Reason: ErrUnchanged, message: msg + "."}
}

func refusePlaceholder(line string) error {
	return &Error{Reason: ErrPlaceholder, message: "newString has a line that stands for code left out: " + quote(clip(line, 80)) +
		". It would be written to the file as it is, and the code it stands for would be lost. " +
		"Give the complete new text, or make oldString smaller so that only the changed lines are in it."}
}

func refuseEllipsis(why string) error {
	return &Error{Reason: ErrNotFound, message: why + ". Give the lines in full instead of an ellipsis, or make one edit for each stretch."}
}

func (f *finder) refuseWide(p *place, lines int) error {
	return &Error{Reason: ErrProportion, Lines: []int{p.first + 1}, message: fmt.Sprintf(
		"oldString has %d lines, but with blank lines ignored it matches lines %d-%d, which are %d. Copy the lines exactly as they are in the file.",
		lines, p.first+1, p.last+1, p.last-p.first+1)}
}

// refuseUnclear is the refusal for new lines whose depth cannot be told.
func (f *finder) refuseUnclear(p *place) error {
	return &Error{Reason: ErrIndentation, Lines: []int{p.first + 1}, message: fmt.Sprintf(
		"oldString matches lines %d-%d with other indentation, and how the new lines are to be indented there is not clear. Copy the lines with the indentation that they have in the file, and indent newString the same way.",
		p.first+1, p.last+1)}
}

// refuseMany is the refusal for more places than one, or than expected.
func (f *finder) refuseMany(v *variant, l Level, at []lineRange) error {
	e := &Error{Reason: ErrAmbiguous}
	for _, r := range at[:min(len(at), listMax)] {
		e.Lines = append(e.Lines, r.first+1)
	}
	var b strings.Builder
	n := strconv.Itoa(len(at))
	if !f.all() && len(at) > listMax {
		n = "more than " + strconv.Itoa(listMax)
	}
	with := ""
	if l != Exact {
		with = " (" + l.String() + ")"
	}
	if f.miscounted(len(at)) && (f.all() || f.edit.Expect == 1 && f.edit.All) {
		e.Reason = ErrCount
		places := " places"
		if len(at) == 1 {
			places = " place"
		}
		fmt.Fprintf(&b, "oldString matches %s%s%s, but %d were expected: %s.\n", n, places, with, f.edit.Expect, lineList(at))
		b.WriteString("Check which of them you mean, or correct the expected number.")
		e.message = b.String()
		return e
	}
	fmt.Fprintf(&b, "oldString matches %s places%s: %s.\n", n, with, lineList(at))
	b.WriteString("Add lines around it until it fits one place only")
	extras := f.text.extraLines(at[:min(len(at), listMax)])
	if len(extras) > 0 {
		b.WriteString(", for example:\n")
		for _, x := range extras {
			b.WriteString(x)
			b.WriteByte('\n')
		}
		b.WriteString("Or set replaceAll to change every place.")
	} else {
		b.WriteString(", or set replaceAll to change every place.")
	}
	e.message = b.String()
	return e
}

// extraLines gives for every place the nearest line, before or after it, that no
// other place has at the same distance.
func (t *Text) extraLines(at []lineRange) []string {
	const reach = 40
	out := make([]string, 0, len(at))
	found := make([]string, len(at))
	near := func(r lineRange, d int) (int, string) {
		i := r.first + d
		if d > 0 {
			i = r.last + d
		}
		if i < 0 || i >= t.Len() {
			return -1, ""
		}
		return i, strings.TrimSpace(t.Line(i))
	}
	left := len(at)
	for k := 1; k <= reach && left > 0; k++ {
		for _, d := range [...]int{-k, k} {
			count := map[string]int{}
			for _, r := range at {
				_, s := near(r, d)
				count[s]++
			}
			for n, r := range at {
				if found[n] != "" {
					continue
				}
				if i, s := near(r, d); i >= 0 && s != "" && count[s] == 1 {
					side := "before it"
					if d > 0 {
						side = "after it"
					}
					found[n] = fmt.Sprintf("  line %d: %s line %d: %s", r.first+1, side, i+1, clip(visible(s), 90))
					left--
				}
			}
		}
	}
	for _, s := range found {
		if s != "" {
			out = append(out, s)
		}
	}
	return out
}

func lineList(at []lineRange) string {
	var b strings.Builder
	b.WriteString("lines ")
	for i, r := range at {
		if i == listMax {
			b.WriteString(" …")
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(strconv.Itoa(r.first + 1))
	}
	return b.String()
}

func placeList(places []Place) string {
	if len(places) == 1 {
		p := places[0]
		if p.First == p.Last {
			return "line " + strconv.Itoa(p.First)
		}
		return "lines " + strconv.Itoa(p.First) + "-" + strconv.Itoa(p.Last)
	}
	at := make([]lineRange, len(places))
	for i, p := range places {
		at[i] = lineRange{p.First - 1, p.Last - 1}
	}
	return lineList(at)
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

func quote(s string) string { return "“" + s + "”" }

// clip shortens s to about n runes.
func clip(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	i := 0
	for k := range s {
		if i == n {
			return s[:k] + "…"
		}
		i++
	}
	return s
}

// visible shows blanks that cannot be told apart by eye: tabs, blanks at the
// end, and characters that print as nothing or as a blank.
func visible(s string) string {
	end := len(strings.TrimRight(s, " \t"))
	var b strings.Builder
	for i, r := range s {
		switch {
		case r == '\t':
			b.WriteString("→")
		case r == ' ' && i >= end:
			b.WriteString("·")
		case r == '\r':
			b.WriteString("␍")
		case r == utf8.RuneError:
			b.WriteString("�")
		case r < ' ' || r == 0x7f || r > 0x7f && (isTypographic(r) && isInvisible(r)) || 0x202a <= r && r <= 0x202e || 0x2066 <= r && r <= 0x2069:
			fmt.Fprintf(&b, "<U+%04X>", r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

func isInvisible(r rune) bool {
	plain, _ := plainRune(r)
	return plain == "" || plain == " "
}
