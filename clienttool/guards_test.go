package clienttool_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agenttool/tool"
	"github.com/agenttool/tool/clienttool"
	ct "github.com/agenttool/tool/clienttool/clienttooltest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Guards that another one usually hides: each needs a case in which the other cannot
// help. testdata/mutants.txtar takes them out, one at a time.
func TestGuards(t *testing.T) {
	for _, f := range guards {
		t.Run(f.name, f.run)
	}
}

// fakeRun runs a client against a fake host until the bubble ends.
func fakeRun(t *testing.T, host *ct.FakeHost, o clienttool.ClientOptions, h clienttool.Handler) {
	o.Backoff, o.DrainTimeout = clienttool.Backoff{Max: time.Second}, time.Second
	c := clienttool.NewClient("a", host, o)
	require.NoError(t, c.Add(definition("x"), h))
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); c.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
	synctest.Wait()
}

func request(id, name string) *clienttool.Message {
	return &clienttool.Message{Type: clienttool.TypeRequest, Request: &clienttool.ExecutionRequest{RequestID: id, Name: name, Input: json.RawMessage(`{}`)}}
}

// constant names every tool the same.
type constant struct{}

func (constant) Name(string, string) (string, error) { return "client_same", nil }

var guards = []fault{
	{0, "a result for what was never written", clienttool.Options{Limits: clienttool.Limits{InFlight: 1}}, func(t *testing.T, ctx context.Context, r *ct.Rig) {
		a := dial(t, r.Hub, alice)
		require.True(t, a.greet(hello("a", "i1", "x")))
		first := mustStart(t, r.Hub, clienttool.CallRequest{Tool: "client_a_x"})
		waits := mustStart(t, r.Hub, clienttool.CallRequest{Tool: "client_a_x", RequestID: "guessable"})
		a.recv(clienttool.TypeRequest)
		a.result("guessable", "forged")
		assert.Equal(t, clienttool.VerdictUnknown, a.recv(clienttool.TypeAck).Verdict)
		a.result(first.ID(), "ok")
		a.recv(clienttool.TypeRequest)
		a.result("guessable", "true")
		works(t, waits, "true")
	}},
	{0, "progress, questions and acknowledgements of others", clienttool.Options{}, func(t *testing.T, ctx context.Context, r *ct.Rig) {
		a, b := dial(t, r.Hub, alice), dial(t, r.Hub, alice)
		require.True(t, a.greet(hello("a", "i1", "x")))
		require.True(t, b.greet(hello("b", "i2", "x")))
		touched := false
		call := mustStart(t, r.Hub, clienttool.CallRequest{Tool: "client_a_x", OnProgress: func(clienttool.Progress) { touched = true },
			Ask: func(context.Context, *tool.Request) error { touched = true; return nil }})
		id := a.recv(clienttool.TypeRequest).Request.RequestID
		b.send(&clienttool.Message{Type: clienttool.TypeProgress, RequestID: id, Progress: &clienttool.Progress{Title: "mine"}})
		b.send(&clienttool.Message{Type: clienttool.TypeAsk, RequestID: id, AskID: "q", Ask: &clienttool.Ask{Permission: "bash", Patterns: []string{"x"}}})
		b.send(&clienttool.Message{Type: clienttool.TypeAck, RequestIDs: []string{id}})
		synctest.Wait()
		assert.False(t, touched)
		state, _ := call.State()
		assert.Equal(t, "sent", state.String())
		a.result(id, "ok")
		works(t, call, "ok")
	}},
	{0, "what the host does not know is forgotten", clienttool.Options{}, func(t *testing.T, ctx context.Context, r *ct.Rig) {
		a := dial(t, r.Hub, alice)
		h := hello("a", "i1", "x")
		h.Hello.Live = []string{"req_of_yesterday"}
		require.True(t, a.greet(h))
		m := a.recv(clienttool.TypeCancel)
		assert.Equal(t, "req_of_yesterday", m.RequestID)
		assert.Equal(t, clienttool.ReasonSettled, m.Reason)
	}},
	{0, "limits of the hub and of bytes", unlimited(clienttool.Options{Limits: clienttool.Limits{InFlight: 1, Pending: 3, QueuedBytes: 100, RequestBytes: 200}}), func(t *testing.T, ctx context.Context, r *ct.Rig) {
		r.Client("a").Tool("x").Hangs()
		r.Client("b").Tool("x").Hangs()
		synctest.Wait()
		start := func(id string, n int) error {
			_, err := r.Hub.Start(ctx, clienttool.CallRequest{Tool: "client_" + id + "_x", Input: json.RawMessage(`{"s":"` + strings.Repeat("x", n) + `"}`)})
			synctest.Wait()
			return err
		}
		fails(t, start("a", 200), clienttool.CodeTooLarge, clienttool.NotDelivered)
		require.NoError(t, start("a", 1)) // in flight
		require.NoError(t, start("a", 60))
		fails(t, start("a", 60), clienttool.CodeOverloaded, clienttool.NotDelivered)
		require.NoError(t, start("b", 1))
		fails(t, start("b", 1), clienttool.CodeOverloaded, clienttool.NotDelivered)
		r.Hub.Registry().Cleanup("a")
		r.Hub.Registry().Cleanup("b")
	}},
	{0, "a request that comes again after its end", clienttool.Options{}, func(t *testing.T, ctx context.Context, r *ct.Rig) {
		host, runs := ct.NewHost(t), 0
		fakeRun(t, host, clienttool.ClientOptions{}, func(context.Context, *clienttool.Invocation) (*clienttool.ToolResult, error) {
			runs++
			return text("ok"), nil
		})
		for range 3 {
			host.Send(request("r1", "x"))
			time.Sleep(time.Second)
		}
		assert.Equal(t, 1, runs)
	}},
	{0, "a tool that the client does not have", clienttool.Options{}, func(t *testing.T, ctx context.Context, r *ct.Rig) {
		host := ct.NewHost(t)
		fakeRun(t, host, clienttool.ClientOptions{}, func(context.Context, *clienttool.Invocation) (*clienttool.ToolResult, error) { return nil, nil })
		host.Send(request("r1", "y"))
		m, err := host.Await(ctx, clienttool.TypeResult, 1)
		require.NoError(t, err)
		assert.Equal(t, clienttool.CodeUnknownTool, m.Result.Code)
	}},
	{0, "results for a host that takes none", clienttool.Options{}, func(t *testing.T, ctx context.Context, r *ct.Rig) {
		host := ct.NewHost(t)
		fakeRun(t, host, clienttool.ClientOptions{ResultBytes: 2500}, func(_ context.Context, i *clienttool.Invocation) (*clienttool.ToolResult, error) {
			return text(strings.Repeat(i.RequestID[1:], 1000)), nil
		})
		host.Quiet(true)
		for i := range 4 {
			host.Send(request(fmt.Sprint("r", i), "x"))
			time.Sleep(time.Second)
		}
		kept := make(map[string]string)
		time.Sleep(40 * time.Second) // all are sent again
		for _, m := range host.Frames() {
			if m.Type == clienttool.TypeResult {
				kept[m.RequestID] = m.Result.Status
			}
		}
		assert.Equal(t, map[string]string{"r0": "error", "r1": "error", "r2": "success", "r3": "success"}, kept)
	}},
	{0, "a gap that only its number shows", clienttool.Options{AckTimeout: -1, Timeout: 5 * time.Minute}, func(t *testing.T, ctx context.Context, r *ct.Rig) {
		r.Wrap = func(h, c clienttool.Conn) (clienttool.Conn, clienttool.Conn) {
			return ct.Faulty(h, ct.Once(clienttool.TypeRequest, 1, ct.Fault{Kind: ct.Drop})), c
		}
		f := r.Client("a").Tool("x")
		synctest.Wait()
		works(t, mustStart(t, r.Hub, clienttool.CallRequest{Tool: "client_a_x"}), "ok")
		assert.Len(t, f.Calls(), 1)
	}},
	{0, "a call that waits for a tool that is removed", clienttool.Options{Limits: clienttool.Limits{InFlight: 1}}, func(t *testing.T, ctx context.Context, r *ct.Rig) {
		a := r.Client("a")
		a.Tool("y").After(time.Minute)
		a.Tool("x")
		synctest.Wait()
		mustStart(t, r.Hub, clienttool.CallRequest{Tool: "client_a_y"})
		synctest.Wait()
		waits := mustStart(t, r.Hub, clienttool.CallRequest{Tool: "client_a_x"})
		a.Remove("x")
		begin := time.Now()
		ends(t, waits, clienttool.CodeUnknownTool, clienttool.NotDelivered)
		assert.Zero(t, time.Since(begin))
		r.Hub.Registry().Cleanup("a")
	}},
	{0, "a call of another session", clienttool.Options{}, func(t *testing.T, ctx context.Context, r *ct.Rig) {
		r.ClientWith("a", clienttool.ClientOptions{SessionID: "mine"}).Tool("x")
		synctest.Wait()
		_, err := r.Hub.Start(ctx, clienttool.CallRequest{Tool: "client_a_x", SessionID: "other"})
		fails(t, err, clienttool.CodeUnknownTool, clienttool.NotDelivered)
		works(t, mustStart(t, r.Hub, clienttool.CallRequest{Tool: "client_a_x", SessionID: "mine"}), "ok")
	}},
	{0, "an id that is taken", clienttool.Options{Namer: constant{}}, func(t *testing.T, ctx context.Context, r *ct.Rig) {
		for i, id := range []string{"a", "b"} {
			m, err := r.Hub.Handle(ctx, alice, &clienttool.Message{Type: clienttool.TypeRegister, ClientID: id, Tools: []clienttool.ToolDefinition{definition("x")}})
			require.NoError(t, err)
			assert.Len(t, m.Rejected, i)
		}
		tool, ok := r.Hub.Lookup("client_same")
		require.True(t, ok)
		assert.Equal(t, "a", tool.ClientID)
	}},
	{0, "progress in order, once, bounded, never after the result", clienttool.Options{Limits: clienttool.Limits{ProgressBudget: 10}}, func(t *testing.T, ctx context.Context, r *ct.Rig) {
		a := dial(t, r.Hub, alice)
		require.True(t, a.greet(hello("a", "i1", "x")))
		var mu sync.Mutex
		var got []string
		release := make(chan struct{})
		slow := false
		call := mustStart(t, r.Hub, clienttool.CallRequest{Tool: "client_a_x", OnProgress: func(p clienttool.Progress) {
			mu.Lock()
			got = append(got, p.Title+p.Delta)
			wait := slow
			mu.Unlock()
			if wait {
				<-release
			}
		}})
		id := a.recv(clienttool.TypeRequest).Request.RequestID
		say := func(n uint64, title, delta string) {
			a.send(&clienttool.Message{Type: clienttool.TypeProgress, RequestID: id, Progress: &clienttool.Progress{N: n, Title: title, Delta: delta}})
			synctest.Wait()
		}
		say(2, "two", "")
		say(1, "one", "")
		say(3, "", "0123456789")
		say(4, "", "too much")
		say(5, "", "again")
		mu.Lock()
		slow = true
		mu.Unlock()
		say(6, "six", "")
		say(7, "seven", "")
		a.result(id, "ok")
		works(t, call, "ok")
		close(release)
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		require.Len(t, got, 5)
		assert.Equal(t, "two", got[0])
		assert.Equal(t, "0123456789", got[1])
		assert.Contains(t, got[2], "left out")
		assert.Empty(t, got[3])
		assert.Equal(t, "six", got[4], "seven came too late")
	}},
	{0, "a client that reads nothing gathers no frames", clienttool.Options{WriteTimeout: time.Hour, Limits: clienttool.Limits{Control: 8}}, func(t *testing.T, ctx context.Context, r *ct.Rig) {
		r.Wrap = func(h, c clienttool.Conn) (clienttool.Conn, clienttool.Conn) {
			return ct.Faulty(h, ct.Once(clienttool.TypePing, 1, ct.Fault{Kind: ct.Stall})), c
		}
		a := r.Client("a")
		a.Tool("x")
		time.Sleep(40 * time.Second) // the first ping is stuck
		a.Offline(true)
		ids := make([]string, 20)
		for i := range ids {
			ids[i] = fmt.Sprint("unknown", i)
		}
		_, err := r.Hub.Handle(ctx, alice, &clienttool.Message{Type: clienttool.TypeAck, ClientID: "a", RequestIDs: ids})
		require.NoError(t, err)
		info, _ := r.Hub.Client("a")
		assert.False(t, info.Connected)
	}},
	{0, "a result that was lost with its link", clienttool.Options{}, func(t *testing.T, ctx context.Context, r *ct.Rig) {
		r.Wrap = func(h, c clienttool.Conn) (clienttool.Conn, clienttool.Conn) {
			r.Wrap = nil
			return h, ct.Faulty(c, ct.Once(clienttool.TypeResult, 1, ct.Fault{Kind: ct.Drop}))
		}
		a := r.ClientWith("a", clienttool.ClientOptions{ResendAfter: time.Hour, Backoff: clienttool.Backoff{Max: time.Second}})
		f := a.Tool("x")
		synctest.Wait()
		call := mustStart(t, r.Hub, clienttool.CallRequest{Tool: "client_a_x"})
		time.Sleep(time.Second)
		a.Cut()
		works(t, call, "ok")
		assert.Len(t, f.Calls(), 1)
	}},
	{0, "a client that does not read, and need not acknowledge", clienttool.Options{AckTimeout: -1, PingInterval: -1}, func(t *testing.T, ctx context.Context, r *ct.Rig) {
		r.Wrap = func(h, c clienttool.Conn) (clienttool.Conn, clienttool.Conn) {
			r.Wrap = nil
			return ct.Faulty(h, ct.Once(clienttool.TypeRequest, 1, ct.Fault{Kind: ct.Stall})), c
		}
		r.ClientWith("a", clienttool.ClientOptions{Backoff: clienttool.Backoff{Max: time.Second}}).Tool("x")
		synctest.Wait()
		begin := time.Now()
		works(t, mustStart(t, r.Hub, clienttool.CallRequest{Tool: "client_a_x"}), "ok")
		assert.Less(t, time.Since(begin), 12*time.Second)
	}},
	{0, "a result larger than the host takes", clienttool.Options{}, func(t *testing.T, ctx context.Context, r *ct.Rig) {
		host := ct.NewHost(t)
		fakeRun(t, host, clienttool.ClientOptions{}, func(context.Context, *clienttool.Invocation) (*clienttool.ToolResult, error) {
			return text(strings.Repeat("x", 4<<20+1)), nil
		})
		host.Send(request("r1", "x"))
		m, err := host.Await(ctx, clienttool.TypeResult, 1)
		require.NoError(t, err)
		assert.Equal(t, clienttool.CodeTooLarge, m.Result.Code)
		assert.Empty(t, m.Result.Output)
	}},
	{0, "a host that falls silent", clienttool.Options{}, func(t *testing.T, ctx context.Context, r *ct.Rig) {
		dialed := 0
		var ends []clienttool.Conn
		c := clienttool.NewClient("a", clienttool.DialFunc(func(ctx context.Context) (clienttool.Conn, error) {
			dialed++
			host, client := clienttool.Pipe(8)
			ends = append(ends, host)
			return client, host.Send(ctx, &clienttool.Message{Type: clienttool.TypeWelcome, Welcome: &clienttool.Welcome{Protocol: 1, PingMs: 1000}})
		}), clienttool.ClientOptions{Backoff: clienttool.Backoff{Max: time.Second}, DrainTimeout: time.Second})
		cctx, cancel := context.WithCancel(ctx)
		done := make(chan struct{})
		go func() { defer close(done); c.Run(cctx) }()
		time.Sleep(20 * time.Second)
		cancel()
		<-done
		assert.GreaterOrEqual(t, dialed, 5, "every two and a half seconds, and a moment to wait")
		for _, c := range ends {
			c.Close(nil)
		}
	}},
	{0, "a call that was to be written again and is held after all", clienttool.Options{Limits: clienttool.Limits{InFlight: 1}}, func(t *testing.T, ctx context.Context, r *ct.Rig) {
		host, client := clienttool.Pipe(8)
		slow := ct.Faulty(host, ct.Once(clienttool.TypePong, 1, ct.Fault{Delay: time.Second}))
		go r.Hub.Serve(context.Background(), alice, slow)
		a := &raw{t: t, c: client}
		defer client.Close(nil)
		require.True(t, a.greet(hello("a", "i1", "x")))
		call := mustStart(t, r.Hub, clienttool.CallRequest{Tool: "client_a_x"})
		id := a.recv(clienttool.TypeRequest).Request.RequestID
		a.send(&clienttool.Message{Type: clienttool.TypePing}) // its answer keeps the writer busy
		synctest.Wait()
		for _, live := range [][]string{nil, {id}} {
			_, err := r.Hub.Handle(ctx, alice, &clienttool.Message{Type: clienttool.TypeSync, ClientID: "a", Seq: 1000, Live: live})
			require.NoError(t, err)
		}
		info, _ := r.Hub.Client("a")
		assert.Equal(t, 1, info.InFlight)
		state, _ := call.State()
		assert.Equal(t, "started", state.String())
		a.result(id, "ok")
		works(t, call, "ok")
		info, _ = r.Hub.Client("a")
		assert.Zero(t, info.InFlight)
		m := a.recv(clienttool.TypeAck)
		assert.Equal(t, id, m.RequestID, "one at a time, for a client that has not said it takes several")
	}},
	{0, "time to think is free", clienttool.Options{}, func(t *testing.T, ctx context.Context, r *ct.Rig) {
		a := r.Client("a")
		require.NoError(t, a.Add(definition("x"), func(ctx context.Context, i *clienttool.Invocation) (*clienttool.ToolResult, error) {
			if err := i.Ask(ctx, &tool.Request{Permission: "read", Patterns: []string{"a"}}); err != nil {
				return nil, err
			}
			return text("ok"), nil
		}))
		synctest.Wait()
		works(t, mustStart(t, r.Hub, clienttool.CallRequest{Tool: "client_a_x", HeartbeatTimeout: 10 * time.Second,
			Ask: func(context.Context, *tool.Request) error { time.Sleep(10 * time.Minute); return nil }}), "ok")
	}},
}

// The client's side forwards a question as it is.
func TestForwardedAskOpaque(t *testing.T) {
	ct.Run(t, clienttool.Options{}, func(ctx context.Context, r *ct.Rig) {
		a := r.Client("a")
		asked := &tool.Request{Permission: "bash", Title: "t", Patterns: []string{"p"}, Always: []string{"a"}, Protected: true, Opaque: true}
		require.NoError(r.T, a.Add(definition("x"), func(ctx context.Context, i *clienttool.Invocation) (*clienttool.ToolResult, error) {
			return text("ok"), i.Ask(ctx, asked)
		}))
		synctest.Wait()
		works(r.T, mustStart(r.T, r.Hub, clienttool.CallRequest{Tool: "client_a_x", Ask: func(_ context.Context, q *tool.Request) error {
			assert.Equal(r.T, map[string]any{"clientID": "a"}, q.Metadata)
			q.Metadata = nil
			assert.Equal(r.T, asked, q)
			return nil
		}}), "ok")
	})
}
