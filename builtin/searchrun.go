package builtin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/agenttool/tool"
	"github.com/agenttool/tool/internal/web"
)

// searchCall is one call of websearch or codesearch.
type searchCall struct {
	ts       *Toolset
	name     string // of the tool
	provider SearchProvider
	query    SearchQuery
	limit    time.Duration
	filter   func(u *web.Target) bool // nil lets everything pass
}

func (s *searchCall) plan(name string, apply func(ctx context.Context, call *tool.Call) (*tool.Result, error)) *plan {
	s.name = name
	who := "the project"
	if s.provider != nil {
		who = s.providerName()
	}
	req := &tool.Request{
		Permission: name, Title: fmt.Sprintf("Search %s for %s", who, clip(s.query.Text, 200)),
		Patterns: []string{s.query.Text}, Always: []string{"*"},
		Metadata: map[string]any{"query": s.query.Text, "provider": who},
	}
	return &plan{asks: []ask{{req: req}}, apply: func(ctx context.Context, call *tool.Call) (*outcome, error) {
		res, err := apply(ctx, call)
		if err != nil {
			return nil, err
		}
		return &outcome{result: res}, nil
	}}
}

func (s *searchCall) providerName() string {
	name := ""
	guarded(func() { name = s.provider.Name() })
	if name = oneLine(clip(name, 60)); name == "" {
		return "a search service"
	}
	return name
}

// run asks the provider, or memory. Errors match [ErrSearch], but for the end of the
// call and for a session that has used up its searches.
func (s *searchCall) run(ctx context.Context, call *tool.Call) (found *SearchResults, cached bool, err error) {
	key, err := json.Marshal([]any{s.name, call.SessionID, s.query})
	if err != nil {
		return nil, false, err
	}
	m := &s.ts.found
	if found := m.get(string(key)); found != nil {
		return found, true, nil
	}
	if left := m.count(call.SessionID, s.ts.cfg.Search.PerSession); !left {
		return nil, false, errors.New("this session has used up its searches. Go on with what you know, or ask the user")
	}
	within, cancel := context.WithTimeout(ctx, s.limit)
	defer cancel()
	note := guarded(func() { found, err = s.provider.Search(within, s.query) })
	switch {
	case ctx.Err() != nil:
		return nil, false, &tool.CancelledError{Cause: context.Cause(ctx)}
	case note != "":
		return nil, false, &SearchError{Detail: "it failed in itself"}
	case err != nil:
		return nil, false, searchFailure(within, err)
	case found == nil:
		found = &SearchResults{}
	}
	found = s.tidy(found)
	if found.Partial == "" {
		m.put(string(key), found, s.ts.cfg.Search.CacheTime)
	}
	return found, false, nil
}

// tidy returns results without those that are there twice or were not wanted, and
// with texts that are safe to show.
func (s *searchCall) tidy(in *SearchResults) *SearchResults {
	out := &SearchResults{Text: strings.TrimSpace(web.Clean(in.Text)), Partial: oneLine(clip(in.Partial, 300))}
	seen := make(map[string]bool)
	for _, r := range in.Results {
		key := fmt.Sprint(r.Repo, "\x00", r.Path, "\x00", r.Line)
		if r.URL != "" || r.Path == "" {
			t, err := web.Parse(strings.TrimSpace(r.URL))
			switch {
			case err != nil && r.Path == "":
				continue // nothing that could be read
			case err != nil:
				r.URL = ""
			case s.filter != nil && !s.filter(t):
				continue
			default:
				r.URL = t.String()
				if r.Path == "" {
					key = canonical(t)
				}
			}
		}
		if seen[key] {
			continue
		}
		seen[key] = true
		for _, field := range []*string{&r.Title, &r.Date, &r.Repo, &r.Path, &r.Commit, &r.License} {
			*field = strings.Join(strings.Fields(clip(web.Clean(*field), 300)), " ")
		}
		r.Snippet = strings.TrimRight(web.Clean(clip(r.Snippet, 8<<10)), " \n\t")
		out.Results = append(out.Results, r)
	}
	return out
}

