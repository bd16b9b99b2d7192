package discover

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/agenttool/tool"
	"github.com/agenttool/tool/permission"
	"github.com/agenttool/tool/tooltest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// needSh skips where there is no /bin/sh.
func needSh(t testing.TB) {
	if _, err := os.Stat("/bin/sh"); err != nil {
		t.Skip("no /bin/sh")
	}
}

// put writes a file below dir, executable if it is a script.
func put(t testing.TB, dir, name, text string) {
	t.Helper()
	file := filepath.Join(dir, filepath.FromSlash(name))
	require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o777))
	mode := os.FileMode(0o644)
	if strings.HasPrefix(text, "#!") {
		mode = 0o755
	}
	require.NoError(t, os.WriteFile(file, []byte(text), mode))
	require.NoError(t, os.Chmod(file, mode))
}

// list returns the names of the tools and the errors of a source.
func list(t testing.TB, s *Source) (names []string, problems string) {
	t.Helper()
	for tl, err := range s.Tools(t.Context(), nil) {
		if err != nil {
			problems += err.Error() + "\n"
			continue
		}
		names = append(names, tl.Name())
	}
	return names, problems
}

// call runs a tool of a source, asking ap.
func call(t testing.TB, s *Source, ap tool.Approver, name, input string) tool.Outcome {
	t.Helper()
	var reg tool.Registry
	reg.AddSource(s)
	set, _ := reg.Resolve(t.Context(), nil)
	ex := &tool.Executor{Approver: ap, Grace: 10 * time.Second}
	return ex.Do(t.Context(), set, &tool.Call{ID: "c1", Tool: name, SessionID: "s1", MessageID: "m1", Agent: &tool.Agent{Name: "build"}, Input: json.RawMessage(input)})
}

const echo = `{"description":"Echo.","input":{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]},"command":["./echo.sh","--fast"],"timeout":20000}`

// TestSource: what is found is a tool like any other.
func TestSource(t *testing.T) {
	needSh(t)
	user, project, root := t.TempDir(), t.TempDir(), t.TempDir()
	put(t, user, "tool/echo.json", echo)
	put(t, user, "tool/echo.sh", "#!/bin/sh\necho \"$1 $TOOL_NAME $TOOL_SESSION_ID $TOOL_MESSAGE_ID $TOOL_CALL_ID $TOOL_AGENT\"; pwd; cat; echo noise >&2\n")
	put(t, project, "tools/echo.json", echo)
	put(t, project, "tools/echo.sh", "#!/bin/sh\necho other\n")
	put(t, project, "tools/.hidden.json", "{}")
	put(t, project, "tools/notes.txt", "")
	s := &Source{Dirs: []string{user, project, filepath.Join(root, "none")}, Root: root}
	names, problems := list(t, s)
	assert.Equal(t, []string{"echo"}, names)
	assert.Contains(t, problems, `there is a tool "echo" in `+filepath.Join(user, "tool", "echo.json")+" already")

	out := call(t, s, tooltest.AllowAll{}, "echo", `{"n":"5"}`)
	require.NoError(t, out.Err)
	real, err := filepath.EvalSymlinks(root)
	require.NoError(t, err)
	assert.Equal(t, "--fast echo s1 m1 c1 build\n"+real+"\n{\"n\":5}", out.Result.Text, "repaired arguments arrive, and noise does not")
	assert.ErrorIs(t, call(t, s, tooltest.AllowAll{}, "echo", `{}`).Err, tool.ErrInput)
	assert.ErrorIs(t, call(t, s, nil, "echo", `{"n":5}`).Err, tool.ErrDenied)
	for tl, err := range s.Tools(t.Context(), nil) {
		if err == nil {
			tooltest.Check(t, tl, `{"n":5}`)
		}
	}
}

