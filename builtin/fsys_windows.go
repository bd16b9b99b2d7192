package builtin

import (
	"io/fs"
	"os"
)

// openFlags: named pipes are not found below a directory on Windows.
const openFlags = 0

// replaceable says no: a new file would not have the access list of the old one.
func replaceable(*os.Root, string, fs.FileInfo) bool { return false }
