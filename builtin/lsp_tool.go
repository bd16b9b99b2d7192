package builtin

import (
	"context"
	_ "embed" // descriptions
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/agenttool/tool"
)

//go:embed lsp.md
var lspDescription string

type lspInput struct {
	Operation string `json:"operation,omitempty" jsonschema:"what is asked: one of the operations above" alias:"op,method,action_type"`
	FilePath  string `json:"filePath,omitempty" jsonschema:"file, relative to the project or absolute" alias:"file_path,path,file,filename,filepath,uri"`
	Line      int    `json:"line,omitempty" jsonschema:"line, from 1" minimum:"1" alias:"start_line,startLine,lineNumber"`
	Character int    `json:"character,omitempty" jsonschema:"character in the line, from 1" minimum:"1" alias:"column,col"`
	Symbol    string `json:"symbol,omitempty" jsonschema:"name at this place, if character is not known" alias:"symbol_name,symbolName"`
	Query     string `json:"query,omitempty" jsonschema:"for workspaceSymbol: a name or part of one" alias:"pattern,search"`
	NewName   string `json:"newName,omitempty" jsonschema:"for rename" alias:"new_name"`
	EndLine   int    `json:"endLine,omitempty" jsonschema:"for codeActions: the last line" minimum:"1" alias:"end_line"`
	Action    string `json:"action,omitempty" jsonschema:"for codeActions: the title of the one to do" alias:"title"`
}

// lspOperations are the operations in the order in which they are told.
func lspOperations() []LSPOperation {
	return []LSPOperation{
		LSPDefinition, LSPReferences, LSPHover, LSPImplementation, LSPDocumentSymbol, LSPWorkspaceSymbol,
		LSPIncomingCalls, LSPOutgoingCalls, LSPDiagnostics, LSPRename, LSPCodeActions,
	}
}

// lspOtherNames are names of operations in other systems, in lower-case letters alone.
func lspOtherNames() map[string]LSPOperation {
	return map[string]LSPOperation{
		"gotodefinition": LSPDefinition, "findreferences": LSPReferences, "reference": LSPReferences, "gotoreferences": LSPReferences,
		"gotoimplementation": LSPImplementation, "implementations": LSPImplementation, "findimplementations": LSPImplementation,
		"documentsymbols": LSPDocumentSymbol, "symbols": LSPDocumentSymbol, "workspacesymbols": LSPWorkspaceSymbol, "symbolsearch": LSPWorkspaceSymbol,
		"preparecallhierarchy": LSPIncomingCalls, "callhierarchy": LSPIncomingCalls, "callers": LSPIncomingCalls, "callees": LSPOutgoingCalls,
		"diagnostic": LSPDiagnostics, "codeaction": LSPCodeActions, "quickfix": LSPCodeActions, "renamesymbol": LSPRename,
	}
}

// lspOperation finds the operation that a name stands for.
func lspOperation(name string) (LSPOperation, bool) {
	key := strings.Map(func(r rune) rune {
		if !unicode.IsLetter(r) {
			return -1
		}
		return unicode.ToLower(r)
	}, name)
	for _, op := range lspOperations() {
		if strings.ToLower(string(op)) == key {
			return op, true
		}
	}
	op, ok := lspOtherNames()[key]
	return op, ok
}

func defineLSP(ts *Toolset) (operation, error) {
	if ts.lsp == nil {
		return operation{}, nil
	}
	return defineChange(ts, tool.Def{
		Name: "lsp", Title: "LSP", Description: strings.TrimSpace(lspDescription),
		Hints:     tool.Hints{Destructive: true},
		Parallel:  true, // what changes files is planned anew if another was faster
		MaxOutput: -1,
		Aliases:   []string{"lsp_diagnostics", "lsp-diagnostics", "lsp_hover", "lsp-hover", "lsp_definition", "lsp_references", "lsp_rename", "language_server"},
	}, ts.planLSP)
}

// operation is what a call is about: by its arguments, else by the name it came by.
func (in *lspInput) operation(called string) (LSPOperation, error) {
	name := in.Operation
	if name == "" {
		if rest, ok := strings.CutPrefix(strings.ToLower(called), "lsp"); ok {
			name = rest
		}
	}
	if op, ok := lspOperation(name); ok {
		return op, nil
	}
	names := make([]string, 0, len(lspOperations()))
	for _, op := range lspOperations() {
		names = append(names, string(op))
	}
	if in.Operation == "" {
		return "", fmt.Errorf("operation is missing; it is one of %s", strings.Join(names, ", "))
	}
	return "", fmt.Errorf("there is no operation %q; it is one of %s", clip(oneLine(in.Operation), 100), strings.Join(names, ", "))
}

// check says what an operation lacks.
func (in *lspInput) check(op LSPOperation) error {
	switch {
	case in.FilePath == "" && op != LSPWorkspaceSymbol && op != LSPDiagnostics:
		return fmt.Errorf("%s needs filePath", op)
	case op == LSPWorkspaceSymbol && in.Query == "" && in.Symbol == "":
		return errors.New("workspaceSymbol needs query, a name or part of one")
	case op == LSPRename && strings.TrimSpace(in.NewName) == "":
		return errors.New("rename needs newName")
	case op == LSPCodeActions && in.Line == 0:
		return errors.New("codeActions needs line")
	case op == LSPCodeActions && in.EndLine > 0 && in.EndLine < in.Line:
		return errors.New("endLine comes before line")
	case op == LSPRename && (strings.ContainsAny(in.NewName, "\n\r\x00") || len(in.NewName) > 1000):
		return errors.New("newName is not a name")
	}
	if pointed(op) && in.Line == 0 && in.Symbol == "" {
		return fmt.Errorf("%s needs the place: line, and character or symbol; or symbol alone", op)
	}
	return nil
}

