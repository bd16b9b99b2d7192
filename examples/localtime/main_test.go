package main

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestRun(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), &out, func() time.Time { return time.Date(2026, 3, 1, 17, 30, 5, 0, time.UTC) }))
	assert.Equal(t, `> get_local_time {"timezone":"America/New_York"}
Local time (America/New_York): 3/1/2026, 12:30:05 PM
> get_local_time {}
Local time (UTC): 3/1/2026, 5:30:05 PM
> get_local_time {"timezone":"Mars/Olympus_Mons"}
error: there is no time zone "Mars/Olympus_Mons"; use a name such as Europe/Berlin
`, out.String())
}
