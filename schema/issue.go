package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

var (
	// ErrInvalid is matched by every [Error]: the input does not fit the schema.
	ErrInvalid = errors.New("input does not fit the schema")

	// ErrHostile is matched by the error of [Check] and [Compile] for a schema
	// that could hang or kill the process: see [Check].
	ErrHostile = errors.New("schema refused")

	// ErrUnsupported is matched by the error of [Compile] for a schema that is
	// harmless but cannot be used to validate: an unknown draft, a reference to
	// another document, a regular expression that RE2 does not know, a keyword
	// with a value of the wrong type. It may still be shown to a model.
	ErrUnsupported = errors.New("schema cannot be compiled")
)

// Issue is one thing that is wrong with a value. All fields are text for a reader.
type Issue struct {
	// Path is the JSON Pointer (RFC 6901) of the value, as in "/edits/19/new";
	// "" is the whole input. For a missing key it is where the key should be.
	Path string `json:"path"`
	// Keyword is the JSON Schema keyword that failed: "required", "type", "enum",
	// "additionalProperties" and so on; or "alias" for two spellings of one key
	// with different values, or "decode" for a value that the schema allows and
	// the Go type refuses.
	Keyword string `json:"keyword"`
	// Want says what was expected: "string", "integer >= 1", `one of "a", "b"`.
	Want string `json:"want"`
	// Got says what was found: "nothing", `string "x"`, "number 7". At most 200
	// characters of a value are repeated.
	Got string `json:"got"`
}

// String returns the issue as one line, such as
//
//	/edits/19/new: want string, got number 7
func (i Issue) String() string {
	var b strings.Builder
	if i.Path == "" {
		b.WriteString("input")
	} else {
		b.WriteString(i.Path)
	}
	b.WriteString(": ")
	switch i.Keyword {
	case "additionalProperties":
		b.WriteString(i.Got)
		if i.Want != "" {
			b.WriteString("; ")
			b.WriteString(i.Want)
		}
	default:
		b.WriteString("want ")
		b.WriteString(i.Want)
		b.WriteString(", got ")
		b.WriteString(i.Got)
		if i.Keyword == "required" {
			b.WriteString(" (required)")
		}
	}
	return b.String()
}

// Error says why an input was refused. It matches [ErrInvalid].
type Error struct {
	// Issues are all the things wrong with the input, in a stable order: missing
	// keys first, then by position, array indices as numbers. At most 100. Empty
	// when the input is not JSON, see Err.
	Issues []Issue
	// Example is a minimal corrected form of the input: it fits the schema, keeps
	// the good values of the input, and clips long strings. Nil if none was found.
	Example json.RawMessage
	// CutOff says that the input is JSON that ends too early, as when a model
	// runs into its output limit.
	CutOff bool
	// Err is the reason when there are no Issues, such as a syntax error. May be nil.
	Err error
}

// Error returns the issues, one per line.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(ErrInvalid.Error())
	switch {
	case len(e.Issues) == 1:
		b.WriteString(": ")
		b.WriteString(e.Issues[0].String())
	case len(e.Issues) > 1:
		b.WriteByte(':')
		for _, i := range e.Issues {
			b.WriteString("\n- ")
			b.WriteString(i.String())
		}
	case e.Err != nil:
		fmt.Fprintf(&b, ": %v", e.Err)
	}
	return b.String()
}

// Is reports whether target is [ErrInvalid].
func (e *Error) Is(target error) bool { return target == ErrInvalid }

// Unwrap returns e.Err.
func (e *Error) Unwrap() error { return e.Err }

// Repair is one change that was made to an input so that it fits its schema.
type Repair struct {
	Path string `json:"path"` // JSON Pointer of the value that was changed
	From string `json:"from"` // what it was, as JSON (for an alias: the key); at most 200 characters
	To   string `json:"to"`   // what it became
	// Rule names the change: "decoded" (a string that held an object or array),
	// "number", "integer", "boolean" (a string that held one), "wrapped" (a lone
	// value where a list is due), "alias" (another spelling of a key).
	Rule string `json:"rule"`
}

// String returns the repair as one line.
func (r Repair) String() string {
	p := r.Path
	if p == "" {
		p = "input"
	}
	return fmt.Sprintf("%s: %s became %s (%s)", p, r.From, r.To, r.Rule)
}

// maxEcho is how many characters of any one value are repeated to the reader:
// enough to recognise it, too few to leak a secret whole or to flood a context.
const maxEcho = 200

// clip cuts s to at most n characters, marking the cut.
func clip(s string, n int) string {
	if len(s) <= n || utf8.RuneCountInString(s) <= n {
		return s
	}
	for i := range s {
		if n--; n == 0 {
			return s[:i] + "…"
		}
	}
	return s
}
