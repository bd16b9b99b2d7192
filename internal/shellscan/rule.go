package shellscan

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
