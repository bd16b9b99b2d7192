package glob

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Dirs reports whether the pattern ended in a slash and so means directories.
func (p *Pattern) Dirs() bool { return p.dirs }

// Match reports whether the pattern matches path, which is relative to the
// search root, separated by slashes, without a slash at either end.
func (p *Pattern) Match(path string) bool {
	for _, segs := range p.alts {
		if p.match(segs, path) {
			return !p.negated
		}
	}
	return p.negated
}

// match is the usual search for wildcards with one place to return to, for
// whole names: "**" is the wildcard. The leftmost choice for each "**" but the last is as
// good as any.
func (p *Pattern) match(segs []segment, path string) bool {
	if last := &segs[len(segs)-1]; last.kind == segPlain && !p.fold && !strings.HasSuffix(path, last.text) ||
		last.ext != "" && !strings.HasSuffix(path, last.ext) && !strings.HasSuffix(path, last.raw) {
		return false
	}
	i, rest := 0, path
	back, backRest := -1, ""
	for {
		if i < len(segs) && segs[i].kind == segDouble {
			if i++; i == len(segs) {
				return rest != "" // "a/**" is what is in a, not a
			}
			back, backRest = i, rest
			continue
		}
		if rest == "" && i == len(segs) {
			return true
		}
		if rest != "" && i < len(segs) {
			name, tail, _ := strings.Cut(rest, "/")
			if segs[i].match(name, p.fold) {
				i, rest = i+1, tail
				continue
			}
		}
		if back < 0 || backRest == "" {
			return false
		}
		_, backRest, _ = strings.Cut(backRest, "/")
		if backRest == "" {
			return false
		}
		i, rest = back, backRest
	}
}

// Under reports whether the pattern can match anything below the directory dir.
// It may say yes too often.
func (p *Pattern) Under(dir string) bool {
	if p.negated || dir == "" {
		return true
	}
next:
	for _, segs := range p.alts {
		rest := dir
		for i := 0; rest != ""; i++ {
			if i == len(segs) {
				continue next
			}
			if segs[i].kind == segDouble {
				return true
			}
			var name string
			name, rest, _ = strings.Cut(rest, "/")
			if !segs[i].match(name, p.fold) {
				continue next
			}
			if rest == "" && i+1 == len(segs) {
				continue next
			}
		}
		return true
	}
	return false
}

// Base returns the directory that everything the pattern matches lies in, ""
// if that is the search root. A part with brackets counts as a name if exists
// says that the path up to it is there; nil means never.
func (p *Pattern) Base(exists func(path string) bool) string {
	if p.negated || p.fold {
		return ""
	}
	var base []string
	for k, segs := range p.alts {
		var names []string
		for i := 0; i+1 < len(segs); i++ {
			s := &segs[i]
			name := s.text
			if s.kind == segDouble {
				break
			}
			if s.kind == segNames {
				name = s.raw
				path := strings.Join(append(names[:len(names):len(names)], name), "/")
				if strings.ContainsAny(name, "*?") || exists == nil || !exists(path) {
					break
				}
			}
			names = append(names, name)
		}
		if k == 0 {
			base = names
		}
		n := 0
		for n < len(base) && n < len(names) && base[n] == names[n] {
			n++
		}
		base = base[:n]
	}
	return strings.Join(base, "/")
}

// Hidden reports whether the pattern names something that begins with a dot, such as
// ".github/**".
func (p *Pattern) Hidden() bool {
	for _, segs := range p.alts {
		for _, s := range segs {
			if strings.HasPrefix(s.raw, ".") {
				return true
			}
		}
	}
	return false
}

// Ext returns the extension, with its dot, of a pattern that means exactly the
// names that end so at any depth, such as "*.go".
func (p *Pattern) Ext() (exts []string, ok bool) {
	if p.negated || p.fold || p.dirs {
		return nil, false
	}
	for _, segs := range p.alts {
		if len(segs) != 2 || segs[0].kind != segDouble || segs[1].kind != segNames {
			return nil, false
		}
		s := &segs[1]
		if s.toks[0].kind != tokStar || len(s.ext) != len(s.toks)-1 || strings.LastIndexByte(s.ext, '.') != 0 {
			return nil, false
		}
		exts = append(exts, s.ext)
	}
	return exts, true
}

func (s *segment) match(name string, fold bool) bool {
	switch {
	case name == s.raw:
		return true
	case s.kind == segPlain:
		return fold && len(name) <= 3*len(s.text) && strings.EqualFold(name, s.text)
	case s.ext != "" && !strings.HasSuffix(name, s.ext):
		return false
	}
	i, rest := 0, name
	back, backRest := -1, ""
	for {
		if i < len(s.toks) && s.toks[i].kind == tokStar {
			if i++; i == len(s.toks) {
				return true
			}
			back, backRest = i, rest
			continue
		}
		if rest == "" && i == len(s.toks) {
			return true
		}
		if rest != "" && i < len(s.toks) {
			r, n := utf8.DecodeRuneInString(rest)
			if s.toks[i].match(r, fold) {
				i, rest = i+1, rest[n:]
				continue
			}
		}
		if back < 0 || backRest == "" {
			return false
		}
		_, n := utf8.DecodeRuneInString(backRest)
		i, backRest = back, backRest[n:]
		rest = backRest
	}
}

func (t *token) match(r rune, fold bool) bool {
	switch t.kind {
	case tokAny:
		return true
	case tokRune:
		return t.r == r || fold && equalFold(t.r, r)
	}
	in := t.has(r) || fold && (t.has(unicode.ToLower(r)) || t.has(unicode.ToUpper(r)))
	return in != t.negated
}

func (t *token) has(r rune) bool {
	for i := 0; i < len(t.class); i += 2 {
		if t.class[i] <= r && r <= t.class[i+1] {
			return true
		}
	}
	return false
}
