package clienttool

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"time"
)

// link is one Conn of a lease, or the outbound half of one. One goroutine writes
// to it; the hub only ever queues. Fields are guarded by the hub's lock.
type link struct {
	hub   *Hub
	lease *lease
	gen   uint64
	s     Sender

	ctx    context.Context // of Send; ends with the link
	cancel context.CancelFunc

	ctrl     []*Message
	last     *Message // sent before the link is closed
	finished bool
	wake     chan struct{} // one token
	gone     chan struct{} // closed by the writer when it ends
	closing  chan struct{} // closed by finish
	asleep   bool          // there is no writer until there is something to write
	used     time.Time     // when a request was last written
	cause    error         // why the hub ended it

	heard   time.Time // of the last inbound frame
	asked   int       // pings without any answer
	ping    *time.Timer
	frames  Limiter
	strikes int
	pinged  time.Time // by the client
	listing int       // host-tools that are being answered

	accepted []string // results whose verdict was not written yet
	soon     *time.Timer

	write *time.Timer // used by the writer alone
	out   Message     // likewise
	req   ExecutionRequest
}

var (
	errWriteTimeout = errors.New("the client does not read")
	errSilent       = errors.New("the client does not answer")
	errControl      = errors.New("too many frames wait for the client")
)

func newLink(l *lease, s Sender) *link {
	h := l.hub
	k := &link{hub: h, lease: l, gen: l.gen, s: s, heard: time.Now(), used: time.Now(),
		wake: make(chan struct{}, 1), gone: make(chan struct{}), closing: make(chan struct{})}
	k.ctx, k.cancel = context.WithCancel(context.Background())
	if n := h.opt.Limits.FramesPerSecond; n > 0 {
		k.frames = newBucket(float64(n), 2*n)
	}
	return k
}

// start begins to write and to ping.
func (k *link) start() {
	k.armPing()
	go k.run()
}

// control queues a frame ahead of all requests.
func (k *link) control(m *Message) {
	if k == nil || k.finished {
		return
	}
	if over(len(k.ctrl)+1, k.hub.opt.Limits.Control) {
		k.drop(errControl)
		return
	}
	k.ctrl = append(k.ctrl, m)
	k.kick()
}

func (k *link) kick() {
	switch {
	case k == nil:
		return
	case k.asleep:
		k.asleep = false
		go k.run()
		return
	}
	select {
	case k.wake <- struct{}{}:
	default:
	}
}

// What is accepted need not be said at once: the client only keeps the result a
// little longer, and one frame does for many.
const (
	batchDelay = 5 * time.Millisecond
	batchSize  = 64
)

// accept tells the client that a result was accepted, soon.
func (k *link) accept(id string) {
	if k.finished {
		return
	}
	k.accepted = append(k.accepted, id)
	switch {
	case len(k.accepted) >= batchSize:
		k.sayAccepted()
	case len(k.accepted) > 1:
	case k.soon == nil:
		k.soon = time.AfterFunc(batchDelay, func() {
			k.hub.mu.Lock()
			defer k.hub.mu.Unlock()
			k.sayAccepted()
		})
	default:
		k.soon.Reset(batchDelay)
	}
}

func (k *link) sayAccepted() {
	if ids := k.accepted; len(ids) > 0 && !k.finished {
		k.accepted = nil
		k.control(&Message{Type: TypeAck, RequestIDs: ids, Verdict: VerdictAccepted})
	}
}

// finish makes the writer send what is queued and bye (unless nil), and close. It
// is called once the lease has let go of the link.
func (k *link) finish(bye *Message) {
	if k.finished {
		return
	}
	polite := bye != nil || k.lease.leaving // else the link is lost, and nothing reaches the client any more
	if polite {
		k.sayAccepted()
	}
	if k.soon != nil {
		k.soon.Stop()
	}
	k.finished, k.last = true, bye
	if k.ping != nil {
		k.ping.Stop()
	}
	close(k.closing)
	k.hub.links--
	k.hub.gauge("links", k.hub.links)
	if !polite {
		k.ctrl = nil
	}
	k.kick()
	// A writer that hangs in Send is freed by Close, which must not be waited for.
	wait := time.Second
	if !polite {
		wait = 0
	}
	s, cause, gone, cancel := k.s, k.cause, k.gone, k.cancel
	time.AfterFunc(wait, func() {
		select {
		case <-gone:
		default:
			cancel()
			contain(func() { s.Close(cause) })
		}
	})
}

// drop ends the link, not the lease. It is called with the hub's lock held.
func (k *link) drop(why error) {
	k.cause = why
	k.dropWith(why, nil)
}

func (k *link) dropWith(why error, bye *Message) {
	l, h := k.lease, k.hub
	if l.link != k {
		k.finish(bye)
		return
	}
	l.link = nil
	l.unwatchAcks()
	k.finish(bye)
	h.emit(Event{Type: EventDisconnected, ClientID: l.clientID, ToolIDs: l.toolIDs(), Error: errText(why)})
	switch {
	case l.leaving:
		l.checkLeft()
	case h.opt.DetachGrace < 0:
		l.end(CodeGone, nil)
	default:
		l.arm(h.opt.DetachGrace, CodeGone)
	}
}

