package httptransport_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agenttool/tool/clienttool"
	"github.com/agenttool/tool/clienttool/httptransport"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

// Those faults of the list in docs/delegation.md that are about HTTP; package
// clienttool has the others.
func TestFaults(t *testing.T) {
	for _, f := range []struct {
		n     int
		title string
		f     func(t *testing.T)
	}{
		{33, "two tabs with EventSource", faultTwoTabs},
		{51, "proxy killed and restarted", faultProxyRestart},
		{52, "connection reset before and after the handler", faultReset},
		{53, "statuses of proxies", faultStatuses},
		{54, "bodies of strangers", faultBodies},
	} {
		t.Run(fmt.Sprintf("fault %02d: %s", f.n, f.title), func(t *testing.T) {
			t.Cleanup(func() { // after the servers have closed
				http.DefaultClient.CloseIdleConnections()
				goleak.VerifyNone(t, goleak.IgnoreCurrent())
			})
			f.f(t)
		})
	}
}

// Two pages with one id, and a page that comes back.
func faultTwoTabs(t *testing.T) {
	s := open(t, anonymous(), httptransport.Options{})
	s.do("POST", "/register", `{"clientID":"page","tools":`+tools+`}`)
	start := func() *clienttool.Call {
		call, err := s.hub.Start(context.Background(), clienttool.CallRequest{Tool: "client_page_search-docs", Timeout: time.Minute})
		require.NoError(t, err)
		return call
	}
	one := s.source("/pending/page")
	seen := start()
	one.next("tool-request")
	id := one.lastID

	// The network fails, and the browser comes back with what it has seen.
	one.resp.Body.Close()
	for info, _ := s.hub.Client("page"); info.Connected; info, _ = s.hub.Client("page") {
		time.Sleep(time.Millisecond)
	}
	unseen := start()
	one = s.source("/pending/page", "Last-Event-ID", id)
	assert.Contains(t, one.next("tool-request"), unseen.ID(), "what it has seen is not sent again")
	for _, c := range []*clienttool.Call{seen, unseen} {
		code, body := s.do("POST", "/result", `{"requestID":"`+c.ID()+`","result":{"status":"success","output":"ok"}}`)
		assert.Equal(t, 200, code, body)
	}
	id = one.lastID

	// Another page of the same id takes over; the first one is told to stay away.
	lost := start()
	one.next("tool-request")
	two := s.source("/pending/page")
	assert.Equal(t, 200, two.resp.StatusCode)
	<-lost.Done()
	_, err := lost.Result()
	var e *clienttool.CallError
	require.ErrorAs(t, err, &e)
	assert.Equal(t, clienttool.CodeRestarted, e.Code)
	assert.Contains(t, one.next("bye"), clienttool.ReasonSuperseded)
	code, _ := s.do("GET", "/pending/page", "", "Last-Event-ID", id)
	assert.Equal(t, 204, code)

	// A page of a host that was restarted must register again.
	code, _ = s.do("GET", "/pending/gone", "", "Last-Event-ID", "OTHEREPO.1.1")
	assert.Equal(t, 404, code)
}

// facing runs one call whose client meets a trouble on its first requests of a kind.
type trouble struct {
	typ    string // of the messages that meet it
	hits   int32  // how many of the first do
	status int    // the answer; 0: the connection is reset before the hub sees the message, -1: after
	body   string // of the answer, in which ID is the request id
	after  string // Retry-After
}

// outcome is what came of it.
type outcome struct {
	err   error // of the call
	fatal error // of the client's Run, if it ended by itself
	runs  int32
	sent  int32 // messages of the kind
	took  time.Duration
}

