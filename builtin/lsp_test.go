package builtin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/agenttool/tool"
	"github.com/agenttool/tool/tooltest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// stubLSP is a host's LSP that answers what a test says.
type stubLSP struct {
	mu      sync.Mutex
	opened  []string
	changed [][2][]SourceFile
	queries []LSPQuery

	query  func(q *LSPQuery) (*LSPAnswer, error)
	report func(before, after []SourceFile) (*LSPReport, error)
}

func (s *stubLSP) Open(path string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opened = append(s.opened, path)
}

func (s *stubLSP) Changed(_ context.Context, before, after []SourceFile) (*LSPReport, error) {
	s.mu.Lock()
	s.changed = append(s.changed, [2][]SourceFile{before, after})
	report := s.report
	s.mu.Unlock()
	if report == nil {
		return nil, nil
	}
	return report(before, after)
}

func (s *stubLSP) Query(_ context.Context, q *LSPQuery) (*LSPAnswer, error) {
	s.mu.Lock()
	s.queries = append(s.queries, *q)
	s.mu.Unlock()
	if s.query == nil {
		return &LSPAnswer{Server: "stub"}, nil
	}
	return s.query(q)
}

// TestLSPIsConditional: without a server there is no tool, and what is configured
// wrongly is refused.
func TestLSPIsConditional(t *testing.T) {
	_, ok := newBench(t, "", Config{}).ts.Tool("lsp")
	assert.False(t, ok)
	_, ok = newBench(t, "", Config{LSP: &stubLSP{}}).ts.Tool("lsp")
	assert.True(t, ok)
	_, ok = newBench(t, "", Config{LanguageServers: []LanguageServer{Gopls(), TypeScript(), Pyright(), RustAnalyzer(), Clangd()}}).ts.Tool("lsp")
	assert.True(t, ok)
	for want, cfg := range map[string]Config{
		"exclude each other": {LSP: &stubLSP{}, LanguageServers: []LanguageServer{Gopls()}},
		"has no Command":     {LanguageServers: []LanguageServer{{Name: "x", Extensions: map[string]string{".x": "x"}}}},
		"has no Extensions":  {LanguageServers: []LanguageServer{{Command: "x"}}},
		"two named gopls":    {LanguageServers: []LanguageServer{Gopls(), Gopls()}},
		"neither a name":     {LanguageServers: []LanguageServer{{Command: "./x", Extensions: map[string]string{".x": "x"}}}},
	} {
		cfg.Root = t.TempDir()
		_, err := New(cfg)
		require.ErrorContains(t, err, want)
	}
}

// TestLSPSpec: what models see of the tool changes only on purpose.
func TestLSPSpec(t *testing.T) {
	b := newBench(t, "", Config{LSP: &stubLSP{}})
	tl, _ := b.ts.Tool("lsp")
	s, err := tl.Spec(t.Context(), nil)
	require.NoError(t, err)
	assert.Less(t, len(s.Description), 900)
	var schema bytes.Buffer
	require.NoError(t, json.Indent(&schema, s.Input, "", "  "))
	got := fmt.Sprintf("parallel=%v hints=%+v aliases=%v\n%s\n%s\n", s.Parallel, s.Hints, s.Aliases, s.Description, schema.String())
	golden := filepath.Join("testdata", "lsp.golden")
	if *update {
		require.NoError(t, os.WriteFile(golden, []byte(got), 0o666))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err, "run the test with -update")
	assert.Equal(t, string(want), got)
	tooltest.Check(t, tl, `{"operation":"workspaceSymbol","query":"x"}`)
}

