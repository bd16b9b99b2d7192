package web

import (
	"bytes"
	"slices"
	"strings"

	"github.com/agenttool/tool/internal/textfile"
)

// Kind is what a body is, as far as it matters to who shows it. The zero value is
// KindBinary, so that what nobody recognised is not shown as text.
type Kind int

// The kinds of bodies.
const (
	KindBinary   Kind = iota
	KindHTML          // also XHTML
	KindMarkdown      // shown as it is
	KindJSON
	KindText // any other text
	KindImage
	KindPDF
)

// Format is what a page is wanted as.
type Format string

// The formats.
const (
	AsMarkdown Format = "markdown"
	AsText     Format = "text"
	AsHTML     Format = "html"
)

// Accept is the value of the header that asks a server for f, best first, with
// everything else as the last resort. An unknown format is asked for as markdown.
func (f Format) Accept() string {
	switch f {
	case AsText:
		return "text/plain;q=1.0, text/markdown;q=0.9, text/html;q=0.8, application/xhtml+xml;q=0.8, */*;q=0.1"
	case AsHTML:
		return "text/html;q=1.0, application/xhtml+xml;q=0.9, text/plain;q=0.8, text/markdown;q=0.7, */*;q=0.1"
	}
	return "text/markdown;q=1.0, text/x-markdown;q=0.9, text/plain;q=0.8, text/html;q=0.7, application/xhtml+xml;q=0.7, */*;q=0.1"
}

// textTypes are types of texts whose names do not say so.
var textTypes = []string{
	"application/javascript", "application/ecmascript", "application/x-javascript", "application/typescript",
	"application/xml", "application/yaml", "application/x-yaml", "application/toml", "application/x-sh", "application/sql",
	"application/graphql", "application/x-ndjson", "application/jsonl", "application/x-www-form-urlencoded", "image/svg+xml",
	"application/rtf", "application/x-httpd-php", "application/x-perl", "application/x-python", "application/rss+xml",
	"application/atom+xml", "application/dns-json", "application/ld+json", "message/rfc822",
}

// KindOf tells what a body is and its MIME type without parameters. The first
// bytes are believed about images and PDF, whatever the Content-Type says; a text
// with NUL bytes is none. A body without a type, or with one that says nothing,
// is looked at.
func KindOf(contentType string, body []byte) (Kind, string) {
	declared, _, _ := strings.Cut(strings.ToLower(contentType), ";")
	if declared = strings.TrimSpace(declared); !isMediaType(declared) {
		declared = ""
	}
	head := body[:min(len(body), 512)]
	binary := looksBinary(body)
	switch found := textfile.Sniff(head); {
	case found == "application/pdf":
		return KindPDF, found
	case strings.HasPrefix(found, "image/") && (binary || strings.HasPrefix(declared, "image/")):
		return KindImage, found
	case binary:
		if declared == "" || strings.HasPrefix(declared, "text/") {
			declared = "application/octet-stream"
		}
		if found != "" {
			declared = found
		}
		return KindBinary, declared
	}
	switch {
	case declared == "text/html" || declared == "application/xhtml+xml":
		return KindHTML, declared
	case declared == "text/markdown" || declared == "text/x-markdown":
		return KindMarkdown, declared
	case declared == "application/json" || declared == "text/json" || strings.HasSuffix(declared, "+json"):
		return KindJSON, declared
	case strings.HasPrefix(declared, "text/") || strings.HasSuffix(declared, "+xml") || slices.Contains(textTypes, declared):
		return KindText, declared
	}
	start := bytes.ToLower(bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\xef\xbb\xbf")), " \t\r\n"))
	if bytes.HasPrefix(start, []byte("<!doctype html")) || bytes.HasPrefix(start, []byte("<html")) {
		return KindHTML, "text/html"
	}
	if declared == "" {
		declared = "text/plain"
	}
	return KindText, declared
}

func isMediaType(s string) bool {
	kind, sub, ok := strings.Cut(s, "/")
	return ok && kind != "" && sub != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789/+-._") == ""
}

// looksBinary reports whether a body is no text in any charset: it has NUL bytes
// but no mark of UTF-16, or too many control characters.
func looksBinary(body []byte) bool {
	if bytes.HasPrefix(body, []byte("\xff\xfe")) || bytes.HasPrefix(body, []byte("\xfe\xff")) {
		return false
	}
	sample := body[:min(len(body), 8<<10)]
	control := 0
	for _, c := range sample {
		if c == 0 {
			return true
		}
		if c < 0x20 && (c < '\b' || c > '\r') && c != 0x1b {
			control++
		}
	}
	return control*10 > len(sample)
}
