package builtin

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/agenttool/tool/internal/diff"
	"github.com/agenttool/tool/internal/match"
	"github.com/agenttool/tool/internal/textfile"
)

const (
	largePlaces = 100_000  // that one edit of a large file replaces
	largeShown  = 20       // of them in its diff
	largeAround = 4 << 10  // bytes read around a place for the diff
	largeText   = 64 << 10 // bytes of oldString; more is not looked for in a file that is not held
)

// planLarge is the change that replaces exact text in a file that is too large to
// be held: it is read and written in pieces. Nothing is matched leniently.
func (ts *Toolset) planLarge(ctx context.Context, a *attempt, c *change, in editInput) error {
	name := oneLine(c.l.given)
	size := c.l.info.Size()
	old, new := text(in.OldString), text(in.NewString)
	switch {
	case in.Cell != "" || in.InsertLine != nil || in.StartLine > 0 || old == "":
		return fmt.Errorf("%s has %d bytes; in files over %d only text that is there exactly can be replaced: give it as oldString, with the new text as newString. Nothing was changed", name, size, ts.limits.FileBytes)
	case len(old) > largeText || len(new) > ts.limits.WriteBytes:
		return fmt.Errorf("%s has %d bytes; in files over %d oldString may have %d bytes at most, and newString %d. Nothing was changed", name, size, ts.limits.FileBytes, largeText, ts.limits.WriteBytes)
	case old == new:
		return fmt.Errorf("%s: oldString and newString are the same; nothing was changed", name)
	}
	found, old, new, err := ts.findLarge(ctx, c, in.ReplaceAll, old, new)
	if err != nil {
		return readError(c.l, err)
	}
	head := trimRune(found.Head)
	switch {
	case textfile.Sniff(head) != "" && !strings.HasPrefix(textfile.Sniff(head), "text/"), bytes.IndexByte(head, 0) >= 0:
		return fmt.Errorf("%s is a binary file; it can only be changed with a command", name)
	case !utf8.Valid(head) && strings.ContainsFunc(old+new, func(r rune) bool { return r >= utf8.RuneSelf }):
		return fmt.Errorf("%s is not stored as UTF-8, and has %d bytes; in such a file only plain ASCII text can be replaced. Nothing was changed", name, size)
	}
	c.state = found.State
	c.known = ts.memory.check(a.call.SessionID, c.l, c.state)
	for _, f := range found.Found {
		c.places = append(c.places, match.Place{First: f.First, Last: f.Last})
		c.splices = append(c.splices, textfile.Splice{Start: f.Offset, End: f.Offset + int64(len(old)), New: []byte(new)})
	}
	n := len(found.Found)
	switch {
	case n == 0:
		return fmt.Errorf("%s: oldString was not found. The file has %d bytes, so only text that is there exactly is replaced: read the place (offset) and copy it. Nothing was changed", name, size)
	case found.More && in.ReplaceAll:
		return fmt.Errorf("%s: oldString is there more than %d times; use a command, such as sed. Nothing was changed", name, largePlaces)
	case in.ExpectedCount > 0 && (n != in.ExpectedCount || found.More):
		return fmt.Errorf("%s: oldString is there %s, but %d were expected: %s. Nothing was changed", name, atLeast(n, found.More), in.ExpectedCount, placesText(c.places))
	case n > 1 && !in.ReplaceAll && in.ExpectedCount <= 1:
		return fmt.Errorf("%s: oldString matches %s: %s. Add lines around it until it fits one place only, or set replaceAll. Nothing was changed", name, atLeast(n, found.More), placesText(c.places))
	}
	if err := ts.checkSeen(c, c.places, match.Exact, "", in.ExpectedCount > 0); err != nil {
		return err
	}
	return ts.compareLarge(c)
}

// findLarge looks for the text as it is, or else with the line ends of Windows.
func (ts *Toolset) findLarge(ctx context.Context, c *change, all bool, old, new string) (found *textfile.Search, o, n string, err error) {
	most := largeShown
	if all {
		most = largePlaces
	}
	err = atRest(ctx, func() (err error) {
		found, err = textfile.FindBytes(ctx, ts.fsys.root, c.at, []byte(old), all, most)
		return err
	})
	windows := func(s string) string { return strings.ReplaceAll(lf(s), "\n", "\r\n") }
	if err != nil || len(found.Found) > 0 || !bytes.Contains(found.Head, []byte("\r\n")) || windows(old) == old {
		if err == nil && bytes.Contains(found.Head, []byte("\r\n")) && !bytes.Contains(bytes.ReplaceAll(found.Head, []byte("\r\n"), nil), []byte("\n")) {
			new = windows(new) // all of its lines end so
		}
		return found, old, new, err
	}
	old, new = windows(old), windows(new)
	err = atRest(ctx, func() (err error) {
		found, err = textfile.FindBytes(ctx, ts.fsys.root, c.at, []byte(old), all, most)
		return err
	})
	return found, old, new, err
}

