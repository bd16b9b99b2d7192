package schema

import (
	"fmt"
	"regexp"
	"strconv"
)

// rule is a schema, compiled for explaining, repairing and quick checking. A
// nil or zero rule allows everything. Rules form a graph where references recur.
type rule struct {
	doc     *value // where it comes from
	never   bool   // the schema false
	unknown bool   // it has a keyword that this package does not know

	types typeSet // 0 = any
	enum  []*value
	konst *value

	multipleOf             float64 // 0 = none
	min, max, above, below *decimal
	minLen, maxLen         bound
	pattern                *regexp.Regexp
	format                 string

	prefix           []*rule
	items            *rule
	minItems         bound
	maxItems         bound
	unique           bool
	contains         *rule
	minContains      bound
	maxContains      bound
	unevaluatedItems *rule

	props            []prop
	index            map[string]int // of props, when there are many
	required         []string
	extra            *rule // additionalProperties
	patterns         []patternRule
	names            *rule
	minProps         bound
	maxProps         bound
	needs            []need
	unevaluatedProps *rule

	ref                 *rule
	allOf, anyOf, oneOf []*rule
	not, cond           *rule
	then, els           *rule

	fallback *value // default
	sample   *value // the first of examples

	// Settled once the graph is complete:

	all   []*rule // this rule and those that must hold with it: conjuncts
	kinds typeSet // what a value can be, as far as is plain to see
}

// bound is a limit on a count; unset if its ok is false.
type bound struct {
	n  int
	ok bool
}

func (b bound) below(n int) bool { return b.ok && n < b.n }
func (b bound) above(n int) bool { return b.ok && n > b.n }

// prop is a declared property.
type prop struct {
	name     string
	rule     *rule
	required bool
	aliases  []string // other spellings that input may use
	fallback *value   // the default, if it is valid and the property optional
}

type patternRule struct {
	expr *regexp.Regexp
	rule *rule
}

// need is what the presence of a property demands.
type need struct {
	prop  string
	names []string // properties that must be there too
	rule  *rule    // what the object must fit
}

// property returns the declared property of that name, or nil.
func (r *rule) property(name string) *prop {
	if r.index != nil {
		if i, ok := r.index[name]; ok {
			return &r.props[i]
		}
		return nil
	}
	for i := range r.props {
		if r.props[i].name == name {
			return &r.props[i]
		}
	}
	return nil
}

// closed reports whether undeclared keys are forbidden.
func (r *rule) closed() bool { return r.extra != nil && r.extra.never }

// compiler makes rules of a document.
type compiler struct {
	doc   *document
	rules map[*value]*rule

	refs, branches bool
	risky          bool // checking may take time out of proportion to the input
	track          bool // some rule asks what others evaluated
	defaults       bool // some property has a default
}

func compileRules(d *document) (*compiler, error) {
	c := &compiler{doc: d, rules: make(map[*value]*rule, len(d.sites))}
	if _, err := c.rule(d.root); err != nil {
		return nil, err
	}
	c.settle()
	return c, nil
}

// settle works out what depends on more than one rule.
func (c *compiler) settle() {
	for _, r := range c.rules {
		r.all = conjuncts(r)
	}
	for _, r := range c.rules {
		r.kinds = kinds(r)
		c.risky = c.risky || len(r.enum) > 100
		c.refs = c.refs || r.ref != nil
		branches := r.allOf != nil || r.anyOf != nil || r.oneOf != nil || r.not != nil || r.cond != nil ||
			r.contains != nil || len(r.patterns) > 0 || r.ref != nil && (r.props != nil || r.items != nil || r.prefix != nil || r.extra != nil)
		c.branches = c.branches || branches
		for _, n := range r.needs {
			c.branches = c.branches || n.rule != nil
		}
		if r.unevaluatedItems != nil || r.unevaluatedProps != nil {
			c.track, c.branches = true, true
		}
	}
	c.risky = c.risky || c.refs && c.branches
	for _, r := range c.rules {
		for i := range r.props {
			p := &r.props[i]
			for _, q := range p.rule.all {
				if !p.required && p.fallback == nil && q.fallback != nil && fits(p.rule, q.fallback, c.track) {
					p.fallback = q.fallback
					c.defaults = true
				}
			}
		}
	}
}

func (c *compiler) rule(v *value) (*rule, error) {
	if r, ok := c.rules[v]; ok {
		return r, nil
	}
	r := &rule{doc: v}
	c.rules[v] = r
	if v.kind == kBool {
		r.never = v.text == "false"
		return r, nil
	}
	for _, m := range v.members {
		if err := c.keyword(r, v, m.key, m.val); err != nil {
			return nil, err
		}
	}
	for _, name := range r.required {
		if p := r.property(name); p != nil {
			p.required = true
		}
	}
	if n := v.get("not"); n != nil && (n.text == "true" || n.kind == kObject && len(n.members) == 0) {
		r.never = true // as false is written where booleans are not allowed
	}
	return r, nil
}

