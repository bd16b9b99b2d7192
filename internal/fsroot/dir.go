package fsroot

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// A Dir is the open directory that holds one file. All names given to its methods are single components, so that no link can
// lead elsewhere. It stays the same directory when it is moved. The caller closes it. A Dir may be used concurrently.
type Dir struct {
	root *os.Root
	own  *Root
	path *Path
}

// Parent opens the directory that contains p's resolved name and checks that it is the one that was resolved. A missing
// directory is [fs.ErrNotExist].
func (r *Root) Parent(p *Path) (*Dir, error) {
	h, err := r.handle(p)
	if err != nil {
		return nil, err
	}
	if p.rel == "." {
		return nil, &PathError{Path: p.Given, Why: "is the root directory itself", Err: ErrIsDir}
	}
	r.step("parent", p)
	up := filepath.Dir(p.rel)
	sub, err := h.OpenRoot(up)
	if err != nil {
		return nil, explain(p.Given, err)
	}
	info, err := sub.Stat(".")
	if err == nil {
		err = r.same(p, h, up, info)
	}
	if err != nil {
		_ = sub.Close()
		return nil, explain(p.Given, err)
	}
	return &Dir{root: sub, own: r, path: p}, nil
}

// Base returns the name of the resolved file in its directory.
func (p *Path) Base() string { return filepath.Base(p.Resolved) }

// SameGrant reports whether one grant covers both paths, so that a file can be renamed from one to the other.
func (p *Path) SameGrant(o *Path) bool { return p.tree != nil && p.tree == o.tree }

// Path returns the resolved name that the directory was opened by.
func (d *Dir) Path() string { return filepath.Dir(d.path.Resolved) }

// Close releases the directory.
func (d *Dir) Close() error { return d.root.Close() }

// Open opens the regular file name for reading, as [Root.Open] does.
func (d *Dir) Open(name string) (*os.File, fs.FileInfo, error) {
	return d.open(d.path, name)
}

func (d *Dir) open(p *Path, name string) (*os.File, fs.FileInfo, error) {
	return d.openFile(p, name, os.O_RDONLY)
}

// OpenWrite opens the existing regular file name for reading and writing without changing it.
func (d *Dir) OpenWrite(name string) (*os.File, fs.FileInfo, error) {
	return d.openFile(d.path, name, os.O_RDWR)
}

func (d *Dir) openFile(p *Path, name string, flag int) (*os.File, fs.FileInfo, error) {
	before, err := d.Lstat(name)
	if err != nil {
		return nil, nil, err
	}
	if err := CheckRegular(p.Given, before.Mode()); err != nil {
		return nil, nil, err
	}
	d.own.step("open", p)
	f, err := d.root.OpenFile(name, flag|nonblock, 0)
	if err != nil {
		return nil, nil, explain(p.Given, err)
	}
	info, err := f.Stat()
	if err == nil {
		err = CheckRegular(p.Given, info.Mode())
	}
	if err == nil {
		var now fs.FileInfo
		if now, err = d.root.Lstat(name); err == nil && !sameFile(now, info) {
			err = changed(p)
		}
	}
	if err == nil && !p.Kernel && kernelFile(f) {
		err = &PathError{Path: p.Given, Why: "is on a kernel file system; it is not opened unless exactly that file was granted", Err: ErrSpecial}
	}
	if err != nil {
		_ = f.Close()
		return nil, nil, explain(p.Given, err)
	}
	return f, info, nil
}

// Create makes the new file name; an existing one, also a dangling link, is [fs.ErrExist]. The umask applies to perm.
func (d *Dir) Create(name string, perm fs.FileMode) (*os.File, error) {
	f, err := d.root.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL|noFollow, perm)
	return f, d.explain(name, err)
}

// Lstat describes name without following a link.
func (d *Dir) Lstat(name string) (fs.FileInfo, error) {
	fi, err := d.root.Lstat(name)
	return fi, d.explain(name, err)
}

// Rename gives the file from the name to, replacing what is there.
func (d *Dir) Rename(from, to string) error { return d.explain(to, d.root.Rename(from, to)) }

// Link gives the file from the further name to, which must not exist.
func (d *Dir) Link(from, to string) error { return d.explain(to, d.root.Link(from, to)) }

// Remove removes the file name, or the link, but not what it leads to; a directory only when it is empty.
func (d *Dir) Remove(name string) error { return d.explain(name, d.root.Remove(name)) }

// Names returns up to limit names in the directory, in no order.
func (d *Dir) Names(limit int) ([]string, error) {
	f, err := d.root.Open(".")
	if err != nil {
		return nil, d.explain(".", err)
	}
	defer f.Close()
	names, err := f.Readdirnames(limit)
	if err != nil && len(names) == 0 && errors.Is(err, fs.ErrPermission) {
		return nil, d.explain(".", err)
	}
	return names, nil
}

