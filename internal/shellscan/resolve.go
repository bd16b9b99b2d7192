package shellscan

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// A resolver follows names as the kernel does, and remembers what it saw so that one analysis sees one file system.
type resolver struct {
	o       *Options
	roots   []string // resolved
	cache   map[string]entry
	lookups int
}

type entry struct {
	mode   fs.FileMode
	exists bool
	target string // of a link
	err    bool
}

func newResolver(o *Options) *resolver {
	r := &resolver{o: o, cache: map[string]entry{}}
	for _, root := range o.Roots {
		if root = cleanAbs(root); root != "" {
			if res := r.resolve("/", root, true); res.ok {
				root = res.path
			}
			r.roots = append(r.roots, root)
		}
	}
	return r
}

func (r *resolver) stat(name string) entry {
	if r.o.Lookup == nil {
		return entry{mode: fs.ModeIrregular, exists: true}
	}
	if e, ok := r.cache[name]; ok {
		return e
	}
	var e entry
	if r.lookups++; r.lookups > maxLookups {
		return entry{err: true}
	}
	mode, err := r.o.Lookup.Lstat(name)
	switch {
	case err == nil:
		e = entry{mode: mode, exists: true}
		if mode&fs.ModeSymlink != 0 {
			if e.target, err = r.o.Lookup.Readlink(name); err != nil {
				e.err = true
			}
		}
	case !errors.Is(err, fs.ErrNotExist):
		e.err = !errors.Is(err, fs.ErrPermission) && !strings.Contains(err.Error(), "not a directory")
	}
	r.cache[name] = e
	return e
}

type resolution struct {
	path   string
	finals []string // the last component as given, and the names of links it went through
	dir    bool
	exists bool
	ok     bool // false: cannot be known
}

// resolve follows name, relative to the absolute dir. With follow false a link that is the last component stays.
func (r *resolver) resolve(dir, name string, follow bool) resolution {
	if !strings.HasPrefix(name, "/") {
		name = dir + "/" + name
	}
	trailing := strings.HasSuffix(name, "/") || strings.HasSuffix(name, "/.")
	pending := strings.Split(name, "/")
	slices.Reverse(pending)
	res := resolution{path: "/", dir: true, exists: true, ok: true}
	links := 0
	for len(pending) > 0 {
		c := pending[len(pending)-1]
		pending = pending[:len(pending)-1]
		switch c {
		case "", ".":
			continue
		case "..":
			res.path = path.Dir(res.path)
			res.exists = true
			continue
		}
		next := path.Join(res.path, c)
		last := !slices.ContainsFunc(pending, func(s string) bool { return s != "" && s != "." })
		if last {
			res.finals = append(res.finals, c)
		}
		e := r.stat(next)
		if e.err {
			return resolution{}
		}
		if e.mode&fs.ModeSymlink != 0 && e.exists && (!last || follow || trailing) {
			if links++; links > 40 || e.target == "" {
				return resolution{}
			}
			parts := strings.Split(e.target, "/")
			slices.Reverse(parts)
			pending = append(pending, parts...)
			if e.target[0] == '/' {
				res.path = "/"
			}
			continue
		}
		res.path, res.exists, res.dir = next, e.exists, e.mode.IsDir()
	}
	return res
}

// inside reports whether a resolved path is in a root.
func (r *resolver) inside(p string) bool {
	return slices.ContainsFunc(r.roots, func(root string) bool { return within(p, root) })
}

func within(p, root string) bool {
	return p == root || root == "/" || strings.HasPrefix(p, root) && p[len(root)] == '/'
}

// rel is how rules call a path: relative to the project if it is inside, else absolute.
func (r *resolver) rel(p string) string {
	if len(r.roots) > 0 && r.roots[0] != "/" && within(p, r.roots[0]) {
		if p == r.roots[0] {
			return "."
		}
		return p[len(r.roots[0])+1:]
	}
	return p
}

// harmless devices are no files.
func harmlessDevice(p string) bool {
	switch p {
	case "/dev/null", "/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/tty":
		return true
	}
	rest, ok := strings.CutPrefix(p, "/dev/fd/")
	return ok && rest != "" && strings.Trim(rest, "0123456789"+string(Unknown)) == ""
}

func kernelPath(p string) bool {
	return within(p, "/proc") || within(p, "/sys") || within(p, "/dev")
}

// use is how a word is used as a path.
type use struct {
	mode     Mode
	redirect bool
	noFollow bool // the last component is not followed
	command  int
	links    bool // links below it are followed
	into     bool // a directory that files of unknown names are written into
	quiet    bool // only report what is not plainly inside: an argument of which nothing is known

	pattern string // for globs: what follows the directory
}

