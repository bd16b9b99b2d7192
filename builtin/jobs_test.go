package builtin

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agenttool/tool"
	"github.com/agenttool/tool/internal/shellscan"
	"github.com/agenttool/tool/permission"
	"github.com/agenttool/tool/tooltest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// alive reports whether a process runs; one that waits to be reaped does not.
func alive(t *testing.T, pid any) bool {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("looks into /proc")
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%v/stat", pid))
	if err != nil {
		return false
	}
	return !strings.HasPrefix(string(stat[strings.LastIndexByte(string(stat), ')')+1:]), " Z")
}

func (b *bench) meta(name string, input any) map[string]any {
	b.t.Helper()
	res, err := b.run(name, input)
	require.NoError(b.t, err)
	return res.Metadata
}

// TestTimeoutJob: a command that takes longer than its call becomes a job, and
// nothing of its output is lost.
func TestTimeoutJob(t *testing.T) {
	needShell(t)
	b := newBench(t, "", Config{Bash: BashConfig{OnTimeout: TimeoutJob}})
	res, err := b.run("bash", in{"command": "echo one; sleep 1; echo two; exit 3", "timeout": 200})
	require.NoError(t, err)
	assert.Contains(t, res.Text, "\n[timed out after 200ms, still running as job_1; ")
	assert.Equal(t, true, res.Metadata["timedOut"])
	assert.Equal(t, false, res.Metadata["aborted"])
	assert.Equal(t, nil, res.Metadata["exit"])
	assert.Equal(t, "job_1", res.Metadata["job"])
	text := b.ok("job_output", in{"job": "job_1", "until": "exit"})
	if strings.HasPrefix(res.Text, "one\n") { // else it was slow to start
		assert.NotContains(t, text, "one")
	}
	assert.Regexp(t, `two\n\[job_1: exit 3, .*; next=8\]$`, text)
	assert.Contains(t, b.ok("job_output", in{"job": "job_1"}), "(no new output)")
	meta := b.meta("job_output", in{"job": "job_1", "since": 0})
	assert.Equal(t, "one\ntwo", meta["output"])
	assert.Equal(t, 3, meta["exit"])
	assert.Equal(t, false, meta["running"])
	assert.Contains(t, b.ok("job_kill", in{"job": "job_1"}), "had ended before: exit 3")
	assert.Contains(t, b.fails("job_output", in{"job": "job_9"}), "there are: job_1")
	assert.Empty(t, b.asks())
}

func TestBackgroundJob(t *testing.T) {
	needShell(t)
	b := newBench(t, "", Config{})
	text := b.ok("bash", in{"command": `echo ready; while read x; do echo "got $x"; done; echo bye`, "background": true})
	assert.Contains(t, text, "\n[running as job_1; ")
	assert.Contains(t, b.ok("job_list", in{}), "job_1: running, ")
	text = b.ok("job_input", in{"job": "job_1", "input": "a\nb\n"})
	assert.Equal(t, []string{"bash a\nb\n"}, b.asks(), "what a program reads may be commands")
	assert.True(t, b.asked[0].Opaque)
	assert.Contains(t, text, "Wrote 4 bytes")
	text = b.ok("job_output", in{"job": "job_1", "until": "^got b$"})
	assert.Contains(t, text, "got a\ngot b\n[matched \"got b\"]\n[job_1: running, ")
	b.ok("job_input", in{"job": "job_1", "close": true})
	assert.Empty(t, b.asks())
	assert.Contains(t, b.ok("job_output", in{"job": "job_1", "wait": 20000, "until": "exit"}), "bye\n[job_1: exit 0")
	assert.Contains(t, b.fails("job_input", in{"job": "job_1", "input": "x"}), "takes no input")
	assert.Contains(t, b.fails("job_input", in{"job": "job_1"}), "nothing to write")
	assert.Contains(t, b.fails("job_output", in{"job": "job_1", "until": "("}), "until: ")

	// What fails at once is no job.
	res, err := b.run("bash", in{"command": "exit 7", "background": true})
	require.NoError(t, err)
	if _, slow := res.Metadata["job"]; !slow {
		assert.Equal(t, 7, res.Metadata["exit"])
		assert.Contains(t, res.Text, "(no output)\n[exit 7, ")
	}

	// A job that says nothing.
	id := b.meta("bash", in{"command": "sleep 60", "background": true})["job"].(string)
	start := time.Now()
	assert.Contains(t, b.ok("job_output", in{"job": id, "wait": 50}), "(no new output)\n[waited 50ms in vain]")
	assert.Contains(t, b.ok("job_output", in{"job": id, "idle": 50}), "(no new output)\n["+id+": running")
	assert.Less(t, time.Since(start), hang)
	list := b.meta("job_list", in{})["jobs"].([]map[string]any)
	pid := list[len(list)-1]["pid"]
	assert.True(t, alive(t, pid))
	assert.Contains(t, b.ok("job_kill", in{"job": id}), id+": killed after")
	assert.False(t, alive(t, pid))
}

