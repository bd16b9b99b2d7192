package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Schema is a compiled JSON Schema, perhaps bound to a Go type. It is immutable
// and safe for concurrent use.
type Schema struct {
	emitted json.RawMessage
	root    *rule
	judge   *judge
	program *program // nil if the schema has what it does not understand
	track   bool

	defaults  bool // some property has a default
	sensitive bool // adding a default may make a valid input invalid

	typ   reflect.Type // nil if not bound
	shape *shape
}

// Options change how input is prepared. The zero value repairs.
type Options struct {
	// Strict switches repair off. Aliases, null as absent, and defaults still apply.
	Strict bool
}

// For returns the schema of a Go type: see [ForType].
func For[T any]() (json.RawMessage, error) { return ForType(reflect.TypeFor[T]()) }

// Of returns the schema of a Go type, bound to it: see [OfType].
func Of[T any]() (*Schema, error) { return OfType(reflect.TypeFor[T]()) }

// OfType returns the schema of a Go type, as of [ForType], bound to that type for
// [Schema.Decode].
func OfType(t reflect.Type) (*Schema, error) {
	in, root, err := infer(t)
	if err != nil {
		return nil, err
	}
	c, err := in.compile(root)
	if err != nil {
		return nil, err
	}
	s := newSchema(c, appendCompact(nil, root))
	s.bind(t, c)
	if s.program == nil {
		if err := s.judge.load(); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// Compile compiles a JSON Schema document, given as JSON (json.RawMessage,
// []byte) or as anything that marshals to it. The document may come from a
// stranger: it passes [Check] first. Drafts 4 to 2020-12 are understood, and
// 2020-12 is assumed without $schema. Nothing, true and {} at the root are taken
// as {"type":"object"}.
//
// The error matches [ErrHostile] or [ErrUnsupported].
func Compile(doc any) (*Schema, error) { return Bind(doc, nil) }

// Bind is [Compile] for a schema whose input is decoded into the Go type t. The
// schema alone says what is valid; from t come the aliases (see [ForType]) of
// properties that both have. A nil doc is inferred from t, a nil t is Compile.
func Bind(doc any, t reflect.Type) (*Schema, error) {
	text, err := schemaText(doc)
	if err != nil {
		return nil, err
	}
	if text == nil && t != nil {
		return OfType(t)
	}
	if text == nil {
		text = []byte("{}")
	}
	root, err := readSchema(text)
	if err != nil {
		return nil, err
	}
	if root.kind == kBool && root.text == "true" || root.kind == kObject && len(root.members) == 0 {
		root = typed("object")
	}
	if root.kind != kObject {
		return nil, fmt.Errorf("%w: the root is %s", ErrUnsupported, root.describe())
	}
	emitted := appendCompact(nil, root)
	d, err := open(root)
	if err != nil {
		return nil, err
	}
	if err := d.guard(); err != nil {
		return nil, err
	}
	if d, err = d.modernise(); err != nil {
		return nil, err
	}
	c, err := compileRules(d)
	if err != nil {
		return nil, err
	}
	s := newSchema(c, emitted)
	if t != nil {
		s.bind(t, c)
	} else {
		s.program = compileProgram(c, nil)
	}
	if err := s.judge.load(); err != nil {
		return nil, err
	}
	return s, nil
}

// schemaText returns a schema given in any form as JSON, nil if there is none.
func schemaText(doc any) ([]byte, error) {
	switch d := doc.(type) {
	case nil:
		return nil, nil
	case json.RawMessage:
		if blank(d) {
			return nil, nil
		}
		return d, nil
	case []byte:
		if blank(d) {
			return nil, nil
		}
		return d, nil
	}
	text, err := json.Marshal(doc)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnsupported, err)
	}
	return text, nil
}

func newSchema(c *compiler, emitted json.RawMessage) *Schema {
	root := c.rules[c.doc.root]
	s := &Schema{
		emitted: emitted, root: root, track: c.track, defaults: c.defaults,
		judge: newJudge(c, root),
	}
	for _, r := range c.rules {
		s.sensitive = s.sensitive || r.maxProps.ok || r.needs != nil || r.not != nil || r.oneOf != nil ||
			r.cond != nil || r.anyOf != nil || r.unevaluatedProps != nil || r.names != nil
	}
	return s
}

// bind ties the schema to a Go type.
func (s *Schema) bind(t reflect.Type, c *compiler) {
	s.typ = t
	s.shape = shapeOf(t, map[reflect.Type]*shape{})
	bind(s.root, s.shape, map[*rule]bool{})
	s.program = compileProgram(c, s.shape)
}

