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
	return defineChange(ts, tool.Def{
		Name: "glob", Title: "Glob", Description: strings.TrimSpace(globDescription),
		Hints:    tool.Hints{ReadOnly: true, Idempotent: true},
		Parallel: true, MaxOutput: -1,
		Aliases: []string{"find_files", "list_files", "file_search"},
	}, ts.planGlob)
}

func (ts *Toolset) planGlob(ctx context.Context, a *attempt, in globInput) (*plan, error) {
	base, pattern := in.Path, in.Pattern
	if filepath.IsAbs(pattern) {
		base, pattern = ts.splitAbsolute(pattern)
	}
	if strings.TrimSpace(pattern) == "" {
		return nil, fmt.Errorf("the pattern is empty; ** finds every file")
	}
	if _, err := glob.Compile(pattern, glob.Options{}); err != nil {
		// A file may be called what is no pattern.
		l, lerr := ts.searchBase(filepath.Join(base, pattern))
		if lerr != nil || !l.inside || !l.exists() {
			return nil, err
		}
		if pattern = "./" + glob.Quote(pattern); !compiles(pattern) {
			return nil, err
		}
	}
	base, pattern = ts.throughLink(base, pattern)
	l, err := ts.searchBase(base)
	if err != nil {
		return nil, err
	}
	p := &plan{asks: ts.spared(a.call, l, ts.askSearch(l, &a.reading, "glob", in.Pattern, in.Path))}
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
	p.apply = func(ctx context.Context, _ *tool.Call) (*outcome, error) {
		return ts.findFiles(ctx, l, &a.reading, pattern, in)
	}
	return p, nil
}

func compiles(pattern string) bool {
	_, err := glob.Compile(pattern, glob.Options{})
	return err == nil
}

// splitAbsolute takes an absolute pattern apart. What begins with a slash but is
// not there as an absolute path is meant from the project down.
func (ts *Toolset) splitAbsolute(pattern string) (dir, rest string) {
	dir, rest = splitWild(pattern)
	if l, err := ts.searchBase(dir); err == nil && !l.exists() {
		if l, err := ts.searchBase("." + dir); err == nil && l.isDir() {
			dir = "." + dir
		}
	}
	if rest != "" {
		rest = "./" + rest // at the top of dir, not at any depth
	}
	return dir, rest
}

// splitWild takes a name apart before the first part that has a special character,
// or that is the last.
func splitWild(name string) (dir, rest string) {
	p := filepath.ToSlash(name)
	i := strings.IndexAny(p, `*?[{\`)
	if i < 0 {
		i = len(p)
	}
	cut := strings.LastIndexByte(p[:i], '/')
	return p[:cut+1], p[cut+1:]
}

// throughLink moves the start of a search by name to where the plain directories
// at the front of the pattern lead, if a link is among them: a search enters no
// links but those that were named, and what lies outside has to be asked for.
func (ts *Toolset) throughLink(base, pattern string) (dir, rest string) {
	front, rest := splitWild(strings.TrimPrefix(pattern, "./"))
	if front == "" || strings.HasPrefix(front, "/") || strings.HasPrefix(front, "!") || rest == "" {
		return base, pattern
	}
	from, err := ts.searchBase(base)
	if err != nil {
		return base, pattern
	}
	to, err := ts.searchBase(filepath.Join(base, front))
	if err != nil || !to.isDir() || to.abs == filepath.Join(from.abs, front) {
		return base, pattern
	}
	return filepath.Join(base, front), "./" + rest
}

func (ts *Toolset) findFiles(ctx context.Context, l location, rules *readRules, pattern string, in globInput) (*outcome, error) {
	place, err := ts.searchPlace(l)
	if err != nil {
		return nil, err
	}
	defer place.done()
	q := search.GlobQuery{Scope: place.scope(ts, rules, false), Pattern: pattern, Limit: in.Limit, Offset: in.Offset, Hints: hintTime}
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
		if h := res.Hints; h != nil {
			if h.OtherCase > 0 {
				var like []string
				for _, p := range h.Paths {
					like = append(like, place.shown(p))
				}
				if h.OtherCase > len(like) {
					like = append(like, "…")
				}
				fmt.Fprintf(&b, "(%s would match if case were ignored: %s)\n", plural(h.OtherCase, "file"), strings.Join(like, ", "))
			}
			res.Hidden = max(res.Hidden, h.Ignored)
		}
		if strings.Contains(in.Pattern, ",") && !strings.ContainsAny(in.Pattern, "{[\\") {
			b.WriteString("(a comma is part of a name; alternatives are written as {*.a,*.b})\n")
		}
		if at, err := ts.searchBase(filepath.Join(l.abs, pattern)); err == nil && at.inside && at.isDir() && !strings.HasSuffix(pattern, "/") {
			fmt.Fprintf(&b, "(%s is a directory; its files are %s/**)\n", at.display, at.display)
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
	res.Exact = res.Exact && res.Stats.Unreadable == 0
	if n := res.Stats.Denied; n > 0 {
		fmt.Fprintf(&b, "(not listed: %s that the permissions deny reading)\n", plural(n, "file"))
	}
	res.Stats.Private, res.Stats.Denied = 0, 0 // names of secret files are listed
	notes(&b, &res.Stats, res.TimedOut, nothing, ts.limits.SearchTime)
	return &outcome{result: &tool.Result{
		Title: clip(in.Pattern, 200), Text: strings.TrimRight(b.String(), "\n"),
		Metadata: map[string]any{"count": res.Total, "exact": res.Exact, "truncated": more > 0 || res.TimedOut, "timedOut": res.TimedOut},
	}}, nil
}
