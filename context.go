package tool

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"sync/atomic"
)

// Call is one call of a tool by a model: what it is, and what the running tool
// can do. The exported fields are set by the host and must not be changed while
// the call runs. The methods are safe for concurrent use, also on a Call that
// was never bound to a runtime: then Update does nothing, Ask denies, and Invoke fails.
type Call struct {
	ID     string          // the provider's id of the call; repeated in outcome, events and requests
	Tool   string          // the name as the model wrote it; may be an alias
	Parent string          // the ID of the call that made this one through Invoke or Start; "" for the model's own
	Input  json.RawMessage // the arguments as they came

	SessionID string
	MessageID string
	Agent     *Agent         // the calling agent; nil if the host has only one
	Values    map[string]any // the host's own; never leaves the process

	rt runtime
}

// Agent describes who is calling, so that specs, filters and sources can depend
// on it. The zero value and nil are an agent of which nothing is known.
type Agent struct {
	Name      string
	Model     string // model id, as the provider spells it
	Provider  string // "anthropic", "openai", "google", ...
	Client    string // the kind of client the user sits at: "cli", "app", "desktop", ...
	SessionID string
	Flags     map[string]bool
	Values    map[string]any // the host's own

	// Parent is the agent that started this one as its subagent, nil for one that
	// the user talks to. A subagent may do at most what those above it may.
	Parent *Agent
}

// Flag reports whether the named flag is set. A nil Agent has none.
func (a *Agent) Flag(name string) bool { return a != nil && a.Flags[name] }

// Update is progress of a running call. Empty fields leave what was there;
// Metadata replaces the keys it has.
type Update struct {
	Title    string
	Text     string // the output so far, or its tail; not a delta
	Metadata map[string]any
}

// Request is a question of permission. The tool fills in what it wants to do;
// [Call.Ask] fills in who asks. A Request is not changed once it was handed to an [Approver].
type Request struct {
	ID        string `json:"id"` // unguessable
	SessionID string `json:"sessionID"`
	MessageID string `json:"messageID"`
	CallID    string `json:"callID"`
	Tool      string `json:"tool"`            // the tool that asks
	Agent     string `json:"agent,omitempty"` // its agent's name

	Permission string         `json:"permission"`         // the kind: "read", "edit", "bash", "external_directory", ...
	Title      string         `json:"title,omitempty"`    // one line for the prompt
	Patterns   []string       `json:"patterns"`           // what would be done now; every one must be allowed
	Always     []string       `json:"always"`             // what "always" would grant; empty: nothing beyond this once
	Metadata   map[string]any `json:"metadata,omitempty"` // for the prompt: the diff, the command, the path

	// Protected: secrets, and files that make programs run something. Only a rule
	// whose pattern is more than "*" can allow it.
	Protected bool `json:"protected,omitempty"`

	// Opaque: the patterns are texts whose parts cannot be judged. Where there is no
	// Judge, only a rule for everything ("*"), with no narrower one that denies or
	// asks, can allow it, and no approval does.
	Opaque bool `json:"opaque,omitempty"`

	// Judge, if not nil, says what rules mean for this request, where matching
	// patterns is not enough, as with a line of shell. It has no side effects and is
	// safe for concurrent use. What rules deny by pattern stays denied, but for a "*"
	// with narrower rules after it, which are Judge's to weigh. Judge does not survive
	// the way to another process; the other fields speak for themselves there.
	Judge func(rules []Rule, approved []string) Judgement `json:"-"`
}

// Rule is one line of a permission configuration, as a [Request] that judges
// itself sees it. Both names are wildcard patterns; the last rule that matches decides.
type Rule struct {
	Permission string
	Pattern    string
	Action     string // "allow", "ask" or "deny"
}

// Judgement is what rules mean for a request.
type Judgement struct {
	Action  string   // "allow", "ask" or "deny"; anything else denies
	Reasons []string // why it is not allowed, for people
}

// An Approver decides about requests. A nil error allows; a *[DeniedError]
// denies with a reason that the model reads; the context's error says that the
// call ended first. Any other error denies too. Approve may block for as long as
// a user needs, and is called concurrently; no lock of this package is held, and
// the time it takes does not count against the call's timeout.
type Approver interface {
	Approve(ctx context.Context, call *Call, req *Request) error
}

// ApproverFunc is a function that is an [Approver].
type ApproverFunc func(ctx context.Context, call *Call, req *Request) error

