package patch_test

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/agenttool/tool/internal/diff"
	"github.com/agenttool/tool/internal/match"
	"github.com/agenttool/tool/internal/patch"
)

// files is a tree in memory.
type files map[string]string

func (f files) read(name string) (string, error) {
	if text, ok := f[name]; ok {
		return text, nil
	}
	return "", fs.ErrNotExist
}

// apply plans a patch and makes its changes in a copy of the tree.
func (f files) apply(text string) (files, error) {
	changes, err := patch.Plan(text, f.read)
	if err != nil {
		return nil, err
	}
	out := files{}
	for k, v := range f {
		out[k] = v
	}
	for _, c := range changes {
		if c.Kind == patch.Update && match.Apply(c.Old, c.Spans) != c.New {
			return nil, fmt.Errorf("%s: spans do not give the new text", c.Path)
		}
		if c.Kind == patch.Delete || c.To != "" {
			delete(out, c.Path)
		}
		switch {
		case c.To != "":
			out[c.To] = c.New
		case c.Kind != patch.Delete:
			out[c.Path] = c.New
		}
	}
	return out, nil
}

// TestAnchorInFlatText: where indentation tells nothing, the place right behind the
// @@ line is meant; a place further on is not guessed at.
func TestAnchorInFlatText(t *testing.T) {
	tree := files{"notes.md": body("# One", "", "alpha", "beta", "# Two", "alpha", "beta", "# Three", "intro", "alpha", "beta")}
	for anchor, line := range map[string]int{"# One": 2, "# Two": 5} {
		got, err := tree.apply(wrap("*** Update File: notes.md", "@@ "+anchor, "-alpha", "+ALPHA", " beta"))
		require.NoError(t, err)
		want := strings.Split(tree["notes.md"], "\n")
		want[line] = "ALPHA"
		assert.Equal(t, strings.Join(want, "\n"), got["notes.md"])
	}
	_, err := tree.apply(wrap("*** Update File: notes.md", "@@ intro here", "-alpha", "+ALPHA", " beta"))
	require.ErrorIs(t, err, match.ErrAmbiguous)
}

func body(s ...string) string { return strings.Join(s, "\n") + "\n" }

func wrap(s ...string) string { return "*** Begin Patch\n" + body(s...) + "*** End Patch" }

var tree = files{
	"a.txt":   "one\ntwo\nthree\nfour\nfive\n",
	"b.go":    "package b\n\nfunc f() {\n\treturn\n}\n\nfunc g() {\n\treturn\n}\n",
	"crlf.c":  "int a;\r\nint b;\r\n",
	"open":    "first\nlast",
	"empty":   "",
	"dir/c.x": "x\n",
}

