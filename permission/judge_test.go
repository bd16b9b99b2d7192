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
func careful(req tool.Request) tool.Request {
	req.Judge = func(rules []tool.Rule, approved []string) tool.Judgement {
		a := Ask
		for _, r := range rules {
			if Match(r.Permission, "bash") && Match(r.Pattern, req.Patterns[0]) {
				a = Action(r.Action)
			}
		}
		if req.Metadata["dynamic"] == true && a == Allow {
			a = Ask
		}
		if a == Ask && slices.Contains(approved, req.Patterns[0]) {
			a = Allow
		}
		return tool.Judgement{Action: string(a), Reasons: []string{"a word is only known when it runs\x1b"}}
	}
	return req
}

func dynamic(r tool.Request) tool.Request {
	r.Metadata = map[string]any{"dynamic": true}
	return careful(r)
}

func judged(r tool.Request, action string) tool.Request {
	r.Judge = func([]tool.Rule, []string) tool.Judgement { return tool.Judgement{Action: action} }
	return r
}

func TestJudge(t *testing.T) {
	rules := parse(t, `{"*":"allow","bash":{"*":"allow","rm *":"deny"}}`)
	d, plain, denied := dynamic(bash("ls $X")), careful(bash("ls")), dynamic(bash("rm $X"))
	read := tool.Request{Permission: "read", Patterns: []string{"a"}}
	explain := func(r tool.Request, rules Ruleset) Action { return Explain([]*tool.Request{&r}, rules).Decision }
	assert.Equal(t, []Action{Ask, Allow, Deny, Allow}, []Action{explain(d, rules), explain(plain, rules), explain(denied, rules), explain(read, rules)})
	e := Explain([]*tool.Request{&d}, rules)
	assert.Equal(t, []string{`a word is only known when it runs\u{1b}`}, e.Reasons)

	assert.Equal(t, Deny, explain(judged(denied, "allow"), rules), "a deny is final")
	assert.Equal(t, Deny, explain(judged(denied, "allow"), parse(t, `{"bash":"deny"}`)), "also one for everything")
	assert.Equal(t, Deny, explain(judged(denied, "allow"), parse(t, `{"bash":{"ls *":"allow","*":"deny"}}`)))
	assert.Equal(t, Allow, explain(judged(bash("FOO=1 ls"), "allow"), parse(t, `{"bash":{"*":"deny","ls *":"allow"}}`)),
		"but which of the rules that soften it hold is what the request knows")
	assert.Equal(t, Deny, explain(judged(plain, "yes"), rules))
	broken := bash("ls")
	broken.Judge = func([]tool.Rule, []string) tool.Judgement { panic("boom") }
	assert.Equal(t, Deny, explain(broken, rules))
	deniedBy(t, askIn(t.Context(), &Gate{Rules: rules}, "s", broken))
}

// A request whose parts nobody knows is allowed by a rule for everything alone.
func TestOpaque(t *testing.T) {
	for _, c := range []struct {
		rules string
		want  Action
	}{
		{`{"*":"allow"}`, Allow},
		{`{"bash":{"*":"allow","ls *":"allow"}}`, Allow},
		{`{"bash":{"rm *":"deny","*":"allow"}}`, Allow},
		{`{"bash":{"*":"allow","rm *":"deny"}}`, Ask},
		{`{"bash":{"*":"allow","rm *":"ask"}}`, Ask},
		{`{"bash":{"eval*":"allow"}}`, Ask},
		{`{"bash":{"*":"ask","eval*":"allow"}}`, Ask},
		{`{"bash":{"*":"allow","eval*":"deny"}}`, Deny},
		{`{"bash":"deny"}`, Deny},
		{`{}`, Ask},
	} {
		req := bash(`eval "$X"`)
		req.Opaque = true
		e := Explain([]*tool.Request{&req}, parse(t, c.rules))
		assert.Equal(t, c.want, e.Decision, c.rules)
		assert.Equal(t, c.want == Allow, len(e.Reasons) == 0, c.rules)
		if c.want != Deny {
			req = judged(req, "allow")
			assert.Equal(t, Allow, Explain([]*tool.Request{&req}, parse(t, c.rules)).Decision, "unless it can judge itself: %s", c.rules)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		g := &Gate{}
		defer g.Subscribe(func(Event) {})()
		req := bash("x", "x")
		one := going(t.Context(), g, "s", req)
		synctest.Wait()
		reply(t, g, "x", Answer{Reply: Always})
		require.NoError(t, <-one)
		require.NoError(t, askIn(t.Context(), g, "s", req))
		req.Opaque = true
		two := going(t.Context(), g, "s", req)
		synctest.Wait()
		require.Len(t, g.Pending("s"), 1, "approvals never allow it")
		reply(t, g, "x", Answer{Reply: Once})
		require.NoError(t, <-two)
	})
}

// Rules that only tighten are the request's to judge, too.
func TestJudgeTightened(t *testing.T) {
	tight := parse(t, `{"bash":{"rm *":"deny","git push *":"ask"}}`)
	hidden := bash("sudo …")
	hidden.Judge = func(rules []tool.Rule, _ []string) tool.Judgement {
		a := "ask"
		for _, r := range rules {
			if Match(r.Permission, "bash") && Match(r.Pattern, "rm x") {
				a = r.Action
			}
		}
		return tool.Judgement{Action: a}
	}
	for _, g := range []*Gate{{Rules: parse(t, `"allow"`), Tighten: tight}, {Rules: parse(t, `"allow"`)}} {
		if g.Tighten == nil {
			g.SetPlan("s", &Plan{ReadOnly: []string{}, Rules: tight})
		}
		deniedBy(t, askIn(t.Context(), g, "s", hidden))
		require.NoError(t, askIn(t.Context(), g, "s", careful(bash("ls"))))
		opaque := bash("ls")
		opaque.Opaque = true
		deniedBy(t, askIn(t.Context(), g, "s", opaque))
	}
}

func TestJudgeAndApprovals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &Gate{Rules: parse(t, `"allow"`)}
		defer g.Subscribe(func(Event) {})()
		d := dynamic(bash("ls $X", "ls *", "ls $X"))
		one := going(t.Context(), g, "s", d)
		synctest.Wait()
		d.Title, d.Metadata = "another", map[string]any{"dynamic": true, "n": 1}
		d = careful(d)
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

// What is protected and judges itself is covered by an approval of what it offered,
// word for word, and by no wildcard that fits it.
func TestJudgeProtectedApprovals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &Gate{}
		defer g.Subscribe(func(Event) {})()
		page := func(protected bool, path string) tool.Request {
			r := tool.Request{Permission: "webfetch", Patterns: []string{"http://x/" + path}, Always: []string{"http://x/*"}, Protected: protected}
			r.Judge = func(_ []tool.Rule, approved []string) tool.Judgement {
				if slices.Contains(approved, "http://x/*") {
					return tool.Judgement{Action: "allow"}
				}
				return tool.Judgement{Action: "ask"}
			}
			return r
		}
		one := going(t.Context(), g, "s", page(true, "a"))
		synctest.Wait()
		reply(t, g, "http://x/a", Answer{Reply: Always})
		require.NoError(t, <-one)
		require.NoError(t, askIn(t.Context(), g, "s", page(true, "b")))
		other := page(true, "c")
		other.Always = []string{"http://x/c*"}
		two := going(t.Context(), g, "s", other)
		synctest.Wait()
		require.Len(t, g.Pending("s"), 1)
		reply(t, g, "http://x/c", Answer{Reply: Once})
		require.NoError(t, <-two)
	})
}
