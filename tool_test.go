package tool_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/agenttool/tool"
	"github.com/agenttool/tool/schema"
	"github.com/agenttool/tool/tooltest"
	"github.com/agenttool/tool/truncate"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

type point struct {
	Line int `json:"line"`
}

// matrix has what goes wrong most often: a required string, an integer, an
// array, one struct type twice, and a map.
type matrix struct {
	Path  string            `json:"path" jsonschema:"file to open"`
	Limit int               `json:"limit,omitempty"`
	Tags  []string          `json:"tags,omitempty"`
	At    *point            `json:"at,omitempty"`
	To    *point            `json:"to,omitempty"`
	Env   map[string]string `json:"env,omitempty"`
}

// TestBadInput has a row for everything that models get wrong in arguments. What
// is not repaired must never reach the handler.
func TestBadInput(t *testing.T) {
	var got *matrix
	x := tool.Define(tool.Def{Name: "x", Description: "Test."}, func(_ context.Context, _ *tool.Call, in matrix) (*tool.Result, error) {
		got = &in
		return tool.Text("ran"), nil
	})
	set := newSet(t, x)
	for _, tc := range []struct {
		name, input string
		want        *matrix // nil: refused
		text        []string
	}{
		{"missing required", `{"limit":1}`, nil, []string{"/path: want string, got nothing"}},
		{"null for required", `{"path":null}`, nil, []string{"/path: want string, got null"}},
		{"null for optional", `{"path":"a","limit":null,"at":null,"tags":null}`, &matrix{Path: "a"}, nil},
		{"wrong type", `{"path":5}`, nil, []string{"/path: want string, got"}},
		{"two problems", `{"limit":"x","tags":3}`, nil, []string{"/path: want", "/limit: want", "/tags: want"}},
		{"unknown field", `{"path":"a","colour":1}`, nil, []string{"colour"}},
		{"Path for path", `{"Path":"a"}`, nil, []string{"Path", "path"}},
		{"nested missing", `{"path":"a","at":{},"to":{}}`, nil, []string{"/at/line: want", "/to/line: want"}},
		{"string for int", `{"path":"a","limit":"10"}`, &matrix{Path: "a", Limit: 10}, nil},
		{"string for array", `{"path":"a","tags":"[\"x\"]"}`, &matrix{Path: "a", Tags: []string{"x"}}, nil},
		{"lone item for array", `{"path":"a","tags":"x"}`, &matrix{Path: "a", Tags: []string{"x"}}, nil},
		{"whole object as string", `"{\"path\":\"a\"}"`, &matrix{Path: "a"}, nil},
		{"10.0 for int", `{"path":"a","limit":10.0}`, &matrix{Path: "a", Limit: 10}, nil},
		{"integer beyond 2^53", `{"path":"a","limit":9007199254740993}`, &matrix{Path: "a", Limit: 9007199254740993}, nil},
		{"integer beyond 2^63", `{"path":"a","limit":9223372036854775808}`, nil, []string{"/limit"}},
		{"fraction for int", `{"path":"a","limit":1.5}`, nil, []string{"/limit: want integer"}},
		{"empty arguments", ``, nil, []string{"/path: want string, got nothing"}},
		{"cut off", `{"path":"a","env":{"A":"b`, nil, []string{"cut off", "Send a shorter call"}},
		{"not JSON", `{"path" "a"}`, nil, []string{"invalid arguments"}},
		{"trailing text", `{"path":"a"} and more`, nil, []string{"invalid arguments"}},
		{"numeric-looking string stays", `{"path":"00713"}`, &matrix{Path: "00713"}, nil},
		{"JSON-looking string stays", `{"path":"[1]"}`, &matrix{Path: "[1]"}, nil},
		{"leading zero is no integer", `{"path":"a","limit":"007"}`, nil, []string{"/limit: want integer"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got = nil
			out := (&tool.Executor{}).Do(t.Context(), set, call("1", "x", tc.input))
			if tc.want != nil {
				require.NoError(t, out.Err)
				assert.Equal(t, tc.want, got)
				return
			}
			assert.Nil(t, got, "the handler ran")
			require.ErrorIs(t, out.Err, tool.ErrInput)
			for _, s := range tc.text {
				assert.Contains(t, out.Result.Text, s)
			}
			assert.LessOrEqual(t, len(out.Result.Text), 1024)
			for range 50 {
				again := (&tool.Executor{}).Do(t.Context(), set, call("1", "x", tc.input))
				require.Equal(t, out.Result.Text, again.Result.Text, "the same text every time")
			}
		})
	}
}

