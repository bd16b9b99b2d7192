package clienttool

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"
)

// clientLink is one connection as the client sees it. Fields are guarded by the
// client's lock; one goroutine writes.
type clientLink struct {
	c     *Client
	conn  Conn
	out   []outgoing
	acks  []string
	wake  chan struct{}
	seq   uint64 // of the last frame that came
	heard *time.Timer
	quiet time.Duration // after which the link is dead; 0: never
	ended bool
	said  map[string]*served // the tools that hello named
	bye   bool               // said; close when nothing is left to say
	ready time.Time
	turn  chan struct{} // holds a token while somebody writes
	ctx   context.Context
	fail  context.CancelCauseFunc // ends ctx
	tick  *time.Timer
	last  *time.Timer // ends the drain
}

// outgoing is a frame to be written: a message, or what a call has to say at that time.
type outgoing struct {
	m    *Message
	call *clientCall
	kind string // TypeProgress, TypeResult, TypeAck
}

// control queues a message. A nil link is one that is not connected.
func (k *clientLink) control(m *Message) {
	if k != nil {
		k.push(outgoing{m: m})
	}
}

func (k *clientLink) push(o outgoing) {
	if k == nil || k.ended {
		return
	}
	k.out = append(k.out, o)
	k.kick()
}

func (k *clientLink) kick() {
	select {
	case k.wake <- struct{}{}:
	default:
	}
}

// ack queues an acknowledgement; those that wait go out as one message.
func (k *clientLink) ack(id string) {
	if k == nil {
		return
	}
	if k.acks = append(k.acks, id); len(k.acks) == 1 {
		k.push(outgoing{kind: TypeAck})
	}
}

// next takes the next frame to write, or nil if there is nothing to say now.
func (k *clientLink) next() *Message {
	for len(k.out) > 0 {
		o := k.out[0]
		k.out[0] = outgoing{}
		k.out = k.out[1:]
		switch o.kind {
		case "":
			return o.m
		case TypeAck:
			ids := k.acks
			k.acks = nil
			return &Message{Type: TypeAck, RequestIDs: ids}
		case TypeProgress:
			if p := o.call.takeProgress(); p != nil {
				return &Message{Type: TypeProgress, RequestID: o.call.req.RequestID, Progress: p}
			}
		case TypeResult:
			if r := o.call.result; r != nil && !o.call.gone {
				o.call.sentAt = time.Now()
				return &Message{Type: TypeResult, RequestID: o.call.req.RequestID, Result: r}
			}
		}
	}
	return nil
}

// connect dials, says hello, and serves the link until it is lost. It returns how
// long the link was ready, and how long the host wants not to be called.
func (c *Client) connect(ctx context.Context) (ready, wait time.Duration, err error) {
	dctx, cancel := context.WithTimeoutCause(ctx, c.opt.HelloTimeout, errNoWelcome)
	defer cancel()
	var conn Conn
	if !contain(func() { conn, err = c.t.Dial(dctx) }) {
		err = errPanicked
	}
	if err != nil {
		return 0, 0, err
	}
	k := &clientLink{c: c, conn: conn, wake: make(chan struct{}, 1), turn: make(chan struct{}, 1)}
	m, err := c.greet(dctx, k)
	if err != nil {
		closeConn(conn, err)
		return 0, 0, err
	}
	if m.Type == TypeBye {
		closeConn(conn, io.EOF)
		wait, err = farewell(m)
		return 0, wait, err
	}
	cancel()
	return c.serve(ctx, k, m)
}

var (
	errNoWelcome = errors.New("the host did not answer in time")
	errSilence   = errors.New("nothing was heard from the host for too long")
)

// greet says hello and waits for welcome or bye.
func (c *Client) greet(ctx context.Context, k *clientLink) (*Message, error) {
	c.mu.Lock()
	k.said = maps.Clone(c.tools)
	hello := &Hello{
		Protocol: Protocol, ClientID: c.id, SessionID: c.opt.SessionID, Instance: c.instance, Resume: c.resume,
		Tools: c.definitions(), Capabilities: []string{CapAck, CapCancel, CapProgress, CapSync, CapBatch}, MaxConcurrent: c.opt.MaxConcurrent,
	}
	for id, call := range c.calls {
		if !call.gone {
			hello.Live = append(hello.Live, id)
		}
	}
	c.mu.Unlock()
	slices.Sort(hello.Live)
	var err error
	if !contain(func() { err = k.conn.Send(ctx, &Message{Type: TypeHello, Hello: hello}) }) {
		err = errPanicked
	}
	if err != nil {
		return nil, err
	}
	for {
		m, err := recv(ctx, k.conn)
		if err != nil {
			return nil, err
		}
		if m.Type == TypeWelcome && m.Welcome != nil || m.Type == TypeBye {
			return m, nil
		}
	}
}

