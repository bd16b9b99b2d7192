package httptransport

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"mime"
	"net/http"
	"strconv"
	"strings"
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
	s.mux.HandleFunc("GET /tools", s.AllTools)
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
	s.mux.ServeHTTP(w, r)
}

// problem is an answer that is not 2xx.
type problem struct {
	status int
	code   string
	text   string
	wait   time.Duration
	extra  *clienttool.Message // its fields go beside the error's
}

func (p *problem) Error() string { return p.text }

func invalid(format string, a ...any) *problem {
	return &problem{status: http.StatusBadRequest, code: "INVALID_REQUEST", text: fmt.Sprintf(format, a...)}
}

// problemFor maps what the hub says to a status.
func problemFor(err error, p clienttool.Peer) *problem {
	var pr *problem
	if errors.As(err, &pr) {
		return pr
	}
	var r *clienttool.RefusedError
	if !errors.As(err, &r) {
		return &problem{status: http.StatusInternalServerError, code: "INTERNAL_ERROR", text: "internal error"}
	}
	out := &problem{text: r.Err.Error(), wait: r.RetryAfter}
	switch r.Code {
	case clienttool.CodeUnauthorized:
		out.status, out.code = http.StatusForbidden, "FORBIDDEN"
		if p.Principal == "" {
			out.status, out.code = http.StatusUnauthorized, "UNAUTHORIZED"
		}
	case clienttool.CodeConflict:
		out.status, out.code = http.StatusConflict, "CONFLICT"
	case clienttool.CodeSuperseded:
		out.status = http.StatusNoContent
	case clienttool.CodeNotFound:
		out.status, out.code = http.StatusNotFound, "NOT_FOUND"
	case clienttool.CodeLimit, clienttool.CodeRateLimited:
		out.status, out.code = http.StatusTooManyRequests, "RATE_LIMITED"
		out.wait = max(out.wait, time.Second)
	case clienttool.CodeShutdown:
		out.status, out.code = http.StatusServiceUnavailable, "UNAVAILABLE"
		out.wait = max(out.wait, time.Second)
	case clienttool.CodeTooLarge:
		out.status, out.code = http.StatusRequestEntityTooLarge, "TOO_LARGE"
	default:
		out.status, out.code = http.StatusBadRequest, "INVALID_REQUEST"
	}
	return out
}

func reply(w http.ResponseWriter, status int, body any) {
	b, err := json.Marshal(body)
	if err != nil {
		status, b = http.StatusInternalServerError, []byte(`{"error":"internal error","code":"INTERNAL_ERROR"}`)
	}
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	w.Write(append(b, '\n'))
}

func (p *problem) write(w http.ResponseWriter) {
	if p.wait > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(p.wait.Seconds()))))
	}
	if p.status == http.StatusNoContent {
		w.WriteHeader(p.status)
		return
	}
	body := struct {
		*clienttool.Message
		Error string `json:"error"`
		Code  string `json:"code"`
	}{p.extra, p.text, p.code}
	reply(w, p.status, body)
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
	rc := http.NewResponseController(w)
	rc.SetReadDeadline(time.Now().Add(s.opt.BodyTimeout)) // what cannot set one is limited by the server
	defer rc.SetReadDeadline(time.Time{})
	b, err := io.ReadAll(http.MaxBytesReader(w, r.Body, s.opt.MaxBody))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return nil, &problem{status: http.StatusRequestEntityTooLarge, code: "TOO_LARGE", text: fmt.Sprintf("the body is larger than %d bytes", s.opt.MaxBody)}
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

// Register handles POST /register.
func (s *Handlers) Register(w http.ResponseWriter, r *http.Request) {
	var in struct {
		SessionID string                      `json:"sessionID"`
		ClientID  string                      `json:"clientID"`
		Tools     []clienttool.ToolDefinition `json:"tools"`
		Mode      string                      `json:"mode"`
	}
	s.handle(w, r, func() (*clienttool.Message, error) {
		if err := s.decode(w, r, &in); err != nil {
			return nil, err
		}
		if in.ClientID == "" {
			return nil, invalid("clientID is required")
		}
		return &clienttool.Message{Type: clienttool.TypeRegister, SessionID: in.SessionID, ClientID: in.ClientID, Tools: in.Tools, Mode: in.Mode}, nil
	}, func(_ clienttool.Peer, m *clienttool.Message) error {
		status := http.StatusOK
		if len(in.Tools) > 0 && len(m.ToolIDs) == 0 {
			status = http.StatusUnprocessableEntity
		}
		out := map[string]any{"registered": m.ToolIDs}
		if len(m.Names) > 0 {
			out["names"] = m.Names
		}
		if len(m.Rejected) > 0 {
			out["rejected"] = m.Rejected
		}
		if status != http.StatusOK {
			out["error"], out["code"] = "no tool was registered: "+m.Rejected[0].Error, "INVALID_REQUEST"
		}
		reply(w, status, out)
		return nil
	})
}

