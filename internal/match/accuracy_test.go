package match_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/agenttool/tool/internal/editcases"
	"github.com/agenttool/tool/internal/match"
)

func run(c *editcases.Case) (string, error) {
	p, err := match.Find(c.File, match.Edit{Old: c.Old, New: c.New, All: c.All})
	if err != nil {
		return "", err
	}
	return p.Apply(c.File), nil
}

func casesNeeded(tb testing.TB) {
	if !editcases.Available() {
		tb.Skip("the Go source tree is not there")
	}
}

// show logs the bad cases of the class that MATCH_SHOW names, or of all.
func show(tb testing.TB) func(*editcases.Case, editcases.Verdict, string, error) {
	class := os.Getenv("MATCH_SHOW")
	if class == "" {
		return nil
	}
	return func(c *editcases.Case, v editcases.Verdict, got string, err error) {
		if class == "all" || class == c.Class {
			tb.Logf("%s: verdict %d, error %v\n--- old\n%s\n--- new\n%s\n%s", c.Class, v, err, c.Old, c.New, firstDiff(got, c.Accept))
		}
	}
}

// firstDiff shows where a result leaves the wanted one.
func firstDiff(got string, accept []string) string {
	if len(accept) == 0 {
		return "(refusal wanted)"
	}
	a, b := strings.Split(got, "\n"), strings.Split(accept[0], "\n")
	i := 0
	for i < min(len(a), len(b)) && a[i] == b[i] {
		i++
	}
	return fmt.Sprintf("--- got line %d\n%q\n--- want\n%q", i+1, a[i:min(len(a), i+6)], b[i:min(len(b), i+6)])
}

// TestAccuracy holds the ladder to its goals on a small set.
func TestAccuracy(t *testing.T) {
	casesNeeded(t)
	by := editcases.Measure(20260823, 12, run, show(t))
	total := by.Total()
	assert.GreaterOrEqual(t, total.Correct(), 99.0, "correct")
	assert.LessOrEqual(t, total.Wrong(), 0.1, "WRONG")
	assert.Zero(t, total.By[editcases.Severe], "severe")
	assert.LessOrEqual(t, total.FalseReject(), 0.7, "false reject")
	assert.GreaterOrEqual(t, total.Applied(), 92.0, "applied right")
	for class, s := range by {
		assert.GreaterOrEqual(t, s.N, 5, "%s: too few cases", class)
		assert.GreaterOrEqual(t, s.Correct(), 91.6, "%s: %+v", class, s)
	}
}

// BenchmarkSpeed reports the median time of all cases as a multiple of the
// median time of an exact, unique replacement.
func BenchmarkSpeed(b *testing.B) {
	casesNeeded(b)
	var all []*editcases.Case
	for _, class := range editcases.Classes() {
		all = append(all, editcases.Make(class, 90210, 20)...)
	}
	median := func(f func(c *editcases.Case)) time.Duration {
		times := make([]time.Duration, len(all))
		for i, c := range all {
			times[i] = best(3, func() { f(c) })
		}
		slices.Sort(times)
		return times[len(times)/2]
	}
	var ours, exact time.Duration
	for b.Loop() {
		ours = median(func(c *editcases.Case) { _, _ = run(c) })
		exact = median(func(c *editcases.Case) {
			if strings.Count(c.File, c.Old) == 1 {
				sink += len(strings.Replace(c.File, c.Old, c.New, 1))
			}
		})
	}
	b.ReportMetric(float64(ours)/float64(exact), "x_exact")
	b.ReportMetric(float64(ours.Microseconds()), "µs_median")
}

// BenchmarkAccuracy measures all classes on two seeds that the rules were not
// tuned on and reports the shares. With MATCH_TABLE=1 it prints the table of the
// documentation, with MATCH_SHOW=all what went wrong.
func BenchmarkAccuracy(b *testing.B) {
	casesNeeded(b)
	for _, seed := range []uint64{8675309, 299792458} {
		b.Run(fmt.Sprint("seed=", seed), func(b *testing.B) {
			var by editcases.Scores
			for b.Loop() {
				by = editcases.Measure(seed, 100, run, show(b))
			}
			total := by.Total()
			b.ReportMetric(total.Correct(), "correct%")
			b.ReportMetric(total.Wrong(), "WRONG%")
			b.ReportMetric(total.Severe(), "severe%")
			b.ReportMetric(total.FalseReject(), "falsereject%")
			b.ReportMetric(total.Applied(), "appliedright%")
			b.ReportMetric(by.Worst(), "worstclass%")
			if os.Getenv("MATCH_TABLE") != "" {
				require.NoError(b, by.Table(os.Stdout))
			}
		})
	}
}
