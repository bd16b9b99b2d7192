package search

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// fdFS walks by descriptors: a directory is opened by openat2, which refuses
// links and everything outside the root in one call, its entries come from
// getdents and its files are opened relative to it. Nothing of a path is
// resolved twice, so swapping a component for a link meanwhile leads nowhere.
type fdFS struct {
	root    *os.Root
	f       *os.File
	fd      int
	noBelow atomic.Bool // openat2 is missing or forbidden here
}

func newFS(root *os.Root) (filesystem, error) {
	f, err := root.OpenFile(".", os.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, err
	}
	return &fdFS{root: root, f: f, fd: int(f.Fd())}, nil
}

func (s *fdFS) close() error { return s.f.Close() }

const nonblock = unix.O_NONBLOCK

const dirFlags = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_CLOEXEC | unix.O_NOFOLLOW

func (s *fdFS) openDir(path string, follow bool) (*dir, error) {
	fd, err := s.openFD(path, dirFlags, follow)
	if err != nil {
		return nil, err
	}
	d := &dir{fd: fd, fs: s}
	d.refs.Store(1)
	return d, nil
}

// openFD opens a path below the root. With follow links are followed as long as
// they stay below it.
func (s *fdFS) openFD(path string, flags int, follow bool) (int, error) {
	if path == "" {
		path = "."
	}
	how := unix.OpenHow{Flags: uint64(flags), Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_MAGICLINKS}
	if follow {
		how.Flags &^= unix.O_NOFOLLOW
	} else {
		how.Resolve |= unix.RESOLVE_NO_SYMLINKS
	}
	for tries := 0; !s.noBelow.Load(); tries++ {
		fd, err := unix.Openat2(s.fd, path, &how)
		switch {
		case err == nil:
			return fd, nil
		case err == unix.EINTR, err == unix.EAGAIN && tries < 10:
			continue // a rename got in between
		case err == unix.ENOSYS, err == unix.EPERM:
			s.noBelow.Store(true)
			continue
		case err == unix.ENAMETOOLONG:
			return s.openByParts(path, flags, follow)
		}
		return -1, err
	}
	return s.openByParts(path, flags, follow)
}

func (s *fdFS) openByParts(path string, flags int, follow bool) (int, error) {
	if follow {
		f, err := s.root.OpenFile(path, flags&^(unix.O_NOFOLLOW|unix.O_CLOEXEC), 0)
		if err != nil {
			return -1, err
		}
		defer f.Close()
		return unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	}
	fd := s.fd
	for path != "" {
		name, rest, more := strings.Cut(path, "/")
		fl := flags
		if more {
			fl = unix.O_PATH | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC
		}
		next, err := retry(func() (int, error) { return unix.Openat(fd, name, fl, 0) })
		if fd != s.fd {
			unix.Close(fd)
		}
		if err != nil {
			return -1, err
		}
		fd, path = next, rest
	}
	return fd, nil
}

func retry(f func() (int, error)) (int, error) {
	for {
		n, err := f()
		if !errors.Is(err, unix.EINTR) {
			return n, err
		}
	}
}

func (s *fdFS) list(d *dir, l *listing) (bool, error) {
	if l.raw == nil {
		l.raw = make([]byte, 64<<10)
	}
	n, err := retry(func() (int, error) { return unix.Getdents(d.fd, l.raw) })
	if err != nil || n <= 0 {
		return false, err
	}
	// struct linux_dirent64: inode, offset, length of the record, type, name.
	const lengthAt, typeAt, header = 16, 18, 19
	for b := l.raw[:n]; len(b) > header; {
		size := int(binary.NativeEndian.Uint16(b[lengthAt:]))
		if size <= header || size > len(b) {
			break
		}
		name := b[header:size]
		name = name[:max(bytes.IndexByte(name, 0), 0)]
		if s := unsafeString(name); s != "" && s != "." && s != ".." && binary.NativeEndian.Uint64(b) != 0 {
			l.add(name, entryKind(b[typeAt]))
		}
		b = b[size:]
	}
	return true, nil
}

func entryKind(t uint8) kind {
	switch t {
	case unix.DT_REG:
		return kindFile
	case unix.DT_DIR:
		return kindDir
	case unix.DT_LNK:
		return kindLink
	case unix.DT_UNKNOWN:
		return kindUnknown
	}
	return kindSpecial
}

