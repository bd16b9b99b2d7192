package permission

import (
	"context"
	"testing"

	"github.com/agenttool/tool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestSubagentRights: a subagent may do what it may and those above it may.
func TestSubagentRights(t *testing.T) {
	rules := map[string]Ruleset{
		"main": {{"edit", "*", Deny}, {"edit", "docs/*", Allow}, {"bash", "*", Ask}, {"read", "*", Allow}},
		"sub":  {{"*", "*", Allow}, {"read", "b*", Ask}},
		"deep": {{"*", "*", Allow}},
	}
	main := &tool.Agent{Name: "main", SessionID: "s"}
	sub := &tool.Agent{Name: "sub", SessionID: "s1", Parent: main}
	deep := &tool.Agent{Name: "deep", SessionID: "s2", Parent: sub}
	prompts := 0
	g := &Gate{
		RulesFor: func(_ context.Context, call *tool.Call) []Ruleset { return []Ruleset{rules[call.Agent.Name]} },
		Prompt: func(context.Context, Prompt) (Answer, error) {
			prompts++
			return Answer{Reply: Always}, nil
		},
	}
	for _, c := range []struct {
		agent               *tool.Agent
		permission, pattern string
		denied              string
		prompts             int
	}{
		{sub, "edit", "docs/a.md", "", 0},
		{sub, "edit", "main.go", "of its caller", 0},
		{deep, "edit", "main.go", "of its caller", 0},
		{deep, "read", "a", "", 0},
		{deep, "read", "b", "", 1},
		{deep, "read", "b", "", 1}, // granted in this session
		{sub, "bash", "ls", "", 2},
		{sub, "bash", "ls", "", 2},
		{deep, "bash", "ls", "", 2}, // what was granted above holds below
		{main, "bash", "ls", "", 3}, // but not the other way
	} {
		call := &tool.Call{SessionID: c.agent.SessionID, Agent: c.agent}
		err := g.Approve(t.Context(), call, &tool.Request{ID: "r", SessionID: call.SessionID, Permission: c.permission, Patterns: []string{c.pattern}, Always: []string{c.pattern}})
		if c.denied != "" {
			require.ErrorIs(t, err, tool.ErrDenied)
			assert.ErrorContains(t, err, c.denied)
		} else {
			require.NoError(t, err, "%s %s %s", c.agent.Name, c.permission, c.pattern)
		}
		assert.Equal(t, c.prompts, prompts, "%s %s %s", c.agent.Name, c.permission, c.pattern)
	}
	g.SetPlan("s", &Plan{})
	err := g.Approve(t.Context(), &tool.Call{SessionID: "s2", Agent: deep}, &tool.Request{SessionID: "s2", Permission: "edit", Patterns: []string{"docs/a.md"}})
	require.ErrorContains(t, err, "plan mode")

	// A call that says its parent is another one later is still of the first.
	forged := &tool.Agent{Name: "sub", SessionID: "s1", Parent: &tool.Agent{Name: "main", SessionID: "elsewhere"}}
	err = g.Approve(t.Context(), &tool.Call{SessionID: "s1", Agent: forged}, &tool.Request{SessionID: "s1", Permission: "edit", Patterns: []string{"docs/a.md"}})
	require.ErrorContains(t, err, "plan mode")

	g.Forget("s")
	assert.Empty(t, g.sessions, "with a session go those it started")
}
