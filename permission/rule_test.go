package permission

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/agenttool/tool"
)

func parse(t testing.TB, config string) Ruleset {
	t.Helper()
	rs, err := Parser{Home: "/home/me"}.Parse([]byte(config))
	require.NoError(t, err)
	return rs
}

func TestEvaluate(t *testing.T) {
	tests := []struct {
		name                string
		rules               []string // configurations, one after the other
		permission, pattern string
		want                Action
	}{
		{"no rules", nil, "bash", "ls", Ask},
		{"no match", []string{`{"edit":"allow"}`}, "bash", "ls", Ask},
		{"bare string", []string{`"allow"`}, "bash", "ls", Allow},
		{"string per key", []string{`{"bash":"deny"}`}, "bash", "ls", Deny},
		{"last match wins", []string{`{"bash":{"*":"ask","git *":"allow"}}`}, "bash", "git push", Allow},
		{"the tail is optional", []string{`{"bash":{"*":"ask","git *":"allow"}}`}, "bash", "git", Allow},
		{"a later star overrides an exact rule", []string{`{"bash":{"git push":"allow","*":"deny"}}`}, "bash", "git push", Deny},
		{"order of permissions counts", []string{`{"bash":"allow","*":"deny"}`}, "bash", "ls", Deny},
		{"the other order", []string{`{"*":"deny","bash":"allow"}`}, "bash", "ls", Allow},
		{"permission wildcard", []string{`{"*":"ask","mcp_*":"allow"}`}, "mcp_read", "*", Allow},
		{"write is not edit", []string{`{"edit":"deny","write":"allow"}`}, "edit", "a.go", Deny},
		{"concatenation", []string{`"deny"`, `{"edit":"allow"}`}, "edit", "a.go", Allow},
		{"the later set wins", []string{`{"edit":"allow"}`, `"deny"`}, "edit", "a.go", Deny},
		{"env", []string{`{"*":"allow","read":{"*.env":"ask","*.env.*":"ask","*.env.example":"allow"}}`}, "read", "x/.env.local", Ask},
		{"env example", []string{`{"*":"allow","read":{"*.env":"ask","*.env.*":"ask","*.env.example":"allow"}}`}, "read", "x/.env.example", Allow},
		{"home", []string{`{"*":"allow","read":{"~/.ssh/*":"deny"}}`}, "read", "/home/me/.ssh/id", Deny},
		{"permission names are not expanded", []string{`{"~":"allow"}`}, "/home/me", "x", Ask},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var sets []Ruleset
			for _, c := range tt.rules {
				sets = append(sets, parse(t, c))
			}
			assert.Equal(t, tt.want, Evaluate(tt.permission, tt.pattern, sets...).Action)
		})
	}
	assert.Equal(t, Rule{"bash", "*", Ask}, Evaluate("bash", "ls"), "the default")
	assert.Equal(t, Rule{"*", "a*", Allow}, Evaluate("bash", "ab", Ruleset{{"*", "a*", Allow}}), "the rule that decided")
}

func TestActionFailsClosed(t *testing.T) {
	var rs Ruleset
	require.Error(t, json.Unmarshal([]byte(`[{"permission":"*","pattern":"*","action":"alow"}]`), &rs))
	require.NoError(t, json.Unmarshal([]byte(`[{"permission":"*","pattern":"*","action":"allow"}]`), &rs))
	assert.Equal(t, Ruleset{{"*", "*", Allow}}, rs)

	for _, a := range []Action{"", "ALLOW", "alow"} {
		e := Explain([]*tool.Request{{Permission: "bash", Patterns: []string{"ls"}}}, Ruleset{{"*", "*", a}})
		assert.Equal(t, Deny, e.Decision, "%q", a)
		assert.Equal(t, []string{"bash"}, Disabled([]string{"bash"}, Ruleset{{"*", "*", a}}), "%q", a)
	}
}

