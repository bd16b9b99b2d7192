package truncate

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func numbered(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "line %d\n", i+1)
	}
	return b.String()
}

// checkCut asserts what holds for every cut of text by p.
func checkCut(t *testing.T, p Policy, text string, c Cut) {
	t.Helper()
	l := p.limits()
	require.True(t, utf8.ValidString(c.Text), "valid UTF-8")
	if l.bytes >= 0 {
		require.LessOrEqual(t, len(c.Text), l.bytes, "bytes")
	}
	if l.tokens >= 0 {
		require.LessOrEqual(t, l.tokensOf(c.Text), l.tokens, "tokens")
	}
	require.Equal(t, len(text), c.TotalBytes)
	if c.TotalLines >= 0 {
		require.Equal(t, countLines(text), c.TotalLines)
	}
	if !c.Truncated {
		require.Zero(t, c.Bytes)
		require.Zero(t, c.Lines)
		require.Equal(t, repair(text), c.Text)
		return
	}
	if l.lines >= 0 {
		require.LessOrEqual(t, countLines(c.Head)+countLines(c.Tail), l.lines, "lines")
	}
	require.True(t, strings.HasPrefix(c.Text, c.Head))
	require.True(t, strings.HasSuffix(c.Text, c.Tail))
	if !utf8.ValidString(text) {
		return
	}
	require.True(t, strings.HasPrefix(text, c.Head), "head is a part of the input")
	require.True(t, strings.HasSuffix(text, c.Tail), "tail is a part of the input")
	omitted := text[len(c.Head) : len(text)-len(c.Tail)]
	require.Equal(t, len(omitted), c.Bytes)
	require.Equal(t, countLines(omitted), c.Lines)
	if c.Head == "" || strings.HasSuffix(c.Head, "\n") {
		require.Equal(t, strings.Count(c.Head, "\n")+1, c.NextLine)
	} else {
		require.Zero(t, c.NextLine)
	}
	if l.bytes >= 512 && p.MaxTokens == 0 && l.lines != 0 {
		require.NotEmpty(t, c.Head+c.Tail, "a preview is never empty")
		require.Contains(t, c.Text, "omitted")
	}
}

func TestFitsUntouched(t *testing.T) {
	for name, tc := range map[string]struct {
		p    Policy
		text string
		want bool
	}{
		"empty":                     {Policy{}, "", true},
		"2000 terminated lines":     {Policy{}, strings.Repeat("x\n", 2000), true},
		"2000 lines, last open":     {Policy{}, strings.Repeat("x\n", 1999) + "x", true},
		"2001 lines, last open":     {Policy{}, strings.Repeat("x\n", 2000) + "x", false},
		"50 KiB":                    {Policy{}, strings.Repeat("x", 50<<10), true},
		"50 KiB and one":            {Policy{}, strings.Repeat("x", 50<<10+1), false},
		"no limits":                 {Policy{MaxBytes: -1, MaxLines: -1}, strings.Repeat("x\n", 100_000), true},
		"tokens by estimate":        {Policy{MaxTokens: 10}, strings.Repeat("x", 40), true},
		"tokens by estimate, more":  {Policy{MaxTokens: 10}, strings.Repeat("x", 41), false},
		"CJK is a token a rune":     {Policy{MaxTokens: 10}, strings.Repeat("語", 10), true},
		"CJK, one more":             {Policy{MaxTokens: 10}, strings.Repeat("語", 11), false},
		"counted by the host":       {Policy{MaxTokens: 2, Tokens: func(s string) int { return len(strings.Fields(s)) }}, "two words", true},
		"counted by the host, more": {Policy{MaxTokens: 2, Tokens: func(s string) int { return len(strings.Fields(s)) }}, "and three words", false},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, tc.want, tc.p.Fits(tc.text))
			c := tc.p.Apply(t.Context(), tc.text)
			assert.Equal(t, tc.want, !c.Truncated)
			checkCut(t, tc.p, tc.text, c)
			if tc.want {
				assert.Equal(t, unsafe.StringData(tc.text), unsafe.StringData(c.Text), "no copy")
			}
		})
	}
}

