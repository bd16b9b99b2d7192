// Package glob matches slash-separated paths against patterns as people write
// them: "*" and "?" within a name, "**" across directories, classes "[a-z]",
// "[!a-z]" and "[[:alpha:]]", alternatives "{a,b}" that may nest and may hold slashes.
//
// Alternatives are counted before they are expanded, and no pattern takes more
// than time proportional to its length times that of the path. A name that
// equals its part of the pattern literally matches too, so that
// "app/[id]/page.tsx" finds the file of that name.
package glob

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits on patterns.
const (
	MaxLen          = 4 << 10
	MaxAlternatives = 256
)

// ErrPattern is what every Error is, for errors.Is.
var ErrPattern = errors.New("invalid glob")

// An Error says what is wrong with a pattern, and where.
type Error struct {
	Pattern string
	Offset  int // in bytes
	Reason  string
}

func (e *Error) Error() string {
	p := e.Pattern
	if len(p) > 80 {
		p = strings.ToValidUTF8(p[:80], "") + "…"
	}
	return fmt.Sprintf("invalid glob %q at offset %d: %s", p, e.Offset, e.Reason)
}

func (e *Error) Unwrap() error { return ErrPattern }

// A Pattern is a compiled glob. It is immutable.
type Pattern struct {
	alts    [][]segment
	negated bool
	dirs    bool // ended in a slash
	fold    bool
}

// Options change how a pattern is read. The zero value is for a path below the
// search root.
type Options struct {
	// Fold ignores case.
	Fold bool
	// Anchored makes a pattern without a slash match at the top only. Otherwise it
	// matches at any depth.
	Anchored bool
	// Separator is a second path separator, '\\' on Windows. 0 means none: the
	// backslash then makes the next character literal, unless the pattern is
	// evidently a Windows path.
	Separator byte
}

type segKind uint8

const (
	segNames  segKind = iota // wildcards
	segPlain                 // literal text
	segDouble                // "**"
)

type segment struct {
	kind segKind
	raw  string // as written; a name that equals it matches
	text string // segPlain
	toks []token
	ext  string // a literal end that every match has
}

type tokKind uint8

const (
	tokRune tokKind = iota
	tokAny
	tokStar
	tokClass
)

type token struct {
	kind    tokKind
	r       rune
	negated bool
	class   []rune // pairs
}

