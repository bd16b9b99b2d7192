package builtin

import (
	"context"
	"errors"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/agenttool/tool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestFormatter: it sees content before anybody is asked, and never under a lock;
// what it changed is shown.
func TestFormatter(t *testing.T) {
	var b *bench
	calls := 0
	b = newBench(t, "-- f --\none\n", Config{
		Formatter: FormatterFunc(func(_ context.Context, path string, content []byte) ([]byte, error) {
			calls++
			assert.Equal(t, b.path("f"), path)
			assert.Zero(t, b.ts.locks.Len())
			return append(content, "// formatted\n"...), nil
		}),
		Instructions: func(_ context.Context, _ *tool.Call, path string) string { return "remember " + filepath.Base(path) },
	})
	text := b.ok("edit", in{"filePath": "f", "oldString": "one", "newString": "two"})
	assert.Equal(t, "two\n// formatted\n", b.file("f"))
	assert.Equal(t, 1, calls)
	assert.Contains(t, b.asked[0].Metadata["diff"], "+// formatted\n", "what is shown is what is written")
	assert.Contains(t, text, "Note: formatted, which changed your text (+1 -0 lines).\n@@ -1 +1,2 @@\n two\n+// formatted\n")
	assert.True(t, strings.HasSuffix(b.ok("read", in{"filePath": "f"}), "\n\nremember f"))

	b.approver = tool.ApproverFunc(func(context.Context, *tool.Call, *tool.Request) error {
		b.put("f", "zwei\ntwo\n")
		return nil
	})
	b.ok("edit", in{"filePath": "f", "oldString": "two", "newString": "three"})
	assert.Equal(t, "zwei\nthree\n// formatted\n", b.file("f"), "formatted again, as the content is another")

	b.approver = nil
	b.ok("edit", in{"filePath": "f", "undo": true})
	assert.Equal(t, "zwei\ntwo\n", b.file("f"), "what is brought back is not formatted")
}

// TestDiagnostics: only what a change brought is reported, wherever it is.
func TestDiagnostics(t *testing.T) {
	var b *bench
	// Every line with BAD is an error, and user needs what lib has.
	find := func(_ context.Context, files []SourceFile) ([]Diagnostic, error) {
		assert.Zero(t, b.ts.locks.Len())
		var out []Diagnostic
		for _, f := range files {
			assert.True(t, filepath.IsAbs(f.Path))
			for i, l := range strings.Split(string(f.Content), "\n") {
				if strings.Contains(l, "BAD") {
					out = append(out, Diagnostic{Path: f.Path, Line: i + 1, Severity: "error", Message: l})
				}
				if strings.Contains(l, "meh") {
					out = append(out, Diagnostic{Path: f.Path, Line: i + 1, Severity: "warning", Message: l})
				}
			}
			if filepath.Base(f.Path) == "lib" && !strings.Contains(string(f.Content), "func used") {
				out = append(out, Diagnostic{Path: b.path("user"), Line: 7, Column: 3, Severity: "error", Message: "undefined: used"})
			}
		}
		return out, nil
	}
	b = newBench(t, "-- f --\nBAD old\none\nmeh\n-- lib --\nfunc used\n-- user --\n", Config{Diagnostics: find})
	run := func(name string, input in) *tool.Result {
		res, err := b.run(name, input)
		require.NoError(t, err)
		return res
	}
	res := run("edit", in{"filePath": "f", "insertLine": 0, "oldString": "BAD old", "newString": "first\nBAD new"})
	assert.Contains(t, res.Text, "\nErrors that this change brought:\nf:2:1: BAD new")
	assert.NotContains(t, res.Text, "f:3:1: BAD old", "it only moved")
	assert.Len(t, res.Metadata["diagnostics"], 1)

	res = run("edit", in{"filePath": "f", "oldString": "one", "newString": "meh\nBAD old"})
	assert.Contains(t, res.Text, "BAD old", "the same words once more are new")
	assert.NotContains(t, res.Text, ": meh")
	assert.Len(t, res.Metadata["diagnostics"].(map[string][]Diagnostic)[b.path("f")], 2)

	res = run("multiedit", in{"filePath": "lib", "edits": []in{{"oldString": "func used", "newString": "func unused"}}})
	assert.Contains(t, res.Text, "Errors that this change brought:\nuser:7:3: undefined: used")

	res = run("apply_patch", in{"patchText": "*** Begin Patch\n*** Update File: f\n*** Move to: g\n@@\n-first\n+FIRST BAD\n*** Add File: h\n+BAD h\n*** Delete File: user\n*** End Patch"})
	assert.Contains(t, res.Text, "Errors that this change brought:\ng:1:1: FIRST BAD\nh:1:1: BAD h")
	assert.NotContains(t, res.Text, "BAD old", "what moved with the file is not new")

	res = run("write", in{"filePath": "w", "content": "fine\n"})
	assert.Equal(t, "Created w (1 line).", res.Text)
	assert.Empty(t, res.Metadata["diagnostics"])
}

// TestDiagnosticsUnknown: without an answer from before the change, what is wrong
// in the file is not called new; without one from after it, nothing is said.
func TestDiagnosticsUnknown(t *testing.T) {
	calls, fail := 0, 1
	b := newBench(t, "-- f --\none\n", Config{Diagnostics: func(_ context.Context, files []SourceFile) ([]Diagnostic, error) {
		if calls++; calls == fail {
			return nil, errors.New("the server is starting")
		}
		return []Diagnostic{{Path: files[0].Path, Line: 1, Severity: "error", Message: "bad"}, {Path: "/other", Line: 1, Severity: "error", Message: "worse"}}, nil
	}})
	text := b.ok("edit", in{"filePath": "f", "oldString": "one", "newString": "two"})
	assert.Contains(t, text, "Errors now, some of which may be older than this change:\nf:1:1: bad")
	assert.NotContains(t, text, "worse")
	calls, fail = 0, 2
	res, err := b.run("edit", in{"filePath": "f", "oldString": "two", "newString": "three"})
	require.NoError(t, err)
	assert.NotContains(t, res.Text, "bad")
	assert.Equal(t, "the server is starting", res.Metadata["diagnosticsError"])
}

// TestHooksFail: whatever a hook does, the change is made, and told.
func TestHooksFail(t *testing.T) {
	hang := make(chan struct{})
	t.Cleanup(func() { close(hang) })
	for name, misbehave := range map[string]func(){
		"panics":         func() { panic("oh") },
		"ends":           runtime.Goexit,
		"hangs for ever": func() { <-hang },
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, "-- f --\none\n", Config{
				Limits:       Limits{HookTime: 50 * time.Millisecond},
				Formatter:    FormatterFunc(func(context.Context, string, []byte) ([]byte, error) { misbehave(); return nil, nil }),
				Diagnostics:  func(context.Context, []SourceFile) ([]Diagnostic, error) { misbehave(); return nil, nil },
				Instructions: func(context.Context, *tool.Call, string) string { misbehave(); return "" },
				OnFileChange: func(context.Context, FileChange) { misbehave() },
			})
			start := time.Now()
			res, err := b.run("edit", in{"filePath": "f", "oldString": "one", "newString": "two"})
			require.NoError(t, err)
			assert.Less(t, time.Since(start), 20*time.Second)
			assert.Equal(t, "two\n", b.file("f"))
			assert.NotEmpty(t, res.Metadata["observer"])
			assert.NotEmpty(t, res.Metadata["diagnosticsError"])
			assert.Len(t, res.Metadata["unformatted"], 1)
			assert.Contains(t, b.ok("read", in{"filePath": "f"}), "1\ttwo")
			for range 20 { // those left behind do not pile up
				b.ok("read", in{"filePath": "f"})
			}
			assert.LessOrEqual(t, b.ts.hooks.lost.Load(), int32(maxLostHooks))
		})
	}
}

// TestHooksOfACallThatEnds: the host learns of a change that was made, also if the
// call was cancelled meanwhile.
func TestHooksOfACallThatEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	told := 0
	b := newBench(t, "-- f --\none\n", Config{
		OnFileChange: func(ctx context.Context, _ FileChange) {
			told++
			cancel()
			assert.NoError(t, ctx.Err())
		},
		Diagnostics: func(ctx context.Context, _ []SourceFile) ([]Diagnostic, error) { return nil, ctx.Err() },
	})
	res, err := b.runIn(ctx, "edit", in{"filePath": "f", "oldString": "one", "newString": "two"})
	require.NoError(t, err)
	assert.Equal(t, 1, told)
	assert.Contains(t, res.Text, "Edited f")
}
