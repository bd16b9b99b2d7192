package textfile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/agenttool/tool/internal/fsroot"
)

// picture describes a tree: every name with its type, mode, link target and content.
func picture(t testing.TB, dir string) string {
	t.Helper()
	var out []string
	require.NoError(t, filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(dir, name)
		line := fmt.Sprintf("%s %s", rel, info.Mode())
		switch {
		case info.Mode().IsRegular():
			b, err := os.ReadFile(name)
			if err != nil && !errors.Is(err, fs.ErrPermission) {
				return err
			}
			line += fmt.Sprintf(" %q links=%d", b, StatOf(info).links)
		case info.Mode()&fs.ModeSymlink != 0:
			to, _ := os.Readlink(name)
			line += " -> " + to
		}
		out = append(out, line)
		return nil
	}))
	sort.Strings(out)
	return strings.Join(out, "\n")
}

func commitOne(root *fsroot.Root, c Change) (Result, error) {
	r, err := (&Writer{Root: root}).Commit(context.Background(), []Change{c})
	if err != nil {
		return Result{}, err
	}
	return r[0], nil
}

func TestCreateUpdateDeleteMove(t *testing.T) {
	dir, root := tree(t, "-- a.txt --\nold\n-- gone.txt --\nbye\n-- from.txt --\nmoved\n-- both.txt --\nbefore\n")
	w := &Writer{Root: root}
	res, err := w.Commit(context.Background(), []Change{
		{Op: Create, Path: resolve(t, root, "new/deep/f.txt"), Content: []byte("hello\n")},
		{Op: Update, Path: resolve(t, root, "a.txt"), Content: []byte("new\n"), Base: Sum([]byte("old\n"))},
		{Op: Delete, Path: resolve(t, root, "gone.txt"), Base: Sum([]byte("bye\n"))},
		{Op: Move, Path: resolve(t, root, "from.txt"), To: resolve(t, root, "new/to.txt")},
		{Op: Move, Path: resolve(t, root, "both.txt"), To: resolve(t, root, "other/both.txt"), Content: []byte("after\n")},
	})
	require.NoError(t, err)
	for name, want := range map[string]string{"new/deep/f.txt": "hello\n", "a.txt": "new\n", "new/to.txt": "moved\n", "other/both.txt": "after\n"} {
		got, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		assert.Equal(t, want, string(got))
	}
	for _, name := range []string{"gone.txt", "from.txt", "both.txt"} {
		assert.NoFileExists(t, filepath.Join(dir, name))
	}
	assert.NotContains(t, picture(t, dir), TempSuffix)
	assert.True(t, res[0].MadeDirs)
	for i, r := range res {
		if i == 2 {
			continue
		}
		raw, st, err := ReadFile(context.Background(), root, resolve(t, root, r.Path.Display), 0)
		require.NoError(t, err)
		assert.Equal(t, Sum(raw), r.State.Hash)
		assert.Equal(t, st, r.State)
	}
	_, err = w.Commit(context.Background(), nil)
	require.NoError(t, err)
}

