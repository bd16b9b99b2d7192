package textfile

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/agenttool/tool/internal/fsroot"
)

func view(t testing.TB, r *Reader, name string, q Query) *View {
	t.Helper()
	v, err := r.Read(context.Background(), resolve(t, r.Root, name), q)
	require.NoError(t, err)
	return v
}

func numbered(v *View) []string {
	var out []string
	for _, l := range v.Lines {
		out = append(out, fmt.Sprintf("%d %s", l.Number, l.Text))
	}
	return out
}

// follow reads a file to its end by the Next of each view, and puts the lines together again.
func follow(t testing.TB, r *Reader, name string, q Query) (lines []string, calls int) {
	t.Helper()
	for calls = 1; ; calls++ {
		require.Less(t, calls, 5000, "no progress")
		v := view(t, r, name, q)
		for i, l := range v.Lines {
			if i == 0 && l.From > 0 {
				lines[len(lines)-1] += l.Text
			} else {
				require.Equal(t, len(lines)+1, l.Number)
				lines = append(lines, l.Text)
			}
			if i < len(v.Lines)-1 {
				require.Zero(t, l.More, "a line cut in the middle of a view")
			}
		}
		if !v.Partial {
			return lines, calls
		}
		q = v.Next
	}
}

func TestReadRanges(t *testing.T) {
	dir, root := tree(t, "-- empty --\n")
	var b strings.Builder
	for i := range 42 {
		fmt.Fprintf(&b, "line %d\n", i+1)
	}
	put(t, dir, "f", b.String())
	put(t, dir, "open", "a\r\nb")
	r := &Reader{Root: root}

	v := view(t, r, "f", Query{Limit: 2})
	assert.Equal(t, []string{"1 line 1", "2 line 2"}, numbered(v))
	assert.Equal(t, 42, v.Total)
	assert.False(t, v.TotalAtLeast)
	assert.True(t, v.Partial)
	assert.Equal(t, Query{Offset: 3}, v.Next)
	assert.Equal(t, []LineRange{{1, 2}}, v.Seen())

	v = view(t, r, "f", Query{Offset: 41})
	assert.Equal(t, []string{"41 line 41", "42 line 42"}, numbered(v))
	assert.False(t, v.Partial)
	v = view(t, r, "f", Query{Offset: -2})
	assert.Equal(t, []string{"41 line 41", "42 line 42"}, numbered(v))
	v = view(t, r, "f", Query{Offset: -5, Limit: 2})
	assert.Equal(t, []string{"38 line 38", "39 line 39"}, numbered(v))
	v = view(t, r, "f", Query{Offset: -500})
	assert.Len(t, v.Lines, 42)
	v = view(t, r, "f", Query{Offset: 43})
	assert.True(t, v.BeyondEnd)
	assert.Equal(t, 42, v.Total)
	require.Len(t, v.Lines, 10)
	assert.Equal(t, 42, v.Lines[9].Number)
	v = view(t, r, "f", Query{Ranges: []Range{{10, 2}, {1, 2}, {11, 2}, {-1, 0}}})
	assert.Equal(t, []string{"1 line 1", "2 line 2", "10 line 10", "11 line 11", "12 line 12", "42 line 42"}, numbered(v))
	assert.Equal(t, []LineRange{{1, 2}, {10, 12}, {42, 42}}, v.Seen())

	v = view(t, r, "f", Query{Ranges: []Range{{math.MaxInt - 1, 5}, {1, math.MaxInt}, {2, math.MaxInt}, {math.MinInt, 1}}})
	assert.Len(t, v.Lines, 42)

	v = view(t, r, "empty", Query{})
	assert.Empty(t, v.Lines)
	assert.Zero(t, v.Total)
	assert.False(t, v.Partial)
	assert.False(t, v.BeyondEnd)
	v = view(t, r, "empty", Query{Offset: 7})
	assert.True(t, v.BeyondEnd)

	v = view(t, r, "open", Query{})
	assert.Equal(t, []string{"1 a", "2 b"}, numbered(v))
	assert.True(t, v.NoFinalNewline)
	assert.Equal(t, EOLCRLF, v.EOL)
	assert.Equal(t, Sum([]byte("a\r\nb")), v.State.Hash)
	require.NotNil(t, v.File)
}

