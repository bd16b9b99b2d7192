package textfile

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// A Span replaces Text[Start:End] of a [File] by New. Start and End are byte offsets that do not cut a character; equal ones
// insert. New may use "\n" or "\r\n" for line ends: what is written follows the file.
type Span struct {
	Start, End int
	New        string
}

// Apply returns the bytes of the file with the spans replaced. The spans may come in any order but must not overlap; several
// insertions at one place keep their order. The bytes on disk of everything outside the spans stay as they are, as does
// what a span leaves unchanged at its ends. A line end in New is written as the one it takes the place of; one that is added
// takes the style of the line it follows, else of the line it precedes, else the style of most lines.
//
// Errors match [ErrSpan], [ErrLossy], or are an *[EncodeError]. The File is unchanged.
func (f *File) Apply(spans []Span) ([]byte, error) {
	return f.apply(spans, false)
}

// Replace returns the bytes of the file with the whole text replaced, for tools that write whole files. Encoding and byte order
// mark stay; lines get the style of most lines in the file, except that text that itself has "\r\n" is taken as it is.
// The unchanged beginning and end keep their line ends.
func (f *File) Replace(text string) ([]byte, error) {
	if strings.Contains(text, "\r\n") {
		if err := f.check(text); err != nil {
			return nil, err
		}
		body, err := f.codec.encodeExact(strings.TrimPrefix(text, "\ufeff"))
		if err != nil {
			return nil, f.name(err)
		}
		return append(slices.Clip(f.Raw[:f.bomLen():f.bomLen()]), body...), nil
	}
	return f.apply([]Span{{0, len(f.Text), text}}, true)
}

// AsUTF8 returns the file converted to UTF-8 without a byte order mark, line ends kept: the explicit way out when new text
// has characters that the encoding lacks.
func (f *File) AsUTF8() (*File, error) {
	if err := f.Editable(); err != nil {
		return nil, err
	}
	n := *f
	n.Encoding, n.codec, n.Guessed = Encoding{Name: utf8Codec.name}, utf8Codec, false
	n.Raw = make([]byte, 0, len(f.Text)+f.crlfIn(0, len(f.Text)))
	for at := 0; at < len(f.Text); {
		i := strings.IndexByte(f.Text[at:], '\n')
		if i < 0 {
			n.Raw = append(n.Raw, f.Text[at:]...)
			break
		}
		n.Raw = append(n.Raw, f.Text[at:at+i]...)
		if f.isCRLF(at + i) {
			n.Raw = append(n.Raw, '\r')
		}
		n.Raw = append(n.Raw, '\n')
		at += i + 1
	}
	return &n, nil
}

// EncodeNew returns the bytes of a file that does not exist yet. A zero Settings gives UTF-8 with the text's own line ends.
func EncodeNew(text string, s Settings) ([]byte, error) {
	f := &File{}
	if err := f.check(text); err != nil {
		return nil, err
	}
	c, err := lookup(s.Charset)
	if err != nil {
		c = utf8Codec // a charset nobody knows is no reason not to write
	}
	f.codec = c
	text, marked := strings.CutPrefix(text, "\ufeff")
	f.Encoding.BOM = marked && c.bom() != nil || s.Charset == "utf-8-bom" || c.unit > 1
	if s.EOL == EOLCRLF && !strings.Contains(text, "\r\n") {
		text = strings.ReplaceAll(text, "\n", "\r\n")
	}
	body, err := c.encodeExact(text)
	if err != nil {
		return nil, err
	}
	if f.Encoding.BOM {
		body = append(c.bom(), body...)
	}
	return body, nil
}

func (f *File) check(text string) error {
	if err := f.Editable(); err != nil {
		return err
	}
	if !utf8.ValidString(text) {
		return fmt.Errorf("%w: the new text is not valid UTF-8", ErrEncoding)
	}
	return nil
}

func (f *File) name(err error) error {
	if e, ok := err.(*EncodeError); ok {
		e.Encoding = f.Encoding
	}
	return err
}

