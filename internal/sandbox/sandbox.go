// Package sandbox starts commands that can do less than the user can. What a
// method cannot enforce it refuses, unless it was asked to do its best, and what
// it did enforce it reports.
//
// A sandbox is a boundary for programs, not for the machine: what a confined
// program may write, other programs may later run.
package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
)

// Network says how much of the network a command reaches.
type Network int

const (
	NetworkAll  Network = iota // as without a sandbox
	NetworkNone                // nothing
)

// Policy is what a command may do. All paths are absolute, with links resolved.
// The zero value lets a command read everything, write nothing but the null
// device, and use the network.
type Policy struct {
	Read    []string // files, and directories with all below, that may be read and run; nil: everything
	Write   []string // that may be changed as well; they must exist
	Protect []string // that may not be changed although they are below one of Write
	Hide    []string // that may not be read
	Network Network

	// BestEffort starts the command also if not all of this can be enforced.
	BestEffort bool
}

// Enforced is what was enforced of a policy.
type Enforced struct {
	Method  string   // "landlock", "bubblewrap"; "" for none
	Read    bool     // nothing but Policy.Read can be read
	Write   bool     // nothing but Policy.Write can be changed
	Protect bool     // nor anything of Policy.Protect
	Hide    bool     // nor can Policy.Hide be read
	Network bool     // the network is as the policy says
	Gaps    []string // what a confined command can do all the same, for people
}

// ErrUnsupported says that a policy, or any, cannot be enforced here.
var ErrUnsupported = errors.New("the sandbox cannot enforce this here")

// Sandbox starts commands under a policy. It is safe for concurrent use.
type Sandbox interface {
	// Start starts cmd, which it may change, so that it cannot exceed p. It does
	// not wait. If not all of p can be enforced, it fails with an error that is
	// ErrUnsupported, unless p says BestEffort. The standard streams of cmd, and
	// that it leads a session of its own, stay as they are.
	Start(ctx context.Context, cmd *exec.Cmd, p *Policy) (*Enforced, error)
}

// missing returns what of p is not in e.
func (p *Policy) missing(e *Enforced) error {
	var parts []string
	for _, c := range []struct {
		wanted, is bool
		what       string
	}{
		{true, e.Write, "what is written"},
		{p.Read != nil, e.Read, "what is read"},
		{len(p.Protect) > 0, e.Protect, "protected files"},
		{len(p.Hide) > 0, e.Hide, "hidden files"},
		{p.Network != NetworkAll, e.Network, "the network"},
	} {
		if c.wanted && !c.is {
			parts = append(parts, c.what)
		}
	}
	if len(parts) == 0 || p.BestEffort {
		return nil
	}
	return fmt.Errorf("%w: it has no hold over %s", ErrUnsupported, strings.Join(parts, ", "))
}

// Detect returns the best sandbox that works here, or nil. It may run a program
// to find out.
func Detect(ctx context.Context) Sandbox {
	if b, err := FindBubblewrap(ctx, ""); err == nil {
		return b
	}
	if l, err := NewLandlock(); err == nil {
		return l
	}
	return nil
}
