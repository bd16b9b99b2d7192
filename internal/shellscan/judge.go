package shellscan

import (
	"path"
	"slices"
	"strings"
)

// An Action is what a rule says. Its zero value asks.
type Action int

const (
	Ask Action = iota
	Allow
	Deny
)

// String returns "ask", "allow" or "deny".
func (a Action) String() string { return [...]string{"ask", "allow", "deny"}[a] }

// stricter returns the one of two decisions that counts.
func stricter(a, b Action) Action {
	rank := [...]int{Ask: 1, Allow: 0, Deny: 2}
	if rank[a] >= rank[b] {
		return a
	}
	return b
}

// A Rule decides about the patterns of a permission. Both names are wildcard patterns, see [Match].
type Rule struct {
	Permission string
	Pattern    string
	Action     Action
}

// Rules is where decisions come from.
type Rules interface {
	// Configured returns the rules whose permission covers the name, in the order in which they were written: the last
	// one that matches decides.
	Configured(permission string) []Rule
	// Approved returns the patterns that a user has approved for the permission. They turn a question into consent, and
	// never anything else.
	Approved(permission string) []string
}

// A List is a list of rules without approvals.
type List []Rule

// Configured implements [Rules].
func (l List) Configured(permission string) []Rule {
	var out []Rule
	for _, r := range l {
		if Match(r.Permission, permission) {
			out = append(out, r)
		}
	}
	return out
}

// Approved implements [Rules].
func (List) Approved(string) []string { return nil }

// A Question is one permission that a text needs.
type Question struct {
	Permission string   // "bash", "external_directory", "read" or "edit"
	Patterns   []string // what would be done
	Always     []string // what may be remembered; empty: nothing
	Protected  bool     // secrets, and files that make programs run something: a pattern of stars does not allow them
	Opaque     bool     // the pattern is the whole text, because its parts cannot be judged

	// Plain reports files inside the root that a command names as its arguments. They follow the rules for their
	// permission; where there is none, the rule for the command is enough.
	Plain bool

	s        *Script
	commands []int // for bash, one for each pattern
	files    []int
	unknown  bool
}

// A Decision is what rules say about a question or a text.
type Decision struct {
	Action  Action
	Reasons []string // why it is not allowed, for the user and the model
}

func (d *Decision) add(a Action, why string) {
	d.Action = stricter(d.Action, a)
	if why != "" && a != Allow && !slices.Contains(d.Reasons, why) {
		d.Reasons = append(d.Reasons, why)
	}
}

const unknownPath = "<unknown>"

// Asks returns every permission that the text needs, whatever the rules are: directories outside of the roots, all in one
// question; secrets and protected files; files that redirections write and read; plain operands; and the commands.
func (s *Script) Asks() []*Question {
	var out []*Question
	dirs := &Question{Permission: "external_directory", s: s}
	groups := map[[3]string]*Question{}
	var order []*Question
	group := func(f *FileUse, permission string, protected, plain bool) {
		key := [3]string{permission, map[bool]string{true: "p"}[protected], map[bool]string{true: "p"}[plain]}
		q := groups[key]
		if q == nil {
			q = &Question{Permission: permission, Protected: protected, Plain: plain, s: s}
			groups[key] = q
			order = append(order, q)
		}
		for _, p := range f.rel {
			if !slices.Contains(q.Patterns, p) {
				q.Patterns = append(q.Patterns, p)
			}
		}
		if len(f.rel) == 0 {
			q.Patterns = appendNew(q.Patterns, f.Path)
		}
		q.Always = nil
		if !protected {
			q.Always = q.Patterns
		}
	}
	for i := range s.Files {
		f := &s.Files[i]
		for _, d := range f.outside {
			dirs.Patterns = appendNew(dirs.Patterns, strings.TrimSuffix(d, "/")+"/*")
			dirs.Always = appendNew(dirs.Always, strings.TrimSuffix(d, "/")+"/*")
		}
		if f.Unknown {
			dirs.Patterns = appendNew(dirs.Patterns, unknownPath)
			dirs.unknown = true
		}
		if f.Mode&Write != 0 {
			if len(f.rel) > 0 || f.Protected || f.Secret {
				group(f, "edit", f.Protected || f.Secret, !f.Redirect && !f.Protected && !f.Secret)
			}
		} else if f.Protected { // an unknown program may write it
			group(f, "edit", true, false)
		}
		if f.Mode&Read != 0 && (len(f.rel) > 0 || f.Secret) {
			group(f, "read", f.Secret, !f.Secret)
		}
	}
	if len(dirs.Patterns) > 0 {
		out = append(out, dirs)
	}
	slices.SortStableFunc(order, func(a, b *Question) int { return score(a) - score(b) })
	out = append(out, order...)
	if q := s.bashQuestion(); q != nil {
		out = append(out, q)
	}
	return out
}

func appendNew(list []string, s string) []string {
	if slices.Contains(list, s) {
		return list
	}
	return append(list, s)
}

