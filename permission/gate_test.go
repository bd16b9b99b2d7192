package permission

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/agenttool/tool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// askIn asks as a tool does.
func askIn(ctx context.Context, g *Gate, session string, req tool.Request) error {
	call := (&tool.Call{ID: "call_1", Tool: "t", SessionID: session, MessageID: "msg_1"}).Bind(tool.Runtime{Approver: g})
	return call.Ask(ctx, &req)
}

func bash(command string, always ...string) tool.Request {
	return tool.Request{Permission: "bash", Patterns: []string{command}, Always: always}
}

// log records events.
type log struct {
	mu     sync.Mutex
	events []Event
}

func (l *log) add(e Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.events = append(l.events, e)
}

// types returns what happened, as "asked PATTERN" or "replied PATTERN once".
func (l *log) types() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	pattern := make(map[string]string)
	out := []string{}
	for _, e := range l.events {
		if e.Prompt != nil {
			pattern[e.RequestID] = e.Prompt.Patterns[0].Raw
		}
		s := string(e.Type[len("permission."):]) + " " + pattern[e.RequestID]
		if e.Reply != "" {
			s += " " + string(e.Reply)
		}
		out = append(out, s)
	}
	return out
}

// going starts an ask and returns where its error will be.
func going(ctx context.Context, g *Gate, session string, req tool.Request) <-chan error {
	c := make(chan error, 1)
	go func() { c <- askIn(ctx, g, session, req) }()
	return c
}

// pendingID returns the id of the one question about a pattern.
func pendingID(t *testing.T, g *Gate, pattern string) string {
	t.Helper()
	for _, p := range g.Pending("") {
		if p.Patterns[0].Raw == pattern {
			return p.Request.ID
		}
	}
	t.Fatalf("no question about %q", pattern)
	return ""
}

func reply(t *testing.T, g *Gate, pattern string, a Answer) {
	t.Helper()
	require.NoError(t, g.Reply(t.Context(), pendingID(t, g, pattern), a))
}

func deniedBy(t *testing.T, err error) *tool.DeniedError {
	t.Helper()
	var d *tool.DeniedError
	require.ErrorAs(t, err, &d)
	return d
}

func TestZeroGateDeniesAtOnce(t *testing.T) {
	err := askIn(t.Context(), &Gate{}, "s", bash("ls"))
	d := deniedBy(t, err)
	assert.False(t, d.EndTurn)
	assert.Contains(t, err.Error(), "Nobody can be asked")
	require.NoError(t, askIn(t.Context(), &Gate{Rules: Ruleset{{"*", "*", Allow}}}, "s", bash("ls")))
}

func TestConfiguredDenyIsFinal(t *testing.T) {
	g := &Gate{
		Rules:     parse(t, `{"*":"allow","bash":{"*":"ask","rm *":"deny"}}`),
		Intercept: func(context.Context, *tool.Call, *tool.Request) (Verdict, error) { return Verdict{Action: Allow}, nil },
		Prompt:    func(context.Context, Prompt) (Answer, error) { return Answer{Reply: Always}, nil },
		Store:     &MemoryStore{},
	}
	require.NoError(t, g.Store.Add(t.Context(), Approval{ID: "1", Permission: "bash", Pattern: "*", Scope: ScopeUser}))
	require.NoError(t, g.Restore("s", SessionState{Approvals: []Approval{{ID: "2", Permission: "bash", Pattern: "*", Scope: ScopeSession}}}))
	d := deniedBy(t, askIn(t.Context(), g, "s", tool.Request{Permission: "bash", Patterns: []string{"git log", "rm -rf x"}, Always: []string{"*"}}))
	assert.False(t, d.EndTurn, "a configured deny goes back to the model")
	assert.Contains(t, d.Reason, `"rm -rf x" is denied by the rule bash "rm *"`)
	require.NoError(t, askIn(t.Context(), g, "s", bash("git log")))
}

func TestAnyDenyFailsAtOnce(t *testing.T) {
	asked := false
	g := &Gate{
		Rules:  parse(t, `{"bash":{"*":"ask","rm *":"deny"}}`),
		Prompt: func(context.Context, Prompt) (Answer, error) { asked = true; return Answer{Reply: Once}, nil },
	}
	deniedBy(t, askIn(t.Context(), g, "s", tool.Request{Permission: "bash", Patterns: []string{"make", "rm x"}}))
	assert.False(t, asked)
}