// TestLSPOperations: the names of other systems lead to the same operations, and
// the name that the tool is called by presets one.
func TestLSPOperations(t *testing.T) {
	stub := &stubLSP{}
	b := newBench(t, "-- a.go --\npackage a\n\nfunc F() {}\n", Config{LSP: stub})
	for _, c := range []struct {
		tool, operation string
		want            LSPOperation
	}{
		{"lsp", "definition", LSPDefinition}, {"lsp", "goToDefinition", LSPDefinition}, {"lsp", "go_to_definition", LSPDefinition}, {"lsp", "findReferences", LSPReferences},
		{"lsp", "Hover", LSPHover}, {"lsp", "goToImplementation", LSPImplementation}, {"lsp", "document_symbols", LSPDocumentSymbol}, {"lsp", "prepareCallHierarchy", LSPIncomingCalls},
		{"lsp", "outgoing-calls", LSPOutgoingCalls}, {"lsp_diagnostics", "", LSPDiagnostics}, {"lsp-diagnostics", "", LSPDiagnostics}, {"lsp_hover", "", LSPHover}, {"lsp-hover", "", LSPHover},
		{"LSP_Hover", "", LSPHover}, {"lsp_hover", "definition", LSPDefinition}, {"lsp_references", "", LSPReferences},
	} {
		input := in{"filePath": "a.go", "line": 3, "symbol": "F"}
		if c.operation != "" {
			input["operation"] = c.operation
		}
		b.as(c.tool, input)
		assert.Equal(t, c.want, stub.queries[len(stub.queries)-1].Operation, "%s %s", c.tool, c.operation)
	}
	n := len(stub.queries)
	for input, want := range map[string]string{
		`{"filePath":"a.go"}`:                                             "operation is missing; it is one of definition, references",
		`{"operation":"format","filePath":"a.go"}`:                        `no operation "format"; it is one of definition`,
		`{"operation":"hover"}`:                                           "hover needs filePath",
		`{"operation":"hover","filePath":"a.go"}`:                         "hover needs the place: line, and character or symbol; or symbol alone",
		`{"operation":"workspaceSymbol"}`:                                 "workspaceSymbol needs query",
		`{"operation":"rename","filePath":"a.go","symbol":"F"}`:           "rename needs newName",
		`{"operation":"codeActions","filePath":"a.go"}`:                   "codeActions needs line",
		`{"operation":"hover","filePath":"b.go","line":1}`:                "file not found: b.go",
		`{"operation":"hover","filePath":".","line":1}`:                   "is a directory",
		`{"operation":"hover","filePath":"a.go","line":9,"character":1}`:  "a.go has 3 lines, so there is no line 9",
		`{"operation":"hover","filePath":"a.go","line":2,"character":1}`:  "line 2 of a.go has no name in it",
		`{"operation":"hover","filePath":"a.go","line":3}`:                "line 3 of a.go has several names; give symbol, or character: func (1), F (6)",
		`{"operation":"hover","filePath":"a.go","line":3,"character":40}`: "there is no name at character 40",
		`{"operation":"hover","filePath":"a.go","line":1,"symbol":"G"}`:   "G is not in line 1 of a.go, nor anywhere else in the file; use workspaceSymbol or grep",
		`{"operation":"codeActions","filePath":"a.go","line":9}`:          "no line 9",
	} {
		tl, _ := b.ts.Tool("lsp")
		_, err := tl.Run(t.Context(), b.call("lsp", input))
		require.ErrorContains(t, err, want, input)
	}
	assert.Len(t, stub.queries, n, "nothing of that reached the server")
}

// TestLSPPlace: the place is found by the name where the column, or the line, is off.
func TestLSPPlace(t *testing.T) {
	stub := &stubLSP{query: func(q *LSPQuery) (*LSPAnswer, error) {
		if q.Operation != LSPDocumentSymbol {
			return &LSPAnswer{Hover: fmt.Sprintf("%d:%d", q.At.Line, q.At.Column)}, nil
		}
		at := func(line, col int) LSPLocation {
			return LSPLocation{q.Path, LSPPosition{line, col}, LSPPosition{line + 1, 1}}
		}
		return &LSPAnswer{Symbols: []LSPSymbol{
			{Name: "Alpha", Kind: "function", Location: at(3, 1)}, {Name: "(T).Twin", Kind: "method", Location: at(5, 6)}, {Name: "(U).Twin", Kind: "method", Location: at(6, 6)},
		}}, nil
	}}
	b := newBench(t, "-- a.go --\npackage a // 🙂 é\n\nfunc Alpha(alpha int) { beta(alpha, x.beta, alpha) } // 漢字 gamma\n\nfunc Twin()\nfunc Twin()\n\tdelta_1 := 12\n", Config{LSP: stub})
	for _, c := range []struct {
		line, character int
		symbol, want    string
	}{
		{3, 6, "", "3:6"}, {3, 8, "", "3:8"}, {3, 5, "", "3:1"}, {3, 50, "gamma", "3:60"},
		{3, 25, "beta", "3:25"}, {3, 38, "beta", "3:39"}, {3, 0, "x.beta", "3:39"}, {3, 0, "Alpha", "3:6"}, {1, 0, "gamma", "(gamma is not in line 1; the one at 3:60 was taken)\n3:60"},
		{0, 0, "Alpha", "3:6"}, {0, 0, "gamma", "(the file does not declare gamma; the one at 3:60 was taken)\n3:60"}, {0, 0, "(T).Twin", "5:6"},
		{7, 0, "", "7:2"}, {7, 5, "", "7:5"}, {7, 1, "", "(there is no name at character 1; delta_1 at 7:2 was taken)\n7:2"}, {6, 1, "delta_1", "(delta_1 is not in line 6; the one at 7:2 was taken)\n7:2"},
	} {
		input := in{"operation": "hover", "filePath": "a.go"}
		if c.line > 0 {
			input["line"] = c.line
		}
		if c.character > 0 {
			input["character"] = c.character
		}
		if c.symbol != "" {
			input["symbol"] = c.symbol
		}
		assert.Equal(t, c.want, b.ok("lsp", input), "%v", input)
	}
	assert.Contains(t, b.fails("lsp", in{"operation": "hover", "filePath": "a.go", "line": 3, "symbol": "alpha"}), "alpha stands more than once in line 3; give character, one of 12, 30, 45")
	assert.Contains(t, b.fails("lsp", in{"operation": "hover", "filePath": "a.go", "symbol": "Twin"}), "declares several of this name; give line: method (T).Twin in line 5, method (U).Twin in line 6")
	assert.Contains(t, b.fails("lsp", in{"operation": "hover", "filePath": "a.go", "symbol": "nope"}), "nope is nowhere in a.go")
}