// next returns the next frame to write, or nil; end says that there will be no more.
func (k *link) next() (m *Message, call *Call, end bool) {
	l := k.lease
	if len(k.ctrl) > 0 {
		m = k.ctrl[0]
		k.ctrl[0] = nil
		k.ctrl = k.ctrl[1:]
	} else if k.finished {
		m, k.last = k.last, nil
		if m == nil {
			return nil, nil, true
		}
	} else {
		if l.maxInFlight >= 0 && l.inflight >= l.maxInFlight {
			return nil, nil, false
		}
		if call = l.queue.pop(); call == nil {
			return nil, nil, false
		}
		m = k.request(call)
	}
	l.seq++
	m.Seq = l.seq
	if call != nil {
		call.seq = l.seq
	}
	return m, call, false
}

// request marks a call as written and fills the frame for it.
func (k *link) request(c *Call) *Message {
	l, h := k.lease, k.hub
	now := time.Now()
	l.take(c)
	k.used = now
	c.state, c.written, c.sentAt = callSent, true, now
	if c.firstSent.IsZero() {
		c.firstSent = now
	}
	k.req = c.req
	k.req.Tool = c.tool.visibleID()
	k.req.Name, k.req.Version = c.tool.def.ID, c.tool.def.Version
	k.req.TimeoutMs = c.remaining(now)
	if c.attempt > 1 {
		k.req.Attempt = c.attempt
	}
	k.out = Message{Type: TypeRequest, Request: &k.req}
	h.emit(c.event(EventExecuting))
	l.watchAcks()
	return &k.out
}

// run writes until the link is finished or fails, or has had nothing to write but
// pings for a while: an idle client is to cost no goroutine.
func (k *link) run() {
	if k.writeAll() {
		k.cancel()
		close(k.gone)
	}
}

func (k *link) writeAll() (ended bool) {
	h := k.hub
	if k.write == nil {
		k.write = time.AfterFunc(time.Hour, func() {
			h.mu.Lock()
			defer h.mu.Unlock()
			k.drop(errWriteTimeout)
		})
		k.write.Stop()
	}
	for {
		h.mu.Lock()
		m, call, end := k.next()
		if m == nil && !end && h.opt.PingInterval > 0 && time.Since(k.used) > h.opt.PingInterval/2 {
			k.asleep = true
			h.mu.Unlock()
			return false
		}
		h.mu.Unlock()
		if end {
			contain(func() { k.s.Close(k.cause) })
			return true
		}
		if m == nil {
			<-k.wake
			continue
		}
		k.write.Reset(h.opt.WriteTimeout)
		err := errPanicked
		contain(func() { err = k.s.Send(k.ctx, m) })
		k.write.Stop()
		if err == nil {
			continue
		}
		if errors.Is(err, ErrTooLarge) {
			if call != nil {
				h.mu.Lock()
				call.state = callQueued
				call.elem = nil
				k.lease.release(call)
				h.settle(call, nil, call.fail(CodeTooLarge, err), VerdictTooLarge)
				h.mu.Unlock()
			}
			continue
		}
		h.mu.Lock()
		k.drop(err)
		h.mu.Unlock()
		contain(func() { k.s.Close(err) })
		return true
	}
}

var errPanicked = errors.New("the carrier panicked")

// armPing sets the next ping, at a moment that differs between clients.
func (k *link) armPing() {
	d := k.hub.opt.PingInterval
	if d < 0 {
		return
	}
	d += time.Duration((rand.Float64() - 0.5) * 0.2 * float64(d))
	if k.ping != nil {
		k.ping.Reset(d)
		return
	}
	k.ping = time.AfterFunc(d, k.tick)
}

// tick sends a ping, or gives up a link from which nothing was heard since two pings ago.
func (k *link) tick() {
	h := k.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	if k.finished || k.lease.link != k {
		return
	}
	if !k.lease.legacy {
		if k.asked >= 2 {
			k.drop(errSilent)
			return
		}
		k.asked++
	}
	k.control(&Message{Type: TypePing})
	k.armPing()
}

// hear notes an inbound frame. It reports whether the frame is to be handled;
// solicited ones always are, of the others only so many.
func (k *link) hear(m *Message, solicited bool) bool {
	h := k.hub
	now := time.Now()
	k.heard, k.asked, k.lease.seen = now, 0, now
	if solicited {
		return true
	}
	ok := true
	if k.frames != nil {
		ok, _ = k.frames.Reserve(now)
	}
	if m.Type == TypePing {
		// One every ten seconds is plenty; the first few are free, as a page may start several.
		if !k.pinged.IsZero() && now.Sub(k.pinged) < 5*time.Second {
			ok = false
		}
		k.pinged = now
	}
	if ok {
		return true
	}
	k.strikes++
	h.count("strike")
	if k.strikes >= 3 {
		k.dropWith(errFlood, &Message{Type: TypeBye, Reason: ReasonRate, RetryMs: 10_000})
		return false
	}
	k.control(&Message{Type: TypeError, Code: CodeRateLimited, Error: "slow down", Ref: m.Type})
	return false
}

var errFlood = errors.New("the client sends too much")

// solicited reports whether a frame answers something the hub sent.
func (l *lease) solicited(m *Message) bool {
	switch m.Type {
	case TypePong:
		return true
	case TypeResult, TypeAsk, TypeInvoke:
		return l.calls[m.RequestID] != nil
	case TypeAck:
		return slices.ContainsFunc(m.RequestIDs, func(id string) bool { return l.calls[id] != nil })
	}
	return false
}
