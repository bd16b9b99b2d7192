package web

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// answers is a resolver that gives each lookup of a name its next answer; the
// last one stays.
type answers struct {
	mu    sync.Mutex
	names map[string][][]netip.Addr
	asked []string
}

func (a *answers) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asked = append(a.asked, host)
	list := a.names[host]
	if len(list) == 0 {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	if len(list) > 1 {
		a.names[host] = list[1:]
	}
	return list[0], nil
}

func localhost() *answers {
	return &answers{names: map[string][][]netip.Addr{"localhost": {addrs("127.0.0.1")}}}
}

// serve starts a server and returns its origin, by address and by name.
func serve(t *testing.T, h http.HandlerFunc) (byAddr, byName string) {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	u, err := url.Parse(s.URL)
	require.NoError(t, err)
	return s.URL, "http://localhost:" + u.Port()
}

func approve(context.Context, Hop) error { return nil }

func TestFetchNeedsApprovalOfLoopback(t *testing.T) {
	hits := 0
	origin, named := serve(t, func(w http.ResponseWriter, _ *http.Request) { hits++; io.WriteString(w, "hello") })
	f := &Fetcher{Resolver: localhost()}
	for _, o := range []string{origin, named} {
		hits = 0
		_, err := f.Fetch(t.Context(), Request{URL: o + "/"})
		require.ErrorIs(t, err, ErrDenied)
		_, err = f.Fetch(t.Context(), Request{URL: o + "/", Approved: []string{"http://127.0.0.1", "http://localhost:1"}})
		require.ErrorIs(t, err, ErrDenied, "an approval is for one origin")
		require.Zero(t, hits)

		resp, err := f.Fetch(t.Context(), Request{URL: o + "/", Approved: []string{o}})
		require.NoError(t, err)
		assert.Equal(t, "hello", string(resp.Body))
		assert.Equal(t, 200, resp.Status)
		assert.Empty(t, resp.Truncated)
		assert.Equal(t, 1, hits)

		var seen []Hop
		_, err = f.Fetch(t.Context(), Request{URL: o + "/", Check: func(_ context.Context, h Hop) error {
			seen = append(seen, h)
			return nil
		}})
		require.NoError(t, err)
		require.Len(t, seen, 1, "what the URL says openly is asked about once")
		assert.Equal(t, Ask, seen[0].Decision.Action)
	}
}

func TestFetchAsksBeforeTheLookup(t *testing.T) {
	no := errors.New("no")
	names := localhost()
	_, err := (&Fetcher{Resolver: names}).Fetch(t.Context(), Request{URL: "https://example.com/secret",
		Check: func(context.Context, Hop) error { return no }})
	require.ErrorIs(t, err, no)
	assert.Empty(t, names.asked)
}

func TestFetchRebinding(t *testing.T) {
	hits := 0
	_, named := serve(t, func(http.ResponseWriter, *http.Request) { hits++ })
	port := named[strings.LastIndexByte(named, ':'):]
	for name, list := range map[string][]netip.Addr{
		"loop.test":   addrs("127.0.0.1"),
		"six.test":    addrs("::1"),
		"mixed.test":  addrs("1.1.1.1", "127.0.0.1"),
		"mapped.test": addrs("::ffff:127.0.0.1"),
		"meta.test":   addrs("169.254.169.254"),
		"zero.test":   addrs("0.0.0.0"),
		"none.test":   {},
	} {
		names := &answers{names: map[string][][]netip.Addr{name: {list}}}
		origin := "http://" + name + port
		_, err := (&Fetcher{Resolver: names}).Fetch(t.Context(), Request{URL: origin, Approved: []string{origin}, Check: approve})
		require.ErrorIs(t, err, ErrDenied, name)
	}
	require.Zero(t, hits)

	changing := &answers{names: map[string][][]netip.Addr{"localhost": {addrs("127.0.0.1"), addrs("10.0.0.1")}}}
	f := &Fetcher{Resolver: changing}
	_, err := f.Fetch(t.Context(), Request{URL: named, Approved: []string{named}})
	require.NoError(t, err)
	assert.Len(t, changing.asked, 1, "one lookup serves the decision and the connection")
	_, err = f.Fetch(t.Context(), Request{URL: named, Approved: []string{named}})
	require.ErrorIs(t, err, ErrDenied, "nothing of the first call serves the second")
	assert.Equal(t, 1, hits)
}

