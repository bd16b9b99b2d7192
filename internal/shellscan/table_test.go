package shellscan

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// memFS is a file system of names: a directory ends in a slash, a link has " -> target".
type memFS map[string]string

func (m memFS) Lstat(name string) (fs.FileMode, error) {
	target, ok := m[name]
	switch {
	case !ok:
		return 0, fs.ErrNotExist
	case target == "/":
		return fs.ModeDir, nil
	case target != "":
		return fs.ModeSymlink, nil
	}
	return 0, nil
}

func (m memFS) Readlink(name string) (string, error) { return m[name], nil }

func (m memFS) Names(dir string, max int) ([]string, error) {
	var out []string
	for n := range m {
		if path.Dir(n) == dir && n != "/" {
			out = append(out, path.Base(n))
		}
	}
	return out, nil
}

var testFiles = func() memFS {
	m := memFS{}
	for _, n := range strings.Fields(`/proj/ /proj/a.txt /proj/b.txt /proj/main.go /proj/go.mod /proj/sub/ /proj/sub/x.txt /proj/src/ /proj/src/a.go /proj/.git/ /proj/.git/config
		/proj/.git/hooks/ /proj/.env /proj/README.md /proj/docs/ /proj/dash/ /proj/dash/-rf /proj/node_modules/ /etc/ /etc/passwd /tmp/ /home/ /home/u/ /home/u/.ssh/ /home/u/.bashrc
		/proj/out->/tmp /proj/pw->/etc/passwd /proj/notes->.env /proj/inner->sub /proj/.vscode/ /proj/links/ /proj/links/etc->/etc /usr/ /bin/ /var/ /proj-evil/ /proj-evil/x`) {
		if from, to, ok := strings.Cut(n, "->"); ok {
			m[from] = to
		} else if strings.HasSuffix(n, "/") {
			m[strings.TrimSuffix(n, "/")] = "/"
		} else {
			m[n] = ""
		}
	}
	return m
}()

func testOptions() Options {
	return Options{Dir: "/proj", Home: "/home/u", Roots: []string{"/proj"}, Lookup: testFiles, Self: []string{"4242"}}
}

// A case of the tables in testdata: rules come in lines that begin with @, a line "@" alone takes them back. A verdict
// may have a question mark after it: "ask" or stricter.
type tableCase struct {
	file, verdict, text string
	line                int
	rules               List
}

func readTables(t testing.TB, pattern string) []tableCase {
	files, err := filepath.Glob(pattern)
	require.NoError(t, err)
	require.NotEmpty(t, files)
	var out []tableCase
	for _, file := range files {
		b, err := os.ReadFile(file)
		require.NoError(t, err)
		var rules List
		for i, line := range strings.Split(string(b), "\n") {
			switch {
			case strings.TrimSpace(line) == "" || line[0] == '#':
			case line == "@":
				rules = nil
			case line[0] == '@':
				f := strings.Fields(line[1:])
				require.GreaterOrEqual(t, len(f), 3, "%s:%d", file, i+1)
				action := map[string]Action{"allow": Allow, "ask": Ask, "deny": Deny}[f[0]]
				pat := strings.TrimSpace(strings.SplitN(strings.TrimSpace(line[1:]), f[1], 2)[1])
				rules = append(rules[:len(rules):len(rules)], Rule{f[1], pat, action})
			default:
				verdict, text, ok := strings.Cut(line, "\t")
				require.True(t, ok, "%s:%d: %q", file, i+1, line)
				text = strings.TrimLeft(text, "\t")
				if strings.HasPrefix(text, `"`) && strings.HasSuffix(text, `"`) {
					if text, err = strconv.Unquote(text); err != nil {
						require.NoError(t, err, "%s:%d", file, i+1)
					}
				}
				out = append(out, tableCase{file, verdict, text, i + 1, rules})
			}
		}
	}
	return out
}

func TestTables(t *testing.T) {
	counts := map[string]int{}
	for _, c := range readTables(t, "testdata/*.txt") {
		s := Analyze(c.text, testOptions())
		d := s.Judge(c.rules)
		counts[filepath.Base(c.file)]++
		ok := d.Action.String() == c.verdict
		if c.verdict == "block" {
			ok = d.Action != Allow
		}
		if !ok {
			t.Errorf("%s:%d: %q is %v, want %s\n\treasons %q", c.file, c.line, c.text, d.Action, c.verdict, d.Reasons)
		}
	}
	t.Log(counts)
}
