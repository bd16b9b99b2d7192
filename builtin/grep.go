package builtin

import (
	"context"
	_ "embed" // descriptions
	"errors"
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/agenttool/tool"
	"github.com/agenttool/tool/internal/search"
	"github.com/agenttool/tool/internal/search/glob"
	"github.com/agenttool/tool/internal/search/pattern"
)

//go:embed grep.md
var grepDescription string

type grepInput struct {
	Pattern    string `json:"pattern" jsonschema:"regular expression (RE2)" alias:"regex,query,search,regexp"`
	Path       string `json:"path,omitempty" jsonschema:"file, directory or glob to search (default: the project)" alias:"directory,dir,dir_path,file_path,filePath"`
	Include    string `json:"include,omitempty" jsonschema:"only files whose name matches, as *.go; several with commas, exclude with !" alias:"glob,file_pattern,filePattern,includes"`
	Type       string `json:"type,omitempty" jsonschema:"only files of this kind: go, py, ts, ..." alias:"file_type,fileType"`
	Literal    bool   `json:"literal,omitempty" jsonschema:"pattern is plain text" alias:"literal_text,fixed_strings,fixedStrings,isLiteral"`
	IgnoreCase bool   `json:"ignoreCase,omitempty" jsonschema:"ignore case" alias:"ignore_case,case_insensitive,caseInsensitive,-i"`
	Word       bool   `json:"word,omitempty" jsonschema:"match whole words" alias:"word_regexp,wordRegexp,-w"`
	Multiline  bool   `json:"multiline,omitempty" jsonschema:"matches may span lines" alias:"multi_line"`
	Context    int    `json:"context,omitempty" jsonschema:"lines to show around each match" minimum:"0" maximum:"20" alias:"context_lines,contextLines,-C,-A,-B"`
	Output     string `json:"output,omitempty" jsonschema:"what to show (default content)" enum:"content,files,count" alias:"output_mode,outputMode"`
	Limit      int    `json:"limit,omitempty" jsonschema:"most matches (or files) to show (default 100)" minimum:"1" maximum:"10000" alias:"max_results,maxResults,head_limit"`
	Offset     int    `json:"offset,omitempty" jsonschema:"matches (or files) to skip, for the next page" minimum:"0" alias:"skip"`
	NoIgnore   bool   `json:"noIgnore,omitempty" jsonschema:"also what git ignores" alias:"no_ignore,includeIgnored,include_ignored"`
}

func defineGrep(ts *Toolset) (operation, error) {
	return defineChange(ts, tool.Def{
		Name: "grep", Title: "Grep", Description: strings.TrimSpace(grepDescription),
		Hints:    tool.Hints{ReadOnly: true, Idempotent: true},
		Parallel: true, MaxOutput: -1,
		Aliases: []string{"search_files", "ripgrep", "rg", "grep_search", "search"},
	}, ts.planGrep)
}

func (ts *Toolset) planGrep(ctx context.Context, a *attempt, in grepInput) (*plan, error) {
	q, note, err := in.query()
	if err != nil {
		return nil, err
	}
	l, err := ts.searchBase(in.Path)
	var wild string // a path that is a glob is searched for below the root
	if err == nil && !l.exists() && strings.ContainsAny(in.Path, "*?[{") {
		var dir string
		dir, wild = splitWild(in.Path)
		if _, err := glob.Compile("./"+wild, glob.Options{}); err != nil {
			return nil, fmt.Errorf("path: %w", err)
		}
		l, err = ts.searchBase(dir)
	}
	if err != nil {
		return nil, err
	}
	for i, g := range q.Include {
		q.Include[i] = ts.includeBelow(g)
	}
	p := &plan{asks: ts.spared(a.call, l, ts.askSearch(l, &a.reading, "grep", in.Pattern, in.Path))}
	if l.secret && !l.isDir() && !l.spill {
		p.asks = append(p.asks, ask{req: pathRequest("read", "Read "+l.display, l.display, true)})
	}
	fail := ts.missing(ctx, l)
	if fail == nil {
		fail = checkKind(l.given, l.info.Mode())
	}
	if fail != nil {
		if ts.open(l) {
			return nil, fail
		}
		p.fail = fail
		return p, nil
	}
	p.apply = func(ctx context.Context, _ *tool.Call) (*outcome, error) {
		return ts.findLines(ctx, l, &a.reading, wild, q, note, in)
	}
	return p, nil
}

