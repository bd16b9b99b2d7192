package fsroot

import (
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"runtime"
	"strings"
)

// A Path is what a name led to when it was resolved. It holds no resources and is not changed after it was returned. Using it
// repeats the check: see [Root.Open] and [Root.Parent].
type Path struct {
	// Given is the name as the caller wrote it.
	Given string
	// Resolved is the absolute, clean name with all links followed. A part that does not exist yet is kept as written.
	Resolved string
	// Display is how to show the path: with slashes, relative to the main directory when it is inside, else absolute.
	Display string
	// Inside reports whether a grant covers Resolved.
	Inside bool
	// Exists reports whether Resolved existed.
	Exists bool
	// Info describes Resolved; nil when it did not exist.
	Info fs.FileInfo
	// Link reports that Resolved itself is a link that was not followed; see [Root.ResolveLink].
	Link bool
	// Dangling reports that the name is a link to something that does not exist.
	Dangling bool
	// Secret reports that one of the names on the way to the file, as given or behind a link, is a secret's.
	Secret bool
	// Protected reports that writing to the file could make other programs run something.
	Protected bool
	// Kernel reports that the way led through /proc, /sys or /dev.
	Kernel bool

	tree   *tree
	rel    string // relative to the tree's open directory
	key    string
	base   string // directory that Given was relative to
	follow bool
}

// Key identifies the file for locks and records: equal for all spellings and links that lead to one name, on file systems
// that ignore case also for spellings that differ in it.
func (p *Path) Key() string { return p.key }

// Dir returns the resolved directory that contains the file, or the path itself when it is a directory: what to ask a
// grant for.
func (p *Path) Dir() string {
	if p.Info != nil && p.Info.IsDir() {
		return p.Resolved
	}
	return filepath.Dir(p.Resolved)
}

// Resolve follows name to where it really leads, relative names starting at the main directory. Links are followed one
// component at a time, at most 40; ".." is applied to the directory reached so far; a tail that does not exist is kept. The
// file need not exist and may be outside: the Path says so. Errors are *[PathError].
func (r *Root) Resolve(name string) (*Path, error) { return r.resolve(r.main.path, name, true) }

// ResolveLink is Resolve except that the last component is not followed: the way to delete or move a link itself.
func (r *Root) ResolveLink(name string) (*Path, error) { return r.resolve(r.main.path, name, false) }

// ResolveIn is Resolve, or with follow false ResolveLink, with relative names starting at dir, an absolute path.
func (r *Root) ResolveIn(dir, name string, follow bool) (*Path, error) {
	if !filepath.IsAbs(dir) {
		return nil, badPath(dir, "the starting directory must be absolute")
	}
	if err := CheckName(runtime.GOOS, dir); err != nil {
		return nil, err
	}
	return r.resolve(dir, name, follow)
}

func (r *Root) resolve(base, name string, follow bool) (*Path, error) {
	if err := CheckName(runtime.GOOS, name); err != nil {
		return nil, err
	}
	full := name
	if !filepath.IsAbs(full) {
		if filepath.VolumeName(full) != "" {
			return nil, badPath(name, "a drive letter must be followed by a slash")
		}
		if runtime.GOOS == "windows" && (full[0] == '/' || full[0] == '\\') {
			full = filepath.VolumeName(base) + full
		} else {
			full = base + string(filepath.Separator) + full
		}
	}
	w, err := walk(rootOf(full), full, follow)
	if err != nil {
		var at *PathError // names the part that is in the way
		if errors.As(err, &at) {
			if rel, ok := below(r.main.path, at.Path); ok {
				at.Path = filepath.ToSlash(rel)
			}
		}
		return nil, explain(name, err)
	}
	p := &Path{
		Given: name, Resolved: w.resolved, Exists: w.info != nil, Info: w.info, Dangling: w.dangling, Kernel: w.kernel,
		Link: w.info != nil && w.info.Mode()&fs.ModeSymlink != 0,
		base: base, follow: follow,
	}
	r.place(p)
	r.classify(p, w.finals)
	return p, nil
}

// place finds the grant that covers the path.
func (r *Root) place(p *Path) {
	var list []ancestor
	ancestors := func() []ancestor {
		if list == nil {
			list = ancestorsOf(p.Resolved)
		}
		return list
	}
	trees := append([]*tree{r.main}, r.extra...)
	p.Display = filepath.ToSlash(p.Resolved)
	for pass := 0; pass < 2 && p.tree == nil; pass++ {
		byIdentity := ancestors
		if pass == 0 {
			byIdentity = nil
		}
		for i, t := range trees {
			rel, ok := t.covers(p.Resolved, byIdentity)
			if !ok || p.Kernel && !t.exact {
				continue
			}
			p.tree, p.rel, p.Inside = t, rel, true
			p.Resolved = filepath.Join(t.path, rel)
			if i == 0 {
				p.Display = filepath.ToSlash(rel)
			}
			break
		}
	}
	p.key = p.Resolved
	folds := runtime.GOOS == "windows" || runtime.GOOS == "darwin"
	if p.tree != nil {
		folds = p.tree.insensitive()
	}
	if folds {
		p.key = Fold(p.key)
	}
}

