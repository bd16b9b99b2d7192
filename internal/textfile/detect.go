package textfile

import (
	"bytes"
	"unicode"
	"unicode/utf8"
)

const (
	sniffSize  = 8 << 10   // bytes looked at to tell text from binary
	scoreLimit = 256 << 10 // bytes looked at to tell charsets apart
)

// bomCodec recognises a byte order mark.
func bomCodec(raw []byte) (codec, bool) {
	for _, c := range []codec{utf32LECodec, utf32BECodec, utf8Codec, utf16LECodec, utf16BECodec} {
		if !bytes.HasPrefix(raw, c.bom()) {
			continue
		}
		if c.unit == 4 && len(raw)%4 != 0 {
			continue // the UTF-32 mark begins with the UTF-16 one
		}
		return c, true
	}
	return codec{}, false
}

// guessUTF16 recognises UTF-16 without a mark: there are NUL bytes, and in one of the two byte orders the sample is text. Such
// a file may well be valid UTF-8.
func guessUTF16(sample []byte) (codec, bool) {
	sample = sample[:len(sample)&^1]
	var nul [2]int
	for i, b := range sample {
		if b == 0 {
			nul[i&1]++
		}
	}
	if nul[0]+nul[1] == 0 {
		return codec{}, false
	}
	little, big := textShare(utf16LECodec, sample), textShare(utf16BECodec, sample)
	c, share, high := utf16LECodec, little, nul[1]
	if big > little {
		c, share, high = utf16BECodec, big, nul[0]
	}
	if high == nul[0]+nul[1] {
		return c, share >= 0.9
	}
	return c, share >= 0.98 && high > 0 && len(sample) >= 16
}

// textShare returns which share of the characters of a UTF-16 sample can be seen or are blanks; 0 when there are control
// characters, broken pairs or no ASCII at all.
func textShare(c codec, sample []byte) float64 {
	text, exact := c.decode(trimUnit(c, sample))
	if !exact {
		return 0
	}
	good, total, ascii := 0, 0, 0
	for _, r := range text {
		total++
		switch {
		case r == '\n' || r == '\r' || r == '\t' || unicode.IsPrint(r) || unicode.IsSpace(r):
			good++
		case r < 0x20:
			return 0
		}
		if r < 0x80 {
			ascii++
		}
	}
	if ascii == 0 {
		return 0
	}
	return float64(good) / float64(total)
}

// trimUnit drops half a character from the end of a sample.
func trimUnit(c codec, sample []byte) []byte {
	n := len(sample) - len(sample)%c.unit
	if c.unit == 2 && n >= 2 {
		hi := sample[n-1]
		if c.name == "utf-16be" {
			hi = sample[n-2]
		}
		if hi&0xfc == 0xd8 {
			n -= 2 // the first half of a surrogate pair
		}
	}
	return sample[:n]
}

// looksBinary tells from the first bytes of a file, which is not UTF-16 or UTF-32, whether it is no text: a NUL byte, or over 30
// % control characters or bytes that are no UTF-8 and no letters. NULs that fill the rest of the sample after some text are
// the hole of a preallocated log, which is still a text.
func looksBinary(sample []byte) bool {
	sample = sample[:min(len(sample), sniffSize)]
	text := bytes.TrimRight(sample, "\x00")
	if bytes.IndexByte(text, 0) >= 0 || len(text) == 0 && len(sample) > 0 {
		return true
	}
	if len(text) < len(sample) && bytes.IndexByte(text, '\n') < 0 {
		return true
	}
	bad := 0
	for _, b := range text {
		if b < 0x20 && (b < '\b' || b > '\r') && b != 0x1b || b == 0x7f {
			bad++
		}
	}
	return bad*10 > len(text)*3
}

// A charset is one that the detector knows, with a function that says how well bytes fit: the share of the characters beyond
// ASCII that are common ones, or -1 when the bytes cannot be in the charset. n is the number of such characters.
type charset struct {
	name  string
	score func(b []byte) (share float64, n int)
}

var charsets = []charset{
	{"shift_jis", scoreShiftJIS},
	{"euc-jp", scorePairs(eucJP)},
	{"euc-kr", scorePairs(eucKR)},
	{"gbk", scorePairs(gbk)},
	{"big5", scorePairs(big5)},
	{"windows-1252", scoreWestern},
}

// GuessCharset names the charset that bytes which are no UTF-8 are most likely in:
// one of "shift_jis", "euc-jp", "euc-kr", "gbk", "big5" and "windows-1252", or "" if
// they look like none of them. Markup and other ASCII around the text do no harm.
func GuessCharset(raw []byte) string {
	if names := guessCharset(raw); len(names) > 0 {
		return names[0]
	}
	return ""
}

// guessCharset returns candidates for bytes that are no UTF-8, likeliest first.
func guessCharset(raw []byte) []string {
	sample := raw
	if i := bytes.IndexFunc(sample, func(r rune) bool { return r >= utf8.RuneSelf }); i > scoreLimit/2 {
		i = bytes.LastIndexByte(sample[:i], '\n') + 1
		sample = sample[i:]
	}
	if len(sample) > scoreLimit {
		sample = sample[:scoreLimit]
		if i := bytes.LastIndexByte(sample, '\n'); i > 0 {
			sample = sample[:i]
		}
	}
	best, bestScore := "", 0.0
	for _, c := range charsets {
		share, n := c.score(sample)
		if share < 0.55 || n == 0 {
			continue
		}
		switch c.name {
		case "euc-kr":
			// Chinese text uses the rows that Korean does not; text without any of them is Korean.
			if share < 0.97 || n < 6 {
				share -= 0.3
			} else {
				share += 0.02
			}
		case "windows-1252":
			share -= 0.05
		}
		if share > bestScore {
			best, bestScore = c.name, share
		}
	}
	switch best {
	case "":
		return nil
	case "gbk":
		return []string{"gbk", "gb18030"}
	}
	return []string{best}
}

