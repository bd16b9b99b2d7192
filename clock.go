package tool

import (
	"sync"
	"time"
)

// clock is a timeout that can be paused, so that a call is not charged for the
// time its user takes to answer. Pauses nest.
type clock struct {
	mu     sync.Mutex
	timer  *time.Timer
	left   time.Duration
	since  time.Time // when the timer was last set
	paused int
	over   bool
	fire   func()
}

func newClock(limit time.Duration, fire func()) *clock {
	c := &clock{left: limit, since: time.Now(), fire: fire}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.timer = time.AfterFunc(limit, c.expire)
	return c
}

func (c *clock) expire() {
	c.mu.Lock()
	over := c.over || c.paused > 0
	if !over {
		c.over = true
	}
	c.mu.Unlock()
	if !over {
		c.fire()
	}
}

func (c *clock) pause() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.paused++
	if c.paused == 1 && !c.over {
		c.timer.Stop()
		c.left -= time.Since(c.since)
	}
}

func (c *clock) resume() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.paused--
	if c.paused == 0 && !c.over {
		c.since = time.Now()
		c.timer.Reset(max(c.left, 0))
	}
}

func (c *clock) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over = true
	c.timer.Stop()
}
