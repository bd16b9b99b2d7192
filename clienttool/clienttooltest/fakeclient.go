package clienttooltest

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/agenttool/tool/clienttool"
)

// FakeClient is a client of a hub whose tools do as they are told. It is connected
// over a Pipe as principal "test", and ends with the test.
type FakeClient struct {
	*clienttool.Client

	hub  *clienttool.Hub
	wrap func(host, client clienttool.Conn) (clienttool.Conn, clienttool.Conn)

	mu      sync.Mutex
	conns   []clienttool.Conn
	offline bool
	stop    context.CancelFunc
	done    chan struct{}
	serving sync.WaitGroup
}

// NewClient connects a client called id, whose tools are bound to no session: give
// the hub OfferUnbound to see them through a Registry. Add tools with
// [FakeClient.Tool] at any time.
func NewClient(t testing.TB, h *clienttool.Hub, id string) *FakeClient {
	return newClient(t, h, id, clienttool.ClientOptions{}, nil)
}

func newClient(t testing.TB, h *clienttool.Hub, id string, o clienttool.ClientOptions, wrap func(host, client clienttool.Conn) (clienttool.Conn, clienttool.Conn)) *FakeClient {
	f := &FakeClient{hub: h, wrap: wrap, done: make(chan struct{})}
	f.Client = clienttool.NewClient(id, clienttool.DialFunc(f.dial), o)
	ctx, cancel := context.WithCancel(context.Background())
	f.stop = cancel
	go func() {
		defer close(f.done)
		f.Run(ctx)
	}()
	t.Cleanup(f.Close)
	return f
}

func (f *FakeClient) dial(context.Context) (clienttool.Conn, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.offline {
		return nil, errors.New("offline on purpose")
	}
	host, client := clienttool.Pipe(16)
	if f.wrap != nil {
		host, client = f.wrap(host, client)
	}
	f.conns = append(f.conns, client)
	f.serving.Go(func() { f.hub.Serve(context.Background(), clienttool.Peer{Principal: "test"}, host) })
	return client, nil
}

// Cut severs the link without goodbye. The client connects again by itself.
func (f *FakeClient) Cut() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.conns {
		c.Close(errCut)
	}
	f.conns = nil
}

// Offline makes every attempt to connect fail until it is called with false. It does not cut.
func (f *FakeClient) Offline(off bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.offline = off
}

// Close ends the client, in good order, and waits.
func (f *FakeClient) Close() {
	f.stop()
	<-f.done
	f.Cut()
	f.serving.Wait()
}

// FakeTool is a tool of a [FakeClient]. Its methods may be chained, and called while calls run.
type FakeTool struct {
	mu    sync.Mutex
	after time.Duration
	hangs bool
	err   error
	text  string
	calls []clienttool.Invocation
}

// Tool adds a tool that takes any object and returns "ok" at once.
func (f *FakeClient) Tool(name string) *FakeTool {
	t := &FakeTool{text: "ok"}
	def := clienttool.ToolDefinition{ID: name, Description: "A fake.", Parameters: json.RawMessage(`{"type":"object"}`), Parallel: true}
	if err := f.Add(def, t.handle); err != nil {
		panic(err)
	}
	return t
}

// Returns makes calls end with a text.
func (t *FakeTool) Returns(text string) *FakeTool {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text, t.err, t.hangs = text, nil, false
	return t
}

// Fails makes calls end with an error.
func (t *FakeTool) Fails(err error) *FakeTool {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.err, t.hangs = err, false
	return t
}

// Hangs makes calls go on until they are cancelled.
func (t *FakeTool) Hangs() *FakeTool {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.hangs = true
	return t
}

// After makes calls take d.
func (t *FakeTool) After(d time.Duration) *FakeTool {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.after = d
	return t
}

// Calls returns the calls so far, each as often as its handler was started.
func (t *FakeTool) Calls() []clienttool.Invocation {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]clienttool.Invocation(nil), t.calls...)
}

func (t *FakeTool) handle(ctx context.Context, i *clienttool.Invocation) (*clienttool.ToolResult, error) {
	t.mu.Lock()
	t.calls = append(t.calls, *i)
	after, hangs, err, text := t.after, t.hangs, t.err, t.text
	t.mu.Unlock()
	if hangs {
		<-ctx.Done()
		return nil, context.Cause(ctx)
	}
	if after > 0 {
		timer := time.NewTimer(after)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	if err != nil {
		return nil, err
	}
	return &clienttool.ToolResult{Title: i.Name, Output: text}, nil
}
