package web

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Bounds of what is written.
const (
	maxMarkdown = 4 << 20 // bytes
	maxNesting  = 10      // lists and quotes within each other that are still indented
	maxFence    = 80      // backticks around code; no code has that many in a row
	fewRunes    = 200     // text of a main part that is not taken for the whole
)

// Markdown converts a page, as [Decode] returns it, to markdown: ATX headings,
// "-" for bullets, fenced code with its language, tables with single blanks
// around cells. base is the URL of the page; links and images become absolute,
// those that lead to the page itself, to scripts or data: URLs become their text.
//
// Of a page that says what its main part is, only that is converted. Navigation,
// forms, scripts, styles, comments, embedded objects, hidden elements and
// invisible characters are left out. Any text is a page. The time is linear, and
// the result at most 4 MiB; a page over 2 MB is converted up to there.
func Markdown(page string, base *url.URL) Page {
	var p Page
	if len(page) > maxConvert {
		page, p.Truncated = strings.ToValidUTF8(page[:maxConvert], ""), true
	}
	t := buildTree(page)
	p.Title = t.title
	w := &markdown{base: base, skipNav: true}
	if ref, err := url.Parse(strings.TrimSpace(t.base)); err == nil && t.base != "" {
		if base != nil {
			ref = base.ResolveReference(ref)
		}
		if ref.Scheme == "http" || ref.Scheme == "https" {
			w.base = ref
		}
	}
	w.children(t.mainPart())
	if w.b.Len() == 0 && t.root.runes > 0 {
		// A page of nothing but links has no other text.
		w.skipNav = false
		w.children(t.root)
	}
	p.Text = strings.TrimSpace(w.b.String())
	p.Truncated = p.Truncated || t.full || w.full
	return p
}

// mainPart is what the page is about, if it says so and that is not next to
// nothing, and else all of it.
func (t *tree) mainPart() *node {
	main := t.root.find(func(n *node) bool { return n.name == "main" || strings.EqualFold(n.attr("role"), "main") })
	if main == nil {
		articles := 0
		t.root.find(func(n *node) bool {
			if n.name == "article" {
				articles++
				main = n
			}
			return articles > 1
		})
		if articles != 1 || main.runes*2 < t.root.runes {
			return t.root
		}
	}
	if main.runes < fewRunes && main.runes*4 < t.root.runes || main.runes == 0 {
		return t.root
	}
	return main
}

// markdown writes blocks.
type markdown struct {
	b       strings.Builder
	base    *url.URL
	skipNav bool
	indents []*indent
	gap     int    // newlines due before the next block, if not 2
	lang    string // of the code in this part, if that does not say
	inlined int    // bytes of text within blocks so far
	full    bool   // a bound was reached
}

// indent is what the lines of a list item or a quote begin with.
type indent struct {
	first, rest string
	used        bool // first was written
}

// prefix is what a line begins with. A blank line belongs to what has begun
// already.
func (w *markdown) prefix(blank bool) string {
	var p strings.Builder
	for _, in := range w.indents {
		switch {
		case in.used:
			p.WriteString(in.rest)
		case !blank:
			p.WriteString(in.first)
			in.used = true
		}
	}
	if blank {
		return strings.TrimRight(p.String(), " ")
	}
	return p.String()
}

// block writes lines after what is due.
func (w *markdown) block(text string) {
	if text == "" {
		return
	}
	if w.b.Len() > maxMarkdown {
		w.full = true
		return
	}
	gap := 2
	if w.gap > 0 {
		gap = w.gap
	}
	w.gap = 0
	if w.b.Len() == 0 {
		gap = 0
	}
	for i := range gap {
		w.b.WriteByte('\n')
		if i < gap-1 {
			w.b.WriteString(w.prefix(true))
		}
	}
	for i, line := range strings.Split(text, "\n") {
		if w.b.Len() > maxMarkdown {
			w.full = true
			return
		}
		switch {
		case i > 0 && line == "":
			w.b.WriteString("\n" + w.prefix(true))
			continue
		case i > 0:
			w.b.WriteByte('\n')
		}
		w.b.WriteString(w.prefix(false))
		w.b.WriteString(line)
	}
}

// nested writes what f writes within first, and rest on the lines after it.
func (w *markdown) nested(first, rest string, f func()) {
	if len(w.indents) >= maxNesting {
		f()
		return
	}
	w.indents = append(w.indents, &indent{first: first, rest: rest})
	f()
	w.indents = w.indents[:len(w.indents)-1]
}

// children writes what is in n: blocks as blocks, and what lies between them as paragraphs.
func (w *markdown) children(n *node) {
	var run []*node
	flush := func() {
		w.paragraph(run)
		run = run[:0]
	}
	for _, c := range n.children {
		switch {
		case w.skip(c):
		case w.isBlock(c):
			flush()
			w.element(c)
		default:
			run = append(run, c)
		}
	}
	flush()
}

