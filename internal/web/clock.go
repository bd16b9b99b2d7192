package web

import (
	"context"
	"time"
)

// clock is the one deadline of a fetch. It stands still while a user is asked.
// It is used by one goroutine.
type clock struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	timer  *time.Timer
	since  time.Time
	left   time.Duration
}

func newClock(parent context.Context, timeout time.Duration) *clock {
	c := &clock{left: timeout, since: time.Now()}
	c.ctx, c.cancel = context.WithCancelCause(parent)
	c.timer = time.AfterFunc(timeout, func() { c.cancel(ErrTimeout) })
	return c
}

// pause stops the clock; false means that the time was over already.
func (c *clock) pause() bool {
	stopped := c.timer.Stop()
	c.left -= time.Since(c.since)
	return stopped && c.ctx.Err() == nil
}

func (c *clock) resume() {
	c.since = time.Now()
	c.timer.Reset(max(c.left, 0))
}

// stop ends the clock and whatever still runs under its context.
func (c *clock) stop() {
	c.timer.Stop()
	c.cancel(context.Canceled)
}
