package clienttool_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

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

// Each kind of frame is lost alone; what repairs it is an acknowledgement limit,
// a comparison, or sending again.
func faultLostFrame(t *testing.T) {
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

// Random cuts; every call succeeds and every handler runs once.
func faultRandomCuts(t *testing.T) {
	for seed := range seeds(t, 1000) {
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
