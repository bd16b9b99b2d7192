package builtin

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestDiffsApply: the diff that a call reports makes, in the hands of git and of
// patch, of the tree before the call the tree after it.
func TestDiffsApply(t *testing.T) {
	programs := map[string][]string{
		"git":   {"apply", "--whitespace=nowarn", "-"},
		"patch": {"-p1", "-s", "--binary"},
	}
	// In each name a file takes the place of f.
	names := []string{"f.txt", "sp ace.txt", `quo"te.txt`, "bäck\\slash.txt", "tab\tname.txt", "日本.txt", "d/deep er/f.txt", "-dash", "a b/c d"}
	old := map[string]string{
		"plain": "one\ntwo\nthree\n", "no newline": "one\ntwo\nthree", "crlf": "one\r\ntwo\r\nthree\r\n", "mixed": "one\r\ntwo\nthree\r\n", "long": numbered(60) + "two\n",
	}
	patch := func(lines ...string) in {
		return in{"patchText": "*** Begin Patch\n" + strings.Join(lines, "\n") + "\n*** End Patch"}
	}
	calls := map[string]func(f string) (string, in){
		"edit": func(f string) (string, in) {
			return "edit", in{"filePath": f, "oldString": "two", "newString": "2\nzwei"}
		},
		"delete line": func(f string) (string, in) { return "edit", in{"filePath": f, "oldString": "two", "newString": ""} },
		"end": func(f string) (string, in) {
			return "edit", in{"filePath": f, "oldString": "two", "newString": "two\n"}
		},
		"write":  func(f string) (string, in) { return "write", in{"filePath": f, "content": "all\nnew"} },
		"empty":  func(f string) (string, in) { return "write", in{"filePath": f, "content": ""} },
		"create": func(f string) (string, in) { return "write", in{"filePath": f + ".new", "content": "new\nfile"} },
		"create empty": func(f string) (string, in) {
			return "write", in{"filePath": f + ".new", "content": ""}
		},
		"delete": func(f string) (string, in) { return "apply_patch", patch("*** Delete File: " + f) },
		"move":   func(f string) (string, in) { return "apply_patch", patch("*** Update File: "+f, "*** Move to: new/"+f) },
		"move change": func(f string) (string, in) {
			return "apply_patch", patch("*** Update File: "+f, "*** Move to: x "+f, "@@", "-two", "+2")
		},
		"many": func(f string) (string, in) {
			return "apply_patch", patch("*** Update File: "+f, "@@", "-two", "+2", "*** Delete File: gone", "*** Add File: added", "+x", "*** Update File: kept", "*** Move to: moved")
		},
	}
	for program, args := range programs {
		path, err := exec.LookPath(program)
		if err != nil {
			t.Run(program, func(t *testing.T) { t.Skip(program + " is not installed") })
			continue
		}
		for what, call := range calls {
			t.Run(program+"/"+what, func(t *testing.T) {
				for i, name := range names {
					for form, content := range old {
						if i > 0 && form != "no newline" {
							continue
						}
						b := newBench(t, "-- gone --\ngone\n-- kept --\nkept\n", Config{})
						b.ts.writer.NoSync = true
						require.NoError(t, os.MkdirAll(filepath.Dir(b.path(name)), 0o777))
						b.put(name, content)
						copied := filepath.Join(t.TempDir(), "copy")
						require.NoError(t, os.CopyFS(copied, os.DirFS(b.dir)))
						b.ok("read", in{"filePath": name})
						tool, input := call(name)
						res, err := b.run(tool, input)
						require.NoError(t, err, "%s of %q", what, name)
						text, _ := res.Metadata["diff"].(string)
						cmd := exec.Command(path, args...)
						cmd.Dir, cmd.Stdin = copied, strings.NewReader(text)
						cmd.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(copied), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
						out, err := cmd.CombinedOutput()
						require.NoError(t, err, "%s\n%s", out, text)
						require.Equal(t, filesIn(t, b.dir), filesIn(t, copied), "%s of %q (%s)\n%s", what, name, form, text)
					}
				}
			})
		}
	}
}

// filesIn is what files of what content are in a directory; empty directories do not count.
func filesIn(t *testing.T, dir string) string {
	var b strings.Builder
	require.NoError(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		rel, _ := filepath.Rel(dir, path)
		fmt.Fprintf(&b, "%q: %q\n", rel, data)
		return err
	}))
	assert.NotEmpty(t, b.String())
	return b.String()
}
