package match

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

const (
	fnvOffset = 14695981039346656037
	fnvPrime  = 1099511628211
)

// blankKey is the lenient key of a line without any content.
const blankKey uint64 = fnvOffset

func hash(s string) uint64 {
	h := uint64(fnvOffset)
	for i := 0; i < len(s); i++ {
		h = (h ^ uint64(s[i])) * fnvPrime
	}
	return h
}

func isBlankByte(c byte) bool {
	return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f' || c == '\n'
}

func isBlank(s string) bool {
	for i := 0; i < len(s); i++ {
		if !isBlankByte(s[i]) {
			return s[i] >= utf8.RuneSelf && strings.TrimSpace(normalize(Folded, s)) == ""
		}
	}
	return true
}

func isWordByte(c byte) bool {
	return c >= utf8.RuneSelf || c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// lenientKey hashes what [Spacing] keeps of a line, without building it: all
// but the blanks that do not stand between two word characters.
func lenientKey(line string) uint64 {
	for i := 0; i < len(line); i++ {
		if line[i] >= utf8.RuneSelf {
			line = foldRunes(line)
			break
		}
	}
	h := uint64(fnvOffset)
	var last byte
	gap := false
	for i := 0; i < len(line); i++ {
		c := line[i]
		if isBlankByte(c) {
			gap = true
			continue
		}
		if gap && isWordByte(last) && isWordByte(c) {
			h = (h ^ ' ') * fnvPrime
		}
		gap = false
		last = c
		h = (h ^ uint64(c)) * fnvPrime
	}
	return h
}

// normalize returns what a level compares of a line.
func normalize(l Level, line string) string {
	switch l {
	case Exact:
		return line
	case TrailingBlanks:
		return strings.TrimRight(line, " \t\r\v\f")
	case Indentation:
		return strings.Trim(line, " \t\r\v\f")
	case Folded:
		return strings.Join(strings.Fields(foldRunes(line)), " ")
	}
	line = foldRunes(line)
	b := make([]byte, 0, len(line))
	gap := false
	for i := 0; i < len(line); i++ {
		c := line[i]
		if isBlankByte(c) {
			gap = true
			continue
		}
		if gap && len(b) > 0 && isWordByte(b[len(b)-1]) && isWordByte(c) {
			b = append(b, ' ')
		}
		gap = false
		b = append(b, c)
	}
	return string(b)
}

// foldRunes composes the text and replaces typographic variants by plain forms.
func foldRunes(s string) string {
	ascii := true
	for i := 0; i < len(s); i++ {
		if s[i] >= utf8.RuneSelf {
			ascii = false
			break
		}
	}
	if ascii {
		return s
	}
	if !norm.NFC.IsNormalString(s) {
		s = norm.NFC.String(s)
	}
	var b strings.Builder
	for i, r := range s {
		plain, ok := plainRune(r)
		switch {
		case ok:
			b.WriteString(plain)
		case r == utf8.RuneError:
			_, n := utf8.DecodeRuneInString(s[i:]) // invalid bytes stay what they are
			b.WriteString(s[i : i+n])
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// plainRune returns the plain form of a typographic variant.
func plainRune(r rune) (string, bool) {
	switch r {
	case '\u2018', '\u2019', '\u201a', '\u201b', '\u2032', '\u2039', '\u203a', '\u00b4', '\u02bc', '\uff07':
		return "'", true
	case '\u201c', '\u201d', '\u201e', '\u201f', '\u2033', '\u00ab', '\u00bb', '\uff02':
		return `"`, true
	case '\u2010', '\u2011', '\u2012', '\u2013', '\u2014', '\u2015', '\u2212', '\ufe58', '\ufe63', '\uff0d':
		return "-", true
	case '\u2026':
		return "...", true
	case '\u00ad', '\u200b', '\u200c', '\u200d', '\u2060', '\ufeff':
		return "", true
	case '\u2028', '\u2029', '\u0085':
		return " ", true
	}
	if r > unicode.MaxASCII && unicode.Is(unicode.Zs, r) {
		return " ", true
	}
	return "", false
}

// isTypographic reports whether folding changes the rune.
func isTypographic(r rune) bool {
	_, ok := plainRune(r)
	return ok
}

// indentOf returns the leading blanks of a line.
func indentOf(line string) string {
	for i := 0; i < len(line); i++ {
		if line[i] != ' ' && line[i] != '\t' {
			return line[:i]
		}
	}
	return line
}
