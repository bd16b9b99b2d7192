package tool_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agenttool/tool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// nest returns a tool that runs calls of an agent "sub" within its own call.
func nest(opt *tool.Nested, calls ...*tool.Call) (tool.Tool, *[]tool.Outcome) {
	var got []tool.Outcome
	t := tool.Define(tool.Def{Name: "nest", Description: "d"}, func(ctx context.Context, call *tool.Call, _ struct{}) (*tool.Result, error) {
		agent := &tool.Agent{Name: "sub", Parent: call.Agent}
		set, err := call.Offered().For(ctx, agent, func(_ *tool.Agent, s *tool.Spec) bool { return s.Name != "nest" })
		if err != nil {
			return nil, err
		}
		b, err := call.Start(ctx, set, opt)
		if err != nil {
			return nil, err
		}
		for _, c := range calls {
			c.SessionID, c.Agent = "child", agent
			b.Go(c)
		}
		got, err = b.Wait()
		return tool.Textf("%d calls", len(got)), err
	})
	return t, &got
}

// TestNested: calls of a turn within a call are calls like others, with the
// session and agent they were given.
func TestNested(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asker := tool.Define(tool.Def{Name: "asker", Description: "d", Parallel: true}, func(ctx context.Context, call *tool.Call, _ struct{}) (*tool.Result, error) {
			call.Update(tool.Update{Title: "half"})
			time.Sleep(time.Second)
			return tool.Text("asked"), call.Ask(ctx, &tool.Request{Permission: "p"})
		})
		inside := 0
		var paused atomic.Int32
		opt := &tool.Nested{
			Observe: func(ev tool.Event) { inside++ },
			Pause:   func() func() { paused.Add(1); return func() { paused.Add(10) } },
		}
		outer, got := nest(opt, &tool.Call{ID: "a", Tool: "asker"}, &tool.Call{ID: "b", Tool: "asker"}, &tool.Call{ID: "c", Tool: "nest"})
		var mu sync.Mutex
		var asked, events []string
		ex := &tool.Executor{
			Timeout: 10 * time.Second,
			Approver: tool.ApproverFunc(func(_ context.Context, _ *tool.Call, req *tool.Request) error {
				mu.Lock()
				asked = append(asked, req.Agent+" "+req.SessionID)
				mu.Unlock()
				time.Sleep(time.Hour)
				return nil
			}),
			Observe: func(ev tool.Event) {
				if ev.Last() {
					events = append(events, ev.Call.Parent+">"+ev.Call.ID)
				}
			},
		}
		set, err := tool.NewSet(t.Context(), nil, outer, asker)
		require.NoError(t, err)
		out := ex.Do(t.Context(), set, &tool.Call{ID: "1", Tool: "nest", Agent: &tool.Agent{Name: "main"}})
		require.NoError(t, out.Err, "the hour of the question is charged to nobody")
		require.Len(t, *got, 3)
		require.NoError(t, (*got)[0].Err)
		require.ErrorIs(t, (*got)[2].Err, tool.ErrNotFound)
		assert.Equal(t, "1", (*got)[0].Call.Parent)
		assert.Equal(t, []string{"sub child", "sub child"}, asked)
		assert.EqualValues(t, 22, paused.Load())
		assert.Equal(t, 3+4*2, inside)
		assert.Equal(t, ">1", events[3])
		assert.ElementsMatch(t, []string{"1>a", "1>b", "1>c"}, events[:3])
	})
}

// TestNestedEnds: the end of the outer call is the end of those in it, and an
// aborted turn within is an error of the call and no more.
func TestNestedEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stop := errors.New("stop")
		waiter := tool.Define(tool.Def{Name: "waiter", Description: "d"}, func(ctx context.Context, _ *tool.Call, _ struct{}) (*tool.Result, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		})
		aborter := tool.Define(tool.Def{Name: "aborter", Description: "d"}, func(context.Context, *tool.Call, struct{}) (*tool.Result, error) {
			return nil, tool.ErrAbort
		})
		outer, got := nest(nil, &tool.Call{Tool: "waiter"}, &tool.Call{Tool: "waiter"})
		set, err := tool.NewSet(t.Context(), nil, outer, waiter, aborter)
		require.NoError(t, err)
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(stop) })
		out := (&tool.Executor{}).Do(ctx, set, &tool.Call{Tool: "nest"})
		require.ErrorIs(t, out.Err, stop)
		require.ErrorIs(t, (*got)[0].Err, stop)
		require.ErrorIs(t, (*got)[1].Err, tool.ErrCancelled)

		deaf := tool.Define(tool.Def{Name: "deaf", Description: "d"}, func(context.Context, *tool.Call, struct{}) (*tool.Result, error) {
			time.Sleep(time.Minute)
			return nil, nil
		})
		outer, got = nest(nil, &tool.Call{Tool: "deaf"})
		set, err = tool.NewSet(t.Context(), nil, outer, deaf)
		require.NoError(t, err)
		ctx, cancel = context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(stop) })
		start := time.Now()
		out = (&tool.Executor{}).Do(ctx, set, &tool.Call{Tool: "nest"})
		require.ErrorIs(t, out.Err, stop)
		assert.Equal(t, 6*time.Second, time.Since(start))
		synctest.Wait()
		require.Len(t, *got, 1)
		time.Sleep(time.Hour)
	})
}

