package shellscan

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func fuzzSeeds(f *testing.F) {
	for _, c := range readTables(f, "testdata/*.txt") {
		f.Add(c.text)
	}
	for i := range 40 {
		g := &scriptMakerSeed{n: i}
		f.Add(g.text())
	}
}

// scriptMakerSeed makes openers of everything that nests.
type scriptMakerSeed struct{ n int }

func (g *scriptMakerSeed) text() string {
	openers := []string{"(", "{ ", "$(", "${a:-", "((", "$((", "`", "[[ ! ", "if ", "while ", "f() ", "a[", "$[", "case x in ", "for x in ", "<(", "\"$(", "{a,", "{1..9}", "a && "}
	return strings.Repeat(openers[g.n%len(openers)], 3+g.n)
}

// However strange a text is, the analysis comes to an end without a panic, and what it offers to remember covers what it
// asks about and nothing less specific than a name.
func FuzzAnalyze(f *testing.F) {
	fuzzSeeds(f)
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 8<<10 {
			return
		}
		start := time.Now()
		s := &Script{Text: text, opts: testOptions()}
		s.analyze() // not Analyze, which recovers
		require.Less(t, time.Since(start), 5*time.Second)
		for _, q := range s.Asks() {
			require.NotEmpty(t, q.Patterns)
			if q.Opaque {
				require.Empty(t, q.Always)
			}
		}
		for i := range s.Commands {
			c := &s.Commands[i]
			if c.always == "" {
				continue
			}
			require.NotEmpty(t, strings.Trim(c.always, "* ?"))
			require.True(t, Match(c.always, c.String()), "%q does not cover %q", c.always, c.String())
			if len(s.Opaque) == 0 && s.Unparsed == nil {
				require.Equal(t, Allow, s.decide(c, nil, []string{c.always}), "%q does not cover %q", c.always, c.String())
			}
		}
		d := s.Judge(List{{"*", "*", Allow}})
		require.NotEqual(t, Deny, d.Action)
		for i := range s.Commands {
			if !s.Commands[i].Free && len(s.Commands[i].Argv) > 0 {
				require.Equal(t, Deny, s.Judge(List{{"bash", "*", Deny}}).Action)
				break
			}
		}
		if ok, why := s.ReadOnly(); !ok {
			require.NotEmpty(t, why)
		}
	})
}

// Patterns mean the same to the matcher and to a plain definition of it.
func FuzzMatch(f *testing.F) {
	for _, s := range [][2]string{{"*", ""}, {"a *", "a"}, {"a*b", "axxb"}, {"?", "é"}, {"*a*b*", "xaxb"}, {"a ?", "a b"}, {"", ""}, {"** *", "a"}, {" *", ""}} {
		f.Add(s[0], s[1])
	}
	f.Fuzz(func(t *testing.T, pattern, s string) {
		if len(pattern) > 40 || len(s) > 60 || strings.ContainsFunc(pattern+s, placeholder) || strings.ToValidUTF8(pattern+s, "?") != pattern+s {
			return
		}
		want := slowMatch([]rune(pattern), []rune(s))
		if short, ok := strings.CutSuffix(pattern, " *"); ok {
			want = want || slowMatch([]rune(short), []rune(s))
		}
		require.Equal(t, want, Match(pattern, s))
		require.Equal(t, want, mayMatchRunes([]rune(pattern), []rune(s)) || strings.HasSuffix(pattern, " *") && mayMatchRunes([]rune(strings.TrimSuffix(pattern, " *")), []rune(s)))
		require.Equal(t, want, spells(pattern, s, 0, 0))
		if spells(pattern, s, 0, len(s)) {
			require.True(t, want)
		}
	})
}

func slowMatch(p, s []rune) bool {
	memo := map[[2]int]bool{}
	var f func(i, j int) bool
	f = func(i, j int) bool {
		k := [2]int{i, j}
		if r, ok := memo[k]; ok {
			return r
		}
		r := false
		switch {
		case i == len(p):
			r = j == len(s)
		case p[i] == '*':
			r = f(i+1, j) || j < len(s) && f(i, j+1)
		default:
			r = j < len(s) && (p[i] == '?' || p[i] == s[j]) && f(i+1, j+1)
		}
		memo[k] = r
		return r
	}
	return f(0, 0)
}