// TestSourcePrompt: consent is for the content that was there when it was given.
func TestSourcePrompt(t *testing.T) {
	needSh(t)
	dir := t.TempDir()
	put(t, dir, "tool/echo.json", echo)
	put(t, dir, "tool/echo.sh", "#!/bin/sh\necho one\n")
	s := &Source{Dirs: []string{dir}, Root: dir}
	var asked []permission.Prompt
	gate := &permission.Gate{Prompt: func(_ context.Context, p permission.Prompt) (permission.Answer, error) {
		asked = append(asked, p)
		return permission.Answer{Reply: permission.Always}, nil
	}}
	for range 2 {
		require.NoError(t, call(t, s, gate, "echo", `{"n":1}`).Err)
	}
	require.Len(t, asked, 1)
	assert.Equal(t, "echo", asked[0].Request.Permission)
	assert.Regexp(t, `^sha256:[0-9a-f]{32}$`, asked[0].Request.Patterns[0])
	assert.Contains(t, asked[0].Title.Display, "echo.sh --fast")
	put(t, dir, "tool/echo.sh", "#!/bin/sh\necho two\n")
	out := call(t, s, gate, "echo", `{"n":1}`)
	require.NoError(t, out.Err)
	assert.Equal(t, "two\n", out.Result.Text)
	assert.Len(t, asked, 2, "another program is asked for")

	gate.Prompt = func(context.Context, permission.Prompt) (permission.Answer, error) {
		put(t, dir, "tool/echo.sh", "#!/bin/sh\necho four\n")
		return permission.Answer{Reply: permission.Once}, nil
	}
	put(t, dir, "tool/echo.sh", "#!/bin/sh\necho three\n")
	out = call(t, s, gate, "echo", `{"n":1}`)
	require.ErrorContains(t, out.Err, "has changed since it was offered")
	assert.NotContains(t, out.Result.Text, "four")
}

// TestSourceResults: what programs write, and how they end.
func TestSourceResults(t *testing.T) {
	needSh(t)
	dir := t.TempDir()
	for name, c := range map[string]struct{ manifest, script string }{
		"rich":   {`"output":"result"`, `echo '{"title":"T","output":"O","metadata":{"k":1,"truncated":true},"attachments":[{"mime":"image/png","filename":"a.png","data":"AQI="}]}'`},
		"broken": {`"output":"result"`, `echo plain`},
		"sorry":  {`"output":"result"`, `echo '{"output":"half","error":"no quota"}'; exit 1`},
		"fail":   {`"timeout":0`, `echo partial; echo "it went wrong" >&2; exit 3`},
		"slow":   {`"timeout":3000`, `echo begun; sleep 600`},
		"leave":  {`"timeout":0`, `sleep 600 & echo left`},
		"deaf":   {`"timeout":0`, `echo done`}, // does not read its input
		"flood":  {`"timeout":0`, `head -c 20000000 /dev/zero | tr '\0' x`},
	} {
		put(t, dir, "tool/"+name+".json", fmt.Sprintf(`{"description":"d","input":{"type":"object"},"command":["./%s.sh"],%s}`, name, c.manifest))
		put(t, dir, "tool/"+name+".sh", "#!/bin/sh\n"+c.script+"\n")
	}
	put(t, dir, "tool/path.json", `{"description":"d","command":["sh","./rich.sh"]}`)
	s := &Source{Dirs: []string{dir}, Root: dir}
	names, problems := list(t, s)
	assert.Len(t, names, 9)
	assert.Empty(t, problems)
	start := time.Now()
	run := func(name string) tool.Outcome {
		return call(t, s, tooltest.AllowAll{}, name, `{"x":"`+strings.Repeat("y", 300_000)+`"}`)
	}
	out := run("rich")
	require.NoError(t, out.Err)
	assert.Equal(t, "T", out.Result.Title)
	assert.Equal(t, "O", out.Result.Text)
	assert.EqualValues(t, 1, out.Result.Metadata["k"])
	assert.Equal(t, false, out.Result.Metadata["truncated"])
	assert.Equal(t, []byte{1, 2}, out.Result.Attachments[0].Data)
	out = run("broken")
	assert.Contains(t, out.Result.Text, "plain")
	assert.Contains(t, out.Result.Text, "something else than a result")
	out = run("sorry")
	assert.Contains(t, out.Result.Text, "half\n\nno quota")
	out = run("fail")
	assert.Equal(t, "partial\n\n\nfail failed ("+strings.TrimPrefix(out.Result.Text, "partial\n\n\nfail failed ("), out.Result.Text)
	assert.Contains(t, out.Result.Text, "exit 3")
	assert.Contains(t, out.Result.Text, "it went wrong")
	out = run("slow")
	require.ErrorIs(t, out.Err, tool.ErrTimeout)
	assert.Contains(t, out.Result.Text, "begun")
	assert.Equal(t, "left\n", run("leave").Result.Text)
	assert.Equal(t, "done\n", run("deaf").Result.Text)
	out = run("flood")
	assert.Contains(t, out.Result.Text, "wrote more than 8388608 bytes")
	assert.Less(t, len(out.Result.Text), 100_000)
	out = call(t, s, tooltest.AllowAll{}, "path", `{}`)
	assert.Contains(t, out.Result.Text, `"title":"T"`)
	assert.Less(t, time.Since(start), 300*time.Second, "nothing waits for what it left")
}