// TestLSPResults: results are bounded, sorted, relative to the project, and what
// is outside or secret is named but not shown.
func TestLSPResults(t *testing.T) {
	var b *bench
	stub := &stubLSP{}
	b = newBench(t, "-- a.go --\npackage a\n\nvar x = 1\n-- .env --\nTOKEN=1\n-- .gitignore --\nout/\n*.gen.go\n-- out/o.go --\nx\n-- p.gen.go --\nx\n-- sub/.gitignore --\nhid.go\n-- sub/hid.go --\nx\n", Config{LSP: stub})
	loc := func(path string, line, col int) LSPLocation {
		if !filepath.IsAbs(path) {
			path = b.path(path)
		}
		return LSPLocation{path, LSPPosition{line, col}, LSPPosition{line, col + 1}}
	}
	outside := filepath.Join(t.TempDir(), "lib.go")
	require.NoError(t, os.WriteFile(outside, []byte("SECRET OF OTHERS\n"), 0o666))
	stub.query = func(q *LSPQuery) (*LSPAnswer, error) {
		return &LSPAnswer{Server: "stub", Busy: "stub is busy: Indexing", Declarations: []LSPLocation{loc("a.go", 3, 5)}, Locations: []LSPLocation{
			loc(outside, 1, 1), loc("a.go", 3, 5), loc("a.go", 1, 9), loc(".env", 1, 1), loc("out/o.go", 1, 1), loc("p.gen.go", 1, 1), loc("sub/hid.go", 1, 1), loc("gone.go", 7, 0),
		}}, nil
	}
	res, err := b.run("lsp", in{"operation": "references", "filePath": "a.go", "line": 3, "symbol": "x"})
	require.NoError(t, err)
	assert.Equal(t, "5 places in 4 files\n.env:1:1:\na.go:1:9: package a\na.go:3:5: (declaration) var x = 1\ngone.go:7:1:\n"+filepath.ToSlash(outside)+":1:1: (outside the project)\n(3 more in files that git ignores)\n(stub is busy: Indexing; there may be more, ask again later)", res.Text)
	assert.Equal(t, 5, res.Metadata["count"])
	assert.Len(t, res.Metadata["results"], 5)

	stub.query = func(q *LSPQuery) (*LSPAnswer, error) {
		a := &LSPAnswer{}
		for i := range 250 {
			a.Locations = append(a.Locations, loc("a.go", 250-i, 1))
		}
		return a, nil
	}
	out := b.ok("lsp", in{"operation": "references", "filePath": "a.go", "line": 3, "symbol": "x"})
	assert.Equal(t, 102, len(strings.Split(out, "\n")))
	assert.Contains(t, out, "250 places in 1 file\na.go:1:1: package a\na.go:2:1:")
	assert.Contains(t, out, "(150 more in 1 file; use grep to see them)")

	for op, want := range map[string]string{
		"definition": "No definition was found.", "references": "No references were found.", "implementation": "No implementations were found.", "hover": "The server knows nothing about this place.",
		"incomingCalls": "Nothing calls it.", "outgoingCalls": "It calls nothing.", "documentSymbol": "The file declares no symbols.", "workspaceSymbol": "No symbols match.",
		"diagnostics": "Nothing is wrong in a.go.", "codeActions": "There are no code actions here.",
	} {
		stub.query = func(*LSPQuery) (*LSPAnswer, error) { return nil, nil }
		assert.Equal(t, want, b.ok("lsp", in{"operation": op, "filePath": "a.go", "line": 3, "symbol": "x", "query": "x"}))
	}
	// Whatever a server says, it cannot paint on the terminal.
	stub.query = func(*LSPQuery) (*LSPAnswer, error) {
		return &LSPAnswer{Hover: "a\x1b[2Jb\u202ec\xff", Symbols: []LSPSymbol{{Name: "n\n\x1b", Kind: "k", Location: loc("a.go", 1, 1)}},
			Diagnostics: []Diagnostic{{Path: b.path("a.go"), Line: 1, Severity: "error", Message: "m\n\x1b"}}, Actions: []LSPAction{{Title: "t\x1b"}}}, nil
	}
	for _, op := range []string{"hover", "documentSymbol", "workspaceSymbol", "diagnostics", "codeActions"} {
		out := b.ok("lsp", in{"operation": op, "filePath": "a.go", "line": 3, "symbol": "x", "query": "x"})
		assert.NotContains(t, out, "\x1b")
		assert.NotContains(t, out, "\u202e")
		assert.True(t, utf8.ValidString(out))
	}
	stub.query = func(*LSPQuery) (*LSPAnswer, error) { return nil, errors.New("gopls is not installed: get it") }
	assert.Contains(t, b.fails("lsp", in{"operation": "hover", "filePath": "a.go", "symbol": "x"}), "gopls is not installed: get it")
	stub.query = func(*LSPQuery) (*LSPAnswer, error) { panic("host") }
	assert.Contains(t, b.fails("lsp", in{"operation": "hover", "filePath": "a.go", "symbol": "x"}), "the language server's client: panicked: host")
}

