package builtin

import (
	"os"

	"golang.org/x/sys/unix"
)

// hasAttributes reports whether the file has extended attributes, such as an
// ACL, that a new file would not have.
func hasAttributes(file *os.File) bool {
	n, err := unix.Flistxattr(int(file.Fd()), nil)
	return err == nil && n > 0
}
