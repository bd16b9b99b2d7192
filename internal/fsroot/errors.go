package fsroot

import (
	"errors"
	"fmt"
	"io/fs"
)

// Errors that callers test for with errors.Is. A name that does not exist is reported as [fs.ErrNotExist], one that may not
// be reached as [fs.ErrPermission].
var (
	// ErrBadPath: the name is refused as text, before the file system is asked.
	ErrBadPath = errors.New("unusable path")
	// ErrOutside: the name leads outside every granted directory.
	ErrOutside = errors.New("outside the granted directories")
	// ErrSpecial: the name is a device, pipe, socket or kernel file.
	ErrSpecial = errors.New("not a regular file")
	// ErrNotDir: a file stands where a directory is needed.
	ErrNotDir = errors.New("not a directory")
	// ErrIsDir: a directory stands where a file is needed.
	ErrIsDir = errors.New("is a directory")
	// ErrLinks: more than 40 links, usually a loop.
	ErrLinks = errors.New("too many symbolic links")
	// ErrChanged: between resolving and using it the name came to mean another file.
	ErrChanged = errors.New("path changed meanwhile")
	// ErrRootGone: the granted directory itself no longer exists or has become something else.
	ErrRootGone = errors.New("root directory is gone")
	// ErrCross: a file cannot be moved there in one step, only copied.
	ErrCross = errors.New("different file systems or grants")
	// ErrClosed: the Root was closed.
	ErrClosed = errors.New("root is closed")
)

// A PathError says what is wrong with one path in words that a model can act on.
type PathError struct {
	Path string // as the caller wrote it
	Why  string // the sentence after the path
	Err  error  // one of the sentinels of this package or of io/fs
}

func (e *PathError) Error() string { return fmt.Sprintf("%s: %s", quote(e.Path), e.Why) }

// Unwrap returns the sentinel.
func (e *PathError) Unwrap() error { return e.Err }

func badPath(path, format string, args ...any) error {
	return &PathError{Path: path, Why: fmt.Sprintf(format, args...), Err: ErrBadPath}
}

// quote shows a path as it is when that is harmless, else as a Go string, and never more than a line of it.
func quote(path string) string {
	const most = 300
	if len(path) > most {
		return fmt.Sprintf("%q… (%d bytes)", path[:80], len(path))
	}
	q := fmt.Sprintf("%q", path)
	if path != "" && q == `"`+path+`"` {
		return path
	}
	return q
}

// explain turns an error of the operating system into a PathError, keeping the sentinel.
func explain(path string, err error) error {
	var pe *PathError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &pe):
		return err
	case errors.Is(err, fs.ErrNotExist):
		return &PathError{Path: path, Why: "no such file or directory", Err: fs.ErrNotExist}
	case isNotDir(err):
		return &PathError{Path: path, Why: "a file stands where a directory is needed", Err: ErrNotDir}
	case isLoop(err):
		return &PathError{Path: path, Why: "too many symbolic links; they may form a loop", Err: ErrLinks}
	case isNameTooLong(err):
		return &PathError{Path: path, Why: "the name is too long for this file system", Err: ErrBadPath}
	case isEscape(err):
		return &PathError{Path: path, Why: "the path now leads outside the granted directory; look at it again", Err: ErrChanged}
	case errors.Is(err, fs.ErrPermission):
		return &PathError{Path: path, Why: "permission denied by the operating system", Err: fs.ErrPermission}
	}
	return &PathError{Path: path, Why: reason(err), Err: err}
}

// reason is the innermost message, without the operation and the path that os puts before it.
func reason(err error) string {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err.Error()
	}
	return err.Error()
}

// isEscape recognises the error of os.Root for a name that leads out of it; package os does not export it.
func isEscape(err error) bool { return reason(err) == "path escapes from parent" }
