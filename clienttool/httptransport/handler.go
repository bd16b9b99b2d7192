package httptransport

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"mime"
	"net/http"
	"net/url"
	"time"

	"github.com/agenttool/tool/clienttool"
)

// Options configure [Handler]. The zero value is safe.
type Options struct {
	Guard

	// EnableExecute mounts /execute, which runs tools on clients' machines for whoever
	// the hub's Authorize lets (OpExecute), within limits but without a question. It
	// is refused to anonymous peers and where the hub has no Authorize.
	EnableExecute bool

	BodyTimeout  time.Duration // to send a body [30 s]
	WriteTimeout time.Duration // per event [10 s]
	MaxBody      int64         // bytes [the hub's default frame: 4 MiB and 64 KiB]
}

// Handlers has each route as a method, for routers of your own; Handler is all of
// them. Routers must set the path value "clientID" ([http.Request.SetPathValue])
// where a path has one.
type Handlers struct {
	hub   *clienttool.Hub
	opt   Options
	epoch string // of this process, in event ids
	mux   *http.ServeMux
}

// Handler returns the host's side.
func Handler(h *clienttool.Hub, o Options) http.Handler { return New(h, o) }

// New is [Handler], with each route as a method.
func New(h *clienttool.Hub, o Options) *Handlers {
	if o.BodyTimeout == 0 {
		o.BodyTimeout = 30 * time.Second
	}
	if o.WriteTimeout == 0 {
		o.WriteTimeout = 10 * time.Second
	}
	if o.MaxBody == 0 {
		o.MaxBody = int64(clienttool.Limits{}.FrameBytes())
	}
	s := &Handlers{hub: h, opt: o, epoch: rand.Text()[:8], mux: http.NewServeMux()}
	s.mux.HandleFunc("POST /register", s.Register)
	s.mux.HandleFunc("DELETE /unregister", s.Unregister)
	s.mux.HandleFunc("POST /unregister", s.Unregister)
	s.mux.HandleFunc("POST /result", s.Result)
	s.mux.HandleFunc("GET /pending/{clientID}", s.Pending)
	s.mux.HandleFunc("GET /pending/{$}", s.Pending)
	s.mux.HandleFunc("GET /pending", s.Pending)
	s.mux.HandleFunc("GET /tools/{clientID}", s.Tools)
	s.mux.HandleFunc("GET /tools/{$}", s.Tools)
	s.mux.HandleFunc("GET /tools", s.AllTools)
	s.mux.HandleFunc("GET /host-tools/{clientID}", s.HostTools)
	s.mux.HandleFunc("POST /message", s.Message)
	if o.EnableExecute {
		s.mux.HandleFunc("POST /execute", s.Execute)
	}
	if o.Tickets != nil {
		s.mux.HandleFunc("POST /ticket", s.Ticket)
	}
	return s
}

// ServeHTTP implements [http.Handler].
func (s *Handlers) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.opt.cors(w, r) {
		return
	}
	if r.URL.Path == "/message" && r.Method == http.MethodPost { // what a Client sends, call by call
		s.Message(w, r)
		return
	}
	var none refusal
	for r := range suffixes(r) {
		if _, pattern := s.mux.Handler(r); pattern != "" {
			s.mux.ServeHTTP(w, r)
			return
		}
		if none.status != http.StatusMethodNotAllowed {
			s.mux.ServeHTTP(&none, r)
		}
	}
	none.write(w)
}

// suffixes yields r, and then r with one more of the leading elements of its path
// taken off each time. Routers differ in whether they take off the path below which
// something is mounted (http.StripPrefix) or leave it (chi's Mount, gin's WrapH), so
// what the path ends in counts where the whole means nothing.
func suffixes(r *http.Request) iter.Seq[*http.Request] {
	return func(yield func(*http.Request) bool) {
		if !yield(r) {
			return
		}
		n := 0
		for i, c := range r.URL.Path {
			if i == 0 || c != '/' {
				continue
			}
			if n++; n > maxPrefix {
				return
			}
			short := r.WithContext(r.Context())
			short.URL = &url.URL{Path: r.URL.Path[i:], RawQuery: r.URL.RawQuery}
			if !yield(short) {
				return
			}
		}
	}
}

