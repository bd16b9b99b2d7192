package match

import (
	"strings"
	"unicode"
)

// A piece is a stretch of the text between line breaks, with the break that
// follows it.
type piece struct {
	line, eol string
	off       int
}

// A change is an old and a new block at a place, ready to be written.
type change struct {
	t        *Text
	pieces   []piece
	at       func(i int) int // piece for an old line, or -1
	old, new []string
	src      []int // old line for every new line that it shares, or -1
	literal  bool  // new lines go in as they are
	whole    bool  // pieces are whole lines of the text
	slips    bool  // lines of the text may differ in words

	ind      *indenter
	foldBack func(string) string
	trim     bool // blanks at line ends are the model's own

	mended   bool // old has been given the text's indentation
	doubt    bool // what new means by its indentation is not clear
	phantoms int  // removed blank lines of old that the text does not have, since the last line with content that stays

	out   []outLine
	clash []clash
	lost  []Slip // lines removed although they were not what old said
}

// An outLine is a line of the result: kept bytes of a piece, or new text.
type outLine struct {
	text string
	keep bool   // the bytes of piece at stay
	at   int    // piece whose place it has, or -1
	eol  string // empty: the ending in force
}

// wholeChange prepares a change of whole lines.
func (t *Text) wholeChange(p *place, old, new []string) *change {
	c := &change{t: t, old: old, new: new, whole: true, literal: p.level == Exact, slips: p.level == Slips}
	for i := p.first; i <= p.last; i++ {
		c.pieces = append(c.pieces, piece{t.Line(i), t.eol(i), t.index()[i]})
	}
	first := p.first
	at := *p
	c.at = func(i int) int {
		if k := at.line(i); k >= 0 {
			return k - first
		}
		return -1
	}
	return c
}

// partChange prepares a change of the bytes [start, end), which old equals.
func (t *Text) partChange(start, end int, old, new string) *change {
	c := &change{t: t, old: strings.Split(old, "\n"), new: strings.Split(new, "\n"), literal: true}
	for pos := start; ; {
		i := strings.IndexByte(t.s[pos:end], '\n')
		if i < 0 {
			// A break right behind the part belongs to its last line.
			n := firstEOL(t.s[end:])
			c.pieces = append(c.pieces, piece{t.s[pos:end], t.s[end : end+n], pos})
			break
		}
		line, eol := cutEOL(t.s[pos : pos+i+1])
		c.pieces = append(c.pieces, piece{line, eol, pos})
		pos += i + 1
	}
	c.at = func(i int) int { return i }
	return c
}

// spans writes the change.
func (c *change) spans() []Span {
	if c.src == nil {
		c.align()
	}
	if !c.literal {
		c.learn()
	}
	c.merge()
	c.endings()
	return c.diff()
}

// merge walks both blocks and lists the lines of the result.
func (c *change) merge() {
	next := 0 // the first piece not decided yet
	i, j := 0, 0
	for {
		nj := j
		for nj < len(c.new) && c.src[nj] < 0 {
			nj++
		}
		ni := len(c.old)
		if nj < len(c.new) {
			ni = c.src[nj]
		}
		end := len(c.pieces)
		if nj < len(c.new) {
			if k := c.pieceFrom(ni); k >= 0 {
				end = k
			}
		}
		next = c.hunk(i, ni, j, nj, next, end)
		if nj == len(c.new) {
			return
		}
		if k := c.at(ni); k >= 0 {
			for ; next < k; next++ {
				c.keep(next)
			}
			c.shared(ni, nj, k)
			next = k + 1
			if len(strings.TrimSpace(c.old[ni])) > 3 {
				c.phantoms = 0
			}
		}
		i, j = ni+1, nj+1
	}
}

// pieceFrom returns the piece of old line i, or of the next one that has one.
func (c *change) pieceFrom(i int) int {
	for ; i < len(c.old); i++ {
		if k := c.at(i); k >= 0 {
			return k
		}
	}
	return len(c.pieces)
}

func (c *change) keep(k int) {
	c.out = append(c.out, outLine{c.pieces[k].line, true, k, c.pieces[k].eol})
}

// shared writes a line that old and new have in common.
func (c *change) shared(i, j, k int) {
	line := c.pieces[k].line
	if c.literal || indentOf(c.old[i]) == indentOf(c.new[j]) || isBlank(line) {
		c.keep(k)
		return
	}
	body := line[len(indentOf(line)):]
	in := c.ind.carryFrom(indentOf(c.new[j]), i, indentOf(c.old[i]), indentOf(line))
	if in+body == line {
		c.keep(k)
		return
	}
	c.out = append(c.out, outLine{in + body, false, k, c.pieces[k].eol})
}

