package builtin

import (
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// TestChangesKeepWhatFilesAre (WR-2): owner, mode, extended attributes and other
// names of a file outlive a change by any of the tools, and new files get the mode
// that the umask leaves.
func TestChangesKeepWhatFilesAre(t *testing.T) {
	b := newBench(t, "-- f --\none\ntwo\n", Config{ExecutableScripts: true})
	require.NoError(t, os.Chmod(b.path("f"), 0o751))
	attrs := unix.Setxattr(b.path("f"), "user.kind", []byte("precious"), 0) == nil
	if os.Geteuid() == 0 {
		require.NoError(t, os.Chown(b.path("f"), 12345, 54321))
	}
	stat := func(name string) *syscall.Stat_t {
		info, err := os.Lstat(b.path(name))
		require.NoError(t, err)
		st, ok := info.Sys().(*syscall.Stat_t)
		require.True(t, ok)
		return st
	}
	before := stat("f")
	check := func(what string) {
		now := stat("f")
		assert.Equal(t, [3]uint32{before.Mode, before.Uid, before.Gid}, [3]uint32{now.Mode, now.Uid, now.Gid}, what)
		if attrs {
			buf := make([]byte, 20)
			n, err := unix.Getxattr(b.path("f"), "user.kind", buf)
			require.NoError(t, err, what)
			assert.Equal(t, "precious", string(buf[:n]), what)
		}
	}
	b.ok("edit", in{"filePath": "f", "oldString": "one", "newString": "1"})
	check("edit")
	b.ok("multiedit", in{"filePath": "f", "edits": []in{{"oldString": "two", "newString": "2"}}})
	check("multiedit")
	b.ok("apply_patch", in{"patchText": "*** Begin Patch\n*** Update File: f\n@@\n-1\n+one\n*** End Patch"})
	check("apply_patch")
	b.ok("read", in{"filePath": "f"})
	b.ok("write", in{"filePath": "f", "content": "all new\n"})
	check("write")
	b.ok("edit", in{"filePath": "f", "undo": true})
	check("undo")
	b.ok("apply_patch", in{"patchText": "*** Begin Patch\n*** Update File: f\n*** Move to: g\n@@\n-one\n+eins\n*** End Patch"})
	moved := stat("g")
	assert.Equal(t, [3]uint32{before.Mode, before.Uid, before.Gid}, [3]uint32{moved.Mode, moved.Uid, moved.Gid}, "move")

	require.NoError(t, os.Link(b.path("g"), b.path("twin")))
	inode := stat("g").Ino
	b.ok("edit", in{"filePath": "g", "oldString": "eins", "newString": "uno"})
	assert.Equal(t, inode, stat("g").Ino)
	assert.Equal(t, b.file("g"), b.file("twin"), "both names stay one file")

	old := syscall.Umask(0o027)
	defer syscall.Umask(old)
	b.ok("write", in{"filePath": "new/dir/x", "content": "x"})
	b.ok("write", in{"filePath": "run.sh", "content": "#!/bin/sh\n"})
	assert.Equal(t, uint32(0o640), stat("new/dir/x").Mode&0o777)
	assert.Equal(t, uint32(0o750), stat("new/dir").Mode&0o777)
	assert.Equal(t, uint32(0o750), stat("run.sh").Mode&0o777)
}
