package shellscan

import (
	"path"
	"slices"
	"strings"
)

// A call is a command of a known program while it is looked at.
type call struct {
	p     *program
	c     *Command
	words []Word
	in    *parsed
	opts  []found
	ops   []int // operands, the subcommand taken off
	st    *state
	piped bool
}

func (k *call) risk(kind Kind, text string, word, size int) {
	k.c.Risks = append(k.c.Risks, Reason{Kind: kind, Text: text, word: word, size: size})
}

// special does what a table of options cannot tell about a program. programs.txt names it with do=.
func (v *visitor) special(name string, k *call) {
	switch name {
	case "sed":
		v.sed(k)
	case "awk":
		v.awk(k)
	case "kill":
		v.kill(k)
	case "git":
		v.git(k)
	case "config":
		v.gitConfig(k)
	case "checkout":
		v.gitCheckout(k)
	case "restore":
		v.gitRestore(k)
	case "remote":
		v.remoteFile(k)
	case "uniq":
		v.uniq(k)
	case "clock":
		v.clock(k)
	case "jq":
		v.jq(k)
	case "old":
		v.oldOptions(k)
	case "code":
		v.inlineOperand(k)
	case "script":
		v.scriptOperand(k)
	case "pkg":
		v.packageVersion(k)
	case "argfile":
		v.argFile(k)
	case "input":
		v.inputCode(k)
	}
}

// harmlessGitConfig lists settings that git -c may have without a question.
func harmlessGitConfig(w Word) bool {
	key, _, _ := strings.Cut(strings.ToLower(w.start()), "=")
	switch key {
	case "user.name", "user.email", "init.defaultbranch", "core.quotepath", "core.autocrlf", "core.eol", "core.abbrev", "advice.detachedhead",
		"diff.renames", "diff.renamelimit", "log.date", "log.decorate", "pull.rebase", "pull.ff", "merge.conflictstyle", "push.default", "commit.gpgsign",
		"tag.gpgsign", "rebase.autostash":
		return !w.Dynamic
	}
	return (strings.HasPrefix(key, "color.") || strings.HasPrefix(key, "advice.") || strings.HasPrefix(key, "column.")) && !w.Dynamic
}

// harmlessLinkFlags reports whether the linker is only told what to leave out and which strings to set.
func harmlessLinkFlags(w Word) bool {
	fields := strings.Fields(w.Text)
	for i := 0; i < len(fields); i++ {
		switch f := strings.Trim(fields[i], `'"`); {
		case f == "-s", f == "-w", strings.HasPrefix(f, "-X="):
		case f == "-X":
			i++
		default:
			return false
		}
	}
	return !w.Dynamic
}

// readsFile reports whether the value of an option like curl -d names a file.
func readsFile(o found) bool {
	t := o.value.Text
	return !o.value.known() || strings.HasPrefix(t, "@") || strings.HasPrefix(t, "<") || strings.Contains(t, "=@") || strings.Contains(t, "=<") ||
		strings.Contains(o.name, "urlencode") && strings.Contains(t, "@")
}

func (v *visitor) git(k *call) {
	if k.in.has("--no-index") {
		for _, i := range k.ops {
			v.file(k.words[i], k.st, use{mode: Read, command: len(v.s.Commands)})
		}
	}
	for _, o := range k.opts {
		if _, code, ok := strings.Cut(o.value.Text, "=!"); ok && o.name == "-c" {
			v.reparse(code, k.st)
		}
	}
	for _, i := range k.ops {
		if strings.Contains(k.words[i].Text, "://-") {
			k.risk(KindExec, "an option in the place of a host", i, 0)
		}
		if t := k.words[i].Text; strings.Contains(t, "::") && !strings.HasPrefix(t, ":") {
			if scheme, _, _ := strings.Cut(t, "::"); strings.Trim(scheme, "abcdefghijklmnopqrstuvwxyz-") == "" {
				k.risk(KindExec, "git runs a remote helper", i, 0)
			}
		}
		if strings.HasPrefix(k.words[i].Text, "+") && strings.HasSuffix(k.p.name, "push") {
			k.risk(KindDestructive, "git push +ref overwrites", i, 0)
		}
		if strings.HasPrefix(k.words[i].Text, ":") && strings.HasSuffix(k.p.name, "push") {
			k.risk(KindDestructive, "git push :ref deletes", i, 0)
		}
	}
}

