package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/agenttool/tool"
	"github.com/agenttool/tool/permission"
	"github.com/agenttool/tool/schema"
)

// transcript prints what happens. Calls run in parallel and end in any order, so
// the first call that is not over is printed live and the others wait for it:
// then every run prints the same. Times and the temporary directory are masked
// for the same reason.
type transcript struct {
	out    io.Writer
	masked map[string]string // what differs from run to run, and what is printed in its place

	mu      sync.Mutex
	order   []string            // calls of the turn that are not over, in call order
	held    map[string][]string // lines of calls whose time has not come
	over    map[string]bool
	shown   map[string]int // lines of live output that were printed
	states  map[tool.State]int
	prompts int

	parents map[string]string   // of calls that other calls made
	kids    map[string][]string // of those
}

func newTranscript(out io.Writer, masked map[string]string) *transcript {
	return &transcript{out: out, masked: masked, held: map[string][]string{}, over: map[string]bool{}, shown: map[string]int{}, states: map[tool.State]int{}, parents: map[string]string{}, kids: map[string][]string{}}
}

var (
	durations = regexp.MustCompile(`\b\d+(\.\d+)? ?m?s\b`)
	sessions  = regexp.MustCompile(`\btask_[A-Z2-7]{20,}`)
)

func (t *transcript) mask(s string) string {
	for from, to := range t.masked {
		s = strings.ReplaceAll(s, from, to)
	}
	return sessions.ReplaceAllString(durations.ReplaceAllString(s, "0s"), "task_ID")
}

// family notes a call that another call made. Its lines are printed when that one ends.
func (t *transcript) family(c *tool.Call) {
	if c.Parent != "" && t.parents[c.ID] == "" {
		t.parents[c.ID] = c.Parent
		t.kids[c.Parent] = append(t.kids[c.Parent], c.ID)
	}
}

// top is the call of the model that led to the call id.
func (t *transcript) top(id string) string {
	for t.parents[id] != "" {
		id = t.parents[id]
	}
	return id
}

// within prints what became of the calls that a call made, in the order of their ids.
func (t *transcript) within(id string) {
	kids := t.kids[id]
	slices.Sort(kids)
	for _, kid := range kids {
		for _, l := range t.held[kid] {
			t.line(id, "  %s", l)
		}
	}
}

// line prints a line of a call, now or when its turn comes. It is called with t.mu held.
func (t *transcript) line(id, format string, args ...any) {
	text := t.mask(fmt.Sprintf(format, args...))
	if t.parents[id] != "" || len(t.order) > 0 && t.order[0] != id {
		t.held[id] = append(t.held[id], text)
		return
	}
	fmt.Fprintln(t.out, text)
}

// observe prints one line for each step in the life of a call.
func (t *transcript) observe(ev tool.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	id := ev.Call.ID
	t.family(ev.Call)
	switch {
	case ev.Update != nil:
		if ev.Update.Title != "" && ev.Update.Metadata == nil {
			t.line(id, "  %-9s %s %s: %s", ev.State, id, ev.Call.Tool, ev.Update.Title)
		}
		t.output(id, ev.Update.Metadata, false)
	case ev.Last():
		t.states[ev.State]++
		t.within(id)
		t.result(ev)
		t.over[id] = true
		for len(t.order) > 0 && t.over[t.order[0]] {
			t.order = t.order[1:]
			if len(t.order) > 0 {
				for _, l := range t.held[t.order[0]] {
					fmt.Fprintln(t.out, l)
				}
			}
		}
	case ev.State == tool.StatePending:
		t.line(id, "  %-9s %s %s %s", ev.State, id, ev.Call.Tool, compact(t.mask(string(ev.Call.Input))))
	default:
		t.line(id, "  %-9s %s %s", ev.State, id, ev.Call.Tool)
	}
}

// output prints the lines of a command's output that were not printed yet, live
// while it runs and the rest at its end.
func (t *transcript) output(id string, metadata map[string]any, last bool) {
	text, ok := metadata["output"].(string)
	if !ok {
		return
	}
	lines := strings.SplitAfter(text, "\n")
	for i := t.shown[id]; i < len(lines); i++ {
		if lines[i] == "" || !last && !strings.HasSuffix(lines[i], "\n") {
			break
		}
		t.line(id, "            | %s", strings.TrimRight(lines[i], "\n"))
		t.shown[id] = i + 1
	}
}

func (t *transcript) result(ev tool.Event) {
	id, res := ev.Call.ID, ev.Result
	t.output(id, res.Metadata, true)
	if rs, ok := res.Metadata["repairs"].([]schema.Repair); ok {
		for _, r := range rs {
			t.line(id, "            repaired %s: %s became %s", r.Path, r.From, r.To)
		}
	}
	t.line(id, "  %-9s %s %s: %s", ev.State, id, ev.Call.Tool, res.Title)
	if _, command := res.Metadata["output"]; command && ev.State == tool.StateCompleted {
		return
	}
	if ev.Call.Tool == "batch" && len(t.kids[id]) > 0 {
		return // its text is what was printed of its calls
	}
	text := res.Text
	if ev.Call.Tool == "edit" {
		// What language servers say in time depends on the machine.
		for _, mark := range []string{"\nErrors", "\nNot checked yet"} {
			text, _, _ = strings.Cut(text, mark)
		}
	}
	for l := range strings.Lines(text) {
		t.line(id, "            > %s", strings.TrimRight(l, "\n"))
	}
}

// prompt prints a question as a user would see it: only display forms.
func (t *transcript) prompt(id string, p permission.Prompt) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.prompts++
	id = t.top(id)
	t.line(id, "  asking    %s %s: %s", id, p.Request.Permission, p.Title.Display)
	for _, x := range p.Patterns {
		t.line(id, "            would do: %s", x.Display)
	}
	for _, x := range p.Always {
		t.line(id, "            always would allow: %s", x.Display)
	}
	for _, d := range p.Details {
		if d.Key == "diff" {
			for l := range strings.Lines(d.Display) {
				t.line(id, "            %s", strings.TrimRight(l, "\n"))
			}
		}
	}
}

func (t *transcript) answer(id string, a permission.Answer) {
	t.mu.Lock()
	defer t.mu.Unlock()
	id = t.top(id)
	t.line(id, "  answered  %s %s %s", id, a.Reply, a.Message)
}

func (t *transcript) note(id, text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.line(t.top(id), "            %s", text)
}

func (t *transcript) offered(set *tool.Set) {
	var names []string
	for spec := range set.Specs() {
		names = append(names, spec.Name)
	}
	fmt.Fprintf(t.out, "The model is offered: %s\n", strings.Join(names, ", "))
}

// turn prints what the model says, and begins the calls of a turn.
func (t *transcript) turn(n int, say string, calls []*tool.Call) {
	t.mu.Lock()
	defer t.mu.Unlock()
	fmt.Fprintf(t.out, "\n== turn %d: %s\n", n, say)
	t.order = nil
	for _, c := range calls {
		t.order = append(t.order, c.ID)
	}
}

// finish prints the sum and the repaired function.
func (t *transcript) finish(file string) error {
	b, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	_, median, _ := bytes.Cut(b, []byte("func Median"))
	fmt.Fprintf(t.out, "\n== the end\nfunc Median%s", median)
	_, err = fmt.Fprintf(t.out, "\n%d calls completed, %d ended in an error the model could read, %d questions were asked\n",
		t.states[tool.StateCompleted], t.states[tool.StateError], t.prompts)
	return err
}

// compact is s on one line that is not too long.
func compact(s string) string {
	const most = 110
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > most {
		s = s[:most] + "..."
	}
	return s
}
