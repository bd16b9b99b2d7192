package clienttool_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agenttool/tool"
	"github.com/agenttool/tool/clienttool"
	ct "github.com/agenttool/tool/clienttool/clienttooltest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// unlimited lifts the rates, for tests of something else.
func unlimited(o clienttool.Options) clienttool.Options {
	o.Limits.CallsPerMinute, o.Limits.RegistersPerMinute, o.Limits.ClientsPerPrincipal = -1, -1, -1
	return o
}

// raw is a client that says exactly what a test wants.
type raw struct {
	t       *testing.T
	c       clienttool.Conn
	welcome *clienttool.Welcome
	served  chan error
}

func dial(t *testing.T, h *clienttool.Hub, p clienttool.Peer) *raw {
	host, client := clienttool.Pipe(64)
	r := &raw{t: t, c: client, served: make(chan error, 1)}
	go func() { r.served <- h.Serve(context.Background(), p, host) }()
	t.Cleanup(func() { client.Close(nil); <-r.served })
	return r
}

func (r *raw) send(m *clienttool.Message) {
	r.t.Helper()
	require.NoError(r.t, r.c.Send(context.Background(), m))
}

// recv returns the next message of a type, skipping others; nil at the end of the link.
func (r *raw) recv(typ string) *clienttool.Message {
	r.t.Helper()
	for {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
		m, err := r.c.Recv(ctx)
		cancel()
		if errors.Is(err, context.DeadlineExceeded) {
			r.t.Fatalf("no %s came", typ)
		}
		if err != nil {
			return nil
		}
		if m.Type == typ {
			return m
		}
	}
}

func definition(name string) clienttool.ToolDefinition {
	return clienttool.ToolDefinition{ID: name, Description: "a tool", Parameters: json.RawMessage(`{"type":"object"}`)}
}

func hello(id, instance string, tools ...string) *clienttool.Message {
	h := &clienttool.Hello{Protocol: 1, ClientID: id, Instance: instance, Tools: []clienttool.ToolDefinition{},
		Capabilities: []string{clienttool.CapAck, clienttool.CapCancel, clienttool.CapProgress, clienttool.CapSync}}
	for _, n := range tools {
		h.Tools = append(h.Tools, definition(n))
	}
	return &clienttool.Message{Type: clienttool.TypeHello, Hello: h}
}

// greet says hello and returns whether it was welcome.
func (r *raw) greet(m *clienttool.Message) bool {
	r.t.Helper()
	r.send(m)
	for {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		m, err := r.c.Recv(ctx)
		cancel()
		require.NoError(r.t, err)
		if m.Type == clienttool.TypeBye {
			return false
		}
		if m.Type == clienttool.TypeWelcome {
			r.welcome = m.Welcome
			return true
		}
	}
}

func (r *raw) result(id, text string) {
	r.t.Helper()
	r.send(&clienttool.Message{Type: clienttool.TypeResult, RequestID: id, Result: &clienttool.ToolResponse{Status: "success", Output: text}})
}

var alice = clienttool.Peer{Principal: "test"}

func mustStart(t *testing.T, h *clienttool.Hub, r clienttool.CallRequest) *clienttool.Call {
	t.Helper()
	c, err := h.Start(context.Background(), r)
	require.NoError(t, err)
	return c
}

func failure(t *testing.T, c *clienttool.Call) *clienttool.CallError {
	t.Helper()
	<-c.Done()
	_, err := c.Result()
	var e *clienttool.CallError
	require.ErrorAs(t, err, &e)
	return e
}

func fails(t *testing.T, err error, code string, d clienttool.Delivery) {
	t.Helper()
	var e *clienttool.CallError
	if assert.ErrorAs(t, err, &e) {
		assert.Equal(t, code, e.Code)
		assert.Equal(t, d, e.Delivery, "delivery")
	}
}

func ends(t *testing.T, c *clienttool.Call, code string, d clienttool.Delivery) {
	t.Helper()
	fails(t, failure(t, c), code, d)
}

func works(t *testing.T, c *clienttool.Call, text string) {
	t.Helper()
	<-c.Done()
	res, err := c.Result()
	require.NoError(t, err)
	assert.Equal(t, text, res.Output)
}

