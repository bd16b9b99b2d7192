package editcases

import (
	"html"
	"strings"
)

// formClasses are about blank lines, line endings and damage in transport.
func formClasses(reg func(name string, f func(g *gen) *Case)) {
	reg("blank_ends", func(g *gen) *Case {
		t := g.edit(shape{})
		c := t.plain("blank_ends")
		head, tail := strings.Repeat("\n", g.r.IntN(3)), strings.Repeat("\n", g.r.IntN(3))
		if head+tail == "" {
			head = "\n\n"
		}
		c.Old, c.New = head+c.Old+tail, head+c.New+tail
		if strings.Contains(c.File, c.Old) {
			return nil
		}
		return c
	})

	reg("blank_mid", func(g *gen) *Case {
		t := g.edit(shape{min: 4, max: 16})
		c := t.plain("blank_mid")
		if g.r.IntN(2) == 0 && strings.Contains(c.Old[1:], "\n\n") {
			c.Old, c.New = noBlankLines(t.old), noBlankLines(t.new)
			if c.Old == c.New {
				return nil
			}
			// Where new lines stand among blank lines is free.
			c.Accept = append(c.Accept, "\x00blank")
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
		c.Old, c.New = join(old), join(new)
		if strings.Contains(c.File, c.Old) {
			return nil
		}
		return g.open(c)
	})

	reg("inner_ws", func(g *gen) *Case {
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
		if strings.Contains(c.File, c.Old) {
			return nil
		}
		return g.open(t.loose(c))
	})

	reg("partial_fuzzy", func(g *gen) *Case {
		t := g.edit(shape{min: 1, max: 1, oneLine: true})
		body := strings.TrimSpace(t.old[0])
		f := strings.Fields(body)
		if len(f) < 4 {
			return nil
		}
		c := t.plain("partial_fuzzy")
		c.Old = strings.Join(f[1:len(f)-1], "   ")
		c.New = strings.Join(f[1:len(f)-1], "   ") + " changed"
		if strings.Contains(c.File, c.Old) {
			return nil
		}
		c.Accept, c.Refuse = nil, true
		return c
	})

	reg("crlf", func(g *gen) *Case {
		t := g.edit(shape{})
		c := t.plain("crlf")
		crlf := func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") }
		switch g.r.IntN(3) {
		case 0: // the file has CRLF, the model LF
			c.File, c.Accept[0] = crlf(c.File), crlf(c.Accept[0])
		case 1: // both
			c.File, c.Accept[0], c.Old, c.New = crlf(c.File), crlf(c.Accept[0]), crlf(c.Old), crlf(c.New)
		case 2: // the model alone
			c.Old, c.New = crlf(c.Old), crlf(c.New)
		}
		return g.open2(c)
	})

	reg("mixed_eol", func(g *gen) *Case {
		t := g.edit(shape{})
		f := g.byText(0.5, func(l string, _ int) string { return l + "\r" })
		t.lines = mapLines(t.lines, f)
		c := t.plain("mixed_eol")
		old := t.old
		t.old = t.lines[t.at : t.at+len(old)]
		t.new = append([]string{}, t.new...)
		for j, i := range t.src {
			if i >= 0 {
				t.new[j] += strings.TrimPrefix(t.old[i], old[i])
			}
		}
		c.Accept = []string{t.result()}
		return g.open(t.loose(c))
	})

	reg("bom", func(g *gen) *Case {
		t := g.edit(shape{})
		c := t.plain("bom")
		c.File, c.Accept[0] = "\ufeff"+c.File, "\ufeff"+c.Accept[0]
		return g.open(c)
	})

	reg("no_eof_newline", func(g *gen) *Case {
		t := g.edit(shape{})
		t.lines = t.lines[:t.at+len(t.old)]
		c := t.plain("no_eof_newline")
		if len(t.new) == 0 || blank(t.new[len(t.new)-1]) {
			return nil
		}
		c.File, c.Accept[0] = strings.TrimSuffix(c.File, "\n"), strings.TrimSuffix(c.Accept[0], "\n")
		if !uniqueBlock(t.lines, t.old) {
			return nil
		}
		return g.open(c)
	})

	reg("escaped", func(g *gen) *Case {
		t := g.edit(shape{})
		c := t.plain("escaped")
		esc := strings.NewReplacer("\\", `\\`, "\n", `\n`, "\t", `\t`, `"`, `\"`).Replace
		switch g.r.IntN(3) {
		case 1:
			esc = strings.NewReplacer(`"`, `\"`, "\\", `\\`).Replace
		case 2:
			if strings.Contains(c.Old+c.New, "\\") {
				return nil // cannot be told from escapes of the code itself
			}
			esc = strings.NewReplacer("\n", `\n`, "\t", `\t`).Replace
		}
		c.Old, c.New = esc(c.Old), esc(c.New)
		if strings.Contains(c.File, c.Old) {
			return nil
		}
		return c
	})

	reg("html_escaped", func(g *gen) *Case {
		t := g.edit(shape{})
		c := t.plain("html_escaped")
		esc := html.EscapeString
		if g.r.IntN(2) == 0 {
			esc = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace
		}
		c.Old, c.New = esc(c.Old), esc(c.New)
		if strings.Contains(c.File, c.Old) {
			return nil
		}
		return g.open(c)
	})
}

func (g *gen) open2(c *Case) *Case {
	if g.r.IntN(2) == 0 {
		for _, eol := range []string{"\r\n", "\n"} {
			if strings.HasSuffix(c.Old, eol) && strings.HasSuffix(c.New, eol) {
				c.Old, c.New = strings.TrimSuffix(c.Old, eol), strings.TrimSuffix(c.New, eol)
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
