package builtin

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestEditLarge: in a file that is too large to be held exact text is replaced,
// and nothing else changes.
func TestEditLarge(t *testing.T) {
	b := newBench(t, "", Config{Limits: Limits{FileBytes: 64 << 10}})
	text := numbered(50_000)
	b.put("f", text)
	require.NoError(t, os.Chmod(b.path("f"), 0o640))

	res, err := b.run("edit", in{"filePath": "f", "oldString": "line 40000\nline 40001\n", "newString": "one\ntwo\nthree\n"})
	require.NoError(t, err)
	want := strings.Replace(text, "line 40000\nline 40001\n", "one\ntwo\nthree\n", 1)
	require.True(t, want == b.file("f"))
	info, err := os.Stat(b.path("f"))
	require.NoError(t, err)
	if runtime.GOOS != "windows" {
		assert.Equal(t, os.FileMode(0o640), info.Mode().Perm())
	}
	at := 1 + strings.Count(text[:strings.Index(text, "line 40000\n")], "\n")
	assert.Contains(t, res.Text, fmt.Sprintf("Edited f: lines %d-%d (+3 -2 lines).", at, at+2))
	assert.Contains(t, res.Text, "-line 40000\n-line 40001\n+one\n+two\n+three")
	assert.Contains(t, res.Text, "too large for undo")
	assert.Equal(t, b.asked[0].Metadata["diff"], res.Metadata["diff"])
	assert.Contains(t, res.Metadata["diff"], fmt.Sprintf("@@ -%d,8 +%d,9 @@\n line 39997\n", at-3, at-3))

	assert.Contains(t, b.fails("edit", in{"filePath": "f", "oldString": "line 7", "newString": "x"}), "matches more than 20 places: lines 7, 70, 71")
	assert.Contains(t, b.fails("edit", in{"filePath": "f", "oldString": "line  77\n", "newString": "x"}), "only text that is there exactly is replaced")
	assert.Contains(t, b.fails("edit", in{"filePath": "f", "startLine": 3, "oldString": "line 3", "newString": "x"}), "in files over 65536 only text")
	assert.Contains(t, b.fails("edit", in{"filePath": "f", "undo": true}), "no change of f")
	assert.Contains(t, b.fails("multiedit", in{"filePath": "f", "edits": []in{{"oldString": "one", "newString": "x"}}}), "edit replaces exact text in files of any size")
	assert.True(t, want == b.file("f"), "refusals change nothing")

	b.ok("edit", in{"filePath": "f", "oldString": "9\n", "newString": "nine\r\n", "replaceAll": true})
	want = strings.ReplaceAll(want, "9\n", "nine\r\n")
	require.True(t, want == b.file("f"))

	// CRLF throughout: text with LF is found, and goes in with CRLF.
	b.put("w", strings.ReplaceAll(text, "\n", "\r\n"))
	b.ok("edit", in{"filePath": "w", "oldString": "line 300\nline 301\n", "newString": "a\nb\n"})
	b.ok("edit", in{"filePath": "w", "oldString": "ne 49999", "newString": "x\ny"})
	want = strings.Replace(text, "line 300\nline 301\n", "a\nb\n", 1)
	want = strings.Replace(want, "line 49999\n", "lix\ny\n", 1)
	assert.True(t, strings.ReplaceAll(want, "\n", "\r\n") == b.file("w"))

	b.put("bin", strings.Repeat("\x00\x01\x02", 50_000))
	assert.Contains(t, b.fails("edit", in{"filePath": "bin", "oldString": "\x01", "newString": "x"}), "binary")
	b.put("latin", strings.Repeat("caf\xe9 latte\n", 20_000)+"last\n")
	assert.Contains(t, b.fails("edit", in{"filePath": "latin", "oldString": "last", "newString": "é"}), "only plain ASCII")
	b.ok("edit", in{"filePath": "latin", "oldString": "last", "newString": "LAST"})
	assert.True(t, strings.HasSuffix(b.file("latin"), "caf\xe9 latte\nLAST\n"))

	if runtime.GOOS != "windows" {
		b.put("linked", text)
		require.NoError(t, os.Link(b.path("linked"), b.path("twin")))
		assert.Contains(t, b.fails("edit", in{"filePath": "linked", "oldString": "line 40000\n", "newString": "x\n"}), "too large to be written in place")
		assert.True(t, text == b.file("twin"))
	}
}

// TestEditLargeDiff: what is shown of a replacement in a large file is a diff that
// git applies, as long as all places are in it.
func TestEditLargeDiff(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("git is not installed")
	}
	b := newBench(t, "", Config{Limits: Limits{FileBytes: 1 << 10}})
	for _, c := range []struct{ text, old, new string }{
		{numbered(3000), "line 2000\n", "x\ny\n"},
		{numbered(3000), "line 2000", "x\ny"},
		{numbered(3000), "line 1234\nline 1235\nline 1236\n", ""},
		{numbered(3000), "00\n", "hundred\n\n"},
		{numbered(300) + "the end", "the end", "another end"},
		{"first\n" + numbered(300), "first\n", "1st\n"},
	} {
		b.put("f", c.text)
		res, err := b.run("edit", in{"filePath": "f", "oldString": c.old, "newString": c.new, "replaceAll": true})
		require.NoError(t, err)
		require.True(t, strings.ReplaceAll(c.text, c.old, c.new) == b.file("f"))
		if strings.Count(c.text, c.old) > largeShown {
			assert.Contains(t, res.Text, "10 more are replaced in the same way")
			continue
		}
		dir := t.TempDir()
		require.NoError(t, os.WriteFile(dir+"/f", []byte(c.text), 0o666))
		cmd := exec.Command(git, "apply", "-")
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+dir, "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
		diff, _ := res.Metadata["diff"].(string)
		cmd.Stdin = strings.NewReader(diff)
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s\n%s", out, diff)
		got, err := os.ReadFile(dir + "/f")
		require.NoError(t, err)
		require.Equal(t, b.file("f"), string(got))
	}
}

// TestEditHuge replaces text behind 3 GB of a sparse file, in little memory.
func TestEditHuge(t *testing.T) {
	if os.Getenv("TOOL_SLOW") == "" {
		t.Skip("slow; TOOL_SLOW=1 runs it")
	}
	b := newBench(t, "", Config{})
	f, err := os.Create(b.path("huge"))
	require.NoError(t, err)
	line := bytes.Repeat([]byte("0123456789abcde\n"), 1<<16)
	for range 200 {
		_, err = f.Write(line)
		require.NoError(t, err)
	}
	_, err = f.WriteString("needle\n")
	require.NoError(t, err)
	require.NoError(t, f.Close())
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	b.ok("edit", in{"filePath": "huge", "oldString": "needle\n", "newString": "pin\n"})
	runtime.ReadMemStats(&after)
	assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(64<<20))
	assert.Contains(t, b.ok("read", in{"filePath": "huge", "offset": -1}), "pin")
}
