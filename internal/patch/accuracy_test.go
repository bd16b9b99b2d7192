package patch_test

import (
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/agenttool/tool/internal/diff"
	"github.com/agenttool/tool/internal/editcases"
	"github.com/agenttool/tool/internal/patch"
	"github.com/agenttool/tool/internal/patchcases"
)

func run(c *patchcases.Case) (string, error) {
	changes, err := patch.Plan(c.Text, func(name string) (string, error) {
		if name != "f.go" {
			return "", fs.ErrNotExist
		}
		return c.File, nil
	})
	if err != nil {
		return "", err
	}
	if len(changes) != 1 {
		return "", fmt.Errorf("%d changes", len(changes))
	}
	return changes[0].New, nil
}

// show logs the bad cases of the class that PATCH_SHOW names, or of all.
func show(tb testing.TB) func(string, *patchcases.Case, editcases.Verdict, string, error) {
	want := os.Getenv("PATCH_SHOW")
	if want == "" {
		return nil
	}
	return func(class string, c *patchcases.Case, v editcases.Verdict, got string, err error) {
		if want == "all" || want == class {
			tb.Logf("%s: verdict %d, error %v\n%s\n%s", class, v, err, c.Text, diff.Unified("want", "got", strings.Join(c.Accept[:min(1, len(c.Accept))], ""), got, nil))
		}
	}
}

func casesNeeded(tb testing.TB) {
	if !patchcases.Available() {
		tb.Skip("the Go source tree is not there")
	}
}

// TestAccuracy holds the placing of hunks to its goals on a small set.
func TestAccuracy(t *testing.T) {
	casesNeeded(t)
	by := patchcases.Measure(20260823, 12, run, show(t))
	total := by.Total()
	assert.GreaterOrEqual(t, total.Correct(), 99.0, "correct")
	assert.LessOrEqual(t, total.Wrong(), 0.1, "WRONG")
	assert.Zero(t, total.By[editcases.Severe], "severe")
	assert.LessOrEqual(t, total.FalseReject(), 0.7, "false reject")
	assert.GreaterOrEqual(t, total.Applied(), 91.0, "applied right")
	for class, s := range by {
		assert.GreaterOrEqual(t, s.N, 5, "%s: too few cases", class)
		assert.GreaterOrEqual(t, s.Correct(), 91.6, "%s: %+v", class, s)
	}
}

// BenchmarkAccuracy measures all classes on two fresh seeds and reports the
// shares. With PATCH_TABLE=1 it prints the table of the documentation, with
// PATCH_SHOW=all what went wrong.
func BenchmarkAccuracy(b *testing.B) {
	casesNeeded(b)
	for _, seed := range []uint64{8675309, 299792458} {
		b.Run(fmt.Sprint("seed=", seed), func(b *testing.B) {
			var by editcases.Scores
			for b.Loop() {
				by = patchcases.Measure(seed, 60, run, show(b))
			}
			total := by.Total()
			b.ReportMetric(total.Correct(), "correct%")
			b.ReportMetric(total.Wrong(), "WRONG%")
			b.ReportMetric(total.Severe(), "severe%")
			b.ReportMetric(total.FalseReject(), "falsereject%")
			b.ReportMetric(total.Applied(), "appliedright%")
			if os.Getenv("PATCH_TABLE") != "" {
				require.NoError(b, by.Table(os.Stdout))
			}
		})
	}
}
