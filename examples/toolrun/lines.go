package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
)

// maxLine is the longest input line, in bytes without its newline.
const maxLine = 64 << 20

// headLen is how much of a line that is too long is kept, to find its id.
const headLen = 64 << 10

// errTooLong says that a line was over the limit and was skipped.
var errTooLong = errors.New("line too long")

// lineReader reads lines of bounded length.
type lineReader struct {
	r     *bufio.Reader
	limit int
}

func newLineReader(r io.Reader, limit int) *lineReader {
	return &lineReader{bufio.NewReaderSize(r, 64<<10), limit}
}

// next returns the next line without its newline. A line over the limit is
// read to its end but not kept: its beginning comes with errTooLong. At the end
// of the input the error is io.EOF.
func (l *lineReader) next() ([]byte, error) {
	var line []byte
	long := false
	for {
		part, err := l.r.ReadSlice('\n')
		ended := len(part) > 0 && part[len(part)-1] == '\n'
		body := bytes.TrimSuffix(part, []byte("\n"))
		switch {
		case long:
		case len(line)+len(body) > l.limit:
			long = true
			line = append(line, body...)
			line = append([]byte(nil), line[:min(len(line), headLen)]...)
		default:
			line = append(line, body...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF) && len(line) > 0 && !ended:
			err = nil // a last line without a newline
		}
		if err == nil && long {
			err = errTooLong
		}
		return line, err
	}
}

// lineWriter writes one JSON value per line and flushes it.
type lineWriter struct{ w *bufio.Writer }

func (l *lineWriter) write(v any) error {
	enc := json.NewEncoder(l.w)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("encoding a line: %w", err)
	}
	return l.w.Flush()
}

var idPattern = regexp.MustCompile(`"id"\s*:\s*("(?:[^"\\]|\\.)*"|-?[0-9.eE+-]+)`)

// findID looks for the id in a line that is not JSON.
func findID(line []byte) string {
	m := idPattern.FindSubmatch(line[:min(len(line), headLen)])
	if m == nil {
		return ""
	}
	return idText(m[1])
}

// idText returns an id that is a string, or a number as it was written.
func idText(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var n json.Number
	if json.Unmarshal(raw, &n) == nil {
		return n.String()
	}
	return ""
}
