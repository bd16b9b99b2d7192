package schema

import (
	"encoding/json"
	"fmt"
	"math/big"
	"reflect"
	"strconv"
	"strings"
)

// shape is what encoding/json makes of a Go type, as far as the difference to
// JSON Schema matters: it knows which numbers fit, and which keys are fields.
type shape struct {
	form   form
	typ    reflect.Type
	elem   *shape         // of a list or map
	fields map[string]int // of an object, into list
	list   []shapeField   // of an object
	reads  bool           // the type reads JSON itself
	direct bool           // of an object: each field can be set by its index
}

type shapeField struct {
	name    string
	shape   *shape
	index   []int
	aliases []string
}

type form uint8

const (
	leaf   form = iota // left to encoding/json as it is
	text               // strings
	truth              // booleans
	signed             // integers of typ.Bits()
	unsigned
	anyInt // big.Int
	float
	sequence // from here on, values have parts
	mapping
	structure
)

// shapeOf returns the shape of a type.
func shapeOf(t reflect.Type, known map[reflect.Type]*shape) *shape {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if s, ok := known[t]; ok {
		return s
	}
	s := &shape{typ: t}
	known[t] = s
	pt := reflect.PointerTo(t)
	switch {
	case t == bigIntType:
		s.form, s.reads = anyInt, true
		return s
	case pt.Implements(jsonReaderType), pt.Implements(textReaderType):
		s.reads = true
		return s
	}
	switch k := t.Kind(); {
	case t == numberType:
	case k == reflect.String:
		s.form = text
	case k == reflect.Bool:
		s.form = truth
	case reflect.Int <= k && k <= reflect.Int64:
		s.form = signed
	case reflect.Uint <= k && k <= reflect.Uintptr:
		s.form = unsigned
	case k == reflect.Float32 || k == reflect.Float64:
		s.form = float
	case k == reflect.Array, k == reflect.Slice && !isBytes(t):
		s.form, s.elem = sequence, shapeOf(t.Elem(), known)
	case k == reflect.Map:
		s.form, s.elem = mapping, shapeOf(t.Elem(), known)
	case k == reflect.Struct:
		s.form, s.fields, s.direct = structure, map[string]int{}, true
		for _, f := range jsonFields(t) {
			sub := shapeField{name: f.name, shape: &shape{typ: f.typ}, index: f.index, aliases: aliasesOf(&f)}
			if !f.quoted {
				sub.shape = shapeOf(f.typ, known)
			}
			s.direct = s.direct && !f.quoted && !f.pointed
			s.fields[f.name] = len(s.list)
			s.list = append(s.list, sub)
		}
	}
	return s
}

// decoder writes a valid value in the form that encoding/json reads into a shape.
type decoder struct {
	issues []Issue
	path   []string
}

// append writes v. Integers are written without fraction and exponent, since
// encoding/json refuses 5.0 for an int. Keys that are not exactly those of a
// field are left out: encoding/json would ignore their case.
func (d *decoder) append(b []byte, s *shape, v *value) []byte {
	switch {
	case v.kind == kNumber:
		return d.number(b, s, v)
	case s.form == sequence && v.kind == kArray:
		b = append(b, '[')
		for i, e := range v.items {
			if i > 0 {
				b = append(b, ',')
			}
			d.path = append(d.path, "")
			if e.kind >= kArray || e.kind == kNumber {
				d.path[len(d.path)-1] = strconv.Itoa(i)
			}
			b = d.append(b, s.elem, e)
			d.path = d.path[:len(d.path)-1]
		}
		return append(b, ']')
	case s.form == mapping && v.kind == kObject, s.form == structure && v.kind == kObject:
		b = append(b, '{')
		start := len(b)
		for _, m := range v.members {
			sub := s.elem
			if s.form == structure {
				i, ok := s.fields[m.key]
				if !ok {
					continue
				}
				sub = s.list[i].shape
			}
			if len(b) > start {
				b = append(b, ',')
			}
			b = appendString(b, m.key)
			b = append(b, ':')
			d.path = append(d.path, m.spelled())
			b = d.append(b, sub, m.val)
			d.path = d.path[:len(d.path)-1]
		}
		return append(b, '}')
	}
	return appendValue(b, v)
}

func (d *decoder) number(b []byte, s *shape, v *value) []byte {
	switch s.form {
	case signed:
		if plainInt(v.text) {
			if _, err := strconv.ParseInt(v.text, 10, s.typ.Bits()); err == nil {
				return append(b, v.text...)
			}
		}
		low := new(big.Int).Lsh(big.NewInt(-1), uint(s.typ.Bits()-1))
		high := new(big.Int).Not(low)
		return d.integer(b, v, low, high)
	case unsigned:
		if plainInt(v.text) {
			if _, err := strconv.ParseUint(v.text, 10, s.typ.Bits()); err == nil {
				return append(b, v.text...)
			}
		}
		high := new(big.Int).Lsh(big.NewInt(1), uint(s.typ.Bits()))
		return d.integer(b, v, new(big.Int), high.Sub(high, big.NewInt(1)))
	case anyInt:
		if !plainInt(v.text) {
			return d.integer(b, v, nil, nil)
		}
	case float:
		if _, err := strconv.ParseFloat(v.text, s.typ.Bits()); err != nil {
			d.issue("type", fmt.Sprintf("number within the range of a %d-bit float", s.typ.Bits()), v.describe())
		}
	}
	return append(b, v.text...)
}

