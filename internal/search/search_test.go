package search

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"golang.org/x/tools/txtar"

	"github.com/agenttool/tool/internal/search/glob"
	"github.com/agenttool/tool/internal/search/pattern"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// each runs a test on the system's own walk and on the portable one.
func each(t *testing.T, opt Options, f func(t *testing.T, e *Engine)) {
	t.Run("native", func(t *testing.T) { f(t, New(opt)) })
	opt.portable = true
	t.Run("portable", func(t *testing.T) { f(t, New(opt)) })
}

// tree writes the files of a txtar archive.
func tree(t testing.TB, archive string) string {
	t.Helper()
	dir := t.TempDir()
	for _, f := range txtar.Parse([]byte(archive)).Files {
		write(t, dir, f.Name, string(f.Data))
	}
	return dir
}

func write(t testing.TB, dir, name, data string) {
	t.Helper()
	p := filepath.Join(dir, filepath.FromSlash(name))
	require.NoError(t, os.MkdirAll(filepath.Dir(p), 0o755))
	require.NoError(t, os.WriteFile(p, []byte(data), 0o644))
}

func grepIn(t testing.TB, e *Engine, dir string, q Query) *Result {
	t.Helper()
	r, err := e.Grep(t.Context(), openRoot(t, dir), q)
	require.NoError(t, err)
	return r
}

// show writes a result as grep would, in order of paths.
func show(r *Result) string {
	var out []string
	for _, f := range r.Files {
		var b strings.Builder
		for _, l := range f.Lines {
			sep := ":"
			switch {
			case l.Context:
				sep = "-"
			case l.Continued:
				sep = "+"
			}
			fmt.Fprintf(&b, "%s%s%d%s%s\n", f.Path, sep, l.Number, sep, l.Text)
		}
		if f.Lines == nil {
			fmt.Fprintf(&b, "%s %d\n", f.Path, f.Count)
		}
		out = append(out, b.String())
	}
	sortStrings(out)
	return strings.Join(out, "")
}

func sortStrings(s []string) {
	for i := range s {
		for j := i; j > 0 && s[j] < s[j-1]; j-- {
			s[j], s[j-1] = s[j-1], s[j]
		}
	}
}

const project = `
-- .git/HEAD --
ref: refs/heads/main
-- .git/info/exclude --
private.txt
-- .gitignore --
*.log
/build/
-- a.go --
package a

func Foo() { return }
// foo again
-- b.log --
foo in a log
-- build/out.go --
foo built
-- private.txt --
foo private
-- .hidden/x.txt --
foo hidden
-- sub/.gitignore --
!keep.log
secret/
-- sub/keep.log --
foo kept
-- sub/secret/x.txt --
foo secret
-- sub/c.ts --
foo ts
-- other/.git/HEAD --
ref: refs/heads/main
-- other/x.log --
foo in another repository
-- .git/foo --
foo in git
`

