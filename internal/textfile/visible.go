package textfile

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Visible returns s with everything that would not show, or would change how the rest shows, written as an escape: control
// characters except tab and newline (\x1b, \r), bytes that are no UTF-8 (\xff), the characters that reorder or hide text
// (\u202e, \u200b), line separators. n counts the escapes. The joiners that emoji and many scripts need stay as they are. The
// result is for reading; the file still has the real characters.
func Visible(s string) (visible string, n int) {
	i := 0
	for i < len(s) && (s[i] >= 0x20 && s[i] < 0x7f || s[i] == '\t' || s[i] == '\n') {
		i++
	}
	if i == len(s) {
		return s, 0
	}
	var b strings.Builder
	b.Grow(len(s) + 16)
	b.WriteString(s[:i])
	for i < len(s) {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
			n++
		case r == '\r':
			b.WriteString(`\r`)
			n++
		case r < 0x20 && r != '\t' && r != '\n' || r == 0x7f:
			fmt.Fprintf(&b, `\x%02x`, r)
			n++
		case hidden(r) && r > 0xffff:
			fmt.Fprintf(&b, `\U%08x`, r)
			n++
		case hidden(r):
			fmt.Fprintf(&b, `\u%04x`, r)
			n++
		default:
			b.WriteString(s[i : i+size])
		}
		i += size
	}
	return b.String(), n
}

// hidden reports whether a rune beyond ASCII is invisible or moves the text around it. U+200C and U+200D are left out.
func hidden(r rune) bool {
	switch {
	case r < 0x80:
		return false
	case r < 0xa0, r == 0xad, r == 0x061c, r == 0x180e, r == 0xfeff:
		return true
	case 0x200b <= r && r <= 0x200f:
		return r != 0x200c && r != 0x200d
	case 0x2028 <= r && r <= 0x202e, 0x2060 <= r && r <= 0x206f, 0xfff9 <= r && r <= 0xfffb:
		return true
	}
	return 0xe0000 <= r && r <= 0xe0fff
}
