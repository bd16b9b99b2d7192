package schema

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// bomb is a chain of definitions, each of which refers twice to the next.
func bomb(levels int, format string) string {
	var b strings.Builder
	b.WriteString(`{"type":"object","properties":{"a":{"$ref":"#/$defs/l0"}},"$defs":{`)
	for i := range levels {
		fmt.Fprintf(&b, `"l%d":`+format+`,`, i, i+1, i+1)
	}
	fmt.Fprintf(&b, `"l%d":{"type":"string"}}}`, levels)
	return b.String()
}

const (
	inPlace = `{"allOf":[{"$ref":"#/$defs/l%d"},{"$ref":"#/$defs/l%d"}]}`
	inParts = `{"anyOf":[{"properties":{"a":{"$ref":"#/$defs/l%d"}}},{"properties":{"a":{"$ref":"#/$defs/l%d"}}}]}`
)

func TestGuard(t *testing.T) {
	for _, c := range []struct{ name, doc, want string }{
		{"itself", `{"$ref":"#"}`, "the root leads back to itself"},
		{"itself by anchor", `{"$anchor":"a","$ref":"#a"}`, "the root leads back to itself"},
		{"itself by id", `{"$id":"https://example.com/s","$ref":"https://example.com/s#"}`, "the root leads back to itself"},
		{"two definitions", `{"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}}}`, "/$defs/a leads back to itself"},
		{"definitions nobody uses", `{"$defs":{"a":{"$ref":"#/$defs/a"}}}`, "/$defs/a leads back to itself"},
		{"old keyword", `{"definitions":{"a":{"$ref":"#/definitions/a"}},"$ref":"#/definitions/a"}`, "/definitions/a leads back"},
		{"allOf", `{"allOf":[{"$ref":"#"}]}`, "leads back to itself"},
		{"anyOf", `{"properties":{"x":{"anyOf":[{"$ref":"#/properties/x"},{"type":"string"}]}}}`, "leads back to itself"},
		{"oneOf", `{"oneOf":[{"type":"string"},{"$ref":"#"}]}`, "leads back to itself"},
		{"not", `{"not":{"$ref":"#"}}`, "leads back to itself"},
		{"if", `{"if":{"$ref":"#"}}`, "leads back to itself"},
		{"then", `{"then":{"$ref":"#"}}`, "leads back to itself"},
		{"else", `{"else":{"$ref":"#"}}`, "leads back to itself"},
		{"dependentSchemas", `{"dependentSchemas":{"a":{"$ref":"#"}}}`, "leads back to itself"},
		{"dependencies", `{"dependencies":{"a":{"$ref":"#"}}}`, "leads back to itself"},
		{"dynamic", `{"$dynamicAnchor":"n","$dynamicRef":"#n"}`, "leads back to itself"},
		{"recursive", `{"$recursiveRef":"#"}`, "leads back to itself"},
		{"escaped", `{"$defs":{"a/b":{"$ref":"#/$defs/a~1b"}}}`, "leads back to itself"},
		{"percent", `{"$defs":{"a b":{"$ref":"#/%24defs/a%20b"}}}`, "leads back to itself"},
		{"bomb", bomb(22, inPlace), "multiply to more than 10000"},
		{"deep", strings.Repeat(`{"items":`, 70) + `{}` + strings.Repeat(`}`, 70), "nests too deep"},
		{"very deep", strings.Repeat(`[`, 200_000), "nests too deep"},
		{"large", `{"description":"` + strings.Repeat("x", 300<<10) + `"}`, "bytes, the limit is"},
		{"many values", `{"enum":[` + strings.Repeat("1,", 25_000) + `1]}`, "has more than 20000 values"},
		{"repeat", `{"pattern":"((x{1000}){1000}){1000}"}`, "regular expression"},
		{"repeat within the parser's limits", `{"pattern":"(abcdefghij){1000}"}`, "too large"},
		{"many repeats", `{"properties":{` + strings.Repeat(`"k":0,`, 0) + manyPatterns(30) + `}}`, "too large"},
		{"classes", `{"pattern":"[` + strings.Repeat(`\\pL`, 100) + `]"}`, "Unicode classes"},
		{"long pattern", `{"patternProperties":{"` + strings.Repeat("x", 2000) + `":{}}}`, "has 2000 bytes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			start := time.Now()
			err := Check(json.RawMessage(c.doc))
			assert.Less(t, time.Since(start), 50*time.Millisecond, "a few are expected")
			require.ErrorIs(t, err, ErrHostile)
			assert.Contains(t, err.Error(), c.want)
			_, err = Compile(json.RawMessage(c.doc))
			require.ErrorIs(t, err, ErrHostile)
			for _, dialect := range []func(json.RawMessage) (json.RawMessage, []Loss){OpenAIStrict, Gemini, Anthropic} {
				start := time.Now()
				out, losses := dialect(json.RawMessage(c.doc))
				assert.Less(t, time.Since(start), 5*time.Second)
				assert.True(t, json.Valid(out))
				_ = losses
			}
		})
	}
}