func (c *compiler) keyword(r *rule, v *value, name string, val *value) (err error) {
	bad := func(want string) error {
		return fmt.Errorf("%w: %q at %s is %s, want %s", ErrUnsupported, name, where(c.doc.sites[c.doc.at[v]].path), val.describe(), want)
	}
	sub := func(dst **rule) error {
		*dst, err = c.rule(val)
		return err
	}
	subs := func(dst *[]*rule) error {
		if val.kind != kArray {
			return bad("a list")
		}
		*dst = make([]*rule, len(val.items))
		for i, e := range val.items {
			if (*dst)[i], err = c.rule(e); err != nil {
				return err
			}
		}
		return nil
	}
	strings := func(dst *[]string, val *value) error {
		if val.kind != kArray {
			return bad("a list of strings")
		}
		for _, e := range val.items {
			if e.kind != kString {
				return bad("a list of strings")
			}
			*dst = append(*dst, e.text)
		}
		return nil
	}
	number := func(dst **decimal) error {
		if val.kind != kNumber || !finite(val.text) {
			return bad("a number")
		}
		d := parseDecimal(val.text)
		*dst = &d
		return nil
	}
	count := func(dst *bound) error {
		if val.kind != kNumber || !integral(val.text) {
			return bad("an integer")
		}
		n, err := strconv.ParseInt(parseDecimal(val.text).String(), 10, 32)
		if err != nil {
			return bad("an integer")
		}
		*dst = bound{int(n), true}
		return nil
	}
	expression := func(dst **regexp.Regexp, expr string) error {
		if *dst, err = regexp.Compile(expr); err != nil {
			return fmt.Errorf("%w: regular expression at %s: %v", ErrUnsupported, where(c.doc.sites[c.doc.at[v]].path), err)
		}
		return nil
	}

	switch name {
	case "$ref":
		if val.kind != kString {
			return bad("a string")
		}
		target, err := c.doc.resolve(val.text)
		if err != nil {
			return err
		}
		r.ref, err = c.rule(target)
		return err
	case "$defs":
		for _, m := range val.members {
			if _, err := c.rule(m.val); err != nil {
				return err
			}
		}
	case "type":
		names := []*value{val}
		if val.kind == kArray {
			names = val.items
		}
		for _, n := range names {
			t := typeNamed(n.text)
			if n.kind != kString || t == 0 {
				return bad("the name of a JSON type")
			}
			r.types |= t
		}
		if r.types == 0 {
			return bad("the name of a JSON type")
		}
		if r.types&tNumber != 0 {
			r.types |= tInteger
		}
	case "enum":
		if val.kind != kArray {
			return bad("a list")
		}
		r.enum = append([]*value{}, val.items...)
	case "const":
		r.konst = val
	case "multipleOf":
		var d *decimal
		if err := number(&d); err != nil {
			return err
		}
		if r.multipleOf, err = strconv.ParseFloat(val.text, 64); err != nil || r.multipleOf <= 0 {
			return bad("a positive number")
		}
	case "minimum":
		return number(&r.min)
	case "maximum":
		return number(&r.max)
	case "exclusiveMinimum":
		return number(&r.above)
	case "exclusiveMaximum":
		return number(&r.below)
	case "minLength":
		return count(&r.minLen)
	case "maxLength":
		return count(&r.maxLen)
	case "pattern":
		if val.kind != kString {
			return bad("a string")
		}
		if val.text != "" { // matches everything
			return expression(&r.pattern, val.text)
		}
	case "format":
		r.format = val.text
	case "prefixItems":
		return subs(&r.prefix)
	case "items":
		return sub(&r.items)
	case "minItems":
		return count(&r.minItems)
	case "maxItems":
		return count(&r.maxItems)
	case "uniqueItems":
		if val.kind != kBool {
			return bad("a boolean")
		}
		r.unique = val.text == "true"
	case "contains":
		return sub(&r.contains)
	case "minContains":
		return count(&r.minContains)
	case "maxContains":
		return count(&r.maxContains)
	case "unevaluatedItems":
		return sub(&r.unevaluatedItems)
	case "properties":
		r.props = make([]prop, len(val.members))
		for i, m := range val.members {
			p := prop{name: m.key}
			if p.rule, err = c.rule(m.val); err != nil {
				return err
			}
			r.props[i] = p
		}
		if len(r.props) > 8 {
			r.index = make(map[string]int, len(r.props))
			for i, p := range r.props {
				r.index[p.name] = i
			}
		}
	case "required":
		return strings(&r.required, val)
	case "additionalProperties":
		return sub(&r.extra)
	case "patternProperties":
		for _, m := range val.members {
			var p patternRule
			if err := expression(&p.expr, m.key); err != nil {
				return err
			}
			if p.rule, err = c.rule(m.val); err != nil {
				return err
			}
			r.patterns = append(r.patterns, p)
		}
	case "propertyNames":
		return sub(&r.names)
	case "minProperties":
		return count(&r.minProps)
	case "maxProperties":
		return count(&r.maxProps)
	case "dependentRequired":
		if val.kind != kObject {
			return bad("an object")
		}
		for _, m := range val.members {
			n := need{prop: m.key}
			if err := strings(&n.names, m.val); err != nil {
				return err
			}
			r.needs = append(r.needs, n)
		}
	case "dependentSchemas":
		for _, m := range val.members {
			n := need{prop: m.key}
			if n.rule, err = c.rule(m.val); err != nil {
				return err
			}
			r.needs = append(r.needs, n)
		}
	case "unevaluatedProperties":
		return sub(&r.unevaluatedProps)
	case "allOf":
		return subs(&r.allOf)
	case "anyOf":
		return subs(&r.anyOf)
	case "oneOf":
		return subs(&r.oneOf)
	case "not":
		return sub(&r.not)
	case "if":
		return sub(&r.cond)
	case "then":
		return sub(&r.then)
	case "else":
		return sub(&r.els)
	case "default":
		r.fallback = val
	case "examples":
		if val.kind == kArray && len(val.items) > 0 {
			r.sample = val.items[0]
		}
	default:
		if k, ok := keywords[name]; !ok || !k.note {
			r.unknown = true
		}
	}
	return nil
}
