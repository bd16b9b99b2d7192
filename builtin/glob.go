package builtin

import (
	"context"
	_ "embed" // descriptions
	"fmt"
	"path/filepath"
	"strings"

	"github.com/agenttool/tool"
	"github.com/agenttool/tool/internal/search"
	"github.com/agenttool/tool/internal/search/glob"
)

//go:embed glob.md
var globDescription string

type globInput struct {
	Pattern  string `json:"pattern" jsonschema:"file name pattern" alias:"glob,glob_pattern,query"`
	Path     string `json:"path,omitempty" jsonschema:"directory to search (default: the project)" alias:"directory,dir,dir_path,root,cwd"`
	Limit    int    `json:"limit,omitempty" jsonschema:"most files to show (default 100)" minimum:"1" maximum:"10000" alias:"max_results,maxResults,head_limit"`
	Offset   int    `json:"offset,omitempty" jsonschema:"files to skip, for the next page" minimum:"0" alias:"skip"`
	NoIgnore bool   `json:"noIgnore,omitempty" jsonschema:"also what git ignores" alias:"no_ignore,includeIgnored,include_ignored"`
}

func defineGlob(ts *Toolset) (operation, error) {
	return define(ts, tool.Def{
		Name: "glob", Title: "Glob", Description: strings.TrimSpace(globDescription),
		Hints:    tool.Hints{ReadOnly: true, Idempotent: true},
		Parallel: true, MaxOutput: -1,
		Aliases: []string{"find_files", "list_files", "file_search"},
	}, ts.planGlob)
}

func (ts *Toolset) planGlob(ctx context.Context, _ *tool.Call, in globInput) (*plan, error) {
	base, pattern := in.Path, in.Pattern
	if base == "" && filepath.IsAbs(pattern) {
		base, pattern = splitAbsolute(pattern)
	}
	if strings.TrimSpace(pattern) == "" {
		return nil, fmt.Errorf("the pattern is empty; ** finds every file")
	}
	if _, err := glob.Compile(pattern, glob.Options{}); err != nil {
		return nil, err
	}
	l, err := ts.searchBase(base)
	if err != nil {
		return nil, err
	}
	p := &plan{asks: ts.askSearch(l, "glob", in.Pattern, in.Path)}
	fail := ts.missing(ctx, l)
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
	p.apply = func(ctx context.Context, _ *tool.Call) (*outcome, error) { return ts.findFiles(ctx, l, pattern, in) }
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

func (ts *Toolset) findFiles(ctx context.Context, l location, pattern string, in globInput) (*outcome, error) {
	place, err := ts.searchPlace(l)
	if err != nil {
		return nil, err
	}
	defer place.done()
	q := search.GlobQuery{Scope: place.scope(ts), Pattern: pattern, Limit: in.Limit, Offset: in.Offset, Hints: hintTime}
	if q.Limit == 0 {
		q.Limit = ts.limits.Matches
	}
	q.NoIgnore = in.NoIgnore
	res, err := ts.engine.Glob(ctx, place.root, q)
	if err != nil {
		return nil, searchError(ctx, err)
	}
	var b strings.Builder
	var names []string
	for _, e := range res.Entries {
		if b.Len() > ts.limits.ReadBytes {
			break
		}
		names = append(names, place.shown(e.Path))
		b.WriteString(names[len(names)-1] + "\n")
	}
	more := res.Total - in.Offset - len(names)
	nothing := res.Total == 0
	switch {
	case nothing && !res.TimedOut:
		fmt.Fprintf(&b, "No files match %s.\n", clip(in.Pattern, 200))
		if h := res.Hints; h != nil && h.OtherCase > 0 {
			fmt.Fprintf(&b, "(%s would match if case were ignored)\n", plural(h.OtherCase, "file"))
		}
	case len(names) == 0 && !nothing:
		fmt.Fprintf(&b, "There are %s; offset %d is beyond the last.\n", plural(res.Total, "file"), in.Offset)
	case more > 0:
		total := fmt.Sprint(res.Total)
		if !res.Exact {
			total = "at least " + total
		}
		fmt.Fprintf(&b, "(the newest %d to %d of %s files; go on with offset=%d or narrow the pattern)\n", in.Offset+1, in.Offset+len(names), total, in.Offset+len(names))
	}
	if h := res.Hidden; h > 0 && nothing {
		fmt.Fprintf(&b, "(%s that git ignores would match; noIgnore=true shows them)\n", plural(h, "file"))
		res.Stats.Ignored = 0
	}
	res.Stats.Private = 0 // names are listed
	notes(&b, &res.Stats, res.TimedOut, nothing, ts.limits.SearchTime)
	return &outcome{result: &tool.Result{
		Title: clip(in.Pattern, 200), Text: strings.TrimRight(b.String(), "\n"),
		Metadata: map[string]any{"count": res.Total, "exact": res.Exact, "truncated": more > 0 || res.TimedOut},
	}}, nil
}
