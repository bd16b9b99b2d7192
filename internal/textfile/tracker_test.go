package textfile

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/agenttool/tool/internal/fsroot"
)

// see reads a file and records it as a tool would.
func see(t testing.TB, tr *Tracker, id string, root *fsroot.Root, name string, ranges ...LineRange) *File {
	t.Helper()
	p := resolve(t, root, name)
	raw, st, err := ReadFile(context.Background(), root, p, 0)
	require.NoError(t, err)
	f, err := Decode(raw, nil)
	require.NoError(t, err)
	tr.Saw(id, p, f.Observe(st, ranges...))
	return f
}

func check(t testing.TB, tr *Tracker, id string, root *fsroot.Root, name string) Freshness {
	t.Helper()
	p := resolve(t, root, name)
	_, st, err := ReadFile(context.Background(), root, p, 0)
	require.NoError(t, err)
	return tr.Check(id, p, st)
}

func put(t testing.TB, dir, name, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
}

func TestStalenessByContent(t *testing.T) {
	dir, root := tree(t, "-- a --\none\ntwo\n")
	name := filepath.Join(dir, "a")
	tr := NewTracker(nil)
	assert.False(t, check(t, tr, "s", root, "a").Known)
	see(t, tr, "s", root, "a", LineRange{1, 2})
	assert.True(t, check(t, tr, "s", root, "a").Fresh)
	assert.False(t, check(t, tr, "other", root, "a").Known, "sessions are apart")

	later := time.Now().Add(time.Hour)
	require.NoError(t, os.Chtimes(name, later, later))
	fr := check(t, tr, "s", root, "a")
	assert.True(t, fr.Fresh, "a new time is no new content")
	rec, ok := tr.Get("s", resolve(t, root, "a"))
	require.True(t, ok)
	assert.Equal(t, later.UnixNano(), rec.State.Mtime)

	// same length, same time
	put(t, dir, "a", "onE\ntwo\n")
	require.NoError(t, os.Chtimes(name, later, later))
	fr = check(t, tr, "s", root, "a")
	assert.True(t, fr.Known)
	assert.False(t, fr.Fresh)
	assert.Equal(t, "one\ntwo\n", string(fr.Before))
	assert.Empty(t, fr.By)
}

func TestOneRecordForAllSpellings(t *testing.T) {
	dir, root := tree(t, "-- d/a --\nx\n")
	require.NoError(t, os.Symlink("d/a", filepath.Join(dir, "link")))
	tr := NewTracker(nil)
	see(t, tr, "s", root, "link", LineRange{1, 1})
	for _, n := range []string{"d/a", "./d/../d/a", filepath.Join(dir, "link")} {
		assert.True(t, check(t, tr, "s", root, n).Fresh, n)
	}
}

func TestSeenLines(t *testing.T) {
	text := ""
	for i := range 20 {
		text += fmt.Sprintf("line %d\n", i+1)
	}
	dir, root := tree(t, "-- a --\n"+text)
	tr := NewTracker(nil)
	see(t, tr, "s", root, "a", LineRange{1, 3})
	f := see(t, tr, "s", root, "a", LineRange{4, 5}, LineRange{10, 12})
	p := resolve(t, root, "a")
	rec, _ := tr.Get("s", p)
	assert.Equal(t, []LineRange{{1, 5}, {10, 12}}, rec.Seen)
	assert.Equal(t, []LineRange{{6, 9}, {13, 20}}, rec.Unseen(1, 20))
	assert.Empty(t, rec.Unseen(2, 4))
	assert.False(t, rec.SawAll())

	// An own edit moves what was seen, and what it wrote is seen.
	at := strings.Index(f.Text, "line 4\n")
	spans := []Span{{at, at + 7, "4a\n4b\n4c\n"}, {strings.Index(f.Text, "line 15"), strings.Index(f.Text, "line 15") + 7, "L15"}}
	out, err := f.Apply(spans)
	require.NoError(t, err)
	res, err := commitOne(root, Change{Op: Update, Path: p, Content: out})
	require.NoError(t, err)
	g, err := Decode(out, nil)
	require.NoError(t, err)
	tr.Wrote("s", p, g.Observe(res.State), f, spans)
	rec, _ = tr.Get("s", p)
	assert.Equal(t, []LineRange{{1, 7}, {12, 14}, {17, 17}}, rec.Seen)
	assert.True(t, rec.Own)
	assert.Equal(t, 22, rec.Lines)
	assert.True(t, check(t, tr, "s", root, "a").Fresh, "no reading is needed after an own edit")

	// Somebody inserts two lines at the top: seen lines move, the new ones are not seen.
	raw, err := os.ReadFile(filepath.Join(dir, "a"))
	require.NoError(t, err)
	put(t, dir, "a", "foreign 1\nforeign 2\n"+string(raw))
	see(t, tr, "s", root, "a", LineRange{22, 24})
	rec, _ = tr.Get("s", p)
	assert.Equal(t, []LineRange{{3, 9}, {14, 16}, {19, 19}, {22, 24}}, rec.Seen)

	tr.Wrote("s", p, Observation{Lines: 4, State: State{Hash: Sum(nil)}}, nil, nil)
	rec, _ = tr.Get("s", p)
	assert.True(t, rec.SawAll())
}

