package builtin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agenttool/tool"
	"github.com/agenttool/tool/permission"
	"github.com/agenttool/tool/tooltest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// runner is a host's agents and what they do.
type runner struct {
	agents []Subagent
	run    func(ctx context.Context, run *SubagentRun) (string, error)
}

func (r *runner) Subagents(context.Context, *tool.Agent) ([]Subagent, error) { return r.agents, nil }
func (r *runner) RunSubagent(ctx context.Context, run *SubagentRun) (string, error) {
	return r.run(ctx, run)
}

// helpers are two agents whose runs are f.
func helpers(f func(ctx context.Context, run *SubagentRun) (string, error)) *runner {
	return &runner{agents: []Subagent{{Name: "explore", Description: "looks around"}, {Name: "writer", Tools: map[string]bool{"task": true, "bash": false}}}, run: f}
}

func taskInput1(agent string, more ...any) in {
	m := in{"description": "look around", "prompt": "Find it.", "subagent_type": agent}
	for i := 0; i < len(more); i += 2 {
		m[more[i].(string)] = more[i+1]
	}
	return m
}

func newCall(id, name string, input any) *tool.Call {
	c := tooltest.NewCall(name, input)
	c.ID = id
	return c
}

// turn runs calls of the session "s" through an executor that offers the toolset and more.
func (b *bench) turn(ctx context.Context, ex *tool.Executor, agent *tool.Agent, calls []*tool.Call, more ...tool.Tool) ([]tool.Outcome, error) {
	b.t.Helper()
	set, err := tool.NewSet(ctx, agent, append(b.ts.Tools(), more...)...)
	require.NoError(b.t, err)
	if ex == nil {
		ex = &tool.Executor{}
	}
	if ex.Approver == nil {
		ex.Approver = b
	}
	for _, c := range calls {
		c.SessionID, c.Agent = "s", agent
	}
	return ex.Run(ctx, set, calls...)
}

func (b *bench) task(ctx context.Context, ex *tool.Executor, input in, more ...tool.Tool) tool.Outcome {
	b.t.Helper()
	out, _ := b.turn(ctx, ex, &tool.Agent{Name: "build", Model: "m"}, []*tool.Call{newCall("c", "task", input)}, more...)
	return out[0]
}

// newBenchIn is newBench for bubbles, in which a cleanup cannot wait for what they hold.
func newBenchIn(t *testing.T, archive string, cfg Config) (*bench, func()) {
	b := &bench{t: t, dir: tooltest.Workspace(t, archive)}
	cfg.Root = b.dir
	var err error
	b.ts, err = New(cfg)
	require.NoError(t, err)
	return b, func() { require.NoError(t, b.ts.Close()) }
}

