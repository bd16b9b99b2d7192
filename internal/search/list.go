package search

import (
	"context"
	"os"
	"slices"
	"time"

	"github.com/agenttool/tool/internal/search/ignore"
)

// A ListQuery is what List is asked.
type ListQuery struct {
	Path     string // relative to the root; "" means the root
	Depth    int    // how many levels; 0 means 1
	Limit    int    // entries in all; 0 means 200
	NoIgnore bool   // show ignored entries too
	Hidden   Hidden // HiddenNamed is as HiddenShown here
	Timeout  time.Duration
}

// A Listing is a directory, breadth first.
type Listing struct {
	Dirs     []DirListing // parents before children, names in order
	TimedOut bool
	More     int // directories not looked into because Limit was reached
}

// A DirListing is what one directory holds.
type DirListing struct {
	Path    string // relative to the root; "" for the root
	Entries []Entry
	Target  map[string]string // where links point, by name
	Broken  map[string]bool   // links that lead nowhere or outside
	More    int               // entries beyond the limit
	Ignored int               // entries left out by ignore rules
	Hidden  int               // entries left out by ListQuery.Hidden
	Err     error             // the directory could not be read, or not to its end
}

// DefaultListLimit is how many entries List returns unless told otherwise.
const DefaultListLimit = 200

// List shows a directory and, level by level, what is below it. Within the limit
// each directory of a level gets an equal share before any gets more, so that a large one
// hides no other. Entries come in order of their names, directories and files mixed;
// memory grows with the limit, not with the size of a directory. The paths of
// entries are names. Links are not followed.
func (e *Engine) List(ctx context.Context, root *os.Root, q ListQuery) (*Listing, error) {
	inner, cancel := withTimeout(ctx, q.Timeout)
	defer cancel()
	s := Scope{Paths: []string{q.Path}, NoIgnore: q.NoIgnore, Hidden: q.Hidden}
	f, err := e.filter(&s, true)
	if err != nil {
		return nil, err
	}
	w, err := e.walk(root, &s, f, nil)
	if err != nil {
		return nil, err
	}
	defer w.fs.close()
	st, err := w.start(q.Path)
	if err != nil {
		return nil, err
	}
	if st.file != "" || st.only != nil {
		return nil, &os.PathError{Op: "list", Path: display(q.Path), Err: errNotDir}
	}
	wk := &worker{walk: w, scratch: e.scratch(), media: map[uint64]medium{}}
	defer e.putScratch(wk.scratch)
	left := q.Limit
	if left <= 0 {
		left = DefaultListLimit
	}
	out := &Listing{}
	level := []task{{path: st.dir, level: st.level, start: &st}}
	for depth := 0; depth < max(q.Depth, 1) && len(level) > 0; depth++ {
		var next []task
		for i := range level {
			if inner.Err() != nil {
				break
			}
			if left <= 0 {
				out.More++
				continue
			}
			share := (left + len(level) - i - 1) / (len(level) - i)
			d, subs := wk.show(inner, &level[i], share)
			left -= len(d.Entries)
			out.Dirs = append(out.Dirs, d)
			next = append(next, subs...)
		}
		level = next
	}
	out.TimedOut, err = ended(ctx, inner)
	return out, err
}

// show reads one directory and keeps the first limit names.
func (w *worker) show(ctx context.Context, t *task, limit int) (DirListing, []task) {
	out := DirListing{Path: t.path}
	d, err := w.fs.openDir(t.path, false)
	if err != nil {
		out.Err = unwrapPath(err)
		return out, nil
	}
	defer d.release()
	w.enter(t)
	rules := t.level
	type item struct {
		name string
		kind kind
	}
	var kept []item
	for first, more := true, true; more && ctx.Err() == nil; first = false {
		w.list.reset()
		for more && len(w.list.entries) < chunkSize {
			if more, err = w.fs.list(d, &w.list); err != nil {
				out.Err, more = unwrapPath(err), false
			}
		}
		if first && !w.filter.noIgnore {
			rules = w.level(t, d, !more)
		}
		for _, e := range w.list.entries {
			name := w.list.name(e)
			switch {
			case vcs(unsafeString(name)):
				continue
			case w.filter.hidden && name[0] == '.':
				out.Hidden++
				continue
			case !w.filter.noIgnore && rules.Match(w.join(name), e.kind == kindDir) == ignore.Ignored:
				out.Ignored++
				continue
			}
			if len(kept) == limit && limit > 0 && unsafeString(name) >= kept[limit-1].name {
				out.More++
				continue
			}
			i, _ := slices.BinarySearchFunc(kept, unsafeString(name), func(x item, n string) int {
				switch {
				case x.name < n:
					return -1
				case x.name > n:
					return 1
				}
				return 0
			})
			kept = slices.Insert(kept, i, item{string(name), e.kind})
			if len(kept) > limit {
				kept = kept[:limit]
				out.More++
			}
		}
	}
	var subs []task
	for _, it := range kept {
		in, err := w.fs.lstat(d, []byte(it.name))
		if err != nil {
			continue // gone meanwhile
		}
		out.Entries = append(out.Entries, Entry{
			Path: it.name, ModTime: time.Unix(0, in.mtime), Size: in.size,
			Dir: in.kind == kindDir, Link: in.kind == kindLink, Exec: in.exec && in.kind == kindFile,
		})
		rel := string(w.join([]byte(it.name))[w.above:])
		switch in.kind {
		case kindDir:
			subs = append(subs, task{path: rel, level: rules, start: t.start})
		case kindLink:
			w.showLink(&out, it.name, rel)
		}
	}
	return out, subs
}

func (w *worker) showLink(out *DirListing, name, rel string) {
	if target, err := w.root.Readlink(rel); err == nil {
		if out.Target == nil {
			out.Target = map[string]string{}
		}
		out.Target[name] = target
	}
	if _, err := w.root.Stat(rel); err != nil {
		if out.Broken == nil {
			out.Broken = map[string]bool{}
		}
		out.Broken[name] = true
	}
}
