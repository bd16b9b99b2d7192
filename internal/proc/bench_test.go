//go:build unix

package proc

import (
	"context"
	"fmt"
	"os/exec"
	"testing"
	"time"

	"github.com/agenttool/tool/truncate"
)

// BenchmarkThroughput sets the runner against cat: the same bytes, drained and
// thrown away.
func BenchmarkThroughput(b *testing.B) {
	sh := shell(b)
	for _, source := range []struct {
		name, text string
		bytes      int64
	}{
		{"yes", "yes | head -c 4G", 4 << 30},
		{"line", "head -c 200M /dev/zero | tr '\\0' x", 200 << 20},
		{"seq", "seq 1 20000000", 168_888_897},
	} {
		b.Run(source.name, func(b *testing.B) {
			b.SetBytes(source.bytes)
			for b.Loop() {
				spec := &Spec{Path: sh.Path, Args: sh.Args(source.text), Show: truncate.Policy{Keep: truncate.HeadTail, MaxBytes: 30_000, Errors: 20}}
				spec.Collect.Errors, spec.Collect.Fold = 20, 4
				p, err := Start(context.Background(), spec)
				if err != nil {
					b.Fatal(err)
				}
				if r := p.Wait(); r.Raw != source.bytes {
					b.Fatal("lost output: ", r.Raw)
				}
				p.Close()
			}
			per := b.Elapsed() / time.Duration(b.N)
			begin := time.Now()
			if err := exec.Command(sh.Path, sh.Args(fmt.Sprintf("{ %s; } | cat >/dev/null", source.text))...).Run(); err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(per)/float64(time.Since(begin)), "×cat")
		})
	}
}

// BenchmarkShortCommand is what the runner adds to the start of a process.
func BenchmarkShortCommand(b *testing.B) {
	sh := shell(b)
	b.Run("proc", func(b *testing.B) {
		for b.Loop() {
			p, err := Start(context.Background(), &Spec{Path: sh.Path, Args: sh.Args("echo hi"), Env: []string{"A=1"}})
			if err != nil {
				b.Fatal(err)
			}
			p.Wait()
			p.Close()
		}
	})
	b.Run("exec", func(b *testing.B) {
		for b.Loop() {
			cmd := exec.Command(sh.Path, sh.Args("echo hi")...)
			cmd.Env = []string{"A=1"}
			if _, err := cmd.CombinedOutput(); err != nil {
				b.Fatal(err)
			}
		}
	})
}
