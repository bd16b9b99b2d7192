package schema

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestDialects(t *testing.T) {
	for _, c := range []struct {
		name, doc string
		openai    string
		openaiL   string
		gemini    string
		geminiL   string
		claude    string
		claudeL   string
	}{
		{
			name:    "optional, nullable, default",
			doc:     `{"type":"object","properties":{"a":{"type":"string","description":"A."},"b":{"type":"integer","default":3},"c":{"enum":["x","y"],"type":"string"},"d":{"type":["string","null"]}},"required":["a","d"],"additionalProperties":false}`,
			openai:  `{"type":"object","properties":{"a":{"type":"string","description":"A."},"b":{"type":["null","integer"],"description":"Default: 3."},"c":{"type":["null","string"],"enum":["x","y",null]},"d":{"type":["null","string"]}},"required":["a","b","c","d"],"additionalProperties":false}`,
			openaiL: "/properties/b: default: moved to the description",
			gemini:  `{"type":"object","properties":{"a":{"type":"string","description":"A."},"b":{"type":"integer","default":3},"c":{"type":"string","enum":["x","y"]},"d":{"type":"string","nullable":true}},"required":["a","d"]}`,
			geminiL: "the root: additionalProperties: dropped; other keys are refused when the call comes",
			claude:  `{"type":"object","properties":{"a":{"type":"string","description":"A."},"b":{"type":"integer","default":3},"c":{"enum":["x","y"],"type":"string"},"d":{"type":["string","null"]}},"required":["a","d"],"additionalProperties":false}`,
		},
		{
			name:    "reference and recursion",
			doc:     `{"type":"object","properties":{"n":{"$ref":"#/$defs/node","description":"The tree."}},"required":["n"],"additionalProperties":false,"$defs":{"node":{"type":"object","properties":{"v":{"type":"integer"},"next":{"$ref":"#/$defs/node"}},"required":["v"],"additionalProperties":false},"unused":{"type":"null"}}}`,
			openai:  `{"type":"object","properties":{"n":{"description":"The tree.","anyOf":[{"$ref":"#/$defs/node"}]}},"required":["n"],"additionalProperties":false,"$defs":{"node":{"type":"object","properties":{"v":{"type":"integer"},"next":{"anyOf":[{"$ref":"#/$defs/node"},{"type":"null"}]}},"required":["v","next"],"additionalProperties":false}}}`,
			gemini:  `{"type":"object","properties":{"n":{"type":"object","description":"The tree.","properties":{"v":{"type":"integer"},"next":{"type":"string","description":"JSON text of the same kind of value."}},"required":["v"]}},"required":["n"]}`,
			geminiL: "/$defs/node/properties/next: $ref: becomes a string with JSON text in it, which repair decodes\n/$defs/node: additionalProperties: dropped; other keys are refused when the call comes\nthe root: additionalProperties: dropped; other keys are refused when the call comes",
			claude:  `{"type":"object","properties":{"n":{"$ref":"#/$defs/node","description":"The tree."}},"required":["n"],"additionalProperties":false,"$defs":{"node":{"type":"object","properties":{"v":{"type":"integer"},"next":{"$ref":"#/$defs/node"}},"required":["v"],"additionalProperties":false},"unused":{"type":"null"}}}`,
		},
		{
			name:    "map and anything",
			doc:     `{"type":"object","properties":{"m":{"type":"object","additionalProperties":{"type":"string"}},"x":{"description":"Whatever."},"l":{"type":"array"}},"required":["m","x","l"]}`,
			openai:  `{"type":"object","properties":{"m":{"type":"string","description":"JSON text of an object."},"x":{"type":["null","boolean","number","string"],"description":"Whatever."},"l":{"type":"array","items":{"type":["null","boolean","number","string"]}}},"required":["m","x","l"],"additionalProperties":false}`,
			openaiL: "/properties/m: additionalProperties: becomes a string with JSON text in it, which repair decodes\n/properties/x: type: any value: becomes string, number, boolean or null\n/properties/l: type: any value: becomes string, number, boolean or null",
			gemini:  `{"type":"object","properties":{"m":{"type":"string","description":"JSON text of an object."},"x":{"description":"Whatever.","nullable":true,"anyOf":[{"type":"string"},{"type":"number"},{"type":"boolean"}]},"l":{"type":"array","items":{"nullable":true,"anyOf":[{"type":"string"},{"type":"number"},{"type":"boolean"}]}}},"required":["m","x","l"]}`,
			geminiL: "/properties/m: additionalProperties: becomes a string with JSON text in it, which repair decodes\n/properties/x: type: any value: becomes string, number, boolean or null\n/properties/l: type: any value: becomes string, number, boolean or null",
			claude:  `{"type":"object","properties":{"m":{"type":"object","additionalProperties":{"type":"string"}},"x":{"description":"Whatever."},"l":{"type":"array"}},"required":["m","x","l"]}`,
		},
		{
			name:    "constants and bounds",
			doc:     `{"type":"object","properties":{"k":{"const":"go"},"i":{"type":"integer","exclusiveMinimum":0,"multipleOf":5},"f":{"type":"number","exclusiveMaximum":1},"e":{"type":"integer","enum":[1,2]},"s":{"type":"string","minLength":1,"format":"uri","pattern":"^h"},"u":{"type":"array","items":{"type":"string"},"uniqueItems":true}},"required":["k","i","f","e","s","u"]}`,
			openai:  `{"type":"object","properties":{"k":{"type":"string","const":"go"},"i":{"type":"integer","exclusiveMinimum":0,"multipleOf":5},"f":{"type":"number","exclusiveMaximum":1},"e":{"type":"integer","enum":[1,2]},"s":{"type":"string","pattern":"^h"},"u":{"type":"array","items":{"type":"string"}}},"required":["k","i","f","e","s","u"],"additionalProperties":false}`,
			openaiL: "/properties/s: format: not known there, dropped\n/properties/s: minLength: not known there, dropped\n/properties/u: uniqueItems: not known there, dropped",
			gemini:  `{"type":"object","properties":{"k":{"type":"string","enum":["go"]},"i":{"type":"integer","minimum":1},"f":{"type":"number","maximum":1},"e":{"type":"integer","description":"One of 1, 2."},"s":{"type":"string","minLength":1,"pattern":"^h"},"u":{"type":"array","items":{"type":"string"}}},"required":["k","i","f","e","s","u"]}`,
			geminiL: "/properties/i: multipleOf: not known there, dropped\n/properties/f: exclusiveMaximum: becomes maximum\n/properties/e: enum: only for strings, moved to the description\n/properties/s: format: not known there, dropped\n/properties/u: uniqueItems: not known there, dropped",
			claude:  `{"type":"object","properties":{"k":{"const":"go"},"i":{"type":"integer","exclusiveMinimum":0,"multipleOf":5},"f":{"type":"number","exclusiveMaximum":1},"e":{"type":"integer","enum":[1,2]},"s":{"type":"string","minLength":1,"format":"uri","pattern":"^h"},"u":{"type":"array","items":{"type":"string"},"uniqueItems":true}},"required":["k","i","f","e","s","u"]}`,
		},
		{
			name:    "several types and alternatives",
			doc:     `{"type":"object","properties":{"a":{"type":["string","integer"],"minimum":1,"maxLength":9},"b":{"anyOf":[{"type":"integer"},{"type":"null"}],"description":"B."},"c":{"oneOf":[{"type":"string"},{"type":"boolean"}]}},"required":["a","b","c"]}`,
			openai:  `{"type":"object","properties":{"a":{"type":["integer","string"],"minimum":1},"b":{"description":"B.","anyOf":[{"type":"integer"},{"type":"null"}]},"c":{"anyOf":[{"type":"string"},{"type":"boolean"}]}},"required":["a","b","c"],"additionalProperties":false}`,
			openaiL: "/properties/a: maxLength: not known there, dropped\n/properties/c: oneOf: becomes anyOf",
			gemini:  `{"type":"object","properties":{"a":{"anyOf":[{"type":"integer","minimum":1},{"type":"string","maxLength":9}]},"b":{"type":"integer","description":"B.","nullable":true},"c":{"anyOf":[{"type":"string"},{"type":"boolean"}]}},"required":["a","b","c"]}`,
			geminiL: "/properties/a: type: several types become anyOf\n/properties/c: oneOf: becomes anyOf",
			claude:  `{"type":"object","properties":{"a":{"type":["string","integer"],"minimum":1,"maxLength":9},"b":{"anyOf":[{"type":"integer"},{"type":"null"}],"description":"B."},"c":{"oneOf":[{"type":"string"},{"type":"boolean"}]}},"required":["a","b","c"]}`,
		},
		{
			name:    "at the root",
			doc:     `{"$schema":"http://json-schema.org/draft-07/schema#","anyOf":[{"properties":{"a":{"type":"string"}},"required":["a"]},{"properties":{"b":{"type":"string"},"not ok":{"type":"null"}}}],"allOf":[{"properties":{"c":{"type":"integer"}},"required":["c"]},{"if":{"type":"object"}}]}`,
			openai:  `{"type":"object","properties":{"c":{"type":"integer"},"a":{"type":["null","string"]},"b":{"type":["null","string"]},"not ok":{"type":"null"}},"required":["c","a","b","not ok"],"additionalProperties":false}`,
			openaiL: "the root: $schema: dropped, the form is 2020-12\nthe root: anyOf: not possible at the root: the properties are kept, which of them go together is not\nthe root: if: not known there, dropped",
			gemini:  `{"type":"object","properties":{"c":{"type":"integer"},"a":{"type":"string"},"b":{"type":"string"},"not ok":{"nullable":true,"anyOf":[{"type":"string"},{"type":"number"},{"type":"boolean"}]}},"required":["c"]}`,
			geminiL: "the root: $schema: dropped, the form is 2020-12\nthe root: anyOf: not possible at the root: the properties are kept, which of them go together is not\n/anyOf/1/properties/not ok: type: any value: becomes string, number, boolean or null\nthe root: if: not known there, dropped",
			claude:  `{"type":"object","properties":{"c":{"type":"integer"},"a":{"type":"string"},"b":{"type":"string"}},"required":["c"],"if":{"type":"object"}}`,
			claudeL: "the root: $schema: dropped, the form is 2020-12\nthe root: anyOf: not possible at the root: the properties are kept, which of them go together is not\nthe root: properties: the name \"not ok\" is not possible, dropped",
		},
		{
			name:    "alternatives at the root",
			doc:     `{"type":"object","properties":{"id":{"type":"string"}},"required":["id"],"oneOf":[{"properties":{"kind":{"const":"file"},"path":{"type":"string"},"n":{"type":"integer"}},"required":["kind","path"],"additionalProperties":false},{"$ref":"#/$defs/url"},{"type":"string"},false],"$defs":{"url":{"type":"object","properties":{"kind":{"const":"url"},"path":{"type":"string"},"n":{"type":"boolean"},"id":{"type":"integer"}},"required":["kind"]}}}`,
			openai:  `{"type":"object","properties":{"id":{"type":"string"},"kind":{"type":"string","enum":["file","url"]},"path":{"type":["null","string"]},"n":{"anyOf":[{"type":"integer"},{"type":"boolean"},{"type":"null"}]}},"required":["id","kind","path","n"],"additionalProperties":false}`,
			openaiL: "the root: oneOf: not possible at the root: the properties are kept, which of them go together is not",
			gemini:  `{"type":"object","properties":{"id":{"type":"string"},"kind":{"type":"string","enum":["file","url"]},"path":{"type":"string"},"n":{"anyOf":[{"type":"integer"},{"type":"boolean"}]}},"required":["id","kind"]}`,
			geminiL: "the root: oneOf: not possible at the root: the properties are kept, which of them go together is not",
			claude:  `{"type":"object","properties":{"id":{"type":"string"},"kind":{"enum":["file","url"]},"path":{"type":"string"},"n":{"anyOf":[{"type":"integer"},{"type":"boolean"}]}},"required":["id","kind"],"$defs":{"url":{"type":"object","properties":{"kind":{"const":"url"},"path":{"type":"string"},"n":{"type":"boolean"},"id":{"type":"integer"}},"required":["kind"]}}}`,
			claudeL: "the root: oneOf: not possible at the root: the properties are kept, which of them go together is not",
		},
		{
			name:    "a reference at the root",
			doc:     `{"$ref":"#/definitions/args","definitions":{"args":{"type":"object","properties":{"a":{"type":"string"}},"required":["a","zz"]}}}`,
			openai:  `{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}`,
			openaiL: "/definitions/args: required: names of undeclared properties dropped",
			gemini:  `{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`,
			geminiL: "/definitions/args: required: names of undeclared properties dropped",
			claude:  `{"type":"object","properties":{"a":{"type":"string"}},"required":["a","zz"],"$defs":{"args":{"type":"object","properties":{"a":{"type":"string"}},"required":["a","zz"]}}}`,
		},
		{
			name:    "not a schema",
			doc:     `[1,2`,
			openai:  `{"type":"object","properties":{},"required":[],"additionalProperties":false}`,
			openaiL: "the root: $schema: not usable, nothing is left of it: schema cannot be compiled: JSON ends too early, after 4 bytes",
			gemini:  `{"type":"object","properties":{}}`,
			geminiL: "the root: $schema: not usable, nothing is left of it: schema cannot be compiled: JSON ends too early, after 4 bytes",
			claude:  `{"type":"object","properties":{}}`,
			claudeL: "the root: $schema: not usable, nothing is left of it: schema cannot be compiled: JSON ends too early, after 4 bytes",
		},
		{
			name:    "outside",
			doc:     `{"type":"object","properties":{"a":{"$ref":"https://example.com/x","type":"string"},"b":{"$dynamicRef":"#x","type":"boolean"}},"required":["a","b"]}`,
			openai:  `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"boolean"}},"required":["a","b"],"additionalProperties":false}`,
			openaiL: "/properties/a: $ref: leads out of the document, dropped\n/properties/b: $dynamicRef: dropped",
			gemini:  `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"boolean"}},"required":["a","b"]}`,
			geminiL: "/properties/a: $ref: leads out of the document, dropped\n/properties/b: $dynamicRef: dropped",
			claude:  `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"boolean"}},"required":["a","b"]}`,
			claudeL: "/properties/a: $ref: leads out of the document, dropped\n/properties/b: $dynamicRef: dropped",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, d := range []struct {
				name         string
				f            func(json.RawMessage) (json.RawMessage, []Loss)
				want, losses string
			}{{"openai", OpenAIStrict, c.openai, c.openaiL}, {"gemini", Gemini, c.gemini, c.geminiL}, {"anthropic", Anthropic, c.claude, c.claudeL}} {
				out, losses := d.f(json.RawMessage(c.doc))
				assert.Equal(t, d.want, string(out), d.name)
				var lines []string
				for _, l := range losses {
					lines = append(lines, l.String())
				}
				assert.Equal(t, d.losses, strings.Join(lines, "\n"), d.name)
				again, _ := d.f(out)
				assert.Equal(t, string(out), string(again), d.name)
			}
		})
	}
}

