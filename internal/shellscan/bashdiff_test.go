//go:build unix

package shellscan

import (
	"context"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A scriptMaker writes random texts in the shape of shell, with one command that must not run.
type scriptMaker struct {
	r     *rand.Rand
	depth int
	wide  bool // with programs, see widediff_test.go
}

func (g *scriptMaker) text() string {
	if !g.wide {
		return g.command()
	}
	switch g.r.IntN(10) {
	case 0, 1, 2:
		return g.wrapped()
	case 3, 4, 5:
		return g.files()
	case 6, 7:
		return g.stateful()
	case 8:
		return g.stateful() + g.pick("; ", "\n", " && ") + g.wrapped()
	}
	return g.command()
}

func (g *scriptMaker) pick(list ...string) string { return list[g.r.IntN(len(list))] }

func (g *scriptMaker) command() string {
	if g.depth++; g.depth > 6 {
		return g.pick("marker", ":", "true", "echo a")
	}
	defer func() { g.depth-- }()
	if g.wide && g.r.IntN(3) == 0 {
		return g.text()
	}
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

// A playground is where generated texts are run: a directory with a few files, a directory of programs, and one beside that
// must stay as it is.
type playground struct {
	base, dir, bin, hit, outside, home string

	bash string
}

func newPlayground(t *testing.T, bash string, programs []string) *playground {
	base, err := os.MkdirTemp("", "shellscan")
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(base) })
	p := &playground{
		base: base, bash: bash, dir: filepath.Join(base, "work"), bin: filepath.Join(base, "bin"), hit: filepath.Join(base, "hit"),
		outside: filepath.Join(base, "outside"), home: filepath.Join(base, "home"),
	}
	for _, d := range []string{p.bin, p.hit, p.home, p.outside} {
		require.NoError(t, os.Mkdir(d, 0o755))
		require.NoError(t, os.Chmod(d, 0o777))
	}
	require.NoError(t, os.Chmod(base, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(p.bin, "marker"), []byte("#!/bin/sh\n: > "+p.hit+"/x\n"), 0o755))
	require.NoError(t, os.Chmod(filepath.Join(p.bin, "marker"), 0o755))
	require.NoError(t, os.Chmod(p.bin, 0o755))
	for _, name := range programs {
		if path, err := exec.LookPath(name); err == nil {
			require.NoError(t, os.Symlink(path, filepath.Join(p.bin, name)))
		}
	}
	p.reset(t)
	return p
}

// reset makes the directories what they were.
func (p *playground) reset(t *testing.T) {
	list, err := os.ReadDir(p.base)
	require.NoError(t, err)
	for _, e := range list {
		if !slices.Contains(baseNames(p.base), filepath.Base(p.base)+"/"+e.Name()) {
			require.NoError(t, os.RemoveAll(filepath.Join(p.base, e.Name())))
		}
	}
	for _, d := range []string{p.dir, p.outside, p.home} {
		require.NoError(t, filepath.WalkDir(d, func(path string, e os.DirEntry, err error) error {
			if err == nil && e.IsDir() {
				return os.Chmod(path, 0o777)
			}
			return nil
		}))
		require.NoError(t, os.RemoveAll(d))
		require.NoError(t, os.Mkdir(d, 0o755))
		require.NoError(t, os.Chmod(d, 0o777))
	}
	for name, target := range map[string]string{"l": "../outside", "ld": "d", "lf": "../outside/o", "d/l2": "../../outside"} {
		require.NoError(t, os.MkdirAll(filepath.Join(p.dir, "d"), 0o755))
		require.NoError(t, os.Chmod(filepath.Join(p.dir, "d"), 0o777))
		require.NoError(t, os.Symlink(target, filepath.Join(p.dir, name)))
	}
	for _, name := range []string{filepath.Join(p.dir, "f"), filepath.Join(p.outside, "o")} {
		require.NoError(t, os.WriteFile(name, []byte("a\nmarker\n"), 0o644))
		require.NoError(t, os.Chmod(name, 0o666))
	}
}

