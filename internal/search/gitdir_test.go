package search

import (
	"fmt"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// gitListing is what git lists of a work tree as neither tracked nor ignored, also
// within the repositories nested in it.
func gitListing(t *testing.T, dir string) []string {
	t.Helper()
	cmd := exec.Command("git", "-C", dir, "ls-files", "-z", "-o", "--exclude-standard")
	out, err := cmd.Output()
	require.NoError(t, err)
	var all []string
	for name := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		nested, ok := strings.CutSuffix(name, "/")
		switch {
		case name == "":
		case ok:
			for _, sub := range gitListing(t, filepath.Join(dir, nested)) {
				all = append(all, nested+"/"+sub)
			}
		default:
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return all
}

// gitRounds is how many random trees a test makes, more with TOOL_SLOW, or as many as
// SEARCH_FUZZ says, which also takes another seed each time.
func gitRounds(normal int) int {
	var n int
	if _, err := fmt.Sscan(os.Getenv("SEARCH_FUZZ"), &n); err == nil {
		return n
	}
	switch {
	case os.Getenv("TOOL_SLOW") != "":
		return 8 * normal
	case testing.Short():
		return normal / 4
	}
	return normal
}

// TestRepositoriesAgreeWithGit: random trees with repositories within repositories,
// work trees and separate git directories whose ".git" is a file, exclude files of
// repositories, and excludes files that the system's, the user's or a repository's
// configuration names.
func TestRepositoriesAgreeWithGit(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	seed := int64(21)
	if os.Getenv("SEARCH_FUZZ") != "" {
		seed = int64(os.Getpid())
	}
	r := rand.New(rand.NewSource(seed))
	names := []string{"a", "b", "ab", "foo", "foo.o", "x.tar.gz", "a b", "[a]", "build", ".h", "é", "foo1"}
	rules := []string{"a", "b/", "/a", "*.o", "!foo.o", "foo*", "**/b", "a/**", "a/**/b", "!a/b", "*", "!*/", "[ab]", "/*/a", "build/", "!build", "*.gz", "?", ".*", "!.h", "a/b/", "foo**/b", "**/foo/*", "[[:alpha:]]", "[!a-f]*", `\#x`, "!", "a/./b", "/"}
	some := func(n int) string {
		var b strings.Builder
		for range 1 + r.Intn(n) {
			b.WriteString(rules[r.Intn(len(rules))] + []string{"\n", "\r\n", " \n", "\n#c\n"}[r.Intn(4)])
		}
		return b.String()
	}
	for round := range gitRounds(12) {
		home, dir := t.TempDir(), t.TempDir()
		t.Setenv("HOME", home)
		t.Setenv("XDG_CONFIG_HOME", filepath.Join(home, "cfg"))
		t.Setenv("GIT_CONFIG_SYSTEM", filepath.Join(home, "system"))
		t.Setenv("GIT_AUTHOR_NAME", "x")
		t.Setenv("GIT_AUTHOR_EMAIL", "x")
		t.Setenv("GIT_COMMITTER_NAME", "x")
		t.Setenv("GIT_COMMITTER_EMAIL", "x")
		run := func(dir string, args ...string) {
			t.Helper()
			out, err := exec.Command("git", append([]string{"-C", dir}, args...)...).CombinedOutput()
			require.NoError(t, err, "%s: %s", args, out)
		}
		switch r.Intn(4) {
		case 0:
			write(t, home, "cfg/git/ignore", some(3))
		case 1:
			write(t, home, ".gitconfig", "[core]\n\teditor = x ; why\n\texcludesFile = ~/mine # here\n")
			write(t, home, "mine", some(3))
		case 2:
			write(t, home, "system", "[Core] excludesfile = \""+filepath.ToSlash(home)+"/sys tem\"\n")
			write(t, home, "sys tem", some(3))
			if r.Intn(2) == 0 {
				write(t, home, "cfg/git/config", "[include]\n path = more.inc\n")
				write(t, home, "cfg/git/more.inc", "[core]\nexcludesFile = ~/mi\\\nne\n")
				write(t, home, "mine", some(2))
			}
		}
		settle := func(dir string) {
			out, err := exec.Command("git", "-C", dir, "rev-parse", "--git-common-dir").Output()
			require.NoError(t, err)
			git := strings.TrimSpace(string(out))
			if !filepath.IsAbs(git) {
				git = filepath.Join(dir, git)
			}
			if r.Intn(2) == 0 {
				write(t, git, "info/exclude", some(2))
			}
			switch r.Intn(6) {
			case 0:
				run(dir, "config", "core.excludesFile", filepath.Join(home, "own"))
				write(t, home, "own", some(2))
			case 1:
				run(dir, "config", "core.excludesFile", "own.rules")
				write(t, dir, "own.rules", some(2))
			case 2:
				run(dir, "config", "core.excludesFile", filepath.Join(home, "nowhere"))
			}
		}
		var fill func(sub string, depth int)
		fill = func(sub string, depth int) {
			if sub != "" && r.Intn(5) == 0 {
				at := filepath.Join(dir, sub)
				require.NoError(t, os.MkdirAll(at, 0o777))
				separate := filepath.Join(home, fmt.Sprint("git", r.Intn(1<<30)))
				if st, err := os.Stat(filepath.Join(dir, ".git")); err == nil && st.IsDir() && r.Intn(2) == 0 {
					separate = filepath.Join(dir, ".git", "modules", fmt.Sprint(r.Intn(1<<30)))
					require.NoError(t, os.MkdirAll(filepath.Dir(separate), 0o777))
				}
				if r.Intn(3) == 0 {
					run(at, "init", "-q")
				} else {
					run(at, "init", "-q", "--separate-git-dir", separate)
				}
				settle(at)
				write(t, at, "one", "x") // git says nothing of an empty one
			}
			if r.Intn(2) == 0 {
				write(t, dir, sub+".gitignore", some(4))
			}
			for _, n := range names {
				switch k := r.Intn(6); {
				case k == 0 && depth > 0:
					fill(sub+n+"/", depth-1)
				case k < 3:
					write(t, dir, sub+n, "x")
				}
			}
		}
		if r.Intn(2) == 0 {
			run(dir, "init", "-q")
		} else {
			main := filepath.Join(home, "main")
			require.NoError(t, os.Mkdir(main, 0o777))
			run(main, "init", "-q")
			run(main, "commit", "-q", "--allow-empty", "-m", "x")
			require.NoError(t, os.Remove(dir))
			run(main, "worktree", "add", "-q", "--detach", dir)
			require.NoError(t, os.MkdirAll(filepath.Join(main, ".git", "info"), 0o777))
		}
		settle(dir)
		fill("", 3)
		want := gitListing(t, dir)
		for _, opt := range []Options{{}, {portable: true}} {
			opt.ExcludesFile = UserExcludes()
			got := filesIn(t, New(opt), dir)
			if !assert.Equal(t, want, got, "round %d of seed %d in %s", round, seed, dir) {
				return
			}
		}
		// The same from a directory below: rules above the root count.
		for _, sub := range []string{"a", "foo", "build"} {
			st, err := os.Stat(filepath.Join(dir, sub))
			if err != nil || !st.IsDir() || ignoredByGit(dir, sub) {
				continue
			}
			var below []string
			for _, w := range want {
				if rest, ok := strings.CutPrefix(w, sub+"/"); ok {
					below = append(below, rest)
				}
			}
			got := filesIn(t, New(Options{ExcludesFile: UserExcludes()}), filepath.Join(dir, sub))
			assert.Equal(t, below, got, "round %d of seed %d below %s", round, seed, sub)
		}
	}
}

func filesIn(t *testing.T, e *Engine, dir string) []string {
	t.Helper()
	root, err := os.OpenRoot(dir)
	require.NoError(t, err)
	defer root.Close()
	l, err := e.Files(t.Context(), root, Scope{})
	require.NoError(t, err)
	return append([]string(nil), l.Paths...)
}

func ignoredByGit(dir, name string) bool {
	return exec.Command("git", "-C", dir, "check-ignore", "-q", "--no-index", name).Run() == nil
}

// TestExcludesFileOfAConfiguration compares how a configuration file is read with git.
func TestExcludesFileOfAConfiguration(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("git is not installed")
	}
	dir := t.TempDir()
	write(t, dir, "inc", "[core]\n\texcludesFile = included\n")
	for _, config := range []string{
		"", "[core]\nexcludesfile=a", "[CORE]\n\tExcludesFile = a b  \n", "[core] excludesfile = a", "[core]\nexcludesfile = a # c\n", "[core]\nexcludesfile = a;c\n",
		"[core]\nexcludesfile = \"a # b\" ; c\n", "[core]\nexcludesfile = \" a \"  \n", "[core]\nexcludesfile = a\\\nb\n", "[core]\nexcludesfile = a\\\\b\\tc\n", "[core]\nexcludesfile =\n",
		"[core]\n\teditor\n\texcludesfile = a\n[user]\nexcludesfile = b\n", "[core]\nexcludesfile = a\n[core]\nexcludesfile = b\n", "[core \"x\"]\nexcludesfile = a\n",
		"# [core]\n;x\n[core]\n# excludesfile = x\nexcludesfile = y\n", "[include]\npath = inc\n", "[core]\nexcludesfile = a\n[include]\npath = inc\n", "[include]\npath = inc\n[core]\nexcludesfile = a\n",
		"[include]\npath = nowhere\n", "[include]\r\npath = inc\r\n[core]\r\nautocrlf = true\r\n", "[core]\r\nexcludesfile = a\r\n", "[core]\nexcludesfile = \"a\"b\n",
	} {
		write(t, dir, "config", config)
		name := filepath.Join(dir, "config")
		out, err := exec.Command(git, "config", "--includes", "--file", name, "-z", "core.excludesfile").Output()
		want, set := strings.TrimSuffix(string(out), "\x00"), err == nil
		got, ok := excludesFile([]byte(config), name, readOutside)
		assert.Equal(t, set, ok, "%q", config)
		assert.Equal(t, want, got, "%q", config)
	}
}

func FuzzExcludesFile(f *testing.F) {
	f.Add("[core]\n\texcludesFile = \"~/x\" # y\n[include]\npath = c\n")
	f.Add("[core]excludesfile=a\\\n b")
	f.Add("[")
	f.Add(strings.Repeat("[include]\npath = c\n", 20))
	f.Fuzz(func(t *testing.T, config string) {
		read := func(string) ([]byte, bool) { return []byte(config), true } // includes itself
		v, _ := excludesFile([]byte(config), "c", read)
		if len(v) > len(config) {
			t.Fatalf("%q gives %q", config, v)
		}
	})
}
