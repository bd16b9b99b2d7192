package shellscan

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"mvdan.cc/sh/v3/syntax"
)

// evalWord returns the words that the analysis makes of one word, and whether it knows them.
func evalWord(text string) ([]string, bool) {
	if gate(text) != "" {
		return nil, false
	}
	stmts, err := parse("printf "+text, Bash)
	if err != nil || len(stmts) != 1 || len(stmts[0].Redirs) > 0 {
		return nil, false
	}
	c, ok := stmts[0].Cmd.(*syntax.CallExpr)
	if !ok || len(c.Assigns) > 0 {
		return nil, false
	}
	s := &Script{Text: "printf " + text, opts: Options{Dir: "/w", Home: "/home/u"}}
	v := &visitor{s: s, tables: tablesFor("", ""), span: [2]int{-1, -1}, text: s.Text, seen: map[string]int{}}
	v.fs = newResolver(&s.opts)
	var out []string
	for _, w := range v.args(c.Args[1:], &state{dirs: []string{"/w"}}) {
		if w.Dynamic || w.Multi {
			return nil, false
		}
		out = append(out, w.Text)
	}
	return out, len(s.Opaque) == 0
}

// bashWords asks bash, in an empty directory and without any program to start.
func bashWords(t testing.TB, bash, dir, text string) ([]string, bool) {
	cmd := exec.CommandContext(t.Context(), bash, "--noprofile", "--norc", "-p", "-c", `printf '%s\0' x `+text)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + dir, "HOME=/home/u", "LC_ALL=C.UTF-8"}
	harmless(cmd)
	out, err := cmd.Output()
	if err != nil || !bytes.HasSuffix(out, []byte{0}) {
		return nil, false
	}
	return strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")[1:], true
}

