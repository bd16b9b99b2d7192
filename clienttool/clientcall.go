package clienttool

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/agenttool/tool"
)

// clientCall is one call on the client: running, or ended with a result that the
// host has not acknowledged. Fields are guarded by the client's lock.
type clientCall struct {
	c      *Client
	req    ExecutionRequest
	cancel context.CancelCauseFunc
	timer  *time.Timer // time limit; nil: none
	limit  time.Time
	left   time.Duration
	paused int
	ack    *time.Timer
	gone   bool // the host has moved on: no result is wanted

	slot     *Progress // waits to be sent
	n        uint64
	queued   bool // an outgoing entry for slot exists
	pacer    *time.Timer
	lastSent time.Time

	asks map[string]*clientAsk

	result  *ToolResponse // set once the handler has returned
	endedAt time.Time
	sentAt  time.Time // zero: waits to be written
}

type clientAsk struct {
	m     *Message
	reply chan *Message // one
}

// progressEvery is how often progress of one call is sent; what comes in between is merged.
const progressEvery = 100 * time.Millisecond

func (c *Client) sortedCalls() []*clientCall {
	cs := make([]*clientCall, 0, len(c.calls))
	for _, call := range c.calls {
		cs = append(cs, call)
	}
	slices.SortFunc(cs, func(a, b *clientCall) int { return cmp.Compare(a.req.RequestID, b.req.RequestID) })
	return cs
}

// resend queues again what a lost link may not have carried.
func (call *clientCall) resend(k *clientLink) {
	switch {
	case call.gone:
	case call.result != nil:
		call.sentAt = time.Time{}
		k.push(outgoing{call: call, kind: TypeResult})
	default:
		for _, id := range slices.Sorted(maps.Keys(call.asks)) {
			k.control(call.asks[id].m)
		}
		if call.slot != nil {
			call.queued = true
			k.push(outgoing{call: call, kind: TypeProgress})
		}
	}
}

// start runs a request, unless it is here already or was. It is called with c.mu held.
func (c *Client) start(r *ExecutionRequest) {
	id := r.RequestID
	if id == "" || c.calls[id] != nil {
		return
	}
	if cancelled, ok := c.ended.m[id]; ok && !cancelled {
		return
	} else if ok {
		c.refuse(r, CodeCancelled, "the call was cancelled before it arrived")
		return
	}
	name := r.Name
	if name == "" {
		name = strings.TrimPrefix(r.Tool, plainID(c.id, ""))
	}
	t := c.find(name, r.Version)
	if t == nil {
		c.refuse(r, CodeUnknownTool, "Unknown tool: "+oneLine(name, maxTitleBytes))
		return
	}
	if c.leaving {
		c.refuse(r, CodeCancelled, "the client is shutting down")
		return
	}
	call := &clientCall{c: c, req: *r}
	c.calls[id] = call
	ctx, cancel := context.WithCancelCause(c.run)
	call.cancel = cancel
	if r.TimeoutMs > 0 && r.TimeoutMs < int64(24*time.Hour/time.Millisecond) {
		call.left = time.Duration(r.TimeoutMs) * time.Millisecond
		call.limit = time.Now().Add(call.left)
		call.timer = time.AfterFunc(call.left, call.timedOut)
	}
	if d := c.opt.AckDelay; d > 0 {
		call.ack = time.AfterFunc(d, call.acknowledge)
	} else {
		c.link.ack(id)
	}
	c.busy.Add(1)
	go func() {
		defer c.busy.Done()
		inv := &Invocation{RequestID: id, SessionID: r.SessionID, MessageID: r.MessageID, CallID: r.CallID,
			Tool: r.Tool, Name: name, Input: r.Input, Attempt: max(r.Attempt, 1), Trace: r.Trace, call: call}
		call.finish(ctx, runHandler(ctx, t.handler, inv))
	}()
}

// refuse answers a request that is not run. It is called with c.mu held.
func (c *Client) refuse(r *ExecutionRequest, code, text string) {
	call := &clientCall{c: c, req: *r, result: &ToolResponse{Status: StatusError, Error: text, Code: code}, endedAt: time.Now()}
	c.calls[r.RequestID] = call
	c.link.push(outgoing{call: call, kind: TypeResult})
}

