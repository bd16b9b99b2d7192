package httptransport_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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
)

type site struct {
	t   *testing.T
	hub *clienttool.Hub
	srv *httptest.Server
}

func open(t *testing.T, ho clienttool.Options, o httptransport.Options) *site {
	h, err := clienttool.NewHub(ho)
	require.NoError(t, err)
	srv := httptest.NewServer(httptransport.Handler(h, o))
	t.Cleanup(func() { h.Close(); srv.CloseClientConnections(); srv.Close() })
	return &site{t, h, srv}
}

// bearer authenticates by "Authorization: Bearer NAME".
func bearer(r *http.Request) (clienttool.Peer, error) {
	name, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok {
		return clienttool.Peer{}, errors.New("no credentials")
	}
	return clienttool.Peer{Principal: name}, nil
}

// do sends a request; headers come in pairs.
func (s *site) do(method, path, body string, headers ...string) (int, string) {
	s.t.Helper()
	var rd io.Reader
	if body != "" {
		rd = strings.NewReader(body)
	}
	req, err := http.NewRequest(method, s.srv.URL+path, rd)
	require.NoError(s.t, err)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Host" {
			req.Host = headers[i+1]
		}
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	require.NoError(s.t, err)
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	require.NoError(s.t, err)
	return resp.StatusCode, strings.TrimSpace(string(b))
}

// source is an EventSource.
type source struct {
	resp   *http.Response
	sc     *bufio.Scanner
	lastID string
}

func (s *site) source(path string, headers ...string) *source {
	s.t.Helper()
	req, err := http.NewRequest("GET", s.srv.URL+path, nil)
	require.NoError(s.t, err)
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	require.NoError(s.t, err)
	s.t.Cleanup(func() { resp.Body.Close() })
	return &source{resp: resp, sc: bufio.NewScanner(resp.Body)}
}

// next returns the next event of a name; "" at the end of the stream.
func (e *source) next(name string) string {
	event := ""
	for e.sc.Scan() {
		line := e.sc.Text()
		if v, ok := strings.CutPrefix(line, "event: "); ok {
			event = v
		} else if v, ok := strings.CutPrefix(line, "id: "); ok {
			e.lastID = v
		} else if v, ok := strings.CutPrefix(line, "data: "); ok && event == name {
			return v
		}
	}
	return ""
}

const tools = `[{"id":"search-docs","description":"Searches.","parameters":{"type":"object","properties":{"q":{"type":"string"}}}}]`

func anonymous() clienttool.Options { return clienttool.Options{AllowAnonymous: true} }

