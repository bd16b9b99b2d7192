package permission

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	maxBlanks   = 20 // in a row, before a count stands for them
	maxNewlines = 3  // in a row, likewise
	maxMarks    = 4  // combining marks in a row, before they are escaped
	tabWidth    = 8  // what a tab counts for, unless it indents
)

// Visible returns s with everything made readable that could make it look like
// something else, for a terminal or any other user interface:
//
//   - control, format, bidi, private-use, unassigned and invisible characters,
//     and blanks other than the space, become escapes such as \u{202e}
//   - bytes that are not UTF-8 become escapes such as \xff
//   - combining marks beyond 4 in a row become escapes
//   - more than 20 blanks in a row become a count, [35 blanks], and more than 3
//     newlines [12 newlines], so that nothing can be pushed out of sight
//
// Newlines and tabs stay; no other control character does, so that no escape
// sequence reaches a terminal. A text that spells out \u{202e} itself looks the
// same as the escape: what Visible returns is for reading only.
func Visible(s string) string { return visible(s, false) }

// VisibleLine is [Visible] for what has to fit in one line: newlines and tabs become escapes too.
func VisibleLine(s string) string { return visible(s, true) }

func visible(s string, line bool) string {
	if plain(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s) + len(s)/4 + 16)
	marks := 0
	indent := true // nothing but blanks so far in this line
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case r == ' ', r == '\t' && !line:
			size = blanks(&b, s[i:], indent, line)
			marks = 0
			i += size
			continue
		case r == '\n' && !line:
			size = newlines(&b, s[i:])
			marks, indent = 0, true
			i += size
			continue
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case hidden(r) || unicode.Is(unicode.M, r) && marks >= maxMarks:
			fmt.Fprintf(&b, `\u{%x}`, r)
		default:
			b.WriteString(s[i : i+size])
		}
		if unicode.Is(unicode.M, r) {
			marks++
		} else {
			marks = 0
		}
		indent = false
		i += size
	}
	return b.String()
}

// plain reports whether s is printable ASCII with no two blanks in a row, and so stays as it is.
func plain(s string) bool {
	for i := range len(s) {
		c := s[i]
		switch {
		case c == ' ':
			if i > 0 && s[i-1] == ' ' {
				return false
			}
		case c < ' ' || c >= 0x7f:
			return false
		}
	}
	return true
}

// blanks writes the run of blanks that s begins with, or its length, and returns
// its size. A tab that indents counts as one blank, so that code keeps its shape;
// elsewhere it counts as wide as it can be.
func blanks(b *strings.Builder, s string, indent, line bool) int {
	n, width := 0, 0
	for n < len(s) && (s[n] == ' ' || s[n] == '\t' && !line) {
		if s[n] == '\t' && !indent {
			width += tabWidth
		} else {
			width++
		}
		n++
	}
	if width > maxBlanks {
		fmt.Fprintf(b, "[%d blanks]", n)
	} else {
		b.WriteString(s[:n])
	}
	return n
}

// newlines does the same for newlines, with blanks between them, as lines of
// blanks push text out of sight just as well.
func newlines(b *strings.Builder, s string) int {
	n, lines, end := 0, 0, 0
	for n < len(s) && strings.IndexByte(" \t\n", s[n]) >= 0 {
		if s[n] == '\n' {
			lines++
			end = n + 1
		}
		n++
	}
	if lines > maxNewlines {
		fmt.Fprintf(b, "\n[%d newlines]\n", lines)
		return end
	}
	b.WriteByte('\n')
	return 1
}

// hidden reports whether a reader cannot see r for what it is.
func hidden(r rune) bool {
	if r < utf8.RuneSelf {
		return r < ' ' || r == 0x7f
	}
	return !unicode.IsPrint(r) ||
		unicode.Is(unicode.Variation_Selector, r) ||
		unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r) ||
		r == '\u2800' || // a braille cell with no dots
		r == '\U0001D159' // a note without a head
}

// Flags names what is suspicious in a text that [Visible] makes readable but not
// obvious, for the prompt: hidden characters, letters of several scripts in one
// word, as in "pаypal" with a Cyrillic а, and letters that are written from right to left.
// The result is nil if there is nothing. Words are quoted in display form, at most five.
func Flags(s string) []string {
	if ascii(s) {
		return nil
	}
	var flags []string
	invisible, rtl := 0, false
	for i, r := range s {
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(s[i:], "\uFFFD"), r != '\n' && r != '\t' && hidden(r):
			invisible++
		case unicode.In(r, unicode.Hebrew, unicode.Arabic, unicode.Syriac, unicode.Thaana, unicode.Nko):
			rtl = true
		}
	}
	if invisible > 0 {
		flags = append(flags, fmt.Sprintf("holds characters that cannot be seen: %d", invisible))
	}
	for _, w := range MixedScript(s) {
		if len(flags) == 5 {
			break
		}
		flags = append(flags, fmt.Sprintf("the word %s mixes letters of several scripts", quote(w)))
	}
	if rtl {
		flags = append(flags, "holds letters written from right to left, so parts may appear in another order")
	}
	return flags
}

func ascii(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf || s[i] < ' ' && s[i] != '\n' && s[i] != '\t' || s[i] == 0x7f {
			return false
		}
	}
	return true
}

// lookalikes are the scripts with letters that look like Latin ones.
var lookalikes = []*unicode.RangeTable{unicode.Cyrillic, unicode.Greek, unicode.Armenian, unicode.Cherokee, unicode.Coptic}

// MixedScript returns the words of s that have letters of more than one of the
// scripts whose letters look alike: Latin, Cyrillic, Greek, Armenian, Cherokee and
// Coptic. Words end at whatever is no letter, digit or mark, so that the parts of
// a path or a host name count separately. Each word is there once, in order.
func MixedScript(s string) []string {
	var out []string
	words := strings.FieldsFuncSeq(s, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r)
	})
	for w := range words {
		if mixed(w) && !slices.Contains(out, w) {
			out = append(out, w)
		}
	}
	return out
}

func mixed(word string) bool {
	found := -1
	for _, r := range word {
		script := -1
		if unicode.Is(unicode.Latin, r) {
			script = len(lookalikes)
		} else {
			script = slices.IndexFunc(lookalikes, func(t *unicode.RangeTable) bool { return unicode.Is(t, r) })
		}
		if script < 0 {
			continue
		}
		if found >= 0 && found != script {
			return true
		}
		found = script
	}
	return false
}