// Unregister handles DELETE and POST /unregister. Some proxies drop the body of a
// DELETE: clientID and toolIDs (several, or with commas) may be in the query.
func (s *Handlers) Unregister(w http.ResponseWriter, r *http.Request) {
	var in struct {
		ClientID string   `json:"clientID"`
		ToolIDs  []string `json:"toolIDs"`
	}
	s.handle(w, r, func() (*clienttool.Message, error) {
		b, err := s.body(w, r)
		if err != nil {
			return nil, err
		}
		q := r.URL.Query()
		in.ClientID = q.Get("clientID")
		for _, v := range q["toolIDs"] {
			in.ToolIDs = append(in.ToolIDs, strings.Split(v, ",")...)
		}
		if len(b) > 0 {
			if err := json.Unmarshal(b, &in); err != nil {
				return nil, invalid("invalid JSON body: %v", err)
			}
		}
		if in.ClientID == "" {
			return nil, invalid("clientID is required")
		}
		return &clienttool.Message{Type: clienttool.TypeUnregister, ClientID: in.ClientID, ToolIDs: in.ToolIDs}, nil
	}, func(_ clienttool.Peer, m *clienttool.Message) error {
		reply(w, http.StatusOK, map[string]any{"success": true, "unregistered": m.ToolIDs})
		return nil
	})
}

// Result handles POST /result, {requestID, result:{status,…}} or {requestID, status, …}.
func (s *Handlers) Result(w http.ResponseWriter, r *http.Request) {
	s.handle(w, r, func() (*clienttool.Message, error) {
		b, err := s.body(w, r)
		if err != nil {
			return nil, err
		}
		var id struct {
			RequestID string `json:"requestID"`
		}
		if err := json.Unmarshal(b, &id); err != nil {
			return nil, invalid("invalid JSON body: %v", err)
		}
		if id.RequestID == "" {
			return nil, invalid("requestID is required")
		}
		m, err := clienttool.DecodeMessage(b, clienttool.DecodeLimits{MaxBytes: -1})
		if err != nil {
			return nil, invalid("%v", err)
		}
		if m.Type != clienttool.TypeResult {
			return nil, invalid("the body is not a result")
		}
		return m, nil
	}, func(_ clienttool.Peer, m *clienttool.Message) error {
		if pr := verdictProblem(m); pr != nil {
			return pr
		}
		out := map[string]any{"success": true}
		if m.Verdict == clienttool.VerdictDuplicate {
			out["duplicate"] = true
		}
		reply(w, http.StatusOK, out)
		return nil
	})
}

// verdictProblem is the answer for a verdict that is no success; nil for success.
func verdictProblem(m *clienttool.Message) *problem {
	switch m.Verdict {
	case clienttool.VerdictAccepted, clienttool.VerdictDuplicate:
		return nil
	case clienttool.VerdictTimeout:
		return &problem{status: http.StatusGone, code: "TIMEOUT", text: "The call had timed out"}
	case clienttool.VerdictCancelled:
		return &problem{status: http.StatusGone, code: "CANCELLED", text: "The call had ended"}
	case clienttool.VerdictInvalid:
		return invalid("The result is not valid")
	case clienttool.VerdictTooLarge:
		return &problem{status: http.StatusRequestEntityTooLarge, code: "TOO_LARGE", text: "The result is too large"}
	}
	return &problem{status: http.StatusNotFound, code: "NOT_FOUND", text: "Unknown request ID"}
}

// Tools handles GET /tools/{clientID}.
func (s *Handlers) Tools(w http.ResponseWriter, r *http.Request) {
	p, ok := s.peer(w, r)
	if !ok {
		return
	}
	id := r.PathValue("clientID")
	if err := clienttool.CheckClientID(id); err != nil {
		invalid("%v", err).write(w)
		return
	}
	if err := s.hub.Check(r.Context(), p, clienttool.OpList, clienttool.Target{ClientID: id}); err != nil && p.Principal == "" {
		problemFor(err, p).write(w)
		return
	}
	reply(w, http.StatusOK, s.hub.List(r.Context(), p, id))
}

