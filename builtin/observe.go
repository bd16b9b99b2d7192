package builtin

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/agenttool/tool"
)

// FileChange is one change of a file by a tool.
type FileChange struct {
	Operation string // "create", "update", "delete" or "move"
	Path      string // absolute, links resolved
	From      string // of a move: where the file was; else ""
	Before    string // SHA-256 of the content before, in hex; "" if there was no file
	After     string // SHA-256 of the content after, in hex; "" if there is no file

	SessionID string
	Tool      string // "write", "edit", "multiedit" or "apply_patch"
	CallID    string
}

// Diagnostic is something that is wrong in a file, as a compiler or a language
// server sees it.
type Diagnostic struct {
	Path     string `json:"path"` // absolute
	Line     int    `json:"line"` // from 1
	Column   int    `json:"column,omitempty"`
	Severity string `json:"severity"` // "error", "warning", "information" or "hint"
	Message  string `json:"message"`
	Source   string `json:"source,omitempty"`
	Code     string `json:"code,omitempty"` // by which Source knows it
}

// SourceFile is a file as [Config].Diagnostics is asked about it.
type SourceFile struct {
	Path    string // absolute, links resolved
	Content []byte // what it holds; nil if there is no such file
}

// tell lets the host know of changes that were made, and adds to the result what
// it has to say about them. No lock is held. before is what was wrong until then.
func (ts *Toolset) tell(ctx context.Context, name string, call *tool.Call, out *outcome, before *findings) {
	for i := range out.changes {
		ch := &out.changes[i]
		ch.SessionID, ch.Tool, ch.CallID = call.SessionID, name, call.ID
		ts.tasks.changed(call.SessionID, ts.display(ch.Path))
		if ts.cfg.OnFileChange == nil {
			continue
		}
		// The file has changed, also if nobody waits for the call any more.
		_, note := hook(context.WithoutCancel(ctx), &ts.hooks, func(ctx context.Context) struct{} {
			ts.cfg.OnFileChange(ctx, *ch)
			return struct{}{}
		})
		if note != "" {
			out.result.Metadata["observer"] = note
		}
	}
	found, perhapsOld, late := ts.askServers(ctx, out)
	if ts.cfg.Diagnostics != nil {
		after := ts.diagnose(ctx, out.files)
		if after.err != "" {
			out.result.Metadata["diagnosticsError"] = after.err
		} else {
			found = append(found, after.since(before, out.changes)...)
			perhapsOld = perhapsOld || before == nil || before.err != ""
		}
	}
	ts.report(out.result, found, out.changes, perhapsOld)
	out.result.Text += late
}

// findings is what was wrong in files at some time.
type findings struct {
	list []Diagnostic
	err  string // why that is not known
}

// diagnose asks the host what is wrong in files now.
func (ts *Toolset) diagnose(ctx context.Context, files []SourceFile) *findings {
	if ts.cfg.Diagnostics == nil || len(files) == 0 {
		return nil
	}
	f, note := hook(ctx, &ts.hooks, func(ctx context.Context) *findings {
		list, err := ts.cfg.Diagnostics(ctx, files)
		if err != nil {
			return &findings{err: err.Error()}
		}
		return &findings{list: list}
	})
	if note != "" {
		return &findings{err: note}
	}
	return f
}

// since returns what is wrong now and was not before. Lines may have moved, so a
// finding is known by its file and its words. If it is not known what was wrong
// before, that is everything in the files that were changed.
func (f *findings) since(before *findings, changes []FileChange) []Diagnostic {
	var out []Diagnostic
	if before == nil || before.err != "" {
		for _, d := range f.list {
			if slices.ContainsFunc(changes, func(c FileChange) bool { return c.Path == d.Path }) {
				out = append(out, d)
			}
		}
		return out
	}
	known := make(map[Diagnostic]int)
	words := func(d Diagnostic) Diagnostic {
		d.Line, d.Column = 0, 0
		return d
	}
	for _, d := range before.list {
		for _, c := range changes {
			if c.From == d.Path {
				d.Path = c.Path
			}
		}
		known[words(d)]++
	}
	for _, d := range f.list {
		if k := words(d); known[k] > 0 {
			known[k]--
			continue
		}
		out = append(out, d)
	}
	return out
}

// guarded runs a function of the host's that is part of what a call does. A panic
// in it must not look like one of the tool's.
func guarded(f func()) (note string) {
	defer func() {
		if v := recover(); v != nil {
			note = fmt.Sprintf("panicked: %v", v)
		}
	}()
	f()
	return ""
}

const (
	maxDiagnostics      = 10 // of the files that were changed, in a result's text
	maxOtherDiagnostics = 5  // of all others
)

// report adds diagnostics to a result: all of them to the metadata, by file, and
// errors, up to a number, to the text, those in the changed files first.
// perhapsOld is set if some of them may be older than the change.
func (ts *Toolset) report(res *tool.Result, found []Diagnostic, changes []FileChange, perhapsOld bool) {
	byFile := make(map[string][]Diagnostic)
	for _, d := range found {
		byFile[d.Path] = append(byFile[d.Path], d)
	}
	res.Metadata["diagnostics"] = byFile
	var b strings.Builder
	other := func(d Diagnostic) int {
		if slices.ContainsFunc(changes, func(c FileChange) bool { return c.Path == d.Path }) {
			return 0
		}
		return 1
	}
	var shown, left [2]int
	for _, d := range slices.SortedStableFunc(slices.Values(found), func(a, b Diagnostic) int {
		return cmp.Or(other(a)-other(b), strings.Compare(a.Path, b.Path), cmp.Compare(a.Line, b.Line))
	}) {
		if d.Severity != "error" {
			continue
		}
		kind := other(d)
		if shown[kind] == [2]int{maxDiagnostics, maxOtherDiagnostics}[kind] {
			left[kind]++
			continue
		}
		shown[kind]++
		fmt.Fprintf(&b, "\n%s:%d:%d: %s", ts.display(d.Path), d.Line, max(d.Column, 1), oneLine(clip(d.Message, 500)))
	}
	if b.Len() == 0 {
		return
	}
	if perhapsOld {
		res.Text += "\nErrors now, some of which may be older than this change:" + b.String()
	} else {
		res.Text += "\nErrors that this change brought:" + b.String()
	}
	switch {
	case left[0] > 0 && left[1] > 0:
		res.Text += fmt.Sprintf("\n(and %d more, and %d in other files)", left[0], left[1])
	case left[0] > 0:
		res.Text += fmt.Sprintf("\n(and %d more)", left[0])
	case left[1] > 0:
		res.Text += fmt.Sprintf("\n(and %d more in other files)", left[1])
	}
}
