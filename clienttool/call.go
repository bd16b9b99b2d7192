package clienttool

import (
	"container/list"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/agenttool/tool"
)

// CallRequest asks the hub for one call.
type CallRequest struct {
	Tool                         string // its id on the host
	Input                        json.RawMessage
	SessionID, MessageID, CallID string

	Timeout          time.Duration  // for everything; 0: the tool's, else Options.Timeout; capped
	HeartbeatTimeout time.Duration  // between signs of life of the running tool; 0: none needed
	WaitForCancel    time.Duration  // after Cancel, how long to wait for the client to confirm; its result then counts
	OnProgress       func(Progress) // one at a time, in order; the latest wins if it is slow. Nil: none
	RequestID        string         // "": made up. One of your own is a key: a second call with it is refused
	Trace            string         // W3C traceparent for the client; optional

	Agent *tool.Agent // who calls, for Options.HostTools; may be nil

	// Ask decides what the running tool asks permission for. Nil: everything is denied.
	Ask func(ctx context.Context, r *tool.Request) error
	// Invoke runs a tool of the host for the running one. Nil: refused.
	Invoke func(ctx context.Context, name string, input json.RawMessage) (*tool.Result, error)

	expect *clientTool // the definition that was approved; nil: whatever is registered
	ready  bool        // Input was prepared against it
}

// callOptions is what is left of a CallRequest once the call is admitted. Most calls
// have none, and share one that never changes: a waiting call is to be small.
type callOptions struct {
	heartbeatTimeout time.Duration
	waitForCancel    time.Duration
	onProgress       func(Progress)
	agent            *tool.Agent
	ask              func(ctx context.Context, r *tool.Request) error
	invoke           func(ctx context.Context, name string, input json.RawMessage) (*tool.Result, error)
}

var noOptions callOptions

func (r *CallRequest) options() *callOptions {
	if r.HeartbeatTimeout <= 0 && r.WaitForCancel <= 0 && r.OnProgress == nil && r.Agent == nil && r.Ask == nil && r.Invoke == nil {
		return &noOptions
	}
	return &callOptions{r.HeartbeatTimeout, r.WaitForCancel, r.OnProgress, r.Agent, r.Ask, r.Invoke}
}

// CallState is where a call is.
type CallState int

// The states of a call.
const (
	callQueued  CallState = iota // not written
	callSent                     // written
	callStarted                  // the client runs it
	callDone
)

// String returns "queued", "sent", "started" or "done".
func (s CallState) String() string { return [...]string{"queued", "sent", "started", "done"}[s] }

// Call is a call under way. All methods are safe for concurrent use.
type Call struct {
	h     *Hub
	lease *lease
	tool  *clientTool
	req   ExecutionRequest
	opt   *callOptions
	done  chan struct{}

	// Guarded by h.mu.
	state     CallState
	written   bool     // ever: the client may know its id
	floor     Delivery // of an earlier attempt
	attempt   int
	res       *ToolResponse
	err       error
	created   time.Time
	firstSent time.Time
	sentAt    time.Time
	deadline  time.Time
	timer     *time.Timer
	beat      *time.Timer
	paused    int
	left      time.Duration
	seq       uint64 // of the frame
	misses    int
	elem      *list.Element
	turn      *turn
	progress  progress
	callbacks map[string]*callback
	ctx       context.Context // of callbacks; made for the first
	stop      context.CancelCauseFunc
}

// Execute runs a tool of a client and waits. When ctx ends, the call is cancelled
// and Execute returns at once (after WaitForCancel at most). The error is a *[CallError].
func (h *Hub) Execute(ctx context.Context, r CallRequest) (*ToolResult, error) {
	c, err := h.Start(ctx, r)
	if err != nil {
		return nil, err
	}
	return c.wait(ctx)
}

func (c *Call) wait(ctx context.Context) (*ToolResult, error) {
	select {
	case <-c.done:
	case <-ctx.Done():
		c.Cancel(context.Cause(ctx))
		<-c.done
	}
	return c.Result()
}