// TestRollback lets a five-file change fail at every step that touches the disk.
func TestRollback(t *testing.T) {
	archive := "-- keep/a.txt --\nA\n-- keep/b.txt --\nB\n-- c.txt --\nC\n-- d.txt --\nD\n-- twin.txt --\nT\n-- e.txt --\nEEEE\n"
	changes := func(root *fsroot.Root) []Change {
		return []Change{
			{Op: Update, Path: resolve(t, root, "keep/a.txt"), Content: []byte("A2\n")},
			{Op: Create, Path: resolve(t, root, "new/dir/n.txt"), Content: []byte("N\n")},
			{Op: Delete, Path: resolve(t, root, "keep/b.txt")},
			{Op: Move, Path: resolve(t, root, "c.txt"), To: resolve(t, root, "moved/c.txt"), Content: []byte("C2\n")},
			{Op: Update, Path: resolve(t, root, "twin.txt"), Content: []byte("a longer text\n")}, // hard-linked: written in place
			{Op: Move, Path: resolve(t, root, "e.txt"), To: resolve(t, root, "moved/e.txt"), Content: []byte("E\n")},
			{Op: Move, Path: resolve(t, root, "d.txt"), To: resolve(t, root, "moved/d.txt")},
		}
	}
	steps := 0
	for fail := 0; ; fail++ {
		dir, root := tree(t, archive)
		require.NoError(t, os.Link(filepath.Join(dir, "twin.txt"), filepath.Join(dir, "twin2.txt")))
		require.NoError(t, os.Link(filepath.Join(dir, "e.txt"), filepath.Join(dir, "e2.txt")))
		before := picture(t, dir)
		n := 0
		var failed string
		boom := errors.New("boom")
		w := &Writer{Root: root, Fault: func(step, path string) error {
			if n++; n-1 == fail {
				failed = step + " " + path
				return boom
			}
			return nil
		}}
		_, err := w.Commit(context.Background(), changes(root))
		if failed == "" {
			require.NoError(t, err)
			steps = n
			break
		}
		require.ErrorIs(t, err, boom, failed)
		require.ErrorContains(t, err, "nothing was changed", failed)
		require.Equal(t, before, picture(t, dir), "after a failure at %s", failed)
	}
	t.Logf("%d steps", steps)
	assert.Greater(t, steps, 25)
}

func TestCancelPutsEverythingBack(t *testing.T) {
	for at := range 6 {
		dir, root := tree(t, "-- a --\nA\n-- b --\nB\n-- c --\nC\n")
		before := picture(t, dir)
		ctx, cancel := context.WithCancel(context.Background())
		n := 0
		w := &Writer{Root: root, Fault: func(step, path string) error {
			if step == "replace" || step == "temp" {
				if n++; n == at+1 {
					cancel()
				}
			}
			return nil
		}}
		_, err := w.Commit(ctx, []Change{
			{Op: Update, Path: resolve(t, root, "a"), Content: []byte("1")},
			{Op: Update, Path: resolve(t, root, "b"), Content: []byte("2")},
			{Op: Update, Path: resolve(t, root, "c"), Content: []byte("3")},
		})
		cancel()
		if err != nil {
			require.ErrorIs(t, err, context.Canceled)
			require.Equal(t, before, picture(t, dir), at)
		} else {
			require.Equal(t, 5, at, "only after the last replacement it is too late")
		}
	}
}

func TestNothingBeforeCommitIsPossible(t *testing.T) {
	dir, root := tree(t, "-- a --\nA\n-- file --\nx\n-- ro --\nr\n")
	require.NoError(t, os.Chmod(filepath.Join(dir, "ro"), 0o444))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "d"), 0o755))
	_, err := commitOne(root, Change{Op: Create, Path: resolve(t, root, "a"), Content: []byte("other")})
	require.EqualError(t, err, "a: file already exists with other content; read it, then edit it; nothing was changed")
	before := picture(t, dir)
	good := Change{Op: Create, Path: resolve(t, root, "x/y/z"), Content: []byte("z")}
	update := func(name, content string) Change {
		return Change{Op: Update, Path: resolve(t, root, name), Content: []byte(content)}
	}
	for _, tt := range []struct {
		name string
		bad  Change
		want error
	}{
		{"exists", Change{Op: Create, Path: resolve(t, root, "a"), Content: []byte("other")}, fs.ErrExist},
		{"missing", update("nope", "x"), fs.ErrNotExist},
		{"stale", Change{Op: Update, Path: resolve(t, root, "a"), Content: []byte("x"), Base: Sum([]byte("other"))}, ErrStale},
		{"stale delete", Change{Op: Delete, Path: resolve(t, root, "a"), Base: Sum([]byte("other"))}, ErrStale},
		{"directory", update("d", "x"), fsroot.ErrIsDir},
		{"delete directory", Change{Op: Delete, Path: resolve(t, root, "d")}, fsroot.ErrIsDir},
		{"read-only", update("ro", "x"), ErrReadOnly},
		{"delete read-only", Change{Op: Delete, Path: resolve(t, root, "ro")}, ErrReadOnly},
		{"move onto", Change{Op: Move, Path: resolve(t, root, "a"), To: resolve(t, root, "file")}, fs.ErrExist},
		{"move onto itself", Change{Op: Move, Path: resolve(t, root, "a"), To: resolve(t, root, "./a")}, nil},
		{"outside", Change{Op: Create, Path: resolve(t, root, "../outside"), Content: []byte("x")}, fsroot.ErrOutside},
		{"twice", Change{Op: Create, Path: resolve(t, root, "x/./y/z"), Content: []byte("q")}, ErrConflict},
		{"root", update(".", "x"), fsroot.ErrIsDir},
	} {
		_, err := (&Writer{Root: root}).Commit(context.Background(), []Change{good, tt.bad})
		require.Error(t, err, tt.name)
		if tt.want != nil {
			require.ErrorIs(t, err, tt.want, tt.name)
		}
		assert.Contains(t, err.Error(), "nothing was changed", tt.name)
		assert.Equal(t, before, picture(t, dir), tt.name)
	}
	_, err = root.Resolve("file/x")
	require.ErrorIs(t, err, fsroot.ErrNotDir)
}

