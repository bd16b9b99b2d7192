package builtin

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agenttool/tool"
	"github.com/agenttool/tool/tooltest"
	"github.com/agenttool/tool/truncate"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func numbered(n int) string {
	var b strings.Builder
	for i := 1; i <= n; i++ {
		fmt.Fprintf(&b, "line %d\n", i)
	}
	return b.String()
}

func TestRead(t *testing.T) {
	b := newBench(t, "-- src/a.go --\npackage a\n\nfunc A() {}\n-- empty --\n", Config{})
	b.put("many.txt", numbered(2500))
	b.put("crlf.txt", "a\r\nb\r\n")
	b.put("bom.txt", "\xEF\xBB\xBFa\nb")
	b.put("long.txt", strings.Repeat("é", 2500)+"\nnext\n")
	b.put("control.txt", "a\x1b[2Jb\u202ec\n")
	b.put("latin1.txt", "caf\xe9\n")
	b.put("bin", "\x7fELF\x00\x01")
	for _, c := range []struct {
		name  string
		input in
		want  string
	}{
		{"whole", in{"filePath": "src/a.go"}, "1\tpackage a\n2\t\n3\tfunc A() {}"},
		{"absolute", in{"filePath": b.path("src/a.go"), "limit": 1}, "1\tpackage a\n[PARTIAL lines 1-1 of 3. Next: read " + next(in{"filePath": b.path("src/a.go"), "limit": 1, "offset": 2}) + "]"},
		{"offset", in{"filePath": "src/a.go", "offset": 3}, "3\tfunc A() {}\n(end of file, 3 lines)"},
		{"offset 0 is 1", in{"filePath": "src/a.go", "offset": 0, "limit": 1}, `1	package a
[PARTIAL lines 1-1 of 3. Next: read {"filePath":"src/a.go","limit":1,"offset":2}]`},
		{"beyond the end", in{"filePath": "src/a.go", "offset": 9}, "1\tpackage a\n2\t\n3\tfunc A() {}\n(the file has 3 lines; offset 9 is beyond the end. Above are its last lines)"},
		{"empty", in{"filePath": "empty"}, "(empty file)"},
		{"crlf", in{"filePath": "crlf.txt"}, "(lines end in CRLF, which is not shown; edits keep it)\n1\ta\n2\tb"},
		{"crlf, said once", in{"filePath": "crlf.txt"}, "1\ta\n2\tb"},
		{"bom", in{"filePath": "bom.txt"}, "(stored as utf-8 with BOM; edits keep that)\n1\ta\n2\tb"},
		{"control characters", in{"filePath": "control.txt"}, `1	a\x1b[2Jb\u202ec`},
		{"not UTF-8", in{"filePath": "latin1.txt"}, "(stored as windows-1252 by all appearances; edits keep that)\n1\tcafé"},
		{"directory", in{"filePath": "src"}, "a.go"},
		{"directory page", in{"filePath": ".", "limit": 2, "offset": 2}, `bom.txt
control.txt
[PARTIAL entries 2-3 of 9. Next: read {"filePath":".","limit":2,"offset":4}]`},
		{"alias and string number", in{"file_path": "src/a.go", "offset": "3"}, "3\tfunc A() {}\n(end of file, 3 lines)"},
		{"from the end", in{"filePath": "src/a.go", "offset": -2}, "2\t\n3\tfunc A() {}\n(end of file, 3 lines)"},
		{"ranges", in{"filePath": "many.txt", "ranges": []in{{"offset": 2000, "limit": 1}, {"offset": 3, "limit": 2}, {"offset": 4, "limit": 2}}}, "3\tline 3\n4\tline 4\n5\tline 5\n…\n2000\tline 2000\n[PARTIAL lines 3-5, 2000-2000 of 2500. Next: read {\"filePath\":\"many.txt\",\"offset\":2001}]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			assert.Equal(t, c.want, b.ok("read", c.input))
		})
	}

	t.Run("default limit", func(t *testing.T) {
		text := b.ok("read", in{"filePath": "many.txt"})
		assert.True(t, strings.HasSuffix(text, "\n2000\tline 2000\n[PARTIAL lines 1-2000 of 2500. Next: read {\"filePath\":\"many.txt\",\"offset\":2001}]"), text[len(text)-100:])
	})
	t.Run("long line", func(t *testing.T) {
		text := b.ok("read", in{"filePath": "long.txt"})
		assert.Equal(t, "1\t"+strings.Repeat("é", 2000)+"…[+500 characters; go on with offset=1 lineOffset=2000]\n2\tnext", text)
	})
	t.Run("binary", func(t *testing.T) {
		text := b.ok("read", in{"filePath": "bin"})
		assert.Contains(t, text, "binary file (application/x-elf, 6 bytes)")
		assert.Contains(t, text, "7f 45 4c 46")
	})
	t.Run("byte limit", func(t *testing.T) {
		b.put("wide.txt", strings.Repeat(strings.Repeat("x", 1019)+"\n", 100))
		res, err := b.run("read", in{"filePath": "wide.txt"})
		require.NoError(t, err)
		assert.LessOrEqual(t, len(res.Text), 51<<10)
		assert.Equal(t, true, res.Metadata["truncated"])
		tail := res.Text[strings.LastIndexByte(res.Text, '\n')+1:]
		assert.Equal(t, `[PARTIAL lines 1-50 of 100. Next: read {"filePath":"wide.txt","offset":51}]`, tail)
	})
	t.Run("one giant line", func(t *testing.T) {
		b.put("giant.txt", strings.Repeat("y", 5<<20))
		text := b.ok("read", in{"filePath": "giant.txt"})
		assert.Contains(t, text, "1\t"+strings.Repeat("y", 2000)+fmt.Sprintf("…[+%d characters; go on with offset=1 lineOffset=2000]", 5<<20-2000))
	})
}

