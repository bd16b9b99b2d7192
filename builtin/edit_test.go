package builtin

import (
	"bytes"
	"strings"
	"testing"

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
		{"ambiguous", "a\nb\na\n", "a", "x", false, "", "found 2 times in f, on lines 1, 3"},
		{"overlapping is ambiguous", "aaa\n", "aa", "x", false, "", "found 2 times"},
		{"all", "a b a\na\n", "a", "x", true, "x b x\nx\n", ""},
		{"all, not overlapping", "aaaa\n", "aa", "b", true, "bb\n", ""},
		{"all, literally", "a.a\n", ".", "$1$&$$", true, "a$1$&$$a\n", ""},
		{"blanks count", "\tx := 1\n", "    x := 1", "y", false, "", "similar place is line 1"},
		{"not there", "a\n", "zzz", "y", false, "", "No line of it is similar"},
		{"same", "a\n", "a", "a", false, "", "are the same"},
		{"empty old, file not empty", "a\n", "", "x", false, "", "is not empty"},
		{"empty old, empty file", "", "", "x\n", false, "x\n", ""},
		{"crlf", "a\r\nb\r\nc\r\n", "a\nb", "a\nx\nb", false, "a\r\nx\r\nb\r\nc\r\n", ""},
		{"crlf in the call", "a\nb\n", "a\r\nb", "a\r\nx\r\nb", false, "a\nx\nb\n", ""},
		{"mixed endings stay", "a\r\nb\nc\r\nd\n", "b\nc\nd", "b\nc\nD", false, "a\r\nb\nc\r\nD\n", ""},
		{"mixed, after lf", "a\r\nb\nc\r\n", "b", "b\nx", false, "a\r\nb\nx\nc\r\n", ""},
		{"line endings only", "a\r\nb\r\n", "a\r\nb", "a\nb", false, "", "line endings only"},
		{"no final newline", "a\nb", "b", "c", false, "a\nc", ""},
		{"bom stays", "\xEF\xBB\xBFa\n", "a", "b", false, "\xEF\xBB\xBFb\n", ""},
		{"bytes that are not UTF-8 stay", "caf\xe9 a\n", "a\n", "b\n", false, "caf\xe9 b\n", ""},
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
	assert.Equal(t, "Edited f (+2 -1 lines).\n7\tline 7\n8\tline 8\n9\tline 9\n10\tten\n11\tzehn\n12\tline 11\n13\tline 12\n14\tline 13", res.Text)
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
	assert.Equal(t, "Edited g (+2 -2 lines).\n1\tnew\n2\tline 1\n3\tline 2\n4\tline 3\n…\n19\tline 18\n20\tline 19\n21\tline 20\n22\tnew",
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
	assert.Contains(t, text, "The file had changed since it was read")
	assert.Equal(t, "A\nb\nforeign\n", b.file("f"))
	assert.Contains(t, b.fails("write", in{"filePath": "f", "content": "x"}), "were read")
}

// TestEditHintsOnlyWhatWasRead: an error does not show lines of a file that the
// session never read, as it may not be allowed to.
func TestEditHintsOnlyWhatWasRead(t *testing.T) {
	b := newBench(t, "-- f --\nthe password is swordfish\n-- .env --\nPASSWORD=swordfish\n", Config{})
	msg := b.fails("edit", in{"filePath": "f", "oldString": "the password is ?", "newString": "x"})
	assert.NotContains(t, msg, "swordfish")
	assert.Contains(t, msg, "not read in this session")

	b.approver = tooltest.DenyAll{}
	msg = b.fails("edit", in{"filePath": ".env", "oldString": "nope", "newString": "x"})
	assert.NotContains(t, msg, "not found", "not even that is told before the permission")
	assert.Contains(t, msg, "protected")
}

// FuzzEdit: bytes outside of the reported place never change, whatever they are.
func FuzzEdit(f *testing.F) {
	f.Add([]byte("a\r\nb\nc\r\n"), "b\nc", "b\nx\nc")
	f.Add([]byte("\xff\xfe\r\r\n"), "\n", "x\n")
	f.Add([]byte("aaa"), "aa", "a")
	f.Add([]byte("é\r\nü"), "é\n", "è\n")
	f.Fuzz(func(t *testing.T, raw []byte, old, new string) {
		v := viewOf(raw)
		o, n := lf(old), lf(new)
		if o == "" || o == n {
			return
		}
		at, err := find(v, editInput{OldString: old}, location{given: "f"}, true)
		if err != nil {
			return
		}
		p := at[0]
		out := v.replace(at, o, n)
		start, end := v.at(p), v.at(p+len(o))
		if !bytes.HasPrefix(out, raw[:start]) || !bytes.HasSuffix(out, raw[end:]) {
			t.Fatalf("%q: replacing %q by %q gave %q", raw, old, new, out)
		}
		// A lone CR of the file or of the text may come to stand before a newline,
		// which is then one line end; otherwise the text is what was asked for.
		if !strings.Contains(v.text, "\r") && !strings.Contains(n, "\r") && !strings.Contains(o, "\r") {
			if want := v.text[:p] + n + v.text[p+len(o):]; viewOf(out).text != want {
				t.Fatalf("%q: replacing %q by %q reads %q", raw, old, new, viewOf(out).text)
			}
			back := viewOf(out)
			if again := back.replace([]int{p}, n, o); n != "" && !bytes.Contains(raw, crlf) && !bytes.Equal(again, raw) {
				t.Fatalf("%q: undoing %q -> %q gave %q", raw, old, new, again)
			}
		}
	})
}
