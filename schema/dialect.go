package schema

import (
	"cmp"
	"encoding/json"
	"errors"
	"slices"
	"strings"
)

// Loss is one thing that a dialect cannot say as the schema said it.
type Loss struct {
	Path    string `json:"path"`    // JSON Pointer of the schema that held it, in the document that was converted
	Keyword string `json:"keyword"` // what was lost, weakened or rewritten
	Detail  string `json:"detail"`  // what became of it
}

// noKeys is the loss of an object that says nothing of its keys, where a provider
// only lets a model send declared ones.
const noKeys = "no key is declared, so none can be sent"

// String returns the loss as one line.
func (l Loss) String() string { return where(l.Path) + ": " + l.Keyword + ": " + l.Detail }

// maxDialectSchemas bounds a converted schema, for documents that would multiply
// when references are replaced by what they mean.
const maxDialectSchemas = 5000

// converter rewrites a schema for a reader that knows less than JSON Schema.
type converter struct {
	doc    *document
	path   map[*value]string // of each schema, in the document as it came
	losses []Loss
	budget int      // schemas that may still be made
	inside []*value // schemas put in the place of references to them, outermost first
}

// convert runs f over a document and returns what it made of the root. It never
// fails: of a document that is no schema, an object without keys remains.
func convert(doc json.RawMessage, f func(c *converter, root *value) *value) (json.RawMessage, []Loss) {
	c := &converter{path: map[*value]string{}, budget: maxDialectSchemas}
	root, err := c.open(doc)
	if err != nil {
		return c.nothing(f, err.Error())
	}
	out := f(c, root)
	if c.budget <= 0 {
		return c.nothing(f, "it grows too large")
	}
	text := appendCompact(nil, out)
	if _, err := readSchema(text); err != nil {
		return c.nothing(f, "it grows too large")
	}
	return text, c.losses
}

// nothing is what remains of a document that cannot be used.
func (c *converter) nothing(f func(c *converter, root *value) *value, why string) (json.RawMessage, []Loss) {
	root := typed("object")
	doc, _ := open(root) // an object with a type is a schema
	out := f(&converter{doc: doc, path: map[*value]string{}, budget: maxDialectSchemas}, root)
	return appendCompact(nil, out), []Loss{{Keyword: "$schema", Detail: "not usable, nothing is left of it: " + why}}
}

// open reads a document and brings it to 2020-12, dropping what stands in the way.
func (c *converter) open(text json.RawMessage) (*value, error) {
	if blank(text) {
		text = json.RawMessage("{}")
	}
	root, err := readSchema(text)
	if err != nil {
		return nil, err
	}
	if root.kind == kBool {
		root = typed("object")
	}
	d, err := open(root)
	if err != nil {
		return nil, err
	}
	for _, s := range d.sites {
		c.path[s.schema] = s.path
	}
	if _, err := draftOf(root); err != nil {
		c.lose(root, "$schema", "unknown draft, read as 2020-12")
		root.delete("$schema")
	}
	for _, s := range d.sites {
		if s.schema.kind != kObject {
			continue
		}
		for _, name := range []string{"$dynamicRef", "$recursiveRef"} {
			if s.schema.get(name) != nil {
				c.lose(s.schema, name, "dropped")
				s.schema.delete(name)
			}
		}
		if id := s.schema.get("$id"); id != nil && s.schema != root {
			c.lose(s.schema, "$id", "dropped")
			s.schema.delete("$id")
		}
		if ref := s.schema.get("$ref"); ref != nil {
			if _, err := d.resolve(ref.text); err != nil || ref.kind != kString {
				c.lose(s.schema, "$ref", "leads out of the document, dropped")
				s.schema.delete("$ref")
			}
		}
	}
	for _, name := range []string{"$schema", "$id"} {
		if root.get(name) != nil {
			c.lose(root, name, "dropped, the form is 2020-12")
		}
	}
	if c.doc, err = d.modernise(); err != nil {
		return nil, errors.New(strings.TrimPrefix(err.Error(), ErrUnsupported.Error()+": "))
	}
	return root, nil
}

// keywordOrder is the order of keywords in a converted schema. It is fixed so
// that one meaning has one text.
var keywordOrder = []string{
	"type", "$ref", "title", "description", "format", "nullable", "enum", "const", "default",
	"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength", "pattern",
	"anyOf", "items", "minItems", "maxItems", "properties", "required", "minProperties", "maxProperties", "additionalProperties",
}

