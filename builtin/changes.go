package builtin

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/agenttool/tool"
	"github.com/agenttool/tool/internal/diff"
	"github.com/agenttool/tool/internal/match"
	"github.com/agenttool/tool/internal/textfile"
)

// changes are what a call makes of files: all of it or nothing.
type changes struct {
	list   []*change
	title  string // for the prompt
	report func(*changes) string
	took   func() // a change back was made: what it was for is forgotten
}

// planChanges makes a plan of changes to the files at places, or of the refusal
// if err is not nil.
func (ts *Toolset) planChanges(ctx context.Context, a *attempt, p *plan, places []location, cs *changes, err error) (*plan, error) {
	if err == nil {
		err = ts.finish(ctx, a, p, cs)
	}
	if err != nil && !slices.ContainsFunc(places, func(l location) bool { return !l.inside || !ts.open(l) }) {
		p.fail = err
		var s *shownError
		if errors.As(err, &s) {
			p.fail, p.detail = s.plain, s.detail()
		}
		if p.detail == nil {
			p.release()
			return nil, p.fail
		}
		return p, nil
	}
	p.asks = ts.askWrites(places)
	var names []string
	guarded := false
	for _, l := range places {
		if p.locks = append(p.locks, l.Key()); !slices.Contains(names, l.display) {
			names = append(names, l.display)
		}
		guarded = guarded || l.secret || l.protected
	}
	slices.Sort(p.locks)
	p.locks = slices.Compact(p.locks)
	req := &tool.Request{
		Permission: "edit", Title: "Change " + strings.Join(slashed(names), ", "), Patterns: names, Always: []string{"*"}, Protected: guarded,
		Metadata: map[string]any{"filepath": strings.Join(names, ", ")},
	}
	if guarded {
		req.Always = names
	}
	q := ask{req: req}
	if err != nil {
		p.fail = err
		var s *shownError
		if errors.As(err, &s) {
			if p.fail = s.plain; !guarded {
				p.detail = s.detail()
			}
		}
	} else {
		var all, effect strings.Builder
		files := make([]map[string]any, 0, len(cs.list))
		for _, c := range cs.list {
			all.WriteString(c.unified)
			effect.WriteString(c.effect() + "\x00")
			files = append(files, map[string]any{"file": c.l.abs, "operation": opName(c), "additions": c.diff.Additions, "deletions": c.diff.Deletions})
		}
		req.Title = cs.title
		req.Metadata["diff"] = visibleDiff(all.String())
		req.Metadata["files"] = files
		q.effect = effect.String()
		p.files = cs.sources(false)
	}
	p.asks = append(p.asks, q)
	p.apply = func(ctx context.Context, call *tool.Call) (*outcome, error) { return ts.applyChanges(ctx, call, cs) }
	return p, nil
}

// sources are the files of the changes as they are before or after them.
func (cs *changes) sources(after bool) []SourceFile {
	var out []SourceFile
	for _, c := range cs.list {
		if c.splices != nil {
			continue // too large for anybody to look at
		}
		f := SourceFile{Path: c.l.abs, Content: c.raw}
		if c.op == textfile.Move {
			to := SourceFile{Path: c.to.abs}
			if after {
				if to.Content = c.after; c.after == nil {
					to.Content = c.raw
				}
			}
			out = append(out, to)
		}
		if after {
			f.Content = nil
			if c.op == textfile.Create || c.op == textfile.Update {
				f.Content = c.after
			}
		}
		out = append(out, f)
	}
	return out
}

// visibleDiff is a diff as it is shown to somebody who decides about it: what
// could repaint a terminal or reorder text is written as an escape, but the CR of
// a line end stays.
func visibleDiff(s string) string {
	if !strings.Contains(s, "\r\n") {
		return visible(s)
	}
	lines := strings.Split(s, "\r\n")
	for i, l := range lines {
		lines[i] = visible(l)
	}
	return strings.Join(lines, "\r\n")
}

