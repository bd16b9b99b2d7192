package fsroot

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func write(t *testing.T, name, text string) string {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
	require.NoError(t, os.WriteFile(name, []byte(text), 0o644))
	return name
}

// tempDir is a resolved temporary directory, so that tests may compare names.
func tempDir(t *testing.T) string {
	t.Helper()
	d, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	return d
}

func newRoot(t *testing.T, dir string, opts *Options) *Root {
	t.Helper()
	r, err := Open(dir, opts)
	require.NoError(t, err)
	t.Cleanup(func() { _ = r.Close() })
	return r
}

func read(r *Root, name string) (string, error) {
	p, err := r.Resolve(name)
	if err != nil {
		return "", err
	}
	f, _, err := r.Open(p)
	if err != nil {
		return "", err
	}
	defer f.Close()
	b, err := io.ReadAll(f)
	return string(b), err
}

func TestResolveLikeTheKernel(t *testing.T) {
	dir := tempDir(t)
	root := filepath.Join(dir, "proj")
	evil := filepath.Join(dir, "proj-evil")
	write(t, filepath.Join(root, "a/b/file.txt"), "inside")
	write(t, filepath.Join(root, "top.txt"), "top")
	write(t, filepath.Join(evil, "file.txt"), "outside")
	link := func(target, name string) {
		require.NoError(t, os.Symlink(target, filepath.Join(root, name)))
	}
	link("a/b", "dlink")
	link(filepath.Join(root, "a/b/file.txt"), "abs")
	link(filepath.Join(evil, "file.txt"), "out")
	link("../proj-evil", "outdir")
	link("nothere/x", "dangling")
	link("loop2", "loop1")
	link("loop1", "loop2")
	link("abs", "chain")
	r := newRoot(t, root, nil)

	tests := []struct {
		name, resolved string // resolved relative to dir
		inside, exists bool
		display        string
	}{
		{"top.txt", "proj/top.txt", true, true, "top.txt"},
		{".", "proj", true, true, "."},
		{"./a//b/../b/file.txt", "proj/a/b/file.txt", true, true, "a/b/file.txt"},
		{"dlink/../b/file.txt", "proj/a/b/file.txt", true, true, "a/b/file.txt"}, // .. of the link's target
		{"dlink/../top.txt", "proj/a/top.txt", true, false, "a/top.txt"},
		{"abs", "proj/a/b/file.txt", true, true, "a/b/file.txt"},
		{"chain", "proj/a/b/file.txt", true, true, "a/b/file.txt"},
		{"new/deep/file", "proj/new/deep/file", true, false, "new/deep/file"},
		{"new/../top.txt", "proj/top.txt", true, true, "top.txt"},
		{"out", "proj-evil/file.txt", false, true, filepath.ToSlash(filepath.Join(evil, "file.txt"))},
		{"outdir/new", "proj-evil/new", false, false, filepath.ToSlash(filepath.Join(evil, "new"))},
		{"../proj-evil/file.txt", "proj-evil/file.txt", false, true, filepath.ToSlash(filepath.Join(evil, "file.txt"))},
		{filepath.Join(root, "top.txt"), "proj/top.txt", true, true, "top.txt"},
		{"dangling", "proj/nothere/x", true, false, "nothere/x"},
		{"%2e%2e/x", "proj/%2e%2e/x", true, false, "%2e%2e/x"},
		{"~/x", "proj/~/x", true, false, "~/x"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, err := r.Resolve(tt.name)
			require.NoError(t, err)
			assert.Equal(t, filepath.Join(dir, tt.resolved), p.Resolved)
			assert.Equal(t, tt.inside, p.Inside)
			assert.Equal(t, tt.exists, p.Exists)
			assert.Equal(t, tt.display, p.Display)
			f, _, err := r.Open(p)
			if tt.inside && tt.exists {
				require.NoError(t, err)
				require.NoError(t, f.Close())
			} else {
				require.Error(t, err)
			}
			if !tt.inside {
				require.ErrorIs(t, err, ErrOutside)
			}
		})
	}

	p, err := r.Resolve("dangling")
	require.NoError(t, err)
	assert.True(t, p.Dangling)
	_, err = r.MakeParents(p)
	require.ErrorIs(t, err, fs.ErrNotExist, "no directories behind a dangling link")

	_, err = r.Resolve("loop1")
	require.ErrorIs(t, err, ErrLinks)
	_, err = r.Resolve("top.txt/x")
	require.ErrorIs(t, err, ErrNotDir)
	require.EqualError(t, err, "top.txt: is a file, not a directory")
	_, err = r.Resolve("top.txt/")
	require.ErrorIs(t, err, ErrNotDir)

	p, err = r.ResolveLink("out")
	require.NoError(t, err)
	assert.True(t, p.Link)
	assert.True(t, p.Inside, "the link itself is inside")

	a, err := r.Resolve("abs")
	require.NoError(t, err)
	b, err := r.Resolve("./dlink/file.txt")
	require.NoError(t, err)
	assert.Equal(t, a.Key(), b.Key())
}

