package clienttool

import (
	"errors"
	"slices"
	"time"
)

var (
	errTooManyClients = errors.New("too many clients")
	errNoAck          = errors.New("the client does not acknowledge requests")
)

// lease is one client's registration. Everything in it is guarded by the hub's lock.
type lease struct {
	hub       *Hub
	clientID  string
	principal string
	grave     *grave
	limiter   Limiter // of calls

	registers Limiter // of an anonymous client; others are limited by principal
	instance  string  // "" before the first hello
	resume    string  // token of the last welcome
	legacy    bool    // no hello was ever seen
	caps      map[string]bool
	tools     []*clientTool // in the order of registration

	gen       uint64
	page      uint64 // generation with which the present page or program came, if it shows what it has seen
	link      *link  // nil: away
	attached  bool   // there was a link
	unclaimed bool   // the host itself registered it; the first peer to come owns it
	leaving   bool   // the client said bye; what runs may end
	ended     bool
	timer     *time.Timer // create grace, detach grace or drain
	seen      time.Time

	seq         uint64 // of the last frame
	calls       map[string]*Call
	queue       fairQueue
	inflight    int
	maxInFlight int // <0: no limit
	ackTimer    *time.Timer
	ackArmed    bool
}

// newLease is called with h.mu held.
func (h *Hub) newLease(p Peer, clientID string) (*lease, error) {
	lim := h.opt.Limits
	if over(len(h.leases)+1, lim.Clients) {
		return nil, &RefusedError{Code: CodeLimit, RetryAfter: 30 * time.Second, Err: errTooManyClients}
	}
	pr := h.principalOf(p)
	if p.Principal != "" && over(pr.leases+1, lim.ClientsPerPrincipal) {
		return nil, &RefusedError{Code: CodeLimit, RetryAfter: 30 * time.Second, Err: errTooManyClients}
	}
	pr.leases++
	l := &lease{
		hub: h, clientID: clientID, principal: p.Principal, legacy: true, seen: time.Now(),
		grave: &grave{principal: p.Principal, clientID: clientID},
		calls: make(map[string]*Call), maxInFlight: lim.InFlight,
	}
	h.leases[clientID] = l
	h.gauge("leases", len(h.leases))
	return l, nil
}

// claim reports whether p owns the lease, or makes it the owner of one that the
// host has made.
func (l *lease) claim(p Peer) bool {
	if l.unclaimed && l.principal != p.Principal {
		h := l.hub
		h.principalOf(Peer{Principal: l.principal}).leases--
		h.principalOf(p).leases++
		l.principal = p.Principal
		l.grave = &grave{principal: p.Principal, clientID: l.clientID}
	}
	l.unclaimed = false
	return l.principal == p.Principal
}

// arm starts a grace period: unless a link comes up, the lease ends after d.
func (l *lease) arm(d time.Duration, code string) {
	if l.timer != nil {
		l.timer.Stop()
	}
	gen := l.gen
	l.timer = time.AfterFunc(max(d, 0), func() {
		l.hub.mu.Lock()
		defer l.hub.mu.Unlock()
		// A timer that fires late, beside a link that came up meanwhile, must not count.
		if l.gen != gen || l.ended || l.link != nil && !l.leaving {
			return
		}
		l.end(code, &Message{Type: TypeBye, Reason: ReasonExpired})
	})
}

// end removes the lease with everything in it; the live calls fail with code.
func (l *lease) end(code string, bye *Message) {
	if l.ended {
		return
	}
	h := l.hub
	l.ended = true
	if l.timer != nil {
		l.timer.Stop()
	}
	l.unwatchAcks()
	ids := l.removeTools(everyTool)
	for _, c := range l.sortedCalls() {
		h.settle(c, nil, c.fail(code, nil), VerdictCancelled)
	}
	if l.link != nil {
		l.link.finish(bye)
		l.link = nil
	}
	delete(h.leases, l.clientID)
	if pr := h.principals[l.principal]; pr != nil {
		pr.leases--
		pr.last = time.Now()
	}
	h.emit(Event{Type: EventExpired, ClientID: l.clientID, ToolIDs: ids})
	if len(ids) > 0 {
		h.emit(Event{Type: EventUnregistered, ClientID: l.clientID, ToolIDs: ids})
	}
	h.gauge("leases", len(h.leases))
}

func (l *lease) sortedCalls() []*Call {
	cs := make([]*Call, 0, len(l.calls))
	for _, c := range l.calls {
		cs = append(cs, c)
	}
	slices.SortFunc(cs, byAge)
	return cs
}

