package builtin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
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

// batch runs one batch through an executor that offers the toolset and more.
func (b *bench) batch(ctx context.Context, ex *tool.Executor, input string, more ...tool.Tool) tool.Outcome {
	b.t.Helper()
	set, err := tool.NewSet(ctx, nil, append(b.ts.Tools(), more...)...)
	require.NoError(b.t, err)
	if ex == nil {
		ex = &tool.Executor{}
	}
	ex.Approver = b
	out, _ := ex.Run(ctx, set, tooltest.NewCall("batch", input))
	return out[0]
}

func statuses(res *tool.Result) string {
	var out []string
	for _, e := range res.Metadata["calls"].([]batchEntry) {
		out = append(out, e.Status)
	}
	return strings.Join(out, ",")
}

// TestBatchForms: however a model writes a call, it is the same call.
func TestBatchForms(t *testing.T) {
	for _, c := range []string{
		`{"tool":"read","parameters":{"filePath":"a.txt"}}`,
		`{"tool":"Read","arguments":{"file_path":"a.txt"}}`,
		`{"name":"read","input":{"path":"a.txt"}}`,
		`{"name":"read","arguments":"{\"filePath\":\"a.txt\"}"}`,
		`{"recipient_name":"functions.read","parameters":{"filePath":"a.txt"}}`,
		`{"tool":"read","filePath":"a.txt"}`,
		`"{\"tool\":\"read\",\"filePath\":\"a.txt\"}"`,
	} {
		b := newBench(t, coreFiles, Config{})
		for _, input := range []string{`{"tool_calls":[` + c + `]}`, `{"calls":` + fmt.Sprintf("%q", "["+c+"]") + `}`} {
			out := b.batch(t.Context(), nil, input)
			require.NoError(t, out.Err, input)
			assert.Equal(t, "completed", statuses(out.Result), input)
			assert.Contains(t, out.Result.Text, "alpha", input)
		}
	}
}

// TestBatchRefuses: what cannot be run says why, and the others run all the same.
func TestBatchRefuses(t *testing.T) {
	b := newBench(t, coreFiles, Config{})
	for call, why := range map[string]string{
		`{"tool":"batch","parameters":{"tool_calls":[]}}`:    "batch cannot be called within batch",
		`{"tool":"Plan_Exit","parameters":{}}`:               "cannot be called within batch",
		`{"tool":"task","parameters":{}}`:                    "cannot be called within batch",
		`{"tool":"raed","parameters":{}}`:                    "Did you mean read?",
		`{"tool":"read","parameters":{"filePath":"no.txt"}}`: "no.txt",
		`{"tool":"read","parameters":{"nonsense":1}}`:        "invalid arguments",
		`{"parameters":{"filePath":"a.txt"}}`:                `no "tool"`,
		`"read"`:                                             "a call is an object",
		`{"tool":"read","parameters":"filePath is a.txt"}`:   "invalid arguments",
	} {
		out := b.batch(t.Context(), nil, `{"tool_calls":[`+call+`,{"tool":"read","parameters":{"filePath":"a.txt"}}]}`)
		require.NoError(t, out.Err, call)
		assert.Contains(t, out.Result.Text, why, call)
		assert.Contains(t, out.Result.Text, "1 of 2 calls succeeded.", call)
		assert.Contains(t, out.Result.Text, "=== 2. read: completed", call)
		assert.False(t, out.Result.IsError)
	}
	renamed := tool.Define(tool.Def{Name: "sneak", Description: "d"}, func(ctx context.Context, call *tool.Call, _ struct{}) (*tool.Result, error) {
		return call.Invoke(ctx, "batch", []byte(`{"tool_calls":[{"tool":"ls"}]}`))
	})
	out := b.batch(t.Context(), nil, `{"tool_calls":[{"tool":"sneak","parameters":{}}]}`, renamed)
	assert.Contains(t, out.Result.Text, "from within batch")
	assert.True(t, out.Result.IsError)
}

