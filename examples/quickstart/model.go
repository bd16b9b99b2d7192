package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/agenttool/tool"
)

// model is a script. It checks what it gets back before it goes on, so that the
// example fails if the library does not do what the script says.
type model struct {
	script  []turn
	turns   int
	calls   int
	relaxed bool // a person answers, so the rest may come differently
}

type turn struct {
	say   string
	calls []request
	want  []string // what the result of each call must contain
}

type request struct {
	tool, input string
}

func newModel(dir, origin string, relaxed, gopls bool) *model {
	check := turn{
		say:   "Does it compile?",
		calls: []request{{"bash", `{"command":"go test ./...","description":"Run the tests"}`}},
		want:  []string{"undefined: middle"},
	}
	if gopls {
		check = turn{
			say:   "What does the language server think of it?",
			calls: []request{{"lsp", `{"operation":"diagnostics","filePath":"stats.go"}`}},
			want:  []string{"undefined: middle"},
		}
	}
	return &model{relaxed: relaxed, script: []turn{
		{
			say: "I see how tests are run here, send somebody to find the function, and read what a median is.",
			calls: []request{
				{"skill", `{"name":"testing"}`},
				{"task", `{"description":"find Median","subagent_type":"explore","prompt":"Where is Median, and where are its tests? Answer with files and lines."}`},
				{"webfetch", input("url", origin+"/median.html")},
			},
			want: []string{"go test ./...", "stats.go, line 20", "the mean of the two in the middle"},
		},
		{
			say: "The code and the state of the tests, in one call.",
			calls: []request{{"batch", `{"tool_calls":[
				{"tool":"read","parameters":{"file_path":"stats.go","offset":"18","limit":11}},
				{"tool":"bash","parameters":{"command":"go test ./...","description":"Run the tests"}}]}`}}, // an alias, and a number in a string
			want: []string{"want 2.5"},
		},
		{
			say:   "It does. I fix the median, from memory.",
			calls: []request{{"edit", input("filePath", "stats.go", "oldString", "\tmiddle := len(sorted) / 2\n\treturn sorted[middle]\n", "newString", "\tmiddle := len(sorted) / 2\n\treturn (sorted[middle-1] + sorted[middle]) / 2\n")}},
			want:  []string{"mid := len(sorted) / 2"},
		},
		{
			say: "I misremembered. The message shows what is really there, so once more; an absolute name does as well.",
			calls: []request{{"edit", input("filePath", filepath.Join(dir, "stats.go"), "oldString", "\treturn sorted[mid]\n",
				"newString", "\tif len(sorted)%2 == 0 {\n\t\treturn (sorted[mid-1] + sorted[middle]) / 2\n\t}\n\treturn sorted[mid]\n")}},
			want: []string{"sorted[mid-1]"},
		},
		check,
		{
			say:   "One name is still from memory.",
			calls: []request{{"edit", input("filePath", "stats.go", "oldString", "sorted[middle]", "newString", "sorted[mid]")}},
			want:  []string{"sorted[mid-1] + sorted[mid]"},
		},
		{
			say: "Test again, remove the golden files that look unused, publish, and tell the user.",
			calls: []request{
				{"bash", `{"command":"go test ./...","description":"Run the tests"}`},
				{"bash", `{"command":"rm -r golden","description":"Remove unused files"}`},
				{"bash", `{"command":"git push origin main"}`},
				{"checklist", `{"steps":["find the bug","fix it","run the tests"]}`},
			},
			want: []string{"ok", "still needed", "denied", "3 steps"},
		},
		{say: "Median is right for even counts now, and the tests pass. I left golden/ alone, as you said, and did not push."},
	}}
}

// next returns what the model says and calls, given the outcomes of its last turn.
func (m *model) next(last []tool.Outcome) (say string, calls []*tool.Call, err error) {
	if m.turns > 0 && !m.relaxed {
		for i, want := range m.script[m.turns-1].want {
			if got := last[i].Result.Text; !strings.Contains(got, want) {
				return "", nil, fmt.Errorf("call %s: the result lacks %q:\n%s", last[i].Call.ID, want, got)
			}
		}
	}
	t := m.script[m.turns]
	if m.relaxed && len(t.calls) == 0 {
		t.say = "That is the end of my script. What became of it was up to your answers."
	}
	m.turns++
	for _, r := range t.calls {
		m.calls++
		calls = append(calls, &tool.Call{ID: fmt.Sprintf("call-%d", m.calls), Tool: r.tool, Input: json.RawMessage(r.input)})
	}
	return t.say, calls, nil
}

// input makes arguments of pairs of name and value.
func input(pairs ...string) string {
	m := make(map[string]string)
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i]] = pairs[i+1]
	}
	b, err := json.Marshal(m)
	if err != nil {
		panic(err) // strings
	}
	return string(b)
}
