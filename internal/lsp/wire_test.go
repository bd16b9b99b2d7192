package lsp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestFramer: messages come out as they went in, however the bytes are dealt out.
func TestFramer(t *testing.T) {
	stream := "Content-Length: 2\r\n\r\n{}" + "content-length:3\nContent-Type: application/vscode-jsonrpc; charset=utf-8\r\n\r\n[1]" + "Content-Length: 0\r\n\r\n" + string(frame([]byte(`"é"`)))
	for name, r := range map[string]io.Reader{
		"at once": strings.NewReader(stream), "byte by byte": iotest.OneByteReader(strings.NewReader(stream)), "halves": iotest.HalfReader(strings.NewReader(stream)),
		"with the end": iotest.DataErrReader(strings.NewReader(stream)),
	} {
		f := newFramer(r)
		for _, want := range []string{"{}", "[1]", "", `"é"`} {
			got, err := f.next()
			require.NoError(t, err, name)
			assert.Equal(t, want, string(got), name)
		}
		_, err := f.next()
		require.ErrorIs(t, err, io.EOF, name)
	}
	for _, cut := range []string{"C", "Content-Length: 2\r\n", "Content-Length: 2\r\n\r\n{"} {
		_, err := newFramer(strings.NewReader(cut)).next()
		require.ErrorIs(t, err, io.ErrUnexpectedEOF, cut)
	}
}

// TestAnnouncedSize: memory grows with what comes, not with what is announced.
func TestAnnouncedSize(t *testing.T) {
	got := testing.AllocsPerRun(5, func() {
		_, err := newFramer(strings.NewReader(fmt.Sprintf("Content-Length: %d\r\n\r\nx", maxBody))).next()
		require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	})
	assert.Less(t, got, 100.0)
	f := newFramer(strings.NewReader("Content-Length: 20\r\n\r\n" + strings.Repeat("x", 20) + "Content-Length: 1\r\n\r\n7"))
	f.limit = 10
	_, err := f.next()
	var large *tooLargeError
	require.ErrorAs(t, err, &large)
	next, err := f.next()
	require.NoError(t, err)
	assert.Equal(t, "7", string(next))
}

// FuzzFramer: no stream makes the framer panic, and what it takes it would write
// in the same way.
func FuzzFramer(f *testing.F) {
	f.Add([]byte("Content-Length: 2\r\n\r\n{}Content-Length: 1\r\n\r\n1"))
	f.Add([]byte("Content-Length: 99999999999999999999\r\n\r\n"))
	f.Add([]byte("Content-Length: -1\r\n\r\n"))
	f.Add([]byte("\r\n\r\n"))
	f.Add([]byte("a: b\nContent-Length: 3\n\nabcdef"))
	f.Add([]byte("Content-Length: 200\r\n\r\n{\"id\":7}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		r := newFramer(bytes.NewReader(data))
		r.limit = 100
		total := 0
		for range len(data) + 2 {
			body, err := r.next()
			var large *tooLargeError
			if err != nil && !assert.ObjectsAreEqual(true, isLarge(err, &large)) {
				return
			}
			if err == nil {
				total += len(body)
				again, err := newFramer(bytes.NewReader(frame(body))).next()
				require.NoError(t, err)
				require.True(t, bytes.Equal(body, again))
			}
			require.LessOrEqual(t, total, len(data))
		}
		t.Fatal("messages without end")
	})
}

func isLarge(err error, large **tooLargeError) bool {
	e, ok := err.(*tooLargeError)
	*large = e
	return ok
}

// FuzzMessages: no message makes the connection panic.
func FuzzMessages(f *testing.F) {
	for _, s := range []string{
		`{"jsonrpc":"2.0","id":1,"result":null}`, `{"id":1,"error":{"code":"x"}}`, `{"method":"textDocument/publishDiagnostics","params":{"uri":"file:///w/a.go","diagnostics":[{"range":{"start":{"line":-1,"character":1e9}}}]}}`,
		`{"method":"$/progress","params":{"token":[],"value":{"kind":"begin"}}}`, `{"id":{},"method":"workspace/configuration","params":{"items":[{}]}}`, `[]`, `{"id":null,"method":"x"}`,
	} {
		f.Add([]byte(s))
	}
	c := New(Options{Root: "/w", Files: newMemFiles(nil)})
	f.Cleanup(func() { c.Close() })
	f.Fuzz(func(t *testing.T, data []byte) {
		s := newSession(&server{client: c, cfg: (Server{Name: "x"}).withDefaults(), root: "/w"})
		conn := newConn(&stuck{free: make(chan struct{})}, s)
		s.conn = conn
		var m incoming
		if json.Unmarshal(data, &m) == nil {
			conn.take(&m)
		}
		s.known([]string{"/w/a.go"})
		s.working()
		conn.fail(io.EOF)
		close(conn.stream.(*stuck).free)
		conn.wg.Wait()
	})
}

