package builtin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/agenttool/tool"
	"github.com/agenttool/tool/permission"
	"github.com/agenttool/tool/tooltest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// valid are arguments that work over the files of coreFiles, again and again.
const coreFiles = "-- a.txt --\nalpha\n-- d/b.txt --\nbeta\n"

var valid = []struct{ tool, input string }{
	{"read", `{"filePath":"a.txt"}`},
	{"read", `{"filePath":"d"}`},
	{"write", `{"filePath":"new.txt","content":"x\n"}`},
	{"edit", `{"filePath":"a.txt","oldString":"alpha","newString":"alpha "}`},
	{"multiedit", `{"filePath":"d/b.txt","edits":[{"oldString":"beta","newString":"beta "}]}`},
	{"apply_patch", `{"patchText":"*** Begin Patch\n*** Update File: a.txt\n@@\n+x\n alpha\n*** End Patch"}`},
	{"ls", `{}`},
	{"glob", `{"pattern":"**/*.txt"}`},
	{"grep", `{"pattern":"a"}`},
	{"bash", `{"command":"echo hi"}`},
	{"todowrite", `{"todos":[{"content":"x"}]}`},
	{"todoread", `{}`},
}

// TestConformance runs the checks that every tool of any author must pass.
func TestConformance(t *testing.T) {
	b := newBench(t, coreFiles, Config{Web: WebConfig{PerMinute: 1000, Transport: webFunc(func(*http.Request) (*http.Response, error) {
		return answer(200, http.Header{"Content-Type": {"text/html"}}, "<p>hello")
	})}})
	for _, tl := range b.ts.Tools() {
		t.Run(tl.Name(), func(t *testing.T) {
			var inputs []string
			for _, v := range valid {
				if v.tool == tl.Name() {
					inputs = append(inputs, v.input)
				}
			}
			switch {
			case tl.Name() == "job_list":
				inputs = []string{"{}"}
			case tl.Name() == "webfetch":
				inputs = []string{`{"url":"https://example.com/"}`}
			case tl.Name() == "batch":
				inputs = []string{`{"tool_calls":[{"tool":"ls","parameters":{}}]}`}
			case strings.HasPrefix(tl.Name(), "job_"):
				t.Skip("needs a job to work on")
			}
			require.NotEmpty(t, inputs)
			tooltest.Check(t, tl, inputs...)
		})
	}
}

// TestToolsetsAreApart (CORE-1): nothing that one toolset knows or runs is seen by another.
func TestToolsetsAreApart(t *testing.T) {
	b := newBench(t, coreFiles, Config{})
	other, err := New(Config{Root: b.dir})
	require.NoError(t, err)
	b.ok("read", in{"filePath": "a.txt"})
	w, _ := other.Tool("write")
	_, err = w.Run(t.Context(), b.call("write", in{"filePath": "a.txt", "content": "x"}))
	require.ErrorContains(t, err, "was not read in this session")
	require.NoError(t, other.Close())
	b.ok("write", in{"filePath": "a.txt", "content": "x"})
	_, err = w.Run(t.Context(), b.call("write", in{"filePath": "z", "content": "x"}))
	require.ErrorIs(t, err, ErrClosed)
}

// TestNoGlobals (CORE-1): variables of the package are written by nothing but their declaration.
func TestNoGlobals(t *testing.T) {
	for _, file := range sources(t) {
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, file, nil, 0)
		require.NoError(t, err)
		globals := map[string]bool{}
		for _, d := range f.Decls {
			if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.VAR {
				for _, s := range g.Specs {
					for _, n := range s.(*ast.ValueSpec).Names {
						globals[n.Name] = true
					}
				}
			}
			if fn, ok := d.(*ast.FuncDecl); ok {
				assert.NotEqual(t, "init", fn.Name.Name, file)
			}
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if a, ok := n.(*ast.AssignStmt); ok && a.Tok == token.ASSIGN {
				for _, l := range a.Lhs {
					if ix, ok := l.(*ast.IndexExpr); ok {
						l = ix.X
					}
					if id, ok := l.(*ast.Ident); ok && globals[id.Name] {
						t.Errorf("%s writes the package variable %s", fset.Position(a.Pos()), id.Name)
					}
				}
			}
			return true
		})
	}
}

