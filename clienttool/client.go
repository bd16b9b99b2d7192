package clienttool

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	mrand "math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/agenttool/tool"
)

// Client serves tools to a host. Add tools, then call Run. All methods are safe for
// concurrent use.
type Client struct {
	id       string
	t        Transport
	opt      ClientOptions
	instance string

	closed chan struct{} // when Run has ended
	saving sync.Mutex    // held while the state is saved, so that the newest wins

	mu      sync.Mutex
	tools   map[string]*served // by ToolDefinition.key
	order   []string
	calls   map[string]*clientCall
	asks    map[string]*clientAsk // questions that belong to no call
	ended   recent                // request ids that are not to run again
	state   State
	resume  string
	names   map[string]string // id to own name
	limits  WelcomeLimits
	link    *clientLink // nil: not connected
	running bool
	leaving bool
	dirty   bool // the saved state is out of date
	kept    int  // bytes of results that were not acknowledged
	run     context.Context
	busy    sync.WaitGroup
}

// ClientOptions configure a [Client]. Zero means the default in brackets.
type ClientOptions struct {
	SessionID     string        // that the tools are bound to; "": none
	MaxConcurrent int           // calls at once [16]
	Backoff       Backoff       // between attempts to connect
	HealthyAfter  time.Duration // connected that long, the back-off starts over [5 s]
	HelloTimeout  time.Duration // to connect and be welcomed [10 s]
	DrainTimeout  time.Duration // for handlers and their results when Run ends [30 s]
	AckDelay      time.Duration // a call that ends sooner is not acknowledged separately [20 ms]; <0: at once
	ResendAfter   time.Duration // a result without a verdict is sent again [10 s]
	ResultTTL     time.Duration // how long such a result is kept [10 min]
	ResultBytes   int           // of such results in all [8 MiB]; the oldest go first

	// Truncate bounds what tools added by AddTool return; nil: the host does.
	Truncate tool.TruncateFunc

	Store StateStore // keeps results and definitions over a restart of the program; nil: none

	// Restore returns the handler for a tool that Store has kept and that was not added
	// before Run, as one that was added while an earlier process ran; nil leaves it out.
	// It is called by Run. Nil: only tools that are added exist.
	Restore func(def ToolDefinition) Handler

	OnState func(s State)     // called, one at a time, when the state changes; nil: nobody
	OnTools func(r ToolsInfo) // called when the host has answered a registration; nil: nobody
	Logger  *slog.Logger      // nil: none
}

// ToolsInfo is the host's answer to a registration.
type ToolsInfo struct {
	IDs      map[string]string // the host's id to the client's own name
	Rejected []ToolRejection
}

// Backoff says how long to wait before connecting again: between nothing and
// Min·2ⁿ, at most Max, at random, so that many clients do not come at once.
type Backoff struct {
	Min      time.Duration // [1 s]
	Max      time.Duration // [30 s]
	Attempts int           // in a row, before Run gives up; 0: no limit
}

func (b Backoff) delay(n int) time.Duration {
	d := b.Max
	if n < 30 {
		d = min(b.Min<<n, b.Max)
	}
	return time.Duration(mrand.Float64() * float64(d))
}

// State is whether a client is connected.
type State string

// The states of a client.
const (
	StateIdle       State = "idle" // Run was not called
	StateConnecting State = "connecting"
	StateReady      State = "ready"
	StateBackoff    State = "backoff"
	StateClosed     State = "closed"
)

// Handler runs one call. Its context ends when the call is cancelled or times out,
// and when Run's does; losing the connection does not end it. An error is what the
// model reads; a result beside it is partial output.
type Handler func(ctx context.Context, call *Invocation) (*ToolResult, error)

type served struct {
	def     ToolDefinition
	handler Handler
}

