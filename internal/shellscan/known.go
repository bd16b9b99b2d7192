package shellscan

import (
	"path"
	"slices"
	"strings"
)

// known handles a program of the table: which words are files, and which options need to be spelled out by a rule.
func (v *visitor) known(p *program, c Command, inv invocation, st *state) flow {
	words := inv.words
	root, start := p, 1
	var in parsed
	var opts []found
	named := 0
	for p.subs {
		if p.flag("wrap") {
			break
		}
		in = p.parse(words, start, true)
		if len(in.operands) == 0 {
			break
		}
		k := in.operands[0]
		if strings.HasPrefix(words[k].Text, "+") && words[k].known() { // cargo +nightly
			start = k + 1
			continue
		}
		opts = append(opts, in.opts...)
		v.dynamicOptions(root, p, &c, words, in.dynamic, st)
		if !words[k].known() {
			c.Risks = append(c.Risks, Reason{Kind: KindOption, Text: "the subcommand is not known", word: k})
			in.opts, start = nil, k
			break
		}
		sub := v.tables.programs[p.name+" "+words[k].Text]
		if sub == nil {
			in.opts, start = nil, k
			break
		}
		p, start, named = sub, k+1, k
	}
	if kind, ok := p.flags["risk"]; ok && p != root {
		c.Risks = append(c.Risks, Reason{Kind: riskKinds[kind[0]], Text: p.name + ": " + riskTexts[kind[0]], word: named})
	}
	if p.flag("wrap") && p != root {
		return v.wrapper(p, c, inv, st, start, opts)
	}
	in = p.parse(words, start, p.flag("stop"))
	for i := 0; i < len(in.unknown); i++ { // options of the program as a whole
		if o, ok := root.options[optionName(&words[in.unknown[i]])]; ok && p != root && strings.HasPrefix(o.name, "--") {
			again := root.parse(words[:min(in.unknown[i]+2, len(words))], in.unknown[i], false)
			opts = append(opts, again.opts...)
		}
	}
	opts = append(opts, in.opts...)
	v.dynamicOptions(root, p, &c, words, in.dynamic, st)
	ops := in.operands
	if p.subs && len(ops) > 0 {
		ops = ops[1:]
	}
	if do, ok := p.flags["do"]; ok {
		k := call{p, &c, words, &in, opts, ops, st, inv.piped || v.inPipe}
		for _, name := range strings.Split(do, ",") {
			v.special(name, &k)
		}
		opts, ops = k.opts, k.ops
	}
	for _, o := range opts {
		v.optionRisk(p, o, &c)
	}
	for n, letter := range p.operands {
		switch {
		case n >= len(ops):
		case letter == "c":
			c.Risks = append(c.Risks, Reason{Kind: KindCode, Text: p.name + " runs code in another language", word: ops[n]})
		case letter == "s" && v.written(words[ops[n]], st):
			v.ownScript(&c, ops[n], st)
		case letter == "s" && words[ops[n]].Dynamic:
			c.Risks = append(c.Risks, Reason{Kind: KindCode, Text: p.name + " runs a file that is not known", word: ops[n]})
		}
	}
	if p.flag("net") {
		for _, i := range ops {
			if strings.Contains(words[i].Text, "://") || p.flag("hosts") {
				v.url(words[i])
			}
		}
	}
	if why, ok := p.flags["opaque"]; ok {
		v.opaque(words[0].Text + " " + strings.ReplaceAll(why, "_", " "))
	}
	c.rest = p.flag("rest") || p.flag("opaque")
	idx := v.emit(c, st)
	if c.rest {
		v.codeInside(words, st)
	}
	if p.flag("feeds") && inv.stdin != nil {
		v.partly(*inv.stdin, words[0].Text, idx, st)
	}
	where := st
	if root.name == "git" || root.name == "go" {
		where = v.elsewhere(opts, st)
	}
	creates := in.has("-c", "-r", "-u", "-A", "--create", "--append", "--update", "--delete", "--concatenate")
	for _, o := range opts {
		o.writes = creates
		if o.name == "-C" {
			v.optionFiles(o, idx, inv, st)
		} else {
			v.optionFiles(o, idx, inv, where)
		}
	}
	v.operandFiles(p, &in, ops, words, idx, where)
	for _, u := range in.unknown {
		if !p.flag("data") {
			v.maybePath(idx, words[u], st)
		}
	}
	v.after(p, &in, ops, words, where)
	st.fresh = st.fresh || where.fresh
	v.offer(idx)
	return always(st)
}

