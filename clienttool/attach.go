package clienttool

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"io"
	"sync"
	"time"
)

// Attachment is a link whose inbound half is somewhere else. See [Hub.Attach].
type Attachment struct {
	k *link
}

// Done is closed when the hub no longer uses the Sender's link: it was lost,
// superseded or ended. What is queued may still be sent until the Sender is closed.
func (a *Attachment) Done() <-chan struct{} { return a.k.gone }

// Gen returns the generation of the link.
func (a *Attachment) Gen() uint64 { return a.k.gen }

// Detach says that the link is lost. With final the client said that it will not
// come back: what runs may still end, see Options.DrainTimeout.
func (a *Attachment) Detach(final bool) {
	h := a.k.hub
	if final {
		h.mu.Lock()
		if l := a.k.lease; l.link == a.k && !l.ended {
			l.leave()
		}
		h.mu.Unlock()
	}
	h.detach(a.k, io.EOF)
}

// Attach connects the outbound half of a link: s gets every frame for the client,
// from one goroutine. What the client sends goes to [Hub.Handle]. hello is what the
// client said, a message of type hello; for one that knows no hello, [Peer].Legacy
// is set and hello carries at most a ClientID.
//
// seen is the last frame that a legacy client has received, which is how it shows
// that it is the same page as before; the zero value if it does not say. One of a
// page that another has taken over from is refused with [CodeSuperseded], and one
// for a client that the hub does not have any more with [CodeNotFound].
//
// The error matches [ErrRefused]. The caller must call Detach in the end, and must
// not return from an HTTP handler before Done is closed.
func (h *Hub) Attach(ctx context.Context, p Peer, hello *Message, seen Seen, s Sender) (*Attachment, error) {
	k, err := h.attach(ctx, p, hello, seen, s)
	if err != nil {
		return nil, err
	}
	return &Attachment{k}, nil
}

// Seen names a frame: [Message].Seq on the link of a generation.
type Seen struct {
	Gen, Seq uint64
}

const maxInstance = 128