// arrange puts the keywords of a schema and those below it in their order.
func arrange(v *value) {
	rank := func(m member) int {
		if i := slices.Index(keywordOrder, m.key); i >= 0 {
			return i
		}
		return len(keywordOrder)
	}
	slices.SortStableFunc(v.members, func(a, b member) int { return cmp.Compare(rank(a), rank(b)) })
	_ = subschemas(v, func(_, _ string, sub *value) error { // f does not fail, and v is well formed
		arrange(sub)
		return nil
	})
}

// lose lists a loss, once.
func (c *converter) lose(v *value, keyword, detail string) {
	l := Loss{c.path[v], keyword, detail}
	if !slices.Contains(c.losses, l) && len(c.losses) < 1000 {
		c.losses = append(c.losses, l)
	}
}

// spend counts a made value, and reports whether there is room for it.
func (c *converter) spend() bool {
	c.budget--
	return c.budget > 0
}

// copyOf returns a shallow copy of v that stands for the same place.
func (c *converter) copyOf(v *value) *value {
	n := &value{kind: v.kind, text: v.text, items: v.items, members: slices.Clone(v.members)}
	c.path[n] = c.path[v]
	return n
}

// target returns the schema that v refers to, or nil.
func (c *converter) target(v *value) *value {
	ref := v.get("$ref")
	if ref == nil {
		return nil
	}
	t, err := c.doc.resolve(ref.text)
	if err != nil {
		return nil
	}
	return t
}

// unreferenced follows references that stand alone until something else is there.
func (c *converter) unreferenced(v *value) *value {
	for at, steps := v, 0; steps <= len(c.doc.sites); steps++ {
		t := c.target(at)
		if t == nil || !alone(at) {
			return at
		}
		at = t
	}
	c.lose(v, "$ref", "leads in a circle, dropped")
	return objectValue()
}

// rootObject returns what stands at the root, without reference and allOf.
func (c *converter) rootObject(root *value) *value {
	v := c.unreferenced(root)
	if v.kind != kObject {
		if v.text == "false" {
			c.lose(root, "$ref", "false dropped")
		}
		v = typed("object")
	}
	return c.flatten(v)
}

// flatten returns v with allOf, and a reference that does not stand alone,
// merged into it. The result is a copy; parts are shared. What references lead to
// is added to c.inside, which the caller cuts back when done with the parts.
func (c *converter) flatten(v *value) *value {
	if v.kind != kObject {
		return v
	}
	out := c.copyOf(v)
	var parts []*value
	if t := c.target(v); t != nil && !alone(v) {
		out.delete("$ref")
		parts = append(parts, t)
	}
	if all := v.get("allOf"); all != nil {
		out.delete("allOf")
		parts = append(parts, all.items...)
	}
	for _, p := range parts {
		if t := c.unreferenced(p); t != p || t == c.target(v) {
			if slices.Contains(c.inside, t) {
				c.lose(v, "$ref", "recurs, dropped")
				continue
			}
			c.inside = append(c.inside, t)
			p = t
		}
		if !c.spend() {
			break
		}
		c.merge(out, c.flatten(p), v)
	}
	return out
}

// alone reports whether a reference has no neighbours that restrict it further.
func alone(v *value) bool {
	for _, m := range v.members {
		if m.key != "$ref" && m.key != "$defs" && !keywords[m.key].note {
			return false
		}
	}
	return true
}

