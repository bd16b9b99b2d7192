package builtin

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agenttool/tool"
	"github.com/agenttool/tool/tooltest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestWrite(t *testing.T) {
	b := newBench(t, "-- a.txt --\nold\n", Config{})
	res, err := b.run("write", in{"filePath": "new/dir/b.txt", "content": "one\ntwo\n"})
	require.NoError(t, err)
	assert.Equal(t, "Created new/dir/b.txt (2 lines).", res.Text)
	assert.Equal(t, "one\ntwo\n", b.file("new/dir/b.txt"))
	assert.Equal(t, []string{"edit new/dir/b.txt"}, b.asks())
	assert.Equal(t, "Create new file new/dir/b.txt", b.asked[0].Title)
	assert.Equal(t, "--- /dev/null\n+++ b/new/dir/b.txt\n@@ -0,0 +1,2 @@\n+one\n+two\n", b.asked[0].Metadata["diff"])
	assert.Equal(t, false, res.Metadata["exists"])

	msg := b.fails("write", in{"filePath": "a.txt", "content": "new\n"})
	assert.Contains(t, msg, "a.txt already exists (1 line, 4 bytes) and was not read in this session")
	assert.Contains(t, msg, "It begins:\n1\told")
	assert.Equal(t, []string{"read a.txt"}, b.asks(), "its beginning is shown to who may read it")
	b.approver = tooltest.DenyAll{}
	assert.NotContains(t, b.fails("write", in{"filePath": "a.txt", "content": "new\n"}), "begins")
	b.approver = nil
	b.ok("read", in{"filePath": "./a.txt"})
	assert.Equal(t, "Overwrote a.txt (+1 -1 lines, now 1).", b.ok("write", in{"filePath": "a.txt", "content": "new\n"}))
	assert.Equal(t, "Overwrite a.txt", b.asked[0].Title)
	assert.Contains(t, b.ok("write", in{"filePath": "a.txt", "content": "newer\n"}), "Overwrote", "own writes are known")
	before, err := os.Stat(b.path("a.txt"))
	require.NoError(t, err)
	assert.Contains(t, b.ok("write", in{"filePath": "a.txt", "content": "newer\n"}), "already has exactly this content; nothing was written")
	assert.Empty(t, b.asks())
	after, err := os.Stat(b.path("a.txt"))
	require.NoError(t, err)
	assert.Equal(t, before.ModTime(), after.ModTime())

	b.put("a.txt", "foreign\n")
	assert.Contains(t, b.fails("write", in{"filePath": "a.txt", "content": "mine\n"}), "changed since it was read. The file changed since you read it:\n@@ -1 +1 @@\n-newer\n+foreign\n")
	assert.Equal(t, "foreign\n", b.file("a.txt"))
	b.ok("read", in{"filePath": "a.txt"})
	require.NoError(t, os.Chtimes(b.path("a.txt"), time.Now(), time.Now().Add(time.Hour)))
	b.ok("write", in{"filePath": "a.txt", "content": "touched is not changed\n"})
}

func TestWritePartlyRead(t *testing.T) {
	b := newBench(t, "", Config{})
	b.put("a.txt", numbered(10))
	b.ok("read", in{"filePath": "a.txt", "limit": 4})
	assert.Contains(t, b.fails("write", in{"filePath": "a.txt", "content": "x"}), "of its 10 lines, lines 5-10 were never shown to you")
	b.ok("read", in{"filePath": "a.txt", "offset": 8})
	assert.Contains(t, b.fails("write", in{"filePath": "a.txt", "content": "x"}), "lines 5-7 were never shown to you")
	b.ok("read", in{"filePath": "a.txt", "offset": 5, "limit": 3})
	b.ok("write", in{"filePath": "a.txt", "content": "x"})
}

// TestReadsBelongToSessions: what one session read another does not know.
func TestReadsBelongToSessions(t *testing.T) {
	b := newBench(t, "-- a.txt --\nold\n", Config{})
	b.ok("read", in{"filePath": "a.txt"})
	tl, _ := b.ts.Tool("write")
	c := b.call("write", in{"filePath": "a.txt", "content": "x"})
	c.SessionID = "another"
	_, err := tl.Run(t.Context(), c)
	require.ErrorContains(t, err, "was not read in this session")
}

func TestWriteKeepsForm(t *testing.T) {
	b := newBench(t, "", Config{})
	for _, c := range []struct{ name, before, content, after string }{
		{"crlf", "a\r\nb\r\n", "x\ny\n", "x\r\ny\r\n"},
		{"crlf given", "a\r\nb\r\n", "x\r\ny\n", "x\r\ny\n"},
		{"lf", "a\nb\n", "x\ny\n", "x\ny\n"},
		{"bom", "\xEF\xBB\xBFa\n", "x\n", "\xEF\xBB\xBFx\n"},
		{"no final newline", "a\n", "x", "x"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b.put(c.name, c.before)
			b.ok("read", in{"filePath": c.name})
			b.ok("write", in{"filePath": c.name, "content": c.content})
			assert.Equal(t, c.after, b.file(c.name))
		})
	}
}

