package schema

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// typeSet is a set of JSON types as JSON Schema counts them. A number is in
// number, and in integer too when it has no fraction.
type typeSet uint8

const (
	tNull typeSet = 1 << iota
	tBoolean
	tInteger
	tNumber
	tString
	tArray
	tObject

	tAny typeSet = 1<<iota - 1
)

var typeNames = []string{"null", "boolean", "integer", "number", "string", "array", "object"}

// typeNamed returns the set with the one type of that name, or 0.
func typeNamed(name string) typeSet {
	if i := slices.Index(typeNames, name); i >= 0 {
		return 1 << i
	}
	return 0
}

func (t typeSet) names() []string {
	var out []string
	for i, n := range typeNames {
		if t&(1<<i) != 0 {
			out = append(out, n)
		}
	}
	return out
}

// kind is what a JSON value is.
type kind uint8

const (
	kNull kind = iota
	kBool
	kNumber
	kString
	kArray
	kObject
)

// value is a JSON value that keeps what decoding into any loses: numbers as
// they were written, the order of keys, and its own source text.
type value struct {
	kind    kind
	raw     string   // source text; "" if the value has to be written anew
	text    string   // content of a string, literal of a number, "true" or "false"
	items   []*value // of an array
	members []member // of an object; keys are unique
}

type member struct {
	key  string
	from string // how the input spelled key, when that was an alias
	val  *value
}

// spelled returns the key as it stands in the input.
func (m member) spelled() string {
	if m.from != "" {
		return m.from
	}
	return m.key
}

func stringValue(s string) *value { return &value{kind: kString, text: s} }
func numberValue(s string) *value { return &value{kind: kNumber, text: s} }
func boolValue(b bool) *value     { return &value{kind: kBool, text: strconv.FormatBool(b)} }
func objectValue() *value         { return &value{kind: kObject} }

func arrayValue(items ...*value) *value { return &value{kind: kArray, items: items} }

// types returns the types that v is of: one, or integer and number.
func (v *value) types() typeSet {
	switch v.kind {
	case kNull:
		return tNull
	case kBool:
		return tBoolean
	case kString:
		return tString
	case kArray:
		return tArray
	case kObject:
		return tObject
	}
	if integral(v.text) {
		return tInteger | tNumber
	}
	return tNumber
}

// find returns the position of key among the members, or -1.
func (v *value) find(key string) int {
	for i := range v.members {
		if v.members[i].key == key {
			return i
		}
	}
	return -1
}

// get returns the member with that key, or nil.
func (v *value) get(key string) *value {
	if v.kind == kObject {
		if i := v.find(key); i >= 0 {
			return v.members[i].val
		}
	}
	return nil
}

// set adds or replaces a member.
func (v *value) set(key string, val *value) {
	v.raw = ""
	if i := v.find(key); i >= 0 {
		v.members[i].val = val
		return
	}
	v.members = append(v.members, member{key: key, val: val})
}

// delete removes a member, if there.
func (v *value) delete(key string) {
	if i := v.find(key); i >= 0 {
		v.raw = ""
		v.members = slices.Delete(v.members, i, i+1)
	}
}

// clone returns a deep copy.
func (v *value) clone() *value {
	c := *v
	if v.items != nil {
		c.items = make([]*value, len(v.items))
		for i, e := range v.items {
			c.items[i] = e.clone()
		}
	}
	if v.members != nil {
		c.members = slices.Clone(v.members)
		for i := range c.members {
			c.members[i].val = c.members[i].val.clone()
		}
	}
	return &c
}

// size counts the values in v, itself included.
func (v *value) size() int {
	n := 1
	for _, e := range v.items {
		n += e.size()
	}
	for _, m := range v.members {
		n += m.val.size()
	}
	return n
}

// equal reports whether two values are the same in the sense of JSON Schema:
// 1 and 1.0 are equal, and the order of keys does not matter.
func equal(a, b *value) bool {
	if a.kind != b.kind {
		return false
	}
	switch a.kind {
	case kNull:
		return true
	case kNumber:
		return a.text == b.text || parseDecimal(a.text).cmp(parseDecimal(b.text)) == 0
	case kArray:
		return slices.EqualFunc(a.items, b.items, equal)
	case kObject:
		if len(a.members) != len(b.members) {
			return false
		}
		index := b.lookup()
		for _, m := range a.members {
			if i := index(m.key); i < 0 || !equal(m.val, b.members[i].val) {
				return false
			}
		}
		return true
	}
	return a.text == b.text
}

