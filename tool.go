package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"runtime/debug"
	"slices"
	"time"

	"github.com/agenttool/tool/schema"
)

// A Tool is something a model can call. It must be safe for concurrent use.
type Tool interface {
	// Name returns the name the model calls it by: a letter or underscore, then
	// letters, digits, underscores and hyphens, at most 64 in all. It never changes.
	Name() string

	// Spec describes the tool to agent, which may be nil. It may depend on the
	// agent, and may return [ErrHidden] for one that is not to see the tool. The
	// caller must not change what it gets.
	Spec(ctx context.Context, agent *Agent) (*Spec, error)

	// Run handles one call. It must return soon after ctx is done; the cause is in
	// [context.Cause]. An error is text for the model, see [ModelText], and only
	// [ErrAbort] ends the turn. A non-nil Result beside an error is the partial
	// output. A panic is recovered by the executor, but not one in a goroutine that
	// the tool started itself.
	Run(ctx context.Context, call *Call) (*Result, error)
}

// Spec is what models, policies, exporters and remote hosts see of a tool. It is data only.
type Spec struct {
	Name        string          `json:"name"`
	Title       string          `json:"title,omitempty"` // for people
	Description string          `json:"description"`
	Input       json.RawMessage `json:"input"`            // JSON Schema of the arguments; stable bytes
	Output      json.RawMessage `json:"output,omitempty"` // JSON Schema of Result.Structured
	Hints       Hints           `json:"hints"`
	Parallel    bool            `json:"parallel,omitempty"`  // may run beside other calls; else a barrier
	Timeout     time.Duration   `json:"timeout,omitempty"`   // 0: the executor's; <0: the tool limits itself
	MaxOutput   int             `json:"maxOutput,omitempty"` // bytes of text; 0: the executor's; <0: the tool bounds itself
	Deferred    bool            `json:"deferred,omitempty"`  // a host may list it by name only until it is asked for
	Aliases     []string        `json:"aliases,omitempty"`   // other names it answers to; not shown to models

	checked json.RawMessage // the Input that passed the schema guard
}

// Parameters returns Input in the dialect of the agent's provider and model, see
// [schema.DialectFor], and what that cannot say. It is the same every time, so a
// host that shows many tools often may keep it.
func (s *Spec) Parameters(agent *Agent) (json.RawMessage, []schema.Loss) {
	if agent == nil {
		agent = &Agent{}
	}
	return schema.DialectFor(agent.Provider, agent.Model)(s.Input)
}

// label is what people see where a result has no title of its own.
func (s *Spec) label() string {
	if s.Title != "" {
		return s.Title
	}
	return s.Name
}

// Hints are advice for policies and UIs. They are claims of the tool's author
// and never grant anything.
type Hints struct {
	ReadOnly    bool `json:"readOnly"`    // changes nothing
	Destructive bool `json:"destructive"` // may lose something; meaningless beside ReadOnly
	Idempotent  bool `json:"idempotent"`  // calling twice is like calling once
	OpenWorld   bool `json:"openWorld"`   // reaches beyond this machine
}

// Def is what the author of a tool writes. Name and Description are required
// (Describe may stand in for Description).
type Def struct {
	Name, Title, Description string

	// Describe, if not nil, replaces Description for each agent. It may return [ErrHidden].
	Describe func(ctx context.Context, agent *Agent) (string, error)

	Input  any // nil: inferred from the handler's type; else anything that marshals to a JSON Schema
	Output any // nil: none, or inferred by Func

	Hints     Hints
	Parallel  bool
	Timeout   time.Duration
	MaxOutput int
	Deferred  bool
	Aliases   []string

	// InputError, if not nil, words the refusal of bad arguments for the model.
	InputError func(err *InputError) string

	// Strict switches the repair of arguments off.
	Strict bool
}

// Handler handles a call whose arguments were checked and decoded. See [Tool.Run]
// for what its results mean. A nil Result with a nil error is an empty one.
type Handler[In any] func(ctx context.Context, call *Call, in In) (*Result, error)

// Define makes a tool whose arguments decode into In. The schema is inferred
// from In, see package schema for the struct tags. Each call's arguments are
// repaired where that is unambiguous, given their defaults, validated, and
// decoded; the result is bounded. Define panics if def is bad, as it is meant for
// package-level variables; use [New] for what is only known at run time.
func Define[In any](def Def, h Handler[In]) Tool {
	t, err := New(def, h)
	if err != nil {
		panic(err)
	}
	return t
}

