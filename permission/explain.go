package permission

import (
	"fmt"
	"strings"

	"github.com/agenttool/tool"
)

// Explanation says what rules make of a list of requests. It marshals to JSON
// with empty lists as [], never null.
type Explanation struct {
	Decision Action       `json:"decision"` // the strictest of Asks; Allow if there are none
	Asks     []AskVerdict `json:"asks"`     // one per request, in the same order
	Reasons  []string     `json:"reasons"`  // for people: one line per pattern that is not simply allowed
}

// AskVerdict says what rules make of one request.
type AskVerdict struct {
	Permission string           `json:"permission"`
	Patterns   []string         `json:"patterns"`
	Always     []string         `json:"always"`
	Protected  bool             `json:"protected,omitempty"`
	Decision   Action           `json:"decision"` // the strictest of Judged, or what the request's own Judge said
	Judged     []PatternVerdict `json:"judged"`   // one per pattern
	Reasons    []string         `json:"reasons"`  // for people, in display form: why it is not simply allowed
}

// PatternVerdict says what rules make of one pattern of a request.
type PatternVerdict struct {
	Pattern  string `json:"pattern"`
	Decision Action `json:"decision"`
	Rule     Rule   `json:"rule"`    // the rule that matched last; if none did, the default
	Matched  bool   `json:"matched"` // whether any rule did
	Reason   string `json:"reason"`  // for people, in display form; in a [Decision], "" for what is allowed
}

// Explain judges requests by the rules alone, as a [Gate] does before it looks at
// anything else, and runs nothing. The strictest decision counts, over the
// requests as over the patterns of each. A request without patterns is judged as
// if it had the pattern "*". A Protected request is only allowed by a rule whose
// pattern says more than "*"; where just a "*" would allow it, it is asked. A
// request with a Judge says itself what the rules mean for it; what they deny by a
// pattern that names something is denied all the same. Without one, an Opaque
// request is only allowed by a rule for everything that no narrower rule after it
// qualifies.
func Explain(requests []*tool.Request, rules ...Ruleset) Explanation {
	e := Explanation{Decision: Allow, Asks: []AskVerdict{}, Reasons: []string{}}
	for _, req := range requests {
		if req == nil {
			continue
		}
		v := verdict(req, rules)
		for i := range v.Judged {
			v.Judged[i].explain(req)
		}
		e.Asks = append(e.Asks, v)
		e.Decision = stricter(e.Decision, v.Decision)
		e.Reasons = append(e.Reasons, v.Reasons...)
	}
	return e
}

// verdict returns what the configuration says about req: what its patterns come
// to, unless it judges itself.
func verdict(req *tool.Request, rules []Ruleset) AskVerdict {
	v := judge(req, rules)
	if req.Judge == nil {
		if req.Opaque && v.Decision == Allow && !allAllowed(req, rules) {
			v.Decision = Ask
			v.Reasons = append(v.Reasons, "it cannot be judged by its patterns, so only a rule for everything can allow it")
		}
		return v
	}
	if v.Decision == Deny && finallyDenied(req, &v, rules) {
		return v
	}
	decision, reasons := ask(req, rules, nil)
	v.Decision, v.Reasons = decision, []string{}
	if decision != Allow {
		for _, r := range reasons {
			v.Reasons = append(v.Reasons, VisibleLine(r))
		}
	}
	return v
}

// ask has a request that can do so judge itself. One that fails is denied.
func ask(req *tool.Request, rules []Ruleset, approved []string) (decision Action, reasons []string) {
	list := make([]tool.Rule, 0, 16)
	for _, rs := range rules {
		for _, r := range rs {
			list = append(list, tool.Rule{Permission: r.Permission, Pattern: r.Pattern, Action: string(r.Action.closed())})
		}
	}
	var j tool.Judgement
	err := guard(func() error {
		j = req.Judge(list, approved)
		return nil
	})
	if err != nil {
		return Deny, []string{checkFailed}
	}
	return Action(j.Action).closed(), j.Reasons
}

