package httptransport_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agenttool/tool"
	"github.com/agenttool/tool/clienttool"
	"github.com/agenttool/tool/clienttool/httptransport"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// documentClient is a client as somebody writes it who has read how the endpoints
// are documented and nothing else: net/http, the documented paths, bodies and events.
// It shares no type with this module.
type documentClient struct {
	base, id string
	header   http.Header

	mu       sync.Mutex
	handlers map[string]func(input map[string]any) (title, output string, metadata map[string]any, err error)
	pings    int
	answers  []string // of POST /result

	stop context.CancelFunc
	done chan struct{}
}

type documentTool struct {
	ID          string         `json:"id"`
	Description string         `json:"description"`
	Parameters  map[string]any `json:"parameters"`
}

func (c *documentClient) call(method, path string, in, out any) int {
	var body io.Reader
	if in != nil {
		b, err := json.Marshal(in)
		if err != nil {
			panic(err)
		}
		body = bytes.NewReader(b)
	}
	req, err := http.NewRequest(method, c.base+path, body)
	if err != nil {
		panic(err)
	}
	for k, v := range c.header {
		req.Header[k] = v
	}
	if in != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0
	}
	defer resp.Body.Close()
	b, _ := io.ReadAll(resp.Body)
	if out != nil {
		// Nothing beyond what is documented may be needed, nor come where a shape is documented as a whole.
		d := json.NewDecoder(bytes.NewReader(b))
		d.DisallowUnknownFields()
		if err := d.Decode(out); err != nil {
			panic(fmt.Sprintf("%s %s answered %s: %v", method, path, b, err))
		}
	}
	return resp.StatusCode
}

func (c *documentClient) register(session string, tools ...documentTool) (ids []string, status int) {
	in := map[string]any{"clientID": c.id, "tools": tools}
	if session != "" {
		in["sessionID"] = session
	}
	var out struct{ Registered []string }
	status = c.call("POST", "/client-tools/register", in, &out)
	return out.Registered, status
}

// connect opens the event stream and answers requests until the test ends or stop is called.
func (c *documentClient) connect(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, "GET", c.base+"/client-tools/pending/"+c.id, nil)
	require.NoError(t, err)
	for k, v := range c.header {
		req.Header[k] = v
	}
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	require.Equal(t, 200, resp.StatusCode)
	require.Equal(t, "text/event-stream", resp.Header.Get("Content-Type"))
	c.stop, c.done = cancel, make(chan struct{})
	go func() {
		defer close(c.done)
		defer resp.Body.Close()
		var wg sync.WaitGroup
		defer wg.Wait()
		sc := bufio.NewScanner(resp.Body)
		sc.Buffer(nil, 8<<20)
		event, data := "", ""
		for sc.Scan() {
			line := sc.Text()
			switch {
			case strings.HasPrefix(line, "event: "):
				event = strings.TrimPrefix(line, "event: ")
			case strings.HasPrefix(line, "data:"):
				data = strings.TrimPrefix(strings.TrimPrefix(line, "data:"), " ")
			case line == "":
				switch event {
				case "tool-request":
					request := data
					wg.Go(func() { c.answer(request) })
				case "ping":
					c.mu.Lock()
					c.pings++
					c.mu.Unlock()
				}
				event, data = "", ""
			}
		}
	}()
	t.Cleanup(func() { cancel(); <-c.done })
}

func (c *documentClient) answer(data string) {
	var req struct {
		Type, RequestID, SessionID, MessageID, CallID, Tool string
		Input                                               map[string]any
	}
	if err := json.Unmarshal([]byte(data), &req); err != nil || req.Type != "client-tool-request" {
		panic("not a request: " + data)
	}
	name := strings.Replace(req.Tool, "client_"+c.id+"_", "", 1)
	result := map[string]any{"status": "error", "error": "Unknown tool: " + name}
	c.mu.Lock()
	h := c.handlers[name]
	c.mu.Unlock()
	if h != nil {
		title, output, metadata, err := h(req.Input)
		if err != nil {
			result["error"] = err.Error()
		} else {
			result = map[string]any{"status": "success", "title": title, "output": output, "metadata": metadata}
		}
	}
	var out struct {
		Success bool
		Error   string
		Code    string
	}
	status := c.call("POST", "/client-tools/result", map[string]any{"requestID": req.RequestID, "result": result}, &out)
	c.mu.Lock()
	c.answers = append(c.answers, fmt.Sprint(status, " ", out.Success, " ", out.Code))
	c.mu.Unlock()
}

