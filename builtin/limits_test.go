package builtin

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/agenttool/tool"
	"github.com/agenttool/tool/tooltest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestBadInput: whatever a name leads to, or does not, every tool answers soon,
// with words that name it, and changes nothing.
func TestBadInput(t *testing.T) {
	const soon = 20 * time.Second // for each; the promise is 2 s
	b := newBench(t, "-- dir/x --\n-- a.txt --\nalpha\n", Config{})
	if runtime.GOOS != "windows" {
		require.NoError(t, os.Symlink("loop", b.path("loop")))
		require.NoError(t, os.Symlink("nowhere/x", b.path("dangling")))
	}
	patch := func(name string) in {
		return in{"patchText": "*** Begin Patch\n*** Update File: " + name + "\n@@\n-alpha\n+beta\n*** End Patch"}
	}
	tools := map[string]func(name string) in{
		"read":  func(name string) in { return in{"filePath": name} },
		"write": func(name string) in { return in{"filePath": name, "content": "x"} },
		"edit":  func(name string) in { return in{"filePath": name, "oldString": "alpha", "newString": "beta"} },
		"multiedit": func(name string) in {
			return in{"filePath": name, "edits": []in{{"oldString": "alpha", "newString": "b"}}}
		},
		"apply_patch": patch,
		"ls":          func(name string) in { return in{"path": name} },
	}
	for _, c := range []struct {
		what, name, want string
		not              string // tools for which it is no bad input
	}{
		{"missing", "nope.txt", "(?i)not found|does not exist", "write"},
		{"empty", "", "empty", "ls,apply_patch,multiedit"},
		{"NUL", "a\x00b", "NUL", "apply_patch"},
		{"long name", strings.Repeat("n", 10_000), "longer than", ""},
		{"long part", strings.Repeat("n", 300) + "/x", "longer than 255", ""},
		{"below a file", "a.txt/x", "is a file, not a directory", ""},
		{"a directory", "dir", "is a directory", "read,ls"},
		{"a link to itself", "loop", "symbolic links", ""},
		{"a link to nowhere", "dangling", "(?i)does not exist|not found|no such file", ""},
		{"a device", "/dev/zero", "kernel or of devices", ""},
	} {
		if runtime.GOOS == "windows" && (strings.HasPrefix(c.name, "/") || strings.Contains(c.what, "link")) {
			continue
		}
		for name, input := range tools {
			if strings.Contains(","+c.not+",", ","+name+",") {
				continue
			}
			before := b.snapshot()
			start := time.Now()
			msg := b.fails(name, input(c.name))
			assert.Less(t, time.Since(start), soon)
			assert.Regexp(t, regexp.MustCompile(c.want), msg, "%s of %s", name, c.what)
			assert.Less(t, len(msg), 1200, "%s of %s", name, c.what)
			assert.Equal(t, before, b.snapshot(), "%s of %s", name, c.what)
		}
	}
	if runtime.GOOS != "windows" && os.Geteuid() != 0 {
		require.NoError(t, os.Chmod(b.path("a.txt"), 0))
		assert.Contains(t, b.fails("read", in{"filePath": "a.txt"}), "permission denied")
	}
}

// TestRootGone: when the project is deleted calls fail with words, and work again
// when it is back.
func TestRootGone(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("an open directory cannot be removed")
	}
	b := newBench(t, "-- a.txt --\nalpha\n", Config{})
	require.NoError(t, os.RemoveAll(b.dir))
	for name, input := range map[string]in{
		"read": {"filePath": "a.txt"}, "write": {"filePath": "b.txt", "content": "x"}, "ls": {}, "edit": {"filePath": "a.txt", "oldString": "a", "newString": "b"},
	} {
		msg := b.fails(name, input)
		assert.Regexp(t, "no longer exists|not found|no such file", msg, name)
	}
	require.NoError(t, os.Mkdir(b.dir, 0o777))
	b.ok("write", in{"filePath": "b.txt", "content": "x"})
	assert.Equal(t, "x", b.file("b.txt"))
}

