package lazydfa

import (
	"bytes"
	"fmt"
	"math/rand"
	"regexp"
	"regexp/syntax"
	"strings"
	"sync/atomic"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const flags = syntax.Perl &^ syntax.OneLine

func compile(t testing.TB, expr string, c Config) *Prog {
	t.Helper()
	re, err := syntax.Parse(expr, flags)
	require.NoError(t, err, expr)
	p, err := Compile(re, c)
	require.NoError(t, err, expr)
	return p
}

// oracle returns the numbers of the lines that package regexp matches.
func oracle(re *regexp.Regexp, text []byte, keepCR bool) []int {
	var out []int
	lines := bytes.Split(text, []byte("\n"))
	if len(lines[len(lines)-1]) == 0 {
		lines = lines[:len(lines)-1]
	}
	for i, l := range lines {
		if !keepCR {
			l = bytes.TrimSuffix(l, []byte("\r"))
		}
		if re.Match(l) {
			out = append(out, i)
		}
	}
	return out
}

// numbers turns positions into line numbers and checks that they are in order.
func numbers(t testing.TB, text []byte, at []int32) []int {
	var out []int
	for _, p := range at {
		require.LessOrEqual(t, int(p), len(text))
		n := bytes.Count(text[:p], []byte("\n"))
		if int(p) == len(text) && len(text) > 0 && text[len(text)-1] == '\n' {
			t.Fatalf("position %d is behind the last line", p)
		}
		if len(out) > 0 {
			require.Less(t, out[len(out)-1], n)
		}
		out = append(out, n)
	}
	return out
}

func check(t testing.TB, expr string, text []byte) {
	re, err := syntax.Parse(expr, flags)
	if err != nil {
		return
	}
	std, err := regexp.Compile("(?m:" + expr + ")")
	if err != nil {
		return
	}
	for _, c := range []Config{{}, {MaxStates: 5}, {KeepCR: true}} {
		c.MaxNodes = 4000
		p, err := Compile(re, c)
		if err != nil {
			return
		}
		want := oracle(std, text, c.KeepCR)
		d := p.New(nil)
		for range 2 { // the second time with a warm table
			got := numbers(t, text, d.Lines(text, nil))
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Fatalf("%q (%+v) on %.300q: lines %v, want %v", expr, c, text, got, want)
			}
		}
		if len(text) > 0 {
			got := numbers(t, text, d.lines1(text, 0, len(text), d.start, nil))
			if p.always {
				continue
			}
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Fatalf("one stream: %q (%+v) on %.300q: lines %v, want %v", expr, c, text, got, want)
			}
			got = numbers(t, text, d.lines4(text, nil))
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Fatalf("four streams: %q (%+v) on %.300q: lines %v, want %v", expr, c, text, got, want)
			}
		}
		line, _, _ := bytes.Cut(text, []byte("\n"))
		one := len(oracle(std, append(bytes.Clone(line), '\n'), c.KeepCR)) == 1
		if got := d.Find(line) >= 0; got != one {
			t.Fatalf("Find: %q (%+v) on %q: %v, want %v", expr, c, line, got, one)
		}
		s, found := d.Stream(), false
		for i := 0; i < len(line); i += 3 {
			found = s.Feed(line[i:min(i+3, len(line))]) >= 0 || found
		}
		if found = s.Finish() || found; found != one {
			t.Fatalf("Stream: %q (%+v) on %q: %v, want %v", expr, c, line, found, one)
		}
	}
	p, err := Compile(re, Config{Multiline: true, MaxNodes: 4000})
	if err != nil {
		return
	}
	want := std.Match(text)
	if got := p.New(nil).Find(text) >= 0; got != want {
		t.Fatalf("Multiline: %q on %.300q: %v, want %v", expr, text, got, want)
	}
}

var cases = []string{
	`a`, `abc`, `^a`, `a$`, `^$`, `^`, `$`, ``, `a*`, `a+b`, `(a|b)*a(a|b){3}`, `\bab\b`, `\Ba`, `a\B`, `\B`, `\b`,
	`[^a]`, `[^a]$`, `.$`, `\s$`, `^\s*$`, `[a-c]{2,3}\d`, `é`, `(?:é+){2,}`, `.{3}`, `^.{3}$`, `[à-ü]b`, `\p{Greek}`, `\p{Han}{2,}`,
	`(?i)k`, `(?i)straße`, `(?i)s\b`, `\x{10FFFF}`, `[\x{D000}-\x{E000}]`, `a|`, `(|a)b`, `a??b`, `(a|ab)(c|bcd)`, `\Aab`, `ab\z`,
	`(?s)a.b`, `a[^b]c`, `\w+\s+\w+`, `"[^"]{3,}"`, `a\r`, `\r`, `(^a|b$)`, `(?:^|,)a(?:,|$)`, `x^y`, `a$b`, `.\s*$`, `\b$`, `^\b`, `\b^a`, `$^`,
}

var pieces = []string{"a", "b", "ab", "c", "abc", "é", "éé", "ß", "S", "k", "\u212a", "\u017f", "λ", "漢字", "字", "1", " ", "\t", "\n", "\n", "\r\n", "\r", "\"", ",", "_", "\U0010FFFF"}

func text(r *rand.Rand, n int) []byte {
	var b []byte
	for len(b) < n {
		b = append(b, pieces[r.Intn(len(pieces))]...)
	}
	return b
}

