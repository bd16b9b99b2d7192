package match

import "strings"

// shortText is how long a text may be for strings.Index to compare it by vector
// instructions throughout.
const shortText = 48

// A seeker finds the occurrences of one text in another, in order. Long texts
// are found by a stretch of their longest line: source code has so many alike
// beginnings that strings.Index would soon go byte by byte.
type seeker struct {
	hay, text string
	key       string // a stretch of text
	off       int    // where key is in text
	budget    int    // bytes that may be compared in vain
}

func newSeeker(hay, text string) *seeker {
	s := &seeker{hay: hay, text: text, key: text, budget: 2*len(hay) + 1<<16}
	if len(text) <= shortText {
		return s
	}
	best := 0
	for pos := 0; pos < len(text); {
		end := strings.IndexByte(text[pos:], '\n')
		if end < 0 {
			end = len(text) - pos
		}
		from := pos + len(indentOf(text[pos:pos+end]))
		if n := pos + end - from; n > best {
			best, s.off = n, from
			s.key = text[from : from+min(n, shortText)]
		}
		pos += end + 1
	}
	if best < 8 {
		s.key, s.off = text, 0
	}
	return s
}

// next returns the first occurrence at or behind pos, or -1.
func (s *seeker) next(pos int) int {
	for s.budget > 0 && len(s.key) < len(s.text) {
		i := strings.Index(s.hay[min(len(s.hay), pos+s.off):], s.key)
		if i < 0 {
			return -1
		}
		if strings.HasPrefix(s.hay[pos+i:], s.text) {
			return pos + i
		}
		s.budget -= len(s.text)
		pos += i + 1
	}
	if pos > len(s.hay) {
		return -1
	}
	if i := strings.Index(s.hay[pos:], s.text); i >= 0 {
		return pos + i
	}
	return -1
}
