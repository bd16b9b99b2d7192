package truncate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func openStore(t *testing.T, dir string, opt *StoreOptions) *Store {
	t.Helper()
	s, err := OpenStore(dir, opt)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.Close()) })
	return s
}

// put stores text and returns its path.
func put(t *testing.T, s *Store, text string) string {
	t.Helper()
	f, err := s.Create(t.Context())
	require.NoError(t, err)
	_, err = io.WriteString(f, text)
	require.NoError(t, err)
	require.NoError(t, f.Close())
	return f.Path()
}

func age(t *testing.T, path string, d time.Duration) {
	t.Helper()
	when := time.Now().Add(-d)
	require.NoError(t, os.Chtimes(path, when, when))
}

func TestStoreKeepsWhatWasCut(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	s := openStore(t, dir, nil)
	text := numbered(5000)
	c := Policy{Spill: s}.Apply(t.Context(), text)
	require.NoError(t, c.SpillErr)
	got, err := os.ReadFile(c.Path)
	require.NoError(t, err)
	assert.Equal(t, text, string(got))
	assert.Equal(t, s.Dir(), filepath.Dir(c.Path))
	assert.Contains(t, c.Text, c.Path)

	other := Policy{Spill: s}.Apply(t.Context(), text)
	assert.NotEqual(t, c.Path, other.Path)
	if runtime.GOOS != "windows" {
		for path, want := range map[string]fs.FileMode{dir: 0o700, c.Path: 0o600} {
			fi, err := os.Stat(path)
			require.NoError(t, err)
			assert.Equal(t, want, fi.Mode().Perm(), path)
		}
	}
	// What fits is not stored.
	assert.Empty(t, Policy{Spill: s}.Apply(t.Context(), "short").Path)
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Len(t, entries, 2)
}

func TestStoreFileLimit(t *testing.T) {
	s := openStore(t, t.TempDir(), &StoreOptions{MaxFile: 1000})
	text := numbered(5000)
	c := Policy{Spill: s}.Apply(t.Context(), text)
	require.ErrorIs(t, c.SpillErr, ErrPartial)
	var part *PartialError
	require.ErrorAs(t, c.SpillErr, &part)
	assert.Equal(t, PartialError{Stored: 1000, Total: int64(len(text))}, *part)
	assert.Contains(t, c.Text, "first 1000 bytes in "+c.Path)
	got, err := os.ReadFile(c.Path)
	require.NoError(t, err)
	assert.Equal(t, text[:1000], string(got))
}

func TestStoreQuotaRemovesOldest(t *testing.T) {
	s := openStore(t, t.TempDir(), &StoreOptions{MaxTotal: 10_000})
	var paths []string
	for i := range 8 {
		p := put(t, s, strings.Repeat("x", 1000))
		age(t, p, time.Duration(100-i)*time.Minute)
		paths = append(paths, p)
	}
	require.True(t, s.Touch(paths[0]), "a file that is used is not the oldest any more")
	last := put(t, s, strings.Repeat("y", 5000))
	assert.FileExists(t, last)
	assert.FileExists(t, paths[0])
	assert.NoFileExists(t, paths[1])
	assert.NoFileExists(t, paths[2])
	assert.FileExists(t, paths[7])
	assert.LessOrEqual(t, dirSize(t, s.Dir()), int64(10_000))

	// More than everything: the file gets what there is.
	f, err := s.Create(t.Context())
	require.NoError(t, err)
	n, err := f.Write(make([]byte, 20_000))
	require.NoError(t, err)
	assert.Equal(t, 20_000, n, "what is not stored is counted")
	require.ErrorIs(t, f.Close(), ErrPartial)
	assert.LessOrEqual(t, dirSize(t, s.Dir()), int64(10_000))
}

func dirSize(t *testing.T, dir string) (n int64) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		fi, err := e.Info()
		require.NoError(t, err)
		n += fi.Size()
	}
	return n
}

func TestStoreAge(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir, nil)
	old, young := put(t, s, "old"), put(t, s, "young")
	age(t, old, 8*24*time.Hour)
	age(t, young, 6*24*time.Hour)
	openStore(t, dir, nil) // opening sweeps
	assert.NoFileExists(t, old)
	assert.FileExists(t, young)

	keep := openStore(t, dir, &StoreOptions{MaxAge: -1})
	age(t, young, 1000*24*time.Hour)
	require.NoError(t, keep.Sweep(t.Context()))
	assert.FileExists(t, young, "negative is no limit")

	// A store in use sweeps by itself when an hour has gone by.
	s.mu.Lock()
	s.swept = time.Now().Add(-sweepEvery)
	s.mu.Unlock()
	put(t, s, "new")
	assert.NoFileExists(t, young)
}

