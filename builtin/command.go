package builtin

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// analysis is what is known of a command text before it runs.
type analysis struct {
	Commands     [][]*string // the words of every command found; nil is a word that is only known when it runs
	Patterns     []string    // what to ask "bash" for
	Always       []string    // what may be granted for good; nothing, if the text is not simple
	ExternalDirs []string    // directories outside the root that are touched
	Writes       []string    // files that redirections write, absolute
	Secrets      []string    // secret files that are named, absolute
	Reasons      []string    // why the text could not be taken apart
}

const (
	maxCommand = 64 << 10 // bytes of a text that is parsed
	maxNesting = 200      // of brackets; the parser recurses
)

// analyser takes a text apart. It is conservative: a text of simple commands
// with constant words is judged command by command; any other is asked about as
// a whole, and each command found in it as well, so that a rule that allows its
// beginning does not allow the rest.
type analyser struct {
	ts   *Toolset
	text string
	dirs []string // where a relative name may start; more than one after cd
	out  *analysis
	rest []string // commands of a text that is not simple
}

// analyse says what text would do when it runs in cwd. Nothing is run.
func (ts *Toolset) analyse(text, cwd string) *analysis {
	a := &analyser{ts: ts, text: text, dirs: []string{cwd}, out: &analysis{}}
	file, reason := parseCommand(text)
	if file == nil {
		a.out.Reasons = []string{reason}
		a.out.Patterns = []string{text}
		return a.out
	}
	a.statements(file.Stmts)
	if len(a.out.Reasons) > 0 {
		// The statements below the ones that were not understood.
		a.out.Patterns, a.out.Always, a.out.Commands, a.dirs = []string{text}, nil, nil, []string{cwd}
		syntax.Walk(file, func(n syntax.Node) bool {
			a.visit(n)
			return true
		})
		a.out.Patterns = append(a.out.Patterns, a.rest...)
	}
	a.out.Patterns = unique(a.out.Patterns)
	a.out.Always = unique(a.out.Always)
	a.out.Reasons = unique(a.out.Reasons)
	a.out.ExternalDirs = unique(a.out.ExternalDirs)
	a.out.Writes = unique(a.out.Writes)
	a.out.Secrets = unique(a.out.Secrets)
	return a.out
}

// parseCommand parses text unless it could hurt the parser or fool a reader.
func parseCommand(text string) (*syntax.File, string) {
	if len(text) > maxCommand {
		return nil, fmt.Sprintf("the text is longer than %d bytes", maxCommand)
	}
	depth := 0
	for _, r := range text {
		switch {
		case r == '(' || r == '{' || r == '[':
			depth++
		case r == ')' || r == '}' || r == ']':
			depth = max(0, depth-1)
		case hides(r):
			return nil, fmt.Sprintf("the text contains the control character U+%04X", r)
		}
		if depth > maxNesting {
			return nil, "brackets are nested too deeply"
		}
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), "")
	if err != nil {
		return nil, "the shell syntax is not understood: " + err.Error()
	}
	return file, ""
}

func (a *analyser) opaque(format string, args ...any) {
	a.out.Reasons = append(a.out.Reasons, fmt.Sprintf(format, args...))
}

func (a *analyser) statements(list []*syntax.Stmt) {
	for _, s := range list {
		a.statement(s)
	}
}

// statement judges what is simple and gives a reason for what is not.
func (a *analyser) statement(s *syntax.Stmt) {
	if s.Negated || s.Background || s.Coprocess || s.Disown {
		a.opaque("a command is negated or runs in the background")
	}
	for _, r := range s.Redirs {
		if !harmless(r) {
			a.opaque("a redirection")
		}
	}
	switch c := s.Cmd.(type) {
	case *syntax.BinaryCmd:
		switch c.Op {
		case syntax.AndStmt:
			a.chain(s)
			return
		case syntax.PipeAll:
			a.opaque("|& pipes")
		}
		a.statement(c.X)
		a.statement(c.Y)
	case *syntax.CallExpr:
		a.call(c)
	default:
		a.opaque("more than simple commands")
	}
}

