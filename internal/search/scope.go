package search

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/agenttool/tool/internal/search/glob"
	"github.com/agenttool/tool/internal/search/ignore"
)

var (
	errNotDir     = errors.New("not a directory")
	errNotRegular = errors.New("not a regular file")
)

// filter is a compiled Scope: which files are wanted wherever they are.
type filter struct {
	exts     map[string]bool // if not nil, the only condition for inclusion
	include  []*glob.Pattern
	types    []*glob.Pattern
	exclude  []*glob.Pattern
	hidden   bool // pass over names that begin with a dot
	temp     string
	noIgnore bool
	left     bool // only what would be passed over
}

func (e *Engine) filter(s *Scope, named bool) (*filter, error) {
	f := &filter{temp: e.opt.TempSuffix, noIgnore: s.NoIgnore, left: s.left}
	var includes []string
	for _, g := range s.Include {
		if x, ok := strings.CutPrefix(g, "!"); ok {
			p, err := compileGlob(x)
			if err != nil {
				return nil, err
			}
			f.exclude = append(f.exclude, p)
		} else {
			includes = append(includes, g)
		}
	}
	for _, g := range s.Exclude {
		p, err := compileGlob(strings.TrimPrefix(g, "!"))
		if err != nil {
			return nil, err
		}
		f.exclude = append(f.exclude, p)
	}
	for _, g := range includes {
		p, err := compileGlob(g)
		if err != nil {
			return nil, err
		}
		named = named || p.Hidden()
		f.include = append(f.include, p)
	}
	for _, name := range s.Types {
		g, err := typeGlob(name)
		if err != nil {
			return nil, err
		}
		p, err := compileGlob(g)
		if err != nil {
			return nil, err
		}
		f.types = append(f.types, p)
	}
	f.hidden = s.Hidden == HiddenSkipped || s.Hidden == HiddenNamed && !named
	f.hash()
	return f, nil
}

// hash replaces globs that ask for nothing but an extension by a look-up.
func (f *filter) hash() {
	all := f.include
	if len(all) == 0 {
		all = f.types
	} else if len(f.types) > 0 {
		return
	}
	exts := map[string]bool{}
	for _, p := range all {
		list, ok := p.Ext()
		if !ok {
			return
		}
		for _, x := range list {
			exts[x] = true
		}
	}
	if len(exts) > 0 {
		f.exts, f.include, f.types = exts, nil, nil
	}
}

func compileGlob(s string) (*glob.Pattern, error) {
	return glob.Compile(s, glob.Options{Separator: globSeparator})
}

// wanted reports whether a file is in scope. rel is relative to the root, and
// rel[from:] to the place where the search began.
func (f *filter) wanted(rel []byte, from int) bool {
	if f.exts != nil {
		name := rel[bytes.LastIndexByte(rel, '/')+1:]
		dot := bytes.LastIndexByte(name, '.')
		if dot < 0 || !f.exts[string(name[dot:])] {
			return false
		}
	}
	if len(f.include) > 0 && !matchAny(f.include, rel, from) || len(f.types) > 0 && !matchAny(f.types, rel, from) {
		return false
	}
	return len(f.exclude) == 0 || !matchAny(f.exclude, rel, from)
}

// enters reports whether a directory can hold anything that is wanted.
func (f *filter) enters(rel []byte, from int) bool {
	if len(f.exclude) > 0 && matchAny(f.exclude, rel, from) {
		return false
	}
	if len(f.include) == 0 {
		return true
	}
	for _, p := range f.include {
		if p.Under(unsafeString(rel)) || from > 0 && p.Under(unsafeString(rel[from:])) {
			return true
		}
	}
	return false
}

func matchAny(ps []*glob.Pattern, rel []byte, from int) bool {
	for _, p := range ps {
		if p.Match(unsafeString(rel)) || from > 0 && p.Match(unsafeString(rel[from:])) {
			return true
		}
	}
	return false
}

// start is a place where a walk begins.
type start struct {
	dir   string // relative to the root, "" for the root
	file  string // or a file, then dir is what it lies in
	only  *glob.Pattern
	up    int           // how much of dir the pattern of a Glob is about, with a slash
	above string        // path of the root within the repository, with a slash behind it, or ""
	level *ignore.Level // rules of the directories above dir
}

// starts resolves the paths of a scope.
func (w *walk) starts(s *Scope) ([]start, error) {
	paths := s.Paths
	if len(paths) == 0 {
		paths = []string{""}
	}
	var out []start
	for _, p := range paths {
		st, err := w.start(p)
		if err != nil {
			return nil, err
		}
		out = append(out, st)
	}
	// A path within another is searched once, unless only it is named.
	kept := out[:0]
	for i, st := range out {
		covered := false
		for j, o := range out {
			if i == j || o.file != "" || o.only != nil || st.only != nil {
				continue
			}
			p := st.dir
			if st.file != "" {
				p = st.file
			}
			same := p == o.dir
			inside := o.dir == "" && p != "" || strings.HasPrefix(p, o.dir+"/")
			if same && j < i || inside && !same && !w.hides(&o, p, st.file == "") {
				covered = true
			}
		}
		if !covered {
			kept = append(kept, st)
		}
	}
	return kept, nil
}

