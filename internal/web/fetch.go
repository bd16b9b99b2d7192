package web

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"
)

// Limits of a fetch.
const (
	// DefaultTimeout is used when a request names none.
	DefaultTimeout = 30 * time.Second
	// MaxTimeout is the longest time a request gets.
	MaxTimeout = 120 * time.Second
	// MaxHops is how many requests one fetch makes at most: the first and
	// nine redirects.
	MaxHops = 10
)

// Sentinels of [Fetcher.Fetch]. Errors of [Request.Check] and of the context
// come back wrapped as they are.
var (
	// ErrDenied means that the guard refused a hop, or that a hop had to be
	// asked about and there was nobody to ask.
	ErrDenied = errors.New("web: not allowed")
	// ErrTimeout means that the request's time was over.
	ErrTimeout = errors.New("web: out of time")
	// ErrRedirect means a loop, too many hops, or a Location that cannot be
	// followed.
	ErrRedirect = errors.New("web: bad redirect")
	// ErrResponse means a response that cannot be read.
	ErrResponse = errors.New("web: bad response")
)

// Resolver looks hosts up. [net.Resolver] is one.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// Fetcher fetches pages. The zero value is ready to use; it holds no state,
// keeps no connections and no cookies, and is safe for concurrent use.
type Fetcher struct {
	// Guard classifies targets and addresses.
	Guard Guard
	// Resolver looks names up, once per hop. Nil means net.DefaultResolver.
	Resolver Resolver
	// Transport, if not nil, makes the requests instead of the guarded
	// dialer. The text of URLs is still checked on every hop, and with a
	// Resolver also what it says of their hosts, if it knows them; but which
	// addresses are reached is then the transport's business.
	Transport http.RoundTripper
	// Limits bounds bodies. Zero fields mean the defaults.
	Limits Limits
	// RootCAs verifies the certificates of servers, which is never switched
	// off. Nil means the system's. It is not used with Transport.
	RootCAs *x509.CertPool
	// UserAgent is sent with every request; empty means "agenttool".
	UserAgent string
	// Pace, if not nil, bounds how many requests are made to a host, at a time
	// and in a minute. Waiting for a turn counts as time of the fetch.
	Pace *Pace
}

// Hop is one request of a fetch, before it is made.
type Hop struct {
	// Target is what would be requested.
	Target *Target
	// From is the hop that redirected here; nil for the first one.
	From *Target
	// Decision is the guard's: Allow, or Ask with a reason. What is denied is
	// never shown to a check.
	Decision Decision
	// Moved says why the redirect that leads here needs a question even where
	// the target itself does not; it is part of Decision. Empty if it does not.
	Moved string
	// Addrs is empty before the lookup. A hop is shown a second time, with
	// the answers, if they need to be asked about.
	Addrs []netip.Addr
}

// Request says what to fetch.
type Request struct {
	// URL is the text of the URL; see [Parse].
	URL string
	// Timeout is the time from the first lookup to the last byte, all hops
	// together; the time spent in Check does not count. Zero and less means
	// DefaultTimeout; more than MaxTimeout means MaxTimeout.
	Timeout time.Duration
	// Header is sent along to the origin of URL, and dropped when a redirect
	// leaves it. Credentials, cookies, Host, Referer and the headers of the
	// connection are never sent. Accept and Accept-Language are kept
	// everywhere. Nil sends none.
	Header http.Header
	// Approved lists origins, as [Target.Origin] writes them, for which what
	// needs to be asked has already been approved. It cannot approve what is
	// denied, nor a redirect from one host to another.
	Approved []string
	// Check, if not nil, is called for every hop before its name is looked
	// up, and once more if its addresses need to be asked about. An error
	// ends the fetch and is returned wrapped; nil lets the hop through, which
	// for a decision to ask is an approval. Without a check, whatever needs
	// to be asked and is not in Approved ends with ErrDenied.
	Check func(ctx context.Context, hop Hop) error
}

// Response is what came back.
type Response struct {
	// Target is what answered, after redirects.
	Target *Target
	// Hops are the targets in the order they were requested; the last one is
	// Target.
	Hops []*Target
	// Status is the HTTP status. A status that reports an error is no error
	// of Fetch.
	Status int
	// Header is the header of the response. Trailers are not read.
	Header http.Header
	// Body is the decompressed body, cut to the limits.
	Body []byte
	// Truncated says which limit cut the body; empty means it is whole.
	Truncated string
}