func manyPatterns(n int) string {
	var parts []string
	for i := range n {
		parts = append(parts, fmt.Sprintf(`"k%d":{"pattern":"x{900}"}`, i))
	}
	return strings.Join(parts, ",")
}

func TestGuardLetsThrough(t *testing.T) {
	for name, doc := range map[string]string{
		"tree":                   `{"type":"object","properties":{"l":{"$ref":"#"},"r":{"$ref":"#"}}}`,
		"list":                   `{"$ref":"#/$defs/n","$defs":{"n":{"type":"object","properties":{"next":{"anyOf":[{"$ref":"#/$defs/n"},{"type":"null"}]}}}}}`,
		"map":                    `{"additionalProperties":{"$ref":"#"}}`,
		"items":                  `{"items":{"$ref":"#"}}`,
		"property named $ref":    `{"properties":{"$ref":{"type":"string"}}}`,
		"example looks like it":  `{"examples":[{"$ref":"#"}],"default":{"$ref":"#"},"enum":[{"$ref":"#"}],"const":{"$ref":"#"}}`,
		"twice, not in a circle": `{"allOf":[{"$ref":"#/$defs/a"},{"$ref":"#/$defs/a"}],"$defs":{"a":{"type":"object"}}}`,
		"nothing":                ``,
		"true":                   `true`,
		"remote":                 `{"$ref":"https://example.com/x"}`,
		"look-ahead":             `{"pattern":"(?!x)"}`,
		"repeat":                 `{"pattern":"^[a-z]{1,1000}$"}`,
	} {
		require.NoError(t, Check(json.RawMessage(doc)), name)
	}
}

