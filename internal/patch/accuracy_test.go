package patch_test

import (
	"fmt"
	"hash/fnv"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/agenttool/tool/internal/diff"
	"github.com/agenttool/tool/internal/patch"
)

// A patchCase is a patch of one file with the results that are right.
type patchCase struct {
	file   string
	text   string
	accept []string
	refuse bool
}

var corpus = sync.OnceValue(func() [][]string {
	var out [][]string
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return nil
	}
	for _, dir := range []string{"bufio", "bytes", "strings", "net/http", "encoding/json", "go/parser", "go/types", "text/template", "os", "regexp", "time", "strconv", "archive/zip", "html", "testing"} {
		names, _ := filepath.Glob(filepath.Join(strings.TrimSpace(string(root)), "src", dir, "*.go"))
		for _, n := range names {
			b, err := os.ReadFile(n)
			if err != nil || len(b) > 120_000 || strings.Contains(string(b), "\r") {
				continue
			}
			if lines := strings.Split(strings.TrimSuffix(string(b), "\n"), "\n"); len(lines) > 80 {
				out = append(out, lines)
			}
		}
	}
	return out
})

type gen struct{ r *rand.Rand }

var nouns = []string{"buffer", "count", "limit", "handler", "cursor", "payload", "offset", "registry", "timeout", "worker", "session", "token"}

func (g *gen) noun() string { return nouns[g.r.IntN(len(nouns))] }

func join(lines []string) string { return strings.Join(lines, "\n") + "\n" }

func blank(s string) bool { return strings.TrimSpace(s) == "" }

func squeeze(s string) string { return strings.Join(strings.Fields(s), "") }

// An edit is a changed stretch of a file with its context, as a hunk has it.
type edit struct {
	at    int // first line of the hunk
	marks []byte
	lines []string
}

func (e *edit) old() []string { return e.side('+') }
func (e *edit) new() []string { return e.side('-') }

func (e *edit) side(skip byte) []string {
	var out []string
	for i, m := range e.marks {
		if m != skip {
			out = append(out, e.lines[i])
		}
	}
	return out
}

func unique(lines, block []string) bool {
	n := strings.Count("\n"+squeezed(lines), "\n"+squeezed(block))
	return n == 1
}

func squeezed(lines []string) string {
	var b strings.Builder
	for _, l := range lines {
		if s := squeeze(l); s != "" {
			b.WriteString(s + "\n")
		}
	}
	return b.String()
}

// edits makes n edits of one file, apart from each other, in file order.
func (g *gen) edits(n int) ([]string, []*edit) {
	for {
		src := corpus()[g.r.IntN(len(corpus()))]
		from := 0
		if len(src) > 400 {
			from = g.r.IntN(len(src) - 300)
			src = src[from : from+300]
		}
		lines := slices.Clone(src)
		var out []*edit
		pos := 2
		for k := range n {
			span := (len(lines) - pos - 6) / (n - k)
			if span < 14 {
				break
			}
			e := g.edit(lines, pos+g.r.IntN(span-12))
			if e == nil {
				break
			}
			out = append(out, e)
			pos = e.at + len(e.old()) + 1
		}
		if len(out) == n {
			return lines, out
		}
	}
}

func (g *gen) edit(lines []string, at int) *edit {
	const context = 3
	e := &edit{at: at}
	add := func(m byte, l string) { e.marks, e.lines = append(e.marks, m), append(e.lines, l) }
	for i := range context {
		add(' ', lines[at+i])
	}
	pos := at + context
	in := lines[pos][:len(lines[pos])-len(strings.TrimLeft(lines[pos], "\t "))]
	if blank(lines[pos]) {
		return nil
	}
	switch g.r.IntN(4) {
	case 0: // change
		add('-', lines[pos])
		add('+', in+g.noun()+" = "+g.noun()+fmt.Sprintf("(%d)", g.r.IntN(1000)))
		pos++
	case 1: // insertion
		for range 1 + g.r.IntN(3) {
			add('+', in+g.noun()+" := "+g.noun()+fmt.Sprintf("(%d)", g.r.IntN(1000)))
		}
	case 2: // deletion
		add('-', lines[pos])
		pos++
	case 3: // two for one
		add('-', lines[pos])
		add('+', in+"if "+g.noun()+" {")
		add('+', in+"\treturn "+g.noun())
		add('+', in+"}")
		pos++
	}
	for i := 0; i < context && pos < len(lines); i++ {
		add(' ', lines[pos])
		pos++
	}
	old := e.old()
	if blank(old[0]) || blank(old[len(old)-1]) || !unique(lines, old) || strings.ContainsAny(join(old), "“”’–—…") {
		return nil
	}
	return e
}

