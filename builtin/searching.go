package builtin

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/agenttool/tool"
	"github.com/agenttool/tool/internal/search"
	"github.com/agenttool/tool/internal/textfile"
)

// hintTime is how long a search that found nothing looks for the reason.
const hintTime = 300 * time.Millisecond

// newEngine makes the engine behind glob, grep and ls. The user's own ignore file
// counts, as it does for git.
func newEngine() *search.Engine {
	return search.New(search.Options{ExcludesFile: search.UserExcludes(), TempSuffix: tempSuffix, Decode: legacyText})
}

// legacyText says how to turn a file that begins with sample into UTF-8, so that
// what read shows is what grep searches; nil if it is UTF-8 or no text.
func legacyText(sample []byte) func([]byte) ([]byte, error) {
	if i := bytes.LastIndexByte(sample, '\n'); i > 0 && len(sample) >= 64<<10 {
		sample = sample[:i+1&^3] // not within a character, also of UTF-16 and UTF-32
	}
	f, err := textfile.Decode(sample, nil)
	if err != nil || f.Lossy || f.Encoding.Plain() {
		return nil
	}
	return func(content []byte) ([]byte, error) {
		f, err := textfile.Decode(content, nil)
		if err != nil {
			return nil, err
		}
		return []byte(f.Text), nil
	}
}

// searchPlace is where a search happens: what it is about lies at name below root.
type searchPlace struct {
	root *os.Root
	name string // "" for the root itself
	at   location
	base string // how paths below root are shown: what stands before them
	done func()
}

// searchPlace opens the place of l. What is inside the project is searched from
// the project down, so that its ignore rules hold.
func (ts *Toolset) searchPlace(l location) (*searchPlace, error) {
	root, rel, done, err := ts.fsys.anchor(l)
	if err != nil {
		return nil, err
	}
	p := &searchPlace{root: root, name: filepath.ToSlash(rel), at: l, done: done}
	if p.name == "." {
		p.name = ""
	}
	if !l.inside {
		p.base = filepath.ToSlash(l.abs)
		if p.name != "" {
			p.base = path.Dir(p.base)
		}
	}
	return p, nil
}

// shown is how a path below the root is told to the model.
func (p *searchPlace) shown(name string) string { return visible(p.path(name)) }

// path is a path below the root as the other tools know it.
func (p *searchPlace) path(name string) string {
	if p.base == "" {
		return name
	}
	return path.Join(p.base, name)
}

// scope is the part of a query that glob and grep share. With named no file is
// private: the content of a secret one was asked for, and allowed.
func (p *searchPlace) scope(ts *Toolset, rules *readRules, named bool) search.Scope {
	s := search.Scope{Timeout: ts.limits.SearchTime}
	if p.name != "" {
		s.Paths = []string{p.name}
	}
	if p.at.spill || named {
		return s
	}
	privacy := rules.privacy(ts.fsys.names.secret)
	s.Private = func(name string) search.Privacy { return privacy(p.path(name)) }
	return s
}

// searchBase resolves the directory or file that a search begins at; "" is the root.
func (ts *Toolset) searchBase(name string) (location, error) {
	if name == "" {
		name = ts.fsys.dir
	}
	return ts.fsys.resolve(name)
}

// askSearch returns the questions of a search below l.
func (ts *Toolset) askSearch(l location, rules *readRules, permission, pattern, name string) []ask {
	if l.spill {
		return nil
	}
	return append(ts.askOutside(l), ask{
		req: &tool.Request{
			Permission: permission, Title: "Search for " + clip(pattern, 200),
			Patterns: []string{pattern}, Always: []string{"*"},
			Judge:    rules.judge(permission, []string{pattern}),
			Metadata: map[string]any{"pattern": pattern, "path": name},
		},
		effect: l.abs,
	})
}

