package schema

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/stretchr/testify/require"
)

// source makes random schemas, and inputs that are near to fitting them.
type source struct{ *rand.Rand }

func (r source) pick(of ...string) string { return of[r.IntN(len(of))] }

var (
	someKeys  = []string{"a", "b", "path", "file_path", "A"}
	someTexts = []string{"", "a", "x", "12", "true", "[1]", `{"a":1}`, "äö", "xxxxxx", "2025-01-31T12:00:00Z", `"q"`, "5.0", "\n"}
	someNums  = []string{"0", "1", "-1", "5", "5.0", "1e1", "2.5", "9007199254740993", "100", "-0", "18446744073709551616", "1e2"}
)

func (r source) leaf() *value {
	switch r.IntN(7) {
	case 0:
		return parseText("null")
	case 1:
		return boolValue(r.IntN(2) == 0)
	case 2, 3:
		return numberValue(r.pick(someNums...))
	}
	return stringValue(r.pick(someTexts...))
}

func (r source) any(depth int) *value {
	switch n := r.IntN(8); {
	case n == 0 && depth > 0:
		v := arrayValue()
		for range r.IntN(4) {
			v.items = append(v.items, r.any(depth-1))
		}
		return v
	case n <= 2 && depth > 0:
		v := objectValue()
		for range r.IntN(4) {
			v.set(r.pick(someKeys...), r.any(depth-1))
		}
		return v
	}
	return r.leaf()
}

// small makes a value without an integer that a float64 rounds: jsonschema-go
// reads those of a schema as floats.
func (r source) small() *value {
	for {
		if v := r.any(1); !hasBigInt(v) {
			return v
		}
	}
}

func (r source) count() *value { return numberValue(r.pick("0", "1", "2", "3")) }

// schema makes a schema. Only plain ones have a program; wild ones have everything.
func (r source) schema(depth int, wild bool) *value {
	if wild && r.IntN(12) == 0 {
		return boolValue(r.IntN(3) > 0)
	}
	v := objectValue()
	if wild && r.IntN(8) == 0 {
		v.set("$ref", stringValue("#/$defs/"+r.pick("d", "e")))
	}
	kinds := []string{"string", "integer", "number", "boolean", "null", "array", "object", "object"}
	t := r.pick(kinds...)
	switch r.IntN(8) {
	case 0:
	case 1:
		v.set("type", arrayValue(stringValue(t), stringValue("null")))
	default:
		v.set("type", stringValue(t))
	}
	sub := func() *value { return r.schema(depth-1, wild) }
	switch t {
	case "string":
		switch r.IntN(5) {
		case 0:
			v.set("minLength", r.count())
			v.set("maxLength", numberValue("5"))
		case 1:
			v.set("pattern", stringValue(r.pick("^a", "x+", "^[a-z]*$")))
		case 2:
			v.set("enum", arrayValue(stringValue("a"), stringValue("äö"), stringValue("x")))
		}
	case "integer", "number":
		for _, k := range []string{"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"} {
			if r.IntN(4) == 0 {
				v.set(k, numberValue(r.pick("0", "1", "5", "100", "2.5", "-1")))
			}
		}
	case "array":
		if depth > 0 && r.IntN(4) > 0 {
			v.set("items", sub())
		}
		if r.IntN(4) == 0 {
			v.set("minItems", r.count())
		}
		if r.IntN(4) == 0 {
			v.set("maxItems", r.count())
		}
	case "object":
		props := objectValue()
		names := arrayValue()
		for range r.IntN(4) {
			if depth > 0 {
				p := sub()
				if p.kind == kObject && r.IntN(4) == 0 {
					p.set("default", r.leaf())
				}
				key := r.pick(someKeys...)
				props.set(key, p)
				if r.IntN(3) == 0 {
					names.items = append(names.items, stringValue(key))
				}
			}
		}
		v.set("properties", props)
		v.set("required", names)
		switch r.IntN(4) {
		case 0:
			v.set("additionalProperties", sub0(r, depth, wild))
		case 1, 2:
			v.set("additionalProperties", boolValue(false))
		}
	}
	if wild {
		r.wild(v, depth)
	}
	return v
}

func sub0(r source, depth int, wild bool) *value {
	if depth <= 0 {
		return typed("integer")
	}
	return r.schema(depth-1, wild)
}