func TestShiftSeen(t *testing.T) {
	f, err := Decode([]byte("1\n2\n3\n4\n5\n6\n"), nil)
	require.NoError(t, err)
	all := []LineRange{{1, 6}}
	for _, tt := range []struct {
		name  string
		seen  []LineRange
		spans []Span
		want  []LineRange
	}{
		{"delete a line", all, []Span{{2, 4, ""}}, []LineRange{{1, 5}}},
		{"insert a line", []LineRange{{1, 1}, {6, 6}}, []Span{{4, 4, "x\n"}}, []LineRange{{1, 1}, {3, 3}, {7, 7}}},
		{"inside a line", []LineRange{{6, 6}}, []Span{{2, 3, "two"}}, []LineRange{{2, 2}, {6, 6}}},
		{"twice in a line", nil, []Span{{2, 2, "a"}, {3, 3, "b\nc"}}, []LineRange{{2, 3}}},
		{"join lines", []LineRange{{5, 5}}, []Span{{1, 2, ""}}, []LineRange{{1, 1}, {4, 4}}},
		{"append", []LineRange{{1, 1}}, []Span{{12, 12, "7\n8\n"}}, []LineRange{{1, 1}, {7, 8}}},
		{"out of order", []LineRange{{3, 3}}, []Span{{10, 12, ""}, {0, 2, ""}}, []LineRange{{2, 2}}},
	} {
		assert.Equal(t, tt.want, shiftSeen(tt.seen, lineEdits(f, tt.spans)), tt.name)
	}
	for _, tt := range []struct {
		before, after string
		want          lineEdit
	}{
		{"a\nb\nc\n", "a\nX\nc\n", lineEdit{2, 2, 1}},
		{"a\nb\nc\n", "a\nc\n", lineEdit{2, 2, 0}},
		{"a\nc\n", "a\nb\nc\n", lineEdit{2, 1, 1}},
		{"a\n", "a\n", lineEdit{1, 0, 0}},
		{"", "a\n", lineEdit{1, 0, 1}},
		{"ab\ncb\n", "xb\ncb\n", lineEdit{1, 1, 1}},
		{"a", "b", lineEdit{1, 1, 1}},
	} {
		assert.Equal(t, tt.want, commonEnds(tt.before, tt.after), "%q %q", tt.before, tt.after)
	}
}

// FuzzShiftSeen: a line that stays as it is stays seen, at its new place, and no other old line becomes seen.
func FuzzShiftSeen(f *testing.F) {
	f.Add("a\nb\nc\nd\n", 2, 4, "x\ny\n", uint16(5))
	f.Add("a\nb\nc", 0, 0, "\n", uint16(1))
	f.Fuzz(func(t *testing.T, text string, a, b int, repl string, mask uint16) {
		file, err := Decode([]byte(text), nil)
		if err != nil || file.Lossy {
			return
		}
		at := func(n int) int {
			n = int(uint(n) % uint(len(file.Text)+1))
			for !file.boundary(n) {
				n--
			}
			return n
		}
		a, b = at(a), at(b)
		if a > b {
			a, b = b, a
		}
		var seen []LineRange
		for i := range min(file.Lines(), 16) {
			if mask&(1<<i) != 0 {
				seen = append(seen, LineRange{i + 1, i + 1})
			}
		}
		repl = strings.ToValidUTF8(strings.ReplaceAll(repl, "\r", ""), "?")
		after := shiftSeen(seen, lineEdits(file, []Span{{a, b, repl}}))
		has := func(rs []LineRange, line int) bool { return len(missingLines(rs, LineRange{line, line})) == 0 }
		first := 1 + strings.Count(file.Text[:a], "\n")
		for line := 1; line < first; line++ {
			if has(seen, line) != has(after, line) {
				t.Fatalf("line %d before the edit changed: %v -> %v", line, seen, after)
			}
		}
		lastOld := 1 + strings.Count(file.Text[:b], "\n")
		delta := strings.Count(repl, "\n") - strings.Count(file.Text[a:b], "\n")
		for line := lastOld + 1; line <= file.Lines(); line++ {
			if has(seen, line) != has(after, line+delta) {
				t.Fatalf("line %d after the edit changed: %v -> %v (delta %d)", line, seen, after, delta)
			}
		}
	})
}

