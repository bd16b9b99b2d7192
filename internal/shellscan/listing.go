package shellscan

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// listing returns a word for the file names that a statement prints, when it is known to print nothing else: what find, git
// ls-files and their like say is below the directories they were given. It reports nothing and visits nothing.
func (v *visitor) listing(s *syntax.Stmt, st *state) (Word, bool) {
	for _, r := range s.Redirs {
		if r.N == nil || r.N.Value != "2" {
			return Word{}, false
		}
	}
	switch c := s.Cmd.(type) {
	case *syntax.BinaryCmd:
		if c.Op == syntax.Pipe && v.filters(c.Y, st) {
			return v.listing(c.X, st)
		}
	case *syntax.CallExpr:
		words, ok := v.constants(s, st)
		if ok && len(words) > 0 {
			return v.lists(words)
		}
	}
	return Word{}, false
}

// printed returns what echo and printf write, as text of which more may be there than is seen.
func (v *visitor) printed(s *syntax.Stmt, st *state) *Word {
	c, ok := s.Cmd.(*syntax.CallExpr)
	if !ok || len(c.Args) < 2 || len(s.Redirs) > 0 {
		return nil
	}
	if name := c.Args[0].Lit(); name != "echo" && name != "printf" || slices.ContainsFunc(c.Args, runsSomething) {
		return nil
	}
	v.quiet++
	words := v.args(c.Args, st.clone())
	v.quiet--
	if len(words) < 2 {
		return nil
	}
	text := joinWords(words[1:])
	text.Text = strings.NewReplacer(`\n`, "\n", `%s`, " ").Replace(text.Text)
	text.Dynamic = true
	return &text
}

// runsSomething reports whether a word holds a substitution.
func runsSomething(w *syntax.Word) bool {
	found := false
	syntax.Walk(w, func(n syntax.Node) bool {
		switch n.(type) {
		case *syntax.CmdSubst, *syntax.ProcSubst, *syntax.ArithmExp, *syntax.ExtGlob:
			found = true
		}
		return !found
	})
	return found
}

// constants expands a simple command quietly.
func (v *visitor) constants(s *syntax.Stmt, st *state) ([]Word, bool) {
	c, ok := s.Cmd.(*syntax.CallExpr)
	if !ok || len(c.Assigns) > 0 || s.Negated || s.Background {
		return nil, false
	}
	for _, w := range c.Args {
		for _, p := range w.Parts {
			switch p := p.(type) {
			case *syntax.Lit, *syntax.SglQuoted:
			case *syntax.DblQuoted:
				for _, q := range p.Parts {
					if _, lit := q.(*syntax.Lit); !lit {
						return nil, false
					}
				}
			default:
				return nil, false
			}
		}
	}
	v.quiet++
	words := v.args(c.Args, st.clone())
	v.quiet--
	if len(words) == 0 || st.funcs[words[0].Text] != nil || st.anyFn {
		return nil, false
	}
	return words, true
}

// filters reports whether a command passes on some of the lines that it reads.
func (v *visitor) filters(s *syntax.Stmt, st *state) bool {
	words, ok := v.constants(s, st)
	if !ok || len(s.Redirs) > 0 {
		return false
	}
	operands := 0
	for _, w := range words[1:] {
		if !strings.HasPrefix(w.Text, "-") && strings.Trim(w.Text, "0123456789") != "" {
			operands++
		}
	}
	switch words[0].Text {
	case "sort", "uniq", "head", "tail":
		return operands == 0
	case "grep", "egrep":
		for _, w := range words[1:] {
			if strings.HasPrefix(w.Text, "-") && strings.Trim(w.Text, "-vEiFwxP") != "" {
				return false
			}
		}
		return operands == 1
	case "cat":
		return len(words) == 1
	}
	return false
}

func (v *visitor) lists(words []Word) (Word, bool) {
	here := Word{Text: "*", Glob: true, pat: "*"}
	has := func(names ...string) bool {
		for _, w := range words[1:] {
			for _, n := range names {
				if w.Text == n {
					return true
				}
			}
		}
		return false
	}
	switch words[0].Text {
	case "find":
		i := 1
		var paths, names []Word
		for ; i < len(words) && !strings.HasPrefix(words[i].Text, "-") && words[i].Text != "(" && words[i].Text != "!"; i++ {
			paths = append(paths, words[i])
		}
		for ; i < len(words); i++ {
			switch words[i].Text {
			case "-printf", "-fprintf", "-ls", "-exec", "-execdir", "-ok", "-okdir", "-L", "-follow":
				return Word{}, false
			case "-name", "-iname":
				if i++; i < len(words) {
					names = append(names, words[i])
				}
			}
		}
		if len(paths) == 0 {
			paths = []Word{constant(".")}
		}
		w := v.foundBy(paths, names)
		w.listed = true
		return w, w.Glob
	case "git":
		here.listed = true
		if len(words) > 1 && (words[1].Text == "ls-files" || words[1].Text == "diff" && has("--name-only") || words[1].Text == "grep" && has("-l", "--name-only")) {
			return here, true
		}
	case "ls":
		if last := words[len(words)-1]; len(words) == 2 && last.Glob && !last.Dynamic && !strings.ContainsAny(last.Text, "/") && last.Text[0] != '-' {
			return last, true
		}
		for _, w := range words[1:] {
			if !strings.HasPrefix(w.Text, "-") && !w.Glob || strings.ContainsAny(w.Text, "l/") {
				return Word{}, false
			}
		}
		return here, true // these can be listed here, too
	}
	here.listed = true
	switch words[0].Text {
	case "go":
		// Import paths, which are no options.
		return Word{Text: "./*", Glob: true, pat: "./*", listed: true}, len(words) > 1 && words[1].Text == "list" && !has("-f", "-json", "-m", "-C")
	case "rg":
		return here, (has("-l", "--files", "--files-with-matches", "-il", "-li") && v.below(words, has("--files")))
	case "grep":
		return here, has("-l", "-rl", "-lr", "-rln", "-lrn", "-ril", "-rli", "-lri") && v.below(words, false)
	case "fd":
		return here, !has("-x", "-X", "--exec", "--exec-batch", "-a", "--absolute-path", "-L")
	}
	return Word{}, false
}

// below reports whether the operands after a pattern are plain names below this directory.
func (v *visitor) below(words []Word, noPattern bool) bool {
	n := 0
	for _, w := range words[1:] {
		if strings.HasPrefix(w.Text, "-") {
			continue
		}
		if n++; n > 1 || noPattern {
			if strings.HasPrefix(w.Text, "/") || strings.Contains(w.Text, "..") || w.Dynamic {
				return false
			}
		}
	}
	return true
}

// listedAtoms is the word as the value of a variable or substitution.
func listedAtoms(w Word) atoms {
	var a atoms
	for i := 0; i < len(w.pat); i++ {
		switch c := w.pat[i]; {
		case c == '\\' && i+1 < len(w.pat):
			i++
			a = append(a, atom{rune(w.pat[i]), quoted})
		case c == '*' || c == '?' || c == '[':
			a = append(a, atom{rune(c), globbed})
		case c < 0x80:
			a = append(a, atom{rune(c), quoted})
		default:
			return nil
		}
	}
	if w.listed {
		a = append(a, atom{0, listed})
	}
	return a
}
