package editcases

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
	"sync"
)

// A source is a file of the corpus as lines.
type source struct {
	name  string
	lines []string
}

var corpus = sync.OnceValue(func() []source {
	goroot, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return nil
	}
	root := filepath.Join(strings.TrimSpace(string(goroot)), "src")
	var names []string
	for _, dir := range []string{"bufio", "bytes", "strings", "net/http", "net/url", "encoding/json", "encoding/xml", "go/parser", "go/ast", "go/types",
		"text/template", "os", "os/exec", "io/fs", "regexp", "sort", "time", "strconv", "compress/flate", "archive/zip", "database/sql", "html", "mime/multipart", "testing"} {
		found, _ := filepath.Glob(filepath.Join(root, dir, "*.go"))
		names = append(names, found...)
	}
	sort.Strings(names)
	var out []source
	for _, n := range names {
		b, err := os.ReadFile(n)
		if err != nil || len(b) > 200_000 || strings.Contains(string(b), "\r") {
			continue
		}
		lines := strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
		if len(lines) >= 60 {
			out = append(out, source{filepath.Base(n), lines})
		}
	}
	return out
})

// A gen makes cases.
type gen struct {
	r *rand.Rand
}

// A truth is a real edit: what the lines were and what they become.
type truth struct {
	lines    []string // of the file
	at       int      // first line of the block
	old, new []string
	src      []int // old line for every new line that it shares, or -1
}

func (t *truth) before() string { return join(t.lines[:t.at]) }
func (t *truth) after() string  { return join(t.lines[t.at+len(t.old):]) }
func (t *truth) file() string   { return join(t.lines) }
func (t *truth) result() string { return t.before() + join(t.new) + t.after() }

func join(lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	return strings.Join(lines, "\n") + "\n"
}

func blank(s string) bool { return strings.TrimSpace(s) == "" }

func lead(s string) string { return s[:len(s)-len(strings.TrimLeft(s, " \t"))] }

// squeeze is a line without what the lenient levels ignore.
func squeeze(s string) string { return strings.Join(strings.Fields(s), "") }

var nouns = []string{"buffer", "count", "limit", "handler", "cursor", "payload", "offset", "registry", "timeout", "worker", "session", "token"}

func (g *gen) pick(words []string) string { return words[g.r.IntN(len(words))] }

// words returns where identifiers of a line are.
func identifiers(line string) [][2]int {
	var out [][2]int
	for i := 0; i < len(line); {
		j := i
		for j < len(line) && (line[j] == '_' || 'a' <= line[j] && line[j] <= 'z' || 'A' <= line[j] && line[j] <= 'Z') {
			j++
		}
		if j-i >= 4 {
			out = append(out, [2]int{i, j})
		}
		i = max(j, i+1)
	}
	return out
}

// renameIn changes one identifier of a line, or appends a comment.
func (g *gen) renameIn(line string) string {
	ids := identifiers(line)
	if len(ids) == 0 {
		return line + " // " + g.pick(nouns)
	}
	id := ids[g.r.IntN(len(ids))]
	return line[:id[0]] + g.pick(nouns) + fmt.Sprint(g.r.IntN(90)+10) + line[id[1]:]
}

// unique reports whether the block occurs once even when blanks do not count.
func uniqueBlock(lines, block []string) bool {
	var want []string
	for _, l := range block {
		if !blank(l) {
			want = append(want, squeeze(l))
		}
	}
	if len(want) == 0 {
		return false
	}
	var have []string
	for _, l := range lines {
		if !blank(l) {
			have = append(have, squeeze(l))
		}
	}
	n := 0
	for i := 0; i+len(want) <= len(have); i++ {
		same := true
		for k := range want {
			if have[i+k] != want[k] {
				same = false
				break
			}
		}
		if same {
			n++
		}
	}
	return n == 1
}

// A shape says what kind of edit is wanted.
type shape struct {
	min, max int // lines of the block
	indented bool
	oneLine  bool // change a single line in place, nothing else
}

// edit makes a real edit somewhere in the corpus.
func (g *gen) edit(sh shape) *truth {
	if sh.max == 0 {
		sh.min, sh.max = 2, 14
	}
	for {
		s := corpus()[g.r.IntN(len(corpus()))]
		lines := s.lines
		if len(lines) > 500 {
			from := g.r.IntN(len(lines) - 400)
			lines = lines[from : from+400]
		}
		n := sh.min + g.r.IntN(sh.max-sh.min+1)
		if n+4 > len(lines) {
			continue
		}
		at := 1 + g.r.IntN(len(lines)-n-2)
		block := lines[at : at+n]
		if blank(block[0]) || blank(block[n-1]) || !uniqueBlock(lines, block) {
			continue
		}
		if sh.indented && !allIndented(block) {
			continue
		}
		if strings.ContainsAny(join(block), "\u2018\u2019\u201c\u201d\u2013\u2014\u00a0…") || strings.Contains(join(block), "...") {
			continue
		}
		t := &truth{lines: lines, at: at, old: block}
		g.change(t, sh)
		if t.new != nil && join(t.new) != join(t.old) {
			return t
		}
	}
}

func allIndented(lines []string) bool {
	for _, l := range lines {
		if !blank(l) && !strings.HasPrefix(l, "\t") {
			return false
		}
	}
	return true
}