// TestTask: a subagent is given its task, works with its caller's tools in a
// session of its own, and reports back.
func TestTask(t *testing.T) {
	var got *SubagentRun
	b := newBench(t, coreFiles, Config{Asker: first, Task: TaskConfig{Runner: helpers(func(ctx context.Context, run *SubagentRun) (string, error) {
		got = run
		var names []string
		for s := range run.Tools().Specs() {
			names = append(names, s.Name)
		}
		for _, n := range []string{"task", "todowrite", "todoread", "question"} {
			assert.NotContains(t, names, n)
		}
		out, err := run.Call(ctx, &tool.Call{ID: "k1", Tool: "read", Input: []byte(`{"filePath":"a.txt"}`)},
			&tool.Call{Tool: "write", Input: []byte(`{"filePath":"new.txt","content":"x\n"}`)},
			&tool.Call{Tool: "question", Input: []byte(`{"questions":[{"question":"Q"}]}`)})
		require.NoError(t, err)
		assert.Contains(t, out[0].Result.Text, "alpha")
		assert.Equal(t, "c", out[0].Call.Parent)
		assert.Equal(t, "c.2", out[1].Call.ID)
		require.ErrorIs(t, out[2].Err, tool.ErrNotFound, "what is not offered cannot be called")
		return "It is in a.txt.", nil
	})}})
	var states []string
	ex := &tool.Executor{Observe: func(ev tool.Event) {
		if ev.Update == nil {
			states = append(states, string(ev.State)+" "+ev.Call.ID+"<"+ev.Call.Parent)
		}
	}}
	out := b.task(t.Context(), ex, taskInput1("explore"))
	require.NoError(t, out.Err)
	assert.Equal(t, "It is in a.txt.\n\n[subagent explore, 3 calls, session_id "+got.SessionID+"]\nFiles it changed: new.txt", out.Result.Text)
	assert.Equal(t, "look around", out.Result.Title)
	assert.Equal(t, "look around (@explore subagent)", got.Title)
	assert.Equal(t, "Find it.", got.Prompt)
	assert.Equal(t, "m", got.Agent.Model, "the caller's model")
	assert.Equal(t, "build", got.Agent.Parent.Name)
	assert.Equal(t, got.SessionID, out.Result.Metadata["sessionId"])
	assert.Equal(t, []string{"new.txt"}, out.Result.Metadata["files"])
	sum, err := json.Marshal(out.Result.Metadata["summary"])
	require.NoError(t, err)
	assert.JSONEq(t, `[{"id":"k1","tool":"read","state":"completed","title":"a.txt"},{"id":"c.2","tool":"write","state":"completed","title":"new.txt"},{"id":"c.3","tool":"question","state":"error"}]`, string(sum))
	assert.Equal(t, []string{"task explore", "read a.txt", "edit new.txt"}, b.asks())
	assert.Equal(t, []string{"explore"}, b.asked[0].Always)
	assert.Equal(t, "explore", b.asked[2].Agent, "the question names the subagent")
	assert.Equal(t, got.SessionID, b.asked[2].SessionID)
	for _, want := range []string{"pending k1<c", "completed k1<c", "running c.2<c", "error c.3<c", "completed c<"} {
		assert.Contains(t, states, want)
	}
	assert.Equal(t, "completed c<", states[len(states)-1], "the subagent's calls end before that of task")

	_, err = got.Call(t.Context(), &tool.Call{Tool: "ls"})
	require.ErrorContains(t, err, "over")
	got.Say("too late")
	require.NoError(t, got.Spend(1))
	_, offered := newBench(t, "", Config{}).ts.Tool("task")
	assert.False(t, offered)
}

// TestTaskDescription: the model reads which subagents there are, and no more than that.
func TestTaskDescription(t *testing.T) {
	r := helpers(nil)
	r.agents = append(r.agents, Subagent{Name: "secret"}, Subagent{Name: "explore", Description: "again"}, Subagent{Description: "without a name"})
	for i := range 60 {
		r.agents = append(r.agents, Subagent{Name: fmt.Sprintf("a%d", i), Description: strings.Repeat("long\nwords \x1b[31m", 200)})
	}
	b := newBench(t, "", Config{Task: TaskConfig{Runner: r}, Denied: func(a *tool.Agent, permission, name string) bool {
		return permission == "task" && name == "secret"
	}})
	tl, _ := b.ts.Tool("task")
	spec, err := tl.Spec(t.Context(), nil)
	require.NoError(t, err)
	assert.Contains(t, spec.Description, "Subagents:\n- explore: looks around\n- writer\n- a0: long words")
	assert.NotContains(t, spec.Description, "secret")
	assert.NotContains(t, spec.Description, "again")
	assert.NotContains(t, spec.Description, "\x1b")
	assert.Regexp(t, `\nand \d+ more, which are found by name$`, spec.Description)
	assert.Less(t, len(spec.Description), 10<<10)
	child := &tool.Agent{Parent: &tool.Agent{}}
	_, err = tl.Spec(t.Context(), child)
	require.NoError(t, err)
	_, err = tl.Spec(t.Context(), &tool.Agent{Parent: child})
	require.ErrorIs(t, err, tool.ErrHidden, "two below the user's agent is the end")
	r.agents = nil
	_, err = tl.Spec(t.Context(), nil)
	require.ErrorIs(t, err, tool.ErrHidden)

	r.agents = helpers(nil).agents
	assert.Contains(t, b.fails("task", taskInput1("explorer")), "there is no subagent \"explorer\"; did you mean explore? There are:\n- explore: looks around\n- writer")
	assert.Contains(t, b.fails("task", taskInput1("secret")), "there is no subagent")
	assert.Contains(t, b.fails("task", taskInput1("explore", "prompt", " ")), "the prompt is empty")
	assert.Contains(t, b.fails("task", taskInput1("explore", "prompt", strings.Repeat("x", 300<<10))), "at most")
	assert.Contains(t, b.fails("task", taskInput1("explore", "session_id", "nope")), "no subagent with the session_id \"nope\", nor any other")
	assert.Empty(t, b.asks(), "what cannot be done is not asked for")
}

