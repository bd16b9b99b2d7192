package schema

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/stretchr/testify/require"
)

// fuzzed is a struct with one of everything that the quick way knows, and some
// of what it does not.
type fuzzed struct {
	Path   string           `json:"path" minLength:"1"`
	Mode   string           `json:"mode,omitempty" enum:"read,write,añadir"`
	Offset int              `json:"offset,omitempty" minimum:"0" maximum:"2000"`
	Size   uint64           `json:"size,omitempty"`
	Small  int8             `json:"small,omitempty"`
	Ratio  float64          `json:"ratio,omitempty" exclusiveMinimum:"0" maximum:"1"`
	All    bool             `json:"all,omitempty"`
	Edits  []fuzzedEdit     `json:"edits,omitempty" maxItems:"3"`
	Env    map[string]int32 `json:"env,omitempty"`
	Name   string           `json:"name,omitempty" pattern:"^[a-z]+$" maxLength:"5"`
	Raw    json.RawMessage  `json:"raw,omitempty"`
	Any    any              `json:"any,omitempty"`
	When   *time.Time       `json:"when,omitempty"`
	Next   *fuzzed          `json:"next,omitempty"`
	Pair   [2]int           `json:"pair,omitempty"`
	Bytes  []byte           `json:"bytes,omitempty"`
	Exact  json.Number      `json:"exact,omitempty"`
	Deep   [][]int16        `json:"deep,omitempty"`
	Twice  **named          `json:"twice,omitempty"`
	Flags  []bool           `json:"flags,omitempty"`
	Float  []float32        `json:"float,omitempty"`
	fuzzedBase
}

type fuzzedBase struct {
	Base string        `json:"base,omitempty"`
	Ptrs []*fuzzedEdit `json:"ptrs,omitempty"`
}

type named string

type fuzzedEdit struct {
	Old string `json:"old"`
	New string `json:"new"`
	N   *int   `json:"n,omitempty"`
}

// lenient has aliases and defaults.
type lenient struct {
	Path  string         `json:"path" alias:"file_path,filePath"`
	Limit int            `json:"limit" default:"100" minimum:"1"`
	Mode  string         `json:"mode" default:"a" enum:"a,b"`
	Tags  []string       `json:"tags,omitempty"`
	On    *bool          `json:"on,omitempty"`
	Sub   *lenientSub    `json:"sub,omitempty"`
	Subs  []lenientSub   `json:"subs,omitempty"`
	M     map[string]int `json:"m,omitempty"`
}

type lenientSub struct {
	Line int  `json:"line" alias:"l"`
	Wide bool `json:"wide" default:"true"`
}

var inputSeeds = []string{
	`{"path":"a"}`, `{"path":"a\u00e9\ud83d\ude00\n","mode":"write","offset":3,"size":18446744073709551615}`,
	`{"path":"a","edits":[{"old":"x","new":"y","n":4},{"old":"","new":""}]}`,
	`{"path":"a","offset":5.0,"small":1e1,"ratio":0.5,"env":{"A":1,"B":-2}}`,
	`{"path":"a","path":"b","edits":[{"old":"1","new":"2"}],"edits":[{"old":"3","new":"4"}]}`,
	`{"path":null}`, `{"path":"a","mode":null,"all":true,"when":"2025-01-31T12:00:00Z","pair":[1,2]}`,
	`{"path":"a","deep":[[1,2],[],[3]],"twice":"x\n","flags":[true,false],"float":[1.5,1e2],"base":"b","ptrs":[{"old":"a","new":"\\\"","n":1}]}`,
	`{"Path":"a"}`, `{"path":"a","raw":{"a":[1,2.50,{"b":null}]},"any":[9007199254740993]}`,
	`{"path":"a","next":{"path":"b","next":{"path":"c","size":9007199254740993}}}`,
	`{"path":"a","name":"abc","bytes":"aGk=","exact":1.50}`, "{\"path\":\"\xff\"}", `{"path":"\ud800"}`,
	`{"path":"a","small":128}`, `{"path":"a","small":-128}`, `{"path":"a","offset":-0}`, `{"path":"a","size":-1}`,
	`{"path":"a"} x`, `{"path":"a`, `[]`, `"{\"path\":\"a\"}"`, `null`, ``, ` `, `{"path":"a","ratio":1e400}`,
	`{"file_path":"a","limit":"12","tags":"[\"x\"]","on":"true"}`, `{"path":"a","file_path":"b"}`,
	`{"path":"a","sub":"{\"l\":\"3\"}","subs":{"line":1},"m":{"a":"1"}}`, `{"path":"a","limit":null,"mode":"b"}`,
	`{"path":"a","tags":"x","subs":[{"line":1,"wide":false},{"line":"2"}]}`, `{"path":"a","edits":[{"old":"x"},{"new":1}]}`,
}

