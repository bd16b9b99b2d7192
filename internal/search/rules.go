package search

import (
	"bufio"
	"errors"
	"io"
	"os"
	"path"
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
				if f, err := w.fs.openPath(path.Join(dirPath, ".git/info/exclude")); err == nil {
					l.Exclude = readRules(f)
				}
			}
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
	defer f.close()
	in, err := f.stat()
	if err != nil || in.kind != kindFile {
		return nil
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
	return ignore.Parse(b[:n])
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
	if err1 != nil || err2 != nil || !os.SameFile(here, there) || isRepository(abs) {
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
			l.Exclude = rulesOutside(filepath.Join(dir, ".git", "info", "exclude"), true)
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
	st, err := os.Lstat(name)
	if err == nil && follow && st.Mode()&os.ModeSymlink != 0 {
		st, err = os.Stat(name)
	}
	if err != nil || !st.Mode().IsRegular() {
		return nil
	}
	f, err := os.OpenFile(name, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil
	}
	defer f.Close()
	if now, err := f.Stat(); err != nil || !os.SameFile(st, now) {
		return nil
	}
	b, err := io.ReadAll(io.LimitReader(f, maxRules))
	if err != nil {
		return nil
	}
	return ignore.Parse(b)
}

// UserExcludes returns the path of the user's ignore file as git would find it
// from the environment: core.excludesFile in the user's configuration, else
// git/ignore in the configuration directory. It reads the environment and the
// configuration, so the host decides whether to call it. "" means there is none.
func UserExcludes() string {
	home, _ := os.UserHomeDir()
	config := os.Getenv("XDG_CONFIG_HOME")
	if config == "" && home != "" {
		config = filepath.Join(home, ".config")
	}
	var files []string
	if config != "" {
		files = append(files, filepath.Join(config, "git", "config"))
	}
	if home != "" {
		files = append(files, filepath.Join(home, ".gitconfig"))
	}
	if g := os.Getenv("GIT_CONFIG_GLOBAL"); g != "" {
		files = []string{g}
	}
	found := ""
	for _, name := range files { // the later file wins
		if v := excludesFile(name); v != "" {
			found = v
		}
	}
	if rest, ok := strings.CutPrefix(found, "~/"); ok {
		found = filepath.Join(home, rest)
	}
	if found == "" && config != "" {
		found = filepath.Join(config, "git", "ignore")
	}
	if _, err := os.Stat(found); err != nil {
		return ""
	}
	return found
}

// excludesFile reads core.excludesFile from a git configuration file. Includes
// of other files are not followed.
func excludesFile(name string) string {
	f, err := os.Open(name)
	if err != nil {
		return ""
	}
	defer f.Close()
	value, core := "", false
	s := bufio.NewScanner(io.LimitReader(f, maxRules))
	for s.Scan() {
		line := strings.TrimSpace(s.Text())
		if strings.HasPrefix(line, "[") {
			core = strings.EqualFold(strings.TrimSpace(strings.Trim(line, "[]")), "core")
			continue
		}
		key, v, ok := strings.Cut(line, "=")
		if ok && core && strings.EqualFold(strings.TrimSpace(key), "excludesfile") {
			value = strings.Trim(strings.TrimSpace(v), `"`)
		}
	}
	if errors.Is(s.Err(), bufio.ErrTooLong) {
		return ""
	}
	return value
}
