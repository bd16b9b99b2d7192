package truncate

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// feed writes text in pieces of random size.
func feed(c *Collector, text string, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 1))
	for len(text) > 0 {
		n := min(len(text), 1+r.IntN(3000))
		io.WriteString(c, text[:n])
		text = text[n:]
	}
}

func TestCollectorSmallOutput(t *testing.T) {
	c := NewCollector(nil)
	feed(c, numbered(100), 1)
	c.End()
	cut := c.Cut(t.Context(), Policy{})
	assert.Equal(t, numbered(100), cut.Text)
	assert.False(t, cut.Truncated)
	require.NoError(t, c.Close())
}

// A Collector whose memory holds both kept ends cuts as Apply does.
func TestCollectorAgreesWithApply(t *testing.T) {
	var b strings.Builder
	for i := range 60_000 {
		switch {
		case i%9000 == 4000:
			fmt.Fprintf(&b, "file.go:%d: error: bad\n", i)
		case i%7000 == 100:
			fmt.Fprintf(&b, "warning: %d\n", i)
		default:
			fmt.Fprintf(&b, "plain line number %d\n", i)
		}
	}
	for _, text := range []string{b.String(), b.String() + "open end", strings.Repeat("x", 1<<20), strings.Repeat("語", 1<<18), numbered(20_000)} {
		for _, p := range []Policy{{}, {Keep: Tail}, {Keep: HeadTail}, {Keep: HeadTail, Errors: 10, MaxBytes: 30_000}, {Keep: HeadTail, MaxTokens: 900}} {
			c := NewCollector(&CollectorOptions{Errors: p.Errors})
			feed(c, text, 7)
			c.End()
			got, want := c.Cut(t.Context(), p), p.Apply(t.Context(), text)
			require.Truef(t, want.Text == got.Text, "%.300s", got.Text)
			require.Equal(t, want, got)
			require.NoError(t, c.Close())
		}
	}
}

func TestCollectorSpill(t *testing.T) {
	s := openStore(t, t.TempDir(), nil)
	for _, size := range []int{100, spillAfter, 300_000, 2_000_000} {
		c := NewCollector(&CollectorOptions{Spill: s})
		text := numbered(1 + size/8)
		feed(c, text, 3)
		c.End()
		cut := c.Cut(t.Context(), Policy{MaxBytes: 600, Keep: HeadTail})
		require.NoError(t, cut.SpillErr)
		if !cut.Truncated {
			assert.Empty(t, cut.Path)
		} else {
			got, err := os.ReadFile(cut.Path)
			require.NoError(t, err)
			assert.Equal(t, text, string(got))
		}
		require.NoError(t, c.Close())
		require.NoError(t, c.Close())
	}
	// What nobody was told of is removed.
	before, _ := os.ReadDir(s.Dir())
	c := NewCollector(&CollectorOptions{Spill: s})
	feed(c, numbered(100_000), 4)
	require.NoError(t, c.Close())
	after, _ := os.ReadDir(s.Dir())
	assert.Len(t, after, len(before))
	assert.Contains(t, c.Cut(t.Context(), Policy{}).Text, "not kept")
}

func TestCollectorCutWhileWriting(t *testing.T) {
	s := openStore(t, t.TempDir(), nil)
	c := NewCollector(&CollectorOptions{Spill: s})
	feed(c, numbered(5000), 1)
	first := c.Cut(t.Context(), Policy{})
	require.True(t, first.Truncated)
	io.WriteString(c, "the end\n")
	c.End()
	second := c.Cut(t.Context(), Policy{Keep: Tail})
	assert.Equal(t, first.Path, second.Path)
	assert.True(t, strings.HasSuffix(second.Text, "the end\n"))
	require.NoError(t, c.Close())
	got, err := os.ReadFile(first.Path)
	require.NoError(t, err)
	assert.Equal(t, numbered(5000)+"the end\n", string(got))
}