func TestHeadNotice(t *testing.T) {
	text := numbered(3000)
	c := Policy{}.Apply(t.Context(), text)
	assert.Equal(t, 1000, c.Lines)
	assert.Equal(t, 2001, c.NextLine)
	assert.Equal(t, 3000, c.TotalLines)
	assert.True(t, strings.HasSuffix(c.Text, "line 2000\n[1000 lines, 10000 bytes omitted; the full text was not kept.]"), c.Text[len(c.Text)-120:])
	checkCut(t, Policy{}, text, c)
}

func TestHintReplacesPath(t *testing.T) {
	sp := &memSpill{}
	p := Policy{MaxLines: 3, Spill: sp, Hint: func(c Cut) string {
		return fmt.Sprintf("Use read with filePath=%q offset=%d.", c.Path, c.NextLine)
	}}
	text := numbered(9)
	c := p.Apply(t.Context(), text)
	assert.Equal(t, "line 1\nline 2\nline 3\n[6 lines, 42 bytes omitted; full text stored. Use read with filePath=\"/spill/1\" offset=4.]", c.Text)
	assert.Equal(t, text, sp.files["/spill/1"])

	p.Hint = nil
	c = p.Apply(t.Context(), text)
	assert.Equal(t, "line 1\nline 2\nline 3\n[6 lines, 42 bytes omitted; full text in /spill/2.]", c.Text)
	assert.Equal(t, "/spill/2", c.Path)
}

func TestTailAndHeadTail(t *testing.T) {
	text := numbered(10)
	c := Policy{MaxLines: 2, Keep: Tail}.Apply(t.Context(), text)
	assert.Equal(t, "[8 lines, 56 bytes omitted; the full text was not kept.]\nline 9\nline 10\n", c.Text)
	assert.Equal(t, 1, c.NextLine)

	c = Policy{MaxLines: 4, Keep: HeadTail}.Apply(t.Context(), text)
	assert.Equal(t, "line 1\nline 2\n[6 lines, 42 bytes omitted; the full text was not kept.]\nline 9\nline 10\n", c.Text)
	assert.Equal(t, 3, c.NextLine)

	c = Policy{MaxLines: 4, Keep: HeadTail, HeadShare: 0.25}.Apply(t.Context(), text)
	assert.Equal(t, "line 1\n[6 lines, 42 bytes omitted; the full text was not kept.]\nline 8\nline 9\nline 10\n", c.Text)
}

func TestHugeLineIsCutInside(t *testing.T) {
	for _, text := range []string{strings.Repeat("x", 1<<20), strings.Repeat("語", 1<<19), "short\n" + strings.Repeat("é", 1<<19), strings.Repeat("é", 1<<19) + "\nshort"} {
		for _, k := range []Keep{Head, Tail, HeadTail} {
			p := Policy{Keep: k, MaxBytes: 4096}
			c := p.Apply(t.Context(), text)
			checkCut(t, p, text, c)
			assert.Greater(t, len(c.Head)+len(c.Tail), 3900)
			if k == Head {
				assert.Zero(t, c.NextLine)
			}
		}
	}
}

func TestSmallCaps(t *testing.T) {
	text := strings.Repeat("日本語テキスト\n", 5000)
	long := Policy{Spill: &memSpill{dir: "/" + strings.Repeat("d", 300) + "/"}, Hint: func(Cut) string { return strings.Repeat("hint ", 60) }}
	for _, p := range []Policy{{}, {Keep: Tail}, {Keep: HeadTail, Errors: 5}, long} {
		for n := 1; n < 700; n++ {
			p.MaxBytes = n
			c := p.Apply(t.Context(), text)
			checkCut(t, p, text, c)
			if n >= 3 {
				require.NotEmpty(t, c.Head+c.Tail, "cap %d", n)
			}
		}
	}
}

func TestInvalidUTF8(t *testing.T) {
	p := Policy{MaxBytes: 1000}
	small := "ok \xff\xfe fine\n"
	c := p.Apply(t.Context(), small)
	assert.Equal(t, "ok \uFFFD fine\n", c.Text)
	assert.False(t, c.Truncated)

	for _, text := range []string{strings.Repeat("a\xff", 499), strings.Repeat("\x80", 10_000), strings.Repeat("a\xff", 10_000), strings.Repeat("a", 5000) + "\xe8\xaa"} {
		for _, k := range []Keep{Head, Tail, HeadTail} {
			p.Keep = k
			c := p.Apply(t.Context(), text)
			checkCut(t, p, text, c)
			assert.True(t, c.Truncated)
			assert.NotEmpty(t, c.Head+c.Tail)
		}
	}
}