func TestRepairsAreReported(t *testing.T) {
	x := tool.Define(tool.Def{Name: "x", Description: "Test."}, func(_ context.Context, _ *tool.Call, in matrix) (*tool.Result, error) {
		if in.Limit == 1 {
			return nil, errors.New("fails")
		}
		return &tool.Result{Text: "ran", Metadata: map[string]any{"own": true}}, nil
	})
	strict := tool.Define(tool.Def{Name: "strict", Description: "Test.", Strict: true}, func(context.Context, *tool.Call, matrix) (*tool.Result, error) {
		return tool.Text("ran"), nil
	})
	set := newSet(t, x, strict)
	for _, in := range []string{`{"path":"a","limit":"10"}`, `{"path":"a","limit":"1"}`} {
		out := (&tool.Executor{}).Do(t.Context(), set, call("1", "x", in))
		rs, ok := out.Result.Metadata["repairs"].([]schema.Repair)
		require.True(t, ok, "also beside an error")
		require.Len(t, rs, 1)
		assert.Equal(t, "/limit", rs[0].Path)
	}
	out := (&tool.Executor{}).Do(t.Context(), set, call("1", "strict", `{"path":"a","limit":"10"}`))
	assert.ErrorIs(t, out.Err, tool.ErrInput)
}

func TestInputErrorHook(t *testing.T) {
	x := tool.Define(tool.Def{Name: "x", Description: "Test.", InputError: func(e *tool.InputError) string {
		return e.Tool + " wants: " + e.Issues[0].Path
	}}, func(context.Context, *tool.Call, matrix) (*tool.Result, error) { return nil, nil })
	out := (&tool.Executor{}).Do(t.Context(), newSet(t, x), call("1", "x", `{}`))
	assert.Equal(t, "x wants: /path", out.Result.Text)
	assert.ErrorIs(t, out.Err, tool.ErrInput)
}

func TestDefineRefusesBadDefs(t *testing.T) {
	h := func(context.Context, *tool.Call, noInput) (*tool.Result, error) { return nil, nil }
	for name, def := range map[string]tool.Def{
		"no name":        {Description: "d"},
		"bad name":       {Name: "a b", Description: "d"},
		"no description": {Name: "a"},
		"bad alias":      {Name: "a", Description: "d", Aliases: []string{"x y"}},
		"hostile schema": {Name: "a", Description: "d", Input: json.RawMessage(`{"$ref":"#"}`)},
		"bad output":     {Name: "a", Description: "d", Output: json.RawMessage(`{"$ref":"#"}`)},
		"no schema":      {Name: "a", Description: "d", Input: func() {}},
	} {
		_, err := tool.New(def, h)
		assert.Error(t, err, name)
		assert.Panics(t, func() { tool.Define(def, h) }, name)
	}
	_, err := tool.New[noInput](tool.Def{Name: "a", Description: "d"}, nil)
	assert.Error(t, err)
	_, err = tool.Raw(tool.Def{Name: "a", Description: "d"}, nil)
	assert.Error(t, err)
	assert.Panics(t, func() { tool.Func[noInput, string](tool.Def{Name: "a", Description: "d"}, nil) })
}