func (p *playground) run(t *testing.T, text string) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, p.bash, "--noprofile", "--norc", "-p", "-c", "ulimit -f 1000 -t 1 2>/dev/null; eval \"$1\"", "bash", text)
	cmd.Dir = p.dir
	cmd.Env = []string{"PATH=" + p.bin, "HOME=" + p.home}
	cmd.WaitDelay = 100 * time.Millisecond
	harmless(cmd)
	_ = cmd.Run()
	endGroup(cmd)
}

// marked reports whether marker has run since the last time.
func (p *playground) marked() bool { return os.Remove(filepath.Join(p.hit, "x")) == nil }

// changed returns what is not as it was outside of the directory.
func (p *playground) changed() string {
	var out []string
	for _, d := range []string{p.outside, p.home, p.base} {
		list, err := os.ReadDir(d)
		if err != nil {
			return err.Error()
		}
		for _, e := range list {
			out = append(out, filepath.Base(d)+"/"+e.Name())
		}
	}
	b, err := os.ReadFile(filepath.Join(p.outside, "o"))
	if err == nil && string(b) == "a\nmarker\n" && strings.Join(out[1:], " ") == strings.Join(baseNames(p.base), " ") {
		return ""
	}
	return strings.Join(out, " ")
}

// runsCode reports whether a command has code in another language, which is not looked into under a rule for everything.
func runsCode(s *Script) bool {
	return slices.ContainsFunc(s.Commands, func(c Command) bool {
		return slices.ContainsFunc(c.Risks, func(r Reason) bool { return r.Kind == KindCode || r.Kind == KindExec })
	})
}

func baseNames(base string) []string {
	name := filepath.Base(base)
	return []string{name + "/bin", name + "/hit", name + "/home", name + "/outside", name + "/work"}
}

// What the analysis would let run silently beside a rule that denies marker must not run marker, and what it would let run
// silently beside one that asks about directories outside must change nothing there. SHELLSCAN_BASHDIFF is how long to try,
// such as 5m; without it a fixed and small number of texts is tried. To try long, run it as nobody inside of bubblewrap:
// with that, and where the tests have the rights to give texts process ids of their own, more is tried.
func TestNothingHiddenFromBash(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash")
	}
	limit, tries, seed := time.Minute, 3000, uint64(1)
	if env := os.Getenv("SHELLSCAN_BASHDIFF"); env != "" {
		if !sealed() {
			t.Skip("nothing here keeps random texts from the rest of the system: run this as nobody, in a namespace")
		}
		limit, err = time.ParseDuration(env)
		require.NoError(t, err)
		tries, seed = 1<<40, uint64(time.Now().UnixNano())
	}
	for _, wide := range []bool{false, true} {
		if wide && os.Getenv("SHELLSCAN_BASHDIFF") == "" {
			tries /= 5 // each may start several programs
		}
		if wide && !sealed() {
			continue
		}
		var programs []string
		if wide {
			programs = widePrograms
		}
		p := newPlayground(t, bash, programs)
		p.run(t, "marker")
		require.True(t, p.marked(), "the marker cannot be run here")
		o := Options{Dir: p.dir, Home: p.home, Roots: []string{p.dir}, Lookup: OS{}}
		deny := List{{"*", "*", Allow}, {"bash", "marker *", Deny}}
		outside := List{{"*", "*", Allow}, {"external_directory", "*", Ask}}
		start, made, ran := time.Now(), 0, 0
		for ; made < tries && time.Since(start) < limit/2; made++ {
			g := &scriptMaker{r: rand.New(rand.NewPCG(seed, uint64(made))), wide: wide}
			text := g.text()
			s := Analyze(text, o)
			quiet := strings.Contains(text, "mark") && s.Judge(deny).Action == Allow
			inside := wide && len(s.Opaque) == 0 && s.Unparsed == nil && !runsCode(s) && s.Judge(outside).Action == Allow
			if !quiet && !inside {
				continue
			}
			ran++
			p.run(t, text)
			if p.marked() && quiet {
				t.Errorf("bash runs marker in %q (seed %d, %d, %v)", text, seed, made, wide)
			}
			if what := p.changed(); what != "" && inside {
				t.Errorf("bash leaves the directory in %q (seed %d, %d): %s", text, seed, made, what)
			}
			if wide || p.changed() != "" {
				p.reset(t)
			}
		}
		t.Logf("%d texts, %d run", made, ran)
		require.Positive(t, ran)
	}
}
