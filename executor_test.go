package tool_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agenttool/tool"
	"github.com/agenttool/tool/tooltest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

type noInput struct{}

type sleepIn struct {
	MS int `json:"ms"`
}

// define makes a tool without arguments.
func define(name string, parallel bool, run func(ctx context.Context, call *tool.Call) (*tool.Result, error)) tool.Tool {
	return tool.Define(tool.Def{Name: name, Description: "Test tool.", Parallel: parallel},
		func(ctx context.Context, call *tool.Call, _ noInput) (*tool.Result, error) { return run(ctx, call) })
}

func sleeper(name string, parallel bool) tool.Tool {
	return tool.Define(tool.Def{Name: name, Description: "Sleeps.", Parallel: parallel},
		func(ctx context.Context, call *tool.Call, in sleepIn) (*tool.Result, error) {
			select {
			case <-time.After(time.Duration(in.MS) * time.Millisecond):
				return tool.Textf("slept %d", in.MS), nil
			case <-ctx.Done():
				return tool.Text("partial"), ctx.Err()
			}
		})
}

// deaf ignores its context for d.
func deaf(name string, d time.Duration) tool.Tool {
	return define(name, true, func(ctx context.Context, call *tool.Call) (*tool.Result, error) {
		call.Update(tool.Update{Title: "deaf", Text: "so far"})
		time.Sleep(d)
		call.Update(tool.Update{Text: "too late"})
		return tool.Text("too late"), nil
	})
}

func newSet(t testing.TB, ts ...tool.Tool) *tool.Set {
	t.Helper()
	set, err := tool.NewSet(context.Background(), nil, ts...)
	require.NoError(t, err)
	return set
}

func call(id, name, input string) *tool.Call {
	return &tool.Call{ID: id, Tool: name, Input: json.RawMessage(input), SessionID: "s", MessageID: "m"}
}

func TestBarrierAndOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var rec tooltest.Recorder
		ex := &tool.Executor{Observe: rec.Observe}
		set := newSet(t, sleeper("par", true), sleeper("seq", false))
		start := time.Now()
		outs, err := ex.Run(t.Context(), set,
			call("1", "par", `{"ms":300}`), call("2", "par", `{"ms":100}`),
			call("3", "seq", `{"ms":100}`), call("4", "par", `{"ms":50}`))
		require.NoError(t, err)
		assert.Equal(t, 450*time.Millisecond, time.Since(start), "300 beside 100, then 100, then 50")
		var texts []string
		for i, o := range outs {
			assert.Equal(t, fmt.Sprint(i+1), o.Call.ID)
			assert.NoError(t, o.Err)
			texts = append(texts, o.Result.Text)
		}
		assert.Equal(t, []string{"slept 300", "slept 100", "slept 100", "slept 50"}, texts)
		require.NoError(t, rec.Err())
		want := `1 par pending
1 par running
2 par pending
2 par running
3 seq pending
4 par pending
2 par completed text="slept 100"
1 par completed text="slept 300"
3 seq running
3 seq completed text="slept 100"
4 par running
4 par completed text="slept 50"
`
		assert.Equal(t, want, rec.String())
	})
}

func TestMaxParallel(t *testing.T) {
	for _, tc := range []struct{ limit, calls, want int }{{0, 20, 8}, {3, 20, 3}, {-1, 20, 20}} {
		synctest.Test(t, func(t *testing.T) {
			var now, most atomic.Int32
			busy := define("busy", true, func(context.Context, *tool.Call) (*tool.Result, error) {
				n := now.Add(1)
				for {
					m := most.Load()
					if n <= m || most.CompareAndSwap(m, n) {
						break
					}
				}
				time.Sleep(time.Second)
				now.Add(-1)
				return nil, nil
			})
			var calls []*tool.Call
			for i := range tc.calls {
				calls = append(calls, call(fmt.Sprint(i), "busy", ""))
			}
			ex := &tool.Executor{MaxParallel: tc.limit}
			outs, err := ex.Run(t.Context(), newSet(t, busy), calls...)
			require.NoError(t, err)
			require.Len(t, outs, tc.calls)
			assert.EqualValues(t, tc.want, most.Load())
		})
	}
}

func TestCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var rec tooltest.Recorder
		ex := &tool.Executor{Observe: rec.Observe, MaxParallel: 3}
		set := newSet(t, sleeper("par", true), sleeper("seq", false), deaf("deaf", time.Minute))
		ctx, cancel := context.WithCancelCause(t.Context())
		pressed := errors.New("user pressed escape")
		time.AfterFunc(time.Second, func() { cancel(pressed) })
		start := time.Now()
		outs, err := ex.Run(ctx, set,
			call("quick", "par", `{"ms":100}`), call("slow", "par", `{"ms":60000}`),
			call("deaf", "deaf", ""), call("never", "seq", `{"ms":1}`))
		assert.Equal(t, pressed, err)
		assert.Equal(t, 6*time.Second, time.Since(start), "one second, then the default grace")
		require.Len(t, outs, 4)
		require.NoError(t, rec.Err())

		assert.NoError(t, outs[0].Err)
		assert.Equal(t, "slept 100", outs[0].Result.Text)

		assert.ErrorIs(t, outs[1].Err, pressed)
		assert.ErrorIs(t, outs[1].Err, tool.ErrCancelled)
		assert.ErrorIs(t, outs[1].Err, context.Canceled)
		assert.True(t, outs[1].Result.IsError)
		assert.Equal(t, "partial\n\nCancelled: user pressed escape.", outs[1].Result.Text)

		assert.ErrorIs(t, outs[2].Err, pressed)
		assert.Equal(t, "so far\n\nCancelled: user pressed escape.", outs[2].Result.Text)
		assert.Equal(t, "deaf", outs[2].Result.Title)

		assert.ErrorIs(t, outs[3].Err, pressed)
		assert.Equal(t, "Not run: user pressed escape.", outs[3].Result.Text)

		time.Sleep(2 * time.Minute) // the deaf tool comes back
		assert.Len(t, rec.Updates("deaf"), 1, "an update after the end is dropped")
		require.NoError(t, rec.Err())
		assert.Equal(t, "so far\n\nCancelled: user pressed escape.", outs[2].Result.Text)
	})
}

func TestCancelledBeforeStart(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("gone"))
	ran := false
	ex := &tool.Executor{}
	outs, err := ex.Run(ctx, newSet(t, define("x", true, func(context.Context, *tool.Call) (*tool.Result, error) {
		ran = true
		return nil, nil
	})), call("1", "x", ""), call("2", "nosuch", ""))
	assert.EqualError(t, err, "gone")
	require.Len(t, outs, 2)
	for _, o := range outs {
		assert.Equal(t, "Not run: gone.", o.Result.Text)
	}
	assert.False(t, ran)
}

func TestTimeoutExcludesAsking(t *testing.T) {
	work := func(ms int) tool.Tool {
		return define("work", true, func(ctx context.Context, c *tool.Call) (*tool.Result, error) {
			step := func() error {
				select {
				case <-time.After(time.Duration(ms) * time.Millisecond):
					return nil
				case <-ctx.Done():
					return ctx.Err()
				}
			}
			if err := step(); err != nil {
				return tool.Text("first half"), err
			}
			if err := c.Ask(ctx, &tool.Request{Permission: "work"}); err != nil {
				return nil, err
			}
			if err := step(); err != nil {
				return tool.Text("second half"), err
			}
			return tool.Text("done"), nil
		})
	}
	slow := tool.ApproverFunc(func(context.Context, *tool.Call, *tool.Request) error {
		time.Sleep(time.Hour)
		return nil
	})
	synctest.Test(t, func(t *testing.T) {
		ex := &tool.Executor{Timeout: time.Second, Approver: slow}
		out := ex.Do(t.Context(), newSet(t, work(450)), call("1", "work", ""))
		assert.NoError(t, out.Err)
		assert.Equal(t, "done", out.Result.Text)
	})
	synctest.Test(t, func(t *testing.T) {
		ex := &tool.Executor{Timeout: time.Second, Approver: slow}
		start := time.Now()
		out := ex.Do(t.Context(), newSet(t, work(600)), call("1", "work", ""))
		assert.Equal(t, time.Hour+time.Second, time.Since(start))
		assert.ErrorIs(t, out.Err, tool.ErrTimeout)
		assert.ErrorIs(t, out.Err, context.DeadlineExceeded)
		assert.Equal(t, "second half\n\nThe work tool was stopped: it ran longer than its limit of 1s. Do less in one call.", out.Result.Text)
	})
	// The clock of the caller stops too while a tool that it called asks.
	synctest.Test(t, func(t *testing.T) {
		outer := tool.Define(tool.Def{Name: "outer", Description: "Calls work.", Timeout: time.Second},
			func(ctx context.Context, c *tool.Call, _ noInput) (*tool.Result, error) {
				return c.Invoke(ctx, "work", nil)
			})
		ex := &tool.Executor{Approver: slow}
		out := ex.Do(t.Context(), newSet(t, outer, work(400)), call("1", "outer", ""))
		assert.NoError(t, out.Err)
		assert.Equal(t, "done", out.Result.Text)
	})
}

