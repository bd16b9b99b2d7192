package permission_test

import (
	"context"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/agenttool/tool"
	"github.com/agenttool/tool/permission"
)

// A subscriber that ends the goroutine it is called in, as a failing assertion of a
// test does, has failed like one that panics: the question is denied, and others
// still hear of it.
func TestSubscriberThatEndsItsGoroutine(t *testing.T) {
	gate := &permission.Gate{}
	defer gate.Subscribe(func(permission.Event) { runtime.Goexit() })()
	for range 2 {
		err := gate.Approve(context.Background(), &tool.Call{ID: "1"}, &tool.Request{ID: "r", Permission: "edit", Patterns: []string{"a"}})
		assert.ErrorIs(t, err, tool.ErrDenied)
	}
	assert.Empty(t, gate.Pending(""))
}
