package httptransport

import (
	"errors"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/agenttool/tool/clienttool"
)

// Guard decides who a request comes from and whether a browser may have sent it.
// The zero value takes every request for anonymous, which a hub refuses unless
// Options.AllowAnonymous is set.
type Guard struct {
	// Authenticate returns who sent a request; an error refuses it with 401. Nil:
	// everybody is anonymous.
	Authenticate func(r *http.Request) (clienttool.Peer, error)

	// Tickets, if not nil, are taken from the query parameter "ticket" in place of
	// Authenticate, for EventSource and WebSocket, which cannot send headers.
	Tickets *Tickets

	// Origins are the web origins, as in "https://app.example.com", whose pages may
	// use this host beside pages of the host itself. Pages of others are refused,
	// whatever cookies they come with.
	Origins []string

	// Hosts are the names that this host answers to, without port. When it is empty,
	// requests that arrive over a loopback address must name a loopback host: a web
	// page could otherwise reach a local program under its own name.
	Hosts []string
}

var (
	errOrigin = errors.New("requests from this web page are not accepted")
	errHost   = errors.New("this host does not answer to that name")
	errTicket = errors.New("the ticket is not valid")

	errAuthenticate = errors.New("authentication failed")
)

// Peer returns who sent r, or the status to refuse it with.
func (g *Guard) Peer(r *http.Request) (clienttool.Peer, int, error) {
	if err := g.checkHost(r); err != nil {
		return clienttool.Peer{}, http.StatusForbidden, err
	}
	if !g.originAllowed(r) {
		return clienttool.Peer{}, http.StatusForbidden, errOrigin
	}
	var p clienttool.Peer
	if ticket := r.URL.Query().Get("ticket"); g.Tickets != nil && ticket != "" {
		var ok bool
		if p, ok = g.Tickets.redeem(ticket, foreignOrigin(r)); !ok {
			return p, http.StatusUnauthorized, errTicket
		}
	} else if g.Authenticate != nil {
		var err error
		if p, err = g.authenticate(r); err != nil {
			return clienttool.Peer{}, http.StatusUnauthorized, err
		}
	}
	if p.RemoteAddr == "" {
		p.RemoteAddr = r.RemoteAddr
	}
	return p, 0, nil
}

// authenticate asks the host's own code; a panic in it lets nobody in.
func (g *Guard) authenticate(r *http.Request) (p clienttool.Peer, err error) {
	returned := false
	defer func() {
		if v := recover(); v != nil || !returned {
			err = errAuthenticate
		}
	}()
	p, err = g.Authenticate(r)
	returned = true
	return p, err
}

func (g *Guard) checkHost(r *http.Request) error {
	name := hostname(r.Host)
	if len(g.Hosts) > 0 {
		if !slices.ContainsFunc(g.Hosts, func(h string) bool { return strings.EqualFold(h, name) }) {
			return errHost
		}
		return nil
	}
	addr, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if addr == nil || !loopback(hostname(addr.String())) || loopback(name) {
		return nil
	}
	return errHost
}

func hostname(hostport string) string {
	if h, _, err := net.SplitHostPort(hostport); err == nil {
		return h
	}
	return strings.Trim(hostport, "[]")
}

func loopback(name string) bool {
	if strings.EqualFold(name, "localhost") {
		return true
	}
	ip := net.ParseIP(name)
	return ip != nil && ip.IsLoopback()
}

// originAllowed reports whether r comes from no web page, or from one that may.
func (g *Guard) originAllowed(r *http.Request) bool {
	origin := r.Header.Get("Origin")
	if origin == "" {
		// A browser that sends no Origin (a GET of the same site, an old one) says this instead.
		site := r.Header.Get("Sec-Fetch-Site")
		return site == "" || site == "same-origin" || site == "none"
	}
	if g.trusted(origin) {
		return true
	}
	return sameOrigin(origin, r)
}

// sameOrigin reports whether origin is this host. The scheme is not compared: behind
// a proxy that ends TLS nobody here knows it.
func sameOrigin(origin string, r *http.Request) bool {
	u, err := url.Parse(origin)
	return err == nil && u.Host != "" && u.User == nil && (u.Scheme == "http" || u.Scheme == "https") && strings.EqualFold(u.Host, r.Host)
}

// foreignOrigin is the origin of the page that sent r, if it is not of this host: a
// browser leaves it out of some requests to the page's own host.
func foreignOrigin(r *http.Request) string {
	if origin := r.Header.Get("Origin"); !sameOrigin(origin, r) {
		return strings.ToLower(origin)
	}
	return ""
}

func (g *Guard) trusted(origin string) bool {
	return slices.ContainsFunc(g.Origins, func(o string) bool { return strings.EqualFold(strings.TrimSuffix(o, "/"), origin) })
}

// cors answers a browser's question whether a page of another origin may; it
// reports whether that was all.
func (g *Guard) cors(w http.ResponseWriter, r *http.Request) (done bool) {
	origin := r.Header.Get("Origin")
	if origin == "" {
		return false
	}
	h := w.Header()
	h.Add("Vary", "Origin")
	if g.trusted(origin) {
		h.Set("Access-Control-Allow-Origin", origin)
		h.Set("Access-Control-Allow-Credentials", "true")
	}
	if r.Method != http.MethodOptions {
		return false
	}
	if g.trusted(origin) {
		h.Set("Access-Control-Allow-Methods", "GET, POST, DELETE")
		h.Set("Access-Control-Allow-Headers", "Content-Type, Authorization, Last-Event-ID, Clienttool-Client, Clienttool-Gen")
		h.Set("Access-Control-Max-Age", "600")
	}
	w.WriteHeader(http.StatusNoContent)
	return true
}