// mostlyUTF8 reports whether raw is UTF-8 with a few bad bytes rather than another charset.
func mostlyUTF8(raw []byte) bool {
	raw = raw[:min(len(raw), scoreLimit)]
	good, bad := 0, 0
	for len(raw) > 0 {
		if raw[0] < utf8.RuneSelf {
			raw = raw[1:]
			continue
		}
		r, n := utf8.DecodeRune(raw)
		if r == utf8.RuneError && n == 1 {
			bad++
		} else {
			good += n
		}
		raw = raw[n:]
	}
	return good >= 4*bad
}

type pairClass int8

const (
	pairBad pairClass = iota - 1
	pairRare
	pairCommon
)

// scorePairs scores charsets in which every byte from 0x80 up begins a pair.
func scorePairs(class func(lead, trail byte) pairClass) func([]byte) (float64, int) {
	return func(b []byte) (float64, int) {
		common, n := 0, 0
		for i := 0; i < len(b); i++ {
			if b[i] < 0x80 {
				continue
			}
			if i+1 == len(b) {
				break
			}
			switch class(b[i], b[i+1]) {
			case pairBad:
				return -1, 0
			case pairCommon:
				common++
			}
			n++
			i++
		}
		if n == 0 {
			return 0, 0
		}
		return float64(common) / float64(n), n
	}
}

func within(b, lo, hi byte) bool { return lo <= b && b <= hi }

func gbk(lead, trail byte) pairClass {
	switch {
	case within(lead, 0x81, 0xfe) && within(trail, 0x30, 0x39):
		return pairRare // four bytes of GB18030
	case !within(lead, 0x81, 0xfe) || !within(trail, 0x40, 0xfe) || trail == 0x7f:
		return pairBad
	case within(trail, 0xa1, 0xfe) && (within(lead, 0xb0, 0xd7) || lead == 0xa1 || lead == 0xa3):
		return pairCommon
	}
	return pairRare
}

func big5(lead, trail byte) pairClass {
	switch {
	case !within(lead, 0x81, 0xfe) || !within(trail, 0x40, 0x7e) && !within(trail, 0xa1, 0xfe):
		return pairBad
	case within(lead, 0xa4, 0xc6) || lead == 0xa1:
		return pairCommon
	}
	return pairRare
}

func eucKR(lead, trail byte) pairClass {
	switch {
	case !within(lead, 0x81, 0xfe) || !within(trail, 0x41, 0xfe):
		return pairBad
	case within(trail, 0xa1, 0xfe) && (within(lead, 0xb0, 0xc8) || lead == 0xa1):
		return pairCommon
	}
	return pairRare
}

func eucJP(lead, trail byte) pairClass {
	switch {
	case lead == 0x8e && within(trail, 0xa1, 0xdf):
		return pairRare
	case !within(lead, 0xa1, 0xfe) || !within(trail, 0xa1, 0xfe):
		return pairBad
	case within(lead, 0xa4, 0xa5), lead == 0xa1, within(lead, 0xb0, 0xcf):
		return pairCommon
	}
	return pairRare
}

func scoreShiftJIS(b []byte) (float64, int) {
	common, n := 0, 0
	for i := 0; i < len(b); i++ {
		c := b[i]
		switch {
		case c < 0x80:
			continue
		case within(c, 0xa1, 0xdf):
			n++ // half-width katakana, rare
			continue
		case c == 0x80 || c == 0xa0 || c > 0xfc:
			return -1, 0
		case i+1 == len(b):
			continue
		}
		t := b[i+1]
		if !within(t, 0x40, 0xfc) || t == 0x7f {
			return -1, 0
		}
		if c == 0x82 && within(t, 0x4f, 0xf1) || c == 0x83 && within(t, 0x40, 0x96) || c == 0x81 && t <= 0xac || within(c, 0x88, 0x97) {
			common++
		}
		n++
		i++
	}
	if n == 0 {
		return 0, 0
	}
	return float64(common) / float64(n), n
}

// scoreWestern counts bytes from 0x80 up that stand alone or in twos beside ASCII letters, blanks or punctuation.
func scoreWestern(b []byte) (float64, int) {
	common, n := 0, 0
	for i := 0; i < len(b); i++ {
		if b[i] < 0x80 {
			continue
		}
		end := i
		for end < len(b) && b[end] >= 0x80 {
			switch b[end] {
			case 0x81, 0x8d, 0x8f, 0x90, 0x9d:
				return -1, 0
			}
			end++
		}
		n += end - i
		if end-i <= 2 {
			beside := i > 0 && isWordByte(b[i-1]) || end < len(b) && isWordByte(b[end])
			for _, c := range b[i:end] {
				letter := c >= 0xc0 && c != 0xd7 && c != 0xf7
				if letter && beside || !letter && (beside || end-i == 1) {
					common++
				}
			}
		}
		i = end
	}
	if n == 0 {
		return 0, 0
	}
	return float64(common) / float64(n), n
}

func isWordByte(c byte) bool { return within(c|0x20, 'a', 'z') || within(c, '0', '9') }
