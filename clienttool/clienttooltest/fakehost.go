package clienttooltest

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"sync"
	"testing"

	"github.com/agenttool/tool/clienttool"
)

// FakeHost is a host for tests of clients: a [clienttool.Transport] that welcomes
// every client, records what it says, and says what it is told to.
type FakeHost struct {
	t testing.TB

	mu     sync.Mutex
	conns  []clienttool.Conn
	frames []*clienttool.Message
	seq    uint64
	more   chan struct{} // closed and replaced when frames grows or a client connects
	refuse error
	quiet  bool
}

// NewHost returns a host that ends with the test.
func NewHost(t testing.TB) *FakeHost {
	h := &FakeHost{t: t, more: make(chan struct{})}
	t.Cleanup(h.Cut)
	return h
}

// Dial implements [clienttool.Transport].
func (h *FakeHost) Dial(context.Context) (clienttool.Conn, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.refuse != nil {
		return nil, h.refuse
	}
	host, client := clienttool.Pipe(64)
	h.conns = append(h.conns, host)
	go h.read(host)
	return client, nil
}

func (h *FakeHost) read(c clienttool.Conn) {
	for {
		m, err := c.Recv(context.Background())
		if err != nil {
			return
		}
		h.mu.Lock()
		h.frames = append(h.frames, m)
		close(h.more)
		h.more = make(chan struct{})
		quiet := h.quiet
		h.mu.Unlock()
		if quiet {
			continue
		}
		switch m.Type {
		case clienttool.TypeHello:
			h.send(c, &clienttool.Message{Type: clienttool.TypeWelcome, Welcome: &clienttool.Welcome{Protocol: clienttool.Protocol,
				Resume: rand.Text(), Limits: clienttool.WelcomeLimits{MaxResultBytes: 4 << 20}}})
		case clienttool.TypeResult:
			h.send(c, &clienttool.Message{Type: clienttool.TypeAck, RequestID: m.RequestID, Verdict: clienttool.VerdictAccepted})
		}
	}
}

func (h *FakeHost) send(c clienttool.Conn, m *clienttool.Message) {
	h.mu.Lock()
	h.seq++
	n := *m
	n.Seq = h.seq
	h.mu.Unlock()
	c.Send(context.Background(), &n)
}

// Quiet makes the host answer nothing by itself: no welcome, no verdicts.
func (h *FakeHost) Quiet(quiet bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.quiet = quiet
}

// Refuse makes Dial fail with err, or no more if it is nil.
func (h *FakeHost) Refuse(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.refuse = err
}

// Send sends a frame to the client that connected last.
func (h *FakeHost) Send(m *clienttool.Message) {
	h.t.Helper()
	h.mu.Lock()
	var c clienttool.Conn
	if n := len(h.conns); n > 0 {
		c = h.conns[n-1]
	}
	h.mu.Unlock()
	if c == nil {
		h.t.Error("no client is connected")
		return
	}
	h.send(c, m)
}

// Cut severs every link.
func (h *FakeHost) Cut() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, c := range h.conns {
		c.Close(errCut)
	}
	h.conns = nil
}

// Frames returns what clients said so far.
func (h *FakeHost) Frames() []*clienttool.Message {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]*clienttool.Message(nil), h.frames...)
}

// Await waits for the nth frame of a type, from 1, or the end of ctx.
func (h *FakeHost) Await(ctx context.Context, typ string, nth int) (*clienttool.Message, error) {
	for {
		h.mu.Lock()
		more, n := h.more, 0
		for _, m := range h.frames {
			if m.Type == typ {
				if n++; n == nth {
					h.mu.Unlock()
					return m, nil
				}
			}
		}
		h.mu.Unlock()
		select {
		case <-more:
		case <-ctx.Done():
			return nil, errors.Join(errors.New("no "+typ+" came"), context.Cause(ctx))
		}
	}
}

// Call asks the client for a call of its tool and waits for the result.
func (h *FakeHost) Call(ctx context.Context, name string, input json.RawMessage) (*clienttool.ToolResponse, error) {
	id := "req_" + rand.Text()
	h.Send(&clienttool.Message{Type: clienttool.TypeRequest, Request: &clienttool.ExecutionRequest{
		Type: clienttool.TypeToolRequest, RequestID: id, CallID: "call", Tool: name, Name: name, Input: input}})
	for n := 1; ; n++ {
		m, err := h.Await(ctx, clienttool.TypeResult, n)
		if err != nil {
			return nil, err
		}
		if m.RequestID == id {
			return m.Result, nil
		}
	}
}
