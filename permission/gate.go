package permission

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/agenttool/tool"
)

// Gate decides about requests: by rules, by remembered approvals, or by asking a
// person. It is a [tool.Approver]. The zero value is ready for use: it would ask
// everything, but has nobody to ask, and so denies everything at once.
//
// The exported fields must not change once the gate is in use. All methods are
// safe for concurrent use; no lock is held while anything of the host is called,
// and a callback that panics denies the request at hand. A Gate must not be copied.
type Gate struct {
	// Rules are the configuration. What they deny is denied, whatever follows.
	Rules Ruleset

	// RulesFor, if not nil, returns further rules, of the call's agent or session.
	// They follow Rules, so the last match may be among them. The call may be nil. For
	// the call of a subagent ([tool.Agent].Parent) it is also asked about the same
	// call by each agent above, and the strictest decision counts.
	RulesFor func(ctx context.Context, call *tool.Call) []Ruleset

	// Tighten are rules that can only make a decision stricter, for sources that are
	// not trusted to allow anything, as a configuration found in a project. What
	// they do not match stays as it is.
	Tighten Ruleset

	// Intercept, if not nil, is asked about what the configuration does not deny.
	// It can deny, have a person asked even if rules or approvals allow, allow
	// without a question, or leave things as they are. An error denies.
	Intercept func(ctx context.Context, call *tool.Call, req *tool.Request) (Verdict, error)

	// Prompt, if not nil, puts a question to a person and waits for the answer. Its
	// context ends when the question was settled otherwise or nobody waits for it
	// any more; it must return then, and its answer is ignored. An error denies, a
	// *[tool.DeniedError] in its own words. It is called for one question at a time,
	// unless MaxPrompts says more; those that wait meanwhile may be settled by the
	// answer. It runs in its own goroutine.
	Prompt func(ctx context.Context, p Prompt) (Answer, error)

	MaxPrompts    int           // Prompts at once; 0: 1; <0: no limit
	MaxPending    int           // open questions per session, beyond which requests are denied; 0: 32
	MaxRejections int           // of the same request in a session, after which it is denied unasked; 0: 3; <0: no limit
	Timeout       time.Duration // how long a request waits for an answer; 0: until its call ends

	// ContinueOnReject lets the turn go on after a rejection without a message. By
	// default the turn ends there, as the person has to say what to do instead.
	ContinueOnReject bool

	// Project identifies what approvals of [ScopeProject] are for, such as the
	// resolved path of its root. "": there are none.
	Project string

	// Store keeps approvals of project and user scope. nil: in memory.
	Store Store

	// Parent, if not nil, returns the session that started a session, or "". Plan
	// mode and approvals of a session hold for those it started, too. Nil means
	// what the agents of the calls say: the session of [tool.Agent].Parent.
	Parent func(sessionID string) string

	// Decided, if not nil, is called with every decision, in the goroutine of the call. It is for audits.
	Decided func(Decision)

	Logger *slog.Logger // told when a store fails; nil: nobody

	mu          sync.Mutex
	sessions    map[string]*session
	questions   map[string]*question // open, by the id of their request
	order       []*question          // open, in the order they were asked
	settled     settledIDs
	version     int // counts changes that may answer a question which is about to be asked
	subscribers []*subscriber
	events      []queuedEvent
	delivering  bool
	prompting   int         // Prompts under way
	waiting     []*question // for a Prompt
	memory      MemoryStore
}

const (
	defaultMaxPending    = 32
	defaultMaxRejections = 3
	maxParents           = 64 // steps up to the first session, in case Parent goes in circles
)

// Verdict is what an interceptor says. The zero value leaves things as they are.
type Verdict struct {
	// Action: [Deny] denies; [Ask] has a person asked, whatever rules and approvals
	// say; [Allow] allows without a question. "" has no opinion.
	Action Action
	Reason string // of a Deny, for the model; of an Ask, for the person
}

// By says what decided.
type By string

