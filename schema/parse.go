package schema

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// maxInputDepth bounds how deep input may nest. No arguments of a tool come
// near it, and checking against a recursive schema takes stack for every level.
const maxInputDepth = 1000

// syntaxError says why a text is not JSON.
type syntaxError struct {
	msg string
	off int
	cut bool // the text is the beginning of JSON
	big bool // the text is over a limit
}

func (e *syntaxError) Error() string {
	if e.cut {
		return fmt.Sprintf("JSON ends too early, after %d bytes", e.off)
	}
	if e.big {
		return "JSON " + e.msg
	}
	return fmt.Sprintf("invalid JSON at byte %d: %s", e.off+1, e.msg)
}

// parse reads exactly one JSON value. Of several members with one key the last
// wins, as in encoding/json; invalid UTF-8 and lone surrogates become U+FFFD.
// Both kinds of damage clear raw, so that they are not passed on.
func parse(src []byte) (*value, error) { return parseLimited(string(src), maxInputDepth, 0) }

// parseLimited is parse with a limit on depth and on the number of values (0: none).
func parseLimited(src string, maxDepth, maxValues int) (*value, error) {
	p := parser{src: src, depth: maxDepth, limit: maxValues}
	p.blank()
	if p.pos == len(p.src) {
		return nil, p.cut()
	}
	v, err := p.value()
	if err != nil {
		return nil, err
	}
	p.blank()
	if p.pos < len(p.src) {
		return nil, p.fail("%q after the end of the value", clip(p.src[p.pos:], 40))
	}
	return v, nil
}

// parseText is parse for text that is known to be JSON.
func parseText(s string) *value {
	v, err := parseLimited(s, maxInputDepth, 0)
	if err != nil {
		panic(err)
	}
	return v
}

type parser struct {
	src   string
	pos   int
	depth int // levels left
	limit int // values allowed, 0 = any number
	count int
	arena []value // values come in blocks: one allocation for many
}

func (p *parser) fail(format string, args ...any) error {
	return &syntaxError{msg: fmt.Sprintf(format, args...), off: p.pos}
}

func (p *parser) over(format string, args ...any) error {
	return &syntaxError{msg: fmt.Sprintf(format, args...), off: p.pos, big: true}
}

func (p *parser) cut() error { return &syntaxError{off: len(p.src), cut: true} }

func (p *parser) new(k kind) *value {
	if len(p.arena) == 0 {
		p.arena = make([]value, min(max(p.count, 6), 128))
	}
	v := &p.arena[0]
	p.arena = p.arena[1:]
	v.kind = k
	p.count++
	return v
}

func (p *parser) blank() {
	for p.pos < len(p.src) {
		switch p.src[p.pos] {
		case ' ', '\t', '\n', '\r':
			p.pos++
		default:
			return
		}
	}
}

func (p *parser) value() (*value, error) {
	if p.limit > 0 && p.count >= p.limit {
		return nil, p.over("has more than %d values", p.limit)
	}
	start := p.pos
	switch c := p.src[p.pos]; {
	case c == '{':
		return p.nested(p.object)
	case c == '[':
		return p.nested(p.array)
	case c == '"':
		s, clean, err := p.string()
		if err != nil {
			return nil, err
		}
		v := p.new(kString)
		v.text = s
		if clean {
			v.raw = p.src[start:p.pos]
		}
		return v, nil
	case c == '-' || '0' <= c && c <= '9':
		end := scanNumber(p.src, p.pos)
		if end > len(p.src) {
			return nil, p.cut()
		}
		if end < 0 {
			return nil, p.fail("not a number")
		}
		p.pos = end
		v := p.new(kNumber)
		v.text = p.src[start:end]
		v.raw = v.text
		return v, nil
	case c == 't':
		return p.literal("true", kBool)
	case c == 'f':
		return p.literal("false", kBool)
	case c == 'n':
		return p.literal("null", kNull)
	}
	return nil, p.fail("unexpected %s", p.next())
}

