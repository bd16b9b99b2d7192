package schema

import (
	"encoding/json"
	"slices"
	"strconv"
)

// Gemini converts a schema to what Gemini accepts as parameters of a function:
// the OpenAPI subset with one type per schema and nullable, without references
// (they are replaced by what they mean, recursion is cut), const, exclusive
// bounds and additionalProperties. A map, or the point where recursion is cut,
// becomes a string with JSON text, which [Schema.Prepare] decodes unless told not
// to repair. Values of an enum that are not strings move to the description.
//
// Losses, stability and documents that were not checked are as for [OpenAIStrict].
func Gemini(doc json.RawMessage) (json.RawMessage, []Loss) {
	return convert(doc, func(c *converter, root *value) *value {
		g := gemini{converter: c}
		root = c.rootUnion(root)
		for _, name := range []string{"enum", "const"} {
			if root.get(name) != nil {
				c.lose(root, name, "not possible at the root, dropped")
				root.delete(name)
			}
		}
		if t := typesIn(root.get("type")); t != tObject {
			if t != 0 {
				c.lose(root, "type", "becomes object, as the root must be")
			}
			root.set("type", stringValue("object"))
		}
		out := g.typed(root, tObject)
		arrange(out)
		return out
	})
}

var geminiKeywords = map[string]bool{
	"type": true, "format": true, "title": true, "description": true, "nullable": true, "enum": true,
	"items": true, "minItems": true, "maxItems": true, "properties": true, "required": true,
	"minProperties": true, "maxProperties": true, "minLength": true, "maxLength": true, "pattern": true,
	"minimum": true, "maximum": true, "anyOf": true, "default": true, "example": true, "propertyOrdering": true,
}

// geminiFormats are the formats known for each type.
var geminiFormats = map[typeSet][]string{
	tString: {"date-time", "enum"}, tInteger: {"int32", "int64"}, tNumber | tInteger: {"float", "double"},
}

type gemini struct{ *converter }

// schema converts any schema but the root.
func (g *gemini) schema(v *value) *value {
	if !g.spend() {
		return typed("string")
	}
	if v.kind != kObject {
		return g.anyValue(v)
	}
	if t := g.target(v); t != nil && alone(v) {
		return g.inline(v, t)
	} else if t != nil && slices.Contains(g.inside, g.unreferenced(t)) {
		return g.jsonText(v, "$ref", "the same kind of value")
	}
	defer func(mark int) { g.inside = g.inside[:mark] }(len(g.inside))
	return g.flat(g.flatten(v))
}

// inline replaces a reference by the schema it refers to.
func (g *gemini) inline(v, t *value) *value {
	if slices.Contains(g.inside, t) || t == g.doc.root {
		return g.jsonText(v, "$ref", "the same kind of value")
	}
	g.inside = append(g.inside, t)
	out := g.schema(t)
	g.inside = g.inside[:len(g.inside)-1]
	for _, m := range v.members {
		switch m.key {
		case "title", "description", "default":
			out.set(m.key, m.val)
		case "$ref", "$defs":
		default:
			g.lose(v, m.key, "not known there, dropped")
		}
	}
	return out
}

