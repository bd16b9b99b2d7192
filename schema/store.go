package schema

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math/bits"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"
)

// storer puts an input that a program has accepted into a Go value, as
// encoding/json would. It trusts that the text is JSON, that keys are unique and
// that none resembles a field without being it, so there is little left to do.
// What it does not know – maps, interfaces, types that read themselves – it leaves
// to encoding/json, value by value.
type storer struct {
	runner
	texts strings.Builder // all strings, in one piece of memory
	next  int             // position in runner.lists
}

// store reports whether input could be stored in dst, a zero value of the
// program's type. If not, dst has been changed.
func (p *program) store(input []byte, lists *lists, dst reflect.Value) bool {
	var d storer
	d.b, d.lists = input, *lists
	return d.value(p.into, d.skip(0), dst) >= 0
}

// value stores the value at i and returns the position after it, or -1.
func (d *storer) value(s *shape, i int, v reflect.Value) int {
	c := d.b[i]
	if c == 'n' && (!s.reads || v.Kind() == reflect.Pointer) {
		return i + len("null") // a zero value it is
	}
	for v.Kind() == reflect.Pointer {
		v.Set(reflect.New(v.Type().Elem()))
		v = v.Elem()
	}
	switch {
	case s.form == text && c == '"':
		return d.string(i, v)
	case s.form == truth && (c == 't' || c == 'f'):
		v.SetBool(c == 't')
		if c == 't' {
			return i + len("true")
		}
		return i + len("false")
	case s.form == signed && numeric(c):
		end := d.token(i)
		n, err := strconv.ParseInt(string(d.b[i:end]), 10, s.typ.Bits())
		if err != nil {
			return -1
		}
		v.SetInt(n)
		return end
	case s.form == unsigned && numeric(c):
		end := d.token(i)
		n, err := strconv.ParseUint(string(d.b[i:end]), 10, s.typ.Bits())
		if err != nil {
			return -1
		}
		v.SetUint(n)
		return end
	case s.form == float && numeric(c):
		end := d.token(i)
		f, err := strconv.ParseFloat(string(d.b[i:end]), s.typ.Bits())
		if err != nil {
			return -1
		}
		v.SetFloat(f)
		return end
	case s.form == structure && s.direct && c == '{':
		return d.object(s, i, v)
	case s.form == sequence && c == '[' && s.typ.Kind() == reflect.Slice:
		return d.list(s, i, v)
	}
	end := d.anything(i, 0)
	if end < 0 || json.Unmarshal(d.b[i:end], v.Addr().Interface()) != nil {
		return -1
	}
	return end
}

func numeric(c byte) bool { return c == '-' || '0' <= c && c <= '9' }

// token returns the end of the number at i.
func (d *storer) token(i int) int {
	for i < len(d.b) && (numeric(d.b[i]) || d.b[i] == '.' || d.b[i] == 'e' || d.b[i] == 'E' || d.b[i] == '+') {
		i++
	}
	return i
}

func (d *storer) string(i int, v reflect.Value) int {
	i++
	if d.texts.Cap() == 0 {
		d.texts.Grow(len(d.b) - i) // enough: no text is longer than its source
	}
	start := d.texts.Len()
	end := bytes.IndexByte(d.b[i:], '"')
	if body := d.b[i : i+end]; bytes.IndexByte(body, '\\') < 0 {
		d.texts.Write(body)
		i += end + 1
	} else {
		i = d.unescape(i)
	}
	v.SetString(d.texts.String()[start:])
	return i
}

// unescape writes the content of the string whose text begins at i to d.texts,
// and returns the position after the closing quote.
func (d *storer) unescape(i int) int {
	var buf [128]byte
	n := 0
	for {
		if n > len(buf)-16 {
			d.texts.Write(buf[:n])
			n = 0
		}
		if i+8 <= len(d.b) {
			// Eight bytes at a time, as in scan. What comes after a quote or
			// backslash is copied too, and overwritten.
			x := binary.LittleEndian.Uint64(d.b[i:])
			binary.LittleEndian.PutUint64(buf[n:], x)
			quote := x ^ ones*'"'
			slash := x ^ ones*'\\'
			mask := (((quote - ones) &^ quote) | ((slash - ones) &^ slash)) & highs
			k := bits.TrailingZeros64(mask) / 8 // 8 if there is none
			i += k
			n += k
			if mask == 0 {
				continue
			}
		}
		switch c := d.b[i]; c {
		case '"':
			d.texts.Write(buf[:n])
			return i + 1
		case '\\':
			r, size := escaped(string(d.b[i:min(i+12, len(d.b))]))
			n = len(utf8.AppendRune(buf[:n], r))
			i += size
		default:
			buf[n] = c
			n++
			i++
		}
	}
}

func (d *storer) object(s *shape, i int, v reflect.Value) int {
	next := 0
	i = d.skip(i + 1)
	for d.b[i] != '}' {
		end, _ := d.scan(i + 1)
		key := d.b[i+1 : end]
		i = d.skip(d.skip(end+1) + 1)
		at := -1
		for k := range s.list {
			j := next + k
			if j >= len(s.list) {
				j -= len(s.list)
			}
			if s.list[j].name == string(key) {
				at = j
				break
			}
		}
		if at >= 0 {
			f := &s.list[at]
			next = at + 1
			if len(f.index) == 1 {
				i = d.value(f.shape, i, v.Field(f.index[0]))
			} else {
				i = d.value(f.shape, i, v.FieldByIndex(f.index))
			}
		} else {
			i = d.anything(i, 0)
		}
		if i < 0 {
			return -1
		}
		if i = d.skip(i); d.b[i] == ',' {
			i = d.skip(i + 1)
		}
	}
	return i + 1
}

func (d *storer) list(s *shape, i int, v reflect.Value) int {
	room := d.room(i)
	list := reflect.MakeSlice(v.Type(), room, room)
	n := 0
	i = d.skip(i + 1)
	for ; d.b[i] != ']'; n++ {
		if n == room {
			room = 2*room + 4
			longer := reflect.MakeSlice(v.Type(), room, room)
			reflect.Copy(longer, list)
			list = longer
		}
		if i = d.value(s.elem, i, list.Index(n)); i < 0 {
			return -1
		}
		if i = d.skip(i); d.b[i] == ',' {
			i = d.skip(i + 1)
		}
	}
	if n < room {
		list = list.Slice(0, n)
	}
	v.Set(list)
	return i + 1
}

// room returns how many items the program has counted in the array at i, 0 if it
// has not kept count.
func (d *storer) room(i int) int {
	for ; d.next < d.lists.n; d.next++ {
		switch l := d.lists.at[d.next]; {
		case l.start == i:
			d.next++
			return l.count
		case l.start > i:
			return 0
		}
	}
	return 0
}

// lists are the lengths of the first arrays of an input, in the order in which
// they begin, so that each slice is made once and in its size.
type lists struct {
	n  int
	at [16]struct{ start, count int }
}
