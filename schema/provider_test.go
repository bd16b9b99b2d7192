package schema

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestDialectFor(t *testing.T) {
	doc := json.RawMessage(`{"type":"object","properties":{"a":{"type":["string","null"]},"b":{"type":"string"}},"required":["a"]}`)
	openai, _ := OpenAIStrict(doc)
	gemini, _ := Gemini(doc)
	claude, _ := Anthropic(doc)
	for _, c := range []struct {
		provider, model string
		want            json.RawMessage
	}{
		{"openai", "gpt-5", openai}, {"OpenAI", "", openai}, {"azure", "my-deployment", openai}, {"azure-cognitive-services", "gpt-4o", openai},
		{"google", "gemini-2.5-pro", gemini}, {"google-vertex", "gemini-2.5-pro", gemini}, {"openrouter", "google/gemini-2.5-pro", gemini}, {"vertex", "", gemini},
		{"anthropic", "claude-sonnet-4", claude}, {"google-vertex-anthropic", "claude-sonnet-4", claude}, {"amazon-bedrock", "anthropic.claude-v2", claude},
		{"mistral", "large", claude}, {"", "", claude},
	} {
		got, _ := DialectFor(c.provider, c.model)(doc)
		assert.Equal(t, string(c.want), string(got), "%s %s", c.provider, c.model)
	}
}

func ExampleDialectFor() {
	doc := json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"},"limit":{"type":"integer","default":100}},"required":["path"]}`)
	for _, provider := range []string{"azure", "google"} {
		out, losses := DialectFor(provider, "")(doc)
		fmt.Println(provider, string(out))
		for _, l := range losses {
			fmt.Println("-", l)
		}
	}
	// Output:
	// azure {"type":"object","properties":{"path":{"type":"string"},"limit":{"type":["null","integer"],"description":"Default: 100."}},"required":["path","limit"],"additionalProperties":false}
	// - /properties/limit: default: moved to the description
	// google {"type":"object","properties":{"path":{"type":"string"},"limit":{"type":"integer","default":100}},"required":["path"]}
}
