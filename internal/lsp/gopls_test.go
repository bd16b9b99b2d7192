package lsp

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"
)

const project = `-- go.mod --
module example.com/shapes

go 1.24
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

import "example.com/shapes"

const smile = "🙂"; var twice = shapes.Sum(shapes.Square{Side: 1}) * 2

func Twice() float64 { return twice }
`

// unpack writes an archive to a directory of its own.
func unpack(t testing.TB, archive string) string {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	for _, f := range txtar.Parse([]byte(archive)).Files {
		name := filepath.Join(dir, filepath.FromSlash(f.Name))
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o777))
		require.NoError(t, os.WriteFile(name, f.Data, 0o666))
	}
	return dir
}

func goplsServer(t testing.TB) Server {
	path, err := exec.LookPath("gopls")
	if err != nil {
		home, _ := os.UserHomeDir()
		path = filepath.Join(home, "go", "bin", "gopls")
		if _, err := os.Stat(path); err != nil {
			t.Skip("gopls is not installed")
		}
	}
	return Server{
		Name: "gopls", Command: path, Languages: map[string]string{".go": "go", "go.mod": "go.mod"}, RootMarkers: []string{"go.work", "go.mod"},
		InitOptions:  map[string]any{"diagnosticsDelay": "50ms"},
		StartTimeout: time.Minute, RequestTimeout: time.Minute,
	}
}

func goplsClient(t testing.TB, archive string) (*Client, string) {
	srv := goplsServer(t)
	dir := unpack(t, archive)
	c := New(Options{Root: dir, Servers: []Server{srv}, Env: os.Environ()})
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c, dir
}

func ask(t testing.TB, c *Client, q Query) *Answer {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	q.IndexFor = 30 * time.Second
	a, err := c.Query(ctx, q)
	require.NoError(t, err)
	return a
}

// show writes locations as file:line:column, relative to dir.
func show(dir string, list ...Location) []string {
	var out []string
	for _, l := range list {
		rel, _ := filepath.Rel(dir, l.Path)
		out = append(out, fmt.Sprintf("%s:%d:%d", filepath.ToSlash(rel), l.Start.Line, l.Start.Column))
	}
	return out
}

func TestGopls(t *testing.T) {
	c, dir := goplsClient(t, project)
	use, shapes := filepath.Join(dir, "use", "use.go"), filepath.Join(dir, "shapes.go")
	sum := Position{5, 39} // behind a smiley, which is two units of UTF-16
	line := NewLines(mustRead(t, use)).Line(5)
	require.Equal(t, "Sum", string([]rune(line)[sum.Column-1:sum.Column+2]))
	assert.Equal(t, []string{"shapes.go:15:6"}, show(dir, ask(t, c, Query{Op: OpDefinition, Path: use, At: sum}).Locations...))
	a := ask(t, c, Query{Op: OpReferences, Path: use, At: sum})
	assert.Equal(t, []string{"shapes.go:15:6", "use/use.go:5:39"}, show(dir, a.Locations...))
	assert.Equal(t, []string{"shapes.go:15:6"}, show(dir, a.Declarations...))
	assert.Contains(t, ask(t, c, Query{Op: OpHover, Path: use, At: sum}).Hover, "Sum adds the areas")
	assert.Equal(t, []string{"shapes.go:12:17"}, show(dir, ask(t, c, Query{Op: OpImplementation, Path: shapes, At: Position{6, 2}}).Locations...))
	var names []string
	for _, s := range ask(t, c, Query{Op: OpDocumentSymbol, Path: shapes}).Symbols {
		names = append(names, s.Kind+" "+s.Name)
	}
	assert.Equal(t, []string{"interface Shape", "method Area", "struct Square", "field Side", "method (Square).Area", "function Sum"}, names)
	found := ask(t, c, Query{Op: OpWorkspaceSymbol, Name: "Twice"})
	require.NotEmpty(t, found.Symbols)
	calls := ask(t, c, Query{Op: OpIncomingCalls, Path: shapes, At: Position{15, 6}}).Calls
	require.Len(t, calls, 1)
	assert.Equal(t, []string{"use/use.go:5:39"}, show(dir, calls[0].Sites...))
	calls = ask(t, c, Query{Op: OpOutgoingCalls, Path: shapes, At: Position{15, 6}}).Calls
	require.NotEmpty(t, calls)
	assert.Equal(t, "Area", calls[0].Symbol.Name)
	edits := ask(t, c, Query{Op: OpRename, Path: use, At: sum, Name: "Total"}).Edits
	require.Len(t, edits, 2)
	assert.Equal(t, Position{5, 39}, edits[1].Edits[0].Start)
	_, err := c.Query(t.Context(), Query{Op: OpRename, Path: use, At: Position{1, 1}, Name: "Total"})
	require.Error(t, err)
	t.Log(err)
	acts := ask(t, c, Query{Op: OpCodeActions, Path: shapes, At: Position{10, 10}, End: Position{10, 10}}).Actions
	for _, a := range acts {
		t.Logf("%+v", a)
	}
}