// TestLSPAsks: what is asked, before anything reaches a server.
func TestLSPAsks(t *testing.T) {
	stub := &stubLSP{}
	b := newBench(t, "-- a.go --\npackage a\n-- .env --\nT=1\n", Config{LSP: stub})
	outside := tooltest.Workspace(t, "-- o.go --\npackage o\n")
	b.ok("lsp", in{"operation": "documentSymbol", "filePath": "a.go"})
	assert.Equal(t, []string{"lsp *"}, b.asks())
	assert.Contains(t, b.fails("lsp", in{"operation": "documentSymbol", "filePath": ".env"}), ".env may hold secrets and is not given to language servers")
	assert.Empty(t, b.asks())
	b.ok("lsp", in{"operation": "documentSymbol", "filePath": filepath.Join(outside, "o.go")})
	assert.Equal(t, []string{"external_directory " + filepath.ToSlash(outside) + "/*", "lsp *"}, b.asks())
	n := len(stub.queries)
	b.approver = tooltest.DenyAll{}
	for _, input := range []in{
		{"operation": "documentSymbol", "filePath": "a.go"}, {"operation": "rename", "filePath": "a.go", "symbol": "a", "newName": "b"},
		{"operation": "hover", "filePath": filepath.Join(outside, "nope.go"), "line": 1}, {"operation": "workspaceSymbol", "query": "x"},
	} {
		_, err := b.run("lsp", input)
		require.ErrorIs(t, err, tool.ErrDenied)
	}
	assert.Len(t, stub.queries, n, "the server was not asked")
	p, err := b.ts.Plan(t.Context(), tooltest.NewCall("lsp", in{"operation": "rename", "filePath": "a.go", "symbol": "a", "newName": "b"}))
	require.NoError(t, err)
	require.Len(t, p.Requests, 2)
	assert.Equal(t, "edit", p.Requests[1].Permission)
	assert.Len(t, stub.queries, n, "nor for a plan")
}

// renameEdits answers with a new name for x in two files.
func renameEdits(b *bench, x string) func(q *LSPQuery) (*LSPAnswer, error) {
	return func(q *LSPQuery) (*LSPAnswer, error) {
		a := &LSPAnswer{Server: "stub"}
		for _, name := range []string{"a.go", "b.go"} {
			e := LSPFileEdit{Operation: "edit", Path: b.path(name), Text: strings.TrimPrefix(b.file(name), "\uFEFF")}
			for i, l := range newSourceLines(e.Text) {
				for _, col := range occurrences(l, x) {
					e.Edits = append(e.Edits, LSPTextEdit{LSPPosition{i + 1, col}, LSPPosition{i + 1, col + len(x)}, q.NewName})
				}
			}
			a.Edits = append(a.Edits, e)
		}
		return a, nil
	}
}

const twoFiles = "-- a.go --\npackage a\n\nvar x = \"🙂\" + x\n-- b.go --\npackage a\n\nvar z = x // é x\n"

