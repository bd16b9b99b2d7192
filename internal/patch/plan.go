package patch

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"sort"
	"strings"

	"github.com/agenttool/tool/internal/match"
)

// A FileChange is what a patch makes of one file.
type FileChange struct {
	Kind Kind
	Path string
	To   string // the new path of a file that moves, else empty

	Old, New string // whole texts; Old is empty for Add, New for Delete

	// Spans turn Old into New, for Update only. Every byte outside them stays.
	Spans []match.Span

	// Hunks tells where the hunks of an update were found, in patch order.
	Hunks []Placement

	// Unchanged says that the file is as the patch wants it already.
	Unchanged bool
}

// A Placement is where a hunk was found in the text that it was applied to.
type Placement struct {
	First, Last int // lines from 1; an insertion has Last = First-1
	Level       match.Level
	Repaired    string // see [match.Plan]
	Slips       []match.Slip
	OutOfOrder  bool // the hunk stands before the one that precedes it in the patch
}

// Plan parses a patch and works out what every file becomes. It changes nothing
// and keeps no state: read gives the text of a file, in UTF-8 with the file's own
// line endings, or an error that wraps [fs.ErrNotExist].
//
// Sections for the same file count one after the other, and come back as one
// change. The changes are in order of first mention. The error lists every hunk
// that has no place or more than one; nothing is planned then.
func Plan(text string, read func(path string) (string, error)) ([]FileChange, error) {
	p, err := Parse(text)
	if err != nil {
		return nil, err
	}
	return p.Plan(read)
}

// Plan is like the function [Plan] for a parsed patch.
func (p *Patch) Plan(read func(path string) (string, error)) ([]FileChange, error) {
	w := &world{read: read, files: map[string]*file{}}
	var errs Errors
	for i := range p.Sections {
		errs = append(errs, w.section(&p.Sections[i])...)
	}
	if err := errs.err(); err != nil {
		return nil, err
	}
	changes := w.changes()
	if len(changes) == 0 {
		return nil, &Error{Reason: ErrEmpty, message: "the patch changes nothing: its sections cancel each other out"}
	}
	return changes, nil
}

// A file is the state of a path while sections are applied in memory.
type file struct {
	path    string
	existed bool
	exists  bool
	old     string
	now     string
	spans   []match.Span // from old to now
	hunks   []Placement
	movedTo string
	from    *file // the file that moved here
	same    bool  // an Add found the content in place
	broken  bool  // a section for it failed
}

type world struct {
	read  func(string) (string, error)
	files map[string]*file
	order []*file
}

