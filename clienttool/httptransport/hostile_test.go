package httptransport_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agenttool/tool/clienttool"
	"github.com/agenttool/tool/clienttool/httptransport"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// everyRoute is what a stranger can knock at.
var everyRoute = []struct{ method, path, body string }{
	{"POST", "/register", `{"clientID":"a","tools":` + tools + `}`}, {"DELETE", "/unregister", `{"clientID":"a"}`}, {"POST", "/unregister", `{"clientID":"a"}`},
	{"POST", "/result", `{"requestID":"r","result":{"status":"success"}}`}, {"GET", "/pending/a", ""}, {"GET", "/tools/a", ""}, {"GET", "/tools", ""},
	{"GET", "/host-tools/a", ""}, {"POST", "/message", `{"type":"ping","clientID":"a"}`},
	{"POST", "/message", `{"type":"hello","hello":{"protocol":1,"clientID":"a"}}`}, {"POST", "/execute", `{"toolID":"client_a_search-docs","input":{}}`}, {"POST", "/ticket", `{"clientID":"a"}`},
}

// Every route asks who is there, before it does or tells anything.
func TestHostileAnonymous(t *testing.T) {
	for name, o := range map[string]httptransport.Options{
		"nobody is authenticated":    {EnableExecute: true, Guard: httptransport.Guard{Tickets: &httptransport.Tickets{}}},
		"everybody must be":          {EnableExecute: true, Guard: httptransport.Guard{Tickets: &httptransport.Tickets{}, Authenticate: bearer}},
		"and a panic lets nobody in": {EnableExecute: true, Guard: httptransport.Guard{Tickets: &httptransport.Tickets{}, Authenticate: func(*http.Request) (clienttool.Peer, error) { panic("broken") }}},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, clienttool.Options{}, o)
			for _, k := range everyRoute {
				code, body := s.do(k.method, k.path, k.body)
				assert.Equal(t, 401, code, "%s %s: %s", k.method, k.path, body)
				assert.Contains(t, body, `"code":"UNAUTHORIZED"`)
				assert.NotContains(t, body, "broken")
			}
			assert.Empty(t, s.hub.Clients())
		})
	}
	// A panic is no anonymous peer either.
	broken := open(t, anonymous(), httptransport.Options{Guard: httptransport.Guard{Authenticate: func(*http.Request) (clienttool.Peer, error) { panic("broken") }}})
	for _, k := range everyRoute {
		if k.path != "/execute" && k.path != "/ticket" {
			code, _ := broken.do(k.method, k.path, k.body)
			assert.Equal(t, 401, code, "%s %s", k.method, k.path)
		}
	}
	// Where anonymous peers are let in, they still cannot run what others have, whatever Authorize says.
	o := anonymous()
	o.Authorize = func(context.Context, clienttool.Peer, clienttool.Op, clienttool.Target) error { return nil }
	s := open(t, o, httptransport.Options{EnableExecute: true})
	s.do("POST", "/register", `{"clientID":"a","tools":`+tools+`}`)
	code, _ := s.do("POST", "/execute", `{"toolID":"client_a_search-docs","input":{}}`)
	assert.Equal(t, 401, code)
	// And a hub that does not say who may run tools lets nobody.
	s = open(t, clienttool.Options{}, httptransport.Options{EnableExecute: true, Guard: httptransport.Guard{Authenticate: bearer}})
	s.do("POST", "/register", `{"clientID":"a","tools":`+tools+`}`, "Authorization", "Bearer alice")
	code, _ = s.do("POST", "/execute", `{"toolID":"client_a_search-docs","input":{}}`, "Authorization", "Bearer alice")
	assert.Equal(t, 403, code)
}