// What can decide.
const (
	ByRule        By = "rule"        // the configuration
	ByTighten     By = "tighten"     // [Gate.Tighten]
	ByPlan        By = "plan"        // plan mode
	ByIntercept   By = "intercept"   // [Gate.Intercept]
	ByApproval    By = "approval"    // something granted before
	ByUser        By = "user"        // the answer to this question
	ByCascade     By = "cascade"     // the answer to another question
	ByNobody      By = "nobody"      // there is nobody to ask
	ByLimit       By = "limit"       // too many questions, or rejected too often
	ByTimeout     By = "timeout"     // nobody answered in time
	ByFailure     By = "failure"     // a callback failed
	ByCancelation By = "cancelation" // the call ended first
)

// Decision is the record of one request that was decided.
type Decision struct {
	Request *tool.Request
	Action  Action // [Allow] or [Deny]
	By      By
	Reason  string        // for people, in display form; "" if there is nothing to say
	Rules   AskVerdict    // what the configuration said
	Grants  []Approval    // with ByApproval: what covered the patterns that are not allowed by rules
	Digest  string        // of the request, if it came to a question; see [Prompt]
	Waited  time.Duration // for the answer
}

// Approve decides about req. See [tool.Approver] for the error: a denial is a
// *[tool.DeniedError] whose reason is meant for the model, with EndTurn after a
// rejection without a message; a context that ends is its error.
func (g *Gate) Approve(ctx context.Context, call *tool.Call, req *tool.Request) error {
	d := Decision{Request: req}
	start := time.Now()
	var err error
	if perr := guard(func() error { err = g.decide(ctx, call, req, &d); return nil }); perr != nil {
		d.By = ByFailure
		err = denied(req, checkFailed, perr)
	}
	d.Action = Allow
	if err != nil {
		d.Action = Deny
		d.Reason = VisibleLine(err.Error())
	}
	if d.Digest != "" {
		d.Waited = time.Since(start)
	}
	if g.Decided != nil {
		if perr := guard(func() error { g.Decided(d); return nil }); perr != nil && err == nil {
			err = denied(req, checkFailed, perr)
		}
	}
	return err
}

// decide is Approve without the record; it fills in what decided.
func (g *Gate) decide(ctx context.Context, call *tool.Call, req *tool.Request, d *Decision) error {
	if err := ctx.Err(); err != nil {
		d.By = ByCancelation
		return err
	}
	rules := []Ruleset{g.Rules}
	if g.RulesFor != nil {
		rules = append(rules, g.RulesFor(ctx, call)...)
	}
	d.Rules = verdict(req, rules)
	d.By = ByRule
	if d.Rules.Decision == Deny {
		return denied(req, "Denied by the configuration: "+whyDenied(d.Rules), nil)
	}
	c := asking{ctx: ctx, req: req, d: d, rules: rules, action: d.Rules.Decision, reasons: slices.Clone(d.Rules.Reasons)}
	g.learn(call)
	if a, why := g.above(ctx, call, req); a == Deny {
		return denied(req, "Denied by the configuration of its caller: "+why, nil)
	} else if a == Ask && c.action == Allow {
		c.action, c.reasons, c.all = Ask, append(c.reasons, why), true
	}
	if a, why := tighten(req, g.Tighten); a == Deny {
		d.By = ByTighten
		return denied(req, "Denied by the configuration: "+why, nil)
	} else if a == Ask {
		c.action, c.reasons, c.all = Ask, append(c.reasons, why), true
	}
	if v, err := g.intercept(ctx, call, req); err != nil {
		d.By = ByIntercept
		return denied(req, checkFailed, err)
	} else {
		switch v.Action {
		case "":
		case Allow:
			if c.action == Ask {
				d.By = ByIntercept
			}
			c.action = Allow
		case Ask:
			c.action, c.forced = Ask, true
			if v.Reason != "" {
				c.reasons = append(c.reasons, v.Reason)
			}
		default:
			d.By = ByIntercept
			return denied(req, v.Reason, nil)
		}
	}
	for {
		again, err := g.settleOrAsk(&c)
		if !again {
			return err
		}
	}
}