// TestLSPRename: all files in one question with the diff, all or nothing, and the
// bytes outside of the edits as they were.
func TestLSPRename(t *testing.T) {
	stub := &stubLSP{}
	b := newBench(t, twoFiles, Config{LSP: stub})
	b.put("b.go", "\xEF\xBB\xBFpackage a\r\n\r\nvar z = x // é x\r\n")
	stub.query = renameEdits(b, "x")
	res, err := b.run("lsp", in{"operation": "rename", "filePath": "a.go", "line": 3, "character": 5, "newName": " yy "})
	require.NoError(t, err)
	assert.Equal(t, "Rename to yy: 4 places in 2 files\nM a.go (+1 -1)\nM b.go (+1 -1)", res.Text)
	assert.Equal(t, []string{"lsp *", "edit a.go", "edit b.go"}, b.asks())
	assert.Len(t, b.asked, 2)
	assert.Equal(t, "Rename to yy, in 2 files", b.asked[1].Title)
	assert.Contains(t, b.asked[1].Metadata["diff"], "-var x = \"🙂\" + x\n+var yy = \"🙂\" + yy\n")
	assert.Equal(t, "package a\n\nvar yy = \"🙂\" + yy\n", b.file("a.go"))
	assert.Equal(t, "\xEF\xBB\xBFpackage a\r\n\r\nvar z = yy // é yy\r\n", b.file("b.go"))
	require.Len(t, stub.changed, 1, "the server is told")
	assert.Len(t, stub.changed[0][1], 2)

	before := []string{b.file("a.go"), b.file("b.go")}
	stub.query = renameEdits(b, "yy")
	b.approver = tool.ApproverFunc(func(_ context.Context, _ *tool.Call, req *tool.Request) error {
		if req.Permission == "edit" {
			return &tool.DeniedError{Request: req}
		}
		return nil
	})
	_, err = b.run("lsp", in{"operation": "rename", "filePath": "a.go", "line": 3, "character": 5, "newName": "q"})
	require.ErrorIs(t, err, tool.ErrDenied)
	assert.Equal(t, before, []string{b.file("a.go"), b.file("b.go")})
}

// TestLSPRenameRaces: a file that changes while the user is asked is asked about
// again, with new edits; one that never rests is left alone.
func TestLSPRenameRaces(t *testing.T) {
	stub := &stubLSP{}
	b := newBench(t, twoFiles, Config{LSP: stub})
	stub.query = renameEdits(b, "x")
	times := 0
	b.approver = tool.ApproverFunc(func(_ context.Context, _ *tool.Call, req *tool.Request) error {
		if times++; req.Permission == "edit" && times == 2 {
			b.put("b.go", "package a\n\n// new\nvar z = x\n")
		}
		return nil
	})
	b.ok("lsp", in{"operation": "rename", "filePath": "a.go", "line": 3, "character": 5, "newName": "y"})
	assert.Equal(t, "package a\n\n// new\nvar z = y\n", b.file("b.go"))
	assert.Equal(t, []string{"lsp *", "edit a.go", "edit b.go", "edit a.go", "edit b.go"}, b.asks())

	b.put("a.go", "package a\n\nvar x = 1\n")
	n := 0
	b.approver = tool.ApproverFunc(func(_ context.Context, _ *tool.Call, req *tool.Request) error {
		n++
		b.put("b.go", fmt.Sprintf("package a\n\nvar z = x // %d\n", n))
		return nil
	})
	assert.Contains(t, b.fails("lsp", in{"operation": "rename", "filePath": "a.go", "line": 3, "character": 5, "newName": "w"}), "nothing was changed")
	assert.Equal(t, "package a\n\nvar x = 1\n", b.file("a.go"))
}

