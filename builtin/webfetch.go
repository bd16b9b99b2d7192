package builtin

import (
	"context"
	_ "embed" // descriptions
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/agenttool/tool"
	"github.com/agenttool/tool/internal/web"
)

//go:embed webfetch.md
var webfetchDescription string

type webfetchInput struct {
	URL     string `json:"url" jsonschema:"http or https" alias:"uri,link,href"`
	Format  string `json:"format,omitempty" jsonschema:"default markdown" enum:"markdown,text,html" alias:"output_format,outputFormat"`
	Timeout int    `json:"timeout,omitempty" jsonschema:"milliseconds (default 30000, at most 120000); less than 100 are seconds" minimum:"1"`
	Offset  int    `json:"offset,omitempty" jsonschema:"byte of the text to go on from, as the last part said" minimum:"0" alias:"start_index,startIndex"`
	Pages   string `json:"pages,omitempty" jsonschema:"pages of a PDF, as 1-5,9"`
}

func defineWebfetch(ts *Toolset) (operation, error) {
	var err error
	if ts.web, err = newWeb(ts.cfg.Web, ts.limits); err != nil {
		return operation{}, err
	}
	return define(ts, tool.Def{
		Name: "webfetch", Title: "Fetch", Description: strings.TrimSpace(webfetchDescription),
		Hints:    tool.Hints{ReadOnly: true, Idempotent: true, OpenWorld: true},
		Parallel: true, MaxOutput: -1, Timeout: -1, // it has a deadline of its own
		Aliases: []string{"web_fetch", "fetch", "fetch_url", "read_url"},
	}, ts.planWebfetch)
}

// pageFetch is one call of webfetch.
type pageFetch struct {
	ts     *Toolset
	call   *tool.Call
	in     webfetchInput
	target *web.Target
	meta   map[string]any // of questions
	asked  []web.Hop      // beyond the first question
}

func (ts *Toolset) planWebfetch(_ context.Context, call *tool.Call, in webfetchInput) (*plan, error) {
	target, given, err := readURL(in.URL)
	if err != nil {
		return nil, fmt.Errorf("%w. Nothing was fetched", err)
	}
	if in.Format == "" {
		in.Format = string(web.AsMarkdown)
	}
	f := &pageFetch{ts: ts, call: call, in: in, target: target, meta: map[string]any{
		"format": in.Format, "timeout": ts.web.timeout(in.Timeout).Milliseconds(),
	}}
	if given != "" {
		f.meta["given"] = given
	}
	q := f.question(web.Hop{Target: target, Decision: ts.web.fetcher.Guard.DecideTarget(target)})
	p := &plan{asks: []ask{{req: q.request(f.meta)}}}
	if q.never != "" {
		// The rules have their say first, so that what cannot be allowed shows as
		// denied wherever it is explained.
		p.fail = &tool.DeniedError{Request: p.asks[0].req, Reason: q.never + ". Nothing can allow this"}
	}
	p.apply = func(ctx context.Context, call *tool.Call) (*outcome, error) {
		res, err := f.run(ctx)
		if err != nil {
			return nil, err
		}
		return &outcome{result: res}, nil
	}
	return p, nil
}

// readURL reads the URL that a model wrote. A host without a scheme is taken for
// https; a page of GitHub or GitLab that shows a file, for the file. What was
// given is returned if it is not what is fetched.
func readURL(text string) (t *web.Target, given string, err error) {
	text = strings.TrimSpace(text)
	if text != "" && !strings.Contains(text, "://") && hostWithoutScheme(text) {
		given, text = text, "https://"+text
	}
	if t, err = web.Parse(text); err != nil {
		return nil, "", err
	}
	if raw := rawForm(t); raw != nil {
		return raw, t.String(), nil
	}
	return t, given, nil
}

// hostWithoutScheme reports whether text begins like "go.dev/doc": a name with a
// dot, of which the last label is no number.
func hostWithoutScheme(text string) bool {
	host := text
	if i := strings.IndexAny(text, "/?#"); i >= 0 {
		host = text[:i]
	}
	i := strings.LastIndexByte(host, '.')
	return i > 0 && i+1 < len(host) && strings.Trim(strings.ToLower(host[i+1:]), "abcdefghijklmnopqrstuvwxyz") == "" &&
		!strings.ContainsAny(host, ":@")
}