func (k trouble) run(t *testing.T, limit time.Duration) (o outcome) {
	h, err := clienttool.NewHub(anonymous())
	require.NoError(t, err)
	inner := httptransport.Handler(h, httptransport.Options{})
	var hits, runs atomic.Int32
	var id atomic.Value
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		if !strings.Contains(string(body), `"type":"`+k.typ+`"`) || hits.Add(1) > k.hits {
			inner.ServeHTTP(w, r)
			return
		}
		if k.status <= 0 {
			if k.status < 0 {
				inner.ServeHTTP(httptest.NewRecorder(), r)
			}
			panic(http.ErrAbortHandler)
		}
		if k.after != "" {
			w.Header().Set("Retry-After", k.after)
		}
		w.WriteHeader(k.status)
		known, _ := id.Load().(string)
		io.WriteString(w, strings.ReplaceAll(k.body, "ID", known))
	}))
	srv.Config.ErrorLog = log.New(io.Discard, "", 0)
	c := clienttool.NewClient("a", httptransport.Dial(srv.URL, httptransport.DialOptions{Client: srv.Client()}), clienttool.ClientOptions{
		Backoff: clienttool.Backoff{Min: 10 * time.Millisecond, Max: 50 * time.Millisecond}, DrainTimeout: time.Second})
	require.NoError(t, c.Add(clienttool.ToolDefinition{ID: "x", Description: "d"}, func(ctx context.Context, i *clienttool.Invocation) (*clienttool.ToolResult, error) {
		runs.Add(1)
		id.Store(i.RequestID)
		i.Progress(clienttool.Progress{Title: "begun"})
		time.Sleep(50 * time.Millisecond) // beyond the delay of the acknowledgement
		return &clienttool.ToolResult{Output: "done"}, nil
	}))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	defer func() {
		cancel()
		if o.fatal == nil {
			<-ended
		}
		o.runs, o.sent = runs.Load(), hits.Load()
		h.Close()
		srv.CloseClientConnections()
		srv.Close()
	}()
	begin := time.Now()
	for len(h.ClientTools("")) == 0 {
		select {
		case o.fatal = <-ended:
			return o
		case <-time.After(time.Millisecond):
		}
	}
	call, err := h.Start(t.Context(), clienttool.CallRequest{Tool: "client_a_x", Timeout: limit})
	require.NoError(t, err)
	select {
	case <-call.Done():
	case o.fatal = <-ended:
		call.Cancel(nil)
		<-call.Done()
	}
	_, o.err = call.Result()
	o.took = time.Since(begin)
	return o
}

// The answer to a message is lost: before the hub has seen it, or after.
func faultReset(t *testing.T) {
	for _, status := range []int{0, -1} {
		for _, typ := range []string{clienttool.TypeHello, clienttool.TypeResult, clienttool.TypeAck, clienttool.TypeProgress} {
			if typ == clienttool.TypeHello && status < 0 {
				continue // its answer is the stream
			}
			t.Run(fmt.Sprint(typ, " ", status), func(t *testing.T) {
				o := trouble{typ: typ, hits: 1, status: status}.run(t, 20*time.Second)
				assert.NoError(t, o.err)
				assert.EqualValues(t, 1, o.runs)
			})
		}
	}
}

// What proxies and hosts answer to each request of a client.
func faultStatuses(t *testing.T) {
	const fine, fatal, tooLarge, forgotten = "fine", "fatal", "too large", "forgotten"
	for _, k := range []struct {
		trouble
		want string
	}{
		{trouble{clienttool.TypeHello, 2, 500, "", ""}, fine},
		{trouble{clienttool.TypeHello, 2, 502, "<html>", ""}, fine},
		{trouble{clienttool.TypeHello, 2, 503, "", ""}, fine},
		{trouble{clienttool.TypeHello, 1, 404, "not here", ""}, fine},
		{trouble{clienttool.TypeHello, 1, 429, "", "1"}, fine},
		{trouble{clienttool.TypeHello, 1, 401, "", ""}, fatal},
		{trouble{clienttool.TypeHello, 1, 403, "", ""}, fatal},
		{trouble{clienttool.TypeHello, 1, 200, "<html>welcome</html>", ""}, fine},
		{trouble{clienttool.TypeResult, 2, 500, "", ""}, fine},
		{trouble{clienttool.TypeResult, 2, 502, "<html>", ""}, fine},
		{trouble{clienttool.TypeResult, 2, 503, "", "1"}, fine},
		{trouble{clienttool.TypeResult, 1, 429, "", "1"}, fine},
		{trouble{clienttool.TypeResult, 1, 404, "not here", ""}, fine},
		{trouble{clienttool.TypeResult, 1, 410, "", ""}, fine}, // of somebody else: the hub still wants it
		{trouble{clienttool.TypeResult, 9, 410, `{"type":"ack","requestID":"ID","verdict":"cancelled"}`, ""}, forgotten},
		{trouble{clienttool.TypeResult, 1, 413, "", ""}, tooLarge},
		{trouble{clienttool.TypeResult, 1, 401, "", ""}, fatal},
		{trouble{clienttool.TypeAck, 2, 500, "", ""}, fine},
		{trouble{clienttool.TypeAck, 1, 404, "", ""}, fine},
		{trouble{clienttool.TypeAck, 1, 413, "", ""}, fine},
		{trouble{clienttool.TypeProgress, 2, 502, "", ""}, fine},
		{trouble{clienttool.TypeProgress, 1, 413, "", ""}, fine},
		{trouble{clienttool.TypeProgress, 1, 401, "", ""}, fatal},
	} {
		t.Run(fmt.Sprint(k.typ, " ", k.status, " ", k.want), func(t *testing.T) {
			limit := 20 * time.Second
			if k.want == forgotten {
				limit = 2 * time.Second
			}
			o := k.run(t, limit)
			var e *clienttool.CallError
			switch k.want {
			case fine:
				assert.NoError(t, o.err)
				assert.NoError(t, o.fatal)
				if k.after != "" && k.typ == clienttool.TypeResult {
					assert.GreaterOrEqual(t, o.took, time.Second, "Retry-After counts")
				}
			case fatal:
				assert.ErrorIs(t, o.fatal, clienttool.ErrFatal)
				return
			case tooLarge:
				require.ErrorAs(t, o.err, &e)
				assert.Equal(t, clienttool.CodeTooLarge, e.Code)
			case forgotten:
				require.ErrorAs(t, o.err, &e)
				assert.Equal(t, clienttool.CodeTimeout, e.Code)
				assert.EqualValues(t, 1, o.sent, "the result was not sent again")
			}
			assert.EqualValues(t, 1, o.runs)
		})
	}
}