// hunk writes the change of old[i0:i1] to new[j0:j1], which covers the pieces
// from next up to end, and returns the next piece to decide.
func (c *change) hunk(i0, i1, j0, j1, next, end int) int {
	if i0 == i1 && j0 == j1 {
		return next
	}
	// Pieces before the first removed line are blank lines that old left out.
	first, last := end, -1
	for i := i0; i < i1; i++ {
		if k := c.at(i); k >= 0 {
			first, last = min(first, k), max(last, k)
		}
	}
	for i := i0; i < i1; i++ {
		if c.at(i) < 0 && isBlank(c.old[i]) {
			c.phantoms++
		}
	}
	if last < 0 {
		return c.insert(j0, j1, next, end)
	}
	for ; next < first; next++ {
		c.keep(next)
	}
	pairs := pairLines(c.old, c.new, i0, i1, j0, j1)
	pos, j := i0, j0
	for _, p := range pairs {
		c.drop(&next, pos, p.i)
		for ; j < p.j; j++ {
			c.add(j, p.i)
		}
		k := c.at(p.i)
		if k < 0 {
			c.add(p.j, p.i)
		} else {
			// Blank lines that old left out stay between lines that stay.
			for ; next < k; next++ {
				c.keep(next)
			}
			c.replace(p, k)
			next = k + 1
		}
		pos, j = p.i+1, p.j+1
	}
	for ; j < j1; j++ {
		c.add(j, min(pos, len(c.old)-1))
	}
	if next <= last {
		c.drop(&next, pos, i1)
		next = max(next, last+1)
	}
	return next
}

// drop removes old[i0:i1] and the blank lines of the text among them.
func (c *change) drop(next *int, i0, i1 int) {
	for i := i0; i < i1; i++ {
		if k := c.at(i); k >= *next {
			if c.slips {
				c.gone(c.old[i], c.pieces[k].line)
			}
			*next = k + 1
		}
	}
}

// gone notes a removed line that was not what old said.
func (c *change) gone(old, have string) {
	if normalize(Spacing, old) != normalize(Spacing, have) {
		m := mergeLine(strings.TrimSpace(old), strings.TrimSpace(have), "")
		c.clash = append(c.clash, m.clash...)
		c.lost = append(c.lost, Slip{Want: old, Have: have})
	}
}

// insert writes new lines where nothing is removed. Blank lines of the text
// that old left out lie in [next, end): those that the new lines bring
// themselves are not doubled.
func (c *change) insert(j0, j1, next, end int) int {
	gap := end - next
	lead := 0
	for j0+lead < j1 && isBlank(c.new[j0+lead]) {
		lead++
	}
	near := c.nearOld(j0)
	if gap > 0 && lead > 0 && lead < j1-j0 {
		for ; next < end; next++ {
			c.keep(next)
		}
		j0 += min(lead, gap)
		gap = 0
	}
	tail := 0
	for j1-tail > j0 && isBlank(c.new[j1-1-tail]) {
		tail++
	}
	if gap > 0 && tail > 0 {
		j1 -= min(tail, gap)
	}
	for j := j0; j < j1; j++ {
		c.add(j, near)
	}
	return next
}

// nearOld returns the old line that new line j stands behind.
func (c *change) nearOld(j int) int {
	for k := j - 1; k >= 0; k-- {
		if c.src[k] >= 0 {
			return c.src[k]
		}
	}
	return 0
}

// add writes a new line that takes no line's place, near old line i. A blank one
// that stands for one which only old has is not written.
func (c *change) add(j, i int) {
	if c.phantom(j) {
		return
	}
	c.out = append(c.out, outLine{c.own(c.new[j], i), false, -1, ""})
}

// phantom reports whether new line j is a blank line of old's that the text does
// not have.
func (c *change) phantom(j int) bool {
	if c.phantoms == 0 || !isBlank(c.new[j]) {
		return false
	}
	c.phantoms--
	return true
}

// unclear reports whether the indentation of what was written is a guess.
func (c *change) unclear() bool { return c.doubt || c.ind != nil && c.ind.doubt }

// own returns a new line in the form of the place.
func (c *change) own(line string, i int) string {
	if c.literal {
		return line
	}
	if isBlank(line) {
		if c.trim || strings.Trim(line, " \t") == "" && !c.ind.same {
			return ""
		}
		return line
	}
	in := indentOf(line)
	body := c.foldBack(line[len(in):])
	if c.trim {
		body = trimRight(body)
	}
	return c.ind.carry(in, i) + body
}

