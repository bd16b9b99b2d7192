package search

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/agenttool/tool/internal/search/ignore"
)

const (
	batchSize  = 64
	chunkSize  = 8192 // entries of a directory that are held at once
	maxBatches = 256  // waiting; beyond that who lists a directory also searches it
	deepest    = 1000 // directories within each other
)

var errTooDeep = errors.New("too many directories within each other")

// A visitor is what a walk is for. Its methods are called by many workers.
type visitor interface {
	// file is told about every entry in scope that is not a directory. rel is
	// relative to the root and valid during the call; name is its last part.
	file(w *worker, d *dir, rel, name []byte, k kind)
	// dir is told about every directory in scope but the first, and says
	// whether to enter it.
	dir(w *worker, d *dir, rel, name []byte) bool
	// passed is told about entries left out by ignore rules or for being hidden.
	passed(w *worker, rel []byte, isDir bool)
}

// task is a directory to read, or with d set a part of one that was read.
type task struct {
	path  string
	level *ignore.Level
	depth int
	start *start
	left  bool // below something that was passed over, with filter.left
	d     *dir
	part  listing
}

// walk is one pass over the files in scope.
type walk struct {
	engine *Engine
	opt    *Options
	root   *os.Root
	fs     filesystem
	filter *filter
	scope  *Scope
	visit  visitor

	outside outside
	stop    atomic.Bool

	mu      sync.Mutex
	wake    sync.Cond
	stack   []task
	pending int // tasks on the stack and being worked on
	idle    int
	batches atomic.Int32
	fault   error

	seen map[[2]uint64]bool // directories entered, if links are followed

	stats Stats
}

type worker struct {
	*walk
	*scratch
	stats Stats
	base  int // length of the directory's part of path, with its slash
	above int // what of path is above the root
	from  int // what of the relative path is above the start
	up    int // see start
	media map[uint64]medium
	subs  []task
	state any // the visitor's
}

func (e *Engine) walk(root *os.Root, s *Scope, f *filter, v visitor) (*walk, error) {
	fsys, err := e.open(root)
	if err != nil {
		return nil, err
	}
	w := &walk{engine: e, opt: &e.opt, root: root, fs: fsys, filter: f, scope: s, visit: v}
	w.wake.L = &w.mu
	if s.Follow {
		w.seen = map[[2]uint64]bool{}
	}
	return w, nil
}

// run walks from the given places and returns when all workers have.
func (w *walk) run(ctx context.Context, starts []start) error {
	for i := range starts {
		st := &starts[i]
		w.stack = append(w.stack, task{path: st.dir, level: st.level, start: st})
	}
	slices.Reverse(w.stack)
	w.pending = len(w.stack)
	done := make(chan struct{})
	var watch, workers sync.WaitGroup
	watch.Go(func() {
		select {
		case <-ctx.Done():
			w.halt()
		case <-done:
		}
	})
	for range w.opt.Workers {
		workers.Go(w.work)
	}
	workers.Wait()
	close(done)
	watch.Wait()
	for i := range w.stack { // what a halt left
		if d := w.stack[i].d; d != nil {
			d.release()
		}
	}
	w.stack = nil
	return w.fault
}

func (w *walk) halt() {
	w.stop.Store(true)
	w.mu.Lock()
	w.wake.Broadcast()
	w.mu.Unlock()
}

func (w *walk) push(tasks []task) {
	if len(tasks) == 0 {
		return
	}
	w.mu.Lock()
	w.stack = append(w.stack, tasks...)
	w.pending += len(tasks)
	if w.idle == 1 || len(tasks) == 1 {
		w.wake.Signal()
	} else if w.idle > 1 {
		w.wake.Broadcast()
	}
	w.mu.Unlock()
}

func (w *walk) pop() (t task, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(w.stack) == 0 && w.pending > 0 && !w.stop.Load() {
		w.idle++
		w.wake.Wait()
		w.idle--
	}
	if len(w.stack) == 0 || w.stop.Load() {
		return task{}, false
	}
	t = w.stack[len(w.stack)-1]
	w.stack[len(w.stack)-1] = task{}
	w.stack = w.stack[:len(w.stack)-1]
	return t, true
}

func (w *walk) finished() {
	w.mu.Lock()
	if w.pending--; w.pending == 0 {
		w.wake.Broadcast()
	}
	w.mu.Unlock()
}

