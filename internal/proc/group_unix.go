//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package proc

import (
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// group is a leader and all that it started: its session, and what left the
// session but carries the mark.
type group struct {
	cmd     *exec.Cmd
	pid     int // of the leader, its session and its process group
	id      string
	started time.Time
	born    uint64 // the leader's start as the system counts it; 0: unknown

	// How the leader ended, set by waitExit if the system tells without reaping.
	status     syscall.WaitStatus
	statusTold bool

	mu     sync.Mutex
	leads  bool // the process group is the leader's own
	reaped bool
}

// prepare gives cmd a session of its own. Without a controlling terminal
// programs that would ask there fail instead of waiting. There is no Pdeathsig:
// it follows the thread that started the process, and threads of Go come and go.
func prepare(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
}

func newGroup(cmd *exec.Cmd, id string, started time.Time) *group {
	g := &group{cmd: cmd, pid: cmd.Process.Pid, id: id, started: started}
	pgid, err := syscall.Getpgid(g.pid)
	g.leads = err == nil && pgid == g.pid && g.pid > 1 && pgid != syscall.Getpgrp()
	g.born = bornAt(g.pid)
	return g
}

// reap takes the exit status, once, and gives the leader's id free. It must not
// be called before the leader has ended.
func (g *group) reap() (*os.ProcessState, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.reaped = true
	err := g.cmd.Wait()
	return g.cmd.ProcessState, err
}

// peek returns how the leader ended while it is not reaped yet. It must not be
// called before waitExit returned.
func (g *group) peek() (exit int, signal string) {
	switch {
	case !g.statusTold:
		return -1, ""
	case g.status.Signaled():
		return -1, signalName(g.status.Signal())
	}
	return g.status.ExitStatus(), ""
}

// signal sends sig to the process group and to those members that are not in
// it. Once the leader is reaped its id may be another's, and nothing is sent by it.
func (g *group) signal(sig syscall.Signal, members []Member) {
	g.mu.Lock()
	if !g.reaped {
		switch {
		case g.leads:
			_ = syscall.Kill(-g.pid, sig)
		case g.pid > 1:
			_ = syscall.Kill(g.pid, sig)
		}
	}
	g.mu.Unlock()
	for _, m := range members {
		if m.PID != g.pid && (m.pgrp != g.pid || !g.leads) {
			signalMember(m, sig)
		}
	}
}

// terminate asks the members to end. A stopped process must go on to hear that.
func (g *group) terminate(members []Member) {
	g.signal(syscall.SIGTERM, members)
	g.signal(syscall.SIGCONT, members)
}

func (g *group) killAll(members []Member) { g.signal(syscall.SIGKILL, members) }

// mayHit reports whether pid is one that may ever be sent a signal by its number alone.
func mayHit(pid int) bool { return pid > 1 && pid != os.Getpid() }

func (g *group) close() {}

// exitSignal returns the name of the signal that ended the process, "" if none did.
func exitSignal(ps *os.ProcessState) string {
	ws, ok := ps.Sys().(syscall.WaitStatus)
	if !ok || !ws.Signaled() {
		return ""
	}
	return signalName(ws.Signal())
}
