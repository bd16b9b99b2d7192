package proc

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
)

// readsInput reports whether a member is blocked reading from in, or from a terminal.
func (g *group) readsInput(in *os.File) bool {
	pipe := ""
	if in != nil {
		if c, err := in.SyscallConn(); err == nil {
			_ = c.Control(func(fd uintptr) { pipe, _ = os.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd)) })
		}
	}
	members, _ := g.members(false)
	for _, m := range members {
		fd, ok := readingFrom(m.PID)
		if !ok {
			continue
		}
		link, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", m.PID, fd))
		if err != nil {
			continue
		}
		if link == pipe && pipe != "" || strings.HasPrefix(link, "/dev/tty") || strings.HasPrefix(link, "/dev/pts/") {
			return true
		}
	}
	return false
}

// readingFrom returns the descriptor in whose read the main thread of pid is blocked.
func readingFrom(pid int) (fd int, ok bool) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/syscall")
	if err != nil {
		return 0, false
	}
	f := strings.Fields(string(b)) // number, arguments in hexadecimal
	if len(f) < 2 || f[0] != readCall() {
		return 0, false
	}
	n, err := strconv.ParseInt(strings.TrimPrefix(f[1], "0x"), 16, 32)
	return int(n), err == nil
}

// readCall returns the number of the system call read.
func readCall() string {
	switch runtime.GOARCH {
	case "amd64":
		return "0"
	case "arm64", "riscv64", "loong64":
		return "63"
	}
	return "3"
}