// TestTaskWithoutExecutor: a host with a loop of its own runs subagents, too.
func TestTaskWithoutExecutor(t *testing.T) {
	b := newBench(t, coreFiles, Config{Task: TaskConfig{Runner: helpers(func(ctx context.Context, run *SubagentRun) (string, error) {
		out, err := run.Call(ctx, &tool.Call{Tool: "read", Input: []byte(`{"filePath":"a.txt"}`)}, &tool.Call{Tool: "todoread"})
		if err != nil {
			return "", err
		}
		assert.Equal(t, "call_1", out[0].Call.Parent)
		require.ErrorIs(t, out[1].Err, tool.ErrNotFound)
		return out[0].Result.Text, nil
	})}})
	assert.Contains(t, b.ok("task", taskInput1("explore")), "alpha")
	assert.Equal(t, []string{"task explore", "read a.txt"}, b.asks())
	assert.Equal(t, "explore", b.asked[1].Agent)
	tl, _ := b.ts.Tool("task")
	res, err := tl.Run(t.Context(), tooltest.NewCall("task", taskInput1("explore")).Bind(tool.Runtime{Approver: b, Offers: func(string) bool { return false }}))
	require.NoError(t, err)
	assert.Contains(t, res.Text, "There is no tool \"read\"", "what the caller is not offered the subagent has not either")
}

// TestTaskInvoked: the user is not asked about an agent they named themselves.
func TestTaskInvoked(t *testing.T) {
	b := newBench(t, "", Config{Task: TaskConfig{Runner: helpers(func(ctx context.Context, run *SubagentRun) (string, error) {
		out, err := run.Call(ctx, &tool.Call{Tool: "ls", Values: map[string]any{InvokedKey: Invoked{Agents: []string{"x"}}}})
		if err != nil {
			return "", err
		}
		assert.NotContains(t, out[0].Call.Values, InvokedKey)
		return "ok", nil
	})}})
	require.NoError(t, b.task(t.Context(), nil, taskInput1("explore")).Err)
	tl, _ := b.ts.Tool("task")
	for values, want := range map[string]int{"explore": 0, "writer": 1} {
		c := newCall("c", "task", taskInput1("explore"))
		c.Values = map[string]any{InvokedKey: Invoked{Agents: []string{values}}}
		plan, err := b.ts.Plan(t.Context(), c)
		require.NoError(t, err)
		assert.Len(t, plan.Requests, want)
	}
	tooltest.Check(t, tl, string(c(t, taskInput1("explore"))))
}

func c(t *testing.T, v any) []byte {
	b, err := json.Marshal(v)
	require.NoError(t, err)
	return b
}

// TestTaskResume: a subagent is gone on with by its own session and nobody else.
func TestTaskResume(t *testing.T) {
	var runs []*SubagentRun
	b := newBench(t, coreFiles, Config{Task: TaskConfig{Runner: helpers(func(ctx context.Context, run *SubagentRun) (string, error) {
		runs = append(runs, run)
		return "done", nil
	})}})
	require.NoError(t, b.task(t.Context(), nil, taskInput1("explore")).Err)
	id := runs[0].SessionID
	out := b.task(t.Context(), nil, taskInput1("explore", "task_id", id))
	require.NoError(t, out.Err)
	assert.Equal(t, id, runs[1].SessionID)
	assert.True(t, runs[1].Resumed)
	assert.False(t, runs[0].Resumed)
	assert.ErrorContains(t, b.task(t.Context(), nil, taskInput1("writer", "session_id", id)).Err, "is explore, not writer")
	assert.ErrorContains(t, b.task(t.Context(), nil, taskInput1("explore", "session_id", "task_X")).Err, "take one of:\n- "+id+": look around")
	other := newCall("c", "task", taskInput1("explore", "session_id", id))
	other.SessionID = "other"
	_, err := b.ts.Plan(t.Context(), other)
	require.ErrorContains(t, err, "no subagent with the session_id", "another session's subagent is not to be had")
	for range maxChildren + 10 {
		require.NoError(t, b.task(t.Context(), nil, taskInput1("explore")).Err)
	}
	assert.Len(t, b.ts.tasks.byID, maxChildren)
	b.ts.Forget("s")
	assert.Empty(t, b.ts.tasks.byID)
	assert.Empty(t, b.ts.tasks.waiting)
}

