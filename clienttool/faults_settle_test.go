package clienttool_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agenttool/tool/clienttool"
	ct "github.com/agenttool/tool/clienttool/clienttooltest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var settleFaults = []fault{
	{1, "none", clienttool.Options{}, func(t *testing.T, ctx context.Context, r *ct.Rig) {
		f := r.Client("a").Tool("x").Returns("hi")
		synctest.Wait()
		works(t, mustStart(t, r.Hub, clienttool.CallRequest{Tool: "client_a_x"}), "hi")
		assert.Len(t, f.Calls(), 1)
	}},
	{2, "fifty results at once", clienttool.Options{}, func(t *testing.T, ctx context.Context, r *ct.Rig) {
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
	{3, "results of others", clienttool.Options{}, func(t *testing.T, ctx context.Context, r *ct.Rig) {
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
	{4, "ends while away", unlimited(clienttool.Options{}), func(t *testing.T, ctx context.Context, r *ct.Rig) {
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
	{5, "started while away", clienttool.Options{}, func(t *testing.T, ctx context.Context, r *ct.Rig) {
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
	{6, "never comes back", clienttool.Options{Limits: clienttool.Limits{InFlight: 1}}, func(t *testing.T, ctx context.Context, r *ct.Rig) {
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
	{6, "cut before the acknowledgement", clienttool.Options{}, func(t *testing.T, ctx context.Context, r *ct.Rig) {
		a := r.Client("a")
		a.Tool("x").Hangs()
		synctest.Wait()
		call := mustStart(t, r.Hub, clienttool.CallRequest{Tool: "client_a_x", Timeout: time.Hour})
		synctest.Wait()
		a.Offline(true)
		a.Cut()
		ends(t, call, clienttool.CodeGone, clienttool.Unknown)
	}},
	{7, "restarted", clienttool.Options{}, func(t *testing.T, ctx context.Context, r *ct.Rig) {
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
	{8, "restarted, idempotent", clienttool.Options{}, func(t *testing.T, ctx context.Context, r *ct.Rig) {
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
	{9, "stale close", clienttool.Options{}, func(t *testing.T, ctx context.Context, r *ct.Rig) {
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
	{9, "stale goodbye", clienttool.Options{}, func(t *testing.T, ctx context.Context, r *ct.Rig) {
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
	{10, "late result", clienttool.Options{}, func(t *testing.T, ctx context.Context, r *ct.Rig) {
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
	{11, "Send never returns", clienttool.Options{}, func(t *testing.T, ctx context.Context, r *ct.Rig) {
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
	{12, "cancelled while queued", clienttool.Options{Limits: clienttool.Limits{InFlight: 1}}, func(t *testing.T, ctx context.Context, r *ct.Rig) {
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
	{13, "queue full", unlimited(clienttool.Options{Limits: clienttool.Limits{InFlight: 1, QueuedCalls: 3}}), func(t *testing.T, ctx context.Context, r *ct.Rig) {
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
	{14, "limit of four", unlimited(clienttool.Options{}), func(t *testing.T, ctx context.Context, r *ct.Rig) {
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
	{14, "limit of a tool", unlimited(clienttool.Options{}), func(t *testing.T, ctx context.Context, r *ct.Rig) {
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
	{15, "request id twice", clienttool.Options{}, func(t *testing.T, ctx context.Context, r *ct.Rig) {
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
	{16, "peer stops reading", clienttool.Options{}, func(t *testing.T, ctx context.Context, r *ct.Rig) {
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
	{17, "another principal", clienttool.Options{}, func(t *testing.T, ctx context.Context, r *ct.Rig) {
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
	{18, "handler panics", clienttool.Options{}, func(t *testing.T, ctx context.Context, r *ct.Rig) {
		a := r.Client("a")
		a.Add(definition("x"), func(context.Context, *clienttool.Invocation) (*clienttool.ToolResult, error) { panic("boom") })
		a.Tool("y")
		synctest.Wait()
		e := failure(t, mustStart(t, r.Hub, clienttool.CallRequest{Tool: "client_a_x"}))
		assert.Equal(t, clienttool.CodeToolError, e.Code)
		assert.NotContains(t, e.ModelText(), "boom")
		works(t, mustStart(t, r.Hub, clienttool.CallRequest{Tool: "client_a_y"}), "ok")
	}},
	{19, "each request twice", clienttool.Options{}, func(t *testing.T, ctx context.Context, r *ct.Rig) {
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
	{20, "no needless resend", clienttool.Options{}, func(t *testing.T, ctx context.Context, r *ct.Rig) {
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
	{21, "cancelled while running", clienttool.Options{}, func(t *testing.T, ctx context.Context, r *ct.Rig) {
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
}