func TestReplies(t *testing.T) {
	var asked []string
	answer := Answer{Reply: Once}
	g := &Gate{Prompt: func(_ context.Context, p Prompt) (Answer, error) {
		asked = append(asked, p.Patterns[0].Raw)
		return answer, nil
	}}
	require.NoError(t, askIn(t.Context(), g, "s", bash("git status", "git status *")))
	answer.Reply = Always
	require.NoError(t, askIn(t.Context(), g, "s", bash("git status", "git status *")), "once is forgotten")
	require.NoError(t, askIn(t.Context(), g, "s", bash("git status -s", "git status *")), "always is not")
	assert.Equal(t, []string{"git status", "git status"}, asked)

	answer = Answer{Reply: Reject}
	d := deniedBy(t, askIn(t.Context(), g, "s", bash("git push", "git push *")))
	assert.True(t, d.EndTurn, "a plain rejection ends the turn")
	assert.Equal(t, "call_1", d.Request.CallID)
	d = deniedBy(t, askIn(t.Context(), g, "other", bash("git status", "git status *")))
	assert.True(t, d.EndTurn, "another session has no part in it")

	answer.Message = "use git fetch"
	d = deniedBy(t, askIn(t.Context(), g, "s", bash("git pull")))
	assert.False(t, d.EndTurn, "the model reads the message and goes on")
	assert.Contains(t, d.Error(), "use git fetch")

	g.ContinueOnReject = true
	answer.Message = ""
	assert.False(t, deniedBy(t, askIn(t.Context(), g, "s", bash("git rebase"))).EndTurn)

	answer = Answer{Reply: Always}
	require.NoError(t, askIn(t.Context(), g, "s", bash("make")))
	n := len(asked)
	require.NoError(t, askIn(t.Context(), g, "s", bash("make")))
	assert.Len(t, asked, n+1, "without Always patterns, always is once")
}

func TestAlwaysGrantsExactlyWhatWasShown(t *testing.T) {
	var shown []Text
	g := &Gate{Prompt: func(_ context.Context, p Prompt) (Answer, error) {
		shown = p.Always
		return Answer{Reply: Always}, nil
	}}
	require.NoError(t, askIn(t.Context(), g, "s", bash("git checkout main && rm x", "git checkout *")))
	assert.Equal(t, []Text{{"git checkout *", "git checkout *"}}, shown)
	list, err := g.Approvals(t.Context())
	require.NoError(t, err)
	require.Len(t, list, 1)
	assert.Equal(t, "git checkout *", list[0].Pattern)
	assert.Equal(t, ScopeSession, list[0].Scope)
	assert.Equal(t, "s", list[0].SessionID)
	assert.NotZero(t, list[0].Created)
	assert.Equal(t, "bash git checkout main && rm x", list[0].Origin)

	ok, err := g.Revoke(t.Context(), list[0].ID)
	require.NoError(t, err)
	assert.True(t, ok)
	g.Prompt = nil
	deniedBy(t, askIn(t.Context(), g, "s", bash("git checkout x", "git checkout *")))
	ok, err = g.Revoke(t.Context(), list[0].ID)
	require.NoError(t, err)
	assert.False(t, ok)
}

func TestProtectedNeedsTheExactPattern(t *testing.T) {
	prompts := 0
	g := &Gate{
		Rules:  parse(t, `"allow"`),
		Prompt: func(context.Context, Prompt) (Answer, error) { prompts++; return Answer{Reply: Always}, nil },
	}
	env := tool.Request{Permission: "read", Patterns: []string{"a/.env"}, Always: []string{"*"}, Protected: true}
	require.NoError(t, askIn(t.Context(), g, "s", env))
	require.NoError(t, askIn(t.Context(), g, "s", env))
	assert.Equal(t, 2, prompts, "a star does not cover it")
	env.Always = env.Patterns
	require.NoError(t, askIn(t.Context(), g, "s", env))
	require.NoError(t, askIn(t.Context(), g, "s", env))
	assert.Equal(t, 3, prompts, "its own name does")
	env.Patterns = []string{"b/.env"}
	require.NoError(t, askIn(t.Context(), g, "s", env))
	assert.Equal(t, 4, prompts)
}

