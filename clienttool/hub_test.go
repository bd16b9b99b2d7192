package clienttool_test

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agenttool/tool"
	"github.com/agenttool/tool/clienttool"
	"github.com/agenttool/tool/tooltest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// rig is a hub with one principal, and a way to connect clients that can be cut.
type rig struct {
	t      *testing.T
	hub    *clienttool.Hub
	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu    sync.Mutex
	conns []clienttool.Conn
	down  atomic.Bool
	wrap  func(clienttool.Conn) clienttool.Conn // of the host's end
}

func newRig(t *testing.T, o clienttool.Options) *rig {
	t.Helper()
	h, err := clienttool.NewHub(o)
	require.NoError(t, err)
	r := &rig{t: t, hub: h}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	return r
}

// end closes everything and waits, so that a goroutine left over fails the bubble.
func (r *rig) end() {
	r.cancel()
	r.wg.Wait()
	r.hub.Close()
	assert.Empty(r.t, r.hub.Clients(), "no client after Close")
}

func (r *rig) dial(principal string) clienttool.DialFunc {
	return func(ctx context.Context) (clienttool.Conn, error) {
		if r.down.Load() {
			return nil, errors.New("network is down")
		}
		hc, cc := clienttool.Pipe(8)
		if r.wrap != nil {
			hc = r.wrap(hc)
		}
		r.mu.Lock()
		r.conns = append(r.conns, cc)
		r.mu.Unlock()
		r.wg.Go(func() { r.hub.Serve(context.Background(), clienttool.Peer{Principal: principal}, hc) })
		return cc, nil
	}
}

// cut severs every link.
func (r *rig) cut() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.conns {
		c.Close(errors.New("cut"))
	}
	r.conns = nil
}

func (r *rig) run(c *clienttool.Client) (stop func()) {
	ctx, cancel := context.WithCancel(r.ctx)
	done := make(chan struct{})
	r.wg.Go(func() { defer close(done); c.Run(ctx) })
	return func() { cancel(); <-done }
}

func (r *rig) client(id string, o clienttool.ClientOptions, tools ...func(*clienttool.Client)) *clienttool.Client {
	c := clienttool.NewClient(id, r.dial("alice"), o)
	for _, f := range tools {
		f(c)
	}
	return c
}

func handle(name string, h clienttool.Handler) func(*clienttool.Client) {
	return func(c *clienttool.Client) {
		if err := c.Add(clienttool.ToolDefinition{ID: name, Description: "a tool", Parameters: json.RawMessage(`{"type":"object"}`)}, h); err != nil {
			panic(err)
		}
	}
}

func text(s string) *clienttool.ToolResult { return &clienttool.ToolResult{Title: "done", Output: s} }

func TestCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, clienttool.Options{})
		defer r.end()
		runs := 0
		r.run(r.client("laptop", clienttool.ClientOptions{}, handle("read", func(ctx context.Context, i *clienttool.Invocation) (*clienttool.ToolResult, error) {
			runs++
			assert.JSONEq(t, `{"n":9007199254740993}`, string(i.Input))
			return text("hello"), nil
		})))
		synctest.Wait()
		res, err := r.hub.Execute(t.Context(), clienttool.CallRequest{Tool: "client_laptop_read", Input: json.RawMessage(`{"n":9007199254740993}`)})
		require.NoError(t, err)
		assert.Equal(t, "hello", res.Output)
		assert.Equal(t, 1, runs)
	})
}

