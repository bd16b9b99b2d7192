package builtin

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/agenttool/tool"
	"github.com/agenttool/tool/permission"
	"github.com/agenttool/tool/tooltest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"
)

// TestBashRules: what rules mean for lines of shell, each under the rules that
// its section begins with.
func TestBashRules(t *testing.T) {
	needShell(t)
	b := newBench(t, "-- a.txt --\nhi\n-- .env --\nS=1\n-- .env.example --\nS=\n-- src/main.go --\nx\n-- .git/hooks/x --\n\n-- secret/a.pem --\nx\n-- dist/a --\n", Config{})
	require.NoError(t, os.Symlink("/etc", b.path("link")))
	ar, err := txtar.ParseFile(filepath.Join("testdata", "bash_rules.txtar"))
	require.NoError(t, err)
	n := 0
	for _, f := range ar.Files {
		head, body, ok := strings.Cut(string(f.Data), "\n")
		require.True(t, ok)
		rules, err := permission.ParseConfig([]byte(head))
		require.NoError(t, err)
		for line := range strings.Lines(body) {
			want, text, ok := strings.Cut(strings.TrimSpace(line), "\t")
			if !ok {
				continue
			}
			command, err := strconv.Unquote(text)
			require.NoError(t, err, text)
			n++
			p := b.plan(command)
			e := permission.Explain(p.Requests, rules)
			assert.Equal(t, permission.Action(want), e.Decision, "%s under %s: %v", text, f.Name, e.Reasons)
			assert.Equal(t, want == "allow", len(e.Reasons) == 0, "%s under %s: %v", text, f.Name, e.Reasons)
			if f.Name == "files" {
				continue // rules for files that a command names are the judge's alone
			}
			for _, r := range p.Requests {
				r.Judge = nil // as on its way to another process
			}
			e = permission.Explain(p.Requests, rules)
			assert.False(t, want != "allow" && e.Decision == permission.Allow, "%s under %s without its judge", text, f.Name)
		}
	}
	assert.Greater(t, n, 370)
}

func (b *bench) plan(command string) *Plan {
	b.t.Helper()
	p, err := b.ts.Plan(b.t.Context(), tooltest.NewCall("bash", in{"command": command}))
	require.NoError(b.t, err)
	return p
}

// request returns the question of a permission.
func (p *Plan) request(t *testing.T, name string) *tool.Request {
	t.Helper()
	for _, r := range p.Requests {
		if r.Permission == name {
			return r
		}
	}
	require.Fail(t, "no question", name)
	return nil
}

func TestBashPlan(t *testing.T) {
	needShell(t)
	out := tooltest.Workspace(t, "-- o --\n")
	b := newBench(t, "-- a.txt --\nhi\n", Config{Env: []string{"HOME=" + out}})
	show := func(list []*string) string {
		var words []string
		for _, w := range list {
			if w == nil {
				words = append(words, "?")
			} else {
				words = append(words, *w)
			}
		}
		return strings.Join(words, " ")
	}
	for _, c := range []struct{ command, commands, external, writes string }{
		{"git status", "git status", "", ""},
		{"touch made && git status", "touch made|git status", "", "made"},
		{"timeout 5 env A=1 make x", "timeout 5 env A=1 make x|env A=1 make x|make x", "", ""},
		{"bash -c 'ls -l; pwd'", "bash -c ls -l; pwd|ls -l|pwd", "", ""},
		{`cat "$X" > out.txt`, "cat ?", "", "out.txt"},
		{"ls *", "ls ?", "", ""},
		{"cat ~/o", "cat " + out + "/o", out, ""},
		{"cp a.txt " + out + "/", "cp a.txt " + out + "/", out, filepath.Join(out, "a.txt")},
		{"A=1", "", "", ""},
		{"echo a | tee b c", "echo a|tee b c", "", "b|c"},
		{"go test 2>&1 >/dev/null", "go test", "", ""},
	} {
		p := b.plan(c.command)
		var commands, writes []string
		for _, argv := range p.Commands {
			commands = append(commands, show(argv))
		}
		for _, w := range p.Writes {
			if rel, err := filepath.Rel(b.dir, w); err == nil && filepath.IsLocal(rel) {
				w = rel
			}
			writes = append(writes, w)
		}
		assert.Equal(t, c.commands, strings.Join(commands, "|"), c.command)
		assert.Equal(t, c.external, strings.Join(p.ExternalDirs, "|"), c.command)
		assert.Equal(t, c.writes, strings.Join(writes, "|"), c.command)
	}
	assert.NotEmpty(t, b.plan(`echo $((x))`).Reasons)
	assert.Empty(t, b.plan("rm -rf x").Reasons)
}