// Start begins a call and returns before it is delivered. ctx is only looked at
// once. The time limit runs from now on. The error is a *[CallError] whose
// Delivery is NotDelivered.
func (h *Hub) Start(ctx context.Context, r CallRequest) (*Call, error) {
	c, err := h.prepare(ctx, r)
	if err != nil {
		return nil, err
	}
	if st := h.opt.Store; st != nil {
		if err := h.put(c); err != nil {
			return nil, c.fail(CodeOverloaded, err)
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.admit(c); err != nil {
		h.unput(c)
		return nil, err
	}
	return c, nil
}

// prepare does everything that needs no lock: finding the tool, checking the
// input, asking the limiter.
func (h *Hub) prepare(ctx context.Context, r CallRequest) (*Call, error) {
	id := r.RequestID
	if id == "" {
		id = newRequestID()
	}
	refuse := func(code string, err error) (*Call, error) {
		return nil, &CallError{Code: code, Tool: r.Tool, RequestID: id, Cause: err}
	}
	if ctx.Err() != nil {
		return refuse(CodeCancelled, context.Cause(ctx))
	}
	h.mu.Lock()
	t := h.tools[r.Tool]
	if t != nil && r.SessionID != "" && len(t.sessions) > 0 && !t.sessions[r.SessionID] {
		t = nil // somebody else's: the same answer as for none
	}
	changed := false
	if t != nil && r.expect != nil {
		t = r.expect.current()
		changed = t == nil
	}
	var limiter Limiter
	if t != nil {
		limiter = t.lease.limiter
	}
	h.mu.Unlock()
	if changed {
		return refuse(CodeToolChanged, nil)
	}
	if t == nil {
		return refuse(CodeUnknownTool, nil)
	}
	if len(r.Input) == 0 {
		r.Input = json.RawMessage("{}")
	}
	if over(len(r.Input), h.opt.Limits.RequestBytes) {
		return refuse(CodeTooLarge, fmt.Errorf("the arguments are %d bytes, at most %d are taken", len(r.Input), h.opt.Limits.RequestBytes))
	}
	if !r.ready {
		if err := t.schema.Validate(r.Input); err != nil {
			return refuse(CodeInvalidInput, &tool.InputError{Tool: r.Tool, Input: r.Input, Err: err})
		}
	}
	if ok, wait := reserve(limiter); !ok {
		h.count("rate_limited")
		_, err := refuse(CodeRateLimited, nil)
		err.(*CallError).RetryAfter = wait
		err.(*CallError).ClientID = t.lease.clientID
		return nil, err
	}
	c := &Call{h: h, lease: t.lease, tool: t, opt: r.options(), done: make(chan struct{}), attempt: 1, created: time.Now()}
	c.req = ExecutionRequest{Type: TypeToolRequest, RequestID: id, SessionID: r.SessionID, MessageID: r.MessageID,
		CallID: r.CallID, Tool: r.Tool, Input: r.Input, Trace: r.Trace}
	c.left = h.limit(r.Timeout, t)
	c.deadline = c.created.Add(c.left)
	return c, nil
}

// limit is how long a call may take.
func (h *Hub) limit(asked time.Duration, t *clientTool) time.Duration {
	if asked <= 0 {
		asked = t.timeout
	}
	if asked <= 0 {
		asked = h.opt.Timeout
	}
	return min(asked, h.opt.MaxTimeout)
}

// admit enters a prepared call. It is called with h.mu held.
func (h *Hub) admit(c *Call) error {
	l, lim := c.lease, h.opt.Limits
	t := c.tool.current()
	switch {
	case h.draining:
		return c.fail(CodeShutdown, errShutdown)
	case l.ended || l.leaving || h.tools[c.tool.id] == nil:
		return c.fail(CodeUnknownTool, nil)
	case t == nil:
		return c.fail(CodeToolChanged, nil)
	case h.calls[c.req.RequestID] != nil:
		return c.fail(CodeDuplicate, nil)
	case over(len(h.calls)+1, lim.Pending), over(h.bytes+len(c.req.Input), lim.PendingBytes),
		over(l.queue.n+1, lim.QueuedCalls), over(l.queue.bytes+len(c.req.Input), lim.QueuedBytes):
		return c.fail(CodeOverloaded, nil)
	}
	if _, buried := h.tombs.byID[c.req.RequestID]; buried {
		return c.fail(CodeDuplicate, nil)
	}
	c.tool = t
	h.calls[c.req.RequestID] = c
	h.bytes += len(c.req.Input)
	l.calls[c.req.RequestID] = c
	l.queue.push(c, false)
	c.timer = time.AfterFunc(c.left, func() { c.expire(CodeTimeout) })
	req := c.req
	if h.opt.OmitEventInputs {
		req.Input = nil
	}
	h.emit(Event{Type: EventRequest, ClientID: l.clientID, Request: &req, RequestID: req.RequestID,
		SessionID: req.SessionID, MessageID: req.MessageID, CallID: req.CallID, Tool: req.Tool})
	h.gauge("pending", len(h.calls))
	l.link.kick()
	return nil
}

// settle is the only way out of the live calls. The first caller wins; the others
// learn that they lost. It is called with h.mu held.
func (h *Hub) settle(c *Call, res *ToolResponse, err error, v Verdict) bool {
	if c.state == callDone {
		return false
	}
	l, was := c.lease, c.state
	c.state, c.res, c.err = callDone, res, err
	delete(h.calls, c.req.RequestID)
	delete(l.calls, c.req.RequestID)
	h.bytes -= len(c.req.Input)
	if was == callQueued {
		l.queue.remove(c)
	} else {
		l.release(c)
	}
	if c.written && res == nil && v != VerdictInvalid && v != VerdictTooLarge {
		l.link.control(&Message{Type: TypeCancel, RequestID: c.req.RequestID, Reason: cancelReason(err)})
	}
	c.timer.Stop()
	if c.beat != nil {
		c.beat.Stop()
	}
	c.progress.close()
	if c.stop != nil {
		c.stop(errEnded)
	}
	h.tombs.add(c.req.RequestID, l.grave, v)
	h.emitEnd(c)
	h.gauge("pending", len(h.calls))
	h.settled(c)
	close(c.done)
	l.link.kick() // a slot is free
	l.checkLeft()
	if h.draining {
		h.checkQuiet()
	}
	return true
}

var errEnded = errors.New("the call has ended")

func cancelReason(err error) string {
	var e *CallError
	if errors.As(err, &e) {
		switch e.Code {
		case CodeTimeout, CodeHeartbeat:
			return ReasonTimeout
		case CodeShutdown:
			return ReasonShutdown
		}
	}
	return ReasonCancelled
}

func (h *Hub) emitEnd(c *Call) {
	var e *CallError
	if c.err == nil {
		h.emit(c.event(EventCompleted))
	} else {
		errors.As(c.err, &e)
		if e.Code == CodeCancelled {
			h.emit(c.failure(EventCancelled, e))
		}
		h.emit(c.failure(EventFailed, e))
	}
	if h.observer == nil {
		return
	}
	now := time.Now()
	o := Outcome{ClientID: c.lease.clientID, Tool: c.req.Tool, RequestID: c.req.RequestID}
	t := Timings{Total: now.Sub(c.created)}
	if e != nil {
		o.Code, o.Delivery = e.Code, e.Delivery
	} else {
		o.Delivery = Started
	}
	if !c.firstSent.IsZero() {
		t.Queued, t.Ran = c.firstSent.Sub(c.created), now.Sub(c.firstSent)
	} else {
		t.Queued = t.Total
	}
	h.measure(func(obs Observer) { obs.CallDone(o, t) })
}

func (c *Call) event(t EventType) Event {
	return Event{Type: t, ClientID: c.lease.clientID, RequestID: c.req.RequestID, SessionID: c.req.SessionID,
		MessageID: c.req.MessageID, CallID: c.req.CallID, Tool: c.req.Tool}
}

func (c *Call) failure(t EventType, e *CallError) Event {
	ev := c.event(t)
	ev.Code, ev.Error = e.Code, oneLine(e.Error(), maxTitleBytes)
	return ev
}

// fail makes the error for a call as it stands. It is called with h.mu held, or
// before the call is known to anybody.
func (c *Call) fail(code string, cause error) *CallError {
	if code == CodeGone && !c.lease.attached {
		code = CodeOffline
	}
	return &CallError{Code: code, Delivery: c.delivery(), Tool: c.req.Tool, RequestID: c.req.RequestID,
		ClientID: c.lease.clientID, Cause: cause}
}

func (c *Call) delivery() Delivery {
	switch c.state {
	case callSent:
		return max(c.floor, Unknown)
	case callStarted:
		return Started
	}
	return c.floor
}

// started notes a sign that the client runs the call.
func (c *Call) started() {
	if c.state == callSent {
		c.state = callStarted
		c.misses = 0
		if d := c.opt.heartbeatTimeout; d > 0 && c.beat == nil {
			c.beat = time.AfterFunc(d, func() { c.expire(CodeHeartbeat) })
			return
		}
	}
	if c.state == callStarted && c.beat != nil {
		c.beat.Reset(c.opt.heartbeatTimeout)
	}
}

// expire ends a call whose time is over. A timer that a pause has overtaken does nothing.
func (c *Call) expire(code string) {
	h := c.h
	h.mu.Lock()
	defer h.mu.Unlock()
	if c.paused > 0 {
		return
	}
	limit := c.opt.heartbeatTimeout
	if code == CodeTimeout {
		if left := time.Until(c.deadline); left > 0 {
			c.timer.Reset(left)
			return
		}
		limit = c.deadline.Sub(c.created)
	}
	h.settle(c, nil, c.fail(code, fmt.Errorf("after %s", limit.Round(time.Millisecond))), VerdictTimeout)
}

// pause stops the clock while somebody is asked; it is called with h.mu held.
func (c *Call) pause() {
	if c.paused++; c.paused == 1 {
		c.left = time.Until(c.deadline)
		c.timer.Stop()
		if c.beat != nil {
			c.beat.Stop()
		}
	}
}

func (c *Call) resume() {
	if c.paused--; c.paused == 0 && c.state != callDone {
		c.deadline = time.Now().Add(c.left)
		c.timer.Reset(max(c.left, 0))
		if c.beat != nil {
			c.beat.Reset(c.opt.heartbeatTimeout)
		}
	}
}

// remaining is what the client is told of the limit, in milliseconds: a little
// less, so that its own, better message arrives first.
func (c *Call) remaining(now time.Time) int64 {
	left := c.deadline.Sub(now)
	left -= max(250*time.Millisecond, left/20)
	return max(left.Milliseconds(), 1)
}

// ID returns the request id.
func (c *Call) ID() string { return c.req.RequestID }

// Done is closed when the call has ended.
func (c *Call) Done() <-chan struct{} { return c.done }

// State returns where the call is, and what its Delivery would be if it failed now.
func (c *Call) State() (CallState, Delivery) {
	c.h.mu.Lock()
	defer c.h.mu.Unlock()
	var e *CallError
	if errors.As(c.err, &e) {
		return c.state, e.Delivery
	}
	return c.state, c.delivery()
}

// Cancel ends the call with cause, which may be nil, and tells the client. It
// returns at once and is idempotent. With WaitForCancel the call goes on until the
// client has answered or that time is over.
func (c *Call) Cancel(cause error) {
	h := c.h
	h.mu.Lock()
	defer h.mu.Unlock()
	if c.state == callDone {
		return
	}
	if wait := c.opt.waitForCancel; wait > 0 && c.state != callQueued {
		if c.lease.link != nil {
			c.lease.link.control(&Message{Type: TypeCancel, RequestID: c.req.RequestID, Reason: ReasonCancelled})
		}
		c.opt.waitForCancel = 0
		time.AfterFunc(wait, func() { c.Cancel(cause) })
		return
	}
	h.settle(c, nil, c.fail(CodeCancelled, cause), VerdictCancelled)
}

// Result returns what the call came to, after Done; before, it returns nil and an
// error that says so. The error is a *[CallError]; beside one with code
// tool_error the result is the tool's partial output, if there is any.
func (c *Call) Result() (*ToolResult, error) {
	c.h.mu.Lock()
	defer c.h.mu.Unlock()
	if c.state != callDone {
		return nil, errors.New("the call has not ended")
	}
	return c.res.result(), c.err
}

func (r *ToolResponse) result() *ToolResult {
	if r == nil || r.Status == StatusError && r.Output == "" && len(r.Attachments) == 0 && len(r.Metadata) == 0 {
		return nil
	}
	return &ToolResult{Title: r.Title, Output: r.Output, Metadata: r.Metadata, Attachments: r.Attachments,
		Structured: r.Structured, EndTurn: r.EndTurn, Truncated: r.Truncated}
}