// TestTaskBudgets: whatever a runner does, the call ends, and what was said comes back.
func TestTaskBudgets(t *testing.T) {
	chatty := func(ctx context.Context, run *SubagentRun) {
		for i := 0; ctx.Err() == nil; i++ {
			run.Say(fmt.Sprintf("I have looked at %d files.", i))
			select {
			case <-time.After(61 * time.Second):
			case <-ctx.Done():
			}
		}
	}
	for _, c := range []struct {
		name  string
		cfg   TaskConfig
		run   func(ctx context.Context, run *SubagentRun) (string, error)
		is    error
		text  string
		after time.Duration
	}{
		{"hung and deaf", TaskConfig{Time: time.Minute}, func(ctx context.Context, run *SubagentRun) (string, error) {
			run.Say("So far: two places.")
			time.Sleep(time.Hour)
			return "too late", nil
		}, tool.ErrTimeout, "did not finish. The last it said:\nSo far: two places.", time.Minute + 4*time.Second},
		{"ends with its context", TaskConfig{}, func(ctx context.Context, run *SubagentRun) (string, error) {
			chatty(ctx, run)
			return "", ctx.Err()
		}, tool.ErrTimeout, "I have looked at 29 files.", 30 * time.Minute},
		{"a last word", TaskConfig{Time: time.Minute}, func(ctx context.Context, run *SubagentRun) (string, error) {
			<-ctx.Done()
			time.Sleep(3 * time.Second)
			return "That is what I have.", nil
		}, tool.ErrTimeout, "The last it said:\nThat is what I have.", 63 * time.Second},
		{"idle", TaskConfig{}, func(ctx context.Context, run *SubagentRun) (string, error) {
			time.Sleep(4 * time.Minute)
			run.Say("Thinking.")
			<-ctx.Done()
			return "", ctx.Err()
		}, ErrSubagentIdle, "Thinking.", 9 * time.Minute},
		{"a long call is not idle", TaskConfig{}, func(ctx context.Context, run *SubagentRun) (string, error) {
			_, err := run.Call(ctx, &tool.Call{Tool: "slow"})
			return "slow is over", err
		}, nil, "slow is over", 9 * time.Minute},
		{"tokens", TaskConfig{Tokens: 100}, func(ctx context.Context, run *SubagentRun) (string, error) {
			run.Say("hm")
			if err := run.Spend(60); err != nil {
				return "", err
			}
			return "", run.Spend(60)
		}, ErrSubagentBudget, "hm", 0},
		{"turns", TaskConfig{Turns: 2}, func(ctx context.Context, run *SubagentRun) (string, error) {
			for {
				out, err := run.Call(ctx, &tool.Call{Tool: "ls"})
				if err != nil {
					return "", err
				}
				if errors.Is(out[0].Err, ErrSubagentBudget) {
					return "After two rounds: " + out[0].Result.Text, nil
				}
			}
		}, nil, "After two rounds: the subagent used up its budget: this call was not run.", 0},
		{"calls", TaskConfig{Calls: 3}, func(ctx context.Context, run *SubagentRun) (string, error) {
			out, err := run.Call(ctx, &tool.Call{Tool: "ls"}, &tool.Call{Tool: "ls"}, &tool.Call{Tool: "ls"}, &tool.Call{Tool: "ls"})
			return fmt.Sprint(len(out), out[2].Err, errors.Is(out[3].Err, ErrSubagentBudget)), err
		}, nil, "4 <nil> true\n\n[subagent explore, 3 calls,", 0},
		{"does not take no for an answer", TaskConfig{Turns: 1}, func(ctx context.Context, run *SubagentRun) (string, error) {
			for {
				if _, err := run.Call(ctx, &tool.Call{Tool: "ls"}); err != nil {
					return "", err
				}
			}
		}, ErrSubagentBudget, "had said nothing.\n\nIts last calls:\n- ls: completed", 0},
		{"panic", TaskConfig{}, func(context.Context, *SubagentRun) (string, error) { panic("secret value") }, tool.ErrPanic, "did not finish", 0},
		{"goexit", TaskConfig{}, func(context.Context, *SubagentRun) (string, error) { runtime.Goexit(); return "", nil }, nil, "ended its goroutine", 0},
		{"error", TaskConfig{}, func(_ context.Context, run *SubagentRun) (string, error) { return "half", errors.New("no quota") }, nil, "The last it said:\nhalf\n\n[subagent", 0},
		{"nothing", TaskConfig{}, func(context.Context, *SubagentRun) (string, error) { return " ", nil }, nil, "ended without an answer.", 0},
		{"said and not returned", TaskConfig{}, func(_ context.Context, run *SubagentRun) (string, error) { run.Say("It is here."); return "", nil }, nil, "It is here.\n\n[subagent", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var id string
				c.cfg.Runner = helpers(func(ctx context.Context, run *SubagentRun) (string, error) {
					id = run.SessionID
					return c.run(ctx, run)
				})
				b, done := newBenchIn(t, coreFiles, Config{Task: c.cfg})
				defer done()
				slow := tool.Define(tool.Def{Name: "slow", Description: "d"}, func(ctx context.Context, _ *tool.Call, _ struct{}) (*tool.Result, error) {
					time.Sleep(9 * time.Minute)
					return nil, nil
				})
				start := time.Now()
				out := b.task(t.Context(), nil, taskInput1("explore"), slow)
				assert.Equal(t, c.after, time.Since(start))
				if c.is != nil {
					require.ErrorIs(t, out.Err, c.is)
				}
				assert.Contains(t, out.Result.Text, c.text)
				assert.Contains(t, out.Result.Text, "session_id "+id)
				assert.NotContains(t, out.Result.Text, "secret value")
				assert.Equal(t, out.Err != nil, out.Result.IsError)
				time.Sleep(2 * time.Hour) // for the one that is deaf
			})
		})
	}
}