// integer writes a number with digits only, if it is an integer within the bounds.
func (d *decoder) integer(b []byte, v *value, low, high *big.Int) []byte {
	dec := parseDecimal(v.text)
	n, ok := dec.bigInt()
	switch {
	case !dec.isInt():
		d.issue("type", "integer", v.describe())
	case ok && low == nil:
		return n.Append(b, 10)
	case ok && n.Cmp(low) >= 0 && n.Cmp(high) <= 0:
		return n.Append(b, 10)
	case low == nil:
		d.issue("maximum", "integer of at most 400 digits", v.describe())
	case dec.neg:
		d.issue("minimum", "integer >= "+low.String(), v.describe())
	default:
		d.issue("maximum", "integer <= "+high.String(), v.describe())
	}
	return append(b, '0')
}

func (d *decoder) issue(keyword, want, got string) {
	path := ""
	for _, p := range d.path {
		path = pointer(path, p)
	}
	d.issues = append(d.issues, Issue{path, keyword, want, got})
}

// decode stores a valid value in *dst, which has the type of s.
func (s *shape) decode(r *rule, v *value, dst reflect.Value) []Issue {
	var d decoder
	text := d.append(make([]byte, 0, 256), s, v)
	if len(d.issues) > 0 {
		return d.issues
	}
	fresh := reflect.New(dst.Type().Elem())
	if err := json.Unmarshal(text, fresh.Interface()); err != nil {
		return s.blame(r, v, "", dst.Type().Elem(), err)
	}
	dst.Elem().Set(fresh.Elem())
	return nil
}

// blame finds the parts of v that encoding/json does not read into t, which can
// only be types that read themselves, or that an explicit schema does not fit.
func (s *shape) blame(r *rule, v *value, path string, t reflect.Type, err error) []Issue {
	var issues []Issue
	part := func(sub *shape, r *rule, v *value, path string, t reflect.Type) {
		var d decoder
		text := d.append(nil, sub, v)
		if err := json.Unmarshal(text, reflect.New(t).Interface()); err != nil && len(issues) < maxIssues {
			issues = append(issues, sub.blame(r, v, path, t, err)...)
		}
	}
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case s.form == sequence && v.kind == kArray:
		for i, e := range v.items {
			part(s.elem, r.item(i), e, pointerAt(path, i), t.Elem())
		}
	case s.form == mapping && v.kind == kObject:
		for _, m := range v.members {
			part(s.elem, r.value(m.key), m.val, pointer(path, m.spelled()), t.Elem())
		}
	case s.form == structure && v.kind == kObject:
		for _, m := range v.members {
			if i, ok := s.fields[m.key]; ok {
				sub := s.list[i].shape
				part(sub, r.value(m.key), m.val, pointer(path, m.spelled()), sub.typ)
			}
		}
	}
	if len(issues) > 0 {
		return issues
	}
	want := r.want()
	if want == anything {
		want = "a value that fits"
	}
	if v.kind == kString && t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8 {
		want = "string with base64"
	}
	got := v.describe()
	if t != timeType {
		got += " (" + clip(strings.TrimPrefix(err.Error(), "json: "), maxEcho/2) + ")"
	}
	return []Issue{{path, "decode", want, got}}
}

// unsaid is the rule of what no schema speaks of.
var unsaid = func() *rule {
	r := &rule{kinds: tAny}
	r.all = []*rule{r}
	return r
}()

// value returns a rule for the value of a key, never nil.
func (r *rule) value(key string) *rule {
	for _, c := range r.all {
		var room few
		if subs := c.applied(key, room[:0]); len(subs) > 0 {
			return subs[0]
		}
	}
	return unsaid
}

// item returns a rule for an item, never nil.
func (r *rule) item(i int) *rule {
	for _, c := range r.all {
		switch {
		case i < len(c.prefix):
			return c.prefix[i]
		case c.items != nil:
			return c.items
		}
	}
	return unsaid
}

// bind gives the rules the aliases that the fields of a type declare.
func bind(r *rule, s *shape, done map[*rule]bool) {
	if done[r] {
		return
	}
	done[r] = true
	for _, c := range r.all {
		switch s.form {
		case structure:
			for i := range c.props {
				p := &c.props[i]
				if j, ok := s.fields[p.name]; ok {
					p.aliases = s.list[j].aliases
					bind(p.rule, s.list[j].shape, done)
				}
			}
		case sequence:
			for _, sub := range append([]*rule{c.items}, c.prefix...) {
				if sub != nil {
					bind(sub, s.elem, done)
				}
			}
		case mapping:
			if c.extra != nil {
				bind(c.extra, s.elem, done)
			}
		}
	}
}
