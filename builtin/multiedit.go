package builtin

import (
	"context"
	_ "embed" // descriptions
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/agenttool/tool"
	"github.com/agenttool/tool/internal/match"
	"github.com/agenttool/tool/internal/notebook"
	"github.com/agenttool/tool/internal/textfile"
)

//go:embed multiedit.md
var multieditDescription string

type multieditInput struct {
	FilePath string     `json:"filePath,omitempty" jsonschema:"file to change, relative to the project or absolute" alias:"file_path,path,file,filename,filepath"`
	Edits    []listEdit `json:"edits" jsonschema:"edits, in order" minItems:"1" maxItems:"100" alias:"changes,replacements"`
}

type listEdit struct {
	FilePath      string  `json:"filePath,omitempty" jsonschema:"another file" alias:"file_path,path,file,filename,filepath"`
	OldString     string  `json:"oldString" jsonschema:"text to replace" alias:"old_string,old_str,oldStr,old_text,oldText,old"`
	NewString     string  `json:"newString" jsonschema:"text to put in its place" alias:"new_string,new_str,newStr,new_text,newText,new"`
	ReplaceAll    bool    `json:"replaceAll,omitempty" jsonschema:"replace every occurrence" alias:"replace_all,all"`
	ExpectedCount int     `json:"expectedCount,omitempty" jsonschema:"refuse unless there are this many occurrences" minimum:"1" alias:"expected_count,expected_replacements"`
	Cell          cellRef `json:"cell,omitempty" jsonschema:"of a notebook: id or number of the cell" alias:"cell_id,cellId"`
}

// maxEdits bounds the text of the edits of a call, in bytes.
const maxEdits = 1 << 20

func defineMultiedit(ts *Toolset) (operation, error) {
	return defineChange(ts, tool.Def{
		Name: "multiedit", Title: "Edit", Description: strings.TrimSpace(multieditDescription),
		Hints:   tool.Hints{Destructive: true},
		Aliases: []string{"multi_edit", "multi_str_replace", "batch_edit"},
	}, ts.planMultiedit)
}

// fileEdits are the edits of one file.
type fileEdits struct {
	l       location
	name    string
	numbers []int // of the edits in the call, from 1
	edits   []listEdit
	note    string
}

func (ts *Toolset) planMultiedit(ctx context.Context, a *attempt, in multieditInput) (*plan, error) {
	files, err := ts.editsByFile(ctx, in)
	if err != nil {
		return nil, err
	}
	p := &plan{}
	cs := &changes{title: fmt.Sprintf("Make %s", plural(len(in.Edits), "edit")), report: reportMultiedit}
	var places []location
	var refusals []error
	for _, f := range files {
		places = append(places, f.l)
		c, err := ts.planEdits(ctx, a, p, f)
		if err != nil {
			refusals = append(refusals, f.refusal(err, len(files) > 1))
			continue
		}
		if f.note != "" {
			c.notes = append(c.notes, f.note)
		}
		cs.list = append(cs.list, c)
	}
	if err := joinRefusals(refusals, len(files)); err != nil {
		return ts.planChanges(ctx, a, p, places, nil, err)
	}
	if len(cs.list) == 1 {
		cs.title += " in " + oneLine(cs.list[0].l.display)
	} else {
		cs.title += fmt.Sprintf(" in %d files", len(cs.list))
	}
	return ts.planChanges(ctx, a, p, places, cs, nil)
}

// editsByFile groups the edits by the file that their names lead to.
func (ts *Toolset) editsByFile(ctx context.Context, in multieditInput) ([]*fileEdits, error) {
	var files []*fileEdits
	size := 0
	for i, e := range in.Edits {
		if size += len(e.OldString) + len(e.NewString); size > maxEdits {
			return nil, fmt.Errorf("the edits have more than %d bytes of text; send fewer in a call. Nothing was changed", maxEdits)
		}
		name := e.FilePath
		if name == "" {
			name = in.FilePath
		}
		if name == "" {
			return nil, fmt.Errorf("edit %d has no filePath, and the call has none either; nothing was changed", i+1)
		}
		var f *fileEdits
		if k := slices.IndexFunc(files, func(f *fileEdits) bool { return f.name == name }); k >= 0 {
			f = files[k]
		} else {
			l, note, err := ts.find(ctx, name)
			if err != nil {
				return nil, err
			}
			if k := slices.IndexFunc(files, func(f *fileEdits) bool { return f.l.Key() == l.Key() }); k >= 0 {
				f = files[k]
			} else {
				f = &fileEdits{l: l, name: name, note: note}
				files = append(files, f)
			}
		}
		f.edits, f.numbers = append(f.edits, e), append(f.numbers, i+1)
	}
	return files, nil
}

