//go:build unix

package shellscan

import (
	"os/exec"
	"syscall"
)

// endGroup ends what a command left behind.
func endGroup(cmd *exec.Cmd) {
	if cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	}
}
