package builtin

import (
	"context"
	"testing"

	"github.com/agenttool/tool"
	"github.com/agenttool/tool/tooltest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestEdit(t *testing.T) {
	for _, c := range []struct {
		name, before, old, new string
		all                    bool
		after, err             string // err: part of the error
	}{
		{"one place", "a\nb\nc\n", "b", "B", false, "a\nB\nc\n", ""},
		{"several lines", "a\nb\nc\n", "a\nb\n", "x\n", false, "x\nc\n", ""},
		{"delete", "a\nb\nc\n", "b\n", "", false, "a\nc\n", ""},
		{"ambiguous", "a\nb\na\n", "a", "x", false, "", "oldString matches 2 places: lines 1, 3"},
		{"overlapping is ambiguous", "aaa\n", "aa", "x", false, "", "matches 2 places"},
		{"all", "a b a\na\n", "a", "x", true, "x b x\nx\n", ""},
		{"all, not overlapping", "aaaa\n", "aa", "b", true, "bb\n", ""},
		{"all, literally", "a.a\n", ".", "$1$&$$", true, "a$1$&$$a\n", ""},
		{"indentation", "f {\n\tx := 1\n\ty\n}\n", "    x := 1\n    y\n", "    x := 2\n    y\n", false, "f {\n\tx := 2\n\ty\n}\n", ""},
		{"other words", "\tx := 1\n", "x := 2", "y", false, "", "first difference in line 1"},
		{"not there", "a\n", "zzz", "y", false, "", "no part of it resembles oldString"},
		{"same", "a\n", "a", "a", false, "", "are the same"},
		{"empty old, file not empty", "a\n", "", "x", false, "", "is not empty"},
		{"empty old, empty file", "", "", "x\n", false, "x\n", ""},
		{"crlf", "a\r\nb\r\nc\r\n", "a\nb", "a\nx\nb", false, "a\r\nx\r\nb\r\nc\r\n", ""},
		{"crlf in the call", "a\nb\n", "a\r\nb", "a\r\nx\r\nb", false, "a\nx\nb\n", ""},
		{"mixed endings stay", "a\r\nb\nc\r\nd\n", "b\nc\nd", "b\nc\nD", false, "a\r\nb\nc\r\nD\n", ""},
		{"mixed, after lf", "a\r\nb\nc\r\n", "b", "b\nx", false, "a\r\nb\nx\nc\r\n", ""},
		{"nothing to change", "a\r\nb\r\n", "a\r\nb", "a\nb", false, "", "nothing to change"},
		{"no final newline", "a\nb", "b", "c", false, "a\nc", ""},
		{"bom stays", "\xEF\xBB\xBFa\n", "a", "b", false, "\xEF\xBB\xBFb\n", ""},
		{"legacy encoding stays", "caf\xe9 a\n", "a\n", "à\n", false, "caf\xe9 \xe0\n", ""},
		{"not in the encoding", "caf\xe9 a\n", "a\n", "→\n", false, "", `stored as windows-1252, which has no '→' (U+2192)`},
		{"binary", "a\x00b", "a", "b", false, "", "binary file"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, "", Config{})
			b.put("f", c.before)
			b.ok("read", in{"filePath": "f"})
			input := in{"filePath": "f", "oldString": c.old, "newString": c.new, "replaceAll": c.all}
			if c.err != "" {
				assert.Contains(t, b.fails("edit", input), c.err)
				assert.Equal(t, c.before, b.file("f"))
				assert.Empty(t, b.asks(), "nobody is asked about what cannot be done")
				return
			}
			b.ok("edit", input)
			assert.Equal(t, c.after, b.file("f"))
			assert.Equal(t, []string{"edit f"}, b.asks())
		})
	}
}

func TestEditResult(t *testing.T) {
	b := newBench(t, "", Config{})
	b.put("f", numbered(30))
	res, err := b.run("edit", in{"filePath": "f", "oldString": "line 10\n", "newString": "ten\nzehn\n"})
	require.NoError(t, err)
	assert.Equal(t, "Edited f: lines 10-11 (+2 -1 lines).\n7\tline 7\n8\tline 8\n9\tline 9\n10\tten\n11\tzehn\n12\tline 11\n13\tline 12\n14\tline 13", res.Text)
	assert.Equal(t, "f", res.Title)
	want := "--- a/f\n+++ b/f\n@@ -7,7 +7,8 @@\n line 7\n line 8\n line 9\n-line 10\n+ten\n+zehn\n line 11\n line 12\n line 13\n"
	assert.Equal(t, want, res.Metadata["diff"])
	assert.Equal(t, want, b.asked[0].Metadata["diff"], "what was shown is what happened")
	fd := res.Metadata["filediff"].(map[string]any)
	assert.Equal(t, b.path("f"), fd["file"])
	assert.Equal(t, 2, fd["additions"])
	assert.Equal(t, 1, fd["deletions"])
	assert.Equal(t, numbered(30), fd["before"])
	assert.Equal(t, b.file("f"), fd["after"])
	assert.Contains(t, res.Metadata, "diagnostics")

	b.put("g", "old\n"+numbered(20)+"old\n")
	b.ok("read", in{"filePath": "g"})
	assert.Equal(t, "Edited g: 2 places, at lines 1, 22 (+2 -2 lines).\n1\tnew\n2\tline 1\n3\tline 2\n4\tline 3\n…\n19\tline 18\n20\tline 19\n21\tline 20\n22\tnew",
		b.ok("edit", in{"filePath": "g", "oldString": "old", "newString": "new", "replaceAll": true}))
}