// leave handles a client's bye: nothing new, and what runs may end.
func (l *lease) leave() {
	l.leaving = true
	ids := l.removeTools(everyTool)
	if len(ids) > 0 {
		l.hub.emit(Event{Type: EventUnregistered, ClientID: l.clientID, ToolIDs: ids})
	}
	for _, c := range l.sortedCalls() {
		if c.state == callQueued {
			l.hub.settle(c, nil, c.fail(CodeGone, nil), VerdictCancelled)
		}
	}
	l.arm(l.hub.opt.DrainTimeout, CodeGone)
	l.checkLeft()
}

// checkLeft ends the lease of a client that said bye once nothing runs there.
func (l *lease) checkLeft() {
	if l.leaving && len(l.calls) == 0 && !l.ended {
		l.end(CodeGone, nil)
	}
}

// detach is called when a link is lost. A late close of an old link changes nothing.
func (h *Hub) detach(k *link, why error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if k.lease.link == k {
		k.drop(why)
	}
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return oneLine(err.Error(), maxTitleBytes)
}

// reconcile compares the live calls with what the client says it holds, after a
// new link or a sync. lost says of a call that the client does not hold whether
// its frame has surely come to nothing.
func (l *lease) reconcile(live []string, restarted bool, lost func(*Call) bool) {
	h := l.hub
	known := make(map[string]bool, len(live))
	for _, id := range live {
		known[id] = true
	}
	again := make([]*Call, 0, len(l.calls))
	for _, c := range l.sortedCalls() {
		switch {
		case known[c.req.RequestID] && c.written:
			if c.state == callQueued { // it was about to be written again
				l.queue.remove(c)
				l.take(c)
				c.state = callSent
			}
			c.started()
		case c.state == callQueued:
		case restarted && !c.tool.def.Idempotent:
			h.settle(c, nil, c.fail(CodeRestarted, nil), VerdictCancelled)
		case restarted:
			c.attempt++
			c.floor = max(c.floor, c.delivery())
			again = append(again, c)
		case lost(c):
			again = append(again, c)
		}
	}
	for _, c := range slices.Backward(again) {
		l.release(c)
		c.state = callQueued
		l.queue.push(c, true)
		h.count("resent")
	}
	for _, c := range l.sortedCalls() {
		if c.state == callQueued && c.tool.current() == nil {
			h.settle(c, nil, c.fail(CodeToolChanged, nil), VerdictCancelled)
		}
	}
	for _, id := range live {
		if l.calls[id] == nil { // the host has moved on
			l.link.control(&Message{Type: TypeCancel, RequestID: clip(id, maxClientID), Reason: ReasonSettled})
		}
	}
}

// take and release count a call that is with the client.
func (l *lease) take(c *Call) {
	l.inflight++
	c.tool.inflight++
}

func (l *lease) release(c *Call) {
	l.inflight--
	c.tool.inflight--
}

// watchAcks looks, when it is due, at the calls that were written and not
// acknowledged. One timer per link does for all of them.
func (l *lease) watchAcks() {
	h := l.hub
	if l.ackArmed || h.opt.AckTimeout < 0 || !l.caps[CapAck] || l.link == nil {
		return
	}
	var oldest *Call
	for _, c := range l.calls {
		if c.state == callSent && (oldest == nil || c.sentAt.Before(oldest.sentAt)) {
			oldest = c
		}
	}
	if oldest == nil {
		return
	}
	l.ackArmed = true
	k := l.link
	l.ackTimer = time.AfterFunc(max(h.opt.AckTimeout-time.Since(oldest.sentAt), 0), func() { h.checkAcks(k) })
}

func (l *lease) unwatchAcks() {
	if l.ackTimer != nil {
		l.ackTimer.Stop()
	}
	l.ackArmed = false
}

// checkAcks closes a link on which requests go unanswered, and gives a call up
// the second time.
func (h *Hub) checkAcks(k *link) {
	h.mu.Lock()
	defer h.mu.Unlock()
	l := k.lease
	if l.link != k || l.ended {
		return
	}
	stale := false
	for _, c := range l.sortedCalls() {
		if c.state != callSent || time.Since(c.sentAt) < h.opt.AckTimeout {
			continue
		}
		stale = true
		if c.misses++; c.misses > 1 {
			h.settle(c, nil, c.fail(CodeUnresponsive, nil), VerdictCancelled)
		}
	}
	l.ackArmed = false
	if stale {
		k.drop(errNoAck)
		return
	}
	l.watchAcks()
}

func (l *lease) toolIDs() []string {
	ids := make([]string, 0, len(l.tools))
	for _, t := range l.offered() {
		ids = append(ids, t.visibleID())
	}
	return ids
}
