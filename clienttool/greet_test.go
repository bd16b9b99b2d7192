package clienttool_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agenttool/tool/clienttool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// slowWelcome is a link on which nothing arrives for a while.
type slowWelcome struct {
	clienttool.Conn
	open chan struct{}
}

func (c slowWelcome) Recv(ctx context.Context) (*clienttool.Message, error) {
	select {
	case <-c.open:
		return c.Conn.Recv(ctx)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Tools that come and go while the client waits for the host's welcome are neither in
// its hello nor said over a link, and still the host must know of them.
func TestToolsChangeDuringHello(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, err := clienttool.NewHub(clienttool.Options{OfferUnbound: true})
		require.NoError(t, err)
		defer h.Close()
		open := make(chan struct{})
		ctx, stop := context.WithCancel(t.Context())
		served := make(chan struct{})
		c := clienttool.NewClient("a", clienttool.DialFunc(func(context.Context) (clienttool.Conn, error) {
			host, client := clienttool.Pipe(16)
			go func() { defer close(served); h.Serve(ctx, alice, host) }()
			return slowWelcome{client, open}, nil
		}), clienttool.ClientOptions{})
		handler := func(context.Context, *clienttool.Invocation) (*clienttool.ToolResult, error) { return text("ok"), nil }
		for _, name := range []string{"kept", "gone", "changed"} {
			require.NoError(t, c.Add(definition(name), handler))
		}
		ran := make(chan struct{})
		go func() { defer close(ran); c.Run(ctx) }()
		synctest.Wait() // hello was said
		require.NoError(t, c.Add(definition("new"), handler))
		c.Remove("gone")
		changed := definition("changed")
		changed.Description = "another one"
		require.NoError(t, c.Add(changed, handler))
		close(open)
		time.Sleep(time.Second)
		var names []string
		for _, d := range h.ClientTools("") {
			names = append(names, d.ID)
			if d.ID == "client_a_changed" {
				assert.Contains(t, d.Description, "another one")
			}
		}
		slices.Sort(names)
		assert.Equal(t, []string{"client_a_changed", "client_a_kept", "client_a_new"}, names)
		works(t, mustStart(t, h, clienttool.CallRequest{Tool: "client_a_new"}), "ok")
		stop()
		<-ran
		<-served
	})
}