func TestEditCreates(t *testing.T) {
	b := newBench(t, "", Config{})
	assert.Equal(t, "Created d/new.txt (1 line).", b.ok("edit", in{"filePath": "d/new.txt", "oldString": "", "newString": "x\n"}))
	assert.Equal(t, "Create new file d/new.txt", b.asked[0].Title)
	assert.Contains(t, b.fails("edit", in{"filePath": "d/nev.txt", "oldString": "x", "newString": "y"}), "Did you mean d/new.txt?")
}

// TestEditStale: a change elsewhere does not get in the way, and is told.
func TestEditStale(t *testing.T) {
	b := newBench(t, "-- f --\na\nb\n", Config{})
	b.ok("read", in{"filePath": "f"})
	b.put("f", "a\nb\nforeign\n")
	text := b.ok("edit", in{"filePath": "f", "oldString": "a\n", "newString": "A\n"})
	assert.Contains(t, text, "The file changed since you read it:\n@@ -2 +2,2 @@\n b\n+foreign\nYour edit was made on the file as it is now.")
	assert.Equal(t, "A\nb\nforeign\n", b.file("f"))
	assert.Contains(t, b.fails("write", in{"filePath": "f", "content": "x"}), "of its 3 lines, lines 3 were never shown to you")
}

// TestEditHintsOnlyWhatWasRead: an error does not show lines of a file that the
// session never read, as it may not be allowed to.
func TestEditHintsOnlyWhatWasRead(t *testing.T) {
	b := newBench(t, "-- f --\nthe password is swordfish\n-- .env --\nPASSWORD=swordfish\n", Config{})
	b.approver = tool.ApproverFunc(func(_ context.Context, _ *tool.Call, req *tool.Request) error {
		if req.Permission == "read" {
			return &tool.DeniedError{Request: req}
		}
		return nil
	})
	msg := b.fails("edit", in{"filePath": "f", "oldString": "the password is ?", "newString": "x"})
	assert.NotContains(t, msg, "swordfish")
	assert.Contains(t, msg, "not read in this session")

	b.approver = tooltest.DenyAll{}
	msg = b.fails("edit", in{"filePath": ".env", "oldString": "nope", "newString": "x"})
	assert.NotContains(t, msg, "not found", "not even that is told before the permission")
	assert.Contains(t, msg, "protected")
}

// TestEditSaysWhere: every place of a replacement is named, and where a text that
// is not in this file is.
func TestEditSaysWhere(t *testing.T) {
	b := newBench(t, "-- a --\nx := 1\ny := 2\nx := 1\n-- b --\none\nvar unique = 7\n-- crlf --\na\r\nvar other = 8\r\nvar third = 9\r\n", Config{})
	assert.Contains(t, b.ok("edit", in{"filePath": "a", "oldString": "x := 1", "newString": "x := 3", "replaceAll": true}), "Edited a: 2 places, at lines 1, 3 (+2 -2 lines).")
	missing := in{"filePath": "a", "oldString": "var unique = 7\n", "newString": "var unique = 8\n"}
	assert.NotContains(t, b.fails("edit", missing), "The text is in", "nothing is told of files that were not read")
	b.ok("read", in{"filePath": "a"})
	b.ok("read", in{"filePath": "b"})
	assert.Contains(t, b.fails("edit", missing), "The text is in b, which you read too")
	b.ok("read", in{"filePath": "crlf"})
	assert.Contains(t, b.fails("edit", in{"filePath": "a", "oldString": "var other = 8\nvar third = 9", "newString": "x"}), "The text is in crlf, which you read too")
	assert.Contains(t, b.fails("apply_patch", in{"patchText": "*** Begin Patch\n*** Update File: b\n@@\n-unique\n+x\n*** End Patch"}), "part of a line, and whole lines are wanted")
	assert.Contains(t, b.fails("apply_patch", in{"patchText": ""}), "*** Update File: path")
}