// TestOneFileTouchesFiles (FS-2): the tools and the engines below them reach files
// through package fsroot; here one file opens what fsroot handed out, and there
// one file calls the functions of package os that take a path.
func TestOneFileTouchesFiles(t *testing.T) {
	files := sources(t)
	for _, dir := range []string{"media", "../internal/fsroot", "../internal/textfile", "../internal/match", "../internal/patch", "../internal/diff", "../internal/notebook", "../internal/pdftext"} {
		more, err := filepath.Glob(filepath.FromSlash(dir + "/*.go"))
		require.NoError(t, err)
		require.NotEmpty(t, more, dir)
		files = append(files, more...)
	}
	byPath := regexp.MustCompile(`\bos\.(Open|Create|ReadFile|WriteFile|ReadDir|Remove|Rename|Mkdir|MkdirTemp|CreateTemp|Stat|Lstat|Readlink|Chmod|Chown|Chtimes|Truncate|Link|Symlink|DirFS|CopyFS|OpenRoot|OpenInRoot|OpenFile|RemoveAll|MkdirAll)\(`)
	inRoot := regexp.MustCompile(`\.(OpenFile|OpenRoot)\(`)
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		slash := filepath.ToSlash(file)
		if slash != "../internal/fsroot/osroot.go" {
			assert.Empty(t, byPath.FindAllString(string(text), -1), "%s calls these", file)
		}
		if slash != "fsys.go" && !strings.HasPrefix(slash, "../internal/fsroot/") && !strings.Contains(string(text), "fsys.root.OpenRoot(") {
			assert.Empty(t, inRoot.FindAllString(string(text), -1), "%s calls these", file)
		}
	}
}

func sources(t *testing.T) []string {
	all, err := filepath.Glob("*.go")
	require.NoError(t, err)
	all = slices.DeleteFunc(all, func(f string) bool { return strings.HasSuffix(f, "_test.go") })
	require.NotEmpty(t, all)
	return all
}

// TestEndsWithContext (CORE-2): a call ends soon after its context, whatever it waits for.
func TestEndsWithContext(t *testing.T) {
	needShell(t)
	const soon = 5 * time.Second // the promise is 100 ms, and half a second more than the grace for bash
	b := newBench(t, coreFiles, Config{Limits: Limits{KillGrace: 100 * time.Millisecond}})
	for name, input := range map[string]in{
		"bash":  {"command": "trap '' TERM; while :; do sleep 0.1; done"},
		"write": {"filePath": "x", "content": "x"},
		"read":  {"filePath": "a.txt"},
		"edit":  {"filePath": "a.txt", "oldString": "alpha", "newString": "beta"},
		"glob":  {"pattern": "*"},
		"grep":  {"pattern": "x"},
	} {
		t.Run(name, func(t *testing.T) {
			b := b
			if name != "bash" { // they wait for an answer
				b = newBench(t, coreFiles, Config{})
				b.approver = tool.ApproverFunc(func(ctx context.Context, _ *tool.Call, _ *tool.Request) error {
					<-ctx.Done()
					return ctx.Err()
				})
			}
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			start := time.Now()
			_, err := b.runIn(ctx, name, input)
			require.Error(t, err)
			assert.Less(t, time.Since(start), soon)
		})
	}
}

// TestPanicsAreResults (CORE-3): a panic of the host's code is one failed call.
func TestPanicsAreResults(t *testing.T) {
	b := newBench(t, coreFiles, Config{})
	b.approver = tool.ApproverFunc(func(context.Context, *tool.Call, *tool.Request) error { panic("host") })
	for _, v := range valid {
		tl, _ := b.ts.Tool(v.tool)
		_, err := tl.Run(t.Context(), b.call(v.tool, v.input))
		require.ErrorIs(t, err, tool.ErrDenied, v.tool)
		assert.NotContains(t, tool.ModelText(err), "goroutine")
	}
	b.approver = nil
	b.ok("read", in{"filePath": "a.txt"})
}

