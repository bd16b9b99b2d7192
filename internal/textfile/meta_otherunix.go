//go:build unix && !linux && !darwin

package textfile

import (
	"errors"
	"io/fs"
	"os"

	"github.com/agenttool/tool/internal/fsroot"
)

// newLike always fails: extended attributes and access lists are not copied on this system, so existing files are written in
// place.
func newLike(*fsroot.Dir, string, *os.File) (*os.File, error) {
	return nil, keepError("its access list", errors.ErrUnsupported)
}

func copyMeta(f, _ *os.File, info fs.FileInfo) error {
	if err := copyOwner(f, info); err != nil {
		return err
	}
	return copyMode(f, info)
}

// hasCapabilities: files have none here.
func hasCapabilities(*os.File) bool { return false }
