package wstransport

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/agenttool/tool/clienttool"
	"github.com/agenttool/tool/clienttool/clienttooltest"
	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"
)

// serve starts a server, with TLS or without. WebSocket needs HTTP/1.1 in either case;
// the server offers HTTP/2 beside it, as servers do.
func serve(t *testing.T, tls bool, h http.Handler) *httptest.Server {
	srv := httptest.NewUnstartedServer(h)
	srv.Config.ErrorLog = log.New(io.Discard, "", 0)
	srv.EnableHTTP2 = tls
	if tls {
		srv.StartTLS()
	} else {
		srv.Start()
	}
	t.Cleanup(srv.Close)
	return srv
}

func (k *tracker) client(srv *httptest.Server) *http.Client {
	tr := &http.Transport{DialContext: k.dial}
	if srv.TLS != nil {
		roots := x509.NewCertPool()
		roots.AddCert(srv.Certificate())
		tr.TLSClientConfig = &tls.Config{RootCAs: roots}
	}
	return &http.Client{Transport: tr}
}

func TestConn(t *testing.T) {
	for name, tls := range map[string]bool{"plain": false, "TLS": true} {
		t.Run(name, func(t *testing.T) {
			accepted := make(chan *conn, 1)
			srv := serve(t, tls, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				ws, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: []string{Protocol}})
				if err != nil {
					return
				}
				c := newConn(ws, 4<<20+64<<10)
				accepted <- c
				<-c.done
			}))
			clienttooltest.TestConn(t, func(t *testing.T) clienttooltest.Pair {
				track := &tracker{}
				c, err := Dial(srv.URL, DialOptions{Client: track.client(srv)}).Dial(t.Context())
				require.NoError(t, err)
				return clienttooltest.Pair{Host: <-accepted, Client: c, Cut: track.cut, Concurrent: true, Raw: func(b []byte) {
					ctx, cancel := context.WithTimeout(context.Background(), time.Second)
					defer cancel()
					c.(*conn).ws.Write(ctx, websocket.MessageText, b) // fails once the host has had enough
				}}
			})
		})
	}
}

func TestTransport(t *testing.T) {
	for name, tls := range map[string]bool{"plain": false, "TLS": true} {
		t.Run(name, func(t *testing.T) {
			clienttooltest.TestTransport(t, func(t *testing.T, h *clienttool.Hub) clienttooltest.System {
				srv := serve(t, tls, Handler(h, Options{}))
				track := &tracker{}
				client := track.client(srv)
				return clienttooltest.System{
					Transport: func(id string) clienttool.Transport {
						return Dial(srv.URL+"/ws/"+id, DialOptions{Client: client})
					},
					Cut: track.cut,
				}
			})
		})
	}
}

// tracker dials and remembers, so that links can be severed below WebSocket.
type tracker struct {
	mu    sync.Mutex
	conns []interface{ Close() error }
}

func (k *tracker) dial(ctx context.Context, network, addr string) (c net.Conn, err error) {
	c, err = new(net.Dialer).DialContext(ctx, network, addr)
	if err == nil {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.conns = append(k.conns, c)
	}
	return c, err
}

func (k *tracker) cut() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, c := range k.conns {
		c.Close()
	}
	k.conns = nil
}
