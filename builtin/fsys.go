package builtin

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/agenttool/tool/internal/fsroot"
	"github.com/agenttool/tool/internal/textfile"
)

// fsys is how the tools reach the file system: what names lead to is found out by
// package fsroot, which also opens what is inside. What is outside is opened
// through a grant that lasts as long as one plan; see reach. No other file of
// this package opens anything by name.
type fsys struct {
	base  *fsroot.Root // the project directory
	root  *fsroot.Root // the same and the spill store; base itself if there is none
	dir   string       // resolved
	spill string       // resolved; "" if there is none
	names nameRules
}

func openFS(dir, spill string, secrets, protected []string) (*fsys, error) {
	if dir == "" {
		return nil, errors.New("builtin: Config.Root is empty")
	}
	for _, list := range [][]string{secrets, protected} {
		for _, p := range list {
			if _, err := path.Match(strings.TrimPrefix(p, "!"), "x"); err != nil || p == "" {
				return nil, fmt.Errorf("builtin: Config.Secrets, Config.Protected: %q is not a pattern", p)
			}
		}
	}
	base, err := fsroot.Open(dir, &fsroot.Options{Secrets: withDirs(secrets), Protected: withDirs(protected)})
	if err != nil {
		return nil, fmt.Errorf("builtin: root: %w", err)
	}
	// fsroot.Open takes the nearest directory above one that does not exist.
	if abs, err := filepath.Abs(dir); err != nil {
		_ = base.Close()
		return nil, fmt.Errorf("builtin: root: %w", err)
	} else if p, err := base.ResolveIn(base.Dir(), abs, true); err != nil || p.Resolved != base.Dir() {
		_ = base.Close()
		return nil, fmt.Errorf("builtin: root: %s: %w", dir, fs.ErrNotExist)
	}
	f := &fsys{base: base, root: base, dir: base.Dir(), names: nameRules{base, len(secrets) > 0}}
	if spill == "" {
		return f, nil
	}
	if spill, err = filepath.Abs(spill); err == nil {
		f.root, err = base.With(spill)
	}
	if err != nil {
		_ = base.Close()
		return nil, fmt.Errorf("builtin: spill directory: %w", err)
	}
	grants := f.root.Grants()
	f.spill = grants[len(grants)-1]
	return f, nil
}

// withDirs lets patterns without a slash also name directories of the project,
// with everything in them.
func withDirs(patterns []string) []string {
	var out []string
	for _, p := range patterns {
		if out = append(out, p); !strings.Contains(p, "/") {
			out = append(out, p+"/**")
		}
	}
	return out
}

func (f *fsys) close() error {
	if f.root == f.base {
		return f.base.Close()
	}
	return errors.Join(f.root.Close(), f.base.Close())
}

// location is what a name led to.
type location struct {
	*fsroot.Path
	given   string // as the caller wrote it
	abs     string // absolute, links followed; a part that does not exist is kept as written
	display string // with slashes; relative to the root if inside
	inside  bool   // of the root
	spill   bool   // inside the spill store: free to read
	info    fs.FileInfo

	secret    bool // the file's name, as given or resolved, is that of a secret
	protected bool // changing it could make other programs run something
}

func (l location) exists() bool { return l.info != nil }
func (l location) isDir() bool  { return l.info != nil && l.info.IsDir() }

// scope returns what has to be granted for a location outside: a directory, or
// a file alone where the kernel makes the files up.
func (l location) scope() string {
	if l.Kernel {
		return l.abs
	}
	return l.Dir()
}

// resolve says where name leads. A name that does not exist is no error; one
// that cannot exist, because a file stands where a directory is needed, is.
func (f *fsys) resolve(name string) (location, error) { return f.resolveFrom(f.dir, name) }

// resolveFrom is resolve for names relative to dir, which is absolute.
func (f *fsys) resolveFrom(dir, name string) (location, error) {
	p, err := f.root.ResolveIn(dir, name, true)
	if err != nil {
		return location{}, err
	}
	return f.located(p)
}

// resolveLink is resolve for a name whose last link, if it is one, is meant itself.
func (f *fsys) resolveLink(name string) (location, error) {
	p, err := f.root.ResolveLink(name)
	if err != nil {
		return location{}, err
	}
	return f.located(p)
}

func (f *fsys) located(p *fsroot.Path) (location, error) {
	l := location{
		Path: p, given: p.Given, abs: p.Resolved, display: p.Display, info: p.Info,
		inside: within(f.dir, p.Resolved), spill: f.spill != "" && within(f.spill, p.Resolved),
		secret: p.Secret, protected: p.Protected,
	}
	l.inside = l.inside && p.Inside
	l.protected = l.protected || l.spill
	if p.Kernel && (l.info == nil || !l.info.Mode().IsRegular()) {
		return location{}, &fsroot.PathError{Path: p.Given, Why: "is in a directory of the kernel or of devices; use bash if you need it", Err: fsroot.ErrSpecial}
	}
	return l, nil
}

