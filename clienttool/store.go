package clienttool

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"
)

// Store keeps calls over a restart of the host. Put is called before a call is
// admitted, Settle once it has ended; Load when a hub is made. The methods are
// called with no lock held and may block; they must be safe for concurrent use.
//
// What was loaded is as after a lost link: a client that comes back within the
// grace period with the call, or its result, ends it well; otherwise it fails with
// Unknown. Nobody waits for such a call: see [Hub.Restored].
type Store interface {
	Put(r Record) error
	// Settle removes the call; first says whether it was there.
	Settle(requestID string) (first bool, err error)
	Load() ([]Record, error)
}

// Record is a call as a Store keeps it.
type Record struct {
	ClientID  string           `json:"clientID"`
	Principal string           `json:"principal"`
	Request   ExecutionRequest `json:"request"`
	Tool      ToolDefinition   `json:"tool"` // as the client registered it
	Deadline  time.Time        `json:"deadline"`
}

// MemoryStore is a [Store] that forgets with the process, for tests. The zero value is ready.
type MemoryStore struct {
	mu sync.Mutex
	m  map[string]Record
	by []string
}

// Put implements [Store].
func (s *MemoryStore) Put(r Record) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.m == nil {
		s.m = make(map[string]Record)
	}
	s.m[r.Request.RequestID] = r
	s.by = append(s.by, r.Request.RequestID)
	return nil
}

// Settle implements [Store].
func (s *MemoryStore) Settle(id string) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.m[id]
	delete(s.m, id)
	s.by = slices.DeleteFunc(s.by, func(x string) bool { return x == id })
	return ok, nil
}

// Load implements [Store].
func (s *MemoryStore) Load() ([]Record, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Record
	for _, id := range s.by {
		out = append(out, s.m[id])
	}
	return out, nil
}

func (h *Hub) put(c *Call) error {
	return h.opt.Store.Put(Record{ClientID: c.lease.clientID, Principal: c.lease.principal, Request: c.req,
		Tool: c.tool.def, Deadline: c.deadline})
}

// settled tells the store; it is called with h.mu held, so that happens elsewhere.
// At a shutdown the calls stay in the store: they are what it is for.
func (h *Hub) settled(c *Call) {
	if h.opt.Store == nil || h.closed || h.draining && c.err != nil {
		return
	}
	go h.unput(c)
}

func (h *Hub) unput(c *Call) {
	if h.opt.Store == nil {
		return
	}
	contain(func() {
		if _, err := h.opt.Store.Settle(c.req.RequestID); err != nil {
			h.opt.Logger.Error("a call could not be removed from the store", "request", c.req.RequestID, "error", err)
		}
	})
}

// restore enters the calls that an earlier hub left behind.
func (h *Hub) restore() error {
	records, err := h.opt.Store.Load()
	if err != nil {
		return err
	}
	for _, r := range records {
		c := &Call{h: h, opt: &noOptions, done: make(chan struct{}), attempt: 1, created: time.Now(), req: r.Request, deadline: r.Deadline}
		left := time.Until(r.Deadline)
		ts, _ := h.compile(r.ClientID, []ToolDefinition{r.Tool}, h.known(r.ClientID))
		if left <= 0 || len(ts) == 0 || !json.Valid(r.Request.Input) {
			h.unput(c)
			continue
		}
		h.mu.Lock()
		l := h.leases[r.ClientID]
		if l == nil {
			if l, err = h.newLease(Peer{Principal: r.Principal}, r.ClientID); err != nil {
				h.mu.Unlock()
				return err
			}
			l.legacy, l.attached = false, true
			l.arm(max(h.opt.DetachGrace, 0), CodeGone)
		}
		if l.principal == r.Principal {
			if taken, _, _ := l.install(ts, r.Request.SessionID, false); len(taken) == 1 {
				c.lease, c.tool, c.left = l, taken[0], left
				if err := h.admitRestored(c); err == nil {
					h.restored = append(h.restored, c)
				}
			}
		}
		h.mu.Unlock()
	}
	return nil
}

// admitRestored enters a call as one that was written: the client may have it.
func (h *Hub) admitRestored(c *Call) error {
	if err := h.admit(c); err != nil {
		return err
	}
	l := c.lease
	l.queue.remove(c)
	l.take(c)
	c.state, c.written, c.sentAt, c.firstSent = callSent, true, c.created, c.created
	return nil
}

// Restored returns the calls that were loaded from the Store when the hub was made.
func (h *Hub) Restored() []*Call {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.restored)
}

// Wait waits for the end of a call, or of ctx, which does not end the call.
func (c *Call) Wait(ctx context.Context) (*ToolResult, error) {
	select {
	case <-c.done:
		return c.Result()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
