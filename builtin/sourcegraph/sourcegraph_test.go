package sourcegraph

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/agenttool/tool/builtin"
	"github.com/agenttool/tool/internal/web"
)

const matches = `event: progress
data: {"done":false,"matchCount":1,"skipped":[]}

event: matches
data: [{"type":"content","repository":"github.com/o/r","path":"dir/a b.go","commit":"0123456789abcdef","chunkMatches":[{"content":"x\ny","contentStart":{"offset":0,"line":4,"column":0}}]},{"type":"repo","repository":"github.com/o/only"},
data: {"type":"content","repository":"github.com/o/s","path":"b.go","lineMatches":[{"line":"one","lineNumber":0},{"line":"two","lineNumber":1},{"line":"nine","lineNumber":8}]},{"type":"path","repository":"github.com/o/t","path":"README"}]

event: progress
data: {"done":true,"skipped":[{"reason":"shard-timeout","title":"1 timed out","severity":"warn"},{"reason":"display","title":"display limit","severity":"info"}]}

event: done
data: {}

`

func TestSearch(t *testing.T) {
	status, body, hang := 200, matches, false
	var got *http.Request
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r
		w.Header().Set("Content-Type", "text/event-stream")
		w.WriteHeader(status)
		io.WriteString(w, body)
		w.(http.Flusher).Flush()
		if hang {
			<-r.Context().Done()
		}
	}))
	defer s.Close()
	p := &Provider{BaseURL: s.URL, Token: "secret-token"}
	search := func() (*builtin.SearchResults, error) {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		return p.Search(ctx, builtin.SearchQuery{Text: "lang:go errgroup", Results: 10})
	}
	found, err := search()
	require.NoError(t, err)
	assert.Equal(t, &builtin.SearchResults{Partial: "1 timed out", Results: []builtin.SearchResult{
		{Repo: "github.com/o/r", Path: "dir/a b.go", Commit: "0123456789ab", Line: 5, Snippet: "x\ny", URL: s.URL + "/github.com/o/r/-/blob/dir/a%20b.go?L5"},
		{Repo: "github.com/o/s", Path: "b.go", Line: 1, Snippet: "one\ntwo\n", URL: s.URL + "/github.com/o/s/-/blob/b.go?L1"},
		{Repo: "github.com/o/s", Path: "b.go", Line: 9, Snippet: "nine\n", URL: s.URL + "/github.com/o/s/-/blob/b.go?L9"},
		{Repo: "github.com/o/t", Path: "README", URL: s.URL + "/github.com/o/t/-/blob/README"},
	}}, found)
	assert.Equal(t, "/.api/search/stream", got.URL.Path)
	assert.Equal(t, "lang:go errgroup count:30", got.FormValue("q"))
	assert.Equal(t, "token secret-token", got.Header.Get("Authorization"))
	assert.NotContains(t, fmt.Sprintf("%v %+v %#v", p, *p, *p), "secret-token")

	body = "event: done\ndata: {}\n\n"
	found, err = search()
	require.NoError(t, err)
	assert.Equal(t, &builtin.SearchResults{}, found, "nothing found is no error")
	body = "event: alert\ndata: {\"title\":\"No repositories\",\"description\":\"for secret-token\"}\n\nevent: done\ndata: {}\n\n"
	found, err = search()
	require.NoError(t, err)
	assert.Equal(t, "No repositories for [key]", found.Partial)

	for _, test := range []struct {
		status int
		body   string
		want   builtin.SearchFailure
	}{
		{200, "event: error\ndata: {\"message\":\"index is down\"}\n\nevent: done\ndata: {}\n\n", builtin.SearchUnavailable},
		{200, "event: matches\ndata: [{\n\nevent: done\ndata: {}\n\n", builtin.SearchUnreadable},
		{200, "event: progress\ndata: {}\n\n", builtin.SearchUnreadable},
		{200, "<html>", builtin.SearchUnreadable},
		{401, "Invalid access token secret-token", builtin.SearchUnauthorized},
		{429, "", builtin.SearchRateLimited},
	} {
		status, body = test.status, test.body
		_, err := search()
		var e *builtin.SearchError
		require.ErrorAs(t, err, &e, test.body)
		assert.Equal(t, test.want, e.Failure, test.body)
		assert.NotContains(t, err.Error(), "secret-token")
	}

	status, hang, body = 200, true, matches[:len(matches)-len("event: done\ndata: {}\n\n")]
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	found, err = p.Search(ctx, builtin.SearchQuery{Text: "x", Results: 10})
	require.NoError(t, err)
	assert.Len(t, found.Results, 4, "what came in time is shown")
	assert.Equal(t, "the service did not answer to the end in time", found.Partial)
	body = "event: progress\ndata: {}\n\n"
	ctx, cancel = context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	_, err = p.Search(ctx, builtin.SearchQuery{Text: "x", Results: 10})
	require.ErrorIs(t, err, context.DeadlineExceeded)
}

func FuzzEvents(f *testing.F) {
	f.Add(matches)
	f.Add("event: matches\ndata: [{\"repository\":\"a\",\"path\":\"\\u0000\",\"chunkMatches\":[{}]}]\n\n")
	f.Fuzz(func(t *testing.T, body string) {
		s := &stream{base: "https://x.test", scrub: func(s string) string { return s }}
		web.Events([]byte(body), s.event)
		for _, r := range s.found {
			assert.NotEmpty(t, r.Path)
			assert.GreaterOrEqual(t, r.Line, 0)
		}
	})
}

func ExampleProvider() {
	cfg := builtin.SearchConfig{Code: &Provider{}, LocalCode: true}
	fmt.Println(cfg.Code)
	// Output: Sourcegraph at https://sourcegraph.com
}
