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
	"unicode"
	"unicode/utf8"

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
-- .git/HEAD --
ref: refs/heads/main
-- .git/objects/x --
-- .git/refs/x --
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
	assert.Equal(t, "No files match *.zig.\n(4 ignored files and directories were passed over; noIgnore=true searches them)", b.ok("glob", in{"pattern": "*.zig"}))

	for _, c := range []struct{ pattern, want string }{
		{"", "empty"},
		{"../*.go", "set the path instead"},
		{"{a,../b}/*", "set the path instead"},
		{"[a", "is not closed"},
		{"{a,b", "is not closed"},
		{strings.Repeat("{a,aa}", 30), "more than 256"},
		{strings.Repeat("x", 5000), "longer than"},
	} {
		start := time.Now()
		assert.Contains(t, b.fails("glob", in{"pattern": c.pattern}), c.want)
		assert.Less(t, time.Since(start), 5*time.Second)
	}
	assert.Contains(t, b.fails("glob", in{"pattern": "*", "path": "a.go"}), "is a file")
	assert.Contains(t, b.fails("glob", in{"pattern": "*", "path": "nope"}), "not found")
}

// TestSearchMistakes: what is often meant otherwise than written.
func TestSearchMistakes(t *testing.T) {
	b := newBench(t, "-- a/x.go --\nfoo\n-- b/a/x.go --\nfoo\n-- c.go --\nfoo\n", Config{})
	assert.Equal(t, "1 file matches\na/x.go", b.ok("grep", in{"pattern": "foo", "include": "a", "output": "files"}))
	assert.Contains(t, b.ok("grep", in{"pattern": "foo", "include": "!a", "output": "files"}), "c.go")
	assert.NotContains(t, b.ok("grep", in{"pattern": "foo", "include": "!a", "output": "files"}), "x.go")
	assert.Contains(t, b.ok("grep", in{"pattern": "foo", "include": "c.go", "-A": 1}), "1: foo")
	assert.Contains(t, b.ok("glob", in{"pattern": "*.go,*.ts"}), "alternatives are written as {*.a,*.b}")
	assert.NotContains(t, b.ok("glob", in{"pattern": "{x,y},z"}), "alternatives")
	assert.Contains(t, b.ok("glob", in{"pattern": "C.GO"}), "(1 file would match if case were ignored: c.go)")
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
	assert.Equal(t, "(the newest 1 to 100 of 150 files; go on with offset=100 or narrow the pattern)", lines[100])
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
	assert.Equal(t, "No matches in the 9 files that were searched.\n(not searched: 1 file with secrets; name one as path to ask for it)\n(not searched: 1 binary file)\n(4 ignored files and directories were passed over; noIgnore=true searches them)",
		b.ok("grep", in{"pattern": "nowhere"}))
}