// Fetch makes a request and follows its redirects. Each hop passes the guard's
// reading of the text, Check, and the guard's reading of all addresses; only a
// checked address is connected to. A redirect to another origin, or from https
// to http, needs to be asked about; adding "www." or going from http to https
// does not.
//
// A request whose connection was reset before an answer is made once more.
//
// Errors match ErrURL, ErrDenied, ErrTimeout, ErrRedirect, ErrResponse, ErrPace,
// an error of Check or of ctx, or come from the network.
func (f *Fetcher) Fetch(ctx context.Context, req Request) (*Response, error) {
	target, err := Parse(req.URL)
	if err != nil {
		return nil, err
	}
	timeout := req.Timeout
	if timeout <= 0 {
		timeout = DefaultTimeout
	}
	run := &run{fetcher: f, req: req, parent: ctx, clock: newClock(ctx, min(timeout, MaxTimeout))}
	defer run.clock.stop()
	resp, err := run.follow(target)
	if err != nil && ctx.Err() == nil && errors.Is(context.Cause(run.clock.ctx), ErrTimeout) {
		return nil, fmt.Errorf("%w after %s: %s", ErrTimeout, min(timeout, MaxTimeout), run.progress())
	}
	return resp, err
}

// run is one call of Fetch.
type run struct {
	fetcher *Fetcher
	req     Request
	parent  context.Context
	clock   *clock
	hops    []*Target
	body    *bodyReader
}

// progress says how far the fetch came when its time was over.
func (r *run) progress() string {
	host := r.hops[len(r.hops)-1].Host
	if r.body == nil {
		return "no answer from " + host
	}
	return fmt.Sprintf("%s had sent %d bytes", host, r.body.wire.n)
}

func (r *run) follow(target *Target) (*Response, error) {
	for {
		if slices.ContainsFunc(r.hops, func(t *Target) bool { return t.String() == target.String() }) {
			return nil, fmt.Errorf("%w: %s leads back to itself", ErrRedirect, target)
		}
		r.hops = append(r.hops, target)
		resp, location, err := r.hop(target)
		if err != nil || location == "" {
			return resp, err
		}
		if len(r.hops) == MaxHops {
			return nil, fmt.Errorf("%w: more than %d", ErrRedirect, MaxHops-1)
		}
		next, err := target.Follow(location)
		if err != nil {
			return nil, fmt.Errorf("%w from %s: %w", ErrRedirect, target.Host, err)
		}
		target = next
	}
}

// hop makes one request. A location that is not empty is where it leads.
func (r *run) hop(target *Target) (*Response, string, error) {
	hop := Hop{Target: target, Decision: r.fetcher.Guard.DecideTarget(target)}
	moved := ""
	if n := len(r.hops); n > 1 {
		hop.From = r.hops[n-2]
		moved = leaves(hop.From, target)
	}
	if moved != "" {
		hop.Moved = moved
		hop.Decision = hop.Decision.stricter(Ask, moved)
	}
	if err := r.check(hop, moved != ""); err != nil {
		return nil, "", err
	}
	transport := r.fetcher.Transport
	if transport == nil || r.fetcher.Resolver != nil {
		addrs, err := r.resolve(target)
		switch {
		case err == nil:
			if err := r.checkAddrs(hop, addrs); err != nil {
				return nil, "", err
			}
		case transport == nil:
			return nil, "", err
		}
		if transport == nil {
			guarded := newTransport(target, addrs, r.fetcher.RootCAs)
			defer guarded.CloseIdleConnections()
			transport = guarded
		}
	}
	if r.fetcher.Pace != nil {
		done, err := r.fetcher.Pace.wait(r.clock.ctx, target.Host)
		if err != nil {
			return nil, "", err
		}
		defer done()
	}
	resp, location, err := r.roundTrip(transport, target)
	if isReset(err) && r.clock.ctx.Err() == nil {
		resp, location, err = r.roundTrip(transport, target)
	}
	return resp, location, err
}

// checkAddrs decides about the answers of the lookup of a hop's host.
func (r *run) checkAddrs(hop Hop, addrs []netip.Addr) error {
	target := hop.Target
	found := Hop{Target: target, From: hop.From, Addrs: addrs, Decision: r.fetcher.Guard.DecideAddrs(target, addrs)}
	// What the URL said openly has been asked about already.
	asked := hop.Decision.Action == Ask && (target.Addr.IsValid() || isLocalhost(target.Host))
	if found.Decision.Action == Deny || found.Decision.Action == Ask && !asked {
		return r.check(found, false)
	}
	return nil
}