func (r source) wild(v *value, depth int) {
	one := func() *value { return r.schema(depth-1, true) }
	if depth <= 0 {
		return
	}
	few := func() *value {
		l := arrayValue()
		for range 1 + r.IntN(3) {
			l.items = append(l.items, one())
		}
		return l
	}
	tab := func(keys ...string) *value {
		t := objectValue()
		for range 1 + r.IntN(2) {
			t.set(r.pick(keys...), one())
		}
		return t
	}
	for range r.IntN(3) {
		switch r.IntN(22) {
		case 0:
			v.set("allOf", few())
		case 1, 2:
			v.set("anyOf", few())
		case 3:
			v.set("oneOf", few())
		case 4:
			v.set("not", one())
		case 5:
			v.set("if", one())
			v.set("then", one())
			v.set("else", one())
		case 6:
			v.set("enum", arrayValue(r.small(), r.small()))
		case 7:
			v.set("const", r.small())
		case 8:
			v.set("multipleOf", numberValue(r.pick("1", "2", "0.5")))
		case 9:
			v.set("prefixItems", few())
		case 10:
			v.set("contains", one())
			v.set("minContains", r.count())
		case 11:
			v.set("contains", one())
			v.set("maxContains", r.count())
		case 12:
			v.set("uniqueItems", boolValue(true))
		case 13:
			v.set("unevaluatedItems", one())
		case 14:
			v.set("patternProperties", tab("^a", "th$", "."))
		case 15:
			v.set("propertyNames", one())
		case 16:
			v.set("unevaluatedProperties", one())
		case 17:
			v.set("dependentSchemas", tab(someKeys...))
		case 18:
			l := objectValue()
			l.set(r.pick(someKeys...), arrayValue(stringValue(r.pick(someKeys...))))
			v.set("dependentRequired", l)
		case 19:
			v.set("minProperties", r.count())
		case 20:
			v.set("maxProperties", r.count())
		case 21:
			v.set("x-more", r.any(1))
		}
	}
}

// near makes a value that has a chance to fit.
func (r source) near(v *value, depth int) *value {
	if v == nil || v.kind != kObject || r.IntN(10) == 0 || depth <= 0 {
		return r.any(2)
	}
	if e := v.get("enum"); e != nil && len(e.items) > 0 && r.IntN(3) > 0 {
		return e.items[r.IntN(len(e.items))]
	}
	if r.IntN(12) == 0 {
		// What a model makes of it: the right thing, as a string or alone.
		inner := r.near(v, depth-1)
		return stringValue(string(appendCompact(nil, inner)))
	}
	for _, k := range []string{"anyOf", "oneOf", "allOf"} {
		if l := v.get(k); l != nil && r.IntN(2) == 0 {
			return r.near(l.items[r.IntN(len(l.items))], depth-1)
		}
	}
	t := v.get("type")
	if t == nil {
		return r.any(2)
	}
	name := t.text
	if len(t.items) > 0 {
		name = t.items[r.IntN(len(t.items))].text
	}
	switch name {
	case "null":
		return parseText("null")
	case "boolean":
		return boolValue(r.IntN(2) == 0)
	case "integer", "number":
		return numberValue(r.pick(someNums...))
	case "string":
		return stringValue(r.pick(someTexts...))
	case "array":
		out := arrayValue()
		for i := range r.IntN(4) {
			items := v.get("items")
			if p := v.get("prefixItems"); p != nil && i < len(p.items) {
				items = p.items[i]
			}
			out.items = append(out.items, r.near(items, depth-1))
		}
		return out
	}
	out := objectValue()
	if p := v.get("properties"); p != nil {
		for _, m := range p.members {
			if r.IntN(4) > 0 {
				out.members = append(out.members, member{key: m.key, val: r.near(m.val, depth-1)})
			}
		}
	}
	if r.IntN(4) == 0 {
		out.members = append(out.members, member{key: r.pick(someKeys...), val: r.any(1)}) // perhaps a second time
	}
	return out
}

