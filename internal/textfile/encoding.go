package textfile

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/encoding/unicode/utf32"
)

// An Encoding says how a file stores its characters. The zero value is plain UTF-8.
type Encoding struct {
	// Name is lower case: "utf-16le", "gbk", "shift_jis", "windows-1252" …; "" means "utf-8".
	Name string `json:"name,omitempty"`
	// BOM reports a byte order mark at the beginning of the file. It is not part of the text.
	BOM bool `json:"bom,omitempty"`
}

// String returns the name, with "-bom" or " with BOM" when there is a mark.
func (e Encoding) String() string {
	name := e.Name
	if name == "" {
		name = "utf-8"
	}
	if e.BOM {
		name += " with BOM"
	}
	return name
}

// Plain reports whether the encoding is UTF-8 without a byte order mark.
func (e Encoding) Plain() bool { return (e.Name == "" || e.Name == "utf-8") && !e.BOM }

// ErrEncoding is matched by every error about characters and encodings.
var ErrEncoding = errors.New("text encoding")

// An EncodeError says which character a file's encoding cannot store.
type EncodeError struct {
	Rune     rune
	Encoding Encoding
}

func (e *EncodeError) Error() string {
	return fmt.Sprintf("the file is %s, which has no %q (U+%04X); use other characters or convert the file to UTF-8 first", e.Encoding, e.Rune, e.Rune)
}

// Unwrap returns [ErrEncoding].
func (e *EncodeError) Unwrap() error { return ErrEncoding }

// A codec converts between bytes and text rune by rune, without state, so that a stretch of text has the same bytes wherever
// it stands.
type codec struct {
	name  string
	unit  int               // bytes of an ASCII character
	table encoding.Encoding // nil for UTF-8
}

var (
	utf8Codec    = codec{name: "utf-8", unit: 1}
	utf16LECodec = codec{"utf-16le", 2, unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM)}
	utf16BECodec = codec{"utf-16be", 2, unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM)}
	utf32LECodec = codec{"utf-32le", 4, utf32.UTF32(utf32.LittleEndian, utf32.IgnoreBOM)}
	utf32BECodec = codec{"utf-32be", 4, utf32.UTF32(utf32.BigEndian, utf32.IgnoreBOM)}
)

// lookup finds a codec by the names that .editorconfig, web pages and people use.
func lookup(name string) (codec, error) {
	name = strings.ToLower(strings.TrimSpace(name))
	switch name {
	case "", "utf-8", "utf8", "utf-8-bom", "us-ascii", "ascii":
		return utf8Codec, nil
	case "utf-16le", "utf-16", "utf16", "utf16le":
		return utf16LECodec, nil
	case "utf-16be", "utf16be":
		return utf16BECodec, nil
	case "utf-32le", "utf-32", "utf32":
		return utf32LECodec, nil
	case "utf-32be":
		return utf32BECodec, nil
	case "latin1", "iso-8859-1":
		return codec{"iso-8859-1", 1, charmap.ISO8859_1}, nil
	}
	e, err := htmlindex.Get(name)
	if err != nil {
		return codec{}, fmt.Errorf("%w: unknown charset %q", ErrEncoding, name)
	}
	canonical, err := htmlindex.Name(e)
	switch {
	case err != nil, canonical == "iso-2022-jp", canonical == "replacement", canonical == "x-user-defined":
		return codec{}, fmt.Errorf("%w: charset %q cannot be edited in part", ErrEncoding, name)
	case strings.HasPrefix(canonical, "utf-"):
		return lookup(canonical)
	}
	return codec{canonical, 1, e}, nil
}

// bom returns the byte order mark in this codec, nil when it has none.
func (c codec) bom() []byte {
	switch c.name {
	case "utf-8":
		return []byte{0xef, 0xbb, 0xbf}
	case "utf-16le":
		return []byte{0xff, 0xfe}
	case "utf-16be":
		return []byte{0xfe, 0xff}
	case "utf-32le":
		return []byte{0xff, 0xfe, 0, 0}
	case "utf-32be":
		return []byte{0, 0, 0xfe, 0xff}
	}
	return nil
}

// decode returns the text of raw, and whether encoding it again gives the same bytes: decoders replace what they do not
// understand without an error, so that this is the only test that can be trusted.
func (c codec) decode(raw []byte) (text string, exact bool) {
	if c.table == nil {
		return string(raw), utf8.Valid(raw)
	}
	out, err := c.table.NewDecoder().Bytes(raw)
	if err != nil {
		return "", false
	}
	text = string(out)
	back, err := c.encode(text)
	return text, err == nil && string(back) == string(raw)
}

// encode returns the bytes of text, which is valid UTF-8.
func (c codec) encode(text string) ([]byte, error) {
	if c.table == nil {
		return []byte(text), nil
	}
	out, err := c.table.NewEncoder().Bytes([]byte(text))
	if err != nil {
		return nil, c.encodeError(text)
	}
	return out, nil
}

// encodeExact is encode for text that did not come out of the file: some encoders store characters as others, which shows only
// when the bytes are decoded again.
func (c codec) encodeExact(text string) ([]byte, error) {
	out, err := c.encode(text)
	if err != nil || c.table == nil || isASCII(text) {
		return out, err
	}
	if back, err := c.table.NewDecoder().Bytes(out); err != nil || string(back) != text {
		return nil, c.encodeError(text)
	}
	return out, nil
}

// encodeError names the first character of text that the encoding does not keep.
func (c codec) encodeError(text string) error {
	for _, r := range text {
		if b, err := c.table.NewEncoder().String(string(r)); err == nil {
			if back, err := c.table.NewDecoder().String(b); err == nil && back == string(r) {
				continue
			}
		}
		return &EncodeError{Rune: r, Encoding: Encoding{Name: c.name}}
	}
	return fmt.Errorf("%w: the new text cannot be stored as %s", ErrEncoding, c.name)
}

// rawLen returns the number of bytes that text, taken out of a decoded file, has in the file.
func (c codec) rawLen(text string) int {
	switch {
	case c.table == nil:
		return len(text)
	case c.unit == 4:
		return 4 * utf8.RuneCountInString(text)
	case c.unit == 2:
		n := 0
		for _, r := range text {
			n += 2 * utf16.RuneLen(r)
		}
		return n
	}
	if isASCII(text) {
		return len(text)
	}
	b, err := c.encode(text)
	if err != nil {
		return -1 // cannot be: the text was decoded from this codec and found exact
	}
	return len(b)
}

func isASCII(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
