package permission

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"
)

// ErrConfig matches *[ConfigError].
var ErrConfig = errors.New("invalid permission configuration")

// ConfigError says what is wrong with a configuration, and where. A
// configuration with an error yields no rules at all, as half of them could allow
// what the other half denies. It matches [ErrConfig].
type ConfigError struct {
	Line, Column int // from 1; the column counts bytes
	Msg          string
}

// Error gives the position and the problem.
func (e *ConfigError) Error() string {
	return fmt.Sprintf("permission configuration: line %d, column %d: %s", e.Line, e.Column, e.Msg)
}

// Is reports whether target is [ErrConfig].
func (e *ConfigError) Is(target error) bool { return target == ErrConfig }

// maxPattern bounds the patterns of rules and approvals, in bytes, so that none can make each match expensive.
const maxPattern = 4 << 10

// Parser reads rules from JSON. The zero value is ready for use.
type Parser struct {
	// Home is what "~" and "$HOME" stand for, an absolute path; "": what
	// [os.UserHomeDir] says, which is only asked if a pattern needs it.
	Home string
}

// ParseConfig reads rules from JSON: see [Parser.Parse]. It is that of the zero Parser.
func ParseConfig(data []byte) (Ruleset, error) { return Parser{}.Parse(data) }

// Parse reads rules from JSON. A string is the action for everything:
//
//	"ask"
//
// An object has a permission as each key, with an action for all its patterns, or
// with an object of patterns and their actions:
//
//	{"*": "allow", "bash": {"*": "ask", "git *": "allow"}, "edit": "deny"}
//
// The rules come in the order of the keys, which counts, as later rules override
// earlier ones. A pattern that is "~" or "$HOME", or begins with "~/" or "$HOME/",
// begins with the home directory. The permission "client_tools" is another name for "client_tool".
//
// The error is a *[ConfigError] for bad JSON, anything after it, values of another
// type, unknown actions, keys that appear twice, empty permissions, patterns
// over 4 KiB, and a home directory that is needed but not known.
func (p Parser) Parse(data []byte) (Ruleset, error) {
	c := &configReader{data: data, home: p.Home}
	if !utf8.Valid(data) {
		return nil, c.fail(firstInvalid(data), "not valid UTF-8")
	}
	var raw json.RawMessage
	if err := json.Unmarshal(data, &raw); err != nil {
		var syn *json.SyntaxError
		if errors.As(err, &syn) {
			return nil, c.fail(int(max(syn.Offset-1, 0)), "%v", err)
		}
		return nil, c.fail(0, "%v", err)
	}
	c.dec = json.NewDecoder(bytes.NewReader(data))
	if err := c.top(); err != nil {
		return nil, err
	}
	return c.rules, nil
}

type configReader struct {
	data  []byte
	dec   *json.Decoder
	home  string
	at    int // where the last token begins
	rules Ruleset
}

func (c *configReader) fail(offset int, format string, args ...any) error {
	before := c.data[:min(offset, len(c.data))]
	nl := bytes.LastIndexByte(before, '\n')
	return &ConfigError{
		Line:   1 + bytes.Count(before, []byte{'\n'}),
		Column: len(before) - nl,
		Msg:    fmt.Sprintf(format, args...),
	}
}

// next returns the next token and notes where it begins. Keys and values that
// could not be decoded without loss are errors.
func (c *configReader) next() (json.Token, error) {
	from := int(c.dec.InputOffset())
	for from < len(c.data) && strings.IndexByte(" \t\r\n,:", c.data[from]) >= 0 {
		from++
	}
	c.at = from
	t, err := c.dec.Token()
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, c.fail(c.at, "%v", err)
	}
	if s, ok := t.(string); ok && strings.ContainsRune(s, utf8.RuneError) {
		return nil, c.fail(c.at, "a string holds half of a surrogate pair or U+FFFD")
	}
	return t, nil
}

func (c *configReader) top() error {
	t, err := c.next()
	if err != nil {
		return err
	}
	switch t := t.(type) {
	case string:
		return c.add("*", "*", t)
	case json.Delim:
		if t == '{' {
			return c.object("permission", c.permission)
		}
	}
	return c.fail(c.at, "want an object or an action (allow, ask, deny)")
}

// object reads the members of an object whose opening brace was read.
func (c *configReader) object(what string, member func(key string) error) error {
	seen := make(map[string]bool)
	for c.dec.More() {
		t, err := c.next()
		if err != nil {
			return err
		}
		key := t.(string) // the decoder sees to it
		if seen[key] {
			return c.fail(c.at, "the %s %q appears twice", what, clip(key, 80))
		}
		seen[key] = true
		if err := member(key); err != nil {
			return err
		}
	}
	_, err := c.next()
	return err
}

func (c *configReader) permission(name string) error {
	if name == "" {
		return c.fail(c.at, "empty permission name")
	}
	if name == "client_tools" {
		name = "client_tool"
	}
	t, err := c.next()
	if err != nil {
		return err
	}
	switch t := t.(type) {
	case string:
		return c.add(name, "*", t)
	case json.Delim:
		if t == '{' {
			return c.object("pattern", func(pattern string) error { return c.pattern(name, pattern) })
		}
	}
	return c.fail(c.at, "permission %q: want an action (allow, ask, deny) or an object of patterns", clip(name, 80))
}

func (c *configReader) pattern(permission, pattern string) error {
	if len(pattern) > maxPattern {
		return c.fail(c.at, "a pattern is longer than %d bytes", maxPattern)
	}
	pattern, err := c.expand(pattern)
	if err != nil {
		return err
	}
	t, err := c.next()
	if err != nil {
		return err
	}
	action, ok := t.(string)
	if !ok {
		return c.fail(c.at, "permission %q, pattern %q: want an action (allow, ask, deny)", clip(permission, 80), clip(pattern, 80))
	}
	return c.add(permission, pattern, action)
}

func (c *configReader) add(permission, pattern, action string) error {
	a := Action(action)
	if !a.Valid() {
		return c.fail(c.at, "unknown action %q: it is allow, ask or deny", clip(action, 40))
	}
	c.rules = append(c.rules, Rule{Permission: permission, Pattern: pattern, Action: a})
	return nil
}

// expand puts the home directory in its place. A rule for a home that is not
// known would match nothing, so that is an error.
func (c *configReader) expand(pattern string) (string, error) {
	rest, ok := strings.CutPrefix(pattern, "~")
	if !ok {
		rest, ok = strings.CutPrefix(pattern, "$HOME")
	}
	if !ok || rest != "" && rest[0] != '/' {
		return pattern, nil
	}
	if c.home == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", c.fail(c.at, "pattern %q: the home directory is not known: %v", clip(pattern, 80), err)
		}
		c.home = home
	}
	if strings.ContainsAny(c.home, "*?") {
		return "", c.fail(c.at, "pattern %q: the home directory %q holds a wildcard", clip(pattern, 80), c.home)
	}
	if rest == "" {
		return c.home, nil
	}
	return strings.TrimRight(c.home, "/") + rest, nil
}

func firstInvalid(b []byte) int {
	for i := 0; i < len(b); {
		r, size := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return len(b)
}

// clip shortens s to about n bytes, at a rune boundary.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}