// refusal says which edits an error is about, if that is not clear by itself.
func (f *fileEdits) refusal(err error, several bool) error {
	if !several {
		return err
	}
	numbers := make([]string, len(f.numbers))
	for i, n := range f.numbers {
		numbers[i] = strconv.Itoa(n)
	}
	prefix := fmt.Sprintf("Of the call's edits number %s, for %s: ", strings.Join(numbers, ", "), oneLine(f.name))
	var s *shownError
	if errors.As(err, &s) {
		return &shownError{err: &toldError{prefix + s.err.Error(), s.err}, plain: &toldError{prefix + s.plain.Error(), s.plain}, places: s.places}
	}
	return &toldError{prefix + err.Error(), err}
}

// joinRefusals makes one error of the refusals for several files.
func joinRefusals(list []error, files int) error {
	switch {
	case len(list) == 0:
		return nil
	case len(list) == 1 && files == 1:
		return list[0]
	}
	joined := &shownError{}
	var full, plain []string
	for _, err := range list {
		full = append(full, err.Error())
		var s *shownError
		if errors.As(err, &s) {
			plain = append(plain, s.plain.Error())
			joined.places = append(joined.places, s.places...)
			continue
		}
		plain = append(plain, err.Error())
	}
	const end = "\nNothing was changed in any file."
	joined.err = &toldError{strings.Join(full, "\n") + end, errors.Join(list...)}
	joined.plain = &toldError{strings.Join(plain, "\n") + end, nil}
	if len(joined.places) == 0 {
		return joined.err
	}
	return joined
}

// planEdits is the change that the edits make of one file.
func (ts *Toolset) planEdits(ctx context.Context, a *attempt, p *plan, f *fileEdits) (*change, error) {
	edits := make([]match.Edit, len(f.edits))
	cells := 0
	for i, e := range f.edits {
		edits[i] = ts.matchEdit(oneEdit{e.OldString, e.NewString, e.ReplaceAll, e.ExpectedCount})
		if e.Cell != "" {
			cells++
		}
	}
	first := f.edits[0]
	creates := first.OldString == "" && cells == 0
	if !f.l.exists() {
		if !creates {
			return nil, ts.missing(ctx, f.l)
		}
		seq, err := match.FindAll(first.NewString, edits[1:])
		if err != nil {
			return nil, fmt.Errorf("%s, as the first edit creates it: %w", oneLine(f.name), err)
		}
		return ts.planContent(ctx, a, p, f.l, writeInput{FilePath: f.name, Content: seq.Text})
	}
	c, err := ts.openFile(p, f.l)
	if err != nil {
		return nil, err
	}
	if err := ts.readFile(ctx, a.call.SessionID, c); err != nil {
		return nil, err
	}
	body, err := c.text()
	switch {
	case err != nil:
		return nil, err
	case cells > 0 && cells < len(edits):
		return nil, fmt.Errorf("%s: some edits name a cell and some do not; nothing was changed", oneLine(f.name))
	case cells > 0:
		return c, ts.planCells(c, f, edits)
	case creates && body == "":
		seq, err := match.FindAll(first.NewString, edits[1:])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", oneLine(f.name), err)
		}
		return c, c.edit([]match.Span{{Text: seq.Text}})
	}
	seq, err := match.FindAll(body, edits)
	if err != nil {
		return nil, c.refuse(err)
	}
	if err := ts.checkSequence(c, seq); err != nil {
		return nil, err
	}
	if len(seq.Spans) == 0 {
		return nil, fmt.Errorf("%s: taken together the edits change nothing", oneLine(f.name))
	}
	c.noteSequence(seq, f.numbers, "")
	return c, c.edit(seq.Spans)
}