var wordCorpus = []string{
	`a`, `'a'`, `"a"`, `a'b'c`, `a"b"c`, `\a`, `a\ b`, `"a b"`, `'a b'`, `''`, `""`, `a''`, `"\a"`, `"\$x"`, `"\""`, `"\\"`, "\"\\`\"", `'\'`, `\\`, `\'`, `\"`, `"'"`, `'"'`,
	"a\\\nb", "\"a\\\nb\"", "'a\\\nb'", `$'a'`, `$'\n'`, `$'\t\e\a\b\f\v\r'`, `$'\\\'\"\?'`, `$'\101'`, `$'\1'`, `$'\0'`, `$'a\0b'`, `$'\x41'`, `$'\x4'`, `$'\xg'`, `$'\x'`, `$'\u41'`,
	`$'\u0041'`, `$'\U41'`, `$'\U00000041'`, `$'\cA'`, `$'\ca'`, `$'\c'`, `$'\q'`, `$'\1011'`, `$'\777'`, `$'\x411'`, `$'a\x00b'`, `$'\u'`, `$'\8'`, `"$'a'"`, `$"a"`, `a$'b'c`, `$`, `a$`, `"$"`, `"a$"`, `$'\u00000041'`,
	`{a,b}`, `{a,b`, `a,b}`, `{a}`, `{}`, `{,}`, `{a,}`, `{,a}`, `x{a,b}y`, `{a,b}{c,d}`, `{a,{b,c}}`, `{{a,b},c}`, `{a,b}{`, `}{a,b}`, `{a,b,c}`, `{{a,b}}`, `{a{b,c}d}`, `{a}b,c}`, `{"a",b}`, `{a\,b,c}`,
	`{'a,b',c}`, `\{a,b}`, `{a,b\}`, `"{a,b}"`, `{1..3}`, `{3..1}`, `{1..1}`, `{01..3}`, `{1..03}`, `{001..10}`, `{-1..1}`, `{1..-1}`, `{a..c}`, `{c..a}`, `{a..C}`, `{1..10..3}`, `{10..1..3}`, `{1..3..0}`, `{1..3..-1}`,
	`{a..e..2}`, `{1..a}`, `{a..1}`, `{1...3}`, `{1..}`, `{..3}`, `{1..3}x`, `x{1..3}`, `{1..3}{a,b}`, `{1..3..}`, `{1..3..x}`, `{+1..3}`, `{-01..1}`, `{ab..c}`, `{a,b..c}`, `{a..c,d}`, `{{1..3},x}`, `{x,{1..3}}`, `a{b}c{d,e}`,
	`{}{a,b}`, `a{}b`, `x{},y}`, `{a,b}}`, `{{a,b}`, `{a,{b}`, `{a,{b,c}`, `{,,}`, `{a,,b}`, `-{a,b}`, `{-a,--b}`, `{a,b}={c,d}`, `{a, b}`, `{a,b }`, `{1..2}{3..4}`, `{0..10..5}`, `{z..x}`, `{A..C}`, `{9..11}`, `{-3..-1}`, `{1..3..2}`,
	`~`, `~/`, `~/x`, `\~`, `'~'`, `"~"`, `x~`, `~x`, `a=~`, `a=~/x`, `a=b:~`, `a=~:~/x`, `--a=~`, `a:~`, `=~`, `a=\~`, `a='~'`, `a+=~`, `1=~`, `~'x'`, `~"/x"`, `~/"x y"`, `{~,x}`, `{~/a,b}`, `a-b=~`, `~~`, `~:`, `_=~/a:~`,
	`*`, `a*`, `?`, `[a]`, `[a`, `a]`, `\*`, `'*'`, `"*"`, `[!a]*`, `a\?b`, `*.go`, `**`, `[a-z]`, `[[:alpha:]]`, `.*`, `[`, `]`, `[]`, `[]]`,
	`$HOME`, `"$HOME"`, `${HOME}/x`, `"${HOME}"/"x"`, `a$HOME`, `'$HOME'`, `\$HOME`, `$HOME$HOME`,
	`é`, `'é'`, `日本`, `{é,ü}`, `\é`, `$'é'`, `"é\é"`, `a=b`, `a=b=c`, `=`, `-`, `--`, `-a`, `--a=b`, `a#b`, `\#`, `'#'`, `a\#`, `%`, `@`, `a:b`, `!`, `a!b`, `"a!b"`, `^`, `a^b`, `,`, `.`, `..`, `/`, `//`, `a/b`, `./a`, `+`,
	"$'\\\n'", "a'\n'b", "\"\n\"", "$'a\nb'", `"a\nb"`, `a\nb`, `"a\tb"`, `"\!"`, `"\a\b"`, `'a'\''b'`, `"a"'b'$'c'd\e`, `""''`, `''a`, `$''`, `$'' a`, `"" ''`, `a b`, `a  b`, "a\tb", `'' ''`,
	`if`, `then`, `\if`, `"for"`, `{`, `}`, `!a`, `[[`, `]]`, `time`, `function`, `a{b,c}{d`, `{a,b}\ c`, `{a,"b c"}`, `{a,b}"*"`, `{a,'*'}`, `{a,\*}`, `{a,$'\t'}`, `x{a,b}'{c,d}'`,
}

// Word evaluation must agree with bash on every word that it claims to know.
func TestWordsAgainstBash(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash")
	}
	dir := t.TempDir()
	require.NoError(t, os.Chmod(dir, 0o755))
	require.NoError(t, os.Chmod(filepath.Dir(dir), 0o755))
	known := 0
	for _, w := range wordCorpus {
		got, ok := evalWord(w)
		if !ok {
			continue
		}
		known++
		want, ok := bashWords(t, bash, dir, w)
		if !ok {
			t.Errorf("%q: bash refuses what the analysis takes for %q", w, got)
			continue
		}
		if strings.Join(got, "\x00") != strings.Join(want, "\x00") || len(got) != len(want) {
			t.Errorf("%q: got %q, bash has %q", w, got, want)
		}
	}
	require.Greater(t, known, len(wordCorpus)*8/10, "too few words are known")
}