// askWrites is the question about everything outside of the root.
func (ts *Toolset) askWrites(places []location) []ask {
	var scopes []string
	name := ""
	for _, l := range places {
		if !l.inside && !slices.Contains(scopes, l.scope()) {
			scopes = append(scopes, l.scope())
			name = l.abs
		}
	}
	if len(scopes) == 0 {
		return nil
	}
	return ts.askScopes(scopes, name, false)
}

// shownError is a refusal whose words repeat what is in a file. Who was not shown
// the file reads plain instead, unless it may read the file.
type shownError struct {
	err    error
	plain  error
	places []location
}

func (e *shownError) Error() string { return e.err.Error() }
func (e *shownError) Unwrap() error { return e.err }

func (e *shownError) detail() *detail {
	if slices.ContainsFunc(e.places, func(l location) bool { return l.secret }) {
		return nil
	}
	req := readRequest(e.places[0])
	for _, l := range e.places[1:] {
		if !slices.Contains(req.Patterns, l.display) {
			req.Patterns = append(req.Patterns, l.display)
		}
	}
	return &detail{ask: req, err: e.err}
}

// toldError is an error in whole sentences.
type toldError struct {
	text string
	err  error
}

func (e *toldError) Error() string { return e.text }
func (e *toldError) Unwrap() error { return e.err }

// refuse words the refusal of an edit of c.
func (c *change) refuse(err error) error {
	name := oneLine(c.l.given)
	full := &toldError{fmt.Sprintf("%s: %v\nNothing was changed.", name, err), err}
	if f := c.foreign(); f != "" && c.known.shown {
		full.text += " " + f
	}
	if c.other != "" && errors.Is(err, match.ErrNotFound) {
		full.text += fmt.Sprintf(" The text is in %s, which you read too: is that the file you mean?", oneLine(c.other))
	}
	if c.known.shown {
		return full
	}
	var plain error
	switch {
	case errors.Is(err, match.ErrNotFound), errors.Is(err, match.ErrGuard):
		plain = fmt.Errorf("%s: the text was not found; nothing was changed. The file was not read in this session: read it and copy the text exactly", name)
	case errors.Is(err, match.ErrAmbiguous), errors.Is(err, match.ErrCount):
		plain = fmt.Errorf("%s: oldString is there more than once, or not as often as expected; nothing was changed. Read the file and add lines until it fits one place only, or set replaceAll", name)
	default:
		return full
	}
	return &shownError{err: full, plain: plain, places: []location{c.l}}
}

// finish computes what follows from the new content: formatting, syntax, diffs.
func (ts *Toolset) finish(ctx context.Context, a *attempt, p *plan, cs *changes) error {
	for _, c := range cs.list {
		if c.replaces() && c.splices == nil {
			if err := ts.format(ctx, a, p, c); err != nil {
				return err
			}
			if int64(len(c.after)) > ts.limits.FileBytes {
				return fmt.Errorf("%s would have %d bytes, more than the %d that are taken; nothing was changed", oneLine(c.l.given), len(c.after), ts.limits.FileBytes)
			}
			c.syntax = newSyntaxErrors(c.name(), c.beforeText(), c.newText)
			if len(c.syntax) > 0 && ts.cfg.RejectSyntaxErrors {
				return fmt.Errorf("%s would have syntax errors that it does not have now; nothing was changed:\n%s", oneLine(c.l.given), strings.Join(c.syntax, "\n"))
			}
		}
		c.compare()
	}
	return nil
}

