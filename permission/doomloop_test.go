package permission

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/agenttool/tool"
)

// looper runs calls through a DoomLoop, by name, and notes what was asked.
type looper struct {
	loop  *DoomLoop
	run   tool.RunFunc
	asked []*tool.Request
	deny  bool
	ran   int
}

func newLooper(loop *DoomLoop, run tool.RunFunc) *looper {
	l := &looper{loop: loop}
	l.run = loop.Middleware()(func(ctx context.Context, call *tool.Call) (*tool.Result, error) {
		l.ran++
		if run != nil {
			return run(ctx, call)
		}
		return tool.Text("done"), nil
	})
	return l
}

func (l *looper) Approve(_ context.Context, _ *tool.Call, req *tool.Request) error {
	l.asked = append(l.asked, req)
	if l.deny {
		return &tool.DeniedError{Request: req, Reason: "The user rejected this", EndTurn: true}
	}
	return nil
}

func (l *looper) call(session, name, input string) (*tool.Result, error) {
	call := &tool.Call{Tool: name, SessionID: session, Input: json.RawMessage(input)}
	return l.run(context.Background(), call.Bind(tool.Runtime{Approver: l}))
}

// sequence makes one call per letter and returns which of them were asked about.
func (l *looper) sequence(t *testing.T, letters string) string {
	var out strings.Builder
	for _, c := range letters {
		n := len(l.asked)
		name, input := "edit", fmt.Sprintf(`{"x":%q}`, c)
		if c == 'J' {
			name = "job_output"
		}
		_, err := l.call("s", name, input)
		require.NoError(t, err)
		if len(l.asked) > n {
			out.WriteByte('!')
		} else {
			out.WriteByte('.')
		}
	}
	return out.String()
}

func TestDoomLoop(t *testing.T) {
	tests := []struct{ calls, want string }{
		{"AAA", "..!"},
		{"AAAA", "..!!"},
		{"AABAA", "....."},
		{"AABAAA", ".....!"},
		{"ABABAB", ".....!"},
		{"ABABABA", ".....!!"},
		{"ABABA", "....."},
		{"ABCABCABC", "........!"},
		{"ABCABCAB", "........"},
		{"AABAABAAB", "........!"},
		{"ABCDABCDABCD", "............"},
		{"JJJJJ", "....."},
		{"AAJAAJAA", "........"},
		{"ABCABDABCABD", "............"},
	}
	for _, tt := range tests {
		assert.Equal(t, tt.want, newLooper(&DoomLoop{}, nil).sequence(t, tt.calls), tt.calls)
	}
	assert.Equal(t, ".!", newLooper(&DoomLoop{Limit: 1}, nil).sequence(t, "AA"), "one call is no loop")
	assert.Equal(t, "....!", newLooper(&DoomLoop{Limit: 5}, nil).sequence(t, "AAAAA"))
	assert.Equal(t, "..!", newLooper(&DoomLoop{Exempt: []string{"edit2"}}, nil).sequence(t, "JJJ"))
}

func TestDoomLoopKey(t *testing.T) {
	l := newLooper(&DoomLoop{}, nil)
	for _, in := range []string{`{"a":1,"b":[1.0]}`, ` {"b":[1],"a":1e0}`, `{"b":[1], "a":1}`} {
		_, err := l.call("s", "edit", in)
		require.NoError(t, err)
	}
	require.Len(t, l.asked, 1, "order of keys, blanks and spelling of numbers do not count")
	req := l.asked[0]
	assert.Equal(t, "doom_loop", req.Permission)
	assert.Equal(t, []string{"edit"}, req.Patterns)
	assert.Equal(t, []string{"edit"}, req.Always)
	assert.Equal(t, "This is the third identical call of edit in a row", req.Title)

	for _, in := range []string{`{"b":[2,1]}`, `{"b":[1,2]}`, `{"b":[2,1]}`} {
		_, err := l.call("s", "edit", in)
		require.NoError(t, err)
	}
	for _, session := range []string{"x", "y", "z"} {
		_, err := l.call(session, "edit", `{}`)
		require.NoError(t, err)
	}
	require.Len(t, l.asked, 1)
	for range 3 {
		_, err := l.call("bad", "edit", `{not json`)
		require.NoError(t, err)
	}
	require.Len(t, l.asked, 2)
}

func TestDoomLoopDenied(t *testing.T) {
	var seen []Loop
	l := newLooper(&DoomLoop{Detected: func(loop Loop) { seen = append(seen, loop) }}, nil)
	l.deny = true
	for range 2 {
		_, err := l.call("s", "edit", `{}`)
		require.NoError(t, err)
	}
	_, err := l.call("s", "edit", `{}`)
	d := deniedBy(t, err)
	assert.Equal(t, 2, l.ran)
	assert.True(t, d.EndTurn)
	assert.Contains(t, d.Error(), "third identical call of edit")
	assert.Contains(t, d.Error(), "Change course")
	require.Len(t, seen, 1)
	assert.Equal(t, LoopRepeat, seen[0].Kind)
	assert.Equal(t, "edit", seen[0].Call.Tool)

	l.loop.Detected = func(Loop) { panic("boom") }
	_, err = l.call("s", "edit", `{}`)
	deniedBy(t, err)
	assert.Equal(t, 2, l.ran)
}

