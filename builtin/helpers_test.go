package builtin

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/agenttool/tool"
	"github.com/agenttool/tool/tooltest"
	"github.com/stretchr/testify/require"
)

// bench is a toolset over a workspace, and what its calls asked.
type bench struct {
	t   testing.TB
	ts  *Toolset
	dir string

	mu       sync.Mutex
	approver tool.Approver // nil allows
	asked    []*tool.Request
	updates  []tool.Update
}

func newBench(t testing.TB, archive string, cfg Config) *bench {
	t.Helper()
	b := &bench{t: t, dir: tooltest.Workspace(t, archive)}
	cfg.Root = b.dir
	var err error
	b.ts, err = New(cfg)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.ts.Close()) })
	return b
}

func (b *bench) Approve(ctx context.Context, call *tool.Call, req *tool.Request) error {
	b.mu.Lock()
	b.asked = append(b.asked, req)
	ap := b.approver
	b.mu.Unlock()
	if ap != nil {
		return ap.Approve(ctx, call, req)
	}
	return nil
}

// call returns a bound call of the session "s".
func (b *bench) call(name string, input any) *tool.Call {
	c := tooltest.NewCall(name, input)
	return c.Bind(tool.Runtime{Approver: b, Update: func(_ *tool.Call, u tool.Update) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.updates = append(b.updates, u)
	}, Offers: func(string) bool { return true }})
}

// run runs a tool and returns what it gave and what it asked.
func (b *bench) run(name string, input any) (*tool.Result, error) {
	b.t.Helper()
	return b.runIn(b.t.Context(), name, input)
}

func (b *bench) runIn(ctx context.Context, name string, input any) (*tool.Result, error) {
	b.t.Helper()
	b.mu.Lock()
	b.asked, b.updates = nil, nil
	b.mu.Unlock()
	tl, ok := b.ts.Tool(name)
	require.True(b.t, ok, name)
	return tl.Run(ctx, b.call(name, input))
}

// ok is run for calls that must succeed; it returns the text.
func (b *bench) ok(name string, input any) string {
	b.t.Helper()
	res, err := b.run(name, input)
	require.NoError(b.t, err)
	require.False(b.t, res.IsError)
	return res.Text
}

// fails is run for calls that must fail; it returns the words of the error.
func (b *bench) fails(name string, input any) string {
	b.t.Helper()
	_, err := b.run(name, input)
	require.Error(b.t, err)
	return tool.ModelText(err)
}

// asks returns what the last run asked, as "permission pattern".
func (b *bench) asks() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var out []string
	for _, r := range b.asked {
		for _, p := range r.Patterns {
			out = append(out, r.Permission+" "+p)
		}
	}
	return out
}

func (b *bench) path(name string) string { return filepath.Join(b.dir, filepath.FromSlash(name)) }

func (b *bench) file(name string) string {
	b.t.Helper()
	data, err := os.ReadFile(b.path(name))
	require.NoError(b.t, err)
	return string(data)
}

func (b *bench) put(name, content string) {
	b.t.Helper()
	require.NoError(b.t, os.WriteFile(b.path(name), []byte(content), 0o666))
}

type in = map[string]any
