package shellscan

import (
	"cmp"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// globbed returns the directory that a pattern looks in and, when that can be listed, the names it would find.
func (v *visitor) globbed(w Word, st *state) (dir string, names []string) {
	parts := strings.Split(w.pat, "/")
	n := slices.IndexFunc(parts, func(s string) bool { return patternHas(s) })
	if n < 0 {
		return w.Text, nil
	}
	dir = unescape(strings.Join(parts[:n], "/"))
	if dir == "" {
		dir = "."
		if n > 0 {
			dir = "/"
		}
	}
	for _, p := range parts[n:] {
		if p == ".." {
			return "", nil
		}
	}
	lister, ok := v.s.opts.Lookup.(DirLookup)
	if !ok || st.fresh || w.listed || st.dirs == nil && dir[0] != '/' {
		return dir, nil
	}
	bases := st.dirs
	if dir[0] == '/' {
		bases = []string{"/"}
	}
	for _, base := range bases {
		for _, name := range v.listGlob(lister, base, dir, parts[n]) {
			if len(parts) == n+1 {
				names = append(names, name)
			} else if res := v.fs.resolve(base, path.Join(dir, name), true); res.ok && !v.fs.inside(res.path) {
				names = append(names, path.Join(name, strings.Join(parts[n+1:], "/")))
			}
		}
	}
	return dir, names
}

const maxNames = 512

// found records the names that a pattern finds, or what they look like when they cannot be listed.
func (v *visitor) found(f *FileUse, w Word, st *state) {
	lister, ok := v.s.opts.Lookup.(DirLookup)
	bases := st.dirs
	if strings.HasPrefix(w.pat, "/") {
		bases = []string{"/"}
	}
	ok = ok && !st.fresh && !w.listed && bases != nil && !strings.Contains(w.pat, "**")
	for _, base := range bases {
		if !ok {
			break
		}
		var names []string
		names, ok = v.expandGlob(lister, base, "", strings.Split(w.pat, "/"), nil)
		for _, n := range names {
			if res := v.fs.resolve(base, n, true); res.ok {
				f.also = append(f.also, v.fs.rel(res.path))
			}
		}
	}
	if ok || w.listed && f.Mode&Write == 0 { // reading what a command lists is reading below a directory
		return
	}
	pattern := path.Clean(globUnknown(w))
	f.maybe = pattern
	for _, base := range bases {
		if res := v.fs.resolve(base, ".", true); res.ok && !strings.HasPrefix(pattern, "/") {
			if f.maybe = v.fs.rel(path.Join(res.path, pattern)); w.listed {
				f.maybe = path.Join(path.Dir(f.maybe), string(Unknown), path.Base(f.maybe))
			}
		}
	}
}

// throughLinks looks below a directory for what a command that lists its files would hand on to be written: links that lead
// outside, and files that are protected. Where there is too much to look through, it is not known what is written.
func (v *visitor) throughLinks(f *FileUse, w Word, st *state) {
	lister, ok := v.s.opts.Lookup.(DirLookup)
	parts := strings.Split(w.pat, "/")
	n := slices.IndexFunc(parts, patternHas)
	if !ok || n < 0 {
		return
	}
	bases := st.dirs
	dir := unescape(strings.Join(parts[:n], "/"))
	if strings.HasPrefix(w.pat, "/") {
		bases, dir = []string{"/"}, "/"+dir
	}
	pattern := shellPattern(parts[len(parts)-1])
	levels := len(parts) - n
	if w.listed {
		levels = maxLevels
	}
	var walk func(dir string, levels int) bool
	walk = func(dir string, levels int) bool {
		names, err := lister.Names(dir, maxLookups)
		if v.fs.lookups++; err != nil {
			return errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission)
		}
		for _, name := range names {
			e := v.fs.stat(path.Join(dir, name))
			if e.err {
				return false
			}
			if e.mode.IsDir() && levels > 1 && !walk(path.Join(dir, name), levels-1) {
				return false
			}
			if hit, err := path.Match(pattern, name); !hit && err == nil {
				continue
			}
			rel := v.fs.rel(path.Join(dir, name))
			f.Protected = f.Protected || !e.mode.IsDir() && v.s.opts.protected(strings.TrimPrefix(rel, "/"))
			if e.mode&fs.ModeSymlink == 0 {
				continue
			}
			if res := v.fs.resolve(dir, name, true); !res.ok {
				return false
			} else if !v.fs.inside(res.path) {
				v.place(f, res, use{mode: f.Mode})
			}
		}
		return true
	}
	for _, b := range bases {
		res := v.fs.resolve(b, cmp.Or(dir, "."), true)
		if !res.ok || v.fs.inside(res.path) && !walk(res.path, levels) {
			f.Unknown = true
		}
	}
}

