package permission

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/agenttool/tool"
)

// session is what the gate remembers about one session.
type session struct {
	parent   string // the session that started it, as far as a call told
	grants   []Approval
	plan     *Plan
	rejected map[string]int // by digest
	order    []string       // of the digests, oldest first
}

// maxDigests bounds how many rejected requests of a session are remembered.
const maxDigests = 256

// rejections returns how often the request with this digest was rejected. A nil session has none.
func (s *session) rejections(digest string) int {
	if s == nil {
		return 0
	}
	return s.rejected[digest]
}

func (s *session) reject(digest string) {
	if s.rejected == nil {
		s.rejected = make(map[string]int)
	}
	if s.rejected[digest] == 0 {
		if len(s.order) == maxDigests {
			delete(s.rejected, s.order[0])
			s.order = s.order[1:]
		}
		s.order = append(s.order, digest)
	}
	s.rejected[digest]++
}

// forget drops what was counted for digest. A nil session has nothing.
func (s *session) forget(digest string) {
	if s == nil || s.rejected[digest] == 0 {
		return
	}
	delete(s.rejected, digest)
	s.order = slices.DeleteFunc(s.order, func(d string) bool { return d == digest })
}

// session returns what is remembered about a session. It is called with g.mu held.
func (g *Gate) session(id string) *session {
	if g.sessions == nil {
		g.sessions = make(map[string]*session)
	}
	s := g.sessions[id]
	if s == nil {
		s = &session{}
		g.sessions[id] = s
	}
	return s
}

// lineage returns the session and those above it, nearest first.
func (g *Gate) lineage(id string) []string {
	line := []string{id}
	parent := g.Parent
	if parent == nil {
		parent = g.learned
	}
	for range maxParents {
		if id = parent(id); id == "" || slices.Contains(line, id) {
			break
		}
		line = append(line, id)
	}
	return line
}

// learned returns the session that started a session, as far as a call told.
func (g *Gate) learned(id string) string {
	g.mu.Lock()
	defer g.mu.Unlock()
	if s := g.sessions[id]; s != nil {
		return s.parent
	}
	return ""
}

// learn remembers which sessions started the call's. What was learned once stays.
func (g *Gate) learn(call *tool.Call) {
	if call == nil || call.Agent == nil || call.Agent.Parent == nil || g.Parent != nil {
		return
	}
	id := call.SessionID
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, a := range call.Agent.Parent.Lineage() {
		if a.SessionID == "" || a.SessionID == id {
			continue
		}
		if s := g.session(id); s.parent == "" {
			s.parent = a.SessionID
		}
		id = a.SessionID
	}
}

// above returns the strictest decision that the rules of the agents above the
// call's come to, and why; "" if there are none.
func (g *Gate) above(ctx context.Context, call *tool.Call, req *tool.Request) (worst Action, why string) {
	if call == nil || call.Agent == nil || g.RulesFor == nil {
		return "", ""
	}
	for _, a := range call.Agent.Lineage()[1:] {
		c := *call
		c.Agent = a
		if a.SessionID != "" {
			c.SessionID = a.SessionID
		}
		v := verdict(req, append([]Ruleset{g.Rules}, g.RulesFor(ctx, &c)...))
		if worst == "" || stricter(v.Decision, worst) != worst {
			worst, why = v.Decision, whyDenied(v)
		}
	}
	return worst, why
}

// plans returns the plans that hold for a session with this lineage.
func (g *Gate) plans(line []string) []*Plan {
	g.mu.Lock()
	defer g.mu.Unlock()
	var out []*Plan
	for _, id := range line {
		if s := g.sessions[id]; s != nil && s.plan != nil {
			out = append(out, s.plan)
		}
	}
	return out
}

// SetPlan puts a session, and those it started ([Gate.Parent]), into plan mode, or
// with nil ends it. Setting it again replaces it. Open questions about what the
// plan denies are denied. The plan lasts until it is ended; see [Gate.Snapshot] for resuming.
func (g *Gate) SetPlan(sessionID string, p *Plan) {
	g.mu.Lock()
	g.session(sessionID).plan = p.clone()
	g.version++
	open := slices.Clone(g.order)
	g.mu.Unlock()
	if p == nil {
		return
	}
	for _, q := range open {
		var a Action
		var why string
		err := guard(func() error {
			a, why = judgePlans(g.plans(g.lineage(q.session)), q.req)
			return nil
		})
		if err != nil {
			g.withdraw(q, outcome{by: ByFailure, reason: checkFailed, err: err})
		} else if a == Deny {
			g.withdraw(q, outcome{by: ByPlan, reason: why})
		}
	}
}

// Plan returns a copy of the plan that was set for exactly this session, or nil.
func (g *Gate) Plan(sessionID string) *Plan {
	g.mu.Lock()
	defer g.mu.Unlock()
	if s := g.sessions[sessionID]; s != nil {
		return s.plan.clone()
	}
	return nil
}

// store returns where approvals beyond a session are kept.
func (g *Gate) store() Store {
	if g.Store != nil {
		return g.Store
	}
	return &g.memory
}

// stored returns the kept approvals that hold here, whatever else the store has.
func (g *Gate) stored(ctx context.Context) (list []Approval, err error) {
	perr := guard(func() error { list, err = g.store().List(ctx); return nil })
	if perr != nil {
		err = perr
	}
	if err != nil {
		g.log().Error("approvals cannot be read", "error", err)
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(list), func(a Approval) bool {
		return a.check() != nil || a.Scope != ScopeUser && (a.Scope != ScopeProject || g.Project == "" || a.Project != g.Project)
	}), nil
}

