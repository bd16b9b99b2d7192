package web

import (
	"slices"
	"strings"

	"golang.org/x/net/html"
)

// Bounds of a tree, so that any page takes linear time and bounded memory.
const (
	maxDepth = 2000    // elements within each other; deeper ones become siblings
	maxReach = 100     // open elements that a tag is compared with
	maxTags  = 250_000 // elements; of what follows only the text is kept
)

// node is an element of a page, or a run of text.
type node struct {
	name     string // of an element; "" for text
	kind     tagKind
	text     string // of a text
	attrs    []html.Attribute
	children []*node

	hidden bool // from its readers, with everything below
	blocks bool // it is a block, or holds one
	runes  int  // bytes of visible text below, blanks at the ends left out
}

func (n *node) attr(key string) string {
	for _, a := range n.attrs {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}

// tree is what a builder makes of a page.
type tree struct {
	root  *node // holds everything
	title string
	base  string // href of the first base element
	full  bool   // not all elements were kept
}

// builder makes a tree of tokens. It knows which end tags may be left out and
// what becomes of those in the wrong order, as far as it matters to a reader,
// and unlike a browser it never copies elements: their number stays that of the
// page's tags. (Parsers that follow the standard can be made to build a tree of
// gigabytes out of a page of kilobytes, or refuse deep ones.)
type builder struct {
	tree
	open    []*node
	skipped map[string]int // start tags that were too deep to be opened
	tags    int
	foreign int // open elements named svg or math
}

// buildTree reads a page. Any text is one.
func buildTree(page string) *tree {
	b := &builder{tree: tree{root: &node{name: "html", kind: isBlockTag | endsScope}}, skipped: make(map[string]int)}
	b.open = []*node{b.root}
	z := html.NewTokenizer(strings.NewReader(page))
	for {
		switch z.Next() {
		case html.ErrorToken:
			b.root.measure()
			return &b.tree
		case html.TextToken:
			b.addText(string(z.Text()))
		case html.StartTagToken, html.SelfClosingTagToken:
			b.start(z.Token())
		case html.EndTagToken:
			name, _ := z.TagName()
			b.end(string(name))
		}
	}
}

func (b *builder) top() *node { return b.open[len(b.open)-1] }

func (b *builder) addText(s string) {
	top := b.top()
	if top.name == "title" && b.foreign == 0 {
		if b.title == "" {
			b.title = strings.Join(strings.Fields(visible(s)), " ")
		}
		return
	}
	top.children = append(top.children, &node{text: s})
}

// cut ends the open elements from the i-th on.
func (b *builder) cut(i int) {
	for _, n := range b.open[i:] {
		if n.name == "svg" || n.name == "math" {
			b.foreign--
		}
	}
	b.open = b.open[:i]
}

// tagKind is what the builder must know of an element, as bits.
type tagKind uint8

const (
	isBlockTag tagKind = 1 << iota // a block, or what ends one
	isText                         // one of blocks, which hold text
	isFormatting
	isVoid
	isUnseen
	endsScope // no end tag that may be left out reaches beyond it
)

var kinds = func() map[string]tagKind {
	m := make(map[string]tagKind)
	for k, names := range map[tagKind]string{
		isBlockTag:   "body html head caption colgroup button template video audio svg math iframe object select " + strings.Join(blocks, " "),
		isText:       strings.Join(blocks, " "),
		isFormatting: "a b big code em font i nobr s small strike strong tt u",
		isVoid:       strings.Join(voidTags, " "),
		isUnseen:     "textarea select input " + strings.Join(slices.DeleteFunc(slices.Clone(unseen), func(s string) bool { return s == "math" }), " "),
		endsScope:    "table td th caption button object template html",
	} {
		for _, name := range strings.Fields(names) {
			m[name] |= k
		}
	}
	return m
}()

func set(names string) map[string]bool {
	m := make(map[string]bool)
	for _, n := range strings.Fields(names) {
		m[n] = true
	}
	return m
}

// kept are the attributes that something is made of.
var kept = set("href src data-src alt title class data-lang data-language colspan rowspan start value type checked role alttext reversed")

func (b *builder) start(t html.Token) {
	name := t.Data
	switch name {
	case "html", "body":
		// There is one of each; a second one only adds attributes.
		return
	case "base":
		if b.base == "" {
			b.base = (&node{attrs: t.Attr}).attr("href")
		}
		return
	}
	b.implyEnds(name)
	if b.tags++; b.tags > maxTags {
		b.full = true
		return
	}
	n := &node{name: name, kind: kinds[name], hidden: isHidden(t.Attr)}
	for _, a := range t.Attr {
		if kept[a.Key] {
			n.attrs = append(n.attrs, a)
		}
	}
	n.hidden = n.hidden || n.kind&isUnseen != 0 && !isCheckbox(n)
	top := b.top()
	top.children = append(top.children, n)
	if n.kind&isVoid != 0 || t.Type == html.SelfClosingTagToken && (b.foreign > 0 || name == "svg" || name == "math") {
		return
	}
	if len(b.open) >= maxDepth {
		b.skipped[name]++
		return
	}
	b.open = append(b.open, n)
	if name == "svg" || name == "math" {
		b.foreign++
	}
}

func isCheckbox(n *node) bool {
	return n.name == "input" && strings.EqualFold(n.attr("type"), "checkbox")
}

// implyEnds ends the elements whose end tags may be left out before a start tag
// of this name.
func (b *builder) implyEnds(name string) {
	switch name {
	case "li":
		b.popTo("li", "ul", "ol", "menu")
	case "dt", "dd":
		if !b.popTo("dd", "dl", "dt") {
			b.popTo("dt", "dl")
		}
	case "option":
		b.popTo("option", "select", "datalist")
	case "tr":
		b.popTo("tr", "table")
	case "td", "th":
		if !b.popTo("td", "table", "tr", "th") {
			b.popTo("th", "table", "tr")
		}
	case "tbody", "thead", "tfoot":
		for _, n := range []string{"tbody", "thead", "tfoot"} {
			b.popTo(n, "table")
		}
	case "a":
		b.endFormatting("a")
		return
	case "h1", "h2", "h3", "h4", "h5", "h6":
		if isHeading(b.top().name) {
			b.cut(len(b.open) - 1)
		}
	}
	if k := kinds[name]; k&isText != 0 && name != "option" {
		b.popTo("p")
		if b.top().name == "head" {
			b.popTo("head")
		}
	}
}

func isHeading(name string) bool {
	return len(name) == 2 && name[0] == 'h' && name[1] >= '1' && name[1] <= '6'
}

// popTo ends the innermost open element of a name, with all within it, if it is
// nearer than elements with one of the names stops, or without stops any end of a
// scope.
func (b *builder) popTo(name string, stops ...string) bool {
	lowest := max(1, len(b.open)-maxReach)
	for i := len(b.open) - 1; i >= lowest; i-- {
		n := b.open[i]
		if n.name == name {
			b.cut(i)
			return true
		}
		if len(stops) == 0 && n.kind&endsScope != 0 || slices.Contains(stops, n.name) {
			return false
		}
	}
	return false
}

func (b *builder) end(name string) {
	k := kinds[name]
	switch {
	case name == "html" || name == "body":
	case b.skipped[name] > 0:
		b.skipped[name]--
	case b.top().name == name:
		b.cut(len(b.open) - 1)
	case k&isFormatting != 0:
		b.endFormatting(name)
	case name == "br":
		b.start(html.Token{Type: html.StartTagToken, Data: "br"})
	case isHeading(name):
		if isHeading(b.top().name) {
			b.cut(len(b.open) - 1)
		} else {
			b.popTo(name)
		}
	case name == "tr" || name == "tbody" || name == "thead" || name == "tfoot":
		b.popTo(name, "table")
	case name == "td" || name == "th":
		b.popTo(name, "table", "tr")
	case k&endsScope != 0:
		b.popTo(name, "html")
	case k&isBlockTag != 0:
		b.popTo(name)
	default:
		for i := len(b.open) - 1; i > 0 && b.open[i].kind&isBlockTag == 0; i-- {
			if b.open[i].name == name {
				b.cut(i)
				return
			}
		}
	}
}

// endFormatting ends an element such as b or a. If blocks were opened within it,
// they go on, as they do in a browser.
func (b *builder) endFormatting(name string) {
	block := false
	lowest := max(1, len(b.open)-maxReach)
	for i := len(b.open) - 1; i >= lowest; i-- {
		n := b.open[i]
		switch {
		case n.name == name && block:
			b.open = slices.Delete(b.open, i, i+1)
			return
		case n.name == name:
			b.cut(i)
			return
		case n.kind&endsScope != 0:
			return
		}
		block = block || n.kind&isBlockTag != 0
	}
}

// measure fills in what depends on everything below.
func (n *node) measure() {
	if n.name == "" {
		n.text = visible(n.text)
		n.runes = len(strings.TrimSpace(n.text))
		return
	}
	n.blocks = n.kind&isText != 0 || n.name == "caption"
	for _, c := range n.children {
		c.measure()
		if !c.hidden {
			n.runes += c.runes
			n.blocks = n.blocks || c.blocks
		}
	}
}

// find returns the first visible element, in the order of the page, that is one.
func (n *node) find(is func(*node) bool) *node {
	if n.hidden {
		return nil
	}
	if n.name != "" && is(n) {
		return n
	}
	for _, c := range n.children {
		if f := c.find(is); f != nil {
			return f
		}
	}
	return nil
}

// plain appends the visible text of n as it is.
func (n *node) plain(b *strings.Builder) {
	switch {
	case n.hidden:
	case n.name == "":
		b.WriteString(n.text)
	case n.name == "br":
		b.WriteByte('\n')
	default:
		for _, c := range n.children {
			c.plain(b)
		}
	}
}