// allAllowed reports whether the last rule for everything allows, and no narrower
// one after it says otherwise: only then nothing that may be hidden in a request
// could be against a rule.
func allAllowed(req *tool.Request, rules []Ruleset) bool {
	ok := false
	for _, rs := range rules {
		for _, r := range rs {
			switch {
			case !Match(r.Permission, req.Permission):
			case bare(r.Pattern):
				ok = r.Action == Allow
			case r.Action != Allow:
				ok = false
			}
		}
	}
	return ok
}

// finallyDenied reports whether what denies a pattern leaves the request nothing
// to judge. Only a rule for everything that narrower rules soften does: which of
// them hold for the request is what it knows better.
func finallyDenied(req *tool.Request, v *AskVerdict, rules []Ruleset) bool {
	softened := false
	for _, rs := range rules {
		for _, r := range rs {
			if Match(r.Permission, req.Permission) {
				softened = !bare(r.Pattern) && (softened || r.Action.closed() != Deny)
			}
		}
	}
	for _, p := range v.Judged {
		if p.Decision == Deny && !(softened && bare(p.Rule.Pattern)) {
			return true
		}
	}
	return false
}

// judge judges req by its patterns.
func judge(req *tool.Request, rules []Ruleset) AskVerdict {
	v := AskVerdict{
		Permission: req.Permission,
		Patterns:   append([]string{}, req.Patterns...),
		Always:     append([]string{}, req.Always...),
		Protected:  req.Protected,
		Decision:   Allow,
		Reasons:    []string{},
	}
	patterns := patternsOf(req)
	v.Judged = make([]PatternVerdict, len(patterns))
	for i, pattern := range patterns {
		p := judgePattern(req, pattern, rules)
		v.Judged[i] = p
		v.Decision = stricter(v.Decision, p.Decision)
		if p.Decision != Allow {
			v.Judged[i].explain(req)
			v.Reasons = append(v.Reasons, v.Judged[i].Reason)
		}
	}
	return v
}

// patternsOf returns what is judged of req. A tool that names nothing has not
// said what it will do, so only a rule for everything can allow it.
func patternsOf(req *tool.Request) []string {
	if len(req.Patterns) == 0 {
		return []string{"*"}
	}
	return req.Patterns
}

func judgePattern(req *tool.Request, pattern string, rules []Ruleset) PatternVerdict {
	rule, matched := evaluate(req.Permission, pattern, rules, nil)
	p := PatternVerdict{Pattern: pattern, Decision: rule.Action.closed(), Rule: rule, Matched: matched}
	if req.Protected && p.Decision == Allow && bare(rule.Pattern) {
		// A "*" neither allows what is protected nor undoes an earlier rule that
		// names it, but a deny or ask before it does not come back to life either.
		named, _ := evaluate(req.Permission, pattern, rules, func(r *Rule) bool { return r.Action == Allow && bare(r.Pattern) })
		if named.Action == Allow {
			p.Rule = named
		} else {
			p.Decision = Ask
		}
	}
	return p
}

// explain gives the reason, which costs more than the decision.
func (p *PatternVerdict) explain(req *tool.Request) {
	if p.Reason == "" {
		p.Reason = VisibleLine(fmt.Sprintf("%s %s %s", req.Permission, quote(p.Pattern), p.because()))
	}
}

// because says why p is decided as it is.
func (p *PatternVerdict) because() string {
	by := fmt.Sprintf("by the rule %s %s", p.Rule.Permission, quote(p.Rule.Pattern))
	switch {
	case !p.Matched:
		return "is asked: no rule matches"
	case p.Decision == Ask && p.Rule.Action == Allow:
		return fmt.Sprintf("is protected: only a rule that names it can allow it, %s does not", quote(p.Rule.Pattern))
	case p.Decision == Allow:
		return "is allowed " + by
	case p.Decision == Ask:
		return "is asked " + by
	}
	return "is denied " + by
}

// bare reports whether pattern is nothing but wildcards, and so names nothing.
func bare(pattern string) bool { return strings.Trim(pattern, "*? ") == "" && pattern != "" }

// quote returns s for a sentence, in display form and not too long.
func quote(s string) string { return `"` + VisibleLine(clip(s, 300)) + `"` }
