package builtin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/agenttool/tool"
	"github.com/agenttool/tool/internal/fsroot"
	"github.com/agenttool/tool/internal/textfile"
	"github.com/agenttool/tool/schema"
)

// Plan is what a call would do, as far as permissions are concerned.
type Plan struct {
	Tool     string          // the tool's own name
	Requests []*tool.Request // in the order they would be asked; without ids, as nobody asks yet

	// The rest is for bash: every command found, as its words (nil: a word that
	// cannot be known before it runs; what a wrapper runs follows the wrapper), the
	// directories outside the root that are touched, the files that would be
	// written or removed, and why the text cannot be judged part by part.
	Commands     [][]*string
	ExternalDirs []string
	Writes       []string
	Reasons      []string
}

// plan is what a tool makes of its arguments. Making it changes nothing.
type plan struct {
	asks  []ask
	locks []string // keys of the files that apply changes
	fail  error    // known already, but not to be told before the asks are granted
	shell *analysis

	// detail is what may be told in the place of fail to somebody who may read the
	// file: words that repeat what is in it.
	detail *detail

	files []SourceFile // that apply changes, as they are

	again bool     // made without something that needs the locks to be free: make it anew
	done  []func() // what the plan holds open
	apply func(ctx context.Context, call *tool.Call) (*outcome, error)
}

// detail is an error that shows what is in a file, and the question whether the
// session may see that.
type detail struct {
	ask *tool.Request // nil if nobody need be asked
	err error
}

// release gives up what the plan holds open.
func (p *plan) release() {
	for _, f := range p.done {
		f()
	}
	p.done = nil
}

// attempt is one call on its way from plan to plan.
type attempt struct {
	call      *tool.Call
	locked    bool                 // the locks are held: nothing of the host's may be called
	formatted map[string]formatted // what the host's formatter made of which content
	server    serverEdits          // what a language server wants done
	dry       bool                 // nothing will be run: no server is asked
	reading   readRules            // what is known of rules about reading
	writing   *atomic.Bool         // set while files are changed
}

// ask is one permission that a plan needs. Two asks with the same request and
// the same effect are the same question.
type ask struct {
	req    *tool.Request
	effect string // what the answer depends on beside the request itself
}

func (a ask) key() string {
	b, err := json.Marshal([]any{a.req.Permission, a.req.Title, a.req.Patterns, a.req.Always, a.req.Protected, a.effect})
	if err != nil {
		panic(err) // strings and a bool
	}
	return string(b)
}

// outcome is what applying a plan gave.
type outcome struct {
	result  *tool.Result
	changes []FileChange
	files   []SourceFile // that were changed, as they are now
	was     []SourceFile // the same, as they were
}

func (p *plan) public(name string) *Plan {
	out := &Plan{Tool: name}
	for _, a := range p.asks {
		r := *a.req
		r.Tool = name
		out.Requests = append(out.Requests, &r)
	}
	if s := p.shell; s != nil {
		out.Commands, out.ExternalDirs, out.Writes, out.Reasons = s.Commands, s.ExternalDirs, s.Writes, s.Reasons
	}
	return out
}

// maxPlans is how often a plan is made for one call. A file that keeps changing
// while the user is asked would otherwise be asked about for ever.
const maxPlans = 4

// errUnsettled ends a call whose files changed each time the user had answered.
var errUnsettled = errors.New("nothing was changed: the file changed again and again while permission was asked. Read it and try again when it is at rest")

// run plans, asks, plans again under the locks, and applies what was approved.
func (ts *Toolset) run(ctx context.Context, name string, call *tool.Call, makePlan func(context.Context, *attempt) (*plan, error)) (*tool.Result, error) {
	if err := ts.begin(); err != nil {
		return nil, err
	}
	defer ts.active.Done()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(ts.ctx, func() { cancel(ErrClosed) })()

	type settled struct {
		out    *outcome
		before *findings
		err    error
	}
	var writing atomic.Bool
	settle := func() (s settled) {
		s.out, s.before, s.err = ts.settle(ctx, name, call, &writing, makePlan)
		return s
	}
	var got settled
	if patient(name) {
		got = settle()
	} else {
		var err error
		got, err = await(ctx, &ts.stuck, func() time.Duration {
			if writing.Load() {
				return writeGrace
			}
			return stuckGrace
		}, settle)
		if err != nil {
			return nil, err
		}
	}
	out, before, err := got.out, got.before, got.err
	if out == nil {
		return nil, err
	}
	if len(out.changes) > 0 {
		ts.tell(ctx, name, call, out, before)
	}
	return out.result, err
}

// settle also returns what was wrong in the files before they were changed, and
// sets writing while it changes files.
func (ts *Toolset) settle(ctx context.Context, name string, call *tool.Call, writing *atomic.Bool, makePlan func(context.Context, *attempt) (*plan, error)) (*outcome, *findings, error) {
	granted := make(map[string]bool)
	a := &attempt{call: call, formatted: make(map[string]formatted), writing: writing}
	p, err := makePlan(ctx, a)
	if err != nil {
		return nil, nil, err
	}
	defer func() { p.release() }()
	for range maxPlans {
		for _, q := range p.asks {
			if granted[q.key()] {
				continue
			}
			req := *q.req
			req.Tool = name
			if err := call.Ask(ctx, &req); err != nil {
				return nil, nil, deniedHint(&req, err)
			}
			granted[q.key()] = true
		}
		if p.fail != nil {
			return nil, nil, failure(ctx, call, name, p)
		}
		before := ts.diagnose(ctx, p.files)
		out, again, err := ts.settleLocked(ctx, a, p, granted, makePlan)
		if again == nil {
			return out, before, err
		}
		p.release()
		if p = again; p.again {
			p.release()
			if p, err = makePlan(ctx, a); err != nil {
				p = &plan{}
				return nil, nil, err
			}
		}
	}
	return nil, nil, errUnsettled
}