// replace writes a new line in the place of piece k.
func (c *change) replace(p linePair, k int) {
	if c.phantom(p.j) {
		return
	}
	have, eol := c.pieces[k].line, c.pieces[k].eol
	o, n := c.old[p.i], c.new[p.j]
	if c.literal {
		c.out = append(c.out, outLine{n, false, k, eol})
		return
	}
	if !p.strong || isBlank(o) || isBlank(n) || isBlank(have) {
		if c.slips {
			c.gone(o, have)
		}
		text := c.own(n, p.i)
		if !isBlank(n) && indentOf(n) == indentOf(o) && !isBlank(o) {
			text = indentOf(have) + text[len(indentOf(text)):]
		}
		c.out = append(c.out, outLine{text, false, k, eol})
		return
	}
	oi, hi, ni := indentOf(o), indentOf(have), indentOf(n)
	ob, _ := cutBlanks(o[len(oi):])
	hb, _ := cutBlanks(have[len(hi):])
	nb, nt := cutBlanks(n[len(ni):])
	m := mergeLine(ob, hb, nb)
	if c.slips {
		c.clash = append(c.clash, m.clash...)
		if len(m.clash) > 0 {
			c.lost = append(c.lost, Slip{Want: o, Have: have})
		}
	}
	in := hi
	if ni != oi {
		in = c.ind.carryFrom(ni, p.i, oi, hi)
	}
	if c.trim {
		nt = ""
	}
	c.out = append(c.out, outLine{in + c.foldBack(m.text) + nt, false, k, eol})
}

func cutBlanks(s string) (body, tail string) {
	body = trimRight(s)
	return body, s[len(body):]
}

// trimRight removes blanks of all kinds from the end of a line.
func trimRight(s string) string { return strings.TrimRightFunc(s, unicode.IsSpace) }

// endings gives every line of the result its line break.
func (c *change) endings() {
	if len(c.out) == 0 {
		return
	}
	line := c.t.lineAt(c.pieces[0].off)
	force := c.t.eolNear(line)
	if c.whole && line > 0 {
		force = c.t.eolNear(line - 1)
	}
	final := c.pieces[len(c.pieces)-1].eol
	for k := range c.out {
		o := &c.out[k]
		if k == len(c.out)-1 && final == "" {
			o.eol = "" // still in the middle of a line, or without a last break
			break
		}
		switch {
		case o.eol != "":
		case o.at == len(c.pieces)-1:
			// The break of this line lies behind the place, or is missing.
			o.eol = c.t.eolNear(c.t.lineAt(c.pieces[o.at].off))
		default:
			o.eol = force
		}
		force = o.eol
	}
}

// diff turns the lines of the result into spans.
func (c *change) diff() []Span {
	last := c.pieces[len(c.pieces)-1]
	end := last.off + len(last.line) + len(last.eol)
	pos := c.pieces[0].off
	if len(c.out) == 0 {
		if last.eol == "" && pos > 0 && c.whole {
			// The lines at the end go, and the break before them with them.
			pos -= len(c.t.eol(c.t.lineAt(pos - 1)))
		}
		return appendSpan(nil, c.t.s, pos, end, "")
	}
	var spans []Span
	var pending strings.Builder
	for _, o := range c.out {
		if o.keep {
			p := c.pieces[o.at]
			spans = appendSpan(spans, c.t.s, pos, p.off, pending.String())
			pending.Reset()
			pos = p.off + len(p.line)
		} else {
			pending.WriteString(o.text)
		}
		pending.WriteString(o.eol)
	}
	return appendSpan(spans, c.t.s, pos, end, pending.String())
}

// appendSpan adds a span unless it changes nothing. Line breaks that stay at
// its ends are left out of it.
func appendSpan(spans []Span, s string, start, end int, text string) []Span {
	if s[start:end] == text {
		return spans
	}
	if n := firstEOL(s[start:end]); n > 0 && n == firstEOL(text) {
		start += n
		text = text[n:]
	}
	_, a := cutEOL(s[start:end])
	_, b := cutEOL(text)
	if a == b {
		end -= len(a)
		text = text[:len(text)-len(b)]
	}
	return append(spans, Span{start, end, text})
}

// firstEOL returns the size of the line break at the start of s, or 0.
func firstEOL(s string) int {
	switch {
	case strings.HasPrefix(s, "\r\n"):
		return 2
	case strings.HasPrefix(s, "\n"):
		return 1
	}
	return 0
}
