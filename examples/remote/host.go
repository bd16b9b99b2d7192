package main

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/agenttool/tool"
	"github.com/agenttool/tool/clienttool"
	"github.com/agenttool/tool/clienttool/httptransport"
	"github.com/agenttool/tool/clienttool/wstransport"
)

// session is the agent session that the worker's tools are bound to.
const session = "ses_demo"

// calls are what a model would ask for.
var calls = []struct{ tool, input string }{
	{"write", `{"filePath":"notes.txt","content":"alpha\nbeta\n"}`},
	{"edit", `{"filePath":"notes.txt","oldString":"beta","newString":"gamma"}`},
	{"read", `{"filePath":"notes.txt"}`},
	{"bash", `{"command":"echo begun && touch begun && while [ ! -e go ]; do sleep 0.05; done; echo ended","description":"Waits"}`},
	{"bash", `{"command":"rm notes.txt","description":"Removes the notes"}`},
}

// elapsed is what differs from run to run.
var elapsed = regexp.MustCompile(`, [0-9.]+(ms|s)\b`)

// run is the agent's side.
func run(ctx context.Context, out io.Writer) error {
	dir, err := os.MkdirTemp("", "remote-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	token := rand.Text()
	hub, err := clienttool.NewHub(clienttool.Options{})
	if err != nil {
		return err
	}
	defer hub.Close()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	tracked := &tracked{Listener: ln}
	server := &http.Server{Handler: routes(hub, token)}
	served := make(chan error, 1)
	go func() { served <- server.Serve(tracked) }()
	defer func() { server.Close(); <-served }()

	connected := make(chan struct{}, 16)
	defer hub.Subscribe(0, func(e clienttool.Event) {
		if e.Type == clienttool.EventConnected {
			connected <- struct{}{}
		}
	})()
	stop, err := startWorker("ws://"+ln.Addr().String()+"/client-tools/ws/worker", token, dir)
	if err != nil {
		return err
	}
	defer stop()
	select {
	case <-connected:
	case <-time.After(time.Minute):
		return errors.New("the worker did not connect")
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	var registry tool.Registry
	registry.AddSource(hub)
	agent := &tool.Agent{Name: "demo", SessionID: session}
	set, err := registry.Resolve(ctx, agent)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "the worker offers read: %v, edit: %v\n", set.Has("client_worker_read"), set.Has("client_worker_edit"))

	ex := &tool.Executor{Approver: approver(out)}
	for i, c := range calls {
		fmt.Fprintf(out, "\n> %s\n", c.tool)
		if i == 3 {
			go interrupt(dir, tracked, connected)
		}
		o := ex.Do(ctx, set, &tool.Call{ID: fmt.Sprint("call-", i+1), Tool: "client_worker_" + c.tool, SessionID: session, Agent: agent, Input: []byte(c.input)})
		state := "ok"
		if o.Err != nil {
			state = "failed"
		}
		text := elapsed.ReplaceAllString(strings.ReplaceAll(o.Result.Text, dir, "DIR"), "")
		fmt.Fprintf(out, "%s: %s\n", state, strings.TrimSpace(text))
		if i == 3 {
			fmt.Fprintln(out, "(the connection was cut while it ran)")
		}
	}
	return nil
}

// routes mounts both carriers below /client-tools. The token is the worker's only credential.
func routes(hub *clienttool.Hub, token string) http.Handler {
	guard := httptransport.Guard{Authenticate: func(r *http.Request) (clienttool.Peer, error) {
		got := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		if subtle.ConstantTimeCompare([]byte(got), []byte(token)) != 1 {
			return clienttool.Peer{}, errors.New("wrong token")
		}
		return clienttool.Peer{Principal: "worker"}, nil
	}}
	mux := http.NewServeMux()
	ws := http.StripPrefix("/client-tools", wstransport.Handler(hub, wstransport.Options{Guard: guard}))
	mux.Handle("/client-tools/ws/", ws)
	mux.Handle("/client-tools/", http.StripPrefix("/client-tools", httptransport.Handler(hub, httptransport.Options{Guard: guard})))
	return mux
}

// approver answers as a user would who wants nothing removed.
func approver(out io.Writer) tool.Approver {
	return tool.ApproverFunc(func(_ context.Context, _ *tool.Call, r *tool.Request) error {
		if r.Permission == clienttool.Permission {
			return nil
		}
		for _, p := range r.Patterns {
			if strings.HasPrefix(p, "rm ") {
				fmt.Fprintf(out, "asked %s %s: no\n", r.Permission, p)
				return &tool.DeniedError{Request: r, Reason: "Keep the notes"}
			}
		}
		fmt.Fprintf(out, "asked %s: yes\n", r.Permission)
		return nil
	})
}

// interrupt severs every connection while the command runs, and lets the command
// end once the worker is back.
func interrupt(dir string, t *tracked, connected <-chan struct{}) {
	for !exists(dir + "/begun") {
		time.Sleep(10 * time.Millisecond)
	}
	t.cut()
	<-connected
	os.WriteFile(dir+"/go", nil, 0o600)
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

// tracked is a listener that can sever what it has accepted.
type tracked struct {
	net.Listener
	mu    sync.Mutex
	conns []net.Conn
}

func (t *tracked) Accept() (net.Conn, error) {
	c, err := t.Listener.Accept()
	if err == nil {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.conns = append(t.conns, c)
	}
	return c, err
}

func (t *tracked) cut() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, c := range t.conns {
		c.Close()
	}
	t.conns = nil
}
