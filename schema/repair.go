package schema

import (
	"slices"
	"strings"
)

// fixer brings a value closer to its rule. It never changes the value it is
// given: what has to change is copied.
type fixer struct {
	trail
	repair    bool // change types too; else only aliases and nulls
	track     bool
	nulls     bool // null is absence also where one alternative of several allows it
	doubted   bool // there was such a null
	steps     int  // left
	repairs   []Repair
	retyped   bool    // a repair is more than another spelling of a key
	conflicts []Issue // keys given twice with different values
}

// fix returns v with the aliases of r renamed, nulls of optional properties
// dropped and, if asked to, values of the wrong type converted where the schema
// leaves no doubt what was meant. A value that fits its rule is never converted,
// and neither is any value where r allows strings.
func (f *fixer) fix(r *rule, v *value) *value {
	if f.steps--; f.steps < 0 {
		return v
	}
	if f.repair && r.kinds&v.types() == 0 {
		c := f.convert(r, v)
		if c == nil {
			return v
		}
		v = c
	}
	switch v.kind {
	case kObject:
		v = f.object(r, v)
	case kArray:
		v = f.array(r, v)
	}
	for _, c := range r.all {
		for _, branches := range [][]*rule{c.anyOf, c.oneOf} {
			if branches != nil {
				v = f.branch(branches, v)
			}
		}
	}
	return v
}

// branch fixes v for the one alternative that it then fits. If it fits one
// as it is, or could be made to fit several, it stays as it is.
func (f *fixer) branch(branches []*rule, v *value) *value {
	w := walker{track: f.track, quiet: 1, steps: f.steps}
	for _, b := range branches {
		if w.check(b, v, nil) {
			f.steps = w.steps
			return v
		}
	}
	f.steps = w.steps
	var found *value
	var by fixer
	for _, b := range branches {
		try := fixer{trail: f.trail, repair: f.repair, track: f.track, steps: f.steps}
		c := try.fix(b, v)
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
	ok := w.check(r, v, nil)
	f.steps = w.steps
	return ok && f.steps >= 0
}

func (f *fixer) note(name string, from, to *value) {
	f.retyped = true
	f.repairs = append(f.repairs, Repair{Path: f.path(), From: echo(from), To: echo(to), Rule: name})
}

// convert returns v as a value of a type that r allows, or nil.
func (f *fixer) convert(r *rule, v *value) *value {
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
				f.note("decoded", v, c)
				return c
			}
			if c.kind == kObject {
				return f.wrap(r, v)
			}
			return nil
		}
		switch {
		case (v.text == "true" || v.text == "false") && r.kinds&tBoolean != 0:
			c := boolValue(v.text == "true")
			f.note("boolean", v, c)
			return c
		case r.kinds&(tInteger|tNumber) != 0 && isNumber(v.text) && finite(v.text):
			c := numberValue(v.text)
			if c.types()&r.kinds == 0 {
				break
			}
			name := "integer"
			if !integral(v.text) || slices.ContainsFunc(r.all, func(c *rule) bool { return c.types&tNumber != 0 }) {
				name = "number"
			}
			f.note(name, v, c)
			return c
		}
		if text == "" {
			return nil // as a list, nothing more likely than one empty text
		}
	}
	return f.wrap(r, v)
}

// wrap returns a list of just v, if r allows lists and v is, or can be made, a
// fitting item.
func (f *fixer) wrap(r *rule, v *value) *value {
	if r.kinds&tArray == 0 || v.kind == kNull || v.kind == kArray {
		return nil
	}
	mark, retyped := len(f.repairs), f.retyped
	item := v
	list := arrayValue(v)
	f.note("wrapped", v, list)
	for _, c := range r.all {
		sub := c.items
		if len(c.prefix) > 0 {
			sub = c.prefix[0]
		}
		if sub == nil {
			continue
		}
		f.enterAt(0)
		item = f.fix(sub, item)
		f.leave()
		if !f.fits(sub, item) {
			f.repairs, f.retyped = f.repairs[:mark], retyped
			return nil
		}
	}
	list.items[0] = item
	return list
}

func (f *fixer) array(r *rule, v *value) *value {
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
			f.enterAt(i)
			fixed := f.fix(sub, out.items[i])
			f.leave()
			if fixed != out.items[i] {
				out = thaw(v, out)
				out.items[i] = fixed
			}
		}
	}
	return out
}