func (c *documentClient) handle(name string, h func(map[string]any) (string, string, map[string]any, error)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.handlers == nil {
		c.handlers = make(map[string]func(map[string]any) (string, string, map[string]any, error))
	}
	c.handlers[name] = h
}

// mounts are the ways in which routers hand requests on.
var mounts = map[string]func(h *httptransport.Handlers) http.Handler{
	"StripPrefix": func(h *httptransport.Handlers) http.Handler {
		mux := http.NewServeMux()
		mux.Handle("/client-tools/", http.StripPrefix("/client-tools", h))
		return mux
	},
	// As chi's Mount and gin's WrapH do it: the path stays as it is.
	"prefix left": func(h *httptransport.Handlers) http.Handler {
		mux := http.NewServeMux()
		mux.Handle("/client-tools/", h)
		return mux
	},
	// The routes one by one, with middleware around that hides the ResponseWriter, as routers' own do.
	"single handlers": func(h *httptransport.Handlers) http.Handler {
		mux := http.NewServeMux()
		mux.HandleFunc("POST /client-tools/register", h.Register)
		mux.HandleFunc("DELETE /client-tools/unregister", h.Unregister)
		mux.HandleFunc("POST /client-tools/execute", h.Execute)
		mux.HandleFunc("POST /client-tools/result", h.Result)
		mux.HandleFunc("GET /client-tools/pending/{clientID}", h.Pending)
		mux.HandleFunc("GET /client-tools/tools/{clientID}", h.Tools)
		mux.HandleFunc("GET /client-tools/tools", h.AllTools)
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { mux.ServeHTTP(wrapped{w}, r) })
	},
}

type wrapped struct{ w http.ResponseWriter }

func (w wrapped) Header() http.Header         { return w.w.Header() }
func (w wrapped) Write(b []byte) (int, error) { return w.w.Write(b) }
func (w wrapped) WriteHeader(status int)      { w.w.WriteHeader(status) }
func (w wrapped) Unwrap() http.ResponseWriter { return w.w }

// The endpoints serve a client that was written from their documentation alone.
func TestDocumentClient(t *testing.T) {
	for name, mount := range mounts {
		for _, id := range []string{"my-client", "8c0bd8f5-33f6-4fb4-9a10-2f2b7d0c0c11", "with_underscore"} {
			t.Run(name+" "+id, func(t *testing.T) { documentClientRun(t, mount, id) })
		}
	}
}

