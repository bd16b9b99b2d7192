package proc

import "time"

// Member is a process that a command left behind.
type Member struct {
	PID     int
	Command string // its command line as far as known, at most 200 bytes

	pgrp  int
	start uint64 // when it was started, to tell it from a later one with the same PID
}

// pollEvery returns how long to wait until the next look at what is left, after
// so long: often at first, because most processes end at once.
func pollEvery(since time.Duration) time.Duration {
	return max(2*time.Millisecond, min(since/4, 50*time.Millisecond))
}
