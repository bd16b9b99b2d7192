package schema

import (
	"slices"
	"strings"
)

// fixer brings a value closer to its rule. It never changes the value it is
// given: what has to change is copied.
type fixer struct {
	repair    bool // change types too; else only aliases and nulls
	track     bool
	steps     int
	repairs   []Repair
	retyped   bool    // a repair is more than another spelling of a key
	conflicts []Issue // keys given twice with different values
}

// fix returns v with the aliases of r renamed, nulls of optional properties
// dropped and, if asked to, values of the wrong type converted where the schema
// leaves no doubt what was meant. A value that fits its rule is never converted,
// and neither is any value where r allows strings.
func (f *fixer) fix(r *rule, v *value, path string) *value {
	if f.steps++; f.steps > maxSteps {
		return v
	}
	if f.repair && r.kinds&v.types() == 0 {
		c := f.convert(r, v, path)
		if c == nil {
			return v
		}
		v = c
	}
	switch v.kind {
	case kObject:
		v = f.object(r, v, path)
	case kArray:
		v = f.array(r, v, path)
	}
	for _, c := range r.all {
		for _, branches := range [][]*rule{c.anyOf, c.oneOf} {
			if branches != nil {
				v = f.branch(branches, v, path)
			}
		}
	}
	return v
}

// branch fixes v for the one alternative that it then fits. If it fits one
// as it is, or could be made to fit several, it stays as it is.
func (f *fixer) branch(branches []*rule, v *value, path string) *value {
	w := walker{track: f.track, quiet: 1, steps: f.steps}
	for _, b := range branches {
		if w.check(b, v, path, nil) {
			f.steps = w.steps
			return v
		}
	}
	f.steps = w.steps
	var found *value
	var by fixer
	for _, b := range branches {
		try := fixer{repair: f.repair, track: f.track, steps: f.steps}
		c := try.fix(b, v, path)
		f.steps = try.steps
		if c == v || len(try.conflicts) > 0 || !f.fits(b, c) {
			continue
		}
		if found != nil {
			return v
		}
		found, by = c, try
	}
	if found == nil {
		return v
	}
	f.repairs = append(f.repairs, by.repairs...)
	f.retyped = f.retyped || by.retyped
	return found
}

func (f *fixer) fits(r *rule, v *value) bool {
	w := walker{track: f.track, quiet: 1, steps: f.steps}
	ok := w.check(r, v, "", nil)
	f.steps = w.steps
	return ok && f.steps <= maxSteps
}

func (f *fixer) note(path, name string, from, to *value) {
	f.retyped = true
	f.repairs = append(f.repairs, Repair{Path: path, From: echo(from), To: echo(to), Rule: name})
}

// convert returns v as a value of a type that r allows, or nil.
func (f *fixer) convert(r *rule, v *value, path string) *value {
	if r.kinds&tString != 0 {
		return nil
	}
	if v.kind == kString {
		text := strings.TrimSpace(v.text)
		if strings.HasPrefix(text, "{") || strings.HasPrefix(text, "[") {
			c, err := parse([]byte(text))
			if err != nil {
				return nil // broken JSON, not a text that happens to begin so
			}
			if c.types()&r.kinds != 0 {
				f.note(path, "decoded", v, c)
				return c
			}
			if c.kind == kObject {
				return f.wrap(r, v, path)
			}
			return nil
		}
		switch {
		case (v.text == "true" || v.text == "false") && r.kinds&tBoolean != 0:
			c := boolValue(v.text == "true")
			f.note(path, "boolean", v, c)
			return c
		case r.kinds&(tInteger|tNumber) != 0 && isNumber(v.text) && finite(v.text):
			c := numberValue(v.text)
			if c.types()&r.kinds == 0 {
				break
			}
			name := "integer"
			if r.kinds&tNumber != 0 {
				name = "number"
			}
			f.note(path, name, v, c)
			return c
		}
		if text == "" {
			return nil // as a list, nothing more likely than one empty text
		}
	}
	return f.wrap(r, v, path)
}

// wrap returns a list of just v, if r allows lists and v is, or can be made, a
// fitting item.
func (f *fixer) wrap(r *rule, v *value, path string) *value {
	if r.kinds&tArray == 0 || v.kind == kNull || v.kind == kArray {
		return nil
	}
	mark, retyped := len(f.repairs), f.retyped
	item := v
	list := arrayValue(v)
	f.note(path, "wrapped", v, list)
	for _, c := range r.all {
		sub := c.items
		if len(c.prefix) > 0 {
			sub = c.prefix[0]
		}
		if sub == nil {
			continue
		}
		item = f.fix(sub, item, path+"/0")
		if !f.fits(sub, item) {
			f.repairs, f.retyped = f.repairs[:mark], retyped
			return nil
		}
	}
	list.items[0] = item
	return list
}

