package truncate

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"
)

// Sizes of the benchmarks; each is set against bytes.Count over the same text.
var benchSizes = []int{1 << 10, 1 << 20, 100 << 20}

func benchText(size int) string {
	line := "a line of ordinary length, as programs print them all day\n"
	return strings.Repeat(line, size/len(line)+1)[:size]
}

// against reports how many times as long as one bytes.Count over text an operation takes.
func against(b *testing.B, text string, op func()) {
	raw := []byte(text)
	var n int
	b.ReportAllocs()
	for b.Loop() {
		op()
	}
	per := b.Elapsed() / time.Duration(b.N)
	start := time.Now()
	rounds := max(3, b.N/4)
	for range rounds {
		n += bytes.Count(raw, newline)
	}
	if n == 0 {
		b.Fatal("no lines")
	}
	b.ReportMetric(float64(per)/(float64(time.Since(start))/float64(rounds)), "×Count")
}

func BenchmarkApply(b *testing.B) {
	for _, size := range benchSizes {
		text := benchText(size)
		for _, bc := range []struct {
			name string
			p    Policy
		}{
			{"head", Policy{}},
			{"tail", Policy{Keep: Tail}},
			{"headtail", Policy{Keep: HeadTail}},
			{"headtail-errors", Policy{Keep: HeadTail, Errors: 20}},
			{"fits", Policy{MaxBytes: 1 << 30, MaxLines: 1 << 30}},
			{"fits-counted", Policy{MaxBytes: 1 << 30, MaxLines: size/2 + 1}},
		} {
			b.Run(fmt.Sprintf("%s/%dKiB", bc.name, size>>10), func(b *testing.B) {
				ctx := context.Background()
				against(b, text, func() { bc.p.Apply(ctx, text) })
			})
		}
	}
}

func BenchmarkCollector(b *testing.B) {
	for _, size := range benchSizes {
		text := []byte(benchText(size))
		for _, errs := range []int{0, 20} {
			b.Run(fmt.Sprintf("errors=%d/%dKiB", errs, size>>10), func(b *testing.B) {
				b.SetBytes(int64(size))
				against(b, string(text), func() {
					c := NewCollector(&CollectorOptions{Errors: errs})
					for p := text; len(p) > 0; {
						n := min(len(p), 32<<10)
						c.Write(p[:n])
						p = p[n:]
					}
					c.End()
				})
			})
		}
	}
}
