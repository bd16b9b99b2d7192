package lsp

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// A server that fails is started again after one second, two and four, and then
// not before the oldest failure is so long ago.
const (
	maxCrashes  = 3
	crashWindow = 10 * time.Minute
	firstDelay  = time.Second
)

// server is a language server for one root: the session that runs, and what
// became of those before.
type server struct {
	client *Client
	cfg    *Server
	root   string

	mu      sync.Mutex
	cur     *session
	crashes []time.Time
	last    error // of the last crash
}

// use returns a session that is ready, which release has to follow. It waits for
// one that starts up, and after a crash until it is time for another.
func (s *server) use(ctx context.Context) (cur *session, release func(), err error) {
	for try := 0; ; try++ {
		cur, wait, err := s.current()
		if err != nil {
			return nil, nil, err
		}
		if wait > 0 {
			t := time.NewTimer(wait)
			select {
			case <-t.C:
				continue
			case <-s.client.ctx.Done():
				t.Stop()
				return nil, nil, ErrClosed
			case <-ctx.Done():
				t.Stop()
				return nil, nil, context.Cause(ctx)
			}
		}
		select {
		case <-cur.ready:
		case <-ctx.Done():
			return nil, nil, context.Cause(ctx)
		}
		if err := cur.cause(); err != nil {
			<-cur.over
			if errors.Is(err, ErrClosed) && s.client.ctx.Err() == nil && try < 3 {
				continue // it had been idle, and ended just now
			}
			return nil, nil, err
		}
		cur.mu.Lock()
		cur.busy++
		cur.mu.Unlock()
		return cur, func() {
			cur.mu.Lock()
			defer cur.mu.Unlock()
			cur.busy--
			cur.lastUse = time.Now()
		}, nil
	}
}

// current returns the session that runs or starts up, and starts one if there is
// none and it is time for it; else wait says how long it is until then.
func (s *server) current() (cur *session, wait time.Duration, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cur != nil {
		return s.cur, 0, nil
	}
	now := time.Now()
	s.crashes = slices.DeleteFunc(s.crashes, func(t time.Time) bool { return now.Sub(t) >= crashWindow })
	if n := len(s.crashes); n > 0 {
		if n > maxCrashes {
			rest := (crashWindow - now.Sub(s.crashes[0])).Round(time.Second)
			return nil, 0, fmt.Errorf("%s failed %d times and is not started again within the next %s. The last time: %w", s.cfg.Name, n, rest, s.last)
		}
		if rest := firstDelay<<(n-1) - now.Sub(s.crashes[n-1]); rest > 0 {
			return nil, rest, nil
		}
	}
	next := newSession(s)
	if err := s.client.own(next.run); err != nil {
		next.end()
		return nil, 0, err
	}
	s.cur = next
	return next, 0, nil
}

// running returns the session that runs or starts up, nil if there is none.
func (s *server) running() *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cur
}

// ended takes note of how a session ended; err is nil if that was wanted.
func (s *server) ended(old *session, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cur == old {
		s.cur = nil
	}
	if err != nil && !errors.Is(err, ErrNotFound) {
		s.crashes, s.last = append(s.crashes, time.Now()), err
	}
}
