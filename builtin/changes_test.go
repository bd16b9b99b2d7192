package builtin

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sort"
	"strings"
	"sync"
	"testing"

	"github.com/agenttool/tool"
	"github.com/agenttool/tool/internal/fsroot"
	"github.com/agenttool/tool/internal/textfile"
	"github.com/agenttool/tool/tooltest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// snapshot describes everything below the workspace: names, modes, links, content.
func (b *bench) snapshot() string {
	b.t.Helper()
	var out []string
	require.NoError(b.t, filepath.WalkDir(b.dir, func(p string, d fs.DirEntry, err error) error {
		require.NoError(b.t, err)
		info, err := d.Info()
		require.NoError(b.t, err)
		rel, err := filepath.Rel(b.dir, p)
		require.NoError(b.t, err)
		line := fmt.Sprintf("%s %v", rel, info.Mode())
		switch {
		case info.Mode().IsRegular():
			data, err := os.ReadFile(p)
			require.NoError(b.t, err)
			line += fmt.Sprintf(" %q", data)
		case info.Mode()&fs.ModeSymlink != 0:
			to, err := os.Readlink(p)
			require.NoError(b.t, err)
			line += " -> " + to
		}
		out = append(out, line)
		return nil
	}))
	sort.Strings(out)
	return strings.Join(out, "\n")
}

const fivePatch = `*** Begin Patch
*** Update File: a.txt
@@
-alpha
+ALPHA
*** Update File: b.txt
*** Move to: far/away/b2.txt
@@
-beta
+BETA
*** Delete File: c.txt
*** Add File: new/dir/d.txt
+delta
*** Update File: e.txt
@@
-epsilon
+EPSILON
*** End Patch`

const fiveFiles = "-- a.txt --\nalpha\n-- b.txt --\nbeta\n-- c.txt --\ngamma\n-- e.txt --\nepsilon\n"

// TestPatchAllOrNothing (AP-1): whatever step fails, the tree is as it was.
func TestPatchAllOrNothing(t *testing.T) {
	b := newBench(t, fiveFiles, Config{})
	if runtime.GOOS != "windows" {
		require.NoError(t, os.Chmod(b.path("a.txt"), 0o750))
	}
	before := b.snapshot()
	steps := 0
	for fail := 1; ; fail++ {
		n := 0
		b.ts.writer.Fault = func(step, path string) error {
			if n++; n == fail {
				return errors.New("injected at " + step)
			}
			return nil
		}
		_, err := b.run("apply_patch", in{"patchText": fivePatch})
		if err == nil {
			steps = n
			break
		}
		require.ErrorContains(t, err, "injected")
		require.Contains(t, tool.ModelText(err), "nothing was changed")
		require.Equal(t, before, b.snapshot(), "step %d", fail)
	}
	assert.Greater(t, steps, 15, "every step was made to fail")
	b.ts.writer.Fault = nil
	assert.Equal(t, "ALPHA\n", b.file("a.txt"))
	assert.Equal(t, "BETA\n", b.file("far/away/b2.txt"))
	assert.NoFileExists(t, b.path("c.txt"))
	assert.Equal(t, "delta\n", b.file("new/dir/d.txt"))
	b.ok("edit", in{"filePath": "c.txt", "undo": true})
	assert.Equal(t, before, b.snapshot(), "all of it is taken back, directories included")
}

