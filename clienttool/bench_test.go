package clienttool_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agenttool/tool/clienttool"
	"github.com/agenttool/tool/clienttool/httptransport"
	"github.com/agenttool/tool/clienttool/wstransport"
	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"
)

var (
	benchInput  = json.RawMessage(`{"path":"internal/server/handlers.go","note":"` + strings.Repeat("x", 200) + `"}`)
	benchOutput = strings.Repeat("y", 100)
)

// benchHub is a hub without rates and a client connected to it.
func benchHub(b *testing.B, clients int, dial func(h *clienttool.Hub) func(id string) clienttool.Transport) *clienttool.Hub {
	h, err := clienttool.NewHub(unlimited(clienttool.Options{AllowAnonymous: true, Timeout: 10 * time.Minute, PingInterval: 5 * time.Second,
		Limits: clienttool.Limits{QueuedCalls: -1, QueuedBytes: -1, Pending: -1, PendingBytes: -1, Clients: -1, InFlight: 64}}))
	require.NoError(b, err)
	transport := dial(h)
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	for i := range clients {
		c := clienttool.NewClient(fmt.Sprint("c", i), transport(fmt.Sprint("c", i)), clienttool.ClientOptions{MaxConcurrent: 64})
		require.NoError(b, c.Add(definition("x"), func(context.Context, *clienttool.Invocation) (*clienttool.ToolResult, error) {
			return &clienttool.ToolResult{Title: "t", Output: benchOutput}, nil
		}))
		wg.Go(func() { c.Run(ctx) })
	}
	for len(h.ClientTools("")) < clients {
		time.Sleep(time.Millisecond)
	}
	b.Cleanup(func() { cancel(); h.Close(); wg.Wait() })
	return h
}

func pipes(h *clienttool.Hub) func(string) clienttool.Transport {
	return func(string) clienttool.Transport {
		return clienttool.DialFunc(func(context.Context) (clienttool.Conn, error) {
			host, client := clienttool.Pipe(8)
			go h.Serve(context.Background(), clienttool.Peer{}, host)
			return client, nil
		})
	}
}

// wire is what a program without a hub would send: the fields that say something.
type wire struct {
	Type      string          `json:"type"`
	RequestID string          `json:"requestID"`
	Tool      string          `json:"tool,omitempty"`
	Name      string          `json:"name,omitempty"`
	Input     json.RawMessage `json:"input,omitempty"`
	Status    string          `json:"status,omitempty"`
	Title     string          `json:"title,omitempty"`
	Output    string          `json:"output,omitempty"`
}

// pack and unpack are the JSON of one message on either side.
func pack(w wire) []byte {
	b, err := json.Marshal(w)
	if err != nil {
		panic(err)
	}
	return b
}

func unpack(b []byte) (w wire) {
	if err := json.Unmarshal(b, &w); err != nil {
		panic(err)
	}
	return w
}