// grants returns the approvals that hold for a session with this lineage: its
// own, those of the sessions above it, and stored.
func (g *Gate) grants(line []string, stored []Approval) []Approval {
	g.mu.Lock()
	defer g.mu.Unlock()
	var out []Approval
	for _, id := range line {
		if s := g.sessions[id]; s != nil {
			out = append(out, s.grants...)
		}
	}
	return append(out, stored...)
}

// remember makes approvals of what the question offers, and has the store keep
// them if they are to outlast the session. It returns those that the session is to keep.
func (g *Gate) remember(ctx context.Context, q *question, scope Scope) ([]Approval, error) {
	if scope == "" {
		scope = ScopeSession
	}
	var list []Approval
	for _, pattern := range q.req.Always {
		list = append(list, Approval{
			ID: newApprovalID(), Permission: q.req.Permission, Pattern: pattern,
			Scope: scope, Created: time.Now().UTC(), Origin: clip(q.prompt.Title.Display, 500),
		})
	}
	if scope == ScopeSession || len(list) == 0 {
		return list, nil
	}
	for i := range list {
		if scope == ScopeProject {
			list[i].Project = g.Project
		}
	}
	var err error
	if perr := guard(func() error { err = g.store().Add(ctx, list...); return nil }); perr != nil {
		err = perr
	}
	if err == nil {
		return nil, nil
	}
	for i := range list {
		list[i].Scope, list[i].Project = ScopeSession, ""
	}
	return list, fmt.Errorf("the approval holds for this session only: %w", err)
}

// addGrants adds approvals to a session. It is called with g.mu held.
func (g *Gate) addGrants(id string, list []Approval) error {
	if len(list) == 0 {
		return nil
	}
	for i := range list {
		list[i].SessionID = id
	}
	s := g.session(id)
	merged, err := merge(s.grants, list)
	if err != nil {
		return fmt.Errorf("the approval is not remembered: %w", err)
	}
	s.grants = merged
	return nil
}

// Approvals returns every approval that the gate knows: those of the sessions, in
// no particular order of sessions, then what the store has, also for other projects.
// If the store fails, the rest comes with its error.
func (g *Gate) Approvals(ctx context.Context) ([]Approval, error) {
	var out []Approval
	g.mu.Lock()
	for _, s := range g.sessions {
		out = append(out, s.grants...)
	}
	g.mu.Unlock()
	slices.SortFunc(out, func(a, b Approval) int { return a.Created.Compare(b.Created) })
	stored, err := g.store().List(ctx)
	return append(out, stored...), err
}

// Revoke removes the approval with this id, wherever it is kept, and reports
// whether there was one. What it allowed before is not undone.
func (g *Gate) Revoke(ctx context.Context, id string) (bool, error) {
	g.mu.Lock()
	for _, s := range g.sessions {
		if list, ok := without(s.grants, id); ok {
			s.grants = list
			g.mu.Unlock()
			return true, nil
		}
	}
	g.mu.Unlock()
	return g.store().Remove(ctx, id)
}

// Forget drops everything about a session that is over: its approvals, its plan,
// what was rejected, and the same of the sessions that calls said it started. What
// they still ask is denied.
func (g *Gate) Forget(sessionID string) {
	g.mu.Lock()
	gone := []string{sessionID}
	for i := 0; i < len(gone); i++ {
		for id, s := range g.sessions {
			if s.parent == gone[i] && !slices.Contains(gone, id) {
				gone = append(gone, id)
			}
		}
	}
	for _, id := range gone {
		delete(g.sessions, id)
	}
	var open []*question
	for _, q := range g.order {
		if slices.Contains(gone, q.session) {
			open = append(open, q)
		}
	}
	g.mu.Unlock()
	for _, q := range open {
		g.withdraw(q, outcome{by: ByNobody, reason: "The session is over"})
	}
}

// SessionState is what a session needs to go on after a restart. It marshals to JSON.
type SessionState struct {
	Approvals []Approval `json:"approvals"` // of session scope
	Plan      *Plan      `json:"plan,omitempty"`
}

// Snapshot returns the state of a session, sharing nothing with the gate. Open questions are not part of
// it: their calls are over after a restart.
func (g *Gate) Snapshot(sessionID string) SessionState {
	g.mu.Lock()
	defer g.mu.Unlock()
	st := SessionState{Approvals: []Approval{}}
	if s := g.sessions[sessionID]; s != nil {
		st.Approvals = append(st.Approvals, s.grants...)
		st.Plan = s.plan.clone()
	}
	return st
}

// Restore replaces the approvals and the plan of a session by those of a
// snapshot, which may be another session's, as when one is forked. It must come
// from where no model can write. An approval that is not valid or not of session
// scope is an error, and then nothing is changed.
func (g *Gate) Restore(sessionID string, st SessionState) error {
	list := slices.Clone(st.Approvals)
	for i := range list {
		if list[i].Scope != ScopeSession {
			return fmt.Errorf("restoring session: approval %s has the scope %q", clip(list[i].ID, 80), clip(string(list[i].Scope), 40))
		}
		list[i].SessionID = sessionID
	}
	grants, err := merge(nil, list)
	if err != nil {
		return fmt.Errorf("restoring session: %w", err)
	}
	g.mu.Lock()
	g.session(sessionID).grants = grants
	g.mu.Unlock()
	g.SetPlan(sessionID, st.Plan)
	return nil
}
