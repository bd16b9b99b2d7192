package fsroot

import (
	"os"

	"golang.org/x/sys/unix"
)

// kernelDir reports whether path is in a tree that the kernel makes up: reading there can block, never end or have effects.
// /dev/shm holds ordinary files.
func kernelDir(path string) bool {
	if inDir(path, "/dev") {
		return !inDir(path, "/dev/shm")
	}
	return inDir(path, "/proc") || inDir(path, "/sys")
}

// kernelFile recognises such a tree by the file system that the open file is on, wherever it is mounted.
func kernelFile(f *os.File) bool {
	c, err := f.SyscallConn()
	if err != nil {
		return true
	}
	var st unix.Statfs_t
	var errno error
	if err := c.Control(func(fd uintptr) { errno = unix.Fstatfs(int(fd), &st) }); err != nil || errno != nil {
		return true
	}
	switch int64(st.Type) {
	case unix.PROC_SUPER_MAGIC, unix.SYSFS_MAGIC, unix.CGROUP_SUPER_MAGIC, unix.CGROUP2_SUPER_MAGIC, unix.DEVPTS_SUPER_MAGIC,
		unix.DEBUGFS_MAGIC, unix.TRACEFS_MAGIC, unix.SECURITYFS_MAGIC, unix.AUTOFS_SUPER_MAGIC:
		return true
	}
	return false
}
