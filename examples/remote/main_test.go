package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The worker is the test binary again.
func TestMain(m *testing.M) {
	if url := os.Getenv(envURL); url != "" {
		if err := work(context.Background(), url, os.Getenv(envToken), os.Getenv(envDir)); err != nil {
			fmt.Fprintln(os.Stderr, "worker:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func TestRemote(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("there is no shell for the worker's commands")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	var first, second bytes.Buffer
	require.NoError(t, run(ctx, &first))
	require.NoError(t, run(ctx, &second))
	assert.Equal(t, first.String(), second.String(), "every run prints the same")
	for _, want := range []string{
		"read: true, edit: true", "alpha\n2\tgamma", "begun\nended\n[exit 0]", "(the connection was cut while it ran)", "rm notes.txt: no", "Keep the notes",
	} {
		assert.Contains(t, first.String(), want)
	}
}
