// Package searxng searches the web through an instance of SearXNG, whose settings
// must allow the format json.
package searxng

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/agenttool/tool/builtin"
	"github.com/agenttool/tool/internal/web"
)

// Provider searches through one instance.
type Provider struct {
	// BaseURL is the address of the instance, as "https://searx.example" or
	// "http://localhost:8888". Required.
	BaseURL string
	// Key is sent as a bearer token, for instances behind a gate that wants one, over
	// https or to this machine only, and never shown; "" sends none.
	Key string
	// HTTP makes the requests; redirects are not followed. Nil means a dialer that
	// checks addresses.
	HTTP *http.Client
	// Language and SafeSearch are passed on: "en", "de-CH"; "0", "1", "2". "" is up
	// to the instance.
	Language, SafeSearch string
}

var _ builtin.SearchProvider = (*Provider)(nil)

// Name implements [builtin.SearchProvider].
func (p *Provider) Name() string { return "SearXNG" }

type answer struct {
	Results []struct {
		Title, URL, Content string
		PublishedDate       any
	}
	Answers      []any
	Infoboxes    []struct{ Infobox, Content string }
	Unresponsive [][]any `json:"unresponsive_engines"`
}

// Search implements [builtin.SearchProvider].
func (p *Provider) Search(ctx context.Context, q builtin.SearchQuery) (*builtin.SearchResults, error) {
	query := url.Values{"q": {withDomains(q)}, "format": {"json"}}
	if p.Language != "" {
		query.Set("language", p.Language)
	}
	if p.SafeSearch != "" {
		query.Set("safesearch", p.SafeSearch)
	}
	api := &web.API{Base: p.BaseURL, Client: p.HTTP, Key: p.Key}
	resp, err := api.Do(ctx, web.APIRequest{Path: "/search", Query: query, Header: http.Header{"Accept": {"application/json"}}})
	if err != nil {
		return nil, err
	}
	if resp.Status == http.StatusForbidden {
		return nil, &builtin.SearchError{Failure: builtin.SearchBlocked, Detail: "403 Forbidden; the instance may not allow the format json"}
	}
	if err := builtin.SearchStatus(resp.Status, resp.Header, ""); err != nil {
		return nil, err
	}
	var a answer
	if err := json.Unmarshal(resp.Body, &a); err != nil {
		if kind, _ := web.KindOf(resp.Header.Get("Content-Type"), resp.Body); kind == web.KindHTML {
			// A page in place of the answer is how instances and what stands before
			// them ask for a person.
			return nil, &builtin.SearchError{Failure: builtin.SearchBlocked, Detail: "it answered with a page: " + web.Text(string(resp.Body[:min(len(resp.Body), 64<<10)])).Title}
		}
		return nil, &builtin.SearchError{Failure: builtin.SearchUnreadable, Detail: resp.Truncated, Err: err}
	}
	out := &builtin.SearchResults{}
	for _, r := range a.Results {
		date, _ := r.PublishedDate.(string)
		if len(date) > 10 && date[4] == '-' {
			date = date[:10]
		}
		out.Results = append(out.Results, builtin.SearchResult{Title: r.Title, URL: r.URL, Snippet: r.Content, Date: date})
	}
	for _, b := range a.Infoboxes {
		if b.Content != "" && out.Text == "" {
			out.Text = strings.TrimSpace(b.Infobox + ": " + b.Content)
		}
	}
	silent := unresponsive(a.Unresponsive)
	if len(out.Results) == 0 && out.Text == "" && silent != "" {
		e := &builtin.SearchError{Failure: builtin.SearchUnavailable, Detail: "no engine answered: " + silent}
		if strings.Contains(silent, "too many requests") || strings.Contains(silent, "CAPTCHA") || strings.Contains(silent, "suspended") {
			e.Failure = builtin.SearchRateLimited
		}
		return nil, e
	}
	if silent != "" {
		out.Partial = "these engines did not answer: " + silent
	}
	return out, nil
}

// withDomains adds the domains in the way that search engines read in a query.
func withDomains(q builtin.SearchQuery) string {
	var sites []string
	for _, d := range q.Allow {
		sites = append(sites, "site:"+d)
	}
	text := strings.TrimSpace(q.Text + " " + strings.Join(sites, " OR "))
	for _, d := range q.Deny {
		text += " -site:" + d
	}
	return text
}

// unresponsive lists the engines that did not answer, with their reasons.
func unresponsive(list [][]any) string {
	const most = 8
	var parts []string
	for i, e := range list {
		if i == most {
			parts = append(parts, fmt.Sprintf("and %d more", len(list)-most))
			break
		}
		if len(e) >= 2 {
			parts = append(parts, fmt.Sprintf("%v (%v)", e[0], e[1]))
		} else if len(e) == 1 {
			parts = append(parts, fmt.Sprint(e[0]))
		}
	}
	return strings.Join(parts, ", ")
}

// String never shows the key.
func (p Provider) String() string { return "SearXNG at " + p.BaseURL }

// GoString never shows the key.
func (p Provider) GoString() string { return p.String() }