// classify marks secrets and protected files. finals are the last components met on the way: the name as given, the names
// of links it went through, and the name it ended at.
func (r *Root) classify(p *Path, finals []string) {
	given := filepath.ToSlash(p.Given)
	if rel, ok := below(filepath.ToSlash(r.main.path), path.Clean(given)); ok {
		given = rel // the names above the root are the host's choice
	}
	rel := p.Display
	if !p.Inside || p.tree != r.main {
		rel = strings.TrimPrefix(filepath.ToSlash(p.Resolved), "/")
	}
	abs := filepath.ToSlash(p.Resolved)
	for _, f := range finals {
		p.Secret = p.Secret || IsSecretName(f)
	}
	p.Protected = IsProtectedPath(given) || IsProtectedPath(rel)
	for _, n := range [][2]string{{rel, abs}, {given, given}} {
		foldRel, foldAbs := Fold(n[0]), Fold(n[1])
		p.Secret = p.Secret || matchHost(r.opts.Secrets, foldRel, foldAbs)
		p.Protected = p.Protected || matchHost(r.opts.Protected, foldRel, foldAbs)
	}
}

// walked is the result of following a name.
type walked struct {
	resolved string
	info     fs.FileInfo // of resolved, not following it; nil when missing
	dangling bool        // missing, and reached through a link
	kernel   bool        // went through a kernel directory
	finals   []string
}

// walk follows an absolute name from top, component by component.
func walk(top, name string, follow bool) (walked, error) {
	w := walked{resolved: top}
	var err error
	if w.info, err = lstatPath(top); err != nil {
		return w, err
	}
	type step struct {
		name string
		link bool // came out of a link
	}
	var pending []step
	push := func(path string, link bool) {
		parts := strings.FieldsFunc(path, func(r rune) bool { return r == filepath.Separator || r == '/' })
		if path != "" && isSeparator(path[len(path)-1]) && len(parts) > 0 {
			parts = append(parts, ".") // a trailing slash asks for a directory
		}
		steps := make([]step, len(parts), len(parts)+len(pending))
		for i, p := range parts {
			steps[i] = step{p, link}
		}
		pending = append(steps, pending...)
	}
	push(name[len(filepath.VolumeName(name)):], false)

	missing := 0 // components at the end of resolved that do not exist
	links := 0
	for len(pending) > 0 {
		s := pending[0]
		pending = pending[1:]
		if missing == 0 && !w.info.IsDir() {
			return w, &PathError{Path: w.resolved, Why: "is a file, not a directory", Err: ErrNotDir}
		}
		switch s.name {
		case ".":
			continue
		case "..":
			w.resolved = filepath.Dir(w.resolved)
			if missing > 0 {
				missing--
			}
			if missing == 0 {
				if w.info, err = lstatPath(w.resolved); err != nil {
					return w, err
				}
			}
			continue
		}
		next := filepath.Join(w.resolved, s.name)
		last := len(pending) == 0
		if last || onlyDots(pending, func(s step) string { return s.name }) {
			w.finals = append(w.finals, s.name)
		}
		if missing > 0 {
			w.resolved, missing = next, missing+1
			w.dangling = w.dangling || s.link
			continue
		}
		info, err := lstatPath(next)
		if isNotExist(err) {
			w.resolved, w.info, missing = next, nil, 1
			w.dangling = s.link
			w.kernel = w.kernel || kernelDir(next)
			continue
		}
		if err != nil {
			return w, err
		}
		w.kernel = w.kernel || kernelDir(next)
		if info.Mode()&fs.ModeSymlink == 0 || last && !follow {
			w.resolved, w.info = next, info
			continue
		}
		if links++; links > maxLinks {
			return w, &PathError{Path: name, Why: "too many symbolic links; they may form a loop", Err: ErrLinks}
		}
		target, err := readLink(next)
		if err != nil {
			return w, err
		}
		if filepath.IsAbs(target) {
			w.resolved = rootOf(target)
			if w.info, err = lstatPath(w.resolved); err != nil {
				return w, err
			}
			target = target[len(filepath.VolumeName(target)):]
		}
		push(target, true)
	}
	if missing > 0 {
		w.info = nil
	} else {
		w.dangling = false
	}
	return w, nil
}

func onlyDots[T any](steps []T, name func(T) string) bool {
	for _, s := range steps {
		if name(s) != "." {
			return false
		}
	}
	return true
}

func isSeparator(c byte) bool { return c == '/' || c == filepath.Separator }
