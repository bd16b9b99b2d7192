package search

import (
	"encoding/binary"
	"fmt"
	"math/rand"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf16"

	"github.com/stretchr/testify/require"

	"github.com/agenttool/tool/internal/search/pattern"
)

// randomExpr returns an expression made of what prefilters, the automaton and their
// meeting are about. With strict it has nothing that would match a stray byte, where package
// regexp takes one for U+FFFD and this engine for no character.
func randomExpr(r *rand.Rand, depth int, strict bool) string {
	atoms := []string{
		"foo", "bar", "error", "func", "kiss", "context", "deadlock", "foobar", "TODO", "x", "é", "1", " ", "_", "qu", `\.`, `\(`, `\d`, `\w`, `[a-f]`, `[0-9]{2}`, `\d\.\d`,
		`\b`, "^", "$", `(?i:kiss)`, `[Ff]oo`, `\p{Greek}`, `\p{Han}{2,}`, `\t`, `\r`, `(?:foo|bar|qux)`, `\s`, "",
	}
	if !strict {
		atoms = append(atoms, ".", ".*", `\W`, `[^o]`, `\S+`, `[^"]{3,}`, `\B`, `"[^"]{40,}"`, `x.{45}`)
	}
	if depth == 0 || r.Intn(4) == 0 {
		return atoms[r.Intn(len(atoms))]
	}
	sub := func() string { return randomExpr(r, depth-1, strict) }
	switch r.Intn(10) {
	case 0:
		return "(?:" + sub() + "|" + sub() + ")"
	case 1:
		return "(?:" + sub() + "|" + sub() + "|" + sub() + ")"
	case 2:
		return "(?:" + sub() + ")*"
	case 3:
		return "(?:" + sub() + ")+"
	case 4:
		return "(?:" + sub() + ")?"
	case 5:
		return fmt.Sprintf("(?:%s){%d,%d}", sub(), r.Intn(3), 2+r.Intn(2))
	}
	return sub() + sub()
}

var randomWords = []string{
	"foo", "bar", "Foo", "FOO", "foobar", "error", "Error", "func", "func ", "kiss", "KI\u017f\u017f", "\u212aiss", "context", "Context", "dead", "lock", "deadlock", "deadloc\u212a",
	"TODO", "x", "qux", "é", "É", "λ", "漢字", "字", "1", "12.3", "1.2.3.4", " ", " ", " ", "\t", "_", ".", "(", `"`, "\n", "\n", "\n", "\n", "\r\n", "\r", "\n\n", "the quick brown", "zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz",
}

func randomContent(r *rand.Rand, n int, stray bool) []byte {
	var b []byte
	for len(b) < n {
		b = append(b, randomWords[r.Intn(len(randomWords))]...)
		if stray && r.Intn(8) == 0 {
			b = append(b, []string{"\xff", "\xc3", "\xe2\x84", "\x80", "\xf0\x9f"}[r.Intn(5)]...)
		}
	}
	return b
}

func toUTF16(text string, order binary.AppendByteOrder) []byte {
	b := order.AppendUint16(nil, 0xFEFF)
	for _, u := range utf16.Encode([]rune(text)) {
		b = order.AppendUint16(b, u)
	}
	return b
}

// plainSearch is what the engine is for, with package regexp over every line.
func plainSearch(re *regexp.Regexp, files map[string]string, keepCR bool) []string {
	var found []string
	for name, text := range files {
		lines := strings.Split(text, "\n")
		if lines[len(lines)-1] == "" {
			lines = lines[:len(lines)-1]
		}
		for i, l := range lines {
			if !keepCR {
				l = strings.TrimSuffix(l, "\r")
			}
			if re.MatchString(l) {
				found = append(found, fmt.Sprintf("%s:%d", name, i+1))
			}
		}
	}
	slices.Sort(found)
	return found
}