func TestFortyLinks(t *testing.T) {
	dir := tempDir(t)
	write(t, filepath.Join(dir, "end"), "x")
	prev := "end"
	for i := range 41 {
		name := filepath.Join(dir, "l"+strings.Repeat("x", i+1))
		require.NoError(t, os.Symlink(prev, name))
		prev = filepath.Base(name)
	}
	r := newRoot(t, dir, nil)
	_, err := r.Resolve("l" + strings.Repeat("x", 40))
	require.NoError(t, err)
	_, err = r.Resolve("l" + strings.Repeat("x", 41))
	require.ErrorIs(t, err, ErrLinks)
}

func TestGrants(t *testing.T) {
	dir := tempDir(t)
	root, other := filepath.Join(dir, "proj"), filepath.Join(dir, "other")
	write(t, filepath.Join(root, "x"), "x")
	write(t, filepath.Join(other, "a.txt"), "A")
	write(t, filepath.Join(other, "b.txt"), "B")
	write(t, filepath.Join(other, "sub/c.txt"), "C")
	r := newRoot(t, root, nil)
	_, err := read(r, "../other/a.txt")
	require.ErrorIs(t, err, ErrOutside)

	whole, err := r.With(other)
	require.NoError(t, err)
	defer whole.Close()
	got, err := read(whole, "../other/sub/c.txt")
	require.NoError(t, err)
	assert.Equal(t, "C", got)

	one, err := r.With(filepath.Join(other, "a.txt"))
	require.NoError(t, err)
	got, err = read(one, filepath.Join(other, "a.txt"))
	require.NoError(t, err)
	assert.Equal(t, "A", got)
	_, err = read(one, filepath.Join(other, "b.txt"))
	require.ErrorIs(t, err, ErrOutside)
	require.NoError(t, one.Close())
	_, err = read(one, filepath.Join(other, "a.txt"))
	require.ErrorIs(t, err, ErrClosed)
	_, err = read(r, "x")
	require.NoError(t, err, "closing a derived Root leaves the first one open")

	missing, err := r.With(filepath.Join(other, "new"))
	require.NoError(t, err)
	defer missing.Close()
	p, err := missing.Resolve(filepath.Join(other, "new/deep/f"))
	require.NoError(t, err)
	require.True(t, p.Inside)
	made, err := missing.MakeParents(p)
	require.NoError(t, err)
	require.Len(t, made, 2)
	_, err = read(missing, filepath.Join(other, "a.txt"))
	require.ErrorIs(t, err, ErrOutside)
	missing.RemoveMade(made)
	assert.NoDirExists(t, filepath.Join(other, "new"))
	assert.Equal(t, []string{root, filepath.Join(other, "new")}, missing.Grants())
}

