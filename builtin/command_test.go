package builtin

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agenttool/tool/permission"
	"github.com/agenttool/tool/tooltest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAnalyse(t *testing.T) {
	b := newBench(t, "-- sub/x --\n", Config{})
	home, err := os.UserHomeDir()
	require.NoError(t, err)
	for _, c := range []struct {
		text             string
		patterns, always string // joined by " | "
		external, writes string
		simple           bool
	}{
		{"git status", "git status", "git status *", "", "", true},
		{"git status --short && go test ./... | tail -5", "git status --short | go test ./... | tail -5", "git status * | go test * | tail *", "", "", true},
		{"ls; ls\nls -la", "ls | ls -la", "ls *", "", "", true},
		{`'git' st\atus`, "git status", "git status *", "", "", true},
		{`git "status --short"`, "git 'status --short'", "git 'status --short'", "", "", true},
		{"go vet 2>&1 >/dev/null", "go vet", "go vet *", "", "", true},
		{"git -C sub status", "git -C sub status", "git -C sub status", "", "", true},
		{"npm run build", "npm run build", "npm run build *", "", "", true},
		{"rm -rf sub", "rm -rf sub", "rm -rf sub", "", "", true},
		{"sudo ls", "sudo ls", "sudo ls", "", "", true},
		{"/bin/rm x", "/bin/rm x", "/bin/rm x", "", "", true},
		{"git push", "git push", "git push", "", "", true},
		{"python3 x.py", "python3 x.py", "python3 x.py", "", "", true},
		{"cd sub", "", "", "", "", true},
		{"cd sub && go build", "go build", "go build *", "", "", true},
		{"cd .. && ls", "ls", "ls *", "<up>", "", true},
		{"cd sub && cat ../../x", "cat ../../x", "cat *", "<up>", "", true},
		{"cd sub && cat ../x && cat ../y", "cat ../x | cat ../y", "cat *", "", "", true},
		{"cd sub; cat ../x", "cat ../x", "cat *", "<up>", "", true},
		{"cd sub && cd .. && cat ../x", "cat ../x", "cat *", "<up>", "", true},
		{"cat /etc/passwd", "cat /etc/passwd", "cat *", "/etc", "", true},
		{"cat --file=/etc/passwd", "cat --file=/etc/passwd", "cat *", "/etc", "", true},
		{"cat ~/x", "cat ~/x", "cat *", home, "", true},
		{"cat /dev/null", "cat /dev/null", "cat *", "", "", true},

		{"FOO=1 rm x", "FOO=1 rm x | rm x", "", "", "", false},
		{"echo hi > out", "echo hi > out | echo hi", "", "", "out", false},
		{"echo hi > ../out", "echo hi > ../out | echo hi", "", "<up>", "../out", false},
		{"echo $(rm x)", "echo $(rm x) | echo <unknown> | rm x", "", "", "", false},
		{"rm *", "rm * | rm <unknown>", "", "", "", false},
		{"$X y", "$X y | <unknown> y", "", "", "", false},
		{"if true; then rm x; fi", "if true; then rm x; fi | true | rm x", "", "", "", false},
		{"sleep 1 &", "sleep 1 & | sleep 1", "", "", "", false},
		{"f() { rm x; }; f", "f() { rm x; }; f | rm x | f", "", "", "", false},
		{"cat < /etc/passwd", "cat < /etc/passwd | cat", "", "/etc", "", false},
		{"if then", "if then", "", "", "", false},
		{"echo \x1b[2J", "echo \x1b[2J", "", "", "", false},
		{"echo \u202egnp", "echo \u202egnp", "", "", "", false},
	} {
		t.Run(c.text, func(t *testing.T) {
			a := b.ts.analyse(c.text, b.dir)
			up := filepath.Dir(b.dir)
			assert.Equal(t, c.patterns, strings.Join(a.Patterns, " | "))
			assert.Equal(t, c.always, strings.Join(a.Always, " | "))
			assert.Equal(t, strings.ReplaceAll(c.external, "<up>", up), strings.Join(a.ExternalDirs, " | "))
			if c.writes != "" {
				assert.Equal(t, []string{filepath.Join(b.dir, c.writes)}, a.Writes)
			} else {
				assert.Empty(t, a.Writes)
			}
			assert.Equal(t, c.simple, len(a.Reasons) == 0, "%v", a.Reasons)
		})
	}
}