func (h *Hub) attach(ctx context.Context, p Peer, m *Message, seen Seen, s Sender) (*link, error) {
	hello, err := checkHello(p, m)
	if err != nil {
		return nil, err
	}
	id := hello.ClientID
	if err := h.authorize(ctx, p, OpAttach, Target{ClientID: id, SessionID: hello.SessionID}); err != nil {
		return nil, err
	}
	var ts []*clientTool
	var rejected []ToolRejection
	if hello.Tools != nil {
		if err := h.authorize(ctx, p, OpRegister, Target{ClientID: id, SessionID: hello.SessionID}); err != nil {
			return nil, err
		}
		known := h.known(id)
		ts, rejected = h.compile(id, hello.Tools, known)
		changed := len(ts) != len(known)
		for _, t := range ts {
			changed = changed || known[t.def.key()] != t
		}
		if changed && known != nil {
			if ok, wait := reserve(h.registerLimiter(p, id)); !ok {
				return nil, &RefusedError{Code: CodeRateLimited, RetryAfter: wait, Err: errors.New("too many registrations")}
			}
		}
	}
	limiter := h.callLimiter(p, id)

	h.mu.Lock()
	defer h.mu.Unlock()
	if h.draining {
		return nil, &RefusedError{Code: CodeShutdown, RetryAfter: time.Second, Err: errShutdown}
	}
	l := h.leases[id]
	if l == nil {
		if seen.Gen > 0 {
			return nil, refused(CodeNotFound, "the client is not known any more; register again")
		}
		if l, err = h.newLease(p, id); err != nil {
			return nil, err
		}
		l.limiter = limiter
	} else if err := l.mayTake(p, hello, seen); err != nil {
		h.emit(Event{Type: EventRejected, ClientID: id, Code: CodeConflict})
		h.count("foreign")
		return nil, err
	}
	old := l.link
	if old != nil {
		l.link = nil
		l.unwatchAcks()
		h.count("superseded")
	}
	l.gen++
	if l.timer != nil {
		l.timer.Stop()
	}
	restarted := l.attached && (hello.Instance == "" || hello.Instance != l.instance)
	if p.Legacy {
		restarted = l.attached && seen.Gen == 0
	}
	if !p.Legacy || seen.Gen == 0 {
		l.page = l.gen
	}
	l.instance, l.leaving, l.attached, l.legacy = hello.Instance, false, true, p.Legacy
	l.caps = make(map[string]bool, len(hello.Capabilities))
	for _, c := range hello.Capabilities {
		l.caps[c] = true
	}
	l.maxInFlight = h.opt.Limits.InFlight
	if n := hello.MaxConcurrent; n > 0 && (l.maxInFlight < 0 || n < l.maxInFlight) {
		l.maxInFlight = n
	}
	k := newLink(l, s)
	l.link, l.seen = k, k.heard
	h.links++
	h.gauge("links", h.links)
	if !p.Legacy {
		l.resume = rand.Text()
		k.control(&Message{Type: TypeWelcome, Welcome: &Welcome{
			Protocol: Protocol, Lease: id, Resume: l.resume, Gen: l.gen,
			Limits: WelcomeLimits{MaxMessageBytes: h.opt.Limits.FrameBytes(), MaxResultBytes: h.opt.Limits.ResultBytes,
				MaxConcurrent: l.maxInFlight},
			GraceMs: max(h.opt.DetachGrace, 0).Milliseconds(), PingMs: max(h.opt.PingInterval, 0).Milliseconds(),
		}})
	}
	var reply *Message
	if hello.Tools != nil {
		taken, gone, more := l.install(ts, hello.SessionID, true)
		reply = l.announce(taken, gone, append(rejected, more...))
	}
	if p.Legacy {
		l.reconcile(nil, restarted, func(c *Call) bool { return c.seq > seen.Seq })
	} else {
		l.reconcile(hello.Live, restarted, func(*Call) bool { return true })
	}
	l.dropStale()
	if reply != nil {
		k.control(reply)
	}
	h.emit(Event{Type: EventConnected, ClientID: id, ToolIDs: l.toolIDs()})
	k.start()
	if old != nil {
		old.cause = errSuperseded
		old.finish(&Message{Type: TypeBye, Reason: ReasonSuperseded})
	}
	return k, nil
}

var errSuperseded = errors.New("another link has taken over")

// checkHello returns the hello of m, or one made up for a client that knows none.
func checkHello(p Peer, m *Message) (*Hello, error) {
	var hello Hello
	switch {
	case p.Legacy:
		hello.ClientID = p.ClientID
		if m != nil && hello.ClientID == "" {
			hello.ClientID = m.ClientID
		}
		if m != nil {
			hello.SessionID = m.SessionID
		}
		if m != nil && m.Hello != nil {
			hello.Instance = m.Hello.Instance
		}
	case m == nil || m.Type != TypeHello || m.Hello == nil:
		return nil, refused(CodeProtocol, "the first message must be hello")
	default:
		hello = *m.Hello
		if hello.Protocol != Protocol {
			return nil, refused(CodeProtocol, "this host speaks protocol 1")
		}
	}
	if hello.ClientID == "" {
		hello.ClientID = p.ClientID
	}
	if p.ClientID != "" && p.ClientID != hello.ClientID {
		return nil, refused(CodeUnauthorized, "that is another client's id")
	}
	if err := CheckClientID(hello.ClientID); err != nil {
		return nil, &RefusedError{Code: CodeInvalidRequest, Err: err}
	}
	if len(hello.Instance) > maxInstance || len(hello.Resume) > maxInstance || len(hello.SessionID) > maxInstance*2 {
		return nil, refused(CodeInvalidRequest, "hello has an id that is too long")
	}
	return &hello, nil
}

