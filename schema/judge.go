package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"
)

// judge decides what is valid. It is jsonschema-go and nothing else; the rest of
// this package finds words, repairs, and is quick where the answer is certain.
type judge struct {
	doc    *document
	root   *rule
	risky  bool // see affordable
	parted bool // parts can be judged alone: there are no references

	whole opinion
	exact bool     // the schema has enum or const values that jsonschema-go would round
	parts sync.Map // from question to *opinion
}

// opinion is a schema as jsonschema-go has it. Making it takes several times as
// long as everything else about a schema, so it waits for the first input in doubt.
type opinion struct {
	once     sync.Once
	resolved *jsonschema.Resolved
	err      error
}

// question is what a part is judged by.
type question struct {
	r       *rule
	keyword string // "" = all of the rule
}

func newJudge(c *compiler, root *rule) *judge {
	j := &judge{doc: c.doc, root: root, risky: c.risky, parted: !c.refs}
	for _, r := range c.rules {
		for _, v := range r.enum {
			j.exact = j.exact || hasBigInt(v)
		}
		j.exact = j.exact || r.konst != nil && hasBigInt(r.konst)
	}
	return j
}

// load makes the validator for the whole schema, if that was not done before.
func (j *judge) load() error {
	j.whole.load(j, j.doc.root)
	return j.whole.err
}

func (o *opinion) load(j *judge, v *value) {
	o.once.Do(func() {
		defer func() {
			if p := recover(); p != nil {
				o.err = fmt.Errorf("%w: %v", ErrUnsupported, p)
			}
		}()
		var s jsonschema.Schema
		if err := json.Unmarshal(j.doc.appendBare(nil, v), &s); err != nil {
			o.err = fmt.Errorf("%w: %v", ErrUnsupported, err)
			return
		}
		if j.exact {
			unround(&s, v)
		}
		if o.resolved, o.err = s.Resolve(nil); o.err != nil {
			o.err = fmt.Errorf("%w: %v", ErrUnsupported, o.err)
		}
	})
}

// unround puts the values of enum and const into s as v, the document of s, has
// them: decoding them made every number a float64. Integers beyond 64 bits stay so.
func unround(s *jsonschema.Schema, v *value) {
	if s == nil || v == nil || v.kind != kObject {
		return
	}
	if e := v.get("enum"); e != nil {
		for i := range min(len(s.Enum), len(e.items)) {
			if x, ok := toAny(e.items[i]); ok {
				s.Enum[i] = x
			}
		}
	}
	if k := v.get("const"); k != nil && s.Const != nil {
		if x, ok := toAny(k); ok {
			s.Const = &x
		}
	}
	unround(s.Items, v.get("items"))
	fields := reflect.ValueOf(s).Elem()
	for i := range fields.NumField() {
		name, _, _ := strings.Cut(fields.Type().Field(i).Tag.Get("json"), ",")
		sub := v.get(name)
		if sub == nil {
			continue
		}
		switch f := fields.Field(i).Interface().(type) {
		case *jsonschema.Schema:
			unround(f, sub)
		case []*jsonschema.Schema:
			for i := range min(len(f), len(sub.items)) {
				unround(f[i], sub.items[i])
			}
		case map[string]*jsonschema.Schema:
			for name, s := range f {
				unround(s, sub.get(name))
			}
		}
	}
}

// refuses reports whether a part is not valid, judged alone. That settles the
// whole, at a fraction of the price: of twenty edits one has to be looked at.
func (j *judge) refuses(p part) bool {
	if p.r == nil || !j.parted || j.risky || p.r == j.root && p.keyword == "" {
		return false
	}
	q := question{p.r, p.keyword}
	found, ok := j.parts.Load(q)
	if !ok {
		found, _ = j.parts.LoadOrStore(q, &opinion{})
	}
	o := found.(*opinion)
	doc := p.r.doc
	if p.keyword != "" {
		doc = objectValue()
		doc.set(p.keyword, p.r.doc.get(p.keyword))
	}
	if o.load(j, doc); o.err != nil {
		return false
	}
	reason, err := j.ask(o, p.v)
	return err == nil && reason != nil
}

