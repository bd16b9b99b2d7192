package builtin

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/agenttool/tool/permission"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the golden files")

// TestSpec: what models see of the tools changes only on purpose.
func TestSpec(t *testing.T) {
	b := newBench(t, skillFiles, Config{PlanMode: gateMode{&permission.Gate{}}, Asker: first, Task: TaskConfig{Runner: helpers(nil)}, Skills: SkillConfig{Dirs: []string{".skills"}}})
	var buf bytes.Buffer
	for _, tl := range b.ts.Tools() {
		s, err := tl.Spec(t.Context(), nil)
		require.NoError(t, err)
		assert.Less(t, len(s.Description), 900, "%s: the description is paid for in every turn", s.Name)
		var schema bytes.Buffer
		require.NoError(t, json.Indent(&schema, s.Input, "", "  "))
		fmt.Fprintf(&buf, "== %s (%s) parallel=%v hints=%+v aliases=%v\n%s\n%s\n\n", s.Name, s.Title, s.Parallel, s.Hints, s.Aliases, s.Description, schema.String())
	}
	golden := filepath.Join("testdata", "spec.golden")
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o777))
		require.NoError(t, os.WriteFile(golden, buf.Bytes(), 0o666))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err, "run the test with -update")
	assert.Equal(t, string(want), buf.String())
}

// TestNamesAreDistinct: no alias stands for two tools.
func TestNamesAreDistinct(t *testing.T) {
	b := newBench(t, "", Config{LSP: &stubLSP{}})
	owner := map[string]string{}
	for _, tl := range b.ts.Tools() {
		s, err := tl.Spec(t.Context(), nil)
		require.NoError(t, err)
		for _, n := range append([]string{s.Name}, s.Aliases...) {
			assert.Empty(t, owner[n], "%s is a name of %s and %s", n, owner[n], s.Name)
			owner[n] = s.Name
		}
	}
}