// A PanicError is a panic in a hook of the host, or in the engine, that ended a
// search.
type PanicError struct {
	Value any
	Stack []byte
}

func (e *PanicError) Error() string { return fmt.Sprintf("search: panic: %v", e.Value) }

// beginner and ender are visitors with something to do for each worker.
type beginner interface{ begin(w *worker) }
type ender interface{ end(w *worker) }

func (w *walk) work() {
	wk := &worker{walk: w, scratch: w.engine.scratch(), media: map[uint64]medium{}}
	defer func() {
		w.engine.putScratch(wk.scratch)
		w.mu.Lock()
		w.stats.add(&wk.stats)
		w.mu.Unlock()
	}()
	defer func() { // a hook of the host may panic; the process must not die of it
		if r := recover(); r != nil {
			w.mu.Lock()
			if w.fault == nil {
				w.fault = &PanicError{Value: r, Stack: debug.Stack()}
			}
			w.mu.Unlock()
			w.halt()
		}
	}()
	if b, ok := w.visit.(beginner); ok {
		b.begin(wk)
	}
	if e, ok := w.visit.(ender); ok {
		defer e.end(wk)
	}
	for {
		t, ok := w.pop()
		if !ok {
			return
		}
		switch {
		case t.d != nil:
			wk.batch(&t)
		case t.start.file != "":
			if !w.filter.left {
				wk.named(&t)
			}
		default:
			wk.directory(&t)
		}
		w.finished()
	}
}

// enter makes path the beginning of the paths of a directory's entries.
func (w *worker) enter(t *task) {
	w.path = append(append(w.path[:0], t.start.above...), t.path...)
	if t.path != "" {
		w.path = append(w.path, '/')
	}
	w.base, w.above = len(w.path), len(t.start.above)
	w.from, w.up = 0, t.start.up
	if t.start.dir != "" {
		w.from = len(t.start.dir) + 1
	}
}

// join appends name to the directory's path. The result begins above the root.
func (w *worker) join(name []byte) []byte {
	w.path = append(w.path[:w.base], name...)
	return w.path
}

// named visits a file that the caller named: no rule is asked.
func (w *worker) named(t *task) {
	d, err := w.fs.openDir(t.path, false)
	if err != nil {
		w.failed(t.path, err)
		return
	}
	defer d.release()
	w.enter(t)
	name := append([]byte(t.start.file[strings.LastIndexByte(t.start.file, '/')+1:]), 0)
	w.stats.Files++
	w.visit.file(w, d, w.join(name[:len(name)-1])[w.above:], name[:len(name)-1], kindFile)
}

// failed counts a path that could not be opened, unless it is merely gone.
func (w *worker) failed(path string, err error) {
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	w.stats.Unreadable++
	w.stats.problem(path, unwrapPath(err))
}

func (w *worker) directory(t *task) {
	d, err := w.fs.openDir(t.path, w.scope.Follow)
	if err != nil {
		w.failed(t.path, err)
		return
	}
	defer d.release()
	in, err := w.fs.statDir(d)
	if err != nil {
		w.failed(t.path, err)
		return
	}
	if w.fresh(d, in) == mediumVirtual {
		w.stats.Special++
		w.stats.problem(t.path, errors.New("virtual file system"))
		return
	}
	if w.seen != nil && in.ino != 0 {
		id := [2]uint64{in.dev, in.ino}
		w.mu.Lock()
		was := w.seen[id]
		w.seen[id] = true
		w.mu.Unlock()
		if was {
			w.stats.Links++
			return
		}
	}
	w.stats.Dirs++
	w.enter(t)
	level := t.level
	for first := true; ; first = false {
		w.list.reset()
		more := true
		for more && len(w.list.entries) < chunkSize && !w.stop.Load() {
			if more, err = w.fs.list(d, &w.list); err != nil {
				w.failed(t.path, err)
				more = false
			}
		}
		if first && !w.filter.noIgnore && !t.left {
			level = w.level(t, d, !more)
		}
		w.files.reset()
		for _, e := range w.list.entries {
			w.classify(t, d, level, w.list.name(e), e.kind)
		}
		slices.Reverse(w.subs)
		w.push(w.subs)
		clear(w.subs)
		w.subs = w.subs[:0]
		w.dispatch(t, d)
		if !more || w.stop.Load() {
			return
		}
	}
}

