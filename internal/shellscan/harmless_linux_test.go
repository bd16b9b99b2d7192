package shellscan

import (
	"net"
	"os"
	"os/exec"
	"sync"
	"syscall"
)

// harmless runs a command where it can do no harm: without rights when the tests have them, and, where the system lets it,
// with process ids of its own, so that no signal reaches anything else and nothing outlives it, and without a network.
func harmless(cmd *exec.Cmd) {
	cmd.SysProcAttr = confined(namespaces())
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}

// sealed reports whether no generated text can do harm: it has process ids of its own, no right to anything but what
// everybody may, and no network.
func sealed() bool { return namespaces()&syscall.CLONE_NEWPID != 0 && unprivileged() }

// unprivileged reports whether commands run as nobody.
func unprivileged() bool { return os.Geteuid() == 0 || os.Geteuid() == nobody }

const nobody = 65534

func confined(flags uintptr) *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Setpgid: true, Cloneflags: flags}
	switch {
	case os.Geteuid() == 0:
		attr.Credential = &syscall.Credential{Uid: nobody, Gid: nobody}
	case flags != 0:
		attr.Cloneflags |= syscall.CLONE_NEWUSER
		attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Geteuid(), HostID: os.Geteuid(), Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getegid(), HostID: os.Getegid(), Size: 1}}
	}
	return attr
}

// namespaces are those that commands can have here; 0 if there are none.
var namespaces = sync.OnceValue(func() uintptr {
	for _, flags := range []uintptr{syscall.CLONE_NEWPID | syscall.CLONE_NEWIPC | netns(), syscall.CLONE_NEWPID} {
		cmd := exec.Command("true")
		cmd.SysProcAttr = confined(flags)
		if cmd.Run() == nil {
			return flags
		}
	}
	return 0
})

// netns is the flag for a network of their own, unless there is none anyway.
func netns() uintptr {
	list, err := net.Interfaces()
	if err == nil {
		for _, i := range list {
			if i.Flags&net.FlagLoopback == 0 {
				return syscall.CLONE_NEWNET
			}
		}
	}
	return 0
}