// settleLocked makes the plan again under its locks and applies it if that is
// what was granted. Otherwise it returns the new plan, to be asked about.
func (ts *Toolset) settleLocked(ctx context.Context, a *attempt, p *plan, granted map[string]bool, makePlan func(context.Context, *attempt) (*plan, error)) (*outcome, *plan, error) {
	unlock, err := ts.locks.Lock(ctx, p.locks...)
	if err != nil {
		return nil, nil, err
	}
	defer unlock()
	a.locked = len(p.locks) > 0
	defer func() { a.locked = false }()
	again, err := makePlan(ctx, a)
	if err != nil {
		return nil, nil, err
	}
	if again.again || again.fail != nil || !slices.Equal(p.locks, again.locks) || !allGranted(again.asks, granted) {
		return nil, again, nil
	}
	if err := ctx.Err(); err != nil {
		again.release()
		return nil, nil, err
	}
	a.writing.Store(len(p.locks) > 0)
	out, err := again.apply(ctx, a.call)
	a.writing.Store(false)
	if out == nil && (errors.Is(err, textfile.ErrStale) || errors.Is(err, fsroot.ErrChanged)) {
		return nil, again, nil
	}
	again.release()
	return out, nil, err
}

// failure is the error of a plan that cannot be carried out, with what the file
// holds if the session may know that.
func failure(ctx context.Context, call *tool.Call, name string, p *plan) error {
	d := p.detail
	if d == nil {
		return p.fail
	}
	if d.ask != nil {
		req := *d.ask
		req.Tool = name
		if call.Ask(ctx, &req) != nil {
			return p.fail
		}
	}
	return d.err
}

func allGranted(asks []ask, granted map[string]bool) bool {
	for _, a := range asks {
		if !granted[a.key()] {
			return false
		}
	}
	return true
}

// deniedHint tells the model that a secret stays one, however it asks.
func deniedHint(req *tool.Request, err error) error {
	var denied *tool.DeniedError
	if !req.Protected || !errors.As(err, &denied) {
		return err
	}
	d := *denied
	if d.Reason != "" {
		d.Reason += ". "
	}
	switch req.Permission {
	case "webfetch":
		d.Reason += "Do not try to reach it another way; ask the user"
	case "read":
		d.Reason += "The file holds secrets. Do not try to read it another way; ask the user for what you need to know"
	default:
		d.Reason += "The file is protected. Do not try to change it another way; tell the user what should be in it"
	}
	return &d
}

// define makes a tool of a def and of the function that plans its calls.
func define[In any](ts *Toolset, def tool.Def, makePlan func(ctx context.Context, call *tool.Call, in In) (*plan, error)) (operation, error) {
	return defineChange(ts, def, func(ctx context.Context, a *attempt, in In) (*plan, error) {
		return makePlan(ctx, a.call, in)
	})
}

// defineChange is define for tools whose plans depend on what was found out by
// the plans before.
func defineChange[In any](ts *Toolset, def tool.Def, makePlan func(ctx context.Context, a *attempt, in In) (*plan, error)) (operation, error) {
	s, err := schema.Of[In]()
	if err != nil {
		return operation{}, fmt.Errorf("%s: %w", def.Name, err)
	}
	t, err := tool.New(def, func(ctx context.Context, call *tool.Call, in In) (*tool.Result, error) {
		return ts.run(ctx, def.Name, call, func(ctx context.Context, a *attempt) (*plan, error) {
			return makePlan(ctx, a, in)
		})
	})
	if err != nil {
		return operation{}, err
	}
	spec := &tool.Spec{
		Name: def.Name, Title: def.Title, Input: s.JSON(), Hints: def.Hints, Parallel: def.Parallel, Timeout: def.Timeout,
		MaxOutput: def.MaxOutput, Aliases: def.Aliases,
	}
	return operation{tool: t, spec: spec, plan: func(ctx context.Context, call *tool.Call) (*plan, error) {
		var in In
		if _, err := s.Decode(call.Input, &in, nil); err != nil {
			return nil, badInput(def.Name, call, err)
		}
		once := func() (p planned) {
			p.plan, p.err = makePlan(ctx, &attempt{call: call, formatted: make(map[string]formatted), dry: true}, in)
			return p
		}
		got, err := await(ctx, &ts.stuck, func() time.Duration { return stuckGrace }, once)
		if err == nil {
			err = got.err
		}
		if err != nil {
			return nil, err
		}
		p := got.plan
		p.release()
		if p.fail != nil && len(p.asks) == 0 {
			return nil, p.fail
		}
		return p, nil
	}}, nil
}

// planned is what making a plan gave.
type planned struct {
	plan *plan
	err  error
}

// badInput words what package schema reported as the tool itself does.
func badInput(name string, call *tool.Call, err error) error {
	e := &tool.InputError{Tool: name, Input: call.Input, Err: err}
	var se *schema.Error
	if errors.As(err, &se) {
		e.Issues, e.Example, e.CutOff = se.Issues, se.Example, se.CutOff
	}
	return e
}
