package permission

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/agenttool/tool"
)

func edit(paths ...string) tool.Request {
	return tool.Request{Permission: "edit", Patterns: paths}
}

func reading(r tool.Request) tool.Request {
	r.Metadata = map[string]any{ReadOnlyKey: true}
	return r
}

func TestPlan(t *testing.T) {
	g := &Gate{Rules: parse(t, `{"*":"allow","bash":{"rm *":"deny"},"webfetch":"ask"}`), Parent: func(s string) string {
		return map[string]string{"child": "s", "grandchild": "child", "loop": "loop2", "loop2": "loop"}[s]
	}}
	g.SetPlan("s", &Plan{Files: []string{"plans/*.md"}})
	for _, session := range []string{"s", "child", "grandchild"} {
		for _, r := range []tool.Request{edit("a.go"), edit("plans/x.md", "a.go"), edit(), bash("make"), reading(edit("a.go")),
			{Permission: "bash", Patterns: []string{"ls"}, Metadata: map[string]any{ReadOnlyKey: "true"}}, reading(bash("rm x")),
			{Permission: "write", Patterns: []string{"a.go"}}} {
			assert.Contains(t, deniedBy(t, askIn(t.Context(), g, session, r)).Error(), "Permission denied", "%v", r)
		}
		assert.Contains(t, deniedBy(t, askIn(t.Context(), g, session, edit("a.go"))).Reason, "plan mode")
		for _, r := range []tool.Request{edit("plans/x.md"), reading(bash("ls")), {Permission: "read", Patterns: []string{"a.go"}}} {
			assert.NoError(t, askIn(t.Context(), g, session, r), "%v", r)
		}
	}
	require.NoError(t, askIn(t.Context(), g, "other", edit("a.go")))
	require.NoError(t, askIn(t.Context(), g, "loop", edit("a.go")), "a parent that goes in circles")

	g.SetPlan("child", &Plan{Files: []string{"*"}})
	deniedBy(t, askIn(t.Context(), g, "child", edit("a.go")))
	require.NoError(t, askIn(t.Context(), g, "child", edit("plans/x.md")))
	g.SetPlan("s", nil)
	require.NoError(t, askIn(t.Context(), g, "s", edit("a.go")))
	assert.Nil(t, g.Plan("s"))
	assert.NotNil(t, g.Plan("child"))
}

func TestPlanAndRules(t *testing.T) {
	prompts := 0
	g := &Gate{
		Rules:  parse(t, `{"edit":{"*":"ask","secret.md":"deny"},"bash":"ask"}`),
		Prompt: func(context.Context, Prompt) (Answer, error) { prompts++; return Answer{Reply: Once}, nil },
	}
	g.SetPlan("s", &Plan{Files: []string{"*.md"}, Rules: parse(t, `{"task":{"*":"deny"},"bash":"allow","read":"ask"}`)})
	require.NoError(t, askIn(t.Context(), g, "s", edit("plan.md")), "the plan's file needs no question")
	assert.Zero(t, prompts)
	deniedBy(t, askIn(t.Context(), g, "s", edit("secret.md")))
	deniedBy(t, askIn(t.Context(), g, "s", tool.Request{Permission: "task", Patterns: []string{"general"}}))
	protected := edit("x.md")
	protected.Protected = true
	require.NoError(t, askIn(t.Context(), g, "s", protected))
	assert.Equal(t, 1, prompts, "what is protected is asked")
	require.NoError(t, askIn(t.Context(), g, "s", reading(bash("ls"))))
	assert.Equal(t, 2, prompts, "rules that ask still do, unless the plan is quiet")
	g.SetPlan("s", &Plan{Quiet: true})
	require.NoError(t, askIn(t.Context(), g, "s", reading(bash("ls"))))
	assert.Equal(t, 2, prompts)
	deniedBy(t, askIn(t.Context(), g, "s", bash("make")))
	g.SetPlan("s", &Plan{ReadOnly: []string{}})
	require.NoError(t, askIn(t.Context(), g, "s", bash("make")))
	assert.Equal(t, 3, prompts)
}

func TestPlanEndsWhatItDenies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &Gate{}
		defer g.Subscribe(func(Event) {})()
		a, b := going(t.Context(), g, "s", edit("a.go")), going(t.Context(), g, "s", tool.Request{Permission: "read", Patterns: []string{"a.go"}})
		synctest.Wait()
		g.SetPlan("s", &Plan{})
		assert.Contains(t, deniedBy(t, <-a).Reason, "plan mode")
		synctest.Wait()
		require.Len(t, g.Pending(""), 1)
		reply(t, g, "a.go", Answer{Reply: Once})
		require.NoError(t, <-b)
	})
}

