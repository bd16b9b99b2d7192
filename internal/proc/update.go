package proc

import (
	"time"
)

// maxUpdate is how much of the end of the output an Update has, in bytes.
const maxUpdate = 8 << 10

// Update is how a running process stands.
type Update struct {
	Text    string // the end of the output so far; in the final one, the text of the Result
	Bytes   int64  // of the output so far, cleaned
	Lines   int64
	Elapsed time.Duration
	// Waiting is the prompt at which the process seems to wait for input.
	Waiting string
	Final   bool
}

// Snapshot returns how the process stands now, with at most size bytes of the
// end of its output.
func (p *Process) Snapshot(size int) Update {
	u := Update{Elapsed: time.Since(p.start)}
	s := p.out.collect.Snapshot(size)
	u.Text, u.Bytes, u.Lines = s.Text, s.Bytes, s.Lines
	if p.out.binary.Load() {
		u.Text = binaryText(s.Raw, "")
	}
	if r := p.Result(); r != nil && !r.Running {
		u.Elapsed = r.Duration
	}
	return u
}

// update delivers updates until the first Result is there. It is a goroutine of
// its own so that a slow receiver delays nothing but the next update.
func (p *Process) update() {
	defer close(p.updated)
	tick := time.NewTicker(p.spec.UpdateEvery)
	defer tick.Stop()
	var raw int64
	var waiting string
	var looked time.Time
	for {
		select {
		case <-p.settled:
			u := p.Snapshot(0)
			r := p.Result()
			u.Text, u.Waiting, u.Final = r.Text, r.Waiting, true
			p.deliver(u)
			return
		case <-tick.C:
			now := p.out.collect.Snapshot(0).Raw
			changed := now != raw
			raw = now
			switch {
			case changed && waiting != "":
				waiting = ""
			case !changed && p.out.quiet() >= p.spec.Quiet && time.Since(looked) >= time.Second:
				looked = time.Now()
				if w, ok := p.Waiting(); ok && w != waiting {
					waiting, changed = w, true
				}
			}
			if !changed {
				continue
			}
			u := p.Snapshot(maxUpdate)
			u.Waiting = waiting
			if !p.deliver(u) {
				return
			}
		}
	}
}

// deliver hands u over; it reports false if the receiver panicked.
func (p *Process) deliver(u Update) bool {
	return protect(func() error {
		p.spec.Update(u)
		return nil
	}) == nil
}
