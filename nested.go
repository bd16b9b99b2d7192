package tool

import (
	"context"
	"fmt"
	"slices"
)

// Nested says how calls within a call report, see [Call.Start]. The zero value and nil report nothing.
type Nested struct {
	// Observe, if not nil, is told of the calls' events, after the Executor's own
	// observer and as that one: in order, one at a time, without any lock held.
	Observe func(Event)

	// Pause, if not nil, is called when one of the calls, or of those that they
	// make, begins to wait for a person, and what it returns when the wait is over.
	Pause func() (resume func())
}

// Start begins a turn within the call, of an agent that the tool runs. Its calls
// go through the same executor, with the same middleware, approver, observer and
// limits. One that ends its turn with [ErrAbort] ends that turn and not the one
// the call is in. The calls have the session and agent that the tool gives them,
// and Parent set to this call's ID. set says what they can be, usually made by
// [Set.For]; nil is nothing. ctx should be that of the call, or derived from it,
// as the calls are cancelled with it. [Batch.Wait] must be called in the end.
//
// The error says that the call stands on no [Executor], is over, or is nested too deep.
func (c *Call) Start(ctx context.Context, set *Set, opt *Nested) (*Batch, error) {
	if c.rt == nil {
		return nil, c.unbound()
	}
	return c.rt.nest(ctx, c, set, opt)
}

func (c *Call) unbound() error {
	return fmt.Errorf("tool %s cannot run an agent: the call is not bound to an executor", c.Tool)
}

// Offered returns the set that the call is from, nil if it stands on no [Executor].
func (c *Call) Offered() *Set {
	if c.rt == nil {
		return nil
	}
	return c.rt.offered()
}

func (b *boundRuntime) nest(ctx context.Context, c *Call, set *Set, opt *Nested) (*Batch, error) {
	if b.under == nil {
		return nil, c.unbound()
	}
	return b.under.nest(ctx, c, set, opt)
}

func (b *boundRuntime) offered() *Set {
	if b.under == nil {
		return nil
	}
	return b.under.offered()
}

func (r *running) offered() *Set { return r.b.set }

func (r *running) nest(ctx context.Context, c *Call, set *Set, opt *Nested) (*Batch, error) {
	switch {
	case r.depth >= maxDepth:
		return nil, fmt.Errorf("tool calls are nested more than %d deep", maxDepth)
	case r.over():
		return nil, fmt.Errorf("call %s of tool %s is over", c.ID, c.Tool)
	}
	b := r.b.ex.start(ctx, set, 0)
	b.owner = r
	if opt != nil {
		b.nested = *opt
	}
	return b, nil
}

// maxLineage bounds how many agents above one another are looked at.
const maxLineage = 64

// Lineage returns the agent and those above it, the nearest first: what following
// Parent leads to. A nil Agent has none.
func (a *Agent) Lineage() []*Agent {
	var line []*Agent
	for ; a != nil && len(line) < maxLineage && !slices.Contains(line, a); a = a.Parent {
		line = append(line, a)
	}
	return line
}

// For returns what another agent, which may be nil, is offered of the tools of
// s: their specs are made anew for it, and keep is asked, so that nothing is in it
// that is not in s. The Set is never nil; errors are as for [Registry.Resolve].
// A nil Set gives an empty one.
func (s *Set) For(ctx context.Context, agent *Agent, keep ...Filter) (*Set, error) {
	st := &registryState{tools: make(map[string]Tool)}
	for spec := range s.Specs() {
		st.tools[spec.Name] = s.byName[spec.Name].tool
		st.order = append(st.order, spec.Name)
	}
	var r Registry
	r.state.Store(st)
	return r.Resolve(ctx, agent, keep...)
}
