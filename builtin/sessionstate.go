package builtin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/agenttool/tool/internal/textfile"
)

const (
	stateVersion  = 2        // 1 had nothing but the files
	maxState      = 32 << 20 // bytes that Restore looks at
	maxPastOutput = 16 << 10 // of a job that a snapshot keeps
	maxPastText   = 1 << 10  // of its command and description
)

// ErrState is matched by what [Toolset.Restore] returns for a snapshot that it does not take.
var ErrState = errors.New("not a snapshot of a session")

// sessionState is a session as it is kept.
type sessionState struct {
	Version   int             `json:"version"`
	Files     json.RawMessage `json:"files,omitempty"` // of the tracker
	Blind     []string        `json:"blind,omitempty"` // keys of files that were only ever written
	Todos     []Todo          `json:"todos,omitempty"`
	TodoLast  int             `json:"todoLast,omitempty"` // the highest number given as an id
	TodoTurn  int             `json:"todoRevision,omitempty"`
	Parent    string          `json:"parent,omitempty"` // whose todo list it may read
	Subagents []childState    `json:"subagents,omitempty"`
	Skills    []string        `json:"skills,omitempty"` // that were loaded
	Jobs      []jobState      `json:"jobs,omitempty"`
}

type childState struct {
	ID    string `json:"id"`
	Agent string `json:"agent"`
	Title string `json:"title,omitempty"`
}

type jobState struct {
	ID          string    `json:"id"`
	Number      int       `json:"number"`
	Command     string    `json:"command"`
	Description string    `json:"description,omitempty"`
	Status      string    `json:"status"`
	Running     bool      `json:"running,omitempty"`
	Exit        *int      `json:"exit,omitempty"`
	Output      string    `json:"output,omitempty"` // the end of it
	Ended       time.Time `json:"ended,omitzero"`
}

// Snapshot returns what is kept for the session, as JSON, for [Toolset.Restore]:
//
//   - the files it has seen, which of their lines, and a hash of their content, but
//     not the content itself
//   - its todo list
//   - its subagents, so that they can be gone on with; what is kept for their
//     sessions has snapshots of its own
//   - the skills it was given
//   - its jobs: how they ended and the end of their output; of one that runs, that
//     it ran when the snapshot was made
//
// What edits could be taken back to is not part of it, and neither are permissions:
// they are the approver's, and the gate of package permission has a Snapshot of its
// own. The host keeps both together, where it keeps the session and no model can write.
func (ts *Toolset) Snapshot(sessionID string) ([]byte, error) {
	st := sessionState{Version: stateVersion, Blind: ts.memory.blindFiles(sessionID), Skills: ts.skills.of(sessionID)}
	var err error
	if st.Files, err = ts.memory.tracker.Snapshot(sessionID); err != nil {
		return nil, err
	}
	ts.todos.save(sessionID, &st)
	st.Subagents = ts.tasks.save(sessionID)
	for _, j := range ts.jobs.of(sessionID) {
		st.Jobs = append(st.Jobs, j.save())
	}
	for {
		out, err := json.Marshal(st)
		if err != nil || len(out) <= maxState {
			return out, err
		}
		if st.Files, err = halved(st.Files); err != nil {
			return nil, err
		}
	}
}

// halved returns the tracker's snapshot without the half of the files that was not
// used for longest, so that what is kept can be restored.
func halved(files json.RawMessage) (json.RawMessage, error) {
	var list struct {
		Version int               `json:"version"`
		Files   []json.RawMessage `json:"files"`
	}
	if err := json.Unmarshal(files, &list); err != nil {
		return nil, err
	}
	if len(list.Files) == 0 {
		return nil, errors.New("the state of the session is too large to be kept")
	}
	list.Files = list.Files[(len(list.Files)+1)/2:]
	return json.Marshal(list)
}