func TestTimeoutOfADeafTool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var rec tooltest.Recorder
		ex := &tool.Executor{Timeout: time.Second, Grace: 2 * time.Second, Observe: rec.Observe}
		start := time.Now()
		outs, err := ex.Run(t.Context(), newSet(t, deaf("deaf", time.Hour), sleeper("par", true)),
			call("1", "deaf", ""), call("2", "par", `{"ms":10}`))
		require.NoError(t, err, "a timeout is one failed call")
		assert.Equal(t, 3*time.Second, time.Since(start))
		assert.ErrorIs(t, outs[0].Err, tool.ErrTimeout)
		assert.Contains(t, outs[0].Result.Text, "so far\n\n")
		assert.NoError(t, outs[1].Err)
		require.NoError(t, rec.Err())
		time.Sleep(2 * time.Hour)
		require.NoError(t, rec.Err())
	})
}

func TestTimeoutOfSpecWins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		own := tool.Define(tool.Def{Name: "own", Description: "Limits itself.", Timeout: -1},
			func(ctx context.Context, c *tool.Call, _ noInput) (*tool.Result, error) {
				time.Sleep(time.Minute)
				return tool.Text("fine"), ctx.Err()
			})
		ex := &tool.Executor{Timeout: time.Second}
		assert.NoError(t, ex.Do(t.Context(), newSet(t, own), call("1", "own", "")).Err)
	})
}

// modelError has other words for the model than for the host.
type modelError struct{}

func (modelError) Error() string     { return "connection string postgres://secret" }
func (modelError) ModelText() string { return "The database is away." }

// evilError panics when it is looked at.
type evilError struct{}

func (evilError) Error() string { panic("no text") }

func TestPanicsAndErrors(t *testing.T) {
	boom := func(ctx context.Context, c *tool.Call) (*tool.Result, error) { panic("secret boom") }
	raw, err := tool.Raw(tool.Def{Name: "raw", Description: "Panics.", Parallel: true}, boom)
	require.NoError(t, err)
	set := newSet(t, raw, define("boom", true, boom), sleeper("par", true),
		define("own", true, func(context.Context, *tool.Call) (*tool.Result, error) {
			return tool.Text("half"), fmt.Errorf("query: %w", modelError{})
		}),
		define("evil", true, func(context.Context, *tool.Call) (*tool.Result, error) { return nil, evilError{} }),
		define("exit", true, func(context.Context, *tool.Call) (*tool.Result, error) { runtime.Goexit(); return nil, nil }),
		define("nothing", true, func(context.Context, *tool.Call) (*tool.Result, error) { return nil, nil }),
		define("relay", true, func(context.Context, *tool.Call) (*tool.Result, error) {
			return &tool.Result{Text: "theirs", IsError: true}, nil
		}))
	var rec tooltest.Recorder
	ex := &tool.Executor{Observe: rec.Observe}
	outs, err := ex.Run(t.Context(), set, call("1", "boom", ""), call("2", "raw", ""), call("3", "own", ""),
		call("4", "evil", ""), call("5", "exit", ""), call("6", "nothing", ""), call("7", "relay", ""), call("8", "par", `{"ms":1}`))
	require.NoError(t, err)
	require.NoError(t, rec.Err())
	for _, i := range []int{0, 1} {
		var p *tool.PanicError
		require.ErrorAs(t, outs[i].Err, &p)
		assert.Equal(t, "secret boom", p.Value)
		assert.Contains(t, string(p.Stack), "executor_test.go")
		assert.NotContains(t, outs[i].Result.Text, "secret")
		assert.Contains(t, outs[i].Result.Text, "The "+outs[i].Call.Tool+" tool failed")
	}
	assert.Equal(t, "half\n\nThe database is away.", outs[2].Result.Text)
	assert.ErrorIs(t, outs[2].Err, modelError{})
	assert.ErrorIs(t, outs[3].Err, tool.ErrPanic)
	assert.ErrorIs(t, outs[4].Err, tool.ErrPanic)
	assert.NoError(t, outs[5].Err)
	assert.Equal(t, "", outs[5].Result.Text)
	assert.Equal(t, "nothing", outs[5].Result.Title)
	assert.NoError(t, outs[6].Err)
	assert.True(t, outs[6].Result.IsError)
	assert.NoError(t, outs[7].Err)
	for _, ev := range rec.Events() {
		if ev.Call.ID == "7" && ev.Last() {
			assert.Equal(t, tool.StateError, ev.State, "a result that says it failed is no success")
		}
	}
}

