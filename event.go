package tool

import (
	"context"
	"maps"
	"sync"
	"time"
)

// State is where a call is: pending, then running, then completed or error.
type State string

// The states of a call.
const (
	StatePending   State = "pending"   // accepted, not started
	StateRunning   State = "running"   // started; with an Update: progress
	StateCompleted State = "completed" // ended well
	StateError     State = "error"     // failed, was denied, cancelled, or never run
)

// Event is one step in the life of a call.
type Event struct {
	Call   *Call // as it was handed in; of calls made by Invoke or Start, one with Parent set
	State  State
	Update *Update // progress; nil for the plain steps
	Result *Result // with the last event; as in the Outcome
	Err    error   // with StateError; nil if the tool itself set IsError
	Time   time.Time
}

// Last reports whether the event is the last of its call.
func (e Event) Last() bool { return e.State == StateCompleted || e.State == StateError }

// merge returns u with what next brings laid over it.
func (u Update) merge(next Update) Update {
	if next.Title != "" {
		u.Title = next.Title
	}
	if next.Text != "" {
		u.Text = next.Text
	}
	if len(next.Metadata) > 0 {
		m := make(map[string]any, len(u.Metadata)+len(next.Metadata))
		maps.Copy(m, u.Metadata)
		maps.Copy(m, next.Metadata)
		u.Metadata = m
	}
	return u
}

// maxQueuedUpdates is how many updates of one call may wait for a slow observer
// before further ones are merged.
const maxQueuedUpdates = 64

// eventQueue hands events to the observer one at a time, in order, in a
// goroutine that lives only while there are any. So neither a tool nor a lock
// ever waits for the observer. The zero value is ready.
type eventQueue struct {
	mu        sync.Mutex
	items     []queuedEvent
	busy      bool
	pushed    uint64
	delivered uint64
	waiters   []flushWaiter
}

type flushWaiter struct {
	after uint64 // events that have to be delivered
	done  chan struct{}
}

type queuedEvent struct {
	b  *Batch
	r  *running
	ev Event
}

func (q *eventQueue) push(b *Batch, r *running, ev Event) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if ev.Update != nil {
		if r.queued >= maxQueuedUpdates && r.lastQueued != nil {
			*r.lastQueued = r.lastQueued.merge(*ev.Update)
			return
		}
		r.queued++
		r.lastQueued = ev.Update
	} else {
		r.lastQueued = nil // an update never overtakes a step
	}
	b.events.Add(1)
	q.pushed++
	q.items = append(q.items, queuedEvent{b, r, ev})
	if !q.busy {
		q.busy = true
		go q.drain(b.ex)
	}
}

func (q *eventQueue) drain(ex *Executor) {
	var items []queuedEvent
	next := 0
	ended := false
	defer func() {
		if ended {
			return
		}
		// The observer ended the goroutine, as a failing test does: the others are still to come.
		q.mu.Lock()
		q.delivered++
		q.wake()
		rest := items[next+1:]
		for _, it := range rest {
			if it.ev.Update != nil {
				it.r.queued++
			}
		}
		q.items = append(rest, q.items...)
		q.mu.Unlock()
		go q.drain(ex)
	}()
	for {
		q.mu.Lock()
		items, q.items = q.items, nil
		if len(items) == 0 {
			q.busy, ended = false, true
			q.mu.Unlock()
			return
		}
		for _, it := range items {
			if it.ev.Update != nil {
				it.r.queued--
			}
			it.r.lastQueued = nil
		}
		q.mu.Unlock()
		for next = range items {
			deliver(ex, items[next])
			q.count()
		}
	}
}

// count notes one more delivered event.
func (q *eventQueue) count() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.delivered++
	q.wake()
}

// wake lets go whoever waited for what was delivered. It is called with q.mu held.
func (q *eventQueue) wake() {
	for len(q.waiters) > 0 && q.waiters[0].after <= q.delivered {
		close(q.waiters[0].done)
		q.waiters = q.waiters[1:]
	}
}

// flush waits until the events so far were observed, or ctx is done.
func (q *eventQueue) flush(ctx context.Context) {
	q.mu.Lock()
	if q.delivered == q.pushed {
		q.mu.Unlock()
		return
	}
	w := flushWaiter{q.pushed, make(chan struct{})}
	q.waiters = append(q.waiters, w)
	q.mu.Unlock()
	select {
	case <-w.done:
	case <-ctx.Done():
	}
}

// deliver calls the observers; one that panics loses that event only.
func deliver(ex *Executor, it queuedEvent) {
	defer it.b.events.Done()
	for _, observe := range []func(Event){ex.Observe, it.b.nested.Observe} {
		if observe == nil {
			continue
		}
		if err := guard(func() error { observe(it.ev); return nil }); err != nil {
			ex.log().Error("observer panicked", "state", it.ev.State, "error", err)
		}
	}
}