func TestCascade(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l log
		g := &Gate{Rules: parse(t, `{"bash":{"git status":"allow"}}`), Parent: func(s string) string {
			return map[string]string{"child": "s"}[s]
		}}
		defer g.Subscribe(l.add)()
		first := going(t.Context(), g, "s", bash("git log", "git log *"))
		synctest.Wait()
		covered := going(t.Context(), g, "s", tool.Request{Permission: "bash", Patterns: []string{"git status", "git log -1"}})
		synctest.Wait()
		uncovered := going(t.Context(), g, "s", bash("git push"))
		synctest.Wait()
		other := going(t.Context(), g, "other", bash("git log -2"))
		synctest.Wait()
		child := going(t.Context(), g, "child", bash("git log -3"))
		synctest.Wait()
		require.Len(t, g.Pending(""), 5)
		require.Len(t, g.Pending("s"), 3)

		reply(t, g, "git log", Answer{Reply: Always})
		require.NoError(t, <-first)
		require.NoError(t, <-covered, "what rules allow need not be covered")
		require.NoError(t, <-child, "what a session started shares its approvals")
		synctest.Wait()
		require.Len(t, g.Pending(""), 2)
		later := going(t.Context(), g, "s", bash("make"))
		synctest.Wait()

		reply(t, g, "git push", Answer{Reply: Reject, Message: "not now"})
		d := deniedBy(t, <-uncovered)
		assert.Contains(t, d.Reason, "not now")
		d = deniedBy(t, <-later)
		assert.NotContains(t, d.Reason, "not now", "the message was about the other one")
		assert.False(t, d.EndTurn)
		reply(t, g, "git log -2", Answer{Reply: Once})
		require.NoError(t, <-other)
		synctest.Wait()
		assert.Equal(t, []string{
			"asked git log", "asked git status", "asked git push", "asked git log -2", "asked git log -3",
			"replied git log always", "replied git status always", "replied git log -3 always",
			"asked make", "replied git push reject", "replied make reject", "replied git log -2 once",
		}, l.types())
	})
}

func TestIdenticalAsksShareOnePrompt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l log
		g := &Gate{}
		defer g.Subscribe(l.add)()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		req := tool.Request{Permission: "edit", Patterns: []string{"a.go"}, Metadata: map[string]any{"diff": "-a +b"}}
		one := going(ctx, g, "s", req)
		synctest.Wait()
		two := going(t.Context(), g, "s", req)
		three := going(t.Context(), g, "s", req)
		req.Metadata = map[string]any{"diff": "-a +c"}
		different := going(t.Context(), g, "s", req)
		synctest.Wait()
		require.Len(t, g.Pending("s"), 2)
		assert.Len(t, g.Pending("s")[0].Calls, 3)

		cancel()
		require.ErrorIs(t, <-one, tool.ErrCancelled)
		synctest.Wait()
		require.Len(t, g.Pending("s"), 2, "two still wait for it")
		require.NoError(t, g.Reply(t.Context(), g.Pending("s")[0].Request.ID, Answer{Reply: Once}))
		require.NoError(t, <-two)
		require.NoError(t, <-three)
		reply(t, g, "a.go", Answer{Reply: Reject})
		deniedBy(t, <-different)
		synctest.Wait()
		assert.Len(t, l.types(), 4)
	})
}

func TestInvalidTextIsNeverMerged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &Gate{}
		defer g.Subscribe(func(Event) {})()
		a := going(t.Context(), g, "s", bash("rm \xfe"))
		b := going(t.Context(), g, "s", bash("rm \xff"))
		c := going(t.Context(), g, "s", tool.Request{Permission: "bash", Patterns: []string{"x"}, Metadata: map[string]any{"f": func() {}}})
		synctest.Wait()
		assert.Len(t, g.Pending("s"), 3)
		g.Forget("s")
		deniedBy(t, <-a)
		deniedBy(t, <-b)
		deniedBy(t, <-c)
	})
}