func TestByteLimitMakesProgress(t *testing.T) {
	dir, root := tree(t, "-- x --\n\n")
	put(t, dir, "f", strings.Repeat("äöü line\n", 100)+strings.Repeat("x", 900)+"\nend\n")
	for _, limit := range []int{1, 7, 100, 1000} {
		r := &Reader{Root: root, MaxBytes: limit}
		lines, _ := follow(t, r, "f", Query{})
		require.Len(t, lines, 102)
		assert.Equal(t, "äöü line", lines[99])
		assert.Equal(t, strings.Repeat("x", 900), lines[100])
		assert.Equal(t, "end", lines[101])
	}
}

// TestGiantLine pages through a 10 MB line and gets all of it, in each kind of encoding.
func TestGiantLine(t *testing.T) {
	dir, root := tree(t, "-- x --\n\n")
	body := strings.Repeat("minified;var x='ä漢😀';", 10_000_000/28)
	if testing.Short() {
		body = body[:len(body)/8/28*28]
	}
	put(t, dir, "one", body)
	r := &Reader{Root: root}
	v := view(t, r, "one", Query{})
	require.Len(t, v.Lines, 1)
	assert.Equal(t, 2000, utf8.RuneCountInString(v.Lines[0].Text))
	assert.Equal(t, utf8.RuneCountInString(body)-2000, v.Lines[0].More)
	assert.Equal(t, Query{Offset: 1, LineOffset: 2000}, v.Next)
	lines, calls := follow(t, r, "one", Query{})
	require.Len(t, lines, 1)
	assert.True(t, lines[0] == body, "recovered %d of %d bytes", len(lines[0]), len(body))
	t.Logf("%d calls", calls)

	short := body[:200_000/28*28]
	for _, charset := range []string{"utf-16le", "utf-16be", "utf-32le", "gb18030"} {
		c, err := lookup(charset)
		require.NoError(t, err)
		raw, err := c.encode("first\r\n" + short + "\r\nlast\r\n")
		require.NoError(t, err)
		for _, big := range []bool{false, true} {
			content := append(c.bom(), raw...)
			if big { // over the size that is held in memory
				more, err := c.encode(strings.Repeat("filler 漢字\r\n", 120_000))
				require.NoError(t, err)
				content = append(content, more...)
			}
			require.NoError(t, os.WriteFile(filepath.Join(dir, charset), content, 0o644))
			v := view(t, r, charset, Query{Limit: 3, Decode: &DecodeOptions{Charset: charset}})
			require.Len(t, v.Lines, 3, charset)
			assert.Equal(t, "first", v.Lines[0].Text, charset)
			assert.Equal(t, utf8.RuneCountInString(short)-2000, v.Lines[1].More, "%s %v", charset, big)
			assert.Equal(t, "last", v.Lines[2].Text, charset)
			got := v.Lines[1].Text
			for more := v.Lines[1].More; more > 0; {
				w := view(t, r, charset, Query{Offset: 2, Limit: 1, LineOffset: utf8.RuneCountInString(got), Decode: &DecodeOptions{Charset: charset}})
				require.Less(t, w.Lines[0].More, more)
				got += w.Lines[0].Text
				more = w.Lines[0].More
			}
			assert.True(t, got == short, "%s %v: %d of %d", charset, big, len(got), len(short))
		}
	}
}

