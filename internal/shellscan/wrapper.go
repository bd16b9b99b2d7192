package shellscan

import (
	"path"
	"slices"
	"strings"
)

// wrapper handles programs that run the rest of their arguments. See programs.txt for the flags.
// The options before start belong to the program as a whole.
func (v *visitor) wrapper(p *program, c Command, inv invocation, st *state, start int, before []found) flow {
	switch p.flags["wrap"] {
	case "find":
		return v.find(p, c, inv, st)
	case "fd":
		return v.fd(p, c, inv, st)
	}
	name := path.Base(inv.words[0].Text)
	in := p.parse(inv.words, start, !p.flag("permute"))
	for _, o := range append(before, in.opts...) {
		v.optionRisk(p, o, &c)
	}
	for _, u := range in.unknown {
		if o, ok := v.numeric(inv.words[u].Text, p); !ok {
			v.opaque("an option of " + name + " that is not known: " + o)
		}
	}
	if len(in.dynamic) > 0 && (len(in.operands) == 0 || in.dynamic[0] <= in.operands[0]) && !p.flag("unsure") {
		v.opaque("it is not known what " + name + " runs")
	}
	if p.flag("priv") {
		c.Risks = append(c.Risks, Reason{Kind: KindPrivilege, Text: name + " runs with other rights", word: 0})
	}
	if why := p.flags["opaque"]; p.flag("opaque") {
		v.opaque(name + " " + strings.ReplaceAll(why, "_", " "))
	}
	inner := invocation{span: c.Span, env: c.Env, parent: -1, prog: true, apart: true, stdin: inv.stdin, piped: inv.piped}
	if !inv.piped {
		inner.from = v.pipeIn
	}
	ops := in.operands
	lead := p.number("wrap")
	if p.flag("assign") { // VAR=value words come first
		if len(ops) > 0 && inv.words[ops[0]].Text == "-" {
			ops = ops[1:] // env - is env -i
		}
		for len(ops) > 0 && isAssignment(&inv.words[ops[0]]) {
			w := inv.words[ops[0]]
			key, _, _ := strings.Cut(w.Text, "=")
			inner.env = append(slices.Clip(inner.env), EnvChange{Name: key, Value: w.from(len(key) + 1)})
			ops = ops[1:]
		}
		if len(ops) == 0 && len(inner.env) > 0 {
			inner.env = nil
		}
	}
	if len(ops) > lead {
		c.read = true // what it runs is judged by itself
	}
	if len(ops) > lead && !p.flag("code") {
		c.Free = p.flag("benign") && len(v.s.Opaque) == 0
		if c.Free {
			c.Env = nil // they are judged with what is run
			c.Risks = slices.DeleteFunc(c.Risks, func(r Reason) bool { return r.Kind == KindEnv || r.Kind == KindVariable })
		}
	}
	c.rest = p.flag("unsure")
	idx := v.emit(c, st)
	if c.rest {
		v.codeInside(inv.words, st)
	}
	where := st
	for _, o := range in.opts {
		where = v.wrapperOption(o, name, idx, inv, st, where)
	}
	for i, op := range ops {
		if i < lead {
			v.leadOperand(p, idx, inv.words[op], st)
		}
	}
	if p.flag("chroot") {
		where = where.clone()
		where.dirs = nil
	}
	v.via = append(v.via, name)
	defer func() { v.via = v.via[:len(v.via)-1] }()
	if p.flag("elsewhere") {
		v.away++
		defer func() { v.away-- }()
	}
	inner.parent = idx
	switch {
	case len(ops) <= lead:
		if p.flag("input") && inv.stdin == nil {
			v.opaque(name + " reads commands from its input")
		} else if p.flag("input") {
			v.via = v.via[:len(v.via)-1]
			v.shellText("bash", *inv.stdin, name, idx, inv, st)
			v.via = append(v.via, name)
		}
		if len(ops) == 0 && in.ended == len(inv.words) {
			v.offer(idx)
		}
	case p.flag("lock") && (inv.words[ops[lead]].Text == "-c" || inv.words[ops[lead]].Text == "--command"):
		if len(ops) > lead+1 {
			v.shellText("bash", inv.words[ops[lead+1]], name, idx, inv, where)
		}
	case p.flag("code"): // watch, ssh: the words are joined and given to a shell
		inner.words = inv.words[ops[lead]:]
		v.codeWords(inner.words, name, idx, inv, where)
	default:
		k := ops[lead]
		if strings.Trim(inv.words[k].Text, "0123456789.") == "" {
			v.opaque("it is not known what " + name + " runs") // an option that has a value after all
		}
		if inv.words[k].Text == "--" && k+1 < len(inv.words) {
			k++
		}
		inner.words, inner.offset = slices.Clone(inv.words[k:]), k
		if p.flag("args") {
			v.inputArgs(&in, &inner)
		}
		v.run(inner, where.clone())
	}
	st.fresh = true
	return always(st)
}

