package builtin

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agenttool/tool/tooltest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const shapes = `-- go.mod --
module example.com/shapes

go 1.24
-- .gitignore --
gen/
-- shapes.go --
package shapes

// Shape has an area.
type Shape interface {
	// Area is what it covers.
	Area() float64
}

// Square is a shape 🙂 with equal sides.
type Square struct{ Side float64 }

func (s Square) Area() float64 { return s.Side * s.Side }

// Sum adds the areas of shapes.
func Sum(list ...Shape) float64 {
	total := 0.0
	for _, s := range list {
		total += s.Area()
	}
	return total
}
-- use/use.go --
package use

import (
	"fmt"

	"example.com/shapes"
)

const smile = "🙂"; var twice = shapes.Sum(shapes.Square{Side: 1}) * 2

func Twice() float64 { fmt.Println(smile); return twice }
-- gen/gen.go --
package gen

import "example.com/shapes"

var Gen = shapes.Sum()
`

// needGopls returns the server for Go, with times that a busy machine keeps.
func needGopls(t testing.TB) Config {
	t.Helper()
	s := Gopls()
	path, err := exec.LookPath(s.Command)
	if err != nil {
		home, _ := os.UserHomeDir()
		path = filepath.Join(home, "go", "bin", "gopls")
		if _, err := os.Stat(path); err != nil {
			t.Skip("gopls is not installed")
		}
	}
	s.Command, s.StartTimeout, s.RequestTimeout = path, time.Minute, time.Minute
	return Config{LanguageServers: []LanguageServer{s}, Limits: Limits{DiagnosticsTime: time.Minute, HookTime: 2 * time.Minute}}
}

// as runs the tool that a model calls by another name.
func (b *bench) as(alias string, input any) string {
	b.t.Helper()
	tl, _, err := b.ts.set.Lookup(alias)
	require.NoError(b.t, err)
	res, err := tl.Run(b.t.Context(), b.call(alias, input))
	require.NoError(b.t, err)
	return res.Text
}

// TestGoplsQueries: every operation against the real server.
func TestGoplsQueries(t *testing.T) {
	b := newBench(t, shapes, needGopls(t))
	for _, c := range []struct {
		name  string
		input in
		want  []string
		not   string
	}{
		{"definition by symbol", in{"operation": "definition", "filePath": "use/use.go", "line": 9, "symbol": "Sum"}, []string{"shapes.go:15:6: func Sum(list ...Shape) float64 {"}, ""},
		{"definition by column", in{"operation": "goToDefinition", "filePath": "use/use.go", "line": 9, "character": 39}, []string{"shapes.go:15:6:"}, ""},
		{"definition outside", in{"operation": "definition", "filePath": "use/use.go", "line": 11, "symbol": "Println"}, []string{"print.go:", "(outside the project)"}, "func"},
		{"definition, line off by two", in{"operation": "definition", "filePath": "use/use.go", "line": 7, "symbol": "shapes.Sum"}, []string{"shapes.go:15:6:", "not in line 7; the one at 9:39 was taken"}, ""},
		{"references", in{"operation": "references", "filePath": "shapes.go", "symbol": "Sum"}, []string{"2 places in 2 files", "shapes.go:15:6: (declaration) func Sum", "use/use.go:9:39: const smile", "(1 more in files that git ignores)"}, "gen.go"},
		{"hover", in{"operation": "hover", "filePath": "use/use.go", "line": 9, "symbol": "shapes.Sum"}, []string{"Sum adds the areas of shapes."}, ""},
		{"implementation", in{"operation": "implementation", "filePath": "shapes.go", "line": 4, "symbol": "Shape"}, []string{"shapes.go:10:6: type Square struct"}, ""},
		{"documentSymbol", in{"operation": "documentSymbol", "filePath": "shapes.go"}, []string{"4-7: interface Shape", "\n  6: method Area func() float64", "15-21: function Sum"}, ""},
		{"workspaceSymbol", in{"operation": "workspaceSymbol", "query": "Twice"}, []string{"use/use.go:11:6: (function Twice"}, ""},
		{"incomingCalls", in{"operation": "incomingCalls", "filePath": "shapes.go", "symbol": "Sum"}, []string{"call at use/use.go:9:39:"}, ""},
		{"outgoingCalls", in{"operation": "outgoingCalls", "filePath": "shapes.go", "symbol": "Sum"}, []string{"(function Area)", "call at shapes.go:18:14:"}, ""},
		{"diagnostics", in{"operation": "diagnostics", "filePath": "shapes.go"}, []string{"Nothing is wrong in shapes.go."}, ""},
		{"codeActions", in{"operation": "codeActions", "filePath": "shapes.go", "line": 16, "endLine": 20}, []string{"Extract function"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			b.t = t
			out := b.ok("lsp", c.input)
			for _, w := range c.want {
				assert.Contains(t, out, w)
			}
			if c.not != "" {
				assert.NotContains(t, out, c.not)
			}
			assert.Equal(t, []string{"lsp *"}, b.asks())
		})
	}
	b.t = t
	assert.Contains(t, b.fails("lsp", in{"operation": "rename", "filePath": "use/use.go", "line": 9, "symbol": "smile", "newName": "9"}), "9")
	assert.Contains(t, b.as("lsp_hover", in{"filePath": "shapes.go", "symbol": "Square.Side"}), "Side")
}

