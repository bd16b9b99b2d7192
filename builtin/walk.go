package builtin

import (
	"context"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"strings"
)

// walker goes through the files below a directory, depth first and sorted by
// name. Links are not followed; .git and what .gitignore files exclude is passed over.
type walker struct {
	tree  *tree
	visit func(name string, d fs.DirEntry) error // of files; names are relative, with slashes

	ignoredFiles int // and directories that were passed over
	unreadable   int // directories
	dirs, files  int // that were seen
}

// maxIgnoreFile bounds how much of a .gitignore file is read.
const maxIgnoreFile = 1 << 20

// walk runs until the end, or until ctx or visit say so.
func (w *walker) walk(ctx context.Context, rules []ignoreRule) error { return w.dir(ctx, "", rules) }

func (w *walker) dir(ctx context.Context, name string, rules []ignoreRule) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	at := name
	if at == "" {
		at = "."
	}
	w.dirs++
	list, err := w.tree.entries(at)
	if err != nil {
		w.unreadable++
		if len(list) == 0 {
			return nil
		}
	}
	for _, e := range list {
		if e.Name() == ".gitignore" && e.Type().IsRegular() {
			rules = append(rules[:len(rules):len(rules)], w.tree.ignoreFile(path.Join(name, ".gitignore"), name)...)
		}
	}
	for i, e := range list {
		if i%256 == 255 && ctx.Err() != nil {
			return ctx.Err()
		}
		child := path.Join(name, e.Name())
		if e.Name() == ".git" || strings.HasSuffix(e.Name(), tempSuffix) {
			continue
		}
		if len(rules) > 0 && ignored(rules, child, e.IsDir()) {
			w.ignoredFiles++
			continue
		}
		if e.IsDir() {
			err = w.dir(ctx, child, rules)
		} else {
			w.files++
			err = w.visit(child, e)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// ignoreFile returns the rules of a .gitignore file; none if it cannot be read.
func (t *tree) ignoreFile(name, base string) []ignoreRule {
	file, info, err := t.open(name)
	if err != nil || !info.Mode().IsRegular() {
		return nil
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxIgnoreFile))
	if err != nil {
		return nil
	}
	return parseIgnore(base, string(text))
}

// rulesAbove returns the rules of the .gitignore files between the root and the
// directory l, made to fit a walk that begins at l. If they exclude l itself
// there are none: who names a directory wants to see it.
func (ts *Toolset) rulesAbove(l location) []ignoreRule {
	if !l.inside || l.abs == ts.fsys.dir {
		return nil
	}
	top, err := ts.fsys.resolve(ts.fsys.dir)
	if err != nil {
		return nil
	}
	t, err := ts.fsys.tree(top)
	if err != nil {
		return nil
	}
	defer t.close()
	var rules []ignoreRule
	dir := ""
	for part := range strings.SplitSeq(l.display, "/") {
		rules = append(rules, t.ignoreFile(path.Join(dir, ".gitignore"), dir)...)
		dir = path.Join(dir, part)
		if ignored(rules, dir, true) {
			return nil
		}
	}
	var out []ignoreRule
	for _, r := range rules {
		if r.anchored {
			// Anchored above: the pattern has to be matched from there on.
			r.above = strings.TrimPrefix(strings.TrimPrefix(dir, r.base), "/")
		}
		r.base = ""
		out = append(out, r)
	}
	return out
}

// searchBase resolves the directory or file that a search begins at; "" is the root.
func (ts *Toolset) searchBase(name string) (location, error) {
	if name == "" {
		name = ts.fsys.dir
	}
	return ts.fsys.resolve(name)
}

// shown is how a search names what it found: relative to the root if it is in
// it, else absolute.
func shown(base location, name string) string {
	if base.inside {
		return path.Join(base.display, name)
	}
	return filepath.ToSlash(filepath.Join(base.abs, filepath.FromSlash(name)))
}
