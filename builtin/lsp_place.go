package builtin

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// sourceLines are the lines of a text, as read shows them.
type sourceLines []string

func newSourceLines(text string) sourceLines {
	lines := splitLines(text)
	for i, l := range lines {
		lines[i] = strings.TrimRight(l, "\r\n")
	}
	return lines
}

// line returns line n, from 1; "" if there is none.
func (l sourceLines) line(n int) string {
	if n < 1 || n > len(l) {
		return ""
	}
	return l[n-1]
}

// sourceName is a name in a line.
type sourceName struct {
	text     string
	col, end int // characters from 1; end is the one behind it
}

func isWord(r rune) bool {
	return r == '_' || r == '$' || unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.Is(unicode.Mn, r)
}

// namesIn finds the names in a line.
func namesIn(line string) []sourceName {
	var out []sourceName
	col, start, from := 1, -1, 0
	for i, r := range line {
		if isWord(r) && start < 0 {
			start, from = i, col
		}
		if !isWord(r) && start >= 0 {
			out = append(out, sourceName{line[start:i], from, col})
			start = -1
		}
		col++
	}
	if start >= 0 {
		out = append(out, sourceName{line[start:], from, col})
	}
	return slices.DeleteFunc(out, func(w sourceName) bool {
		r, _ := utf8.DecodeRuneInString(w.text)
		return unicode.IsDigit(r)
	})
}

// lastName is the name that a qualified one, such as pkg.Type.Method or
// (*T).Method, ends with.
func lastName(symbol string) string {
	list := namesIn(symbol)
	if len(list) == 0 {
		return strings.TrimSpace(symbol)
	}
	return list[len(list)-1].text
}

// occurrences are the columns at which a symbol stands in a line: as it is
// written if it is qualified and written so there, else by its last name.
func occurrences(line, symbol string) []int {
	name := lastName(symbol)
	var all, qualified []int
	for _, w := range namesIn(line) {
		if w.text != name {
			continue
		}
		all = append(all, w.col)
		head := string([]rune(line)[:w.end-1])
		if symbol != name && strings.HasSuffix(head, symbol) {
			qualified = append(qualified, w.col)
		}
	}
	if len(qualified) > 0 {
		return qualified
	}
	return all
}

// near is how many lines off a line number may be if the symbol is named.
const near = 5

// place finds what a call points at. Models know the line and the name better than
// the column, so a column that fits no name gives way to a name that does.
func (c *lspCall) place(ctx context.Context, lines sourceLines) (LSPPosition, error) {
	in := &c.in
	name := oneLine(c.l.display)
	if in.Line == 0 {
		return c.declared(ctx, lines)
	}
	if in.Line > len(lines) {
		return LSPPosition{}, fmt.Errorf("%s has %s, so there is no line %d", name, plural(len(lines), "line"), in.Line)
	}
	if in.Symbol != "" {
		return c.named(lines)
	}
	list := namesIn(lines.line(in.Line))
	if len(list) == 0 {
		return LSPPosition{}, fmt.Errorf("line %d of %s has no name in it: %s", in.Line, name, shownLine(lines.line(in.Line)))
	}
	if in.Character == 0 {
		if len(list) == 1 {
			return LSPPosition{in.Line, list[0].col}, nil
		}
		return LSPPosition{}, fmt.Errorf("line %d of %s has several names; give symbol, or character: %s", in.Line, name, wordList(list))
	}
	best, gap := list[0], 1<<30
	for _, w := range list {
		d := max(w.col-in.Character, in.Character-w.end, 0)
		if in.Character >= w.col && in.Character < w.end {
			return LSPPosition{in.Line, in.Character}, nil
		}
		if d < gap {
			best, gap = w, d
		}
	}
	if gap > 2 && len(list) > 1 {
		return LSPPosition{}, fmt.Errorf("there is no name at character %d of line %d of %s; give symbol, or one of these: %s", in.Character, in.Line, name, wordList(list))
	}
	if gap > 0 {
		c.note = joinNotes(c.note, fmt.Sprintf("there is no name at character %d; %s at %d:%d was taken", in.Character, best.text, in.Line, best.col))
	}
	return LSPPosition{in.Line, best.col}, nil
}

// named finds the symbol of a call in its line, or in one close to it.
func (c *lspCall) named(lines sourceLines) (LSPPosition, error) {
	in := &c.in
	at := func(n int) []int { return occurrences(lines.line(n), in.Symbol) }
	if cols := at(in.Line); len(cols) > 0 {
		if len(cols) == 1 {
			return LSPPosition{in.Line, cols[0]}, nil
		}
		if col, ok := nearest(cols, utf8.RuneCountInString(lastName(in.Symbol)), in.Character); ok {
			return LSPPosition{in.Line, col}, nil
		}
		var list []string
		for _, col := range cols {
			list = append(list, strconv.Itoa(col))
		}
		return LSPPosition{}, fmt.Errorf("%s stands more than once in line %d; give character, one of %s", oneLine(clip(in.Symbol, 100)), in.Line, strings.Join(list, ", "))
	}
	for d := 1; d <= near; d++ {
		for _, n := range []int{in.Line - d, in.Line + d} {
			if cols := at(n); len(cols) > 0 {
				c.note = joinNotes(c.note, fmt.Sprintf("%s is not in line %d; the one at %d:%d was taken", oneLine(clip(in.Symbol, 100)), in.Line, n, cols[0]))
				return LSPPosition{n, cols[0]}, nil
			}
		}
	}
	return LSPPosition{}, c.absent(lines, fmt.Sprintf("%s is not in line %d", oneLine(clip(in.Symbol, 100)), in.Line))
}