// elsewhere is the state of a program that was told by -C to work in another directory.
func (v *visitor) elsewhere(opts []found, st *state) *state {
	for _, o := range opts {
		if o.name != "-C" || o.at < 0 {
			continue
		}
		there := st.clone()
		there.dirs = nil
		for _, d := range st.dirs {
			res := v.fs.resolve(d, o.value.Text, true)
			if !res.ok || !o.value.known() {
				there.dirs = nil
				break
			}
			there.dirs = append(there.dirs, res.path)
		}
		st = there
	}
	return st
}

// unpacks reports whether tar takes files out of an archive.
func (v *visitor) unpacks(words []Word, o found) bool {
	for i, w := range words[1:] {
		switch t := w.Text; {
		case strings.HasPrefix(t, "--"):
			if strings.HasPrefix(t, "--ex") && !strings.HasPrefix(t, "--exc") || t == "--get" {
				return true
			}
		case (i == 0 || strings.HasPrefix(t, "-")) && i+1 != o.at && strings.Contains(t, "x"):
			return true
		}
	}
	return false
}

func optionName(w *Word) string {
	name, _, _ := strings.Cut(w.start(), "=")
	return name
}

var riskKinds = map[byte]Kind{'x': KindExec, 'c': KindCode, 'o': KindWrite, 'D': KindDestructive, 'p': KindExec, 'k': KindExec, 'f': KindExec, 'a': KindExec, 'm': KindExec}

var riskTexts = map[byte]string{
	'x': "runs or loads programs", 'c': "runs code in another language", 'o': "writes files", 'D': "may lose data",
	'p': "changes where it works or what it loads", 'k': "changes a setting that can run programs", 'f': "passes options to other programs",
	'a': "sends a file", 'm': "may load a module",
}

func (v *visitor) optionRisk(p *program, o found, c *Command) {
	for i := 0; i < len(o.kinds); i++ {
		k := o.kinds[i]
		kind, ok := riskKinds[k]
		if !ok {
			continue
		}
		if k == 'o' && o.value.known() && (harmlessDevice(o.value.Text) || o.value.Text == "-") {
			continue
		}
		if k == 'k' && harmlessGitConfig(o.value) || k == 'f' && harmlessLinkFlags(o.value) || k == 'a' && !readsFile(o) || k == 'm' && o.value.known() && !strings.Contains(o.value.Text, ":") {
			continue
		}
		c.Risks = append(c.Risks, Reason{Kind: kind, Text: path.Base(c.Argv[0].Text) + " " + o.text + " " + riskTexts[k], word: o.word, size: o.size})
		return
	}
}

// dynamicOptions adds a reason for words that may turn out to be options which a rule must spell out.
func (v *visitor) dynamicOptions(root, p *program, c *Command, words []Word, list []int, st *state) {
	if !p.risky && !root.risky {
		return
	}
	for _, i := range list {
		if words[i].Glob && !words[i].Dynamic && !v.mayBeOption(&words[i], st) {
			continue
		}
		r := Reason{Kind: KindOption, Text: "a word that is not known may be an option of " + p.name, word: i}
		if !slices.Contains(c.Risks, r) {
			c.Risks = append(c.Risks, r)
		}
	}
}

// mayBeOption reports whether a pattern can find a file whose name begins with a dash.
func (v *visitor) mayBeOption(w *Word, st *state) bool {
	if s := w.start(); s != "" {
		return s[0] == '-'
	}
	if _, ok := v.s.opts.Lookup.(DirLookup); !ok || st.fresh || st.dirs == nil {
		return true
	}
	if w.listed {
		return true
	}
	_, names := v.globbed(*w, st)
	return slices.ContainsFunc(names, func(n string) bool { return n[0] == '-' })
}

