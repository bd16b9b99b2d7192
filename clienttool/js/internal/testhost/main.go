// Testhost is the host that the tests of clienttool.js talk to. Commands come as
// JSON lines on standard input, and what happens goes out the same way; it ends
// when standard input does.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/agenttool/tool"
	"github.com/agenttool/tool/clienttool"
	"github.com/agenttool/tool/clienttool/httptransport"
	"github.com/agenttool/tool/clienttool/wstransport"
)

type command struct {
	Op      string          `json:"op"` // call, cancel, tools, clients, shutdown
	ID      string          `json:"id"`
	Tool    string          `json:"tool"`
	Input   json.RawMessage `json:"input"`
	Session string          `json:"session"`
	Timeout int64           `json:"timeoutMs"`
}

type report struct {
	Op       string                 `json:"op"` // url, result, progress, event, tools, clients
	ID       string                 `json:"id,omitempty"`
	URL      string                 `json:"url,omitempty"`
	Result   *clienttool.ToolResult `json:"result,omitempty"`
	Error    string                 `json:"error,omitempty"`
	Code     string                 `json:"code,omitempty"`
	Delivery string                 `json:"delivery,omitempty"`
	Progress *clienttool.Progress   `json:"progress,omitempty"`
	Type     string                 `json:"type,omitempty"`
	ClientID string                 `json:"clientID,omitempty"`
	Tools    []string               `json:"tools,omitempty"`
	Pending  int                    `json:"pending"`
}

type host struct {
	hub *clienttool.Hub

	mu    sync.Mutex
	out   *json.Encoder
	calls map[string]*clienttool.Call
}

func main() {
	var o clienttool.Options
	addr := flag.String("addr", "127.0.0.1:0", "where to listen")
	plain := flag.Bool("plain", false, "serve the documented endpoints only")
	flag.BoolVar(&o.AllowAnonymous, "anonymous", false, "let anybody in")
	flag.DurationVar(&o.PingInterval, "ping", 0, "between pings")
	flag.DurationVar(&o.DetachGrace, "grace", 0, "how long a client may be gone")
	flag.DurationVar(&o.AckTimeout, "ack", 0, "for a client to acknowledge")
	flag.IntVar(&o.Limits.ResultBytes, "result-bytes", 0, "of one result")
	flag.Parse()
	o.Limits.CallsPerMinute = -1
	upper := tool.Func(tool.Def{Name: "upper", Description: "Makes capitals."}, func(_ context.Context, in struct{ Text string }) (string, error) {
		return strings.ToUpper(in.Text), nil
	})
	o.HostTools = func(ctx context.Context, agent *tool.Agent) (*tool.Set, error) {
		var r tool.Registry
		if err := r.Add(upper); err != nil {
			return nil, err
		}
		return r.Resolve(ctx, agent)
	}
	if err := run(o, *addr, *plain); err != nil {
		fmt.Fprintln(os.Stderr, "testhost:", err)
		os.Exit(1)
	}
}

func run(o clienttool.Options, addr string, plain bool) error {
	hub, err := clienttool.NewHub(o)
	if err != nil {
		return err
	}
	defer hub.Close()
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	h := &host{hub: hub, out: json.NewEncoder(os.Stdout), calls: make(map[string]*clienttool.Call)}
	server := &http.Server{Handler: routes(hub, plain)}
	served := make(chan error, 1)
	go func() { served <- server.Serve(ln) }()
	defer func() { server.Close(); <-served }()
	defer hub.Subscribe(0, func(e clienttool.Event) {
		h.say(report{Op: "event", Type: string(e.Type), ClientID: e.ClientID, Tools: e.ToolIDs, Code: e.Code, Error: e.Error})
	})()
	h.say(report{Op: "url", URL: "http://" + ln.Addr().String()})
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 16<<20)
	for in.Scan() {
		var c command
		if err := json.Unmarshal(in.Bytes(), &c); err != nil {
			return err
		}
		h.do(c)
	}
	return in.Err()
}

