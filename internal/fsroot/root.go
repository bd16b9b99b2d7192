package fsroot

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"
)

// Options configure a Root. The zero value and nil are ready to use.
type Options struct {
	// Secrets are further names of secret files, as path patterns without or with slashes; "!" takes names out again.
	// See [SecretPreset]. Nil adds none.
	Secrets []string
	// Protected are further names of protected files and directories, in the same form: typically the host's own
	// configuration, rules, grants and plugin directories. Nil adds none.
	Protected []string
	// SuggestTime bounds the search for similar names in [Root.Suggest]; 0 means 200 ms.
	SuggestTime time.Duration
}

// A Root is a set of directories that file tools may touch: one main directory and further grants. It is safe for concurrent
// use. Two Roots share nothing.
type Root struct {
	main  *tree
	extra []*tree
	opts  Options
	owned []*tree // what Close closes

	between func(stage string, p *Path) // tests put a race between check and use here
}

// Open resolves dir, which must exist, and holds it open. A nil opts is the zero Options.
func Open(dir string, opts *Options) (*Root, error) {
	r := &Root{}
	if opts != nil {
		r.opts = *opts
		if r.opts.SuggestTime == 0 {
			r.opts.SuggestTime = defaultSuggestTime
		}
	} else {
		r.opts.SuggestTime = defaultSuggestTime
	}
	t, err := newTree(dir)
	if err != nil {
		return nil, err
	}
	if t.exact {
		_ = t.close()
		return nil, &PathError{Path: dir, Why: "the root must be a directory", Err: ErrNotDir}
	}
	r.main = t
	r.owned = []*tree{t}
	return r, nil
}

const defaultSuggestTime = 200 * time.Millisecond

// With returns a Root that grants paths in addition to what r grants: a directory with everything below it, an existing
// file alone, or a missing name with what may come to be there. Kernel files (/proc, /sys, /dev) are reached only by a grant
// of exactly that file. The new Root borrows r's directories: closing it closes only its own, and closing r makes it
// useless. The main directory stays the same.
func (r *Root) With(paths ...string) (*Root, error) {
	n := &Root{main: r.main, opts: r.opts, between: r.between}
	n.extra = append(n.extra, r.extra...)
	for _, p := range paths {
		if !filepath.IsAbs(p) {
			p = filepath.Join(r.main.path, p)
		}
		t, err := newTree(p)
		if err != nil {
			_ = n.Close()
			return nil, err
		}
		n.extra = append(n.extra, t)
		n.owned = append(n.owned, t)
	}
	return n, nil
}

// Close releases the directories that this Root opened itself. Further calls do nothing.
func (r *Root) Close() error {
	var errs []error
	for _, t := range r.owned {
		errs = append(errs, t.close())
	}
	return errors.Join(errs...)
}

// Dir returns the resolved main directory.
func (r *Root) Dir() string { return r.main.path }

// Grants returns the resolved paths of all grants, the main directory first.
func (r *Root) Grants() []string {
	out := []string{r.main.path}
	for _, t := range r.extra {
		out = append(out, t.allow)
	}
	return out
}

// A tree is one grant: an open directory and the part of it that may be touched.
type tree struct {
	path  string // the open directory, resolved
	allow string // path itself, or something below it
	exact bool   // only allow itself, not what is below it

	mu     sync.Mutex
	handle *os.Root
	id     fs.FileInfo
	folds  int8 // 0 unknown, 1 case matters, 2 it does not
	closed bool
}

func newTree(dir string) (*tree, error) {
	if err := CheckName(runtime.GOOS, dir); err != nil {
		return nil, err
	}
	abs, err := absolute(dir)
	if err != nil {
		return nil, explain(dir, err)
	}
	w, err := walk(rootOf(abs), abs, true)
	if err != nil {
		return nil, explain(dir, err)
	}
	t := &tree{path: w.resolved, allow: w.resolved}
	switch {
	case w.info == nil:
		for t.path = filepath.Dir(t.path); ; t.path = filepath.Dir(t.path) {
			if fi, err := lstatPath(t.path); err == nil && fi.IsDir() {
				break
			} else if t.path == filepath.Dir(t.path) {
				return nil, explain(dir, fs.ErrNotExist)
			}
		}
	case !w.info.IsDir():
		t.path, t.exact = filepath.Dir(t.path), true
	case w.kernel:
		return nil, &PathError{Path: dir, Why: "kernel and device directories cannot be granted as a whole", Err: ErrSpecial}
	}
	if w.info == nil && w.kernel {
		return nil, explain(dir, fs.ErrNotExist)
	}
	_, err = t.root()
	if err != nil {
		return nil, err
	}
	return t, nil
}