func (f *fixer) object(r *rule, v *value) *value {
	out := v
	for _, c := range r.all {
		for i := range c.props {
			if p := &c.props[i]; len(p.aliases) > 0 {
				out = f.alias(r, p, v, out)
			}
		}
	}
	for i := 0; i < len(out.members); i++ {
		m := &out.members[i]
		if m.val.kind == kNull {
			absent, doubtful := absentWhenNull(r, m.key)
			f.doubted = f.doubted || doubtful
			if absent || doubtful && f.nulls {
				out = thaw(v, out)
				out.members = slices.Delete(out.members, i, i+1)
				i--
				continue
			}
		}
		for _, c := range r.all {
			var room few
			for _, sub := range c.applied(m.key, room[:0]) {
				f.enter(m.key)
				fixed := f.fix(sub, m.val)
				f.leave()
				if fixed != m.val {
					out = thaw(v, out)
					m = &out.members[i]
					m.val = fixed
				}
			}
		}
	}
	return out
}

// thaw returns out, or a copy of it if it still is v.
func thaw(v, out *value) *value {
	if out != v {
		return out
	}
	return &value{kind: v.kind, text: v.text, items: slices.Clone(v.items), members: slices.Clone(v.members)}
}

// applied appends the rules that c has for the value of a key.
func (c *rule) applied(key string, subs []*rule) []*rule {
	if p := c.property(key); p != nil {
		subs = append(subs, p.rule)
	}
	for _, p := range c.patterns {
		if p.expr.MatchString(key) {
			subs = append(subs, p.rule)
		}
	}
	if len(subs) == 0 && c.extra != nil && !c.extra.never {
		subs = append(subs, c.extra)
	}
	return subs
}

// few is room for the rules of one key, so that most of the time none has to be
// found on the heap.
type few [4]*rule

// absentWhenNull reports whether null for a key means that the key is absent: it
// is declared, optional, and must not be null. Declared only by alternatives, it is
// that if none of those that declare it allows null, and doubtful if one does.
func absentWhenNull(r *rule, key string) (absent, doubtful bool) {
	if r.requires(key) {
		return false, false
	}
	declared := false
	for _, c := range r.all {
		if p := c.property(key); p != nil {
			if p.rule.kinds&tNull == 0 {
				return true, false
			}
			declared = true
		}
	}
	for _, c := range r.all {
		for _, list := range [][]*rule{c.anyOf, c.oneOf} {
			for _, branch := range list {
				for _, d := range branch.all {
					if p := d.property(key); p != nil && !declared {
						absent = true
						doubtful = doubtful || p.rule.kinds&tNull != 0
					}
				}
			}
		}
	}
	return absent && !doubtful, doubtful
}

// requires reports whether a key must be there.
func (r *rule) requires(key string) bool {
	for _, c := range r.all {
		if slices.Contains(c.required, key) {
			return true
		}
	}
	return false
}

// alias gives values under another spelling of a key its declared name. It
// returns out, or a changed copy if that still is v.
func (f *fixer) alias(r *rule, p *prop, v, out *value) *value {
	name := p.name
	for _, other := range p.aliases {
		i := out.find(other)
		if i < 0 || declares(r, other) {
			continue
		}
		given := out.members[i].val
		at := out.find(name)
		switch {
		case at < 0:
			out = thaw(v, out)
			out.members[i].key, out.members[i].from = name, other
		case given.kind == kNull || equal(given, out.members[at].val):
			out = thaw(v, out)
			out.members = slices.Delete(out.members, i, i+1)
		case out.members[at].val.kind == kNull:
			out = thaw(v, out)
			out.members[at].val, out.members[at].from = given, other
			out.members = slices.Delete(out.members, i, i+1)
		default:
			f.conflicts = append(f.conflicts, Issue{
				Path: pointer(f.path(), other), Keyword: "alias",
				Want: "the same value as " + quote(out.members[at].spelled()) + ", or only one of the two keys",
				Got:  given.describe(),
			})
			continue
		}
		f.repairs = append(f.repairs, Repair{Path: pointer(f.path(), name), From: other, To: name, Rule: "alias"})
	}
	return out
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
	if *steps--; *steps < 0 {
		return v
	}
	out := v
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
					out = thaw(v, out)
					out.items[i] = filled
				}
			}
		}
	case kObject:
		for _, c := range r.all {
			for i := range c.props {
				if p := &c.props[i]; p.fallback != nil && out.find(p.name) < 0 && !r.requires(p.name) {
					out = thaw(v, out)
					out.members = append(out.members, member{key: p.name, val: p.fallback})
				}
			}
		}
		for i := range out.members {
			for _, c := range r.all {
				var room few
				for _, sub := range c.applied(out.members[i].key, room[:0]) {
					if filled := applyDefaults(sub, out.members[i].val, steps); filled != out.members[i].val {
						out = thaw(v, out)
						out.members[i].val = filled
					}
				}
			}
		}
	}
	return out
}