// Bodies that never end, end too soon, or are something else.
func faultBodies(t *testing.T) {
	s := open(t, anonymous(), httptransport.Options{BodyTimeout: 200 * time.Millisecond, MaxBody: 64 << 10})
	endless := "Transfer-Encoding: chunked\r\n\r\n" + strings.Repeat("8000\r\n"+strings.Repeat(" ", 0x8000)+"\r\n", 4)
	for _, k := range []struct{ path, head, want string }{
		{"/register", "Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n{", " 408 "},
		{"/register", "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n", " 408 "},
		{"/result", "Content-Type: application/json\r\n" + endless, " 413 "},
		{"/message", "Content-Type: application/json\r\nContent-Length: 100000\r\n\r\n", " 413 "},
		{"/result", "Content-Type: application/json\r\nContent-Length: 16\r\n\r\n{\"requestID\":\"r\"", " 400 "},
		{"/message", "Content-Type: application/json\r\nContent-Length: 1\r\n\r\n{", " 400 "},
		{"/result", "Content-Type: text/html\r\nContent-Length: 2\r\n\r\n{}", " 415 "},
		{"/register", "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 2\r\n\r\n{}", " 415 "},
	} {
		c, err := net.Dial("tcp", s.srv.Listener.Addr().String())
		require.NoError(t, err)
		fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: localhost\r\n%s", k.path, k.head)
		c.SetReadDeadline(time.Now().Add(10 * time.Second))
		line, err := bufio.NewReader(c).ReadString('\n')
		require.NoError(t, err, "%s %.60q", k.path, k.head)
		assert.Contains(t, line, k.want, "%s %.60q", k.path, k.head)
		c.Close()
	}
	assert.Empty(t, s.hub.Clients())
}

// A proxy is killed and restarted on the same port in the middle of a call.
func faultProxyRestart(t *testing.T) {
	s := open(t, anonymous(), httptransport.Options{})
	proxy := func(addr string) (string, func()) {
		ln, err := net.Listen("tcp", addr)
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(context.Background())
		go func() {
			for {
				c, err := ln.Accept()
				if err != nil {
					return
				}
				up, err := net.Dial("tcp", s.srv.Listener.Addr().String())
				if err != nil {
					c.Close()
					continue
				}
				context.AfterFunc(ctx, func() { c.Close(); up.Close() })
				go func() { io.Copy(up, c); up.Close() }()
				go func() { io.Copy(c, up); c.Close() }()
			}
		}()
		return ln.Addr().String(), func() { ln.Close(); cancel() }
	}
	addr, kill := proxy("127.0.0.1:0")
	var runs atomic.Int32
	c := clienttool.NewClient("a", httptransport.Dial("http://"+addr, httptransport.DialOptions{Client: &http.Client{Transport: &http.Transport{}}}),
		clienttool.ClientOptions{Backoff: clienttool.Backoff{Min: 10 * time.Millisecond, Max: 50 * time.Millisecond}, DrainTimeout: time.Second})
	c.Add(clienttool.ToolDefinition{ID: "x", Description: "d"}, func(context.Context, *clienttool.Invocation) (*clienttool.ToolResult, error) {
		runs.Add(1)
		time.Sleep(300 * time.Millisecond)
		return &clienttool.ToolResult{Output: "done"}, nil
	})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); c.Run(ctx) }()
	for len(s.hub.ClientTools("")) == 0 {
		time.Sleep(time.Millisecond)
	}
	call, err := s.hub.Start(t.Context(), clienttool.CallRequest{Tool: "client_a_x"})
	require.NoError(t, err)
	for runs.Load() == 0 {
		time.Sleep(time.Millisecond)
	}
	kill()
	time.Sleep(100 * time.Millisecond)
	_, kill = proxy(addr)
	defer kill()
	<-call.Done()
	_, err = call.Result()
	assert.NoError(t, err)
	assert.EqualValues(t, 1, runs.Load())
	cancel()
	<-ended
}