// What a client that knows nothing but the documents does.
func TestDocumentedProtocol(t *testing.T) {
	s := open(t, anonymous(), httptransport.Options{})
	check := func(method, path, body string, status int, want string) {
		t.Helper()
		code, got := s.do(method, path, body)
		assert.Equal(t, status, code, "%s %s: %s", method, path, got)
		if want != "" {
			assert.JSONEq(t, want, got)
		}
	}
	check("GET", "/tools", "", 200, `{}`)
	check("GET", "/tools/my-client", "", 200, `[]`)
	check("POST", "/register", `{"sessionID":"ses_1","clientID":"my-client","tools":`+tools+`}`, 200,
		`{"registered":["client_my-client_search-docs"]}`)
	def := `{"id":"client_my-client_search-docs","description":"Searches.","parameters":{"type":"object","properties":{"q":{"type":"string"}}}}`
	check("GET", "/tools/my-client", "", 200, `[`+def+`]`)
	check("GET", "/tools", "", 200, `{"client_my-client_search-docs":`+def+`}`)

	ev := s.source("/pending/my-client")
	assert.Equal(t, 200, ev.resp.StatusCode)
	assert.Equal(t, "text/event-stream", ev.resp.Header.Get("Content-Type"))
	for i, shape := range []string{`{"requestID":"%s","result":{"status":"success","title":"t","output":"found","metadata":{"n":1}}}`, `{"requestID":"%s","status":"success","title":"t","output":"found","metadata":{"n":1}}`} {
		call, err := s.hub.Start(t.Context(), clienttool.CallRequest{Tool: "client_my-client_search-docs", SessionID: "ses_1", MessageID: "m", CallID: "c", Input: json.RawMessage(`{"q":"x<y"}`)})
		require.NoError(t, err)
		var req map[string]any
		require.NoError(t, json.Unmarshal([]byte(ev.next("tool-request")), &req))
		assert.Equal(t, "client-tool-request", req["type"])
		assert.Equal(t, "client_my-client_search-docs", req["tool"])
		assert.Equal(t, map[string]any{"q": "x<y"}, req["input"])
		assert.Equal(t, call.ID(), req["requestID"])
		check("POST", "/result", fmt.Sprintf(shape, call.ID()), 200, `{"success":true}`)
		check("POST", "/result", fmt.Sprintf(shape, call.ID()), 200, `{"success":true,"duplicate":true}`)
		<-call.Done()
		res, err := call.Result()
		require.NoError(t, err, i)
		assert.Equal(t, "found", res.Output)
		assert.JSONEq(t, `{"n":1}`, string(res.Metadata))
	}
	call, err := s.hub.Start(t.Context(), clienttool.CallRequest{Tool: "client_my-client_search-docs"})
	require.NoError(t, err)
	check("POST", "/result", `{"requestID":"none","result":{"status":"success"}}`, 404, `{"error":"Unknown request ID","code":"NOT_FOUND"}`)
	ev.next("tool-request")
	call.Cancel(nil)
	assert.Contains(t, ev.next("cancel"), call.ID())
	check("POST", "/result", `{"requestID":"`+call.ID()+`","result":{"status":"success"}}`, 410, `{"error":"The call had ended","code":"CANCELLED"}`)
	call, err = s.hub.Start(t.Context(), clienttool.CallRequest{Tool: "client_my-client_search-docs"})
	require.NoError(t, err)
	ev.next("tool-request")
	check("POST", "/result", `{"requestID":"`+call.ID()+`","status":"failed","error":"boom"}`, 400, "")
	<-call.Done()

	check("DELETE", "/unregister", `{"clientID":"my-client","toolIDs":[]}`, 200, `{"success":true,"unregistered":[]}`)
	check("DELETE", "/unregister?clientID=my-client&toolIDs=search-docs", ``, 200, `{"success":true,"unregistered":["client_my-client_search-docs"]}`)
	check("DELETE", "/unregister", `{"clientID":"nobody"}`, 200, `{"success":true,"unregistered":[]}`)
	check("POST", "/unregister", `{"clientID":"my-client"}`, 200, `{"success":true,"unregistered":[]}`)

	for _, c := range []struct {
		method, path, body string
		status             int
	}{
		{"POST", "/register", `{"tools":[]}`, 400}, {"POST", "/register", `{`, 400}, {"POST", "/register", `{"clientID":"a b","tools":[]}`, 400},
		{"POST", "/register", `{"clientID":"a","tools":[{"id":"x","description":"d","parameters":{"$ref":"#"}}]}`, 422},
		{"POST", "/unregister", `{}`, 400}, {"POST", "/result", `{}`, 400}, {"POST", "/result", `nonsense`, 400},
		{"GET", "/pending/a%20b", "", 400}, {"GET", "/pending/", "", 400}, {"GET", "/tools/a%20b", "", 400},
		{"POST", "/execute", `{}`, 404}, {"POST", "/message", `{"type":"ping","clientID":"nobody"}`, 404}, {"POST", "/message", `{}`, 400},
	} {
		check(c.method, c.path, c.body, c.status, "")
	}
	code, _ := s.do("POST", "/register", `{"clientID":"a"}`, "Content-Type", "text/plain")
	assert.Equal(t, 415, code)
	code, body := s.do("POST", "/register", `{"clientID":"a","tools":[{"id":"`+strings.Repeat("x", 5<<20)+`"}]}`)
	assert.Equal(t, 413, code, body)
}