func (v *visitor) gitConfig(k *call) {
	read := k.in.has("--get", "--get-all", "--get-regexp", "--get-urlmatch", "--list", "-l", "--name-only", "--show-origin", "--show-scope", "--get-color", "--get-colorbool")
	write := k.in.has("--unset", "--unset-all", "--add", "--replace-all", "--rename-section", "--remove-section", "--edit", "-e")
	if len(k.ops) > 0 {
		switch k.words[k.ops[0]].Text {
		case "get", "list":
			read = true
		case "set", "unset", "rename-section", "remove-section", "edit":
			write = true
		}
	}
	if write || !read && len(k.ops) != 1 || !read && len(k.ops) == 1 && !k.words[k.ops[0]].known() {
		at := 1
		for i, w := range k.words {
			if w.Text == "config" {
				at = i
				break
			}
		}
		if len(k.ops) > 0 {
			at = k.ops[0]
		}
		k.risk(KindExec, "git config changes a setting", at, 0)
	}
}

// gitCheckout marks the forms that throw away changes.
func (v *visitor) gitCheckout(k *call) {
	if k.in.ended < len(k.words) && k.words[k.in.ended].Text == "--" {
		k.risk(KindDestructive, k.p.name+" -- throws away changes", k.in.ended, 0)
		return
	}
	for _, i := range k.ops {
		if t := k.words[i].Text; t == "." || strings.HasPrefix(t, "./") || strings.HasPrefix(t, ":/") {
			k.risk(KindDestructive, k.p.name+" of a path throws away changes", i, 0)
		}
	}
}

// gitRestore marks git restore unless it only takes files out of the index.
func (v *visitor) gitRestore(k *call) {
	if k.in.has("-S", "--staged") && !k.in.has("-W", "--worktree") {
		return
	}
	for i, w := range k.words {
		if w.Text == "restore" {
			k.risk(KindDestructive, "git restore throws away changes", i, 0)
			return
		}
	}
}

// remoteFile handles programs for which host:path is somewhere else.
func (v *visitor) remoteFile(k *call) {
	for _, i := range k.ops {
		if before, _, ok := strings.Cut(k.words[i].Text, ":"); ok && before != "" && !strings.Contains(before, "/") {
			k.risk(KindExec, k.p.name+" reaches another machine", i, 0)
			v.url(k.words[i])
		}
	}
}

func (v *visitor) uniq(k *call) {
	if len(k.ops) > 1 {
		k.risk(KindWrite, "the second operand of "+k.p.name+" is written", k.ops[1], 0)
	}
}

// clock marks date and hostname when they set what they are asked for.
func (v *visitor) clock(k *call) {
	for _, i := range k.ops {
		if !strings.HasPrefix(k.words[i].Text, "+") {
			k.risk(KindWrite, k.p.name+" changes the system", i, 0)
		}
	}
}

// jq handles options that take two words: --rawfile NAME FILE.
func (v *visitor) jq(k *call) {
	for _, o := range k.in.opts {
		second := o.at + 1
		switch o.name {
		case "--arg", "--argjson", "--rawfile", "--slurpfile":
			if o.at < 0 || second >= len(k.words) {
				continue
			}
			k.ops = slices.DeleteFunc(slices.Clone(k.ops), func(i int) bool { return i == second })
			if strings.HasSuffix(o.name, "file") {
				v.file(k.words[second], k.st, use{mode: Read, command: len(v.s.Commands)})
			}
		}
	}
}

