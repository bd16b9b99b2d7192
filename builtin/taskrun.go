package builtin

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/agenttool/tool"
)

const (
	summaryPause = 50 * time.Millisecond // between two updates
	maxSummary   = 100                   // calls that the summary has; the latest
	maxSaid      = 256 << 10             // of what the model said that is kept, in bytes
	maxRefused   = 3                     // rounds that are answered with "no more" before the run is stopped
)

// TaskCall is a call of a subagent, in the "summary" of the metadata of task.
type TaskCall struct {
	ID    string     `json:"id"`
	Tool  string     `json:"tool"`
	State tool.State `json:"state"`
	Title string     `json:"title,omitempty"`
}

// runState is what is known of a run while it goes on.
type runState struct {
	limits TaskConfig
	cancel context.CancelCauseFunc
	update func(tool.Update) // of the call of task

	mu      sync.Mutex
	over    bool
	said    string
	summary []*TaskCall
	byCall  map[*tool.Call]*TaskCall
	changed map[string]bool // names of files
	turns   int
	calls   int
	refused int // rounds that came when nothing was left
	tokens  int
	active  int // rounds of calls under way
	paused  int
	abort   error
	endTurn bool // the last round had a result that ends the turn

	wall, idle *watch
	shown      time.Time
	later      *time.Timer // the next update
}

// watch is a timer that can be held.
type watch struct {
	timer *time.Timer
	left  time.Duration
	since time.Time
	held  bool
}

func newWatch(d time.Duration, fire func()) *watch {
	if d <= 0 {
		return nil
	}
	return &watch{timer: time.AfterFunc(d, fire), left: d, since: time.Now()}
}

func (w *watch) hold() {
	if w == nil || w.held {
		return
	}
	w.held = true
	w.timer.Stop()
	w.left -= time.Since(w.since)
}

func (w *watch) goOn() {
	if w == nil || !w.held {
		return
	}
	w.held, w.since = false, time.Now()
	w.timer.Reset(max(w.left, 0))
}

// renew starts a watch from the beginning.
func (w *watch) renew(d time.Duration) {
	if w == nil {
		return
	}
	w.left, w.since = d, time.Now()
	if !w.held {
		w.timer.Reset(d)
	}
}

func (w *watch) stop() {
	if w != nil {
		w.timer.Stop()
	}
}

// begin starts the watches.
func (s *runState) begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wall = newWatch(s.limits.Time, func() { s.expire(&s.wall, &tool.TimeoutError{Tool: "task", Limit: s.limits.Time}) })
	s.idle = newWatch(s.limits.Idle, func() { s.expire(&s.idle, fmt.Errorf("%w (%s)", ErrSubagentIdle, s.limits.Idle)) })
}

// expire ends the run for why, unless the watch was held or renewed when its timer fired.
func (s *runState) expire(w **watch, why error) {
	s.mu.Lock()
	stale := s.over || (*w).held || time.Since((*w).since) < (*w).left
	s.mu.Unlock()
	if !stale {
		s.cancel(why)
	}
}

// end makes the run over. What comes later has no effect.
func (s *runState) end() {
	s.mu.Lock()
	s.over = true
	s.wall.stop()
	s.idle.stop()
	if s.later != nil {
		s.later.Stop()
	}
	s.mu.Unlock()
}

// alive counts a sign of life. It is called with s.mu held.
func (s *runState) alive() { s.idle.renew(s.limits.Idle) }

func (s *runState) say(text string) {
	s.mu.Lock()
	if s.over {
		s.mu.Unlock()
		return
	}
	s.said = clip(text, maxSaid)
	s.alive()
	u := s.due()
	s.mu.Unlock()
	s.show(u)
}

func (s *runState) spend(tokens int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over || s.limits.Tokens <= 0 {
		return nil
	}
	s.tokens += max(tokens, 0)
	s.alive()
	if s.tokens < s.limits.Tokens {
		return nil
	}
	err := fmt.Errorf("%w of %d tokens", ErrSubagentBudget, s.limits.Tokens)
	s.cancel(err)
	return err
}

// admit begins a round of n calls, and says how many of them may be made.
func (s *runState) admit(n int) (first, admitted int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return 0, 0, errors.New("the run of the subagent is over")
	}
	s.turns++
	admitted = n
	if s.limits.Calls > 0 {
		admitted = min(n, max(0, s.limits.Calls-s.calls))
	}
	if s.limits.Turns > 0 && s.turns > s.limits.Turns {
		admitted = 0
	}
	if n > 0 && admitted == 0 {
		if s.refused++; s.refused >= maxRefused {
			s.cancel(fmt.Errorf("%w of %d turns and %d calls", ErrSubagentBudget, s.limits.Turns, s.limits.Calls))
		}
	}
	first = s.calls + 1
	s.calls += admitted
	s.active++
	s.settleWatches()
	return first, admitted, nil
}