// canonical is the same for addresses of one page.
func canonical(t *web.Target) string {
	q, err := url.ParseQuery(t.Query())
	if err == nil {
		for k := range q {
			if strings.HasPrefix(k, "utm_") || slices.Contains([]string{"gclid", "fbclid", "msclkid", "ref", "ref_src"}, k) {
				q.Del(k)
			}
		}
	}
	return strings.TrimPrefix(t.Host, "www.") + strings.TrimSuffix(t.Path(), "/") + "?" + q.Encode()
}

// domainFilter says which domains results may come from.
type domainFilter struct {
	host        SearchConfig
	allow, deny []string
}

// lists are the domains to tell the provider.
func (f *domainFilter) lists() (allow, deny []string) {
	allow = f.allow
	if len(allow) == 0 {
		allow = f.host.Allow
	}
	return allow, append(slices.Clone(f.host.Deny), f.deny...)
}

func (f *domainFilter) passes(t *web.Target) bool {
	return (len(f.host.Allow) == 0 || inDomains(t.Host, f.host.Allow)) && (len(f.allow) == 0 || inDomains(t.Host, f.allow)) &&
		!inDomains(t.Host, f.host.Deny) && !inDomains(t.Host, f.deny)
}

func inDomains(host string, list []string) bool {
	return slices.ContainsFunc(list, func(d string) bool {
		d = strings.TrimPrefix(strings.ToLower(d), "*.")
		return host == d || strings.HasSuffix(host, "."+d)
	})
}

// readDomains reads domains as models write them, also as addresses.
func readDomains(list []string) ([]string, error) {
	var out []string
	for _, d := range list {
		if strings.TrimSpace(d) == "" {
			continue
		}
		text := strings.TrimPrefix(strings.TrimSpace(d), "*.")
		if !strings.Contains(text, "://") {
			text = "https://" + text
		}
		t, err := web.Parse(text)
		if err != nil {
			return nil, fmt.Errorf("%q is no domain: %w", clip(d, 100), err)
		}
		out = append(out, t.Host)
	}
	return out, nil
}

// searches remembers answers and counts. The zero value is empty.
type searches struct {
	mu     sync.Mutex
	found  map[string]remembered
	counts map[string]int // searches of each session
}

type remembered struct {
	found *SearchResults
	until time.Time
}

const (
	maxRemembered   = 100  // answers
	maxCounted      = 5000 // sessions
	defaultSearches = 200  // of a session
)

func (m *searches) get(key string) *SearchResults {
	m.mu.Lock()
	defer m.mu.Unlock()
	if r, ok := m.found[key]; ok && time.Now().Before(r.until) {
		return r.found
	}
	return nil
}

func (m *searches) put(key string, found *SearchResults, limit time.Duration) {
	if limit < 0 {
		return
	}
	def(&limit, 5*time.Minute)
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	if m.found == nil {
		m.found = make(map[string]remembered)
	}
	oldest := ""
	for k, r := range m.found {
		if !now.Before(r.until) {
			delete(m.found, k)
		} else if oldest == "" || r.until.Before(m.found[oldest].until) {
			oldest = k
		}
	}
	if len(m.found) >= maxRemembered {
		delete(m.found, oldest)
	}
	m.found[key] = remembered{found, now.Add(limit)}
}

// count counts a search of a session and reports whether it may be made.
func (m *searches) count(session string, limit int) bool {
	if limit < 0 {
		return true
	}
	def(&limit, defaultSearches)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.counts == nil {
		m.counts = make(map[string]int)
	}
	if m.counts[session] >= limit {
		return false
	}
	if len(m.counts) >= maxCounted && m.counts[session] == 0 {
		clear(m.counts) // a host with so many sessions has long ended the first ones
	}
	m.counts[session]++
	return true
}
