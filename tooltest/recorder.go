package tooltest

import (
	"fmt"
	"strings"
	"sync"

	"github.com/agenttool/tool"
)

// Recorder keeps the events of an executor: set [tool.Executor].Observe to its
// Observe method. The zero value is ready and safe for concurrent use.
type Recorder struct {
	mu     sync.Mutex
	events []tool.Event
}

// Observe records one event.
func (r *Recorder) Observe(ev tool.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, ev)
}

// Events returns the events so far, in the order they came.
func (r *Recorder) Events() []tool.Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]tool.Event(nil), r.events...)
}

// Updates returns the updates of the call with the given id, in the order they came.
func (r *Recorder) Updates(id string) []tool.Update {
	var us []tool.Update
	for _, ev := range r.Events() {
		if ev.Call.ID == id && ev.Update != nil {
			us = append(us, *ev.Update)
		}
	}
	return us
}

// String returns one line per event, without times: id, tool, state, and what
// the event brought. It is meant for golden files.
func (r *Recorder) String() string {
	var b strings.Builder
	for _, ev := range r.Events() {
		fmt.Fprintf(&b, "%s %s %s", ev.Call.ID, ev.Call.Tool, ev.State)
		switch {
		case ev.Update != nil:
			fmt.Fprintf(&b, " update title=%q text=%q", ev.Update.Title, ev.Update.Text)
		case ev.Last():
			fmt.Fprintf(&b, " text=%q", ev.Result.Text)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// Err checks what an executor promises of its events: each call is pending once,
// then at most once running, then has any number of updates, then ends exactly once.
func (r *Recorder) Err() error {
	type life struct {
		pending, running, last int
	}
	calls := map[*tool.Call]*life{}
	var bad []string
	for i, ev := range r.Events() {
		l := calls[ev.Call]
		if l == nil {
			l = &life{}
			calls[ev.Call] = l
		}
		wrong := ""
		switch {
		case l.last > 0:
			wrong = "after its end"
		case ev.State == tool.StatePending:
			if l.pending++; l.pending > 1 || l.running > 0 {
				wrong = "a second time"
			}
		case l.pending == 0:
			wrong = "before it was pending"
		case ev.Update != nil:
			if l.running == 0 {
				wrong = "before it was running"
			}
		case ev.State == tool.StateRunning:
			if l.running++; l.running > 1 {
				wrong = "a second time"
			}
		case ev.Last():
			if l.last++; ev.Result == nil {
				wrong = "without a result"
			}
		default:
			wrong = "which is no state"
		}
		if wrong != "" {
			bad = append(bad, fmt.Sprintf("event %d: call %s is %s %s", i, ev.Call.ID, ev.State, wrong))
		}
	}
	for c, l := range calls {
		if l.last == 0 {
			bad = append(bad, fmt.Sprintf("call %s never ended", c.ID))
		}
	}
	if len(bad) == 0 {
		return nil
	}
	return fmt.Errorf("events: %s", strings.Join(bad, "; "))
}