func TestWithdrawn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l log
		promptEnded := false
		g := &Gate{Prompt: func(ctx context.Context, _ Prompt) (Answer, error) {
			<-ctx.Done()
			promptEnded = true
			return Answer{Reply: Once}, nil // too late to count
		}}
		defer g.Subscribe(l.add)()
		ctx, cancel := context.WithCancelCause(t.Context())
		c := going(ctx, g, "s", bash("make"))
		synctest.Wait()
		id := g.Pending("")[0].Request.ID
		cancel(errors.New("escape was pressed"))
		err := <-c
		require.ErrorIs(t, err, tool.ErrCancelled)
		require.ErrorContains(t, err, "escape was pressed")
		synctest.Wait()
		assert.True(t, promptEnded)
		assert.Empty(t, g.Pending(""))
		assert.Equal(t, []string{"asked make", "withdrawn make"}, l.types())
		require.ErrorIs(t, g.Reply(t.Context(), id, Answer{Reply: Once}), ErrSettled)
		require.ErrorIs(t, g.Reply(t.Context(), "perm_x", Answer{Reply: Once}), ErrNotPending)
		require.ErrorIs(t, g.Approve(ctx, nil, &tool.Request{ID: "x", Permission: "bash"}), context.Canceled)
	})
}

func TestTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l log
		g := &Gate{Timeout: time.Minute}
		defer g.Subscribe(l.add)()
		start := time.Now()
		d := deniedBy(t, askIn(t.Context(), g, "s", bash("make")))
		assert.Equal(t, time.Minute, time.Since(start))
		assert.Contains(t, d.Reason, "Nobody answered within 1m0s")
		synctest.Wait()
		assert.Equal(t, []string{"asked make", "withdrawn make"}, l.types())
	})
}

func TestLastSubscriberLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &Gate{}
		one, two := g.Subscribe(func(Event) {}), g.Subscribe(func(Event) {})
		c := going(t.Context(), g, "s", bash("make"))
		synctest.Wait()
		one()
		one()
		synctest.Wait()
		require.Len(t, g.Pending(""), 1)
		two()
		assert.Contains(t, deniedBy(t, <-c).Reason, "Nobody")
	})
}

func TestReplyIsAcceptedOnce(t *testing.T) {
	for range 20 {
		g := &Gate{}
		cancel := g.Subscribe(func(Event) {})
		c := going(t.Context(), g, "s", bash("make"))
		for len(g.Pending("")) == 0 {
			time.Sleep(time.Millisecond)
		}
		id := g.Pending("")[0].Request.ID
		var accepted atomic.Int32
		var wg sync.WaitGroup
		for i := range 100 {
			wg.Go(func() {
				err := g.Reply(t.Context(), id, Answer{Reply: []Reply{Once, Reject}[i%2]})
				if err == nil {
					accepted.Add(1)
				} else {
					assert.ErrorIs(t, err, ErrSettled)
				}
			})
		}
		wg.Wait()
		<-c
		assert.EqualValues(t, 1, accepted.Load())
		cancel()
	}
}

func TestBadAnswersLeaveTheQuestionOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &Gate{}
		defer g.Subscribe(func(Event) {})()
		c := going(t.Context(), g, "s", bash("make", "make *"))
		synctest.Wait()
		id := pendingID(t, g, "make")
		for _, a := range []Answer{{}, {Reply: "yes"}, {Reply: Always, Scope: "world"}, {Reply: Always, Scope: ScopeProject}} {
			require.ErrorIs(t, g.Reply(t.Context(), id, a), ErrAnswer, "%v", a)
		}
		require.NoError(t, g.Reply(t.Context(), id, Answer{Reply: Once}))
		require.NoError(t, <-c)
	})
}

func TestPendingIsCapped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &Gate{MaxPending: 2}
		defer g.Subscribe(func(Event) {})()
		a, b := going(t.Context(), g, "s", bash("a")), going(t.Context(), g, "s", bash("b"))
		synctest.Wait()
		d := deniedBy(t, askIn(t.Context(), g, "s", bash("c")))
		assert.Contains(t, d.Reason, "wait for an answer")
		joined, other := going(t.Context(), g, "s", bash("a")), going(t.Context(), g, "other", bash("c"))
		synctest.Wait()
		require.Len(t, g.Pending(""), 3)
		for _, p := range g.Pending("") {
			require.NoError(t, g.Reply(t.Context(), p.Request.ID, Answer{Reply: Once}))
		}
		for _, c := range []<-chan error{a, b, joined, other} {
			require.NoError(t, <-c)
		}
	})
}