// rawForm returns the address of the file that a page of a code host shows, or nil.
func rawForm(t *web.Target) *web.Target {
	parts := strings.SplitN(strings.TrimPrefix(t.Path(), "/"), "/", 4)
	var to string
	switch {
	case t.Host == "github.com" && len(parts) == 4 && parts[2] == "blob":
		to = "https://raw.githubusercontent.com/" + parts[0] + "/" + parts[1] + "/" + parts[3]
	case t.Host == "gitlab.com" && strings.Contains(t.Path(), "/-/blob/"):
		to = "https://gitlab.com" + strings.Replace(t.Path(), "/-/blob/", "/-/raw/", 1)
	default:
		return nil
	}
	raw, err := web.Parse(to)
	if err != nil {
		return nil
	}
	return raw
}

// question is what to ask about a hop.
func (f *pageFetch) question(hop web.Hop) *webQuestion {
	t := hop.Target
	q := &webQuestion{target: t, always: []string{t.Origin() + "/*"}}
	if hop.Decision.Action == web.Deny {
		q.never, q.always = hop.Decision.Reason, nil
		return q
	}
	own := f.ts.web.fetcher.Guard.DecideTarget(t)
	if len(hop.Addrs) > 0 {
		own = f.ts.web.fetcher.Guard.DecideAddrs(t, hop.Addrs)
	}
	local := slices.Contains(f.ts.web.cfg.Local, t.Origin())
	if own.Action == web.Ask && !local {
		q.why = append(q.why, own.Reason)
	}
	if len(q.why) > 0 && (t.EscapedDots() || len(t.Query()) > web.MaxQuery) {
		q.always = nil // it is this URL that is odd, not its origin
	}
	if len(q.why) > 0 && len(hop.Addrs) > 0 {
		addrs := make([]string, len(hop.Addrs))
		for i, a := range hop.Addrs {
			addrs[i] = a.String()
		}
		q.always = []string{t.Origin() + "/* (" + strings.Join(addrs, ", ") + ")"}
	}
	switch {
	case hop.From == nil || len(hop.Addrs) > 0:
	case hop.Moved == "":
		q.within = true
	case hop.From.Scheme == "https" && t.Scheme == "http":
		q.why = append(q.why, hop.Moved)
	}
	return q
}

// check is asked about every hop by the fetcher. The first was asked about when
// the call was planned; of its addresses nothing more need be known if the host
// said that the origin is its own.
func (f *pageFetch) check(ctx context.Context, hop web.Hop) error {
	if hop.From == nil && (len(hop.Addrs) == 0 || slices.Contains(f.ts.web.cfg.Local, hop.Target.Origin())) {
		return nil
	}
	q := f.question(hop)
	meta := make(map[string]any, len(f.meta)+4)
	for k, v := range f.meta {
		meta[k] = v
	}
	if hop.From != nil {
		meta["redirectedFrom"] = hop.From.String()
	}
	if len(hop.Addrs) > 0 {
		addrs := make([]string, len(hop.Addrs))
		for i, a := range hop.Addrs {
			addrs[i] = a.String()
		}
		meta["addresses"] = addrs
	}
	req := q.request(meta)
	req.Tool = "webfetch"
	if err := f.call.Ask(ctx, req); err != nil {
		return deniedHint(req, err)
	}
	if q.never != "" {
		return &tool.DeniedError{Request: req, Reason: q.never}
	}
	f.asked = append(f.asked, hop)
	return nil
}

// run fetches and shows the page.
func (f *pageFetch) run(ctx context.Context) (*tool.Result, error) {
	p, err := f.get(ctx)
	if err != nil {
		return nil, f.failure(ctx, err)
	}
	return f.show(ctx, p)
}

