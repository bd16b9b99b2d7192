package builtin

import (
	"os"
	"os/exec"
	"syscall"
)

// ownGroup keeps the host's Ctrl-C from the process.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP, HideWindow: true}
}

// termGroup ends the process: there is no way to ask one without a console.
func termGroup(cmd *exec.Cmd) { cmd.Process.Kill() }

// killGroup ends the process; its children are not known here.
func killGroup(cmd *exec.Cmd) { cmd.Process.Kill() }

// endSignal: processes do not end by signals on Windows.
func endSignal(*os.ProcessState) string { return "" }
