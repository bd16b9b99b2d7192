package truncate

import (
	"context"
	"strings"
	"unicode/utf8"
)

// The limits of a zero [Policy].
const (
	DefaultMaxLines = 2000
	DefaultMaxBytes = 50 * 1024
)

// Keep says which part of a text stays when it is cut.
type Keep int

const (
	Head     Keep = iota // the beginning: files, lists, search results
	Tail                 // the end: logs
	HeadTail             // both ends: output of commands
)

// Policy says how much of a text is shown and what is done with the rest. The
// zero value keeps the head of 2000 lines and 50 KiB and stores nothing. A
// Policy may be used concurrently if its functions and its Spill may.
type Policy struct {
	// MaxBytes bounds the resulting text with its notice, in bytes. 0 means
	// DefaultMaxBytes, negative means no limit. From 512 on, notice and text
	// both have room; under that the notice gets shorter and at last is left out.
	MaxBytes int
	// MaxLines bounds the lines that are kept; the lines of the notice come on
	// top. 0 means DefaultMaxLines, negative means no limit.
	MaxLines int
	// MaxTokens bounds the resulting text with its notice, in tokens as counted
	// by Tokens. 0 or less means no limit.
	MaxTokens int
	// Tokens counts the tokens of a text. Nil means EstimateTokens. It is called
	// a few times per cut, on texts within the other limits where there are any.
	Tokens func(string) int
	// Keep is the part that stays.
	Keep Keep
	// HeadShare is the share of the head under HeadTail, between 0 and 1. 0
	// means one half. What the head does not use goes to the tail.
	HeadShare float64
	// Errors is how many lines of the elided middle are kept under HeadTail
	// because they look like errors or warnings. They stand in the notice with
	// their line numbers. 0 or less means none. The first 64 MiB are searched.
	Errors int
	// Spill stores the whole text when it is cut. Nil means it is not kept.
	Spill Spill
	// Hint returns the last part of the notice: what to call to see more. It
	// must be pure and may be called more than once for a cut, with Text unset
	// and the other fields as they will be. If what it returns names c.Path, the
	// notice does not repeat it. Nil or an empty string means that the notice
	// names the file and no call.
	Hint func(c Cut) string
}

// Cut is the outcome of bounding a text.
type Cut struct {
	// Text is what to show, notice included: valid UTF-8, and the input itself
	// if nothing had to be done.
	Text      string
	Truncated bool
	// Head and Tail are the parts that were kept: substrings of the input,
	// unless invalid UTF-8 in them had to be replaced by U+FFFD.
	Head, Tail string
	// Bytes and Lines are what was omitted. A line that was cut counts.
	Bytes, Lines int
	// TotalBytes and TotalLines measure the input. TotalLines is -1 if there
	// was no need to count.
	TotalBytes, TotalLines int
	// NextLine is the first omitted line, counted from 1, if the omitted part
	// starts at the beginning of a line, and 0 if not.
	NextLine int
	// Path is the file that holds the whole text, "" if there is none.
	Path string
	// SpillErr says why the text was not stored, or not all of it: then it
	// wraps ErrPartial and Path is set. The rest of the Cut is good all the same.
	SpillErr error
}

// Fits reports whether Apply would return text without cutting it.
func (p Policy) Fits(text string) bool {
	l := p.limits()
	_, _, ok := l.fits(text)
	return ok
}

// Apply bounds text. It never fails: a text that cannot be stored is cut all
// the same, and Cut.SpillErr says why. ctx is only for the Spill.
func (p Policy) Apply(ctx context.Context, text string) Cut {
	l := p.limits()
	lines, valid, ok := l.fits(text)
	if ok {
		shown := text
		if !valid {
			shown = repair(text)
			_, _, ok = l.fits(shown) // U+FFFD is longer than what it replaces
		}
		if ok {
			return Cut{Text: shown, Head: shown, TotalBytes: len(text), TotalLines: lines}
		}
	}
	src := source{text: text, at: -1, newlines: strings.Count(text, "\n"), bytes: len(text), open: isOpen(text)}
	var path string
	var err error
	if p.Spill != nil {
		path, err = store(ctx, p.Spill, text)
	}
	return p.cut(l, &src, path, err)
}

// limits are the limits of a Policy with the defaults filled in: negative is none.
type limits struct {
	bytes, lines, tokens int
	count                func(string) int // nil: the estimate
}

func (p Policy) limits() limits {
	l := limits{bytes: p.MaxBytes, lines: p.MaxLines, tokens: p.MaxTokens, count: p.Tokens}
	if l.bytes == 0 {
		l.bytes = DefaultMaxBytes
	}
	if l.lines == 0 {
		l.lines = DefaultMaxLines
	}
	if l.tokens <= 0 {
		l.tokens = -1
	}
	return l
}

// fits reports whether text is within l. If it is, valid says whether it is
// UTF-8, and lines is how many it has, or -1 if there was no need to count.
func (l limits) fits(text string) (lines int, valid, ok bool) {
	if l.bytes >= 0 && len(text) > l.bytes {
		return -1, false, false
	}
	count := l.lines >= 0 && len(text) > l.lines // a text has at most as many lines as bytes
	lines, valid = scan(text, count)
	if !count {
		lines = -1
	} else {
		if isOpen(text) {
			lines++
		}
		if lines > l.lines {
			return lines, valid, false
		}
	}
	return lines, valid, l.fitsTokens(text)
}

func (l limits) fitsTokens(text string) bool {
	if l.tokens < 0 {
		return true
	}
	if l.count == nil {
		// The estimate is between a quarter token per byte and one.
		if len(text) <= l.tokens {
			return true
		}
		if (len(text)+3)/4 > l.tokens {
			return false
		}
	}
	return l.tokensOf(text) <= l.tokens
}

func (l limits) tokensOf(text string) int {
	if l.count == nil {
		return EstimateTokens(text)
	}
	return l.count(text)
}

// EstimateTokens is the count that a Policy without Tokens uses: a token per
// four bytes of ASCII, a token per character from CJK on, and a token per four
// bytes between the two.
func EstimateTokens(s string) int {
	quarters := len(s)
	for i := 0; i < len(s); {
		if s[i] < utf8.RuneSelf {
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if r >= '\u2e80' && n < 4 {
			quarters += 4 - n
		}
		i += n
	}
	return (quarters + 3) / 4
}

// countLines counts the lines of s.
func countLines(s string) int {
	n := strings.Count(s, "\n")
	if isOpen(s) {
		n++
	}
	return n
}

// isOpen reports whether s ends within a line.
func isOpen(s string) bool { return s != "" && s[len(s)-1] != '\n' }

// repair replaces what is not UTF-8 in s.
func repair(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }
