package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

type point struct {
	Line int `json:"line"`
	Col  int `json:"col,omitempty"`
}

// matrix is the struct of the bad-input matrix: one of each thing that models
// get wrong, and one type that is used twice.
type matrix struct {
	Path  string            `json:"path"`
	Limit int               `json:"limit,omitempty"`
	Tags  []string          `json:"tags,omitempty"`
	At    *point            `json:"at,omitempty"`
	To    *point            `json:"to,omitempty"`
	Env   map[string]string `json:"env,omitempty"`
}

// must returns the schema of T.
func must[T any](t testing.TB) *Schema {
	t.Helper()
	s, err := Of[T]()
	require.NoError(t, err)
	return s
}

// issuesOf returns the issues of an error as lines.
func issuesOf(t testing.TB, err error) []string {
	t.Helper()
	var e *Error
	require.ErrorAs(t, err, &e)
	require.ErrorIs(t, err, ErrInvalid)
	var lines []string
	for _, i := range e.Issues {
		lines = append(lines, i.String())
	}
	return lines
}

func TestBadInputMatrix(t *testing.T) {
	s := must[matrix](t)
	for _, c := range []struct {
		name, input string
		want        matrix
		issues      []string
		example     string
		repairs     string
	}{
		{name: "clean", input: `{"path":"a"}`, want: matrix{Path: "a"}},
		{name: "missing required", input: `{"limit":1}`, issues: []string{"/path: want string, got nothing (required)"}, example: `{"path":"<path>","limit":1}`},
		{name: "null for required", input: `{"path":null}`, issues: []string{"/path: want string, got null"}, example: `{"path":"<path>"}`},
		{name: "null for optional", input: `{"path":"a","limit":null,"tags":null,"at":null}`, want: matrix{Path: "a"}},
		{name: "wrong type", input: `{"path":5}`, issues: []string{"/path: want string, got number 5"}, example: `{"path":"<path>"}`},
		{
			name: "several problems", input: `{"limit":"x","tags":3,"at":{"col":1}}`,
			issues: []string{
				"/path: want string, got nothing (required)", "/at/line: want integer, got nothing (required)",
				`/limit: want integer, got string "x"`, "/tags: want array of strings, got number 3",
			},
			example: `{"path":"<path>","at":{"line":1,"col":1}}`,
		},
		{
			name: "unknown field", input: `{"path":"a","colour":1}`,
			issues:  []string{`/colour: unknown key; legal keys: "path", "limit", "tags", "at", "to", "env"`},
			example: `{"path":"a"}`,
		},
		{
			name: "Path for path", input: `{"Path":"a"}`,
			issues: []string{
				"/path: want string, got nothing (required)",
				`/Path: unknown key; did you mean "path"? legal keys: "path", "limit", "tags", "at", "to", "env"`,
			},
			example: `{"path":"a"}`,
		},
		{name: "nested missing", input: `{"path":"a","at":{}}`, issues: []string{"/at/line: want integer, got nothing (required)"}, example: `{"path":"a","at":{"line":1}}`},
		{name: "nested missing, type used twice", input: `{"path":"a","to":{}}`, issues: []string{"/to/line: want integer, got nothing (required)"}, example: `{"path":"a","to":{"line":1}}`},
		{name: "string for int", input: `{"path":"a","limit":"10"}`, want: matrix{Path: "a", Limit: 10}, repairs: `/limit: "10" became 10 (integer)`},
		{name: "string for array", input: `{"path":"a","tags":"[\"x\"]"}`, want: matrix{Path: "a", Tags: []string{"x"}}, repairs: `/tags: "[\"x\"]" became ["x"] (decoded)`},
		{name: "object as string", input: `"{\"path\":\"a\"}"`, want: matrix{Path: "a"}, repairs: `input: "{\"path\":\"a\"}" became {"path":"a"} (decoded)`},
		{name: "10.0 for int", input: `{"path":"a","limit":10.0}`, want: matrix{Path: "a", Limit: 10}},
		{name: "1e2 for int", input: `{"path":"a","limit":1e2}`, want: matrix{Path: "a", Limit: 100}},
		{name: "beyond 2^53", input: `{"path":"a","limit":9007199254740993}`, want: matrix{Path: "a", Limit: 9007199254740993}},
		{name: "beyond 2^53 on the slow way", input: `{"path":"a","limit":9007199254740993,"at":{"line":9007199254740993.0}}`, want: matrix{Path: "a", Limit: 9007199254740993, At: &point{Line: 9007199254740993}}},
		{name: "out of range", input: `{"path":"a","limit":9223372036854775808}`, issues: []string{"/limit: want integer <= 9223372036854775807, got number 9223372036854775808"}, example: `{"path":"a"}`},
		{name: "empty arguments", input: ``, issues: []string{"/path: want string, got nothing (required)"}, example: `{"path":"<path>"}`},
		{name: "twice, the last counts whole", input: `{"path":"a","at":{"line":1},"at":{"line":2},"path":"b"}`, want: matrix{Path: "b", At: &point{Line: 2}}},
		{name: "array for the whole", input: `[1]`, issues: []string{"input: want object, got array of 1 item"}, example: `{"path":"<path>"}`},
		{name: "NUL in a string", input: `{"path":"a\u0000b"}`, want: matrix{Path: "a\x00b"}},
		{name: "invalid UTF-8", input: "{\"path\":\"a\xff\xfeb\"}", want: matrix{Path: "a\ufffd\ufffdb"}},
		{name: "lone surrogate", input: `{"path":"\ud800x"}`, want: matrix{Path: "\ufffdx"}},
		{name: "blanks around", input: " \n{\"path\" : \"a\" }\t", want: matrix{Path: "a"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, s := range []*Schema{s, slow(s)} {
				var got matrix
				repairs, err := s.Decode([]byte(c.input), &got, nil)
				assert.Equal(t, c.want, got)
				if c.issues == nil {
					require.NoError(t, err)
					var lines []string
					for _, r := range repairs {
						lines = append(lines, r.String())
					}
					assert.Equal(t, c.repairs, strings.Join(lines, "; "))
					continue
				}
				assert.Equal(t, c.issues, issuesOf(t, err))
				var e *Error
				require.ErrorAs(t, err, &e)
				assert.Equal(t, c.example, string(e.Example))
				assert.Empty(t, repairs)
			}
		})
	}
}

