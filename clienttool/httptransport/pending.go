package httptransport

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/agenttool/tool/clienttool"
)

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
	if !canFlush(w) {
		(&problem{status: http.StatusInternalServerError, code: "INTERNAL_ERROR", text: "streaming is not supported here"}).write(w)
		return
	}
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
	if err := st.open(att.Gen(), seen.Seq); err != nil {
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