func apply(lines []string, edits []*edit) []string {
	var out []string
	pos := 0
	for _, e := range edits {
		out = append(out, lines[pos:e.at]...)
		out = append(out, e.new()...)
		pos = e.at + len(e.old())
	}
	return append(out, lines[pos:]...)
}

func (e *edit) hunk(f func(string) string) string {
	var b strings.Builder
	for i, l := range e.lines {
		b.WriteString(string(e.marks[i]) + f(l) + "\n")
	}
	return b.String()
}

func same(l string) string { return l }

// envelope writes hunks in the notation of the envelope.
func envelope(edits []*edit, f func(string) string) string {
	var b strings.Builder
	b.WriteString("*** Begin Patch\n*** Update File: f.go\n")
	for _, e := range edits {
		b.WriteString("@@\n" + e.hunk(f))
	}
	return b.String() + "*** End Patch\n"
}

func (g *gen) plain(n int, f func(string) string) *patchCase {
	lines, edits := g.edits(n)
	return &patchCase{file: join(lines), text: envelope(edits, f), accept: []string{join(apply(lines, edits))}}
}

func tabsTo(unit string) func(string) string {
	return func(l string) string {
		body := strings.TrimLeft(l, "\t")
		return strings.Repeat(unit, len(l)-len(body)) + body
	}
}

