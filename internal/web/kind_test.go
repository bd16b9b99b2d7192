package web

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestKindOf(t *testing.T) {
	png := "\x89PNG\r\n\x1a\n\x00\x00"
	for _, test := range []struct {
		contentType, body string
		kind              Kind
		mime              string
	}{
		{"text/html; charset=utf-8", "<p>", KindHTML, "text/html"},
		{"application/xhtml+xml", "<p/>", KindHTML, "application/xhtml+xml"},
		{"TEXT/HTML", "", KindHTML, "text/html"},
		{"text/markdown", "# x", KindMarkdown, "text/markdown"},
		{"application/json", "{}", KindJSON, "application/json"},
		{"application/problem+json", "{}", KindJSON, "application/problem+json"},
		{"text/plain", "<html>", KindText, "text/plain"},
		{"text/plain", png, KindImage, "image/png"},
		{"text/html", "BM of a page", KindHTML, "text/html"},
		{"image/png", png, KindImage, "image/png"},
		{"image/jpeg", png, KindImage, "image/png"},
		{"image/png", "not found", KindText, "image/png"},
		{"image/svg+xml", "<svg/>", KindText, "image/svg+xml"},
		{"application/octet-stream", "%PDF-1.7", KindPDF, "application/pdf"},
		{"application/octet-stream", "plain", KindText, "application/octet-stream"},
		{"application/octet-stream", "a\x00b", KindBinary, "application/octet-stream"},
		{"text/plain", "a\x00b", KindBinary, "application/octet-stream"},
		{"text/plain; charset=utf-16", "\xff\xfea\x00", KindText, "text/plain"},
		{"video/mp4", "\x00\x00\x00\x20ftypisom", KindBinary, "video/mp4"},
		{"", "PK\x03\x04\x00", KindBinary, "application/zip"},
		{"", " <!DOCTYPE HTML>", KindHTML, "text/html"},
		{"", "hello", KindText, "text/plain"},
		{"", "", KindText, "text/plain"},
		{"nonsense", "hello", KindText, "text/plain"},
		{"text/html; charset=\"", "<p>", KindHTML, "text/html"},
		{"application/rss+xml", "<rss/>", KindText, "application/rss+xml"},
	} {
		kind, mime := KindOf(test.contentType, []byte(test.body))
		assert.Equal(t, test.kind, kind, "%s %q", test.contentType, test.body)
		assert.Equal(t, test.mime, mime, "%s %q", test.contentType, test.body)
	}
}

func TestAccept(t *testing.T) {
	for format, first := range map[Format]string{AsMarkdown: "text/markdown;q=1.0", AsText: "text/plain;q=1.0", AsHTML: "text/html;q=1.0", "": "text/markdown;q=1.0"} {
		assert.True(t, strings.HasPrefix(format.Accept(), first), format)
		assert.True(t, strings.HasSuffix(format.Accept(), "*/*;q=0.1"), format)
	}
}

func FuzzKindOf(f *testing.F) {
	f.Add("text/html; charset=utf-8", []byte("<html>"))
	f.Add("a/b;;", []byte("\xff\xfea"))
	f.Add("image/PNG;x=\"", []byte("\x89PNG"))
	f.Fuzz(func(t *testing.T, contentType string, body []byte) {
		kind, mime := KindOf(contentType, body)
		assert.NotEmpty(t, mime)
		assert.Equal(t, strings.ToLower(mime), mime)
		for _, c := range mime {
			assert.True(t, c > 0x20 && c < 0x7f, "%q", mime)
		}
		if kind == KindMarkdown || kind == KindHTML || kind == KindJSON {
			assert.False(t, looksBinary(body))
		}
	})
}