// TestBashPrompt: what a person is shown of a command.
func TestBashPrompt(t *testing.T) {
	needShell(t)
	b := newBench(t, "-- a.txt --\nhi\n", Config{})
	p, err := b.ts.Plan(t.Context(), tooltest.NewCall("bash", in{"command": "# \u202etidy up\nrm a.txt && go vet ./... > log", "description": "Harmless"}))
	require.NoError(t, err)
	r := p.request(t, "bash")
	assert.NotContains(t, r.Title, "Harmless")
	assert.NotContains(t, r.Title, "\u202e")
	assert.Equal(t, "Harmless", r.Metadata["description"])
	assert.Equal(t, "# \u202etidy up\nrm a.txt && go vet ./... > log", r.Metadata["command"])
	assert.True(t, r.Opaque)
	assert.Equal(t, []string{}, r.Always)

	r = b.plan("rm a.txt && go vet ./... > log").request(t, "bash")
	assert.Equal(t, "rm a.txt && go vet ./... > log", r.Title)
	assert.Equal(t, []string{"rm a.txt", "go vet ./..."}, r.Patterns)
	assert.Equal(t, []string{"rm a.txt", "go vet *"}, r.Always, "what destroys is granted as it stands")
	assert.Equal(t, []string{b.path("a.txt"), b.path("log")}, r.Metadata["writes"])
	assert.NotContains(t, r.Metadata, "readOnly")
	assert.Equal(t, true, b.plan("git log -3 | head && ls").request(t, "bash").Metadata["readOnly"])
	assert.NotContains(t, b.plan("git log > x").request(t, "bash").Metadata, "readOnly")
}

// TestBashWithoutJudge: a request that lost its judge on the way to another
// process is allowed no more than it was.
func TestBashWithoutJudge(t *testing.T) {
	needShell(t)
	b := newBench(t, "-- a.txt --\nhi\n", Config{})
	rules, err := permission.ParseConfig([]byte(`{"bash":{"*":"ask","git *":"allow","find *":"allow","sed *":"allow","echo *":"allow","git push *":"deny"},"edit":"allow","external_directory":"ask"}`))
	require.NoError(t, err)
	for command, want := range map[string]string{
		"git status": "allow", "echo hi > out": "allow", "git log | cat": "ask", "git -c core.pager=x log": "ask", "find . -exec git status {} +": "allow", "find . -exec sh x {} +": "ask", "sed -i s/a/b/ a.txt": "ask",
		"GIT_PAGER=x git log": "ask", "echo $((x))": "ask", "ls": "ask", "git push": "deny", "env git push": "deny", "echo $(git push)": "deny",
	} {
		p := b.plan(command)
		with := permission.Explain(p.Requests, rules).Decision
		for _, r := range p.Requests {
			r.Judge = nil
		}
		without := permission.Explain(p.Requests, rules).Decision
		assert.Equal(t, permission.Action(want), without, command)
		assert.False(t, without == permission.Allow && with != permission.Allow, command)
	}
}

