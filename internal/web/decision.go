package web

// Action is what a [Decision] says. The zero value is Deny, so that a decision
// nobody made lets nothing through.
type Action int

// The actions, from the strictest to the most permissive.
const (
	// Deny cannot be approved: the request must not be made.
	Deny Action = iota
	// Ask lets the request through only if somebody approves its origin.
	Ask
	// Allow raises no objection. Rules of the caller may still do so.
	Allow
)

// String returns "deny", "ask" or "allow".
func (a Action) String() string {
	switch a {
	case Allow:
		return "allow"
	case Ask:
		return "ask"
	default:
		return "deny"
	}
}

// Decision is the verdict on a URL or on the addresses behind it.
type Decision struct {
	// Action is the verdict; zero denies.
	Action Action
	// Reason says why, in a phrase that can follow a colon. It is empty when
	// the action is Allow.
	Reason string
	// Origin is scheme, host and port, the unit an approval is given for. It
	// is empty when the URL could not be read.
	Origin string
}

// stricter merges another finding into the decision: the stricter action
// stays, and reasons of equal weight are joined.
func (d Decision) stricter(a Action, reason string) Decision {
	switch {
	case a < d.Action:
		d.Action, d.Reason = a, reason
	case a == d.Action && a != Allow && reason != "":
		if d.Reason != "" {
			d.Reason += "; "
		}
		d.Reason += reason
	}
	return d
}

// DecideURL parses the text of a URL and decides by the text alone. A text
// that [Parse] refuses is denied with the parse error as the reason. It is
// safe for concurrent use and looks nothing up.
func DecideURL(text string) Decision { return Guard{}.DecideURL(text) }

// DecideURL is like the function [DecideURL] under the guard's prefixes.
func (g Guard) DecideURL(text string) Decision {
	t, err := Parse(text)
	if err != nil {
		return Decision{Reason: err.Error()}
	}
	return g.DecideTarget(t)
}
