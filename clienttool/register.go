package clienttool

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/agenttool/tool"
	"github.com/agenttool/tool/schema"
)

// clientTool is one registered definition. What is below the line is guarded by
// the hub's lock; the rest never changes.
type clientTool struct {
	lease   *lease
	id      string // what models see
	def     ToolDefinition
	rev     [sha256.Size]byte
	schema  *schema.Schema
	output  *schema.Schema // nil: none
	timeout time.Duration
	hosted  *hosted // the tool.Tool

	sessions map[string]bool
	inflight int
}

// same reports whether both are one definition of one client.
func (t *clientTool) same(o *clientTool) bool {
	return o != nil && t.id == o.id && t.rev == o.rev && t.lease.clientID == o.lease.clientID && t.lease.principal == o.lease.principal
}

// current returns the registered tool that is this very definition, which another
// lease of the client may have; nil if there is none any more. It need not be the
// newest version.
func (t *clientTool) current() *clientTool {
	newest := t.lease.hub.tools[t.id]
	if newest == nil || t.same(newest) {
		return newest
	}
	if i := slices.IndexFunc(newest.lease.tools, t.same); i >= 0 {
		return newest.lease.tools[i]
	}
	return nil
}

// key tells the tools of a client apart: by name and version.
func (d *ToolDefinition) key() string { return d.ID + "\x00" + d.Version }

func (t *clientTool) ready() bool {
	return t.def.MaxInFlight <= 0 || t.inflight < t.def.MaxInFlight
}

// visibleID is the id that the client is told: the plain form for one that knows
// no other.
func (t *clientTool) visibleID() string {
	if t.lease.legacy {
		return plainID(t.lease.clientID, t.def.ID)
	}
	return t.id
}

func (t *clientTool) info() ClientTool {
	d := t.def.clone()
	d.ID, d.Revision = t.id, t.revision()
	var sessions []string
	if len(t.sessions) > 0 {
		sessions = slices.Sorted(maps.Keys(t.sessions))
	}
	return ClientTool{ToolDefinition: d, Name: t.def.ID, ClientID: t.lease.clientID, Sessions: sessions, Connected: t.lease.link != nil}
}

func (t *clientTool) revision() string { return hex.EncodeToString(t.rev[:8]) }

// compile checks definitions from a stranger. It needs no lock. known returns an
// existing one with the same meaning, so that registering again costs little.
func (h *Hub) compile(clientID string, defs []ToolDefinition, known map[string]*clientTool) (out []*clientTool, rejected []ToolRejection) {
	seen := make(map[string]bool)
	for _, d := range defs {
		t, code, err := h.compileOne(clientID, d, known)
		if err == nil && seen[t.def.key()] {
			code, err = CodeNameTaken, errors.New("it is defined twice in one message")
		}
		if err != nil {
			rejected = append(rejected, ToolRejection{ID: oneLine(d.ID, maxTitleBytes), Code: code, Error: oneLine(err.Error(), maxTitleBytes)})
			h.count("rejected_tool")
			continue
		}
		seen[t.def.key()] = true
		out = append(out, t)
	}
	return out, rejected
}

