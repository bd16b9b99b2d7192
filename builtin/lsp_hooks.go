package builtin

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"
)

// lookedAt lets language servers load a file that a session reads.
func (ts *Toolset) lookedAt(l location) {
	if ts.lsp == nil || !l.inside || l.secret || l.isDir() {
		return
	}
	ctx, cancel := context.WithTimeout(ts.ctx, openTime)
	defer cancel()
	// What becomes of it is none of the reading's concern.
	_, _ = hook(ctx, &ts.hooks, func(context.Context) struct{} {
		ts.lsp.Open(l.abs)
		return struct{}{}
	})
}

// openTime is how long reading waits for LSP.Open, which is to return at once.
const openTime = 100 * time.Millisecond

// askServers tells language servers of a change and returns what they say is new,
// whether some of that may be older, and a line for the result if some have not
// answered in time. Whatever happens, the change is made and stays.
func (ts *Toolset) askServers(ctx context.Context, out *outcome) (found []Diagnostic, perhapsOld bool, late string) {
	if ts.lsp == nil {
		return nil, false, ""
	}
	type said struct {
		report *LSPReport
		err    error
	}
	// Secrets are none of a server's business.
	secret := func(f SourceFile) bool {
		l, err := ts.fsys.resolve(f.Path)
		return err != nil || l.secret || !l.inside
	}
	was, files := slices.DeleteFunc(slices.Clone(out.was), secret), slices.DeleteFunc(slices.Clone(out.files), secret)
	if len(files) == 0 {
		return nil, false, ""
	}
	s, note := hook(ctx, &ts.hooks, func(ctx context.Context) said {
		r, err := ts.lsp.Changed(ctx, was, files)
		return said{r, err}
	})
	if s.err != nil && !errors.Is(s.err, context.Canceled) {
		note = joinNotes(note, s.err.Error())
	}
	if note != "" {
		out.result.Metadata["lspError"] = clip(note, 2000)
	}
	if s.report == nil {
		return nil, false, ""
	}
	if len(s.report.Late) > 0 {
		out.result.Metadata["diagnosticsPending"] = s.report.Late
		names := oneLine(clip(strings.Join(s.report.Late, ", "), 300))
		late = "\nNot checked yet: " + names + " had no answer in time. Ask for diagnostics with lsp before you rely on it."
	}
	for _, d := range s.report.New {
		perhapsOld = perhapsOld || d.Severity == "error" && slices.Contains(s.report.Unsure, d.Path)
	}
	return s.report.New, perhapsOld, late
}
