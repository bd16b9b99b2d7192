//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd || windows)

package proc

import (
	"os"
	"os/exec"
	"sync/atomic"
	"time"
)

// group knows only the leader on this system.
type group struct {
	cmd  *exec.Cmd
	pid  int
	wait error
}

func prepare(*exec.Cmd) {}

func newGroup(cmd *exec.Cmd, _ string, _ time.Time) *group {
	return &group{cmd: cmd, pid: cmd.Process.Pid}
}

func (g *group) waitExit()                        { g.wait = g.cmd.Wait() }
func (g *group) reap() (*os.ProcessState, error)  { return g.cmd.ProcessState, g.wait }
func (g *group) members(bool) ([]Member, bool)    { return nil, false }
func (g *group) terminate([]Member)               { _ = g.cmd.Process.Signal(os.Interrupt) }
func (g *group) killAll([]Member)                 { _ = g.cmd.Process.Kill() }
func (g *group) close()                           {}
func (g *group) peek() (exit int, signal string)  { return g.cmd.ProcessState.ExitCode(), "" }
func exitSignal(*os.ProcessState) (signal string) { return "" }
func growPipe(*os.File)                           {}
func unread(*os.File) int                         { return 0 }

// pipeReader cannot tell when bytes leave the pipe.
func pipeReader(f *os.File, _ *atomic.Bool) func([]byte) (int, error) { return f.Read }