// nearest is the one of several names of a size that a column means: that it is
// in, or that it misses by little, and no other by as little.
func nearest(cols []int, size, column int) (int, bool) {
	const most = 3
	best, gap, twice := 0, most+1, false
	for _, col := range cols {
		d := max(col-column, column-(col+size-1), 0)
		if d < gap {
			best, gap, twice = col, d, false
		} else if d == gap {
			twice = true
		}
	}
	return best, column > 0 && gap <= most && !twice
}

// absent says where in the file a symbol is that is not where it was looked for.
func (c *lspCall) absent(lines sourceLines, what string) error {
	const most = 5
	var found []string
	more := 0
	for n := 1; n <= len(lines); n++ {
		for _, col := range occurrences(lines.line(n), c.in.Symbol) {
			if len(found) == most {
				more++
				continue
			}
			found = append(found, fmt.Sprintf("%d:%d", n, col))
		}
	}
	switch {
	case len(found) == 0:
		return fmt.Errorf("%s of %s, nor anywhere else in the file; use workspaceSymbol or grep to find it", what, oneLine(c.l.display))
	case more > 0:
		return fmt.Errorf("%s of %s; it is at %s and %s", what, oneLine(c.l.display), strings.Join(found, ", "), plural(more, "other place"))
	}
	return fmt.Errorf("%s of %s; it is at %s", what, oneLine(c.l.display), strings.Join(found, ", "))
}

// declared finds a symbol without a line: where the file declares it, else where
// it first stands.
func (c *lspCall) declared(ctx context.Context, lines sourceLines) (LSPPosition, error) {
	name := lastName(c.in.Symbol)
	var found []LSPSymbol
	if a, err := c.ts.askServer(ctx, &LSPQuery{Operation: LSPDocumentSymbol, Path: c.l.abs}); err == nil {
		for _, s := range a.Symbols {
			if s.Name == c.in.Symbol {
				found = []LSPSymbol{s}
				break
			}
			if lastName(s.Name) == name {
				found = append(found, s)
			}
		}
	} else if ctx.Err() != nil {
		return LSPPosition{}, err
	}
	if len(found) > 1 {
		var list []string
		for _, s := range found[:min(len(found), 10)] {
			list = append(list, fmt.Sprintf("%s %s in line %d", s.Kind, s.Name, s.Location.Start.Line))
		}
		return LSPPosition{}, fmt.Errorf("%s declares several of this name; give line: %s", oneLine(c.l.display), oneLine(strings.Join(list, ", ")))
	}
	if len(found) == 1 {
		// A server may give the start of the declaration in the place of its name's.
		at := found[0].Location.Start
		for n := at.Line; n <= at.Line+near; n++ {
			for _, col := range occurrences(lines.line(n), c.in.Symbol) {
				if n > at.Line || col >= at.Column {
					return LSPPosition{n, col}, nil
				}
			}
		}
		return at, nil
	}
	for n := 1; n <= len(lines); n++ {
		if cols := occurrences(lines.line(n), c.in.Symbol); len(cols) > 0 {
			c.note = joinNotes(c.note, fmt.Sprintf("the file does not declare %s; the one at %d:%d was taken", oneLine(clip(c.in.Symbol, 100)), n, cols[0]))
			return LSPPosition{n, cols[0]}, nil
		}
	}
	return LSPPosition{}, fmt.Errorf("%s is nowhere in %s; use workspaceSymbol or grep to find it", oneLine(clip(c.in.Symbol, 100)), oneLine(c.l.display))
}

// stretch is the lines that code actions are wanted for: from a place on, or from
// the first character that is no blank.
func (c *lspCall) stretch(lines sourceLines) (from, to LSPPosition, err error) {
	in := &c.in
	last := max(in.EndLine, in.Line)
	if last > len(lines) {
		return from, to, fmt.Errorf("%s has %s, so there is no line %d", oneLine(c.l.display), plural(len(lines), "line"), last)
	}
	if in.EndLine == 0 && (in.Symbol != "" || in.Character > 0) {
		at := LSPPosition{in.Line, in.Character}
		if in.Symbol != "" {
			if at, err = c.named(lines); err != nil {
				return from, to, err
			}
		}
		return at, at, nil
	}
	first := lines.line(in.Line)
	blank := utf8.RuneCountInString(first) - utf8.RuneCountInString(strings.TrimLeft(first, " \t"))
	return LSPPosition{in.Line, blank + 1}, LSPPosition{last, utf8.RuneCountInString(lines.line(last)) + 1}, nil
}

// wordList shows the names of a line with their columns.
func wordList(list []sourceName) string {
	const most = 12
	var out []string
	for _, w := range list[:min(len(list), most)] {
		out = append(out, fmt.Sprintf("%s (%d)", clip(w.text, 60), w.col))
	}
	if n := len(list) - most; n > 0 {
		out = append(out, fmt.Sprintf("and %d more", n))
	}
	return visible(strings.Join(out, ", "))
}

// shownLine is a line of source as part of a message.
func shownLine(line string) string {
	return visible(cutLine(strings.ReplaceAll(strings.TrimSpace(line), "\n", " "), 200))
}

func joinNotes(a, b string) string {
	if a == "" {
		return b
	}
	return a + "; " + b
}
