package search

import (
	"context"
	"errors"
	"os"
	"sync/atomic"
	"time"

	"github.com/agenttool/tool/internal/search/pattern"
)

// Grep finds the lines below root that match a pattern. Errors in the pattern
// are *pattern.Error, in a glob *glob.Error. If ctx is cancelled what was found so far
// comes with its error; if a deadline passes, that is a result with TimedOut set.
// Opening the root and the paths named may fail with errors of the file system;
// what fails below is counted in Result.Stats.
func (e *Engine) Grep(ctx context.Context, root *os.Root, q Query) (*Result, error) {
	inner, cancel := withTimeout(ctx, q.Timeout)
	defer cancel()
	r, g, err := e.grep(inner, root, &q)
	if r == nil {
		return nil, err
	}
	r.TimedOut, err = endedWith(ctx, inner, err)
	if r.TimedOut || err != nil {
		r.Exact = false
		return r, err
	}
	if r.Matches == 0 && r.Exact && q.Hints > 0 {
		r.Hints = e.grepHints(ctx, root, q, &r.Stats, g)
	}
	return r, nil
}

// endedWith is ended for a search that may have failed itself.
func endedWith(outer, inner context.Context, err error) (bool, error) {
	if err != nil {
		return false, err
	}
	return ended(outer, inner)
}

func (e *Engine) grep(ctx context.Context, root *os.Root, q *Query) (*Result, *grep, error) {
	p, err := e.pattern(q.Pattern, pattern.Options{Case: q.Case, Literal: q.Literal, Word: q.Word, Multiline: q.Multiline})
	if err != nil {
		return nil, nil, err
	}
	f, err := e.filter(&q.Scope, false)
	if err != nil {
		return nil, nil, err
	}
	limit := q.Limit
	if limit == 0 {
		limit = DefaultLimit
	}
	if limit > 0 {
		limit += max(q.Offset, 0)
	}
	g := &grep{q: q, p: p, decode: e.opt.Decode, whole: e.opt.MaxWhole, begun: time.Now()}
	g.top.need = limit
	g.perFile = q.MaxPerFile
	if g.perFile == 0 {
		g.perFile = DefaultMaxPerFile
	}
	if g.width = q.LineWidth; g.width == 0 {
		g.width = DefaultLineWidth
	}
	g.prune.Store(q.TotalsWithin < 0)
	if q.Hints > 0 {
		g.others = e.alternatives(q, p)
	}
	w, err := e.walk(root, &q.Scope, f, g)
	if err != nil {
		return nil, nil, err
	}
	defer w.fs.close()
	starts, err := w.starts(&q.Scope)
	if err != nil {
		return nil, nil, err
	}
	if err := w.run(ctx, starts); err != nil {
		return nil, nil, err
	}
	return g.result(w), g, nil
}

// grep is the visitor of a search by content.
type grep struct {
	q       *Query
	p       *pattern.Pattern
	decode  func([]byte) func([]byte) ([]byte, error)
	whole   int
	perFile int
	width   int
	begun   time.Time

	top     newest[FileMatch]
	prune   atomic.Bool // do not search files just for the totals
	partial atomic.Bool // something was not counted to its end
	matches atomic.Int64
	files   atomic.Int64

	others []*alternative // looked for in the same pass as long as nothing was found
}

// grepWorker is what a worker needs for it.
type grepWorker struct {
	*grep
	w *worker
	m *pattern.Matcher
	e emitter

	others []*pattern.Matcher // one for each of grep.others
}

func (g *grep) begin(w *worker) {
	gw := &grepWorker{grep: g, w: w, m: g.p.Matcher(&w.stop)}
	for _, a := range g.others {
		gw.others = append(gw.others, a.p.Matcher(&w.stop))
	}
	w.state = gw
}

func (g *grep) end(w *worker) {
	gw := w.state.(*grepWorker)
	gw.m.Release()
	for _, m := range gw.others {
		m.Release()
	}
	w.lines, w.text = gw.e.lines[:0], gw.e.text[:0]
}