// mayTake reports whether a newcomer may have an existing lease: the same
// principal only, and beside a living link only with the token of that link. A
// legacy client has no token: the newest page wins, and the one before is told so
// when it comes back, or two would take the link from each other for ever.
func (l *lease) mayTake(p Peer, hello *Hello, seen Seen) error {
	busy := &RefusedError{Code: CodeConflict, RetryAfter: 5 * time.Second, Err: errors.New("the client id is connected already")}
	switch {
	case !l.claim(p):
		return refused(CodeConflict, "the client id is taken")
	case p.Legacy && seen.Gen > 0 && seen.Gen < l.page: // links of its own on which it saw nothing are no matter
		return refused(CodeSuperseded, "another link has taken over")
	case l.link == nil:
		return nil
	case p.Legacy && l.legacy:
		if hello.Instance != "" && l.instance != "" && hello.Instance != l.instance {
			return busy
		}
		return nil
	case !p.Legacy && hello.Resume != "" && subtle.ConstantTimeCompare([]byte(hello.Resume), []byte(l.resume)) == 1:
		return nil
	}
	return busy
}

// Serve runs one duplex link until it ends, and closes it. It returns nil after the
// peer closed in good order, an error that matches [ErrRefused] if the peer was not
// let in (it has been told), and the Conn's error otherwise. ctx ends the link, not the lease.
func (h *Hub) Serve(ctx context.Context, p Peer, c Conn) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stop := context.AfterFunc(h.ctx, func() {
		time.AfterFunc(time.Second, func() { cancel(ErrClosed) }) // after the bye
	})
	defer stop()
	var first *Message
	if !p.Legacy {
		timer := time.AfterFunc(h.opt.HelloTimeout, func() { cancel(errNoHello) })
		m, err := recv(ctx, c)
		timer.Stop()
		if err != nil {
			closeConn(c, err)
			return err
		}
		first = m
	}
	k, err := h.attach(ctx, p, first, Seen{}, c)
	if err != nil {
		h.refuse(ctx, c, err)
		return err
	}
	for {
		m, err := recv(ctx, c)
		if err != nil {
			h.detach(k, err)
			closeConn(c, err)
			<-k.gone
			if errors.Is(err, io.EOF) {
				return nil
			}
			h.mu.Lock()
			defer h.mu.Unlock()
			if k.cause != nil && k.cause != err {
				return errors.Join(k.cause, err)
			}
			return err
		}
		h.inbound(ctx, k, p, m)
	}
}

var errNoHello = errors.New("the peer said nothing")

// recv calls a carrier, which is foreign code.
func recv(ctx context.Context, c Conn) (m *Message, err error) {
	if !contain(func() { m, err = c.Recv(ctx) }) {
		return nil, errPanicked
	}
	if m == nil && err == nil {
		return nil, errors.New("the carrier returned no message")
	}
	return m, err
}

func closeConn(c Conn, why error) { contain(func() { c.Close(why) }) }

// refuse tells a peer why it is not let in, and closes.
func (h *Hub) refuse(ctx context.Context, c Conn, err error) {
	m := Bye(err)
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	contain(func() { c.Send(ctx, m) })
	closeConn(c, err)
}

// Bye returns the message that tells a peer why it was refused. Its RetryMs is 0 if
// trying again is of no use.
func Bye(err error) *Message {
	m := &Message{Type: TypeBye, Reason: ReasonProtocol, Code: CodeProtocol, Error: errText(err)}
	var r *RefusedError
	if errors.As(err, &r) {
		m.Code, m.Reason = r.Code, r.Code
		switch r.Code {
		case CodeShutdown:
			m.Reason = ReasonShutdown
		case CodeUnauthorized:
			m.Reason = ReasonUnauthorized
		case CodeConflict:
			m.Reason = ReasonSuperseded
		}
		m.RetryMs = r.RetryAfter.Milliseconds()
	}
	return m
}

// ServeListener serves every Conn that l accepts, until ctx or the hub ends or
// Accept fails, and then waits for the links to end. It returns Accept's error, or
// nil if ctx or the hub ended.
func (h *Hub) ServeListener(ctx context.Context, l Listener) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(h.ctx, cancel)
	defer stop()
	var wg sync.WaitGroup
	for {
		c, p, err := l.Accept(ctx)
		if err != nil {
			if ctx.Err() != nil {
				wg.Wait()
				return nil
			}
			cancel()
			wg.Wait()
			return err
		}
		wg.Go(func() { h.Serve(ctx, p, c) })
	}
}
