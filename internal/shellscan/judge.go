package shellscan

import (
	"slices"
	"strings"
)

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
			d.add(Deny, c.denial())
			hit = true
		}
	}
	return hit
}

// denial says why a command is denied.
func (c *Command) denial() string {
	if len(c.Argv) > 0 && !c.Argv[0].known() {
		return "it is not known what this runs, so it may be what a rule denies; name the program: " + c.String()
	}
	return "denied by a rule: " + c.String()
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
			d.Each = append(d.Each, a)
			why := "outside of the project: " + p
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
			d.Each = make([]Action, len(q.Patterns))
			for i := range d.Each {
				d.Each[i] = Allow
			}
			return d
		}
	}
	for i, p := range q.Patterns {
		a := lastMatch(rules, p, q.Protected)
		if i < len(q.targets) {
			t := &q.targets[i]
			if a = stricter(a, t.judge(rules, p, q.Protected)); t.silent && (a != Deny || t.byStars(rules, p)) {
				a = Allow
			}
		}
		if a == Ask && slices.ContainsFunc(r.Approved(q.Permission), func(g string) bool { return Match(g, p) && (!q.Protected || g == p) }) {
			a = Allow
		}
		d.Each = append(d.Each, a)
		why := "no rule allows: "
		if a == Deny {
			why = "denied by a rule: "
		}
		d.add(a, why+q.Permission+" "+p)
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

// judge decides about what a pattern stands for beyond its text.
func (t *target) judge(rules []Rule, pattern string, protected bool) Action {
	a := t.below(rules, pattern)
	for _, name := range t.also {
		a = stricter(a, stricter(lastMatch(rules, name, protected), t.below(rules, name)))
	}
	if t.maybe == "" {
		return a
	}
	for _, r := range slices.Backward(rules) {
		if r.Action == Allow && Match(r.Pattern, pattern) {
			break
		} else if r.Action != Allow && mayMatch(r.Pattern, t.maybe) {
			return stricter(a, Ask)
		}
	}
	return a
}

// byStars reports whether only a rule for everything denies.
func (t *target) byStars(rules []Rule, pattern string) bool {
	named := slices.DeleteFunc(slices.Clone(rules), func(r Rule) bool { return strings.Trim(r.Pattern, "*/") == "" })
	return lastMatch(named, pattern, false) != Deny && t.judge(named, pattern, false) != Deny
}

// below decides about what is in a directory of that name.
func (t *target) below(rules []Rule, name string) Action {
	if !t.tree {
		return Allow
	}
	for _, r := range slices.Backward(rules) {
		if r.Action == Allow && Match(r.Pattern, name+"/"+string(outOfRules)) {
			break
		} else if r.Action != Allow && t.covers(r.Pattern, name) {
			return r.Action
		}
	}
	return Allow
}

// covers reports whether a rule is about files below a directory: about all of them, or, as what is removed or moved is gone
// in part as well, about some.
func (t *target) covers(rule, dir string) bool {
	if Match(rule, dir+"/"+string(outOfRules)) {
		return true
	}
	if !t.changed {
		return false
	}
	fixed := rule
	if i := strings.IndexAny(rule, "*?"); i >= 0 {
		fixed = rule[:i]
	}
	return dir == "." && fixed != "" && fixed[0] != '/' || strings.HasPrefix(fixed, dir+"/")
}

// outOfRules is a character that no rule has.
const outOfRules = '\uFDD3'

func (q *Question) judgeBash(r Rules) Decision {
	s := q.s
	rules := r.Configured("bash")
	approved := r.Approved("bash")
	base, narrow := broad(rules)
	d := Decision{Action: Allow, Each: make([]Action, len(q.Patterns))}
	for i := range d.Each {
		d.Each[i] = Allow
	}
	for i := range s.Commands { // denies first, for everything that was found
		c := &s.Commands[i]
		if (!c.Free || len(c.Risks) > 0) && s.decide(c, rules, nil) == Deny {
			d.add(Deny, c.denial())
			if n := slices.Index(q.commands, i); n >= 0 {
				d.Each[n] = Deny
			}
		}
	}
	s.denied(r, &d)
	if q.Opaque && base != Allow && lastMatch(rules, s.Text, false) == Deny {
		d.add(Deny, "denied by a rule")
	}
	everything := base == Allow && !narrow
	denied := d.Action == Deny
	switch {
	case q.Opaque && denied:
	case q.Opaque:
		if s.Unparsed != nil && !everything {
			d.add(Ask, s.Unparsed.Error())
		}
		for _, o := range s.Opaque {
			if !everything || o.Kind == KindHost {
				d.add(Ask, o.Text)
			}
		}
	case !everything:
		for n, i := range q.commands {
			if d.Each[n] == Deny {
				continue
			}
			x := s.judgeCommand(&s.Commands[i], rules, approved)
			d.Each[n] = x.Action
			for _, why := range x.Reasons {
				if !denied {
					d.add(x.Action, why)
				}
			}
		}
	}
	if q.Opaque {
		d.Each[0] = d.Action
	}
	return d
}

// filters read what they are fed and write what they make of it, nothing else.
var filters = []string{
	"cat", "column", "cut", "egrep", "expand", "fgrep", "fmt", "fold", "grep", "head", "nl", "paste", "rev", "sort", "tac", "tail", "tr",
	"unexpand", "uniq", "wc",
}

// filter reports whether a command is a filter without files of its own.
func (s *Script) filter(c *Command) bool {
	if len(c.Argv) == 0 || len(c.Env) > 0 || !slices.Contains(filters, c.Argv[0].Text) || !c.certain() {
		return false
	}
	return !slices.ContainsFunc(s.Files, func(f FileUse) bool { return f.Command >= 0 && &s.Commands[f.Command] == c })
}

// judgeCommand decides about one command of a text that can be judged part by part.
func (s *Script) judgeCommand(c *Command, rules []Rule, approved []string) Decision {
	d := Decision{Action: Allow}
	a := s.decide(c, rules, approved)
	if a == Ask && c.read && len(c.Risks) == 0 && (s.opts.AllowReadOnly || s.opts.AllowFilters && s.filter(c)) {
		named := slices.DeleteFunc(slices.Clone(rules), func(r Rule) bool { return strings.Trim(r.Pattern, "* ") == "" })
		_, deny := s.forms(c)
		if !slices.ContainsFunc(named, func(r Rule) bool { return r.Action != Allow && s.denies(r.Pattern, deny) }) {
			return d
		}
	}
	if a != Allow {
		d.add(a, "no rule allows: "+c.String())
		return d
	}
	for _, risk := range c.Risks {
		if !s.covered(c, risk, rules, approved) {
			d.add(Ask, risk.Text)
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
		for _, f := range []form{joined(c, "", true), shown(c, true)} {
			for i, e := range c.Env {
				if e.Name == risk.name && i < len(f.env) && (c.certain() || !strings.Contains(f.text, "…")) && spells(pattern, f.text, f.env[i], f.env[i]+len(e.Name)+1) {
					return true
				}
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