// query checks everything that can be checked before anything is searched. The
// note says what was made of a pattern that is no regular expression.
func (in *grepInput) query() (q search.Query, note string, err error) {
	if in.Pattern == "" {
		return q, "", errors.New("the pattern is empty; to list files use glob")
	}
	q = search.Query{
		Pattern: in.Pattern, Literal: in.Literal, Word: in.Word, Multiline: in.Multiline,
		Before: in.Context, After: in.Context, Limit: in.Limit, Offset: in.Offset, Hints: hintTime,
	}
	if in.IgnoreCase {
		q.Case = pattern.Insensitive
	}
	switch in.Output {
	case "files":
		q.Output = search.FilesOnly
	case "count":
		q.Output = search.Counts
	}
	q.NoIgnore = in.NoIgnore
	q.Include = splitGlobs(in.Include)
	for _, g := range q.Include {
		if _, err := glob.Compile(g, glob.Options{}); err != nil {
			return q, "", fmt.Errorf("include: %w", err)
		}
	}
	if in.Type != "" {
		q.Types = splitGlobs(in.Type)
	}
	opt := pattern.Options{Case: q.Case, Literal: q.Literal, Word: q.Word, Multiline: q.Multiline}
	if _, err := pattern.Compile(in.Pattern, opt); err != nil {
		var pe *pattern.Error
		if q.Literal || !errors.As(err, &pe) || !pe.Literal {
			return q, "", err
		}
		opt.Literal, q.Literal = true, true
		if _, lerr := pattern.Compile(in.Pattern, opt); lerr != nil {
			return q, "", err
		}
		note = fmt.Sprintf("(the pattern is no regular expression: %s; it was searched as plain text)\n", pe.Reason)
	}
	return q, note, nil
}

// fewMatches is how many matches are shown with context without being asked to.
const fewMatches, autoContext = 3, 2

func (ts *Toolset) findLines(ctx context.Context, l location, rules *readRules, wild string, q search.Query, note string, in grepInput) (*outcome, error) {
	place, err := ts.searchPlace(l)
	if err != nil {
		return nil, err
	}
	defer place.done()
	s := place.scope(ts, rules, l.secret && !l.isDir())
	s.Include, s.Types, s.NoIgnore = q.Include, q.Types, q.NoIgnore
	if wild != "" {
		s.Paths = []string{path.Join(glob.Quote(place.name), wild)}
	}
	q.Scope = s
	if q.Limit == 0 {
		q.Limit = ts.limits.Matches
	}
	q.TotalsWithin = totalsTime
	if !l.isDir() {
		q.MaxPerFile = -1 // there is no other file that it could crowd out
	}
	res, err := ts.engine.Grep(ctx, place.root, q)
	if err != nil {
		return nil, searchError(ctx, err)
	}
	if q.Output == search.Lines && in.Context == 0 && in.Offset == 0 && res.Exact && res.Matches > 0 && res.Matches <= fewMatches {
		few := q
		few.Before, few.After, few.Paths = autoContext, autoContext, nil
		for _, f := range res.Files {
			few.Paths = append(few.Paths, f.Path)
		}
		if again, err := ts.engine.Grep(ctx, place.root, few); err == nil && again.Matches == res.Matches && len(again.Files) == len(res.Files) {
			res.Files, q.Before, q.After = again.Files, autoContext, autoContext
		}
	}
	r := &grepText{place: place, res: res, q: &q, in: &in, budget: min(ts.limits.ReadBytes, maxGrepText)}
	if wild != "" {
		r.wild = in.Path
	}
	r.b.WriteString(note)
	r.write()
	notes(&r.b, &res.Stats, res.TimedOut, res.Matches == 0, ts.limits.SearchTime)
	return &outcome{result: &tool.Result{
		Title: clip(in.Pattern, 200), Text: strings.TrimRight(r.b.String(), "\n"),
		Metadata: map[string]any{
			"matches": res.Matches, "files": res.MatchedFiles,
			"exact":    res.Exact && res.Stats.Unreadable+res.Stats.TooLarge == 0,
			"searched": res.Stats.Searched, "truncated": r.cut || res.TimedOut, "timedOut": res.TimedOut, "skipped": skipped(&res.Stats),
		},
	}}, nil
}

const (
	maxGrepText = 30 << 10               // bytes of text that a search shows
	totalsTime  = 500 * time.Millisecond // after which files are not searched just to be counted
)

// grepText writes what the model reads of a result.
type grepText struct {
	place  *searchPlace
	res    *search.Result
	q      *search.Query
	in     *grepInput
	wild   string // a path that is a glob
	budget int    // bytes
	b      strings.Builder
	cut    bool
}

