package match_test

import (
	"fmt"
	"html"
	"strings"
)

// classes make the cases of one class each; nil means try again.
var classes = makeClasses()

func makeClasses() map[string]func(g *gen) *editCase {
	out := map[string]func(g *gen) *editCase{}
	reg := func(name string, f func(g *gen) *editCase) { out[name] = f }

	reg("exact", func(g *gen) *editCase { return g.open(g.edit(shape{}).plain("exact")) })

	reg("fragments", func(g *gen) *editCase {
		t := g.edit(shape{min: 1, max: 1, oneLine: true})
		o, n := t.old[0], t.new[0]
		i := 0
		for i < min(len(o), len(n)) && o[i] == n[i] {
			i++
		}
		a := max(0, i-8)
		b := 0
		for b < min(len(o), len(n))-i && o[len(o)-1-b] == n[len(n)-1-b] {
			b++
		}
		c := t.plain("fragments")
		c.old, c.new = o[a:len(o)-b], n[a:len(n)-b]
		if blank(c.old) || strings.Count(c.file, c.old) != 1 {
			return nil
		}
		return c
	})

	reg("exact_vs_fuzzy", func(g *gen) *editCase {
		t := g.edit(shape{indented: true})
		// The same lines once more, indented otherwise.
		twin := mapLines(t.old, func(l string) string { return "\t" + l })
		if strings.Contains(join(twin), join(t.old)) {
			twin = mapLines(t.old, func(l string) string { return strings.TrimPrefix(l, "\t") + " " })
		}
		t.lines = append(append([]string{}, t.lines...), twin...)
		c := t.plain("exact_vs_fuzzy")
		if strings.Count(c.file, c.old) != 1 {
			return nil
		}
		return c
	})

	reg("first_line_stripped", func(g *gen) *editCase {
		t := g.edit(shape{indented: true})
		if t.src[0] != 0 {
			return nil
		}
		c := t.plain("first_line_stripped")
		if lead(t.new[0]) != lead(t.old[0]) {
			return nil
		}
		c.old, c.new = strings.TrimLeft(c.old, "\t"), strings.TrimLeft(c.new, "\t")
		return g.open(c)
	})

	reg("special_replacement", func(g *gen) *editCase {
		t := g.edit(shape{})
		s := []string{"$&", "$1", "${name}", `\1`, `$$`, "$`", "%s%d", `\n`, `\\`}[g.r.IntN(9)]
		for j, i := range t.src {
			if i < 0 {
				t.new[j] += " // " + s
				return t.plain("special_replacement")
			}
		}
		return nil
	})

	reg("escape_literal", func(g *gen) *editCase {
		t := g.edit(shape{})
		k := g.r.IntN(len(t.old))
		t.lines = append([]string{}, t.lines...)
		t.lines[t.at+k] += ` + "a\n\t\"b\\" &amp; &lt;`
		for j, i := range t.src {
			if i == k {
				t.new[j] += ` + "a\n\t\"b\\" &amp; &lt;`
			}
		}
		t.old = t.lines[t.at : t.at+len(t.old)]
		if g.r.IntN(2) == 0 {
			return t.damage("escape_literal", func(l string) string { return l + "  " })
		}
		return t.plain("escape_literal")
	})

	reg("multibyte", func(g *gen) *editCase {
		t := g.edit(shape{})
		f := g.byText(0.6, func(l string, _ int) string {
			if blank(l) {
				return l
			}
			return l + " // größe 数量 🙂é"
		})
		t.lines = mapLines(t.lines, f)
		t.old, t.new = t.lines[t.at:t.at+len(t.old)], mapLines(t.new, f)
		c := t.damage("multibyte", []func(string) string{
			func(l string) string { return l }, func(l string) string { return l + " " }, tabsTo("    ")}[g.r.IntN(3)])
		if strings.Contains(c.file, c.old) && c.new != join(t.new) {
			return nil // literally there, so new goes in as it is
		}
		return c
	})

	reg("long_line", func(g *gen) *editCase {
		t := g.edit(shape{})
		t.lines = append([]string{}, t.lines...)
		t.lines[t.at-1] = "\t// " + strings.Repeat("long line of text ", 3000+g.r.IntN(2000))
		return t.plain("long_line")
	})

	reg("trailing_ws", func(g *gen) *editCase {
		t := g.edit(shape{})
		f := g.byText(0.6, func(l string, v int) string { return l + []string{" ", "  ", "\t"}[v%3] })
		if g.r.IntN(2) == 0 { // the file has the blanks
			t.lines = mapLines(t.lines, f)
			old, new, src := t.old, t.new, t.src
			t.old = t.lines[t.at : t.at+len(old)]
			t.new = append([]string{}, new...)
			for j, i := range src {
				if i >= 0 {
					t.new[j] = f(old[i])
					if new[j] != old[i] {
						t.new[j] = new[j] + t.new[j][len(old[i]):]
					}
				}
			}
			c := t.plain("trailing_ws")
			c.old, c.new = join(old), join(new)
			if g.open(t.loose(c)); strings.Contains(c.file, c.old) {
				return nil
			}
			return c
		}
		c := t.damage("trailing_ws", f)
		if c.old == join(t.old) {
			return nil
		}
		return g.open(c)
	})

	reg("blank_line_ws", func(g *gen) *editCase {
		t := g.edit(shape{min: 5, max: 16})
		if !strings.Contains(join(t.old[1:]), "\n\n") {
			return nil
		}
		in := "\t"
		f := func(l string) string {
			if l == "" {
				return in
			}
			return l
		}
		if g.r.IntN(2) == 0 {
			return g.open(t.damage("blank_line_ws", f))
		}
		old, new := t.old, t.new
		t.lines = mapLines(t.lines, f)
		t.old, t.new = mapLines(t.old, f), mapLines(t.new, f)
		c := t.plain("blank_line_ws")
		c.old, c.new = join(old), join(new)
		return g.open(t.loose(c))
	})

	reg("indent_shift", func(g *gen) *editCase {
		t := g.edit(shape{indented: true})
		unit := []string{"\t", "    ", "  "}[g.r.IntN(3)]
		if unit != "\t" {
			t.reindent(tabsTo(unit))
		}
		f := func(l string) string { return strings.TrimPrefix(l, unit) }
		if g.r.IntN(2) == 0 {
			f = func(l string) string {
				if l == "" {
					return l
				}
				return unit + l
			}
		}
		c := t.damage("indent_shift", f)
		if strings.Contains(c.file, c.old) {
			return nil
		}
		return g.open(c)
	})

	// The lines are given without the indentation of their place, and wrapped.
	reg("wrapped", func(g *gen) *editCase {
		t := g.edit(shape{indented: true})
		if t.src == nil || lead(t.new[0]) != lead(t.old[0]) {
			return nil
		}
		in := lead(t.old[0])
		for _, l := range append(t.old, t.new...) {
			if !blank(l) && !strings.HasPrefix(l, in) {
				return nil
			}
		}
		var inside []string
		for _, l := range t.new {
			if l != "" {
				l = "\t" + l
			}
			inside = append(inside, l)
		}
		t.new = append(append([]string{in + "if ready {"}, inside...), in+"}")
		c := t.damage("wrapped", func(l string) string { return strings.TrimPrefix(l, in) })
		if strings.Contains(c.file, c.old) {
			return nil
		}
		c.refuse = true // the lines may be there twice, with other indentation
		return g.open(c)
	})

	reg("indent_old_only", func(g *gen) *editCase {
		t := g.edit(shape{indented: true, min: 3, max: 12})
		c := t.plain("indent_old_only")
		c.old = join(mapLines(t.old, func(l string) string { return strings.TrimPrefix(l, "\t") }))
		if strings.Contains(c.file, c.old) {
			return nil
		}
		c.refuse = true
		return g.open(c)
	})

	reg("indent_uneven", func(g *gen) *editCase {
		t := g.edit(shape{indented: true, min: 3, max: 12})
		f := g.byText(0.4, func(l string, _ int) string {
			if blank(l) {
				return l
			}
			return " " + l
		})
		c := t.damage("indent_uneven", f)
		if c.old == join(t.old) {
			return nil
		}
		c.refuse = true
		return g.open(t.loose(c))
	})

	reg("tabs_spaces", func(g *gen) *editCase {
		t := g.edit(shape{indented: g.r.IntN(2) == 0, min: 2, max: 14})
		units := []string{"  ", "    ", "        "}
		switch g.r.IntN(3) {
		case 0, 1: // the file has tabs
			c := t.damage("tabs_spaces", tabsTo(units[g.r.IntN(3)]))
			if strings.Contains(c.file, c.old) {
				return nil
			}
			return g.open(c)
		}
		old, new := t.old, t.new
		t.reindent(tabsTo(units[g.r.IntN(3)]))
		c := t.plain("tabs_spaces")
		c.old, c.new = join(old), join(new)
		if strings.Contains(c.file, c.old) {
			return nil
		}
		return g.open(c)
	})

	reg("blank_ends", func(g *gen) *editCase {
		t := g.edit(shape{})
		c := t.plain("blank_ends")
		head, tail := strings.Repeat("\n", g.r.IntN(3)), strings.Repeat("\n", g.r.IntN(3))
		if head+tail == "" {
			head = "\n\n"
		}
		c.old, c.new = head+c.old+tail, head+c.new+tail
		if strings.Contains(c.file, c.old) {
			return nil
		}
		return c
	})

	reg("blank_mid", func(g *gen) *editCase {
		t := g.edit(shape{min: 4, max: 16})
		c := t.plain("blank_mid")
		if g.r.IntN(2) == 0 && strings.Contains(c.old[1:], "\n\n") {
			c.old, c.new = noBlankLines(t.old), noBlankLines(t.new)
			if c.old == c.new {
				return nil
			}
			// Where new lines stand among blank lines is free.
			c.accept = append(c.accept, "\x00blank")
			return g.open(c)
		}
		k := 1 + g.r.IntN(len(t.old)-1)
		old := insertAt(t.old, k, "")
		var new []string
		done := false
		for j, l := range t.new {
			if !done && t.src[j] >= k {
				new = append(new, "")
				done = true
			}
			new = append(new, l)
		}
		if !done {
			return nil
		}
		c.old, c.new = join(old), join(new)
		if strings.Contains(c.file, c.old) {
			return nil
		}
		return g.open(c)
	})

	reg("inner_ws", func(g *gen) *editCase {
		t := g.edit(shape{})
		f := g.byText(0.6, func(l string, _ int) string {
			in := lead(l)
			body := l[len(in):]
			if i := strings.Index(body, " "); i > 0 {
				body = body[:i] + "  " + body[i+1:]
			}
			return in + body
		})
		c := t.damage("inner_ws", f)
		if strings.Contains(c.file, c.old) {
			return nil
		}
		return g.open(t.loose(c))
	})

	reg("partial_fuzzy", func(g *gen) *editCase {
		t := g.edit(shape{min: 1, max: 1, oneLine: true})
		body := strings.TrimSpace(t.old[0])
		f := strings.Fields(body)
		if len(f) < 4 {
			return nil
		}
		c := t.plain("partial_fuzzy")
		c.old = strings.Join(f[1:len(f)-1], "   ")
		c.new = strings.Join(f[1:len(f)-1], "   ") + " changed"
		if strings.Contains(c.file, c.old) {
			return nil
		}
		c.accept, c.refuse = nil, true
		return c
	})

	reg("crlf", func(g *gen) *editCase {
		t := g.edit(shape{})
		c := t.plain("crlf")
		crlf := func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") }
		switch g.r.IntN(3) {
		case 0: // the file has CRLF, the model LF
			c.file, c.accept[0] = crlf(c.file), crlf(c.accept[0])
		case 1: // both
			c.file, c.accept[0], c.old, c.new = crlf(c.file), crlf(c.accept[0]), crlf(c.old), crlf(c.new)
		case 2: // the model alone
			c.old, c.new = crlf(c.old), crlf(c.new)
		}
		return g.open2(c)
	})

	reg("mixed_eol", func(g *gen) *editCase {
		t := g.edit(shape{})
		f := g.byText(0.5, func(l string, _ int) string { return l + "\r" })
		t.lines = mapLines(t.lines, f)
		c := t.plain("mixed_eol")
		c.anyEOL = true
		old := t.old
		t.old = t.lines[t.at : t.at+len(old)]
		t.new = append([]string{}, t.new...)
		for j, i := range t.src {
			if i >= 0 {
				t.new[j] += strings.TrimPrefix(t.old[i], old[i])
			}
		}
		c.accept = []string{t.result()}
		return g.open(t.loose(c))
	})

	reg("bom", func(g *gen) *editCase {
		t := g.edit(shape{})
		c := t.plain("bom")
		c.file, c.accept[0] = "\ufeff"+c.file, "\ufeff"+c.accept[0]
		return g.open(c)
	})

	reg("no_eof_newline", func(g *gen) *editCase {
		t := g.edit(shape{})
		t.lines = t.lines[:t.at+len(t.old)]
		c := t.plain("no_eof_newline")
		if len(t.new) == 0 || blank(t.new[len(t.new)-1]) {
			return nil
		}
		c.file, c.accept[0] = strings.TrimSuffix(c.file, "\n"), strings.TrimSuffix(c.accept[0], "\n")
		if !uniqueBlock(t.lines, t.old) {
			return nil
		}
		return g.open(c)
	})

	reg("escaped", func(g *gen) *editCase {
		t := g.edit(shape{})
		c := t.plain("escaped")
		esc := strings.NewReplacer("\\", `\\`, "\n", `\n`, "\t", `\t`, `"`, `\"`).Replace
		switch g.r.IntN(3) {
		case 1:
			esc = strings.NewReplacer(`"`, `\"`, "\\", `\\`).Replace
		case 2:
			if strings.Contains(c.old+c.new, "\\") {
				return nil // cannot be told from escapes of the code itself
			}
			esc = strings.NewReplacer("\n", `\n`, "\t", `\t`).Replace
		}
		c.old, c.new = esc(c.old), esc(c.new)
		if strings.Contains(c.file, c.old) {
			return nil
		}
		return c
	})

	reg("html_escaped", func(g *gen) *editCase {
		t := g.edit(shape{})
		c := t.plain("html_escaped")
		esc := html.EscapeString
		if g.r.IntN(2) == 0 {
			esc = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace
		}
		c.old, c.new = esc(c.old), esc(c.new)
		if strings.Contains(c.file, c.old) {
			return nil
		}
		return g.open(c)
	})

	typographic := func(l string, _ int) string {
		if blank(l) {
			return l
		}
		l = strings.ReplaceAll(l, " - ", " – ")
		l = strings.ReplaceAll(l, `"`, "”")
		l = strings.ReplaceAll(l, "'", "’")
		if i := strings.LastIndex(l, " "); i > len(lead(l)) {
			l = l[:i] + "\u00a0" + l[i+1:]
		}
		return l
	}
	reg("unicode_file", func(g *gen) *editCase {
		t := g.edit(shape{})
		f := g.byText(0.7, typographic)
		old, new := t.old, t.new
		t.lines = mapLines(t.lines, f)
		t.old = t.lines[t.at : t.at+len(old)]
		t.new = append([]string{}, new...)
		for j, i := range t.src {
			if i >= 0 {
				t.new[j] = lead(new[j]) + strings.TrimLeft(t.old[i], " \t")
			}
		}
		c := t.plain("unicode_file")
		c.old, c.new = join(old), join(new)
		if strings.Contains(c.file, c.old) || !uniqueBlock(t.lines, t.old) {
			return nil
		}
		return g.open(t.loose(c))
	})

	reg("unicode_model", func(g *gen) *editCase {
		t := g.edit(shape{})
		c := t.damage("unicode_model", func(l string) string { return typographic(l, 0) })
		if strings.Contains(c.file, c.old) {
			return nil
		}
		return g.open(c)
	})

	reg("unicode_nfd", func(g *gen) *editCase {
		t := g.edit(shape{})
		f := g.byText(0.7, func(l string, _ int) string { return l + " // é ü" })
		t.lines, t.new = mapLines(t.lines, f), mapLines(t.new, f)
		t.old = t.lines[t.at : t.at+len(t.old)]
		c := t.damage("unicode_nfd", strings.NewReplacer("é", "e\u0301", "ü", "u\u0308").Replace)
		if strings.Contains(c.file, c.old) {
			return nil
		}
		c.refuse = true
		return g.open(t.loose(c))
	})

	reg("line_numbers", func(g *gen) *editCase {
		t := g.edit(shape{})
		c := t.plain("line_numbers")
		format := []string{"%6d\t%s", "%d: %s", "%d| %s", "%5d→%s", "%05d| %s", "%4d | %s"}[g.r.IntN(6)]
		number := func(lines []string, first int) string {
			out := make([]string, len(lines))
			for i, l := range lines {
				out[i] = fmt.Sprintf(format, first+i, l)
			}
			return join(out)
		}
		c.old = number(t.old, t.at+1)
		if g.r.IntN(3) > 0 {
			c.new = number(t.new, t.at+1)
		}
		return g.open(c)
	})

	reg("fenced", func(g *gen) *editCase {
		c := g.edit(shape{}).plain("fenced")
		c.several()
		c.old, c.new = "```go\n"+c.old+"```", "```go\n"+c.new+"```"
		return c
	})

	typo := func(g *gen, class string, changed bool, slip func(string) string) *editCase {
		t := g.edit(shape{min: 7, max: 16, oneLine: changed})
		k := -1
		for range 30 {
			i := 1 + g.r.IntN(len(t.old)-2)
			kept := false
			for _, s := range t.src {
				kept = kept || s == i
			}
			if kept != changed && !blank(t.old[i]) && len(identifiers(t.old[i])) > 0 && slip(t.old[i]) != t.old[i] {
				k = i
				break
			}
		}
		full := 0
		for _, l := range t.old {
			if !blank(l) {
				full++
			}
		}
		if k < 0 || full < 7 {
			return nil
		}
		c := t.plain(class)
		bad := slip(t.old[k])
		if bad == t.old[k] || strings.Join(strings.Fields(bad), "") == strings.Join(strings.Fields(t.old[k]), "") {
			return nil
		}
		old := append([]string{}, t.old...)
		old[k] = bad
		new := append([]string{}, t.new...)
		for j, i := range t.src {
			if i == k {
				new[j] = strings.Replace(new[j], strings.TrimSpace(t.old[k]), strings.TrimSpace(bad), 1)
			}
		}
		c.old, c.new = join(old), join(new)
		if strings.Contains(c.file, c.old) || c.old == c.new {
			return nil
		}
		return g.open(c)
	}
	drift := func(g *gen) func(string) string {
		return func(l string) string {
			ids := identifiers(l)
			if len(ids) == 0 || len(strings.TrimSpace(l)) < 24 {
				return l
			}
			id := ids[len(ids)-1]
			if id[1]-id[0] > 9 {
				return l
			}
			return l[:id[0]] + g.pick(nouns) + l[id[1]:]
		}
	}
	reg("typo_changed", func(g *gen) *editCase {
		return typo(g, "typo_changed", true, func(l string) string { return swapLetters(g, l) })
	})
	reg("typo_kept", func(g *gen) *editCase {
		return typo(g, "typo_kept", false, func(l string) string { return swapLetters(g, l) })
	})
	reg("drift_changed", func(g *gen) *editCase { return typo(g, "drift_changed", true, drift(g)) })
	reg("drift_kept", func(g *gen) *editCase {
		c := typo(g, "drift_kept", false, drift(g))
		if c != nil {
			c.refuse = true
		}
		return c
	})
	reg("drift_total", func(g *gen) *editCase {
		t := g.edit(shape{min: 6, max: 16})
		other := g.edit(shape{min: len(t.old), max: len(t.old)})
		old := append([]string{}, t.old...)
		for i := range old {
			if i > 0 && i < len(old)-1 && g.r.IntN(10) < 6 && !blank(old[i]) {
				old[i] = other.old[i%len(other.old)]
			}
		}
		diffs := 0
		full := 0
		for i := range old {
			if !blank(old[i]) {
				full++
			}
			if old[i] != t.old[i] {
				diffs++
			}
		}
		if 10*diffs < 4*full {
			return nil
		}
		c := t.plain("drift_total")
		c.old = join(old)
		c.accept, c.refuse = nil, true
		return c
	})

	reg("stale", func(g *gen) *editCase {
		t := g.edit(shape{min: 6, max: 14, oneLine: true})
		c := t.plain("stale")
		lines := append([]string{}, t.lines...)
		k := t.at + 1 + g.r.IntN(len(t.old)-2)
		if blank(lines[k]) {
			return nil
		}
		changedHere := true
		for _, i := range t.src {
			if i == k-t.at {
				changedHere = false
			}
		}
		switch g.r.IntN(3) {
		case 0: // somebody changed the line into another
			lines[k] = lead(lines[k]) + g.pick(nouns) + " = " + g.pick(nouns) + "." + g.pick(nouns) + "(ctx)"
		case 1: // a number
			lines[k] = g.renameIn(lines[k])
		case 2: // a line came in
			lines = insertAt(lines, k, lead(lines[k])+g.pick(nouns)+"."+g.pick(nouns)+"()")
		}
		c.file = join(lines)
		c.accept, c.refuse = nil, true
		if !changedHere {
			// The change of the other line may be made, if the newer text stays.
			merged := append([]string{}, lines...)
			for j, i := range t.src {
				if i < 0 { // a single line changed in place
					at := t.at + j
					if len(lines) > len(t.lines) && at >= k {
						at++
					}
					merged[at] = t.new[j]
				}
			}
			c.accept = []string{join(merged)}
		}
		return c
	})
	reg("merged", func(g *gen) *editCase {
		t := g.edit(shape{min: 8, max: 16, oneLine: true})
		c := typo(g, "merged", false, func(l string) string { return swapLetters(g, l) })
		_ = t
		if c != nil {
			c.refuse = true
		}
		return c
	})

	reg("elided", func(g *gen) *editCase {
		t := g.edit(shape{min: 9, max: 20})
		a := 2 + g.r.IntN(2)
		b := len(t.old) - 2 - g.r.IntN(2)
		k := 0
		for k < min(len(t.old), len(t.new)) && t.old[len(t.old)-1-k] == t.new[len(t.new)-1-k] {
			k++
		}
		if b-a < 2 || k < len(t.old)-a {
			return nil // the change is not before the ellipsis
		}
		dots := lead(t.old[a]) + []string{"// ...", "...", "// ... existing code ..."}[g.r.IntN(3)]
		cut := len(t.new) - len(t.old)
		if a+cut < 1 || b+cut > len(t.new) {
			return nil
		}
		c := t.plain("elided")
		c.old = join(t.old[:a]) + dots + "\n" + join(t.old[b:])
		c.new = join(t.new[:a+cut]) + dots + "\n" + join(t.new[b+cut:])
		if c.old == c.new {
			return nil
		}
		c.refuse = true
		return g.open(c)
	})

	reg("lazy_new", func(g *gen) *editCase {
		t := g.edit(shape{min: 6, max: 20})
		c := t.plain("lazy_new")
		mark := []string{"// ... rest of the code ...", "// ... existing code ...", "// rest of the function unchanged", "/* ... */", "// ...", "// [rest of implementation]",
			"# ... (unchanged)", "// ... remaining methods stay the same", "// (rest of the code remains the same)", "// … same as before …",
			"<!-- rest of the file -->", "// ... keep existing logic ...", "// existing code here", "-- ... omitted for brevity", "// ...existing code..."}[g.r.IntN(15)]
		c.new = join(t.new[:2]) + lead(t.old[1]) + mark + "\n"
		c.accept, c.refuse = nil, true
		return c
	})

	reg("ambiguous", func(g *gen) *editCase {
		t := g.edit(shape{min: 1, max: 5})
		t.lines = append(append(append([]string{}, t.lines...), "", "// again"), t.old...)
		c := t.plain("ambiguous")
		c.accept, c.refuse = nil, true
		if g.r.IntN(2) == 0 {
			f := func(l string) string { return l + " " }
			c.old, c.new = join(mapLines(t.old, f)), join(mapLines(t.new, f))
		}
		return c
	})

	reg("fuzzy_ambiguous", func(g *gen) *editCase {
		t := g.edit(shape{indented: true, min: 2, max: 6})
		t.lines = append(append(append([]string{}, t.lines...), "{"), mapLines(t.old, func(l string) string { return "\t\t\t" + l })...)
		c := t.plain("fuzzy_ambiguous")
		c.old = join(mapLines(t.old, strings.TrimSpace))
		c.new = join(mapLines(t.new, strings.TrimSpace))
		if strings.Contains(c.file, c.old) {
			return nil
		}
		c.accept, c.refuse = nil, true
		return c
	})

	reg("near_dup", func(g *gen) *editCase {
		t := g.edit(shape{min: 3, max: 8})
		twin := append([]string{}, t.old...)
		k := g.r.IntN(len(twin))
		if blank(twin[k]) {
			return nil
		}
		twin[k] = g.renameIn(twin[k])
		if g.r.IntN(2) == 0 {
			t.lines = append(append(append([]string{}, t.lines...), ""), twin...)
		} else {
			t.lines = append(append(append([]string{}, twin...), ""), t.lines...)
			t.at += len(twin) + 1
		}
		f := []func(string) string{func(l string) string { return l }, func(l string) string { return l + " " }, tabsTo("    ")}[g.r.IntN(3)]
		c := g.open(t.damage("near_dup", f))
		c.refuse = strings.Count(c.file, c.old) > 1
		if strings.Contains(c.file, c.old) && c.new != join(t.new) && c.new+"\n" != join(t.new) {
			return nil // literally there, so new goes in as it is
		}
		return c
	})

	reg("overlap", func(g *gen) *editCase {
		t := g.edit(shape{min: 1, max: 1})
		line := "\t" + g.pick(nouns) + "()\n"
		c := t.plain("overlap")
		c.file = t.before() + strings.Repeat(line, 3) + t.after()
		c.old, c.new = line+line, line+"\tother()\n"
		c.accept, c.refuse = nil, true
		return c
	})

	reg("absent", func(g *gen) *editCase {
		t, other := g.edit(shape{}), g.edit(shape{min: 2, max: 14})
		c := t.plain("absent")
		c.old, c.new = join(other.old), join(other.new)
		if strings.Contains(squeeze(c.file), squeeze(c.old)) {
			return nil
		}
		c.accept, c.refuse = nil, true
		return c
	})

	reg("near_miss", func(g *gen) *editCase {
		t := g.edit(shape{min: 1, max: 8, oneLine: true})
		c := t.plain("near_miss")
		old, new := append([]string{}, t.old...), append([]string{}, t.new...)
		k := g.r.IntN(len(old))
		if blank(old[k]) {
			return nil
		}
		was := old[k]
		if i := strings.IndexAny(was, "0123456789"); i >= 0 {
			old[k] = was[:i] + string('0'+(was[i]-'0'+1)%10) + was[i+1:]
		} else if ids := identifiers(was); len(ids) > 0 && len(old) < 5 {
			id := ids[g.r.IntN(len(ids))]
			old[k] = was[:id[0]] + g.pick(nouns) + was[id[1]:]
		} else {
			return nil
		}
		for j, i := range t.src {
			if i == k {
				new[j] = strings.Replace(new[j], strings.TrimSpace(was), strings.TrimSpace(old[k]), 1)
			}
		}
		c.old, c.new = join(old), join(new)
		if strings.Contains(squeeze(c.file), squeeze(c.old)) || c.old == c.new {
			return nil
		}
		c.accept, c.refuse = nil, true
		return g.open(c)
	})

	reg("old_eq_new", func(g *gen) *editCase {
		c := g.edit(shape{}).plain("old_eq_new")
		c.new = c.old
		c.accept, c.refuse = nil, true
		return c
	})
	reg("empty_old", func(g *gen) *editCase {
		c := g.edit(shape{}).plain("empty_old")
		c.old = []string{"", "\n", "  ", "\t\n"}[g.r.IntN(4)]
		c.accept, c.refuse = nil, true
		return c
	})

	reg("replace_all", func(g *gen) *editCase {
		t := g.edit(shape{})
		ids := identifiers(t.old[0])
		if len(ids) == 0 {
			return nil
		}
		c := t.plain("replace_all")
		c.old = t.old[0][ids[0][0]:ids[0][1]]
		c.new = c.old + []string{"$&", "X", "$1", "\n\tnext"}[g.r.IntN(4)]
		c.all = true
		c.accept = []string{strings.ReplaceAll(c.file, c.old, c.new)}
		return c
	})
	reg("replace_all_fuzzy", func(g *gen) *editCase {
		t := g.edit(shape{indented: true, min: 2, max: 5})
		deep := func(l string) string { return "\t" + l }
		lines := append(append([]string{}, t.lines...), "{")
		c := t.plain("replace_all_fuzzy")
		c.file = join(lines) + join(mapLines(t.old, deep)) + "}\n"
		c.accept = []string{t.result() + "{\n" + join(mapLines(t.new, deep)) + "}\n"}
		f := func(l string) string { return strings.TrimPrefix(l, "\t") }
		c.old, c.new, c.all, c.refuse = join(mapLines(t.old, f)), join(mapLines(t.new, f)), true, true
		if strings.Contains(c.file, c.old) {
			return nil
		}
		return c
	})

	reg("records", func(g *gen) *editCase {
		var lines []string
		n := 12 + g.r.IntN(20)
		for i := range n {
			lines = append(lines, "\t{", fmt.Sprintf("\t\tname: \"item%d\",", i), fmt.Sprintf("\t\tsize: %d,", 10+i%3), "\t\tkind: \"plain\",", "\t\tactive: true,", "\t\tlabels: nil,", "\t},")
		}
		k := g.r.IntN(n)
		t := &truth{lines: lines, at: 7 * k, old: lines[7*k : 7*k+7]}
		t.new = append([]string{}, t.old...)
		t.src = []int{0, 1, 2, -1, 4, 5, 6}
		t.new[3] = "\t\tkind: \"special\","
		switch g.r.IntN(4) {
		case 0:
			return g.open(t.plain("records"))
		case 1:
			return g.open(t.damage("records", func(l string) string { return l + " " }))
		case 2:
			return g.open(t.damage("records", tabsTo("  ")))
		}
		// A key that does not exist.
		f := func(l string) string { return strings.Replace(l, "\"item", "\"thing", 1) }
		c := t.damage("records", f)
		c.accept, c.refuse = nil, true
		return c
	})

	reg("combo", func(g *gen) *editCase {
		t := g.edit(shape{indented: true})
		var fs []func(string) string
		if g.r.IntN(2) == 0 {
			fs = append(fs, tabsTo("    "))
		} else {
			fs = append(fs, func(l string) string { return strings.TrimPrefix(l, "\t") })
		}
		if g.r.IntN(2) == 0 {
			fs = append(fs, func(l string) string { return l + " " })
		}
		if g.r.IntN(3) == 0 {
			fs = append(fs, func(l string) string { return typographic(l, 0) })
		}
		c := t.damage("combo", func(l string) string {
			for _, f := range fs {
				l = f(l)
			}
			return l
		})
		if strings.Contains(c.file, c.old) {
			return nil
		}
		switch g.r.IntN(6) {
		case 0:
			c.old, c.new = "```\n"+c.old+"```", "```\n"+c.new+"```"
		case 1:
			c.old, c.new = "\n"+c.old, "\n"+c.new
		case 2:
			c.file, c.accept[0] = strings.ReplaceAll(c.file, "\n", "\r\n"), strings.ReplaceAll(c.accept[0], "\n", "\r\n")
		case 3:
			number := func(s string) string {
				lines := strings.Split(strings.TrimSuffix(s, "\n"), "\n")
				for i := range lines {
					lines[i] = fmt.Sprintf("%d\t%s", i+20, lines[i])
				}
				return join(lines)
			}
			c.old, c.new = number(c.old), number(c.new)
		}
		return c
	})
	return out
}

func (g *gen) open2(c *editCase) *editCase {
	if g.r.IntN(2) == 0 {
		for _, eol := range []string{"\r\n", "\n"} {
			if strings.HasSuffix(c.old, eol) && strings.HasSuffix(c.new, eol) {
				c.old, c.new = strings.TrimSuffix(c.old, eol), strings.TrimSuffix(c.new, eol)
				break
			}
		}
	}
	return c.several()
}

func insertAt(lines []string, k int, l string) []string {
	return append(append(append([]string{}, lines[:k]...), l), lines[k:]...)
}

func noBlankLines(lines []string) string {
	var out []string
	for _, l := range lines {
		if !blank(l) {
			out = append(out, l)
		}
	}
	return join(out)
}
