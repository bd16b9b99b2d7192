package web

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// ErrPace means that a host was asked too often for another request to wait.
var ErrPace = errors.New("web: too many requests")

// PaceError says when the host may be asked again. It matches [ErrPace].
type PaceError struct {
	Host  string
	After time.Duration // from now; rounded up to seconds
}

// Error says how long to wait.
func (e *PaceError) Error() string {
	return fmt.Sprintf("%s was asked too often in the last minute; try again in %s", e.Host, e.After)
}

// Is makes errors.Is(err, ErrPace) true.
func (e *PaceError) Is(target error) bool { return target == ErrPace }

// Pace bounds the requests to each host. The zero value is ready for use and
// means 4 at a time and 30 within a minute. It must not be copied. It is safe for
// concurrent use; its fields must not change once it is used.
type Pace struct {
	// Parallel is how many requests a host gets at a time; 0 means 4.
	Parallel int
	// PerMinute is how many requests a host gets within a minute; 0 means 30.
	PerMinute int

	mu    sync.Mutex
	hosts map[string]*paced
}

// paced is what is known of a host.
type paced struct {
	recent []time.Time   // requests of the last minute, the oldest first
	slots  chan struct{} // one element for each request under way
	users  int           // requests that are under way or wait for a slot
}

const (
	paceWindow = time.Minute
	maxWait    = 10 * time.Second // that a request waits because of PerMinute
)

// wait returns when the host may be asked; done is to be called after the answer.
func (p *Pace) wait(ctx context.Context, host string) (done func(), err error) {
	p.mu.Lock()
	h, delay := p.reserve(host)
	p.mu.Unlock()
	if h == nil {
		return nil, &PaceError{Host: host, After: delay.Truncate(time.Second) + time.Second}
	}
	release := func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		h.users--
	}
	if delay > 0 {
		timer := time.NewTimer(delay)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			release()
			return nil, context.Cause(ctx)
		}
	}
	select {
	case h.slots <- struct{}{}:
		return func() { <-h.slots; release() }, nil
	case <-ctx.Done():
		release()
		return nil, context.Cause(ctx)
	}
}

// reserve counts a request to host and says how long it has to wait. A nil host
// means that it was not counted, because that would be too long.
func (p *Pace) reserve(host string) (*paced, time.Duration) {
	parallel, perMinute := p.Parallel, p.PerMinute
	if parallel <= 0 {
		parallel = 4
	}
	if perMinute <= 0 {
		perMinute = 30
	}
	now := time.Now()
	for name, h := range p.hosts {
		for len(h.recent) > 0 && now.Sub(h.recent[0]) >= paceWindow {
			h.recent = h.recent[1:]
		}
		if len(h.recent) == 0 && h.users == 0 {
			delete(p.hosts, name)
		}
	}
	if p.hosts == nil {
		p.hosts = make(map[string]*paced)
	}
	h := p.hosts[host]
	if h == nil {
		h = &paced{slots: make(chan struct{}, parallel)}
		p.hosts[host] = h
	}
	at := now
	if n := len(h.recent); n >= perMinute {
		if due := h.recent[n-perMinute].Add(paceWindow); due.After(at) {
			at = due
		}
	}
	if at.Sub(now) > maxWait {
		return nil, at.Sub(now)
	}
	h.users++
	h.recent = append(h.recent, at)
	return h, at.Sub(now)
}