func TestEmptyContent(t *testing.T) {
	dir, root := tree(t, "-- f --\nx\n-- ro --\nr\n")
	_, err := commitOne(root, Change{Op: Update, Path: resolve(t, root, "f")})
	require.NoError(t, err)
	got, err := os.ReadFile(filepath.Join(dir, "f"))
	require.NoError(t, err)
	assert.Empty(t, got)
	require.NoError(t, os.Chmod(filepath.Join(dir, "ro"), 0o444))
	_, err = commitOne(root, Change{Op: Update, Path: resolve(t, root, "ro")})
	require.ErrorIs(t, err, ErrReadOnly)
	_, err = commitOne(root, Change{Op: Move, Path: resolve(t, root, "ro"), To: resolve(t, root, "ro2")})
	require.NoError(t, err, "moving does not write")
}

func TestNoOpTouchesNothing(t *testing.T) {
	dir, root := tree(t, "-- a --\nsame\n")
	name := filepath.Join(dir, "a")
	old := time.Now().Add(-time.Hour).Truncate(time.Second)
	require.NoError(t, os.Chtimes(name, old, old))
	for _, op := range []Op{Update, Create} {
		r, err := commitOne(root, Change{Op: op, Path: resolve(t, root, "a"), Content: []byte("same\n")})
		require.NoError(t, err)
		assert.True(t, r.Unchanged)
		info, err := os.Stat(name)
		require.NoError(t, err)
		assert.True(t, info.ModTime().Equal(old))
	}
}

func TestModesAndLinksStay(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("modes of Unix")
	}
	dir, root := tree(t, "-- bin/run.sh --\n#!/bin/sh\n-- hard1 --\nh\n-- real.txt --\nr\n")
	join := func(n string) string { return filepath.Join(dir, n) }
	require.NoError(t, os.Chmod(join("bin/run.sh"), 0o751))
	require.NoError(t, os.Link(join("hard1"), join("hard2")))
	require.NoError(t, os.Symlink("../real.txt", join("bin/link")))

	_, err := commitOne(root, Change{Op: Update, Path: resolve(t, root, "bin/run.sh"), Content: []byte("#!/bin/sh\ntrue\n")})
	require.NoError(t, err)
	info, err := os.Stat(join("bin/run.sh"))
	require.NoError(t, err)
	assert.Equal(t, fs.FileMode(0o751), info.Mode().Perm())

	r, err := commitOne(root, Change{Op: Update, Path: resolve(t, root, "hard1"), Content: []byte("longer text\n")})
	require.NoError(t, err)
	assert.True(t, r.InPlace)
	assert.Contains(t, r.Note, "hard link")
	twin, err := os.ReadFile(join("hard2"))
	require.NoError(t, err)
	assert.Equal(t, "longer text\n", string(twin))

	_, err = commitOne(root, Change{Op: Update, Path: resolve(t, root, "bin/link"), Content: []byte("through\n")})
	require.NoError(t, err)
	to, err := os.Readlink(join("bin/link"))
	require.NoError(t, err)
	assert.Equal(t, "../real.txt", to)
	got, err := os.ReadFile(join("real.txt"))
	require.NoError(t, err)
	assert.Equal(t, "through\n", string(got))

	// Deleting and moving a link leave its target alone.
	link, err := root.ResolveLink("bin/link")
	require.NoError(t, err)
	_, err = commitOne(root, Change{Op: Move, Path: link, To: resolve(t, root, "bin/link2")})
	require.NoError(t, err)
	link, err = root.ResolveLink("bin/link2")
	require.NoError(t, err)
	_, err = commitOne(root, Change{Op: Delete, Path: link})
	require.NoError(t, err)
	assert.FileExists(t, join("real.txt"))

	// A dangling link: its target is created when the directory exists, and no directories otherwise.
	require.NoError(t, os.Symlink("born.txt", join("dangling")))
	require.NoError(t, os.Symlink("nodir/born.txt", join("dangling2")))
	_, err = commitOne(root, Change{Op: Create, Path: resolve(t, root, "dangling"), Content: []byte("b")})
	require.NoError(t, err)
	assert.FileExists(t, join("born.txt"))
	_, err = commitOne(root, Change{Op: Create, Path: resolve(t, root, "dangling2"), Content: []byte("b")})
	require.ErrorIs(t, err, fs.ErrNotExist)
	assert.NoDirExists(t, join("nodir"))
}