// TestArguments (CORE-4, CORE-5, IN-2, IN-3, IN-5): what is repaired, and how the rest is refused.
func TestArguments(t *testing.T) {
	b := newBench(t, coreFiles, Config{})
	run := func(name, input string) (*tool.Result, error) {
		tl, _ := b.ts.Tool(name)
		return tl.Run(t.Context(), b.call(name, input))
	}
	for _, c := range []struct{ tool, input string }{
		{"read", `{"file_path":"a.txt","limit":"1"}`},
		{"read", `{"path":"a.txt","offset":1.0}`},
		{"edit", `{"file_path":"d/b.txt","old_string":"beta","new_string":"BETA","replace_all":"true"}`},
		{"write", `{"path":"w.txt","content":"x"}`},
		{"glob", `{"pattern":"*","dir":"d"}`},
		{"grep", `{"pattern":"a","glob":"*.txt"}`},
		{"bash", `{"cmd":"true","timeout":"1000","cwd":"d"}`},
	} {
		res, err := run(c.tool, c.input)
		require.NoError(t, err, "%s", c.input)
		if !strings.Contains(c.input, "1.0") {
			assert.Contains(t, res.Metadata, "repairs", "%s", c.input)
		}
	}
	b.ok("write", in{"filePath": "json.txt", "content": `{"a": "true"}`})
	assert.Equal(t, `{"a": "true"}`, b.file("json.txt"), "strings are never touched")

	long := strings.Repeat("s3cr3t", 1000)
	for _, c := range []struct{ tool, input, want string }{
		{"edit", `{"filePath":"a.txt","oldString":"a","new_st":"b"}`, "newString"},
		{"read", `{}`, "/filePath"},
		{"read", `{"filePath":"a.txt","limit":0}`, "/limit"},
		{"read", `{"filePath":"a.txt","file_path":"b.txt"}`, "filePath"},
		{"read", `{"filePath":["a.txt"]}`, "/filePath"},
		{"write", `{"filePath":"a.txt","content":"` + long, "cut off"},
		{"read", `{"filePath":"a.txt","limit":"` + long + `"}`, "/limit"},
		{"grep", `{"pattern":1}`, "/pattern"},
	} {
		_, err := run(c.tool, c.input)
		require.ErrorIs(t, err, tool.ErrInput, "%s", c.input)
		msg := tool.ModelText(err)
		assert.Contains(t, msg, c.want)
		assert.LessOrEqual(t, len(msg), 1024)
		assert.NotContains(t, msg, long[:250])
		_, perr := b.ts.Plan(t.Context(), tooltest.NewCall(c.tool, c.input))
		require.ErrorIs(t, perr, tool.ErrInput, "the plan fails in the same way")
		assert.Equal(t, msg, tool.ModelText(perr))
	}
}

// TestNames (IN-1): the names that models use lead to the tool, and others to a hint.
func TestNames(t *testing.T) {
	b := newBench(t, coreFiles, Config{})
	set, err := tool.NewSet(t.Context(), nil, b.ts.Tools()...)
	require.NoError(t, err)
	for alias, name := range map[string]string{
		"Read": "read", "read_file": "read", "view": "read", "cat": "read", "write_file": "write", "create_file": "write",
		"str_replace": "edit", "str_replace_editor": "edit", "replace": "edit", "Bash": "bash", "shell": "bash", "run_command": "bash",
		"execute_command": "bash", "terminal": "bash", "find_files": "glob", "search_files": "grep", "ripgrep": "grep", "search": "grep",
	} {
		got, _, err := set.Lookup(alias)
		require.NoError(t, err, alias)
		assert.Equal(t, name, got.Name(), alias)
		_, err = b.ts.Plan(t.Context(), tooltest.NewCall(alias, `{}`))
		require.ErrorIs(t, err, tool.ErrInput, "Plan finds it too")
	}
	_, _, err = set.Lookup("reed")
	require.ErrorContains(t, err, "Did you mean read?")
}

// TestRepeatedFailure (IN-4): the third identical failure says so, and a repeated call is asked about.
func TestRepeatedFailure(t *testing.T) {
	b := newBench(t, coreFiles, Config{})
	set, err := tool.NewSet(t.Context(), nil, b.ts.Tools()...)
	require.NoError(t, err)
	loops := 0
	doom := &permission.DoomLoop{Detected: func(permission.Loop) { loops++ }}
	ex := &tool.Executor{Approver: b, Middleware: []tool.Middleware{doom.Middleware()}}
	var texts []string
	for range 3 {
		texts = append(texts, ex.Do(t.Context(), set, tooltest.NewCall("read", `{"filePath":"nope"}`)).Result.Text)
	}
	assert.Equal(t, texts[0], texts[1])
	assert.NotEqual(t, texts[0], texts[2])
	assert.Contains(t, texts[2], texts[0])
	assert.NotZero(t, loops)
	assert.Contains(t, b.asks(), "doom_loop read")
}

