package tool_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/agenttool/tool"
	"github.com/agenttool/tool/tooltest"
)

// What hosts, observers, approvers and tools do wrong must not cost the turn, nor
// let anything happen that an outcome denies.

func edgeTool(name string, h tool.Handler[struct{}]) tool.Tool {
	return tool.Define(tool.Def{Name: name, Description: "A tool.", Parallel: true}, h)
}

func edgeSet(t *testing.T, ts ...tool.Tool) *tool.Set {
	t.Helper()
	set, err := tool.NewSet(t.Context(), nil, ts...)
	require.NoError(t, err)
	return set
}

func TestInvokeEndsWithTheContextItWasGiven(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		deaf := edgeTool("deaf", func(context.Context, *tool.Call, struct{}) (*tool.Result, error) {
			<-release
			return tool.Text("late"), nil
		})
		var inner *tool.Result
		parent := edgeTool("parent", func(ctx context.Context, c *tool.Call, _ struct{}) (*tool.Result, error) {
			ctx, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			var err error
			inner, err = c.Invoke(ctx, "deaf", nil)
			return tool.Text("went on"), err
		})
		var rec tooltest.Recorder
		ex := &tool.Executor{Observe: rec.Observe, Grace: 2 * time.Second}
		start := time.Now()
		out := ex.Do(t.Context(), edgeSet(t, deaf, parent), &tool.Call{ID: "1", Tool: "parent"})
		assert.Equal(t, 3*time.Second, time.Since(start))
		assert.NoError(t, out.Err)
		assert.Equal(t, "Cancelled: its time was over.", inner.Text)
		assert.True(t, inner.IsError)
		assert.NoError(t, rec.Err())
		close(release)
	})
}

func TestGrantAfterTheEndIsNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := tool.ApproverFunc(func(context.Context, *tool.Call, *tool.Request) error {
			time.Sleep(time.Minute)
			return nil
		})
		for name, asks := range map[string]func(context.Context) context.Context{
			"its own context": func(ctx context.Context) context.Context { return ctx },
			"another context": context.WithoutCancel,
		} {
			acted := false
			var answer error
			w := edgeTool("w", func(ctx context.Context, c *tool.Call, _ struct{}) (*tool.Result, error) {
				if answer = c.Ask(asks(ctx), &tool.Request{Permission: "edit", Patterns: []string{"a"}}); answer != nil {
					return nil, answer
				}
				acted = true
				return nil, nil
			})
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(time.Second, func() { cancel(errors.New("the user pressed escape")) })
			out := (&tool.Executor{Approver: slow}).Do(ctx, edgeSet(t, w), &tool.Call{ID: "1", Tool: "w"})
			assert.Equal(t, "Cancelled: the user pressed escape.", out.Result.Text, name)
			time.Sleep(time.Hour)
			synctest.Wait()
			assert.False(t, acted, name)
			assert.Error(t, answer, name)
		}
	})
}

func TestCallThatIsOverCannotAsk(t *testing.T) {
	asked := 0
	ap := tool.ApproverFunc(func(context.Context, *tool.Call, *tool.Request) error { asked++; return nil })
	var kept, rebound *tool.Call
	w := edgeTool("w", func(_ context.Context, c *tool.Call, _ struct{}) (*tool.Result, error) {
		kept, rebound = c, c.Bind(c.Runtime())
		return nil, nil
	})
	(&tool.Executor{Approver: ap}).Do(t.Context(), edgeSet(t, w), &tool.Call{ID: "1", Tool: "w"})
	assert.ErrorIs(t, kept.Ask(t.Context(), &tool.Request{Permission: "edit"}), tool.ErrDenied)
	assert.ErrorIs(t, rebound.Ask(t.Context(), &tool.Request{Permission: "edit"}), tool.ErrDenied)
	assert.ErrorIs(t, kept.Ask(t.Context(), nil), tool.ErrDenied)
	assert.Zero(t, asked)
}

func TestObserverThatEndsItsGoroutine(t *testing.T) {
	seen := 0
	ex := &tool.Executor{Observe: func(tool.Event) { seen++; runtime.Goexit() }}
	w := edgeTool("w", func(_ context.Context, c *tool.Call, _ struct{}) (*tool.Result, error) {
		c.Update(tool.Update{Text: "x"})
		return nil, c.Ask(t.Context(), &tool.Request{Permission: "edit"})
	})
	out := ex.Do(t.Context(), edgeSet(t, w), &tool.Call{ID: "1", Tool: "w"})
	assert.ErrorIs(t, out.Err, tool.ErrDenied)
	assert.Equal(t, 4, seen, "pending, running, update, error")
}

