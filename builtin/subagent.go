package builtin

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/agenttool/tool"
)

// SubagentRunner is the host's part of the tool task: it has the model and the
// loop. Limits, permissions and what comes back to the caller are the tool's part.
// It is called concurrently, and no lock is held. A panic is a failed call.
type SubagentRunner interface {
	// Subagents returns the agents that caller, which may be nil, may start. It is
	// asked for every turn, so it should be quick. With none, task is not offered.
	Subagents(ctx context.Context, caller *tool.Agent) ([]Subagent, error)

	// RunSubagent works on run.Prompt until the agent has an answer, and returns
	// it. It shows the model run.Tools, makes its calls with run.Call, and tells what
	// the model writes with run.Say, so that there is something to show for when it
	// does not get to the end. It must return soon after ctx is done; an answer
	// beside an error is a partial one.
	RunSubagent(ctx context.Context, run *SubagentRun) (answer string, err error)
}

// Subagent is an agent that task can start.
type Subagent struct {
	Name        string
	Description string // what it is good for; the caller's model reads it

	Model    string // "": the caller's model and provider
	Provider string

	// Tools switches tools off by name, or with "*" all that are not named. A
	// subagent has what its caller has, except task, todowrite, todoread and
	// question, which it has only if they are true here, and plan_enter and plan_exit,
	// which it never has.
	Tools map[string]bool
}

// TaskConfig says how subagents run. The zero value offers no task.
type TaskConfig struct {
	Runner SubagentRunner // nil: task is not offered

	// In the limits, 0 means the default. Time that the user takes to answer counts
	// for none of them.
	Depth    int           // how many agents may stand below the user's; 2
	Parallel int           // subagents of one session that run at once, further ones wait; 8
	Time     time.Duration // of one run; 30 min; <0: no limit
	Idle     time.Duration // of a run in which nothing is said and no call runs; 5 min; <0: no limit
	Turns    int           // rounds of calls in a run; 100; <0: no limit
	Calls    int           // calls in a run; 500; <0: no limit
	Tokens   int           // that a run may spend, as the runner reports it; 0: no limit
	Output   int           // text that comes back, in bytes; 50 KiB
	Stop     time.Duration // how long the runner may take to return when it is stopped; 4 s
}

func (c TaskConfig) withDefaults() TaskConfig {
	def(&c.Depth, 2)
	def(&c.Parallel, 8)
	unless(&c.Time, 30*time.Minute)
	unless(&c.Idle, 5*time.Minute)
	unless(&c.Turns, 100)
	unless(&c.Calls, 500)
	def(&c.Output, 50<<10)
	def(&c.Stop, 4*time.Second)
	return c
}

// unless is def for limits that a negative value switches off.
func unless[T int | time.Duration](p *T, v T) {
	if *p == 0 {
		*p = v
	}
}

// InvokedKey is the key of [Invoked] in [tool.Call].Values.
const InvokedKey = "builtin.invoked"

// Invoked is what the user named in the message that the call answers, so that
// the user need not be asked about it again. Only a host can set it, as Values
// never come from a model or another process. What the configuration denies is
// denied all the same, as the host does not list it.
type Invoked struct {
	Agents []string // task does not ask for these
	Skills []string // skill does not ask for these
}

func invoked(call *tool.Call) Invoked {
	in, _ := call.Values[InvokedKey].(Invoked)
	return in
}

// ErrSubagentIdle is the cause of the end of a subagent in which nothing happened for too long.
var ErrSubagentIdle = errors.New("nothing happened in the subagent for too long")

// ErrSubagentBudget is the cause of the end of a subagent that used up its turns, calls or tokens.
var ErrSubagentBudget = errors.New("the subagent used up its budget")

