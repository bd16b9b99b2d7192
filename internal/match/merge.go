package match

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// tokens cuts a line into words, runs of blanks and single other characters.
func tokens(s string) []string {
	var out []string
	for i := 0; i < len(s); {
		j := i + 1
		switch c := s[i]; {
		case blankAt(s, i) > 0:
			for j = i; blankAt(s, j) > 0; {
				j += blankAt(s, j)
			}
		case c >= utf8.RuneSelf:
			r, n := utf8.DecodeRuneInString(s[i:])
			j = i + n
			if !isTypographic(r) {
				j = wordEnd(s, j)
			}
		case isWordByte(c):
			j = wordEnd(s, j)
		}
		out = append(out, s[i:j])
		i = j
	}
	return out
}

// blankAt returns the size of the blank at s[i], 0 if there is none.
func blankAt(s string, i int) int {
	switch {
	case i >= len(s):
		return 0
	case s[i] < utf8.RuneSelf:
		if isBlankByte(s[i]) {
			return 1
		}
		return 0
	}
	r, n := utf8.DecodeRuneInString(s[i:])
	if plain, ok := plainRune(r); ok && plain == " " {
		return n
	}
	return 0
}

func wordEnd(s string, j int) int {
	for j < len(s) && isWordByte(s[j]) {
		if s[j] >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(s[j:])
			if isTypographic(r) {
				break
			}
			j += n
			continue
		}
		j++
	}
	return j
}

// mergeTokens bounds the words of a line that is merged word for word. A longer
// line is taken as the new text has it.
const mergeTokens = 1500

// merged is what became of a line that the text, the old and the new text all
// have in their own form.
type merged struct {
	text string
	// clash holds the words of the text that old does not have and new does not
	// keep, and differing numbers even where new agrees with one side.
	clash []clash
}

type clash struct{ old, have string }

// mergeLine carries the change from old to new over to the line that the text
// has: words that old and new share stay as the text has them, the others are
// new's. The lines come without indentation and trailing blanks.
func mergeLine(old, have, new string) merged {
	if old == have || old == new {
		if old == new {
			return merged{text: have}
		}
		return merged{text: new}
	}
	o, h, n := tokens(old), tokens(have), tokens(new)
	if len(o) > mergeTokens || len(h) > mergeTokens || len(n) > mergeTokens {
		return merged{text: new, clash: []clash{{old, have}}}
	}
	oh := alignTokens(o, h, true)
	on := alignTokens(o, n, false)
	var b strings.Builder
	var out merged
	oi, hi, ni := 0, 0, 0
	flush := func(oe, he, ne int) {
		os, hs, ns := o[oi:oe], h[hi:he], n[ni:ne]
		x := clash{strings.Join(os, ""), strings.Join(hs, "")}
		same := sameFolded(os, hs)
		agreed := slices.Equal(os, ns) || slices.Equal(hs, ns)
		if slices.Equal(os, ns) {
			writeAll(&b, hs)
		} else {
			writeAll(&b, ns)
		}
		if !same && (!agreed || digits(x.old) != digits(x.have)) {
			out.clash = append(out.clash, x)
		}
	}
	for i := range o {
		if oh[i] < 0 || on[i] < 0 {
			continue
		}
		flush(i, oh[i], on[i])
		b.WriteString(h[oh[i]])
		oi, hi, ni = i+1, oh[i]+1, on[i]+1
	}
	flush(len(o), len(h), len(n))
	out.text = b.String()
	return out
}

func writeAll(b *strings.Builder, toks []string) {
	for _, t := range toks {
		b.WriteString(t)
	}
}

func sameFolded(a, b []string) bool {
	return normalize(Spacing, strings.Join(a, "")) == normalize(Spacing, strings.Join(b, ""))
}

// alignTokens returns, for every token of a, the token of b that it pairs with,
// or -1. Folded tokens pair if they differ in blanks or typographic form only.
func alignTokens(a, b []string, folded bool) []int {
	if folded {
		a, b = foldTokens(a), foldTokens(b)
	}
	m, n := len(a), len(b)
	pair := make([]int, m)
	for i := range pair {
		pair[i] = -1
	}
	lo := 0
	for lo < m && lo < n && a[lo] == b[lo] {
		pair[lo] = lo
		lo++
	}
	for m > lo && n > lo && a[m-1] == b[n-1] {
		m--
		n--
		pair[m] = n
	}
	rows, w := m-lo, n-lo+1
	if rows == 0 || w == 1 {
		return pair
	}
	score := make([]int32, (rows+1)*w)
	for i := rows - 1; i >= 0; i-- {
		for j := w - 2; j >= 0; j-- {
			best := max(score[(i+1)*w+j], score[i*w+j+1])
			if a[lo+i] == b[lo+j] {
				best = max(best, score[(i+1)*w+j+1]+tokenWeight(a[lo+i]))
			}
			score[i*w+j] = best
		}
	}
	for i, j := 0, 0; i < rows && j < w-1; {
		switch {
		case a[lo+i] == b[lo+j] && score[i*w+j] == score[(i+1)*w+j+1]+tokenWeight(a[lo+i]):
			pair[lo+i] = lo + j
			i++
			j++
		case score[i*w+j] == score[(i+1)*w+j]:
			i++
		default:
			j++
		}
	}
	return pair
}

func tokenWeight(s string) int32 {
	switch {
	case blankAt(s, 0) > 0:
		return 1
	case isWordByte(s[0]):
		return 6
	}
	return 3
}

func foldTokens(toks []string) []string {
	out := make([]string, len(toks))
	for i, t := range toks {
		if out[i] = foldRunes(t); strings.TrimSpace(out[i]) == "" {
			out[i] = " "
		}
	}
	return out
}