// runHandler turns whatever a handler does into a response.
func runHandler(ctx context.Context, f Handler, inv *Invocation) (r *ToolResponse) {
	returned := false
	defer func() {
		if v := recover(); v != nil || !returned {
			inv.call.c.opt.Logger.Error("client tools: a handler panicked", "tool", inv.Name, "panic", v)
			r = &ToolResponse{Status: StatusError, Code: CodePanic, Error: "The tool failed with an internal error."}
		}
	}()
	res, err := f(ctx, inv)
	returned = true
	r = &ToolResponse{Status: StatusSuccess}
	if res != nil {
		*r = ToolResponse{Status: StatusSuccess, Title: res.Title, Output: res.Output, Metadata: res.Metadata,
			Attachments: res.Attachments, Structured: res.Structured, EndTurn: res.EndTurn, Truncated: res.Truncated}
	}
	if err == nil {
		return r
	}
	r.Status, r.Code = StatusError, codeOf(err)
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		err = context.Cause(ctx)
		r.Code = codeOf(err)
	}
	r.Error = clip(tool.ModelText(err), maxErrorBytes)
	return r
}

// finish keeps the result until the host has it.
func (call *clientCall) finish(ctx context.Context, r *ToolResponse) {
	c := call.c
	c.mu.Lock()
	if call.ack != nil {
		call.ack.Stop()
	}
	if call.timer != nil {
		call.timer.Stop()
	}
	if call.pacer != nil {
		call.pacer.Stop()
	}
	call.cancel(nil)
	if call.gone {
		c.forget(call)
		c.mu.Unlock()
		return
	}
	if limit := c.limits.MaxResultBytes; limit > 0 && r.size() > limit {
		r = tooLargeResponse(r.size(), limit)
	}
	call.result, call.endedAt = r, time.Now()
	c.kept += r.size()
	c.shed(call)
	if call.slot != nil && !call.queued {
		call.queued = true
		c.link.push(outgoing{call: call, kind: TypeProgress})
	}
	k := c.link
	if k != nil && !k.ended {
		k.out = append(k.out, outgoing{call: call, kind: TypeResult})
	}
	c.mu.Unlock()
	k.flushNow()
	c.save()
}

func tooLargeResponse(size, limit int) *ToolResponse {
	return &ToolResponse{Status: StatusError, Code: CodeTooLarge,
		Error: fmt.Sprintf("The tool ran, but its result of %d bytes is more than the %d that can be sent. Ask for less in one call.", size, limit)}
}

// shed drops the oldest results when too much is kept for a host that is away.
func (c *Client) shed(newest *clientCall) {
	for c.kept > c.opt.ResultBytes && c.opt.ResultBytes > 0 {
		var oldest *clientCall
		for _, call := range c.calls {
			if call != newest && call.result != nil && (oldest == nil || call.endedAt.Before(oldest.endedAt)) {
				oldest = call
			}
		}
		if oldest == nil {
			return
		}
		c.kept -= oldest.result.size()
		oldest.result = &ToolResponse{Status: StatusError, Code: CodeTooLarge,
			Error: "The tool ran, but its result could not be kept until the host was back."}
		c.kept += oldest.result.size()
		oldest.endedAt = time.Now()
	}
}

// tooLarge replaces a result that a carrier refuses.
func (c *Client) tooLarge(m *Message, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	call := c.calls[m.RequestID]
	if m.Type != TypeResult || call == nil || call.result == nil {
		c.opt.Logger.Warn("client tools: a message is too large to be sent", "type", m.Type, "error", err)
		return
	}
	if call.result.Code == CodeTooLarge {
		return
	}
	c.kept -= call.result.size()
	call.result = tooLargeResponse(call.result.size(), c.limits.MaxResultBytes)
	c.kept += call.result.size()
	c.link.push(outgoing{call: call, kind: TypeResult})
}

// forget ends the life of a call here. It is called with c.mu held.
func (c *Client) forget(call *clientCall) {
	if call.result != nil {
		c.kept -= call.result.size()
		c.dirty = true
	}
	call.gone = true
	delete(c.calls, call.req.RequestID)
	c.ended.add(call.req.RequestID, false)
	if c.link != nil && c.link.bye {
		select {
		case c.link.wake <- struct{}{}:
		default:
		}
	}
}