// oldOptions handles tar's and ar's first word, which has options without a dash.
func (v *visitor) oldOptions(k *call) {
	if len(k.words) < 2 || strings.HasPrefix(k.words[1].Text, "-") || !k.words[1].known() {
		v.remoteArchive(k)
		return
	}
	letters := k.words[1].Text
	if strings.Trim(letters, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" {
		return
	}
	next := 2
	defer v.remoteArchive(k)
	for _, r := range letters {
		o, ok := k.p.options["-"+string(r)]
		if !ok {
			continue
		}
		f := found{option: o, word: 1, at: -1, text: string(r)}
		if o.value == ':' && next < len(k.words) {
			f.value, f.at = k.words[next], next
			k.ops = slices.DeleteFunc(slices.Clone(k.ops), func(i int) bool { return i == next })
			next++
		}
		k.opts = append(k.opts, f)
		k.in.opts = append(k.in.opts, f)
	}
	k.ops = slices.DeleteFunc(slices.Clone(k.ops), func(i int) bool { return i == 1 })
}

// remoteArchive marks tar f host:file, which starts a remote shell.
func (v *visitor) remoteArchive(k *call) {
	for _, o := range k.opts {
		if code, ok := strings.CutPrefix(o.value.Text, "exec="); ok {
			v.reparse(code, k.st)
		}
		if host, _, ok := strings.Cut(o.value.Text, ":"); ok && (o.name == "-f" || o.name == "--file") && !strings.Contains(host, "/") {
			k.risk(KindExec, "the archive is on another machine", o.at, 0)
		}
	}
}

// kill asks when the target is this process, process 1, or not known to be neither.
func (v *visitor) kill(k *call) {
	for i, w := range k.words[1:] {
		i++
		t := strings.TrimPrefix(w.Text, "-")
		named := k.p.name != "kill" && slices.ContainsFunc(v.s.opts.Self, func(s string) bool { return t != "" && strings.Contains(s, t) && w.Text[0] != '-' })
		if t == "1" && (i > 1 || len(k.words) == 2) || slices.Contains(v.s.opts.Self, t) || named {
			k.risk(KindDestructive, "the target may be the host of this session", i, 0)
			v.s.opaque(KindHost, "a signal to the host of this session")
		}
	}
}

// inlineOperand marks programs whose first operand is code.
func (v *visitor) inlineOperand(k *call) {
	if len(k.ops) > 0 {
		k.risk(KindCode, k.p.name+" runs code in another language", k.ops[0], 0)
	}
}

// scriptOperand marks interpreters that read a program from their input.
func (v *visitor) scriptOperand(k *call) {
	if k.in.has("-i") && k.in.has("-e", "-E", "-n", "-p") { // perl -pi -e code files
		for _, i := range k.ops {
			v.file(k.words[i], k.st, use{mode: Write, noFollow: true, command: len(v.s.Commands)})
		}
	}
	if len(k.ops) > 0 && !standardInput(k.words[k.ops[0]]) {
		return
	}
	if k.in.has("-c", "-e", "-m", "-p", "--eval", "--print", "--version", "-V", "-v", "--help", "-h", "-r", "--test", "-E", "-le", "-ne", "-pe") {
		return
	}
	k.risk(KindCode, k.p.name+" runs a program from its input", -1, 0)
}

// argFile marks words that stand for the options in a file.
func (v *visitor) argFile(k *call) {
	for i, w := range k.words[1:] {
		if strings.HasPrefix(w.Text, "@") {
			k.risk(KindExec, k.p.name+" takes options from a file", i+1, 0)
		}
	}
}

// inputCode marks programs that take commands from their input.
func (v *visitor) inputCode(k *call) {
	if k.piped {
		k.risk(KindCode, k.p.name+" runs code from its input", -1, 0)
	}
}

// packageVersion marks go run pkg@version, which fetches what it runs.
func (v *visitor) packageVersion(k *call) {
	if len(k.ops) > 0 && strings.Contains(k.words[k.ops[0]].Text, "@") {
		k.risk(KindExec, k.p.name+" fetches what it runs", k.ops[0], 0)
	}
}