// TestReadAgainstSplit compares every way of reading with splitting the whole text, for files below and above the size that is
// held in memory.
func TestReadAgainstSplit(t *testing.T) {
	dir, root := tree(t, "-- x --\n\n")
	rnd := rand.New(rand.NewPCG(3, 4))
	for round := range 12 {
		var text strings.Builder
		target := []int{3_000, 300_000, 3_000_000}[round%3]
		for text.Len() < target {
			text.WriteString(strings.Repeat([]string{"a", "bc ", "ä", "漢", "😀"}[rnd.IntN(5)], rnd.IntN([]int{5, 60, 60, 400}[rnd.IntN(4)])))
			if rnd.IntN(200) == 0 {
				text.WriteString(strings.Repeat("long ", rnd.IntN(40_000)))
			}
			text.WriteString([]string{"\n", "\r\n", "\n\n"}[rnd.IntN(3)])
		}
		if rnd.IntN(2) == 0 {
			text.WriteString("no end")
		}
		charset := []string{"utf-8", "utf-16le", "utf-8", "utf-16be"}[round%4]
		c, err := lookup(charset)
		require.NoError(t, err)
		raw, err := c.encode(text.String())
		require.NoError(t, err)
		if c.unit > 1 {
			raw = append(c.bom(), raw...)
		}
		require.NoError(t, os.WriteFile(filepath.Join(dir, "f"), raw, 0o644))
		want := strings.Split(strings.TrimSuffix(strings.ReplaceAll(text.String(), "\r\n", "\n"), "\n"), "\n")
		r := &Reader{Root: root, LineRunes: 1 << 30, MaxBytes: 1 << 30}
		check := func(v *View, first int) {
			t.Helper()
			for i, l := range v.Lines {
				require.Equal(t, first+i, l.Number)
				got := l.Text
				for l.More > 0 { // longer than a chunk: page through it
					w := view(t, r, "f", Query{Offset: l.Number, Limit: 1, LineOffset: utf8.RuneCountInString(got)})
					require.Less(t, w.Lines[0].More, l.More)
					l.More = w.Lines[0].More
					got += w.Lines[0].Text
				}
				require.Equal(t, want[l.Number-1], got, "line %d of round %d", l.Number, round)
			}
			require.False(t, v.TotalAtLeast)
			require.Equal(t, len(want), v.Total)
		}
		for range 15 {
			first, n := 1+rnd.IntN(len(want)), 1+rnd.IntN(50)
			v := view(t, r, "f", Query{Offset: first, Limit: n})
			if last := v.Lines[len(v.Lines)-1]; last.More == 0 { // else the view ends in a line longer than a chunk
				require.Len(t, v.Lines, min(n, len(want)-first+1))
			}
			check(v, first)
			back := 1 + rnd.IntN(min(len(want), 300))
			check(view(t, r, "f", Query{Offset: -back}), len(want)-back+1)
		}
	}
}

func TestIndexIsDroppedWhenTheFileChanges(t *testing.T) {
	dir, root := tree(t, "-- x --\n\n")
	r := &Reader{Root: root}
	for _, width := range []int{10, 20} {
		var b strings.Builder
		for i := range 200_000 {
			fmt.Fprintf(&b, "%0*d\n", width, i+1)
		}
		put(t, dir, "f", b.String())
		for _, n := range []int{150_000, 8_193, 199_999, 4_097, 4_096, 1} {
			v := view(t, r, "f", Query{Offset: n, Limit: 1})
			require.Equal(t, fmt.Sprintf("%0*d", width, n), v.Lines[0].Text)
			require.Equal(t, 200_000, v.Total)
		}
	}
}

func TestBinaryAndVisible(t *testing.T) {
	dir, root := tree(t, "-- esc --\n\x1b[2Jhi\r\nlone\rcr \u202e\n")
	put(t, dir, "bin", "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR")
	put(t, dir, "bad", "näme and naïve and öde, über, Öl\nbad \xff byte\n")
	r := &Reader{Root: root}
	v := view(t, r, "bin", Query{})
	require.NotNil(t, v.Binary)
	assert.Equal(t, "binary file, image/png, 16 bytes", v.Binary.String())
	assert.Contains(t, v.Binary.Hex(), "89 50 4e 47")
	v = view(t, r, "esc", Query{})
	assert.Equal(t, []string{`1 \x1b[2Jhi`, `2 lone\rcr \u202e`}, numbered(v))
	assert.Equal(t, 3, v.Escapes)
	v = view(t, r, "bad", Query{})
	assert.True(t, v.Lossy)
	assert.Equal(t, `2 bad \xff byte`, numbered(v)[1])
	for head, want := range map[string]string{"%PDF-1.7": "application/pdf", "RIFF1234WEBP": "image/webp", "BM in text": "", "\x7fELF": "application/x-elf", "": ""} {
		assert.Equal(t, want, Sniff([]byte(head)))
	}
}