// get returns the page, from memory if it is still good.
func (f *pageFetch) get(ctx context.Context) (*page, error) {
	w := f.ts.web
	key := f.call.SessionID + "\x00" + string(web.Format(f.in.Format).Accept()) + "\x00" + f.target.String()
	old := w.cache.get(key, w.cfg.CacheTime)
	if old != nil {
		// The next part of a page is of the page that the first part was of.
		if old.fresh(w.cfg.CacheTime) || f.in.Offset > 1 || f.in.Pages != "" {
			// Consent is given for a call: what the first fetch asked is asked again.
			for _, hop := range old.asked {
				if err := f.check(ctx, hop); err != nil {
					return nil, err
				}
			}
			hit := *old
			hit.cached = true
			return &hit, nil
		}
	}
	header := http.Header{"Accept": {web.Format(f.in.Format).Accept()}, "Accept-Language": {"en;q=0.9, *;q=0.5"}}
	if old != nil {
		for k, v := range old.validators() {
			header[k] = v
		}
	}
	f.call.Update(tool.Update{Title: "Fetching " + f.target.Host})
	f.asked = nil
	resp, err := w.fetcher.Fetch(ctx, web.Request{URL: f.target.String(), Timeout: f.limit(), Header: header, Check: f.check})
	if err != nil {
		return nil, err
	}
	if resp.Status == http.StatusNotModified && old != nil && len(resp.Hops) == 1 {
		again := *old
		again.at, again.asked = time.Now(), f.asked
		w.cache.put(key, &again)
		hit := again
		hit.cached = true
		return &hit, nil
	}
	p := &page{resp: resp, at: time.Now(), asked: f.asked, local: f.isLocal(resp)}
	if resp.Status == http.StatusOK && w.cfg.CacheTime > 0 && !p.says("no-store") {
		w.cache.put(key, p)
	}
	return p, nil
}

// limit is the time that the fetch gets. Numbers that can only be seconds are
// taken for them.
func (f *pageFetch) limit() time.Duration { return f.ts.web.timeout(f.in.Timeout) }

func (w *webState) timeout(given int) time.Duration {
	const seconds = 100 // less milliseconds than this is no time to fetch anything in
	d := time.Duration(given) * time.Millisecond
	switch {
	case given == 0:
		d = w.cfg.Time
	case given < seconds:
		d = time.Duration(given) * time.Second
	}
	return min(d, w.cfg.MaxTime, web.MaxTimeout)
}

// isLocal reports whether the page came from a machine that is the user's own:
// what is there changes while it is worked on.
func (f *pageFetch) isLocal(resp *web.Response) bool {
	for _, t := range resp.Hops {
		if f.ts.web.fetcher.Guard.DecideTarget(t).Action != web.Allow || slices.Contains(f.ts.web.cfg.Local, t.Origin()) {
			return true
		}
	}
	return slices.ContainsFunc(f.asked, func(h web.Hop) bool { return len(h.Addrs) > 0 })
}

// failure words why there is no page.
func (f *pageFetch) failure(ctx context.Context, err error) error {
	var denied *tool.DeniedError
	var dns *net.DNSError
	var pace *web.PaceError
	switch {
	case errors.As(err, &denied):
		return denied
	case ctx.Err() != nil:
		return &tool.CancelledError{Cause: context.Cause(ctx)}
	case errors.As(err, &pace):
		return pace
	case errors.Is(err, web.ErrTimeout):
		more := ""
		if limit := min(f.ts.web.cfg.MaxTime, web.MaxTimeout); f.limit() < limit {
			more = fmt.Sprintf(". A longer timeout may help, at most %d", limit.Milliseconds())
		}
		return fmt.Errorf("%s%s", told(err), more)
	case errors.As(err, &dns):
		if dns.IsNotFound {
			return fmt.Errorf("there is no host %s: check its spelling", dns.Name)
		}
		return fmt.Errorf("the host %s could not be looked up: %s", dns.Name, dns.Err)
	}
	return errors.New(told(err))
}

// told is an error of the fetcher for the model.
func told(err error) string {
	text := strings.TrimPrefix(err.Error(), "web: ")
	return oneLine(clip(strings.ReplaceAll(text, ": web: ", ": "), 600))
}

// base is the address that links of the page are relative to.
func base(t *web.Target) *url.URL {
	u, err := url.Parse(t.String())
	if err != nil {
		return nil // it was parsed before
	}
	return u
}
