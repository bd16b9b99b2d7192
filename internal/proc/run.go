package proc

import (
	"context"
	"slices"
	"time"
)

// run sees the process through: until the leader ends or is stopped, through the
// drain of late output, and until what was left behind is gone as well.
func (p *Process) run(ctx context.Context) {
	o := &p.outcome
	job := p.watchLeader(ctx)
	if !o.stopped {
		stop := p.drain(ctx, job, p.spec.Idle, p.spec.MaxDrain)
		left := p.leftovers()
		switch {
		case len(left) == 0:
		case stop:
			o.ending = left
			p.stop()
		case p.spec.Leftovers == LeftoversKill:
			o.ending = left
			p.stopWith(min(p.spec.Grace, 200*time.Millisecond))
		default:
			o.left = left
			p.publish(false)
			p.watchLeftovers()
		}
	}
	if o.stopped {
		// Everything of ours is dead; a stranger may still hold the pipe.
		p.drainFor(p.spec.Idle, 500*time.Millisecond)
		o.left, _ = p.group.members(false)
	}
	p.out.finish()
	_ = p.CloseInput()
	p.publish(true)
	_ = p.out.collect.Close() // its error is in the Cut of the Result
	p.group.close()
}

// leftovers returns who outlived the leader. What is just about to end, such as
// the writer that closed the pipe a moment ago, does not count.
func (p *Process) leftovers() []Member {
	for wait := time.Millisecond; ; wait *= 2 {
		left, _ := p.group.members(true)
		if len(left) == 0 || wait > 16*time.Millisecond {
			return left
		}
		time.Sleep(wait)
	}
}

// watchLeader returns when the leader has ended by itself or was stopped. job
// says that the process was detached meanwhile: then ctx is no longer its own.
func (p *Process) watchLeader(ctx context.Context) (job bool) {
	o := &p.outcome
	var timeout <-chan time.Time
	if p.spec.Timeout > 0 {
		t := time.NewTimer(p.spec.Timeout)
		defer t.Stop()
		timeout = t.C
	}
	cancel, detach := ctx.Done(), (<-chan struct{})(p.detach)
	for {
		select {
		case <-p.exited:
			o.ended = time.Since(p.start)
			return job
		case <-timeout:
			timeout = nil
			if ended(p.exited) {
				continue
			}
			o.timedOut = true
			o.waiting, _ = p.Waiting()
			if p.spec.OnTimeout == TimeoutDetach {
				p.Detach()
				continue
			}
			p.stop()
			return job
		case <-detach:
			job, detach, cancel, timeout = true, nil, nil, nil
			p.publish(false)
		case <-cancel:
			o.cancelled = true
			p.stop()
			return job
		case <-p.kill:
			o.killed = true
			p.stop()
			return job
		}
	}
}