func TestGrepForms(t *testing.T) {
	b := newBench(t, `
-- a.go --
package a

func One() {}

// one more
var x = "f(x)"
-- b/b.go --
package b

func Two() {
	One()
}
-- c.py --
def one(): pass
-- .gitignore --
gen/
-- .git/HEAD --
ref: refs/heads/main
-- gen/g.go --
func Generated() {}
`, Config{})
	b.age("a.go", "b/b.go", "c.py")
	for _, c := range []struct {
		args in
		want string
	}{
		{in{"pattern": "One", "include": "b/*.go"}, "1 match in 1 file\n\nb/b.go\n2- \n3- func Two() {\n4: \tOne()\n5- }"},
		{in{"pattern": "func (One|Two)", "context": 1, "include": "*.go"}, "2 matches in 2 files\n\na.go\n2- \n3: func One() {}\n4- \n\nb/b.go\n2- \n3: func Two() {\n4- \tOne()"},
		{in{"pattern": "one", "ignoreCase": true, "output": "files"}, "3 files match\na.go\nb/b.go\nc.py"},
		{in{"pattern": "one", "ignoreCase": true, "output_mode": "count"}, "4 matches in 3 files\na.go: 2\nb/b.go: 1\nc.py: 1"},
		{in{"pattern": "one", "type": "py", "output": "count"}, "1 match in 1 file\nc.py: 1"},
		{in{"pattern": "f(x)", "literal": true, "output": "count"}, "1 match in 1 file\na.go: 1"},
		{in{"pattern": "one", "word": true, "output": "count", "include": "*.go, *.py"}, "2 matches in 2 files\na.go: 1\nc.py: 1"},
		{in{"pattern": "one", "include": "*,!*.go", "output": "count"}, "1 match in 1 file\nc.py: 1"},
		{in{"pattern": "\\{\n\tOne", "output": "count"}, "1 match in 1 file\nb/b.go: 1"},
		{in{"pattern": `Two[\s\S]+One`, "output": "count"}, "1 match in 1 file\nb/b.go: 1"},
		{in{"pattern": "(?s)Two.*One", "output": "count"}, "1 match in 1 file\nb/b.go: 1"},
		{in{"pattern": "\\{\n.*", "path": "b", "context": 1}, "1 match in 1 file\n\nb/b.go\n2- \n3: func Two() {\n4: \tOne()\n5- }"},
		{in{"pattern": "One", "path": "b/*.go", "output": "count"}, "1 match in 1 file\nb/b.go: 1"},
		{in{"pattern": "one", "ignoreCase": true, "output": "files", "limit": 1}, "3 files match\na.go\n\n(1 of 3 files shown; go on with offset=1, or narrow the pattern, path or include)"},
		{in{"pattern": "one", "ignoreCase": true, "output": "files", "limit": 2, "offset": 1}, "3 files match\nb/b.go\nc.py"},
		{in{"pattern": "ONE("}, "(the pattern is no regular expression: a \"(\" is not closed; it was searched as plain text)\nNo matches in 4 files.\n(3 matches if case were ignored (ignoreCase=true))\n(1 ignored file or directory was passed over; noIgnore=true searches it)"},
		{in{"pattern": "Generated"}, "No matches in 4 files.\n(1 match in files that git ignores (noIgnore=true))"},
		{in{"pattern": "Generated", "noIgnore": true, "output": "count"}, "1 match in 1 file\ngen/g.go: 1"},
		{in{"pattern": "x", "include": "*.zig"}, "No matches in 0 files.\n(no file matches include *.zig)\n(1 ignored file or directory was passed over; noIgnore=true searches it)"},
	} {
		assert.Equal(t, c.want, b.ok("grep", c.args), "%v", c.args)
	}
	assert.Contains(t, b.fails("grep", in{"pattern": "x", "type": "nosuch"}), "nosuch")
	assert.Equal(t, "gen/g.go", b.ok("glob", in{"pattern": "gen/*.go"}), "the pattern names it")
	assert.Equal(t, "gen/g.go", b.ok("glob", in{"pattern": "g.go", "noIgnore": true}))
	assert.Equal(t, "b/b.go\n(the newest 2 to 2 of 3 files; go on with offset=2 or narrow the pattern)", b.ok("glob", in{"pattern": "*.{go,py}", "limit": 1, "offset": 1}))
	assert.Equal(t, "There are 2 files; offset 9 is beyond the last.", b.ok("glob", in{"pattern": "*.go", "offset": 9}))
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
	assert.Contains(t, text, "\n1:50001: …xxx", "the column says where")
	text = b.ok("grep", in{"pattern": "hit"})
	assert.Contains(t, text, "250 matches in 1 file")
	assert.Contains(t, text, "20: hit\n(230 more in this file; name it as path to see them)")
	assert.NotContains(t, text, "21: hit")
	text = b.ok("grep", in{"pattern": "hit", "path": "many"})
	assert.Contains(t, text, "100: hit\n\n(100 of 250 matches shown; go on with offset=100, or narrow the pattern, path or include)")
	assert.NotContains(t, text, "101: hit")
	text = b.ok("grep", in{"pattern": "hit", "path": "many", "offset": 200})
	assert.Contains(t, text, "many\n201: hit\n")
	assert.Contains(t, text, "250: hit")
	assert.Contains(t, b.ok("grep", in{"pattern": "hit", "path": "many", "offset": 300}), "offset 300 is beyond the last")
	assert.Contains(t, b.ok("grep", in{"pattern": "plain("}), "searched as plain text")
	b.put("odd", "a\x1b[2J \xff hit2\n")
	assert.Contains(t, b.ok("grep", in{"pattern": "hit2"}), `1: a\x1b[2J `+"\uFFFD hit2")

	for _, c := range []struct{ pattern, want string }{
		{"", "empty"},
		{"(?=x)", "look-ahead (?=…) is not supported"},
		{"(?<!x)y", "look-behind (?<!…) is not supported"},
		{`(a)\1`, "back-reference \\1 is not supported"},
		{`\kword`, "is not supported"},
		{"a{1001}", "at most 1000"},
		{strings.Repeat("x", 2000), "longer than 1024"},
	} {
		assert.Contains(t, b.fails("grep", in{"pattern": c.pattern}), c.want)
	}
	assert.Contains(t, b.fails("grep", in{"pattern": "x", "include": "[a"}), "include: invalid glob")
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
	assert.Contains(t, text, "No matches in the 0 files that were searched.\n(not searched: 2 files or directories that could not be read)")
	res, err := b.run("grep", in{"pattern": "x"})
	require.NoError(t, err)
	assert.Equal(t, false, res.Metadata["exact"], "not everything was searched")
	assert.Contains(t, b.ok("grep", in{"pattern": "x", "path": "f"}), "(not searched: 1 file or directory that could not be read)")
}