func TestSecretsByGivenAndResolvedName(t *testing.T) {
	dir := tempDir(t)
	write(t, filepath.Join(dir, ".env"), "K=V")
	write(t, filepath.Join(dir, "plain"), "p")
	require.NoError(t, os.Symlink(".env", filepath.Join(dir, "notes")))
	require.NoError(t, os.Symlink("plain", filepath.Join(dir, "prod.env")))
	require.NoError(t, os.Symlink("prod.env", filepath.Join(dir, "twice")))
	r := newRoot(t, dir, &Options{Secrets: append(SecretPreset(), "conf/private/**"), Protected: []string{"agent.json", filepath.Join(dir, "plugins")}})
	for name, want := range map[string]bool{
		".env": true, "notes": true, "prod.env": true, "twice": true, "plain": false, ".ENV.local": true, "sub/.env.production": true,
		"server.pem": true, "id_foo": true, "id_foo.pub": false, "conf/private/x/y": true, "conf/public": false, ".env.example": false,
		".env/bin/python": false,
	} {
		p, err := r.Resolve(name)
		if name == ".env/bin/python" {
			require.ErrorIs(t, err, ErrNotDir)
			continue
		}
		require.NoError(t, err, name)
		assert.Equal(t, want, p.Secret, name)
	}
	for name, want := range map[string]bool{
		".git/config": true, ".GIT/hooks/pre-commit": true, "agent.json": true, "sub/agent.json": true, "plugins/x/y": true, "plain": false,
		filepath.Join(dir, ".vscode/tasks.json"): true, ".vscode/other.json": false,
	} {
		p, err := r.Resolve(name)
		require.NoError(t, err, name)
		assert.Equal(t, want, p.Protected, name)
	}
}

func TestRootBelowProtectedName(t *testing.T) {
	dir := filepath.Join(tempDir(t), ".idea", "proj")
	write(t, filepath.Join(dir, "x"), "x")
	r := newRoot(t, dir, nil)
	for _, name := range []string{"x", filepath.Join(dir, "x")} {
		p, err := r.Resolve(name)
		require.NoError(t, err)
		assert.False(t, p.Protected, "the host chose to work there")
	}
}

// TestSpecialFilesNeverBlock opens everything that could wait or never end.
func TestSpecialFilesNeverBlock(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows keeps devices out of directories")
	}
	dir := tempDir(t)
	fifo := filepath.Join(dir, "pipe")
	require.NoError(t, mkfifo(fifo))
	sock := filepath.Join(dir, "s")
	l, err := net.Listen("unix", sock)
	require.NoError(t, err)
	defer l.Close()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "d"), 0o755))
	require.NoError(t, os.Symlink("/dev/zero", filepath.Join(dir, "zero")))
	r := newRoot(t, dir, nil)
	exact, err := r.With("/dev/zero")
	require.NoError(t, err)
	defer exact.Close()

	messages := map[string]bool{}
	for _, tt := range []struct {
		r    *Root
		name string
		want error
	}{
		{r, "pipe", ErrSpecial}, {r, "s", ErrSpecial}, {r, "/dev/zero", ErrSpecial}, {r, "zero", ErrSpecial}, {exact, "/dev/zero", ErrSpecial},
		{r, "missing", fs.ErrNotExist}, {r, "x\x00y", ErrBadPath}, {r, strings.Repeat("n", 10_000), ErrBadPath}, {r, "bad\xff.txt", fs.ErrNotExist}, {r, "", ErrBadPath},
	} {
		start := time.Now()
		_, err := read(tt.r, tt.name)
		require.ErrorIs(t, err, tt.want, "%q", tt.name)
		assert.Less(t, time.Since(start), 2*time.Second)
		assert.Less(t, len(err.Error()), 500)
		messages[err.Error()] = true
		if tt.want == ErrSpecial && tt.r == r && tt.name != "/dev/zero" && tt.name != "zero" {
			p, err := tt.r.Resolve(tt.name)
			require.NoError(t, err)
			d, err := r.Parent(p)
			require.NoError(t, err)
			_, _, err = d.OpenWrite(p.Base())
			require.ErrorIs(t, err, ErrSpecial)
			require.NoError(t, d.Close())
		}
	}
	assert.Len(t, messages, 10, "each message is its own")
	_, err = r.With("/dev")
	require.ErrorIs(t, err, ErrSpecial)

	p, err := r.Resolve("d")
	require.NoError(t, err)
	f, info, err := r.Open(p)
	require.NoError(t, err)
	assert.True(t, info.IsDir())
	require.NoError(t, f.Close())
}