// awk judges the program text: most of them only print.
func (v *visitor) awk(k *call) {
	if k.in.has("-f", "--file", "-E", "--exec", "-i", "--include", "-l", "--load", "-e", "--source") || len(k.ops) == 0 {
		return
	}
	w := k.words[k.ops[0]]
	if !w.known() {
		k.risk(KindCode, "the program of awk is not known", k.ops[0], 0)
		return
	}
	if !harmlessAwk(w.Text) {
		k.risk(KindCode, "the program of awk may run commands or touch files", k.ops[0], 0)
	}
}

// harmlessAwk reports whether a program neither runs anything nor touches a file that is not an operand.
func harmlessAwk(prog string) bool {
	var b strings.Builder
	last := byte('\n')
	parens, braces := 0, 0
	for i := 0; i < len(prog); i++ {
		c := prog[i]
		switch {
		case c == '"':
			for i++; i < len(prog) && prog[i] != '"'; i++ {
				if prog[i] == '\\' {
					i++
				}
			}
		case c == '/' && strings.IndexByte("(,{;!&|~\n}", last) >= 0:
			end := awkRegexp(prog, i+1)
			if end < 0 {
				return false
			}
			i = end
		case c == '#' || c == '@' || c == '`':
			return false
		case c == '(':
			parens++
		case c == ')':
			parens--
		case c == '{':
			braces++
		case c == '}':
			braces--
		case c == '>' && parens <= 0 && braces > 0: // elsewhere it compares
			return false
		}
		b.WriteByte(c)
		if c != ' ' && c != '\t' {
			last = c
		}
	}
	text := b.String()
	for _, word := range []string{"system", "getline", "ARGV", "ARGC"} {
		if strings.Contains(text, word) {
			return false
		}
	}
	return !strings.Contains(strings.ReplaceAll(text, "||", ""), "|")
}

// awkRegexp returns the index of the slash that ends a regular expression; -1 if versions of awk differ about it.
func awkRegexp(prog string, i int) int {
	for ; i < len(prog) && prog[i] != '/'; i++ {
		switch prog[i] {
		case '\\':
			i++
		case '\n':
			return -1
		case '[':
			rest := strings.TrimPrefix(prog[i+1:], "^")
			skip := len(prog) - len(rest)
			end := strings.IndexByte(strings.TrimPrefix(rest, "]"), ']')
			if end < 0 || strings.ContainsAny(rest[:end+1], "/\n\\[") {
				return -1
			}
			i = skip + end
			if rest[0] == ']' {
				i++
			}
		}
	}
	if i >= len(prog) {
		return -1
	}
	return i
}

func (v *visitor) sed(k *call) {
	var scripts []int
	for _, o := range k.opts {
		if (o.name == "-e" || o.name == "--expression") && o.at >= 0 {
			v.sedScript(k, o.value, o.at)
			scripts = append(scripts, o.at)
		}
	}
	if len(scripts) > 0 || k.in.has("-f", "--file") || len(k.ops) == 0 {
		return
	}
	v.sedScript(k, k.words[k.ops[0]], k.ops[0])
}

func (v *visitor) sedScript(k *call, w Word, at int) {
	if !w.known() {
		k.risk(KindCode, "the script of sed is not known", at, 0)
		return
	}
	s := sedScanner{text: w.Text}
	s.run()
	if s.bad {
		k.risk(KindCode, "the script of sed runs a command, or cannot be read", at, 0)
	}
	for _, f := range s.files {
		kind := KindWrite
		if f.read {
			kind = KindExec
		}
		k.risk(kind, "the script of sed names "+path.Base(f.name), at, 0)
		mode := Write
		if f.read {
			mode = Read
		}
		v.file(constant(f.name), k.st, use{mode: mode, command: len(v.s.Commands)})
	}
}
