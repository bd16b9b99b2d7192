package builtin

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/agenttool/tool"
	"github.com/agenttool/tool/tooltest"
	"github.com/agenttool/tool/truncate"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func needShell(t testing.TB) {
	if runtime.GOOS == "windows" {
		t.Skip("processes are tested on Unix")
	}
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("no bash")
	}
}

// hang is far above what any of these tests takes.
const hang = 20 * time.Second

func TestBash(t *testing.T) {
	needShell(t)
	b := newBench(t, "-- sub/x --\n", Config{Env: []string{"MINE=1", "DROP"}})
	for _, c := range []struct {
		name  string
		input in
		text  string // without the time
		exit  any
	}{
		{"output", in{"command": "echo hi"}, "hi\n[exit 0", 0},
		{"both streams, in order", in{"command": "echo a; echo b >&2; echo c"}, "a\nb\nc\n[exit 0", 0},
		{"exit code", in{"command": "exit 3"}, "(no output)\n[exit 3", 3},
		{"workdir", in{"command": "pwd", "workdir": "sub"}, b.path("sub") + "\n[exit 0", 0},
		{"no input", in{"command": "cat; read x; echo $?"}, "1\n[exit 0", 0},
		{"not UTF-8", in{"command": `printf '\xff\n'`}, "\uFFFD\n[exit 0", 0},
		{"environment", in{"command": "echo $MINE$DROP $PAGER $GIT_TERMINAL_PROMPT $NO_COLOR $TERM"}, "1 cat 0 1 dumb\n[exit 0", 0},
		{"signal", in{"command": "kill -9 $$"}, "(no output)\n[killed by SIGKILL", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			res, err := b.run("bash", c.input)
			require.NoError(t, err)
			assert.False(t, res.IsError)
			text := res.Text[:strings.LastIndexByte(res.Text, ',')]
			assert.Equal(t, c.text, text)
			assert.Equal(t, c.exit, res.Metadata["exit"])
			assert.Equal(t, false, res.Metadata["timedOut"])
			assert.Equal(t, false, res.Metadata["aborted"])
			assert.Equal(t, text[:strings.LastIndexByte(text, '\n')], res.Metadata["output"])
		})
	}
	assert.Contains(t, b.fails("bash", in{"command": " "}), "empty")
	assert.Contains(t, b.fails("bash", in{"command": "a\x00b"}), "NUL")
	assert.Contains(t, b.fails("bash", in{"command": strings.Repeat("x", 200_000)}), "write it to a file")
	assert.Contains(t, b.fails("bash", in{"command": "ls", "workdir": "sub/x"}), "is not a directory")
	assert.Contains(t, b.fails("bash", in{"command": "ls", "workdir": "nope"}), "is not a directory")
	assert.Contains(t, b.fails("bash", in{"command": "ls", "timeout": 600001}), "/timeout")
	assert.Equal(t, []string(nil), b.asks())
}

func TestBashPermissions(t *testing.T) {
	needShell(t)
	outside := tooltest.Workspace(t, "-- o --\n")
	b := newBench(t, "-- .env --\nS=1\n", Config{})
	b.ok("bash", in{"command": "ls", "workdir": outside})
	assert.Equal(t, []string{"external_directory " + outside + "/*", "bash ls"}, b.asks())
	b.ok("bash", in{"command": "cat .env"})
	assert.Equal(t, []string{"read .env", "bash cat .env"}, b.asks())
	assert.True(t, b.asked[0].Protected)
	b.ok("bash", in{"command": "echo x > made.txt"})
	assert.Equal(t, []string{"edit made.txt", "bash echo x"}, b.asks())
	b.ok("bash", in{"command": "mkdir -p .git/hooks; echo x > .git/hooks/pre-commit"})
	assert.Equal(t, "edit", b.asked[0].Permission)
	assert.True(t, b.asked[0].Protected)
}

