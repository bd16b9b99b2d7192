package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/agenttool/tool/tooltest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// line is an output line, of whatever kind.
type line struct {
	ID          string           `json:"id"`
	Tool        string           `json:"tool"`
	State       string           `json:"state"`
	Title       string           `json:"title"`
	Text        string           `json:"text"`
	Metadata    map[string]any   `json:"metadata"`
	Attachments []any            `json:"attachments"`
	IsError     bool             `json:"isError"`
	Error       string           `json:"error"`
	Asks        []map[string]any `json:"asks"`
	Updates     any              `json:"updates"`
	MS          any              `json:"ms"`

	Decision     string      `json:"decision"`
	Reasons      []string    `json:"reasons"`
	Commands     [][]*string `json:"commands"`
	ExternalDirs []string    `json:"externalDirs"`
	Writes       []string    `json:"writes"`

	keys map[string]json.RawMessage
}

// drive runs the program over input and returns its lines.
func drive(t *testing.T, args []string, input string) []line {
	t.Helper()
	return driveReader(t, args, strings.NewReader(input))
}

func driveReader(t *testing.T, args []string, input io.Reader) []line {
	t.Helper()
	var out, errOut bytes.Buffer
	code := run(t.Context(), args, input, &out, &errOut)
	require.Zero(t, code, errOut.String())
	return parseLines(t, out.String())
}

func parseLines(t *testing.T, out string) []line {
	t.Helper()
	var lines []line
	for text := range strings.Lines(out) {
		var l line
		require.NoError(t, json.Unmarshal([]byte(text), &l), text)
		require.NoError(t, json.Unmarshal([]byte(text), &l.keys))
		lines = append(lines, l)
	}
	return lines
}

func needShell(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("commands are tested on Unix")
	}
}

const files = "-- a.txt --\nalpha\n-- .env --\nS=1\n"

func TestRuns(t *testing.T) {
	dir := tooltest.Workspace(t, files)
	lines := drive(t, []string{"-root", dir}, `
{"id":"1","tool":"read","input":{"filePath":"a.txt"}}

{"id":"2","tool":"edit","input":{"filePath":"a.txt","oldString":"alpha","newString":"<b>"}}
{"id":3,"tool":"read","input":{"filePath":"nope"}}`)
	require.Len(t, lines, 3)
	for _, l := range lines {
		for _, k := range []string{"id", "tool", "state", "title", "text", "metadata", "attachments", "isError", "error", "asks", "updates", "ms"} {
			require.Contains(t, l.keys, k)
			assert.NotEqual(t, "null", string(l.keys[k]), k)
		}
		assert.Equal(t, float64(0), l.Updates)
		ms, ok := l.MS.(float64)
		require.True(t, ok)
		assert.Equal(t, float64(int(ms)), ms)
	}
	assert.Equal(t, "completed", lines[0].State)
	assert.Equal(t, "1\talpha", lines[0].Text)
	assert.Equal(t, "", lines[0].Error)
	assert.Equal(t, []map[string]any{{"permission": "read", "patterns": []any{"a.txt"}, "always": []any{"*"}, "decision": "allow"}}, lines[0].Asks)
	assert.Equal(t, "completed", lines[1].State)
	assert.Contains(t, string(lines[1].keys["text"]), "<b>", "nothing is escaped that need not be")
	assert.Equal(t, "3", lines[2].ID)
	assert.Equal(t, "error", lines[2].State)
	assert.True(t, lines[2].IsError)
	assert.Contains(t, lines[2].Error, "file not found: nope")
	assert.Equal(t, "[]", string(lines[2].keys["asks"]))
}

func TestBadLines(t *testing.T) {
	dir := tooltest.Workspace(t, files)
	lines := drive(t, []string{"-root", dir}, `{"id":"a" "tool"
not json
{"id":"b","tool":"nope","input":{}}
{"id":"c"}
[1]
{"id":"d","tool":"read","input":"x"}
{"id":"e","tool":"read","input":{"filePath":"a.txt"},"rules":{"read":"maybe"}}
{"id":"f","tool":"read"}
{"id":"g","tool":7}
{"parallel":[{"id":"h","parallel":[]},5]}
{"parallel":[]}
{"id":"z","tool":"read","input":{"filePath":"a.txt"}}
`)
	var ids []string
	for _, l := range lines {
		ids = append(ids, l.ID)
		if l.ID != "z" {
			assert.Equal(t, "error", l.State, l.ID)
			assert.NotEmpty(t, l.Error, l.ID)
			assert.True(t, l.IsError)
		}
	}
	assert.Equal(t, []string{"a", "", "b", "c", "", "d", "e", "f", "g", "h", "", "z"}, ids)
	assert.Equal(t, "completed", lines[len(lines)-1].State)
	assert.Contains(t, lines[2].Error, `There is no tool "nope"`)
}