func TestEmptyInput(t *testing.T) {
	type in struct {
		Depth int `json:"depth" default:"3"`
	}
	s := must[in](t)
	for _, input := range []string{"", " \n", "{}", "null", `{"depth":null}`, `"{}"`} {
		var got in
		_, err := s.Decode([]byte(input), &got, nil)
		require.NoError(t, err, input)
		assert.Equal(t, in{3}, got, input)
		out, _, err := s.Prepare([]byte(input), nil)
		require.NoError(t, err, input)
		assert.JSONEq(t, `{"depth":3}`, string(out), input)
	}
}

// TestThreeMistakes: all of them are named, every time in the same words.
func TestThreeMistakes(t *testing.T) {
	type in struct {
		A int    `json:"a"`
		B string `json:"b"`
		C bool   `json:"c"`
		D string `json:"d" enum:"x,y"`
	}
	s := must[in](t)
	texts := map[string]int{}
	for range 100 {
		var v in
		_, err := s.Decode([]byte(`{"a":"one","b":2,"d":"z","e":0}`), &v, nil)
		texts[err.Error()]++
	}
	assert.Equal(t, map[string]int{
		"input does not fit the schema:\n" +
			"- /c: want boolean, got nothing (required)\n" +
			"- /a: want integer, got string \"one\"\n" +
			"- /b: want string, got number 2\n" +
			"- /d: want one of \"x\", \"y\", got string \"z\"\n" +
			"- /e: unknown key; legal keys: \"a\", \"b\", \"c\", \"d\"": 100,
	}, texts)
}

// TestWhichEdit: the position in a list is part of the path, and lists of more
// than ten are in the order of numbers.
func TestWhichEdit(t *testing.T) {
	s := must[editArgs](t)
	var v editArgs
	_, err := s.Decode(editInput("7"), &v, nil)
	assert.Equal(t, []string{"/edits/19/new: want string, got number 7"}, issuesOf(t, err))

	var b strings.Builder
	for range 12 {
		b.WriteString(`,{"old":1,"new":""}`)
	}
	_, err = s.Decode([]byte(`{"path":"a","edits":[`+b.String()[1:]+`]}`), &v, nil)
	lines := issuesOf(t, err)
	require.Len(t, lines, 12)
	assert.True(t, strings.HasPrefix(lines[2], "/edits/2/old"), lines[2])
	assert.True(t, strings.HasPrefix(lines[10], "/edits/10/old"), lines[10])
}