// checkSequence holds the edits of a sequence to what the session was shown. Lines
// that an earlier edit wrote are known.
func (ts *Toolset) checkSequence(c *change, seq *match.Sequence) error {
	current := c.old.Text
	written := make(map[string]bool)
	for _, o := range seq.Outcomes {
		if o.Plan == nil {
			continue
		}
		exact := o.Plan.Level == match.Exact && o.Plan.Repaired == ""
		if !exact || len(o.Plan.Places) > 1 {
			var places []match.Place
			lines := splitLines(current)
			for _, at := range o.Plan.Places {
				if k := c.before(lines, at, written); k.Last >= k.First {
					places = append(places, k)
				}
			}
			if len(places) > 0 {
				if err := ts.checkSeen(c, places, o.Plan.Level, o.Plan.Repaired, false); err != nil {
					return err
				}
			}
		}
		current = o.Plan.Apply(current)
		for _, s := range o.Plan.Spans {
			for _, l := range splitLines(s.Text) {
				written[strings.TrimSpace(l)] = true
			}
		}
	}
	return nil
}

// before returns where the lines of a place are in the file as it is: without those
// that an earlier edit wrote, and nowhere if none is left.
func (c *change) before(lines []string, at match.Place, written map[string]bool) match.Place {
	first, last := at.First, min(at.Last, len(lines))
	for first <= last && written[strings.TrimSpace(lines[first-1])] {
		first++
	}
	for last >= first && written[strings.TrimSpace(lines[last-1])] {
		last--
	}
	if first > last {
		return match.Place{First: 1, Last: 0}
	}
	region := strings.Join(lines[first-1:last], "")
	i := strings.Index(c.old.Text, region)
	if i < 0 {
		return match.Place{First: first, Last: last}
	}
	from := 1 + strings.Count(c.old.Text[:i], "\n")
	return match.Place{First: from, Last: from + last - first}
}

// noteSequence notes how the edits of a sequence were matched.
func (c *change) noteSequence(seq *match.Sequence, numbers []int, where string) {
	for i, o := range seq.Outcomes {
		switch {
		case o.Status == match.Redundant:
			c.notes = append(c.notes, fmt.Sprintf("edit %d is the same as edit %d and was left out", numbers[i], numbers[o.After-1]))
		case o.Plan != nil && o.Plan.Note() != "":
			c.notes = append(c.notes, fmt.Sprintf("edit %d%s %s", numbers[i], where, o.Plan.Note()))
		}
	}
}

// planCells is planEdits for edits of cells of a notebook.
func (ts *Toolset) planCells(c *change, f *fileEdits, edits []match.Edit) error {
	n, err := notebook.Parse(c.old.Text)
	if err != nil {
		return fmt.Errorf("%s: %w; leave out cell and edit it as text. Nothing was changed", oneLine(f.name), err)
	}
	byCell := make(map[int][]int) // cell to indices of edits
	var order []int
	for i, e := range f.edits {
		at, err := c.cell(n, e.Cell)
		if err != nil {
			return err
		}
		if byCell[at] == nil {
			order = append(order, at)
		}
		byCell[at] = append(byCell[at], i)
	}
	slices.Sort(order)
	var spans []notebook.Span
	for _, at := range order {
		var list []match.Edit
		var numbers []int
		for _, i := range byCell[at] {
			list, numbers = append(list, edits[i]), append(numbers, f.numbers[i])
		}
		seq, err := match.FindAll(n.Cells[at].Source, list)
		if err != nil {
			return c.refuse(fmt.Errorf("cell %d: %w", at+1, err))
		}
		c.noteSequence(seq, numbers, fmt.Sprintf(", cell %d,", at+1))
		spans = append(spans, ts.newSource(c, n, at, seq.Text)...)
	}
	return c.editNotebook(spans)
}

func reportMultiedit(cs *changes) string {
	var b strings.Builder
	for i, c := range cs.list {
		if i > 0 {
			b.WriteString("\n")
		}
		if c.op == textfile.Create {
			b.WriteString(reportWrite(&changes{list: []*change{c}}))
			continue
		}
		fmt.Fprintf(&b, "Edited %s", oneLine(c.l.display))
		c.writeEdit(&b)
	}
	return b.String()
}
