package httptransport

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/agenttool/tool/clienttool"
)

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
		for id, name := range m.Names {
			// A client that finds its names by taking the prefix off needs no list.
			if id != "client_"+in.ClientID+"_"+name {
				out["names"] = m.Names
				break
			}
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

// Ticket handles POST /ticket, {clientID?}: one ticket for the peer that asks, bound
// to that client, if it names one, and to the page that it is.
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
	if r.URL.Query().Has("ticket") { // or one that leaked would last for ever
		(&problem{status: http.StatusForbidden, code: "FORBIDDEN", text: "a ticket is not good for another"}).write(w)
		return
	}
	id, err := s.opt.Tickets.issue(ticket{peer: p, bound: true, from: foreignOrigin(r)})
	if err != nil {
		(&problem{status: http.StatusTooManyRequests, code: "RATE_LIMITED", text: err.Error(), wait: time.Second}).write(w)
		return
	}
	reply(w, http.StatusOK, map[string]string{"ticket": id})
}

// HostTools handles GET /host-tools/{clientID}?sessionID=…: the tools of the host
// that a running tool of the client may invoke. The session may be left out if the
// client's tools are bound to one only.
func (s *Handlers) HostTools(w http.ResponseWriter, r *http.Request) {
	p, ok := s.peer(w, r)
	if !ok {
		return
	}
	id := r.PathValue("clientID")
	if err := clienttool.CheckClientID(id); err != nil {
		invalid("%v", err).write(w)
		return
	}
	defs, err := s.hub.HostTools(r.Context(), p, id, r.URL.Query().Get("sessionID"))
	if err != nil {
		problemFor(err, p).write(w)
		return
	}
	if defs == nil {
		defs = []clienttool.ToolDefinition{}
	}
	reply(w, http.StatusOK, defs)
}
