package clienttooltest

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/agenttool/tool/clienttool"
)

// Rig is a hub in a bubble of virtual time. See [Run].
type Rig struct {
	T   *testing.T
	Hub *clienttool.Hub
	// Wrap, if not nil, wraps both ends of every link made after it was set, e.g. with [Faulty].
	Wrap func(host, client clienttool.Conn) (clienttool.Conn, clienttool.Conn)
}

// Client connects a client; see [NewClient].
func (r *Rig) Client(id string) *FakeClient {
	return r.ClientWith(id, clienttool.ClientOptions{})
}

// ClientWith connects a client with options.
func (r *Rig) ClientWith(id string, o clienttool.ClientOptions) *FakeClient {
	return newClient(r.T, r.Hub, id, o, func(host, client clienttool.Conn) (clienttool.Conn, clienttool.Conn) {
		if r.Wrap == nil {
			return host, client
		}
		return r.Wrap(host, client)
	})
}

// Run runs f in a testing/synctest bubble with a hub, which is closed at the end. It
// fails if calls are still live then, if goroutines are left over, or if a call did
// not end with exactly one of completed and failed among its events.
func Run(t *testing.T, o clienttool.Options, f func(ctx context.Context, r *Rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		h, err := clienttool.NewHub(o)
		if err != nil {
			t.Fatal(err)
		}
		begun, ended := make(map[string]int), make(map[string]int)
		h.Subscribe(1<<20, func(e clienttool.Event) {
			switch e.Type {
			case clienttool.EventRequest:
				begun[e.Request.RequestID]++
			case clienttool.EventCompleted, clienttool.EventFailed:
				ended[e.RequestID]++
			}
		})
		t.Cleanup(func() { // last, after the clients
			h.Close()
			synctest.Wait()
			for id, n := range begun {
				if n != 1 || ended[id] != 1 {
					t.Errorf("call %s has %d events that begin it and %d that end it", id, n, ended[id])
				}
				delete(ended, id)
			}
			for id := range ended {
				t.Errorf("call %s ended and never began", id)
			}
		})
		f(t.Context(), &Rig{T: t, Hub: h})
		for _, c := range h.Clients() {
			if c.InFlight+c.Queued > 0 {
				t.Errorf("client %s has %d calls in flight and %d queued at the end", c.ClientID, c.InFlight, c.Queued)
			}
		}
	})
}
