//go:build unix

package builtin

import (
	"io/fs"
	"os"
	"syscall"
)

// openFlags keep an open from waiting for the other end of a pipe.
const openFlags = syscall.O_NONBLOCK

// replaceable reports whether a new file in the place of this one would be the
// same to everybody: no other names, no other owner, no special mode bits and no
// extended attributes.
func replaceable(root *os.Root, rel string, info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || st.Nlink != 1 || int(st.Uid) != os.Geteuid() || info.Mode()&(fs.ModeSetuid|fs.ModeSetgid|fs.ModeSticky) != 0 {
		return false
	}
	if dir, err := root.Lstat("."); err == nil {
		// A new file gets the group of the process, or on some systems that of its directory.
		if ds, ok := dir.Sys().(*syscall.Stat_t); ok && int(st.Gid) != os.Getegid() && st.Gid != ds.Gid {
			return false
		}
	}
	file, _, err := openIn(root, rel)
	if err != nil {
		return false
	}
	defer file.Close()
	return !hasAttributes(file)
}
