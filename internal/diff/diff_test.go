package diff_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/agenttool/tool/internal/diff"
)

// strictApply applies a unified diff of one file, or fails: every line of every
// hunk must be where the header says.
func strictApply(old, patch string) (string, error) {
	if patch == "" {
		return old, nil
	}
	lines := strings.SplitAfter(old, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	in := strings.SplitAfter(patch, "\n")
	in = in[2 : len(in)-1]
	var out strings.Builder
	pos := 0
	for k := 0; k < len(in); {
		var a, an, b, bn int
		an, bn = 1, 1
		head := strings.Fields(in[k])
		if len(head) != 4 || head[0] != "@@" || head[3] != "@@" {
			return "", fmt.Errorf("bad header %q", in[k])
		}
		if n, _ := fmt.Sscanf(head[1], "-%d,%d", &a, &an); n == 0 {
			return "", fmt.Errorf("bad old range %q", head[1])
		}
		if n, _ := fmt.Sscanf(head[2], "+%d,%d", &b, &bn); n == 0 {
			return "", fmt.Errorf("bad new range %q", head[2])
		}
		start := a - 1
		if an == 0 {
			start = a
		}
		if start < pos || start > len(lines) {
			return "", fmt.Errorf("hunk at %d after %d", start, pos)
		}
		for ; pos < start; pos++ {
			out.WriteString(lines[pos])
		}
		for k++; k < len(in) && !strings.HasPrefix(in[k], "@@ "); k++ {
			text := in[k][1:]
			if k+1 < len(in) && strings.HasPrefix(in[k+1], `\`) {
				text = strings.TrimSuffix(text, "\n")
			}
			switch in[k][0] {
			case ' ', '-':
				if pos >= len(lines) || lines[pos] != text {
					return "", fmt.Errorf("line %d is not %q", pos+1, text)
				}
				an--
				pos++
				if in[k][0] == ' ' {
					out.WriteString(text)
					bn--
				}
			case '+':
				out.WriteString(text)
				bn--
			case '\\':
			default:
				return "", fmt.Errorf("bad line %q", in[k])
			}
		}
		if an != 0 || bn != 0 {
			return "", fmt.Errorf("counts are off by %d and %d", an, bn)
		}
	}
	for ; pos < len(lines); pos++ {
		out.WriteString(lines[pos])
	}
	return out.String(), nil
}

func TestUnified(t *testing.T) {
	tests := []struct {
		name, old, new, want string
		opts                 *diff.Options
	}{
		{"equal", "a\n", "a\n", "", nil},
		{"both empty", "", "", "", nil},
		{"change", "a\nb\nc\n", "a\nx\nc\n", "--- a/f\n+++ b/f\n@@ -1,3 +1,3 @@\n a\n-b\n+x\n c\n", nil},
		{"create", "", "a\n", "--- a/f\n+++ b/f\n@@ -0,0 +1 @@\n+a\n", nil},
		{"empty", "a\nb\n", "", "--- a/f\n+++ b/f\n@@ -1,2 +0,0 @@\n-a\n-b\n", nil},
		{"newline lost", "a\n", "a", "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+a\n\\ No newline at end of file\n", nil},
		{"newline won", "a", "a\n", "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n", nil},
		{"no newline in context", "a\nb", "x\nb", "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n-a\n+x\n b\n\\ No newline at end of file\n", nil},
		{"line endings", "a\r\nb\r\n", "a\r\nb\n", "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n a\r\n-b\r\n+b\n", nil},
		{"no context", "a\nb\nc\n", "a\nx\nc\n", "--- a/f\n+++ b/f\n@@ -2 +2 @@\n-b\n+x\n", &diff.Options{Context: -1}},
		{"no context, insertion", "a\nc\n", "a\nb\nc\n", "--- a/f\n+++ b/f\n@@ -1,0 +2 @@\n+b\n", &diff.Options{Context: -1}},
		{"lone CR is content", "a\rb\n", "a\rc\n", "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\rb\n+a\rc\n", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			assert.Equal(t, tt.want, diff.Unified("a/f", "b/f", tt.old, tt.new, tt.opts))
		})
	}
}

func TestHunksAreJoinedAndSplit(t *testing.T) {
	text := func(n int, changed ...int) string {
		var b strings.Builder
		for i := range n {
			mark := ""
			for _, c := range changed {
				if c == i {
					mark = " changed"
				}
			}
			fmt.Fprintf(&b, "line %d%s\n", i, mark)
		}
		return b.String()
	}
	d := diff.Compute(text(40), text(40, 5, 12), nil)
	require.Len(t, d.Hunks, 1, "six equal lines between changes stay in one hunk")
	d = diff.Compute(text(40), text(40, 5, 13), nil)
	require.Len(t, d.Hunks, 2)
	assert.Equal(t, 2, d.Additions)
	assert.Equal(t, 2, d.Deletions)
	assert.Equal(t, "@@ -3,7 +3,7 @@", d.Hunks[0].Header())
}

func TestNamesAreQuoted(t *testing.T) {
	for name, want := range map[string]string{
		"b/plain.go":  "+++ b/plain.go\n",
		"b/with gap":  "+++ b/with gap\t\n",
		"b/q\"uote":   "+++ \"b/q\\\"uote\"\n",
		"b/new\nline": "+++ \"b/new\\nline\"\n",
	} {
		assert.Contains(t, diff.Unified("a/x", name, "a\n", "b\n", nil), want)
	}
}

func TestCompact(t *testing.T) {
	d := diff.Compute("a\nb\nc\nd\n", "w\nx\ny\nz\n", nil)
	assert.Equal(t, "@@ -1,4 +1,4 @@\n-a\n-b\n… 6 more lines of diff (+4 −2)\n", d.Compact(4))
	full := d.Compact(9)
	assert.Equal(t, 9, strings.Count(full, "\n"))
	assert.NotContains(t, full, "more lines")
}

func TestWords(t *testing.T) {
	old, new := "total := sum(items, 1)", "total := count(items, 1)"
	del, ins := diff.Words(old, new)
	require.Equal(t, []diff.Range{{9, 12}}, del)
	require.Equal(t, []diff.Range{{9, 14}}, ins)
	del, ins = diff.Words("same", "same")
	assert.Empty(t, del)
	assert.Empty(t, ins)

	d := diff.Compute("a\nfoo(bar)\n", "a\nfoo(baz)\n", nil)
	d.Highlight()
	lines := d.Hunks[0].Lines
	assert.Equal(t, []diff.Range{{4, 7}}, lines[1].Words)
	assert.Equal(t, []diff.Range{{4, 7}}, lines[2].Words)
}

// randomPair makes a text and a changed copy, with the endings and ends that
// diffs get wrong.
func randomPair(r *rand.Rand) (string, string) {
	words := []string{"", "}", "\t}", "return nil", "x := 1", "päß", "a b", "--- a", "+++ b", "@@ -1 +1 @@", "\\ No newline", "-", "+", " "}
	eols := []string{"\n", "\n", "\r\n"}
	line := func() string {
		if r.IntN(3) == 0 {
			return fmt.Sprintf("unique %d", r.IntN(1000))
		}
		return words[r.IntN(len(words))]
	}
	var a, b []string
	eol := eols[r.IntN(3)]
	for range r.IntN(40) {
		l := line() + eol
		if r.IntN(20) == 0 {
			l = strings.TrimRight(l, "\r\n") + eols[r.IntN(3)]
		}
		a = append(a, l)
		switch r.IntN(8) {
		case 0:
		case 1:
			b = append(b, line()+eol)
		case 2:
			b = append(b, l, line()+eol)
		default:
			b = append(b, l)
		}
	}
	end := func(lines []string) string {
		s := strings.Join(lines, "")
		if r.IntN(4) == 0 {
			s = strings.TrimRight(s, "\r\n")
		}
		return s
	}
	return end(a), end(b)
}

func TestRandomPairsApply(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 2000 {
		old, new := randomPair(r)
		opts := &diff.Options{Context: i%5 - 1}
		p := diff.Unified("a/f", "b/f", old, new, opts)
		got, err := strictApply(old, p)
		require.NoError(t, err, "%q\n%q\n%s", old, new, p)
		require.Equal(t, new, got)
	}
}

// TestOtherToolsApply lets git and patch apply our diffs.
func TestOtherToolsApply(t *testing.T) {
	tools := map[string][]string{
		"git":   {"apply", "--whitespace=nowarn", "-"},
		"patch": {"--binary", "-p1", "-s", "--posix"},
	}
	for name, args := range tools {
		t.Run(name, func(t *testing.T) {
			path, err := exec.LookPath(name)
			if err != nil {
				t.Skip(name + " is not installed")
			}
			r := rand.New(rand.NewPCG(3, 4))
			dir := t.TempDir()
			for range 60 {
				old, new := randomPair(r)
				if old == "" || new == "" || old == new {
					continue
				}
				file := filepath.Join(dir, "f")
				require.NoError(t, os.WriteFile(file, []byte(old), 0o600))
				cmd := exec.Command(path, args...)
				cmd.Dir = dir
				cmd.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(dir), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
				p := diff.Unified("a/f", "b/f", old, new, nil)
				cmd.Stdin = strings.NewReader(p)
				out, err := cmd.CombinedOutput()
				require.NoError(t, err, "%s\n%q\n%q\n%s", out, old, new, p)
				got, err := os.ReadFile(file)
				require.NoError(t, err)
				require.Equal(t, new, string(got), "%s", p)
			}
		})
	}
}

func TestGitCreatesAndDeletes(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("git is not installed")
	}
	dir := t.TempDir()
	apply := func(p string) {
		cmd := exec.Command(git, "apply", "-")
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(dir))
		cmd.Stdin = strings.NewReader(p)
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	apply(diff.Unified(diff.DevNull, "b/sub/new file.txt", "", "one\ntwo", nil))
	got, err := os.ReadFile(filepath.Join(dir, "sub", "new file.txt"))
	require.NoError(t, err)
	assert.Equal(t, "one\ntwo", string(got))
	apply(diff.Unified("a/sub/new file.txt", diff.DevNull, "one\ntwo", "", nil))
	assert.NoFileExists(t, filepath.Join(dir, "sub", "new file.txt"))
}

// TestHardInputsEnd compares texts whose shortest diff would be expensive.
func TestHardInputsEnd(t *testing.T) {
	many := func(n int, f func(i int) string) string {
		var b strings.Builder
		for i := range n {
			b.WriteString(f(i) + "\n")
		}
		return b.String()
	}
	tests := map[string][2]string{
		"repetitive": {many(60_000, func(i int) string { return "x" }), many(60_000, func(i int) string { return strings.Repeat("x", 1+i%2) })},
		"all new":    {many(60_000, func(i int) string { return fmt.Sprint("a", i) }), many(60_000, func(i int) string { return fmt.Sprint("b", i) })},
		"shuffled":   {many(30_000, func(i int) string { return fmt.Sprint(i) }), many(30_000, func(i int) string { return fmt.Sprint(i * 7919 % 30_000) })},
		"few words":  {many(30_000, func(i int) string { return fmt.Sprint(i * i % 7) }), many(30_000, func(i int) string { return fmt.Sprint(i * i % 5) })},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			p := diff.Unified("a", "b", tt[0], tt[1], nil)
			assert.Less(t, time.Since(start), 20*time.Second, "a hang")
			got, err := strictApply(tt[0], p)
			require.NoError(t, err)
			assert.True(t, got == tt[1])
		})
	}
}

func FuzzUnified(f *testing.F) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 8 {
		old, new := randomPair(r)
		f.Add(old, new)
	}
	f.Add("a\xff\nb", "\r\na\n")
	f.Fuzz(func(t *testing.T, old, new string) {
		d := diff.Compute(old, new, nil)
		got, err := strictApply(old, d.Unified("a", "b"))
		require.NoError(t, err)
		require.Equal(t, new, got)
		add, del := 0, 0
		d.Highlight()
		for _, h := range d.Hunks {
			for _, l := range h.Lines {
				switch l.Op {
				case diff.Insert:
					add++
				case diff.Delete:
					del++
				}
				for _, w := range l.Words {
					require.True(t, 0 <= w.Start && w.Start <= w.End && w.End <= len(l.Text))
				}
			}
		}
		require.Equal(t, add, d.Additions)
		require.Equal(t, del, d.Deletions)
	})
}

func BenchmarkCompute(b *testing.B) {
	var old, sparse, rewrite strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&old, "line number %d\n", i)
		if i%2000 == 7 {
			fmt.Fprintf(&sparse, "changed %d\n", i)
		} else {
			fmt.Fprintf(&sparse, "line number %d\n", i)
		}
		if i < 5000 {
			fmt.Fprintf(&rewrite, "other %d\n", i)
		}
	}
	half := old.String()[:strings.Index(old.String(), "line number 5000\n")]
	b.Run("sparse", func(b *testing.B) {
		for b.Loop() {
			diff.Compute(old.String(), sparse.String(), nil)
		}
	})
	b.Run("rewrite", func(b *testing.B) {
		for b.Loop() {
			diff.Compute(half, rewrite.String(), nil)
		}
	})
	b.Run("repetitive", func(b *testing.B) {
		x, y := strings.Repeat("x\n", 2900), strings.Repeat("x\ny\n", 1450)
		for b.Loop() {
			diff.Compute(x, y, nil)
		}
	})
}

func ExampleUnified() {
	fmt.Print(diff.Unified("a/greet.txt", "b/greet.txt", "hello\nworld\n", "hello\nthere", nil))
	// Output:
	// --- a/greet.txt
	// +++ b/greet.txt
	// @@ -1,2 +1,2 @@
	//  hello
	// -world
	// +there
	// \ No newline at end of file
}

func ExampleDiff_Compact() {
	d := diff.Compute("a\nb\nc\n", "a\nB\nc\n", nil)
	fmt.Printf("+%d -%d\n%s", d.Additions, d.Deletions, d.Compact(20))
	// Output:
	// +1 -1
	// @@ -1,3 +1,3 @@
	//  a
	// -b
	// +B
	//  c
}

func ExampleWords() {
	old, new := "retry(3, time.Second)", "retry(5, time.Second)"
	removed, added := diff.Words(old, new)
	fmt.Println(old[removed[0].Start:removed[0].End], "→", new[added[0].Start:added[0].End])
	// Output: 3 → 5
}
