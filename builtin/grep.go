package builtin

import (
	"bufio"
	"context"
	_ "embed" // descriptions
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/agenttool/tool"
)

//go:embed grep.md
var grepDescription string

type grepInput struct {
	Pattern string `json:"pattern" jsonschema:"regular expression (RE2)" alias:"regex,query,search,regexp"`
	Path    string `json:"path,omitempty" jsonschema:"file or directory to search (default: the project)" alias:"directory,dir,dir_path,file_path,filePath"`
	Include string `json:"include,omitempty" jsonschema:"only files whose name matches this pattern, as *.go" alias:"glob,file_pattern,filePattern,includes"`
}

func defineGrep(ts *Toolset) (operation, error) {
	return define(ts, tool.Def{
		Name: "grep", Title: "Grep", Description: strings.TrimSpace(grepDescription),
		Hints:    tool.Hints{ReadOnly: true, Idempotent: true},
		Parallel: true, MaxOutput: -1,
		Aliases: []string{"search_files", "ripgrep", "rg", "grep_search", "search"},
	}, ts.planGrep)
}

func (ts *Toolset) planGrep(_ context.Context, _ *tool.Call, in grepInput) (*plan, error) {
	re, err := compileRegexp(in.Pattern)
	if err != nil {
		return nil, err
	}
	var include *fileGlob
	if in.Include != "" {
		if include, err = parseGlob(in.Include); err != nil {
			return nil, fmt.Errorf("include: %w", err)
		}
	}
	l, err := ts.searchBase(in.Path)
	if err != nil {
		return nil, err
	}
	p := &plan{asks: ts.askSearch(l, "grep", in.Pattern, in.Path)}
	if l.secret && !l.isDir() && !l.spill {
		p.asks = append(p.asks, ask{req: pathRequest("read", "Read "+l.display, l.display, true)})
	}
	fail := ts.missing(l)
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
		s := &searcher{re: re, include: include, limit: ts.limits.Matches, names: ts.fsys.names}
		if l.isDir() {
			return ts.grepDir(ctx, l, s)
		}
		return ts.grepFile(ctx, l, s)
	}
	return p, nil
}

// maxRegexp bounds a pattern, in bytes: matching time grows with its size.
const maxRegexp = 1024

// compileRegexp explains what is wrong with a pattern.
func compileRegexp(pattern string) (*regexp.Regexp, error) {
	switch {
	case pattern == "":
		return nil, errors.New("the pattern is empty; to list files use glob")
	case len(pattern) > maxRegexp:
		return nil, fmt.Errorf("the pattern is longer than %d bytes; search for less at once", maxRegexp)
	}
	re, err := regexp.Compile(pattern)
	if err == nil {
		return re, nil
	}
	hint := `To search for the text itself, escape special characters with \, as in foo\(`
	var se *syntax.Error
	if errors.As(err, &se) {
		switch {
		case strings.HasPrefix(se.Expr, "(?=") || strings.HasPrefix(se.Expr, "(?!") || strings.HasPrefix(se.Expr, "(?<"):
			hint = "Look-around is not supported (RE2): search for the plain part and look through the matches"
		case se.Code == syntax.ErrInvalidEscape && len(se.Expr) == 2 && '1' <= se.Expr[1] && se.Expr[1] <= '9':
			hint = "Back-references are not supported (RE2): spell out what is to repeat"
		case se.Code == syntax.ErrInvalidEscape:
			hint = "RE2 does not know this escape; drop the backslash if the character itself is meant"
		}
		return nil, fmt.Errorf("invalid regular expression: %s: `%s`. %s", se.Code, clip(se.Expr, 100), hint)
	}
	return nil, fmt.Errorf("invalid regular expression: %w. %s", err, hint)
}

// searcher finds matching lines.
type searcher struct {
	re      *regexp.Regexp
	include *fileGlob
	limit   int // lines kept per file
	names   nameRules

	files    []foundLines
	total    int // matching lines
	searched int // files
	binary   int
	secret   int
	failed   int // files that could not be read
	long     int // lines of which only the beginning was searched
}

type foundLines struct {
	found
	lines []string
	total int
}

const (
	maxSearchLine = 1 << 20 // bytes of a line that are searched
	maxShownLine  = 400     // runes of a matching line that are shown
)

func (ts *Toolset) grepDir(ctx context.Context, l location, s *searcher) (*outcome, error) {
	t, err := ts.fsys.tree(l)
	if err != nil {
		return nil, err
	}
	defer t.close()
	w := &walker{tree: t}
	late, err := ts.search(ctx, func(ctx context.Context) error {
		w.visit = func(name string, d fs.DirEntry) error {
			if !d.Type().IsRegular() || s.include != nil && !s.include.match(name) {
				return nil
			}
			if !l.spill && s.names.secret(path.Join(l.display, name)) {
				s.secret++
				return nil
			}
			file, info, err := t.open(name)
			if err != nil {
				s.failed++
				return nil
			}
			defer file.Close()
			return s.file(ctx, shown(l, name), file, info)
		}
		return w.walk(ctx, ts.rulesAbove(l))
	})
	if err != nil {
		return nil, err
	}
	return ts.grepResult(s, w, late), nil
}