// TestLeftovers: what a command leaves running is known, or is ended.
func TestLeftovers(t *testing.T) {
	needShell(t)
	b := newBench(t, "", Config{})
	res, err := b.run("bash", in{"command": "sleep 60 & echo hi"})
	require.NoError(t, err)
	assert.Regexp(t, `^hi\n\[exit 0, .*; left running as job_1: sleep 60 \(pid \d+\); `, res.Text)
	assert.Equal(t, 0, res.Metadata["exit"])
	pid := res.Metadata["leftovers"].([]map[string]any)[0]["pid"]
	assert.True(t, alive(t, pid))
	assert.Contains(t, b.ok("job_list", in{}), "what it left runs: sleep 60")
	require.NoError(t, b.ts.Close())
	assert.False(t, alive(t, pid), "Close ends it")

	for _, cfg := range []BashConfig{{KillLeftovers: true}, {NoJobs: true}} {
		b = newBench(t, "", Config{Bash: cfg})
		res, err = b.run("bash", in{"command": "sleep 60 & echo hi"})
		require.NoError(t, err)
		assert.Regexp(t, `^hi\n\[exit 0, .*\]\n\[ended what it left running: sleep 60 `, res.Text)
		assert.False(t, alive(t, res.Metadata["leftovers"].([]map[string]any)[0]["pid"]))
	}
	_, ok := b.ts.Tool("job_output")
	assert.False(t, ok)
	sh, _ := b.ts.Tool("bash")
	spec, err := sh.Spec(t.Context(), nil)
	require.NoError(t, err)
	for _, s := range []string{string(spec.Input), spec.Description} {
		assert.NotContains(t, s, "background")
		assert.NotContains(t, s, "job")
	}
	assert.Contains(t, b.fails("bash", in{"command": "ls", "background": true}), "background")
}

func TestJobLimits(t *testing.T) {
	needShell(t)
	b := newBench(t, "", Config{Bash: BashConfig{MaxJobs: 1}})
	b.ok("bash", in{"command": "sleep 60", "background": true})
	text := b.ok("bash", in{"command": "sleep 61 & echo hi"})
	assert.Contains(t, text, "hi\n[exit 0, ")
	assert.Contains(t, text, "it was ended, because 1 jobs are running")
	b.ok("job_kill", in{"job": "job_1"})
	assert.Contains(t, b.ok("bash", in{"command": "sleep 61 & echo hi"}), "left running as job_2")

	// Another session sees none of it.
	tl, _ := b.ts.Tool("job_list")
	call := b.call("job_list", in{})
	call.SessionID = "another"
	res, err := tl.Run(t.Context(), call)
	require.NoError(t, err)
	assert.Equal(t, "There are no jobs.", res.Text)

	var l jobs
	l.list = map[jobKey]*job{}
	now := time.Now()
	for i := range 150 {
		l.list[jobKey{id: strconv.Itoa(i)}] = &job{id: strconv.Itoa(i), ended: now.Add(-time.Duration(i) * time.Minute)}
	}
	l.forget(now)
	assert.Len(t, l.list, 61, "an hour")
	l.forget(now.Add(50 * time.Minute))
	assert.Len(t, l.list, 11)
}

// TestManyCommands: nothing is left of many commands at once.
func TestManyCommands(t *testing.T) {
	needShell(t)
	n := 500
	if testing.Short() {
		n = 50
	}
	b := newBench(t, "", Config{})
	tl, _ := b.ts.Tool("bash")
	var wg sync.WaitGroup
	limit := make(chan bool, 50)
	for i := range n {
		limit <- true
		wg.Go(func() {
			defer func() { <-limit }()
			res, err := tl.Run(t.Context(), b.call("bash", in{"command": fmt.Sprintf("echo %d $TOOLCALL_ID", i)}))
			if assert.NoError(t, err) {
				assert.True(t, strings.HasPrefix(res.Text, fmt.Sprintf("%d ", i)), res.Text)
				assert.Equal(t, 0, res.Metadata["exit"])
			}
		})
	}
	wg.Wait()
	assert.Equal(t, "There are no jobs.", b.ok("job_list", in{}))
	if runtime.GOOS == "linux" {
		assert.Empty(t, zombies(t))
	}
}

