package permission

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func newFileStore(t *testing.T) *FileStore {
	return &FileStore{Path: filepath.Join(t.TempDir(), "private", "state", "approvals.json")}
}

func userApproval(id string) Approval {
	return Approval{ID: id, Permission: "bash", Pattern: id + " *", Scope: ScopeUser}
}

func TestFileStore(t *testing.T) {
	testStore(t, newFileStore(t))
}

func TestFileStoreIsPrivate(t *testing.T) {
	s := newFileStore(t)
	_, err := s.List(t.Context())
	require.NoError(t, err)
	_, err = os.Stat(filepath.Dir(s.Path))
	require.ErrorIs(t, err, fs.ErrNotExist, "reading makes nothing")
	require.NoError(t, s.Add(t.Context(), userApproval("make")))
	if runtime.GOOS == "windows" {
		return
	}
	for path, want := range map[string]fs.FileMode{s.Path: 0o600, s.Path + ".lock": 0o600, filepath.Dir(s.Path): 0o700 | fs.ModeDir} {
		info, err := os.Stat(path)
		require.NoError(t, err)
		assert.Equal(t, want, info.Mode(), path)
	}
	entries, err := os.ReadDir(filepath.Dir(s.Path))
	require.NoError(t, err)
	assert.Len(t, entries, 2, "no temporary file stays")
}

func TestFileStoreRefuses(t *testing.T) {
	valid := `{"version":1,"approvals":[{"id":"1","permission":"bash","pattern":"*","scope":"user","created":"2026-01-02T03:04:05Z"}]}`
	write := func(t *testing.T, s *FileStore, text string) {
		require.NoError(t, os.MkdirAll(filepath.Dir(s.Path), 0o700))
		require.NoError(t, os.WriteFile(s.Path, []byte(text), 0o600))
	}
	tests := map[string]func(t *testing.T, s *FileStore){
		"empty":         func(t *testing.T, s *FileStore) { write(t, s, "") },
		"cut off":       func(t *testing.T, s *FileStore) { write(t, s, valid[:len(valid)-3]) },
		"followed":      func(t *testing.T, s *FileStore) { write(t, s, valid+valid) },
		"no version":    func(t *testing.T, s *FileStore) { write(t, s, `{"approvals":[]}`) },
		"version":       func(t *testing.T, s *FileStore) { write(t, s, strings.Replace(valid, "1", "2", 1)) },
		"null":          func(t *testing.T, s *FileStore) { write(t, s, "null") },
		"list":          func(t *testing.T, s *FileStore) { write(t, s, "[]") },
		"unknown field": func(t *testing.T, s *FileStore) { write(t, s, strings.Replace(valid, "pattern", "patern", 1)) },
		"scope":         func(t *testing.T, s *FileStore) { write(t, s, strings.Replace(valid, "user", "world", 1)) },
		"no permission": func(t *testing.T, s *FileStore) { write(t, s, strings.Replace(valid, `"bash"`, `""`, 1)) },
		"too large":     func(t *testing.T, s *FileStore) { write(t, s, valid+strings.Repeat(" ", maxStoreSize)) },
		"directory":     func(t *testing.T, s *FileStore) { require.NoError(t, os.MkdirAll(s.Path, 0o700)) },
		"relative path": func(_ *testing.T, s *FileStore) { s.Path = "approvals.json" },
	}
	if runtime.GOOS != "windows" {
		tests["link"] = func(t *testing.T, s *FileStore) {
			write(t, s, valid)
			require.NoError(t, os.Rename(s.Path, s.Path+"2"))
			require.NoError(t, os.Symlink(s.Path+"2", s.Path))
		}
		tests["writable by the group"] = func(t *testing.T, s *FileStore) {
			write(t, s, valid)
			require.NoError(t, os.Chmod(s.Path, 0o620))
		}
		tests["writable by all"] = func(t *testing.T, s *FileStore) {
			write(t, s, valid)
			require.NoError(t, os.Chmod(s.Path, 0o602))
		}
		tests["directory writable by all"] = func(t *testing.T, s *FileStore) {
			write(t, s, valid)
			require.NoError(t, os.Chmod(filepath.Dir(s.Path), 0o777))
		}
		tests["pipe"] = func(t *testing.T, s *FileStore) {
			write(t, s, valid)
			require.NoError(t, os.Remove(s.Path))
			if err := exec.Command("mkfifo", s.Path).Run(); err != nil {
				t.Skip(err)
			}
		}
		if os.Geteuid() == 0 {
			tests["owner"] = func(t *testing.T, s *FileStore) {
				write(t, s, valid)
				require.NoError(t, os.Chown(s.Path, 65534, 65534))
			}
		}
	}
	for name, prepare := range tests {
		t.Run(name, func(t *testing.T) {
			s := newFileStore(t)
			prepare(t, s)
			var before []byte
			if info, err := os.Lstat(s.Path); err == nil && info.Mode().IsRegular() {
				before, err = os.ReadFile(s.Path)
				require.NoError(t, err)
			}
			list, err := s.List(t.Context())
			require.ErrorIs(t, err, ErrStore)
			require.Empty(t, list)
			require.ErrorIs(t, s.Add(t.Context(), userApproval("make")), ErrStore)
			_, err = s.Remove(t.Context(), "1")
			require.ErrorIs(t, err, ErrStore)
			if before != nil {
				after, err := os.ReadFile(s.Path)
				require.NoError(t, err)
				require.Equal(t, before, after, "it is left as it is")
			}
			// A gate asks rather than trusts it.
			deniedBy(t, askIn(t.Context(), &Gate{Store: s}, "s", bash("ls")))
		})
	}
}

func TestFileStoreManyWriters(t *testing.T) {
	one := newFileStore(t)
	var wg sync.WaitGroup
	for i := range 4 {
		s := &FileStore{Path: one.Path} // as another process would
		wg.Go(func() {
			for j := range 10 {
				assert.NoError(t, s.Add(t.Context(), userApproval(fmt.Sprintf("%d-%d", i, j))))
				_, err := s.List(t.Context())
				assert.NoError(t, err)
			}
		})
	}
	wg.Wait()
	list, err := one.List(t.Context())
	require.NoError(t, err)
	assert.Len(t, list, 40, "no writer undid another's work")
}

func TestFileStoreLockEndsWithContext(t *testing.T) {
	s := newFileStore(t)
	require.NoError(t, s.directory())
	unlock, err := s.lock(t.Context())
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err = (&FileStore{Path: s.Path}).Add(ctx, userApproval("make"))
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, err, ErrStore)
	unlock()
	require.NoError(t, s.Add(t.Context(), userApproval("make")))
}

func FuzzParseStore(f *testing.F) {
	for _, s := range []string{`{"version":1,"approvals":[]}`, `{"version":1}`, `{}`, `null`, `{"version":1,"approvals":[{"id":"1","permission":"p","scope":"user"},{"id":"1","permission":"q","scope":"project","project":"x"}]}`, `{"version":1,"approvals":[null]}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		list, err := parseStore(data)
		if err != nil {
			require.Empty(t, list)
			return
		}
		for _, a := range list {
			require.NoError(t, a.check())
		}
	})
}