// Approve calls f.
func (f ApproverFunc) Approve(ctx context.Context, call *Call, req *Request) error {
	return f(ctx, call, req)
}

// RunFunc handles a call; see [Tool.Run].
type RunFunc func(ctx context.Context, call *Call) (*Result, error)

// TruncateFunc bounds res in place. It must set Result.Truncated, and must do
// nothing when it is set already. See [Truncator].
type TruncateFunc func(ctx context.Context, call *Call, spec *Spec, res *Result) error

// Runtime is what a Call stands on. Custom loops and tests bind one themselves;
// the [Executor] brings its own. Nil fields are safe: no approver denies, no
// Update drops, no Invoke fails, no Truncate bounds with the default
// [truncate.Policy] and keeps no copy, no Offers means that nothing is known.
type Runtime struct {
	Approver Approver
	Update   func(call *Call, u Update)
	Invoke   RunFunc // runs a sibling: the Call has Tool, Input, Parent and an ID
	Truncate TruncateFunc
	Offers   func(name string) bool // whether the model may call the named tool
	// Pause stops the clock of the call's timeout until resume is called; used while asking.
	Pause func() (resume func())

	under runtime // what Call.Runtime was asked of; it knows when events were observed and when the call is over
}

// runtime is what Call's methods use: a bound Runtime or an executor's own state.
type runtime interface {
	approver() Approver
	update(*Call, Update)
	invoke(ctx context.Context, parent *Call, name string, input json.RawMessage) (*Result, error)
	truncate(context.Context, *Call, *Spec, *Result) error
	offers(name string) bool
	pause() (resume func())
	flush(context.Context)
	crashOnPanic() bool
	over() bool // the call has its outcome already
	nest(ctx context.Context, c *Call, set *Set, opt *Nested) (*Batch, error)
	offered() *Set
}

// Update reports progress: a live title, the output so far, metadata. It is
// cheap and never waits for whoever reads it. After the call ended it does nothing.
func (c *Call) Update(u Update) {
	if c.rt != nil {
		c.rt.update(c, u)
	}
}

// Ask asks for permission and returns nil if it is granted. Otherwise the error
// is a *[DeniedError], or a *[CancelledError] if the context ended while asking,
// whatever was answered then; return it from the tool as it is. Ids in req are
// overwritten. A Call without an approver, and one that is over, is denied.
func (c *Call) Ask(ctx context.Context, req *Request) error {
	if req == nil {
		return &DeniedError{Reason: "Nothing was asked for"}
	}
	r := *req
	r.ID = "perm_" + rand.Text()
	r.SessionID, r.MessageID, r.CallID = c.SessionID, c.MessageID, c.ID
	if r.Tool == "" {
		r.Tool = c.Tool
	}
	if c.Agent != nil {
		r.Agent = c.Agent.Name
	}
	var ap Approver
	if c.rt != nil {
		ap = c.rt.approver()
	}
	if ap == nil {
		return &DeniedError{Request: &r, Reason: "Nobody can be asked for permission here"}
	}
	if c.rt.over() {
		return &DeniedError{Request: &r, Reason: "The call that asks is over"}
	}
	defer c.rt.pause()()
	c.rt.flush(ctx)
	err := approve(ctx, ap, c, &r)
	if err == nil {
		// The outcome of a call that ended meanwhile says that nothing was done.
		switch {
		case ctx.Err() != nil:
			return &CancelledError{Cause: context.Cause(ctx)}
		case c.rt.over():
			return &DeniedError{Request: &r, Reason: "The call ended before the answer came"}
		}
		return nil
	}
	var denied *DeniedError
	switch {
	case errors.As(err, &denied):
		if denied.Request == nil {
			d := *denied
			d.Request = &r
			return &d
		}
		return err
	case errors.Is(err, ErrAbort):
		return err
	case ctx.Err() != nil:
		return &CancelledError{Cause: context.Cause(ctx)}
	}
	return &DeniedError{Request: &r, Reason: "Permission could not be asked for: " + clip(err.Error(), 300), Err: err}
}

// approve turns a panic of the host's approver into a refusal.
func approve(ctx context.Context, ap Approver, c *Call, r *Request) (err error) {
	defer func() {
		if v := recover(); v != nil {
			perr := &PanicError{Tool: c.Tool, Value: v, Stack: debug.Stack()}
			err = &DeniedError{Request: r, Reason: "The permission prompt failed", Err: perr}
		}
	}()
	return ap.Approve(ctx, c, r)
}

