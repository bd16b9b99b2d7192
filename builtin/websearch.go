package builtin

import (
	"context"
	_ "embed" // descriptions
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/agenttool/tool"
)

//go:embed websearch.md
var websearchDescription string

const (
	websearchTime  = 25 * time.Second
	maxQueryText   = 1000 // bytes of a query
	defaultResults = 8
	maxResults     = 10
)

type websearchInput struct {
	Query      string   `json:"query" alias:"q,search,search_term,searchTerm"`
	Results    int      `json:"numResults,omitempty" jsonschema:"default 8" minimum:"1" maximum:"10" alias:"num_results,count,limit,max_results,maxResults"`
	Allow      []string `json:"allowedDomains,omitempty" jsonschema:"only from these, as go.dev" alias:"allowed_domains,include_domains,includeDomains,domains"`
	Deny       []string `json:"blockedDomains,omitempty" jsonschema:"not from these" alias:"blocked_domains,exclude_domains,excludeDomains"`
	Livecrawl  string   `json:"livecrawl,omitempty" jsonschema:"preferred: fetch pages anew" enum:"fallback,preferred"`
	Depth      string   `json:"type,omitempty" jsonschema:"how thorough (default auto)" enum:"auto,fast,deep" alias:"depth,search_type,searchType"`
	Characters int      `json:"contextMaxCharacters,omitempty" jsonschema:"characters of excerpts" minimum:"1" maximum:"20000" alias:"context_max_characters"`
}

func defineWebsearch(ts *Toolset) (operation, error) {
	if ts.cfg.Search.Web == nil {
		return operation{}, nil
	}
	return define(ts, tool.Def{
		Name: "websearch", Title: "Web search",
		Describe: func(context.Context, *tool.Agent) (string, error) {
			return strings.TrimSpace(websearchDescription) + "\nToday is " + time.Now().Format("2006-01-02") + ".", nil
		},
		Hints:    tool.Hints{ReadOnly: true, Idempotent: true, OpenWorld: true},
		Parallel: true, MaxOutput: -1, Timeout: -1,
		Aliases: []string{"web_search", "WebSearch", "search_web", "google_search"},
	}, ts.planWebsearch)
}

func (ts *Toolset) planWebsearch(_ context.Context, call *tool.Call, in websearchInput) (*plan, error) {
	text, err := checkQuery(in.Query)
	if err != nil {
		return nil, err
	}
	q := SearchQuery{Text: text, Results: in.Results, Depth: in.Depth, Livecrawl: in.Livecrawl, Characters: in.Characters}
	if q.Results == 0 {
		q.Results = defaultResults
	}
	q.Results = min(q.Results, maxResults)
	f := domainFilter{host: ts.cfg.Search}
	if f.allow, err = readDomains(in.Allow); err != nil {
		return nil, fmt.Errorf("allowedDomains: %w", err)
	}
	if f.deny, err = readDomains(in.Deny); err != nil {
		return nil, fmt.Errorf("blockedDomains: %w", err)
	}
	q.Allow, q.Deny = f.lists()
	s := &searchCall{ts: ts, provider: ts.cfg.Search.Web, query: q, limit: websearchTime, filter: f.passes}
	return s.plan("websearch", func(ctx context.Context, call *tool.Call) (*tool.Result, error) {
		found, cached, err := s.run(ctx, call)
		if err != nil {
			return nil, fmt.Errorf("the web search failed, which says nothing about what there is to find: %w", err)
		}
		r := newFoundText("web search", s, found, cached)
		return r.result(maxSearchText), nil
	}), nil
}

// checkQuery returns the query as it is sent.
func checkQuery(text string) (string, error) {
	text = strings.Join(strings.Fields(text), " ")
	switch {
	case text == "":
		return "", errors.New("the query is empty")
	case len(text) > maxQueryText:
		return "", fmt.Errorf("the query is longer than %d bytes; search for fewer words", maxQueryText)
	}
	return visible(text), nil
}