func TestTokens(t *testing.T) {
	words := func(s string) int { return len(strings.Fields(s)) }
	text := strings.Repeat("one two three four\n", 10_000)
	for _, k := range []Keep{Head, Tail, HeadTail} {
		for _, p := range []Policy{
			{Keep: k, MaxTokens: 500},
			{Keep: k, MaxTokens: 500, MaxBytes: -1, MaxLines: -1},
			{Keep: k, MaxTokens: 500, Tokens: words, MaxBytes: -1, MaxLines: -1},
			{Keep: k, MaxTokens: 3},
			{Keep: k, MaxTokens: 40, Tokens: func(string) int { return 100 }}, // nothing ever fits
		} {
			if p.Tokens != nil && p.MaxTokens == 40 {
				c := p.Apply(t.Context(), text)
				assert.Empty(t, c.Text)
				assert.True(t, c.Truncated)
				continue
			}
			c := p.Apply(t.Context(), text)
			checkCut(t, p, text, c)
			if p.MaxTokens == 500 {
				got := p.limits().tokensOf(c.Text)
				assert.Greater(t, got, 400, "most of the budget is used")
			}
		}
	}
}

func TestErrorsOfTheMiddle(t *testing.T) {
	var b strings.Builder
	b.WriteString("error: in the head, is shown anyway\n")
	for i := 2; i <= 5000; i++ {
		switch i {
		case 2000:
			b.WriteString("src/a.go:1:2: Error: undefined: x\n")
		case 2001:
			b.WriteString("0 errors, no failures here\n")
		case 2500:
			b.WriteString("warning: deprecated\n")
		case 3000:
			b.WriteString("--- FAIL: TestX (0.00s)\n")
		case 3001:
			b.WriteString(strings.Repeat("x", 500) + "panic: late in a long line" + strings.Repeat("y", 500) + "\n")
		default:
			fmt.Fprintf(&b, "line %d\n", i)
		}
	}
	text := b.String()
	p := Policy{Keep: HeadTail, MaxBytes: 4096, Errors: 20}
	c := p.Apply(t.Context(), text)
	checkCut(t, p, text, c)
	notice := c.Text[strings.Index(c.Text, "["):]
	assert.Contains(t, notice, "Lines in it that look like errors:\n2000: src/a.go:1:2: Error: undefined: x\n2500: warning: deprecated\n3000: --- FAIL: TestX (0.00s)\n3001: …x")
	assert.Contains(t, notice, "panic: late in a long line")
	assert.NotContains(t, notice, "0 errors")
	assert.NotContains(t, notice, "in the head")

	p.Errors = 2
	c = p.Apply(t.Context(), text)
	assert.NotContains(t, c.Text, "deprecated", "errors go before warnings")
	assert.Contains(t, c.Text, "2000: ")
	assert.Contains(t, c.Text, "3000: ")

	p.Keep = Head
	assert.NotContains(t, p.Apply(t.Context(), text).Text, "look like errors")
}

