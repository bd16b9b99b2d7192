package pattern

import (
	"bytes"
	"fmt"
	"math/rand"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// brute is what a sieve is for, place by place.
func brute(seqs []sequence, text []byte, from int) (pos, n int) {
	for p := from; p < len(text); p++ {
		for i := range seqs {
			if seqs[i].at(text, p) {
				n = max(n, len(seqs[i].classes))
			}
		}
		if n > 0 {
			return p, n
		}
	}
	return len(text), 0
}

// TestSieveFindsEveryLine: in every layout a sieve finds the same lines as looking
// at each place, and what it reports stands there.
func TestSieveFindsEveryLine(t *testing.T) {
	r := rand.New(rand.NewSource(7))
	const letters = "abAB0.\xe2\xc5k"
	for range 3000 {
		var seqs []sequence
		shortest := 1 << 10
		for range 1 + r.Intn(4) {
			n := 3 + r.Intn(16)
			var l literal
			for range n {
				l.s += string(letters[r.Intn(len(letters))])
			}
			l.fold = r.Intn(2) == 0
			if l.fold {
				l.s = lowerASCII(l.s)
			}
			s := sequenceOf(l)
			if r.Intn(3) == 0 {
				s.lit = nil
				for i := range s.classes {
					s.classes[i].add('a', 'a'+byte(r.Intn(4)))
				}
			}
			seqs = append(seqs, s)
			shortest = min(shortest, len(s.classes))
		}
		span, stride := 2+r.Intn(2), strides[r.Intn(len(strides))]
		if span+stride-1 > shortest {
			continue
		}
		l := layout{span: span, stride: stride}
		for i := range seqs {
			l.from = append(l.from, r.Intn(len(seqs[i].classes)-stride-span+2))
		}
		s := newSieve(seqs, l)
		text := make([]byte, r.Intn(400))
		for i := range text {
			text[i] = letters[r.Intn(len(letters))]
			if r.Intn(30) == 0 {
				text[i] = '\n'
			}
		}
		for range r.Intn(5) {
			q := seqs[r.Intn(len(seqs))]
			var b []byte
			for _, c := range q.classes {
				m := c.members()
				b = append(b, m[r.Intn(len(m))])
			}
			if at := r.Intn(len(text) + 1); at+len(b) <= len(text) {
				copy(text[at:], b)
			}
		}
		line := func(at int) int { return bytes.Count(text[:at], []byte("\n")) }
		for from := 0; from <= len(text); {
			effort := 0
			want, _ := brute(seqs, text, from)
			got, n := s.next(text, from, &effort)
			name := fmt.Sprintf("span %d stride %d from %v text %q at %d", span, stride, l.from, text, from)
			if want == len(text) {
				require.Equal(t, want, got, name)
				break
			}
			require.Less(t, got, len(text), name)
			require.Equal(t, line(want), line(got), name)
			require.True(t, func() bool {
				for i := range seqs {
					if len(seqs[i].classes) == n && seqs[i].at(text, got) {
						return true
					}
				}
				return false
			}(), name)
			end := bytes.IndexByte(text[got:], '\n')
			if end < 0 {
				break
			}
			from = got + end + 1
		}
	}
}

// TestSieveOfMany: more combinations than the table has numbers for.
func TestSieveOfMany(t *testing.T) {
	var seqs []sequence
	r := rand.New(rand.NewSource(3))
	l := layout{span: 2, stride: 8}
	for range maxSequences {
		var x literal
		for range 12 {
			x.s += string(rune('a' + r.Intn(26)))
		}
		seqs = append(seqs, sequenceOf(x))
		l.from = append(l.from, r.Intn(4))
	}
	s := newSieve(seqs, l)
	require.Len(t, s.places, 256)
	for i := range seqs {
		text := append(bytes.Repeat([]byte("zq"), r.Intn(60)), seqs[i].lit.s...)
		effort := 0
		got, n := s.next(text, 0, &effort)
		want, _ := brute(seqs, text, 0)
		assert.Equal(t, want, got)
		assert.Equal(t, 12, n)
	}
}

// TestSieveInVain: a text in which every place looks promising and nothing is there
// is left to the automaton.
func TestSieveInVain(t *testing.T) {
	p := must(t, `(?:\d\.){3}x`, Options{})
	require.Equal(t, "prefilter", p.Strategy())
	m := p.Matcher(nil)
	text := bytes.Repeat([]byte("1.2.3.4.5.6.7\n"), 4000)
	assert.Empty(t, m.Lines(text, nil))
	assert.True(t, m.noLits)
	assert.Len(t, m.Lines([]byte("a 1.2.3.x\n"), nil), 1)
}

// TestStreamOfLiterals: a literal is found wherever the pieces of a line are cut.
func TestStreamOfLiterals(t *testing.T) {
	for expr, o := range map[string]Options{`needle`: {}, `kiss|deadlock`: {Case: Insensitive}, `TODO|FIXME|XXX`: {}} {
		p := must(t, expr, o)
		require.Positive(t, p.longest, expr)
		for _, line := range []string{"xx needle yy", "a KI\u017f\u017f b", "eadlockdeadloc\u212a", "FIXM FIXME", "nothing TOD O"} {
			for cut := range len(line) + 1 {
				for cut2 := cut; cut2 <= len(line); cut2++ {
					m := p.Matcher(nil)
					s := m.Stream()
					found := false
					for _, piece := range []string{line[:cut], line[cut:cut2], line[cut2:]} {
						if at := s.Feed([]byte(piece)); at >= 0 {
							assert.False(t, found)
							assert.LessOrEqual(t, at, len(piece))
							found = true
						}
					}
					found = s.Finish() || found
					require.Equal(t, p.Regexp().MatchString(line), found, "%s %q %d %d", expr, line, cut, cut2)
				}
			}
		}
	}
}