func TestApplyPatch(t *testing.T) {
	b := newBench(t, fiveFiles, Config{})
	res, err := b.run("apply_patch", in{"patchText": fivePatch})
	require.NoError(t, err)
	assert.Equal(t, "Applied the patch:\nM a.txt (+1 -1)\nM far/away/b2.txt (moved from b.txt, +1 -1)\nD c.txt\nA new/dir/d.txt (1 line)\nM e.txt (+1 -1)", res.Text)
	assert.Equal(t, []string{"edit a.txt", "edit b.txt", "edit far/away/b2.txt", "edit c.txt", "edit new/dir/d.txt", "edit e.txt"}, b.asks(), "one question with all paths")
	require.Len(t, b.asked, 1)
	shown, _ := b.asked[0].Metadata["diff"].(string)
	for _, want := range []string{"-alpha\n+ALPHA\n", "--- a/b.txt\n+++ b/far/away/b2.txt\n", "--- a/c.txt\n+++ /dev/null\n", "--- /dev/null\n+++ b/new/dir/d.txt\n"} {
		assert.Contains(t, shown, want)
	}
	assert.Equal(t, shown, res.Metadata["diff"])
	assert.Len(t, res.Metadata["files"], 5)

	outside := tooltest.Workspace(t, "-- o.txt --\nout\n")
	o := filepath.ToSlash(filepath.Join(outside, "o.txt"))
	b.ok("apply_patch", in{"patchText": "*** Begin Patch\n*** Update File: " + o + "\n@@\n-out\n+OUT\n*** Add File: .env\n+x\n*** End Patch"})
	assert.Equal(t, []string{"external_directory " + filepath.ToSlash(outside) + "/*", "edit " + o, "edit .env"}, b.asks())
	assert.True(t, b.asked[1].Protected)

	t.Run("refusals", func(t *testing.T) {
		before := b.snapshot()
		for _, c := range []struct{ patch, want string }{
			{"no patch", "no patch found"},
			{"*** Begin Patch\n*** Update File: aa.txt\n@@\n-x\n+y\n*** End Patch", "Did you mean a.txt"},
			{"*** Begin Patch\n*** Add File: a.txt\n+x\n*** End Patch", "exists already"},
			{"*** Begin Patch\n*** Update File: a.txt\n*** Move to: e.txt\n@@\n-ALPHA\n+x\n*** End Patch", "exists already"},
			{"*** Begin Patch\n*** Update File: a.txt\n@@\n-ALPHA\n+x\n*** Update File: e.txt\n@@\n-no such line\n+x\n*** End Patch", "no such line"},
			{"*** Begin Patch\n*** Delete File: far\n*** End Patch", "is a directory"},
		} {
			assert.Contains(t, b.fails("apply_patch", in{"patchText": c.patch}), c.want)
			assert.Equal(t, before, b.snapshot())
		}
	})
	t.Run("deleted only as it was read", func(t *testing.T) {
		b.ok("read", in{"filePath": "e.txt"})
		b.put("e.txt", "EPSILON\nforeign\n")
		msg := b.fails("apply_patch", in{"patchText": "*** Begin Patch\n*** Delete File: e.txt\n*** End Patch"})
		assert.Contains(t, msg, "changed since you read it")
		assert.Contains(t, msg, "+foreign")
		b.ok("apply_patch", in{"patchText": "*** Begin Patch\n*** Update File: e.txt\n@@\n-EPSILON\n+e\n*** End Patch"})
		assert.Equal(t, "e\nforeign\n", b.file("e.txt"), "a change elsewhere is no obstacle for an update")
	})
	t.Run("a link is deleted, not what it leads to", func(t *testing.T) {
		if runtime.GOOS == "windows" {
			t.Skip("links")
		}
		require.NoError(t, os.Symlink("a.txt", b.path("link")))
		b.ok("apply_patch", in{"patchText": "*** Begin Patch\n*** Delete File: link\n*** End Patch"})
		assert.NoFileExists(t, b.path("link"))
		assert.Equal(t, "ALPHA\n", b.file("a.txt"))
	})
	t.Run("already so", func(t *testing.T) {
		assert.Contains(t, b.ok("apply_patch", in{"patchText": "*** Begin Patch\n*** Add File: a.txt\n+ALPHA\n*** End Patch"}), "already has exactly this content")
	})
}

