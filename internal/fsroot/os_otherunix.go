//go:build unix && !linux

package fsroot

import "os"

// kernelDir reports whether path is among the devices.
func kernelDir(path string) bool { return inDir(path, "/dev") || inDir(path, "/proc") }

func kernelFile(*os.File) bool { return false }