// isBlock reports whether n is written by itself. A link around blocks stays a link.
func (w *markdown) isBlock(n *node) bool {
	return n.blocks && n.name != "a" || n.name == "hr"
}

// skip reports whether n is nothing to read: hidden, or for getting around on
// the site.
func (w *markdown) skip(n *node) bool {
	if n.hidden || n.name == "title" {
		return true
	}
	switch n.name {
	case "button":
		return n.runes < 80 && !n.blocks // "Copy", "Menu"
	case "td", "pre", "span":
		return isGutter(n)
	}
	if !w.skipNav {
		return false
	}
	switch strings.ToLower(n.attr("role")) {
	case "navigation", "search", "menu", "menubar":
		return true
	}
	return n.name == "nav"
}

// isGutter knows the columns of line numbers beside code.
func isGutter(n *node) bool {
	for _, class := range strings.Fields(n.attr("class")) {
		switch class {
		case "linenos", "lineno", "line-numbers", "line-number", "linenodiv", "gutter", "blob-num", "lnt":
			return true
		}
	}
	return false
}

func (w *markdown) paragraph(run []*node) {
	if len(run) > 0 {
		w.block(escapeLines(w.inline(run, lineBreaks)))
	}
}

func (w *markdown) element(n *node) {
	switch {
	case isHeading(n.name):
		if text := w.inline(n.children, oneLine); text != "" {
			w.block(strings.Repeat("#", int(n.name[1]-'0')) + " " + text)
		}
	case n.name == "hr":
		w.block("---")
	case n.name == "pre":
		w.pre(n)
	case n.name == "blockquote":
		w.nested("> ", "> ", func() { w.children(n) })
	case n.name == "ul", n.name == "ol", n.name == "menu", n.name == "dir":
		w.list(n)
	case n.name == "dl":
		w.definitions(n)
	case n.name == "table":
		w.table(n)
	case n.name == "summary":
		if text := w.inline(n.children, oneLine); text != "" {
			w.block("**" + text + "**")
		}
	default:
		// Highlighters name the language on an element around the code.
		before := w.lang
		if l := classLanguage(n); l != "" {
			w.lang = l
		}
		w.children(n)
		w.lang = before
	}
}

func (w *markdown) list(n *node) {
	number, step := 1, 1
	if v, err := strconv.Atoi(n.attr("start")); err == nil && v >= 0 && v < 1_000_000 {
		number = v
	}
	gap := 1
	for _, c := range n.children {
		if c.name == "li" && !c.tight() {
			gap = 2
		}
	}
	// A list within an item follows its text at once.
	first := 2
	if k := len(w.indents); k > 0 && (w.indents[k-1].used && gap == 1 || !w.indents[k-1].used) {
		first = 1
	}
	if w.gap == 0 {
		w.gap = first
	}
	for _, c := range n.children {
		switch {
		case w.skip(c) || c.name == "" && c.runes == 0:
			continue
		case c.name == "ul" || c.name == "ol":
			// Written within the list rather than within an item.
			w.nested("  ", "  ", func() { w.list(c) })
			w.gap = gap
			continue
		}
		marker := "- "
		if n.name == "ol" {
			if v, err := strconv.Atoi(c.attr("value")); err == nil && v >= 0 && v < 1_000_000 {
				number = v
			}
			marker = strconv.Itoa(number) + ". "
		}
		before := w.b.Len()
		w.nested(marker, strings.Repeat(" ", len(marker)), func() {
			if c.name == "li" {
				w.children(c)
			} else {
				w.children(&node{name: "li", children: []*node{c}})
			}
		})
		if w.b.Len() > before {
			number += step
			w.gap = gap
		}
	}
	w.gap = 0
}

// tight reports whether n needs no blank lines around it: it has one block of
// text, and lists.
func (n *node) tight() bool {
	paragraphs, run := 0, false
	for _, c := range n.children {
		switch {
		case c.hidden || c.name == "ul" || c.name == "ol":
			run = false
		case !c.blocks:
			if c.runes > 0 && !run {
				run = true
				paragraphs++
			}
		case c.name == "p" || c.name == "div" || c.name == "span" || c.name == "a" || isHeading(c.name):
			run = false
			paragraphs++
			if c.name != "p" && !c.tight() {
				return false
			}
		default:
			return false
		}
	}
	return paragraphs <= 1
}

