package search

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/agenttool/tool/internal/search/pattern"
)

const (
	maxLine    = 64 << 10 // bytes of a line that are returned whatever was asked for
	nearby     = 2 << 10  // bytes to either side in which a match in a long line is located
	stdBudget  = 1 << 21  // steps that package regexp may take to locate matches in a line
	maxSpans   = 16
	maxBetween = 20 // lines of one multiline match that are returned
)

// rawLine is a Line whose text is still in the emitter's buffer.
type rawLine struct {
	number   int
	from, to int // in emitter.text
	column   int
	span     [2]int
	located  bool
	before   bool
	after    bool
	context  bool
	cont     bool
}

// emitter collects the lines of one file. Blocks of text come in order; line
// numbers are counted only as far as they are needed.
type emitter struct {
	g      *grepWorker
	rel    []byte
	info   info
	opened bool
	keep   bool
	count  int // matching lines, kept or not

	lines   []rawLine
	text    []byte
	matches int // lines kept that are matches

	no      int // number of the line that begins at lineAt
	lineAt  int // offset in the block
	done    int // end of the last line that was kept, in the block
	pending int // lines still to follow a match
	prev    []byte
	prevs   []int // ends, in prev, of the last lines of the block before
}

func (e *emitter) reset(g *grepWorker, rel []byte) {
	if e.g == nil {
		e.lines, e.text = g.w.lines[:0], g.w.text[:0]
	}
	*e = emitter{g: g, rel: rel, lines: e.lines[:0], text: e.text[:0], prev: e.prev[:0], prevs: e.prevs[:0], no: 1}
}

// wants reports whether more matches of the file would be kept.
func (e *emitter) wants() bool {
	g := e.g
	switch {
	case g.q.Output != Lines:
		return g.q.Output == Counts
	case !e.keep:
		return e.count == 0
	}
	return (g.perFile < 0 || e.matches < g.perFile) && (g.top.need < 0 || e.matches < g.top.need)
}

// number returns the number of the line at offset at.
func (e *emitter) number(block []byte, at int) int {
	if at > e.lineAt {
		e.no += bytes.Count(block[e.lineAt:at], newline)
		e.lineAt = at
	}
	return e.no
}

var newline = []byte("\n")

// hit keeps the line of block in which at lies, with what belongs around it. It
// returns false if no more are wanted.
func (e *emitter) hit(block []byte, at int) bool {
	from := e.done + bytes.LastIndexByte(block[e.done:max(at, e.done)], '\n') + 1
	if from < e.done {
		from = e.done
	}
	to := len(block)
	if i := bytes.IndexByte(block[max(at, from):], '\n'); i >= 0 {
		to = max(at, from) + i
	}
	e.follow(block, from)
	if !e.wants() {
		e.pending = 0
		return false
	}
	e.lead(block, from)
	e.match(block, from, to, at)
	return true
}

// match keeps the line block[from:to] as a match.
func (e *emitter) match(block []byte, from, to, at int) {
	e.keepLine(e.number(block, from), block[from:to], at-from)
	e.matches++
	e.done = min(to+1, len(block))
	e.pending = e.g.q.After
}

// follow keeps lines that follow a match, up to offset limit.
func (e *emitter) follow(block []byte, limit int) {
	for e.pending > 0 && e.done < limit {
		to := limit
		if i := bytes.IndexByte(block[e.done:limit], '\n'); i >= 0 {
			to = e.done + i
		}
		e.keepContext(e.number(block, e.done), block[e.done:to])
		e.done = min(to+1, limit)
		e.pending--
		e.forget()
	}
}

// lead keeps the lines before a match at offset from.
func (e *emitter) lead(block []byte, from int) {
	n, start := e.g.q.Before, from
	for n > 0 && start > e.done {
		start = e.done + bytes.LastIndexByte(block[e.done:start-1], '\n') + 1
		n--
	}
	if start == 0 && n > 0 { // some are in the block before
		first := e.number(block, 0) - len(e.prevs)
		for i := max(len(e.prevs)-n, 0); i < len(e.prevs); i++ {
			begin := 0
			if i > 0 {
				begin = e.prevs[i-1]
			}
			e.keepContext(first+i, e.prev[begin:e.prevs[i]])
		}
	}
	e.forget()
	for start < from {
		to := start + bytes.IndexByte(block[start:from], '\n')
		e.keepContext(e.number(block, start), block[start:to])
		start = to + 1
	}
}

// next ends a block that others follow.
func (e *emitter) next(block []byte) {
	if e.g.q.Output != Lines || e.opened && !e.keep {
		return
	}
	e.follow(block, len(block))
	if n := e.g.q.Before; n > 0 && e.wants() {
		start := len(block)
		for n > 0 && start > e.done {
			start = e.done + bytes.LastIndexByte(block[e.done:start-1], '\n') + 1
			n--
		}
		if e.done > 0 {
			e.forget()
		}
		for start < len(block) {
			to := start + bytes.IndexByte(block[start:], '\n')
			e.remember(block[start:min(to, start+margin)])
			start = to + 1
		}
	}
	if e.wants() || e.pending > 0 {
		e.number(block, len(block))
	}
	e.lineAt, e.done = 0, 0
}