func TestCutOff(t *testing.T) {
	s := must[matrix](t)
	for _, input := range []string{
		`{"path":"a`, `{"path":"a\`, `{"path":"a\u12`, `{"path":"a"`, `{"path":"a",`, `{"path":`, `{"path"`, `{"pa`, `{`,
		`{"a":[1,2`, `{"a":[1,2]`, `{"a":tr`, `{"a":nul`, `{"a":-`, `{"a":1.`, `{"a":1e`, `{"a":1`, `[`, `"{\"path\":\"a`, `"{\"path\":\"a"`,
	} {
		var v matrix
		_, err := s.Decode([]byte(input), &v, nil)
		var e *Error
		require.ErrorAs(t, err, &e, input)
		assert.True(t, e.CutOff, input)
		assert.Empty(t, e.Issues, input)
		assert.ErrorIs(t, err, ErrInvalid)
	}
	for _, input := range []string{
		`{"path":"a"}}`, `{"path":"a"} and more`, `{path:"a"}`, `{"path":'a'}`, `{"a":trx`, `{"a":01}`, `{"a":1.x}`, `{"a" 1}`, `{"a":1,}`, `[1 2]`,
		"{\"path\":\"a\nb\"}", `{"path":"\x"}`, `{"path":"\u12x4"}`, `nonsense`, `{"path":"a"` + "\x00", strings.Repeat("[", 2000),
	} {
		var v matrix
		_, err := s.Decode([]byte(input), &v, nil)
		var e *Error
		require.ErrorAs(t, err, &e, input)
		assert.False(t, e.CutOff, input)
		assert.Error(t, e.Err, input)
	}
	var v matrix
	_, err := s.Decode([]byte(`{"path":"a"} and more`), &v, nil)
	assert.EqualError(t, err, `input does not fit the schema: invalid JSON at byte 14: "and more" after the end of the value`)
	_, err = s.Decode([]byte(`{"path":"a`), &v, nil)
	assert.EqualError(t, err, "input does not fit the schema: JSON ends too early, after 10 bytes")
}

// TestGoTypes: what a Go type cannot hold is an issue with a path, never a changed value.
func TestGoTypes(t *testing.T) {
	type in struct {
		I8   int8                   `json:"i8,omitempty"`
		U8   uint8                  `json:"u8,omitempty"`
		U    uint64                 `json:"u,omitempty"`
		F    float32                `json:"f,omitempty"`
		When time.Time              `json:"when,omitzero"`
		Big  *big.Int               `json:"big,omitempty"`
		Raw  json.RawMessage        `json:"raw,omitempty"`
		Num  json.Number            `json:"num,omitempty"`
		Keys map[int]string         `json:"keys,omitempty"`
		List []*point               `json:"list,omitempty"`
		Time map[string][]time.Time `json:"time,omitempty"`
		Q    int                    `json:"q,string,omitempty"`
	}
	s := must[in](t)
	for input, want := range map[string]string{
		`{"i8":128}`:                 "/i8: want integer >= -128 and <= 127, got number 128",
		`{"i8":1.28e2}`:              "/i8: want integer >= -128 and <= 127, got number 1.28e2",
		`{"u8":-1}`:                  "/u8: want integer >= 0 and <= 255, got number -1",
		`{"u":18446744073709551616}`: "/u: want integer <= 18446744073709551615, got number 18446744073709551616",
		`{"u":1e30}`:                 "/u: want integer <= 18446744073709551615, got number 1e30",
		`{"u":1e999}`:                "/u: want number within the range of a 64-bit float, got number 1e999",
		`{"f":1e300}`:                "/f: want number within the range of a 32-bit float, got number 1e300",
		`{"when":"yesterday"}`:       `/when: want string (date-time), got string "yesterday"`,
		`{"time":{"a":["2025-01-31T12:00:00Z","x"]}}`: `/time/a/1: want string (date-time), got string "x"`,
		`{"keys":{"x":"y"}}`:                          `/keys: want object, got object with "x" (cannot unmarshal number x into Go`,
		`{"q":"x"}`:                                   `/q: want string, got string "x" (cannot unmarshal string into Go value of type int)`,
		`{"raw":1e400}`:                               "/raw: want number within the range of a 64-bit float, got number 1e400",
	} {
		var v in
		_, err := s.Decode([]byte(input), &v, nil)
		lines := issuesOf(t, err)
		require.Len(t, lines, 1, input)
		assert.True(t, strings.HasPrefix(lines[0], want), "%s\nwant %s\ngot  %s", input, want, lines[0])
		assert.Zero(t, v)
	}
	var v in
	_, err := s.Decode([]byte(`{"i8":-128,"u8":2.55e2,"u":18446744073709551615,"f":0.5,"when":"2025-01-31T12:00:00Z","big":123456789012345678901234567890.0,`+
		`"raw":{"n":9007199254740993.10},"num":1.50,"keys":{"7":"x"},"list":[{"line":1.0}],"q":"12"}`), &v, nil)
	require.NoError(t, err)
	assert.Equal(t, int8(-128), v.I8)
	assert.Equal(t, uint8(255), v.U8)
	assert.Equal(t, uint64(18446744073709551615), v.U)
	assert.Equal(t, "123456789012345678901234567890", v.Big.String())
	assert.Equal(t, `{"n":9007199254740993.10}`, string(v.Raw))
	assert.Equal(t, json.Number("1.50"), v.Num)
	assert.Equal(t, map[int]string{7: "x"}, v.Keys)
	assert.Equal(t, []*point{{Line: 1}}, v.List)
	assert.Equal(t, 12, v.Q)
}

// TestExampleOfType: the example of a misfit has a value that the type takes.
func TestExampleOfType(t *testing.T) {
	type in struct {
		When time.Time   `json:"when"`
		Also []time.Time `json:"also,omitempty"`
		P    picky       `json:"p,omitempty"`
	}
	s := must[in](t)
	var v in
	_, err := s.Decode([]byte(`{"when":"soon","also":["2024-02-29T00:00:00Z","x"],"p":"boom"}`), &v, nil)
	var e *Error
	require.ErrorAs(t, err, &e)
	assert.Len(t, e.Issues, 3)
	assert.Equal(t, `{"when":"2025-01-31T12:00:00Z","also":["2024-02-29T00:00:00Z","2025-01-31T12:00:00Z"]}`, string(e.Example))
}

// TestLargeInput: repair reaches the end of a long list.
func TestLargeInput(t *testing.T) {
	type in struct {
		Points []point `json:"points"`
	}
	s := must[in](t)
	var b strings.Builder
	const n = 60_000
	for i := range n {
		b.WriteString(`,{"line":"` + strconv.Itoa(i) + `","col":null}`)
	}
	var v in
	repairs, err := s.Decode([]byte(`{"points":[`+b.String()[1:]+`]}`), &v, nil)
	require.NoError(t, err)
	assert.Len(t, repairs, n)
	assert.Equal(t, n-1, v.Points[n-1].Line)
}

// TestDecodeReplaces: nothing is left of what was there, whichever way is taken.
func TestDecodeReplaces(t *testing.T) {
	s := must[matrix](t)
	for _, input := range []string{`{"path":"a"}`, `{"path":"a","limit":null}`, `{"path":"a","path":"a"}`} {
		v := matrix{Path: "old", Limit: 7, Tags: []string{"x"}, At: &point{1, 2}, Env: map[string]string{"A": "B"}}
		_, err := s.Decode([]byte(input), &v, nil)
		require.NoError(t, err)
		assert.Equal(t, matrix{Path: "a"}, v, input)
	}
}

// TestOpenObject: where other keys are allowed, one that differs from a field in
// case only still does not fill it.
func TestOpenObject(t *testing.T) {
	s, err := Bind(json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"},"at":{"type":"object"}}}`), reflect.TypeFor[matrix]())
	require.NoError(t, err)
	for _, s := range []*Schema{s, slow(s)} {
		var v matrix
		_, err = s.Decode([]byte(`{"Path":"a","PATH":"b","other":1,"Limit":3,"at":{"Line":4}}`), &v, nil)
		require.NoError(t, err)
		assert.Equal(t, matrix{At: &point{}}, v)
	}
}

func TestDecodeInto(t *testing.T) {
	s := must[matrix](t)
	var m map[string]any
	_, err := s.Decode([]byte(`{"path":"a","limit":"5"}`), &m, nil)
	require.NoError(t, err)
	assert.Equal(t, map[string]any{"path": "a", "limit": 5.0}, m)

	var other struct {
		Path  string
		Limit int16 `json:"limit"`
	}
	_, err = s.Decode([]byte(`{"path":"a","limit":5.0}`), &other, nil)
	require.NoError(t, err)
	assert.Equal(t, int16(5), other.Limit)
	assert.Empty(t, other.Path, "the field's key is Path")

	var raw json.RawMessage
	_, err = s.Decode([]byte(`{"path":"a","limit":5.0}`), &raw, nil)
	require.NoError(t, err)
	assert.Equal(t, `{"path":"a","limit":5.0}`, string(raw))

	for _, dst := range []any{nil, matrix{}, (*matrix)(nil), 5} {
		_, err = s.Decode([]byte(`{"path":"a"}`), dst, nil)
		require.Error(t, err)
		assert.NotErrorIs(t, err, ErrInvalid)
	}
	v := matrix{Path: "old"}
	_, err = s.Decode([]byte(`{"path":1}`), &v, nil)
	require.Error(t, err)
	assert.Zero(t, v, "after an error there is nothing to be used by mistake")
}

func TestPrepareKeepsBytes(t *testing.T) {
	s := must[matrix](t)
	for _, input := range []string{`{"path":"a"}`, ` {"path": "a" , "limit": 10.0} `, `{"path":"\u00e9\ud800","env":{"A":"b"}}`} {
		in := []byte(input)
		out, repairs, err := s.Prepare(in, nil)
		require.NoError(t, err)
		assert.Empty(t, repairs)
		assert.Same(t, &in[0], &out[0], "nothing had to change")
	}
	out, _, err := s.Prepare([]byte(`{"path" : "a", "limit":"9007199254740993", "env":{ "A":"b"}}`), nil)
	require.NoError(t, err)
	assert.Equal(t, `{"path":"a","limit":9007199254740993,"env":{ "A":"b"}}`, string(out), "what did not change keeps its text")
	out, _, err = s.Prepare([]byte("{\"path\":\"a\xff\"}"), nil)
	require.NoError(t, err)
	assert.Equal(t, "{\"path\":\"a\ufffd\"}", string(out))
	out, _, err = s.Prepare([]byte(`{"path":"a","path":"b"}`), nil)
	require.NoError(t, err)
	assert.Equal(t, `{"path":"b"}`, string(out))
}

func TestDefaults(t *testing.T) {
	type sub struct {
		Wide bool `json:"wide" default:"true"`
		Line int  `json:"line,omitempty"`
	}
	type in struct {
		Path  string   `json:"path"`
		Limit int      `json:"limit" default:"100"`
		Mode  *string  `json:"mode,omitempty" default:"fast"`
		Tags  []string `json:"tags" default:"[\"a\",\"b\"]"`
		Sub   *sub     `json:"sub,omitempty"`
		Subs  []sub    `json:"subs,omitempty"`
	}
	s := must[in](t)
	require.NotNil(t, s.program)
	assert.NotContains(t, string(s.JSON()), `"required":["path","limit"`)
	fast := "fast"
	for input, want := range map[string]in{
		`{"path":"a"}`:                                    {Path: "a", Limit: 100, Mode: &fast, Tags: []string{"a", "b"}},
		`{"path":"a","limit":0,"tags":[]}`:                {Path: "a", Mode: &fast, Tags: []string{}},
		`{"path":"a","limit":null}`:                       {Path: "a", Limit: 100, Mode: &fast, Tags: []string{"a", "b"}},
		`{"path":"a","tags":null} `:                       {Path: "a", Limit: 100, Mode: &fast, Tags: []string{"a", "b"}},
		`{"path":"a","sub":{}}`:                           {Path: "a", Limit: 100, Mode: &fast, Tags: []string{"a", "b"}, Sub: &sub{Wide: true}},
		`{"path":"a","subs":[{"wide":false},{"line":1}]}`: {Path: "a", Limit: 100, Mode: &fast, Tags: []string{"a", "b"}, Subs: []sub{{}, {true, 1}}},
	} {
		for _, s := range []*Schema{s, slow(s)} {
			var got in
			repairs, err := s.Decode([]byte(input), &got, &Options{Strict: true})
			require.NoError(t, err, input)
			assert.Equal(t, want, got, input)
			assert.Empty(t, repairs, "a default repairs no mistake")
		}
	}
}

// TestDefaultsOfSchema: of a schema that is given, a default is used where it is
// valid and makes nothing invalid.
func TestDefaultsOfSchema(t *testing.T) {
	for _, c := range [][3]string{
		{`{"properties":{"a":{"default":1},"b":{"type":"string","default":2},"c":{"default":3}},"required":["c"]}`, `{"c":0}`, `{"c":0,"a":1}`},
		{`{"properties":{"a":{"default":1},"b":{}},"maxProperties":1}`, `{"b":0}`, `{"b":0}`},
		{`{"properties":{"a":{"properties":{"b":{"default":1}}}}}`, `{}`, `{}`},
		{`{"properties":{"a":{"properties":{"b":{"default":1}},"default":{}}}}`, `{}`, `{"a":{"b":1}}`},
		{`{"properties":{"a":{"$ref":"#/$defs/d"}},"$defs":{"d":{"type":"integer","default":7}}}`, `{}`, `{"a":7}`},
		{`{"properties":{"a":{"$ref":"#/$defs/d","default":8}},"$defs":{"d":{"type":"integer","default":7}}}`, `{}`, `{"a":8}`},
		{`{"allOf":[{"properties":{"a":{"default":1}}}],"required":["a"]}`, `{"a":2}`, `{"a":2}`},
		{`{"type":"object","properties":{"a":{"default":"x"},"b":{"default":"y","type":"string"}},"additionalProperties":false}`, ` { } `, ` {"a":"x","b":"y"}`},
	} {
		s, err := Compile(json.RawMessage(c[0]))
		require.NoError(t, err)
		out, _, err := s.Prepare([]byte(c[1]), nil)
		require.NoError(t, err, c[0])
		assert.JSONEq(t, c[2], string(out), c[0])
	}
}

func TestConcurrentUse(t *testing.T) {
	s := must[lenient](t)
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 50 {
				var v lenient
				input := inputSeeds[(g+i)%len(inputSeeds)]
				_, err := s.Decode([]byte(input), &v, nil)
				_, _, err2 := s.Prepare([]byte(input), nil)
				if err == nil && err2 != nil {
					t.Errorf("%s: %v", input, err2)
				}
			}
		})
	}
	wg.Wait()
}

// TestNullWithUnmarshaler: a type that reads JSON itself is not given the null
// that stands for absent.
func TestNullWithUnmarshaler(t *testing.T) {
	type in struct {
		P picky `json:"p,omitzero"`
	}
	s := must[in](t)
	var v in
	_, err := s.Decode([]byte(`{"p":null}`), &v, nil)
	require.NoError(t, err)
	_, err = s.Decode([]byte(`{"p":"boom"}`), &v, nil)
	assert.Equal(t, []string{`/p: want string, got string "boom" (no boom)`}, issuesOf(t, err))
}

type picky string

func (p *picky) UnmarshalJSON(b []byte) error {
	if string(b) == "null" || string(b) == `"boom"` {
		return errors.New("no boom")
	}
	*p = picky(b)
	return nil
}

func TestManyIssues(t *testing.T) {
	type in struct {
		Tags []string `json:"tags"`
	}
	s := must[in](t)
	var v in
	_, err := s.Decode([]byte(`{"tags":[`+strings.Repeat("1,", 5000)+`1]}`), &v, nil)
	assert.Len(t, issuesOf(t, err), 100)
	secret := strings.Repeat("s", 5000)
	_, err = s.Decode([]byte(`{"tags":"`+secret+`","`+secret+`":{"`+secret+`":1}}`), &v, &Options{Strict: true})
	var e *Error
	require.ErrorAs(t, err, &e)
	for _, i := range e.Issues {
		assert.Less(t, len(i.Got), 300)
		assert.Less(t, len(i.Want), 300)
	}
	assert.Less(t, len(e.Example), maxExample+1)
}

// TestManyUnknownKeys: naming the nearest key stays cheap.
func TestManyUnknownKeys(t *testing.T) {
	var props, keys strings.Builder
	for i := range 1500 {
		fmt.Fprintf(&props, `,"property_number_%d_of_very_many":{"type":"string"}`, i)
		fmt.Fprintf(&keys, `,"propperty_number_%d_of_too_many":1`, i)
	}
	s, err := Compile(json.RawMessage(`{"type":"object","properties":{` + props.String()[1:] + `},"additionalProperties":false}`))
	require.NoError(t, err)
	start := time.Now()
	err = s.Validate([]byte(`{` + keys.String()[1:] + `}`))
	assert.Len(t, issuesOf(t, err), 100)
	assert.Less(t, time.Since(start), 10*time.Second)
}

// TestAllocations are the hard gates on the quick way.
func TestAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	check := func(name string, most float64, f func()) {
		t.Helper()
		n := testing.AllocsPerRun(100, f)
		assert.LessOrEqual(t, n, most, name)
	}
	read, edit, full := must[readArgs](t), must[editArgs](t), must[fullArgs](t)
	edits, large := editInput(""), bigInput()
	// The value itself, and one piece of memory for all its strings; for edit the
	// list as well.
	check("read", 2, func() { var v readArgs; _, _ = read.Decode(readInput, &v, nil) })
	check("read with aliases and defaults", 2, func() { var v fullArgs; _, _ = full.Decode(readInput, &v, nil) })
	check("64 KB", 2, func() { var v readArgs; _, _ = read.Decode(large, &v, nil) })
	check("edit", 4, func() { var v editArgs; _, _ = edit.Decode(edits, &v, nil) })
	check("prepare", 0, func() { _, _, _ = edit.Prepare(edits, nil) })
	check("validate", 0, func() { _ = edit.Validate(edits) })
}

// TestExactIntegers: integers that a float64 rounds are told apart in enum and const,
// wherever these stand, and by Decode, Prepare and Validate alike.
func TestExactIntegers(t *testing.T) {
	const big, next = "9007199254740993", "9007199254740992"
	for doc, inputs := range map[string][2]string{
		`{"type":"object","properties":{"n":{"enum":[` + big + `,18446744073709551615]}}}`:                                                {`{"n":%s}`, `{"n":18446744073709551615}`},
		`{"type":"object","properties":{"n":{"type":"integer","const":` + big + `}}}`:                                                     {`{"n":%s}`, `{"n":9007199254740993.0}`},
		`{"type":"object","properties":{"n":{"type":"array","items":{"enum":[` + big + `]}}}}`:                                            {`{"n":[%s]}`, `{"n":[9.007199254740993e15]}`},
		`{"type":"object","properties":{"n":{"enum":[{"x":[` + big + `]},1]}}}`:                                                           {`{"n":{"x":[%s]}}`, `{"n":1}`},
		`{"type":"object","properties":{"n":{"$ref":"#/$defs/d"}},"$defs":{"d":{"anyOf":[{"enum":[` + big + `]},{"type":"string"}]}}}`:    {`{"n":%s}`, `{"n":"x"}`},
		`{"type":"object","patternProperties":{"^n":{"not":{"enum":[` + next + `]}}}}`:                                                    {`{"n":%s}`, `{"n":1}`},
		`{"type":"object","properties":{"n":{"prefixItems":[{"const":-` + big + `}]}},"additionalProperties":{"enum":[` + big + `,"x"]}}`: {`{"m":%s}`, `{"n":[-9007199254740993]}`},
	} {
		s, err := Compile(json.RawMessage(doc))
		require.NoError(t, err, doc)
		good, bad := fmt.Sprintf(inputs[0], big), fmt.Sprintf(inputs[0], next)
		for _, in := range []string{good, inputs[1]} {
			require.NoError(t, s.Validate([]byte(in)), "%s %s", doc, in)
			out, _, err := s.Prepare([]byte(in), nil)
			require.NoError(t, err)
			require.Equal(t, in, string(out))
		}
		require.Error(t, s.Validate([]byte(bad)), "%s %s", doc, bad)
		_, _, err = s.Prepare([]byte(bad), nil)
		require.Error(t, err)
	}
}