// optionFiles records the files that options name.
func (v *visitor) optionFiles(o found, idx int, inv invocation, st *state) {
	if o.at < 0 {
		return
	}
	used := false
	for _, k := range o.kinds {
		switch k {
		case 'r':
			v.file(o.value, st, use{mode: Read, command: idx})
		case 'w':
			v.file(o.value, st, use{mode: Write, command: idx})
		case 'd', 'g':
			v.file(o.value, st, use{mode: Read | Dir, command: idx})
		case 'W':
			v.file(o.value, st, use{mode: Write | Dir, command: idx, into: true})
		case 'e': // a directory that an archive is unpacked in, or packed from
			u := use{mode: Read | Dir, command: idx}
			if o.writes = v.unpacks(inv.words, o); o.writes {
				u.mode = Write | Recursive
			}
			v.file(o.value, st, u)
		case 'G':
			g := o.value
			if g.pat == "" {
				g.pat = g.Text
			}
			if v.globSecret(g) {
				v.file(Word{Text: g.Text, Glob: true, pat: g.pat, listed: true}, st, use{mode: Read, command: idx})
			}
		case 'v': // host:container
			if host := o.value.before(':'); strings.ContainsAny(host.Text, "/~.") || host.Dynamic {
				v.file(host, st, use{mode: Read | Write | Dir, command: idx})
			}
		case 'z': // an archive
			u := use{mode: Read, command: idx}
			if o.writes {
				u.mode = Write
			}
			v.file(o.value, st, u)
		case 'C':
			v.shellText("bash", o.value, path.Base(inv.words[0].Text)+" "+o.text, idx, inv, st)
		case 'u':
			v.opaque(inv.words[0].Text + " " + o.text + " runs what cannot be judged")
		case '.', '@':
			if k == '@' && strings.HasPrefix(o.value.Text, "@") {
				v.file(o.value.from(1), st, use{mode: Read, command: idx})
			} else if k == '@' {
				if i := strings.IndexByte(o.value.Text, '@'); i > 0 && o.value.Text[i-1] == '=' {
					v.file(o.value.from(i+1), st, use{mode: Read, command: idx})
				}
			}
		default:
			continue
		}
		used = true
	}
	if !used {
		v.maybePath(idx, o.value, st)
	}
}

// operandFiles records the files that operands name, by the table: a letter for each, a star repeats it, and what follows
// the star is for the last ones.
func (v *visitor) operandFiles(p *program, in *parsed, ops []int, words []Word, idx int, st *state) {
	spec := p.operands
	if len(spec) > 0 && len(spec[0]) > 2 && spec[0][1] == '?' { // not there when one of the options is
		if in.has(strings.Split(spec[0][2:], ",")...) {
			spec = spec[1:]
		}
	}
	star := slices.IndexFunc(spec, func(s string) bool { return len(s) == 2 && s[1] == '*' })
	tail := 0
	if star >= 0 {
		tail = len(spec) - star - 1
	}
	for n, i := range ops {
		letter := byte(0)
		switch fromEnd := len(ops) - n; {
		case star < 0 && n < len(spec), star >= 0 && n < star:
			letter = spec[n][0]
		case star >= 0 && fromEnd <= tail && !in.has("-t", "--target-directory") && len(ops) > 1:
			letter = spec[len(spec)-fromEnd][0]
		case star >= 0:
			letter = spec[star][0]
		}
		if makes := strings.HasSuffix(p.name, "install") && in.has("-d", "--directory"); makes && p.flag("dest") {
			letter = 'D'
		}
		w := words[i]
		u := use{command: idx}
		switch letter {
		case '.', 'c':
			continue
		case 'r', 's':
			u.mode = Read
			if p.flag("walks") || letter == 'r' && in.has("-r", "-R", "--recursive") {
				u.mode |= Recursive
			}
		case 'R':
			u.mode = Read
			if !p.flag("dest") || in.has("-r", "-R", "-a", "--recursive", "--archive") {
				u.mode |= Recursive
			}
		case 'd':
			u.mode = Read | Dir
			if w.Glob {
				u.mode, u.noFollow = Read, true
			}
		case 'w':
			u.mode = Write
		case 'i': // written only with the option
			u.mode = Read
			if in.has("-i", "--in-place") {
				u.mode = Write
				u.noFollow = !in.has("--follow-symlinks") && strings.HasSuffix(p.name, "sed")
			}
		case 'W':
			u.mode = Write
			if in.has("-R", "-r", "--recursive") || !p.flag("destructive") && p.options["-R"].name == "" {
				u.mode |= Recursive
			}
		case 'D':
			u.mode = Write | Dir
		case 'm': // the name itself is removed
			u.mode, u.noFollow = Write|Recursive, true
		default:
			v.maybePath(idx, w, st)
			continue
		}
		if p.flag("dest") && letter == 'w' {
			v.destination(w, in, ops[:len(ops)-1], words, idx, st)
			continue
		}
		v.file(w, st, u)
	}
	if !p.flag("dest") {
		return
	}
	for _, o := range in.opts {
		if o.name == "-t" || o.name == "--target-directory" {
			v.destination(o.value, in, ops, words, idx, st)
			return
		}
	}
	if len(ops) > 0 && words[ops[len(ops)-1]].Glob {
		v.lastFound(in, ops, words, idx, st)
	}
	if len(ops) == 1 && strings.HasSuffix(p.name, "ln") {
		v.destination(constant("./"), in, ops, words, idx, st)
	}
}