func TestPanicInMiddlewareAndObserver(t *testing.T) {
	ex := &tool.Executor{
		Observe: func(tool.Event) { panic("observer") },
		Middleware: []tool.Middleware{func(tool.RunFunc) tool.RunFunc {
			return func(context.Context, *tool.Call) (*tool.Result, error) { panic("mw") }
		}},
	}
	out := ex.Do(t.Context(), newSet(t, sleeper("par", true)), call("1", "par", `{"ms":1}`))
	assert.ErrorIs(t, out.Err, tool.ErrPanic)
}

func TestAbort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var rec tooltest.Recorder
		ex := &tool.Executor{Observe: rec.Observe}
		quit := define("quit", true, func(ctx context.Context, c *tool.Call) (*tool.Result, error) {
			time.Sleep(time.Second)
			return tool.Text("bye"), fmt.Errorf("secret reason: %w", tool.ErrAbort)
		})
		start := time.Now()
		outs, err := ex.Run(t.Context(), newSet(t, quit, sleeper("par", true), sleeper("seq", false)),
			call("1", "par", `{"ms":60000}`), call("2", "quit", ""), call("3", "par", `{"ms":100}`), call("4", "seq", `{"ms":1}`))
		assert.Equal(t, time.Second, time.Since(start))
		require.ErrorIs(t, err, tool.ErrAbort)
		require.NoError(t, rec.Err())
		assert.Equal(t, "partial\n\nCancelled: another call ended the turn.", outs[0].Result.Text)
		assert.NotErrorIs(t, outs[0].Err, tool.ErrAbort)
		assert.ErrorIs(t, outs[1].Err, tool.ErrAbort)
		assert.NoError(t, outs[2].Err)
		assert.Equal(t, "Not run: another call ended the turn.", outs[3].Result.Text)
	})
}

func TestUnknownNames(t *testing.T) {
	ran := ""
	read := tool.Define(tool.Def{Name: "read", Description: "Reads.", Aliases: []string{"read_file"}, Parallel: true},
		func(ctx context.Context, c *tool.Call, _ noInput) (*tool.Result, error) {
			ran = c.Tool
			return tool.Text("text"), nil
		})
	hidden := tool.Define(tool.Def{Name: "hidden", Description: "x", Describe: func(context.Context, *tool.Agent) (string, error) { return "", tool.ErrHidden }},
		func(context.Context, *tool.Call, noInput) (*tool.Result, error) { panic("called") })
	set := newSet(t, read, hidden, sleeper("grep", true), sleeper("todowrite", true))
	ex := &tool.Executor{}
	for _, tc := range []struct{ name, text, calledAs string }{
		{"read", "text", ""},
		{"read_file", "text", "read_file"},
		{"Read", "text", "Read"},
		{"READ_FILE", "text", "READ_FILE"},
		{"raed", `There is no tool "raed". Did you mean read? Available tools: grep, read, todowrite.`, ""},
		{"todo_write", `There is no tool "todo_write". Did you mean todowrite? Available tools: grep, read, todowrite.`, ""},
		{"hidden", `There is no tool "hidden". Available tools: grep, read, todowrite.`, ""},
		{"", `There is no tool "". Available tools: grep, read, todowrite.`, ""},
		{"\x00\xff", "There is no tool \"\\x00\uFFFD\". Available tools: grep, read, todowrite.", ""},
	} {
		out := ex.Do(t.Context(), set, call("1", tc.name, ""))
		assert.Equal(t, tc.text, out.Result.Text)
		if tc.calledAs != "" {
			assert.Equal(t, tc.calledAs, out.Result.Metadata["calledAs"])
			assert.Equal(t, tc.name, ran)
		}
		if strings.HasPrefix(tc.text, "There") {
			assert.ErrorIs(t, out.Err, tool.ErrNotFound)
			assert.True(t, out.Result.IsError)
		}
	}
	out := ex.Do(t.Context(), nil, call("1", "read", ""))
	assert.Equal(t, `There is no tool "read". No tools are available.`, out.Result.Text)
	assert.NotNil(t, ex.Do(t.Context(), set, nil).Result, "a nil call still has an outcome")
}

