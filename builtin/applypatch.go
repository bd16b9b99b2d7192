package builtin

import (
	"context"
	_ "embed" // descriptions
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/agenttool/tool"
	"github.com/agenttool/tool/internal/match"
	"github.com/agenttool/tool/internal/patch"
	"github.com/agenttool/tool/internal/textfile"
)

//go:embed applypatch.md
var applyPatchDescription string

type applyPatchInput struct {
	PatchText string `json:"patchText" jsonschema:"the patch" alias:"patch_text,patch,input,diff,text"`
}

func defineApplyPatch(ts *Toolset) (operation, error) {
	return defineChange(ts, tool.Def{
		Name: "apply_patch", Title: "Patch",
		Describe: func(_ context.Context, agent *tool.Agent) (string, error) {
			if !expectsPatches(agent) {
				return "", tool.ErrHidden
			}
			return strings.TrimSpace(applyPatchDescription), nil
		},
		Hints:   tool.Hints{Destructive: true},
		Aliases: []string{"patch", "applyPatch", "apply_diff"},
	}, ts.planPatch)
}

// expectsPatches reports whether the agent's model was trained to write patches of
// this form; of an unknown model it is assumed.
func expectsPatches(agent *tool.Agent) bool {
	if agent == nil || agent.Model == "" {
		return true
	}
	m := strings.ToLower(agent.Model)
	return strings.Contains(m, "gpt-") && !strings.Contains(m, "oss") && !strings.Contains(m, "gpt-4")
}

// patching is a patch on its way to being changes.
type patching struct {
	ts     *Toolset
	ctx    context.Context
	a      *attempt
	p      *plan
	kinds  map[string]patch.Kind // by cleaned path: the last section for it
	moves  map[string]bool       // paths that move away
	files  map[string]*change    // by cleaned path
	places []location
}

func (ts *Toolset) planPatch(ctx context.Context, a *attempt, in applyPatchInput) (*plan, error) {
	parsed, err := patch.Parse(in.PatchText)
	if err != nil {
		return nil, err
	}
	w := &patching{
		ts: ts, ctx: ctx, a: a, p: &plan{}, kinds: make(map[string]patch.Kind), moves: make(map[string]bool), files: make(map[string]*change),
	}
	for _, s := range parsed.Sections {
		w.kinds[path.Clean(s.Path)] = s.Kind
		w.moves[path.Clean(s.Path)] = s.MoveTo != ""
	}
	found, err := parsed.Plan(w.read)
	var cs *changes
	if err == nil {
		cs, err = w.changes(found)
	} else {
		err = w.refusal(err)
	}
	var same *unchangedError
	if errors.As(err, &same) && ts.open(same.l) {
		w.p.release()
		return &plan{apply: func(context.Context, *tool.Call) (*outcome, error) { return &outcome{result: same.result()}, nil }}, nil
	}
	return ts.planChanges(ctx, a, w.p, w.places, cs, err)
}

