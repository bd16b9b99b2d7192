package builtin

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"
)

// hooks calls functions of the host's. Whatever such a function does, the call of
// the tool goes on: a panic is recovered, and one that does not return in time is
// left behind.
type hooks struct {
	limit time.Duration
	lost  atomic.Int32 // calls that were left behind and have not returned yet
}

const (
	maxLostHooks = 16
	hookGrace    = 50 * time.Millisecond // for a hook to return after its context ended
)

// hook calls f with a context that ends with ctx, and after the limit in any case.
// note is "" if f returned, else what became of it; v is zero then.
func hook[T any](ctx context.Context, h *hooks, f func(context.Context) T) (v T, note string) {
	if h.lost.Load() >= maxLostHooks {
		return v, "not called: earlier calls have not returned"
	}
	ctx, cancel := context.WithTimeout(ctx, h.limit)
	defer cancel()
	type answer struct {
		v    T
		note string
	}
	done := make(chan answer, 1)
	left := new(atomic.Bool) // set by whichever side is second
	go func() {
		a := answer{note: "ended its goroutine"}
		defer func() {
			if r := recover(); r != nil {
				a = answer{note: fmt.Sprintf("panicked: %v", r)}
			}
			if done <- a; left.Swap(true) {
				h.lost.Add(-1)
			}
		}()
		a = answer{v: f(ctx)}
	}()
	select {
	case a := <-done:
		return a.v, a.note
	case <-ctx.Done():
	}
	grace := time.NewTimer(hookGrace)
	defer grace.Stop()
	select {
	case a := <-done:
		return a.v, a.note
	case <-grace.C:
	}
	h.lost.Add(1)
	if left.Swap(true) {
		h.lost.Add(-1)
	}
	return v, "did not return in time"
}
