package schema

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// draft is a version of JSON Schema, as far as the difference matters here.
type draft int

const (
	draftUnsaid draft = iota // no $schema: 2020-12, but older spellings are understood
	draft4
	draft7 // and 6
	draft2019
	draft2020
)

func draftOf(root *value) (draft, error) {
	v := root.get("$schema")
	if v == nil {
		return draftUnsaid, nil
	}
	uri := strings.TrimSuffix(strings.TrimSuffix(v.text, "#"), "/")
	_, name, _ := strings.Cut(uri, "://")
	switch strings.TrimPrefix(name, "www.") {
	case "json-schema.org/draft-04/schema":
		return draft4, nil
	case "json-schema.org/draft-06/schema", "json-schema.org/draft-07/schema":
		return draft7, nil
	case "json-schema.org/draft/2019-09/schema":
		return draft2019, nil
	case "json-schema.org/draft/2020-12/schema", "json-schema.org/schema":
		return draft2020, nil
	}
	return 0, fmt.Errorf("%w: unknown $schema %q", ErrUnsupported, clip(v.text, maxEcho))
}

// modernise rewrites a document of any draft in the terms of 2020-12, so that
// the rest of the package, and jsonschema-go, only meet one dialect. It changes
// the document's tree. Every reference becomes a plain JSON Pointer.
func (d *document) modernise() (*document, error) {
	dr, err := draftOf(d.root)
	if err != nil {
		return nil, err
	}
	targets := map[*value]*value{} // from the schema with a reference to the schema it means
	embedded := false
	for _, s := range d.sites {
		for _, name := range []string{"$dynamicRef", "$recursiveRef"} {
			if s.schema.get(name) != nil {
				return nil, fmt.Errorf("%w: %s at %s", ErrUnsupported, name, where(s.path))
			}
		}
		embedded = embedded || s.schema != d.root && s.schema.get("$id") != nil
		ref := s.schema.get("$ref")
		if ref == nil {
			continue
		}
		if ref.kind != kString {
			return nil, fmt.Errorf("%w: $ref at %s is %s", ErrUnsupported, where(s.path), ref.describe())
		}
		if targets[s.schema], err = d.resolve(ref.text); err != nil {
			return nil, err
		}
	}
	if embedded && len(targets) > 0 {
		return nil, fmt.Errorf("%w: references in a document with embedded $id", ErrUnsupported)
	}
	for _, s := range d.sites {
		if s.schema.kind == kObject {
			if err := moderniseOne(s.schema, dr); err != nil {
				return nil, fmt.Errorf("%w, at %s", err, where(s.path))
			}
		}
	}
	n, err := open(d.root)
	if err != nil {
		return nil, err
	}
	for from, to := range targets {
		if _, ok := n.at[from]; !ok {
			continue // an older draft ignores it
		}
		i, ok := n.at[to]
		if !ok {
			return nil, fmt.Errorf("%w: a reference leads to a part of the schema that its draft ignores", ErrUnsupported)
		}
		from.set("$ref", stringValue("#"+(&url.URL{Fragment: n.sites[i].path}).EscapedFragment()))
	}
	return n, nil
}

func moderniseOne(v *value, dr draft) error {
	for _, name := range []string{"$schema", "$id", "$vocabulary", "$recursiveAnchor", "$anchor", "$dynamicAnchor"} {
		v.delete(name)
	}
	if dr == draft4 {
		if id := v.get("id"); id != nil && id.kind == kString {
			v.delete("id")
		}
		for _, k := range [][2]string{{"minimum", "exclusiveMinimum"}, {"maximum", "exclusiveMaximum"}} {
			if ex := v.get(k[1]); ex != nil && ex.kind == kBool {
				v.delete(k[1])
				if bound := v.get(k[0]); bound != nil && ex.text == "true" {
					v.delete(k[0])
					v.set(k[1], bound)
				}
			}
		}
	}
	if v.get("$ref") != nil && (dr == draft4 || dr == draft7) {
		// Up to draft 7 a reference stands alone: its neighbours are ignored.
		v.members = slices.DeleteFunc(v.members, func(m member) bool {
			return m.key != "$ref" && m.key != "$defs" && m.key != "definitions" && !keywords[m.key].note
		})
	}
	if items := v.get("items"); items != nil && items.kind == kArray {
		if v.get("prefixItems") != nil {
			return fmt.Errorf("%w: both prefixItems and a list of items", ErrUnsupported)
		}
		rest := v.get("additionalItems")
		v.delete("items")
		v.set("prefixItems", items)
		if rest != nil {
			v.set("items", rest)
		}
	}
	v.delete("additionalItems")
	if deps := v.get("dependencies"); deps != nil {
		v.delete("dependencies")
		if dr != draft2020 {
			for _, m := range deps.members {
				name := "dependentSchemas"
				if m.val.kind == kArray {
					name = "dependentRequired"
				}
				if v.get(name) == nil {
					v.set(name, objectValue())
				}
				if v.get(name).get(m.key) != nil {
					return fmt.Errorf("%w: both dependencies and %s for %q", ErrUnsupported, name, m.key)
				}
				v.get(name).set(m.key, m.val)
			}
		}
	}
	if old := v.get("definitions"); old != nil {
		v.delete("definitions")
		defs := v.get("$defs")
		if defs == nil {
			defs = objectValue()
			v.set("$defs", defs)
		}
		for _, m := range old.members {
			name := m.key
			for defs.get(name) != nil {
				name += "_"
			}
			defs.set(name, m.val)
		}
	}
	// encoding/json, and so jsonschema-go, would take "Type" for "type".
	v.members = slices.DeleteFunc(v.members, func(m member) bool {
		if _, known := keywords[m.key]; known {
			return false
		}
		for name := range keywords {
			if strings.EqualFold(name, m.key) {
				return true
			}
		}
		return false
	})
	return nil
}

// appendBare appends a part of the document as JSON without the annotations,
// which is all that deciding validity needs.
func (d *document) appendBare(b []byte, v *value) []byte {
	if _, ok := d.at[v]; !ok || v.kind != kObject {
		// Not a schema, but perhaps a list or a table of them.
		return appendParts(b, v, d.appendBare)
	}
	c := value{kind: kObject, members: make([]member, 0, len(v.members))}
	for _, m := range v.members {
		if !keywords[m.key].note {
			c.members = append(c.members, unzero(v, m))
		}
	}
	return appendParts(b, &c, d.appendBare)
}

// unzero says "minimum 0" of integers as "more than -1", which is the same:
// jsonschema-go spends as long on the bound 0, which every unsigned field has, as
// on half a dozen others.
func unzero(v *value, m member) member {
	if (m.key != "minimum" && m.key != "maximum") || parseDecimal(m.val.text).digits != "" || declared(v) != tInteger {
		return m
	}
	name, bound := "exclusiveMinimum", "-1"
	if m.key == "maximum" {
		name, bound = "exclusiveMaximum", "1"
	}
	if v.get(name) != nil {
		return m
	}
	return member{key: name, val: numberValue(bound)}
}