// TestReadPagesThroughALine (RD-3): a line too long to show is read to its end,
// every call further on, and nothing is left out.
func TestReadPagesThroughALine(t *testing.T) {
	size := 150 << 20
	if testing.Short() {
		size = 8 << 20
	}
	b := newBench(t, "", Config{})
	f, err := os.Create(b.path("min.js"))
	require.NoError(t, err)
	chunk := make([]byte, 1<<20)
	for at := 0; at < size; at += len(chunk) {
		for i := range chunk {
			chunk[i] = 'a' + byte((at+i)/7%26)
		}
		_, err := f.Write(chunk)
		require.NoError(t, err)
	}
	require.NoError(t, f.Close())
	again := regexp.MustCompile(`Next: read \{"filePath":"min.js","lineOffset":(\d+),"offset":1\}\]$`)
	offset, calls := 0, 0
	for {
		calls++
		require.Less(t, calls, 4000)
		text := b.ok("read", in{"filePath": "min.js", "offset": 1, "lineOffset": offset})
		line, rest, _ := strings.Cut(strings.TrimPrefix(text, "1\t"), "…[+")
		line, _, _ = strings.Cut(line, "\n")
		for _, k := range []int{0, len(line) / 2, len(line) - 1} {
			require.Equal(t, 'a'+byte((offset+k)/7%26), line[k])
		}
		next := again.FindStringSubmatch(rest)
		if next == nil {
			offset += len(line)
			break
		}
		n, err := strconv.Atoi(next[1])
		require.NoError(t, err)
		require.Equal(t, offset+len(line), n)
		offset = n
	}
	assert.Equal(t, size, offset)
}

// TestReadHugeAlloc (RD-1): ten lines of a file of 4 GB take little memory, at its
// beginning, far in it and at its end.
func TestReadHugeAlloc(t *testing.T) {
	b := newBench(t, "", Config{})
	f, err := os.Create(b.path("huge"))
	require.NoError(t, err)
	_, err = f.WriteString(numbered(200_000))
	require.NoError(t, err)
	require.NoError(t, f.Truncate(4<<30)) // sparse: the rest are NUL bytes
	_, err = f.WriteAt([]byte("\nthe last\nlines\n"), 4<<30)
	require.NoError(t, err)
	require.NoError(t, f.Close())
	for name, input := range map[string]in{
		"beginning": {"filePath": "huge", "limit": 10},
		"far in":    {"filePath": "huge", "limit": 10, "offset": 150_000},
		"end":       {"filePath": "huge", "offset": -2},
	} {
		b.ok("read", input)
		start := time.Now()
		text := b.ok("read", input)
		assert.Less(t, time.Since(start), 5*time.Second, "expected: 50 ms")
		assert.Less(t, len(text), 5000)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		b.ok("read", input)
		runtime.ReadMemStats(&after)
		assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(4<<20), name)
	}
	assert.Contains(t, b.ok("read", in{"filePath": "huge", "offset": -2}), "\tthe last\n")
}

// BenchmarkReadHuge reads ten lines of a sparse file of 4 GB.
func BenchmarkReadHuge(b *testing.B) {
	bn := newBench(b, "", Config{})
	f, err := os.Create(bn.path("huge"))
	require.NoError(b, err)
	_, err = f.WriteString(numbered(5000))
	require.NoError(b, err)
	require.NoError(b, f.Truncate(4<<30))
	require.NoError(b, f.Close())
	b.ReportAllocs()
	for b.Loop() {
		bn.ok("read", in{"filePath": "huge", "limit": 10})
	}
}

// BenchmarkEdit makes one edit in files of growing size.
func BenchmarkEdit(b *testing.B) {
	for _, lines := range []int{100, 10_000, 200_000} {
		b.Run(fmt.Sprint(lines), func(b *testing.B) {
			bn := newBench(b, "", Config{})
			bn.ts.writer.NoSync = true
			bn.put("f", numbered(lines))
			old, new := "line 50\n", "line fifty\n"
			for b.Loop() {
				bn.ok("edit", in{"filePath": "f", "oldString": old, "newString": new})
				old, new = new, old
			}
		})
	}
}

// TestEncodings (TX-2 to TX-4): what is stored otherwise than as UTF-8 is shown,
// changed and stored again as it was.
func TestEncodings(t *testing.T) {
	b := newBench(t, "-- .editorconfig --\nroot = true\n[*.win]\nend_of_line = crlf\ncharset = latin1\n", Config{})
	for name, raw := range map[string]string{
		"utf16le": "\xff\xfea\x00\r\x00\n\x00\xe4\x00\r\x00\n\x00", "utf16be": "\xfe\xff\x00a\x00\r\x00\n\x00\xe4\x00\r\x00\n",
		"bom": "\xef\xbb\xbfa\r\n\xc3\xa4\r\n", "x.win": "a\r\n\xe4\r\n",
	} {
		b.put(name, raw)
		assert.Contains(t, b.ok("read", in{"filePath": name}), "1\ta\n2\tä", name)
		b.ok("edit", in{"filePath": name, "oldString": "ä", "newString": "ü\nö"})
		assert.Contains(t, b.ok("read", in{"filePath": name}), "1\ta\n2\tü\n3\tö", name)
		b.ok("write", in{"filePath": name, "content": "a\nä\n"})
		assert.Equal(t, raw, b.file(name), "%s: as it was, byte for byte", name)
	}
	b.ok("write", in{"filePath": "new.win", "content": "ä\nx\n"})
	assert.Equal(t, "\xe4\r\nx\r\n", b.file("new.win"), "a new file as the project wants it")
	assert.Contains(t, b.fails("write", in{"filePath": "new.win", "content": "→"}), `which has no '→'`)
	b.ok("write", in{"filePath": "new.win", "content": "→\n", "encoding": "utf-8"})
	assert.Equal(t, "→\r\n", b.file("new.win"), "converted when that is said")
	free := newBench(t, "-- .editorconfig --\n[*]\nend_of_line = crlf\n", Config{IgnoreSettings: true})
	free.ok("write", in{"filePath": "n", "content": "a\n"})
	assert.Equal(t, "a\n", free.file("n"))

	b.put("damaged", "ok line\n"+strings.Repeat("text ", 50)+"\xc3\x28 \xf0\x28\x8c\x28 é è ü ö ä\n")
	assert.Contains(t, b.ok("read", in{"filePath": "damaged"}), "edit cannot change this file")
	assert.Contains(t, b.fails("edit", in{"filePath": "damaged", "oldString": "ok", "newString": "no"}), "without loss")
}