func TestPlan(t *testing.T) {
	tests := []struct {
		name  string
		patch string
		want  files // nil text: gone
		gone  []string
	}{
		{"update", wrap("*** Update File: a.txt", "@@", " one", "-two", "+2", " three"), files{"a.txt": "one\n2\nthree\nfour\nfive\n"}, nil},
		{"first hunk without @@", wrap("*** Update File: a.txt", " one", "-two", "+2"), files{"a.txt": "one\n2\nthree\nfour\nfive\n"}, nil},
		{"two hunks", wrap("*** Update File: a.txt", "@@", "-one", "+1", "@@", "-five", "+5"), files{"a.txt": "1\ntwo\nthree\nfour\n5\n"}, nil},
		{"out of order", wrap("*** Update File: a.txt", "@@", "-five", "+5", "@@", "-one", "+1"), files{"a.txt": "1\ntwo\nthree\nfour\n5\n"}, nil},
		{"shared context", wrap("*** Update File: a.txt", "@@", " one", "-two", "+2", " three", "@@", " three", "-four", "+4"), files{"a.txt": "one\n2\nthree\n4\nfive\n"}, nil},
		{"add", wrap("*** Add File: n/new.txt", "+a", "+", "+b"), files{"n/new.txt": "a\n\nb\n"}, nil},
		{"add empty", wrap("*** Add File: n"), files{"n": ""}, nil},
		{"delete", wrap("*** Delete File: a.txt"), nil, []string{"a.txt"}},
		{"move", wrap("*** Update File: a.txt", "*** Move to: z.txt"), files{"z.txt": "one\ntwo\nthree\nfour\nfive\n"}, []string{"a.txt"}},
		{"move and change", wrap("*** Update File: a.txt", "*** Move to: z.txt", "@@", "-one", "+1"), files{"z.txt": "1\ntwo\nthree\nfour\nfive\n"}, []string{"a.txt"}},
		{"move onto itself changes only", wrap("*** Update File: a.txt", "*** Move to: ./a.txt", "@@", "-one", "+1"), files{"a.txt": "1\ntwo\nthree\nfour\nfive\n"}, nil},
		{"several files", wrap("*** Update File: a.txt", "@@", "-one", "+1", "*** Delete File: open", "*** Add File: n", "+n"), files{"a.txt": "1\ntwo\nthree\nfour\nfive\n", "n": "n\n"}, []string{"open"}},
		{"two sections for one file", wrap("*** Update File: a.txt", "@@", "-one", "+1", "*** Update File: a.txt", "@@", " 1", "-two", "+2"), files{"a.txt": "1\n2\nthree\nfour\nfive\n"}, nil},
		{"added, then updated", wrap("*** Add File: n", "+a", "*** Update File: n", "@@", "-a", "+b"), files{"n": "b\n"}, nil},
		{"deleted, then added", wrap("*** Delete File: a.txt", "*** Add File: a.txt", "+new"), files{"a.txt": "new\n"}, nil},
		{"moved, then updated", wrap("*** Update File: a.txt", "*** Move to: z", "@@", "-one", "+1", "*** Update File: z", "@@", "-two", "+2"), files{"z": "1\n2\nthree\nfour\nfive\n"}, []string{"a.txt"}},
		{"anchor decides", wrap("*** Update File: b.go", "@@ func g() {", "-\treturn", "+\tpanic(0)"), files{"b.go": "package b\n\nfunc f() {\n\treturn\n}\n\nfunc g() {\n\tpanic(0)\n}\n"}, nil},
		{"anchor in unified head", wrap("*** Update File: b.go", "@@ -1,3 +1,3 @@ func f() {", "-\treturn", "+\tpanic(0)"), files{"b.go": "package b\n\nfunc f() {\n\tpanic(0)\n}\n\nfunc g() {\n\treturn\n}\n"}, nil},
		{"insertion behind an anchor", wrap("*** Update File: b.go", "@@ func g() {", "+\tlog()"), files{"b.go": "package b\n\nfunc f() {\n\treturn\n}\n\nfunc g() {\n\tlog()\n\treturn\n}\n"}, nil},
		{"insertion at the end", wrap("*** Update File: a.txt", "@@", "+six", "*** End of File"), files{"a.txt": "one\ntwo\nthree\nfour\nfive\nsix\n"}, nil},
		{"insertion at an open end", wrap("*** Update File: open", "@@", "+more", "*** End of File"), files{"open": "first\nlast\nmore"}, nil},
		{"into an empty file", wrap("*** Update File: empty", "@@", "+a"), files{"empty": "a\n"}, nil},
		{"order decides", wrap("*** Update File: b.go", "@@", " func g() {", "@@", "-\treturn", "+\tpanic(0)"), nil, nil},
		{"CRLF stays", wrap("*** Update File: crlf.c", "@@", " int a;", "+int x;", "-int b;", "+int c;"), files{"crlf.c": "int a;\r\nint x;\r\nint c;\r\n"}, nil},
		{"no break at the end stays", wrap("*** Update File: open", "@@", " first", "-last", "+end"), files{"open": "first\nend"}, nil},
		{"CRLF patch", strings.ReplaceAll(wrap("*** Update File: a.txt", "@@", "-one", "+1"), "\n", "\r\n"), files{"a.txt": "1\ntwo\nthree\nfour\nfive\n"}, nil},
		{"fence", "```\n" + wrap("*** Update File: a.txt", "@@", "-one", "+1") + "\n```\n", files{"a.txt": "1\ntwo\nthree\nfour\nfive\n"}, nil},
		{"here-document", "apply_patch <<'EOF'\n" + wrap("*** Update File: a.txt", "@@", "-one", "+1") + "\nEOF\n", files{"a.txt": "1\ntwo\nthree\nfour\nfive\n"}, nil},
		{"padded markers", "  *** Begin Patch  \n*** Update File: a.txt \n@@\n-one\n+1\n  *** End Patch  \n", files{"a.txt": "1\ntwo\nthree\nfour\nfive\n"}, nil},
		{"end missing", "*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n+1\n", files{"a.txt": "1\ntwo\nthree\nfour\nfive\n"}, nil},
		{"end missing in a fence", "```\n*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n+1\n```", files{"a.txt": "1\ntwo\nthree\nfour\nfive\n"}, nil},
		{"quoted once too often", strings.ReplaceAll(wrap("*** Update File: a.txt", "@@", "-one", "+1"), "\n", `\n`), files{"a.txt": "1\ntwo\nthree\nfour\nfive\n"}, nil},
		{"add that is there already", wrap("*** Add File: dir/c.x", "+x", "*** Update File: a.txt", "@@", "-one", "+1"), files{"a.txt": "1\ntwo\nthree\nfour\nfive\n"}, nil},

		{"unified", "--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n", files{"a.txt": "one\n2\nthree\nfour\nfive\n"}, nil},
		{"unified, names without prefix, with times", "--- a.txt\t2020-01-01 00:00:00\n+++ a.txt\t2020-01-01 00:00:00\n@@ -9 +9 @@\n-two\n+2\n", files{"a.txt": "one\n2\nthree\nfour\nfive\n"}, nil},
		{"unified, new file", "--- /dev/null\n+++ b/n\n@@ -0,0 +1,2 @@\n+a\n+b\n\\ No newline at end of file\n", files{"n": "a\nb"}, nil},
		{"unified, deletion", "--- a/dir/c.x\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n", nil, []string{"dir/c.x"}},
		{"git rename", "diff --git a/a.txt b/z.txt\nsimilarity index 100%\nrename from a.txt\nrename to z.txt\n", files{"z.txt": "one\ntwo\nthree\nfour\nfive\n"}, []string{"a.txt"}},
		{"git rename with change", "diff --git a/a.txt b/z.txt\nsimilarity index 80%\nrename from a.txt\nrename to z.txt\nindex 1..2 100644\n--- a/a.txt\n+++ b/z.txt\n@@ -1,2 +1,2 @@\n-one\n+1\n two\n", files{"z.txt": "1\ntwo\nthree\nfour\nfive\n"}, []string{"a.txt"}},
		{"git mail", "From abc\nSubject: x\n\n---\n a.txt | 2 +-\n\ndiff --git a/a.txt b/a.txt\nindex 1..2 100644\n--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n-one\n+1\n two\n-- \n2.39.0\n\n", files{"a.txt": "1\ntwo\nthree\nfour\nfive\n"}, nil},
		{"git empty new file", "diff --git a/n b/n\nnew file mode 100644\nindex 000..e69\n", files{"n": ""}, nil},
		{"unified, break removed", "--- a/a.txt\n+++ b/a.txt\n@@ -4,2 +4,2 @@\n four\n-five\n+five\n\\ No newline at end of file\n", files{"a.txt": "one\ntwo\nthree\nfour\nfive"}, nil},
		{"unified, break added", "--- a/open\n+++ b/open\n@@ -1,2 +1,2 @@\n first\n-last\n\\ No newline at end of file\n+last\n", files{"open": "first\nlast\n"}, nil},
		{"unified, quoted name", "--- \"a/dir/c.x\"\n+++ \"b/dir/c.x\"\n@@ -1 +1 @@\n-x\n+y\n", files{"dir/c.x": "y\n"}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := tree.apply(tt.patch)
			if tt.name == "order decides" {
				require.Error(t, err, "a hunk that changes nothing is refused")
				return
			}
			require.NoError(t, err)
			want := files{}
			for k, v := range tree {
				want[k] = v
			}
			for k, v := range tt.want {
				want[k] = v
			}
			for _, k := range tt.gone {
				delete(want, k)
			}
			assert.Equal(t, want, got)
		})
	}
}

