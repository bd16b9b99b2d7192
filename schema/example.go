package schema

import (
	"encoding/json"
	"regexp/syntax"
	"slices"
	"strings"
)

const (
	maxExample       = 700 // bytes
	maxExampleString = 40  // characters of the caller's own text
	maxExampleItems  = 2
	maxExampleStrays = 20 // keys that are not declared
	maxExampleDepth  = 12
)

// example builds a corrected form of v: what fits stays, what does not is
// replaced or left out, what is missing is made up. What is at the paths in bad
// does not fit, though it is valid. It returns nil if it does not find an example
// that is valid and short.
func (s *Schema) example(v *value, bad ...string) json.RawMessage {
	m := maker{track: s.track, bad: map[*value]bool{}}
	for _, p := range bad {
		if e := v.point(p); e != nil {
			m.bad[e] = true
		}
	}
	for _, spare := range []bool{false, true} {
		m.spare, m.steps = spare, stepsFor(v)
		e := m.mend(s.root, v, "", 0)
		if e == nil {
			return nil
		}
		b := appendCompact(nil, e)
		if len(b) <= maxExample {
			if found, err := s.examine(e, true); found.ok && err == nil {
				return b
			}
		}
	}
	return nil
}

// maker makes examples.
type maker struct {
	track bool
	bad   map[*value]bool // values not to be kept
	spare bool            // leave out all that is not required
	steps int             // left
}

func (m *maker) fits(r *rule, v *value) bool {
	if m.bad[v] {
		return false
	}
	w := walker{track: m.track, quiet: 1, steps: m.steps}
	ok := w.check(r, v, nil)
	m.steps = w.steps
	return ok
}

// mend returns a value for r that keeps what it can of v, which may be nil. The
// name is that of the property, for made-up text. It returns nil if it is at a loss.
func (m *maker) mend(r *rule, v *value, name string, depth int) *value {
	if m.steps--; m.steps < 0 || depth > maxExampleDepth {
		return nil
	}
	if v == nil || v.kind < kArray {
		if v != nil && m.fits(r, v) {
			return m.shorten(r, v)
		}
		return m.make(r, name, depth)
	}
	if r.kinds&v.types() == 0 || m.bad[v] {
		return m.make(r, name, depth)
	}
	// An alternative that fits decides what is kept of the parts.
	for _, c := range r.all {
		for _, branches := range [][]*rule{c.anyOf, c.oneOf} {
			for _, b := range branches {
				if m.fits(b, v) && b.kinds&v.types() != 0 && len(r.all) == 1 && r.props == nil && r.items == nil {
					return m.mend(b, v, name, depth+1)
				}
			}
		}
	}
	if v.kind == kArray {
		return m.list(r, v, name, depth)
	}
	return m.object(r, v, name, depth)
}

// shorten clips long text, if the rule still allows it then.
func (m *maker) shorten(r *rule, v *value) *value {
	if v.kind == kString && runes(v.text) > maxExampleString {
		if c := stringValue(clip(v.text, maxExampleString)); m.fits(r, c) {
			return c
		}
	}
	return v
}

func (m *maker) list(r *rule, v *value, name string, depth int) *value {
	low := 0
	for _, c := range r.all {
		if c.minItems.ok {
			low = max(low, c.minItems.n)
		}
	}
	if low > 100 {
		return nil
	}
	out := arrayValue()
	for i := 0; i < max(low, min(maxExampleItems, max(len(v.items), low))); i++ {
		var old *value
		if i < len(v.items) {
			old = v.items[i]
		}
		e := m.mend(r.item(i), old, name, depth+1)
		if e == nil {
			return nil
		}
		out.items = append(out.items, e)
	}
	return out
}

func (m *maker) object(r *rule, v *value, name string, depth int) *value {
	out := &value{kind: kObject, members: make([]member, 0, len(v.members)+2)}
	closed := false
	var strays []member // keys of the input that are not declared
	for _, c := range r.all {
		closed = closed || c.closed()
	}
	for _, e := range v.members {
		if len(strays) < maxExampleStrays && !declares(r, e.key) {
			strays = append(strays, e)
		}
	}
	var meant map[string]*value
	if closed && len(strays) > 0 {
		meant = meantFor(strays, legalKeys(r))
	}
	for _, c := range r.all {
		for i := range c.props {
			p := &c.props[i]
			if p.rule.never || out.find(p.name) >= 0 {
				continue
			}
			old := v.get(p.name)
			if old == nil {
				old = meant[p.name]
			}
			must := p.required || len(r.all) > 1 && r.requires(p.name)
			if !must && (old == nil || m.spare) {
				continue
			}
			if !must && old.kind < kArray && !m.fits(p.rule, old) {
				continue // optional and wrong: leaving it out is the smaller change
			}
			e := m.mend(p.rule, old, p.name, depth+1)
			if e == nil && must {
				return nil
			}
			if e != nil {
				out.members = append(out.members, member{key: p.name, val: e})
			}
		}
	}
	for _, c := range r.all {
		for _, key := range c.required {
			if out.find(key) >= 0 {
				continue
			}
			e := m.mend(r.value(key), v.get(key), key, depth+1)
			if e == nil {
				return nil
			}
			out.set(key, e)
		}
	}
	if !closed && !m.spare {
		for _, e := range strays {
			if out.find(e.key) >= 0 {
				continue
			}
			if kept := m.mend(r.value(e.key), e.val, e.key, depth+1); kept != nil {
				out.set(e.key, kept)
			}
		}
	}
	return out
}