// zombies returns children of ours that nobody reaped.
func zombies(t *testing.T) (pids []string) {
	t.Helper()
	list, err := filepath.Glob("/proc/[0-9]*/stat")
	require.NoError(t, err)
	mine := regexp.MustCompile(`^\d+ \(.*\) Z ` + strconv.Itoa(os.Getpid()) + ` `)
	for _, f := range list {
		if stat, err := os.ReadFile(f); err == nil && mine.Match(stat) {
			pids = append(pids, string(stat))
		}
	}
	return pids
}

// TestHugeOutput: what is printed takes no memory to speak of.
func TestHugeOutput(t *testing.T) {
	needShell(t)
	size := "256M"
	if testing.Short() {
		size = "16M"
	}
	b := newBench(t, "", Config{})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	res, err := b.run("bash", in{"command": "yes | head -c " + size})
	require.NoError(t, err)
	runtime.ReadMemStats(&after)
	assert.Less(t, after.HeapSys-min(before.HeapSys, after.HeapSys), uint64(40<<20))
	assert.Contains(t, res.Text, "×", "equal lines are counted")
	assert.LessOrEqual(t, len(res.Text), 31_000)
	assert.Equal(t, true, res.Metadata["truncated"])
}

func TestInteractiveHints(t *testing.T) {
	needShell(t)
	b := newBench(t, "", Config{})
	ask := func(command string) string {
		return interactiveHint(shellscan.Analyze(command, b.ts.scanOptions(b.dir)), true)
	}
	for command, want := range map[string]string{
		"vim a.txt": "edit or write", "sudo vi x": "edit or write", "less x": "head and tail", "python3": "a script", "top": "ps", "git rebase -i HEAD~3": "git rebase", "npm init": "-y", "ssh host": "the command to run",
		"python3 x.py": "", "python3 -c 1": "", "echo 1 | python3": "", "python3 <<E\n1\nE": "", "top -b -n 1": "", "git commit -m x": "", "npm init -y": "", "ssh host ls": "", "ls": "", "vim -es x": "", "python3 < x": "",
	} {
		if want == "" {
			assert.Empty(t, ask(command), command)
		} else {
			assert.Contains(t, ask(command), want, command)
		}
	}
	assert.Contains(t, b.ok("bash", in{"command": "true || less"}), "less wants a terminal")
	b = newBench(t, "", Config{Bash: BashConfig{NoHints: true}})
	assert.NotContains(t, b.ok("bash", in{"command": "true || less"}), "terminal")
}

// TestHostIsProtected: ending the host is asked about, whatever the rules allow.
func TestHostIsProtected(t *testing.T) {
	needShell(t)
	b := newBench(t, "", Config{})
	rules, err := permission.ParseConfig([]byte(`{"*":"allow"}`))
	require.NoError(t, err)
	for _, command := range []string{"kill $PPID", fmt.Sprintf("kill -9 %d", os.Getpid()), "kill 1"} {
		e := permission.Explain(b.plan(command).Requests, rules)
		assert.Equal(t, permission.Ask, e.Decision, command)
	}
	assert.Equal(t, permission.Allow, permission.Explain(b.plan("kill 4194399").Requests, rules).Decision)
}

func ExampleBashConfig() {
	ts, err := New(Config{Root: ".", Bash: BashConfig{OnTimeout: TimeoutJob}})
	if err != nil {
		panic(err)
	}
	defer ts.Close()
	set, err := tool.NewSet(context.Background(), nil, ts.Tools()...)
	if err != nil {
		panic(err)
	}
	ex := &tool.Executor{Approver: tooltest.AllowAll{}}
	first := ex.Do(context.Background(), set, tooltest.NewCall("bash", `{"command":"sleep 1; echo done","timeout":100}`))
	fmt.Println(first.Result.Metadata["timedOut"], first.Result.Metadata["job"])
	then := ex.Do(context.Background(), set, tooltest.NewCall("job_output", `{"job":"job_1","until":"exit"}`))
	fmt.Println(then.Result.Metadata["output"], then.Result.Metadata["exit"])
	// Output:
	// true job_1
	// done 0
}
