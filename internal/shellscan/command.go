package shellscan

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// An invocation is a command whose words are expanded.
type invocation struct {
	words  []Word
	env    []EnvChange
	span   [2]int
	parent int   // the wrapper's index in Commands; -1
	offset int   // of words in the wrapper's; -1
	stdin  *Word // text that is fed to it, as far as it is known
	piped  bool  // its input comes from somewhere
	noFunc bool  // functions of the text are not looked at
	prog   bool  // builtins are not looked at either
	apart  bool  // runs in a process of its own: the state of this shell stays
	from   Word  // for xargs: the names it is fed

	args    []Word // for a text that a shell runs: its positional parameters
	hasArgs bool
}

// call handles a simple command of the text.
func (v *visitor) call(c *syntax.CallExpr, s *syntax.Stmt, st *state) flow {
	if len(c.Args) == 0 {
		return v.assignOnly(c, st)
	}
	words := v.args(c.Args, st)
	inv := invocation{words: words, span: v.at(c), parent: v.parent, offset: -1}
	for _, a := range c.Assigns {
		val := v.assignValue(a, st)
		inv.env = append(inv.env, EnvChange{Name: a.Name.Value, Value: val.word()})
	}
	inv.stdin, inv.piped = v.input(s, st)
	return v.run(inv, st)
}

// input returns the text of a here-document or here-string that feeds the command.
func (v *visitor) input(s *syntax.Stmt, st *state) (*Word, bool) {
	for i := len(s.Redirs) - 1; i >= 0; i-- {
		r := s.Redirs[i]
		if r.N != nil && r.N.Value != "0" {
			continue
		}
		switch r.Op {
		case syntax.Hdoc, syntax.DashHdoc:
			w := v.hdoc(r, nil).word()
			return &w, true
		case syntax.WordHdoc:
			w := v.quietWord(r.Word, st)
			return &w, true
		case syntax.RdrIn, syntax.RdrInOut, syntax.DplIn:
			return nil, true
		}
	}
	return v.pipeText, false
}

// quietWord expands a word again without reporting what is inside it once more.
func (v *visitor) quietWord(w *syntax.Word, st *state) Word {
	v.quiet++
	defer func() { v.quiet-- }()
	return v.word(w, st.clone())
}

func (v *visitor) assignValue(a *syntax.Assign, st *state) atoms {
	if a.Index != nil || a.Array != nil || a.Append || a.Name == nil {
		v.opaque("an assignment to an array, or one that appends")
		v.arithm(a.Index, st)
		if a.Array != nil {
			for _, e := range a.Array.Elems {
				v.arithm(e.Index, st)
				if e.Value != nil {
					v.expand(e.Value, st, argWord)
				}
			}
			if text := v.source(a.Array); strings.Contains(text, "'") {
				v.hidden(text, st)
			}
		}
	}
	if a.Value == nil {
		if a.Index != nil || a.Array != nil || a.Append {
			return atoms{{Unknown, unknown}}
		}
		return nil
	}
	val := v.expand(a.Value, st, assignWord)[0]
	if a.Index != nil || a.Append || slices.Contains(val, atom{'{', plain}) && slices.Contains(val, atom{',', plain}) {
		if !a.Append && a.Index == nil {
			v.opaque("braces in an assignment")
		}
		return atoms{{Unknown, unknown}}
	}
	return val
}

// assignOnly handles a command that is nothing but assignments.
func (v *visitor) assignOnly(c *syntax.CallExpr, st *state) flow {
	for _, a := range c.Assigns {
		val := v.assignValue(a, st)
		w := val.word()
		v.setVar(a.Name.Value, val, w, st)
		if v.envKind(a.Name.Value) == envSensitive {
			e := EnvChange{Name: a.Name.Value, Value: w, Export: true}
			v.emit(Command{Env: []EnvChange{e}, Span: v.at(c), parent: v.parent, offset: -1, Risks: []Reason{sensitive(e)}}, st)
			v.noteEnv(e)
		}
	}
	return always(st)
}

