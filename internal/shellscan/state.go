package shellscan

import (
	"maps"
	"slices"

	"mvdan.cc/sh/v3/syntax"
)

// A state is what is known about the shell at one point of the text. Branches work on copies; a copy shares the maps until
// one of the two writes.
type state struct {
	dirs  []string         // possible working directories, logical; nil: not known
	prev  []string         // OLDPWD
	vars  map[string]atoms // values that are known; a missing name is unknown
	set   map[string]bool  // names that were assigned; HOME and PWD are known until then
	fixed map[string]bool  // readonly or local: assignments do not do what they say
	funcs map[string]*syntax.Stmt
	home  bool    // HOME was assigned
	cdOff bool    // cd means something else, or CDPATH is set
	ifs   bool    // IFS was assigned
	errex bool    // set -e
	anyFn bool    // functions may be defined that are not known
	fresh bool    // earlier commands may have made files in the working directory
	dead  bool    // not reached
	many  bool    // more variables were assigned than are kept
	args  []atoms // positional parameters, if they are known
	argOK bool
	own   bool // the maps are this state's alone
}

func (s *state) clone() *state {
	c := *s
	c.own, s.own = false, false
	return &c
}

func (s *state) ensure() {
	if !s.own {
		s.vars, s.set, s.fixed, s.funcs = maps.Clone(s.vars), maps.Clone(s.set), maps.Clone(s.fixed), maps.Clone(s.funcs)
		s.own = true
	}
	if s.vars == nil {
		s.vars = map[string]atoms{}
	}
	if s.set == nil {
		s.set = map[string]bool{}
	}
	if s.fixed == nil {
		s.fixed = map[string]bool{}
	}
	if s.funcs == nil {
		s.funcs = map[string]*syntax.Stmt{}
	}
}

// assign records a value; nil: not known.
func (s *state) assign(name string, val atoms) {
	s.ensure()
	if len(s.set) >= maxVars && !s.set[name] {
		s.many, s.home, s.ifs, s.cdOff = true, true, true, true
		delete(s.vars, name)
		return
	}
	s.set[name] = true
	switch name {
	case "IFS":
		s.ifs = true
	case "CDPATH":
		s.cdOff = true
	case "HOME":
		s.home = true
	case "OLDPWD":
		s.prev = nil
	}
	if val == nil || len(val) > maxValue || s.fixed[name] || special[name] || s.dead {
		delete(s.vars, name)
		return
	}
	if old, ok := s.vars[name]; ok && slices.Equal(old, val) {
		return
	}
	s.vars[name] = val
}

// fix makes a name unknown for good: it is readonly, or has attributes that change what is assigned.
func (s *state) fix(name string) {
	s.assign(name, nil)
	s.fixed[name] = true
}

// special lists variables that the shell sets itself or that refuse assignment.
var special = map[string]bool{
	"_": true, "BASH": true, "BASHOPTS": true, "BASHPID": true, "BASH_ALIASES": true, "BASH_ARGC": true, "BASH_ARGV": true, "BASH_ARGV0": true,
	"BASH_CMDS": true, "BASH_COMMAND": true, "BASH_LINENO": true, "BASH_SOURCE": true, "BASH_SUBSHELL": true, "BASH_VERSINFO": true,
	"BASH_VERSION": true, "COMP_WORDBREAKS": true, "DIRSTACK": true, "EPOCHREALTIME": true, "EPOCHSECONDS": true, "EUID": true,
	"FUNCNAME": true, "GROUPS": true, "HISTCMD": true, "LINENO": true, "OLDPWD": true, "PIPESTATUS": true, "PPID": true, "PWD": true,
	"RANDOM": true, "SECONDS": true, "SHELLOPTS": true, "SRANDOM": true, "UID": true, "IFS": true, "REPLY": true, "OPTARG": true, "OPTIND": true,
	"MAPFILE": true, "READLINE_LINE": true, "COPROC": true, "LC_ALL": true, "LANG": true, "LC_CTYPE": true,
}

