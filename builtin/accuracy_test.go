package builtin

import (
	"os"
	"strings"
	"testing"

	"github.com/agenttool/tool/internal/editcases"
	"github.com/agenttool/tool/internal/patchcases"
	"github.com/agenttool/tool/tooltest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// scorer edits cases by calls of the tools, as a model would: the file is read,
// page by page, and then changed. What is judged is the file on disk.
type scorer struct {
	tb  testing.TB
	ts  *Toolset
	dir string
	n   int
}

func newScorer(tb testing.TB) *scorer {
	s := &scorer{tb: tb, dir: tb.TempDir()}
	var err error
	s.ts, err = New(Config{Root: s.dir})
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, s.ts.Close()) })
	return s
}

func (s *scorer) call(name string, input any) error {
	tl, _ := s.ts.Tool(name)
	b := &bench{t: s.tb, ts: s.ts}
	_, err := tl.Run(s.tb.Context(), b.call(name, input))
	return err
}

// change writes the file, has it read, and returns what the call makes of it.
func (s *scorer) change(name, content, toolName string, input any) (string, error) {
	path := s.dir + "/" + name
	require.NoError(s.tb, os.WriteFile(path, []byte(content), 0o666))
	for offset := 1; offset <= 1+strings.Count(content, "\n"); offset += 400 {
		require.NoError(s.tb, s.call("read", in{"filePath": name, "offset": offset, "limit": 400}))
	}
	err := s.call(toolName, input)
	got, readErr := os.ReadFile(path)
	require.NoError(s.tb, readErr)
	if err != nil {
		assert.Equal(s.tb, content, string(got), "a refusal changes nothing")
	}
	if s.n++; s.n%200 == 0 {
		s.ts.Forget(tooltest.NewCall("edit", nil).SessionID)
	}
	return string(got), err
}

func (s *scorer) edit(c *editcases.Case) (string, error) {
	return s.change("f.go", c.File, "edit", in{"filePath": "f.go", "oldString": c.Old, "newString": c.New, "replaceAll": c.All})
}

func (s *scorer) patch(c *patchcases.Case) (string, error) {
	return s.change("f.go", c.File, "apply_patch", in{"patchText": c.Text})
}

// TestEditAccuracy and TestPatchAccuracy hold the tools to the goals that the
// engines are held to, on a small set: nothing that was not meant is ever written.
func TestEditAccuracy(t *testing.T) {
	if !editcases.Available() {
		t.Skip("the Go source tree is not there")
	}
	by := editcases.Measure(60221, 5, newScorer(t).edit, func(c *editcases.Case, v editcases.Verdict, got string, err error) {
		if v > editcases.FalseReject {
			t.Errorf("%s: verdict %d\n--- old\n%s\n--- new\n%s", c.Class, v, c.Old, c.New)
		}
	})
	assert.LessOrEqual(t, by.Total().FalseReject(), 1.0)
	assert.GreaterOrEqual(t, by.Total().Applied(), 92.0)
}

func TestPatchAccuracy(t *testing.T) {
	if !patchcases.Available() {
		t.Skip("the Go source tree is not there")
	}
	by := patchcases.Measure(60221, 5, newScorer(t).patch, func(class string, c *patchcases.Case, v editcases.Verdict, got string, err error) {
		if v > editcases.FalseReject {
			t.Errorf("%s: verdict %d\n%s", class, v, c.Text)
		}
	})
	assert.LessOrEqual(t, by.Total().FalseReject(), 1.0)
	assert.GreaterOrEqual(t, by.Total().Applied(), 91.0)
}

// BenchmarkAccuracy measures the tools on two seeds that no rule was tuned on.
// With ACCURACY_TABLE=1 it prints the tables of the documentation.
func BenchmarkAccuracy(b *testing.B) {
	if !editcases.Available() {
		b.Skip("the Go source tree is not there")
	}
	report := func(b *testing.B, by editcases.Scores) {
		total := by.Total()
		b.ReportMetric(total.Correct(), "correct%")
		b.ReportMetric(total.Wrong(), "WRONG%")
		b.ReportMetric(total.Severe(), "severe%")
		b.ReportMetric(total.FalseReject(), "falsereject%")
		b.ReportMetric(total.Applied(), "appliedright%")
		b.ReportMetric(by.Worst(), "worstclass%")
		if os.Getenv("ACCURACY_TABLE") != "" {
			require.NoError(b, by.Table(os.Stdout))
		}
	}
	for name, seed := range map[string]uint64{"8675309": 8675309, "299792458": 299792458} {
		b.Run("edit/seed="+name, func(b *testing.B) {
			var by editcases.Scores
			for b.Loop() {
				by = editcases.Measure(seed, 100, newScorer(b).edit, nil)
			}
			report(b, by)
		})
		b.Run("apply_patch/seed="+name, func(b *testing.B) {
			var by editcases.Scores
			for b.Loop() {
				by = patchcases.Measure(seed, 60, newScorer(b).patch, nil)
			}
			report(b, by)
		})
	}
}
