// Package pattern turns what a user asks for into something that finds the
// matching lines of a text quickly.
//
// A pattern is parsed once. If every match must contain one of a few strings,
// and looking for those is cheaper than running the automaton, lines are found
// by them and then verified; otherwise the automaton of package lazydfa reads
// the whole text. A pattern whose matches are exactly those strings needs no
// automaton at all.
package pattern

import (
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/agenttool/tool/internal/search/lazydfa"
)

// A Case says what to do about upper and lower case.
type Case uint8

const (
	Sensitive   Case = iota // as written
	Insensitive             // ignore case
	Smart                   // ignore case if the pattern has no upper-case letter
)

// DefaultMaxLen is the longest pattern that is accepted unless Options say
// otherwise.
const DefaultMaxLen = 1 << 10

// Options say how an expression is meant. The zero value is a case-sensitive
// regular expression for single lines.
type Options struct {
	Case      Case
	Literal   bool // the expression is text, not a regular expression
	Word      bool // a match begins and ends at a word boundary
	Multiline bool // a match may span lines, and "." matches a line break
	MaxLen    int  // bytes; 0 means DefaultMaxLen
}

// A Pattern is a compiled expression. It is safe for concurrent use.
type Pattern struct {
	// Multiline says that matches may span lines: it was asked for, or the
	// expression names a line feed, or any character at all as (?s:.) and [\s\S] do.
	Multiline bool
	// KeepCR says that the expression names a carriage return, which then
	// counts as part of the line even before a line feed.
	KeepCR bool

	prog  *lazydfa.Prog
	find  []finder // nil: no strings to look for
	exact bool     // a line that has one of them matches
	// longest, if not 0, is the length of the longest string in find, and a line matches
	// wherever one of them is found.
	longest int
	// minAfter is how many bytes of a line there must be from the first string found on.
	minAfter int
	also     [][]byte // a line that matches has all of these too

	source string
	once   sync.Once
	std    *regexp.Regexp
	insts  int

	mu   sync.Mutex
	idle []*Matcher
}

// Compile parses expr. Every error is an *Error.
func Compile(expr string, o Options) (*Pattern, error) {
	limit := o.MaxLen
	if limit == 0 {
		limit = DefaultMaxLen
	}
	switch {
	case expr == "":
		return nil, &Error{Reason: "the pattern is empty", Hint: "say what to search for"}
	case len(expr) > limit:
		return nil, tooLong(expr, limit)
	case !utf8.ValidString(expr):
		return nil, &Error{Pattern: strings.ToValidUTF8(expr, "\uFFFD"), Reason: "the pattern is not valid UTF-8"}
	}
	source := expr
	if o.Literal {
		source = regexp.QuoteMeta(expr)
	}
	re, err := syntax.Parse(source, syntax.Perl&^syntax.OneLine)
	if err != nil {
		return nil, explain(expr, err)
	}
	p := &Pattern{Multiline: o.Multiline || names(re, '\n') || namesAny(re), KeepCR: names(re, '\r')}
	flags := "m"
	if o.Case == Insensitive || o.Case == Smart && !hasUpper(re) {
		flags += "i"
	}
	if o.Multiline {
		flags += "s"
	}
	if o.Word {
		source = bounded(expr, source, o.Literal)
	}
	p.source = "(?" + flags + ":" + source + ")"
	if re, err = syntax.Parse(p.source, syntax.Perl); err != nil {
		return nil, explain(expr, err)
	}
	re = re.Simplify()
	p.prog, err = lazydfa.Compile(re, lazydfa.Config{Multiline: p.Multiline, KeepCR: p.KeepCR})
	if err != nil {
		return nil, &Error{Pattern: expr, Reason: "the pattern is too large once its counted repeats are written out", Hint: "use smaller counts, or * and +"}
	}
	p.plan(re)
	return p, nil
}

// bounded adds the word boundaries. Beside text that begins or ends with
// something else than a word character a boundary would demand one outside.
func bounded(expr, source string, literal bool) string {
	left, right := `\b`, `\b`
	if literal {
		if r, _ := utf8.DecodeRuneInString(expr); !isWord(r) {
			left = ""
		}
		if r, _ := utf8.DecodeLastRuneInString(expr); !isWord(r) {
			right = ""
		}
	}
	return left + "(?:" + source + ")" + right
}

func isWord(r rune) bool {
	return r < utf8.RuneSelf && (r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r))
}

// names reports whether the expression asks for the rune itself, and not just
// for a class that happens to hold it.
func names(re *syntax.Regexp, r rune) bool {
	switch re.Op {
	case syntax.OpLiteral:
		for _, x := range re.Rune {
			if x == r {
				return true
			}
		}
	case syntax.OpCharClass:
		if len(re.Rune) > 4 {
			return false
		}
		has := false
		for i := 0; i < len(re.Rune); i += 2 {
			if re.Rune[i] < '\n' || re.Rune[i+1] > '\r' {
				return false
			}
			has = has || re.Rune[i] <= r && r <= re.Rune[i+1]
		}
		return has
	}
	for _, sub := range re.Sub {
		if names(sub, r) {
			return true
		}
	}
	return false
}

// namesAny reports whether the expression asks for any character, line feeds
// among them.
func namesAny(re *syntax.Regexp) bool {
	all := re.Op == syntax.OpCharClass && len(re.Rune) == 2 && re.Rune[0] == 0 && re.Rune[1] == unicode.MaxRune
	return all || re.Op == syntax.OpAnyChar || slices.ContainsFunc(re.Sub, namesAny)
}

// hasUpper reports whether an upper-case letter is written in the expression,
// other than in a class that also holds its lower-case form.
func hasUpper(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpLiteral:
		for _, r := range re.Rune {
			if unicode.IsUpper(r) && re.Flags&syntax.FoldCase == 0 {
				return true
			}
		}
	case syntax.OpCharClass:
		in := func(r rune) bool {
			for i := 0; i < len(re.Rune); i += 2 {
				if re.Rune[i] <= r && r <= re.Rune[i+1] {
					return true
				}
			}
			return false
		}
		for i := 0; i < len(re.Rune); i += 2 {
			if r := re.Rune[i]; unicode.IsUpper(r) && !in(unicode.ToLower(r)) {
				return true
			}
		}
	}
	for _, sub := range re.Sub {
		if hasUpper(sub) {
			return true
		}
	}
	return false
}

// Regexp returns the pattern as package regexp has it, for positions within a
// line or text that is known to match. It may cost time proportional to the
// length of what it is given times Insts.
func (p *Pattern) Regexp() *regexp.Regexp {
	p.compileStd()
	return p.std
}

// Insts is the number of instructions of Regexp.
func (p *Pattern) Insts() int {
	p.compileStd()
	return p.insts
}

func (p *Pattern) compileStd() {
	p.once.Do(func() {
		// The expression was parsed and compiled before, with the same limits.
		p.std = regexp.MustCompile(p.source)
		p.insts = p.prog.Nodes()
	})
}

// Quick reports whether lines are found by the strings in them, and not by the
// automaton.
func (p *Pattern) Quick() bool { return p.find != nil && !p.prog.Always() }

// Strategy describes how lines are found: "literal", "prefilter", "automaton"
// or "every line".
func (p *Pattern) Strategy() string {
	switch {
	case p.prog.Always():
		return "every line"
	case p.find == nil:
		return "automaton"
	case p.exact:
		return "literal"
	}
	return "prefilter"
}
