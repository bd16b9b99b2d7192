package schema

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestWords is what a model reads, keyword by keyword.
func TestWords(t *testing.T) {
	for _, c := range []struct{ schema, input, want string }{
		{`{"type":"string"}`, `null`, "input: want string, got null"},
		{`{"type":"string"}`, `true`, "input: want string, got boolean true"},
		{`{"type":["string","null"]}`, `[]`, "input: want null or string, got an empty array"},
		{`{"type":"object"}`, `"x\ny"`, `input: want object, got string "x\ny"`},
		{`{"type":"array","items":{"type":"integer"}}`, `{"a":1}`, `input: want array of integers, got object with "a"`},
		{`{"type":"integer"}`, `1.5`, "input: want integer, got number 1.5"},
		{`{"type":"number","minimum":1,"exclusiveMaximum":5}`, `5`, "input: want number >= 1 and < 5, got number 5"},
		{`{"type":"integer","exclusiveMinimum":0}`, `0`, "input: want integer > 0, got number 0"},
		{`{"type":"integer","maximum":9007199254740992}`, `9007199254740993`, "input: want integer <= 9007199254740992, got number 9007199254740993"},
		{`{"multipleOf":0.5}`, `0.7`, "input: want number a multiple of 0.5, got number 0.7"},
		{`{"type":"string","minLength":3}`, `"äö"`, "input: want string of at least 3 characters, got string of 2 characters"},
		{`{"type":"string","minLength":1}`, `""`, "input: want string of at least 1 character, got an empty string"},
		{`{"type":"string","maxLength":3,"minLength":3}`, `"abcd"`, "input: want string of exactly 3 characters, got string of 4 characters"},
		{`{"pattern":"^a+$"}`, `"b"`, `input: want string matching ^a+$, got string "b"`},
		{`{"type":"string","format":"uri"}`, `1`, `input: want string (uri), got number 1`},
		{`{"enum":["a",1,null]}`, `"b"`, `input: want one of "a", 1, null, got string "b"`},
		{`{"enum":["a"]}`, `"b"`, `input: want "a", got string "b"`},
		{`{"const":{"a":1}}`, `{"a":2}`, `input: want {"a":1}, got object with "a"`},
		{`{"properties":{"a":{"required":["b","c"]}}}`, `{"a":{}}`, "/a/b: want any value, got nothing (required)\n/a/c: want any value, got nothing (required)"},
		{`{"properties":{"a~b/c":{"type":"string"}}}`, `{"a~b/c":1}`, "/a~0b~1c: want string, got number 1"},
		{`{"properties":{"a":{}},"additionalProperties":false}`, `{"c":1,"b":2}`, "/c: unknown key; legal keys: \"a\"\n/b: unknown key; legal keys: \"a\""},
		{`{"additionalProperties":false}`, `{"c":1}`, "/c: unknown key; no keys are allowed here"},
		{`{"additionalProperties":{"type":"string"}}`, `{"c":1}`, "/c: want string, got number 1"},
		{`{"properties":{"a":false}}`, `{"a":1}`, "/a: want nothing here, got number 1"},
		{`{"patternProperties":{"^x":{"type":"string"}}}`, `{"x1":1}`, "/x1: want string, got number 1"},
		{`{"propertyNames":{"maxLength":2}}`, `{"abc":1}`, `/abc: want a key that is string of at most 2 characters, got key "abc"`},
		{`{"minProperties":2}`, `{"a":1}`, "input: want object with at least 2 keys, got 1 key"},
		{`{"maxProperties":1}`, `{"a":1,"b":2}`, "input: want object with at most 1 key, got 2 keys"},
		{`{"dependentRequired":{"a":["b"]}}`, `{"a":1}`, `/b: want a value, since "a" is given, got nothing (required)`},
		{`{"dependentSchemas":{"a":{"properties":{"b":{"type":"string"}}}}}`, `{"a":1,"b":2}`, "/b: want string, got number 2"},
		{`{"items":{"type":"string"}}`, `["a",1,"b",2]`, "/1: want string, got number 1\n/3: want string, got number 2"},
		{`{"prefixItems":[{"type":"string"}],"items":{"type":"null"}}`, `[1,null,2]`, "/0: want string, got number 1\n/2: want null, got number 2"},
		{`{"minItems":2}`, `[1]`, "input: want array of at least 2 items, got array of 1 item"},
		{`{"maxItems":1}`, `[1,2]`, "input: want array of at most 1 item, got array of 2 items"},
		{`{"uniqueItems":true}`, `[1,"a",1.0]`, "/2: want items that differ, got the same as item 0"},
		{`{"contains":{"type":"string"}}`, `[1]`, "input: want at least 1 item like string, got 0"},
		{`{"contains":{"type":"string"},"maxContains":1}`, `["a","b"]`, "input: want exactly 1 item like string, got 2"},
		{`{"unevaluatedItems":false,"prefixItems":[true]}`, `[1,2]`, "/1: want nothing here, got number 2"},
		{`{"allOf":[{"properties":{"a":{}}}],"unevaluatedProperties":false}`, `{"a":1,"b":2}`, "/b: unknown key; legal keys: \"a\""},
		{`{"anyOf":[{"type":"string"},{"type":"integer"}]}`, `true`, "input: want string or integer, got boolean true"},
		{`{"anyOf":[{"type":"object","required":["a"]},{"type":"integer"}]}`, `{}`, "/a: want any value, got nothing (required)"},
		{`{"oneOf":[{"properties":{"k":{"const":"x"},"n":{"type":"integer"}},"required":["k"]},{"properties":{"k":{"const":"y"},"n":{"type":"string"}},"required":["k"]}]}`, `{"k":"y","n":1}`, "/n: want string, got number 1"},
		{`{"oneOf":[{"type":"integer"},{"minimum":1}]}`, `3`, "input: want exactly one of the alternatives, got a value that fits alternatives 1 and 2"},
		{`{"not":{"type":"string"}}`, `"a"`, `input: want anything but string, got string "a"`},
		{`{"if":{"required":["a"]},"then":{"required":["b"]},"else":{"required":["c"]}}`, `{"a":1}`, "/b: want any value, got nothing (required)"},
		{`{"if":{"required":["a"]},"then":{"required":["b"]},"else":{"required":["c"]}}`, `{}`, "/c: want any value, got nothing (required)"},
		{`{"$ref":"#/$defs/a","$defs":{"a":{"type":"string"}}}`, `1`, "input: want string, got number 1"},
		{`{"allOf":[{"required":["a"]},{"required":["a"]}]}`, `{}`, "/a: want any value, got nothing (required)"},
		{`{"type":"string"}`, `-1e400`, "input: want string, got number -1e400"},
		{`{}`, `1e400`, "input: want object, got number 1e400"},
	} {
		s, err := Compile(json.RawMessage(c.schema))
		require.NoError(t, err, c.schema)
		assert.Equal(t, c.want, strings.Join(issuesOf(t, s.Validate([]byte(c.input))), "\n"), c.schema)
	}
}