func TestGrepScope(t *testing.T) {
	dir := tree(t, project)
	each(t, Options{}, func(t *testing.T, e *Engine) {
		for _, c := range []struct {
			name string
			q    Query
			want string
		}{
			{"all", Query{}, ".hidden/x.txt a.go other/x.log sub/c.ts sub/keep.log"},
			{"no ignore", Query{Scope: Scope{NoIgnore: true}}, ".hidden/x.txt a.go b.log build/out.go other/x.log private.txt sub/c.ts sub/keep.log sub/secret/x.txt"},
			{"hidden skipped", Query{Scope: Scope{Hidden: HiddenSkipped}}, "a.go other/x.log sub/c.ts sub/keep.log"},
			{"hidden named", Query{Scope: Scope{Hidden: HiddenNamed, Include: []string{".hidden/**"}}}, ".hidden/x.txt"},
			{"include", Query{Scope: Scope{Include: []string{"*.go"}}}, "a.go"},
			{"include list", Query{Scope: Scope{Include: []string{"*.{go,ts}", "!a*"}}}, "sub/c.ts"},
			{"include with a directory", Query{Scope: Scope{Include: []string{"sub/*.ts"}}}, "sub/c.ts"},
			{"include relative to the path", Query{Scope: Scope{Paths: []string{"sub"}, Include: []string{"/*.ts"}}}, "sub/c.ts"},
			{"include relative to the root", Query{Scope: Scope{Paths: []string{"sub"}, Include: []string{"sub/*.ts"}}}, "sub/c.ts"},
			{"exclude a directory", Query{Scope: Scope{Exclude: []string{"sub", "other/**"}}}, ".hidden/x.txt a.go"},
			{"type", Query{Scope: Scope{Types: []string{"go", "typescript"}}}, "a.go sub/c.ts"},
			{"type and include", Query{Scope: Scope{Types: []string{"go"}, Include: []string{"s*"}}}, ""},
			{"an ignored file", Query{Scope: Scope{Paths: []string{"b.log"}}}, "b.log"},
			{"an ignored directory", Query{Scope: Scope{Paths: []string{"build"}}}, "build/out.go"},
			{"a directory in an ignored one", Query{Scope: Scope{Paths: []string{"sub/secret"}}}, "sub/secret/x.txt"},
			{"rules from above", Query{Scope: Scope{Paths: []string{"sub"}}}, "sub/c.ts sub/keep.log"},
			{"paths within each other", Query{Scope: Scope{Paths: []string{".", "sub", "build", "a.go", "sub"}}}, ".hidden/x.txt a.go build/out.go other/x.log sub/c.ts sub/keep.log"},
			{"a glob as path", Query{Scope: Scope{Paths: []string{"s*/*.ts"}}}, "sub/c.ts"},
			{"a glob of directories", Query{Scope: Scope{Paths: []string{"{sub,other}"}}}, "other/x.log sub/c.ts sub/keep.log"},
			{"git", Query{Scope: Scope{Paths: []string{".git"}}}, ".git/foo"},
			{"depth", Query{Scope: Scope{MaxDepth: 1}}, "a.go"},
		} {
			q := c.q
			q.Pattern, q.Output = "foo", FilesOnly
			r := grepIn(t, e, dir, q)
			var got []string
			for _, f := range r.Files {
				got = append(got, f.Path)
			}
			sortStrings(got)
			assert.Equal(t, c.want, strings.Join(got, " "), c.name)
		}
	})
}

func TestRulesFromAboveTheRoot(t *testing.T) {
	dir := tree(t, project)
	write(t, dir, "sub/deep/x.log", "foo")
	write(t, dir, "sub/deep/y.txt", "foo")
	write(t, dir, "sub/deep/build/y.txt", "foo")
	each(t, Options{}, func(t *testing.T, e *Engine) {
		r := grepIn(t, e, filepath.Join(dir, "sub", "deep"), Query{Pattern: "foo", Output: FilesOnly})
		assert.Equal(t, "build/y.txt 1\ny.txt 1\n", show(r))
		r = grepIn(t, e, filepath.Join(dir, "build"), Query{Pattern: "foo", Output: FilesOnly})
		assert.Equal(t, "out.go 1\n", show(r), "the root itself is named")
	})
	each(t, Options{RootOnly: true}, func(t *testing.T, e *Engine) {
		r := grepIn(t, e, filepath.Join(dir, "sub", "deep"), Query{Pattern: "foo", Output: FilesOnly})
		assert.Equal(t, "build/y.txt 1\nx.log 1\ny.txt 1\n", show(r))
	})
}

func TestUserExcludes(t *testing.T) {
	dir, home := tree(t, project), t.TempDir()
	write(t, home, "git/ignore", "c.ts\n")
	t.Setenv("XDG_CONFIG_HOME", home)
	t.Setenv("HOME", home)
	t.Setenv("GIT_CONFIG_GLOBAL", "")
	assert.Equal(t, filepath.Join(home, "git", "ignore"), UserExcludes())
	write(t, home, ".gitconfig", "[user]\n\tname = x\n[core]\n\texcludesFile = ~/mine\n")
	assert.Empty(t, UserExcludes())
	write(t, home, "mine", "a.go\n")
	assert.Equal(t, filepath.Join(home, "mine"), UserExcludes())
	e := New(Options{ExcludesFile: UserExcludes()})
	r := grepIn(t, e, dir, Query{Pattern: "foo", Output: FilesOnly, Scope: Scope{Paths: []string{"a.go", "sub"}}})
	assert.Len(t, r.Files, 3)
	r = grepIn(t, e, dir, Query{Pattern: "Foo", Output: FilesOnly})
	assert.Empty(t, r.Files)
}

