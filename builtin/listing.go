package builtin

import (
	"container/heap"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agenttool/tool"
	"github.com/agenttool/tool/internal/search/ignore"
	"github.com/agenttool/tool/internal/textfile"
	"github.com/bmatcuk/doublestar/v4"
)

// lister lists a directory breadth first.
type lister struct {
	ts    *Toolset
	ctx   context.Context
	t     *tree
	l     location
	in    listInput
	limit int // entries of one directory that are kept
	skips []string
}

// folder is a directory of the listing.
type folder struct {
	name    string // relative to the directory that is listed
	level   *ignore.Level
	first   int // number of the first entry kept, from 1
	total   int // entries that are not left out
	left    int // entries left out by rules
	entries []*listed
	shown   int
	err     error
}

// listed is an entry of a directory.
type listed struct {
	name string
	mode fs.FileMode // its type bits
	dir  *folder     // what is in it; nil if that was not looked at
}

const (
	listDepth = 3
	listBatch = 1024
)

// listing shows what is in the directory l. by is the tool that shows it.
func (ts *Toolset) listing(ctx context.Context, l location, in listInput, by string) (*tool.Result, error) {
	t, err := ts.fsys.tree(l)
	if err != nil {
		return nil, err
	}
	defer t.close()
	s := &lister{ts: ts, ctx: ctx, t: t, l: l, in: in, limit: in.Limit}
	if s.limit == 0 {
		s.limit = ts.limits.Entries
	}
	for _, pat := range in.Ignore {
		if p, err := compileIgnore(pat); err == nil {
			s.skips = append(s.skips, p)
		}
	}
	depth := in.Depth
	if depth == 0 {
		depth = listDepth
	}
	top := &folder{name: ".", level: s.topLevel()}
	if err := s.read(top, max(in.Offset, 1)); err != nil {
		return nil, err
	}
	if top.err != nil {
		return nil, readError(l, top.err)
	}
	shown, unopened, err := s.grow(top, depth)
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	s.write(&b, top, "")
	next := top.first + top.shown
	cut := next <= top.total
	switch {
	case top.total == 0 && top.left == 0:
		b.WriteString("(empty directory)\n")
	case top.shown == 0 && top.total > 0:
		fmt.Fprintf(&b, "(the directory has %s; offset %d is beyond the end)\n", plural(top.total, "entry"), top.first)
	case cut:
		more := map[string]any{"path": in.Path, "offset": next}
		if by == "read" {
			more = map[string]any{"filePath": l.given, "offset": next}
		}
		if in.Limit > 0 {
			more["limit"] = in.Limit
		}
		fmt.Fprintf(&b, "[PARTIAL entries %d-%d of %d. Next: %s %s]\n", top.first, next-1, top.total, by, inputText(more))
	}
	if unopened > 0 {
		fmt.Fprintf(&b, "(%s not opened for want of room; list them by themselves)\n", plural(unopened, "directory"))
	}
	text := strings.TrimSuffix(b.String(), "\n")
	return &tool.Result{
		Title: l.display, Text: text,
		Metadata: map[string]any{"preview": preview(text), "truncated": cut || unopened > 0, "entries": top.total, "count": shown, "ignored": top.left},
	}, nil
}

// compileIgnore checks a pattern that names are left out by.
func compileIgnore(pat string) (string, error) {
	pat = strings.TrimSuffix(strings.TrimSuffix(pat, "/**"), "/")
	if pat == "" || len(pat) > 1024 || !doublestar.ValidatePattern(pat) || strings.Count(pat, "{") > 4 {
		return "", doublestar.ErrBadPattern
	}
	return pat, nil
}

// topLevel returns the ignore rules in force in the directory that is listed:
// those of the project down to it, or none if they exclude the directory itself,
// since who names it wants to see it.
func (s *lister) topLevel() *ignore.Level {
	if s.in.All {
		return nil
	}
	if !s.l.inside || s.l.display == "." {
		return s.level(s.t, &ignore.Level{Repository: true}, ".", 0)
	}
	base, err := s.ts.fsys.resolve(s.ts.fsys.dir)
	if err != nil {
		return nil
	}
	t, err := s.ts.fsys.tree(base)
	if err != nil {
		return nil
	}
	defer t.close()
	level := s.level(t, &ignore.Level{Repository: true}, ".", 0)
	if level.Within([]byte(s.l.display), true) == ignore.Ignored {
		return nil
	}
	at := ""
	for part := range strings.SplitSeq(s.l.display, "/") {
		if at = path.Join(at, part); level.Match([]byte(at), true) == ignore.Ignored {
			return nil
		}
		level = s.level(t, level, at, len(at)+1)
	}
	return level
}