func documentClientRun(t *testing.T, mount func(*httptransport.Handlers) http.Handler, id string) {
	hub, err := clienttool.NewHub(clienttool.Options{DetachGrace: -1, PingInterval: 50 * time.Millisecond,
		Authorize: func(context.Context, clienttool.Peer, clienttool.Op, clienttool.Target) error { return nil }})
	require.NoError(t, err)
	srv := httptest.NewServer(mount(httptransport.New(hub, httptransport.Options{EnableExecute: true, Guard: httptransport.Guard{Authenticate: bearer}})))
	t.Cleanup(func() { hub.Close(); srv.CloseClientConnections(); srv.Close() })
	c := &documentClient{base: srv.URL, id: id, header: http.Header{"Authorization": {"Bearer user"}}}
	search := documentTool{"search-docs", "Searches.", map[string]any{"type": "object", "properties": map[string]any{"q": map[string]any{"type": "string"}}, "required": []any{"q"}}}
	clock := documentTool{"get_local_time", "Tells the time.", map[string]any{"type": "object"}}
	searchID, clockID := "client_"+id+"_search-docs", "client_"+id+"_get_local_time"

	// Empty lists are an empty array and an empty object.
	var list []documentTool
	var all map[string]documentTool
	assert.Equal(t, 200, c.call("GET", "/client-tools/tools/"+id, nil, &list))
	assert.NotNil(t, list)
	assert.Empty(t, list)
	assert.Equal(t, 200, c.call("GET", "/client-tools/tools", nil, &all))
	assert.NotNil(t, all)
	assert.Empty(t, all)

	// Register and retrieve; again changes nothing.
	for range 3 {
		ids, status := c.register("ses_1", search, clock)
		assert.Equal(t, 200, status)
		assert.Equal(t, []string{searchID, clockID}, ids)
	}
	assert.Equal(t, 200, c.call("GET", "/client-tools/tools/"+id, nil, &list))
	require.Len(t, list, 2)
	assert.Equal(t, documentTool{searchID, search.Description, search.Parameters}, list[0])
	other := &documentClient{base: srv.URL, id: "other", header: c.header}
	ids, _ := other.register("ses_1", clock)
	assert.Equal(t, []string{"client_other_get_local_time"}, ids)
	all = nil
	assert.Equal(t, 200, c.call("GET", "/client-tools/tools", nil, &all))
	assert.Len(t, all, 3)
	assert.Equal(t, documentTool{searchID, search.Description, search.Parameters}, all[searchID])

	// The stream: requests, pings, and what the agent makes of the answers.
	c.handle("search-docs", func(in map[string]any) (string, string, map[string]any, error) {
		if in["q"] == "fail" {
			return "", "", nil, errors.New("index is broken")
		}
		return "Found", "results for " + in["q"].(string), map[string]any{"rowCount": 2}, nil
	})
	c.connect(t)
	var reg tool.Registry
	reg.AddSource(hub)
	agent := &tool.Agent{Name: "build", SessionID: "ses_1"}
	set, err := reg.Resolve(t.Context(), agent)
	require.NoError(t, err)
	require.Equal(t, 3, set.Len())
	ex := &tool.Executor{Approver: tool.ApproverFunc(func(context.Context, *tool.Call, *tool.Request) error { return nil })}
	model := ""
	for spec := range set.Specs() {
		if strings.HasSuffix(spec.Name, "search-docs") {
			model = spec.Name
		}
	}
	run := func(input string) tool.Outcome {
		return ex.Do(t.Context(), set, &tool.Call{ID: "call_" + input, Tool: model, SessionID: "ses_1", MessageID: "msg_1", Agent: agent, Input: json.RawMessage(input)})
	}
	out := run(`{"q":"x<y & ü"}`)
	require.NoError(t, out.Err)
	assert.Equal(t, "results for x<y & ü", out.Result.Text)
	assert.Equal(t, "Found", out.Result.Title)
	assert.Equal(t, float64(2), out.Result.Metadata["rowCount"])
	out = run(`{"q":"fail"}`)
	assert.Error(t, out.Err)
	assert.Equal(t, "index is broken", out.Result.Text)
	out = run(`{}`)
	assert.ErrorIs(t, out.Err, tool.ErrInput, "the client is not asked")
	for {
		c.mu.Lock()
		pings, answers := c.pings, len(c.answers)
		c.mu.Unlock()
		if pings > 1 && answers == 2 {
			break
		}
		time.Sleep(time.Millisecond)
	}
	assert.Equal(t, []string{"200 true ", "200 true "}, c.answers)

	// Execution over HTTP, and the table of errors.
	var problem struct{ Error, Code string }
	var result struct {
		Status, Title, Output string
		Metadata              map[string]any
	}
	execute := map[string]any{"toolID": searchID, "requestID": "mine", "sessionID": "ses_1", "messageID": "msg_1", "callID": "call_1", "input": map[string]any{"q": "z"}, "timeout": 5000}
	assert.Equal(t, 200, c.call("POST", "/client-tools/execute", execute, &result))
	assert.Equal(t, "results for z", result.Output)
	for _, k := range []struct {
		method, path string
		body         map[string]any
		status       int
		code         string
	}{
		{"POST", "/execute", map[string]any{"toolID": "client_nobody_x", "input": map[string]any{}}, 404, "NOT_FOUND"},
		{"POST", "/execute", map[string]any{"toolID": "client_other_get_local_time", "sessionID": "ses_1", "input": map[string]any{}, "timeout": 60}, 504, "TIMEOUT"},
		{"POST", "/register", map[string]any{"tools": []any{}}, 400, "INVALID_REQUEST"},
		{"DELETE", "/unregister", map[string]any{"toolIDs": []any{}}, 400, "INVALID_REQUEST"},
		{"POST", "/result", map[string]any{"result": map[string]any{"status": "success"}}, 400, "INVALID_REQUEST"},
		{"POST", "/result", map[string]any{"requestID": "req_unknown", "result": map[string]any{"status": "success", "title": "", "output": ""}}, 404, "NOT_FOUND"},
	} {
		assert.Equal(t, k.status, c.call(k.method, "/client-tools"+k.path, k.body, &problem), "%s %s", k.method, k.path)
		assert.Equal(t, k.code, problem.Code, "%s %s", k.method, k.path)
		assert.NotEmpty(t, problem.Error)
	}

	// Unregister by either name, then all; and what a lost stream leaves behind: nothing.
	var gone struct {
		Success      bool
		Unregistered []string
	}
	assert.Equal(t, 200, c.call("DELETE", "/client-tools/unregister", map[string]any{"sessionID": "ses_1", "clientID": id, "toolIDs": []string{"search-docs"}}, &gone))
	assert.True(t, gone.Success)
	assert.Equal(t, []string{searchID}, gone.Unregistered)
	assert.Equal(t, 200, c.call("DELETE", "/client-tools/unregister", map[string]any{"clientID": "other"}, &gone))
	assert.Equal(t, []string{"client_other_get_local_time"}, gone.Unregistered)
	assert.Equal(t, 200, c.call("DELETE", "/client-tools/unregister", map[string]any{"clientID": id, "toolIDs": []string{clockID}}, &gone))
	assert.Equal(t, []string{clockID}, gone.Unregistered)
	c.register("ses_1", clock)
	c.stop()
	<-c.done
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(time.Millisecond) {
		list = nil
		c.call("GET", "/client-tools/tools/"+id, nil, &list)
		if len(list) == 0 {
			break
		}
		require.True(t, time.Now().Before(end), "the tools of a client that disconnected stay")
	}
}

