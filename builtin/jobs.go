package builtin

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/agenttool/tool/internal/proc"
)

const (
	keepJobs    = 100       // jobs that have ended and can still be read
	keepJobTime = time.Hour // and for how long
)

// jobs are the commands of a toolset that go on behind the back of their calls,
// and those that did. The zero value is ready for use but for max.
type jobs struct {
	max int // that run at once

	mu   sync.Mutex
	last int // number of the last one
	list map[jobKey]*job
	wait sync.WaitGroup // for what watches them
}

// jobKey is what a job is found by: ids repeat where sessions were restored.
type jobKey struct{ session, id string }

func (j *job) key() jobKey { return jobKey{j.session, j.id} }

// job is one of them. Jobs belong to the session whose call started them.
type job struct {
	id, session          string
	number               int
	command, description string
	p                    *proc.Process // nil: past is set
	past                 *pastJob

	mu     sync.Mutex
	cursor int64     // how far its output was read
	ended  time.Time // zero while anything of it runs
}

// adopt makes a job of a process that goes on. The error says that there are too
// many; then the process is still the caller's to end.
func (l *jobs) adopt(r *running, p *proc.Process, res *proc.Result, remove func()) (*job, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	active := 0
	for _, j := range l.list {
		if j.active() {
			active++
		}
	}
	if active >= l.max {
		return nil, fmt.Errorf("it was ended, because %d jobs are running, which is as many as may; end some with job_kill", active)
	}
	if l.list == nil {
		l.list = make(map[jobKey]*job)
	}
	l.last++
	j := &job{
		id: fmt.Sprintf("job_%d", l.last), number: l.last, session: r.call.SessionID, command: r.in.Command, description: r.in.Description,
		p: p, cursor: shownUpTo(res),
	}
	l.list[j.key()] = j
	l.forget(time.Now())
	l.wait.Go(func() {
		<-p.Done()
		remove()
		j.mu.Lock()
		j.ended = time.Now()
		j.mu.Unlock()
	})
	return j, nil
}

// shownUpTo returns how far the output was shown in a result. A line that was not
// finished then is shown again.
func shownUpTo(res *proc.Result) int64 {
	last := res.Cut.Text[strings.LastIndexByte(res.Cut.Text, '\n')+1:]
	return max(0, int64(res.Cut.TotalBytes-len(last)))
}

// forget drops what ended long ago. It is called with l.mu held.
func (l *jobs) forget(now time.Time) {
	var done []*job
	for _, j := range l.list {
		if at := j.endedAt(); !at.IsZero() {
			done = append(done, j)
		}
	}
	slices.SortFunc(done, func(a, b *job) int { return b.endedAt().Compare(a.endedAt()) })
	for i, j := range done {
		if i >= keepJobs || now.Sub(j.endedAt()) > keepJobTime {
			delete(l.list, j.key())
		}
	}
}

// of returns the jobs of a session, oldest first.
func (l *jobs) of(session string) []*job {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.forget(time.Now())
	var out []*job
	for _, j := range l.list {
		if j.session == session {
			out = append(out, j)
		}
	}
	slices.SortFunc(out, func(a, b *job) int { return cmp.Compare(a.number, b.number) })
	return out
}

// get returns the job of that id, or an error that names those there are.
func (l *jobs) get(session, id string) (*job, error) {
	list := l.of(session)
	names := ""
	for _, j := range list {
		if j.id == id {
			return j, nil
		}
		names += " " + j.id
	}
	if names == "" {
		return nil, fmt.Errorf("there is no job %q, nor any other", clip(id, 40))
	}
	return nil, fmt.Errorf("there is no job %q; there are:%s", clip(id, 40), clip(names, 400))
}

// close ends all jobs and waits for them.
func (l *jobs) close() {
	l.mu.Lock()
	list := make([]*job, 0, len(l.list))
	for _, j := range l.list {
		list = append(list, j)
	}
	l.mu.Unlock()
	var wg sync.WaitGroup
	for _, j := range list {
		if j.p != nil {
			wg.Go(func() { _ = j.p.Close() })
		}
	}
	wg.Wait()
	l.wait.Wait()
}

func (j *job) endedAt() time.Time {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.ended
}

// active reports whether anything of the job runs.
func (j *job) active() bool {
	if j.past != nil {
		return false
	}
	select {
	case <-j.p.Done():
		return false
	default:
		return true
	}
}

// settle waits a moment for how the job ended to be known, after its command did.
func (j *job) settle(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 2*proc.DefaultMaxDrain)
	defer cancel()
	for res := j.p.Result(); res == nil || res.Running; res = j.p.Result() {
		select {
		case <-j.p.Done():
			return
		case <-ctx.Done():
			return
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// status says in a few words how the job stands.
func (j *job) status() string {
	if j.past != nil {
		return j.past.status
	}
	res := j.p.Result()
	if res == nil || res.Running && j.active() {
		s := "running, " + proc.Took(time.Since(j.p.Started()))
		prompt, ok := j.p.Waiting()
		switch {
		case !ok:
		case prompt == "":
			s += "; it seems to wait for input"
		default:
			s += fmt.Sprintf("; it seems to wait for input at %q", clip(visible(prompt), 200))
		}
		return s
	}
	s := jobEnd(res)
	if len(res.Leftovers) > 0 && j.active() {
		s += "; what it left runs: " + memberNames(res.Leftovers)
	}
	return s
}

// jobEnd says how a job ended. That its call had waited long enough before is no
// end of its own.
func jobEnd(res *proc.Result) string {
	r := *res
	r.TimedOut = r.TimedOut && r.Exit < 0 && r.Signal == "" && !r.Killed
	return r.Status()
}
