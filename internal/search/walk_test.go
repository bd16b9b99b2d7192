package search

import (
	"bytes"
	"context"
	"fmt"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func globIn(t testing.TB, e *Engine, dir string, q GlobQuery) *GlobResult {
	t.Helper()
	r, err := e.Glob(t.Context(), openRoot(t, dir), q)
	require.NoError(t, err)
	return r
}

func paths(r *GlobResult) string {
	var out []string
	for _, e := range r.Entries {
		p := e.Path
		if e.Dir {
			p += "/"
		}
		out = append(out, p)
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

func TestGlob(t *testing.T) {
	dir := tree(t, project)
	for _, name := range []string{"app/[id]/page.tsx", "app/i/page.tsx", "app/[id]/[...all]/x.ts", "a*b.txt", "axb.txt", "node_modules/foo/i.js", "node_modules/foo/node_modules/bar/i.js", "{x}.md"} {
		write(t, dir, name, "x")
	}
	write(t, dir, ".gitignore", "*.log\n/build/\nnode_modules\n")
	each(t, Options{}, func(t *testing.T, e *Engine) {
		for _, c := range []struct {
			q    GlobQuery
			want string
		}{
			{GlobQuery{Pattern: "*.go"}, "a.go"},
			{GlobQuery{Pattern: "/*.go"}, "a.go"},
			{GlobQuery{Pattern: "*.ts"}, "app/[id]/[...all]/x.ts sub/c.ts"},
			{GlobQuery{Pattern: "sub/**"}, "sub/.gitignore sub/c.ts sub/keep.log"},
			{GlobQuery{Pattern: "**/*.log"}, "other/x.log sub/keep.log"},
			{GlobQuery{Pattern: "build/**"}, "build/out.go"},
			{GlobQuery{Pattern: "node_modules/foo/**"}, "node_modules/foo/i.js node_modules/foo/node_modules/bar/i.js"},
			{GlobQuery{Pattern: "app/[id]/page.tsx"}, "app/[id]/page.tsx"},
			{GlobQuery{Pattern: "app/[id]/*.tsx"}, "app/[id]/page.tsx"},
			{GlobQuery{Pattern: "**/[id]/page.tsx"}, "app/[id]/page.tsx app/i/page.tsx"},
			{GlobQuery{Pattern: "app/*/page.tsx"}, "app/[id]/page.tsx app/i/page.tsx"},
			{GlobQuery{Pattern: "**/[...all]/*"}, "app/[id]/[...all]/x.ts"},
			{GlobQuery{Pattern: "a*b.txt"}, "a*b.txt"},
			{GlobQuery{Pattern: "a[*x]b.txt"}, "a*b.txt axb.txt"},
			{GlobQuery{Pattern: "{x}.md"}, "{x}.md"},
			{GlobQuery{Pattern: ".hidden/*", Scope: Scope{Hidden: HiddenNamed}}, ".hidden/x.txt"},
			{GlobQuery{Pattern: "x.txt", Scope: Scope{Hidden: HiddenNamed}}, ""},
			{GlobQuery{Pattern: "x.txt"}, ".hidden/x.txt"},
			{GlobQuery{Pattern: "SUB/*.TS", Fold: true}, "sub/c.ts"},
			{GlobQuery{Pattern: "*/", Scope: Scope{Exclude: []string{"app"}}}, ".hidden/ other/ sub/"},
			{GlobQuery{Pattern: "s*", Dirs: true, Scope: Scope{Paths: []string{"."}}}, "sub/"},
			{GlobQuery{Pattern: "*.ts", Scope: Scope{Paths: []string{"sub"}}}, "sub/c.ts"},
			{GlobQuery{Pattern: "nowhere/**"}, ""},
			{GlobQuery{Pattern: "{sub,other}/*.{ts,log}"}, "other/x.log sub/c.ts sub/keep.log"},
		} {
			r := globIn(t, e, dir, c.q)
			assert.Equal(t, c.want, paths(r), c.q.Pattern)
			assert.True(t, r.Exact)
		}
	})
}

// git runs a git that knows no configuration but the repository's.
func git(t testing.TB, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-C", dir}, args...)...)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull, "HOME="+dir, "XDG_CONFIG_HOME="+dir)
	out, err := cmd.Output()
	require.NoError(t, err)
	return string(out)
}

// TestListingAgreesWithGit compares random trees with ignore files in every
// directory with git ls-files.
func TestListingAgreesWithGit(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	rounds := 60
	if testing.Short() {
		rounds = 8
	}
	r := rand.New(rand.NewSource(11))
	names := []string{"a", "b", "ab", "foo", "foo.o", "x.tar.gz", "a b", "[a]", "build", ".h", "é", "foo1"}
	rules := []string{"a", "b/", "/a", "*.o", "!foo.o", "foo*", "**/b", "a/**", "a/**/b", "!a/b", "*", "!*/", "[ab]", "/*/a", "build/", "!build", "*.gz", "?", ".*", "!.h", "a/b/", "foo**/b", "**/foo/*"}
	for range rounds {
		dir := t.TempDir()
		git(t, dir, "init", "-q")
		var fill func(sub string, depth int)
		fill = func(sub string, depth int) {
			if r.Intn(2) == 0 {
				var b strings.Builder
				for range 1 + r.Intn(4) {
					b.WriteString(rules[r.Intn(len(rules))] + []string{"\n", "\r\n"}[r.Intn(2)])
				}
				write(t, dir, sub+".gitignore", b.String())
			}
			for _, n := range names {
				switch k := r.Intn(6); {
				case k == 0 && depth > 0:
					fill(sub+n+"/", depth-1)
				case k < 4:
					write(t, dir, sub+n, "x")
				}
			}
		}
		fill("", 3)
		if r.Intn(2) == 0 {
			write(t, dir, ".git/info/exclude", rules[r.Intn(len(rules))]+"\n")
		}
		want := strings.Split(strings.TrimSuffix(git(t, dir, "ls-files", "-z", "-o", "--exclude-standard"), "\x00"), "\x00")
		if want[0] == "" {
			want = nil
		}
		slices.Sort(want)
		for _, e := range []*Engine{New(Options{}), New(Options{portable: true})} {
			got, err := e.Files(t.Context(), openRoot(t, dir), Scope{})
			require.NoError(t, err)
			assert.Equal(t, want, append([]string(nil), got.Paths...))
		}
	}
}

// TestGrepAgreesWithRegexp compares random files, cut in blocks of odd sizes,
// with a plain search.
func TestGrepAgreesWithRegexp(t *testing.T) {
	rounds := 60
	if testing.Short() {
		rounds = 8
	}
	r := rand.New(rand.NewSource(12))
	words := []string{"foo", "bar", "Foo", "foobar", "é", " ", " ", "x", "1234", "\n", "\n", "\r\n", "\n\n", "the quick brown"}
	for range rounds {
		dir := t.TempDir()
		files := map[string][]byte{}
		for i := range 1 + r.Intn(8) {
			var b []byte
			for n := r.Intn(600); len(b) < n; {
				b = append(b, words[r.Intn(len(words))]...)
			}
			name := fmt.Sprintf("d%d/f%d", i%3, i)
			files[name] = b
			write(t, dir, name, string(b))
		}
		for _, expr := range []string{`foo`, `foo$`, `^bar`, `\bfoo\b`, `fo+.*1`, `[a-z]{3}\d`, `^$`, `x*`, `é`} {
			re := regexp.MustCompile(expr)
			var want []string
			for name, b := range files {
				lines := bytes.Split(b, newline)
				if len(lines[len(lines)-1]) == 0 {
					lines = lines[:len(lines)-1]
				}
				for i, l := range lines {
					if l = bytes.TrimSuffix(l, []byte("\r")); re.Match(l) {
						want = append(want, fmt.Sprintf("%s:%d:%s", name, i+1, l))
					}
				}
			}
			slices.Sort(want)
			for _, opt := range []Options{{}, {block: 7}, {block: 64}, {block: 200, portable: true}} {
				res := grepIn(t, New(opt), dir, Query{Pattern: expr, Limit: -1, MaxPerFile: -1, LineWidth: -1})
				var got []string
				for _, f := range res.Files {
					for _, l := range f.Lines {
						got = append(got, fmt.Sprintf("%s:%d:%s", f.Path, l.Number, l.Text))
					}
				}
				slices.Sort(got)
				if opt.block == 0 || opt.block > 64 { // else long lines are shown in part
					assert.Equal(t, want, got, "%s %+v", expr, opt)
				}
				assert.Equal(t, len(want), res.Matches, "%s %+v", expr, opt)
				counts := grepIn(t, New(opt), dir, Query{Pattern: expr, Output: Counts, Limit: -1})
				assert.Equal(t, len(want), counts.Matches)
			}
		}
	}
}

// The newest lines under a bound are those of a full search that is sorted.
func TestNewestAgreesWithFullSearch(t *testing.T) {
	r := rand.New(rand.NewSource(13))
	dir := t.TempDir()
	now := time.Now().Truncate(time.Second)
	for i := range 500 {
		name := fmt.Sprintf("d%d/e%d/f%d", i%5, i%3, i)
		write(t, dir, name, strings.Repeat("foo\nbar\n", r.Intn(4))+strings.Repeat("qux\n", r.Intn(2)))
		at := now.Add(-time.Duration(r.Intn(20)) * time.Second) // many ties
		require.NoError(t, os.Chtimes(filepath.Join(dir, name), at, at))
	}
	each(t, Options{}, func(t *testing.T, e *Engine) {
		for _, expr := range []string{"foo", "qux", "bar|qux", "none"} {
			full := grepIn(t, e, dir, Query{Pattern: expr, Limit: -1, MaxPerFile: -1})
			for _, limit := range []int{1, 3, 17, 100, 400, 5000} {
				for _, within := range []time.Duration{-1, 0, time.Hour} {
					got := grepIn(t, e, dir, Query{Pattern: expr, Limit: limit, MaxPerFile: -1, TotalsWithin: within})
					left, want := limit, []string(nil)
					for _, f := range full.Files {
						for _, l := range f.Lines {
							if left > 0 {
								want = append(want, fmt.Sprint(f.Path, l.Number))
								left--
							}
						}
					}
					var have []string
					for _, f := range got.Files {
						for _, l := range f.Lines {
							have = append(have, fmt.Sprint(f.Path, l.Number))
						}
					}
					assert.Equal(t, want, have, "%s limit %d within %v", expr, limit, within)
				}
			}
		}
		all := globIn(t, e, dir, GlobQuery{Pattern: "**", Limit: -1})
		for _, limit := range []int{1, 10, 100} {
			got := globIn(t, e, dir, GlobQuery{Pattern: "**", Limit: limit})
			assert.Equal(t, all.Entries[:limit], got.Entries)
			assert.Equal(t, 500, got.Total)
			next := globIn(t, e, dir, GlobQuery{Pattern: "**", Limit: limit, Offset: limit})
			assert.Equal(t, all.Entries[limit:2*limit], next.Entries)
		}
	})
}

func symlink(t testing.TB, target, link string) {
	t.Helper()
	if err := os.Symlink(target, link); err != nil {
		t.Skip("no symbolic links: ", err)
	}
}

func TestLinks(t *testing.T) {
	dir := tree(t, "-- in/real/f --\nfoo\n-- out/secret --\nfoo\n")
	in := filepath.Join(dir, "in")
	symlink(t, "real", filepath.Join(in, "link"))
	symlink(t, "real/f", filepath.Join(in, "flink"))
	symlink(t, "..", filepath.Join(in, "real", "loop"))
	symlink(t, ".", filepath.Join(in, "self"))
	symlink(t, "../out", filepath.Join(in, "escape"))
	symlink(t, filepath.Join(dir, "out"), filepath.Join(in, "absolute"))
	symlink(t, "../out/secret", filepath.Join(in, "fescape"))
	symlink(t, "nowhere", filepath.Join(in, "broken"))
	each(t, Options{}, func(t *testing.T, e *Engine) {
		files := func(q Query) string {
			q.Pattern, q.Output = "foo", FilesOnly
			return show(grepIn(t, e, in, q))
		}
		assert.Equal(t, "real/f 1\n", files(Query{}))
		got := files(Query{Scope: Scope{Follow: true}})
		assert.NotContains(t, got, "secret")
		assert.NotContains(t, got, "escape")
		assert.Contains(t, got, "flink 1\n")
		// The directory is entered once, by whichever name comes first.
		assert.Len(t, strings.Split(strings.TrimSpace(got), "\n"), 2, got)
		assert.Equal(t, "real/f 1\n", files(Query{Scope: Scope{Paths: []string{"link"}}}), "a link that was named")
		assert.Equal(t, "real/f 1\n", files(Query{Scope: Scope{Paths: []string{"real/loop/link"}}}))
		for _, p := range []string{"escape", "absolute", "fescape", "broken"} {
			_, err := e.Grep(t.Context(), openRoot(t, in), Query{Pattern: "foo", Scope: Scope{Paths: []string{p}}})
			require.Error(t, err, p)
		}
		r := globIn(t, e, in, GlobQuery{Pattern: "*link"})
		assert.Equal(t, "flink link", paths(r))
		assert.True(t, r.Entries[0].Link)
	})
}

func TestSpecialFilesAreNotOpened(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no FIFOs")
	}
	dir := tree(t, "-- f --\nfoo\n")
	require.NoError(t, exec.Command("mkfifo", filepath.Join(dir, "fifo")).Run())
	each(t, Options{}, func(t *testing.T, e *Engine) {
		r := grepIn(t, e, dir, Query{Pattern: "foo"})
		assert.Equal(t, "f:1:foo\n", show(r))
		_, err := e.Grep(t.Context(), openRoot(t, dir), Query{Pattern: "foo", Scope: Scope{Paths: []string{"fifo"}}})
		require.ErrorContains(t, err, "not a regular file")
		// What is swapped in after the listing is not waited for either.
		fsys, err := e.open(openRoot(t, dir))
		require.NoError(t, err)
		defer fsys.close()
		d, err := fsys.openDir("", false)
		require.NoError(t, err)
		defer d.release()
		if f, err := fsys.open(d, []byte("fifo")); err == nil {
			in, err := f.stat()
			require.NoError(t, err)
			assert.Equal(t, kindSpecial, in.kind)
			f.close()
		}
	})
}

func TestUnreadable(t *testing.T) {
	if os.Getuid() == 0 || runtime.GOOS == "windows" {
		t.Skip("permissions do not apply")
	}
	dir := tree(t, "-- a/f --\nfoo\n-- b --\nfoo\n-- c --\nfoo\n")
	require.NoError(t, os.Chmod(filepath.Join(dir, "a"), 0))
	require.NoError(t, os.Chmod(filepath.Join(dir, "b"), 0))
	defer os.Chmod(filepath.Join(dir, "a"), 0o755)
	each(t, Options{}, func(t *testing.T, e *Engine) {
		r := grepIn(t, e, dir, Query{Pattern: "foo"})
		assert.Equal(t, "c:1:foo\n", show(r))
		assert.Equal(t, 2, r.Stats.Unreadable)
		assert.Len(t, r.Stats.Problems, 2)
		assert.Equal(t, 2, r.Stats.Skipped())
	})
}

func TestVirtualFileSystemsAreNotSearched(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("Linux only")
	}
	if _, err := os.Stat("/proc/self"); err != nil {
		t.Skip("no /proc")
	}
	r := grepIn(t, New(Options{}), "/proc", Query{Pattern: "x", Scope: Scope{Timeout: 10 * time.Second}})
	assert.Equal(t, 1, r.Stats.Special)
	assert.Zero(t, r.Stats.Searched)
}

// Files and directories come and go while they are searched.
func TestChangingTree(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := 0; ctx.Err() == nil; i++ {
			p := filepath.Join(dir, fmt.Sprintf("d%d", i%20))
			os.MkdirAll(p, 0o755)
			os.WriteFile(filepath.Join(p, "f"), []byte("foo\n"), 0o644)
			os.WriteFile(filepath.Join(dir, fmt.Sprintf("g%d", i%200)), []byte("foo\n"), 0o644)
			q := filepath.Join(dir, fmt.Sprintf("d%d", (i+7)%20))
			os.RemoveAll(q)
			os.Symlink("/etc", q)
			os.Remove(q)
		}
	}()
	each(t, Options{}, func(t *testing.T, e *Engine) {
		for range 100 {
			r := grepIn(t, e, dir, Query{Pattern: "foo|root"})
			for _, f := range r.Files {
				assert.NotContains(t, f.Lines[0].Text, "root")
			}
		}
	})
	cancel()
	<-done
}

