package web

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/html"
)

// How line breaks are written.
const (
	oneLine    = " "
	lineBreaks = "\n"
	cellBreaks = "<br>"
)

// inliner writes the text between two blocks. Blanks are due rather than written,
// so that they end up outside of emphasis; marks are due, too, so that what they
// would be around nothing is never written.
type inliner struct {
	w       *markdown
	b       strings.Builder
	br      string   // what a line break is
	blank   bool     // a blank is due
	breaks  bool     // a line break is due
	marks   []string // that are due before the next text
	inLink  bool
	escapes bool // text is escaped
	prev    rune
}

// inline returns the text of nodes. br is what a line break becomes.
func (w *markdown) inline(nodes []*node, br string) string {
	in := &inliner{w: w, br: br, escapes: true}
	for _, n := range nodes {
		in.node(n)
	}
	w.inlined += in.b.Len()
	return in.b.String()
}

func (in *inliner) node(n *node) {
	if in.w.inlined+in.b.Len() > maxMarkdown {
		in.w.full = true
		return
	}
	if n.name == "" {
		in.text(n.text)
		return
	}
	if in.w.skip(n) && n.name != "button" {
		return
	}
	switch n.name {
	case "br":
		in.breaks = in.b.Len() > 0
	case "img":
		in.image(n)
	case "a":
		in.link(n)
	case "code", "kbd", "samp", "tt":
		var b strings.Builder
		n.plain(&b)
		in.raw(in.cell(span(b.String())))
	case "b", "strong":
		in.around("**", n)
	case "i", "em", "cite", "dfn", "var":
		in.around("*", n)
	case "del", "s", "strike":
		in.around("~~", n)
	case "q":
		in.around(`"`, n)
	case "sup":
		in.sup(n)
	case "math":
		if tex := strings.Join(strings.Fields(n.attr("alttext")), " "); tex != "" {
			in.raw(in.cell("$" + tex + "$"))
			return
		}
		in.nodes(n)
	case "input":
		box := "[ ]"
		if slices.ContainsFunc(n.attrs, func(a html.Attribute) bool { return a.Key == "checked" }) {
			box = "[x]"
		}
		in.raw(box)
		in.blank = true
	case "pre":
		in.space(n)
		var b strings.Builder
		n.plain(&b)
		in.raw(in.cell(span(b.String())))
		in.space(n)
	default:
		in.space(n)
		in.nodes(n)
		in.space(n)
	}
}

// space keeps the texts of blocks apart that are written on one line.
func (in *inliner) space(n *node) {
	switch {
	case n.kind&isText == 0:
	case in.br == cellBreaks && in.b.Len() > 0 && n.name != "div":
		in.breaks = true
	default:
		in.blank = true
	}
}

func (in *inliner) nodes(n *node) {
	for _, c := range n.children {
		in.node(c)
	}
}

// flush writes what is due before text.
func (in *inliner) flush() {
	switch {
	case in.b.Len() == 0 && len(in.marks) == 0:
	case in.breaks:
		in.b.WriteString(in.br)
		in.prev = ' '
	case in.blank && in.b.Len() > 0:
		in.b.WriteByte(' ')
		in.prev = ' '
	}
	in.blank, in.breaks = false, false
	for _, m := range in.marks {
		in.b.WriteString(m)
	}
	in.marks = in.marks[:0]
}

// raw writes s as it is.
func (in *inliner) raw(s string) {
	if s == "" {
		return
	}
	in.flush()
	in.b.WriteString(s)
	in.prev, _ = utf8.DecodeLastRuneInString(s)
}

// cell keeps s within its cell, if it is in one.
func (in *inliner) cell(s string) string {
	if in.br == cellBreaks {
		return strings.ReplaceAll(s, "|", `\|`)
	}
	return s
}

