package notebook

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
)

// A Span replaces the bytes [Start, End) of the notebook's text by New.
type Span struct {
	Start, End int
	New        string
}

// SetSource returns the span that gives cell i, counted from 0, another source.
// It stays a string or a list as it was, and lines that stay keep their bytes.
func (n *Notebook) SetSource(i int, source string) Span {
	v := n.Cells[i].source
	kept := make(map[string]string) // raw form of lines, by what they say
	if v.kind == '"' {
		raw := n.src[v.start+1 : v.end-1]
		for _, part := range rawLines(raw) {
			kept[decode(`"`+part+`"`)] = part
		}
		var b strings.Builder
		b.WriteByte('"')
		for _, l := range strings.SplitAfter(source, "\n") {
			if part, ok := kept[l]; ok {
				b.WriteString(part)
			} else {
				q := n.quote(l)
				b.WriteString(q[1 : len(q)-1])
			}
		}
		b.WriteByte('"')
		return Span{v.start, v.end, b.String()}
	}
	for _, item := range v.items {
		raw := n.src[item.start:item.end]
		kept[decode(raw)] = raw
	}
	var items []string
	for _, l := range strings.SplitAfter(source, "\n") {
		if l == "" {
			continue // behind the last newline
		}
		raw, ok := kept[l]
		if !ok {
			raw = n.quote(l)
		}
		items = append(items, raw)
	}
	return Span{v.start, v.end, n.list(v, items)}
}

// rawLines splits the inside of a JSON string behind its newline escapes.
func rawLines(raw string) []string {
	var out []string
	start := 0
	for i := 0; i+1 < len(raw); i++ {
		if raw[i] != '\\' {
			continue
		}
		if i++; raw[i] == 'n' {
			out = append(out, raw[start:i+1])
			start = i + 1
		}
	}
	return append(out, raw[start:])
}

// list writes items in the place of the list v, laid out as that is.
func (n *Notebook) list(v *node, items []string) string {
	if len(items) == 0 {
		return "[]"
	}
	open, sep, end := "", ", ", ""
	switch {
	case len(v.items) > 0:
		open = n.src[v.start+1 : v.items[0].start]
		end = n.src[v.items[len(v.items)-1].end : v.end-1]
		sep = "," + open
		if len(v.items) > 1 {
			sep = n.src[v.items[0].end:v.items[1].start]
		} else if open == "" {
			sep = n.comma()
		}
	default:
		if at := n.indentAt(v.start); at != "" || n.spread() {
			open = "\n" + at + n.unit()
			sep, end = ","+open, "\n"+at
		} else {
			sep = n.comma()
		}
	}
	return "[" + open + strings.Join(items, sep) + end + "]"
}

// spread reports whether the list of cells is written over several lines.
func (n *Notebook) spread() bool {
	if len(n.cells.items) == 0 {
		return strings.Contains(n.src, "\n ") || strings.Contains(n.src, "\n\t")
	}
	return strings.Contains(n.src[n.cells.start:n.cells.items[0].start], "\n")
}

// comma is what stands between the members of what is on one line.
func (n *Notebook) comma() string {
	if strings.Contains(n.src, `", "`) || strings.Contains(n.src, `, "metadata"`) {
		return ", "
	}
	return ","
}

// indentAt returns the blanks that the line at an offset begins with.
func (n *Notebook) indentAt(at int) string {
	line := n.src[strings.LastIndexByte(n.src[:at], '\n')+1 : at]
	return line[:len(line)-len(strings.TrimLeft(line, " \t"))]
}

// unit is one step of indentation: that of the notebook's first member.
func (n *Notebook) unit() string {
	if i := strings.IndexByte(n.src, '\n'); i >= 0 {
		rest := n.src[i+1:]
		if u := rest[:len(rest)-len(strings.TrimLeft(rest, " \t"))]; u != "" {
			return u
		}
	}
	return " "
}

