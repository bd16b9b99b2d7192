package clienttool_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
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

// Real threads settle one call from all sides.
func faultSettleRace(t *testing.T) {
	for range 300 {
		h, err := clienttool.NewHub(unlimited(clienttool.Options{}))
		require.NoError(t, err)
		var ended atomic.Int32
		defer h.Subscribe(0, func(e clienttool.Event) {
			if e.Type == clienttool.EventCompleted || e.Type == clienttool.EventFailed {
				ended.Add(1)
			}
		})()
		reg := h.Registry()
		require.Len(t, reg.Register("a", []clienttool.ToolDefinition{definition("x")}), 1)
		call := mustStart(t, h, clienttool.CallRequest{Tool: "client_a_x"})
		var won atomic.Int32
		var wg sync.WaitGroup
		begin := make(chan struct{})
		for i := range 6 {
			wg.Go(func() {
				<-begin
				switch i {
				case 0:
					call.Cancel(nil)
				case 1:
					reg.Cleanup("a")
				case 2:
					h.Close()
				default:
					if reg.SubmitResult(call.ID(), clienttool.ToolResponse{Status: "success"}) {
						won.Add(1)
					}
				}
			})
		}
		close(begin)
		wg.Wait()
		<-call.Done()
		_, err = call.Result()
		if err == nil {
			assert.EqualValues(t, 1, won.Load())
		} else {
			assert.Zero(t, won.Load())
		}
		for end := time.Now().Add(10 * time.Second); ended.Load() == 0 && time.Now().Before(end); {
			time.Sleep(time.Millisecond)
		}
		assert.EqualValues(t, 1, ended.Load())
		h.Close()
	}
}

// Every callback may call every method, and may panic.
func faultCallbacks(panics bool) func(t *testing.T) {
	return func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var h *clienttool.Hub
			var during atomic.Int32
			busy := func() {
				if h == nil || during.Add(1) > 100 { // what it does calls it again
					return
				}
				reg := h.Registry()
				reg.Register("other", []clienttool.ToolDefinition{definition("y")})
				reg.GetTools("a")
				reg.GetAllTools()
				reg.FindClientForTool("client_a_x")
				reg.SubmitResult("none", clienttool.ToolResponse{})
				reg.Unregister("other", nil)
				reg.Cleanup("other")
				h.Clients()
				h.ClientTools("s")
				h.Lookup("client_a_x")
				h.Start(context.Background(), clienttool.CallRequest{Tool: "none"})
				h.Handle(context.Background(), clienttool.Peer{Principal: "p"}, &clienttool.Message{Type: clienttool.TypePing, ClientID: "a"})
				h.Subscribe(1, func(clienttool.Event) {})()
				if panics {
					panic("callback")
				}
			}
			var err error
			h, err = clienttool.NewHub(clienttool.Options{
				Namer:    namer(busy),
				Observer: observer(busy),
				Rate:     func(clienttool.Peer, clienttool.Op) clienttool.Limiter { busy(); return nil },
				Authorize: func(context.Context, clienttool.Peer, clienttool.Op, clienttool.Target) error {
					if !panics {
						busy()
					}
					return nil
				},
			})
			require.NoError(t, err)
			defer h.Subscribe(0, func(clienttool.Event) { busy() })()
			c := ct.NewClient(t, h, "a")
			c.Add(definition("x"), func(ctx context.Context, i *clienttool.Invocation) (*clienttool.ToolResult, error) {
				i.Progress(clienttool.Progress{Title: "t"})
				time.Sleep(time.Second)
				if err := i.Ask(ctx, &tool.Request{Permission: "read", Patterns: []string{"x"}}); (err != nil) != panics {
					return nil, errors.New("wrong answer")
				}
				return text("ok"), nil
			})
			time.Sleep(time.Minute)
			if panics { // a Namer that panics names nothing
				assert.Empty(t, h.ClientTools(""))
				return
			}
			works(t, mustStart(t, h, clienttool.CallRequest{Tool: "client_a_x", OnProgress: func(clienttool.Progress) { busy() },
				Ask: func(context.Context, *tool.Request) error { busy(); return nil }}), "ok")
			assert.Greater(t, during.Load(), int32(10))
			c.Close()
			h.Close()
		})
	}
}

type namer func()

func (f namer) Name(clientID, name string) (string, error) {
	if clientID == "a" {
		f()
	}
	return clienttool.DefaultNamer{}.Name(clientID, name)
}

