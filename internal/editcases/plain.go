package editcases

import (
	"slices"
	"strings"
)

// plainClasses are about texts that are there as they are, and about blanks.
func plainClasses(reg func(name string, f func(g *gen) *Case)) {
	reg("exact", func(g *gen) *Case { return g.open(g.edit(shape{}).plain("exact")) })

	reg("fragments", func(g *gen) *Case {
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
		c.Old, c.New = o[a:len(o)-b], n[a:len(n)-b]
		if blank(c.Old) || strings.Count(c.File, c.Old) != 1 {
			return nil
		}
		return c
	})

	reg("exact_vs_fuzzy", func(g *gen) *Case {
		t := g.edit(shape{indented: true})
		// The same lines once more, indented otherwise.
		twin := mapLines(t.old, func(l string) string { return "\t" + l })
		if strings.Contains(join(twin), join(t.old)) {
			twin = mapLines(t.old, func(l string) string { return strings.TrimPrefix(l, "\t") + " " })
		}
		t.lines = append(append([]string{}, t.lines...), twin...)
		c := t.plain("exact_vs_fuzzy")
		if strings.Count(c.File, c.Old) != 1 {
			return nil
		}
		return c
	})

	reg("first_line_stripped", func(g *gen) *Case {
		t := g.edit(shape{indented: true})
		if t.src[0] != 0 {
			return nil
		}
		c := t.plain("first_line_stripped")
		if lead(t.new[0]) != lead(t.old[0]) {
			return nil
		}
		c.Old, c.New = strings.TrimLeft(c.Old, "\t"), strings.TrimLeft(c.New, "\t")
		return g.open(c)
	})

	reg("special_replacement", func(g *gen) *Case {
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

	reg("escape_literal", func(g *gen) *Case {
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

	reg("multibyte", func(g *gen) *Case {
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
		if strings.Contains(c.File, c.Old) && c.New != join(t.new) {
			return nil // literally there, so new goes in as it is
		}
		return c
	})

	reg("long_line", func(g *gen) *Case {
		t := g.edit(shape{})
		t.lines = append([]string{}, t.lines...)
		t.lines[t.at-1] = "\t// " + strings.Repeat("long line of text ", 3000+g.r.IntN(2000))
		return t.plain("long_line")
	})

	reg("trailing_ws", func(g *gen) *Case {
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
			c.Old, c.New = join(old), join(new)
			if g.open(t.loose(c)); strings.Contains(c.File, c.Old) {
				return nil
			}
			return c
		}
		c := t.damage("trailing_ws", f)
		if c.Old == join(t.old) {
			return nil
		}
		return g.open(c)
	})

	reg("blank_line_ws", func(g *gen) *Case {
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
		c.Old, c.New = join(old), join(new)
		return g.open(t.loose(c))
	})

	reg("indent_shift", func(g *gen) *Case {
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
		if strings.Contains(c.File, c.Old) {
			return nil
		}
		return g.open(c)
	})

	// The lines are given without the indentation of their place, and wrapped.
	reg("wrapped", func(g *gen) *Case {
		t := g.edit(shape{indented: true})
		if t.src == nil || lead(t.new[0]) != lead(t.old[0]) {
			return nil
		}
		in := lead(t.old[0])
		for _, l := range slices.Concat(t.old, t.new) {
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
		if strings.Contains(c.File, c.Old) {
			return nil
		}
		c.Refuse = true // the lines may be there twice, with other indentation
		return g.open(c)
	})

	reg("indent_old_only", func(g *gen) *Case {
		t := g.edit(shape{indented: true, min: 3, max: 12})
		c := t.plain("indent_old_only")
		c.Old = join(mapLines(t.old, func(l string) string { return strings.TrimPrefix(l, "\t") }))
		if strings.Contains(c.File, c.Old) {
			return nil
		}
		c.Refuse = true
		return g.open(c)
	})

	reg("indent_uneven", func(g *gen) *Case {
		t := g.edit(shape{indented: true, min: 3, max: 12})
		f := g.byText(0.4, func(l string, _ int) string {
			if blank(l) {
				return l
			}
			return " " + l
		})
		c := t.damage("indent_uneven", f)
		if c.Old == join(t.old) {
			return nil
		}
		c.Refuse = true
		return g.open(t.loose(c))
	})

	reg("tabs_spaces", func(g *gen) *Case {
		t := g.edit(shape{indented: g.r.IntN(2) == 0, min: 2, max: 14})
		units := []string{"  ", "    ", "        "}
		switch g.r.IntN(3) {
		case 0, 1: // the file has tabs
			c := t.damage("tabs_spaces", tabsTo(units[g.r.IntN(3)]))
			if strings.Contains(c.File, c.Old) {
				return nil
			}
			return g.open(c)
		}
		old, new := t.old, t.new
		t.reindent(tabsTo(units[g.r.IntN(3)]))
		c := t.plain("tabs_spaces")
		c.Old, c.New = join(old), join(new)
		if strings.Contains(c.File, c.Old) {
			return nil
		}
		return g.open(c)
	})
}
