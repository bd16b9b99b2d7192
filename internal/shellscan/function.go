package shellscan

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// A body is a function of the text.
type body struct {
	name    string
	stmt    *syntax.Stmt
	st      *state
	visited bool
	text    string
	dialect Dialect
}

func (v *visitor) funcDecl(c *syntax.FuncDecl, st *state) flow {
	if c.RsrvWord || c.Name == nil || len(c.Names) > 0 {
		v.opaque("a function form that shells read in different ways")
	}
	switch c.Body.Cmd.(type) {
	case *syntax.Block, *syntax.Subshell, *syntax.IfClause, *syntax.WhileClause, *syntax.ForClause, *syntax.CaseClause, *syntax.TestClause:
	default:
		v.opaque("a function without a compound body")
	}
	names := c.Names
	if c.Name != nil {
		names = append([]*syntax.Lit{c.Name}, names...)
	}
	for _, n := range names {
		st.ensure()
		st.funcs[n.Value] = c.Body
		if n.Value == "cd" || n.Value == "pushd" || n.Value == "popd" {
			st.cdOff = true
		}
		if !slices.ContainsFunc(v.bodies, func(b *body) bool { return b.stmt == c.Body }) {
			v.bodies = append(v.bodies, &body{name: n.Value, stmt: c.Body, st: st.clone(), text: v.text, dialect: v.dialect})
		}
		if !syntax.ValidName(strings.ReplaceAll(n.Value, "-", "_")) {
			v.opaque("a function with an unusual name")
		}
	}
	return always(st)
}

// callFunc visits the body of a function with the state of its caller.
func (v *visitor) callFunc(b *syntax.Stmt, args []Word, st *state) flow {
	old, known := st.args, st.argOK
	st.setArgs(args)
	f := v.callBody(b, st)
	for _, s := range []*state{f.ok, f.fail} {
		s.args, s.argOK = old, known
	}
	return f
}

func (v *visitor) callBody(b *syntax.Stmt, st *state) flow {
	for _, d := range v.bodies {
		if d.stmt == b {
			d.visited = true
			text, dialect := v.text, v.dialect
			v.text, v.dialect = d.text, d.dialect
			defer func() { v.text, v.dialect = text, dialect }()
		}
	}
	if slices.Contains(v.calling, b) || len(v.calling) > 20 {
		st.forget()
		return always(st)
	}
	v.calling = append(v.calling, b)
	defer func() { v.calling = v.calling[:len(v.calling)-1] }()
	var f flow
	left := false
	all := v.caught(true, func() *state {
		n := len(v.escapes)
		f = v.stmt(b, st)
		left = len(v.escapes) > n
		return f.any()
	})
	if left {
		return always(all)
	}
	return f
}
