package shellscan

import (
	"path"
	"slices"
	"strings"
)

// nest visits a text that a command evaluates.
func (v *visitor) nest(text, by string, d Dialect, parent int, span [2]int, st *state) flow {
	if v.nested >= maxDepth || v.bytes+len(text) > maxNested {
		v.opaque("texts inside texts are nested too deep")
		return always(st)
	}
	if why := gate(text); why != "" {
		v.opaque("the text of " + by + " has " + why)
		return always(st)
	}
	v.bytes += len(text)
	stmts, err := parse(text, d)
	if err != nil {
		v.opaque("the text of " + by + " has a " + err.Error())
	}
	oldText, oldSpan, oldParent, oldDialect, oldBquote := v.text, v.span, v.parent, v.dialect, v.bquote
	v.text, v.span, v.parent, v.dialect, v.bquote = text, span, parent, d, 0
	v.via = append(v.via, by)
	v.nested++
	st = v.block(stmts, st)
	if len(v.s.Opaque) > 0 {
		v.hiddenIn(stmts)
	}
	v.nested--
	v.via = v.via[:len(v.via)-1]
	v.text, v.span, v.parent, v.dialect, v.bquote = oldText, oldSpan, oldParent, oldDialect, oldBquote
	return always(st)
}

// child returns the state that a shell of its own starts with.
func (st *state) child() *state {
	return &state{dirs: st.dirs, home: st.home, cdOff: st.cdOff, fresh: st.fresh, set: st.set}
}

// shell handles sh, bash and their like.
func (v *visitor) shell(p *program, c Command, inv invocation, st *state) flow {
	words := inv.words
	base := path.Base(words[0].Text)
	if k := slices.IndexFunc(words[1:], func(w Word) bool { return !strings.HasPrefix(w.start(), "-") }); k >= 0 {
		v.ownScript(&c, k+1, st)
	}
	idx := v.emit(c, st)
	command := false
	i := 1
options:
	for ; i < len(words); i++ {
		w := words[i]
		switch {
		case !w.known() && (w.start() == "" || w.start()[0] == '-' || w.start()[0] == '+'):
			v.opaque("a shell with an option that is not known")
			return always(st)
		case w.Text == "--" || w.Text == "-":
			i++
			break options
		case strings.HasPrefix(w.Text, "--"):
			switch w.Text {
			case "--norc", "--noprofile", "--posix", "--noediting", "--verbose", "--restricted", "--version", "--help":
			case "--rcfile", "--init-file":
				i++
				fallthrough
			default:
				v.opaque("a shell with " + w.Text)
			}
		case len(w.Text) > 1 && (w.Text[0] == '-' || w.Text[0] == '+'):
			for _, r := range w.Text[1:] {
				switch r {
				case 'c':
					command = w.Text[0] == '-'
				case 'e', 'u', 'x', 'v', 'f', 'n', 'p':
				case 's':
					if !command {
						return v.shellInput(base, idx, inv, st)
					}
				case 'o', 'O':
					i++
					if i < len(words) {
						switch words[i].Text {
						case "errexit", "pipefail", "nounset", "xtrace", "noglob", "verbose", "nullglob", "globstar", "inherit_errexit":
						default:
							v.opaque("a shell with an option that changes how its text is read")
						}
					}
				default:
					v.opaque("a shell with option " + string(w.Text[0]) + string(r))
				}
			}
		default:
			break options
		}
	}
	switch {
	case command && i >= len(words):
		v.opaque("a shell without its text")
	case command:
		// What xargs adds in the place of $0 may be several words.
		inv.args, inv.hasArgs = words[min(i+2, len(words)):], !slices.ContainsFunc(words[min(i+1, len(words)):], func(w Word) bool { return w.Multi || w.Glob })
		v.shellText(base, words[i], "-c", idx, inv, st)
		v.arguments(idx, words, i+1, st)
	case i < len(words) && standardInput(words[i]):
		return v.shellInput(base, idx, inv, st)
	case i < len(words):
		if words[i].Dynamic || words[i].Glob {
			v.opaque("a shell runs a file that is not known")
		}
		v.file(words[i], st, use{mode: Read, command: idx})
		v.arguments(idx, words, i+1, st)
		v.offer(idx)
		st.fresh = true
	default:
		return v.shellInput(base, idx, inv, st)
	}
	return always(st)
}

// standardInput reports whether a word names what a command reads anyway.
func standardInput(w Word) bool {
	switch path.Clean(w.Text) {
	case "-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0", "/proc/thread-self/fd/0":
		return true
	}
	return false
}

// ownScript adds a reason to a command that runs a file which the text itself has written.
func (v *visitor) ownScript(c *Command, word int, st *state) {
	if v.written(c.Argv[word], st) {
		c.Risks = append(c.Risks, Reason{Kind: KindExec, Text: "runs a file that the text has written", word: word})
	}
}

func (v *visitor) shellInput(base string, idx int, inv invocation, st *state) flow {
	if inv.stdin == nil {
		v.opaque("a shell that reads commands from its input")
		return always(st)
	}
	v.shellText(base, *inv.stdin, "", idx, inv, st)
	return always(st)
}

// shellText visits the text that a shell of that name is given.
func (v *visitor) shellText(base string, w Word, opt string, idx int, inv invocation, st *state) {
	if !w.known() {
		v.opaque("a shell runs text that is not known")
		v.partly(w, by(base, opt), idx, st)
		return
	}
	d := Bash
	switch base {
	case "bash", "rbash":
	case "sh", "dash", "ash":
		for _, s := range []string{"&>", "<(", ">(", "$'", `$"`, "|&", "<<<", "[[", "((", "{", "~+", "~-", "function ", "select ", "=~", "echo -e", `\`} {
			if strings.Contains(w.Text, s) {
				v.opaque("the text of " + base + " uses what shells read in different ways")
				break
			}
		}
	default:
		v.opaque("the text of " + base + " cannot be read here")
	}
	if idx >= 0 {
		v.s.Commands[idx].read = true // its text is judged by itself
	}
	child := st.child()
	child.setArgs(inv.args)
	child.argOK = inv.hasArgs && child.argOK
	v.nest(w.Text, by(base, opt), d, idx, inv.span, child)
	st.fresh = true
}

func by(base, opt string) string { return strings.TrimSpace(base + " " + opt) }

// partly visits a text of which only parts are known, such as what xargs -I{} makes of 'rm {}', for the commands that can
// be seen all the same. The text as a whole is opaque.
func (v *visitor) partly(w Word, by string, idx int, st *state) {
	if strings.Trim(w.Text, string([]rune{Unknown, UnknownWords, ' '})) == "" || w.Glob || gate(ellipsis.Replace(w.Text)) != "" {
		return
	}
	oldParent := v.parent
	v.parent = idx
	v.via = append(v.via, by)
	v.reparse(w.Text, st.child())
	v.via = v.via[:len(v.via)-1]
	v.parent = oldParent
}