// File opens the directory itself, for calls that need its descriptor. The caller closes it.
func (d *Dir) File() (*os.File, error) {
	f, err := d.root.Open(".")
	return f, d.explain(".", err)
}

// Sync makes renames in the directory durable where the system can.
func (d *Dir) Sync() error {
	if runtime.GOOS == "windows" {
		return nil
	}
	f, err := d.root.Open(".")
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}

// explain words an error about name. For the file that the Dir was opened for it uses the path as the caller wrote it.
func (d *Dir) explain(name string, err error) error {
	if err == nil {
		return nil
	}
	shown := d.path.Given
	if name != d.path.Base() {
		shown = filepath.ToSlash(filepath.Join(filepath.Dir(d.path.Display), name))
	}
	if errors.Is(err, fs.ErrExist) {
		return &PathError{Path: shown, Why: "already exists", Err: fs.ErrExist}
	}
	var le *os.LinkError
	if errors.As(err, &le) {
		err = &fs.PathError{Op: le.Op, Path: le.New, Err: le.Err}
	}
	return explain(shown, err)
}

// MakeParents creates the missing directories above p, 0777 less the umask, and returns them, outermost first, for
// [Root.RemoveMade]. A name whose last link dangles gets no directories: following it blindly could plant a tree anywhere.
func (r *Root) MakeParents(p *Path) ([]Made, error) {
	h, err := r.handle(p)
	if err != nil {
		return nil, err
	}
	var made []Made
	up := filepath.Dir(p.rel)
	if up == "." {
		return nil, nil
	}
	for i := 0; i <= len(up); i++ {
		if i < len(up) && !isSeparator(up[i]) {
			continue
		}
		fi, err := h.Lstat(up[:i])
		switch {
		case err == nil && fi.IsDir():
			continue
		case err == nil && fi.Mode()&fs.ModeSymlink != 0:
			return made, changed(p)
		case err == nil:
			return made, &PathError{Path: filepath.ToSlash(up[:i]), Why: "is a file, not a directory", Err: ErrNotDir}
		case !isNotExist(err):
			return made, explain(p.Given, err)
		case p.Dangling:
			return made, &PathError{Path: p.Given, Why: "is a link into a directory that does not exist", Err: fs.ErrNotExist}
		}
		if err := h.Mkdir(up[:i], 0o777); err != nil {
			if errors.Is(err, fs.ErrExist) {
				continue // a call running at the same time made it
			}
			return made, explain(p.Given, err)
		}
		made = append(made, Made{tree: p.tree, rel: up[:i]})
	}
	return made, nil
}

// Made is a directory that [Root.MakeParents] created.
type Made struct {
	tree *tree
	rel  string
}

// RemoveMade removes the directories again, innermost first, as far as they are empty.
func (r *Root) RemoveMade(made []Made) {
	for i := len(made) - 1; i >= 0; i-- {
		if h, err := made[i].tree.root(); err == nil {
			_ = h.Remove(made[i].rel)
		}
	}
}

// Move gives the file or link from the name to, in another directory of the same grant, and fails with [fs.ErrExist] when
// something is there. Names in different grants are refused with [ErrCross].
func (r *Root) Move(from, to *Path) error {
	h, err := r.handle(from)
	if err != nil {
		return err
	}
	if _, err := r.handle(to); err != nil {
		return err
	}
	if from.tree != to.tree {
		return &PathError{Path: to.Given, Why: "is in another granted directory", Err: ErrCross}
	}
	for _, p := range []*Path{from, to} {
		d, err := r.Parent(p) // checks the way to it
		if err != nil {
			return err
		}
		_ = d.Close()
	}
	if err := h.Link(from.rel, to.rel); err == nil {
		if err := h.Remove(from.rel); err != nil {
			_ = h.Remove(to.rel)
			return explain(from.Given, err)
		}
		return nil
	} else if errors.Is(err, fs.ErrExist) {
		return &PathError{Path: to.Given, Why: "already exists", Err: fs.ErrExist}
	}
	if _, err := h.Lstat(to.rel); err == nil {
		return &PathError{Path: to.Given, Why: "already exists", Err: fs.ErrExist}
	}
	err = h.Rename(from.rel, to.rel)
	var le *os.LinkError
	if errors.As(err, &le) {
		if isCross(le.Err) {
			return &PathError{Path: to.Given, Why: "is on another file system", Err: ErrCross}
		}
		err = &fs.PathError{Op: le.Op, Path: le.New, Err: le.Err}
	}
	return explain(to.Given, err)
}
