package schema

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// maxIssues bounds how many issues are listed.
const maxIssues = 100

// stepsFor bounds the work of explaining and repairing v: a schema that tries
// many alternatives on every level of the input would otherwise take time
// exponential in depth.
func stepsFor(v *value) int { return 50_000 + 10*v.size() }

// walker goes over a value beside its rule. It is not the judge of validity,
// which is jsonschema-go: it finds the words once that has said no, and helps
// repair to see whether a change is one for the better.
type walker struct {
	trail
	issues  []Issue
	missing []Issue // "required" ones, listed first
	quiet   int     // > 0: only the answer matters
	steps   int     // left
	track   bool    // the schema asks what was evaluated
	soft    int     // > 0: what fails here does not by itself make the whole invalid
	blamed  part    // the first and innermost part that makes the whole invalid
}

// part is a value and the rule that it should fit, or one keyword of it.
type part struct {
	r       *rule
	v       *value
	keyword string
}

// seen is what has been evaluated in one instance, for unevaluatedItems and
// unevaluatedProperties.
type seen struct {
	allItems, allProps bool
	end                int
	items              map[int]bool
	props              map[string]bool
}

func (s *seen) prop(name string) {
	if s != nil {
		if s.props == nil {
			s.props = map[string]bool{}
		}
		s.props[name] = true
	}
}

func (s *seen) item(i int) {
	if s != nil {
		if s.items == nil {
			s.items = map[int]bool{}
		}
		s.items[i] = true
	}
}

func (s *seen) merge(t *seen) {
	if s == nil || t == nil {
		return
	}
	s.allItems = s.allItems || t.allItems
	s.allProps = s.allProps || t.allProps
	s.end = max(s.end, t.end)
	for i := range t.items {
		s.item(i)
	}
	for p := range t.props {
		s.prop(p)
	}
}

// explain lists everything that is wrong with v, in an order that only depends
// on the schema and the value. It also returns a part that is wrong by itself.
func explain(r *rule, v *value, track bool) ([]Issue, part) {
	w := walker{track: track, steps: stepsFor(v)}
	w.check(r, v, nil)
	if len(w.missing)+len(w.issues) == 0 {
		return nil, part{}
	}
	all := append(w.missing, w.issues...)
	unique := all[:0]
	for _, i := range all {
		if !slices.Contains(unique, i) && len(unique) < maxIssues {
			unique = append(unique, i)
		}
	}
	return unique, w.blamed
}

// fits reports whether v is valid, as far as the walker can tell.
func fits(r *rule, v *value, track bool) bool {
	w := walker{track: track, quiet: 1, steps: stepsFor(v)}
	return w.check(r, v, nil)
}

func (w *walker) add(keyword, want, got string) bool {
	if w.quiet == 0 && len(w.issues) < 2*maxIssues {
		w.issues = append(w.issues, Issue{w.path(), keyword, want, got})
	}
	return false
}

// try checks without listing issues.
func (w *walker) try(r *rule, v *value, s *seen) bool {
	w.quiet++
	ok := w.check(r, v, s)
	w.quiet--
	return ok
}

// check reports whether v fits r, and notes in s (if not nil) what it evaluated.
func (w *walker) check(r *rule, v *value, s *seen) bool {
	ok := w.checkRule(r, v, s)
	if !ok && w.quiet == 0 && w.soft == 0 && w.blamed.r == nil {
		w.blamed = part{r: r, v: v}
	}
	return ok
}