// flat converts a schema without reference and allOf.
func (g *gemini) flat(v *value) *value {
	if k := v.get("const"); k != nil {
		v.delete("const")
		if v.get("enum") == nil {
			v.set("enum", arrayValue(k))
		}
	}
	types := typesIn(v.get("type"))
	if types == 0 {
		switch {
		case v.get("properties") != nil:
			types = tObject
		case v.get("items") != nil || v.get("prefixItems") != nil:
			types = tArray
		case v.get("enum") != nil:
			for _, e := range v.get("enum").items {
				types |= e.types()
			}
		}
	}
	null := types&tNull != 0
	if types &^= tNull; null {
		v.set("nullable", boolValue(true))
	}
	if branches := g.unionOf(v); branches != nil {
		return g.union(v, branches)
	}
	switch {
	case types == 0:
		return g.anyValue(v)
	case types == tObject && keyless(g.withType(v, tObject)):
		out := g.jsonText(v, "additionalProperties", "an object")
		if null {
			out.set("nullable", boolValue(true))
		}
		return out
	case types&tNumber != 0:
		types &^= tInteger
	}
	names := types.names()
	if len(names) == 1 {
		return g.typed(v, types)
	}
	g.lose(v, "type", "several types become anyOf")
	list := arrayValue()
	for _, n := range names {
		t := typeNamed(n)
		branch := g.withType(v, t)
		for _, m := range slices.Clone(branch.members) {
			if only := keywordTypes[m.key]; m.key == "title" || m.key == "description" || m.key == "default" || m.key == "nullable" || only != 0 && only&t == 0 {
				branch.delete(m.key)
			}
		}
		if keyless(branch) {
			list.items = append(list.items, g.jsonText(branch, "additionalProperties", "an object"))
			continue
		}
		list.items = append(list.items, g.typed(branch, t))
	}
	return g.around(v, list)
}

// withType returns a copy of v of one type.
func (g *gemini) withType(v *value, t typeSet) *value {
	out := g.copyOf(v)
	out.set("type", typeValue(t))
	return out
}

// keywordTypes are the types that a keyword is for.
var keywordTypes = map[string]typeSet{
	"properties": tObject, "required": tObject, "additionalProperties": tObject, "minProperties": tObject, "maxProperties": tObject,
	"items": tArray, "prefixItems": tArray, "minItems": tArray, "maxItems": tArray, "uniqueItems": tArray,
	"minLength": tString, "maxLength": tString, "pattern": tString, "format": tString | tNumber | tInteger,
	"minimum": tNumber | tInteger, "maximum": tNumber | tInteger,
	"exclusiveMinimum": tNumber | tInteger, "exclusiveMaximum": tNumber | tInteger, "multipleOf": tNumber | tInteger,
}

// around keeps of v what may stand beside anyOf.
func (g *gemini) around(v, list *value) *value {
	out := g.copyOf(v)
	for _, m := range v.members {
		switch m.key {
		case "title", "description", "default", "nullable":
		default:
			out.delete(m.key)
		}
	}
	out.set("anyOf", list)
	return out
}

// union converts alternatives. Null among them becomes nullable.
func (g *gemini) union(v *value, branches []*value) *value {
	list := arrayValue()
	for _, b := range branches {
		if typesIn(b.get("type")) == tNull {
			v.set("nullable", boolValue(true))
			continue
		}
		list.items = append(list.items, g.schema(b))
	}
	for _, m := range v.members {
		switch m.key {
		case "title", "description", "default", "nullable", "type", "$defs":
		default:
			g.lose(v, m.key, "dropped beside anyOf")
		}
	}
	if len(list.items) != 1 {
		if len(list.items) == 0 {
			return g.anyValue(v)
		}
		return g.around(v, list)
	}
	out := list.items[0]
	for _, m := range v.members {
		switch m.key {
		case "title", "description", "default", "nullable":
			out.set(m.key, m.val)
		}
	}
	return out
}

// anyValue stands for a schema without a type.
func (g *gemini) anyValue(v *value) *value {
	g.lose(v, "type", "any value: becomes string, number, boolean or null")
	list := arrayValue(typed("string"), typed("number"), typed("boolean"))
	out := objectValue()
	if v.kind == kObject {
		for _, m := range v.members {
			switch m.key {
			case "title", "description", "default":
				out.set(m.key, m.val)
			case "nullable", "type", "$defs":
			default:
				g.lose(v, m.key, "not known there, dropped")
			}
		}
	}
	out.set("anyOf", list)
	out.set("nullable", boolValue(true))
	return out
}

