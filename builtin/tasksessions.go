package builtin

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"sync"
)

const (
	maxChildren = 256 // subagents of a session that can be resumed; the ones used last
	maxBelow    = 64  // sessions above one another that are looked at
)

// taskSessions are the sessions of subagents. The zero value is ready.
type taskSessions struct {
	mu      sync.Mutex
	seq     int
	byID    map[string]*taskSession
	waiting map[string]chan struct{} // by parent: one slot for each of its subagents that runs
}

// taskSession is the session of a subagent.
type taskSession struct {
	id, parent   string
	agent, title string
	used         int          // order of last use
	run          *SubagentRun // nil unless it runs
}

// depth returns how many subagents' sessions a session is below the user's, itself included.
func (t *taskSessions) depth(id string) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := 0
	for s := t.byID[id]; s != nil && n < maxBelow; s = t.byID[s.parent] {
		n++
	}
	return n
}

// lineage returns a session and those above it, the nearest first.
func (t *taskSessions) lineage(id string) []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	line := []string{id}
	for s := t.byID[id]; s != nil && len(line) < maxBelow; s = t.byID[s.parent] {
		line = append(line, s.parent)
	}
	return line
}

// of returns the subagents' sessions of a session, the one used last at the end.
func (t *taskSessions) of(parent string) []*taskSession {
	var out []*taskSession
	for _, s := range t.byID {
		if s.parent == parent {
			out = append(out, s)
		}
	}
	slices.SortFunc(out, func(a, b *taskSession) int { return cmp.Compare(a.used, b.used) })
	return out
}

// resumable says why a session cannot be gone on with.
func (t *taskSessions) resumable(parent, id, agent string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.check(parent, id, agent)
}

func (t *taskSessions) check(parent, id, agent string) error {
	s := t.byID[id]
	if s == nil || s.parent != parent {
		text := ""
		for _, o := range t.of(parent) {
			text += fmt.Sprintf("\n- %s: %s", o.id, o.title)
		}
		if text == "" {
			return fmt.Errorf("this session has no subagent with the session_id %q, nor any other; leave session_id out to start one", clip(id, 80))
		}
		return fmt.Errorf("this session has no subagent with the session_id %q; leave it out to start one, or take one of:%s", clip(id, 80), clip(text, 2000))
	}
	if s.agent != agent {
		return fmt.Errorf("the subagent of session_id %s is %s, not %s", s.id, s.agent, agent)
	}
	if s.run != nil {
		return fmt.Errorf("the subagent of session_id %s is at work; wait for its answer", s.id)
	}
	return nil
}

// enter makes a run that of its session, which it makes if there is none, when
// fewer than limit others of the same parent run.
func (t *taskSessions) enter(ctx context.Context, run *SubagentRun, limit int) (leave func(), err error) {
	t.mu.Lock()
	if run.SessionID != "" {
		err = t.check(run.ParentID, run.SessionID, run.Subagent.Name)
	} else {
		run.SessionID = "task_" + rand.Text()
		t.add(&taskSession{id: run.SessionID, parent: run.ParentID, agent: run.Subagent.Name, title: run.Title})
	}
	var s *taskSession
	if err == nil {
		s = t.byID[run.SessionID]
		t.seq++
		s.run, s.used = run, t.seq
	}
	slots := t.waiting[run.ParentID]
	if slots == nil {
		slots = make(chan struct{}, limit)
		if t.waiting == nil {
			t.waiting = make(map[string]chan struct{})
		}
		t.waiting[run.ParentID] = slots
	}
	t.mu.Unlock()
	if err != nil {
		return nil, err
	}
	rest := func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		s.run = nil
	}
	select {
	case slots <- struct{}{}:
	case <-ctx.Done():
		rest()
		return nil, context.Cause(ctx)
	}
	return func() { <-slots; rest() }, nil
}

// add keeps a session, and drops the one of the same parent that was used longest
// ago if there are too many. It is called with t.mu held.
func (t *taskSessions) add(s *taskSession) {
	if t.byID == nil {
		t.byID = make(map[string]*taskSession)
	}
	t.byID[s.id] = s
	list := t.of(s.parent)
	for _, o := range list {
		if len(list) <= maxChildren {
			return
		}
		if o != s && o.run == nil {
			delete(t.byID, o.id)
			list = list[1:]
		}
	}
}

// changed notes a file that a session changed in its run, and in those above it.
func (t *taskSessions) changed(id, name string) {
	var runs []*SubagentRun
	t.mu.Lock()
	n := 0
	for s := t.byID[id]; s != nil && n < maxBelow; s = t.byID[s.parent] {
		if n++; s.run != nil {
			runs = append(runs, s.run)
		}
	}
	t.mu.Unlock()
	for _, r := range runs {
		r.state.note(name)
	}
}

// forget drops a session and those below it, and returns all their ids.
func (t *taskSessions) forget(id string) []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	ids := []string{id}
	for i := 0; i < len(ids); i++ {
		for _, s := range t.of(ids[i]) {
			if !slices.Contains(ids, s.id) {
				ids = append(ids, s.id)
			}
		}
	}
	for _, id := range ids {
		delete(t.byID, id)
		delete(t.waiting, id)
	}
	return ids
}
