package schema

import (
	"encoding/json"
	"strings"
)

// Dialect converts a schema to what a provider takes for the arguments of a
// tool, and lists what that cannot say. [OpenAIStrict], [Gemini] and [Anthropic] are dialects.
type Dialect func(doc json.RawMessage) (json.RawMessage, []Loss)

// DialectFor returns the dialect for a provider and model, by the ids that hosts
// use for them; case does not matter, and either may be "".
//
//	openai, azure and what begins with azure-            OpenAIStrict
//	google, gemini, vertex and what begins with google-  Gemini
//	anthropic, and all others                            Anthropic
//
// A provider that serves models of several makers takes what the model does: one
// whose id has "claude" in it gets Anthropic and one with "gemini" Gemini, whoever
// serves it. The dialect of Anthropic is JSON Schema with a plain object at the
// root, which servers that claim no particular subset are known to take.
//
// OpenAIStrict is for requests that set strict, which then hold a model to the
// schema. Without strict its documents are valid as well.
func DialectFor(provider, model string) Dialect {
	p, m := strings.ToLower(strings.TrimSpace(provider)), strings.ToLower(model)
	switch {
	case strings.Contains(m, "claude"):
		return Anthropic
	case strings.Contains(m, "gemini"):
		return Gemini
	case p == "openai", p == "azure", strings.HasPrefix(p, "azure-"):
		return OpenAIStrict
	case p == "google", p == "gemini", p == "vertex", p == "vertexai", strings.HasPrefix(p, "google-"):
		return Gemini
	}
	return Anthropic
}
