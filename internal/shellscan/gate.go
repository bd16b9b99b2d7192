package shellscan

import (
	"unicode"
	"unicode/utf8"
)

// gate decides on the raw bytes whether a text may be parsed at all, and says why not. The parser is recursive and cannot be
// stopped, and some characters make a text read differently than it runs.
func gate(text string) string {
	if len(text) > maxText {
		return "the text is longer than 64 KiB"
	}
	depth, hash, last := 0, false, byte(0)
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c == '(' || c == '{' || c == '[':
			if depth++; depth > maxBrackets {
				return "brackets are nested more than 200 deep"
			}
		case c == ')' || c == '}' || c == ']':
			depth = max(0, depth-1)
		case c == '#':
			hash = true
		case c == '\n':
			if hash && last == '\\' {
				return "a line with # ends in a backslash, which shells read in different ways"
			}
			hash = false
		case c == '\r':
			return "a carriage return, which shells do not take as the end of a line"
		case c < ' ' && c != '\t' || c == 0x7f:
			return "a control character"
		case c >= 0x80:
			r, size := utf8.DecodeRuneInString(text[i:])
			if r == utf8.RuneError && size <= 1 {
				return "bytes that are not UTF-8"
			}
			if why := badRune(r); why != "" {
				return why
			}
			i += size - 1
		}
		last = c
	}
	if hash && last == '\\' {
		return "a line with # ends in a backslash, which shells read in different ways"
	}
	return ""
}

func badRune(r rune) string {
	switch {
	case r < 0xa0:
		return "a control character"
	case unicode.Is(unicode.Cf, r), 0xe0000 <= r && r <= 0xe0fff:
		return "an invisible or direction-changing character"
	case unicode.In(r, unicode.Z), r == 0x115f, r == 0x1160, r == 0x2800, r == 0x3164, r == 0xffa0:
		return "a blank that is not a plain space"
	case 0xfdd0 <= r && r <= 0xfdef, r&0xfffe == 0xfffe:
		return "a character that Unicode reserves"
	}
	return ""
}