// TestTaskCancel: a cancel reaches the subagent's calls, and none of them outlives the call.
func TestTaskCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stop := errors.New("user pressed escape")
		var ended atomic.Bool
		b, done := newBenchIn(t, coreFiles, Config{Task: TaskConfig{Runner: helpers(func(_ context.Context, run *SubagentRun) (string, error) {
			run.Say("Waiting for the build.")
			_, err := run.Call(context.Background(), &tool.Call{Tool: "wait"}) // not the context it was given
			return "", err
		})}})
		defer done()
		wait := tool.Define(tool.Def{Name: "wait", Description: "d"}, func(ctx context.Context, _ *tool.Call, _ struct{}) (*tool.Result, error) {
			<-ctx.Done()
			ended.Store(true)
			return nil, context.Cause(ctx)
		})
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Minute, func() { cancel(stop) })
		start := time.Now()
		out := b.task(ctx, nil, taskInput1("explore"), wait)
		require.ErrorIs(t, out.Err, stop)
		assert.Equal(t, time.Minute, time.Since(start))
		assert.True(t, ended.Load())
		assert.Contains(t, out.Result.Text, "Waiting for the build.")
		assert.Contains(t, out.Result.Text, "- wait: error")
		synctest.Wait()
	})
}

// TestTaskAsking: a question to the user costs the subagent nothing, nor those above it.
func TestTaskAsking(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		run := helpers(nil)
		run.run = func(ctx context.Context, r *SubagentRun) (string, error) {
			call := &tool.Call{Tool: "read", Input: []byte(`{"filePath":"a.txt"}`)}
			if r.Subagent.Name == "writer" {
				call = &tool.Call{Tool: "task", Input: c(t, taskInput1("explore"))}
			}
			out, err := r.Call(ctx, call)
			return out[0].Result.Text, err
		}
		b, done := newBenchIn(t, coreFiles, Config{Task: TaskConfig{Runner: run}})
		defer done()
		b.approver = tool.ApproverFunc(func(_ context.Context, _ *tool.Call, req *tool.Request) error {
			if req.Permission == "read" {
				time.Sleep(10 * time.Hour)
			}
			return nil
		})
		out := b.task(t.Context(), &tool.Executor{Timeout: time.Minute}, taskInput1("writer"))
		require.NoError(t, out.Err)
		assert.Contains(t, out.Result.Text, "alpha")
		assert.Equal(t, "explore", b.asked[2].Agent)
	})
}