func TestAskWithoutAndWithApprover(t *testing.T) {
	asks := define("asks", true, func(ctx context.Context, c *tool.Call) (*tool.Result, error) {
		if err := c.Ask(ctx, &tool.Request{Permission: "edit", Patterns: []string{"a.go"}, Always: []string{"*"}}); err != nil {
			return nil, err
		}
		return tool.Text("allowed"), nil
	})
	outer := define("outer", true, func(ctx context.Context, c *tool.Call) (*tool.Result, error) {
		return c.Invoke(ctx, "asks", nil)
	})
	set := newSet(t, asks, outer)
	t.Run("nobody", func(t *testing.T) {
		ex := &tool.Executor{}
		outs, err := ex.Run(t.Context(), set, call("1", "asks", ""), call("2", "outer", ""))
		require.NoError(t, err)
		assert.ErrorIs(t, outs[0].Err, tool.ErrDenied)
		const denied = "Permission denied: edit a.go. Nobody can be asked for permission here. Do not repeat the same call; choose another way or ask the user."
		assert.Equal(t, denied, outs[0].Result.Text)
		assert.NoError(t, outs[1].Err, "the caller got a result and passed it on")
		assert.True(t, outs[1].Result.IsError)
		assert.Equal(t, denied, outs[1].Result.Text)
	})
	t.Run("request has the ids", func(t *testing.T) {
		var got []*tool.Request
		var mu sync.Mutex
		ex := &tool.Executor{Approver: tool.ApproverFunc(func(_ context.Context, c *tool.Call, r *tool.Request) error {
			mu.Lock()
			defer mu.Unlock()
			got = append(got, r)
			return nil
		})}
		c := call("7", "asks", "")
		c.Agent = &tool.Agent{Name: "build"}
		assert.Equal(t, "allowed", ex.Do(t.Context(), set, c).Result.Text)
		assert.Equal(t, "allowed", ex.Do(t.Context(), set, call("8", "outer", "")).Result.Text)
		require.Len(t, got, 2)
		assert.Equal(t, "7", got[0].CallID)
		assert.Equal(t, "build", got[0].Agent)
		assert.Equal(t, "8.1", got[1].CallID)
		assert.NotEqual(t, got[0].ID, got[1].ID)
		for _, r := range got {
			assert.Equal(t, "s", r.SessionID)
			assert.Equal(t, "m", r.MessageID)
			assert.Equal(t, "asks", r.Tool)
		}
	})
	for name, ap := range map[string]tool.ApproverFunc{
		"panics": func(context.Context, *tool.Call, *tool.Request) error { panic("ui") },
		"fails":  func(context.Context, *tool.Call, *tool.Request) error { return errors.New("no terminal") },
	} {
		t.Run(name, func(t *testing.T) {
			out := (&tool.Executor{Approver: ap}).Do(t.Context(), set, call("1", "asks", ""))
			assert.ErrorIs(t, out.Err, tool.ErrDenied)
			var d *tool.DeniedError
			require.ErrorAs(t, out.Err, &d)
			assert.Equal(t, "1", d.Request.CallID)
			assert.Contains(t, out.Result.Text, "Permission denied: edit a.go.", "and not the approver's own failure")
		})
	}
	t.Run("a rejection may end the turn", func(t *testing.T) {
		ex := &tool.Executor{Approver: tool.ApproverFunc(func(_ context.Context, _ *tool.Call, r *tool.Request) error {
			return &tool.DeniedError{Reason: "no!", EndTurn: true}
		})}
		assert.True(t, ex.Do(t.Context(), set, call("1", "asks", "")).Result.EndTurn)
	})
	t.Run("cancelled while asking", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(time.Second, func() { cancel(errors.New("closed the window")) })
			ex := &tool.Executor{Approver: tool.ApproverFunc(func(ctx context.Context, _ *tool.Call, r *tool.Request) error {
				<-ctx.Done()
				return ctx.Err()
			})}
			out := ex.Do(ctx, set, call("1", "asks", ""))
			assert.ErrorIs(t, out.Err, tool.ErrCancelled)
			assert.Equal(t, "Cancelled: closed the window.", out.Result.Text)
		})
	})
	t.Run("unbound", func(t *testing.T) {
		_, err := asks.Run(t.Context(), call("1", "asks", ""))
		assert.ErrorIs(t, err, tool.ErrDenied)
		_, err = outer.Run(t.Context(), call("1", "outer", ""))
		assert.ErrorContains(t, err, "not bound")
	})
}

