package searxng

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/agenttool/tool/builtin"
)

func TestSearch(t *testing.T) {
	status, contentType, body := 200, "application/json", ""
	var got *http.Request
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(status)
		io.WriteString(w, body)
	}))
	defer s.Close()
	p := &Provider{BaseURL: s.URL + "/searx/", Key: "secret-key", Language: "en"}
	q := builtin.SearchQuery{Text: "words", Results: 5, Allow: []string{"a.test", "b.test"}}
	body = `{"results":[{"title":"T","url":"https://a.test/","content":"C","publishedDate":"2026-01-02T03:04:05","score":1},{"title":"U","url":"https://b.test/","publishedDate":null}],
		"unresponsive_engines":[["slow","timeout"]],"infoboxes":[{"infobox":"Go","content":"a language"}]}`
	found, err := p.Search(t.Context(), q)
	require.NoError(t, err)
	assert.Equal(t, &builtin.SearchResults{
		Results: []builtin.SearchResult{{Title: "T", URL: "https://a.test/", Snippet: "C", Date: "2026-01-02"}, {Title: "U", URL: "https://b.test/"}},
		Text:    "Go: a language", Partial: "these engines did not answer: slow (timeout)",
	}, found)
	assert.Equal(t, "/searx/search", got.URL.Path)
	assert.Equal(t, map[string][]string{"q": {"words site:a.test OR site:b.test"}, "format": {"json"}, "language": {"en"}}, map[string][]string(got.URL.Query()))
	assert.Equal(t, "Bearer secret-key", got.Header.Get("Authorization"))
	assert.NotContains(t, fmt.Sprintf("%v %+v %#v", p, *p, *p), "secret-key")

	body = `{"results":[]}`
	found, err = p.Search(t.Context(), q)
	require.NoError(t, err)
	assert.Equal(t, &builtin.SearchResults{}, found, "nothing found is no error")

	for _, test := range []struct {
		status            int
		contentType, body string
		want              builtin.SearchFailure
	}{
		{200, "application/json", `{"results":[],"unresponsive_engines":[["google","Suspended: too many requests"]]}`, builtin.SearchRateLimited},
		{200, "application/json", `{"results":[],"unresponsive_engines":[["x","HTTP error"],["y"]]}`, builtin.SearchUnavailable},
		{200, "application/json", `{"results":`, builtin.SearchUnreadable},
		{200, "text/html", `<html><title>Are you a robot?</title>`, builtin.SearchBlocked},
		{403, "text/html", `<html>`, builtin.SearchBlocked},
		{429, "text/plain", "Too Many Requests", builtin.SearchRateLimited},
		{401, "text/plain", "", builtin.SearchUnauthorized},
		{500, "text/plain", "", builtin.SearchUnavailable},
	} {
		status, contentType, body = test.status, test.contentType, test.body
		_, err := p.Search(t.Context(), q)
		var e *builtin.SearchError
		require.ErrorAs(t, err, &e, test.body)
		assert.Equal(t, test.want, e.Failure, test.body)
	}
	_, err = (&Provider{}).Search(t.Context(), q)
	require.Error(t, err, "an instance must be named")
}

func ExampleProvider() {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, `{"results":[{"title":"About %s","url":"https://a.test/"}]}`, r.FormValue("q"))
	}))
	defer s.Close()
	found, err := (&Provider{BaseURL: s.URL}).Search(context.Background(), builtin.SearchQuery{Text: "gophers", Results: 8})
	fmt.Println(found.Results[0].Title, err)
	// Output: About gophers <nil>
}
