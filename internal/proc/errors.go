package proc

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"syscall"
)

// StartError says why a program could not be started, and what to do about it.
type StartError struct {
	Path string
	Err  error
}

func (e *StartError) Error() string {
	name := filepath.Base(e.Path)
	var errno syscall.Errno
	errors.As(e.Err, &errno)
	switch {
	case errno == errAgain:
		return fmt.Sprintf("cannot start %s: this user has as many processes as allowed. Wait for running commands or end some, then try again.", name)
	case errno == errNoMemory:
		return fmt.Sprintf("cannot start %s: the machine is out of memory. End something that is running, then try again.", name)
	case errno == errManyFiles || errno == errManyFilesSystem:
		return fmt.Sprintf("cannot start %s: too many open files. End running commands, then try again.", name)
	case errno == errTooBig:
		return fmt.Sprintf("cannot start %s: the command and its environment are too long for the system. Write the long part to a file and use that.", name)
	case errno == errNoExec:
		return fmt.Sprintf("cannot start %s: it is not a program for this machine, and has no #! line.", e.Path)
	case errors.Is(e.Err, fs.ErrNotExist):
		return fmt.Sprintf("cannot start %s: the file, or the interpreter that it names, does not exist.", e.Path)
	case errors.Is(e.Err, fs.ErrPermission):
		return fmt.Sprintf("cannot start %s: it may not be executed (permission denied).", e.Path)
	}
	return fmt.Sprintf("cannot start %s: %v", name, e.Err)
}

func (e *StartError) Unwrap() error { return e.Err }

// DirError says that the working directory does not exist.
type DirError struct {
	Dir     string
	Nearest string // the nearest parent that exists
}

func (e *DirError) Error() string {
	return fmt.Sprintf("the working directory %s does not exist; the nearest that does is %s.", e.Dir, e.Nearest)
}

// Unwrap makes errors.Is(err, fs.ErrNotExist) true.
func (e *DirError) Unwrap() error { return fs.ErrNotExist }

// passing reports whether a failure to start goes away by itself: a program
// that was just written may still be open for writing in a process that is
// being forked at the same time, and a full process table may get room.
func passing(err error) bool {
	return errors.Is(err, errTextBusy) || errors.Is(err, errAgain)
}
