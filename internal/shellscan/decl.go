package shellscan

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// decl handles export, readonly, declare, typeset and local.
func (v *visitor) decl(d *syntax.DeclClause, st *state) flow {
	name := d.Variant.Value
	words := []Word{constant(name)}
	vals := map[int]atoms{}
	for _, a := range d.Args {
		switch {
		case a.Name == nil: // an option, or a word that is known only when it runs
			for _, x := range v.expand(a.Value, st, argWord) {
				words = append(words, x.word())
			}
		case a.Naked && a.Index == nil && a.Array == nil:
			words = append(words, constant(a.Name.Value))
		default:
			val := v.assignValue(a, st)
			w := val.word()
			w.Text = a.Name.Value + "=" + w.Text
			vals[len(words)] = val
			words = append(words, w)
		}
	}
	if name == "nameref" || name == "typeset" {
		v.opaque("a declaration that shells read in different ways")
	}
	c := Command{Argv: words, Span: v.at(d), parent: v.parent, offset: -1, name: name}
	v.declare(name, words, vals, &c, st)
	return always(st)
}

// declWords handles the same commands when they are not keywords, as in "builtin export X=1".
func (v *visitor) declWords(name string, words []Word, c *Command, st *state) {
	v.declare(name, words, nil, c, st)
}

func (v *visitor) declare(name string, words []Word, vals map[int]atoms, c *Command, st *state) {
	exports := name == "export"
	fixed := name == "readonly" || name == "local"
	var changes []EnvChange
	for i := 1; i < len(words); i++ {
		w := words[i]
		if w.known() && len(w.Text) > 1 && (w.Text[0] == '-' || w.Text[0] == '+') {
			for _, r := range w.Text[1:] {
				switch {
				case r == 'x':
					exports = exports || name != "export"
				case r == 'r':
					fixed = true
				case r == 'g', r == '-', r == 'p':
				case r == 'n' && name == "export": // takes a name out of the environment
				default:
					v.opaque("a declaration with attributes")
					fixed = true
				}
			}
			continue
		}
		key, value, assigns := strings.Cut(w.Text, "=")
		if !syntax.ValidName(key) || w.Multi && !assigns {
			v.opaque("a declaration of a name that is not known")
			v.hidden(w.Text, st)
			st.forget()
			continue
		}
		val := Word{Text: value, Dynamic: w.Dynamic, Multi: w.Multi}
		if fixed {
			st.fix(key)
		} else if a, ok := vals[i]; ok {
			v.setVar(key, a, a.word(), st)
		} else if assigns {
			st.assign(key, nil)
		}
		if exports || v.envKind(key) == envSensitive {
			if !assigns {
				val = dynamic()
			}
			changes = append(changes, EnvChange{Name: key, Value: val, Export: true})
		}
	}
	c.Free = name == "local" || name == "readonly" || name == "declare"
	if exports {
		c.Free = !slices.ContainsFunc(changes, func(e EnvChange) bool { return v.envKind(e.Name) != envBenign })
	}
	c.read = true
	for _, e := range changes {
		v.noteEnv(e)
		if v.envKind(e.Name) == envSensitive {
			r := sensitive(e)
			r.word, r.size = -1, 0
			for k, w := range words {
				if k > 0 && (w.Text == e.Name || strings.HasPrefix(w.Text, e.Name+"=")) {
					r.word, r.size = k, len(e.Name)
				}
			}
			c.Risks = append(c.Risks, r)
			c.Free = false
		}
	}
	v.emit(*c, st)
}
