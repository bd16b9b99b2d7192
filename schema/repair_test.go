package schema

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestRepair(t *testing.T) {
	for _, c := range []struct {
		name, schema, input string
		want                string // "" = refused
		repairs             string
	}{
		// What is not to be touched.
		{"string under string", `{"properties":{"a":{"type":"string"}}}`, `{"a":"[1]"}`, `{"a":"[1]"}`, ""},
		{"string allowed beside", `{"properties":{"a":{"type":["integer","string"]}}}`, `{"a":"12"}`, `{"a":"12"}`, ""},
		{"string allowed by a branch", `{"properties":{"a":{"anyOf":[{"type":"integer"},{"type":"string"}]}}}`, `{"a":"12"}`, `{"a":"12"}`, ""},
		{"anything allowed", `{"properties":{"a":{}}}`, `{"a":"12"}`, `{"a":"12"}`, ""},
		{"number under string", `{"properties":{"a":{"type":"string"}}}`, `{"a":713}`, "", ""},
		{"number for boolean", `{"properties":{"a":{"type":"boolean"}}}`, `{"a":1}`, "", ""},
		{"null for required", `{"properties":{"a":{"type":"integer"}},"required":["a"]}`, `{"a":null}`, "", ""},
		{"null is never wrapped", `{"properties":{"a":{"type":"array"}},"required":["a"]}`, `{"a":null}`, "", ""},

		// Numbers and booleans.
		{"integer", `{"properties":{"a":{"type":"integer"}}}`, `{"a":"12"}`, `{"a":12}`, `/a: "12" became 12 (integer)`},
		{"negative", `{"properties":{"a":{"type":"integer"}}}`, `{"a":"-12"}`, `{"a":-12}`, `/a: "-12" became -12 (integer)`},
		{"beyond 2^53", `{"properties":{"a":{"type":"integer"}}}`, `{"a":"9007199254740993"}`, `{"a":9007199254740993}`, `/a: "9007199254740993" became 9007199254740993 (integer)`},
		{"exact", `{"properties":{"a":{"type":"integer"}}}`, `{"a":"1e3"}`, `{"a":1e3}`, `/a: "1e3" became 1e3 (integer)`},
		{"leading zeros", `{"properties":{"a":{"type":"integer"}}}`, `{"a":"0012"}`, "", ""},
		{"blank before", `{"properties":{"a":{"type":"integer"}}}`, `{"a":" 12"}`, "", ""},
		{"plus", `{"properties":{"a":{"type":"integer"}}}`, `{"a":"+12"}`, "", ""},
		{"hexadecimal", `{"properties":{"a":{"type":"integer"}}}`, `{"a":"0x12"}`, "", ""},
		{"fraction for integer", `{"properties":{"a":{"type":"integer"}}}`, `{"a":"1.5"}`, "", ""},
		{"number", `{"properties":{"a":{"type":"number"}}}`, `{"a":"1.5e-3"}`, `{"a":1.5e-3}`, `/a: "1.5e-3" became 1.5e-3 (number)`},
		{"infinite", `{"properties":{"a":{"type":"number"}}}`, `{"a":"1e999"}`, "", ""},
		{"not a number", `{"properties":{"a":{"type":"number"}}}`, `{"a":"NaN"}`, "", ""},
		{"boolean", `{"properties":{"a":{"type":"boolean"}}}`, `{"a":"true"}`, `{"a":true}`, `/a: "true" became true (boolean)`},
		{"boolean in another case", `{"properties":{"a":{"type":"boolean"}}}`, `{"a":"True"}`, "", ""},
		{"by the text", `{"properties":{"a":{"type":["boolean","integer"]}}}`, `{"a":"1"}`, `{"a":1}`, `/a: "1" became 1 (integer)`},
		{"nullable", `{"properties":{"a":{"type":["integer","null"]}}}`, `{"a":"1"}`, `{"a":1}`, `/a: "1" became 1 (integer)`},
		{"enum of numbers", `{"properties":{"a":{"enum":[1,2]}}}`, `{"a":"2"}`, `{"a":2}`, `/a: "2" became 2 (integer)`},
		{"not in the enum", `{"properties":{"a":{"enum":[1,2]}}}`, `{"a":"3"}`, "", ""},
		{"out of bounds", `{"properties":{"a":{"type":"integer","maximum":5}}}`, `{"a":"12"}`, "", ""},

		// Objects and lists.
		{"object", `{"properties":{"a":{"type":"object"}}}`, `{"a":"{\"b\":1}"}`, `{"a":{"b":1}}`, `/a: "{\"b\":1}" became {"b":1} (decoded)`},
		{"array with blanks", `{"properties":{"a":{"type":"array"}}}`, `{"a":" [1, 2]\n"}`, `{"a":[1, 2]}`, `/a: " [1, 2]\n" became [1, 2] (decoded)`},
		{"the other kind", `{"properties":{"a":{"type":"object"}}}`, `{"a":"[1]"}`, "", ""},
		{"decoded, then inside", `{"properties":{"a":{"type":"array","items":{"type":"object","properties":{"n":{"type":"integer"},"s":{"type":"string"}}}}}}`,
			`{"a":"[{\"n\":\"1\",\"s\":\"2\"}]"}`, `{"a":[{"n":1,"s":"2"}]}`,
			`/a: "[{\"n\":\"1\",\"s\":\"2\"}]" became [{"n":"1","s":"2"}] (decoded); /a/0/n: "1" became 1 (integer)`},
		{"null inside what was decoded", `{"properties":{"a":{"type":"object","properties":{"n":{"type":"integer"}}}}}`,
			`{"a":"{\"n\":null}"}`, `{"a":{}}`, `/a: "{\"n\":null}" became {"n":null} (decoded)`},
		{"broken JSON", `{"properties":{"a":{"type":"array","items":{"type":"string"}}}}`, `{"a":"[\"x\""}`, "", ""},
		{"scalar in a list", `{"properties":{"a":{"type":"array","items":{"type":"string"}}}}`, `{"a":"x"}`, `{"a":["x"]}`, `/a: "x" became ["x"] (wrapped)`},
		{"text with a bracket in it", `{"properties":{"a":{"type":"array","items":{"type":"string"}}}}`, `{"a":"x[1]"}`, `{"a":["x[1]"]}`, `/a: "x[1]" became ["x[1]"] (wrapped)`},
		{"empty text", `{"properties":{"a":{"type":"array","items":{"type":"string"}}}}`, `{"a":""}`, "", ""},
		{"object in a list", `{"properties":{"a":{"type":"array","items":{"type":"object","required":["b"]}}}}`, `{"a":{"b":1}}`, `{"a":[{"b":1}]}`, `/a: {"b":1} became [{"b":1}] (wrapped)`},
		{"object that is no item", `{"properties":{"a":{"type":"array","items":{"type":"object","required":["b"]}}}}`, `{"a":{"c":1}}`, "", ""},
		{"item repaired", `{"properties":{"a":{"type":"array","items":{"type":"integer"}}}}`, `{"a":"5"}`, `{"a":[5]}`, `/a: "5" became ["5"] (wrapped); /a/0: "5" became 5 (integer)`},
		{"too few then", `{"properties":{"a":{"type":"array","minItems":2}}}`, `{"a":5}`, "", ""},
		{"in lists of lists", `{"properties":{"a":{"type":"array","items":{"type":"array","items":{"type":"integer"}}}}}`, `{"a":[["1"],2]}`, `{"a":[[1],[2]]}`, `/a/0/0: "1" became 1 (integer); /a/1: 2 became [2] (wrapped)`},
		{"of a map", `{"additionalProperties":{"type":"integer"}}`, `{"x":"1","y":2}`, `{"x":1,"y":2}`, `/x: "1" became 1 (integer)`},

		// Alternatives and references.
		{"one branch", `{"properties":{"a":{"anyOf":[{"type":"integer"},{"type":"null"}]}}}`, `{"a":"1"}`, `{"a":1}`, `/a: "1" became 1 (integer)`},
		{"one branch of objects", `{"properties":{"a":{"oneOf":[{"type":"object","required":["x"],"properties":{"x":{"type":"integer"}}},{"type":"object","required":["y"]}]}}}`,
			`{"a":{"x":"1"}}`, `{"a":{"x":1}}`, `/a/x: "1" became 1 (integer)`},
		{"two branches", `{"properties":{"a":{"anyOf":[{"type":"object","properties":{"x":{"type":"integer"}},"required":["x"]},{"type":"object","properties":{"x":{"type":"boolean"},"y":{"type":"integer"}},"required":["y"]}]}}}`,
			`{"a":{"x":"1","y":"2"}}`, `{"a":{"x":1,"y":"2"}}`, `/a/x: "1" became 1 (integer)`},
		{"ambiguous", `{"properties":{"a":{"oneOf":[{"type":"array","items":{"type":"integer"}},{"type":"integer"}]}}}`, `{"a":"1"}`, `{"a":1}`, `/a: "1" became 1 (integer)`},
		{"through a reference", `{"properties":{"a":{"$ref":"#/$defs/n"}},"$defs":{"n":{"type":"integer"}}}`, `{"a":"1"}`, `{"a":1}`, `/a: "1" became 1 (integer)`},
		{"through allOf", `{"allOf":[{"properties":{"a":{"type":"integer"}}},{"required":["a"]}]}`, `{"a":"1"}`, `{"a":1}`, `/a: "1" became 1 (integer)`},

		// All or nothing.
		{"one repair, one mistake", `{"properties":{"a":{"type":"integer"},"b":{"type":"integer"}}}`, `{"a":"1","b":"x"}`, "", ""},
		{"null where null is allowed", `{"properties":{"a":{"type":["integer","null"]}}}`, `{"a":null}`, `{"a":null}`, ""},
		{"null of an unknown key", `{"properties":{"a":{}},"additionalProperties":false}`, `{"b":null}`, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := Compile(json.RawMessage(`{"type":"object",` + c.schema[1:]))
			require.NoError(t, err)
			out, repairs, err := s.Prepare([]byte(c.input), nil)
			if c.want == "" {
				require.Error(t, err)
				assert.Nil(t, out)
				var e *Error
				require.ErrorAs(t, err, &e)
				// What is said is about the input as it came.
				require.NoError(t, s.Validate(e.Example), "%s", e.Example)
				assert.Equal(t, s.Validate([]byte(c.input)).(*Error).Issues, e.Issues)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, c.want, string(out))
			var lines []string
			for _, r := range repairs {
				lines = append(lines, r.String())
			}
			assert.Equal(t, c.repairs, strings.Join(lines, "; "))
			if len(repairs) > 0 {
				_, _, err = s.Prepare([]byte(c.input), &Options{Strict: true})
				require.ErrorIs(t, err, ErrInvalid)
			}
		})
	}
}

func TestAlias(t *testing.T) {
	type sub struct {
		Line int `json:"line" alias:"l"`
	}
	type in struct {
		Path string `json:"path" alias:"file_path,filePath"`
		Subs []sub  `json:"subs,omitempty"`
	}
	s := must[in](t)
	assert.NotContains(t, string(s.JSON()), "file_path")
	for _, c := range []struct{ input, want, issues, repairs string }{
		{`{"path":"a"}`, `{"path":"a"}`, "", ""},
		{`{"file_path":"a"}`, `{"path":"a"}`, "", "/path: file_path became path (alias)"},
		{`{"file_path":"a","filePath":"a"}`, `{"path":"a"}`, "", "/path: file_path became path (alias); /path: filePath became path (alias)"},
		{`{"path":"a","file_path":"a"}`, `{"path":"a"}`, "", "/path: file_path became path (alias)"},
		{`{"path":"a","file_path":null}`, `{"path":"a"}`, "", "/path: file_path became path (alias)"},
		{`{"path":null,"file_path":"a"}`, `{"path":"a"}`, "", "/path: file_path became path (alias)"},
		{`{"path":"a","file_path":"b"}`, "", `/file_path: want the same value as "path", or only one of the two keys, got string "b"`, ""},
		{`{"filePath":"a","file_path":"b"}`, "", `/filePath: want the same value as "file_path", or only one of the two keys, got string "a"`, ""},
		{`{"file_path":5}`, "", "/file_path: want string, got number 5", ""},
		{`{"path":"a","subs":[{"l":1},{"line":2}]}`, `{"path":"a","subs":[{"line":1},{"line":2}]}`, "", "/subs/0/line: l became line (alias)"},
		{`{"path":"a","subs":[{"l":"x"}]}`, "", `/subs/0/l: want integer, got string "x"`, ""},
		{`{"FILE_PATH":"a"}`, "", `/path: want string, got nothing (required); /FILE_PATH: unknown key; did you mean "path"? legal keys: "path", "subs"`, ""},
	} {
		for _, opt := range []*Options{nil, {Strict: true}} {
			out, repairs, err := s.Prepare([]byte(c.input), opt)
			if c.issues != "" {
				assert.Equal(t, c.issues, strings.Join(issuesOf(t, err), "; "), c.input)
				continue
			}
			require.NoError(t, err, c.input)
			assert.Equal(t, c.want, string(out))
			var lines []string
			for _, r := range repairs {
				lines = append(lines, r.String())
			}
			assert.Equal(t, c.repairs, strings.Join(lines, "; "), c.input)
		}
	}
}