// score puts secrets and protected files first, then writes, then reads.
func score(q *Question) int {
	n := 0
	if !q.Protected {
		n += 2
	}
	if q.Permission == "read" {
		n++
	}
	return n
}

func (s *Script) bashQuestion() *Question {
	q := &Question{Permission: "bash", s: s}
	if len(s.Opaque) > 0 || s.Unparsed != nil {
		q.Opaque, q.Patterns = true, []string{s.Text}
		return q
	}
	for i := range s.Commands {
		c := &s.Commands[i]
		if c.Free && len(c.Risks) == 0 {
			continue
		}
		p := c.String()
		if slices.Contains(q.Patterns, p) {
			continue
		}
		q.Patterns = append(q.Patterns, p)
		q.commands = append(q.commands, i)
		if c.always != "" {
			q.Always = appendNew(q.Always, c.always)
		}
	}
	if len(q.Patterns) == 0 {
		return nil
	}
	return q
}

// Judge decides about the whole text. The strictest answer to any of its questions counts.
func (s *Script) Judge(r Rules) Decision {
	d := Decision{Action: Allow}
	for _, q := range s.Asks() {
		x := q.Judge(r)
		d.add(x.Action, "")
		for _, why := range x.Reasons {
			d.add(x.Action, why)
		}
	}
	if s.denied(r, &d) {
		d.Action = Deny
	}
	return d
}

// denied applies deny rules to commands that need no rule of their own.
func (s *Script) denied(r Rules, d *Decision) bool {
	rules := r.Configured("bash")
	hit := false
	for i := range s.Commands {
		c := &s.Commands[i]
		if c.Free && len(c.Argv) > 0 && s.decide(c, rules, nil) == Deny && !s.onlyStars(c, rules) {
			d.add(Deny, "denied by a rule: "+c.String())
			hit = true
		}
	}
	return hit
}

// onlyStars reports whether what denies the command is a rule for everything, which does not mean builtins like cd.
func (s *Script) onlyStars(c *Command, rules []Rule) bool {
	named := slices.DeleteFunc(slices.Clone(rules), func(r Rule) bool { return strings.Trim(r.Pattern, "* ") == "" })
	return s.decide(c, named, nil) != Deny
}

// Judge decides about one question.
func (q *Question) Judge(r Rules) Decision {
	switch q.Permission {
	case "bash":
		return q.judgeBash(r)
	case "external_directory":
		d := Decision{Action: Allow}
		for _, p := range q.Patterns {
			a := lastMatch(r.Configured(q.Permission), p, false)
			if a == Ask && slices.ContainsFunc(r.Approved(q.Permission), func(g string) bool { return Match(g, p) }) {
				a = Allow
			}
			why := "outside of the project: " + strings.TrimSuffix(p, "/*")
			if p == unknownPath {
				why = "it is not known which file or directory is used"
			}
			d.add(a, why)
		}
		return d
	}
	d := Decision{Action: Allow}
	rules := r.Configured(q.Permission)
	if q.Plain {
		own := slices.ContainsFunc(rules, func(r Rule) bool { return strings.Trim(r.Permission, "*") != "" })
		if !own {
			return d
		}
	}
	for _, p := range q.Patterns {
		a := lastMatch(rules, p, q.Protected)
		if a == Ask && slices.ContainsFunc(r.Approved(q.Permission), func(g string) bool { return Match(g, p) && (!q.Protected || g == p) }) {
			a = Allow
		}
		d.add(a, q.Permission+" "+p)
	}
	return d
}

// lastMatch evaluates rules over one value. For protected files an allow whose pattern is only stars asks.
func lastMatch(rules []Rule, value string, protected bool) Action {
	for _, r := range slices.Backward(rules) {
		if Match(r.Pattern, value) {
			if protected && r.Action == Allow && strings.Trim(r.Pattern, "*/") == "" {
				return Ask
			}
			return r.Action
		}
	}
	return Ask
}

func (q *Question) judgeBash(r Rules) Decision {
	s := q.s
	rules := r.Configured("bash")
	approved := r.Approved("bash")
	base, narrow := broad(rules)
	d := Decision{Action: Allow}
	for i := range s.Commands { // denies first, for everything that was found
		c := &s.Commands[i]
		if (!c.Free || len(c.Risks) > 0) && s.decide(c, rules, nil) == Deny {
			d.add(Deny, "denied by a rule: "+c.String())
		}
	}
	s.denied(r, &d)
	if q.Opaque && base != Allow && lastMatch(rules, s.Text, false) == Deny {
		d.add(Deny, "denied by a rule")
	}
	if d.Action == Deny {
		return d
	}
	if base == Allow && !narrow {
		return d
	}
	if q.Opaque {
		if s.Unparsed != nil {
			d.add(Ask, s.Unparsed.Error())
		}
		for _, o := range s.Opaque {
			d.add(Ask, o.Text)
		}
		return d
	}
	for i := range s.Commands {
		c := &s.Commands[i]
		if c.Free && len(c.Risks) == 0 {
			continue
		}
		if a := s.decide(c, rules, approved); a != Allow {
			d.add(a, "no rule allows: "+c.String())
			continue
		}
		for _, risk := range c.Risks {
			if !s.covered(c, risk, rules, approved) {
				d.add(Ask, risk.Text)
			}
		}
	}
	return d
}

