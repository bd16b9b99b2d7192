package search

import (
	"errors"
	"io"
	"os"
)

// rootFS is the filesystem made of nothing but os.Root, for systems without one
// of their own. Each directory is opened as a root, so that opening its files
// costs one component and not their whole path.
type rootFS struct {
	root *os.Root
}

func newRootFS(root *os.Root) *rootFS { return &rootFS{root} }

func (r *rootFS) close() error { return nil }

func (r *rootFS) openDir(path string, follow bool) (*dir, error) {
	if path == "" {
		path = "."
	}
	if !follow && path != "." {
		st, err := r.root.Lstat(path)
		if err != nil {
			return nil, err
		}
		if !st.IsDir() {
			return nil, errNotDir
		}
	}
	sub, err := r.root.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	d := &dir{root: sub, fs: r}
	d.refs.Store(1)
	return d, nil
}

func (r *rootFS) list(d *dir, l *listing) (bool, error) {
	if d.f == nil {
		f, err := d.root.Open(".")
		if err != nil {
			return false, err
		}
		d.f = f
	}
	entries, err := d.f.ReadDir(1024)
	for _, e := range entries {
		if name := e.Name(); len(name) < 1<<16 {
			l.add([]byte(name), kindOf(e.Type()))
		}
	}
	if errors.Is(err, io.EOF) {
		return false, nil
	}
	return err == nil, err
}

// open trusts the listing that the entry is no FIFO or device; what was swapped
// in since then is opened without waiting and given up.
func (r *rootFS) open(d *dir, name []byte) (file, error) {
	f, err := d.root.OpenFile(string(name), os.O_RDONLY|nonblock, 0)
	if err != nil {
		return file{}, err
	}
	return regular(f)
}

func (r *rootFS) openPath(path string) (file, error) {
	f, err := r.root.OpenFile(path, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return file{}, err
	}
	return regular(f)
}

func regular(f *os.File) (file, error) {
	if st, err := f.Stat(); err != nil || !st.Mode().IsRegular() {
		f.Close()
		return file{}, errNotRegular
	}
	return file{f: f}, nil
}

func (r *rootFS) lstat(d *dir, name []byte) (info, error) {
	st, err := d.root.Lstat(string(name))
	if err != nil {
		return info{}, err
	}
	return infoOf(st), nil
}

func (r *rootFS) statDir(d *dir) (info, error) {
	st, err := d.root.Stat(".")
	if err != nil {
		return info{}, err
	}
	in := infoOf(st)
	in.dev, in.ino = identity(st)
	return in, nil
}

func (r *rootFS) medium(*dir) medium { return mediumPlain }
