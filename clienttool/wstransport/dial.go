package wstransport

import (
	"context"
	"net/http"

	"github.com/agenttool/tool/clienttool"
	"github.com/coder/websocket"
)

// DialOptions configure [Dial].
type DialOptions struct {
	Client   *http.Client                                        // nil: http.DefaultClient
	Header   http.Header                                         // of the handshake, for credentials
	Auth     func(ctx context.Context, header http.Header) error // adds to it before each handshake; nil: nothing
	MaxFrame int                                                 // bytes [4 MiB and 64 KiB]
}

// Dial returns a transport to the host whose [Handler] serves url, such as
// "wss://host/client-tools/ws/laptop"; http and https are fine too. A handshake that is
// refused with 400, 401 or 403 is fatal.
func Dial(url string, o DialOptions) clienttool.Transport {
	if o.MaxFrame == 0 {
		o.MaxFrame = clienttool.Limits{}.FrameBytes()
	}
	return clienttool.DialFunc(func(ctx context.Context) (clienttool.Conn, error) {
		header := o.Header.Clone()
		if o.Auth != nil {
			if header == nil {
				header = make(http.Header)
			}
			if err := o.Auth(ctx, header); err != nil {
				return nil, err
			}
		}
		ws, resp, err := websocket.Dial(ctx, url, &websocket.DialOptions{
			HTTPClient: o.Client, HTTPHeader: header, Subprotocols: []string{Protocol}, CompressionMode: websocket.CompressionDisabled,
		})
		if err != nil {
			if resp != nil {
				switch resp.StatusCode {
				case http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden:
					return nil, &clienttool.FatalError{Code: clienttool.CodeUnauthorized, Reason: resp.Status, Err: err}
				}
			}
			return nil, err
		}
		return newConn(ws, o.MaxFrame), nil
	})
}
