package proc

import (
	"bytes"
	"errors"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// waitExit returns when the leader has ended. It stays a zombie, so that its id
// remains its own.
func (g *group) waitExit() {
	// A descriptor for the process waits in the poller. Without it each
	// command would hold a thread.
	if fd, err := unix.PidfdOpen(g.pid, unix.PIDFD_NONBLOCK); err == nil {
		f := os.NewFile(uintptr(fd), "pidfd")
		defer f.Close()
		if c, err := f.SyscallConn(); err == nil {
			err = c.Read(func(uintptr) bool { return g.ended(unix.WNOHANG) })
			if err == nil {
				return
			}
		}
	}
	for !g.ended(0) {
	}
}

// ended reports whether the leader has ended, and notes how.
func (g *group) ended(flags int) bool {
	var info unix.Siginfo
	err := unix.Waitid(unix.P_PID, g.pid, &info, unix.WEXITED|unix.WNOWAIT|flags, nil)
	switch {
	case errors.Is(err, unix.EINTR):
		return false
	case err != nil:
		// There is no such child any more: the host waits for children that are
		// not its own. From now on the id may be another's.
		g.mu.Lock()
		g.reaped = true
		g.mu.Unlock()
		return true
	case info.Signo == 0:
		return false
	}
	// The fields of siginfo_t for SIGCHLD, which Siginfo does not name: pid,
	// uid, status. They follow three ints, aligned as a pointer.
	fields := (3*4 + unsafe.Sizeof(uintptr(0)) - 1) &^ (unsafe.Sizeof(uintptr(0)) - 1)
	status := *(*int32)(unsafe.Add(unsafe.Pointer(&info), fields+8))
	g.statusTold = true
	const exitedCode = 1 // CLD_EXITED; else it was killed
	if info.Code == exitedCode {
		g.status = syscall.WaitStatus(status&0xff) << 8
	} else {
		g.status = syscall.WaitStatus(status & 0x7f)
	}
	return true
}

// stat is what /proc/PID/stat says.
type stat struct {
	state         byte
	pgrp, session int
	start         uint64
}

func readStat(pid int) (s stat, ok bool) {
	var buf [512]byte
	b := readProc(pid, "stat", buf[:])
	// The name, in parentheses, may have blanks and parentheses itself.
	i := bytes.LastIndexByte(b, ')')
	if i < 0 {
		return s, false
	}
	b = b[i+1:]
	for field := 3; len(b) > 0; field++ {
		b = bytes.TrimLeft(b, " ")
		end := bytes.IndexByte(b, ' ')
		if end < 0 {
			end = len(b)
		}
		f := b[:end]
		b = b[end:]
		switch field {
		case 3:
			if len(f) != 1 {
				return s, false
			}
			s.state = f[0]
		case 5:
			s.pgrp = int(number(f))
		case 6:
			s.session = int(number(f))
		case 22:
			s.start = number(f)
			return s, true
		}
	}
	return s, false
}

// number parses digits; these files have no others where it is used.
func number(b []byte) (n uint64) {
	for _, d := range b {
		if d < '0' || d > '9' {
			return 0
		}
		n = 10*n + uint64(d-'0')
	}
	return n
}

// readProc reads the beginning of a file of /proc/PID into buf. All processes of
// the system are gone through in this way, so it makes no more system calls than
// it must.
func readProc(pid int, name string, buf []byte) []byte {
	var path [40]byte
	p := append(strconv.AppendInt(append(path[:0], "/proc/"...), int64(pid), 10), '/')
	fd, err := unix.Open(string(append(p, name...)), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	defer unix.Close(fd)
	n := 0
	for n < len(buf) {
		m, err := unix.Read(fd, buf[n:])
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil || m <= 0 {
			break
		}
		n += m
		if name == "stat" {
			break // it comes in one piece
		}
	}
	return buf[:n]
}

// alive reports whether the state is that of a process that still does
// something: kill with signal 0 succeeds on zombies too, which may wait long for
// a slow init.
func (s stat) alive() bool { return s.state != 'Z' && s.state != 'X' && s.state != 'x' }

func bornAt(pid int) uint64 {
	s, _ := readStat(pid)
	return s.start
}

// members returns the live processes of g. known is false if the system does
// not show processes. A quick look saves the listing of all processes where the
// ids that were given out since the start are few; it can miss some in a system
// that starts tens of thousands of processes within seconds.
func (g *group) members(quick bool) (found []Member, known bool) {
	pids, known := g.candidates(quick)
	var env []byte
	for _, pid := range pids {
		s, ok := readStat(pid)
		if !ok || !s.alive() || s.start < g.born || !mayHit(pid) {
			continue
		}
		if s.session != g.pid {
			if env == nil {
				env = make([]byte, maxEnviron)
			}
			if !bytes.Contains(readProc(pid, "environ", env), []byte(g.id)) {
				continue
			}
		}
		found = append(found, Member{PID: pid, pgrp: s.pgrp, start: s.start, Command: commandLine(pid)})
	}
	return found, known
}

// maxEnviron is how much of an environment is searched for the mark, which
// stands near the end of those that we make.
const maxEnviron = 256 << 10

// quickRange is up to how many ids a quick look goes through.
const quickRange = 64

func (g *group) candidates(quick bool) (pids []int, known bool) {
	if quick && time.Since(g.started) < 5*time.Second {
		if last := lastPID(); last >= g.pid && last-g.pid <= quickRange {
			for pid := g.pid; pid <= last; pid++ {
				pids = append(pids, pid)
			}
			return pids, true
		}
	}
	d, err := os.Open("/proc")
	if err != nil {
		return nil, false
	}
	defer d.Close()
	names, _ := d.Readdirnames(-1)
	for _, n := range names {
		if pid, err := strconv.Atoi(n); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids, len(pids) > 0
}

// lastPID returns the id that was given out last, 0 if that is not known.
func lastPID() int {
	b, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return 0
	}
	f := strings.Fields(string(b))
	if len(f) < 5 {
		return 0
	}
	pid, _ := strconv.Atoi(f[4])
	return pid
}

func commandLine(pid int) string {
	var buf [512]byte
	b := readProc(pid, "cmdline", buf[:])
	if len(b) == 0 {
		b = readProc(pid, "comm", buf[:])
	}
	return shownCommand(b)
}

// signalMember sends sig to m unless it is gone and its id another's.
func signalMember(m Member, sig syscall.Signal) {
	if !mayHit(m.PID) {
		return
	}
	fd, err := unix.PidfdOpen(m.PID, 0)
	if err == nil {
		defer unix.Close(fd)
	}
	if s, ok := readStat(m.PID); !ok || s.start != m.start {
		return
	}
	if err == nil {
		_ = unix.PidfdSendSignal(fd, sig, nil, 0)
	} else if !errors.Is(err, unix.ESRCH) {
		_ = syscall.Kill(m.PID, sig)
	}
}

func signalName(sig syscall.Signal) string {
	if n := unix.SignalName(sig); n != "" {
		return n
	}
	return "signal " + strconv.Itoa(int(sig))
}

// growPipe makes the pipe larger, so that a fast writer waits less often for us.
func growPipe(f *os.File) {
	if c, err := f.SyscallConn(); err == nil {
		_ = c.Control(func(fd uintptr) { _, _ = unix.FcntlInt(fd, unix.F_SETPIPE_SZ, 256<<10) })
	}
}

// unread returns how many bytes wait in the pipe.
func unread(f *os.File) (n int) {
	if c, err := f.SyscallConn(); err == nil {
		_ = c.Control(func(fd uintptr) { n, _ = unix.IoctlGetInt(int(fd), unix.TIOCINQ) })
	}
	return n
}
