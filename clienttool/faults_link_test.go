package clienttool_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agenttool/tool/clienttool"
	ct "github.com/agenttool/tool/clienttool/clienttooltest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var linkFaults = []fault{
	{24, "cancel before its request", clienttool.Options{}, func(t *testing.T, ctx context.Context, r *ct.Rig) {
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
	{25, "dropped, and the link is fine", clienttool.Options{}, func(t *testing.T, ctx context.Context, r *ct.Rig) {
		a := dial(t, r.Hub, alice)
		require.True(t, a.greet(hello("a", "i1", "x")))
		var seen atomic.Int32
		call := mustStart(t, r.Hub, clienttool.CallRequest{Tool: "client_a_x", OnProgress: func(clienttool.Progress) { seen.Add(1) }})
		id := a.recv(clienttool.TypeRequest).Request.RequestID
		a.result(id, "ok")
		a.send(&clienttool.Message{Type: clienttool.TypeProgress, RequestID: id, Progress: &clienttool.Progress{N: 1, Title: "late"}})
		works(t, call, "ok")
		synctest.Wait()
		assert.Zero(t, seen.Load())
		a.send(&clienttool.Message{Type: clienttool.TypePing})
		assert.NotNil(t, a.recv(clienttool.TypePong))
	}},
	{26, "accepted", clienttool.Options{}, func(t *testing.T, ctx context.Context, r *ct.Rig) {
		a := dial(t, r.Hub, alice)
		require.True(t, a.greet(hello("a", "i1", "x")))
		call := mustStart(t, r.Hub, clienttool.CallRequest{Tool: "client_a_x"})
		id := a.recv(clienttool.TypeRequest).Request.RequestID
		a.result(id, "ok")
		assert.Equal(t, clienttool.VerdictAccepted, a.recv(clienttool.TypeAck).Verdict)
		a.send(&clienttool.Message{Type: clienttool.TypeAck, RequestIDs: []string{id}})
		assert.Equal(t, clienttool.ReasonSettled, a.recv(clienttool.TypeCancel).Reason, "nothing is to be done for it any more")
		works(t, call, "ok")
	}},
	{27, "result and limit at one instant", clienttool.Options{}, func(t *testing.T, ctx context.Context, r *ct.Rig) {
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
	{27, "result and expiry", clienttool.Options{}, func(t *testing.T, ctx context.Context, r *ct.Rig) {
		for i := range 20 {
			a := dial(t, r.Hub, alice)
			require.True(t, a.greet(hello("a", fmt.Sprint("i", i), "x")))
			call := mustStart(t, r.Hub, clienttool.CallRequest{Tool: "client_a_x", Timeout: time.Hour})
			id := a.recv(clienttool.TypeRequest).Request.RequestID
			a.c.Close(nil)
			synctest.Wait()
			time.Sleep(30 * time.Second) // to the instant at which the grace period is over
			m, err := r.Hub.Handle(ctx, alice, &clienttool.Message{Type: clienttool.TypeResult, ClientID: "a", RequestID: id, Result: &clienttool.ToolResponse{Status: "success"}})
			require.NoError(t, err)
			<-call.Done()
			_, err = call.Result()
			assert.Equal(t, m.Verdict == clienttool.VerdictAccepted, err == nil, "the verdict and the caller agree")
			r.Hub.Registry().Cleanup("a")
		}
	}},
	{32, "two instances", clienttool.Options{}, func(t *testing.T, ctx context.Context, r *ct.Rig) {
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
	{34, "link after registration", clienttool.Options{}, func(t *testing.T, ctx context.Context, r *ct.Rig) {
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
	{35, "register overtakes unregister", clienttool.Options{}, func(t *testing.T, ctx context.Context, r *ct.Rig) {
		_, err := r.Hub.Handle(ctx, alice, &clienttool.Message{Type: clienttool.TypeRegister, ClientID: "ghost", Tools: []clienttool.ToolDefinition{definition("x")}})
		require.NoError(t, err)
		time.Sleep(31 * time.Second)
		assert.Empty(t, r.Hub.Clients())
	}},
	{36, "changed while queued", clienttool.Options{Limits: clienttool.Limits{InFlight: 1}}, func(t *testing.T, ctx context.Context, r *ct.Rig) {
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
	{37, "unregistered while running", clienttool.Options{}, func(t *testing.T, ctx context.Context, r *ct.Rig) {
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
}