func (g *Gate) intercept(ctx context.Context, call *tool.Call, req *tool.Request) (Verdict, error) {
	if g.Intercept == nil {
		return Verdict{}, nil
	}
	return g.Intercept(ctx, call, req)
}

// asking is a request on its way to a person.
type asking struct {
	ctx     context.Context
	req     *tool.Request
	d       *Decision
	rules   []Ruleset
	action  Action
	all     bool // every pattern needs consent, also those that rules allow
	forced  bool // no approval counts
	reasons []string
}

// covered returns the approvals among grants that together consent to the
// request, as far as rules do not allow it already.
func (c *asking) covered(grants []Approval) (by []Approval, ok bool) {
	if c.forced || c.req.Opaque && c.req.Judge == nil {
		return nil, false
	}
	if c.req.Judge != nil {
		rules := c.rules
		if c.all {
			rules = []Ruleset{{{"*", "*", Ask}}}
		}
		var approved []string
		for _, a := range grants {
			// Of something protected, only what was offered as it stands counts: the
			// request knows better than a wildcard what else it stands for.
			if a.Permission == c.req.Permission && (!c.req.Protected || slices.Contains(c.req.Patterns, a.Pattern) || slices.Contains(c.req.Always, a.Pattern)) {
				by, approved = append(by, a), append(approved, a.Pattern)
			}
		}
		decision, _ := ask(c.req, rules, approved)
		return by, decision == Allow && len(by) > 0
	}
next:
	for _, p := range c.d.Rules.Judged {
		if p.Decision == Allow && !c.all {
			continue
		}
		for i := range grants {
			if grants[i].covers(c.req, p.Pattern) {
				by = append(by, grants[i])
				continue next
			}
		}
		return nil, false
	}
	return by, true
}

// settleOrAsk takes the steps that what others do meanwhile can change. It says
// to be called again if that happened just before the question was put.
func (g *Gate) settleOrAsk(c *asking) (again bool, err error) {
	g.mu.Lock()
	version := g.version
	g.mu.Unlock()
	line := g.lineage(c.req.SessionID)
	action := c.action
	switch a, why := judgePlans(g.plans(line), c.req); {
	case a == Deny:
		c.d.By = ByPlan
		return false, denied(c.req, why, nil)
	case a == Ask:
		action, c.all = Ask, true
		c.note(why)
	case a == Allow && action == Ask && !c.forced && !c.all:
		action = Allow
		c.d.By = ByPlan
	}
	if action == Allow {
		return false, nil
	}
	if !c.forced {
		stored, err := g.stored(c.ctx)
		if err != nil {
			c.note("remembered approvals could not be read: " + err.Error())
		}
		if by, ok := c.covered(g.grants(line, stored)); ok {
			c.d.By, c.d.Grants = ByApproval, by
			return false, nil
		}
	}
	return g.ask(c, version)
}

// note adds a reason once.
func (c *asking) note(reason string) {
	if !slices.Contains(c.reasons, reason) {
		c.reasons = append(c.reasons, reason)
	}
}

func (g *Gate) log() *slog.Logger {
	if g.Logger != nil {
		return g.Logger
	}
	return slog.New(slog.DiscardHandler)
}

// denied makes the error of a denial. The reason is a sentence without its full stop.
func denied(req *tool.Request, reason string, err error) *tool.DeniedError {
	return &tool.DeniedError{Request: req, Reason: reason, Err: err}
}

// whyDenied names the rule that denied, if it was one, or else all there is to say.
func whyDenied(v AskVerdict) string {
	for _, p := range v.Judged {
		if p.Decision == Deny {
			return p.Reason
		}
	}
	return strings.Join(v.Reasons, "; ")
}

// guard turns a panic of the host's code into an error. That of a tool that ends
// its goroutine is one, too: nothing may be allowed by not returning.
func guard(f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("panic: %v\n%s", v, debug.Stack())
		}
	}()
	return f()
}

// Reasons of denials, for the model.
const (
	unattended   = "Nobody can be asked for permission here"
	checkFailed  = "A permission check failed"
	promptFailed = "The permission prompt failed"
)
