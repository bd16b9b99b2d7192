package builtin_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/agenttool/tool"
	"github.com/agenttool/tool/builtin"
)

// scout is a runner without a model: it looks for TODO and reports.
type scout struct{}

func (scout) Subagents(context.Context, *tool.Agent) ([]builtin.Subagent, error) {
	return []builtin.Subagent{{Name: "scout", Description: "finds things", Tools: map[string]bool{"*": false, "grep": true}}}, nil
}

func (scout) RunSubagent(ctx context.Context, run *builtin.SubagentRun) (string, error) {
	run.Say("I look.")
	outcomes, err := run.Call(ctx, &tool.Call{Tool: "grep", Input: []byte(`{"pattern":"TODO"}`)})
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s, asked to %q, has %d tool and found: %v", run.Agent.Name, run.Prompt, run.Tools().Len(),
		strings.Contains(outcomes[0].Result.Text, "a.go")), nil
}

func ExampleSubagentRunner() {
	dir, err := os.MkdirTemp("", "example-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(dir, "a.go"), []byte("package a // TODO\n"), 0o666); err != nil {
		panic(err)
	}
	tools, err := builtin.New(builtin.Config{Root: dir, Task: builtin.TaskConfig{Runner: scout{}}})
	if err != nil {
		panic(err)
	}
	defer tools.Close()
	set, err := tool.NewSet(context.Background(), nil, tools.Tools()...)
	if err != nil {
		panic(err)
	}
	ex := &tool.Executor{Approver: tool.ApproverFunc(func(_ context.Context, _ *tool.Call, req *tool.Request) error {
		fmt.Println("asked:", req.Agent, req.Permission, req.Patterns)
		return nil
	})}
	out := ex.Do(context.Background(), set, &tool.Call{ID: "1", Tool: "task",
		Input: []byte(`{"description":"find TODO","prompt":"look for TODO","subagent_type":"scout"}`)})
	answer, _, _ := strings.Cut(out.Result.Text, "\n")
	fmt.Println(answer)
	// Output:
	// asked:  task [scout]
	// asked: scout grep [TODO]
	// scout, asked to "look for TODO", has 1 tool and found: true
}
