//go:build unix

package schema

import (
	"syscall"
	"time"
)

// processorTime is the time that this process has had on a processor, which,
// unlike the clock, does not count what others do on the machine.
func processorTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
