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
}

// tell lets the host know of changes that were made, and adds to the result what
// it has to say about them. No lock is held.
func (ts *Toolset) tell(ctx context.Context, name string, call *tool.Call, out *outcome) {
	for i := range out.changes {
		ch := &out.changes[i]
		ch.SessionID, ch.Tool, ch.CallID = call.SessionID, name, call.ID
		if ts.cfg.OnFileChange == nil {
			continue
		}
		if note := guarded(func() { ts.cfg.OnFileChange(ctx, *ch) }); note != "" {
			out.result.Metadata["observer"] = note
		}
	}
	if ts.cfg.Diagnostics == nil {
		return
	}
	var found []Diagnostic
	if note := guarded(func() { found = ts.cfg.Diagnostics(ctx, slices.Clone(out.changes)) }); note != "" {
		out.result.Metadata["observer"] = note
	}
	ts.report(out.result, found)
}

// guarded runs a function of the host's. A panic in it must not turn a change
// that happened into a call that seems to have failed.
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
	maxDiagnostics     = 20 // of one file in a result's text
	maxDiagnosticFiles = 5
)

// report adds diagnostics to a result: all of them to the metadata, by file, and
// errors, up to a number, to the text.
func (ts *Toolset) report(res *tool.Result, found []Diagnostic) {
	byFile := make(map[string][]Diagnostic)
	for _, d := range found {
		byFile[d.Path] = append(byFile[d.Path], d)
	}
	res.Metadata["diagnostics"] = byFile
	var b strings.Builder
	shown := make(map[string]int)
	left := 0
	for _, d := range slices.SortedStableFunc(slices.Values(found), func(a, b Diagnostic) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), cmp.Compare(a.Line, b.Line))
	}) {
		if d.Severity != "error" {
			continue
		}
		if shown[d.Path] == maxDiagnostics || shown[d.Path] == 0 && len(shown) == maxDiagnosticFiles {
			left++
			continue
		}
		shown[d.Path]++
		fmt.Fprintf(&b, "\n%s:%d:%d: %s", ts.display(d.Path), d.Line, max(d.Column, 1), oneLine(clip(d.Message, 500)))
	}
	if b.Len() == 0 {
		return
	}
	res.Text += "\nErrors after this change:" + b.String()
	if left > 0 {
		res.Text += fmt.Sprintf("\n(and %d more)", left)
	}
}