func TestFetchAsksAboutPrivateAnswers(t *testing.T) {
	names := &answers{names: map[string][][]netip.Addr{"wiki.corp": {addrs("10.1.2.3")}}}
	no := errors.New("no")
	var seen []Hop
	_, err := (&Fetcher{Resolver: names}).Fetch(t.Context(), Request{URL: "https://wiki.corp/", Check: func(_ context.Context, h Hop) error {
		seen = append(seen, h)
		if len(h.Addrs) > 0 {
			return no
		}
		return nil
	}})
	require.ErrorIs(t, err, no)
	require.Len(t, seen, 2)
	assert.Equal(t, Allow, seen[0].Decision.Action)
	assert.Equal(t, Decision{Ask, "wiki.corp is in a private network (10.1.2.3)", "https://wiki.corp"}, seen[1].Decision)
}

func TestDialerConnectsToCheckedAddressesOnly(t *testing.T) {
	target, err := Parse("https://example.com/")
	require.NoError(t, err)
	d := dialer{target: target, addrs: addrs("1.1.1.1", "2606:4700::1111")}
	for address, ok := range map[string]bool{
		"1.1.1.1:443": true, "[2606:4700::1111]:443": true, "[::ffff:1.1.1.1]:443": true,
		"1.1.1.1:80": false, "127.0.0.1:443": false, "127.0.0.1%lo:443": false, "example.com:443": false,
	} {
		assert.Equal(t, ok, d.control(t.Context(), "tcp4", address, nil) == nil, address)
	}
	assert.Error(t, d.control(t.Context(), "udp4", "1.1.1.1:443", nil))
	_, err = d.dial(t.Context(), "tcp", "other.test:443")
	assert.ErrorIs(t, err, errUnchecked)
}

func TestTransportVerifiesTheName(t *testing.T) {
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "secure") }))
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(s.Close)
	roots := s.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	port := s.URL[strings.LastIndexByte(s.URL, ':'):]

	// The certificate is for example.com and 127.0.0.1.
	target, err := Parse("https://example.com" + port)
	require.NoError(t, err)
	transport := newTransport(target, addrs("127.0.0.1"), roots)
	resp, err := transport.RoundTrip(httptest.NewRequestWithContext(t.Context(), "GET", target.String(), nil))
	require.NoError(t, err)
	resp.Body.Close()
	assert.Nil(t, transport.Proxy)

	f := &Fetcher{Resolver: localhost(), RootCAs: roots}
	r, err := f.Fetch(t.Context(), Request{URL: s.URL, Approved: []string{s.URL}})
	require.NoError(t, err)
	assert.Equal(t, "secure", string(r.Body))
	_, err = f.Fetch(t.Context(), Request{URL: "https://localhost" + port, Check: approve})
	assert.ErrorContains(t, err, "certificate")
	_, err = (&Fetcher{}).Fetch(t.Context(), Request{URL: s.URL, Check: approve})
	assert.ErrorContains(t, err, "certificate")
}

