package editcases

import (
	"fmt"
	"strings"
)

// placeClasses are about which place is meant, and about edits that must be refused.
func placeClasses(reg func(name string, f func(g *gen) *Case)) {
	reg("elided", func(g *gen) *Case {
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
		c.Old = join(t.old[:a]) + dots + "\n" + join(t.old[b:])
		c.New = join(t.new[:a+cut]) + dots + "\n" + join(t.new[b+cut:])
		if c.Old == c.New {
			return nil
		}
		c.Refuse = true
		return g.open(c)
	})

	reg("lazy_new", func(g *gen) *Case {
		t := g.edit(shape{min: 6, max: 20})
		c := t.plain("lazy_new")
		mark := []string{"// ... rest of the code ...", "// ... existing code ...", "// rest of the function unchanged", "/* ... */", "// ...", "// [rest of implementation]",
			"# ... (unchanged)", "// ... remaining methods stay the same", "// (rest of the code remains the same)", "// … same as before …",
			"<!-- rest of the file -->", "// ... keep existing logic ...", "// existing code here", "-- ... omitted for brevity", "// ...existing code..."}[g.r.IntN(15)]
		c.New = join(t.new[:2]) + lead(t.old[1]) + mark + "\n"
		c.Accept, c.Refuse = nil, true
		return c
	})

	reg("ambiguous", func(g *gen) *Case {
		t := g.edit(shape{min: 1, max: 5})
		t.lines = append(append(append([]string{}, t.lines...), "", "// again"), t.old...)
		c := t.plain("ambiguous")
		c.Accept, c.Refuse = nil, true
		if g.r.IntN(2) == 0 {
			f := func(l string) string { return l + " " }
			c.Old, c.New = join(mapLines(t.old, f)), join(mapLines(t.new, f))
		}
		return c
	})

	reg("fuzzy_ambiguous", func(g *gen) *Case {
		t := g.edit(shape{indented: true, min: 2, max: 6})
		t.lines = append(append(append([]string{}, t.lines...), "{"), mapLines(t.old, func(l string) string { return "\t\t\t" + l })...)
		c := t.plain("fuzzy_ambiguous")
		c.Old = join(mapLines(t.old, strings.TrimSpace))
		c.New = join(mapLines(t.new, strings.TrimSpace))
		if strings.Contains(c.File, c.Old) {
			return nil
		}
		c.Accept, c.Refuse = nil, true
		return c
	})

	reg("near_dup", func(g *gen) *Case {
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
		c.Refuse = strings.Count(c.File, c.Old) > 1
		if strings.Contains(c.File, c.Old) && c.New != join(t.new) && c.New+"\n" != join(t.new) {
			return nil // literally there, so new goes in as it is
		}
		return c
	})

	reg("overlap", func(g *gen) *Case {
		t := g.edit(shape{min: 1, max: 1})
		line := "\t" + g.pick(nouns) + "()\n"
		c := t.plain("overlap")
		c.File = t.before() + strings.Repeat(line, 3) + t.after()
		c.Old, c.New = line+line, line+"\tother()\n"
		c.Accept, c.Refuse = nil, true
		return c
	})

	reg("absent", func(g *gen) *Case {
		t, other := g.edit(shape{}), g.edit(shape{min: 2, max: 14})
		c := t.plain("absent")
		c.Old, c.New = join(other.old), join(other.new)
		if strings.Contains(squeeze(c.File), squeeze(c.Old)) {
			return nil
		}
		c.Accept, c.Refuse = nil, true
		return c
	})

	reg("near_miss", func(g *gen) *Case {
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
		c.Old, c.New = join(old), join(new)
		if strings.Contains(squeeze(c.File), squeeze(c.Old)) || c.Old == c.New {
			return nil
		}
		c.Accept, c.Refuse = nil, true
		return g.open(c)
	})

	reg("old_eq_new", func(g *gen) *Case {
		c := g.edit(shape{}).plain("old_eq_new")
		c.New = c.Old
		c.Accept, c.Refuse = nil, true
		return c
	})
	reg("empty_old", func(g *gen) *Case {
		c := g.edit(shape{}).plain("empty_old")
		c.Old = []string{"", "\n", "  ", "\t\n"}[g.r.IntN(4)]
		c.Accept, c.Refuse = nil, true
		return c
	})

	reg("replace_all", func(g *gen) *Case {
		t := g.edit(shape{})
		ids := identifiers(t.old[0])
		if len(ids) == 0 {
			return nil
		}
		c := t.plain("replace_all")
		c.Old = t.old[0][ids[0][0]:ids[0][1]]
		c.New = c.Old + []string{"$&", "X", "$1", "\n\tnext"}[g.r.IntN(4)]
		c.All = true
		c.Accept = []string{strings.ReplaceAll(c.File, c.Old, c.New)}
		return c
	})
	reg("replace_all_fuzzy", func(g *gen) *Case {
		t := g.edit(shape{indented: true, min: 2, max: 5})
		deep := func(l string) string { return "\t" + l }
		lines := append(append([]string{}, t.lines...), "{")
		c := t.plain("replace_all_fuzzy")
		c.File = join(lines) + join(mapLines(t.old, deep)) + "}\n"
		c.Accept = []string{t.result() + "{\n" + join(mapLines(t.new, deep)) + "}\n"}
		f := func(l string) string { return strings.TrimPrefix(l, "\t") }
		c.Old, c.New, c.All, c.Refuse = join(mapLines(t.old, f)), join(mapLines(t.new, f)), true, true
		if strings.Contains(c.File, c.Old) {
			return nil
		}
		return c
	})

	reg("records", func(g *gen) *Case {
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
		c.Accept, c.Refuse = nil, true
		return c
	})

	reg("combo", func(g *gen) *Case {
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
		if strings.Contains(c.File, c.Old) {
			return nil
		}
		switch g.r.IntN(6) {
		case 0:
			c.Old, c.New = "```\n"+c.Old+"```", "```\n"+c.New+"```"
		case 1:
			c.Old, c.New = "\n"+c.Old, "\n"+c.New
		case 2:
			c.File, c.Accept[0] = strings.ReplaceAll(c.File, "\n", "\r\n"), strings.ReplaceAll(c.Accept[0], "\n", "\r\n")
		case 3:
			number := func(s string) string {
				lines := strings.Split(strings.TrimSuffix(s, "\n"), "\n")
				for i := range lines {
					lines[i] = fmt.Sprintf("%d\t%s", i+20, lines[i])
				}
				return join(lines)
			}
			c.Old, c.New = number(c.Old), number(c.New)
		}
		return c
	})
}