// typed converts a schema of one type.
func (g *gemini) typed(v *value, t typeSet) *value {
	out := g.copyOf(v)
	out.delete("$defs")
	out.set("type", typeValue(t))
	if e := out.get("enum"); e != nil {
		g.enum(v, out, e, t)
	}
	if t == tInteger || t&tNumber != 0 {
		g.bounds(v, out, t)
	}
	if f := out.get("format"); f != nil && !slices.Contains(geminiFormats[t], f.text) {
		g.lose(v, "format", "not known there, dropped")
		out.delete("format")
	}
	if t == tObject {
		g.properties(v, out)
	}
	if t == tArray {
		g.list(v, out)
	}
	if extra := out.get("additionalProperties"); extra != nil {
		if extra.text != "false" {
			g.lose(v, "additionalProperties", "only the declared keys remain")
		} else {
			g.lose(v, "additionalProperties", "dropped; other keys are refused when the call comes")
		}
		out.delete("additionalProperties")
	} else if p := out.get("properties"); t == tObject && (p == nil || len(p.members) == 0) {
		g.lose(v, "additionalProperties", noKeys)
	}
	for _, m := range slices.Clone(out.members) {
		if only := keywordTypes[m.key]; only != 0 && only&t == 0 {
			g.lose(v, m.key, "not for this type, dropped")
			out.delete(m.key)
		}
	}
	g.strip(out, geminiKeywords)
	return out
}

// enum keeps an enum of strings, and moves any other to the description.
func (g *gemini) enum(v, out, e *value, t typeSet) {
	var fit []*value
	for _, x := range e.items {
		switch {
		case x.kind == kNull:
			out.set("nullable", boolValue(true))
		case x.types()&t != 0:
			fit = append(fit, x)
		}
	}
	if t == tString && len(fit) > 0 {
		out.set("enum", arrayValue(fit...))
		return
	}
	out.delete("enum")
	if len(fit) > 0 {
		g.lose(v, "enum", "only for strings, moved to the description")
		remark(out, "One of "+textOf(fit)+".")
	} else {
		g.lose(v, "enum", "dropped")
	}
}

// bounds replaces exclusive bounds, exactly where only integers are allowed.
func (g *gemini) bounds(v, out *value, t typeSet) {
	for _, b := range []struct {
		exclusive, inclusive string
		step                 int64
	}{{"exclusiveMinimum", "minimum", 1}, {"exclusiveMaximum", "maximum", -1}} {
		ex := out.get(b.exclusive)
		if ex == nil {
			continue
		}
		out.delete(b.exclusive)
		bound := ex
		n, err := strconv.ParseInt(ex.text, 10, 53)
		if t == tInteger && err == nil {
			bound = numberValue(decimalOf(n + b.step))
		} else {
			g.lose(v, b.exclusive, "becomes "+b.inclusive)
		}
		if old := out.get(b.inclusive); old != nil {
			bound = extreme(old, bound, int(b.step))
		}
		out.set(b.inclusive, bound)
	}
}

func (g *gemini) properties(v, out *value) {
	props := objectValue()
	if p := v.get("properties"); p != nil {
		for _, m := range p.members {
			props.members = append(props.members, member{key: m.key, val: g.schema(m.val)})
		}
	}
	out.set("properties", props)
	r := v.get("required")
	if r == nil {
		return
	}
	names := arrayValue()
	for _, n := range r.items {
		if props.get(n.text) != nil {
			names.items = append(names.items, n)
		} else {
			g.lose(v, "required", "names of undeclared properties dropped")
		}
	}
	out.delete("required")
	if len(names.items) > 0 {
		out.set("required", names)
	}
}

func (g *gemini) list(v, out *value) {
	items := v.get("items")
	if prefix := v.get("prefixItems"); prefix != nil {
		g.lose(v, "prefixItems", "becomes items, any of them in any place")
		out.delete("prefixItems")
		any := objectValue()
		branches := slices.Clone(prefix.items)
		if items != nil && items.text != "false" {
			branches = append(branches, items)
		}
		any.set("anyOf", arrayValue(branches...))
		g.path[any] = g.path[v] + "/prefixItems"
		items = any
	}
	if items == nil {
		items = objectValue()
		g.path[items] = g.path[v]
	}
	out.set("items", g.schema(items))
}
