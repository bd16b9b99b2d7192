package clienttool_test

import (
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agenttool/tool/clienttool"
	ct "github.com/agenttool/tool/clienttool/clienttooltest"
	"github.com/agenttool/tool/clienttool/httptransport"
	"github.com/agenttool/tool/clienttool/wstransport"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// seeds is how many random runs a test makes.
func seeds(t *testing.T, n int) int {
	switch {
	case testing.Short():
		return n / 20
	case raceEnabled: // the race detector makes each ten times as long
		return n / 5
	}
	return n
}

// A link that loses, doubles and swaps frames, which breaks the contract of a Conn:
// every call ends, no handler runs twice, and what a failure says is true.
func faultLossyLink(t *testing.T) {
	n, good := seeds(t, 200), 0
	for seed := range n {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			good += chaos(t, uint64(seed), ct.Rates{Drop: 0.05, Duplicate: 0.05, Swap: 0.05, Cut: 0.01, Delay: 50 * time.Millisecond}, false)
		})
	}
	// A client whose hellos are lost three times in a row is gone, and rightly so.
	assert.GreaterOrEqual(t, good, n*30*99/100, "what was lost is repaired")
}

// Cuts, and clients that are killed and started again under the same id.
func faultRandomRestarts(t *testing.T) {
	for seed := range seeds(t, 300) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			chaos(t, uint64(seed), ct.Rates{Cut: 0.05, Delay: 50 * time.Millisecond}, true)
		})
	}
}

// chaos makes thirty calls while everything goes wrong, and returns how many went well.
func chaos(t *testing.T, seed uint64, rates ct.Rates, restarts bool) (good int) {
	opt := unlimited(clienttool.Options{Timeout: 3 * time.Minute, MaxTimeout: time.Hour})
	opt.Limits.FramesPerSecond = -1
	ct.Run(t, opt, func(ctx context.Context, r *ct.Rig) {
		t := r.T
		n := uint64(0)
		r.Wrap = func(h, c clienttool.Conn) (clienttool.Conn, clienttool.Conn) {
			n++
			return ct.Faulty(h, ct.Random(seed*1000+n, rates)), ct.Faulty(c, ct.Random(seed*1000+n+500, rates))
		}
		var mu sync.Mutex
		runs := make(map[string]int)
		start := func() *ct.FakeClient {
			c := r.ClientWith("a", clienttool.ClientOptions{Backoff: clienttool.Backoff{Min: 100 * time.Millisecond, Max: time.Second}, DrainTimeout: time.Second})
			require.NoError(t, c.Add(definition("x"), func(_ context.Context, i *clienttool.Invocation) (*clienttool.ToolResult, error) {
				mu.Lock()
				runs[i.CallID]++
				mu.Unlock()
				time.Sleep(time.Duration(len(i.CallID)*137%400) * time.Millisecond)
				return text(i.CallID), nil
			}))
			return c
		}
		client := start()
		for _, ok := r.Hub.Lookup("client_a_x"); !ok; _, ok = r.Hub.Lookup("client_a_x") {
			time.Sleep(100 * time.Millisecond)
		}
		var wg sync.WaitGroup
		if restarts {
			wg.Go(func() {
				for range 3 {
					time.Sleep(500 * time.Millisecond)
					client.Offline(true) // as good as dead: nobody hears of it again
					client.Cut()
					client = start()
				}
			})
		}
		for k := range 30 {
			wg.Go(func() {
				time.Sleep(time.Duration(k) * 70 * time.Millisecond)
				id := strings.Repeat("c", k%7) + fmt.Sprint(k)
				call, err := r.Hub.Start(ctx, clienttool.CallRequest{Tool: "client_a_x", CallID: id})
				if err == nil {
					<-call.Done()
					_, err = call.Result()
				}
				mu.Lock()
				defer mu.Unlock()
				ran := runs[id]
				if err == nil {
					good++
					assert.Equal(t, 1, ran, "%s went well", id)
					return
				}
				assert.LessOrEqual(t, ran, 1, id)
				var e *clienttool.CallError
				require.ErrorAs(t, err, &e)
				switch e.Delivery {
				case clienttool.NotDelivered:
					assert.Zero(t, ran, "%s: %v", id, err)
				case clienttool.Started:
					assert.Equal(t, 1, ran, "%s: %v", id, err)
				}
			})
		}
		wg.Wait()
		time.Sleep(10 * time.Minute) // and nothing runs afterwards
		mu.Lock()
		defer mu.Unlock()
		for id, n := range runs {
			assert.Equal(t, 1, n, id)
		}
	})
	return good
}