// TestPatchIsForSomeModels: the tool is offered to models that know the form, and
// where nothing is known.
func TestPatchIsForSomeModels(t *testing.T) {
	b := newBench(t, "", Config{})
	tl, ok := b.ts.Tool("apply_patch")
	require.True(t, ok)
	for model, offered := range map[string]bool{
		"": true, "gpt-5": true, "GPT-5.1-codex": true, "gpt-oss-120b": false, "gpt-4o": false, "gpt-4.1": false, "claude-opus-4": false, "gemini-2.5-pro": false,
	} {
		_, err := tl.Spec(t.Context(), &tool.Agent{Model: model})
		if offered {
			require.NoError(t, err, model)
		} else {
			require.ErrorIs(t, err, tool.ErrHidden, model)
		}
	}
	_, err := tl.Spec(t.Context(), nil)
	require.NoError(t, err)
}

// TestOpposedPatches (LK-2): two patches over the same files in opposite order
// never wait for each other.
func TestOpposedPatches(t *testing.T) {
	b := newBench(t, "-- a --\n0\n-- b --\n0\n", Config{})
	b.ts.writer.NoSync = true
	one := "*** Begin Patch\n*** Update File: a\n@@\n+x\n 0\n*** Update File: b\n@@\n+x\n 0\n*** End Patch"
	two := "*** Begin Patch\n*** Update File: b\n@@\n+y\n 0\n*** Update File: a\n@@\n+y\n 0\n*** End Patch"
	tl, _ := b.ts.Tool("apply_patch")
	var wg sync.WaitGroup
	const rounds = 40
	for _, p := range []string{one, two} {
		wg.Go(func() {
			for range rounds {
				_, err := tl.Run(t.Context(), b.call("apply_patch", in{"patchText": p}))
				assert.NoError(t, err)
			}
		})
	}
	wg.Wait()
	assert.Equal(t, 2*rounds+1, strings.Count(b.file("a"), "\n"))
	assert.Equal(t, b.file("a"), b.file("b"), "each was made in both files or in none")
	assert.Zero(t, b.ts.locks.Len())
}

func TestMultiedit(t *testing.T) {
	b := newBench(t, "", Config{})
	b.put("f", "one\ntwo\nthree\n")
	b.put("g", "uno\r\ndos\r\n")
	b.ok("read", in{"filePath": "f"})
	b.ok("read", in{"filePath": "g"})
	res, err := b.run("multiedit", in{"filePath": "f", "edits": []in{
		{"oldString": "one", "newString": "1"},
		{"oldString": "1\ntwo", "newString": "1\n2"},
		{"oldString": "dos\n", "newString": "2\n3\n", "filePath": "./g"},
		{"oldString": "one", "newString": "1"},
	}})
	require.NoError(t, err)
	assert.Equal(t, "1\n2\nthree\n", b.file("f"))
	assert.Equal(t, "uno\r\n2\r\n3\r\n", b.file("g"))
	assert.Equal(t, []string{"edit f", "edit g"}, b.asks())
	require.Len(t, b.asked, 1)
	assert.Contains(t, res.Text, "edit 4 is the same as edit 1 and was left out")

	before := b.snapshot()
	msg := b.fails("multiedit", in{"filePath": "f", "edits": []in{
		{"oldString": "2", "newString": "two"},
		{"oldString": "2\nthree", "newString": "x"},
		{"oldString": "nowhere to be found", "newString": "x"},
		{"oldString": "three", "newString": "3"},
	}})
	for _, want := range []string{"2 of 4 edits cannot be applied", "Edit 1: ok", "Edit 2: edit 1 already changed this region", "Edit 3: oldString was not found", "Edit 4: ok"} {
		assert.Contains(t, msg, want)
	}
	msg = b.fails("multiedit", in{"edits": []in{
		{"filePath": "f", "oldString": "three", "newString": "3"},
		{"filePath": "g", "oldString": "nope nope", "newString": "3"},
	}})
	assert.Contains(t, msg, "number 2, for g: ")
	assert.Contains(t, msg, "Nothing was changed in any file.")
	assert.Contains(t, b.fails("multiedit", in{"edits": []in{{"oldString": "a", "newString": "b"}}}), "edit 1 has no filePath")
	assert.Contains(t, b.fails("multiedit", in{"filePath": "f", "edits": []in{{"oldString": "a", "newString": strings.Repeat("b", 2<<20)}}}), "more than 1048576 bytes")
	assert.Equal(t, before, b.snapshot())

	b.ok("multiedit", in{"filePath": "new.txt", "edits": `[{"oldString":"","newString":"a\nb\n"},{"old_string":"b","new_string":"B"}]`})
	assert.Equal(t, "a\nB\n", b.file("new.txt"), "created, from arguments that had to be repaired")
}