// next names the character at the current position.
func (p *parser) next() string {
	r, _ := utf8.DecodeRuneInString(p.src[p.pos:])
	return fmt.Sprintf("%q", r)
}

func (p *parser) literal(word string, k kind) (*value, error) {
	rest := p.src[p.pos:]
	if !strings.HasPrefix(rest, word) {
		if strings.HasPrefix(word, rest) {
			return nil, p.cut()
		}
		return nil, p.fail("unexpected %s", p.next())
	}
	p.pos += len(word)
	v := p.new(k)
	v.text, v.raw = word, word
	return v, nil
}

func (p *parser) nested(f func(*value) error) (*value, error) {
	if p.depth == 0 {
		return nil, p.over("nests too deep")
	}
	p.depth--
	start := p.pos
	p.pos++
	v := p.new(kArray)
	v.raw = "?" // cleared by f if a part of it has to be written anew
	if err := f(v); err != nil {
		return nil, err
	}
	if v.raw != "" {
		v.raw = p.src[start:p.pos]
	}
	p.depth++
	return v, nil
}

// separator moves over a comma, or the closing bracket, after an item.
func (p *parser) separator(closing byte) (done bool, err error) {
	p.blank()
	switch {
	case p.pos == len(p.src):
		return false, p.cut()
	case p.src[p.pos] == closing:
		p.pos++
		return true, nil
	case p.src[p.pos] != ',':
		return false, p.fail("unexpected %s, want ',' or '%c'", p.next(), closing)
	}
	p.pos++
	p.blank()
	if p.pos == len(p.src) {
		return false, p.cut()
	}
	return false, nil
}

// opened moves to the first item, and reports whether there is none.
func (p *parser) opened(closing byte) (empty bool, err error) {
	p.blank()
	if p.pos == len(p.src) {
		return false, p.cut()
	}
	if p.src[p.pos] == closing {
		p.pos++
		return true, nil
	}
	return false, nil
}

func (p *parser) array(v *value) error {
	done, err := p.opened(']')
	for !done && err == nil {
		var e *value
		if e, err = p.value(); err != nil {
			return err
		}
		if e.raw == "" {
			v.raw = ""
		}
		v.items = append(v.items, e)
		done, err = p.separator(']')
	}
	return err
}

func (p *parser) object(v *value) error {
	v.kind = kObject
	var index map[string]int // once there are many members
	done, err := p.opened('}')
	for !done && err == nil {
		if p.src[p.pos] != '"' {
			return p.fail("unexpected %s, want a key in double quotes", p.next())
		}
		key, clean, err := p.string()
		if err != nil {
			return err
		}
		p.blank()
		if p.pos == len(p.src) {
			return p.cut()
		}
		if p.src[p.pos] != ':' {
			return p.fail("unexpected %s, want ':'", p.next())
		}
		p.pos++
		p.blank()
		if p.pos == len(p.src) {
			return p.cut()
		}
		e, err := p.value()
		if err != nil {
			return err
		}
		at := -1
		if index != nil {
			if i, ok := index[key]; ok {
				at = i
			}
		} else {
			at = v.find(key)
		}
		if e.raw == "" || !clean || at >= 0 {
			v.raw = ""
		}
		if at >= 0 {
			v.members[at].val = e
		} else {
			if v.members == nil {
				v.members = make([]member, 0, 4)
			}
			v.members = append(v.members, member{key: key, val: e})
			if index != nil {
				index[key] = len(v.members) - 1
			} else if len(v.members) == 16 {
				index = make(map[string]int, 64)
				for i, m := range v.members {
					index[m.key] = i
				}
			}
		}
		if done, err = p.separator('}'); err != nil {
			return err
		}
	}
	return err
}

