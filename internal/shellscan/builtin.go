package shellscan

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// builtin handles the commands that change the state of this shell, or run text in it.
func (v *visitor) builtin(name string, c *Command, inv invocation, st *state) (flow, bool) {
	words := inv.words
	simple := func() int {
		idx := v.emit(*c, st)
		v.offer(idx)
		return idx
	}
	switch name {
	case ":", "true", "false", "pwd":
		c.Free, c.read = true, true
		simple()
	case "shift":
		c.Free, c.read = true, true
		simple()
		n := 1
		if len(words) > 1 {
			if n = -1; words[1].known() && len(words[1].Text) == 1 && words[1].Text[0] >= '0' && words[1].Text[0] <= '9' {
				n = int(words[1].Text[0] - '0')
			}
		}
		st.shift(n)
	case "wait":
		c.Free, c.read = true, true
		simple()
		v.names(words, "p", nil, st)
	case "test", "[":
		c.Free, c.read = true, true
		simple()
		v.testWords(words)
	case "exit", "return", "break", "continue":
		c.Free, c.read = true, true
		simple()
		if name != "exit" {
			v.escapes = append(v.escapes, escape{st.clone(), name == "return"})
		}
		d := st.clone()
		d.dead = true
		return always(d), true
	case "cd", "chdir":
		return v.cd(c, inv, st), true
	case "pushd":
		f := v.cd(c, inv, st)
		f.ok.prev = nil
		return f, true
	case "popd":
		c.Free, c.read = true, true
		simple()
		st.ensure()
		st.dirs, st.prev = nil, nil
	case "type":
		c.Free, c.read = true, true
		simple()
	case "dirs", "jobs", "times", "help", "caller", "compgen", "suspend", "bg", "fg", "disown":
		c.read = name != "suspend" && !strings.HasSuffix(name, "g") && name != "disown" && name != "compgen"
		simple()
		if name == "compgen" {
			v.opaque("compgen")
		}
	case "echo":
		c.read = true
		simple()
	case "printf":
		c.read = true
		if len(words) > 1 && strings.HasPrefix(words[1].Text, "-v") {
			c.read = false
			v.names(words, "v", nil, st)
		} else if len(words) > 1 && words[1].Multi {
			c.Risks = append(c.Risks, Reason{Kind: KindOption, Text: "a word that is not known may be -v", word: 1})
		}
		simple()
	case "read":
		c.read, c.Free = true, v.plainRead(words)
		simple()
		v.names(words, "a", []string{"REPLY"}, st)
		if last := words[len(words)-1]; v.pipeIn.Glob && !inv.piped && validName(last) && v.envKind(last.Text) != envSensitive &&
			(len(words) == 2 || len(words) == 3 && words[1].Text == "-r") {
			st.assign(last.Text, listedAtoms(v.pipeIn))
		}
	case "mapfile", "readarray", "getopts":
		c.read = true
		simple()
		v.names(words, "", []string{"MAPFILE"}, st)
		if slices.ContainsFunc(words, func(w Word) bool { return strings.HasPrefix(w.Text, "-") && strings.Contains(w.Text, "C") }) {
			v.opaque("mapfile runs a command")
			v.codeInside(words, st)
		}
	case "unset":
		c.read = true
		simple()
		v.unset(words, st)
	case "export", "readonly", "declare", "typeset", "local":
		v.declWords(name, words, c, st)
	case "let":
		simple()
		v.opaque("let")
		for _, w := range words[1:] {
			v.hidden(w.Text, st)
		}
		st.forget()
	case "set":
		c.read, c.Free = true, len(words) > 1
		for i, w := range words[1:] {
			c.Free = c.Free && w.known() && (strictOptions.MatchString(w.Text) || i > 0 && strictNames[w.Text] && strings.HasSuffix(words[i].Text, "o"))
		}
		simple()
		v.set(words, st)
	case "shopt":
		c.read = true
		simple()
		for _, w := range words[1:] {
			switch w.Text {
			case "-s", "-u", "-q", "-p", "nullglob", "failglob", "globstar", "inherit_errexit":
			default:
				v.opaque("shopt changes how later text is read")
			}
		}
	case "eval":
		return v.eval(c, inv, st), true
	case ".", "source":
		idx := simple()
		if len(words) > 1 {
			v.file(words[1], st, use{mode: Read, command: idx})
		}
		v.opaque(name + " runs a file in this shell")
		dirs := st.dirs
		st.forget()
		if len(words) > 1 && words[1].known() {
			st.dirs = dirs // scripts that set up an environment stay where they are; the text is opaque all the same
		}
	case "trap":
		v.trap(c, words, st)
	case "alias", "unalias":
		simple()
		for _, w := range words[1:] {
			if _, code, ok := strings.Cut(w.Text, "="); ok || w.Dynamic {
				v.opaque("alias changes what later text means")
				v.reparse(code, st)
			}
		}
	case "hash", "enable", "complete", "bind", "fc", "history", "compopt":
		simple()
		if len(words) > 1 {
			v.opaque(name + " changes what later text means")
			v.codeInside(words, st)
			v.arguments(-1, words, 1, st)
		}
	case "command":
		if len(words) > 1 && (words[1].Text == "-v" || words[1].Text == "-V") {
			c.Free, c.read = true, true
			simple()
			return always(st), true
		}
		return v.passOn(c, inv, st, "p", false), true
	case "builtin":
		return v.passOn(c, inv, st, "", false), true
	case "exec":
		if len(words) == 1 {
			c.Free = true
			simple()
			return always(st), true
		}
		return v.passOn(c, inv, st, "cla", true), true
	default:
		return flow{}, false
	}
	return always(st), true
}