func TestNestedRefused(t *testing.T) {
	var late *tool.Call
	keep := tool.Define(tool.Def{Name: "keep", Description: "d"}, func(_ context.Context, call *tool.Call, _ struct{}) (*tool.Result, error) {
		late = call
		return nil, nil
	})
	set, err := tool.NewSet(t.Context(), nil, keep)
	require.NoError(t, err)
	(&tool.Executor{}).Do(t.Context(), set, &tool.Call{Tool: "keep"})
	_, err = late.Start(t.Context(), set, nil)
	require.ErrorContains(t, err, "is over")
	for _, c := range []*tool.Call{{Tool: "x"}, (&tool.Call{Tool: "x"}).Bind(tool.Runtime{})} {
		_, err = c.Start(t.Context(), set, nil)
		require.ErrorContains(t, err, "not bound to an executor")
		assert.Nil(t, c.Offered())
	}
	_, err = late.Bind(late.Runtime()).Start(t.Context(), set, nil)
	require.ErrorContains(t, err, "is over", "a copy stands on the same executor")
	assert.Equal(t, 1, late.Bind(late.Runtime()).Offered().Len())

	var again tool.Tool
	depth := 0
	again = tool.Define(tool.Def{Name: "again", Description: "d"}, func(ctx context.Context, call *tool.Call, _ struct{}) (*tool.Result, error) {
		depth++
		b, err := call.Start(ctx, call.Offered(), nil)
		if err != nil {
			return nil, err
		}
		b.Go(&tool.Call{Tool: "again"})
		out, err := b.Wait()
		return out[0].Result, err
	})
	set, err = tool.NewSet(t.Context(), nil, again)
	require.NoError(t, err)
	out := (&tool.Executor{}).Do(t.Context(), set, &tool.Call{Tool: "again"})
	assert.Contains(t, out.Result.Text, "nested more than 16 deep")
	assert.Equal(t, 17, depth)
}

// TestSetFor: another agent is offered no more than what the set has.
func TestSetFor(t *testing.T) {
	picky := tool.Define(tool.Def{Name: "picky", Description: "d", Describe: func(_ context.Context, a *tool.Agent) (string, error) {
		if a == nil {
			return "", tool.ErrHidden
		}
		return "for " + a.Name, nil
	}}, func(context.Context, *tool.Call, struct{}) (*tool.Result, error) { return nil, nil })
	plain := tool.Define(tool.Def{Name: "plain", Description: "d"}, func(context.Context, *tool.Call, struct{}) (*tool.Result, error) { return nil, nil })
	hidden, err := tool.NewSet(t.Context(), nil, picky, plain)
	require.NoError(t, err)
	set, err := hidden.For(t.Context(), &tool.Agent{Name: "x"})
	require.NoError(t, err)
	assert.Equal(t, 1, set.Len(), "what the set does not have, nobody gets from it")
	full, err := tool.NewSet(t.Context(), &tool.Agent{Name: "y"}, picky, plain)
	require.NoError(t, err)
	set, err = full.For(t.Context(), &tool.Agent{Name: "x"}, func(_ *tool.Agent, s *tool.Spec) bool { return s.Name == "picky" })
	require.NoError(t, err)
	require.Equal(t, 1, set.Len())
	for s := range set.Specs() {
		assert.Equal(t, "for x", s.Description)
	}
	var none *tool.Set
	set, err = none.For(t.Context(), nil)
	require.NoError(t, err)
	assert.Zero(t, set.Len())

	a := &tool.Agent{Name: "a"}
	b := &tool.Agent{Name: "b", Parent: a}
	assert.Equal(t, []*tool.Agent{b, a}, b.Lineage())
	a.Parent = b
	assert.Equal(t, []*tool.Agent{b, a}, b.Lineage(), "a circle ends")
	assert.Empty(t, (*tool.Agent)(nil).Lineage())
}

// A tool runs an agent of its own, with what its caller is offered.
func ExampleCall_Start() {
	upper := tool.Func(tool.Def{Name: "upper", Description: "Upper case.", Parallel: true},
		func(_ context.Context, in struct {
			Text string `json:"text"`
		}) (string, error) {
			return strings.ToUpper(in.Text), nil
		})
	delegate := tool.Define(tool.Def{Name: "delegate", Description: "Have it done."},
		func(ctx context.Context, call *tool.Call, _ struct{}) (*tool.Result, error) {
			agent := &tool.Agent{Name: "helper", Parent: call.Agent}
			set, err := call.Offered().For(ctx, agent)
			if err != nil {
				return nil, err
			}
			turn, err := call.Start(ctx, set, nil)
			if err != nil {
				return nil, err
			}
			turn.Go(&tool.Call{ID: "h1", Tool: "upper", Input: []byte(`{"text":"done"}`), Agent: agent})
			out, err := turn.Wait()
			return out[0].Result, err
		})
	set, err := tool.NewSet(context.Background(), nil, upper, delegate)
	if err != nil {
		panic(err)
	}
	ex := &tool.Executor{Observe: func(ev tool.Event) {
		if ev.Last() {
			fmt.Printf("%s %s, in %q\n", ev.State, ev.Call.Tool, ev.Call.Parent)
		}
	}}
	fmt.Println(ex.Do(context.Background(), set, &tool.Call{ID: "1", Tool: "delegate"}).Result.Text)
	// Output:
	// completed upper, in "1"
	// completed delegate, in ""
	// DONE
}
