package lsp

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestWorkspaceEdits: what servers send as edits, and what becomes of it.
func TestWorkspaceEdits(t *testing.T) {
	needSlash(t)
	edit := func(l1, c1, l2, c2 int, text string) string {
		return fmt.Sprintf(`{"range":{"start":{"line":%d,"character":%d},"end":{"line":%d,"character":%d}},"newText":%q}`, l1, c1, l2, c2, text)
	}
	doc := func(name, version, edits string) string {
		return fmt.Sprintf(`{"textDocument":{"uri":"file:///w/%s","version":%s},"edits":[%s]}`, name, version, edits)
	}
	for name, c := range map[string]struct {
		edit string
		want string // as JSON
		err  string
	}{
		"nothing":       {`null`, `[]`, ""},
		"changes":       {`{"changes":{"file:///w/b.go":[` + edit(0, 0, 0, 1, "B") + `],"file:///w/a.go":[` + edit(0, 4, 0, 5, "x") + "," + edit(0, 0, 0, 2, "y") + `]}}`, `edit a.go 1:1-1:3 "y" 1:4-1:5 "x"; edit b.go 1:1-1:2 "B"`, ""},
		"documents":     {`{"documentChanges":[` + doc("a.go", "1", edit(0, 0, 0, 0, "x")) + `]}`, `edit a.go 1:1-1:1 "x"`, ""},
		"any version":   {`{"documentChanges":[` + doc("a.go", "null", edit(0, 0, 0, 0, "x")) + `]}`, `edit a.go 1:1-1:1 "x"`, ""},
		"other version": {`{"documentChanges":[` + doc("a.go", "7", edit(0, 0, 0, 0, "x")) + `]}`, "", "the file changed while the server worked"},
		"overlap":       {`{"changes":{"file:///w/a.go":[` + edit(0, 0, 0, 2, "x") + "," + edit(0, 1, 0, 4, "y") + `]}}`, "", "overlap"},
		"backwards":     {`{"changes":{"file:///w/a.go":[` + edit(0, 4, 0, 2, "x") + `]}}`, "", "ends before it begins"},
		"two inserts":   {`{"changes":{"file:///w/a.go":[` + edit(0, 1, 0, 1, "x") + "," + edit(0, 1, 0, 1, "y") + `]}}`, `edit a.go 1:2-1:2 "x" 1:2-1:2 "y"`, ""},
		"beyond":        {`{"changes":{"file:///w/b.go":[` + edit(99, 0, 99, 9, "x") + `]}}`, `edit b.go 100:1-100:1 "x"`, ""},
		"outside":       {`{"changes":{"file:///etc/passwd":[` + edit(0, 0, 0, 0, "x") + `]}}`, "", "would change /etc/passwd, which cannot be read here"},
		"no file":       {`{"changes":{"untitled:1":[]}}`, "", "not the address of a file"},
		"create":        {`{"documentChanges":[{"kind":"create","uri":"file:///w/n.go"},` + doc("n.go", "null", edit(0, 0, 0, 0, "new\n")) + `]}`, `create n.go 1:1-1:1 "new\n"`, ""},
		"rename":        {`{"documentChanges":[` + doc("a.go", "null", edit(0, 0, 0, 1, "x")) + `,{"kind":"rename","oldUri":"file:///w/a.go","newUri":"file:///w/z.go"}]}`, `rename a.go to z.go 1:1-1:2 "x"`, ""},
		"rename, edit":  {`{"documentChanges":[{"kind":"rename","oldUri":"file:///w/a.go","newUri":"file:///w/z.go"},` + doc("z.go", "null", edit(0, 0, 0, 1, "x")) + `]}`, `rename a.go to z.go 1:1-1:2 "x"`, ""},
		"delete":        {`{"documentChanges":[{"kind":"delete","uri":"file:///w/b.go"}]}`, `delete b.go`, ""},
		"delete, edit":  {`{"documentChanges":[{"kind":"delete","uri":"file:///w/b.go"},` + doc("b.go", "null", edit(0, 0, 0, 0, "x")) + `]}`, "", "would edit /w/b.go twice"},
		"twice":         {`{"documentChanges":[` + doc("a.go", "null", edit(0, 0, 0, 1, "x")) + "," + doc("a.go", "null", edit(0, 2, 0, 3, "x")) + `]}`, "", "would edit /w/a.go twice"},
		"unknown":       {`{"documentChanges":[{"kind":"chmod","uri":"file:///w/b.go"}]}`, "", `has the kind "chmod"`},
		"empty":         {`{"changes":{"file:///w/a.go":[]}}`, `[]`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			p := serve(t, map[string]string{"/w/a.go": "ab🙂cd\n", "/w/b.go": "b\n"}, script{
				"textDocument/prepareRename": func(f *fake, m *incoming) { f.reply(m, map[string]any{"defaultBehavior": true}) },
				"textDocument/rename":        func(f *fake, m *incoming) { f.reply(m, json.RawMessage(c.edit)) },
			})
			a, err := p.Query(t.Context(), Query{Op: OpRename, Path: "/w/a.go", At: Position{1, 1}, Name: "n"})
			if c.err != "" {
				require.ErrorContains(t, err, c.err)
				return
			}
			require.NoError(t, err)
			got := "[]"
			for i, e := range a.Edits {
				if i > 0 {
					got += "; "
				} else {
					got = ""
				}
				got += e.Op + " " + e.Path[3:]
				if e.To != "" {
					got += " to " + e.To[3:]
				}
				for _, te := range e.Edits {
					got += fmt.Sprintf(" %d:%d-%d:%d %q", te.Start.Line, te.Start.Column, te.End.Line, te.End.Column, te.NewText)
				}
			}
			assert.Equal(t, c.want, got)
		})
	}
}

