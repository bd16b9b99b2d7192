package web

import (
	"bytes"
	"mime"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html"
	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding"

	"github.com/agenttool/tool/internal/textfile"
)

// metaWindow is how far into a page, in bytes, its charset is looked for. The
// standard's 1024 bytes miss pages that start with long comments, scripts or
// styles.
const metaWindow = 64 << 10

// Decode returns a body as valid UTF-8 and the name of its charset. What says
// so first is believed: a byte order mark, the Content-Type (empty if there is
// none), a meta element, the bytes themselves if they are UTF-8. Otherwise guessed
// is true: the charset is the likeliest one in which all bytes mean something, and
// windows-1252 if none is likely. Bytes that mean nothing become U+FFFD.
func Decode(body []byte, contentType string) (text, name string, guessed bool) {
	for _, mark := range []struct{ bytes, name string }{
		{"\xef\xbb\xbf", "utf-8"}, {"\xff\xfe", "utf-16le"}, {"\xfe\xff", "utf-16be"},
	} {
		if rest, ok := bytes.CutPrefix(body, []byte(mark.bytes)); ok {
			return decodeAs(rest, mark.name), mark.name, false
		}
	}
	_, params, _ := mime.ParseMediaType(contentType)
	for _, label := range []string{params["charset"], metaCharset(body)} {
		if _, name := charset.Lookup(label); name != "" && name != "replacement" {
			return decodeAs(body, name), name, false
		}
	}
	// A last character that a limit cut is no evidence against UTF-8, if there
	// are whole ones before it.
	if whole := wholeRunes(body); utf8.Valid(body) || utf8.Valid(whole) && !isASCII(string(whole)) {
		return decodeAs(body, "utf-8"), "utf-8", false
	}
	name = cyrillic(body)
	if name == "" {
		name = textfile.GuessCharset(body)
	}
	if name != "" {
		// A last character may have been cut.
		if text := decodeAs(body, name); !strings.ContainsRune(strings.TrimSuffix(text, "\uFFFD"), utf8.RuneError) {
			return text, name, true
		}
	}
	return decodeAs(body, "windows-1252"), "windows-1252", true
}

// cyrillic returns the charset of bytes that look like words in one of the two
// old charsets for Russian, which have their letters in 0xC0-0xFF, small and
// capital ones the other way round.
func cyrillic(body []byte) string {
	const enough = 12
	letters, others, words, upper := 0, 0, 0, 0
	in := false
	for _, c := range body[:min(len(body), metaWindow)] {
		switch {
		case c >= 0xc0:
			letters++
			if c < 0xe0 {
				upper++
			}
			if !in {
				words++
			}
			in = true
			continue
		case c >= 0x80 && c != 0xa8 && c != 0xb8 && c != 0xa3 && c != 0xb3 && c != 0xa0 && c != 0xab && c != 0xbb && c != 0x96 && c != 0x97:
			others++
		}
		in = false
	}
	switch {
	case letters < enough || others*20 > letters || letters < 3*words:
		return ""
	case upper*2 > letters:
		return "koi8-r" // there the small letters come first
	}
	return "windows-1251"
}

// wholeRunes leaves out a last character that a limit may have cut.
func wholeRunes(b []byte) []byte {
	for i := 1; i < utf8.UTFMax && i <= len(b); i++ {
		if tail := b[len(b)-i:]; utf8.RuneStart(tail[0]) {
			if !utf8.FullRune(tail) {
				return b[:len(b)-i]
			}
			break
		}
	}
	return b
}

func decodeAs(body []byte, name string) string {
	if name == "utf-8" {
		return strings.ToValidUTF8(string(body), "\uFFFD")
	}
	e, _ := charset.Lookup(name)
	if e == nil {
		e = encoding.Nop
	}
	out, err := e.NewDecoder().Bytes(body)
	if err != nil {
		out = body
	}
	return strings.ToValidUTF8(string(out), "\uFFFD")
}

// metaCharset returns the label of the first meta element that names a
// charset.
func metaCharset(body []byte) string {
	z := html.NewTokenizer(bytes.NewReader(body[:min(len(body), metaWindow)]))
	for {
		kind := z.Next()
		if kind == html.ErrorToken {
			return ""
		}
		if kind != html.StartTagToken && kind != html.SelfClosingTagToken {
			continue
		}
		if name, more := z.TagName(); string(name) != "meta" || !more {
			continue
		}
		label, content, equiv := "", "", ""
		for more := true; more; {
			var key, value []byte
			key, value, more = z.TagAttr()
			switch string(key) {
			case "charset":
				label = string(value)
			case "content":
				content = string(value)
			case "http-equiv":
				equiv = string(value)
			}
		}
		if label == "" && strings.EqualFold(equiv, "content-type") {
			_, params, _ := mime.ParseMediaType(content)
			label = params["charset"]
		}
		// A page in UTF-16 could not have been read up to here.
		if strings.HasPrefix(strings.ToLower(label), "utf-16") {
			label = "utf-8"
		}
		if label != "" {
			return label
		}
	}
}