type observer func()

func (f observer) CallDone(clienttool.Outcome, clienttool.Timings) { f() }
func (f observer) Gauge(string, int64)                             {}
func (f observer) Count(string, int64)                             {}

// Callbacks of a call that panic.
func faultCallbackPanics(t *testing.T) {
	ct.Run(t, clienttool.Options{}, func(ctx context.Context, r *ct.Rig) {
		t := r.T
		c := r.Client("a")
		c.Add(definition("x"), func(ctx context.Context, i *clienttool.Invocation) (*clienttool.ToolResult, error) {
			i.Progress(clienttool.Progress{Title: "t"})
			time.Sleep(time.Second)
			err := i.Ask(ctx, &tool.Request{Permission: "read", Patterns: []string{"x"}})
			_, ierr := i.Invoke(ctx, "y", nil)
			return text(fmt.Sprint(errors.Is(err, tool.ErrDenied), ierr != nil)), nil
		})
		synctest.Wait()
		works(t, mustStart(t, r.Hub, clienttool.CallRequest{Tool: "client_a_x",
			OnProgress: func(clienttool.Progress) { panic("progress") },
			Ask:        func(context.Context, *tool.Request) error { panic("ask") },
			Invoke:     func(context.Context, string, json.RawMessage) (*tool.Result, error) { panic("invoke") },
		}), "true true")
	})
}

// A subscriber that blocks costs events, not calls.
func faultBlockedSubscriber(t *testing.T) {
	ct.Run(t, unlimited(clienttool.Options{}), func(ctx context.Context, r *ct.Rig) {
		release := make(chan struct{})
		unsubscribe := r.Hub.Subscribe(4, func(clienttool.Event) { <-release })
		r.Client("a").Tool("x")
		synctest.Wait()
		for range 20 {
			works(r.T, mustStart(r.T, r.Hub, clienttool.CallRequest{Tool: "client_a_x"}), "ok")
		}
		assert.Greater(r.T, unsubscribe(), int64(50))
		close(release)
	})
}

// Events of a call, in order, and their payloads.
func TestEvents(t *testing.T) {
	ct.Run(t, clienttool.Options{}, func(ctx context.Context, r *ct.Rig) {
		t := r.T
		var got []string
		defer r.Hub.Subscribe(0, func(e clienttool.Event) {
			b, err := json.Marshal(e)
			require.NoError(t, err)
			payload := string(b)
			if e.RequestID != "" {
				payload = strings.ReplaceAll(payload, e.RequestID, "ID")
			}
			got = append(got, string(e.Type)+" "+payload)
		})()
		a := r.Client("a")
		synctest.Wait()
		f := a.Tool("x")
		synctest.Wait()
		req := clienttool.CallRequest{Tool: "client_a_x", SessionID: "s", MessageID: "m", CallID: "c", RequestID: "r1", Input: json.RawMessage(`{"k":1}`)}
		works(t, mustStart(t, r.Hub, req), "ok")
		f.Hangs()
		req.RequestID = "r2"
		call := mustStart(t, r.Hub, req)
		time.Sleep(time.Second)
		call.Cancel(nil)
		synctest.Wait()
		r.Hub.Registry().Unregister("a", nil)
		synctest.Wait()
		assert.Equal(t, []string{
			`client-tool.connected {"clientID":"a","toolIDs":[]}`,
			`client-tool.registered {"clientID":"a","toolIDs":["client_a_x"]}`,
			`client-tool.request {"clientID":"a","request":{"type":"client-tool-request","requestID":"ID","sessionID":"s","messageID":"m","callID":"c","tool":"client_a_x","input":{"k":1}}}`,
			`client-tool.executing {"sessionID":"s","messageID":"m","callID":"c","tool":"client_a_x","clientID":"a","requestID":"ID"}`,
			`client-tool.completed {"sessionID":"s","messageID":"m","callID":"c","tool":"client_a_x","clientID":"a","success":true,"requestID":"ID"}`,
			`client-tool.request {"clientID":"a","request":{"type":"client-tool-request","requestID":"ID","sessionID":"s","messageID":"m","callID":"c","tool":"client_a_x","input":{"k":1}}}`,
			`client-tool.executing {"sessionID":"s","messageID":"m","callID":"c","tool":"client_a_x","clientID":"a","requestID":"ID"}`,
			`client-tool.cancelled {"sessionID":"s","messageID":"m","callID":"c","tool":"client_a_x","clientID":"a","error":"client tool client_a_x: cancelled (started)","requestID":"ID","code":"cancelled"}`,
			`client-tool.failed {"sessionID":"s","messageID":"m","callID":"c","tool":"client_a_x","clientID":"a","error":"client tool client_a_x: cancelled (started)","requestID":"ID","code":"cancelled"}`,
			`client-tool.late {"sessionID":"","messageID":"","callID":"","tool":"","clientID":"a","requestID":"ID","code":"cancelled"}`,
			`client-tool.unregistered {"clientID":"a","toolIDs":["client_a_x"]}`,
		}, got)
	})
}

