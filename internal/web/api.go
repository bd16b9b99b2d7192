package web

import (
	"bytes"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// API calls a service that a host configured. Unlike the pages that a [Fetcher]
// is sent to, its address comes from the host, so it may be on this machine or in a
// private network; everything else is the same: metadata services are out of
// reach, a name that leads to this machine without saying so is refused, bodies are
// bounded, and one deadline covers all. Redirects are never followed, because a key
// would go with them. An API is safe for concurrent use.
type API struct {
	// Base is the URL of the service; see [Parse]. A path in it is kept.
	Base string
	// Client makes the requests, without its cookies and its timeout, and without
	// following redirects. Nil means the guarded dialer.
	Client *http.Client
	// Resolver looks names up where Client is nil; nil means net.DefaultResolver.
	Resolver Resolver
	// RootCAs verify the service where Client is nil; nil means the system's.
	RootCAs *x509.CertPool
	// Key is the secret that Auth makes a header of. It is only sent over https, or to
	// this machine, and is left out of every error.
	Key string
	// Auth returns the name and value of the header for Key; nil: "Authorization",
	// "Bearer " and the key. It is not called without a key.
	Auth func(key string) (name, value string)
	// Limits bounds bodies.
	Limits Limits
}

// APIRequest is one call.
type APIRequest struct {
	Method string // "" is GET
	Path   string // is added to Base
	Query  url.Values
	Header http.Header
	Body   []byte
}

// APIResponse is what came back.
type APIResponse struct {
	Status    int
	Header    http.Header
	Body      []byte
	Truncated string // which limit cut the body; "" if it is whole
}

// ErrBase means that Base cannot be used.
var ErrBase = errors.New("web: bad base URL")

// Do makes a request. A status that reports an error is no error. Where the
// context ended while the body came, the response has what there was and the error
// is not nil. Errors hold neither the key nor the query.
func (a *API) Do(ctx context.Context, req APIRequest) (*APIResponse, error) {
	target, err := a.target(req)
	if err != nil {
		return nil, err
	}
	client, done, err := a.client(ctx, target)
	if err != nil {
		return nil, a.clean(err)
	}
	defer done()
	method := req.Method
	if method == "" {
		method = http.MethodGet
	}
	r, err := http.NewRequestWithContext(ctx, method, target.String(), bytes.NewReader(req.Body))
	if err != nil {
		return nil, fmt.Errorf("%w: %s", ErrBase, a.scrub(err.Error()))
	}
	r.Header.Set("User-Agent", "agenttool")
	for k, v := range req.Header {
		r.Header[http.CanonicalHeaderKey(k)] = v
	}
	r.Header.Set("Accept-Encoding", "gzip")
	if a.Key != "" {
		name, value := "Authorization", "Bearer "+a.Key
		if a.Auth != nil {
			name, value = a.Auth(a.Key)
		}
		r.Header.Set(name, value)
	}
	resp, err := client.Do(r)
	if err != nil {
		return nil, a.clean(err)
	}
	defer resp.Body.Close()
	out := &APIResponse{Status: resp.StatusCode, Header: resp.Header}
	if resp.StatusCode >= 300 && resp.StatusCode < 400 {
		to := "elsewhere"
		if t, err := target.Follow(resp.Header.Get("Location")); err == nil {
			to = "to " + t.Origin()
		}
		return out, fmt.Errorf("%w: the service at %s redirects %s, which is not followed; the host must configure the address itself", ErrRedirect, target.Origin(), to)
	}
	out.Body, out.Truncated, err = newBodyReader(&ctxBody{ctx, resp.Body}, a.Limits).read(resp.Header.Get("Content-Encoding"))
	if err != nil {
		return out, a.clean(err)
	}
	return out, nil
}

// ctxBody says why the reading of a body ended.
type ctxBody struct {
	ctx context.Context
	r   io.Reader
}

func (b *ctxBody) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) && b.ctx.Err() != nil {
		err = context.Cause(b.ctx)
	}
	return n, err
}