// chain judges commands joined by &&: what follows a cd only runs where that led.
func (a *analyser) chain(s *syntax.Stmt) {
	var list []*syntax.Stmt
	for {
		b, ok := s.Cmd.(*syntax.BinaryCmd)
		if !ok || b.Op != syntax.AndStmt {
			break
		}
		list, s = append(list, b.Y), b.X
	}
	all := slices.Clone(a.dirs)
	for _, part := range append([]*syntax.Stmt{s}, reversed(list)...) {
		n := len(a.dirs)
		a.statement(part)
		if c, ok := part.Cmd.(*syntax.CallExpr); ok && len(c.Args) > 0 && c.Args[0].Lit() == "cd" && len(a.dirs) > n {
			a.dirs = slices.Clone(a.dirs[n:])
			all = append(all, a.dirs...)
		}
	}
	a.dirs = unique(append(all, a.dirs...))
}

func reversed[T any](list []T) []T {
	slices.Reverse(list)
	return list
}

// harmless reports whether a redirection neither reads nor writes a file.
func harmless(r *syntax.Redirect) bool {
	if r.Word == nil || r.Hdoc != nil {
		return false
	}
	target, ok := constant(r.Word)
	if !ok {
		return false
	}
	switch r.Op {
	case syntax.DplOut, syntax.DplIn:
		return target == "1" || target == "2" || target == "0" || target == "-"
	case syntax.RdrOut, syntax.AppOut, syntax.RdrIn, syntax.RdrAll, syntax.AppAll:
		return target == "/dev/null"
	}
	return false
}

func (a *analyser) call(c *syntax.CallExpr) {
	if len(c.Assigns) > 0 {
		a.opaque("a variable is set")
	}
	var words []string
	for _, w := range c.Args {
		s, ok := constant(w)
		if !ok {
			a.opaque("a word is only known when the command runs")
			return
		}
		words = append(words, s)
	}
	if len(words) == 0 || words[0] == "" {
		a.opaque("a command without a name")
		return
	}
	a.record(words)
	a.operands(words)
	if words[0] == "cd" {
		return // it is judged by where it goes
	}
	// A blank inside of a word would look like the border between two.
	joined := strings.Join(words, " ")
	if slices.ContainsFunc(words, func(w string) bool { return strings.ContainsAny(w, " \t\n") || w == "" }) {
		joined = quoteWords(words)
	}
	a.out.Patterns = append(a.out.Patterns, joined)
	if g := grantFor(words, joined); g != "" {
		a.out.Always = append(a.out.Always, g)
	}
}

// quoteWords joins words so that those with blanks stay apart from the others.
func quoteWords(words []string) string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = w
		if w == "" || strings.ContainsAny(w, " \t\n'\"\\") {
			out[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
	}
	return strings.Join(out, " ")
}

func (a *analyser) record(words []string) {
	argv := make([]*string, len(words))
	for i := range words {
		argv[i] = &words[i]
	}
	a.out.Commands = append(a.out.Commands, argv)
}

// visit looks at one node of a text that is not simple.
func (a *analyser) visit(n syntax.Node) {
	switch n := n.(type) {
	case *syntax.CallExpr:
		if len(n.Args) == 0 {
			return
		}
		var argv []*string
		var show, known []string
		for _, w := range n.Args {
			if s, ok := constant(w); ok {
				argv, show, known = append(argv, &s), append(show, s), append(known, s)
				continue
			}
			argv, show = append(argv, nil), append(show, "<unknown>")
		}
		a.out.Commands = append(a.out.Commands, argv)
		if show[0] != "cd" {
			a.rest = append(a.rest, quoteWords(show))
		}
		if len(n.Assigns) > 0 {
			// What a variable does to a command is not known.
			a.rest = append(a.rest, a.text[n.Pos().Offset():n.End().Offset()])
		}
		if argv[0] != nil {
			a.operands(known)
		} else {
			a.operands(append([]string{""}, known...))
		}
	case *syntax.Redirect:
		target, ok := "", false
		if n.Word != nil {
			target, ok = constant(n.Word)
		}
		switch n.Op {
		case syntax.RdrOut, syntax.AppOut, syntax.RdrClob, syntax.RdrAll, syntax.AppAll, syntax.RdrInOut:
			if !ok {
				a.opaque("the target of a redirection is only known when the command runs")
			} else if !isDevice(target) {
				a.operand(target, true)
			}
		case syntax.RdrIn:
			if ok && !isDevice(target) {
				a.operand(target, false)
			}
		}
	}
}