func TestInvoke(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var rec tooltest.Recorder
		var nested tool.Tool = define("nested", true, func(ctx context.Context, c *tool.Call) (*tool.Result, error) {
			return c.Invoke(ctx, "nested", nil)
		})
		fan := define("fan", true, func(ctx context.Context, c *tool.Call) (*tool.Result, error) {
			var wg sync.WaitGroup
			texts := make([]string, 3)
			for i, name := range []string{"par", "nosuch", "par"} {
				wg.Go(func() {
					res, err := c.Invoke(ctx, name, json.RawMessage(`{"ms":10}`))
					if err == nil {
						texts[i] = res.Text
					}
				})
			}
			wg.Wait()
			return tool.Text(strings.Join(texts, "|")), nil
		})
		ex := &tool.Executor{Observe: rec.Observe, MaxParallel: 1}
		set := newSet(t, fan, nested, sleeper("par", false))
		out := ex.Do(t.Context(), set, call("1", "fan", ""))
		assert.Equal(t, `slept 10|There is no tool "nosuch". Available tools: fan, nested, par.|slept 10`, out.Result.Text)
		require.NoError(t, rec.Err())
		parents := map[string]string{}
		for _, ev := range rec.Events() {
			parents[ev.Call.ID] = ev.Call.Parent
		}
		assert.Equal(t, map[string]string{"1": "", "1.1": "1", "1.2": "1", "1.3": "1"}, parents)

		out = ex.Do(t.Context(), set, call("2", "nested", ""))
		assert.Contains(t, out.Result.Text, "nested more than 16 deep")
	})
}

func TestInvokeAbortAndLeftovers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var rec tooltest.Recorder
		ex := &tool.Executor{Observe: rec.Observe}
		var saved *tool.Call
		outer := define("outer", true, func(ctx context.Context, c *tool.Call) (*tool.Result, error) {
			saved = c
			go c.Invoke(ctx, "par", json.RawMessage(`{"ms":1000}`)) //nolint:errcheck // it is left behind on purpose
			time.Sleep(time.Millisecond)
			return tool.Text("done"), nil
		})
		quit := define("quit", true, func(context.Context, *tool.Call) (*tool.Result, error) { return nil, tool.ErrAbort })
		relay := define("relay", true, func(ctx context.Context, c *tool.Call) (*tool.Result, error) { return c.Invoke(ctx, "quit", nil) })
		set := newSet(t, outer, quit, relay, sleeper("par", true))
		start := time.Now()
		out := ex.Do(t.Context(), set, call("1", "outer", ""))
		assert.Equal(t, "done", out.Result.Text)
		assert.Equal(t, time.Second, time.Since(start), "a turn ends when the calls made in it have")
		require.NoError(t, rec.Err())
		_, err := saved.Invoke(t.Context(), "par", json.RawMessage(`{"ms":1}`))
		assert.ErrorContains(t, err, "is over")
		saved.Update(tool.Update{Text: "late"})
		_, err = ex.Run(t.Context(), set, call("2", "relay", ""))
		assert.ErrorIs(t, err, tool.ErrAbort)
	})
}