func TestLinesAndContext(t *testing.T) {
	dir := tree(t, `
-- f --
one
two
three foo
four
five foo
six
seven
eight
nine foo
-- crlf --
`)
	write(t, dir, "crlf", "foo\r\nbar;\r\nlast foo\r\n")
	for _, block := range []int{0, 4, 8, 16, 32} { // characters of a block, to cut everywhere
		each(t, Options{block: block}, func(t *testing.T, e *Engine) {
			f := func(q Query) string {
				q.Paths = []string{"f"}
				return show(grepIn(t, e, dir, q))
			}
			assert.Equal(t, "f:3:three foo\nf:5:five foo\nf:9:nine foo\n", f(Query{Pattern: "foo"}))
			assert.Equal(t, "f-2-two\nf:3:three foo\nf-4-four\nf:5:five foo\nf-6-six\nf-8-eight\nf:9:nine foo\n", f(Query{Pattern: "foo", Before: 1, After: 1}))
			assert.Equal(t, "f-1-one\nf-2-two\nf:3:three foo\nf-4-four\nf:5:five foo\nf-7-seven\nf-8-eight\nf:9:nine foo\n", f(Query{Pattern: "foo", Before: 2}))
			assert.Equal(t, "f:3:three foo\nf-4-four\nf:5:five foo\nf-6-six\nf-7-seven\nf:9:nine foo\n", f(Query{Pattern: "foo", After: 2}))
			assert.Equal(t, "f-2-two\nf:3:three foo\n", f(Query{Pattern: "foo", MaxPerFile: 1, Before: 1}))
			assert.Equal(t, "f:5:five foo\nf-6-six\nf-7-seven\nf-8-eight\nf-9-nine foo\n", f(Query{Pattern: "five foo", After: 9}), "context goes on to the end of the file")
			assert.Equal(t, "f:3:three foo\nf-4-four\n", f(Query{Pattern: "foo", MaxPerFile: 1, After: 3}), "context ends at the next match")
			assert.Equal(t, "f 3\n", f(Query{Pattern: "foo", Output: Counts}))
			assert.Equal(t, "f 1\n", f(Query{Pattern: "foo", Output: FilesOnly}))

			r := grepIn(t, e, dir, Query{Pattern: "foo", MaxPerFile: 2, Scope: Scope{Paths: []string{"f"}}})
			assert.Equal(t, 1, r.Files[0].More)
			assert.Equal(t, 3, r.Matches)
			assert.True(t, r.Exact)

			r = grepIn(t, e, dir, Query{Pattern: "foo$", Scope: Scope{Paths: []string{"crlf"}}})
			assert.Equal(t, "crlf:1:foo\ncrlf:3:last foo\n", show(r))
			assert.Empty(t, grepIn(t, e, dir, Query{Pattern: `\s$|[^a-z;]$`, Scope: Scope{Paths: []string{"crlf"}}}).Files)
			assert.Len(t, grepIn(t, e, dir, Query{Pattern: `\r$`, Scope: Scope{Paths: []string{"crlf"}}}).Files[0].Lines, 3)
		})
	}
}

func TestSpans(t *testing.T) {
	dir := tree(t, "-- f --\na foo, fooo\n")
	r := grepIn(t, New(Options{}), dir, Query{Pattern: "fo+", Spans: true})
	l := r.Files[0].Lines[0]
	assert.Equal(t, [][2]int{{2, 5}, {7, 11}}, l.Spans)
	assert.Equal(t, 3, l.Column)
}

