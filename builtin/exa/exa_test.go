package exa

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/agenttool/tool/builtin"
)

// service answers every request with a body.
type service struct {
	*httptest.Server
	status int
	header map[string]string
	body   string

	got     *http.Request
	request struct {
		Method string
		Params struct {
			Name      string
			Arguments map[string]any
		}
	}
}

func start(t *testing.T) *service {
	s := &service{status: 200}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.got = r
		assert.NoError(t, json.NewDecoder(r.Body).Decode(&s.request))
		for k, v := range s.header {
			w.Header().Set(k, v)
		}
		w.WriteHeader(s.status)
		io.WriteString(w, s.body)
	}))
	t.Cleanup(s.Close)
	return s
}

// says makes the body an answer of the tool.
func (s *service) says(text string, isError bool) {
	b, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "result": map[string]any{
		"content": []any{map[string]any{"type": "text", "text": text}}, "isError": isError,
	}})
	if err != nil {
		panic(err)
	}
	s.body = "event: message\ndata: " + string(b) + "\n\n"
}

const blocks = `Title: First: a page
URL: https://a.test/1
Published Date: 2026-03-04T05:06:07.000Z
Author: N/A
Text: It begins here
Title: not a new result, as it has no address
and goes on.

Title: Second
URL: https://a.test/2
Published Date: N/A
Text:
Words.
---
`

func TestWeb(t *testing.T) {
	s := start(t)
	w := &Web{Client: Client{BaseURL: s.URL + "/mcp", Key: "secret-key"}}
	q := builtin.SearchQuery{Text: "words", Results: 3, Depth: "deep", Livecrawl: "preferred", Characters: 500, Deny: []string{"b.test"}}
	s.says(blocks, false)
	found, err := w.Search(t.Context(), q)
	require.NoError(t, err)
	assert.Equal(t, []builtin.SearchResult{
		{Title: "First: a page", URL: "https://a.test/1", Date: "2026-03-04", Snippet: "It begins here\nTitle: not a new result, as it has no address\nand goes on."},
		{Title: "Second", URL: "https://a.test/2", Snippet: "Words."},
	}, found.Results)
	assert.Equal(t, "/mcp", s.got.URL.RequestURI(), "the key is not in the address")
	assert.Equal(t, "secret-key", s.got.Header.Get("X-Api-Key"))
	assert.Equal(t, "tools/call", s.request.Method)
	assert.Equal(t, "web_search_exa", s.request.Params.Name)
	assert.Equal(t, map[string]any{
		"query": "words -site:b.test", "numResults": 3.0, "type": "deep", "livecrawl": "preferred", "contextMaxCharacters": 500.0,
	}, s.request.Params.Arguments)
	assert.NotContains(t, fmt.Sprintf("%v %+v %#v", *w, w.Client, w.Client), "secret-key")

	s.says(`{"results":[{"title":"T","url":"https://a.test/","publishedDate":"2026-01-02T00:00:00Z","highlights":["one","two"]}]}`, false)
	found, err = w.Search(t.Context(), q)
	require.NoError(t, err)
	assert.Equal(t, []builtin.SearchResult{{Title: "T", URL: "https://a.test/", Date: "2026-01-02", Snippet: "one … two"}}, found.Results)

	for _, text := range []string{"No search results found. Please try a different query.", `{"results":[]}`, ""} {
		s.says(text, false)
		found, err = w.Search(t.Context(), q)
		require.NoError(t, err)
		assert.Empty(t, found.Results)
		assert.Empty(t, found.Text)
	}
}

func TestFailures(t *testing.T) {
	s := start(t)
	c := &Code{Client: Client{BaseURL: s.URL, Key: "secret-key"}}
	fails := func() *builtin.SearchError {
		t.Helper()
		_, err := c.Search(t.Context(), builtin.SearchQuery{Text: "x", Tokens: 2000})
		var e *builtin.SearchError
		require.ErrorAs(t, err, &e)
		assert.NotContains(t, err.Error(), "secret-key")
		return e
	}
	for text, want := range map[string]builtin.SearchFailure{
		"Error 429: rate limit exceeded for secret-key":   builtin.SearchRateLimited,
		"You have exceeded your credits limit":            builtin.SearchUnauthorized,
		"Invalid API key secret-key":                      builtin.SearchUnauthorized,
		"something went wrong while talking to the index": builtin.SearchUnavailable,
	} {
		s.says(text, true)
		assert.Equal(t, want, fails().Failure, text)
		b, err := json.Marshal(map[string]any{"error": map[string]any{"code": -32000, "message": text}})
		require.NoError(t, err)
		s.body = string(b)
		assert.Equal(t, want, fails().Failure, text)
	}
	s.body = "<html>an ordinary page</html>"
	assert.Equal(t, builtin.SearchUnreadable, fails().Failure)
	s.status, s.header = 429, map[string]string{"Retry-After": "12"}
	e := fails()
	assert.Equal(t, builtin.SearchRateLimited, e.Failure)
	assert.Equal(t, 12.0, e.RetryAfter.Seconds())
	s.status = 401
	assert.Equal(t, builtin.SearchUnauthorized, fails().Failure)

	s.status, s.header = 200, nil
	s.says("## errgroup\n```go\ng.SetLimit(2)\n```", false)
	found, err := c.Search(t.Context(), builtin.SearchQuery{Text: "x", Tokens: 2000})
	require.NoError(t, err)
	assert.Equal(t, "## errgroup\n```go\ng.SetLimit(2)\n```", found.Text)
	assert.Equal(t, "get_code_context_exa", s.request.Params.Name)
	assert.Equal(t, map[string]any{"query": "x", "tokensNum": 2000.0}, s.request.Params.Arguments)
}

func TestNoKeyWithoutEncryption(t *testing.T) {
	_, err := (&Web{Client: Client{BaseURL: "http://exa.test/mcp", Key: "secret-key"}}).Search(t.Context(), builtin.SearchQuery{Text: "x"})
	require.ErrorContains(t, err, "only sent over https")
	assert.NotContains(t, err.Error(), "secret-key")
}

func FuzzParse(f *testing.F) {
	f.Add(blocks)
	f.Add(`{"results":[{"url":"x"}]}`)
	f.Add("Title: \nURL: \nText:")
	f.Fuzz(func(t *testing.T, text string) {
		out := parse(text)
		size := len(out.Text)
		for _, r := range out.Results {
			size += len(r.Snippet)
		}
		assert.LessOrEqual(t, size, 4*len(text)+1000)
	})
}

func Example() {
	cfg := builtin.Config{Root: ".", Search: builtin.SearchConfig{Web: &Web{Client: Client{Key: "from the host's own secrets"}}}}
	fmt.Println(cfg.Search.Web.Name(), cfg.Search.Web)
	// Output: Exa Exa at https://mcp.exa.ai/mcp
}