// AllTools handles GET /tools.
func (s *Handlers) AllTools(w http.ResponseWriter, r *http.Request) {
	p, ok := s.peer(w, r)
	if !ok {
		return
	}
	if err := s.hub.Check(r.Context(), p, clienttool.OpListAll, clienttool.Target{}); err != nil && p.Principal == "" {
		problemFor(err, p).write(w)
		return
	}
	reply(w, http.StatusOK, s.hub.ListAll(r.Context(), p))
}

// Ticket handles POST /ticket, {clientID?}: one ticket for the peer that asks.
func (s *Handlers) Ticket(w http.ResponseWriter, r *http.Request) {
	p, ok := s.peer(w, r)
	if !ok {
		return
	}
	var in struct {
		ClientID string `json:"clientID"`
	}
	if err := s.decode(w, r, &in); err != nil {
		problemFor(err, p).write(w)
		return
	}
	if p.ClientID == "" {
		p.ClientID = in.ClientID
	}
	if err := s.hub.Check(r.Context(), p, clienttool.OpAttach, clienttool.Target{ClientID: p.ClientID}); err != nil {
		problemFor(err, p).write(w)
		return
	}
	id, err := s.opt.Tickets.Issue(p)
	if err != nil {
		(&problem{status: http.StatusTooManyRequests, code: "RATE_LIMITED", text: err.Error(), wait: time.Second}).write(w)
		return
	}
	reply(w, http.StatusOK, map[string]string{"ticket": id})
}

// Execute handles POST /execute.
func (s *Handlers) Execute(w http.ResponseWriter, r *http.Request) {
	p, ok := s.peer(w, r)
	if !ok {
		return
	}
	var in struct {
		ToolID    string          `json:"toolID"`
		Tool      string          `json:"tool"`
		RequestID string          `json:"requestID"`
		SessionID string          `json:"sessionID"`
		MessageID string          `json:"messageID"`
		CallID    string          `json:"callID"`
		Input     json.RawMessage `json:"input"`
		Timeout   float64         `json:"timeout"` // milliseconds
	}
	if err := s.decode(w, r, &in); err != nil {
		problemFor(err, p).write(w)
		return
	}
	if in.ToolID == "" {
		in.ToolID = in.Tool
	}
	if in.ToolID == "" {
		invalid("toolID is required").write(w)
		return
	}
	if err := s.hub.Check(r.Context(), p, clienttool.OpExecute, clienttool.Target{Tool: in.ToolID, SessionID: in.SessionID}); err != nil || p.Principal == "" {
		if err == nil {
			err = &clienttool.RefusedError{Code: clienttool.CodeUnauthorized, Err: errors.New("anonymous peers may not run tools")}
		}
		problemFor(err, p).write(w)
		return
	}
	res, err := s.hub.Execute(r.Context(), clienttool.CallRequest{
		Tool: in.ToolID, RequestID: in.RequestID, SessionID: in.SessionID, MessageID: in.MessageID, CallID: in.CallID,
		Input: in.Input, Timeout: time.Duration(min(max(in.Timeout, 0), 1e9)) * time.Millisecond,
	})
	if err != nil {
		if r.Context().Err() == nil {
			callProblem(err).write(w)
		}
		return
	}
	reply(w, http.StatusOK, struct {
		Status string `json:"status"`
		*clienttool.ToolResult
	}{clienttool.StatusSuccess, res})
}

func callProblem(err error) *problem {
	var e *clienttool.CallError
	if !errors.As(err, &e) {
		return problemFor(err, clienttool.Peer{})
	}
	p := &problem{text: e.ModelText(), wait: e.RetryAfter}
	switch e.Code {
	case clienttool.CodeTimeout, clienttool.CodeHeartbeat:
		p.status, p.code = http.StatusGatewayTimeout, "TIMEOUT"
	case clienttool.CodeUnknownTool, clienttool.CodeToolChanged:
		p.status, p.code = http.StatusNotFound, "NOT_FOUND"
	case clienttool.CodeDuplicate:
		p.status, p.code = http.StatusConflict, "CONFLICT"
	case clienttool.CodeInvalidInput:
		p.status, p.code = http.StatusUnprocessableEntity, "INVALID_REQUEST"
	case clienttool.CodeRateLimited:
		p.status, p.code = http.StatusTooManyRequests, "RATE_LIMITED"
	case clienttool.CodeTooLarge:
		p.status, p.code = http.StatusRequestEntityTooLarge, "TOO_LARGE"
	case clienttool.CodeToolError, clienttool.CodeBadResult, clienttool.CodeDenied:
		p.status, p.code = http.StatusBadGateway, "TOOL_ERROR"
	default:
		p.status, p.code, p.wait = http.StatusServiceUnavailable, "UNAVAILABLE", max(p.wait, time.Second)
	}
	return p
}