// compareLarge computes the diff of the places, from what is around them, and
// where they are in the result.
func (ts *Toolset) compareLarge(c *change) error {
	c.diff = &diff.Diff{}
	shift, last := 0, int64(0)
	for i := range c.splices {
		s := &c.splices[i]
		p := &c.places[i]
		p.NewFirst, p.NewLast = p.First+shift, p.First+shift+bytes.Count(bytes.TrimSuffix(s.New, []byte{'\n'}), []byte{'\n'})
		if i < largeShown {
			hunks, to, err := ts.around(c, i, last, shift)
			if err != nil {
				return err
			}
			c.diff.Hunks, last = append(c.diff.Hunks, hunks...), to
		}
		shift += (p.NewLast - p.NewFirst) - (p.Last - p.First)
		c.diff.Deletions += p.Last - p.First + 1
		c.diff.Additions += p.NewLast - p.NewFirst + 1
	}
	c.unified = c.diff.Unified("a/"+c.l.display, "b/"+c.l.display)
	if n := len(c.splices) - largeShown; n > 0 {
		c.notes = append(c.notes, fmt.Sprintf("the diff shows the first %d places; %d more are replaced in the same way", largeShown, n))
	}
	c.notes = append(c.notes, "the file is too large for undo")
	c.view = visible(strings.TrimRight(c.diff.Compact(maxContext), "\n"))
	return nil
}

// around is the diff of one place: of the lines that it touches, or of a stretch
// of them where they are very long, with the lines around it as far as no other
// place is shown with them. to is how far it goes.
func (ts *Toolset) around(c *change, i int, from int64, shift int) (hunks []diff.Hunk, to int64, err error) {
	s := c.splices[i]
	start := max(from, s.Start-largeAround, 0)
	end := s.End + largeAround
	if i+1 < len(c.splices) {
		end = min(end, c.splices[i+1].Start)
	}
	raw, err := textfile.ReadSpan(ts.fsys.root, c.at, start, end)
	if err != nil {
		return nil, 0, readError(c.l, err)
	}
	before, rest := raw[:s.Start-start], raw[min(int64(len(raw)), s.End-start):]
	if k := bytes.IndexByte(before, '\n'); k >= 0 && start > 0 {
		before = before[k+1:]
	} else if start > 0 {
		before = nil
	}
	if k := bytes.LastIndexByte(rest, '\n'); k >= 0 {
		rest = rest[:k+1]
	}
	middle := raw[s.Start-start : min(int64(len(raw)), s.End-start)]
	first := c.places[i].First - bytes.Count(before, []byte{'\n'})
	join := func(m []byte) string { return clean(bytes.Join([][]byte{before, m, rest}, nil)) }
	d := diff.Compute(join(middle), join(s.New), &diff.Options{Timeout: diffLimit})
	for _, h := range d.Hunks {
		h.OldStart += first - 1
		h.NewStart += first - 1 + shift
		hunks = append(hunks, h)
	}
	return hunks, s.End + int64(len(rest)), nil
}

// trimRune drops a character that is cut off at the end.
func trimRune(b []byte) []byte {
	for n := 1; n < utf8.UTFMax && n <= len(b); n++ {
		if r, size := utf8.DecodeLastRune(b[:len(b)-n]); r != utf8.RuneError || size != 1 {
			if !utf8.FullRune(b[len(b)-n:]) {
				return b[:len(b)-n]
			}
			break
		}
	}
	return b
}

func atLeast(n int, more bool) string {
	if more {
		return fmt.Sprintf("more than %d places", n)
	}
	return plural(n, "place")
}

// placesText lists the lines where places begin.
func placesText(list []match.Place) string {
	var lines []textfile.LineRange
	for _, p := range list[:min(len(list), largeShown)] {
		lines = append(lines, textfile.LineRange{First: p.First, Last: p.First})
	}
	return "lines " + rangesText(lines)
}

// errTooLarge says which tool takes on a file that others do not.
func errTooLarge(c *change, err error) error {
	var e *textfile.TooLargeError
	if !errors.As(err, &e) {
		return err
	}
	return fmt.Errorf("%s has %d bytes, more than the %d that are taken on here; nothing was changed. edit replaces exact text in files of any size", oneLine(c.l.given), e.Size, e.Limit)
}
