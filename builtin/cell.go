package builtin

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/agenttool/tool/internal/match"
	"github.com/agenttool/tool/internal/notebook"
)

// cellRef is a cell's id, or its number from 1.
type cellRef string

// JSONSchema says that a model may write the number as one.
func (cellRef) JSONSchema() any {
	return map[string]any{"type": []string{"string", "integer"}}
}

// UnmarshalJSON takes a string or a number.
func (c *cellRef) UnmarshalJSON(b []byte) error {
	var s string
	if json.Unmarshal(b, &s) == nil {
		*c = cellRef(s)
		return nil
	}
	var n json.Number
	if err := json.Unmarshal(b, &n); err != nil {
		return errors.New("cell must be an id or a number")
	}
	*c = cellRef(n.String())
	return nil
}

// planCell makes the change of a cell the change of the notebook.
func (ts *Toolset) planCell(c *change, in editInput) error {
	n, err := notebook.Parse(c.old.Text)
	if err != nil {
		return fmt.Errorf("%s: %w; leave out cell and edit it as text. Nothing was changed", oneLine(c.l.given), err)
	}
	if kind, ok := strings.CutPrefix(in.CellAction, "insert-"); ok {
		after := 0
		if in.Cell != "0" {
			if after, err = c.cell(n, in.Cell); err != nil {
				return err
			}
			after++
		}
		source := strings.TrimSuffix(lf(text(in.NewString)), "\n")
		c.view = cellView(after+1, source)
		return c.editNotebook([]notebook.Span{n.Insert(after, kind, source)})
	}
	i, err := c.cell(n, in.Cell)
	if err != nil {
		return err
	}
	ref := "cell " + strconv.Itoa(i+1)
	switch in.CellAction {
	case "delete":
		c.view = fmt.Sprintf("cell %d is gone; the cells behind it are numbered anew", i+1)
		return c.editNotebook([]notebook.Span{n.Delete(i)})
	case "clear-outputs":
		spans := n.ClearOutputs(i)
		if len(spans) == 0 {
			return fmt.Errorf("%s: %s has no outputs; nothing was changed", oneLine(c.l.given), ref)
		}
		c.view = ref + " has no outputs now"
		return c.editNotebook(spans)
	case "replace":
		source := strings.TrimSuffix(lf(text(in.NewString)), "\n")
		if source == n.Cells[i].Source {
			return fmt.Errorf("%s: %s says exactly that already; nothing was changed", oneLine(c.l.given), ref)
		}
		return c.editNotebook(ts.newSource(c, n, i, source))
	}
	if text(in.OldString) == "" {
		return errors.New("oldString is empty; to give the cell another text set cellAction to replace. Nothing was changed")
	}
	found, err := match.Find(n.Cells[i].Source, ts.matchEdit(in.edit()))
	if err != nil {
		return c.refuse(fmt.Errorf("%s: %w", ref, err))
	}
	if note := found.Note(); note != "" {
		c.notes = append(c.notes, ref+": "+note)
	}
	return c.editNotebook(ts.newSource(c, n, i, found.Apply(n.Cells[i].Source)))
}

// cell returns the index of a cell, from 0.
func (c *change) cell(n *notebook.Notebook, ref cellRef) (int, error) {
	i, err := n.Find(string(ref))
	if err != nil {
		return 0, fmt.Errorf("%s: %w; nothing was changed", oneLine(c.l.given), err)
	}
	return i, nil
}

// newSource is the change of a cell's text. Its outputs stay, which is noted, as
// they are those of the old text.
func (ts *Toolset) newSource(c *change, n *notebook.Notebook, i int, source string) []notebook.Span {
	if cell := n.Cells[i]; len(cell.Outputs) > 0 {
		c.notes = append(c.notes, fmt.Sprintf("cell %d keeps the outputs of its old text; cellAction clear-outputs removes them", i+1))
	}
	c.view = strings.TrimPrefix(c.view+"\n"+cellView(i+1, source), "\n")
	return []notebook.Span{n.SetSource(i, source)}
}

// cellView shows a cell as it is after a change.
func cellView(number int, source string) string {
	lines := strings.Split(source, "\n")
	var b strings.Builder
	fmt.Fprintf(&b, "cell %d now:", number)
	for i, l := range lines {
		if i == maxContext {
			b.WriteString("\n…")
			break
		}
		b.WriteString("\n" + visible(cutLine(l, 300)))
	}
	return b.String()
}

func (c *change) editNotebook(spans []notebook.Span) error {
	edits := make([]match.Span, len(spans))
	for i, s := range spans {
		edits[i] = match.Span{Start: s.Start, End: s.End, Text: s.New}
	}
	return c.edit(edits)
}

// lf makes every line end a newline.
func lf(s string) string { return strings.ReplaceAll(s, "\r\n", "\n") }
