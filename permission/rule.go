package permission

import (
	"fmt"
	"slices"
)

// Action is what a rule says. A word that is none of the three, also the empty
// one, counts as [Deny] wherever a decision is taken.
type Action string

// The actions, from the mildest to the strictest.
const (
	Allow Action = "allow"
	Ask   Action = "ask"
	Deny  Action = "deny"
)

// Valid reports whether a is one of the three actions.
func (a Action) Valid() bool { return a == Allow || a == Ask || a == Deny }

// UnmarshalText accepts the three actions and nothing else.
func (a *Action) UnmarshalText(text []byte) error {
	v := Action(text)
	if !v.Valid() {
		return fmt.Errorf("unknown action %q: it is allow, ask or deny", clip(string(text), 40))
	}
	*a = v
	return nil
}

// closed returns a, or Deny if a is no action.
func (a Action) closed() Action {
	if a.Valid() {
		return a
	}
	return Deny
}

// stricter returns the stricter of two actions.
func stricter(a, b Action) Action {
	rank := func(x Action) int { return slices.Index([]Action{Allow, Ask, Deny}, x.closed()) }
	if rank(b) > rank(a) {
		return b.closed()
	}
	return a.closed()
}

// Rule is one line of configuration. Permission and Pattern are wildcards, see
// [Match]: Permission is matched with the kind of action a tool asks for ("read",
// "edit", "bash"), Pattern with what it is about (a path, a command).
type Rule struct {
	Permission string `json:"permission"`
	Pattern    string `json:"pattern"`
	Action     Action `json:"action"`
}

// Ruleset is an ordered list of rules; later ones override earlier ones. It must
// not change while it is in use.
type Ruleset []Rule

// Evaluate returns the last rule, over the rulesets one after the other, whose
// Permission matches permission and whose Pattern matches pattern. How specific
// a rule is does not count. If none matches, the result is an [Ask] rule for
// permission with the pattern "*". Evaluate is a pure function.
func Evaluate(permission, pattern string, rules ...Ruleset) Rule {
	r, _ := evaluate(permission, pattern, rules, nil)
	return r
}

// evaluate is Evaluate among the rules that skip, if not nil, does not reject,
// and reports whether one matched.
func evaluate(permission, pattern string, rules []Ruleset, skip func(*Rule) bool) (Rule, bool) {
	for i := len(rules) - 1; i >= 0; i-- {
		for j := len(rules[i]) - 1; j >= 0; j-- {
			r := &rules[i][j]
			if Match(r.Permission, permission) && Match(r.Pattern, pattern) && (skip == nil || !skip(r)) {
				return *r, true
			}
		}
	}
	return Rule{Permission: permission, Pattern: "*", Action: Ask}, false
}
