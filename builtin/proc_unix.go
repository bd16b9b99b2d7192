//go:build unix

package builtin

import (
	"os"
	"os/exec"
	"syscall"
)

// ownGroup makes the process the leader of a session of its own: no terminal to
// ask on, and one group to end.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

func termGroup(cmd *exec.Cmd) { signalGroup(cmd, syscall.SIGTERM) }
func killGroup(cmd *exec.Cmd) { signalGroup(cmd, syscall.SIGKILL) }

// signalGroup signals the group; that it is gone already is no error.
func signalGroup(cmd *exec.Cmd, sig syscall.Signal) {
	if pid := cmd.Process.Pid; pid > 1 {
		syscall.Kill(-pid, sig)
	}
}

// endSignal names the signal that ended the process.
func endSignal(s *os.ProcessState) string {
	if ws, ok := s.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return ws.Signal().String()
	}
	return ""
}