// TestLSPEditsOfFiles: files that a server would create, move or remove, and what
// it is refused.
func TestLSPEditsOfFiles(t *testing.T) {
	stub := &stubLSP{}
	b := newBench(t, twoFiles+"-- old.go --\npackage a // x\n-- gone.go --\npackage a\n-- .git/config --\n[core]\n", Config{LSP: stub})
	outside := tooltest.Workspace(t, "-- o.go --\npackage o\n")
	give := func(list ...LSPFileEdit) {
		stub.query = func(*LSPQuery) (*LSPAnswer, error) { return &LSPAnswer{Edits: list}, nil }
	}
	run := in{"operation": "codeActions", "filePath": "a.go", "line": 3, "action": "Move it"}
	give(
		LSPFileEdit{Operation: "create", Path: b.path("d/new.go"), Edits: []LSPTextEdit{{LSPPosition{1, 1}, LSPPosition{1, 1}, "package d\n"}}},
		LSPFileEdit{Operation: "rename", Path: b.path("old.go"), To: b.path("d/moved.go"), Text: b.file("old.go"), Edits: []LSPTextEdit{{LSPPosition{1, 9}, LSPPosition{1, 10}, "d"}}},
		LSPFileEdit{Operation: "delete", Path: b.path("gone.go")},
	)
	assert.Equal(t, "Move it: 1 place in 3 files\nA d/new.go (1 line)\nM d/moved.go (moved from old.go, +1 -1)\nD gone.go", b.ok("lsp", run))
	assert.Equal(t, "package d\n", b.file("d/new.go"))
	assert.Equal(t, "package d // x\n", b.file("d/moved.go"))
	assert.NoFileExists(t, b.path("old.go"))
	assert.NoFileExists(t, b.path("gone.go"))
	b.ok("edit", in{"filePath": "d/moved.go", "undo": true})
	assert.Equal(t, "package a // x\n", b.file("old.go"))
	assert.FileExists(t, b.path("gone.go"))
	assert.NoDirExists(t, b.path("d"), "made for the move, and taken back with it")
	require.NoError(t, os.Mkdir(b.path("d"), 0o777))

	tree := func() string { return b.ok("ls", in{"depth": 3}) + b.file("a.go") }
	before := tree()
	one := func(op, path, to, text string) LSPFileEdit {
		return LSPFileEdit{Operation: op, Path: path, To: to, Text: text, Edits: []LSPTextEdit{{LSPPosition{1, 1}, LSPPosition{1, 2}, "!"}}}
	}
	for _, c := range []struct {
		edit LSPFileEdit
		want string
	}{
		{one("create", b.path("a.go"), "", ""), "would create a.go, which is there already"},
		{one("rename", b.path("a.go"), b.path("b.go"), b.file("a.go")), "would move a.go to b.go, which is there already"},
		{one("rename", b.path("d"), b.path("e"), ""), "directory"},
		{one("edit", b.path("a.go"), "", "something else"), "the files changed while the server worked"},
		{one("edit", b.path("none.go"), "", ""), "the files changed while the server worked"},
		{one("chmod", b.path("a.go"), "", b.file("a.go")), `wants "chmod" done to a.go`},
		{LSPFileEdit{Operation: "edit", Path: b.path("a.go"), Text: b.file("a.go"), Edits: []LSPTextEdit{{LSPPosition{2, 1}, LSPPosition{1, 1}, "!"}}}, "ends before it begins"},
	} {
		give(c.edit)
		assert.Contains(t, b.fails("lsp", run), c.want)
		assert.Equal(t, before, tree())
	}
	give()
	assert.Equal(t, "The server wants nothing changed.", b.ok("lsp", run))
	give(LSPFileEdit{Operation: "edit", Path: b.path("a.go"), Text: b.file("a.go"), Edits: []LSPTextEdit{{LSPPosition{1, 1}, LSPPosition{1, 8}, "package"}}})
	assert.Equal(t, "The server wants nothing changed.", b.ok("lsp", run))
	// What is outside is asked for, what is protected asked for by name.
	give(one("edit", filepath.Join(outside, "o.go"), "", "package o\n"), one("edit", b.path(".git/config"), "", "[core]\n"))
	b.approver = tool.ApproverFunc(func(_ context.Context, _ *tool.Call, req *tool.Request) error {
		if req.Permission == "edit" {
			assert.True(t, req.Protected)
			return &tool.DeniedError{Request: req}
		}
		return nil
	})
	_, err := b.run("lsp", run)
	require.ErrorIs(t, err, tool.ErrDenied)
	assert.Equal(t, "external_directory "+filepath.ToSlash(outside)+"/*", b.asks()[1])
}

