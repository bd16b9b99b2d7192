package textfile

import (
	"bytes"
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestFindBytes compares with a search of the whole, at and around the ends of chunks.
func TestFindBytes(t *testing.T) {
	dir, root := tree(t, "-- f --\n")
	name := filepath.Join(dir, "f")
	r := rand.New(rand.NewPCG(5, 6))
	for range 12 {
		size := spliceChunk + r.IntN(2*spliceChunk)
		raw := make([]byte, size)
		for i := range raw {
			raw[i] = "ab\n"[r.IntN(3)]
		}
		text := []byte("xyz\nxyz\nx"[:1+r.IntN(9)])
		for range 5 {
			at := r.IntN(size - 20)
			if r.IntN(2) == 0 {
				at = spliceChunk - 10 + r.IntN(20)
			}
			copy(raw[at:], bytes.Repeat(text, 2))
		}
		require.NoError(t, os.WriteFile(name, raw, 0o600))
		for _, apart := range []bool{false, true} {
			s, err := FindBytes(context.Background(), root, resolve(t, root, "f"), text, apart, 100)
			require.NoError(t, err)
			assert.Equal(t, Sum(raw), s.State.Hash)
			var want []Found
			for from := 0; ; {
				i := bytes.Index(raw[from:], text)
				if i < 0 {
					break
				}
				at := from + i
				first := 1 + bytes.Count(raw[:at], []byte{'\n'})
				want = append(want, Found{int64(at), first, first + strings.Count(strings.TrimSuffix(string(text), "\n"), "\n")})
				if from = at + 1; apart {
					from = at + len(text)
				}
			}
			require.Equal(t, want, s.Found)
		}
	}
	s, err := FindBytes(context.Background(), root, resolve(t, root, "f"), []byte("a"), true, 3)
	require.NoError(t, err)
	assert.Len(t, s.Found, 3)
	assert.True(t, s.More)
}

// TestSplices: the result is what splicing in memory gives, and whatever fails leaves the file as it was.
func TestSplices(t *testing.T) {
	dir, root := tree(t, "-- f --\n-- other --\nx\n")
	name := filepath.Join(dir, "f")
	raw := []byte(strings.Repeat("0123456789\n", 400_000))
	require.NoError(t, os.WriteFile(name, raw, 0o600))
	require.NoError(t, os.Chmod(name, 0o754))
	ch := Change{Op: Update, Path: resolve(t, root, "f"), Base: Sum(raw), Splices: []Splice{
		{0, 0, []byte("start")}, {5, 15, nil}, {spliceChunk, spliceChunk + 3, []byte("longer than three")}, {int64(len(raw)), int64(len(raw)), []byte("end")},
	}}
	want := slicesOf(raw, ch.Splices)
	steps := 0
	for fail := 1; ; fail++ {
		n := 0
		w := &Writer{Root: root, NoSync: true, Fault: func(step, _ string) error {
			if n++; n == fail {
				return os.ErrDeadlineExceeded
			}
			return nil
		}}
		res, err := w.Commit(context.Background(), []Change{ch})
		now, rerr := os.ReadFile(name)
		require.NoError(t, rerr)
		if err == nil {
			assert.True(t, bytes.Equal(want, now))
			assert.Equal(t, Sum(want), res[0].State.Hash)
			break
		}
		require.True(t, bytes.Equal(raw, now), "step %d", fail)
		list, _ := os.ReadDir(dir)
		require.Len(t, list, 2, "nothing is left behind")
		steps++
	}
	assert.GreaterOrEqual(t, steps, 4)
	info, err := os.Stat(name)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o754), info.Mode().Perm())

	_, err = commitOne(root, ch)
	require.ErrorIs(t, err, ErrStale)
	require.NoError(t, os.Link(name, filepath.Join(dir, "twin")))
	ch.Base = Hash{}
	_, err = commitOne(root, ch)
	require.ErrorContains(t, err, "too large to be written in place")
	_, err = (&Writer{Root: root}).Commit(context.Background(), []Change{ch, {Op: Update, Path: resolve(t, root, "other"), Content: []byte("y")}})
	require.ErrorContains(t, err, "together with others")
	now, err := os.ReadFile(name)
	require.NoError(t, err)
	assert.True(t, bytes.Equal(want, now))
}

func slicesOf(raw []byte, list []Splice) []byte {
	var out []byte
	pos := int64(0)
	for _, s := range list {
		out = append(append(out, raw[pos:s.Start]...), s.New...)
		pos = s.End
	}
	return append(out, raw[pos:]...)
}
