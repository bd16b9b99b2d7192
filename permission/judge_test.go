package permission

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/agenttool/tool"
)

// careful asks about commands that it takes for dynamic, unless their text was approved.
func careful(req *tool.Request, rules Ruleset, approved []string) (Action, []string, bool) {
	if req.Permission != "bash" {
		return "", nil, false
	}
	a := Evaluate("bash", req.Patterns[0], rules).Action
	if req.Metadata["dynamic"] == true && a == Allow {
		a = Ask
	}
	if a == Ask && slices.Contains(approved, req.Patterns[0]) {
		a = Allow
	}
	return a, []string{"a word is only known when it runs\x1b"}, true
}

func dynamic(r tool.Request) tool.Request {
	r.Metadata = map[string]any{"dynamic": true}
	return r
}

func TestJudge(t *testing.T) {
	rules := parse(t, `{"*":"allow","bash":{"*":"allow","rm *":"deny"}}`)
	d, plain, denied := dynamic(bash("ls $X")), bash("ls"), dynamic(bash("rm $X"))
	read := tool.Request{Permission: "read", Patterns: []string{"a"}}
	explain := func(r tool.Request) Action { return Judge(careful).Explain([]*tool.Request{&r}, rules).Decision }
	assert.Equal(t, []Action{Ask, Allow, Deny, Allow}, []Action{explain(d), explain(plain), explain(denied), explain(read)})
	e := Judge(careful).Explain([]*tool.Request{&d}, rules)
	assert.Equal(t, []string{`a word is only known when it runs\u{1b}`}, e.Reasons)

	lenient := Judge(func(*tool.Request, Ruleset, []string) (Action, []string, bool) { return Allow, nil, true })
	assert.Equal(t, Deny, lenient.Explain([]*tool.Request{&denied}, rules).Decision, "a deny is final")
	broken := Judge(func(*tool.Request, Ruleset, []string) (Action, []string, bool) { panic("boom") })
	assert.Equal(t, Deny, broken.Explain([]*tool.Request{&plain}, rules).Decision)
	unclear := Judge(func(*tool.Request, Ruleset, []string) (Action, []string, bool) { return "yes", nil, true })
	assert.Equal(t, Deny, unclear.Explain([]*tool.Request{&plain}, rules).Decision)
	deniedBy(t, askIn(t.Context(), &Gate{Rules: rules, Judge: broken}, "s", plain))
}

func TestJudgeAndApprovals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &Gate{Rules: parse(t, `"allow"`), Judge: careful}
		defer g.Subscribe(func(Event) {})()
		d := dynamic(bash("ls $X", "ls *", "ls $X"))
		one := going(t.Context(), g, "s", d)
		synctest.Wait()
		d.Title, d.Metadata = "another", map[string]any{"dynamic": true, "n": 1}
		two := going(t.Context(), g, "s", d)
		synctest.Wait()
		other := going(t.Context(), g, "s", dynamic(bash("ls $Y")))
		synctest.Wait()
		require.Len(t, g.Pending("s"), 3)
		reply(t, g, "ls $X", Answer{Reply: Always})
		require.NoError(t, <-one)
		require.NoError(t, <-two, "the judge sees what was granted")
		synctest.Wait()
		require.Len(t, g.Pending("s"), 1, "and what was not")
		reply(t, g, "ls $Y", Answer{Reply: Once})
		require.NoError(t, <-other)
		require.NoError(t, askIn(t.Context(), g, "s", d))
	})
}

// Two agents share a question, but not the rules that leave parts of it open.
func TestCascadeNeedsConsentForEveryCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &Gate{RulesFor: func(_ context.Context, call *tool.Call) []Ruleset {
			if call.Agent != nil {
				return []Ruleset{{{"bash", "b", Allow}}}
			}
			return nil
		}}
		defer g.Subscribe(func(Event) {})()
		ask := func(agent *tool.Agent, patterns ...string) <-chan error {
			c := make(chan error, 1)
			call := (&tool.Call{SessionID: "s", Agent: agent}).Bind(tool.Runtime{Approver: g})
			go func() {
				c <- call.Ask(t.Context(), &tool.Request{Permission: "bash", Patterns: patterns, Always: patterns[:1]})
			}()
			synctest.Wait()
			return c
		}
		trusted, strict := ask(&tool.Agent{}, "a", "b"), ask(nil, "a", "b")
		require.Len(t, g.Pending("s"), 1)
		first := ask(nil, "a")
		require.Len(t, g.Pending("s"), 2)
		require.NoError(t, g.Reply(t.Context(), g.Pending("s")[1].Request.ID, Answer{Reply: Always}))
		require.NoError(t, <-first)
		synctest.Wait()
		require.Len(t, g.Pending("s"), 1, "b is not granted")
		require.NoError(t, g.Reply(t.Context(), g.Pending("s")[0].Request.ID, Answer{Reply: Once}))
		require.NoError(t, <-trusted)
		require.NoError(t, <-strict)
	})
}