func TestFunc(t *testing.T) {
	type out struct {
		Sum int `json:"sum"`
	}
	type in struct {
		A, B int
	}
	def := func(name string) tool.Def { return tool.Def{Name: name, Description: "d"} }
	sum := tool.Func(def("sum"), func(_ context.Context, in in) (out, error) { return out{in.A + in.B}, nil })
	text := tool.Func(def("text"), func(_ context.Context, in in) (string, error) { return "t", nil })
	res := tool.Func(def("res"), func(_ context.Context, in in) (*tool.Result, error) { return tool.Text("r"), nil })
	fails := tool.Func(def("fails"), func(_ context.Context, in in) (out, error) { return out{}, errors.New("no") })
	partial := tool.Func(def("partial"), func(_ context.Context, in in) (string, error) { return "half", errors.New("no") })
	set := newSet(t, sum, text, res, fails, partial)
	do := func(name string) tool.Outcome {
		return (&tool.Executor{}).Do(t.Context(), set, call("1", name, `{"A":1,"B":2}`))
	}
	assert.Equal(t, `{"sum":3}`, do("sum").Result.Text)
	assert.JSONEq(t, `{"sum":3}`, string(do("sum").Result.Structured))
	assert.Equal(t, "t", do("text").Result.Text)
	assert.Equal(t, "r", do("res").Result.Text)
	assert.Equal(t, "no", do("fails").Result.Text)
	assert.Equal(t, "half\n\nno", do("partial").Result.Text)
	spec, err := sum.Spec(t.Context(), nil)
	require.NoError(t, err)
	assert.Contains(t, string(spec.Output), `"sum"`)
	spec, err = text.Spec(t.Context(), nil)
	require.NoError(t, err)
	assert.Nil(t, spec.Output)
}

func TestRaw(t *testing.T) {
	var got string
	run := func(_ context.Context, c *tool.Call) (*tool.Result, error) {
		got = string(c.Input)
		return tool.Text("ran"), nil
	}
	r, err := tool.Raw(tool.Def{Name: "raw", Description: "d",
		Input: map[string]any{"type": "object", "properties": map[string]any{"n": map[string]any{"type": "integer"}}, "required": []string{"n"}}}, run)
	require.NoError(t, err)
	exotic, err := tool.Raw(tool.Def{Name: "exotic", Description: "d", Input: json.RawMessage(`{"type":"object","properties":{"a":{"type":"string","pattern":"(?!x)y"}}}`)}, run)
	require.NoError(t, err, "a schema that cannot be compiled is shown as it is")
	set := newSet(t, r, exotic)
	do := func(name, input string) tool.Outcome {
		c := call("1", name, input)
		out := (&tool.Executor{}).Do(t.Context(), set, c)
		assert.Equal(t, input, string(c.Input), "the host's call is not changed")
		return out
	}
	assert.NoError(t, do("raw", `{"n":"7"}`).Err)
	assert.JSONEq(t, `{"n":7}`, got)
	assert.ErrorIs(t, do("raw", `{"n":"x"}`).Err, tool.ErrInput)
	assert.NoError(t, do("exotic", `{"a":"z"}`).Err)
	assert.ErrorIs(t, do("exotic", `[]`).Err, tool.ErrInput)
	_, spec, err := set.Lookup("exotic")
	require.NoError(t, err)
	assert.Contains(t, string(spec.Input), "(?!x)y")
	_, err = tool.Raw(tool.Def{Name: "hostile", Description: "d", Input: json.RawMessage(`{"$ref":"#"}`)}, run)
	assert.ErrorIs(t, err, schema.ErrHostile)
}

func TestDescribe(t *testing.T) {
	d := tool.Define(tool.Def{Name: "task", Describe: func(_ context.Context, a *tool.Agent) (string, error) {
		if a == nil {
			return "", tool.ErrHidden
		}
		return "For " + a.Name + ".", nil
	}}, func(context.Context, *tool.Call, noInput) (*tool.Result, error) { return nil, nil })
	var r tool.Registry
	require.NoError(t, r.Add(d))
	set, err := r.Resolve(t.Context(), nil)
	require.NoError(t, err)
	assert.Zero(t, set.Len())
	set, err = r.Resolve(t.Context(), &tool.Agent{Name: "build"})
	require.NoError(t, err)
	for spec := range set.Specs() {
		assert.Equal(t, "For build.", spec.Description)
	}
}

