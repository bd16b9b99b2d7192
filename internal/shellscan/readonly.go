package shellscan

import "strings"

// readOnly reports whether a program with these words changes nothing, by the table. An option that is not listed there
// changes something.
func (v *visitor) readOnly(base string, inv *invocation, st *state) (bool, string) {
	words := inv.words
	if len(words) == 2 && (words[1].Text == "--version" || words[1].Text == "--help") {
		if _, ok := v.tables.programs[base]; ok {
			return true, ""
		}
	}
	p := v.tables.readonly[base]
	if p == nil {
		return false, base + " is not known to change nothing"
	}
	start := 1
	check := func(in *parsed) string {
		if p.flag("any") {
			return ""
		}
		for _, i := range in.unknown {
			if t := words[i].Text; p.options["-1"].name != "" && len(t) > 1 && strings.Trim(t[1:], "0123456789") == "" {
				continue
			}
			return "option " + quote(words[i]) + " of " + p.name
		}
		for _, i := range in.dynamic {
			if words[i].Dynamic || v.mayBeOption(&words[i], st) {
				return "a word that may be an option of " + p.name
			}
		}
		for _, o := range in.opts {
			if o.text != o.name && !(p.single && o.text == "-"+o.name) {
				return "option " + o.text + " of " + p.name
			}
		}
		return ""
	}
	for p.subs {
		in := p.parse(words, start, true)
		if why := check(&in); why != "" {
			return false, why
		}
		if len(in.operands) == 0 {
			break
		}
		k := in.operands[0]
		sub := v.tables.readonly[p.name+" "+words[k].Text]
		if sub == nil || !words[k].known() {
			if p.flag("noops") || len(p.options) == 0 || p.subs {
				return false, p.name + " " + quote(words[k])
			}
			break
		}
		p, start = sub, k+1
	}
	if p.subs && len(p.options) == 0 {
		return false, p.name + " without a subcommand"
	}
	in := p.parse(words, start, false)
	if why := check(&in); why != "" {
		return false, why
	}
	switch {
	case p.flag("noops") && len(in.operands) > 0, p.flag("one") && len(in.operands) > 1:
		return false, "operands of " + p.name
	case p.flag("list") && len(in.operands) > 0 && !in.has("-l", "--list", "--contains", "--no-contains", "--merged", "--no-merged", "--points-at", "-v", "--verify"):
		return false, p.name + " with a name"
	case p.flag("needs") && len(in.opts) == 0:
		return false, p.name + " without an option that only looks"
	case p.flag("plus"):
		for _, i := range in.operands {
			if !strings.HasPrefix(words[i].Text, "+") {
				return false, p.name + " sets the clock"
			}
		}
	}
	if p.name == "tar" || p.name == "gtar" || p.name == "bsdtar" {
		old := len(words) > 1 && !strings.HasPrefix(words[1].Text, "-")
		if old && (!strings.HasPrefix(words[1].Text, "t") && !strings.HasPrefix(words[1].Text, "vt") && !strings.HasPrefix(words[1].Text, "zt") ||
			strings.Trim(words[1].Text, "tzjJvfa") != "") || !old && !in.has("-t", "--list") {
			return false, p.name + " that does not list"
		}
	}
	return true, ""
}

// ReadOnly reports whether the text is proven to change nothing, and if not, why. Reading outside of the roots, and secrets,
// are questions of their own: see [Script.Asks].
func (s *Script) ReadOnly() (bool, []string) {
	var why []string
	for _, r := range s.Opaque {
		why = append(why, r.Text)
	}
	if s.Unparsed != nil {
		why = append(why, s.Unparsed.Error())
	}
	for i := range s.Commands {
		c := &s.Commands[i]
		for _, r := range c.Risks {
			why = append(why, r.Text)
		}
		if len(c.Argv) > 0 && !c.read && !c.Free {
			reason := c.why
			if reason == "" {
				reason = c.String() + " is not known to change nothing"
			}
			why = append(why, reason)
		}
	}
	for i := range s.Files {
		if f := &s.Files[i]; f.Mode&Write != 0 {
			why = append(why, "writes "+f.Path)
		}
	}
	if len(s.Commands) > maxCommands {
		why = append(why, "too many commands")
	}
	return len(why) == 0, why
}
