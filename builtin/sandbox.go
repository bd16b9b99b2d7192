package builtin

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/agenttool/tool/internal/sandbox"
)

// Sandbox starts commands so that they cannot exceed a policy. Implementations
// fail rather than start one that is less confined than the policy asks for,
// unless it says BestEffort, and report what they enforced. They must not wait
// for the command, and must leave its standard streams and its session alone.
type Sandbox = sandbox.Sandbox

// SandboxPolicy is what a command may do; see [BashConfig.SandboxPolicy].
type SandboxPolicy = sandbox.Policy

// SandboxEnforced is what a [Sandbox] enforced.
type SandboxEnforced = sandbox.Enforced

// How much of the network a [SandboxPolicy] leaves.
const (
	NetworkAll  = sandbox.NetworkAll
	NetworkNone = sandbox.NetworkNone
)

// ErrNoSandbox is returned, wrapped, where a policy, or any, cannot be enforced.
var ErrNoSandbox = sandbox.ErrUnsupported

// DetectSandbox returns the best sandbox that works here: bubblewrap if it is
// installed and the system lets it, else Landlock on Linux, else nil.
func DetectSandbox(ctx context.Context) Sandbox { return sandbox.Detect(ctx) }

// Landlock returns the sandbox of the Linux kernel. It needs no privileges and no
// program; it cannot hide or protect parts of what it opens, nor cut off the
// network wholly.
func Landlock() (Sandbox, error) { return asSandbox(sandbox.NewLandlock()) }

// Bubblewrap returns the sandbox that the program bwrap makes, which is looked up
// if path is empty. What a command leaves running stays confined, and is dealt
// with as without a sandbox.
func Bubblewrap(ctx context.Context, path string) (Sandbox, error) {
	return asSandbox(sandbox.FindBubblewrap(ctx, path))
}

// asSandbox keeps a nil pointer from becoming a Sandbox that is not nil.
func asSandbox[S Sandbox](s S, err error) (Sandbox, error) {
	if err != nil {
		return nil, err
	}
	return s, nil
}

// sandboxPolicy is the policy for a command that writes the given files.
func (ts *Toolset) sandboxPolicy(writes []string) *SandboxPolicy {
	p := ts.cfg.Bash.SandboxPolicy
	p.Write = slices.Clone(p.Write)
	add := func(name string) {
		real, err := filepath.EvalSymlinks(name)
		if err == nil && !slices.Contains(p.Write, real) {
			p.Write = append(p.Write, real)
		}
	}
	add(ts.fsys.dir)
	add(os.TempDir())
	for _, w := range writes {
		if within(ts.fsys.dir, w) {
			continue
		}
		switch l, err := ts.fsys.resolve(w); {
		case err != nil: // it cannot be written at all
		case l.exists():
			add(l.abs)
		default:
			add(filepath.Dir(l.abs)) // where it would be made
		}
	}
	if p.Read != nil {
		p.Read = append(slices.Clone(p.Read), ts.fsys.dir)
	}
	return &p
}

// sandboxed starts a command in the sandbox and keeps what was enforced.
func (r *running) sandboxed(ctx context.Context, cmd *exec.Cmd) (err error) {
	r.enforced, err = r.ts.cfg.Bash.Sandbox.Start(ctx, cmd, r.ts.sandboxPolicy(r.writes))
	if err != nil {
		return fmt.Errorf("sandbox: %w", err)
	}
	return nil
}

// sandboxMeta is what a result tells of it.
func sandboxMeta(e *SandboxEnforced) map[string]any {
	return map[string]any{
		"method": e.Method, "read": e.Read, "write": e.Write, "protect": e.Protect, "hide": e.Hide, "network": e.Network,
		"gaps": append([]string{}, e.Gaps...),
	}
}