func TestMiddleware(t *testing.T) {
	var trace []string
	mw := func(name string) tool.Middleware {
		return func(next tool.RunFunc) tool.RunFunc {
			return func(ctx context.Context, c *tool.Call) (*tool.Result, error) {
				trace = append(trace, name+" before "+string(c.Input))
				res, err := next(ctx, c)
				trace = append(trace, name+" after")
				return res, err
			}
		}
	}
	rewrite := func(next tool.RunFunc) tool.RunFunc {
		return func(ctx context.Context, c *tool.Call) (*tool.Result, error) {
			n := *c
			n.Input = json.RawMessage(`{"ms":"bad"}`)
			if fc, ok := tool.FromContext(ctx); !ok || fc.ID != c.ID {
				return nil, errors.New("no call in the context")
			}
			return next(ctx, &n)
		}
	}
	ex := &tool.Executor{Middleware: []tool.Middleware{mw("a"), nil, mw("b"), rewrite}}
	out := ex.Do(t.Context(), newSet(t, sleeper("par", true)), call("1", "par", `{"ms":1}`))
	assert.ErrorIs(t, out.Err, tool.ErrInput, "a rewrite is validated")
	assert.Equal(t, []string{`a before {"ms":1}`, `b before {"ms":1}`, "b after", "a after"}, trace)

	w := tool.Wrap(sleeper("par", true), mw("w"))
	spec, err := w.Spec(t.Context(), nil)
	require.NoError(t, err)
	assert.True(t, spec.Parallel, "wrapping keeps everything else")
	out = (&tool.Executor{}).Do(t.Context(), newSet(t, w), call("1", "par", `{"ms":1}`))
	assert.NoError(t, out.Err)
	assert.Contains(t, trace, "w after")
}

func TestMiddlewareMayRebind(t *testing.T) {
	asks := define("asks", true, func(ctx context.Context, c *tool.Call) (*tool.Result, error) {
		c.Update(tool.Update{Title: "asking"})
		return tool.Text("ok"), c.Ask(ctx, &tool.Request{Permission: "p"})
	})
	var rec tooltest.Recorder
	ex := &tool.Executor{Observe: rec.Observe, Middleware: []tool.Middleware{func(next tool.RunFunc) tool.RunFunc {
		return func(ctx context.Context, c *tool.Call) (*tool.Result, error) {
			rt := c.Runtime()
			rt.Approver = tooltest.AllowAll{}
			return next(ctx, c.Bind(rt))
		}
	}}}
	out := ex.Do(t.Context(), newSet(t, asks), call("1", "asks", ""))
	assert.NoError(t, out.Err)
	assert.Len(t, rec.Updates("1"), 1, "the rest of the runtime is kept")
}

func TestSerialize(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ex := &tool.Executor{Middleware: []tool.Middleware{tool.Serialize(func(c *tool.Call) string { return c.MessageID })}}
		set := newSet(t, sleeper("par", true))
		calls := []*tool.Call{call("1", "par", `{"ms":100}`), call("2", "par", `{"ms":100}`), call("3", "par", `{"ms":100}`), call("4", "par", `{"ms":100}`)}
		calls[3].MessageID = ""
		calls[2].MessageID = "other"
		start := time.Now()
		_, err := ex.Run(t.Context(), set, calls...)
		require.NoError(t, err)
		assert.Equal(t, 200*time.Millisecond, time.Since(start))
	})
}

func TestStartWhileStreaming(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ex := &tool.Executor{}
		start := time.Now()
		b := ex.Start(t.Context(), newSet(t, sleeper("par", true)))
		b.Go(call("1", "par", `{"ms":100}`))
		time.Sleep(90 * time.Millisecond) // the model writes on
		b.Go(call("2", "par", `{"ms":100}`))
		outs, err := b.Wait()
		require.NoError(t, err)
		require.Len(t, outs, 2)
		assert.Equal(t, 190*time.Millisecond, time.Since(start))
		assert.Panics(t, func() { b.Go(call("3", "par", "")) })
		outs, err = ex.Run(t.Context(), nil)
		assert.NoError(t, err)
		assert.Empty(t, outs)
	})
}

func TestSlowObserver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var rec tooltest.Recorder
		chatty := define("chatty", true, func(ctx context.Context, c *tool.Call) (*tool.Result, error) {
			for i := range 10000 {
				c.Update(tool.Update{Text: fmt.Sprint(i), Metadata: map[string]any{"n": i}})
			}
			return tool.Text("end"), nil
		})
		var toolDone time.Time
		ex := &tool.Executor{
			Observe: func(ev tool.Event) { time.Sleep(time.Second); rec.Observe(ev) },
			Middleware: []tool.Middleware{func(next tool.RunFunc) tool.RunFunc {
				return func(ctx context.Context, c *tool.Call) (*tool.Result, error) {
					defer func() { toolDone = time.Now() }()
					return next(ctx, c)
				}
			}},
		}
		start := time.Now()
		out := ex.Do(t.Context(), newSet(t, chatty), call("1", "chatty", ""))
		assert.NoError(t, out.Err)
		assert.Equal(t, start, toolDone, "the tool never waits for the observer")
		require.NoError(t, rec.Err())
		us := rec.Updates("1")
		assert.Less(t, len(us), 200, "updates are merged while the observer is behind")
		assert.Equal(t, "9999", us[len(us)-1].Text, "the last state is never lost")
		assert.Equal(t, 9999, us[len(us)-1].Metadata["n"])
	})
}