func TestGoplsDiagnostics(t *testing.T) {
	c, dir := goplsClient(t, strings.Replace(project, "return twice", "return twice + missing", 1))
	use, shapes := filepath.Join(dir, "use", "use.go"), filepath.Join(dir, "shapes.go")
	before := mustRead(t, shapes)
	c.Open(shapes)
	after := strings.Replace(before, "total := 0.0", "total := 0.0 + undefinedName", 1)
	require.NoError(t, os.WriteFile(shapes, []byte(after), 0o666))
	start := time.Now()
	r, err := c.Changed(t.Context(), []Change{{Path: shapes, Before: before}}, time.Minute)
	t.Log(time.Since(start), r, err)
	require.NoError(t, err)
	require.Len(t, r.New, 1)
	assert.Contains(t, r.New[0].Message, "undefinedName")
	// A second one, in another file, by changing what it uses.
	after2 := strings.Replace(after, "func Sum(", "func Sum2(", 1)
	require.NoError(t, os.WriteFile(shapes, []byte(after2), 0o666))
	start = time.Now()
	r, err = c.Changed(t.Context(), []Change{{Path: shapes, Before: after}}, time.Minute)
	t.Log(time.Since(start), r, err)
	require.NoError(t, err)
	for _, d := range r.New { // on a busy machine it may come later
		assert.Equal(t, use, d.Path)
	}
	require.Eventually(t, func() bool {
		list, _, err := c.Diagnostics(t.Context(), "", time.Minute)
		n := 0
		for _, d := range list {
			if d.Severity == 1 && d.Path == use {
				n++
			}
		}
		return err == nil && n == 2
	}, time.Minute, time.Second)
}

func mustRead(t testing.TB, name string) string {
	b, err := os.ReadFile(name)
	require.NoError(t, err)
	return string(b)
}

// TestGoplsPull: the same server, asked for diagnostics instead of telling them.
func TestGoplsPull(t *testing.T) {
	srv := goplsServer(t)
	srv.InitOptions = map[string]any{"pullDiagnostics": true}
	dir := unpack(t, project)
	c := New(Options{Root: dir, Servers: []Server{srv}, Env: os.Environ()})
	defer c.Close()
	shapes := filepath.Join(dir, "shapes.go")
	before := mustRead(t, shapes)
	c.Open(shapes)
	require.NoError(t, os.WriteFile(shapes, []byte(strings.Replace(before, "total := 0.0", "total := 0.0 + undefinedName", 1)), 0o666))
	r, err := c.Changed(t.Context(), []Change{{Path: shapes, Before: before}}, time.Minute)
	require.NoError(t, err)
	require.Len(t, r.New, 1)
	assert.Contains(t, r.New[0].Message, "undefinedName")
	cur := c.serversFor(shapes)[0].running()
	if !cur.pulls() {
		t.Skip("this gopls does not answer such questions")
	}
}