// catchUp tells the host which tools were added and removed between hello and welcome,
// when there was no link yet that could have told it.
func (c *Client) catchUp(k *clientLink) {
	var gone []string
	for key, s := range k.said {
		if c.tools[key] == nil && !slices.Contains(gone, s.def.ID) {
			gone = append(gone, s.def.ID)
		}
	}
	if slices.Sort(gone); len(gone) > 0 {
		k.control(&Message{Type: TypeUnregister, ToolIDs: gone})
	}
	var added []ToolDefinition
	for _, key := range c.order {
		if s := c.tools[key]; k.said[key] != s || slices.Contains(gone, s.def.ID) {
			added = append(added, s.def)
		}
	}
	if k.said = nil; len(added) > 0 {
		k.control(&Message{Type: TypeRegister, SessionID: c.opt.SessionID, Tools: added})
	}
}

// farewell is what a bye means: a wait, or that this client is not wanted.
func farewell(m *Message) (time.Duration, error) {
	err := fmt.Errorf("the host said goodbye (%s)", oneLine(m.Reason, maxTitleBytes))
	if m.RetryMs <= 0 {
		return 0, &FatalError{Code: oneLine(m.Code, maxTitleBytes), Reason: oneLine(m.Reason+" "+m.Error, maxErrorBytes)}
	}
	return min(time.Duration(m.RetryMs)*time.Millisecond, 5*time.Minute), err
}

func (c *Client) serve(ctx context.Context, k *clientLink, welcome *Message) (ready, wait time.Duration, err error) {
	// The link outlives ctx by what draining takes.
	lctx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	k.ctx, k.fail = lctx, cancel
	w := welcome.Welcome
	c.mu.Lock()
	c.resume, c.limits = w.Resume, w.Limits
	c.link, k.ready, k.seq = k, time.Now(), welcome.Seq
	if w.PingMs > 0 {
		k.quiet = time.Duration(w.PingMs) * time.Millisecond * 5 / 2
		k.heard = time.AfterFunc(k.quiet, func() { cancel(errSilence) })
	}
	c.catchUp(k)
	for _, call := range c.sortedCalls() {
		call.resend(k)
	}
	for _, id := range slices.Sorted(maps.Keys(c.asks)) {
		k.control(c.asks[id].m)
	}
	k.tick = time.AfterFunc(c.opt.ResendAfter, func() { c.tick(k) })
	c.mu.Unlock()
	c.save()
	stop := context.AfterFunc(ctx, func() { c.leave(k, cancel) })
	defer stop()
	c.set(StateReady)

	done := make(chan struct{})
	go func() {
		defer close(done)
		k.write()
	}()
	for err == nil {
		var m *Message
		if m, err = recv(lctx, k.conn); err != nil {
			break
		}
		if m.Type == TypeBye {
			wait, err = farewell(m)
			break
		}
		c.take(k, m)
	}
	if cause := context.Cause(lctx); cause != nil {
		err = cause
	}
	c.mu.Lock()
	k.ended = true
	c.link = nil
	if k.heard != nil {
		k.heard.Stop()
	}
	k.tick.Stop()
	if k.last != nil {
		k.last.Stop()
	}
	ready = time.Since(k.ready)
	c.mu.Unlock()
	cancel(err)
	closeConn(k.conn, err)
	<-done
	return ready, wait, err
}

// write sends what there is to say until the link ends.
func (k *clientLink) write() {
	for {
		select {
		case k.turn <- struct{}{}:
		case <-k.ctx.Done():
			return
		}
		err := k.flush()
		<-k.turn
		if err != nil {
			k.fail(err)
			return
		}
		select {
		case <-k.wake:
		case <-k.ctx.Done():
			return
		}
	}
}

// flush sends what there is to say now. Whoever calls it has the turn: one goroutine
// at a time writes to a Conn.
func (k *clientLink) flush() error {
	c := k.c
	for {
		c.mu.Lock()
		m := k.next()
		over := m == nil && k.bye && len(c.calls) == 0
		c.mu.Unlock()
		if over {
			return errLeft
		}
		if m == nil {
			return nil
		}
		err := errPanicked
		contain(func() { err = k.conn.Send(k.ctx, m) })
		switch {
		case err == nil:
		case errors.Is(err, ErrTooLarge):
			c.tooLarge(m, err)
		default:
			return err
		}
	}
}