func (w *walker) checkRule(r *rule, v *value, s *seen) bool {
	if w.steps -= 1 + len(r.enum)/16; w.steps < 0 || len(w.issues)+len(w.missing) >= 2*maxIssues {
		return true
	}
	if r.never {
		return w.add("not", "nothing here", v.describe())
	}
	var here *seen
	if w.track {
		here = &seen{}
	}
	ok := true
	if r.ref != nil {
		ok = w.check(r.ref, v, here)
	}
	if r.types != 0 && r.types&v.types() == 0 {
		return w.add("type", r.want(), v.describe()) // the rest would only repeat it
	}
	if v.kind == kNumber && !finite(v.text) {
		return w.add("type", "number within the range of a 64-bit float", v.describe())
	}
	if r.enum != nil && !slices.ContainsFunc(r.enum, func(e *value) bool { return equal(e, v) }) {
		ok = w.add("enum", r.want(), v.describe())
	} else if r.konst != nil && !equal(r.konst, v) {
		ok = w.add("const", r.want(), v.describe())
	}
	if w.quiet > 0 && !ok {
		return false
	}
	switch v.kind {
	case kNumber:
		ok = w.number(r, v) && ok
	case kString:
		ok = w.string(r, v) && ok
	}
	ok = w.logic(r, v, here) && ok
	if w.quiet > 0 && !ok {
		return false
	}
	switch v.kind {
	case kArray:
		ok = w.array(r, v, here) && ok
	case kObject:
		ok = w.object(r, v, here) && ok
	}
	if ok {
		s.merge(here)
	}
	return ok
}

func (w *walker) number(r *rule, v *value) bool {
	if r.min == nil && r.max == nil && r.above == nil && r.below == nil && r.multipleOf == 0 {
		return true
	}
	d := parseDecimal(v.text)
	keyword := ""
	switch {
	case r.min != nil && d.cmp(*r.min) < 0:
		keyword = "minimum"
	case r.max != nil && d.cmp(*r.max) > 0:
		keyword = "maximum"
	case r.above != nil && d.cmp(*r.above) <= 0:
		keyword = "exclusiveMinimum"
	case r.below != nil && d.cmp(*r.below) >= 0:
		keyword = "exclusiveMaximum"
	default:
		if r.multipleOf != 0 {
			f, _ := strconv.ParseFloat(v.text, 64)
			if _, frac := math.Modf(f / r.multipleOf); frac != 0 {
				keyword = "multipleOf"
			}
		}
	}
	if keyword == "" {
		return true
	}
	want := r.want()
	if r.types&(tNumber|tInteger) == 0 {
		want = "number" + r.bounds()
	}
	return w.add(keyword, want, v.describe())
}

func (w *walker) string(r *rule, v *value) bool {
	if !r.minLen.ok && !r.maxLen.ok && r.pattern == nil {
		return true
	}
	ok := true
	if r.minLen.ok || r.maxLen.ok {
		n := runes(v.text)
		keyword := ""
		if r.minLen.below(n) {
			keyword = "minLength"
		} else if r.maxLen.above(n) {
			keyword = "maxLength"
		}
		if keyword != "" {
			got := "an empty string"
			if n > 0 {
				got = "string of " + plural(n, "character")
			}
			ok = w.add(keyword, "string of "+span(r.minLen, r.maxLen, "character"), got)
		}
	}
	if r.pattern != nil && !r.pattern.MatchString(v.text) {
		ok = w.add("pattern", "string matching "+clip(r.pattern.String(), maxEcho), v.describe())
	}
	return ok
}

func (w *walker) logic(r *rule, v *value, here *seen) bool {
	ok := true
	for _, sub := range r.allOf {
		ok = w.check(sub, v, here) && ok
	}
	if r.anyOf != nil {
		any := false
		for _, sub := range r.anyOf {
			any = w.try(sub, v, here) || any
			if any && here == nil {
				break
			}
		}
		if !any {
			ok = w.none(r.anyOf, "anyOf", v)
		}
	}
	if r.oneOf != nil {
		var fit []string
		for i, sub := range r.oneOf {
			if w.try(sub, v, here) {
				fit = append(fit, strconv.Itoa(i+1))
			}
		}
		switch len(fit) {
		case 0:
			ok = w.none(r.oneOf, "oneOf", v)
		case 1:
		default:
			ok = w.add("oneOf", "exactly one of the alternatives", "a value that fits alternatives "+strings.Join(fit, " and "))
		}
	}
	if r.not != nil && w.try(r.not, v, nil) {
		ok = w.add("not", "anything but "+r.not.want(), v.describe())
	}
	if r.cond != nil {
		next := r.els
		if w.try(r.cond, v, here) {
			next = r.then
		}
		if next != nil {
			w.soft++
			ok = w.check(next, v, here) && ok
			w.soft--
		}
	}
	return ok
}

