package schema

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
)

// holds says where the subschemas are in the value of a keyword.
type holds uint8

const (
	nothing   holds = iota
	one             // the value is a schema
	list            // a list of schemas
	table           // an object of schemas
	oneOrList       // a schema or a list of them
	mixed           // an object of schemas and lists of names
)

// keyword describes a keyword of JSON Schema, of any draft.
type keyword struct {
	holds holds
	same  bool // its subschemas apply to the very instance that the schema applies to
	note  bool // it says nothing about validity
}

// keywords are the ones that this package knows.
var keywords = map[string]keyword{
	"$ref": {same: true}, "$dynamicRef": {same: true}, "$recursiveRef": {same: true},
	"$defs": {holds: table}, "definitions": {holds: table},
	"$anchor": {}, "$dynamicAnchor": {}, "$recursiveAnchor": {}, "$id": {}, "$schema": {}, "$vocabulary": {},

	"type": {}, "enum": {}, "const": {},
	"multipleOf": {}, "minimum": {}, "maximum": {}, "exclusiveMinimum": {}, "exclusiveMaximum": {},
	"minLength": {}, "maxLength": {}, "pattern": {},
	"minItems": {}, "maxItems": {}, "uniqueItems": {}, "minContains": {}, "maxContains": {},
	"minProperties": {}, "maxProperties": {}, "required": {}, "dependentRequired": {},

	"prefixItems": {holds: list}, "items": {holds: oneOrList}, "additionalItems": {holds: one},
	"contains": {holds: one}, "unevaluatedItems": {holds: one},
	"properties": {holds: table}, "patternProperties": {holds: table}, "additionalProperties": {holds: one},
	"propertyNames": {holds: one}, "unevaluatedProperties": {holds: one},

	"allOf": {holds: list, same: true}, "anyOf": {holds: list, same: true}, "oneOf": {holds: list, same: true},
	"not": {holds: one, same: true}, "if": {holds: one, same: true},
	"then": {holds: one, same: true}, "else": {holds: one, same: true},
	"dependentSchemas": {holds: table, same: true}, "dependencies": {holds: mixed, same: true},

	"title": {note: true}, "description": {note: true}, "$comment": {note: true}, "default": {note: true},
	"examples": {note: true}, "deprecated": {note: true}, "readOnly": {note: true}, "writeOnly": {note: true},
	"format": {note: true}, "contentEncoding": {note: true}, "contentMediaType": {note: true},
	"contentSchema": {holds: one, note: true},
}

// site is a place in a document where a schema stands.
type site struct {
	schema *value
	path   string // JSON Pointer
}

// document is a schema document, its references not yet followed.
type document struct {
	root    *value
	id      string // $id of the root
	sites   []site
	at      map[*value]int // index into sites
	anchors map[string]*value
}

// open finds the schemas of a document.
func open(root *value) (*document, error) {
	d := &document{root: root, at: map[*value]int{}}
	if id := root.get("$id"); id != nil {
		d.id = strings.TrimSuffix(id.text, "#")
	}
	if err := d.walk(root, ""); err != nil {
		return nil, err
	}
	return d, nil
}

func (d *document) walk(v *value, path string) error {
	if v.kind != kObject && v.kind != kBool {
		return fmt.Errorf("%w: %s is %s, want a schema", ErrUnsupported, where(path), v.describe())
	}
	d.at[v] = len(d.sites)
	d.sites = append(d.sites, site{v, path})
	for _, name := range []string{"$anchor", "$dynamicAnchor"} {
		if a := v.get(name); a != nil && a.kind == kString {
			if d.anchors == nil {
				d.anchors = map[string]*value{}
			}
			d.anchors[a.text] = v
		}
	}
	return subschemas(v, func(_, at string, sub *value) error { return d.walk(sub, path+at) })
}

// subschemas calls f for each schema directly below v, with the keyword that
// holds it and its JSON Pointer relative to v, until f fails.
func subschemas(v *value, f func(name, at string, sub *value) error) error {
	for _, m := range v.members {
		k := keywords[m.key]
		at := "/" + m.key
		switch {
		case k.holds == nothing:
		case k.holds == one, k.holds == oneOrList && m.val.kind != kArray:
			if err := f(m.key, at, m.val); err != nil {
				return err
			}
		case m.val.kind == kArray && (k.holds == list || k.holds == oneOrList):
			for i, e := range m.val.items {
				if err := f(m.key, pointerAt(at, i), e); err != nil {
					return err
				}
			}
		case m.val.kind == kObject && (k.holds == table || k.holds == mixed):
			for _, e := range m.val.members {
				if k.holds == mixed && e.val.kind == kArray {
					continue
				}
				if err := f(m.key, pointer(at, e.key), e.val); err != nil {
					return err
				}
			}
		default:
			return fmt.Errorf("%w: %q has %s for a value", ErrUnsupported, m.key, m.val.describe())
		}
	}
	return nil
}

// where names a place in a document.
func where(path string) string {
	if path == "" {
		return "the root"
	}
	return path
}

// resolve finds the schema that a reference leads to.
func (d *document) resolve(ref string) (*value, error) {
	base, frag, _ := strings.Cut(ref, "#")
	if base != "" && base != d.id {
		return nil, fmt.Errorf("%w: reference %q leads to another document", ErrUnsupported, clip(ref, maxEcho))
	}
	if f, err := url.PathUnescape(frag); err == nil {
		frag = f
	}
	var target *value
	switch {
	case frag == "":
		target = d.root
	case frag[0] == '/':
		target = d.root.point(frag)
	default:
		target = d.anchors[frag]
	}
	if _, ok := d.at[target]; !ok {
		return nil, fmt.Errorf("%w: reference %q leads nowhere", ErrUnsupported, clip(ref, maxEcho))
	}
	return target, nil
}

// point follows a JSON Pointer from v, giving nil where it leads out of it.
func (v *value) point(p string) *value {
	if p == "" {
		return v
	}
	for part := range strings.SplitSeq(p[1:], "/") {
		if strings.Contains(part, "~") {
			part = pointerUnescaper.Replace(part)
		}
		if v.kind == kArray {
			i, err := strconv.Atoi(part)
			if err != nil || i < 0 || i >= len(v.items) || strconv.Itoa(i) != part {
				return nil
			}
			v = v.items[i]
		} else if v = v.get(part); v == nil {
			return nil
		}
	}
	return v
}
