package builtin

import (
	"context"
	"slices"
	"sync"
)

// locker is one lock per key, for as long as somebody wants it. The zero value is ready.
type locker struct {
	mu   sync.Mutex
	held map[string]*keyLock
}

type keyLock struct {
	slot chan struct{} // full while locked
	refs int
}

// lock takes the locks of all keys, in sorted order so that two callers never
// wait for each other, and returns what releases them. Waiting ends with ctx.
func (l *locker) lock(ctx context.Context, keys []string) (unlock func(), err error) {
	keys = slices.Compact(slices.Sorted(slices.Values(keys)))
	taken := make([]*keyLock, 0, len(keys))
	release := func() {
		for i, k := range taken {
			<-k.slot
			l.drop(keys[i])
		}
	}
	for _, key := range keys {
		k := l.want(key)
		select {
		case k.slot <- struct{}{}:
			taken = append(taken, k)
		case <-ctx.Done():
			l.drop(key)
			release()
			return nil, ctx.Err()
		}
	}
	return release, nil
}

func (l *locker) want(key string) *keyLock {
	l.mu.Lock()
	defer l.mu.Unlock()
	k := l.held[key]
	if k == nil {
		k = &keyLock{slot: make(chan struct{}, 1)}
		if l.held == nil {
			l.held = make(map[string]*keyLock)
		}
		l.held[key] = k
	}
	k.refs++
	return k
}

func (l *locker) drop(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	k := l.held[key]
	if k.refs--; k.refs == 0 {
		delete(l.held, key)
	}
}