func TestRefusals(t *testing.T) {
	tests := []struct {
		name   string
		patch  string
		reason error
		says   []string
	}{
		{"empty", " \n", patch.ErrEmpty, nil},
		{"no patch", "please change a.txt", patch.ErrSyntax, []string{"*** Begin Patch"}},
		{"no begin", "*** Update File: a.txt\n@@\n-one\n+1\n*** End Patch", patch.ErrSyntax, []string{"Begin Patch", "missing"}},
		{"cut off", "*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n+1", patch.ErrSyntax, []string{"cut off"}},
		{"no sections", "*** Begin Patch\n*** End Patch", patch.ErrEmpty, []string{"no sections"}},
		{"no path", wrap("*** Update File: ", "@@", "-one"), patch.ErrSyntax, []string{"no path"}},
		{"unknown section", wrap("*** Frobnicate File: a.txt"), patch.ErrSyntax, []string{"expected", "Frobnicate"}},
		{"text between sections", wrap("*** Delete File: open", "and then", "*** Delete File: a.txt"), patch.ErrSyntax, []string{"and then"}},
		{"no hunks", wrap("*** Update File: a.txt"), patch.ErrEmpty, []string{"a.txt", "no hunks"}},
		{"empty hunk", wrap("*** Update File: a.txt", "@@"), patch.ErrSyntax, []string{"no lines"}},
		{"hunk without change", wrap("*** Update File: a.txt", "@@", " one"), patch.ErrEmpty, []string{"hunk 1"}},
		{"added line without plus", wrap("*** Add File: n", "text"), patch.ErrSyntax, []string{"starts with +"}},
		{"lines behind the end of file", wrap("*** Update File: a.txt", "@@", "-five", "*** End of File", "+5"), patch.ErrSyntax, []string{"End of File"}},
		{"update of a missing file", wrap("*** Update File: none", "@@", "-a", "+b"), patch.ErrMissing, []string{"none", "Add File"}},
		{"deletion of a missing file", wrap("*** Delete File: none"), patch.ErrMissing, []string{"none"}},
		{"addition of a file that exists", wrap("*** Add File: a.txt", "+x"), patch.ErrExists, []string{"a.txt"}},
		{"move onto a file", wrap("*** Update File: a.txt", "*** Move to: open"), patch.ErrExists, []string{"open"}},
		{"update after the move", wrap("*** Update File: a.txt", "*** Move to: z", "*** Update File: a.txt", "@@", "-one", "+1"), patch.ErrMissing, []string{"moved to z"}},
		{"not found", wrap("*** Update File: a.txt", "@@", " one", "-two", "+2", "@@", " three", "-for", "+4", " five"), match.ErrNotFound, []string{"a.txt, hunk 2", "Expected", "  for", "> 4| four"}},
		{"ambiguous", wrap("*** Update File: b.go", "@@", "-\treturn", "+\tpanic(0)"), match.ErrAmbiguous, []string{"lines 4, 8"}},
		{"anchor against place", wrap("*** Update File: a.txt", "@@ four", " one", "-two", "+2"), match.ErrAmbiguous, []string{"line 1", "four", "line 4"}},
		{"insertion nowhere", wrap("*** Update File: a.txt", "@@", "+x"), patch.ErrHunk, []string{"does not say where"}},
		{"insertion behind a missing anchor", wrap("*** Update File: a.txt", "@@ nothing", "+x"), match.ErrNotFound, []string{"nothing"}},
		{"insertion behind an ambiguous anchor", wrap("*** Update File: b.go", "@@ }", "+x"), match.ErrAmbiguous, []string{"lines 5, 9"}},
		{"hunks on the same line", wrap("*** Update File: a.txt", "@@", "-two", "+2", "@@", " one", "-two", "+zwei"), patch.ErrHunk, []string{"hunks 1 and 2"}},
		{"applied already", wrap("*** Update File: a.txt", "@@", "-eins", "+one", "+two", " three"), match.ErrApplied, []string{"applied"}},
		{"binary", "diff --git a/x b/x\nindex 1..2\nGIT binary patch\nliteral 3\n", patch.ErrBinary, []string{"binary"}},
		{"binary files differ", "diff --git a/x b/x\nBinary files a/x and b/x differ\n", patch.ErrBinary, []string{"x"}},
		{"mode only", "diff --git a/a.txt b/a.txt\nold mode 100644\nnew mode 100755\n", patch.ErrEmpty, []string{"modes"}},
		{"copy", "diff --git a/a.txt b/n\ncopy from a.txt\ncopy to n\n", patch.ErrSyntax, []string{"copies"}},
		{"hunk without file", "@@ -1 +1 @@\n-a\n+b\n", patch.ErrSyntax, []string{"without a file"}},
		{"deletion of more than is named", "--- a/a.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-one\n", patch.ErrHunk, []string{"a.txt"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			changes, err := patch.Plan(tt.patch, tree.read)
			require.Error(t, err)
			assert.Nil(t, changes)
			assert.ErrorIs(t, err, tt.reason)
			assert.True(t, strings.HasSuffix(err.Error(), "Nothing was changed."), err.Error())
			var e *patch.Error
			require.ErrorAs(t, err, &e)
			for _, s := range tt.says {
				assert.Contains(t, err.Error(), s)
			}
		})
	}
}

