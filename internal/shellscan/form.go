package shellscan

import (
	"path"
	"slices"
	"strings"
)

// A form is a command as text for patterns, with the place of each word.
type form struct {
	text string
	at   []int
	env  []int // of each assignment in front
}

func escapeBlanks(s string) string {
	if !strings.ContainsAny(s, " \t\n") {
		return s
	}
	return strings.Map(func(r rune) rune {
		if r == ' ' || r == '\t' || r == '\n' {
			return inBlank
		}
		return r
	}, s)
}

// joined returns the words with single blanks between them. Blanks inside words are replaced by a character that no pattern
// has, so that an argument cannot pass for several. A name replaces the first word.
func joined(c *Command, name string, env bool) form {
	return joinWith(c, name, env, func(w Word) string { return escapeBlanks(w.Text) })
}

// shown is the same as [Command.String] writes it, which no two commands share.
func shown(c *Command, env bool) form { return joinWith(c, "", env, quote) }

func joinWith(c *Command, name string, env bool, word func(Word) string) form {
	var b strings.Builder
	var f form
	if env {
		for _, e := range c.Env {
			f.env = append(f.env, b.Len())
			b.WriteString(e.Name + "=" + word(e.Value) + " ")
		}
	}
	for i, w := range c.Argv {
		if i > 0 {
			b.WriteByte(' ')
		}
		f.at = append(f.at, b.Len())
		text := word(w)
		if i == 0 && name != "" {
			text = name
		}
		if text == "" {
			text = string(inBlank) // an empty word is a word
		}
		b.WriteString(text)
	}
	f.text = b.String()
	if len(c.Argv) == 0 {
		f.text = strings.TrimSuffix(f.text, " ")
	}
	return f
}

// certain reports whether every word is known.
func (c *Command) certain() bool {
	dynamic := func(w Word) bool { return w.Dynamic || w.Multi }
	return !slices.ContainsFunc(c.Argv, dynamic) && !slices.ContainsFunc(c.Env, func(e EnvChange) bool { return dynamic(e.Value) })
}

// systemDirs are trusted to hold the programs that their base names say.
var systemDirs = []string{"/bin", "/usr/bin", "/usr/local/bin", "/sbin", "/usr/sbin", "/usr/local/sbin", "/opt/homebrew/bin"}

// forms returns the texts that allow rules see, and those that deny and ask rules see.
func (s *Script) forms(c *Command) (allow []form, deny []string) {
	allow = append(allow, joined(c, "", false))
	if len(c.Env) > 0 {
		allow = append(allow, joined(c, "", true))
		if len(c.Argv) == 0 {
			allow = allow[1:]
		}
	}
	if c.certain() {
		if len(c.Argv) > 0 {
			allow = append(allow, shown(c, false))
		}
		if len(c.Env) > 0 {
			allow = append(allow, shown(c, true))
		}
	}
	for _, f := range allow {
		deny = append(deny, f.text)
	}
	// As a rule would be written by someone who does not think of quotes, and with globs as what they may become.
	deny = append(deny, c.String())
	var loose []string
	glob := false
	for _, w := range c.Argv {
		loose = append(loose, w.Text)
		glob = glob || w.Glob
	}
	deny = append(deny, strings.Join(loose, " "))
	if glob {
		g := *c
		g.Argv = slices.Clone(c.Argv)
		for i, w := range g.Argv {
			if w.Glob {
				g.Argv[i].Text = globUnknown(w)
			}
		}
		deny = append(deny, joined(&g, "", false).text)
		if g.Argv[0].Glob {
			deny = append(deny, joined(&g, path.Base(g.Argv[0].Text), false).text)
		}
	}
	if c.rest {
		for i := 1; i < min(len(c.Argv), maxRisks); i++ {
			deny = append(deny, joined(&Command{Argv: c.Argv[i:]}, path.Base(c.Argv[i].Text), false).text)
		}
	}
	if c.past > 1 && c.past < len(c.Argv) {
		// Options in front of what a program is to do must not hide it from a rule.
		bare := *c
		bare.Argv = slices.Concat(c.Argv[:1], c.Argv[c.past:])
		deny = append(deny, joined(&bare, path.Base(c.Argv[0].Text), false).text)
	}
	if len(c.Argv) > 0 && strings.Contains(c.Argv[0].Text, "/") {
		base := path.Base(c.Argv[0].Text)
		deny = append(deny, joined(c, base, false).text)
		if c.Argv[0].known() && slices.Contains(systemDirs, path.Dir(c.Argv[0].Text)) {
			allow = append(allow, joined(c, base, false))
		}
	}
	if len(c.Argv) > 0 && c.Argv[0].Multi && c.Argv[0].Text != string(UnknownWords) {
		deny = append(deny, string(UnknownWords))
	}
	return allow, deny
}

// globUnknown replaces the glob characters of a word by unknown text.
func globUnknown(w Word) string {
	var b strings.Builder
	for i := 0; i < len(w.pat); i++ {
		switch c := w.pat[i]; c {
		case '\\':
			if i++; i < len(w.pat) {
				b.WriteByte(w.pat[i])
			}
		case '*', '?':
			b.WriteRune(Unknown)
		case '[':
			if end := strings.IndexByte(w.pat[i:], ']'); end > 0 {
				i += end
			}
			b.WriteRune(Unknown)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}
