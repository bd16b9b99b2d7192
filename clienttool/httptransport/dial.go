package httptransport

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/agenttool/tool/clienttool"
)

// DialOptions configure [Dial].
type DialOptions struct {
	Client   *http.Client                // nil: http.DefaultClient. It must not have a Timeout, which would end the stream
	Header   http.Header                 // sent with every request
	Auth     func(r *http.Request) error // changes every request before it is sent, to authenticate it; nil: nothing
	MaxFrame int                         // bytes [4 MiB and 64 KiB]
}

// Dial returns a transport to the host whose [Handler] is mounted at base, such as
// "https://host/client-tools". The client's hello opens the stream; everything else
// is a POST, and its answer comes back as a message. A POST that fails for a
// passing reason is repeated for a few seconds before the link is given up; refused
// credentials are fatal.
func Dial(base string, o DialOptions) clienttool.Transport {
	if o.Client == nil {
		o.Client = http.DefaultClient
	}
	if o.MaxFrame == 0 {
		o.MaxFrame = clienttool.Limits{}.FrameBytes()
	}
	base = strings.TrimSuffix(base, "/")
	return clienttool.DialFunc(func(context.Context) (clienttool.Conn, error) {
		c := &conn{base: base, opt: o, in: make(chan *clienttool.Message, 16), opened: make(chan struct{})}
		c.ctx, c.cancel = context.WithCancelCause(context.Background())
		return c, nil
	})
}

// conn is one stream and the POSTs beside it.
type conn struct {
	base string
	opt  DialOptions

	ctx    context.Context // ends with the link
	cancel context.CancelCauseFunc
	in     chan *clienttool.Message

	opened  chan struct{} // closed when the stream is
	id      string        // of the client; set with hello
	genMu   sync.Mutex
	gen     uint64 // from welcome
	helloed bool
	reader  sync.WaitGroup
}

// Send implements [clienttool.Conn].
func (c *conn) Send(ctx context.Context, m *clienttool.Message) error {
	if c.ctx.Err() != nil {
		return clienttool.ErrClosed
	}
	b, err := clienttool.EncodeMessage(nil, m)
	if err != nil {
		return err
	}
	if len(b) > c.opt.MaxFrame {
		return fmt.Errorf("%w: %d bytes, at most %d are sent", clienttool.ErrTooLarge, len(b), c.opt.MaxFrame)
	}
	if m.Type == clienttool.TypeHello && !c.helloed {
		c.helloed, c.id = true, m.Hello.ClientID
		return c.open(ctx, b)
	}
	// A repeated message does no harm: results, questions and progress have ids.
	wait := 100 * time.Millisecond
	for try := 0; ; try++ {
		again, after, err := c.post(ctx, m, b)
		if !again || try == 4 {
			if err != nil && !errors.Is(err, clienttool.ErrTooLarge) {
				c.cancel(err)
			}
			return err
		}
		timer := time.NewTimer(min(max(wait, after), 30*time.Second))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return context.Cause(ctx)
		case <-c.ctx.Done():
			timer.Stop()
			return clienttool.ErrClosed
		}
		wait *= 3
	}
}

