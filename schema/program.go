package schema

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// program is a schema compiled for one quick pass over the text of an input. It
// answers "surely valid" or "don't know", never "invalid", and allocates nothing.
// A schema with any keyword that it does not understand has no program, so that
// none can slip through.
type program struct {
	root  *node
	into  *shape // what it is decoded into, nil if that is not known
	fills []fill // defaults of the root's properties, by bit
}

// fill is the text of a default to be put into an object.
type fill struct {
	bit  uint64
	text string // "key":value
}

// node is a rule in a program.
type node struct {
	any   bool // everything is allowed
	types typeSet

	texts   []string // enum of strings
	hasEnum bool
	counted bool // the length of a string matters
	minLen  int
	maxLen  int
	pattern *regexp.Regexp

	bounded           bool // numbers are bounded
	min, max          float64
	openLow, openHigh bool // the bound itself is excluded

	items    *node
	minItems int
	maxItems int

	fields   []fieldNode
	required uint64
	fallback uint64   // fields with a default
	extra    *node    // undeclared keys; nil = forbidden
	clash    []string // names that no undeclared key may resemble

	either []*node // anyOf, of scalars
}

type fieldNode struct {
	name     string
	node     *node
	nullable bool // null means absent, and encoding/json treats it so
}

// maxFields is how many properties an object of a program can have: a bit each.
const maxFields = 64

// compileProgram returns the program of a schema that is decoded into a shape
// (nil: not decoded here), or nil if there is none.
func compileProgram(c *compiler, s *shape) *program {
	if c.branches && c.refs {
		return nil
	}
	b := builder{known: map[*rule]*node{}, shapes: map[*rule]*shape{}}
	root := c.rules[c.doc.root]
	n := b.node(root, s)
	if b.failed || n.any {
		return nil
	}
	p := &program{root: n, into: s}
	for target := root; n.fallback != 0; target = target.ref {
		if target.props == nil {
			if target.ref == nil {
				return nil
			}
			continue
		}
		for i, prop := range target.props {
			if n.fallback&(1<<i) != 0 {
				text := append(appendString(nil, prop.name), ':')
				p.fills = append(p.fills, fill{1 << i, string(appendCompact(text, prop.fallback))})
			}
		}
		break
	}
	return p
}

type builder struct {
	known  map[*rule]*node
	shapes map[*rule]*shape
	failed bool
}

func (b *builder) fail() *node {
	b.failed = true
	return &node{}
}

// node compiles a rule. A rule that stands for several shapes has no node, since
// what null and other spellings of a key do depends on the shape.
func (b *builder) node(r *rule, s *shape) *node {
	if r == nil {
		if s != nil && s.form >= sequence {
			return b.fail() // what keys do depends on fields that no rule knows of
		}
		return &node{any: true}
	}
	for r.ref != nil { // a reference and nothing else is what it refers to
		rest := *r
		rest.ref = nil
		if !rest.empty() {
			return b.fail()
		}
		r = r.ref
	}
	if n, ok := b.known[r]; ok {
		if b.shapes[r] != s {
			return b.fail()
		}
		return n
	}
	n := &node{}
	b.known[r], b.shapes[r] = n, s
	b.fillIn(n, r, s)
	return n
}

// fillIn takes from a copy of the rule what it understands. What is left over
// is not understood.
func (b *builder) fillIn(n *node, r *rule, s *shape) {
	left := *r

	n.types, left.types = r.types, 0
	if n.types == 0 {
		n.types = tAny
	}
	if r.enum != nil {
		for _, e := range r.enum {
			if e.kind != kString {
				b.fail()
				return
			}
			n.texts = append(n.texts, e.text)
		}
		n.hasEnum = true
		n.types &= tString
		left.enum = nil
	}
	if r.konst != nil && r.konst.kind == kString {
		if n.hasEnum {
			b.fail()
			return
		}
		n.texts, n.hasEnum = []string{r.konst.text}, true
		n.types &= tString
		left.konst = nil
	}
	n.maxLen, n.maxItems = math.MaxInt, math.MaxInt
	for _, l := range []struct {
		from *bound
		to   *int
	}{{&left.minLen, &n.minLen}, {&left.maxLen, &n.maxLen}, {&left.minItems, &n.minItems}, {&left.maxItems, &n.maxItems}} {
		if l.from.ok {
			*l.to = l.from.n
			*l.from = bound{}
		}
	}
	n.counted = r.minLen.ok || r.maxLen.ok
	n.pattern, left.pattern = r.pattern, nil

	n.min, n.max = math.Inf(-1), math.Inf(1)
	for _, d := range []struct {
		from **decimal
		to   *float64
		open *bool
		low  bool
	}{{&left.min, &n.min, nil, true}, {&left.max, &n.max, nil, false}, {&left.above, &n.min, &n.openLow, true}, {&left.below, &n.max, &n.openHigh, false}} {
		if *d.from == nil {
			continue
		}
		// jsonschema-go compares with the bound as a float64, so this does too.
		f, err := strconv.ParseFloat((*d.from).String(), 64)
		if err != nil {
			b.fail()
			return
		}
		n.bounded = true
		if d.open == nil {
			*d.to = f
		} else if d.low && f >= *d.to || !d.low && f <= *d.to {
			*d.to, *d.open = f, true
		}
		*d.from = nil
	}

	if n.types&tArray != 0 {
		var elem *shape
		if s != nil && s.form == sequence {
			elem = s.elem
		}
		n.items = b.node(r.items, elem)
		left.items = nil
	}
	if n.types&tObject != 0 {
		b.object(n, r, &left, s)
	}
	if r.anyOf != nil {
		for _, sub := range r.anyOf {
			if sub.kinds&(tArray|tObject) != 0 {
				b.fail()
				return
			}
			n.either = append(n.either, b.node(sub, s))
		}
		left.anyOf = nil
	}
	if !left.empty() {
		b.fail()
		return
	}
	n.any = (s == nil || s.form < sequence) && r.types == 0 && !n.hasEnum && !n.counted && n.pattern == nil && !n.bounded && n.either == nil &&
		len(n.fields) == 0 && n.required == 0 && n.extra != nil && n.extra.any &&
		n.items.any && n.minItems <= 0 && n.maxItems == math.MaxInt
}

