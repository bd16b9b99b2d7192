package tool

import (
	"context"
	"sync"
)

// Middleware wraps the handling of a call: it may look at it, refuse it, ask
// ([Call.Ask]), change the arguments (on a copy of the Call), or change the
// result (on a copy of the Result). It sees the arguments as they came, before
// repair and validation, and what it changes is validated again. It must pass on
// the context it was given, or one derived from it.
type Middleware func(next RunFunc) RunFunc

// chain wraps run, the first middleware outermost.
func chain(run RunFunc, mw []Middleware) RunFunc {
	for i := len(mw) - 1; i >= 0; i-- {
		if mw[i] != nil {
			run = mw[i](run)
		}
	}
	return run
}

// Serialize returns a middleware that runs calls with the same key one after the
// other, where Parallel and barriers are not enough. Calls with the key "" are
// left alone. Waiting ends with the call's context. A call must not make another
// of the same key through [Call.Invoke]: it would wait for itself until its context ends.
func Serialize(key func(*Call) string) Middleware {
	type lock struct {
		slot chan struct{}
		refs int
	}
	var mu sync.Mutex
	locks := make(map[string]*lock)
	return func(next RunFunc) RunFunc {
		return func(ctx context.Context, call *Call) (*Result, error) {
			k := key(call)
			if k == "" {
				return next(ctx, call)
			}
			mu.Lock()
			l := locks[k]
			if l == nil {
				l = &lock{slot: make(chan struct{}, 1)}
				locks[k] = l
			}
			l.refs++
			mu.Unlock()
			defer func() {
				mu.Lock()
				defer mu.Unlock()
				if l.refs--; l.refs == 0 {
					delete(locks, k)
				}
			}()
			select {
			case l.slot <- struct{}{}:
			case <-ctx.Done():
				return nil, &CancelledError{Cause: context.Cause(ctx), NotRun: true}
			}
			defer func() { <-l.slot }()
			return next(ctx, call)
		}
	}
}
