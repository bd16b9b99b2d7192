package web_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"

	"github.com/agenttool/tool/internal/web"
)

func ExampleDecideURL() {
	for _, u := range []string{
		"https://go.dev/doc/",
		"http://localhost:8080/",
		"http://169.254.169.254/latest/meta-data/",
		"http://0x7f.1/",
	} {
		d := web.DecideURL(u)
		fmt.Printf("%s %q\n", d.Action, d.Reason)
	}
	// Output:
	// allow ""
	// ask "localhost is this machine"
	// deny "169.254.169.254 is a special or metadata address"
	// deny "the host looks like an address in an unusual spelling: write it as four decimal numbers"
}

func ExampleParse() {
	t, err := web.Parse("HTTPS://Example.COM.:443/a/../b#top")
	fmt.Println(t, t.Origin(), err)
	_, err = web.Parse("https://docs.example.com@evil.example/")
	fmt.Println(err, errors.Is(err, web.ErrURL))
	// Output:
	// https://example.com/b https://example.com <nil>
	// the URL holds credentials (text before an @): leave them out true
}

func ExampleGuard_DecideAddrs() {
	t, _ := web.Parse("https://wiki.example/")
	fmt.Println(web.Guard{}.DecideAddrs(t, []netip.Addr{netip.MustParseAddr("10.0.0.7")}).Reason)
	// Output: wiki.example is in a private network (10.0.0.7)
}

func ExampleFetcher_Fetch() {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "hello") }))
	defer s.Close()
	var f web.Fetcher
	_, err := f.Fetch(context.Background(), web.Request{URL: s.URL})
	fmt.Println(errors.Is(err, web.ErrDenied))
	resp, err := f.Fetch(context.Background(), web.Request{URL: s.URL, Check: func(_ context.Context, hop web.Hop) error {
		fmt.Println(hop.Decision.Action) // here a tool would ask its user
		return nil
	}})
	fmt.Println(resp.Status, string(resp.Body), err)
	// Output:
	// true
	// ask
	// 200 hello <nil>
}

func ExampleDecode() {
	text, charset, guessed := web.Decode([]byte("\xd6\xd0\xce\xc4"), "text/html; charset=gbk")
	fmt.Println(text, charset, guessed)
	// Output: 中文 gbk false
}

func ExampleText() {
	p := web.Text("<title>News</title><h1>Today</h1><p>It <b>rains</b>.<script>x()</script><p hidden>ignore me")
	fmt.Printf("%s: %q\n", p.Title, p.Text)
	// Output: News: "Today\n\nIt rains."
}

func ExampleMarkdown() {
	base := &url.URL{Scheme: "https", Host: "example.com", Path: "/docs/"}
	p := web.Markdown("<title>Guide</title><nav>Home</nav><h2>Run it</h2><p>See <a href=flags>flags</a>.<pre class=lang-sh>go run .</pre>", base)
	fmt.Printf("%s\n%s\n", p.Title, p.Text)
	// Output:
	// Guide
	// ## Run it
	//
	// See [flags](https://example.com/docs/flags).
	//
	// ```sh
	// go run .
	// ```
}
