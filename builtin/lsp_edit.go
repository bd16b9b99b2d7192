package builtin

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/agenttool/tool"
	"github.com/agenttool/tool/internal/lsp"
	"github.com/agenttool/tool/internal/match"
	"github.com/agenttool/tool/internal/textfile"
)

// serverEdits are what a server wants done, between the plans of one call.
type serverEdits struct {
	begun bool // the question whether the server may be asked was planned
	have  bool
	list  []LSPFileEdit
	note  string
}

// errServerStale says that a file is not what the server's edits are for.
var errServerStale = errors.New("the files changed while the server worked; nothing was changed. Try again")

// planEdits plans a rename or a code action. The server is asked only after the
// question for the permission lsp was answered, so the first plan ends with that
// question and the second has what the server wants; and it is never asked under
// locks. What it wants is done like a patch: all of it or nothing.
func (c *lspCall) planEdits(ctx context.Context, a *attempt, p *plan) (*plan, error) {
	ts := c.ts
	switch {
	case a.dry:
		// Which files there are more, only the server knows.
		p.asks = append(p.asks, ask{req: pathRequest("edit", c.title(), c.l.display, c.l.protected)})
		return p, nil
	case !a.server.begun:
		a.server.begun = true
		return p, nil
	}
	if !a.server.have {
		if a.locked {
			p.again = true
			return p, nil
		}
		if err := c.fetch(ctx, a); err != nil {
			return nil, err
		}
	}
	c.note = a.server.note
	mine := p.asks
	q := &plan{}
	cs, places, err := c.changes(ctx, a, q)
	if errors.Is(err, errServerStale) {
		q.release()
		a.server.have = false
		if a.locked {
			p.again = true
			return p, nil
		}
		if err = c.fetch(ctx, a); err == nil {
			q = &plan{}
			cs, places, err = c.changes(ctx, a, q)
		}
	}
	if err != nil {
		q.release()
		return nil, err
	}
	if len(cs.list) == 0 {
		q.release()
		p.apply = func(context.Context, *tool.Call) (*outcome, error) {
			return &outcome{result: &tool.Result{Title: c.title(), Text: "The server wants nothing changed.", Metadata: map[string]any{
				"operation": string(c.op), "diff": "", "unchanged": true, "diagnostics": map[string]any{},
			}}}, nil
		}
		return p, nil
	}
	q, err = ts.planChanges(ctx, a, q, places, cs, nil)
	if err != nil {
		return nil, err
	}
	q.asks = append(mine, q.asks...)
	apply := q.apply
	q.apply = func(ctx context.Context, call *tool.Call) (*outcome, error) {
		out, err := apply(ctx, call)
		if out != nil {
			out.result.Metadata["operation"] = string(c.op)
		}
		return out, err
	}
	return q, nil
}

// fetch asks the server what it wants done.
func (c *lspCall) fetch(ctx context.Context, a *attempt) error {
	c.note = ""
	answer, err := c.ask(ctx)
	if err != nil {
		return err
	}
	a.server.have, a.server.list, a.server.note = true, answer.Edits, c.note
	return nil
}

// changes turns what the server wants into changes of files.
func (c *lspCall) changes(ctx context.Context, a *attempt, p *plan) (*changes, []location, error) {
	cs := &changes{}
	var places []location
	spots := 0
	for _, e := range a.server.list {
		ch, where, err := c.change(ctx, a, p, e)
		if err != nil {
			return nil, nil, err
		}
		if ch == nil {
			continue
		}
		spots += len(ch.spans)
		cs.list, places = append(cs.list, ch), append(places, where...)
	}
	what := "Rename to " + oneLine(clip(strings.TrimSpace(c.in.NewName), 100))
	if c.op == LSPCodeActions {
		what = oneLine(clip(c.in.Action, 200))
	}
	cs.title = fmt.Sprintf("%s, in %s", what, plural(len(cs.list), "file"))
	note := c.note
	cs.report = func(cs *changes) string {
		var b strings.Builder
		if note != "" {
			fmt.Fprintf(&b, "(%s)\n", visible(note))
		}
		fmt.Fprintf(&b, "%s: %s in %s", what, plural(spots, "place"), plural(len(cs.list), "file"))
		for _, ch := range cs.list {
			name := oneLine(ch.l.display)
			switch ch.op {
			case textfile.Create:
				fmt.Fprintf(&b, "\nA %s (%s)", name, plural(countLines(ch.newText), "line"))
			case textfile.Delete:
				fmt.Fprintf(&b, "\nD %s", name)
			case textfile.Move:
				fmt.Fprintf(&b, "\nM %s (moved from %s, +%d -%d)", oneLine(ch.to.display), name, ch.diff.Additions, ch.diff.Deletions)
			default:
				fmt.Fprintf(&b, "\nM %s (+%d -%d)", name, ch.diff.Additions, ch.diff.Deletions)
			}
			ch.writeNotes(&b)
		}
		return b.String()
	}
	return cs, places, nil
}

