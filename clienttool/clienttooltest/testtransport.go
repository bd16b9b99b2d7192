package clienttooltest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agenttool/tool"
	"github.com/agenttool/tool/clienttool"
)

// System is a carrier between a hub and its clients, for [TestTransport].
type System struct {
	// Transport returns how the named client reaches the hub, always as the same principal.
	Transport func(clientID string) clienttool.Transport
	// Cut severs all links without goodbye; clients may connect again at once.
	Cut func()
}

// TestTransport runs a whole system of hub and clients over the carrier that mk sets
// up, in real time. The hub that mk gets has short limits, and is closed by the kit
// before what mk registered with t.Cleanup.
func TestTransport(t *testing.T, mk func(t *testing.T, h *clienttool.Hub) System) {
	for _, c := range []struct {
		name, why string
		f         func(s *systemCase)
	}{
		{"call", "promise 1", func(s *systemCase) {
			s.client("one").Tool("x").Returns("hello")
			s.expect("one", "hello")
		}},
		{"tool error", "a tool's failure is text for the model, not a broken call", func(s *systemCase) {
			s.client("one").Tool("x").Fails(errors.New("no such file"))
			_, err := s.execute("one")
			var e *clienttool.CallError
			if !errors.As(err, &e) || e.Code != clienttool.CodeToolError || e.ModelText() != "no such file" {
				s.t.Errorf("got %v", err)
			}
		}},
		{"input is checked", "what does not fit the schema is not to reach a client", inputChecked},
		{"cut while running", "promise 2: the tool runs once; promise 3: its result is sent again, not made again", cutWhileRunning},
		{"ends while away", "a result is kept until the host has it", endsWhileAway},
		{"started while away", "a tool survives a lost link for its grace period", startedWhileAway},
		{"cancel", "a caller that leaves must stop the tool", cancelled},
		{"time limit", "promise 1, within its time limit", timeLimit},
		{"progress", "promise 4", progressed},
		{"question", "a tool asks for permission on the host", questioned},
		{"invocation", "a tool calls a tool of the host", invoked},
		{"4 MiB", "a result of the announced size passes", fourMiB},
		{"too large", "a result that is too large ends the call at once, not at its limit", resultTooLarge},
		{"interleaved", "calls do not disturb each other", interleaved},
		{"tools come and go", "what a client adds and removes while connected reaches the agent", comeAndGo},
		{"storm", "promise 6, and no call is lost when all links are cut together", storm},
		{"goodbye", "a client that leaves takes its tools with it", goodbye},
		{"shutdown", "the host can always end", shutdown},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Cleanup(func() {
				if t.Failed() {
					t.Logf("why it matters: %s", c.why)
				}
			})
			h, err := clienttool.NewHub(clienttool.Options{
				AllowAnonymous: true, OfferUnbound: true, Timeout: hang, DetachGrace: hang,
				Limits: clienttool.Limits{CallsPerMinute: -1, RegistersPerMinute: -1, ClientsPerPrincipal: -1, Pending: -1, QueuedCalls: -1},
			})
			if err != nil {
				t.Fatal(err)
			}
			s := &systemCase{t: t, h: h, sys: mk(t, h), clients: make(map[string]*systemClient)}
			t.Cleanup(s.close)
			c.f(s)
		})
	}
}

type systemCase struct {
	t       *testing.T
	h       *clienttool.Hub
	sys     System
	mu      sync.Mutex
	clients map[string]*systemClient
}

type systemClient struct {
	FakeClient
	ready chan struct{}
}

// client runs a client over the carrier and waits until it is connected.
func (s *systemCase) client(id string) *systemClient {
	s.t.Helper()
	c := &systemClient{ready: make(chan struct{})}
	c.hub, c.done = s.h, make(chan struct{})
	tr := s.sys.Transport(id)
	var once sync.Once
	c.Client = clienttool.NewClient(id, clienttool.DialFunc(func(ctx context.Context) (clienttool.Conn, error) {
		c.mu.Lock()
		off := c.offline
		c.mu.Unlock()
		if off {
			return nil, errors.New("offline on purpose")
		}
		return tr.Dial(ctx)
	}), clienttool.ClientOptions{
		Backoff: clienttool.Backoff{Min: 10 * time.Millisecond, Max: 100 * time.Millisecond}, DrainTimeout: 2 * time.Second,
		OnState: func(st clienttool.State) {
			if st == clienttool.StateReady {
				once.Do(func() { close(c.ready) })
			}
		},
	})
	ctx, cancel := context.WithCancel(context.Background())
	c.stop = cancel
	go func() { defer close(c.done); c.Run(ctx) }()
	s.mu.Lock()
	s.clients[id] = c
	s.mu.Unlock()
	within(s.t, "connecting", hang, func() { <-c.ready })
	return c
}

