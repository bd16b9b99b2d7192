// Package ignore reads ignore files and matches paths against them exactly as
// git does (gitignore(5) and what git does where the manual is silent).
//
// [Parse] reads one file. [Level] chains the files of nested directories and
// answers for a path. Rules are hashed: plain names, extensions and anchored
// plain paths cost a map look-up however many there are, and the remaining
// patterns run, in time linear in the path, only when their literal parts agree.
package ignore

import (
	"bytes"
	"strings"
)

// A Verdict is what rules say about a path.
type Verdict uint8

const (
	None     Verdict = iota // no rule matches
	Ignored                 // the last matching rule excludes the path
	Included                // the last matching rule begins with "!"
)

// slot holds, for one key, the highest numbers of the rules that apply to
// anything and to directories only, plus one.
type slot struct{ any, dir int32 }

func (s *slot) set(rule int32, dirOnly bool) {
	if dirOnly {
		s.dir = max(s.dir, rule+1)
	} else {
		s.any = max(s.any, rule+1)
	}
}

func (s slot) best(isDir bool) int32 {
	if isDir {
		return max(s.any, s.dir)
	}
	return s.any
}

// affix is a rule "*suffix" or "prefix*" for names.
type affix struct {
	text string
	slot slot
}

// complexRule is a rule that needs a matcher.
type complexRule struct {
	rule     int32
	dirOnly  bool
	base     bool // match the name, not the path
	pre, suf string
	pat      pattern
}

// Rules are the rules of one ignore file. They are immutable.
type Rules struct {
	negated  []bool
	names    map[string]slot // "name"
	exts     map[string]slot // "*.ext", by "ext"
	paths    map[string]slot // "/a/b"
	suffixes []affix
	prefixes []affix
	complex  []complexRule // in order
}

// Len is the number of rules.
func (r *Rules) Len() int { return len(r.negated) }

// Parse reads an ignore file. Nothing in it is an error: git takes a malformed
// pattern as one that never matches. Nil is returned if there are no rules.
func Parse(data []byte) *Rules {
	r := &Rules{}
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	for len(data) > 0 {
		var line []byte
		line, data, _ = bytes.Cut(data, []byte("\n"))
		line = bytes.TrimSuffix(line, []byte("\r"))
		if nul := bytes.IndexByte(line, 0); nul >= 0 {
			line = line[:nul]
		}
		if len(line) > 0 && line[0] != '#' {
			r.add(string(trimBlanks(line)))
		}
	}
	if r.Len() == 0 {
		return nil
	}
	return r
}

// trimBlanks cuts trailing blanks, but not an escaped one.
func trimBlanks(s []byte) []byte {
	end := 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case ' ':
			continue
		case '\\':
			i++
		}
		end = min(i+1, len(s))
	}
	return s[:end]
}

func (r *Rules) add(p string) {
	negated := strings.HasPrefix(p, "!")
	if negated {
		p = p[1:]
	}
	// git looks for wildcards before it cuts the final slash, which matters to
	// nothing but a pattern that ends in an escaped one.
	p, dirOnly := strings.CutSuffix(p, "/")
	if p == "" {
		return
	}
	id := int32(len(r.negated))
	r.negated = append(r.negated, negated)
	plain := literalPrefix(p)
	if !strings.Contains(p, "/") {
		r.addName(p, plain, id, dirOnly)
		return
	}
	if rest, ok := strings.CutPrefix(p, "**/"); ok && !strings.Contains(rest, "/") && rest != "" && !strings.Contains(rest, "**") {
		r.addName(rest, literalPrefix(rest), id, dirOnly)
		return
	}
	if p[0] == '/' {
		p = p[1:]
		plain = max(plain-1, 0)
	}
	if plain == len(p) {
		put(&r.paths, p, id, dirOnly)
		return
	}
	// The literal beginning is compared first and then forgotten, so that
	// "foo**/x" means "foo" and then "**/x".
	pat := compile(p[plain:], true)
	r.complex = append(r.complex, complexRule{
		rule: id, dirOnly: dirOnly, pre: p[:plain], suf: pat.suffix(), pat: pat,
	})
}

func (r *Rules) addName(p string, plain int, id int32, dirOnly bool) {
	switch {
	case plain == len(p):
		put(&r.names, p, id, dirOnly)
	case p[0] == '*' && literalPrefix(p[1:]) == len(p)-1:
		if ext, ok := strings.CutPrefix(p, "*."); ok && !strings.Contains(ext, ".") {
			put(&r.exts, ext, id, dirOnly)
			return
		}
		a := affix{text: p[1:]}
		a.slot.set(id, dirOnly)
		r.suffixes = append(r.suffixes, a)
	case plain == len(p)-1 && p[plain] == '*':
		a := affix{text: p[:plain]}
		a.slot.set(id, dirOnly)
		r.prefixes = append(r.prefixes, a)
	default:
		pat := compile(p, false)
		r.complex = append(r.complex, complexRule{
			rule: id, dirOnly: dirOnly, base: true, pre: pat.prefix(), suf: pat.suffix(), pat: pat,
		})
	}
}

func put(m *map[string]slot, key string, id int32, dirOnly bool) {
	if *m == nil {
		*m = map[string]slot{}
	}
	s := (*m)[key]
	s.set(id, dirOnly)
	(*m)[key] = s
}

// literalPrefix is the length of the beginning of p without special characters.
func literalPrefix(p string) int {
	if i := strings.IndexAny(p, `*?[\`); i >= 0 {
		return i
	}
	return len(p)
}

// Match returns the verdict of the last rule that matches path, which is
// relative to the directory of the ignore file, separated by slashes, without a
// slash at either end. Nil rules say None. Whether a directory above path is
// ignored is the caller's business.
func (r *Rules) Match(path []byte, isDir bool) Verdict {
	if r == nil {
		return None
	}
	name := path[bytes.LastIndexByte(path, '/')+1:]
	best := int32(0)
	if r.names != nil {
		best = max(best, r.names[string(name)].best(isDir))
	}
	if r.exts != nil {
		if dot := bytes.LastIndexByte(name, '.'); dot >= 0 {
			best = max(best, r.exts[string(name[dot+1:])].best(isDir))
		}
	}
	if r.paths != nil {
		best = max(best, r.paths[string(path)].best(isDir))
	}
	for i := range r.suffixes {
		a := &r.suffixes[i]
		if len(name) >= len(a.text) && string(name[len(name)-len(a.text):]) == a.text {
			best = max(best, a.slot.best(isDir))
		}
	}
	for i := range r.prefixes {
		a := &r.prefixes[i]
		if len(name) >= len(a.text) && string(name[:len(a.text)]) == a.text {
			best = max(best, a.slot.best(isDir))
		}
	}
	for i := len(r.complex) - 1; i >= 0 && r.complex[i].rule >= best; i-- {
		if r.complex[i].match(path, name, isDir) {
			best = r.complex[i].rule + 1
			break
		}
	}
	switch {
	case best == 0:
		return None
	case r.negated[best-1]:
		return Included
	}
	return Ignored
}

func (c *complexRule) match(path, name []byte, isDir bool) bool {
	if c.dirOnly && !isDir {
		return false
	}
	s := path
	if c.base {
		s = name
	}
	if len(s) < len(c.pre) || string(s[:len(c.pre)]) != c.pre {
		return false
	}
	if len(s) < len(c.suf) || string(s[len(s)-len(c.suf):]) != c.suf {
		return false
	}
	if !c.base {
		s = s[len(c.pre):]
	}
	return c.pat.match(s)
}