func TestStoreLeavesOthersAlone(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	s := openStore(t, dir, &StoreOptions{MaxTotal: 10, MaxAge: time.Hour})
	victim := filepath.Join(outside, "victim")
	require.NoError(t, os.WriteFile(victim, []byte("precious"), 0o600))
	foreign := []string{"notes.txt", "out_.txt", "out_ABCDEFGHIJKLMNOPQRST.txt", "out_aaaaaaaaaaaaaaaaaaaa.txt.bak"}
	for _, name := range foreign {
		p := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(p, make([]byte, 100), 0o600))
		age(t, p, 100*time.Hour)
	}
	link := filepath.Join(dir, "out_aaaaaaaaaaaaaaaaaaaa.txt")
	if err := os.Symlink(victim, link); err != nil {
		t.Skip("no symbolic links:", err)
	}
	sub := filepath.Join(dir, "out_bbbbbbbbbbbbbbbbbbbb.txt")
	require.NoError(t, os.Mkdir(sub, 0o700))
	age(t, victim, 100*time.Hour)
	require.NoError(t, s.Sweep(t.Context()))
	for _, name := range foreign {
		assert.FileExists(t, filepath.Join(dir, name))
	}
	assert.FileExists(t, victim)
	_, err := os.Lstat(link)
	require.NoError(t, err, "not a file of ours: it is a link")
	assert.DirExists(t, sub)
	assert.False(t, s.Touch(link))
	assert.False(t, s.Touch(victim))
	assert.False(t, s.Touch(filepath.Join(dir, "notes.txt")))
}

func TestStoreDirectoryMustBePrivate(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("mode bits")
	}
	base := t.TempDir()
	shared := filepath.Join(base, "shared")
	require.NoError(t, os.Mkdir(shared, 0o755))
	require.NoError(t, os.Chmod(shared, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(shared, "project"), nil, 0o600))
	_, err := OpenStore(shared, nil)
	require.ErrorIs(t, err, ErrNotPrivate)
	fi, err := os.Stat(shared)
	require.NoError(t, err)
	assert.Equal(t, fs.FileMode(0o755), fi.Mode().Perm(), "somebody else's directory is not changed")

	link := filepath.Join(base, "link")
	require.NoError(t, os.Symlink(t.TempDir(), link))
	_, err = OpenStore(link, nil)
	require.ErrorIs(t, err, ErrNotPrivate)

	empty := filepath.Join(base, "empty")
	require.NoError(t, os.Mkdir(empty, 0o777))
	openStore(t, empty, nil)
	fi, err = os.Stat(empty)
	require.NoError(t, err)
	assert.Equal(t, fs.FileMode(0o700), fi.Mode().Perm())

	file := filepath.Join(base, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	_, err = OpenStore(file, nil)
	require.Error(t, err)
	_, err = OpenStore("", nil)
	require.Error(t, err)
}

func TestStoreClosed(t *testing.T) {
	s, err := OpenStore(t.TempDir(), nil)
	require.NoError(t, err)
	f, err := s.Create(t.Context())
	require.NoError(t, err)
	require.NoError(t, s.Close())
	require.NoError(t, s.Close())
	_, err = s.Create(t.Context())
	require.ErrorIs(t, err, ErrClosed)
	require.ErrorIs(t, s.Sweep(t.Context()), ErrClosed)
	// What is open can be finished.
	_, err = io.WriteString(f, "rest")
	require.NoError(t, err)
	require.NoError(t, f.Close())
	assert.FileExists(t, f.Path())
	require.NoError(t, f.Discard())
	assert.NoFileExists(t, f.Path())
	_, err = f.Write(nil)
	require.Error(t, err)

	c := Policy{Spill: s}.Apply(t.Context(), numbered(3000))
	require.ErrorIs(t, c.SpillErr, ErrClosed)
	assert.NotEmpty(t, c.Head)
}

func TestStoreSurvivesRemovedDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "spill")
	s := openStore(t, dir, nil)
	put(t, s, "one")
	if err := os.RemoveAll(dir); err != nil {
		t.Skip(err) // Windows keeps a directory that is open
	}
	assert.FileExists(t, put(t, s, "two"))
}

func TestTwoStoresOverOneDirectory(t *testing.T) {
	dir := t.TempDir()
	a := openStore(t, dir, nil)
	b := openStore(t, dir, &StoreOptions{MaxTotal: 100})
	f, err := a.Create(t.Context())
	require.NoError(t, err)
	_, err = io.WriteString(f, strings.Repeat("a", 1000))
	require.NoError(t, err)
	age(t, f.Path(), 100*24*time.Hour)
	require.NoError(t, b.Sweep(t.Context()))
	assert.FileExists(t, f.Path(), "b does not remove what a is writing")
	_, err = io.WriteString(f, strings.Repeat("a", 1000))
	require.NoError(t, err)
	require.NoError(t, f.Close())
	got, err := os.ReadFile(f.Path())
	require.NoError(t, err)
	assert.Len(t, got, 2000)
	age(t, f.Path(), 100*24*time.Hour)
	require.NoError(t, b.Sweep(t.Context()))
	assert.NoFileExists(t, f.Path(), "afterwards it is one like any other")
}

func TestStoreConcurrently(t *testing.T) {
	dir := t.TempDir()
	stores := []*Store{openStore(t, dir, &StoreOptions{MaxTotal: 1 << 20}), openStore(t, dir, &StoreOptions{MaxTotal: 1 << 20})}
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			s := stores[i%2]
			for j := range 20 {
				f, err := s.Create(context.Background())
				if !assert.NoError(t, err) {
					return
				}
				for range 5 {
					_, err := io.WriteString(f, strings.Repeat(fmt.Sprint(i%10), 1000))
					assert.NoError(t, err)
				}
				if j%3 == 0 {
					assert.NoError(t, f.Discard())
				} else if err := f.Close(); err != nil {
					assert.ErrorIs(t, err, ErrPartial)
				}
				_ = s.Sweep(context.Background())
			}
		})
	}
	wg.Wait()
	assert.LessOrEqual(t, dirSize(t, dir), int64(1<<20))
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		require.NoError(t, err)
		if len(b) > 0 {
			assert.Equal(t, len(b), strings.Count(string(b), string(b[:1])), "texts are not mixed")
		}
	}
}

// fullDisk is a file on a disk with so many bytes left.
type fullDisk struct {
	diskFile
	left *int
}

func (d fullDisk) Write(p []byte) (int, error) {
	return d.put(len(p), func(n int) (int, error) { return d.diskFile.Write(p[:n]) })
}
func (d fullDisk) WriteString(p string) (int, error) {
	return d.put(len(p), func(n int) (int, error) { return d.diskFile.WriteString(p[:n]) })
}
func (d fullDisk) put(n int, put func(int) (int, error)) (int, error) {
	k := min(n, *d.left)
	*d.left -= k
	wrote, err := put(k)
	if err == nil && k < n {
		err = syscall.ENOSPC
	}
	return wrote, err
}

func TestDiskFull(t *testing.T) {
	s := openStore(t, t.TempDir(), nil)
	left := 10_000
	s.create = func(root *os.Root, name string) (diskFile, error) {
		f, err := createFile(root, name)
		return fullDisk{f, &left}, err
	}
	text := numbered(5000)
	c := Policy{Spill: s}.Apply(t.Context(), text)
	require.ErrorIs(t, c.SpillErr, syscall.ENOSPC)
	assert.Empty(t, c.Path)
	assert.True(t, strings.HasPrefix(text, c.Head))
	assert.NotEmpty(t, c.Head)
	entries, err := os.ReadDir(s.Dir())
	require.NoError(t, err)
	assert.Empty(t, entries, "a part that nobody will read is removed")
	assert.Zero(t, s.total)

	s.create = func(*os.Root, string) (diskFile, error) { return nil, errors.New("too many open files") }
	c = Policy{Spill: s}.Apply(t.Context(), text)
	require.ErrorContains(t, c.SpillErr, "too many open files")
}

func TestNames(t *testing.T) {
	seen := map[string]bool{}
	for range 1000 {
		n := newName()
		require.True(t, isStoreName(n), n)
		require.False(t, seen[n])
		seen[n] = true
	}
}
