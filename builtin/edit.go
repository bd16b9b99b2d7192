package builtin

import (
	"bytes"
	"context"
	_ "embed" // descriptions
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/agenttool/tool"
)

//go:embed edit.md
var editDescription string

type editInput struct {
	FilePath   string `json:"filePath" jsonschema:"file to change, relative to the project or absolute" alias:"file_path,path,file,filename,filepath"`
	OldString  string `json:"oldString" jsonschema:"text to replace" alias:"old_string,old_str,oldStr,old_text,oldText,old"`
	NewString  string `json:"newString" jsonschema:"text to put in its place" alias:"new_string,new_str,newStr,new_text,newText,new"`
	ReplaceAll bool   `json:"replaceAll,omitempty" jsonschema:"replace every occurrence" alias:"replace_all,all"`
}

func defineEdit(ts *Toolset) (operation, error) {
	return define(ts, tool.Def{
		Name: "edit", Title: "Edit", Description: strings.TrimSpace(editDescription),
		Hints:   tool.Hints{Destructive: true},
		Aliases: []string{"edit_file", "str_replace", "str_replace_editor", "str_replace_based_edit_tool", "replace"},
	}, ts.planEdit)
}

func (ts *Toolset) planEdit(ctx context.Context, call *tool.Call, in editInput) (*plan, error) {
	if in.OldString == in.NewString {
		return nil, errors.New("oldString and newString are the same; nothing would change")
	}
	l, err := ts.fsys.resolve(in.FilePath)
	if err != nil {
		return nil, err
	}
	c, err := ts.planReplace(ctx, call, l, in)
	return ts.planChange(l, "Edit ", c, err)
}

// planReplace is the plan of replacing text in a file.
func (ts *Toolset) planReplace(ctx context.Context, call *tool.Call, l location, in editInput) (*change, error) {
	if !l.exists() {
		if in.OldString == "" {
			return ts.planContent(ctx, call, l, in.NewString)
		}
		return nil, ts.missing(l)
	}
	c := &change{l: l}
	if err := ts.readBefore(ctx, c); err != nil {
		return c, err
	}
	if in.OldString == "" {
		if len(c.before) == 0 {
			return ts.planContent(ctx, call, l, in.NewString)
		}
		return c, fmt.Errorf("%s is not empty, so an empty oldString does not say where to put the text. Give text of the file, or use write to replace all of it", l.given)
	}
	if int64(len(in.NewString)) > ts.limits.FileBytes {
		return c, fmt.Errorf("newString has %d bytes, more than the %d that are taken", len(in.NewString), ts.limits.FileBytes)
	}
	if isBinary(c.before[:min(len(c.before), sniffLen)]) {
		return c, fmt.Errorf("%s is a binary file; edit changes text only", l.given)
	}
	known, ok := ts.seen.get(call.SessionID, l.abs)
	current := ok && known.is(c.before, c.info)
	v := viewOf(c.before)
	places, err := find(v, in, l, current)
	if err != nil {
		return c, err
	}
	if ok && !current {
		c.note = "The file had changed since it was read; the rest of it was left as it is now."
	}
	c.whole = current && known.whole()
	c.after = v.replace(places, lf(in.OldString), lf(in.NewString))
	if bytes.Equal(c.after, c.before) {
		return c, errors.New("oldString and newString differ in line endings only, and the file's are kept; nothing would change. Use bash to convert line endings")
	}
	if int64(len(c.after)) > ts.limits.FileBytes {
		return c, tooLarge(l.given, int64(len(c.after)), ts.limits.FileBytes)
	}
	c.report = reportEdit
	return c, nil
}

// lf gives text the line endings of a lineView.
func lf(s string) string { return strings.ReplaceAll(s, "\r\n", "\n") }

// maxListed is how many places an error or a result names.
const maxListed = 20

// find returns where the old text is: once, unless all are wanted. What it says
// about the file's content it says only if the session has read it.
func find(v *lineView, in editInput, l location, read bool) ([]int, error) {
	old := lf(in.OldString)
	var at []int
	for off := 0; off <= len(v.text)-len(old); {
		i := strings.Index(v.text[off:], old)
		if i < 0 {
			break
		}
		at = append(at, off+i)
		// Overlapping places make a single match ambiguous, but are not replaced twice.
		if in.ReplaceAll {
			off += i + len(old)
		} else {
			_, n := utf8.DecodeRuneInString(v.text[off+i:])
			off += i + n
		}
	}
	switch {
	case len(at) == 0:
		return nil, notFound(v, old, l, read)
	case len(at) > 1 && !in.ReplaceAll:
		return nil, fmt.Errorf("oldString was found %d times in %s, on lines %s; nothing was changed. Add lines around it so that it is unique, or set replaceAll", len(at), l.given, linesText(v.text, at))
	}
	return at, nil
}