func TestPlanRules(t *testing.T) {
	rs := PlanRules("plan.md")
	assert.Equal(t, Deny, Evaluate("edit", "a.go", Ruleset{{"*", "*", Allow}}, rs).Action)
	assert.Equal(t, Allow, Evaluate("edit", "plan.md", rs).Action)
	assert.Equal(t, Allow, Evaluate("read", "a.go", Ruleset{{"*", "*", Allow}}, rs).Action)
	assert.Equal(t, []string{"edit", "apply_patch"}, Disabled([]string{"read", "edit", "apply_patch"}, PlanRules()))
}

func TestScopes(t *testing.T) {
	scope := ScopeProject
	prompts := 0
	store := &MemoryStore{}
	prompt := func(context.Context, Prompt) (Answer, error) {
		prompts++
		return Answer{Reply: Always, Scope: scope}, nil
	}
	g := &Gate{Prompt: prompt, Store: store, Project: "/p"}
	require.NoError(t, askIn(t.Context(), g, "s", bash("make", "make *")))
	scope = ScopeUser
	require.NoError(t, askIn(t.Context(), g, "s", bash("git log", "git log *")))
	require.NoError(t, askIn(t.Context(), g, "s2", bash("make x")))
	require.NoError(t, askIn(t.Context(), g, "s2", bash("git log")))
	assert.Equal(t, 2, prompts)
	elsewhere := &Gate{Store: store, Project: "/q"}
	deniedBy(t, askIn(t.Context(), elsewhere, "s", bash("make x")))
	require.NoError(t, askIn(t.Context(), elsewhere, "s", bash("git log")))

	list, err := g.Approvals(t.Context())
	require.NoError(t, err)
	require.Len(t, list, 2)
	assert.Equal(t, "/p", list[0].Project)
	ok, err := elsewhere.Revoke(t.Context(), list[1].ID)
	require.NoError(t, err)
	assert.True(t, ok)
	deniedBy(t, askIn(t.Context(), elsewhere, "s", bash("git log")))

	// A store has no say about sessions.
	require.NoError(t, store.Add(t.Context(), Approval{ID: "1", Permission: "bash", Pattern: "*", Scope: ScopeSession, SessionID: "s"}))
	deniedBy(t, askIn(t.Context(), elsewhere, "s", bash("ls")))

	// The gate's own store.
	g = &Gate{Prompt: prompt}
	require.NoError(t, askIn(t.Context(), g, "s", bash("make", "make *")))
	g = &Gate{Prompt: prompt, Rules: nil}
	n := prompts
	require.NoError(t, askIn(t.Context(), g, "s", bash("make", "make *")))
	require.NoError(t, askIn(t.Context(), g, "s2", bash("make", "make *")))
	assert.Equal(t, n+1, prompts)
}

func TestStoreThatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &Gate{Store: badStore{}}
		defer g.Subscribe(func(Event) {})()
		c := going(t.Context(), g, "s", bash("make", "make *"))
		synctest.Wait()
		p := g.Pending("s")[0]
		assert.Contains(t, fmt.Sprint(p.Reasons), "could not be read")
		err := g.Reply(t.Context(), p.Request.ID, Answer{Reply: Always, Scope: ScopeUser})
		require.ErrorContains(t, err, "disk full")
		require.NoError(t, <-c, "it was allowed")
		require.NoError(t, askIn(t.Context(), g, "s", bash("make x")), "and holds for the session")
		list := g.Snapshot("s").Approvals
		require.Len(t, list, 1)
		assert.Equal(t, ScopeSession, list[0].Scope)
	})
}

func TestTooLongToRemember(t *testing.T) {
	g := &Gate{}
	long := string(make([]byte, maxPattern+1))
	synctest.Test(t, func(t *testing.T) {
		defer g.Subscribe(func(Event) {})()
		c := going(t.Context(), g, "s", bash("make", long))
		synctest.Wait()
		require.ErrorContains(t, g.Reply(t.Context(), pendingID(t, g, "make"), Answer{Reply: Always}), "not remembered")
		require.NoError(t, <-c)
		assert.Empty(t, g.Snapshot("s").Approvals)
	})
}