// change makes the new lines of a truth: one change, or up to three.
func (g *gen) change(t *truth, sh shape) {
	n := len(t.old)
	kinds := map[int]int{} // what happens to a line
	changes := 1
	if !sh.oneLine && n > 6 && g.r.IntN(3) == 0 {
		changes = 2 + g.r.IntN(2)
	}
	for range changes {
		k := g.r.IntN(n)
		for blank(t.old[k]) {
			k = g.r.IntN(n)
		}
		if kinds[k] = 1 + g.r.IntN(6); sh.oneLine || kinds[k] == 6 && len(identifiers(t.old[k])) == 0 {
			kinds[k] = 1 // a line without words is not wrapped
		}
	}
	add := func(l string) {
		t.new = append(t.new, l)
		t.src = append(t.src, -1)
	}
	keep := func(i int, deeper string) {
		t.new = append(t.new, deeper+t.old[i])
		t.src = append(t.src, i)
	}
	for i := 0; i < n; i++ {
		in := lead(t.old[i])
		switch kinds[i] {
		case 0:
			keep(i, "")
		case 1, 2: // a line changes
			add(g.renameIn(t.old[i]))
		case 3: // lines come in behind
			keep(i, "")
			if strings.HasSuffix(t.old[i], "{") || strings.HasSuffix(t.old[i], "(") {
				in += "\t"
			}
			for range 1 + g.r.IntN(3) {
				add(in + g.pick(nouns) + " := " + g.pick(nouns) + fmt.Sprintf("(%d)", g.r.IntN(100)))
			}
		case 4: // a line goes
			if n == 1 {
				add(g.renameIn(t.old[i]))
			}
		case 5: // two lines become three
			add(in + "if " + g.pick(nouns) + " > " + fmt.Sprint(g.r.IntN(100)) + " {")
			add(in + "\treturn " + g.pick(nouns))
			add(in + "}")
			if n > 3 && i+1 < n && kinds[i+1] == 0 && !blank(t.old[i+1]) {
				i++
			}
		case 6: // a line is wrapped
			add(in + "if " + g.pick(nouns) + "Enabled {")
			keep(i, "\t")
			add(in + "}")
		}
	}
}

// reindented makes the truth of a file indented by other means.
func (t *truth) reindent(f func(string) string) {
	t.lines = mapLines(t.lines, f)
	t.old = t.lines[t.at : t.at+len(t.old)]
	t.new = mapLines(t.new, f)
}

func mapLines(lines []string, f func(string) string) []string {
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = f(l)
	}
	return out
}

func tabsTo(unit string) func(string) string {
	return func(l string) string {
		in := lead(l)
		return strings.ReplaceAll(in, "\t", unit) + l[len(in):]
	}
}

// byText applies damage to a line depending on its words alone, so that the old
// and the new text suffer alike, as when a model misremembers a file. v is a
// number that f may use to choose by.
func (g *gen) byText(share float64, f func(l string, v int) string) func(string) string {
	memo := map[string]int{}
	return func(l string) string {
		v, ok := memo[strings.TrimSpace(l)]
		if !ok {
			if v = g.r.IntN(1000); g.r.Float64() >= share {
				v = -1
			}
			memo[strings.TrimSpace(l)] = v
		}
		if v < 0 {
			return l
		}
		return f(l, v)
	}
}

// plain makes the case of a truth without damage.
func (t *truth) plain(class string) *Case {
	return &Case{Class: class, File: t.file(), Old: join(t.old), New: join(t.new), Accept: []string{t.result()}}
}

// damage makes the case of a truth with lines damaged by f.
func (t *truth) damage(class string, f func(string) string) *Case {
	c := t.plain(class)
	c.Old, c.New = join(mapLines(t.old, f)), join(mapLines(t.new, f))
	return c
}

// loose lets the lines that are not shared differ in blanks and typographic form,
// and those of which there may be several, like "}": which of two equal lines is
// gone, and so whose blanks and line ending stay, cannot be told from the texts.
func (t *truth) loose(c *Case) *Case {
	c.free = map[int]bool{}
	twins := map[string]int{}
	for _, l := range t.old {
		twins[squeeze(l)]++
	}
	for _, l := range t.new {
		twins[squeeze(l)]++
	}
	for j, i := range t.src {
		if l := squeeze(t.new[j]); i < 0 || twins[l] > 2 || len(l) < 4 {
			c.free[t.at+j] = true
		}
	}
	return c
}

// open removes the final line breaks of both texts now and then.
func (g *gen) open(c *Case) *Case {
	if g.r.IntN(2) == 0 && strings.HasSuffix(c.Old, "\n") && strings.HasSuffix(c.New, "\n") {
		c.Old, c.New = c.Old[:len(c.Old)-1], c.New[:len(c.New)-1]
	}
	return c.several()
}

// several accepts a refusal where the text without its last line break is there
// more than once.
func (c *Case) several() *Case {
	if strings.Count(strings.ReplaceAll(c.File, "\r\n", "\n"), strings.ReplaceAll(c.Old, "\r\n", "\n")) > 1 {
		c.Refuse = true
	}
	return c
}

func swapLetters(g *gen, s string) string {
	ids := identifiers(s)
	if len(ids) == 0 {
		return s
	}
	id := ids[g.r.IntN(len(ids))]
	i := id[0] + g.r.IntN(id[1]-id[0]-1)
	switch g.r.IntN(3) {
	case 0:
		if s[i] != s[i+1] {
			return s[:i] + string(s[i+1]) + string(s[i]) + s[i+2:]
		}
	case 1:
		return s[:i] + s[i+1:]
	}
	return s[:i] + string(s[i]) + s[i:]
}