// file records that a word names a file.
func (v *visitor) file(w Word, st *state, u use) {
	if v.quiet > 0 || v.away > 0 || w.Text == "" {
		return
	}
	f := FileUse{Path: visible(w.Text), Mode: u.mode, Command: u.command, Redirect: u.redirect, into: u.into}
	text, tails := w.Text, []string(nil)
	switch {
	case harmlessDevice(text):
		return
	case w.Glob && !w.Dynamic:
		f.Secret = v.globSecret(w)
		f.Protected = u.mode&Write != 0 && v.globProtected(w)
		whole := text
		if text, tails = v.globbed(w, st); text == "" {
			f.Unknown = true
		}
		if len(tails) == 0 || len(tails) > 32 {
			u.pattern = strings.TrimLeft(strings.TrimPrefix(whole, text), "/")
			v.found(&f, w, st)
		}
	case w.Dynamic:
		if u.quiet {
			return
		}
		f.Unknown = true
	}
	if !f.Unknown {
		v.locate(&f, text, tails, st, u)
	}
	if ((w.listed || w.Glob && st.fresh) && u.mode&Write != 0 && !u.noFollow || u.links) && !f.Unknown {
		v.throughLinks(&f, w, st)
	}
	plainInside := !f.Unknown && !f.Secret && !f.Protected && len(f.outside) == 0
	if u.quiet && (plainInside || f.Unknown && !strings.HasPrefix(text, "..") && !strings.Contains(text, "/../")) {
		if !plainInside || !slices.ContainsFunc(f.Paths, func(p string) bool { return v.fs.o.Lookup != nil && v.fs.stat(p).exists }) {
			return
		}
		f.Mode, f.mention = 0, true
	}
	v.s.Files = append(v.s.Files, f)
}

func (v *visitor) locate(f *FileUse, text string, tails []string, st *state, u use) {
	bases := st.dirs
	if strings.HasPrefix(text, "/") {
		bases = []string{"/"}
	}
	if strings.HasPrefix(text, "~/") || text == "~" { // quoted; some programs expand it themselves
		if v.s.opts.Home == "" {
			f.Unknown = true
			return
		}
		bases, text = []string{v.s.opts.Home}, "."+text[1:]
	}
	if bases == nil {
		f.Unknown = true
		return
	}
	// A few files stand for themselves, many are judged by their directory and the pattern.
	names, listed := []string{text}, len(tails) > 0 && len(tails) <= 32
	if listed {
		names = nil
	}
	for _, t := range tails {
		names = append(names, path.Join(text, t))
	}
	for _, base := range bases {
		for i, name := range names {
			res := v.fs.resolve(base, name, !u.noFollow)
			if !res.ok {
				f.Unknown = true
				return
			}
			if harmlessDevice(res.path) {
				continue
			}
			if i > 0 || len(tails) == 0 || listed {
				for _, n := range append(res.finals, path.Base(text)) {
					f.Secret = f.Secret || v.s.opts.secret(n)
				}
			}
			for _, m := range v.moved {
				if within(res.path, m) {
					f.Unknown = true
				}
			}
			if i > 0 && !listed && v.fs.inside(res.path) && !f.Secret {
				continue // the directory stands for it
			}
			v.place(f, res, u)
		}
	}
}

// written reports whether the text itself has written, or may have, the file that a word names.
func (v *visitor) written(w Word, st *state) bool {
	if !w.known() {
		return false
	}
	bases := st.dirs
	if strings.HasPrefix(w.Text, "/") {
		bases = []string{"/"}
	}
	for _, b := range bases {
		res := v.fs.resolve(b, w.Text, true)
		for i := range v.s.Files {
			f := &v.s.Files[i]
			if f.Mode&Write != 0 && f.Mode&Dir == 0 && res.ok && slices.ContainsFunc(f.Paths, func(p string) bool {
				return p == res.path || f.Mode&Recursive != 0 && within(res.path, p)
			}) {
				return true
			}
		}
	}
	return false
}

// place records one candidate.
func (v *visitor) place(f *FileUse, res resolution, u use) {
	if slices.Contains(f.Paths, res.path) {
		return
	}
	f.Paths = append(f.Paths, res.path)
	rel := v.fs.rel(res.path)
	if u.pattern != "" && len(f.rel) == 0 {
		f.rel = append(f.rel, path.Join(rel, u.pattern))
	} else {
		f.rel = append(f.rel, rel)
	}
	if u.mode&Write != 0 || u.quiet {
		names := []string{strings.TrimPrefix(rel, "/"), strings.TrimPrefix(path.Clean("/"+f.Path), "/")}
		if u.mode&Recursive != 0 && u.pattern == "" && v.fs.o.Lookup != nil && v.fs.stat(res.path+"/.git").exists && v.fs.inside(res.path) {
			names = append(names, path.Join(names[0], ".git"))
		}
		for _, n := range names {
			if v.s.opts.protected(n) && !(u.quiet && u.mode&Write == 0 && rel != n && !strings.Contains(f.Path, "/")) {
				f.Protected = true
			}
		}
	}
	if v.fs.inside(res.path) && !kernelPath(res.path) {
		return
	}
	dir := path.Dir(res.path)
	if u.mode&Dir != 0 || res.dir {
		dir = res.path
	}
	if !slices.Contains(f.outside, dir) {
		f.outside = append(f.outside, dir)
	}
}
