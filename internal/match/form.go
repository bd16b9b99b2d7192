package match

import (
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// align finds the lines that old and new share. If new has the text's own
// indentation where old has not, old is taken as if it had, too.
func (c *change) align() {
	c.src = alignLines(c.old, c.new, c.literal)
	if c.literal {
		return
	}
	moved := false
	mended := slices.Clone(c.old)
	for i, o := range c.old {
		if k := c.at(i); k >= 0 && !isBlank(o) {
			in, have := indentOf(o), indentOf(c.pieces[k].line)
			if in != have {
				moved = true
				mended[i] = have + o[len(in):]
			}
		}
	}
	if !moved {
		return
	}
	if c.shallower(mended) {
		return
	}
	src := alignLines(mended, c.new, false)
	ours := c.agreement(c.old, c.src)
	with, without := c.agreement(mended, src), ours
	if with == without {
		with, without = c.samePairs(mended), c.samePairs(c.old)
	}
	if with > without {
		c.old, c.src, c.mended = mended, src, true
		return
	}
	// New that begins where the text does and not where old does may have the
	// text's indentation, even if a few brackets agree with old.
	const plain = 4
	least := leastIndent(c.new)
	c.doubt = ours < plain && least == leastIndent(mended) && least != leastIndent(c.old)
}

// leastIndent returns the width of the shallowest line that is not blank.
func leastIndent(lines []string) int {
	least := -1
	for _, l := range lines {
		if n := len(indentOf(l)); !isBlank(l) && (least < 0 || n < least) {
			least = n
		}
	}
	return least
}

// shallower reports whether new reaches further out than the text's own lines
// do: then its indentation is that of old, and goes in as deep as old's does.
// Somebody wraps lines that were given without the indentation of their place.
func (c *change) shallower(mended []string) bool {
	from := 0
	if len(c.old) > 1 && indentOf(c.old[0]) == "" && slices.Equal(c.old[1:], mended[1:]) {
		from = 1 // only the first line came without its indentation
	}
	least := func(lines []string) int {
		n := -1
		for _, l := range lines[min(from, len(lines)):] {
			if w := columns(indentOf(l), 4); !isBlank(l) && (n < 0 || w < n) {
				n = w
			}
		}
		return n
	}
	return least(c.new) < least(mended)
}

// samePairs counts the lines of new that are indented as the line whose place
// they take, for an edit that changes every line.
func (c *change) samePairs(old []string) (n int) {
	for _, p := range pairLines(old, c.new, 0, len(old), 0, len(c.new)) {
		if !isBlank(old[p.i]) && indentOf(old[p.i]) == indentOf(c.new[p.j]) {
			n++
		}
	}
	return n
}

// agreement weighs the lines of new that are equal to their old line with
// indentation and all. Ends count most, for an edit usually keeps them.
func (c *change) agreement(old []string, src []int) int {
	const short, long, end = 1, 3, 4
	n := 0
	for j, i := range src {
		if i < 0 || isBlank(old[i]) || trimRight(c.new[j]) != trimRight(old[i]) {
			continue
		}
		if n += short; len(strings.TrimSpace(old[i])) > 3 {
			n += long - short
		}
		if i == 0 && j == 0 || i == len(old)-1 && j == len(c.new)-1 {
			n += end
		}
	}
	return n
}

// learn finds out how the model's text differs from the text in form.
func (c *change) learn() {
	have := func(i int) (string, bool) {
		if k := c.at(i); k >= 0 {
			return c.pieces[k].line, true
		}
		return "", false
	}
	c.ind = newIndenter(c.old, c.new, have, func() string { return c.t.indentStyle(c.t.lineAt(c.pieces[0].off)) })
	c.ind.mended = c.mended
	theirs := map[rune]bool{} // typographic characters of the text's lines
	var ours []rune           // and of old
	decomposed := false
	for i, o := range c.old {
		h, ok := have(i)
		if !ok || isBlank(o) != isBlank(h) {
			continue
		}
		if trimRight(o) != o && trimRight(h) == h {
			c.trim = true
		}
		decomposed = decomposed || !norm.NFC.IsNormalString(o) && norm.NFC.IsNormalString(h)
		for _, r := range h {
			if isTypographic(r) {
				theirs[r] = true
			}
		}
		for _, r := range o {
			if isTypographic(r) {
				ours = append(ours, r)
			}
		}
	}
	damaged := slices.ContainsFunc(ours, func(r rune) bool { return !theirs[r] })
	c.foldBack = func(s string) string { return c.fold(s, theirs, damaged, decomposed) }
}

// fold undoes in a new line what the model does to characters: all typographic
// forms that the text's lines do not have if old had any such, and otherwise
// only odd blanks that the whole text does not have.
func (c *change) fold(s string, theirs map[rune]bool, damaged, decomposed bool) string {
	if decomposed {
		s = norm.NFC.String(s)
	}
	odd := func(r rune) bool { return isTypographic(r) && !theirs[r] && (damaged || isInvisible(r)) }
	if !strings.ContainsFunc(s, odd) {
		return s
	}
	var b strings.Builder
	for i, r := range s {
		plain, _ := plainRune(r)
		switch {
		case odd(r) && (damaged || !strings.ContainsRune(c.t.s, r)):
			b.WriteString(plain)
		default:
			b.WriteString(s[i : i+runeSize(s[i:])])
		}
	}
	return b.String()
}

func runeSize(s string) int {
	_, n := utf8.DecodeRuneInString(s)
	return n
}
