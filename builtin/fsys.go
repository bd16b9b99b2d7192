package builtin

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// fsys is how the tools reach the file system. No other file of this package
// opens, creates, renames or removes anything.
//
// A name is first resolved the way the kernel does it, links followed one by
// one; what it leads to decides which permissions are asked. It is then opened
// below an os.Root and compared with what was resolved, so that a link that is
// put there in between makes the call fail instead of reaching another file.
type fsys struct {
	dir   string // resolved
	root  *os.Root
	spill string // resolved; "" if there is none
	names nameRules
}

var (
	errMoved = errors.New("it came to mean another file while the call ran; try again")
	errLinks = errors.New("too many symbolic links, probably a loop")
)

func openFS(dir, spill string, secrets, protected []string) (*fsys, error) {
	if dir == "" {
		return nil, errors.New("builtin: Config.Root is empty")
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("builtin: root: %w", err)
	}
	if abs, err = filepath.EvalSymlinks(abs); err != nil {
		return nil, fmt.Errorf("builtin: root: %w", err)
	}
	f := &fsys{dir: abs}
	if f.names, err = newNameRules(secrets, protected); err != nil {
		return nil, err
	}
	if spill != "" {
		if f.spill, err = filepath.Abs(spill); err != nil {
			return nil, fmt.Errorf("builtin: spill directory: %w", err)
		}
		if real, err := filepath.EvalSymlinks(f.spill); err == nil {
			f.spill = real
		}
	}
	if f.root, err = os.OpenRoot(abs); err != nil {
		return nil, fmt.Errorf("builtin: root: %w", err)
	}
	return f, nil
}

func (f *fsys) close() error { return f.root.Close() }

// anchor opens the nearest existing directory above l (or l itself, if it is a
// directory) as an os.Root and returns l's name in it.
func (f *fsys) anchor(l location) (root *os.Root, rel string, done func(), err error) {
	if l.inside {
		rel, err := filepath.Rel(f.dir, l.abs)
		return f.root, rel, func() {}, err
	}
	dir := l.scope()
	for {
		info, err := os.Lstat(dir)
		if err == nil && info.IsDir() {
			break
		}
		if parent := filepath.Dir(dir); parent != dir && errors.Is(err, fs.ErrNotExist) {
			dir = parent
			continue
		}
		return nil, "", nil, fmt.Errorf("%s: %w", l.given, errMoved)
	}
	if root, err = os.OpenRoot(dir); err != nil {
		return nil, "", nil, plainError(err)
	}
	rel, err = filepath.Rel(dir, l.abs)
	if err != nil {
		root.Close()
		return nil, "", nil, err
	}
	return root, rel, func() { root.Close() }, nil
}

// checkKind refuses what cannot be read like a file.
func checkKind(name string, mode fs.FileMode) error {
	kind := ""
	switch {
	case mode.IsRegular(), mode.IsDir():
		return nil
	case mode&fs.ModeNamedPipe != 0:
		kind = "a named pipe (FIFO)"
	case mode&fs.ModeSocket != 0:
		kind = "a socket"
	case mode&fs.ModeDevice != 0:
		kind = "a device"
	default:
		kind = "not a regular file"
	}
	return fmt.Errorf("%s is %s; only regular files and directories can be opened", name, kind)
}

// openTries is how often a file that is being replaced by another program is opened anew.
const openTries = 4

// open opens a file or directory for reading. The file may have been replaced
// since it was resolved, but only at the same place.
func (f *fsys) open(l location) (*os.File, fs.FileInfo, error) {
	for range openTries {
		if !l.exists() {
			return nil, nil, fmt.Errorf("%s: %w", l.given, fs.ErrNotExist)
		}
		if err := checkKind(l.given, l.info.Mode()); err != nil {
			return nil, nil, err
		}
		file, info, err := f.openOnce(l)
		if err != nil {
			return nil, nil, err
		}
		now, err := f.resolve(l.abs)
		if err == nil && now.abs == l.abs && now.exists() && os.SameFile(now.info, info) {
			return file, info, nil
		}
		file.Close()
		if err != nil || now.abs != l.abs {
			break
		}
		l.info = now.info
	}
	return nil, nil, fmt.Errorf("%s: %w", l.given, errMoved)
}

func (f *fsys) openOnce(l location) (*os.File, fs.FileInfo, error) {
	root, rel, done, err := f.anchor(l)
	if err != nil {
		return nil, nil, err
	}
	defer done()
	file, info, err := openIn(root, rel)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", l.given, plainError(err))
	}
	return file, info, nil
}

// openIn opens name below root without waiting for a writer at a pipe.
func openIn(root *os.Root, name string) (*os.File, fs.FileInfo, error) {
	file, err := root.OpenFile(name, os.O_RDONLY|openFlags, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := file.Stat()
	if err == nil {
		err = checkKind(name, info.Mode())
	}
	if err != nil {
		file.Close()
		return nil, nil, err
	}
	return file, info, nil
}

// readFile returns the whole content of a regular file of at most limit bytes.
func (f *fsys) readFile(ctx context.Context, l location, limit int64) ([]byte, fs.FileInfo, error) {
	file, info, err := f.open(l)
	if err != nil {
		return nil, nil, err
	}
	defer file.Close()
	if info.IsDir() {
		return nil, nil, fmt.Errorf("%s is a directory", l.given)
	}
	if info.Size() > limit {
		return nil, nil, tooLarge(l.given, info.Size(), limit)
	}
	data, err := io.ReadAll(io.LimitReader(&ctxReader{ctx, file}, limit+1))
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", l.given, plainError(err))
	}
	if int64(len(data)) > limit {
		return nil, nil, tooLarge(l.given, int64(len(data)), limit)
	}
	return data, info, nil
}