// meantFor takes the values of keys that are not legal for those of the keys that
// were meant.
func meantFor(strays []member, legal []string) map[string]*value {
	meant := map[string]*value{}
	for _, e := range strays {
		if name := nearest(e.key, legal); meant[name] == nil {
			meant[name] = e.val
		}
	}
	return meant
}

// make makes up a value for r.
func (m *maker) make(r *rule, name string, depth int) *value {
	if depth > maxExampleDepth {
		return nil
	}
	var tries []*value
	for _, c := range r.all {
		for _, t := range []*value{c.fallback, c.konst, c.sample} {
			if t != nil {
				tries = append(tries, t)
			}
		}
		tries = append(tries, c.enum[:min(len(c.enum), 10)]...)
	}
	for _, t := range tries {
		if m.fits(r, t) {
			return t
		}
	}
	for _, c := range r.all {
		for _, b := range append(slices.Clone(c.anyOf), c.oneOf...) {
			if e := m.make(b, name, depth+1); e != nil && m.fits(r, e) {
				return e
			}
		}
	}
	k := r.kinds
	switch {
	case k&tString != 0:
		return m.text(r, name)
	case k&(tInteger|tNumber) != 0:
		return m.number(r)
	case k&tBoolean != 0:
		return boolValue(false)
	case k&tArray != 0:
		return m.list(r, arrayValue(), name, depth)
	case k&tObject != 0:
		return m.object(r, objectValue(), name, depth)
	case k&tNull != 0:
		return &value{kind: kNull, text: "null"}
	}
	return nil
}

func (m *maker) number(r *rule) *value {
	tries := []string{"1", "0"}
	for _, c := range r.all {
		if c.min != nil {
			tries = append(tries, c.min.String())
		}
		if c.max != nil {
			tries = append(tries, c.max.String())
		}
		for _, d := range []*decimal{c.above, c.below} {
			if d == nil {
				continue
			}
			if n, ok := d.bigInt(); ok && n.IsInt64() && n.Int64() < 1<<60 && n.Int64() > -1<<60 {
				tries = append(tries, decimalOf(n.Int64()+1), decimalOf(n.Int64()-1))
			}
			tries = append(tries, d.String()+"5", d.String()+".5")
		}
		if c.multipleOf != 0 {
			tries = append(tries, floatText(c.multipleOf))
		}
	}
	for _, t := range tries {
		if isNumber(t) && finite(t) {
			if v := numberValue(t); m.fits(r, v) {
				return v
			}
		}
	}
	return nil
}

// formats has one value for each format that tools use.
var formats = map[string]string{
	"date-time": "2025-01-31T12:00:00Z", "date": "2025-01-31", "time": "12:00:00Z", "duration": "PT1H",
	"email": "user@example.com", "hostname": "example.com", "ipv4": "192.0.2.1", "ipv6": "2001:db8::1",
	"uri": "https://example.com/", "url": "https://example.com/", "uri-reference": "/path",
	"uuid": "00000000-0000-4000-8000-000000000000", "regex": ".*", "json-pointer": "/a",
}

func (m *maker) text(r *rule, name string) *value {
	if name == "" {
		name = "text"
	}
	tries := []string{"<" + clip(name, maxExampleString) + ">", "text", "a", ""}
	for _, c := range r.all {
		if f, ok := formats[c.format]; ok {
			tries = append([]string{f}, tries...)
		}
		if c.pattern != nil {
			if re, err := syntax.Parse(c.pattern.String(), syntax.Perl); err == nil {
				var b strings.Builder
				match(&b, re)
				tries = append(tries, b.String())
			}
		}
		if n := c.minLen.n; n > 0 && n <= 200 {
			tries = append(tries, strings.Repeat("x", n))
		}
		if n := c.maxLen.n; n > 0 {
			tries = append(tries, clip(name, n), strings.Repeat("x", min(n, 8)))
		}
	}
	for _, t := range tries {
		if v := stringValue(t); m.fits(r, v) {
			return v
		}
	}
	return nil
}

// match writes a text that re matches, if nothing around it is in the way.
func match(b *strings.Builder, re *syntax.Regexp) {
	if b.Len() > maxExample {
		return
	}
	switch re.Op {
	case syntax.OpLiteral:
		for _, r := range re.Rune {
			b.WriteRune(r)
		}
	case syntax.OpCharClass:
		// Letters and digits first: a class may begin with a control character.
		for _, c := range "ax0A_-. " {
			for i := 0; i+1 < len(re.Rune); i += 2 {
				if re.Rune[i] <= c && c <= re.Rune[i+1] {
					b.WriteRune(c)
					return
				}
			}
		}
		if len(re.Rune) > 0 {
			b.WriteRune(re.Rune[0])
		}
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		b.WriteByte('x')
	case syntax.OpConcat, syntax.OpCapture, syntax.OpPlus:
		for _, sub := range re.Sub {
			match(b, sub)
		}
	case syntax.OpAlternate:
		match(b, re.Sub[0])
	case syntax.OpRepeat:
		for range re.Min {
			match(b, re.Sub[0])
		}
	}
}