func TestNonUTF8NameThatExists(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("other systems refuse such names")
	}
	dir := tempDir(t)
	write(t, filepath.Join(dir, "bad\xff.txt"), "here")
	got, err := read(newRoot(t, dir, nil), "bad\xff.txt")
	require.NoError(t, err)
	assert.Equal(t, "here", got)
}

func TestRootDeletedAndRecreated(t *testing.T) {
	dir := filepath.Join(tempDir(t), "proj")
	write(t, filepath.Join(dir, "x"), "one")
	r := newRoot(t, dir, nil)
	require.NoError(t, os.RemoveAll(dir))
	_, err := read(r, "x")
	require.ErrorIs(t, err, ErrRootGone)
	p, err := r.Resolve("x")
	require.NoError(t, err)
	_, err = r.Parent(p)
	require.ErrorIs(t, err, ErrRootGone)
	write(t, filepath.Join(dir, "x"), "two")
	got, err := read(r, "x")
	require.NoError(t, err)
	assert.Equal(t, "two", got)

	// A link in the root's place is not followed.
	elsewhere := filepath.Join(filepath.Dir(dir), "elsewhere")
	write(t, filepath.Join(elsewhere, "x"), "elsewhere")
	require.NoError(t, os.RemoveAll(dir))
	require.NoError(t, os.Symlink(elsewhere, dir))
	_, err = read(r, "x")
	require.ErrorIs(t, err, ErrOutside)
}

func TestSwapBetweenCheckAndUse(t *testing.T) {
	for _, stage := range []string{"parent", "open"} {
		t.Run(stage, func(t *testing.T) {
			dir := tempDir(t)
			root := filepath.Join(dir, "proj")
			write(t, filepath.Join(root, "d/f"), "inside")
			write(t, filepath.Join(root, "d2/f"), "another inside")
			write(t, filepath.Join(root, ".env"), "secret inside")
			write(t, filepath.Join(dir, "out/f"), "outside")
			for _, swap := range []func(){
				func() {
					_ = os.Remove(filepath.Join(root, "d/f"))
					_ = os.Symlink("../../out/f", filepath.Join(root, "d/f"))
				},
				func() {
					_ = os.Remove(filepath.Join(root, "d/f"))
					_ = os.Symlink("../.env", filepath.Join(root, "d/f"))
				},
				func() { _ = os.RemoveAll(filepath.Join(root, "d")); _ = os.Symlink("d2", filepath.Join(root, "d")) },
				func() {
					_ = os.RemoveAll(filepath.Join(root, "d"))
					_ = os.Symlink(dir+"/out", filepath.Join(root, "d"))
				},
				func() { _ = os.Remove(filepath.Join(root, "d/f")); _ = mkfifo(filepath.Join(root, "d/f")) },
			} {
				_ = os.RemoveAll(filepath.Join(root, "d"))
				write(t, filepath.Join(root, "d/f"), "inside")
				r := newRoot(t, root, nil)
				p, err := r.Resolve("d/f")
				require.NoError(t, err)
				r.between = func(s string, _ *Path) {
					if s == stage {
						swap()
					}
				}
				f, _, err := r.Open(p)
				if err == nil { // the descriptor was already on the right file's directory
					b, _ := io.ReadAll(f)
					_ = f.Close()
					assert.Equal(t, "inside", string(b))
				} else {
					assert.True(t, errors.Is(err, ErrChanged) || errors.Is(err, ErrSpecial) || errors.Is(err, fs.ErrNotExist), "%v", err)
				}
			}
		})
	}
}

