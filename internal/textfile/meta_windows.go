package textfile

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/windows"

	"github.com/agenttool/tool/internal/fsroot"
)

func isTextBusy(error) bool       { return false }
func isReadOnlyFS(err error) bool { return errors.Is(err, windows.ERROR_WRITE_PROTECT) }
func isNoSpace(err error) bool {
	return errors.Is(err, windows.ERROR_DISK_FULL) || errors.Is(err, windows.ERROR_HANDLE_DISK_FULL)
}
func isPinned(err error) bool { return errors.Is(err, windows.ERROR_SHARING_VIOLATION) }

// mustStayInPlace always gives a reason: a new file would take its access list and streams from the directory.
func mustStayInPlace(fs.FileInfo) string { return "this keeps its access list and streams" }

func newLike(dir *fsroot.Dir, name string, _ *os.File) (*os.File, error) {
	return dir.Create(name, 0o600)
}

func copyMeta(*os.File, *os.File, fs.FileInfo) error { return nil }

// hasCapabilities: files have none here.
func hasCapabilities(*os.File) bool { return false }