func openFiles() int {
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	return len(list)
}

// The number of descriptors does not grow with depth or width.
func TestOpenFilesAreBounded(t *testing.T) {
	dir := t.TempDir()
	deep := dir
	for range 200 {
		deep = filepath.Join(deep, "d")
	}
	require.NoError(t, os.MkdirAll(deep, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(deep, "f"), []byte("foo\n"), 0o644))
	for i := range 2000 {
		write(t, dir, fmt.Sprintf("w/f%d", i), "foo\n")
	}
	before := openFiles()
	each(t, Options{Workers: 4}, func(t *testing.T, e *Engine) {
		top := make(chan int, 5000)
		r := grepIn(t, e, dir, Query{Pattern: "foo", Scope: Scope{Private: func(string) Privacy {
			top <- openFiles()
			return Public
		}}})
		close(top)
		assert.Equal(t, 2001, r.Matches)
		for n := range top {
			// root, the listing of openFiles itself by each worker, and two for each
			assert.LessOrEqual(t, n-before, 4*4+4+2)
		}
	})
	runtime.GC()
	assert.LessOrEqual(t, openFiles(), before+1)
}

// Without openat2, as under some containers, the walk is the same.
func TestWithoutOpenat2(t *testing.T) {
	dir := tree(t, project)
	e := New(Options{})
	root := openRoot(t, dir)
	fsys, err := e.open(root)
	require.NoError(t, err)
	defer fsys.close()
	if !forbidOpenat2(fsys) {
		t.Skip("not used here")
	}
	for _, p := range []string{"", "sub", "sub/secret"} {
		d, err := fsys.openDir(p, false)
		require.NoError(t, err, p)
		d.release()
	}
	symlink(t, "sub", filepath.Join(dir, "link"))
	_, err = fsys.openDir("link", false)
	require.Error(t, err)
	_, err = fsys.openDir("link/secret", false)
	require.Error(t, err)
	d, err := fsys.openDir("link/secret", true)
	require.NoError(t, err)
	d.release()
}