// A proxy that goes on accepting bytes and forwards none: both sides notice within
// two and a half ping intervals, and the call moves to the next link.
func faultHalfOpen(t *testing.T) {
	const ping = 200 * time.Millisecond
	for name, carrier := range map[string]struct {
		handler func(h *clienttool.Hub) http.Handler
		dial    func(addr string, c *http.Client) clienttool.Transport
	}{
		"ws": {func(h *clienttool.Hub) http.Handler { return wstransport.Handler(h, wstransport.Options{}) },
			func(addr string, c *http.Client) clienttool.Transport {
				return wstransport.Dial("ws://"+addr+"/ws/a", wstransport.DialOptions{Client: c})
			}},
		"sse": {func(h *clienttool.Hub) http.Handler { return httptransport.Handler(h, httptransport.Options{}) },
			func(addr string, c *http.Client) clienttool.Transport {
				return httptransport.Dial("http://"+addr, httptransport.DialOptions{Client: c})
			}},
	} {
		t.Run(name, func(t *testing.T) {
			h, err := clienttool.NewHub(clienttool.Options{AllowAnonymous: true, PingInterval: ping, Timeout: time.Minute})
			require.NoError(t, err)
			srv := httptest.NewServer(carrier.handler(h))
			proxy := newSwallower(t, srv.Listener.Addr().String())
			tr := &http.Transport{}
			c := clienttool.NewClient("a", carrier.dial(proxy.ln.Addr().String(), &http.Client{Transport: tr}),
				clienttool.ClientOptions{Backoff: clienttool.Backoff{Min: 10 * time.Millisecond, Max: 100 * time.Millisecond}, DrainTimeout: time.Second, HelloTimeout: time.Second})
			var runs atomic.Int32
			release := make(chan struct{})
			require.NoError(t, c.Add(definition("x"), func(context.Context, *clienttool.Invocation) (*clienttool.ToolResult, error) {
				runs.Add(1)
				<-release
				return text("ok"), nil
			}))
			ctx, cancel := context.WithCancel(context.Background())
			ended := make(chan struct{})
			go func() { defer close(ended); c.Run(ctx) }()
			defer func() {
				cancel()
				<-ended
				h.Close()
				proxy.close()
				srv.CloseClientConnections()
				srv.Close()
				tr.CloseIdleConnections()
			}()
			for len(h.ClientTools("")) == 0 {
				time.Sleep(time.Millisecond)
			}
			call := mustStart(t, h, clienttool.CallRequest{Tool: "client_a_x"})
			for runs.Load() == 0 {
				time.Sleep(time.Millisecond)
			}
			before, _ := h.Client("a")
			begin := time.Now()
			proxy.swallow()
			close(release)
			works(t, call, "ok")
			assert.Less(t, time.Since(begin), 25*ping+5*time.Second, "noticed and moved")
			assert.EqualValues(t, 1, runs.Load())
			for after, _ := h.Client("a"); after.Gen == before.Gen || !after.Connected; after, _ = h.Client("a") {
				require.Less(t, time.Since(begin), 25*ping+10*time.Second, "the link is replaced")
				time.Sleep(time.Millisecond)
			}
		})
	}
}

// swallower is a TCP proxy whose present connections can be made to forward nothing,
// without being closed.
type swallower struct {
	ln net.Listener
	wg sync.WaitGroup

	mu    sync.Mutex
	conns []net.Conn
	mute  []*atomic.Bool
}

func newSwallower(t *testing.T, to string) *swallower {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p := &swallower{ln: ln}
	p.wg.Go(func() {
		for {
			down, err := ln.Accept()
			if err != nil {
				return
			}
			up, err := net.Dial("tcp", to)
			if err != nil {
				down.Close()
				continue
			}
			mute := new(atomic.Bool)
			p.mu.Lock()
			p.conns, p.mute = append(p.conns, down, up), append(p.mute, mute)
			p.mu.Unlock()
			forward := func(dst, src net.Conn) {
				b := make([]byte, 32<<10)
				for {
					n, err := src.Read(b)
					if n > 0 && !mute.Load() {
						dst.Write(b[:n])
					}
					if err != nil {
						if !mute.Load() {
							dst.Close()
						}
						return
					}
				}
			}
			p.wg.Go(func() { forward(up, down) })
			p.wg.Go(func() { forward(down, up) })
		}
	})
	return p
}

func (p *swallower) swallow() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, m := range p.mute {
		m.Store(true)
	}
}

func (p *swallower) close() {
	p.ln.Close()
	p.mu.Lock()
	for _, c := range p.conns {
		c.Close()
	}
	p.mu.Unlock()
	p.wg.Wait()
}

// Clocks may jump by days on either side: no message carries a time of day, and no
// code of a running hub or client makes one of a time that it compares.
func faultClocks(t *testing.T) {
	seen := make(map[reflect.Type]bool)
	var walk func(at string, typ reflect.Type)
	walk = func(at string, typ reflect.Type) {
		for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice || typ.Kind() == reflect.Map {
			typ = typ.Elem()
		}
		assert.NotEqual(t, reflect.TypeFor[time.Time](), typ, at)
		if typ.Kind() != reflect.Struct || seen[typ] {
			return
		}
		seen[typ] = true
		for f := range fieldsOf(typ) {
			assert.NotRegexp(t, `(?i)deadline|expires|timestamp|until$`, f.Name, at)
			walk(at+"."+f.Name, f.Type)
		}
	}
	walk("Message", reflect.TypeFor[clienttool.Message]())
	assert.Greater(t, len(seen), 8)

	// These forget the monotonic clock, or tell the time of day.
	wall := map[string]bool{"Unix": true, "UnixMilli": true, "UnixMicro": true, "UnixNano": true, "UTC": true, "Local": true, "In": true,
		"Truncate": true, "AddDate": true, "Date": true, "Clock": true, "Hour": true}
	files, err := os.ReadDir(".")
	require.NoError(t, err)
	for _, e := range files {
		if !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), e.Name(), nil, 0)
		require.NoError(t, err)
		ast.Inspect(f, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok {
				if sel, ok := call.Fun.(*ast.SelectorExpr); ok && wall[sel.Sel.Name] {
					if x, ok := sel.X.(*ast.SelectorExpr); !ok || x.Sel.Name != "opt" { // Options.Truncate is about text
						t.Errorf("%s calls %s", e.Name(), sel.Sel.Name)
					}
				}
			}
			return true
		})
	}
}

func fieldsOf(typ reflect.Type) func(func(reflect.StructField) bool) {
	return func(yield func(reflect.StructField) bool) {
		for i := range typ.NumField() {
			if !yield(typ.Field(i)) {
				return
			}
		}
	}
}