func TestMiddlewareThatCannotBeApplied(t *testing.T) {
	w := edgeTool("w", func(context.Context, *tool.Call, struct{}) (*tool.Result, error) { return nil, nil })
	for _, mw := range []tool.Middleware{
		func(tool.RunFunc) tool.RunFunc { panic("boo") },
		func(tool.RunFunc) tool.RunFunc { return nil },
	} {
		ex := &tool.Executor{Middleware: []tool.Middleware{mw}}
		out := ex.Do(t.Context(), edgeSet(t, w), &tool.Call{ID: "1", Tool: "w"})
		assert.ErrorIs(t, out.Err, tool.ErrPanic)
	}
}

func TestResultSurvivesBadTruncation(t *testing.T) {
	w := edgeTool("w", func(context.Context, *tool.Call, struct{}) (*tool.Result, error) { return tool.Text("precious"), nil })
	for _, f := range []tool.TruncateFunc{
		func(_ context.Context, _ *tool.Call, _ *tool.Spec, r *tool.Result) error { r.Text = ""; panic("x") },
		func(_ context.Context, _ *tool.Call, _ *tool.Spec, r *tool.Result) error {
			r.Text = ""
			return errors.New("disk full")
		},
	} {
		out := (&tool.Executor{Truncate: f}).Do(t.Context(), edgeSet(t, w), &tool.Call{ID: "1", Tool: "w"})
		assert.NoError(t, out.Err)
		assert.Equal(t, "precious", out.Result.Text)
	}
}

func TestBoundCallsHaveIDsOfTheirOwn(t *testing.T) {
	var ids []string
	c := (&tool.Call{ID: "p", Tool: "x"}).Bind(tool.Runtime{Invoke: func(_ context.Context, c *tool.Call) (*tool.Result, error) {
		ids = append(ids, c.ID)
		return nil, nil
	}})
	for range 2 {
		_, err := c.Invoke(t.Context(), "a", nil)
		require.NoError(t, err)
	}
	assert.Equal(t, []string{"p.1", "p.2"}, ids)
}

func TestNothingIsSaidTwice(t *testing.T) {
	abort := edgeTool("abort", func(context.Context, *tool.Call, struct{}) (*tool.Result, error) {
		return nil, fmt.Errorf("stop here: %w", tool.ErrAbort)
	})
	forward := edgeTool("forward", func(ctx context.Context, c *tool.Call, _ struct{}) (*tool.Result, error) {
		return c.Invoke(ctx, "abort", nil)
	})
	waits := edgeTool("waits", func(ctx context.Context, _ *tool.Call, _ struct{}) (*tool.Result, error) {
		<-ctx.Done()
		return tool.Text("half"), context.Cause(ctx)
	})
	outs, err := (&tool.Executor{}).Run(t.Context(), edgeSet(t, abort, forward, waits),
		&tool.Call{ID: "1", Tool: "waits"}, &tool.Call{ID: "2", Tool: "forward"})
	assert.ErrorIs(t, err, tool.ErrAbort)
	assert.Equal(t, "half\n\nCancelled: another call ended the turn.", outs[0].Result.Text)
	assert.Equal(t, "stop here: turn aborted by a tool", outs[1].Result.Text)
}

// rawTool is a tool that this package did not make.
type rawTool struct{ res *tool.Result }

func (rawTool) Name() string { return "raw" }
func (rawTool) Spec(context.Context, *tool.Agent) (*tool.Spec, error) {
	return &tool.Spec{Description: "A tool.", Input: json.RawMessage(`{"type":"object"}`)}, nil
}
func (r rawTool) Run(context.Context, *tool.Call) (*tool.Result, error) { return r.res, nil }

func TestResultsAreUTF8(t *testing.T) {
	const bad = "a\xff\xfeb"
	for _, res := range []*tool.Result{
		{Title: bad, Text: bad},
		{Title: bad, Text: bad, Truncated: &tool.Truncation{}},
		{Title: bad, Text: bad, Metadata: map[string]any{"truncated": false}},
	} {
		for _, w := range []tool.Tool{
			rawTool{res},
			edgeTool("raw", func(context.Context, *tool.Call, struct{}) (*tool.Result, error) { return res, nil }),
		} {
			out := (&tool.Executor{}).Do(t.Context(), edgeSet(t, w), &tool.Call{ID: "1", Tool: "raw"})
			assert.True(t, utf8.ValidString(out.Result.Text) && utf8.ValidString(out.Result.Title), "%q", out.Result)
			assert.Equal(t, bad, res.Text, "the tool's own result is left alone")
		}
	}
}

