package shellscan

import (
	"fmt"
	"slices"

	"mvdan.cc/sh/v3/syntax"
)

// A visitor walks over a text and follows what the shell would do. Every node that it does not know makes the text opaque.
type visitor struct {
	s       *Script
	fs      *resolver
	tables  *tables
	dialect Dialect
	text    string // the one that is visited; for nested texts not Script.Text

	span   [2]int // set for nested texts: where the command that holds them is
	nested int
	bytes  int // of nested texts
	steps  int
	level  int
	quiet  int // loops are visited until nothing changes; only the last round reports
	cond   int // inside a condition set -e has no effect
	bquote int
	via    []string
	parent int
	seen   map[string]int // commands, by what makes them different

	bodies  []*body        // functions of the text, in order
	calling []*syntax.Stmt // the functions that are being called
	escapes []escape
	away    int  // inside of what another machine or container runs: its files are not ours
	inPipe  bool // its input is a pipe
	pipeIn  Word // the names that come through the pipe, if a listing is on its other end

	moved []string // directories below which earlier commands may have put links; also those of subshells

	pipeText *Word // what echo or printf sends through it, never taken to be the whole of it
}

// An escape is a state at which a loop or a function is left.
type escape struct {
	st       *state
	function bool
}

// A flow is the state after a command, by its outcome.
type flow struct{ ok, fail *state }

func always(s *state) flow { return flow{s, s} }

func (f flow) any() *state { return join(f.ok, f.fail) }

func (v *visitor) root(text string) {
	stmts, err := parse(text, v.dialect)
	v.s.Unparsed = err
	v.text = text
	v.parent = -1
	o := &v.s.opts
	st := &state{}
	if d := cleanAbs(o.Dir); d != "" {
		st.dirs = []string{d}
	}
	st.cdOff = o.Env["CDPATH"] != ""
	v.span = [2]int{-1, -1}
	v.block(stmts, st)
	v.leftovers()
	if len(v.s.Opaque) > 0 {
		v.hiddenIn(stmts)
	}
	if n := len(v.s.Commands); n > maxCommands {
		v.opaque(fmt.Sprintf("more than %d commands", maxCommands))
	}
}

// leftovers visits functions that were never called: they may be called by a name that is not known, or from outside.
func (v *visitor) leftovers() {
	for i := 0; i < len(v.bodies); i++ {
		b := v.bodies[i]
		if b.visited {
			continue
		}
		b.visited = true
		st := b.st.clone()
		st.ensure()
		clear(st.vars)
		st.shift(-1)
		v.text, v.dialect = b.text, b.dialect
		v.stmt(b.stmt, st)
	}
}

func (v *visitor) opaque(why string) { v.s.opaque(KindSyntax, why) }

// at returns where a node is in the text that the caller of Analyze gave.
func (v *visitor) at(n syntax.Node) [2]int {
	if v.span[0] >= 0 {
		return v.span
	}
	from, to := int(n.Pos().Offset()), int(n.End().Offset())
	to = min(max(to, from), len(v.s.Text))
	return [2]int{min(from, to), to}
}

// block runs statements one after the other.
func (v *visitor) block(list []*syntax.Stmt, st *state) *state {
	for _, s := range list {
		f := v.stmt(s, st)
		if st = f.any(); f.ok != f.fail && st.errex && v.cond == 0 && stopsOnError(s) {
			st = f.ok
		}
	}
	return st
}

// apart runs statements in a copy of the shell: of what they do only the files stay.
func (v *visitor) apart(list []*syntax.Stmt, st *state) {
	st.fresh = v.block(list, st.clone()).fresh || st.fresh
}

// stopsOnError reports whether set -e ends the shell when the statement fails: not for lists, of which the left side may
// fail.
func stopsOnError(s *syntax.Stmt) bool {
	_, simple := s.Cmd.(*syntax.CallExpr)
	return simple && !s.Negated && !s.Background
}

func (v *visitor) blockFlow(list []*syntax.Stmt, st *state) flow {
	if len(list) == 0 {
		return always(st)
	}
	st = v.block(list[:len(list)-1], st)
	return v.stmt(list[len(list)-1], st)
}