// codeInside visits arguments that may be text for a shell, of a program that is opaque.
func (v *visitor) codeInside(words []Word, st *state) {
	for _, w := range words[1:] {
		if strings.ContainsAny(w.Text, " \t\n;&|") && gate(ellipsis.Replace(w.Text)) == "" {
			v.reparse(w.Text, st.child())
		}
	}
}

// numeric accepts forms like "nice -10", which the option table cannot list.
func (v *visitor) numeric(text string, p *program) (string, bool) {
	return text, p.flag("numeric") && len(text) > 1 && strings.Trim(text[1:], "0123456789-") == ""
}

// isAssignment reports whether env takes a word for a variable: whatever has an equals sign.
func isAssignment(w *Word) bool {
	key, _, ok := strings.Cut(w.start(), "=")
	return ok && key != ""
}

func (v *visitor) leadOperand(p *program, idx int, w Word, st *state) {
	switch {
	case p.flag("chroot"):
		v.file(w, st, use{mode: Read | Dir, command: idx})
	case p.flag("lock"):
		v.file(w, st, use{mode: Write, command: idx})
	default:
		v.maybePath(idx, w, st)
	}
}

// wrapperOption handles an option of a wrapper and returns the state that what it runs starts in.
func (v *visitor) wrapperOption(o found, name string, idx int, inv invocation, st, where *state) *state {
	for _, k := range o.kinds {
		switch k {
		case 'r', 'w':
			v.file(o.value, st, use{mode: map[rune]Mode{'r': Read, 'w': Write}[k], command: idx})
		case 'g': // changes the directory
			where = where.clone()
			v.file(o.value, st, use{mode: Read | Dir, command: idx})
			where.dirs = nil
			if o.value.known() && len(st.dirs) > 0 {
				for _, d := range st.dirs {
					res := v.fs.resolve(d, o.value.Text, true)
					if !res.ok {
						where.dirs = nil
						break
					}
					where.dirs = append(where.dirs, res.path)
				}
			}
		case 'C': // a text for the shell
			v.shellText("bash", o.value, name, idx, inv, where)
		case 'S': // env -S splits a string itself
			if o.value.known() && !strings.ContainsAny(o.value.Text, "\\'\"$#{}=") && o.at == len(inv.words)-1 {
				inner := invocation{span: inv.span, env: inv.env, parent: idx, offset: -1, prog: true, apart: true}
				for _, f := range strings.Fields(o.value.Text) {
					inner.words = append(inner.words, constant(f))
				}
				v.run(inner, where.clone())
			} else {
				v.opaque(name + " splits a text into a command")
				v.reparse(o.value.Text, where)
			}
		case 'u':
			v.opaque(name + " " + o.text + " runs what cannot be judged")
		}
	}
	return where
}

// codeWords joins words with blanks and visits them as text of a shell.
func (v *visitor) codeWords(words []Word, by string, idx int, inv invocation, st *state) {
	v.shellText("bash", joinWords(words), by, idx, inv, st)
}

// joinWords is the text that words make with blanks between them.
func joinWords(words []Word) Word {
	var text Word
	var parts []string
	for _, w := range words {
		text.Dynamic = text.Dynamic || !w.known()
		if w.Glob {
			w.Text = globUnknown(w)
		}
		parts = append(parts, w.Text)
	}
	text.Text = strings.Join(parts, " ")
	return text
}

