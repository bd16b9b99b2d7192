package permission

import (
	"slices"
	"strings"

	"github.com/agenttool/tool"
)

// ToolPermission returns the permission that the named tool asks for. Most tools
// ask for the one of their own name; these do not:
//
//	edit, write, multiedit, apply_patch, patch        edit
//	ls, list                                          list
//	lsp_diagnostics, lsp_hover and with hyphens       lsp
func ToolPermission(name string) string {
	switch name {
	case "edit", "write", "multiedit", "apply_patch", "patch":
		return "edit"
	case "ls", "list":
		return "list"
	case "lsp_diagnostics", "lsp-diagnostics", "lsp_hover", "lsp-hover":
		return "lsp"
	}
	return name
}

// clientPrefix begins the names of tools that remote clients run. They all ask
// for one permission, with their name as the pattern.
const (
	clientPrefix     = "client_"
	clientPermission = "client_tool"
)

// Disabled returns those of the named tools that rules can only deny, in the same
// order: the last rule for the tool's permission ([ToolPermission]), whatever its
// pattern, is a deny of the pattern "*". A narrower rule after it, of whatever
// action, keeps the tool on offer. A tool whose name begins with "client_" is also
// disabled if the permission client_tool is denied for its name.
func Disabled(tools []string, rules Ruleset) []string {
	var out []string
	for _, name := range tools {
		if disabled(name, []Ruleset{rules}) {
			out = append(out, name)
		}
	}
	return out
}

// Filter returns a filter for [tool.Registry.Resolve] that leaves out what
// [Disabled] names, so that a model is not offered what it may never use. Rules
// that depend on the agent are the caller's to choose: a turn is resolved for one agent.
func Filter(rules ...Ruleset) tool.Filter {
	rules = slices.Clone(rules)
	return func(_ *tool.Agent, spec *tool.Spec) bool { return !disabled(spec.Name, rules) }
}

func disabled(name string, rules []Ruleset) bool {
	permission := ToolPermission(name)
	if r, ok := lastFor(permission, rules); ok && r.Pattern == "*" && r.Action.closed() == Deny {
		return true
	}
	return strings.HasPrefix(name, clientPrefix) && Evaluate(clientPermission, name, rules...).Action.closed() == Deny
}

// lastFor returns the last rule whose permission matches.
func lastFor(permission string, rules []Ruleset) (Rule, bool) {
	for _, set := range slices.Backward(rules) {
		for _, r := range slices.Backward(set) {
			if Match(r.Permission, permission) {
				return r, true
			}
		}
	}
	return Rule{}, false
}
