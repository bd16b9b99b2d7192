package clienttool

import (
	"encoding/json"
	"sync"
	"time"
)

// EventType names an [Event].
type EventType string

// The events. Every call has one EventRequest and ends with exactly one of
// EventCompleted and EventFailed; a call that was cancelled has an EventCancelled
// before its EventFailed.
const (
	EventRequest      EventType = "client-tool.request"    // accepted by the hub
	EventExecuting    EventType = "client-tool.executing"  // written to the client; again if it had to be sent again
	EventProgress     EventType = "client-tool.progress"   //
	EventCompleted    EventType = "client-tool.completed"  //
	EventFailed       EventType = "client-tool.failed"     //
	EventCancelled    EventType = "client-tool.cancelled"  //
	EventRegistered   EventType = "client-tool.registered" //
	EventUnregistered EventType = "client-tool.unregistered"
	EventConnected    EventType = "client-tool.connected"
	EventDisconnected EventType = "client-tool.disconnected" // tools stay for the grace period
	EventExpired      EventType = "client-tool.expired"      // tools and calls are gone
	EventRejected     EventType = "client-tool.rejected"     // somebody tried what is not theirs to do
	EventLate         EventType = "client-tool.late"         // a result for a call that had ended
)

// Event is something that happened. Which fields are set depends on the type;
// the JSON form has just those, so that it is the payload that a bus publishes
// under the name in Type.
type Event struct {
	Type      EventType
	Time      time.Time
	ClientID  string
	ToolIDs   []string          // registered, unregistered, expired
	Request   *ExecutionRequest // request
	RequestID string            // of a call
	SessionID string
	MessageID string
	CallID    string
	Tool      string
	Error     string
	Code      string
	Progress  *Progress
}

// MarshalJSON returns the payload: {clientID, request} for requests, {clientID,
// toolIDs} for registrations, {sessionID, messageID, callID, tool, clientID,
// error, success} for the states of a call.
func (e Event) MarshalJSON() ([]byte, error) {
	switch e.Type {
	case EventRequest:
		return json.Marshal(struct {
			ClientID string            `json:"clientID"`
			Request  *ExecutionRequest `json:"request"`
		}{e.ClientID, e.Request})
	case EventRegistered, EventUnregistered, EventConnected, EventDisconnected, EventExpired:
		ids := e.ToolIDs
		if ids == nil {
			ids = []string{}
		}
		return json.Marshal(struct {
			ClientID string   `json:"clientID"`
			ToolIDs  []string `json:"toolIDs"`
		}{e.ClientID, ids})
	}
	return json.Marshal(struct {
		SessionID string    `json:"sessionID"`
		MessageID string    `json:"messageID"`
		CallID    string    `json:"callID"`
		Tool      string    `json:"tool"`
		ClientID  string    `json:"clientID"`
		Error     string    `json:"error,omitempty"`
		Success   bool      `json:"success,omitempty"`
		RequestID string    `json:"requestID,omitempty"`
		Code      string    `json:"code,omitempty"`
		Progress  *Progress `json:"progress,omitempty"`
	}{e.SessionID, e.MessageID, e.CallID, e.Tool, e.ClientID, e.Error, e.Type == EventCompleted, e.RequestID, e.Code, e.Progress})
}

// Outcome is how a call ended, for an [Observer].
type Outcome struct {
	ClientID, Tool, RequestID string
	Code                      string // "" if it went well
	Delivery                  Delivery
}

// Timings are the spans of a call, zero where it did not get there.
type Timings struct {
	Queued time.Duration // until it was written
	Ran    time.Duration // from then until it ended
	Total  time.Duration
}

// Observer gets measurements. It is called from one goroutine at a time, never
// with a lock held; a panic in it is contained, and one that blocks loses
// measurements, not calls.
type Observer interface {
	// CallDone reports the end of a call.
	CallDone(o Outcome, t Timings)
	// Gauge reports a new value of: leases, links, pending.
	Gauge(name string, v int64)
	// Count reports n more of: resent, duplicate, late, foreign, superseded,
	// rate_limited, rejected_tool, strike.
	Count(name string, n int64)
}

// subscriber hands items to one function, in order, in a goroutine that lives
// only while there are any. When more than its buffer are waiting the oldest are dropped.
type subscriber struct {
	mu      sync.Mutex
	f       func(any)
	buf     int
	items   []any
	busy    bool
	gone    bool
	dropped int64
}

func (s *subscriber) push(x any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gone {
		return
	}
	if len(s.items) >= s.buf {
		n := len(s.items) - s.buf + 1
		s.dropped += int64(n)
		s.items = append(s.items[:0], s.items[n:]...)
	}
	s.items = append(s.items, x)
	if !s.busy {
		s.busy = true
		go s.drain()
	}
}

func (s *subscriber) drain() {
	for {
		s.mu.Lock()
		if s.gone || len(s.items) == 0 {
			s.busy, s.items = false, nil
			s.mu.Unlock()
			return
		}
		x := s.items[0]
		s.items[0] = nil
		s.items = s.items[1:]
		s.mu.Unlock()
		contain(func() { s.f(x) })
	}
}

// contain runs foreign code whose panic is nobody else's business.
func contain(f func()) (ok bool) {
	defer func() {
		if recover() != nil {
			ok = false
		}
	}()
	f()
	return true
}

// Subscribe calls f for every event from now on, in order, from one goroutine at
// a time. A slow f does not delay the hub: beyond buf waiting events (0: 1024)
// the oldest are dropped. unsubscribe returns how many were. f may call the hub.
func (h *Hub) Subscribe(buf int, f func(Event)) (unsubscribe func() (dropped int64)) {
	if buf <= 0 {
		buf = 1024
	}
	s := &subscriber{f: func(x any) { f(x.(Event)) }, buf: buf}
	h.mu.Lock()
	h.subs = append(h.subs[:len(h.subs):len(h.subs)], s)
	h.mu.Unlock()
	return func() int64 {
		h.mu.Lock()
		var keep []*subscriber
		for _, o := range h.subs {
			if o != s {
				keep = append(keep, o)
			}
		}
		h.subs = keep
		h.mu.Unlock()
		s.mu.Lock()
		defer s.mu.Unlock()
		s.gone = true
		return s.dropped
	}
}

// emit queues an event. It is called with h.mu held, so that the order is that of
// what happened; nobody else's code runs here.
func (h *Hub) emit(e Event) {
	if len(h.subs) == 0 {
		return
	}
	e.Time = time.Now()
	for _, s := range h.subs {
		s.push(e)
	}
}

// measure queues a measurement for the observer.
func (h *Hub) measure(f func(Observer)) {
	if h.observer != nil {
		h.observer.push(f)
	}
}

func (h *Hub) count(name string) {
	if h.observer != nil {
		h.observer.push(func(o Observer) { o.Count(name, 1) })
	}
}

func (h *Hub) gauge(name string, v int) {
	if h.observer != nil {
		h.observer.push(func(o Observer) { o.Gauge(name, int64(v)) })
	}
}