func (s *runState) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.active--
	s.settleWatches()
}

// settleWatches holds the watches that are not to run. It is called with s.mu held.
func (s *runState) settleWatches() {
	if s.over {
		return
	}
	if s.paused > 0 {
		s.wall.hold()
	} else {
		s.wall.goOn()
	}
	if s.paused > 0 || s.active > 0 {
		s.idle.hold()
	} else {
		s.alive()
		s.idle.goOn()
	}
}

// pause stops the watches while a person is asked.
func (s *runState) pause() (resume func()) {
	s.step(&s.paused, 1)
	return sync.OnceFunc(func() { s.step(&s.paused, -1) })
}

func (s *runState) step(n *int, by int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	*n += by
	s.settleWatches()
}

// observe keeps the summary.
func (s *runState) observe(ev tool.Event) {
	s.mu.Lock()
	if s.over {
		s.mu.Unlock()
		return
	}
	c := s.byCall[ev.Call]
	if c == nil {
		c = &TaskCall{ID: ev.Call.ID, Tool: clip(ev.Call.Tool, 64)}
		s.byCall[ev.Call] = c
		if s.summary = append(s.summary, c); len(s.summary) > maxSummary {
			s.summary = s.summary[1:]
		}
	}
	c.State = ev.State
	if ev.Update != nil && ev.Update.Title != "" {
		c.Title = clip(oneLine(ev.Update.Title), 200)
	}
	if ev.Last() {
		c.Title = clip(oneLine(ev.Result.Title), 200)
		delete(s.byCall, ev.Call)
	}
	u := s.due()
	s.mu.Unlock()
	s.show(u)
}

// after notes what a round of calls means for the run.
func (s *runState) after(out []tool.Outcome, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if errors.Is(err, tool.ErrAbort) && s.abort == nil {
		s.abort = err
	}
	s.endTurn = slices.ContainsFunc(out, func(o tool.Outcome) bool { return o.Result.EndTurn })
}

// note records a file that the subagent, or one below it, changed.
func (s *runState) note(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.over && len(s.changed) < 1000 {
		s.changed[name] = true
	}
}

// due returns the update that is to be sent now; nil if the last one is too young,
// and then it comes later. It is called with s.mu held.
func (s *runState) due() *tool.Update {
	if s.later != nil {
		return nil
	}
	if wait := summaryPause - time.Since(s.shown); wait > 0 {
		s.later = time.AfterFunc(wait, func() {
			s.mu.Lock()
			s.later = nil
			var u *tool.Update
			if !s.over {
				u = s.news()
			}
			s.mu.Unlock()
			s.show(u)
		})
		return nil
	}
	return s.news()
}

// show sends an update, if there is one. No lock is held.
func (s *runState) show(u *tool.Update) {
	if u != nil {
		s.update(*u)
	}
}

// news is how far the run is. It is called with s.mu held.
func (s *runState) news() *tool.Update {
	s.shown = time.Now()
	title := plural(s.calls, "call")
	if n := len(s.summary); n > 0 {
		title += ": " + strings.TrimSpace(s.summary[n-1].Tool+" "+s.summary[n-1].Title)
	}
	return &tool.Update{Title: title, Text: s.said, Metadata: map[string]any{"summary": s.list()}}
}

// list returns a copy of the summary. It is called with s.mu held.
func (s *runState) list() []TaskCall {
	out := make([]TaskCall, len(s.summary))
	for i, c := range s.summary {
		out[i] = *c
	}
	return out
}

func (s *runState) files() []string { return slices.Sorted(maps.Keys(s.changed)) }

// work has the runner do it. It returns when the runner does, or, if it does not,
// some time after ctx is done.
func (r *SubagentRun) work(ctx context.Context) (answer string, err error) {
	type end struct {
		answer string
		err    error
	}
	done := make(chan end, 1)
	go func() {
		e := end{err: errors.New("the runner of the subagent ended its goroutine")}
		defer func() {
			if v := recover(); v != nil {
				e = end{err: &tool.PanicError{Tool: "task", Value: v, Stack: debug.Stack()}}
			}
			done <- e
		}()
		e.answer, e.err = r.ts.task.Runner.RunSubagent(ctx, r)
	}()
	select {
	case e := <-done:
		return e.answer, e.err
	case <-ctx.Done():
	}
	late := time.NewTimer(r.state.limits.Stop)
	defer late.Stop()
	select {
	case e := <-done:
		if e.err == nil {
			e.err = context.Cause(ctx)
		}
		return e.answer, e.err
	case <-late.C:
		return "", context.Cause(ctx)
	}
}