func (in *inliner) text(s string) {
	for i, r := range s {
		if unicode.IsSpace(r) {
			in.blank = true
			continue
		}
		if in.blank || in.breaks || len(in.marks) > 0 || in.b.Len() == 0 {
			in.flush()
		}
		if in.escapes && in.mustEscape(r, s[i+utf8.RuneLen(r):]) {
			in.b.WriteByte('\\')
		}
		in.b.WriteRune(r)
		in.prev = r
	}
}

// mustEscape reports whether r would be read as a mark. Where it would not, it is
// left alone: every escape makes the text harder to read.
func (in *inliner) mustEscape(r rune, rest string) bool {
	next, _ := utf8.DecodeRuneInString(rest)
	switch r {
	case '`':
		return true
	case '*':
		return rest != "" && !unicode.IsSpace(next) || in.prev != 0 && !unicode.IsSpace(in.prev)
	case '_':
		return !wordRune(in.prev) && wordRune(next)
	case '<':
		return next == '/' || next == '!' || next == '?' || next < utf8.RuneSelf && unicode.IsLetter(next)
	case ']':
		return next == '(' || in.inLink
	case '[':
		return in.inLink
	case '|':
		return in.br == cellBreaks
	case '\\':
		return next < utf8.RuneSelf && (unicode.IsPunct(next) || unicode.IsSymbol(next))
	}
	return false
}

func wordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// around writes n between marks.
func (in *inliner) around(mark string, n *node) {
	// The same emphasis within itself ends it instead.
	if n.blocks || slices.Contains(in.marks, mark) {
		in.nodes(n)
		return
	}
	due := len(in.marks)
	in.marks = append(in.marks, mark)
	in.nodes(n)
	if len(in.marks) > due {
		in.marks = in.marks[:due]
		return
	}
	in.b.WriteString(mark)
}

func (in *inliner) sup(n *node) {
	var b strings.Builder
	n.plain(&b)
	text := strings.TrimSpace(b.String())
	if wordRune(in.prev) && !in.blank && text != "" && len(text) <= 8 && strings.IndexFunc(text, func(r rune) bool { return !wordRune(r) && r != '-' && r != '+' }) < 0 {
		in.raw("^" + text)
		return
	}
	in.nodes(n)
}

func (in *inliner) link(n *node) {
	to := in.w.resolve(n.attr("href"))
	if to == "" || in.inLink {
		if isAnchor(n) {
			return
		}
		in.nodes(n)
		return
	}
	due := len(in.marks)
	in.marks = append(in.marks, "[")
	br := in.br
	if br == lineBreaks {
		in.br = oneLine
	}
	in.inLink = true
	in.nodes(n)
	in.inLink, in.br = false, br
	if len(in.marks) > due {
		in.marks = in.marks[:due]
		return
	}
	in.b.WriteString("](" + to + ")")
	in.prev = ')'
}

// isAnchor knows the marks beside headings that link to themselves.
func isAnchor(n *node) bool {
	if !strings.HasPrefix(n.attr("href"), "#") || n.runes > 8 {
		return false
	}
	var b strings.Builder
	n.plain(&b)
	switch strings.TrimSpace(b.String()) {
	case "¶", "#", "§", "🔗", "\uf0c1", "link", "Link", "anchor":
		return true
	}
	return false
}

// image writes what an image shows. One without words is decoration.
func (in *inliner) image(n *node) {
	alt := strings.Join(strings.Fields(visible(n.attr("alt"))), " ")
	if alt == "" {
		return
	}
	src := n.attr("src")
	if src == "" || strings.HasPrefix(strings.ToLower(strings.TrimSpace(src)), "data:") {
		src = n.attr("data-src")
	}
	to := in.w.resolve(src)
	if to == "" || in.inLink {
		in.blank = true
		in.text(alt)
		in.blank = true
		return
	}
	in.raw(in.cell("![" + altEscaper.Replace(alt) + "](" + to + ")"))
}

var altEscaper = strings.NewReplacer("[", `\[`, "]", `\]`)