// broad returns what the last rule for everything says, and whether a narrower one after it denies or asks.
func broad(rules []Rule) (base Action, narrow bool) {
	for _, r := range rules {
		if strings.Trim(r.Pattern, "*") == "" && r.Pattern != "" {
			base, narrow = r.Action, false
		} else if r.Action != Allow {
			narrow = true
		}
	}
	return base, narrow
}

// decide returns what rules and approvals say about one command: the last rule that matches it in any of its forms.
func (s *Script) decide(c *Command, rules []Rule, approved []string) Action {
	if len(c.Argv) == 0 && len(c.Env) == 0 {
		return Allow
	}
	allowForms, denyForms := s.forms(c)
	action := Ask
	for _, r := range slices.Backward(rules) {
		if r.Action == Allow && s.allows(c, r.Pattern, allowForms) || r.Action != Allow && s.denies(r.Pattern, denyForms) {
			action = r.Action
			break
		}
	}
	if action == Ask && slices.ContainsFunc(approved, func(p string) bool { return s.allows(c, p, allowForms) }) {
		return Allow
	}
	return action
}

func (s *Script) allows(c *Command, pattern string, forms []form) bool {
	if strings.ContainsFunc(pattern, placeholder) {
		return false
	}
	if slices.ContainsFunc(forms, func(f form) bool { return Match(pattern, f.text) }) {
		return true
	}
	// A rule for the wrapper that spells out the command inside: "xargs grep *".
	if c.parent < 0 || c.offset <= 0 {
		return false
	}
	w := &s.Commands[c.parent]
	f := joined(w, "", false)
	if c.offset >= len(f.at) {
		return false
	}
	return spells(pattern, f.text, f.at[c.offset], f.at[c.offset]+len(escapeBlanks(w.Argv[c.offset].Text)))
}

func (s *Script) denies(pattern string, forms []string) bool {
	return slices.ContainsFunc(forms, func(f string) bool {
		if s.opts.FoldCase {
			return mayMatch(strings.ToLower(pattern), strings.ToLower(f))
		}
		return mayMatch(pattern, f)
	})
}

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
	var b strings.Builder
	var f form
	if env {
		for _, e := range c.Env {
			f.env = append(f.env, b.Len())
			b.WriteString(e.Name + "=" + escapeBlanks(e.Value.Text) + " ")
		}
	}
	for i, w := range c.Argv {
		if i > 0 {
			b.WriteByte(' ')
		}
		f.at = append(f.at, b.Len())
		text := escapeBlanks(w.Text)
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

// covered reports whether a rule spells out what is risky about a command. Reaching it through a star is not enough, unless
// everything is allowed and nothing risky could be hidden there.
func (s *Script) covered(c *Command, risk Reason, rules []Rule, approved []string) bool {
	from := 0
	_, denyForms := s.forms(c)
	for i, r := range slices.Backward(rules) {
		if r.Action != Allow && s.denies(r.Pattern, denyForms) {
			from = i + 1
			break
		}
	}
	patterns := slices.Clone(approved)
	for _, r := range rules[from:] {
		if r.Action != Allow {
			continue
		}
		if strings.Trim(r.Pattern, "*") == "" && (risk.Kind == KindWrite || risk.Kind == KindDestructive || risk.Kind == KindVariable) {
			return true
		}
		patterns = append(patterns, r.Pattern)
	}
	return slices.ContainsFunc(patterns, func(p string) bool { return s.spelled(c, risk, p) })
}

func (s *Script) spelled(c *Command, risk Reason, pattern string) bool {
	if strings.ContainsFunc(pattern, placeholder) || risk.Kind == KindName || risk.Kind == KindOption {
		return false
	}
	if risk.name != "" { // a variable
		f := joined(c, "", true)
		for i, e := range c.Env {
			if e.Name == risk.name && i < len(f.env) && spells(pattern, f.text, f.env[i], f.env[i]+len(e.Name)+1) {
				return true
			}
		}
		if risk.word < 0 {
			return false
		}
	}
	if risk.word < 0 || risk.word >= len(c.Argv) {
		return false
	}
	forms, _ := s.forms(c)
	for _, f := range forms {
		size := risk.size
		word := f.text[f.at[risk.word]:]
		if risk.word+1 < len(f.at) {
			word = f.text[f.at[risk.word] : f.at[risk.word+1]-1]
		}
		if size == 0 || size > len(word) {
			size = len(word)
		}
		if spells(pattern, f.text, f.at[risk.word], f.at[risk.word]+size) {
			return true
		}
	}
	if c.parent >= 0 && c.offset > 0 {
		up := risk
		up.word += c.offset
		return s.spelled(&s.Commands[c.parent], up, pattern)
	}
	return false
}
