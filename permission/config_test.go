package permission

import (
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestParseConfig(t *testing.T) {
	tests := []struct {
		in   string
		want Ruleset
	}{
		{`"ask"`, Ruleset{{"*", "*", Ask}}},
		{` {} `, nil},
		{`{"bash":{}}`, nil},
		{`{"bash":"allow","*":"deny"}`, Ruleset{{"bash", "*", Allow}, {"*", "*", Deny}}},
		{"{\"z\":\"ask\",\n\"bash\":{\"z*\":\"deny\",\"a*\":\"allow\",\"1\":\"ask\"},\"a\":\"allow\"}",
			Ruleset{{"z", "*", Ask}, {"bash", "z*", Deny}, {"bash", "a*", Allow}, {"bash", "1", Ask}, {"a", "*", Allow}}},
		{`{"read":{"~":"ask","~/x":"ask","$HOME":"ask","$HOME/y":"ask","$HOMEfoo":"ask","~foo":"ask","a~/b":"ask","x/$HOME":"ask"}}`,
			Ruleset{{"read", "/home/me", Ask}, {"read", "/home/me/x", Ask}, {"read", "/home/me", Ask}, {"read", "/home/me/y", Ask},
				{"read", "$HOMEfoo", Ask}, {"read", "~foo", Ask}, {"read", "a~/b", Ask}, {"read", "x/$HOME", Ask}}},
		{`{"~/x":"ask"}`, Ruleset{{"~/x", "*", Ask}}},
		{`{"client_tools":"ask"}`, Ruleset{{"client_tool", "*", Ask}}},
	}
	for _, tt := range tests {
		got, err := Parser{Home: "/home/me"}.Parse([]byte(tt.in))
		require.NoError(t, err, tt.in)
		assert.Equal(t, tt.want, got, tt.in)
	}
	got, err := Parser{Home: "/"}.Parse([]byte(`{"read":{"~/x":"ask"}}`))
	require.NoError(t, err)
	assert.Equal(t, "/x", got[0].Pattern)
}

func TestParseConfigHome(t *testing.T) {
	home, err := os.UserHomeDir()
	if err != nil {
		t.Skip(err)
	}
	got, err := ParseConfig([]byte(`{"read":{"~/x":"ask"}}`))
	require.NoError(t, err)
	assert.Equal(t, strings.TrimRight(home, "/")+"/x", got[0].Pattern)

	t.Setenv("HOME", "")
	t.Setenv("home", "")
	t.Setenv("USERPROFILE", "")
	_, err = ParseConfig([]byte(`{"read":{"~/x":"deny"}}`))
	require.ErrorIs(t, err, ErrConfig, "a rule that cannot match is not dropped in silence")
	_, err = ParseConfig([]byte(`{"read":{"/x":"deny"}}`))
	require.NoError(t, err, "home is only needed where it is named")
	_, err = Parser{Home: "/ho*me"}.Parse([]byte(`{"read":{"~/x":"allow"}}`))
	require.ErrorIs(t, err, ErrConfig)
}

func TestParseConfigErrors(t *testing.T) {
	tests := []struct {
		in           string
		line, column int
		msg          string
	}{
		{``, 1, 1, "unexpected end"},
		{`null`, 1, 1, "want an object"},
		{`true`, 1, 1, "want an object"},
		{`[]`, 1, 1, "want an object"},
		{`"alow"`, 1, 1, `unknown action "alow"`},
		{`"Allow"`, 1, 1, "unknown action"},
		{`{"bash":"yes"}`, 1, 9, `unknown action "yes"`},
		{`{"bash":null}`, 1, 9, `permission "bash": want`},
		{`{"bash":true}`, 1, 9, `permission "bash": want`},
		{`{"bash":["ls"]}`, 1, 9, `permission "bash": want`},
		{"{\n \"bash\": {\n  \"ls\": 1}}", 3, 9, `permission "bash", pattern "ls": want`},
		{`{"bash":{"ls":{}}}`, 1, 15, "want an action"},
		{"{\n  \"bash\": \"ask\",\n  \"bash\": \"deny\"\n}", 3, 3, `the permission "bash" appears twice`},
		{`{"bash":{"ls":"ask", "ls":"deny"}}`, 1, 22, `the pattern "ls" appears twice`},
		{`{"ba\u0073h":"ask","bash":"deny"}`, 1, 20, "appears twice"},
		{`{"bash":"ask"} x`, 1, 16, "after top-level value"},
		{`{"bash":"ask"}{}`, 1, 15, "after top-level value"},
		{`{"bash":"ask",}`, 1, 15, "invalid character"},
		{`{"bash":"ask"`, 1, 13, "unexpected end"},
		{"{\"bash\":\"\xff\"}", 1, 10, "not valid UTF-8"},
		{`{"bash":{"\ud800":"deny"}}`, 1, 10, "surrogate"},
		{`{"":"deny"}`, 1, 2, "empty permission"},
		{`{"bash":{"` + strings.Repeat("x", 4097) + `":"deny"}}`, 1, 10, "longer than 4096"},
	}
	for _, tt := range tests {
		rs, err := ParseConfig([]byte(tt.in))
		require.ErrorIs(t, err, ErrConfig, tt.in)
		assert.Nil(t, rs, tt.in)
		var c *ConfigError
		require.True(t, errors.As(err, &c))
		assert.Contains(t, c.Msg, tt.msg, tt.in)
		assert.Equal(t, [2]int{tt.line, tt.column}, [2]int{c.Line, c.Column}, "%s: %v", tt.in, err)
	}
}

func FuzzParseConfig(f *testing.F) {
	for _, s := range []string{`"ask"`, `{}`, `{"a":"allow","b":{"*":"deny","~/x":"ask"}}`, `{"a":"allow","a":"deny"}`, `{"a":{"b":[]}}`,
		`{"a":"ask"}x`, `nul`, `{"a":{"\ud800":"ask"}}`, "\xef\xbb\xbf{}", `{"a" "ask"}`, `{"$HOME":{"$HOME":"ask"}}`, `{"a":{"a":{}}}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		rs, err := Parser{Home: "/h"}.Parse(data)
		if err != nil {
			require.ErrorIs(t, err, ErrConfig)
			require.Nil(t, rs)
			var c *ConfigError
			require.True(t, errors.As(err, &c))
			require.Positive(t, c.Line)
			require.Positive(t, c.Column)
			return
		}
		require.True(t, json.Valid(data))
		for _, r := range rs {
			require.True(t, r.Action.Valid())
			require.NotEmpty(t, r.Permission)
		}
		var v any
		require.NoError(t, json.Unmarshal(data, &v))
		if m, ok := v.(map[string]any); ok {
			n := 0
			for _, e := range m {
				if p, ok := e.(map[string]any); ok {
					n += len(p)
				} else {
					n++
				}
			}
			require.Len(t, rs, n, "one rule per entry")
		}
	})
}