// TestSourceCancel: the end of the call is the end of the program.
func TestSourceCancel(t *testing.T) {
	needSh(t)
	dir := t.TempDir()
	put(t, dir, "tool/slow.json", `{"description":"d","command":["./slow.sh"]}`)
	put(t, dir, "tool/slow.sh", "#!/bin/sh\necho $$ > pid\nsleep 600\n")
	s := &Source{Dirs: []string{dir}, Root: dir}
	var reg tool.Registry
	reg.AddSource(s)
	set, err := reg.Resolve(t.Context(), nil)
	require.NoError(t, err)
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("stop")
	go func() {
		for range 1000 {
			if _, err := os.Stat(filepath.Join(dir, "pid")); err == nil {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		cancel(stop)
	}()
	before := runtime.NumGoroutine()
	out := (&tool.Executor{Approver: tooltest.AllowAll{}, Grace: 20 * time.Second}).Do(ctx, set, &tool.Call{Tool: "slow"})
	require.ErrorIs(t, out.Err, stop)
	for deadline := time.Now().Add(10 * time.Second); runtime.NumGoroutine() > before && time.Now().Before(deadline); {
		time.Sleep(5 * time.Millisecond)
	}
	assert.LessOrEqual(t, runtime.NumGoroutine(), before)
}

// TestSourceRefuses: what is no good manifest is named, and the others are there all the same.
func TestSourceRefuses(t *testing.T) {
	dir, elsewhere := t.TempDir(), t.TempDir()
	put(t, elsewhere, "evil.sh", "#!/bin/sh\n")
	put(t, dir, "tool/ok.sh", "#!/bin/sh\n")
	put(t, dir, "tool/plain.txt", "text")
	want := map[string]string{
		`{`:  "unexpected",
		`[]`: "cannot unmarshal",
		`{"description":"d","command":["./ok.sh"],"extra":1}`:                                    `unknown field "extra"`,
		`{"description":"d","command":["./ok.sh"]} x`:                                            "something follows",
		`{"command":["./ok.sh"]}`:                                                                "no description",
		`{"description":"d"}`:                                                                    "no command",
		`{"name":"a b","description":"d","command":["./ok.sh"]}`:                                 "tool name",
		`{"description":"d","command":["./missing.sh"]}`:                                         "no such file",
		`{"description":"d","command":["../../x.sh"]}`:                                           "no such file",
		`{"description":"d","command":["` + filepath.Join(elsewhere, "evil.sh") + `"]}`:          "leads out of",
		`{"description":"d","command":["./link.sh"]}`:                                            "leads out of",
		`{"description":"d","command":["no-such-program-anywhere"]}`:                             "not in PATH",
		`{"description":"d","command":["./ok.sh"],"timeout":-1}`:                                 "timeout",
		`{"description":"d","command":["./ok.sh"],"timeout":900000}`:                             "timeout",
		`{"description":"d","command":["./ok.sh"],"output":"xml"}`:                               "output is",
		`{"description":"d","command":["./ok.sh"],"input":{"$ref":"#"}}`:                         "input schema",
		`{"description":"d","command":["./ok.sh"],"input":{"type":"string"}}`:                    "object",
		`{"description":"d","command":["./ok.sh","a\u0000b"]}`:                                   "NUL",
		`{"description":"` + strings.Repeat("x", 9000) + `","command":["./ok.sh"]}`:              "more than 8192",
		`{"description":"d","command":["./ok.sh"],"input":` + strings.Repeat(" ", 2<<20) + `{}}`: "more than",
	}
	if runtime.GOOS != "windows" {
		require.NoError(t, os.Symlink(filepath.Join(elsewhere, "evil.sh"), filepath.Join(dir, "tool", "link.sh")))
		want[`{"description":"d","command":["./plain.txt"]}`] = "not executable"
	} else {
		delete(want, `{"description":"d","command":["./link.sh"]}`)
	}
	put(t, dir, "tool/good.json", `{"description":"d","command":["./ok.sh"]}`)
	s := &Source{Dirs: []string{dir}, Root: dir}
	for text, why := range want {
		put(t, dir, "tool/bad.json", text)
		names, problems := list(t, s)
		assert.Equal(t, []string{"good"}, names, "%.80s", text)
		assert.Contains(t, problems, why, "%.80s", text)
	}
	for _, bad := range []*Source{{Root: "rel"}, {Root: dir, Dirs: []string{"rel"}}} {
		names, problems := list(t, bad)
		assert.Empty(t, names)
		assert.Contains(t, problems, "not absolute")
	}
}

// TestSourceReload: what changes is found at once, and what does not is not read again.
func TestSourceReload(t *testing.T) {
	needSh(t)
	dir := t.TempDir()
	s := &Source{Dirs: []string{dir}, Root: dir}
	names, problems := list(t, s)
	assert.Empty(t, names)
	assert.Empty(t, problems)
	put(t, dir, "tool/x.sh", "#!/bin/sh\n")
	old := time.Now().Add(-time.Hour)
	for _, d := range []string{"one", "two"} {
		put(t, dir, "tool/x.json", `{"description":"`+d+`","command":["./x.sh"]}`)
		for tl, err := range s.Tools(t.Context(), nil) {
			require.NoError(t, err)
			spec, err := tl.Spec(t.Context(), nil)
			require.NoError(t, err)
			assert.Equal(t, d, spec.Description)
		}
	}
	for _, f := range []string{"tool/x.sh", "tool/x.json"} {
		require.NoError(t, os.Chtimes(filepath.Join(dir, f), old, old))
	}
	same := func() (out tool.Tool) {
		for tl, err := range s.Tools(t.Context(), nil) {
			require.NoError(t, err)
			out = tl
		}
		return out
	}
	assert.Same(t, same(), same())
	require.NoError(t, os.Remove(filepath.Join(dir, "tool", "x.json")))
	assert.Nil(t, same())
}

func FuzzParseManifest(f *testing.F) {
	f.Add([]byte(echo))
	f.Add([]byte(`{"name":"x","description":"d","command":["a"],"hints":{"readOnly":true},"parallel":true}`))
	f.Add([]byte(`null`))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := parseManifest(data, "name")
		if (err == nil) != (m != nil) || m != nil && (tool.CheckName(m.Name) != nil || len(m.Command) == 0 || m.limit() <= 0 || m.limit() > maxTimeout) {
			t.Errorf("%q: %+v %v", data, m, err)
		}
	})
}

