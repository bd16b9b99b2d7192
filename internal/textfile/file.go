package textfile

import (
	"bytes"
	"errors"
	"fmt"
	"sort"
	"strings"
	"unicode/utf8"
)

// EOL is the style of a file's line ends.
type EOL uint8

// The styles. A lone carriage return, form feed, vertical tab, NEL and the Unicode line and paragraph separators are content,
// never line ends.
const (
	EOLNone  EOL = iota // the file has no line end
	EOLLF               // all line ends are LF
	EOLCRLF             // all line ends are CR LF
	EOLMixed            // both occur
)

func (e EOL) String() string { return [...]string{"none", "lf", "crlf", "mixed"}[e&3] }

// MarshalText writes the style as String does.
func (e EOL) MarshalText() ([]byte, error) { return []byte(e.String()), nil }

// UnmarshalText reads what MarshalText wrote.
func (e *EOL) UnmarshalText(b []byte) error {
	for i, s := range []string{"none", "lf", "crlf", "mixed"} {
		if s == string(b) {
			*e = EOL(i)
			return nil
		}
	}
	return fmt.Errorf("unknown line end style %q", b)
}

// Errors that callers test for with errors.Is.
var (
	// ErrBinary: the content is no text.
	ErrBinary = errors.New("binary file")
	// ErrLossy: the text shown stands for bytes that could not be decoded, so that it cannot be edited.
	ErrLossy = errors.New("text cannot be edited without loss")
	// ErrSpan: a span lies outside the text, inside a character, or over another span.
	ErrSpan = errors.New("bad span")
)

// A File is the content of a text file: the bytes, and the text that stands for them. It is not changed after Decode, and may
// be used concurrently.
type File struct {
	// Raw is what is on disk. It is the slice given to Decode, which the caller must not change.
	Raw []byte
	// Text is the decoded content without byte order mark, with "\n" for every line end. All spans are byte offsets in it.
	Text string
	// Encoding is how the file stores characters.
	Encoding Encoding
	// Guessed reports that the encoding was found by statistics rather than declared or evident.
	Guessed bool
	// EOL is the style of the line ends.
	EOL EOL
	// Lossy reports that Text has U+FFFD in place of bytes that no encoding explains. Such a file can be shown but not edited.
	Lossy bool

	codec    codec
	newlines int
	crlf     []int // offsets in Text of the newlines that are CR LF on disk; only for EOLMixed
}

// DecodeOptions tell Decode what is known about a file from elsewhere. Nil and the zero value mean nothing.
type DecodeOptions struct {
	// Charset is declared for this very file, as by .editorconfig; tried when the content is no UTF-8 or UTF-16.
	Charset string
	// Default is the charset that the host expects in such files; tried next, before guessing.
	Default string
	// NoGuess switches the statistics off.
	NoGuess bool
}

// Decode interprets raw: by its byte order mark, else as UTF-8, else as UTF-16 if its NUL bytes say so, else in the declared
// and default charsets, else in the likeliest of the common legacy ones. A charset is accepted only if encoding the text
// again gives exactly the same bytes; failing all, the File is Lossy. Content that is no text is [ErrBinary].
func Decode(raw []byte, opts *DecodeOptions) (*File, error) {
	if opts == nil {
		opts = &DecodeOptions{}
	}
	if c, ok := bomCodec(raw); ok {
		body := raw[len(c.bom()):]
		if text, exact := c.decode(body); exact {
			return newFile(raw, text, c, true), nil
		}
		if c.unit > 1 {
			if looksBinary(raw) && !plausible(c, body) {
				return nil, ErrBinary
			}
			return lossy(raw, body, c, true), nil
		}
	}
	if c, ok := guessUTF16(raw[:min(len(raw), sniffSize)]); ok {
		if text, exact := c.decode(raw); exact {
			f := newFile(raw, text, c, false)
			f.Guessed = true
			return f, nil
		}
	}
	if looksBinary(raw) {
		if c, err := lookup(opts.Charset); err == nil && c.unit > 1 {
			if text, exact := c.decode(raw); exact {
				return newFile(raw, text, c, false), nil
			}
		}
		return nil, ErrBinary
	}
	if utf8.Valid(raw) {
		return newFile(raw, string(raw), utf8Codec, false), nil
	}
	for _, name := range []string{opts.Charset, opts.Default} {
		if name == "" {
			continue
		}
		if c, err := lookup(name); err == nil {
			if text, exact := c.decode(raw); exact {
				return newFile(raw, text, c, false), nil
			}
		}
	}
	if !opts.NoGuess && !mostlyUTF8(raw) {
		for _, name := range guessCharset(raw) {
			c, err := lookup(name)
			if err != nil {
				continue
			}
			if text, exact := c.decode(raw); exact && !manyControls(text) {
				f := newFile(raw, text, c, false)
				f.Guessed = true
				return f, nil
			}
		}
	}
	if manyInvalid(raw) {
		return nil, ErrBinary
	}
	c, hasBOM := bomCodec(raw)
	if !hasBOM {
		c = utf8Codec
	}
	return lossy(raw, bytes.TrimPrefix(raw, utf8Codec.bom()), c, hasBOM), nil
}