// TestPositions: columns in all encodings, over characters of every width.
func TestPositions(t *testing.T) {
	const text = "plain\r\n\té漢🙂x\n\n👩‍👩‍👧 e\u0301 end"
	l := NewLines(text)
	assert.Equal(t, 4, l.Len())
	assert.Equal(t, "\té漢🙂x", l.Line(2))
	assert.Empty(t, l.Line(0)+l.Line(5)+l.Line(3))
	for _, c := range []struct {
		p          Position
		u8, u16, c int64
	}{
		{Position{1, 6}, 5, 5, 5}, {Position{2, 1}, 0, 0, 0}, {Position{2, 3}, 3, 2, 2}, {Position{2, 4}, 6, 3, 3}, {Position{2, 5}, 10, 5, 4}, {Position{2, 6}, 11, 6, 5},
		{Position{4, 6}, 18, 8, 5},
	} {
		for enc, want := range map[Encoding]int64{UTF8: c.u8, UTF16: c.u16, UTF32: c.c} {
			w := l.Wire(c.p, enc)
			assert.Equal(t, wirePosition{int64(c.p.Line - 1), want}, w, "%v %s", c.p, enc)
			assert.Equal(t, c.p, l.FromWire(w, enc), "%v %s", c.p, enc)
		}
	}
	// What lies beyond the end of a line or within a character.
	assert.Equal(t, Position{1, 6}, l.FromWire(wirePosition{0, 99}, UTF16))
	assert.Equal(t, Position{2, 4}, l.FromWire(wirePosition{1, 4}, UTF16), "between the halves of a pair")
	assert.Equal(t, Position{2, 2}, l.FromWire(wirePosition{1, 2}, UTF8), "within é")
	assert.Equal(t, Position{1, 1}, l.FromWire(wirePosition{-5, -5}, UTF16))
	assert.Equal(t, len(text), l.Offset(Position{99, 1}))
	assert.Equal(t, 0, l.Offset(Position{0, 0}))
	assert.Equal(t, 5, l.Offset(Position{1, 99}))
}

// FuzzPositions: there and back is the same place, and the counts are those of
// the standard library.
func FuzzPositions(f *testing.F) {
	f.Add("a🙂\r\nb\n", 3)
	f.Add("é漢\t\n\n", 1)
	f.Add("\xff\xfe🙂", 2)
	f.Add("", 0)
	f.Fuzz(func(t *testing.T, text string, offset int) {
		text = strings.ToValidUTF8(text, "\uFFFD")
		l := NewLines(text)
		offset = max(0, min(offset, len(text)))
		for offset > 0 && offset < len(text) && !utf8.RuneStart(text[offset]) {
			offset--
		}
		p := l.Position(offset)
		back := l.Offset(p)
		if offset < len(text) && text[offset] == '\n' && offset > 0 && text[offset-1] == '\r' {
			require.Equal(t, offset-1, back, "the end of a line is before its CR")
		} else {
			require.Equal(t, offset, back)
		}
		line := l.Line(p.Line)
		head := string([]rune(line)[:p.Column-1])
		for enc, want := range map[Encoding]int{UTF8: len(head), UTF16: len(utf16.Encode([]rune(head))), UTF32: utf8.RuneCountInString(head)} {
			w := l.Wire(p, enc)
			require.Equal(t, int64(want), w.Character)
			require.Equal(t, p, l.FromWire(w, enc))
		}
	})
}

// FuzzDifference: what is sent of a change makes the new text of the old one.
func FuzzDifference(f *testing.F) {
	f.Add("a\r\nb", "a\nb")
	f.Add("🙂", "🙃")
	f.Add("", "x")
	f.Add("aaa", "aa")
	f.Add("é", "è")
	f.Fuzz(func(t *testing.T, old, new string) {
		old, new = strings.ToValidUTF8(old, "\uFFFD"), strings.ToValidUTF8(new, "\uFFFD")
		for _, enc := range []Encoding{UTF8, UTF16, UTF32} {
			d := difference(old, new, enc)
			r, l := d["range"].(wireRange), NewLines(old)
			from, to := offsetOf(l, r.Start, enc), offsetOf(l, r.End, enc)
			require.Equal(t, new, old[:from]+d["text"].(string)+old[to:])
			require.True(t, utf8.ValidString(d["text"].(string)))
		}
	})
}

// offsetOf counts as a server does for which a CR is a character like any other.
func offsetOf(l *Lines, p wirePosition, enc Encoding) int {
	start := l.start[p.Line]
	rest := l.text[start:]
	return start + runeOffset(rest, runeColumn(rest, int(p.Character), enc))
}

