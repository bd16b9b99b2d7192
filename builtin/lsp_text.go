package builtin

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/agenttool/tool"
	"github.com/agenttool/tool/internal/search/ignore"
)

const (
	maxLSPItems = 100      // locations, symbols and the like that a result shows
	maxHover    = 16 << 10 // bytes
)

// lspText writes what the model reads of an answer.
type lspText struct {
	c      *lspCall
	a      *LSPAnswer
	b      strings.Builder
	files  map[string]sourceLines // of the project, as far as they may be read
	rules  *lister
	levels map[string]*ignore.Level // by directory
	budget int

	shown []map[string]any // for the metadata
	count int
	cut   bool
}

// answer asks the server and words what it says.
func (c *lspCall) answer(ctx context.Context, call *tool.Call) (*tool.Result, error) {
	call.Update(tool.Update{Title: c.title()})
	if s := c.ts.servers; s != nil {
		path := c.l.abs
		if c.in.FilePath == "" {
			path = ""
		}
		defer s.watch(call, c.title(), path)()
	}
	a, err := c.ask(ctx)
	if err != nil {
		return nil, err
	}
	w := &lspText{c: c, a: a, files: make(map[string]sourceLines), budget: c.ts.limits.ReadBytes}
	defer w.close()
	if c.note != "" {
		fmt.Fprintf(&w.b, "(%s)\n", visible(c.note))
	}
	switch c.op {
	case LSPHover:
		w.hover()
	case LSPDocumentSymbol, LSPWorkspaceSymbol:
		w.symbols(ctx)
	case LSPIncomingCalls, LSPOutgoingCalls:
		w.calls(ctx)
	case LSPDiagnostics:
		w.diagnostics()
	case LSPCodeActions:
		w.actions()
	default:
		w.locations(ctx)
	}
	if a.Busy != "" {
		fmt.Fprintf(&w.b, "(%s; there may be more, ask again later)\n", oneLine(clip(a.Busy, 300)))
	}
	res := &tool.Result{Title: c.title(), Text: strings.TrimRight(w.b.String(), "\n"), Metadata: map[string]any{
		"operation": string(c.op), "server": a.Server, "count": w.count, "truncated": w.cut, "results": w.shown,
	}}
	if a.Busy != "" {
		res.Metadata["busy"] = a.Busy
	}
	if w.shown == nil {
		res.Metadata["results"] = []map[string]any{}
	}
	return res, nil
}

func (w *lspText) close() {
	if w.rules != nil {
		w.rules.t.close()
	}
}

// room reports whether one more item may be shown.
func (w *lspText) room(n int) bool {
	if n < maxLSPItems && w.b.Len() < w.budget {
		return true
	}
	w.cut = true
	return false
}

// source returns a line of a file of the project, or what can be said in its place.
func (w *lspText) source(l LSPLocation) string {
	abs := l.Path
	if !within(w.c.ts.fsys.dir, abs) {
		return "(outside the project)"
	}
	lines, ok := w.files[abs]
	if !ok {
		if text, err := (lspFiles{w.c.ts}).Text(abs); err == nil {
			lines = newSourceLines(text)
		}
		w.files[abs] = lines
	}
	if lines == nil {
		return ""
	}
	return shownLine(lines.line(l.Start.Line))
}

// at writes a location and the line there.
func (w *lspText) at(l LSPLocation, mark string) {
	name := oneLine(w.c.ts.display(l.Path))
	w.shown = append(w.shown, map[string]any{"path": l.Path, "line": l.Start.Line, "column": max(l.Start.Column, 1)})
	fmt.Fprintf(&w.b, "%s:%d:%d:", name, l.Start.Line, max(l.Start.Column, 1))
	if mark != "" {
		w.b.WriteString(" (" + mark + ")")
	}
	if s := w.source(l); s != "" {
		w.b.WriteString(" " + s)
	}
	w.b.WriteByte('\n')
}

func (w *lspText) nothing() {
	what := map[LSPOperation]string{
		LSPDefinition: "No definition was found.", LSPReferences: "No references were found.", LSPImplementation: "No implementations were found.",
		LSPHover: "The server knows nothing about this place.", LSPDocumentSymbol: "The file declares no symbols.",
		LSPWorkspaceSymbol: "No symbols match.", LSPIncomingCalls: "Nothing calls it.", LSPOutgoingCalls: "It calls nothing.",
		LSPCodeActions: "There are no code actions here.",
	}[w.c.op]
	w.b.WriteString(what + "\n")
}