// lookup returns find, made quick for an object with many members.
func (v *value) lookup() func(string) int {
	if len(v.members) <= 16 {
		return v.find
	}
	index := make(map[string]int, len(v.members))
	for i, m := range v.members {
		index[m.key] = i
	}
	return func(key string) int {
		if i, ok := index[key]; ok {
			return i
		}
		return -1
	}
}

// appendValue appends v as JSON, in its own words where it has them.
func appendValue(b []byte, v *value) []byte {
	if v.raw != "" {
		return append(b, v.raw...)
	}
	return appendParts(b, v, appendValue)
}

// appendCompact appends v as JSON without blanks.
func appendCompact(b []byte, v *value) []byte { return appendParts(b, v, appendCompact) }

func appendParts(b []byte, v *value, part func([]byte, *value) []byte) []byte {
	switch v.kind {
	case kNull:
		return append(b, "null"...)
	case kString:
		return appendString(b, v.text)
	case kArray:
		b = append(b, '[')
		for i, e := range v.items {
			if i > 0 {
				b = append(b, ',')
			}
			b = part(b, e)
		}
		return append(b, ']')
	case kObject:
		b = append(b, '{')
		for i, m := range v.members {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendString(b, m.key)
			b = append(b, ':')
			b = part(b, m.val)
		}
		return append(b, '}')
	}
	return append(b, v.text...)
}

// appendCanonical appends v with sorted keys and numbers in one form.
func appendCanonical(b []byte, v *value) []byte {
	switch v.kind {
	case kNumber:
		return append(b, parseDecimal(v.text).String()...)
	case kObject:
		c := *v
		c.members = slices.Clone(v.members)
		slices.SortFunc(c.members, func(x, y member) int { return strings.Compare(x.key, y.key) })
		return appendParts(b, &c, appendCanonical)
	}
	return appendParts(b, v, appendCanonical)
}

const hexDigits = "0123456789abcdef"

// appendString appends s as a JSON string. Unlike encoding/json it does not
// escape <, > and &: the text is read by models, which pay for every character.
func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && n == 1 {
				b = append(b, s[start:i]...)
				b = append(b, "\ufffd"...)
				start = i + n
			}
			i += n
			continue
		}
		if c >= ' ' && c != '"' && c != '\\' {
			i++
			continue
		}
		b = append(b, s[start:i]...)
		switch c {
		case '"', '\\':
			b = append(b, '\\', c)
		case '\n':
			b = append(b, '\\', 'n')
		case '\r':
			b = append(b, '\\', 'r')
		case '\t':
			b = append(b, '\\', 't')
		default:
			b = append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
		i++
		start = i
	}
	b = append(b, s[start:]...)
	return append(b, '"')
}

// trail is the way from the root to a value. It becomes a JSON Pointer only when
// there is something to say about that value, which is rare.
type trail struct{ steps []step }

type step struct {
	key string
	i   int // position in an array, if key is not meant
}

const noIndex = -1

func (t *trail) enter(key string) { t.steps = append(t.steps, step{key, noIndex}) }
func (t *trail) enterAt(i int)    { t.steps = append(t.steps, step{"", i}) }
func (t *trail) leave()           { t.steps = t.steps[:len(t.steps)-1] }

// path returns the JSON Pointer of the current value.
func (t *trail) path() string {
	p := ""
	for _, s := range t.steps {
		if s.i != noIndex {
			p = pointerAt(p, s.i)
		} else {
			p = pointer(p, s.key)
		}
	}
	return p
}

// pointer returns the JSON Pointer of a child of path.
func pointer(path, key string) string {
	if strings.ContainsAny(key, "~/") {
		key = pointerEscaper.Replace(key)
	}
	return path + "/" + key
}

func pointerAt(path string, i int) string { return path + "/" + strconv.Itoa(i) }

var (
	pointerEscaper   = strings.NewReplacer("~", "~0", "/", "~1")
	pointerUnescaper = strings.NewReplacer("~0", "~", "~1", "/")
)
