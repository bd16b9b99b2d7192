package permission

import (
	"slices"
	"strings"

	"github.com/agenttool/tool"
)

// ReadOnlyKey is the key in [tool.Request].Metadata under which a tool says, with
// the value true, that what it asks for provably changes nothing. Plan mode relies
// on it, so only tools of the host may set it: whoever passes on requests of
// strangers must remove it.
const ReadOnlyKey = "readOnly"

// Plan is plan mode: while it is set for a session, see [Gate.SetPlan], the
// session and those it started can look but not touch. It is laid over the rules:
// what it denies is denied whatever they allow, and it never lifts a deny. The
// zero value denies every edit.
type Plan struct {
	// Files may be edited nevertheless, without a question: patterns, see [Match], for
	// what edit requests name, as a rule has them.
	Files []string `json:"files,omitempty"`

	// ReadOnly are the permissions under which only requests marked with
	// [ReadOnlyKey] pass; nil: "bash".
	ReadOnly []string `json:"readOnly,omitempty"`

	// Quiet allows requests marked with [ReadOnlyKey] under those permissions
	// without a question. They still need whatever else they ask for, such as
	// leaving the project or reading a secret.
	Quiet bool `json:"quiet,omitempty"`

	// Rules can make decisions stricter while the plan is set. What they do not match stays as it is.
	Rules Ruleset `json:"rules,omitempty"`
}

// editing are the permissions that a plan denies. Tools of this module ask for
// the first; the others are what tools elsewhere are known to ask for.
var editing = [...]string{"edit", "write", "multiedit", "patch", "apply_patch"}

// PlanRules returns plan mode as far as rules can say it: editing is denied, but
// for the files, which are patterns. Rules know nothing of commands that only
// read; see [Plan] for that.
func PlanRules(files ...string) Ruleset {
	var rs Ruleset
	for _, p := range editing {
		rs = append(rs, Rule{p, "*", Deny})
		for _, f := range files {
			rs = append(rs, Rule{p, f, Allow})
		}
	}
	return rs
}

// clone returns a copy that shares nothing.
func (p *Plan) clone() *Plan {
	if p == nil {
		return nil
	}
	return &Plan{
		Files: slices.Clone(p.Files), ReadOnly: slices.Clone(p.ReadOnly), Quiet: p.Quiet, Rules: slices.Clone(p.Rules),
	}
}

// judge returns what the plan makes of req and why; "" if it has no opinion.
func (p *Plan) judge(req *tool.Request) (Action, string) {
	if a, why := tighten(req, p.Rules); a == Deny {
		return a, why
	}
	if slices.Contains(editing[:], req.Permission) {
		for _, pattern := range patternsOf(req) {
			if !slices.ContainsFunc(p.Files, func(f string) bool { return Match(f, pattern) }) {
				return Deny, planReason(p.Files)
			}
		}
		if req.Protected {
			return "", ""
		}
		return Allow, "plan mode leaves this file editable"
	}
	guarded := p.ReadOnly
	if guarded == nil {
		guarded = []string{"bash"}
	}
	if slices.Contains(guarded, req.Permission) {
		if proven, _ := req.Metadata[ReadOnlyKey].(bool); !proven {
			return Deny, "The session is in plan mode, where only what provably changes nothing is run"
		}
		if p.Quiet && !req.Protected {
			return Allow, "plan mode lets it pass: it changes nothing"
		}
	}
	return tighten(req, p.Rules)
}

// judgePlans returns what several plans, of a session and of those above it,
// make of req together: the strictest opinion counts, and only all of them can allow.
func judgePlans(plans []*Plan, req *tool.Request) (Action, string) {
	var worst Action
	why := ""
	for i, p := range plans {
		a, reason := p.judge(req)
		switch {
		case i == 0:
			worst, why = a, reason
		case a == Deny && worst != Deny, a == Ask && worst != Deny && worst != Ask:
			worst, why = a, reason
		case a == "" && worst == Allow:
			worst, why = "", ""
		}
	}
	return worst, why
}

func planReason(files []string) string {
	if len(files) == 0 {
		return "The session is in plan mode, where nothing is edited"
	}
	return "The session is in plan mode, where nothing is edited but " + quote(files[0])
}

// tighten returns what rules say that may only make things stricter: "" for what they do not match or allow.
func tighten(req *tool.Request, rules Ruleset) (Action, string) {
	var worst Action
	why := ""
	if len(rules) == 0 {
		return "", ""
	}
	if req.Judge != nil || req.Opaque {
		// What the rules would qualify if everything else were allowed.
		v := verdict(req, []Ruleset{{{"*", "*", Allow}}, rules})
		if v.Decision != Allow && !(req.Protected && v.Decision == Ask) {
			worst, why = v.Decision, strings.Join(v.Reasons, "; ")
		}
	}
	for _, pattern := range patternsOf(req) {
		p := judgePattern(req, pattern, []Ruleset{rules})
		if !p.Matched || p.Rule.Action == Allow || worst == Deny {
			continue
		}
		if worst == "" || p.Decision == Deny {
			p.explain(req)
			worst, why = p.Decision, p.Reason
		}
	}
	return worst, why
}
