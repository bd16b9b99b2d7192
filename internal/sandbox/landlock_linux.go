package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Landlock confines commands by the Linux kernel's Landlock, without privileges
// and without a helper: the thread that starts a command confines itself, and
// with it all that it starts, and is thrown away. Other threads are unaffected.
type Landlock struct{ abi int }

// NewLandlock returns the sandbox. The error is ErrUnsupported where the kernel
// has no Landlock, or it is switched off.
func NewLandlock() (*Landlock, error) {
	abi, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return nil, fmt.Errorf("%w: the kernel has no Landlock (%w)", ErrUnsupported, errno)
	}
	return &Landlock{abi: int(abi)}, nil
}

const (
	accessRead = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
	accessFile = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE |
		unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV // what a rule for a file may have
	accessDevices = unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK // through which root writes anywhere
)

// handled are the rights that this kernel knows about.
func (l *Landlock) handled() uint64 {
	const first = 1<<13 - 1 // all of the first version
	h := uint64(first)
	for abi, right := range map[int]uint64{2: unix.LANDLOCK_ACCESS_FS_REFER, 3: unix.LANDLOCK_ACCESS_FS_TRUNCATE, 5: unix.LANDLOCK_ACCESS_FS_IOCTL_DEV} {
		if l.abi >= abi {
			h |= right
		}
	}
	return h
}

// Start implements [Sandbox].
func (l *Landlock) Start(_ context.Context, cmd *exec.Cmd, p *Policy) (*Enforced, error) {
	e := &Enforced{
		Method: "landlock", Read: p.Read != nil, Write: l.abi >= 3, Network: p.Network == NetworkAll,
		Protect: len(p.Protect) == 0, Hide: len(p.Hide) == 0,
		Gaps: []string{"modes, owners and times of files outside can be changed", "sockets of programs outside can be connected to"},
	}
	if p.Network == NetworkNone {
		e.Gaps = append(e.Gaps, "the network can be used, other than by TCP")
		if l.abi < 4 {
			e.Gaps[len(e.Gaps)-1] = "the network can be used"
		}
	}
	if l.abi < 6 {
		e.Gaps = append(e.Gaps, "signals reach programs outside")
	}
	if l.abi < 3 {
		e.Gaps = append(e.Gaps, "files outside can be truncated")
	}
	if err := p.missing(e); err != nil {
		return nil, err
	}
	var err error
	onLastThread(func() {
		if err = l.restrict(p); err == nil {
			err = cmd.Start()
		}
	})
	if err != nil {
		return nil, err
	}
	return e, nil
}

// onLastThread runs f on a thread that runs nothing afterwards. That is not the
// main thread, which cannot end and stands for the process in /proc.
func onLastThread(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		if unix.Gettid() == os.Getpid() {
			onLastThread(f) // on another, as this one is taken
			runtime.UnlockOSThread()
			return
		}
		f() // never unlocked: the thread ends with this goroutine
	}()
	<-done
}

// restrict confines the calling thread for good.
func (l *Landlock) restrict(p *Policy) error {
	attr := unix.LandlockRulesetAttr{Handled_access_fs: l.handled()}
	size := uintptr(8) // older kernels refuse what they do not know
	if l.abi >= 4 {
		size = 16
		if p.Network == NetworkNone {
			attr.Handled_access_net = unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
		}
	}
	if l.abi >= 6 {
		size = 24
		attr.Scoped = unix.LANDLOCK_SCOPE_SIGNAL
		if p.Network == NetworkNone {
			attr.Scoped |= unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET
		}
	}
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), size, 0)
	if errno != 0 {
		return fmt.Errorf("landlock: making the rules: %w", errno)
	}
	rules := int(fd)
	defer unix.Close(rules)

	read := p.Read
	if read == nil {
		read = []string{"/"}
	}
	for _, r := range read {
		if err := l.allow(rules, r, accessRead); err != nil && !errors.Is(err, unix.ENOENT) {
			return err
		}
	}
	for _, w := range p.Write {
		if err := l.allow(rules, w, l.handled()&^(unix.LANDLOCK_ACCESS_FS_IOCTL_DEV|accessDevices)); err != nil {
			return err
		}
	}
	for _, dev := range []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"} {
		if err := l.allow(rules, dev, unix.LANDLOCK_ACCESS_FS_READ_FILE|unix.LANDLOCK_ACCESS_FS_WRITE_FILE|unix.LANDLOCK_ACCESS_FS_TRUNCATE); err != nil && !errors.Is(err, unix.ENOENT) {
			return err
		}
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("landlock: giving up privileges: %w", err)
	}
	if err := dropCaps(); err != nil {
		return fmt.Errorf("landlock: giving up capabilities: %w", err)
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(rules), 0, 0); errno != 0 {
		return fmt.Errorf("landlock: %w", errno)
	}
	return nil
}

// keptCaps are the capabilities that root keeps: those which are about files that it can reach and its own processes.
const keptCaps = 1<<unix.CAP_CHOWN | 1<<unix.CAP_DAC_OVERRIDE | 1<<unix.CAP_FOWNER | 1<<unix.CAP_FSETID | 1<<unix.CAP_KILL | 1<<unix.CAP_SETGID |
	1<<unix.CAP_SETUID | 1<<unix.CAP_NET_BIND_SERVICE

// dropCaps takes all other capabilities from the calling thread, for good, as it may gain no new ones: with them root could
// do without files what Landlock keeps it from doing with them.
func dropCaps() error {
	hdr := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&hdr, &data[0]); err != nil {
		return err
	}
	for i := range data {
		keep := uint32(0)
		if i == 0 {
			keep = keptCaps
		}
		data[i].Effective &= keep
		data[i].Permitted &= keep
		data[i].Inheritable &= keep
	}
	return unix.Capset(&hdr, &data[0])
}

// allow adds a rule for a path and all below it.
func (l *Landlock) allow(rules int, path string, access uint64) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("landlock: %s: %w", path, err)
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return fmt.Errorf("landlock: %s: %w", path, err)
	}
	access &= l.handled()
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		access &= accessFile
	}
	attr := unix.LandlockPathBeneathAttr{Allowed_access: access, Parent_fd: int32(fd)}
	if _, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(rules), unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&attr)), 0, 0, 0); errno != 0 {
		return fmt.Errorf("landlock: %s: %w", path, errno)
	}
	return nil
}