func TestTruncation(t *testing.T) {
	long := strings.Repeat("line\n", 3000)
	shared := &tool.Result{Text: long, Metadata: map[string]any{"k": 1}}
	def := func(name string, max int) tool.Tool {
		return tool.Define(tool.Def{Name: name, Description: "d", MaxOutput: max, Parallel: true},
			func(context.Context, *tool.Call, noInput) (*tool.Result, error) { return shared, nil })
	}
	plain := foreign{"plain", func(*tool.Agent) (*tool.Spec, error) {
		return &tool.Spec{Description: "d", Input: json.RawMessage(object), Parallel: true}, nil
	}}
	own := tool.Define(tool.Def{Name: "own", Description: "d"}, func(context.Context, *tool.Call, noInput) (*tool.Result, error) {
		return &tool.Result{Text: long, Metadata: map[string]any{"truncated": true}}, nil
	})
	done := tool.Define(tool.Def{Name: "done", Description: "d"}, func(context.Context, *tool.Call, noInput) (*tool.Result, error) {
		return &tool.Result{Text: long, Truncated: &tool.Truncation{Bytes: 7}}, nil
	})
	read := tool.Define(tool.Def{Name: "read", Description: "d"}, func(context.Context, *tool.Call, noInput) (*tool.Result, error) { return tool.Text("r\xffr"), nil })
	set := newSet(t, def("big", 0), def("small", 1000), def("free", -1), plain, own, done, read)
	store, err := truncate.OpenStore(t.TempDir(), nil)
	require.NoError(t, err)
	defer store.Close()
	ex := &tool.Executor{Truncate: tool.Truncator(truncate.Policy{Spill: store})}
	do := func(name string) *tool.Result {
		out := ex.Do(t.Context(), set, call("1", name, ""))
		require.NoError(t, out.Err)
		return out.Result
	}
	big := do("big")
	assert.LessOrEqual(t, strings.Count(big.Text, "line\n"), 2000)
	assert.Equal(t, true, big.Metadata["truncated"])
	path, _ := big.Metadata["outputPath"].(string)
	kept, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, long, string(kept))
	assert.Contains(t, big.Text, "read filePath=")
	assert.NotContains(t, big.Text, "grep", "a tool that is not offered is not named")
	assert.Equal(t, path, big.Truncated.Path)
	assert.Len(t, shared.Metadata, 1, "the tool's own result is not changed")

	small := do("small")
	assert.LessOrEqual(t, len(small.Text), 1000)
	assert.Equal(t, long, do("free").Text)
	assert.Equal(t, long, do("own").Text)
	assert.Equal(t, 7, do("done").Truncated.Bytes)
	assert.Equal(t, "plain", do("plain").Text)
	assert.Equal(t, false, do("plain").Metadata["truncated"])
	assert.Equal(t, "r\uFFFDr", do("read").Text)

	// A call without an executor is bounded too, in memory.
	x, _, err := set.Lookup("big")
	require.NoError(t, err)
	res, err := x.Run(t.Context(), tooltest.NewCall("big", nil))
	require.NoError(t, err)
	assert.True(t, len(res.Text) < len(long))
	assert.NotContains(t, res.Metadata, "outputPath")
	again, err := x.Run(t.Context(), tooltest.NewCall("big", nil).Bind(tool.Runtime{Truncate: func(_ context.Context, _ *tool.Call, _ *tool.Spec, r *tool.Result) error {
		r.Text, r.Truncated = "mine", &tool.Truncation{}
		return nil
	}}))
	require.NoError(t, err)
	assert.Equal(t, "mine", again.Text)

	ex.Truncate = func(context.Context, *tool.Call, *tool.Spec, *tool.Result) error { panic("policy") }
	assert.Equal(t, "plain", do("plain").Text, "a policy that fails does not lose the result")
}

