package textfile

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestLocksExcludeAndLeaveNothing(t *testing.T) {
	var l Locks
	var wg sync.WaitGroup
	counter, inside := 0, 0
	for range 50 {
		wg.Go(func() {
			unlock, err := l.Lock(context.Background(), "a")
			if err != nil {
				panic(err)
			}
			inside++
			if inside != 1 {
				panic("two inside")
			}
			counter++
			inside--
			unlock()
			unlock()
		})
	}
	wg.Wait()
	assert.Equal(t, 50, counter)
	assert.Zero(t, l.Len())
}

func TestLocksSortedNeverDeadlock(t *testing.T) {
	var l Locks
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	var wg sync.WaitGroup
	for i := range 8 {
		keys := []string{"a", "b", "c", "b"}
		if i%2 == 0 {
			keys = []string{"c", "b", "a"}
		}
		wg.Go(func() {
			for range 500 {
				unlock, err := l.Lock(ctx, keys...)
				if err != nil {
					panic(err)
				}
				unlock()
			}
		})
	}
	wg.Wait()
	assert.Zero(t, l.Len())
}

func TestLockGivesUpWithContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l Locks
		unlock, err := l.Lock(t.Context(), "b")
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = l.Lock(ctx, "c", "b", "a")
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Equal(t, 1, l.Len(), "the locks taken before are given back")
		unlock()
		assert.Zero(t, l.Len())
		_, err = l.Lock(ctx, "free")
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Zero(t, l.Len())
	})
}

// TestHundredEdits: calls at the same time that each insert a line lose none of them.
func TestHundredEdits(t *testing.T) {
	dir, root := tree(t, "-- f.txt --\nfirst\n")
	var l Locks
	w := &Writer{Root: root, NoSync: true}
	var wg sync.WaitGroup
	for i := range 100 {
		wg.Go(func() {
			p, err := root.Resolve([]string{"f.txt", "./f.txt", "x/../f.txt"}[i%3])
			if err != nil {
				panic(err)
			}
			unlock, err := l.Lock(context.Background(), p.Key())
			if err != nil {
				panic(err)
			}
			defer unlock()
			if p, err = root.Resolve("f.txt"); err != nil {
				panic(err)
			}
			raw, st, err := ReadFile(context.Background(), root, p, 0)
			if err != nil {
				panic(err)
			}
			f, err := Decode(raw, nil)
			if err != nil {
				panic(err)
			}
			out, err := f.Apply([]Span{{0, 0, fmt.Sprintf("line %d\n", i)}})
			if err != nil {
				panic(err)
			}
			if _, err := w.Commit(context.Background(), []Change{{Op: Update, Path: p, Content: out, Base: st.Hash}}); err != nil {
				panic(err)
			}
		})
	}
	wg.Wait()
	got, err := os.ReadFile(filepath.Join(dir, "f.txt"))
	require.NoError(t, err)
	assert.Len(t, strings.Split(strings.TrimSpace(string(got)), "\n"), 101)
	for i := range 100 {
		assert.Contains(t, string(got), fmt.Sprintf("line %d\n", i))
	}
	assert.Zero(t, l.Len())
}

func ExampleLocks() {
	var l Locks
	unlock, err := l.Lock(context.Background(), "/b", "/a")
	fmt.Println(l.Len(), err)
	unlock()
	fmt.Println(l.Len())
	// Output:
	// 2 <nil>
	// 0
}
