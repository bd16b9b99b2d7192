package wstransport

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/agenttool/tool/clienttool"
	"github.com/coder/websocket"
)

// Close codes beside those of RFC 6455.
const (
	CloseSuperseded   = 4000
	CloseUnauthorized = 4001
	CloseRate         = 4008
)

// conn is a WebSocket as a [clienttool.Conn].
type conn struct {
	ws   *websocket.Conn
	max  int
	once sync.Once
	bye  atomic.Pointer[clienttool.Message] // the last one sent, which names the close code
	done chan struct{}

	// lenient answers what is no message with an error, as the older protocol does,
	// in place of closing.
	lenient bool
	garbage int
}

// maxGarbage is how often in a row a lenient conn puts up with what is no message.
const maxGarbage = 10

func newConn(ws *websocket.Conn, most int) *conn {
	ws.SetReadLimit(int64(most))
	return &conn{ws: ws, max: most, done: make(chan struct{})}
}

// Send implements [clienttool.Conn].
func (c *conn) Send(ctx context.Context, m *clienttool.Message) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	b, err := clienttool.EncodeMessage(nil, m)
	if err != nil {
		return err
	}
	if len(b) > c.max {
		return fmt.Errorf("%w: %d bytes, at most %d are sent", clienttool.ErrTooLarge, len(b), c.max)
	}
	if m.Type == clienttool.TypeBye {
		c.bye.Store(&clienttool.Message{Reason: m.Reason, Error: m.Error})
	}
	if err := c.ws.Write(ctx, websocket.MessageText, b); err != nil {
		return c.why(ctx, err)
	}
	return nil
}

// Recv implements [clienttool.Conn].
func (c *conn) Recv(ctx context.Context) (*clienttool.Message, error) {
	for {
		_, b, err := c.ws.Read(ctx)
		if err != nil {
			return nil, c.why(ctx, err)
		}
		m, err := clienttool.DecodeMessage(b, clienttool.DecodeLimits{MaxBytes: -1})
		if err == nil {
			c.garbage = 0
			return m, nil
		}
		c.garbage++
		if !c.lenient || c.garbage > maxGarbage || c.complain(ctx, err) != nil {
			// The next frame is as good as any; but whoever sends this is not to be trusted with more.
			c.Close(err)
			return nil, err
		}
	}
}

// complain tells the peer that its message is none. Writes of a WebSocket may come
// from several goroutines.
func (c *conn) complain(ctx context.Context, err error) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	b, err := clienttool.EncodeMessage(nil, &clienttool.Message{Type: clienttool.TypeError, Code: clienttool.CodeInvalidRequest, Error: err.Error()})
	if err != nil {
		return err
	}
	return c.ws.Write(ctx, websocket.MessageText, b)
}

func (c *conn) why(ctx context.Context, err error) error {
	select {
	case <-c.done:
		return clienttool.ErrClosed
	default:
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if errors.Is(err, websocket.ErrMessageTooBig) {
		return fmt.Errorf("%w: %w", clienttool.ErrTooLarge, err)
	}
	switch websocket.CloseStatus(err) {
	case websocket.StatusNormalClosure, websocket.StatusGoingAway, CloseSuperseded, CloseRate:
		return io.EOF
	case CloseUnauthorized:
		return &clienttool.FatalError{Code: clienttool.CodeUnauthorized, Reason: "unauthorized", Err: err}
	}
	return err
}

// Close implements [clienttool.Conn]. The closing handshake with a peer that does
// not answer would take ten seconds; a moment has to do.
func (c *conn) Close(reason error) error {
	c.once.Do(func() {
		close(c.done)
		code, text := websocket.StatusNormalClosure, ""
		if errors.Is(reason, clienttool.ErrMessage) {
			code, text = websocket.StatusInvalidFramePayloadData, "not a message"
		}
		if m := c.bye.Load(); m != nil {
			text = m.Reason
			switch m.Reason {
			case clienttool.ReasonShutdown:
				code = websocket.StatusGoingAway
			case clienttool.ReasonSuperseded:
				code = CloseSuperseded
			case clienttool.ReasonUnauthorized:
				code = CloseUnauthorized
			case clienttool.ReasonRate:
				code = CloseRate
			}
		}
		polite := make(chan struct{})
		go func() {
			defer close(polite)
			c.ws.Close(code, text[:min(len(text), 100)])
		}()
		timer := time.NewTimer(200 * time.Millisecond)
		defer timer.Stop()
		select {
		case <-polite:
		case <-timer.C:
			// CloseNow would wait for Close. Reading with a context that has ended closes
			// the connection below both.
			ctx, cancel := context.WithCancel(context.Background())
			cancel()
			c.ws.CloseRead(ctx)
			<-polite
		}
	})
	return nil
}