func (v *visitor) stmt(s *syntax.Stmt, st *state) flow {
	v.steps++
	v.level++
	defer func() { v.level-- }()
	if v.steps > maxSteps || v.level > maxLevels {
		v.opaque("the text is too complex")
		return always(st)
	}
	if s.Coprocess || s.Disown {
		v.opaque("a form of background job that bash does not have")
	}
	before := st
	if s.Background {
		st = st.clone()
		defer func() { before.fresh = true }()
	}
	first := len(v.s.Files)
	for _, r := range s.Redirs {
		if r.Op == syntax.RdrIn || r.Op == syntax.Hdoc || r.Op == syntax.DashHdoc || r.Op == syntax.WordHdoc || r.Op == syntax.DplIn || r.Op == syntax.RdrInOut {
			old, text := v.pipeIn, v.pipeText
			v.pipeIn, v.pipeText = Word{}, nil
			defer func() { v.pipeIn, v.pipeText = old, text }()
			break
		}
	}
	for _, r := range s.Redirs {
		v.redirect(r, st)
	}
	count := len(v.s.Commands)
	f := always(st)
	if s.Cmd != nil {
		f = v.command(s, st)
	}
	if len(v.s.Commands) > count && v.quiet == 0 {
		if _, simple := s.Cmd.(*syntax.CallExpr); simple {
			for i := first; i < len(v.s.Files) && v.s.Files[i].Command < 0 && v.s.Files[i].Redirect; i++ {
				v.s.Files[i].Command = count
			}
		}
	}
	if s.Negated {
		f.ok, f.fail = f.fail, f.ok
	}
	if s.Background {
		return always(before)
	}
	return f
}

func (v *visitor) command(s *syntax.Stmt, st *state) flow {
	switch c := s.Cmd.(type) {
	case *syntax.CallExpr:
		return v.call(c, s, st)
	case *syntax.BinaryCmd:
		return v.binary(c, st)
	case *syntax.Subshell:
		v.apart(c.Stmts, st)
		return always(st)
	case *syntax.Block:
		return v.blockFlow(c.Stmts, st)
	case *syntax.IfClause:
		return v.ifClause(c, st)
	case *syntax.WhileClause:
		return v.loop(st, func(st *state) *state {
			v.cond++
			f := v.blockFlow(c.Cond, st)
			v.cond--
			if c.Until {
				f.ok, f.fail = f.fail, f.ok
			}
			return join(f.fail, v.block(c.Do, f.ok.clone()))
		})
	case *syntax.ForClause:
		return v.forClause(c, st)
	case *syntax.CaseClause:
		v.word(c.Word, st)
		out := st
		prev := st
		for _, item := range c.Items {
			if item.Op == syntax.ResumeKorn {
				v.opaque("a case form that bash does not have")
			}
			for _, p := range item.Patterns {
				v.word(p, st)
			}
			prev = v.block(item.Stmts, join(st, prev).clone())
			out = join(out, prev)
			if item.Op != syntax.Fallthrough {
				prev = st
			}
		}
		if c.Braces {
			v.opaque("a case form that bash does not have")
		}
		return always(out)
	case *syntax.FuncDecl:
		return v.funcDecl(c, st)
	case *syntax.TimeClause:
		if c.Stmt == nil {
			return always(st)
		}
		return v.stmt(c.Stmt, st)
	case *syntax.TestClause:
		v.test(c.X, st)
		return always(st)
	case *syntax.DeclClause:
		return v.decl(c, st)
	case *syntax.ArithmCmd:
		v.opaque("arithmetic")
		v.arithm(c.X, st)
	case *syntax.LetClause:
		v.opaque("let")
		v.letText(c, st)
		for _, x := range c.Exprs {
			v.arithm(x, st)
		}
	case *syntax.CoprocClause:
		v.opaque("coproc")
		if c.Name != nil {
			v.word(c.Name, st)
		}
		v.stmt(c.Stmt, st.clone())
	case *syntax.TestDecl:
		v.opaque("a test declaration")
		v.stmt(c.Body, st.clone())
	default:
		v.opaque(fmt.Sprintf("a construct that is not known (%T)", c))
	}
	return always(st)
}

func (v *visitor) binary(c *syntax.BinaryCmd, st *state) flow {
	switch c.Op {
	case syntax.AndStmt:
		v.cond++
		x := v.stmt(c.X, st)
		v.cond--
		y := v.stmt(c.Y, v.fork(x.ok, x.fail))
		return flow{y.ok, join(x.fail, y.fail)}
	case syntax.OrStmt:
		v.cond++
		x := v.stmt(c.X, st)
		v.cond--
		y := v.stmt(c.Y, v.fork(x.fail, x.ok))
		return flow{join(x.ok, y.ok), y.fail}
	case syntax.Pipe, syntax.PipeAll:
		first := v.stmt(c.X, st.clone())
		names, piped, text := v.pipeIn, v.inPipe, v.pipeText
		v.pipeIn, _ = v.listing(c.X, st)
		v.inPipe, v.pipeText = true, v.printed(c.X, st)
		second := v.stmt(c.Y, st.clone())
		v.pipeIn, v.inPipe, v.pipeText = names, piped, text
		st.fresh = first.any().fresh || second.any().fresh
	default:
		v.opaque("an operator that is not known")
		v.stmt(c.X, st.clone())
		v.stmt(c.Y, st.clone())
	}
	return always(st)
}

