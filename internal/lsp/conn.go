package lsp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"sync"
)

// maxQueue is how many bytes may wait for a server to read them. One that lets
// more gather is stuck, and is ended.
const maxQueue = 64 << 20

// RPCError is the answer of a server that refuses a request.
type RPCError struct {
	Code    int64           `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

func (e *RPCError) Error() string { return clip(e.Message, 1000) }

// Error codes of JSON-RPC and of the protocol.
const (
	codeMethodNotFound   = -32601
	codeInvalidParams    = -32602
	codeServerCancelled  = -32802
	codeContentModified  = -32801
	codeRequestCancelled = -32800
)

// peer is what a conn tells of what the server sends by itself. Its methods are
// called by the goroutine that reads, so they must not wait.
type peer interface {
	notified(method string, params json.RawMessage)
	requested(method string, params json.RawMessage) (any, *RPCError)
}

// conn is a JSON-RPC connection to a server.
type conn struct {
	stream io.ReadWriter
	peer   peer
	wg     sync.WaitGroup // the two goroutines

	mu      sync.Mutex
	wake    *sync.Cond // the queue has something, or the connection is over
	queue   [][]byte
	queued  int // bytes
	next    int64
	pending map[int64]chan reply
	err     error
	done    chan struct{} // closed with err
}

type reply struct {
	result json.RawMessage
	err    error
}

// newConn starts to read and write. The stream's Read and Write have to return
// when the stream is over, which is for its owner to bring about.
func newConn(stream io.ReadWriter, p peer) *conn {
	c := &conn{stream: stream, peer: p, pending: make(map[int64]chan reply), done: make(chan struct{})}
	c.wake = sync.NewCond(&c.mu)
	c.wg.Go(c.read)
	c.wg.Go(c.write)
	return c
}

// fail ends the connection: whoever waits for an answer gets err.
func (c *conn) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return
	}
	c.err = err
	close(c.done)
	for id, ch := range c.pending {
		ch <- reply{err: err}
		delete(c.pending, id)
	}
	c.queue, c.queued = nil, 0
	c.wake.Broadcast()
}

// cause returns why the connection is over, nil if it is not.
func (c *conn) cause() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// call sends a request and waits for its answer, which is decoded into result
// unless that is nil. When ctx ends, the server is told that nobody waits.
func (c *conn) call(ctx context.Context, method string, params, result any) error {
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	ch := make(chan reply, 1)
	c.mu.Lock()
	if c.err != nil {
		c.mu.Unlock()
		return c.err
	}
	c.next++
	id := c.next
	c.pending[id] = ch
	c.mu.Unlock()
	if err := c.send(&outgoing{ID: id, Method: method, Params: params}); err != nil {
		c.forget(id)
		return err
	}
	select {
	case r := <-ch:
		if r.err != nil || result == nil {
			return r.err
		}
		if len(r.result) == 0 {
			return nil
		}
		if err := json.Unmarshal(r.result, result); err != nil {
			return fmt.Errorf("%w: its answer to %s cannot be read: %w", ErrProtocol, method, err)
		}
		return nil
	case <-ctx.Done():
		if c.forget(id) {
			_ = c.notify("$/cancelRequest", map[string]any{"id": id})
		}
		return context.Cause(ctx)
	}
}

// forget gives up waiting and reports whether there was something to wait for.
func (c *conn) forget(id int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, ok := c.pending[id]
	delete(c.pending, id)
	return ok
}

func (c *conn) notify(method string, params any) error {
	return c.send(&outgoing{Method: method, Params: params})
}

// outgoing is a request, a notification or an answer.
type outgoing struct {
	Version string    `json:"jsonrpc"`
	ID      any       `json:"id,omitempty"`
	Method  string    `json:"method,omitempty"`
	Params  any       `json:"params,omitempty"`
	Result  any       `json:"result,omitempty"`
	Error   *RPCError `json:"error,omitempty"`
}

// send queues a message. It never waits for the server.
func (c *conn) send(m *outgoing) error {
	m.Version = "2.0"
	body, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("encoding %s: %w", m.Method, err)
	}
	c.mu.Lock()
	if c.err != nil {
		defer c.mu.Unlock()
		return c.err
	}
	if c.queued+len(body) <= maxQueue {
		defer c.mu.Unlock()
		c.queue = append(c.queue, frame(body))
		c.queued += len(body)
		c.wake.Signal()
		return nil
	}
	c.mu.Unlock()
	err = fmt.Errorf("%w: it does not read what is sent to it", ErrProtocol)
	c.fail(err)
	return err
}

// write sends what is queued.
func (c *conn) write() {
	for {
		c.mu.Lock()
		for len(c.queue) == 0 && c.err == nil {
			c.wake.Wait()
		}
		if c.err != nil {
			c.mu.Unlock()
			return
		}
		m := c.queue[0]
		c.queue = c.queue[1:]
		c.mu.Unlock()
		_, err := c.stream.Write(m)
		c.mu.Lock()
		c.queued = max(0, c.queued-len(m))
		c.mu.Unlock()
		if err != nil {
			c.fail(fmt.Errorf("writing to the server: %w", err))
			return
		}
	}
}

// incoming is any message of a server.
type incoming struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *RPCError       `json:"error"`
}

// read takes the server's messages until there are no more.
func (c *conn) read() {
	f := newFramer(c.stream)
	for {
		body, err := f.next()
		var large *tooLargeError
		switch {
		case errors.As(err, &large):
			c.lost(large)
			continue
		case err != nil:
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			c.fail(err)
			return
		case c.cause() != nil:
			return
		}
		var m incoming
		if err := json.Unmarshal(body, &m); err != nil {
			c.fail(fmt.Errorf("%w: it sent %q: %w", ErrProtocol, clip(string(body), 200), err))
			return
		}
		c.take(&m)
	}
}

func (c *conn) take(m *incoming) {
	asked := len(m.ID) > 0 && !bytes.Equal(m.ID, []byte("null"))
	switch {
	case m.Method != "" && asked:
		out := &outgoing{ID: m.ID}
		if out.Result, out.Error = c.peer.requested(m.Method, m.Params); out.Error == nil && out.Result == nil {
			out.Result = json.RawMessage("null")
		}
		_ = c.send(out) // if it fails the connection is over
	case m.Method != "":
		c.peer.notified(m.Method, m.Params)
	case asked:
		r := reply{result: m.Result}
		if m.Error != nil {
			r.err = m.Error
		}
		c.answer(m.ID, r)
	}
}

// answer hands an answer to who waits for it. Nobody does if the id is none of
// ours, was answered before, or belongs to a request that was given up.
func (c *conn) answer(raw []byte, r reply) bool {
	id, err := strconv.ParseInt(string(raw), 10, 64)
	if err != nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	ch, ok := c.pending[id]
	if ok {
		delete(c.pending, id)
		ch <- r
	}
	return ok
}

var (
	idAtHead = regexp.MustCompile(`"id"\s*:\s*([0-9]+)`)
	idAtTail = regexp.MustCompile(`"id"\s*:\s*([0-9]+)\s*[,}]`)
)

// lost settles who waits for an answer that was too large. Its id is at one of
// its ends, or else it could be the answer to anything.
func (c *conn) lost(e *tooLargeError) {
	for _, m := range [][][]byte{idAtHead.FindSubmatch(e.head), lastMatch(idAtTail, e.tail)} {
		if m != nil && c.answer(m[1], reply{err: e}) {
			return
		}
	}
	if bytes.Contains(e.head, []byte(`"method"`)) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, ch := range c.pending {
		ch <- reply{err: e}
		delete(c.pending, id)
	}
}

func lastMatch(re *regexp.Regexp, b []byte) [][]byte {
	all := re.FindAllSubmatch(b, -1)
	if len(all) == 0 {
		return nil
	}
	return all[len(all)-1]
}
