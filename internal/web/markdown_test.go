package web

import (
	"bytes"
	"flag"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"
	"golang.org/x/tools/txtar"
)

var update = flag.Bool("update", false, "write the golden files")

var somewhere = &url.URL{Scheme: "https", Host: "example.com", Path: "/docs/page.html"}

// TestMarkdown compares pages with what they become.
func TestMarkdown(t *testing.T) {
	const golden = "testdata/markdown.txtar"
	a, err := txtar.ParseFile(golden)
	require.NoError(t, err)
	for i := 0; i+1 < len(a.Files); i += 2 {
		page, want := a.Files[i], &a.Files[i+1]
		name := strings.TrimSuffix(page.Name, ".html")
		require.Equal(t, name+".md", want.Name)
		got := Markdown(string(page.Data), somewhere)
		text := got.Text + "\n"
		if got.Title != "" {
			text = "(title: " + got.Title + ")\n" + text
		}
		if *update {
			want.Data = []byte(text)
		}
		assert.Equal(t, string(want.Data), text, name)
		assert.False(t, got.Truncated)
	}
	if *update {
		require.NoError(t, os.WriteFile(golden, txtar.Format(a), 0o666))
	}
}

// heap returns what f allocated at the most beyond what was in use, as far as
// samples tell, and how long it took.
func heap(f func()) (growth uint64, took time.Duration) {
	runtime.GC()
	var before, now runtime.MemStats
	runtime.ReadMemStats(&before)
	stop, done := make(chan struct{}), make(chan uint64)
	go func() {
		most := uint64(0)
		for {
			runtime.ReadMemStats(&now)
			most = max(most, now.HeapAlloc)
			select {
			case <-stop:
				done <- most
				return
			case <-time.After(2 * time.Millisecond):
			}
		}
	}()
	start := time.Now()
	f()
	took = time.Since(start)
	close(stop)
	return max(<-done, before.HeapAlloc) - before.HeapAlloc, took
}

// TestMarkdownIsBounded: pages that were made to take long, or much memory.
func TestMarkdownIsBounded(t *testing.T) {
	big := func(s string) string { return strings.Repeat(s, 600_000/len(s)) }
	for name, page := range map[string]string{
		"600 nested":         strings.Repeat("<div>", 600) + "deep" + strings.Repeat("</div>", 600) + "<p>after",
		"nested":             big("<div>"),
		"nested lists":       big("<ul><li>x"),
		"nested quotes":      big("<blockquote>x"),
		"nested tables":      big("<table><tr><td>x"),
		"nested dl":          big("<dl><dt>x<dd>"),
		"emphasis":           big("<p><b><i>x"),
		"different emphasis": big("<b id=1>x<p>"),
		"links":              big("<a href=x>y"),
		"end tags":           strings.Repeat("<p><x><y>", 20_000) + big("</b></p></a></div>"),
		"wide table":         "<table>" + strings.Repeat("<td>x", 40_000) + strings.Repeat("<tr><td>y", 20_000),
		"spans":              "<table>" + big("<tr><td rowspan=1000 colspan=1000>x<td>y"),
		"unclosed tag":       big("<a b=c d"),
		"attributes":         "<p " + big("a=b ") + ">x",
		"comment":            "<!--" + big("- "),
		"entities":           big("&lt;&amp;&#x41;"),
		"escapes":            big("*_`[](<"),
		"dt":                 big("<dt>x<dd>y<li>z<tr>"),
		"text":               big("word "),
		"pre":                "<pre>" + big("`\n"),
		"one fence":          "<pre>" + strings.Repeat("`", 2_000_000),
		"zeros":              big("\x00"),
		"hidden":             big("<p hidden>x"),
		"options":            "<select>" + big("<option>x"),
		"words":              "<main>" + big("<p>Some text with <a href=/x>a link</a>, <code>code</code> and <b>emphasis</b>."),
	} {
		t.Run(name, func(t *testing.T) {
			var p Page
			growth, took := heap(func() { p = Markdown(page, somewhere) })
			assert.Less(t, took, 2*time.Minute) // under the race detector, beside others
			assert.Less(t, growth, uint64(300<<20))
			assert.LessOrEqual(t, len(p.Text), maxMarkdown+maxMarkdown/4)
			assert.Equal(t, len(page) > maxConvert, p.Truncated && len(page) > maxConvert)
			if name == "600 nested" {
				assert.Equal(t, "deep\n\nafter", p.Text)
			}
			t.Logf("%d bytes: %s, %d MiB, %d bytes of text", len(page), took, growth>>20, len(p.Text))
		})
	}
}