// locations writes places, the declaration marked, and counts those that git ignores.
func (w *lspText) locations(ctx context.Context) {
	list := slices.Clone(w.a.Locations)
	slices.SortStableFunc(list, func(a, b LSPLocation) int {
		return cmp.Or(cmp.Compare(w.rank(a), w.rank(b)), strings.Compare(a.Path, b.Path), cmp.Compare(a.Start.Line, b.Start.Line), cmp.Compare(a.Start.Column, b.Start.Column))
	})
	hidden := 0
	if w.c.op != LSPDefinition {
		list = slices.DeleteFunc(list, func(l LSPLocation) bool {
			skip := w.skips(ctx, l.Path)
			if skip {
				hidden++
			}
			return skip
		})
	}
	w.count = len(list)
	files := make(map[string]bool)
	for _, l := range list {
		files[l.Path] = true
	}
	if len(list) == 0 && hidden == 0 {
		w.nothing()
		return
	}
	if len(list) > 1 {
		fmt.Fprintf(&w.b, "%s in %s\n", plural(len(list), "place"), plural(len(files), "file"))
	}
	shown := 0
	for _, l := range list {
		if !w.room(shown) {
			break
		}
		mark := ""
		for _, d := range w.a.Declarations {
			if d.Path == l.Path && d.Start.Line == l.Start.Line && d.Start.Column == l.Start.Column {
				mark = "declaration"
			}
		}
		w.at(l, mark)
		shown++
	}
	if rest := len(list) - shown; rest > 0 {
		left := make(map[string]bool)
		for _, l := range list[shown:] {
			left[l.Path] = true
		}
		fmt.Fprintf(&w.b, "(%d more in %s; use grep to see them)\n", rest, plural(len(left), "file"))
	}
	if hidden > 0 {
		fmt.Fprintf(&w.b, "(%d more in files that git ignores)\n", hidden)
	}
}

// rank puts what is in the project first.
func (w *lspText) rank(l LSPLocation) int {
	if within(w.c.ts.fsys.dir, l.Path) {
		return 0
	}
	return 1
}

// skips reports whether a file is one that git ignores, and is not the one that
// was asked about.
func (w *lspText) skips(ctx context.Context, abs string) bool {
	ts := w.c.ts
	if !within(ts.fsys.dir, abs) || abs == w.c.l.abs {
		return false
	}
	if w.rules == nil {
		root, err := ts.fsys.resolve(ts.fsys.dir)
		if err != nil {
			return false
		}
		t, err := ts.fsys.tree(root)
		if err != nil {
			return false
		}
		w.rules = &lister{ts: ts, ctx: ctx, t: t, l: root}
		w.levels = map[string]*ignore.Level{".": w.rules.level(t, &ignore.Level{Repository: true}, ".", 0)}
	}
	name := ts.fsys.rel(abs)
	level := w.level(path.Dir(name))
	return level == nil || level.Match([]byte(name), false) == ignore.Ignored
}

// level returns the ignore rules in a directory of the project, nil if it is
// ignored itself.
func (w *lspText) level(dir string) *ignore.Level {
	if l, ok := w.levels[dir]; ok {
		return l
	}
	level := w.level(path.Dir(dir))
	if level != nil && level.Match([]byte(dir), true) == ignore.Ignored {
		level = nil
	}
	if level != nil {
		level = w.rules.level(w.rules.t, level, dir, len(dir)+1)
	}
	w.levels[dir] = level
	return level
}

func (w *lspText) hover() {
	text := strings.TrimSpace(w.a.Hover)
	if text == "" {
		w.nothing()
		return
	}
	w.count = 1
	if len(text) > maxHover {
		text, w.cut = clip(text, maxHover), true
	}
	w.b.WriteString(visible(text) + "\n")
}

func (w *lspText) symbols(ctx context.Context) {
	list, hidden := w.a.Symbols, 0
	file := w.c.op == LSPDocumentSymbol
	if !file {
		list = slices.Clone(list)
		list = slices.DeleteFunc(list, func(s LSPSymbol) bool {
			skip := w.skips(ctx, s.Location.Path)
			if skip {
				hidden++
			}
			return skip
		})
		slices.SortStableFunc(list, func(a, b LSPSymbol) int { return cmp.Compare(w.rank(a.Location), w.rank(b.Location)) })
	}
	if w.count = len(list); w.count == 0 {
		w.nothing()
	}
	most := maxLSPItems
	if file {
		most *= 5 // the lines are short, and half of an outline is of little use
	}
	shown := 0
	for _, s := range list {
		if shown == most || !file && !w.room(shown) || w.b.Len() > w.budget {
			w.cut = true
			break
		}
		shown++
		name := s.Kind + " " + oneLine(clip(s.Name, 200))
		if s.Detail != "" {
			name += " " + oneLine(clip(s.Detail, 120))
		}
		l := s.Location
		if file {
			last := ""
			if l.End.Line > l.Start.Line {
				last = fmt.Sprintf("-%d", l.End.Line)
			}
			fmt.Fprintf(&w.b, "%s%d%s: %s\n", strings.Repeat("  ", min(s.Depth, 20)), l.Start.Line, last, name)
			w.shown = append(w.shown, map[string]any{"path": l.Path, "line": l.Start.Line, "column": max(l.Start.Column, 1), "name": s.Name, "kind": s.Kind})
			continue
		}
		if s.Container != "" {
			name += " in " + oneLine(clip(s.Container, 120))
		}
		w.at(l, name)
	}
	if rest := len(list) - shown; rest > 0 {
		fmt.Fprintf(&w.b, "(%d more)\n", rest)
	}
	if hidden > 0 {
		fmt.Fprintf(&w.b, "(%d more in files that git ignores)\n", hidden)
	}
}

