package search

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"sync/atomic"
	"unsafe"
)

// kind is the type of a directory entry.
type kind uint8

const (
	kindUnknown kind = iota
	kindFile
	kindDir
	kindLink
	kindSpecial // FIFO, socket, device
)

func kindOf(m fs.FileMode) kind {
	switch {
	case m.IsRegular():
		return kindFile
	case m.IsDir():
		return kindDir
	case m&fs.ModeSymlink != 0:
		return kindLink
	}
	return kindSpecial
}

// info is what is needed of a file's status.
type info struct {
	kind     kind
	exec     bool
	mtime    int64 // nanoseconds since 1970
	size     int64
	dev, ino uint64 // zero if the system has none
}

// medium says what a directory's file system can be trusted with.
type medium uint8

const (
	mediumPlain   medium = iota // a short read may not be the end of the file
	mediumLocal                 // a short read of a regular file is its end
	mediumVirtual               // procfs and its like: not searched
)

// A filesystem opens what lies below one root and nothing else. All paths are
// relative to the root, separated by slashes, clean; "" is the root itself.
type filesystem interface {
	// openDir opens a directory. Links in path are an error unless follow.
	openDir(path string, follow bool) (*dir, error)
	// list appends entries to l and reports whether there may be more.
	list(d *dir, l *listing) (more bool, err error)
	// open opens an entry of d for reading, without following a link and
	// without waiting for anybody. The result may turn out not to be regular.
	open(d *dir, name []byte) (file, error)
	// lstat is the status of an entry of d. name may hold slashes.
	lstat(d *dir, name []byte) (info, error)
	// statDir is the status of d itself.
	statDir(d *dir) (info, error)
	medium(d *dir) medium
	// openPath opens a file below the root, following links that stay below it.
	openPath(path string) (file, error)
	close() error
}

// dir is an open directory. It is closed when the last reference is dropped.
type dir struct {
	refs atomic.Int32
	fd   int      // Linux
	root *os.Root // elsewhere
	f    *os.File // elsewhere: the listing
	fs   filesystem
	// local is set by who opened it: a short read is the end of a file.
	local bool
}

func (d *dir) release() {
	if d.refs.Add(-1) > 0 {
		return
	}
	if d.root != nil {
		d.root.Close()
		if d.f != nil {
			d.f.Close()
		}
		return
	}
	closeFD(d.fd)
}

// file is an open file: a descriptor on Linux, where os.File would add work for
// every file, and an os.File elsewhere.
type file struct {
	fd int
	f  *os.File
}

func (f file) read(b []byte) (int, error) {
	if f.f == nil {
		return readFD(f.fd, b)
	}
	n, err := f.f.Read(b)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return n, err
}

func (f file) stat() (info, error) {
	if f.f == nil {
		return statFD(f.fd)
	}
	st, err := f.f.Stat()
	if err != nil {
		return info{}, err
	}
	return infoOf(st), nil
}

func (f file) close() {
	if f.f == nil {
		closeFD(f.fd)
	} else {
		f.f.Close()
	}
}

func infoOf(st fs.FileInfo) info {
	return info{kind: kindOf(st.Mode()), exec: st.Mode()&0o111 != 0, mtime: st.ModTime().UnixNano(), size: st.Size()}
}

// listing holds names of entries, each followed by a NUL for the system calls.
type listing struct {
	names   []byte
	entries []entry
	raw     []byte // for what the kernel returns
}

type entry struct {
	off  uint32
	n    uint16
	kind kind
}

func (l *listing) reset() { l.names, l.entries = l.names[:0], l.entries[:0] }

func (l *listing) add(name []byte, k kind) {
	l.entries = append(l.entries, entry{uint32(len(l.names)), uint16(len(name)), k})
	l.names = append(append(l.names, name...), 0)
}

func (l *listing) name(e entry) []byte { return l.names[e.off : e.off+uint32(e.n)] }

// unsafeString is b as a string that must not outlive the call it is made for.
func unsafeString(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
