package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/agenttool/tool/builtin"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestQuickstart(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	before := runtime.NumGoroutine()
	for _, servers := range [][]builtin.LanguageServer{nil, languageServers()} {
		check(t, servers)
	}
	left, err := os.ReadDir(os.Getenv("TMPDIR"))
	require.NoError(t, err)
	for _, e := range left {
		assert.False(t, strings.HasPrefix(e.Name(), "quickstart-"), "%s is left behind", e.Name())
	}
	for deadline := time.Now().Add(10 * time.Second); runtime.NumGoroutine() > before && time.Now().Before(deadline); {
		time.Sleep(5 * time.Millisecond)
	}
	assert.LessOrEqual(t, runtime.NumGoroutine(), before)
}

// check runs it twice, with or without a language server.
func check(t *testing.T, servers []builtin.LanguageServer) {
	var first, second bytes.Buffer
	require.NoError(t, run(t.Context(), &first, nil, servers))
	require.NoError(t, run(t.Context(), &second, nil, servers))
	assert.Equal(t, first.String(), second.String(), "every run prints the same")
	for _, want := range []string{
		"pending   call-1", "running   call-1", "completed call-1",
		`repaired /offset: "18" became 18`, "error     call-5", "answered  call-10 reject", "undefined: middle", "want 2.5",
		"completed call-1 skill", "completed call-2.1 grep", "Median is in stats.go, line 20", "[subagent explore, 2 calls, session_id task_ID]",
		"completed call-4.2 bash", "completed call-4 batch: 2 of 2 calls", "| even | the mean of the two in the middle |",
		"13 calls completed, 3 ended in an error the model could read, 6 questions were asked",
	} {
		assert.Contains(t, first.String(), want)
	}
}

func TestInteractive(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), &out, strings.NewReader("what\no\no\na\no\no\nr keep it\n"), nil))
	assert.Contains(t, out.String(), "[o]nce, [a]lways, [r]eject")
	assert.Contains(t, out.String(), "The user rejected this and said: keep it")
}

func TestInteractiveInputEnds(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), &out, strings.NewReader(""), nil))
	assert.Contains(t, out.String(), "4 calls completed, 10 ended in an error", "nothing runs that nobody allowed")
	_, end, _ := strings.Cut(out.String(), "== the end")
	assert.NotContains(t, end, "sorted[mid-1]")
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	gone := errors.New("user pressed escape")
	cancel(gone)
	var out bytes.Buffer
	assert.ErrorIs(t, run(ctx, &out, nil, nil), gone)
}