func TestUnsupported(t *testing.T) {
	for doc, want := range map[string]string{
		`{"$ref":"https://example.com/x.json"}`:                     `reference "https://example.com/x.json" leads to another document`,
		`{"properties":{"a":{"$ref":"file:///etc/passwd"}}}`:        `reference "file:///etc/passwd" leads to another document`,
		`{"$ref":"#/$defs/x"}`:                                      `reference "#/$defs/x" leads nowhere`,
		`{"$ref":"#/enum/0","enum":[{}]}`:                           `leads nowhere`,
		`{"$ref":"#nowhere"}`:                                       `leads nowhere`,
		`{"$ref":1}`:                                                `$ref at the root is number 1`,
		`{"pattern":"(?!x)"}`:                                       "regular expression at the root: error parsing regexp",
		`{"properties":{"a":{"patternProperties":{"(?=x)":true}}}}`: "regular expression at /properties/a",
		`{"$schema":"https://example.com/my-draft"}`:                `unknown $schema "https://example.com/my-draft"`,
		`{"$schema":"http://json-schema.org/draft-03/schema#"}`:     "unknown $schema",
		`{"$dynamicRef":"#n","items":{"$dynamicAnchor":"n"}}`:       "$dynamicRef at the root",
		`{"type":"strnig"}`:                                         `"type" at the root is string "strnig"`,
		`{"type":5}`:                                                `"type" at the root is number 5`,
		`{"type":[]}`:                                               `"type" at the root is an empty array`,
		`{"properties":[]}`:                                         `"properties" has an empty array for a value`,
		`{"properties":{"a":5}}`:                                    "/properties/a is number 5, want a schema",
		`{"required":true}`:                                         `"required" at the root is boolean true, want a list of strings`,
		`{"minLength":1.5}`:                                         `"minLength" at the root is number 1.5, want an integer`,
		`{"minimum":"1"}`:                                           `"minimum" at the root is string "1", want a number`,
		`{"multipleOf":0}`:                                          "want a positive number",
		`{"enum":"a"}`:                                              "want a list",
		`{"allOf":{}}`:                                              `"allOf" has an empty object for a value`,
		`{"uniqueItems":1}`:                                         "want a boolean",
		`{"$ref":"#/properties/a","properties":{"a":{"$id":"https://x.org/a"}}}`: "references in a document with embedded $id",
		`[]`:     "the root is an empty array",
		`false`:  "the root is boolean false",
		`"x"`:    "the root is string",
		`{"a":1`: "JSON ends too early",
		`nope`:   "invalid JSON",
	} {
		_, err := Compile(json.RawMessage(doc))
		require.ErrorIs(t, err, ErrUnsupported, doc)
		assert.Contains(t, err.Error(), want, doc)
	}
	_, err := Compile(make(chan int))
	require.ErrorIs(t, err, ErrUnsupported)
}

func TestCompileForms(t *testing.T) {
	for _, doc := range []any{nil, json.RawMessage(nil), json.RawMessage(" "), []byte("{}"), json.RawMessage("true"), true, map[string]any{}, struct{}{}} {
		s, err := Compile(doc)
		require.NoError(t, err, "%v", doc)
		assert.Equal(t, `{"type":"object"}`, string(s.JSON()))
		assert.True(t, s.IsObject())
		require.NoError(t, s.Validate([]byte(`{"a":1}`)))
		require.Error(t, s.Validate([]byte(`1`)))
	}
	s, err := Compile(map[string]any{"type": "object", "properties": map[string]any{"b": map[string]any{"type": "string"}, "a": true}})
	require.NoError(t, err)
	assert.Equal(t, `{"properties":{"a":true,"b":{"type":"string"}},"type":"object"}`, string(s.JSON()))
	s, err = Compile(json.RawMessage(`{ "type" : "object" , "title":"<a>" }`))
	require.NoError(t, err)
	assert.Equal(t, `{"type":"object","title":"<a>"}`, string(s.JSON()), "compact, in its own order")
}

// TestExplosions: what the guard lets through is checked in reasonable time,
// whatever the input.
func TestExplosions(t *testing.T) {
	deep := strings.Repeat(`{"a":`, 60) + `"x"` + strings.Repeat(`}`, 60)
	for name, doc := range map[string]string{
		"recursion with branches": `{"anyOf":[{"properties":{"a":{"$ref":"#"}}},{"properties":{"a":{"$ref":"#"}}}],"type":"object"}`,
		"oneOf":                   `{"type":"object","oneOf":[{"properties":{"a":{"$ref":"#"}}},{"properties":{"a":{"$ref":"#"}}}]}`,
		"no recursion":            bomb(22, inParts),
		"patterns":                `{"patternProperties":{"a":{"$ref":"#"},"^a":{"$ref":"#"}}}`,
	} {
		s, err := Compile(json.RawMessage(doc))
		require.NoError(t, err, name)
		start := time.Now()
		_, _, err = s.Prepare([]byte(deep), nil)
		require.ErrorIs(t, err, ErrInvalid, name)
		assert.Less(t, time.Since(start), 10*time.Second, name)
		_, _, err = s.Prepare([]byte(`{"a":{"a":{}}}`), nil)
		if name != "oneOf" {
			require.NoError(t, err, name)
		}
	}
}