// TestUnknownKey: the nearest legal key is named.
func TestUnknownKey(t *testing.T) {
	type in struct {
		FilePath  string `json:"filePath,omitempty"`
		OldString string `json:"oldString,omitempty"`
		NewString string `json:"newString,omitempty"`
		Command   string `json:"command,omitempty"`
		Timeout   int    `json:"timeout,omitempty"`
		Include   string `json:"include,omitempty"`
	}
	s := must[in](t)
	for key, want := range map[string]string{
		"new_str": "newString", "old_str": "oldString", "new_string": "newString", "NewString": "newString", "file-path": "filePath",
		"file": "filePath", "path": "filePath", "cmd": "command", "comand": "command", "timeuot": "timeout", "timeout_ms": "timeout", "includes": "include",
		"zzz": "", "x": "", "": "",
	} {
		input, err := json.Marshal(map[string]string{key: "v"})
		require.NoError(t, err)
		lines := issuesOf(t, s.Validate(input))
		require.Len(t, lines, 1)
		if want == "" {
			assert.NotContains(t, lines[0], "did you mean", key)
		} else {
			assert.Contains(t, lines[0], `did you mean "`+want+`"?`, key)
		}
	}
	// A key that is there already was not meant.
	lines := issuesOf(t, s.Validate([]byte(`{"newString":"a","new_str":"b","oldString":"c"}`)))
	assert.Contains(t, lines[0], `did you mean "newString"?`)
}

// TestAliasInOpenObject: where any key is allowed, an alias still is one.
func TestAliasInOpenObject(t *testing.T) {
	type in struct {
		Path string `json:"path" alias:"file_path"`
	}
	s, err := Bind(json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}}}`), reflect.TypeFor[in]())
	require.NoError(t, err)
	require.NotNil(t, s.program)
	var v in
	_, err = s.Decode([]byte(`{"file_path":"a","other":1}`), &v, nil)
	require.NoError(t, err)
	assert.Equal(t, in{"a"}, v)
	out, _, err := s.Prepare([]byte(`{"file_path":"a","other":1}`), nil)
	require.NoError(t, err)
	assert.Equal(t, `{"path":"a","other":1}`, string(out))
	_, err = s.Decode([]byte(`{"file_path":"a","path":"b"}`), &v, nil)
	require.ErrorIs(t, err, ErrInvalid)
}
