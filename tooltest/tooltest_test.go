package tooltest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/agenttool/tool"
	"github.com/agenttool/tool/tooltest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

type in struct {
	Name string `json:"name"`
}

func good() tool.Tool {
	return tool.Define(tool.Def{Name: "good", Description: "Fine."}, func(_ context.Context, _ *tool.Call, in in) (*tool.Result, error) {
		return tool.Text("hi " + in.Name), nil
	})
}

func TestCheckAcceptsAGoodTool(t *testing.T) {
	tooltest.Check(t, good())
	tooltest.Check(t, good(), `{"name":"a"}`, `{"name":"\u0000"}`)
}

// spy collects what a check reports.
type spy struct {
	testing.TB
	got []string
}

func (s *spy) Helper()                           {}
func (s *spy) Errorf(format string, args ...any) { s.got = append(s.got, fmt.Sprintf(format, args...)) }

type bad struct {
	tool.Tool
	name func() string
	spec func() (*tool.Spec, error)
	run  func(*tool.Call) (*tool.Result, error)
}

func (b bad) Name() string {
	if b.name != nil {
		return b.name()
	}
	return b.Tool.Name()
}

func (b bad) Spec(ctx context.Context, a *tool.Agent) (*tool.Spec, error) {
	if b.spec != nil {
		return b.spec()
	}
	return b.Tool.Spec(ctx, a)
}

func (b bad) Run(ctx context.Context, c *tool.Call) (*tool.Result, error) {
	if b.run != nil {
		return b.run(c)
	}
	return b.Tool.Run(ctx, c)
}

func TestCheckFindsFaults(t *testing.T) {
	spec := func(change func(*tool.Spec)) func() (*tool.Spec, error) {
		return func() (*tool.Spec, error) {
			s, err := good().Spec(t.Context(), nil)
			if err != nil {
				return nil, err
			}
			c := *s
			change(&c)
			return &c, nil
		}
	}
	var n atomic.Int32
	for want, b := range map[string]bad{
		"name: ":      {name: func() string { return "a b" }},
		"it changes":  {name: func() string { return fmt.Sprint("n", n.Add(1)) }},
		"there is no": {spec: func() (*tool.Spec, error) { return nil, nil }},
		"schema: ":    {spec: spec(func(s *tool.Spec) { s.Input = json.RawMessage(`{"$ref":"#"}`) })},
		"panicked: s": {spec: func() (*tool.Spec, error) { panic("s") }},
		"no descr":    {spec: spec(func(s *tool.Spec) { s.Description = "" })},
		"differ":      {spec: spec(func(s *tool.Spec) { s.Description = fmt.Sprint(n.Add(1)) })},
		"named":       {spec: spec(func(s *tool.Spec) { s.Name = "other" })},
		"accepted":    {run: func(*tool.Call) (*tool.Result, error) { return tool.Text("ok"), nil }},
		"panicked":    {run: func(*tool.Call) (*tool.Result, error) { panic("x") }},
		"not UTF-8":   {run: func(*tool.Call) (*tool.Result, error) { return &tool.Result{Text: "\xff"}, nil }},
		"neither":     {run: func(*tool.Call) (*tool.Result, error) { return nil, nil }},
	} {
		b.Tool = good()
		s := &spy{}
		tooltest.Check(s, b, `{"name":"a"}`)
		assert.Contains(t, strings.Join(s.got, "\n"), want)
	}
	hidden := bad{Tool: good(), spec: func() (*tool.Spec, error) { return nil, tool.ErrHidden }}
	tooltest.Check(t, hidden, `{"name":"a"}`)
}

