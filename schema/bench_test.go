package schema

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// readArgs and editArgs are the arguments of two common tools: a small call,
// and one with a list of objects.
type readArgs struct {
	Path   string `json:"path" jsonschema:"the file to read"`
	Offset int    `json:"offset,omitempty" minimum:"0"`
	Limit  int    `json:"limit,omitempty" minimum:"1" maximum:"2000"`
	Mode   string `json:"mode,omitempty" enum:"text,binary"`
}

type editArgs struct {
	Path  string    `json:"path"`
	Edits []oneEdit `json:"edits" minItems:"1"`
}

type oneEdit struct {
	Old string `json:"old"`
	New string `json:"new"`
	All bool   `json:"all,omitempty"`
}

// fullArgs is readArgs with an alias and defaults, neither of which the input needs.
type fullArgs struct {
	Path   string `json:"path" alias:"file_path,filePath"`
	Offset int    `json:"offset" default:"1" minimum:"0"`
	Limit  int    `json:"limit" default:"100" minimum:"1" maximum:"2000"`
	Mode   string `json:"mode,omitempty" enum:"text,binary"`
}

var readInput = []byte(`{"path":"/home/user/project/main.go","offset":120,"limit":200,"mode":"text"}`)

func editInput(last string) []byte {
	var b strings.Builder
	b.WriteString(`{"path":"/home/user/project/main.go","edits":[`)
	for i := range 20 {
		if i > 0 {
			b.WriteByte(',')
		}
		text := last
		if i < 19 || text == "" {
			text = fmt.Sprintf(`"func f%d() error {\n\treturn fmt.Errorf(\"no: %%w\", err)\n}\n"`, i)
		}
		fmt.Fprintf(&b, `{"old":"func f%d() error {\n\treturn errors.New(\"not there yet\")\n}\n","new":%s,"all":false}`, i, text)
	}
	b.WriteString(`]}`)
	return []byte(b.String())
}

func bigInput() []byte {
	return []byte(`{"path":"` + strings.Repeat(`func main() {\n\tfmt.Println(\"hello\")\n}\n`, 1480) + `"}`)
}

// compare runs f and the yardstick J = json.Unmarshal of the good input into the
// same type, in turns, and reports the processor time of f as a multiple of J.
func compare[T any](b *testing.B, good []byte, f func()) {
	var v T
	require.NoError(b, json.Unmarshal(good, &v))
	var ours, theirs time.Duration
	const turn = 200
	for b.Loop() {
		start := processorTime()
		for range turn {
			var v T
			if err := json.Unmarshal(good, &v); err != nil {
				b.Fatal(err)
			}
		}
		middle := processorTime()
		for range turn {
			f()
		}
		ours += processorTime() - middle
		theirs += middle - start
	}
	b.ReportMetric(float64(ours)/float64(theirs), "J")
	b.ReportMetric(float64(ours.Nanoseconds())/float64(b.N)/turn, "cpu-ns/call")
	b.ReportMetric(float64(theirs.Nanoseconds())/float64(b.N)/turn, "J-ns")
}