// FuzzResults (CORE-6): whatever is in a file, results are UTF-8.
func FuzzResults(f *testing.F) {
	f.Add([]byte("plain\n"), "plain", 1)
	f.Add([]byte("\xff\xfe\x00a\r\n\r"), "a", 2)
	f.Add([]byte("\xEF\xBB\xBF\xc3"), ".", 0)
	f.Add([]byte(strings.Repeat("é\xff", 3000)), "é", 1)
	b := newBench(f, "", Config{Limits: Limits{LineRunes: 50, ReadBytes: 500}})
	f.Fuzz(func(t *testing.T, data []byte, pattern string, offset int) {
		b.t = t
		require.NoError(t, os.WriteFile(b.path("f"), data, 0o666))
		for name, input := range map[string]in{
			"read": {"filePath": "f", "offset": offset},
			"grep": {"pattern": pattern},
			"edit": {"filePath": "f", "oldString": pattern, "newString": pattern + "x", "replaceAll": true},
		} {
			res, err := b.runIn(context.Background(), name, input)
			text := ""
			if err != nil {
				text = tool.ModelText(err)
			}
			if res != nil {
				text += res.Text
				meta, err := json.Marshal(res.Metadata)
				require.NoError(t, err)
				require.True(t, utf8.Valid(meta))
			}
			require.True(t, utf8.ValidString(text), "%s: %q", name, text)
		}
	})
}

// TestNothingIsLeft (CORE-7): after Close there are as many goroutines, descriptors and children as before.
func TestNothingIsLeft(t *testing.T) {
	needShell(t)
	dir := tooltest.Workspace(t, coreFiles)
	before := census(t)
	ts, err := New(Config{Root: dir, Limits: Limits{KillGrace: 100 * time.Millisecond}})
	require.NoError(t, err)
	b := &bench{t: t, ts: ts, dir: dir}
	var wg sync.WaitGroup
	for i := range 200 {
		v := valid[i%len(valid)]
		tl, _ := ts.Tool(v.tool)
		wg.Go(func() { tl.Run(t.Context(), b.call(v.tool, v.input)) })
		if i%20 == 19 {
			wg.Wait()
		}
	}
	wg.Wait()
	tl, _ := ts.Tool("bash")
	started := make(chan error)
	for range 3 {
		go func() {
			_, err := tl.Run(t.Context(), b.call("bash", in{"command": "sleep 98765 & sleep 98765"}))
			started <- err
		}()
	}
	time.Sleep(200 * time.Millisecond)
	require.NoError(t, ts.Close())
	for range 3 {
		require.Error(t, <-started, "Close ends what runs")
	}
	require.NoError(t, ts.Close(), "closing twice is harmless")
	var after [3]int
	for range 100 { // goroutines that have nothing left to do may still be ending
		if after = census(t); after[0] <= before[0] && after[1] <= before[1] && after[2] == 0 {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatalf("goroutines, descriptors, leftover commands: before %v, after %v", before, after)
}

// census counts goroutines, open descriptors, and the sleepers of the test.
func census(t *testing.T) [3]int {
	c := [3]int{runtime.NumGoroutine()}
	if runtime.GOOS != "linux" {
		return c
	}
	fds, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	c[1] = len(fds)
	procs, err := filepath.Glob("/proc/[0-9]*/cmdline")
	require.NoError(t, err)
	for _, p := range procs {
		if text, err := os.ReadFile(p); err == nil && strings.Contains(string(text), "sleep\x0098765") {
			c[2]++
		}
	}
	return c
}

func TestNewRefuses(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "f")
	require.NoError(t, os.WriteFile(file, nil, 0o666))
	for _, cfg := range []Config{
		{}, {Root: filepath.Join(dir, "nope")}, {Root: file}, {Root: dir, Env: []string{"=x"}}, {Root: dir, Secrets: []string{"["}}, {Root: dir, Protected: []string{""}},
	} {
		_, err := New(cfg)
		require.Error(t, err, fmt.Sprint(cfg))
	}
}

// TestSwappedLinks: while a file is swapped for a link again and again, no read
// ever shows what is outside of the root.
func TestSwappedLinks(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links")
	}
	outside := tooltest.Workspace(t, "-- o.txt --\nOUTSIDE\n")
	b := newBench(t, "-- f --\ninside\n-- real/f --\ninside\n", Config{})
	b.approver = tool.ApproverFunc(func(_ context.Context, _ *tool.Call, req *tool.Request) error {
		if req.Permission == "external_directory" {
			return &tool.DeniedError{Request: req}
		}
		return nil
	})
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			os.Remove(b.path("swap"))
			if i%2 == 0 {
				os.Symlink(filepath.Join(outside, "o.txt"), b.path("swap"))
			} else {
				os.WriteFile(b.path("swap"), []byte("inside\n"), 0o666)
			}
		}
	})
	for range 2000 {
		res, err := b.run("read", in{"filePath": "swap"})
		if err == nil && strings.Contains(res.Text, "OUTSIDE") {
			t.Error("read what is outside")
			break
		}
		if err != nil && errors.Is(err, tool.ErrPanic) {
			t.Error(err)
		}
	}
	close(stop)
	wg.Wait()
}
