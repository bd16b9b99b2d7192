package pattern

import (
	"bytes"
	"fmt"
	"math/rand"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func must(t testing.TB, expr string, o Options) *Pattern {
	t.Helper()
	p, err := Compile(expr, o)
	require.NoError(t, err, expr)
	return p
}

func TestStrategy(t *testing.T) {
	for _, c := range []struct {
		expr string
		o    Options
		want string
		lits []string
	}{
		{`NewTextHandler`, Options{}, "literal", []string{"NewTextHandler"}},
		{`context\.Context`, Options{}, "literal", []string{"context.Context"}},
		{`TODO|FIXME|XXX`, Options{}, "literal", []string{"TODO", "FIXME", "XXX"}},
		{`hono?ur`, Options{}, "literal", []string{"honur", "honour"}},
		{`Colou?r`, Options{}, "literal", []string{"Color", "Colour"}},
		{`(?i)deadlock`, Options{}, "literal", []string{"deadlock", "deadloc\u212a"}},
		{`deadlock`, Options{Case: Smart}, "literal", []string{"deadlock", "deadloc\u212a"}},
		{`Deadlock`, Options{Case: Smart}, "literal", []string{"Deadlock"}},
		{`context`, Options{Word: true}, "prefilter", []string{"context"}},
		{`func\s+\w+\(ctx`, Options{}, "prefilter", []string{"(ctx"}},
		{`\w+Handler\(`, Options{}, "prefilter", []string{"Handler("}},
		{`x(?i:Y)zq`, Options{}, "prefilter", []string{"xyzq"}},
		{`[ab]foo(?:bar|qux)+`, Options{}, "prefilter", nil},
		{`.`, Options{}, "automaton", nil},
		{`"[^"]{60,}"`, Options{}, "prefilter", []string{`"`}},
		{`"[^"]{6,}"`, Options{}, "automaton", nil},
		{`[a-z]{3}\d{4}`, Options{}, "automaton", nil},
		{`(?i)(password|token)\s*[:=]`, Options{}, "prefilter", []string{"password", "pas\u017fword", "pa\u017fsword", "pa\u017f\u017fword", "token", "to\u212aen"}},
		{`\b\d{1,3}\.\d{1,3}\.\d{1,3}\b`, Options{}, "prefilter", []string{"[0123456789][.][0123456789]"}},
		{`\p{Han}{2,}`, Options{}, "prefilter", nil},
		{`e`, Options{}, "automaton", nil},
		{`(?:foobar)*`, Options{}, "every line", nil},
		{`(?:foobar|)x*`, Options{}, "every line", nil},
		{`a.b`, Options{Literal: true}, "literal", []string{"a.b"}},
	} {
		p := must(t, c.expr, c.o)
		assert.Equal(t, c.want, p.Strategy(), c.expr)
		if c.lits != nil {
			var got []string
			for _, f := range p.find {
				got = append(got, f.wants()...)
			}
			assert.Equal(t, c.lits, got, c.expr)
		}
	}
}

// wants describes what a finder looks for.
func (f *finder) wants() []string {
	if f.sieve == nil {
		return []string{f.lit.s}
	}
	var out []string
	for _, s := range f.sieve.seqs {
		text := ""
		if s.lit != nil {
			text = s.lit.s
		} else {
			for _, c := range s.classes {
				text += "[" + string(c.members()) + "]"
			}
		}
		out = append(out, text)
	}
	return out
}

func TestMultilineIsInferred(t *testing.T) {
	assert.True(t, must(t, `foo\nbar`, Options{}).Multiline)
	assert.True(t, must(t, `foo\s*\r?\nbar`, Options{}).Multiline)
	assert.False(t, must(t, `foo\s+bar[^x]`, Options{}).Multiline)
	assert.True(t, must(t, `foo\r$`, Options{}).KeepCR)
	assert.False(t, must(t, `foo\s$`, Options{}).KeepCR)
}

func TestErrors(t *testing.T) {
	for _, c := range []struct {
		expr, reason, hint string
		literal            bool
	}{
		{`foo(`, `a "(" is not closed`, `\(`, true},
		{`fmt.Println(x`, `a "(" is not closed`, `literal`, true},
		{`foo)`, `has no "("`, `\)`, true},
		{`a[0`, `"[" is not closed`, `\[`, true},
		{`*foo`, "nothing to repeat", `\*`, true},
		{`^foo(.*`, `a "(" is not closed`, `\(`, false},
		{`foo(?=bar)`, "look-ahead", "RE2|match", false},
		{`(?<!foo)bar`, "negative look-behind", "drop", false},
		{`(?<=foo)bar`, "look-behind", "match", false},
		{`(\w+) \1`, `back-reference \1`, "write", false},
		{`foo++`, "possessive", `\+`, true},
		{`a{2000}`, "repeat count", "1000", false},
		{`foo\`, "backslash", `\\`, false},
		{`[z-a]`, "range", "order", false},
		{`\y`, "escape", `\\`, false},
		{`(?:\pL{100}){10}`, "too large", "smaller", false},
		{"", "empty", "say", false},
		{strings.Repeat("x", 2000), "longer", "part", false},
		{"a\xff", "UTF-8", "", false},
	} {
		_, err := Compile(c.expr, Options{})
		require.ErrorIs(t, err, ErrPattern, c.expr)
		e := err.(*Error)
		assert.Contains(t, e.Reason, c.reason, c.expr)
		assert.Regexp(t, regexp.MustCompile(strings.ReplaceAll(regexp.QuoteMeta(c.hint), `\|`, "|")), e.Hint, c.expr)
		assert.Equal(t, c.literal, e.Literal, c.expr)
		assert.Less(t, len(err.Error()), 400)
	}
	for _, ok := range []string{`interface{}`, `func() {`, `a{,3}`, `\/`, `\-`, `map[string]int`} {
		must(t, ok, Options{})
	}
}

func oracle(expr string, text []byte, keepCR bool) []int {
	re := regexp.MustCompile(expr)
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

func check(t testing.TB, expr string, text []byte, o Options) {
	p, err := Compile(expr, o)
	if err != nil {
		return
	}
	m := p.Matcher(nil)
	defer m.Release()
	if p.Multiline {
		if got, want := m.Find(text) >= 0, regexp.MustCompile(p.source).Match(text); got != want {
			t.Fatalf("%q on %.300q: found %v, want %v", p.source, text, got, want)
		}
		return
	}
	want := oracle(p.source, text, p.KeepCR)
	var got []int
	for _, a := range m.Lines(text, nil) {
		got = append(got, bytes.Count(text[:a], []byte("\n")))
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Fatalf("%q (%s) on %.300q: lines %v, want %v", p.source, p.Strategy(), text, got, want)
	}
}

var seeds = []string{
	`o[^o]{40,}f`, `x.{50}$`, `(?:foo|bar){16}`, `foo.{60}|foob.{45}`,
	`foo`, `(?i)foo`, `(?i)kiss`, `foo|bar`, `fo+bar`, `\bfoo\b`, `foo$`, `^foo`, `(?i)straße`, `x?foo`, `(?:foo|b)ar`, `f[ox]o`, `foo.*bar`,
	`(?i)(?:password|secret|token)\s*[:=]`, `[Kk]q`, `foo\s`, `(?i:kiss)[\t-\r]`, `foo\nbar`, `fo\ro`, `(foo)+`, `(|foo)bar`, `(?i:K)elvin`, `q(?i:kq)z`, `\x{212a}`, `É|é`, `(?i)é1`,
}

var pieces = []string{"foo", "FOO", "Foo", "bar", "kiss", "KISS", "\u212aiss", "ki\u017fs", "straße", "STRASSE", " ", "x", "f", "o", "\n", "\n", "\r\n", "q", "k", "qkqz", "qKqz", "secret", "Token", ":", "=", "é", "É", "é1", "É1", "a", "\u212aelvin"}

func randomText(r *rand.Rand, n int) []byte {
	var b []byte
	for len(b) < n {
		b = append(b, pieces[r.Intn(len(pieces))]...)
	}
	return b
}

func TestLinesAgreeWithRegexp(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	for _, expr := range seeds {
		for _, o := range []Options{{}, {Case: Insensitive}, {Case: Smart}, {Word: true}, {Literal: true}, {Literal: true, Word: true, Case: Insensitive}} {
			for range 40 {
				check(t, expr, randomText(r, r.Intn(120)), o)
			}
			check(t, expr, randomText(r, 10000), o)
		}
	}
}

func FuzzLines(f *testing.F) {
	for i, s := range seeds {
		f.Add(s, "a foo\r\nKiss é\n\u212a q", uint8(3), uint8(i))
	}
	f.Fuzz(func(t *testing.T, expr, s string, times, opts uint8) {
		if !utf8.ValidString(s) || len(expr) > 200 || len(s) > 200 {
			return
		}
		o := Options{Case: Case(opts % 3), Literal: opts&4 != 0, Word: opts&8 != 0, Multiline: opts&16 != 0}
		check(t, expr, []byte(strings.Repeat(s, 1+int(times)%60)), o)
	})
}

// TestShortLinesAreRefused: what is left of a line from the string on is measured before
// the automaton sees it, in bytes, of which a character may have several.
func TestShortLinesAreRefused(t *testing.T) {
	for expr, want := range map[string]int{`"[^"]{60,}"`: 62, `q[^x]{40}`: 41, `q(?:ab|c){40}`: 41, `"[^"]{60,}"|x`: 0, `a?"[^"]{60,}`: 0} {
		assert.Equal(t, want, must(t, expr, Options{}).minAfter, expr)
	}
	p := must(t, `"[^"]{60,}"`, Options{})
	for n := 55; n < 70; n++ {
		for _, line := range []string{`a "` + strings.Repeat("x", n) + `"`, `"" "` + strings.Repeat("é", n) + "\" b\r\n", `"` + strings.Repeat(`"`, n)} {
			check(t, p.source, []byte("first\n"+line), Options{})
		}
	}
}

// A literal that is on every line while the rest never matches must not make the
// search slower than the automaton alone.
func TestUselessLiteralsAreDropped(t *testing.T) {
	p := must(t, `zq.*[0-9]{9}`, Options{})
	require.Equal(t, "prefilter", p.Strategy())
	m := p.Matcher(nil)
	text := append(bytes.Repeat([]byte("xx zq yy\n"), 5000), "zq 123456789\n"...)
	at := m.Lines(text, nil)
	assert.Len(t, at, 1)
	assert.Equal(t, 5000, bytes.Count(text[:at[0]], []byte("\n")))
	assert.True(t, m.noLits)
}

func TestWarmMatcherDoesNotAllocate(t *testing.T) {
	p := must(t, `\bcontext\b`, Options{})
	m := p.Matcher(nil)
	text := bytes.Repeat([]byte("no\na context b\nlong contextual\n"), 500)
	at := m.Lines(text, nil)
	assert.Zero(t, testing.AllocsPerRun(10, func() { at = m.Lines(text, at[:0]) }))
}

var benchText = bytes.Repeat([]byte("\tfor i := range lines { // a line of source code, more or less\n\n\t\treturn nil, fmt.Errorf(\"x: %w\", err)\n"), 4000)

func BenchmarkMatch(b *testing.B) {
	for _, c := range []struct{ name, expr string }{
		{"literal", `context\.Context`}, {"fold", `(?i)deadlock`}, {"word", `\bcontext\b`},
		{"foldalternation", `(?i)(password|secret|token)\s*[:=]`}, {"class", `[a-z]{3}\d{4}`}, {"unicode", `\p{Han}{2,}`},
	} {
		re := regexp.MustCompile(c.expr)
		p := must(b, c.expr, Options{})
		m := p.Matcher(nil)
		d := p.prog.New(nil)
		run := func(engine string, f func()) {
			b.Run("engine="+engine+"/"+c.name, func(b *testing.B) {
				b.SetBytes(int64(len(benchText)))
				for b.Loop() {
					f()
				}
			})
		}
		run("regexp", func() {
			for l := range bytes.Lines(benchText) {
				re.Match(l)
			}
		})
		run("automaton", func() { d.Lines(benchText, nil) })
		run("plan", func() { m.Lines(benchText, nil) })
	}
}

// TestMultilineByItself: an expression that asks for a line feed, or for any
// character at all, means to span lines; "." does so only on request.
func TestMultilineByItself(t *testing.T) {
	for expr, want := range map[string]bool{
		`a`: false, `a.b`: false, `[^"]+`: false, `\s+`: false, `[^a]`: false, `(?s)a`: false,
		`a\nb`: true, `a[\s\S]*b`: true, `(?s)a.b`: true, `(?s:.)`: true, `[\r\n]`: true,
	} {
		p, err := Compile(expr, Options{})
		require.NoError(t, err)
		assert.Equal(t, want, p.Multiline, expr)
	}
	p, err := Compile(`b\n.*`, Options{})
	require.NoError(t, err)
	assert.Equal(t, "b\nc", p.Regexp().FindString("a\nb\nc\nd"))
	p, err = Compile(`b.*`, Options{Multiline: true})
	require.NoError(t, err)
	assert.Equal(t, "b\nc\nd", p.Regexp().FindString("a\nb\nc\nd"))
}

// TestMerge: alternatives that share a part are found by that part, and only
// those that are really there match.
func TestMerge(t *testing.T) {
	for _, c := range []struct {
		set, want []string
	}{
		{[]string{"json.Marshal", "xml.Marshal", "gob.NewEncoder", "yaml.Marshal"}, []string{".Marshal", "gob.NewEncoder"}},
		{[]string{"TODO", "FIXME"}, []string{"TODO", "FIXME"}},
		{[]string{"abc1", "abc2"}, []string{"abc1", "abc2"}},
	} {
		var set []literal
		for _, s := range c.set {
			set = append(set, literal{s: s})
		}
		got, merged := merge(set)
		var names []string
		for _, l := range got {
			names = append(names, l.s)
		}
		assert.ElementsMatch(t, c.want, names)
		assert.Equal(t, len(c.want) < len(c.set), merged)
	}
	assert.Equal(t, "ml.Mar", common("xml.Mark", "yaml.Mars"))
	assert.Empty(t, common("", "x"))
	p, err := Compile(`json\.Marshal|xml\.Marshal|yaml\.Marshal`, Options{})
	require.NoError(t, err)
	m := p.Matcher(nil)
	defer m.Release()
	text := []byte("gob.Marshal\njson.Marshal\n.Marshal\nxml.Marshal xml.Marshal\n.Marshal json.Marshal\n")
	assert.Len(t, m.Lines(text, nil), 3)
}