func TestPaging(t *testing.T) {
	dir := t.TempDir()
	base := time.Now().Add(-time.Hour).Truncate(time.Second)
	var all []string
	for i := range 5 {
		name := fmt.Sprintf("f%d", i)
		write(t, dir, name, "x 1\nx 2\nx 3\n")
		require.NoError(t, os.Chtimes(filepath.Join(dir, name), base, base.Add(-time.Duration(i)*time.Second)))
		for j := 1; j <= 3; j++ {
			all = append(all, fmt.Sprintf("%s:%d", name, j))
		}
	}
	flat := func(r *Result) (out []string) {
		for _, f := range r.Files {
			for _, l := range f.Lines {
				out = append(out, fmt.Sprintf("%s:%d", f.Path, l.Number))
			}
		}
		return out
	}
	each(t, Options{}, func(t *testing.T, e *Engine) {
		for _, size := range []int{1, 2, 4, 7, 100} {
			var got []string
			for off := 0; ; off += size {
				r := grepIn(t, e, dir, Query{Pattern: "x", Limit: size, Offset: off})
				page := flat(r)
				assert.Equal(t, 15, r.Matches)
				assert.Equal(t, max(15-off-size, 0), r.More)
				if len(page) == 0 {
					break
				}
				got = append(got, page...)
			}
			assert.Equal(t, all, got, "pages of %d", size)
		}
		r := grepIn(t, e, dir, Query{Pattern: "x", Output: FilesOnly, Limit: 2, Offset: 1})
		assert.Equal(t, "f1 1\nf2 1\n", show(r))
		assert.Equal(t, 2, r.More)
	})
}

func TestLongLines(t *testing.T) {
	dir := t.TempDir()
	left, right := strings.Repeat("é", 3000), strings.Repeat("b", 3000)
	write(t, dir, "min.js", "start\n"+left+"needle"+right+"\nneedle end\n")
	each(t, Options{}, func(t *testing.T, e *Engine) {
		r := grepIn(t, e, dir, Query{Pattern: "nee.le", LineWidth: 100})
		l := r.Files[0].Lines[0]
		assert.Equal(t, strings.Repeat("é", 47)+"needle"+strings.Repeat("b", 47), l.Text)
		assert.Equal(t, 6001, l.Column)
		assert.Equal(t, [][2]int{{94, 100}}, l.Spans)
		assert.True(t, l.CutBefore && l.CutAfter)
		assert.Equal(t, 2, l.Number)
		l = r.Files[0].Lines[1]
		assert.Equal(t, "needle end", l.Text)
		assert.False(t, l.CutBefore || l.CutAfter)
	})
	// The same line longer than a block.
	each(t, Options{block: 512}, func(t *testing.T, e *Engine) {
		r := grepIn(t, e, dir, Query{Pattern: "nee.le", LineWidth: 40, Before: 1})
		require.Len(t, r.Files, 1)
		require.Len(t, r.Files[0].Lines, 3)
		assert.Equal(t, "start", r.Files[0].Lines[0].Text)
		l := r.Files[0].Lines[1]
		assert.Contains(t, l.Text, "needle")
		assert.Equal(t, 6001, l.Column)
		assert.True(t, l.CutBefore && l.CutAfter)
		assert.Equal(t, 2, l.Number)
		l = r.Files[0].Lines[2]
		assert.Equal(t, 3, l.Number)
		assert.Equal(t, "needle end", l.Text)
	})
	for _, e := range []*Engine{New(Options{}), New(Options{block: 512})} {
		assert.Equal(t, 2, grepIn(t, e, dir, Query{Pattern: "^.*needle"}).Matches)
		assert.Equal(t, 1, grepIn(t, e, dir, Query{Pattern: "b$"}).Matches)
		assert.Equal(t, 1, grepIn(t, e, dir, Query{Pattern: "^é"}).Matches)
		assert.Equal(t, 0, grepIn(t, e, dir, Query{Pattern: "^b"}).Matches)
	}
}