func (t *tree) close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
	if t.handle == nil {
		return nil
	}
	h := t.handle
	t.handle = nil
	return h.Close()
}

// root returns the open directory. When another directory has taken the place of the one held open, that one is opened:
// a project deleted and checked out again goes on working.
func (t *tree) root() (*os.Root, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return nil, &PathError{Path: t.path, Why: "the toolset was closed", Err: ErrClosed}
	}
	now, err := lstatPath(t.path)
	if err != nil || !now.IsDir() {
		return nil, &PathError{Path: t.path, Why: "the root directory no longer exists; create it again or choose another", Err: ErrRootGone}
	}
	if t.handle != nil && sameFile(now, t.id) {
		return t.handle, nil
	}
	w, err := walk(rootOf(t.path), t.path, true)
	if err != nil || w.resolved != t.path {
		return nil, &PathError{Path: t.path, Why: "the root directory has been replaced by a link", Err: ErrRootGone}
	}
	h, err := openTree(t.path)
	if err != nil {
		return nil, explain(t.path, err)
	}
	id, err := h.Stat(".")
	if err != nil || !sameFile(id, now) {
		_ = h.Close()
		return nil, &PathError{Path: t.path, Why: "the root directory is being replaced; try again", Err: ErrRootGone}
	}
	if t.handle != nil {
		_ = t.handle.Close() // calls under way keep the descriptor alive until they are done
	}
	t.handle, t.id, t.folds = h, id, 0
	return h, nil
}

// insensitive reports whether names in the tree that differ only in case are one file.
func (t *tree) insensitive() bool {
	t.mu.Lock()
	folds := t.folds
	t.mu.Unlock()
	if folds == 0 {
		folds = 1
		if t.probeCase() {
			folds = 2
		}
		t.mu.Lock()
		t.folds = folds
		t.mu.Unlock()
	}
	return folds == 2
}

// probeCase looks for a name with a letter, in the tree or in the path to it, and asks for it in the other case.
func (t *tree) probeCase() bool {
	if h, err := t.root(); err == nil {
		if d, err := h.Open("."); err == nil {
			names, _ := d.Readdirnames(64)
			_ = d.Close()
			for _, n := range names {
				if other := flipCase(n); other != n {
					a, err1 := h.Lstat(n)
					b, err2 := h.Lstat(other)
					if err1 == nil {
						return err2 == nil && sameFile(a, b)
					}
				}
			}
		}
	}
	if other := filepath.Join(filepath.Dir(t.path), flipCase(filepath.Base(t.path))); other != t.path {
		a, err1 := lstatPath(t.path)
		b, err2 := lstatPath(other)
		if err1 == nil {
			return err2 == nil && sameFile(a, b)
		}
	}
	return runtime.GOOS == "windows" || runtime.GOOS == "darwin"
}

func flipCase(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z':
			return r - 'a' + 'A'
		case 'A' <= r && r <= 'Z':
			return r - 'A' + 'a'
		}
		return r
	}, name)
}

// covers returns path relative to the open directory when the grant includes it. It compares whole components, and when
// names do not settle it, the identity of the directories above.
func (t *tree) covers(path string, ancestors func() []ancestor) (rel string, ok bool) {
	if rel, ok = below(t.allow, path); ok {
		if t.exact && rel != "." {
			return "", false
		}
		rel, ok = below(t.path, path)
		return rel, ok
	}
	if t.exact || t.allow != t.path || ancestors == nil {
		return "", false
	}
	t.mu.Lock()
	id := t.id
	t.mu.Unlock()
	for _, a := range ancestors() {
		if sameFile(a.info, id) {
			rel, ok = below(a.path, path)
			return rel, ok
		}
	}
	return "", false
}

// below reports whether path is dir or inside it, by components, and returns it relative to dir.
func below(dir, path string) (string, bool) {
	if path == dir {
		return ".", true
	}
	if strings.HasPrefix(path, dir) {
		rest := path[len(dir):]
		if isSeparator(dir[len(dir)-1]) {
			return rest, true
		}
		if isSeparator(rest[0]) {
			return rest[1:], true
		}
	}
	return "", false
}

type ancestor struct {
	path string
	info fs.FileInfo
}

// ancestorsOf lists the existing directories above path, nearest first, path itself included.
func ancestorsOf(path string) []ancestor {
	var out []ancestor
	for p := path; ; p = filepath.Dir(p) {
		if fi, err := statPath(p); err == nil {
			out = append(out, ancestor{p, fi})
		}
		if p == filepath.Dir(p) {
			return out
		}
	}
}

// rootOf returns the top of the file system that an absolute path is in: "/" or a drive.
func rootOf(abs string) string {
	return filepath.VolumeName(abs) + string(filepath.Separator)
}