// cases are the goals: what a call may cost, in J.
var cases = []struct {
	name string
	run  func(b *testing.B)
}{
	{"read", func(b *testing.B) { decodeBench[readArgs](b, readInput, readInput, true) }},
	{"read/aliases+defaults", func(b *testing.B) { decodeBench[fullArgs](b, readInput, readInput, true) }},
	{"read/default-missing", func(b *testing.B) {
		decodeBench[fullArgs](b, readInput, []byte(`{"path":"/home/user/project/main.go","mode":"text"}`), true)
	}},
	{"edit", func(b *testing.B) { decodeBench[editArgs](b, editInput(""), editInput(""), true) }},
	{"64KB", func(b *testing.B) { decodeBench[readArgs](b, bigInput(), bigInput(), true) }},
	{"bad/type", func(b *testing.B) {
		decodeBench[readArgs](b, readInput, []byte(`{"path":"/home/user/project/main.go","offset":"x","limit":200,"mode":"text"}`), false)
	}},
	{"bad/enum", func(b *testing.B) {
		decodeBench[readArgs](b, readInput, []byte(`{"path":"/home/user/project/main.go","offset":120,"limit":200,"mode":"tex"}`), false)
	}},
	{"bad/missing", func(b *testing.B) {
		decodeBench[readArgs](b, readInput, []byte(`{"offset":120,"limit":200,"mode":"text"}`), false)
	}},
	{"bad/edit", func(b *testing.B) { decodeBench[editArgs](b, editInput(""), editInput("7"), false) }},
	{"unusual/5.0", func(b *testing.B) {
		decodeBench[readArgs](b, readInput, []byte(`{"path":"/home/user/project/main.go","offset":120.0,"limit":200,"mode":"text"}`), true)
	}},
	{"unusual/twice", func(b *testing.B) {
		decodeBench[readArgs](b, readInput, []byte(`{"path":"/home/user/project/main.go","offset":120,"limit":200,"mode":"text","limit":100}`), true)
	}},
	{"unusual/alias", func(b *testing.B) {
		decodeBench[fullArgs](b, readInput, []byte(`{"file_path":"/home/user/project/main.go","offset":120,"limit":200,"mode":"text"}`), true)
	}},
	{"unusual/repaired", func(b *testing.B) {
		decodeBench[fullArgs](b, readInput, []byte(`{"path":"/home/user/project/main.go","offset":"120","limit":200,"mode":"text"}`), true)
	}},
	{"unusual/unknown-keyword", func(b *testing.B) {
		s, err := Bind(json.RawMessage(`{"type":"object","properties":{"path":{"type":"string","x-hint":1},"offset":{"type":"integer","minimum":0},`+
			`"limit":{"type":"integer","minimum":1,"maximum":2000},"mode":{"enum":["text","binary"]}},"required":["path"],"additionalProperties":false}`), reflect.TypeFor[readArgs]())
		require.NoError(b, err)
		require.Nil(b, s.program)
		decodeWith[readArgs](b, s, readInput, readInput, true)
	}},
}

func BenchmarkDecode(b *testing.B) {
	for _, c := range cases {
		b.Run(c.name, c.run)
	}
}

func decodeBench[T any](b *testing.B, good, input []byte, ok bool) {
	s, err := Of[T]()
	require.NoError(b, err)
	decodeWith[T](b, s, good, input, ok)
}

func decodeWith[T any](b *testing.B, s *Schema, good, input []byte, ok bool) {
	compare[T](b, good, func() {
		var v T
		if _, err := s.Decode(input, &v, nil); (err == nil) != ok {
			b.Fatal(err)
		}
	})
}

func BenchmarkPrepare(b *testing.B) {
	b.Run("read", func(b *testing.B) {
		s, err := Of[readArgs]()
		require.NoError(b, err)
		compare[readArgs](b, readInput, func() { _, _, _ = s.Prepare(readInput, nil) })
	})
	b.Run("edit", func(b *testing.B) {
		s, err := Of[editArgs]()
		require.NoError(b, err)
		input := editInput("")
		compare[editArgs](b, input, func() { _, _, _ = s.Prepare(input, nil) })
	})
}

// BenchmarkDefine is the price of defining a tool.
func BenchmarkDefine(b *testing.B) {
	b.Run("read", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, _ = Of[readArgs]()
		}
	})
	b.Run("edit", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, _ = Of[editArgs]()
		}
	})
	b.Run("compile", func(b *testing.B) {
		s, err := Of[editArgs]()
		require.NoError(b, err)
		b.ReportAllocs()
		for b.Loop() {
			_, _ = Compile(s.JSON())
		}
	})
}

// BenchmarkParallel decodes on all processors at once: there is no lock on the way.
func BenchmarkParallel(b *testing.B) {
	s, err := Of[readArgs]()
	require.NoError(b, err)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			var v readArgs
			if _, err := s.Decode(readInput, &v, nil); err != nil {
				b.Error(err)
			}
		}
	})
}
