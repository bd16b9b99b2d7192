package shellscan

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// This file visits the constructs that are outside of what is judged part by part. The text is opaque anyway; what runs
// inside them is listed for deny rules and for the prompt, as far as it can be found.

func (v *visitor) paramInside(p *syntax.ParamExp, st *state, inQuotes bool) {
	v.arithm(p.Index, st)
	if p.Slice != nil {
		v.arithm(p.Slice.Offset, st)
		v.arithm(p.Slice.Length, st)
	}
	var words []*syntax.Word
	if p.Repl != nil {
		words = append(words, p.Repl.Orig, p.Repl.With)
	}
	if p.Exp != nil {
		words = append(words, p.Exp.Word)
	}
	for _, w := range words {
		if w == nil {
			continue
		}
		v.word(w, st)
		// Inside double quotes bash does not take single quotes as quotes, and unquoted it expands <(…).
		if text := v.source(w); strings.ContainsAny(text, "'<>") {
			v.hidden(text, st)
		}
	}
	if p.NestedParam != nil {
		v.parts(nil, []syntax.WordPart{p.NestedParam}, st, testWord, inQuotes)
	}
	if p.Param != nil && st.set[p.Param.Value] && (p.Exp == nil || p.Exp.Op == syntax.AssignUnset || p.Exp.Op == syntax.AssignUnsetOrNull) {
		st.assign(p.Param.Value, nil)
	}
	if p.Param != nil && p.Exp != nil && (p.Exp.Op == syntax.AssignUnset || p.Exp.Op == syntax.AssignUnsetOrNull) {
		st.assign(p.Param.Value, nil)
	}
}

// source returns the text of a node.
func (v *visitor) source(n syntax.Node) string {
	from, to := int(n.Pos().Offset()), int(n.End().Offset())
	if from < 0 || to > len(v.text) || from > to {
		return ""
	}
	return v.text[from:to]
}

func (v *visitor) arithm(x syntax.ArithmExpr, st *state) {
	switch x := x.(type) {
	case nil:
	case *syntax.Word:
		if x != nil {
			v.word(x, st)
			if text := v.source(x); strings.Contains(text, "'") {
				v.hidden(text, st)
			}
		}
	case *syntax.BinaryArithm:
		v.arithm(x.X, st)
		v.arithm(x.Y, st)
	case *syntax.UnaryArithm:
		v.arithm(x.X, st)
	case *syntax.ParenArithm:
		v.arithm(x.X, st)
	case *syntax.FlagsArithm:
		v.arithm(x.X, st)
	default:
		v.opaque("arithmetic that is not known")
	}
}

// letText lists what bash would run where the parser reads operators of arithmetic: let x=1|cmd is a pipe.
func (v *visitor) letText(c *syntax.LetClause, st *state) {
	_, rest, ok := strings.Cut(v.source(c), "let")
	if ok && strings.ContainsAny(rest, "|&;<>") {
		v.reparse(":"+rest, st)
	}
}

// hidden visits the substitutions in a text that the parser took to be quoted or literal.
func (v *visitor) hidden(text string, st *state) {
	if !strings.ContainsAny(text, "`") && !strings.Contains(text, "$(") && !strings.Contains(text, "<(") && !strings.Contains(text, ">(") {
		return
	}
	if v.nested >= maxDepth || v.bytes+len(text) > maxNested {
		return
	}
	v.bytes += len(text)
	clean := strings.NewReplacer("<(", "$(", ">(", "$(").Replace(text)
	p := syntax.NewParser(syntax.Variant(syntax.LangBash))
	w, err := p.Document(strings.NewReader(clean))
	if err != nil || w == nil {
		return
	}
	v.inText(clean, func() {
		for _, part := range w.Parts {
			switch part := part.(type) {
			case *syntax.CmdSubst:
				v.sub(part.Stmts, st)
			case *syntax.ParamExp:
				v.param(nil, part, st, testWord, true)
			case *syntax.ArithmExp:
				v.arithm(part.X, st)
			}
		}
	})
}

// inText runs f while positions refer to another text.
func (v *visitor) inText(text string, f func()) {
	oldText, oldSpan := v.text, v.span
	v.text = text
	if v.span[0] < 0 {
		v.span = [2]int{0, len(v.s.Text)}
	}
	v.nested++
	f()
	v.nested--
	v.text, v.span = oldText, oldSpan
}

// reparse visits a piece of text as commands.
func (v *visitor) reparse(text string, st *state) {
	if v.nested >= maxDepth || v.bytes+len(text) > maxNested {
		return
	}
	v.bytes += len(text)
	stmts, _ := parse(text, v.dialect)
	v.inText(text, func() { v.apart(stmts, st) })
}

// hiddenIn looks through the quoted strings of a text that is opaque: arithmetic and subscripts evaluate strings again.
func (v *visitor) hiddenIn(stmts []*syntax.Stmt) {
	st := &state{}
	for _, s := range stmts {
		syntax.Walk(s, func(n syntax.Node) bool {
			switch n := n.(type) {
			case *syntax.SglQuoted:
				text := n.Value
				if n.Dollar {
					text, _ = ansiC(text)
				}
				v.hidden(text, st)
			case *syntax.Comment:
				v.hidden(n.Text, st)
			}
			return true
		})
	}
}

func (v *visitor) test(x syntax.TestExpr, st *state) {
	switch x := x.(type) {
	case *syntax.Word:
		v.word(x, st)
	case *syntax.BinaryTest:
		switch x.Op {
		case syntax.AndTest, syntax.OrTest, syntax.TsMatchShort, syntax.TsMatch, syntax.TsNoMatch:
		default:
			v.opaque("a test that evaluates arithmetic or a regular expression")
		}
		v.test(x.X, st)
		v.test(x.Y, st)
	case *syntax.UnaryTest:
		switch x.Op {
		case syntax.TsNot, syntax.TsParen, syntax.TsExists, syntax.TsRegFile, syntax.TsDirect, syntax.TsCharSp, syntax.TsBlckSp, syntax.TsNmPipe,
			syntax.TsSocket, syntax.TsSmbLink, syntax.TsSticky, syntax.TsGIDSet, syntax.TsUIDSet, syntax.TsGrpOwn, syntax.TsUsrOwn, syntax.TsModif,
			syntax.TsRead, syntax.TsWrite, syntax.TsExec, syntax.TsNoEmpty, syntax.TsEmpStr, syntax.TsNempStr:
		default:
			v.opaque("a test that evaluates its operand")
		}
		v.test(x.X, st)
	case *syntax.ParenTest:
		v.test(x.X, st)
	default:
		v.opaque("a test that is not known")
	}
}