var classes = map[string]func(g *gen) *patchCase{
	"exact":    func(g *gen) *patchCase { return g.plain(1, same) },
	"multi":    func(g *gen) *patchCase { return g.plain(2+g.r.IntN(3), same) },
	"trailing": func(g *gen) *patchCase { return g.plain(1, func(l string) string { return l + " " }) },
	"indent": func(g *gen) *patchCase {
		lines, edits := g.edits(1)
		f := tabsTo([]string{"  ", "    ", "        "}[g.r.IntN(3)])
		if !strings.Contains(join(edits[0].old()), "\t") {
			return nil // the old lines are there as they are, so the new ones go in literally
		}
		return &patchCase{file: join(lines), text: envelope(edits, f), accept: []string{join(apply(lines, edits))}}
	},
	"indent_shift": func(g *gen) *patchCase {
		lines, edits := g.edits(1)
		for _, l := range edits[0].lines {
			if !blank(l) && !strings.HasPrefix(l, "\t") {
				return nil
			}
		}
		return &patchCase{file: join(lines), text: envelope(edits, func(l string) string { return strings.TrimPrefix(l, "\t") }), accept: []string{join(apply(lines, edits))}}
	},
	"crlf": func(g *gen) *patchCase {
		c := g.plain(1+g.r.IntN(2), same)
		crlf := func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") }
		if v := g.r.IntN(3); v == 0 {
			c.text = crlf(c.text)
		} else {
			c.file, c.accept[0] = crlf(c.file), crlf(c.accept[0])
			if v == 1 {
				c.text = crlf(c.text)
			}
		}
		return c
	},
	"mixed_eol": func(g *gen) *patchCase {
		lines, edits := g.edits(1)
		e := edits[0]
		// One half of the file has the other ending; the hunk is in one of them.
		half := e.at + len(e.old())
		file, want := join(lines), join(apply(lines, edits))
		cut := len(join(lines[:half]))
		tail := strings.ReplaceAll(file[cut:], "\n", "\r\n")
		return &patchCase{file: file[:cut] + tail, text: envelope(edits, same), accept: []string{want[:len(want)-len(file[cut:])] + tail}}
	},
	"no_eof_newline": func(g *gen) *patchCase {
		lines, edits := g.edits(1)
		e := edits[0]
		lines = lines[:e.at+len(e.old())]
		if !unique(lines, e.old()) {
			return nil
		}
		return &patchCase{file: strings.TrimSuffix(join(lines), "\n"), text: envelope(edits, same), accept: []string{strings.TrimSuffix(join(apply(lines, edits)), "\n")}}
	},
	"unified": func(g *gen) *patchCase {
		lines, edits := g.edits(1 + g.r.IntN(3))
		old, new := join(lines), join(apply(lines, edits))
		return &patchCase{file: old, text: diff.Unified("a/f.go", "b/f.go", old, new, nil), accept: []string{new}}
	},
	"unified_wrong_numbers": func(g *gen) *patchCase {
		lines, edits := g.edits(1 + g.r.IntN(2))
		text := "--- f.go\n+++ f.go\n"
		for _, e := range edits {
			text += fmt.Sprintf("@@ -%d,%d +%d,%d @@ func x()\n", 1+g.r.IntN(200), 1+g.r.IntN(9), 1+g.r.IntN(200), 1+g.r.IntN(9)) + e.hunk(same)
		}
		return &patchCase{file: join(lines), text: text, accept: []string{join(apply(lines, edits))}}
	},
	"unified_in_envelope": func(g *gen) *patchCase {
		c := g.plain(1, same)
		c.text = strings.Replace(c.text, "@@\n", fmt.Sprintf("@@ -%d,7 +%d,8 @@\n", 1+g.r.IntN(99), 1+g.r.IntN(99)), 1)
		return c
	},
	"unmarked": func(g *gen) *patchCase {
		c := g.plain(1, same)
		was := c.text
		c.text = strings.ReplaceAll(c.text, "\n \n", "\n\n")
		if g.r.IntN(2) == 0 {
			c.text = strings.ReplaceAll(c.text, "\n \t", "\n\t")
		}
		if c.text == was {
			return nil
		}
		return c
	},
	"wrapped": func(g *gen) *patchCase {
		c := g.plain(1, same)
		switch g.r.IntN(4) {
		case 0:
			c.text = "```diff\n" + c.text + "```\n"
		case 1:
			c.text = "apply_patch <<'EOF'\n" + c.text + "EOF\n"
		case 2:
			c.text = "Here is the patch:\n\n" + c.text + "\nDone.\n"
		case 3:
			c.text = strings.TrimSuffix(c.text, "*** End Patch\n")
		}
		return c
	},
	"ambiguous": func(g *gen) *patchCase {
		lines, edits := g.edits(1)
		lines = append(append(lines, "", "// once more"), edits[0].old()...)
		return &patchCase{file: join(lines), text: envelope(edits, same), refuse: true}
	},
	"anchor": func(g *gen) *patchCase {
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
		return &patchCase{file: join(lines), text: strings.Replace(text, "@@\n", "@@ func "+name+"() {\n", 1), accept: []string{join(apply(lines, edits))}}
	},
	"end_of_file": func(g *gen) *patchCase {
		lines, edits := g.edits(1)
		e := edits[0]
		at := len(lines) + 1
		lines = append(append(lines, ""), e.old()...)
		if strings.Count(join(lines), join(e.old())) != 2 {
			return nil
		}
		e.at = at
		return &patchCase{file: join(lines), text: strings.Replace(envelope(edits, same), "*** End Patch", "*** End of File\n*** End Patch", 1), accept: []string{join(apply(lines, edits))}}
	},
	"order": func(g *gen) *patchCase {
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
		return &patchCase{file: join(file), text: envelope(edits, same), accept: []string{join(apply(file, edits))}}
	},
	"out_of_order": func(g *gen) *patchCase {
		lines, edits := g.edits(2)
		return &patchCase{file: join(lines), text: envelope([]*edit{edits[1], edits[0]}, same), accept: []string{join(apply(lines, edits))}}
	},
	"insert_at_anchor": func(g *gen) *patchCase {
		lines, edits := g.edits(1)
		at := edits[0].at
		for at < len(lines) && (blank(lines[at]) || len(strings.TrimSpace(lines[at])) < 8 || !unique(lines, lines[at:at+1])) {
			at++
		}
		if at == len(lines) {
			return nil
		}
		new := slices.Insert(slices.Clone(lines), at+1, "\tadded()")
		return &patchCase{file: join(lines), text: "*** Begin Patch\n*** Update File: f.go\n@@ " + strings.TrimSpace(lines[at]) + "\n+\tadded()\n*** End Patch\n", accept: []string{join(new)}}
	},
	"insert_nowhere": func(g *gen) *patchCase {
		c := g.plain(1, same)
		c.text = "*** Begin Patch\n*** Update File: f.go\n@@\n+\tadded()\n*** End Patch\n"
		c.accept, c.refuse = nil, true
		return c
	},
	"unicode": func(g *gen) *patchCase {
		return g.plain(1, func(l string) string { return strings.NewReplacer(`"`, "”", "'", "’").Replace(l) })
	},
	"typo_kept": func(g *gen) *patchCase {
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
		return &patchCase{file: join(lines), text: envelope(edits, same), accept: []string{want}}
	},
	"stale": func(g *gen) *patchCase {
		lines, edits := g.edits(1)
		e := edits[0]
		k := e.at + 1 + g.r.IntN(len(e.old())-2)
		if blank(lines[k]) {
			return nil
		}
		file := slices.Clone(lines)
		file[k] = "\t" + g.noun() + ".newer(ctx, 17)"
		return &patchCase{file: join(file), text: envelope(edits, same), refuse: true}
	},
	"second_fails": func(g *gen) *patchCase {
		lines, edits := g.edits(2)
		e := edits[1]
		for i, m := range e.marks {
			if m != '+' && !blank(e.lines[i]) {
				e.lines[i] = "\tnothing." + g.noun() + fmt.Sprintf("(%d)", g.r.IntN(100))
			}
		}
		return &patchCase{file: join(lines), text: envelope(edits, same), refuse: true}
	},
	"absent": func(g *gen) *patchCase {
		lines, _ := g.edits(1)
		_, other := g.edits(1)
		if strings.Contains(squeezed(lines), squeezed(other[0].old())) {
			return nil
		}
		return &patchCase{file: join(lines), text: envelope(other, same), refuse: true}
	},
	"malformed": func(g *gen) *patchCase {
		c := g.plain(1, same)
		switch g.r.IntN(6) {
		case 0:
			c.text = strings.TrimPrefix(c.text, "*** Begin Patch\n")
		case 1:
			c.text = strings.Replace(c.text, "*** Update File: f.go", "*** Update File:", 1)
		case 2:
			c.text = strings.Replace(c.text, "*** Update File: f.go", "*** Change File: f.go", 1)
		case 3:
			c.text = "*** Begin Patch\n*** Update File: f.go\n@@\n*** End Patch\n"
		case 4:
			c.text = "*** Begin Patch\n*** End Patch\n"
		case 5:
			c.text = "*** Begin Patch\n*** Add File: g.go\nno plus\n*** End Patch\n"
		}
		c.accept, c.refuse = nil, true
		return c
	},
	"near_dup": func(g *gen) *patchCase {
		lines, edits := g.edits(1)
		twin := edits[0].old()
		k := g.r.IntN(len(twin))
		twin[k] += " // twin"
		return &patchCase{file: join(append(append(lines, ""), twin...)), text: envelope(edits, func(l string) string { return l + " " }),
			accept: []string{join(append(append(apply(lines, edits), ""), twin...))}}
	},
}

