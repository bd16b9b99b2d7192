package builtin

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/agenttool/tool/internal/diff"
	"github.com/agenttool/tool/internal/fsroot"
	"github.com/agenttool/tool/internal/textfile"
)

const (
	keptDeeds = 20       // changes of a session that can be taken back
	keptBytes = 16 << 20 // content kept for that
)

// history keeps what the sessions' last changes were made from. The zero value is ready.
type history struct {
	mu       sync.Mutex
	sessions map[string][]*deed
}

// deed is what one call changed.
type deed struct {
	files []undoable
	bytes int
}

// undoable is one file of a deed.
type undoable struct {
	op     textfile.Op
	path   string // absolute
	to     string // of a move
	before []byte
	link   bool // it was a link
	edited bool // a move changed the content too
	script bool
	after  textfile.Hash
	made   []fsroot.Made // directories that were made for it
}

func (d *deed) touches(abs string) bool {
	return slices.ContainsFunc(d.files, func(u undoable) bool { return u.path == abs || u.to == abs })
}

// push keeps what the changes of a call were made from.
func (h *history) push(session string, list []*change, done []textfile.Result) {
	d := &deed{}
	for i, c := range list {
		u := undoable{op: c.op, path: c.l.abs, to: c.to.abs, before: c.raw, link: c.l.Link, edited: c.after != nil, made: done[i].Made}
		switch {
		case c.after != nil:
			u.after = textfile.Sum(c.after)
		case c.op == textfile.Move:
			u.after = c.state.Hash
		}
		u.script = c.l.info != nil && c.l.info.Mode().Perm()&0o111 != 0
		d.files = append(d.files, u)
		d.bytes += len(c.raw)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.sessions == nil {
		h.sessions = make(map[string][]*deed)
	}
	all := append(h.sessions[session], d)
	size := 0
	for i := len(all) - 1; i >= 0; i-- {
		if size += all[i].bytes; size > keptBytes || len(all)-i > keptDeeds {
			all = slices.Clone(all[i+1:])
			break
		}
	}
	h.sessions[session] = all
}

// last returns the session's latest change of the file.
func (h *history) last(session, abs string) *deed {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, d := range slices.Backward(h.sessions[session]) {
		if d.touches(abs) {
			return d
		}
	}
	return nil
}

// drop forgets a change that was taken back.
func (h *history) drop(session string, d *deed) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.sessions[session] = slices.DeleteFunc(h.sessions[session], func(x *deed) bool { return x == d })
}

func (h *history) forget(session string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.sessions, session)
}

// planUndo is the plan of taking back the session's last change of a file, and
// of the other files that the same call changed.
func (ts *Toolset) planUndo(ctx context.Context, a *attempt, name string) (*plan, error) {
	l, err := ts.fsys.resolve(name)
	if err != nil {
		return nil, err
	}
	d := ts.history.last(a.call.SessionID, l.abs)
	p := &plan{}
	if d == nil {
		return ts.planChanges(ctx, a, p, []location{l}, nil, fmt.Errorf("there is no change of %s by this session to take back", oneLine(name)))
	}
	cs := &changes{report: reportUndo, took: func() {
		ts.history.drop(a.call.SessionID, d)
		for _, u := range slices.Backward(d.files) {
			ts.fsys.root.RemoveMade(u.made) // as far as they are empty
		}
	}}
	var places []location
	for _, u := range slices.Backward(d.files) {
		c, err := ts.undo(ctx, a, p, u)
		if c != nil {
			if places = append(places, c.l); c.op == textfile.Move {
				places = append(places, c.to)
			}
		}
		if err != nil {
			return ts.planChanges(ctx, a, p, places, nil, err)
		}
		cs.list = append(cs.list, c)
	}
	cs.title = "Take back the last change of " + oneLine(l.display)
	return ts.planChanges(ctx, a, p, places, cs, nil)
}

// undo is the change of one file back to what it was.
func (ts *Toolset) undo(ctx context.Context, a *attempt, p *plan, u undoable) (*change, error) {
	name := u.path
	if u.op == textfile.Move {
		name = u.to
	}
	l, err := ts.fsys.resolve(name)
	if err != nil {
		return nil, err
	}
	l.given = l.display
	if u.link {
		return &change{l: l}, fmt.Errorf("%s was a link; make it again with a command", oneLine(l.display))
	}
	c, err := ts.openFile(p, l)
	if err != nil {
		return &change{l: l}, err
	}
	c.back = true
	if u.op == textfile.Delete {
		if l.exists() {
			return c, fmt.Errorf("%s was deleted, but there is a file of this name again; nothing was taken back", oneLine(l.display))
		}
		c.op, c.script = textfile.Create, u.script
		return c, c.restore(u.before)
	}
	if !l.exists() {
		return c, fmt.Errorf("%s is gone since it was changed; nothing was taken back", oneLine(l.display))
	}
	if err := ts.readFile(ctx, a.call.SessionID, c); err != nil {
		return c, err
	}
	if c.state.Hash != u.after {
		return c, fmt.Errorf("%s was changed again since, by a command or by somebody else; nothing was taken back. Read it and edit it instead", oneLine(l.display))
	}
	switch u.op {
	case textfile.Create:
		c.op = textfile.Delete
		return c, nil
	case textfile.Move:
		c.op = textfile.Move
		if c.to, err = ts.fsys.resolve(u.path); err != nil {
			return c, err
		}
		var done func()
		if c.toAt, done, err = ts.fsys.reach(c.to); err != nil {
			return c, err
		}
		p.done = append(p.done, done)
		if !u.edited {
			c.new, c.newText = c.old, ""
			return c, nil
		}
	}
	return c, c.restore(u.before)
}

// restore makes bytes that the file had before what it will hold.
func (c *change) restore(before []byte) error {
	c.after = slices.Clone(before)
	if c.after == nil {
		c.after = []byte{}
	}
	if f, err := textfile.Decode(c.after, nil); err == nil {
		c.new, c.newText = f, f.Text
		if c.old != nil {
			c.spans = []textfile.Span{wholeSpan(c.old.Text, f.Text)}
		}
	}
	return nil
}

func reportUndo(cs *changes) string {
	var b strings.Builder
	b.WriteString("Took back the last change:")
	for _, c := range cs.list {
		switch c.op {
		case textfile.Create:
			fmt.Fprintf(&b, "\n%s is there again", oneLine(c.l.display))
		case textfile.Delete:
			fmt.Fprintf(&b, "\n%s is removed, as it was new", oneLine(c.l.display))
		case textfile.Move:
			fmt.Fprintf(&b, "\n%s is %s again", oneLine(c.l.display), oneLine(c.to.display))
		default:
			fmt.Fprintf(&b, "\n%s (+%d -%d)\n%s", oneLine(c.l.display), c.diff.Additions, c.diff.Deletions, compact(c.diff))
		}
	}
	return b.String()
}

// compact is a diff as a result shows it.
func compact(d *diff.Diff) string {
	return visible(strings.TrimRight(d.Compact(foreignDiff), "\n"))
}