// TestBatchLimit: calls beyond the 25th are told apart, not dropped.
func TestBatchLimit(t *testing.T) {
	b := newBench(t, coreFiles, Config{})
	calls := strings.Repeat(`{"tool":"ls"},`, 27)
	out := b.batch(t.Context(), nil, `{"tool_calls":[`+strings.TrimSuffix(calls, ",")+`]}`)
	require.NoError(t, out.Err)
	assert.Equal(t, strings.Repeat("completed,", 25)+"not run,not run", statuses(out.Result))
	assert.Contains(t, out.Result.Text, "=== 27. ls: not run\nnot run: at most 25 calls")
}

// TestBatchOrder: calls that only look run side by side, up to eight; the others alone and in order.
func TestBatchOrder(t *testing.T) {
	b := newBench(t, coreFiles, Config{})
	call := func(n int, name string) string { return strings.Repeat(`{"tool":"`+name+`"},`, n) }
	look := strings.TrimSuffix(call(20, "read")+call(3, "bash")+call(3, "read"), ",")
	items := []*batchItem{}
	var in batchInput
	require.NoError(t, json.Unmarshal([]byte(`{"tool_calls":[`+look+`]}`), &in))
	synctest.Test(t, func(t *testing.T) {
		for _, c := range in.ToolCalls {
			it := readBatchCall([]byte(c))
			it.beside, it.entry.Status = it.name == "read", "pending"
			items = append(items, it)
		}
		var now, most atomic.Int32
		bound := tooltest.NewCall("batch", "{}").Bind(tool.Runtime{Invoke: func(_ context.Context, c *tool.Call) (*tool.Result, error) {
			n := now.Add(1)
			defer now.Add(-1)
			if c.Tool == "bash" {
				assert.EqualValues(t, 1, n)
			}
			for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
			}
			time.Sleep(time.Second)
			return tool.Text("ok"), nil
		}})
		start := time.Now()
		r := &batchRun{ts: b.ts, call: bound, items: items}
		require.NoError(t, r.all(t.Context()))
		assert.EqualValues(t, 8, most.Load())
		assert.Equal(t, 7*time.Second, time.Since(start)) // three rounds, three commands, one round
		assert.Contains(t, r.result(t.Context()).Text, "=== 1. read: completed (1000 ms)\nok")
	})
}

// TestBatchSeesChanges: a read after an edit shows what the edit made.
func TestBatchSeesChanges(t *testing.T) {
	b := newBench(t, coreFiles, Config{})
	var mu sync.Mutex
	var progress, ended []string
	ex := &tool.Executor{Observe: func(ev tool.Event) {
		mu.Lock()
		defer mu.Unlock()
		if ev.Update != nil && ev.Call.Tool == "batch" {
			progress = append(progress, ev.Update.Title)
		}
		if ev.Last() && ev.Call.Tool != "batch" {
			assert.Equal(t, "call_1", ev.Call.Parent)
			ended = append(ended, ev.Call.ID)
		}
	}}
	out := b.batch(t.Context(), ex, `{"tool_calls":[{"tool":"read","filePath":"a.txt"},
		{"tool":"edit","filePath":"a.txt","oldString":"alpha","newString":"one"},
		{"tool":"edit","filePath":"a.txt","oldString":"one","newString":"two"},
		{"tool":"read","filePath":"a.txt"}]}`)
	require.NoError(t, out.Err)
	assert.Equal(t, "completed,completed,completed,completed", statuses(out.Result))
	assert.Equal(t, "two\n", b.file("a.txt"))
	_, last, _ := strings.Cut(out.Result.Text, "=== 4. read")
	assert.Contains(t, last, "two")
	assert.Contains(t, progress, "4 of 4 calls")
	assert.Equal(t, []string{"call_1.1", "call_1.2", "call_1.3", "call_1.4"}, ended)
	for i, e := range out.Result.Metadata["calls"].([]batchEntry) {
		assert.Equal(t, ended[i], e.ID)
	}
}

