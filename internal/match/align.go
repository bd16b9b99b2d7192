package match

import (
	"slices"
	"strings"
)

// dpCells bounds the table of an alignment; beyond it unique lines anchor it.
const dpCells = 1 << 21

// How two lines are alike, as weights for the alignment.
const (
	weighBlank    = 2
	weighShort    = 4
	weighReindent = 5
	weighEqual    = 8
)

// alignLines pairs the lines of new with equal lines of old, in order, and
// returns the old line for every new line, or -1. Unless literal, blanks at
// line ends do not count and lines equal but for their indentation pair too,
// though equal ones are preferred.
func alignLines(old, new []string, literal bool) []int {
	src := make([]int, len(new))
	for j := range src {
		src[j] = -1
	}
	a, b := keysOf(old, literal), keysOf(new, literal)
	lo := 0
	for lo < len(a) && lo < len(b) && a[lo].line == b[lo].line {
		src[lo] = lo
		lo++
	}
	ea, eb := len(a), len(b)
	for ea > lo && eb > lo && a[ea-1].line == b[eb-1].line {
		ea--
		eb--
		src[eb] = ea
	}
	alignRange(a, b, lo, ea, lo, eb, literal, src)
	return src
}

type lineKey struct{ line, body string }

func keysOf(lines []string, literal bool) []lineKey {
	keys := make([]lineKey, len(lines))
	for i, l := range lines {
		if literal {
			keys[i] = lineKey{l, l}
			continue
		}
		l = strings.TrimRight(l, " \t\r\v\f")
		keys[i] = lineKey{l, strings.TrimLeft(l, " \t")}
	}
	return keys
}

func (k lineKey) weight(o lineKey, literal bool) int {
	switch {
	case k.body != o.body:
		return 0
	case k.body == "":
		return weighBlank
	case k.line == o.line:
		if len(k.body) < 4 {
			return weighShort
		}
		return weighEqual
	case literal:
		return 0
	case len(k.body) < 4:
		return weighBlank + 1
	}
	return weighReindent
}

func alignRange(a, b []lineKey, a0, a1, b0, b1 int, literal bool, src []int) {
	m, n := a1-a0, b1-b0
	if m == 0 || n == 0 {
		return
	}
	if m*n > dpCells {
		anchors := uniquePairs(a, b, a0, a1, b0, b1)
		pa, pb := a0, b0
		for _, p := range anchors {
			if (p[0]-pa)*(p[1]-pb) <= dpCells {
				alignRange(a, b, pa, p[0], pb, p[1], literal, src)
			}
			src[p[1]] = p[0]
			pa, pb = p[0]+1, p[1]+1
		}
		if (a1-pa)*(b1-pb) <= dpCells {
			alignRange(a, b, pa, a1, pb, b1, literal, src)
		}
		return
	}
	// score[i][j] is the best weight of aligning a[a0+i:a1] with b[b0+j:b1].
	w := n + 1
	score := make([]int32, (m+1)*w)
	for i := m - 1; i >= 0; i-- {
		for j := n - 1; j >= 0; j-- {
			best := max(score[(i+1)*w+j], score[i*w+j+1])
			if g := a[a0+i].weight(b[b0+j], literal); g > 0 {
				best = max(best, score[(i+1)*w+j+1]+int32(g))
			}
			score[i*w+j] = best
		}
	}
	for i, j := 0, 0; i < m && j < n; {
		g := a[a0+i].weight(b[b0+j], literal)
		switch {
		case g > 0 && score[i*w+j] == score[(i+1)*w+j+1]+int32(g):
			src[b0+j] = a0 + i
			i++
			j++
		case score[i*w+j] == score[(i+1)*w+j]:
			i++
		default:
			j++
		}
	}
}