func TestRedirects(t *testing.T) {
	var got http.Header
	other, _ := serve(t, func(w http.ResponseWriter, r *http.Request) { got = r.Header; io.WriteString(w, "other") })
	var origin string
	origin, _ = serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch p := r.URL.Path; {
		case p == "/relative":
			w.Header().Set("Location", "end?x=1#frag")
			w.WriteHeader(302)
		case p == "/loop":
			http.Redirect(w, r, "/loop2", http.StatusMovedPermanently)
		case p == "/loop2":
			http.Redirect(w, r, "/loop", http.StatusMovedPermanently)
		case p == "/other":
			http.Redirect(w, r, other+"/", http.StatusTemporaryRedirect)
		case p == "/meta":
			http.Redirect(w, r, "http://169.254.169.254/", http.StatusPermanentRedirect)
		case p == "/file":
			w.Header().Set("Location", "file:///etc/passwd")
			w.WriteHeader(302)
		case p == "/rebind":
			http.Redirect(w, r, "http://loop.test:8080/", http.StatusFound)
		case strings.HasPrefix(p, "/more"):
			http.Redirect(w, r, p+"e", http.StatusSeeOther)
		case p == "/nolocation":
			w.WriteHeader(302)
		case p == "/refresh":
			w.Header().Set("Refresh", "0; url="+other)
		default:
			got = r.Header
			fmt.Fprint(w, "end "+r.URL.RawQuery)
		}
	})
	names := &answers{names: map[string][][]netip.Addr{"loop.test": {addrs("127.0.0.1")}}}
	f := &Fetcher{Resolver: names}
	header := http.Header{"X-Key": {"k"}, "Accept": {"text/html"}, "Authorization": {"secret"}, "cookie": {"c"}, "Referer": {"r"}}
	fetch := func(path string, check func(context.Context, Hop) error) (*Response, error) {
		return f.Fetch(t.Context(), Request{URL: origin + path, Approved: []string{origin, other}, Check: check, Header: header})
	}

	resp, err := fetch("/relative", nil)
	require.NoError(t, err)
	assert.Equal(t, "end x=1", string(resp.Body))
	assert.Equal(t, origin+"/end?x=1", resp.Target.String())
	assert.Len(t, resp.Hops, 2)
	assert.Equal(t, http.Header{"X-Key": {"k"}, "Accept": {"text/html"}, "Accept-Encoding": {"gzip"}, "User-Agent": {"agenttool"},
		"Connection": {"close"}}, got)

	_, err = fetch("/other", nil)
	require.ErrorIs(t, err, ErrDenied, "an approved origin is not approved as the end of a redirect")
	var reasons []string
	resp, err = fetch("/other", func(_ context.Context, h Hop) error {
		reasons = append(reasons, h.Decision.Reason)
		return nil
	})
	require.NoError(t, err)
	assert.Equal(t, "other", string(resp.Body))
	require.Len(t, reasons, 2)
	assert.Contains(t, reasons[1], "redirects to another origin")
	assert.NotContains(t, got, "X-Key")
	assert.Equal(t, "text/html", got.Get("Accept"))

	for path, want := range map[string]error{"/loop": ErrRedirect, "/more": ErrRedirect, "/file": ErrURL, "/meta": ErrDenied, "/rebind": ErrDenied} {
		_, err := fetch(path, approve)
		assert.ErrorIs(t, err, want, path)
	}
	for path, status := range map[string]int{"/nolocation": 302, "/refresh": 200} {
		resp, err := fetch(path, nil)
		require.NoError(t, err)
		assert.Equal(t, status, resp.Status)
		assert.Len(t, resp.Hops, 1)
	}
}

func TestLeaves(t *testing.T) {
	for _, test := range []struct{ from, to, want string }{
		{"https://a.test/", "https://a.test/x", ""},
		{"https://a.test/", "https://www.a.test/", ""},
		{"http://a.test/", "https://a.test/", ""},
		{"https://a.test/", "http://a.test/", "from https to http"},
		{"https://a.test/", "https://b.test/", "another host"},
		{"https://a.test/", "https://sub.a.test/", "another host"},
		{"https://a.test/", "https://a.test:8443/", "another origin"},
	} {
		from, err := Parse(test.from)
		require.NoError(t, err)
		to, err := Parse(test.to)
		require.NoError(t, err)
		got := leaves(from, to)
		assert.Contains(t, got, test.want)
		assert.Equal(t, test.want == "", got == "")
	}
}

func TestFetchDeadline(t *testing.T) {
	for name, drip := range map[string]func(w http.ResponseWriter, n int){
		"body":   func(w http.ResponseWriter, n int) { w.Write([]byte("x")) },
		"header": func(w http.ResponseWriter, n int) {},
	} {
		origin, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
			for n := 0; r.Context().Err() == nil; n++ {
				drip(w, n)
				if name == "body" {
					w.(http.Flusher).Flush()
				}
				select {
				case <-r.Context().Done():
				case <-time.After(20 * time.Millisecond):
				}
			}
		})
		start := time.Now()
		_, err := (&Fetcher{}).Fetch(t.Context(), Request{URL: origin, Timeout: 200 * time.Millisecond, Approved: []string{origin}})
		require.ErrorIs(t, err, ErrTimeout, name)
		assert.Less(t, time.Since(start), 5*time.Second)
	}
}

func TestFetchDeadlineStandsStillWhileAsking(t *testing.T) {
	origin, _ := serve(t, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "ok") })
	resp, err := (&Fetcher{}).Fetch(t.Context(), Request{URL: origin, Timeout: 2 * time.Second, Check: func(ctx context.Context, _ Hop) error {
		time.Sleep(2100 * time.Millisecond)
		return ctx.Err()
	}})
	require.NoError(t, err)
	assert.Equal(t, "ok", string(resp.Body))
}

func TestFetchCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	origin, _ := serve(t, func(_ http.ResponseWriter, r *http.Request) { cancel(); <-r.Context().Done() })
	_, err := (&Fetcher{}).Fetch(ctx, Request{URL: origin, Check: approve})
	require.ErrorIs(t, err, context.Canceled)
	assert.NotErrorIs(t, err, ErrTimeout)
}