func TestEveryFailureIsListed(t *testing.T) {
	_, err := patch.Plan(wrap("*** Update File: a.txt", "@@", "-nope", "+x", "@@", "-one", "+1", "*** Update File: none", "@@", "-a", "+b", "*** Update File: open", "@@", "-wrong", "+x"), tree.read)
	var es patch.Errors
	require.ErrorAs(t, err, &es)
	require.Len(t, es, 3)
	assert.Equal(t, []string{"a.txt", "none", "open"}, []string{es[0].Path, es[1].Path, es[2].Path})
	assert.Equal(t, 1, es[0].Hunk)
	assert.Equal(t, 1, strings.Count(err.Error(), "Nothing was changed."))
}

func TestReadErrors(t *testing.T) {
	broken := errors.New("disk on fire")
	_, err := patch.Plan(wrap("*** Update File: a.txt", "@@", "-one", "+1"), func(string) (string, error) { return "", broken })
	assert.ErrorIs(t, err, patch.ErrRead)
	assert.ErrorIs(t, err, broken)
}

func TestPlacements(t *testing.T) {
	changes, err := patch.Plan(wrap("*** Update File: a.txt", "@@", "-  five", "+  5", "@@", "-one", "+1"), tree.read)
	require.NoError(t, err)
	require.Len(t, changes, 1)
	assert.Equal(t, []patch.Placement{{First: 5, Last: 5, Level: match.Indentation}, {First: 1, Last: 1, OutOfOrder: true}}, changes[0].Hunks)
	assert.Equal(t, "1\ntwo\nthree\nfour\n5\n", changes[0].New)
	assert.Equal(t, "M", changes[0].Kind.String())
}

