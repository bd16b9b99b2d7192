package main

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"

	"github.com/agenttool/tool"
	"github.com/agenttool/tool/builtin"
)

// scouts runs subagents. A real host would have its own loop and model here; this
// one's model has two calls in mind and reads the answer from their results.
type scouts struct{}

func (scouts) Subagents(context.Context, *tool.Agent) ([]builtin.Subagent, error) {
	return []builtin.Subagent{{
		Name: "explore", Description: "finds out where things are; changes nothing",
		Tools: map[string]bool{"*": false, "glob": true, "grep": true},
	}}, nil
}

var found = regexp.MustCompile(`(?m)^(\d+): func Median`)

func (scouts) RunSubagent(ctx context.Context, run *builtin.SubagentRun) (string, error) {
	run.Say("I search for the function and its tests.")
	outcomes, err := run.Call(ctx,
		&tool.Call{Tool: "grep", Input: json.RawMessage(`{"pattern":"func Median","include":"*.go"}`)},
		&tool.Call{Tool: "glob", Input: json.RawMessage(`{"pattern":"**/*_test.go"}`)},
	)
	if err != nil {
		return "", err
	}
	line := found.FindStringSubmatch(outcomes[0].Result.Text)
	if line == nil {
		return "", fmt.Errorf("there is no Median: %s", outcomes[0].Result.Text)
	}
	return fmt.Sprintf("Median is in stats.go, line %s; its tests are in %s.", line[1], outcomes[1].Result.Text), nil
}