// open relies on the NUL that a listing keeps behind each name.
func (s *fdFS) open(d *dir, name []byte) (file, error) {
	const flags = unix.O_RDONLY | unix.O_CLOEXEC | unix.O_NONBLOCK | unix.O_NOFOLLOW | unix.O_NOCTTY | unix.O_LARGEFILE
	p := cString(name)
	for {
		fd, _, errno := unix.Syscall6(unix.SYS_OPENAT, uintptr(d.fd), uintptr(unsafe.Pointer(p)), flags, 0, 0, 0)
		switch errno {
		case 0:
			return file{fd: int(fd)}, nil
		case unix.EINTR:
			continue
		}
		return file{}, errno
	}
}

// cString returns name as the kernel wants it, without a copy if the byte
// behind it is a NUL already.
func cString(name []byte) *byte {
	if n := len(name); cap(name) > n && name[:n+1][n] == 0 {
		return unsafe.SliceData(name)
	}
	return unsafe.SliceData(append(append(make([]byte, 0, len(name)+1), name...), 0))
}

func (s *fdFS) openPath(path string) (file, error) {
	const flags = unix.O_RDONLY | unix.O_CLOEXEC | unix.O_NONBLOCK | unix.O_NOCTTY
	fd, err := s.openFD(path, flags, true)
	if err != nil {
		return file{}, err
	}
	f := file{fd: fd}
	if in, err := f.stat(); err != nil || in.kind != kindFile {
		f.close()
		return file{}, errNotRegular
	}
	return f, nil
}

func (s *fdFS) lstat(d *dir, name []byte) (info, error) {
	var st unix.Stat_t
	_, err := retry(func() (int, error) {
		return 0, unix.Fstatat(d.fd, unsafeString(name), &st, unix.AT_SYMLINK_NOFOLLOW|unix.AT_NO_AUTOMOUNT)
	})
	return infoOfStat(&st), err
}

func (s *fdFS) statDir(d *dir) (info, error) { return statFD(d.fd) }

func statFD(fd int) (info, error) {
	var st unix.Stat_t
	_, err := retry(func() (int, error) { return 0, unix.Fstat(fd, &st) })
	return infoOfStat(&st), err
}

func infoOfStat(st *unix.Stat_t) info {
	in := info{
		kind: kindSpecial, exec: st.Mode&0o111 != 0, mtime: st.Mtim.Nano(), size: st.Size,
		dev: uint64(st.Dev), ino: st.Ino,
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		in.kind = kindFile
	case unix.S_IFDIR:
		in.kind = kindDir
	case unix.S_IFLNK:
		in.kind = kindLink
	}
	return in
}

func (s *fdFS) medium(d *dir) medium {
	var st unix.Statfs_t
	if _, err := retry(func() (int, error) { return 0, unix.Fstatfs(d.fd, &st) }); err != nil {
		return mediumPlain
	}
	switch uint32(st.Type) {
	case unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC, unix.TMPFS_MAGIC,
		unix.OVERLAYFS_SUPER_MAGIC, unix.F2FS_SUPER_MAGIC, unix.RAMFS_MAGIC, unix.SQUASHFS_MAGIC:
		return mediumLocal
	case unix.PROC_SUPER_MAGIC, unix.SYSFS_MAGIC, unix.CGROUP_SUPER_MAGIC, unix.CGROUP2_SUPER_MAGIC,
		unix.DEVPTS_SUPER_MAGIC, unix.DEBUGFS_MAGIC, unix.TRACEFS_MAGIC, unix.SECURITYFS_MAGIC,
		unix.BPF_FS_MAGIC, unix.PSTOREFS_MAGIC, unix.EFIVARFS_MAGIC, unix.NSFS_MAGIC:
		return mediumVirtual
	}
	return mediumPlain
}

func readFD(fd int, b []byte) (int, error) {
	for {
		n, err := unix.Read(fd, b)
		if err == unix.EINTR {
			continue
		}
		return max(n, 0), err
	}
}

func closeFD(fd int) { unix.Close(fd) }

func identity(st os.FileInfo) (dev, ino uint64) {
	if s, ok := st.Sys().(*syscall.Stat_t); ok {
		return uint64(s.Dev), s.Ino
	}
	return 0, 0
}