func TestReadErrors(t *testing.T) {
	dir, root := tree(t, "-- d/f --\nx\n")
	r := &Reader{Root: root}
	ctx := context.Background()
	for name, want := range map[string]error{"d": fsroot.ErrIsDir, "nope": fs.ErrNotExist, "../outside": fsroot.ErrOutside} {
		_, err := r.Read(ctx, resolve(t, root, name), Query{})
		require.ErrorIs(t, err, want, name)
	}
	if os.Geteuid() != 0 && runtime.GOOS != "windows" {
		require.NoError(t, os.Chmod(filepath.Join(dir, "d/f"), 0))
		_, err := r.Read(ctx, resolve(t, root, "d/f"), Query{})
		require.ErrorIs(t, err, fs.ErrPermission)
	}
	put(t, dir, "big", strings.Repeat("x\n", 2<<20))
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	_, err := r.Read(cancelled, resolve(t, root, "big"), Query{Offset: 1 << 20})
	require.ErrorIs(t, err, context.Canceled)
	_, _, err = ReadFile(ctx, root, resolve(t, root, "big"), 1000)
	var large *TooLargeError
	require.ErrorAs(t, err, &large)
	require.NoError(t, os.RemoveAll(dir))
	_, err = root.Resolve("d/f")
	require.NoError(t, err)
	_, err = r.Read(ctx, resolve(t, root, "d/f"), Query{})
	require.Error(t, err)
}

// sparse makes a file with some lines of text followed by a hole up to size, and a last line.
func sparse(t testing.TB, dir string, size int64) string {
	t.Helper()
	name := filepath.Join(dir, "sparse")
	f, err := os.Create(name)
	require.NoError(t, err)
	defer f.Close()
	for i := range 100 {
		fmt.Fprintf(f, "line %d\n", i+1)
	}
	require.NoError(t, f.Truncate(size))
	_, err = f.WriteAt([]byte("\nlast but one\nlast\n"), size-19)
	require.NoError(t, err)
	return name
}

// TestHugeFile: the beginning, the end and a giant hole of a 4 GB file, with little memory.
func TestHugeFile(t *testing.T) {
	dir, root := tree(t, "-- x --\n\n")
	sparse(t, dir, 4<<30)
	r := &Reader{Root: root}
	read := func(q Query) (*View, uint64, time.Duration) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		start := time.Now()
		v := view(t, r, "sparse", q)
		took := time.Since(start)
		runtime.ReadMemStats(&after)
		return v, after.TotalAlloc - before.TotalAlloc, took
	}
	v, alloc, took := read(Query{Limit: 10})
	assert.Len(t, v.Lines, 10)
	assert.Equal(t, "line 10", v.Lines[9].Text)
	assert.True(t, v.TotalAtLeast)
	assert.Equal(t, 101, v.Total)
	assert.Less(t, alloc, uint64(4<<20))
	assert.Less(t, took, 5*time.Second)
	v, alloc, took = read(Query{Offset: -2})
	assert.Equal(t, []string{"-2 last but one", "-1 last"}, numbered(v))
	assert.Less(t, alloc, uint64(4<<20))
	assert.Less(t, took, 5*time.Second)
	v, alloc, _ = read(Query{Offset: -3})
	assert.Equal(t, -1, v.Lines[0].From, "the line before begins gigabytes earlier")
	assert.True(t, v.Partial)
	assert.Less(t, alloc, uint64(4<<20))
	v, alloc, _ = read(Query{Offset: 100})
	require.Len(t, v.Lines, 2)
	assert.True(t, v.Lines[1].MoreAtLeast)
	assert.Equal(t, Query{Offset: 101, LineOffset: 2000}, v.Next)
	assert.Less(t, alloc, uint64(4<<20))
}