// Restore puts what [Toolset.Snapshot] returned in the place of what is kept for
// the session, so that a resumed session need not read its files again. Files that
// changed meanwhile are found to have changed, skills that are gone are not given,
// and jobs are read like any other but run no more. Unknown members are passed over.
// An error matches [ErrState], and then nothing is altered. A session that runs
// subagents or jobs cannot be restored.
func (ts *Toolset) Restore(sessionID string, data []byte) error {
	fail := func(format string, args ...any) error {
		return fmt.Errorf("%w: "+format, append([]any{ErrState}, args...)...)
	}
	if len(data) > maxState {
		return fail("it has more than %d bytes", maxState)
	}
	var st sessionState
	if err := json.Unmarshal(data, &st); err != nil {
		return fail("%w", err)
	}
	switch st.Version {
	case 1: // the files alone
		st = sessionState{Version: stateVersion, Files: data}
	case stateVersion:
	default:
		return fail("version %d is not known", st.Version)
	}
	next, err := newTodoList(st.Todos)
	if err != nil {
		return fail("%w", err)
	}
	if st.TodoLast < 0 || st.TodoTurn < 0 || st.TodoLast > 1<<30 || len(st.Parent) > 256 || st.Parent == sessionID && sessionID != "" {
		return fail("its todo list is not one")
	}
	if err := checkChildren(st.Subagents); err != nil {
		return fail("%w", err)
	}
	jobs, err := pastJobs(sessionID, st.Jobs)
	if err != nil {
		return fail("%w", err)
	}
	files := st.Files
	if len(files) == 0 {
		files = json.RawMessage(`{"version":1}`)
	}
	if err := textfile.NewTracker(nil).Restore(sessionID, files); err != nil {
		return fail("%w", err)
	}
	// From here on only the present state can be in the way.
	if err := ts.jobs.idle(sessionID); err != nil {
		return fail("%w", err)
	}
	if err := ts.tasks.restore(sessionID, st.Subagents); err != nil {
		return fail("%w", err)
	}
	if err := ts.memory.tracker.Restore(sessionID, files); err != nil {
		return fail("%w", err)
	}
	ts.memory.setBlind(sessionID, st.Blind)
	ts.todos.restore(sessionID, next, st)
	ts.jobs.restore(sessionID, jobs)
	ts.skills.forget(sessionID)
	if len(st.Skills) > 0 {
		list, _ := ts.Skills(context.Background())
		for _, s := range list {
			if slices.Contains(st.Skills, s.Name) {
				ts.loadSkill(sessionID, s)
			}
		}
	}
	return nil
}

// save adds the session's todo list to st.
func (t *todos) save(session string, st *sessionState) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if l := t.lists[session]; l != nil {
		st.Todos, st.TodoLast, st.TodoTurn = slices.Clone(l.items), l.last, l.revision
	}
	st.Parent = t.parents[session]
}

func (t *todos) restore(session string, next *todoList, st sessionState) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.get(session)
	next.last, next.revision = st.TodoLast, max(st.TodoTurn, now.revision+1)
	next.number(nil)
	*now = *next
	if st.Parent != "" {
		if t.parents == nil {
			t.parents = make(map[string]string)
		}
		t.parents[session] = st.Parent
	}
}

func (t *taskSessions) save(parent string) (out []childState) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, s := range t.of(parent) {
		out = append(out, childState{s.id, s.agent, s.title})
	}
	return out
}

var childID = regexp.MustCompile(`^task_[A-Z2-7]{16,64}$`)

func checkChildren(list []childState) error {
	seen := make(map[string]bool)
	if len(list) > maxChildren {
		return fmt.Errorf("it has %d subagents, more than %d", len(list), maxChildren)
	}
	for _, c := range list {
		if !childID.MatchString(c.ID) || seen[c.ID] || c.Agent == "" || len(c.Agent) > 256 || len(c.Title) > 1024 {
			return fmt.Errorf("the subagent %q is not one", clip(c.ID, 80))
		}
		seen[c.ID] = true
	}
	return nil
}

