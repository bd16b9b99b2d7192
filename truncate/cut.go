package truncate

import (
	"strings"
	"unicode/utf8"
)

// source is what is cut: a text, or the two ends of one whose middle is gone.
type source struct {
	text  string
	at    int  // where the gap is in text; -1: there is none
	joint bool // the gap ends with a line
	open  bool // the last line has no newline
	bytes int  // of the input
	// newlines of the input; gapLines are those in the gap.
	newlines, gapLines int
	folds              []fold    // runs of equal lines that were folded, in order
	errs               []errLine // lines of the gap that look like errors
}

// fold is a place in a text where lines were left out because they repeat.
type fold struct {
	off   int // in the text, behind what stands for the run
	lines int // of the run that are not in the text
	bytes int // the same in bytes
}

// line returns the number of the line, from 1, that begins at off, as if there
// were no gap.
func (s *source) line(off int) int {
	n := strings.Count(s.text[:off], "\n") + 1
	for _, f := range s.folds {
		if f.off > off {
			break
		}
		n += f.lines
	}
	return n
}

func (s *source) totalLines() int {
	if s.open {
		return s.newlines + 1
	}
	return s.newlines
}

// cut bounds src, which does not fit, to l. path and err are those of the spill.
func (p Policy) cut(l limits, src *source, path string, err error) Cut {
	c := Cut{
		Truncated:  true,
		TotalBytes: src.bytes, TotalLines: src.totalLines(),
		Path: path, SpillErr: err,
	}
	limit := l.bytes
	if limit < 0 {
		limit = len(src.text) + 4096 // room for the notice
	}
	if l.tokens >= 0 {
		limit = min(limit, l.tokens*maxTokenBytes)
	}
	for form := formFull; ; form++ {
		// The notice is longest when everything is omitted.
		worst := c
		worst.Bytes, worst.Lines, worst.NextLine = c.TotalBytes, c.TotalLines, c.TotalLines
		room := len(p.notice(&worst, nil, form)) + 2
		if form < formNone && room > limit*3/4 {
			continue
		}
		if form == formNone {
			room = 0
		}
		if p.fill(l, src, &c, form, limit, limit-room) || form == formNone {
			return c
		}
	}
}

// maxTokenBytes is more than a token ever stands for on average; it only keeps
// the first try at a budget of tokens from counting a whole text.
const maxTokenBytes = 32

// fill completes c within limit bytes, of which budget are for the kept parts.
// It reports whether that left something of the text.
func (p Policy) fill(l limits, src *source, c *Cut, form noticeForm, limit, budget int) bool {
	var errs []errLine
	share := 0
	if p.Keep == HeadTail && p.Errors > 0 && form <= formPlain {
		from, to := p.window(l, src, budget)
		if len(src.errs) > 0 || findErrors(src, from, to, 1, nil) != nil {
			share = min(budget/4, p.Errors*(maxErrLine/2))
		}
	}
	for range 40 {
		if budget <= share && form != formNone {
			return false
		}
		from, to := p.window(l, src, max(0, budget-share))
		if share > 0 {
			errs = fitErrors(findErrors(src, from, to, p.Errors, src.errs), p.Errors, share)
		}
		p.compose(src, c, errs, form, from, to)
		over := len(c.Text) - limit
		if l.bytes < 0 {
			over = 0
		}
		if over <= 0 && l.fitsTokens(c.Text) {
			return true
		}
		// Shrink in proportion: U+FFFD is longer than what it replaces, and
		// tokens have no fixed length. For these a little more.
		next := budget - budget*over/max(1, len(c.Head)+len(c.Tail))
		if over <= 0 {
			next = budget * l.tokens / max(1, l.tokensOf(c.Text))
			next -= next / 32
		}
		budget = max(0, min(next, budget-1-budget/64))
	}
	// Only a count of tokens that does not shrink with the text gets here.
	p.compose(src, c, nil, formNone, 0, len(src.text))
	return true
}

// window returns which part of src.text is left out for the kept rest to be
// within budget bytes and the limit of lines.
func (p Policy) window(l limits, src *source, budget int) (from, to int) {
	whole := src.at < 0
	front, back := src.text, src.text
	if !whole {
		front, back = src.text[:src.at], src.text[src.at:]
	}
	switch p.Keep {
	case Tail:
		return 0, len(src.text) - len(back) + tailStart(back, budget, l.lines, whole || src.joint)
	case HeadTail:
		share := p.HeadShare
		if share <= 0 || share >= 1 {
			share = 0.5
		}
		lines := l.lines
		if lines >= 0 {
			lines = int(float64(lines) * share)
		}
		from = headEnd(front, int(float64(budget)*share), lines, false)
		if lines >= 0 {
			lines = max(0, l.lines-countLines(src.text[:from]))
		}
		if whole {
			back = src.text[from:]
		}
		return from, len(src.text) - len(back) + tailStart(back, budget-from, lines, whole || src.joint)
	default:
		return headEnd(front, budget, l.lines, whole), len(src.text)
	}
}

// compose sets the fields of c that depend on what is left out: src.text[from:to]
// and the gap in it.
func (p Policy) compose(src *source, c *Cut, errs []errLine, form noticeForm, from, to int) {
	c.Head, c.Tail = src.text[:from], src.text[to:]
	inHead, headOK := scan(c.Head, true)
	inTail, tailOK := scan(c.Tail, true)
	c.Bytes = src.bytes - len(c.Head) - len(c.Tail)
	c.Lines = src.newlines - inHead - inTail
	c.NextLine = 0
	if from == 0 || c.Head[from-1] == '\n' {
		c.NextLine = inHead + 1
	}
	for _, f := range src.folds {
		inside := f.off <= from
		if inside || f.off > to {
			c.Lines -= f.lines
			c.Bytes -= f.bytes
		}
		if inside && c.NextLine > 0 {
			c.NextLine += f.lines
		}
	}
	atLine := to > 0 && src.text[to-1] == '\n'
	if src.at == to {
		atLine = src.joint
	}
	if !atLine && c.Bytes > 0 {
		c.Lines++ // what is left out ends within a line
	}
	if !headOK {
		c.Head = repair(c.Head)
	}
	if !tailOK {
		c.Tail = repair(c.Tail)
	}
	c.Text = join(c.Head, p.notice(c, errs, form), c.Tail)
}

// join puts the notice on lines of its own between the kept parts.
func join(head, notice, tail string) string {
	if notice == "" {
		return head + tail
	}
	var b strings.Builder
	b.Grow(len(head) + len(notice) + len(tail) + 2)
	b.WriteString(head)
	if head != "" && head[len(head)-1] != '\n' {
		b.WriteByte('\n')
	}
	b.WriteString(notice)
	if tail != "" {
		b.WriteByte('\n')
		b.WriteString(tail)
	}
	return b.String()
}

func valid(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return repair(s)
}