func validName(w Word) bool { return w.known() && syntax.ValidName(w.Text) }

// testWords finds forms of test that evaluate a subscript: -v and -R, or words that may turn out to be these.
func (v *visitor) testWords(words []Word) {
	for i, w := range words[1:] {
		next := Word{Text: "]"}
		if i+2 < len(words) {
			next = words[i+2]
		}
		switch {
		case (w.Text == "-v" || w.Text == "-R") && next.Text != "]" && !validName(next), w.Multi, w.Glob,
			w.Dynamic && !(next.known() && testOperators[next.Text]):
			v.opaque("a test that may evaluate its operand")
		}
	}
}

var testOperators = map[string]bool{
	"]": true, ")": true, "=": true, "==": true, "!=": true, "<": true, ">": true, "-a": true, "-o": true, "-eq": true, "-ne": true, "-lt": true, "-le": true,
	"-gt": true, "-ge": true, "-nt": true, "-ot": true, "-ef": true,
}

// names handles builtins that assign to variables they are given: after the option letter, or as operands. A name that is
// none may hold a subscript, which is evaluated.
func (v *visitor) names(words []Word, letter string, otherwise []string, st *state) {
	operands := 0
	skip := map[string]string{"read": "dinNptu", "mapfile": "dnOsucC", "readarray": "dnOsucC"}[words[0].Text]
	for i := 1; i < len(words); i++ {
		w := words[i]
		switch {
		case w.Text == "--":
		case operands == 0 && len(w.Text) > 1 && w.Text[0] == '-' && w.known():
			last := w.Text[len(w.Text)-1:]
			if letter != "" && strings.Contains(w.Text, letter) {
				rest := w.Text[strings.Index(w.Text, letter)+1:]
				if rest == "" && i+1 < len(words) {
					i++
					v.setName(words[i], st)
				} else {
					v.setName(constant(rest), st)
				}
				if words[0].Text == "printf" {
					return
				}
			} else if strings.Contains(skip, last) {
				i++
			}
		default:
			operands++
			if words[0].Text == "wait" {
				continue
			}
			if words[0].Text == "getopts" && operands != 2 {
				continue
			}
			v.setName(w, st)
		}
	}
	if operands == 0 {
		for _, n := range otherwise {
			st.assign(n, nil)
		}
	}
	if words[0].Text == "getopts" {
		st.assign("OPTARG", nil)
		st.assign("OPTIND", nil)
	}
}

