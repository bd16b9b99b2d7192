package schema

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// OpenAIStrict converts a schema to what OpenAI accepts in strict mode: objects
// allow no other keys, every property is required, and those that were optional
// may be null, which [Schema.Prepare] takes for absent. Defaults move to the
// description. A map, which strict mode has nothing for, becomes a string with
// JSON text, which Prepare decodes unless told not to repair.
//
// The root is a plain object in every dialect: there, a reference is replaced by
// what it means, allOf is merged, and of anyOf and oneOf the properties are kept.
// Those that not all alternatives require are optional, and one that they declare
// differently may be either. What goes together is checked when the call comes.
//
// All that the dialect cannot say is listed. The result is the same every time,
// and converting it again does not change it. The document need not have passed
// [Check]; one that is no schema becomes an object without keys, with a Loss.
func OpenAIStrict(doc json.RawMessage) (json.RawMessage, []Loss) {
	return convert(doc, func(c *converter, root *value) *value {
		o := openAI{c, map[*value]*value{}, map[*value]string{}}
		out := o.object(c.rootUnion(root), true)
		o.defs(out)
		arrange(out)
		return out
	})
}

var openAIKeywords = map[string]bool{
	"type": true, "enum": true, "const": true, "anyOf": true, "$ref": true, "$defs": true,
	"properties": true, "required": true, "additionalProperties": true, "items": true,
	"minItems": true, "maxItems": true, "pattern": true, "format": true,
	"minimum": true, "maximum": true, "exclusiveMinimum": true, "exclusiveMaximum": true, "multipleOf": true,
	"title": true, "description": true,
}

var openAIFormats = []string{"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"}

type openAI struct {
	*converter
	done  map[*value]*value // schemas that are referred to, converted
	names map[*value]string // their names under $defs
}

// defs adds the definitions that are referred to, directly or by one another.
func (o *openAI) defs(root *value) {
	if len(o.done) == 0 {
		return
	}
	table := objectValue()
	for _, s := range o.doc.sites { // in the order of the document
		if v := o.done[s.schema]; v != nil {
			table.set(o.names[s.schema], v)
		}
	}
	root.set("$defs", table)
}

// name gives a schema that is referred to its name under $defs.
func (o *openAI) name(target *value) string {
	if name, ok := o.names[target]; ok {
		return name
	}
	path := o.doc.sites[o.doc.at[target]].path
	base := notNameChar.ReplaceAllString(strings.TrimPrefix(path, "/$defs/"), "_")
	if base == "" {
		base = "root"
	}
	name := base
	for n := 2; ; n++ {
		taken := false
		for _, other := range o.names {
			taken = taken || other == name
		}
		if !taken {
			break
		}
		name = base + "_" + strconv.Itoa(n)
	}
	o.names[target] = name
	return name
}

// schema converts any schema but the root.
func (o *openAI) schema(v *value) *value {
	if !o.spend() {
		return typed("string")
	}
	if v.kind != kObject {
		return o.anyValue(v)
	}
	if t := o.target(v); t != nil && alone(v) {
		return o.reference(v, t)
	}
	if t := o.target(v); t != nil && slices.Contains(o.inside, o.unreferenced(t)) {
		o.lose(v, "$ref", "recurs, what stands beside it is dropped")
		return o.reference(v, t)
	}
	defer func(mark int) { o.inside = o.inside[:mark] }(len(o.inside))
	v = o.flatten(v)
	if extra := v.get("additionalProperties"); keyless(v) && (extra == nil || extra.text != "false") {
		out := o.jsonText(v, "additionalProperties", "an object")
		o.fallback(v, out)
		if typesIn(v.get("type"))&tNull != 0 {
			return nullable(out)
		}
		return out
	}
	branches := o.unionOf(v)
	if branches != nil {
		list := arrayValue()
		for _, b := range branches {
			list.items = append(list.items, o.schema(b))
		}
		out := objectValue()
		for _, m := range v.members {
			if m.key == "title" || m.key == "description" {
				out.set(m.key, m.val)
			} else if m.key != "type" && m.key != "default" {
				o.lose(v, m.key, "dropped beside anyOf")
			}
		}
		o.fallback(v, out)
		out.set("anyOf", list)
		return out
	}
	if v.get("type") == nil {
		switch {
		case v.get("properties") != nil:
			v.set("type", stringValue("object"))
		case v.get("items") != nil:
			v.set("type", stringValue("array"))
		case v.get("enum") != nil:
			var t typeSet
			for _, e := range v.get("enum").items {
				t |= e.types()
			}
			if t == 0 {
				return o.anyValue(v)
			}
			v.set("type", typeValue(t))
		case v.get("const") != nil:
			v.set("type", typeValue(v.get("const").types()&^tInteger|v.get("const").types()&tInteger))
		default:
			return o.anyValue(v)
		}
	}
	return o.object(v, false)
}

// anyValue stands for a schema without a type, which strict mode does not allow.
func (o *openAI) anyValue(v *value) *value {
	o.lose(v, "type", "any value: becomes string, number, boolean or null")
	out := objectValue()
	out.set("type", typeValue(tString|tNumber|tBoolean|tNull))
	if v.kind == kObject {
		for _, m := range v.members {
			switch {
			case m.key == "title" || m.key == "description":
				out.set(m.key, m.val)
			case m.key != "default":
				o.lose(v, m.key, "not known there, dropped")
			}
		}
		o.fallback(v, out)
	}
	return out
}

