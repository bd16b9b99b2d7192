package builtin

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const stateSession = "session_1"

// another is a second toolset over the directory of b, as after a restart.
func (b *bench) another(cfg Config) *bench {
	b.t.Helper()
	cfg.Root = b.dir
	ts, err := New(cfg)
	require.NoError(b.t, err)
	b.t.Cleanup(func() { require.NoError(b.t, ts.Close()) })
	return &bench{t: b.t, ts: ts, dir: b.dir}
}

func keptState(t testing.TB, b *bench) []byte {
	t.Helper()
	data, err := b.ts.Snapshot(stateSession)
	require.NoError(t, err)
	return data
}

// TestSessionState: everything that is kept for a session survives the end of the program.
func TestSessionState(t *testing.T) {
	runs := 0
	cfg := Config{Skills: SkillConfig{Dirs: []string{".skills"}}, Task: TaskConfig{Runner: helpers(func(context.Context, *SubagentRun) (string, error) {
		runs++
		return "found", nil
	})}}
	b := newBench(t, skillFiles, cfg)
	b.ok("read", in{"filePath": "a.txt"})
	b.ok("todowrite", `{"todos":[{"content":"one","status":"completed"},{"content":"two","status":"in_progress"},{"content":"three"}]}`)
	b.ok("todowrite", `{"todos":[{"content":"one","status":"completed"},{"content":"two","status":"in_progress"}]}`)
	b.ok("skill", in{"name": "pdf"})
	res, err := b.run("task", taskInput1("explore"))
	require.NoError(t, err)
	id := res.Metadata["sessionId"].(string)
	data := keptState(t, b)
	assert.NotContains(t, string(data), "alpha", "content is not kept")

	c := b.another(cfg)
	require.NoError(t, c.ts.Restore(stateSession, data))
	assert.JSONEq(t, string(data), string(keptState(t, c)), "nothing is lost on the way")
	c.ok("write", in{"filePath": "a.txt", "content": "new\n"}) // it was read
	assert.Equal(t, "two", c.ts.Todos(stateSession)[1].Content)
	assert.Contains(t, c.ok("todowrite", `{"todos":[{"content":"four"}],"merge":true}`), "4 [ ] four", "an id is never given twice")
	c.ok("read", in{"filePath": ".skills/pdf/scripts/fill.py"})
	assert.Empty(t, c.asks())
	c.ok("task", taskInput1("explore", "session_id", id))
	assert.Equal(t, 2, runs)

	// In the first toolset, the file is not as it was any more.
	require.NoError(t, b.ts.Restore(stateSession, data))
	assert.Contains(t, b.fails("write", in{"filePath": "a.txt", "content": "x"}), "changed", "what changed meanwhile is seen as changed")

	// Version 1 had the files alone.
	var v2 struct{ Files json.RawMessage }
	require.NoError(t, json.Unmarshal(data, &v2))
	d := b.another(cfg)
	require.NoError(t, d.ts.Restore(stateSession, v2.Files))
	assert.Empty(t, d.ts.Todos(stateSession))
	// A later version may have more members.
	more := strings.Replace(string(data), `{"version":2`, `{"version":2,"later":{"x":[1]}`, 1)
	require.NoError(t, d.ts.Restore(stateSession, []byte(more)))
	assert.Len(t, d.ts.Todos(stateSession), 2)
}

// TestSessionStateJobs: a job that ended can be read after a restart, and of one
// that ran, the truth is told.
func TestSessionStateJobs(t *testing.T) {
	b := newBench(t, "", Config{})
	if _, ok := b.ts.Tool("bash"); !ok {
		t.Skip("no shell")
	}
	b.ok("bash", in{"command": "echo first; while [ ! -f go ]; do sleep 0.05; done; echo done", "background": true})
	b.ok("bash", in{"command": "echo second; sleep 600", "background": true})
	b.put("go", "")
	assert.Contains(t, b.ok("job_output", in{"job": "job_1", "until": "exit"}), "done")
	data := keptState(t, b)
	require.ErrorIs(t, b.ts.Restore(stateSession, data), ErrState, "a job runs")
	b.ok("job_kill", in{"job": "job_2"})

	c := b.another(Config{})
	require.NoError(t, c.ts.Restore(stateSession, data))
	text := c.ok("job_output", in{"job": "job_1"})
	assert.Contains(t, text, "first\ndone\n[job_1: exit 0")
	text = c.ok("job_output", in{"job": "job_2"})
	assert.Contains(t, text, "second\n[job_2: ran when the session was saved, and cannot be reached from here")
	assert.Contains(t, c.ok("job_list", in{}), "job_2: ran when")
	assert.Contains(t, c.fails("job_kill", in{"job": "job_2"}), "cannot be ended")
	assert.Contains(t, c.fails("job_input", in{"job": "job_1", "input": "x"}), "takes no input")
	assert.Contains(t, c.ok("bash", in{"command": "sleep 600", "background": true}), "job_3", "ids are not given again")
	c.ok("job_kill", in{"job": "job_3"})
	again := keptState(t, c)
	require.NoError(t, c.ts.Restore(stateSession, again))
	assert.Contains(t, c.ok("job_list", in{}), "job_3")
	c.ts.Forget(stateSession)
}

