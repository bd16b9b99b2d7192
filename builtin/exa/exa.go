// Package exa searches the web and code through Exa, by its endpoint for the Model
// Context Protocol, or any other service that speaks it.
package exa

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"

	"github.com/agenttool/tool/builtin"
	"github.com/agenttool/tool/internal/web"
)

// DefaultURL is Exa's endpoint.
const DefaultURL = "https://mcp.exa.ai/mcp"

// Client is the way to the service. The zero value is Exa without a key.
type Client struct {
	// BaseURL is the endpoint; "" means [DefaultURL].
	BaseURL string
	// Key is sent in the header x-api-key, over https only, and never shown; "" sends none.
	Key string
	// HTTP makes the requests; redirects are not followed. Nil means a dialer that
	// checks addresses.
	HTTP *http.Client
}

// Web searches the web.
type Web struct {
	Client
	// Tool is what the service calls its tool; "" means "web_search_exa".
	Tool string
}

// Code searches code and documentation.
type Code struct {
	Client
	// Tool is what the service calls its tool; "" means "get_code_context_exa".
	Tool string
}

var (
	_ builtin.SearchProvider = (*Web)(nil)
	_ builtin.SearchProvider = (*Code)(nil)
)

// Name implements [builtin.SearchProvider].
func (w *Web) Name() string { return "Exa" }

// Name implements [builtin.SearchProvider].
func (c *Code) Name() string { return "Exa" }

// Search implements [builtin.SearchProvider].
func (w *Web) Search(ctx context.Context, q builtin.SearchQuery) (*builtin.SearchResults, error) {
	args := map[string]any{"query": withDomains(q), "numResults": q.Results, "type": or(q.Depth, "auto"), "livecrawl": or(q.Livecrawl, "fallback")}
	if q.Characters > 0 {
		args["contextMaxCharacters"] = q.Characters
	}
	text, err := w.call(ctx, or(w.Tool, "web_search_exa"), args)
	if err != nil {
		return nil, err
	}
	return parse(text), nil
}

// Search implements [builtin.SearchProvider].
func (c *Code) Search(ctx context.Context, q builtin.SearchQuery) (*builtin.SearchResults, error) {
	args := map[string]any{"query": q.Text}
	if q.Tokens > 0 {
		args["tokensNum"] = q.Tokens
	}
	text, err := c.call(ctx, or(c.Tool, "get_code_context_exa"), args)
	if err != nil {
		return nil, err
	}
	if nothing.MatchString(text) {
		return &builtin.SearchResults{}, nil
	}
	return &builtin.SearchResults{Text: text}, nil
}

func or(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

// withDomains adds the domains in the way that the service reads in a query.
func withDomains(q builtin.SearchQuery) string {
	text := q.Text
	for i, d := range q.Allow {
		if i == 0 {
			text += " site:" + d
		} else {
			text += " OR site:" + d
		}
	}
	for _, d := range q.Deny {
		text += " -site:" + d
	}
	return text
}

// message is an answer of JSON-RPC.
type message struct {
	Result *struct {
		Content []struct{ Type, Text string }
		IsError bool
	}
	Error *struct {
		Code    int
		Message string
	}
}

// call calls a tool and returns the text of its result.
func (c *Client) call(ctx context.Context, name string, args map[string]any) (string, error) {
	body, err := json.Marshal(map[string]any{
		"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": map[string]any{"name": name, "arguments": args},
	})
	if err != nil {
		return "", err
	}
	api := &web.API{
		Base: or(c.BaseURL, DefaultURL), Client: c.HTTP, Key: c.Key,
		Auth: func(key string) (string, string) { return "x-api-key", key },
	}
	resp, err := api.Do(ctx, web.APIRequest{Method: http.MethodPost, Body: body, Header: http.Header{
		"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"},
	}})
	if err != nil {
		return "", err
	}
	m, found := read(resp)
	if err := builtin.SearchStatus(resp.Status, resp.Header, api.Scrub(m.text(resp.Body))); err != nil {
		return "", err
	}
	switch {
	case !found:
		return "", &builtin.SearchError{Failure: builtin.SearchUnreadable}
	case m.Error != nil:
		return "", failure(api.Scrub(m.Error.Message))
	case m.Result.IsError:
		return "", failure(api.Scrub(m.text(nil)))
	}
	return m.text(nil), nil
}

