package builtin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/agenttool/tool"
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

	apply func(ctx context.Context, call *tool.Call) (*outcome, error)
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
func (ts *Toolset) run(ctx context.Context, name string, call *tool.Call, makePlan func(context.Context) (*plan, error)) (*tool.Result, error) {
	if err := ts.begin(); err != nil {
		return nil, err
	}
	defer ts.active.Done()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(ts.ctx, func() { cancel(ErrClosed) })()

	out, err := ts.settle(ctx, name, call, makePlan)
	if out == nil {
		return nil, err
	}
	if len(out.changes) > 0 && ts.cfg.OnFileChange != nil {
		for _, ch := range out.changes {
			ch.SessionID, ch.Tool, ch.CallID = call.SessionID, name, call.ID
			if note := ts.observe(ctx, ch); note != "" {
				out.result.Metadata["observer"] = note
			}
		}
	}
	return out.result, err
}

func (ts *Toolset) settle(ctx context.Context, name string, call *tool.Call, makePlan func(context.Context) (*plan, error)) (*outcome, error) {
	granted := make(map[string]bool)
	p, err := makePlan(ctx)
	if err != nil {
		return nil, err
	}
	for range maxPlans {
		for _, a := range p.asks {
			if granted[a.key()] {
				continue
			}
			req := *a.req
			req.Tool = name
			if err := call.Ask(ctx, &req); err != nil {
				return nil, deniedHint(&req, err)
			}
			granted[a.key()] = true
		}
		if p.fail != nil {
			return nil, p.fail
		}
		unlock, err := ts.locks.lock(ctx, p.locks)
		if err != nil {
			return nil, err
		}
		again, err := makePlan(ctx)
		if err != nil {
			unlock()
			return nil, err
		}
		if again.fail == nil && equalKeys(p.locks, again.locks) && allGranted(again.asks, granted) {
			defer unlock()
			return again.apply(ctx, call)
		}
		unlock()
		p = again
	}
	return nil, errUnsettled
}

func allGranted(asks []ask, granted map[string]bool) bool {
	for _, a := range asks {
		if !granted[a.key()] {
			return false
		}
	}
	return true
}

func equalKeys(a, b []string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
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
	if req.Permission == "read" {
		d.Reason += "The file holds secrets. Do not try to read it another way; ask the user for what you need to know"
	} else {
		d.Reason += "The file is protected. Do not try to change it another way; tell the user what should be in it"
	}
	return &d
}

// observe tells the host of a change. A panic there must not turn a change that
// happened into a call that seems to have failed.
func (ts *Toolset) observe(ctx context.Context, ch FileChange) (note string) {
	defer func() {
		if v := recover(); v != nil {
			note = fmt.Sprintf("panicked: %v", v)
		}
	}()
	ts.cfg.OnFileChange(ctx, ch)
	return ""
}

// define makes a tool of a def and of the function that plans its calls.
func define[In any](ts *Toolset, def tool.Def, makePlan func(ctx context.Context, call *tool.Call, in In) (*plan, error)) (operation, error) {
	s, err := schema.Of[In]()
	if err != nil {
		return operation{}, fmt.Errorf("%s: %w", def.Name, err)
	}
	t, err := tool.New(def, func(ctx context.Context, call *tool.Call, in In) (*tool.Result, error) {
		return ts.run(ctx, def.Name, call, func(ctx context.Context) (*plan, error) {
			return makePlan(ctx, call, in)
		})
	})
	if err != nil {
		return operation{}, err
	}
	return operation{tool: t, plan: func(ctx context.Context, call *tool.Call) (*plan, error) {
		var in In
		if _, err := s.Decode(call.Input, &in, nil); err != nil {
			e := &tool.InputError{Tool: def.Name, Input: call.Input, Err: err}
			var se *schema.Error
			if errors.As(err, &se) {
				e.Issues, e.Example, e.CutOff = se.Issues, se.Example, se.CutOff
			}
			return nil, e
		}
		return makePlan(ctx, call, in)
	}}, nil
}
