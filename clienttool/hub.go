package clienttool

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"
)

// Hub is the host's side: it keeps the leases of clients, their tools and the
// calls to them. Make one with [NewHub]. All methods are safe for concurrent use,
// also from inside every callback of Options.
//
// One lock guards everything below it; no callback, no Conn and no Store is ever
// used while it is held.
type Hub struct {
	opt      Options
	ctx      context.Context // ends with Close
	cancel   context.CancelCauseFunc
	observer *subscriber

	mu         sync.Mutex
	leases     map[string]*lease      // by client id
	tools      map[string]*clientTool // by id
	calls      map[string]*Call       // live, by request id
	bytes      int                    // of the arguments of live calls
	links      int
	tombs      tombs
	principals map[string]*principal
	schemas    schemas       // has a lock of its own
	subs       []*subscriber // replaced, never changed
	restored   []*Call
	draining   bool
	closed     bool
	quiet      chan struct{} // while draining: closed when no call is live
}

// principal is what one authenticated user takes of the hub.
type principal struct {
	leases    int
	registers Limiter
	last      time.Time
}

// NewHub returns a hub. Close it when it is no longer needed.
func NewHub(o Options) (*Hub, error) {
	h := &Hub{
		opt:        o.withDefaults(),
		leases:     make(map[string]*lease),
		tools:      make(map[string]*clientTool),
		calls:      make(map[string]*Call),
		principals: make(map[string]*principal),
	}
	h.tombs.init(h.opt.TombstoneTTL, h.opt.Limits.Tombstones, h.opt.Limits.TombstonesPerClient)
	if obs := o.Observer; obs != nil {
		h.observer = &subscriber{f: func(x any) { x.(func(Observer))(obs) }, buf: 4096}
	}
	h.ctx, h.cancel = context.WithCancelCause(context.Background())
	if o.Store != nil {
		if err := h.restore(); err != nil {
			return nil, err
		}
	}
	return h, nil
}

var errShutdown = errors.New("the host is shutting down")