func ended(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// drain waits for late output after the leader's end: until nobody holds the
// pipe, or nothing came for idle, or limit is over. What the leader itself wrote
// is read in any case: on a machine with too much to do seconds can pass before
// we get to it. drain reports whether the process is to be stopped instead.
func (p *Process) drain(ctx context.Context, job bool, idle, limit time.Duration) (stop bool) {
	cancel := ctx.Done()
	if job {
		cancel = nil
	}
	begin := time.Now()
	caughtUp := p.out.mark()
	t := time.NewTimer(idle)
	defer t.Stop()
	for {
		select {
		case <-p.out.ended:
			return false
		case <-t.C:
			since := time.Since(begin)
			rest := idle - min(p.out.quiet(), since)
			// Bytes in the pipe mean that we are late, not that all is quiet.
			if rest <= 0 && p.out.waiting() {
				rest = idle / 10
			}
			if rest <= 0 || since >= limit && caughtUp() || since >= limit+maxBehind {
				return false
			}
			t.Reset(max(time.Millisecond, min(rest, limit-since)))
		case <-cancel:
			return true
		case <-p.kill:
			return true
		}
	}
}

// maxBehind is how much longer than it should a drain may take because reading
// does not get on.
const maxBehind = 10 * time.Second

// drainFor is drain for a process that was stopped, which nothing stops any more.
func (p *Process) drainFor(idle, limit time.Duration) {
	caughtUp := p.out.mark()
	for begin := time.Now(); ; {
		select {
		case <-p.out.ended:
			return
		case <-time.After(min(idle, limit) / 4):
			since := time.Since(begin)
			if min(p.out.quiet(), since) >= idle && !p.out.waiting() || since >= limit && caughtUp() || since >= limit+maxBehind {
				return
			}
		}
	}
}

// watchLeftovers returns when everything that outlived the leader has ended, or
// was stopped. The leader stays unreaped meanwhile.
func (p *Process) watchLeftovers() {
	const least, most = 50 * time.Millisecond, time.Second
	for wait := least; ; wait = min(wait*5/4, most) {
		select {
		case <-p.kill:
			p.outcome.ending = p.outcome.left
			p.stop()
			return
		case <-time.After(wait):
			left, known := p.group.members(false)
			if len(left) == 0 && known {
				p.outcome.left = nil
				// Its last words may be on their way.
				p.drainFor(p.spec.Idle, p.spec.MaxDrain)
				return
			}
			p.outcome.left = left
		}
	}
}

// stop ends everything, within the grace that the reason allows.
func (p *Process) stop() {
	grace := p.spec.Grace
	if ended(p.kill) {
		grace = time.Duration(p.grace.Load())
	}
	p.stopWith(grace)
}

// stopWith asks everything to end, and after grace ends it. It returns when
// nothing is left, or nothing more can be done.
func (p *Process) stopWith(grace time.Duration) {
	o := &p.outcome
	o.stopped = true
	if grace > 0 && p.gone(grace, 1, p.group.terminate) {
		p.noteEnd()
		return
	}
	// Some rounds at least, however slow the machine: what starts processes
	// while they are looked for has to be hit several times.
	p.gone(time.Second, 4, p.group.killAll)
	select {
	case <-p.exited:
	case <-time.After(time.Second):
		p.notes = append(p.notes, "The command could not be ended: the system keeps it in a call that cannot be interrupted.")
	}
	p.noteEnd()
}

func (p *Process) noteEnd() {
	if p.outcome.ended == 0 {
		p.outcome.ended = time.Since(p.start)
	}
}

// gone signals the members, also those that show up later, until none is alive,
// or the time is over and so many rounds were made.
func (p *Process) gone(limit time.Duration, rounds int, signal func([]Member)) bool {
	begin := time.Now()
	sent := map[Member]bool{}
	for round := 0; ; round++ {
		// A quick look does for going on, but not for saying that all are gone.
		left, known := p.group.members(round > 0)
		over := ended(p.exited)
		if len(left) == 0 && known && over {
			if round > 0 {
				left, known = p.group.members(false)
			}
			if len(left) == 0 && known {
				return true
			}
		}
		since := time.Since(begin)
		// If the system does not show who is left, the leader's end has to do.
		if round >= rounds && (since >= limit || !known && over) {
			return false
		}
		var fresh []Member
		for _, m := range left {
			if key := (Member{PID: m.PID, start: m.start}); !sent[key] {
				sent[key] = true
				fresh = append(fresh, m)
			}
		}
		if round == 0 || len(fresh) > 0 {
			signal(fresh)
		}
		exited := p.exited
		if over {
			exited = nil
		}
		select {
		case <-exited:
		case <-time.After(pollEvery(since)):
		}
	}
}

// publish makes a Result of how things stand. The first one makes the Process ready.
func (p *Process) publish(final bool) {
	o := &p.outcome
	r := &Result{
		Exit: -1, TimedOut: o.timedOut, Cancelled: o.cancelled, Killed: o.killed,
		Waiting: o.waiting, Dir: p.dir, Notes: slices.Clone(p.notes), Leftovers: o.left, Ended: o.ending, Duration: o.ended,
	}
	switch {
	case !ended(p.exited) && !final:
		r.Running = true
		r.Duration = time.Since(p.start)
	case !ended(p.exited):
		// It cannot be ended. Whoever waits for it does so alone.
		go func() {
			<-p.exited
			_, _ = p.group.reap()
		}()
	case !final:
		r.Exit, r.Signal = p.group.peek()
	default:
		ps, err := p.group.reap()
		r.exitOf(ps)
		if ps == nil && err != nil {
			r.Notes = append(r.Notes, "How the command ended is not known: "+err.Error()+".")
		}
	}
	ctx := context.Background()
	r.Raw = p.out.collect.Snapshot(0).Raw
	if r.Binary = p.out.binary.Load(); r.Binary {
		r.Cut.Path, r.Cut.SpillErr = p.out.collect.Keep(ctx)
		r.Cut.Truncated, r.Cut.TotalBytes, r.Cut.TotalLines = true, int(r.Raw), -1
		r.Text = binaryText(r.Raw, r.Cut.Path)
	} else {
		r.Cut = p.out.collect.Cut(ctx, p.spec.Show)
		r.Text = r.Cut.Text
	}
	p.mu.Lock()
	p.result = r
	p.mu.Unlock()
	if ended(p.ready) {
		return
	}
	if p.updated != nil {
		close(p.settled)
		select {
		case <-p.updated:
		case <-time.After(time.Second): // who gets the updates does not return
		}
	}
	close(p.ready)
}
