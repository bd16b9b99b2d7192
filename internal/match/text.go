package match

import (
	"sort"
	"strings"
)

// A Text is a text prepared for matching: its lines and, made when first needed,
// the keys by which lines compare. It is not safe for concurrent use.
type Text struct {
	s      string
	starts []int // see index
	cr     bool  // CRLF occurs

	head        *Text  // see beginning
	lf          string // s with CRLF as LF, when cr
	lenientKeys []uint64
	keys        map[Level][]uint64
	filled      []int32 // lines that are not blank
	fkeys       []uint64

	// The starts of the block sought last, as the levels ask for them in turn.
	memoBlock, memoSparse    *block
	memoStarts, sparseStarts []int
}

// NewText prepares a text. Everything is made on demand, and memory stays linear
// in the text.
func NewText(s string) *Text {
	return &Text{s: s, cr: strings.Contains(s, "\r\n")}
}

// index returns the offset of every line, and the length of the text last.
func (t *Text) index() []int {
	if t.starts != nil {
		return t.starts
	}
	t.starts = make([]int, 0, strings.Count(t.s, "\n")+2)
	for pos := 0; pos < len(t.s); {
		t.starts = append(t.starts, pos)
		i := strings.IndexByte(t.s[pos:], '\n')
		if i < 0 {
			break
		}
		pos += i + 1
	}
	t.starts = append(t.starts, len(t.s))
	return t.starts
}

// String returns the text as it was given.
func (t *Text) String() string { return t.s }

// Len returns the number of lines. A final line break does not start another line.
func (t *Text) Len() int { return len(t.index()) - 1 }

// Line returns line i, counted from 0, without its line break.
func (t *Text) Line(i int) string {
	line, _ := cutEOL(t.s[t.index()[i]:t.index()[i+1]])
	return line
}

// eol returns the line break of line i, empty for a last line without one.
func (t *Text) eol(i int) string {
	_, eol := cutEOL(t.s[t.index()[i]:t.index()[i+1]])
	return eol
}

// lineAt returns the line that holds offset off. The end of the text belongs to
// the last line.
func (t *Text) lineAt(off int) int {
	i := sort.SearchInts(t.index(), off+1) - 1
	return max(0, min(i, t.Len()-1))
}

func cutEOL(raw string) (line, eol string) {
	n := len(raw)
	if n == 0 || raw[n-1] != '\n' {
		return raw, ""
	}
	if n > 1 && raw[n-2] == '\r' {
		return raw[:n-2], raw[n-2:]
	}
	return raw[:n-1], raw[n-1:]
}

// eolNear returns the line ending in force at line i: its own, else that of the
// line before it, else that of the first line, else LF.
func (t *Text) eolNear(i int) string {
	for _, k := range [...]int{i, i - 1, 0} {
		if k >= 0 && k < t.Len() {
			if eol := t.eol(k); eol != "" {
				return eol
			}
		}
	}
	return "\n"
}

// normal returns the text with CRLF as LF.
func (t *Text) normal() string {
	if !t.cr {
		return t.s
	}
	if t.lf == "" {
		t.lf = strings.ReplaceAll(t.s, "\r\n", "\n")
	}
	return t.lf
}

// raw maps a sorted list of offsets of normal() to offsets of the text, in place.
// An offset at a line break maps to the start of the break.
func (t *Text) raw(offs []int) {
	if !t.cr {
		return
	}
	// base is where line k starts in the normal text.
	base, k := 0, 0
	for n, off := range offs {
		for k < t.Len()-1 {
			size := t.normalLen(k)
			if off < base+size {
				break
			}
			base += size
			k++
		}
		line := t.Line(k)
		d := off - base
		if d > len(line) { // just behind the last line break
			offs[n] = t.index()[k+1]
			continue
		}
		offs[n] = t.index()[k] + d
	}
}

func (t *Text) normalLen(k int) int {
	n := t.index()[k+1] - t.index()[k]
	if t.eol(k) == "\r\n" {
		n--
	}
	return n
}

// lenient returns the key of every line at the most forgiving level. Lines that
// differ here differ at every level.
func (t *Text) lenient() []uint64 {
	if t.lenientKeys == nil {
		starts := t.index()
		t.lenientKeys = make([]uint64, t.Len())
		for i := range t.lenientKeys {
			t.lenientKeys[i] = lenientKey(t.s[starts[i]:starts[i+1]])
		}
	}
	return t.lenientKeys
}

// levelKeys returns the key of every line at a level.
func (t *Text) levelKeys(l Level) []uint64 {
	if l == Spacing {
		return t.lenient()
	}
	keys, ok := t.keys[l]
	if !ok {
		keys = make([]uint64, t.Len())
		for i := range keys {
			keys[i] = hash(normalize(l, t.Line(i)))
		}
		if t.keys == nil {
			t.keys = map[Level][]uint64{}
		}
		t.keys[l] = keys
	}
	return keys
}

// nonBlank returns the lines that are not blank and their lenient keys.
func (t *Text) nonBlank() ([]int32, []uint64) {
	if t.filled == nil {
		all := t.lenient()
		t.filled = make([]int32, 0, len(all))
		t.fkeys = make([]uint64, 0, len(all))
		for i, k := range all {
			if k != blankKey {
				t.filled = append(t.filled, int32(i))
				t.fkeys = append(t.fkeys, k)
			}
		}
	}
	return t.filled, t.fkeys
}

// newLines returns the lines that take the place of old's lines. Without a break
// at the end of old, the break behind the place stays, so that one at the end of
// new starts another line.
func newLines(old, new string) []string {
	if new == "" {
		return nil
	}
	if strings.HasSuffix(old, "\n") {
		new = strings.TrimSuffix(new, "\n")
	}
	return strings.Split(new, "\n")
}

// splitLines cuts s, which has only LF breaks, into lines. A final break ends
// the last line and is reported as closed instead of starting another.
func splitLines(s string) (lines []string, closed bool) {
	if s == "" {
		return nil, true
	}
	if strings.HasSuffix(s, "\n") {
		closed = true
		s = s[:len(s)-1]
	}
	return strings.Split(s, "\n"), closed
}
