package lsp

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ErrStale says that a server's edit is for a content that a file no longer has.
var ErrStale = errors.New("the file changed while the server worked; try again")

// edits turns a WorkspaceEdit into what is to become of each file. Every file
// comes once.
func (s *session) edits(t *texts, e *workspaceEdit) ([]FileEdit, error) {
	if e == nil {
		return nil, nil
	}
	f := &folding{s: s, t: t, at: make(map[string]*FileEdit)}
	if len(e.DocumentChanges) == 0 {
		for _, uri := range sortedKeys(e.Changes) {
			e.DocumentChanges = append(e.DocumentChanges, documentChange{TextDocument: &textDocumentID{URI: uri}, Edits: e.Changes[uri]})
		}
	}
	for _, ch := range e.DocumentChanges {
		if err := f.add(&ch); err != nil {
			return nil, err
		}
	}
	out := make([]FileEdit, 0, len(f.list))
	for _, e := range f.list {
		if e.Op != "edit" || len(e.Edits) > 0 {
			out = append(out, *e)
		}
	}
	slices.SortFunc(out, func(a, b FileEdit) int { return strings.Compare(a.Path, b.Path) })
	return out, nil
}

// folding is what the changes so far make of files.
type folding struct {
	s    *session
	t    *texts
	list []*FileEdit
	at   map[string]*FileEdit // by the name that a file has by now
}

func (f *folding) add(ch *documentChange) error {
	path := func(uri string) (string, error) { return filePath(uri) }
	switch ch.Kind {
	case "":
		if ch.TextDocument == nil {
			return fmt.Errorf("%w: an edit names no file", ErrProtocol)
		}
		p, err := path(ch.TextDocument.URI)
		if err != nil {
			return err
		}
		return f.edit(p, ch)
	case "create":
		p, err := path(ch.URI)
		if err != nil {
			return err
		}
		if f.at[p] != nil {
			return fmt.Errorf("the server would create %s, which it changes in another way too; that is not done", p)
		}
		f.put(p, &FileEdit{Op: "create", Path: p})
	case "rename":
		from, err := path(ch.OldURI)
		if err != nil {
			return err
		}
		to, err := path(ch.NewURI)
		if err != nil {
			return err
		}
		e := f.at[from]
		switch {
		case f.at[to] != nil, e != nil && e.Op != "edit":
			return fmt.Errorf("the server would rename %s, and change it or its new name in another way too; that is not done", from)
		case e == nil:
			e = &FileEdit{Path: from}
			f.list = append(f.list, e)
		}
		delete(f.at, from)
		e.Op, e.To, f.at[to] = "rename", to, e
	case "delete":
		p, err := path(ch.URI)
		if err != nil {
			return err
		}
		if f.at[p] != nil {
			return fmt.Errorf("the server would delete %s, which it changes in another way too; that is not done", p)
		}
		f.put(p, &FileEdit{Op: "delete", Path: p})
	default:
		return fmt.Errorf("%w: an edit has the kind %q", ErrProtocol, clip(ch.Kind, 50))
	}
	return nil
}

func (f *folding) put(path string, e *FileEdit) {
	f.at[path] = e
	f.list = append(f.list, e)
}

func (f *folding) edit(path string, ch *documentChange) error {
	e := f.at[path]
	if e == nil {
		e = &FileEdit{Op: "edit", Path: path}
		f.put(path, e)
	}
	if e.Op == "delete" || len(e.Edits) > 0 {
		return fmt.Errorf("the server would edit %s twice; that is not done", path)
	}
	lines := NewLines("")
	if e.Op != "create" {
		var version int64
		if lines, version = f.s.lines(e.Path); lines == nil {
			if lines = f.t.of(e.Path); lines == nil {
				return fmt.Errorf("the server would change %s, which cannot be read here; nothing was changed", e.Path)
			}
		} else if v := ch.TextDocument.Version; v != nil && *v != version {
			return fmt.Errorf("%s: %w", e.Path, ErrStale)
		}
	}
	e.Text = lines.text
	for _, w := range ch.Edits {
		te := TextEdit{lines.FromWire(w.Range.Start, f.s.enc), lines.FromWire(w.Range.End, f.s.enc), w.NewText}
		if later(te.Start, te.End) {
			return fmt.Errorf("%w: an edit of %s ends before it begins", ErrProtocol, path)
		}
		e.Edits = append(e.Edits, te)
	}
	slices.SortStableFunc(e.Edits, func(a, b TextEdit) int {
		switch {
		case later(b.Start, a.Start):
			return -1
		case later(a.Start, b.Start):
			return 1
		}
		return 0
	})
	for i := 1; i < len(e.Edits); i++ {
		if later(e.Edits[i-1].End, e.Edits[i].Start) {
			return fmt.Errorf("%w: edits of %s overlap", ErrProtocol, path)
		}
	}
	return nil
}

func later(a, b Position) bool { return a.Line > b.Line || a.Line == b.Line && a.Column > b.Column }
