package fsroot

import (
	"io/fs"
	"os"
	"path/filepath"
)

// Open opens the file or directory for reading and returns its description, taken from the open file. Devices, pipes,
// sockets and kernel files are refused without waiting for anything. What was opened is compared with what the path
// resolves to now: [ErrChanged] means that it was replaced meanwhile, and that resolving again is the answer.
//
// Errors are *[PathError]: [ErrOutside], [ErrSpecial], [ErrChanged], [ErrRootGone], [fs.ErrNotExist] and
// [fs.ErrPermission] tell what happened.
func (r *Root) Open(p *Path) (*os.File, fs.FileInfo, error) {
	if !p.Exists && p.Inside {
		if _, err := r.handle(p); err != nil { // the root itself may be what is missing
			return nil, nil, err
		}
		return nil, nil, explain(p.Given, fs.ErrNotExist)
	}
	if p.Info != nil && !p.Info.IsDir() {
		d, err := r.Parent(p)
		if err != nil {
			return nil, nil, err
		}
		defer d.Close()
		return d.open(p, filepath.Base(p.rel))
	}
	h, err := r.handle(p)
	if err != nil {
		return nil, nil, err
	}
	r.step("open", p)
	f, err := h.OpenFile(p.rel, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, nil, explain(p.Given, err)
	}
	info, err := f.Stat()
	if err == nil && !info.IsDir() {
		err = changed(p)
	}
	if err == nil {
		err = r.same(p, h, p.rel, info)
	}
	if err != nil {
		_ = f.Close()
		return nil, nil, explain(p.Given, err)
	}
	return f, info, nil
}

// OpenRoot opens the directory as an os.Root of its own, for walking below it. The caller closes it.
func (r *Root) OpenRoot(p *Path) (*os.Root, error) {
	h, err := r.handle(p)
	if err != nil {
		return nil, err
	}
	r.step("open", p)
	sub, err := h.OpenRoot(p.rel)
	if err != nil {
		return nil, explain(p.Given, err)
	}
	info, err := sub.Stat(".")
	if err == nil {
		err = r.same(p, h, p.rel, info)
	}
	if err != nil {
		_ = sub.Close()
		return nil, explain(p.Given, err)
	}
	return sub, nil
}

// handle returns the open directory that covers the path.
func (r *Root) handle(p *Path) (*os.Root, error) {
	if p.tree == nil {
		why := "outside the working directory and not granted"
		if p.Kernel {
			return nil, &PathError{Path: p.Given, Why: "kernel and device files are not opened unless exactly that file was granted", Err: ErrSpecial}
		}
		return nil, &PathError{Path: p.Given, Why: why, Err: ErrOutside}
	}
	return p.tree.root()
}

func (r *Root) step(stage string, p *Path) {
	if r.between != nil {
		r.between(stage, p)
	}
}

// same checks, after something was opened at rel, that no component of rel is a link and that rel still names what was
// opened. Links inside the root are harmless to os.Root, but they would reach a file other than the one judged.
func (r *Root) same(p *Path, h *os.Root, rel string, opened fs.FileInfo) error {
	for i := 0; i <= len(rel); i++ {
		if i < len(rel) && !isSeparator(rel[i]) {
			continue
		}
		fi, err := h.Lstat(rel[:i])
		if err != nil || fi.Mode()&fs.ModeSymlink != 0 {
			return changed(p)
		}
		if i == len(rel) && !sameFile(fi, opened) {
			return changed(p)
		}
	}
	return nil
}

func changed(p *Path) error {
	return &PathError{Path: p.Given, Why: "the file was replaced by another one meanwhile; read it again", Err: ErrChanged}
}

// CheckRegular returns nil for a regular file and otherwise an error that names what the file is. Nothing is opened.
func CheckRegular(path string, mode fs.FileMode) error {
	special := func(what string) error {
		return &PathError{Path: path, Why: what, Err: ErrSpecial}
	}
	switch {
	case mode.IsRegular():
		return nil
	case mode.IsDir():
		return &PathError{Path: path, Why: "is a directory", Err: ErrIsDir}
	case mode&fs.ModeSymlink != 0:
		return special("is a symbolic link, and following it was not asked for")
	case mode&fs.ModeNamedPipe != 0:
		return special("is a named pipe (FIFO); reading it would wait for a writer")
	case mode&fs.ModeSocket != 0:
		return special("is a socket, not a file")
	case mode&fs.ModeCharDevice != 0:
		return special("is a character device; reading it may never end")
	case mode&fs.ModeDevice != 0:
		return special("is a block device")
	}
	return special("is not a regular file")
}