// open returns the state of a path, reading the file when it is first named.
func (w *world) open(name string, line int) (*file, *Error) {
	key := path.Clean(strings.ReplaceAll(name, `\`, "/"))
	if f := w.files[key]; f != nil {
		return f, nil
	}
	f := &file{path: name}
	text, err := w.read(name)
	switch {
	case err == nil:
		f.existed, f.exists, f.old, f.now = true, true, text, text
	case errors.Is(err, fs.ErrNotExist):
	default:
		return nil, &Error{Reason: ErrRead, Path: name, Line: line, Cause: err, message: name + ": " + err.Error()}
	}
	w.files[key] = f
	w.order = append(w.order, f)
	return f, nil
}

func (w *world) section(s *Section) Errors {
	f, err := w.open(s.Path, s.line)
	if err != nil {
		return Errors{err}
	}
	if f.broken {
		return nil
	}
	fail := func(reason error, format string, args ...any) Errors {
		f.broken = true
		return Errors{{Reason: reason, Path: s.Path, Line: s.line, message: s.Path + ": " + fmt.Sprintf(format, args...)}}
	}
	if s.Kind == Add {
		switch {
		case f.exists && f.now == s.Content:
			f.same = true
			return nil
		case f.exists:
			return fail(ErrExists, "the file to add exists already. Use *** Update File, or delete it first")
		}
		f.exists, f.now = true, s.Content
		return nil
	}
	if !f.exists {
		if f.movedTo != "" {
			return fail(ErrMissing, "the file has been moved to %s earlier in the patch; use that path", f.movedTo)
		}
		return fail(ErrMissing, "the file does not exist. Check the path, or use *** Add File")
	}
	if errs := f.apply(s); len(errs) > 0 {
		f.broken = true
		return errs
	}
	if s.Kind == Delete {
		if len(s.Hunks) > 0 && f.now != "" {
			return fail(ErrHunk, "the patch deletes the file, but it has lines that the patch does not name; read it again")
		}
		f.exists, f.now = false, ""
		return nil
	}
	if s.MoveTo == "" || path.Clean(s.MoveTo) == path.Clean(s.Path) {
		return nil // moving a file onto itself is no move
	}
	to, err := w.open(s.MoveTo, s.line)
	switch {
	case err != nil:
		return Errors{err}
	case to.exists:
		return fail(ErrExists, "the destination of the move, %s, exists already. Delete it first or choose another name", s.MoveTo)
	}
	to.exists, to.now, to.from = true, f.now, f
	f.exists, f.movedTo = false, s.MoveTo
	return nil
}

// apply makes the hunks of a section in memory.
func (f *file) apply(s *Section) Errors {
	if len(s.Hunks) == 0 {
		return nil
	}
	spans, placed, errs := place(f.now, s)
	if len(errs) > 0 {
		return errs
	}
	if len(spans) == 0 && s.MoveTo == "" && s.Kind == Update {
		return Errors{{Reason: ErrEmpty, Path: s.Path, Line: s.line, message: s.Path + ": the hunks change nothing, the file is as they want it already"}}
	}
	f.spans = match.Compose(f.old, f.spans, spans)
	f.now = match.Apply(f.now, spans)
	f.hunks = append(f.hunks, placed...)
	return nil
}

// changes turns the final state of all files into changes.
func (w *world) changes() []FileChange {
	var out []FileChange
	for _, f := range w.order {
		switch {
		case f.movedTo != "" && !f.exists && f.existed:
			continue // told by the destination
		case f.existed && !f.exists:
			out = append(out, FileChange{Kind: Delete, Path: f.path, Old: f.old})
		case f.existed && f.same && f.now == f.old:
			out = append(out, FileChange{Kind: Add, Path: f.path, Old: f.old, New: f.now, Unchanged: true})
		case f.existed && f.from == nil && f.now != f.old:
			spans := f.spans
			if match.Apply(f.old, spans) != f.now {
				spans = []match.Span{{Start: 0, End: len(f.old), Text: f.now}} // deleted and added again
			}
			out = append(out, FileChange{Kind: Update, Path: f.path, Old: f.old, New: f.now, Spans: spans, Hunks: f.hunks})
		case f.exists:
			if c, ok := f.arrived(); ok {
				out = append(out, c)
			}
		}
	}
	return out
}

// arrived is the change of a file that was added or moved here.
func (f *file) arrived() (FileChange, bool) {
	origin := f
	var hunks []Placement
	for origin.from != nil {
		hunks = append(origin.hunks, hunks...)
		origin = origin.from
	}
	if !origin.existed {
		return FileChange{Kind: Add, Path: f.path, New: f.now}, !f.existed
	}
	if origin == f {
		return FileChange{}, false // neither added, moved nor changed
	}
	c := FileChange{Kind: Update, Path: origin.path, To: f.path, Old: origin.old, New: f.now, Hunks: append(origin.hunks[:len(origin.hunks):len(origin.hunks)], hunks...)}
	c.Spans = origin.spans
	for g := f; g != origin; g = g.from {
		if len(g.spans) > 0 {
			c.Spans = nil
		}
	}
	if match.Apply(c.Old, c.Spans) != c.New {
		c.Spans = []match.Span{{Start: 0, End: len(c.Old), Text: c.New}}
	}
	return c, true
}

// place finds the places of a section's hunks in a text and returns the spans of
// them all, in file order.
func place(text string, s *Section) ([]match.Span, []Placement, Errors) {
	t := match.NewText(text)
	found := make([]*finding, len(s.Hunks))
	for i := range s.Hunks {
		found[i] = &finding{t: t, h: &s.Hunks[i], number: i + 1, path: s.Path}
		found[i].locate()
	}
	narrow(found)
	var errs Errors
	for _, f := range found {
		if err := f.refusal(); err != nil {
			errs = append(errs, err)
		}
	}
	if len(errs) > 0 {
		return nil, nil, errs
	}
	type owned struct {
		match.Span
		hunk int
	}
	var all []owned
	placed := make([]Placement, len(found))
	for i, f := range found {
		for _, sp := range f.write() {
			all = append(all, owned{sp, i})
		}
		placed[i] = f.placement()
		placed[i].OutOfOrder = i > 0 && placed[i].First < placed[i-1].First
	}
	sort.SliceStable(all, func(i, j int) bool {
		if all[i].Start != all[j].Start {
			return all[i].Start < all[j].Start
		}
		return all[i].End < all[j].End
	})
	spans := make([]match.Span, 0, len(all))
	for i, o := range all {
		if i > 0 && o.Start < all[i-1].End {
			h := &s.Hunks[o.hunk]
			return nil, nil, Errors{{Reason: ErrHunk, Path: s.Path, Hunk: o.hunk + 1, Line: h.line,
				message: fmt.Sprintf("%s: hunks %d and %d change the same lines (line %d). Make one hunk of them",
					s.Path, min(all[i-1].hunk, o.hunk)+1, max(all[i-1].hunk, o.hunk)+1, placed[o.hunk].First)}}
		}
		spans = append(spans, o.Span)
	}
	return finalBreak(text, s, found, spans), placed, nil
}

// finalBreak follows the marks that a unified diff sets at the end of the file.
func finalBreak(text string, s *Section, found []*finding, spans []match.Span) []match.Span {
	for _, f := range found {
		if f.h.OldNoEOL == f.h.NewNoEOL || f.region == nil || f.region.Last != f.t.Len() {
			continue
		}
		result := match.Apply(text, spans)
		body := strings.TrimSuffix(strings.TrimSuffix(result, "\n"), "\r")
		switch {
		case f.h.NewNoEOL && body != result:
			return match.Compose(text, spans, []match.Span{{Start: len(body), End: len(result)}})
		case f.h.OldNoEOL && body == result && result != "":
			eol := "\n"
			if strings.Contains(text, "\r\n") {
				eol = "\r\n"
			}
			return match.Compose(text, spans, []match.Span{{Start: len(result), End: len(result), Text: eol}})
		}
	}
	return spans
}
