package tool_test

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/agenttool/tool"
	"github.com/agenttool/tool/truncate"
	"github.com/stretchr/testify/require"
)

// The yardstick of these benchmarks is J: json.Unmarshal of the same arguments
// into the same struct, measured in the same process. Ratios to J are reported as
// the metric "J"; they hold across machines, nanoseconds do not.

type readIn struct {
	FilePath string `json:"filePath" jsonschema:"path of the file"`
	Offset   int    `json:"offset,omitempty" minimum:"0"`
	Limit    int    `json:"limit,omitempty" minimum:"1" maximum:"2000"`
	Format   string `json:"format,omitempty" enum:"text,hex"`
}

type editIn struct {
	FilePath string    `json:"filePath"`
	Edits    []oneEdit `json:"edits" minItems:"1"`
}

type oneEdit struct {
	Old string `json:"old" minLength:"1"`
	New string `json:"new"`
	All bool   `json:"all,omitempty"`
}

const readArgs = `{"filePath":"internal/server/handler.go","offset":120,"limit":200,"format":"text"}`

func editArgs() string {
	var in editIn
	in.FilePath = "internal/server/handler.go"
	for i := range 20 {
		in.Edits = append(in.Edits, oneEdit{Old: fmt.Sprintf("\tif err := s.step%d(ctx); err != nil {\n\t\treturn err\n\t}\n", i), New: fmt.Sprintf("\tif err := s.step%d(ctx, opts); err != nil {\n\t\treturn fmt.Errorf(\"step: %%w\", err)\n\t}\n", i)})
	}
	b, err := json.Marshal(in)
	if err != nil {
		panic(err)
	}
	return string(b)
}

func bigArgs() string {
	b, err := json.Marshal(readIn{FilePath: strings.Repeat("0123456789abcdef", 4096)})
	if err != nil {
		panic(err)
	}
	return string(b)
}

func fixed[In any](name string, res *tool.Result) tool.Tool {
	return tool.Define(tool.Def{Name: name, Description: "d", Parallel: true},
		func(context.Context, *tool.Call, In) (*tool.Result, error) { return res, nil })
}

// perOp is the processor time of one f, in nanoseconds, over at least 50 ms.
func perOp(f func()) float64 {
	for n := 1; ; n *= 2 {
		start := cpuTime()
		for range n {
			f()
		}
		if d := cpuTime() - start; d > 50*time.Millisecond {
			return float64(d.Nanoseconds()) / float64(n)
		}
	}
}

// benchJ measures J for the arguments and type of a benchmark.
func benchJ[In any](args string) float64 {
	in := []byte(args)
	return perOp(func() {
		var v In
		if err := json.Unmarshal(in, &v); err != nil {
			panic(err)
		}
	})
}

// reportRatio reports the processor time since start, per operation, as a multiple of base.
func reportRatio(b *testing.B, start time.Duration, base float64, unit string) {
	b.ReportMetric(float64((cpuTime()-start).Nanoseconds())/float64(b.N)/base, unit)
}

// benchCall runs args, whose J is that of the ordinary arguments like.
func benchCall[In any](b *testing.B, args, like string, ok bool) {
	t := fixed[In]("t", tool.Text("ok"))
	set := newSet(b, t)
	c := call("1", "t", args)
	j := benchJ[In](like)
	ctx := context.Background()
	b.ReportAllocs()
	start := cpuTime()
	for b.Loop() {
		x, _, err := set.Lookup(c.Tool)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := x.Run(ctx, c); (err == nil) != ok {
			b.Fatal(err)
		}
	}
	reportRatio(b, start, j, "J")
}

// BenchmarkNative is a call without executor: look-up, check, decode, run, bound the result.
func BenchmarkNative(b *testing.B) {
	b.Run("read", func(b *testing.B) { benchCall[readIn](b, readArgs, readArgs, true) })
	b.Run("edit", func(b *testing.B) { benchCall[editIn](b, editArgs(), editArgs(), true) })
	b.Run("64KB", func(b *testing.B) { benchCall[readIn](b, bigArgs(), bigArgs(), true) })
}