// JSON returns the schema as it is shown to a model: compact, aliases hidden,
// the same bytes every time. Do not modify it.
func (s *Schema) JSON() json.RawMessage { return s.emitted }

// IsObject reports whether the schema allows objects and nothing else, which is
// what model providers demand of the arguments of a tool.
func (s *Schema) IsObject() bool { return s.root.kinds == tObject }

// Validate reports whether input fits the schema as it stands, without repair,
// aliases, defaults or leniency about null. What is valid is decided by
// jsonschema-go. The error is an [*Error].
func (s *Schema) Validate(input json.RawMessage) error {
	if ok, f := s.program.run(input); ok && !f.nulls {
		return nil
	}
	v, err := parse(input)
	if err != nil {
		return notJSON(err)
	}
	found, err := s.examine(v, v.raw == "")
	if err != nil {
		return err
	}
	if !found.ok {
		return s.refuse(v, found, nil)
	}
	return nil
}

// Prepare returns input as it should be handed to a tool: empty input is {}, the
// aliases of keys are renamed, values of the wrong type are repaired (unless
// opt.Strict), null for an optional property that must not be null is dropped,
// absent properties get their defaults, and the result is valid. If nothing of
// this changes anything, it is the same slice. A nil opt is the zero Options.
//
// Repair is led by types. It only touches a value that does not fit, and only
// where the schema leaves one reading: a string that holds a JSON object, array,
// number or boolean where that is due and no string is allowed; a lone value
// where a list of such is due; input that as a whole is a string with an object
// in it. It is all or nothing: if the result were not valid, the error is about
// the input as it came.
//
// The error is an [*Error].
func (s *Schema) Prepare(input json.RawMessage, opt *Options) (json.RawMessage, []Repair, error) {
	ok, f := s.program.run(input)
	if ok && !f.nulls && f.absent == 0 {
		return input, nil, nil
	}
	if ok && !f.nulls {
		return s.program.splice(input, f.absent), nil, nil
	}
	v, repairs, err := s.settle(input, opt, ok)
	if err != nil {
		return nil, nil, err
	}
	if v.raw != "" && len(v.raw) == len(bytes.TrimSpace(input)) {
		return input, repairs, nil
	}
	return appendValue(make([]byte, 0, len(input)+64), v), repairs, nil
}

// Decode prepares input as [Schema.Prepare] does and stores it in dst, a
// non-nil pointer, best to the type that the schema is bound to.
//
// It reads what encoding/json reads, from the bytes of the input, so that
// integers arrive exactly, with these differences: 5.0 and 1e2 are integers, as
// in JSON Schema; keys match in their exact case; a number that the Go type
// cannot hold is an issue; of equal keys the last counts, whole; nothing remains
// of what dst held before. On an error dst holds the zero value.
//
// The error is an [*Error], unless dst is unusable.
func (s *Schema) Decode(input json.RawMessage, dst any, opt *Options) ([]Repair, error) {
	target := reflect.ValueOf(dst)
	if target.Kind() != reflect.Pointer || target.IsNil() {
		return nil, fmt.Errorf("schema: Decode into %T, want a non-nil pointer", dst)
	}
	target.Elem().SetZero()
	bound := target.Type().Elem() == s.typ
	sure := false
	if s.program != nil {
		r := runner{b: input, root: s.program.root}
		sure = r.run()
		if sure && bound && !r.odd {
			text := input
			if r.absent != 0 {
				text = s.program.splice(input, r.absent)
			}
			if s.program.store(text, &r.lists, target.Elem()) {
				return nil, nil
			}
			target.Elem().SetZero()
		}
	}
	v, repairs, err := s.settle(input, opt, sure)
	if err != nil {
		return nil, err
	}
	into := s.shape
	if !bound {
		into = shapeOf(target.Type().Elem(), map[reflect.Type]*shape{})
	}
	if issues := into.decode(s.root, v, target); issues != nil {
		return nil, s.misfit(v, issues, target.Type().Elem(), into)
	}
	return repairs, nil
}

// misfit makes the error for a valid input that a Go type refuses.
func (s *Schema) misfit(v *value, issues []Issue, t reflect.Type, into *shape) error {
	e := &Error{Issues: issues}
	var paths []string
	for _, i := range issues {
		paths = append(paths, i.Path)
	}
	if example := s.example(v, paths...); example != nil && into.decode(s.root, parseText(string(example)), reflect.New(t)) == nil {
		e.Example = example
	}
	return e
}