// read finds the answer in a body of JSON, or of events.
func read(resp *web.APIResponse) (m message, found bool) {
	try := func(data []byte) bool {
		var next message
		if json.Unmarshal(data, &next) == nil && (next.Result != nil || next.Error != nil) {
			m, found = next, true
		}
		return !found
	}
	if try(resp.Body) {
		web.Events(resp.Body, func(_ string, data []byte) bool { return try(data) })
	}
	return m, found
}

// text is what the answer says; other is for one that says nothing.
func (m *message) text(other []byte) string {
	switch {
	case m.Error != nil:
		return m.Error.Message
	case m.Result == nil:
		return string(other[:min(len(other), 300)])
	}
	var parts []string
	for _, c := range m.Result.Content {
		if c.Type == "text" {
			parts = append(parts, c.Text)
		}
	}
	return strings.Join(parts, "\n\n")
}

var (
	limited = regexp.MustCompile(`(?i)\b429\b|rate.?limit|too many requests|quota`)
	refused = regexp.MustCompile(`(?i)\b40[12]\b|api.?key|unauthori[sz]ed|credits|payment`)
	nothing = regexp.MustCompile(`(?i)^\s*(no (search )?results?( were| was)? found|no (relevant )?code|nothing found)`)
)

// failure is the error that the words of the service mean.
func failure(text string) error {
	e := &builtin.SearchError{Failure: builtin.SearchUnavailable, Detail: text, Err: errors.New("the tool of the service failed")}
	switch {
	case limited.MatchString(text):
		e.Failure = builtin.SearchRateLimited
	case refused.MatchString(text):
		e.Failure = builtin.SearchUnauthorized
	}
	return e
}

// parse reads results out of the text in which they come: JSON, or one block of
// "Key: value" lines for each.
func parse(text string) *builtin.SearchResults {
	var list struct {
		Results []struct {
			Title, URL, PublishedDate, Text, Summary string
			Highlights                               []string
		}
	}
	if json.Unmarshal([]byte(text), &list) == nil && strings.HasPrefix(strings.TrimSpace(text), "{") {
		out := &builtin.SearchResults{}
		for _, r := range list.Results {
			snippet := or(r.Summary, or(strings.Join(r.Highlights, " … "), r.Text))
			out.Results = append(out.Results, builtin.SearchResult{Title: r.Title, URL: r.URL, Date: date(r.PublishedDate), Snippet: snippet})
		}
		return out
	}
	if nothing.MatchString(text) {
		return &builtin.SearchResults{}
	}
	out := &builtin.SearchResults{}
	var r builtin.SearchResult
	inText := false
	flush := func() {
		if r.URL != "" {
			r.Snippet = strings.TrimSpace(r.Snippet)
			out.Results = append(out.Results, r)
		}
		r, inText = builtin.SearchResult{}, false
	}
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		key, value, ok := strings.Cut(line, ": ")
		value = strings.TrimSpace(value)
		switch {
		case ok && key == "Title" && (!inText || i+1 < len(lines) && strings.HasPrefix(lines[i+1], "URL: ")):
			flush()
			r.Title = value
		case ok && key == "URL" && r.URL == "":
			r.URL = value
		case ok && !inText && (key == "Published Date" || key == "Published"):
			r.Date = date(value)
		case ok && !inText && key == "Author":
		case !inText && (strings.HasPrefix(line, "Text:") || strings.HasPrefix(line, "Highlights:") || strings.HasPrefix(line, "Summary:")):
			inText = true
			_, rest, _ := strings.Cut(line, ":")
			r.Snippet = strings.TrimSpace(rest) + "\n"
		case inText && strings.TrimSpace(line) != "---":
			r.Snippet += line + "\n"
		}
	}
	flush()
	if len(out.Results) == 0 {
		out.Text = text
	}
	return out
}

// date is the day of a time stamp, which is all that matters.
func date(s string) string {
	if len(s) > 10 && s[4] == '-' && s[7] == '-' && s[10] == 'T' {
		return s[:10]
	}
	if s == "N/A" {
		return ""
	}
	return s
}

// String never shows the key.
func (c Client) String() string { return fmt.Sprintf("Exa at %s", or(c.BaseURL, DefaultURL)) }

// GoString never shows the key.
func (c Client) GoString() string { return c.String() }
