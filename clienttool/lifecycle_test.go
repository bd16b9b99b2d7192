package clienttool_test

import (
	"context"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agenttool/tool/clienttool"
	ct "github.com/agenttool/tool/clienttool/clienttooltest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var lifecycle = []fault{
	{0, "no hello", clienttool.Options{}, func(t *testing.T, ctx context.Context, r *ct.Rig) {
		a := dial(t, r.Hub, alice)
		begin := time.Now()
		_, err := a.c.Recv(ctx)
		assert.ErrorIs(t, err, io.EOF)
		assert.Equal(t, 10*time.Second, time.Since(begin))
		anon := dial(t, r.Hub, clienttool.Peer{})
		assert.False(t, anon.greet(hello("z", "i1", "x")), "anonymous")
	}},
	{0, "goodbye drains", clienttool.Options{}, func(t *testing.T, ctx context.Context, r *ct.Rig) {
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
	{0, "heartbeat", clienttool.Options{}, func(t *testing.T, ctx context.Context, r *ct.Rig) {
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
	{0, "unresponsive", clienttool.Options{}, func(t *testing.T, ctx context.Context, r *ct.Rig) {
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
	{0, "wait for the cancellation", clienttool.Options{}, func(t *testing.T, ctx context.Context, r *ct.Rig) {
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
	{0, "credentials expire", clienttool.Options{}, func(t *testing.T, ctx context.Context, r *ct.Rig) {
		a := dial(t, r.Hub, clienttool.Peer{Principal: "mallory"})
		require.True(t, a.greet(hello("a", "i1", "x")))
		other := r.Client("b").Tool("x")
		synctest.Wait()
		call := mustStart(t, r.Hub, clienttool.CallRequest{Tool: "client_a_x", Timeout: time.Hour})
		a.recv(clienttool.TypeRequest)
		assert.Equal(t, []string{"a"}, r.Hub.Revoke("mallory"))
		m := a.recv(clienttool.TypeBye)
		assert.Equal(t, clienttool.ReasonUnauthorized, m.Reason)
		assert.Zero(t, m.RetryMs, "for good")
		ends(t, call, clienttool.CodeGone, clienttool.Unknown)
		assert.Empty(t, r.Hub.Revoke("nobody"))
		works(t, mustStart(t, r.Hub, clienttool.CallRequest{Tool: "client_b_x"}), "ok")
		assert.Len(t, other.Calls(), 1)
	}},
}