func TestUndo(t *testing.T) {
	b := newBench(t, "-- f --\none\ntwo\n", Config{})
	undo := in{"filePath": "f", "undo": true}
	assert.Contains(t, b.fails("edit", undo), "no change of f by this session")
	b.ok("edit", in{"filePath": "f", "oldString": "one", "newString": "1"})
	b.ok("edit", in{"filePath": "f", "oldString": "two", "newString": "2"})
	b.ok("write", in{"filePath": "g", "content": "new\n"})
	res, err := b.run("edit", undo)
	require.NoError(t, err)
	assert.Equal(t, "1\ntwo\n", b.file("f"))
	assert.Equal(t, []string{"edit f"}, b.asks())
	assert.Contains(t, b.asked[0].Metadata["diff"], "-2\n+two\n")
	assert.Equal(t, "Took back the last change:\nf (+1 -1)\n@@ -1,2 +1,2 @@\n 1\n-2\n+two", res.Text)
	b.ok("edit", undo)
	assert.Equal(t, "one\ntwo\n", b.file("f"))
	assert.Contains(t, b.fails("edit", undo), "no change of f")
	b.ok("edit", in{"filePath": "g", "undo": true})
	assert.NoFileExists(t, b.path("g"))

	b.ok("edit", in{"filePath": "f", "oldString": "one", "newString": "1"})
	b.put("f", "somebody else's\n")
	assert.Contains(t, b.fails("edit", undo), "changed again since")
	assert.Equal(t, "somebody else's\n", b.file("f"))

	c := b.call("edit", undo)
	c.SessionID = "another"
	tl, _ := b.ts.Tool("edit")
	_, err = tl.Run(t.Context(), c)
	require.ErrorContains(t, err, "no change of f by this session")
}

// TestUndoKeepsLittle: what is kept for taking back is bounded.
func TestUndoKeepsLittle(t *testing.T) {
	var h history
	big := &change{op: textfile.Update, l: location{Path: &fsroot.Path{}, abs: "/a"}, raw: make([]byte, keptBytes/2+1), after: []byte("x")}
	h.push("s", []*change{big}, make([]textfile.Result, 1))
	h.push("s", []*change{big}, make([]textfile.Result, 1))
	assert.Len(t, h.sessions["s"], 1)
	for range 2 * keptDeeds {
		h.push("s", []*change{{op: textfile.Update, l: location{Path: &fsroot.Path{}, abs: "/a"}, raw: []byte("x"), after: []byte("y")}}, make([]textfile.Result, 1))
	}
	assert.Len(t, h.sessions["s"], keptDeeds)
	h.forget("s")
	assert.Nil(t, h.last("s", "/a"))
}