// restore puts list in the place of the subagents of a session.
func (t *taskSessions) restore(parent string, list []childState) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, s := range t.of(parent) {
		if s.run != nil {
			return fmt.Errorf("the subagent %s is at work", s.id)
		}
	}
	for _, c := range list {
		if s := t.byID[c.ID]; s != nil && s.parent != parent {
			return fmt.Errorf("the subagent %s is another session's", c.ID)
		}
		above := parent
		for range maxBelow {
			if above == c.ID {
				return fmt.Errorf("the subagent %s is above the session", c.ID)
			}
			s := t.byID[above]
			if s == nil {
				break
			}
			above = s.parent
		}
	}
	for _, s := range t.of(parent) {
		delete(t.byID, s.id)
	}
	for _, c := range list {
		t.seq++
		t.add(&taskSession{id: c.ID, parent: parent, agent: c.Agent, title: c.Title, used: t.seq})
	}
	return nil
}

// pastJob is what is known of a job of an earlier run of the program.
type pastJob struct {
	status, output string
	exit           *int
}

// save returns the job as it is kept.
func (j *job) save() jobState {
	st := jobState{ID: j.id, Number: j.number, Command: clip(j.command, maxPastText), Description: clip(j.description, maxPastText), Ended: j.endedAt()}
	if j.past != nil {
		st.Status, st.Output, st.Exit = j.past.status, j.past.output, j.past.exit
		return st
	}
	st.Status, st.Running = clip(j.status(), maxPastText/2), j.active()
	if res := j.p.Result(); res != nil && !res.Running && res.Exit >= 0 {
		st.Exit = &res.Exit
	}
	end := j.p.Since(1<<62, 1).End
	c := j.p.Since(max(0, end-maxPastOutput), maxPastOutput)
	out := c.Text + c.Pending
	st.Output = strings.ToValidUTF8(out[max(0, len(out)-maxPastOutput):], "\uFFFD")
	return st
}

var jobID = regexp.MustCompile(`^job_([1-9][0-9]{0,8})$`)

// pastJobs makes jobs of what was kept of them.
func pastJobs(session string, list []jobState) ([]*job, error) {
	if len(list) > keepJobs+defaultMaxJobs {
		return nil, fmt.Errorf("it has %d jobs, more than there can be", len(list))
	}
	seen := make(map[string]bool)
	out := make([]*job, 0, len(list))
	for _, st := range list {
		if m := jobID.FindStringSubmatch(st.ID); m == nil || m[1] != fmt.Sprint(st.Number) || seen[st.ID] ||
			len(st.Output) > 2*maxPastOutput || len(st.Command) > 2*maxPastText || len(st.Description) > 2*maxPastText || len(st.Status) > maxPastText {
			return nil, fmt.Errorf("the job %q is not one", clip(st.ID, 80))
		}
		seen[st.ID] = true
		j := &job{
			id: st.ID, session: session, number: st.Number, command: st.Command, description: st.Description,
			past: &pastJob{status: visible(st.Status), output: visible(st.Output), exit: st.Exit}, ended: st.Ended,
		}
		if st.Running {
			j.past.status = "ran when the session was saved, and cannot be reached from here: it was a command of an earlier run of this program"
		}
		out = append(out, j)
	}
	return out, nil
}

// idle says which job of the session runs.
func (l *jobs) idle(session string) error {
	for _, j := range l.of(session) {
		if j.active() {
			return fmt.Errorf("the job %s runs", j.id)
		}
	}
	return nil
}

// restore puts list in the place of the session's jobs, which have ended.
func (l *jobs) restore(session string, list []*job) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for key, j := range l.list {
		if j.session == session && !j.active() {
			delete(l.list, key)
		}
	}
	if l.list == nil {
		l.list = make(map[jobKey]*job)
	}
	now := time.Now()
	for _, j := range list {
		j.ended = now // kept from now on as long as any other
		l.last = max(l.last, j.number)
		l.list[j.key()] = j
	}
}