// TestLongLines: 64 MiB are taken, one byte more is an error line.
func TestLongLines(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	dir := tooltest.Workspace(t, files)
	call := func(id string, size int) io.Reader {
		head, tail := `{"id":"`+id+`","tool":"read","input":{"filePath":"a.txt"},"pad":"`, "\"}"
		return io.MultiReader(strings.NewReader(head), &filler{size - len(head) - len(tail)}, strings.NewReader(tail+"\n"))
	}
	lines := driveReader(t, []string{"-root", dir}, io.MultiReader(
		call("fits", maxLine), call("over", maxLine+1), call("far", 2*maxLine), call("after", 100)))
	require.Len(t, lines, 4)
	for i, want := range []struct{ id, state string }{{"fits", "completed"}, {"over", "error"}, {"far", "error"}, {"after", "completed"}} {
		assert.Equal(t, want.id, lines[i].ID)
		assert.Equal(t, want.state, lines[i].State, want.id)
	}
	assert.Contains(t, lines[1].Error, "longer than 67108864 bytes")
}

// filler reads as n letters.
type filler struct{ n int }

func (f *filler) Read(p []byte) (int, error) {
	if f.n == 0 {
		return 0, io.EOF
	}
	n := min(len(p), f.n)
	for i := range n {
		p[i] = 'x'
	}
	f.n -= n
	return n, nil
}

func TestLineReader(t *testing.T) {
	r := newLineReader(strings.NewReader("ab\n\nabcd\nabcde\nx\r\nlast"), 4)
	for _, want := range []struct {
		line string
		err  error
	}{{"ab", nil}, {"", nil}, {"abcd", nil}, {"abcde", errTooLong}, {"x\r", nil}, {"last", nil}, {"", io.EOF}} {
		got, err := r.next()
		assert.Equal(t, want.line, string(got))
		assert.Equal(t, want.err, err)
	}
	r = newLineReader(strings.NewReader("abcdef"), 4)
	_, err := r.next()
	assert.Equal(t, errTooLong, err, "also without a newline")
	_, err = r.next()
	assert.Equal(t, io.EOF, err)
}

// TestParallel: members run at once, and are answered in order when all are done.
func TestParallel(t *testing.T) {
	needShell(t)
	dir := tooltest.Workspace(t, files)
	// Each waits for the file that the other makes, so that one after the other would never end well.
	wait := `touch %s; for i in $(seq 100); do [ -e %s ] && break; sleep 0.1; done; [ -e %s ]; echo %s $?`
	cmd := func(mine, other string) string {
		b, _ := json.Marshal(fmt.Sprintf(wait, mine, other, other, mine))
		return string(b)
	}
	lines := drive(t, []string{"-root", dir}, `{"parallel":[{"id":"1","tool":"bash","input":{"command":`+cmd("x", "y")+`}},{"id":"2","tool":"bash","input":{"command":`+cmd("y", "x")+`}},{"id":"3","tool":"read","input":{"filePath":"a.txt"}}]}
{"id":"4","tool":"read","input":{"filePath":"x"}}`)
	require.Len(t, lines, 4)
	assert.Contains(t, lines[0].Text, "x 0")
	assert.Contains(t, lines[1].Text, "y 0")
	for i, l := range lines {
		assert.Equal(t, fmt.Sprint(i+1), l.ID)
		assert.Equal(t, "completed", l.State, l.Error)
	}

	var members []string
	for i := range 40 {
		members = append(members, fmt.Sprintf(`{"id":"e%d","tool":"edit","input":{"filePath":"a.txt","oldString":"alpha\n","newString":"line %d\nalpha\n"}}`, i, i))
	}
	for i, l := range drive(t, []string{"-root", dir}, `{"parallel":[`+strings.Join(members, ",")+`]}`) {
		assert.Equal(t, fmt.Sprintf("e%d", i), l.ID)
		assert.Equal(t, "completed", l.State, l.Error)
	}
	text, err := os.ReadFile(filepath.Join(dir, "a.txt"))
	require.NoError(t, err)
	assert.Equal(t, 41, strings.Count(string(text), "\n"))
}