// inputArgs adds the arguments that xargs and parallel take from their input.
func (v *visitor) inputArgs(in *parsed, inner *invocation) {
	mark := ""
	for _, o := range in.opts {
		switch o.name {
		case "-I", "--replace", "-i", "-J":
			if mark = o.value.Text; mark == "" {
				mark = "{}"
			}
		}
	}
	args := dynamicWords()
	if inner.from.Glob {
		args = inner.from
		args.Multi = true
	}
	if mark == "" {
		inner.words = append(inner.words, args)
		return
	}
	for i, w := range inner.words {
		switch {
		case w.Text == mark && args.Glob:
			inner.words[i] = args
		case strings.Contains(w.Text, mark):
			inner.words[i] = Word{Text: strings.ReplaceAll(w.Text, mark, string(Unknown)), Dynamic: true}
		}
	}
}

// find handles find and its actions.
func (v *visitor) find(p *program, c Command, inv invocation, st *state) flow {
	words := inv.words
	i := 1
	for i < len(words) {
		t := words[i].Text
		if t == "-H" || t == "-L" || t == "-P" || strings.HasPrefix(t, "-O") {
			i++
		} else if t == "-D" {
			i += 2
		} else {
			break
		}
	}
	var paths []Word
	for ; i < len(words); i++ {
		s := words[i].start()
		if s == "" && (words[i].Dynamic || words[i].Glob && v.mayBeOption(&words[i], st)) {
			c.Risks = append(c.Risks, Reason{Kind: KindOption, Text: "a word that is not known may be an action of find", word: i})
		}
		if strings.HasPrefix(s, "-") || s == "(" || s == "!" || s == ")" {
			break
		}
		paths = append(paths, words[i])
	}
	names := []Word{}
	type action struct{ from, to int }
	var actions []action
	mode := Read | Dir
	type fileArg struct {
		w Word
		m Mode
	}
	var files []fileArg
	for ; i < len(words); i++ {
		w := &words[i]
		switch w.Text {
		case "-exec", "-execdir", "-ok", "-okdir":
			end := i + 1
			for end < len(words) && words[end].Text != ";" && !(words[end].Text == "+" && words[end-1].Text == "{}") {
				end++
			}
			actions = append(actions, action{i + 1, end})
			i = end
		case "-delete":
			c.Risks = append(c.Risks, Reason{Kind: KindDestructive, Text: "deletes files", word: i})
			mode = Read | Write | Dir | Recursive
		case "-fprint", "-fprint0", "-fls", "-fprintf":
			c.Risks = append(c.Risks, Reason{Kind: KindWrite, Text: w.Text + " writes a file", word: i})
			if i++; i < len(words) {
				files = append(files, fileArg{words[i], Write})
			}
			if w.Text == "-fprintf" {
				i++
			}
		case "-files0-from", "-newer", "-anewer", "-cnewer", "-samefile":
			if i++; i < len(words) {
				files = append(files, fileArg{words[i], Read})
			}
		case "-name", "-iname", "-path", "-ipath", "-wholename":
			if i++; i < len(words) {
				names = append(names, words[i])
			}
		case "-type", "-size", "-mtime", "-atime", "-ctime", "-mmin", "-amin", "-cmin", "-maxdepth", "-mindepth", "-perm", "-user", "-group", "-regex",
			"-iregex", "-regextype", "-printf", "-newermt", "-newerct", "-newerat", "-lname", "-ilname", "-inum", "-links", "-fstype", "-xtype", "-uid", "-gid",
			"-used", "-context":
			i++
		default:
			if !w.known() {
				c.Risks = append(c.Risks, Reason{Kind: KindOption, Text: "a word that is not known may be an action of find", word: i})
			} else if strings.HasPrefix(w.Text, "-newer") {
				i++
			}
		}
	}
	idx := v.emit(c, st)
	follow := slices.ContainsFunc(words, func(w Word) bool { return w.Text == "-L" || w.Text == "-follow" })
	if len(paths) == 0 {
		paths = []Word{constant(".")}
	}
	for _, w := range paths {
		if follow && (len(actions) > 0 || mode&Write != 0) {
			v.file(v.foundBy([]Word{w}, nil), st, use{mode: Read | Dir, command: idx, links: true})
		}
		if mode&Write != 0 && len(names) > 0 {
			v.file(w, st, use{mode: Read | Dir, command: idx})
			v.file(v.foundBy([]Word{w}, names), st, use{mode: Write, command: idx})
			continue
		}
		v.file(w, st, use{mode: mode, command: idx})
	}
	for _, f := range files {
		v.file(f.w, st, use{mode: f.m, command: idx})
	}
	v.via = append(v.via, "find")
	for _, a := range actions {
		where := st.clone()
		if strings.HasSuffix(words[a.from-1].Text, "dir") {
			where.dirs = nil
		}
		inner := invocation{words: slices.Clone(words[a.from:a.to]), span: c.Span, parent: idx, offset: a.from, prog: true, apart: true}
		for i, w := range inner.words {
			switch {
			case w.Text == "{}":
				inner.words[i] = v.foundBy(paths, names)
			case strings.Contains(w.Text, "{}"):
				inner.words[i] = Word{Text: strings.ReplaceAll(w.Text, "{}", string(Unknown)), Dynamic: true}
			}
		}
		if len(inner.words) > 0 {
			v.run(inner, where)
		}
	}
	v.via = v.via[:len(v.via)-1]
	if len(actions) == 0 {
		v.offer(idx)
	} else {
		st.fresh = true
	}
	return always(st)
}