func (c *patchCase) run() (string, error) {
	changes, err := patch.Plan(c.text, func(name string) (string, error) {
		if name != "f.go" {
			return "", fs.ErrNotExist
		}
		return c.file, nil
	})
	if err != nil {
		return "", err
	}
	if len(changes) != 1 {
		return "", fmt.Errorf("%d changes", len(changes))
	}
	return changes[0].New, nil
}

type score struct{ n, possible, right, refused, falseReject, badForm, severe int }

func (s *score) judge(c *patchCase, got string, err error) bool {
	s.n++
	if len(c.accept) > 0 {
		s.possible++
	}
	switch {
	case err != nil && c.refuse:
		s.refused++
	case err != nil:
		s.falseReject++
		return false
	case slices.Contains(c.accept, got):
		s.right++
	case slices.ContainsFunc(c.accept, func(want string) bool { return squeeze(want) == squeeze(got) }):
		s.badForm++
		return false
	default:
		s.severe++
		return false
	}
	return true
}

func (s *score) correct() float64 { return 100 * float64(s.right+s.refused) / float64(s.n) }

func measure(tb testing.TB, seed uint64, n int) (map[string]score, score) {
	by := map[string]score{}
	var total score
	for _, class := range slices.Sorted(maps.Keys(classes)) {
		h := fnv.New64a()
		h.Write([]byte(class))
		g := &gen{rand.New(rand.NewPCG(seed, h.Sum64()))}
		var s score
		for tries := 0; s.n < n && tries < 60*n; tries++ {
			c := classes[class](g)
			if c == nil {
				continue
			}
			got, err := c.run()
			if !s.judge(c, got, err) && os.Getenv("PATCH_SHOW") == class {
				tb.Logf("%s: %v\n%s\n%s", class, err, c.text, diff.Unified("want", "got", strings.Join(c.accept[:min(1, len(c.accept))], ""), got, nil))
			}
		}
		by[class] = s
		total.n += s.n
		total.possible += s.possible
		total.right += s.right
		total.refused += s.refused
		total.falseReject += s.falseReject
		total.badForm += s.badForm
		total.severe += s.severe
	}
	return by, total
}

