package search

import (
	"context"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/agenttool/tool/internal/search/glob"
)

// Glob finds the paths below root that match a pattern. Errors in a glob are
// *glob.Error; what else is said of Grep's errors holds here too.
func (e *Engine) Glob(ctx context.Context, root *os.Root, q GlobQuery) (*GlobResult, error) {
	inner, cancel := withTimeout(ctx, q.Timeout)
	defer cancel()
	r, err := e.glob(inner, root, &q)
	if r == nil {
		return nil, err
	}
	r.TimedOut, err = endedWith(ctx, inner, err)
	if r.TimedOut || err != nil {
		r.Exact = false
		return r, err
	}
	if r.Total == 0 && r.Exact && q.Hints > 0 {
		r.Hints = e.globHints(ctx, root, q, &r.Stats)
	}
	return r, nil
}

func (e *Engine) glob(ctx context.Context, root *os.Root, q *GlobQuery) (*GlobResult, error) {
	v := &globber{q: q}
	f, err := e.filter(&q.Scope, false)
	if err != nil {
		return nil, err
	}
	w, err := e.walk(root, &q.Scope, f, v)
	if err != nil {
		return nil, err
	}
	defer w.fs.close()
	pattern := q.Pattern
	if _, _, err := w.resolve(strings.Trim(pattern, "/")); err == nil && strings.ContainsAny(pattern, "*?[]{}\\") && len(q.Paths) == 0 {
		pattern = glob.Quote(pattern) // such a path exists
	}
	v.p, err = glob.Compile(pattern, glob.Options{Fold: q.Fold, Separator: globSeparator})
	if err != nil {
		return nil, err
	}
	if v.p.Hidden() && q.Hidden == HiddenNamed {
		f.hidden = false
	}
	starts, err := w.globStarts(q, v.p)
	if err != nil {
		return nil, err
	}
	limit := q.Limit
	if limit == 0 {
		limit = DefaultLimit
	}
	offset := max(q.Offset, 0)
	if v.top.need = -1; limit > 0 {
		v.top.need = limit + offset
	}
	if err := w.run(ctx, starts); err != nil {
		return nil, err
	}
	r := &GlobResult{Total: int(v.total.Load()), Hidden: int(v.hidden.Load()), Exact: !w.stop.Load(), Stats: w.stats}
	for i, it := range v.top.sorted() {
		if i < offset {
			continue
		}
		if limit > 0 && len(r.Entries) == limit {
			break
		}
		it.value.Path = it.key.path
		it.value.ModTime = time.Unix(0, it.key.mtime)
		r.Entries = append(r.Entries, it.value)
	}
	r.More = max(r.Total-offset-len(r.Entries), 0)
	return r, nil
}

// globStarts moves the places where a walk begins down to where the pattern
// can match anything.
func (w *walk) globStarts(q *GlobQuery, p *glob.Pattern) ([]start, error) {
	s := q.Scope
	paths := s.Paths
	if len(paths) == 0 {
		paths = []string{""}
	}
	base := func(under string) string {
		return p.Base(func(name string) bool { return w.exists(strings.TrimPrefix(under+"/"+name, "/")) })
	}
	s.Paths = nil
	var cut []string
	for _, dir := range paths {
		name, err := clean(dir)
		if err != nil {
			return nil, err
		}
		b := base(name)
		if b == "" {
			s.Paths, cut = append(s.Paths, dir), append(cut, "")
			continue
		}
		full := strings.TrimPrefix(name+"/"+b, "/")
		// A prefix that is not there, or no directory, means no match.
		in, real, err := w.resolve(full)
		if err != nil || !in.IsDir() || real != full {
			s.Paths, cut = append(s.Paths, dir), append(cut, "")
			continue
		}
		s.Paths, cut = append(s.Paths, full), append(cut, b)
	}
	var out []start
	for i, dir := range s.Paths {
		one := s
		one.Paths = []string{dir}
		st, err := w.starts(&one)
		if err != nil {
			return nil, err
		}
		for j := range st {
			if b := cut[i]; b != "" {
				st[j].up = len(b) + 1
			}
		}
		out = append(out, st...)
	}
	return out, nil
}

