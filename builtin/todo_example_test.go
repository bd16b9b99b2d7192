package builtin_test

import (
	"context"
	"fmt"
	"os"

	"github.com/agenttool/tool"
	"github.com/agenttool/tool/builtin"
	"github.com/agenttool/tool/tooltest"
)

// The host keeps a session's list and gives it back when the session is resumed.
func ExampleToolset_Todos() {
	dir, err := os.MkdirTemp("", "project")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	ts, err := builtin.New(builtin.Config{Root: dir})
	if err != nil {
		panic(err)
	}
	defer func() { _ = ts.Close() }()

	if err := ts.SetTodos("session_1", []builtin.Todo{{Content: "write the test"}, {Content: "write the code"}}); err != nil {
		panic(err)
	}
	write, _ := ts.Tool("todowrite")
	call := tooltest.NewCall("todowrite", `{"merge":true,"todos":[{"id":"1","status":"done"}]}`)
	res, err := write.Run(context.Background(), call.Bind(tool.Runtime{Approver: tooltest.AllowAll{}}))
	if err != nil {
		panic(err)
	}
	fmt.Println(res.Text)
	for _, t := range ts.Todos("session_1") {
		fmt.Println(t.ID, t.Status)
	}
	// Output:
	// 1 of 2 done ([>] in progress, [x] completed, [-] cancelled)
	// 1 [x] write the test
	// 2 [ ] write the code
	// Note: status "done" was taken as completed.
	// 1 completed
	// 2 pending
}
