package clienttooltest_test

import (
	"context"
	"sync"
	"testing"

	"github.com/agenttool/tool/clienttool"
	"github.com/agenttool/tool/clienttool/clienttooltest"
)

func TestPipeConn(t *testing.T) {
	clienttooltest.TestConn(t, func(t *testing.T) clienttooltest.Pair {
		host, client := clienttool.Pipe(8)
		return clienttooltest.Pair{Host: host, Client: client, Cut: func() { host.Close(nil) }, Unlimited: true, Concurrent: true}
	})
}

// A faulty Conn without faults is a Conn.
func TestFaultlessConn(t *testing.T) {
	clienttooltest.TestConn(t, func(t *testing.T) clienttooltest.Pair {
		host, client := clienttool.Pipe(8)
		none := clienttooltest.Random(1, clienttooltest.Rates{})
		return clienttooltest.Pair{Host: clienttooltest.Faulty(host, none), Client: clienttooltest.Faulty(client, none), Unlimited: true}
	})
}

func TestPipeTransport(t *testing.T) {
	clienttooltest.TestTransport(t, func(t *testing.T, h *clienttool.Hub) clienttooltest.System {
		var mu sync.Mutex
		var conns []clienttool.Conn
		var wg sync.WaitGroup
		t.Cleanup(wg.Wait)
		return clienttooltest.System{
			Transport: func(string) clienttool.Transport {
				return clienttool.DialFunc(func(context.Context) (clienttool.Conn, error) {
					host, client := clienttool.Pipe(8)
					mu.Lock()
					defer mu.Unlock()
					conns = append(conns, client)
					wg.Go(func() { h.Serve(context.Background(), clienttool.Peer{Principal: "test"}, host) })
					return client, nil
				})
			},
			Cut: func() {
				mu.Lock()
				defer mu.Unlock()
				for _, c := range conns {
					c.Close(nil)
				}
				conns = nil
			},
		}
	})
}