func (c *conn) request(ctx context.Context, b []byte) (*http.Request, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+"/message", bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	for k, v := range c.opt.Header {
		r.Header[k] = v
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Clienttool-Client", c.id)
	c.genMu.Lock()
	if c.gen > 0 {
		r.Header.Set("Clienttool-Gen", strconv.FormatUint(c.gen, 10))
	}
	c.genMu.Unlock()
	if c.opt.Auth != nil {
		if err := c.opt.Auth(r); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// open sends the hello and begins to read the stream that answers it. The stream
// outlives ctx.
func (c *conn) open(ctx context.Context, b []byte) error {
	stop := context.AfterFunc(ctx, func() { c.cancel(context.Cause(ctx)) })
	defer stop()
	r, err := c.request(c.ctx, b)
	if err != nil {
		return err
	}
	r.Header.Set("Accept", "text/event-stream")
	resp, err := c.opt.Client.Do(r)
	if err != nil {
		return err
	}
	mt, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if resp.StatusCode == http.StatusOK && mt == "text/event-stream" {
		c.reader.Go(func() { c.read(resp.Body) })
		close(c.opened)
		return nil
	}
	defer resp.Body.Close()
	m, err := c.answer(resp)
	if m != nil && m.Type == clienttool.TypeBye {
		c.in <- m // there is room: nothing else came
		close(c.opened)
		return nil
	}
	if err == nil {
		err = fmt.Errorf("the host answered hello with %s and %s", resp.Status, mt)
	}
	return err
}

// read passes the events of the stream on.
func (c *conn) read(body io.ReadCloser) {
	defer body.Close()
	p := newParser(body, c.opt.MaxFrame)
	err := func() error {
		for {
			ev, err := p.next()
			if err != nil {
				return err
			}
			m, err := clienttool.DecodeMessage(ev.data, clienttool.DecodeLimits{MaxBytes: -1})
			if errors.Is(err, clienttool.ErrMessage) && ev.name != "" {
				continue // an event for somebody else
			}
			if err != nil {
				return err
			}
			if m.Welcome != nil {
				c.genMu.Lock()
				c.gen = m.Welcome.Gen
				c.genMu.Unlock()
			}
			select {
			case c.in <- m:
			case <-c.ctx.Done():
				return context.Cause(c.ctx)
			}
		}
	}()
	c.cancel(err)
}

// post sends one message; again says that a failure may pass.
func (c *conn) post(ctx context.Context, m *clienttool.Message, b []byte) (again bool, after time.Duration, err error) {
	pctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stop := context.AfterFunc(c.ctx, func() { cancel(clienttool.ErrClosed) })
	defer stop()
	r, err := c.request(pctx, b)
	if err != nil {
		return false, 0, err
	}
	resp, err := c.opt.Client.Do(r)
	if err != nil {
		return pctx.Err() == nil, 0, err
	}
	defer resp.Body.Close()
	rep, err := c.answer(resp)
	if rep != nil {
		select {
		case c.in <- rep:
		case <-pctx.Done():
			return false, 0, context.Cause(pctx)
		}
		return false, 0, nil
	}
	switch resp.StatusCode {
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		if s, perr := strconv.Atoi(resp.Header.Get("Retry-After")); perr == nil {
			after = time.Duration(max(s, 0)) * time.Second
		}
		return true, after, err
	case http.StatusInternalServerError, http.StatusBadGateway, http.StatusGatewayTimeout, http.StatusRequestTimeout:
		return true, 0, err
	case http.StatusRequestEntityTooLarge:
		return false, 0, fmt.Errorf("%w: %w", clienttool.ErrTooLarge, err)
	case http.StatusUnauthorized, http.StatusForbidden:
		return false, 0, err
	}
	if err != nil && m.AskID != "" {
		// The question was wrong, not the link: on a new one it would be put again, for ever.
		reply := &clienttool.Message{Type: m.Type + "-reply", RequestID: m.RequestID, AskID: m.AskID, Decision: clienttool.DecisionDeny,
			Code: clienttool.CodeInvalidRequest, Error: err.Error(), Reason: err.Error()}
		var p *statusError
		if errors.As(err, &p) && p.code != "" {
			reply.Code, reply.Error, reply.Reason = strings.ToLower(p.code), p.text, p.text
		}
		select {
		case c.in <- reply:
		case <-pctx.Done():
			return false, 0, context.Cause(pctx)
		}
		return false, 0, nil
	}
	return false, 0, err
}

// answer reads an answer. A message in it is returned whatever the status; without
// one, a status that is not 2xx is an error.
func (c *conn) answer(resp *http.Response) (*clienttool.Message, error) {
	b, err := io.ReadAll(io.LimitReader(resp.Body, int64(c.opt.MaxFrame)))
	if err != nil {
		return nil, err
	}
	var body struct {
		Type  string `json:"type"`
		Error string `json:"error"`
		Code  string `json:"code"`
	}
	json.Unmarshal(b, &body) // what is no object says nothing
	if body.Type != "" {
		if m, err := clienttool.DecodeMessage(b, clienttool.DecodeLimits{MaxBytes: -1}); err == nil {
			return m, nil
		}
	}
	switch {
	case resp.StatusCode < 300:
		return nil, nil
	case resp.StatusCode == http.StatusUnauthorized, resp.StatusCode == http.StatusForbidden:
		return nil, &clienttool.FatalError{Code: clienttool.CodeUnauthorized, Reason: resp.Status + ": " + body.Error}
	}
	return nil, &statusError{status: resp.Status, code: body.Code, text: body.Error}
}

// statusError is an answer that is not 2xx, with what the host said about it.
type statusError struct{ status, code, text string }

func (e *statusError) Error() string {
	return fmt.Sprintf("the host answered %s: %.200s", e.status, e.text)
}

// Recv implements [clienttool.Conn].
func (c *conn) Recv(ctx context.Context) (*clienttool.Message, error) {
	select {
	case m := <-c.in:
		return m, nil
	default:
	}
	select {
	case m := <-c.in:
		return m, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-c.ctx.Done():
		select { // what came before the end counts
		case m := <-c.in:
			return m, nil
		default:
		}
		return nil, context.Cause(c.ctx)
	}
}

// Close implements [clienttool.Conn].
func (c *conn) Close(error) error {
	c.cancel(clienttool.ErrClosed)
	done := make(chan struct{})
	go func() { c.reader.Wait(); close(done) }()
	timer := time.NewTimer(time.Second)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	}
	return nil
}