// definitions writes a list of terms: each an item, what is said of it below.
func (w *markdown) definitions(n *node) {
	item, gap := false, 2
	for _, c := range n.children {
		switch {
		case w.skip(c):
		case c.name == "dt":
			if text := w.inline(c.children, oneLine); text != "" {
				w.gap = gap
				w.nested("- ", "  ", func() { w.block(text) })
				item, gap = true, 1
			}
		case c.name == "dd":
			first := "- "
			if item {
				first, w.gap = "  ", 1
			}
			w.nested(first, "  ", func() { w.children(c) })
			if gap = 1; !c.tight() {
				gap = 2
			}
		case c.name == "div":
			w.definitions(c)
		case c.blocks || c.runes > 0:
			w.children(&node{name: "dd", children: []*node{c}})
		}
	}
	w.gap = 0
}

// pre writes a fence of code.
func (w *markdown) pre(n *node) {
	var b strings.Builder
	n.plain(&b)
	text := strings.Trim(strings.ReplaceAll(b.String(), "\r\n", "\n"), "\n")
	if strings.TrimSpace(text) == "" {
		return
	}
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " \t\r")
	}
	fence := strings.Repeat("`", min(max(3, longestRun(text, '`')+1), maxFence))
	lang := language(n)
	if lang == "" {
		lang = w.lang
	}
	w.block(fence + lang + "\n" + strings.Join(lines, "\n") + "\n" + fence)
}

func longestRun(s string, c byte) int {
	longest, run := 0, 0
	for i := range len(s) {
		if s[i] == c {
			run++
			longest = max(longest, run)
		} else {
			run = 0
		}
	}
	return longest
}

// language is what a pre, or the code in it, says of the code.
func language(n *node) string {
	if c := n.find(func(c *node) bool { return c.name == "code" }); c != nil {
		if l := classLanguage(c); l != "" {
			return l
		}
	}
	return classLanguage(n)
}

// classLanguage is the programming language that the attributes of n name, as
// the usual highlighters write it.
func classLanguage(n *node) string {
	for _, key := range []string{"data-lang", "data-language"} {
		if v := languageName(n.attr(key)); v != "" {
			return v
		}
	}
	classes := strings.Fields(n.attr("class"))
	for i, class := range classes {
		for _, prefix := range []string{"language-", "lang-", "highlight-source-", "highlight-", "brush:"} {
			if v, ok := strings.CutPrefix(class, prefix); ok && languageName(v) != "" {
				return languageName(v)
			}
		}
		if (class == "sourceCode" || class == "brush:") && i+1 < len(classes) {
			return languageName(classes[i+1])
		}
	}
	return ""
}

// languageName returns s if it can stand after a fence.
func languageName(s string) string {
	s = strings.ToLower(strings.TrimSuffix(s, ";"))
	if len(s) > 20 || s == "none" || s == "plaintext" || s == "default" || strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789+#-_.") != "" {
		return ""
	}
	return s
}

// escapeLines keeps text from being read as the beginning of a block.
func escapeLines(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = escapeLine(line)
	}
	return strings.Join(lines, "\n")
}

func escapeLine(line string) string {
	if line == "" {
		return line
	}
	switch c := line[0]; {
	case c == '#' && strings.HasPrefix(strings.TrimLeft(line, "#"), " "), c == '>',
		(c == '-' || c == '+') && (len(line) == 1 || line[1] == ' '),
		c == '-' && strings.Trim(line, "- ") == "", c == '=' && strings.Trim(line, "=") == "",
		strings.HasPrefix(line, "~~~"):
		return `\` + line
	case c >= '0' && c <= '9':
		n := len(line) - len(strings.TrimLeft(line, "0123456789"))
		if n < 10 && n < len(line) && (line[n] == '.' || line[n] == ')') && (n+1 == len(line) || line[n+1] == ' ') {
			return line[:n] + `\` + line[n:]
		}
	}
	return line
}

// resolve makes a link absolute. It is empty for what leads nowhere else.
func (w *markdown) resolve(ref string) string {
	ref = strings.TrimSpace(strings.NewReplacer("\n", "", "\r", "", "\t", "").Replace(ref))
	if ref == "" || ref[0] == '#' || len(ref) > maxURL {
		return ""
	}
	u, err := url.Parse(ref)
	if err != nil {
		return ""
	}
	if w.base != nil {
		u = w.base.ResolveReference(u)
	}
	if !slices.Contains([]string{"http", "https", "mailto", "ftp"}, u.Scheme) && (u.Scheme != "" || w.base != nil) {
		return ""
	}
	u.User = nil
	return linkEscaper.Replace(visible(u.String()))
}

var linkEscaper = strings.NewReplacer(" ", "%20", "(", "%28", ")", "%29", "<", "%3C", ">", "%3E", "|", "%7C", "\n", "", "\t", "")

// span writes code within a line.
func span(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if text == "" {
		return ""
	}
	mark := strings.Repeat("`", min(longestRun(text, '`')+1, maxFence))
	if strings.HasPrefix(text, "`") || strings.HasSuffix(text, "`") {
		text = " " + text + " "
	}
	return fmt.Sprintf("%s%s%s", mark, text, mark)
}
