package builtin

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/agenttool/tool/tooltest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const lsTree = `
-- .gitignore --
*.log
/build/
-- a.go --
-- a.log --
-- build/out --
-- src/b.go --
-- src/c.log --
-- src/deep/er/est.txt --
-- src/.gitignore --
b.*
-- wide/x --
-- .git/config --
`

func TestLs(t *testing.T) {
	b := newBench(t, lsTree, Config{})
	want := ".git/\n.gitignore\na.go\nsrc/\n  .gitignore\n  deep/\n    er/\n  (2 ignored)\nwide/\n  x\n(2 ignored)"
	assert.Equal(t, want, b.ok("ls", in{}))
	assert.Equal(t, []string{"list ."}, b.asks())
	assert.Equal(t, want, b.ok("ls", in{"path": "."}))
	assert.Equal(t, want, b.ok("ls", in{"path": b.dir}))
	assert.Equal(t, ".git/\n.gitignore\na.go\nsrc/\nwide/\n(2 ignored)", b.ok("ls", in{"depth": 1}))
	assert.Equal(t, ".git/\n.gitignore\na.go\na.log\nbuild/\nsrc/\nwide/", b.ok("ls", in{"depth": 1, "all": true}))
	assert.Equal(t, ".gitignore\ndeep/\n  er/\n    est.txt\n(2 ignored)", b.ok("ls", in{"path": "src"}), "rules from above hold")
	assert.Equal(t, "out", b.ok("ls", in{"path": "build"}), "what is named is shown")
	assert.Equal(t, ".git/\nsrc/\nwide/\n(4 ignored)", b.ok("ls", in{"depth": 1, "ignore": []string{"*.go", ".gitignore"}}))
	assert.Equal(t, "config", b.ok("ls", in{"path": ".git"}))
	assert.Regexp(t, `^a.go  0 bytes, \d{4}-\d\d-\d\d \d\d:\d\dZ$`, strings.Split(b.ok("ls", in{"depth": 1, "long": true}), "\n")[2])

	assert.Contains(t, b.fails("ls", in{"path": "a.go"}), "is a file, not a directory; use read")
	assert.Contains(t, b.fails("ls", in{"path": "scr"}), "Did you mean src")
	assert.Contains(t, b.fails("ls", in{"ignore": []string{"[a"}}), "is not a pattern")
	outside := tooltest.Workspace(t, "-- o --\n")
	assert.Equal(t, "o", b.ok("ls", in{"path": outside}))
	assert.Len(t, b.asks(), 2)
	assert.Equal(t, "(empty directory)", b.ok("ls", in{"path": t.TempDir()}))
}

// TestLsShares (LS-1, LS-5): a wide directory hides neither what is beside it nor
// that something is missing, and every entry can be reached.
func TestLsShares(t *testing.T) {
	b := newBench(t, "", Config{Limits: Limits{Entries: 20}})
	for _, dir := range []string{"a", "b", "c"} {
		require.NoError(t, os.Mkdir(b.path(dir), 0o777))
	}
	for i := range 50 {
		b.put(fmt.Sprintf("a/%02d", i), "")
	}
	for _, n := range []string{"b/1", "b/2", "c/1", "c/2", "c/3"} {
		b.put(n, "")
	}
	text := b.ok("ls", in{})
	assert.Contains(t, text, "a/\n  00\n")
	assert.Contains(t, text, "  11\n  +38 more\nb/\n  1\n  2\nc/\n  1\n  2\n  3")
	assert.NotContains(t, text, "  12\n")

	var all []string
	offset := 1
	for range 10 {
		text := b.ok("ls", in{"path": "a", "offset": offset})
		lines := strings.Split(text, "\n")
		last := lines[len(lines)-1]
		if !strings.HasPrefix(last, "[PARTIAL") {
			all = append(all, lines...)
			break
		}
		all = append(all, lines[:len(lines)-1]...)
		offset += 20
		assert.Contains(t, last, fmt.Sprintf(`of 50. Next: ls {"offset":%d,"path":"a"}`, offset))
	}
	assert.Len(t, all, 50)
	assert.Contains(t, b.ok("ls", in{"path": "a", "offset": 51}), "offset 51 is beyond the end")
	b.put("d", "")
	assert.Contains(t, b.ok("ls", in{"limit": 4}), "3 directories not opened for want of room")
}

func TestLsShowsWhatThingsAre(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links and modes")
	}
	b := newBench(t, "-- run.sh --\n-- d/x --\n", Config{})
	require.NoError(t, os.Chmod(b.path("run.sh"), 0o755))
	for link, to := range map[string]string{"file": "run.sh", "dir": "d", "abs": b.path("d"), "broken": "nope", "out": "/etc"} {
		require.NoError(t, os.Symlink(to, b.path(link)))
	}
	b.put("odd\n\x1bname", "")
	assert.Equal(t, "abs -> "+b.path("d")+"/\nbroken -> nope (broken)\nd/\n  x\ndir -> d/\nfile -> run.sh\n\"odd\\n\\x1bname\"\nout -> /etc/\nrun.sh*", b.ok("ls", in{}))
	if os.Geteuid() == 0 {
		return // may read everything
	}
	require.NoError(t, os.Chmod(b.path("d"), 0))
	assert.Contains(t, b.ok("ls", in{}), "d/\n  (cannot be read: permission denied)")
	require.NoError(t, os.Chmod(b.path("d"), 0o700))
}

// TestLsManyEntries (LS-7): memory grows with what is shown, not with what is there.
func TestLsManyEntries(t *testing.T) {
	const n = 20_000
	b := newBench(t, "", Config{})
	for i := range n {
		f, err := os.Create(b.path(fmt.Sprintf("file-%06d", i)))
		require.NoError(t, err)
		require.NoError(t, f.Close())
	}
	start := time.Now()
	text := b.ok("ls", in{"limit": 5})
	assert.Less(t, time.Since(start), hang)
	assert.True(t, strings.HasPrefix(text, "file-000000\nfile-000001\n"))
	assert.Contains(t, text, "[PARTIAL entries 1-5 of 20000.")
}