// remember keeps a line for a match that may follow in the next block.
func (e *emitter) remember(line []byte) {
	if e.g.q.Before == 0 {
		return
	}
	if len(e.prevs) == e.g.q.Before {
		first := e.prevs[0]
		e.prev = append(e.prev[:0], e.prev[first:]...)
		for i := range e.prevs[1:] {
			e.prevs[i] = e.prevs[i+1] - first
		}
		e.prevs = e.prevs[:len(e.prevs)-1]
	}
	e.prev = append(e.prev, line...)
	e.prevs = append(e.prevs, len(e.prev))
}

func (e *emitter) forget() { e.prev, e.prevs = e.prev[:0], e.prevs[:0] }

func (e *emitter) keepContext(number int, line []byte) {
	line = bytes.TrimSuffix(line, []byte("\r"))
	w := e.window(line, 0)
	from := len(e.text)
	e.text = append(e.text, line[:w]...)
	e.lines = append(e.lines, rawLine{number: number, from: from, to: len(e.text), context: true, after: w < len(line)})
}

// keepLine keeps a line that matches, or the part of it around the match.
func (e *emitter) keepLine(number int, line []byte, at int) {
	line = bytes.TrimSuffix(line, []byte("\r"))
	raw := rawLine{number: number, from: len(e.text)}
	begin, end := 0, e.window(line, 0)
	if end < len(line) {
		at = min(at, len(line))
		loc := near(e.g.p, line, at)
		raw.located = loc[1] > loc[0]
		begin = e.back(line, loc)
		end = e.window(line, begin)
		if raw.located {
			raw.column = loc[0] + 1
			raw.span = [2]int{loc[0] - begin, min(loc[1], end) - begin}
		}
		raw.before, raw.after = begin > 0, end < len(line)
	}
	e.text = append(e.text, line[begin:end]...)
	raw.to = len(e.text)
	e.lines = append(e.lines, raw)
}

// window returns where a line that is shown from begin on ends.
func (e *emitter) window(line []byte, begin int) int {
	width := e.g.width
	if width < 0 {
		return begin + len(cut(line[begin:], maxLine))
	}
	if len(line)-begin <= width {
		return len(line)
	}
	i := begin
	for range width {
		if i >= len(line) {
			return len(line)
		}
		_, n := utf8.DecodeRune(line[i:])
		i += n
	}
	return i
}

// cut shortens b to at most n bytes without splitting a rune.
func cut(b []byte, n int) []byte {
	if len(b) <= n {
		return b
	}
	for i := n; i > n-utf8.UTFMax; i-- {
		if utf8.RuneStart(b[i]) {
			return b[:i]
		}
	}
	return b[:n]
}

// back returns where to begin to show a line so that the match is in the middle.
func (e *emitter) back(line []byte, loc [2]int) int {
	width := e.g.width
	if width < 0 {
		width = maxLine / utf8.UTFMax
	}
	room := max(width-utf8.RuneCount(cut(line[loc[0]:loc[1]], 4*width)), 0) / 2
	// Near the end of the line the room behind the match goes to the front.
	behind := 0
	for i := loc[1]; i < len(line) && behind < room; behind++ {
		_, n := utf8.DecodeRune(line[i:])
		i += n
	}
	i := loc[0]
	for range 2*room - behind {
		if i == 0 {
			break
		}
		_, n := utf8.DecodeLastRune(line[:i])
		i -= n
	}
	return i
}

// near locates the match in a long line that became certain at offset at. If it
// cannot be found near there the empty span at that place is returned.
func near(p *pattern.Pattern, line []byte, at int) [2]int {
	from, to := max(at-nearby, 0), min(at+nearby, len(line))
	if room := stdBudget / max(p.Insts(), 1); to-from > room {
		from, to = max(at-room/2, 0), min(at+room/2, len(line))
	}
	for from > 0 && from < at && !utf8.RuneStart(line[from]) {
		from++
	}
	// The match that ends first is the one that was found; one that merely
	// begins first might be far off.
	best := [2]int{at, at}
	re := p.Regexp()
	for _, loc := range re.FindAllIndex(line[from:to], maxSpans*16) {
		s, e := from+loc[0], from+loc[1]
		if s <= at && e >= at || s > at {
			return [2]int{s, e}
		}
		best = [2]int{s, e}
	}
	return best
}

// take turns what was collected into Lines that own their text.
func (e *emitter) take() []Line {
	all := string(e.text)
	out := make([]Line, len(e.lines))
	valid := utf8.ValidString(all)
	for i, r := range e.lines {
		l := Line{
			Number: r.number, Text: all[r.from:r.to], Column: r.column,
			CutBefore: r.before, CutAfter: r.after, Context: r.context, Continued: r.cont,
		}
		if r.located {
			l.Spans = [][2]int{r.span}
		}
		if !valid && !utf8.ValidString(l.Text) {
			l.Text, l.Spans = strings.ToValidUTF8(l.Text, "\uFFFD"), nil
		}
		out[i] = l
	}
	return out
}

// locate finds the matches within lines.
func (g *grep) locate(lines []Line) {
	if g.p.Multiline {
		return
	}
	re, budget := g.p.Regexp(), stdBudget/max(g.p.Insts(), 1)
	for i := range lines {
		l := &lines[i]
		if l.Context || l.Spans != nil || len(l.Text) > budget {
			continue
		}
		for _, loc := range re.FindAllStringIndex(l.Text, maxSpans) {
			l.Spans = append(l.Spans, [2]int{loc[0], loc[1]})
		}
		if len(l.Spans) > 0 && !l.CutBefore {
			l.Column = l.Spans[0][0] + 1
		}
	}
}
