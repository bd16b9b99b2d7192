package textfile

import (
	"context"
	"slices"
	"sync"
)

// Locks keeps calls that change the same files apart. The zero value is ready; it must not be copied. Keys come from
// [fsroot.Path.Key]. One Locks is shared by all sessions that work on the same directories.
type Locks struct {
	mu   sync.Mutex
	held map[string]*lock
}

type lock struct {
	slot chan struct{} // holds one token while locked
	refs int           // holders and waiters
}

// Lock waits until the caller has all keys and returns the function that gives them up, which may be called more than once.
// Keys may repeat; they are taken in sorted order, so that two calls over the same keys never wait for each other. When
// ctx ends first, nothing is held and the error is that of ctx. Locks are not reentrant. Do not hold them while a user is
// being asked.
func (l *Locks) Lock(ctx context.Context, keys ...string) (unlock func(), err error) {
	keys = slices.Clone(keys)
	slices.Sort(keys)
	keys = slices.Compact(keys)
	got := make([]*lock, 0, len(keys))
	release := func() {
		for i := len(got) - 1; i >= 0; i-- {
			<-got[i].slot
			l.drop(keys[i], got[i])
		}
	}
	for _, k := range keys {
		e := l.entry(k)
		select {
		case e.slot <- struct{}{}:
			got = append(got, e)
			continue
		default:
		}
		select {
		case e.slot <- struct{}{}:
			got = append(got, e)
		case <-ctx.Done():
			l.drop(k, e)
			release()
			return nil, ctx.Err()
		}
	}
	if err := ctx.Err(); err != nil {
		release()
		return nil, err
	}
	var once sync.Once
	return func() { once.Do(release) }, nil
}

func (l *Locks) entry(key string) *lock {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held == nil {
		l.held = make(map[string]*lock)
	}
	e := l.held[key]
	if e == nil {
		e = &lock{slot: make(chan struct{}, 1)}
		l.held[key] = e
	}
	e.refs++
	return e
}

func (l *Locks) drop(key string, e *lock) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e.refs--; e.refs == 0 {
		delete(l.held, key)
	}
}

// Len returns the number of keys that are held or waited for: 0 when idle.
func (l *Locks) Len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.held)
}