func isDevice(name string) bool {
	return slices.Contains([]string{"/dev/null", "/dev/stdout", "/dev/stderr", "/dev/stdin", "/dev/tty", "/dev/zero", "/dev/urandom"}, name)
}

// operands looks for names of files among the words of a command.
func (a *analyser) operands(words []string) {
	if len(words) > 0 && strings.Contains(words[0], "/") && !filepath.IsAbs(words[0]) {
		a.operand(words[0], false)
	}
	for i, w := range words {
		if i == 0 {
			continue
		}
		if _, value, ok := strings.Cut(w, "="); ok && strings.HasPrefix(w, "-") {
			w = value
		}
		if w == "" || strings.HasPrefix(w, "-") || isDevice(w) {
			continue
		}
		a.operand(w, false)
	}
	if len(words) > 0 && (words[0] == "cd" || words[0] == "pushd") {
		a.moved(words[1:])
	}
}

// moved notes where cd leads, as one more place where names may start.
func (a *analyser) moved(args []string) {
	target := ""
	for _, w := range args {
		if !strings.HasPrefix(w, "-") {
			target = w
		}
	}
	if target == "" {
		target = "~" // or wherever "-" leads: not here
	}
	for _, dir := range slices.Clone(a.dirs) {
		l, err := a.ts.fsys.resolveFrom(dir, a.ts.expandHome(target))
		if err != nil {
			continue
		}
		if !l.inside {
			a.out.ExternalDirs = append(a.out.ExternalDirs, l.abs)
		}
		if len(a.dirs) < 16 {
			a.dirs = append(a.dirs, l.abs)
		}
	}
}

// operand judges one word as if it were the name of a file.
func (a *analyser) operand(word string, write bool) {
	name := a.ts.expandHome(word)
	for _, dir := range a.dirs {
		l, err := a.ts.fsys.resolveFrom(dir, name)
		if err != nil {
			if filepath.IsAbs(name) && !within(a.ts.fsys.dir, filepath.Clean(name)) {
				a.out.ExternalDirs = append(a.out.ExternalDirs, filepath.Dir(filepath.Clean(name)))
			}
			continue
		}
		if write {
			a.out.Writes = append(a.out.Writes, l.abs)
		}
		if l.secret && !write {
			a.out.Secrets = append(a.out.Secrets, l.abs)
		}
		if !l.inside && !(l.spill && !write) {
			a.out.ExternalDirs = append(a.out.ExternalDirs, l.scope())
		}
	}
}

// constant returns the text of a word that is the same whenever it is run: no
// expansion of any kind in it.
func constant(w *syntax.Word) (string, bool) {
	var b strings.Builder
	for i, part := range w.Parts {
		switch p := part.(type) {
		case *syntax.Lit:
			s, ok := unquote(p.Value)
			if !ok || i == 0 && strings.HasPrefix(p.Value, "~") && p.Value != "~" && !strings.HasPrefix(p.Value, "~/") {
				return "", false
			}
			b.WriteString(s)
		case *syntax.SglQuoted:
			if p.Dollar {
				return "", false
			}
			b.WriteString(p.Value)
		case *syntax.DblQuoted:
			if p.Dollar {
				return "", false
			}
			for _, q := range p.Parts {
				l, ok := q.(*syntax.Lit)
				if !ok {
					return "", false
				}
				b.WriteString(unquoteDouble(l.Value))
			}
		default:
			return "", false
		}
	}
	return b.String(), true
}

// unquote drops backslashes from bare text; special characters make it unknown.
func unquote(s string) (string, bool) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			if i++; i == len(s) {
				return "", false
			}
			if s[i] != '\n' {
				b.WriteByte(s[i])
			}
		case '*', '?', '[', '{':
			return "", false
		default:
			b.WriteByte(s[i])
		}
	}
	return b.String(), true
}

// unquoteDouble drops the backslashes that mean something within double quotes.
func unquoteDouble(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) && strings.IndexByte("$`\"\\\n", s[i+1]) >= 0 {
			if i++; s[i] == '\n' {
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

func unique(list []string) []string {
	var out []string
	for _, s := range list {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}