func TestExample(t *testing.T) {
	for _, c := range []struct{ schema, input, want string }{
		{`{"properties":{"a":{"type":"string"},"b":{"type":"integer"}},"required":["a"]}`, `{"b":1}`, `{"a":"<a>","b":1}`},
		{`{"properties":{"a":{"type":"string","default":"d"},"b":{"enum":["x","y"]}},"required":["a","b"]}`, `{}`, `{"a":"d","b":"x"}`},
		{`{"properties":{"a":{"type":"string","examples":["src/main.go"]}},"required":["a"]}`, `{}`, `{"a":"src/main.go"}`},
		{`{"properties":{"a":{"type":"string","pattern":"^[A-Z]{2}-[0-9]+(x|y)?$"}},"required":["a"]}`, `{}`, `{"a":"AA-0"}`},
		{`{"properties":{"a":{"type":"string","format":"date-time"},"b":{"type":"string","format":"uri"}},"required":["a","b"]}`, `{}`, `{"a":"2025-01-31T12:00:00Z","b":"https://example.com/"}`},
		{`{"properties":{"a":{"type":"string","minLength":20},"b":{"type":"string","maxLength":2}},"required":["a","b"]}`, `{}`, `{"a":"xxxxxxxxxxxxxxxxxxxx","b":"a"}`},
		{`{"properties":{"a":{"type":"integer","minimum":5},"b":{"exclusiveMaximum":-3,"type":"number"},"c":{"type":"integer","multipleOf":7}},"required":["a","b","c"]}`, `{}`, `{"a":5,"b":-4,"c":0}`},
		{`{"properties":{"a":{"type":"array","minItems":3,"items":{"type":"boolean"}}},"required":["a"]}`, `{}`, `{"a":[false,false,false]}`},
		{`{"properties":{"a":{"type":"array","items":{"type":"integer"}}}}`, `{"a":[1,2,3,4,"x"]}`, `{"a":[1,2]}`},
		{`{"properties":{"a":{"type":"string"},"b":{"type":"string"}},"required":["a"]}`, `{"a":1,"b":"` + strings.Repeat("long ", 50) + `"}`, `{"a":"<a>","b":"long long long long long long long long…"}`},
		{`{"properties":{"a":{"type":"integer"}}}`, `{"a":"x"}`, `{}`},
		{`{"properties":{"a":{"anyOf":[{"type":"integer"},{"type":"boolean"}]}},"required":["a"]}`, `{"a":"x"}`, `{"a":1}`},
		{`{"properties":{"filePath":{"type":"string"}},"required":["filePath"],"additionalProperties":false}`, `{"file_path":"main.go"}`, `{"filePath":"main.go"}`},
		{`{"properties":{"a":{"$ref":"#/$defs/n"}},"required":["a"],"$defs":{"n":{"type":"object","properties":{"next":{"$ref":"#/$defs/n"},"v":{"type":"integer"}},"required":["v"]}}}`, `{"a":{"next":{"v":"x"}}}`, `{"a":{"next":{"v":1},"v":1}}`},
		{`{"properties":{"a":{"type":"string"}},"additionalProperties":{"type":"integer"}}`, `{"a":1,"x":2,"y":"z"}`, `{"x":2,"y":1}`},
		{`{"not":{}}`, `{}`, ``},
		{`{"properties":{"a":{"not":{"type":["string","integer","number","boolean","null","array","object"]}}},"required":["a"]}`, `{}`, ``},
		{`{"properties":{"a":{"type":"array","minItems":5000}},"required":["a"]}`, `{}`, ``},
	} {
		s, err := Compile(json.RawMessage(`{"type":"object",` + c.schema[1:]))
		require.NoError(t, err, c.schema)
		_, _, err = s.Prepare([]byte(c.input), &Options{Strict: true})
		var e *Error
		require.ErrorAs(t, err, &e, c.schema)
		assert.Equal(t, c.want, string(e.Example), c.schema)
	}
}
