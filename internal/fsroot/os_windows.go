package fsroot

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/windows"
)

const (
	nonblock = 0
	noFollow = 0
)

func isNotDir(err error) bool {
	return errors.Is(err, windows.ERROR_DIRECTORY) || errors.Is(err, windows.STATUS_NOT_A_DIRECTORY)
}
func isLoop(err error) bool        { return errors.Is(err, windows.ERROR_CANT_RESOLVE_FILENAME) }
func isNameTooLong(err error) bool { return errors.Is(err, windows.ERROR_FILENAME_EXCED_RANGE) }
func isCross(err error) bool       { return errors.Is(err, windows.ERROR_NOT_SAME_DEVICE) }
func isNotExist(err error) bool    { return errors.Is(err, fs.ErrNotExist) }

// kernelDir is always false: Windows keeps devices out of the directory tree, and CheckName refuses their names.
func kernelDir(string) bool { return false }

func kernelFile(*os.File) bool { return false }