// TestSeenLines (FT-6): lines that were not shown are changed by exact text only.
func TestSeenLines(t *testing.T) {
	b := newBench(t, "", Config{})
	var text strings.Builder
	for i := range 60 {
		fmt.Fprintf(&text, "\tline %d is here\n", i+1)
	}
	b.put("f", text.String()+"\ttwin\n\ttwin\n")
	b.ok("read", in{"filePath": "f", "limit": 10})
	b.ok("edit", in{"filePath": "f", "oldString": "    line 5 is here\n    line 6 is here\n", "newString": "    line five\n    line 6 is here\n"})
	assert.Contains(t, b.file("f"), "\tline five\n\tline 6 is here\n")
	msg := b.fails("edit", in{"filePath": "f", "oldString": "    line 50 is here\n    line 51 is here\n", "newString": "    x\n    line 51 is here\n"})
	assert.Contains(t, msg, "you were never shown 50-51 in full")
	assert.Contains(t, msg, "offset=50")
	assert.Contains(t, b.fails("apply_patch", in{"patchText": "*** Begin Patch\n*** Update File: f\n@@\n-    line 50 is here\n+    x\n*** End Patch"}), "never shown")
	assert.Contains(t, b.fails("multiedit", in{"filePath": "f", "edits": []in{{"oldString": "    line 50 is here\n    line 51 is here\n", "newString": "x"}}}), "never shown")
	b.ok("edit", in{"filePath": "f", "oldString": "\tline 50 is here\n", "newString": "\tline fifty\n"})
	assert.Contains(t, b.fails("edit", in{"filePath": "f", "oldString": "twin", "newString": "x", "replaceAll": true}), "confirm the number with expectedCount")
	b.ok("edit", in{"filePath": "f", "oldString": "twin", "newString": "x", "replaceAll": true, "expectedCount": 2})

	b.put("never", "\ta\n\tb\n")
	b.ok("edit", in{"filePath": "never", "oldString": "    a\n    b\n", "newString": "    A\n    b\n"})
	assert.Equal(t, "\tA\n\tb\n", b.file("never"), "of a file never shown, other blanks will do")
	strict := newBench(t, "", Config{ReadFirst: true})
	strict.put("never", "\ta\n\tb\n")
	assert.Contains(t, strict.fails("edit", in{"filePath": "never", "oldString": "    a\n    b\n", "newString": "x"}), "was not read in this session")
	strict.ok("edit", in{"filePath": "never", "oldString": "\ta\n", "newString": "\tA\n"})
}

func TestEditByLine(t *testing.T) {
	b := newBench(t, "", Config{})
	for _, c := range []struct {
		name       string
		input      in
		after, err string
	}{
		{"insert", in{"insertLine": 1, "oldString": "one", "newString": "1.5\n"}, "one\n1.5\ntwo\nthree\n", ""},
		{"insert in front", in{"insertLine": 0, "oldString": "one", "newString": "0\n"}, "0\none\ntwo\nthree\n", ""},
		{"insert at the end", in{"insertLine": 3, "oldString": "three", "newString": "4\n"}, "one\ntwo\nthree\n4\n", ""},
		{"insert between", in{"insertLine": 1, "oldString": "one\ntwo", "newString": "x"}, "one\nx\ntwo\nthree\n", ""},
		{"insert, out of date", in{"insertLine": 1, "oldString": "two", "newString": "x"}, "", "That is line 2 now"},
		{"replace", in{"startLine": 2, "endLine": 3, "oldString": "two\nthree", "newString": "2\n3\n"}, "one\n2\n3\n", ""},
		{"replace one", in{"startLine": 2, "oldString": "two", "newString": "2"}, "one\n2\nthree\n", ""},
		{"replace, first and last", in{"startLine": 1, "endLine": 3, "oldString": "one\nthree", "newString": "x"}, "x\n", ""},
		{"replace, wrong middle", in{"startLine": 1, "endLine": 3, "oldString": "one\nzwei\nthree", "newString": "x"}, "", "line 2 does not say"},
		{"replace, no guard", in{"startLine": 1, "endLine": 2, "oldString": "", "newString": "x"}, "", "without the text of the lines"},
		{"replace, one guard", in{"startLine": 1, "endLine": 2, "oldString": "one", "newString": "x"}, "", "give what the first and the last"},
		{"beyond the end", in{"startLine": 9, "oldString": "one", "newString": "x"}, "", "which has 3 lines"},
		{"both", in{"insertLine": 1, "startLine": 2, "oldString": "one", "newString": "x"}, "", "not both"},
		{"backwards", in{"startLine": 3, "endLine": 2, "oldString": "one", "newString": "x"}, "", "before startLine"},
		{"end alone", in{"endLine": 2, "oldString": "one", "newString": "x"}, "", "/startLine"},
		{"nothing", in{}, "", "/newString"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b.put("f", "one\ntwo\nthree\n")
			b.ok("read", in{"filePath": "f"})
			c.input["filePath"] = "f"
			if c.err != "" {
				assert.Contains(t, b.fails("edit", c.input), c.err)
				assert.Equal(t, "one\ntwo\nthree\n", b.file("f"))
				return
			}
			b.ok("edit", c.input)
			assert.Equal(t, c.after, b.file("f"))
		})
	}
}

