//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package proc

import (
	"errors"
	"io"
	"os"
	"sync/atomic"
	"syscall"
)

// pipeReader returns a function that reads from f and sets busy before it takes
// anything out; the caller clears it. While it waits busy is not set.
func pipeReader(f *os.File, busy *atomic.Bool) func([]byte) (int, error) {
	c, err := f.SyscallConn()
	if err != nil {
		return f.Read
	}
	return func(buf []byte) (n int, err error) {
		werr := c.Read(func(fd uintptr) bool {
			busy.Store(true)
			for {
				n, err = syscall.Read(int(fd), buf)
				if !errors.Is(err, syscall.EINTR) {
					break
				}
			}
			if errors.Is(err, syscall.EAGAIN) {
				busy.Store(false)
				return false
			}
			return true
		})
		switch {
		case werr != nil:
			return 0, werr
		case err != nil:
			return 0, err
		case n == 0:
			return 0, io.EOF
		}
		return n, nil
	}
}