func TestErrorTextIsBounded(t *testing.T) {
	huge := define("huge", true, func(context.Context, *tool.Call) (*tool.Result, error) {
		return nil, errors.New(strings.Repeat("é", 1<<20) + "\xff")
	})
	out := (&tool.Executor{}).Do(t.Context(), newSet(t, huge), call("1", "huge", ""))
	assert.Less(t, len(out.Result.Text), 20<<10)
	assert.True(t, strings.HasSuffix(out.Result.Text, "é…"))
}

func TestResultJSON(t *testing.T) {
	r := &tool.Result{
		Title: "a<b>", Text: "line\n\"q\" \\ \t\x01\u2028\xff é",
		Metadata:   map[string]any{"n": 1.0},
		Structured: json.RawMessage(`{"a":1}`), IsError: true, EndTurn: true,
		Attachments: []tool.Attachment{{ID: "i", Name: "p.png", MIME: "image/png", Data: []byte{1, 2}}, {URL: "https://x/y", MIME: "image/png"}},
		Truncated:   &tool.Truncation{Bytes: 3, Lines: 1, Path: "/p"},
	}
	b, err := json.Marshal(r)
	require.NoError(t, err)
	assert.Contains(t, string(b), `"type":"file"`)
	assert.Contains(t, string(b), `"url":"data:image/png;base64,AQI="`)
	var back tool.Result
	require.NoError(t, json.Unmarshal(b, &back))
	want := *r
	want.Text = "line\n\"q\" \\ \t\x01\u2028\uFFFD é"
	assert.Equal(t, want, back)

	b, err = (&tool.Result{}).AppendJSON([]byte("x"))
	require.NoError(t, err)
	assert.Equal(t, `x{"title":"","metadata":{},"output":""}`, string(b))

	for _, bad := range []*tool.Result{
		{Metadata: map[string]any{"f": func() {}}},
		{Structured: json.RawMessage(`{`)},
		{Attachments: []tool.Attachment{{URL: "/etc/passwd"}}},
		{Attachments: []tool.Attachment{{URL: "file:///etc/passwd"}}},
	} {
		_, err := bad.AppendJSON(nil)
		assert.Error(t, err)
	}
	for _, url := range []string{"/etc/passwd", "file:///etc/passwd", "", "data:image/png", "data:image/png,plain", "data:image/png;base64,!"} {
		var a tool.Attachment
		assert.Error(t, json.Unmarshal([]byte(`{"type":"file","mime":"image/png","url":"`+url+`"}`), &a), url)
	}
}

func FuzzResultJSON(f *testing.F) {
	f.Add("plain", "title")
	f.Add("\x00\xff\u2028\"\\\n\r\t\x1f\x7f", "\u00e9\xc3")
	f.Fuzz(func(t *testing.T, text, title string) {
		b, err := (&tool.Result{Text: text, Title: title}).AppendJSON(nil)
		require.NoError(t, err)
		var back, want struct{ Title, Output string }
		require.NoError(t, json.Unmarshal(b, &back), "%q", b)
		std, err := json.Marshal(struct{ Title, Output string }{title, text})
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(std, &want))
		require.Equal(t, want, back)
	})
}

func TestAttachmentsGetIDs(t *testing.T) {
	img := define("img", true, func(context.Context, *tool.Call) (*tool.Result, error) {
		return &tool.Result{Attachments: []tool.Attachment{{MIME: "image/png", Data: []byte{1}}, {ID: "mine", SessionID: "x", MessageID: "y"}}}, nil
	})
	out := (&tool.Executor{}).Do(t.Context(), newSet(t, img), call("c", "img", ""))
	as := out.Result.Attachments
	require.Len(t, as, 2)
	assert.Equal(t, [3]string{"c-1", "s", "m"}, [3]string{as[0].ID, as[0].SessionID, as[0].MessageID})
	assert.Equal(t, [3]string{"mine", "x", "y"}, [3]string{as[1].ID, as[1].SessionID, as[1].MessageID})
}

