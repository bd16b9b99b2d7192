package fsroot

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// kernelResolve asks the kernel where a name leads.
func kernelResolve(name string, follow bool) (string, error) {
	flags := unix.O_PATH | unix.O_CLOEXEC
	if !follow {
		flags |= unix.O_NOFOLLOW
	}
	fd, err := unix.Open(name, flags, 0)
	if err != nil {
		return "", err
	}
	defer unix.Close(fd)
	return os.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd))
}

// TestResolveAgainstKernel compares resolution with the kernel's in random trees full of links.
func TestResolveAgainstKernel(t *testing.T) {
	if _, err := os.Stat("/proc/self/fd"); err != nil {
		t.Skipf("no /proc: %v", err)
	}
	rnd := rand.New(rand.NewPCG(7, 8))
	names := []string{"a", "b", "c", "f", "g"}
	counts := map[string]int{}
	for range 40 {
		dir := tempDir(t)
		root := filepath.Join(dir, "r")
		part := func() string {
			return []string{"a", "b", "c", "f", "g", "..", ".", "", "missing"}[rnd.IntN(9)]
		}
		path := func() string {
			parts := make([]string, 1+rnd.IntN(6))
			for i := range parts {
				parts[i] = part()
			}
			p := strings.Join(parts, "/")
			switch rnd.IntN(6) {
			case 0:
				p = root + "/" + p
			case 1:
				p += "/"
			}
			return p
		}
		require.NoError(t, os.MkdirAll(filepath.Join(root, "a/b/c"), 0o755))
		require.NoError(t, os.MkdirAll(filepath.Join(root, "b/a"), 0o755))
		for range 14 {
			at := filepath.Join(root, names[rnd.IntN(3)], names[rnd.IntN(5)])
			if rnd.IntN(3) == 0 {
				at = filepath.Join(root, names[rnd.IntN(5)])
			}
			if target := path(); rnd.IntN(4) > 0 && target != "" {
				_ = os.Symlink(target, at)
			} else {
				_ = os.WriteFile(at, []byte("x"), 0o600)
			}
		}
		r := newRoot(t, root, nil)
		for range 400 {
			name := path()
			if name == "" || strings.HasPrefix(name, "/") && !strings.HasPrefix(name, root) {
				continue
			}
			follow := rnd.IntN(3) > 0
			full := name
			if !filepath.IsAbs(full) {
				full = root + "/" + full
			}
			want, kerr := kernelResolve(full, follow)
			p, err := r.ResolveIn(root, name, follow)
			switch {
			case kerr == nil:
				require.NoError(t, err, "%s: the kernel says %s", name, want)
				require.Equal(t, want, p.Resolved, "%s in %s", name, root)
				require.True(t, p.Exists)
				_, inside := below(root, want)
				require.Equal(t, inside, p.Inside, name)
				counts["found"]++
			case errors.Is(kerr, unix.ENOENT) && err == nil:
				// A ".." after something missing is followed by name; the kernel refuses it.
				require.True(t, !p.Exists || strings.Contains(name, "..") || linkHasDots(root), "%s: the kernel finds nothing, we %s", name, p.Resolved)
				counts["missing"]++
			case errors.Is(kerr, unix.ELOOP):
				require.ErrorIs(t, err, ErrLinks, name)
				counts["loop"]++
			case errors.Is(kerr, unix.ENOTDIR):
				require.ErrorIs(t, err, ErrNotDir, name)
				counts["notdir"]++
			default:
				require.Error(t, err, "%s: the kernel says %v", name, kerr)
				counts["other"]++
			}
		}
	}
	t.Log(counts)
	for _, k := range []string{"found", "missing", "loop", "notdir"} {
		require.Greater(t, counts[k], 100, k)
	}
}

// linkHasDots reports whether some link in the tree has a ".." in it, so that a missing part can be taken back behind it.
func linkHasDots(root string) bool {
	found := false
	_ = filepath.WalkDir(root, func(name string, e os.DirEntry, err error) error {
		if err == nil && e.Type()&os.ModeSymlink != 0 {
			to, _ := os.Readlink(name)
			found = found || strings.Contains(to, "..")
		}
		return nil
	})
	return found
}

func BenchmarkResolve(b *testing.B) {
	dir := b.TempDir()
	require.NoError(b, os.MkdirAll(filepath.Join(dir, "internal/pkg/sub"), 0o755))
	require.NoError(b, os.WriteFile(filepath.Join(dir, "internal/pkg/sub/file.go"), nil, 0o600))
	r, err := Open(dir, nil)
	require.NoError(b, err)
	defer r.Close()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := r.Resolve("internal/pkg/sub/file.go"); err != nil {
			b.Fatal(err)
		}
	}
}
