package fsroot

import (
	"io/fs"
	"os"
	"path/filepath"
)

// This file alone calls the functions of package os that take a path. The first four only look; openTree is the one way in
// to a directory, and everything else happens through the os.Root that it returns.

func lstatPath(path string) (fs.FileInfo, error) { return os.Lstat(path) }
func statPath(path string) (fs.FileInfo, error)  { return os.Stat(path) }
func readLink(path string) (string, error)       { return os.Readlink(path) }
func absolute(path string) (string, error)       { return filepath.Abs(path) }
func openTree(path string) (*os.Root, error)     { return os.OpenRoot(path) }
func sameFile(a, b fs.FileInfo) bool             { return a != nil && b != nil && os.SameFile(a, b) }