func TestRepeatedFailures(t *testing.T) {
	errOld := errors.New("old text not found")
	fail := true
	l := newLooper(&DoomLoop{}, func(_ context.Context, call *tool.Call) (*tool.Result, error) {
		switch {
		case !fail || call.Tool == "read":
			return tool.Text("ok"), nil
		case call.Tool == "soft":
			return &tool.Result{Text: "no", IsError: true}, nil
		}
		return nil, errOld
	})
	edit := func() string {
		_, err := l.call("s", "edit", `{}`)
		_, other := l.call("s", "read", fmt.Sprint(l.ran))
		require.NoError(t, other)
		if err == nil {
			return ""
		}
		require.ErrorIs(t, err, errOld)
		assert.Equal(t, err.Error(), tool.ModelText(err))
		return tool.ModelText(err)
	}
	assert.Equal(t, "old text not found", edit())
	assert.Equal(t, "old text not found", edit())
	assert.Equal(t, "This is the third identical failing call of edit. It will fail again: do not repeat it. "+
		"Check what you assume about the arguments, or choose another way.\n\nold text not found", edit())
	assert.Contains(t, edit(), "fourth")
	fail = false
	assert.Empty(t, edit())
	fail = true
	assert.Equal(t, "old text not found", edit(), "a success between")

	soft := &tool.Result{}
	for range 3 {
		var err error
		soft, err = l.call("s", "soft", `{}`)
		require.NoError(t, err)
	}
	assert.True(t, strings.HasPrefix(soft.Text, "This is the third"), soft.Text)
	assert.True(t, strings.HasSuffix(soft.Text, "\n\nno"))
	assert.True(t, soft.IsError)
}

func TestFailuresThatDoNotCount(t *testing.T) {
	for _, err := range []error{&tool.DeniedError{}, &tool.CancelledError{}, tool.ErrAbort} {
		l := newLooper(&DoomLoop{}, func(context.Context, *tool.Call) (*tool.Result, error) { return nil, err })
		for range 4 {
			_, got := l.call("s", "edit", `{}`)
			require.Equal(t, err, got)
		}
	}
}

func TestDoomLoopMemoryIsBounded(t *testing.T) {
	l := newLooper(&DoomLoop{}, func(context.Context, *tool.Call) (*tool.Result, error) { return nil, errors.New("x") })
	for i := range 2 * maxRows {
		_, _ = l.call(fmt.Sprint(i), "edit", `{}`)
		_, _ = l.call("kept", "edit", fmt.Sprint(i))
	}
	assert.Len(t, l.loop.rows, maxRows)
	kept := l.loop.rows[rowKey{session: "kept"}]
	require.NotNil(t, kept, "the oldest goes first")
	assert.Len(t, kept.failures, maxFailures)
	assert.Len(t, kept.failed, maxFailures)
	assert.LessOrEqual(t, len(kept.calls), 9)
}

func TestDoomLoopParallel(t *testing.T) {
	g := &Gate{}
	ex := &tool.Executor{Approver: g, Middleware: []tool.Middleware{(&DoomLoop{}).Middleware()}}
	set, err := tool.NewSet(t.Context(), nil, tool.Func(tool.Def{Name: "ping", Description: "Pings.", Parallel: true}, func(context.Context, struct{}) (string, error) { return "pong", nil }))
	require.NoError(t, err)
	var calls []*tool.Call
	for i := range 10 {
		calls = append(calls, &tool.Call{ID: fmt.Sprint(i), Tool: "ping", Input: json.RawMessage(`{}`)})
	}
	out, err := ex.Run(t.Context(), set, calls...)
	require.NoError(t, err)
	refused := 0
	for _, o := range out {
		if errors.Is(o.Err, tool.ErrDenied) {
			refused++
		}
	}
	assert.Equal(t, 8, refused, "whichever came third and later")

	var wg sync.WaitGroup
	loop := &DoomLoop{}
	run := loop.Middleware()(func(context.Context, *tool.Call) (*tool.Result, error) { return tool.Text(""), nil })
	for i := range 50 {
		wg.Go(func() {
			_, _ = run(t.Context(), &tool.Call{Tool: "x", SessionID: fmt.Sprint(i % 5), Input: json.RawMessage(`{}`)})
		})
	}
	wg.Wait()
}

func TestOrdinal(t *testing.T) {
	assert.Equal(t, "third 11th 13th 21st 22nd 23rd 24th 99th",
		strings.Join([]string{ordinal(3), ordinal(11), ordinal(13), ordinal(21), ordinal(22), ordinal(23), ordinal(24), ordinal(99)}, " "))
}

func BenchmarkDoomLoop(b *testing.B) {
	loop := &DoomLoop{}
	run := loop.Middleware()(func(context.Context, *tool.Call) (*tool.Result, error) { return nil, nil })
	calls := []*tool.Call{
		{Tool: "edit", Input: json.RawMessage(`{"filePath":"a.go","oldString":"a","newString":"b"}`)},
		{Tool: "read", Input: json.RawMessage(`{"filePath":"a.go"}`)},
	}
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		i++
		_, _ = run(context.Background(), &tool.Call{Tool: calls[i%2].Tool, Input: calls[i%2].Input, SessionID: fmt.Sprint(i % 7)})
	}
}
