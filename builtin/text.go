package builtin

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/agenttool/tool/internal/textfile"
)

var bom = []byte("\xEF\xBB\xBF")

// visible makes a text safe to show: valid UTF-8, with control characters and
// those that reorder text written as escapes, so that a file can neither repaint
// a terminal nor show what it does not say.
func visible(s string) string {
	v, _ := textfile.Visible(s)
	return v
}

// oneLine is visible for what must stay on one line.
func oneLine(s string) string { return strings.ReplaceAll(visible(s), "\n", `\n`) }

// cutLine shortens a line to limit runes and says how many are missing.
func cutLine(s string, limit int) string {
	n := 0
	for i := range s {
		if n == limit {
			return fmt.Sprintf("%s…[+%d characters]", s[:i], utf8.RuneCountInString(s[i:]))
		}
		n++
	}
	return s
}

// clip shortens s to about n bytes and makes it valid UTF-8.
func clip(s string, n int) string {
	if len(s) > n {
		for n > 0 && !utf8.RuneStart(s[n]) {
			n--
		}
		s = s[:n] + "…"
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

// splitLines keeps the newlines.
func splitLines(s string) []string {
	lines := strings.SplitAfter(s, "\n")
	if n := len(lines); lines[n-1] == "" {
		lines = lines[:n-1]
	}
	return lines
}

// countLines counts lines: what ends in a newline, and a rest that does not.
func countLines(s string) int {
	n := strings.Count(s, "\n")
	if s != "" && s[len(s)-1] != '\n' {
		n++
	}
	return n
}

func clean(b []byte) string { return string(bytes.ToValidUTF8(b, []byte("\uFFFD"))) }

func plural(n int, word string) string {
	switch {
	case n == 1:
		return "1 " + word
	case strings.HasSuffix(word, "ch"):
		return fmt.Sprintf("%d %ses", n, word)
	case strings.HasSuffix(word, "ry"):
		return fmt.Sprintf("%d %sies", n, strings.TrimSuffix(word, "y"))
	}
	return fmt.Sprintf("%d %ss", n, word)
}

// ctxReader ends with its context, between two reads.
type ctxReader struct {
	ctx context.Context
	r   io.Reader
}

func (r *ctxReader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.r.Read(p)
}
