package match

import (
	"html"
	"regexp"
	"strconv"
	"strings"
)

// repairs returns the edit with damage undone that it may have taken on its way,
// always on both texts together: fences and line numbers around what was copied
// from a display, escapes and entities from being quoted once too often.
func repairs(old, new string) []*variant {
	var out []*variant
	seen := map[[2]string]bool{{old, new}: true}
	level := []*variant{{old: old, new: new}}
	for range 2 { // damage comes in pairs at most
		var next []*variant
		for _, v := range level {
			for _, r := range repairers {
				for _, pair := range r.undo(v.old, v.new) {
					if seen[pair] || pair[0] == "" || isBlankText(pair[0]) {
						continue
					}
					seen[pair] = true
					name := r.name
					if v.repaired != "" {
						name = v.repaired + " and " + r.name
					}
					next = append(next, &variant{old: pair[0], new: pair[1], repaired: name, whole: v.whole || r.whole})
				}
			}
		}
		out = append(out, next...)
		level = next
	}
	return out
}

var repairers = [...]struct {
	name  string
	undo  func(old, new string) [][2]string
	whole bool
}{
	{"a code fence", unfence, false},
	{"line numbers", unnumber, true},
	{"backslash escapes", unescape, false},
	{"HTML entities", unentity, false},
}

// unfence removes a Markdown fence around the old text and around the new.
func unfence(old, new string) [][2]string {
	o, ok := cutFence(old)
	if !ok {
		return nil
	}
	n, _ := cutFence(new)
	return [][2]string{{o, n}}
}

func cutFence(s string) (string, bool) {
	body := strings.TrimSpace(s)
	fence := body[:len(body)-len(strings.TrimLeft(body, "`~"))]
	if len(fence) < 3 {
		return s, false
	}
	first, rest, ok := strings.Cut(body, "\n")
	if !ok || strings.Contains(first[len(fence):], "`") {
		return s, false
	}
	if rest == fence {
		return "", true
	}
	inner, ok := strings.CutSuffix(rest, "\n"+fence)
	if !ok {
		return s, false
	}
	if strings.HasSuffix(s, "\n") {
		inner += "\n"
	}
	return inner, true
}

// numbered is the start of a line in a numbered listing.
var numbered = regexp.MustCompile(`^[ \t]*[Ll]?(\d{1,7})([ \t]*(?:\t|→|\||│|:|\.|\)|-|;| ) ?)`)

// unnumber removes line numbers that count up on every line of the old text.
// Blank lines may have lost theirs.
func unnumber(old, new string) [][2]string {
	lines, closed := splitLines(old)
	last := -1
	for i, l := range lines {
		n := lineNumber(l)
		if n < 0 {
			if isBlank(l) && (i == 0 || i == len(lines)-1) {
				continue
			}
			return nil
		}
		if last >= 0 && n != last+1 {
			return nil
		}
		last = n
	}
	if last < 0 {
		return nil
	}
	var out [][2]string
	seen := map[string]bool{}
	for _, sep := range separators(lines) {
		o, ok := cutNumbers(lines, sep, true)
		if !ok || seen[o] {
			continue
		}
		seen[o] = true
		newLines, newClosed := splitLines(new)
		n := new
		if carriesNumbers(newLines, lines, strings.Split(o, "\n"), sep) {
			n, _ = cutNumbers(newLines, sep, false)
			n = reclose(n, newClosed && new != "")
		}
		out = append(out, [2]string{reclose(o, closed), n})
	}
	return out
}

// carriesNumbers reports whether the new text is numbered as the old one is. Its
// own lines may look numbered without being so: a table whose first column counts,
// a list of figures. The lines it shares with the old text tell; without any, it
// must start at a number of the old text.
func carriesNumbers(lines, numberedOld, plainOld []string, sep string) bool {
	shared := make(map[string]bool, len(plainOld))
	for _, l := range plainOld {
		if !isBlank(l) {
			shared[l] = true
		}
	}
	cut, whole, first := 0, 0, -1
	for _, l := range lines {
		if shared[l] {
			whole++
		}
		bare, ok := cutNumbers([]string{l}, sep, true)
		if !ok || isBlank(l) {
			continue
		}
		if shared[bare] {
			cut++
		}
		if first < 0 {
			first = lineNumber(l)
		}
	}
	if cut != whole || first < 0 {
		return cut > whole
	}
	for _, l := range numberedOld {
		if from := lineNumber(l); from >= 0 {
			return first >= from && first <= from+len(numberedOld)
		}
	}
	return false
}

// lineNumber is the number that a line of a listing starts with, or -1.
func lineNumber(l string) int {
	m := numbered.FindStringSubmatch(l + " ")
	if m == nil {
		return -1
	}
	n, _ := strconv.Atoi(m[1]) // at most seven digits
	return n
}