// trusted says what jsonschema-go thinks of an input, reading it with encoding/json.
func trusted(t testing.TB, doc json.RawMessage) func([]byte) (valid, isJSON bool) {
	var js jsonschema.Schema
	require.NoError(t, json.Unmarshal(doc, &js))
	resolved, err := js.Resolve(nil)
	require.NoError(t, err)
	return func(input []byte) (bool, bool) {
		dec := json.NewDecoder(bytes.NewReader(input))
		dec.UseNumber()
		var v any
		if !json.Valid(input) || dec.Decode(&v) != nil {
			return false, false
		}
		v, ok := exactNumbers(v)
		return ok && resolved.Validate(v) == nil, true
	}
}

// exactNumbers replaces json.Number, which jsonschema-go takes for a string.
func exactNumbers(v any) (any, bool) {
	ok := true
	switch v := v.(type) {
	case json.Number:
		if i, err := strconv.ParseInt(string(v), 10, 64); err == nil {
			return i, true
		}
		if u, err := strconv.ParseUint(string(v), 10, 64); err == nil {
			return u, true
		}
		f, err := v.Float64()
		if i := int64(f); err == nil && f > -1e15 && f < 1e15 && float64(i) == f {
			// 1.0000000000000000001 must not be taken for an integer.
			d := parseDecimal(string(v))
			if !d.isInt() {
				return 0.5, true
			}
		}
		return f, err == nil
	case []any:
		for i := range v {
			var good bool
			v[i], good = exactNumbers(v[i])
			ok = ok && good
		}
	case map[string]any:
		for k := range v {
			var good bool
			v[k], good = exactNumbers(v[k])
			ok = ok && good
		}
	}
	return v, ok
}

// slow returns s without its quick way.
func slow(s *Schema) *Schema {
	c := *s
	c.program = nil
	return &c
}

func FuzzDecode(f *testing.F) {
	for _, s := range inputSeeds {
		f.Add([]byte(s))
	}
	s, err := Of[fuzzed]()
	require.NoError(f, err)
	require.NotNil(f, s.program)
	judge := trusted(f, s.JSON())
	f.Fuzz(func(t *testing.T, input []byte) {
		input = bytes.Clone(input)
		valid, isJSON := judge(input)
		err := s.Validate(input)
		if deep(input) {
			return
		}
		require.Equal(t, valid, err == nil, "%s: %v", input, err)
		require.Equal(t, err == nil, slow(s).Validate(input) == nil)

		var got, got2 fuzzed
		_, err = s.Decode(input, &got, &Options{Strict: true})
		_, err2 := slow(s).Decode(input, &got2, &Options{Strict: true})
		require.Equal(t, err2 == nil, err == nil, "quick %v, slow %v", err, err2)
		require.Equal(t, got2, got)
		if err != nil {
			require.ErrorIs(t, err, ErrInvalid)
			require.Equal(t, err2.Error(), err.Error())
			require.Zero(t, got)
			return
		}
		if !isJSON || !valid {
			return // accepted with null for absent, or empty
		}
		// Everything that encoding/json makes of the same values, with each key
		// once and integers written as such, is what must have arrived.
		canonical, err := Canonical(input)
		require.NoError(t, err)
		var want fuzzed
		if json.Unmarshal(canonical, &want) == nil {
			clearRaw(&got)
			clearRaw(&want)
			require.Equal(t, norm(want), norm(got), "%s", input)
		}
	})
}

// clearRaw drops what keeps its spelling and so differs from the canonical form.
func clearRaw(f *fuzzed) {
	for ; f != nil; f = f.Next {
		f.Raw = nil
		f.Exact = ""
	}
}