// BenchmarkUnusual is input that is valid, but not as most.
func BenchmarkUnusual(b *testing.B) {
	b.Run("5.0", func(b *testing.B) {
		benchCall[readIn](b, `{"filePath":"internal/server/handler.go","offset":5.0,"limit":200}`, readArgs, true)
	})
	b.Run("duplicate", func(b *testing.B) {
		benchCall[readIn](b, `{"filePath":"a","offset":120,"filePath":"internal/server/handler.go"}`, readArgs, true)
	})
	b.Run("repaired", func(b *testing.B) {
		benchCall[readIn](b, `{"filePath":"internal/server/handler.go","offset":"120","limit":200}`, readArgs, true)
	})
}

// BenchmarkBad is input that is refused, with every problem named.
func BenchmarkBad(b *testing.B) {
	b.Run("type", func(b *testing.B) {
		benchCall[readIn](b, `{"filePath":5,"offset":120,"limit":200,"format":"text"}`, readArgs, false)
	})
	b.Run("enum", func(b *testing.B) {
		benchCall[readIn](b, `{"filePath":"internal/server/handler.go","offset":120,"limit":200,"format":"xml"}`, readArgs, false)
	})
	b.Run("missing", func(b *testing.B) {
		benchCall[readIn](b, `{"offset":120,"limit":200,"format":"text"}`, readArgs, false)
	})
	b.Run("edit20", func(b *testing.B) {
		args := editArgs()
		i := strings.LastIndex(args, `"new":`)
		bad := args[:i] + `"new":7}]}`
		j := benchJ[editIn](args)
		x := fixed[editIn]("t", tool.Text("ok"))
		c := call("1", "t", bad)
		ctx := context.Background()
		b.ReportAllocs()
		start := cpuTime()
		for b.Loop() {
			if _, err := x.Run(ctx, c); err == nil {
				b.Fatal("accepted")
			}
		}
		reportRatio(b, start, j, "J")
	})
}

// BenchmarkCallWithJSON is a native call and the JSON of its result of 1 KB.
func BenchmarkCallWithJSON(b *testing.B) {
	x := fixed[readIn]("t", tool.Text(strings.Repeat("a line of the result\n", 50)))
	c := call("1", "t", readArgs)
	j := benchJ[readIn](readArgs)
	ctx := context.Background()
	var buf []byte
	b.ReportAllocs()
	start := cpuTime()
	for b.Loop() {
		res, err := x.Run(ctx, c)
		if err != nil {
			b.Fatal(err)
		}
		if buf, err = res.AppendJSON(buf[:0]); err != nil {
			b.Fatal(err)
		}
	}
	reportRatio(b, start, j, "J")
}