func TestWriteKeepsModeAndLinks(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("modes and links")
	}
	b := newBench(t, "-- run.sh --\nold\n-- hard.txt --\nold\n", Config{})
	require.NoError(t, os.Chmod(b.path("run.sh"), 0o750))
	require.NoError(t, os.Symlink("run.sh", b.path("link.sh")))
	require.NoError(t, os.Link(b.path("hard.txt"), b.path("twin.txt")))
	b.ok("read", in{"filePath": "link.sh"})
	b.ok("write", in{"filePath": "link.sh", "content": "new\n"})
	info, err := os.Lstat(b.path("link.sh"))
	require.NoError(t, err)
	assert.NotZero(t, info.Mode()&fs.ModeSymlink, "the link stays a link")
	assert.Equal(t, "new\n", b.file("run.sh"))
	info, err = os.Stat(b.path("run.sh"))
	require.NoError(t, err)
	assert.Equal(t, fs.FileMode(0o750), info.Mode().Perm())

	b.ok("read", in{"filePath": "hard.txt"})
	b.ok("write", in{"filePath": "hard.txt", "content": "longer new text\n"})
	assert.Equal(t, "longer new text\n", b.file("twin.txt"), "both names stay one file")
	b.ok("write", in{"filePath": "hard.txt", "content": "s\n"})
	assert.Equal(t, "s\n", b.file("twin.txt"))

	require.NoError(t, os.Chmod(b.path("run.sh"), 0o444))
	assert.Contains(t, b.fails("write", in{"filePath": "run.sh", "content": "no\n"}), "read-only")
	names, err := filepath.Glob(b.path(".*" + tempSuffix))
	require.NoError(t, err)
	assert.Empty(t, names)
}

// TestDeniedChangesNothing: not even a directory is made before the answer.
func TestDeniedChangesNothing(t *testing.T) {
	b := newBench(t, "-- a.txt --\nold\n", Config{})
	b.ok("read", in{"filePath": "a.txt"})
	b.approver = tooltest.DenyAll{}
	b.fails("write", in{"filePath": "x/y/z.txt", "content": "x"})
	b.fails("write", in{"filePath": "a.txt", "content": "x"})
	b.fails("edit", in{"filePath": "a.txt", "oldString": "old", "newString": "new"})
	b.fails("multiedit", in{"edits": []in{{"filePath": "a.txt", "oldString": "old", "newString": "new"}, {"filePath": "m/n/new", "oldString": "", "newString": "x"}}})
	b.fails("apply_patch", in{"patchText": "*** Begin Patch\n*** Update File: a.txt\n*** Move to: p/q/b.txt\n@@\n-old\n+new\n*** Add File: r/s\n+x\n*** End Patch"})
	b.fails("apply_patch", in{"patchText": "*** Begin Patch\n*** Delete File: a.txt\n*** End Patch"})
	b.fails("bash", in{"command": "touch made"})
	list, err := os.ReadDir(b.dir)
	require.NoError(t, err)
	require.Len(t, list, 1)
	assert.Equal(t, "old\n", b.file("a.txt"))
}

// TestChangedWhileAsking: what is written is what was approved, or is asked again.
func TestChangedWhileAsking(t *testing.T) {
	b := newBench(t, "", Config{})
	edit := in{"filePath": "a.txt", "oldString": "two", "newString": "TWO"}
	t.Run("elsewhere", func(t *testing.T) {
		b.put("a.txt", "one\ntwo\nthree\n")
		b.approver = tool.ApproverFunc(func(context.Context, *tool.Call, *tool.Request) error {
			b.put("a.txt", "zero\none\ntwo\nthree\n")
			return nil
		})
		b.ok("edit", edit)
		assert.Equal(t, "zero\none\nTWO\nthree\n", b.file("a.txt"))
		assert.Len(t, b.asks(), 1, "the same lines change")
	})
	t.Run("at the place", func(t *testing.T) {
		b.put("a.txt", "one\ntwo\nthree\n")
		b.approver = tool.ApproverFunc(func(_ context.Context, _ *tool.Call, req *tool.Request) error {
			b.put("a.txt", "one\nnot two\nthree\n")
			return nil
		})
		b.ok("edit", edit)
		assert.Equal(t, "one\nnot TWO\nthree\n", b.file("a.txt"))
		require.Len(t, b.asked, 2)
		assert.Contains(t, b.asked[1].Metadata["diff"], "-not two\n+not TWO\n")
	})
	t.Run("gone", func(t *testing.T) {
		b.put("a.txt", "one\ntwo\nthree\n")
		b.approver = tool.ApproverFunc(func(context.Context, *tool.Call, *tool.Request) error {
			b.put("a.txt", "one\nthree\n")
			return nil
		})
		assert.Contains(t, b.fails("edit", edit), "not found")
		assert.Equal(t, "one\nthree\n", b.file("a.txt"))
	})
	t.Run("a link is put in its place", func(t *testing.T) {
		outside := tooltest.Workspace(t, "-- o.txt --\ntwo\n")
		b.put("a.txt", "two\n")
		b.approver = tool.ApproverFunc(func(_ context.Context, _ *tool.Call, req *tool.Request) error {
			if req.Permission == "external_directory" {
				return &tool.DeniedError{Request: req}
			}
			os.Remove(b.path("a.txt"))
			return os.Symlink(filepath.Join(outside, "o.txt"), b.path("a.txt"))
		})
		assert.Contains(t, b.fails("edit", edit), "external_directory")
		data, err := os.ReadFile(filepath.Join(outside, "o.txt"))
		require.NoError(t, err)
		assert.Equal(t, "two\n", string(data))
	})
	t.Run("for ever", func(t *testing.T) {
		require.NoError(t, os.Remove(b.path("a.txt")))
		n := 0
		change := func() {
			n++
			b.put("a.txt", fmt.Sprintf("%d two\n", n))
		}
		change()
		b.approver = tool.ApproverFunc(func(context.Context, *tool.Call, *tool.Request) error {
			change()
			return nil
		})
		assert.Contains(t, b.fails("edit", edit), "again and again")
	})
}