// flushNow lets the goroutine of a handler write its result itself if nobody else is
// writing: waking the writer would take longer. What others queue meanwhile has woken
// the writer, which waits for its turn.
func (k *clientLink) flushNow() {
	if k == nil {
		return
	}
	select {
	case k.turn <- struct{}{}:
	default:
		k.kick()
		return
	}
	err := k.flush()
	<-k.turn
	if err != nil {
		k.fail(err)
	}
}

var errLeft = errors.New("said goodbye")

// leave says goodbye when Run's context ends: what runs is cancelled, results are
// still delivered, and then the link is closed.
func (c *Client) leave(k *clientLink, cancel context.CancelCauseFunc) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.leaving, k.bye = true, true
	k.push(outgoing{m: &Message{Type: TypeBye, Reason: ReasonShutdown}})
	k.last = time.AfterFunc(c.opt.DrainTimeout, func() { cancel(errLeft) })
}

// tick sends results again for which no verdict came, and drops those too old.
func (c *Client) tick(k *clientLink) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if k.ended {
		return
	}
	now := time.Now()
	for _, call := range c.sortedCalls() {
		if call.result == nil || call.sentAt.IsZero() || now.Sub(call.sentAt) < c.opt.ResendAfter {
			continue
		}
		if now.Sub(call.endedAt) > c.opt.ResultTTL {
			c.forget(call)
			continue
		}
		call.sentAt = time.Time{}
		k.push(outgoing{call: call, kind: TypeResult})
	}
	k.tick.Reset(c.opt.ResendAfter)
}

// take handles one frame of the host.
func (c *Client) take(k *clientLink, m *Message) {
	c.mu.Lock()
	if k.heard != nil {
		k.heard.Reset(k.quiet)
	}
	if m.Seq > k.seq+1 && m.Type != TypeWelcome {
		// Something was lost on the way; the host can tell what from what is here.
		k.control(&Message{Type: TypeSync, Seq: m.Seq, Live: c.live(m)})
	}
	k.seq = max(k.seq, m.Seq)
	switch m.Type {
	case TypeRequest:
		if m.Request != nil {
			c.start(m.Request)
		}
	case TypeCancel:
		c.cancelled(m.RequestID, m.Reason)
	case TypeAck:
		c.verdict(m.RequestID)
		for _, id := range m.RequestIDs {
			c.verdict(id)
		}
	case TypePing:
		k.control(&Message{Type: TypePong})
	case TypeAskReply, TypeInvokeReply:
		if call := c.calls[m.RequestID]; call != nil {
			call.asks[m.AskID].answer(m)
		}
	case TypeHostToolsReply:
		c.asks[m.AskID].answer(m)
	case TypeRegistered:
		info := c.registered(m)
		c.mu.Unlock()
		if c.opt.OnTools != nil {
			contain(func() { c.opt.OnTools(info) })
		}
		c.save()
		return
	case TypeUnregistered:
		for _, id := range m.ToolIDs {
			delete(c.names, id)
		}
	case TypeError:
		c.opt.Logger.Warn("client tools: the host reports an error", "code", oneLine(m.Code, maxTitleBytes), "error", oneLine(m.Error, maxErrorBytes))
	}
	c.mu.Unlock()
	c.saveIfDirty()
}

// live lists what is held, with the call that m itself brings.
func (c *Client) live(m *Message) []string {
	var ids []string
	for id, call := range c.calls {
		if !call.gone {
			ids = append(ids, id)
		}
	}
	if m.Type == TypeRequest && m.Request != nil && c.calls[m.Request.RequestID] == nil {
		ids = append(ids, m.Request.RequestID)
	}
	slices.Sort(ids)
	return ids
}

func (c *Client) registered(m *Message) ToolsInfo {
	if c.names == nil {
		c.names = make(map[string]string)
	}
	info := ToolsInfo{IDs: make(map[string]string), Rejected: m.Rejected}
	for _, id := range m.ToolIDs {
		name := m.Names[id]
		c.names[id] = name
		info.IDs[id] = name
	}
	for _, r := range m.Rejected {
		c.opt.Logger.Warn("client tools: the host did not take a tool", "tool", r.ID, "code", r.Code, "error", r.Error)
	}
	return info
}
