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

// copyOwner gives f the owner and group that info describes. It comes before the mode, of which it clears bits.
func copyOwner(f *os.File, info fs.FileInfo) error {
	now, err := f.Stat()
	if err != nil {
		return err
	}
	have, want := StatOf(now), StatOf(info)
	if have.uid == want.uid && have.gid == want.gid {
		return nil
	}
	if err := f.Chown(int(want.uid), int(want.gid)); err != nil {
		return keepError("its owner", err)
	}
	return nil
}

// copyMode gives f the permissions that info describes, without set-user-id and set-group-id, which the kernel takes away too
// when an ordinary user writes to such a file.
func copyMode(f *os.File, info fs.FileInfo) error {
	if err := f.Chmod(info.Mode() & (fs.ModePerm | fs.ModeSticky)); err != nil {
		return keepError("its mode", err)
	}
	return nil
}

func keepError(what string, err error) error {
	return fmt.Errorf("%s %w (%v)", what, errKeep, err)
}
