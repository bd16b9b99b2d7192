//go:build !unix

package search

import "os"

// Opening never waits here: there are no FIFOs in a directory.
const nonblock = 0

// identity is not available from a FileInfo; following links is bounded by depth.
func identity(os.FileInfo) (dev, ino uint64) { return 0, 0 }