func (v *visitor) setName(w Word, st *state) {
	if !validName(w) {
		v.opaque("a variable name that is evaluated")
		v.hidden(w.Text, st)
		st.forget()
		return
	}
	v.noteVar(w.Text, Word{}, st)
}

func (v *visitor) unset(words []Word, st *state) {
	st.ensure()
	functions := false
	for _, w := range words[1:] {
		switch {
		case w.Text == "-f":
			functions = true
		case w.Text == "-v", w.Text == "--":
		case w.known() && (functions || st.funcs[w.Text] != nil && !st.set[w.Text]):
			delete(st.funcs, w.Text)
		default:
			v.setName(w, st)
		}
	}
}

// strictOptions and strictNames are options of set that make a text stop at errors or
// show what it does, and nothing else.
var (
	strictOptions = regexp.MustCompile(`^[-+][euxv]*[euxvo]$`)
	strictNames   = map[string]bool{"errexit": true, "nounset": true, "pipefail": true, "xtrace": true, "verbose": true}
)

// plainRead reports whether read does nothing but fill variables that mean nothing to
// any program.
func (v *visitor) plainRead(words []Word) bool {
	for i := 1; i < len(words); i++ {
		w := words[i]
		switch {
		case !w.known():
			return false
		case w.Text == "-r" || w.Text == "-s" || w.Text == "-rs" || w.Text == "-a" || w.Text == "-ra":
		case w.Text == "-p" || w.Text == "-d" || w.Text == "-n" || w.Text == "-t" || w.Text == "-rp":
			i++ // its operand says nothing
		case !validName(w) || v.envKind(w.Text) == envSensitive:
			return false
		}
	}
	return true
}

// set allows the options that do not change how text is read.
func (v *visitor) set(words []Word, st *state) {
	for i := 1; i < len(words); i++ {
		w := words[i]
		if w.Text == "--" {
			st.setArgs(words[i+1:])
			return
		}
		st.shift(-1)
		if w.Text == "-" {
			return
		}
		if !w.known() || len(w.Text) < 2 || w.Text[0] != '-' && w.Text[0] != '+' {
			if !w.known() && !strings.HasPrefix(w.start(), "-") && w.start() != "" {
				return
			}
			if w.known() {
				return // positional parameters
			}
			v.opaque("set changes how later text is read")
			return
		}
		for _, r := range w.Text[1:] {
			switch r {
			case 'e':
				st.errex = w.Text[0] == '-'
			case 'u', 'x', 'f', 'v':
			case 'o':
				if i++; i >= len(words) {
					return
				}
				switch words[i].Text {
				case "errexit":
					st.errex = w.Text[0] == '-'
				case "pipefail", "nounset", "xtrace", "noglob", "verbose":
				default:
					v.opaque("set changes how later text is read")
				}
			default:
				v.opaque("set changes how later text is read")
			}
		}
	}
}

func (v *visitor) trap(c *Command, words []Word, st *state) {
	c.Free = len(words) > 2 && words[1].Text == "-"
	v.emit(*c, st)
	if len(words) < 3 || words[1].Text == "-" || words[1].Text == "" && words[1].known() || words[1].Text == "-p" || words[1].Text == "-l" {
		return
	}
	code := words[1]
	if code.Text == "--" && len(words) > 3 {
		code = words[2]
	}
	v.opaque("trap runs code later")
	if !code.known() {
		return
	}
	later := st.clone()
	later.ensure()
	clear(later.vars)
	later.shift(-1)
	v.reparse(code.Text, later)
}

func (v *visitor) eval(c *Command, inv invocation, st *state) flow {
	words := inv.words
	if len(words) > 1 && words[1].Text == "--" {
		words = append(slices.Clone(words[:1]), words[2:]...)
	}
	c.read = true
	idx := v.emit(*c, st)
	text := joinWords(words[1:])
	if !text.known() {
		v.opaque("eval of text that is not known")
		v.partly(text, "eval", idx, st)
		st.forget()
		return always(st)
	}
	return v.nest(text.Text, "eval", v.dialect, idx, c.Span, st)
}