func TestCollectorPartialAndFailingSpill(t *testing.T) {
	s := openStore(t, t.TempDir(), &StoreOptions{MaxFile: 100_000})
	c := NewCollector(&CollectorOptions{Spill: s})
	feed(c, numbered(50_000), 2)
	c.End()
	cut := c.Cut(t.Context(), Policy{})
	require.ErrorIs(t, cut.SpillErr, ErrPartial)
	assert.Contains(t, cut.Text, "first 100000 bytes in ")

	for _, sp := range []*memSpill{{createErr: io.ErrShortWrite}, {writeErr: io.ErrShortWrite}, {closeErr: io.ErrShortWrite}} {
		c := NewCollector(&CollectorOptions{Spill: sp})
		feed(c, numbered(50_000), 2)
		c.End()
		cut := c.Cut(t.Context(), Policy{})
		require.ErrorIs(t, cut.SpillErr, io.ErrShortWrite)
		assert.Empty(t, cut.Path)
		assert.True(t, strings.HasPrefix(cut.Text, "line 1\n"))
		require.Error(t, c.Close())
	}
	c = NewCollector(&CollectorOptions{Spill: panicSpill{}})
	feed(c, numbered(50_000), 2)
	require.Error(t, c.Cut(t.Context(), Policy{}).SpillErr)
	_, err := NewCollector(nil).Keep(t.Context())
	require.ErrorIs(t, err, ErrNotKept)
}

// upper makes lines upper case and holds back the unfinished one.
type upper struct{ line []byte }

func (u *upper) Append(dst, src []byte) []byte {
	u.line = append(u.line, bytes.ToUpper(src)...)
	n := bytes.LastIndexByte(u.line, '\n') + 1
	dst = append(dst, u.line[:n]...)
	u.line = append(u.line[:0], u.line[n:]...)
	return dst
}
func (u *upper) Pending() []byte { return u.line }

func TestCollectorFilter(t *testing.T) {
	sp := &memSpill{}
	c := NewCollector(&CollectorOptions{Filter: &upper{}, Spill: sp})
	io.WriteString(c, "one\ntw")
	assert.Equal(t, Snapshot{Text: "ONE\nTW", Bytes: 6, Lines: 2, Raw: 6}, c.Snapshot(100))
	ch := c.Since(0, 100)
	assert.Equal(t, Chunk{Text: "ONE\n", Pending: "TW", Next: 4, End: 4}, ch)
	io.WriteString(c, "o?")
	assert.Equal(t, Chunk{Pending: "TWO?", Next: 4, End: 4}, c.Since(ch.Next, 100))
	c.End()
	assert.Equal(t, Chunk{Text: "TWO?", Next: 8, End: 8}, c.Since(ch.Next, 100))
	assert.Equal(t, "ONE\nTWO?", c.Cut(t.Context(), Policy{}).Text)
	path, err := c.Keep(t.Context())
	require.NoError(t, err)
	assert.Equal(t, "one\ntwo?", sp.files[path], "the file has the raw bytes")
}

func TestCollectorFold(t *testing.T) {
	c := NewCollector(&CollectorOptions{Fold: 4})
	io.WriteString(c, "start\n"+strings.Repeat("again and again\n", 9000)+"a\na\na\n\n\n\n\n\n\n\n\n\nend")
	c.End()
	cut := c.Cut(t.Context(), Policy{})
	assert.Equal(t, "start\nagain and again\n… ×9000\na\na\na\n\n\n\n\n\n\n\n\n\nend", cut.Text)
	assert.False(t, cut.Truncated)
	assert.Equal(t, 9000+1+3+9+1, cut.TotalLines)

	// Line numbers behind a run are those of the whole text.
	c = NewCollector(&CollectorOptions{Fold: 4, Errors: 5})
	io.WriteString(c, strings.Repeat("same\n", 1000)+numbered(3000)+"error: here\n"+numbered(3000))
	c.End()
	p := Policy{Keep: HeadTail, Errors: 5, MaxBytes: 2000}
	cut = c.Cut(t.Context(), p)
	assert.Contains(t, cut.Text, "same\n… ×1000\nline 1\n")
	assert.Contains(t, cut.Text, "\n4001: error: here\n")
	assert.Equal(t, 7001, cut.TotalLines)
	headLines := strings.Count(cut.Head, "\n") - 2 + 1000
	assert.Equal(t, headLines+1, cut.NextLine)
	assert.Equal(t, 7001-headLines-countLines(cut.Tail), cut.Lines)
}

