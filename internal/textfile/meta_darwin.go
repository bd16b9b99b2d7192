package textfile

import (
	"io/fs"
	"os"

	"golang.org/x/sys/unix"

	"github.com/agenttool/tool/internal/fsroot"
)

// newLike clones src, which keeps extended attributes, access lists and flags that cannot be copied one by one, and empties
// the clone. A file system that cannot clone makes the caller write in place.
func newLike(dir *fsroot.Dir, name string, src *os.File) (*os.File, error) {
	d, err := dir.File()
	if err != nil {
		return nil, err
	}
	defer d.Close()
	err = withFD(src, func(from int) error {
		return withFD(d, func(to int) error { return unix.Fclonefileat(from, to, name, unix.CLONE_NOFOLLOW) })
	})
	if err != nil {
		return nil, keepError("its access list", err)
	}
	f, _, err := dir.OpenWrite(name)
	if err == nil {
		err = f.Truncate(0)
	}
	if err != nil {
		if f != nil {
			_ = f.Close()
		}
		_ = dir.Remove(name)
		return nil, keepError("its properties", err)
	}
	return f, nil
}

// copyMeta gives f the owner and mode of the file that it is a clone of.
func copyMeta(f, _ *os.File, info fs.FileInfo) error {
	if err := copyOwner(f, info); err != nil {
		return err
	}
	return copyMode(f, info)
}

// hasCapabilities: files have none here.
func hasCapabilities(*os.File) bool { return false }
