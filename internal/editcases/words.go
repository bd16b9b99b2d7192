package editcases

import (
	"fmt"
	"strings"
)

// wordClasses are about characters, numbers, fences and words that are not quite right.
func wordClasses(reg func(name string, f func(g *gen) *Case)) {
	reg("unicode_file", func(g *gen) *Case {
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
		c.Old, c.New = join(old), join(new)
		if strings.Contains(c.File, c.Old) || !uniqueBlock(t.lines, t.old) {
			return nil
		}
		return g.open(t.loose(c))
	})

	reg("unicode_model", func(g *gen) *Case {
		t := g.edit(shape{})
		c := t.damage("unicode_model", func(l string) string { return typographic(l, 0) })
		if strings.Contains(c.File, c.Old) {
			return nil
		}
		return g.open(c)
	})

	reg("unicode_nfd", func(g *gen) *Case {
		t := g.edit(shape{})
		f := g.byText(0.7, func(l string, _ int) string { return l + " // é ü" })
		t.lines, t.new = mapLines(t.lines, f), mapLines(t.new, f)
		t.old = t.lines[t.at : t.at+len(t.old)]
		c := t.damage("unicode_nfd", strings.NewReplacer("é", "e\u0301", "ü", "u\u0308").Replace)
		if strings.Contains(c.File, c.Old) {
			return nil
		}
		c.Refuse = true
		return g.open(t.loose(c))
	})

	reg("line_numbers", func(g *gen) *Case {
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
		c.Old = number(t.old, t.at+1)
		if g.r.IntN(3) > 0 {
			c.New = number(t.new, t.at+1)
		}
		return g.open(c)
	})

	reg("fenced", func(g *gen) *Case {
		c := g.edit(shape{}).plain("fenced")
		c.several()
		c.Old, c.New = "```go\n"+c.Old+"```", "```go\n"+c.New+"```"
		return c
	})

	typo := func(g *gen, class string, changed bool, slip func(string) string) *Case {
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
		c.Old, c.New = join(old), join(new)
		if strings.Contains(c.File, c.Old) || c.Old == c.New {
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
	reg("typo_changed", func(g *gen) *Case {
		return typo(g, "typo_changed", true, func(l string) string { return swapLetters(g, l) })
	})
	reg("typo_kept", func(g *gen) *Case {
		return typo(g, "typo_kept", false, func(l string) string { return swapLetters(g, l) })
	})
	reg("drift_changed", func(g *gen) *Case { return typo(g, "drift_changed", true, drift(g)) })
	reg("drift_kept", func(g *gen) *Case {
		c := typo(g, "drift_kept", false, drift(g))
		if c != nil {
			c.Refuse = true
		}
		return c
	})
	reg("drift_total", func(g *gen) *Case {
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
		c.Old = join(old)
		c.Accept, c.Refuse = nil, true
		return c
	})

	reg("stale", func(g *gen) *Case {
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
		c.File = join(lines)
		c.Accept, c.Refuse = nil, true
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
			c.Accept = []string{join(merged)}
		}
		return c
	})
	reg("merged", func(g *gen) *Case {
		t := g.edit(shape{min: 8, max: 16, oneLine: true})
		c := typo(g, "merged", false, func(l string) string { return swapLetters(g, l) })
		_ = t
		if c != nil {
			c.Refuse = true
		}
		return c
	})
}

// typographic writes a line as a word processor would.
func typographic(l string, _ int) string {
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
