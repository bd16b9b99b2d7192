package search

import (
	"bytes"
	"io"
	"regexp"
	"unicode/utf8"
)

// multiline searches a whole file for matches that may span lines. The
// automaton rules most files out; package regexp finds the matches of the others.
func (g *grepWorker) multiline(f file, text []byte) {
	if bytes.IndexByte(text, 0) >= 0 {
		g.w.stats.Searched--
		g.w.stats.Binary++
		return
	}
	if !g.p.KeepCR && bytes.Contains(text, []byte("\r\n")) {
		text = bytes.ReplaceAll(text, []byte("\r\n"), newline)
	}
	if g.m.Find(text) < 0 {
		return
	}
	e := &g.e
	if !e.open(f) {
		return
	}
	s := spanFinder{re: g.p.Regexp(), insts: g.p.Insts(), text: text, stop: g.w.stop.Load}
	for from, before := 0, -1; from <= len(text); {
		begin, end := s.next(from)
		if begin < 0 || begin == len(text) && (begin == 0 || text[begin-1] == '\n') {
			break // the end of the text is no line of its own
		}
		if begin == end && begin == before { // nothing, beside the match before
			_, n := utf8.DecodeRune(text[end:])
			from = end + max(n, 1)
			continue
		}
		before = end
		e.count++
		if g.q.Output == FilesOnly {
			break
		}
		if e.keep {
			e.span(text, begin, end)
		}
		if g.prune.Load() && !e.wants() {
			g.partial.Store(true)
			break
		}
		if from = end; end == begin { // an empty match: go on behind the next rune
			_, n := utf8.DecodeRune(text[end:])
			from += max(n, 1)
		}
	}
	if e.keep {
		e.follow(text, len(text))
	}
}

// span keeps the lines of a match.
func (e *emitter) span(block []byte, begin, end int) {
	from := bytes.LastIndexByte(block[:begin], '\n') + 1
	if from < e.done && begin < e.done { // on a line that was kept already
		return
	}
	e.follow(block, from)
	if !e.wants() {
		e.pending = 0
		return
	}
	e.lead(block, from)
	if end > begin && block[end-1] == '\n' {
		end--
	}
	for n := 0; ; n++ {
		to := len(block)
		if i := bytes.IndexByte(block[from:], '\n'); i >= 0 {
			to = from + i
		}
		line := block[from:to]
		show := e.window(line, 0)
		start := len(e.text)
		e.text = append(e.text, line[:show]...)
		s, t := max(begin-from, 0), min(end-from, len(line))
		raw := rawLine{number: e.number(block, from), from: start, to: len(e.text), cont: n > 0, after: show < len(line)}
		if raw.located = s < show && s < t; raw.located {
			raw.span = [2]int{s, min(t, show)}
		}
		if n == 0 {
			raw.column = s + 1
		}
		e.lines = append(e.lines, raw)
		e.done = min(to+1, len(block))
		if from = to + 1; from > end || from >= len(block) || n+1 == maxBetween {
			break
		}
	}
	e.matches++
	e.pending = e.g.q.After
}

// spanFinder finds matches with package regexp without being deaf to a stop:
// where a search could take long the text is handed over rune by rune.
type spanFinder struct {
	re    *regexp.Regexp
	rest  *regexp.Regexp // the same behind at least one rune of context
	insts int
	text  []byte
	stop  func() bool
}

// next returns the leftmost match at or behind from, or -1.
func (s *spanFinder) next(from int) (begin, end int) {
	if s.stop() || from > len(s.text) {
		return -1, -1
	}
	re, base := s.re, 0
	if from > 0 {
		if s.rest == nil {
			s.rest = regexp.MustCompile(`\A(?s:.)(?s:.*?)(` + s.re.String() + `)`)
		}
		// One rune of what precedes decides about ^ and \b.
		_, n := utf8.DecodeLastRune(s.text[:from])
		re, base = s.rest, from-n
	}
	var loc []int
	if text := s.text[base:]; len(text)*s.insts <= stdBudget {
		loc = re.FindSubmatchIndex(text)
	} else {
		loc = re.FindReaderSubmatchIndex(&runeReader{text: text, stop: s.stop})
	}
	if loc == nil || s.stop() {
		return -1, -1
	}
	if from > 0 {
		return base + loc[2], base + loc[3]
	}
	return loc[0], loc[1]
}

// runeReader reads text and pretends that it ended once stop says so.
type runeReader struct {
	text []byte
	at   int
	read int
	stop func() bool
}

func (r *runeReader) ReadRune() (rune, int, error) {
	if r.read++; r.at >= len(r.text) || r.read&0xFF == 0 && r.stop() {
		return 0, 0, io.EOF
	}
	c, n := utf8.DecodeRune(r.text[r.at:])
	r.at += n
	return c, n, nil
}
