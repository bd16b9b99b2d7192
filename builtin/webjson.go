package builtin

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// maxPretty is the largest JSON text, in bytes, that is laid out.
const maxPretty = 5 << 20

// prettyJSON lays a JSON text out. If that is longer than limit, long lists and
// texts in it are shortened, so that its whole structure is seen, and the note says
// so; whole lays out all of it. It is "" for what is no JSON, or too large.
func prettyJSON(text string, limit int, whole bool) (pretty, note string) {
	if len(text) > maxPretty || !json.Valid([]byte(text)) {
		return "", ""
	}
	var b bytes.Buffer
	if json.Indent(&b, []byte(text), "", "  ") != nil {
		return "", ""
	}
	// Deep texts grow with their indentation; they are better left as they came.
	if b.Len() > 4*len(text)+1000 {
		return "", ""
	}
	pretty = b.String()
	if whole || len(pretty) <= limit {
		return pretty, ""
	}
	for _, most := range []int{100, 30, 10, 3} {
		short, ok := shortJSON(text, most)
		if ok && len(short) <= limit*3/4 {
			return short, fmt.Sprintf("shortened: lists show at most %d items; see all of it with offset=1, or ask for less", most)
		}
	}
	return pretty, ""
}

// shortJSON lays out a JSON text with at most a number of items in each array and
// object, and with long strings cut.
func shortJSON(text string, most int) (string, bool) {
	const maxString = 500
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var b strings.Builder
	type level struct {
		object bool
		n      int // values, and keys, so far
	}
	var stack []level
	left := 0 // levels that are being left out
	top := func() *level {
		if len(stack) == 0 {
			return nil
		}
		return &stack[len(stack)-1]
	}
	line := func(depth int) { b.WriteString("\n" + strings.Repeat("  ", depth)) }
	for {
		t, err := d.Token()
		if err != nil {
			return b.String(), len(stack) == 0
		}
		if delim, ok := t.(json.Delim); ok && (delim == '}' || delim == ']') {
			if left > 0 {
				left--
				continue
			}
			l := *top()
			stack = stack[:len(stack)-1]
			n := l.n
			if l.object {
				n /= 2
			}
			if n > most {
				b.WriteByte(',')
				line(len(stack) + 1)
				fmt.Fprintf(&b, "… %d more", n-most)
			}
			if n > 0 {
				line(len(stack))
			}
			b.WriteString(delim.String())
			continue
		}
		key := false
		if l := top(); l != nil && left == 0 {
			key = l.object && l.n%2 == 0
			n := l.n
			if l.object {
				n /= 2
			}
			l.n++
			if n >= most {
				if delim, ok := t.(json.Delim); ok && (delim == '{' || delim == '[') {
					left = 1
				}
				continue
			}
			if !l.object || key {
				if n > 0 {
					b.WriteByte(',')
				}
				line(len(stack))
			}
		} else if left > 0 {
			if _, ok := t.(json.Delim); ok {
				left++
			}
			continue
		}
		switch v := t.(type) {
		case json.Delim:
			b.WriteString(v.String())
			stack = append(stack, level{object: v == '{'})
		case string:
			b.WriteString(jsonText(clip(v, maxString)))
		case nil:
			b.WriteString("null")
		default:
			fmt.Fprint(&b, v)
		}
		if key {
			b.WriteString(": ")
		}
	}
}

// jsonText is s as JSON, without escapes for the sake of HTML.
func jsonText(s string) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(s) != nil {
		return `""`
	}
	return strings.TrimSuffix(b.String(), "\n")
}