func share(n, of int) float64 { return 100 * float64(n) / float64(max(1, of)) }

// TestAccuracy holds the placing of hunks to its goals on a small set.
func TestAccuracy(t *testing.T) {
	if len(corpus()) < 30 {
		t.Skip("the Go source tree is not there")
	}
	by, total := measure(t, 20260823, 12)
	assert.GreaterOrEqual(t, total.correct(), 99.0, "correct")
	assert.LessOrEqual(t, share(total.badForm+total.severe, total.n), 0.3, "WRONG")
	assert.Zero(t, total.severe, "severe")
	assert.LessOrEqual(t, share(total.falseReject, total.n), 0.7, "false reject")
	assert.GreaterOrEqual(t, share(total.right, total.possible), 91.0, "applied right")
	for class, s := range by {
		assert.GreaterOrEqual(t, s.n, 5, "%s: too few cases", class)
		assert.GreaterOrEqual(t, s.correct(), 91.6, "%s: %+v", class, s)
	}
}

// BenchmarkAccuracy measures all classes on two fresh seeds and reports the
// shares. With PATCH_TABLE=1 it prints the table of the documentation.
func BenchmarkAccuracy(b *testing.B) {
	if len(corpus()) < 30 {
		b.Skip("the Go source tree is not there")
	}
	for _, seed := range []uint64{1618033, 577215} {
		b.Run(fmt.Sprint("seed=", seed), func(b *testing.B) {
			var by map[string]score
			var total score
			for b.Loop() {
				by, total = measure(b, seed, 60)
			}
			b.ReportMetric(total.correct(), "correct%")
			b.ReportMetric(share(total.badForm+total.severe, total.n), "WRONG%")
			b.ReportMetric(share(total.severe, total.n), "severe%")
			b.ReportMetric(share(total.falseReject, total.n), "falsereject%")
			b.ReportMetric(share(total.right, total.possible), "appliedright%")
			if os.Getenv("PATCH_TABLE") == "" {
				return
			}
			by["TOTAL"] = total
			for _, class := range append(slices.Sorted(maps.Keys(classes)), "TOTAL") {
				s := by[class]
				applied := "–"
				if s.possible > 0 {
					applied = fmt.Sprintf("%.1f", share(s.right, s.possible))
				}
				fmt.Printf("| %s | %d | %.1f | %.1f | %.1f | %.1f | %s |\n", class, s.n, s.correct(), share(s.badForm+s.severe, s.n), share(s.severe, s.n), share(s.falseReject, s.n), applied)
			}
		})
	}
}