func (w *lspText) calls(ctx context.Context) {
	var list []LSPCall
	hidden := 0
	for _, c := range w.a.Calls {
		if w.skips(ctx, c.Symbol.Location.Path) {
			hidden++
			continue
		}
		list = append(list, c)
	}
	slices.SortStableFunc(list, func(a, b LSPCall) int { return cmp.Compare(w.rank(a.Symbol.Location), w.rank(b.Symbol.Location)) })
	if w.count = len(list); w.count == 0 && hidden == 0 {
		w.nothing()
		return
	}
	shown := 0
	for _, c := range list {
		if !w.room(shown) {
			fmt.Fprintf(&w.b, "(%d more)\n", len(list)-shown)
			break
		}
		shown++
		w.at(c.Symbol.Location, c.Symbol.Kind+" "+oneLine(clip(c.Symbol.Name, 200)))
		const most = 10
		for i, s := range c.Sites {
			if i == most {
				fmt.Fprintf(&w.b, "  (%d more calls)\n", len(c.Sites)-most)
				break
			}
			w.b.WriteString("  call at ")
			w.at(s, "")
		}
	}
	if hidden > 0 {
		fmt.Fprintf(&w.b, "(%d more in files that git ignores)\n", hidden)
	}
}

// diagnostics writes what is wrong, the worst first.
func (w *lspText) diagnostics() {
	rank := map[string]int{"error": 0, "warning": 1, "information": 2, "hint": 3}
	list := slices.Clone(w.a.Diagnostics)
	slices.SortStableFunc(list, func(a, b Diagnostic) int {
		return cmp.Or(cmp.Compare(rank[a.Severity], rank[b.Severity]), strings.Compare(a.Path, b.Path), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	w.count = len(list)
	if w.count == 0 {
		switch {
		case w.a.Busy != "":
			w.b.WriteString("Nothing is known yet.\n")
		case w.c.in.FilePath == "":
			w.b.WriteString("Nothing is wrong in the files that the server knows.\n")
		default:
			fmt.Fprintf(&w.b, "Nothing is wrong in %s.\n", oneLine(w.c.l.display))
		}
		return
	}
	n := make(map[string]int)
	for _, d := range list {
		n[d.Severity]++
	}
	var totals []string
	for _, s := range []string{"error", "warning"} {
		if n[s] > 0 {
			totals = append(totals, plural(n[s], s))
		}
	}
	if rest := n["information"] + n["hint"]; rest > 0 {
		totals = append(totals, plural(rest, "hint"))
	}
	fmt.Fprintln(&w.b, strings.Join(totals, ", "))
	for i, d := range list {
		if !w.room(i) {
			fmt.Fprintf(&w.b, "(%d more)\n", len(list)-i)
			break
		}
		w.shown = append(w.shown, map[string]any{"path": d.Path, "line": d.Line, "column": max(d.Column, 1), "severity": d.Severity, "message": d.Message})
		fmt.Fprintf(&w.b, "%s:%d:%d: %s\n", oneLine(w.c.ts.display(d.Path)), d.Line, max(d.Column, 1), diagnosticText(d))
	}
}

// diagnosticText is a diagnostic without its place.
func diagnosticText(d Diagnostic) string {
	from := d.Source
	if d.Code != "" && from != "" {
		from += " " + d.Code
	}
	if from != "" {
		from = " (" + from + ")"
	}
	return oneLine(d.Severity + ": " + clip(d.Message, 500) + clip(from, 200))
}

func (w *lspText) actions() {
	if w.count = len(w.a.Actions); w.count == 0 {
		w.nothing()
		return
	}
	for i, a := range w.a.Actions {
		if !w.room(i) {
			fmt.Fprintf(&w.b, "(%d more)\n", len(w.a.Actions)-i)
			break
		}
		w.shown = append(w.shown, map[string]any{"title": a.Title, "kind": a.Kind, "disabled": a.Disabled})
		fmt.Fprintf(&w.b, "%q", visible(clip(a.Title, 300)))
		if a.Kind != "" {
			w.b.WriteString(" " + oneLine(clip(a.Kind, 100)))
		}
		if a.Preferred {
			w.b.WriteString(" (preferred)")
		}
		if a.Disabled != "" {
			w.b.WriteString(" (not possible: " + oneLine(clip(a.Disabled, 200)) + ")")
		}
		w.b.WriteByte('\n')
	}
	if slices.ContainsFunc(w.a.Actions, func(a LSPAction) bool { return a.Disabled == "" }) {
		w.b.WriteString("(to do one, call again with its title as action)\n")
	}
}