// A page whose streams break before an event, or before anything at all has come,
// is still the same page.
func TestEventSourceThatSawNothing(t *testing.T) {
	s := open(t, anonymous(), httptransport.Options{})
	s.do("POST", "/register", `{"clientID":"page","tools":`+tools+`}`)
	drop := func(e *source) {
		e.resp.Body.Close()
		for info, _ := s.hub.Client("page"); info.Connected; info, _ = s.hub.Client("page") {
			time.Sleep(time.Millisecond)
		}
	}
	one := s.source("/pending/page")
	for one.lastID == "" {
		require.True(t, one.sc.Scan(), "the stream begins with an id")
		if id, ok := strings.CutPrefix(one.sc.Text(), "id: "); ok {
			one.lastID = id
		}
	}
	drop(one)
	call, err := s.hub.Start(context.Background(), clienttool.CallRequest{Tool: "client_page_search-docs", Timeout: time.Minute})
	require.NoError(t, err)
	for range 3 { // the browser has not read a byte of these, so it comes with the same id
		lost := s.source("/pending/page", "Last-Event-ID", one.lastID)
		require.Equal(t, 200, lost.resp.StatusCode)
		drop(lost)
	}
	assert.Contains(t, s.source("/pending/page", "Last-Event-ID", one.lastID).next("tool-request"), call.ID())
	code, body := s.do("POST", "/result", `{"requestID":"`+call.ID()+`","result":{"status":"success","output":"ok"}}`)
	assert.Equal(t, 200, code, body)
	res, err := call.Result()
	require.NoError(t, err)
	assert.Equal(t, "ok", res.Output)
}

// A question that the host refuses is an error of the question: the link lives on.
func TestQuestionRefused(t *testing.T) {
	s := open(t, clienttool.Options{}, httptransport.Options{Guard: httptransport.Guard{Authenticate: bearer}})
	var ready atomic.Int32
	c := clienttool.NewClient("a", httptransport.Dial(s.srv.URL, httptransport.DialOptions{Header: http.Header{"Authorization": {"Bearer alice"}}}),
		clienttool.ClientOptions{SessionID: "ses_1", OnState: func(st clienttool.State) {
			if st == clienttool.StateReady {
				ready.Add(1)
			}
		}})
	require.NoError(t, c.Add(clienttool.ToolDefinition{ID: "x"}, func(context.Context, *clienttool.Invocation) (*clienttool.ToolResult, error) {
		return &clienttool.ToolResult{Output: "ok"}, nil
	}))
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	_, err := c.HostTools(ctx, "ses_of_others")
	var refused *clienttool.RefusedError
	require.ErrorAs(t, err, &refused)
	assert.Equal(t, clienttool.CodeNotFound, refused.Code)
	res, err := s.hub.Execute(ctx, clienttool.CallRequest{Tool: "client_a_x"})
	require.NoError(t, err)
	assert.Equal(t, "ok", res.Output)
	assert.EqualValues(t, 1, ready.Load(), "it was one link all the time")
	cancel()
	<-ended
}

func TestAuthentication(t *testing.T) {
	tickets := &httptransport.Tickets{}
	s := open(t, clienttool.Options{}, httptransport.Options{Guard: httptransport.Guard{Authenticate: bearer, Tickets: tickets, Origins: []string{"https://app.example.com"}}})
	alice := []string{"Authorization", "Bearer alice"}
	mallory := []string{"Authorization", "Bearer mallory"}
	for _, c := range [][2]string{{"POST", "/register"}, {"DELETE", "/unregister"}, {"POST", "/result"}, {"GET", "/pending/a"}, {"GET", "/tools"}, {"GET", "/tools/a"}, {"POST", "/message"}} {
		code, body := s.do(c[0], c[1], `{"clientID":"a","requestID":"r","type":"ping"}`)
		assert.Equal(t, 401, code, "%s %s", c[0], c[1])
		assert.Contains(t, body, `"UNAUTHORIZED"`)
	}
	code, _ := s.do("POST", "/register", `{"clientID":"a","tools":`+tools+`}`, alice...)
	assert.Equal(t, 200, code)
	code, body := s.do("POST", "/register", `{"clientID":"a","tools":`+tools+`}`, mallory...)
	assert.Equal(t, 409, code, body)
	code, _ = s.do("GET", "/pending/a", "", mallory...)
	assert.Equal(t, 409, code)
	_, body = s.do("GET", "/tools", "", mallory...)
	assert.Equal(t, `{}`, body, "the tools of others are not listed")
	_, body = s.do("GET", "/tools/a", "", mallory...)
	assert.Equal(t, `[]`, body)
	_, body = s.do("DELETE", "/unregister", `{"clientID":"a"}`, mallory...)
	assert.JSONEq(t, `{"success":true,"unregistered":[]}`, body)
	assert.Len(t, s.hub.ClientTools(""), 1)

	// A ticket is good once, for its client.
	_, body = s.do("POST", "/ticket", `{"clientID":"a"}`, alice...)
	var tk struct{ Ticket string }
	require.NoError(t, json.Unmarshal([]byte(body), &tk))
	code, _ = s.do("GET", "/pending/b?ticket="+tk.Ticket, "")
	assert.Equal(t, 403, code)
	code, _ = s.do("GET", "/pending/a?ticket="+tk.Ticket, "")
	assert.Equal(t, 401, code, "used up")
	_, body = s.do("POST", "/ticket", `{"clientID":"a"}`, alice...)
	require.NoError(t, json.Unmarshal([]byte(body), &tk))
	assert.Equal(t, 200, s.source("/pending/a?ticket="+tk.Ticket).resp.StatusCode)

	// Web pages.
	for origin, want := range map[string]int{"https://evil.example": 403, "null": 403, "https://app.example.com": 200, s.srv.URL: 200} {
		code, _ = s.do("GET", "/tools", "", append(alice, "Origin", origin)...)
		assert.Equal(t, want, code, origin)
	}
	code, _ = s.do("GET", "/tools", "", append(alice, "Sec-Fetch-Site", "cross-site")...)
	assert.Equal(t, 403, code)
	code, _ = s.do("GET", "/tools", "", append(alice, "Host", "evil.example")...)
	assert.Equal(t, 403, code, "a loopback host under a stranger's name")
	code, _ = s.do("OPTIONS", "/register", "", "Origin", "https://app.example.com")
	assert.Equal(t, 204, code)

	// The zero value refuses everybody.
	z := open(t, clienttool.Options{}, httptransport.Options{})
	for _, c := range [][2]string{{"POST", "/register"}, {"GET", "/pending/a"}, {"GET", "/tools"}, {"GET", "/tools/a"}} {
		code, _ = z.do(c[0], c[1], `{"clientID":"a"}`)
		assert.Equal(t, 401, code, "%s %s", c[0], c[1])
	}
}