func TestReaderNeverSeesHalfAFile(t *testing.T) {
	dir, root := tree(t, "-- f --\n")
	versions := [][]byte{bytes.Repeat([]byte("a"), 20_000), bytes.Repeat([]byte("b"), 15_000)}
	name := filepath.Join(dir, "f")
	require.NoError(t, os.WriteFile(name, versions[0], 0o644))
	var stop atomic.Bool
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for !stop.Load() {
				b, err := os.ReadFile(name)
				if err != nil || !bytes.Equal(b, versions[0]) && !bytes.Equal(b, versions[1]) {
					panic(fmt.Sprintf("%d bytes, %v", len(b), err))
				}
			}
		})
	}
	w := &Writer{Root: root, NoSync: true}
	n := 1000
	if testing.Short() {
		n = 100
	}
	for i := range n {
		_, err := w.Commit(context.Background(), []Change{{Op: Update, Path: resolve(t, root, "f"), Content: versions[(i+1)%2]}})
		require.NoError(t, err)
	}
	stop.Store(true)
	wg.Wait()
}

func TestStaleJustBeforeTheRename(t *testing.T) {
	dir, root := tree(t, "-- f --\nplanned\n")
	name := filepath.Join(dir, "f")
	w := &Writer{Root: root, Fault: func(step, path string) error {
		if step == "check" {
			return os.WriteFile(name, []byte("foreign\n"), 0o644)
		}
		return nil
	}}
	_, err := w.Commit(context.Background(), []Change{{Op: Update, Path: resolve(t, root, "f"), Content: []byte("mine\n"), Base: Sum([]byte("planned\n"))}})
	require.ErrorIs(t, err, ErrStale)
	got, err := os.ReadFile(name)
	require.NoError(t, err)
	assert.Equal(t, "foreign\n", string(got))
	assert.NotContains(t, picture(t, dir), TempSuffix)

	w = &Writer{Root: root, Fault: func(step, path string) error {
		if step == "replace" {
			return os.WriteFile(filepath.Join(dir, "born"), []byte("foreign\n"), 0o644)
		}
		return nil
	}}
	_, err = w.Commit(context.Background(), []Change{{Op: Create, Path: resolve(t, root, "born"), Content: []byte("mine\n")}})
	require.ErrorIs(t, err, fs.ErrExist)
	got, err = os.ReadFile(filepath.Join(dir, "born"))
	require.NoError(t, err)
	assert.Equal(t, "foreign\n", string(got))
}

func TestMoveBetweenGrants(t *testing.T) {
	dir, root := tree(t, "-- proj/a --\nA\n-- other/x --\nX\n")
	proj, err := fsroot.Open(filepath.Join(dir, "proj"), nil)
	require.NoError(t, err)
	defer proj.Close()
	both, err := proj.With(filepath.Join(dir, "other"))
	require.NoError(t, err)
	defer both.Close()
	_ = root
	require.NoError(t, os.Chmod(filepath.Join(dir, "proj/a"), 0o640))
	to := filepath.Join(dir, "other/sub/b")
	_, err = commitOne(both, Change{Op: Move, Path: resolve(t, both, "a"), To: resolve(t, both, to)})
	require.NoError(t, err)
	assert.NoFileExists(t, filepath.Join(dir, "proj/a"))
	got, err := os.ReadFile(to)
	require.NoError(t, err)
	assert.Equal(t, "A\n", string(got))
	if runtime.GOOS != "windows" {
		info, err := os.Stat(to)
		require.NoError(t, err)
		assert.Equal(t, fs.FileMode(0o640), info.Mode().Perm())
	}
}