func TestErrorsMatchTheirSentinels(t *testing.T) {
	inner := errors.New("inner")
	for _, tc := range []struct{ err, is error }{
		{&tool.InputError{Err: inner}, tool.ErrInput}, {&tool.NotFoundError{}, tool.ErrNotFound},
		{&tool.DeniedError{Err: inner}, tool.ErrDenied}, {&tool.TimeoutError{Limit: time.Second}, tool.ErrTimeout},
		{&tool.PanicError{Value: inner}, tool.ErrPanic}, {&tool.CancelledError{Cause: inner}, tool.ErrCancelled},
		{&tool.ResolveError{Err: inner}, tool.ErrResolve},
	} {
		assert.ErrorIs(t, tc.err, tc.is)
		assert.NotEmpty(t, tc.err.Error())
		assert.NotEmpty(t, tool.ModelText(tc.err))
		if errors.Unwrap(tc.err) != nil {
			assert.ErrorIs(t, tc.err, inner)
		}
	}
	assert.Empty(t, tool.ModelText(nil))
	assert.Equal(t, "Cancelled: the turn was cancelled.", (&tool.CancelledError{Cause: context.Canceled}).Error())
}

func TestUnboundCallIsSafe(t *testing.T) {
	c := tooltest.NewCall("x", nil)
	c.Update(tool.Update{Text: "dropped"})
	assert.False(t, c.Offers("read"))
	assert.ErrorIs(t, c.Ask(t.Context(), &tool.Request{Permission: "p"}), tool.ErrDenied)
	_, err := c.Invoke(t.Context(), "y", nil)
	assert.Error(t, err)
	assert.Equal(t, tool.Runtime{}, c.Runtime())
	b := c.Bind(tool.Runtime{})
	b.Update(tool.Update{})
	assert.ErrorIs(t, b.Ask(t.Context(), &tool.Request{}), tool.ErrDenied)
	_, err = b.Invoke(t.Context(), "y", nil)
	assert.Error(t, err)
}

func TestBind(t *testing.T) {
	var updates []tool.Update
	var invoked *tool.Call
	c := tooltest.NewCall("x", nil).Bind(tool.Runtime{
		Approver: tooltest.AllowAll{},
		Update:   func(_ *tool.Call, u tool.Update) { updates = append(updates, u) },
		Invoke: func(_ context.Context, c *tool.Call) (*tool.Result, error) {
			invoked = c
			return tool.Text("sub"), nil
		},
		Offers: func(name string) bool { return name == "read" },
	})
	require.NoError(t, c.Ask(t.Context(), &tool.Request{Permission: "p"}))
	c.Update(tool.Update{Title: "t"})
	res, err := c.Invoke(t.Context(), "y", json.RawMessage(`{}`))
	require.NoError(t, err)
	assert.Equal(t, "sub", res.Text)
	assert.Equal(t, "call_1", invoked.Parent)
	assert.Equal(t, "y", invoked.Tool)
	assert.Len(t, updates, 1)
	assert.True(t, c.Offers("read"))
	fc, ok := tool.FromContext(tool.NewContext(t.Context(), c))
	assert.True(t, ok)
	assert.Same(t, c, fc)
	_, ok = tool.FromContext(t.Context())
	assert.False(t, ok)
}

// TestWeight keeps the promise that the root package brings one module beyond the
// standard library and x/sync.
func TestWeight(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}", ".").Output()
	require.NoError(t, err)
	allowed := map[string]bool{
		"github.com/agenttool/tool": true, "github.com/google/jsonschema-go": true, "golang.org/x/sync": true,
	}
	for m := range strings.FieldsSeq(string(out)) {
		assert.True(t, allowed[m], "the root package links %s", m)
	}
}

func TestCrashOnPanic(t *testing.T) {
	if os.Getenv("TOOL_TEST_CRASH") != "" {
		boom := define("boom", true, func(context.Context, *tool.Call) (*tool.Result, error) { panic("wanted crash") })
		(&tool.Executor{CrashOnPanic: true}).Do(t.Context(), newSet(t, boom), call("1", "boom", ""))
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestCrashOnPanic$")
	cmd.Env = append(os.Environ(), "TOOL_TEST_CRASH=1")
	out, err := cmd.CombinedOutput()
	assert.Error(t, err)
	assert.Contains(t, string(out), "panic: wanted crash")
}