// TestRandomSearches compares searches of all kinds with package regexp: expressions,
// plain text, whole words, any case, over several lines, in files with carriage returns,
// stray bytes and UTF-16, in blocks of several sizes.
func TestRandomSearches(t *testing.T) {
	seed := int64(31)
	if os.Getenv("SEARCH_FUZZ") != "" {
		seed = int64(os.Getpid())
	}
	r := rand.New(rand.NewSource(seed))
	searches := func(round int) {
		strict := r.Intn(2) == 0
		dir := t.TempDir()
		files := map[string]string{}
		for i := range 1 + r.Intn(6) {
			name := fmt.Sprintf("f%d", i)
			b := randomContent(r, []int{0, 30, 300, 3000, 9000}[r.Intn(5)], strict)
			files[name] = string(b)
			switch {
			case strict:
			case r.Intn(6) == 0:
				b = toUTF16(string(b), binary.LittleEndian)
			case r.Intn(6) == 0:
				b = toUTF16(string(b), binary.BigEndian)
			case r.Intn(6) == 0:
				b = append([]byte("\xef\xbb\xbf"), b...)
			}
			write(t, dir, name, string(b))
		}
		root, err := os.OpenRoot(dir)
		require.NoError(t, err)
		defer root.Close()
		engines := []*Engine{New(Options{}), New(Options{portable: true}), New(Options{block: 1 << 10}), New(Options{block: 64})}
		for range 60 {
			expr := randomExpr(r, 1+r.Intn(4), strict)
			q := Query{Limit: -1, MaxPerFile: -1, LineWidth: -1}
			source := expr
			if q.Literal = r.Intn(6) == 0; q.Literal {
				expr = strings.NewReplacer(`\`, "", "\n", "").Replace(string(randomContent(r, 1+r.Intn(12), false)))
				expr, _, _ = strings.Cut(expr, "\n")
				source = regexp.QuoteMeta(expr)
			}
			if expr == "" || len(expr) > 1000 {
				continue
			}
			flags := "m"
			if r.Intn(3) == 0 {
				q.Case, flags = pattern.Insensitive, "mi"
			}
			if q.Multiline = r.Intn(5) == 0; q.Multiline {
				flags += "s"
			}
			if q.Word = r.Intn(5) == 0; q.Word {
				left, right := `\b`, `\b`
				runes := []rune(expr)
				word := func(c rune) bool { return c == '_' || c < 128 && (unicode.IsLetter(c) || unicode.IsDigit(c)) }
				if q.Literal && !word(runes[0]) {
					left = ""
				}
				if q.Literal && !word(runes[len(runes)-1]) {
					right = ""
				}
				source = left + "(?:" + source + ")" + right
			}
			q.Pattern = expr
			re, err := regexp.Compile("(?" + flags + ":" + source + ")")
			require.NoError(t, err, expr)
			p, err := pattern.Compile(expr, pattern.Options{Case: q.Case, Literal: q.Literal, Word: q.Word, Multiline: q.Multiline})
			if err != nil { // too large, once written out
				continue
			}
			for i, e := range engines {
				name := fmt.Sprintf("seed %d round %d engine %d %s literal %v word %v (%s)", seed, round, i, re, q.Literal, q.Word, p.Strategy())
				res, err := e.Grep(t.Context(), root, q)
				require.NoError(t, err, name)
				require.True(t, res.Exact && res.Stats.Unreadable == 0, name)
				if p.Multiline {
					if i == 3 {
						continue
					}
					requireMultiline(t, re, files, p.KeepCR, res, name)
					continue
				}
				var got []string
				for _, f := range res.Files {
					for _, l := range f.Lines {
						got = append(got, fmt.Sprintf("%s:%d", f.Path, l.Number))
					}
				}
				slices.Sort(got)
				want := plainSearch(re, files, p.KeepCR)
				require.Equal(t, want, got, name)
				require.Equal(t, len(want), res.Matches, name)
			}
		}
	}
	for round := range gitRounds(8) {
		searches(round)
	}
}

// requireMultiline compares the matches in whole texts.
func requireMultiline(t *testing.T, re *regexp.Regexp, files map[string]string, keepCR bool, res *Result, name string) {
	t.Helper()
	counts := map[string]int{}
	for _, f := range res.Files {
		counts[f.Path] = f.Count
	}
	for file, text := range files {
		if !keepCR {
			text = strings.ReplaceAll(text, "\r\n", "\n")
		}
		n := 0
		for _, loc := range re.FindAllStringIndex(text, -1) {
			if loc[0] != len(text) || loc[0] > 0 && text[loc[0]-1] != '\n' {
				n++
			}
		}
		require.Equal(t, n, counts[file], "%s in %s", name, file)
	}
}
