package pattern

import (
	"errors"
	"fmt"
	"regexp/syntax"
	"strings"
)

// ErrPattern is what every Error is, for errors.Is.
var ErrPattern = errors.New("invalid pattern")

// An Error says why a pattern cannot be used and what to do instead.
type Error struct {
	Pattern string
	Offset  int    // where in Pattern the trouble is, in bytes; -1 if unknown
	Reason  string // what is wrong
	Hint    string // what to do about it
	// Literal says that the pattern is most likely meant as plain text.
	Literal bool
}

func (e *Error) Error() string {
	s := "invalid pattern"
	if e.Pattern != "" {
		p := e.Pattern
		if len(p) > 80 {
			p = strings.ToValidUTF8(p[:80], "") + "…"
		}
		s += fmt.Sprintf(" `%s`", p)
	}
	s += ": " + e.Reason
	if e.Hint != "" {
		s += "; " + e.Hint
	}
	return s
}

func (e *Error) Unwrap() error { return ErrPattern }

func tooLong(expr string, limit int) *Error {
	return &Error{
		Pattern: strings.ToValidUTF8(expr[:min(80, len(expr))], ""), Offset: limit,
		Reason: fmt.Sprintf("longer than %d bytes", limit), Hint: "search for a part of it",
	}
}

// unsupported lists constructs of other dialects. They are looked for in a
// pattern that did not parse, so that a false find does no harm.
var unsupported = []struct{ text, name, hint string }{
	{"(?<=", "look-behind (?<=…)", "match the text before it too, and pick what is needed from the result"},
	{"(?<!", "negative look-behind (?<!…)", "search without it and drop the unwanted lines"},
	{"(?=", "look-ahead (?=…)", "match the text after it too, and pick what is needed from the result"},
	{"(?!", "negative look-ahead (?!…)", "search without it and drop the unwanted lines"},
	{"(?>", "atomic group (?>…)", "use (?:…)"},
	{"(?#", "comment (?#…)", "leave it out"},
	{"(?|", "branch reset (?|…)", "use (?:…)"},
	{`\k`, `back-reference \k`, "write the text out, or search for one side"},
	{"(?P=", "back-reference (?P=…)", "write the text out, or search for one side"},
	{`\Z`, `end of text \Z`, `use $ or \z`},
	{`\h`, `blank \h`, `use [ \t]`},
	{`\R`, `line break \R`, `use \r?\n`},
	{`\K`, `reset \K`, "leave it out"},
	{`\G`, `position \G`, "leave it out"},
	{`\X`, `grapheme \X`, "use ."},
	{"*+", "possessive repeat *+", "use *"},
	{"++", "possessive repeat ++", `use +, or \+\+ for the characters themselves`},
	{"?+", "possessive repeat ?+", "use ?"},
}

// explain turns an error of regexp/syntax into one that helps.
func explain(expr string, err error) *Error {
	e := &Error{Pattern: expr, Offset: -1, Reason: err.Error()}
	var se *syntax.Error
	if !errors.As(err, &se) {
		return e
	}
	e.Offset = strings.Index(expr, se.Expr)
	if se.Expr == "" || se.Expr == expr {
		e.Offset = -1
	}
	e.Reason = se.Code.String()
	if e.Offset >= 0 {
		e.Reason += fmt.Sprintf(" `%s` at offset %d", se.Expr, e.Offset)
	}
	for i := 0; i+1 < len(expr); i++ {
		if expr[i] != '\\' {
			continue
		}
		if c := expr[i+1]; '1' <= c && c <= '9' && se.Code == syntax.ErrInvalidEscape {
			e.Offset = i
			e.Reason = fmt.Sprintf(`back-reference \%c is not supported (RE2 syntax)`, c)
			e.Hint = "write the text out, or search for one side"
			return e
		}
		i++
	}
	switch se.Code {
	case syntax.ErrInvalidPerlOp, syntax.ErrInvalidNamedCapture, syntax.ErrInvalidEscape, syntax.ErrInvalidRepeatOp, syntax.ErrMissingRepeatArgument:
		for _, u := range unsupported {
			if i := strings.Index(expr, u.text); i >= 0 && (se.Code != syntax.ErrInvalidEscape || u.text[0] == '\\') {
				e.Offset, e.Reason, e.Hint = i, u.name+" is not supported (RE2 syntax)", u.hint
				e.Literal = u.text == "++" && !looksLikeRegexp(expr)
				return e
			}
		}
	}
	const literal = ", or set literal to search for the text as it is"
	switch se.Code {
	case syntax.ErrMissingParen:
		e.Reason = `a "(" is not closed`
		e.Hint = `write \( for the character itself` + literal
		e.Literal = !looksLikeRegexp(expr)
	case syntax.ErrUnexpectedParen:
		e.Reason = `a ")" has no "("`
		e.Hint = `write \) for the character itself` + literal
		e.Literal = !looksLikeRegexp(expr)
	case syntax.ErrMissingBracket:
		e.Reason = `a "[" is not closed`
		e.Hint = `write \[ for the character itself` + literal
		e.Literal = !looksLikeRegexp(expr)
	case syntax.ErrMissingRepeatArgument:
		e.Reason = fmt.Sprintf("nothing to repeat before `%s`", se.Expr)
		e.Hint = fmt.Sprintf(`write \%s for the character itself`, se.Expr[:1]) + literal
		e.Literal = !looksLikeRegexp(expr)
	case syntax.ErrInvalidRepeatOp:
		e.Hint = "put the repeated part in (?:…)" + literal
	case syntax.ErrInvalidRepeatSize:
		e.Hint = `a repeat count is at most 1000, also multiplied; write \{ for the character itself`
	case syntax.ErrInvalidEscape:
		e.Hint = `write \\ for a backslash` + literal
	case syntax.ErrTrailingBackslash:
		e.Reason, e.Hint = "ends in a backslash", `write \\ for a backslash`+literal
	case syntax.ErrInvalidCharRange:
		e.Hint = "the ends of a range are in the wrong order; put a literal - last"
	case syntax.ErrNestingDepth, syntax.ErrLarge:
		e.Hint = "simplify it"
	default:
		e.Hint = "simplify it" + literal
	}
	return e
}

// looksLikeRegexp reports whether something in expr is hardly plain text.
func looksLikeRegexp(expr string) bool {
	if strings.HasPrefix(expr, "^") || strings.HasSuffix(expr, "$") {
		return true
	}
	for _, s := range []string{`\`, ".*", ".+", "|", "(?", "[^", "]+", "]*", ")*", ")+", ")?"} {
		if strings.Contains(expr, s) {
			return true
		}
	}
	return false
}