// next is the input of the call that a result proposes.
func next(input in) string {
	b, err := json.Marshal(input)
	if err != nil {
		panic(err)
	}
	return string(b)
}

func TestReadNotThere(t *testing.T) {
	b := newBench(t, "-- src/config.go --\n-- src/other.txt --\n", Config{})
	assert.Equal(t, "file not found: src/confg.go. Did you mean src/config.go?", b.fails("read", in{"filePath": "src/confg.go"}))
	assert.Empty(t, b.asks(), "nobody is asked about a file that is not there")
	assert.Equal(t, `file not found: far/config.go. Did you mean src/config.go?`, b.fails("read", in{"filePath": "far/config.go"}), "the same name elsewhere")
	assert.Contains(t, b.fails("read", in{"filePath": "no/such/dir"}), "directory does not exist either")
	assert.Contains(t, b.fails("read", in{"filePath": "src/config.go/x"}), "is a file, not a directory")
	for _, c := range []struct{ path, want string }{
		{"", "the path is empty"},
		{"a\x00b", "NUL"},
		{strings.Repeat("x", 300), "longer than 255 bytes"},
		{strings.Repeat("x/", 3000), "longer than 4096"},
	} {
		assert.Contains(t, b.fails("read", in{"filePath": c.path}), c.want)
	}
}

// TestReadHuge: a file is never loaded as a whole.
func TestReadHuge(t *testing.T) {
	b := newBench(t, "", Config{})
	f, err := os.Create(b.path("huge"))
	require.NoError(t, err)
	_, err = f.WriteString(numbered(5000))
	require.NoError(t, err)
	require.NoError(t, f.Truncate(4<<30)) // sparse: the rest are NUL bytes
	require.NoError(t, f.Close())
	in := in{"filePath": "huge", "limit": 10}
	b.ok("read", in)
	per := testing.Benchmark(func(tb *testing.B) {
		tb.ReportAllocs()
		for range tb.N {
			_, err := b.run("read", in)
			require.NoError(tb, err)
		}
	}).AllocedBytesPerOp()
	assert.Less(t, per, int64(4<<20))
	text := b.ok("read", in)
	assert.Contains(t, text, "10\tline 10\n[PARTIAL lines 1-10 of ≥")
}