// New is [Define], returning an error where that panics.
func New[In any](def Def, h Handler[In]) (Tool, error) {
	if h == nil {
		return nil, fmt.Errorf("tool %q: nil handler", def.Name)
	}
	s, err := schema.Bind(def.Input, reflect.TypeFor[In]())
	if err != nil {
		return nil, fmt.Errorf("tool %q: input schema: %w", def.Name, err)
	}
	t := &defined[In]{handler: h}
	if err := t.init(def, s); err != nil {
		return nil, err
	}
	return t, nil
}

// Func makes a tool of a plain function. A string it returns is the text; a
// *Result is taken as it is; anything else is marshalled to JSON, which becomes
// both Text and Structured, with an output schema inferred from Out when that is
// a struct. Like [Define] it panics if def is bad.
func Func[In, Out any](def Def, f func(context.Context, In) (Out, error)) Tool {
	if f == nil {
		panic(fmt.Errorf("tool %q: nil function", def.Name))
	}
	out := reflect.TypeFor[Out]()
	for out.Kind() == reflect.Pointer {
		out = out.Elem()
	}
	if def.Output == nil && out.Kind() == reflect.Struct && out != reflect.TypeFor[Result]() {
		s, err := schema.ForType(out)
		if err != nil {
			panic(fmt.Errorf("tool %q: output schema: %w", def.Name, err))
		}
		def.Output = s
	}
	return Define(def, func(ctx context.Context, _ *Call, in In) (*Result, error) {
		v, err := f(ctx, in)
		res, rerr := resultOf(v)
		if err != nil {
			if rerr != nil || res == nil || reflect.ValueOf(&v).Elem().IsZero() {
				res = nil
			}
			return res, err
		}
		return res, rerr
	})
}

func resultOf(v any) (*Result, error) {
	switch v := v.(type) {
	case *Result:
		return v, nil
	case Result:
		return &v, nil
	case string:
		return Text(v), nil
	case nil:
		return &Result{}, nil
	}
	b, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("the result cannot be encoded: %w", err)
	}
	return &Result{Text: string(b), Structured: b}, nil
}

// Raw makes a tool whose schema is only known at run time. run gets arguments
// that fit def.Input, repaired and with defaults, in Call.Input. A schema that
// passes the guard but cannot be compiled ([schema.ErrUnsupported]) is shown to
// the model as it is, and arguments are then only checked to be a JSON object.
func Raw(def Def, run RunFunc) (Tool, error) {
	if run == nil {
		return nil, fmt.Errorf("tool %q: nil run function", def.Name)
	}
	if def.Input == nil {
		def.Input = json.RawMessage(`{"type":"object"}`)
	}
	var shown json.RawMessage
	s, err := schema.Compile(def.Input)
	if errors.Is(err, schema.ErrUnsupported) {
		if shown, err = json.Marshal(def.Input); err == nil {
			if err = schema.Check(shown); err == nil {
				s, err = schema.Compile(json.RawMessage(`{"type":"object"}`))
			}
		}
	}
	if err != nil {
		return nil, fmt.Errorf("tool %q: input schema: %w", def.Name, err)
	}
	t := &raw{run: run}
	if err := t.init(def, s); err != nil {
		return nil, err
	}
	if shown != nil {
		t.spec.Input, t.spec.checked = shown, shown
	}
	return t, nil
}

// Wrap returns t with mw around its Run, the first outermost. Everything else of t stays.
func Wrap(t Tool, mw ...Middleware) Tool {
	return &wrapped{Tool: t, run: chain(t.Run, mw)}
}

type wrapped struct {
	Tool
	run RunFunc
}

func (w *wrapped) Run(ctx context.Context, call *Call) (*Result, error) { return w.run(ctx, call) }

// base is what the tools made by this package share.
type base struct {
	def    Def
	schema *schema.Schema
	spec   Spec
	opt    *schema.Options
}

func (b *base) init(def Def, s *schema.Schema) error {
	if err := CheckName(def.Name); err != nil {
		return err
	}
	if def.Description == "" && def.Describe == nil {
		return fmt.Errorf("tool %q: no description", def.Name)
	}
	for _, a := range def.Aliases {
		if err := CheckName(a); err != nil {
			return fmt.Errorf("tool %q: alias: %w", def.Name, err)
		}
	}
	if !takesObject(s.JSON()) {
		return fmt.Errorf("tool %q: input schema: the arguments of a tool are a JSON object, so its type must be object", def.Name)
	}
	b.def, b.schema = def, s
	if def.Strict {
		b.opt = &schema.Options{Strict: true}
	}
	b.spec = Spec{
		Name: def.Name, Title: def.Title, Description: def.Description,
		Input: s.JSON(), Hints: def.Hints, Parallel: def.Parallel, Timeout: def.Timeout,
		MaxOutput: def.MaxOutput, Deferred: def.Deferred, Aliases: def.Aliases,
	}
	b.spec.checked = b.spec.Input
	if def.Output != nil {
		out, err := schema.Compile(def.Output)
		if err != nil {
			return fmt.Errorf("tool %q: output schema: %w", def.Name, err)
		}
		b.spec.Output = out.JSON()
	}
	return nil
}

