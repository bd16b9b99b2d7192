package builtin

import (
	"cmp"
	"context"
	_ "embed" // descriptions
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agenttool/tool"
)

//go:embed glob.md
var globDescription string

type globInput struct {
	Pattern string `json:"pattern" jsonschema:"file name pattern" alias:"glob,glob_pattern,query"`
	Path    string `json:"path,omitempty" jsonschema:"directory to search (default: the project)" alias:"directory,dir,dir_path,root,cwd"`
}

func defineGlob(ts *Toolset) (operation, error) {
	return define(ts, tool.Def{
		Name: "glob", Title: "Glob", Description: strings.TrimSpace(globDescription),
		Hints:    tool.Hints{ReadOnly: true, Idempotent: true},
		Parallel: true, MaxOutput: -1,
		Aliases: []string{"find_files", "list_files", "file_search"},
	}, ts.planGlob)
}

func (ts *Toolset) planGlob(_ context.Context, _ *tool.Call, in globInput) (*plan, error) {
	base, pattern := in.Path, in.Pattern
	if base == "" && filepath.IsAbs(pattern) {
		base, pattern = splitAbsolute(pattern)
	}
	g, err := parseGlob(pattern)
	if err != nil {
		return nil, err
	}
	l, err := ts.searchBase(base)
	if err != nil {
		return nil, err
	}
	p := &plan{asks: ts.askSearch(l, "glob", in.Pattern, in.Path)}
	fail := ts.missing(l)
	if fail == nil && !l.isDir() {
		fail = fmt.Errorf("%s is a file; path must be a directory", l.given)
	}
	if fail != nil {
		if ts.open(l) {
			return nil, fail
		}
		p.fail = fail
		return p, nil
	}
	p.apply = func(ctx context.Context, _ *tool.Call) (*outcome, error) { return ts.findFiles(ctx, l, g) }
	return p, nil
}

// splitAbsolute takes an absolute pattern apart where its first special character is.
func splitAbsolute(pattern string) (dir, rest string) {
	p := filepath.ToSlash(pattern)
	i := strings.IndexAny(p, `*?[{\`)
	if i < 0 {
		i = len(p)
	}
	cut := strings.LastIndexByte(p[:i], '/')
	return p[:cut+1], p[cut+1:]
}

// askSearch returns the questions of a search below l.
func (ts *Toolset) askSearch(l location, permission, pattern, name string) []ask {
	if l.spill {
		return nil
	}
	return append(ts.askOutside(l), ask{
		req: &tool.Request{
			Permission: permission, Title: "Search for " + clip(pattern, 200),
			Patterns: []string{pattern}, Always: []string{"*"},
			Metadata: map[string]any{"pattern": pattern, "path": name},
		},
		effect: l.abs,
	})
}

// found is a file that a search found.
type found struct {
	name  string
	mtime int64 // of the file, in nanoseconds
}

// newestFirst orders by time, then by name.
func newestFirst(a, b found) int {
	return cmp.Or(cmp.Compare(b.mtime, a.mtime), strings.Compare(a.name, b.name))
}

func (ts *Toolset) findFiles(ctx context.Context, l location, g *fileGlob) (*outcome, error) {
	t, err := ts.fsys.tree(l)
	if err != nil {
		return nil, err
	}
	defer t.close()
	g.escapeExisting(func(name string) bool {
		_, err := t.lstat(name)
		return err == nil
	})
	var hits []found
	w := &walker{tree: t, visit: func(name string, d fs.DirEntry) error {
		if g.match(name) {
			h := found{name: name}
			if info, err := d.Info(); err == nil {
				h.mtime = info.ModTime().UnixNano()
			}
			hits = append(hits, h)
		}
		return nil
	}}
	late, err := ts.search(ctx, func(ctx context.Context) error { return w.walk(ctx, ts.rulesAbove(l)) })
	if err != nil {
		return nil, err
	}
	slices.SortFunc(hits, newestFirst)
	n := min(len(hits), ts.limits.Matches)
	var b strings.Builder
	for _, h := range hits[:n] {
		b.WriteString(visible(shown(l, h.name)) + "\n")
	}
	switch {
	case len(hits) == 0 && !late:
		fmt.Fprintf(&b, "No files match %s (%s looked at).\n", clip(g.text, 200), plural(w.files, "file"))
	case n < len(hits):
		fmt.Fprintf(&b, "(the newest %d of %d files; narrow the pattern or the path to see others)\n", n, len(hits))
	}
	w.notes(&b, len(hits) == 0, late, ts.limits)
	return &outcome{result: &tool.Result{
		Title: clip(g.text, 200), Text: strings.TrimRight(b.String(), "\n"),
		Metadata: map[string]any{"count": len(hits), "truncated": n < len(hits) || late},
	}}, nil
}

// search runs f for at most the search time and reports whether that ended it.
func (ts *Toolset) search(ctx context.Context, f func(context.Context) error) (late bool, err error) {
	limited, cancel := context.WithTimeout(ctx, ts.limits.SearchTime)
	defer cancel()
	err = f(limited)
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return true, nil
	}
	return false, err
}

// notes says what a search did not look at.
func (w *walker) notes(b *strings.Builder, nothing, late bool, limits Limits) {
	if late {
		fmt.Fprintf(b, "(stopped after %s: not everything was searched; name a smaller path)\n", limits.SearchTime)
	}
	if w.unreadable > 0 {
		fmt.Fprintf(b, "(not searched: %d unreadable directories)\n", w.unreadable)
	}
	if w.ignoredFiles > 0 && nothing {
		fmt.Fprintf(b, "(%d ignored by .gitignore; name one as path to search it)\n", w.ignoredFiles)
	}
}