func ExampleSource() {
	if _, err := os.Stat("/bin/sh"); err != nil {
		fmt.Println("greet: Greet somebody.\nHello {\"name\":\"Bo\"}")
		return
	}
	dir, err := os.MkdirTemp("", "example-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	config := filepath.Join(dir, ".agent")
	if err := os.MkdirAll(filepath.Join(config, "tools"), 0o777); err != nil {
		panic(err)
	}
	for name, text := range map[string]string{
		"greet.json": `{"description":"Greet somebody.","input":{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]},"command":["./greet.sh"]}`,
		"greet.sh":   "#!/bin/sh\nprintf 'Hello '; cat\n",
	} {
		if err := os.WriteFile(filepath.Join(config, "tools", name), []byte(text), 0o755); err != nil {
			panic(err)
		}
	}
	var reg tool.Registry
	reg.AddSource(&Source{Dirs: []string{config}, Root: dir})
	set, err := reg.Resolve(context.Background(), nil)
	if err != nil {
		panic(err)
	}
	for spec := range set.Specs() {
		fmt.Println(spec.Name+":", spec.Description)
	}
	ex := &tool.Executor{Approver: tooltest.AllowAll{}}
	fmt.Println(ex.Do(context.Background(), set, &tool.Call{ID: "1", Tool: "greet", Input: []byte(`{"name":"Bo"}`)}).Result.Text)
	// Output:
	// greet: Greet somebody.
	// Hello {"name":"Bo"}
}