func norm(f fuzzed) string {
	b, err := json.Marshal(f)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// deep reports whether input nests deeper than this package reads.
func deep(input []byte) bool {
	return bytes.Count(input, []byte("[")) > 150 || bytes.Count(input, []byte("{")) > 150
}

func FuzzRepair(f *testing.F) {
	for _, s := range inputSeeds {
		f.Add([]byte(s))
	}
	s, err := Of[lenient]()
	require.NoError(f, err)
	require.NotNil(f, s.program)
	judge := trusted(f, s.JSON())
	f.Fuzz(func(t *testing.T, input []byte) {
		input = bytes.Clone(input)
		before := bytes.Clone(input)
		out, repairs, err := s.Prepare(input, nil)
		require.Equal(t, before, input, "the input was changed")
		out2, repairs2, err2 := slow(s).Prepare(input, nil)
		require.Equal(t, err2 == nil, err == nil)
		if err != nil {
			require.Equal(t, err2.Error(), err.Error())
			require.Nil(t, out)
			var e *Error
			require.ErrorAs(t, err, &e)
			require.True(t, len(e.Issues) > 0 || e.Err != nil)
			if e.Example != nil {
				require.NoError(t, s.Validate(e.Example), "example %s of %s", e.Example, input)
			}
			var v lenient
			_, err = s.Decode(input, &v, nil)
			require.Error(t, err)
			return
		}
		require.Equal(t, repairs2, repairs)
		require.JSONEq(t, string(out2), string(out))
		if !deep(input) {
			valid, _ := judge(out)
			require.True(t, valid, "%s became %s", input, out)
		}
		again, more, err := s.Prepare(out, nil)
		require.NoError(t, err)
		require.Empty(t, more)
		require.Equal(t, string(out), string(again))

		// What is decoded is what was prepared, unless a number does not fit.
		var got, got2, want lenient
		r, err := s.Decode(input, &got, nil)
		_, err2 = slow(s).Decode(input, &got2, nil)
		require.Equal(t, err2 == nil, err == nil)
		require.Equal(t, got2, got)
		if err != nil {
			return
		}
		require.Equal(t, repairs, r)
		canonical, err := Canonical(out)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(canonical, &want))
		require.Equal(t, want, got)

		// Without repair it is accepted too, or not at all.
		strict, r, err := s.Prepare(input, &Options{Strict: true})
		if err == nil {
			for _, one := range r {
				require.Equal(t, "alias", one.Rule)
			}
			require.JSONEq(t, string(out), string(strict))
		}
	})
}

// FuzzCheck: what passes the guard compiles or is refused in an orderly way,
// agrees with jsonschema-go, and never hangs.
func FuzzCheck(f *testing.F) {
	for _, s := range schemaSeeds {
		for _, in := range []string{`{"a":1}`, `{"a":{"a":{"a":null}},"b":["x",1,2]}`, `[1,1.0,"a",{}]`} {
			f.Add([]byte(s), []byte(in))
		}
	}
	f.Fuzz(func(t *testing.T, doc, input []byte) {
		start := time.Now()
		checked := Check(doc)
		if d := time.Since(start); d > time.Second {
			t.Fatalf("Check took %v", d)
		}
		for _, dialect := range []func(json.RawMessage) (json.RawMessage, []Loss){OpenAIStrict, Gemini, Anthropic} {
			out, losses := dialect(doc)
			require.True(t, json.Valid(out), "%s", out)
			again, more := dialect(out)
			require.Equal(t, string(out), string(again), "of %s, losses %v then %v", doc, losses, more)
		}
		s, err := Compile(json.RawMessage(doc))
		if checked != nil {
			require.Error(t, err)
			return
		}
		if err != nil {
			require.ErrorIs(t, err, ErrUnsupported)
			return
		}
		verr := s.Validate(input)
		require.Equal(t, verr == nil, slow(s).Validate(input) == nil)
		if verr != nil {
			require.Equal(t, verr.Error(), s.Validate(input).Error(), "not the same text twice")
		}
		out, _, perr := s.Prepare(input, nil)
		if perr == nil {
			require.NoError(t, s.Validate(out))
			again, more, err := s.Prepare(out, nil)
			require.NoError(t, err)
			require.Empty(t, more)
			require.Equal(t, string(out), string(again))
		}
		if d := time.Since(start); d > 20*time.Second {
			t.Fatalf("took %v", d)
		}
		// jsonschema-go itself, where it understands the document as it stands.
		var js jsonschema.Schema
		if strings.Contains(string(doc), "$") || deep(input) || json.Unmarshal(doc, &js) != nil {
			return
		}
		if _, err := js.Resolve(nil); err != nil || js.ItemsArray != nil || reflect.DeepEqual(js, jsonschema.Schema{}) || js.AdditionalItems != nil {
			return
		}
		if bytes.Contains(doc, []byte("dependencies")) || bytes.Contains(doc, []byte("tems")) && bytes.Contains(doc, []byte("[")) || foreign(doc) {
			return
		}
		valid, _ := trusted(t, doc)(input)
		require.Equal(t, valid, verr == nil, "schema %s, input %s: %v", doc, input, verr)
	})
}

