//go:build unix

package fsroot

import (
	"errors"
	"io/fs"
	"strings"
	"syscall"
)

// Opening with O_NONBLOCK returns at once where a pipe or a device would wait for a partner; it changes nothing for regular
// files.
const (
	nonblock = syscall.O_NONBLOCK
	noFollow = syscall.O_NOFOLLOW
)

func isNotDir(err error) bool      { return errors.Is(err, syscall.ENOTDIR) }
func isLoop(err error) bool        { return errors.Is(err, syscall.ELOOP) }
func isNameTooLong(err error) bool { return errors.Is(err, syscall.ENAMETOOLONG) }
func isCross(err error) bool       { return errors.Is(err, syscall.EXDEV) }
func isNotExist(err error) bool    { return errors.Is(err, fs.ErrNotExist) }

func inDir(path, dir string) bool {
	return path == dir || strings.HasPrefix(path, dir+"/")
}