const maxIgnoreRules = 1 << 20 // bytes of an ignore file

// level adds the ignore files of a directory to the rules from above.
func (s *lister) level(t *tree, above *ignore.Level, name string, dir int) *ignore.Level {
	rules := func(file string) *ignore.Rules {
		f, info, err := t.open(path.Join(name, file))
		if err != nil {
			return nil
		}
		defer f.Close()
		if !info.Mode().IsRegular() {
			return nil
		}
		text, err := io.ReadAll(io.LimitReader(&ctxReader{s.ctx, f}, maxIgnoreRules))
		if err != nil {
			return nil
		}
		return ignore.Parse(text)
	}
	n := &ignore.Level{Parent: above, Dir: dir, RgIgnore: rules(".rgignore"), Ignore: rules(".ignore"), GitIgnore: rules(".gitignore")}
	if n.Repository = above.Parent == nil; n.Repository {
		n.Exclude = rules(".git/info/exclude")
	}
	if n.RgIgnore == nil && n.Ignore == nil && n.GitIgnore == nil && n.Exclude == nil {
		if n.Repository {
			return n
		}
		return above
	}
	return n
}

// read fills in the entries of a folder from number first on: the first of them
// by name, as many as may be shown, without keeping the others.
func (s *lister) read(f *folder, first int) error {
	f.first = first
	d, _, err := s.t.open(f.name)
	if err != nil {
		f.err = plainError(err)
		return nil
	}
	defer d.Close()
	keep := &byName{most: first - 1 + s.limit}
	for {
		if err := s.ctx.Err(); err != nil {
			return err
		}
		batch, err := d.ReadDir(listBatch)
		for _, e := range batch {
			if s.skipped(f, e) {
				f.left++
				continue
			}
			f.total++
			keep.add(&listed{name: e.Name(), mode: e.Type()})
		}
		if err != nil {
			if !errors.Is(err, io.EOF) && len(batch) == 0 && f.total == 0 {
				f.err = plainError(err)
			}
			break
		}
	}
	f.entries = keep.sorted()
	f.entries = f.entries[min(first-1, len(f.entries)):]
	return nil
}

// skipped reports whether an entry is left out.
func (s *lister) skipped(f *folder, e fs.DirEntry) bool {
	if textfile.IsTempName(e.Name()) {
		return true
	}
	if f.level == nil && len(s.skips) == 0 {
		return false
	}
	name := path.Join(f.name, e.Name())
	for _, pat := range s.skips {
		subject := e.Name()
		if strings.Contains(pat, "/") {
			subject = name
		}
		if ok, err := doublestar.Match(pat, subject); err == nil && ok {
			return true
		}
	}
	if f.level == nil {
		return false
	}
	return f.level.Match([]byte(s.fromBase(name)), e.IsDir()) == ignore.Ignored
}

// fromBase returns a name as ignore rules see it: from the project on if the
// listing is inside.
func (s *lister) fromBase(name string) string {
	if s.l.inside && s.l.display != "." {
		return path.Join(s.l.display, name)
	}
	return name
}

// grow opens directories level by level and shares out what room is left, so
// that a wide one does not hide what is beside it. It returns how many entries are
// shown and how many directories there was no room to open.
func (s *lister) grow(top *folder, depth int) (shown, unopened int, err error) {
	top.shown = min(len(top.entries), s.limit)
	shown = top.shown
	level := []*folder{top}
	for d := 1; len(level) > 0; d++ {
		var next []*folder
		for _, f := range level {
			for _, e := range f.entries[:f.shown] {
				if !e.mode.IsDir() || e.name == ".git" {
					continue
				}
				if d >= depth {
					continue
				}
				if shown >= s.limit {
					unopened++
					continue
				}
				e.dir = &folder{name: path.Join(f.name, e.name), level: f.level}
				if f.level != nil {
					at := s.fromBase(e.dir.name)
					e.dir.level = s.level(s.t, f.level, e.dir.name, len(at)+1)
				}
				if err := s.read(e.dir, 1); err != nil {
					return 0, 0, err
				}
				next = append(next, e.dir)
			}
		}
		shown += share(next, s.limit-shown)
		level = next
	}
	return shown, unopened, nil
}

