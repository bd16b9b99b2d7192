package schema

import (
	"encoding"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/big"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// ForType returns the schema of a Go type as compact JSON, the same bytes every
// time. It describes what encoding/json reads into the type:
//
//   - A struct is an object that allows no other keys; properties are in the
//     order of the fields. A field is required unless it is a pointer, has
//     omitempty or omitzero, or has a default tag. Embedded structs are flattened.
//   - Integers and floats are integer and number; smaller and unsigned integers
//     have the bounds of their type. json.Number is a number.
//   - Slices and arrays are arrays, a []byte is a string in base64, maps are
//     objects, any and json.RawMessage are {}. None of them allows null: where a
//     key is optional, null means that it is absent.
//   - Any and json.RawMessage at the root are an object with any keys.
//   - time.Time is a string in date-time format; a type with UnmarshalText is a
//     string.
//   - A type that contains itself is put under $defs.
//   - A type with a method JSONSchema() any has the schema that this returns,
//     as anything that marshals to one. A type T with a method Enum() []T allows
//     just those values. Both are called on a zero value.
//
// These struct tags, beside json, say more:
//
//	jsonschema:"text"        description
//	enum:"a,b"               the values allowed, of the field's type
//	minimum maximum exclusiveMinimum exclusiveMaximum    of numbers
//	minLength maxLength pattern format                   of strings
//	minItems maxItems                                    of arrays
//	default:"x"              the value when the key is absent: a string as it is, else JSON
//	alias:"file_path,path"   other keys that input may use, not shown in the schema
//
// On a slice, tags for numbers and strings, and enum, are about its elements. A
// tag that cannot be is an error that names field and tag; so are types that
// JSON has nothing for, such as channels and functions.
func ForType(t reflect.Type) (json.RawMessage, error) {
	in, root, err := infer(t)
	if err != nil {
		return nil, err
	}
	if _, err := in.compile(root); err != nil {
		return nil, err
	}
	return appendCompact(nil, root), nil
}

// inferrer makes a schema document of Go types.
type inferrer struct {
	defs     *value
	names    map[reflect.Type]string // types that go under $defs
	busy     map[reflect.Type]bool   // types being described, to find recursion
	defaults []fieldDefault
}

// fieldDefault is a default to be checked once the schema is compiled.
type fieldDefault struct {
	schema *value
	field  string
}

func infer(t reflect.Type) (*inferrer, *value, error) {
	in := &inferrer{defs: objectValue(), names: map[reflect.Type]string{}, busy: map[reflect.Type]bool{}}
	root, err := in.describe(t, true)
	if err != nil {
		return nil, nil, fmt.Errorf("schema of %v: %w", t, err)
	}
	if len(root.members) == 0 {
		root = typed("object") // any, at the root, is what a provider takes for arguments
	}
	if len(in.defs.members) > 0 {
		root.set("$defs", in.defs)
	}
	return in, root, nil
}

// compile compiles the inferred document and checks the defaults against it.
func (in *inferrer) compile(root *value) (*compiler, error) {
	d, err := open(root)
	if err != nil {
		return nil, err
	}
	c, err := compileRules(d)
	if err != nil {
		return nil, err
	}
	for _, f := range in.defaults {
		r := c.rules[f.schema]
		if issues, _ := explain(r, r.fallback, false); len(issues) > 0 {
			return nil, fmt.Errorf("field %s: tag default: %v", f.field, issues[0])
		}
	}
	return c, nil
}

var (
	timeType       = reflect.TypeFor[time.Time]()
	rawType        = reflect.TypeFor[json.RawMessage]()
	numberType     = reflect.TypeFor[json.Number]()
	bigIntType     = reflect.TypeFor[big.Int]()
	levelType      = reflect.TypeFor[slog.Level]()
	jsonReaderType = reflect.TypeFor[json.Unmarshaler]()
	textReaderType = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// typed returns {"type": name}.
func typed(name string) *value {
	v := objectValue()
	v.set("type", stringValue(name))
	return v
}

// describe returns the schema of t, as a reference if t is recursive and not the root.
func (in *inferrer) describe(t reflect.Type, root bool) (*value, error) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Name() == "" {
		return in.build(t)
	}
	if in.names[t] == "" && in.busy[t] {
		in.names[t] = in.defName(t)
	}
	if name := in.names[t]; name != "" {
		return reference(name), nil
	}
	in.busy[t] = true
	v, err := in.build(t)
	delete(in.busy, t)
	if err != nil {
		return nil, err
	}
	if name := in.names[t]; name != "" {
		if in.defs.get(name) == nil {
			in.defs.set(name, v)
		}
		if !root {
			return reference(name), nil
		}
		v = in.defs.get(name).clone() // the root is spelled out: not every reader takes a reference there
	}
	return v, nil
}

func reference(name string) *value {
	v := objectValue()
	v.set("$ref", stringValue("#/$defs/"+name))
	return v
}

var notNameChar = regexp.MustCompile(`[^A-Za-z0-9_.-]+`)

// defName returns a free name under $defs for t.
func (in *inferrer) defName(t reflect.Type) string {
	base := strings.Trim(notNameChar.ReplaceAllString(t.Name(), "_"), "_")
	if base == "" {
		base = "T"
	}
	name := base
	for n := 2; in.taken(name); n++ {
		name = base + strconv.Itoa(n)
	}
	return name
}

func (in *inferrer) taken(name string) bool {
	for _, n := range in.names {
		if n == name {
			return true
		}
	}
	return in.defs.get(name) != nil
}

// build describes a type that is not a pointer.
func (in *inferrer) build(t reflect.Type) (*value, error) {
	if v, err := in.custom(t); v != nil || err != nil {
		return v, err
	}
	v, err := in.plain(t)
	if err != nil {
		return nil, err
	}
	values, err := enumOf(t)
	if err != nil {
		return nil, err
	}
	if values != nil {
		v.set("enum", arrayValue(values...))
	}
	return v, nil
}

func (in *inferrer) plain(t reflect.Type) (*value, error) {
	switch t {
	case timeType:
		v := typed("string")
		v.set("format", stringValue("date-time"))
		return v, nil
	case rawType:
		return objectValue(), nil
	case numberType:
		return typed("number"), nil
	case bigIntType:
		return typed("integer"), nil
	case levelType:
		return typed("string"), nil
	}
	pt := reflect.PointerTo(t)
	if pt.Implements(textReaderType) && !pt.Implements(jsonReaderType) {
		return typed("string"), nil
	}
	switch k := t.Kind(); k {
	case reflect.Bool:
		return typed("boolean"), nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v := typed("integer")
		if bits := t.Bits(); bits < 64 && k != reflect.Int {
			v.set("minimum", numberValue(strconv.FormatInt(-1<<(bits-1), 10)))
			v.set("maximum", numberValue(strconv.FormatInt(1<<(bits-1)-1, 10)))
		}
		return v, nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		v := typed("integer")
		v.set("minimum", numberValue("0"))
		if bits := t.Bits(); bits < 64 && k != reflect.Uint && k != reflect.Uintptr {
			v.set("maximum", numberValue(strconv.FormatUint(1<<bits-1, 10)))
		}
		return v, nil
	case reflect.Float32, reflect.Float64:
		return typed("number"), nil
	case reflect.String:
		return typed("string"), nil
	case reflect.Interface:
		if t.NumMethod() > 0 {
			return nil, fmt.Errorf("%v: JSON cannot be read into an interface with methods", t)
		}
		return objectValue(), nil
	case reflect.Slice, reflect.Array:
		if k == reflect.Slice && isBytes(t) {
			v := typed("string")
			v.set("contentEncoding", stringValue("base64"))
			return v, nil
		}
		items, err := in.describe(t.Elem(), false)
		if err != nil {
			return nil, err
		}
		v := typed("array")
		v.set("items", items)
		if k == reflect.Array {
			n := strconv.Itoa(t.Len())
			v.set("minItems", numberValue(n))
			v.set("maxItems", numberValue(n))
		}
		return v, nil
	case reflect.Map:
		if !mapKey(t.Key()) {
			return nil, fmt.Errorf("%v: a key of a JSON object is a string", t)
		}
		elem, err := in.describe(t.Elem(), false)
		if err != nil {
			return nil, err
		}
		v := typed("object")
		v.set("additionalProperties", elem)
		return v, nil
	case reflect.Struct:
		return in.object(t)
	}
	return nil, fmt.Errorf("%v has no form in JSON", t)
}

// isBytes reports whether encoding/json reads a slice type from base64.
func isBytes(t reflect.Type) bool {
	e := t.Elem()
	if e.Kind() != reflect.Uint8 {
		return false
	}
	pe := reflect.PointerTo(e)
	return !pe.Implements(jsonReaderType) && !pe.Implements(textReaderType)
}

// mapKey reports whether encoding/json reads map keys of this type.
func mapKey(t reflect.Type) bool {
	switch k := t.Kind(); {
	case k == reflect.String, reflect.Int <= k && k <= reflect.Uintptr:
		return true
	}
	return reflect.PointerTo(t).Implements(textReaderType)
}

func (in *inferrer) object(t reflect.Type) (*value, error) {
	fields := jsonFields(t)
	if len(fields) == 0 && reflect.PointerTo(t).Implements(jsonReaderType) {
		return objectValue(), nil // it reads itself, and does not say from what
	}
	v := typed("object")
	props, required := objectValue(), arrayValue()
	if err := checkAliases(fields); err != nil {
		return nil, err
	}
	for i := range fields {
		f := &fields[i]
		var sub *value
		var err error
		if f.quoted {
			sub = typed("string")
		} else if sub, err = in.describe(f.typ, false); err != nil {
			return nil, fmt.Errorf("field %s: %w", f, err)
		}
		if err := applyTags(sub, f); err != nil {
			return nil, err
		}
		if sub.get("default") != nil {
			in.defaults = append(in.defaults, fieldDefault{sub, f.String()})
		}
		props.members = append(props.members, member{key: f.name, val: sub})
		if _, ok := f.tag.Lookup("default"); !f.optional && !ok {
			required.items = append(required.items, stringValue(f.name))
		}
	}
	v.set("properties", props)
	if len(required.items) > 0 {
		v.set("required", required)
	}
	v.set("additionalProperties", boolValue(false))
	return v, nil
}

// custom returns the schema that the type gives itself, or nil.
func (in *inferrer) custom(t reflect.Type) (v *value, err error) {
	s, ok := reflect.New(t).Interface().(interface{ JSONSchema() any })
	if !ok {
		return nil, nil
	}
	defer recovered(t, "JSONSchema", &err)
	doc, err := json.Marshal(s.JSONSchema())
	if err != nil {
		return nil, fmt.Errorf("%v.JSONSchema: %w", t, err)
	}
	root, err := readSchema(doc)
	if err != nil {
		return nil, fmt.Errorf("%v.JSONSchema: %w", t, err)
	}
	d, err := open(root)
	if err == nil {
		err = d.guard()
	}
	if err == nil {
		d, err = d.modernise()
	}
	if err != nil {
		return nil, fmt.Errorf("%v.JSONSchema: %w", t, err)
	}
	if root.kind == kBool {
		if root.text == "true" {
			return objectValue(), nil
		}
		return nil, fmt.Errorf("%v.JSONSchema: false allows nothing", t)
	}
	// Its references count from its own root, so it needs a place of its own.
	var refs []*value
	for _, s := range d.sites {
		if s.schema.get("$ref") != nil {
			refs = append(refs, s.schema)
		}
	}
	if len(refs) == 0 {
		root.delete("$defs")
		return root, nil
	}
	name := in.defName(t)
	in.names[t] = name
	for _, r := range refs {
		r.set("$ref", stringValue("#/$defs/"+name+strings.TrimPrefix(r.get("$ref").text, "#")))
	}
	in.defs.set(name, root)
	return reference(name), nil
}

// enumOf returns the values of a type with a method Enum() []T, or nil.
func enumOf(t reflect.Type) (values []*value, err error) {
	v := reflect.New(t)
	m := v.MethodByName("Enum")
	if !m.IsValid() || m.Type().NumIn() != 0 || m.Type().NumOut() != 1 || m.Type().Out(0) != reflect.SliceOf(t) {
		return nil, nil
	}
	defer recovered(t, "Enum", &err)
	list := m.Call(nil)[0]
	for i := range list.Len() {
		b, err := json.Marshal(list.Index(i).Interface())
		if err != nil {
			return nil, fmt.Errorf("%v.Enum: %w", t, err)
		}
		values = append(values, parseText(string(b)))
	}
	if len(values) == 0 {
		return nil, fmt.Errorf("%v.Enum returns no values", t)
	}
	return values, nil
}

// recovered turns a panic in a method of the host's type into an error.
func recovered(t reflect.Type, method string, err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("%v.%s panicked: %v", t, method, p)
	}
}