// settle is the slow way from input to a valid value. The program may have been
// sure that the input is valid, but for nulls.
func (s *Schema) settle(input json.RawMessage, opt *Options, sure bool) (*value, []Repair, error) {
	strict := opt != nil && opt.Strict
	v := objectValue()
	if !blank(input) {
		var err error
		if v, err = parse(input); err != nil {
			return nil, nil, notJSON(err)
		}
	}
	var repairs []Repair
	asItCame := !sure && v.raw != ""
	if v.kind == kNull && s.root.kinds == tObject {
		v, asItCame = objectValue(), false
	}
	if v.kind == kString && !strict && s.root.kinds&tString == 0 {
		inner, err := parse([]byte(v.text))
		var se *syntaxError
		switch {
		case err == nil && inner.types()&s.root.kinds != 0:
			// Encoded twice, most likely not by the model: what is wrong inside is
			// what it has to hear about.
			repairs = []Repair{{From: echo(v), To: echo(inner), Rule: "decoded"}}
			v, asItCame = inner, false
		case errors.As(err, &se) && se.cut && strings.HasPrefix(strings.TrimSpace(v.text), "{"):
			return nil, nil, notJSON(err)
		}
	}
	f := fixer{repair: !strict, track: s.track, steps: stepsFor(v)}
	fixed := f.fix(s.root, v)
	// Of the input as it came the program has said all that it can.
	found, err := s.examine(fixed, fixed != v || !asItCame)
	if err != nil {
		return nil, nil, err
	}
	if found.ok && len(f.conflicts) == 0 {
		return s.fill(fixed), append(repairs, f.repairs...), nil
	}
	if f.doubted {
		g := fixer{repair: !strict, track: s.track, nulls: true, steps: stepsFor(v)}
		bare := g.fix(s.root, v)
		again, err := s.examine(bare, true)
		if err != nil {
			return nil, nil, err
		}
		if again.ok && len(g.conflicts) == 0 {
			return s.fill(bare), append(repairs, g.repairs...), nil
		}
	}
	if f.retyped {
		g := fixer{track: s.track, steps: stepsFor(v)}
		lenient := g.fix(s.root, v)
		if found, err = s.examine(lenient, false); err != nil {
			return nil, nil, err
		}
		if found.ok && len(g.conflicts) == 0 {
			// Only a repair made it invalid.
			return s.fill(lenient), append(repairs, g.repairs...), nil
		}
	}
	return nil, nil, s.refuse(fixed, found, f.conflicts)
}

// finding is what is to be said of a value.
type finding struct {
	ok     bool
	issues []Issue
	reason error // of jsonschema-go, if there are no issues
}

// examine finds out whether v is valid. The program is asked first, if that
// makes sense.
func (s *Schema) examine(v *value, ask bool) (finding, error) {
	if s.program != nil && ask {
		if ok, f := s.program.run(appendValue(nil, v)); ok && !f.nulls {
			return finding{ok: true}, nil
		}
	}
	issues, blamed := explain(s.root, v, s.track)
	if s.judge.refuses(blamed) {
		return finding{issues: issues}, nil
	}
	reason, err := s.judge.verdict(v)
	return finding{reason == nil, issues, reason}, err
}

// fill applies the defaults to a valid value.
func (s *Schema) fill(v *value) *value {
	if !s.defaults {
		return v
	}
	steps := stepsFor(v)
	filled := applyDefaults(s.root, v, &steps)
	if filled == v {
		return v
	}
	if s.sensitive {
		if found, err := s.examine(filled, true); !found.ok || err != nil {
			return v
		}
	}
	return filled
}

// refuse makes the error for input that is not valid. The example starts from
// best, the closest to a valid value that was reached.
func (s *Schema) refuse(best *value, found finding, conflicts []Issue) error {
	if found.reason == errTooMuch {
		return &Error{Err: errTooMuch}
	}
	e := &Error{Issues: found.issues}
	if found.ok {
		e.Issues = nil
	}
	for _, c := range conflicts {
		// A key that repeats another is there still, and so unknown as well.
		e.Issues = slices.DeleteFunc(e.Issues, func(i Issue) bool { return i.Path == c.Path })
	}
	e.Issues = append(e.Issues, conflicts...)
	if len(e.Issues) == 0 && found.reason != nil {
		e.Issues = []Issue{{Keyword: "schema", Want: "a value that fits the schema", Got: clip(found.reason.Error(), 2*maxEcho)}}
	}
	e.Example = s.example(best)
	return e
}