// Everything the same, far more than memory holds: both ends are folded and the
// gap between them is exact.
func TestCollectorFoldAcrossGap(t *testing.T) {
	c := NewCollector(&CollectorOptions{Fold: 4})
	for range 1000 {
		io.WriteString(c, strings.Repeat("y\n", 16<<10))
	}
	c.End()
	cut := c.Cut(t.Context(), Policy{Keep: HeadTail})
	gap := 1000*32<<10 - 192<<10
	assert.Equal(t, fmt.Sprintf("y\n… ×32768\n[%d lines, %d bytes omitted; the full text was not kept.]\ny\n… ×65536\n", gap/2, gap), cut.Text)
	assert.Equal(t, 1000*32<<10, cut.TotalBytes)
	assert.Equal(t, 1000*16<<10, cut.TotalLines)
}

func TestCollectorErrorsOfTheGap(t *testing.T) {
	c := NewCollector(&CollectorOptions{Errors: 3})
	feed(c, numbered(50_000)+"E: error one\n"+numbered(50_000)+"fatal: two\n"+numbered(50_000), 9)
	c.End()
	cut := c.Cut(t.Context(), Policy{Keep: HeadTail, Errors: 3})
	assert.Contains(t, cut.Text, "50001: E: error one\n100002: fatal: two\n]")
}

func TestSince(t *testing.T) {
	c := NewCollector(&CollectorOptions{Head: 100, Tail: 200})
	text := strings.Repeat("語x\n", 1000) // 5 bytes each
	// A reader that keeps up gets everything, whatever the sizes.
	var got strings.Builder
	var cursor int64
	for i := 0; i < len(text); i += 7 {
		io.WriteString(c, text[i:min(i+7, len(text))])
		for {
			ch := c.Since(cursor, 1+i%50)
			require.Zero(t, ch.Dropped)
			require.True(t, utf8.ValidString(ch.Text))
			got.WriteString(ch.Text)
			if ch.Next == cursor {
				break
			}
			cursor = ch.Next
		}
	}
	c.End()
	for {
		ch := c.Since(cursor, 100)
		got.WriteString(ch.Text)
		if cursor = ch.Next; ch.Next == ch.End {
			break
		}
	}
	assert.True(t, text == got.String())

	// One that does not is told how much it missed.
	ch := c.Since(0, 1000)
	assert.Equal(t, text[:100], ch.Text)
	ch = c.Since(ch.Next, 1000)
	assert.EqualValues(t, len(text)-100-200, ch.Dropped)
	assert.Equal(t, text[len(text)-200:], ch.Text)
	assert.Equal(t, ch.Next, ch.End)
	assert.Empty(t, c.Since(1<<40, 10).Text)
	assert.Equal(t, text[:4], c.Since(-5, 3).Text, "never less than a character")
}

func TestCollectorMemoryIsFixed(t *testing.T) {
	c := NewCollector(&CollectorOptions{Errors: 10, Fold: 3})
	block := bytes.Repeat([]byte("some error line that is rather plain\n"), 1000)
	c.Write(block)
	allocs := testing.AllocsPerRun(100, func() { c.Write(block) })
	assert.Zero(t, allocs)
	assert.LessOrEqual(t, cap(c.head)+cap(c.ring.buf), (64+128)<<10*3/2)
}

func TestCollectorConcurrently(t *testing.T) {
	s := openStore(t, t.TempDir(), nil)
	c := NewCollector(&CollectorOptions{Spill: s, Errors: 5})
	done := make(chan struct{})
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			var cursor int64
			for {
				snap := c.Snapshot(1000)
				assert.LessOrEqual(t, len(snap.Text), 1000)
				ch := c.Since(cursor, 5000)
				cursor = ch.Next
				c.Cut(t.Context(), Policy{MaxBytes: 2000, Keep: HeadTail})
				select {
				case <-done:
					return
				default:
				}
			}
		})
	}
	text := numbered(100_000)
	feed(c, text, 5)
	c.End()
	close(done)
	wg.Wait()
	cut := c.Cut(t.Context(), Policy{})
	require.NoError(t, c.Close())
	got, err := os.ReadFile(cut.Path)
	require.NoError(t, err)
	assert.True(t, string(got) == text)
}