func TestSyntaxErrors(t *testing.T) {
	b := newBench(t, "-- a.go --\npackage a\n\nfunc A() {\n\tx()\n}\n-- broken.go --\npackage b\n\nfunc {\n-- c.json --\n{\n  // comments are no error\n  \"a\": 1,\n}\n-- d.json --\n{]\n", Config{})
	assert.Contains(t, b.ok("edit", in{"filePath": "a.go", "oldString": "x()", "newString": "x("}), "Syntax errors that were not there before:\n5:1: ")
	assert.NotContains(t, b.ok("edit", in{"filePath": "a.go", "oldString": "x(", "newString": "y()"}), "Syntax")
	assert.NotContains(t, b.ok("edit", in{"filePath": "broken.go", "oldString": "package b", "newString": "package c"}), "Syntax")
	assert.NotContains(t, b.ok("edit", in{"filePath": "c.json", "oldString": "1", "newString": "[1, 2,]"}), "Syntax")
	assert.Contains(t, b.ok("edit", in{"filePath": "c.json", "oldString": "[1, 2,]", "newString": "[1, 2"}), "Syntax errors that were not there before:\n4:")
	assert.NotContains(t, b.ok("edit", in{"filePath": "d.json", "oldString": "]", "newString": "["}), "Syntax")
	strict := newBench(t, "-- a.go --\npackage a\n", Config{RejectSyntaxErrors: true})
	assert.Contains(t, strict.fails("edit", in{"filePath": "a.go", "oldString": "package a", "newString": "package"}), "would have syntax errors")
	assert.Equal(t, "package a\n", strict.file("a.go"))
}

// TestSessions: what a session knows can be kept, given on, and forgotten.
func TestSessions(t *testing.T) {
	b := newBench(t, "-- f --\none\n", Config{})
	b.ok("read", in{"filePath": "f"})
	kept, err := b.ts.Snapshot("session_1")
	require.NoError(t, err)
	b.ts.Forget("session_1")
	write := in{"filePath": "f", "content": "two\n"}
	assert.Contains(t, b.fails("write", write), "was not read in this session")
	require.NoError(t, b.ts.Restore("session_1", kept))
	require.Error(t, b.ts.Restore("session_1", []byte("{")))
	b.ts.Fork("session_1", "child")
	c := b.call("write", in{"filePath": "f", "content": "child\n"})
	c.SessionID = "child"
	tl, _ := b.ts.Tool("write")
	_, err = tl.Run(t.Context(), c)
	require.NoError(t, err)
	msg := b.fails("write", write)
	assert.Contains(t, msg, "by another session")
}