func TestManyFiles(t *testing.T) {
	n := 100_000
	if testing.Short() {
		n = 5_000
	}
	dir := t.TempDir()
	d, err := os.OpenRoot(dir)
	require.NoError(t, err)
	defer d.Close()
	for i := range n {
		f, err := d.OpenFile(fmt.Sprintf("f%06d.txt", i), os.O_CREATE|os.O_WRONLY, 0o644)
		require.NoError(t, err)
		f.Close()
	}
	require.NoError(t, d.WriteFile(".gitignore", []byte("f00*\n"), 0o644))
	require.NoError(t, d.Mkdir(".git", 0o755))
	require.NoError(t, d.WriteFile(".git/HEAD", []byte("x"), 0o644))
	each(t, Options{}, func(t *testing.T, e *Engine) {
		begin := time.Now()
		r := globIn(t, e, dir, GlobQuery{Pattern: "*.txt"})
		t.Logf("%d of %d files in %v", r.Total, n, time.Since(begin))
		ignored := min(n, 10_000)
		if n < 10_000 {
			ignored = n
		}
		assert.Equal(t, n-ignored, r.Total)
		assert.Equal(t, ignored, r.Hidden)
		assert.Len(t, r.Entries, min(DefaultLimit, n-ignored))
		g := grepIn(t, e, dir, Query{Pattern: "x"})
		assert.Equal(t, n-ignored+1, g.Stats.Searched)
	})
}

