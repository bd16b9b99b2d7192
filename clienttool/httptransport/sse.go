package httptransport

import (
	"bufio"
	"bytes"
	"fmt"
	"io"

	"github.com/agenttool/tool/clienttool"
)

// event is one server-sent event.
type event struct {
	name string
	id   string
	data []byte
}

// parser reads an event stream as the HTML standard says, with a bound on the size
// of an event. Comments and unknown fields are skipped; an event without data is
// none, except that its name counts for nothing either.
type parser struct {
	r   *bufio.Reader
	max int
	bom bool // the first line was read
	cr  bool // the last line ended in CR
}

func newParser(r io.Reader, most int) *parser { return &parser{r: bufio.NewReader(r), max: most} }

// next returns the next event with data. The data is the caller's.
func (p *parser) next() (event, error) {
	var ev event
	has := false
	for {
		line, err := p.line(p.max - len(ev.data))
		if err != nil {
			if err == io.EOF && has {
				err = io.ErrUnexpectedEOF // an event that was cut off is none
			}
			return event{}, err
		}
		if len(line) == 0 {
			if has {
				return ev, nil
			}
			ev = event{}
			continue
		}
		field, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(field) {
		case "data":
			if has {
				ev.data = append(ev.data, '\n')
			}
			ev.data = append(ev.data, value...)
			has = true
		case "event":
			ev.name = string(value)
		case "id":
			if !bytes.ContainsRune(value, 0) {
				ev.id = string(value)
			}
		}
	}
}

// line reads one line, which ends in CR, LF or both.
func (p *parser) line(room int) ([]byte, error) {
	var line []byte
	for {
		chunk, err := p.r.Peek(1)
		if err != nil {
			return nil, err
		}
		if p.cr { // the LF of a CR LF may come much later than the CR
			p.cr = false
			if chunk[0] == '\n' {
				p.r.Discard(1)
				continue
			}
		}
		if n := p.r.Buffered(); n > 1 {
			chunk, _ = p.r.Peek(n)
		}
		i := bytes.IndexAny(chunk, "\r\n")
		take := i
		if i < 0 {
			take = len(chunk)
		}
		if p.max > 0 && len(line)+take > room+64 { // the field's name and blanks are free
			return nil, fmt.Errorf("%w: an event of more than %d bytes", clienttool.ErrTooLarge, p.max)
		}
		line = append(line, chunk[:take]...)
		p.r.Discard(take)
		if i < 0 {
			continue
		}
		end, _ := p.r.ReadByte()
		p.cr = end == '\r'
		if !p.bom {
			p.bom = true
			line = bytes.TrimPrefix(line, []byte("\uFEFF"))
		}
		return line, nil
	}
}

// appendEvent appends an event whose data has no line ends, as JSON never has.
func appendEvent(dst []byte, name, id string, data []byte) []byte {
	if name != "" {
		dst = append(append(append(dst, "event: "...), name...), '\n')
	}
	if id != "" {
		dst = append(append(append(dst, "id: "...), id...), '\n')
	}
	return append(append(append(dst, "data: "...), data...), "\n\n"...)
}