// A page of another site reaches no route, whatever it sends along, and reads no answer.
func TestHostilePages(t *testing.T) {
	s := open(t, anonymous(), httptransport.Options{Guard: httptransport.Guard{Origins: []string{"https://app.example.com", "http://localhost:3000"}}})
	self := s.srv.URL
	port := self[strings.LastIndex(self, ":"):]
	for origin, want := range map[string]int{
		self: 200, "https://app.example.com": 200, "http://localhost:3000": 200, "HTTPS://APP.example.com": 200,
		"null": 403, "https://evil.example": 403, "https://app.example.com.evil.example": 403, "https://evilapp.example.com": 403,
		"http://app.example.com": 403, "https://app.example.com:8443": 403, "http://localhost:3001": 403, "http://evil.example" + port: 403,
		"file://": 403, "chrome-extension://abc": 403, "http://127.0.0.1": 403, "http://127.0.0.1" + port + ".evil.example": 403,
		"http://user@127.0.0.1" + port: 403, "javascript:alert(1)": 403, "https://app.example.com https://evil.example": 403,
	} {
		req, err := http.NewRequest("GET", s.srv.URL+"/tools", nil)
		require.NoError(t, err)
		req.Header.Set("Origin", origin)
		req.Header.Set("Cookie", "session=stolen")
		resp, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		resp.Body.Close()
		assert.Equal(t, want, resp.StatusCode, origin)
		if allowed := resp.Header.Get("Access-Control-Allow-Origin"); want != 200 {
			assert.Empty(t, allowed, origin)
		}
		assert.NotEqual(t, "*", resp.Header.Get("Access-Control-Allow-Origin"))
	}
	for _, k := range everyRoute {
		if k.path == "/execute" || k.path == "/ticket" {
			continue // not mounted here
		}
		for _, header := range [][]string{{"Origin", "https://evil.example"}, {"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Site", "same-site"}, {"Host", "evil.example"}, {"Host", "evil.example" + port}, {"Host", "127.0.0.1.nip.io"}} {
			code, body := s.do(k.method, k.path, k.body, header...)
			assert.Equal(t, 403, code, "%s %s %v: %s", k.method, k.path, header, body)
		}
	}
	assert.Empty(t, s.hub.Clients())
	// A form can send text without asking first; it is not JSON then.
	code, _ := s.do("POST", "/register", `{"clientID":"a","tools":`+tools+`}`, "Content-Type", "text/plain;charset=UTF-8")
	assert.Equal(t, 415, code)
	// Names of its own are names of a loopback host too.
	for _, host := range []string{"localhost" + port, "127.0.0.1" + port, "[::1]" + port, "LOCALHOST"} {
		code, _ = s.do("GET", "/tools", "", "Host", host)
		assert.Equal(t, 200, code, host)
	}
	named := open(t, anonymous(), httptransport.Options{Guard: httptransport.Guard{Hosts: []string{"tools.example.com"}}})
	for host, want := range map[string]int{"tools.example.com": 200, "tools.example.com:8443": 200, "evil.example": 403, "localhost": 403} {
		code, _ = named.do("GET", "/tools", "", "Host", host)
		assert.Equal(t, want, code, host)
	}
	// What a browser asks before it sends.
	for origin, want := range map[string]string{"https://app.example.com": "https://app.example.com", "https://evil.example": ""} {
		req, err := http.NewRequest("OPTIONS", s.srv.URL+"/register", nil)
		require.NoError(t, err)
		req.Header.Set("Origin", origin)
		req.Header.Set("Access-Control-Request-Method", "POST")
		resp, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		resp.Body.Close()
		assert.Equal(t, want, resp.Header.Get("Access-Control-Allow-Origin"), origin)
		assert.Equal(t, "Origin", resp.Header.Get("Vary"))
	}
}

// A ticket is good once, for a moment, for one client, from the page that got it.
func TestHostileTickets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tickets := &httptransport.Tickets{Max: 3}
		hub, err := clienttool.NewHub(clienttool.Options{})
		require.NoError(t, err)
		defer hub.Close()
		h := httptransport.Handler(hub, httptransport.Options{Guard: httptransport.Guard{Authenticate: bearer, Tickets: tickets, Origins: []string{"https://app.example.com", "https://other.example.com"}}})
		do := func(method, path, body string, headers ...string) *httptest.ResponseRecorder {
			r := httptest.NewRequest(method, path, strings.NewReader(body))
			for i := 0; i < len(headers); i += 2 {
				r.Header.Set(headers[i], headers[i+1])
			}
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			return w
		}
		issue := func(headers ...string) string {
			w := do("POST", "/ticket", `{"clientID":"a"}`, append(headers, "Authorization", "Bearer alice")...)
			require.Equal(t, 200, w.Code, w.Body.String())
			assert.Equal(t, "no-store", w.Header().Get("Cache-Control"))
			var out struct{ Ticket string }
			require.NoError(t, json.Unmarshal(w.Body.Bytes(), &out))
			assert.GreaterOrEqual(t, len(out.Ticket), 26, "130 bits")
			return out.Ticket
		}
		status := func(ticket string, headers ...string) int {
			return do("GET", "/tools/a?ticket="+ticket, "", headers...).Code
		}
		good := issue()
		assert.Equal(t, 200, status(good))
		assert.Equal(t, 401, status(good), "once")
		late := issue()
		time.Sleep(30*time.Second + 1)
		assert.Equal(t, 401, status(late), "for a moment")
		assert.Equal(t, 401, do("POST", "/ticket", `{"clientID":"a"}`).Code, "only for whom is known")
		other := issue()
		assert.Equal(t, 403, do("GET", "/pending/b?ticket="+other, "").Code, "for one client")
		assert.Equal(t, 401, status(other), "and it is used up by the attempt")
		page := issue("Origin", "https://app.example.com")
		assert.Equal(t, 401, status(page, "Origin", "https://other.example.com"), "for one page")
		page = issue("Origin", "https://app.example.com")
		assert.Equal(t, 401, status(page), "and not without one")
		page = issue("Origin", "https://app.example.com")
		assert.Equal(t, 200, status(page, "Origin", "https://app.example.com"))
		// A ticket is no licence to get another.
		first := issue()
		assert.Equal(t, 403, do("POST", "/ticket?ticket="+first, `{"clientID":"a"}`).Code)
		// Nobody can make the host keep any number of them.
		time.Sleep(time.Minute)
		for range 3 {
			issue()
		}
		assert.Equal(t, 429, do("POST", "/ticket", `{"clientID":"a"}`, "Authorization", "Bearer alice").Code)
		time.Sleep(time.Minute)
		issue()
		// Nor is one looked for where none are issued.
		none := httptransport.Handler(hub, httptransport.Options{Guard: httptransport.Guard{Authenticate: bearer}})
		rec := httptest.NewRecorder()
		none.ServeHTTP(rec, httptest.NewRequestWithContext(context.Background(), "GET", "/tools?ticket="+issue(), nil))
		assert.Equal(t, 401, rec.Code)
	})
}