func TestReadPermissions(t *testing.T) {
	b := newBench(t, "-- a.txt --\nA\n-- .env --\nSECRET\n-- .env.example --\nX\n-- my.pem --\nKEY\n", Config{Secrets: []string{"*.pem"}})
	outside := tooltest.Workspace(t, "-- o.txt --\nOUT\n")
	require.NoError(t, os.Symlink(filepath.Join(outside, "o.txt"), b.path("link")))
	require.NoError(t, os.Symlink(".env", b.path("notes")))
	require.NoError(t, os.Symlink(outside, b.path("dlink")))
	inner := filepath.ToSlash(outside)
	for _, c := range []struct {
		path, text string
		asks       []string
		guarded    bool
	}{
		{"a.txt", "1\tA", []string{"read a.txt"}, false},
		{"./x/../a.txt", "1\tA", []string{"read a.txt"}, false},
		{".env", "1\tSECRET", []string{"read .env"}, true},
		{"notes", "1\tSECRET", []string{"read .env"}, true},
		{".env.example", "1\tX", []string{"read .env.example"}, false},
		{"my.pem", "1\tKEY", []string{"read my.pem"}, true},
		{filepath.Join(outside, "o.txt"), "1\tOUT", []string{"external_directory " + inner + "/*", "read " + inner + "/o.txt"}, false},
		{"link", "1\tOUT", []string{"external_directory " + inner + "/*", "read " + inner + "/o.txt"}, false},
		{"dlink", "o.txt", []string{"external_directory " + inner + "/*", "read " + inner}, false},
		{"dlink/../" + filepath.Base(outside) + "/o.txt", "1\tOUT", []string{"external_directory " + inner + "/*", "read " + inner + "/o.txt"}, false},
	} {
		t.Run(c.path, func(t *testing.T) {
			assert.Equal(t, c.text, b.ok("read", in{"filePath": c.path}))
			assert.Equal(t, c.asks, b.asks())
			last := b.asked[len(b.asked)-1]
			assert.Equal(t, c.guarded, last.Protected)
			if c.guarded {
				assert.Equal(t, last.Patterns, last.Always)
			} else {
				assert.Equal(t, []string{"*"}, last.Always)
			}
		})
	}
	t.Run("outside, missing: told only after the grant", func(t *testing.T) {
		missing := filepath.Join(outside, "nope.txt")
		b.approver = tooltest.DenyAll{}
		defer func() { b.approver = nil }()
		assert.NotContains(t, b.fails("read", in{"filePath": missing}), "not found")
		b.approver = nil
		assert.Contains(t, b.fails("read", in{"filePath": missing}), "not found")
	})
	t.Run("denied secret", func(t *testing.T) {
		b.approver = tooltest.DenyAll{}
		defer func() { b.approver = nil }()
		msg := b.fails("read", in{"filePath": ".env"})
		assert.Contains(t, msg, "Do not try to read it another way")
		assert.NotContains(t, msg, "SECRET")
	})
}

// TestSpillIsFree: kept output may be read and searched without a question.
func TestSpillIsFree(t *testing.T) {
	store, err := truncate.OpenStore(filepath.Join(t.TempDir(), "spill"), nil)
	require.NoError(t, err)
	defer store.Close()
	b := newBench(t, "", Config{Spill: store})
	res, err := b.run("bash", in{"command": "seq 1 20000"})
	require.NoError(t, err)
	kept, _ := res.Metadata["outputPath"].(string)
	require.NotEmpty(t, kept)
	assert.Contains(t, res.Text, kept)
	assert.LessOrEqual(t, len(res.Text), 31_000)
	assert.Contains(t, b.ok("read", in{"filePath": kept, "offset": 12345, "limit": 1}), "12345\t12345\n")
	assert.Empty(t, b.asks())
	assert.Contains(t, b.ok("grep", in{"pattern": "^1999[0-9]$", "path": kept}), "19990: 19990")
	assert.Empty(t, b.asks())
	b.fails("write", in{"filePath": kept, "content": "x"})
	assert.NotEmpty(t, b.asks(), "writing there is another matter")
}

var _ tool.Approver = (*bench)(nil)