// TestMarkdownOfDocumentation converts the documentation that is on this machine,
// and counts what a parser that follows the standard finds in it: rows of tables,
// code blocks and headings stay, and the words of the text do, in their order.
func TestMarkdownOfDocumentation(t *testing.T) {
	var pages []string
	for _, dir := range documentation() {
		filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return nil
			case len(pages) >= 300:
				return filepath.SkipAll
			case !d.IsDir() && (strings.HasSuffix(path, ".html") || strings.HasSuffix(path, ".htm")):
				pages = append(pages, path)
			}
			return nil
		})
	}
	if len(pages) == 0 {
		t.Skip("no documentation here")
	}
	seen := 0
	for _, path := range pages {
		raw, err := os.ReadFile(path)
		if err != nil || len(raw) > 1_000_000 || bytes.Contains(raw, []byte("{{")) {
			continue
		}
		text, _, _ := Decode(raw, "text/html")
		doc, err := html.Parse(strings.NewReader(text))
		if err != nil {
			continue
		}
		want := &markdown{base: somewhere, skipNav: true}
		tree := buildTree(text)
		want.children(tree.root)
		got := want.b.String()
		var words, pre []string
		var walk func(n *html.Node, code bool)
		walk = func(n *html.Node, code bool) {
			if n.Type == html.ElementNode {
				if isHidden(n.Attr) || kinds[n.Data]&isUnseen != 0 || n.Data == "nav" || n.Data == "head" || n.Data == "button" || n.Data == "math" || n.Data == "input" {
					return
				}
				for _, a := range n.Attr {
					if a.Key == "role" {
						return
					}
				}
				if n.Data == "pre" {
					pre = append(pre, n.Data)
				}
				code = code || n.Data == "pre" || n.Data == "code" || n.Data == "a" || n.Data == "sup"
			}
			if n.Type == html.TextNode && !code {
				words = append(words, strings.FieldsFunc(visible(n.Data), func(r rune) bool { return !wordRune(r) })...)
			}
			for c := n.FirstChild; c != nil; c = c.NextSibling {
				walk(c, code)
			}
		}
		walk(doc, false)
		rest, missing := got, 0
		for _, w := range words {
			i := strings.Index(rest, w)
			if i < 0 {
				missing++
				continue
			}
			rest = rest[i+len(w):]
		}
		seen++
		if len(words) > 50 {
			assert.LessOrEqual(t, missing*100, len(words), "%s: %d of %d words are missing or out of order", path, missing, len(words))
		}
		if n := strings.Count(got, "```"); len(pre) > 0 {
			assert.Positive(t, n, path)
		}
	}
	t.Logf("%d pages", seen)
}

// documentation returns directories that may hold pages.
func documentation() []string {
	dirs := []string{"/usr/share/doc"}
	out, err := exec.Command("go", "env", "GOROOT", "GOMODCACHE").Output()
	if lines := strings.Fields(string(out)); err == nil && len(lines) == 2 {
		dirs = append([]string{filepath.Join(lines[0], "doc")}, append(dirs, lines[1])...)
	}
	return dirs
}

func TestMarkdownWithoutBase(t *testing.T) {
	p := Markdown(`<p><a href="/x">a</a> <a href="https://b.example/">b</a> <base href="javascript:x">`, nil)
	assert.Equal(t, "[a](/x) [b](https://b.example/)", p.Text)
}

func FuzzMarkdown(f *testing.F) {
	a, err := txtar.ParseFile("testdata/markdown.txtar")
	require.NoError(f, err)
	for _, file := range a.Files {
		f.Add(string(file.Data))
	}
	f.Add(strings.Repeat("<ul><li>", 50) + "x")
	f.Fuzz(func(t *testing.T, page string) {
		start := time.Now()
		p := Markdown(page, somewhere)
		assert.True(t, utf8.ValidString(p.Text) || !utf8.ValidString(page))
		// Every byte becomes at most a resolved URL or a row's cells.
		assert.LessOrEqual(t, len(p.Text), 1000+len(page)*(maxNesting*4+200))
		assert.Less(t, time.Since(start), 10*time.Second)
		for _, r := range p.Text {
			if r < 0x20 && r != '\n' && r != '\t' || r == 0x202e {
				t.Fatalf("the text holds %U", r)
			}
		}
		assert.NotRegexp(t, `\]\((?i:javascript|data):`, p.Text)
	})
}

func BenchmarkMarkdown(b *testing.B) {
	page := "<title>t</title><main>" + strings.Repeat("<h2>Part</h2><p>Some text with <a href=/x>a link</a>, <code>code</code> and <b>emphasis</b>.<ul><li>one<li>two</ul><table><tr><th>a<th>b<tr><td>1<td>2</table><pre>code\n</pre>", 500)
	b.ReportAllocs()
	b.SetBytes(int64(len(page)))
	for b.Loop() {
		Markdown(page, somewhere)
	}
}