// cancelled handles the host's cancel. The result of a cancelled call is still
// sent, as a confirmation; that of one that is settled is not wanted.
func (c *Client) cancelled(id, reason string) {
	call := c.calls[id]
	if call == nil {
		if id != "" && len(id) <= maxClientID {
			c.ended.add(id, true)
		}
		return
	}
	if reason == ReasonSettled {
		call.gone = true
	}
	if call.result == nil {
		cause := error(&tool.CancelledError{Cause: fmt.Errorf("the host cancelled the call (%s)", oneLine(reason, 40))})
		if reason == ReasonTimeout {
			cause = &tool.TimeoutError{Tool: call.req.Name, Limit: time.Duration(call.req.TimeoutMs) * time.Millisecond}
		}
		call.cancel(cause)
	} else if call.gone {
		c.forget(call)
	}
}

// verdict handles the host's answer to a result.
func (c *Client) verdict(id string) {
	call := c.calls[id]
	if call == nil {
		return
	}
	if call.result == nil { // nothing was sent for this one: the host does not want it
		call.gone = true
		call.cancel(&tool.CancelledError{Cause: errors.New("the host does not know the call")})
		return
	}
	c.forget(call)
}

func (call *clientCall) acknowledge() {
	c := call.c
	c.mu.Lock()
	defer c.mu.Unlock()
	if call.result == nil && !call.gone {
		c.link.ack(call.req.RequestID)
	}
}

func (call *clientCall) timedOut() {
	call.c.mu.Lock()
	defer call.c.mu.Unlock()
	if call.paused == 0 && call.result == nil {
		call.cancel(&tool.TimeoutError{Tool: call.req.Name, Limit: time.Duration(call.req.TimeoutMs) * time.Millisecond})
	}
}

// Invocation is a call as its handler sees it.
type Invocation struct {
	RequestID, SessionID, MessageID, CallID string
	Tool                                    string // the host's id
	Name                                    string // the client's own name
	Input                                   json.RawMessage
	Attempt                                 int // 2 and up: it may have run in an earlier process
	Trace                                   string

	call *clientCall
}

// Progress reports how far the call is. It never blocks; what comes faster than
// ten times a second is merged. N is filled in.
func (i *Invocation) Progress(p Progress) {
	call := i.call
	c := call.c
	c.mu.Lock()
	defer c.mu.Unlock()
	if call.result != nil || call.gone {
		return
	}
	call.n++
	p.N = call.n
	if call.slot == nil {
		call.slot = &Progress{}
	}
	call.slot.merge(&p)
	if call.slot.size() > progressBytes {
		call.slot.shrink(progressBytes)
	}
	if call.queued {
		return
	}
	if wait := progressEvery - time.Since(call.lastSent); wait > 0 {
		if call.pacer == nil {
			call.pacer = time.AfterFunc(wait, call.pace)
		}
		return
	}
	call.queued = true
	c.link.push(outgoing{call: call, kind: TypeProgress})
}

const progressBytes = 32 << 10

// shrink keeps the tail, which is what matters of output that is still growing.
func (p *Progress) shrink(n int) {
	const mark = "[…]\n"
	tail := func(s string) string {
		if len(s) <= n {
			return s
		}
		return mark + strings.ToValidUTF8(s[len(s)-n+len(mark):], "")
	}
	if p.Delta != "" {
		p.Output, p.Delta = tail(p.Delta), ""
	} else {
		p.Output = tail(p.Output)
	}
	if len(p.Metadata) > n {
		p.Metadata = nil
	}
}

func (call *clientCall) pace() {
	c := call.c
	c.mu.Lock()
	defer c.mu.Unlock()
	call.pacer = nil
	if call.slot != nil && !call.queued && call.result == nil {
		call.queued = true
		c.link.push(outgoing{call: call, kind: TypeProgress})
	}
}

func (call *clientCall) takeProgress() *Progress {
	p := call.slot
	call.slot, call.queued, call.lastSent = nil, false, time.Now()
	if call.gone {
		return nil
	}
	return p
}
