package builtin

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/agenttool/tool"
	"github.com/agenttool/tool/internal/shellscan"
	"github.com/agenttool/tool/internal/web"
)

// webQuestion is a request to fetch one URL, which judges itself: as text,
// "https://docs.example.com*" also fits "https://docs.example.com.evil/".
type webQuestion struct {
	target *web.Target
	why    []string // what needs a rule that names the host; nil: nothing does
	never  string   // why nothing can allow it; "" if something can
	within bool     // a redirect within a host that was consented to: only a deny counts
	always []string // what "always" grants
}

func (q *webQuestion) request(meta map[string]any) *tool.Request {
	u := q.target.String()
	if meta == nil {
		meta = make(map[string]any)
	}
	meta["url"], meta["host"], meta["origin"] = u, q.target.Host, q.target.Origin()
	if len(q.why) > 0 {
		meta["reasons"] = slices.Clone(q.why)
	}
	return &tool.Request{
		Permission: "webfetch", Title: "Fetch from " + q.target.Host + ": " + clip(u, 300),
		Patterns: []string{u}, Always: append([]string{}, q.always...), Metadata: meta,
		Protected: len(q.why) > 0 || q.never != "",
		Judge:     q.judge,
	}
}

// judge says what rules mean for the URL. Rules that deny or ask count as text and
// by their host; those that allow only by their host, so that they hold for no
// other.
func (q *webQuestion) judge(rules []tool.Rule, approved []string) tool.Judgement {
	if q.never != "" {
		return tool.Judgement{Action: "deny", Reasons: []string{q.never}}
	}
	action, by := "ask", ""
	for _, r := range rules {
		if !shellscan.Match(r.Permission, "webfetch") {
			continue
		}
		p := parseURLPattern(r.Pattern)
		switch r.Action {
		case "allow":
			if p.allows(q.target) && (p.named || len(q.why) == 0) {
				action, by = "allow", r.Pattern
			}
		case "ask":
			if p.touches(q.target) {
				action, by = "ask", r.Pattern
			}
		default:
			if p.touches(q.target) {
				action, by = "deny", r.Pattern
			}
		}
	}
	if action == "ask" && (q.within || slices.ContainsFunc(approved, q.covered)) {
		action = "allow"
	}
	j := tool.Judgement{Action: action}
	if action != "allow" {
		j.Reasons = slices.Clone(q.why)
		if by != "" {
			j.Reasons = append(j.Reasons, fmt.Sprintf("the rule %q says %s", clip(by, 200), action))
		} else if len(j.Reasons) == 0 {
			j.Reasons = []string{"no rule names " + q.target.Host}
		}
	}
	return j
}

// covered reports whether a remembered approval consents to the URL.
func (q *webQuestion) covered(approved string) bool {
	if len(q.why) > 0 {
		return approved == q.target.String() || slices.Contains(q.always, approved)
	}
	p := parseURLPattern(approved)
	return p.allows(q.target)
}

// urlPattern is a pattern of a rule for URLs, cut into the parts of one.
type urlPattern struct {
	text   string
	broken bool   // it can allow nothing
	named  bool   // it names a host
	scheme string // "" is any
	host   string // "" is any; "*.x" is everything below x; "1.2." is what begins so
	port   string // "" is the scheme's own, "*" is any
	path   string // a pattern for path and query
}

// parseURLPattern reads a pattern: "*"; a host, "example.com" or "*.example.com",
// which stands for all of it; or a URL with stars, in which the star behind the
// host stands for port and path, and any other in the host for nothing.
func parseURLPattern(text string) urlPattern {
	p := urlPattern{text: text, path: "*", port: "*"}
	if strings.Trim(text, "*? ") == "" {
		p.broken = text == ""
		return p
	}
	scheme, rest, hasScheme := strings.Cut(text, "://")
	if !hasScheme {
		if s := strings.TrimSuffix(text, "*"); s == "http" || s == "https" {
			if s == text || s == "https" {
				p.scheme = s
			}
			return p
		}
		scheme, rest = "*", text
	}
	p.scheme = strings.ToLower(scheme)
	switch p.scheme {
	case "*", "http*", "http?":
		p.scheme = ""
	case "https*":
		p.scheme = "https"
	}
	host := rest
	if i := strings.IndexAny(rest, "/?"); i >= 0 {
		host, p.path = rest[:i], rest[i:]
		p.port = ""
	} else if !strings.HasSuffix(rest, "*") && hasScheme {
		p.path, p.port = "/", ""
	} else if h, ok := strings.CutSuffix(rest, "*"); ok && h != "" {
		host = strings.TrimSuffix(h, ":")
	}
	if !hasScheme && p.port == "" {
		p.port = "*" // a pattern without a scheme cannot mean the scheme's own port
	}
	if i := strings.LastIndexByte(host, ':'); i >= 0 && !strings.HasSuffix(host, "]") {
		host, p.port = host[:i], host[i+1:]
	}
	host = strings.ToLower(strings.TrimSuffix(strings.TrimPrefix(host, "["), "]"))
	switch stars := strings.TrimPrefix(host, "*."); {
	case host == "*" || host == "":
		host = ""
	case strings.ContainsAny(stars, "*?@") || stars == "":
		p.broken = true
	}
	p.host, p.named = host, host != ""
	return p
}

// allows reports whether the pattern, as the host means it, stands for the URL.
func (p *urlPattern) allows(t *web.Target) bool {
	if p.broken || p.scheme != "" && p.scheme != t.Scheme {
		return false
	}
	switch h, below := strings.CutPrefix(p.host, "*."); {
	case p.host == "":
	case below:
		if t.Addr.IsValid() || !strings.HasSuffix(t.Host, "."+h) {
			return false
		}
	case strings.HasSuffix(p.host, ".") && t.Addr.Is4() && strings.Trim(p.host, "0123456789.") == "":
		if !strings.HasPrefix(t.Host, p.host) {
			return false
		}
	case p.host != t.Host:
		if a, err := netip.ParseAddr(p.host); err != nil || a != t.Addr {
			return false
		}
	}
	switch p.port {
	case "":
		if t.Port != 443 && t.Scheme == "https" || t.Port != 80 && t.Scheme == "http" {
			return false
		}
	default:
		if !shellscan.Match(p.port, fmt.Sprint(t.Port)) {
			return false
		}
	}
	if t.EscapedDots() && p.path != "*" && p.path != "/*" {
		return false // where the path leads is up to the server
	}
	return shellscan.Match(p.path, pathAndQuery(t))
}

// touches reports whether the pattern could mean the URL, in any reading.
func (p *urlPattern) touches(t *web.Target) bool {
	return shellscan.Match(p.text, t.String()) || p.allows(t)
}

func pathAndQuery(t *web.Target) string {
	if q := t.Query(); q != "" {
		return t.Path() + "?" + q
	}
	return t.Path()
}