func TestRejectedThreeTimesIsNotAskedAgain(t *testing.T) {
	prompts := 0
	answer := Answer{Reply: Reject, Message: "no"}
	g := &Gate{Prompt: func(context.Context, Prompt) (Answer, error) { prompts++; return answer, nil }}
	for range 3 {
		assert.Contains(t, deniedBy(t, askIn(t.Context(), g, "s", bash("make"))).Reason, "said: no")
	}
	d := deniedBy(t, askIn(t.Context(), g, "s", bash("make")))
	assert.Contains(t, d.Reason, "Change course")
	assert.Equal(t, 3, prompts)
	deniedBy(t, askIn(t.Context(), g, "s", bash("make all")))
	deniedBy(t, askIn(t.Context(), g, "other", bash("make")))
	assert.Equal(t, 5, prompts, "another request, another session")

	g = &Gate{Prompt: g.Prompt, MaxRejections: -1}
	for range 5 {
		deniedBy(t, askIn(t.Context(), g, "s", bash("make")))
	}
	assert.Equal(t, 10, prompts)
}

func TestPromptsComeOneAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var now, most atomic.Int32
		var mu sync.Mutex
		var asked []string
		prompt := func(ctx context.Context, p Prompt) (Answer, error) {
			most.Store(max(most.Load(), now.Add(1)))
			defer now.Add(-1)
			mu.Lock()
			asked = append(asked, p.Patterns[0].Raw)
			mu.Unlock()
			time.Sleep(time.Second)
			return Answer{Reply: Always}, nil
		}
		g := &Gate{Prompt: prompt}
		a := going(t.Context(), g, "s", bash("git log -1", "git log *"))
		synctest.Wait()
		b := going(t.Context(), g, "s", bash("git log -2", "git log *"))
		c := going(t.Context(), g, "s", bash("make", "make *"))
		require.NoError(t, <-a)
		require.NoError(t, <-b)
		require.NoError(t, <-c)
		assert.EqualValues(t, 1, most.Load())
		assert.Equal(t, []string{"git log -1", "make"}, asked, "the second was answered by the first")

		g = &Gate{Prompt: prompt, MaxPrompts: -1}
		for _, c := range []<-chan error{going(t.Context(), g, "s", bash("a")), going(t.Context(), g, "s", bash("b"))} {
			require.NoError(t, <-c)
		}
		assert.EqualValues(t, 2, most.Load())
		synctest.Wait()
	})
}

func TestReplyBesidePrompt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &Gate{Prompt: func(ctx context.Context, _ Prompt) (Answer, error) {
			<-ctx.Done()
			return Answer{}, ctx.Err()
		}}
		c := going(t.Context(), g, "s", bash("make"))
		synctest.Wait()
		reply(t, g, "make", Answer{Reply: Once})
		require.NoError(t, <-c)
		synctest.Wait()
	})
}

func TestCallbacksThatFail(t *testing.T) {
	boom := func() { panic("boom") }
	allow := Ruleset{{"*", "*", Allow}}
	gates := map[string]*Gate{
		"RulesFor":  {Rules: allow, RulesFor: func(context.Context, *tool.Call) []Ruleset { boom(); return nil }},
		"Intercept": {Rules: allow, Intercept: func(context.Context, *tool.Call, *tool.Request) (Verdict, error) { boom(); return Verdict{}, nil }},
		"Intercept error": {Rules: allow, Intercept: func(context.Context, *tool.Call, *tool.Request) (Verdict, error) {
			return Verdict{Action: Allow}, errors.New("x")
		}},
		"Intercept word":  {Rules: allow, Intercept: func(context.Context, *tool.Call, *tool.Request) (Verdict, error) { return Verdict{Action: "yes"}, nil }},
		"Prompt":          {Prompt: func(context.Context, Prompt) (Answer, error) { boom(); return Answer{}, nil }},
		"Prompt error":    {Prompt: func(context.Context, Prompt) (Answer, error) { return Answer{Reply: Once}, errors.New("x") }},
		"Prompt nonsense": {Prompt: func(context.Context, Prompt) (Answer, error) { return Answer{}, nil }},
		"Parent":          {Rules: allow, Parent: func(string) string { boom(); return "" }},
		"Decided":         {Rules: allow, Decided: func(Decision) { boom() }},
		"Store":           {Store: badStore{}},
	}
	for name, g := range gates {
		deniedBy(t, askIn(t.Context(), g, "s", bash("ls")))
		assert.Empty(t, g.Pending(""), name)
	}
	// The one who was told nothing cannot answer.
	g := &Gate{}
	defer g.Subscribe(func(e Event) {
		if e.Type == EventAsked {
			boom()
		}
	})()
	deniedBy(t, askIn(t.Context(), g, "s", bash("ls")))
}