// fresh returns what kind of file system d is on, asking once per device.
func (w *worker) fresh(d *dir, in info) medium {
	m, ok := w.media[in.dev]
	if !ok || in.dev == 0 {
		m = w.fs.medium(d)
		w.media[in.dev] = m
	}
	d.local = m == mediumLocal
	return m
}

// classify decides about one entry: it becomes a sub-directory to read, a file
// to visit, or nothing.
func (w *worker) classify(t *task, d *dir, level *ignore.Level, name []byte, k kind) {
	f := w.filter
	if f.temp != "" && len(name) > len(f.temp) && string(name[len(name)-len(f.temp):]) == f.temp {
		return
	}
	if name[0] == '.' && vcs(unsafeString(name)) {
		return
	}
	if k == kindUnknown {
		in, err := w.fs.lstat(d, name)
		if err != nil {
			return
		}
		k = in.kind
	}
	path := w.join(name)
	rel := path[w.above:]
	if k == kindLink && w.scope.Follow {
		st, err := w.root.Stat(string(rel))
		if err != nil || !st.IsDir() && !st.Mode().IsRegular() {
			w.stats.Links++
			return
		}
		if st.IsDir() {
			k = kindDir
		}
	}
	if k == kindSpecial {
		return
	}
	isDir, left := k == kindDir, t.left
	if !left {
		hidden := f.hidden && name[0] == '.'
		ignored := !hidden && !f.noIgnore && level != nil && level.Match(path, isDir) == ignore.Ignored
		switch {
		case f.left:
			if left = hidden || ignored; !left && !isDir {
				return
			}
		case hidden:
			w.stats.HiddenFiles++
			w.visit.passed(w, rel, isDir)
			return
		case ignored:
			w.stats.Ignored++
			w.visit.passed(w, rel, isDir)
			return
		}
	}
	if isDir {
		if !f.enters(rel, w.from) || t.start.only != nil && !t.start.reaches(rel) {
			return
		}
		if !w.visit.dir(w, d, rel, name) {
			return
		}
		switch limit := w.scope.MaxDepth; {
		case limit > 0 && t.depth+1 >= limit:
			w.stats.Deep++
			return
		case limit <= 0 && t.depth+1 >= deepest:
			w.failed(string(rel), errTooDeep)
			return
		}
		w.subs = append(w.subs, task{path: string(rel), level: level, depth: t.depth + 1, start: t.start, left: left})
		return
	}
	if !f.wanted(rel, w.from) || t.start.only != nil && !t.start.covers(rel) {
		return
	}
	w.files.add(name, k)
}

// covers reports whether a path given as a glob means rel or a directory that
// holds it.
func (s *start) covers(rel []byte) bool {
	for i := len(s.dir) + 1; i < len(rel); i++ {
		if rel[i] == '/' && s.only.Match(unsafeString(rel[:i])) {
			return true
		}
	}
	return s.only.Match(unsafeString(rel))
}

// reaches reports whether a path given as a glob can mean anything in rel.
func (s *start) reaches(rel []byte) bool {
	return s.only.Under(unsafeString(rel)) || s.covers(rel)
}

// dispatch visits the files that are left of a directory. If they are many it
// leaves most to whoever is free.
func (w *worker) dispatch(t *task, d *dir) {
	entries := w.files.entries
	w.stats.Files += len(entries)
	for len(entries) > 2*batchSize && w.opt.Workers > 1 && w.batches.Load() < maxBatches {
		part := entries[len(entries)-batchSize:]
		entries = entries[:len(entries)-batchSize]
		from := part[0].off
		b := task{path: t.path, level: t.level, depth: t.depth, start: t.start, d: d}
		b.part.names = slices.Clone(w.files.names[from:])
		w.files.names = w.files.names[:from]
		b.part.entries = make([]entry, len(part))
		for i, e := range part {
			e.off -= from
			b.part.entries[i] = e
		}
		d.refs.Add(1)
		w.batches.Add(1)
		w.push([]task{b})
	}
	w.visitAll(d, &w.files, entries)
}

func (w *worker) batch(t *task) {
	defer t.d.release()
	w.batches.Add(-1)
	w.enter(t)
	w.visitAll(t.d, &t.part, t.part.entries)
}

func (w *worker) visitAll(d *dir, l *listing, entries []entry) {
	for _, e := range entries {
		if w.stop.Load() {
			return
		}
		name := l.name(e)
		w.visit.file(w, d, w.join(name)[w.above:], name, e.kind)
	}
}