// notes says what a search did not look at. Ignored files are worth a word only
// when nothing was found.
func notes(b *strings.Builder, st *search.Stats, timedOut, nothing bool, limit time.Duration) {
	if timedOut {
		much := ""
		if st.Searched > 0 && !nothing {
			much = fmt.Sprintf(", %s of at least %d", plural(st.Searched, "file"), max(st.Files, st.Searched))
		}
		fmt.Fprintf(b, "(stopped after %s: not everything was searched%s; name a smaller path)\n", limit, much)
	}
	for _, n := range []struct {
		count     int
		one, many string
		text      string
	}{
		{st.Private, "file", "files", "with secrets; name one as path to ask for it"},
		{st.Denied, "file", "files", "that the permissions deny reading"},
		{st.Unreadable, "file or directory", "files or directories", "that could not be read"},
		{st.TooLarge, "file", "files", "too large for this search"},
	} {
		switch {
		case n.count == 1:
			fmt.Fprintf(b, "(not searched: 1 %s %s)\n", n.one, n.text)
		case n.count > 1:
			fmt.Fprintf(b, "(not searched: %d %s %s)\n", n.count, n.many, n.text)
		}
	}
	if !nothing {
		return
	}
	if st.Binary > 0 {
		fmt.Fprintf(b, "(not searched: %s)\n", plural(st.Binary, "binary file"))
	}
	switch n := st.Ignored + st.HiddenFiles; {
	case n == 1:
		fmt.Fprintf(b, "(1 ignored file or directory was passed over; noIgnore=true searches it)\n")
	case n > 1:
		fmt.Fprintf(b, "(%d ignored files and directories were passed over; noIgnore=true searches them)\n", n)
	}
}

// skipped is what the metadata of a search say of the same.
func skipped(st *search.Stats) map[string]any {
	return map[string]any{
		"binary": st.Binary, "secret": st.Private, "denied": st.Denied, "unreadable": st.Unreadable,
		"ignored": st.Ignored, "tooLarge": st.TooLarge,
	}
}

// splitGlobs takes a list of globs apart: at commas, and at blanks. If not each
// part looks like a glob or the name of a file, the blanks may belong to a name,
// as in "My Notes*.md", and the whole counts too.
func splitGlobs(list string) []string {
	var out []string
	for _, g := range splitOutside(list, ",\n") {
		parts := splitOutside(g, " \t")
		if slices.ContainsFunc(parts, func(p string) bool { return !strings.ContainsAny(p, "*?!.") }) {
			out = append(out, g)
			if len(parts) == 1 {
				continue
			}
		}
		out = append(out, parts...)
	}
	return out
}

// splitOutside takes a list apart at any of the separators that is outside of
// braces and brackets.
func splitOutside(list, separators string) []string {
	var out []string
	depth, start := 0, 0
	flush := func(end int) {
		if g := strings.TrimSpace(list[start:end]); g != "" {
			out = append(out, g)
		}
		start = end + 1
	}
	for i := range len(list) {
		switch c := list[i]; {
		case c == '{' || c == '[':
			depth++
		case (c == '}' || c == ']') && depth > 0:
			depth--
		case depth == 0 && strings.IndexByte(separators, c) >= 0:
			flush(i)
		}
	}
	flush(len(list))
	return out
}

// includeBelow makes an include relative to the project if it is absolute, and one
// that names a directory mean what is in it.
func (ts *Toolset) includeBelow(g string) string {
	g, not := strings.CutPrefix(g, "!")
	if strings.HasSuffix(g, "/") {
		g += "**"
	}
	if filepath.IsAbs(g) && within(ts.fsys.dir, filepath.Clean(g)) {
		g = "./" + ts.fsys.rel(g)
	}
	if !not && !strings.ContainsAny(g, "*?[{\\") {
		if l, err := ts.fsys.resolve(g); err == nil && l.inside && l.isDir() {
			g = "./" + strings.TrimPrefix(filepath.ToSlash(g), "./") + "/**"
		}
	}
	if not {
		return "!" + g
	}
	return g
}

// searchError is an engine's error as the outcome of a call: a context that ended
// says why.
func searchError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}