func (h *Hub) compileOne(clientID string, d ToolDefinition, known map[string]*clientTool) (*clientTool, string, error) {
	lim := h.opt.Limits
	if over(len(d.Parameters)+len(d.OutputSchema)+len(d.Description)+len(d.ID)+len(d.Title), lim.DefinitionBytes) {
		return nil, CodeTooLarge, fmt.Errorf("the definition is larger than %d bytes", lim.DefinitionBytes)
	}
	if over(len(d.Description), lim.DescriptionBytes) {
		return nil, CodeTooLarge, fmt.Errorf("the description is longer than %d bytes", lim.DescriptionBytes)
	}
	d = d.clone()
	if len(d.Parameters) == 0 || string(d.Parameters) == "null" { // how JSON says none
		d.Parameters = nil
	}
	if len(d.OutputSchema) == 0 || string(d.OutputSchema) == "null" {
		d.OutputSchema = nil
	}
	if len(d.Version) > maxVersion || oneLine(d.Version, maxVersion) != d.Version {
		return nil, CodeInvalidName, fmt.Errorf("the version is longer than %d bytes, or no plain text", maxVersion)
	}
	d.Revision = ""
	d.Title = oneLine(d.Title, maxTitleBytes)
	d.Description = plainText(d.Description, len(d.Description))
	if strings.TrimSpace(d.Description) == "" {
		d.Description = "The client's tool " + oneLine(d.ID, maxTitleBytes) + "."
	}
	t := &clientTool{def: d}
	b, err := json.Marshal(d)
	if err != nil {
		return nil, CodeInvalidSchema, err
	}
	t.rev = sha256.Sum256(b)
	if old := known[d.key()]; old != nil && old.rev == t.rev {
		return old, "", nil
	}
	var id string
	err = errPanicked
	contain(func() { id, err = h.opt.Namer.Name(clientID, d.ID) })
	if err == nil {
		err = tool.CheckName(id)
	}
	if err != nil {
		return nil, CodeInvalidName, err
	}
	t.id = id
	if t.schema, err = h.schemas.compile(d.Parameters); err != nil {
		return nil, CodeInvalidSchema, err
	}
	if !t.schema.IsObject() {
		return nil, CodeInvalidSchema, errors.New("parameters must be an object schema")
	}
	if len(d.OutputSchema) > 0 {
		if t.output, err = h.schemas.compile(d.OutputSchema); err != nil {
			return nil, CodeInvalidSchema, fmt.Errorf("outputSchema: %w", err)
		}
	}
	if d.TimeoutMs > 0 {
		t.timeout = h.opt.MaxTimeout
		if d.TimeoutMs < int64(h.opt.MaxTimeout/time.Millisecond) {
			t.timeout = time.Duration(d.TimeoutMs) * time.Millisecond
		}
	}
	t.hosted = &hosted{h: h, t: t, clientID: clientID}
	return t, "", nil
}

// known returns the definitions of a client by their keys.
func (h *Hub) known(clientID string) map[string]*clientTool {
	h.mu.Lock()
	defer h.mu.Unlock()
	l := h.leases[clientID]
	if l == nil {
		return nil
	}
	m := make(map[string]*clientTool, len(l.tools))
	for _, t := range l.tools {
		m[t.def.key()] = t
	}
	return m
}

// install enters compiled definitions. With replace, those that are not among
// them go. It returns the ids of ts that were taken, and of what went, and is
// called with h.mu held.
func (l *lease) install(ts []*clientTool, sessionID string, replace bool) (taken []*clientTool, gone []string, rejected []ToolRejection) {
	h := l.hub
	if replace {
		keep := make(map[string]bool)
		for _, t := range ts {
			keep[t.def.key()] = true
		}
		gone = l.removeTools(func(t *clientTool) bool { return !keep[t.def.key()] })
	}
	for _, t := range ts {
		at := slices.IndexFunc(l.tools, func(o *clientTool) bool { return o.def.key() == t.def.key() })
		if at >= 0 && l.tools[at].rev == t.rev {
			t = l.tools[at]
		} else {
			if owner := h.tools[t.id]; owner != nil && (owner.lease != l || owner.def.ID != t.def.ID) {
				h.opt.Logger.Warn("two client tools share an id", "id", t.id, "client", l.clientID, "owner", owner.lease.clientID)
				rejected = append(rejected, ToolRejection{ID: t.def.ID, Code: CodeNameTaken, Error: "its id is taken by another tool"})
				continue
			}
			if at < 0 && over(len(l.tools)+1, h.opt.Limits.ToolsPerClient) {
				rejected = append(rejected, ToolRejection{ID: t.def.ID, Code: CodeLimit, Error: "this client has too many tools"})
				continue
			}
			t.lease = l
			if newest := h.tools[t.id]; newest != nil { // another version, or what this one replaces
				t.sessions = maps.Clone(newest.sessions)
			}
			if at < 0 {
				l.tools = append(l.tools, t)
			} else {
				l.tools = slices.Clone(l.tools)
				l.tools[at] = t
			}
			l.elect(t.id)
		}
		if sessionID != "" {
			if t.sessions == nil {
				t.sessions = make(map[string]bool)
			}
			t.sessions[sessionID] = true
		}
		taken = append(taken, t)
	}
	return taken, gone, rejected
}