// What was approved is what runs.
func faultChangedWhileAsking(t *testing.T) {
	ct.Run(t, clienttool.Options{OfferUnbound: true}, func(ctx context.Context, r *ct.Rig) {
		t := r.T
		a := r.Client("a")
		f := a.Tool("x")
		synctest.Wait()
		var reg tool.Registry
		reg.AddSource(r.Hub)
		set, err := reg.Resolve(ctx, nil)
		require.NoError(t, err)
		ran := false
		ex := &tool.Executor{Approver: tool.ApproverFunc(func(ctx context.Context, _ *tool.Call, req *tool.Request) error {
			d := definition("x")
			d.Description = "deletes everything"
			a.Add(d, func(context.Context, *clienttool.Invocation) (*clienttool.ToolResult, error) {
				ran = true
				return nil, nil
			})
			synctest.Wait()
			return nil
		})}
		out := ex.Do(ctx, set, &tool.Call{ID: "c", Tool: "client_a_x"})
		fails(t, out.Err, clienttool.CodeToolChanged, clienttool.NotDelivered)
		assert.False(t, ran)
		assert.Empty(t, f.Calls())
	})
}

func TestRegistry(t *testing.T) {
	h, err := clienttool.NewHub(clienttool.Options{})
	require.NoError(t, err)
	defer h.Close()
	reg := h.Registry()
	assert.Equal(t, []clienttool.ToolDefinition{}, reg.GetTools("nobody"))
	// Order is that of registration; registering again replaces in place.
	reg.Register("c", []clienttool.ToolDefinition{definition("z"), definition("client_reset"), definition("m")})
	changed := definition("z")
	changed.Description = "changed"
	reg.Register("c", []clienttool.ToolDefinition{changed})
	var names []string
	for _, d := range reg.GetTools("c") {
		names = append(names, d.ID+" "+d.Description)
	}
	assert.Equal(t, []string{"client_c_z changed", "client_c_client_reset a tool", "client_c_m a tool"}, names)

	// A call that is answered by hand.
	reg.Register("d", []clienttool.ToolDefinition{definition("x")})
	h.Subscribe(0, func(e clienttool.Event) {
		if e.Type == clienttool.EventRequest {
			assert.True(t, reg.SubmitResult(e.Request.RequestID, clienttool.ToolResponse{Status: "success", Output: "by hand"}))
			assert.False(t, reg.SubmitResult(e.Request.RequestID, clienttool.ToolResponse{Status: "success"}))
		}
	})
	for _, name := range []string{"x", "client_d_x"} {
		res, err := reg.Execute(t.Context(), "d", clienttool.ExecutionRequest{Tool: name, Input: json.RawMessage(`{}`)}, time.Minute)
		require.NoError(t, err)
		assert.Equal(t, "by hand", res.Output)
	}
	_, err = reg.Execute(t.Context(), "d", clienttool.ExecutionRequest{Tool: "none"}, 0)
	fails(t, err, clienttool.CodeUnknownTool, clienttool.NotDelivered)
	reg.Cleanup("d")
	assert.Empty(t, reg.GetTools("d"))
}

