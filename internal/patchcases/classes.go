package patchcases

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agenttool/tool/internal/diff"
)

// classes make the cases of one class each; nil means try again.
var classes = map[string]func(g *gen) *Case{
	"exact":    func(g *gen) *Case { return g.plain(1, same) },
	"multi":    func(g *gen) *Case { return g.plain(2+g.r.IntN(3), same) },
	"trailing": func(g *gen) *Case { return g.plain(1, func(l string) string { return l + " " }) },
	"indent": func(g *gen) *Case {
		lines, edits := g.edits(1)
		f := tabsTo([]string{"  ", "    ", "        "}[g.r.IntN(3)])
		if !strings.Contains("\n"+join(edits[0].old()), "\n\t") {
			return nil // the old lines are there as they are, so the new ones go in literally
		}
		return &Case{File: join(lines), Text: envelope(edits, f), Accept: []string{join(apply(lines, edits))}}
	},
	"indent_shift": func(g *gen) *Case {
		lines, edits := g.edits(1)
		for _, l := range edits[0].lines {
			if !blank(l) && !strings.HasPrefix(l, "\t") {
				return nil
			}
		}
		return &Case{File: join(lines), Text: envelope(edits, func(l string) string { return strings.TrimPrefix(l, "\t") }), Accept: []string{join(apply(lines, edits))}}
	},
	"crlf": func(g *gen) *Case {
		c := g.plain(1+g.r.IntN(2), same)
		crlf := func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") }
		if v := g.r.IntN(3); v == 0 {
			c.Text = crlf(c.Text)
		} else {
			c.File, c.Accept[0] = crlf(c.File), crlf(c.Accept[0])
			if v == 1 {
				c.Text = crlf(c.Text)
			}
		}
		return c
	},
	"mixed_eol": func(g *gen) *Case {
		lines, edits := g.edits(1)
		e := edits[0]
		// One half of the file has the other ending; the hunk is in one of them.
		half := e.at + len(e.old())
		file, want := join(lines), join(apply(lines, edits))
		cut := len(join(lines[:half]))
		tail := strings.ReplaceAll(file[cut:], "\n", "\r\n")
		return &Case{File: file[:cut] + tail, Text: envelope(edits, same), Accept: []string{want[:len(want)-len(file[cut:])] + tail}}
	},
	"no_eof_newline": func(g *gen) *Case {
		lines, edits := g.edits(1)
		e := edits[0]
		lines = lines[:e.at+len(e.old())]
		if !unique(lines, e.old()) {
			return nil
		}
		return &Case{File: strings.TrimSuffix(join(lines), "\n"), Text: envelope(edits, same), Accept: []string{strings.TrimSuffix(join(apply(lines, edits)), "\n")}}
	},
	"unified": func(g *gen) *Case {
		lines, edits := g.edits(1 + g.r.IntN(3))
		old, new := join(lines), join(apply(lines, edits))
		return &Case{File: old, Text: diff.Unified("a/f.go", "b/f.go", old, new, nil), Accept: []string{new}}
	},
	"unified_wrong_numbers": func(g *gen) *Case {
		lines, edits := g.edits(1 + g.r.IntN(2))
		text := "--- f.go\n+++ f.go\n"
		for _, e := range edits {
			text += fmt.Sprintf("@@ -%d,%d +%d,%d @@ func x()\n", 1+g.r.IntN(200), 1+g.r.IntN(9), 1+g.r.IntN(200), 1+g.r.IntN(9)) + e.hunk(same)
		}
		return &Case{File: join(lines), Text: text, Accept: []string{join(apply(lines, edits))}}
	},
	"unified_in_envelope": func(g *gen) *Case {
		c := g.plain(1, same)
		c.Text = strings.Replace(c.Text, "@@\n", fmt.Sprintf("@@ -%d,7 +%d,8 @@\n", 1+g.r.IntN(99), 1+g.r.IntN(99)), 1)
		return c
	},
	"unmarked": func(g *gen) *Case {
		c := g.plain(1, same)
		was := c.Text
		c.Text = strings.ReplaceAll(c.Text, "\n \n", "\n\n")
		if g.r.IntN(2) == 0 {
			c.Text = strings.ReplaceAll(c.Text, "\n \t", "\n\t")
		}
		if c.Text == was {
			return nil
		}
		return c
	},
	"wrapped": func(g *gen) *Case {
		c := g.plain(1, same)
		switch g.r.IntN(4) {
		case 0:
			c.Text = "```diff\n" + c.Text + "```\n"
		case 1:
			c.Text = "apply_patch <<'EOF'\n" + c.Text + "EOF\n"
		case 2:
			c.Text = "Here is the patch:\n\n" + c.Text + "\nDone.\n"
		case 3:
			c.Text = strings.TrimSuffix(c.Text, "*** End Patch\n")
		}
		return c
	},
	"ambiguous": func(g *gen) *Case {
		lines, edits := g.edits(1)
		lines = append(append(lines, "", "// once more"), edits[0].old()...)
		return &Case{File: join(lines), Text: envelope(edits, same), Refuse: true}
	},
	"anchor": func(g *gen) *Case {
		lines, edits := g.edits(1)
		e := edits[0]
		for _, l := range e.old() {
			if !blank(l) && !strings.HasPrefix(l, "\t") {
				return nil // would end the scope that the anchor opens
			}
		}
		twin := append([]string{"func alpha() {"}, e.old()...)
		twin = append(twin, "}", "", "func beta() {")
		at := len(lines) + len(twin)
		twin = append(append(twin, e.old()...), "}")
		lines = append(slices.Clone(lines[:e.at]), append(lines[e.at+len(e.old()):], twin...)...)
		at -= len(e.old())
		e.at = at
		if strings.Count(join(lines), join(e.old())) != 2 {
			return nil
		}
		name := "beta"
		if g.r.IntN(2) == 0 {
			name, e.at = "alpha", at-len(e.old())-3
		}
		text := envelope(edits, same)
		return &Case{File: join(lines), Text: strings.Replace(text, "@@\n", "@@ func "+name+"() {\n", 1), Accept: []string{join(apply(lines, edits))}}
	},
	"end_of_file": func(g *gen) *Case {
		lines, edits := g.edits(1)
		e := edits[0]
		at := len(lines) + 1
		lines = append(append(lines, ""), e.old()...)
		if strings.Count(join(lines), join(e.old())) != 2 {
			return nil
		}
		e.at = at
		return &Case{File: join(lines), Text: strings.Replace(envelope(edits, same), "*** End Patch", "*** End of File\n*** End Patch", 1), Accept: []string{join(apply(lines, edits))}}
	},
	"order": func(g *gen) *Case {
		// The second hunk fits two places, one of them before the first hunk.
		lines, edits := g.edits(2)
		twin := edits[1].old()
		file := append(append(slices.Clone(twin), "", "// between"), lines...)
		for _, e := range edits {
			e.at += len(twin) + 2
		}
		if strings.Count(join(file), join(edits[0].old())) != 1 || strings.Count(join(file), join(twin)) != 2 {
			return nil
		}
		return &Case{File: join(file), Text: envelope(edits, same), Accept: []string{join(apply(file, edits))}}
	},
	"out_of_order": func(g *gen) *Case {
		lines, edits := g.edits(2)
		return &Case{File: join(lines), Text: envelope([]*edit{edits[1], edits[0]}, same), Accept: []string{join(apply(lines, edits))}}
	},
	"insert_at_anchor": func(g *gen) *Case {
		lines, edits := g.edits(1)
		at := edits[0].at
		for at < len(lines) && (blank(lines[at]) || len(strings.TrimSpace(lines[at])) < 8 || !unique(lines, lines[at:at+1])) {
			at++
		}
		if at == len(lines) {
			return nil
		}
		new := slices.Insert(slices.Clone(lines), at+1, "\tadded()")
		return &Case{File: join(lines), Text: "*** Begin Patch\n*** Update File: f.go\n@@ " + strings.TrimSpace(lines[at]) + "\n+\tadded()\n*** End Patch\n", Accept: []string{join(new)}}
	},
	"insert_nowhere": func(g *gen) *Case {
		c := g.plain(1, same)
		c.Text = "*** Begin Patch\n*** Update File: f.go\n@@\n+\tadded()\n*** End Patch\n"
		c.Accept, c.Refuse = nil, true
		return c
	},
	"unicode": func(g *gen) *Case {
		return g.plain(1, func(l string) string { return strings.NewReplacer(`"`, "”", "'", "’").Replace(l) })
	},
	"typo_kept": func(g *gen) *Case {
		lines, edits := g.edits(1)
		e := edits[0]
		k := -1
		for i, m := range e.marks {
			if m == ' ' && i > 0 && i < len(e.marks)-1 && len(strings.TrimSpace(e.lines[i])) > 12 && strings.Contains(e.lines[i], "e") {
				k = i
			}
		}
		full := 0
		for _, l := range e.old() {
			if !blank(l) {
				full++
			}
		}
		if k < 0 || full < 6 {
			return nil
		}
		want := join(apply(lines, edits))
		e.lines = slices.Clone(e.lines)
		e.lines[k] = strings.Replace(e.lines[k], "e", "ee", 1)
		return &Case{File: join(lines), Text: envelope(edits, same), Accept: []string{want}}
	},
	"stale": func(g *gen) *Case {
		lines, edits := g.edits(1)
		e := edits[0]
		k := e.at + 1 + g.r.IntN(len(e.old())-2)
		if blank(lines[k]) {
			return nil
		}
		file := slices.Clone(lines)
		file[k] = "\t" + g.noun() + ".newer(ctx, 17)"
		return &Case{File: join(file), Text: envelope(edits, same), Refuse: true}
	},
	"second_fails": func(g *gen) *Case {
		lines, edits := g.edits(2)
		e := edits[1]
		for i, m := range e.marks {
			if m != '+' && !blank(e.lines[i]) {
				e.lines[i] = "\tnothing." + g.noun() + fmt.Sprintf("(%d)", g.r.IntN(100))
			}
		}
		return &Case{File: join(lines), Text: envelope(edits, same), Refuse: true}
	},
	"absent": func(g *gen) *Case {
		lines, _ := g.edits(1)
		_, other := g.edits(1)
		if strings.Contains(squeezed(lines), squeezed(other[0].old())) {
			return nil
		}
		return &Case{File: join(lines), Text: envelope(other, same), Refuse: true}
	},
	"malformed": func(g *gen) *Case {
		c := g.plain(1, same)
		switch g.r.IntN(6) {
		case 0:
			c.Text = strings.TrimPrefix(c.Text, "*** Begin Patch\n")
		case 1:
			c.Text = strings.Replace(c.Text, "*** Update File: f.go", "*** Update File:", 1)
		case 2:
			c.Text = strings.Replace(c.Text, "*** Update File: f.go", "*** Change File: f.go", 1)
		case 3:
			c.Text = "*** Begin Patch\n*** Update File: f.go\n@@\n*** End Patch\n"
		case 4:
			c.Text = "*** Begin Patch\n*** End Patch\n"
		case 5:
			c.Text = "*** Begin Patch\n*** Add File: g.go\nno plus\n*** End Patch\n"
		}
		c.Accept, c.Refuse = nil, true
		return c
	},
	"near_dup": func(g *gen) *Case {
		lines, edits := g.edits(1)
		twin := edits[0].old()
		k := g.r.IntN(len(twin))
		twin[k] += " // twin"
		return &Case{File: join(append(append(lines, ""), twin...)), Text: envelope(edits, func(l string) string { return l + " " }),
			Accept: []string{join(append(append(apply(lines, edits), ""), twin...))}}
	},
}