func FuzzRead(f *testing.F) {
	f.Add([]byte("a\nb\r\nc"), 1, 2, 0)
	f.Add([]byte("\xff\xfea\x00\n\x00"), -1, 0, 1)
	f.Add([]byte("\xef\xbb\xbfx\r"), 5, 1, 3)
	f.Add([]byte("a\nb\n"), math.MinInt, math.MaxInt, math.MaxInt)
	f.Add([]byte("a\nb\n"), math.MaxInt, math.MinInt, math.MinInt)
	dir := f.TempDir()
	root, err := fsroot.Open(dir, nil)
	require.NoError(f, err)
	f.Cleanup(func() { _ = root.Close() })
	f.Fuzz(func(t *testing.T, raw []byte, offset, limit, lineOffset int) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "f"), raw, 0o644))
		p, err := root.Resolve("f")
		require.NoError(t, err)
		r := &Reader{Root: root, LineRunes: 7, MaxBytes: 40}
		v, err := r.Read(context.Background(), p, Query{Offset: offset, Limit: limit, LineOffset: lineOffset})
		require.NoError(t, err)
		for _, l := range v.Lines {
			if !utf8.ValidString(l.Text) || l.More < 0 || l.Runes < 0 {
				t.Fatalf("%+v", l)
			}
		}
		if v.File != nil && !v.TotalAtLeast && v.Total != v.File.Lines() {
			t.Fatalf("%d lines, counted %d", v.File.Lines(), v.Total)
		}
		q := Query{}
		for range 10_000 { // following Next ends
			v, err := r.Read(context.Background(), p, q)
			require.NoError(t, err)
			if !v.Partial {
				return
			}
			if v.Next.Offset < q.Offset || v.Next.Offset == q.Offset && v.Next.LineOffset <= q.LineOffset {
				t.Fatalf("no progress: %+v after %+v", v.Next, q)
			}
			q = v.Next
		}
		t.Fatal("no end")
	})
}

func ExampleReader_Read() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(dir, "f"), bytes.Repeat([]byte("a line\r\n"), 5), 0o644); err != nil {
		fmt.Println(err)
		return
	}
	root, err := fsroot.Open(dir, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer root.Close()
	p, err := root.Resolve("f")
	if err != nil {
		fmt.Println(err)
		return
	}
	r := &Reader{Root: root}
	v, err := r.Read(context.Background(), p, Query{Offset: 2, Limit: 2})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, l := range v.Lines {
		fmt.Printf("%d\t%s\n", l.Number, l.Text)
	}
	fmt.Println(v.Total, v.EOL, v.Partial, v.Next.Offset)
	// Output:
	// 2	a line
	// 3	a line
	// 5 crlf true 4
}

func BenchmarkReadHuge(b *testing.B) {
	dir, root := tree(b, "-- x --\n\n")
	sparse(b, dir, 4<<30)
	r := &Reader{Root: root}
	for name, q := range map[string]Query{"first10": {Limit: 10}, "tail2": {Offset: -2}} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				r.index = nil
				view(b, r, "sparse", q)
			}
		})
	}
}

func BenchmarkReadLineMillion(b *testing.B) {
	dir, root := tree(b, "-- x --\n\n")
	put(b, dir, "f", strings.Repeat("an ordinary line of forty or so bytes ...\n", 1_100_000))
	r := &Reader{Root: root}
	b.Run("cold", func(b *testing.B) {
		for b.Loop() {
			r.index = nil
			view(b, r, "f", Query{Offset: 1_000_000, Limit: 10})
		}
	})
	b.Run("indexed", func(b *testing.B) {
		for b.Loop() {
			view(b, r, "f", Query{Offset: 1_000_000, Limit: 10})
		}
	})
}
