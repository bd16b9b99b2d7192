package truncate

import (
	"errors"
	"strconv"
	"strings"
)

// noticeForm is how much a notice says; the shorter ones are for small limits.
type noticeForm int

const (
	formFull  noticeForm = iota // what is missing, where it is, what to call
	formPlain                   // what is missing and where it is
	formShort                   // that something is missing
	formNone
)

// notice returns the notice of c in one pair of brackets, without newlines
// around it. Every word of it is paid for in each turn to come.
func (p Policy) notice(c *Cut, errs []errLine, form noticeForm) string {
	switch form {
	case formNone:
		return ""
	case formShort:
		return "[" + strconv.Itoa(c.Bytes) + " bytes omitted]"
	}
	var hint string
	if form == formFull && p.Hint != nil {
		shown := *c
		shown.Text = ""
		hint = valid(strings.TrimSpace(p.Hint(shown)))
	}
	var b strings.Builder
	b.Grow(128 + len(c.Path) + len(hint))
	b.WriteByte('[')
	writeCount(&b, c.Lines, "line")
	b.WriteString(", ")
	writeCount(&b, c.Bytes, "byte")
	b.WriteString(" omitted; ")
	var part *PartialError
	switch {
	case c.Path == "" && c.SpillErr != nil:
		b.WriteString("the full text could not be stored")
	case c.Path == "":
		b.WriteString("the full text was not kept")
	case errors.As(c.SpillErr, &part):
		b.WriteString("first ")
		writeCount(&b, int(part.Stored), "byte")
		writePath(&b, hint, c.Path)
	default:
		b.WriteString("full text")
		writePath(&b, hint, c.Path)
	}
	b.WriteByte('.')
	if len(errs) > 0 {
		b.WriteString(" Lines in it that look like errors:\n")
		for _, e := range errs {
			b.WriteString(strconv.Itoa(e.line))
			b.WriteString(": ")
			b.WriteString(e.text)
			b.WriteByte('\n')
		}
	} else if hint != "" {
		b.WriteByte(' ')
	}
	b.WriteString(hint)
	b.WriteByte(']')
	return b.String()
}

// writePath names path unless the hint does.
func writePath(b *strings.Builder, hint, path string) {
	if hint != "" && strings.Contains(hint, path) {
		b.WriteString(" stored")
		return
	}
	b.WriteString(" in ")
	b.WriteString(valid(path))
}

func writeCount(b *strings.Builder, n int, unit string) {
	var digits [20]byte
	b.Write(strconv.AppendInt(digits[:0], int64(n), 10))
	b.WriteByte(' ')
	b.WriteString(unit)
	if n != 1 {
		b.WriteByte('s')
	}
}
