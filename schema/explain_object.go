package schema

import (
	"slices"
	"strings"
)

func (w *walker) object(r *rule, v *value, here *seen) bool {
	ok := true
	index := v.lookup()
	require := func(name string, want func() string) {
		if index(name) >= 0 {
			return
		}
		ok = false
		if w.quiet == 0 && len(w.missing) < 2*maxIssues {
			w.missing = append(w.missing, Issue{pointer(w.path(), name), "required", want(), "nothing"})
		}
	}
	declared := 0
	for i := range r.props {
		p := &r.props[i]
		if p.required {
			require(p.name, p.rule.want)
			if !ok && w.quiet == 0 && w.soft == 0 && w.blamed.r == nil {
				w.blamed = part{r, v, "required"}
			}
		}
		at := index(p.name)
		if at < 0 {
			continue
		}
		declared++
		ok = w.member(p.rule, v.members[at]) && ok
		here.prop(p.name)
		if w.quiet > 0 && !ok {
			return false
		}
	}
	for _, name := range r.required {
		if r.property(name) == nil {
			require(name, func() string { return anything })
		}
	}
	if len(r.patterns) > 0 || r.extra != nil && declared < len(v.members) || r.names != nil {
		ok = w.keys(r, v, here) && ok
	}
	n := len(v.members)
	if r.minProps.below(n) || r.maxProps.above(n) {
		keyword := "minProperties"
		if r.maxProps.above(n) {
			keyword = "maxProperties"
		}
		ok = w.add(keyword, "object with "+span(r.minProps, r.maxProps, "key"), plural(n, "key"))
	}
	for _, need := range r.needs {
		if index(need.prop) < 0 {
			continue
		}
		for _, name := range need.names {
			require(name, func() string {
				if p := r.property(name); p != nil {
					return p.rule.want() + ", since " + quote(need.prop) + " is given"
				}
				return "a value, since " + quote(need.prop) + " is given"
			})
		}
		if need.rule != nil {
			w.soft++
			ok = w.check(need.rule, v, here) && ok
			w.soft--
		}
	}
	if r.unevaluatedProps != nil && here != nil && !here.allProps {
		w.soft++
		var said legality
		for _, m := range v.members {
			if here.props[m.key] {
				continue
			}
			if r.unevaluatedProps.never {
				ok = w.unknown(&said, legalKeys, r, v, m)
			} else {
				ok = w.member(r.unevaluatedProps, m) && ok
			}
		}
		here.allProps = true
		w.soft--
	}
	return ok
}

// member checks the value of a key.
func (w *walker) member(r *rule, m member) bool {
	w.enter(m.spelled())
	ok := w.check(r, m.val, nil)
	w.leave()
	return ok
}

// keys checks the keys that are not declared, or whose spelling matters.
func (w *walker) keys(r *rule, v *value, here *seen) bool {
	ok := true
	var said legality
	for _, m := range v.members {
		evaluated := r.property(m.key) != nil
		for _, p := range r.patterns {
			if p.expr.MatchString(m.key) {
				ok = w.member(p.rule, m) && ok
				here.prop(m.key)
				evaluated = true
			}
		}
		if !evaluated && r.extra != nil {
			if r.closed() {
				ok = w.unknown(&said, declaredKeys, r, v, m)
			} else {
				ok = w.member(r.extra, m) && ok
				here.prop(m.key)
			}
		}
		if r.names != nil {
			ok = w.name(r.names, m) && ok
		}
		if w.quiet > 0 && !ok {
			return false
		}
	}
	return ok
}

// name checks a key against propertyNames.
func (w *walker) name(r *rule, m member) bool {
	key := stringValue(m.key)
	if w.try(r, key, nil) {
		return true
	}
	w.enter(m.spelled())
	defer w.leave()
	if w.quiet == 0 {
		sub := walker{track: w.track, steps: w.steps}
		sub.check(r, key, nil)
		if len(sub.issues) > 0 {
			i := sub.issues[0]
			return w.add("propertyNames", "a key that is "+i.Want, "key "+quote(m.key))
		}
	}
	return w.add("propertyNames", "another key", "key "+quote(m.key))
}

// legality is what can be said of the keys of one object, worked out at the
// first key that is not legal.
type legality struct {
	legal, free []string // all legal keys, and those that are not there
	list        string
	count       int // of unknown keys so far
}

// unknown reports a key that is not allowed, naming the one that was meant.
func (w *walker) unknown(said *legality, keys func(*rule) []string, r *rule, v *value, m member) bool {
	if w.quiet > 0 {
		return false
	}
	const few, guesses = 12, 20
	if said.count++; said.count == 1 {
		said.legal = keys(r)
		index := v.lookup()
		said.free = slices.DeleteFunc(slices.Clone(said.legal), func(name string) bool { return index(name) >= 0 })
		said.list = "legal keys: " + series(said.legal, "and", few, maxEcho/4)
		if len(said.legal) == 0 {
			said.list = "no keys are allowed here"
		}
	}
	meant := ""
	if said.count <= guesses {
		if meant = nearest(m.key, said.free); meant == "" {
			meant = nearest(m.key, said.legal)
		}
	}
	var want []string
	if meant != "" {
		want = append(want, "did you mean "+quote(meant)+"?")
	}
	if meant == "" || len(said.legal) <= few {
		want = append(want, said.list)
	}
	w.enter(m.spelled())
	defer w.leave()
	return w.add("additionalProperties", strings.Join(want, " "), "unknown key")
}

// declaredKeys are the keys that r itself declares.
func declaredKeys(r *rule) []string {
	var keys []string
	for _, p := range r.props {
		if !p.rule.never {
			keys = append(keys, p.name)
		}
	}
	return keys
}

// legalKeys are the keys that r declares, by itself and by what it refers to.
func legalKeys(r *rule) []string {
	var keys []string
	for _, c := range r.all {
		for _, k := range declaredKeys(c) {
			if !slices.Contains(keys, k) {
				keys = append(keys, k)
			}
		}
	}
	return keys
}

// conjuncts returns r and all the rules that must hold together with it for the
// same value: what it refers to, and the parts of allOf.
func conjuncts(r *rule) []*rule {
	if r.ref == nil && r.allOf == nil {
		return []*rule{r}
	}
	out := []*rule{r}
	for i := 0; i < len(out) && len(out) < 1000; i++ {
		for _, sub := range append([]*rule{out[i].ref}, out[i].allOf...) {
			if sub != nil && !slices.Contains(out, sub) {
				out = append(out, sub)
			}
		}
	}
	return out
}

// kinds returns the types that a value of r can have, as far as is plain to see.
func kinds(r *rule) typeSet {
	t := tAny
	for _, c := range r.all {
		if c.never {
			return 0
		}
		if c.types != 0 {
			t &= c.types
		}
		fixed := c.enum
		if c.konst != nil {
			fixed = []*value{c.konst}
		}
		if fixed != nil {
			var f typeSet
			for _, e := range fixed {
				f |= e.types()
			}
			t &= f
		}
		for _, branches := range [][]*rule{c.anyOf, c.oneOf} {
			if branches == nil || len(branches) > 100 {
				continue
			}
			var f typeSet
			for _, b := range branches {
				f |= shallowKinds(b)
			}
			t &= f
		}
	}
	return t
}

// shallowKinds is kinds without alternatives in alternatives.
func shallowKinds(r *rule) typeSet {
	for range 100 {
		if r.ref == nil || r.types != 0 {
			break
		}
		r = r.ref
	}
	switch {
	case r.never:
		return 0
	case r.types != 0:
		return r.types
	case r.konst != nil:
		return r.konst.types()
	}
	return tAny
}
