//go:build unix

package shellscan

import (
	"context"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A scriptMaker writes random texts in the shape of shell, with one command that must not run.
type scriptMaker struct {
	r     *rand.Rand
	depth int
}

func (g *scriptMaker) pick(list ...string) string { return list[g.r.IntN(len(list))] }

func (g *scriptMaker) command() string {
	if g.depth++; g.depth > 6 {
		return g.pick("marker", ":", "true", "echo a")
	}
	defer func() { g.depth-- }()
	switch g.r.IntN(34) {
	case 0, 1, 2:
		return g.pick("marker", "mark\\er", "'marker'", "mark''er", "$'marker'", "$'\\x6darker'", "\"marker\"", "{marker,}", "m{arker,}", "marker x")
	case 3:
		return g.command() + g.pick(";", "\n", "&&", "||", "|", "&", "|&", ";;", " ; ", "\\\n;", "\r\n") + g.command()
	case 4:
		return "(" + g.command() + ")"
	case 5:
		return "{ " + g.command() + g.pick("; }", "\n}", " }")
	case 6:
		return "if " + g.command() + "; then " + g.command() + "; fi"
	case 7:
		return "for i in " + g.word() + "; do " + g.command() + "; done"
	case 8:
		return "case " + g.word() + " in " + g.word() + ") " + g.command() + g.pick(";;", ";&", ";;&", "") + " esac"
	case 9:
		return "f() { " + g.command() + "; }" + g.pick("", "; f", "\nf", "; echo")
	case 10:
		return g.pick("x", "y", "a", "f", "PATH", "IFS") + g.pick("=", "+=", "[0]=", "["+g.word()+"]=") + g.word() + g.pick("", " "+g.command(), "; "+g.command())
	case 11:
		return g.pick("eval", "command", "builtin", "exec", "time", "!", "coproc", "let", "declare", "export", "local", "unset", "read", "test", "[", "printf -v", "trap", "set", "shopt -s extglob;", "alias", "type",
			"declare -i", "export -n", "readonly", "typeset", "printf", "hash", "wait", "getopts", "mapfile", "source", ".", "[[", "((", "select", "until", "cd", "pushd", "shift", "return", "set --", "enable", "command -v", "test -v", "[ -v", "test -n") + " " + g.word() + g.pick("", " "+g.word(), " "+g.command(), " ]", " ]]", "))")
	case 12:
		return "[[ " + g.word() + " " + g.pick("==", "=", "!=", "=~", "-eq", "-nt", "&&", "||", "<") + " " + g.word() + " ]]"
	case 13:
		return "(( " + g.word() + " ))"
	case 14:
		return g.command() + " " + g.pick(">", ">>", "<", "<>", ">&", "&>", ">|", "2>", "<<<", "{fd}>", "<&") + g.pick("", " ") + g.word()
	case 15:
		d := g.pick("E", "'E'", "\\E", "\"E\"", "E F")
		return "cat <<" + g.pick("", "-") + d + "\n" + g.word() + "\n" + g.word() + "\n" + g.pick("E", "\tE", "E ", "") + "\n" + g.command()
	case 16:
		return "echo " + g.word() + " # " + g.word() + g.pick("", "\\") + "\n" + g.command()
	case 17:
		return "while " + g.command() + "; do " + g.command() + "; break; done"
	case 18:
		return "x=" + g.word() + "; $x"
	case 19:
		return "x='a[$(marker)]'; " + g.pick("echo $((x))", "((x))", "[[ x -eq 0 ]]", "echo ${a[x]}", "let x", "test x -eq 0", "[ x -eq 0 ]", "declare -i y=x", "echo ${s:x}", "printf -v $x y", "read $x", "unset $x", "test -v $x", "[ $x ]", "[ -v \"$x\" ]", "shift x", "return $x", "echo {1..$x}", "wait -n $x", "printf %d $x", "set -- $x", "for i in $x; do :; done")
	case 20:
		return "function " + g.pick("f", "f()", "f ()") + " " + g.pick("{ ", "( ", "") + g.command() + g.pick("; }", " )", "")
	case 21:
		return "trap " + g.word() + " " + g.pick("EXIT", "DEBUG", "ERR", "RETURN") + "; " + g.command()
	case 22:
		return "bash -c " + g.word()
	case 23:
		return "a=(" + g.word() + g.pick(" ", "\n") + g.word() + "\n)"
	case 24:
		return "x=mark; y=er; " + g.pick("$x$y", "\"$x$y\"", "${x}er", "$x'er'", "eval $x$y", "x=marker $x$y", "(x=ls; $x$y)", "x=$x; $x$y", "for x in marker; do $x; done")
	case 25:
		return "readonly x=marker; x=echo; $x"
	case 26:
		return "f() { local x=" + g.pick("echo", "marker") + "; }; x=" + g.pick("echo", "marker") + "; f; $x"
	case 27:
		return "x=" + g.pick("echo", "marker") + "; if " + g.pick("true", "false") + "; then x=" + g.pick("echo", "marker") + "; fi; $x"
	case 28:
		return "x=echo; for i in 1 2; do $x; x=marker; done"
	case 29:
		return "set " + g.pick("-e", "-k", "-n", "-x", "-o posix", "-a", "-u", "+e", "-f", "-H", "-v") + "; " + g.command()
	case 30:
		return g.pick("x=echo;", "x=marker;") + " " + g.pick("true", "false") + g.pick(" && ", " || ") + "x=marker" + g.pick(" && ", " || ", "; ", " | ") + "$x"
	}
	return g.pick(":", "true", "echo") + " " + g.word() + g.pick("", " "+g.word())
}

func (g *scriptMaker) word() string {
	if g.depth++; g.depth > 7 {
		return g.pick("a", "$x", "''", "marker")
	}
	defer func() { g.depth-- }()
	switch g.r.IntN(30) {
	case 0, 1:
		return "$(" + g.command() + ")"
	case 2:
		return "`" + g.command() + "`"
	case 3:
		return g.pick("<(", ">(") + g.command() + ")"
	case 4:
		return "\"" + g.word() + "\""
	case 5:
		return "'" + g.word() + "'"
	case 6:
		return "$'" + g.word() + "'"
	case 7:
		return "${x" + g.pick(":-", "-", ":=", ":+", "#", "##", "%", "/", "//", ":", "@", "^", "[", ":?") + g.word() + g.pick("}", "]}", "/"+g.word()+"}")
	case 8:
		return "$((" + g.word() + "))"
	case 9:
		return "$[" + g.word() + "]"
	case 10:
		return g.pick("@(", "?(", "*(", "+(", "!(") + g.word() + ")"
	case 11:
		return "{" + g.word() + "," + g.word() + "}"
	case 12:
		return g.word() + g.word()
	case 13:
		return "\\" + g.word()
	case 14:
		return "${ " + g.command() + "; }"
	case 15:
		return "${" + g.pick("!", "#") + "x}"
	case 16:
		return "a[" + g.word() + "]"
	case 17:
		return "x=" + g.word()
	case 18:
		return "$\"" + g.word() + "\""
	}
	return g.pick("a", "b", "x", "$x", "\"$x\"", "${x}", "$@", "\"$@\"", "*", "?", "~", "-n", "-v", "--", "1", "0", "=", "#", "!", "\\", "marker", "'marker'", "\"", "'", "{1..3}", "$?", "$1", "a=b", "if", "\t", "]]", "}", "$", "\\\n", "/dev/null", ";", "&")
}

// What the analysis would let run silently beside a rule that denies marker must not run marker. SHELLSCAN_BASHDIFF is how
// long to try, such as 5m; without it a fixed and small number of texts is tried.
func TestNothingHiddenFromBash(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash")
	}
	limit, tries, seed := time.Minute, 3000, uint64(1)
	if env := os.Getenv("SHELLSCAN_BASHDIFF"); env != "" {
		limit, err = time.ParseDuration(env)
		require.NoError(t, err)
		tries, seed = 1<<40, uint64(time.Now().UnixNano())
	}
	base, err := os.MkdirTemp("", "shellscan")
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(base) })
	dir, bin, hit := filepath.Join(base, "work"), filepath.Join(base, "bin"), filepath.Join(base, "hit")
	for _, d := range []string{dir, bin, hit} {
		require.NoError(t, os.Mkdir(d, 0o755))
		require.NoError(t, os.Chmod(d, 0o777))
	}
	require.NoError(t, os.Chmod(base, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(bin, "marker"), []byte("#!/bin/sh\n: > "+hit+"/x\n"), 0o755))
	require.NoError(t, os.Chmod(filepath.Join(bin, "marker"), 0o755))
	run := func(text string) {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		cmd := exec.CommandContext(ctx, bash, "--noprofile", "--norc", "-p", "-c", "ulimit -f 1000 -t 1 -u 200 2>/dev/null; eval \"$1\"", "bash", text)
		cmd.Dir = dir
		cmd.Env = []string{"PATH=" + bin, "HOME=" + dir}
		cmd.WaitDelay = 100 * time.Millisecond
		harmless(cmd)
		_ = cmd.Run()
		endGroup(cmd)
	}
	hits := func() bool {
		_, err := os.Stat(filepath.Join(hit, "x"))
		return err == nil
	}
	run("marker")
	require.True(t, hits(), "the marker cannot be run here")
	require.NoError(t, os.Remove(filepath.Join(hit, "x")))

	o := Options{Dir: dir, Home: dir, Roots: []string{dir}, Lookup: OS{}}
	rules := List{{"*", "*", Allow}, {"bash", "marker *", Deny}}
	start, made, ran := time.Now(), 0, 0
	for ; made < tries && time.Since(start) < limit; made++ {
		g := &scriptMaker{r: rand.New(rand.NewPCG(seed, uint64(made)))}
		text := g.command()
		if !strings.Contains(text, "mark") {
			continue
		}
		if Analyze(text, o).Judge(rules).Action != Allow {
			continue
		}
		ran++
		run(text)
		if hits() {
			t.Errorf("bash runs marker in %q (seed %d, %d)", text, seed, made)
			require.NoError(t, os.Remove(filepath.Join(hit, "x")))
		}
	}
	t.Logf("%d texts, %d run", made, ran)
	require.Positive(t, ran)
}