// TestBashEnvironmentIsHarmless: nothing in the environment makes the shell run
// something, or something else than was asked about.
func TestBashEnvironmentIsHarmless(t *testing.T) {
	needShell(t)
	script := tooltest.Workspace(t, "-- evil.sh --\necho EVIL\n") + "/evil.sh"
	t.Setenv("BASH_ENV", script)
	t.Setenv("ENV", script)
	t.Setenv("BASH_FUNC_ls%%", "() { echo EVIL; }")
	t.Setenv("SHELLOPTS", "xtrace")
	t.Setenv("GOCACHE", "/some/cache")
	b := newBench(t, "-- only.txt --\n", Config{})
	assert.Contains(t, b.ok("bash", in{"command": "ls"}), "only.txt\n[exit 0")
	text := b.ok("bash", in{"command": "env"})
	assert.NotContains(t, text, "EVIL")
	assert.NotContains(t, text, "evil.sh")
	for _, keep := range []string{"HOME=", "PATH=", "GOCACHE=/some/cache"} {
		if _, ok := os.LookupEnv(strings.Split(keep, "=")[0]); ok {
			assert.Contains(t, text, keep)
		}
	}
}

// TestBashReturns: whatever a command leaves behind, the call returns, with the
// output, and what was left behind is ended.
func TestBashReturns(t *testing.T) {
	needShell(t)
	b := newBench(t, "", Config{Limits: Limits{KillGrace: 200 * time.Millisecond}})
	for _, c := range []struct {
		name, command string
		timeout       int
		want          string
		timedOut      bool
	}{
		{"background child holds the pipe", "sleep 60 & echo hi", 0, "left running as job_1: sleep 60 (pid ", false},
		{"late output", "(sleep 0.05; echo late) & echo hi", 0, "[exit 0", false},
		{"endless background writer", "(while :; do echo x; sleep 0.05; done) & exit 4", 0, "[exit 4, ", false},
		{"timeout", "echo start; sleep 60", 200, "start\n[timed out after 200ms", true},
		{"timeout, TERM ignored", "trap '' TERM; echo start; while :; do sleep 1; done", 200, "start\n[timed out after 200ms", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			input := in{"command": c.command}
			if c.timeout > 0 {
				input["timeout"] = c.timeout
			}
			start := time.Now()
			res, err := b.run("bash", input)
			require.NoError(t, err)
			assert.Less(t, time.Since(start), hang)
			assert.Contains(t, res.Text, c.want)
			assert.Equal(t, c.timedOut, res.Metadata["timedOut"])
		})
	}
}

// TestBashChangesFiles: files that were read and that a command changed are named, once.
func TestBashChangesFiles(t *testing.T) {
	needShell(t)
	b := newBench(t, "-- a.go --\npackage a\n-- b.go --\npackage b\n-- c.go --\npackage c\n", Config{})
	for _, f := range []string{"a.go", "b.go", "c.go"} {
		b.ok("read", in{"filePath": f})
	}
	assert.NotContains(t, b.ok("bash", in{"command": "cat *.go; touch a.go"}), "changed since")
	// The time for looking is bounded, so that a slow machine may need another go.
	var text strings.Builder
	var changed []string
	look := func(res *tool.Result, err error) {
		require.NoError(t, err)
		text.WriteString(res.Text + "\n")
		list, _ := res.Metadata["changedFiles"].([]string)
		changed = append(changed, list...)
	}
	look(b.run("bash", in{"command": "sed -i s/package/PACKAGE/ a.go; rm c.go"}))
	for range 20 {
		look(b.run("bash", in{"command": "true"}))
	}
	assert.ElementsMatch(t, []string{"a.go", "c.go"}, changed, "each once")
	assert.Regexp(t, `\]\n\[changed since you read them: .*c\.go \(gone\)\]\n`, text.String())

	changed = nil
	b.ok("bash", in{"command": "while read x; do echo $x >> b.go; echo ok; done", "background": true})
	b.ok("job_input", in{"job": "job_1", "input": "1\n"})
	for range 20 {
		look(b.run("job_output", in{"job": "job_1", "since": 0, "until": "ok"}))
	}
	assert.Equal(t, []string{"b.go"}, changed)
}

