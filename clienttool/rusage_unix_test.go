//go:build unix

package clienttool_test

import (
	"time"

	"golang.org/x/sys/unix"
)

// processorTime is what this process has used so far. Unlike the clock it does not
// count what other programs of the machine do.
func processorTime() time.Duration {
	var r unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &r) != nil {
		return 0
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}
