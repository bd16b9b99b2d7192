package pdftext

import (
	"context"
	"strings"

	"golang.org/x/text/unicode/norm"
)

// A font turns the bytes of a string into characters and widths.
type font struct {
	toUnicode *cmap
	simple    *[256]string // of a simple font
	composite bool
	utf16     bool // codes are UTF-16
	widths    map[int]float64
	missing   float64 // width of codes that are not in widths
}

func compose(s string) string { return norm.NFC.String(s) }

// font makes a font of its dictionary.
func (d *Document) font(ctx context.Context, v any, g *budget) *font {
	fd := d.dict(v)
	f := &font{widths: make(map[int]float64), missing: 500}
	if s, ok := d.resolve(fd["ToUnicode"]).(stream); ok {
		if data, err := d.decode(s, g); err == nil {
			f.toUnicode = readCmap(ctx, data)
		}
	}
	if fd["Subtype"] == name("Type0") {
		f.composite = true
		d.compositeWidths(f, fd)
		enc, _ := d.resolve(fd["Encoding"]).(name)
		f.utf16 = strings.Contains(string(enc), "UCS2") || strings.Contains(string(enc), "UTF16")
		return f
	}
	base := ""
	var differences array
	switch enc := d.resolve(fd["Encoding"]).(type) {
	case name:
		base = string(enc)
	case dict:
		b, _ := d.resolve(enc["BaseEncoding"]).(name)
		base = string(b)
		differences, _ = d.resolve(enc["Differences"]).(array)
	default:
		if fd["Subtype"] == name("TrueType") {
			base = "WinAnsiEncoding"
		}
	}
	f.simple = baseEncoding(base)
	code := 0
	for _, v := range differences {
		switch v := d.resolve(v).(type) {
		case float64:
			code = int(v)
		case name:
			if text, ok := glyphText(string(v)); code >= 0 && code < 256 {
				if f.simple[code] = text; !ok {
					f.simple[code] = "\uFFFD"
				}
			}
			code++
		}
	}
	start, _ := d.resolve(fd["FirstChar"]).(float64)
	for i, w := range d.list(fd["Widths"]) {
		if v, ok := d.resolve(w).(float64); ok && i < 256 {
			f.widths[int(start)+i] = v
		}
	}
	if v, ok := d.resolve(d.dict(fd["FontDescriptor"])["MissingWidth"]).(float64); ok && v > 0 {
		f.missing = v
	}
	return f
}

// compositeWidths reads the widths of a composite font: "first [w w …]" and
// "first last w".
func (d *Document) compositeWidths(f *font, fd dict) {
	var child dict
	if list := d.list(fd["DescendantFonts"]); len(list) > 0 {
		child = d.dict(list[0])
	}
	f.missing = 1000
	if v, ok := d.resolve(child["DW"]).(float64); ok {
		f.missing = v
	}
	w := d.list(child["W"])
	for i := 0; i+1 < len(w) && len(f.widths) < maxMappings; {
		from, _ := d.resolve(w[i]).(float64)
		switch next := d.resolve(w[i+1]).(type) {
		case array:
			for k, v := range next {
				if x, ok := d.resolve(v).(float64); ok {
					f.widths[int(from)+k] = x
				}
			}
			i += 2
		case float64:
			if i+2 < len(w) {
				if x, ok := d.resolve(w[i+2]).(float64); ok {
					for c := int(from); c <= int(min(next, from+65535)) && len(f.widths) < maxMappings; c++ {
						f.widths[c] = x
					}
				}
			}
			i += 3
		default:
			i++
		}
	}
}

// A glyph is one code of a string.
type glyph struct {
	text  string
	width float64 // in thousandths of the font's size
	space bool    // the code is a blank that word spacing applies to
	lost  bool    // nothing says what it stands for
}

// glyphs takes a string apart, until each says false.
func (f *font) glyphs(s string, each func(glyph) bool) {
	for len(s) > 0 {
		n := f.codeLength(s)
		code := s[:n]
		s = s[n:]
		gl := glyph{space: n == 1 && code == " "}
		var ok bool
		if gl.width, ok = f.widths[codeOf(code)]; !ok {
			gl.width = f.missing
		}
		ok = false
		if f.toUnicode != nil {
			gl.text, ok = f.toUnicode.lookup(code)
		}
		switch {
		case ok:
		case f.simple != nil:
			gl.text = f.simple[code[0]]
		case f.utf16:
			gl.text = utf16Text(code)
		default:
			gl.text, gl.lost = "\uFFFD", true
		}
		gl.lost = gl.lost || gl.text == "\uFFFD"
		if !each(gl) {
			return
		}
	}
}

// codeLength is how many bytes the next code has.
func (f *font) codeLength(s string) int {
	if !f.composite {
		return 1
	}
	if m := f.toUnicode; m != nil {
		for n := 1; n <= 4 && n <= len(s); n++ {
			if !m.lengths[n] {
				continue
			}
			if _, ok := m.lookup(s[:n]); ok {
				return n
			}
		}
		if m.lengths[1] && !m.lengths[2] {
			return 1
		}
	}
	return min(2, len(s))
}
