// Package sourcegraph searches code through Sourcegraph's stream of search results.
package sourcegraph

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/agenttool/tool/builtin"
	"github.com/agenttool/tool/internal/web"
)

// DefaultURL is the instance for public code.
const DefaultURL = "https://sourcegraph.com"

// Provider searches one instance. The zero value is the one for public code, without
// a token.
type Provider struct {
	// BaseURL is the address of the instance; "" means [DefaultURL].
	BaseURL string
	// Token is an access token, sent over https or to this machine only, and never
	// shown; "" sends none.
	Token string
	// HTTP makes the requests; redirects are not followed. Nil means a dialer that
	// checks addresses.
	HTTP *http.Client
	// PatternType is "keyword", "standard", "literal" or "regexp"; "" means keyword.
	PatternType string
}

var _ builtin.SearchProvider = (*Provider)(nil)

// Name implements [builtin.SearchProvider].
func (p *Provider) Name() string { return "Sourcegraph" }

func (p *Provider) base() string {
	if p.BaseURL == "" {
		return DefaultURL
	}
	return strings.TrimSuffix(p.BaseURL, "/")
}

type lineMatch struct {
	Line       string
	LineNumber int // from 0
}

type match struct {
	Type, Repository, Path, Commit, Language string
	LineMatches                              []lineMatch
	ChunkMatches                             []struct {
		Content      string
		ContentStart struct{ Line int } // from 0
	}
}

// Search implements [builtin.SearchProvider].
func (p *Provider) Search(ctx context.Context, q builtin.SearchQuery) (*builtin.SearchResults, error) {
	kind := p.PatternType
	if kind == "" {
		kind = "keyword"
	}
	text := q.Text
	if !strings.Contains(text, "count:") {
		text += fmt.Sprintf(" count:%d", 3*max(q.Results, 1))
	}
	api := &web.API{Base: p.base(), Client: p.HTTP, Key: p.Token, Auth: func(key string) (string, string) { return "Authorization", "token " + key }}
	resp, err := api.Do(ctx, web.APIRequest{
		Path:   "/.api/search/stream",
		Query:  url.Values{"q": {text}, "v": {"V3"}, "t": {kind}, "display": {fmt.Sprint(3 * max(q.Results, 1))}, "cl": {"5"}},
		Header: http.Header{"Accept": {"text/event-stream"}},
	})
	if resp == nil || err != nil && len(resp.Body) == 0 {
		return nil, err
	}
	if serr := builtin.SearchStatus(resp.Status, resp.Header, api.Scrub(string(resp.Body[:min(len(resp.Body), 300)]))); serr != nil {
		return nil, serr
	}
	s := &stream{base: p.base(), scrub: api.Scrub}
	web.Events(resp.Body, s.event)
	return s.results(err, resp)
}

// stream is what the events of a search came to.
type stream struct {
	base   string
	scrub  func(string) string
	found  []builtin.SearchResult
	events int
	broken bool
	done   bool
	failed string // what an error event said
	alert  string
	missed []string // why results are missing
}

func (s *stream) event(name string, data []byte) bool {
	s.events++
	switch name {
	case "matches":
		var list []match
		if json.Unmarshal(data, &list) != nil {
			s.broken = true
			return true
		}
		for _, m := range list {
			s.match(m)
		}
	case "progress":
		var p struct {
			Skipped []struct{ Title, Severity string }
		}
		if json.Unmarshal(data, &p) == nil {
			s.missed = s.missed[:0]
			for _, k := range p.Skipped {
				if k.Severity != "info" && !slices.Contains(s.missed, k.Title) {
					s.missed = append(s.missed, k.Title)
				}
			}
		}
	case "alert":
		var a struct{ Title, Description string }
		if json.Unmarshal(data, &a) == nil {
			s.alert = strings.TrimSpace(a.Title + " " + a.Description)
		}
	case "error":
		var e struct{ Message string }
		if s.failed = "an error"; json.Unmarshal(data, &e) == nil && e.Message != "" {
			s.failed = e.Message
		}
	case "done":
		s.done = true
		return false
	}
	return true
}

// match adds what a file has.
func (s *stream) match(m match) {
	r := builtin.SearchResult{Repo: m.Repository, Path: m.Path, Commit: m.Commit}
	if len(r.Commit) > 12 {
		r.Commit = r.Commit[:12]
	}
	at := func(line int) builtin.SearchResult {
		out := r
		out.URL = s.base + "/" + m.Repository + "/-/blob/" + (&url.URL{Path: m.Path}).EscapedPath()
		if out.Line = line; line > 0 {
			out.URL += fmt.Sprintf("?L%d", line)
		}
		return out
	}
	switch {
	case m.Repository == "" || m.Path == "":
	case len(m.ChunkMatches) > 0:
		for _, c := range m.ChunkMatches {
			out := at(c.ContentStart.Line + 1)
			out.Snippet = c.Content
			s.found = append(s.found, out)
		}
	case len(m.LineMatches) > 0:
		// Lines that follow each other are one result.
		lines := m.LineMatches
		for i := 0; i < len(lines); {
			out := at(lines[i].LineNumber + 1)
			j := i
			for ; j < len(lines) && lines[j].LineNumber == lines[i].LineNumber+j-i; j++ {
				out.Snippet += lines[j].Line + "\n"
			}
			s.found = append(s.found, out)
			i = j
		}
	default:
		s.found = append(s.found, at(0))
	}
}

// results says what the search came to; err is why the stream ended early.
func (s *stream) results(err error, resp *web.APIResponse) (*builtin.SearchResults, error) {
	out := &builtin.SearchResults{Results: s.found}
	switch {
	case len(s.found) == 0 && err != nil:
		return nil, err
	case len(s.found) == 0 && s.failed != "":
		return nil, &builtin.SearchError{Failure: builtin.SearchUnavailable, Detail: s.scrub(s.failed)}
	case len(s.found) == 0 && (s.broken || s.events == 0 || !s.done):
		return nil, &builtin.SearchError{Failure: builtin.SearchUnreadable, Detail: resp.Truncated}
	case err != nil:
		out.Partial = "the service did not answer to the end in time"
	case s.failed != "":
		out.Partial = s.scrub(s.failed)
	case !s.done || s.broken:
		out.Partial = "a part of the answer could not be read"
	case len(s.missed) > 0:
		out.Partial = strings.Join(s.missed, ", ")
	}
	if len(s.found) == 0 && s.alert != "" {
		out.Partial = s.scrub(s.alert)
	}
	return out, nil
}

// String never shows the token.
func (p Provider) String() string { return "Sourcegraph at " + p.base() }

// GoString never shows the token.
func (p Provider) GoString() string { return p.String() }
