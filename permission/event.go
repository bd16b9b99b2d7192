package permission

import (
	"encoding/json"
	"errors"
	"slices"
)

// EventType says what happened to a question.
type EventType string

// The event types. The first two have the names and shapes that clients of
// opencode know; such a client is best told of the third as a reply of "reject".
const (
	EventAsked     EventType = "permission.asked"     // a person is asked; Prompt is set
	EventReplied   EventType = "permission.replied"   // the question is answered, by a person or through the answer to another one
	EventWithdrawn EventType = "permission.withdrawn" // there is nothing left to answer: the calls ended, nobody is there, or time ran out
)

// Event is one step in the life of a question. Each question has one asked event and later one of the others.
type Event struct {
	Type      EventType
	SessionID string
	RequestID string
	Prompt    *Prompt // with EventAsked
	Reply     Reply   // with EventReplied
}

// MarshalJSON encodes the event as {"type","properties"}. The properties of
// permission.asked are id, sessionID, permission, patterns, always, metadata and
// tool {messageID, callID}, and beside them toolName, agent and prompt, which has the display
// forms. Those of the others are sessionID, requestID and, if there is one, reply.
func (e Event) MarshalJSON() ([]byte, error) {
	if e.Prompt == nil || e.Prompt.Request == nil {
		return json.Marshal(struct {
			Type       EventType    `json:"type"`
			Properties repliedEvent `json:"properties"`
		}{e.Type, repliedEvent{e.SessionID, e.RequestID, e.Reply}})
	}
	req := e.Prompt.Request
	a := askedEvent{
		ID: req.ID, SessionID: req.SessionID, Permission: req.Permission,
		Patterns: append([]string{}, req.Patterns...), Always: append([]string{}, req.Always...),
		Metadata: req.Metadata, Tool: CallRef{req.MessageID, req.CallID},
		ToolName: req.Tool, Agent: req.Agent, Prompt: e.Prompt,
	}
	if a.Metadata == nil {
		a.Metadata = map[string]any{}
	}
	return json.Marshal(struct {
		Type       EventType  `json:"type"`
		Properties askedEvent `json:"properties"`
	}{e.Type, a})
}

type repliedEvent struct {
	SessionID string `json:"sessionID"`
	RequestID string `json:"requestID"`
	Reply     Reply  `json:"reply,omitempty"`
}

type askedEvent struct {
	ID         string         `json:"id"`
	SessionID  string         `json:"sessionID"`
	Permission string         `json:"permission"`
	Patterns   []string       `json:"patterns"`
	Metadata   map[string]any `json:"metadata"`
	Always     []string       `json:"always"`
	Tool       CallRef        `json:"tool"`
	ToolName   string         `json:"toolName"`
	Agent      string         `json:"agent,omitempty"`
	Prompt     *Prompt        `json:"prompt"`
}

// subscriber is compared by identity, as functions cannot be.
type subscriber struct{ fn func(Event) }

// Subscribe has fn called with every event from now on, one at a time and in
// order, without any lock held: fn may call the gate's methods. It runs in a
// goroutine that lives only while there are events, and should return soon, as
// the events after it wait. If fn panics, the question that it was told of is denied.
//
// A subscriber counts as somebody who can be asked. The returned function ends
// the subscription; if it was the last and there is no [Gate.Prompt], what is
// pending is denied, as nobody is left to answer.
func (g *Gate) Subscribe(fn func(Event)) (cancel func()) {
	s := &subscriber{fn}
	g.mu.Lock()
	g.subscribers = append(slices.Clip(g.subscribers), s)
	g.mu.Unlock()
	return func() {
		g.mu.Lock()
		i := slices.Index(g.subscribers, s)
		if i < 0 {
			g.mu.Unlock()
			return
		}
		g.subscribers = slices.Delete(slices.Clone(g.subscribers), i, i+1)
		var orphans []*question
		if !g.attended() {
			orphans = slices.Clone(g.order)
		}
		g.mu.Unlock()
		for _, q := range orphans {
			g.withdraw(q, outcome{by: ByNobody, reason: unattended})
		}
	}
}

// attended reports whether somebody can be asked. It is called with g.mu held.
func (g *Gate) attended() bool { return g.Prompt != nil || len(g.subscribers) > 0 }

// emit queues an event. It is called with g.mu held, so that events have the order of what happened.
func (g *Gate) emit(q *question, e Event) {
	if len(g.subscribers) == 0 {
		return
	}
	e.SessionID, e.RequestID = q.session, q.id()
	g.events = append(g.events, queuedEvent{q, e})
	if !g.delivering {
		g.delivering = true
		go g.deliver()
	}
}

type queuedEvent struct {
	q *question
	e Event
}

// errEnded is how a subscriber failed that never returned.
var errEnded = errors.New("the subscriber ended its goroutine")

// deliver hands out queued events until there are none.
func (g *Gate) deliver() {
	var (
		events []queuedEvent
		at     int
		ended  bool
	)
	defer func() {
		if ended {
			return
		}
		// A subscriber ended the goroutine, as a failing test does. That is a failure
		// like a panic, and the other events are still to come.
		g.mu.Lock()
		q := events[at].q
		g.events = append(events[at+1:], g.events...)
		g.mu.Unlock()
		go func() {
			g.withdraw(q, outcome{by: ByFailure, reason: promptFailed, err: errEnded})
			g.deliver()
		}()
	}()
	for {
		g.mu.Lock()
		subs := g.subscribers
		events, g.events = g.events, nil
		if len(events) == 0 {
			g.delivering, ended = false, true
			g.mu.Unlock()
			return
		}
		g.mu.Unlock()
		for i, it := range events {
			at = i
			for _, s := range subs {
				if err := guard(func() error { s.fn(it.e); return nil }); err != nil {
					g.withdraw(it.q, outcome{by: ByFailure, reason: promptFailed, err: err})
				}
			}
		}
	}
}
