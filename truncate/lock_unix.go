//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package truncate

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// openNoFollow refuses links and does not wait for the other end of a pipe that
// took a file's place.
const openNoFollow = syscall.O_NOFOLLOW | syscall.O_NONBLOCK

// lockFile marks f as in use until it is closed, or its process ends. It reports
// false only if somebody else did so before; where the file system knows no
// locks, the age of a file has to do.
func lockFile(f *os.File) bool {
	c, err := f.SyscallConn()
	if err != nil {
		return true
	}
	var lerr error
	if err := c.Control(func(fd uintptr) { lerr = syscall.Flock(int(fd), syscall.LOCK_EX|syscall.LOCK_NB) }); err != nil {
		return true
	}
	return !errors.Is(lerr, syscall.EWOULDBLOCK)
}

// ownedByUs reports whether fi is ours. Root takes any: it may be running in a
// container over somebody's directory.
func ownedByUs(fi fs.FileInfo) bool {
	st, ok := fi.Sys().(*syscall.Stat_t)
	return !ok || int(st.Uid) == os.Geteuid() || os.Geteuid() == 0
}

func openToOthers(fi fs.FileInfo) bool { return fi.Mode().Perm()&0o077 != 0 }