// maxPrefix is how many elements of a path can be those that something is mounted below.
const maxPrefix = 16

// refusal takes what a ServeMux says to a request that nobody handles, which is
// plain text, and says it as this package does.
type refusal struct {
	header http.Header
	status int
}

func (n *refusal) Header() http.Header {
	if n.header == nil {
		n.header = make(http.Header)
	}
	return n.header
}

func (n *refusal) Write(b []byte) (int, error) { return len(b), nil }

func (n *refusal) WriteHeader(status int) { n.status = status }

func (n *refusal) write(w http.ResponseWriter) {
	if allow := n.header.Get("Allow"); n.status == http.StatusMethodNotAllowed {
		w.Header().Set("Allow", allow)
		(&problem{status: n.status, code: "INVALID_REQUEST", text: "this takes " + allow}).write(w)
		return
	}
	(&problem{status: http.StatusNotFound, code: "NOT_FOUND", text: "there is nothing at this path"}).write(w)
}

// peer authenticates; it has answered when ok is false.
func (s *Handlers) peer(w http.ResponseWriter, r *http.Request) (p clienttool.Peer, ok bool) {
	p, status, err := s.opt.Peer(r)
	if err == nil {
		return p, true
	}
	code := "UNAUTHORIZED"
	if status == http.StatusForbidden {
		code = "FORBIDDEN"
	}
	(&problem{status: status, code: code, text: err.Error()}).write(w)
	return p, false
}

// body reads a JSON body, bounded in size and time.
func (s *Handlers) body(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if ct := r.Header.Get("Content-Type"); ct != "" {
		if mt, _, err := mime.ParseMediaType(ct); err != nil || mt != "application/json" {
			return nil, &problem{status: http.StatusUnsupportedMediaType, code: "INVALID_REQUEST", text: "the content type must be application/json"}
		}
	}
	large := &problem{status: http.StatusRequestEntityTooLarge, code: "TOO_LARGE", text: fmt.Sprintf("the body is larger than %d bytes", s.opt.MaxBody)}
	if r.ContentLength > s.opt.MaxBody {
		w.Header().Set("Connection", "close") // nobody is going to read it
		return nil, large
	}
	rc := http.NewResponseController(w)
	rc.SetReadDeadline(time.Now().Add(s.opt.BodyTimeout)) // what cannot set one is limited by the server
	defer rc.SetReadDeadline(time.Time{})
	b, err := io.ReadAll(http.MaxBytesReader(w, r.Body, s.opt.MaxBody))
	var over *http.MaxBytesError
	switch {
	case errors.As(err, &over):
		return nil, large
	case err != nil:
		w.Header().Set("Connection", "close")
		return nil, &problem{status: http.StatusRequestTimeout, code: "INVALID_REQUEST", text: "the body did not arrive"}
	}
	return b, nil
}

// decode reads a JSON object into v.
func (s *Handlers) decode(w http.ResponseWriter, r *http.Request, v any) error {
	b, err := s.body(w, r)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(b, v); err != nil {
		return invalid("invalid JSON body: %v", err)
	}
	return nil
}

// handle passes a message to the hub.
func (s *Handlers) handle(w http.ResponseWriter, r *http.Request, m func() (*clienttool.Message, error), done func(p clienttool.Peer, reply *clienttool.Message) error) {
	p, ok := s.peer(w, r)
	if !ok {
		return
	}
	msg, err := m()
	if err == nil {
		var rep *clienttool.Message
		if rep, err = s.hub.Handle(r.Context(), p, msg); err == nil {
			err = done(p, rep)
		}
	}
	if err != nil {
		problemFor(err, p).write(w)
	}
}