// takesObject reports whether a schema does not say at its root that it is for
// something else than objects: providers refuse a whole turn for one such tool.
func takesObject(doc json.RawMessage) bool {
	var root struct {
		Type json.RawMessage `json:"type"`
	}
	if json.Unmarshal(doc, &root) != nil || root.Type == nil {
		return true
	}
	var types []string
	if json.Unmarshal(root.Type, &types) != nil {
		types = []string{""}
		if json.Unmarshal(root.Type, &types[0]) != nil {
			return true
		}
	}
	return slices.Contains(types, "object")
}

func (b *base) Name() string { return b.def.Name }

func (b *base) Spec(ctx context.Context, agent *Agent) (*Spec, error) {
	if b.def.Describe == nil {
		return &b.spec, nil
	}
	d, err := b.def.Describe(ctx, agent)
	if err != nil {
		return nil, err
	}
	s := b.spec
	s.Description = d
	return &s, nil
}

// inputError words what the schema reported.
func (b *base) inputError(call *Call, err error) error {
	e := &InputError{Tool: b.def.Name, Input: call.Input, Err: err}
	var se *schema.Error
	if errors.As(err, &se) {
		e.Issues, e.Example, e.CutOff = se.Issues, se.Example, se.CutOff
	}
	if b.def.InputError != nil {
		// If it panics, the usual words stand: the tool did not run.
		_ = guard(func() error { e.text = b.def.InputError(e); return nil })
	}
	return e
}

// finish bounds the result of a handler. The handler's own Result is not
// changed, as it may be shared between calls.
func (b *base) finish(ctx context.Context, call *Call, repairs []schema.Repair, res *Result, err error) (*Result, error) {
	if res == nil {
		if err != nil && len(repairs) == 0 {
			return nil, err
		}
		res = &Result{}
	}
	r := *res
	if r.Title == "" {
		r.Title = b.spec.label()
	}
	if len(repairs) > 0 {
		r.Metadata = withKey(r.Metadata, "repairs", repairs)
	}
	if terr := call.truncate(ctx, &b.spec, &r); terr != nil && err == nil {
		err = terr
	}
	return &r, err
}

// recovered, deferred, turns a panic of a handler into an error, so that a tool
// run without an executor does not kill its host either.
func (b *base) recovered(call *Call, res **Result, err *error) {
	if call.rt != nil && call.rt.crashOnPanic() {
		return
	}
	if v := recover(); v != nil {
		*res, *err = nil, &PanicError{Tool: b.def.Name, Value: v, Stack: debug.Stack()}
	}
}

type defined[In any] struct {
	base
	handler Handler[In]
}

func (t *defined[In]) Run(ctx context.Context, call *Call) (res *Result, err error) {
	defer t.recovered(call, &res, &err)
	var in In
	repairs, err := t.schema.Decode(call.Input, &in, t.opt)
	if err != nil {
		return nil, t.inputError(call, err)
	}
	res, err = t.handler(ctx, call, in)
	return t.finish(ctx, call, repairs, res, err)
}

type raw struct {
	base
	run RunFunc
}

func (t *raw) Run(ctx context.Context, call *Call) (res *Result, err error) {
	defer t.recovered(call, &res, &err)
	input, repairs, err := t.schema.Prepare(call.Input, t.opt)
	if err != nil {
		return nil, t.inputError(call, err)
	}
	c := *call
	c.Input = input
	res, err = t.run(ctx, &c)
	return t.finish(ctx, &c, repairs, res, err)
}

// maxName is the longest tool name that the common providers accept.
const maxName = 64

// CheckName reports whether name can be a tool's: a letter or underscore, then
// letters, digits, underscores and hyphens of ASCII, at most 64 characters in
// all, which is what the common providers accept.
func CheckName(name string) error {
	if name == "" {
		return errors.New("tool name is empty")
	}
	if len(name) > maxName {
		return fmt.Errorf("tool name %q is longer than %d characters", clip(name, 80), maxName)
	}
	for i := range len(name) {
		c := name[i]
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', c == '_':
		case i > 0 && ('0' <= c && c <= '9' || c == '-'):
		default:
			return fmt.Errorf("tool name %q: character %d is %q; a name is a letter or underscore, then letters, digits, underscores or hyphens", name, i+1, c)
		}
	}
	return nil
}

// withKey returns m with one more key, leaving m itself alone.
func withKey(m map[string]any, key string, v any) map[string]any {
	n := make(map[string]any, len(m)+1)
	for k, old := range m {
		n[k] = old
	}
	n[key] = v
	return n
}
