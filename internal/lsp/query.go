package lsp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Op is what is asked about a place.
type Op string

// The operations.
const (
	OpDefinition      Op = "definition"
	OpReferences      Op = "references"
	OpHover           Op = "hover"
	OpImplementation  Op = "implementation"
	OpDocumentSymbol  Op = "documentSymbol"
	OpWorkspaceSymbol Op = "workspaceSymbol"
	OpIncomingCalls   Op = "incomingCalls"
	OpOutgoingCalls   Op = "outgoingCalls"
	OpRename          Op = "rename"
	OpCodeActions     Op = "codeActions"
)

// Query is a question about code.
type Query struct {
	Op       Op
	Path     string // absolute; "" only for workspaceSymbol
	At, End  Position
	Name     string // of a symbol to find, the new name, or the title of an action to carry out
	IndexFor time.Duration
}

// Answer is the answer to a Query. What does not belong to its operation is empty.
type Answer struct {
	Server       string
	Locations    []Location
	Declarations []Location // of the symbol whose references Locations are
	Hover        string
	Symbols      []Symbol
	Calls        []Call
	Actions      []Action
	Edits        []FileEdit

	// Busy says with what the server is still busy, so that more may be found later.
	Busy string
}

func (a *Answer) empty() bool {
	return len(a.Locations)+len(a.Symbols)+len(a.Calls)+len(a.Actions)+len(a.Edits) == 0 && a.Hover == ""
}

// maxItems bounds every list of an Answer; what is beyond it is left out.
const maxItems = 10_000