// The numbers are those of the list of faults in docs/delegation.md.
func TestFaults(t *testing.T) {
	for _, c := range []struct {
		name string
		opt  clienttool.Options
		f    func(t *testing.T, ctx context.Context, r *ct.Rig)
	}{
		{"1 none", clienttool.Options{}, func(t *testing.T, ctx context.Context, r *ct.Rig) {
			f := r.Client("a").Tool("x").Returns("hi")
			synctest.Wait()
			works(t, mustStart(t, r.Hub, clienttool.CallRequest{Tool: "client_a_x"}), "hi")
			assert.Len(t, f.Calls(), 1)
		}},
		{"2 fifty results at once", clienttool.Options{}, func(t *testing.T, ctx context.Context, r *ct.Rig) {
			a := dial(t, r.Hub, alice)
			require.True(t, a.greet(hello("a", "i1", "x")))
			call := mustStart(t, r.Hub, clienttool.CallRequest{Tool: "client_a_x"})
			id := a.recv(clienttool.TypeRequest).Request.RequestID
			var accepted, duplicate atomic.Int32
			var wg sync.WaitGroup
			for range 50 {
				wg.Go(func() {
					m, err := r.Hub.Handle(ctx, alice, &clienttool.Message{Type: clienttool.TypeResult, RequestID: id, ClientID: "a", Result: &clienttool.ToolResponse{Status: "success"}})
					assert.NoError(t, err)
					switch m.Verdict {
					case clienttool.VerdictAccepted:
						accepted.Add(1)
					case clienttool.VerdictDuplicate:
						duplicate.Add(1)
					}
				})
			}
			wg.Wait()
			assert.EqualValues(t, 1, accepted.Load())
			assert.EqualValues(t, 49, duplicate.Load())
			works(t, call, "")
		}},
		{"3 results of others", clienttool.Options{}, func(t *testing.T, ctx context.Context, r *ct.Rig) {
			a := dial(t, r.Hub, alice)
			require.True(t, a.greet(hello("a", "i1", "x")))
			b := dial(t, r.Hub, alice)
			require.True(t, b.greet(hello("b", "i2", "x")))
			m := dial(t, r.Hub, clienttool.Peer{Principal: "mallory"})
			require.True(t, m.greet(hello("m", "i3", "x")))
			call := mustStart(t, r.Hub, clienttool.CallRequest{Tool: "client_a_x"})
			id := a.recv(clienttool.TypeRequest).Request.RequestID
			for _, other := range []*raw{b, m} {
				other.result(id, "forged")
				assert.Equal(t, clienttool.VerdictUnknown, other.recv(clienttool.TypeAck).Verdict)
			}
			a.result(id, "true")
			assert.Equal(t, clienttool.VerdictAccepted, a.recv(clienttool.TypeAck).Verdict)
			works(t, call, "true")
			for _, other := range []*raw{b, m} { // nor may they learn from the tombstone
				other.result(id, "forged")
				assert.Equal(t, clienttool.VerdictUnknown, other.recv(clienttool.TypeAck).Verdict)
			}
		}},
		{"4 ends while away", unlimited(clienttool.Options{}), func(t *testing.T, ctx context.Context, r *ct.Rig) {
			a := r.ClientWith("a", clienttool.ClientOptions{Backoff: clienttool.Backoff{Max: time.Second}})
			f := a.Tool("x").After(2 * time.Second)
			synctest.Wait()
			call := mustStart(t, r.Hub, clienttool.CallRequest{Tool: "client_a_x"})
			time.Sleep(time.Second)
			a.Offline(true)
			a.Cut()
			time.Sleep(5 * time.Second)
			a.Offline(false)
			works(t, call, "ok")
			assert.Len(t, f.Calls(), 1)
		}},
		{"5 started while away", clienttool.Options{}, func(t *testing.T, ctx context.Context, r *ct.Rig) {
			a := r.ClientWith("a", clienttool.ClientOptions{Backoff: clienttool.Backoff{Max: time.Second}})
			f := a.Tool("x")
			synctest.Wait()
			a.Offline(true)
			a.Cut()
			time.Sleep(time.Second)
			call := mustStart(t, r.Hub, clienttool.CallRequest{Tool: "client_a_x"})
			time.Sleep(5 * time.Second)
			assert.Empty(t, f.Calls())
			a.Offline(false)
			works(t, call, "ok")
			assert.Len(t, f.Calls(), 1)
		}},
		{"6 never comes back", clienttool.Options{Limits: clienttool.Limits{InFlight: 1}}, func(t *testing.T, ctx context.Context, r *ct.Rig) {
			a := r.Client("a")
			a.Tool("x").Hangs()
			synctest.Wait()
			running := mustStart(t, r.Hub, clienttool.CallRequest{Tool: "client_a_x", Timeout: time.Hour})
			waiting := mustStart(t, r.Hub, clienttool.CallRequest{Tool: "client_a_x", Timeout: time.Hour})
			time.Sleep(time.Second)
			a.Offline(true)
			a.Cut()
			begin := time.Now()
			ends(t, running, clienttool.CodeGone, clienttool.Started)
			assert.Equal(t, 30*time.Second, time.Since(begin))
			ends(t, waiting, clienttool.CodeGone, clienttool.NotDelivered)
			assert.Empty(t, r.Hub.ClientTools(""))
		}},
		{"6 cut before the acknowledgement", clienttool.Options{}, func(t *testing.T, ctx context.Context, r *ct.Rig) {
			a := r.Client("a")
			a.Tool("x").Hangs()
			synctest.Wait()
			call := mustStart(t, r.Hub, clienttool.CallRequest{Tool: "client_a_x", Timeout: time.Hour})
			synctest.Wait()
			a.Offline(true)
			a.Cut()
			ends(t, call, clienttool.CodeGone, clienttool.Unknown)
		}},
		{"7 restarted", clienttool.Options{}, func(t *testing.T, ctx context.Context, r *ct.Rig) {
			a := dial(t, r.Hub, alice)
			require.True(t, a.greet(hello("a", "i1", "x")))
			call := mustStart(t, r.Hub, clienttool.CallRequest{Tool: "client_a_x"})
			a.recv(clienttool.TypeRequest)
			a.c.Close(nil)
			synctest.Wait()
			b := dial(t, r.Hub, alice)
			require.True(t, b.greet(hello("a", "i2", "x")))
			ends(t, call, clienttool.CodeRestarted, clienttool.Unknown)
			next := mustStart(t, r.Hub, clienttool.CallRequest{Tool: "client_a_x"})
			assert.Equal(t, next.ID(), b.recv(clienttool.TypeRequest).Request.RequestID, "the old request is never seen by the new process")
			b.result(next.ID(), "new")
			works(t, next, "new")
		}},
		{"8 restarted, idempotent", clienttool.Options{}, func(t *testing.T, ctx context.Context, r *ct.Rig) {
			h := hello("a", "i1", "x")
			h.Hello.Tools[0].Idempotent = true
			a := dial(t, r.Hub, alice)
			require.True(t, a.greet(h))
			call := mustStart(t, r.Hub, clienttool.CallRequest{Tool: "client_a_x"})
			a.recv(clienttool.TypeRequest)
			a.c.Close(nil)
			synctest.Wait()
			b := dial(t, r.Hub, alice)
			h.Hello.Instance = "i2"
			require.True(t, b.greet(h))
			req := b.recv(clienttool.TypeRequest).Request
			assert.Equal(t, call.ID(), req.RequestID)
			assert.Equal(t, 2, req.Attempt)
			b.result(req.RequestID, "again")
			works(t, call, "again")
		}},
		{"9 stale close", clienttool.Options{}, func(t *testing.T, ctx context.Context, r *ct.Rig) {
			a := dial(t, r.Hub, alice)
			require.True(t, a.greet(hello("a", "i1", "x")))
			call := mustStart(t, r.Hub, clienttool.CallRequest{Tool: "client_a_x"})
			a.recv(clienttool.TypeRequest)
			b := dial(t, r.Hub, alice)
			h := hello("a", "i1", "x")
			h.Hello.Resume, h.Hello.Live = a.welcome.Resume, []string{call.ID()}
			require.True(t, b.greet(h), "with the token of the live link")
			a.c.Close(nil)
			synctest.Wait()
			info, ok := r.Hub.Client("a")
			require.True(t, ok)
			assert.True(t, info.Connected, "the close of the old link changes nothing")
			assert.Equal(t, 1, info.Tools)
			b.result(call.ID(), "ok")
			works(t, call, "ok")
		}},
		{"9 stale goodbye", clienttool.Options{}, func(t *testing.T, ctx context.Context, r *ct.Rig) {
			a := dial(t, r.Hub, alice)
			require.True(t, a.greet(hello("a", "i1", "x")))
			b := dial(t, r.Hub, alice)
			h := hello("a", "i1", "x")
			h.Hello.Resume = a.welcome.Resume
			require.True(t, b.greet(h))
			a.c.Send(ctx, &clienttool.Message{Type: clienttool.TypeBye})
			_, err := r.Hub.Handle(ctx, alice, &clienttool.Message{Type: clienttool.TypeBye, ClientID: "a", Gen: 1})
			require.NoError(t, err)
			synctest.Wait()
			assert.Len(t, r.Hub.ClientTools(""), 1)
		}},
		{"10 late result", clienttool.Options{}, func(t *testing.T, ctx context.Context, r *ct.Rig) {
			a := dial(t, r.Hub, alice)
			require.True(t, a.greet(hello("a", "i1", "x")))
			begin := time.Now()
			call := mustStart(t, r.Hub, clienttool.CallRequest{Tool: "client_a_x"})
			id := a.recv(clienttool.TypeRequest).Request.RequestID
			a.send(&clienttool.Message{Type: clienttool.TypeAck, RequestIDs: []string{id}})
			ends(t, call, clienttool.CodeTimeout, clienttool.Started)
			assert.Equal(t, 30*time.Second, time.Since(begin))
			assert.Equal(t, clienttool.ReasonTimeout, a.recv(clienttool.TypeCancel).Reason)
			for range 3 {
				a.result(id, "late")
				assert.Equal(t, clienttool.VerdictTimeout, a.recv(clienttool.TypeAck).Verdict)
			}
		}},
		{"11 Send never returns", clienttool.Options{}, func(t *testing.T, ctx context.Context, r *ct.Rig) {
			r.Wrap = func(h, c clienttool.Conn) (clienttool.Conn, clienttool.Conn) {
				return ct.Faulty(h, ct.Once(clienttool.TypeRequest, 1, ct.Fault{Kind: ct.Stall})), c
			}
			r.Client("a").Tool("x")
			synctest.Wait()
			cctx, cancel := context.WithCancel(ctx)
			time.AfterFunc(time.Second, cancel)
			begin := time.Now()
			_, err := r.Hub.Execute(cctx, clienttool.CallRequest{Tool: "client_a_x"})
			fails(t, err, clienttool.CodeCancelled, clienttool.Unknown)
			assert.Equal(t, time.Second, time.Since(begin))
		}},
		{"12 cancelled while queued", clienttool.Options{Limits: clienttool.Limits{InFlight: 1}}, func(t *testing.T, ctx context.Context, r *ct.Rig) {
			f := r.Client("a").Tool("x").After(time.Second)
			synctest.Wait()
			first := mustStart(t, r.Hub, clienttool.CallRequest{Tool: "client_a_x"})
			second := mustStart(t, r.Hub, clienttool.CallRequest{Tool: "client_a_x"})
			synctest.Wait()
			second.Cancel(errors.New("never mind"))
			ends(t, second, clienttool.CodeCancelled, clienttool.NotDelivered)
			works(t, first, "ok")
			time.Sleep(time.Minute)
			assert.Len(t, f.Calls(), 1)
		}},
		{"13 queue full", unlimited(clienttool.Options{Limits: clienttool.Limits{InFlight: 1, QueuedCalls: 3}}), func(t *testing.T, ctx context.Context, r *ct.Rig) {
			r.Client("a").Tool("x").After(time.Second)
			synctest.Wait()
			var calls []*clienttool.Call
			refused := 0
			for range 10 {
				c, err := r.Hub.Start(ctx, clienttool.CallRequest{Tool: "client_a_x"})
				if err != nil {
					fails(t, err, clienttool.CodeOverloaded, clienttool.NotDelivered)
					refused++
					continue
				}
				calls = append(calls, c)
				synctest.Wait()
			}
			assert.Equal(t, 6, refused)
			for _, c := range calls {
				works(t, c, "ok")
			}
		}},
		{"14 limit of four", unlimited(clienttool.Options{}), func(t *testing.T, ctx context.Context, r *ct.Rig) {
			a := r.ClientWith("a", clienttool.ClientOptions{MaxConcurrent: 4})
			var now, peak atomic.Int32
			a.Add(definition("x"), func(context.Context, *clienttool.Invocation) (*clienttool.ToolResult, error) {
				peak.Store(max(peak.Load(), now.Add(1)))
				time.Sleep(time.Second)
				now.Add(-1)
				return text("ok"), nil
			})
			synctest.Wait()
			begin := time.Now()
			var calls []*clienttool.Call
			for range 40 {
				calls = append(calls, mustStart(t, r.Hub, clienttool.CallRequest{Tool: "client_a_x"}))
			}
			for _, c := range calls {
				works(t, c, "ok")
			}
			assert.EqualValues(t, 4, peak.Load())
			assert.Equal(t, 10*time.Second, time.Since(begin))
		}},
		{"14 limit of a tool", unlimited(clienttool.Options{}), func(t *testing.T, ctx context.Context, r *ct.Rig) {
			a := r.Client("a")
			var now, peak atomic.Int32
			d := definition("x")
			d.MaxInFlight = 1
			a.Add(d, func(context.Context, *clienttool.Invocation) (*clienttool.ToolResult, error) {
				peak.Store(max(peak.Load(), now.Add(1)))
				time.Sleep(time.Second)
				now.Add(-1)
				return text("ok"), nil
			})
			a.Tool("y")
			synctest.Wait()
			var calls []*clienttool.Call
			for range 5 {
				calls = append(calls, mustStart(t, r.Hub, clienttool.CallRequest{Tool: "client_a_x"}))
			}
			other := mustStart(t, r.Hub, clienttool.CallRequest{Tool: "client_a_y"})
			begin := time.Now()
			works(t, other, "ok")
			assert.Zero(t, time.Since(begin), "another tool does not wait")
			for _, c := range calls {
				works(t, c, "ok")
			}
			assert.EqualValues(t, 1, peak.Load())
		}},
		{"15 request id twice", clienttool.Options{}, func(t *testing.T, ctx context.Context, r *ct.Rig) {
			f := r.Client("a").Tool("x").After(time.Second)
			synctest.Wait()
			first := mustStart(t, r.Hub, clienttool.CallRequest{Tool: "client_a_x", RequestID: "mine"})
			_, err := r.Hub.Start(ctx, clienttool.CallRequest{Tool: "client_a_x", RequestID: "mine"})
			fails(t, err, clienttool.CodeDuplicate, clienttool.NotDelivered)
			works(t, first, "ok")
			_, err = r.Hub.Start(ctx, clienttool.CallRequest{Tool: "client_a_x", RequestID: "mine"})
			fails(t, err, clienttool.CodeDuplicate, clienttool.NotDelivered)
			assert.Len(t, f.Calls(), 1)
		}},
		{"16 peer stops reading", clienttool.Options{}, func(t *testing.T, ctx context.Context, r *ct.Rig) {
			first := true
			r.Wrap = func(h, c clienttool.Conn) (clienttool.Conn, clienttool.Conn) {
				if !first {
					return h, c
				}
				first = false
				return ct.Faulty(h, ct.Once(clienttool.TypeRequest, 1, ct.Fault{Kind: ct.Stall})), c
			}
			f := r.ClientWith("a", clienttool.ClientOptions{Backoff: clienttool.Backoff{Max: time.Second}}).Tool("x")
			synctest.Wait()
			begin := time.Now()
			works(t, mustStart(t, r.Hub, clienttool.CallRequest{Tool: "client_a_x"}), "ok")
			assert.GreaterOrEqual(t, time.Since(begin), 10*time.Second)
			assert.Less(t, time.Since(begin), 12*time.Second)
			assert.Len(t, f.Calls(), 1)
		}},
		{"17 another principal", clienttool.Options{}, func(t *testing.T, ctx context.Context, r *ct.Rig) {
			a := dial(t, r.Hub, alice)
			require.True(t, a.greet(hello("a", "i1", "x")))
			for _, live := range []bool{true, false} {
				h := hello("a", "i1", "x")
				assert.False(t, dial(t, r.Hub, clienttool.Peer{Principal: "mallory"}).greet(h), "live %v", live)
				h.Hello.Resume = a.welcome.Resume
				assert.False(t, dial(t, r.Hub, clienttool.Peer{Principal: "mallory"}).greet(h), "with a stolen token, live %v", live)
				a.c.Close(nil)
				synctest.Wait()
			}
		}},
		{"18 handler panics", clienttool.Options{}, func(t *testing.T, ctx context.Context, r *ct.Rig) {
			a := r.Client("a")
			a.Add(definition("x"), func(context.Context, *clienttool.Invocation) (*clienttool.ToolResult, error) { panic("boom") })
			a.Tool("y")
			synctest.Wait()
			e := failure(t, mustStart(t, r.Hub, clienttool.CallRequest{Tool: "client_a_x"}))
			assert.Equal(t, clienttool.CodeToolError, e.Code)
			assert.NotContains(t, e.ModelText(), "boom")
			works(t, mustStart(t, r.Hub, clienttool.CallRequest{Tool: "client_a_y"}), "ok")
		}},
		{"19 each request twice", clienttool.Options{}, func(t *testing.T, ctx context.Context, r *ct.Rig) {
			r.Wrap = func(h, c clienttool.Conn) (clienttool.Conn, clienttool.Conn) {
				return ct.Faulty(h, ct.Random(1, ct.Rates{Duplicate: 1})), ct.Faulty(c, ct.Random(2, ct.Rates{Duplicate: 1}))
			}
			f := r.Client("a").Tool("x")
			synctest.Wait()
			for range 5 {
				works(t, mustStart(t, r.Hub, clienttool.CallRequest{Tool: "client_a_x"}), "ok")
			}
			time.Sleep(time.Minute)
			assert.Len(t, f.Calls(), 5)
		}},
		{"20 no needless resend", clienttool.Options{}, func(t *testing.T, ctx context.Context, r *ct.Rig) {
			var requests atomic.Int32
			r.Wrap = func(h, c clienttool.Conn) (clienttool.Conn, clienttool.Conn) {
				return ct.Faulty(h, func(_ int, m *clienttool.Message) ct.Fault {
					if m.Type == clienttool.TypeRequest {
						requests.Add(1)
					}
					return ct.Fault{}
				}), c
			}
			a := r.ClientWith("a", clienttool.ClientOptions{Backoff: clienttool.Backoff{Max: time.Second}})
			a.Tool("x").After(10 * time.Second)
			synctest.Wait()
			call := mustStart(t, r.Hub, clienttool.CallRequest{Tool: "client_a_x"})
			for range 3 {
				time.Sleep(2 * time.Second)
				a.Cut()
			}
			works(t, call, "ok")
			assert.EqualValues(t, 1, requests.Load())
		}},
		{"21 cancelled while running", clienttool.Options{}, func(t *testing.T, ctx context.Context, r *ct.Rig) {
			a := r.Client("a")
			var stopped time.Time
			a.Add(definition("x"), func(ctx context.Context, _ *clienttool.Invocation) (*clienttool.ToolResult, error) {
				<-ctx.Done()
				stopped = time.Now()
				return nil, context.Cause(ctx)
			})
			synctest.Wait()
			call := mustStart(t, r.Hub, clienttool.CallRequest{Tool: "client_a_x"})
			time.Sleep(time.Second)
			begin := time.Now()
			call.Cancel(nil)
			ends(t, call, clienttool.CodeCancelled, clienttool.Started)
			synctest.Wait()
			assert.Equal(t, begin, stopped)
		}},
		{"24 cancel before its request", clienttool.Options{}, func(t *testing.T, ctx context.Context, r *ct.Rig) {
			host := ct.NewHost(t)
			ran := false
			c := clienttool.NewClient("a", host, clienttool.ClientOptions{})
			c.Add(definition("x"), func(context.Context, *clienttool.Invocation) (*clienttool.ToolResult, error) {
				ran = true
				return nil, nil
			})
			cctx, cancel := context.WithCancel(ctx)
			done := make(chan struct{})
			go func() { c.Run(cctx); close(done) }()
			synctest.Wait()
			host.Send(&clienttool.Message{Type: clienttool.TypeCancel, RequestID: "r1", Reason: clienttool.ReasonCancelled})
			host.Send(&clienttool.Message{Type: clienttool.TypeRequest, Request: &clienttool.ExecutionRequest{RequestID: "r1", Name: "x", Input: json.RawMessage(`{}`)}})
			m, err := host.Await(ctx, clienttool.TypeResult, 1)
			require.NoError(t, err)
			assert.Equal(t, clienttool.CodeCancelled, m.Result.Code)
			assert.False(t, ran)
			cancel()
			<-done
		}},
		{"25, 26 progress after the result, result before the acknowledgement", clienttool.Options{}, func(t *testing.T, ctx context.Context, r *ct.Rig) {
			a := dial(t, r.Hub, alice)
			require.True(t, a.greet(hello("a", "i1", "x")))
			var seen atomic.Int32
			call := mustStart(t, r.Hub, clienttool.CallRequest{Tool: "client_a_x", OnProgress: func(clienttool.Progress) { seen.Add(1) }})
			id := a.recv(clienttool.TypeRequest).Request.RequestID
			a.result(id, "ok")
			a.send(&clienttool.Message{Type: clienttool.TypeProgress, RequestID: id, Progress: &clienttool.Progress{N: 1, Title: "late"}})
			a.send(&clienttool.Message{Type: clienttool.TypeAck, RequestIDs: []string{id}})
			works(t, call, "ok")
			synctest.Wait()
			assert.Zero(t, seen.Load())
			a.send(&clienttool.Message{Type: clienttool.TypePing})
			assert.NotNil(t, a.recv(clienttool.TypePong), "and the link is fine")
		}},
		{"27 result and limit at one instant", clienttool.Options{}, func(t *testing.T, ctx context.Context, r *ct.Rig) {
			var completed, failed int
			defer r.Hub.Subscribe(0, func(e clienttool.Event) {
				switch e.Type {
				case clienttool.EventCompleted:
					completed++
				case clienttool.EventFailed:
					failed++
				}
			})()
			r.Client("a").Tool("x").After(5 * time.Second)
			synctest.Wait()
			good := 0
			for i := range 20 {
				call := mustStart(t, r.Hub, clienttool.CallRequest{Tool: "client_a_x", Timeout: 5*time.Second + 263*time.Millisecond})
				if i%2 == 0 {
					time.AfterFunc(5*time.Second, func() { call.Cancel(nil) })
				}
				<-call.Done()
				if _, err := call.Result(); err == nil {
					good++
				}
				time.Sleep(time.Second)
			}
			synctest.Wait()
			assert.Equal(t, good, completed)
			assert.Equal(t, 20-good, failed)
		}},
		{"32 two instances", clienttool.Options{}, func(t *testing.T, ctx context.Context, r *ct.Rig) {
			a := r.Client("a")
			f := a.Tool("x")
			synctest.Wait()
			second := r.Client("a")
			second.Tool("x").Returns("usurper")
			time.Sleep(2 * time.Minute)
			assert.Equal(t, clienttool.StateReady, a.State())
			assert.NotEqual(t, clienttool.StateReady, second.State())
			works(t, mustStart(t, r.Hub, clienttool.CallRequest{Tool: "client_a_x"}), "ok")
			assert.Len(t, f.Calls(), 1)
		}},
		{"34 link after registration", clienttool.Options{}, func(t *testing.T, ctx context.Context, r *ct.Rig) {
			register := func(id string) {
				_, err := r.Hub.Handle(ctx, alice, &clienttool.Message{Type: clienttool.TypeRegister, ClientID: id, Tools: []clienttool.ToolDefinition{definition("x")}})
				require.NoError(t, err)
			}
			register("a")
			call := mustStart(t, r.Hub, clienttool.CallRequest{Tool: "client_a_x", Timeout: time.Minute})
			time.Sleep(29 * time.Second)
			a := dial(t, r.Hub, alice)
			h := hello("a", "i1")
			h.Hello.Tools = nil
			require.True(t, a.greet(h))
			a.result(a.recv(clienttool.TypeRequest).Request.RequestID, "ok")
			works(t, call, "ok")
			register("b")
			call = mustStart(t, r.Hub, clienttool.CallRequest{Tool: "client_b_x", Timeout: time.Minute})
			time.Sleep(31 * time.Second)
			ends(t, call, clienttool.CodeOffline, clienttool.NotDelivered)
			_, err := r.Hub.Handle(ctx, alice, &clienttool.Message{Type: clienttool.TypePong, ClientID: "b"})
			var ref *clienttool.RefusedError
			require.ErrorAs(t, err, &ref)
			assert.Equal(t, clienttool.CodeNotFound, ref.Code)
		}},
		{"35 register overtakes unregister", clienttool.Options{}, func(t *testing.T, ctx context.Context, r *ct.Rig) {
			_, err := r.Hub.Handle(ctx, alice, &clienttool.Message{Type: clienttool.TypeRegister, ClientID: "ghost", Tools: []clienttool.ToolDefinition{definition("x")}})
			require.NoError(t, err)
			time.Sleep(31 * time.Second)
			assert.Empty(t, r.Hub.Clients())
		}},
		{"36 changed while queued", clienttool.Options{Limits: clienttool.Limits{InFlight: 1}}, func(t *testing.T, ctx context.Context, r *ct.Rig) {
			a := r.Client("a")
			f := a.Tool("x").After(time.Second)
			synctest.Wait()
			first := mustStart(t, r.Hub, clienttool.CallRequest{Tool: "client_a_x"})
			second := mustStart(t, r.Hub, clienttool.CallRequest{Tool: "client_a_x"})
			synctest.Wait()
			d := definition("x")
			d.Description = "another meaning"
			require.NoError(t, a.Add(d, func(context.Context, *clienttool.Invocation) (*clienttool.ToolResult, error) { return text("new"), nil }))
			ends(t, second, clienttool.CodeToolChanged, clienttool.NotDelivered)
			works(t, first, "ok")
			assert.Len(t, f.Calls(), 1)
		}},
		{"37 unregistered while running", clienttool.Options{}, func(t *testing.T, ctx context.Context, r *ct.Rig) {
			a := r.Client("a")
			a.Tool("x").After(time.Second)
			synctest.Wait()
			call := mustStart(t, r.Hub, clienttool.CallRequest{Tool: "client_a_x"})
			synctest.Wait()
			a.Remove("x")
			synctest.Wait()
			_, err := r.Hub.Start(ctx, clienttool.CallRequest{Tool: "client_a_x"})
			fails(t, err, clienttool.CodeUnknownTool, clienttool.NotDelivered)
			works(t, call, "ok")
		}},
		{"42 input violates the schema", clienttool.Options{}, func(t *testing.T, ctx context.Context, r *ct.Rig) {
			a := r.Client("a")
			ran := false
			d := definition("x")
			d.Parameters = json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`)
			a.Add(d, func(context.Context, *clienttool.Invocation) (*clienttool.ToolResult, error) {
				ran = true
				return nil, nil
			})
			synctest.Wait()
			_, err := r.Hub.Start(ctx, clienttool.CallRequest{Tool: "client_a_x", Input: json.RawMessage(`{"n":"many"}`)})
			fails(t, err, clienttool.CodeInvalidInput, clienttool.NotDelivered)
			assert.Contains(t, tool.ModelText(err), "/n")
			synctest.Wait()
			assert.False(t, ran)
		}},
		{"43 malformed results", unlimited(clienttool.Options{}), func(t *testing.T, ctx context.Context, r *ct.Rig) {
			a := dial(t, r.Hub, alice)
			require.True(t, a.greet(hello("a", "i1", "x")))
			for _, c := range []struct {
				res     *clienttool.ToolResponse
				code    string
				verdict clienttool.Verdict
			}{
				{nil, clienttool.CodeBadResult, clienttool.VerdictInvalid},
				{&clienttool.ToolResponse{}, clienttool.CodeBadResult, clienttool.VerdictInvalid},
				{&clienttool.ToolResponse{Status: "failed", Error: "boom"}, clienttool.CodeBadResult, clienttool.VerdictInvalid},
				{&clienttool.ToolResponse{Status: "success", Output: strings.Repeat("x", 4<<20+1)}, clienttool.CodeTooLarge, clienttool.VerdictTooLarge},
				{&clienttool.ToolResponse{Status: "success", Title: strings.Repeat("x", 10<<20)}, clienttool.CodeTooLarge, clienttool.VerdictTooLarge},
				{&clienttool.ToolResponse{Status: "success", Metadata: json.RawMessage(`[1]`)}, clienttool.CodeBadResult, clienttool.VerdictInvalid},
				{&clienttool.ToolResponse{Status: "success", Attachments: []clienttool.FilePart{{URL: "/etc/passwd"}}}, clienttool.CodeBadResult, clienttool.VerdictInvalid},
				{&clienttool.ToolResponse{Status: "success", Attachments: []clienttool.FilePart{{URL: "https://example.com/a.png"}}}, clienttool.CodeBadResult, clienttool.VerdictInvalid},
			} {
				call := mustStart(t, r.Hub, clienttool.CallRequest{Tool: "client_a_x"})
				id := a.recv(clienttool.TypeRequest).Request.RequestID
				a.send(&clienttool.Message{Type: clienttool.TypeResult, RequestID: id, Result: c.res})
				assert.Equal(t, c.verdict, a.recv(clienttool.TypeAck).Verdict)
				ends(t, call, c.code, clienttool.Started)
			}
			call := mustStart(t, r.Hub, clienttool.CallRequest{Tool: "client_a_x"})
			id := a.recv(clienttool.TypeRequest).Request.RequestID
			a.send(&clienttool.Message{Type: clienttool.TypeResult, RequestID: id, Result: &clienttool.ToolResponse{Status: "success", Title: "a\x1b[31m\nb", Output: "bad \xff"}})
			works(t, call, "bad \uFFFD")
			res, _ := call.Result()
			assert.Equal(t, "a [31m b", res.Title)
		}},
		{"44 result too large for the client to send", clienttool.Options{}, func(t *testing.T, ctx context.Context, r *ct.Rig) {
			r.Client("a").Tool("x").Returns(strings.Repeat("x", 4<<20+1))
			synctest.Wait()
			begin := time.Now()
			ends(t, mustStart(t, r.Hub, clienttool.CallRequest{Tool: "client_a_x"}), clienttool.CodeTooLarge, clienttool.Started)
			assert.Zero(t, time.Since(begin))
		}},
		{"45 a flood of progress", clienttool.Options{}, func(t *testing.T, ctx context.Context, r *ct.Rig) {
			a := r.Client("a")
			a.Add(definition("x"), func(_ context.Context, i *clienttool.Invocation) (*clienttool.ToolResult, error) {
				for n := range 100_000 {
					i.Progress(clienttool.Progress{Title: fmt.Sprint(n)})
					if n%1000 == 0 {
						time.Sleep(10 * time.Millisecond)
					}
				}
				time.Sleep(time.Second)
				return text("ok"), nil
			})
			synctest.Wait()
			var last string
			n := 0
			call := mustStart(t, r.Hub, clienttool.CallRequest{Tool: "client_a_x", OnProgress: func(p clienttool.Progress) { n++; last = p.Title }})
			works(t, call, "ok")
			assert.Equal(t, "99999", last)
			assert.Less(t, n, 50)
			assert.Equal(t, clienttool.StateReady, a.State())
		}},
		{"46 cancel overtakes requests", unlimited(clienttool.Options{Limits: clienttool.Limits{InFlight: 32}}), func(t *testing.T, ctx context.Context, r *ct.Rig) {
			host, client := clienttool.Pipe(1)
			go r.Hub.Serve(ctx, alice, host)
			a := &raw{t: t, c: client}
			defer client.Close(nil)
			require.True(t, a.greet(hello("a", "i1", "x")))
			a.recv(clienttool.TypeRegistered)
			first := mustStart(t, r.Hub, clienttool.CallRequest{Tool: "client_a_x"})
			a.recv(clienttool.TypeRequest)
			for range 20 {
				mustStart(t, r.Hub, clienttool.CallRequest{Tool: "client_a_x", Input: json.RawMessage(`{"s":"` + strings.Repeat("x", 400<<10) + `"}`)})
			}
			synctest.Wait()
			first.Cancel(nil)
			before := 0
			for {
				m, err := a.c.Recv(ctx)
				require.NoError(t, err)
				if m.Type == clienttool.TypeCancel {
					break
				}
				before++
			}
			assert.LessOrEqual(t, before, 2, "no more than what was written already")
			for _, c := range r.Hub.Clients() {
				r.Hub.Registry().Cleanup(c.ClientID)
			}
		}},
		{"47 fair queue", unlimited(clienttool.Options{Limits: clienttool.Limits{InFlight: 1}}), func(t *testing.T, ctx context.Context, r *ct.Rig) {
			r.Client("a").Tool("x").After(time.Second)
			synctest.Wait()
			for range 200 {
				mustStart(t, r.Hub, clienttool.CallRequest{Tool: "client_a_x", SessionID: "busy", Timeout: time.Hour})
			}
			begin := time.Now()
			works(t, mustStart(t, r.Hub, clienttool.CallRequest{Tool: "client_a_x", SessionID: "quiet"}), "ok")
			assert.LessOrEqual(t, time.Since(begin), 3*time.Second)
			r.Hub.Registry().Cleanup("a")
		}},
		{"48 calls a minute", clienttool.Options{}, func(t *testing.T, ctx context.Context, r *ct.Rig) {
			r.Client("a").Tool("x")
			synctest.Wait()
			time.Sleep(59 * time.Second)
			first := time.Now()
			for range 100 {
				works(t, mustStart(t, r.Hub, clienttool.CallRequest{Tool: "client_a_x"}), "ok")
			}
			time.Sleep(2 * time.Second)
			_, err := r.Hub.Start(ctx, clienttool.CallRequest{Tool: "client_a_x"})
			fails(t, err, clienttool.CodeRateLimited, clienttool.NotDelivered)
			var e *clienttool.CallError
			require.ErrorAs(t, err, &e)
			assert.Equal(t, time.Minute-time.Since(first), e.RetryAfter)
			time.Sleep(e.RetryAfter)
			works(t, mustStart(t, r.Hub, clienttool.CallRequest{Tool: "client_a_x"}), "ok")
		}},
		{"49 ping flood", clienttool.Options{}, func(t *testing.T, ctx context.Context, r *ct.Rig) {
			a := dial(t, r.Hub, alice)
			require.True(t, a.greet(hello("a", "i1", "x")))
			for range 10 {
				a.c.Send(ctx, &clienttool.Message{Type: clienttool.TypePing})
			}
			assert.Equal(t, clienttool.ReasonRate, a.recv(clienttool.TypeBye).Reason)
		}},
		{"49, 50 nothing is heard", clienttool.Options{}, func(t *testing.T, ctx context.Context, r *ct.Rig) {
			a := dial(t, r.Hub, alice)
			require.True(t, a.greet(hello("a", "i1", "x")))
			begin := time.Now()
			for a.recv(clienttool.TypePing) != nil {
			}
			assert.LessOrEqual(t, time.Since(begin), 100*time.Second)
			info, _ := r.Hub.Client("a")
			assert.False(t, info.Connected)
		}},
		{"49 client notices a silent host", clienttool.Options{}, func(t *testing.T, ctx context.Context, r *ct.Rig) {
			stalled := false
			r.Wrap = func(h, c clienttool.Conn) (clienttool.Conn, clienttool.Conn) {
				if stalled {
					return h, c
				}
				stalled = true
				return ct.Faulty(h, func(_ int, m *clienttool.Message) ct.Fault {
					if m.Type == clienttool.TypePing || m.Type == clienttool.TypeRequest {
						return ct.Fault{Kind: ct.Drop}
					}
					return ct.Fault{}
				}), ct.Faulty(c, func(int, *clienttool.Message) ct.Fault { return ct.Fault{} })
			}
			f := r.ClientWith("a", clienttool.ClientOptions{Backoff: clienttool.Backoff{Max: time.Second}}).Tool("x")
			synctest.Wait()
			begin := time.Now()
			works(t, mustStart(t, r.Hub, clienttool.CallRequest{Tool: "client_a_x", Timeout: 5 * time.Minute}), "ok")
			assert.LessOrEqual(t, time.Since(begin), 80*time.Second)
			assert.Len(t, f.Calls(), 1)
		}},
		{"55 shutdown", clienttool.Options{Limits: clienttool.Limits{InFlight: 2}}, func(t *testing.T, ctx context.Context, r *ct.Rig) {
			a := r.Client("a")
			a.Tool("short").After(2 * time.Second)
			a.Tool("long").Hangs()
			synctest.Wait()
			short := mustStart(t, r.Hub, clienttool.CallRequest{Tool: "client_a_short", Timeout: time.Minute})
			long := mustStart(t, r.Hub, clienttool.CallRequest{Tool: "client_a_long", Timeout: time.Minute})
			queued := mustStart(t, r.Hub, clienttool.CallRequest{Tool: "client_a_short", Timeout: time.Minute})
			time.Sleep(time.Second)
			sctx, cancel := context.WithTimeout(ctx, 5*time.Second)
			defer cancel()
			begin := time.Now()
			second := make(chan error)
			go func() { second <- r.Hub.Shutdown(sctx) }()
			assert.ErrorIs(t, r.Hub.Shutdown(sctx), context.DeadlineExceeded)
			assert.Error(t, <-second)
			assert.Equal(t, 5*time.Second, time.Since(begin))
			works(t, short, "ok")
			ends(t, long, clienttool.CodeShutdown, clienttool.Started)
			ends(t, queued, clienttool.CodeShutdown, clienttool.NotDelivered)
			_, err := r.Hub.Start(ctx, clienttool.CallRequest{Tool: "client_a_short"})
			assert.Error(t, err)
			assert.NoError(t, r.Hub.Shutdown(ctx))
			assert.NoError(t, r.Hub.Close())
		}},
		{"56 contexts and limits at the edge", clienttool.Options{MaxTimeout: time.Minute}, func(t *testing.T, ctx context.Context, r *ct.Rig) {
			f := r.Client("a").Tool("x").Hangs()
			synctest.Wait()
			done, cancel := context.WithCancelCause(ctx)
			cancel(errors.New("gone already"))
			_, err := r.Hub.Execute(done, clienttool.CallRequest{Tool: "client_a_x"})
			fails(t, err, clienttool.CodeCancelled, clienttool.NotDelivered)
			assert.ErrorContains(t, err, "gone already")
			assert.Empty(t, f.Calls())
			for timeout, want := range map[time.Duration]time.Duration{0: 30 * time.Second, -5: 30 * time.Second, 1000 * time.Hour: time.Minute} {
				begin := time.Now()
				ends(t, mustStart(t, r.Hub, clienttool.CallRequest{Tool: "client_a_x", Timeout: timeout}), clienttool.CodeTimeout, clienttool.Started)
				assert.Equal(t, want*95/100, time.Since(begin), "the client itself notices a little earlier")
			}
		}},
		{"58 instances", clienttool.Options{}, func(t *testing.T, ctx context.Context, r *ct.Rig) {
			assert.False(t, dial(t, r.Hub, alice).greet(hello("a", strings.Repeat("x", 1<<20), "x")))
			a := dial(t, r.Hub, alice)
			require.True(t, a.greet(hello("a", "", "x")))
			call := mustStart(t, r.Hub, clienttool.CallRequest{Tool: "client_a_x"})
			a.recv(clienttool.TypeRequest)
			a.c.Close(nil)
			synctest.Wait()
			require.True(t, dial(t, r.Hub, alice).greet(hello("a", "", "x")), "no instance is a new one")
			ends(t, call, clienttool.CodeRestarted, clienttool.Unknown)
			assert.False(t, dial(t, r.Hub, alice).greet(hello("a", "", "x")), "beside a living link")
		}},
		{"59 tokens", clienttool.Options{}, func(t *testing.T, ctx context.Context, r *ct.Rig) {
			a := dial(t, r.Hub, alice)
			require.True(t, a.greet(hello("a", "i1", "x")))
			other := dial(t, r.Hub, alice)
			require.True(t, other.greet(hello("b", "i1", "x")))
			h := hello("a", "i1", "x")
			h.Hello.Resume = a.welcome.Resume
			b := dial(t, r.Hub, alice)
			require.True(t, b.greet(h))
			assert.False(t, dial(t, r.Hub, alice).greet(h), "used after rotation")
			h.Hello.Resume = b.welcome.Resume[:len(b.welcome.Resume)-1]
			assert.False(t, dial(t, r.Hub, alice).greet(h), "truncated")
			h.Hello.Resume = other.welcome.Resume
			assert.False(t, dial(t, r.Hub, alice).greet(h), "of another lease")
		}},
		{"60 evicted tombstone", unlimited(clienttool.Options{Limits: clienttool.Limits{TombstonesPerClient: 2}}), func(t *testing.T, ctx context.Context, r *ct.Rig) {
			a := dial(t, r.Hub, alice)
			require.True(t, a.greet(hello("a", "i1", "x")))
			var ids []string
			for range 3 {
				c := mustStart(t, r.Hub, clienttool.CallRequest{Tool: "client_a_x"})
				a.recv(clienttool.TypeRequest)
				a.result(c.ID(), "ok")
				assert.Equal(t, clienttool.VerdictAccepted, a.recv(clienttool.TypeAck).Verdict)
				ids = append(ids, c.ID())
			}
			for i, want := range []clienttool.Verdict{clienttool.VerdictUnknown, clienttool.VerdictDuplicate, clienttool.VerdictDuplicate} {
				a.result(ids[i], "again")
				assert.Equal(t, want, a.recv(clienttool.TypeAck).Verdict)
			}
			time.Sleep(11 * time.Minute)
		}},
		{"no hello", clienttool.Options{}, func(t *testing.T, ctx context.Context, r *ct.Rig) {
			a := dial(t, r.Hub, alice)
			begin := time.Now()
			_, err := a.c.Recv(ctx)
			assert.ErrorIs(t, err, io.EOF)
			assert.Equal(t, 10*time.Second, time.Since(begin))
			anon := dial(t, r.Hub, clienttool.Peer{})
			assert.False(t, anon.greet(hello("z", "i1", "x")), "anonymous")
		}},
		{"goodbye drains", clienttool.Options{}, func(t *testing.T, ctx context.Context, r *ct.Rig) {
			a := dial(t, r.Hub, alice)
			require.True(t, a.greet(hello("a", "i1", "x")))
			call := mustStart(t, r.Hub, clienttool.CallRequest{Tool: "client_a_x", Timeout: time.Hour})
			a.recv(clienttool.TypeRequest)
			stays := mustStart(t, r.Hub, clienttool.CallRequest{Tool: "client_a_x", Timeout: time.Hour})
			a.recv(clienttool.TypeRequest)
			a.send(&clienttool.Message{Type: clienttool.TypeBye})
			synctest.Wait()
			assert.Empty(t, r.Hub.ClientTools(""))
			a.result(call.ID(), "ok")
			works(t, call, "ok")
			begin := time.Now()
			ends(t, stays, clienttool.CodeGone, clienttool.Unknown)
			assert.Equal(t, 30*time.Second, time.Since(begin))
			assert.Empty(t, r.Hub.Clients())
		}},
		{"heartbeat", clienttool.Options{}, func(t *testing.T, ctx context.Context, r *ct.Rig) {
			a := r.Client("a")
			a.Add(definition("x"), func(ctx context.Context, i *clienttool.Invocation) (*clienttool.ToolResult, error) {
				for range 5 {
					i.Progress(clienttool.Progress{Title: "alive"})
					time.Sleep(4 * time.Second)
				}
				<-ctx.Done()
				return nil, context.Cause(ctx)
			})
			synctest.Wait()
			begin := time.Now()
			ends(t, mustStart(t, r.Hub, clienttool.CallRequest{Tool: "client_a_x", Timeout: time.Hour, HeartbeatTimeout: 5 * time.Second}), clienttool.CodeHeartbeat, clienttool.Started)
			assert.Equal(t, 21*time.Second, time.Since(begin))
		}},
		{"unresponsive", clienttool.Options{}, func(t *testing.T, ctx context.Context, r *ct.Rig) {
			h := hello("a", "i1", "x")
			a := dial(t, r.Hub, alice)
			require.True(t, a.greet(h))
			call := mustStart(t, r.Hub, clienttool.CallRequest{Tool: "client_a_x", Timeout: time.Hour})
			a.recv(clienttool.TypeRequest)
			assert.Nil(t, a.recv(clienttool.TypeBye), "the link is closed")
			b := dial(t, r.Hub, alice)
			require.True(t, b.greet(h))
			assert.Equal(t, call.ID(), b.recv(clienttool.TypeRequest).Request.RequestID, "and the request written again")
			ends(t, call, clienttool.CodeUnresponsive, clienttool.Unknown)
		}},
		{"wait for the cancellation", clienttool.Options{}, func(t *testing.T, ctx context.Context, r *ct.Rig) {
			a := r.Client("a")
			a.Add(definition("x"), func(ctx context.Context, i *clienttool.Invocation) (*clienttool.ToolResult, error) {
				<-ctx.Done()
				time.Sleep(time.Second)
				return &clienttool.ToolResult{Output: "half"}, context.Cause(ctx)
			})
			synctest.Wait()
			call := mustStart(t, r.Hub, clienttool.CallRequest{Tool: "client_a_x", WaitForCancel: 5 * time.Second})
			time.Sleep(time.Second)
			begin := time.Now()
			call.Cancel(nil)
			ends(t, call, clienttool.CodeCancelled, clienttool.Started)
			assert.Equal(t, time.Second, time.Since(begin))
			res, _ := call.Result()
			assert.Equal(t, "half", res.Output)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			ct.Run(t, c.opt, func(ctx context.Context, r *ct.Rig) { c.f(r.T, ctx, r) })
		})
	}
}

// 23: each kind of frame is lost alone; what repairs it is an acknowledgement limit,
// a comparison, or sending again.
func TestLostFrame(t *testing.T) {
	for _, c := range []struct {
		typ    string
		byHost bool
	}{
		{clienttool.TypeRequest, true}, {clienttool.TypeWelcome, true}, {clienttool.TypeAck, true}, {clienttool.TypeCancel, true}, {clienttool.TypeRegistered, true},
		{clienttool.TypeAck, false}, {clienttool.TypeResult, false}, {clienttool.TypeProgress, false}, {clienttool.TypePong, false},
	} {
		t.Run(fmt.Sprint(c.typ, " by host ", c.byHost), func(t *testing.T) {
			ct.Run(t, clienttool.Options{Timeout: 2 * time.Minute}, func(ctx context.Context, r *ct.Rig) {
				t := r.T
				plan := ct.Once(c.typ, 1, ct.Fault{Kind: ct.Drop})
				r.Wrap = func(h, cl clienttool.Conn) (clienttool.Conn, clienttool.Conn) {
					if c.byHost {
						return ct.Faulty(h, plan), cl
					}
					return h, ct.Faulty(cl, plan)
				}
				a := r.ClientWith("a", clienttool.ClientOptions{Backoff: clienttool.Backoff{Max: time.Second}})
				f := a.Tool("x").After(time.Second)
				time.Sleep(15 * time.Second)
				works(t, mustStart(t, r.Hub, clienttool.CallRequest{Tool: "client_a_x"}), "ok")
				f.Hangs()
				call := mustStart(t, r.Hub, clienttool.CallRequest{Tool: "client_a_x"})
				time.Sleep(time.Minute)
				call.Cancel(nil)
				time.Sleep(2 * time.Minute)
				f.Returns("again")
				works(t, mustStart(t, r.Hub, clienttool.CallRequest{Tool: "client_a_x"}), "again")
				assert.Len(t, f.Calls(), 3, "each once")
			})
		})
	}
}

// 22: random cuts; every call succeeds and every handler runs once.
func TestRandomCuts(t *testing.T) {
	seeds := 1000
	if testing.Short() {
		seeds = 50
	}
	for seed := range seeds {
		cuts(t, uint64(seed))
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

func cuts(t *testing.T, seed uint64) {
	ct.Run(t, unlimited(clienttool.Options{Timeout: 10 * time.Minute, MaxTimeout: time.Hour}), func(ctx context.Context, r *ct.Rig) {
		t := r.T
		n := uint64(0)
		r.Wrap = func(h, c clienttool.Conn) (clienttool.Conn, clienttool.Conn) {
			n++
			rates := ct.Rates{Cut: 0.05, Duplicate: 0.02, Delay: 50 * time.Millisecond}
			return ct.Faulty(h, ct.Random(seed*1000+n, rates)), ct.Faulty(c, ct.Random(seed*1000+n+500, rates))
		}
		a := r.ClientWith("a", clienttool.ClientOptions{Backoff: clienttool.Backoff{Min: 100 * time.Millisecond, Max: time.Second}})
		var mu sync.Mutex
		runs := make(map[string]int)
		a.Add(definition("x"), func(_ context.Context, i *clienttool.Invocation) (*clienttool.ToolResult, error) {
			mu.Lock()
			runs[i.CallID]++
			mu.Unlock()
			time.Sleep(time.Duration(len(i.CallID)*37%200) * time.Millisecond)
			return text(i.CallID), nil
		})
		for _, ok := r.Hub.Lookup("client_a_x"); !ok; _, ok = r.Hub.Lookup("client_a_x") {
			time.Sleep(100 * time.Millisecond)
		}
		var wg sync.WaitGroup
		for k := range 30 {
			wg.Go(func() {
				time.Sleep(time.Duration(k) * 50 * time.Millisecond)
				id := strings.Repeat("c", k%7) + fmt.Sprint(k)
				res, err := r.Hub.Execute(ctx, clienttool.CallRequest{Tool: "client_a_x", CallID: id})
				if assert.NoError(t, err) {
					assert.Equal(t, id, res.Output)
				}
			})
		}
		wg.Wait()
		mu.Lock()
		defer mu.Unlock()
		assert.Len(t, runs, 30)
		for id, n := range runs {
			assert.Equal(t, 1, n, id)
		}
	})
}
