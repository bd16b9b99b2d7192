package pattern

import (
	"bytes"
	"sync/atomic"

	"github.com/agenttool/tool/internal/search/lazydfa"
)

// keepTable is the largest table that is kept for the next search.
const keepTable = 512 << 10

// What looking in vain costs, in units of which one may be spent for so many bytes
// of text before reading everything with the automaton is cheaper.
const (
	effortFail  = 8 // a line that the automaton refused
	effortShort = 1 // a line that is too short
	effortAlso  = 2 // a line without the other strings that it must have
	perEffort   = 40
)

// tryAgain is the number of bytes after which literals get another chance.
const tryAgain = 8 << 20

// A Matcher finds lines. It belongs to one goroutine at a time.
type Matcher struct {
	p      *Pattern
	dfa    *lazydfa.DFA
	next   []int
	length []int
	read   int // bytes searched by literals
	effort int // spent in vain
	noLits bool
}

// Matcher returns a matcher, perhaps one that was released before and whose
// tables are warm. Once stop is set searches end early and miss matches.
func (p *Pattern) Matcher(stop *atomic.Bool) *Matcher {
	p.mu.Lock()
	var m *Matcher
	if n := len(p.idle); n > 0 {
		m = p.idle[n-1]
		p.idle = p.idle[:n-1]
	}
	p.mu.Unlock()
	if m == nil {
		return &Matcher{p: p, dfa: p.prog.New(stop), next: make([]int, len(p.find)), length: make([]int, len(p.find))}
	}
	m.dfa.Use(stop)
	return m
}

// Release gives the matcher back to its pattern. It must not be used afterwards.
func (m *Matcher) Release() {
	m.dfa.Use(nil)
	if m.dfa.Size() > keepTable {
		return
	}
	m.read, m.effort, m.noLits = 0, 0, false
	m.p.mu.Lock()
	if len(m.p.idle) < 8 {
		m.p.idle = append(m.p.idle, m)
	}
	m.p.mu.Unlock()
}

// Lines appends to at one position for each matching line of text, in order: a
// place in the line at or behind a match, or the line feed that ends the line. The
// text begins at the start of a line and is at most lazydfa.MaxText bytes long.
// It is not for patterns with Multiline set.
func (m *Matcher) Lines(text []byte, at []int32) []int32 {
	if m.p.find == nil {
		return m.dfa.Lines(text, at)
	}
	if m.noLits {
		if m.read += len(text); m.read > tryAgain {
			m.noLits, m.read, m.effort = false, 0, 0 // other files may be different
		}
		return m.dfa.Lines(text, at)
	}
	find := m.p.find
	for i := range m.next {
		m.next[i] = -1
	}
	pos := 0
	for pos < len(text) {
		best, who := len(text), -1
		for i := range find {
			if m.next[i] < pos {
				m.next[i], m.length[i] = find[i].next(text, pos, &m.effort)
			}
			if m.next[i] < best {
				best, who = m.next[i], i
			}
		}
		if who < 0 {
			break
		}
		end := len(text)
		if nl := bytes.IndexByte(text[best:], '\n'); nl >= 0 {
			end = best + nl
		}
		switch {
		case end-best < m.p.minAfter:
			m.effort += effortShort
		case m.p.exact && !find[who].verify:
			at = append(at, int32(best+m.length[who]-1))
		default:
			begin := pos + bytes.LastIndexByte(text[pos:best], '\n') + 1
			if !m.p.has(text[begin:end]) {
				m.effort += effortAlso
			} else if p := m.dfa.Find(text[begin:end]); p >= 0 {
				at = append(at, int32(begin+p))
			} else {
				m.effort += effortFail
			}
		}
		if m.effort*perEffort > m.read+pos && m.effort > 64*effortFail {
			m.noLits, m.read = true, 0 // the literals do not tell lines apart
			base := end + 1
			if base < len(text) {
				n := len(at)
				at = m.dfa.Lines(text[base:], at)
				for i := n; i < len(at); i++ {
					at[i] += int32(base)
				}
			}
			return at
		}
		pos = end + 1
	}
	m.read += len(text)
	if m.effort*perEffort > m.read && m.effort > 64*effortFail {
		m.noLits, m.read = true, 0
	}
	return at
}

// Find returns the end of the match in text that ends first, or -1. The text is
// one line, or with Multiline a whole text.
func (m *Matcher) Find(text []byte) int {
	if m.p.find != nil {
		found := false
		for i := range m.p.find {
			if at, _ := m.p.find[i].next(text, 0, &m.effort); at < len(text) {
				found = true
				break
			}
		}
		if !found {
			return -1
		}
	}
	return m.dfa.Find(text)
}

// has reports whether a line has the other strings that every match contains.
func (p *Pattern) has(line []byte) bool {
	for _, s := range p.also {
		if !bytes.Contains(line, s) {
			return false
		}
	}
	return true
}