func TestSnapshot(t *testing.T) {
	g := &Gate{Prompt: func(context.Context, Prompt) (Answer, error) { return Answer{Reply: Always}, nil }}
	require.NoError(t, askIn(t.Context(), g, "s", bash("make", "make *")))
	g.SetPlan("s", &Plan{Files: []string{"p.md"}, Rules: Ruleset{{"task", "*", Deny}}})
	b, err := json.Marshal(g.Snapshot("s"))
	require.NoError(t, err)

	var st SessionState
	require.NoError(t, json.Unmarshal(b, &st))
	h := &Gate{}
	require.NoError(t, h.Restore("resumed", st))
	deniedBy(t, askIn(t.Context(), h, "resumed", edit("a.go")))
	require.NoError(t, askIn(t.Context(), h, "resumed", edit("p.md")))
	h.SetPlan("resumed", nil)
	require.NoError(t, askIn(t.Context(), h, "resumed", bash("make x")))
	deniedBy(t, askIn(t.Context(), h, "s", bash("make x")))
	assert.Equal(t, "resumed", h.Snapshot("resumed").Approvals[0].SessionID)

	h.Forget("resumed")
	deniedBy(t, askIn(t.Context(), h, "resumed", bash("make x")))
	assert.Equal(t, SessionState{Approvals: []Approval{}}, h.Snapshot("resumed"))

	st.Approvals[0].Scope = ScopeUser
	require.Error(t, h.Restore("s", st))
	st.Approvals[0].Scope, st.Approvals[0].ID = ScopeSession, ""
	require.Error(t, h.Restore("s", st))
	assert.Empty(t, h.Snapshot("s").Approvals)
}

func TestMemoryStore(t *testing.T) {
	testStore(t, &MemoryStore{})
}

// testStore checks what any Store promises.
func testStore(t *testing.T, s Store) {
	ctx := t.Context()
	list, err := s.List(ctx)
	require.NoError(t, err)
	require.Empty(t, list)
	one := Approval{ID: "1", Permission: "bash", Pattern: "make *", Scope: ScopeUser, Origin: "o"}
	two := Approval{ID: "2", Permission: "bash", Pattern: "make *", Scope: ScopeProject, Project: "/p"}
	require.NoError(t, s.Add(ctx, one, two))
	list, err = s.List(ctx)
	require.NoError(t, err)
	require.Equal(t, []Approval{one, two}, list)

	again := one
	again.ID = "3"
	require.NoError(t, s.Add(ctx, again))
	list, err = s.List(ctx)
	require.NoError(t, err)
	require.Equal(t, []Approval{two, again}, list, "the same grant is there once")

	for _, bad := range []Approval{{}, {ID: "4"}, {ID: "4", Permission: "x", Scope: "world"}, {ID: "4", Permission: "x", Scope: ScopeProject}} {
		require.Error(t, s.Add(ctx, Approval{ID: "5", Permission: "ok", Scope: ScopeUser}, bad))
	}
	list, err = s.List(ctx)
	require.NoError(t, err)
	require.Len(t, list, 2, "all or none")

	ok, err := s.Remove(ctx, "2")
	require.NoError(t, err)
	require.True(t, ok)
	ok, err = s.Remove(ctx, "2")
	require.NoError(t, err)
	require.False(t, ok)

	many := make([]Approval, maxApprovals)
	for i := range many {
		many[i] = Approval{ID: fmt.Sprint("m", i), Permission: "p", Pattern: fmt.Sprint(i), Scope: ScopeUser}
	}
	require.Error(t, s.Add(ctx, many...))
	list, err = s.List(ctx)
	require.NoError(t, err)
	require.Len(t, list, 1)
}

func TestRejectionsAreBounded(t *testing.T) {
	s := &session{}
	for i := range 2 * maxDigests {
		s.reject(fmt.Sprint(i))
		s.reject("last")
	}
	assert.Len(t, s.rejected, maxDigests)
	assert.Len(t, s.order, maxDigests)
	var ids settledIDs
	for i := range 3 * maxSettled {
		ids.add(fmt.Sprint(i))
	}
	assert.Len(t, ids.known, maxSettled)
	assert.True(t, ids.has(fmt.Sprint(3*maxSettled-1)))
	assert.False(t, ids.has("0"))
}

func TestPromptMayDenyInItsOwnWords(t *testing.T) {
	g := &Gate{Prompt: func(context.Context, Prompt) (Answer, error) {
		return Answer{}, fmt.Errorf("wrapped: %w", &tool.DeniedError{Reason: "office hours only", EndTurn: true})
	}}
	d := deniedBy(t, askIn(t.Context(), g, "s", bash("make")))
	assert.Equal(t, "office hours only", d.Reason)
	assert.True(t, d.EndTurn)
	assert.True(t, errors.Is(d, tool.ErrDenied))
}