// TestDialectsRoundTrip: what a model sends under a dialect is understood under
// the schema itself: null for absent, JSON text for a map.
func TestDialectsRoundTrip(t *testing.T) {
	type in struct {
		Path  string            `json:"path"`
		Limit int               `json:"limit" default:"7"`
		Env   map[string]string `json:"env,omitempty"`
		Tree  *tree             `json:"tree,omitempty"`
	}
	s := must[in](t)
	strict, _ := OpenAIStrict(s.JSON())
	model, err := Compile(strict)
	require.NoError(t, err)
	sent := []byte(`{"path":"a","limit":null,"env":"{\"A\":\"b\"}","tree":{"name":"x","children":null,"byName":null}}`)
	require.NoError(t, model.Validate(sent))
	var got in
	_, err = s.Decode(sent, &got, nil)
	require.NoError(t, err)
	assert.Equal(t, in{Path: "a", Limit: 7, Env: map[string]string{"A": "b"}, Tree: &tree{Name: "x"}}, got)
}

// Where a tool takes any keys and a provider only lets declared ones be sent, the
// host learns that the model cannot send anything.
func TestDialectObjectWithoutKeys(t *testing.T) {
	for name, convert := range map[string]func(json.RawMessage) (json.RawMessage, []Loss){"openai": OpenAIStrict, "gemini": Gemini} {
		for doc, want := range map[string]int{
			`{"type":"object"}`: 1,
			`{}`:                1,
			`{"type":"object","properties":{"a":{"type":"string"}}}`: 0,
		} {
			_, losses := convert(json.RawMessage(doc))
			require.Len(t, losses, want, "%s %s: %v", name, doc, losses)
			if want > 0 {
				require.Equal(t, "the root: additionalProperties: no key is declared, so none can be sent", losses[0].String())
			}
		}
	}
}