// read gives package patch the text of a file.
func (w *patching) read(name string) (string, error) {
	key := path.Clean(strings.ReplaceAll(name, `\`, "/"))
	resolve := w.ts.fsys.resolve
	if w.kinds[key] == patch.Delete || w.moves[key] {
		resolve = w.ts.fsys.resolveLink // what is deleted or moved is the link
	}
	l, err := resolve(name)
	if err != nil {
		return "", err
	}
	for _, other := range w.places {
		// On a file system that ignores case a file can be moved to another
		// spelling of its name, which then is not taken.
		if other.Key() == l.Key() && other.abs != l.abs {
			l.info = nil
		}
	}
	w.places = append(w.places, l)
	c, err := w.ts.openFile(w.p, l)
	if err != nil {
		return "", err
	}
	w.files[key] = c
	if !l.exists() {
		return "", fs.ErrNotExist
	}
	if l.Link {
		return "", nil
	}
	if err := w.ts.readFile(w.ctx, w.a.call.SessionID, c); err != nil {
		return "", err
	}
	if c.old == nil {
		return clean(c.raw), nil
	}
	return c.old.Text, nil
}

func (w *patching) file(name string) *change {
	return w.files[path.Clean(strings.ReplaceAll(name, `\`, "/"))]
}

// refusal words why a patch does not apply.
func (w *patching) refusal(err error) error {
	var list patch.Errors
	if !errors.As(err, &list) {
		var one *patch.Error
		if !errors.As(err, &one) {
			return err
		}
		list = patch.Errors{one}
	}
	full := err.Error()
	for _, e := range list {
		if short := clip(e.Path, 300); short != e.Path {
			full = strings.ReplaceAll(full, e.Path, short)
		}
	}
	var unread []location
	var plain []string
	for _, e := range list {
		c := w.file(e.Path)
		if errors.Is(e, patch.ErrMissing) && c != nil && !c.l.exists() {
			if hint, ok := strings.CutPrefix(w.ts.missing(w.ctx, c.l).Error(), "file not found: "); ok {
				if _, names, ok := strings.Cut(hint, "Did you mean "); ok {
					full += "\nDid you mean " + names
				}
			}
		}
		switch {
		case c == nil || !c.l.exists() || c.known.shown || !errors.Is(e, patch.ErrHunk):
			text, _, _ := strings.Cut(e.Error(), "\n")
			plain = append(plain, text)
			if c != nil && c.known.shown {
				if f := c.foreign(); f != "" {
					full += "\n" + oneLine(c.l.display) + ": " + f
				}
			}
		default:
			plain = append(plain, fmt.Sprintf("%s, hunk %d: the lines were not found, or at several places. The file was not read in this session: read it and copy the lines exactly", oneLine(e.Path), max(e.Hunk, 1)))
			unread = append(unread, c.l)
		}
	}
	told := &toldError{full, err}
	if len(unread) == 0 {
		return told
	}
	return &shownError{err: told, plain: &toldError{strings.Join(plain, "\n") + "\nNothing was changed.", nil}, places: unread}
}

// changes turns what package patch planned into changes of files.
func (w *patching) changes(found []patch.FileChange) (*changes, error) {
	cs := &changes{report: reportPatch, title: "Apply a patch to " + plural(len(found), "file")}
	for _, f := range found {
		c := w.file(f.Path)
		if f.Unchanged {
			continue
		}
		if err := w.change(c, f); err != nil {
			return nil, err
		}
		cs.list = append(cs.list, c)
	}
	if len(cs.list) == 0 {
		return nil, &unchangedError{w.file(found[0].Path).l}
	}
	if len(cs.list) == 1 {
		cs.title = "Apply a patch to " + oneLine(cs.list[0].l.display)
	}
	return cs, nil
}

func (w *patching) change(c *change, f patch.FileChange) error {
	name := oneLine(c.l.given)
	switch f.Kind {
	case patch.Add:
		c.op = textfile.Create
		if c.l.exists() { // it moves away in the same patch
			return fmt.Errorf("%s: a patch cannot move a file away and add another in its place; make two patches. Nothing was changed", name)
		}
		settings := textfile.Settings{}
		if !w.ts.cfg.IgnoreSettings {
			settings = textfile.ReadSettings(w.ts.fsys.root, c.at)
		}
		after, err := textfile.EncodeNew(f.New, settings)
		if err != nil {
			return c.encodeError(err)
		}
		c.script = w.ts.cfg.ExecutableScripts && strings.HasPrefix(f.New, "#!")
		return c.become(after)
	case patch.Delete:
		c.op = textfile.Delete
		if c.known.Known && !c.known.Fresh {
			return &toldError{fmt.Sprintf("%s was not deleted, because it changed since you read it. %s\nRead it again. Nothing was changed.", name, c.foreign()), nil}
		}
		return nil
	}
	if len(f.Spans) > 0 {
		if _, err := c.text(); err != nil {
			return err
		}
		for _, h := range f.Hunks {
			if err := w.ts.checkSeen(c, []match.Place{{First: h.First, Last: h.Last}}, h.Level, h.Repaired, false); err != nil {
				return err
			}
		}
		c.noteHunks(f.Hunks)
		if err := c.edit(f.Spans); err != nil {
			return err
		}
	}
	if f.To == "" {
		return nil
	}
	if c.l.Link && len(f.Spans) > 0 {
		return fmt.Errorf("%s is a link; move it alone, or change the file that it leads to. Nothing was changed", name)
	}
	to := w.file(f.To)
	c.op, c.to, c.toAt = textfile.Move, to.l, to.at
	return nil
}

// noteHunks notes hunks that did not match exactly or in order.
func (c *change) noteHunks(list []patch.Placement) {
	for i, h := range list {
		switch {
		case h.Level != match.Exact:
			c.notes = append(c.notes, fmt.Sprintf("hunk %d matched lines %d-%d with %s", i+1, h.First, h.Last, h.Level))
		case h.OutOfOrder:
			c.notes = append(c.notes, fmt.Sprintf("hunk %d stands before the one that precedes it in the patch, at line %d", i+1, h.First))
		}
	}
}

func reportPatch(cs *changes) string {
	var b strings.Builder
	b.WriteString("Applied the patch:")
	for _, c := range cs.list {
		name := oneLine(c.l.display)
		switch c.op {
		case textfile.Create:
			fmt.Fprintf(&b, "\nA %s (%s)", name, plural(countLines(c.newText), "line"))
		case textfile.Delete:
			fmt.Fprintf(&b, "\nD %s", name)
		case textfile.Move:
			fmt.Fprintf(&b, "\nM %s (moved from %s, +%d -%d)", oneLine(c.to.display), name, c.diff.Additions, c.diff.Deletions)
		default:
			fmt.Fprintf(&b, "\nM %s (+%d -%d)", name, c.diff.Additions, c.diff.Deletions)
		}
		if f := c.foreign(); f != "" {
			b.WriteString("\n" + f)
		}
		c.writeNotes(&b)
	}
	return b.String()
}

// PatchChange is what a patch would make of one file.
type PatchChange struct {
	Operation string // "create", "update", "delete" or "move"
	Path      string // as the patch names it
	To        string // of a move: the new name
	Before    string
	After     string
	Diff      string // unified; "" for a move that changes nothing else

	Additions, Deletions int // lines
}

// Preview says what a patch would make of files, without changing any: for hosts
// that show a patch before it is run, or apply it elsewhere. The patch is in
// either notation that apply_patch takes. readFile gives the text of a file by
// the name that the patch has for it, or an error that wraps [fs.ErrNotExist].
// Every hunk must have its place; the error says which have none, in words for
// the model that wrote the patch. Preview keeps no state.
func Preview(patchText string, readFile func(path string) (string, error)) ([]PatchChange, error) {
	found, err := patch.Plan(patchText, readFile)
	if err != nil {
		return nil, err
	}
	out := make([]PatchChange, 0, len(found))
	for _, f := range found {
		c := &change{op: textfile.Update, l: location{display: f.Path}, to: location{display: f.To}}
		switch {
		case f.Kind == patch.Add:
			c.op = textfile.Create
		case f.Kind == patch.Delete:
			c.op = textfile.Delete
		case f.To != "":
			c.op = textfile.Move
		}
		c.raw, c.after = []byte(f.Old), []byte(f.New)
		c.compare()
		if len(c.diff.Hunks) == 0 {
			c.unified = ""
		}
		out = append(out, PatchChange{
			Operation: opName(c), Path: f.Path, To: f.To, Before: f.Old, After: f.New,
			Diff: c.unified, Additions: c.diff.Additions, Deletions: c.diff.Deletions,
		})
	}
	return slices.Clip(out), nil
}