func reclose(s string, closed bool) string {
	if closed {
		return s + "\n"
	}
	return s
}

// separators lists what may stand between the number and the text, the widest
// reading first.
func separators(lines []string) []string {
	var common []string
	for _, sep := range [...]string{"\t", "→", " | ", "| ", "|", " │ ", "│ ", "│", ": ", ":", ". ", ".", ") ", ")", " - ", "- ", "-", "; ", "  ", " "} {
		all := true
		for _, l := range lines {
			s := strings.TrimLeft(l, " \t")
			s = strings.TrimLeft(s, "Ll")
			digits := len(s) - len(strings.TrimLeft(s, "0123456789"))
			rest := s[digits:]
			if digits == 0 && isBlank(l) {
				continue
			}
			if !strings.HasPrefix(rest, sep) && strings.TrimRight(rest, " \t") != strings.TrimRight(sep, " \t") {
				all = false
				break
			}
		}
		if all {
			common = append(common, sep)
		}
	}
	return common
}

// cutNumbers removes numbers and separator from the lines. Unless strict, lines
// without them stay as they are.
func cutNumbers(lines []string, sep string, strict bool) (string, bool) {
	out := make([]string, 0, len(lines))
	for _, l := range lines {
		s := strings.TrimLeft(strings.TrimLeft(l, " \t"), "Ll")
		digits := len(s) - len(strings.TrimLeft(s, "0123456789"))
		rest := s[digits:]
		switch {
		case digits > 0 && strings.HasPrefix(rest, sep):
			out = append(out, rest[len(sep):])
		case digits > 0 && strings.TrimRight(rest, " \t") == strings.TrimRight(sep, " \t"):
			out = append(out, "")
		case strict && !isBlank(l):
			return "", false
		default:
			out = append(out, l)
		}
	}
	return strings.Join(out, "\n"), true
}

// unescape undoes one level of backslash escapes. What was escaped is not known,
// so the usual sets are tried.
func unescape(old, new string) [][2]string {
	if strings.IndexByte(old, '\\') < 0 {
		return nil
	}
	sets := [...]string{`ntr"'` + "`" + `\/$`, `"'` + "`" + `$`, `"'` + "`" + `\/$`, `nt`, `ntr"'` + "`", `\`}
	var out [][2]string
	for _, set := range sets {
		o := cutEscapes(old, set)
		if o == old {
			continue
		}
		n := alike(toLF(o), new, toLF(cutEscapes(new, set)))
		if !strings.Contains(old, "\n") && strings.Contains(o, "\n") && strings.Contains(new, "\n") {
			n = new // its line breaks are breaks: it was not escaped
		}
		out = append(out, [2]string{toLF(o), n})
	}
	return out
}

func cutEscapes(s, set string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) || strings.IndexByte(set, s[i+1]) < 0 {
			if s[i] == '\\' && i+1 < len(s) && s[i+1] == '\\' {
				b.WriteByte('\\') // an escaped backslash outside the set stays whole
				i++
			}
			b.WriteByte(s[i])
			continue
		}
		i++
		switch s[i] {
		case 'n':
			b.WriteByte('\n')
		case 't':
			b.WriteByte('\t')
		case 'r':
			b.WriteByte('\r')
		default:
			b.WriteByte(s[i])
		}
	}
	return b.String()
}

// bareAmp is an ampersand that begins no entity.
var bareAmp = regexp.MustCompile(`&(?:[^#a-zA-Z]|$)`)

// unentity undoes one level of HTML escaping.
func unentity(old, new string) [][2]string {
	if strings.IndexByte(old, '&') < 0 {
		return nil
	}
	var out [][2]string
	few := strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&")
	for _, undo := range [...]func(string) string{html.UnescapeString, few.Replace} {
		o := undo(old)
		if o == old {
			continue
		}
		n := alike(o, new, undo(new))
		if !strings.ContainsAny(old, "<>") && strings.ContainsAny(new, "<>") || !bareAmp.MatchString(old) && bareAmp.MatchString(new) {
			n = new // it has what would have been escaped
		}
		out = append(out, [2]string{o, n})
	}
	return out
}

// alike is the new text with the damage undone, or as it came if that shares more
// lines with the undone old text: then only the old text was damaged, and what
// looks like damage in the new one is meant.
func alike(old, new, undone string) string {
	if new == undone {
		return new
	}
	shared := map[string]bool{}
	for l := range strings.SplitSeq(old, "\n") {
		if !isBlank(l) {
			shared[l] = true
		}
	}
	count := func(s string) (n int) {
		for l := range strings.SplitSeq(s, "\n") {
			if shared[l] {
				n++
			}
		}
		return n
	}
	if count(new) > count(undone) {
		return new
	}
	return undone
}
