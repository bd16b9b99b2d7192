package builtin

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/agenttool/tool"
	"github.com/agenttool/tool/internal/lsp"
	"github.com/agenttool/tool/internal/search"
	"github.com/agenttool/tool/internal/search/glob"
	"github.com/agenttool/tool/internal/textfile"
)

// languageServers is an LSP over servers that are started here.
type languageServers struct {
	client *lsp.Client
	limit  time.Duration // for diagnostics after a change
}

// indexTime is how long a question waits for a server that has found nothing and
// is still loading the project.
const indexTime = 15 * time.Second

func (s *languageServers) Open(path string) { s.client.Open(path) }

// watch shows what the servers are doing until the call that waits for them is
// over, which stop says.
func (s *languageServers) watch(call *tool.Call, title, path string) (stop func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		t := time.NewTicker(time.Second)
		defer t.Stop()
		for last := ""; ; {
			select {
			case <-done:
				return
			case <-t.C:
			}
			if now := visible(s.client.Status(path)); now != last {
				last = now
				call.Update(tool.Update{Title: title, Text: now, Metadata: map[string]any{"status": now}})
			}
		}
	}()
	return func() {
		close(done)
		<-ended
	}
}

func (s *languageServers) close() error { return s.client.Close() }

func (s *languageServers) Changed(ctx context.Context, before, after []SourceFile) (*LSPReport, error) {
	r, err := s.client.Changed(ctx, lspChanges(before, after), s.limit)
	if r == nil {
		return nil, err
	}
	out := &LSPReport{Unsure: r.Unsure, Late: r.Late}
	for _, d := range r.New {
		out.New = append(out.New, lspDiagnostic(d))
	}
	return out, err
}

// lspChanges pairs what files held with what they hold. A file that is new and
// comes right before one that is gone is taken for the same, moved: what was wrong
// with it then is not new.
func lspChanges(before, after []SourceFile) []lsp.Change {
	was := make(map[string]SourceFile)
	for _, f := range before {
		was[f.Path] = f
	}
	var out []lsp.Change
	for i, f := range after {
		old := was[f.Path]
		if old.Content == nil && f.Content == nil {
			continue
		}
		c := lsp.Change{Path: f.Path, Before: sourceText(old.Content), Created: old.Content == nil, Deleted: f.Content == nil}
		if n := len(out); c.Deleted && i > 0 && n > 0 && out[n-1].Created && out[n-1].Path == after[i-1].Path {
			out[n-1].From, out[n-1].Before, out[n-1].Created = c.Path, c.Before, false
			continue
		}
		out = append(out, c)
	}
	return out
}

// sourceText is a file's content as language servers see it.
func sourceText(raw []byte) string {
	f, err := textfile.Decode(raw, nil)
	if err != nil {
		return clean(raw)
	}
	return diffText(f, raw)
}

func (s *languageServers) Query(ctx context.Context, q *LSPQuery) (*LSPAnswer, error) {
	if q.Operation == LSPDiagnostics {
		list, busy, err := s.client.Diagnostics(ctx, q.Path, indexTime)
		if err != nil {
			return nil, err
		}
		a := &LSPAnswer{Busy: busy}
		for _, d := range list {
			a.Diagnostics = append(a.Diagnostics, lspDiagnostic(d))
		}
		return a, nil
	}
	name := q.Query
	switch q.Operation {
	case LSPRename:
		name = q.NewName
	case LSPCodeActions:
		name = q.Action
	}
	r, err := s.client.Query(ctx, lsp.Query{
		Op: lsp.Op(q.Operation), Path: q.Path, At: lsp.Position(q.At), End: lsp.Position(q.End), Name: name, IndexFor: indexTime,
	})
	if err != nil {
		return nil, err
	}
	a := &LSPAnswer{
		Server: r.Server, Locations: lspLocations(r.Locations), Declarations: lspLocations(r.Declarations), Hover: r.Hover,
	}
	if r.Busy != "" {
		a.Busy = r.Server + " is busy: " + r.Busy
	}
	for _, x := range r.Symbols {
		a.Symbols = append(a.Symbols, lspSymbol(x))
	}
	for _, x := range r.Calls {
		a.Calls = append(a.Calls, LSPCall{Symbol: lspSymbol(x.Symbol), Sites: lspLocations(x.Sites)})
	}
	for _, x := range r.Actions {
		a.Actions = append(a.Actions, LSPAction(x))
	}
	for _, x := range r.Edits {
		e := LSPFileEdit{Operation: x.Op, Path: x.Path, To: x.To, Text: x.Text}
		for _, t := range x.Edits {
			e.Edits = append(e.Edits, LSPTextEdit{LSPPosition(t.Start), LSPPosition(t.End), t.NewText})
		}
		a.Edits = append(a.Edits, e)
	}
	return a, nil
}