func TestBashCancelled(t *testing.T) {
	needShell(t)
	b := newBench(t, "", Config{})
	const command = "echo start; touch started; sleep 600"
	var at time.Time
	escape := func() context.Context { // pressed when "start" is out
		ctx, cancel := context.WithCancelCause(t.Context())
		go func() {
			for {
				if err := os.Remove(b.path("started")); err == nil || ctx.Err() != nil {
					break
				}
				time.Sleep(5 * time.Millisecond)
			}
			at = time.Now()
			cancel(errors.New("the user pressed escape"))
		}()
		return ctx
	}
	res, err := b.runIn(escape(), "bash", in{"command": command})
	require.ErrorIs(t, err, context.Canceled)
	assert.Less(t, time.Since(at), hang)
	require.NotNil(t, res, "partial output is kept")
	assert.Contains(t, res.Text, "start\n[cancelled after")
	assert.Equal(t, true, res.Metadata["aborted"])

	set, err := tool.NewSet(t.Context(), nil, b.ts.Tools()...)
	require.NoError(t, err)
	ex := &tool.Executor{Approver: b}
	o := ex.Do(escape(), set, tooltest.NewCall("bash", in{"command": command}))
	assert.Contains(t, o.Result.Text, "start\n")
	assert.Contains(t, o.Result.Text, "the user pressed escape")
}

func TestBashOutputIsBounded(t *testing.T) {
	needShell(t)
	b := newBench(t, "", Config{})
	res, err := b.run("bash", in{"command": "seq 1 1000000"})
	require.NoError(t, err)
	assert.LessOrEqual(t, len(res.Text), 31_000)
	assert.True(t, strings.HasPrefix(res.Text, "1\n2\n"))
	assert.Contains(t, res.Text, "1000000\n[exit 0")
	assert.Equal(t, true, res.Metadata["truncated"])
	assert.NotContains(t, res.Metadata, "outputPath", "nothing is kept without a Spill")
}

// TestBashUpdates: progress is shown, but not more often than 20 times a second.
func TestBashUpdates(t *testing.T) {
	needShell(t)
	b := newBench(t, "", Config{})
	start := time.Now()
	res, err := b.run("bash", in{"command": "for i in 1 2 3 4; do echo line $i; sleep 0.1; done; seq 1 200000", "description": "Count"})
	require.NoError(t, err)
	took := time.Since(start)
	b.mu.Lock()
	defer b.mu.Unlock()
	require.Greater(t, len(b.updates), 2)
	assert.LessOrEqual(t, len(b.updates), int(took/(50*time.Millisecond))+2)
	last := b.updates[len(b.updates)-1].Text
	assert.Equal(t, last, res.Metadata["output"], "the last update is what the call returns")
	saw := false
	for _, u := range b.updates {
		assert.Equal(t, "Count", u.Title)
		assert.Equal(t, u.Text, u.Metadata["output"])
		assert.LessOrEqual(t, len(u.Text), max(8<<10, len(last)))
		saw = saw || strings.Contains(u.Text, "line 1\n")
	}
	assert.True(t, saw)
}

// TestLongCommand: what is too long for an argument runs from a file of the spill
// store, which is gone afterwards.
func TestLongCommand(t *testing.T) {
	needShell(t)
	dir := t.TempDir()
	store, err := truncate.OpenStore(dir, nil)
	require.NoError(t, err)
	defer store.Close()
	b := newBench(t, "", Config{Spill: store})
	text := "x=" + strings.Repeat("x", 200_000) + "\necho ${#x}"
	assert.Contains(t, b.ok("bash", in{"command": text}), "200000\n[exit 0, ")
	assert.True(t, b.asked[0].Opaque)
	files, err := filepath.Glob(filepath.Join(dir, "out_*"))
	require.NoError(t, err)
	assert.Empty(t, files)
	assert.Contains(t, b.fails("bash", in{"command": strings.Repeat("x", 2<<20)}), "too long")
}