// TestRandom holds the package to its promises with schemas and inputs that
// nobody thought of. SCHEMA_ROUNDS asks for more rounds.
func TestRandom(t *testing.T) {
	rounds := 1500
	if n, err := strconv.Atoi(os.Getenv("SCHEMA_ROUNDS")); err == nil {
		rounds = n
	}
	var compiled, programs, valid, repaired, examples, refused, unexplained int
	for seed := range rounds {
		r := source{rand.New(rand.NewPCG(uint64(seed), 7))}
		wild := seed%2 == 0
		tree := r.schema(4, wild)
		if tree.kind != kObject {
			continue
		}
		if wild {
			defs := objectValue()
			defs.set("d", r.schema(2, true))
			defs.set("e", r.schema(2, true))
			tree.set("$defs", defs)
		}
		doc := json.RawMessage(appendCompact(nil, tree))
		checkDialects(t, doc)
		s, err := Compile(doc)
		if err != nil {
			require.True(t, wild, "%s: %v", doc, err)
			continue
		}
		compiled++
		if s.program != nil {
			programs++
		}
		judge := trusted(t, s.JSON())
		for range 8 {
			input := json.RawMessage(appendCompact(nil, r.near(tree, 5)))
			what := fmt.Sprintf("seed %d\nschema %s\ninput %s", seed, doc, input)
			want, _ := judge(input)
			verr := s.Validate(input)
			require.Equal(t, want, verr == nil, "%s\n%v", what, verr)
			if verr != nil {
				require.Equal(t, verr, s.Validate(input), what)
				var e *Error
				require.ErrorAs(t, verr, &e)
				if e.Issues[0].Keyword == "schema" {
					unexplained++
					t.Logf("%s\n%v", what, e)
				}
				if e.Example != nil {
					examples++
					ok, _ := judge(e.Example)
					require.True(t, ok, "%s\nexample %s", what, e.Example)
				}
			} else {
				valid++
				v, _ := parse(input)
				issues, _ := explain(s.root, v, s.track)
				require.Empty(t, issues, what)
			}
			out, repairs, perr := s.Prepare(input, nil)
			_, _, perr2 := slow(s).Prepare(input, nil)
			require.Equal(t, perr2, perr, what)
			if perr != nil {
				refused++
				require.Error(t, verr, what)
				continue
			}
			if len(repairs) > 0 {
				repaired++
				require.Error(t, verr, what)
			}
			ok, _ := judge(out)
			require.True(t, ok, "%s\nbecame %s", what, out)
			again, more, err := s.Prepare(out, nil)
			require.NoError(t, err, what)
			require.Empty(t, more, what)
			require.Equal(t, string(out), string(again), what)
		}
	}
	t.Logf("%d compiled, %d with program; %d valid, %d repaired, %d refused, %d examples, %d not explained", compiled, programs, valid, repaired, refused, examples, unexplained)
	require.Greater(t, programs, rounds/20)
	require.Greater(t, valid, rounds/4)
	require.Greater(t, repaired, rounds/100)
	require.Greater(t, examples, rounds/4)
	require.Zero(t, unexplained)
}

func checkDialects(t *testing.T, doc json.RawMessage) {
	for name, dialect := range map[string]func(json.RawMessage) (json.RawMessage, []Loss){"openai": OpenAIStrict, "gemini": Gemini, "anthropic": Anthropic} {
		out, losses := dialect(doc)
		same, sameLosses := dialect(doc)
		require.Equal(t, string(out), string(same))
		require.Equal(t, losses, sameLosses)
		again, more := dialect(out)
		require.Equal(t, string(out), string(again), "%s of %s: %v then %v", name, doc, losses, more)
		var js jsonschema.Schema
		require.NoError(t, json.Unmarshal(out, &js), "%s", out)
		_, err := js.Resolve(nil)
		require.NoError(t, err, "%s of %s: %s", name, doc, out)
		if name == "gemini" {
			for _, word := range []string{`"$ref"`, `"$defs"`, `"const"`, `"additionalProperties"`, `"allOf"`, `"oneOf"`, `"exclusiveMinimum"`, `"type":[`} {
				require.NotContains(t, strings.ReplaceAll(string(out), " ", ""), word)
			}
		}
	}
}

