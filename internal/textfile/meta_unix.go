//go:build unix

package textfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

func isTextBusy(err error) bool   { return errors.Is(err, syscall.ETXTBSY) }
func isReadOnlyFS(err error) bool { return errors.Is(err, syscall.EROFS) }
func isNoSpace(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// isPinned recognises the errors of renaming over a name that may not be given away although the file may be written.
func isPinned(err error) bool {
	return errors.Is(err, syscall.EBUSY) || errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EACCES) || errors.Is(err, syscall.EXDEV)
}

// mustStayInPlace says why a file cannot be replaced by a new one without loss, "" when it can as far as its description goes.
func mustStayInPlace(info fs.FileInfo) string {
	if StatOf(info).links > 1 {
		return "it has further hard links"
	}
	return ""
}

// copyOwnerAndMode gives f the owner and the permissions that info describes. The order matters: changing the owner clears
// bits of the mode. Set-user-id and set-group-id are left out, as the kernel does when somebody writes to such a file.
func copyOwnerAndMode(f *os.File, info fs.FileInfo) error {
	want := StatOf(info)
	now, err := f.Stat()
	if err != nil {
		return err
	}
	if have := StatOf(now); have.uid != want.uid || have.gid != want.gid {
		if err := f.Chown(int(want.uid), int(want.gid)); err != nil {
			return keepError("its owner", err)
		}
	}
	mode := info.Mode() & (fs.ModePerm | fs.ModeSticky)
	if err := f.Chmod(mode); err != nil {
		return keepError("its mode", err)
	}
	return nil
}

func keepError(what string, err error) error {
	return fmt.Errorf("%s %w (%v)", what, errKeep, err)
}