// TestSearchNames: names that are no patterns, that lead through links, and that
// begin at the root of the file system or of the project.
func TestSearchNames(t *testing.T) {
	outside := tooltest.Workspace(t, "-- o.txt --\nTODO outside\n-- sub/o.txt --\nTODO below\n")
	b := newBench(t, tree1+`
-- w{a --
brace
-- sub/w[b --
-- My Notes.md --
TODO notes
`, Config{})
	require.NoError(t, os.Symlink("app", b.path("link")))
	require.NoError(t, os.Symlink(outside, b.path("out")))
	for _, c := range []struct{ pattern, path, want string }{
		{"w{a", "", "w{a"},
		{"w[b", "sub", "sub/w[b"},
		{"sub/w[b", "", "sub/w[b"},
		{"link/**/*.tsx", "", "app/[id]/page.tsx"},
		{b.path("*.go"), "", "a.go"}, // at the top, not at any depth
		{b.path("*.go"), "sub", "a.go"},
		{"/app/**/*.tsx", "", "app/[id]/page.tsx"},
	} {
		assert.Equal(t, c.want, b.ok("glob", in{"pattern": c.pattern, "path": c.path}), c.pattern)
		assert.Equal(t, []string{"glob " + c.pattern}, b.asks())
	}
	asks := "external_directory " + filepath.ToSlash(outside) + "/*"
	assert.Equal(t, filepath.ToSlash(outside)+"/o.txt", b.ok("glob", in{"pattern": "out/*.txt"}))
	assert.Equal(t, []string{asks, "glob out/*.txt"}, b.asks())
	assert.Contains(t, b.ok("glob", in{"pattern": "sub"}), "(sub is a directory; its files are sub/**)")
	assert.Contains(t, b.ok("glob", in{"pattern": "**/out.go"}), "(1 file that git ignores would match; noIgnore=true shows them)")

	for _, c := range []struct {
		args in
		want string
	}{
		{in{"path": b.path("app/**")}, "app/[id]/page.tsx: 1"},
		{in{"path": "app/[id]/*.tsx"}, "app/[id]/page.tsx: 1"},
		{in{"path": "link/*/*"}, "app/[id]/page.tsx: 1"},
		{in{"path": "build/*.go"}, "build/out.go: 1"},
		{in{"include": b.path("*.go")}, "a.go: 1"},
		{in{"include": "app/"}, "app/[id]/page.tsx: 1"},
		{in{"include": "My Notes*.md"}, "My Notes.md: 1"},
		{in{"path": "out/*.txt"}, filepath.ToSlash(outside) + "/o.txt: 1"},
		{in{"path": filepath.Join(outside, "z*")}, "no file matches path"},
		{in{"path": filepath.Join(outside, "s*/*")}, filepath.ToSlash(outside) + "/sub/o.txt: 1"},
	} {
		c.args["pattern"], c.args["output"] = "TODO", "count"
		assert.Contains(t, b.ok("grep", c.args), c.want, "%v", c.args)
	}
	assert.Contains(t, b.fails("grep", in{"pattern": "x", "path": "nope/*.go"}), "not found: nope")
	assert.Contains(t, b.fails("grep", in{"pattern": "x", "path": "{a"}), "path: invalid glob")
}

