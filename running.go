package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// running is one call under way. It is the runtime of its Call.
type running struct {
	b        *Batch
	orig     *Call // the host's
	call     Call  // the tool's, bound to this
	tool     Tool  // nil if there is none of that name
	spec     *Spec
	err      error // of the lookup
	parallel bool

	parent *running // the call that made this one through Invoke
	depth  int
	kids   atomic.Int32 // calls made through Invoke, for their ids

	base  context.Context // of the turn, or of the call that made this one
	ctx   callContext     // for the tool's goroutine only
	clock *clock          // nil without a timeout

	// Guarded by b.mu.
	after   *running // in the queue for workers
	started bool
	settled bool
	outcome Outcome
	last    Update        // merged updates: the partial output of a tool that never returns
	done    chan struct{} // closed when settled; only for calls made by Invoke
	late    *time.Timer   // abandons a timed-out call after its grace

	// Guarded by the event queue.
	queued     int
	lastQueued *Update
}

// callContext is the context of a running tool: it knows its call.
type callContext struct {
	context.Context
	call *Call
}

func (c *callContext) Value(key any) any {
	if _, ok := key.(callKey); ok {
		return c.call
	}
	return c.Context.Value(key)
}

func (r *running) lookup() {
	r.tool, r.spec, r.err = r.b.set.Lookup(r.call.Tool)
	r.parallel = r.spec == nil || r.spec.Parallel
	r.call.rt = r
	r.base = r.b.ctx
}

// dispatch is what the middleware is wrapped around.
func dispatch(ctx context.Context, call *Call) (*Result, error) {
	r, ok := call.rt.(*running)
	if !ok {
		c, found := FromContext(ctx)
		if !found {
			return nil, errors.New("the call lost its executor; pass on the context that the middleware was given")
		}
		r = c.rt.(*running)
	}
	if r.tool == nil {
		return nil, r.err
	}
	return r.tool.Run(ctx, call)
}

// exec runs the tool and settles the call.
func (r *running) exec() {
	ex, ctx := r.b.ex, r.base
	limit := ex.Timeout
	if r.spec != nil && r.spec.Timeout != 0 {
		limit = max(r.spec.Timeout, 0)
	}
	if limit > 0 {
		var cancel context.CancelCauseFunc
		ctx, cancel = context.WithCancelCause(ctx)
		r.clock = newClock(limit, func() {
			err := &TimeoutError{Tool: r.name(), Limit: limit}
			cancel(err)
			r.abandonAfter(ex.grace(), err)
		})
		defer cancel(nil)
	}
	r.ctx = callContext{ctx, &r.call}
	var (
		res      *Result
		err      error
		returned bool
	)
	defer func() {
		goesOn := true
		if !returned {
			if ex.CrashOnPanic {
				return
			}
			v := recover()
			if v == nil {
				goesOn = false
				v = errors.New("the tool ended its goroutine")
			}
			err = &PanicError{Tool: r.name(), Value: v, Stack: debug.Stack()}
		}
		r.finish(ctx, res, err, goesOn)
	}()
	res, err = r.b.run(&r.ctx, &r.call)
	returned = true
}

func (r *running) name() string {
	if r.spec != nil {
		return r.spec.Name
	}
	return r.call.Tool
}

// finish settles the call with what its tool returned. The methods of an error
// are foreign code too, so a panic in them is one failed call as well.
func (r *running) finish(ctx context.Context, res *Result, err error, goesOn bool) {
	perr := guard(func() error {
		if err != nil {
			err = withCause(ctx, err)
			var p *PanicError
			if errors.As(err, &p) {
				r.b.ex.log().Error("tool panicked", "tool", r.name(), "call", r.call.ID, "panic", p.Value, "stack", string(p.Stack))
			}
		}
		res = r.result(ctx, res, err)
		return nil
	})
	if perr != nil {
		p := &PanicError{Tool: r.name(), Value: perr}
		res, err = &Result{Title: r.name(), Text: p.ModelText(), IsError: true, Truncated: &Truncation{}}, p
	}
	if r.clock != nil {
		r.clock.stop()
	}
	if !r.b.settle(r, res, err, goesOn) {
		r.b.ex.log().Warn("result of an abandoned tool dropped", "tool", r.name(), "call", r.call.ID)
	}
}