// globber is the visitor of a search by name.
type globber struct {
	q      *GlobQuery
	p      *glob.Pattern
	top    newest[Entry]
	total  atomic.Int64
	hidden atomic.Int64
}

func (g *globber) matches(w *worker, rel []byte) bool {
	return g.p.Match(unsafeString(rel[min(max(w.from-w.up, 0), len(rel)):]))
}

func (g *globber) file(w *worker, d *dir, rel, name []byte, k kind) {
	if !g.p.Dirs() && g.matches(w, rel) {
		g.found(w, d, rel, name, k)
	}
}

func (g *globber) dir(w *worker, d *dir, rel, name []byte) bool {
	if (g.q.Dirs || g.p.Dirs()) && g.matches(w, rel) {
		g.found(w, d, rel, name, kindDir)
	}
	return g.p.Under(unsafeString(rel[min(max(w.from-w.up, 0), len(rel)):]))
}

func (g *globber) passed(w *worker, rel []byte, isDir bool) {
	if isDir == (g.p.Dirs()) && g.matches(w, rel) {
		g.hidden.Add(1)
	}
}

func (g *globber) found(w *worker, d *dir, rel, name []byte, k kind) {
	if k != kindDir && w.private(rel) == Denied {
		return
	}
	in, err := w.fs.lstat(d, name)
	if err != nil {
		return // gone meanwhile
	}
	g.total.Add(1)
	if g.top.late(in.mtime, rel) {
		return
	}
	g.top.add(key{in.mtime, string(rel)}, 1, Entry{Size: in.size, Dir: in.kind == kindDir, Link: in.kind == kindLink, Exec: in.exec && in.kind == kindFile})
}

// A FileList is what Files found.
type FileList struct {
	Paths    []string // relative to the root, in order of the bytes
	Exact    bool     // the list is complete
	TimedOut bool
	Stats    Stats
}

// Files lists every file and link in scope. Its memory grows with their number; Glob
// with the pattern "**" finds the newest without that.
func (e *Engine) Files(ctx context.Context, root *os.Root, s Scope) (*FileList, error) {
	inner, cancel := withTimeout(ctx, s.Timeout)
	defer cancel()
	f, err := e.filter(&s, false)
	if err != nil {
		return nil, err
	}
	v := &lister{}
	w, err := e.walk(root, &s, f, v)
	if err != nil {
		return nil, err
	}
	defer w.fs.close()
	starts, err := w.starts(&s)
	if err != nil {
		return nil, err
	}
	if err := w.run(inner, starts); err != nil {
		return nil, err
	}
	slices.Sort(v.paths)
	out := &FileList{Paths: v.paths, Exact: !w.stop.Load(), Stats: w.stats}
	out.TimedOut, err = ended(ctx, inner)
	return out, err
}

// lister is the visitor of Files. Each worker collects paths in one buffer, of
// which strings are cut when it is full.
type lister struct {
	mu    sync.Mutex
	paths []string
}

const listBuffer = 64 << 10

type listWorker struct {
	text []byte
	ends []int
}

func (l *lister) begin(w *worker) { w.state = &listWorker{} }

func (l *lister) end(w *worker) { l.flush(w.state.(*listWorker)) }

func (l *lister) flush(lw *listWorker) {
	text, from := string(lw.text), 0
	l.mu.Lock()
	l.paths = slices.Grow(l.paths, len(lw.ends))
	for _, end := range lw.ends {
		l.paths = append(l.paths, text[from:end])
		from = end
	}
	l.mu.Unlock()
	lw.text, lw.ends = lw.text[:0], lw.ends[:0]
}

func (l *lister) file(w *worker, _ *dir, rel, _ []byte, _ kind) {
	lw := w.state.(*listWorker)
	lw.text = append(lw.text, rel...)
	lw.ends = append(lw.ends, len(lw.text))
	if len(lw.text) > listBuffer {
		l.flush(lw)
	}
}

func (l *lister) dir(*worker, *dir, []byte, []byte) bool { return true }
func (l *lister) passed(*worker, []byte, bool)           {}
