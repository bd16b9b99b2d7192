package builtin

import (
	"context"
	"testing"
	"time"

	"github.com/agenttool/tool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestWriteThatHangs: a call ends with its context although a write does not
// return, and what comes back later changes nothing.
func TestWriteThatHangs(t *testing.T) {
	b := newBench(t, "-- f --\none\n-- g --\ntwo\n", Config{})
	hang, reached := make(chan struct{}), make(chan struct{}, 10)
	b.ts.writer.Fault = func(step, _ string) error {
		if step == "sync" || step == "write" {
			reached <- struct{}{}
			<-hang
		}
		return nil
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-reached
		cancel()
	}()
	start := time.Now()
	_, err := b.runIn(ctx, "edit", in{"filePath": "f", "oldString": "one", "newString": "1"})
	require.ErrorIs(t, err, ErrStuck)
	require.ErrorIs(t, err, context.Canceled)
	assert.Less(t, time.Since(start), 20*time.Second)
	assert.Contains(t, tool.ModelText(err), "look at the file before you try again")
	assert.EqualValues(t, 1, b.ts.stuck.n.Load())

	close(hang)
	require.Eventually(t, func() bool { return b.ts.stuck.n.Load() == 0 && b.ts.locks.Len() == 0 }, 20*time.Second, time.Millisecond)
	assert.Equal(t, "one\n", b.file("f"), "the change is not made behind the caller's back")
	b.ok("edit", in{"filePath": "f", "oldString": "one", "newString": "1"})
}

// TestTooManyHang: calls that wait for ever do not pile up without bound.
func TestTooManyHang(t *testing.T) {
	b := newBench(t, "-- f --\none\n", Config{})
	b.ts.stuck.n.Store(maxStuck)
	assert.Contains(t, b.fails("read", in{"filePath": "f"}), "64 calls wait for it already")
	b.ts.stuck.n.Store(0)
	b.ok("read", in{"filePath": "f"})
}

// TestApprovedTooLate: an answer that comes after the call has ended allows nothing.
func TestApprovedTooLate(t *testing.T) {
	b := newBench(t, "-- f --\none\n", Config{})
	asked, answer, done := make(chan struct{}), make(chan struct{}), make(chan struct{})
	b.approver = tool.ApproverFunc(func(context.Context, *tool.Call, *tool.Request) error {
		defer close(done)
		close(asked)
		<-answer // deaf to its context
		return nil
	})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-asked
		cancel()
	}()
	_, err := b.runIn(ctx, "edit", in{"filePath": "f", "oldString": "one", "newString": "1"})
	require.Error(t, err)
	close(answer)
	<-done
	require.Eventually(t, func() bool { return b.ts.stuck.n.Load() == 0 }, 20*time.Second, time.Millisecond)
	assert.Equal(t, "one\n", b.file("f"))
}