// Shutdown ends the hub in good order: no new calls or links; calls that were
// not written fail at once; the others may end until ctx does, then they fail
// too; then the links are closed. It returns ctx's error if something had to be
// cut off. Calling it again waits likewise.
func (h *Hub) Shutdown(ctx context.Context) error {
	h.mu.Lock()
	h.draining = true
	for _, c := range h.liveCalls() {
		if c.state == callQueued {
			h.settle(c, nil, c.fail(CodeShutdown, errShutdown), VerdictCancelled)
		}
	}
	if h.quiet == nil {
		h.quiet = make(chan struct{})
		h.checkQuiet()
	}
	quiet := h.quiet
	h.mu.Unlock()
	var err error
	select {
	case <-quiet:
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	h.Close()
	return err
}

// checkQuiet tells a Shutdown that the last call has ended.
func (h *Hub) checkQuiet() {
	if h.quiet != nil && len(h.calls) == 0 {
		select {
		case <-h.quiet:
		default:
			close(h.quiet)
		}
	}
}

// Close ends the hub at once: every live call fails, every link is closed, every
// tool is gone. It is idempotent and does not wait for links.
func (h *Hub) Close() error {
	h.mu.Lock()
	if h.closed {
		h.mu.Unlock()
		return nil
	}
	h.closed, h.draining = true, true
	for _, c := range h.liveCalls() {
		h.settle(c, nil, c.fail(CodeShutdown, errShutdown), VerdictCancelled)
	}
	for _, l := range h.sortedLeases() {
		l.end(CodeShutdown, &Message{Type: TypeBye, Reason: ReasonShutdown, RetryMs: 1000})
	}
	h.checkQuiet()
	h.mu.Unlock()
	h.cancel(ErrClosed)
	return nil
}

// liveCalls returns the live calls, oldest first.
func (h *Hub) liveCalls() []*Call {
	cs := make([]*Call, 0, len(h.calls))
	for _, c := range h.calls {
		cs = append(cs, c)
	}
	slices.SortFunc(cs, byAge)
	return cs
}

func byAge(a, b *Call) int {
	if n := a.created.Compare(b.created); n != 0 {
		return n
	}
	return cmp.Compare(a.req.RequestID, b.req.RequestID)
}

func (h *Hub) sortedLeases() []*lease {
	ls := make([]*lease, 0, len(h.leases))
	for _, l := range h.leases {
		ls = append(ls, l)
	}
	slices.SortFunc(ls, func(a, b *lease) int { return cmp.Compare(a.clientID, b.clientID) })
	return ls
}

// Revoke ends what a principal has here, as when its credentials have expired: its
// links are closed with a bye that says so, which ends a [Client]'s Run, its tools are
// gone, and its calls fail. It returns the ids of its clients. Carriers must refuse
// the principal from then on, or it comes back.
func (h *Hub) Revoke(principal string) (clientIDs []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, l := range h.sortedLeases() {
		if l.principal == principal {
			clientIDs = append(clientIDs, l.clientID)
			l.end(CodeGone, &Message{Type: TypeBye, Reason: ReasonUnauthorized, Code: CodeUnauthorized})
		}
	}
	return clientIDs
}

// ClientInfo describes one client.
type ClientInfo struct {
	ClientID  string
	Principal string
	Connected bool
	Gen       uint64 // of the link
	InFlight  int
	Queued    int
	Tools     int
	LastSeen  time.Time
}

// Clients returns the clients that have a lease, sorted by id.
func (h *Hub) Clients() []ClientInfo {
	h.mu.Lock()
	defer h.mu.Unlock()
	var out []ClientInfo
	for _, l := range h.sortedLeases() {
		out = append(out, l.info())
	}
	return out
}

// Client returns one client.
func (h *Hub) Client(clientID string) (info ClientInfo, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	l := h.leases[clientID]
	if l == nil {
		return ClientInfo{}, false
	}
	return l.info(), true
}

func (l *lease) info() ClientInfo {
	return ClientInfo{
		ClientID: l.clientID, Principal: l.principal, Connected: l.link != nil, Gen: l.gen,
		InFlight: l.inflight, Queued: l.queue.n, Tools: len(l.offered()), LastSeen: l.seen,
	}
}

// ClientTool is a registered tool as the host sees it.
type ClientTool struct {
	ToolDefinition          // with the host's id
	Name           string   // the client's own name
	ClientID       string   //
	Sessions       []string // that it is bound to, sorted; nil: none
	Connected      bool     // false: the client is away, within its grace period
}

// ClientTools returns the tools that agents of a session may see, in a stable
// order: by client id, then as registered. An empty session stands for all tools.
func (h *Hub) ClientTools(sessionID string) []ClientTool {
	h.mu.Lock()
	defer h.mu.Unlock()
	var out []ClientTool
	for _, l := range h.sortedLeases() {
		for _, t := range l.offered() {
			if sessionID == "" || h.offered(t, sessionID) {
				out = append(out, t.info())
			}
		}
	}
	return out
}

// Lookup finds a tool by its id, or by the plain form of it that a client without
// hello knows, unless that could be two. The ID of what it returns is the one for
// [CallRequest].
func (h *Hub) Lookup(toolID string) (ClientTool, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if t := h.lookup(toolID); t != nil {
		return t.info(), true
	}
	return ClientTool{}, false
}

// lookup is called with h.mu held.
func (h *Hub) lookup(toolID string) *clientTool {
	if t := h.tools[toolID]; t != nil {
		return t
	}
	if !strings.HasPrefix(toolID, "client_") {
		return nil
	}
	var found *clientTool
	for _, l := range h.sortedLeases() {
		for _, t := range l.offered() {
			if plainID(l.clientID, t.def.ID) != toolID {
				continue
			}
			if found != nil {
				return nil
			}
			found = t
		}
	}
	return found
}

// offered reports whether an agent of the session sees the tool. It is called with h.mu held.
func (h *Hub) offered(t *clientTool, sessionID string) bool {
	if len(t.sessions) == 0 {
		return h.opt.OfferUnbound
	}
	return sessionID != "" && t.sessions[sessionID]
}

// List returns the tools of a client, for a peer: with the ids that the client
// knows. Without an Options.Authorize a peer sees its own clients only; what it may
// not see is an empty list, never nil, as if there were none.
func (h *Hub) List(ctx context.Context, p Peer, clientID string) []ToolDefinition {
	out := []ToolDefinition{}
	info, ok := h.Client(clientID)
	if !ok || !h.maySee(ctx, p, OpList, info.Principal, Target{ClientID: clientID}) {
		return out
	}
	return (&Registry{h}).GetTools(clientID)
}

// ListAll returns the tools of all clients that a peer may see, by the ids that
// their clients know, or where two of those are the same, by those that models see.
func (h *Hub) ListAll(ctx context.Context, p Peer) map[string]ToolDefinition {
	type entry struct {
		principal, clientID, id string
		def                     ToolDefinition
	}
	var all []entry
	h.mu.Lock()
	for _, l := range h.sortedLeases() {
		for _, t := range l.offered() {
			d := t.visible()
			if other := h.tools[d.ID]; d.ID != t.id && other != nil {
				d.ID = t.id
			}
			all = append(all, entry{l.principal, l.clientID, t.id, d})
		}
	}
	h.mu.Unlock()
	out := make(map[string]ToolDefinition)
	for _, e := range all {
		if !h.maySee(ctx, p, OpListAll, e.principal, Target{ClientID: e.clientID, Tool: e.id}) {
			continue
		}
		if _, taken := out[e.def.ID]; taken {
			e.def.ID = e.id
		}
		out[e.def.ID] = e.def
	}
	return out
}

func (h *Hub) maySee(ctx context.Context, p Peer, op Op, principal string, t Target) bool {
	if h.opt.Authorize == nil && p.Principal != principal {
		return false
	}
	return h.authorize(ctx, p, op, t) == nil
}

// Check reports whether a peer may do op, as the hub's own methods do; the error
// matches [ErrRefused].
func (h *Hub) Check(ctx context.Context, p Peer, op Op, t Target) error {
	return h.authorize(ctx, p, op, t)
}

// authorize asks the host's own code; a panic in it refuses.
func (h *Hub) authorize(ctx context.Context, p Peer, op Op, t Target) (err error) {
	if p.Principal == "" && !h.opt.AllowAnonymous {
		return refused(CodeUnauthorized, "anonymous peers are not accepted")
	}
	if h.opt.Authorize == nil {
		if op == OpExecute {
			return refused(CodeUnauthorized, "this host lets nobody run tools of clients")
		}
		return nil
	}
	if !contain(func() { err = h.opt.Authorize(ctx, p, op, t) }) {
		err = errors.New("authorization failed")
	}
	if err != nil {
		return &RefusedError{Code: CodeUnauthorized, Err: err}
	}
	return nil
}

// principalOf returns the entry of a principal, and forgets those of long ago.
func (h *Hub) principalOf(p Peer) *principal {
	pr := h.principals[p.Principal]
	if pr != nil {
		return pr
	}
	if len(h.principals) > 2*len(h.leases)+64 {
		for name, old := range h.principals {
			if old.leases == 0 && time.Since(old.last) > 2*time.Minute {
				delete(h.principals, name)
			}
		}
	}
	pr = &principal{last: time.Now()}
	h.principals[p.Principal] = pr
	return pr
}

// newRequestID returns an id that nobody can guess.
func newRequestID() string { return "req_" + rand.Text() }