// TestLSPAfterChanges: every tool that changes files says what is new, and no
// server, slow, broken or full of words, can spoil the change.
func TestLSPAfterChanges(t *testing.T) {
	stub := &stubLSP{}
	b := newBench(t, "-- a.go --\npackage a\n\nvar x = 1\n-- .env --\nT=1\n", Config{LSP: stub, Limits: Limits{HookTime: 300 * time.Millisecond}})
	diag := func(name string, line int, severity, message string) Diagnostic {
		return Diagnostic{Path: b.path(name), Line: line, Column: 5, Severity: severity, Message: message, Source: "stub"}
	}
	stub.report = func(before, after []SourceFile) (*LSPReport, error) {
		return &LSPReport{New: []Diagnostic{diag("a.go", 3, "error", "wrong\nhere"), diag("a.go", 4, "warning", "not told"), diag("other.go", 1, "error", "broken")}}, nil
	}
	const said = "\nErrors that this change brought:\na.go:3:5: wrong\\nhere\nother.go:1:5: broken"
	for name, input := range map[string]in{
		"edit":        {"filePath": "a.go", "oldString": "var x", "newString": "var  x"},
		"multiedit":   {"filePath": "a.go", "edits": []in{{"oldString": "= 1", "newString": "= 2"}}},
		"write":       {"filePath": "n.go", "content": "package a\n"},
		"apply_patch": {"patchText": "*** Begin Patch\n*** Add File: p.go\n+package a\n*** End Patch"},
	} {
		res, err := b.run(name, input)
		require.NoError(t, err)
		assert.True(t, strings.HasSuffix(res.Text, said), "%s: %s", name, res.Text)
		assert.Len(t, res.Metadata["diagnostics"].(map[string][]Diagnostic)[b.path("a.go")], 2)
	}
	few := stub.report
	stub.report = func(before, after []SourceFile) (*LSPReport, error) {
		r := &LSPReport{}
		for i := range 30 {
			r.New = append(r.New, diag("a.go", 30-i, "error", "e"), diag("other.go", i+1, "error", "o"), diag("third.go", i+1, "error", "t"))
		}
		return r, nil
	}
	out := b.ok("edit", in{"filePath": "a.go", "oldString": "package a", "newString": "package b"})
	assert.Equal(t, 10, strings.Count(out, "\na.go:"))
	assert.Contains(t, out, "\na.go:10:5: e\nother.go:1:5: o\n")
	assert.True(t, strings.HasSuffix(out, "\nother.go:5:5: o\n(and 20 more, and 55 in other files)"), out)
	stub.report = few
	last := func() [2][]SourceFile { return stub.changed[len(stub.changed)-1] }
	b.ok("write", in{"filePath": "q.go", "content": "one\n"})
	assert.Equal(t, [2][]SourceFile{{{Path: b.path("q.go")}}, {{Path: b.path("q.go"), Content: []byte("one\n")}}}, last())
	n := len(stub.changed)
	b.ok("edit", in{"filePath": ".env", "oldString": "T=1", "newString": "T=2"})
	assert.Len(t, stub.changed, n, "secrets are none of a server's business")

	for name, c := range map[string]struct {
		report func([]SourceFile, []SourceFile) (*LSPReport, error)
		text   string
		meta   string
	}{
		"unsure": {func(_, _ []SourceFile) (*LSPReport, error) {
			return &LSPReport{New: []Diagnostic{diag("a.go", 3, "error", "old?")}, Unsure: []string{b.path("a.go")}}, nil
		}, "Errors now, some of which may be older than this change:\na.go:3:5: old?", ""},
		"late":   {func(_, _ []SourceFile) (*LSPReport, error) { return &LSPReport{Late: []string{"gopls (Loading)"}}, nil }, "\nNot checked yet: gopls (Loading) had no answer in time. Ask for diagnostics with lsp", "diagnosticsPending"},
		"fails":  {func(_, _ []SourceFile) (*LSPReport, error) { return nil, errors.New("no server today") }, "", "lspError"},
		"panics": {func(_, _ []SourceFile) (*LSPReport, error) { panic("host") }, "", "lspError"},
		"hangs":  {func(_, _ []SourceFile) (*LSPReport, error) { time.Sleep(2 * time.Second); return nil, nil }, "", "lspError"},
		"silent": {func(_, _ []SourceFile) (*LSPReport, error) { return nil, nil }, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			stub.mu.Lock() // an earlier call may have been left behind
			b.t, stub.report = t, c.report
			stub.mu.Unlock()
			b.put("a.go", "package a\n\nvar x = 1\n")
			start := time.Now()
			res, err := b.run("edit", in{"filePath": "a.go", "oldString": "var x", "newString": "var y"})
			require.NoError(t, err)
			assert.Equal(t, "package a\n\nvar y = 1\n", b.file("a.go"))
			assert.Less(t, time.Since(start), 20*time.Second)
			if c.text != "" {
				assert.Contains(t, res.Text, c.text)
			} else {
				assert.NotContains(t, res.Text, "rror")
			}
			if c.meta != "" {
				assert.Contains(t, res.Metadata, c.meta)
			}
		})
	}
}

// TestReadOpens: what a session reads is opened in the server, but no secrets,
// directories or what lies outside; and reading does not fail for it.
func TestReadOpens(t *testing.T) {
	stub := &stubLSP{}
	b := newBench(t, "-- a.go --\npackage a\n-- .env --\nT=1\n-- d/b.go --\npackage d\n", Config{LSP: stub})
	outside := tooltest.Workspace(t, "-- o.go --\npackage o\n")
	for _, name := range []string{"a.go", ".env", "d", "d/b.go", filepath.Join(outside, "o.go")} {
		b.ok("read", in{"filePath": name})
	}
	slices.Sort(stub.opened)
	assert.Equal(t, []string{b.path("a.go"), b.path("d/b.go")}, stub.opened)
	b = newBench(t, "-- a.go --\npackage a\n", Config{LSP: panicky{}})
	assert.Contains(t, b.ok("read", in{"filePath": "a.go"}), "package a")
}

type panicky struct{}

func (panicky) Open(string) { panic("host") }

func (panicky) Changed(context.Context, []SourceFile, []SourceFile) (*LSPReport, error) {
	panic("host")
}

func (panicky) Query(context.Context, *LSPQuery) (*LSPAnswer, error) { panic("host") }