// uniquePairs returns the longest increasing list of pairs of lines that occur
// once on each side.
func uniquePairs(a, b []lineKey, a0, a1, b0, b1 int) [][2]int {
	type where struct{ na, nb, i, j int }
	seen := make(map[string]*where, a1-a0)
	for i := a0; i < a1; i++ {
		w := seen[a[i].line]
		if w == nil {
			w = &where{}
			seen[a[i].line] = w
		}
		w.na++
		w.i = i
	}
	for j := b0; j < b1; j++ {
		if w := seen[b[j].line]; w != nil {
			w.nb++
			w.j = j
		}
	}
	var pairs [][2]int
	for i := a0; i < a1; i++ {
		if w := seen[a[i].line]; w.na == 1 && w.nb == 1 {
			pairs = append(pairs, [2]int{w.i, w.j})
		}
	}
	// Longest increasing subsequence over the second member.
	tails := []int{}
	prev := make([]int, len(pairs))
	for n, p := range pairs {
		k, _ := slices.BinarySearchFunc(tails, p[1], func(t, v int) int { return pairs[t][1] - v })
		prev[n] = -1
		if k > 0 {
			prev[n] = tails[k-1]
		}
		if k == len(tails) {
			tails = append(tails, n)
		} else {
			tails[k] = n
		}
	}
	var chain [][2]int
	if len(tails) > 0 {
		for n := tails[len(tails)-1]; n >= 0; n = prev[n] {
			chain = append(chain, pairs[n])
		}
	}
	slices.Reverse(chain)
	return chain
}

// A linePair says that a new line takes the place of an old one.
type linePair struct {
	i, j   int
	strong bool // alike enough to be merged word for word
}

// pairLines pairs the removed lines old[i0:i1] with the added lines new[j0:j1]
// that take their place, in order: similar lines first, and by position where a
// stretch between them has the same length on both sides.
func pairLines(old, new []string, i0, i1, j0, j1 int) []linePair {
	m, n := i1-i0, j1-j0
	if m == 0 || n == 0 {
		return nil
	}
	var pairs []linePair
	pi, pj := i0, j0
	fill := func(i, j int) {
		if i-pi == j-pj {
			for k := 0; pi+k < i; k++ {
				pairs = append(pairs, linePair{pi + k, pj + k, false})
			}
		}
	}
	for _, p := range similarPairs(old[i0:i1], new[j0:j1]) {
		i, j := i0+p[0], j0+p[1]
		fill(i, j)
		pairs = append(pairs, linePair{i, j, true})
		pi, pj = i+1, j+1
	}
	fill(i1, j1)
	return pairs
}

// pairCells bounds the similarity table of one change.
const pairCells = 10_000

func similarPairs(old, new []string) [][2]int {
	m, n := len(old), len(new)
	if m*n > pairCells {
		if m != n {
			return nil
		}
		var pairs [][2]int
		for i := range old {
			if wordSimilarity(words(old[i]), words(new[i])) >= pairSimilarity {
				pairs = append(pairs, [2]int{i, i})
			}
		}
		return pairs
	}
	ow, nw := make([][]string, m), make([][]string, n)
	for i, l := range old {
		ow[i] = words(l)
	}
	for j, l := range new {
		nw[j] = words(l)
	}
	w := n + 1
	sim := make([]float64, m*n)
	score := make([]float64, (m+1)*w)
	for i := m - 1; i >= 0; i-- {
		for j := n - 1; j >= 0; j-- {
			s := wordSimilarity(ow[i], nw[j])
			sim[i*n+j] = s
			best := max(score[(i+1)*w+j], score[i*w+j+1])
			if s >= pairSimilarity {
				best = max(best, score[(i+1)*w+j+1]+s)
			}
			score[i*w+j] = best
		}
	}
	var pairs [][2]int
	for i, j := 0, 0; i < m && j < n; {
		s := sim[i*n+j]
		switch {
		case s >= pairSimilarity && score[i*w+j] == score[(i+1)*w+j+1]+s:
			pairs = append(pairs, [2]int{i, j})
			i++
			j++
		case score[i*w+j] == score[(i+1)*w+j]:
			i++
		default:
			j++
		}
	}
	return pairs
}

// pairSimilarity is how alike two lines must be for one to count as the changed
// form of the other.
const pairSimilarity = 0.4

// words returns the words of a line and its other visible characters.
func words(line string) []string {
	var out []string
	for _, tok := range tokens(line) {
		if blankAt(tok, 0) == 0 {
			out = append(out, tok)
		}
	}
	return out
}

// wordSimilarity is the share of words that two lines have in common, counted
// with repetitions but without order, words weighing more than punctuation.
func wordSimilarity(a, b []string) float64 {
	if len(a) == 0 || len(b) == 0 {
		return 0
	}
	weight := func(s string) int {
		if isWordByte(s[0]) {
			return 3
		}
		return 1
	}
	count := make(map[string]int, len(a))
	total := 0
	for _, s := range a {
		count[s]++
		total += weight(s)
	}
	shared := 0
	for _, s := range b {
		total += weight(s)
		if count[s] > 0 {
			count[s]--
			shared += 2 * weight(s)
		}
	}
	return float64(shared) / float64(total)
}