// BenchmarkExecute is one call at a time, and beside it, turn by turn in the same run,
// the bare carrier of the same messages with their JSON: x-bare is the ratio of the two.
func BenchmarkExecute(b *testing.B) {
	req := wire{Type: "request", RequestID: "req_ABCDEFGHIJKLMNOPQRSTUVWXYZ", Tool: "client_c0_x", Name: "x", Input: benchInput}
	res := wire{Type: "result", RequestID: "req_ABCDEFGHIJKLMNOPQRSTUVWXYZ", Status: "success", Title: "t", Output: benchOutput}
	for _, c := range []struct {
		name string
		dial func(h *clienttool.Hub) func(string) clienttool.Transport
		bare func(b *testing.B) (round func())
	}{
		{"pipe", pipes, func(b *testing.B) func() {
			// channels, a pending map, and a timer for each call
			down, up := make(chan string), make(chan string)
			go func() {
				for id := range down {
					up <- id
				}
			}()
			b.Cleanup(func() { close(down) })
			pending := make(map[string]chan string)
			n := 0
			return func() {
				n++
				id := fmt.Sprint(n)
				done := make(chan string, 1)
				pending[id] = done
				t := time.AfterFunc(time.Minute, func() {})
				down <- id
				id = <-up
				pending[id] <- id
				delete(pending, id)
				<-done
				t.Stop()
			}
		}},
		{"ws", func(h *clienttool.Hub) func(string) clienttool.Transport {
			srv := httptest.NewServer(wstransport.Handler(h, wstransport.Options{}))
			b.Cleanup(srv.Close)
			return func(id string) clienttool.Transport {
				return wstransport.Dial(srv.URL+"/ws/"+id, wstransport.DialOptions{})
			}
		}, func(b *testing.B) func() {
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				ws, err := websocket.Accept(w, r, nil)
				if err != nil {
					return
				}
				for {
					_, b, err := ws.Read(context.Background())
					if err != nil {
						return
					}
					unpack(b)
					ws.Write(context.Background(), websocket.MessageText, pack(res))
				}
			}))
			b.Cleanup(srv.Close)
			ws, _, err := websocket.Dial(context.Background(), srv.URL, nil)
			require.NoError(b, err)
			b.Cleanup(func() { ws.CloseNow() })
			return func() {
				ws.Write(context.Background(), websocket.MessageText, pack(req))
				_, b, _ := ws.Read(context.Background())
				unpack(b)
			}
		}},
		{"sse", func(h *clienttool.Hub) func(string) clienttool.Transport {
			srv := httptest.NewServer(httptransport.Handler(h, httptransport.Options{}))
			b.Cleanup(func() { srv.CloseClientConnections(); srv.Close() })
			return func(string) clienttool.Transport {
				return httptransport.Dial(srv.URL, httptransport.DialOptions{Client: srv.Client()})
			}
		}, func(b *testing.B) func() {
			push, posted := make(chan wire), make(chan struct{})
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodPost {
					b, _ := io.ReadAll(r.Body)
					unpack(b)
					w.Write([]byte(`{"success":true}`))
					posted <- struct{}{}
					return
				}
				w.Header().Set("Content-Type", "text/event-stream")
				for m := range push {
					fmt.Fprintf(w, "data: %s\n\n", pack(m))
					w.(http.Flusher).Flush()
				}
			}))
			b.Cleanup(srv.Close)
			go func() {
				resp, err := srv.Client().Get(srv.URL)
				if err != nil {
					return
				}
				defer resp.Body.Close()
				sc := bufio.NewScanner(resp.Body)
				for sc.Scan() {
					if data, ok := bytes.CutPrefix(sc.Bytes(), []byte("data: ")); ok {
						unpack(data)
						r, err := srv.Client().Post(srv.URL, "application/json", bytes.NewReader(pack(res)))
						if err != nil {
							return
						}
						io.Copy(io.Discard, r.Body)
						r.Body.Close()
					}
				}
			}()
			b.Cleanup(func() { close(push) })
			return func() {
				push <- req
				<-posted
			}
		}},
	} {
		b.Run(c.name, func(b *testing.B) {
			round := c.bare(b)
			h := benchHub(b, 1, c.dial)
			call := func() {
				if _, err := h.Execute(context.Background(), clienttool.CallRequest{Tool: "client_c0_x", Input: benchInput}); err != nil {
					b.Fatal(err)
				}
			}
			for range 300 {
				round()
				call()
			}
			// What else the machine does at the time happens to both.
			const turn = 50
			var bare, hub, bareUsed, hubUsed time.Duration
			var before, after runtime.MemStats
			allocs := uint64(0)
			n := 0
			for b.Loop() {
				if n++; n%turn != 0 {
					continue
				}
				begin, used := time.Now(), processorTime()
				for range turn {
					round()
				}
				bare += time.Since(begin)
				bareUsed += processorTime() - used
				runtime.ReadMemStats(&before)
				begin, used = time.Now(), processorTime()
				for range turn {
					call()
				}
				hub += time.Since(begin)
				hubUsed += processorTime() - used
				runtime.ReadMemStats(&after)
				allocs += after.Mallocs - before.Mallocs
			}
			if n < turn {
				return // the first, short try of the benchmark
			}
			n = n / turn * turn
			b.ReportMetric(float64(hub.Nanoseconds())/float64(n), "ns/call")
			b.ReportMetric(float64(allocs)/float64(n), "allocs/call")
			b.ReportMetric(float64(hub)/float64(bare), "x-bare")
			if bareUsed > 0 {
				b.ReportMetric(float64(hubUsed)/float64(bareUsed), "x-bare-cpu")
				b.ReportMetric(float64(hubUsed.Nanoseconds())/float64(n), "cpu-ns/call")
			}
			b.ReportMetric(0, "ns/op") // of both together: it says nothing
		})
	}
}

