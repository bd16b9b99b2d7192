package web

import (
	"strconv"
	"strings"
)

// Bounds of a table.
const (
	maxColumns = 64
	maxSpan    = 100
)

// table writes a table: as one if it holds data, and else what is in its cells
// one after the other.
func (w *markdown) table(n *node) {
	var rows [][]*node
	var loose []*node // what is not in a cell
	var collect func(n *node)
	collect = func(n *node) {
		for _, c := range n.children {
			switch {
			case w.skip(c):
			case c.name == "thead" || c.name == "tbody" || c.name == "tfoot":
				collect(c)
			case c.name == "tr":
				if cells := rowCells(w, c); len(cells) > 0 {
					rows = append(rows, cells)
				}
			case c.name == "td" || c.name == "th":
				rows = append(rows, []*node{c})
			case c.runes > 0:
				loose = append(loose, c)
			}
		}
	}
	collect(n)
	w.children(&node{name: "div", children: loose})
	if isLayout(n, rows) {
		for _, row := range rows {
			for _, c := range row {
				w.children(c)
			}
		}
		return
	}
	w.writeTable(rows)
}

func rowCells(w *markdown, row *node) (cells []*node) {
	for _, c := range row.children {
		if (c.name == "td" || c.name == "th") && !w.skip(c) {
			cells = append(cells, c)
		}
	}
	return cells
}

// isLayout reports whether a table arranges parts of the page. Data stands in
// several columns, and not much of it in a cell.
func isLayout(n *node, rows [][]*node) bool {
	role := strings.ToLower(n.attr("role"))
	if role == "presentation" || role == "none" {
		return true
	}
	columns, code := 0, false
	for _, row := range rows {
		columns = max(columns, len(row))
		for _, c := range row {
			nested := c.find(func(d *node) bool { return d.name == "table" || isHeading(d.name) && d.name < "h4" })
			if nested != nil || c.runes > 4000 {
				return true
			}
			code = code || c.find(func(d *node) bool { return d.name == "pre" }) != nil
		}
	}
	return columns < 2 || code && len(rows) == 1
}

// writeTable writes rows. The first is the heading, also where the page has none,
// because a table in markdown has one.
func (w *markdown) writeTable(rows [][]*node) {
	columns := 0
	texts := make([][]string, 0, len(rows))
	var below []int // for each column: how many further rows a cell reaches into
	for _, row := range rows {
		var line []string
		filled := false
		at := func() int { return len(line) }
		down := func() {
			for at() < len(below) && below[at()] > 0 {
				below[at()]--
				line = append(line, "")
			}
		}
		for _, c := range row {
			down()
			text := w.inline(c.children, cellBreaks)
			filled = filled || text != ""
			if at() >= maxColumns {
				if text != "" {
					line[maxColumns-1] += " " + text
				}
				continue
			}
			reach := spanOf(c, "rowspan") - 1
			for i := range min(spanOf(c, "colspan"), maxColumns-at()) {
				for len(below) <= at() {
					below = append(below, 0)
				}
				below[at()] = reach
				if i > 0 {
					text = ""
				}
				line = append(line, text)
			}
		}
		down()
		if !filled {
			continue
		}
		for len(line) > 0 && line[len(line)-1] == "" && len(line) > columns {
			line = line[:len(line)-1]
		}
		columns = max(columns, len(line))
		texts = append(texts, line)
	}
	if len(texts) == 0 {
		return
	}
	var b strings.Builder
	for i, line := range texts {
		for len(line) < columns {
			line = append(line, "")
		}
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString("| " + strings.Join(line, " | ") + " |")
		if i == 0 {
			b.WriteString("\n|" + strings.Repeat(" --- |", columns))
		}
		if b.Len() > maxMarkdown {
			w.full = true
			break
		}
	}
	w.block(b.String())
}

func spanOf(c *node, key string) int {
	v, err := strconv.Atoi(strings.TrimSpace(c.attr(key)))
	if err != nil || v < 1 {
		return 1
	}
	return min(v, maxSpan)
}
