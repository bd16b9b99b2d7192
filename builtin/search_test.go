package builtin

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agenttool/tool/tooltest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const tree1 = `
-- .gitignore --
*.log
build/
!keep.log
/only-top.txt
-- a.go --
package a // TODO one
-- a.log --
TODO ignored
-- keep.log --
TODO kept
-- only-top.txt --
TODO
-- sub/only-top.txt --
TODO sub
-- sub/.gitignore --
*.tmp
-- sub/b.ts --
TODO b
-- sub/x.tmp --
TODO
-- build/out.go --
TODO built
-- app/[id]/page.tsx --
TODO page
-- .git/config --
TODO git
-- .hidden/h.go --
TODO hidden
-- .env --
TODO=secret
-- .env.example --
TODO=
`

// age gives the files the times of their order: the first is the newest.
func (b *bench) age(names ...string) {
	now := time.Now()
	for i, n := range names {
		at := now.Add(-time.Duration(i+1) * time.Minute)
		require.NoError(b.t, os.Chtimes(b.path(n), at, at))
	}
}

func TestGlob(t *testing.T) {
	b := newBench(t, tree1, Config{})
	b.age("sub/b.ts", "a.go", ".hidden/h.go", "app/[id]/page.tsx", "keep.log", "sub/only-top.txt", ".env", ".env.example", ".gitignore", "sub/.gitignore")
	for _, c := range []struct{ pattern, path, want string }{
		{"*.go", "", "a.go .hidden/h.go"},
		{"**/*.go", "", "a.go .hidden/h.go"},
		{"*.{ts,tsx}", "", "sub/b.ts app/[id]/page.tsx"},
		{"sub/*", "", "sub/b.ts sub/only-top.txt sub/.gitignore"},
		{"*", "sub", "sub/b.ts sub/only-top.txt sub/.gitignore"},
		{"./a.*", "", "a.go"},
		{"app/[id]/page.tsx", "", "app/[id]/page.tsx"},
		{"app/[id]/*", "", "app/[id]/page.tsx"},
		{"[ab].go", "", "a.go"},
		{"*.go", "build", "build/out.go"}, // named, so not ignored
		{".env*", "", ".env .env.example"},
		{"**/*.log", "", "keep.log"},
	} {
		t.Run(c.pattern+" "+c.path, func(t *testing.T) {
			text := b.ok("glob", in{"pattern": c.pattern, "path": c.path})
			assert.Equal(t, strings.ReplaceAll(c.want, " ", "\n"), text)
			assert.Equal(t, []string{"glob " + c.pattern}, b.asks())
		})
	}
	assert.Equal(t, "sub/b.ts", b.ok("glob", in{"pattern": b.path("sub/*.ts")}), "absolute patterns are taken apart")
	assert.Equal(t, "No files match *.zig (10 files looked at).\n(4 ignored by .gitignore; name one as path to search it)", b.ok("glob", in{"pattern": "*.zig"}))

	for _, c := range []struct{ pattern, want string }{
		{"", "empty"},
		{"../*.go", "has a .. in it"},
		{"{a,../b}/*", "has a .. in it"},
		{"[a", "malformed"},
		{"{a,b", "without }"},
		{strings.Repeat("{a,aa}", 30), "more than 256"},
		{strings.Repeat("*a", 20), "more than 16 stars"},
		{strings.Repeat("x", 5000), "longer than"},
	} {
		start := time.Now()
		assert.Contains(t, b.fails("glob", in{"pattern": c.pattern}), c.want)
		assert.Less(t, time.Since(start), 5*time.Second)
	}
	assert.Contains(t, b.fails("glob", in{"pattern": "*", "path": "a.go"}), "is a file")
	assert.Contains(t, b.fails("glob", in{"pattern": "*", "path": "nope"}), "not found")
}

// TestGlobNewest: the newest of all are shown, not the newest of the first.
func TestGlobNewest(t *testing.T) {
	b := newBench(t, "", Config{})
	var names []string
	for i := range 150 {
		names = append(names, fmt.Sprintf("f%03d", (i*37)%150))
		b.put(names[i], "")
	}
	b.age(names...)
	lines := strings.Split(b.ok("glob", in{"pattern": "*"}), "\n")
	require.Len(t, lines, 101)
	assert.Equal(t, names[:100], lines[:100])
	assert.Equal(t, "(the newest 100 of 150 files; narrow the pattern or the path to see others)", lines[100])
}

