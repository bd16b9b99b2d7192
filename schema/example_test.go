package schema_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"github.com/agenttool/tool/schema"
)

type readArgs struct {
	Path  string `json:"path" jsonschema:"the file to read" alias:"file_path"`
	Limit int    `json:"limit" default:"2000" minimum:"1" jsonschema:"lines to read"`
	Mode  string `json:"mode,omitempty" enum:"text,binary"`
}

func Example() {
	s, err := schema.Of[readArgs]()
	if err != nil {
		panic(err)
	}
	var args readArgs
	repairs, err := s.Decode(json.RawMessage(`{"file_path":"go.mod","limit":"20"}`), &args, nil)
	fmt.Println(args, err)
	for _, r := range repairs {
		fmt.Println(r)
	}
	// Output:
	// {go.mod 20 } <nil>
	// /path: file_path became path (alias)
	// /limit: "20" became 20 (integer)
}

func ExampleFor() {
	doc, err := schema.For[readArgs]()
	fmt.Println(string(doc), err)
	// Output:
	// {"type":"object","properties":{"path":{"type":"string","description":"the file to read"},"limit":{"type":"integer","description":"lines to read","minimum":1,"default":2000},"mode":{"type":"string","enum":["text","binary"]}},"required":["path"],"additionalProperties":false} <nil>
}

func ExampleError() {
	s, _ := schema.Of[readArgs]()
	var args readArgs
	_, err := s.Decode(json.RawMessage(`{"Path":"go.mod","limit":0,"mode":"hex"}`), &args, nil)
	var e *schema.Error
	if errors.As(err, &e) {
		for _, issue := range e.Issues {
			fmt.Println(issue)
		}
		fmt.Println("Example:", string(e.Example))
	}
	// Output:
	// /path: want string, got nothing (required)
	// /limit: want integer >= 1, got number 0
	// /mode: want one of "text", "binary", got string "hex"
	// /Path: unknown key; did you mean "path"? legal keys: "path", "limit", "mode"
	// Example: {"path":"go.mod"}
}

func ExampleError_cutOff() {
	s, _ := schema.Of[readArgs]()
	_, _, err := s.Prepare(json.RawMessage(`{"path":"go.m`), nil)
	var e *schema.Error
	fmt.Println(errors.As(err, &e), e.CutOff, e.Err)
	// Output: true true JSON ends too early, after 13 bytes
}

func ExampleCompile() {
	s, err := schema.Compile(json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`))
	if err != nil {
		panic(err)
	}
	fmt.Println(s.Validate(json.RawMessage(`{"n":1.0}`)))
	fmt.Println(s.Validate(json.RawMessage(`{"n":"1"}`)))
	out, repairs, err := s.Prepare(json.RawMessage(`{"n":"1"}`), nil)
	fmt.Println(string(out), repairs, err)
	// Output:
	// <nil>
	// input does not fit the schema: /n: want integer, got string "1"
	// {"n":1} [/n: "1" became 1 (integer)] <nil>
}

func ExampleSchema_Prepare_strict() {
	s, _ := schema.Of[readArgs]()
	out, _, err := s.Prepare(json.RawMessage(`{"file_path":"go.mod","mode":null}`), &schema.Options{Strict: true})
	fmt.Println(string(out), err)
	_, _, err = s.Prepare(json.RawMessage(`{"path":"go.mod","limit":"20"}`), &schema.Options{Strict: true})
	fmt.Println(err)
	// Output:
	// {"path":"go.mod","limit":2000} <nil>
	// input does not fit the schema: /limit: want integer >= 1, got string "20"
}

func ExampleCheck() {
	err := schema.Check(json.RawMessage(`{"type":"object","properties":{"a":{"$ref":"#/$defs/a"}},"$defs":{"a":{"allOf":[{"$ref":"#/$defs/a"}]}}}`))
	fmt.Println(errors.Is(err, schema.ErrHostile))
	fmt.Println(err)
	// Output:
	// true
	// schema refused: /$defs/a leads back to itself by references alone
}

func ExampleBind() {
	// The schema says what is allowed, the type where it goes.
	type args struct {
		Count int `json:"count" alias:"n"`
	}
	s, err := schema.Bind(json.RawMessage(`{"type":"object","properties":{"count":{"type":"integer","maximum":5}}}`), reflect.TypeFor[args]())
	if err != nil {
		panic(err)
	}
	var a args
	_, err = s.Decode(json.RawMessage(`{"n":3.0}`), &a, nil)
	fmt.Println(a.Count, err)
	_, err = s.Decode(json.RawMessage(`{"n":7}`), &a, nil)
	fmt.Println(err)
	// Output:
	// 3 <nil>
	// input does not fit the schema: /n: want integer <= 5, got number 7
}

func ExampleCanonical() {
	a, _ := schema.Canonical(json.RawMessage(`{"path": "a", "limit": 10.0}`))
	b, _ := schema.Canonical(json.RawMessage(`{"limit":10,"path":"\u0061"}`))
	fmt.Println(string(a), string(a) == string(b))
	// Output: {"limit":10,"path":"a"} true
}

func ExampleOpenAIStrict() {
	s, _ := schema.Of[readArgs]()
	doc, losses := schema.OpenAIStrict(s.JSON())
	fmt.Println(string(doc))
	fmt.Println(losses)
	// Output:
	// {"type":"object","properties":{"path":{"type":"string","description":"the file to read"},"limit":{"type":["null","integer"],"description":"lines to read Default: 2000.","minimum":1},"mode":{"type":["null","string"],"enum":["text","binary",null]}},"required":["path","limit","mode"],"additionalProperties":false}
	// [/properties/limit: default: moved to the description]
}

func ExampleGemini() {
	doc, losses := schema.Gemini(json.RawMessage(`{"type":"object","properties":{"n":{"type":["integer","null"],"exclusiveMinimum":0}}}`))
	fmt.Println(string(doc), losses)
	// Output: {"type":"object","properties":{"n":{"type":"integer","nullable":true,"minimum":1}}} []
}

func ExampleAnthropic() {
	doc, losses := schema.Anthropic(json.RawMessage(`{"oneOf":[{"properties":{"url":{"type":"string"}},"required":["url"]},{"properties":{"path":{"type":"string"}},"required":["path"]}]}`))
	fmt.Println(string(doc))
	fmt.Println(losses)
	// Output:
	// {"type":"object","properties":{"url":{"type":"string"},"path":{"type":"string"}}}
	// [the root: oneOf: not possible at the root: the properties are kept, which of them go together is not]
}