func TestCancel(t *testing.T) {
	needShell(t)
	dir := tooltest.Workspace(t, files)
	// On a busy machine the command may not have come as far as to print anything when it is cancelled: then once more, later.
	for after := 1; ; after *= 6 {
		lines := drive(t, []string{"-root", dir}, fmt.Sprintf(`{"parallel":[{"id":"1","tool":"bash","input":{"command":"echo start; sleep 600"},"cancelAfterMs":%d},{"id":"2","tool":"bash","input":{"command":"sleep 2; echo done"}}]}
{"id":"3","tool":"read","input":{"filePath":"a.txt"},"cancelAfterMs":300000}`, after*1000))
		require.Len(t, lines, 3)
		assert.Equal(t, "error", lines[0].State)
		assert.Contains(t, lines[0].Error, fmt.Sprintf("cancelled by the caller after %ds", after))
		assert.Equal(t, true, lines[0].Metadata["aborted"])
		assert.Less(t, lines[0].MS.(float64), float64(after*1000+60_000))
		assert.Equal(t, "completed", lines[1].State, "the others go on")
		assert.Equal(t, "completed", lines[2].State)
		if after < 30 && !strings.Contains(lines[0].Text, "start\n") {
			continue
		}
		assert.Contains(t, lines[0].Text, "start\n", "what there was is kept")
		return
	}
}

func TestRules(t *testing.T) {
	dir := tooltest.Workspace(t, files)
	outside := tooltest.Workspace(t, "-- o.txt --\nO\n")
	rules := filepath.Join(t.TempDir(), "rules.json")
	require.NoError(t, os.WriteFile(rules, []byte(`{"*":"allow","external_directory":"ask","read":{"*":"allow","a.*":"deny"}}`), 0o666))
	o, _ := json.Marshal(filepath.Join(outside, "o.txt"))
	input := `{"id":"denied","tool":"read","input":{"filePath":"a.txt"}}
{"id":"later wins","tool":"read","input":{"filePath":"a.txt"},"rules":{"read":{"a.*":"deny","*":"allow"}}}
{"id":"order","tool":"read","input":{"filePath":"a.txt"},"rules":{"read":{"*":"allow","a.*":"deny"}}}
{"id":"asked","tool":"read","input":{"filePath":"a.txt"},"rules":{"*":"ask"}}
{"id":"outside","tool":"read","input":{"filePath":` + string(o) + `}}
{"id":"secret","tool":"read","input":{"filePath":".env"}}
{"id":"secret by rule","tool":"read","input":{"filePath":".env"},"rules":{"*":"allow","read":{".env":"allow"}}}
{"id":"all denied","tool":"read","input":{"filePath":"a.txt"},"rules":{"*":"allow","read":"deny"}}`
	for _, ask := range []string{"deny", "allow"} {
		lines := drive(t, []string{"-root", dir, "-rules", rules, "-ask", ask}, input)
		states := map[string]string{}
		for _, l := range lines {
			states[l.ID] = l.State
		}
		asked := map[string]string{"allow": "completed", "deny": "error"}[ask]
		assert.Equal(t, map[string]string{
			"denied": "error", "later wins": "completed", "order": "error", "asked": asked,
			"outside": asked, "secret": asked, "secret by rule": "completed", "all denied": "error",
		}, states, "-ask %s", ask)
		out := lines[4]
		pattern := filepath.ToSlash(outside) + "/*"
		first := map[string]any{"permission": "external_directory", "patterns": []any{pattern}, "always": []any{pattern}, "decision": ask}
		assert.Equal(t, first, out.Asks[0])
		if ask == "allow" {
			require.Len(t, out.Asks, 2)
			assert.Equal(t, "allow", out.Asks[1]["decision"], "also what rules settled is listed")
		} else {
			assert.Len(t, out.Asks, 1)
		}
		assert.Equal(t, "deny", lines[7].Asks[0]["decision"])
		assert.Contains(t, lines[7].Error, "Permission denied")
	}
}