// change is the change of one file, nil if there is nothing to do, and the places
// that it touches.
func (c *lspCall) change(ctx context.Context, a *attempt, p *plan, e LSPFileEdit) (*change, []location, error) {
	ts := c.ts
	resolve := ts.fsys.resolve
	if e.Operation == "rename" || e.Operation == "delete" {
		resolve = ts.fsys.resolveLink // what is moved or deleted is the link
	}
	l, err := resolve(e.Path)
	if err != nil {
		return nil, nil, err
	}
	l.given = l.display
	ch, err := ts.openFile(p, l)
	if err != nil {
		return nil, nil, err
	}
	if e.Operation == "create" {
		if l.exists() {
			return nil, nil, fmt.Errorf("the server would create %s, which is there already; nothing was changed", oneLine(l.display))
		}
		return ch, []location{l}, c.create(ch, e)
	}
	if !l.exists() {
		return nil, nil, errServerStale
	}
	if !l.Link {
		if err := ts.readFile(ctx, a.call.SessionID, ch); err != nil {
			return nil, nil, err
		}
	}
	places := []location{l}
	switch e.Operation {
	case "delete":
		ch.op = textfile.Delete
		return ch, places, nil
	case "rename":
		to, err := ts.fsys.resolve(e.To)
		if err != nil {
			return nil, nil, err
		}
		if to.exists() {
			return nil, nil, fmt.Errorf("the server would move %s to %s, which is there already; nothing was changed", oneLine(l.display), oneLine(to.display))
		}
		at, err := ts.openFile(p, to)
		if err != nil {
			return nil, nil, err
		}
		ch.op, ch.to, ch.toAt = textfile.Move, to, at.at
		places = append(places, to)
	case "edit":
	default:
		return nil, nil, fmt.Errorf("the server wants %q done to %s, which is not known here; nothing was changed", clip(e.Operation, 50), oneLine(l.display))
	}
	if len(e.Edits) > 0 {
		err = ch.serverEdit(e)
	}
	if err != nil || e.Operation == "edit" && len(ch.spans) == 0 {
		return nil, nil, err
	}
	return ch, places, nil
}

// create makes a new file of the texts that are put into it.
func (c *lspCall) create(ch *change, e LSPFileEdit) error {
	var content strings.Builder
	for _, t := range e.Edits {
		content.WriteString(t.NewText)
	}
	ch.op = textfile.Create
	settings := textfile.Settings{}
	if !c.ts.cfg.IgnoreSettings {
		settings = textfile.ReadSettings(c.ts.fsys.root, ch.at)
	}
	after, err := textfile.EncodeNew(content.String(), settings)
	if err != nil {
		return ch.encodeError(err)
	}
	return ch.become(after)
}

// serverEdit plans the edits of a text file, if it is what they are for.
func (c *change) serverEdit(e LSPFileEdit) error {
	body, err := c.text()
	if err != nil {
		return err
	}
	if strings.ReplaceAll(e.Text, "\r\n", "\n") != body {
		return errServerStale
	}
	lines := lsp.NewLines(body)
	var spans []match.Span
	for _, t := range e.Edits {
		s := match.Span{
			Start: lines.Offset(lsp.Position(t.Start)), End: lines.Offset(lsp.Position(t.End)), Text: strings.ReplaceAll(t.NewText, "\r\n", "\n"),
		}
		if s.Start > s.End {
			return fmt.Errorf("the server's edit of %s ends before it begins; nothing was changed", oneLine(c.l.display))
		}
		if body[s.Start:s.End] != s.Text {
			spans = append(spans, s)
		}
	}
	if len(spans) == 0 {
		return nil
	}
	return c.edit(spans)
}