// TestDialectsRootUnion: null for a property that only some alternatives have is
// absence, so that what strict mode has a model send fits.
func TestDialectsRootUnion(t *testing.T) {
	doc := json.RawMessage(`{"type":"object","oneOf":[{"properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false},{"properties":{"b":{"type":"integer"},"c":{"type":["string","null"]}},"required":["b"],"additionalProperties":false}]}`)
	s, err := Compile(doc)
	require.NoError(t, err)
	for sent, want := range map[string]string{
		`{"a":"x","b":null}`:          `{"a":"x"}`,
		`{"a":null,"b":1}`:            `{"b":1}`,
		`{"a":null,"b":1,"c":null}`:   `{"b":1,"c":null}`, // null means something there
		`{"a":"x","b":null,"c":null}`: `{"a":"x"}`,        // but not here
		`{"a":null,"b":null}`:         "",
		`{"a":"x","b":null,"d":null}`: "",
	} {
		out, _, err := s.Prepare([]byte(sent), nil)
		if want == "" {
			require.Error(t, err, sent)
			continue
		}
		require.NoError(t, err, sent)
		assert.Equal(t, want, string(out))
	}
	strict, _ := OpenAIStrict(doc)
	assert.Equal(t, `{"type":"object","properties":{"a":{"type":["null","string"]},"b":{"type":["null","integer"]},"c":{"type":["null","string"]}},"required":["a","b","c"],"additionalProperties":false}`, string(strict))
}