func TestDrafts(t *testing.T) {
	for _, c := range []struct {
		doc  string
		good []string
		bad  []string
	}{
		{`{"$schema":"http://json-schema.org/draft-04/schema#","id":"http://x.org/s","properties":{"a":{"minimum":1,"exclusiveMinimum":true},"b":{"maximum":5,"exclusiveMaximum":false}}}`,
			[]string{`{"a":2,"b":5}`}, []string{`{"a":1}`, `{"b":6}`}},
		{`{"$schema":"http://json-schema.org/draft-07/schema#","$id":"https://x.org/s","definitions":{"n":{"type":"integer"}},"properties":{"a":{"$ref":"#/definitions/n","minimum":3},"b":{"$ref":"https://x.org/s#/definitions/n"}}}`,
			[]string{`{"a":1,"b":1}`}, []string{`{"a":"x"}`, `{"b":"x"}`}},
		{`{"$schema":"http://json-schema.org/draft-07/schema","properties":{"a":{"items":[{"type":"string"},{"type":"integer"}],"additionalItems":false}}}`,
			[]string{`{"a":["x",1]}`, `{"a":[]}`}, []string{`{"a":[1]}`, `{"a":["x",1,2]}`}},
		{`{"$schema":"http://json-schema.org/draft-06/schema#","dependencies":{"a":["b"],"c":{"required":["d"]}}}`,
			[]string{`{"a":1,"b":1}`, `{"c":1,"d":1}`}, []string{`{"a":1}`, `{"c":1}`}},
		{`{"$schema":"https://json-schema.org/draft/2019-09/schema","$defs":{"n":{"$anchor":"nn","type":"integer"}},"properties":{"a":{"$ref":"#nn","minimum":3}}}`,
			[]string{`{"a":3}`}, []string{`{"a":1}`, `{"a":"x"}`}},
		{`{"$schema":"https://json-schema.org/draft/2020-12/schema","prefixItems":[{"type":"string"}],"items":false}`,
			[]string{`["a"]`}, []string{`["a",1]`, `[1]`}},
		{`{"definitions":{"n":{"type":"integer"}},"$defs":{"n":{"type":"string"}},"properties":{"a":{"$ref":"#/definitions/n"},"b":{"$ref":"#/$defs/n"}}}`,
			[]string{`{"a":1,"b":"x"}`}, []string{`{"a":"x"}`, `{"b":1}`}},
		{`{"items":[{"type":"string"}],"properties":{"a":{"$ref":"#/items/0"}}}`, []string{`{"a":"x"}`, `["x",1]`}, []string{`{"a":1}`, `[1]`}},
		{`{"Type":"string","REQUIRED":["a"]}`, []string{`{}`, `1`}, nil},
		{`{"type":"integer","minimum":0,"maximum":0}`, []string{`0`, `0.0`, `-0`}, []string{`-1`, `1`, `0.5`}},
		{`{"enum":[9007199254740993]}`, []string{`9007199254740993`}, []string{`9007199254740995`}},
	} {
		s, err := Compile(json.RawMessage(c.doc))
		require.NoError(t, err, c.doc)
		for _, in := range c.good {
			assert.NoError(t, s.Validate([]byte(in)), "%s %s", c.doc, in)
		}
		for _, in := range c.bad {
			assert.ErrorIs(t, s.Validate([]byte(in)), ErrInvalid, "%s %s", c.doc, in)
		}
	}
}

func BenchmarkCheck(b *testing.B) {
	for name, doc := range map[string]string{"bomb": bomb(22, inPlace), "values": `{"enum":[` + strings.Repeat("1,", 25_000) + `1]}`, "large": `{"properties":{` + manyPatterns(18) + `}}`} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				_ = Check(json.RawMessage(doc))
			}
		})
	}
}
