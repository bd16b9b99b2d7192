package builtin

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/agenttool/tool"
	"github.com/agenttool/tool/internal/search"
)

// hintTime is how long a search that found nothing looks for the reason.
const hintTime = 300 * time.Millisecond

// newEngine makes the engine behind glob, grep and ls. The user's own ignore file
// counts, as it does for git.
func newEngine() *search.Engine {
	return search.New(search.Options{ExcludesFile: search.UserExcludes(), TempSuffix: tempSuffix})
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
func (p *searchPlace) shown(name string) string {
	if p.base == "" {
		return visible(name)
	}
	return visible(path.Join(p.base, name))
}

// scope is the part of a query that glob and grep share.
func (p *searchPlace) scope(ts *Toolset) search.Scope {
	s := search.Scope{Timeout: ts.limits.SearchTime}
	if p.name != "" {
		s.Paths = []string{p.name}
	}
	if !p.at.spill {
		s.Private = func(name string) bool { return ts.fsys.names.secret(name) }
	}
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

// notes says what a search did not look at. Ignored files are worth a word only
// when nothing was found.
func notes(b *strings.Builder, st *search.Stats, timedOut, nothing bool, limit time.Duration) {
	if timedOut {
		fmt.Fprintf(b, "(stopped after %s: not everything was searched; name a smaller path)\n", limit)
	}
	for _, n := range []struct {
		count int
		text  string
	}{
		{st.Private, "%s with secrets; name one as path to ask for it"},
		{st.Unreadable, "%s or directories that could not be read"},
		{st.TooLarge, "%s too large for this search"},
	} {
		if n.count > 0 {
			fmt.Fprintf(b, "(not searched: "+n.text+")\n", plural(n.count, "file"))
		}
	}
	if !nothing {
		return
	}
	if st.Binary > 0 {
		fmt.Fprintf(b, "(not searched: %s)\n", plural(st.Binary, "binary file"))
	}
	if n := st.Ignored + st.HiddenFiles; n > 0 {
		fmt.Fprintf(b, "(%d ignored files and directories were passed over; noIgnore=true searches them)\n", n)
	}
}

// skipped is what the metadata of a search say of the same.
func skipped(st *search.Stats) map[string]any {
	return map[string]any{
		"binary": st.Binary, "secret": st.Private, "unreadable": st.Unreadable,
		"ignored": st.Ignored, "tooLarge": st.TooLarge,
	}
}

// splitGlobs takes a list of globs apart at commas and blanks outside of braces
// and brackets.
func splitGlobs(list string) []string {
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
		case depth == 0 && (c == ',' || c == ' ' || c == '\n' || c == '\t'):
			flush(i)
		}
	}
	flush(len(list))
	return out
}

// searchError is an engine's error as the outcome of a call: a context that ended
// says why.
func searchError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}
