//go:build unix && !linux

package search

import (
	"os"
	"syscall"
)

const nonblock = syscall.O_NONBLOCK

func identity(st os.FileInfo) (dev, ino uint64) {
	if s, ok := st.Sys().(*syscall.Stat_t); ok {
		return uint64(s.Dev), uint64(s.Ino)
	}
	return 0, 0
}