// Names that the plain form cannot tell apart, in either order.
func faultAmbiguousNames(t *testing.T) {
	for _, first := range []string{"a", "a_b"} {
		h, err := clienttool.NewHub(clienttool.Options{})
		require.NoError(t, err)
		reg := h.Registry()
		var one, two []string
		if first == "a" {
			one = reg.Register("a", []clienttool.ToolDefinition{definition("b_read")})
		}
		two = reg.Register("a_b", []clienttool.ToolDefinition{definition("read")})
		if first != "a" {
			one = reg.Register("a", []clienttool.ToolDefinition{definition("b_read")})
		}
		assert.Len(t, reg.GetAllTools(), 2)
		for id, d := range reg.GetAllTools() {
			assert.Equal(t, id, d.ID)
		}
		assert.Equal(t, "client_a_b_read", one[0])
		assert.Equal(t, "client_a_b_read", two[0], "as its client knows it")
		assert.Equal(t, "a", reg.FindClientForTool("client_a_b_read"))
		var hashed string
		for id := range reg.GetAllTools() {
			if id != "client_a_b_read" {
				hashed = id
			}
		}
		assert.Equal(t, "client__msh2tmy3_read", hashed)
		assert.Equal(t, "a_b", reg.FindClientForTool(hashed))
		assert.False(t, reg.IsClientTool("client_of_nobody"))
		h.Close()
	}
}

// An empty list removes nothing; own names and ids are both taken.
func faultEmptyList(t *testing.T) {
	h, err := clienttool.NewHub(clienttool.Options{})
	require.NoError(t, err)
	defer h.Close()
	reg := h.Registry()
	reg.Register("c", []clienttool.ToolDefinition{definition("z"), definition("client_reset"), definition("m")})
	assert.Empty(t, reg.Unregister("c", []string{}))
	assert.Equal(t, []string{"client_c_client_reset"}, reg.Unregister("c", []string{"client_reset"}))
	assert.Equal(t, []string{"client_c_m"}, reg.Unregister("c", []string{"client_c_m", "none"}))
	assert.Equal(t, []string{"client_c_z"}, reg.Unregister("c", nil))
	assert.Empty(t, reg.Unregister("nobody", nil))
}

