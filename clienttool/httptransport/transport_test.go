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

// system is HTTP/1.1, or with TLS the protocol that h2 says.
func system(tls, h2 bool) func(t *testing.T, h *clienttool.Hub) clienttooltest.System {
	return func(t *testing.T, h *clienttool.Hub) clienttooltest.System {
		srv := httptest.NewUnstartedServer(http.StripPrefix("/client-tools", httptransport.Handler(h, httptransport.Options{})))
		srv.EnableHTTP2 = h2
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

func TestTransport(t *testing.T) { clienttooltest.TestTransport(t, system(false, false)) }

func TestTransportTLS(t *testing.T) { clienttooltest.TestTransport(t, system(true, false)) }

func TestTransportHTTP2(t *testing.T) { clienttooltest.TestTransport(t, system(true, true)) }