func (f *fixer) array(r *rule, v *value, path string) *value {
	out := v
	for i := range v.items {
		for _, c := range r.all {
			sub := c.items
			if i < len(c.prefix) {
				sub = c.prefix[i]
			}
			if sub == nil {
				continue
			}
			if fixed := f.fix(sub, out.items[i], pointerAt(path, i)); fixed != out.items[i] {
				if out == v {
					out = &value{kind: kArray, items: slices.Clone(v.items)}
				}
				out.items[i] = fixed
			}
		}
	}
	return out
}

func (f *fixer) object(r *rule, v *value, path string) *value {
	out := v
	change := func() {
		if out == v {
			out = &value{kind: kObject, members: slices.Clone(v.members)}
		}
	}
	for _, c := range r.all {
		for i := range c.props {
			if p := &c.props[i]; len(p.aliases) > 0 {
				f.alias(r, p, &out, change, path)
			}
		}
	}
	for i := 0; i < len(out.members); i++ {
		m := out.members[i]
		if m.val.kind == kNull && absentWhenNull(r, m.key) {
			change()
			out.members = slices.Delete(out.members, i, i+1)
			i--
			continue
		}
		for _, c := range r.all {
			c.applied(m.key, func(sub *rule) {
				if fixed := f.fix(sub, m.val, pointer(path, m.key)); fixed != m.val {
					change()
					out.members[i].val, m.val = fixed, fixed
				}
			})
		}
	}
	return out
}

// applied calls f for the rules that c has for the value of a key.
func (c *rule) applied(key string, f func(*rule)) {
	known := false
	if p := c.property(key); p != nil {
		f(p.rule)
		known = true
	}
	for _, p := range c.patterns {
		if p.expr.MatchString(key) {
			f(p.rule)
			known = true
		}
	}
	if !known && c.extra != nil && !c.extra.never {
		f(c.extra)
	}
}

// absentWhenNull reports whether null for a key means that the key is absent: it
// is declared, optional, and must not be null.
func absentWhenNull(r *rule, key string) bool {
	refused := false
	for _, c := range r.all {
		if slices.Contains(c.required, key) {
			return false
		}
		if p := c.property(key); p != nil {
			refused = refused || p.rule.kinds&tNull == 0
		}
	}
	return refused
}

// alias gives a value the declared name of its key.
func (f *fixer) alias(r *rule, p *prop, obj **value, change func(), path string) {
	name := p.name
	for _, other := range p.aliases {
		i := (*obj).find(other)
		if i < 0 || declares(r, other) {
			continue
		}
		given := (*obj).members[i].val
		at := (*obj).find(name)
		switch {
		case at < 0:
			change()
			(*obj).members[i].key, (*obj).members[i].from = name, other
		case given.kind == kNull || equal(given, (*obj).members[at].val):
			change()
			(*obj).members = slices.Delete((*obj).members, i, i+1)
		case (*obj).members[at].val.kind == kNull:
			change()
			(*obj).members[at].val, (*obj).members[at].from = given, other
			(*obj).members = slices.Delete((*obj).members, i, i+1)
		default:
			kept := (*obj).members[at]
			f.conflicts = append(f.conflicts, Issue{
				Path: pointer(path, other), Keyword: "alias",
				Want: "the same value as " + quote(kept.spelled()) + ", or only one of the two keys",
				Got:  given.describe(),
			})
			continue
		}
		f.repairs = append(f.repairs, Repair{Path: pointer(path, name), From: other, To: name, Rule: "alias"})
	}
}

// declares reports whether key is a property in its own right.
func declares(r *rule, key string) bool {
	for _, c := range r.all {
		if c.property(key) != nil {
			return true
		}
	}
	return false
}

// applyDefaults returns v with the defaults of absent properties. It adds to
// objects that are there, and never makes one to have a place for a default.
func applyDefaults(r *rule, v *value, steps *int) *value {
	if *steps++; *steps > maxSteps {
		return v
	}
	out := v
	change := func() {
		if out == v {
			out = &value{kind: v.kind, items: slices.Clone(v.items), members: slices.Clone(v.members)}
		}
	}
	switch v.kind {
	case kArray:
		for i := range v.items {
			for _, c := range r.all {
				sub := c.items
				if i < len(c.prefix) {
					sub = c.prefix[i]
				}
				if sub == nil {
					continue
				}
				if filled := applyDefaults(sub, out.items[i], steps); filled != out.items[i] {
					change()
					out.items[i] = filled
				}
			}
		}
	case kObject:
		for _, c := range r.all {
			for i := range c.props {
				if p := &c.props[i]; p.fallback != nil && out.find(p.name) < 0 && !slices.ContainsFunc(r.all, func(o *rule) bool { return slices.Contains(o.required, p.name) }) {
					change()
					out.members = append(out.members, member{key: p.name, val: p.fallback})
				}
			}
		}
		for i := range out.members {
			for _, c := range r.all {
				c.applied(out.members[i].key, func(sub *rule) {
					if filled := applyDefaults(sub, out.members[i].val, steps); filled != out.members[i].val {
						change()
						out.members[i].val = filled
					}
				})
			}
		}
	}
	return out
}