func TestDoomLoop(t *testing.T) {
	dir := tooltest.Workspace(t, files)
	same := func(rules string) string {
		return strings.Repeat(`{"id":"1","tool":"read","input":{"filePath":"a.txt"}`+rules+"}\n", 4)
	}
	for _, l := range drive(t, []string{"-root", dir}, same("")) {
		assert.Equal(t, "completed", l.State, "off unless the rules name it")
	}
	lines := drive(t, []string{"-root", dir}, same(`,"rules":{"*":"allow","doom_loop":"ask"}`))
	require.Len(t, lines, 4)
	assert.Equal(t, "completed", lines[1].State)
	assert.Equal(t, "error", lines[2].State)
	assert.Equal(t, "doom_loop", lines[2].Asks[0]["permission"])
	assert.Equal(t, "deny", lines[2].Asks[0]["decision"])
}

func TestExplain(t *testing.T) {
	dir := tooltest.Workspace(t, files)
	lines := drive(t, []string{"-root", dir, "-ask", "allow"}, `
{"id":"1","tool":"edit","input":{"filePath":"a.txt","oldString":"alpha","newString":"beta"},"explain":true}
{"id":"2","tool":"edit","input":{"filePath":"a.txt","oldString":"nope","newString":"beta"},"explain":true}
{"id":"3","tool":"read","input":{},"explain":true}
{"id":"4","tool":"nope","input":{},"explain":true}
{"id":"5","tool":"read","input":{"filePath":".env"},"explain":true}
{"id":"6","tool":"write","input":{"filePath":"d/new","content":"x"},"explain":true,"rules":{"*":"allow","edit":"deny"}}`)
	require.Len(t, lines, 6)
	assert.Equal(t, "allow", lines[0].Decision)
	assert.NotContains(t, lines[0].keys, "state")
	assert.NotContains(t, lines[0].keys, "commands")
	assert.Equal(t, "[]", string(lines[0].keys["reasons"]))
	for _, l := range lines[1:4] {
		assert.Equal(t, "error", l.State)
		assert.NotEmpty(t, l.Error)
		assert.Len(t, l.keys, 4)
	}
	assert.Equal(t, "ask", lines[4].Decision, "-ask plays no part")
	assert.Equal(t, "ask", lines[4].Asks[0]["decision"])
	assert.NotEmpty(t, lines[4].Reasons)
	assert.Equal(t, "deny", lines[5].Decision)
	list, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Len(t, list, 2, "nothing was changed")
}

func TestExplainBash(t *testing.T) {
	needShell(t)
	dir := tooltest.Workspace(t, files)
	lines := drive(t, []string{"-root", dir}, `
{"id":"1","tool":"bash","input":{"command":"touch made && git status"},"explain":true}
{"id":"2","tool":"bash","input":{"command":"cat /etc/hosts \"$X\" > out.txt"},"explain":true}
{"id":"3","tool":"bash","input":{"command":"cd ."},"explain":true}`)
	require.Len(t, lines, 3)
	assert.Equal(t, "allow", lines[0].Decision)
	assert.Equal(t, `[["touch","made"],["git","status"]]`, string(lines[0].keys["commands"]))
	assert.Equal(t, "[]", string(lines[0].keys["externalDirs"]))
	assert.Equal(t, []string{filepath.Join(dir, "made")}, lines[0].Writes)
	assert.Equal(t, "ask", lines[1].Decision)
	assert.Equal(t, `[["cat","/etc/hosts",null]]`, string(lines[1].keys["commands"]))
	assert.Equal(t, []string{filepath.Join(dir, "out.txt")}, lines[1].Writes)
	assert.NotEmpty(t, lines[1].ExternalDirs)
	assert.Equal(t, "allow", lines[2].Decision, "no asks: allowed")
	assert.Equal(t, "[]", string(lines[2].keys["asks"]))
	assert.NoFileExists(t, filepath.Join(dir, "made"))
	assert.NoFileExists(t, filepath.Join(dir, "out.txt"))
}

