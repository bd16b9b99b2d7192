package main

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/agenttool/tool/clienttool"
	"github.com/agenttool/tool/clienttool/httptransport"
	"github.com/agenttool/tool/clienttool/js"
	"github.com/agenttool/tool/clienttool/wstransport"
)

// session is the agent session that the tab's tools are bound to.
const session = "ses_browser"

//go:embed page
var page embed.FS

// host is the agent's side: a hub, what it serves, and what the agent has said.
type host struct {
	hub   *clienttool.Hub
	ln    net.Listener
	key   string
	links links
	log   transcript

	mu      sync.Mutex
	working bool        // the agent is
	start   chan string // the tab that the agent is to work with
}

func newHost(addr string, out io.Writer) (*host, error) {
	name, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	if ip := net.ParseIP(name); name != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return nil, fmt.Errorf("%s is not a loopback address: this example is for the machine it runs on", name)
	}
	h := &host{key: rand.Text(), start: make(chan string, 1), log: transcript{out: out, grown: make(chan struct{})}}
	h.hub, err = clienttool.NewHub(clienttool.Options{
		// The only session there is. The principal is whoever has the key.
		Authorize: func(_ context.Context, _ clienttool.Peer, op clienttool.Op, t clienttool.Target) error {
			if op == clienttool.OpRegister && t.SessionID != session {
				return errors.New("tools must be bound to " + session)
			}
			return nil
		},
	})
	if err != nil {
		return nil, err
	}
	h.ln, err = net.Listen("tcp", addr)
	return h, err
}

func (h *host) url() string { return "http://" + h.ln.Addr().String() + "/#key=" + h.key }

// run serves until ctx ends, or with once until the agent has.
func (h *host) run(ctx context.Context, once bool) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	server := &http.Server{
		Handler:           h.routes(),
		ReadHeaderTimeout: 10 * time.Second,
		ConnContext:       func(ctx context.Context, c net.Conn) context.Context { return context.WithValue(ctx, connKey{}, c) },
		// Streams of the page end with the program.
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(h.ln) }()
	defer func() { cancel(); h.hub.Close(); server.Close(); <-served }()
	if once {
		defer h.hub.Subscribe(0, func(e clienttool.Event) {
			if e.Type == clienttool.EventRegistered {
				h.begin(e.ClientID)
			}
		})()
	}
	for {
		var tab string
		select {
		case <-ctx.Done():
			return nil
		case tab = <-h.start:
		}
		err := h.work(ctx, tab)
		h.mu.Lock()
		h.working = false
		h.mu.Unlock()
		if err != nil {
			h.log.add(line{Kind: "failed", Text: err.Error()})
		}
		if once {
			return err
		}
	}
}

// begin starts the agent on the tools of a tab, unless it is at work.
func (h *host) begin(tab string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.working {
		return false
	}
	h.working = true
	h.start <- tab
	return true
}

// routes are the page, what it asks of the agent, and client tools. Everything but
// the page itself wants the key.
func (h *host) routes() http.Handler {
	guard := httptransport.Guard{Tickets: new(httptransport.Tickets), Authenticate: h.authenticate}
	files, err := fs.Sub(page, "page")
	if err != nil {
		panic(err) // the directory is part of the program
	}
	mux := http.NewServeMux()
	mux.Handle("/", public(h.ln.Addr().String(), http.FileServerFS(files)))
	mux.Handle("GET /clienttool.js", public(h.ln.Addr().String(), js.Handler()))
	mux.Handle("GET /agent", private(&guard, h.agent))
	mux.Handle("POST /agent", private(&guard, func(w http.ResponseWriter, r *http.Request) {
		if !h.begin(r.URL.Query().Get("tab")) {
			http.Error(w, "the agent is at work", http.StatusConflict)
			return
		}
		w.WriteHeader(http.StatusAccepted)
	}))
	mux.Handle("POST /cut", private(&guard, func(w http.ResponseWriter, r *http.Request) {
		h.links.cut()
		w.WriteHeader(http.StatusNoContent)
	}))
	tools := httptransport.Handler(h.hub, httptransport.Options{Guard: guard})
	ws := wstransport.Handler(h.hub, wstransport.Options{Guard: guard})
	mux.Handle("/client-tools/", h.links.watch(http.StripPrefix("/client-tools", tools)))
	mux.Handle("/client-tools/ws/", h.links.watch(http.StripPrefix("/client-tools", ws)))
	return mux
}

