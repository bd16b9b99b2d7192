package builtin

import (
	"context"
	"fmt"
	"os/exec"

	"github.com/agenttool/tool"
	"github.com/agenttool/tool/tooltest"
)

// ownBox is a host's own sandbox. This one confines nothing, and says so.
type ownBox struct{}

func (ownBox) Start(_ context.Context, cmd *exec.Cmd, p *SandboxPolicy) (*SandboxEnforced, error) {
	if !p.BestEffort {
		return nil, ErrNoSandbox
	}
	return &SandboxEnforced{Method: "mine", Gaps: []string{"everything"}}, cmd.Start()
}

// DetectSandbox finds what the system has; a host may also bring its own.
func ExampleSandbox() {
	for _, effort := range []bool{false, true} {
		ts, err := New(Config{Root: ".", Bash: BashConfig{Sandbox: ownBox{}, SandboxPolicy: SandboxPolicy{BestEffort: effort}}})
		if err != nil {
			panic(err)
		}
		set, err := tool.NewSet(context.Background(), nil, ts.Tools()...)
		if err != nil {
			panic(err)
		}
		ex := &tool.Executor{Approver: tooltest.AllowAll{}}
		o := ex.Do(context.Background(), set, tooltest.NewCall("bash", `{"command":"echo hi"}`))
		fmt.Println(o.Result.Metadata["output"], o.Result.Metadata["sandbox"], o.Err)
		ts.Close()
	}
	// Output:
	// <nil> <nil> cannot start bash: sandbox: the sandbox cannot enforce this here
	// hi map[gaps:[everything] hide:false method:mine network:false protect:false read:false write:false] <nil>
}