// share gives every folder as much of the room as the others, and what it does
// not need to those that need more. It returns how much was given.
func share(list []*folder, room int) int {
	order := slices.Clone(list)
	slices.SortStableFunc(order, func(a, b *folder) int { return len(a.entries) - len(b.entries) })
	given := 0
	for i, f := range order {
		f.shown = min(len(f.entries), max(room-given, 0)/(len(order)-i))
		given += f.shown
	}
	return given
}

// write writes the entries of a folder, one on a line.
func (s *lister) write(b *strings.Builder, f *folder, indent string) {
	for _, e := range f.entries[:f.shown] {
		b.WriteString(indent + s.line(f, e) + "\n")
		if e.dir == nil {
			continue
		}
		in := indent + "  "
		if e.dir.err != nil {
			fmt.Fprintf(b, "%s(cannot be read: %v)\n", in, e.dir.err)
			continue
		}
		s.write(b, e.dir, in)
		if n := e.dir.total - e.dir.shown; n > 0 {
			fmt.Fprintf(b, "%s+%d more\n", in, n)
		}
	}
	if f.left > 0 {
		fmt.Fprintf(b, "%s(%d ignored)\n", indent, f.left)
	}
}

// line is what is shown of an entry.
func (s *lister) line(f *folder, e *listed) string {
	name := path.Join(f.name, e.name)
	text := e.name
	if v := visible(text); v != text || strings.ContainsAny(text, "\n\t\\\"") || strings.TrimSpace(text) != text {
		text = fmt.Sprintf("%q", text)
	}
	info, err := s.t.lstat(name)
	switch {
	case e.mode.IsDir():
		text += "/"
	case e.mode&fs.ModeSymlink != 0:
		text += s.target(name)
	case e.mode.IsRegular():
		if err == nil && info.Mode().Perm()&0o111 != 0 {
			text += "*"
		}
	case e.mode&fs.ModeNamedPipe != 0:
		text += " (pipe)"
	case e.mode&fs.ModeSocket != 0:
		text += " (socket)"
	default:
		text += " (device)"
	}
	if s.in.Long && err == nil {
		text += fmt.Sprintf("  %d bytes, %s", info.Size(), info.ModTime().UTC().Format("2006-01-02 15:04Z"))
	}
	return text
}

// target says where a link leads.
func (s *lister) target(name string) string {
	to, err := s.t.readlink(name)
	if err != nil {
		return " -> ?"
	}
	text := " -> " + oneLine(filepath.ToSlash(to))
	l, err := s.ts.fsys.resolve(filepath.Join(s.l.abs, filepath.FromSlash(name)))
	switch {
	case err != nil || !l.exists():
		text += " (broken)"
	case l.isDir() && !strings.HasSuffix(text, "/"):
		text += "/"
	}
	return text
}

// byName keeps the first entries by name. It is a heap with the last on top.
type byName struct {
	list []*listed
	most int
}

func (h *byName) Len() int           { return len(h.list) }
func (h *byName) Less(i, j int) bool { return h.list[i].name > h.list[j].name }
func (h *byName) Swap(i, j int)      { h.list[i], h.list[j] = h.list[j], h.list[i] }
func (h *byName) Push(x any)         { h.list = append(h.list, x.(*listed)) }
func (h *byName) Pop() any {
	last := h.list[len(h.list)-1]
	h.list = h.list[:len(h.list)-1]
	return last
}

func (h *byName) add(e *listed) {
	if len(h.list) < h.most {
		heap.Push(h, e)
		return
	}
	if e.name < h.list[0].name {
		h.list[0] = e
		heap.Fix(h, 0)
	}
}

func (h *byName) sorted() []*listed {
	slices.SortFunc(h.list, func(a, b *listed) int { return strings.Compare(a.name, b.name) })
	return h.list
}