// TestSwapStress replaces a file by a link to one outside, thousands of times, while it is read.
func TestSwapStress(t *testing.T) {
	dir := tempDir(t)
	root := filepath.Join(dir, "proj")
	inside, outside := []byte("inside bytes"), []byte("outside secret")
	name := filepath.Join(root, "sub/f")
	write(t, name, string(inside))
	write(t, filepath.Join(dir, "o/f"), string(outside))
	keep := write(t, filepath.Join(root, "keep"), string(inside))
	r := newRoot(t, root, nil)
	var stop atomic.Bool
	done := make(chan struct{})
	swaps := 10_000
	if testing.Short() {
		swaps = 1_000
	}
	go func() {
		defer close(done)
		defer stop.Store(true)
		tmp := filepath.Join(root, "tmp")
		for i := range swaps {
			switch i % 4 {
			case 0:
				_ = os.Symlink("../../o/f", tmp)
				_ = os.Rename(tmp, name)
			case 1, 3:
				_ = os.Link(keep, tmp)
				_ = os.Rename(tmp, name)
				_ = os.Remove(tmp)
			case 2:
				_ = os.Symlink(filepath.Join(dir, "o/f"), tmp)
				_ = os.Rename(tmp, name)
			}
		}
	}()
	read, refused := 0, 0
	for !stop.Load() {
		p, err := r.Resolve("sub/f")
		if err != nil {
			refused++
			continue
		}
		if !p.Inside { // seen as what it is: pretend that it was judged a moment earlier
			refused++
			continue
		}
		f, _, err := r.Open(p)
		if err != nil {
			refused++
			continue
		}
		b, _ := io.ReadAll(f)
		_ = f.Close()
		read++
		if !bytes.Equal(b, inside) {
			t.Fatalf("read %q", b)
		}
	}
	<-done
	t.Logf("%d reads, %d refused", read, refused)
	assert.NotZero(t, read+refused)
}

func TestDir(t *testing.T) {
	dir := tempDir(t)
	write(t, filepath.Join(dir, "a/f"), "x")
	r := newRoot(t, dir, nil)
	p, err := r.Resolve("a/f")
	require.NoError(t, err)
	d, err := r.Parent(p)
	require.NoError(t, err)
	defer d.Close()
	_, err = d.Create("f", 0o600)
	require.ErrorIs(t, err, fs.ErrExist)
	f, err := d.Create("g", 0o666)
	require.NoError(t, err)
	require.NoError(t, f.Close())
	require.NoError(t, d.Rename("g", "h"))
	require.NoError(t, d.Link("h", "i"))
	require.ErrorIs(t, d.Link("h", "f"), fs.ErrExist)
	names, err := d.Names(10)
	require.NoError(t, err)
	assert.ElementsMatch(t, []string{"f", "h", "i"}, names)
	require.NoError(t, d.Remove("h"))
	require.NoError(t, d.Sync())
	_, err = d.Lstat("h")
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.Error(t, d.Rename("f", "../g"))

	from, err := r.Resolve("a/i")
	require.NoError(t, err)
	taken, err := r.Resolve("a/f")
	require.NoError(t, err)
	require.ErrorIs(t, r.Move(from, taken), fs.ErrExist)
	to, err := r.Resolve("b/j")
	require.NoError(t, err)
	require.ErrorIs(t, r.Move(from, to), fs.ErrNotExist)
	_, err = r.MakeParents(to)
	require.NoError(t, err)
	require.NoError(t, r.Move(from, to))
	assert.FileExists(t, filepath.Join(dir, "b/j"))
	assert.NoFileExists(t, filepath.Join(dir, "a/i"))
}

// TestOnlyOneFileOpensPaths keeps path-taking calls of package os in one place.
func TestOnlyOneFileOpensPaths(t *testing.T) {
	for _, pkg := range []string{".", "../textfile"} {
		files, err := filepath.Glob(filepath.Join(pkg, "*.go"))
		require.NoError(t, err)
		for _, name := range files {
			if strings.HasSuffix(name, "_test.go") || filepath.Base(name) == "osroot.go" {
				continue
			}
			src, err := os.ReadFile(name)
			require.NoError(t, err)
			for _, call := range []string{
				"os.Open", "os.Create", "os.ReadFile", "os.WriteFile", "os.Remove", "os.Rename", "os.Mkdir", "os.Chmod", "os.Symlink", "os.Link(",
				"os.Truncate", "os.ReadDir", "os.Lstat", "os.Stat(", "os.DirFS", "os.CopyFS",
			} {
				assert.NotContains(t, string(src), call, name)
			}
		}
	}
}
