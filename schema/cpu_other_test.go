//go:build !unix

package schema

import "time"

var started = time.Now()

// processorTime falls back to the clock.
func processorTime() time.Duration { return time.Since(started) }
