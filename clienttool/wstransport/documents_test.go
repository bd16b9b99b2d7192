package wstransport_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/agenttool/tool/clienttool"
	"github.com/agenttool/tool/clienttool/httptransport"
	"github.com/agenttool/tool/clienttool/wstransport"
	"github.com/coder/websocket"
	"github.com/coder/websocket/wsjson"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A client that knows nothing but the documented messages: register, result and
// unregister one way, registered, request and error the other.
func TestDocumentClient(t *testing.T) {
	for name, strip := range map[string]bool{"StripPrefix": true, "prefix left": false} {
		t.Run(name, func(t *testing.T) {
			hub, err := clienttool.NewHub(clienttool.Options{AllowAnonymous: true, DetachGrace: -1})
			require.NoError(t, err)
			ws, rest := wstransport.Handler(hub, wstransport.Options{}), httptransport.Handler(hub, httptransport.Options{})
			if strip {
				ws, rest = http.StripPrefix("/client-tools", ws), http.StripPrefix("/client-tools", rest)
			}
			mux := http.NewServeMux()
			mux.Handle("/client-tools/ws/", ws)
			mux.Handle("/client-tools/", rest)
			srv := httptest.NewServer(mux)
			t.Cleanup(func() { hub.Close(); srv.CloseClientConnections(); srv.Close() })
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			c, _, err := websocket.Dial(ctx, srv.URL+"/client-tools/ws/tab_1", nil)
			require.NoError(t, err)
			defer c.CloseNow()
			next := func(typ string) map[string]any {
				for {
					var m map[string]any
					require.NoError(t, wsjson.Read(ctx, c, &m))
					if m["type"] == typ {
						return m
					}
				}
			}
			send := func(text string) { require.NoError(t, c.Write(ctx, websocket.MessageText, []byte(text))) }

			send(`{"type":"register","tools":[{"id":"read_local_file","description":"Reads.","parameters":{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}}]}`)
			assert.Equal(t, []any{"client_tab_1_read_local_file"}, next("registered")["toolIDs"])

			for _, answer := range []string{
				`{"type":"result","requestID":"$","result":{"status":"success","title":"Read a","output":"text","metadata":{"lines":1}}}`,
				`{"type":"result","requestID":"$","result":{"status":"error","error":"no such file"}}`,
			} {
				tool, ok := hub.Lookup("client_tab_1_read_local_file")
				require.True(t, ok)
				call, err := hub.Start(ctx, clienttool.CallRequest{Tool: tool.ID, SessionID: "s", MessageID: "m", CallID: "c", Input: json.RawMessage(`{"path":"/tmp/a"}`)})
				require.NoError(t, err)
				req := next("request")["request"].(map[string]any)
				assert.Equal(t, "client-tool-request", req["type"])
				assert.Equal(t, "client_tab_1_read_local_file", req["tool"])
				assert.Equal(t, map[string]any{"path": "/tmp/a"}, req["input"])
				assert.Equal(t, "s m c", strings.Join([]string{req["sessionID"].(string), req["messageID"].(string), req["callID"].(string)}, " "))
				send(strings.ReplaceAll(answer, "$", req["requestID"].(string)))
				<-call.Done()
				res, err := call.Result()
				if strings.Contains(answer, "success") {
					require.NoError(t, err)
					assert.Equal(t, "text", res.Output)
				} else {
					var e *clienttool.CallError
					require.ErrorAs(t, err, &e)
					assert.Equal(t, "no such file", e.ModelText())
				}
			}

			// What is no message is an error, and the link goes on.
			send(`{"type":`)
			assert.NotEmpty(t, next("error")["error"])
			send(`{"type":"result","requestID":"unknown","result":{"status":"success"}}`)
			send(`{"type":"unregister","toolIDs":["read_local_file"]}`)
			next("unregistered")
			assert.Empty(t, hub.ClientTools(""))
			send(`{"type":"register","tools":[{"id":"x","description":"X.","parameters":{}}]}`)
			next("registered")
			assert.Len(t, hub.ClientTools(""), 1)

			c.Close(websocket.StatusNormalClosure, "")
			for end := time.Now().Add(30 * time.Second); len(hub.Clients()) > 0; time.Sleep(time.Millisecond) {
				require.True(t, time.Now().Before(end), "the client stays after it has closed")
			}
		})
	}
}

