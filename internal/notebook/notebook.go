package notebook

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// ErrNotebook is what the error of Parse wraps: the text is no notebook.
var ErrNotebook = errors.New("not a notebook")

// ErrCell: there is no such cell.
var ErrCell = errors.New("no such cell")

// A Notebook is a parsed notebook.
type Notebook struct {
	Language     string // of the kernel; "" if it does not say
	Major, Minor int    // of the format
	Cells        []Cell

	src   string
	cells *node // the array
	ascii bool  // characters beyond ASCII are written as escapes
}

// A Cell is one cell.
type Cell struct {
	ID      string // "" in notebooks before format 4.5
	Type    string // "code", "markdown" or "raw"
	Source  string
	Count   string // execution count; "" if it was not run
	Outputs []Output

	node, source, outputs, count *node
}

// An Output is what running a cell gave.
type Output struct {
	Kind string            // "stream", "display_data", "execute_result" or "error"
	Name string            // of a stream
	Data map[string]string // by MIME type; text of streams and errors as text/plain; binary data in base64
}

// Parse reads a notebook of format 4. The error says why the text is none.
func Parse(src string) (*Notebook, error) {
	root, err := scan(src)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotebook, err)
	}
	n := &Notebook{src: src, cells: root.get("cells")}
	if n.cells == nil || n.cells.kind != '[' {
		return nil, fmt.Errorf("%w: it has no list of cells", ErrNotebook)
	}
	n.Major, n.Minor = n.number(root.get("nbformat")), n.number(root.get("nbformat_minor"))
	meta := root.get("metadata")
	if n.Language = n.text(meta.get("language_info").get("name")); n.Language == "" {
		n.Language = n.text(meta.get("kernelspec").get("language"))
	}
	n.ascii = !hasWide(src) && hasWideEscape(src)
	for _, c := range n.cells.items {
		if c.kind != '{' {
			return nil, fmt.Errorf("%w: a cell is no object", ErrNotebook)
		}
		cell := Cell{
			ID: n.text(c.get("id")), Type: n.text(c.get("cell_type")),
			node: c, source: c.get("source"), outputs: c.get("outputs"), count: c.get("execution_count"),
		}
		if cell.source == nil || !n.isText(cell.source) {
			return nil, fmt.Errorf("%w: a cell has no source", ErrNotebook)
		}
		cell.Source = n.text(cell.source)
		if cell.count != nil && cell.count.kind == 0 && src[cell.count.start:cell.count.end] != "null" {
			cell.Count = src[cell.count.start:cell.count.end]
		}
		if cell.outputs != nil {
			for _, o := range cell.outputs.items {
				cell.Outputs = append(cell.Outputs, n.output(o))
			}
		}
		n.Cells = append(n.Cells, cell)
	}
	return n, nil
}

// isText reports whether a node is a string or a list of strings.
func (n *Notebook) isText(v *node) bool {
	if v.kind == '[' {
		for _, i := range v.items {
			if i.kind != '"' {
				return false
			}
		}
		return true
	}
	return v.kind == '"'
}

// text returns a string, or the strings of a list joined; "" for everything else.
func (n *Notebook) text(v *node) string {
	switch {
	case v == nil || !n.isText(v):
		return ""
	case v.kind == '"':
		return decode(n.src[v.start:v.end])
	}
	var b strings.Builder
	for _, i := range v.items {
		b.WriteString(decode(n.src[i.start:i.end]))
	}
	return b.String()
}

func (n *Notebook) number(v *node) int {
	if v == nil {
		return 0
	}
	i, err := strconv.Atoi(n.src[v.start:v.end])
	if err != nil {
		return 0
	}
	return i
}

func (n *Notebook) output(o *node) Output {
	out := Output{Kind: n.text(o.get("output_type")), Name: n.text(o.get("name")), Data: make(map[string]string)}
	switch out.Kind {
	case "stream":
		out.Data["text/plain"] = n.text(o.get("text"))
	case "error":
		if t := o.get("traceback"); t != nil && t.kind == '[' {
			var lines []string
			for _, i := range t.items {
				lines = append(lines, n.text(i))
			}
			out.Data["text/plain"] = strings.Join(lines, "\n")
		}
		if out.Data["text/plain"] == "" {
			out.Data["text/plain"] = n.text(o.get("ename")) + ": " + n.text(o.get("evalue"))
		}
	}
	if d := o.get("data"); d != nil {
		for _, m := range d.members {
			if n.isText(m.value) {
				out.Data[m.name] = n.text(m.value)
			} else {
				out.Data[m.name] = n.src[m.value.start:m.value.end]
			}
		}
	}
	return out
}

// Find returns the index, from 0, of the cell that ref means: its id, else its
// number, counted from 1.
func (n *Notebook) Find(ref string) (int, error) {
	for i, c := range n.Cells {
		if c.ID != "" && c.ID == ref {
			return i, nil
		}
	}
	if k, err := strconv.Atoi(strings.TrimSpace(ref)); err == nil && 1 <= k && k <= len(n.Cells) {
		return k - 1, nil
	}
	ids := ""
	for i, c := range n.Cells {
		if c.ID != "" && i < 20 {
			ids += " " + c.ID
		}
	}
	if ids != "" {
		ids = "; their ids are" + ids
	}
	return 0, fmt.Errorf("%w: %q. The notebook has %d cells, counted from 1%s", ErrCell, ref, len(n.Cells), ids)
}

func hasWide(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return true
		}
	}
	return false
}

// hasWideEscape reports whether the text writes characters beyond ASCII as escapes.
func hasWideEscape(s string) bool {
	for {
		i := strings.Index(s, `\u`)
		if i < 0 || i+6 > len(s) {
			return false
		}
		if v, err := strconv.ParseUint(s[i+2:i+6], 16, 32); err == nil && v >= 0x80 {
			return true
		}
		s = s[i+2:]
	}
}

// quote writes a string as JSON in the notebook's style.
func (n *Notebook) quote(s string) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		panic(err) // a string
	}
	q := strings.TrimSuffix(b.String(), "\n")
	// The encoder escapes two separators that other writers leave alone.
	if !n.ascii {
		return strings.NewReplacer(`\\`, `\\`, `\u2028`, "\u2028", `\u2029`, "\u2029").Replace(q)
	}
	if !hasWide(q) {
		return q
	}
	b.Reset()
	for _, r := range q {
		switch {
		case r < 0x80:
			b.WriteRune(r)
		case r > 0xffff:
			r -= 0x10000
			fmt.Fprintf(&b, `\u%04x\u%04x`, 0xd800+(r>>10), 0xdc00+(r&0x3ff))
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}