func (r *grepText) write() {
	if r.res.Matches == 0 {
		r.nothing()
		return
	}
	least := ""
	if !r.res.Exact {
		least = "at least "
	}
	if r.q.Output == search.FilesOnly {
		verb := "match"
		if r.res.MatchedFiles == 1 {
			verb = "matches"
		}
		fmt.Fprintf(&r.b, "%s%s %s\n", least, plural(r.res.MatchedFiles, "file"), verb)
	} else {
		fmt.Fprintf(&r.b, "%s%s in %s\n", least, plural(r.res.Matches, "match"), plural(r.res.MatchedFiles, "file"))
	}
	shown, hidden := 0, 0
	for _, f := range r.res.Files {
		if r.b.Len() > r.budget {
			r.cut = true
			break
		}
		n, more := r.file(f)
		shown += n
		hidden += more
	}
	total, what := r.res.Matches, "matches"
	if r.q.Output != search.Lines {
		total, what = r.res.MatchedFiles, "files"
	}
	switch rest := total - r.in.Offset - shown - hidden; {
	case shown == 0:
		fmt.Fprintf(&r.b, "\n(offset %d is beyond the last)\n", r.in.Offset)
	case rest > 0 && (r.cut || shown >= r.q.Limit):
		r.cut = true
		fmt.Fprintf(&r.b, "\n(%d of %s%d %s shown; go on with offset=%d, or narrow the pattern, path or include)\n",
			shown, least, total, what, r.in.Offset+shown)
	case hidden > 0:
		r.cut = true
	}
}

// file writes one file and returns how many matches, or files, were shown, and how
// many matches no page shows, so that the file does not crowd out the others.
func (r *grepText) file(f search.FileMatch) (n, more int) {
	name := r.place.shown(f.Path)
	switch r.q.Output {
	case search.FilesOnly:
		fmt.Fprintln(&r.b, name)
		return 1, 0
	case search.Counts:
		fmt.Fprintf(&r.b, "%s: %d\n", name, f.Count)
		return 1, 0
	}
	fmt.Fprintf(&r.b, "\n%s\n", name)
	last := 0
	for _, line := range f.Lines {
		if r.b.Len() > r.budget {
			r.cut = true
			return n, 0
		}
		if last > 0 && line.Number > last+1 && r.q.Before+r.q.After > 0 {
			r.b.WriteString("--\n")
		}
		last = line.Number
		mark := ":"
		if line.Context {
			mark = "-"
		} else if !line.Continued {
			n++
		}
		before, after := "", ""
		if line.CutBefore && line.Column > 0 {
			mark = fmt.Sprintf(":%d:", line.Column)
		}
		if line.CutBefore {
			before = "…"
		}
		if line.CutAfter {
			after = "…"
		}
		fmt.Fprintf(&r.b, "%d%s %s%s%s\n", line.Number, mark, before, visible(line.Text), after)
	}
	if f.More > 0 {
		fmt.Fprintf(&r.b, "(%d more in this file; name it as path to see them)\n", f.More)
	}
	return n, f.More
}

func (r *grepText) nothing() {
	st := &r.res.Stats
	switch {
	case r.res.TimedOut:
		fmt.Fprintf(&r.b, "No matches so far: %s of at least %d searched.\n", plural(st.Searched, "file"), max(st.Files, st.Searched))
	case r.res.Exact && st.Skipped() == 0:
		fmt.Fprintf(&r.b, "No matches in %s.\n", plural(st.Searched, "file"))
	default:
		were := "were"
		if st.Searched == 1 {
			were = "was"
		}
		fmt.Fprintf(&r.b, "No matches in the %s that %s searched.\n", plural(st.Searched, "file"), were)
	}
	if st.Files == 0 && !r.res.TimedOut && st.Unreadable == 0 {
		for _, x := range [][2]string{{"path", r.wild}, {"include", r.in.Include}, {"type", r.in.Type}} {
			if x[1] != "" {
				fmt.Fprintf(&r.b, "(no file matches %s %s)\n", x[0], clip(x[1], 100))
				break
			}
		}
	}
	if h := r.res.Hints; h != nil {
		for _, x := range []struct {
			n    int
			text string
		}{
			{h.OtherCase, "if case were ignored (ignoreCase=true)"},
			{h.Ignored, "in files that git ignores (noIgnore=true)"},
			{h.Literal, "if the pattern were plain text (literal=true)"},
		} {
			if x.n > 0 {
				least := ""
				if !h.Complete {
					least = "at least "
				}
				fmt.Fprintf(&r.b, "(%s%s %s)\n", least, plural(x.n, "match"), x.text)
			}
		}
		if h.Ignored > 0 {
			st.Ignored, st.HiddenFiles = 0, 0
		}
	}
}