// NewClient returns a client that is called id ("": made up) and reaches its host through t.
func NewClient(id string, t Transport, o ClientOptions) *Client {
	if id == "" {
		id = "c-" + rand.Text()
	}
	for _, f := range []struct {
		p *time.Duration
		d time.Duration
	}{
		{&o.Backoff.Min, time.Second}, {&o.Backoff.Max, 30 * time.Second}, {&o.HealthyAfter, 5 * time.Second},
		{&o.HelloTimeout, 10 * time.Second}, {&o.DrainTimeout, 30 * time.Second}, {&o.AckDelay, 20 * time.Millisecond},
		{&o.ResendAfter, 10 * time.Second}, {&o.ResultTTL, 10 * time.Minute},
	} {
		if *f.p == 0 {
			*f.p = f.d
		}
	}
	if o.MaxConcurrent <= 0 {
		o.MaxConcurrent = 16
	}
	if o.ResultBytes == 0 {
		o.ResultBytes = 8 << 20
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &Client{
		id: id, t: t, opt: o, instance: rand.Text(), state: StateIdle,
		tools: make(map[string]*served), calls: make(map[string]*clientCall),
		asks: make(map[string]*clientAsk), closed: make(chan struct{}),
	}
}

// ID returns the client's id.
func (c *Client) ID() string { return c.id }

// State returns whether the client is connected.
func (c *Client) State() State {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state
}

// ToolIDs returns the host's ids of the tools that it has taken, with their own names.
func (c *Client) ToolIDs() map[string]string {
	c.mu.Lock()
	defer c.mu.Unlock()
	m := make(map[string]string, len(c.names))
	for id, name := range c.names {
		m[id] = name
	}
	return m
}

// Add adds a tool, or replaces the one of that name and version. It may be called before Run
// and while it runs; what the host makes of it reaches OnTools.
func (c *Client) Add(def ToolDefinition, h Handler) error {
	if def.ID == "" || len(def.ID) > maxToolName {
		return fmt.Errorf("client tool: the name must have 1 to %d bytes", maxToolName)
	}
	if h == nil {
		return fmt.Errorf("client tool %s: no handler", def.ID)
	}
	def = def.clone()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.tools[def.key()] == nil {
		c.order = append(c.order, def.key())
	}
	c.tools[def.key()] = &served{def, h}
	c.dirty = true
	c.link.control(&Message{Type: TypeRegister, SessionID: c.opt.SessionID, Tools: []ToolDefinition{def}})
	return nil
}

// Remove removes tools by name, in all versions. Calls that run go on.
func (c *Client) Remove(names ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var gone []string
	c.order = slices.DeleteFunc(c.order, func(key string) bool {
		name := c.tools[key].def.ID
		if !slices.Contains(names, name) {
			return false
		}
		delete(c.tools, key)
		if !slices.Contains(gone, name) {
			gone = append(gone, name)
		}
		return true
	})
	if len(gone) > 0 {
		c.dirty = true
		c.link.control(&Message{Type: TypeUnregister, ToolIDs: gone})
	}
}

// find returns the tool that a request means: a request that names no version means the newest.
func (c *Client) find(name, version string) *served {
	if s := c.tools[(&ToolDefinition{ID: name, Version: version}).key()]; s != nil || version != "" {
		return s
	}
	var newest *served
	for _, s := range c.tools {
		if s.def.ID == name && (newest == nil || compareVersions(s.def.Version, newest.def.Version) > 0) {
			newest = s
		}
	}
	return newest
}

// definitions is called with c.mu held; it is never nil, as no tools is an answer too.
func (c *Client) definitions() []ToolDefinition {
	ds := make([]ToolDefinition, 0, len(c.order))
	for _, n := range c.order {
		ds = append(ds, c.tools[n].def)
	}
	return ds
}

// FatalError is why Run gave up: trying again will not help. It matches [ErrFatal].
type FatalError struct {
	Code   string // see the Code constants; "" if a transport said so
	Reason string
	Err    error // may be nil
}

// Error says why.
func (e *FatalError) Error() string {
	s := "the host refused this client"
	if e.Reason != "" {
		s += ": " + e.Reason
	}
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Is reports whether target is [ErrFatal].
func (e *FatalError) Is(target error) bool { return target == ErrFatal }

// Unwrap returns the error behind it, or nil.
func (e *FatalError) Unwrap() error { return e.Err }

var (
	errRunning  = errors.New("client tool: Run was called twice")
	errAttempts = errors.New("too many attempts to connect")
)

// Run connects, serves calls, and connects again whenever the link is lost, until
// ctx ends or the host refuses for good. Then handlers are cancelled, their results
// delivered if the link is up, and the host told goodbye; that takes DrainTimeout at
// most. It returns ctx's cause, or an error that matches [ErrFatal]. It may be
// called once.
func (c *Client) Run(ctx context.Context) error {
	c.mu.Lock()
	if c.running || c.state == StateClosed {
		c.mu.Unlock()
		return errRunning
	}
	c.running = true
	var stop context.CancelCauseFunc
	c.run, stop = context.WithCancelCause(ctx)
	c.mu.Unlock()
	defer stop(ErrClosed)
	defer close(c.closed)
	if err := c.load(); err != nil {
		return err
	}
	var why error
	for n := 0; ; {
		c.set(StateConnecting)
		ready, wait, err := c.connect(ctx)
		if ctx.Err() != nil {
			why = context.Cause(ctx)
			break
		}
		if errors.Is(err, ErrFatal) {
			why = err
			break
		}
		if ready >= c.opt.HealthyAfter {
			n = 0
		}
		if c.opt.Backoff.Attempts > 0 && n >= c.opt.Backoff.Attempts {
			why = &FatalError{Reason: errAttempts.Error(), Err: err}
			break
		}
		c.opt.Logger.Info("client tools: connection lost", "error", err, "attempt", n)
		c.set(StateBackoff)
		timer := time.NewTimer(max(c.opt.Backoff.delay(n), wait))
		n++
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
		}
		if ctx.Err() != nil {
			why = context.Cause(ctx)
			break
		}
	}
	stop(why)
	c.drain()
	c.set(StateClosed)
	return why
}

// drain waits for the handlers, whose contexts have ended.
func (c *Client) drain() {
	done := make(chan struct{})
	go func() {
		c.busy.Wait()
		close(done)
	}()
	timer := time.NewTimer(c.opt.DrainTimeout)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
		c.opt.Logger.Warn("client tools: handlers did not return in time")
	}
}

func (c *Client) set(s State) {
	c.mu.Lock()
	changed := c.state != s
	c.state = s
	c.mu.Unlock()
	if changed && c.opt.OnState != nil {
		contain(func() { c.opt.OnState(s) })
	}
}

// recent remembers the last few thousand request ids.
type recent struct {
	m    map[string]bool // true: cancelled before it came
	ring []string
	next int
}

const recentIDs = 4096

func (r *recent) add(id string, cancelled bool) {
	if r.m == nil {
		r.m = make(map[string]bool)
	}
	if _, ok := r.m[id]; ok {
		return
	}
	r.m[id] = cancelled
	if len(r.ring) < recentIDs {
		r.ring = append(r.ring, id)
		return
	}
	delete(r.m, r.ring[r.next])
	r.ring[r.next] = id
	r.next = (r.next + 1) % recentIDs
}