// TestCodeActions: actions are listed; one is carried out if it is an edit, also
// one that is only computed then, and never if it is a command.
func TestCodeActions(t *testing.T) {
	needSlash(t)
	p := serve(t, map[string]string{"/w/a.go": "bad\n"}, script{
		"textDocument/didOpen": func(f *fake, _ *incoming) { f.publish("/w/a.go", 1, "0:wrong") },
		"textDocument/codeAction": func(f *fake, m *incoming) {
			f.reply(m, json.RawMessage(`[
				{"title":"Fix it","kind":"quickfix","isPreferred":true,"edit":{"changes":{"file:///w/a.go":[{"range":{"start":{"line":0,"character":0},"end":{"line":0,"character":3}},"newText":"good"}]}}},
				{"title":"Extract","kind":"refactor.extract","data":{"secret":42}},
				{"title":"Extract all","kind":"refactor.extract","disabled":{"reason":"nothing there"}},
				{"title":"Run tests","kind":"source","command":{"title":"t","command":"run"}},
				{"title":"Old command","command":"run"}]`))
		},
		"codeAction/resolve": func(f *fake, m *incoming) {
			assert.Equal(t, `{"title":"Extract","kind":"refactor.extract","data":{"secret":42}}`, compact(m.Params), "it goes back as it came")
			f.reply(m, json.RawMessage(`{"title":"Extract","edit":{"changes":{"file:///w/a.go":[]}}}`))
		},
	})
	q := Query{Op: OpCodeActions, Path: "/w/a.go", At: Position{1, 1}, End: Position{1, 4}}
	_, _, err := p.Diagnostics(t.Context(), "/w/a.go", 0)
	require.NoError(t, err)
	require.Eventually(t, func() bool { list, _, _ := p.Diagnostics(t.Context(), "/w/a.go", 0); return len(list) == 1 }, testTime, testTick)
	a, err := p.Query(t.Context(), q)
	require.NoError(t, err)
	require.Len(t, a.Actions, 5)
	assert.Equal(t, Action{Title: "Fix it", Kind: "quickfix", Preferred: true}, a.Actions[0])
	assert.Contains(t, string(p.last().got("textDocument/codeAction")[0].Params), `"message":"wrong"`)
	for _, c := range []struct{ name, err string }{
		{"fix IT", ""}, {"extract", ""}, {"all", "nothing there"}, {"Run", "it is a command of the server"}, {"Old", "it is a command of the server"}, {"t", "or not just one"}, {"nope", `there is "Fix it", "Extract"`},
	} {
		q.Name = c.name
		a, err := p.Query(t.Context(), q)
		if c.err != "" {
			require.ErrorContains(t, err, c.err, c.name)
			continue
		}
		require.NoError(t, err, c.name)
		if c.name == "fix IT" {
			assert.Equal(t, "good", a.Edits[0].Edits[0].NewText)
		}
	}
	assert.Empty(t, p.last().got("workspace/executeCommand"))
}