// SubagentRun is one run of a subagent. The fields are for reading. The methods
// are safe for concurrent use; after the run they do nothing, and Call fails.
type SubagentRun struct {
	SessionID string // of the subagent; new, or the one that is resumed
	ParentID  string // session that started it
	MessageID string // of the call of task
	CallID    string // of the call of task: the Parent of the subagent's calls

	Title   string // for the session: "… (@name subagent)"
	Prompt  string
	Command string // the user's command that led to this, if the model said so
	Resumed bool   // the session has a history, which the host kept

	Subagent Subagent
	Agent    *tool.Agent // the subagent as its calls carry it: with its model, and its caller as Parent

	ts    *Toolset
	call  *tool.Call
	ctx   context.Context // of the run
	set   *tool.Set
	state runState
}

// Tools returns what the subagent is offered: at most what its caller is.
func (r *SubagentRun) Tools() *tool.Set { return r.set }

// Say tells what the subagent's model wrote last: the whole text of a message,
// not a delta. It counts as a sign of life.
func (r *SubagentRun) Say(text string) { r.state.say(text) }

// Spend counts tokens. It returns an error that matches [ErrSubagentBudget] when
// there are no more to spend; the run is being stopped then.
func (r *SubagentRun) Spend(tokens int) error { return r.state.spend(tokens) }

// Call makes the calls of one message of the subagent's model and returns one
// outcome for each, in the same order. Session, agent and parent are filled in. The
// calls go through the executor of the call of task, with its approver, middleware
// and observer. A call of task that stands on no executor ([tool.Call.Bind]) gives them
// its approver and its way to bound results; they are the toolset's own then.
//
// When turns or calls are used up, calls are not run, and their results tell the
// model to answer with what it has. The error is that of [tool.Batch.Wait], or
// says that the run is over; the run should end with it.
func (r *SubagentRun) Call(ctx context.Context, calls ...*tool.Call) ([]tool.Outcome, error) {
	first, n, err := r.state.admit(len(calls))
	if err != nil {
		return nil, err
	}
	defer r.state.release()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(r.ctx, func() { cancel(context.Cause(r.ctx)) })()
	batch, err := r.start(ctx)
	if err != nil {
		return nil, err
	}
	for i, c := range calls[:n] {
		own := tool.Call{}
		if c != nil {
			own = *c
		}
		own.SessionID, own.Agent, own.Parent = r.SessionID, r.Agent, r.CallID
		if own.ID == "" {
			own.ID = fmt.Sprintf("%s.%d", r.CallID, first+i)
		}
		own.Values = maps.Clone(own.Values)
		delete(own.Values, InvokedKey)
		batch.Go(&own)
	}
	out, err := batch.Wait()
	for _, c := range calls[n:] {
		spent := fmt.Errorf("%w: this call was not run. Make no more calls; answer with what you have, and say what is missing", ErrSubagentBudget)
		out = append(out, tool.Outcome{Call: c, Err: spent, Result: &tool.Result{Text: spent.Error(), IsError: true}})
	}
	r.state.after(out, err)
	return out, err
}

// start begins a round of calls.
func (r *SubagentRun) start(ctx context.Context) (*tool.Batch, error) {
	if r.call.Offered() != nil {
		return r.call.Start(ctx, r.set, &tool.Nested{Observe: r.state.observe, Pause: r.state.pause})
	}
	rt := r.call.Runtime()
	ex := &tool.Executor{Truncate: rt.Truncate, Observe: r.state.observe}
	if rt.Approver != nil {
		ex.Approver = tool.ApproverFunc(func(ctx context.Context, call *tool.Call, req *tool.Request) error {
			defer r.state.pause()()
			if rt.Pause != nil {
				defer rt.Pause()()
			}
			return rt.Approver.Approve(ctx, call, req)
		})
	}
	return ex.Start(ctx, r.set), nil
}

// onRequest is what a subagent has only if its agent says so, never what it never has.
var (
	onRequest = []string{"task", "todowrite", "todoread", "question"}
	never     = []string{"plan_enter", "plan_exit"}
)

// has reports whether the agent has a tool that its caller has.
func (a *Subagent) has(name string) bool {
	if slices.Contains(never, name) {
		return false
	}
	on, named := a.Tools[name]
	if !named && !slices.Contains(onRequest, name) {
		if on, named = a.Tools["*"]; !named {
			return true
		}
	}
	return on
}