func (s *systemCase) close() {
	for _, c := range s.clients {
		c.stop()
	}
	within(s.t, "closing the hub", hang, func() { s.h.Close() })
	for id, c := range s.clients {
		within(s.t, "the end of client "+id, hang, func() { <-c.done })
	}
}

// offered waits until the hub has the tool of a client.
func (s *systemCase) offered(id string) {
	s.t.Helper()
	for end := time.Now().Add(hang); ; time.Sleep(time.Millisecond) {
		if _, ok := s.h.Lookup("client_" + id + "_x"); ok {
			return
		}
		if time.Now().After(end) {
			s.t.Fatalf("the tool of client %s was not registered", id)
		}
	}
}

func (s *systemCase) execute(id string) (*clienttool.ToolResult, error) {
	s.t.Helper()
	s.offered(id)
	return s.h.Execute(context.Background(), clienttool.CallRequest{Tool: "client_" + id + "_x", Input: json.RawMessage(`{}`)})
}

func (s *systemCase) expect(id, text string) {
	s.t.Helper()
	res, err := s.execute(id)
	if err != nil {
		s.t.Fatalf("client %s: %v", id, err)
	}
	if res.Output != text {
		s.t.Fatalf("client %s answered %q", id, res.Output)
	}
}

func (s *systemCase) start(id string, r clienttool.CallRequest) *clienttool.Call {
	s.t.Helper()
	s.offered(id)
	r.Tool = "client_" + id + "_x"
	c, err := s.h.Start(context.Background(), r)
	if err != nil {
		s.t.Fatal(err)
	}
	return c
}

func (s *systemCase) wait(c *clienttool.Call) (*clienttool.ToolResult, error) {
	s.t.Helper()
	within(s.t, "the end of the call", 2*hang, func() { <-c.Done() })
	return c.Result()
}

// running waits until a fake tool was called n times.
func running(s *systemCase, f *FakeTool, n int) {
	s.t.Helper()
	for end := time.Now().Add(hang); len(f.Calls()) < n; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			s.t.Fatalf("the tool was called %d times, not %d", len(f.Calls()), n)
		}
	}
}

func once(s *systemCase, f *FakeTool) {
	s.t.Helper()
	if n := len(f.Calls()); n != 1 {
		s.t.Errorf("the tool ran %d times", n)
	}
}

func inputChecked(s *systemCase) {
	c := s.client("one")
	ran := false
	c.Add(clienttool.ToolDefinition{ID: "x", Description: "d", Parameters: json.RawMessage(`{"type":"object","required":["a"]}`)},
		func(context.Context, *clienttool.Invocation) (*clienttool.ToolResult, error) {
			ran = true
			return nil, nil
		})
	_, err := s.execute("one")
	var e *clienttool.CallError
	if !errors.As(err, &e) || e.Code != clienttool.CodeInvalidInput || e.Delivery != clienttool.NotDelivered || ran {
		s.t.Errorf("got %v, ran %v", err, ran)
	}
}

func cutWhileRunning(s *systemCase) {
	f := s.client("one").Tool("x").After(300 * time.Millisecond)
	call := s.start("one", clienttool.CallRequest{})
	running(s, f, 1)
	s.sys.Cut()
	if _, err := s.wait(call); err != nil {
		s.t.Error(err)
	}
	once(s, f)
}

func endsWhileAway(s *systemCase) {
	c := s.client("one")
	f := c.Tool("x").After(100 * time.Millisecond)
	call := s.start("one", clienttool.CallRequest{})
	running(s, f, 1)
	c.Offline(true)
	s.sys.Cut()
	time.Sleep(300 * time.Millisecond)
	c.Offline(false)
	if _, err := s.wait(call); err != nil {
		s.t.Error(err)
	}
	once(s, f)
}