func TestExecute(t *testing.T) {
	ho := clienttool.Options{Authorize: func(_ context.Context, p clienttool.Peer, op clienttool.Op, _ clienttool.Target) error {
		if op == clienttool.OpExecute && p.Principal != "agent" {
			return errors.New("only the agent")
		}
		return nil
	}}
	s := open(t, ho, httptransport.Options{EnableExecute: true, Guard: httptransport.Guard{Authenticate: bearer}})
	agent := []string{"Authorization", "Bearer agent"}
	c := clienttool.NewClient("a", httptransport.Dial(s.srv.URL, httptransport.DialOptions{Header: http.Header{"Authorization": {"Bearer alice"}}}), clienttool.ClientOptions{})
	require.NoError(t, c.Add(clienttool.ToolDefinition{ID: "x", Description: "d", Parameters: json.RawMessage(`{"type":"object","properties":{"do":{"type":"string"}}}`)},
		func(ctx context.Context, i *clienttool.Invocation) (*clienttool.ToolResult, error) {
			switch {
			case strings.Contains(string(i.Input), "fail"):
				return nil, errors.New("no such file")
			case strings.Contains(string(i.Input), "hang"):
				<-ctx.Done()
				return nil, context.Cause(ctx)
			}
			return &clienttool.ToolResult{Output: "done"}, nil
		}))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); c.Run(ctx) }()
	defer func() { cancel(); <-ended }()
	for len(s.hub.ClientTools("")) == 0 {
		time.Sleep(time.Millisecond)
	}
	for _, k := range []struct {
		body   string
		status int
		want   string
	}{
		{`{"toolID":"client_a_x"}`, 200, `"output":"done"`},
		{`{"toolID":"client_a_x","input":{"do":"fail"}}`, 502, "no such file"},
		{`{"toolID":"client_a_x","input":{"do":"hang"},"timeout":300}`, 504, `"TIMEOUT"`},
		{`{"toolID":"client_a_x","input":{"do":7}}`, 422, `/do`},
		{`{"toolID":"none"}`, 404, `"NOT_FOUND"`},
		{`{}`, 400, ""},
	} {
		code, body := s.do("POST", "/execute", k.body, agent...)
		assert.Equal(t, k.status, code, body)
		assert.Contains(t, body, k.want)
	}
	code, _ := s.do("POST", "/execute", `{"toolID":"client_a_x"}`, "Authorization", "Bearer alice")
	assert.Equal(t, 403, code)
}
