package builtin

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/agenttool/tool"
	"github.com/agenttool/tool/internal/search"
	"github.com/agenttool/tool/internal/wildcard"
)

// readRules is what became known of the rules about reading while permission for
// a search was asked: whoever decides by rules shows them to the request, and the
// search leaves out the files that read would be refused. Nobody is asked about
// them; an approver that shows no rules leaves none out.
type readRules struct {
	mu    sync.Mutex
	shown [][]tool.Rule // the configuration first, then what may only make it stricter
}

// judge is the Judge of a search's request, which means what its patterns mean and
// remembers the rules.
func (r *readRules) judge(permission string, patterns []string) func([]tool.Rule, []string) tool.Judgement {
	return func(rules []tool.Rule, approved []string) tool.Judgement {
		r.show(rules)
		j := tool.Judgement{Action: "allow"}
		for _, p := range patterns {
			action, why := lastRule(rules, permission, p, false)
			if action == "ask" && slices.ContainsFunc(approved, func(a string) bool { return wildcard.Match(a, p) }) {
				continue
			}
			if action != "allow" {
				j.Reasons = append(j.Reasons, fmt.Sprintf("%s %q %s", permission, clip(p, 300), why))
			}
			if action == "deny" || j.Action == "allow" {
				j.Action = action
			}
		}
		return j
	}
}

// show keeps the rules that are about reading, of each list once.
func (r *readRules) show(rules []tool.Rule) {
	var about []tool.Rule
	for _, x := range rules {
		if wildcard.Match(x.Permission, "read") {
			about = append(about, x)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !slices.ContainsFunc(r.shown, func(o []tool.Rule) bool { return slices.Equal(o, about) }) {
		r.shown = append(r.shown, about)
	}
}

// privacy returns what a search may do with a file, by the name that read would
// ask for: nil if nothing is known that keeps it from any.
func (r *readRules) privacy(secret func(name string) bool) func(name string) search.Privacy {
	r.mu.Lock()
	shown := slices.Clone(r.shown)
	r.mu.Unlock()
	denies := func(rules []tool.Rule) bool {
		return slices.ContainsFunc(rules, func(x tool.Rule) bool { return x.Action != "allow" && x.Action != "ask" })
	}
	strict := slices.DeleteFunc(slices.Clone(shown), func(rules []tool.Rule) bool { return !denies(rules) })
	return func(name string) search.Privacy {
		for _, rules := range strict {
			if action, _ := lastRule(rules, "read", name, false); action == "deny" {
				return search.Denied
			}
		}
		if !secret(name) {
			return search.Public
		}
		if len(shown) > 0 {
			if action, _ := lastRule(shown[0], "read", name, true); action == "allow" {
				return search.Public
			}
		}
		return search.Secret
	}
}

// lastRule returns what rules say of one pattern, and why, as a host's gate does: the
// last that matches decides. A "*" does not allow what is protected.
func lastRule(rules []tool.Rule, permission, pattern string, protected bool) (action, why string) {
	for _, x := range slices.Backward(rules) {
		if !wildcard.Match(x.Permission, permission) || !wildcard.Match(x.Pattern, pattern) {
			continue
		}
		by := fmt.Sprintf("by the rule %s %q", x.Permission, clip(x.Pattern, 300))
		switch x.Action {
		case "allow":
			if protected && strings.Trim(x.Pattern, "*? ") == "" {
				continue // it neither allows what is protected nor undoes a rule that names it
			}
			return "allow", "is allowed " + by
		case "ask":
			return "ask", "is asked " + by
		}
		return "deny", "is denied " + by
	}
	return "ask", "is asked: no rule matches"
}
