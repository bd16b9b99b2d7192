package search

import (
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func forbidOpenat2(f filesystem) bool {
	s, ok := f.(*fdFS)
	if ok {
		s.noBelow.Store(true)
	}
	return ok
}

// Paths longer than the system takes in one piece.
func TestVeryDeepTree(t *testing.T) {
	dir := t.TempDir()
	name := strings.Repeat("n", 200)
	fd, err := syscall.Open(dir, syscall.O_RDONLY|syscall.O_DIRECTORY, 0)
	require.NoError(t, err)
	for range 30 {
		require.NoError(t, syscall.Mkdirat(fd, name, 0o755))
		next, err := syscall.Openat(fd, name, syscall.O_RDONLY|syscall.O_DIRECTORY, 0)
		require.NoError(t, err)
		syscall.Close(fd)
		fd = next
	}
	f, err := syscall.Openat(fd, "f", syscall.O_CREAT|syscall.O_WRONLY, 0o644)
	require.NoError(t, err)
	_, err = syscall.Write(f, []byte("foo\n"))
	require.NoError(t, err)
	syscall.Close(f)
	syscall.Close(fd)
	r := grepIn(t, New(Options{}), dir, Query{Pattern: "foo"})
	require.Len(t, r.Files, 1)
	assert.Equal(t, 30, strings.Count(r.Files[0].Path, "/"))
	assert.Zero(t, r.Stats.Unreadable)
}
