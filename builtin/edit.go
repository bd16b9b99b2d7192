package builtin

import (
	"context"
	_ "embed" // descriptions
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/agenttool/tool"
	"github.com/agenttool/tool/internal/match"
	"github.com/agenttool/tool/internal/textfile"
	"github.com/agenttool/tool/schema"
)

//go:embed edit.md
var editDescription string

type editInput struct {
	FilePath      string  `json:"filePath" jsonschema:"file to change, relative to the project or absolute" alias:"file_path,path,file,filename,filepath"`
	OldString     *string `json:"oldString,omitempty" jsonschema:"text to replace" alias:"old_string,old_str,oldStr,old_text,oldText,old"`
	NewString     *string `json:"newString,omitempty" jsonschema:"text to put in its place" alias:"new_string,new_str,newStr,new_text,newText,new"`
	ReplaceAll    bool    `json:"replaceAll,omitempty" jsonschema:"replace every occurrence" alias:"replace_all,all"`
	ExpectedCount int     `json:"expectedCount,omitempty" jsonschema:"refuse unless there are this many occurrences" minimum:"1" alias:"expected_count,expected_replacements"`
	InsertLine    *int    `json:"insertLine,omitempty" jsonschema:"insert behind this line; 0: at the beginning" minimum:"0" alias:"insert_line"`
	StartLine     int     `json:"startLine,omitempty" jsonschema:"first line to replace" minimum:"1" alias:"start_line"`
	EndLine       int     `json:"endLine,omitempty" jsonschema:"last line to replace" minimum:"1" alias:"end_line"`
	Cell          cellRef `json:"cell,omitempty" jsonschema:"of a notebook: id or number of the cell" alias:"cell_id,cellId"`
	CellAction    string  `json:"cellAction,omitempty" jsonschema:"what to do with the cell if not edit its text; inserts go behind it (cell 0: in front)" enum:"replace,insert-code,insert-markdown,delete,clear-outputs" alias:"cell_action"`
	Undo          bool    `json:"undo,omitempty" jsonschema:"take back your last change of the file"`
}

func defineEdit(ts *Toolset) (operation, error) {
	return defineChange(ts, tool.Def{
		Name: "edit", Title: "Edit", Description: strings.TrimSpace(editDescription),
		Hints:   tool.Hints{Destructive: true},
		Aliases: []string{"edit_file", "str_replace", "str_replace_editor", "str_replace_based_edit_tool", "replace"},
	}, ts.planEdit)
}

func (ts *Toolset) planEdit(ctx context.Context, a *attempt, in editInput) (*plan, error) {
	if in.Undo {
		return ts.planUndo(ctx, a, in.FilePath)
	}
	if err := in.check(a.call); err != nil {
		return nil, err
	}
	l, note, err := ts.find(ctx, in.FilePath)
	if err != nil {
		return nil, err
	}
	p := &plan{}
	c, err := ts.planReplace(ctx, a, p, l, in)
	var cs *changes
	if err == nil {
		if cs = contentChanges(c); c.op == textfile.Update {
			cs.title, cs.report = "Edit "+oneLine(c.l.display), reportEdit
		}
		if note != "" {
			c.notes = append(c.notes, note)
		}
	}
	return ts.planChanges(ctx, a, p, []location{l}, cs, err)
}