// TestBatchEnds: when the call is cancelled or a tool ends the turn, what was not begun says so.
func TestBatchEnds(t *testing.T) {
	b := newBench(t, coreFiles, Config{})
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("the user stopped it")
	canceller := tool.Define(tool.Def{Name: "canceller", Description: "d"}, func(ctx context.Context, _ *tool.Call, _ struct{}) (*tool.Result, error) {
		cancel(stop)
		<-ctx.Done()
		return nil, context.Cause(ctx)
	})
	aborter := tool.Define(tool.Def{Name: "aborter", Description: "d"}, func(context.Context, *tool.Call, struct{}) (*tool.Result, error) {
		return nil, fmt.Errorf("enough: %w", tool.ErrAbort)
	})
	out := b.batch(ctx, nil, `{"tool_calls":[{"tool":"ls"},{"tool":"canceller"},{"tool":"write","filePath":"x","content":"x"}]}`, canceller)
	require.ErrorIs(t, out.Err, stop)
	assert.NoFileExists(t, b.path("x"))
	assert.Equal(t, "completed,error,not run", statuses(out.Result))
	out = b.batch(t.Context(), nil, `{"tool_calls":[{"tool":"ls"},{"tool":"aborter"},{"tool":"write","filePath":"x","content":"x"}]}`, aborter)
	require.ErrorIs(t, out.Err, tool.ErrAbort)
	assert.NoFileExists(t, b.path("x"))
}

// TestBatchAttachments: they come along, and one can tell whose they are.
func TestBatchAttachments(t *testing.T) {
	b := newBench(t, coreFiles, Config{})
	shot := tool.Define(tool.Def{Name: "shot", Description: "d"}, func(context.Context, *tool.Call, struct{}) (*tool.Result, error) {
		return &tool.Result{Text: "here", EndTurn: true, Attachments: []tool.Attachment{{Name: "s.png", MIME: "image/png", Data: []byte("x")}}}, nil
	})
	out := b.batch(t.Context(), nil, `{"tool_calls":[{"tool":"ls"},{"tool":"shot"}]}`, shot)
	require.NoError(t, out.Err)
	require.Len(t, out.Result.Attachments, 1)
	assert.Equal(t, []int{2}, out.Result.Metadata["attachmentCalls"])
	assert.Contains(t, out.Result.Text, "[attached: s.png image/png]")
	assert.True(t, out.Result.EndTurn)
}

// TestBatchBudget: short results are whole whatever the long ones are.
func TestBatchBudget(t *testing.T) {
	b := newBench(t, coreFiles, Config{})
	long := tool.Define(tool.Def{Name: "long", Description: "d"}, func(context.Context, *tool.Call, struct{}) (*tool.Result, error) {
		return tool.Text(strings.Repeat("0123456789abcde\n", 3000)), nil
	})
	out := b.batch(t.Context(), nil, `{"tool_calls":[{"tool":"long"},{"tool":"read","filePath":"a.txt"},{"tool":"long"},{"tool":"long"}]}`, long)
	require.NoError(t, out.Err)
	assert.Contains(t, out.Result.Text, "alpha")
	assert.LessOrEqual(t, len(out.Result.Text), batchBytes+1024)
	assert.Equal(t, true, out.Result.Metadata["truncated"])
	assert.Positive(t, out.Result.Truncated.Bytes)

	for _, c := range []struct {
		sizes, want []int
		total       int
	}{
		{[]int{10, 20}, []int{10, 20}, 1000},
		{[]int{9000, 100, 9000}, []int{4950, 100, 4950}, 10000},
		{[]int{9000, 3000, 0}, []int{7000, 3000, 0}, 10000},
		{[]int{9000, 9000}, []int{512, 512}, 100},
	} {
		texts := make([]string, len(c.sizes))
		for i, n := range c.sizes {
			texts[i] = strings.Repeat("x", n)
		}
		assert.Equal(t, c.want, fairShares(texts, c.total, minBatchShare))
	}
}

