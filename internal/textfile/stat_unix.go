//go:build linux || openbsd || dragonfly || solaris || aix

package textfile

import (
	"io/fs"
	"syscall"
)

func (s *Stat) fromSys(info fs.FileInfo) {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		s.Ctime = int64(st.Ctim.Sec)*1e9 + int64(st.Ctim.Nsec)
		s.Inode, s.Device = uint64(st.Ino), uint64(st.Dev)
		s.links, s.uid, s.gid = uint64(st.Nlink), st.Uid, st.Gid
	}
}