// Nothing but garbage ends the link.
func TestGarbage(t *testing.T) {
	for _, protocols := range [][]string{nil, {wstransport.Protocol}} {
		hub, err := clienttool.NewHub(clienttool.Options{AllowAnonymous: true})
		require.NoError(t, err)
		srv := httptest.NewServer(wstransport.Handler(hub, wstransport.Options{}))
		c, _, err := websocket.Dial(t.Context(), srv.URL+"/ws/a", &websocket.DialOptions{Subprotocols: protocols})
		require.NoError(t, err)
		for range 100 {
			if c.Write(t.Context(), websocket.MessageText, []byte("garbage")) != nil {
				break
			}
		}
		for err == nil {
			_, _, err = c.Read(t.Context())
		}
		assert.Equal(t, websocket.StatusInvalidFramePayloadData, websocket.CloseStatus(err), "%v: %v", protocols, err)
		c.CloseNow()
		hub.Close()
		srv.Close()
	}
}

// Who is not let in learns it by a status, before there is a WebSocket.
func TestRefused(t *testing.T) {
	tickets := &httptransport.Tickets{}
	hub, err := clienttool.NewHub(clienttool.Options{})
	require.NoError(t, err)
	defer hub.Close()
	guard := httptransport.Guard{Origins: []string{"https://app.example.com"}, Tickets: tickets, Authenticate: func(r *http.Request) (clienttool.Peer, error) {
		if r.Header.Get("Authorization") != "Bearer alice" {
			return clienttool.Peer{}, errors.New("no credentials")
		}
		return clienttool.Peer{Principal: "alice"}, nil
	}}
	srv := httptest.NewServer(wstransport.Handler(hub, wstransport.Options{Guard: guard}))
	defer srv.Close()
	alice := http.Header{"Authorization": {"Bearer alice"}}
	try := func(path string, header http.Header, host string) int {
		c, resp, err := websocket.Dial(t.Context(), srv.URL+path, &websocket.DialOptions{HTTPHeader: header, Host: host})
		if err == nil {
			c.CloseNow()
			return http.StatusSwitchingProtocols
		}
		require.NotNil(t, resp, err)
		return resp.StatusCode
	}
	with := func(name, value string) http.Header {
		h := alice.Clone()
		h.Set(name, value)
		return h
	}
	ticket := func(clientID string) string {
		id, err := tickets.Issue(clienttool.Peer{Principal: "alice", ClientID: clientID})
		require.NoError(t, err)
		return id
	}
	used := ticket("a")
	for _, k := range []struct {
		what, path string
		header     http.Header
		host       string
		want       int
	}{
		{"nobody", "/ws/a", nil, "", 401},
		{"alice", "/ws/a", alice, "", 101},
		{"a bad client id", "/ws/a%20b", alice, "", 400},
		{"another page", "/ws/a", with("Origin", "https://evil.example"), "", 403},
		{"no page in particular", "/ws/a", with("Origin", "null"), "", 403},
		{"a page that may", "/ws/a", with("Origin", "https://app.example.com"), "", 101},
		{"a subdomain of one that may", "/ws/a", with("Origin", "https://evil.app.example.com"), "", 403},
		{"one that begins like it", "/ws/a", with("Origin", "https://app.example.com.evil.example"), "", 403},
		{"without TLS", "/ws/a", with("Origin", "http://app.example.com"), "", 403},
		{"a name that leads here", "/ws/a", alice, "evil.example", 403},
		{"a ticket", "/ws/a?ticket=" + used, nil, "", 101},
		{"a ticket again", "/ws/a?ticket=" + used, nil, "", 401},
		{"a ticket of another client", "/ws/b?ticket=" + ticket("a"), nil, "", 403},
		{"no ticket at all", "/ws/a?ticket=guess", nil, "", 401},
		{"another path", "/other", alice, "", 404},
	} {
		assert.Equal(t, k.want, try(k.path, k.header, k.host), k.what)
	}
	// The zero value refuses everybody.
	zero := httptest.NewServer(wstransport.Handler(hub, wstransport.Options{}))
	defer zero.Close()
	_, resp, err := websocket.Dial(t.Context(), zero.URL+"/ws/a", nil)
	require.Error(t, err)
	assert.Equal(t, 401, resp.StatusCode)
}
