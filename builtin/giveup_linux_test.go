package builtin

import (
	"context"
	"fmt"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// TestDeadMount: a file system whose server never answers ends no call later than
// its context.
func TestDeadMount(t *testing.T) {
	b := newBench(t, "-- f --\none\n-- mnt/x --\n", Config{})
	fuse, err := os.OpenFile("/dev/fuse", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("no FUSE here: %v", err)
	}
	opts := fmt.Sprintf("fd=%d,rootmode=40000,user_id=0,group_id=0", fuse.Fd())
	if err := unix.Mount("dead", b.path("mnt"), "fuse", 0, opts); err != nil {
		_ = fuse.Close()
		t.Skipf("mounting needs an administrator: %v", err)
	}
	end := func() {
		_ = fuse.Close() // what waits for an answer gets an error
		_ = syscall.Unmount(b.path("mnt"), unix.MNT_DETACH|unix.MNT_FORCE)
	}
	t.Cleanup(end)
	for name, input := range map[string]in{
		"read":        {"filePath": "mnt/x"},
		"write":       {"filePath": "mnt/y", "content": "y"},
		"edit":        {"filePath": "mnt/x", "oldString": "a", "newString": "b"},
		"multiedit":   {"filePath": "mnt/x", "edits": []in{{"oldString": "a", "newString": "b"}}},
		"apply_patch": {"patchText": "*** Begin Patch\n*** Add File: mnt/z\n+z\n*** End Patch"},
		"ls":          {"path": "mnt"},
		"glob":        {"pattern": "*", "path": "mnt"},
		"grep":        {"pattern": "x", "path": "mnt"},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		start := time.Now()
		_, err := b.runIn(ctx, name, input)
		cancel()
		require.Error(t, err, name)
		assert.ErrorIs(t, err, context.DeadlineExceeded, name)
		assert.Less(t, time.Since(start), 20*time.Second, "%s: the promise is 350 ms", name)
	}
	assert.Contains(t, b.ok("read", in{"filePath": "f"}), "one", "the rest of the project can be used")
	end()
	require.Eventually(t, func() bool { return b.ts.stuck.n.Load() == 0 }, 20*time.Second, time.Millisecond)
}