// forget makes everything unknown that a command which cannot be seen may have changed.
func (s *state) forget() {
	s.ensure()
	s.dirs, s.prev = nil, nil
	clear(s.vars)
	s.home, s.cdOff, s.ifs, s.anyFn, s.fresh = true, true, true, true, true
	s.args, s.argOK = nil, false
}

// setArgs sets the positional parameters. A word that may be several leaves them all unknown.
func (s *state) setArgs(words []Word) {
	s.args, s.argOK = nil, true
	for _, w := range words {
		if w.Multi || w.Glob || len(w.Text) > maxValue {
			s.args, s.argOK = nil, false
			return
		}
		s.args = append(s.args, atoms(nil).quotedText(w.Text))
	}
}

// shift drops the first n positional parameters; a negative n is one that is not known.
func (s *state) shift(n int) {
	switch {
	case n < 0:
		s.args, s.argOK = nil, false
	case n <= len(s.args):
		s.args = s.args[n:]
	}
}

// arg returns a positional parameter.
func (s *state) arg(n int) (atoms, bool) {
	if !s.argOK || n < 1 {
		return nil, false
	}
	if n > len(s.args) {
		return nil, true
	}
	return slices.DeleteFunc(slices.Clone(s.args[n-1]), func(a atom) bool { return a.k == null }), true
}

func sameArgs(a, b *state) bool {
	return a.argOK == b.argOK && slices.EqualFunc(a.args, b.args, func(x, y atoms) bool { return slices.Equal(x, y) })
}

// join returns what holds in both states.
func join(a, b *state) *state {
	switch {
	case a == b:
		return a
	case a.dead:
		return b
	case b.dead:
		return a
	}
	c := a.clone()
	c.ensure()
	c.dirs = union(a.dirs, b.dirs)
	c.prev = union(a.prev, b.prev)
	for name, val := range a.vars {
		if w, ok := b.vars[name]; !ok || !slices.Equal(val, w) {
			delete(c.vars, name)
		}
	}
	for name := range b.set {
		if !a.set[name] {
			c.set[name] = true
			delete(c.vars, name)
		}
	}
	for name := range b.fixed {
		c.fixed[name] = true
		delete(c.vars, name)
	}
	for name, body := range b.funcs {
		if old, ok := c.funcs[name]; ok && old != body || !ok {
			c.anyFn = true
			c.funcs[name] = body
		}
	}
	for name := range a.funcs {
		if _, ok := b.funcs[name]; !ok {
			c.anyFn = true
		}
	}
	c.home, c.cdOff, c.ifs = a.home || b.home, a.cdOff || b.cdOff, a.ifs || b.ifs
	c.errex = a.errex && b.errex
	c.anyFn = c.anyFn || a.anyFn || b.anyFn
	c.fresh = a.fresh || b.fresh
	c.many = a.many || b.many
	if !sameArgs(a, b) {
		c.args, c.argOK = nil, false
	}
	return c
}

// union joins two sets of directories; nil, the unknown, wins, and so does a set that grows too large.
func union(a, b []string) []string {
	if a == nil || b == nil {
		return nil
	}
	out := slices.Clone(a)
	for _, d := range b {
		if !slices.Contains(out, d) {
			out = append(out, d)
		}
	}
	if len(out) > 8 {
		return nil
	}
	return out
}

// same reports whether nothing changed between two states that the body of a loop could notice.
func same(a, b *state) bool {
	return slices.Equal(a.dirs, b.dirs) && slices.Equal(a.prev, b.prev) && len(a.vars) == len(b.vars) && len(a.funcs) == len(b.funcs) &&
		a.home == b.home && a.cdOff == b.cdOff && a.ifs == b.ifs && a.many == b.many && a.anyFn == b.anyFn && a.fresh == b.fresh &&
		sameArgs(a, b) && len(a.set) == len(b.set) && maps.EqualFunc(a.vars, b.vars, func(x, y atoms) bool { return slices.Equal(x, y) })
}
