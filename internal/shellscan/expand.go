package shellscan

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

type wordMode int

const (
	argWord    wordMode = iota // an argument: everything happens
	assignWord                 // the value of an assignment: no braces, no splitting
	testWord                   // an operand of [[ or case: no braces, no splitting
)

// args expands the words of a command.
func (v *visitor) args(words []*syntax.Word, st *state) []Word {
	out := make([]Word, 0, len(words))
	for _, w := range words {
		for _, a := range v.expand(w, st, argWord) {
			out = append(out, a.word())
		}
	}
	return out
}

// word expands a word that yields one value.
func (v *visitor) word(w *syntax.Word, st *state) Word {
	if w == nil {
		return Word{}
	}
	return v.expand(w, st, testWord)[0].word()
}

// expand evaluates a word and visits what is inside it.
func (v *visitor) expand(w *syntax.Word, st *state, mode wordMode) []atoms {
	if len(w.Parts) == 1 {
		if l, ok := w.Parts[0].(*syntax.Lit); ok && !strings.ContainsAny(l.Value, "\\{~") {
			return []atoms{atoms(nil).text(plain, l.Value)}
		}
	}
	if mode == argWord && st.argOK {
		if list, ok := allArgs(w, st); ok {
			return list
		}
	}
	a := v.parts(nil, w.Parts, st, mode, false)
	if mode != argWord {
		return []atoms{v.tilde(a, st, mode)}
	}
	list := []atoms{a}
	if slices.Contains(a, atom{'{', plain}) {
		var ok bool
		if list, ok = braces(a); !ok {
			v.opaque("a brace expansion that is too large or has unusual bounds")
			return []atoms{{{UnknownWords, unknowns}}}
		}
	}
	out := list[:0:0]
	for _, a := range list {
		if len(a) == 0 {
			continue // what is empty without quotes is no word
		}
		out = append(out, v.tilde(a, st, mode))
	}
	return out
}

// allArgs expands a word that is "$@", or $@ without quotes, to the positional parameters.
func allArgs(w *syntax.Word, st *state) ([]atoms, bool) {
	parts, inQuotes := w.Parts, false
	if len(parts) == 1 {
		if q, ok := parts[0].(*syntax.DblQuoted); ok && !q.Dollar {
			parts, inQuotes = q.Parts, true
		}
	}
	if len(parts) != 1 {
		return nil, false
	}
	p, ok := parts[0].(*syntax.ParamExp)
	if !ok || !simpleParam(p) || p.Param.Value != "@" && (inQuotes || p.Param.Value != "*") {
		return nil, false
	}
	if inQuotes {
		return slices.Clone(st.args), true
	}
	var list []atoms
	for _, a := range st.args {
		if st.ifs || slices.ContainsFunc(a, func(at atom) bool {
			return at.k != null && strings.ContainsRune(splitting, at.r) || at.k == unknown || at.k == unknowns
		}) {
			return nil, false
		}
		if !slices.Contains(a, atom{0, null}) {
			list = append(list, a)
		}
	}
	return list, true
}

// splitting are the characters that make a value without quotes several words, or a pattern.
const splitting = " \t\n*?[\\"

