package builtin

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestDiff(t *testing.T) {
	for _, c := range []struct{ name, a, b, want string }{
		{"equal", "a\n", "a\n", ""},
		{"new", "", "a\nb\n", "--- a/f\n+++ b/f\n@@ -0,0 +1,2 @@\n+a\n+b\n"},
		{"gone", "a\n", "", "--- a/f\n+++ b/f\n@@ -1 +0,0 @@\n-a\n"},
		{"no newline", "a\nb", "a\nc", "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+c\n\\ No newline at end of file\n"},
		{"two hunks", numbered(20), strings.Replace(strings.Replace(numbered(20), "line 2\n", "x\n", 1), "line 19\n", "", 1),
			"--- a/f\n+++ b/f\n@@ -1,5 +1,5 @@\n line 1\n-line 2\n+x\n line 3\n line 4\n line 5\n@@ -16,5 +16,4 @@\n line 16\n line 17\n line 18\n-line 19\n line 20\n"},
	} {
		t.Run(c.name, func(t *testing.T) { assert.Equal(t, c.want, diff("f", c.a, c.b).unified) })
	}
}

// TestDiffApplies: git can apply every diff, and gets the new text.
func TestDiffApplies(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("no git")
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	words := []string{"a\n", "b\n", "c\n", "\n", "d\r\n"}
	text := func(n int) string {
		var b strings.Builder
		for range n {
			b.WriteString(words[rnd.IntN(len(words))])
		}
		if rnd.IntN(4) == 0 {
			b.WriteString("end")
		}
		return b.String()
	}
	for range 60 {
		before := text(rnd.IntN(40))
		lines := splitLines(before)
		for range rnd.IntN(5) {
			i := rnd.IntN(len(lines) + 1)
			lines = append(lines[:i:i], append([]string{words[rnd.IntN(len(words))]}, lines[min(len(lines), i+rnd.IntN(3)):]...)...)
		}
		after := strings.Join(lines, "")
		d := diff("f", before, after)
		if d.unified == "" {
			require.Equal(t, before, after)
			continue
		}
		dir := t.TempDir()
		if before != "" {
			require.NoError(t, os.WriteFile(filepath.Join(dir, "f"), []byte(before), 0o666))
		}
		if before == "" || after == "" {
			continue // git wants other headers for these
		}
		cmd := exec.Command(git, "apply", "--unidiff-zero", "--whitespace=nowarn", "-")
		cmd.Dir, cmd.Stdin = dir, strings.NewReader(d.unified)
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s\nof %q to %q:\n%s", out, before, after, d.unified)
		got, err := os.ReadFile(filepath.Join(dir, "f"))
		require.NoError(t, err)
		require.Equal(t, after, string(got))
	}
}

// FuzzDiff: the hunks turn one text into the other and touch nothing they need not.
func FuzzDiff(f *testing.F) {
	f.Add("a\nb\nc\n", "a\nc\nd\n")
	f.Add("", "x")
	f.Add("a\na\nb\na\n", "b\na\na\n")
	f.Fuzz(func(t *testing.T, before, after string) {
		a, b := splitLines(before), splitLines(after)
		var out []string
		pos := 0
		for _, h := range compare(a, b) {
			if h.a0 < pos || h.a1 < h.a0 || h.b1 < h.b0 || h.a1 > len(a) || h.b1 > len(b) {
				t.Fatalf("bad hunk %+v", h)
			}
			out = append(append(out, a[pos:h.a0]...), b[h.b0:h.b1]...)
			pos = h.a1
		}
		out = append(out, a[pos:]...)
		if strings.Join(out, "") != after {
			t.Fatalf("%q to %q gave %q", before, after, out)
		}
		diff("f", before, after)
	})
}
