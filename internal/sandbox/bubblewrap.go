package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Bubblewrap runs commands in namespaces of their own by the program bwrap. It
// has a hold over everything a Policy has. What a command leaves running stays
// confined, and in the process group of the command.
type Bubblewrap struct {
	path string
	net  bool // whether the network can be cut off
}

// FindBubblewrap returns the sandbox that uses the bwrap at path, or, if that is
// empty, in PATH. The error is ErrUnsupported if it is not there or the system
// does not let it work.
func FindBubblewrap(ctx context.Context, path string) (*Bubblewrap, error) {
	if path == "" {
		path = "bwrap"
	}
	found, err := exec.LookPath(path)
	if err != nil || !filepath.IsAbs(found) {
		return nil, fmt.Errorf("%w: there is no %s", ErrUnsupported, path)
	}
	b := &Bubblewrap{path: found, net: true}
	err = b.try(ctx)
	if err != nil {
		b.net = false
		err = b.try(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnsupported, err)
	}
	return b, nil
}

// try runs nothing in the sandbox, to see whether it can be made.
func (b *Bubblewrap) try(ctx context.Context) error {
	p := &Policy{}
	if b.net {
		p.Network = NetworkNone
	}
	out, err := exec.CommandContext(ctx, b.path, append(b.args(p, "/"), "true")...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %s", b.path, bytes.TrimSpace(out[:min(len(out), 300)]))
	}
	return nil
}

// Start implements [Sandbox].
func (b *Bubblewrap) Start(_ context.Context, cmd *exec.Cmd, p *Policy) (*Enforced, error) {
	if cmd.Path == "" || !filepath.IsAbs(cmd.Path) {
		return nil, errors.New("sandbox: the program must be named by an absolute path")
	}
	e := &Enforced{Method: "bubblewrap", Read: true, Write: true, Protect: true, Hide: true, Network: p.Network == NetworkAll || b.net}
	if err := p.missing(e); err != nil {
		return nil, err
	}
	if p.Network == NetworkAll {
		e.Gaps = append(e.Gaps, "sockets of programs outside can be connected to")
	}
	dir := cmd.Dir
	if dir == "" {
		var err error
		if dir, err = os.Getwd(); err != nil {
			return nil, err
		}
	}
	q := *p
	if !b.net {
		q.Network = NetworkAll
	}
	args := append(b.args(&q, dir), cmd.Path)
	cmd.Args = append(append([]string{b.path}, args...), cmd.Args[min(1, len(cmd.Args)):]...)
	cmd.Path = b.path
	return e, cmd.Start()
}

// rootCaps are the capabilities that root keeps: those which are about files that it can reach and its own processes.
var rootCaps = []string{"CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_FOWNER", "CAP_FSETID", "CAP_KILL", "CAP_SETGID", "CAP_SETUID", "CAP_NET_BIND_SERVICE"}

// args are those of bwrap, up to the program. Later binds lie over earlier ones.
func (b *Bubblewrap) args(p *Policy, dir string) []string {
	var args []string
	if p.Read == nil {
		args = append(args, "--ro-bind", "/", "/")
	}
	for _, r := range p.Read {
		args = append(args, "--ro-bind-try", r, r)
	}
	args = append(args, "--dev", "/dev", "--proc", "/proc", "--unshare-user-try", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--cap-drop", "ALL")
	if os.Geteuid() == 0 { // which bwrap leaves everything, also the right to undo what it did
		for _, c := range rootCaps {
			args = append(args, "--cap-add", c)
		}
	}
	for _, f := range []string{"/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus", "/proc/fs"} { // root's by their owner alone
		args = append(args, "--ro-bind-try", f, f)
	}
	for _, w := range p.Write {
		args = append(args, "--bind", w, w)
	}
	for _, f := range p.Protect {
		args = append(args, protect(f)...)
	}
	for _, h := range p.Hide {
		if fi, err := os.Stat(h); err == nil && fi.IsDir() {
			args = append(args, "--tmpfs", h)
		} else if err == nil {
			args = append(args, "--ro-bind", "/dev/null", h)
		}
	}
	if p.Network == NetworkNone {
		args = append(args, "--unshare-net")
	}
	return append(args, "--chdir", dir, "--")
}

// protect makes a path read only. One that does not exist cannot be bound, but
// must not be made either: then the nearest directory above it is read only.
func protect(f string) []string {
	for {
		if _, err := os.Lstat(f); err == nil {
			return []string{"--ro-bind", f, f}
		}
		up := filepath.Dir(f)
		if up == f {
			return nil
		}
		f = up
	}
}
