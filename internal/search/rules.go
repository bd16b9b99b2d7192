package search

import (
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/agenttool/tool/internal/search/ignore"
)

// maxRules is the size up to which an ignore file is read.
const maxRules = 1 << 20

// vcs reports whether a name is that of a directory in which a version control
// system keeps its data.
func vcs(name string) bool {
	switch name {
	case ".git", ".hg", ".svn", ".jj":
		return true
	}
	return false
}

// level returns the rules that apply in a directory whose entries, as far as
// they are known, are in w.list. If they are not all there the files are asked
// for by name.
func (w *worker) level(t *task, d *dir, complete bool) *ignore.Level {
	var has [4]bool
	names := [4]string{".git", ".gitignore", ".ignore", ".rgignore"}
	if complete {
		for _, e := range w.list.entries {
			n := w.list.name(e)
			if n[0] != '.' || len(n) < 4 || len(n) > 10 || e.kind == kindLink {
				continue
			}
			for i := range names {
				has[i] = has[i] || string(n) == names[i]
			}
		}
	} else {
		for i, n := range names {
			in, err := w.fs.lstat(d, []byte(n))
			has[i] = err == nil && (in.kind == kindFile || in.kind == kindDir)
		}
	}
	if has == [4]bool{} {
		return t.level
	}
	return w.load(d, t.level, t.start.above, t.path, has)
}

// load reads the ignore files of a directory.
func (w *walk) load(d *dir, parent *ignore.Level, above, dirPath string, has [4]bool) *ignore.Level {
	l := &ignore.Level{Parent: parent, Dir: len(above)}
	if dirPath != "" {
		l.Dir += len(dirPath) + 1
	}
	if has[0] {
		// A ".git" that is no repository does not count, nor does it for git.
		if in, err := w.fs.lstat(d, []byte(".git")); err == nil {
			if in.kind == kindFile {
				l.Repository = true
			} else if _, err := w.fs.lstat(d, []byte(".git/HEAD")); err == nil {
				l.Repository = true
			}
		}
		if l.Repository {
			l.Exclude, l.User = w.repository(dirPath).rules()
		}
	}
	for i, to := range []**ignore.Rules{&l.GitIgnore, &l.Ignore, &l.RgIgnore} {
		if !has[i+1] {
			continue
		}
		f, err := w.fs.open(d, []byte([]string{".gitignore", ".ignore", ".rgignore"}[i]))
		if err == nil {
			*to = readRules(f)
		}
	}
	if !l.Repository && l.GitIgnore == nil && l.Ignore == nil && l.RgIgnore == nil {
		return parent
	}
	return l
}

// readRules reads and closes an ignore file. What cannot be read has no rules.
func readRules(f file) *ignore.Rules {
	b, ok := readSmall(f)
	if !ok {
		return nil
	}
	return ignore.Parse(b)
}

// readSmall reads and closes a file of rules or settings.
func readSmall(f file) (content []byte, ok bool) {
	defer f.close()
	in, err := f.stat()
	if err != nil || in.kind != kindFile {
		return nil, false
	}
	b := make([]byte, min(max(in.size, 0), maxRules)+1)
	n := 0
	for n < len(b) {
		k, err := f.read(b[n:])
		if err != nil || k == 0 {
			break
		}
		n += k
	}
	return b[:n], true
}

// levelAbove returns the rules that apply to the directory p from the
// directories above it, those above the root included.
func (w *walk) levelAbove(p, above string) (*ignore.Level, error) {
	level := w.outer()
	if p == "" {
		return level, nil
	}
	dirs := []string{""}
	for i, c := range p {
		if c == '/' {
			dirs = append(dirs, p[:i])
		}
	}
	for _, dp := range dirs {
		d, err := w.fs.openDir(dp, true)
		if err != nil {
			return level, err
		}
		level = w.load(d, level, above, dp, [4]bool{true, true, true, true})
		d.release()
	}
	return level, nil
}

// outside are the directories above the root that belong to the same
// repository, and the user's own rules. It is computed once per search.
type outside struct {
	known bool
	above string
	level *ignore.Level
	abs   string // where the root is; "" if nothing outside may be read, or it is not known
}

func (w *walk) above() string {
	w.outer()
	return w.outside.above
}

// outer returns the rules from above the root.
func (w *walk) outer() *ignore.Level {
	if w.outside.known {
		return w.outside.level
	}
	w.outside.known = true
	var level *ignore.Level
	if w.opt.ExcludesFile != "" {
		if r := rulesOutside(w.opt.ExcludesFile, true); r != nil {
			level = &ignore.Level{User: r}
		}
	}
	w.outside.level = level
	if w.opt.RootOnly {
		return level
	}
	abs, err := filepath.Abs(w.root.Name())
	if err != nil {
		return level
	}
	// The name may not lead to the root any more.
	here, err1 := w.root.Stat(".")
	there, err2 := os.Stat(abs)
	if err1 != nil || err2 != nil || !os.SameFile(here, there) {
		return level
	}
	w.outside.abs = abs
	if isRepository(abs) {
		return level
	}
	top := abs
	for !isRepository(top) {
		parent := filepath.Dir(top)
		if parent == top {
			return level
		}
		top = parent
	}
	rel, err := filepath.Rel(top, abs)
	if err != nil {
		return level
	}
	rel = filepath.ToSlash(rel)
	w.outside.above = rel + "/"
	dir, done := top, ""
	for part := range strings.SplitSeq(rel, "/") {
		l := &ignore.Level{Parent: level, Dir: len(done), Repository: dir == top}
		if l.Repository {
			l.Exclude, l.User = repository{dir: dir, read: readOutside}.rules()
		}
		l.GitIgnore = rulesOutside(filepath.Join(dir, ".gitignore"), false)
		l.Ignore = rulesOutside(filepath.Join(dir, ".ignore"), false)
		l.RgIgnore = rulesOutside(filepath.Join(dir, ".rgignore"), false)
		level = l
		dir = filepath.Join(dir, part)
		done += part + "/"
	}
	w.outside.level = level
	return level
}

func isRepository(dir string) bool {
	st, err := os.Lstat(filepath.Join(dir, ".git"))
	if err != nil {
		return false
	}
	if st.Mode().IsRegular() {
		return true
	}
	_, err = os.Lstat(filepath.Join(dir, ".git", "HEAD"))
	return st.IsDir() && err == nil
}

// rulesOutside reads an ignore file by its path.
func rulesOutside(name string, follow bool) *ignore.Rules {
	if b, ok := readFile(name, follow); ok {
		return ignore.Parse(b)
	}
	return nil
}

func readOutside(name string) ([]byte, bool) { return readFile(name, true) }

func readFile(name string, follow bool) (content []byte, ok bool) {
	st, err := os.Lstat(name)
	if err == nil && follow && st.Mode()&os.ModeSymlink != 0 {
		st, err = os.Stat(name)
	}
	if err != nil || !st.Mode().IsRegular() {
		return nil, false
	}
	f, err := os.OpenFile(name, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, false
	}
	defer f.Close()
	if now, err := f.Stat(); err != nil || !os.SameFile(st, now) {
		return nil, false
	}
	b, err := io.ReadAll(io.LimitReader(f, maxRules))
	return b, err == nil
}