// routes mounts everything below /client-tools, behind a bearer token where one is
// demanded.
func routes(hub *clienttool.Hub, plain bool) http.Handler {
	guard := httptransport.Guard{Tickets: new(httptransport.Tickets), Authenticate: func(r *http.Request) (clienttool.Peer, error) {
		switch token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "); token {
		case "":
			return clienttool.Peer{}, nil
		case "secret":
			return clienttool.Peer{Principal: "tester"}, nil
		}
		return clienttool.Peer{}, errors.New("wrong token")
	}}
	mux := http.NewServeMux()
	routes := http.StripPrefix("/client-tools", httptransport.Handler(hub, httptransport.Options{Guard: guard}))
	mux.Handle("/client-tools/", routes)
	if plain {
		mux.Handle("/client-tools/message", http.NotFoundHandler())
	} else {
		mux.Handle("/client-tools/ws/", http.StripPrefix("/client-tools", wstransport.Handler(hub, wstransport.Options{Guard: guard})))
	}
	return mux
}

func (h *host) say(r report) {
	h.mu.Lock()
	defer h.mu.Unlock()
	r.Pending = len(h.calls)
	h.out.Encode(r) // nobody is left to tell if it fails
}

func (h *host) do(c command) {
	switch c.Op {
	case "call":
		h.call(c)
	case "cancel":
		h.mu.Lock()
		call := h.calls[c.ID]
		h.mu.Unlock()
		if call != nil {
			call.Cancel(errors.New("the test wants it"))
		}
	case "tools":
		r := report{Op: "tools", ID: c.ID, Tools: []string{}}
		for _, t := range h.hub.ClientTools(c.Session) {
			r.Tools = append(r.Tools, t.ID)
		}
		h.say(r)
	case "shutdown":
		ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
		defer cancel()
		h.hub.Shutdown(ctx) // what it had to leave behind is the test's business
		os.Exit(0)
	}
}

func (h *host) call(c command) {
	id := c.ID
	call, err := h.hub.Start(context.Background(), clienttool.CallRequest{
		Tool: c.Tool, Input: c.Input, SessionID: c.Session, MessageID: "msg_1", CallID: "call_" + id,
		Timeout:    time.Duration(c.Timeout) * time.Millisecond,
		OnProgress: func(p clienttool.Progress) { h.say(report{Op: "progress", ID: id, Progress: &p}) },
		Ask: func(_ context.Context, r *tool.Request) error {
			if strings.HasPrefix(r.Patterns[0], "no") {
				return &tool.DeniedError{Request: r, Reason: "not this one"}
			}
			time.Sleep(300 * time.Millisecond) // a user thinks
			return nil
		},
		Invoke: func(_ context.Context, name string, input json.RawMessage) (*tool.Result, error) {
			if name != "upper" {
				return nil, fmt.Errorf("there is no tool %s", name)
			}
			var in struct{ Text string }
			if err := json.Unmarshal(input, &in); err != nil {
				return nil, err
			}
			return tool.Text(strings.ToUpper(in.Text)), nil
		},
	})
	if err != nil {
		h.failed(id, err)
		return
	}
	h.mu.Lock()
	h.calls[id] = call
	h.mu.Unlock()
	go func() {
		<-call.Done()
		res, err := call.Result()
		h.mu.Lock()
		delete(h.calls, id)
		h.mu.Unlock()
		if err != nil {
			h.failed(id, err)
			return
		}
		h.say(report{Op: "result", ID: id, Result: res})
	}()
}

func (h *host) failed(id string, err error) {
	r := report{Op: "result", ID: id, Error: err.Error()}
	var e *clienttool.CallError
	if errors.As(err, &e) {
		r.Code, r.Delivery, r.Error = e.Code, e.Delivery.String(), e.ModelText()
	}
	h.say(r)
}
