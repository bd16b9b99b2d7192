package ignore

import (
	"bytes"
	"fmt"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestMatch(t *testing.T) {
	for _, c := range []struct {
		rules, path string
		dir         bool
		want        Verdict
	}{
		{"foo", "foo", false, Ignored},
		{"foo", "a/foo", false, Ignored},
		{"/foo", "a/foo", false, None},
		{"/foo", "foo", false, Ignored},
		{"a/foo", "a/foo", false, Ignored},
		{"a/foo", "b/a/foo", false, None},
		{"foo/", "foo", false, None},
		{"foo/", "foo", true, Ignored},
		{"*.o\n!keep.o", "keep.o", false, Included},
		{"!keep.o\n*.o", "keep.o", false, Ignored},
		{"*.tar.gz", "x.tar.gz", false, Ignored},
		{"*.gz", "x.tar.gz", false, Ignored},
		{"*.", "x.", false, Ignored},
		{"foo \n", "foo", false, Ignored},
		{"foo\\ \n", "foo ", false, Ignored},
		{"foo\t\n", "foo\t", false, Ignored},
		{"foo\r\n", "foo", false, Ignored},
		{"foo\r", "foo", false, Ignored},
		{"#foo", "#foo", false, None},
		{`\#foo`, "#foo", false, Ignored},
		{`\!foo`, "!foo", false, Ignored},
		{"!", "!", false, None},
		{"/", "x", true, None},
		{"**/x", "x", false, Ignored},
		{"**/x", "a/b/x", false, Ignored},
		{"a/**", "a", true, None},
		{"a/**", "a/b/c", false, Ignored},
		{"a/**/b", "a/b", false, Ignored},
		{"a/**/b", "a/x/y/b", false, Ignored},
		{"a/***/b", "a/x/y/b", false, Ignored},
		{"a/*/b", "a/b", false, None},
		{"a**b", "axxb", false, Ignored},
		{"x/a**b", "x/ax/xb", false, None},
		{"foo**/x", "foox/x", false, Ignored},
		{"foo**/x", "foo/a/b/x", false, Ignored},
		{"a?c", "abc", false, Ignored},
		{"x/a?c", "x/a/c", false, None},
		{"[a-c]x", "bx", false, Ignored},
		{"[!a-c]x", "bx", false, None},
		{"[^a-c]x", "dx", false, Ignored},
		{"[]]x", "]x", false, Ignored},
		{"[a-]x", "-x", false, Ignored},
		{"[[:digit:]]x", "1x", false, Ignored},
		{"[[:nonsense:]]x", "1x", false, None},
		{"[a", "[a", false, None},
		{"{a,b}", "a", false, None},
		{"{a,b}", "{a,b}", false, Ignored},
		{`foo\`, `foo\`, false, None},
		{"\xef\xbb\xbffoo", "foo", false, Ignored},
	} {
		assert.Equal(t, c.want, Parse([]byte(c.rules)).Match([]byte(c.path), c.dir), "%q on %q", c.rules, c.path)
	}
	assert.Nil(t, Parse([]byte("# only\n\n!\n")))
}

func TestLevels(t *testing.T) {
	user := &Level{User: Parse([]byte("*.swp\n/usr"))}
	top := &Level{Parent: user, Repository: true, GitIgnore: Parse([]byte("*.log\n/out")), Exclude: Parse([]byte("priv"))}
	sub := &Level{Parent: top, Dir: len("sub/"), GitIgnore: Parse([]byte("!a.log")), Ignore: Parse([]byte("b.log"))}
	nested := &Level{Parent: top, Dir: len("nest/"), Repository: true, GitIgnore: Parse([]byte("z"))}
	match := func(l *Level, p string) Verdict { return l.Match([]byte(p), false) }
	assert.Equal(t, Ignored, match(top, "x.log"))
	assert.Equal(t, Included, match(sub, "sub/a.log"))
	assert.Equal(t, Ignored, match(sub, "sub/b.log"))
	assert.Equal(t, Ignored, match(sub, "sub/priv"))
	assert.Equal(t, Ignored, match(sub, "sub/x.swp"))
	assert.Equal(t, None, match(sub, "sub/out"))
	assert.Equal(t, None, match(nested, "nest/x.log"), "an outer repository's rules end here")
	assert.Equal(t, Ignored, match(nested, "nest/z"))
	assert.Equal(t, Ignored, match(nested, "nest/usr"), "the user's rules are relative to the repository")
	own := &Level{Parent: top, Dir: len("own/"), Repository: true, User: Parse([]byte("mine"))}
	within := &Level{Parent: own, Dir: len("own/in/"), Repository: true}
	assert.Equal(t, Ignored, match(own, "own/mine"))
	assert.Equal(t, None, match(own, "own/x.swp"), "its own in place of the user's")
	assert.Equal(t, None, match(within, "own/in/mine"), "which is not that of a repository within")
	assert.Equal(t, Ignored, match(within, "own/in/x.swp"))
	assert.Equal(t, None, match(nil, "x"))
	assert.Equal(t, None, match(&Level{GitIgnore: Parse([]byte("x"))}, "x"), "no repository, no .gitignore")
	assert.Equal(t, Ignored, sub.Within([]byte("sub/priv/x/y"), false))
}

func TestMatchDoesNotAllocate(t *testing.T) {
	r := Parse([]byte(sixty))
	p := []byte("src/internal/search/ignore.go")
	assert.Zero(t, testing.AllocsPerRun(100, func() { r.Match(p, false) }))
}

func TestNoPatternIsSlow(t *testing.T) {
	r := Parse([]byte("/" + strings.Repeat("a*", 200) + "b\n" + strings.Repeat("**/a*", 100) + "b"))
	p := bytes.Repeat([]byte("a"), 4000)
	assert.Equal(t, None, r.Match(p, false))
}

// names and rules that are likely to meet, and to be read differently.
var (
	names = []string{"a", "b", "ab", "a b", "foo", "foo.o", "x.tar.gz", "#a", "!a", "a ", "[a]", "a-b", "é", "{a,b}", "foo1", ".h", "a*", "build"}
	parts = []string{"a", "b", "ab", "foo", "*", "**", "***", "?", "*.o", "[ab]", "[!a]", "[^b]", "[[:alpha:]]", "[[:digit:]]", "foo*", "*o", "a*b", `\a`, `\*`, "build", "#a", "!a", "a ", `a\ `, "é", "{a,b}", ".*", "[a-", "[]a]", "[a-b]", "*.gz", "f**", "**b", "a?", "[\\a]", "x.*"}
)

func randomRules(r *rand.Rand) string {
	var b strings.Builder
	for range 1 + r.Intn(5) {
		if r.Intn(4) == 0 {
			b.WriteByte('!')
		}
		if r.Intn(4) == 0 {
			b.WriteByte('/')
		}
		n := 1
		if r.Intn(2) == 0 {
			n += r.Intn(3)
		}
		for i := range n {
			if i > 0 {
				b.WriteByte('/')
			}
			b.WriteString(parts[r.Intn(len(parts))])
			if r.Intn(6) == 0 {
				b.WriteString(parts[r.Intn(len(parts))])
			}
		}
		if r.Intn(4) == 0 {
			b.WriteByte('/')
		}
		b.WriteString([]string{"\n", "\n", "\r\n", " \n", ""}[r.Intn(5)])
		if !strings.HasSuffix(b.String(), "\n") && r.Intn(2) == 0 {
			break
		}
	}
	return b.String()
}

// TestAgreesWithGit asks git check-ignore about random paths and rules.
func TestAgreesWithGit(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("git is not installed")
	}
	rounds := 150
	if testing.Short() {
		rounds = 20
	}
	r := rand.New(rand.NewSource(5))
	dir := t.TempDir()
	env := append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull, "HOME="+dir, "XDG_CONFIG_HOME="+dir)
	init := exec.Command(git, "init", "-q", dir)
	init.Env = env
	require.NoError(t, init.Run())
	for _, n := range names { // git looks which paths are directories
		require.NoError(t, os.MkdirAll(filepath.Join(dir, n, "d"), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, n, "f"), nil, 0o644))
		for _, m := range names {
			require.NoError(t, os.WriteFile(filepath.Join(dir, n, "d", m), nil, 0o644))
		}
	}
	type entry struct {
		path string
		dir  bool
	}
	var all []entry
	require.NoError(t, filepath.WalkDir(dir, func(p string, e os.DirEntry, err error) error {
		rel, _ := filepath.Rel(dir, p)
		if rel == ".git" {
			return filepath.SkipDir
		}
		if rel != "." && err == nil {
			all = append(all, entry{filepath.ToSlash(rel), e.IsDir()})
		}
		return err
	}))
	for range rounds {
		rules := randomRules(r)
		require.NoError(t, os.WriteFile(filepath.Join(dir, ".gitignore"), []byte(rules), 0o644))
		var in strings.Builder
		for _, e := range all {
			in.WriteString(e.path + "\x00")
		}
		cmd := exec.Command(git, "-C", dir, "check-ignore", "-z", "--no-index", "--stdin")
		cmd.Env = env
		cmd.Stdin = strings.NewReader(in.String())
		out, _ := cmd.Output() // exits with 1 if nothing is ignored
		want := map[string]bool{}
		for _, p := range strings.Split(string(out), "\x00") {
			want[p] = true
		}
		level := &Level{Repository: true, GitIgnore: Parse([]byte(rules))}
		for _, e := range all {
			got := level.Within([]byte(e.path), e.dir) == Ignored
			if got != want[e.path] {
				t.Errorf("rules %q: %q (directory: %v) ignored: %v, git says %v", rules, e.path, e.dir, got, want[e.path])
				break
			}
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("*.o\n!a/**/b\n[a-c]?\\x/\r\n", "a/x/b", false)
	f.Add("[[:alpha:]", "[", true)
	f.Fuzz(func(t *testing.T, rules, path string, dir bool) {
		path = strings.Trim(path, "/")
		r := Parse([]byte(rules))
		v := r.Match([]byte(path), dir)
		if v == None {
			return
		}
		if r.Match([]byte(path), true) == None {
			t.Fatalf("%q matches the file %q but not a directory of that name", rules, path)
		}
	})
}

var sixty = func() string {
	var b strings.Builder
	for i, s := range strings.Fields("node_modules/ dist/ build/ *.log *.tmp .DS_Store Thumbs.db /coverage .env .env.local *.pyc __pycache__/ .venv/ venv/ *.egg-info/ .pytest_cache/ target/ *.class *.jar *.o *.so *.dylib *.exe *.test *.out vendor/ .idea/ .vscode/ *.swp *~ .cache/ tmp/ /bin/ /obj/ docs/_build/ **/generated/*.go packages/*/lib logs npm-debug.log* yarn-error.log* .next/ .nuxt/ .turbo *.tsbuildinfo .eslintcache *.min.js !keep.min.js a/**/fixtures/*.snap") {
		fmt.Fprintln(&b, s)
		if i%4 == 0 {
			fmt.Fprintf(&b, "# comment %d\nextra%d.txt\n", i, i)
		}
	}
	return b.String()
}()

func BenchmarkMatch(b *testing.B) {
	r := Parse([]byte(sixty))
	paths := [][]byte{[]byte("src/internal/search/ignore.go"), []byte("packages/core/lib"), []byte("a/b/fixtures/x.snap"), []byte("README.md")}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		r.Match(paths[i&3], false)
	}
}