func (h *host) authenticate(r *http.Request) (clienttool.Peer, error) {
	got := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	if subtle.ConstantTimeCompare([]byte(got), []byte(h.key)) != 1 {
		return clienttool.Peer{}, errors.New("open the page with the address that the program printed")
	}
	return clienttool.Peer{Principal: "user"}, nil
}

// public serves what holds no secret, to this host's own name only.
func public(addr string, next http.Handler) http.Handler {
	guard := httptransport.Guard{}
	policy := "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self' ws://" + addr +
		"; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, status, err := guard.Peer(r); err != nil {
			http.Error(w, err.Error(), status)
			return
		}
		header := w.Header()
		header.Set("Content-Security-Policy", policy)
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("Referrer-Policy", "no-referrer")
		header.Set("Cache-Control", "no-cache")
		next.ServeHTTP(w, r)
	})
}

// private lets in who has the key, from this host's own pages.
func private(guard *httptransport.Guard, next http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, status, err := guard.Peer(r); err != nil {
			http.Error(w, err.Error(), status)
			return
		}
		next(w, r)
	})
}

// agent streams the transcript, from the line that the page wants, as lines of JSON.
func (h *host) agent(w http.ResponseWriter, r *http.Request) {
	from, err := strconv.Atoi(r.URL.Query().Get("from"))
	if err != nil || from < 0 {
		http.Error(w, "from must be the number of a line", http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	w.Header().Set("Cache-Control", "no-store")
	rc := http.NewResponseController(w)
	enc := json.NewEncoder(w)
	for {
		lines, grown := h.log.since(from)
		for _, l := range lines {
			if enc.Encode(l) != nil {
				return
			}
		}
		from += len(lines)
		if rc.Flush() != nil {
			return
		}
		select {
		case <-grown:
		case <-r.Context().Done():
			return
		}
	}
}

// line is one thing that the agent says or sees.
type line struct {
	Kind string `json:"kind"` // say, call, result, failed, asked, note
	Tool string `json:"tool,omitempty"`
	Text string `json:"text"`
}

// transcript is what the agent has said and seen, printed and kept.
type transcript struct {
	out io.Writer

	mu    sync.Mutex
	lines []line
	grown chan struct{} // closed when there are more
}

func (t *transcript) add(l line) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lines = append(t.lines, l)
	close(t.grown)
	t.grown = make(chan struct{})
	who := map[string]string{"say": "agent", "call": "> " + l.Tool, "result": "<", "failed": "failed", "asked": "asked", "note": "host"}[l.Kind]
	fmt.Fprintf(t.out, "%s: %s\n", who, l.Text)
}

func (t *transcript) since(n int) ([]line, <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.lines[min(n, len(t.lines)):len(t.lines):len(t.lines)], t.grown
}

type connKey struct{}

// links are the connections that carry client tools, so that they can be cut.
type links struct {
	mu sync.Mutex
	m  map[net.Conn]int
}

func (l *links) watch(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, ok := r.Context().Value(connKey{}).(net.Conn)
		if ok {
			l.count(c, 1)
			defer l.count(c, -1)
		}
		next.ServeHTTP(w, r)
	})
}

func (l *links) count(c net.Conn, n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.m == nil {
		l.m = make(map[net.Conn]int)
	}
	if l.m[c] += n; l.m[c] == 0 {
		delete(l.m, c)
	}
}

func (l *links) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.m {
		c.Close()
	}
}
