package httptransport

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agenttool/tool/clienttool"
	"github.com/agenttool/tool/clienttool/clienttooltest"
	"github.com/stretchr/testify/require"
)

// hostEnd makes a Conn of a stream and the POSTs beside it. A Hub needs none, as it
// answers a POST at once; the kit does.
type hostEnd struct {
	*stream
	in   chan *clienttool.Message
	gone chan struct{} // closed with the request of the stream
}

func (h *hostEnd) Recv(ctx context.Context) (*clienttool.Message, error) {
	select {
	case m := <-h.in:
		return m, nil
	default:
	}
	select {
	case m := <-h.in:
		return m, nil
	case <-h.done:
		return nil, io.EOF
	case <-h.gone:
		return nil, io.EOF
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// TestConn holds both halves of this carrier to the contract of a link.
func TestConn(t *testing.T) {
	for name, tls := range map[string]bool{"HTTP/1.1": false, "HTTP/2 with TLS": true} {
		t.Run(name, func(t *testing.T) {
			opened := make(chan *hostEnd, 1)
			var mu sync.Mutex
			ends := make(map[string]*hostEnd) // by client id
			srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				b, err := io.ReadAll(http.MaxBytesReader(w, r.Body, int64(clienttool.Limits{}.FrameBytes())))
				if err != nil {
					http.Error(w, `{"error":"too large"}`, http.StatusRequestEntityTooLarge)
					return
				}
				m, err := clienttool.DecodeMessage(b, clienttool.DecodeLimits{MaxBytes: -1})
				if err != nil {
					http.Error(w, `{"error":"not a message"}`, http.StatusBadRequest)
					return
				}
				id := r.Header.Get("Clienttool-Client")
				if m.Type != clienttool.TypeHello {
					mu.Lock()
					h := ends[id]
					mu.Unlock()
					select {
					case h.in <- m:
						w.WriteHeader(http.StatusAccepted)
					case <-h.done:
						http.Error(w, `{"error":"gone"}`, http.StatusGone)
					case <-h.gone:
						http.Error(w, `{"error":"gone"}`, http.StatusGone)
					case <-r.Context().Done():
					}
					return
				}
				h := &hostEnd{newStream(w, 5*time.Second, "epoch", false), make(chan *clienttool.Message, 8), make(chan struct{})}
				defer close(h.gone)
				mu.Lock()
				ends[id] = h
				mu.Unlock()
				if h.open(1, 0) != nil {
					return
				}
				opened <- h
				select {
				case <-r.Context().Done():
				case <-h.done:
				}
				h.Close(nil)
				h.writing.Lock() // a Send that was begun ends before the response does
				defer h.writing.Unlock()
			}))
			srv.EnableHTTP2 = tls
			srv.Config.ErrorLog = log.New(io.Discard, "", 0)
			if tls {
				srv.StartTLS()
			} else {
				srv.Start()
			}
			t.Cleanup(func() { srv.CloseClientConnections(); srv.Close() })
			tr := srv.Client().Transport.(*http.Transport).Clone()
			track := &conns{dial: (&net.Dialer{}).DialContext}
			tr.DialContext = track.Dial
			t.Cleanup(tr.CloseIdleConnections)
			clienttooltest.TestConn(t, func(t *testing.T) clienttooltest.Pair {
				id := t.Name()
				c, err := Dial(srv.URL, DialOptions{Client: &http.Client{Transport: tr}}).Dial(t.Context())
				require.NoError(t, err)
				id = strings.Map(func(r rune) rune {
					if r == '/' || r == ' ' {
						return '-'
					}
					return r
				}, id) + time.Now().Format("150405.000000000")
				require.NoError(t, c.Send(t.Context(), &clienttool.Message{Type: clienttool.TypeHello, Hello: &clienttool.Hello{Protocol: 1, ClientID: id}}))
				return clienttooltest.Pair{Host: <-opened, Client: c, Cut: track.cut, Raw: func(b []byte) {
					r, err := http.NewRequest(http.MethodPost, srv.URL+"/message", strings.NewReader(string(b)))
					require.NoError(t, err)
					r.Header.Set("Clienttool-Client", id)
					resp, err := (&http.Client{Transport: tr}).Do(r)
					if err == nil {
						resp.Body.Close()
					}
				}}
			})
		})
	}
}

// conns remembers what was dialed, so that it can be severed.
type conns struct {
	dial func(ctx context.Context, network, addr string) (net.Conn, error)
	mu   sync.Mutex
	all  []net.Conn
}

func (k *conns) Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	c, err := k.dial(ctx, network, addr)
	if err != nil {
		return nil, errors.Join(errors.New("dial"), err)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.all = append(k.all, c)
	return c, nil
}

func (k *conns) cut() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, c := range k.all {
		c.Close()
	}
	k.all = nil
}