// TestSessionStateHostile: a snapshot that is none alters nothing.
func TestSessionStateHostile(t *testing.T) {
	cfg := Config{Task: TaskConfig{Runner: helpers(func(context.Context, *SubagentRun) (string, error) { return "x", nil })}}
	b := newBench(t, coreFiles, cfg)
	b.ok("read", in{"filePath": "a.txt"})
	b.ok("todowrite", `{"todos":[{"content":"one"}]}`)
	res, err := b.run("task", taskInput1("explore"))
	require.NoError(t, err)
	child := res.Metadata["sessionId"].(string)
	before := keptState(t, b)
	many := strings.TrimSuffix(strings.Repeat(`{"content":"x","status":"pending"},`, 200_000), ",")
	for _, data := range []string{
		"", "null", "{", "[]", `{"version":3}`, `{"version":2,"files":[]}`, `{"version":2,"files":{"version":9}}`,
		`{"version":2,"files":{"version":1,"files":[{"key":"k","path":"rel"}]}}`,
		`{"version":2,"files":{"version":1,"files":[{"key":"k","path":"/x","lines":-5}]}}`,
		`{"version":2,"todos":[{"id":"1","content":"a","status":"in_progress"},{"id":"2","content":"b","status":"in_progress"}]}`,
		`{"version":2,"todos":[{"id":"1","content":"a","status":"pending"},{"id":"1","content":"b","status":"pending"}]}`,
		`{"version":2,"todos":[` + many + `]}`,
		`{"version":2,"todoLast":-1}`, `{"version":2,"parent":"` + stateSession + `"}`,
		`{"version":2,"subagents":[{"id":"../x","agent":"a"}]}`, `{"version":2,"subagents":[{"id":"task_AAAAAAAAAAAAAAAA","agent":""}]}`,
		`{"version":2,"jobs":[{"id":"job_1","number":2}]}`, `{"version":2,"jobs":[{"id":"job_0","number":0}]}`, `{"version":2,"jobs":[{"id":"x","number":1}]}`,
		`{"version":2,"jobs":[{"id":"job_1","number":1,"output":"` + strings.Repeat("x", 100_000) + `"}]}`,
		`{"version":2,"skills":"pdf"}`, strings.Repeat(" ", maxState+1),
	} {
		require.ErrorIs(t, b.ts.Restore(stateSession, []byte(data)), ErrState, clip(data, 100))
		assert.Equal(t, string(before), string(keptState(t, b)), clip(data, 100))
	}
	stolen := fmt.Sprintf(`{"version":2,"subagents":[{"id":%q,"agent":"explore"}]}`, child)
	require.ErrorIs(t, b.ts.Restore("thief", []byte(stolen)), ErrState, "a subagent stays with the session that started it")
	require.ErrorIs(t, b.ts.Restore(child, []byte(stolen)), ErrState)
	require.NoError(t, b.ts.Restore(stateSession, []byte(`{"version":2}`)), "an empty one forgets")
	assert.Empty(t, b.ts.Todos(stateSession))
}

// TestSessionStateBounded: of files, as many are kept as can be restored, the latest.
func TestSessionStateBounded(t *testing.T) {
	files := json.RawMessage(`{"version":1,"files":[{"key":"a"},{"key":"b"},{"key":"c"}]}`)
	half, err := halved(files)
	require.NoError(t, err)
	assert.JSONEq(t, `{"version":1,"files":[{"key":"c"}]}`, string(half))
	half, err = halved(half)
	require.NoError(t, err)
	_, err = halved(half)
	require.Error(t, err)
}

// FuzzRestore: any bytes are a snapshot or an error that alters nothing, and what
// is taken can be kept and taken again.
func FuzzRestore(f *testing.F) {
	f.Add([]byte(`{"version":2,"files":{"version":1,"files":[{"key":"k","path":"/x","state":{"size":1,"hash":""},"eol":0,"seq":1}]},"todos":[{"id":"1","content":"a","status":"pending"}],"todoLast":3,"skills":["a"],"jobs":[{"id":"job_2","number":2,"command":"ls","status":"exit 0","output":"x"}]}`))
	f.Add([]byte(`{"version":1,"files":[]}`))
	f.Add([]byte(`{"version":2,"subagents":[{"id":"task_ABCDEFGHIJKLMNOP","agent":"a","title":"t"}],"blind":["x"],"parent":"p"}`))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, data []byte) {
		ts, err := New(Config{Root: dir})
		require.NoError(t, err)
		defer ts.Close()
		before, err := ts.Snapshot("s")
		require.NoError(t, err)
		if err := ts.Restore("s", data); err != nil {
			after, err := ts.Snapshot("s")
			require.NoError(t, err)
			require.Equal(t, string(before), string(after))
			return
		}
		kept, err := ts.Snapshot("s")
		require.NoError(t, err)
		require.NoError(t, ts.Restore("s", kept))
	})
}