// goType makes a Go type that a schema's values may be decoded into.
func (r source) goType(v *value, depth int) reflect.Type {
	name := ""
	if t := v.get("type"); t != nil {
		name = t.text
		for _, n := range t.items {
			if n.text != "null" {
				name = n.text
			}
		}
	}
	anyType := reflect.TypeFor[any]()
	if r.IntN(15) == 0 || v.kind != kObject || depth == 0 {
		return anyType
	}
	typ := anyType
	switch name {
	case "string":
		typ = []reflect.Type{reflect.TypeFor[string](), reflect.TypeFor[named](), reflect.TypeFor[[]byte](), reflect.TypeFor[netip.Addr]()}[max(0, r.IntN(12)-8)]
	case "integer":
		typ = []reflect.Type{reflect.TypeFor[int](), reflect.TypeFor[int8](), reflect.TypeFor[uint64](), reflect.TypeFor[float32](), reflect.TypeFor[json.Number]()}[r.IntN(5)]
	case "number":
		typ = []reflect.Type{reflect.TypeFor[float64](), reflect.TypeFor[int](), reflect.TypeFor[json.RawMessage]()}[max(0, r.IntN(6)-3)]
	case "boolean":
		typ = reflect.TypeFor[bool]()
	case "array":
		items := v.get("items")
		if items == nil {
			items = objectValue()
		}
		typ = reflect.SliceOf(r.goType(items, depth-1))
		if r.IntN(10) == 0 {
			typ = reflect.ArrayOf(2, typ.Elem())
		}
	case "object":
		if extra := v.get("additionalProperties"); extra != nil && extra.kind == kObject && r.IntN(2) == 0 {
			return reflect.MapOf(reflect.TypeFor[string](), r.goType(extra, depth-1))
		}
		var fields []reflect.StructField
		for i, m := range v.get("properties").members {
			tag := `json:"` + m.key + `"`
			if i == 0 && r.IntN(3) == 0 {
				tag += ` alias:"x,b"`
			}
			fields = append(fields, reflect.StructField{Name: "F" + strconv.Itoa(i), Type: r.goType(m.val, depth-1), Tag: reflect.StructTag(tag)})
		}
		if r.IntN(4) == 0 {
			fields = append(fields, reflect.StructField{Name: "PATH", Type: reflect.TypeFor[*string]()})
		}
		typ = reflect.StructOf(fields)
	}
	if r.IntN(5) == 0 {
		typ = reflect.PointerTo(typ)
	}
	return typ
}

// TestRandomTypes: decoding the quick way and the slow way give the same, and
// what encoding/json gives where that is to be trusted.
func TestRandomTypes(t *testing.T) {
	rounds := 1500
	if n, err := strconv.Atoi(os.Getenv("SCHEMA_ROUNDS")); err == nil {
		rounds = n
	}
	var programs, quick, good, same int
	for seed := range rounds {
		r := source{rand.New(rand.NewPCG(uint64(seed), 11))}
		tree := r.schema(4, false)
		doc := json.RawMessage(appendCompact(nil, tree))
		typ := r.goType(tree, 6)
		s, err := Bind(doc, typ)
		require.NoError(t, err)
		if s.program != nil {
			programs++
		}
		for range 8 {
			input := json.RawMessage(appendCompact(nil, r.near(tree, 5)))
			what := fmt.Sprintf("seed %d\nschema %s\ntype %v\ninput %s", seed, doc, typ, input)
			got, want := reflect.New(typ), reflect.New(typ)
			repairs, err := s.Decode(input, got.Interface(), nil)
			repairs2, err2 := slow(s).Decode(input, want.Interface(), nil)
			require.Equal(t, err2, err, what)
			require.Equal(t, repairs2, repairs, what)
			require.Equal(t, want.Interface(), got.Interface(), what)
			if err != nil {
				continue
			}
			good++
			if ok, f := s.program.run(input); ok && !f.odd {
				quick++
			}
			// Plain input reaches the type as encoding/json would have it.
			out, _, err := s.Prepare(input, nil)
			require.NoError(t, err, what)
			canonical, err := Canonical(out)
			require.NoError(t, err)
			plain := reflect.New(typ)
			if strings.Contains(typ.String(), "RawMessage") || strings.Contains(typ.String(), "jsontext") || strings.Contains(string(doc)+string(out), `"A"`) || strings.Contains(typ.String(), "PATH") || strings.Contains(typ.String(), "Number") {
				continue // keeps its spelling, or minds the case of keys
			}
			if json.Unmarshal(canonical, plain.Interface()) == nil {
				same++
				require.Equal(t, plain.Interface(), got.Interface(), what)
			}
		}
	}
	t.Logf("%d programs; %d decoded, %d of them the quick way, %d compared with encoding/json", programs, good, quick, same)
	require.Greater(t, quick, rounds/4)
	require.Greater(t, same, rounds/4)
}
