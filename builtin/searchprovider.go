package builtin

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/agenttool/tool/internal/web"
)

// SearchConfig says who answers websearch and codesearch. Without a provider a tool
// is not offered; nothing is sent to anybody whom the host did not choose.
type SearchConfig struct {
	// Web answers websearch, Code codesearch. Packages builtin/exa, builtin/searxng
	// and builtin/sourcegraph have some.
	Web  SearchProvider
	Code SearchProvider

	// LocalCode offers codesearch also where Code is nil: it then searches the
	// project, and says so. With Code, the project is searched when Code fails.
	LocalCode bool

	// Allow and Deny narrow the results of websearch to these domains, or leave them
	// out; a domain stands for those below it, too. Nil does neither. What a call asks
	// for can only narrow it further.
	Allow, Deny []string

	PerSession int           // searches of a session; 0: 200, less than 0: no limit
	CacheTime  time.Duration // for how long the same search of a session is answered from memory; 0: 5 min, less than 0: not at all
}

// SearchProvider searches the web, or code. It must be safe for concurrent use and
// return when ctx is done. What it returns is taken for content of strangers. Finding
// nothing is no error; an error that is a *[SearchError] tells the model what went
// wrong, any other is told as it is.
type SearchProvider interface {
	// Name says in a word or two who answers, for results and prompts.
	Name() string
	Search(ctx context.Context, q SearchQuery) (*SearchResults, error)
}

// SearchQuery is what is searched for. Providers ignore what they have no use for.
type SearchQuery struct {
	Text    string
	Results int // that are wanted, 1 to 10
	Tokens  int // of text that are wanted, with codesearch; 0 with websearch

	Allow, Deny []string // domains; results are filtered in any case

	Depth      string // "auto", "fast" or "deep"; "" is auto
	Livecrawl  string // "fallback" or "preferred": fetch pages anew; "" is fallback
	Characters int    // of context that are wanted; 0 is up to the provider
}

// SearchResults is what was found.
type SearchResults struct {
	Results []SearchResult
	Text    string // what a provider answers in prose, beside or in place of results
	Partial string // why this may not be all, in words for the model; "" if it is
}

// SearchResult is one of them. Only URL is required, or Path with code.
type SearchResult struct {
	Title   string `json:"title,omitempty"`
	URL     string `json:"url,omitempty"`
	Date    string `json:"date,omitempty"` // as the provider writes it
	Snippet string `json:"snippet,omitempty"`

	// Of code.
	Repo    string `json:"repo,omitempty"`
	Path    string `json:"path,omitempty"`
	Commit  string `json:"commit,omitempty"`
	Line    int    `json:"line,omitempty"` // of the snippet's first line, from 1; 0 if it is not known
	License string `json:"license,omitempty"`
}

// SearchFailure is a reason why a search gave nothing, none of which means that there
// is nothing to be found.
type SearchFailure string

// The reasons.
const (
	SearchUnavailable  SearchFailure = "the service is not available"
	SearchRateLimited  SearchFailure = "the service limits the rate of searches"
	SearchUnauthorized SearchFailure = "the service refuses the credentials that the host configured"
	SearchBlocked      SearchFailure = "the service blocked the search"
	SearchTimedOut     SearchFailure = "the service did not answer in time"
	SearchUnreadable   SearchFailure = "the answer of the service could not be read"
)

// ErrSearch is matched by every [SearchError].
var ErrSearch = errors.New("search failed")

// SearchError says why a search failed.
type SearchError struct {
	Failure    SearchFailure // "" is SearchUnavailable
	RetryAfter time.Duration // after which it may work; 0 if that is not known
	Detail     string        // what the service said, for the model; without keys
	Err        error         // may be nil
}

// Error says what failed and when to try again.
func (e *SearchError) Error() string {
	var b strings.Builder
	failure := e.Failure
	if failure == "" {
		failure = SearchUnavailable
	}
	b.WriteString(string(failure))
	if e.Detail != "" {
		fmt.Fprintf(&b, " (%s)", oneLine(clip(strings.TrimSpace(e.Detail), 300)))
	}
	switch {
	case e.RetryAfter > 0:
		fmt.Fprintf(&b, "; try again in %s", max(e.RetryAfter.Round(time.Second), time.Second))
	case failure == SearchUnauthorized:
		b.WriteString("; only the user can change that, so do not try again")
	}
	return b.String()
}

// Is reports whether target is [ErrSearch].
func (e *SearchError) Is(target error) bool { return target == ErrSearch }

// Unwrap returns Err.
func (e *SearchError) Unwrap() error { return e.Err }

// SearchStatus returns the error that an HTTP status means to a search, or nil for
// one that reports success. detail is what the service said, without keys.
func SearchStatus(status int, header http.Header, detail string) error {
	if status >= 200 && status < 300 {
		return nil
	}
	e := &SearchError{Detail: strings.TrimSpace(fmt.Sprintf("%d %s", status, http.StatusText(status)))}
	if detail = strings.Join(strings.Fields(web.Clean(detail)), " "); detail != "" && !strings.HasPrefix(detail, "<") {
		e.Detail += ": " + clip(detail, 200)
	}
	e.RetryAfter = web.RetryAfter(header, time.Now())
	switch status {
	case http.StatusTooManyRequests:
		e.Failure = SearchRateLimited
	case http.StatusUnauthorized, http.StatusPaymentRequired, http.StatusProxyAuthRequired:
		e.Failure = SearchUnauthorized
	case http.StatusForbidden, http.StatusUnavailableForLegalReasons:
		e.Failure = SearchBlocked
	case http.StatusRequestTimeout, http.StatusGatewayTimeout:
		e.Failure = SearchTimedOut
	default:
		e.Failure = SearchUnavailable
	}
	return e
}

// searchFailure is the error of a provider as a SearchError.
func searchFailure(ctx context.Context, err error) *SearchError {
	var e *SearchError
	var timeout interface{ Timeout() bool }
	switch {
	case errors.As(err, &e):
		return e
	case ctx.Err() != nil, errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return &SearchError{Failure: SearchTimedOut, Err: err}
	}
	return &SearchError{Detail: err.Error(), Err: err}
}