func TestHugeLine(t *testing.T) {
	size := 100 << 20
	if testing.Short() {
		size = 8 << 20
	}
	dir := t.TempDir()
	b := bytes.Repeat([]byte("var a=1;"), size/8)
	copy(b[size-100:], "NEEDLE")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "min.js"), b, 0o644))
	r := grepIn(t, New(Options{}), dir, Query{Pattern: "NEED.E"})
	require.Len(t, r.Files, 1)
	l := r.Files[0].Lines[0]
	assert.Contains(t, l.Text, "NEEDLE")
	assert.LessOrEqual(t, len(l.Text), DefaultLineWidth)
	assert.Equal(t, size-100+1, l.Column)
	assert.Equal(t, int64(size), r.Stats.Bytes)
}

func TestContentThatIsNotText(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "bin", "foo\x00bar\n")
	write(t, dir, "late", strings.Repeat("foo\n", 20000)+"\x00")
	write(t, dir, "bom", "\xef\xbb\xbffoo\n")
	write(t, dir, "empty", "")
	utf16File := func(name string, big bool) {
		var b []byte
		for _, u := range utf16.Encode([]rune("\ufefffoo 漢字 \U0001F600\nbar\n")) {
			if big {
				b = append(b, byte(u>>8), byte(u))
			} else {
				b = append(b, byte(u), byte(u>>8))
			}
		}
		write(t, dir, name, string(b))
	}
	utf16File("le", false)
	utf16File("be", true)
	write(t, dir, "latin", "foo caf\xe9\n")
	each(t, Options{}, func(t *testing.T, e *Engine) {
		r := grepIn(t, e, dir, Query{Pattern: "^foo"})
		assert.Equal(t, "be:1:foo 漢字 \U0001F600\nbom:1:foo\nlatin:1:foo caf\uFFFD\nle:1:foo 漢字 \U0001F600\n", show(r))
		assert.Equal(t, 2, r.Stats.Binary)
		assert.Equal(t, 2, r.Stats.Skipped())
	})
	decode := func(sample []byte) func([]byte) ([]byte, error) {
		if bytes.IndexByte(sample, 0) >= 0 {
			return nil
		}
		return func(b []byte) ([]byte, error) {
			var out []rune
			for _, c := range b {
				out = append(out, rune(c))
			}
			return []byte(string(out)), nil
		}
	}
	each(t, Options{Decode: decode}, func(t *testing.T, e *Engine) {
		r := grepIn(t, e, dir, Query{Pattern: "caf."})
		assert.Equal(t, "latin:1:foo café\n", show(r))
		assert.Equal(t, 2, r.Stats.Binary)
	})
	each(t, Options{MaxWhole: 8, block: 16}, func(t *testing.T, e *Engine) {
		r := grepIn(t, e, dir, Query{Pattern: "foo", Scope: Scope{Paths: []string{"le"}}})
		assert.Equal(t, 1, r.Stats.TooLarge)
		assert.Equal(t, "le", r.Stats.Problems[0].Path)
	})
}

func TestMultiline(t *testing.T) {
	dir := tree(t, `
-- f --
func a(
	x int,
) {
}
after
func b(y int) {
-- g --
nothing
`)
	write(t, dir, "crlf", "one\r\nfunc c(\r\n) {\r\n")
	each(t, Options{}, func(t *testing.T, e *Engine) {
		r := grepIn(t, e, dir, Query{Pattern: `func \w+\([^)]*\) \{$`, Multiline: true})
		assert.Equal(t, "crlf:2:func c(\ncrlf+3+) {\nf:1:func a(\nf+2+\tx int,\nf+3+) {\nf:6:func b(y int) {\n", show(r))
		assert.Equal(t, 3, r.Matches)
		assert.Equal(t, [][2]int{{0, 7}}, r.Files[0].Lines[0].Spans)
		r = grepIn(t, e, dir, Query{Pattern: `a\(\n\tx`, Before: 0, After: 1})
		assert.True(t, r.Multiline, "the pattern names a line feed")
		assert.Equal(t, "f:1:func a(\nf+2+\tx int,\nf-3-) {\n", show(r))
		r = grepIn(t, e, dir, Query{Pattern: `\}\nafter`})
		assert.Equal(t, "f:4:}\nf+5+after\n", show(r))
		r = grepIn(t, e, dir, Query{Pattern: `x*`, Multiline: true, Scope: Scope{Paths: []string{"g"}}})
		assert.Equal(t, "g:1:nothing\n", show(r))
	})
	each(t, Options{MaxWhole: 16, block: 16}, func(t *testing.T, e *Engine) {
		r := grepIn(t, e, dir, Query{Pattern: `g\n`})
		assert.Equal(t, 2, r.Stats.TooLarge)
		assert.Len(t, r.Files, 1)
	})
}