func TestSpillFailureKeepsResult(t *testing.T) {
	boom := errors.New("no space left on device")
	text := numbered(5000)
	for name, sp := range map[string]Spill{
		"create": &memSpill{createErr: boom},
		"write":  &memSpill{writeErr: boom},
		"close":  &memSpill{closeErr: boom},
		"panic":  panicSpill{},
	} {
		t.Run(name, func(t *testing.T) {
			c := Policy{Spill: sp}.Apply(t.Context(), text)
			require.Error(t, c.SpillErr)
			if name != "panic" {
				require.ErrorIs(t, c.SpillErr, boom)
			}
			assert.Empty(t, c.Path)
			assert.Contains(t, c.Text, "the full text could not be stored")
			assert.True(t, strings.HasPrefix(c.Text, "line 1\n"))
			if m, ok := sp.(*memSpill); ok {
				assert.Empty(t, m.files)
			}
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c := Policy{Spill: &memSpill{}}.Apply(ctx, text)
	require.ErrorIs(t, c.SpillErr, context.Canceled)
	assert.NotEmpty(t, c.Head)
}

func TestEstimateTokens(t *testing.T) {
	for s, want := range map[string]int{
		"": 0, "a": 1, "abcd": 1, "abcde": 2, "語": 1, "語語語": 3, "한국어": 3, "привет": 3, "\xff\xff\xff\xff": 4, "abcd語": 2, "😀": 1,
	} {
		assert.Equal(t, want, EstimateTokens(s), "%q", s)
	}
}

func TestAfterLines(t *testing.T) {
	s := strings.Repeat("ab\n", 1000) + "open"
	for n := range 1000 {
		require.Equal(t, 3*n, afterLines(s, n))
	}
	assert.Equal(t, len(s), afterLines(s, 1001))
	assert.Equal(t, -1, afterLines(s, 1002))
	assert.Equal(t, -1, afterLines("ab\n", 2))
}

// memSpill keeps files in memory and fails as told.
type memSpill struct {
	dir                           string
	files                         map[string]string
	made                          int
	createErr, writeErr, closeErr error
}

type memFile struct {
	s    *memSpill
	path string
	b    strings.Builder
}

func (m *memSpill) Create(ctx context.Context) (SpillFile, error) {
	if m.createErr != nil {
		return nil, m.createErr
	}
	if m.files == nil {
		m.files = map[string]string{}
	}
	if m.dir == "" {
		m.dir = "/spill/"
	}
	m.made++
	return &memFile{s: m, path: fmt.Sprint(m.dir, m.made)}, nil
}

func (f *memFile) Path() string { return f.path }
func (f *memFile) Write(p []byte) (int, error) {
	if f.s.writeErr != nil {
		return 0, f.s.writeErr
	}
	return f.b.Write(p)
}
func (f *memFile) Close() error {
	if f.s.closeErr != nil {
		return f.s.closeErr
	}
	f.s.files[f.path] = f.b.String()
	return nil
}
func (f *memFile) Discard() error { delete(f.s.files, f.path); return nil }

type panicSpill struct{}

func (panicSpill) Create(context.Context) (SpillFile, error) { panic("broken host") }

func FuzzApply(f *testing.F) {
	f.Add("line 1\nline 2\nerror: x\nline 4\n", 600, 2, 0, uint8(2), 3)
	f.Add(strings.Repeat("x", 2000), 512, -1, 0, uint8(0), 0)
	f.Add(strings.Repeat("語\n", 900), 513, 100, 90, uint8(1), 0)
	f.Add(strings.Repeat("a\xff\n", 900), 700, 300, 0, uint8(2), 9)
	f.Add("\x80\x80\x80\x80\x80", 3, 1, 1, uint8(1), 0)
	f.Add("\n\n\n\n\n\n", 5, 2, 0, uint8(2), 1)
	f.Fuzz(func(t *testing.T, text string, maxBytes, maxLines, maxTokens int, keep uint8, errs int) {
		p := Policy{MaxBytes: maxBytes, MaxLines: maxLines, MaxTokens: maxTokens % 4096, Keep: Keep(keep % 3), Errors: errs % 64,
			HeadShare: float64(keep) / 255, Spill: &memSpill{},
			Hint: func(c Cut) string { return fmt.Sprintf("Use read filePath=%q offset=%d", c.Path, c.NextLine) }}
		c := p.Apply(context.Background(), text)
		checkCut(t, p, text, c)
		if c.Truncated {
			require.Equal(t, text, p.Spill.(*memSpill).files[c.Path])
		}
	})
}

func TestAllocations(t *testing.T) {
	ctx := context.Background()
	fits, big := benchText(40<<10), benchText(1<<20)
	assert.Zero(t, testing.AllocsPerRun(100, func() { Policy{}.Apply(ctx, fits) }))
	assert.Zero(t, testing.AllocsPerRun(10, func() { Policy{MaxBytes: -1, MaxLines: 1 << 30}.Apply(ctx, big) }))
	assert.LessOrEqual(t, testing.AllocsPerRun(10, func() { Policy{}.Apply(ctx, big) }), 6.0)
}