// TestBatchRounds: 25 calls of all kinds, a thousand times: every result in its
// place and within its share, every edit made, and nothing left behind.
func TestBatchRounds(t *testing.T) {
	rounds := 1000
	if testing.Short() || raceEnabled {
		rounds = 60
	}
	b := newBench(t, coreFiles, Config{})
	long := tool.Define(tool.Def{Name: "long", Description: "d", Parallel: true, Hints: tool.Hints{ReadOnly: true}}, func(context.Context, *tool.Call, struct{}) (*tool.Result, error) {
		return tool.Text(strings.Repeat("0123456789abcde\n", 3000)), nil
	})
	crash := tool.Define(tool.Def{Name: "crash", Description: "d"}, func(context.Context, *tool.Call, struct{}) (*tool.Result, error) {
		panic("crash")
	})
	var calls []string
	add := func(n int, call string) {
		for range n {
			calls = append(calls, call)
		}
	}
	add(6, `{"tool":"read","filePath":"a.txt"}`)
	add(3, `{"tool":"long"}`)
	add(2, `{"tool":"ls"}`)
	add(2, `{"tool":"glob","pattern":"*.txt"}`)
	add(2, `{"tool":"grep","pattern":"alpha"}`)
	add(2, `{"tool":"write","filePath":"new.txt","content":"NEW"}`)
	add(2, `{"tool":"edit","filePath":"new.txt","oldString":"NEW","newString":"NEWER","replaceAll":true}`)
	add(1, `{"tool":"read","filePath":"missing.txt"}`)
	add(1, `{"tool":"nonsense"}`)
	add(1, `{"tool":"crash"}`)
	add(2, `{"tool":"todowrite","todos":[{"content":"x"}]}`)
	add(1, `{"tool":"read","filePath":"new.txt"}`)
	require.Len(t, calls, 25)
	input := `{"tool_calls":[` + strings.Join(calls, ",") + `]}`
	// Changes wait for the disk, so most rounds make none.
	looking := strings.NewReplacer(`{"tool":"write","filePath":"new.txt","content":"NEW"}`, `{"tool":"ls"}`,
		`{"tool":"edit","filePath":"new.txt","oldString":"NEW","newString":"NEWER","replaceAll":true}`, `{"tool":"todoread"}`).Replace(input)
	ctx, ex := t.Context(), &tool.Executor{}
	round := func(input string) {
		out := b.batch(ctx, ex, input, long, crash)
		require.NoError(t, out.Err)
		text := out.Result.Text
		require.LessOrEqual(t, len(text), batchBytes+25*200)
		at := 0
		for i, e := range out.Result.Metadata["calls"].([]batchEntry) {
			head := fmt.Sprintf("\n\n=== %d. %s: %s", i+1, e.Tool, e.Status)
			next := strings.Index(text[at:], head)
			require.GreaterOrEqual(t, next, 0, "%s", head)
			at += next + 1
			want := "completed"
			if e.Tool == "nonsense" || e.Tool == "crash" || i == 19 {
				want = "error"
			}
			require.Equal(t, want, e.Status, "%d %s", i, e.Tool)
		}
		first, _, _ := strings.Cut(text, "=== 7.")
		require.Equal(t, 6, strings.Count(first, "alpha"), "short results are whole")
		require.Equal(t, "NEWERER", b.file("new.txt"))
	}
	round(input)
	files, goroutines := openFiles(), runtime.NumGoroutine()
	for i := range rounds {
		if round(looking); i%20 == 0 {
			round(input)
		}
	}
	for deadline := time.Now().Add(10 * time.Second); runtime.NumGoroutine() > goroutines && time.Now().Before(deadline); {
		time.Sleep(5 * time.Millisecond)
	}
	assert.LessOrEqual(t, runtime.NumGoroutine(), goroutines)
	assert.LessOrEqual(t, openFiles(), files)
}

// openFiles counts the open descriptors of this process, 0 where that cannot be told.
func openFiles() int {
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	return len(list)
}

// FuzzReadBatchCall: any text is a call or is refused, and never breaks.
func FuzzReadBatchCall(f *testing.F) {
	for _, s := range []string{`{"tool":"read","parameters":{}}`, `"{}"`, `null`, `{"name":1}`, `{"tool":"x","input":"{}"}`, `{"tool":"x","input":null}`, ``} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		it := readBatchCall([]byte(s))
		if it.refused == nil && (it.name == "" || len(it.input) == 0 || it.input[0] != '{') {
			t.Errorf("%q: %q %q", s, it.name, it.input)
		}
	})
}