// TestGoplsRename: every file is asked about in one diff, and all are changed.
func TestGoplsRename(t *testing.T) {
	b := newBench(t, shapes, needGopls(t))
	out := b.ok("lsp", in{"operation": "rename", "filePath": "use/use.go", "line": 9, "symbol": "Sum", "newName": "Total"})
	assert.Contains(t, out, "Rename to Total: ")
	assert.Equal(t, []string{"lsp *", "edit gen/gen.go", "edit shapes.go", "edit use/use.go"}, b.asks())
	diff := b.asked[1].Metadata["diff"].(string)
	assert.Contains(t, diff, "+func Total(list ...Shape) float64 {")
	assert.Contains(t, b.file("shapes.go"), "// Total adds")
	assert.Contains(t, b.file("use/use.go"), `const smile = "🙂"; var twice = shapes.Total(shapes.Square{Side: 1}) * 2`)
	assert.NotContains(t, out, "Errors")
	b.ok("edit", in{"filePath": "shapes.go", "undo": true})
	assert.Contains(t, b.file("use/use.go"), "shapes.Sum(")
}

// TestGoplsCodeActions: an action is listed, and carried out like any change.
func TestGoplsCodeActions(t *testing.T) {
	b := newBench(t, "-- go.mod --\nmodule m\n\ngo 1.24\n-- a.go --\npackage m\n\nimport (\n\t\"os\"\n)\n\nfunc F() { strings.TrimSpace(\"\") }\n", needGopls(t))
	assert.Contains(t, b.ok("lsp", in{"operation": "codeActions", "filePath": "a.go", "line": 1}), `"Organize Imports" source.organizeImports`)
	out := b.ok("lsp", in{"operation": "codeActions", "filePath": "a.go", "line": 1, "action": "organize imports"})
	assert.Contains(t, out, "organize imports: ")
	assert.Equal(t, []string{"lsp *", "edit a.go"}, b.asks())
	assert.Equal(t, "package m\n\nimport \"strings\"\n\nfunc F() { strings.TrimSpace(\"\") }\n", b.file("a.go"))
	assert.Contains(t, b.as("lsp_diagnostics", in{"filePath": "a.go"}), "Nothing is wrong")
}