func linesText(text string, at []int) string {
	var parts []string
	line, pos := 1, 0
	for i, off := range at {
		if i == maxListed {
			parts = append(parts, fmt.Sprintf("and %d more", len(at)-i))
			break
		}
		line += strings.Count(text[pos:off], "\n")
		pos = off
		parts = append(parts, fmt.Sprint(line))
	}
	return strings.Join(parts, ", ")
}

// notFound says where the old text almost is.
func notFound(v *lineView, old string, l location, read bool) error {
	msg := fmt.Sprintf("oldString was not found in %s; nothing was changed. ", l.given)
	line, text := nearest(v.text, old)
	switch {
	case !read:
		return errors.New(msg + "The file was not read in this session, or changed since; read it and copy the text exactly")
	case line == 0:
		return errors.New(msg + "No line of it is similar. Read the file again, or find the text with grep")
	}
	return fmt.Errorf("%sThe most similar place is line %d:\n%d\t%s\nCopy the text exactly, with its blanks and indentation, but without line numbers", msg, line, line, visible(cutLine(text, 300, 0)))
}

// nearest returns the line that is most like the first line of old that is not
// blank: equal but for blanks, else containing or contained. 0 means none.
func nearest(text, old string) (int, string) {
	want := ""
	for l := range strings.SplitSeq(old, "\n") {
		if want = squeeze(l); want != "" {
			break
		}
	}
	if want == "" {
		return 0, ""
	}
	best, bestScore, bestText := 0, 0, ""
	n := 0
	for l := range strings.SplitSeq(text, "\n") {
		n++
		have := squeeze(l)
		score := 0
		switch {
		case have == "":
		case have == want:
			score = 1000
		case strings.Contains(have, want), len(have) >= 8 && strings.Contains(want, have):
			score = 500
		default:
			score = common(have, want)
		}
		if score > bestScore {
			best, bestScore, bestText = n, score, l
		}
	}
	if bestScore < 50 {
		return 0, ""
	}
	return best, bestText
}

// common is the share of want, in percent, that the ends of have agree with.
func common(have, want string) int {
	p := 0
	for p < len(have) && p < len(want) && have[p] == want[p] {
		p++
	}
	s := 0
	for s < len(have)-p && s < len(want)-p && have[len(have)-1-s] == want[len(want)-1-s] {
		s++
	}
	return 100 * (p + s) / max(len(want), len(have))
}

// squeeze drops all blanks.
func squeeze(s string) string {
	return strings.Map(func(r rune) rune {
		if r == ' ' || r == '\t' || r == '\r' {
			return -1
		}
		return r
	}, s)
}

// replace puts new in the place of old at each offset. Only what differs between
// the two is written, so that lines of old that stay keep their own endings.
func (v *lineView) replace(places []int, old, new string) []byte {
	lead := 0
	for lead < len(old) && lead < len(new) && old[lead] == new[lead] {
		lead++
	}
	tail := 0
	for tail < len(old)-lead && tail < len(new)-lead && old[len(old)-1-tail] == new[len(new)-1-tail] {
		tail++
	}
	middle := new[lead : len(new)-tail]
	out := make([]byte, 0, len(v.raw)+len(places)*max(0, len(new)-len(old)))
	pos := 0
	for _, p := range places {
		from, to := p+lead, p+len(old)-tail
		start, end := v.at(from), v.at(to)
		out = append(out, v.raw[pos:start]...)
		text := middle
		if strings.Contains(text, "\n") {
			if eol := v.ending(from); eol != "\n" {
				text = strings.ReplaceAll(text, "\n", eol)
			}
		}
		out = append(out, text...)
		pos = end
	}
	return append(out, v.raw[pos:]...)
}

// Numbered lines that a result repeats, so that the file need not be read again.
const (
	maxContext  = 30
	contextEdge = 3
)

func reportEdit(c *change) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Edited %s (+%d -%d lines).", c.l.display, c.diff.additions, c.diff.deletions)
	if c.note != "" {
		b.WriteString(" " + c.note)
	}
	lines := splitLines(lf(clean(c.after)))
	shown, last := 0, 0
	for _, h := range c.diff.hunks {
		from, to := max(h.b0-contextEdge, last), min(h.b1+contextEdge, len(lines))
		if from > last && last > 0 {
			b.WriteString("\n…")
		}
		for i := from; i < to; i++ {
			if shown == maxContext {
				b.WriteString("\n…")
				return b.String()
			}
			fmt.Fprintf(&b, "\n%d\t%s", i+1, visible(cutLine(strings.TrimSuffix(lines[i], "\n"), 300, 0)))
			shown++
		}
		last = max(last, to)
	}
	return b.String()
}
