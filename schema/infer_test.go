package schema

import (
	"encoding/json"
	"log/slog"
	"math/big"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

type (
	color string
	level int

	tree struct {
		Name     string           `json:"name"`
		Children []tree           `json:"children,omitempty"`
		ByName   map[string]*tree `json:"byName,omitempty"`
	}
	left   struct{ R *right }
	right  struct{ L *left }
	listed []listed

	base struct {
		ID   string `json:"id"`
		Note string `json:"note,omitempty"`
	}
	hidden struct {
		Deep int `json:"deep"`
	}
	custom         struct{ X int }
	refers         struct{}
	allows         struct{}
	panics         struct{}
	reads          struct{}
	generic[T any] struct {
		V    T           `json:"v"`
		Next *generic[T] `json:"next,omitempty"`
	}
)

func (color) Enum() []color  { return []color{"red", "green"} }
func (*level) Enum() []level { return []level{1, 3} }
func (custom) JSONSchema() any {
	return map[string]any{"type": "string", "pattern": "^x"}
}
func (refers) JSONSchema() any {
	return json.RawMessage(`{"type":"object","properties":{"again":{"$ref":"#"},"d":{"$ref":"#/definitions/d"}},"definitions":{"d":{"type":"integer"}}}`)
}
func (allows) JSONSchema() any              { return true }
func (panics) JSONSchema() any              { panic("no") }
func (r *reads) UnmarshalJSON([]byte) error { return nil }

func TestForType(t *testing.T) {
	object := func(props string, required ...string) string {
		s := `{"type":"object","properties":{` + props + `}`
		if len(required) > 0 {
			s += `,"required":["` + strings.Join(required, `","`) + `"]`
		}
		return s + `,"additionalProperties":false}`
	}
	for _, c := range []struct {
		typ  reflect.Type
		want string
	}{
		{reflect.TypeFor[struct{}](), object(``)},
		{reflect.TypeFor[any](), `{"type":"object"}`},
		{reflect.TypeFor[json.RawMessage](), `{"type":"object"}`},
		{reflect.TypeFor[map[string]any](), `{"type":"object","additionalProperties":{}}`},
		{reflect.TypeFor[*[]string](), `{"type":"array","items":{"type":"string"}}`},
		{reflect.TypeFor[struct {
			A int       `json:"a"`
			B *int      `json:"b"`
			C []string  `json:"c"`
			D []string  `json:"d,omitempty"`
			E time.Time `json:"e,omitzero"`
			F []byte
			G json.RawMessage `json:"g"`
			H any             `json:"h"`
			I json.Number     `json:"i"`
			J uint            `json:"j"`
			K int8            `json:"k"`
			L uint16          `json:"l"`
			M [3]bool         `json:"m"`
			N map[int]float32 `json:"n"`
			O netip.Addr      `json:"o"`
			P big.Int         `json:"p"`
			Q slog.Level      `json:"q"`
			R bool            `json:"r,string"`
			S string          `json:"-"`
			U reads           `json:"u"`
			V []*point        `json:"v"`
			w int
		}](), object(`"a":{"type":"integer"},"b":{"type":"integer"},"c":{"type":"array","items":{"type":"string"}},"d":{"type":"array","items":{"type":"string"}},`+
			`"e":{"type":"string","format":"date-time"},"F":{"type":"string","contentEncoding":"base64"},"g":{},"h":{},"i":{"type":"number"},"j":{"type":"integer","minimum":0},`+
			`"k":{"type":"integer","minimum":-128,"maximum":127},"l":{"type":"integer","minimum":0,"maximum":65535},"m":{"type":"array","items":{"type":"boolean"},"minItems":3,"maxItems":3},`+
			`"n":{"type":"object","additionalProperties":{"type":"number"}},"o":{"type":"string"},"p":{"type":"integer"},"q":{"type":"string"},"r":{"type":"string"},"u":{},`+
			`"v":{"type":"array","items":`+object(`"line":{"type":"integer"},"col":{"type":"integer"}`, "line")+`}`,
			"a", "c", "F", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p", "q", "r", "u", "v")},
		{reflect.TypeFor[struct {
			base
			*hidden
			Named base `json:"named"`
			ID    int  `json:"id"`
		}](), object(`"note":{"type":"string"},"deep":{"type":"integer"},"named":`+object(`"id":{"type":"string"},"note":{"type":"string"}`, "id")+`,"id":{"type":"integer"}`, "named", "id")},
		{reflect.TypeFor[struct {
			C  color   `json:"c"`
			L  level   `json:"l"`
			Cs []color `json:"cs,omitempty"`
			X  custom  `json:"x" jsonschema:"starts with x"`
			A  allows  `json:"a"`
		}](), object(`"c":{"type":"string","enum":["red","green"]},"l":{"type":"integer","enum":[1,3]},"cs":{"type":"array","items":{"type":"string","enum":["red","green"]}},`+
			`"x":{"pattern":"^x","description":"starts with x","type":"string"},"a":{}`, "c", "l", "x", "a")},
		{reflect.TypeFor[tree](), `{"type":"object","properties":{"name":{"type":"string"},"children":{"type":"array","items":{"$ref":"#/$defs/tree"}},"byName":{"type":"object","additionalProperties":{"$ref":"#/$defs/tree"}}},"required":["name"],"additionalProperties":false,` +
			`"$defs":{"tree":{"type":"object","properties":{"name":{"type":"string"},"children":{"type":"array","items":{"$ref":"#/$defs/tree"}},"byName":{"type":"object","additionalProperties":{"$ref":"#/$defs/tree"}}},"required":["name"],"additionalProperties":false}}}`},
		{reflect.TypeFor[struct{ A left }](), `{"type":"object","properties":{"A":{"$ref":"#/$defs/left"}},"required":["A"],"additionalProperties":false,` +
			`"$defs":{"left":{"type":"object","properties":{"R":{"type":"object","properties":{"L":{"$ref":"#/$defs/left"}},"additionalProperties":false}},"additionalProperties":false}}}`},
		{reflect.TypeFor[struct{ L listed }](), `{"type":"object","properties":{"L":{"$ref":"#/$defs/listed"}},"required":["L"],"additionalProperties":false,"$defs":{"listed":{"type":"array","items":{"$ref":"#/$defs/listed"}}}}`},
		{reflect.TypeFor[struct {
			A refers `json:"a"`
			B refers `json:"b"`
		}](), `{"type":"object","properties":{"a":{"$ref":"#/$defs/refers"},"b":{"$ref":"#/$defs/refers"}},"required":["a","b"],"additionalProperties":false,` +
			`"$defs":{"refers":{"type":"object","properties":{"again":{"$ref":"#/$defs/refers"},"d":{"$ref":"#/$defs/refers/$defs/d"}},"$defs":{"d":{"type":"integer"}}}}}`},
		{reflect.TypeFor[generic[map[string]int]](), `{"type":"object","properties":{"v":{"type":"object","additionalProperties":{"type":"integer"}},"next":{"$ref":"#/$defs/generic_map_string_int"}},"required":["v"],"additionalProperties":false,` +
			`"$defs":{"generic_map_string_int":{"type":"object","properties":{"v":{"type":"object","additionalProperties":{"type":"integer"}},"next":{"$ref":"#/$defs/generic_map_string_int"}},"required":["v"],"additionalProperties":false}}}`},
	} {
		got, err := ForType(c.typ)
		require.NoError(t, err, "%v", c.typ)
		assert.Equal(t, c.want, string(got), "%v", c.typ)
		again, err := ForType(c.typ)
		require.NoError(t, err)
		assert.Equal(t, string(got), string(again))
		_, err = OfType(c.typ)
		require.NoError(t, err)
		if _, err = Compile(got); err != nil {
			t.Errorf("%s: %v", got, err)
		}
	}
}

func TestTags(t *testing.T) {
	type in struct {
		Path  string   `json:"path" jsonschema:"where to look: a <file> or \"dir\"" minLength:"1" maxLength:"10" pattern:"^[a-z]+$" format:"path" alias:"file_path, filePath"`
		Mode  string   `json:"mode" enum:"a, b" default:"a"`
		Count uint8    `json:"count" minimum:"1" maximum:"20" default:"5" jsonschema:"how many"`
		Ratio *float64 `json:"ratio" exclusiveMinimum:"0" exclusiveMaximum:"1.5"`
		Ports []int    `json:"ports,omitempty" minItems:"1" maxItems:"3" minimum:"1" enum:"80,443"`
		On    bool     `json:"on" default:"true"`
		At    point    `json:"at" jsonschema:"a place"`
	}
	doc, err := For[in]()
	require.NoError(t, err)
	assert.Equal(t, `{"type":"object","properties":{`+
		`"path":{"type":"string","description":"where to look: a <file> or \"dir\"","minLength":1,"maxLength":10,"pattern":"^[a-z]+$","format":"path"},`+
		`"mode":{"type":"string","enum":["a","b"],"default":"a"},`+
		`"count":{"type":"integer","description":"how many","minimum":1,"maximum":20,"default":5},`+
		`"ratio":{"type":"number","exclusiveMinimum":0,"exclusiveMaximum":1.5},`+
		`"ports":{"type":"array","items":{"type":"integer","enum":[80,443],"minimum":1},"minItems":1,"maxItems":3},`+
		`"on":{"type":"boolean","default":true},`+
		`"at":{"type":"object","description":"a place","properties":{"line":{"type":"integer"},"col":{"type":"integer"}},"required":["line"],"additionalProperties":false}},`+
		`"required":["path","at"],"additionalProperties":false}`, string(doc))
}

// TestBadTypes: a mistake is an error that says where.
func TestBadTypes(t *testing.T) {
	for _, c := range []struct {
		typ  reflect.Type
		want string
	}{
		{reflect.TypeFor[struct {
			A int `minimum:"x"`
		}](), `.A: tag minimum:"x": not a number`},
		{reflect.TypeFor[struct {
			A int `minimum:"1.5"`
		}](), `.A: tag minimum:"1.5": not an integer`},
		{reflect.TypeFor[struct {
			A int `minimum:"2" maximum:"1"`
		}](), `.A: tag minimum:"2" is above maximum:"1"`},
		{reflect.TypeFor[struct {
			A uint `minimum:"-1"`
		}](), `.A: tag minimum:"-1": the type's own bound is 0`},
		{reflect.TypeFor[struct {
			A int `maxLength:"3"`
		}](), `.A: tag maxLength:"3": is for string, the field is integer`},
		{reflect.TypeFor[struct {
			A string `maxLength:"-3"`
		}](), `.A: tag maxLength:"-3": not a count`},
		{reflect.TypeFor[struct {
			A string `minItems:"3"`
		}](), `.A: tag minItems:"3": is for array, the field is string`},
		{reflect.TypeFor[struct {
			A int `enum:"1,x"`
		}](), `.A: tag enum:"1,x": "x" is not integer`},
		{reflect.TypeFor[struct {
			A string `enum:"a,,b"`
		}](), `.A: tag enum:"a,,b": a value is empty`},
		{reflect.TypeFor[struct {
			A string `enum:"a,b,a"`
		}](), `.A: tag enum:"a,b,a": "a" is there twice`},
		{reflect.TypeFor[struct {
			A bool `enum:"true"`
		}](), `.A: tag enum:"true": is for integer or number or string, the field is boolean`},
		{reflect.TypeFor[struct {
			A string `pattern:"("`
		}](), `.A: tag pattern:"(": error parsing regexp`},
		{reflect.TypeFor[struct {
			A string `pattern:"(?=x)"`
		}](), `.A: tag pattern:"(?=x)": error parsing regexp`},
		{reflect.TypeFor[struct {
			A string `format:""`
		}](), `.A: tag format:"": is empty`},
		{reflect.TypeFor[struct {
			A int `default:"x"`
		}](), `.A: tag default:"x": invalid JSON`},
		{reflect.TypeFor[struct {
			A int `default:"7" maximum:"5"`
		}](), `.A: tag default: input: want integer <= 5, got number 7`},
		{reflect.TypeFor[struct {
			A string `default:"x" enum:"a,b"`
		}](), `.A: tag default: input: want one of "a", "b", got string "x"`},
		{reflect.TypeFor[struct {
			A string `jsonschema:"WORD=x"`
		}](), `.A: tag jsonschema:"WORD=x": a description does not begin with WORD=`},
		{reflect.TypeFor[struct {
			A string `jsonschema:""`
		}](), `.A: tag jsonschema:"": the description is empty`},
		{reflect.TypeFor[struct {
			A string `json:"a" alias:"b"`
			B string `json:"b"`
		}](), `.A: tag alias:"b": "b" already stands for`},
		{reflect.TypeFor[struct {
			A string `json:"a" alias:"x,"`
		}](), `.A: tag alias:"x,": a name is empty`},
		{reflect.TypeFor[struct{ A chan int }](), `.A: chan int has no form in JSON`},
		{reflect.TypeFor[struct{ A []func() }](), `.A: func() has no form in JSON`},
		{reflect.TypeFor[struct{ A complex64 }](), `.A: complex64 has no form in JSON`},
		{reflect.TypeFor[struct{ A unsafe.Pointer }](), `.A: unsafe.Pointer has no form in JSON`},
		{reflect.TypeFor[struct{ A map[float64]int }](), `.A: map[float64]int: a key of a JSON object is a string`},
		{reflect.TypeFor[struct{ A error }](), `.A: error: JSON cannot be read into an interface with methods`},
		{reflect.TypeFor[struct{ A panics }](), `.A: schema.panics.JSONSchema panicked: no`},
		{reflect.TypeFor[struct{ A struct{ B chan int } }](), `.B: chan int has no form in JSON`},
	} {
		_, err := ForType(c.typ)
		require.Error(t, err, "%v", c.typ)
		assert.Contains(t, err.Error(), c.want, "%v", c.typ)
		_, err = OfType(c.typ)
		require.Error(t, err)
	}
}

// TestLikeJSONSchemaGo: where this package does not differ on purpose, inference
// gives what jsonschema-go gives.
func TestLikeJSONSchemaGo(t *testing.T) {
	type deep struct {
		A string             `json:"a" jsonschema:"first"`
		B map[string]point   `json:"b,omitempty"`
		C [2]point           `json:"c"`
		D map[string]float64 `json:"d"`
		E int16              `json:"e,omitempty"`
		base
	}
	for _, typ := range []reflect.Type{reflect.TypeFor[deep](), reflect.TypeFor[point](), reflect.TypeFor[map[string]deep]()} {
		ours, err := ForType(typ)
		require.NoError(t, err)
		theirs, err := jsonschema.ForType(typ, nil)
		require.NoError(t, err)
		text, err := json.Marshal(theirs)
		require.NoError(t, err)
		assert.JSONEq(t, string(text), string(ours))
	}
}

// TestFieldsLikeEncodingJSON: the keys of a struct are those that encoding/json uses.
func TestFieldsLikeEncodingJSON(t *testing.T) {
	type a struct{ X, Y, Z int }
	type b struct {
		X int
		Y int `json:"Y"`
	}
	type c struct {
		a
		b
		Z string `json:"zz"`
	}
	type d struct {
		*c
		Q int `json:"q,omitempty"`
	}
	odd := reflect.StructOf([]reflect.StructField{ // tags that vet would not let pass
		{Name: "A", Type: reflect.TypeFor[int](), Tag: `json:"-,"`},
		{Name: "C", Type: reflect.TypeFor[int](), Tag: `json:"-"`},
		{Name: "D", Type: reflect.TypeFor[int](), Tag: `json:",omitempty"`},
		{Name: "E", Type: reflect.TypeFor[int](), Tag: `json:"ü %"`},
	})
	oddValue := reflect.New(odd).Elem()
	oddValue.Field(2).SetInt(1)
	for _, v := range []any{a{}, c{}, d{c: &c{}}, struct {
		a
		A a
	}{}, struct{ base }{}, oddValue.Interface()} {
		text, err := json.Marshal(v)
		require.NoError(t, err)
		tree := parseText(string(text))
		var keys []string
		for _, f := range jsonFields(reflect.TypeOf(v)) {
			if f.name != "q" {
				keys = append(keys, f.name)
			}
		}
		var want []string
		for _, m := range tree.members {
			if m.key != "q" {
				want = append(want, m.key)
			}
		}
		if _, ok := v.(struct{ base }); ok {
			want = append(want, "note") // empty, and so left out of the text
		}
		assert.Equal(t, want, keys, "%T", v)
	}
}

// TestRecursion: trees go in and out, on the quick way too.
func TestRecursion(t *testing.T) {
	s := must[tree](t)
	require.NotNil(t, s.program)
	var v tree
	_, err := s.Decode([]byte(`{"name":"a","children":[{"name":"b","children":[{"name":"c"}]},{"name":"d"}]}`), &v, nil)
	require.NoError(t, err)
	assert.Equal(t, "c", v.Children[0].Children[0].Name)
	_, err = s.Decode([]byte(`{"name":"a","children":[{"name":"b","byName":{"x/y":{"name":1}}}]}`), &v, nil)
	assert.Equal(t, []string{"/children/0/byName/x~1y/name: want string, got number 1"}, issuesOf(t, err))

	input := `{"name":"x"}`
	for range 300 {
		input = `{"name":"x","children":[` + input + `]}`
	}
	_, err = s.Decode([]byte(input), &v, nil)
	require.NoError(t, err, "deeper than the program goes")
}

func TestBind(t *testing.T) {
	type in struct {
		Path string `json:"path" alias:"file_path"`
		N    int8   `json:"n"`
		At   struct {
			Line int `json:"line" alias:"l"`
		} `json:"at"`
		Tags []string `json:"tags"`
	}
	doc := `{"type":"object","properties":{"path":{"type":"string"},"n":{"type":"integer"},"at":{"type":"object","properties":{"line":{"type":"integer"}}},"tags":{"type":["array","null"],"items":{"type":"string"}}},"required":["path"]}`
	s, err := Bind(json.RawMessage(doc), reflect.TypeFor[in]())
	require.NoError(t, err)
	assert.Equal(t, doc, string(s.JSON()))
	var v in
	repairs, err := s.Decode([]byte(`{"file_path":"a","n":100,"at":{"l":3},"tags":null}`), &v, nil)
	require.NoError(t, err)
	assert.Equal(t, "a", v.Path)
	assert.Equal(t, 3, v.At.Line)
	assert.Len(t, repairs, 2)
	_, err = s.Decode([]byte(`{"path":"a","n":200}`), &v, nil)
	assert.Equal(t, []string{"/n: want integer <= 127, got number 200"}, issuesOf(t, err), "the schema allows it, the type does not")
	_, err = s.Decode([]byte(`{"path":"a","at":{"line":"x"}}`), &v, nil)
	assert.Equal(t, []string{`/at/line: want integer, got string "x"`}, issuesOf(t, err))

	s, err = Bind(nil, reflect.TypeFor[point]())
	require.NoError(t, err)
	assert.Contains(t, string(s.JSON()), `"line"`)
	_, err = Bind(json.RawMessage(`{"properties":{"path":{"type":"integer"}}}`), reflect.TypeFor[in]())
	require.NoError(t, err)
	assert.True(t, must[point](t).IsObject())
	assert.False(t, must[[]point](t).IsObject())
}