// TestURIs: paths of both kinds of systems, there and back.
func TestURIs(t *testing.T) {
	for _, c := range []struct {
		path, uri string
		windows   bool
	}{
		{"/home/a b/ü#?%.go", "file:///home/a%20b/%C3%BC%23%3F%25.go", false},
		{"/w/a:b.go", "file:///w/a%3Ab.go", false},
		{`/w/back\slash`, "file:///w/back%5Cslash", false},
		{"/", "file:///", false},
		{"C:/Users/x/a b.go", "file:///C:/Users/x/a%20b.go", true},
		{"//host/share/a.go", "file://host/share/a.go", true},
	} {
		assert.Equal(t, c.uri, uriOf(c.path, c.windows))
		got, err := pathOf(c.uri, c.windows)
		require.NoError(t, err, c.uri)
		assert.Equal(t, c.path, got)
	}
	for uri, want := range map[string]string{"file:///c%3A/x/y.go": "C:/x/y.go", "file:///c:/x/../y.go": "C:/y.go", "FILE:///D:/z": "D:/z"} {
		got, err := pathOf(uri, true)
		require.NoError(t, err)
		assert.Equal(t, want, got)
	}
	assert.Equal(t, "file:///C:/a/b", uriOf(`c:\a\b`, true))
	got, err := pathOf("file://localhost/w/./a/../b.go", false)
	require.NoError(t, err)
	assert.Equal(t, "/w/b.go", got)
	for _, uri := range []string{"", "http://x/y", "untitled:Untitled-1", "file://elsewhere/x", "file:relative", "file:///a%00b", "file:///%zz", "jdt://contents/x"} {
		_, err := pathOf(uri, false)
		require.ErrorIs(t, err, ErrProtocol, uri)
	}
	for _, uri := range []string{"file:///usr/x", "file:relative"} {
		_, err := pathOf(uri, true)
		require.Error(t, err, uri)
	}
	dir := t.TempDir()
	back, err := filePath(fileURI(dir))
	require.NoError(t, err)
	assert.Equal(t, filepath.Clean(dir), back)
}

// FuzzURI: no address makes a path that is not absolute and clean.
func FuzzURI(f *testing.F) {
	f.Add("file:///a/b%20c")
	f.Add("file://h/../..")
	f.Add("file:///C:/x")
	f.Fuzz(func(t *testing.T, uri string) {
		if p, err := pathOf(uri, false); err == nil {
			require.True(t, strings.HasPrefix(p, "/"))
			require.NotContains(t, strings.Split(p, "/"), "..")
			again, err := pathOf(uriOf(p, false), false)
			require.NoError(t, err)
			require.Equal(t, p, again)
		}
		if p, err := pathOf(uri, true); err == nil {
			require.NotContains(t, strings.Split(p, "/"), "..")
		}
	})
}

// TestServerShapes: where the protocol leaves a choice, all of it is taken.
func TestServerShapes(t *testing.T) {
	for _, raw := range []string{
		`{"uri":"file:///a"}`, `[{"uri":"file:///a"}]`, `[{"targetUri":"file:///a","targetSelectionRange":{"start":{"line":0,"character":0},"end":{"line":0,"character":0}}}]`,
	} {
		var l locations
		require.NoError(t, json.Unmarshal([]byte(raw), &l))
		require.Len(t, l, 1)
		assert.Equal(t, "file:///a", l[0].URI)
	}
	var l locations
	require.NoError(t, json.Unmarshal([]byte("null"), &l))
	assert.Empty(t, l)
	for raw, want := range map[string]string{
		`"x"`: "x", `{"kind":"markdown","value":"x"}`: "x", `{"language":"go","value":"x"}`: "```go\nx\n```", `["a",{"language":"c","value":"b"}]`: "a\n\n```c\nb\n```", `null`: "", `[]`: "",
	} {
		var h hoverContents
		require.NoError(t, json.Unmarshal([]byte(raw), &h))
		assert.Equal(t, want, string(h), raw)
	}
	for raw, want := range map[string]syncKind{
		`1`: {Change: 1}, `{"change":2}`: {Change: 2}, `{"change":2,"save":true}`: {2, true, false}, `{"change":1,"save":{"includeText":true}}`: {1, true, true}, `null`: {},
	} {
		var k syncKind
		require.NoError(t, json.Unmarshal([]byte(raw), &k))
		assert.Equal(t, want, k, raw)
	}
	for raw, want := range map[string]provider{`true`: {On: true}, `false`: {}, `null`: {}, `{}`: {On: true}, `{"resolveProvider":true}`: {On: true, Resolve: true}} {
		var p provider
		require.NoError(t, json.Unmarshal([]byte(raw), &p))
		assert.Equal(t, want, p, raw)
	}
}