func TestPrivateAndTemporary(t *testing.T) {
	dir := tree(t, "-- .env --\nKEY=foo\n-- a.txt --\nfoo\n-- a.txt.tmp~ --\nfoo\n-- no.txt --\nfoo\n")
	each(t, Options{TempSuffix: ".tmp~"}, func(t *testing.T, e *Engine) {
		scope := Scope{Private: func(p string) Privacy {
			switch filepath.Base(p) {
			case ".env":
				return Secret
			case "no.txt":
				return Denied
			}
			return Public
		}}
		r := grepIn(t, e, dir, Query{Pattern: "foo", Scope: scope})
		assert.Equal(t, "a.txt:1:foo\n", show(r))
		assert.Equal(t, 1, r.Stats.Private)
		assert.Equal(t, 1, r.Stats.Denied)
		assert.Equal(t, 2, r.Stats.Skipped())
		g, err := e.Glob(t.Context(), openRoot(t, dir), GlobQuery{Pattern: "*", Scope: scope})
		require.NoError(t, err)
		assert.Equal(t, 2, g.Total, "what is denied is not named")
		assert.Equal(t, 1, g.Stats.Denied)
		l, err := e.Files(t.Context(), openRoot(t, dir), Scope{})
		require.NoError(t, err)
		assert.Equal(t, []string{".env", "a.txt", "no.txt"}, l.Paths)
	})
}

func TestPanicOfAHookIsAnError(t *testing.T) {
	dir := tree(t, project)
	_, err := New(Options{}).Grep(t.Context(), openRoot(t, dir), Query{Pattern: "foo", Scope: Scope{Private: func(string) Privacy { panic("oh") }}})
	require.EqualError(t, err, "search: panic: oh")
	var p *PanicError
	require.ErrorAs(t, err, &p)
	assert.Contains(t, string(p.Stack), "TestPanicOfAHook")
}

func TestErrors(t *testing.T) {
	dir := tree(t, project)
	root := openRoot(t, dir)
	each(t, Options{}, func(t *testing.T, e *Engine) {
		ctx := t.Context()
		_, err := e.Grep(ctx, root, Query{Pattern: "foo("})
		require.ErrorIs(t, err, pattern.ErrPattern)
		_, err = e.Grep(ctx, root, Query{Pattern: "foo", Scope: Scope{Include: []string{"{a,b"}}})
		require.ErrorIs(t, err, glob.ErrPattern)
		_, err = e.Grep(ctx, root, Query{Pattern: "foo", Scope: Scope{Types: []string{"klingon"}}})
		require.ErrorContains(t, err, "unknown file type")
		_, err = e.Grep(ctx, root, Query{Pattern: "foo", Scope: Scope{Paths: []string{"nowhere"}}})
		require.ErrorIs(t, err, fs.ErrNotExist)
		_, err = e.Grep(ctx, root, Query{Pattern: "foo", Scope: Scope{Paths: []string{"../x"}}})
		require.ErrorContains(t, err, "outside the root")
		_, err = e.Glob(ctx, root, GlobQuery{Pattern: "../*"})
		require.ErrorIs(t, err, glob.ErrPattern)
		_, err = e.Glob(ctx, root, GlobQuery{Pattern: strings.Repeat("{a,aa}", 28)})
		require.ErrorIs(t, err, glob.ErrPattern)
	})
}