func TestSource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, clienttool.Options{})
		defer r.end()
		c := r.client("laptop", clienttool.ClientOptions{SessionID: "ses_1"})
		type in struct {
			Path string `json:"path"`
		}
		require.NoError(t, c.AddTool(tool.Define(tool.Def{Name: "read", Description: "Reads a file."}, func(ctx context.Context, call *tool.Call, in in) (*tool.Result, error) {
			if err := call.Ask(ctx, &tool.Request{Permission: "read", Patterns: []string{in.Path}}); err != nil {
				return nil, err
			}
			call.Update(tool.Update{Title: "reading", Text: "1"})
			time.Sleep(time.Millisecond)
			sub, err := call.Invoke(ctx, "upper", json.RawMessage(`{"s":"x"}`))
			if err != nil {
				return nil, err
			}
			return &tool.Result{Text: "content of " + in.Path + sub.Text, Metadata: map[string]any{"lines": 3},
				Attachments: []tool.Attachment{{Name: "a.png", MIME: "image/png", Data: []byte("png")}}}, nil
		})))
		r.run(c)
		synctest.Wait()
		var reg tool.Registry
		type upper struct {
			S string `json:"s"`
		}
		require.NoError(t, reg.Add(tool.Define(tool.Def{Name: "upper", Description: "Upper."}, func(ctx context.Context, call *tool.Call, in upper) (*tool.Result, error) {
			assert.NotEmpty(t, call.Parent)
			return tool.Text("UP"), nil
		})))
		reg.AddSource(r.hub)
		other, err := reg.Resolve(t.Context(), &tool.Agent{SessionID: "ses_2"})
		require.NoError(t, err)
		assert.Equal(t, 1, other.Len(), "another session sees nothing")
		set, err := reg.Resolve(t.Context(), &tool.Agent{SessionID: "ses_1"})
		require.NoError(t, err)
		require.True(t, set.Has("client_laptop_read"))
		var rec tooltest.Recorder
		script := &tooltest.Script{Steps: []tooltest.Step{
			{Permission: "client_tool", Pattern: "client_laptop_read", Allow: true},
			{Permission: "read", Pattern: "a.txt", Allow: true},
			{Permission: "client_tool", Pattern: "client_laptop_read", Allow: true},
			{Permission: "read", Pattern: "b.txt", Reason: "not that one"},
		}}
		ex := &tool.Executor{Approver: script, Observe: rec.Observe}
		out := ex.Do(t.Context(), set, &tool.Call{ID: "call_1", Tool: "client_laptop_read", SessionID: "ses_1", Input: json.RawMessage(`{"path":"a.txt"}`)})
		require.NoError(t, out.Err)
		assert.Equal(t, "content of a.txtUP", out.Result.Text)
		assert.Equal(t, float64(3), out.Result.Metadata["lines"])
		require.Len(t, out.Result.Attachments, 1)
		assert.Equal(t, []byte("png"), out.Result.Attachments[0].Data)
		out = ex.Do(t.Context(), set, &tool.Call{ID: "call_2", Tool: "client_laptop_read", SessionID: "ses_1", Input: json.RawMessage(`{"path":"b.txt"}`)})
		assert.ErrorIs(t, out.Err, tool.ErrDenied)
		assert.Contains(t, out.Result.Text, "not that one")
		out = ex.Do(t.Context(), set, &tool.Call{ID: "call_3", Tool: "client_laptop_read", SessionID: "ses_1", Input: json.RawMessage(`{"path":7}`)})
		assert.ErrorIs(t, out.Err, tool.ErrInput)
		require.NoError(t, script.Err())
		require.NoError(t, rec.Err())
		assert.NotEmpty(t, rec.Updates("call_1"))
	})
}

func TestReconnect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, clienttool.Options{})
		defer r.end()
		runs := 0
		r.run(r.client("laptop", clienttool.ClientOptions{Backoff: clienttool.Backoff{Max: 2 * time.Second}}, handle("slow", func(ctx context.Context, i *clienttool.Invocation) (*clienttool.ToolResult, error) {
			runs++
			time.Sleep(5 * time.Second)
			return text("ok"), ctx.Err()
		})))
		synctest.Wait()
		call, err := r.hub.Start(t.Context(), clienttool.CallRequest{Tool: "client_laptop_slow"})
		require.NoError(t, err)
		time.Sleep(time.Second)
		r.down.Store(true)
		r.cut()
		time.Sleep(10 * time.Second)
		r.down.Store(false)
		<-call.Done()
		res, err := call.Result()
		require.NoError(t, err)
		assert.Equal(t, "ok", res.Output)
		assert.Equal(t, 1, runs)
	})
}