// BenchmarkClients is 64 callers over many clients in one process.
func BenchmarkClients(b *testing.B) {
	for _, n := range []int{1, 64, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			h := benchHub(b, n, pipes)
			b.ReportAllocs()
			b.ResetTimer()
			var next sync.Mutex
			i := 0
			var wg sync.WaitGroup
			for range 64 {
				wg.Go(func() {
					for {
						next.Lock()
						k := i
						i++
						next.Unlock()
						if k >= b.N {
							return
						}
						if _, err := h.Execute(context.Background(), clienttool.CallRequest{Tool: fmt.Sprintf("client_c%d_x", k%n), Input: benchInput}); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			wg.Wait()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "calls/s")
		})
	}
}

// BenchmarkPending is the memory of calls that wait for a client.
func BenchmarkPending(b *testing.B) {
	for _, parked := range []bool{false, true} {
		name := "start"
		if parked {
			name = "execute"
		}
		b.Run(name, func(b *testing.B) {
			n := 100_000
			if parked {
				n = 20_000
			}
			for b.Loop() {
				h, err := clienttool.NewHub(unlimited(clienttool.Options{Timeout: time.Hour, CreateGrace: time.Hour, Limits: clienttool.Limits{QueuedCalls: -1, QueuedBytes: -1}}))
				require.NoError(b, err)
				require.Len(b, h.Registry().Register("a", []clienttool.ToolDefinition{definition("x")}), 1)
				before := inUse()
				ctx, cancel := context.WithCancel(context.Background())
				var wg sync.WaitGroup
				for range n {
					r := clienttool.CallRequest{Tool: "client_a_x", Input: append(json.RawMessage(nil), benchInput...)}
					if !parked {
						if _, err := h.Start(ctx, r); err != nil {
							b.Fatal(err)
						}
						continue
					}
					wg.Go(func() { h.Execute(ctx, r) })
				}
				for info, _ := h.Client("a"); info.Queued < n; info, _ = h.Client("a") {
					time.Sleep(time.Millisecond)
				}
				b.ReportMetric(float64(inUse()-before)/float64(n), "B/call")
				begin := time.Now()
				cancel()
				wg.Wait()
				if parked {
					b.ReportMetric(float64(time.Since(begin).Microseconds())/float64(n), "µs/cancel")
				}
				h.Close()
			}
		})
	}
}

func inUse() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapInuse + m.StackInuse)
}

// BenchmarkDecode is one result, from bytes.
func BenchmarkDecode(b *testing.B) {
	data := []byte(`{"type":"result","requestID":"req_ABCDEFGHIJKLMNOPQRSTUVWXYZ","result":{"status":"success","title":"t","output":"` + benchOutput + `"}}`)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := clienttool.DecodeMessage(data, clienttool.DecodeLimits{}); err != nil {
			b.Fatal(err)
		}
	}
}

// One call over a pipe, both ends and the handler, stays within the budget of 40 allocations.
func TestAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	h, err := clienttool.NewHub(unlimited(clienttool.Options{AllowAnonymous: true}))
	require.NoError(t, err)
	defer h.Close()
	c := clienttool.NewClient("c0", pipes(h)("c0"), clienttool.ClientOptions{})
	require.NoError(t, c.Add(definition("x"), func(context.Context, *clienttool.Invocation) (*clienttool.ToolResult, error) {
		return &clienttool.ToolResult{Output: benchOutput}, nil
	}))
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); c.Run(ctx) }()
	defer func() { cancel(); <-done }()
	for len(h.ClientTools("")) == 0 {
		time.Sleep(time.Millisecond)
	}
	n := testing.AllocsPerRun(500, func() {
		if _, err := h.Execute(context.Background(), clienttool.CallRequest{Tool: "client_c0_x", Input: benchInput}); err != nil {
			t.Fatal(err)
		}
	})
	require.LessOrEqual(t, n, 40.0)
	t.Logf("%.0f allocations per call", n)
}
