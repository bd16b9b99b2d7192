package builtin

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/agenttool/tool"
	"github.com/agenttool/tool/permission"
	"github.com/agenttool/tool/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// node is a schema as the checkers read it.
type node = map[string]any

// checker says what of a schema a provider would refuse, by what its documentation says.
type checker struct {
	keywords []string
	root     func(n node) string
	each     func(n node, path string) string
}

func words(s string) []string { return strings.Fields(s) }

func typesOf(n node) []string {
	switch t := n["type"].(type) {
	case string:
		return []string{t}
	case []any:
		var out []string
		for _, x := range t {
			out = append(out, fmt.Sprint(x))
		}
		return out
	}
	return nil
}

func names(n node, key string) []string {
	var out []string
	switch v := n[key].(type) {
	case []any:
		for _, x := range v {
			out = append(out, x.(string))
		}
	case map[string]any:
		for k := range v {
			out = append(out, k)
		}
	}
	slices.Sort(out)
	return out
}

func plainRoot(n node) string {
	for _, k := range words("anyOf oneOf allOf enum not $ref") {
		if n[k] != nil {
			return k + " at the root"
		}
	}
	if n["type"] != "object" {
		return "the root is no object"
	}
	return ""
}

// checkers are the documented subsets.
//
// OpenAI, "Structured Outputs", supported schemas: a root object that is no anyOf;
// every property required; additionalProperties false in every object; the keywords
// below and no others; at most 5000 properties, 10 levels and 1000 enum values.
//
// Gemini, "Function calling", Schema of the API: the select subset of OpenAPI 3.0
// below; one type in each schema, or anyOf; enum for strings; items for arrays;
// required names that are declared; the formats that are named for each type.
//
// Anthropic, "Tool use", input_schema: JSON Schema 2020-12 of type object, without
// oneOf, allOf and anyOf at the root; names of properties match ^[a-zA-Z0-9_.-]{1,64}$.
var checkers = map[string]checker{
	"openai": {
		keywords: words("type enum const anyOf $ref $defs properties required additionalProperties items minItems maxItems pattern format minimum maximum exclusiveMinimum exclusiveMaximum multipleOf title description"),
		root:     plainRoot,
		each: func(n node, path string) string {
			types := typesOf(n)
			if len(types) == 0 && n["anyOf"] == nil && n["$ref"] == nil {
				return "neither type nor anyOf nor $ref"
			}
			if ref, ok := n["$ref"].(string); ok && (len(n) != 1 || !strings.HasPrefix(ref, "#")) {
				return "a $ref that does not stand alone"
			}
			if slices.Contains(types, "object") {
				if n["additionalProperties"] != false {
					return "additionalProperties is not false"
				}
				if !slices.Equal(names(n, "properties"), names(n, "required")) {
					return "not every property is required"
				}
			}
			if slices.Contains(types, "array") && n["items"] == nil {
				return "an array without items"
			}
			if e, ok := n["enum"].([]any); ok && len(e) > 1000 {
				return "too many values"
			}
			if strings.Count(path, "/properties/") > 10 {
				return "too deep"
			}
			return ""
		},
	},
	"google": {
		keywords: words("type format title description nullable enum items minItems maxItems properties required minProperties maxProperties minLength maxLength pattern minimum maximum anyOf default example propertyOrdering"),
		root:     plainRoot,
		each: func(n node, path string) string {
			if _, one := n["type"].(string); !one && n["anyOf"] == nil {
				return "not one type"
			}
			switch n["type"] {
			case "null":
				return "the type null"
			case "array":
				if n["items"] == nil {
					return "an array without items"
				}
			case "object":
				if len(names(n, "properties")) == 0 && path != "" {
					return "an object without properties"
				}
			}
			if n["enum"] != nil && n["type"] != "string" {
				return "enum for " + fmt.Sprint(n["type"])
			}
			for _, r := range names(n, "required") {
				if !slices.Contains(names(n, "properties"), r) {
					return "required but not declared: " + r
				}
			}
			if f, ok := n["format"].(string); ok && !slices.Contains(map[any][]string{
				"string": {"enum", "date-time"}, "integer": {"int32", "int64"}, "number": {"float", "double"},
			}[n["type"]], f) {
				return "format " + f
			}
			return ""
		},
	},
	"anthropic": {
		root: plainRoot,
		each: func(n node, _ string) string {
			for _, p := range names(n, "properties") {
				if !regexp.MustCompile(`^[a-zA-Z0-9_.-]{1,64}$`).MatchString(p) {
					return "the name " + p
				}
			}
			return ""
		},
	},
}

// check walks a schema.
func (c checker) check(n node, path string, found *[]string) {
	if path == "" {
		if why := c.root(n); why != "" {
			*found = append(*found, why)
		}
	}
	for k := range n {
		if c.keywords != nil && !slices.Contains(c.keywords, k) {
			*found = append(*found, path+": keyword "+k)
		}
	}
	if why := c.each(n, path); why != "" {
		*found = append(*found, path+": "+why)
	}
	for _, k := range words("properties $defs") {
		sub, _ := n[k].(map[string]any)
		for name, s := range sub {
			if m, ok := s.(map[string]any); ok {
				c.check(m, path+"/"+k+"/"+name, found)
			}
		}
	}
	if m, ok := n["items"].(map[string]any); ok {
		c.check(m, path+"/items", found)
	}
	if list, ok := n["anyOf"].([]any); ok {
		for i, s := range list {
			c.check(s.(map[string]any), fmt.Sprintf("%s/anyOf/%d", path, i), found)
		}
	}
}