// plausible reports whether most of a damaged UTF-16 or UTF-32 file decodes to printable text.
func plausible(c codec, body []byte) bool {
	text, _ := c.decode(trimUnit(c, body[:min(len(body), sniffSize)]))
	bad := strings.Count(text, "\ufffd") + strings.Count(text, "\x00")
	return text != "" && bad*10 < utf8.RuneCountInString(text)
}

func manyControls(text string) bool {
	bad, n := 0, 0
	for _, r := range text {
		if n++; n > sniffSize {
			break
		}
		if r < 0x20 && r != '\n' && r != '\r' && r != '\t' && r != '\f' && r != '\v' && r != 0x1b || 0x7f <= r && r < 0xa0 {
			bad++
		}
	}
	return bad*20 > n
}

// manyInvalid reports whether over 30 % of the beginning is neither ASCII nor UTF-8.
func manyInvalid(raw []byte) bool {
	raw = raw[:min(len(raw), sniffSize)]
	bad := 0
	for rest := raw; len(rest) > 0; {
		r, n := utf8.DecodeRune(rest)
		if r == utf8.RuneError && n == 1 {
			bad++
		}
		rest = rest[n:]
	}
	return bad*10 > len(raw)*3
}

func newFile(raw []byte, text string, c codec, bom bool) *File {
	f := &File{Raw: raw, codec: c, Encoding: Encoding{Name: c.name, BOM: bom}}
	f.setText(text)
	return f
}

func lossy(raw, body []byte, c codec, bom bool) *File {
	text, _ := c.decode(body)
	f := newFile(raw, strings.ToValidUTF8(text, "\ufffd"), c, bom)
	f.Lossy = true
	return f
}

// setText turns CR LF into LF and remembers where it was.
func (f *File) setText(text string) {
	f.newlines = strings.Count(text, "\n")
	pairs := strings.Count(text, "\r\n")
	switch {
	case f.newlines == 0:
		f.EOL, f.Text = EOLNone, text
		return
	case pairs == 0:
		f.EOL, f.Text = EOLLF, text
		return
	case pairs == f.newlines:
		f.EOL, f.Text = EOLCRLF, strings.ReplaceAll(text, "\r\n", "\n")
		return
	}
	f.EOL = EOLMixed
	f.crlf = make([]int, 0, pairs)
	var b strings.Builder
	b.Grow(len(text) - pairs)
	for {
		i := strings.Index(text, "\r\n")
		if i < 0 {
			break
		}
		b.WriteString(text[:i])
		f.crlf = append(f.crlf, b.Len())
		b.WriteByte('\n')
		text = text[i+2:]
	}
	b.WriteString(text)
	f.Text = b.String()
}

// Editable returns nil when [File.Apply] can be used, else why not.
func (f *File) Editable() error {
	if f.Lossy {
		return fmt.Errorf("%w: it is not valid %s and no other encoding fits; change its bytes with a command, or convert it first", ErrLossy, f.codec.name)
	}
	return nil
}

// FinalNewline reports whether the last line is ended.
func (f *File) FinalNewline() bool { return strings.HasSuffix(f.Text, "\n") }

// Lines returns the number of lines; a last line without a line end counts.
func (f *File) Lines() int {
	if f.Text == "" || f.FinalNewline() {
		return f.newlines
	}
	return f.newlines + 1
}

// isCRLF reports whether the newline at offset at of Text is CR LF on disk.
func (f *File) isCRLF(at int) bool {
	switch f.EOL {
	case EOLCRLF:
		return true
	case EOLMixed:
		i := sort.SearchInts(f.crlf, at)
		return i < len(f.crlf) && f.crlf[i] == at
	}
	return false
}

// crlfIn counts the newlines in Text[start:end] that are CR LF on disk.
func (f *File) crlfIn(start, end int) int {
	switch f.EOL {
	case EOLCRLF:
		return strings.Count(f.Text[start:end], "\n")
	case EOLMixed:
		return sort.SearchInts(f.crlf, end) - sort.SearchInts(f.crlf, start)
	}
	return 0
}

// rawLen returns the number of bytes on disk of Text[start:end].
func (f *File) rawLen(start, end int) int {
	return f.codec.rawLen(f.Text[start:end]) + f.codec.unit*f.crlfIn(start, end)
}

// bomLen returns the number of bytes before the text.
func (f *File) bomLen() int {
	if f.Encoding.BOM {
		return len(f.codec.bom())
	}
	return 0
}

// RawOffset returns where offset off of Text is in Raw. It takes time proportional to off, and is meaningless when Lossy.
func (f *File) RawOffset(off int) int { return f.bomLen() + f.rawLen(0, off) }

// dominant is the line end that most lines have, LF when there is none.
func (f *File) dominant() string {
	if f.EOL == EOLCRLF || f.EOL == EOLMixed && 2*len(f.crlf) > f.newlines {
		return "\r\n"
	}
	return "\n"
}
