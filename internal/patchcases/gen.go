package patchcases

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

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

func (g *gen) plain(n int, f func(string) string) *Case {
	lines, edits := g.edits(n)
	return &Case{File: join(lines), Text: envelope(edits, f), Accept: []string{join(apply(lines, edits))}}
}

func tabsTo(unit string) func(string) string {
	return func(l string) string {
		body := strings.TrimLeft(l, "\t")
		return strings.Repeat(unit, len(l)-len(body)) + body
	}
}