func (f *File) apply(spans []Span, whole bool) ([]byte, error) {
	if err := f.Editable(); err != nil {
		return nil, err
	}
	sorted := slices.Clone(spans)
	slices.SortStableFunc(sorted, func(a, b Span) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.End, b.End))
	})
	grow := 0
	for i, s := range sorted {
		switch {
		case s.Start < 0 || s.End < s.Start || s.End > len(f.Text):
			return nil, fmt.Errorf("%w: %d to %d of %d bytes", ErrSpan, s.Start, s.End, len(f.Text))
		case i > 0 && s.Start < sorted[i-1].End:
			return nil, fmt.Errorf("%w: %d to %d overlaps the one before", ErrSpan, s.Start, s.End)
		case !f.boundary(s.Start) || !f.boundary(s.End):
			return nil, fmt.Errorf("%w: %d to %d cuts a character", ErrSpan, s.Start, s.End)
		}
		if err := f.check(s.New); err != nil {
			return nil, err
		}
		grow += len(s.New)
	}
	out := make([]byte, 0, len(f.Raw)+grow*f.codec.unit)
	text, raw := 0, f.bomLen() // how far Text and Raw have been dealt with
	out = append(out, f.Raw[:raw]...)
	for _, s := range sorted {
		s = f.narrow(s)
		n := f.rawLen(text, s.Start)
		out = append(out, f.Raw[raw:raw+n]...)
		raw += n
		body, err := f.codec.encodeExact(f.lineEnds(s, whole))
		if err != nil {
			return nil, f.name(err)
		}
		out = append(out, body...)
		raw += f.rawLen(s.Start, s.End)
		text = s.End
	}
	return append(out, f.Raw[raw:]...), nil
}

func (f *File) boundary(at int) bool { return at == len(f.Text) || utf8.RuneStart(f.Text[at]) }

// narrow cuts from the span what it leaves as it is at both ends, in whole characters, so that those bytes are kept.
func (f *File) narrow(s Span) Span {
	old := f.Text[s.Start:s.End]
	if !strings.Contains(old, "\r\n") { // a doubled CR is content and only there may New have it on purpose
		s.New = strings.ReplaceAll(s.New, "\r\n", "\n")
	}
	if s.Start == 0 && f.Encoding.BOM {
		s.New = strings.TrimPrefix(s.New, "\ufeff")
	}
	n := 0
	for n < len(old) && n < len(s.New) && old[n] == s.New[n] {
		n++
	}
	for n > 0 && (n < len(old) && !utf8.RuneStart(old[n]) || n < len(s.New) && !utf8.RuneStart(s.New[n])) {
		n--
	}
	s.Start, old, s.New = s.Start+n, old[n:], s.New[n:]
	m := 0
	for m < len(old) && m < len(s.New) && old[len(old)-1-m] == s.New[len(s.New)-1-m] {
		m++
	}
	for m > 0 && (!utf8.RuneStart(old[len(old)-m]) || !utf8.RuneStart(s.New[len(s.New)-m])) {
		m--
	}
	s.End, s.New = s.End-m, s.New[:len(s.New)-m]
	return s
}

// lineEnds returns the new text of a narrowed span with the line ends that it gets on disk.
func (f *File) lineEnds(s Span, whole bool) string {
	if f.EOL == EOLNone || f.EOL == EOLLF || !strings.Contains(s.New, "\n") {
		return s.New
	}
	if f.EOL == EOLCRLF {
		return strings.ReplaceAll(s.New, "\n", "\r\n")
	}
	var old []bool // of the newlines replaced: CR LF?
	for at := s.Start; at < s.End; at++ {
		i := strings.IndexByte(f.Text[at:s.End], '\n')
		if i < 0 {
			break
		}
		at += i
		old = append(old, f.isCRLF(at))
	}
	added := f.inForce(s)
	if len(old) > 0 {
		added = old[len(old)-1]
	}
	if whole {
		added = f.dominant() == "\r\n"
	}
	var b strings.Builder
	rest := s.New
	for k := 0; ; k++ {
		i := strings.IndexByte(rest, '\n')
		if i < 0 {
			b.WriteString(rest)
			return b.String()
		}
		b.WriteString(rest[:i])
		crlf := added
		if k < len(old) {
			crlf = old[k]
		}
		if crlf {
			b.WriteByte('\r')
		}
		b.WriteByte('\n')
		rest = rest[i+1:]
	}
}

// inForce reports whether a line end added at the span, which replaces none, is CR LF: that of the line before for whole lines
// put between two, else that of the line that is changed, at the ends of the file the nearest one.
func (f *File) inForce(s Span) bool {
	before := strings.LastIndexByte(f.Text[:s.Start], '\n')
	after := strings.IndexByte(f.Text[s.End:], '\n')
	between := s.Start == s.End && before == s.Start-1 && strings.HasSuffix(s.New, "\n")
	switch {
	case before >= 0 && (between || after < 0):
		return f.isCRLF(before)
	case after >= 0:
		return f.isCRLF(s.End + after)
	}
	return f.dominant() == "\r\n"
}
