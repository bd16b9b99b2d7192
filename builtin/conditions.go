package builtin

import (
	"slices"

	"github.com/agenttool/tool"
)

// A Condition says whether an agent, which may be nil, is offered a tool.
type Condition func(agent *tool.Agent) bool

// ForClients is met at clients of these kinds ([tool.Agent].Client), and where the
// kind is not known.
func ForClients(kinds ...string) Condition {
	return func(a *tool.Agent) bool { return a == nil || a.Client == "" || slices.Contains(kinds, a.Client) }
}

// ForProviders is met with models of these providers ([tool.Agent].Provider).
func ForProviders(ids ...string) Condition {
	return func(a *tool.Agent) bool { return a != nil && slices.Contains(ids, a.Provider) }
}

// WithFlag is met if the flag of this name is set ([tool.Agent].Flags).
func WithFlag(name string) Condition {
	return func(a *tool.Agent) bool { return a.Flag(name) }
}

// And is met if both are.
func (c Condition) And(d Condition) Condition {
	return func(a *tool.Agent) bool { return c(a) && d(a) }
}

// Or is met if one of them is.
func (c Condition) Or(d Condition) Condition {
	return func(a *tool.Agent) bool { return c(a) || d(a) }
}

// Conditions are those of tools, by name. A tool without one is offered. They add
// to what is configured, and take nothing away from [tool.ErrHidden]: what
// cannot work is not offered under any condition.
type Conditions map[string]Condition

// StandardConditions returns those that coding agents are known to have. The map is the caller's, to be changed.
//
//	question                   clients app, cli, desktop
//	plan_enter, plan_exit      client cli, with the flag "plan"
//	batch                      with the flag "batch"
//	lsp                        with the flag "lsp"
//	websearch, codesearch      provider opencode, or with the flag "search"
//	apply_patch                models that were made to write patches
//	edit, multiedit, write     all other models
//
// Of a model that is not known, both of the last are offered.
func StandardConditions() Conditions {
	plan := ForClients("cli").And(WithFlag("plan"))
	search := ForProviders("opencode").Or(WithFlag("search"))
	edits := Condition(func(a *tool.Agent) bool { return a == nil || a.Model == "" || !expectsPatches(a) })
	return Conditions{
		"question":   ForClients("app", "cli", "desktop"),
		"plan_enter": plan, "plan_exit": plan,
		"batch": WithFlag("batch"), "lsp": WithFlag("lsp"),
		"websearch": search, "codesearch": search,
		"apply_patch": expectsPatches, "edit": edits, "multiedit": edits, "write": edits,
	}
}

// Filter returns a filter for [tool.Registry.Resolve]. Later changes of c do not
// alter it.
func (c Conditions) Filter() tool.Filter {
	own := make(Conditions, len(c))
	for name, cond := range c {
		own[name] = cond
	}
	return func(agent *tool.Agent, spec *tool.Spec) bool {
		cond := own[spec.Name]
		return cond == nil || cond(agent)
	}
}