func TestShellChoice(t *testing.T) {
	needShell(t)
	t.Setenv("SHELL", "/bin/false")
	sh, err := exec.LookPath("sh")
	require.NoError(t, err)
	b := newBench(t, "", Config{Shell: sh})
	assert.Contains(t, b.ok("bash", in{"command": "echo $0"}), "sh\n[exit 0")
	_, err = New(Config{Root: b.dir, Shell: "no-such-shell"})
	require.ErrorContains(t, err, "Config.Shell")
}

func TestCommandEnv(t *testing.T) {
	host := []string{"A=1", "BASH_ENV=x", "LD_PRELOAD=x", "F=() { :; }", "GIT_SSH_COMMAND=mine", "BAD", "A=2", "GH_TOKEN=t", "DB_PASSWORD=p", "HOME=/home/x",
		"PATH=/usr/bin:/project/bin:.", "EDITOR=vi"}
	joined := func(cfg Config) string {
		cfg.Root = "/project"
		env, err := commandEnv(host, &cfg)
		require.NoError(t, err)
		return "\n" + strings.Join(env, "\n") + "\n"
	}
	env := joined(Config{Env: []string{"B=3", "TERM", "C=1", "C", "D", "D=4"}, Bash: BashConfig{KeepEnv: []string{"GH_*"}}})
	for _, s := range []string{"A=2", "B=3", "D=4", "GIT_SSH_COMMAND=mine", "PAGER=cat", "GH_TOKEN=t", "HOME=/home/x", "PATH=/usr/bin", "EDITOR=vi"} {
		assert.Contains(t, env, "\n"+s+"\n")
	}
	for _, s := range []string{"A=1", "BASH_ENV", "LD_PRELOAD", "F=()", "TERM=", "C=", "DB_PASSWORD"} {
		assert.NotContains(t, env, "\n"+s)
	}
	env = joined(Config{Bash: BashConfig{MinimalEnv: true, ProjectPath: true, KeepEnv: []string{"A"}}})
	assert.Contains(t, env, "\nA=2\n")
	assert.Contains(t, env, "\nHOME=/home/x\n")
	for _, s := range []string{"EDITOR", "GH_TOKEN"} {
		assert.NotContains(t, env, "\n"+s)
	}
	_, err := commandEnv(nil, &Config{Env: []string{"=x"}})
	require.Error(t, err)
}

func ExampleToolset() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	ts, err := New(Config{Root: dir})
	if err != nil {
		panic(err)
	}
	defer ts.Close()
	set, err := tool.NewSet(context.Background(), nil, ts.Tools()...)
	if err != nil {
		panic(err)
	}
	ex := &tool.Executor{Approver: tooltest.AllowAll{}}
	for _, c := range []*tool.Call{
		tooltest.NewCall("write", `{"filePath":"hello.txt","content":"Hello\nworld\n"}`),
		tooltest.NewCall("edit", `{"filePath":"hello.txt","oldString":"world","newString":"gopher"}`),
		tooltest.NewCall("read", `{"filePath":"hello.txt"}`),
	} {
		fmt.Println(ex.Do(context.Background(), set, c).Result.Text)
	}
	// Output:
	// Created hello.txt (2 lines).
	// Edited hello.txt: line 2 (+1 -1 lines).
	// 1	Hello
	// 2	gopher
	// 1	Hello
	// 2	gopher
}

func ExampleToolset_Plan() {
	ts, err := New(Config{Root: "."})
	if err != nil {
		panic(err)
	}
	defer ts.Close()
	p, err := ts.Plan(context.Background(), tooltest.NewCall("bash", `{"command":"go vet ./... && git push"}`))
	if err != nil {
		panic(err)
	}
	for _, r := range p.Requests {
		fmt.Printf("%s %q, for good %q\n", r.Permission, r.Patterns, r.Always)
	}
	// Output:
	// bash ["go vet ./..." "git push"], for good ["go vet *" "git push *"]
}
