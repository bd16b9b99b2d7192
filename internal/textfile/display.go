package textfile

import (
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

// A display fills a View with lines.
type display struct {
	v      *View
	s      *source
	x      *lineIndex
	start  int64 // where the text begins
	budget int64 // bytes that may still be looked at beyond what is shown
	runes  int   // of one line
	left   int   // bytes of text still to show
	limit  int   // lines of a range that does not say
}

const (
	beyondLines = 10 // lines shown for an offset beyond the end
	noLine      = math.MaxInt
	farAway     = math.MaxInt / 4 // more than any file has; keeps sums of what a model sends from overflowing
)

func (d *display) run(q Query) error {
	ranges := q.Ranges
	if len(ranges) == 0 {
		ranges = []Range{{q.Offset, q.Limit}}
	}
	ranges, err := d.order(ranges)
	if err != nil {
		return err
	}
	for i, r := range ranges {
		skip := 0
		if i == 0 {
			skip = min(max(q.LineOffset, 0), farAway)
		}
		if r.Offset < 0 {
			err = d.tail(-r.Offset, r.Limit)
		} else {
			err = d.lines(r.Offset, r.Limit, skip)
		}
		if err != nil {
			return err
		}
		if d.v.Partial && d.left <= 0 || d.v.BeyondEnd {
			break
		}
	}
	return d.total()
}

// order resolves and merges ranges; those from the end become ordinary ones when the file is small enough to count its lines.
func (d *display) order(ranges []Range) ([]Range, error) {
	var out, tails []Range
	for _, r := range ranges {
		r.Offset, r.Limit = max(min(r.Offset, farAway), -farAway), min(r.Limit, farAway)
		if r.Offset == 0 {
			r.Offset = 1
		}
		if r.Limit <= 0 {
			r.Limit = d.limit
			if r.Offset < 0 {
				r.Limit = max(r.Limit, -r.Offset)
			}
		}
		if r.Offset < 0 {
			if total, ok, err := d.count(); err != nil {
				return nil, err
			} else if ok {
				r.Offset = max(total+r.Offset+1, 1)
			} else {
				tails = append(tails, r)
				continue
			}
		}
		out = append(out, r)
	}
	slices.SortStableFunc(out, func(a, b Range) int { return a.Offset - b.Offset })
	merged := out[:0]
	for _, r := range out {
		if n := len(merged); n > 0 && r.Offset <= merged[n-1].Offset+merged[n-1].Limit {
			merged[n-1].Limit = max(merged[n-1].Limit, r.Offset-merged[n-1].Offset+r.Limit)
			continue
		}
		merged = append(merged, r)
	}
	return append(merged, tails...), nil
}

// count returns the number of lines if that is known or the file is small enough to find out.
func (d *display) count() (total int, ok bool, err error) {
	if d.x.total < 0 {
		if d.s.size-d.x.upTo > scanBudget {
			return 0, false, nil
		}
		if _, _, err := d.s.skipTo(d.x, noLine, -1); err != nil {
			return 0, false, err
		}
	}
	return d.x.total, d.x.total >= 0, nil
}

// total says how many lines there are, as far as that can be found out cheaply.
func (d *display) total() error {
	if d.x.total < 0 && d.budget > 0 {
		if _, _, err := d.s.skipTo(d.x, noLine, d.budget); err != nil {
			return err
		}
	}
	d.v.Total, d.v.TotalAtLeast = d.x.total, false
	if d.x.total < 0 {
		d.v.Total, d.v.TotalAtLeast = d.x.lines, true
		if d.s.size > d.x.upTo {
			d.v.Total++
		}
	}
	return nil
}

// lines shows limit lines from first on.
func (d *display) lines(first, limit, skip int) error {
	off, found, err := d.s.skipTo(d.x, first, -1)
	if err != nil {
		return err
	}
	if !found || off >= d.s.size && (first > 1 || d.s.size > d.start) {
		if d.x.total < 0 {
			if _, _, err := d.s.skipTo(d.x, noLine, -1); err != nil {
				return err
			}
		}
		d.v.BeyondEnd = first > 1
		if d.v.BeyondEnd && d.x.total > 0 && len(d.v.Lines) == 0 {
			return d.lines(max(1, d.x.total-beyondLines+1), beyondLines, 0)
		}
		return nil
	}
	return d.show(off, first, limit, skip)
}

// tail shows the last n lines, or the first limit of them, without looking at the rest of the file.
func (d *display) tail(n, limit int) error {
	off, found, err := d.s.tailStart(d.start, n, tailBudget)
	if err != nil {
		return err
	}
	if found && off == d.start {
		return d.show(off, 1, limit, 0)
	}
	if !found {
		// One endless line: show its end.
		last := max(d.start, d.s.size-int64(d.runes*d.s.c.unit))
		last -= (last - d.start) % int64(d.s.c.unit)
		b, err := d.s.fill(last)
		if err != nil {
			return err
		}
		for last > d.start && d.s.c.table == nil && len(b) > 0 && !utf8.RuneStart(b[0]) {
			b = b[1:]
		}
		text, _ := d.s.c.decode(b)
		if i := strings.LastIndexByte(strings.TrimSuffix(text, "\n"), '\n'); i >= 0 {
			text = text[i+1:]
		}
		shown, esc := Visible(strings.TrimSuffix(strings.TrimSuffix(text, "\n"), "\r"))
		d.v.Escapes += esc
		d.v.Lines = append(d.v.Lines, Line{Number: -1, Text: shown, From: -1})
		d.v.Partial = true
		d.v.Next = Query{Offset: 1}
		return nil
	}
	return d.show(off, -n, limit, 0)
}

// show adds up to limit lines from the byte off on, numbered from number; numbers below zero count up to -1.
func (d *display) show(off int64, number, limit, skip int) error {
	for shown := 0; shown < limit && off < d.s.size && number != 0; shown++ {
		if d.left <= 0 {
			d.stop(number)
			return nil
		}
		line, next, err := d.line(off, number, skip)
		if err != nil {
			return err
		}
		if len(d.v.Lines) > 0 && len(line.Text) > d.left {
			d.left = 0
			d.stop(number)
			return nil
		}
		d.left -= len(line.Text) + 1
		d.v.Lines = append(d.v.Lines, line)
		if next < 0 { // the end of the line was not found: nothing beyond it can be shown
			d.left = 0
			d.stop(number)
			return nil
		}
		if line.More > 0 && (skip > 0 || line.Runes < d.runes) {
			d.left = 0 // cut for want of room, not for its length: go on there
		}
		skip, off = 0, next
		if number++; number > 0 {
			d.s.count(d.x, number, off)
		}
	}
	if off < d.s.size || len(d.v.Lines) > 0 && d.v.Lines[len(d.v.Lines)-1].More > 0 {
		d.stop(number)
	}
	return nil
}

// stop notes that there is more, and where: inside the last line shown if that is cut, else at line number.
func (d *display) stop(number int) {
	d.v.Partial = true
	d.v.Next = Query{Offset: number}
	if n := len(d.v.Lines); n > 0 && d.v.Lines[n-1].More > 0 {
		last := d.v.Lines[n-1]
		d.v.Next = Query{Offset: last.Number, LineOffset: last.From + last.Runes}
	}
}

// line reads the line that begins at off, without its first skip characters. next is where the following line begins, -1
// when that would take too long to find out.
func (d *display) line(off int64, number, skip int) (line Line, next int64, err error) {
	b, err := d.s.at(off)
	if err != nil {
		return line, 0, err
	}
	nl := d.s.c.newline(b)
	if nl < 0 && off+int64(len(b)) < d.s.size {
		if b, err = d.s.fill(off); err != nil {
			return line, 0, err
		}
		nl = d.s.c.newline(b)
	}
	if nl < 0 && off+int64(len(b)) < d.s.size {
		return d.longLine(off, number, skip)
	}
	if nl < 0 {
		nl, next = len(b), d.s.size
		d.v.NoFinalNewline = true
	} else {
		next = off + int64(nl+d.s.c.unit)
	}
	text, _ := d.s.c.decode(b[:nl])
	if !d.v.NoFinalNewline {
		text = strings.TrimSuffix(text, "\r")
	}
	total := utf8.RuneCountInString(text)
	skip = min(skip, total)
	for range skip {
		_, n := utf8.DecodeRuneInString(text)
		text = text[n:]
	}
	line = d.cut(text, number, skip)
	line.More = total - skip - line.Runes
	return line, next, nil
}

// cut makes a Line of the beginning of text, as much as may be shown.
func (d *display) cut(text string, number, skip int) Line {
	runes := d.runes
	if skip > 0 {
		runes = len(text) // somebody pages through this line: give as much as fits
	}
	most := len(text)
	if len(d.v.Lines) == 0 {
		most = min(most, d.left)
	}
	end, n := 0, 0
	for end < len(text) && n < runes {
		_, size := utf8.DecodeRuneInString(text[end:])
		if n > 0 && end+size > most {
			break
		}
		end += size
		n++
	}
	shown, escapes := Visible(text[:end])
	d.v.Escapes += escapes
	return Line{Number: number, Text: shown, From: skip, Runes: n}
}

// longLine is line for a line that is longer than a chunk.
func (d *display) longLine(off int64, number, skip int) (line Line, next int64, err error) {
	x := d.x
	if x.longAt != off || x.longOff == 0 {
		x.longAt, x.longRunes, x.longOff, x.longTotal, x.longNext = off, 0, off, -1, -1
		x.countedRunes, x.countedTo = 0, off
	}
	pos, at := off, 0
	if x.longRunes <= skip {
		pos, at = x.longOff, x.longRunes
	}
	pos, at, _, err = d.runesFrom(pos, at, skip, -1)
	if err != nil {
		return line, 0, err
	}
	b, err := d.s.fill(pos)
	if err != nil {
		return line, 0, err
	}
	ends := false
	if nl := d.s.c.newline(b); nl >= 0 {
		b, ends = b[:nl], true
	}
	_, used := d.s.c.countRunes(b, -1, ends || pos+int64(len(b)) >= d.s.size)
	text, _ := d.s.c.decode(b[:used])
	line = d.cut(text, number, at)
	_, used = d.s.c.countRunes(b[:used], line.Runes, true)
	x.longRunes, x.longOff = at+line.Runes, pos+int64(used)
	if x.longTotal < 0 {
		from, before := x.longOff, x.longRunes
		if x.countedTo > from { // an earlier call came this far
			from, before = x.countedTo, x.countedRunes
		}
		end, total, nextLine, err := d.runesFrom(from, before, noLine, d.budget)
		if err != nil {
			return line, 0, err
		}
		d.budget -= end - from
		if nextLine < 0 {
			x.countedTo, x.countedRunes = end, total
			line.More, line.MoreAtLeast = total-x.longRunes, true
			return line, -1, nil
		}
		x.longTotal, x.longNext = total, nextLine
	}
	line.More = x.longTotal - x.longRunes
	if line.More < 0 { // the CR of the line end was shown with the rest
		line.More = 0
		line.Text = strings.TrimSuffix(line.Text, `\r`)
		line.Runes--
		d.v.Escapes--
	}
	if x.longNext >= d.s.size && line.More == 0 {
		d.v.NoFinalNewline = !d.endsInNewline()
	}
	return line, x.longNext, nil
}

func (d *display) endsInNewline() bool {
	b, err := d.s.fill(d.s.size - int64(d.s.c.unit))
	return err == nil && d.s.c.newline(b) == 0
}

// runesFrom moves on inside a line, from pos where at characters are behind, until want are, or to the end of the line. next is
// where the next line begins if the end was reached, else -1; a CR before the line end is not counted. At most budget
// bytes are looked at (negative: no limit).
func (d *display) runesFrom(pos int64, at, want int, budget int64) (newPos int64, runes int, next int64, err error) {
	for at < want {
		if pos >= d.s.size {
			return pos, at, d.s.size, nil
		}
		b, err := d.s.fill(pos)
		if err != nil {
			return pos, at, -1, err
		}
		last := pos+int64(len(b)) >= d.s.size
		nl := d.s.c.newline(b)
		if nl >= 0 {
			b, last = b[:nl], true
		}
		n, used := d.s.c.countRunes(b, want-at, last)
		at += n
		if nl >= 0 && used == nl {
			if want == noLine && d.crBefore(pos, nl) {
				at--
			}
			return pos + int64(used), at, pos + int64(nl+d.s.c.unit), nil
		}
		if used == 0 {
			used = len(b) // a broken character at the end of the file
		}
		pos += int64(used)
		if budget >= 0 {
			if budget -= int64(used); budget < 0 {
				return pos, at, -1, nil
			}
		}
	}
	return pos, at, -1, nil
}

// crBefore reports whether a CR stands before the newline that is nl bytes after pos.
func (d *display) crBefore(pos int64, nl int) bool {
	at := pos + int64(nl) - int64(d.s.c.unit)
	if at < d.start {
		return false
	}
	b, err := d.s.fill(at)
	if err != nil || len(b) < d.s.c.unit {
		return false
	}
	text, _ := d.s.c.decode(b[:d.s.c.unit])
	return text == "\r"
}