func TestSessions(t *testing.T) {
	dir := tooltest.Workspace(t, files)
	lines := drive(t, []string{"-root", dir}, `
{"id":"1","tool":"read","input":{"filePath":"a.txt"},"session":"one"}
{"id":"2","tool":"write","input":{"filePath":"a.txt","content":"x"}}
{"id":"3","tool":"write","input":{"filePath":"a.txt","content":"x"},"session":"one","agent":"build"}`)
	assert.Equal(t, "error", lines[1].State)
	assert.Equal(t, "completed", lines[2].State)
}

func TestSpill(t *testing.T) {
	needShell(t)
	dir := tooltest.Workspace(t, files)
	spill := filepath.Join(t.TempDir(), "spill")
	lines := drive(t, []string{"-root", dir, "-spill", spill}, `{"id":"1","tool":"bash","input":{"command":"seq 1 30000"}}`)
	path, _ := lines[0].Metadata["outputPath"].(string)
	require.NotEmpty(t, path)
	assert.Equal(t, true, lines[0].Metadata["truncated"])
	updates, ok := lines[0].Updates.(float64)
	require.True(t, ok)
	assert.GreaterOrEqual(t, updates, float64(1))
	p, _ := json.Marshal(path)
	lines = drive(t, []string{"-root", dir, "-spill", spill}, `{"id":"2","tool":"read","input":{"filePath":`+string(p)+`,"offset":29999}}`)
	assert.Equal(t, "29999\t29999\n30000\t30000\n(end of file, 30000 lines)", lines[0].Text)
	assert.Empty(t, lines[0].Asks)
}

func TestSpecNeedsNoRoot(t *testing.T) {
	var out, errOut bytes.Buffer
	require.Zero(t, run(t.Context(), []string{"-spec"}, strings.NewReader(""), &out, &errOut), errOut.String())
	var got struct {
		Tools []struct {
			Name        string          `json:"name"`
			Description string          `json:"description"`
			Input       json.RawMessage `json:"input"`
		} `json:"tools"`
	}
	require.NoError(t, json.Unmarshal(out.Bytes(), &got))
	names := map[string]bool{}
	for _, s := range got.Tools {
		names[s.Name] = true
		assert.NotEmpty(t, s.Description)
		assert.True(t, json.Valid(s.Input))
	}
	for _, n := range []string{"read", "write", "edit", "glob", "grep"} {
		assert.True(t, names[n], n)
	}
}

func TestUsage(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		args []string
		code int
	}{
		{nil, 2}, {[]string{"-root", dir, "-ask", "maybe"}, 2}, {[]string{"-root", dir, "extra"}, 2}, {[]string{"-nope"}, 2},
		{[]string{"-root", filepath.Join(dir, "nope")}, 1}, {[]string{"-root", dir, "-rules", filepath.Join(dir, "nope")}, 1}, {[]string{"-h"}, 0},
		{[]string{"-root", dir}, 0},
	} {
		var out, errOut bytes.Buffer
		assert.Equal(t, c.code, run(t.Context(), c.args, strings.NewReader(""), &out, &errOut), "%q: %s", c.args, errOut.String())
		assert.Empty(t, out.String(), "standard output is for answers")
	}
}

// TestBinary drives the built program through pipes: each answer is there before
// the next call is sent, and the end of the input ends it.
func TestBinary(t *testing.T) {
	needShell(t)
	goTool, err := exec.LookPath("go")
	if err != nil {
		t.Skip("no go command")
	}
	bin := filepath.Join(t.TempDir(), "toolrun")
	out, err := exec.Command(goTool, "build", "-o", bin, ".").CombinedOutput()
	require.NoError(t, err, "%s", out)
	dir := tooltest.Workspace(t, files)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, bin, "-root", dir)
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	outPipe, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	dec := json.NewDecoder(outPipe)
	for i := range 3 {
		_, err := fmt.Fprintf(in, `{"id":"%d","tool":"bash","input":{"command":"echo %d; sleep 60 &"}}`+"\n", i, i)
		require.NoError(t, err)
		var l line
		require.NoError(t, dec.Decode(&l))
		assert.Equal(t, fmt.Sprint(i), l.ID)
		assert.Contains(t, l.Text, fmt.Sprintf("%d\n[exit 0", i))
	}
	require.NoError(t, in.Close())
	rest, err := io.ReadAll(dec.Buffered())
	require.NoError(t, err)
	assert.Empty(t, strings.TrimSpace(string(rest)))
	require.NoError(t, cmd.Wait())
}