// hides reports whether a search that begins at o would pass over p.
func (w *walk) hides(o *start, p string, isDir bool) bool {
	for part := range strings.SplitSeq(p, "/") {
		if vcs(part) || w.filter.hidden && strings.HasPrefix(part, ".") {
			return true
		}
	}
	if w.filter.noIgnore {
		return false
	}
	level, _ := w.levelAbove(p, o.above)
	return level.Within([]byte(o.above+p), isDir) == ignore.Ignored
}

func (w *walk) start(p string) (start, error) {
	name, err := clean(p)
	if err != nil {
		return start{}, err
	}
	st := start{}
	in, real, err := w.resolve(name)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) || !strings.ContainsAny(p, "*?[{") {
			return start{}, fmt.Errorf("search %s: %w", display(p), unwrapPath(err))
		}
		g, gerr := glob.Compile(name, glob.Options{Anchored: true, Separator: globSeparator})
		if gerr != nil {
			return start{}, gerr
		}
		st.only = g
		base := g.Base(w.exists)
		if in, real, err = w.resolve(base); err != nil || !in.IsDir() {
			return start{}, fmt.Errorf("search %s: %w", display(p), fs.ErrNotExist)
		}
	}
	switch {
	case in.IsDir():
		st.dir = real
	case in.Mode().IsRegular():
		st.file = real
		if st.dir = path.Dir(real); st.dir == "." {
			st.dir = ""
		}
		return st, nil
	default:
		return start{}, fmt.Errorf("search %s: %w", display(p), errNotRegular)
	}
	if w.filter.noIgnore {
		return st, nil
	}
	st.above = w.above()
	level, _ := w.levelAbove(st.dir, st.above)
	if st.dir != "" && level.Within([]byte(st.above+st.dir), true) == ignore.Ignored {
		level = w.foreign(level) // named although it is ignored
	}
	st.level = level
	return st, nil
}

// foreign is what remains of rules for a directory that they exclude and that is
// searched because it was named: it is not the project's own, and its only
// rules are those inside it.
func (w *walk) foreign(level *ignore.Level) *ignore.Level {
	for l := level; l != nil; l = l.Parent {
		if l.Repository {
			return &ignore.Level{Dir: 0, Repository: true}
		}
	}
	return nil
}

func display(p string) string {
	if p == "" {
		return "."
	}
	return p
}

// unwrapPath drops the operation and path of an error, which say no more than
// the message around it.
func unwrapPath(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

// clean makes a path of a query relative to the root.
func clean(p string) (string, error) {
	if strings.IndexByte(p, 0) >= 0 {
		return "", errors.New("search: the path holds a NUL byte")
	}
	if globSeparator != 0 {
		p = strings.ReplaceAll(p, string(globSeparator), "/")
	}
	p = path.Clean(p)
	switch {
	case p == ".":
		return "", nil
	case p == ".." || strings.HasPrefix(p, "../") || path.IsAbs(p):
		return "", fmt.Errorf("search %s: the path is outside the root", p)
	}
	return p, nil
}

// resolve follows the links in a path that the caller named, which must stay
// below the root, and returns the path without links.
func (w *walk) resolve(p string) (os.FileInfo, string, error) {
	done, rest := "", p
	for links := 0; rest != ""; {
		var part string
		part, rest, _ = strings.Cut(rest, "/")
		next := path.Join(done, part)
		if next == ".." || strings.HasPrefix(next, "../") {
			return nil, "", errors.New("the path leads outside the root")
		}
		st, err := w.root.Lstat(display(next))
		if err != nil {
			return nil, "", err
		}
		if st.Mode()&fs.ModeSymlink == 0 {
			if done = next; done == "." {
				done = ""
			}
			continue
		}
		if links++; links > 40 {
			return nil, "", errors.New("too many links")
		}
		target, err := w.root.Readlink(next)
		if err != nil {
			return nil, "", err
		}
		if path.IsAbs(target) || strings.Contains(target, `\`) && globSeparator != 0 {
			return nil, "", errors.New("the path is a link that leads outside the root")
		}
		rest = strings.TrimSuffix(target+"/"+rest, "/")
	}
	st, err := w.root.Lstat(display(done))
	return st, done, err
}

func (w *walk) exists(p string) bool {
	_, err := w.root.Lstat(p)
	return err == nil
}
