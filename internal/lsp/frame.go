package lsp

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// What a message may have at most, in bytes.
const (
	maxHeader = 8 << 10  // all header lines together
	maxBody   = 32 << 20 // a larger body is skipped
	maxSkip   = 1 << 30  // a body that claims more than this is not waited for
)

// ErrProtocol is wrapped by errors that say how a server broke the protocol.
var ErrProtocol = errors.New("the server does not keep to the protocol")

// tooLargeError says that a message was skipped because of its size.
type tooLargeError struct {
	size int64
	head []byte // how the body begins
	tail []byte // and how it ends
}

func (e *tooLargeError) Error() string {
	return fmt.Sprintf("the server sent a message of %d bytes, more than the %d that are taken", e.size, maxBody)
}

// framer reads the messages of a stream: header lines, an empty line, and as many
// bytes as Content-Length says.
type framer struct {
	r     *bufio.Reader
	limit int64 // of a body
}

func newFramer(r io.Reader) *framer {
	return &framer{r: bufio.NewReaderSize(r, 32<<10), limit: maxBody}
}

// next returns the body of the next message. At the end of the stream, between
// two messages, the error is io.EOF; within one it is io.ErrUnexpectedEOF. After
// a *tooLargeError reading can go on, after any other error it cannot.
func (f *framer) next() ([]byte, error) {
	size, err := f.header()
	if err != nil {
		return nil, err
	}
	if size > f.limit {
		return nil, f.skip(size)
	}
	// The memory grows with what comes, not with what was announced.
	var body []byte
	for int64(len(body)) < size {
		n := min(size-int64(len(body)), int64(max(64<<10, len(body))))
		start := len(body)
		body = append(body, make([]byte, n)...)
		if _, err := io.ReadFull(f.r, body[start:]); err != nil {
			return nil, unexpected(err)
		}
	}
	return body, nil
}

// header reads the header and returns the length of the body.
func (f *framer) header() (int64, error) {
	size, read := int64(-1), 0
	for {
		line, err := f.line(maxHeader - read)
		if err != nil {
			if errors.Is(err, io.EOF) && (read > 0 || line != "") {
				err = io.ErrUnexpectedEOF
			}
			return 0, err
		}
		read += len(line) + 1
		line = strings.TrimSuffix(line, "\r")
		if line == "" {
			if size < 0 {
				return 0, fmt.Errorf("%w: a message has no Content-Length", ErrProtocol)
			}
			return size, nil
		}
		name, value, ok := strings.Cut(line, ":")
		if !ok {
			return 0, fmt.Errorf("%w: it wrote %q to its standard output", ErrProtocol, clip(line, 200))
		}
		if !strings.EqualFold(strings.TrimSpace(name), "Content-Length") {
			continue // Content-Type, whose only value is the default, and whatever else
		}
		n, err := strconv.ParseInt(strings.TrimSpace(value), 10, 64)
		if err != nil || n < 0 || size >= 0 && size != n {
			return 0, fmt.Errorf("%w: Content-Length is %q", ErrProtocol, clip(value, 50))
		}
		size = n
	}
}

// line reads a line of at most limit bytes, without its newline.
func (f *framer) line(limit int) (string, error) {
	var b strings.Builder
	for {
		c, err := f.r.ReadByte()
		switch {
		case err != nil:
			return b.String(), err
		case c == '\n':
			return b.String(), nil
		case b.Len() >= limit:
			return "", fmt.Errorf("%w: a header has more than %d bytes and begins with %q", ErrProtocol, maxHeader, clip(b.String(), 100))
		}
		b.WriteByte(c)
	}
}

// skip passes over a body that is too large to be kept.
func (f *framer) skip(size int64) error {
	if size > maxSkip {
		return fmt.Errorf("%w: it announced a message of %d bytes", ErrProtocol, size)
	}
	const ends = 1 << 10
	e := &tooLargeError{size: size, head: make([]byte, min(size, ends)), tail: make([]byte, min(max(0, size-ends), ends))}
	_, err := io.ReadFull(f.r, e.head)
	if err == nil {
		_, err = io.CopyN(io.Discard, f.r, size-int64(len(e.head)+len(e.tail)))
	}
	if err == nil {
		_, err = io.ReadFull(f.r, e.tail)
	}
	if err != nil {
		return unexpected(err)
	}
	return e
}

// unexpected makes the end of the stream within a message an error of its own.
func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// frame puts the header before a body.
func frame(body []byte) []byte {
	out := make([]byte, 0, len(body)+32)
	out = append(out, "Content-Length: "...)
	out = strconv.AppendInt(out, int64(len(body)), 10)
	out = append(out, "\r\n\r\n"...)
	return append(out, body...)
}

// clip shortens a text that comes from a server to about n bytes.
func clip(s string, n int) string {
	if len(s) > n {
		s = s[:n] + "…"
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}
