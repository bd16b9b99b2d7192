package proc

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// EnvMode is where the environment of a command starts from.
type EnvMode int

const (
	// EnvFiltered is the host's environment without what loads code into every
	// program and without what looks like a secret.
	EnvFiltered EnvMode = iota
	// EnvMinimal is only what programs need to find their way: paths, user,
	// language, the homes of tools.
	EnvMinimal
)

// EnvOptions say what the environment of commands is made of. Patterns are
// names in which a * stands for anything; case does not count. This is hygiene,
// not a wall: a process of the same user can read the host's environment by
// other ways.
type EnvOptions struct {
	Mode EnvMode
	Base []string // "NAME=value"; nil means the environment of this process
	Keep []string // patterns of variables to keep although they would be removed; never those that load code
	Drop []string // patterns of variables to remove as well
	Set  []string // "NAME=value" to add at last, over everything else
	// Roots are directories in which others than the user may write programs, such as
	// the project. What PATH has in them is removed, unless KeepPath is set.
	Roots    []string
	KeepPath bool
}

// Environ builds an environment and returns it beside the names that were
// removed. Nil options mean the zero value. Programs are told that nobody is
// there to answer and no terminal to paint on; HOME, PATH, the caches and
// homes of tools, and the user's Git identity stay.
func Environ(opt *EnvOptions) (env, removed []string) {
	if opt == nil {
		opt = &EnvOptions{}
	}
	base := opt.Base
	if base == nil {
		base = os.Environ()
	}
	vars := newEnvList(len(base) + len(nonInteractive))
	for _, kv := range base {
		name, value, ok := cutVar(kv)
		if !ok {
			continue
		}
		value, keep := opt.filter(name, value)
		if keep {
			vars.set(name, value)
		} else {
			removed = append(removed, name)
		}
	}
	for _, d := range nonInteractive {
		name, value, _ := cutVar(d.kv)
		if !d.onlyUnset || !vars.has(name) {
			vars.set(name, value)
		}
	}
	for _, kv := range opt.Set {
		if name, value, ok := cutVar(kv); ok {
			vars.set(name, value)
		}
	}
	slices.Sort(removed)
	return vars.list, slices.Compact(removed)
}

// filter decides about one variable.
func (o *EnvOptions) filter(name, value string) (string, bool) {
	up := strings.ToUpper(name)
	if matchesAny(codeLoaders, up) || strings.HasPrefix(value, "() {") {
		return "", false // the second is a function that shells take from the environment
	}
	if matchesAny(o.Drop, up) {
		return "", false
	}
	if up == "PATH" && !o.KeepPath {
		value = o.cleanPath(value)
	}
	if matchesAny(o.Keep, up) {
		return value, true
	}
	if o.Mode == EnvMinimal && !matchesAny(minimal, up) {
		return "", false
	}
	return value, !matchesAny(secretNames, up) && !looksSecret(value)
}

// cleanPath removes what is empty, relative, or in a root: there a name could be
// taken by a program that somebody else put there.
func (o *EnvOptions) cleanPath(path string) string {
	var keep []string
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) || inAny(o.Roots, dir) {
			continue
		}
		keep = append(keep, dir)
	}
	return strings.Join(keep, string(os.PathListSeparator))
}

// inAny reports whether dir is in one of the roots, by name or in truth.
func inAny(roots []string, dir string) bool {
	for _, d := range []string{filepath.Clean(dir), resolved(dir)} {
		for _, root := range roots {
			for _, r := range []string{filepath.Clean(root), resolved(root)} {
				if rel, err := filepath.Rel(r, d); err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
					return true
				}
			}
		}
	}
	return false
}

func resolved(dir string) string {
	if r, err := filepath.EvalSymlinks(dir); err == nil {
		return r
	}
	return filepath.Clean(dir)
}

// envList keeps the order of variables and the last value of each.
type envList struct {
	list  []string
	index map[string]int
}

func newEnvList(n int) *envList {
	return &envList{list: make([]string, 0, n), index: make(map[string]int, n)}
}

// key is the name as the system compares it.
func key(name string) string {
	if runtime.GOOS == "windows" {
		return strings.ToUpper(name)
	}
	return name
}

func (l *envList) has(name string) bool {
	_, ok := l.index[key(name)]
	return ok
}

func (l *envList) set(name, value string) {
	if strings.ContainsRune(name, 0) || strings.ContainsRune(value, 0) {
		return // the system would refuse the whole environment
	}
	if i, ok := l.index[key(name)]; ok {
		l.list[i] = name + "=" + value
		return
	}
	l.index[key(name)] = len(l.list)
	l.list = append(l.list, name+"="+value)
}

// cutVar splits "NAME=value". Windows has names that begin with "=".
func cutVar(kv string) (name, value string, ok bool) {
	if kv == "" {
		return "", "", false
	}
	name, value, ok = strings.Cut(kv[1:], "=")
	return kv[:1] + name, value, ok && kv[0] != '=' || ok && runtime.GOOS == "windows"
}

// matchesAny reports whether the upper-case name matches one of the patterns.
func matchesAny(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return wildcard(strings.ToUpper(p), name) })
}

// wildcard matches with * for anything, in time proportional to the product of
// the lengths at worst.
func wildcard(pattern, s string) bool {
	p, i, star, mark := 0, 0, -1, 0
	for i < len(s) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, mark = p, i
			p++
		case p < len(pattern) && pattern[p] == s[i]:
			p++
			i++
		case star >= 0:
			mark++
			p, i = star+1, mark
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}

// looksSecret reports whether a value has the form of a well-known kind of key,
// or is an address with a password in it.
func looksSecret(v string) bool {
	for _, prefix := range keyPrefixes {
		if rest, ok := strings.CutPrefix(v, prefix); ok && len(rest) >= 12 && !strings.ContainsAny(rest, " /:\\") {
			return true
		}
	}
	if strings.Contains(v, "-----BEGIN ") && strings.Contains(v, "PRIVATE KEY") {
		return true
	}
	// A JSON web token: two parts of base64url that begin with {" each.
	if parts := strings.Split(v, "."); len(parts) == 3 && strings.HasPrefix(v, "eyJ") && strings.HasPrefix(parts[1], "eyJ") {
		return true
	}
	for rest := v; ; {
		_, after, ok := strings.Cut(rest, "://")
		if !ok {
			return false
		}
		authority, _, _ := strings.Cut(after, "/")
		if user, _, ok := strings.Cut(authority, "@"); ok {
			if _, pass, ok := strings.Cut(user, ":"); ok && pass != "" {
				return true
			}
		}
		rest = after
	}
}