func (g *grep) dir(*worker, *dir, []byte, []byte) bool { return true }
func (g *grep) passed(*worker, []byte, bool)           {}

// file searches one file.
func (g *grep) file(w *worker, d *dir, rel, name []byte, k kind) {
	if k == kindLink && !w.scope.Follow {
		w.stats.Links++
		w.stats.Files--
		return
	}
	if w.private(rel) != Public {
		return
	}
	if !g.prune.Load() && g.q.TotalsWithin > 0 && g.top.bound.Load() != nil && time.Since(g.begun) > g.q.TotalsWithin {
		g.prune.Store(true)
	}
	if g.prune.Load() && g.top.bound.Load() != nil {
		in, err := w.fs.lstat(d, name)
		if err == nil && in.kind == kindFile && g.top.late(in.mtime, rel) {
			w.stats.Older++
			g.partial.Store(true)
			return
		}
	}
	var f file
	var err error
	if k == kindLink {
		f, err = w.fs.openPath(string(rel))
	} else {
		f, err = w.fs.open(d, name)
	}
	if err != nil {
		if errors.Is(err, errNotRegular) {
			return
		}
		w.failed(string(rel), err)
		return
	}
	defer f.close()
	gw := w.state.(*grepWorker)
	gw.search(f, rel, d.local)
}

// private asks what may be done with a file and counts it if that is not everything.
func (w *worker) private(rel []byte) Privacy {
	if w.scope.Private == nil {
		return Public
	}
	p := w.scope.Private(string(rel))
	switch p {
	case Public:
	case Secret:
		w.stats.Private++
	default:
		w.stats.Denied++
	}
	return p
}

// result sorts what was found and cuts out the page that was asked for.
func (g *grep) result(w *walk) *Result {
	r := &Result{
		Matches:      int(g.matches.Load()),
		MatchedFiles: int(g.files.Load()),
		Exact:        !g.partial.Load() && !w.stop.Load(),
		Multiline:    g.p.Multiline,
		Stats:        w.stats,
	}
	skip, left := max(g.q.Offset, 0), g.top.need-max(g.q.Offset, 0)
	unlimited := g.top.need < 0
	shown := 0
	for _, it := range g.top.sorted() {
		if !unlimited && left <= 0 {
			break
		}
		fm := it.value
		if skip >= it.weight {
			skip -= it.weight
			continue
		}
		n := it.weight
		if g.q.Output == Lines {
			if fm.Lines, n = page(fm.Lines, skip, left, unlimited); skip+n < it.weight {
				fm.More = 0 // the next page goes on in this file
			}
		}
		skip = 0
		left -= n
		shown += n
		r.Files = append(r.Files, fm)
	}
	total := r.MatchedFiles
	if g.q.Output == Lines {
		total = r.Matches
	}
	r.More = max(total-shown-max(g.q.Offset, 0), 0)
	for i := range r.Files {
		if !g.q.Spans || w.stop.Load() {
			break
		}
		g.locate(r.Files[i].Lines)
	}
	return r
}

// page leaves out the first skip matches of a file and what follows the next
// left ones, with the context lines that belong to them.
func page(lines []Line, skip, left int, unlimited bool) ([]Line, int) {
	from, to, n := -1, len(lines), 0
	for i := range lines {
		if lines[i].Context || lines[i].Continued {
			continue
		}
		if n == skip {
			from = i
		}
		if !unlimited && n == skip+left {
			to = i
			break
		}
		n++
	}
	if from < 0 {
		return nil, 0
	}
	if skip == 0 {
		from = 0
	} else {
		for from > 0 && lines[from-1].Context && lines[from-1].Number == lines[from].Number-1 {
			from--
		}
	}
	if to < len(lines) {
		for to > from && lines[to-1].Context && lines[to-1].Number == lines[to].Number-1 {
			to--
			if to > 0 && lines[to].Number-lines[to-1].Number > 1 {
				break
			}
		}
	}
	return lines[from:to:to], n - skip
}