// TestBashAlways: a grant covers what it says and nothing that hides behind it.
func TestBashAlways(t *testing.T) {
	needShell(t)
	b := newBench(t, "-- a.txt --\nhi\n", Config{})
	rules, err := permission.ParseConfig([]byte(`{"bash":"ask","edit":"allow"}`))
	require.NoError(t, err)
	reply := permission.Always
	prompts := 0
	gate := &permission.Gate{Rules: rules, Prompt: func(context.Context, permission.Prompt) (permission.Answer, error) {
		prompts++
		return permission.Answer{Reply: reply}, nil
	}}
	b.approver = gate
	b.ok("bash", in{"command": "echo one"})
	reply = permission.Reject
	b.ok("bash", in{"command": "echo two && echo three > out"})
	assert.Equal(t, 1, prompts)
	for _, command := range []string{"echo $(touch x)", "PATH=. echo x", "eval 'echo x'", "./echo x"} {
		b.fails("bash", in{"command": command})
	}
	assert.NoFileExists(t, b.path("x"))
}

// TestBashAskedAgain: an answer holds for the files that the words led to.
func TestBashAskedAgain(t *testing.T) {
	needShell(t)
	b := newBench(t, "-- a.txt --\nhi\n-- other --\nx\n", Config{})
	out := tooltest.Workspace(t, "-- o --\nsecret\n")
	require.NoError(t, os.Symlink("a.txt", b.path("link")))
	n := 0
	b.approver = tool.ApproverFunc(func(context.Context, *tool.Call, *tool.Request) error {
		if n++; n == 1 {
			require.NoError(t, os.Remove(b.path("link")))
			require.NoError(t, os.Symlink(filepath.Join(out, "o"), b.path("link")))
		}
		return nil
	})
	b.ok("bash", in{"command": "cat link"})
	assert.Equal(t, []string{"bash cat link", "external_directory " + out + "/*", "bash cat link"}, b.asks())
}

// TestBashHostNames: secrets and protected files of the host's count, also behind links.
func TestBashHostNames(t *testing.T) {
	needShell(t)
	b := newBench(t, "-- keys/k.pem --\nx\n-- rules.json --\n{}\n", Config{Secrets: []string{"*.pem"}, Protected: []string{"rules.json"}})
	require.NoError(t, os.Symlink("keys/k.pem", b.path("notes")))
	for _, command := range []string{"cat keys/k.pem", "cat notes", "cat keys/*.pem", "head -1 < keys/k.pem"} {
		assert.True(t, b.plan(command).request(t, "read").Protected, command)
	}
	for _, command := range []string{"echo x > rules.json", "rm rules.json", "cp keys/x rules.json"} {
		assert.True(t, b.plan(command).request(t, "edit").Protected, command)
	}
	for _, r := range b.plan("cat rules.json").Requests {
		assert.False(t, r.Protected)
	}
}

// TestBashReadRules: files named as arguments follow the rules for files, with
// the command's question.
func TestBashReadRules(t *testing.T) {
	needShell(t)
	b := newBench(t, "-- a.txt --\nhi\n-- private/x --\nx\n", Config{})
	for _, c := range []struct{ rules, command, want string }{
		{`{"bash":"allow"}`, "cat private/x", "allow"},
		{`{"*":"allow","read":{"*":"allow","private/*":"deny"}}`, "cat private/x", "deny"},
		{`{"*":"allow","read":{"*":"allow","private/*":"ask"}}`, "cat a.txt private/x", "ask"},
		{`{"*":"allow","read":{"*":"allow","private/*":"ask"}}`, "cat a.txt", "allow"},
		{`{"*":"allow","edit":"deny"}`, "rm a.txt", "deny"},
		{`{"*":"allow","edit":"deny"}`, "echo x > b", "deny"},
		{`{"*":"allow","edit":"deny"}`, "cat a.txt", "allow"},
	} {
		rules, err := permission.ParseConfig([]byte(c.rules))
		require.NoError(t, err)
		p := b.plan(c.command)
		assert.Equal(t, permission.Action(c.want), permission.Explain(p.Requests, rules).Decision, "%s under %s", c.command, c.rules)
		assert.LessOrEqual(t, len(p.Requests), 2, "%v", fmt.Sprint(p.Requests))
	}
}