// expandGlob returns the names that a pattern finds below base, at most maxNames; false if there may be more.
func (v *visitor) expandGlob(lister DirLookup, base, prefix string, parts, names []string) ([]string, bool) {
	for i, p := range parts {
		if !patternHas(p) {
			prefix += unescape(p)
			if i < len(parts)-1 {
				prefix += "/"
			}
			continue
		}
		res := v.fs.resolve(base, cmp.Or(prefix, "."), true)
		if !res.ok || !v.fs.inside(res.path) {
			return names, res.ok
		}
		all, err := lister.Names(res.path, 4*maxNames)
		if v.fs.lookups++; err != nil || v.fs.lookups > maxLookups {
			return names, errors.Is(err, fs.ErrNotExist)
		}
		for _, n := range all {
			if strings.HasPrefix(n, ".") && !strings.HasPrefix(p, ".") {
				continue
			}
			if hit, err := path.Match(shellPattern(p), n); !hit && err == nil {
				continue
			}
			if i == len(parts)-1 {
				names = append(names, prefix+n)
			} else if e := v.fs.resolve(base, prefix+n, true); e.ok && e.dir {
				var ok bool
				if names, ok = v.expandGlob(lister, base, prefix+n+"/", parts[i+1:], names); !ok {
					return names, false
				}
			}
			if len(names) > maxNames {
				return names, false
			}
		}
		return names, true
	}
	return append(names, prefix), true
}

func (v *visitor) listGlob(lister DirLookup, base, dir, pattern string) []string {
	res := v.fs.resolve(base, dir, true)
	if !res.ok || !v.fs.inside(res.path) {
		return nil
	}
	if v.fs.lookups++; v.fs.lookups > maxLookups {
		return nil
	}
	all, err := lister.Names(res.path, 4*maxNames)
	if err != nil {
		return nil
	}
	var out []string
	for _, name := range all {
		if strings.HasPrefix(name, ".") && !strings.HasPrefix(pattern, ".") {
			continue
		}
		if ok, err := path.Match(shellPattern(pattern), name); (ok || err != nil) && len(out) < maxNames {
			out = append(out, name)
		}
	}
	return out
}

// shellPattern turns a shell pattern into one of path.Match.
func shellPattern(p string) string { return strings.ReplaceAll(p, "[!", "[^") }

func patternHas(s string) bool {
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '*', '?', '[':
			return true
		}
	}
	return false
}

func unescape(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) {
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// globSecret reports whether a pattern may find a file with secrets, judged by typical names.
func (v *visitor) globSecret(w Word) bool {
	base := w.pat[strings.LastIndexByte(w.pat, '/')+1:]
	if !patternHas(base) {
		return v.s.opts.secret(unescape(base))
	}
	if strings.Trim(base, "*?") == "" {
		return false
	}
	samples := []string{"prod.env", "config.env", "id_rsa", "server.pem", "private.key", "credentials", "x.tfvars"}
	if c := base[0]; c == '.' || c == '[' {
		samples = append(samples, ".env", ".env.local", ".env.production", ".envrc", ".env-x", ".npmrc", ".netrc")
	}
	for _, s := range samples {
		if !v.s.opts.secret(s) {
			continue
		}
		if ok, err := path.Match(shellPattern(base), s); ok && err == nil && sharesLetters(base, s) {
			return true
		}
	}
	return false
}

// globProtected reports whether a pattern may find a protected file or directory, judged by typical names.
func (v *visitor) globProtected(w Word) bool {
	base := w.pat[strings.LastIndexByte(w.pat, '/')+1:]
	if base == "" || base[0] != '.' && base[0] != '[' {
		return false
	}
	return slices.ContainsFunc([]string{".git", ".gitattributes", ".gitmodules", ".husky", ".vscode", ".idea", ".devcontainer", ".github", ".bashrc", ".envrc"}, func(s string) bool {
		ok, err := path.Match(shellPattern(base), s)
		return ok && err == nil
	})
}

// sharesLetters keeps patterns that are mostly stars, such as *.* or [a-z]*, from counting as secret.
func sharesLetters(pattern, name string) bool {
	n := 0
	for _, r := range pattern {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '.' && name[0] == '.' {
			n++
		}
	}
	return n > 0 && !strings.HasPrefix(pattern, "[") || strings.HasPrefix(pattern, "[.]")
}