func TestScript(t *testing.T) {
	s := &tooltest.Script{Steps: []tooltest.Step{
		{Permission: "edit", Pattern: "a.go", Allow: true},
		{Permission: "bash", Reason: "not now"},
		{Permission: "read"},
	}}
	ask := func(permission string, patterns ...string) error {
		return s.Approve(t.Context(), nil, &tool.Request{Permission: permission, Patterns: patterns})
	}
	assert.NoError(t, ask("edit", "a.go", "b.go"))
	err := ask("bash", "ls")
	assert.ErrorIs(t, err, tool.ErrDenied)
	assert.ErrorContains(t, err, "not now")
	assert.ErrorContains(t, s.Err(), "never asked: read")
	assert.Error(t, ask("edit", "c.go"))
	assert.Error(t, ask("read"))
	assert.Error(t, ask("read"))
	assert.Len(t, s.Asked(), 5)
	assert.ErrorContains(t, s.Err(), "want read")
	assert.NoError(t, (&tooltest.Script{}).Err())
	assert.NoError(t, tooltest.AllowAll{}.Approve(t.Context(), nil, nil))
	assert.ErrorIs(t, tooltest.DenyAll{}.Approve(t.Context(), nil, &tool.Request{}), tool.ErrDenied)
}

func TestRecorderErr(t *testing.T) {
	c := tooltest.NewCall("x", nil)
	res := tool.Text("r")
	p, r := tool.Event{Call: c, State: tool.StatePending}, tool.Event{Call: c, State: tool.StateRunning}
	u := tool.Event{Call: c, State: tool.StateRunning, Update: &tool.Update{Text: "u"}}
	done := tool.Event{Call: c, State: tool.StateCompleted, Result: res}
	failed := tool.Event{Call: c, State: tool.StateError, Result: res, Err: errors.New("e")}
	for want, evs := range map[string][]tool.Event{
		"":                      {p, r, u, u, done},
		"never ended":           {p, r},
		"after its end":         {p, r, done, u},
		"before it was pending": {r},
		"a second time":         {p, r, r, done},
		"before it was running": {p, u},
		"without a result":      {p, r, {Call: c, State: tool.StateError}},
		"which is no state":     {p, {Call: c, State: "odd"}},
	} {
		var rec tooltest.Recorder
		for _, ev := range evs {
			rec.Observe(ev)
		}
		if want == "" {
			assert.NoError(t, rec.Err())
			assert.Len(t, rec.Updates("call_1"), 2)
			continue
		}
		assert.ErrorContains(t, rec.Err(), want)
	}
	var rec tooltest.Recorder
	rec.Observe(p)
	rec.Observe(failed)
	assert.NoError(t, rec.Err(), "a call may end without having run")
}

func TestNewCall(t *testing.T) {
	assert.Equal(t, `{"name":"a"}`, string(tooltest.NewCall("x", in{"a"}).Input))
	for _, raw := range []any{`{}`, []byte(`{}`), json.RawMessage(`{}`)} {
		assert.Equal(t, `{}`, string(tooltest.NewCall("x", raw).Input))
	}
	assert.Nil(t, tooltest.NewCall("x", nil).Input)
	assert.Panics(t, func() { tooltest.NewCall("x", func() {}) })
}

func TestWorkspace(t *testing.T) {
	dir := tooltest.Workspace(t, "-- a.txt --\nhello\n-- sub/b.txt --\n")
	b, err := os.ReadFile(filepath.Join(dir, "a.txt"))
	require.NoError(t, err)
	assert.Equal(t, "hello\n", string(b))
	assert.FileExists(t, filepath.Join(dir, "sub", "b.txt"))
	assert.DirExists(t, tooltest.Workspace(t, ""))
}

func ExampleRecorder() {
	set, err := tool.NewSet(context.Background(), nil, good())
	if err != nil {
		panic(err)
	}
	var rec tooltest.Recorder
	ex := tool.Executor{Observe: rec.Observe}
	ex.Do(context.Background(), set, tooltest.NewCall("good", in{"Bo"}))
	fmt.Print(rec.String())
	fmt.Println(rec.Err())
	// Output:
	// call_1 good pending
	// call_1 good running
	// call_1 good completed text="hi Bo"
	// <nil>
}

func ExampleScript() {
	s := &tooltest.Script{Steps: []tooltest.Step{{Permission: "edit", Pattern: "a.go", Allow: true}}}
	fmt.Println(s.Approve(context.Background(), nil, &tool.Request{Permission: "edit", Patterns: []string{"a.go"}}))
	fmt.Println(s.Err())
	// Output:
	// <nil>
	// <nil>
}
