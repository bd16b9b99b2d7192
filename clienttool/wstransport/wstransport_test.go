package wstransport

import (
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/agenttool/tool/clienttool"
	"github.com/agenttool/tool/clienttool/clienttooltest"
	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"
)

func TestConn(t *testing.T) {
	accepted := make(chan *conn, 1)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ws, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: []string{Protocol}})
		if err != nil {
			return
		}
		c := newConn(ws, 4<<20+64<<10)
		accepted <- c
		<-c.done
	}))
	defer srv.Close()
	clienttooltest.TestConn(t, func(t *testing.T) clienttooltest.Pair {
		track := &tracker{}
		client := &http.Client{Transport: &http.Transport{DialContext: track.dial}}
		c, err := Dial(srv.URL, DialOptions{Client: client}).Dial(t.Context())
		require.NoError(t, err)
		return clienttooltest.Pair{Host: <-accepted, Client: c, Cut: track.cut}
	})
}

func TestTransport(t *testing.T) {
	clienttooltest.TestTransport(t, func(t *testing.T, h *clienttool.Hub) clienttooltest.System {
		srv := httptest.NewUnstartedServer(Handler(h, Options{}))
		srv.Config.ErrorLog = log.New(io.Discard, "", 0)
		srv.Start()
		t.Cleanup(srv.Close)
		track := &tracker{}
		client := &http.Client{Transport: &http.Transport{DialContext: track.dial}}
		return clienttooltest.System{
			Transport: func(id string) clienttool.Transport {
				return Dial(srv.URL+"/ws/"+id, DialOptions{Client: client})
			},
			Cut: track.cut,
		}
	})
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