func TestLinesAgreeWithRegexp(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	for _, expr := range cases {
		check(t, expr, nil)
		for _, p := range pieces {
			check(t, expr, []byte(p))
		}
		for range 60 {
			check(t, expr, text(r, r.Intn(40)))
		}
		check(t, expr, text(r, fourStreams*2))
		check(t, expr, bytes.ReplaceAll(text(r, fourStreams*2), []byte("\n"), nil))
	}
}

// expression returns a random expression of some depth.
func expression(r *rand.Rand, depth int) string {
	if depth == 0 || r.Intn(5) == 0 {
		atoms := []string{"a", "b", "c", "é", "字", ".", `\w`, `\W`, `\s`, `[^a]`, `[a-c]`, `[é-λ]`, `\b`, `\B`, "^", "$", `(?i:k)`, `(?i:S)`, `\d`, `\r`, "[^b字]", "1", " "}
		return atoms[r.Intn(len(atoms))]
	}
	sub := func() string { return expression(r, depth-1) }
	switch r.Intn(8) {
	case 0:
		return "(?:" + sub() + "|" + sub() + ")"
	case 1:
		return "(?:" + sub() + ")*"
	case 2:
		return "(?:" + sub() + ")+"
	case 3:
		return "(?:" + sub() + ")?"
	case 4:
		return fmt.Sprintf("(?:%s){%d,%d}", sub(), r.Intn(3), 2+r.Intn(2))
	default:
		return sub() + sub()
	}
}

func TestRandomExpressions(t *testing.T) {
	r := rand.New(rand.NewSource(2))
	n := 4000
	if testing.Short() {
		n = 400
	}
	for i := range n {
		expr := expression(r, 1+r.Intn(4))
		check(t, expr, text(r, r.Intn(200)))
		if i%40 == 0 {
			check(t, expr, text(r, fourStreams+r.Intn(2000)))
		}
	}
}

func FuzzLines(f *testing.F) {
	for _, c := range cases {
		f.Add(c, "abc\r\nab é 字1\n\nk\u212a", uint8(3))
	}
	f.Fuzz(func(t *testing.T, expr, s string, times uint8) {
		if !utf8.ValidString(s) || !utf8.ValidString(expr) || len(expr) > 200 || len(s) > 200 {
			return
		}
		check(t, expr, []byte(strings.Repeat(s, 1+int(times)%60)))
	})
}

func TestDotAndClassesMatchWellFormedTextOnly(t *testing.T) {
	d := compile(t, `a.b`, Config{}).New(nil)
	assert.Len(t, d.Lines([]byte("a\xffb\naéb\n"), nil), 1)
}

func TestFindReportsTheEarliestEnd(t *testing.T) {
	d := compile(t, `b+c|a`, Config{}).New(nil)
	assert.Equal(t, 3, d.Find([]byte("xxxabbc")))
	assert.Equal(t, -1, d.Find([]byte("xyz")))
	m := compile(t, `a\nb$`, Config{Multiline: true}).New(nil)
	assert.Equal(t, 3, m.Find([]byte("a\nb\n")))
	assert.GreaterOrEqual(t, m.Find([]byte("a\nb")), 0)
	assert.Equal(t, -1, m.Find([]byte("a\nbc")))
}

func TestTooLarge(t *testing.T) {
	re, err := syntax.Parse(`(?:\pL{100}){10}`, flags)
	require.NoError(t, err)
	_, err = Compile(re, Config{})
	require.ErrorIs(t, err, ErrTooLarge)
}

// A text that makes the number of states explode must not make the table grow.
func TestTableIsBounded(t *testing.T) {
	r := rand.New(rand.NewSource(3))
	d := compile(t, `(a|b)*a(a|b){18}c`, Config{}).New(nil)
	b := make([]byte, 300_000)
	for i := range b {
		b[i] = "ab"[r.Intn(2)]
	}
	assert.Empty(t, d.Lines(b, nil))
	assert.Less(t, d.Size(), 12<<20)
	b = append(b, 'c')
	assert.Len(t, d.Lines(b, nil), len(regexp.MustCompile(`a(a|b){18}c`).FindAllIndex(b, -1)))
}

func TestStop(t *testing.T) {
	var stop atomic.Bool
	stop.Store(true)
	d := compile(t, `\pL{3}x`, Config{}).New(&stop)
	assert.Empty(t, d.Lines([]byte("\u0416\u0416\u0416x\n"), nil))
	stop.Store(false)
	assert.Len(t, d.Lines([]byte("\u0416\u0416\u0416x\n"), nil), 1)
}

func TestWarmSearchDoesNotAllocate(t *testing.T) {
	d := compile(t, `[a-z]{3}\d{4}`, Config{}).New(nil)
	b := bytes.Repeat([]byte("some text here\nabc1234\n"), 1000)
	at := d.Lines(b, nil)
	assert.Zero(t, testing.AllocsPerRun(10, func() { at = d.Lines(b, at[:0]) }))
}

func BenchmarkLines(b *testing.B) {
	text := bytes.Repeat([]byte("\tfor i := range lines { // a line of source code, more or less\n\n\t\treturn nil, fmt.Errorf(\"x: %w\", err)\n"), 4000)
	for _, c := range []struct{ name, expr string }{
		{"class", `[a-z]{3}\d{4}`}, {"word", `\bcontext\b`}, {"unicode", `\p{Han}{2,}`}, {"anchored", `^func `}, {"alternation", `(?i)(password|secret|token)\s*[:=]`},
	} {
		p := compile(b, c.expr, Config{})
		d := p.New(nil)
		b.Run("streams=1/"+c.name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				d.lines1(text, 0, len(text), d.start, nil)
			}
		})
		b.Run("streams=4/"+c.name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				d.lines4(text, nil)
			}
		})
	}
}
