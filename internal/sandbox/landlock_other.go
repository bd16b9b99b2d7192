//go:build !linux

package sandbox

import (
	"context"
	"fmt"
	"os/exec"
)

// Landlock is there on Linux only.
type Landlock struct{}

// NewLandlock fails with ErrUnsupported.
func NewLandlock() (*Landlock, error) {
	return nil, fmt.Errorf("%w: Landlock is a part of Linux", ErrUnsupported)
}

// Start fails with ErrUnsupported.
func (*Landlock) Start(context.Context, *exec.Cmd, *Policy) (*Enforced, error) {
	_, err := NewLandlock()
	return nil, err
}