// removeTools removes tools and returns the ids that are gone with them. What runs
// may still answer; what waits fails.
func (l *lease) removeTools(which func(*clientTool) bool) (gone []string) {
	var out, keep []*clientTool
	for _, t := range l.tools {
		if which(t) {
			out = append(out, t)
		} else {
			keep = append(keep, t)
		}
	}
	l.tools = keep
	for _, t := range out {
		if l.elect(t.id); l.hub.tools[t.id] == nil && !slices.Contains(gone, t.visibleID()) {
			gone = append(gone, t.visibleID())
		}
	}
	return gone
}

func everyTool(*clientTool) bool { return true }

// elect makes the newest version that the client has of a tool the one on offer.
func (l *lease) elect(id string) {
	var newest *clientTool
	for _, t := range l.tools {
		if t.id == id && (newest == nil || compareVersions(t.def.Version, newest.def.Version) >= 0) {
			newest = t
		}
	}
	if newest == nil {
		delete(l.hub.tools, id)
		return
	}
	l.hub.tools[id] = newest
}

// offered returns the tools of the client as the host sees them: of every name the
// newest version.
func (l *lease) offered() []*clientTool {
	out := make([]*clientTool, 0, len(l.tools))
	for _, t := range l.tools {
		if l.hub.tools[t.id] == t {
			out = append(out, t)
		}
	}
	return out
}

// named reports whether one of names means t: its own name, unless another tool
// has that, or an id of it.
func (l *lease) named(t *clientTool, names []string) bool {
	for _, n := range names {
		if n == t.def.ID {
			return true
		}
		if n != t.id && n != plainID(l.clientID, t.def.ID) {
			continue
		}
		if !slices.ContainsFunc(l.tools, func(o *clientTool) bool { return o.def.ID == n }) {
			return true
		}
	}
	return false
}

// dropStale fails the calls that wait for a definition that is gone or was
// changed: what was approved is not what would run.
func (l *lease) dropStale() {
	h := l.hub
	for _, c := range l.sortedCalls() {
		if c.state != callQueued || c.tool.current() != nil {
			continue
		}
		code := CodeToolChanged
		if h.tools[c.tool.id] == nil {
			code = CodeUnknownTool
		}
		h.settle(c, nil, c.fail(code, nil), VerdictCancelled)
	}
}

// register handles a register message of an authenticated peer. trusted skips
// authorization and rates: the host itself.
func (h *Hub) register(ctx context.Context, p Peer, clientID, sessionID string, defs []ToolDefinition, replace, trusted bool) (*Message, error) {
	if err := CheckClientID(clientID); err != nil {
		return nil, &RefusedError{Code: CodeInvalidRequest, Err: err}
	}
	if p.ClientID != "" && p.ClientID != clientID {
		return nil, refused(CodeUnauthorized, "that is another client's id")
	}
	if !trusted {
		if err := h.authorize(ctx, p, OpRegister, Target{ClientID: clientID, SessionID: sessionID}); err != nil {
			return nil, err
		}
	}
	known := h.known(clientID)
	ts, rejected := h.compile(clientID, defs, known)
	changed := replace && len(ts) != len(known)
	for _, t := range ts {
		changed = changed || known[t.def.key()] != t
	}
	if changed && !trusted {
		if ok, wait := reserve(h.registerLimiter(p, clientID)); !ok {
			h.count("rate_limited")
			return nil, &RefusedError{Code: CodeRateLimited, RetryAfter: wait, Err: errors.New("too many registrations")}
		}
	}
	limiter := h.callLimiter(p, clientID)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.draining {
		return nil, refused(CodeShutdown, "the host is shutting down")
	}
	l := h.leases[clientID]
	switch {
	case l == nil:
		var err error
		if l, err = h.newLease(p, clientID); err != nil {
			return nil, err
		}
		l.limiter = limiter
		l.unclaimed = trusted
		l.arm(h.opt.CreateGrace, CodeGone)
	case !trusted && !l.claim(p):
		h.emit(Event{Type: EventRejected, ClientID: clientID, Code: CodeConflict})
		h.count("foreign")
		return nil, refused(CodeConflict, "the client id is taken")
	case l.leaving:
		l.leaving = false
		l.arm(h.opt.CreateGrace, CodeGone)
	}
	l.seen = time.Now()
	taken, gone, more := l.install(ts, sessionID, replace)
	l.dropStale()
	return l.announce(taken, gone, append(rejected, more...)), nil
}