// foreign reports whether the document has keys that encoding/json takes for
// keywords though they are spelled differently, or numbers that are rounded.
func foreign(doc []byte) bool {
	v, err := parse(doc)
	if err != nil {
		return true
	}
	var walk func(v *value) bool
	walk = func(v *value) bool {
		if v.kind == kNumber && len(v.text) > 15 {
			return true
		}
		for _, e := range v.items {
			if walk(e) {
				return true
			}
		}
		for _, m := range v.members {
			for name := range keywords {
				if name != m.key && strings.EqualFold(name, m.key) {
					return true
				}
			}
			if walk(m.val) {
				return true
			}
		}
		return false
	}
	return v.raw == "" || walk(v)
}

var schemaSeeds = []string{
	`{}`, `true`, `{"$ref":"#"}`, `{"type":"object","properties":{"a":{"type":"integer","minimum":0}},"required":["a"],"additionalProperties":false}`,
	`{"allOf":[{"$ref":"#/$defs/a"}],"$defs":{"a":{"anyOf":[{"$ref":"#/$defs/a"}]}}}`,
	`{"type":"object","properties":{"a":{"$ref":"#"},"b":{"type":"array","items":{"enum":["x",1,null]}}}}`,
	`{"$defs":{"n":{"anyOf":[{"type":"null"},{"properties":{"a":{"$ref":"#/$defs/n"}}},{"properties":{"a":{"$ref":"#/$defs/n"}}}]}},"$ref":"#/$defs/n"}`,
	`{"items":{"type":"number"},"uniqueItems":true,"contains":{"const":1},"maxContains":1}`,
	`{"prefixItems":[{"type":"string"}],"items":{"type":"integer"},"unevaluatedItems":false}`,
	`{"patternProperties":{"^a":{"type":"object"}},"propertyNames":{"maxLength":1},"minProperties":1,"unevaluatedProperties":false}`,
	`{"if":{"required":["a"]},"then":{"required":["b"]},"else":{"not":{"type":"array"}}}`,
	`{"dependentRequired":{"a":["b"]},"dependentSchemas":{"a":{"maxProperties":1}}}`,
	`{"oneOf":[{"type":"object","properties":{"a":{"const":1}}},{"type":"array","multipleOf":3}]}`,
	`{"$schema":"http://json-schema.org/draft-07/schema#","definitions":{"a":{"type":"string"}},"properties":{"a":{"$ref":"#/definitions/a","minLength":3}}}`,
	`{"type":["object","null"],"properties":{"a":{"type":"string","pattern":"^x{1,3}$","format":"date","default":"x"}},"title":"T"}`,
	`{"$schema":"http://json-schema.org/draft-04/schema#","properties":{"a":{"minimum":1,"exclusiveMinimum":true}}}`,
	`{"properties":{"a":{"type":"string","default":1},"b":{"type":"boolean","default":true}},"maxProperties":1}`,
	`{"type":"object","properties":{"a":{"nullable":true,"type":"string"}},"oneOf":[{"required":["a"]},{"required":["b"]}]}`,
	`{"$dynamicRef":"#x","$dynamicAnchor":"x"}`, `{"properties":{"a":{"$ref":"other.json"}}}`, `{"pattern":"(?!x)"}`, `{"pattern":"((a{100}){100}){100}"}`,
}
