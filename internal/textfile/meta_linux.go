package textfile

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/agenttool/tool/internal/fsroot"
)

// newLike creates the file that will replace src. Its properties are copied once the content is there.
func newLike(dir *fsroot.Dir, name string, _ *os.File) (*os.File, error) {
	return dir.Create(name, 0o600)
}

// copyMeta gives f everything that src has beside its content: owner, extended attributes with access lists, mode. An error
// that matches errKeep means that a new file would lack something.
func copyMeta(f, src *os.File, info fs.FileInfo) error {
	want, err := xattrs(src)
	if err != nil {
		return keepError("its extended attributes", err)
	}
	if err := copyOwner(f, info); err != nil {
		return err
	}
	have, err := xattrs(f)
	if err != nil {
		return keepError("its extended attributes", err)
	}
	for name, value := range want {
		if old, ok := have[name]; ok && bytes.Equal(old, value) {
			continue
		}
		if err := setXattr(f, name, value); err != nil {
			return keepError("its extended attribute "+name, err)
		}
	}
	for name := range have {
		if _, ok := want[name]; !ok {
			if err := removeXattr(f, name); err != nil {
				return keepError("the absence of the extended attribute "+name, err)
			}
		}
	}
	return copyMode(f, info)
}

// hasCapabilities reports whether running the file grants something that is lost with its content.
func hasCapabilities(f *os.File) bool {
	has := false
	_ = withFD(f, func(fd int) error {
		n, err := unix.Fgetxattr(fd, "security.capability", nil)
		has = err == nil && n > 0
		return nil
	})
	return has
}

func xattrs(f *os.File) (map[string][]byte, error) {
	var out map[string][]byte
	err := withFD(f, func(fd int) error {
		list, err := growing(func(buf []byte) (int, error) { return unix.Flistxattr(fd, buf) })
		if errors.Is(err, unix.ENOTSUP) {
			return nil
		}
		if err != nil {
			return err
		}
		names := strings.Split(strings.TrimSuffix(string(list), "\x00"), "\x00")
		out = make(map[string][]byte, len(names))
		for _, n := range slices.Compact(names) {
			switch n {
			case "", "security.capability", "security.ima", "security.evm": // belong to the content; writing takes them away
				continue
			}
			v, err := growing(func(buf []byte) (int, error) { return unix.Fgetxattr(fd, n, buf) })
			if err != nil {
				return err
			}
			out[n] = v
		}
		return nil
	})
	return out, err
}

// growing calls a function that fills a buffer until the buffer is large enough.
func growing(fill func([]byte) (int, error)) ([]byte, error) {
	for size := 256; ; size *= 4 {
		buf := make([]byte, size)
		n, err := fill(buf)
		if err == nil {
			return buf[:n], nil
		}
		if !errors.Is(err, unix.ERANGE) || size > 1<<20 {
			return nil, err
		}
	}
}

func setXattr(f *os.File, name string, value []byte) error {
	return withFD(f, func(fd int) error { return unix.Fsetxattr(fd, name, value, 0) })
}

func removeXattr(f *os.File, name string) error {
	return withFD(f, func(fd int) error { return unix.Fremovexattr(fd, name) })
}
