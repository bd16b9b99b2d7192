// Package schema is JSON Schema for the arguments of tools: it says what a model
// may send, and turns what a model did send into a Go value or into words that
// help it to do better.
//
// [Of] infers a schema from a Go type and its struct tags (the rules are at
// [ForType]). [Compile] takes one that is given, [Bind] one that goes with a Go
// type. A [Schema] then does three things with input:
//
//   - [Schema.Validate] says whether it fits, as it stands.
//   - [Schema.Prepare] repairs what can only mean one thing, fills in defaults and
//     validates.
//   - [Schema.Decode] does that and stores the result in a Go value.
//
// Input stays text until the one decode at the end, so no integer is rounded on
// the way. What is wrong is reported as an [*Error] with all [Issue]s, each with
// the JSON Pointer of the value, in the same order and words every time, and with
// a corrected example.
//
// What is valid is decided by github.com/google/jsonschema-go, in the terms of
// draft 2020-12; older drafts are translated. For the keywords that tools use, a
// schema is also compiled to a program that runs over the bytes of the input
// without allocating. It only ever answers "surely valid", and then encoding/json
// decodes; all else goes the slow way.
//
// A schema from a stranger passes [Check] before anything else is done with it:
// some schemas never end. A schema from a stranger can still describe a tool
// falsely; it is text that a model reads.
//
// [OpenAIStrict], [Gemini] and [Anthropic] convert a schema to what these
// providers accept, and list what they cannot say. Values that models send under
// the converted schema are understood under the original.
//
// Everything here is safe for concurrent use. Nothing is kept outside of the
// values returned, nothing is fetched, and no goroutine is started. The package
// does not check format, which JSON Schema treats as a remark; the types that a
// value is decoded into do.
package schema