func TestSnapshot(t *testing.T) {
	c := NewCollector(&CollectorOptions{Head: 10, Tail: 1000})
	io.WriteString(c, "a\nb\n")
	assert.Equal(t, Snapshot{Text: "a\nb\n", Bytes: 4, Lines: 2, Raw: 4}, c.Snapshot(100))
	assert.Equal(t, "b\n", c.Snapshot(3).Text)
	assert.Empty(t, c.Snapshot(0).Text)
	io.WriteString(c, strings.Repeat("語", 100))
	snap := c.Snapshot(100)
	assert.True(t, utf8.ValidString(snap.Text))
	assert.Equal(t, 99, len(snap.Text))
	io.WriteString(c, strings.Repeat("\xff ", 100))
	snap = c.Snapshot(100)
	assert.True(t, utf8.ValidString(snap.Text))
	assert.LessOrEqual(t, len(snap.Text), 100)
}

func FuzzCollector(f *testing.F) {
	f.Add("line\nline\nline\nline\nline\nline\nerror: x\nfin", 10, 20, 600, uint64(1))
	f.Add(strings.Repeat("語\n", 300), 33, 70, 513, uint64(2))
	f.Add(strings.Repeat("a\xff", 600), 64, 65, 700, uint64(3))
	f.Add(strings.Repeat("\n", 900), 1, -1, 520, uint64(4))
	f.Add("000000000\n0", 10, -35, 538, uint64(1))                                           // the last byte is not in memory
	f.Add("0"+strings.Repeat("語", 11)+"0"+strings.Repeat("0語", 17), 33, 70, 530, uint64(99)) // the head ends within a character
	f.Fuzz(func(t *testing.T, text string, head, tail, maxBytes int, seed uint64) {
		opt := &CollectorOptions{Head: head % 2000, Tail: tail % 2000, Errors: int(seed % 5), Spill: &memSpill{}}
		if seed%2 == 0 {
			opt.Fold = 3
		}
		c := NewCollector(opt)
		feed(c, text, seed)
		c.End()
		p := Policy{MaxBytes: 1 + (maxBytes & 0xffff), Keep: Keep(seed % 3), Errors: opt.Errors}
		cut := c.Cut(t.Context(), p)
		require.LessOrEqual(t, len(cut.Text), p.MaxBytes)
		require.True(t, utf8.ValidString(cut.Text))
		require.Equal(t, len(text), cut.TotalBytes)
		require.Equal(t, countLines(text), cut.TotalLines)
		if cut.Truncated {
			require.Equal(t, text, opt.Spill.(*memSpill).files[cut.Path])
			require.GreaterOrEqual(t, cut.Lines, 0)
			require.LessOrEqual(t, cut.Lines, cut.TotalLines)
			if opt.Fold == 0 && utf8.ValidString(text) {
				require.True(t, strings.HasPrefix(text, cut.Head))
				require.True(t, strings.HasSuffix(text, cut.Tail))
				require.Equal(t, len(text)-len(cut.Head)-len(cut.Tail), cut.Bytes)
				require.Equal(t, countLines(text[len(cut.Head):len(text)-len(cut.Tail)]), cut.Lines)
			}
		} else if opt.Fold == 0 {
			require.Equal(t, repair(text), cut.Text)
		}
		var b strings.Builder
		var cursor, dropped int64
		for {
			ch := c.Since(cursor, 1+int(seed%100))
			b.WriteString(ch.Text)
			dropped += ch.Dropped
			if ch.Next <= cursor {
				require.Equal(t, ch.End, ch.Next)
				break
			}
			cursor = ch.Next
		}
		if utf8.ValidString(text) && dropped == 0 {
			require.Equal(t, text, b.String())
		}
		require.NoError(t, c.Close())
	})
}

var errSentinels = []error{ErrPartial, ErrClosed, ErrNotKept, ErrNotPrivate}

func TestSentinelsDiffer(t *testing.T) {
	for i, a := range errSentinels {
		for j, b := range errSentinels {
			assert.Equal(t, i == j, errors.Is(a, b))
		}
	}
}
