package web

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAPI(t *testing.T) {
	const key = "k&y-very secret"
	var got *http.Request
	var body string
	other := 0
	elsewhere, _ := serve(t, func(http.ResponseWriter, *http.Request) { other++ })
	origin, named := serve(t, func(w http.ResponseWriter, r *http.Request) {
		got = r
		b, _ := io.ReadAll(r.Body)
		body = string(b)
		switch r.URL.Path {
		case "/base/redirect":
			http.Redirect(w, r, elsewhere+"/", http.StatusTemporaryRedirect)
		case "/base/slow":
			io.WriteString(w, "some")
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		case "/base/big":
			io.WriteString(w, strings.Repeat("x", 2000))
		default:
			w.WriteHeader(404)
			io.WriteString(w, "answer")
		}
	})
	for _, client := range []*http.Client{nil, {Jar: nil}} {
		a := &API{Base: origin + "/base/", Client: client, Key: key, Limits: Limits{Wire: 1000}}
		resp, err := a.Do(t.Context(), APIRequest{Method: "POST", Path: "/x", Query: url.Values{"q": {"a b"}}, Header: http.Header{"accept": {"text/x"}}, Body: []byte("sent")})
		require.NoError(t, err)
		assert.Equal(t, APIResponse{Status: 404, Header: resp.Header, Body: []byte("answer")}, *resp)
		assert.Equal(t, "/base/x?q=a+b", got.URL.RequestURI())
		assert.Equal(t, "Bearer "+key, got.Header.Get("Authorization"))
		assert.Equal(t, "text/x", got.Header.Get("Accept"))
		assert.Equal(t, "sent", body)

		resp, err = a.Do(t.Context(), APIRequest{Path: "/redirect"})
		require.ErrorIs(t, err, ErrRedirect)
		assert.Contains(t, err.Error(), "redirects to "+elsewhere)
		assert.Equal(t, 307, resp.Status)
		assert.Zero(t, other, "a key never goes where a service sends it")

		resp, err = a.Do(t.Context(), APIRequest{Path: "/big"})
		require.NoError(t, err)
		assert.Len(t, resp.Body, 1000)
		assert.NotEmpty(t, resp.Truncated)

		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		resp, err = a.Do(ctx, APIRequest{Path: "/slow"})
		cancel()
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Equal(t, "some", string(resp.Body))
	}
	// A key that the client puts into its error is taken out of it.
	a := &API{Base: origin, Key: key, Client: &http.Client{Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
		return nil, fmt.Errorf("could not send %s to %s", r.Header.Get("Authorization"), url.QueryEscape(key))
	})}}
	_, err := a.Do(t.Context(), APIRequest{Query: url.Values{"q": {"private words"}}})
	require.Error(t, err)
	for _, secret := range []string{key, url.QueryEscape(key), "private"} {
		assert.NotContains(t, err.Error(), secret)
		assert.NotContains(t, fmt.Sprintf("%+v", err), secret)
	}

	for base, want := range map[string]error{
		"": ErrBase, "ftp://a.test": ErrBase, "https://user:pw@a.test": ErrBase, "http://a.test": ErrBase, // a key without encryption
		"https://169.254.169.254": ErrDenied, "https://metadata.google.internal": ErrDenied,
		"https://loop.test": ErrDenied, "https://meta.test": ErrDenied, "https://mixed.test": ErrDenied,
	} {
		n := &answers{names: map[string][][]netip.Addr{"loop.test": {addrs("127.0.0.1")}, "meta.test": {addrs("169.254.169.254")}, "mixed.test": {addrs("1.1.1.1", "10.0.0.1")}}}
		_, err := (&API{Base: base, Key: key, Resolver: n}).Do(t.Context(), APIRequest{})
		assert.ErrorIs(t, err, want, base)
	}
	_, err = (&API{Base: named, Resolver: localhost()}).Do(t.Context(), APIRequest{})
	assert.NoError(t, err, "a host may configure a service on this machine")
}

func TestEvents(t *testing.T) {
	var got []string
	f := func(name string, data []byte) bool {
		got = append(got, name+"="+string(data))
		return string(data) != "stop"
	}
	Events([]byte("data: a\r\ndata: b\r\n\r\n: comment\nevent: x\ndata:c\n\nevent: empty\n\nid: 1\ndata: stop\n\ndata: never\n\n"), f)
	assert.Equal(t, []string{"message=a\nb", "x=c", "message=stop"}, got)
	got = nil
	Events([]byte("data: cut off"), f)
	assert.Equal(t, []string{"message=cut off"}, got)
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		"": 0, "x": 0, "-5": 0, "0": 0, "7": 7 * time.Second, " 1.5 ": 1500 * time.Millisecond, "1e30": 0, "99999999": 30 * 24 * time.Hour,
		now.Add(time.Minute).Format(http.TimeFormat): time.Minute, now.Add(-time.Minute).Format(http.TimeFormat): 0,
	} {
		assert.Equal(t, want, RetryAfter(http.Header{"Retry-After": {value}}, now), value)
	}
}