// BenchmarkResult1MB hands on, cuts and encodes a text of 1 MB.
func BenchmarkResult1MB(b *testing.B) {
	text := strings.Repeat("0123456789 a line of a long result \"quoted\"\n", 1<<20/44)
	run := func(b *testing.B, p truncate.Policy) {
		x := fixed[noInput]("t", tool.Text(text))
		c := call("1", "t", "").Bind(tool.Runtime{Truncate: tool.Truncator(p)})
		ctx := context.Background()
		b.ReportAllocs()
		for b.Loop() {
			if _, err := x.Run(ctx, c); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.Run("whole", func(b *testing.B) { run(b, truncate.Policy{MaxBytes: -1, MaxLines: 1 << 30}) })
	b.Run("cut", func(b *testing.B) { run(b, truncate.Policy{}) })
	b.Run("encoded", func(b *testing.B) {
		base := perOp(func() {
			if _, err := json.Marshal(text); err != nil {
				panic(err)
			}
		})
		var buf []byte
		res := tool.Text(text)
		b.SetBytes(int64(len(text)))
		start := cpuTime()
		for b.Loop() {
			var err error
			if buf, err = res.AppendJSON(buf[:0]); err != nil {
				b.Fatal(err)
			}
		}
		reportRatio(b, start, base, "json.Marshal")
	})
}

// still is a tool that does nothing, so that only the executor's own work is left.
type still struct {
	spec tool.Spec
	res  tool.Result
}

func (s *still) Name() string                                          { return s.spec.Name }
func (s *still) Spec(context.Context, *tool.Agent) (*tool.Spec, error) { return &s.spec, nil }
func (s *still) Run(context.Context, *tool.Call) (*tool.Result, error) { return &s.res, nil }

// BenchmarkExecutor8 is a turn of eight calls at once: of a tool that does nothing,
// and of one that checks and decodes, less eight such calls without the executor.
func BenchmarkExecutor8(b *testing.B) {
	for name, t := range map[string]tool.Tool{
		"own": &still{
			spec: tool.Spec{Name: "t", Description: "d", Input: json.RawMessage(object), Parallel: true},
			res:  tool.Result{Title: "t", Truncated: &tool.Truncation{}},
		},
		"read": fixed[readIn]("t", tool.Text("ok")),
	} {
		b.Run(name, func(b *testing.B) {
			set := newSet(b, t)
			var calls []*tool.Call
			for i := range 8 {
				calls = append(calls, call(fmt.Sprint(i), "t", readArgs))
			}
			ctx := context.Background()
			ballast := make([]byte, 64<<20) // as in a program that has a heap of its own
			defer runtime.KeepAlive(ballast)
			native := perOp(func() {
				for _, c := range calls {
					x, _, err := set.Lookup(c.Tool)
					if err != nil {
						panic(err)
					}
					if _, err := x.Run(ctx, c); err != nil {
						panic(err)
					}
				}
			})
			ex := &tool.Executor{}
			b.ReportAllocs()
			start := cpuTime()
			for b.Loop() {
				if _, err := ex.Run(ctx, set, calls...); err != nil {
					b.Fatal(err)
				}
			}
			cpu := float64((cpuTime() - start).Nanoseconds()) / float64(b.N)
			b.ReportMetric(cpu-native, "cpu-ns-over-native")
		})
	}
}

// BenchmarkParallel runs native calls on all cores; there is no lock on the way.
func BenchmarkParallel(b *testing.B) {
	set := newSet(b, fixed[readIn]("t", tool.Text("ok")))
	ctx := context.Background()
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		c := call("1", "t", readArgs)
		for pb.Next() {
			x, _, err := set.Lookup(c.Tool)
			if err != nil {
				b.Error(err)
				return
			}
			if _, err := x.Run(ctx, c); err != nil {
				b.Error(err)
				return
			}
		}
	})
}

// BenchmarkDefine makes a tool of a type, schema and all.
func BenchmarkDefine(b *testing.B) {
	b.Run("read", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			fixed[readIn]("t", nil)
		}
	})
	b.Run("edit", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			fixed[editIn]("t", nil)
		}
	})
}

// BenchmarkResolve100 makes the offer of a turn out of 100 tools.
func BenchmarkResolve100(b *testing.B) {
	var r tool.Registry
	for i := range 100 {
		require.NoError(b, r.Add(fixed[readIn](fmt.Sprintf("tool_%d", i), nil)))
	}
	ctx := context.Background()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := r.Resolve(ctx, nil); err != nil {
			b.Fatal(err)
		}
	}
}

// TestAllocations is the hard gate behind the benchmarks: allocations do not
// depend on the machine.
func TestAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates; the gate runs without it")
	}
	ctx := context.Background()
	measure := func(x tool.Tool, args string) float64 {
		c := call("1", "t", args)
		return testing.AllocsPerRun(200, func() {
			if _, err := x.Run(ctx, c); err != nil {
				t.Fatal(err)
			}
		})
	}
	require.LessOrEqual(t, measure(fixed[readIn]("t", tool.Text("ok")), readArgs), 12.0, "read")
	require.LessOrEqual(t, measure(fixed[editIn]("t", tool.Text("ok")), editArgs()), 110.0, "edit")

	text := strings.Repeat("0123456789\n", 1<<20/11)
	c := call("1", "t", "").Bind(tool.Runtime{Truncate: tool.Truncator(truncate.Policy{MaxBytes: -1, MaxLines: 1 << 30})})
	x := fixed[noInput]("t", tool.Text(text))
	r := testing.Benchmark(func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := x.Run(ctx, c); err != nil {
				b.Fatal(err)
			}
		}
	})
	require.Less(t, r.AllocedBytesPerOp(), int64(4096), "1 MB is handed on without a copy")
}
