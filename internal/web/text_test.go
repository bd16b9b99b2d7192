package web

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
)

func TestText(t *testing.T) {
	for _, test := range []struct{ name, page, title, text string }{
		{"empty", "", "", ""},
		{"plain", "a  b\n c", "", "a b c"},
		{"title", "<title> A\n&amp; B </title><body>x", "A & B", "x"},
		{"paragraphs", "<h1>T</h1><p>a <b>b</b>c<p>d<br>e", "", "T\n\na bc\n\nd\ne"},
		{"list", "<ul><li>a<li>b</ul>c", "", "a\nb\n\nc"},
		{"table", "<table><tr><td>a<td>b<tr><td>c</td><td>d</table>", "", "a\tb\nc\td"},
		{"pre", "<pre>a\n  b\n\nc</pre>d", "", "a\n  b\n\nc\n\nd"},
		{"script", "a<script>if (a<b) '</p>'</script><style>x</style><!-- c --><noscript>n</noscript>b", "", "ab"},
		{"nested unseen", "a<object><object>x</object>y</object>b", "", "ab"},
		{"hidden", "a<div hidden>x<div>y</div>z</div>b", "", "a\nb"},
		{"display none", "a<span style='color: red; Display : NONE !important'>x</span>b", "", "ab"},
		{"aria-hidden", "a<i aria-hidden=true>x</i>b<i aria-hidden=false>y</i>", "", "aby"},
		{"hidden p without end", "<p hidden>x<p>y", "", "y"},
		{"hidden li without end", "<ul><li hidden>x<ul><li>z</ul><li>y</ul>", "", "y"},
		{"hidden ends with its parent", "<div><span hidden>x</div>y", "", "y"},
		{"hidden void", "<input hidden>y<img hidden>z", "", "yz"},
		{"entities", "&lt;b&gt; &eacute;&#x200b;&#xe0041;", "", "<b> é"},
		{"entities once", "<title>&amp;lt;</title>&amp;lt;b&amp;gt;", "&lt;", "&lt;b&gt;"},
		{"invisible", "a\u200bb\u202ec\U000e0041d\x1b[1m\u00ade", "", "abcd[1me"},
		{"joiners", "👩\u200d🚀 a\u200db", "", "👩\u200d🚀 ab"},
	} {
		got := Text(test.page)
		assert.Equal(t, test.title, got.Title, test.name)
		assert.Equal(t, test.text, got.Text, test.name)
		assert.False(t, got.Truncated)
	}
}

func TestTextIsBounded(t *testing.T) {
	for _, unit := range []string{"<div>", "<b><i></x>", "<p><b a=1>", "<li><b>", "</a>", "<table><tr><td>", "<pre>\n", "<br>x", "&#", "<!--"} {
		page := strings.Repeat(unit, 2_100_000/len(unit))
		start := time.Now()
		got := Text(page)
		assert.True(t, got.Truncated, unit)
		assert.LessOrEqual(t, len(got.Text), maxConvert+16)
		assert.Less(t, time.Since(start), 2*time.Minute, unit)
	}
	deep := strings.Repeat("<div>", 5000) + "deep"
	assert.Equal(t, "deep", Text(deep).Text)
}

func FuzzText(f *testing.F) {
	f.Add("<p hidden>a<table><tr><td>x<pre>\n\n</pre>&#x202e;</title>")
	f.Add("<title>a</title><li><li hidden></ul>b<script>")
	f.Fuzz(func(t *testing.T, page string) {
		page = strings.ToValidUTF8(page, "\uFFFD")
		got := Text(page)
		assert.True(t, utf8.ValidString(got.Text))
		assert.NotContains(t, got.Text, "\x1b")
		assert.NotContains(t, got.Text, "\u202e")
		assert.LessOrEqual(t, len(got.Text), 4*len(page)+16)
		assert.Equal(t, got, Text(page))
	})
}
