package shellscan

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

func (v *visitor) redirect(r *syntax.Redirect, st *state) {
	if r.N != nil && strings.Trim(r.N.Value, "0123456789") != "" {
		v.opaque("a redirection that names a variable")
		st.assign(strings.Trim(r.N.Value, "{}"), nil)
	}
	u := use{redirect: true, command: -1}
	switch r.Op {
	case syntax.Hdoc, syntax.DashHdoc:
		v.hdoc(r, st)
		return
	case syntax.WordHdoc:
		v.word(r.Word, st)
		return
	case syntax.RdrOut, syntax.AppOut, syntax.RdrClob, syntax.RdrAll, syntax.AppAll:
		u.mode = Write
	case syntax.RdrIn:
		u.mode, u.redirect = Read, true
	case syntax.RdrInOut:
		u.mode = Read | Write
	case syntax.DplIn, syntax.DplOut:
		u.mode = Write
		if r.Op == syntax.DplIn {
			u.mode = Read
		}
	default:
		v.opaque("a redirection that bash does not have")
		u.mode = Write
	}
	list := v.expand(r.Word, st, argWord)
	w := dynamic()
	if len(list) == 1 {
		w = list[0].word()
	}
	if r.Op == syntax.DplIn || r.Op == syntax.DplOut {
		if d := strings.TrimSuffix(w.Text, "-"); w.known() && strings.Trim(d, "0123456789") == "" {
			return // a descriptor
		}
		// Bash expands the target of >& once more after quotes are gone: echo >& '$(cmd)' runs cmd.
		if !w.known() || strings.ContainsAny(w.Text, "$`\\<>(){}[]*?~'\"!& \t\n;|") {
			v.opaque("a redirection whose target is expanded again")
			v.hidden(w.Text, st)
		}
	}
	if w.Multi || w.Glob {
		w = dynamic()
	}
	// Bash opens these itself, as connections.
	if rest, ok := cutAny(w.Text, "/dev/tcp/", "/dev/udp/"); ok {
		v.url(constant(strings.ReplaceAll(rest, string(Unknown), "…")))
		v.s.opaque(KindHost, "a redirection that opens a network connection")
		return
	}
	if w.Dynamic && within(w.start(), "/dev") && strings.HasPrefix(w.Text, "/dev/fd/") {
		return // a process substitution
	}
	if w.Dynamic && v.s.opts.Dialect == Bash && couldBeNet(w.start()) {
		v.opaque("a redirection whose target is not known")
	}
	v.file(w, st, u)
	if u.mode&Write != 0 {
		st.fresh = true
	}
}

// couldBeNet reports whether a word that begins like this may turn out to be /dev/tcp/….
func couldBeNet(start string) bool {
	return strings.HasPrefix("/dev/tcp/", start) || strings.HasPrefix("/dev/udp/", start)
}

func cutAny(s string, prefixes ...string) (string, bool) {
	for _, p := range prefixes {
		if rest, ok := strings.CutPrefix(s, p); ok {
			return rest, true
		}
	}
	return s, false
}

// hdoc returns the text of a here-document. With a state it visits what is inside; without one nothing is reported.
func (v *visitor) hdoc(r *syntax.Redirect, st *state) atoms {
	if r.Hdoc == nil {
		return nil
	}
	var a atoms
	literal := false
	for _, p := range r.Word.Parts {
		switch p := p.(type) {
		case *syntax.SglQuoted, *syntax.DblQuoted:
			literal = true
		case *syntax.Lit:
			literal = literal || strings.Contains(p.Value, `\`)
		default:
			v.opaque("a here-document with an unusual delimiter")
		}
	}
	for _, p := range r.Hdoc.Parts {
		if l, ok := p.(*syntax.Lit); ok {
			if literal {
				a = a.text(quoted, l.Value)
			} else {
				a = a.doubleQuoted(l.Value, heredocSpecial)
			}
			continue
		}
		if st == nil {
			a = append(a, atom{Unknown, unknown})
			continue
		}
		a = v.parts(a, []syntax.WordPart{p}, st, testWord, true)
		if literal {
			v.opaque("a here-document that is read in different ways")
		}
	}
	return a
}
