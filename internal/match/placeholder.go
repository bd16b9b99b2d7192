package match

import (
	"regexp"
	"strings"
)

// commentMarks open a comment or a note in the languages that matter here.
var commentMarks = [...]string{"<!--", "///", "//", "/*", "(*", "{/*", "{-", "#", "--", ";;", ";", "%", "*", "(", "[", "<", "{"}

// restWords say in words that code was left out.
var restWords = regexp.MustCompile(`(?i)\b(` +
	`(the )?(rest|remainder) (of|is|stays|remains|unchanged|omitted|as)\b` +
	`|(existing|remaining|previous|original|unchanged|other|same|old|more) ([a-z]+ )?(code|implementation|methods?|functions?|content|contents|logic|lines?|fields?|imports?|cases?|tests?|body|stuff|definitions?|statements?|styles?|rules?|props|properties|options|settings|routes|handlers?|entries|items|sections?)\b` +
	`|(code|implementation|lines?|body|content|everything|file|function|method|class)\b.{0,30}\b(unchanged|omitted|elided|truncated|remains?( the)? same|stays?( the)? same|same as before|as before)` +
	`|unchanged|omitted( for brevity)?|truncated|elided|abbreviated|and so on|etc|for brevity|same as (before|above)|as before|snip(ped)?|unmodified|keep (the )?(rest|existing)|no changes?( needed| here)?)`)

// restAlone are phrases that stand for left-out code even without dots.
var restAlone = regexp.MustCompile(`(?i)^(` +
	`(the )?(rest|remainder) of (the |this |your |our |my |original |existing )*(code|method|function|class|file|implementation|component|logic|script|config|document|content|contents|module|struct|body|tests|methods|functions|imports|handlers|styles|program|block|definition|interface)( (code|body|implementation|definition))?( here| below| follows| above)?( (remains?|is|are|stays?|goes) .*| unchanged| omitted| elided)?` +
	`|(the )?(rest|remainder) (is |are |stays |remains )?(unchanged|omitted|the same|same|as before)\b.*` +
	`|(existing|remaining|previous|original|unchanged|other|other existing) (code|implementation|methods?|functions?|content|logic|lines|body|fields|imports)( (here|goes here|above|below|unchanged|omitted|continues|follows)| (remains?|stays?)( unchanged| the same| as is)?)+` +
	`|(existing|remaining|unchanged) (code|implementation|methods?|functions?|content|logic|lines|body|fields|imports|styles)` +
	`|(code|implementation|lines?|body|content|everything else|file|function|method|class) (is |remains? |stays? )?(unchanged|omitted|elided|as before|the same)( here)?( for brevity)?` +
	`|unchanged|omitted|omitted for brevity|same as before|snip|no changes( needed)?( here)?` +
	`|keep (the )?(rest|existing|remaining) (code|implementation|methods|functions|content|logic|lines|body|of)\b.*` +
	`)$`)

// commentBody returns what a line says when it is a comment of its own, without
// the comment's marks.
func commentBody(line string) (body string, comment bool) {
	s := strings.TrimSpace(line)
	for {
		cut := false
		for _, m := range commentMarks {
			if strings.HasPrefix(s, m) {
				s, comment, cut = strings.TrimSpace(s[len(m):]), true, true
				break
			}
		}
		if !cut {
			break
		}
	}
	for _, m := range [...]string{"-->", "*/}", "*/", "*)", "-}", "}", ")", "]", ">"} {
		s = strings.TrimSpace(strings.TrimSuffix(s, m))
	}
	return s, comment
}

// dots reports whether s begins or ends with an ellipsis, and what is left
// without it.
func dots(s string) (rest string, dotted bool) {
	rest, front, back := cutDots(s)
	return rest, front || back
}

func cutDots(s string) (rest string, front, back bool) {
	for _, e := range [...]string{"...", "…"} {
		for strings.HasPrefix(s, e) {
			s, front = strings.TrimLeft(s[len(e):], ". "), true
		}
		for strings.HasSuffix(s, e) {
			s, back = strings.TrimRight(s[:len(s)-len(e)], ". "), true
		}
	}
	return strings.TrimSpace(s), front, back
}

// isEllipsisLine reports whether a line stands for lines left out: dots alone,
// a comment of dots, or a comment that says so.
func isEllipsisLine(line string) bool {
	if !strings.Contains(line, "...") && !strings.Contains(line, "…") {
		return isPlaceholder(line)
	}
	s := strings.TrimSpace(line)
	if rest, d := dots(s); d && rest == "" {
		return true
	}
	return isPlaceholder(line)
}

// isPlaceholder reports whether a line is a comment that stands for code left out.
func isPlaceholder(line string) bool {
	body, comment := commentBody(line)
	rest, front, back := cutDots(body)
	dotted := front || back
	switch {
	case len(rest) > 120 || strings.Contains(line, "......."):
		return false // prose, or a rule of dots
	case dotted && rest == "":
		return comment
	case front && back && comment:
		return true
	case dotted && restWords.MatchString(rest):
		return comment || strings.HasPrefix(body, ".") || strings.HasPrefix(body, "…")
	case comment:
		return restAlone.MatchString(strings.TrimRight(rest, ".!: "))
	}
	return endsInPlaceholder(line)
}

// endsInPlaceholder reports whether code is followed by a comment that stands
// for more of it, as in "f() { /* ... */ }".
func endsInPlaceholder(line string) bool {
	for _, mark := range [...]string{"/*", " //", " #", "<!--"} {
		i := strings.LastIndex(line, mark)
		if i < 0 {
			continue
		}
		tail := strings.TrimRight(line[i:], " \t});,")
		if strings.ContainsAny(tail, `'"`+"`") {
			continue // more likely in a string, or about one
		}
		body, _ := commentBody(tail)
		rest, dotted := dots(body)
		if dotted && (rest == "" || restWords.MatchString(rest)) {
			return true
		}
	}
	return false
}

// placeholderOnlyIn returns the first line of new that stands for left-out code
// and has no counterpart in old, or "".
func placeholderOnlyIn(new, old string) string {
	var had map[string]int
	for line := range strings.Lines(new) {
		line = strings.TrimRight(line, "\n")
		if !maybePlaceholder(line) || !isPlaceholder(line) && !isBareDots(line) {
			continue
		}
		if had == nil {
			had = map[string]int{}
			for l := range strings.Lines(old) {
				had[normalize(Spacing, l)]++
			}
		}
		if key := normalize(Spacing, line); had[key] > 0 {
			had[key]--
			continue
		}
		if isPlaceholder(line) || droppedLines(old, new) >= 2 {
			return strings.TrimSpace(line)
		}
	}
	return ""
}

// isBareDots reports whether a line is an ellipsis without a comment mark, which
// is code in some languages.
func isBareDots(line string) bool {
	rest, d := dots(strings.TrimSpace(line))
	return d && rest == ""
}

// maybePlaceholder is a cheap test that most lines fail.
func maybePlaceholder(line string) bool {
	if strings.Contains(line, "...") || strings.Contains(line, "…") {
		return true
	}
	s := strings.TrimLeft(line, " \t")
	return s != "" && !isWordByte(s[0]) && len(s) < 160
}

// droppedLines is how many lines more old has than new.
func droppedLines(old, new string) int {
	return strings.Count(old, "\n") - strings.Count(new, "\n")
}