// fork returns a state to go on with that the other outcome does not share.
func (v *visitor) fork(s, other *state) *state {
	if s == other {
		return s.clone()
	}
	return s
}

func (v *visitor) ifClause(c *syntax.IfClause, st *state) flow {
	if len(c.Cond) == 0 { // else
		return v.blockFlow(c.Then, st)
	}
	v.cond++
	f := v.blockFlow(c.Cond, st)
	v.cond--
	then := v.blockFlow(c.Then, v.fork(f.ok, f.fail))
	other := always(f.fail)
	if c.Else != nil {
		other = v.ifClause(c.Else, f.fail)
	}
	return flow{join(then.ok, other.ok), join(then.fail, other.fail)}
}

// loop runs a body until the state at its start no longer changes, then once more to report what it does.
func (v *visitor) loop(st *state, round func(*state) *state) flow {
	plain := round
	round = func(st *state) *state { return v.caught(false, func() *state { return plain(st) }) }
	v.quiet++
	for i := 0; ; i++ {
		known := len(v.moved)
		next := join(st, round(st.clone()))
		if same(next, st) && known == len(v.moved) {
			break
		}
		st = next
		if i >= 3 {
			st = st.clone()
			st.forget()
			break
		}
	}
	v.quiet--
	return always(join(st, round(st.clone())))
}

// caught runs f and joins the states at which break, continue or, for functions, return left it.
func (v *visitor) caught(function bool, f func() *state) *state {
	n := len(v.escapes)
	st := f()
	kept := v.escapes[:n]
	for _, e := range v.escapes[n:] {
		if e.function && !function {
			kept = append(kept, e)
		} else {
			st = join(st, e.st)
		}
	}
	v.escapes = kept
	return st
}

func (v *visitor) forClause(c *syntax.ForClause, st *state) flow {
	if c.Select {
		v.opaque("select")
	}
	if c.Braces {
		v.opaque("a loop form that bash hardly has")
	}
	switch l := c.Loop.(type) {
	case *syntax.CStyleLoop:
		v.opaque("arithmetic")
		v.arithm(l.Init, st)
		return v.loop(st, func(st *state) *state {
			v.arithm(l.Cond, st)
			st = v.block(c.Do, st)
			v.arithm(l.Post, st)
			return st
		})
	case *syntax.WordIter:
		return v.forWords(c, l, st)
	}
	v.opaque("a loop that is not known")
	v.block(c.Do, st.clone())
	return always(st)
}

// forWords gives the variable each of its values in turn when there are few, else none.
func (v *visitor) forWords(c *syntax.ForClause, l *syntax.WordIter, st *state) flow {
	values, known := v.forValues(l, st)
	name := l.Name.Value
	v.noteVar(name, Word{}, st)
	if len(values) > 0 && known && !c.Select {
		// The body is visited once for each value. If one round changes what the next one sees, it is visited again as
		// a loop of which nothing is known.
		end := st
		stable := true
		for _, val := range values {
			s := st.clone()
			s.assign(name, val)
			before := s.clone()
			after := v.caught(false, func() *state { return v.block(c.Do, s) })
			probe := after.clone()
			probe.assign(name, val)
			st.fresh = st.fresh || after.fresh // the next round may see what this one made
			before.fresh, probe.fresh = st.fresh, st.fresh
			stable = stable && same(join(before, probe), before)
			end = join(end, after)
		}
		if stable {
			return always(end)
		}
	}
	st.assign(name, nil)
	return v.loop(st, func(st *state) *state {
		st.assign(name, nil)
		return v.block(c.Do, st)
	})
}

func (v *visitor) forValues(l *syntax.WordIter, st *state) (values []atoms, known bool) {
	if !l.InPos.IsValid() {
		for _, a := range st.args {
			known = known || slices.ContainsFunc(a, func(at atom) bool { return at.k == unknown || at.k == unknowns })
		}
		return slices.Clone(st.args), st.argOK && !known && len(st.args) <= 16
	}
	known = true
	for _, w := range l.Items {
		for _, a := range v.expand(w, st, argWord) {
			val := make(atoms, 0, len(a))
			for i, at := range a {
				switch {
				case at.k == splits || at.k == null:
					continue
				case at.k == unknown || at.k == unknowns:
					known = false
				case isGlob(a, i):
					at.k = globbed
				case at.k == plain:
					at.k = quoted
				}
				val = append(val, at)
			}
			values = append(values, val)
		}
	}
	return values, known && len(values) <= 16
}