// announce emits what changed and makes the reply for the client.
func (l *lease) announce(taken []*clientTool, gone []string, rejected []ToolRejection) *Message {
	m := &Message{Type: TypeRegistered, ClientID: l.clientID, ToolIDs: []string{}, Rejected: rejected}
	for _, t := range taken {
		id := t.visibleID()
		if !slices.Contains(m.ToolIDs, id) {
			m.ToolIDs = append(m.ToolIDs, id)
		}
		if m.Names == nil {
			m.Names = make(map[string]string, len(taken))
		}
		m.Names[id] = t.def.ID
	}
	if len(gone) > 0 {
		l.hub.emit(Event{Type: EventUnregistered, ClientID: l.clientID, ToolIDs: gone})
	}
	if len(taken) > 0 {
		l.hub.emit(Event{Type: EventRegistered, ClientID: l.clientID, ToolIDs: slices.Clone(m.ToolIDs)})
	}
	return m
}

// unregister removes tools: all if ids is nil, none if it is empty. An unknown
// client or id removes nothing, and that is not an error.
func (h *Hub) unregister(who owner, clientID string, ids []string) []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	l := h.leases[clientID]
	if l == nil || !who.owns(l.principal, l.clientID) {
		return []string{}
	}
	gone := l.removeTools(func(t *clientTool) bool { return ids == nil || l.named(t, ids) })
	l.dropStale()
	if len(gone) == 0 {
		return []string{}
	}
	h.emit(Event{Type: EventUnregistered, ClientID: clientID, ToolIDs: gone})
	return gone
}

// callLimiter returns the limiter for a new lease; an existing one keeps its own.
func (h *Hub) callLimiter(p Peer, clientID string) Limiter {
	h.mu.Lock()
	exists := h.leases[clientID] != nil
	h.mu.Unlock()
	if exists {
		return nil
	}
	if h.opt.Rate != nil {
		return h.hostLimiter(p, OpExecute)
	}
	if n := h.opt.Limits.CallsPerMinute; n > 0 {
		return &window{n: n, span: time.Minute}
	}
	return nil
}

func (h *Hub) hostLimiter(p Peer, op Op) (l Limiter) {
	contain(func() { l = h.opt.Rate(p, op) })
	return l
}

// registerLimiter returns the limiter for registrations: of the principal, or of
// the client if it is anonymous.
func (h *Hub) registerLimiter(p Peer, clientID string) Limiter {
	h.mu.Lock()
	l := h.leases[clientID]
	pr := h.principalOf(p)
	pr.last = time.Now()
	slot := &pr.registers
	if p.Principal == "" {
		if l == nil {
			h.mu.Unlock()
			return nil
		}
		slot = &l.registers
	}
	have := *slot
	h.mu.Unlock()
	if have != nil {
		return have
	}
	var fresh Limiter
	if h.opt.Rate != nil {
		fresh = h.hostLimiter(p, OpRegister)
	} else if n := h.opt.Limits.RegistersPerMinute; n > 0 {
		fresh = newBucket(float64(n)/60, min(n, 5))
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if *slot == nil {
		*slot = fresh
	}
	return *slot
}