// withCause makes an error that comes from the end of ctx say why ctx ended.
func withCause(ctx context.Context, err error) error {
	if ctx.Err() == nil || errors.Is(err, ErrAbort) || errors.Is(err, ErrTimeout) || errors.Is(err, ErrCancelled) {
		return err
	}
	cause := context.Cause(ctx)
	var timeout *TimeoutError
	if !errors.As(cause, &timeout) {
		cause = &CancelledError{Cause: cause}
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || err.Error() == context.Cause(ctx).Error() {
		return cause
	}
	return errors.Join(cause, err)
}

// maxErrorText bounds what an error tells the model, in bytes.
const maxErrorText = 16 << 10

// result makes the Result that goes into the outcome. The tool's own is not changed.
func (r *running) result(ctx context.Context, res *Result, err error) *Result {
	if res == nil {
		res = &Result{}
	}
	title, calledAs := validText(res.Title), ""
	if r.spec != nil {
		if title == "" {
			title = r.spec.label()
		}
		if r.spec.Name != r.orig.Tool {
			calledAs = r.orig.Tool
		}
	}
	text := validText(res.Text)
	if err == nil && res.Truncated != nil && title == res.Title && text == res.Text && calledAs == "" && len(res.Attachments) == 0 {
		return res
	}
	c := *res
	c.Title, c.Text = title, text
	if c.Truncated == nil {
		spec := r.spec
		if spec == nil {
			spec = &Spec{Name: r.call.Tool}
		}
		_ = r.truncate(ctx, &r.call, spec, &c) // the default never fails
	}
	if calledAs != "" {
		c.Metadata = withKey(c.Metadata, "calledAs", clip(calledAs, maxName))
	}
	c.Attachments = r.attachments(res.Attachments)
	if err != nil {
		c.IsError = true
		text := clip(ModelText(err), maxErrorText)
		switch {
		case c.Text == "":
			c.Text = text
		case !strings.HasSuffix(c.Text, text): // it is there if a tool passes on both of what Invoke returned
			c.Text += "\n\n" + text
		}
		var denied *DeniedError
		if errors.As(err, &denied) && denied.EndTurn {
			c.EndTurn = true
		}
	}
	return &c
}

func (r *running) attachments(as []Attachment) []Attachment {
	if len(as) == 0 {
		return as
	}
	out := make([]Attachment, len(as))
	for i, a := range as {
		if a.ID == "" {
			a.ID = r.call.ID + "-" + strconv.Itoa(i+1)
		}
		if a.SessionID == "" {
			a.SessionID = r.call.SessionID
		}
		if a.MessageID == "" {
			a.MessageID = r.call.MessageID
		}
		out[i] = a
	}
	return out
}

// notRun settles a call that was never started.
func (r *running) notRun() {
	err := &CancelledError{Cause: context.Cause(r.b.ctx), NotRun: true}
	r.b.settle(r, r.result(r.b.ctx, nil, err), err, false)
}

// abandonAfter abandons the call, and before it those it made, after d.
func (r *running) abandonAfter(d time.Duration, why error) {
	r.b.mu.Lock()
	defer r.b.mu.Unlock()
	if !r.settled && r.late == nil {
		r.late = time.AfterFunc(d, func() { r.b.abandon(why, r) })
	}
}

// abandon settles a call whose tool does not return, with the output it had reported.
func (r *running) abandon(why error) {
	r.b.mu.Lock()
	settled, last := r.settled, r.last
	r.b.mu.Unlock()
	if settled {
		return
	}
	var partial *Result
	if last.Text != "" || last.Title != "" || last.Metadata != nil {
		partial = &Result{Title: last.Title, Text: last.Text, Metadata: last.Metadata}
	}
	if r.b.settle(r, r.result(r.b.ctx, partial, why), why, false) {
		r.b.ex.log().Warn("tool did not return in time and was abandoned", "tool", r.name(), "call", r.call.ID)
	}
}

// within reports whether r is top or was made, however indirectly, by it.
func (r *running) within(top *running) bool {
	for p := r; p != nil; p = p.parent {
		if p == top {
			return true
		}
	}
	return false
}

// The methods below are the runtime of r.call.

func (r *running) approver() Approver { return r.b.ex.Approver }

// flush lets the observer see what happened before a question is put, so that no
// prompt is about a call that a user interface has not heard of.
func (r *running) flush(ctx context.Context) {
	if r.b.ex.Observe != nil || r.b.nested.Observe != nil {
		r.b.ex.events.flush(ctx)
	}
}

func (r *running) crashOnPanic() bool { return r.b.ex.CrashOnPanic }

func (r *running) over() bool {
	r.b.mu.Lock()
	defer r.b.mu.Unlock()
	return r.settled
}

func (r *running) offers(name string) bool { return r.b.set.Has(name) }

func (r *running) update(_ *Call, u Update) {
	u.Metadata = maps.Clone(u.Metadata)
	r.b.mu.Lock()
	defer r.b.mu.Unlock()
	if r.settled {
		return
	}
	r.last = r.last.merge(u)
	r.b.emit(r, Event{State: StateRunning, Update: &u})
}

// truncate bounds res by the executor's policy. That may be the host's own code;
// what it cannot do is done by the default, as the tool has done its work by now.
func (r *running) truncate(ctx context.Context, c *Call, spec *Spec, res *Result) error {
	t := r.b.ex.Truncate
	if t == nil {
		return defaultTruncate(ctx, c, spec, res)
	}
	before := *res
	err := guard(func() error { return t(ctx, c, spec, res) })
	if err == nil {
		return nil
	}
	r.b.ex.log().Error("truncating a result failed", "tool", r.name(), "call", r.call.ID, "error", err)
	*res = before
	return defaultTruncate(ctx, c, spec, res)
}

// pause stops the clocks of the call and of those it was made by.
func (r *running) pause() func() {
	var resumes []func()
	for p := r; p != nil; p = p.parent {
		if p.clock != nil {
			p.clock.pause()
			resumes = append(resumes, p.clock.resume)
		}
		if f := p.b.nested.Pause; f != nil && p.parent == p.b.owner {
			if resume := f(); resume != nil {
				resumes = append(resumes, resume)
			}
		}
	}
	return func() {
		for _, resume := range resumes {
			resume()
		}
	}
}

func (r *running) invoke(ctx context.Context, parent *Call, name string, input json.RawMessage) (*Result, error) {
	if r.depth >= maxDepth {
		return nil, fmt.Errorf("tool calls are nested more than %d deep", maxDepth)
	}
	orig := &Call{
		ID: fmt.Sprintf("%s.%d", parent.ID, r.kids.Add(1)), Tool: name, Parent: parent.ID, Input: input,
		SessionID: parent.SessionID, MessageID: parent.MessageID, Agent: parent.Agent, Values: parent.Values,
	}
	k := &running{b: r.b, orig: orig, call: *orig, parent: r, depth: r.depth + 1, done: make(chan struct{})}
	k.lookup()
	b := r.b
	b.mu.Lock()
	if r.settled {
		b.mu.Unlock()
		return nil, fmt.Errorf("call %s of tool %s is over", parent.ID, parent.Tool)
	}
	b.open++
	b.emit(k, Event{State: StatePending})
	if b.halted() || ctx.Err() != nil {
		b.mu.Unlock()
		cause := context.Cause(ctx)
		if cause == nil {
			cause = context.Cause(b.ctx)
		}
		err := &CancelledError{Cause: cause, NotRun: true}
		b.settle(k, k.result(ctx, nil, err), err, false)
	} else {
		k.base = ctx
		b.kids = append(b.kids, k)
		b.launch(k)
		b.mu.Unlock()
		// The context may be one that the caller ends by itself.
		unwatch := context.AfterFunc(ctx, func() {
			k.abandonAfter(b.ex.grace(), &CancelledError{Cause: context.Cause(ctx)})
		})
		<-k.done
		unwatch()
	}
	b.mu.Lock()
	out := k.outcome
	b.mu.Unlock()
	if errors.Is(out.Err, ErrAbort) {
		return out.Result, out.Err
	}
	return out.Result, nil
}
