package diff

import (
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/sergi/go-diff/diffmatchpatch"
)

// wordBytes bounds the lines whose words are compared.
const wordBytes = 4000

// Highlight marks, on every line that was changed into another, the words that
// differ. Runs of deleted and inserted lines of the same length pair line by
// line; others are changed as a whole and get no marks.
func (d *Diff) Highlight() {
	deadline := time.Now().Add(200 * time.Millisecond)
	for i := range d.Hunks {
		lines := d.Hunks[i].Lines
		for pos := 0; pos < len(lines); {
			del := pos
			for del < len(lines) && lines[del].Op == Delete {
				del++
			}
			ins := del
			for ins < len(lines) && lines[ins].Op == Insert {
				ins++
			}
			if n := del - pos; n > 0 && n == ins-del {
				for k := range n {
					if time.Now().After(deadline) {
						return
					}
					a, b := &lines[pos+k], &lines[del+k]
					a.Words, b.Words = Words(a.Text, b.Text)
				}
			}
			pos = max(ins, pos+1)
		}
	}
}

// Words returns the ranges of two lines in which they differ, by whole words.
// Lines without a word in common, and very long ones, differ throughout.
func Words(old, new string) (removed, added []Range) {
	if old == new {
		return nil, nil
	}
	if len(old) > wordBytes || len(new) > wordBytes {
		return []Range{{0, len(old)}}, []Range{{0, len(new)}}
	}
	ids := map[string]rune{}
	a, ra := wordRunes(old, ids)
	b, rb := wordRunes(new, ids)
	dmp := diffmatchpatch.New()
	dmp.DiffTimeout = 50 * time.Millisecond
	i, j := 0, 0
	for _, d := range dmp.DiffMainRunes(ra, rb, false) {
		n := utf8.RuneCountInString(d.Text)
		switch d.Type {
		case diffmatchpatch.DiffEqual:
			i += n
			j += n
		case diffmatchpatch.DiffDelete:
			removed = join(removed, Range{a[i], a[i+n]})
			i += n
		case diffmatchpatch.DiffInsert:
			added = join(added, Range{b[j], b[j+n]})
			j += n
		}
	}
	return removed, added
}

func join(rs []Range, r Range) []Range {
	if n := len(rs); n > 0 && rs[n-1].End == r.Start {
		rs[n-1].End = r.End
		return rs
	}
	return append(rs, r)
}

// wordRunes cuts a line into words and single other characters. It returns their
// offsets, the length of the line last, and one rune for each.
func wordRunes(s string, ids map[string]rune) (offsets []int, runes []rune) {
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		j := i + n
		if isWord(r) {
			for j < len(s) {
				r, n := utf8.DecodeRuneInString(s[j:])
				if !isWord(r) {
					break
				}
				j += n
			}
		}
		id, ok := ids[s[i:j]]
		if !ok {
			id = rune(len(ids) + 1)
			ids[s[i:j]] = id
		}
		offsets = append(offsets, i)
		runes = append(runes, id)
		i = j
	}
	return append(offsets, len(s)), runes
}

func isWord(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }
