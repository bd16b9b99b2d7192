package wstransport

import (
	"context"
	"encoding/json"
	"net/http"
	"path"
	"time"

	"github.com/agenttool/tool/clienttool"
	"github.com/agenttool/tool/clienttool/httptransport"
	"github.com/coder/websocket"
)

// Options configure [Handler]. The zero value is safe: a hub refuses the anonymous
// peers that it lets through, and pages of other origins are refused.
type Options struct {
	httptransport.Guard

	MaxFrame     int           // bytes [4 MiB and 64 KiB]
	PingInterval time.Duration // of WebSocket pings to clients of the older protocol [30 s]; <0: none
}

// Handler returns the host's side. It serves /ws/{clientID} and, for clients that
// say hello, /ws, below whatever path it is mounted, taken off or not; a router may
// set the path value "clientID" itself and use any path.
func Handler(h *clienttool.Hub, o Options) http.Handler {
	if o.MaxFrame == 0 {
		o.MaxFrame = clienttool.Limits{}.FrameBytes()
	}
	if o.PingInterval == 0 {
		o.PingInterval = 30 * time.Second
	}
	s := &server{hub: h, opt: o}
	return http.HandlerFunc(s.route)
}

func (s *server) route(w http.ResponseWriter, r *http.Request) {
	if r.PathValue("clientID") == "" {
		dir, id := path.Split(r.URL.Path)
		switch {
		case path.Base(dir) == "ws" && id != "":
			r.SetPathValue("clientID", id)
		case id == "ws":
		default:
			fail(w, http.StatusNotFound, "there is nothing at this path")
			return
		}
	}
	if r.Method != http.MethodGet {
		w.Header().Set("Allow", http.MethodGet)
		fail(w, http.StatusMethodNotAllowed, "this takes GET")
		return
	}
	s.serve(w, r)
}

type server struct {
	hub *clienttool.Hub
	opt Options
}

func (s *server) serve(w http.ResponseWriter, r *http.Request) {
	p, status, err := s.opt.Peer(r)
	if err != nil {
		fail(w, status, err.Error())
		return
	}
	id := r.PathValue("clientID")
	if id != "" {
		if err := clienttool.CheckClientID(id); err != nil {
			fail(w, http.StatusBadRequest, err.Error())
			return
		}
		if p.ClientID != "" && p.ClientID != id {
			fail(w, http.StatusForbidden, "that is another client's id")
			return
		}
		p.ClientID = id
	}
	if err := s.hub.Check(r.Context(), p, clienttool.OpAttach, clienttool.Target{ClientID: id}); err != nil {
		status := http.StatusForbidden
		if p.Principal == "" {
			status = http.StatusUnauthorized
		}
		fail(w, status, err.Error())
		return
	}
	ws, err := websocket.Accept(w, r, &websocket.AcceptOptions{
		Subprotocols:       []string{Protocol},
		InsecureSkipVerify: true, // the guard has looked at the origin
		CompressionMode:    websocket.CompressionDisabled,
	})
	if err != nil {
		return // Accept has answered
	}
	c := newConn(ws, s.opt.MaxFrame)
	p.Legacy = ws.Subprotocol() == ""
	c.lenient = p.Legacy
	if p.Legacy && id == "" {
		c.Close(nil)
		return
	}
	ctx := context.WithoutCancel(r.Context())
	if p.Legacy && s.opt.PingInterval > 0 {
		defer s.ping(ctx, c)()
	}
	s.hub.Serve(ctx, p, c)
}

func fail(w http.ResponseWriter, status int, text string) {
	code := map[int]string{http.StatusUnauthorized: "UNAUTHORIZED", http.StatusForbidden: "FORBIDDEN", http.StatusNotFound: "NOT_FOUND"}[status]
	if code == "" {
		code = "INVALID_REQUEST"
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(map[string]string{"error": text, "code": code})
}

// ping closes the link of a client that does not answer; a browser does so by itself.
func (s *server) ping(ctx context.Context, c *conn) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		t := time.NewTicker(s.opt.PingInterval)
		defer t.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-t.C:
			}
			pctx, end := context.WithTimeout(ctx, 10*time.Second)
			err := c.ws.Ping(pctx)
			end()
			if err != nil {
				c.Close(err)
				return
			}
		}
	}()
	return func() { cancel(); <-done }
}