// Ids of hostile names.
func faultNames(t *testing.T) {
	n := clienttool.DefaultNamer{}
	for _, c := range []struct{ client, name, want string }{
		{"my-client", "search-docs", "client_my-client_search-docs"},
		{"laptop", "read_file", "client_laptop_read_file"},
		{"a_b", "read", "client__msh2tmy3_read"},
	} {
		id, err := n.Name(c.client, c.name)
		require.NoError(t, err)
		assert.Equal(t, c.want, id)
	}
	for _, bad := range [][2]string{{"", "x"}, {"a", ""}, {"a b", "x"}, {"é", "x"}, {strings.Repeat("a", 129), "x"}, {"a", strings.Repeat("x", 513)}} {
		_, err := n.Name(bad[0], bad[1])
		assert.Error(t, err)
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	word := func(alphabet []rune, most int) string {
		var b strings.Builder
		for range 1 + rnd.IntN(most) {
			b.WriteRune(alphabet[rnd.IntN(len(alphabet))])
		}
		return b.String()
	}
	seen := make(map[string][2]string)
	for range 200_000 {
		c, w := word([]rune("ab_-:."), 5), word([]rune("ab_-é 2"), 5)
		if rnd.IntN(4) == 0 {
			w = strings.Repeat("x", 40+rnd.IntN(20)) + w + strings.Repeat("y", 40)
		}
		for _, nm := range []clienttool.Namer{n, clienttool.ShortNamer{}} {
			id, err := nm.Name(c, w)
			require.NoError(t, err)
			require.NoError(t, tool.CheckName(id))
			if nm != n {
				continue
			}
			if old, ok := seen[id]; ok && old != [2]string{c, w} {
				t.Fatalf("%q and %q are both %s", old, [2]string{c, w}, id)
			}
			seen[id] = [2]string{c, w}
		}
	}
}

// Schemas that would kill or hang the process.
func faultSchemas(t *testing.T) {
	h, err := clienttool.NewHub(unlimited(clienttool.Options{}))
	require.NoError(t, err)
	defer h.Close()
	doubling := `{"type":"object","$defs":{"a0":{"type":"string"}`
	for i := 1; i < 24; i++ {
		doubling += fmt.Sprintf(`,"a%d":{"allOf":[{"$ref":"#/$defs/a%d"},{"$ref":"#/$defs/a%d"}]}`, i, i-1, i-1)
	}
	doubling += `},"allOf":[{"$ref":"#/$defs/a23"}]}`
	for name, s := range map[string]string{
		"self":     `{"$ref":"#"}`,
		"cycle":    `{"type":"object","$defs":{"a":{"allOf":[{"$ref":"#/$defs/b"}]},"b":{"allOf":[{"$ref":"#/$defs/a"}]}},"allOf":[{"$ref":"#/$defs/a"}]}`,
		"doubling": doubling,
		"large":    `{"type":"object","description":"` + strings.Repeat("x", 64<<10) + `"}`,
		"remote":   `{"type":"object","properties":{"a":{"$ref":"https://example.com/s.json"}}}`,
		"file":     `{"type":"object","properties":{"a":{"$ref":"file:///etc/passwd"}}}`,
		"string":   `{"type":"string"}`,
		"look":     `{"type":"object","properties":{"a":{"type":"string","pattern":"(?!x)"}}}`,
		"garbage":  `{"type":`,
	} {
		m, err := h.Handle(t.Context(), alice, &clienttool.Message{Type: clienttool.TypeRegister, ClientID: "a", Tools: []clienttool.ToolDefinition{
			{ID: "bad", Description: "d", Parameters: json.RawMessage(s)}, definition("good")}})
		require.NoError(t, err, name)
		assert.Len(t, m.Rejected, 1, name)
		assert.Len(t, m.ToolIDs, 1, name)
	}
	for _, s := range []string{"", "null", "{}", "true", `{"type":"object","properties":{"c":{"$ref":"#"}}}`} {
		m, err := h.Handle(t.Context(), alice, &clienttool.Message{Type: clienttool.TypeRegister, ClientID: "a", Tools: []clienttool.ToolDefinition{
			{ID: "fine", Description: "d", Parameters: json.RawMessage(s)}}})
		require.NoError(t, err)
		assert.Empty(t, m.Rejected, s)
	}
}

// Limits on what a client may register, and how often.
func TestRegistrationLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, err := clienttool.NewHub(clienttool.Options{Limits: clienttool.Limits{ToolsPerClient: 3, ClientsPerPrincipal: 2}})
		require.NoError(t, err)
		defer h.Close()
		register := func(id string, defs ...clienttool.ToolDefinition) (*clienttool.Message, error) {
			return h.Handle(t.Context(), alice, &clienttool.Message{Type: clienttool.TypeRegister, ClientID: id, Tools: defs})
		}
		m, err := register("a", definition("1"), definition("2"), definition("3"), definition("4"), definition("1"))
		require.NoError(t, err)
		assert.Len(t, m.ToolIDs, 3)
		assert.Len(t, m.Rejected, 2)
		for range 100 {
			_, err = register("a", definition("1"), definition("2"))
			require.NoError(t, err, "the same again is free")
		}
		var refused *clienttool.RefusedError
		for i := range 10 {
			d := definition("1")
			d.Description = fmt.Sprint(i)
			if _, err = register("a", d); err != nil {
				break
			}
		}
		require.ErrorAs(t, err, &refused)
		assert.Equal(t, clienttool.CodeRateLimited, refused.Code)
		time.Sleep(refused.RetryAfter)
		_, err = register("b", definition("1"))
		require.NoError(t, err)
		time.Sleep(6 * time.Second)
		_, err = register("c", definition("1"))
		require.ErrorAs(t, err, &refused)
		assert.Equal(t, clienttool.CodeLimit, refused.Code)
		_, err = h.Handle(t.Context(), clienttool.Peer{Principal: "mallory"}, &clienttool.Message{Type: clienttool.TypeRegister, ClientID: "a", Tools: []clienttool.ToolDefinition{definition("evil")}})
		require.ErrorAs(t, err, &refused)
		assert.Equal(t, clienttool.CodeConflict, refused.Code)
		_, err = h.Handle(t.Context(), clienttool.Peer{}, &clienttool.Message{Type: clienttool.TypePing, ClientID: "a"})
		require.ErrorAs(t, err, &refused)
		assert.Equal(t, clienttool.CodeUnauthorized, refused.Code)
	})
}

