//go:build unix && !linux

package shellscan

import (
	"os"
	"os/exec"
	"syscall"
)

// harmless runs a command without rights when the tests have them, and in a process group that can be ended.
func harmless(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if os.Geteuid() == 0 {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: 65534, Gid: 65534}
	}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}

// sealed reports whether harmless keeps a command from everything outside of its directory: never here.
func sealed() bool { return false }
