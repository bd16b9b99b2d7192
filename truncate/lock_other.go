//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package truncate

import (
	"io/fs"
	"os"
)

const openNoFollow = 0

// lockFile has nothing to do: on Windows a file that is open cannot be removed.
func lockFile(*os.File) bool { return true }

// Mode bits say nothing here; the directory's access list is its maker's.

func ownedByUs(fs.FileInfo) bool { return true }

func openToOthers(fs.FileInfo) bool { return false }