// Query asks the first server that is for the file and knows the operation. The
// error wraps ErrNoServer, ErrUnsupported, ErrNotFound, ErrCrashed, ErrSlow,
// ErrClosed or the cause of ctx, or is what the server says, an *RPCError.
func (c *Client) Query(ctx context.Context, q Query) (*Answer, error) {
	var servers []*server
	if q.Path != "" {
		servers = c.serversFor(q.Path)
	} else {
		servers = c.workspaceServers()
	}
	if len(servers) == 0 && q.Path == "" {
		return nil, fmt.Errorf("%w is running; name a file with filePath, so that its server is started", ErrNoServer)
	} else if len(servers) == 0 {
		return nil, c.noServer(q.Path)
	}
	var all *Answer
	var first error
	for _, srv := range servers {
		a, err := srv.query(ctx, q)
		switch {
		case err == nil && q.Path != "":
			return a, nil
		case err == nil && all == nil:
			all = a
		case err == nil:
			all.Server += ", " + a.Server
			all.Symbols = append(all.Symbols, a.Symbols...)
		case first == nil || errors.Is(first, ErrUnsupported):
			first = err
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
	}
	if all != nil {
		return all, nil
	}
	return nil, first
}

func (s *server) query(ctx context.Context, q Query) (*Answer, error) {
	cur, release, err := s.use(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	timeout := s.cfg.RequestTimeout + q.IndexFor
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, &slowError{s.cfg.Name, timeout, cur})
	defer cancel()
	cur.refresh(ctx)
	if q.Path != "" {
		if err := cur.reload(q.Path); err != nil && inside(s.client.opt.Root, q.Path) {
			return nil, err // one outside the server reads itself
		}
	}
	a, err := cur.ask(ctx, q)
	if busy := cur.working(); busy != "" && q.IndexFor > 0 && ctx.Err() == nil && (err != nil || a.empty()) && !errors.Is(err, ErrUnsupported) && cur.cause() == nil {
		wait, cancel := context.WithTimeout(ctx, q.IndexFor)
		cur.rest(wait)
		cancel()
		a, err = cur.ask(ctx, q)
	}
	if err != nil {
		return nil, err
	}
	a.Server, a.Busy = s.cfg.Name, cur.working()
	return a, nil
}

// slowError says that a server did not answer in time, and with what it is busy.
type slowError struct {
	name string
	time time.Duration
	cur  *session
}

func (e *slowError) Error() string {
	text := fmt.Sprintf("%s gave %s: waited %s", e.name, ErrSlow, e.time)
	if w := e.cur.working(); w != "" {
		text += "; it is busy: " + w
	}
	return text + ". Try again later"
}

func (e *slowError) Unwrap() error { return ErrSlow }

// ask asks the server once.
func (s *session) ask(ctx context.Context, q Query) (*Answer, error) {
	s.mu.Lock()
	caps := s.caps
	s.mu.Unlock()
	can := map[Op]provider{
		OpDefinition: caps.DefinitionProvider, OpReferences: caps.ReferencesProvider, OpHover: caps.HoverProvider,
		OpImplementation: caps.ImplementationProvider, OpDocumentSymbol: caps.DocumentSymbolProvider,
		OpWorkspaceSymbol: caps.WorkspaceSymbolProvider, OpIncomingCalls: caps.CallHierarchyProvider,
		OpOutgoingCalls: caps.CallHierarchyProvider, OpRename: caps.RenameProvider, OpCodeActions: caps.CodeActionProvider,
	}[q.Op]
	if !can.On {
		return nil, fmt.Errorf("%s is %w by %s", q.Op, ErrUnsupported, s.cfg.Name)
	}
	t := &texts{s: s}
	a := &Answer{}
	var err error
	switch q.Op {
	case OpDefinition:
		a.Locations, err = s.places(ctx, t, "textDocument/definition", s.at(t, q), nil)
	case OpImplementation:
		a.Locations, err = s.places(ctx, t, "textDocument/implementation", s.at(t, q), nil)
	case OpReferences:
		a.Locations, err = s.places(ctx, t, "textDocument/references", s.at(t, q), map[string]any{"includeDeclaration": true})
		if err == nil && len(a.Locations) > 0 && caps.DefinitionProvider.On {
			a.Declarations, err = s.places(ctx, t, "textDocument/definition", s.at(t, q), nil)
		}
	case OpHover:
		var h struct {
			Contents hoverContents `json:"contents"`
		}
		err = s.request(ctx, "textDocument/hover", s.at(t, q), &h)
		a.Hover = strings.TrimSpace(string(h.Contents))
	case OpDocumentSymbol:
		var list []documentSymbol
		if err = s.request(ctx, "textDocument/documentSymbol", map[string]any{"textDocument": textDocumentID{URI: fileURI(q.Path)}}, &list); err == nil {
			a.Symbols, err = s.symbols(t, q.Path, list)
		}
	case OpWorkspaceSymbol:
		var list []documentSymbol
		if err = s.request(ctx, "workspace/symbol", map[string]any{"query": q.Name}, &list); err == nil {
			a.Symbols, err = s.symbols(t, "", list)
		}
	case OpIncomingCalls, OpOutgoingCalls:
		a.Calls, err = s.calls(ctx, t, q)
	case OpRename:
		a.Edits, err = s.rename(ctx, t, q, can.Prepare)
	case OpCodeActions:
		err = s.actions(ctx, t, q, can.Resolve, a)
	}
	if err != nil {
		return nil, err
	}
	return a, nil
}

// at is the position of a query as the server counts it.
func (s *session) at(t *texts, q Query) positionParams {
	p := positionParams{TextDocument: textDocumentID{URI: fileURI(q.Path)}}
	if lines := t.of(q.Path); lines != nil {
		p.Position = lines.Wire(q.At, s.enc)
	} else {
		p.Position = wirePosition{Line: int64(max(0, q.At.Line-1)), Character: int64(max(0, q.At.Column-1))}
	}
	return p
}

func (s *session) places(ctx context.Context, t *texts, method string, at positionParams, about any) ([]Location, error) {
	params := struct {
		positionParams
		Context any `json:"context,omitempty"`
	}{at, about}
	var list locations
	if err := s.request(ctx, method, params, &list); err != nil {
		return nil, err
	}
	out := make([]Location, 0, min(len(list), maxItems))
	for _, l := range list[:min(len(list), maxItems)] {
		loc, err := t.location(l.URI, l.Range)
		if err != nil {
			continue // such as jdt: addresses, which are no files
		}
		out = append(out, loc)
	}
	sortLocations(out)
	return slices.Compact(out), nil
}

func sortLocations(list []Location) { slices.SortStableFunc(list, compareLocations) }

func compareLocations(a, b Location) int {
	if c := strings.Compare(a.Path, b.Path); c != 0 {
		return c
	}
	if a.Start.Line != b.Start.Line {
		return a.Start.Line - b.Start.Line
	}
	return a.Start.Column - b.Start.Column
}

// symbols flattens the symbols of a file, or takes those of the workspace.
func (s *session) symbols(t *texts, path string, list []documentSymbol) ([]Symbol, error) {
	var out []Symbol
	var add func(list []documentSymbol, depth int)
	add = func(list []documentSymbol, depth int) {
		for _, d := range list {
			if len(out) == maxItems || depth > 50 {
				return
			}
			sym := Symbol{Name: clip(d.Name, 500), Kind: kindName(d.Kind), Detail: clip(d.Detail, 500), Container: clip(d.ContainerName, 200), Depth: depth}
			if d.Location != nil {
				loc, err := t.location(d.Location.URI, d.Location.Range)
				if err != nil {
					continue
				}
				sym.Location = loc
			} else if path != "" {
				sym.Location = s.location(path, d.SelectionRange, t.of(path))
				sym.Location.End = s.location(path, d.Range, t.of(path)).End
			} else {
				continue
			}
			out = append(out, sym)
			add(d.Children, depth+1)
		}
	}
	add(list, 0)
	return out, nil
}

// calls asks who calls what is at a place, or whom that calls.
func (s *session) calls(ctx context.Context, t *texts, q Query) ([]Call, error) {
	var items []callItem
	if err := s.request(ctx, "textDocument/prepareCallHierarchy", s.at(t, q), &items); err != nil {
		return nil, err
	}
	var out []Call
	add := func(item callItem, sitesIn string, ranges []wireRange) {
		loc, err := t.location(item.URI, item.SelectionRange)
		if err != nil || len(out) == maxItems {
			return
		}
		c := Call{Symbol: Symbol{Name: clip(item.Name, 500), Kind: kindName(item.Kind), Detail: clip(item.Detail, 500), Location: loc}}
		for _, r := range ranges[:min(len(ranges), maxItems)] {
			if site, err := t.location(sitesIn, r); err == nil {
				c.Sites = append(c.Sites, site)
			}
		}
		sortLocations(c.Sites)
		out = append(out, c)
	}
	for _, item := range items {
		params := map[string]any{"item": item}
		if q.Op == OpIncomingCalls {
			var in []incomingCall
			if err := s.request(ctx, "callHierarchy/incomingCalls", params, &in); err != nil {
				return nil, err
			}
			for _, c := range in {
				add(c.From, c.From.URI, c.FromRanges)
			}
			continue
		}
		var outgoing []outgoingCall
		if err := s.request(ctx, "callHierarchy/outgoingCalls", params, &outgoing); err != nil {
			return nil, err
		}
		for _, c := range outgoing {
			add(c.To, item.URI, c.FromRanges)
		}
	}
	slices.SortStableFunc(out, func(a, b Call) int { return compareLocations(a.Symbol.Location, b.Symbol.Location) })
	return out, nil
}

func (s *session) rename(ctx context.Context, t *texts, q Query, prepare bool) ([]FileEdit, error) {
	at := s.at(t, q)
	if prepare {
		var r json.RawMessage
		if err := s.request(ctx, "textDocument/prepareRename", at, &r); err != nil {
			return nil, err
		}
		if len(r) == 0 || string(r) == "null" {
			return nil, fmt.Errorf("%s: what is at this position cannot be renamed", s.cfg.Name)
		}
	}
	params := struct {
		positionParams
		NewName string `json:"newName"`
	}{at, q.Name}
	var e *workspaceEdit
	if err := s.request(ctx, "textDocument/rename", params, &e); err != nil {
		return nil, err
	}
	return s.edits(t, e)
}

// actions lists the code actions for a stretch, or with a name carries one out.
func (s *session) actions(ctx context.Context, t *texts, q Query, resolve bool, a *Answer) error {
	from := s.at(t, q)
	q.At = q.End
	r := wireRange{from.Position, s.at(t, q).Position}
	var near []wireDiagnostic
	s.mu.Lock()
	if f := s.diags[q.Path]; f != nil {
		near = slices.DeleteFunc(f.all(s.docs[q.Path]), func(d wireDiagnostic) bool {
			return before(d.Range.End, r.Start) || before(r.End, d.Range.Start)
		})
	}
	s.mu.Unlock()
	params := map[string]any{
		"textDocument": from.TextDocument, "range": r,
		"context": map[string]any{"diagnostics": append([]wireDiagnostic{}, near...), "triggerKind": 1},
	}
	var raw []json.RawMessage
	if err := s.request(ctx, "textDocument/codeAction", params, &raw); err != nil {
		return err
	}
	list := make([]codeAction, len(raw))
	for i, b := range raw {
		if err := json.Unmarshal(b, &list[i]); err != nil {
			return fmt.Errorf("%w: a code action cannot be read: %w", ErrProtocol, err)
		}
		act := Action{Title: clip(list[i].Title, 500), Kind: clip(list[i].Kind, 100), Preferred: list[i].IsPreferred}
		switch {
		case list[i].Disabled != nil:
			act.Disabled = clip(list[i].Disabled.Reason, 500)
		case list[i].Edit == nil && (!resolve || len(list[i].Command) > 0):
			act.Disabled = "it is a command of the server, and those are not run"
		}
		a.Actions = append(a.Actions, act)
	}
	if q.Name == "" {
		return nil
	}
	i, err := chosen(a.Actions, q.Name)
	if err != nil {
		return err
	}
	if why := a.Actions[i].Disabled; why != "" {
		return fmt.Errorf("the action %q cannot be carried out: %s", a.Actions[i].Title, why)
	}
	act := list[i]
	if act.Edit == nil {
		if err := s.request(ctx, "codeAction/resolve", raw[i], &act); err != nil {
			return err
		}
	}
	if act.Edit == nil {
		return fmt.Errorf("the action %q cannot be carried out: it is a command of the server, and those are not run", act.Title)
	}
	a.Edits, err = s.edits(t, act.Edit)
	return err
}

func before(a, b wirePosition) bool {
	return a.Line < b.Line || a.Line == b.Line && a.Character < b.Character
}

// chosen finds an action by its title, or by a part that no other title has.
func chosen(list []Action, name string) (int, error) {
	var part []int
	titles := make([]string, len(list))
	for i, a := range list {
		if strings.EqualFold(a.Title, name) {
			return i, nil
		}
		if strings.Contains(strings.ToLower(a.Title), strings.ToLower(name)) {
			part = append(part, i)
		}
		titles[i] = fmt.Sprintf("%q", a.Title)
	}
	if len(part) == 1 {
		return part[0], nil
	}
	if len(list) == 0 {
		return 0, errors.New("there are no code actions here")
	}
	return 0, fmt.Errorf("no action, or not just one, has the title %q; there is %s", clip(name, 200), strings.Join(titles, ", "))
}

var kinds = [...]string{
	"", "file", "module", "namespace", "package", "class", "method", "property", "field", "constructor", "enum", "interface",
	"function", "variable", "constant", "string", "number", "boolean", "array", "object", "key", "null", "enum member", "struct",
	"event", "operator", "type parameter",
}

func kindName(k int) string {
	if k < 1 || k >= len(kinds) {
		return "symbol"
	}
	return kinds[k]
}
