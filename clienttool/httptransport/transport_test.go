package httptransport_test

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/agenttool/tool/clienttool"
	"github.com/agenttool/tool/clienttool/clienttooltest"
	"github.com/agenttool/tool/clienttool/httptransport"
)

func system(tls bool) func(t *testing.T, h *clienttool.Hub) clienttooltest.System {
	return func(t *testing.T, h *clienttool.Hub) clienttooltest.System {
		srv := httptest.NewUnstartedServer(http.StripPrefix("/client-tools", httptransport.Handler(h, httptransport.Options{})))
		srv.EnableHTTP2 = tls
		srv.Config.ErrorLog = log.New(io.Discard, "", 0) // of handshakes that are cut
		if tls {
			srv.StartTLS()
		} else {
			srv.Start()
		}
		t.Cleanup(srv.Close)
		return clienttooltest.System{
			Transport: func(string) clienttool.Transport {
				client := srv.Client()
				return httptransport.Dial(srv.URL+"/client-tools", httptransport.DialOptions{Client: client})
			},
			Cut: srv.CloseClientConnections,
		}
	}
}

func TestTransport(t *testing.T) { clienttooltest.TestTransport(t, system(false)) }

func TestTransportHTTP2(t *testing.T) { clienttooltest.TestTransport(t, system(true)) }