func (a *API) target(req APIRequest) (*Target, error) {
	base, err := Parse(a.Base)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrBase, err)
	}
	local := isLocalhost(base.Host) || base.Addr.IsValid() && base.Addr.IsLoopback()
	if a.Key != "" && base.Scheme != "https" && !local {
		return nil, fmt.Errorf("%w: a key is only sent over https", ErrBase)
	}
	text := strings.TrimSuffix(base.Origin()+base.Path(), "/") + req.Path
	if len(req.Query) > 0 {
		text += "?" + req.Query.Encode()
	} else if base.Query() != "" {
		text += "?" + base.Query()
	}
	t, err := Parse(text)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrBase, err)
	}
	return t, nil
}

// client returns what makes the request, and what is to be called after it.
func (a *API) client(ctx context.Context, t *Target) (*http.Client, func(), error) {
	if a.Client != nil {
		c := *a.Client
		c.Jar, c.Timeout = nil, 0
		c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
		return &c, func() {}, nil
	}
	d := Guard{}.DecideTarget(t)
	if d.Action == Deny {
		return nil, nil, fmt.Errorf("%w: %s", ErrDenied, d.Reason)
	}
	addrs, err := lookup(ctx, a.Resolver, t)
	if err != nil {
		return nil, nil, err
	}
	if d := (Guard{}).DecideAddrs(t, addrs); d.Action == Deny {
		return nil, nil, fmt.Errorf("%w: %s", ErrDenied, d.Reason)
	}
	transport := newTransport(t, addrs, a.RootCAs)
	c := &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return c, transport.CloseIdleConnections, nil
}

// clean takes what is nobody's business out of an error and keeps what it matches.
func (a *API) clean(err error) error {
	var ue *url.Error
	if errors.As(err, &ue) {
		err = ue.Err // its text has the URL with the query
	}
	return &cleanError{text: a.scrub(err.Error()), err: err}
}

func (a *API) scrub(text string) string {
	if a.Key != "" {
		text = strings.ReplaceAll(text, a.Key, "[key]")
		text = strings.ReplaceAll(text, url.QueryEscape(a.Key), "[key]")
	}
	return strings.TrimPrefix(text, "web: ")
}

// Scrub returns a text of the service without the key, should it be in it.
func (a *API) Scrub(text string) string { return a.scrub(text) }

type cleanError struct {
	text string
	err  error
}

func (e *cleanError) Error() string { return e.text }

func (e *cleanError) Is(target error) bool { return errors.Is(e.err, target) }

// Timeout reports whether the error is that of a deadline.
func (e *cleanError) Timeout() bool {
	var ne net.Error
	return errors.As(e.err, &ne) && ne.Timeout() || errors.Is(e.err, context.DeadlineExceeded) || errors.Is(e.err, ErrTimeout)
}

// Events calls f with each event of a stream of server-sent events, as far as the
// body goes, until f returns false. The name is "message" if the event has none.
func Events(body []byte, f func(name string, data []byte) bool) {
	name, data := "message", []string(nil)
	dispatch := func() bool {
		ok := len(data) == 0 || f(name, []byte(strings.Join(data, "\n")))
		name, data = "message", nil
		return ok
	}
	text := strings.ReplaceAll(strings.ReplaceAll(string(body), "\r\n", "\n"), "\r", "\n")
	for line := range strings.SplitSeq(text, "\n") {
		key, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case line == "":
			if !dispatch() {
				return
			}
		case key == "event":
			name = value
		case key == "data":
			data = append(data, value)
		}
	}
	dispatch()
}

// RetryAfter reads the header of that name, which holds seconds or a date; 0 if
// there is nothing to wait for. It is at most 30 days.
func RetryAfter(h http.Header, now time.Time) time.Duration {
	const most = 30 * 24 * time.Hour
	value := strings.TrimSpace(h.Get("Retry-After"))
	if d, err := time.ParseDuration(value + "s"); err == nil && d > 0 {
		return min(d, most)
	}
	if at, err := http.ParseTime(value); err == nil && at.After(now) {
		return min(at.Sub(now), most).Round(time.Second)
	}
	return 0
}
