package builtin

import (
	"slices"
	"sync"

	"github.com/agenttool/tool/internal/textfile"
)

// memory is what the sessions of a toolset know of files. Its tracker is the
// record; beside it are kept the files that a session changed without having
// been shown them.
type memory struct {
	tracker *textfile.Tracker

	mu    sync.Mutex
	blind map[[2]string]bool // session and key of files that were only ever written
}

// check compares a file with what the session knows of it.
func (m *memory) check(session string, l location, now textfile.State) knowledge {
	k := knowledge{Freshness: m.tracker.Check(session, l.Path, now)}
	m.mu.Lock()
	defer m.mu.Unlock()
	k.shown = k.Known && !m.blind[[2]string{session, l.Key()}]
	return k
}

// knowledge is what a session knows of a file.
type knowledge struct {
	textfile.Freshness
	shown bool // some of it was shown to the session, or all of it is its own
}

// saw records that the session was shown part of a file.
func (m *memory) saw(session string, l location, o textfile.Observation) {
	m.tracker.Saw(session, l.Path, o)
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.blind, [2]string{session, l.Key()})
}

// wrote records that the session changed a file: all of it if before is nil.
func (m *memory) wrote(session string, l location, o textfile.Observation, before *textfile.File, spans []textfile.Span) {
	_, known := m.tracker.Get(session, l.Path)
	m.tracker.Wrote(session, l.Path, o, before, spans)
	m.mu.Lock()
	defer m.mu.Unlock()
	key := [2]string{session, l.Key()}
	switch {
	case before == nil:
		delete(m.blind, key)
	case !known:
		if m.blind == nil {
			m.blind = make(map[[2]string]bool)
		}
		m.blind[key] = true
	}
}

// moved gives what the session knows of a file to its new name.
func (m *memory) moved(session string, from, to location, st textfile.State) {
	m.tracker.Moved(session, from.Path, to.Path, st)
	m.mu.Lock()
	defer m.mu.Unlock()
	if key := [2]string{session, from.Key()}; m.blind[key] {
		delete(m.blind, key)
		m.blind[[2]string{session, to.Key()}] = true
	}
}

// forget drops what is known of a session.
func (m *memory) forget(session string) {
	m.tracker.Forget(session)
	m.mu.Lock()
	defer m.mu.Unlock()
	for k := range m.blind {
		if k[0] == session {
			delete(m.blind, k)
		}
	}
}

// blindFiles returns the keys of the files that a session only ever wrote, in order.
func (m *memory) blindFiles(session string) (keys []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for k := range m.blind {
		if k[0] == session {
			keys = append(keys, k[1])
		}
	}
	slices.Sort(keys)
	return keys
}

// setBlind puts keys in the place of those.
func (m *memory) setBlind(session string, keys []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for k := range m.blind {
		if k[0] == session {
			delete(m.blind, k)
		}
	}
	if m.blind == nil {
		m.blind = make(map[[2]string]bool)
	}
	for _, k := range keys {
		m.blind[[2]string{session, k}] = true
	}
}

// Fork gives a session that begins a copy of what its parent knows, as for a
// subagent. It gets a todo list of its own, and can read that of its parent.
func (ts *Toolset) Fork(parentID, childID string) {
	ts.memory.tracker.Fork(parentID, childID)
	ts.todos.fork(parentID, childID)
}

// Forget drops everything that is kept for a session: what it read, what its
// edits could be taken back to, its todo list, and the same of its subagents.
func (ts *Toolset) Forget(sessionID string) {
	for _, id := range ts.tasks.forget(sessionID) {
		ts.memory.forget(id)
		ts.history.forget(id)
		ts.todos.forget(id)
		ts.skills.forget(id)
	}
}
