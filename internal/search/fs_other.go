//go:build !linux

package search

import (
	"errors"
	"os"
)

func newFS(root *os.Root) (filesystem, error) { return newRootFS(root), nil }

// Files are never bare descriptors here.

func readFD(int, []byte) (int, error) { return 0, errors.ErrUnsupported }
func statFD(int) (info, error)        { return info{}, errors.ErrUnsupported }
func closeFD(int)                     {}
