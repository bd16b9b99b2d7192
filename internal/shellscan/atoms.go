package shellscan

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// An atom is a character of a word with what quoting left of its meaning.
type atom struct {
	r rune
	k atomKind
}

type atomKind uint8

const (
	plain    atomKind = iota // not quoted: may be a brace, a tilde or a glob character
	quoted                   // stands for itself
	globbed                  // a glob character that came out of a variable which holds file names
	unknown                  // some text
	unknowns                 // some words, or none
	splits                   // no character: what is before it may be split into words
	null                     // no character: an empty string in quotes, which is a word
	listed                   // no character: the globbed characters stand for names that a command printed
)

type atoms []atom

func (a atoms) text(k atomKind, s string) atoms {
	for _, r := range s {
		a = append(a, atomOf(r, k))
	}
	return a
}

// atomOf makes an atom. A text that was put together has what is not known in it.
func atomOf(r rune, k atomKind) atom {
	switch r {
	case Unknown:
		k = unknown
	case UnknownWords:
		k = unknowns
	}
	return atom{r, k}
}

// quotedText appends text that was quoted.
func (a atoms) quotedText(s string) atoms {
	if s == "" {
		return append(a, atom{0, null})
	}
	return a.text(quoted, s)
}

// word turns atoms that need no further expansion into a Word.
func (a atoms) word() Word {
	var w Word
	for i, at := range a {
		switch {
		case at.k == unknown:
			w.Dynamic = true
		case at.k == unknowns:
			w.Dynamic, w.Multi = true, true
		case at.k == splits:
			w.Multi = true
		case at.k == listed:
			w.listed = true
		case at.k == globbed, at.k == plain && isGlob(a, i):
			w.Glob = true
		}
	}
	var b, pat strings.Builder
	last := rune(0)
	for i, at := range a {
		switch at.k {
		case unknown, unknowns:
			if last != Unknown && last != UnknownWords {
				r := Unknown
				if at.k == unknowns {
					r = UnknownWords
				}
				b.WriteRune(r)
				pat.WriteByte('*')
				last = r
			}
			continue
		case splits, listed, null:
			continue
		}
		last = at.r
		b.WriteRune(at.r)
		if w.Glob {
			if strings.ContainsRune(`*?[\`, at.r) && at.k != globbed && (at.k == quoted || !isGlob(a, i)) {
				pat.WriteByte('\\')
			}
			pat.WriteRune(at.r)
		}
	}
	w.Text = b.String()
	if w.Glob {
		w.pat = pat.String()
	}
	return w
}

func isGlob(a atoms, i int) bool {
	if a[i].k != plain {
		return false
	}
	switch a[i].r {
	case '*', '?':
		return true
	case '[':
		for _, at := range a[i+1:] {
			if at.k == plain && at.r == ']' {
				return true
			}
		}
	}
	return false
}

func constant(s string) Word { return Word{Text: s} }

func dynamic() Word { return Word{Text: string(Unknown), Dynamic: true} }

func dynamicWords() Word { return Word{Text: string(UnknownWords), Dynamic: true, Multi: true} }

// known reports whether the word is exactly its Text.
func (w *Word) known() bool { return !w.Dynamic && !w.Glob && !w.Multi }

// start returns the constant beginning of the word.
func (w *Word) start() string {
	i := strings.IndexFunc(w.Text, func(r rune) bool { return r == Unknown || r == UnknownWords })
	s := w.Text
	if i >= 0 {
		s = s[:i]
	}
	if w.Glob {
		if i := strings.IndexAny(s, "*?["); i >= 0 {
			s = s[:i]
		}
	}
	return s
}

// unescape removes backslashes from unquoted text.
func (a atoms) unquoted(s string) atoms {
	for i := 0; i < len(s); {
		if s[i] == '\\' && i+1 < len(s) {
			r, n := utf8.DecodeRuneInString(s[i+1:])
			i += 1 + n
			if r != '\n' {
				a = append(a, atom{r, quoted})
			}
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		a = append(a, atomOf(r, plain))
		i += n
	}
	return a
}

// doubleQuoted removes the backslashes that mean something between double quotes; in a here-document \" does not.
func (a atoms) doubleQuoted(s, special string) atoms {
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == '\\' && i+1 < len(s) && strings.IndexByte(special, s[i+1]) >= 0 {
			if s[i+1] != '\n' {
				a = append(a, atom{rune(s[i+1]), quoted})
			}
			i += 2
			continue
		}
		a = append(a, atomOf(r, quoted))
		i += n
	}
	return a
}

const (
	dquoteSpecial  = "$`\"\\\n"
	heredocSpecial = "$`\\\n"
)

// ansiC decodes the inside of $'…'. It reports false for bytes that do not form UTF-8 text.
func ansiC(s string) (string, bool) {
	var b []byte
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b = append(b, s[i])
			continue
		}
		i++
		digits := func(from, max, base int) (int64, int) {
			n := 0
			for n < max && from+n < len(s) && digit(s[from+n]) < base {
				n++
			}
			v, err := strconv.ParseInt(s[from:from+n], base, 64)
			if err != nil {
				v = 0
			}
			return v, n
		}
		var c byte
		switch s[i] {
		case 'n':
			c = '\n'
		case 't':
			c = '\t'
		case 'r':
			c = '\r'
		case 'a':
			c = 7
		case 'b':
			c = 8
		case 'e', 'E':
			c = 27
		case 'f':
			c = 12
		case 'v':
			c = 11
		case '\\', '\'', '"', '?':
			c = s[i]
		case '0', '1', '2', '3', '4', '5', '6', '7':
			v, n := digits(i, 3, 8)
			i += n - 1
			c = byte(v)
		case 'x':
			if i+1 < len(s) && s[i+1] == '{' {
				return "", false // bash has a form of its own for it
			}
			v, n := digits(i+1, 2, 16)
			if n == 0 {
				b = append(b, '\\', 'x')
				continue
			}
			i += n
			c = byte(v)
		case 'u', 'U':
			width := 4
			if s[i] == 'U' {
				width = 8
			}
			v, n := digits(i+1, width, 16)
			if n == 0 {
				b = append(b, '\\', s[i])
				continue
			}
			i += n
			if v == 0 {
				return string(b), utf8.Valid(b)
			}
			if v > 0x7f {
				return "", false // depends on the locale
			}
			c = byte(v)
		case 'c':
			if i+1 == len(s) {
				b = append(b, '\\', 'c')
				continue
			}
			i++
			if s[i] == '\\' || s[i] == '?' || s[i] >= 0x80 {
				return "", false
			}
			c = s[i] & 0x1f
		default:
			b = append(b, '\\', s[i])
			continue
		}
		if c == 0 { // ends the string
			return string(b), utf8.Valid(b)
		}
		b = append(b, c)
	}
	return string(b), utf8.Valid(b)
}

func digit(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c && c <= 'f':
		return int(c-'a') + 10
	case 'A' <= c && c <= 'F':
		return int(c-'A') + 10
	}
	return 99
}