// timeUp is a context whose deadline passes when done is closed.
type timeUp struct {
	context.Context
	done chan struct{}
}

func (c *timeUp) Done() <-chan struct{} { return c.done }

func (c *timeUp) Err() error {
	select {
	case <-c.done:
		return context.DeadlineExceeded
	default:
		return nil
	}
}

func TestDeadlineAndCancellation(t *testing.T) {
	dir := t.TempDir()
	for i := range 300 {
		write(t, dir, fmt.Sprintf("d%d/f", i), strings.Repeat("foo\n", 5000))
	}
	root := openRoot(t, dir)
	each(t, Options{}, func(t *testing.T, e *Engine) {
		r, err := e.Grep(t.Context(), root, Query{Pattern: "foo", Scope: Scope{Timeout: time.Nanosecond}})
		require.NoError(t, err)
		assert.True(t, r.TimedOut)
		assert.False(t, r.Exact)
		assert.Nil(t, r.Hints)

		// What was found before the time was up comes back, in order and as a part.
		var calls atomic.Int32
		up := &timeUp{Context: t.Context(), done: make(chan struct{})}
		slow := Scope{Private: func(string) Privacy {
			if n := calls.Add(1); n == 40 {
				close(up.done)
			} else if n > 40 {
				time.Sleep(50 * time.Millisecond)
			}
			return Public
		}}
		r, err = e.Grep(up, root, Query{Pattern: "foo", Scope: slow, Limit: -1, MaxPerFile: 1, Hints: time.Minute})
		require.NoError(t, err)
		assert.True(t, r.TimedOut)
		assert.False(t, r.Exact)
		assert.GreaterOrEqual(t, len(r.Files), 30)
		assert.Less(t, r.Stats.Searched, 300)
		assert.True(t, slices.IsSortedFunc(r.Files, func(a, b FileMatch) int { return b.ModTime.Compare(a.ModTime) }))
		assert.Nil(t, r.Hints, "nothing is said about the rest")

		ctx, cancel := context.WithCancel(t.Context())
		q := Query{Pattern: "foo", Scope: Scope{Private: func(string) Privacy { cancel(); return Public }}}
		r, err = e.Grep(ctx, root, q)
		require.ErrorIs(t, err, context.Canceled)
		require.NotNil(t, r)
		assert.False(t, r.Exact)

		late, stop := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
		defer stop()
		g, err := e.Glob(late, root, GlobQuery{Pattern: "**"})
		require.NoError(t, err)
		assert.True(t, g.TimedOut)
		assert.False(t, g.Exact)
	})
}

// Patterns whose counted repeats make other engines take many seconds.
func TestPatternBombs(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "f", strings.Repeat("abcdefghij", 100_000)+"!\n")
	write(t, dir, "g", strings.Repeat("abcdefghij", 100_000)+"\n")
	for _, expr := range []string{`(?:[a-z]{0,200}){1,5}!`, `(?:a?){200}a{200}`, `(a|b)*a(a|b){100}`, `(?:[a-z]+)*!`} {
		for _, multi := range []bool{false, true} {
			begin := time.Now()
			r, err := New(Options{}).Grep(t.Context(), openRoot(t, dir), Query{Pattern: expr, Multiline: multi, Spans: true, Scope: Scope{Timeout: time.Second}})
			require.NoError(t, err, expr)
			assert.Less(t, time.Since(begin), 10*time.Second, expr)
			if strings.HasSuffix(expr, "!") && !r.TimedOut {
				assert.Len(t, r.Files, 1, expr)
			}
		}
	}
}