func lspLocation(l lsp.Location) LSPLocation {
	return LSPLocation{l.Path, LSPPosition(l.Start), LSPPosition(l.End)}
}

func lspLocations(list []lsp.Location) []LSPLocation {
	var out []LSPLocation
	for _, l := range list {
		out = append(out, lspLocation(l))
	}
	return out
}

func lspSymbol(s lsp.Symbol) LSPSymbol {
	return LSPSymbol{Name: s.Name, Kind: s.Kind, Detail: s.Detail, Container: s.Container, Location: lspLocation(s.Location), Depth: s.Depth}
}

func lspDiagnostic(d lsp.Diagnostic) Diagnostic {
	names := [...]string{"error", "error", "warning", "information", "hint"}
	return Diagnostic{
		Path: d.Path, Line: d.Start.Line, Column: d.Start.Column, Severity: names[d.Severity], Message: d.Message, Source: d.Source, Code: d.Code,
	}
}

// lspFiles is how language servers' files are looked at: those of the project that
// are no secret. What lies outside, a server may name but not have read here.
type lspFiles struct{ ts *Toolset }

// maxLSPFile is the size of the largest file that is given to a language server.
const maxLSPFile = 8 << 20

// locate resolves a path that may be looked at.
func (f lspFiles) locate(name string) (location, error) {
	l, err := f.ts.fsys.resolve(name)
	switch {
	case err != nil:
		return l, err
	case !l.inside || l.secret:
		return l, fmt.Errorf("%s: %w", l.display, fs.ErrPermission)
	case !l.exists():
		return l, fmt.Errorf("%s: %w", l.display, fs.ErrNotExist)
	case !l.info.Mode().IsRegular():
		return l, fmt.Errorf("%s: %w", l.display, fs.ErrInvalid)
	}
	return l, nil
}

func (f lspFiles) Text(name string) (string, error) {
	l, err := f.locate(name)
	if err != nil {
		return "", err
	}
	var raw []byte
	err = atRest(f.ts.ctx, func() (err error) {
		raw, _, err = textfile.ReadFile(f.ts.ctx, f.ts.fsys.root, l.Path, maxLSPFile)
		return err
	})
	if err != nil {
		return "", err
	}
	file, err := textfile.Decode(raw, f.ts.decodeOptions(l.Path))
	if err != nil {
		return "", err
	}
	return diffText(file, raw), nil
}

func (f lspFiles) Stat(name string) (lsp.Stamp, error) {
	l, err := f.locate(name)
	if err != nil {
		return lsp.Stamp{}, err
	}
	return lsp.Stamp{Size: l.info.Size(), ModTime: l.info.ModTime().UnixNano()}, nil
}

// maxScanned is how many files are watched for changes by other hands.
const maxScanned = 20_000

func (f lspFiles) Scan(ctx context.Context, exts, names []string) (map[string]lsp.Stamp, bool) {
	out := make(map[string]lsp.Stamp)
	root, err := f.ts.fsys.resolve(f.ts.fsys.dir)
	if err != nil {
		return out, false
	}
	place, err := f.ts.searchPlace(root)
	if err != nil {
		return out, false
	}
	defer place.done()
	var parts []string
	for _, e := range exts {
		parts = append(parts, "*"+glob.Quote(e))
	}
	for _, n := range names {
		parts = append(parts, glob.Quote(n))
	}
	if len(parts) == 0 {
		return out, true
	}
	pattern := "**/" + parts[0]
	if len(parts) > 1 {
		pattern = "**/{" + strings.Join(parts, ",") + "}"
	}
	q := search.GlobQuery{Scope: place.scope(f.ts, nil, true), Pattern: pattern, Limit: maxScanned}
	res, err := f.ts.engine.Glob(ctx, place.root, q)
	if err != nil || res == nil {
		return out, false
	}
	for _, e := range res.Entries {
		if e.Dir || e.Link {
			continue
		}
		out[filepath.Join(f.ts.fsys.dir, filepath.FromSlash(path.Clean(e.Path)))] = lsp.Stamp{Size: e.Size, ModTime: e.ModTime.UnixNano()}
	}
	return out, res.Exact && res.More == 0
}
