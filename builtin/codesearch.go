package builtin

import (
	"context"
	_ "embed" // descriptions
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/agenttool/tool"
)

//go:embed codesearch.md
var codesearchDescription string

const (
	codesearchTime = 30 * time.Second
	defaultTokens  = 5000
	tokenBytes     = 4 // of text that is mostly ASCII
)

type codesearchInput struct {
	Query  string `json:"query" alias:"q,search"`
	Tokens int    `json:"tokensNum,omitempty" jsonschema:"how much text to return (default 5000)" minimum:"1000" maximum:"50000" alias:"tokens_num,tokens,max_tokens,maxTokens"`
}

func defineCodesearch(ts *Toolset) (operation, error) {
	if ts.cfg.Search.Code == nil && !ts.cfg.Search.LocalCode {
		return operation{}, nil
	}
	return define(ts, tool.Def{
		Name: "codesearch", Title: "Code search", Description: strings.TrimSpace(codesearchDescription),
		Hints:    tool.Hints{ReadOnly: true, Idempotent: true, OpenWorld: ts.cfg.Search.Code != nil},
		Parallel: true, MaxOutput: -1, Timeout: -1,
		Aliases: []string{"code_search", "search_code", "sourcegraph"},
	}, ts.planCodesearch)
}

func (ts *Toolset) planCodesearch(_ context.Context, call *tool.Call, in codesearchInput) (*plan, error) {
	text, err := checkQuery(in.Query)
	if err != nil {
		return nil, err
	}
	if in.Tokens == 0 {
		in.Tokens = defaultTokens
	}
	s := &searchCall{
		ts: ts, provider: ts.cfg.Search.Code, limit: codesearchTime,
		query: SearchQuery{Text: text, Results: maxResults, Tokens: in.Tokens},
	}
	size := min(in.Tokens*tokenBytes, ts.limits.ReadBytes)
	return s.plan("codesearch", func(ctx context.Context, call *tool.Call) (*tool.Result, error) {
		if s.provider == nil {
			return s.local(ctx, call, "No service for code is configured", size)
		}
		found, cached, err := s.run(ctx, call)
		switch {
		case err == nil:
			return newFoundText("code search", s, found, cached).result(size), nil
		case ctx.Err() != nil || !errors.Is(err, ErrSearch):
			return nil, err
		}
		// Not what was asked for, but better than nothing, and it is said.
		res, lerr := s.local(ctx, call, "The code search failed: "+err.Error(), size)
		if lerr != nil {
			return nil, fmt.Errorf("the code search failed, which says nothing about what there is to find: %w", err)
		}
		return res, nil
	}), nil
}

// local searches the project, with the permissions that grep asks, and says so.
func (s *searchCall) local(ctx context.Context, call *tool.Call, why string, size int) (*tool.Result, error) {
	for i, in := range localQueries(s.query.Text) {
		p, err := s.ts.planGrep(ctx, &attempt{call: call}, in)
		if err != nil {
			return nil, err
		}
		for _, a := range p.asks {
			if i > 0 && a.req.Permission == "grep" {
				a.req.Title = "Search again, for " + clip(in.Pattern, 200)
			}
			req := *a.req
			req.Tool = "codesearch"
			if err := call.Ask(ctx, &req); err != nil {
				return nil, deniedHint(&req, err)
			}
		}
		if p.fail != nil {
			return nil, p.fail
		}
		out, err := p.apply(ctx, call)
		if err != nil {
			return nil, err
		}
		if n, _ := out.result.Metadata["matches"].(int); n == 0 && i+1 < len(localQueries(s.query.Text)) {
			continue
		}
		res := out.result
		res.Text = cutAt(fmt.Sprintf("(%s. This is what grep finds in the project itself, for %s)\n\n%s", why, in.Pattern, res.Text), size)
		res.Title = s.query.Text
		res.Metadata["local"], res.Metadata["query"], res.Metadata["failure"] = true, s.query.Text, why
		return res, nil
	}
	return nil, errors.New("there is nothing to search for in the query")
}

var codeWord = regexp.MustCompile(`[\pL_][\pL\pN_.]*[\pL\pN_]`)

// localQueries are what to look for in the project, one after the other until
// something is found: the query as it is, and its words, those that look like
// identifiers first.
func localQueries(text string) []grepInput {
	out := []grepInput{{Pattern: text, Literal: true, IgnoreCase: true, Limit: 40}}
	words := codeWord.FindAllString(text, -1)
	slices.SortStableFunc(words, func(a, b string) int { return identifierRank(b) - identifierRank(a) })
	words = slices.DeleteFunc(words, func(w string) bool { return len(w) < 3 })
	words = slices.Compact(words[:min(len(words), 4)])
	if len(words) > 0 && !(len(words) == 1 && words[0] == text) {
		for i := range words {
			words[i] = regexp.QuoteMeta(words[i])
		}
		out = append(out, grepInput{Pattern: strings.Join(words, "|"), Limit: 40})
	}
	return out
}

// identifierRank is higher for words that name something in code.
func identifierRank(w string) int {
	rank := min(len(w), 20)
	if strings.ContainsAny(w, "_.") || strings.ToLower(w[1:]) != w[1:] {
		rank += 100
	}
	return rank
}
