package builtin

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/agenttool/tool/permission"
	"github.com/agenttool/tool/tooltest"
)

const ruledTree = `
-- a.txt --
word here
-- hidden/b.txt --
word there
-- hidden/open/c.txt --
word open
-- .env --
KEY=word
-- conf/.env --
KEY=word
-- src/.env.go --
package word
`

// TestSearchesKeepToReadRules: what read would be refused a search does not show,
// and says so; what rules allow by name it does, secrets too.
func TestSearchesKeepToReadRules(t *testing.T) {
	secret, denied := "\n(not searched: 2 files with secrets; name one as path to ask for it)", "that the permissions deny reading)"
	for _, c := range []struct {
		name, rules      string
		grep, glob       []string // what is found
		inGrep, notGrep  string
		countOfGlobNotes int
	}{
		{"allowed", `{"*": "allow"}`, []string{"a.txt", "hidden/b.txt", "hidden/open/c.txt"}, []string{".env", "a.txt", "conf/.env", "hidden/b.txt", "hidden/open/c.txt", "src/.env.go"}, "(not searched: 3 files with secrets", denied, 0},
		{"denied by directory", `{"*": "allow", "read": {"*": "allow", "hidden/*": "deny"}}`, []string{"a.txt"}, []string{".env", "a.txt", "conf/.env", "src/.env.go"}, "(not searched: 2 files " + denied, "b.txt", 1},
		{"with an exception", `{"*": "allow", "read": {"hidden/*": "deny", "hidden/open/*": "allow"}}`, []string{"a.txt", "hidden/open/c.txt"}, nil, "(not searched: 1 file " + denied, "b.txt", 1},
		{"all denied", `{"*": "allow", "read": "deny"}`, nil, []string{}, "(not searched: 6 files " + denied, "word here", 1},
		{"all denied but one", `{"*": "allow", "read": {"*": "deny", "a.txt": "allow"}}`, []string{"a.txt"}, []string{"a.txt"}, "(not searched: 5 files " + denied, secret, 1},
		{"a secret allowed by name", `{"*": "allow", "read": {"conf/.env": "allow"}}`, []string{"a.txt", "conf/.env", "hidden/b.txt", "hidden/open/c.txt"}, nil, secret, denied, 0},
		{"a secret denied", `{"*": "allow", "read": {"*.env": "deny"}}`, []string{"a.txt", "hidden/b.txt", "hidden/open/c.txt"}, []string{"a.txt", "hidden/b.txt", "hidden/open/c.txt", "src/.env.go"}, "(not searched: 2 files " + denied, "KEY", 1},
		{"asked", `{"*": "allow", "read": "ask"}`, []string{"a.txt", "hidden/b.txt", "hidden/open/c.txt"}, nil, "3 files with secrets", denied, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, ruledTree, Config{})
			rules, err := permission.ParseConfig([]byte(c.rules))
			require.NoError(t, err)
			b.approver = &permission.Gate{Rules: rules}
			text := b.ok("grep", in{"pattern": "word"})
			for _, f := range []string{"a.txt", "hidden/b.txt", "hidden/open/c.txt", ".env", "conf/.env", "src/.env.go"} {
				assert.Equal(t, contains(c.grep, f), strings.Contains(text, "\n"+f+"\n"), "%s in %s", f, text)
			}
			assert.Contains(t, text, c.inGrep)
			assert.NotContains(t, text, c.notGrep)
			assert.Equal(t, []string{"grep word"}, b.asks())
			for _, out := range []string{"files", "count"} {
				text := b.ok("grep", in{"pattern": "word", "output": out})
				assert.Contains(t, text, strings.TrimSpace(c.inGrep))
				assert.NotContains(t, text, c.notGrep)
			}
			text = b.ok("glob", in{"pattern": "**"})
			assert.Equal(t, c.countOfGlobNotes, strings.Count(text, denied), text)
			if c.glob != nil {
				for _, f := range []string{"a.txt", "hidden/b.txt", "hidden/open/c.txt", ".env", "conf/.env", "src/.env.go"} {
					assert.Equal(t, contains(c.glob, f), contains(strings.Split(text, "\n"), f), "%s in %s", f, text)
				}
			}
		})
	}
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}

// TestSearchIsAskedAsBefore: that a search knows the rules changes nothing about
// who is asked, and an approval for always counts.
func TestSearchIsAskedAsBefore(t *testing.T) {
	b := newBench(t, ruledTree, Config{})
	prompts := 0
	rules, err := permission.ParseConfig([]byte(`{"*": "allow", "grep": {"*": "ask", "fine *": "allow", "bad*": "deny"}, "read": {"hidden/*": "deny"}}`))
	require.NoError(t, err)
	gate := &permission.Gate{Rules: rules}
	gate.Prompt = func(_ context.Context, p permission.Prompt) (permission.Answer, error) {
		prompts++
		assert.Equal(t, []string{"word"}, p.Request.Patterns)
		assert.Equal(t, []string{`grep "word" is asked by the rule grep "*"`}, p.Reasons)
		return permission.Answer{Reply: permission.Always}, nil
	}
	b.approver = gate
	b.ok("grep", in{"pattern": "fine words"})
	assert.Zero(t, prompts)
	assert.Contains(t, b.fails("grep", in{"pattern": "bad"}), `denied by the rule grep "bad*"`)
	for range 3 {
		text := b.ok("grep", in{"pattern": "word"})
		assert.NotContains(t, text, "there")
		assert.Equal(t, 1, prompts)
	}
}

// TestTightenedReading: rules that may only make things stricter count as well.
func TestTightenedReading(t *testing.T) {
	b := newBench(t, ruledTree, Config{})
	b.approver = &permission.Gate{
		Rules:   permission.Ruleset{{Permission: "*", Pattern: "*", Action: permission.Allow}},
		Tighten: permission.Ruleset{{Permission: "read", Pattern: "hidden/*", Action: permission.Deny}},
	}
	text := b.ok("grep", in{"pattern": "word"})
	assert.Contains(t, text, "a.txt")
	assert.NotContains(t, text, "there")
}

// TestApproverWithoutRules: whoever decides without rules hides no file.
func TestApproverWithoutRules(t *testing.T) {
	b := newBench(t, ruledTree, Config{})
	b.approver = tooltest.AllowAll{}
	assert.Contains(t, b.ok("grep", in{"pattern": "word"}), "hidden/b.txt")
}
