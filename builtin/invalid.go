package builtin

import (
	"context"
	"errors"

	"github.com/agenttool/tool"
)

// Invalid returns the tool "invalid", which hosts that route malformed calls
// themselves call in the place of a tool that was not called right. Its result is an
// error for the model with what was wrong. No agent is offered it, so it is in no
// [tool.Set]; the [tool.Executor] answers malformed calls by itself.
func Invalid() tool.Tool {
	type input struct {
		Tool  string `json:"tool" jsonschema:"the tool that was called"`
		Error string `json:"error" jsonschema:"what was wrong"`
	}
	return tool.Define(tool.Def{
		Name: "invalid", Title: "Invalid call", Parallel: true, Hints: tool.Hints{ReadOnly: true, Idempotent: true},
		Description: "Do not use.",
		Describe:    func(context.Context, *tool.Agent) (string, error) { return "", tool.ErrHidden },
	}, func(_ context.Context, _ *tool.Call, in input) (*tool.Result, error) {
		text := "The arguments of the call of " + oneLine(clip(in.Tool, 80)) + " were not valid, and nothing was run: " + visible(clip(in.Error, 4<<10))
		return &tool.Result{Metadata: map[string]any{"tool": in.Tool}}, errors.New(text)
	})
}