func (b *builder) object(n *node, r, left *rule, s *shape) {
	if len(r.props) > maxFields {
		b.fail()
		return
	}
	for i, p := range r.props {
		f := fieldNode{name: p.name}
		var sub *shape
		if s != nil {
			switch s.form {
			case structure:
				if j, ok := s.fields[p.name]; ok {
					sub = s.list[j].shape
				}
			case mapping:
				sub = s.elem
			}
		}
		f.node = b.node(p.rule, sub)
		if p.required {
			n.required |= 1 << i
		} else if p.rule.kinds&tNull == 0 && s != nil && s.form == structure {
			// Into a field, null is what encoding/json skips, unless the type
			// reads JSON itself. Without a field it is skipped too.
			f.nullable = sub == nil || !sub.reads
		}
		if p.fallback != nil {
			n.fallback |= 1 << i
		}
		n.fields = append(n.fields, f)
	}
	for _, name := range r.required {
		if r.property(name) == nil {
			b.fail()
			return
		}
	}
	left.props, left.index, left.required = nil, nil, nil
	switch {
	case r.closed():
		left.extra = nil
		return
	case r.extra == nil:
		n.extra = &node{any: true}
	default:
		var elem *shape
		if s != nil && s.form == mapping {
			elem = s.elem
		}
		n.extra = b.node(r.extra, elem)
		left.extra = nil
	}
	if s != nil && s.form == structure {
		// A key that is not declared could still fill a field, as encoding/json
		// does not mind case, or be an alias of one that is declared.
		for _, f := range s.list {
			n.clash = append(n.clash, f.name)
			n.clash = append(n.clash, f.aliases...)
		}
	}
}

// empty reports whether a rule says nothing.
func (r *rule) empty() bool {
	return !r.never && !r.unknown && r.types == 0 && r.enum == nil && r.konst == nil &&
		r.multipleOf == 0 && r.min == nil && r.max == nil && r.above == nil && r.below == nil &&
		!r.minLen.ok && !r.maxLen.ok && r.pattern == nil &&
		r.prefix == nil && r.items == nil && !r.minItems.ok && !r.maxItems.ok && !r.unique &&
		r.contains == nil && !r.minContains.ok && !r.maxContains.ok && r.unevaluatedItems == nil &&
		r.props == nil && r.required == nil && r.extra == nil && r.patterns == nil && r.names == nil &&
		!r.minProps.ok && !r.maxProps.ok && r.needs == nil && r.unevaluatedProps == nil &&
		r.ref == nil && r.allOf == nil && r.anyOf == nil && r.oneOf == nil &&
		r.not == nil && r.cond == nil && r.then == nil && r.els == nil
}

// resembles reports whether a key differs from one of the names in case at most.
func resembles(key string, names []string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return strings.EqualFold(name, key) })
}

// splice puts the defaults of absent properties into an object that the program accepted.
func (p *program) splice(input []byte, absent uint64) []byte {
	end := len(input) - 1
	for input[end] != '}' {
		end--
	}
	last := end - 1
	for blank(input[last : last+1]) {
		last--
	}
	b := make([]byte, 0, len(input)+128)
	b = append(b, input[:end]...)
	comma := input[last] != '{'
	for _, f := range p.fills {
		if absent&f.bit != 0 {
			if comma {
				b = append(b, ',')
			}
			b = append(b, f.text...)
			comma = true
		}
	}
	return append(b, '}')
}