// isReset reports whether a connection was closed before it brought an answer, as
// servers do that are just being restarted.
func isReset(err error) bool {
	return err != nil && !errors.Is(err, ErrResponse) &&
		(errors.Is(err, errReset) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF))
}

// check applies the guard's decision and shows the hop to the caller. The time
// that takes is not the fetch's.
func (r *run) check(hop Hop, moved bool) error {
	d := hop.Decision
	if d.Action == Deny {
		return fmt.Errorf("%w: %s", ErrDenied, d.Reason)
	}
	approved := !moved && slices.Contains(r.req.Approved, d.Origin)
	if r.req.Check == nil {
		if d.Action == Ask && !approved {
			return fmt.Errorf("%w without approval of %s: %s", ErrDenied, d.Origin, d.Reason)
		}
		return nil
	}
	if approved {
		hop.Decision = Decision{Action: Allow, Origin: d.Origin}
	}
	if !r.clock.pause() {
		return context.Cause(r.clock.ctx)
	}
	defer r.clock.resume()
	if err := r.req.Check(r.parent, hop); err != nil {
		return fmt.Errorf("web: %s: %w", hop.Target.Origin(), err)
	}
	return r.parent.Err()
}

// leaves says why a redirect needs a question of its own: it drops encryption
// or leaves the host. To and from a leading "www." is the same host.
func leaves(from, to *Target) string {
	switch {
	case strings.TrimPrefix(from.Host, "www.") != strings.TrimPrefix(to.Host, "www."):
		return fmt.Sprintf("%s redirects to another host, %s", from.Host, to.Host)
	case from.Scheme == "https" && to.Scheme == "http":
		return fmt.Sprintf("%s redirects from https to http", from.Host)
	case from.Port != to.Port && (from.Port != 80 || to.Port != 443):
		return fmt.Sprintf("%s redirects to another origin, %s", from.Origin(), to.Origin())
	}
	return ""
}

// unsent are headers a caller cannot set: they carry credentials, name
// another host, or belong to the connection.
var unsent = []string{
	"Authorization", "Connection", "Content-Length", "Cookie", "Expect", "Host", "Keep-Alive", "Origin",
	"Proxy-Authorization", "Proxy-Connection", "Referer", "Te", "Trailer", "Transfer-Encoding", "Upgrade", "User-Agent",
	"Accept-Encoding",
}

func (r *run) header(target *Target) http.Header {
	h := http.Header{}
	same := target.Origin() == r.hops[0].Origin()
	for _, hop := range r.hops {
		same = same && hop.Origin() == target.Origin()
	}
	for key, values := range r.req.Header {
		key = http.CanonicalHeaderKey(key)
		if slices.Contains(unsent, key) || !same && key != "Accept" && key != "Accept-Language" {
			continue
		}
		h[key] = slices.Clone(values)
	}
	agent := r.fetcher.UserAgent
	if agent == "" {
		agent = "agenttool"
	}
	h.Set("User-Agent", agent)
	// Asked for by name, so that net/http leaves the body compressed and both
	// its sizes can be counted.
	h.Set("Accept-Encoding", "gzip")
	return h
}

func (r *run) roundTrip(transport http.RoundTripper, target *Target) (*Response, string, error) {
	u := target.url
	request := (&http.Request{
		Method: http.MethodGet, URL: &u, Host: u.Host, Header: r.header(target),
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}).WithContext(r.clock.ctx)
	response, err := transport.RoundTrip(request)
	if err != nil {
		return nil, "", fmt.Errorf("web: %s: %w", target.Origin(), err)
	}
	defer response.Body.Close()
	if location := response.Header.Get("Location"); location != "" {
		switch response.StatusCode {
		case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther,
			http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
			return nil, location, nil
		}
	}
	r.body = newBodyReader(response.Body, r.fetcher.Limits)
	body, truncated, err := r.body.read(response.Header.Get("Content-Encoding"))
	if err != nil {
		return nil, "", fmt.Errorf("web: %s: %w", target.Origin(), err)
	}
	return &Response{
		Target: target, Hops: r.hops, Status: response.StatusCode, Header: response.Header,
		Body: body, Truncated: truncated,
	}, "", nil
}
