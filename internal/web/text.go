package web

import (
	"slices"
	"strings"
	"unicode"

	"golang.org/x/net/html"
)

// maxConvert is how many bytes of a page are converted.
const maxConvert = 2_000_000

// maxPop is how many open elements an end tag is matched against, so that a
// page of nothing but tags takes linear time.
const maxPop = 100

// Page is HTML made readable.
type Page struct {
	// Title is the page's title on one line; it may be empty.
	Title string
	// Text is what the page says.
	Text string
	// Truncated tells that only the first 2 MB of the page were converted.
	Truncated bool
}

// Text reduces a page, as [Decode] returns it, to its text: one line for a
// block, a blank line between paragraphs, cells apart by a tab, preformatted
// text as it is. Navigation, scripts, styles, comments, embedded objects, hidden elements
// and invisible characters are left out. It reads tokens only, takes linear
// time, and any text is a page to it.
func Text(page string) Page {
	p, skipped := writeText(page, true)
	if p.Text == "" && skipped {
		p, _ = writeText(page, false) // there is nothing but navigation
	}
	return p
}

// writeText is Text, with or without navigation; skipped says that there was some.
func writeText(page string, skipNav bool) (p Page, skipped bool) {
	w := &textWriter{}
	if len(page) > maxConvert {
		page, w.page.Truncated = strings.ToValidUTF8(page[:maxConvert], ""), true
	}
	z := html.NewTokenizer(strings.NewReader(page))
	for {
		switch z.Next() {
		case html.ErrorToken:
			w.page.Title = strings.Join(strings.Fields(w.title.String()), " ")
			w.page.Text = strings.TrimSpace(w.out.String())
			return w.page, skipped
		case html.TextToken:
			w.text(string(z.Text()))
		case html.StartTagToken, html.SelfClosingTagToken:
			token := z.Token()
			nav := skipNav && token.Data == "nav"
			skipped = skipped || nav
			w.start(token.Data, nav || isHidden(token.Attr))
		case html.EndTagToken:
			name, _ := z.TagName()
			w.end(string(name))
		}
	}
}

var (
	voidTags = strings.Fields("area base br col embed hr img input link meta param source track wbr")
	// unseen elements hold nothing a reader of the page sees.
	unseen = strings.Fields("script style noscript template iframe object svg math canvas audio video noembed noframes datalist")
	blocks = strings.Fields("address article aside blockquote center dd details dialog dir div dl dt fieldset figcaption " +
		"figure footer form h1 h2 h3 h4 h5 h6 header hgroup hr li main menu nav ol option p pre section summary table tbody tfoot thead tr ul")
	paragraphs = strings.Fields("blockquote dl figure h1 h2 h3 h4 h5 h6 hr ol p pre table ul")
	// siblings are elements whose end tag may be left out: the next one ends
	// them, unless one of scopes lies between.
	siblings = strings.Fields("li dt dd td th tr option")
	scopes   = strings.Fields("ul ol dl table select")
)

// isHidden tells whether attributes hide an element from its readers.
func isHidden(attrs []html.Attribute) bool {
	for _, a := range attrs {
		switch a.Key {
		case "hidden":
			return true
		case "aria-hidden":
			if strings.EqualFold(strings.TrimSpace(a.Val), "true") {
				return true
			}
		case "style":
			style := strings.ToLower(strings.Join(strings.Fields(a.Val), ""))
			for decl := range strings.SplitSeq(style, ";") {
				switch strings.TrimSuffix(decl, "!important") {
				case "display:none", "visibility:hidden", "visibility:collapse", "opacity:0", "font-size:0", "font-size:0px":
					return true
				}
			}
		}
	}
	return false
}

type textWriter struct {
	page  Page
	out   strings.Builder
	title strings.Builder
	// open are the elements not yet ended; what lies above index hidden-1 is
	// not seen. Zero means that everything is.
	open   []string
	hidden int
	pre    int
	// newlines and blank are due before the next text.
	newlines int
	blank    bool
}