// sample is arguments as a model sends them that is held to a strict schema: null
// wherever that is allowed.
func sample(n, root node) any {
	if ref, ok := n["$ref"].(string); ok {
		defs := root["$defs"].(map[string]any)
		return sample(defs[strings.TrimPrefix(ref, "#/$defs/")].(map[string]any), root)
	}
	if e, ok := n["enum"].([]any); ok {
		return e[0]
	}
	if list, ok := n["anyOf"].([]any); ok {
		for _, s := range list {
			if s.(map[string]any)["type"] == "null" {
				return nil
			}
		}
		return sample(list[0].(map[string]any), root)
	}
	types := typesOf(n)
	switch {
	case slices.Contains(types, "null"):
		return nil
	case slices.Contains(types, "object"):
		out := map[string]any{}
		props, _ := n["properties"].(map[string]any)
		for name, p := range props {
			out[name] = sample(p.(map[string]any), root)
		}
		return out
	case slices.Contains(types, "array"):
		return []any{sample(n["items"].(map[string]any), root)}
	case slices.Contains(types, "boolean"):
		return true
	case slices.Contains(types, "string"):
		if d, _ := n["description"].(string); strings.Contains(d, "JSON text") {
			return "{}"
		}
		return "x"
	}
	if m, ok := n["minimum"].(float64); ok {
		return m
	}
	return 1
}

// everything is a toolset with all the tools there are.
func everything(t *testing.T) *bench {
	return newBench(t, skillFiles, Config{PlanMode: gateMode{&permission.Gate{}}, Asker: first, Task: TaskConfig{Runner: helpers(nil)}, Skills: SkillConfig{Dirs: []string{".skills"}}, LSP: &stubLSP{}, Search: SearchConfig{Web: finds(), Code: finds()}})
}

// TestEveryToolInEveryDialect: what each provider is shown of each built-in tool
// is within the subset that it documents, and what a model sends under the strict
// one is understood, with null for what it leaves out.
func TestEveryToolInEveryDialect(t *testing.T) {
	b := everything(t)
	for _, name := range words("question read glob grep edit multiedit write apply_patch ls task webfetch todowrite todoread websearch codesearch skill lsp batch plan_enter plan_exit") {
		_, ok := b.ts.Tool(name)
		assert.True(t, ok, "everything has %s", name)
	}
	for provider, c := range checkers {
		agent := &tool.Agent{Provider: provider}
		for _, tl := range b.ts.Tools() {
			spec, err := tl.Spec(t.Context(), agent)
			require.NoError(t, err)
			t.Run(provider+"/"+spec.Name, func(t *testing.T) {
				doc, losses := spec.Parameters(agent)
				var n node
				require.NoError(t, json.Unmarshal(doc, &n))
				var found []string
				c.check(n, "", &found)
				assert.Empty(t, found, "%s", doc)
				_, err := schema.Compile(doc)
				require.NoError(t, err)
				for _, l := range losses {
					assert.NotContains(t, l.Detail, "nothing is left", "%v", l)
				}
				if provider != "openai" {
					return
				}
				for _, l := range losses {
					t.Log(l)
				}
				sent, err := json.Marshal(sample(n, n))
				require.NoError(t, err)
				strict, err := schema.Compile(doc)
				require.NoError(t, err)
				require.NoError(t, strict.Validate(sent), "%s", sent)
				own, err := schema.Compile(spec.Input)
				require.NoError(t, err)
				got, _, err := own.Prepare(sent, nil)
				require.NoError(t, err, "%s", sent)
				assert.NotContains(t, string(got), "null", "null is absence")
			})
		}
	}
}

// TestCheckersRefuse: the checkers find what they are there for.
func TestCheckersRefuse(t *testing.T) {
	for provider, docs := range map[string][]string{
		"openai": {
			`{"anyOf":[]}`, `{"type":"object","properties":{"a":{"type":"string"}},"required":[],"additionalProperties":false}`,
			`{"type":"object","properties":{},"required":[]}`, `{"type":"object","properties":{"a":{"type":"string","minLength":1}},"required":["a"],"additionalProperties":false}`,
			`{"type":"object","properties":{"a":{}},"required":["a"],"additionalProperties":false}`,
		},
		"google": {
			`{"type":"object","properties":{"a":{"type":["string","null"]}}}`, `{"type":"object","properties":{"a":{"type":"integer","enum":[1]}}}`,
			`{"type":"object","properties":{"a":{"type":"array"}}}`, `{"type":"object","additionalProperties":false}`, `{"type":"object","properties":{"a":{"type":"object"}}}`,
		},
		"anthropic": {`{"type":"object","properties":{"a b":{}}}`, `{"type":"object","oneOf":[]}`, `{"type":"string"}`},
	} {
		for _, doc := range docs {
			var n node
			require.NoError(t, json.Unmarshal([]byte(doc), &n))
			var found []string
			checkers[provider].check(n, "", &found)
			assert.NotEmpty(t, found, "%s %s", provider, doc)
		}
	}
}
