//go:build !unix

package clienttool_test

import "time"

// processorTime is not known here; the ratio of it is left out.
func processorTime() time.Duration { return 0 }