func TestGrep(t *testing.T) {
	b := newBench(t, tree1, Config{})
	b.age("sub/b.ts", "a.go", ".hidden/h.go", "app/[id]/page.tsx", "keep.log", "sub/only-top.txt", ".env.example")
	b.put("bin", "TODO\x00")
	note := "\n(not searched: 1 file with secrets; name one as path to ask for it)"
	assert.Equal(t, "7 matches in 7 files\n\nsub/b.ts\n1: TODO b\n\na.go\n1: package a // TODO one\n\n.hidden/h.go\n1: TODO hidden\n\napp/[id]/page.tsx\n1: TODO page\n\nkeep.log\n1: TODO kept\n\nsub/only-top.txt\n1: TODO sub\n\n.env.example\n1: TODO="+note,
		b.ok("grep", in{"pattern": "TODO"}))
	assert.Equal(t, []string{"grep TODO"}, b.asks())
	assert.Equal(t, "1 match in 1 file\n\na.go\n1: package a // TODO one", b.ok("grep", in{"pattern": "TODO", "include": "a.*"}))
	assert.Equal(t, "1 match in 1 file\n\nsub/b.ts\n1: TODO b", b.ok("grep", in{"pattern": "(?i)todo b", "path": "sub", "include": "*.{ts,tsx}"}))
	assert.Equal(t, "1 match in 1 file\n\na.log\n1: TODO ignored", b.ok("grep", in{"pattern": "TODO", "path": "a.log"}), "a named file is searched")
	assert.Equal(t, "No matches in 9 files.\n(not searched: 1 file with secrets; name one as path to ask for it)\n(not searched: 1 binary file)\n(4 ignored by .gitignore; name one as path to search it)",
		b.ok("grep", in{"pattern": "nowhere"}))
}

func TestGrepSecrets(t *testing.T) {
	b := newBench(t, tree1, Config{})
	require.NoError(t, os.Symlink(".env", b.path("notes")))
	assert.NotContains(t, b.ok("grep", in{"pattern": "secret"}), "TODO=secret")
	for _, p := range []string{".env", "notes"} {
		assert.Contains(t, b.ok("grep", in{"pattern": "secret", "path": p}), "1: TODO=secret")
		assert.Equal(t, []string{"grep secret", "read .env"}, b.asks())
		assert.True(t, b.asked[1].Protected)
	}
	b.approver = &tooltest.Script{Steps: []tooltest.Step{{Permission: "grep", Allow: true}, {Permission: "read"}}}
	assert.NotContains(t, b.fails("grep", in{"pattern": "secret", "path": ".env"}), "TODO")
}

func TestGrepLines(t *testing.T) {
	b := newBench(t, "", Config{})
	b.put("crlf", "end\r\nx\r\n")
	assert.Contains(t, b.ok("grep", in{"pattern": "^end$"}), "1: end")
	b.put("nofinal", "a\nlast")
	assert.Contains(t, b.ok("grep", in{"pattern": "last"}), "2: last")
	b.put("min.js", strings.Repeat("x", 50_000)+"needle"+strings.Repeat("y", 50_000))
	text := b.ok("grep", in{"pattern": "needle"})
	assert.Contains(t, text, "needle")
	assert.Less(t, len(text), 1000, "a minified file does not drown the rest")
	b.put("many", strings.Repeat("hit\n", 250))
	text = b.ok("grep", in{"pattern": "hit"})
	assert.Contains(t, text, "250 matches in 1 file")
	assert.Contains(t, text, "100: hit\n(150 more in this file)\n\n(the first 100 of 250 matches;")
	assert.NotContains(t, text, "101: hit")
	b.put("odd", "a\x1b[2J \xff hit2\n")
	assert.Contains(t, b.ok("grep", in{"pattern": "hit2"}), `1: a\x1b[2J `+"\uFFFD hit2")

	for _, c := range []struct{ pattern, want string }{
		{"", "empty"},
		{"foo(", "missing closing ): `foo(`. To search for the text itself"},
		{"(?=x)", "Look-around is not supported"},
		{"(?<!x)y", "Look-around is not supported"},
		{`(a)\1`, "Back-references are not supported"},
		{`\kword`, "does not know this escape"},
		{"a{1001}", "invalid regular expression"},
		{strings.Repeat("x", 2000), "longer than 1024"},
	} {
		assert.Contains(t, b.fails("grep", in{"pattern": c.pattern}), c.want)
	}
	assert.Contains(t, b.fails("grep", in{"pattern": "x", "include": "[a"}), "include: the pattern")
}

