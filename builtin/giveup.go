package builtin

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"
)

// ErrStuck is wrapped by the error of a call that ended while the file system had
// not answered, as on a network drive whose server is gone. What the call waited
// for stays behind; when it comes back, nothing more is changed.
var ErrStuck = errors.New("the file system does not answer")

// stuck counts the calls that were given up on and have not come back.
type stuck struct{ n atomic.Int32 }

const (
	maxStuck   = 64
	stuckGrace = 250 * time.Millisecond // for a call to notice that its context ended
	writeGrace = 2 * time.Second        // the same for one that is about to write
)

// patient names the tools whose calls wait for something else than files, and end
// by themselves.
func patient(name string) bool {
	switch name {
	case "read", "ls", "write", "edit", "multiedit", "apply_patch", "glob", "grep":
		return false
	}
	return true
}

// await calls f, and gives up on it when ctx has ended and f does not return: a
// system call cannot be interrupted. grace is asked then how long to wait.
func await[T any](ctx context.Context, s *stuck, grace func() time.Duration, f func() T) (T, error) {
	var none T
	if n := s.n.Load(); n >= maxStuck {
		return none, fmt.Errorf("%w: %d calls wait for it already; nothing was tried. Tell the user", ErrStuck, n)
	}
	type answer struct {
		v        T
		panicked any
		whole    bool
	}
	done := make(chan answer, 1)
	left := new(atomic.Bool) // set by whichever side is second
	go func() {
		var a answer
		defer func() {
			if !a.whole {
				a.panicked = recover()
			}
			if done <- a; left.Swap(true) {
				s.n.Add(-1)
			}
		}()
		a.v = f()
		a.whole = true
	}()
	take := func(a answer) (T, error) {
		if !a.whole {
			panic(a.panicked) // as if f had been called here
		}
		return a.v, nil
	}
	select {
	case a := <-done:
		return take(a)
	case <-ctx.Done():
	}
	timer := time.NewTimer(grace())
	defer timer.Stop()
	select {
	case a := <-done:
		return take(a)
	case <-timer.C:
	}
	s.n.Add(1)
	if left.Swap(true) {
		s.n.Add(-1)
	}
	return none, fmt.Errorf("%w, and the call ended (%w). Tell the user; look at the file before you try again", ErrStuck, context.Cause(ctx))
}