// format lets the host's formatter have a look at the new content. It is called
// once for the same content, and never under a lock: then the plan has to be made
// again.
func (ts *Toolset) format(ctx context.Context, a *attempt, p *plan, c *change) error {
	if ts.cfg.Formatter == nil || c.back || c.new == nil || !c.new.Encoding.Plain() {
		return nil
	}
	sum := textfile.Sum(c.after)
	key := c.name() + "\x00" + string(sum[:])
	made, ok := a.formatted[key]
	switch {
	case !ok && a.locked:
		p.again = true
		return nil
	case !ok:
		path := c.l.abs
		if c.op == textfile.Move {
			path = c.to.abs
		}
		content := slices.Clone(c.after)
		var note string
		made, note = hook(ctx, &ts.hooks, func(ctx context.Context) formatted {
			out, err := ts.cfg.Formatter.Format(ctx, path, content)
			if err != nil {
				return formatted{note: err.Error()}
			}
			return formatted{content: out}
		})
		if note != "" {
			made.note = note
		}
		a.formatted[key] = made
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if c.unformatted = made.note; made.content == nil || slices.Equal(made.content, c.after) {
		return nil
	}
	before := c.newText
	if err := c.become(made.content); err != nil {
		return err
	}
	if c.old != nil && c.spans != nil {
		c.spans = []textfile.Span{wholeSpan(c.old.Text, c.newText)}
	}
	const shown = 20 // lines
	d := diff.Compute(before, c.newText, &diff.Options{Context: 1, Timeout: diffLimit})
	c.notes = append(c.notes, fmt.Sprintf("formatted, which changed your text (+%d -%d lines)", d.Additions, d.Deletions))
	if c.formatting = visible(strings.TrimRight(d.Compact(shown), "\n")); c.l.secret && !c.known.shown {
		c.formatting = ""
	}
	return nil
}

// formatted is what the host's formatter made of a content.
type formatted struct {
	content []byte // nil: as it was
	note    string // what went wrong
}

// wholeSpan is the change of one text into another as one span.
func wholeSpan(before, after string) textfile.Span {
	n := 0
	for n < len(before) && n < len(after) && before[n] == after[n] {
		n++
	}
	n = strings.LastIndexByte(before[:n], '\n') + 1
	m := 0
	for m < len(before)-n && m < len(after)-n && before[len(before)-1-m] == after[len(after)-1-m] {
		m++
	}
	if i := strings.IndexByte(before[len(before)-m:], '\n'); i >= 0 {
		m -= i + 1
	} else {
		m = 0
	}
	return textfile.Span{Start: n, End: len(before) - m, New: after[n : len(after)-m]}
}

// applyChanges writes the files. It runs under their locks, and cs was planned
// under them too.
func (ts *Toolset) applyChanges(ctx context.Context, call *tool.Call, cs *changes) (*outcome, error) {
	steps := make([]textfile.Change, len(cs.list))
	for i, c := range cs.list {
		steps[i] = textfile.Change{Op: c.op, Path: c.at, To: c.toAt, Content: c.after, Splices: c.splices, Executable: c.script}
		if (c.raw != nil || c.splices != nil) && !c.l.Link {
			steps[i].Base = c.state.Hash
		}
	}
	done, err := ts.writer.Commit(ctx, steps)
	if err != nil {
		return nil, err
	}
	for i, c := range cs.list {
		ts.remember(call.SessionID, c, done[i])
	}
	if cs.took != nil {
		cs.took()
	} else if cs.list[0].splices == nil { // what is too large to be held is not kept
		ts.history.push(call.SessionID, cs.list, done)
	}
	return ts.changed(cs, done), nil
}

// remember records what the session knows after a change.
func (ts *Toolset) remember(sessionID string, c *change, done textfile.Result) {
	l := c.l
	if c.splices != nil {
		if c.known.Known {
			r := c.known.Record
			ts.memory.saw(sessionID, l, textfile.Observation{State: done.State, Encoding: r.Encoding, EOL: r.EOL})
		}
		return
	}
	switch c.op {
	case textfile.Delete:
		ts.memory.tracker.Removed(c.at)
		return
	case textfile.Move:
		ts.memory.moved(sessionID, c.l, c.to, done.State)
		l = c.to
	}
	if c.new == nil || c.back && c.op == textfile.Create {
		return // the session need not know what was brought back
	}
	o := c.new.Observe(done.State)
	if c.op == textfile.Create || c.old == nil || c.spans == nil && c.op == textfile.Update {
		ts.memory.wrote(sessionID, l, o, nil, nil)
	} else if c.replaces() {
		ts.memory.wrote(sessionID, l, o, c.old, c.spans)
	}
}

func opName(c *change) string {
	switch c.op {
	case textfile.Create:
		return "create"
	case textfile.Delete:
		return "delete"
	case textfile.Move:
		return "move"
	}
	return "update"
}

// changed is the outcome of changes that were made.
func (ts *Toolset) changed(cs *changes, done []textfile.Result) *outcome {
	out := &outcome{files: cs.sources(true), was: cs.sources(false)}
	var all strings.Builder
	files := make([]map[string]any, 0, len(cs.list))
	unformatted := make(map[string]string)
	for i, c := range cs.list {
		if n := done[i].Note; n != "" {
			c.notes = append(c.notes, n)
		}
		if c.unformatted != "" {
			unformatted[c.name()] = c.unformatted
		}
		all.WriteString(c.unified)
		files = append(files, c.fileDiff())
		fc := FileChange{Operation: opName(c), Path: c.l.abs}
		if c.op == textfile.Move {
			fc.Path, fc.From = c.to.abs, c.l.abs
		}
		if c.raw != nil || c.splices != nil {
			fc.Before = hashText(c.state.Hash)
		}
		if c.op != textfile.Delete {
			fc.After = hashText(done[i].State.Hash)
		}
		if !done[i].Unchanged {
			out.changes = append(out.changes, fc)
		}
	}
	first := cs.list[0]
	out.result = &tool.Result{
		Title: first.name(), Text: cs.report(cs),
		Metadata: map[string]any{
			"filepath": files[0]["file"], "exists": first.raw != nil || first.splices != nil, "diff": strings.ToValidUTF8(all.String(), "\uFFFD"),
			"filediff": files[0], "diagnostics": map[string]any{},
		},
	}
	if len(unformatted) > 0 {
		out.result.Metadata["unformatted"] = unformatted
	}
	if len(files) > 1 {
		out.result.Metadata["files"] = files
		out.result.Title = fmt.Sprintf("%s and %d more", first.name(), len(files)-1)
	}
	return out
}

func hashText(h textfile.Hash) string {
	b, err := h.MarshalText()
	if err != nil {
		return ""
	}
	return string(b)
}

const (
	maxTexts      = 1 << 20 // bytes of file content in metadata; beyond it only the diff is given
	maxHighlights = 400     // lines of a diff whose words are compared
)

// fileDiff is the change for a UI.
func (c *change) fileDiff() map[string]any {
	file := c.l.abs
	if c.op == textfile.Move {
		file = c.to.abs
	}
	d := map[string]any{
		"file": file, "operation": opName(c), "before": "", "after": "",
		"additions": c.diff.Additions, "deletions": c.diff.Deletions,
		"beforeHash": "", "afterHash": "",
	}
	if c.op == textfile.Move {
		d["from"] = c.l.abs
	}
	if c.raw != nil {
		d["beforeHash"] = hashText(c.state.Hash)
	}
	if c.after != nil {
		d["afterHash"] = hashText(textfile.Sum(c.after))
	}
	if len(c.raw)+len(c.after) <= maxTexts {
		d["before"], d["after"] = c.beforeText(), c.afterText()
	}
	if c.diff.Additions+c.diff.Deletions <= maxHighlights {
		d["hunks"] = hunks(c.diff)
	}
	return d
}

// diffHunk and diffLine are the JSON form of a diff for a UI that marks words.
type diffHunk struct {
	Header string     `json:"header"`
	Lines  []diffLine `json:"lines"`
}

type diffLine struct {
	Op    string   `json:"op"` // " ", "-" or "+"
	Text  string   `json:"text"`
	NoEOL bool     `json:"noEOL,omitempty"`
	Words [][2]int `json:"words,omitempty"` // bytes of Text that differ from the line it was changed from or to
}

func hunks(d *diff.Diff) []diffHunk {
	d.Highlight()
	out := make([]diffHunk, 0, len(d.Hunks))
	for i := range d.Hunks {
		h := diffHunk{Header: d.Hunks[i].Header()}
		for _, l := range d.Hunks[i].Lines {
			n := diffLine{Op: " -+"[l.Op : l.Op+1], Text: strings.ToValidUTF8(l.Text, "\uFFFD"), NoEOL: l.NoEOL}
			for _, w := range l.Words {
				n.Words = append(n.Words, [2]int{w.Start, w.End})
			}
			h.Lines = append(h.Lines, n)
		}
		out = append(out, h)
	}
	return out
}