// TestNumbersDecideOnlyWhenProven: a line number picks among equal places only
// if another hunk shows that the numbers of the patch are right.
func TestNumbersDecideOnlyWhenProven(t *testing.T) {
	tree := files{"f": "head\nx\ny\nx\ny\nx\ny\ntail\n"}
	_, err := tree.apply("--- a/f\n+++ b/f\n@@ -4,2 +4,2 @@\n x\n-y\n+z\n")
	assert.ErrorIs(t, err, match.ErrAmbiguous)
	got, err := tree.apply("--- a/f\n+++ b/f\n@@ -1 +1 @@\n-head\n+HEAD\n@@ -4,2 +4,2 @@\n x\n-y\n+z\n")
	require.NoError(t, err)
	assert.Equal(t, "HEAD\nx\ny\nx\nz\nx\ny\ntail\n", got["f"])
	_, err = tree.apply("--- a/f\n+++ b/f\n@@ -3 +3 @@\n-head\n+HEAD\n@@ -4,2 +4,2 @@\n x\n-y\n+z\n")
	assert.ErrorIs(t, err, match.ErrAmbiguous)
}

// randomText makes a text of few different lines, so that places repeat.
func randomText(r *rand.Rand, n int) string {
	var b strings.Builder
	for i := range n {
		switch r.IntN(4) {
		case 0:
			b.WriteString("\t}")
		case 1:
		default:
			fmt.Fprintf(&b, "\tline %d of %d", r.IntN(40), i%3)
		}
		b.WriteString("\n")
	}
	if r.IntN(4) == 0 {
		return strings.TrimRight(b.String(), "\n")
	}
	return b.String()
}

