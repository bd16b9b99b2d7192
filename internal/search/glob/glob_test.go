package glob

import (
	"errors"
	"math/rand"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/bmatcuk/doublestar/v4"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestMatch(t *testing.T) {
	for _, c := range []struct {
		pattern, path string
		want          bool
	}{
		{"*.go", "a.go", true},
		{"*.go", "x/y/a.go", true},
		{"/*.go", "x/a.go", false},
		{"./*.go", "a.go", true},
		{"x/*.go", "x/a.go", true},
		{"x/*.go", "y/x/a.go", false},
		{"**/*.go", "a.go", true},
		{"**/x/**", "x/a", true},
		{"**/x/**", "b/x", false},
		{"x/**/y", "x/y", true},
		{"x/**/y", "x/a/b/y", true},
		{"x/**/y/**/z", "x/y/y/a/z", true},
		{"x/**/y", "x/a/b/yy", false},
		{"*.{ts,tsx}", "a.tsx", true},
		{"{src,lib}/**/*.{c,h}", "lib/x/a.h", true},
		{"{a,b{c,d}}x", "bdx", true},
		{"{a/b,c}/x", "a/b/x", true},
		{"{,a}x", "x", true},
		{"[abc].go", "b.go", true},
		{"[!abc].go", "b.go", false},
		{"[^abc].go", "d.go", true},
		{"[a-c-].go", "-.go", true},
		{"[]].go", "].go", true},
		{"app/[id]/page.tsx", "app/[id]/page.tsx", true},
		{"app/[id]/page.tsx", "app/i/page.tsx", true},
		{"**/[...slug]/*.tsx", "app/[...slug]/page.tsx", true},
		{"!*.go", "a.go", false},
		{"!*.go", "a.ts", true},
		{`src\lib\*.go`, "src/lib/a.go", true},
		{`a\*b`, "a*b", true},
		{`a\*b`, "axb", false},
		{`a\{b,c}`, "a{b,c}", false},
		{`a\{b\}`, "a{b}", true},
		{"é?", "éß", true},
		{".github/**", ".github/x/y.yml", true},
		{"a", "a/b", false},
		{"a/", "a", true},
		{"*", "a/b", true},
		{"**", "a/b", true},
		{"a**b", "axxb", true},
		{"[[:alpha:]]*.txt", "up.txt", true},
		{"[[:alpha:]]*.txt", "1up.txt", false},
		{"*[[:digit:]].txt", "x/a1.txt", true},
		{"[![:digit:][:space:]]", "7", false},
		{"[![:digit:][:space:]]", " ", false},
		{"[![:digit:][:space:]]", "x", true},
		{"[[:upper:]_-]x", "-x", true},
		{"[[:upper:]_-]x", "ax", false},
		{"[[:xdigit:]a-]x", "Fx", true},
		{"[:alpha:]", "p", true}, // without the outer brackets it is a list of characters
		{"[:alpha:]", "z", false},
		{"[[:]", ":", true},
		{"{[[:upper:]],[[:digit:]]}x", "7x", true},
	} {
		p, err := Compile(c.pattern, Options{})
		if strings.HasPrefix(c.pattern, `a\{b,`) {
			require.Error(t, err)
			continue
		}
		require.NoError(t, err, c.pattern)
		assert.Equal(t, c.want, p.Match(c.path), "%q on %q", c.pattern, c.path)
	}
	p, err := Compile(`src\**\*.GO`, Options{Separator: '\\', Fold: true})
	require.NoError(t, err)
	assert.True(t, p.Match("SRC/x/a.go"))
}