func (ts *Toolset) grepFile(ctx context.Context, l location, s *searcher) (*outcome, error) {
	file, info, err := ts.fsys.open(l)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	late, err := ts.search(ctx, func(ctx context.Context) error { return s.file(ctx, l.display, file, info) })
	if err != nil {
		return nil, err
	}
	return ts.grepResult(s, &walker{}, late), nil
}

// file searches one open file. Errors are those of ctx; others are counted.
func (s *searcher) file(ctx context.Context, name string, r io.Reader, info fs.FileInfo) error {
	br := bufio.NewReaderSize(&ctxReader{ctx, r}, 64<<10)
	head, err := br.Peek(sniffLen)
	if err == nil || errors.Is(err, io.EOF) {
		if isBinary(head) {
			s.binary++
			return nil
		}
	}
	f := foundLines{found: found{name: name, mtime: info.ModTime().UnixNano()}}
	var line []byte
	cut := false
	for n := 1; ; {
		part, err := br.ReadSlice('\n')
		room := min(maxSearchLine-len(line), len(part))
		line = append(line, part[:room]...)
		cut = cut || room < len(part)
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err == nil || len(line) > 0 {
			s.line(&f, n, line)
		}
		if cut {
			s.long++
		}
		line, cut = line[:0], false
		n++
		if err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if !errors.Is(err, io.EOF) {
				s.failed++
			}
			break
		}
	}
	s.searched++
	if f.total > 0 {
		s.total += f.total
		s.files = append(s.files, f)
	}
	return nil
}

func (s *searcher) line(f *foundLines, n int, line []byte) {
	text := line
	if len(text) > 0 && text[len(text)-1] == '\n' {
		text = text[:len(text)-1]
	}
	if len(text) > 0 && text[len(text)-1] == '\r' {
		text = text[:len(text)-1]
	}
	if n == 1 && strings.HasPrefix(string(text[:min(3, len(text))]), string(bom)) {
		text = text[len(bom):]
	}
	if len(f.lines) >= s.limit {
		if s.re.Match(text) {
			f.total++
		}
		return
	}
	if at := s.re.FindIndex(text); at != nil {
		f.total++
		f.lines = append(f.lines, fmt.Sprintf("%d: %s", n, visible(window(string(text), at[0], maxShownLine))))
	}
}

// window cuts a long line to about limit runes around an offset.
func window(s string, at, limit int) string {
	if len(s) <= limit || utf8.RuneCountInString(s) <= limit {
		return s
	}
	from := at
	for n := 0; from > 0 && n < limit/4; n++ {
		from--
		for from > 0 && !utf8.RuneStart(s[from]) {
			from--
		}
	}
	to, n := from, 0
	for to < len(s) && n < limit {
		_, size := utf8.DecodeRuneInString(s[to:])
		to += size
		n++
	}
	out := s[from:to]
	if from > 0 {
		out = "…" + out
	}
	if to < len(s) {
		out += "…"
	}
	return out
}

func (ts *Toolset) grepResult(s *searcher, w *walker, late bool) *outcome {
	slices.SortFunc(s.files, func(a, b foundLines) int { return newestFirst(a.found, b.found) })
	var b strings.Builder
	if s.total == 0 {
		fmt.Fprintf(&b, "No matches in %s.\n", plural(s.searched, "file"))
	} else {
		fmt.Fprintf(&b, "%s in %s\n", plural(s.total, "match"), plural(len(s.files), "file"))
	}
	left, budget := s.limit, ts.limits.ReadBytes
	for _, f := range s.files {
		if left == 0 || b.Len() > budget {
			break
		}
		fmt.Fprintf(&b, "\n%s\n", visible(f.name))
		n := 0
		for _, line := range f.lines[:min(left, len(f.lines))] {
			if b.Len() > budget {
				break
			}
			b.WriteString(line + "\n")
			n++
		}
		left -= n
		if n < f.total {
			fmt.Fprintf(&b, "(%d more in this file)\n", f.total-n)
		}
	}
	shownLines := s.limit - left
	cut := shownLines < s.total
	if cut {
		fmt.Fprintf(&b, "\n(the first %d of %d matches; narrow the pattern, path or include to see others)\n", shownLines, s.total)
	}
	if s.secret > 0 {
		fmt.Fprintf(&b, "(not searched: %s with secrets; name one as path to ask for it)\n", plural(s.secret, "file"))
	}
	if s.failed > 0 {
		fmt.Fprintf(&b, "(not searched: %s that could not be read)\n", plural(s.failed, "file"))
	}
	if s.long > 0 {
		fmt.Fprintf(&b, "(of %s only the first MiB was searched)\n", plural(s.long, "very long line"))
	}
	if s.binary > 0 && s.total == 0 {
		fmt.Fprintf(&b, "(not searched: %s)\n", plural(s.binary, "binary file"))
	}
	w.notes(&b, s.total == 0, late, ts.limits)
	return &outcome{result: &tool.Result{
		Title: clip(s.re.String(), 200), Text: strings.TrimRight(b.String(), "\n"),
		Metadata: map[string]any{
			"matches": s.total, "files": len(s.files), "truncated": cut || late,
			"skipped": map[string]any{"binary": s.binary, "secret": s.secret, "unreadable": s.failed + w.unreadable, "ignored": w.ignoredFiles},
		},
	}}
}