// TestDiffsApply applies diffs of random texts: either exactly as they were
// meant or, where places repeat, not at all.
func TestDiffsApply(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 9))
	applied := 0
	for range 400 {
		old := randomText(r, 5+r.IntN(40))
		lines := strings.SplitAfter(old, "\n")
		for range 1 + r.IntN(3) {
			k := r.IntN(len(lines))
			lines[k] = fmt.Sprintf("changed %d\n", r.IntN(1000))
		}
		new := strings.Join(lines, "")
		tree := files{"f": old}
		got, err := tree.apply(diff.Unified("a/f", "b/f", old, new, nil))
		if err != nil {
			require.True(t, errors.Is(err, match.ErrAmbiguous) || errors.Is(err, patch.ErrHunk), "%v", err)
			continue
		}
		applied++
		require.Equal(t, new, got["f"])
	}
	assert.Greater(t, applied, 250)
}

// TestGitDiffsApply applies what git diff writes for a tree and compares with
// the tree.
func TestGitDiffsApply(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("git is not installed")
	}
	dir := t.TempDir()
	run := func(args ...string) string {
		cmd := exec.Command(git, args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GIT_CEILING_DIRECTORIES="+filepath.Dir(dir))
		out, err := cmd.CombinedOutput()
		if err != nil && args[0] != "diff" {
			require.NoError(t, err, "%s", out)
		}
		return string(out)
	}
	write := func(name, text string) {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	run("init", "-q")
	before := files{"keep.txt": "a\nb\nc\n", "sub/move.txt": "1\n2\n3\n4\n5\n6\n7\n8\n", "gone.txt": "bye\n", "crlf.txt": "a\r\nb\r\nc\r\n", "open.txt": "x\ny", "with space.txt": "s\n", "grün.txt": "ü\n"}
	for name, text := range before {
		write(name, text)
	}
	run("add", "-A")
	run("-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "-q", "-m", "before")
	after := files{"keep.txt": "a\nB\nc\n", "sub/moved.txt": "1\n2\n3\n4\nfive\n6\n7\n8\n", "crlf.txt": "a\r\nb\r\nC\r\n", "open.txt": "x\ny\n", "with space.txt": "t\n", "new/file.txt": "n\n", "grün.txt": "ue\n"}
	for name := range before {
		require.NoError(t, os.Remove(filepath.Join(dir, name)))
	}
	for name, text := range after {
		write(name, text)
	}
	run("add", "-A")
	got, err := before.apply(run("diff", "--cached", "-M", "--no-color"))
	require.NoError(t, err)
	assert.Equal(t, after, got)
}

func FuzzPlan(f *testing.F) {
	f.Add(wrap("*** Update File: a.txt", "@@", " one", "-two", "+2", " three"))
	f.Add(wrap("*** Add File: n", "+a", "*** Update File: n", "*** Move to: m", "@@ a", "+b"))
	f.Add(wrap("*** Update File: b.go", "@@ func g() {", "-\treturn", "+\tpanic(0)", "*** End of File"))
	f.Add("--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n\\ No newline at end of file\n")
	f.Add("diff --git a/a.txt b/z\nrename from a.txt\nrename to z\n--- a/a.txt\n+++ b/z\n@@ -1 +1 @@\n-one\n+1\n")
	f.Add("```\n*** Begin Patch\n*** Delete File: a.txt\n```")
	f.Fuzz(func(t *testing.T, text string) {
		changes, err := patch.Plan(text, tree.read)
		if err != nil {
			require.True(t, strings.HasSuffix(err.Error(), "Nothing was changed."))
			return
		}
		require.NotEmpty(t, changes)
		for _, c := range changes {
			if c.Kind == patch.Update {
				require.Equal(t, tree[c.Path], c.Old)
				require.Equal(t, c.New, match.Apply(c.Old, c.Spans))
				require.Equal(t, c.Old, match.Apply(c.New, match.Invert(c.Old, c.Spans)))
			}
		}
	})
}

// FuzzReference builds a patch from a change and expects the change itself, or a
// refusal.
func FuzzReference(f *testing.F) {
	f.Add("one\ntwo\nthree\n", uint8(1), "2")
	f.Add("a\r\nb\r\n", uint8(0), "x")
	f.Add("\ta\n\n\tb\n", uint8(2), "\tc")
	f.Fuzz(func(t *testing.T, old string, at uint8, line string) {
		lines := strings.Split(strings.TrimSuffix(old, "\n"), "\n")
		k := int(at) % len(lines)
		if strings.ContainsAny(line, "\n\r") || strings.Contains(strings.ReplaceAll(old, "\r\n", ""), "\r") {
			return
		}
		var p strings.Builder
		p.WriteString("*** Begin Patch\n*** Update File: f\n@@\n")
		for i, l := range lines {
			l = strings.TrimSuffix(l, "\r")
			if i == k {
				p.WriteString("-" + l + "\n+" + line + "\n")
			} else {
				p.WriteString(" " + l + "\n")
			}
		}
		p.WriteString("*** End Patch\n")
		got, err := files{"f": old}.apply(p.String())
		if err != nil {
			return
		}
		want := strings.Split(strings.TrimSuffix(strings.ReplaceAll(old, "\r\n", "\n"), "\n"), "\n")
		want[k] = strings.TrimSuffix(line, "\r")
		end := ""
		if strings.HasSuffix(old, "\n") {
			end = "\n"
		}
		require.Equal(t, strings.Join(want, "\n")+end, strings.ReplaceAll(got["f"], "\r\n", "\n"))
	})
}

func ExamplePlan() {
	read := func(name string) (string, error) { return "func f() {\n\treturn 1\n}\n", nil }
	changes, err := patch.Plan(`*** Begin Patch
*** Update File: f.go
@@ func f() {
-    return 1
+    return 2
*** End Patch`, read)
	fmt.Println(err)
	fmt.Println(changes[0].Kind, changes[0].Path)
	fmt.Print(changes[0].New)
	// Output:
	// <nil>
	// M f.go
	// func f() {
	// 	return 2
	// }
}

func ExampleParse() {
	p, err := patch.Parse("--- a/x.txt\n+++ b/x.txt\n@@ -1 +1 @@\n-a\n+b\n")
	fmt.Println(err, p.Sections[0].Path, len(p.Sections[0].Hunks))
	// Output: <nil> x.txt 1
}