func startedWhileAway(s *systemCase) {
	c := s.client("one")
	f := c.Tool("x")
	s.offered("one")
	c.Offline(true)
	s.sys.Cut()
	time.Sleep(50 * time.Millisecond)
	call := s.start("one", clienttool.CallRequest{})
	time.Sleep(100 * time.Millisecond)
	c.Offline(false)
	if _, err := s.wait(call); err != nil {
		s.t.Error(err)
	}
	once(s, f)
}

func cancelled(s *systemCase) {
	stopped := make(chan error, 1)
	c := s.client("one")
	c.Add(clienttool.ToolDefinition{ID: "x", Description: "d"}, func(ctx context.Context, _ *clienttool.Invocation) (*clienttool.ToolResult, error) {
		<-ctx.Done()
		stopped <- context.Cause(ctx)
		return nil, context.Cause(ctx)
	})
	call := s.start("one", clienttool.CallRequest{})
	for st, _ := call.State(); st.String() != "started"; st, _ = call.State() {
		time.Sleep(time.Millisecond)
	}
	call.Cancel(errors.New("the user left"))
	if _, err := s.wait(call); !errors.Is(err, context.Canceled) {
		s.t.Errorf("got %v", err)
	}
	within(s.t, "the cancelled handler", hang, func() {
		if err := <-stopped; !errors.Is(err, tool.ErrCancelled) {
			s.t.Errorf("the handler's context ended with %v", err)
		}
	})
}

func timeLimit(s *systemCase) {
	f := s.client("one").Tool("x").Hangs()
	call := s.start("one", clienttool.CallRequest{Timeout: 500 * time.Millisecond})
	_, err := s.wait(call)
	if !errors.Is(err, context.DeadlineExceeded) {
		s.t.Errorf("got %v", err)
	}
	once(s, f)
}

func progressed(s *systemCase) {
	c := s.client("one")
	const n = 20
	c.Add(clienttool.ToolDefinition{ID: "x", Description: "d"}, func(ctx context.Context, i *clienttool.Invocation) (*clienttool.ToolResult, error) {
		for k := range n {
			i.Progress(clienttool.Progress{Delta: fmt.Sprintln(k)})
			time.Sleep(20 * time.Millisecond)
		}
		time.Sleep(200 * time.Millisecond)
		return nil, nil
	})
	var mu sync.Mutex
	var got strings.Builder
	var last uint64
	ended := false
	call := s.start("one", clienttool.CallRequest{OnProgress: func(p clienttool.Progress) {
		mu.Lock()
		defer mu.Unlock()
		if p.N <= last || ended {
			s.t.Errorf("progress %d came after %d, ended %v", p.N, last, ended)
		}
		last = p.N
		got.WriteString(p.Delta)
	}})
	if _, err := s.wait(call); err != nil {
		s.t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	ended = true
	var want strings.Builder
	for k := range n {
		fmt.Fprintln(&want, k)
	}
	if got.String() != want.String() {
		s.t.Errorf("progress added up to %q", got.String())
	}
}

func questioned(s *systemCase) {
	c := s.client("one")
	c.Add(clienttool.ToolDefinition{ID: "x", Description: "d"}, func(ctx context.Context, i *clienttool.Invocation) (*clienttool.ToolResult, error) {
		if err := i.Ask(ctx, &tool.Request{Permission: "read", Patterns: []string{"a.txt"}}); err != nil {
			return nil, err
		}
		err := i.Ask(ctx, &tool.Request{Permission: "read", Patterns: []string{".env"}})
		return &clienttool.ToolResult{Output: fmt.Sprint(errors.Is(err, tool.ErrDenied))}, nil
	})
	call := s.start("one", clienttool.CallRequest{Ask: func(_ context.Context, r *tool.Request) error {
		if r.Patterns[0] == ".env" {
			return errors.New("secret")
		}
		return nil
	}})
	if res, err := s.wait(call); err != nil || res.Output != "true" {
		s.t.Errorf("got %+v, %v", res, err)
	}
}

func invoked(s *systemCase) {
	c := s.client("one")
	c.Add(clienttool.ToolDefinition{ID: "x", Description: "d"}, func(ctx context.Context, i *clienttool.Invocation) (*clienttool.ToolResult, error) {
		r, err := i.Invoke(ctx, "upper", json.RawMessage(`{"s":"a"}`))
		if err != nil {
			return nil, err
		}
		return &clienttool.ToolResult{Output: r.Text}, nil
	})
	call := s.start("one", clienttool.CallRequest{Invoke: func(_ context.Context, name string, in json.RawMessage) (*tool.Result, error) {
		return tool.Text(name + string(in)), nil
	}})
	if res, err := s.wait(call); err != nil || res.Output != `upper{"s":"a"}` {
		s.t.Errorf("got %+v, %v", res, err)
	}
}

func fourMiB(s *systemCase) {
	s.client("one").Tool("x").Returns(strings.Repeat("x", 4<<20-1024))
	if res, err := s.execute("one"); err != nil || len(res.Output) != 4<<20-1024 {
		s.t.Errorf("got %v", err)
	}
}

func resultTooLarge(s *systemCase) {
	c := s.client("one")
	c.Tool("x").Returns(strings.Repeat("x", 4<<20+1))
	begin := time.Now()
	_, err := s.execute("one")
	var e *clienttool.CallError
	if !errors.As(err, &e) || e.Code != clienttool.CodeTooLarge || e.Delivery != clienttool.Started {
		s.t.Errorf("got %v", err)
	}
	if time.Since(begin) > hang/2 {
		s.t.Error("the call ended at its limit, not at once")
	}
	c.Tool("x").Returns("small")
	for end := time.Now().Add(hang); ; {
		if res, err := s.execute("one"); err == nil && res.Output == "small" {
			return
		}
		if time.Now().After(end) {
			s.t.Fatal("the client is of no use after a result that was too large")
		}
	}
}

func interleaved(s *systemCase) {
	c := s.client("one")
	c.Add(clienttool.ToolDefinition{ID: "x", Description: "d"}, func(_ context.Context, i *clienttool.Invocation) (*clienttool.ToolResult, error) {
		return &clienttool.ToolResult{Output: string(i.Input)}, nil
	})
	s.offered("one")
	const n = 300
	var wg sync.WaitGroup
	for k := range n {
		wg.Go(func() {
			in := fmt.Sprintf(`{"k":%d}`, k)
			res, err := s.h.Execute(context.Background(), clienttool.CallRequest{Tool: "client_one_x", Input: json.RawMessage(in), Timeout: 6 * hang})
			if err != nil || res.Output != in {
				s.t.Errorf("call %d: %v, %v", k, res, err)
			}
		})
	}
	within(s.t, "all calls", 6*hang, wg.Wait)
}

func comeAndGo(s *systemCase) {
	c := s.client("one")
	c.Tool("x")
	s.offered("one")
	c.Remove("x")
	for end := time.Now().Add(hang); len(s.h.ClientTools("")) > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			s.t.Fatal("a removed tool is still on offer")
		}
	}
	c.Tool("x").Returns("again")
	s.expect("one", "again")
}