// reference converts a reference, and what it refers to if not done yet.
func (o *openAI) reference(v, target *value) *value {
	name := o.name(target)
	if _, ok := o.done[target]; !ok {
		o.done[target] = objectValue() // for recursion
		o.done[target] = o.schema(target)
	}
	ref := reference(name)
	out := ref
	for _, m := range v.members {
		switch m.key {
		case "$ref", "$defs", "default":
		case "title", "description":
			if out == ref {
				out = objectValue()
				out.set("anyOf", arrayValue(ref)) // a reference must stand alone
			}
			out.set(m.key, m.val)
		default:
			o.lose(v, m.key, "not known there, dropped")
		}
	}
	if v.get("default") != nil {
		if out == ref {
			out = objectValue()
			out.set("anyOf", arrayValue(ref))
		}
		o.fallback(v, out)
	}
	return out
}

// fallback moves the default to the description.
func (o *openAI) fallback(v, out *value) {
	if d := v.get("default"); d != nil {
		o.lose(v, "default", "moved to the description")
		out.delete("default")
		remark(out, "Default: "+textOf([]*value{d})+".")
	}
}

// object converts a schema with a type, whatever that is.
func (o *openAI) object(v *value, root bool) *value {
	out := o.copyOf(v)
	out.delete("$defs")
	if root {
		if t := typesIn(out.get("type")); t != tObject {
			if t != 0 {
				o.lose(v, "type", "becomes object, as the root must be")
			}
			out.set("type", stringValue("object"))
		}
		for _, name := range []string{"$ref", "enum", "const"} {
			if out.get(name) != nil {
				o.lose(v, name, "not possible at the root, dropped")
				out.delete(name)
			}
		}
	}
	o.fallback(v, out)
	t := typesIn(out.get("type"))
	if t == 0 {
		o.lose(v, "type", "not a known type, becomes string")
		t = tString
	}
	if rest := t &^ (tObject | tNull); !root && t&tObject != 0 && rest != 0 && anyKeys(v) {
		o.lose(v, "type", "objects are left out, as none of their keys could be sent; the other types remain")
		t &^= tObject
		for _, name := range []string{"properties", "required", "additionalProperties"} {
			out.delete(name)
		}
	}
	out.set("type", typeValue(t))
	if f := out.get("format"); f != nil && !slices.Contains(openAIFormats, f.text) {
		o.lose(v, "format", "not known there, dropped")
		out.delete("format")
	}
	if t&tObject != 0 {
		o.properties(v, out)
	} else {
		for _, name := range []string{"properties", "required", "additionalProperties"} {
			if out.get(name) != nil {
				o.lose(v, name, "not for this type, dropped")
				out.delete(name)
			}
		}
	}
	if t&tArray != 0 {
		o.list(v, out)
	} else if out.get("items") != nil {
		o.lose(v, "items", "not for this type, dropped")
		out.delete("items")
	}
	o.strip(out, openAIKeywords)
	return out
}

// anyKeys reports whether an object may have keys, and declares none.
func anyKeys(v *value) bool {
	props, extra := v.get("properties"), v.get("additionalProperties")
	return (props == nil || len(props.members) == 0) && (extra == nil || extra.text != "false")
}

func (o *openAI) properties(v, out *value) {
	var required []string
	if r := v.get("required"); r != nil {
		for _, n := range r.items {
			required = append(required, n.text)
		}
	}
	props, names := objectValue(), arrayValue()
	if p := v.get("properties"); p != nil {
		for _, m := range p.members {
			sub := o.schema(m.val)
			if !slices.Contains(required, m.key) {
				sub = nullable(sub)
			}
			props.members = append(props.members, member{key: m.key, val: sub})
			names.items = append(names.items, stringValue(m.key))
		}
	}
	if slices.ContainsFunc(required, func(n string) bool { return props.get(n) == nil }) {
		o.lose(v, "required", "names of undeclared properties dropped")
	}
	if extra := v.get("additionalProperties"); extra != nil && extra.text != "false" {
		o.lose(v, "additionalProperties", "becomes false")
	} else if extra == nil && len(props.members) == 0 {
		o.lose(v, "additionalProperties", noKeys)
	}
	out.set("properties", props)
	out.set("required", names)
	out.set("additionalProperties", boolValue(false))
}

func (o *openAI) list(v, out *value) {
	items := v.get("items")
	if prefix := v.get("prefixItems"); prefix != nil {
		o.lose(v, "prefixItems", "becomes items, any of them in any place")
		out.delete("prefixItems")
		any := objectValue()
		branches := slices.Clone(prefix.items)
		if items != nil && items.text != "false" {
			branches = append(branches, items)
		}
		any.set("anyOf", arrayValue(branches...))
		o.path[any] = o.path[v] + "/prefixItems"
		items = any
	}
	if items == nil {
		items = objectValue()
		o.path[items] = o.path[v]
	}
	out.set("items", o.schema(items))
}

// nullable returns the schema with null allowed.
func nullable(v *value) *value {
	null := typed("null")
	switch t := typesIn(v.get("type")); {
	case v.get("$ref") != nil:
		out := objectValue()
		out.set("anyOf", arrayValue(v, null))
		return out
	case v.get("anyOf") != nil:
		list := v.get("anyOf")
		for _, b := range list.items {
			if typesIn(b.get("type"))&tNull != 0 {
				return v
			}
		}
		v.set("anyOf", arrayValue(append(slices.Clone(list.items), null)...))
		return v
	case t&tNull == 0:
		v.set("type", typeValue(t|tNull))
	}
	nothing := &value{kind: kNull, text: "null"}
	if e := v.get("enum"); e != nil && !slices.ContainsFunc(e.items, func(o *value) bool { return o.kind == kNull }) {
		v.set("enum", arrayValue(append(slices.Clone(e.items), nothing)...))
	}
	if k := v.get("const"); k != nil && k.kind != kNull {
		v.delete("const")
		v.set("enum", arrayValue(k, nothing))
	}
	return v
}