// TestTaskDepth: subagents start subagents where their agent says so, down to a depth.
func TestTaskDepth(t *testing.T) {
	var depths []int
	r := helpers(nil)
	r.run = func(ctx context.Context, run *SubagentRun) (string, error) {
		depths = append(depths, len(run.Agent.Lineage())-1)
		if !run.Tools().Has("task") && len(depths) == 1 {
			return "alone", nil
		} else if !run.Tools().Has("task") {
			forged := newCall("f", "task", taskInput1("writer"))
			forged.SessionID = run.SessionID
			_, err := run.ts.Plan(ctx, forged) // with the agent left out
			require.ErrorContains(t, err, "cannot start further ones")
			return "the end", nil
		}
		out, err := run.Call(ctx, &tool.Call{Tool: "task", Input: c(t, taskInput1("writer"))})
		return out[0].Result.Text, err
	}
	b := newBench(t, coreFiles, Config{Task: TaskConfig{Runner: r}})
	out := b.task(t.Context(), nil, taskInput1("writer"))
	require.NoError(t, out.Err)
	assert.Equal(t, []int{1, 2}, depths)
	assert.Contains(t, out.Result.Text, "the end")
	depths = nil
	require.NoError(t, b.task(t.Context(), nil, taskInput1("explore")).Err)
	assert.Equal(t, []int{1}, depths, "explore may not start any")
}

// TestTaskParallel: tasks of one message run side by side, as many as may, in order.
func TestTaskParallel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var now, most atomic.Int32
		var order []string
		b, done := newBenchIn(t, coreFiles, Config{Task: TaskConfig{Parallel: 3, Time: 2 * time.Second, Runner: helpers(func(ctx context.Context, run *SubagentRun) (string, error) {
			most.Store(max(most.Load(), now.Add(1)))
			defer now.Add(-1)
			time.Sleep(time.Second)
			_, err := run.Call(ctx, &tool.Call{Tool: "edit", Input: c(t, in{"filePath": "a.txt", "oldString": "alpha", "newString": "alpha\n" + run.CallID})})
			return run.CallID, err
		})}})
		defer done()
		var calls []*tool.Call
		for i := range 7 {
			calls = append(calls, newCall(fmt.Sprintf("c%d", i), "task", taskInput1("explore")))
		}
		start := time.Now()
		out, err := b.turn(t.Context(), nil, &tool.Agent{Name: "build"}, calls)
		require.NoError(t, err)
		assert.Equal(t, 3*time.Second, time.Since(start), "waiting is not charged")
		assert.EqualValues(t, 3, most.Load())
		for i, o := range out {
			require.NoError(t, o.Err)
			assert.Contains(t, o.Result.Text, fmt.Sprintf("c%d\n\n[subagent", i))
			assert.Contains(t, b.file("a.txt"), fmt.Sprintf("c%d", i), "no edit is lost")
			order = append(order, o.Call.ID)
		}
		assert.Equal(t, "c0 c1 c2 c3 c4 c5 c6", strings.Join(order, " "))
	})
}

// TestTaskUpdates: the summary comes at most 20 times a second, and to the end.
func TestTaskUpdates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, done := newBenchIn(t, coreFiles, Config{Task: TaskConfig{Runner: helpers(func(ctx context.Context, run *SubagentRun) (string, error) {
			for i := range 1000 {
				run.Say(fmt.Sprint("step ", i))
				time.Sleep(time.Millisecond)
			}
			time.Sleep(time.Second)
			return "done", nil
		})}})
		defer done()
		var updates []tool.Update
		ex := &tool.Executor{Observe: func(ev tool.Event) {
			if ev.Update != nil {
				updates = append(updates, *ev.Update)
			}
		}}
		require.NoError(t, b.task(t.Context(), ex, taskInput1("explore")).Err)
		assert.LessOrEqual(t, len(updates), 23)
		assert.GreaterOrEqual(t, len(updates), 18)
		assert.Equal(t, "step 999", updates[len(updates)-1].Text)
	})
}