// TestGoplsNewErrors: an edit that brings an error names it and nothing else.
func TestGoplsNewErrors(t *testing.T) {
	b := newBench(t, strings.Replace(shapes, "return twice", "return twice + old", 1), needGopls(t))
	b.ok("read", in{"filePath": "use/use.go"})
	start := time.Now()
	out := b.ok("edit", in{"filePath": "use/use.go", "oldString": "fmt.Println(smile)", "newString": "fmt.Println(smile, fresh)"})
	t.Log(time.Since(start))
	assert.Contains(t, out, "Errors that this change brought:\nuse/use.go:11:43: undefined: fresh")
	assert.NotContains(t, out, "undefined: old")
	out = b.ok("edit", in{"filePath": "use/use.go", "oldString": "fmt.Println(smile, fresh)", "newString": "fmt.Println(smile)"})
	assert.NotContains(t, out, "rror")
	out = b.ok("apply_patch", in{"patchText": "*** Begin Patch\n*** Update File: shapes.go\n@@\n-func Sum(list ...Shape) float64 {\n+func Sum(list []Shape) float64 {\n*** End Patch"})
	assert.NotContains(t, out, "undefined: old")
	if !strings.Contains(out, "use/use.go:9:") { // what follows in other packages may come later on a busy machine
		require.Eventually(t, func() bool { return strings.Contains(b.as("lsp_diagnostics", in{}), "use/use.go:9:") }, time.Minute, time.Second)
	}
	out = b.ok("write", in{"filePath": "use/more.go", "content": "package use\n\nvar _ = nothing\n"})
	assert.Contains(t, out, "use/more.go:3:9: undefined: nothing")
	// What a command wrote is seen too.
	b.put("use/late.go", "package use\n\nvar nothing = 1\n")
	assert.Contains(t, b.as("lsp_diagnostics", in{"filePath": "use/more.go"}), "Nothing is wrong")
	require.NotNil(t, b.ts)
}

// goplsProcesses counts the processes that carry a mark.
func goplsProcesses(t testing.TB, mark string, do func(pid int)) int {
	n := 0
	list, err := filepath.Glob("/proc/[0-9]*/environ")
	require.NoError(t, err)
	for _, f := range list {
		var pid int
		if _, err := fmt.Sscanf(f, "/proc/%d/", &pid); err != nil || pid == os.Getpid() {
			continue
		}
		if b, err := os.ReadFile(f); err == nil && strings.Contains(string(b), mark) {
			if stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); err == nil && !strings.Contains(string(stat), ") Z ") {
				n++
				if do != nil {
					do(pid)
				}
			}
		}
	}
	return n
}

// TestGoplsNothingIsLeft: many calls at once, a server that is killed in between,
// and after Close there is no process, goroutine or descriptor more than before.
func TestGoplsNothingIsLeft(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("processes are counted in /proc")
	}
	cfg := needGopls(t)
	mark := fmt.Sprintf("LSP_TEST_MARK=%d-%d", os.Getpid(), time.Now().UnixNano())
	cfg.LanguageServers[0].Env = []string{mark}
	cfg.Limits.DiagnosticsTime = 5 * time.Second
	cfg.Root = tooltest.Workspace(t, shapes)
	before := census(t)
	ts, err := New(cfg)
	require.NoError(t, err)
	b := &bench{t: t, ts: ts, dir: cfg.Root}
	run := func(name string, input in) error {
		tl, _ := ts.Tool(name)
		_, err := tl.Run(t.Context(), b.call(name, input))
		return err
	}
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() { assert.NoError(t, run("read", in{"filePath": "shapes.go"})) })
		wg.Go(func() {
			assert.NoError(t, run("write", in{"filePath": fmt.Sprintf("use/f%d.go", i), "content": fmt.Sprintf("package use\n\nvar f%d = twice\n", i)}))
		})
		wg.Go(func() {
			assert.NoError(t, run("lsp", in{"operation": "references", "filePath": "shapes.go", "symbol": "Sum"}))
		})
	}
	wg.Wait()
	assert.Positive(t, goplsProcesses(t, mark, func(pid int) {
		if p, err := os.FindProcess(pid); err == nil {
			_ = p.Kill()
		}
	}))
	require.Eventually(t, func() bool {
		return run("lsp", in{"operation": "hover", "filePath": "shapes.go", "symbol": "Sum"}) == nil
	}, time.Minute, 100*time.Millisecond, "it is started again")
	for range 3 {
		go run("lsp", in{"operation": "references", "filePath": "shapes.go", "symbol": "Sum"})
	}
	require.NoError(t, ts.Close())
	require.Eventually(t, func() bool {
		after := census(t)
		return goplsProcesses(t, mark, nil) == 0 && after[0] <= before[0]+1 && after[1] <= before[1] // Eventually itself has a goroutine
	}, time.Minute, 50*time.Millisecond)
	_, err = os.Stat(filepath.Join(cfg.Root, "use", "f7.go"))
	require.NoError(t, err)
}