// reach returns the path of l as it can be opened: as it is inside, else under a
// grant of its own, which done ends. It asks nobody.
func (f *fsys) reach(l location) (p *fsroot.Path, done func(), err error) {
	if l.Inside {
		return l.Path, func() {}, nil
	}
	r, err := f.root.With(l.scope())
	if err != nil {
		return nil, nil, err
	}
	if l.Link {
		p, err = r.ResolveLink(l.given)
	} else {
		p, err = r.Resolve(l.abs)
	}
	if err == nil && (p.Resolved != l.abs || !p.Inside) {
		err = &fsroot.PathError{Path: l.given, Why: "it came to mean another file meanwhile; try again", Err: fsroot.ErrChanged}
	}
	if err != nil {
		_ = r.Close()
		return nil, nil, err
	}
	q := *p // messages name the file as the caller did
	q.Given = l.given
	return &q, func() { _ = r.Close() }, nil
}

// anchor opens the directory from which a search for l goes down: the project for
// what is inside, so that its ignore rules hold, else the directory that has to be
// granted. rel is l's name below it.
func (f *fsys) anchor(l location) (root *os.Root, rel string, done func(), err error) {
	dir := f.dir
	if !l.inside {
		dir = l.Dir()
	}
	at, err := f.resolve(dir)
	if err != nil {
		return nil, "", nil, err
	}
	p, release, err := f.reach(at)
	if err != nil {
		return nil, "", nil, err
	}
	defer release()
	if rel, err = filepath.Rel(at.abs, l.abs); err != nil {
		return nil, "", nil, err
	}
	if root, err = f.root.OpenRoot(p); err != nil {
		return nil, "", nil, err
	}
	return root, rel, func() { _ = root.Close() }, nil
}

// tree opens the directory l for a walk.
func (f *fsys) tree(l location) (*tree, error) {
	if !l.isDir() {
		return nil, fmt.Errorf("%s is not a directory", l.given)
	}
	p, done, err := f.reach(l)
	if err != nil {
		return nil, err
	}
	defer done()
	sub, err := f.root.OpenRoot(p)
	if err != nil {
		return nil, err
	}
	return &tree{sub}, nil
}

// tree is an open directory. Names are relative to it, and nothing outside of it
// can be reached.
type tree struct{ root *os.Root }

func (t *tree) close() { t.root.Close() }

// open opens a regular file or directory; links in the tree that lead out of it
// fail, and nothing is waited for.
func (t *tree) open(name string) (*os.File, fs.FileInfo, error) {
	name = filepath.FromSlash(name)
	info, err := t.root.Stat(name)
	if err == nil {
		err = checkKind(name, info.Mode())
	}
	if err != nil {
		return nil, nil, err
	}
	file, err := t.root.OpenFile(name, os.O_RDONLY|openFlags, 0)
	if err != nil {
		return nil, nil, err
	}
	if info, err = file.Stat(); err == nil {
		err = checkKind(name, info.Mode())
	}
	if err != nil {
		file.Close()
		return nil, nil, err
	}
	return file, info, nil
}

func (t *tree) lstat(name string) (fs.FileInfo, error) {
	return t.root.Lstat(filepath.FromSlash(name))
}

func (t *tree) readlink(name string) (string, error) {
	return t.root.Readlink(filepath.FromSlash(name))
}

// tempSuffix ends the names of files that are being written; searches skip them.
const tempSuffix = textfile.TempSuffix

// checkKind refuses what cannot be read like a file.
func checkKind(name string, mode fs.FileMode) error {
	if mode.IsDir() {
		return nil
	}
	return fsroot.CheckRegular(name, mode)
}

// nameRules say which names are secret.
type nameRules struct {
	root *fsroot.Root
	host bool // the host has patterns of its own, which only the root knows
}

// secret reports whether the slash-separated path names a file whose content
// needs a permission of its own.
func (n nameRules) secret(name string) bool {
	if fsroot.IsSecretName(path.Base(name)) {
		return true
	}
	if !n.host {
		return false
	}
	p, err := n.root.Resolve(name)
	return err == nil && p.Secret
}

// protected reports whether changing a file of this name could make other
// programs run something. The host's own names only the root knows.
func (n nameRules) protected(name string) bool { return fsroot.IsProtectedPath(name) }

// display is how an absolute path is shown.
func (ts *Toolset) display(abs string) string {
	if within(ts.fsys.dir, abs) {
		return ts.fsys.rel(abs)
	}
	return filepath.ToSlash(abs)
}

// rel returns a path inside the root as it is shown.
func (f *fsys) rel(abs string) string {
	r, err := filepath.Rel(f.dir, abs)
	if err != nil {
		return filepath.ToSlash(abs)
	}
	return filepath.ToSlash(r)
}

// within reports whether the resolved path p is dir or below it.
func within(dir, p string) bool {
	if runtime.GOOS == "windows" {
		r, err := filepath.Rel(dir, p)
		return err == nil && (r == "." || filepath.IsLocal(r))
	}
	return p == dir || strings.HasPrefix(p, strings.TrimSuffix(dir, "/")+"/")
}

// plainError drops the operation and the path from an error of the os package:
// the message names the file already, as the model knows it.
func plainError(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	var le *os.LinkError
	if errors.As(err, &le) {
		return le.Err
	}
	return err
}