// pointed reports whether an operation is about one place.
func pointed(op LSPOperation) bool {
	return !slices.Contains([]LSPOperation{LSPDocumentSymbol, LSPWorkspaceSymbol, LSPDiagnostics, LSPCodeActions}, op)
}

// lspCall is one call of the tool.
type lspCall struct {
	ts   *Toolset
	in   lspInput
	op   LSPOperation
	l    location // of filePath, if there is one
	note string   // what was made of the arguments
}

func (ts *Toolset) planLSP(ctx context.Context, a *attempt, in lspInput) (*plan, error) {
	c := &lspCall{ts: ts, in: in}
	var err error
	if c.op, err = in.operation(a.call.Tool); err != nil {
		return nil, err
	}
	if err := in.check(c.op); err != nil {
		return nil, err
	}
	p := &plan{}
	if in.FilePath != "" {
		if c.l, c.note, err = ts.find(ctx, in.FilePath); err != nil {
			return nil, err
		}
		if c.l.secret {
			return nil, fmt.Errorf("%s may hold secrets and is not given to language servers; use read if you must see it", oneLine(in.FilePath))
		}
		p.asks = ts.askOutside(c.l)
	}
	p.asks = append(p.asks, ask{req: &tool.Request{
		Permission: "lsp", Title: c.title(), Patterns: []string{"*"}, Always: []string{"*"},
		Metadata: map[string]any{"operation": string(c.op), "filepath": c.l.display, "line": in.Line, "character": in.Character},
	}})
	if in.FilePath != "" {
		fail := ts.missing(ctx, c.l)
		if fail == nil && c.l.isDir() {
			fail = fmt.Errorf("%s is a directory; name a file", oneLine(in.FilePath))
		}
		if fail == nil {
			fail = checkKind(in.FilePath, c.l.info.Mode())
		}
		if fail != nil {
			if ts.open(c.l) {
				return nil, fail
			}
			p.fail = fail
			return p, nil
		}
	}
	if c.op == LSPRename || c.op == LSPCodeActions && in.Action != "" {
		return c.planEdits(ctx, a, p)
	}
	p.apply = func(ctx context.Context, call *tool.Call) (*outcome, error) {
		res, err := c.answer(ctx, call)
		if err != nil {
			return nil, err
		}
		return &outcome{result: res}, nil
	}
	return p, nil
}

// title is how a call is shown to the user.
func (c *lspCall) title() string {
	about := c.l.display
	switch {
	case c.op == LSPWorkspaceSymbol:
		about = clip(c.query(), 100)
	case c.in.Symbol != "":
		about = clip(c.in.Symbol, 100) + " in " + about
	case c.in.Line > 0:
		about += fmt.Sprintf(":%d", c.in.Line)
	case about == "":
		about = "the project"
	}
	return string(c.op) + " " + oneLine(about)
}

func (c *lspCall) query() string {
	if c.in.Query != "" {
		return c.in.Query
	}
	return c.in.Symbol
}

// text is the content of the call's file, which the session may see.
func (c *lspCall) text(ctx context.Context) (string, error) {
	p := &plan{}
	defer p.release()
	ch, err := c.ts.openFile(p, c.l)
	if err != nil {
		return "", err
	}
	if err := c.ts.readFile(ctx, "", ch); err != nil {
		return "", readError(c.l, err)
	}
	if ch.old == nil {
		return "", fmt.Errorf("%s is a binary file", oneLine(c.l.given))
	}
	return ch.old.Text, nil
}

// ask puts the call's question to the server.
func (c *lspCall) ask(ctx context.Context) (*LSPAnswer, error) {
	q := &LSPQuery{Operation: c.op, Path: c.l.abs, Query: c.query(), NewName: strings.TrimSpace(c.in.NewName), Action: c.in.Action}
	if c.in.FilePath == "" {
		q.Path = ""
	}
	switch {
	case pointed(c.op):
		text, err := c.text(ctx)
		if err != nil {
			return nil, err
		}
		place, err := c.place(ctx, newSourceLines(text))
		if err != nil {
			return nil, err
		}
		q.At, q.End = place, place
	case c.op == LSPCodeActions:
		text, err := c.text(ctx)
		if err != nil {
			return nil, err
		}
		if q.At, q.End, err = c.stretch(newSourceLines(text)); err != nil {
			return nil, err
		}
	}
	return c.ts.askServer(ctx, q)
}

// askServer is LSP.Query; a panic in it is an error, a call that ended says why, and
// one that does not return is left behind.
func (ts *Toolset) askServer(ctx context.Context, q *LSPQuery) (*LSPAnswer, error) {
	type said struct {
		answer *LSPAnswer
		err    error
	}
	s, note := hook(ctx, &ts.queries, func(ctx context.Context) said {
		a, err := ts.lsp.Query(ctx, q)
		return said{a, err}
	})
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case note != "":
		return nil, fmt.Errorf("the language server's client: %s", note)
	case s.err == nil && s.answer == nil:
		return &LSPAnswer{}, nil
	}
	return s.answer, s.err
}