// TestTaskOutput: a long answer is kept, a short part of it is shown, with how to go on.
func TestTaskOutput(t *testing.T) {
	long := strings.Repeat("0123456789abcde\n", 10_000)
	b := newBench(t, coreFiles, Config{Task: TaskConfig{Output: 2000, Runner: helpers(func(context.Context, *SubagentRun) (string, error) { return long, nil })}})
	out := b.task(t.Context(), nil, taskInput1("explore"))
	require.NoError(t, out.Err)
	assert.Less(t, len(out.Result.Text), 2300)
	assert.Equal(t, true, out.Result.Metadata["truncated"])
	assert.Contains(t, out.Result.Text, "session_id task_")
}

// TestTaskEnds: a call that ends the turn ends that of the task; one whose result
// says so passes it on.
func TestTaskEnds(t *testing.T) {
	aborter := tool.Define(tool.Def{Name: "aborter", Description: "d"}, func(context.Context, *tool.Call, struct{}) (*tool.Result, error) {
		return nil, fmt.Errorf("enough: %w", tool.ErrAbort)
	})
	ender := tool.Define(tool.Def{Name: "ender", Description: "d"}, func(context.Context, *tool.Call, struct{}) (*tool.Result, error) {
		return &tool.Result{Text: "stop here", EndTurn: true}, nil
	})
	name := "aborter"
	b := newBench(t, coreFiles, Config{Task: TaskConfig{Runner: helpers(func(ctx context.Context, run *SubagentRun) (string, error) {
		_, err := run.Call(ctx, &tool.Call{Tool: name})
		return "so far", err
	})}})
	out := b.task(t.Context(), nil, taskInput1("explore"), aborter, ender)
	require.ErrorIs(t, out.Err, tool.ErrAbort)
	assert.Contains(t, out.Result.Text, "so far")
	name = "ender"
	out = b.task(t.Context(), nil, taskInput1("explore"), aborter, ender)
	require.NoError(t, out.Err)
	assert.True(t, out.Result.EndTurn)
}

// TestTaskRights: rules that let the subagent do more than its caller do not count.
func TestTaskRights(t *testing.T) {
	gate := &permission.Gate{
		Rules: permission.Ruleset{{Permission: "task", Pattern: "*", Action: permission.Allow}, {Permission: "read", Pattern: "*", Action: permission.Allow}},
		RulesFor: func(_ context.Context, call *tool.Call) []permission.Ruleset {
			if call.Agent.Name == "explore" {
				return []permission.Ruleset{{{Permission: "edit", Pattern: "*", Action: permission.Allow}, {Permission: "list", Pattern: "*", Action: permission.Allow}}}
			}
			return []permission.Ruleset{{{Permission: "edit", Pattern: "*", Action: permission.Deny}}}
		},
	}
	var out []tool.Outcome
	b := newBench(t, coreFiles, Config{PlanMode: gateMode{gate}, Task: TaskConfig{Runner: helpers(func(ctx context.Context, run *SubagentRun) (_ string, err error) {
		assert.False(t, run.Tools().Has("plan_exit"))
		out, err = run.Call(ctx, &tool.Call{Tool: "read", Input: []byte(`{"filePath":"a.txt"}`)}, &tool.Call{Tool: "write", Input: []byte(`{"filePath":"n.txt","content":"x"}`)},
			&tool.Call{Tool: "ls"}, &tool.Call{Tool: "bash", Input: []byte(`{"command":"touch y"}`)})
		return "ok", err
	})}})
	require.NoError(t, b.task(t.Context(), &tool.Executor{Approver: gate}, taskInput1("explore")).Err)
	require.NoError(t, out[0].Err)
	require.ErrorIs(t, out[1].Err, tool.ErrDenied)
	assert.ErrorContains(t, out[1].Err, "its caller")
	require.ErrorIs(t, out[2].Err, tool.ErrDenied, "what its caller would have to ask for is asked for, and nobody is there")
	require.ErrorIs(t, out[3].Err, tool.ErrDenied)
	assert.NoFileExists(t, b.path("n.txt"))

	gate.SetPlan("s", &permission.Plan{})
	gate.RulesFor = nil
	gate.Rules = permission.Ruleset{{Permission: "*", Pattern: "*", Action: permission.Allow}}
	require.NoError(t, b.task(t.Context(), &tool.Executor{Approver: gate}, taskInput1("explore")).Err)
	assert.ErrorContains(t, out[1].Err, "plan mode", "the caller's plan mode holds for the subagent")
	require.ErrorIs(t, out[3].Err, tool.ErrDenied)
}
