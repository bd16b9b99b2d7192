//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package proc

import (
	"errors"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// waitExit returns when the leader has ended. It stays a zombie, so that its id
// remains its own.
func (g *group) waitExit() {
	kq, err := unix.Kqueue()
	if err == nil {
		defer unix.Close(kq)
		change := make([]unix.Kevent_t, 1)
		unix.SetKevent(&change[0], g.pid, unix.EVFILT_PROC, unix.EV_ADD|unix.EV_ONESHOT)
		change[0].Fflags = noteExit
		events := make([]unix.Kevent_t, 1)
		for {
			n, err := unix.Kevent(kq, change, events, nil)
			if errors.Is(err, unix.EINTR) {
				continue
			}
			if err == nil && n > 0 && events[0].Flags&unix.EV_ERROR == 0 {
				if tellsStatus {
					g.status, g.statusTold = syscall.WaitStatus(events[0].Data), true
				}
				return
			}
			break // it has ended already, or there are no more descriptors
		}
	}
	for !leaderEnded(g.pid) {
		sleepPoll()
	}
}

func growPipe(*os.File) {}

const fionread = 0x4004667f // _IOR('f', 127, int), the same on all of these

// unread returns how many bytes wait in the pipe.
func unread(f *os.File) (n int) {
	if c, err := f.SyscallConn(); err == nil {
		_ = c.Control(func(fd uintptr) { n, _ = unix.IoctlGetInt(int(fd), fionread) })
	}
	return n
}

func signalName(sig syscall.Signal) string {
	if n := unix.SignalName(sig); n != "" {
		return n
	}
	return "signal " + strconv.Itoa(int(sig))
}