func TestDisabled(t *testing.T) {
	all := []string{"read", "edit", "write", "multiedit", "apply_patch", "patch", "ls", "list", "bash", "lsp_hover", "client_a_x", "client_a_y"}
	tests := []struct {
		config string
		want   []string
	}{
		{`{}`, nil},
		{`"deny"`, all},
		{`{"edit":"deny"}`, []string{"edit", "write", "multiedit", "apply_patch", "patch"}},
		{`{"write":"deny"}`, nil}, // a rule of that name has no effect
		{`{"list":"deny"}`, []string{"ls", "list"}},
		{`{"lsp":"deny"}`, []string{"lsp_hover"}},
		{`{"edit":{"*":"deny","a.go":"allow"}}`, nil}, // a narrow rule after the deny
		{`{"edit":{"*":"deny","a.go":"deny"}}`, nil},  // of whatever action
		{`{"edit":{"a.go":"allow","*":"deny"}}`, []string{"edit", "write", "multiedit", "apply_patch", "patch"}},
		{`{"bash":{"rm *":"deny"}}`, nil},
		{`{"*":"deny","read":"allow","bash":"ask","edit":"allow","ls":"allow","list":"allow","lsp":"allow","client_tools":"allow","client_*":"allow"}`, nil},
		{`{"client_tools":"deny"}`, []string{"client_a_x", "client_a_y"}},
		{`{"client_tool":{"client_a_x":"deny"}}`, []string{"client_a_x"}},
	}
	for _, tt := range tests {
		assert.Equal(t, tt.want, Disabled(all, parse(t, tt.config)), tt.config)
	}
	keep := Filter(parse(t, `"allow"`), parse(t, `{"edit":"deny"}`))
	assert.False(t, keep(nil, &tool.Spec{Name: "write"}))
	assert.True(t, keep(nil, &tool.Spec{Name: "read"}))
}

func TestExplain(t *testing.T) {
	rules := parse(t, `{"*":"allow","bash":{"*":"ask","git *":"allow","rm *":"deny"}}`)
	e := Explain([]*tool.Request{
		{Permission: "read", Patterns: []string{"a.go"}, Always: []string{"*"}},
		{Permission: "bash", Patterns: []string{"git log", "make", "rm -rf x"}},
	}, rules)
	assert.Equal(t, Deny, e.Decision)
	require.Len(t, e.Asks, 2)
	assert.Equal(t, Allow, e.Asks[0].Decision)
	assert.Equal(t, Deny, e.Asks[1].Decision, "the strictest pattern counts, wherever it stands")
	assert.Equal(t, []Action{Allow, Ask, Deny}, []Action{e.Asks[1].Judged[0].Decision, e.Asks[1].Judged[1].Decision, e.Asks[1].Judged[2].Decision})
	assert.Equal(t, Rule{"bash", "rm *", Deny}, e.Asks[1].Judged[2].Rule)
	assert.Equal(t, []string{
		`bash "make" is asked by the rule bash "*"`,
		`bash "rm -rf x" is denied by the rule bash "rm *"`,
	}, e.Reasons)

	none := Explain(nil, rules)
	b, err := json.Marshal(none)
	require.NoError(t, err)
	assert.JSONEq(t, `{"decision":"allow","asks":[],"reasons":[]}`, string(b), "no requests, nothing to forbid")

	e = Explain([]*tool.Request{{Permission: "x"}})
	assert.Equal(t, Ask, e.Decision, "who names nothing is not allowed for it")
	b, err = json.Marshal(e)
	require.NoError(t, err)
	assert.NotContains(t, string(b), "null")
	assert.Equal(t, Allow, Explain([]*tool.Request{{Permission: "x"}}, Ruleset{{"*", "*", Allow}}).Decision)
	assert.Equal(t, Ask, Explain([]*tool.Request{{Permission: "x"}}, Ruleset{{"x", "a", Allow}}).Decision)
}

func TestProtected(t *testing.T) {
	tests := []struct {
		config string
		want   Action
	}{
		{`"allow"`, Ask},
		{`{"*":"allow","read":"allow"}`, Ask},
		{`{"read":{"**":"allow"}}`, Ask},
		{`{"read":{"*":"allow"}}`, Ask},
		{`{"read":{"?*":"allow"}}`, Ask},
		{`{"read":{"*.env":"allow"}}`, Allow},
		{`{"*":{"x/.env":"allow"}}`, Allow},
		{`{"read":{"*.env":"allow","*":"allow"}}`, Allow}, // a star takes nothing back
		{`{"read":{"*.env":"ask","*":"allow"}}`, Ask},
		{`{"read":{"*.env":"deny","*":"allow"}}`, Ask}, // overridden, but not by a rule that allows this
		{`{"read":{"*.env":"allow","*":"deny"}}`, Deny},
		{`{"read":{"*.env":"allow","*":"ask"}}`, Ask},
		{`"deny"`, Deny},
		{`{}`, Ask},
	}
	for _, tt := range tests {
		e := Explain([]*tool.Request{{Permission: "read", Patterns: []string{"x/.env"}, Protected: true}}, parse(t, tt.config))
		assert.Equal(t, tt.want, e.Decision, tt.config)
	}
}