// FuzzChanges (TX-1): through each of the tools, bytes outside of the change stay,
// and taking it back restores every byte.
func FuzzChanges(f *testing.F) {
	f.Add([]byte("a\r\nb\nc\r\n"), "b\nc", "b\nx\nc", byte(0), uint16(0), uint16(0))
	f.Add([]byte("\ta\n\tb\n"), "    a\n    b", "    a\n    c\n", byte(1), uint16(0), uint16(0))
	f.Add([]byte("\xEF\xBB\xBFa\r\nb"), "b", "b\nc\n", byte(2), uint16(0), uint16(0))
	f.Add([]byte("caf\xe9\n\xfc\n"), "é", "à", byte(0), uint16(0), uint16(0))
	f.Add([]byte("\xff\xfea\x00\r\x00\n\x00b\x00"), "b", "c\nd", byte(2), uint16(0), uint16(0))
	f.Add([]byte("x\r\n\r\ny\r\r\n"), "y", "\r", byte(1), uint16(0), uint16(0))
	f.Add([]byte("“q” – z\n"), `"q" - z`, `"q" - w`, byte(0), uint16(0), uint16(0))
	f.Add([]byte("a\r\nb\nc\r\nd"), "", "x\ny", byte(0), uint16(2), uint16(7))
	f.Add([]byte("ä\n\tö\n\tü\n"), "", "\tu\n", byte(1), uint16(4), uint16(8))
	f.Add([]byte("a\na\nb\n"), "", "c", byte(2), uint16(2), uint16(5))
	b := newBench(f, "", Config{})
	b.ts.writer.NoSync = true
	f.Fuzz(func(t *testing.T, raw []byte, old, new string, which byte, from, to uint16) {
		b.t = t
		if d, err := textfile.Decode(raw, nil); err == nil && from < to && int(to) <= len(d.Text) {
			old = strings.ToValidUTF8(d.Text[from:to], "?") // something that is there
		}
		b.ts.Forget("session_1")
		require.NoError(t, os.WriteFile(b.path("f"), raw, 0o666))
		b.runIn(context.Background(), "read", in{"filePath": "f"})

		// What the plan says it replaces is all that changes.
		l, err := b.ts.fsys.resolve("f")
		require.NoError(t, err)
		a, p := &attempt{call: b.call("edit", in{})}, &plan{}
		c, err := b.ts.planReplace(context.Background(), a, p, l, editInput{FilePath: "f", OldString: &old, NewString: &new})
		if err == nil {
			checkOutside(t, c)
		}
		name, input := "edit", in{"filePath": "f", "oldString": old, "newString": new}
		switch which % 3 {
		case 1:
			name, input = "multiedit", in{"filePath": "f", "edits": []in{{"oldString": old, "newString": new}}}
		case 2:
			patch := "*** Begin Patch\n*** Update File: f\n@@\n"
			for l := range strings.SplitSeq(old, "\n") {
				patch += "-" + l + "\n"
			}
			for l := range strings.SplitSeq(new, "\n") {
				patch += "+" + l + "\n"
			}
			name, input = "apply_patch", in{"patchText": patch + "*** End Patch"}
		}
		if _, err := b.runIn(context.Background(), name, input); err != nil {
			now, rerr := os.ReadFile(b.path("f"))
			require.NoError(t, rerr)
			require.Equal(t, raw, now, "%s failed with %v", name, err)
			return
		}
		_, err = b.runIn(context.Background(), "edit", in{"filePath": "f", "undo": true})
		require.NoError(t, err)
		now, err := os.ReadFile(b.path("f"))
		require.NoError(t, err)
		require.True(t, bytes.Equal(raw, now), "%q became %q", raw, now)
	})
}

// checkOutside checks that the bytes between the spans of a change are in the
// result, in order, and those at its ends at its ends.
func checkOutside(t *testing.T, c *change) {
	if len(c.spans) == 0 || c.old == nil {
		return
	}
	rest := c.after
	at := 0
	for i, s := range c.spans {
		gap := c.raw[at:max(at, c.old.RawOffset(s.Start))]
		k := bytes.Index(rest, gap)
		require.GreaterOrEqual(t, k, 0, "%q is missing in %q", gap, c.after)
		if i == 0 {
			require.Zero(t, k, "the beginning changed")
		}
		rest = rest[k+len(gap):]
		at = c.old.RawOffset(s.End)
	}
	require.True(t, bytes.HasSuffix(rest, c.raw[at:]), "%q does not end in %q", c.after, c.raw[at:])
}