func (w *textWriter) start(name string, hidden bool) {
	switch {
	case slices.Contains(siblings, name):
		w.endSibling(name)
	case slices.Contains(blocks, name) && len(w.open) > 0 && w.open[len(w.open)-1] == "p":
		w.end("p")
	}
	if w.hidden == 0 && !hidden {
		w.separate(name)
	}
	if slices.Contains(voidTags, name) {
		return
	}
	w.open = append(w.open, name)
	if w.hidden == 0 && (hidden || slices.Contains(unseen, name)) {
		w.hidden = len(w.open)
	}
	if name == "pre" {
		w.pre++
	}
}

func (w *textWriter) end(name string) {
	lowest := max(0, len(w.open)-maxPop)
	for i := len(w.open) - 1; i >= lowest; i-- {
		if w.open[i] == name {
			w.cut(i)
			break
		}
	}
	if w.hidden == 0 && name != "td" && name != "th" {
		w.separate(name)
	}
}

// endSibling ends an open element of the same kind whose end tag was left out.
func (w *textWriter) endSibling(name string) {
	lowest := max(0, len(w.open)-maxPop)
	for i := len(w.open) - 1; i >= lowest && !slices.Contains(scopes, w.open[i]); i-- {
		if w.open[i] == name {
			w.cut(i)
			return
		}
	}
}

func (w *textWriter) cut(i int) {
	for _, name := range w.open[i:] {
		if name == "pre" {
			w.pre--
		}
	}
	w.open = w.open[:i]
	if w.hidden > i {
		w.hidden = 0
	}
}

// separate notes what comes between the text before and after a tag.
func (w *textWriter) separate(name string) {
	switch {
	case slices.Contains(paragraphs, name):
		w.newlines = 2
	case name == "br":
		w.newlines = min(w.newlines+1, 2)
	case slices.Contains(blocks, name):
		w.newlines = max(w.newlines, 1)
	case (name == "td" || name == "th") && w.newlines == 0 && w.out.Len() > 0:
		w.out.WriteByte('\t')
		w.blank = false
	}
}

func (w *textWriter) text(s string) {
	if w.hidden > 0 {
		return
	}
	if len(w.open) > 0 && w.open[len(w.open)-1] == "title" {
		if w.title.Len() == 0 {
			w.title.WriteString(visible(s))
		}
		return
	}
	for _, r := range visible(s) {
		switch {
		case w.pre > 0 && r == '\n':
			w.newlines++
		case unicode.IsSpace(r) && (w.pre == 0 || r == '\r'):
			w.blank = true
		default:
			w.flush()
			w.out.WriteRune(r)
		}
	}
}

func (w *textWriter) flush() {
	switch {
	case w.out.Len() == 0:
	case w.newlines > 0:
		w.out.WriteString(strings.Repeat("\n", w.newlines))
	case w.blank:
		w.out.WriteByte(' ')
	}
	w.newlines, w.blank = 0, false
}

// Clean returns a text without what a reader cannot see and a model can: control
// and tag characters, marks of direction, spaces of no width. Newlines and tabs
// stay.
func Clean(s string) string { return strings.ReplaceAll(visible(s), "\r", "") }

// visible leaves out what a reader cannot see and a model can: control and tag
// characters, marks of direction, spaces of no width. Joiners stay between
// characters of scripts and emoji that need them.
func visible(s string) string {
	last := rune(0)
	return strings.Map(func(r rune) rune {
		joiner := r == 0x200c || r == 0x200d
		switch {
		case r == '\n' || r == '\t':
		case joiner && last >= 0x80:
			last = 0
			return r
		case unicode.IsControl(r) && r != '\r', unicode.Is(unicode.Cf, r), unicode.Is(unicode.Co, r):
			return -1
		}
		last = r
		return r
	}, s)
}