// TestAnalyseDoesNotBreak: no text makes the parser overflow or take long.
func TestAnalyseDoesNotBreak(t *testing.T) {
	b := newBench(t, "", Config{})
	for _, text := range []string{
		strings.Repeat("(", 1_000_000), strings.Repeat("((", 30_000), strings.Repeat("$(", 30_000), strings.Repeat("{ ", 30_000),
		strings.Repeat("if ", 20_000), strings.Repeat("! ", 30_000), strings.Repeat("while ", 10_000), strings.Repeat("a|", 30_000),
		strings.Repeat("`", 60_000), strings.Repeat("a && ", 12_000), strings.Repeat("echo x;", 9_000), strings.Repeat("<<a ", 15_000),
		strings.Repeat("case x in x) ", 1000), strings.Repeat("[[ ", 20_000), strings.Repeat("\"${x:-", 10_000), "echo <(a)", "printf -v 'a[$(b)]' x",
	} {
		start := time.Now()
		a := b.ts.analyse(text, b.dir)
		assert.NotEmpty(t, a.Patterns)
		assert.Less(t, time.Since(start), 20*time.Second, "%.20q", text)
	}
}

// TestRulesHoldInside: what a rule denies is not to be had by wrapping it, and
// what it allows does not take anything else along.
func TestRulesHoldInside(t *testing.T) {
	b := newBench(t, "", Config{})
	rules, err := permission.ParseConfig([]byte(`{"*":"allow","bash":{"*":"ask","git *":"allow","echo *":"allow","rm *":"deny"}}`))
	require.NoError(t, err)
	for _, c := range []struct {
		text string
		want permission.Action
	}{
		{"git log", permission.Allow},
		{"git log && git status", permission.Allow},
		{"git log; curl x", permission.Ask},
		{"git log $(curl x)", permission.Ask},
		{"git log; GIT_PAGER=evil git log", permission.Ask},
		{"git log <(curl x)", permission.Ask},
		{"git log `rm x`", permission.Deny},
		{"echo hi; rm x", permission.Deny},
		{`echo hi; r\m x`, permission.Deny},
		{"FOO=1 rm x", permission.Deny},
		{"echo hi > out; rm x", permission.Deny},
		{"git() { curl x; }; git log", permission.Ask},
	} {
		p, err := b.ts.Plan(t.Context(), tooltest.NewCall("bash", in{"command": c.text}))
		require.NoError(t, err)
		assert.Equal(t, c.want, permission.Explain(p.Requests, rules).Decision, c.text)
	}
}

// FuzzAnalyse: what is offered for good always covers what was asked, and a text
// is never without a question unless it only changes directory.
func FuzzAnalyse(f *testing.F) {
	for _, s := range []string{
		"git status", "a && b || c | d ; e", "echo 'a b' \"c\\\"d\"", "x=1 y", "cd a; rm b", "a > b 2>&1", "$(a) `b` <(c)", "a <<x\ny\nx", "git -c x log",
		"for i in a; do b; done", "a\\\nb", "'' x", "rm *",
	} {
		f.Add(s)
	}
	b := newBench(f, "", Config{})
	f.Fuzz(func(t *testing.T, text string) {
		if strings.TrimSpace(text) == "" {
			return
		}
		a := b.ts.analyse(text, b.dir)
		for _, g := range a.Always {
			covers := false
			for _, p := range a.Patterns {
				covers = covers || permission.Match(g, p)
			}
			if !covers || g == "*" || strings.HasPrefix(g, "*") {
				t.Fatalf("%q offers %q for %q", text, g, a.Patterns)
			}
		}
		if len(a.Reasons) > 0 && len(a.Always) > 0 {
			t.Fatalf("%q offers %q although %q", text, a.Always, a.Reasons)
		}
		if len(a.Patterns) == 0 {
			for _, argv := range a.Commands {
				if *argv[0] != "cd" {
					t.Fatalf("%q asks nothing", text)
				}
			}
		}
	})
}