func TestTotals(t *testing.T) {
	dir := t.TempDir()
	now := time.Now()
	for i := range 400 {
		name := fmt.Sprintf("d%d/f%d", i%7, i)
		write(t, dir, name, "foo\nbar\n")
		at := now.Add(-time.Duration(i) * time.Second)
		require.NoError(t, os.Chtimes(filepath.Join(dir, name), at, at))
	}
	each(t, Options{}, func(t *testing.T, e *Engine) {
		r := grepIn(t, e, dir, Query{Pattern: "foo", Limit: 5})
		assert.True(t, r.Exact)
		assert.Equal(t, 400, r.Matches)
		assert.Equal(t, 395, r.More)
		p := grepIn(t, e, dir, Query{Pattern: "foo", Limit: 5, TotalsWithin: -1})
		assert.False(t, p.Exact)
		assert.Less(t, p.Matches, 400)
		assert.Positive(t, p.Stats.Older)
		assert.Equal(t, r.Files, p.Files)
	})
}

func TestHints(t *testing.T) {
	dir := tree(t, project)
	write(t, dir, "odd.txt", "a.b(c\n")
	each(t, Options{}, func(t *testing.T, e *Engine) {
		h := grepIn(t, e, dir, Query{Pattern: "FOO HIDDEN", Hints: time.Minute}).Hints
		require.NotNil(t, h)
		assert.Equal(t, Hints{OtherCase: 1, Complete: true}, *h)
		h = grepIn(t, e, dir, Query{Pattern: "foo built", Hints: time.Minute}).Hints
		assert.Equal(t, Hints{Ignored: 1, Complete: true}, *h)
		h = grepIn(t, e, dir, Query{Pattern: `.\.b[(]d|a.b\(c\w`, Hints: time.Minute}).Hints
		assert.Equal(t, Hints{Complete: true}, *h)
		g, err := e.Glob(t.Context(), openRoot(t, dir), GlobQuery{Pattern: "*.LOG", Hints: time.Minute})
		require.NoError(t, err)
		assert.Equal(t, 2, g.Hints.OtherCase)
		assert.ElementsMatch(t, []string{"other/x.log", "sub/keep.log"}, g.Hints.Paths)
		g, err = e.Glob(t.Context(), openRoot(t, dir), GlobQuery{Pattern: "b.log", Hints: time.Minute})
		require.NoError(t, err)
		assert.Equal(t, Hints{Ignored: 1, Complete: true}, *g.Hints)
		assert.Equal(t, 1, g.Hidden)
	})
}

// TestHintsReadNothingTwice: why nothing was found is mostly known from the search
// itself; only what was ignored is read afterwards.
func TestHintsReadNothingTwice(t *testing.T) {
	dir := tree(t, project)
	write(t, dir, "case.txt", "Needle\nneedle(x\n")
	each(t, Options{}, func(t *testing.T, e *Engine) {
		var mu sync.Mutex
		read := map[string]int{}
		q := Query{Pattern: `NEEDLE\(x|NEEDLE`, Hints: time.Minute}
		q.Private = func(p string) Privacy {
			mu.Lock()
			defer mu.Unlock()
			read[p]++
			return Public
		}
		r := grepIn(t, e, dir, q)
		require.Zero(t, r.Matches)
		assert.Equal(t, Hints{OtherCase: 2, Complete: true}, *r.Hints)
		for p, n := range read {
			assert.Equal(t, 1, n, p)
		}
		assert.Greater(t, len(read), r.Stats.Files, "what is ignored was read for the hint")
	})
}

func TestEnginesShareNothingAndAreSafe(t *testing.T) {
	dir := tree(t, project)
	root := openRoot(t, dir)
	e := New(Options{})
	done := make(chan error, 20)
	for i := range 20 {
		go func() {
			r, err := e.Grep(context.Background(), root, Query{Pattern: fmt.Sprintf("fo{%d}", 1+i%3)})
			if err == nil && r.Matches != []int{5, 5, 0}[i%3] {
				err = errors.New("wrong count: " + fmt.Sprint(i%3, r.Matches))
			}
			done <- err
		}()
	}
	for range 20 {
		require.NoError(t, <-done)
	}
	for i := range 3 * maxPlans {
		grepIn(t, e, dir, Query{Pattern: fmt.Sprintf("x%d", i)})
	}
	assert.LessOrEqual(t, e.lru.Len(), maxPlans)
	assert.Len(t, e.plans, e.lru.Len())
}