func TestCheckTracked(t *testing.T) {
	dir, root := tree(t, "-- a --\nA\n-- b --\nB\n-- c --\nC\n-- d --\nD\n")
	tr := NewTracker(nil)
	for _, n := range []string{"a", "b", "c", "d"} {
		see(t, tr, "s", root, n, LineRange{1, 1})
	}
	drifts, complete := tr.CheckTracked(context.Background(), "s", root)
	assert.Empty(t, drifts)
	assert.True(t, complete)

	put(t, dir, "a", "A2\n")
	require.NoError(t, os.Remove(filepath.Join(dir, "b")))
	info, err := os.Stat(filepath.Join(dir, "c"))
	require.NoError(t, err)
	put(t, dir, "c", "X\n") // same length …
	require.NoError(t, os.Chtimes(filepath.Join(dir, "c"), info.ModTime(), info.ModTime()))
	drifts, complete = tr.CheckTracked(context.Background(), "s", root)
	assert.True(t, complete)
	names := map[string]Drift{}
	for _, d := range drifts {
		names[d.Display] = d
	}
	require.Len(t, names, 3)
	assert.Equal(t, "A2\n", string(names["a"].After))
	assert.Equal(t, "A\n", string(names["a"].Before))
	assert.True(t, names["b"].Gone)
	assert.Contains(t, names, "c")

	drifts, _ = tr.CheckTracked(context.Background(), "s", root)
	assert.Empty(t, drifts, "each change is told once")
	assert.False(t, check(t, tr, "s", root, "a").Fresh, "but the record stays stale")

	put(t, dir, "a", "A3\n")
	put(t, dir, "b", "B\n")
	drifts, _ = tr.CheckTracked(context.Background(), "s", root)
	require.Len(t, drifts, 1)
	assert.Equal(t, "a", drifts[0].Display)
	put(t, dir, "a", "A\n")
	drifts, _ = tr.CheckTracked(context.Background(), "s", root)
	assert.Empty(t, drifts, "back to what was seen")
	assert.True(t, check(t, tr, "s", root, "a").Fresh)

	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, complete = tr.CheckTracked(ctx, "s", root)
	assert.False(t, complete)
}

func TestForkAndForeignWriter(t *testing.T) {
	dir, root := tree(t, "-- a --\none\n-- b --\nb\n")
	tr := NewTracker(nil)
	see(t, tr, "parent", root, "a", LineRange{1, 1})
	tr.Fork("parent", "child")
	assert.True(t, check(t, tr, "child", root, "a").Fresh, "the child knows what the parent knew")
	see(t, tr, "child", root, "b", LineRange{1, 1})
	assert.False(t, check(t, tr, "parent", root, "b").Known)

	put(t, dir, "a", "two\n")
	p := resolve(t, root, "a")
	raw, st, err := ReadFile(context.Background(), root, p, 0)
	require.NoError(t, err)
	f, err := Decode(raw, nil)
	require.NoError(t, err)
	tr.Wrote("child", p, f.Observe(st), nil, nil)
	fr := check(t, tr, "parent", root, "a")
	assert.False(t, fr.Fresh)
	assert.Equal(t, "child", fr.By)
	assert.Equal(t, "one\n", string(fr.Before))
	tr.Forget("child")
	assert.False(t, check(t, tr, "child", root, "a").Known)

	q := resolve(t, root, "b2")
	tr.Moved("parent", p, q, st)
	_, ok := tr.Get("parent", p)
	assert.False(t, ok)
	_, ok = tr.Get("parent", q)
	assert.True(t, ok)
	tr.Removed(q)
	_, ok = tr.Get("parent", q)
	assert.False(t, ok)
}