// TestNoteUnchanged: lines that were shown and have not changed are not shown again.
func TestNoteUnchanged(t *testing.T) {
	b := newBench(t, "-- f --\none\ntwo\n", Config{NoteUnchanged: true})
	whole := in{"filePath": "f"}
	assert.Equal(t, "1\tone\n2\ttwo", b.ok("read", whole))
	assert.Contains(t, b.ok("read", whole), "(lines 1-2 of f have not changed since you read them")
	assert.Contains(t, b.ok("read", in{"filePath": "f", "ranges": []in{{"offset": 1, "limit": 2}}}), "1\tone")
	b.put("f", "one\nzwei\n")
	assert.Equal(t, "1\tone\n2\tzwei", b.ok("read", whole))
	b.ok("edit", in{"filePath": "f", "oldString": "one", "newString": "eins"})
	assert.Contains(t, b.ok("read", whole), "1\teins", "its own changes it was not shown")
}

// TestSameName: a name that differs from the one meant only in how it is written
// is opened, and that is said.
func TestSameName(t *testing.T) {
	b := newBench(t, "", Config{})
	b.put("Screenshot 9.41\u202fPM.txt", "shot\n")
	text := b.ok("read", in{"filePath": "Screenshot 9.41 PM.txt"})
	assert.True(t, strings.HasPrefix(text, `(there is no "Screenshot 9.41 PM.txt"; this is "Screenshot 9.41\u202fPM.txt"`), text)
	assert.Contains(t, text, "1\tshot")
	assert.Equal(t, []string{"read Screenshot 9.41\u202fPM.txt"}, b.asks())
	assert.Contains(t, b.ok("edit", in{"filePath": "Screenshot 9.41 PM.txt", "oldString": "shot", "newString": "x"}), "Note: there is no")
}

// TestShrink (WT-3): content that leaves out most of a file and says so is refused.
func TestShrink(t *testing.T) {
	b := newBench(t, "", Config{})
	b.put("f", numbered(100))
	b.ok("read", in{"filePath": "f"})
	assert.Contains(t, b.fails("write", in{"filePath": "f", "content": "line 1\n// ... rest of the code unchanged ...\n"}), "stands for code that was left out")
	assert.Contains(t, b.ok("write", in{"filePath": "f", "content": "line 1\nline 2\n"}), "the file had 100 lines and has 2 now")
	b.ok("edit", in{"filePath": "f", "undo": true})
	assert.Equal(t, numbered(100), b.file("f"))
}

func ExamplePreview() {
	files := map[string]string{"a.txt": "one\ntwo\n"}
	list, err := Preview("*** Begin Patch\n*** Update File: a.txt\n@@\n-two\n+2\n*** End Patch", func(path string) (string, error) {
		text, ok := files[path]
		if !ok {
			return "", os.ErrNotExist
		}
		return text, nil
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, c := range list {
		fmt.Println(c.Operation, c.Path, c.Additions, c.Deletions)
		fmt.Print(c.Diff)
	}
	// Output:
	// update a.txt 1 1
	// --- a/a.txt
	// +++ b/a.txt
	// @@ -1,2 +1,2 @@
	//  one
	// -two
	// +2
}

func ExampleToolset_Snapshot() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("one\n"), 0o666); err != nil {
		fmt.Println(err)
		return
	}
	ts, err := New(Config{Root: dir})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer ts.Close()
	read, _ := ts.Tool("read")
	call := tooltest.NewCall("read", `{"filePath":"a.txt"}`).Bind(tool.Runtime{Approver: tooltest.AllowAll{}})
	if _, err := read.Run(context.Background(), call); err != nil {
		fmt.Println(err)
		return
	}
	kept, err := ts.Snapshot(call.SessionID)
	fmt.Println(strings.Contains(string(kept), `"display":"a.txt"`), err, ts.Restore("resumed", kept))
	// Output: true <nil> <nil>
}