// setVar assigns in the state: the value when it is known.
func (v *visitor) setVar(name string, val atoms, w Word, st *state) {
	if w.Dynamic {
		st.assign(name, nil)
		return
	}
	fixed := make(atoms, 0, len(val))
	for _, at := range val {
		switch at.k {
		case null:
			continue
		case plain:
			at.k = quoted // its glob characters count again when it is expanded without quotes
		}
		fixed = append(fixed, at)
	}
	st.assign(name, fixed)
	if name == "HOME" {
		st.home = true
	}
}

// noteVar handles a variable that something else than an assignment sets: a loop, read, printf -v.
func (v *visitor) noteVar(name string, val Word, st *state) {
	st.assign(name, nil)
	if v.envKind(name) == envSensitive {
		e := EnvChange{Name: name, Value: dynamic(), Export: true}
		if val.Text != "" {
			e.Value = val
		}
		v.noteEnv(e)
		v.opaque("sets " + name)
	}
}

func (v *visitor) noteEnv(e EnvChange) {
	if v.quiet == 0 && !slices.Contains(v.s.Env, e) {
		v.s.Env = append(v.s.Env, e)
	}
}

// emit adds a command, unless the same one is there already, and returns its index.
func (v *visitor) emit(c Command, st *state) int {
	if v.quiet > 0 {
		return -1
	}
	if len(c.Risks) > maxRisks {
		v.opaque("a command with too many options and variables to judge")
		c.Risks = c.Risks[:maxRisks]
	}
	if st.dirs != nil {
		c.Dirs = slices.Clone(st.dirs)
	}
	c.Via = append([]string(nil), v.via...)
	var b strings.Builder
	fmt.Fprint(&b, c.Span, c.parent, c.Dirs, c.Free)
	for _, w := range c.Argv {
		b.WriteString("\x00" + w.Text)
	}
	key := b.String()
	if idx, ok := v.seen[key]; ok {
		return idx
	}
	v.seen[key] = len(v.s.Commands)
	for _, e := range c.Env {
		v.noteEnv(e)
	}
	v.s.Commands = append(v.s.Commands, c)
	return len(v.s.Commands) - 1
}

// run handles a command with its words, from the text or from inside a wrapper.
func (v *visitor) run(inv invocation, st *state) flow {
	if len(inv.words) == 0 {
		return always(st)
	}
	if v.steps++; v.steps > maxSteps || len(v.via) > maxWrappers {
		v.opaque("the text is too complex")
		return always(st)
	}
	name := &inv.words[0]
	c := Command{Argv: inv.words, Env: inv.env, Span: inv.span, parent: inv.parent, offset: inv.offset, name: name.Text}
	v.envRisks(&c, st)
	if !name.known() || name.Text == "" {
		return v.runUnknown(c, inv, st)
	}
	if gate(name.Text) != "" || strings.HasPrefix(name.Text, "-") {
		v.opaque("a command with an unusual name")
	}
	if !inv.noFunc && !inv.prog {
		if b, ok := st.funcs[name.Text]; ok {
			c.Free, c.call = !st.anyFn, true
			idx := v.emit(c, st)
			v.arguments(idx, inv.words, 1, st)
			return v.callFunc(b, inv.words[1:], st)
		}
		if st.anyFn && !v.callable(name.Text) {
			c.Risks = append(c.Risks, Reason{Kind: KindExec, Text: "the name may have been redefined", word: 0})
		}
	}
	if strings.Contains(name.Text, "/") {
		v.ownScript(&c, 0, st)
	}
	base := path.Base(name.Text)
	if !inv.prog && name.Text == base {
		if f, ok := v.builtin(base, &c, inv, st); ok {
			return f
		}
	}
	return v.program(base, c, inv, st)
}

// callable reports whether the text defines a function of that name somewhere.
func (v *visitor) callable(name string) bool {
	return !slices.ContainsFunc(v.bodies, func(b *body) bool { return b.name == name })
}