func TestErrors(t *testing.T) {
	for _, c := range []struct {
		pattern string
		at      int
		reason  string
	}{
		{"{a,b", 0, "not closed"},
		{"x/{a,{b}", 2, "not closed"},
		{"a}", 1, "without"},
		{"x[a", 1, "not closed"},
		{"[z-a]", 0, "backwards"},
		{"../x", 0, "leave"},
		{"a/{..,b}/x", 3, "leave"},
		{`a\`, 1, "backslash"},
		{"x[[:letter:]]", 1, "there is no class [:letter:]; there are alnum"},
		{"x[[:^alpha:]]", 1, "there is no class [:^alpha:]"},
		{"", 0, "empty"},
		{"./", 0, "empty"},
		{"a\x00", 1, "NUL"},
		{strings.Repeat("{a,aa}", 28), 0, "multiply"},
		{strings.Repeat("a", MaxLen+1), MaxLen, "longer"},
	} {
		_, err := Compile(c.pattern, Options{})
		require.ErrorIs(t, err, ErrPattern, c.pattern)
		var e *Error
		require.True(t, errors.As(err, &e))
		assert.Contains(t, e.Reason, c.reason, c.pattern)
		assert.Equal(t, c.at, e.Offset, c.pattern)
	}
}

func TestBaseUnderExt(t *testing.T) {
	must := func(s string) *Pattern {
		p, err := Compile(s, Options{})
		require.NoError(t, err)
		return p
	}
	there := func(p string) bool { return p == "app/[id]" }
	assert.Equal(t, "node_modules/foo", must("node_modules/foo/**").Base(nil))
	assert.Equal(t, "a", must("a/{b,c}/x").Base(nil))
	assert.Equal(t, "", must("*.go").Base(nil))
	assert.Equal(t, "", must("!a/b").Base(nil))
	assert.Equal(t, "app", must("app/[id]/*.tsx").Base(nil))
	assert.Equal(t, "app/[id]", must("app/[id]/*.tsx").Base(there))

	assert.True(t, must("a/*/c").Under("a/b"))
	assert.False(t, must("a/*/c").Under("b"))
	assert.False(t, must("a/b").Under("a/b"))
	assert.True(t, must("**/x").Under("q/r"))

	exts, ok := must("*.{go,mod}").Ext()
	assert.True(t, ok)
	assert.Equal(t, []string{".go", ".mod"}, exts)
	_, ok = must("a*.go").Ext()
	assert.False(t, ok)
	_, ok = must("*.d.ts").Ext()
	assert.False(t, ok)

	assert.True(t, must(".github/*").Hidden())
	assert.False(t, must("*").Hidden())
}

// Under must never lose a match.
func TestUnderAgreesWithMatch(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	parts := []string{"a", "b", "*", "**", "a*", "?", "[ab]", "{a,b}", "ab"}
	names := []string{"a", "b", "ab", "c", "ba"}
	pick := func(from []string, n int) string {
		var s []string
		for range n {
			s = append(s, from[r.Intn(len(from))])
		}
		return strings.Join(s, "/")
	}
	for range 20000 {
		p, err := Compile(pick(parts, 1+r.Intn(4)), Options{})
		require.NoError(t, err)
		path := pick(names, 1+r.Intn(4))
		if !p.Match(path) {
			continue
		}
		for i, c := range path {
			if c == '/' {
				require.True(t, p.Under(path[:i]), "%v on %q", p, path)
			}
		}
		base := p.Base(nil)
		require.True(t, base == "" || strings.HasPrefix(path, base+"/"), "base %q of %q", base, path)
	}
}

func TestAgreesWithDoublestar(t *testing.T) {
	r := rand.New(rand.NewSource(2))
	parts := []string{"a", "b", "*", "**", "a*", "*b", "?", "[ab]", "[!a]", "{a,b*}", "ab", "a*b*", "é", "{a,b/c}"}
	names := []string{"a", "b", "ab", "c", "ba", "aabb", "é", "abab"}
	for range 30000 {
		var ps, ns []string
		for range 1 + r.Intn(4) {
			ps = append(ps, parts[r.Intn(len(parts))])
		}
		for range 1 + r.Intn(5) {
			ns = append(ns, names[r.Intn(len(names))])
		}
		pattern, path := strings.Join(ps, "/"), strings.Join(ns, "/")
		want, err := doublestar.Match(pattern, path)
		require.NoError(t, err)
		if dir, ok := strings.CutSuffix(pattern, "/**"); ok {
			// Doublestar lets some patterns that end so match the directory.
			if self, err := doublestar.Match(dir, path); self && err == nil {
				continue
			}
		}
		p, err := Compile("/"+pattern, Options{})
		require.NoError(t, err)
		require.Equal(t, want, p.Match(path), "%q on %q", pattern, path)
	}
}

func TestNoPatternIsSlow(t *testing.T) {
	p, err := Compile(strings.Repeat("*a", 500)+"b", Options{})
	require.NoError(t, err)
	assert.False(t, p.Match(strings.Repeat("a", 4000)))
	p, err = Compile(strings.Repeat("**/a*/", 100)+"b", Options{})
	require.NoError(t, err)
	assert.False(t, p.Match(strings.Repeat("a/", 1000)+"c"))
}

func TestMatchDoesNotAllocate(t *testing.T) {
	p, err := Compile("src/**/{a,b}*.{go,ts}", Options{})
	require.NoError(t, err)
	assert.Zero(t, testing.AllocsPerRun(100, func() { p.Match("src/x/y/bar.ts") }))
}

func FuzzCompile(f *testing.F) {
	for _, s := range []string{"*.go", "{a,b{c,d}}/**", "[!a-z]?", `\{`, "!x/", "a/[id]/b", "..", "{..,a}/b", "[[:alpha:]-z]", "[[:"} {
		f.Add(s, "a/b")
	}
	f.Fuzz(func(t *testing.T, pattern, path string) {
		if !utf8.ValidString(pattern) {
			return
		}
		p, err := Compile(pattern, Options{})
		if err != nil {
			require.ErrorIs(t, err, ErrPattern)
			return
		}
		path = strings.Trim(path, "/")
		if path == "" || strings.Contains(path, "//") {
			return
		}
		if p.Match(path) && !p.negated {
			if i := strings.LastIndexByte(path, '/'); i > 0 && !p.Under(path[:i]) {
				t.Fatalf("%q matches %q but nothing below its directory", pattern, path)
			}
		}
	})
}

// TestQuote: a quoted path is a pattern for that path.
func TestQuote(t *testing.T) {
	for _, path := range []string{"a", "a/b", "w{a", "w[b", "x]", "x}", "!a", "a!b", "a*b/c?", `back\slash`, "[!a]", "[^a]", "a,b", "{a,b}", "-", "日本"} {
		p, err := Compile(Quote(path), Options{Anchored: true})
		require.NoError(t, err, path)
		assert.True(t, p.Match(path), path)
		for _, other := range []string{"ab", "axb/cd", "b", "x"} {
			assert.False(t, p.Match(other) && other != path, "%s matches %s", path, other)
		}
	}
}