// Compile reads a pattern. Leading "./" and "/" mean the top of the search, a
// leading "!" everything but, a trailing "/" directories only. The parent
// directory ".." is refused. Every error is an *Error.
func Compile(pattern string, o Options) (*Pattern, error) {
	fail := func(at int, reason string) (*Pattern, error) {
		return nil, &Error{pattern, at, reason}
	}
	if len(pattern) > MaxLen {
		return fail(MaxLen, fmt.Sprintf("longer than %d bytes", MaxLen))
	}
	if i := strings.IndexByte(pattern, 0); i >= 0 {
		return fail(i, "holds a NUL byte")
	}
	p := &Pattern{fold: o.Fold}
	s := pattern
	if o.Separator != 0 {
		s = strings.ReplaceAll(s, string(o.Separator), "/")
	} else if windowsPath(s) {
		s = strings.ReplaceAll(s, `\`, "/")
	}
	if rest, ok := strings.CutPrefix(s, "!"); ok {
		p.negated, s = true, rest
	}
	anchored := o.Anchored
	for {
		if rest, ok := strings.CutPrefix(s, "./"); ok {
			s, anchored = rest, true
		} else if rest, ok := strings.CutPrefix(s, "/"); ok {
			s, anchored = rest, true
		} else {
			break
		}
	}
	if rest := strings.TrimRight(s, "/"); rest != s && !strings.HasSuffix(rest, `\`) {
		s, p.dirs = rest, true
	}
	if s == "" || s == "." {
		return fail(0, "empty; use ** for everything")
	}
	shift := strings.Index(strings.ReplaceAll(pattern, `\`, "/"), strings.ReplaceAll(s, `\`, "/")) // s is a substring
	n, at, reason := count(s)
	if reason != "" {
		return fail(shift+at, reason)
	}
	if n > MaxAlternatives {
		return fail(shift, fmt.Sprintf("the alternatives in braces multiply to more than %d; search in several steps", MaxAlternatives))
	}
	for _, alt := range expand(s) {
		segs, at, reason := parse(alt, o.Fold)
		if reason != "" {
			if i := strings.Index(s, alt[at:min(at+1, len(alt))]); n > 1 && i >= 0 {
				at = i
			}
			return fail(shift+at, reason)
		}
		if len(segs) == 0 {
			continue
		}
		if !strings.Contains(alt, "/") && !anchored && segs[0].kind != segDouble {
			segs = append([]segment{{kind: segDouble, raw: "**"}}, segs...)
		}
		p.alts = append(p.alts, segs)
	}
	if len(p.alts) == 0 {
		return fail(0, "empty; use ** for everything")
	}
	return p, nil
}

// windowsPath reports whether the backslashes of s separate directories: there
// is no slash, and one of them stands where it would escape nothing.
func windowsPath(s string) bool {
	if strings.Contains(s, "/") {
		return false
	}
	for i := 0; i+1 < len(s); i++ {
		if s[i] == '\\' {
			if !strings.ContainsRune(`*?[]{}!,\-`, rune(s[i+1])) {
				return true
			}
			if s[i+1] == '\\' {
				i++
			}
		}
	}
	return false
}

// skip returns the end of the class or escape that begins at s[i], or i+1.
func skip(s string, i int) int {
	switch s[i] {
	case '\\':
		return min(i+2, len(s))
	case '[':
		if n := classLen(s[i:]); n > 0 {
			return i + n
		}
	}
	return i + 1
}

// classLen is the length of the class at the start of s, 0 if it is not closed.
func classLen(s string) int {
	i := 1
	if i < len(s) && (s[i] == '!' || s[i] == '^') {
		i++
	}
	for first := true; i < len(s); first = false {
		switch {
		case s[i] == '/':
			return 0
		case s[i] == '\\':
			i++
		case s[i] == ']' && !first:
			return i + 1
		case s[i] == '[':
			i += namedLen(s[i:])
			continue
		}
		i++
	}
	return 0
}

// namedLen is the length of a class such as "[:alpha:]" at the start of s, or 1.
func namedLen(s string) int {
	if !strings.HasPrefix(s, "[:") {
		return 1
	}
	if end := strings.Index(s, ":]"); end > 1 && strings.Trim(s[2:end], "abcdefghijklmnopqrstuvwxyz^") == "" {
		return end + 2
	}
	return 1
}

const namedList = "there are alnum alpha ascii blank cntrl digit graph lower print punct space upper word xdigit"

// named are the classes that have a name, ASCII as in regular expressions.
var named = map[string]string{
	"alnum": "09AZaz", "alpha": "AZaz", "ascii": "\x00\x7f", "blank": "\t\t  ", "cntrl": "\x00\x1f\x7f\x7f", "digit": "09",
	"graph": "!~", "lower": "az", "print": " ~", "punct": "!/:@[`{~", "space": "\t\r  ", "upper": "AZ", "word": "09AZ__az", "xdigit": "09AFaf",
}

// count returns the number of alternatives of s, at most MaxAlternatives+1, or
// where a brace has no partner.
func count(s string) (n, at int, reason string) {
	type level struct{ open, sum, product int }
	stack := []level{{-1, 0, 1}}
	limit := func(x int) int { return min(x, MaxAlternatives+1) }
	for i := 0; i < len(s); i = skip(s, i) {
		top := &stack[len(stack)-1]
		switch s[i] {
		case '{':
			stack = append(stack, level{i, 0, 1})
		case ',':
			if top.open >= 0 {
				top.sum, top.product = limit(top.sum+top.product), 1
			}
		case '}':
			if top.open < 0 {
				return 0, i, `"}" without "{"; write [}] for the character itself`
			}
			sum := limit(top.sum + top.product)
			stack = stack[:len(stack)-1]
			top = &stack[len(stack)-1]
			top.product = limit(top.product * sum)
		}
	}
	if top := stack[len(stack)-1]; top.open >= 0 {
		return 0, top.open, `"{" is not closed; write [{] for the character itself`
	}
	return stack[0].product, 0, ""
}

// expand returns the alternatives of s, whose braces are balanced.
func expand(s string) []string {
	open := -1
	for i := 0; i < len(s); i = skip(s, i) {
		if s[i] == '{' {
			open = i
			break
		}
	}
	if open < 0 {
		return []string{s}
	}
	var parts []string
	depth, from, end := 0, open+1, len(s)
loop:
	for i := open; i < len(s); i = skip(s, i) {
		switch s[i] {
		case '{':
			depth++
		case ',':
			if depth == 1 {
				parts = append(parts, s[from:i])
				from = i + 1
			}
		case '}':
			if depth--; depth == 0 {
				parts = append(parts, s[from:i])
				end = i + 1
				break loop
			}
		}
	}
	var out []string
	tails := expand(s[end:])
	for _, part := range parts {
		for _, mid := range expand(part) {
			for _, tail := range tails {
				out = append(out, s[:open]+mid+tail)
			}
		}
	}
	return out
}

// parse reads a pattern without alternatives.
func parse(s string, fold bool) (segs []segment, at int, reason string) {
	pos := 0
	for _, part := range strings.Split(s, "/") {
		switch part {
		case "", ".":
		case "..":
			return nil, pos, `".." would leave the search root; set the path instead`
		case "**":
			if len(segs) == 0 || segs[len(segs)-1].kind != segDouble {
				segs = append(segs, segment{kind: segDouble, raw: part})
			}
		default:
			seg, i, reason := parseName(part, fold)
			if reason != "" {
				return nil, pos + i, reason
			}
			if seg.text == ".." {
				return nil, pos, `".." would leave the search root; set the path instead`
			}
			segs = append(segs, seg)
		}
		pos += len(part) + 1
	}
	return segs, 0, ""
}

func parseName(s string, fold bool) (seg segment, at int, reason string) {
	seg = segment{raw: s, kind: segPlain}
	var plain strings.Builder
	for i := 0; i < len(s); {
		switch s[i] {
		case '*':
			if len(seg.toks) == 0 || seg.toks[len(seg.toks)-1].kind != tokStar {
				seg.toks = append(seg.toks, token{kind: tokStar})
			}
			seg.kind = segNames
			i++
			continue
		case '?':
			seg.toks = append(seg.toks, token{kind: tokAny})
			seg.kind = segNames
			i++
			continue
		case '[':
			n := classLen(s[i:])
			if n == 0 {
				return seg, i, `"[" is not closed; write \[ for the character itself`
			}
			t, reason := parseClass(s[i : i+n])
			if reason != "" {
				return seg, i, reason
			}
			seg.toks = append(seg.toks, t)
			seg.kind = segNames
			i += n
			continue
		case '\\':
			if i+1 == len(s) {
				return seg, i, "ends in a backslash"
			}
			i++
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		seg.toks = append(seg.toks, token{r: r})
		plain.WriteString(s[i : i+n])
		i += n
	}
	if seg.kind == segPlain {
		seg.text = plain.String()
		seg.raw = seg.text
		return seg, 0, ""
	}
	i := len(seg.toks)
	for i > 0 && seg.toks[i-1].kind == tokRune && seg.toks[i-1].r < utf8.RuneSelf {
		i--
	}
	if !fold {
		for _, t := range seg.toks[i:] {
			seg.ext += string(t.r)
		}
	}
	return seg, 0, ""
}

func parseClass(s string) (token, string) {
	t := token{kind: tokClass}
	in := s[1 : len(s)-1]
	if in[0] == '!' || in[0] == '^' {
		t.negated, in = true, in[1:]
	}
	next := func() rune {
		if in[0] == '\\' && len(in) > 1 {
			in = in[1:]
		}
		r, n := utf8.DecodeRuneInString(in)
		in = in[n:]
		return r
	}
	for in != "" {
		if n := namedLen(in); n > 1 {
			class, ok := named[in[2:n-2]]
			if !ok {
				return t, fmt.Sprintf("there is no class %s; %s", in[:n], namedList)
			}
			t.class, in = append(t.class, []rune(class)...), in[n:]
			continue
		}
		lo := next()
		hi := lo
		if len(in) > 1 && in[0] == '-' {
			in = in[1:]
			if hi = next(); hi < lo {
				return t, fmt.Sprintf("the range %c-%c is backwards", lo, hi)
			}
		}
		t.class = append(t.class, lo, hi)
	}
	return t, ""
}

func equalFold(a, b rune) bool {
	if a == b {
		return true
	}
	return unicode.ToLower(a) == unicode.ToLower(b)
}

// Quote returns a pattern that matches the path s and nothing else.
func Quote(s string) string {
	var b strings.Builder
	for _, c := range []byte(s) {
		if strings.IndexByte(`*?[]{}\!`, c) >= 0 {
			b.WriteByte('[')
			if c == '!' || c == '\\' || c == '^' {
				b.WriteByte('\\')
			}
			b.WriteByte(c)
			b.WriteByte(']')
			continue
		}
		b.WriteByte(c)
	}
	return b.String()
}
