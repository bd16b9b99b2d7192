package permission

import (
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/agenttool/tool/internal/wildcard"
)

func TestMatch(t *testing.T) {
	tests := []struct {
		pattern, s string
		want       bool
	}{
		{"", "", true},
		{"", "a", false},
		{"*", "", true},
		{"*", "a/b\nc", true},
		{"**", "a", true},
		{"a", "a", true},
		{"a", "A", wildcard.FoldsCase},
		{"a", "a\n", false}, // anchored; a trailing newline counts
		{"src/*", "src/a/b.go", true},
		{"src/*", "src/", true},
		{"src/*", "lib/src/a", false},
		{"src/**/x", "src/x", false}, // ** is two stars: at least one directory
		{"src/**/x", "src/a/x", true},
		{"src/**/x", "src/a/b/x", true},
		{"*.env", ".env", true},
		{"*.env", "a/b.env", true},
		{"*.env", ".env.local", false},
		{"?", "a", true},
		{"?", "", false},
		{"?", "ab", false},
		{"?", "😀", true},
		{"??", "😀", false},
		{"?", "\n", true},
		{"*??", "€", false},
		{"*??", "a€", true},
		{"a?c", "a/c", true},
		{"a*?c", "ac", false},
		{"a*?c", "abc", true},
		{"*?b?*", "xbx", true},
		{"*?b?*", "bx", false},
		{"[ab]", "a", false}, // no classes
		{"[ab]", "[ab]", true},
		{"{a,b}", "a", false}, // no braces
		{`\*`, `\x`, true},    // no escapes
		{`\*`, "*", false},
		{`grep \.ts`, "grep /.ts", false}, // a backslash is no slash
		{"a.c", "abc", false},             // no regular expression
		{"a+", "a+", true},
		{"ls *", "ls", true}, // the tail is optional
		{"ls *", "ls -la", true},
		{"ls *", "ls ", true},
		{"ls *", "lsof", false},
		{"ls*", "lsof", true},
		{"npm * *", "npm run", true}, // only the very end
		{"npm * *", "npm", false},
		{"npm * *", "npm run x", true},
		{"git *", "git", true},
		{"git *", "git push", true},
		{"git *", "gitk", false},
		{" *", "", true},
		{"? *", "a", true},
		{"? *", "ab", false},
		{"a*b*c", "aXbYc", true},
		{"a*b*c", "aXcYb", false},
		{"a*a", "a", false}, // head and tail do not overlap
		{"ab*ba", "aba", false},
		{"*a*", "bab", true},
		{"*aab", "aaab", true},
		{"*ab*ab", "abab", true},
		{"*ab*ab", "aab", false},
	}
	for _, tt := range tests {
		assert.Equal(t, tt.want, Match(tt.pattern, tt.s), "Match(%q, %q)", tt.pattern, tt.s)
	}
}

func TestMatchAllocatesNothing(t *testing.T) {
	if wildcard.FoldsCase {
		t.Skip("folding case allocates")
	}
	rules := []Ruleset{{{"*", "*", Allow}, {"bash", "git ? *", Ask}}}
	pattern, s := strings.Repeat("*a?", 20)+" *", strings.Repeat("bac", 100)
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		Match(pattern, s)
		Match("git *", "git push origin")
	}))
	assert.Zero(t, testing.AllocsPerRun(100, func() { Evaluate("bash", "git log", rules[0], rules[0]) }))
}

// hostile are patterns on which a matcher that backtracks over every star does not end.
func hostile(n int) map[string][2]string {
	return map[string][2]string{
		"stars":                    {strings.Repeat("*a", n/2) + "b", strings.Repeat("a", 64<<10)},
		"one piece":                {"*" + strings.Repeat("a", n) + "b*", strings.Repeat("a", 64<<10)},
		"questions":                {strings.Repeat("*a?", n/3) + "b", strings.Repeat("a", 64<<10)},
		"one piece with questions": {"*" + strings.Repeat("a?", n/2) + "b*", strings.Repeat("a", 64<<10)},
		"tail":                     {strings.Repeat("*", n) + "b", strings.Repeat("a", 64<<10)},
	}
}

func TestMatchHostile(t *testing.T) {
	for name, h := range hostile(4 << 10) {
		start := time.Now()
		assert.False(t, Match(h[0], h[1]), name)
		assert.Less(t, time.Since(start), 5*time.Second, name)
	}
}

func BenchmarkMatch(b *testing.B) {
	for _, m := range [][2]string{{"*", "git push origin main"}, {"git *", "git push origin main"}, {"*.env.*", "a/long/path/to/a/file.go"}} {
		b.Run(m[0], func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Match(m[0], m[1])
			}
		})
	}
	for name, h := range hostile(4 << 10) {
		twice := h[1] + h[1]
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			var one, two time.Duration
			for b.Loop() {
				t0 := time.Now()
				Match(h[0], h[1])
				t1 := time.Now()
				Match(h[0], twice)
				one, two = one+t1.Sub(t0), two+time.Since(t1)
			}
			b.ReportMetric(float64(two)/float64(one), "x-for-twice-the-text")
		})
	}
}

// naive is the grammar word for word, for short inputs.
func naive(p, s []rune) bool {
	if len(p) == 0 {
		return len(s) == 0
	}
	switch p[0] {
	case '*':
		return naive(p[1:], s) || len(s) > 0 && naive(p, s[1:])
	case '?':
		return len(s) > 0 && naive(p[1:], s[1:])
	}
	return len(s) > 0 && p[0] == s[0] && naive(p[1:], s[1:])
}

// byRegexp is what the original of this grammar does.
func byRegexp(t *testing.T, pattern, s string) bool {
	q := regexp.QuoteMeta(pattern)
	q = strings.ReplaceAll(strings.ReplaceAll(q, `\*`, ".*"), `\?`, ".")
	if head, ok := strings.CutSuffix(q, " .*"); ok {
		q = head + "( .*)?"
	}
	re, err := regexp.Compile(`(?s)\A(?:` + q + `)\z`)
	require.NoError(t, err)
	return re.MatchString(s)
}

func FuzzMatch(f *testing.F) {
	for _, s := range [][2]string{
		{"*", "x"}, {"a*b?c *", "axbyc d"}, {"*?*", ""}, {"ls *", "ls"}, {"*??", "€"}, {"**a**", "bab"},
		{"a*a", "a"}, {"? *", "\xff"}, {"é*", "é\xc3"}, {"*ab*ab", "aab"}, {" *", " "}, {"*?b?*", "xbx"},
	} {
		f.Add(s[0], s[1])
	}
	f.Fuzz(func(t *testing.T, pattern, s string) {
		got := Match(pattern, s)
		if wildcard.FoldsCase || !utf8.ValidString(pattern) || len(pattern) > 200 || len(s) > 2000 {
			return
		}
		if utf8.ValidString(s) || !strings.ContainsRune(pattern, utf8.RuneError) { // else a regexp takes a stray byte for U+FFFD
			require.Equal(t, byRegexp(t, pattern, s), got, "Match(%q, %q), regexp", pattern, s)
		}
		if strings.Count(pattern, "*") > 4 || len(s) > 40 || !utf8.ValidString(s) {
			return
		}
		p, r := []rune(pattern), []rune(s)
		want := naive(p, r)
		if n := len(p); n >= 2 && p[n-2] == ' ' && p[n-1] == '*' {
			want = want || naive(p[:n-2], r)
		}
		require.Equal(t, want, got, "Match(%q, %q), naive", pattern, s)
	})
}