type badStore struct{}

func (badStore) List(context.Context) ([]Approval, error)     { panic("boom") }
func (badStore) Add(context.Context, ...Approval) error       { return errors.New("disk full") }
func (badStore) Remove(context.Context, string) (bool, error) { return false, errors.New("disk full") }

func TestIntercept(t *testing.T) {
	var verdict Verdict
	prompts := 0
	g := &Gate{
		Rules:     parse(t, `{"bash":{"*":"ask","git *":"allow"}}`),
		Intercept: func(context.Context, *tool.Call, *tool.Request) (Verdict, error) { return verdict, nil },
		Prompt: func(_ context.Context, p Prompt) (Answer, error) {
			prompts++
			if verdict.Action == Ask {
				assert.Contains(t, p.Reasons, "the web was read")
			}
			return Answer{Reply: Always}, nil
		},
	}
	verdict = Verdict{Action: Allow}
	require.NoError(t, askIn(t.Context(), g, "s", bash("make")))
	assert.Zero(t, prompts)
	verdict = Verdict{Action: Deny, Reason: "not on Fridays"}
	assert.Contains(t, deniedBy(t, askIn(t.Context(), g, "s", bash("git log"))).Reason, "not on Fridays")
	verdict = Verdict{Action: Ask, Reason: "the web was read"}
	require.NoError(t, askIn(t.Context(), g, "s", bash("git log", "git log *")))
	require.NoError(t, askIn(t.Context(), g, "s", bash("git log", "git log *")))
	assert.Equal(t, 2, prompts, "no rule and no approval answers in the person's place")
	verdict = Verdict{}
	require.NoError(t, askIn(t.Context(), g, "s", bash("git log")))
	assert.Equal(t, 2, prompts)
}

func TestTightenOnlyTightens(t *testing.T) {
	prompts := 0
	g := &Gate{
		Rules:   parse(t, `{"bash":{"*":"ask","git *":"allow","rm *":"deny"}}`),
		Tighten: parse(t, `{"bash":{"*":"allow","git push *":"ask","git reset *":"deny"}}`),
		Prompt:  func(context.Context, Prompt) (Answer, error) { prompts++; return Answer{Reply: Once}, nil },
	}
	deniedBy(t, askIn(t.Context(), g, "s", bash("rm x")))
	deniedBy(t, askIn(t.Context(), g, "s", bash("git reset x")))
	require.NoError(t, askIn(t.Context(), g, "s", bash("git log")))
	assert.Zero(t, prompts)
	require.NoError(t, askIn(t.Context(), g, "s", bash("git push")))
	require.NoError(t, askIn(t.Context(), g, "s", bash("make")))
	assert.Equal(t, 2, prompts)
}

func TestRulesForAgent(t *testing.T) {
	g := &Gate{
		Rules: parse(t, `{"edit":"allow"}`),
		RulesFor: func(_ context.Context, call *tool.Call) []Ruleset {
			if call.Agent != nil && call.Agent.Name == "plan" {
				return []Ruleset{PlanRules("plan.md")}
			}
			return nil
		},
	}
	edit := func(agent *tool.Agent, path string) error {
		call := (&tool.Call{Agent: agent}).Bind(tool.Runtime{Approver: g})
		return call.Ask(t.Context(), &tool.Request{Permission: "edit", Patterns: []string{path}})
	}
	require.NoError(t, edit(nil, "a.go"))
	deniedBy(t, edit(&tool.Agent{Name: "plan"}, "a.go"))
	require.NoError(t, edit(&tool.Agent{Name: "plan"}, "plan.md"))
}

