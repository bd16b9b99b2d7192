package clienttool_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agenttool/tool"
	"github.com/agenttool/tool/clienttool"
	ct "github.com/agenttool/tool/clienttool/clienttooltest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var limitFaults = []fault{
	{42, "input violates the schema", clienttool.Options{}, func(t *testing.T, ctx context.Context, r *ct.Rig) {
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
	{43, "malformed results", unlimited(clienttool.Options{}), func(t *testing.T, ctx context.Context, r *ct.Rig) {
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
	{44, "result too large for the client to send", clienttool.Options{}, func(t *testing.T, ctx context.Context, r *ct.Rig) {
		r.Client("a").Tool("x").Returns(strings.Repeat("x", 4<<20+1))
		synctest.Wait()
		begin := time.Now()
		ends(t, mustStart(t, r.Hub, clienttool.CallRequest{Tool: "client_a_x"}), clienttool.CodeTooLarge, clienttool.Started)
		assert.Zero(t, time.Since(begin))
	}},
	{45, "a flood of progress", clienttool.Options{}, func(t *testing.T, ctx context.Context, r *ct.Rig) {
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
	{46, "cancel overtakes requests", unlimited(clienttool.Options{Limits: clienttool.Limits{InFlight: 32}}), func(t *testing.T, ctx context.Context, r *ct.Rig) {
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
	{47, "fair queue", unlimited(clienttool.Options{Limits: clienttool.Limits{InFlight: 1}}), func(t *testing.T, ctx context.Context, r *ct.Rig) {
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
	{48, "calls a minute", clienttool.Options{}, func(t *testing.T, ctx context.Context, r *ct.Rig) {
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
	{49, "ping flood", clienttool.Options{}, func(t *testing.T, ctx context.Context, r *ct.Rig) {
		a := dial(t, r.Hub, alice)
		require.True(t, a.greet(hello("a", "i1", "x")))
		for range 10 {
			a.c.Send(ctx, &clienttool.Message{Type: clienttool.TypePing})
		}
		assert.Equal(t, clienttool.ReasonRate, a.recv(clienttool.TypeBye).Reason)
	}},
	{49, "pings are never answered", clienttool.Options{}, func(t *testing.T, ctx context.Context, r *ct.Rig) {
		a := dial(t, r.Hub, alice)
		require.True(t, a.greet(hello("a", "i1", "x")))
		begin := time.Now()
		for a.recv(clienttool.TypePing) != nil {
		}
		assert.LessOrEqual(t, time.Since(begin), 100*time.Second)
		info, _ := r.Hub.Client("a")
		assert.False(t, info.Connected)
	}},
	{49, "answer of a dead generation", clienttool.Options{}, func(t *testing.T, ctx context.Context, r *ct.Rig) {
		a := dial(t, r.Hub, alice)
		require.True(t, a.greet(hello("a", "i1", "x")))
		b := dial(t, r.Hub, alice)
		h := hello("a", "i1", "x")
		h.Hello.Resume = a.welcome.Resume
		require.True(t, b.greet(h))
		begin := time.Now()
		stop := make(chan struct{})
		defer close(stop)
		go func() { // the old page goes on answering for the new one
			for {
				select {
				case <-stop:
					return
				case <-time.After(5 * time.Second):
					r.Hub.Handle(context.Background(), alice, &clienttool.Message{Type: clienttool.TypePong, ClientID: "a", Gen: 1})
				}
			}
		}()
		for b.recv(clienttool.TypePing) != nil {
		}
		assert.LessOrEqual(t, time.Since(begin), 100*time.Second, "what an old link says does not keep a new one alive")
	}},
	{49, "client notices a silent host", clienttool.Options{}, func(t *testing.T, ctx context.Context, r *ct.Rig) {
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
	{55, "shutdown", clienttool.Options{Limits: clienttool.Limits{InFlight: 2}}, func(t *testing.T, ctx context.Context, r *ct.Rig) {
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
	{56, "contexts and limits at the edge", clienttool.Options{MaxTimeout: time.Minute}, func(t *testing.T, ctx context.Context, r *ct.Rig) {
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
	{58, "instances", clienttool.Options{}, func(t *testing.T, ctx context.Context, r *ct.Rig) {
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
	{59, "tokens", clienttool.Options{}, func(t *testing.T, ctx context.Context, r *ct.Rig) {
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
	{60, "evicted tombstone", unlimited(clienttool.Options{Limits: clienttool.Limits{TombstonesPerClient: 2}}), func(t *testing.T, ctx context.Context, r *ct.Rig) {
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
}