// none explains why v fits none of the branches. If one of them is clearly
// meant, its issues are the explanation.
func (w *walker) none(branches []*rule, keyword string, v *value) bool {
	if w.quiet > 0 {
		return false
	}
	var meant []*rule
	for _, b := range branches {
		if b.kinds&v.types() != 0 {
			meant = append(meant, b)
		}
	}
	if len(meant) > 1 && v.kind == kObject {
		// A property that may have only certain values tells alternatives apart.
		var picked []*rule
		for _, b := range meant {
			if told, same := w.tag(b, v); told && same {
				picked = append(picked, b)
			}
		}
		if len(picked) > 0 {
			meant = picked
		}
	}
	if len(meant) == 1 {
		w.soft++
		w.check(meant[0], v, nil)
		w.soft--
		return false
	}
	either := rule{anyOf: branches}
	return w.add(keyword, either.want(), v.describe())
}

// tag reports whether b has properties with fixed values that v has too, and
// whether v's values are among them.
func (w *walker) tag(b *rule, v *value) (told, same bool) {
	same = true
	for _, c := range b.all {
		for _, p := range c.props {
			if p.rule.konst == nil && p.rule.enum == nil {
				continue
			}
			if val := v.get(p.name); val != nil {
				told = true
				same = same && w.try(p.rule, val, nil)
			}
		}
	}
	return told, same
}

func (w *walker) array(r *rule, v *value, here *seen) bool {
	ok := true
	n := len(v.items)
	for i, sub := range r.prefix {
		if i < n {
			ok = w.item(sub, v, i) && ok
		}
	}
	if here != nil {
		here.end = max(here.end, min(len(r.prefix), n))
	}
	if r.items != nil {
		for i := len(r.prefix); i < n; i++ {
			ok = w.item(r.items, v, i) && ok
			if w.quiet > 0 && !ok {
				return false
			}
		}
		if here != nil {
			here.allItems = true
		}
	}
	if r.contains != nil {
		found := 0
		for i, e := range v.items {
			if w.try(r.contains, e, nil) {
				found++
				here.item(i)
			}
		}
		low := bound{1, true}
		if r.minContains.ok {
			low = r.minContains
		}
		if low.below(found) || r.maxContains.above(found) {
			keyword := "contains"
			if found > 0 {
				keyword = "minContains"
			}
			if r.maxContains.above(found) {
				keyword = "maxContains"
			}
			ok = w.add(keyword, span(low, r.maxContains, "item")+" like "+r.contains.want(), strconv.Itoa(found))
		}
	}
	if r.minItems.below(n) || r.maxItems.above(n) {
		keyword := "minItems"
		if r.maxItems.above(n) {
			keyword = "maxItems"
		}
		ok = w.add(keyword, "array of "+span(r.minItems, r.maxItems, "item"), v.describe())
	}
	if r.unique {
		if i, j := repeated(v.items); j > 0 {
			w.enterAt(j)
			ok = w.add("uniqueItems", "items that differ", "the same as item "+strconv.Itoa(i))
			w.leave()
		}
	}
	if r.unevaluatedItems != nil && here != nil && !here.allItems {
		w.soft++
		for i := here.end; i < n; i++ {
			if !here.items[i] {
				ok = w.item(r.unevaluatedItems, v, i) && ok
			}
		}
		here.allItems = true
		w.soft--
	}
	return ok
}

// item checks one item.
func (w *walker) item(r *rule, v *value, i int) bool {
	w.enterAt(i)
	ok := w.check(r, v.items[i], nil)
	w.leave()
	return ok
}

// repeated returns the positions of the first two equal items, or 0, 0.
func repeated(items []*value) (int, int) {
	at := make(map[string]int, len(items))
	for j, e := range items {
		key := string(appendCanonical(nil, e))
		if i, ok := at[key]; ok {
			return i, j
		}
		at[key] = j
	}
	return 0, 0
}