// TestParallelEdits: edits of one file at once all arrive.
func TestParallelEdits(t *testing.T) {
	const n = 100
	b := newBench(t, "-- a.txt --\nend\n", Config{})
	tl, _ := b.ts.Tool("edit")
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			_, err := tl.Run(t.Context(), b.call("edit", in{"filePath": "a.txt", "oldString": "end\n", "newString": fmt.Sprintf("line %d\nend\n", i)}))
			assert.NoError(t, err)
		})
	}
	wg.Wait()
	lines := strings.Split(b.file("a.txt"), "\n")
	assert.Len(t, lines, n+2)
	assert.Zero(t, b.ts.locks.Len(), "no lock is left behind")
}

func TestProtectedPaths(t *testing.T) {
	b := newBench(t, "-- host/rules.json --\n{}\n", Config{Protected: []string{"host"}})
	for _, c := range []struct {
		path    string
		guarded bool
	}{
		{".git/hooks/pre-commit", true}, {".GIT/config", true}, {"sub/.git/x", true}, {".github/workflows/ci.yml", true},
		{".vscode/tasks.json", true}, {".vscode/extensions.json", false}, {".envrc", true}, {".env", true},
		{"host/new.json", true}, {"hosts.txt", false}, {".github/README.md", false}, {".bashrc", true},
	} {
		b.ok("write", in{"filePath": c.path, "content": "x\n"})
		assert.Equal(t, c.guarded, b.asked[0].Protected, c.path)
		if c.guarded {
			assert.Equal(t, b.asked[0].Patterns, b.asked[0].Always)
		}
	}
}

func TestOnFileChange(t *testing.T) {
	var got []FileChange
	b := newBench(t, "", Config{OnFileChange: func(_ context.Context, ch FileChange) {
		got = append(got, ch)
		if len(got) == 2 {
			panic("host")
		}
	}})
	b.ok("write", in{"filePath": "a.txt", "content": "one\n"})
	res, err := b.run("edit", in{"filePath": "a.txt", "oldString": "one", "newString": "two"})
	require.NoError(t, err)
	assert.Equal(t, "panicked: host", res.Metadata["observer"])
	assert.Equal(t, "two\n", b.file("a.txt"))
	require.Len(t, got, 2)
	assert.Equal(t, "", got[0].Before)
	assert.Equal(t, got[0].After, got[1].Before)
	assert.Equal(t, FileChange{
		Operation: "update", Path: b.path("a.txt"), Before: got[0].After, After: got[1].After, SessionID: "session_1", Tool: "edit", CallID: "call_1",
	}, got[1])
}

func TestWriteRefuses(t *testing.T) {
	b := newBench(t, "-- dir/x --\n", Config{Limits: Limits{FileBytes: 10, WriteBytes: 10}})
	assert.Contains(t, b.fails("write", in{"filePath": "dir", "content": "x"}), "is a directory")
	assert.Contains(t, b.fails("write", in{"filePath": "dir/x/y", "content": "x"}), "is a file, not a directory")
	assert.Contains(t, b.fails("write", in{"filePath": "big", "content": "01234567890"}), "more than the 10")
	b.put("big", "01234567890")
	assert.Contains(t, b.fails("multiedit", in{"filePath": "big", "edits": []in{{"oldString": "x", "newString": "y"}}}), "more than the 10 that are taken on here")
}