func TestMillionEntries(t *testing.T) {
	if os.Getenv("SEARCH_MILLION") == "" {
		t.Skip("set SEARCH_MILLION=1 to make a directory of a million files")
	}
	dir := t.TempDir()
	d, err := os.OpenRoot(dir)
	require.NoError(t, err)
	defer d.Close()
	for i := range 1_000_000 {
		f, err := d.OpenFile(fmt.Sprintf("f%07d", i), os.O_CREATE|os.O_WRONLY, 0o644)
		require.NoError(t, err)
		f.Close()
	}
	e := New(Options{})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	begin := time.Now()
	r := globIn(t, e, dir, GlobQuery{Pattern: "*9"})
	took := time.Since(begin)
	runtime.ReadMemStats(&after)
	assert.Equal(t, 100_000, r.Total)
	t.Logf("glob: %v, %d MB allocated in all", took, (after.TotalAlloc-before.TotalAlloc)>>20)
}

// The gate on allocations: less than one for each file searched, half for each
// file listed.
func TestAllocations(t *testing.T) {
	dir := t.TempDir()
	for i := range 400 {
		write(t, dir, fmt.Sprintf("d%d/file%d.go", i%10, i), "package main\n")
	}
	e, root := New(Options{Workers: 1}), openRoot(t, dir)
	n := testing.AllocsPerRun(5, func() {
		_, err := e.Grep(context.Background(), root, Query{Pattern: "nothing like it"})
		require.NoError(t, err)
	})
	assert.Less(t, n/400, 0.9, "per file searched")
	n = testing.AllocsPerRun(5, func() {
		_, err := e.Files(context.Background(), root, Scope{})
		require.NoError(t, err)
	})
	assert.Less(t, n/400, 0.5, "per file listed")
}