// check refuses arguments that do not go together.
func (in *editInput) check(call *tool.Call) error {
	var missing []tool.Issue
	want := func(present bool, name, what string) {
		if !present {
			missing = append(missing, tool.Issue{Path: "/" + name, Keyword: "required", Want: what, Got: "nothing"})
		}
	}
	lines := in.InsertLine != nil || in.StartLine > 0 || in.EndLine > 0
	switch {
	case in.Cell == "" && in.CellAction != "":
		want(false, "cell", "id or number of a cell")
	case in.CellAction == "delete", in.CellAction == "clear-outputs":
	case in.CellAction != "":
		want(in.NewString != nil, "newString", "string")
	case lines && in.StartLine == 0 && in.EndLine > 0:
		want(false, "startLine", "integer >= 1")
	default:
		want(in.OldString != nil, "oldString", "string")
		want(in.NewString != nil, "newString", "string")
	}
	if len(missing) > 0 {
		return badInput("edit", call, &schema.Error{Issues: missing})
	}
	switch {
	case in.InsertLine != nil && in.StartLine > 0:
		return errors.New("give either insertLine, or startLine and endLine, not both; nothing was changed")
	case lines && in.Cell != "":
		return errors.New("line numbers and cell do not go together: inside a cell give oldString and newString; nothing was changed")
	case lines && (in.ReplaceAll || in.ExpectedCount > 0):
		return errors.New("line numbers name one place; leave out replaceAll and expectedCount. Nothing was changed")
	case in.StartLine > 0 && in.EndLine > 0 && in.EndLine < in.StartLine:
		return fmt.Errorf("endLine %d is before startLine %d; nothing was changed", in.EndLine, in.StartLine)
	}
	return nil
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// planReplace is the change that replaces text in a file.
func (ts *Toolset) planReplace(ctx context.Context, a *attempt, p *plan, l location, in editInput) (*change, error) {
	old, new := text(in.OldString), text(in.NewString)
	if !l.exists() {
		if old == "" && in.Cell == "" && in.InsertLine == nil && in.StartLine == 0 {
			return ts.planContent(ctx, a, p, l, writeInput{FilePath: in.FilePath, Content: new})
		}
		return nil, ts.missing(ctx, l)
	}
	c, err := ts.openFile(p, l)
	if err != nil {
		return nil, err
	}
	if l.info.Mode().IsRegular() && l.info.Size() > ts.limits.FileBytes {
		return c, ts.planLarge(ctx, a, c, in)
	}
	if err := ts.readFile(ctx, a.call.SessionID, c); err != nil {
		return nil, err
	}
	body, err := c.text()
	if err != nil {
		return nil, err
	}
	name := oneLine(l.given)
	if len(new) > int(ts.limits.FileBytes) {
		return nil, fmt.Errorf("newString has %d bytes, more than the %d that are taken", len(new), ts.limits.FileBytes)
	}
	switch {
	case in.Cell != "":
		return c, ts.planCell(c, in)
	case in.InsertLine != nil || in.StartLine > 0:
		found, err := findLines(body, in)
		if err != nil {
			return nil, c.refuse(err)
		}
		return c, ts.place(c, found, in)
	case old == "" && body == "":
		return c, c.edit([]match.Span{{Text: new}})
	case old == "":
		return nil, fmt.Errorf("%s is not empty, so an empty oldString does not say where newString goes; nothing was changed. Give text of the file as oldString, insert with insertLine, or replace everything with write", name)
	}
	found, err := match.Find(body, ts.matchEdit(in.edit()))
	if err != nil {
		const telling = 8 // bytes; less than that is in many files
		if whole := lf(strings.Trim(old, "\r\n")); len(whole) >= telling && errors.Is(err, match.ErrNotFound) {
			c.other = ts.memory.tracker.Holding(a.call.SessionID, whole, c.at)
		}
		return nil, c.refuse(err)
	}
	return c, ts.place(c, found, in)
}

// oneEdit is a replacement as edit and multiedit take it.
type oneEdit struct {
	old, new string
	all      bool
	expect   int
}

func (in *editInput) edit() oneEdit {
	return oneEdit{text(in.OldString), text(in.NewString), in.ReplaceAll, in.ExpectedCount}
}

func (ts *Toolset) matchEdit(e oneEdit) match.Edit {
	return match.Edit{Old: e.old, New: e.new, All: e.all, Expect: e.expect, AllowPlaceholders: ts.cfg.AllowPlaceholders}
}

// place makes what was found the change of the file, if the session may rely on it.
func (ts *Toolset) place(c *change, found *match.Plan, in editInput) error {
	if err := ts.checkSeen(c, found.Places, found.Level, found.Repaired, in.ExpectedCount > 0); err != nil {
		return err
	}
	c.places = found.Places
	if n := found.Note(); n != "" {
		c.notes = append(c.notes, n)
	}
	for i, s := range found.Slips {
		if i < 5 {
			c.notes = append(c.notes, fmt.Sprintf("line %d reads %q, not %q as in oldString", s.Line, clip(visible(strings.TrimSpace(s.Have)), 100), clip(visible(strings.TrimSpace(s.Want)), 100)))
		}
	}
	return c.edit(found.Spans)
}

// checkSeen refuses a match that the session cannot know to be the right one:
// lines that it was not shown may only be changed where exactly one place has
// exactly the text. Of a file that was never shown, text with other blanks will do
// too, unless the host wants it otherwise, but none with other words.
func (ts *Toolset) checkSeen(c *change, places []match.Place, level match.Level, repaired string, counted bool) error {
	exact := level == match.Exact && repaired == ""
	if exact && (len(places) == 1 || counted) {
		return nil
	}
	name := oneLine(c.l.given)
	if !c.known.shown {
		switch {
		case level == match.Slips || level == match.Ellipsis:
			return fmt.Errorf("%s: oldString is not in the file as it is given, and the file was not read in this session; nothing was changed. Read it and copy the text exactly", name)
		case ts.cfg.ReadFirst:
			return fmt.Errorf("%s was not read in this session, and oldString fits only %s; nothing was changed. Read the file and copy the text exactly", name, how(exact, level))
		}
		return nil
	}
	var unseen []textfile.LineRange
	wasThere := c.earlier()
	for _, p := range places {
		if p.Last < p.First {
			continue
		}
		if c.known.Fresh {
			unseen = append(unseen, c.known.Record.Unseen(p.First, p.Last)...)
		} else if !wasThere(p) {
			unseen = append(unseen, textfile.LineRange{First: p.First, Last: p.Last})
		}
	}
	if len(unseen) == 0 {
		return nil
	}
	if exact {
		return fmt.Errorf("%s: oldString is there %d times; of these lines %s were never shown to you, so nothing was changed. Read them, or confirm the number with expectedCount", name, len(places), rangesText(unseen))
	}
	return fmt.Errorf("%s: oldString fits lines %d-%d %s, but of these you were never shown %s in full as they are now, so nothing was changed. Read them (offset=%d) and copy the text exactly",
		name, places[0].First, places[0].Last, how(exact, level), rangesText(unseen), unseen[0].First)
}

func how(exact bool, level match.Level) string {
	if exact {
		return "several places"
	}
	if level == match.Exact {
		return "only after removing what does not belong to it"
	}
	return "only with " + level.String()
}

// earlier returns a function that reports whether the lines of a place are in the
// content that the session knows of a file that has changed since. It gives up
// after many places, which then count as unknown.
func (c *change) earlier() func(match.Place) bool {
	tries := 200
	var before *textfile.File
	var lines []string
	return func(p match.Place) bool {
		if c.known.Before == nil || c.old == nil || tries == 0 {
			return false
		}
		tries--
		if before == nil {
			var err error
			if before, err = textfile.Decode(c.known.Before, nil); err != nil {
				tries = 0
				return false
			}
			lines = splitLines(c.old.Text)
		}
		return strings.Contains(before.Text, strings.Join(lines[p.First-1:min(p.Last, len(lines))], ""))
	}
}

// findLines plans an edit by line numbers. oldString is the guard: what the line
// to insert behind says, or the first and last of those to replace.
func findLines(body string, in editInput) (*match.Plan, error) {
	guard := strings.Split(strings.TrimSuffix(strings.ReplaceAll(text(in.OldString), "\r\n", "\n"), "\n"), "\n")
	e := match.LineEdit{Text: text(in.NewString)}
	if in.InsertLine != nil {
		e.First, e.Last = *in.InsertLine+1, *in.InsertLine
		switch {
		case *in.InsertLine == 0:
			e.LastText = guard[0]
		case len(guard) == 2:
			e.FirstText, e.LastText = guard[0], guard[1]
		default:
			e.FirstText = guard[0]
		}
		return match.FindLines(body, e)
	}
	e.First, e.Last = in.StartLine, in.EndLine
	if e.Last == 0 {
		e.Last = e.First + max(len(guard), 1) - 1
	}
	e.FirstText, e.LastText = guard[0], guard[len(guard)-1]
	n := e.Last - e.First + 1
	if n > 1 && len(guard) == 1 && strings.TrimSpace(guard[0]) != "" {
		return nil, errors.New("oldString has one line, but several are to be replaced: give what the first and the last of them say now, or all of them")
	}
	t := match.NewText(body)
	if len(guard) == n { // given in full: then every line must be right
		for i, want := range guard {
			if k := e.First + i; k <= t.Len() && !sameWords(t.Line(k-1), want) {
				e.FirstText, e.LastText = want, want
				e.First, e.Last = k, k
				break
			}
		}
	}
	return t.FindLines(e)
}

func sameWords(a, b string) bool {
	return strings.Join(strings.Fields(a), " ") == strings.Join(strings.Fields(b), " ")
}

// Numbered lines that a result repeats, so that the file need not be read again.
const (
	maxContext  = 30
	contextEdge = 3
)

func reportEdit(cs *changes) string {
	c := cs.list[0]
	var b strings.Builder
	fmt.Fprintf(&b, "Edited %s", oneLine(c.l.display))
	c.writeEdit(&b)
	return b.String()
}

// writeEdit says what an edit changed, and shows the lines as they are now.
func (c *change) writeEdit(b *strings.Builder) {
	if n := len(c.places); n > 1 {
		const most = 20
		lines := make([]string, 0, most)
		for _, p := range c.places[:min(n, most)] {
			lines = append(lines, strconv.Itoa(p.NewFirst))
		}
		more := ""
		if n > most {
			more = " …"
		}
		fmt.Fprintf(b, ": %d places, at lines %s%s", n, strings.Join(lines, ", "), more)
	} else if n == 1 && c.places[0].NewLast > c.places[0].NewFirst {
		fmt.Fprintf(b, ": lines %d-%d", c.places[0].NewFirst, c.places[0].NewLast)
	} else if n == 1 && c.places[0].NewLast == c.places[0].NewFirst {
		fmt.Fprintf(b, ": line %d", c.places[0].NewFirst)
	}
	fmt.Fprintf(b, " (+%d -%d lines).", c.diff.Additions, c.diff.Deletions)
	if f := c.foreign(); f != "" {
		b.WriteString(" " + f + "\nYour edit was made on the file as it is now.")
	}
	c.writeNotes(b)
	if c.l.secret && !c.known.shown {
		return
	}
	c.writeContext(b)
}

// writeContext shows the changed lines and those around them.
func (c *change) writeContext(b *strings.Builder) {
	if c.view != "" {
		b.WriteString("\n" + c.view)
		return
	}
	lines := splitLines(c.newText)
	shown, last := 0, 0
	for _, h := range c.diff.Hunks {
		from, to := max(h.NewStart-1, last), min(h.NewStart-1+h.NewLines, len(lines))
		if h.NewLines == 0 {
			from, to = max(h.NewStart-contextEdge, last, 0), min(h.NewStart+contextEdge, len(lines))
		}
		if from > last && last > 0 {
			b.WriteString("\n…")
		}
		for i := from; i < to; i++ {
			if shown == maxContext {
				b.WriteString("\n…")
				return
			}
			fmt.Fprintf(b, "\n%d\t%s", i+1, visible(cutLine(strings.TrimSuffix(lines[i], "\n"), 300)))
			shown++
		}
		last = max(last, to)
	}
}