func TestArgumentsAreAnObject(t *testing.T) {
	def := tool.Def{Name: "raw", Description: "A tool."}
	_, err := tool.New(def, func(context.Context, *tool.Call, []string) (*tool.Result, error) { return nil, nil })
	assert.ErrorContains(t, err, "object")
	def.Input = json.RawMessage(`{"type":"string"}`)
	_, err = tool.Raw(def, func(context.Context, *tool.Call) (*tool.Result, error) { return nil, nil })
	assert.ErrorContains(t, err, "object")
	for doc, ok := range map[string]bool{
		`{"type":["object","null"]}`:                      true,
		`{"properties":{"a":{}}}`:                         true,
		`{"anyOf":[{"type":"object"},{"type":"object"}]}`: true,
		`{"type":"array"}`:                                false,
	} {
		set, err := tool.NewSet(t.Context(), nil, specTool(doc))
		assert.Equal(t, ok, err == nil, doc)
		assert.Equal(t, ok, set.Has("raw"), doc)
	}
}

type specTool string

func (specTool) Name() string { return "raw" }
func (s specTool) Spec(context.Context, *tool.Agent) (*tool.Spec, error) {
	return &tool.Spec{Description: "A tool.", Input: json.RawMessage(s)}, nil
}
func (specTool) Run(context.Context, *tool.Call) (*tool.Result, error) { return nil, nil }

func TestInputErrorHookThatPanics(t *testing.T) {
	type in struct {
		N int `json:"n"`
	}
	w := tool.Define(tool.Def{Name: "w", Description: "A tool.", InputError: func(*tool.InputError) string { panic("x") }},
		func(context.Context, *tool.Call, in) (*tool.Result, error) { return nil, nil })
	out := (&tool.Executor{}).Do(t.Context(), edgeSet(t, w), &tool.Call{ID: "1", Tool: "w"})
	assert.ErrorIs(t, out.Err, tool.ErrInput)
	assert.Contains(t, out.Result.Text, "/n: want integer, got nothing")
}

func TestDenialIsPunctuatedOnce(t *testing.T) {
	for reason, want := range map[string]string{
		"use bun":    "use bun. Do",
		" use bun! ": "use bun! Do",
		"why?":       "why? Do",
		"no.\n":      "no. Do",
	} {
		assert.Contains(t, (&tool.DeniedError{Reason: reason}).Error(), "denied. "+want, "%q", reason)
	}
}

// What a model reads about a text that is no JSON is about the text alone, and a
// notice says each thing once.
func TestWordsAreSaidOnce(t *testing.T) {
	type in struct {
		B []byte `json:"b"`
	}
	w := tool.Define(tool.Def{Name: "w", Description: "A tool."},
		func(context.Context, *tool.Call, in) (*tool.Result, error) {
			return tool.Text(strings.Repeat("line\n", 3000)), nil
		})
	read := func(input string) string {
		return (&tool.Executor{}).Do(t.Context(), edgeSet(t, w), &tool.Call{ID: "1", Tool: "w", Input: json.RawMessage(input)}).Result.Text
	}
	assert.Contains(t, read(`{"b":"",}`), "arguments:\n- invalid JSON at byte")
	assert.Contains(t, read(`{"b":"!!"}`), "/b: want string with base64, got string \"!!\"")
	assert.True(t, strings.HasSuffix(read(`{"b":""}`),
		"omitted; the full text was not kept. Call the tool again with a narrower request.]"))
}

// A tool of a source that cannot even tell its name is left out, and nothing else.
func TestSourceWithABrokenTool(t *testing.T) {
	var broken *namedTool
	var r tool.Registry
	r.AddSource(sourceOf{broken, specTool(`{"type":"object"}`)})
	set, err := r.Resolve(t.Context(), nil)
	assert.ErrorIs(t, err, tool.ErrResolve)
	assert.True(t, set.Has("raw"))
	assert.Equal(t, 1, set.Len())
}

type namedTool struct {
	specTool
	name string
}

func (n *namedTool) Name() string { return n.name }

type sourceOf []tool.Tool

func (s sourceOf) Tools(context.Context, *tool.Agent) iter.Seq2[tool.Tool, error] {
	return func(yield func(tool.Tool, error) bool) {
		for _, t := range s {
			if !yield(t, nil) {
				return
			}
		}
	}
}