// parts appends the atoms of word parts.
func (v *visitor) parts(a atoms, parts []syntax.WordPart, st *state, mode wordMode, inQuotes bool) atoms {
	for _, p := range parts {
		switch p := p.(type) {
		case *syntax.Lit:
			switch {
			case v.bquote > 0 && strings.Contains(p.Value, `\`):
				a = append(a, atom{Unknown, unknown}) // backquotes remove backslashes of their own
			case inQuotes:
				a = a.doubleQuoted(p.Value, dquoteSpecial)
			default:
				a = a.unquoted(p.Value)
			}
		case *syntax.SglQuoted:
			switch {
			case v.bquote > 0 && strings.Contains(p.Value, `\`):
				a = append(a, atom{Unknown, unknown})
			case p.Dollar:
				s, ok := ansiC(p.Value)
				if !ok || gate(s) != "" {
					a = append(a, atom{Unknown, unknown})
					break
				}
				a = a.quotedText(s)
			default:
				a = a.quotedText(p.Value)
			}
		case *syntax.DblQuoted:
			n := len(a)
			if a = v.parts(a, p.Parts, st, mode, true); len(a) == n {
				a = append(a, atom{0, null})
			}
			if p.Dollar {
				a = append(a[:n], atom{Unknown, unknown}) // translated
			}
		case *syntax.ParamExp:
			a = v.param(a, p, st, mode, inQuotes)
		case *syntax.CmdSubst:
			if p.TempFile || p.ReplyVar {
				v.opaque("a command substitution that runs in this shell")
			}
			a = append(a, v.subst(p, st, mode, inQuotes)...)
		case *syntax.ProcSubst:
			if len(parts) != 1 || inQuotes || p.Op == syntax.CmdInTemp {
				v.opaque("a process substitution inside a word")
			}
			v.sub(p.Stmts, st)
			a = a.text(quoted, "/dev/fd/")
			a = append(a, atom{Unknown, unknown})
		case *syntax.ArithmExp:
			if decimalArithm.MatchString(v.source(p)) {
				a = append(a, atom{Unknown, unknown})
				break
			}
			v.opaque("arithmetic")
			v.arithm(p.X, st)
			a = append(a, atom{Unknown, unknown})
		case *syntax.ExtGlob:
			v.opaque("an extended glob")
			v.hidden(p.Pattern.Value, st)
			a = append(a, atom{UnknownWords, unknowns})
		default:
			v.opaque("a word part that is not known")
			a = append(a, atom{UnknownWords, unknowns})
		}
	}
	return a
}

// sub visits statements that run in a copy of the shell.
func (v *visitor) sub(list []*syntax.Stmt, st *state) {
	cond := v.cond
	v.cond = 0
	v.apart(list, st)
	v.cond = cond
}

func (v *visitor) subst(p *syntax.CmdSubst, st *state, mode wordMode, inQuotes bool) atoms {
	if p.Backquotes {
		v.backquoted(p)
		v.bquote++
		defer func() { v.bquote-- }()
	}
	v.sub(p.Stmts, st)
	if dir, ok := v.pwd(p, st); ok {
		return dir
	}
	if len(p.Stmts) == 1 && !inQuotes && mode == argWord && !p.Backquotes {
		if w, ok := v.listing(p.Stmts[0], st); ok {
			return append(listedAtoms(w), atom{0, splits})
		}
	}
	if inQuotes || mode != argWord {
		return atoms{{Unknown, unknown}}
	}
	return atoms{{UnknownWords, unknowns}}
}

// pwd returns what $(pwd) is when the directory is known.
func (v *visitor) pwd(p *syntax.CmdSubst, st *state) (atoms, bool) {
	if len(p.Stmts) != 1 || len(p.Stmts[0].Redirs) > 0 || st.funcs["pwd"] != nil || st.anyFn || len(st.dirs) != 1 {
		return nil, false
	}
	words, ok := v.constants(p.Stmts[0], st)
	if !ok || len(words) != 1 || words[0].Text != "pwd" || strings.ContainsAny(st.dirs[0], " \t\n*?[\\") {
		return nil, false
	}
	return atoms(nil).text(quoted, st.dirs[0]), true
}

// backquoted makes a text opaque whose backquotes may end elsewhere than the parser thinks: for bash they end at the next one
// without a backslash, be it in quotes or in a here-document.
func (v *visitor) backquoted(p *syntax.CmdSubst) {
	text := strings.Trim(v.source(p), "`")
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' {
			i++
		} else if text[i] == '`' || strings.HasPrefix(text[i:], "<<") {
			v.opaque("backquotes that shells read in different ways")
			return
		}
	}
}

func (v *visitor) param(a atoms, p *syntax.ParamExp, st *state, mode wordMode, inQuotes bool) atoms {
	split := !inQuotes && mode == argWord
	dyn := atom{Unknown, unknown}
	if split {
		dyn = atom{UnknownWords, unknowns}
	}
	if v.plainDefault(p) {
		return append(a, dyn)
	}
	if !simpleParam(p) {
		v.opaque("a parameter expansion with an operator")
		v.paramInside(p, st, inQuotes)
		return append(a, atom{UnknownWords, unknowns})
	}
	name := p.Param.Value
	switch name {
	case "@", "*":
		if name == "@" || split {
			return append(a, atom{UnknownWords, unknowns})
		}
		return append(a, dyn)
	case "?", "#", "$", "!", "-":
		return append(a, atom{Unknown, unknown}) // never more than one word, never with a blank
	}
	val, ok := v.value(name, st)
	if name[0] >= '0' && name[0] <= '9' {
		n, err := strconv.Atoi(name)
		if val, ok = st.arg(n); err != nil {
			ok = false
		}
	}
	if !ok || split && slices.ContainsFunc(val, func(at atom) bool { return at.k == unknown || at.k == unknowns }) {
		return append(a, dyn)
	}
	if !split {
		for _, at := range val {
			if at.k == plain {
				at.k = quoted
			}
			a = append(a, at)
		}
		return a
	}
	// Unquoted, the value is split and globbed.
	globs := false
	for _, at := range val {
		globs = globs || at.k == globbed
		if st.ifs || at.k != globbed && strings.ContainsRune(splitting, at.r) {
			return append(a, atom{UnknownWords, unknowns})
		}
	}
	if globs { // a file name may have blanks
		a = append(a, val...)
		return append(a, atom{0, splits})
	}
	for _, at := range val {
		a = append(a, atom{at.r, quoted})
	}
	return a
}

// decimalArithm is arithmetic that names no variable and so evaluates nothing twice.
var decimalArithm = regexp.MustCompile(`^\$\(\([0-9][0-9 +*/%-]*\)\)$`)

// defaultExpansion is a variable with a default of plain characters: none that quotes,
// expands, splits the text or starts a path of somebody's.
var defaultExpansion = regexp.MustCompile(`^\$\{[A-Za-z_][A-Za-z0-9_]*:?-[A-Za-z0-9_.,/@%=+-]*\}$`)

// plainDefault reports whether p is such an expansion. What it stands for counts as
// not known, the default included.
func (v *visitor) plainDefault(p *syntax.ParamExp) bool {
	return p.Param != nil && p.Exp != nil && defaultExpansion.MatchString(v.source(p))
}

func simpleParam(p *syntax.ParamExp) bool {
	return p.Param != nil && p.Flags == nil && !p.Excl && !p.Length && !p.Width && !p.IsSet && p.Split == 0 && p.GlobSubst == 0 && p.RcExpand == 0 &&
		p.NestedParam == nil && p.Index == nil && len(p.Modifiers) == 0 && p.Slice == nil && p.Repl == nil && p.Names == 0 && p.Exp == nil
}

// value returns what is known about a variable.
func (v *visitor) value(name string, st *state) (atoms, bool) {
	if val, ok := st.vars[name]; ok {
		return val, true
	}
	o := &v.s.opts
	one := func(dirs []string) (atoms, bool) {
		if len(dirs) != 1 || strings.ContainsRune(dirs[0], Unknown) {
			return nil, false
		}
		return atoms(nil).text(quoted, dirs[0]), true
	}
	switch {
	case name == "PWD":
		return one(st.dirs)
	case name == "PPID" && len(o.Self) > 0:
		return atoms(nil).text(quoted, o.Self[0]), true
	case name == "OLDPWD" && st.prev != nil:
		return one(st.prev)
	case st.set[name] || st.many || special[name] || st.anyFn && st.dirs == nil:
		return nil, false
	case name == "HOME" && o.Home != "" && !st.home:
		return atoms(nil).text(quoted, o.Home), true
	}
	if val, ok := o.Env[name]; ok && name != "PATH" {
		return atoms(nil).text(quoted, val), true
	}
	return nil, false
}

// tilde expands ~ at the start of a word, and in assignments after = and colons.
func (v *visitor) tilde(a atoms, st *state, mode wordMode) atoms {
	if len(a) == 0 || !slices.Contains(a, atom{'~', plain}) {
		return a
	}
	starts := []int{0}
	eq := -1
	if mode == argWord {
		eq = assignmentAt(a)
	}
	if eq >= 0 || mode == assignWord {
		if eq >= 0 {
			starts = append(starts, eq+1)
		}
		for i := eq + 1; i < len(a); i++ {
			if a[i] == (atom{':', plain}) {
				starts = append(starts, i+1)
			}
		}
	}
	var out atoms
	for i := 0; i < len(a); i++ {
		if a[i] != (atom{'~', plain}) || !slices.Contains(starts, i) {
			out = append(out, a[i])
			continue
		}
		end := i + 1
		for end < len(a) && a[end] != (atom{'/', plain}) && !(a[end] == (atom{':', plain}) && len(starts) > 1) {
			end++
		}
		quotedInside := slices.ContainsFunc(a[i:end], func(at atom) bool { return at.k == quoted })
		switch name := a[i+1 : end]; {
		case quotedInside:
			out = append(out, atom{'~', quoted})
			continue
		case len(name) == 0:
			home, ok := v.value("HOME", st)
			if !ok {
				home = atoms{{Unknown, unknown}}
			}
			for _, at := range home {
				if at.k == plain {
					at.k = quoted
				}
				out = append(out, at)
			}
		default:
			out = append(out, atom{Unknown, unknown}) // ~user, ~+, ~-, ~1
		}
		i = end - 1
	}
	return out
}

// assignmentAt returns the index of the = of a word that looks like an assignment: the shell expands ~ after it.
func assignmentAt(a atoms) int {
	for i, at := range a {
		switch {
		case at.k != plain:
			return -1
		case at.r == '=' && i > 0:
			return i
		case at.r == '+' && i > 0 && i+1 < len(a) && a[i+1] == (atom{'=', plain}):
			return i + 1
		case at.r != '_' && !('a' <= at.r|0x20 && at.r|0x20 <= 'z') && (i == 0 || at.r < '0' || at.r > '9'):
			return -1
		}
	}
	return -1
}