// merge adds what part demands to out. What cannot be said together is lost.
func (c *converter) merge(out, part, at *value) {
	if part.kind == kBool {
		if part.text == "false" {
			c.lose(at, "allOf", "false dropped")
		}
		return
	}
	for _, m := range part.members {
		old := out.get(m.key)
		switch {
		case m.key == "$defs" || m.key == "$ref": // flatten has left none but in a circle
		case old == nil:
			out.set(m.key, m.val)
		case equal(old, m.val), keywords[m.key].note:
		case m.key == "properties" && old.kind == kObject && m.val.kind == kObject:
			props := &value{kind: kObject, members: slices.Clone(old.members)}
			for _, p := range m.val.members {
				if was := props.get(p.key); was == nil {
					props.set(p.key, p.val)
				} else if !equal(was, p.val) {
					both := objectValue()
					both.set("allOf", arrayValue(was, p.val))
					c.path[both] = c.path[p.val]
					props.set(p.key, both)
				}
			}
			out.set(m.key, props)
		case m.key == "required" && old.kind == kArray && m.val.kind == kArray:
			names := arrayValue(slices.Clone(old.items)...)
			for _, n := range m.val.items {
				if !slices.ContainsFunc(names.items, func(o *value) bool { return equal(o, n) }) {
					names.items = append(names.items, n)
				}
			}
			out.set(m.key, names)
		case m.key == "minimum" || m.key == "exclusiveMinimum" || m.key == "minLength" || m.key == "minItems" || m.key == "minProperties":
			out.set(m.key, extreme(old, m.val, 1))
		case m.key == "maximum" || m.key == "exclusiveMaximum" || m.key == "maxLength" || m.key == "maxItems" || m.key == "maxProperties":
			out.set(m.key, extreme(old, m.val, -1))
		case m.key == "additionalProperties" && (old.text == "false" || m.val.text == "false"):
			out.set(m.key, boolValue(false))
		case m.key == "type":
			if both := typesIn(old) & typesIn(m.val); both != 0 {
				out.set("type", typeValue(both))
			} else {
				c.lose(at, "allOf", "types that exclude each other, the first is kept")
			}
		default:
			c.lose(at, "allOf", "a second "+m.key+" dropped")
		}
	}
}

// extreme returns the larger (sign 1) or the smaller (-1) of two numbers.
func extreme(a, b *value, sign int) *value {
	if a.kind == kNumber && b.kind == kNumber && parseDecimal(b.text).cmp(parseDecimal(a.text))*sign > 0 {
		return b
	}
	return a
}

// typesIn returns the types that a value of the keyword type names.
func typesIn(v *value) typeSet {
	if v == nil {
		return 0
	}
	var t typeSet
	for _, n := range append([]*value{v}, v.items...) {
		t |= typeNamed(n.text)
	}
	if t&tNumber != 0 {
		t |= tInteger
	}
	return t
}

// typeValue returns the value of the keyword type for a set.
func typeValue(t typeSet) *value {
	if t&tNumber != 0 {
		t &^= tInteger
	}
	names := t.names()
	if len(names) == 1 {
		return stringValue(names[0])
	}
	v := arrayValue()
	for _, n := range names {
		v.items = append(v.items, stringValue(n))
	}
	return v
}

// remark adds a sentence to the description, where a model still reads what the
// dialect cannot say otherwise.
func remark(v *value, text string) {
	d := v.get("description")
	switch {
	case d == nil || d.text == "":
		v.set("description", stringValue(text))
	case !strings.Contains(d.text, text):
		v.set("description", stringValue(strings.TrimRight(d.text, " ")+" "+text))
	}
}

// textOf lists values for a remark.
func textOf(vs []*value) string { return clip(alternatives(vs), 2*maxEcho) }

// strip drops the keywords that are not in allowed, listing each.
func (c *converter) strip(v *value, allowed map[string]bool) {
	for _, m := range slices.Clone(v.members) {
		if !allowed[m.key] {
			c.lose(v, m.key, "not known there, dropped")
			v.delete(m.key)
		}
	}
}

// keyless reports whether a schema is an object without declared keys.
func keyless(v *value) bool {
	props := v.get("properties")
	return typesIn(v.get("type"))&^tNull == tObject && (props == nil || len(props.members) == 0)
}

// jsonText replaces a schema by a string that holds JSON, which repair turns back.
func (c *converter) jsonText(v *value, keyword, what string) *value {
	c.lose(v, keyword, "becomes a string with JSON text in it, which repair decodes")
	out := typed("string")
	if d := v.get("description"); d != nil {
		out.set("description", d)
	}
	remark(out, "JSON text of "+what+".")
	return out
}

// unionOf makes the branches of anyOf and oneOf one list. oneOf allows no value
// that fits two branches, which anyOf does.
func (c *converter) unionOf(v *value) []*value {
	var branches []*value
	for _, name := range []string{"anyOf", "oneOf"} {
		list := v.get(name)
		if list == nil {
			continue
		}
		v.delete(name)
		switch {
		case name == "oneOf" && branches != nil:
			c.lose(v, name, "dropped beside anyOf")
			continue
		case name == "oneOf":
			c.lose(v, name, "becomes anyOf")
		}
		branches = list.items
	}
	return branches
}