func storm(s *systemCase) {
	const n = 20
	var failed atomic.Int32
	fakes := make([]*FakeTool, n)
	calls := make([]*clienttool.Call, n)
	for i := range n {
		id := fmt.Sprint("c", i)
		fakes[i] = s.client(id).Tool("x").After(200 * time.Millisecond)
		calls[i] = s.start(id, clienttool.CallRequest{})
	}
	for range 3 {
		s.sys.Cut()
		time.Sleep(100 * time.Millisecond)
	}
	for i, c := range calls {
		if _, err := s.wait(c); err != nil {
			failed.Add(1)
			s.t.Errorf("client %d: %v", i, err)
		}
		once(s, fakes[i])
	}
}

func goodbye(s *systemCase) {
	c := s.client("one")
	f := c.Tool("x").Hangs()
	call := s.start("one", clienttool.CallRequest{})
	running(s, f, 1)
	c.stop()
	if _, err := s.wait(call); err == nil {
		s.t.Error("the call of a client that left ended well")
	}
	for end := time.Now().Add(hang); len(s.h.ClientTools("")) > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			s.t.Fatal("the tools of a client that left are still on offer")
		}
	}
}

func shutdown(s *systemCase) {
	f := s.client("one").Tool("x").After(200 * time.Millisecond)
	call := s.start("one", clienttool.CallRequest{})
	running(s, f, 1)
	ctx, cancel := context.WithTimeout(context.Background(), hang)
	defer cancel()
	within(s.t, "Shutdown", hang, func() {
		if err := s.h.Shutdown(ctx); err != nil {
			s.t.Errorf("Shutdown: %v", err)
		}
	})
	if _, err := s.wait(call); err != nil {
		s.t.Errorf("a call that could end did not: %v", err)
	}
}