// foundBy is the word that {} stands for: some file below the paths, with a name that the test asks for.
func (v *visitor) foundBy(paths, names []Word) Word {
	base := paths[0].Text
	if len(paths) > 1 || !paths[0].known() {
		if len(paths) > 1 {
			return dynamic()
		}
		base = "."
		if paths[0].Dynamic {
			return dynamic()
		}
	}
	pattern := "*"
	for _, n := range names {
		if n.Dynamic || strings.Contains(n.Text, "/") {
			continue
		}
		w := Word{Text: n.Text, Glob: true, pat: n.Text}
		if v.globSecret(w) || pattern == "*" {
			pattern = n.Text
			if v.globSecret(w) {
				break
			}
		}
	}
	if !strings.HasPrefix(base, "/") && !strings.HasPrefix(base, ".") {
		base = "./" + base
	}
	text := strings.TrimSuffix(base, "/") + "/" + pattern
	if !patternHas(pattern) {
		return Word{Text: text, Glob: true, pat: strings.TrimSuffix(base, "/") + "/*/" + pattern, listed: true}
	}
	return Word{Text: text, Glob: true, pat: text, listed: true}
}

// fd handles fd -x and -X.
func (v *visitor) fd(p *program, c Command, inv invocation, st *state) flow {
	words := inv.words
	at := slices.IndexFunc(words, func(w Word) bool {
		s := w.Text
		return s == "--exec" || s == "--exec-batch" || len(s) > 1 && s[0] == '-' && s[1] != '-' && strings.ContainsAny(s, "xX")
	})
	for i, w := range words[1:] {
		if !w.known() && (w.start() == "" || w.start()[0] == '-') {
			c.Risks = append(c.Risks, Reason{Kind: KindOption, Text: "a word that is not known may be an option of fd", word: i + 1})
		}
		if strings.HasPrefix(w.Text, "--exec") && strings.Contains(w.Text, "=") || len(w.Text) > 2 && w.Text[0] == '-' && w.Text[1] != '-' && strings.ContainsAny(w.Text, "xX") {
			c.Risks = append(c.Risks, Reason{Kind: KindExec, Text: "fd runs a command", word: i + 1})
		}
	}
	idx := v.emit(c, st)
	end := len(words)
	if at > 0 {
		end = at
	}
	v.arguments(idx, words[:end], 2, st)
	if at < 0 {
		v.offer(idx)
		return always(st)
	}
	inner := invocation{words: slices.Clone(words[at+1:]), span: c.Span, parent: idx, offset: at + 1, prog: true, apart: true}
	for i, w := range inner.words {
		if strings.Contains(w.Text, "{") {
			inner.words[i] = dynamic()
		}
	}
	inner.words = append(inner.words, dynamic())
	v.via = append(v.via, "fd")
	if len(inner.words) > 1 {
		v.run(inner, st.clone())
	}
	v.via = v.via[:len(v.via)-1]
	st.fresh = true
	return always(st)
}
