package pattern

import "github.com/agenttool/tool/internal/search/lazydfa"

// A Stream searches one line that arrives in pieces.
type Stream struct {
	m    *Matcher
	line *lazydfa.Stream // nil if literals decide
	seam []byte          // the end of the last piece, and room for the beginning of the next
	done bool
}

// Stream begins a line. The matcher must not be used for anything else until the
// line is finished.
func (m *Matcher) Stream() *Stream {
	s := &Stream{m: m}
	if m.p.longest == 0 {
		s.line = m.dfa.Stream()
	}
	return s
}

// Feed reads the next piece of the line, which must not hold its line feed, and
// returns the offset within the piece at which a match became certain, or -1. At most
// one call returns something else.
func (s *Stream) Feed(piece []byte) int {
	switch {
	case s.line != nil:
		return s.line.Feed(piece)
	case s.done:
		return -1
	}
	over := s.m.p.longest - 1 // a literal may begin so far before the piece
	if old := len(s.seam); old > 0 {
		s.seam = append(s.seam, piece[:min(over, len(piece))]...)
		if at := s.m.first(s.seam); at >= 0 {
			s.done = true
			return max(at-old, 0)
		}
	}
	if at := s.m.first(piece); at >= 0 {
		s.done = true
		return at
	}
	if len(piece) >= over {
		s.seam = append(s.seam[:0], piece[len(piece)-over:]...)
	} else { // what was added above is all of the piece
		if len(s.seam) == 0 {
			s.seam = append(s.seam, piece...)
		}
		s.seam = append(s.seam[:0], s.seam[max(len(s.seam)-over, 0):]...)
	}
	return -1
}

// Finish reports whether the end of the line completes a match that Feed has
// not reported.
func (s *Stream) Finish() bool { return s.line != nil && s.line.Finish() }

// first returns the last byte of the first literal in text, or -1.
func (m *Matcher) first(text []byte) int {
	best := -1
	for i := range m.p.find {
		if at, n := m.p.find[i].next(text, 0, &m.effort); at < len(text) && (best < 0 || at+n-1 < best) {
			best = at + n - 1
		}
	}
	return best
}