func TestDecided(t *testing.T) {
	var got []Decision
	g := &Gate{
		Rules:   parse(t, `{"bash":{"*":"ask","git *":"allow","rm *":"deny"}}`),
		Prompt:  func(context.Context, Prompt) (Answer, error) { return Answer{Reply: Always}, nil },
		Decided: func(d Decision) { got = append(got, d) },
	}
	for _, c := range []string{"git log", "rm x", "make", "make"} {
		_ = askIn(t.Context(), g, "s", bash(c, "make *"))
	}
	type short struct {
		a  Action
		by By
	}
	var shorts []short
	for _, d := range got {
		shorts = append(shorts, short{d.Action, d.By})
	}
	assert.Equal(t, []short{{Allow, ByRule}, {Deny, ByRule}, {Allow, ByUser}, {Allow, ByApproval}}, shorts)
	assert.Empty(t, got[0].Digest)
	assert.NotEmpty(t, got[2].Digest)
	assert.Equal(t, "make *", got[3].Grants[0].Pattern)
	assert.Equal(t, Rule{"bash", "rm *", Deny}, got[1].Rules.Judged[0].Rule)
}

func TestEventShapes(t *testing.T) {
	req := &tool.Request{ID: "perm_1", SessionID: "s", MessageID: "m", CallID: "c", Tool: "bash", Permission: "bash", Patterns: []string{"ls"}}
	p := NewPrompt(req, nil)
	b, err := json.Marshal(Event{Type: EventAsked, SessionID: "s", RequestID: "perm_1", Prompt: &p})
	require.NoError(t, err)
	var m struct {
		Type       string
		Properties map[string]any
	}
	require.NoError(t, json.Unmarshal(b, &m))
	assert.Equal(t, "permission.asked", m.Type)
	delete(m.Properties, "prompt")
	assert.Equal(t, map[string]any{
		"id": "perm_1", "sessionID": "s", "permission": "bash", "patterns": []any{"ls"}, "always": []any{}, "metadata": map[string]any{},
		"tool": map[string]any{"messageID": "m", "callID": "c"}, "toolName": "bash",
	}, m.Properties)
	b, err = json.Marshal(Event{Type: EventReplied, SessionID: "s", RequestID: "perm_1", Reply: Once})
	require.NoError(t, err)
	assert.JSONEq(t, `{"type":"permission.replied","properties":{"sessionID":"s","requestID":"perm_1","reply":"once"}}`, string(b))
}

func TestSubscriberMayReply(t *testing.T) {
	g := &Gate{}
	defer g.Subscribe(func(e Event) {
		if e.Type == EventAsked {
			assert.NoError(t, g.Reply(t.Context(), e.RequestID, Answer{Reply: Once}))
		}
	})()
	require.NoError(t, askIn(t.Context(), g, "s", bash("make")))
}

// TestConcurrent is for the race detector, and for the one invariant that
// concurrency could break: every ask gets exactly one answer.
func TestConcurrent(t *testing.T) {
	var n atomic.Int32
	g := &Gate{MaxPending: 1000, MaxPrompts: 4, Prompt: func(context.Context, Prompt) (Answer, error) {
		return Answer{Reply: []Reply{Once, Always, Reject}[n.Add(1)%3], Message: "x"}, nil
	}}
	cancel := g.Subscribe(func(Event) { g.Pending("") })
	var wg sync.WaitGroup
	for i := range 200 {
		wg.Go(func() {
			ctx, stop := context.WithTimeout(t.Context(), time.Duration(i%7+1)*10*time.Millisecond)
			defer stop()
			cmd := string(rune('a' + i%20))
			err := askIn(ctx, g, string(rune('0'+i%3)), bash("x "+cmd, "x "+cmd))
			if err != nil {
				assert.True(t, errors.Is(err, tool.ErrDenied) || errors.Is(err, tool.ErrCancelled), "%v", err)
			}
			g.SetPlan("2", []*Plan{nil, {}}[i%2])
		})
	}
	wg.Wait()
	cancel()
	assert.Empty(t, g.Pending(""))
	list, err := g.Approvals(t.Context())
	require.NoError(t, err)
	assert.True(t, slices.IsSortedFunc(list, func(a, b Approval) int { return a.Created.Compare(b.Created) }))
}