func zip(t *testing.T, data io.Reader) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := io.Copy(w, data)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return b.Bytes()
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func TestBodies(t *testing.T) {
	bomb := zip(t, io.LimitReader(zeros{}, 20_000_000))
	text := strings.Repeat("0123456789", 100)
	tests := []struct {
		name, encoding string
		body           []byte
		limits         Limits
		want           string // the body, if it is compared
		size           int
		truncated      string
		err            error
	}{
		{name: "plain", body: []byte(text), want: text, size: 1000},
		{name: "identity", encoding: "identity", body: []byte(text), want: text, size: 1000},
		{name: "empty"},
		{name: "empty gzip", encoding: "gzip"},
		{name: "gzip", encoding: "GZIP", body: zip(t, strings.NewReader(text)), want: text, size: 1000},
		{name: "exact", body: []byte(text), limits: Limits{Wire: 1000, Decoded: 1000}, want: text, size: 1000},
		{name: "wire", body: []byte(text), limits: Limits{Wire: 999}, want: text[:999], size: 999, truncated: "first 999 bytes were received"},
		{name: "decoded", encoding: "gzip", body: zip(t, strings.NewReader(text)), limits: Limits{Decoded: 999}, want: text[:999], size: 999, truncated: "first 999 decoded bytes"},
		{name: "bomb", encoding: "gzip", body: bomb, size: 1_015_808, truncated: "expands more than 200-fold"},
		{name: "brotli", encoding: "br", body: []byte("x"), err: ErrResponse},
		{name: "twice", encoding: "gzip, gzip", body: []byte("x"), err: ErrResponse},
		{name: "not gzip", encoding: "gzip", body: []byte("plain text, really"), err: ErrResponse},
		{name: "cut gzip", encoding: "gzip", body: zip(t, strings.NewReader(text))[:20], err: ErrResponse},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			origin, _ := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				if test.encoding != "" {
					w.Header().Set("Content-Encoding", test.encoding)
				}
				w.WriteHeader(404)
				w.Write(test.body)
			})
			resp, err := (&Fetcher{Limits: test.limits}).Fetch(t.Context(), Request{URL: origin, Approved: []string{origin}})
			if test.err != nil {
				require.ErrorIs(t, err, test.err)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, 404, resp.Status)
			assert.Len(t, resp.Body, test.size)
			if test.want != "" {
				assert.Equal(t, test.want, string(resp.Body))
			}
			assert.Contains(t, resp.Truncated, test.truncated)
			assert.Equal(t, test.truncated == "", resp.Truncated == "")
		})
	}
}

func TestFetchHeadersBounded(t *testing.T) {
	origin, _ := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("X", strings.Repeat("a", 100<<10)) })
	_, err := (&Fetcher{}).Fetch(t.Context(), Request{URL: origin, Approved: []string{origin}})
	assert.Error(t, err)
}

func TestFetchIgnoresProxyOfTheEnvironment(t *testing.T) {
	origin, _ := serve(t, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "direct") })
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	t.Setenv("ALL_PROXY", "http://127.0.0.1:1")
	resp, err := (&Fetcher{}).Fetch(t.Context(), Request{URL: origin, Approved: []string{origin}})
	require.NoError(t, err)
	assert.Equal(t, "direct", string(resp.Body))
}

func TestFetchSuppliedTransport(t *testing.T) {
	var asked []string
	f := &Fetcher{Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
		asked = append(asked, r.URL.String())
		return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("via"))}, nil
	})}
	resp, err := f.Fetch(t.Context(), Request{URL: "https://EXAMPLE.com/x#y"})
	require.NoError(t, err)
	assert.Equal(t, "via", string(resp.Body))
	_, err = f.Fetch(t.Context(), Request{URL: "http://metadata/"})
	require.ErrorIs(t, err, ErrDenied)
	assert.Equal(t, []string{"https://example.com/x"}, asked)

	// With a resolver, what it knows is checked as well.
	f.Resolver = &answers{names: map[string][][]netip.Addr{"loop.test": {addrs("127.0.0.1")}, "corp.test": {addrs("10.0.0.1")}, "pub.test": {addrs("1.1.1.1")}}}
	for host, want := range map[string]error{"loop.test": ErrDenied, "corp.test": ErrDenied, "pub.test": nil, "unknown.test": nil} {
		_, err := f.Fetch(t.Context(), Request{URL: "https://" + host + "/"})
		assert.ErrorIs(t, err, want, host)
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