// hasBigInt reports whether v has an integer that a float64 may not hold.
func hasBigInt(v *value) bool {
	if v.kind == kNumber {
		return len(v.text) > 15
	}
	for _, e := range v.items {
		if hasBigInt(e) {
			return true
		}
	}
	for _, m := range v.members {
		if hasBigInt(m.val) {
			return true
		}
	}
	return false
}

var errTooMuch = errors.New("the input takes too long to check: too many alternatives nested in each other")

// verdict returns nil if v is valid, and the reason if not.
func (j *judge) verdict(v *value) (reason error, err error) {
	if err := j.load(); err != nil {
		return nil, err
	}
	if j.risky && !affordable(j.root, v) {
		return errTooMuch, nil
	}
	return j.ask(&j.whole, v)
}

func (j *judge) ask(o *opinion, v *value) (reason error, err error) {
	instance, ok := toAny(v)
	if !ok {
		return errors.New("a number is out of range"), nil
	}
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("schema: validator failed: %v", p)
		}
	}()
	return o.resolved.Validate(instance), nil
}

// toAny converts v to what jsonschema-go takes. Integers of 64 bits go as integers,
// so that none is rounded. It reports false for a number that a float64 cannot hold.
func toAny(v *value) (any, bool) {
	switch v.kind {
	case kNull:
		return nil, true
	case kBool:
		return v.text == "true", true
	case kString:
		return v.text, true
	case kArray:
		list := make([]any, len(v.items))
		for i, e := range v.items {
			var ok bool
			if list[i], ok = toAny(e); !ok {
				return nil, false
			}
		}
		return list, true
	case kObject:
		m := make(map[string]any, len(v.members))
		for _, e := range v.members {
			x, ok := toAny(e.val)
			if !ok {
				return nil, false
			}
			m[e.key] = x
		}
		return m, true
	}
	lit := v.text
	if !plainInt(lit) {
		if d := parseDecimal(lit); d.isInt() && len(d.digits)+d.exp <= 20 {
			lit = d.String()
		}
	}
	if i, err := strconv.ParseInt(lit, 10, 64); err == nil {
		return i, true
	}
	if u, err := strconv.ParseUint(lit, 10, 64); err == nil {
		return u, true
	}
	f, err := strconv.ParseFloat(v.text, 64)
	return f, err == nil
}

// affordable reports whether validating v against r ends in reasonable time. A
// schema with alternatives that refer back to it can make a validator try
// exponentially many combinations; counting them with a memory is quick.
func affordable(r *rule, v *value) bool {
	c := costs{limit: 1<<18 + 64*v.size(), known: map[part]int{}}
	return c.of(r, v) <= c.limit
}

type costs struct {
	limit int
	known map[part]int
}

// of counts the schemas applied when v is validated against r, up to the limit.
func (c *costs) of(r *rule, v *value) int {
	key := part{r: r, v: v}
	if n, ok := c.known[key]; ok {
		return n
	}
	if len(c.known) > c.limit {
		return c.limit + 1
	}
	n := 1 + len(r.enum)/16
	add := func(sub *rule, v *value) {
		if sub != nil && n <= c.limit {
			n += c.of(sub, v)
		}
	}
	for _, list := range [][]*rule{{r.ref, r.not, r.cond, r.then, r.els}, r.allOf, r.anyOf, r.oneOf} {
		for _, sub := range list {
			add(sub, v)
		}
	}
	for i, e := range v.items {
		if i < len(r.prefix) {
			add(r.prefix[i], e)
		} else {
			add(r.items, e)
		}
		add(r.contains, e)
		add(r.unevaluatedItems, e)
	}
	for _, need := range r.needs {
		if v.kind == kObject {
			add(need.rule, v)
		}
	}
	for _, m := range v.members {
		var room few
		for _, sub := range r.applied(m.key, room[:0]) {
			add(sub, m.val)
		}
		n += len(r.patterns)
		add(r.unevaluatedProps, m.val)
	}
	n = min(n, c.limit+1)
	c.known[key] = n
	return n
}
