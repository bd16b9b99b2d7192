//go:build linux || darwin

package textfile

import "os"

// withFD calls fn with the descriptor of f, which stays open meanwhile.
func withFD(f *os.File, fn func(fd int) error) error {
	c, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var inner error
	if err := c.Control(func(fd uintptr) { inner = fn(int(fd)) }); err != nil {
		return err
	}
	return inner
}