// Invoke calls another of the tools offered in this turn, through the same
// permissions, middleware and events, with Parent set to this call's ID. A call
// that fails is a Result with IsError and a nil error, to be passed on or
// summed up; an error means that nothing was or could be run, or that the turn is to end.
func (c *Call) Invoke(ctx context.Context, name string, input json.RawMessage) (*Result, error) {
	if c.rt == nil {
		return nil, fmt.Errorf("tool %s cannot call %s: the call is not bound to a runtime", c.Tool, name)
	}
	return c.rt.invoke(ctx, c, name, input)
}

// Offers reports whether the model may call the named tool in this turn, so that
// a message does not send it to one that is not there.
func (c *Call) Offers(name string) bool { return c.rt != nil && c.rt.offers(name) }

// Bind returns a copy of c that stands on rt. It makes a Call usable without
// the [Executor]: build one, bind an approver and an update sink, run the tool.
func (c *Call) Bind(rt Runtime) *Call {
	n := *c
	n.rt = &boundRuntime{Runtime: rt}
	return &n
}

// Runtime returns what c stands on, so that a middleware can bind a copy with
// one part replaced. The zero Runtime if c is not bound.
func (c *Call) Runtime() Runtime {
	if c.rt == nil {
		return Runtime{}
	}
	if b, ok := c.rt.(*boundRuntime); ok {
		return b.Runtime
	}
	rt := c.rt
	return Runtime{
		under:    rt,
		Approver: rt.approver(),
		Update:   rt.update,
		Invoke: func(ctx context.Context, call *Call) (*Result, error) {
			return rt.invoke(ctx, c, call.Tool, call.Input)
		},
		Truncate: rt.truncate,
		Offers:   rt.offers,
		Pause:    rt.pause,
	}
}

// truncate bounds res by the runtime's policy, or by the default one.
func (c *Call) truncate(ctx context.Context, spec *Spec, res *Result) error {
	if c.rt != nil {
		return c.rt.truncate(ctx, c, spec, res)
	}
	return defaultTruncate(ctx, c, spec, res)
}

type boundRuntime struct {
	Runtime
	kids atomic.Int32 // calls made through Invoke, for their ids
}

func (b *boundRuntime) approver() Approver { return b.Approver }

func (b *boundRuntime) update(c *Call, u Update) {
	if b.Update != nil {
		b.Update(c, u)
	}
}

func (b *boundRuntime) invoke(ctx context.Context, parent *Call, name string, input json.RawMessage) (*Result, error) {
	if b.Invoke == nil {
		return nil, fmt.Errorf("tool %s cannot call %s: no tools are bound", parent.Tool, name)
	}
	child := &Call{
		ID: fmt.Sprintf("%s.%d", parent.ID, b.kids.Add(1)), Tool: name, Parent: parent.ID, Input: input,
		SessionID: parent.SessionID, MessageID: parent.MessageID, Agent: parent.Agent, Values: parent.Values,
		rt: b,
	}
	return b.Invoke(ctx, child)
}

func (b *boundRuntime) truncate(ctx context.Context, c *Call, spec *Spec, res *Result) error {
	if b.Truncate != nil {
		return b.Truncate(ctx, c, spec, res)
	}
	return defaultTruncate(ctx, c, spec, res)
}

func (b *boundRuntime) offers(name string) bool { return b.Offers != nil && b.Offers(name) }

func (b *boundRuntime) pause() func() {
	if b.Pause != nil {
		return b.Pause()
	}
	return func() {}
}

func (b *boundRuntime) flush(ctx context.Context) {
	if b.under != nil {
		b.under.flush(ctx)
	}
}

func (b *boundRuntime) crashOnPanic() bool { return b.under != nil && b.under.crashOnPanic() }

func (b *boundRuntime) over() bool { return b.under != nil && b.under.over() }

type callKey struct{}

// NewContext returns a context that carries call; see [FromContext]. The
// [Executor] does this for the tools it runs.
func NewContext(ctx context.Context, call *Call) context.Context {
	return context.WithValue(ctx, callKey{}, call)
}

// FromContext returns the call that ctx belongs to, for code far below a tool
// that was handed nothing but a context.
func FromContext(ctx context.Context) (*Call, bool) {
	c, ok := ctx.Value(callKey{}).(*Call)
	return c, ok
}