func TestSnapshotRestore(t *testing.T) {
	_, root := tree(t, "-- a --\n\ufeffone\r\ntwo\r\n-- b --\nb\n")
	tr := NewTracker(nil)
	see(t, tr, "s", root, "a", LineRange{1, 1})
	see(t, tr, "s", root, "b", LineRange{1, 1})
	data, err := tr.Snapshot("s")
	require.NoError(t, err)
	other := NewTracker(nil)
	require.NoError(t, other.Restore("t", data))
	again, err := other.Snapshot("t")
	require.NoError(t, err)
	assert.JSONEq(t, string(data), string(again))
	assert.True(t, check(t, other, "t", root, "a").Fresh)
	rec, ok := other.Get("t", resolve(t, root, "a"))
	require.True(t, ok)
	assert.Equal(t, Encoding{Name: "utf-8", BOM: true}, rec.Encoding)
	assert.Equal(t, EOLCRLF, rec.EOL)
	drifts, complete := other.CheckTracked(context.Background(), "t", root)
	assert.Empty(t, drifts)
	assert.True(t, complete)

	for _, bad := range []string{"", "{", `{"version":2}`, `{"version":1,"files":[{"key":"","path":"/x"}]}`, `{"version":1,"files":[{"key":"k","path":"rel"}]}`, `{"version":1,"files":[{"key":"k","path":"/x","state":{"hash":"zz"}}]}`} {
		require.Error(t, other.Restore("t", []byte(bad)), bad)
	}
	assert.True(t, check(t, other, "t", root, "a").Fresh, "a bad snapshot changes nothing")
	empty, err := tr.Snapshot("nobody")
	require.NoError(t, err)
	require.NoError(t, other.Restore("n", empty))
}

func TestContentIsBounded(t *testing.T) {
	dir, root := tree(t, "-- x --\n\n")
	tr := NewTracker(&TrackerOptions{KeepBytes: 1000, MaxFiles: 5})
	for i := range 8 {
		n := fmt.Sprintf("f%d", i)
		put(t, dir, n, strings.Repeat("x", 300))
		see(t, tr, "s", root, n)
	}
	put(t, dir, "big", strings.Repeat("y", 2000))
	see(t, tr, "s", root, "big")
	s := tr.sessions["s"]
	assert.Len(t, s.files, 5)
	assert.LessOrEqual(t, s.kept, 1000)
	kept := 0
	for _, f := range s.files {
		kept += len(f.content)
	}
	assert.Equal(t, s.kept, kept)
	put(t, dir, "big", "z")
	fr := check(t, tr, "s", root, "big")
	assert.True(t, fr.Known && !fr.Fresh)
	assert.Nil(t, fr.Before, "only its hash was kept")
}

func TestMergeLines(t *testing.T) {
	got := mergeLines([]LineRange{{5, 6}, {1, 2}, {3, 3}, {9, 8}, {-4, 0}, {6, 7}})
	assert.Equal(t, []LineRange{{1, 3}, {5, 7}}, got)
	assert.True(t, slices.Equal(missingLines(got, LineRange{1, 9}), []LineRange{{4, 4}, {8, 9}}))
}

func ExampleTracker() {
	tr := NewTracker(nil)
	rec := Record{Lines: 10, Seen: []LineRange{{1, 4}, {8, 10}}}
	fmt.Println(rec.Unseen(1, 10), rec.SawAll())
	data, err := tr.Snapshot("session")
	fmt.Println(string(data), err)
	// Output:
	// [{5 7}] false
	// {"version":1,"files":[]} <nil>
}

func BenchmarkCheckTracked500(b *testing.B) {
	dir, root := tree(b, "-- x --\n\n")
	tr := NewTracker(nil)
	old := time.Now().Add(-time.Hour)
	for i := range 500 {
		n := fmt.Sprintf("f%d", i)
		put(b, dir, n, strings.Repeat("x\n", 500))
		require.NoError(b, os.Chtimes(filepath.Join(dir, n), old, old))
		see(b, tr, "s", root, n)
	}
	for b.Loop() {
		if d, _ := tr.CheckTracked(context.Background(), "s", root); len(d) > 0 {
			b.Fatal(d)
		}
	}
}

// TestShiftSeenInManyPlaces: the time does not grow with the product of edits and ranges.
func TestShiftSeenInManyPlaces(t *testing.T) {
	const n = 300_000
	seen, edits := make([]LineRange, n), make([]lineEdit, n)
	for i := range n {
		seen[i] = LineRange{10*i + 1, 10*i + 3}
		edits[i] = lineEdit{first: 10*i + 5, last: 10*i + 5, count: 2}
	}
	start := time.Now()
	out := shiftSeen(seen, edits)
	assert.Less(t, time.Since(start), 20*time.Second, "expected: 0.1 s")
	assert.Len(t, out, 2*n)
	assert.Equal(t, []LineRange{{1, 3}, {5, 6}, {12, 14}, {16, 17}}, out[:4])
}
