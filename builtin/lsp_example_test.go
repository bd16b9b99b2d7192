package builtin_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/agenttool/tool"
	"github.com/agenttool/tool/builtin"
	"github.com/agenttool/tool/tooltest"
)

// editor stands for a host that has language servers running, such as an editor.
type editor struct{}

func (editor) Open(string) {}

func (editor) Changed(_ context.Context, _, after []builtin.SourceFile) (*builtin.LSPReport, error) {
	return &builtin.LSPReport{New: []builtin.Diagnostic{{Path: after[0].Path, Line: 2, Column: 9, Severity: "error", Message: "undefined: y"}}}, nil
}

func (editor) Query(_ context.Context, q *builtin.LSPQuery) (*builtin.LSPAnswer, error) {
	at := builtin.LSPPosition{Line: 2, Column: 5}
	return &builtin.LSPAnswer{Server: "editor", Locations: []builtin.LSPLocation{{Path: q.Path, Start: at, End: at}}}, nil
}

// A host's own language servers: what they know reaches the model, and a change
// that breaks something says so.
func ExampleLSP() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(dir, "a.go"), []byte("package a\nvar x = 1\nvar z = x\n"), 0o666); err != nil {
		panic(err)
	}
	ts, err := builtin.New(builtin.Config{Root: dir, LSP: editor{}})
	if err != nil {
		panic(err)
	}
	defer ts.Close()
	for _, c := range []struct {
		name  string
		input map[string]any
	}{
		{"lsp", map[string]any{"operation": "definition", "filePath": "a.go", "line": 3, "symbol": "x"}},
		{"edit", map[string]any{"filePath": "a.go", "oldString": "var x = 1", "newString": "var x = y"}},
	} {
		t, _ := ts.Tool(c.name)
		call := tooltest.NewCall(c.name, c.input)
		res, err := t.Run(context.Background(), call.Bind(tool.Runtime{Approver: tooltest.AllowAll{}}))
		if err != nil {
			panic(err)
		}
		fmt.Println(res.Text)
	}
	// Output:
	// a.go:2:5: var x = 1
	// Edited a.go: line 2 (+1 -1 lines).
	// 1	package a
	// 2	var x = y
	// 3	var z = x
	// Errors that this change brought:
	// a.go:2:9: undefined: y
}

// A server of one's own: it is started when a file that it is for is read, changed
// or asked about. One that is missing is not downloaded; the model reads how to get it.
func ExampleLanguageServer() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(dir, "a.zig"), []byte("const x = 1;\n"), 0o666); err != nil {
		panic(err)
	}
	ts, err := builtin.New(builtin.Config{Root: dir, LanguageServers: []builtin.LanguageServer{builtin.Gopls(), {
		Name: "zls", Command: "zls-that-is-not-here", Extensions: map[string]string{".zig": "zig"}, RootMarkers: []string{"build.zig"},
		Install: "see the releases of zls",
	}}})
	if err != nil {
		panic(err)
	}
	defer ts.Close()
	t, _ := ts.Tool("lsp")
	call := tooltest.NewCall("lsp", map[string]any{"operation": "hover", "filePath": "a.zig", "symbol": "x"})
	_, err = t.Run(context.Background(), call.Bind(tool.Runtime{Approver: tooltest.AllowAll{}}))
	fmt.Println(tool.ModelText(err))
	// Output:
	// zls is not installed: zls-that-is-not-here was not found in PATH. To install it: see the releases of zls
}
