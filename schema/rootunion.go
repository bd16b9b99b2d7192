package schema

import "slices"

// maxRootDepth bounds alternatives within alternatives at the root.
const maxRootDepth = 8

// rootUnion is rootObject with the alternatives of the root made one object, as no
// provider takes them there.
func (c *converter) rootUnion(root *value) *value { return c.oneObject(root, maxRootDepth) }

func (c *converter) oneObject(v *value, depth int) *value {
	defer func(mark int) { c.inside = c.inside[:mark] }(len(c.inside))
	out := c.rootObject(v)
	for _, name := range []string{"anyOf", "oneOf"} {
		list := out.get(name)
		if list == nil {
			continue
		}
		out.delete(name)
		if depth == 0 || !c.spend() {
			c.lose(v, name, "too deep, dropped")
			continue
		}
		c.lose(v, name, "not possible at the root: the properties are kept, which of them go together is not")
		var branches []*value
		for _, b := range list.items {
			if b.kind == kBool || typesIn(b.get("type"))&^tObject != 0 && typesIn(b.get("type"))&tObject == 0 {
				continue // what is no object cannot be sent
			}
			branches = append(branches, c.oneObject(b, depth-1))
		}
		c.adopt(out, branches)
	}
	return out
}

// adopt adds the properties of alternatives. Required is what all of them require.
func (c *converter) adopt(out *value, branches []*value) {
	props := objectValue()
	if own := out.get("properties"); own != nil && own.kind == kObject {
		props.members = slices.Clone(own.members)
	}
	own := len(props.members)
	for _, b := range branches {
		p := b.get("properties")
		if p == nil || p.kind != kObject {
			continue
		}
		for _, m := range p.members {
			at := props.find(m.key)
			switch {
			case at < 0:
				props.members = append(props.members, m)
			case at >= own: // what stands beside the alternatives holds in all of them
				props.members[at].val = c.either(props.members[at].val, m.val)
			}
		}
	}
	if len(props.members) > 0 {
		out.set("properties", props)
	}
	names := arrayValue()
	if r := out.get("required"); r != nil {
		names.items = slices.Clone(r.items)
	}
	for i, b := range branches {
		if r := b.get("required"); i == 0 && r != nil {
			for _, n := range r.items {
				if everyRequires(branches, n) && !slices.ContainsFunc(names.items, func(o *value) bool { return equal(o, n) }) {
					names.items = append(names.items, n)
				}
			}
		}
	}
	if len(names.items) > 0 {
		out.set("required", names)
	}
}

func everyRequires(branches []*value, name *value) bool {
	for _, b := range branches {
		r := b.get("required")
		if r == nil || !slices.ContainsFunc(r.items, func(o *value) bool { return equal(o, name) }) {
			return false
		}
	}
	return true
}

// either is a schema for what fits a or b. Lists of values become one list.
func (c *converter) either(a, b *value) *value {
	if equal(a, b) {
		return a
	}
	if av, bv := oneOfValues(a), oneOfValues(b); av != nil && bv != nil && typesIn(a.get("type")) == typesIn(b.get("type")) {
		out := c.copyOf(a)
		out.delete("const")
		all := slices.Clone(av)
		for _, x := range bv {
			if !slices.ContainsFunc(all, func(o *value) bool { return equal(o, x) }) {
				all = append(all, x)
			}
		}
		out.set("enum", arrayValue(all...))
		return out
	}
	var list []*value
	for _, v := range []*value{a, b} {
		if alts := v.get("anyOf"); alts != nil && len(v.members) == 1 {
			list = append(list, alts.items...)
		} else if !slices.ContainsFunc(list, func(o *value) bool { return equal(o, v) }) {
			list = append(list, v)
		}
	}
	out := objectValue()
	out.set("anyOf", arrayValue(list...))
	c.path[out] = c.path[a]
	return out
}

// oneOfValues returns the values that a schema lists by enum or const and restricts by nothing else, nil if it does not.
func oneOfValues(v *value) []*value {
	if v.kind != kObject {
		return nil
	}
	for _, m := range v.members {
		if m.key != "type" && m.key != "enum" && m.key != "const" && !keywords[m.key].note {
			return nil
		}
	}
	switch k, e := v.get("const"), v.get("enum"); {
	case k != nil && e == nil:
		return []*value{k}
	case k == nil && e != nil && e.kind == kArray:
		return e.items
	}
	return nil
}