func (v *visitor) runUnknown(c Command, inv invocation, st *state) flow {
	name := &inv.words[0]
	c.Risks = append(c.Risks, Reason{Kind: KindName, Text: "the name of the command is not known", word: 0})
	idx := v.emit(c, st)
	v.arguments(idx, inv.words, 1, st)
	if strings.Contains(name.Text, "/") && !name.Multi || inv.apart || inv.prog {
		return always(st) // a program, which cannot change this shell
	}
	v.opaque("a command whose name is not known")
	st.forget()
	return always(st)
}

// program handles a command that is not a builtin: a wrapper, a shell, or anything else.
func (v *visitor) program(base string, c Command, inv invocation, st *state) flow {
	p := v.tables.programs[base]
	if p == nil {
		p = v.tables.programs[strings.TrimRight(base, "0123456789.-")] // python3.12, gcc-13
		if p != nil && !p.flag("versioned") {
			p = nil
		}
	}
	if p == nil && v.s.opts.FoldCase {
		p = v.tables.programs[strings.ToLower(base)]
	}
	if v.quiet == 0 {
		c.read, c.why = v.readOnly(base, &inv, st)
	}
	if p != nil {
		c.past = p.parse(c.Argv, 1, true).ended
	}
	c.Free = inv.prog && inv.words[0].Text == base && (base == "true" || base == "false" || base == "pwd")
	switch {
	case p == nil:
		idx := v.emit(c, st)
		v.arguments(idx, inv.words, 1, st)
		v.offer(idx)
		st.fresh = true
		return always(st)
	case p.flag("shell"):
		return v.shell(p, c, inv, st)
	case p.flag("wrap"):
		return v.wrapper(p, c, inv, st, 1, nil)
	}
	return v.known(p, c, inv, st)
}

// arguments looks at words of which nothing is known but that they may name files.
func (v *visitor) arguments(idx int, words []Word, from int, st *state) {
	for i := min(from, len(words)); i < len(words); i++ {
		v.maybePath(idx, words[i], st)
	}
}

// maybePath checks a word that may be a path: as a whole, and what follows an =, an @ or a short option.
func (v *visitor) maybePath(idx int, w Word, st *state) {
	if v.quiet > 0 || w.Text == "" || len(w.Text) > 4096 {
		return
	}
	u := use{mode: Read, command: idx, quiet: true}
	if strings.Contains(w.Text, "://") {
		v.url(w)
		if i := strings.Index(w.Text, "file://"); i >= 0 {
			v.file(w.from(i+len("file://")), st, u)
		}
		return
	}
	if w.Dynamic {
		if s := w.start(); strings.HasPrefix(s, "/") && len(s) > 1 && !within(s, "/dev/fd") || strings.HasPrefix(s, "../") {
			v.file(w, st, use{mode: Read, command: idx}) // below an outside directory, whatever it is
		}
		return
	}
	if w.Text[0] != '-' {
		v.file(w, st, u)
	} else if len(w.Text) > 2 && w.Text[1] != '-' {
		v.file(w.from(2), st, u)
	}
	if i := strings.IndexByte(w.Text, '='); i >= 0 && i+1 < len(w.Text) {
		v.maybePath(idx, w.from(i+1), st)
	}
	if i := strings.IndexByte(w.Text, '@'); i >= 0 && i+1 < len(w.Text) && (i == 0 || strings.ContainsAny(w.Text[i+1:], "/~.")) {
		v.file(w.from(i+1), st, u)
	}
	if i := strings.IndexByte(w.Text, ':'); i > 0 && i+1 < len(w.Text) {
		v.file(w.from(i+1), st, u)
	}
}

func (v *visitor) url(w Word) {
	if v.quiet > 0 {
		return
	}
	text := visible(w.Text)
	if !slices.Contains(v.s.Network, text) && len(v.s.Network) < 64 {
		v.s.Network = append(v.s.Network, text)
	}
}
