package pattern

import (
	"regexp/syntax"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxLiterals is how many strings are looked for at most. More would cost more
// than the automaton.
const maxLiterals = 16

// A literal is a string that is looked for. With fold its ASCII letters are in
// lower case and match either.
type literal struct {
	s    string
	fold bool
}

// facts are what is known about the matches of an expression.
type facts struct {
	// exact, if not nil, holds every string that the expression matches.
	exact []literal
	// sure says that exact holds nothing else: no assertion was left out and no
	// letter was made to match either case that should not.
	sure bool
	// need, if not nil, holds strings of which every match contains one.
	need []literal
	// all are strings that every match contains besides, perhaps the same.
	all []literal
}

// others returns up to two strings that every match contains and that are not
// those of the set.
func (f facts) others(set []literal) [][]byte {
	var out [][]byte
	for _, l := range f.all {
		if len(l.s) > 1 && !l.fold && !slices.Contains(set, l) && !slices.ContainsFunc(out, func(b []byte) bool { return string(b) == l.s }) {
			out = append(out, []byte(l.s))
		}
	}
	slices.SortStableFunc(out, func(a, b []byte) int { return len(b) - len(a) })
	return out[:min(len(out), 2)]
}

// best returns the cheaper of what exact and need demand.
func (f facts) best() []literal { return cheaper(f.exact, f.need) }

func cheaper(a, b []literal) []literal {
	if wayOf(b).cost < wayOf(a).cost {
		return b
	}
	if usable(a) {
		return a
	}
	return nil
}

func usable(set []literal) bool {
	return len(set) > 0 && len(set) <= maxLiterals && !slices.ContainsFunc(set, func(l literal) bool { return l.s == "" })
}

// opFolded is ASCII text in lower case that stands for both cases.
const opFolded = syntax.Op(255)

var empty = facts{exact: []literal{{}}, sure: true}

func analyse(re *syntax.Regexp, multiline bool) facts {
	switch re.Op {
	case syntax.OpEmptyMatch:
		return empty
	case syntax.OpBeginLine, syntax.OpEndLine, syntax.OpBeginText, syntax.OpEndText, syntax.OpWordBoundary, syntax.OpNoWordBoundary:
		return facts{exact: []literal{{}}}
	case opFolded:
		return facts{exact: []literal{{string(re.Rune), true}}, sure: true}
	case syntax.OpLiteral:
		return analyseLiteral(re)
	case syntax.OpCharClass:
		return analyseClass(re, multiline)
	case syntax.OpCapture:
		return analyse(re.Sub[0], multiline)
	case syntax.OpQuest:
		if f := analyse(re.Sub[0], multiline); f.exact != nil && len(f.exact) < maxLiterals {
			return facts{exact: union([]literal{{}}, f.exact), sure: f.sure}
		}
	case syntax.OpPlus:
		f := analyse(re.Sub[0], multiline)
		return facts{need: f.best(), all: f.all}
	case syntax.OpConcat:
		return analyseConcat(re.Sub, multiline)
	case syntax.OpAlternate:
		out := facts{exact: []literal{}, sure: true, need: []literal{}}
		for _, sub := range re.Sub {
			f := analyse(sub, multiline)
			if f.exact == nil || out.exact == nil {
				out.exact = nil
			} else if out.exact = union(out.exact, f.exact); len(out.exact) > maxLiterals {
				out.exact = nil
			}
			out.sure = out.sure && f.sure
			if b := f.best(); b == nil || out.need == nil {
				out.need = nil
			} else if out.need = union(out.need, b); len(out.need) > maxLiterals {
				out.need = nil
			}
		}
		return out
	}
	return facts{}
}

// analyseConcat collects the strings between parts that are not finite, and
// keeps the cheapest set of them.
func analyseConcat(subs []*syntax.Regexp, multiline bool) facts {
	cur, sure, whole := []literal{{}}, true, true
	var need, all []literal
	alone := func(set []literal) {
		if len(set) == 1 {
			all = append(all, set[0])
		}
	}
	for _, sub := range subs {
		f := analyse(sub, multiline)
		sure = sure && f.sure
		all = append(all, f.all...)
		switch {
		case f.exact == nil:
			alone(cur)
			need = cheaper(need, cheaper(cur, f.need))
			cur, whole = []literal{{}}, false
		case len(cur)*len(f.exact) > maxLiterals:
			alone(cur)
			need = cheaper(need, cur)
			cur, whole = f.exact, false
		default:
			var next []literal
			for _, x := range cur {
				for _, y := range f.exact {
					z, mixed := join(x, y)
					sure = sure && !mixed
					next = append(next, z)
				}
			}
			cur = union(nil, next)
		}
	}
	if whole {
		return facts{exact: cur, sure: sure, all: all}
	}
	alone(cur)
	return facts{need: cheaper(need, cur), all: all}
}

// join concatenates two literals. If only one ignores case so does the result,
// which then matches more than it should: mixed.
func join(x, y literal) (z literal, mixed bool) {
	if x.fold == y.fold {
		return literal{x.s + y.s, x.fold}, false
	}
	plain := x.s
	if x.fold {
		plain = y.s
	}
	lower := func(l literal) string { return lowerASCII(l.s) }
	return literal{lower(x) + lower(y), true}, strings.ContainsFunc(plain, func(r rune) bool { return r < utf8.RuneSelf && unicode.IsLetter(r) })
}

func lowerASCII(s string) string {
	b := []byte(s)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c | 0x20
		}
	}
	return string(b)
}

func union(a, b []literal) []literal {
	out := slices.Clone(a)
	for _, l := range b {
		if !slices.Contains(out, l) {
			out = append(out, l)
		}
	}
	return out
}

// analyseLiteral handles text, with or without regard to case. Letters beyond
// ASCII that have several forms multiply the strings.
func analyseLiteral(re *syntax.Regexp) facts {
	if re.Flags&syntax.FoldCase == 0 {
		return facts{exact: []literal{{s: string(re.Rune)}}, sure: true}
	}
	var subs []*syntax.Regexp
	var text []rune
	flush := func() {
		if len(text) > 0 {
			subs = append(subs, &syntax.Regexp{Op: opFolded, Rune: text})
			text = nil
		}
	}
	for _, r := range re.Rune {
		forms := []rune{r}
		ascii := rune(-1)
		for x := unicode.SimpleFold(r); x != r; x = unicode.SimpleFold(x) {
			forms = append(forms, x)
		}
		for _, x := range forms {
			if x < utf8.RuneSelf {
				ascii = unicode.ToLower(x)
			}
		}
		if ascii >= 0 {
			text = append(text, ascii)
			continue
		}
		flush()
		var pairs []rune
		for _, x := range forms {
			pairs = append(pairs, x, x)
		}
		subs = append(subs, &syntax.Regexp{Op: syntax.OpCharClass, Rune: pairs})
	}
	flush()
	return analyseConcat(subs, true)
}

func analyseClass(re *syntax.Regexp, multiline bool) facts {
	n := 0
	for i := 0; i < len(re.Rune); i += 2 {
		if n += int(re.Rune[i+1]-re.Rune[i]) + 1; n > 8 {
			return facts{}
		}
	}
	out := facts{exact: []literal{}, sure: true}
	for i := 0; i < len(re.Rune); i += 2 {
		for r := re.Rune[i]; r <= re.Rune[i+1]; r++ {
			if r == '\n' && !multiline || 0xD800 <= r && r <= 0xDFFF {
				continue
			}
			out.exact = append(out.exact, literal{s: string(r)})
			out.sure = out.sure && r != '\r' // before a line feed it is not part of the line
		}
	}
	return out
}
