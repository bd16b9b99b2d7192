package builtin_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/agenttool/tool"
	"github.com/agenttool/tool/builtin"
	"github.com/agenttool/tool/tooltest"
)

// A checker that finds lines with three exclamation marks. It says what is wrong in the
// files it is given; what was wrong before the change is not reported.
func ExampleConfig_diagnostics() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("one!!!\ntwo\n"), 0o666); err != nil {
		panic(err)
	}
	ts, err := builtin.New(builtin.Config{
		Root: dir,
		Diagnostics: func(_ context.Context, files []builtin.SourceFile) ([]builtin.Diagnostic, error) {
			var found []builtin.Diagnostic
			for _, f := range files {
				for i, line := range bytes.Split(f.Content, []byte("\n")) {
					if bytes.Contains(line, []byte("!!!")) {
						found = append(found, builtin.Diagnostic{Path: f.Path, Line: i + 1, Severity: "error", Message: "too loud"})
					}
				}
			}
			return found, nil
		},
		OnFileChange: func(_ context.Context, ch builtin.FileChange) {
			fmt.Println("changed:", ch.Operation, filepath.Base(ch.Path), "by", ch.Tool)
		},
	})
	if err != nil {
		panic(err)
	}
	defer ts.Close()
	edit, _ := ts.Tool("edit")
	call := tooltest.NewCall("edit", map[string]any{"filePath": "a.txt", "oldString": "two", "newString": "zwei!!!\ndrei"})
	res, err := edit.Run(context.Background(), call.Bind(tool.Runtime{Approver: tooltest.AllowAll{}}))
	if err != nil {
		panic(err)
	}
	fmt.Println(res.Text)
	// Output:
	// changed: update a.txt by edit
	// Edited a.txt: lines 2-3 (+2 -1 lines).
	// 1	one!!!
	// 2	zwei!!!
	// 3	drei
	// Errors that this change brought:
	// a.txt:2:1: too loud
}