// TestGrepEncodings: what read shows of a text in another encoding is what is searched.
func TestGrepEncodings(t *testing.T) {
	b := newBench(t, "", Config{})
	for name, data := range map[string]string{
		"utf16": "h\x00a\x00l\x00l\x00o\x00 \x00w\x00o\x00r\x00l\x00d\x00\n\x00",
		"1252":  "Gr\xfc\xdfe aus K\xf6ln\nna\xefve caf\xe9 \xfcberall\n",
		"sjis":  "\x82\xb1\x82\xea\x82\xcd\x93\xfa\x96{\x8c\xea\x82\xcc\x83e\x83L\x83X\x83g\x82\xc5\x82\xb7\x81B\n",
	} {
		b.put(name, data)
	}
	for pattern, want := range map[string]string{"hallo": "utf16: 1", "Köln$": "1252: 1", "überall": "1252: 1", "日本語": "sjis: 1"} {
		assert.Equal(t, "1 match in 1 file\n"+want, b.ok("grep", in{"pattern": pattern, "output": "count"}), pattern)
	}
	b.put("large", strings.Repeat("caf\xe9 na\xefve und fr\xf6hlich\n", 10_000)+"Stra\xdfe\n")
	assert.Contains(t, b.ok("grep", in{"pattern": "Straße"}), "10001: Straße")
	b.put("bin", "TODO\x00\x01\x02\xff\xfe")
	assert.Contains(t, b.ok("grep", in{"pattern": "TODO"}), "(not searched: 1 binary file)")
}

// TestGrepPages: the pages together are all lines that are shown of each file.
func TestGrepPages(t *testing.T) {
	b := newBench(t, "", Config{})
	want := map[string]int{}
	for i := range 12 {
		name := fmt.Sprintf("f%02d", i)
		b.put(name, strings.Repeat("hit\n", 3*i+1))
		want[name] = min(3*i+1, 20)
	}
	for _, limit := range []int{1, 7, 15, 20, 1000} {
		got, more, offset := map[string]int{}, 0, 0
		for {
			text := b.ok("grep", in{"pattern": "hit", "limit": limit, "offset": offset})
			var file string
			for line := range strings.Lines(text) {
				switch line = strings.TrimSpace(line); {
				case strings.HasPrefix(line, "f"):
					file = line
				case strings.HasSuffix(line, ": hit"):
					got[file]++
					offset++
				case strings.Contains(line, "more in this file"):
					more++
				}
			}
			if !strings.Contains(text, fmt.Sprintf("go on with offset=%d,", offset)) {
				break
			}
		}
		assert.Equal(t, want, got, "limit %d", limit)
		assert.Equal(t, 5, more, "limit %d: each file that has more says so once", limit)
	}
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

func TestSplitGlobs(t *testing.T) {
	for _, c := range []struct {
		list string
		want []string
	}{
		{"", nil},
		{"*.go", []string{"*.go"}},
		{"*.go *.{ts, tsx},!x", []string{"*.go", "*.{ts, tsx}", "!x"}},
		{"Makefile", []string{"Makefile"}},
		{"My Notes*.md", []string{"My Notes*.md", "My", "Notes*.md"}},
		{"Makefile *.mk", []string{"Makefile *.mk", "Makefile", "*.mk"}},
	} {
		assert.Equal(t, c.want, splitGlobs(c.list), c.list)
	}
}

// FuzzSplitGlobs: what is split off is in the list, and nothing but separators is
// lost.
func FuzzSplitGlobs(f *testing.F) {
	f.Add("*.go, !x_test.go")
	f.Add("*.{a,b} c")
	f.Add("{a,b")
	f.Add("}],[x, ]")
	f.Fuzz(func(t *testing.T, list string) {
		kept := ""
		for _, g := range splitGlobs(list) {
			require.NotEmpty(t, g)
			require.Contains(t, list, g)
			kept += g
		}
		for _, r := range list {
			require.True(t, strings.ContainsRune(kept, r) || r == ',' || unicode.IsSpace(r) || r == utf8.RuneError, "%q of %q is lost", r, list)
		}
	})
}