// Calls outlive the host, results outlive the client.
func TestRestarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &clienttool.MemoryStore{}
		state := clienttool.FileStore(t.TempDir() + "/state.json")
		h1, err := clienttool.NewHub(clienttool.Options{Store: store, Timeout: 10 * time.Minute})
		require.NoError(t, err)
		var hub atomic.Pointer[clienttool.Hub]
		hub.Store(h1)
		var down atomic.Bool
		runs := 0
		var conns []clienttool.Conn
		client := func() (stop func()) {
			c := clienttool.NewClient("a", clienttool.DialFunc(func(context.Context) (clienttool.Conn, error) {
				if down.Load() {
					return nil, errors.New("down")
				}
				host, cl := clienttool.Pipe(8)
				conns = append(conns, cl)
				go hub.Load().Serve(context.Background(), alice, host)
				return cl, nil
			}), clienttool.ClientOptions{Store: state, Backoff: clienttool.Backoff{Max: time.Second}, DrainTimeout: time.Second})
			c.Add(definition("x"), func(context.Context, *clienttool.Invocation) (*clienttool.ToolResult, error) {
				runs++
				time.Sleep(2 * time.Second)
				return text("kept"), nil
			})
			ctx, cancel := context.WithCancel(context.Background())
			done := make(chan struct{})
			go func() { c.Run(ctx); close(done) }()
			return func() { cancel(); <-done }
		}
		stop := client()
		synctest.Wait()
		call := mustStart(t, h1, clienttool.CallRequest{Tool: "client_a_x"})
		time.Sleep(time.Second)
		h1.Close() // the host goes down with the call
		ends(t, call, clienttool.CodeShutdown, clienttool.Started)
		down.Store(true)
		time.Sleep(5 * time.Second) // the tool ends; its result is on disk
		stop()                      // and the client goes down as well
		h2, err := clienttool.NewHub(clienttool.Options{Store: store, Timeout: 10 * time.Minute})
		require.NoError(t, err)
		defer h2.Close()
		hub.Store(h2)
		require.Len(t, h2.Restored(), 1)
		down.Store(false)
		stop = client()
		res, err := h2.Restored()[0].Wait(t.Context())
		require.NoError(t, err)
		assert.Equal(t, "kept", res.Output)
		assert.Equal(t, 1, runs)
		synctest.Wait()
		left, err := store.Load()
		require.NoError(t, err)
		assert.Empty(t, left)
		stop()
		saved, err := state.Load()
		require.NoError(t, err)
		assert.Empty(t, saved.Results)
	})
}

// Everybody is cut at once, and everybody is back.
func faultStorm(t *testing.T) {
	n := 10_000
	if testing.Short() || raceEnabled {
		n = 500
	}
	synctest.Test(t, func(t *testing.T) {
		h, err := clienttool.NewHub(unlimited(clienttool.Options{Timeout: 5 * time.Minute, DetachGrace: 2 * time.Minute}))
		require.NoError(t, err)
		defer h.Close()
		var mu sync.Mutex
		var conns []clienttool.Conn
		var when []time.Duration
		var cut time.Time
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for i := range n {
			id := fmt.Sprint("c", i)
			c := clienttool.NewClient(id, clienttool.DialFunc(func(context.Context) (clienttool.Conn, error) {
				host, cl := clienttool.Pipe(4)
				mu.Lock()
				conns = append(conns, cl)
				if !cut.IsZero() {
					when = append(when, time.Since(cut))
				}
				mu.Unlock()
				wg.Go(func() { h.Serve(context.Background(), alice, host) })
				return cl, nil
			}), clienttool.ClientOptions{Backoff: clienttool.Backoff{Min: 30 * time.Second}})
			c.Add(definition("x"), func(context.Context, *clienttool.Invocation) (*clienttool.ToolResult, error) {
				time.Sleep(20 * time.Second)
				return text("ok"), nil
			})
			wg.Go(func() { c.Run(ctx) })
		}
		synctest.Wait()
		var calls []*clienttool.Call
		for i := range n {
			calls = append(calls, mustStart(t, h, clienttool.CallRequest{Tool: fmt.Sprintf("client_c%d_x", i)}))
		}
		time.Sleep(time.Second)
		mu.Lock()
		cut = time.Now()
		old := conns
		conns = nil
		mu.Unlock()
		for _, c := range old {
			c.Close(nil)
		}
		for _, c := range calls {
			works(t, c, "ok")
		}
		mu.Lock()
		slots := make([]int, 30)
		for _, d := range when {
			require.Less(t, d, 60*time.Second)
			slots[min(int(d/time.Second), 29)]++
		}
		assert.Len(t, when, n)
		for s, k := range slots {
			assert.Less(t, k, 2*n/30+20, "second %d: no herd", s)
		}
		mu.Unlock()
		cancel()
		wg.Wait()
	})
}
