package tool_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"
	"testing"

	"github.com/agenttool/tool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// foreign is a tool that is not made by this package.
type foreign struct {
	name string
	spec func(*tool.Agent) (*tool.Spec, error)
}

func (f foreign) Name() string                                              { return f.name }
func (f foreign) Spec(_ context.Context, a *tool.Agent) (*tool.Spec, error) { return f.spec(a) }
func (f foreign) Run(context.Context, *tool.Call) (*tool.Result, error) {
	return tool.Text(f.name), nil
}
func foreignTool(name, input string, aliases ...string) foreign {
	return foreign{name, func(*tool.Agent) (*tool.Spec, error) {
		return &tool.Spec{Name: name, Description: "d", Input: json.RawMessage(input), Aliases: aliases}, nil
	}}
}

type source []any // tools and errors

func (s source) Tools(context.Context, *tool.Agent) iter.Seq2[tool.Tool, error] {
	return func(yield func(tool.Tool, error) bool) {
		for _, x := range s {
			var ok bool
			switch x := x.(type) {
			case tool.Tool:
				ok = yield(x, nil)
			case error:
				ok = yield(nil, x)
			case string:
				panic(x)
			}
			if !ok {
				return
			}
		}
	}
}

const object = `{"type":"object"}`

func TestRegistryAdd(t *testing.T) {
	var r tool.Registry
	require.NoError(t, r.Add(foreignTool("b", object), foreignTool("a", object)))
	assert.Error(t, r.Add(foreignTool("c", object), foreignTool("a", object)), "a duplicate")
	_, ok := r.Lookup("c")
	assert.False(t, ok, "all or none")
	assert.Error(t, r.Add(nil))
	for _, bad := range []string{"", "1a", "a b", "é", "a.b", strings.Repeat("x", 65), "-a"} {
		assert.Error(t, r.Add(foreignTool(bad, object)), bad)
	}
	assert.NoError(t, r.Add(foreignTool("_ok-"+strings.Repeat("x", 60), object)))
	var names []string
	for x := range r.All() {
		names = append(names, x.Name()[:1])
	}
	assert.Equal(t, []string{"b", "a", "_"}, names)
	assert.True(t, r.Remove("a"))
	assert.False(t, r.Remove("a"))
	_, ok = r.Lookup("a")
	assert.False(t, ok)
	for range r.All() {
		break
	}
}

func TestResolve(t *testing.T) {
	var r tool.Registry
	forPro := foreign{"pro", func(a *tool.Agent) (*tool.Spec, error) {
		if !a.Flag("pro") {
			return nil, tool.ErrHidden
		}
		return &tool.Spec{Description: "d", Input: json.RawMessage(object)}, nil
	}}
	require.NoError(t, r.Add(foreignTool("zeta", object), foreignTool("alpha", object), forPro,
		foreignTool("hostile", `{"$ref":"#"}`), foreignTool("empty", ``),
		foreign{"panics", func(*tool.Agent) (*tool.Spec, error) { panic("spec") }},
		foreign{"nospec", func(*tool.Agent) (*tool.Spec, error) { return nil, nil }},
		foreign{"liar", func(*tool.Agent) (*tool.Spec, error) {
			return &tool.Spec{Name: "other", Input: json.RawMessage(object)}, nil
		}}))
	r.AddSource(source{foreignTool("remote", object), errors.New("server away"), foreignTool("alpha", object), foreignTool("bad name", object), nil})
	r.AddSource(source{foreignTool("second", object), "source panics"})

	set, err := r.Resolve(t.Context(), nil)
	require.NotNil(t, set)
	names := func(s *tool.Set) (out []string) {
		for spec := range s.Specs() {
			out = append(out, spec.Name)
		}
		return out
	}
	assert.Equal(t, []string{"alpha", "remote", "second", "zeta"}, names(set))
	assert.Equal(t, 4, set.Len())
	assert.ErrorIs(t, err, tool.ErrResolve)
	for _, want := range []string{`"hostile" left out`, `"empty" left out`, `"panics" left out`, `"nospec" left out`, `"liar" left out`,
		"source left out: server away", `"alpha" left out: its name is taken`, `"bad name" left out`, "source panics"} {
		assert.ErrorContains(t, err, want)
	}
	assert.NotContains(t, err.Error(), `"pro"`, "hidden is not an error")

	only := func(a *tool.Agent, s *tool.Spec) bool { return s.Name != "zeta" }
	set, _ = r.Resolve(t.Context(), &tool.Agent{Flags: map[string]bool{"pro": true}}, only, nil)
	assert.Equal(t, []string{"alpha", "pro", "remote", "second"}, names(set))
	_, spec, err := set.Lookup("pro")
	require.NoError(t, err)
	assert.Equal(t, "pro", spec.Name, "an unnamed spec takes the tool's name")

	r.Remove("alpha")
	x, _, err := set.Lookup("alpha")
	require.NoError(t, err, "a set does not change under a turn")
	assert.Equal(t, "alpha", x.Name())
}

func TestSetLookup(t *testing.T) {
	set := newSet(t, foreignTool("read", object, "view", "Cat"), foreignTool("Read2", object), foreignTool("view2", object, "read"),
		foreignTool("DUP", object), foreignTool("dup", object))
	for name, want := range map[string]string{"read": "read", "view": "read", "VIEW": "read", "cat": "read", "read2": "Read2", "DUP": "DUP", "dup": "dup"} {
		x, spec, err := set.Lookup(name)
		require.NoError(t, err, name)
		assert.Equal(t, want, x.Name())
		assert.Equal(t, want, spec.Name)
	}
	_, _, err := set.Lookup("Dup")
	assert.ErrorIs(t, err, tool.ErrNotFound, "two names differ in case only: not for us to choose")
	var nf *tool.NotFoundError
	require.ErrorAs(t, err, &nf)
	assert.ElementsMatch(t, []string{"DUP", "dup"}, nf.Nearest)
}

func TestRegistryConcurrency(t *testing.T) {
	var r tool.Registry
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			name := fmt.Sprintf("t%d", i)
			assert.NoError(t, r.Add(foreignTool(name, object)))
			set, err := r.Resolve(t.Context(), nil)
			assert.NoError(t, err)
			assert.True(t, set.Has(name))
			assert.True(t, r.Remove(name))
			r.AddSource(source{})
		})
	}
	wg.Wait()
	for range r.All() {
		t.Error("a tool is left")
	}
}