// TestCaseOnlyMove is an ordinary move where case counts, and a rename of the file onto itself where it does not.
func TestCaseOnlyMove(t *testing.T) {
	dir, root := tree(t, "-- Readme.md --\nx\n-- other --\no\n")
	_, err := (&Writer{Root: root}).Commit(context.Background(), []Change{
		{Op: Move, Path: resolve(t, root, "Readme.md"), To: resolve(t, root, "README.md"), Content: []byte("y\n")},
		{Op: Delete, Path: resolve(t, root, "other")},
	})
	require.NoError(t, err)
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 1)
	assert.Equal(t, "README.md", entries[0].Name())
	got, err := os.ReadFile(filepath.Join(dir, "README.md"))
	require.NoError(t, err)
	assert.Equal(t, "y\n", string(got))
}

func TestTempNames(t *testing.T) {
	now := time.Now()
	for _, base := range []string{"a.go", ".env", strings.Repeat("ü", 120), strings.Repeat("x", 255), "a.b.c"} {
		for _, keep := range []bool{false, true} {
			n := tempName(base, keep, now)
			assert.True(t, IsTempName(n))
			assert.LessOrEqual(t, len(n), 255)
			made, ok := tempTime(n)
			assert.Equal(t, !keep, ok, n)
			if ok {
				assert.WithinDuration(t, now, made, time.Second)
			}
		}
	}
	assert.False(t, IsTempName("a.tooltmp"))
	_, ok := tempTime(".mine" + TempSuffix)
	assert.False(t, ok)
}

func TestSweep(t *testing.T) {
	dir, root := tree(t, "-- f --\nx\n")
	stale := tempName("f", false, time.Now().Add(-2*time.Hour))
	fresh := tempName("f", false, time.Now())
	kept := tempName("f", true, time.Now().Add(-2*time.Hour))
	for _, n := range []string{stale, fresh, kept, ".user" + TempSuffix} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, n), nil, 0o600))
	}
	_, err := commitOne(root, Change{Op: Update, Path: resolve(t, root, "f"), Content: []byte("y")})
	require.NoError(t, err)
	assert.NoFileExists(t, filepath.Join(dir, stale))
	for _, n := range []string{fresh, kept, ".user" + TempSuffix} {
		assert.FileExists(t, filepath.Join(dir, n))
	}
}

func TestLongNames(t *testing.T) {
	dir, root := tree(t, "-- f --\nx\n")
	long := strings.Repeat("n", 255)
	_, err := commitOne(root, Change{Op: Create, Path: resolve(t, root, long), Content: []byte("y")})
	require.NoError(t, err)
	_, err = commitOne(root, Change{Op: Update, Path: resolve(t, root, long), Content: []byte("z")})
	require.NoError(t, err)
	got, err := os.ReadFile(filepath.Join(dir, long))
	require.NoError(t, err)
	assert.Equal(t, "z", string(got))
}

func ExampleWriter_Commit() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	root, err := fsroot.Open(dir, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer root.Close()
	w := &Writer{Root: root}
	p, err := root.Resolve("new/hello.txt")
	if err != nil {
		fmt.Println(err)
		return
	}
	results, err := w.Commit(context.Background(), []Change{{Op: Create, Path: p, Content: []byte("hello\n")}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(results[0].Op, results[0].Path.Display, results[0].State.Size)
	p, _ = root.Resolve("new/hello.txt")
	_, err = w.Commit(context.Background(), []Change{{Op: Create, Path: p, Content: []byte("other\n")}})
	fmt.Println(err)
	// Output:
	// create new/hello.txt 6
	// new/hello.txt: file already exists with other content; read it, then edit it; nothing was changed
}
