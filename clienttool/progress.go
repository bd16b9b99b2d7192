package clienttool

import "errors"

// progress holds the one report of a call that waits to be read. It is guarded by
// the hub's lock; the callback runs in a goroutine that lives while there is one.
type progress struct {
	slot   *Progress
	busy   bool
	closed bool
	n      uint64
	text   int // what output and deltas add up to
	cut    bool
}

func (p *progress) close() { p.closed, p.slot = true, nil }

var errProgress = errors.New("progress is too large")

// report takes progress from a client. It is called with h.mu held.
func (c *Call) report(in *Progress) error {
	h, p := c.h, &c.progress
	lim := h.opt.Limits
	if in == nil {
		return nil
	}
	if over(in.size(), lim.ProgressBytes) {
		return errProgress
	}
	c.started()
	if p.closed || in.N != 0 && in.N <= p.n {
		return nil
	}
	p.n = max(p.n, in.N)
	q := *in
	q.Title = oneLine(q.Title, maxTitleBytes)
	if len(q.Metadata) > maxMetadataBytes || !isObject(q.Metadata) {
		q.Metadata = nil
	}
	if q.Delta != "" {
		if p.text += len(q.Delta); over(p.text, lim.ProgressBudget) {
			q.Delta = ""
			if !p.cut {
				q.Delta, p.cut = "\n[further progress of this call is left out; the result has all]\n", true
			}
		}
	}
	ev := c.event(EventProgress)
	ev.Progress = &q
	h.emit(ev)
	if c.opt.onProgress == nil {
		return nil
	}
	if p.slot == nil {
		s := q
		p.slot = &s
	} else {
		p.slot.merge(&q)
	}
	if !p.busy {
		p.busy = true
		go c.drainProgress()
	}
	return nil
}

func (c *Call) drainProgress() {
	for {
		c.h.mu.Lock()
		s := c.progress.slot
		c.progress.slot = nil
		if s == nil {
			c.progress.busy = false
			c.h.mu.Unlock()
			return
		}
		c.h.mu.Unlock()
		contain(func() { c.opt.onProgress(*s) })
	}
}

// isObject reports whether b is a JSON object, or nothing.
func isObject(b []byte) bool {
	for _, c := range b {
		switch c {
		case ' ', '\t', '\r', '\n':
			continue
		}
		return c == '{'
	}
	return len(b) == 0
}