// passOn handles command, builtin and exec: options of the letters given, then a command.
func (v *visitor) passOn(c *Command, inv invocation, st *state, letters string, prog bool) flow {
	words := inv.words
	i := 1
	for ; i < len(words); i++ {
		w := words[i]
		if w.Text == "--" {
			i++
			break
		}
		if w.known() && (w.Text == "" || w.Text[0] != '-') || !w.known() && w.start() != "" && w.start()[0] != '-' {
			break
		}
		if !w.known() || len(w.Text) < 2 || strings.Trim(w.Text[1:], letters) != "" {
			if !w.known() && w.start() == "" {
				break // the name itself is not known
			}
			v.opaque("an option of " + words[0].Text + " that is not known")
		}
		if strings.HasSuffix(w.Text, "a") && words[0].Text == "exec" {
			i++
		}
	}
	if i >= len(words) {
		c.Free = true
		v.emit(*c, st)
		return always(st)
	}
	c.Free = true
	idx := v.emit(*c, st)
	inner := invocation{words: words[i:], env: c.Env, span: c.Span, parent: idx, offset: i, noFunc: true, prog: prog, stdin: inv.stdin, piped: inv.piped}
	v.via = append(v.via, words[0].Text)
	f := v.run(inner, st)
	v.via = v.via[:len(v.via)-1]
	return f
}

// cd moves the state to another directory; when it fails the old one stays.
func (v *visitor) cd(c *Command, inv invocation, st *state) flow {
	c.Free, c.read = true, true
	idx := v.emit(*c, st)
	words := inv.words[1:]
	physical := false
	for len(words) > 0 && words[0].known() {
		if t := words[0].Text; t == "--" {
			words = words[1:]
			break
		} else if len(t) < 2 || t[0] != '-' || strings.Trim(t[1:], "LPe@n") != "" {
			break
		} else if strings.Contains(t, "P") {
			physical = true
		}
		words = words[1:]
	}
	old := st.clone()
	next := st.clone()
	next.ensure()
	target := Word{Text: v.s.opts.Home}
	if home, ok := v.value("HOME", st); ok {
		target = home.word()
	} else if len(words) == 0 {
		target = dynamic()
	}
	if len(words) > 0 {
		target = words[0]
	}
	for _, e := range inv.env {
		switch e.Name {
		case "HOME", "CDPATH", "PWD", "OLDPWD":
			target = dynamic()
		}
	}
	next.prev = st.dirs
	switch {
	case target.Text == "-" && target.known():
		next.dirs = st.prev
		if st.prev == nil {
			v.file(dynamic(), st, use{mode: Read | Dir, command: idx})
		}
		return flow{next, old}
	case target.Text == "" && target.known():
		return always(st)
	case !target.known() || st.cdOff || strings.HasPrefix(target.Text, "+") && c.name != "cd" || strings.HasPrefix(target.Text, "-"):
		next.dirs = nil
		if !target.known() || st.cdOff {
			target = dynamic()
		}
		v.file(target, st, use{mode: Read | Dir, command: idx})
		return flow{next, old}
	}
	v.file(target, st, use{mode: Read | Dir, command: idx})
	bases := st.dirs
	if target.Text[0] == '/' {
		bases = []string{"/"}
	}
	next.dirs = nil
	for _, b := range bases {
		logical := path.Clean(target.Text)
		if target.Text[0] != '/' {
			logical = path.Join(b, target.Text)
		}
		real := v.fs.resolve(b, target.Text, true)
		byName := v.fs.resolve("/", logical, true)
		if !real.ok || !byName.ok || slices.ContainsFunc(v.moved, func(m string) bool { return within(real.path, m) }) {
			next.dirs = nil
			return flow{next, old}
		}
		dirs := []string{logical}
		if physical || real.path != byName.path && !byName.exists {
			dirs = append(dirs, real.path) // bash falls back to the name as it is written
		}
		if next.dirs == nil {
			next.dirs = dirs
		} else {
			next.dirs = union(next.dirs, dirs)
		}
	}
	return flow{next, old}
}
