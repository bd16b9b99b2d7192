package schema

import "encoding/json"

// Loss is one thing that a dialect cannot say.
type Loss struct {
	Path    string `json:"path"`    // JSON Pointer into the schema that was converted
	Keyword string `json:"keyword"` // what was lost or weakened
	Detail  string `json:"detail"`  // what became of it
}

// OpenAIStrict converts a schema to what OpenAI's strict mode accepts.
func OpenAIStrict(doc json.RawMessage) (json.RawMessage, []Loss) { return doc, nil }

// Gemini converts a schema to what Gemini function declarations accept.
func Gemini(doc json.RawMessage) (json.RawMessage, []Loss) { return doc, nil }

// Anthropic converts a schema to what Anthropic tool definitions accept.
func Anthropic(doc json.RawMessage) (json.RawMessage, []Loss) { return doc, nil }