// TestHostileServers: whatever program is configured as a server, changes are made
// without much delay, questions end with a reason, and nothing is left running.
func TestHostileServers(t *testing.T) {
	needShell(t)
	if runtime.GOOS != "linux" {
		t.Skip("processes are counted in /proc")
	}
	sh, err := exec.LookPath("sh")
	require.NoError(t, err)
	mark := fmt.Sprintf("LSP_TEST_MARK=hostile-%d-%d", os.Getpid(), time.Now().UnixNano())
	for script, want := range map[string]string{
		"exit 3":                        "sh ended (exit 3",
		"echo no such option >&2; exit": "no such option",
		"exec sleep 1000":               "did not start up within 1s",
		"trap '' TERM; while :; do sleep 0.1; done": "did not start up within 1s",
		"echo Hello; exec sleep 1000":               `it wrote "Hello" to its standard output`,
		"exec cat":                                  "", // it asks us what we ask it
		"exec yes":                                  `it wrote "y" to its standard output`,
		"exec head -c 100000000 /dev/zero":          "a header has more than 8192 bytes",
		"printf 'Content-Length: 999999999999\\r\\n\\r\\n'; exec sleep 1000": "announced a message of 999999999999 bytes",
		"printf 'Content-Length: 100\\r\\n\\r\\n{'; exit 1":                  "sh ended (exit 1",
	} {
		t.Run(script, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, "-- a.go --\npackage a\n\nvar x = 1\n", Config{
				LanguageServers: []LanguageServer{{Command: sh, Args: []string{"-c", script}, Env: []string{fmt.Sprintf("%s-%p", mark, t)}, Extensions: map[string]string{".go": "go"}, StartTimeout: time.Second}},
				Limits:          Limits{DiagnosticsTime: 200 * time.Millisecond},
			})
			b.ok("read", in{"filePath": "a.go"})
			start := time.Now()
			b.ok("edit", in{"filePath": "a.go", "oldString": "x = 1", "newString": "x = 2"})
			assert.Less(t, time.Since(start), 90*time.Second) // the start is waited for, for 8 s at most
			assert.Equal(t, "package a\n\nvar x = 2\n", b.file("a.go"))
			out := b.fails("lsp", in{"operation": "documentSymbol", "filePath": "a.go"})
			assert.Contains(t, out, want)
			require.NoError(t, b.ts.Close())
			require.Eventually(t, func() bool { return goplsProcesses(t, fmt.Sprintf("%s-%p", mark, t), nil) == 0 }, time.Minute, 50*time.Millisecond)
		})
	}
}

// TestLSPWaiting: a call that waits for a server shows what it waits for, and ends
// with its context.
func TestLSPWaiting(t *testing.T) {
	needShell(t)
	t.Parallel()
	sh, err := exec.LookPath("sh")
	require.NoError(t, err)
	b := newBench(t, "-- a.go --\npackage a\n", Config{LanguageServers: []LanguageServer{{
		Name: "slow", Command: sh, Args: []string{"-c", "exec sleep 1000"}, Extensions: map[string]string{".go": "go"}, StartTimeout: 5 * time.Minute,
	}}})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error, 1)
	go func() {
		_, err := b.runIn(ctx, "lsp", in{"operation": "documentSymbol", "filePath": "a.go"})
		done <- err
	}()
	require.Eventually(t, func() bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		return slices.ContainsFunc(b.updates, func(u tool.Update) bool { return u.Text == "slow is starting" })
	}, time.Minute, 20*time.Millisecond)
	start := time.Now()
	cancel()
	require.ErrorIs(t, <-done, context.Canceled)
	assert.Less(t, time.Since(start), 10*time.Second)
}

// TestMissingServer: a server that is not installed is said to be missing where it
// is asked for, with how to get it, and nowhere else.
func TestMissingServer(t *testing.T) {
	b := newBench(t, "-- a.go --\npackage a\n\nvar x = 1\n", Config{LanguageServers: []LanguageServer{{
		Command: "no-such-language-server", Extensions: map[string]string{".go": "go"}, Install: "ask your administrator",
	}}})
	assert.Equal(t, "no-such-language-server is not installed: no-such-language-server was not found in PATH. To install it: ask your administrator",
		b.fails("lsp", in{"operation": "hover", "filePath": "a.go", "symbol": "x"}))
	b.ok("read", in{"filePath": "a.go"})
	out := b.ok("edit", in{"filePath": "a.go", "oldString": "x = 1", "newString": "x = 2"})
	assert.NotContains(t, out, "no-such-language-server")
	assert.Contains(t, b.fails("lsp", in{"operation": "documentSymbol", "filePath": "go.mod"}), "file not found")
	b.put("notes.txt", "x\n")
	assert.Equal(t, "no language server is configured for .txt files; there is no-such-language-server (.go). Use grep and read instead",
		b.fails("lsp", in{"operation": "documentSymbol", "filePath": "notes.txt"}))
}