// A path that means nothing, a method that does not fit, and a server that cannot stream are told in JSON.
func TestDocumentedErrors(t *testing.T) {
	for name, mount := range mounts {
		if name == "single handlers" {
			continue // the router's own business
		}
		t.Run(name, func(t *testing.T) {
			hub, err := clienttool.NewHub(anonymous())
			require.NoError(t, err)
			srv := httptest.NewServer(mount(httptransport.New(hub, httptransport.Options{})))
			t.Cleanup(func() { hub.Close(); srv.Close() })
			c := &documentClient{base: srv.URL, id: "a"}
			var problem struct{ Error, Code string }
			for _, k := range []struct {
				method, path string
				status       int
				code         string
			}{
				{"GET", "/pending/", 400, "INVALID_REQUEST"}, {"GET", "/pending", 400, "INVALID_REQUEST"}, {"GET", "/tools/", 400, "INVALID_REQUEST"},
				{"GET", "/none", 404, "NOT_FOUND"}, {"POST", "/execute", 404, "NOT_FOUND"}, {"GET", "/register", 405, "INVALID_REQUEST"},
				{"GET", strings.Repeat("/x", 5000), 404, "NOT_FOUND"},
			} {
				assert.Equal(t, k.status, c.call(k.method, "/client-tools"+k.path, nil, &problem), k.path)
				assert.Equal(t, k.code, problem.Code, k.path)
			}
		})
	}
	hub, err := clienttool.NewHub(anonymous())
	require.NoError(t, err)
	defer hub.Close()
	rec := httptest.NewRecorder()
	httptransport.Handler(hub, httptransport.Options{}).ServeHTTP(struct{ http.ResponseWriter }{rec}, httptest.NewRequest("GET", "/pending/a", nil))
	assert.Equal(t, 500, rec.Code)
	assert.JSONEq(t, `{"error":"streaming is not supported here","code":"INTERNAL_ERROR"}`, rec.Body.String())
	assert.Empty(t, hub.Clients(), "and nothing is left of it")
}

// What a running tool of a client may invoke.
func TestHostToolsEndpoint(t *testing.T) {
	var reg tool.Registry
	require.NoError(t, reg.Add(tool.Func(tool.Def{Name: "upper", Description: "Upper."}, func(_ context.Context, in struct {
		S string `json:"s"`
	}) (string, error) {
		return strings.ToUpper(in.S), nil
	})))
	o := anonymous()
	o.HostTools = func(ctx context.Context, a *tool.Agent) (*tool.Set, error) { return reg.Resolve(ctx, a) }
	s := open(t, o, httptransport.Options{})
	s.do("POST", "/register", `{"clientID":"a","sessionID":"ses_1","tools":`+tools+`}`)
	for path, want := range map[string]int{"/host-tools/a": 200, "/host-tools/a?sessionID=ses_1": 200, "/host-tools/a?sessionID=ses_2": 404, "/host-tools/b": 404, "/host-tools/a%20b": 400} {
		code, body := s.do("GET", path, "")
		assert.Equal(t, want, code, path)
		if want == 200 {
			assert.Contains(t, body, `"id":"upper"`)
		}
	}
}