func TestUpdatesOfAnAttentiveObserver(t *testing.T) {
	var rec tooltest.Recorder
	steps := define("steps", true, func(ctx context.Context, c *tool.Call) (*tool.Result, error) {
		for i := range 20 {
			m := map[string]any{"n": i}
			c.Update(tool.Update{Metadata: m})
			m["n"] = -1 // the tool's own map stays its own
		}
		return nil, nil
	})
	ex := &tool.Executor{Observe: rec.Observe}
	ex.Do(t.Context(), newSet(t, steps), call("1", "steps", ""))
	us := rec.Updates("1")
	require.Len(t, us, 20)
	for i, u := range us {
		assert.Equal(t, i, u.Metadata["n"])
	}
}

func TestEventsComeBeforeQuestions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen atomic.Int32
		ex := &tool.Executor{
			Observe: func(tool.Event) { time.Sleep(time.Second); seen.Add(1) },
			Approver: tool.ApproverFunc(func(context.Context, *tool.Call, *tool.Request) error {
				assert.EqualValues(t, 3, seen.Load(), "pending, running, and the update")
				return nil
			}),
		}
		out := ex.Do(t.Context(), newSet(t, define("asks", true, func(ctx context.Context, c *tool.Call) (*tool.Result, error) {
			c.Update(tool.Update{Title: "about to ask"})
			return nil, c.Ask(ctx, &tool.Request{Permission: "p"})
		})), call("1", "asks", ""))
		assert.NoError(t, out.Err)
	})
}

func TestManyMixedCallsLeaveNothing(t *testing.T) {
	set := newSet(t, sleeper("par", true), sleeper("seq", false),
		define("boom", true, func(context.Context, *tool.Call) (*tool.Result, error) { panic("x") }),
		define("asks", true, func(ctx context.Context, c *tool.Call) (*tool.Result, error) {
			return nil, c.Ask(ctx, &tool.Request{Permission: "p"})
		}))
	before := runtime.NumGoroutine()
	var rec tooltest.Recorder
	ex := &tool.Executor{Observe: rec.Observe, Timeout: 3 * time.Millisecond, Approver: tooltest.DenyAll{}}
	var wg sync.WaitGroup
	var total atomic.Int32
	for turn := range 20 {
		wg.Go(func() {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if turn%2 == 0 {
				time.AfterFunc(time.Duration(turn)*200*time.Microsecond, cancel)
			}
			var calls []*tool.Call
			for i := range 50 {
				name := []string{"par", "boom", "asks", "nosuch", "seq"}[i%5]
				calls = append(calls, call(fmt.Sprintf("%d.%d", turn, i), name, fmt.Sprintf(`{"ms":%d}`, i%4)))
			}
			outs, _ := ex.Run(ctx, set, calls...)
			for i, o := range outs {
				if o.Call == calls[i] && o.Result != nil {
					total.Add(1)
				}
			}
		})
	}
	wg.Wait()
	assert.EqualValues(t, 1000, total.Load())
	require.NoError(t, rec.Err())
	for deadline := time.Now().Add(10 * time.Second); runtime.NumGoroutine() > before && time.Now().Before(deadline); {
		time.Sleep(5 * time.Millisecond)
	}
	assert.LessOrEqual(t, runtime.NumGoroutine(), before)
}

func TestCrashOnPanicIsOffByDefault(t *testing.T) {
	// The other half, a process that dies, is in TestCrashOnPanic.
	out := (&tool.Executor{}).Do(t.Context(), newSet(t, define("boom", true, func(context.Context, *tool.Call) (*tool.Result, error) { panic(1) })), call("1", "boom", ""))
	assert.ErrorIs(t, out.Err, tool.ErrPanic)
}