// Message handles POST /message: any message of a client. The header
// Clienttool-Client says whose it is, and Clienttool-Gen the generation of its
// stream. A hello is answered with the stream itself; the others with the hub's
// reply or 202.
func (s *Handlers) Message(w http.ResponseWriter, r *http.Request) {
	p, ok := s.peer(w, r)
	if !ok {
		return
	}
	b, err := s.body(w, r)
	var m *clienttool.Message
	if err == nil {
		if m, err = clienttool.DecodeMessage(b, clienttool.DecodeLimits{MaxBytes: -1}); err != nil {
			err = invalid("%v", err)
		}
	}
	if err != nil {
		problemFor(err, p).write(w)
		return
	}
	if m.Type == clienttool.TypeHello {
		s.stream(w, r, p, m, clienttool.Seen{})
		return
	}
	if m.ClientID == "" {
		m.ClientID = r.Header.Get("Clienttool-Client")
	}
	m.Gen, _ = strconv.ParseUint(r.Header.Get("Clienttool-Gen"), 10, 64) // none is 0
	rep, err := s.hub.Handle(r.Context(), p, m)
	switch {
	case err != nil:
		problemFor(err, p).write(w)
	case rep == nil:
		w.WriteHeader(http.StatusAccepted)
	case rep.Type == clienttool.TypeAck:
		if pr := verdictProblem(rep); pr != nil {
			pr.extra = rep
			pr.write(w)
			return
		}
		fallthrough
	default:
		reply(w, http.StatusOK, rep)
	}
}

// Pending handles GET /pending/{clientID}: a stream for a client that knows no
// hello. It is told apart from another page of the same id by its Last-Event-ID.
func (s *Handlers) Pending(w http.ResponseWriter, r *http.Request) {
	p, ok := s.peer(w, r)
	if !ok {
		return
	}
	id := r.PathValue("clientID")
	if id == "" {
		invalid("clientID is required").write(w)
		return
	}
	if p.ClientID != "" && p.ClientID != id {
		problemFor(&clienttool.RefusedError{Code: clienttool.CodeUnauthorized, Err: errors.New("that is another client's id")}, p).write(w)
		return
	}
	p.ClientID, p.Legacy = id, true
	hello := &clienttool.Message{Type: clienttool.TypeHello, SessionID: r.URL.Query().Get("sessionID"),
		Hello: &clienttool.Hello{Instance: r.URL.Query().Get("instance")}}
	seen, ours := s.seen(r.Header.Get("Last-Event-ID"))
	if !ours {
		// It has seen another process of this host: without a lease it must register again.
		if _, known := s.hub.Client(id); !known {
			seen.Gen = 1
		}
	}
	s.stream(w, r, p, hello, seen)
}

// seen reads an event id; ours is false for one that another process has given.
func (s *Handlers) seen(id string) (seen clienttool.Seen, ours bool) {
	if id == "" || len(id) > 64 {
		return seen, id == ""
	}
	parts := strings.Split(id, ".")
	if len(parts) != 3 || parts[0] != s.epoch {
		return seen, false
	}
	gen, err1 := strconv.ParseUint(parts[1], 10, 64)
	seq, err2 := strconv.ParseUint(parts[2], 10, 64)
	if err1 != nil || err2 != nil {
		return seen, false
	}
	return clienttool.Seen{Gen: gen, Seq: seq}, true
}

// stream attaches a client and writes to it until either side ends.
func (s *Handlers) stream(w http.ResponseWriter, r *http.Request, p clienttool.Peer, hello *clienttool.Message, seen clienttool.Seen) {
	st := newStream(w, s.opt.WriteTimeout, s.epoch, p.Legacy)
	att, err := s.hub.Attach(r.Context(), p, hello, seen, st)
	if err != nil {
		pr := problemFor(err, p)
		if !p.Legacy {
			pr.extra = clienttool.Bye(err)
		}
		pr.write(w)
		return
	}
	defer func() {
		att.Detach(false)
		<-att.Done()
	}()
	if err := st.open(att.Gen()); err != nil {
		st.Close(err)
		return
	}
	select {
	case <-r.Context().Done():
	case <-att.Done():
	}
	// Send may hang in a write to a client that does not read.
	st.Close(context.Cause(r.Context()))
}