// Delete returns the span that takes cell i away.
func (n *Notebook) Delete(i int) Span {
	items := n.cells.items
	switch {
	case len(items) == 1:
		return Span{n.cells.start, n.cells.end, "[]"}
	case i == 0:
		return Span{items[0].start, items[1].start, ""}
	}
	return Span{items[i-1].end, items[i].end, ""}
}

// Insert returns the span that puts a new cell behind the cell that is number
// after, counted from 1; 0 puts it in front of all. kind is "code", "markdown" or
// "raw". The cell gets an id where the format has them: the same for the same
// notebook and call.
func (n *Notebook) Insert(after int, kind, source string) Span {
	items := n.cells.items
	base := n.indentAt(n.cells.start)
	spread := n.spread()
	if len(items) > 0 {
		base = n.indentAt(items[0].start)
	} else if spread {
		base += n.unit()
	}
	text := n.cell(base, spread, kind, source, n.newID(after, source))
	switch {
	case len(items) == 0 && spread:
		return Span{n.cells.start, n.cells.end, "[\n" + base + text + "\n" + n.indentAt(n.cells.start) + "]"}
	case len(items) == 0:
		return Span{n.cells.start, n.cells.end, "[" + text + "]"}
	}
	gap := n.comma()
	if spread {
		gap = ",\n" + base
	}
	if after == 0 {
		return Span{items[0].start, items[0].start, text + gap}
	}
	return Span{items[after-1].end, items[after-1].end, gap + text}
}

// cell writes a cell with its keys in the order of their names, as Jupyter does.
func (n *Notebook) cell(base string, spread bool, kind, source, id string) string {
	colon := ": "
	if !spread && n.comma() == "," {
		colon = ":"
	}
	member := func(name, value string) string { return `"` + name + `"` + colon + value }
	members := []string{member("cell_type", n.quote(kind))}
	if kind == "code" {
		members = append(members, member("execution_count", "null"))
	}
	if id != "" {
		members = append(members, member("id", n.quote(id)))
	}
	members = append(members, member("metadata", "{}"))
	if kind == "code" {
		members = append(members, member("outputs", "[]"))
	}
	var items []string
	for _, l := range strings.SplitAfter(source, "\n") {
		if l != "" {
			items = append(items, n.quote(l))
		}
	}
	if !spread {
		members = append(members, member("source", "["+strings.Join(items, n.comma())+"]"))
		return "{" + strings.Join(members, n.comma()) + "}"
	}
	in := base + n.unit()
	list := "[]"
	if len(items) > 0 {
		deep := "\n" + in + n.unit()
		list = "[" + deep + strings.Join(items, ","+deep) + "\n" + in + "]"
	}
	members = append(members, member("source", list))
	return "{\n" + in + strings.Join(members, ",\n"+in) + "\n" + base + "}"
}

// newID returns an id that no cell has, or "" where the format has none.
func (n *Notebook) newID(after int, source string) string {
	if n.Major < 4 || n.Major == 4 && n.Minor < 5 {
		return ""
	}
	for k := 0; ; k++ {
		sum := sha256.Sum256(fmt.Appendf(nil, "%d\x00%d\x00%s\x00%s", k, after, source, n.src))
		id := hex.EncodeToString(sum[:4])
		taken := false
		for _, c := range n.Cells {
			taken = taken || c.ID == id
		}
		if !taken {
			return id
		}
	}
}

// ClearOutputs returns the spans that take away what running cell i gave; none
// if there is nothing to take away.
func (n *Notebook) ClearOutputs(i int) []Span {
	c := n.Cells[i]
	var out []Span
	if c.Count != "" {
		out = append(out, Span{c.count.start, c.count.end, "null"})
	}
	if c.outputs != nil && len(c.outputs.items) > 0 {
		out = append(out, Span{c.outputs.start, c.outputs.end, "[]"})
	}
	if len(out) == 2 && out[0].Start > out[1].Start {
		out[0], out[1] = out[1], out[0]
	}
	return out
}
