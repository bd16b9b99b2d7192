package builtin

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agenttool/tool"
	"github.com/agenttool/tool/tooltest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestStandardConditions: which agent is offered what.
func TestStandardConditions(t *testing.T) {
	b := everything(t)
	var reg tool.Registry
	require.NoError(t, reg.Add(b.ts.Tools()...))
	for _, c := range []struct {
		name  string
		agent *tool.Agent
		has   string
		lacks string
	}{
		{"nothing known", nil, "read bash question task skill apply_patch edit write todowrite", "batch plan_enter plan_exit"},
		{"claude", &tool.Agent{Model: "claude-sonnet-4", Provider: "anthropic", Client: "cli"}, "edit multiedit write question", "apply_patch batch plan_exit"},
		{"gpt-5", &tool.Agent{Model: "gpt-5-codex", Provider: "azure", Client: "desktop"}, "apply_patch read question", "edit multiedit write"},
		{"gpt-4", &tool.Agent{Model: "gpt-4o"}, "edit write", "apply_patch"},
		{"open weights", &tool.Agent{Model: "gpt-oss-120b"}, "edit write", "apply_patch"},
		{"a server", &tool.Agent{Client: "server", Flags: map[string]bool{"plan": true}}, "read bash", "question plan_enter plan_exit"},
		{"with flags", &tool.Agent{Client: "cli", Flags: map[string]bool{"plan": true, "batch": true}}, "batch plan_enter plan_exit question", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			set, err := reg.Resolve(t.Context(), c.agent, StandardConditions().Filter())
			require.NoError(t, err)
			for _, n := range strings.Fields(c.has) {
				assert.True(t, set.Has(n), n)
			}
			for _, n := range strings.Fields(c.lacks) {
				assert.False(t, set.Has(n), n)
			}
		})
	}
	both := WithFlag("x").Or(ForProviders("p"))
	assert.True(t, both(&tool.Agent{Provider: "p"}))
	assert.True(t, both(&tool.Agent{Flags: map[string]bool{"x": true}}))
	assert.False(t, both(nil))
}

func ExampleStandardConditions() {
	conditions := StandardConditions()
	conditions["bash"] = WithFlag("shell") // the host's own
	keep := conditions.Filter()
	for _, model := range []string{"claude-sonnet-4", "gpt-5"} {
		agent := &tool.Agent{Model: model}
		for _, name := range []string{"bash", "edit", "apply_patch"} {
			fmt.Println(model, name, keep(agent, &tool.Spec{Name: name}))
		}
	}
	// Output:
	// claude-sonnet-4 bash false
	// claude-sonnet-4 edit true
	// claude-sonnet-4 apply_patch false
	// gpt-5 bash false
	// gpt-5 edit false
	// gpt-5 apply_patch true
}

// TestInvalid: it is in no set, and repeats what was wrong.
func TestInvalid(t *testing.T) {
	inv := Invalid()
	set, err := tool.NewSet(t.Context(), nil, inv)
	require.NoError(t, err)
	assert.Zero(t, set.Len())
	_, err = inv.Run(t.Context(), tooltest.NewCall("invalid", in{"tool": "read", "error": "filePath is missing"}))
	require.EqualError(t, err, "The arguments of the call of read were not valid, and nothing was run: filePath is missing")
}

// TestNobodyToAsk: where there is no user, every question is answered at once: a
// permission is denied, and a question says to go on alone.
func TestNobodyToAsk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, done := newBenchIn(t, skillFiles, Config{
			Asker:  AskerFunc(func(context.Context, *tool.Call, *QuestionRequest) ([]Answer, error) { return nil, ErrNobody }),
			Skills: SkillConfig{Dirs: []string{".skills"}}, Task: TaskConfig{Runner: helpers(nil)},
		})
		defer done()
		set, err := tool.NewSet(t.Context(), nil, b.ts.Tools()...)
		require.NoError(t, err)
		start := time.Now()
		for name, input := range map[string]any{
			"read": in{"filePath": "a.txt"}, "write": in{"filePath": "n.txt", "content": "x"}, "edit": in{"filePath": "a.txt", "oldString": "alpha", "newString": "b"},
			"ls": in{}, "glob": in{"pattern": "*"}, "grep": in{"pattern": "x"}, "todowrite": in{"todos": []any{}}, "todoread": in{},
			"skill": in{"name": "pdf"}, "task": taskInput1("explore"), "bash": in{"command": "touch x"},
		} {
			if !set.Has(name) {
				continue // no shell
			}
			out := (&tool.Executor{}).Do(t.Context(), set, newCall("c", name, input))
			require.ErrorIs(t, out.Err, tool.ErrDenied, name)
		}
		out := (&tool.Executor{}).Do(t.Context(), set, newCall("c", "question", `{"questions":[{"question":"Q"}]}`))
		require.NoError(t, out.Err)
		assert.Contains(t, out.Result.Text, "No user is available")
		assert.Zero(t, time.Since(start), "nothing waited")
		assert.NoFileExists(t, b.path("n.txt"))
	})
}

// TestSecretsAreNotEchoed: what is wrong with arguments is said without repeating them at length.
func TestSecretsAreNotEchoed(t *testing.T) {
	b := newBench(t, coreFiles, Config{})
	secret := strings.Repeat("s3cret", 200)
	for name, input := range map[string]any{
		"read":      in{"filePath": []any{secret, secret}},
		"edit":      in{"filePath": "a.txt", "oldString": in{"x": secret}, "newString": secret},
		"todowrite": in{"todos": []any{in{"content": "x", "status": secret}}},
		secret:      in{},
	} {
		set, err := tool.NewSet(t.Context(), nil, b.ts.Tools()...)
		require.NoError(t, err)
		out := (&tool.Executor{Approver: b}).Do(t.Context(), set, newCall("c", name, input))
		require.Error(t, out.Err)
		assert.LessOrEqual(t, strings.Count(out.Result.Text, "s3cret"), 200/len("s3cret")+2, "%s", out.Result.Text)
	}
}