// TestSearchStaysInside: links are not followed.
func TestSearchStaysInside(t *testing.T) {
	outside := tooltest.Workspace(t, "-- o.txt --\nTODO outside\n")
	b := newBench(t, "-- a.txt --\nTODO inside\n", Config{})
	require.NoError(t, os.Symlink(outside, b.path("dlink")))
	require.NoError(t, os.Symlink(filepath.Join(outside, "o.txt"), b.path("flink")))
	require.NoError(t, os.Symlink(".", b.path("loop")))
	assert.Equal(t, "1 match in 1 file\n\na.txt\n1: TODO inside", b.ok("grep", in{"pattern": "TODO"}))
	assert.NotContains(t, b.ok("glob", in{"pattern": "**/*.txt"}), "o.txt")
	text := b.ok("grep", in{"pattern": "TODO", "path": "dlink"})
	assert.Contains(t, text, "TODO outside")
	assert.Equal(t, []string{"external_directory " + filepath.ToSlash(outside) + "/*", "grep TODO"}, b.asks())
}

func TestSearchTimeIsToldAndCancelled(t *testing.T) {
	b := newBench(t, tree1, Config{Limits: Limits{SearchTime: 1}})
	assert.Contains(t, b.ok("grep", in{"pattern": "x"}), "stopped after 1ns: not everything was searched")
	assert.Contains(t, b.ok("glob", in{"pattern": "*"}), "not everything was searched")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := b.runIn(ctx, "grep", in{"pattern": "x"})
	require.ErrorIs(t, err, context.Canceled)
}

func TestUnreadableIsCounted(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root reads everything")
	}
	b := newBench(t, "-- d/a --\nx\n-- f --\nx\n", Config{})
	require.NoError(t, os.Chmod(b.path("d"), 0))
	defer os.Chmod(b.path("d"), 0o777)
	require.NoError(t, os.Chmod(b.path("f"), 0))
	text := b.ok("grep", in{"pattern": "x"})
	assert.Contains(t, text, "1 unreadable director")
	assert.Contains(t, text, "1 file that could not be read")
}

// TestIgnoreLikeGit compares the listing with git's on trees where the two agree
// in meaning.
func TestIgnoreLikeGit(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("no git")
	}
	b := newBench(t, tree1+`
-- deep/a/b/c.txt --
-- deep/a/b/c.o --
-- deep/.gitignore --
a/**/*.o
b/
!a/b/
# comment
\#not
-- deep/#not --
-- deep/b/gone.txt --
-- deep/x/b/gone.txt --
`, Config{})
	require.NoError(t, os.RemoveAll(b.path(".git")))
	run := func(args ...string) string {
		cmd := exec.Command(git, append([]string{"-C", b.dir, "-c", "core.excludesFile="}, args...)...)
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		return string(out)
	}
	run("init", "-q")
	want := strings.Split(strings.TrimSpace(run("ls-files", "-o", "--exclude-standard")), "\n")
	got := strings.Split(b.ok("glob", in{"pattern": "**"}), "\n")
	assert.ElementsMatch(t, want, got)
}

func FuzzGlob(f *testing.F) {
	f.Add("*.{a,b}", "x.a")
	f.Add("**/[a-z]/{x,{y,z}}", "q/a/y")
	f.Add(`\{a\}`, "{a}")
	f.Add("{a}", "{a}")
	f.Fuzz(func(t *testing.T, pattern, name string) {
		if len(pattern) > 200 || len(name) > 200 {
			return
		}
		g, err := parseGlob(pattern)
		if err != nil {
			return
		}
		g.match(name)
		g.escapeExisting(func(string) bool { return true })
		g.match(name)
	})
}