func tooLarge(name string, size, limit int64) error {
	return fmt.Errorf("%s has %d bytes, more than the %d that can be changed here; use bash", name, size, limit)
}

// ctxReader ends with its context, between two reads.
type ctxReader struct {
	ctx context.Context
	r   io.Reader
}

func (r *ctxReader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.r.Read(p)
}

// entries returns what is in a directory, sorted by name.
func (f *fsys) entries(l location) ([]fs.DirEntry, error) {
	t, err := f.tree(l)
	if err != nil {
		return nil, err
	}
	defer t.close()
	return t.entries(".")
}

// tree opens the directory l for a walk.
func (f *fsys) tree(l location) (*tree, error) {
	if !l.isDir() {
		return nil, fmt.Errorf("%s is not a directory", l.given)
	}
	root, rel, done, err := f.anchor(l)
	if err != nil {
		return nil, err
	}
	defer done()
	sub, err := root.OpenRoot(rel)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", l.given, plainError(err))
	}
	info, err := sub.Stat(".")
	now, rerr := f.resolve(l.abs)
	if err != nil || rerr != nil || now.abs != l.abs || !os.SameFile(info, l.info) {
		sub.Close()
		return nil, fmt.Errorf("%s: %w", l.given, errMoved)
	}
	return &tree{sub}, nil
}

// tree is an open directory. Names are relative to it, and nothing outside of it
// can be reached.
type tree struct{ root *os.Root }

func (t *tree) close() { t.root.Close() }

// open opens a regular file; links in the tree that lead out of it fail.
func (t *tree) open(name string) (*os.File, fs.FileInfo, error) {
	return openIn(t.root, filepath.FromSlash(name))
}

// entries returns what is in the directory name, sorted.
func (t *tree) entries(name string) ([]fs.DirEntry, error) {
	d, info, err := t.open(name)
	if err != nil {
		return nil, plainError(err)
	}
	defer d.Close()
	if !info.IsDir() {
		return nil, fmt.Errorf("%s is not a directory", name)
	}
	list, err := d.ReadDir(-1)
	sortEntries(list)
	return list, err
}

// tempSuffix ends the names of files that are being written; searches skip them.
const tempSuffix = ".writing~"

// write gives the file at l the content data. A file that exists keeps its mode
// and everything else there is to it; directories above a new one are made. It
// is replaced in one step where nothing is lost by that, else written in place.
func (f *fsys) write(l location, data []byte) error {
	root, rel, done, err := f.anchor(l)
	if err != nil {
		return err
	}
	defer done()
	if l.exists() {
		err = f.overwrite(root, rel, l, data)
	} else {
		err = f.create(root, rel, l, data)
	}
	if err != nil {
		return fmt.Errorf("%s was not written: %w", l.given, plainError(err))
	}
	return nil
}

func (f *fsys) create(root *os.Root, rel string, l location, data []byte) error {
	if dir := filepath.Dir(rel); dir != "." {
		if _, err := root.Lstat(dir); l.dangling && err != nil {
			return errors.New("the link leads to a directory that does not exist")
		}
		if err := root.MkdirAll(dir, 0o777); err != nil {
			return err
		}
	}
	file, err := root.OpenFile(rel, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	if err := fill(file, data); err != nil {
		root.Remove(rel)
		return err
	}
	return nil
}

func (f *fsys) overwrite(root *os.Root, rel string, l location, data []byte) error {
	info, err := root.Lstat(rel)
	if err != nil {
		return err
	}
	if !os.SameFile(info, l.info) || !info.Mode().IsRegular() {
		return errMoved
	}
	if info.Mode().Perm()&0o200 == 0 {
		return errors.New("it is read-only; change its mode first if that is wanted")
	}
	if replaceable(root, rel, info) {
		temp := filepath.Join(filepath.Dir(rel), "."+rand.Text()+tempSuffix)
		file, err := root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err == nil {
			if err = fill(file, data); err == nil {
				err = root.Chmod(temp, info.Mode().Perm())
			}
			if err == nil {
				err = root.Rename(temp, rel)
			}
			if err != nil {
				root.Remove(temp)
			}
			return err
		}
		if !errors.Is(err, fs.ErrPermission) {
			return err
		}
	}
	return inPlace(root, rel, info, data)
}

// inPlace writes over the file's content and puts the old one back if that fails.
func inPlace(root *os.Root, rel string, info fs.FileInfo, data []byte) error {
	file, err := root.OpenFile(rel, os.O_RDWR|openFlags, 0)
	if err != nil {
		return err
	}
	defer file.Close()
	if now, err := file.Stat(); err != nil || !os.SameFile(now, info) {
		return errMoved
	}
	old, err := io.ReadAll(file)
	if err != nil {
		return err
	}
	put := func(b []byte) error {
		_, err := file.WriteAt(b, 0)
		if err == nil {
			err = file.Truncate(int64(len(b)))
		}
		if err == nil {
			err = file.Sync()
		}
		return err
	}
	if err := put(data); err != nil {
		if back := put(old); back != nil {
			return fmt.Errorf("%w, and its old content could not be put back: %w", err, back)
		}
		return err
	}
	return nil
}

// fill writes data to a new file and closes it.
func fill(file *os.File, data []byte) error {
	_, err := file.Write(data)
	if err == nil {
		err = file.Sync()
	}
	return errors.Join(err, file.Close())
}

// plainError drops the operation and the path from an error of the os package:
// the message names the file already, as the model knows it.
func plainError(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	var le *os.LinkError
	if errors.As(err, &le) {
		return le.Err
	}
	return err
}