// string reads a string. It is clean if its source is valid UTF-8.
func (p *parser) string() (s string, clean bool, err error) {
	p.pos++
	start := p.pos
	plain, ascii := true, true
	for ; p.pos < len(p.src); p.pos++ {
		switch c := p.src[p.pos]; {
		case c == '"':
			body := p.src[start:p.pos]
			p.pos++
			clean = ascii || utf8.ValidString(body)
			if plain && clean {
				return body, true, nil
			}
			return unescape(body), clean, nil
		case c == '\\':
			plain = false
			p.pos++
			if p.pos == len(p.src) {
				return "", false, p.cut()
			}
			switch p.src[p.pos] {
			case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
			case 'u':
				for range 4 {
					p.pos++
					if p.pos == len(p.src) {
						return "", false, p.cut()
					}
					if unhex(p.src[p.pos]) < 0 {
						return "", false, p.fail("unexpected %s in a \\u escape", p.next())
					}
				}
			default:
				return "", false, p.fail("unexpected %s after a backslash in a string", p.next())
			}
		case c < ' ':
			return "", false, p.fail("unexpected %s in a string, write it as an escape", p.next())
		case c >= utf8.RuneSelf:
			ascii = false
		}
	}
	return "", false, p.cut()
}

func unhex(c byte) rune {
	switch {
	case '0' <= c && c <= '9':
		return rune(c - '0')
	case 'a' <= c && c <= 'f':
		return rune(c-'a') + 10
	case 'A' <= c && c <= 'F':
		return rune(c-'A') + 10
	}
	return -1
}

// hex4 reads the four digits of a \u escape.
func hex4(s string) rune {
	return unhex(s[0])<<12 | unhex(s[1])<<8 | unhex(s[2])<<4 | unhex(s[3])
}

// unescape returns the content of a string whose escapes are well formed.
func unescape(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	unescapeTo(&b, s)
	return b.String()
}

// unescapeTo writes the content of a string whose escapes are well formed, which
// is never longer than its source but where that is not valid UTF-8.
func unescapeTo(b *strings.Builder, s string) {
	for {
		i := strings.IndexByte(s, '\\')
		run := s
		if i >= 0 {
			run = s[:i]
		}
		if utf8.ValidString(run) {
			b.WriteString(run)
		} else {
			for _, r := range run { // each byte that is not UTF-8 becomes a U+FFFD
				b.WriteRune(r)
			}
		}
		if i < 0 {
			return
		}
		r, n := escaped(s[i:])
		b.WriteRune(r)
		s = s[i+n:]
	}
}

// escaped returns the character that s begins with as an escape, and the length
// of that. Half a surrogate pair is U+FFFD.
func escaped(s string) (rune, int) {
	switch c := s[1]; c {
	case 'b':
		return '\b', 2
	case 'f':
		return '\f', 2
	case 'n':
		return '\n', 2
	case 'r':
		return '\r', 2
	case 't':
		return '\t', 2
	case 'u':
		r := hex4(s[2:])
		if !utf16.IsSurrogate(r) {
			return r, 6
		}
		if len(s) >= 12 && s[6] == '\\' && s[7] == 'u' {
			if r := utf16.DecodeRune(r, hex4(s[8:])); r != utf8.RuneError {
				return r, 12
			}
		}
		return utf8.RuneError, 6
	default:
		return rune(c), 2
	}
}

// Canonical returns the input in one form for all its spellings: keys sorted,
// of equal keys the last, no blanks, numbers normalised but exact (1.0 and 1e0
// are 1), no escape that is not needed. Two inputs mean the same if their
// canonical forms are equal, so it is what to compare when looking for repeated
// calls. Empty input is {}. Input that is not JSON is an [*Error].
func Canonical(input json.RawMessage) (json.RawMessage, error) {
	if blank(input) {
		return json.RawMessage("{}"), nil
	}
	v, err := parse(input)
	if err != nil {
		return nil, notJSON(err)
	}
	return appendCanonical(make([]byte, 0, len(input)), v), nil
}

// notJSON makes the error for input that is not JSON.
func notJSON(err error) *Error {
	e := &Error{Err: err}
	if se, ok := err.(*syntaxError); ok {
		e.CutOff = se.cut
	}
	return e
}

// blank reports whether the text has nothing in it but blanks.
func blank(b []byte) bool {
	for _, c := range b {
		if c != ' ' && c != '\t' && c != '\n' && c != '\r' {
			return false
		}
	}
	return true
}
