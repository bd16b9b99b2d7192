package builtin

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/agenttool/tool"
	"github.com/agenttool/tool/permission"
	"github.com/agenttool/tool/tooltest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// gateMode is plan mode by a gate: all that a host has to write.
type gateMode struct{ gate *permission.Gate }

func (m gateMode) Planning(id string) bool { return m.gate.Plan(id) != nil }

func (m gateMode) Enter(_ context.Context, call *tool.Call) error {
	m.gate.SetPlan(call.SessionID, &permission.Plan{Files: []string{"PLAN.md"}, Quiet: true})
	return nil
}

func (m gateMode) Exit(_ context.Context, call *tool.Call, _ string) error {
	m.gate.SetPlan(call.SessionID, nil)
	return nil
}

func planBench(t *testing.T, rules string) (*bench, *permission.Gate) {
	rs, err := permission.ParseConfig([]byte(rules))
	require.NoError(t, err)
	gate := &permission.Gate{Rules: rs}
	b := newBench(t, "-- a.txt --\nalpha\n-- src/x.go --\npackage x\n", Config{PlanMode: gateMode{gate}})
	b.approver = gate
	return b, gate
}

func TestPlanMode(t *testing.T) {
	b, gate := planBench(t, `{"*":"allow","plan_exit":"ask"}`)
	assert.Contains(t, b.fails("plan_exit", in{"plan": "x"}), "not in plan mode")
	assert.Contains(t, b.ok("plan_enter", in{"reason": "large"}), "in plan mode")
	assert.Contains(t, b.ok("plan_enter", in{}), "already")
	assert.Contains(t, b.fails("write", in{"filePath": "new", "content": "x"}), "plan mode")
	b.ok("write", in{"filePath": "PLAN.md", "content": "# The plan\n"})
	b.ok("read", in{"filePath": "a.txt"})

	assert.Contains(t, b.fails("plan_exit", in{}), "no plan")
	assert.Contains(t, b.fails("plan_exit", in{"plan": "x", "filePath": "PLAN.md"}), "not both")
	assert.Contains(t, b.fails("plan_exit", in{"filePath": "nope.md"}), "does not exist")
	assert.Contains(t, b.fails("plan_exit", in{"filePath": "/etc/passwd"}), "not a file of the project")
	assert.Contains(t, b.fails("plan_exit", in{"plan": "x"}), "Nobody can be asked", "without a user the plan is not approved")

	var shown permission.Prompt
	answer := permission.Answer{Reply: permission.Reject, Message: "mention the tests"}
	gate.Prompt = func(_ context.Context, p permission.Prompt) (permission.Answer, error) {
		shown = p
		return answer, nil
	}
	assert.Contains(t, b.fails("plan_exit", in{"filePath": "PLAN.md"}), "mention the tests")
	assert.Equal(t, "# The plan\n", shown.Request.Metadata["plan"])
	assert.Contains(t, b.fails("write", in{"filePath": "new", "content": "x"}), "plan mode")
	answer = permission.Answer{Reply: permission.Once}
	res, err := b.run("plan_exit", in{"plan": "# Better\n"})
	require.NoError(t, err)
	assert.Equal(t, "# Better\n", res.Metadata["plan"])
	b.ok("write", in{"filePath": "new", "content": "x"})

	_, ok := newBench(t, "", Config{}).ts.Tool("plan_enter")
	assert.False(t, ok, "without a host that can switch, they are not offered")
}

type failingMode struct{ gateMode }

func (failingMode) Enter(context.Context, *tool.Call) error { return errors.New("disk full") }

func TestPlanModeFails(t *testing.T) {
	b := newBench(t, "", Config{PlanMode: failingMode{gateMode{&permission.Gate{}}}})
	assert.Contains(t, b.fails("plan_enter", in{}), "disk full")
}

// TestPlanModeShell: in plan mode only commands run that provably change
// nothing, however they are spelled, and those run without a question.
func TestPlanModeShell(t *testing.T) {
	needShell(t)
	mutating := []string{
		"rm a.txt", "rm -rf src", `\rm a.txt`, "r'm' a.txt", "/bin/rm a.txt", "mv a.txt b", "cp a.txt b", "touch b", "mkdir b", "rmdir src", "ln -s a.txt b", "chmod +x a.txt",
		"echo x > a.txt", "echo x >> a.txt", "> a.txt", "cat a.txt | tee b", "sed -i s/a/b/ a.txt", "sed 's/a/b/w b' a.txt", "perl -pi -e s/a/b/ a.txt", "awk '{print > \"b\"}' a.txt",
		"bash -c 'rm a.txt'", `bash -c "echo x > b"`, "sh -c 'touch b'", "eval 'rm a.txt'", "python3 -c 'open(\"b\",\"w\")'", "node -e 1", "find . -delete", "find . -exec rm {} +",
		"find . -name x -fprint b", "xargs rm < a.txt", "ls | xargs touch", "env rm a.txt", "timeout 5 rm a.txt", "nohup rm a.txt", "sudo ls", "git add .", "git commit -m x", "git push",
		"git checkout -- a.txt", "git reset --hard", "git clean -fd", "git stash", "git branch new", "git branch -D old", "git tag v1", "git config user.name x", "git remote add o u",
		"git diff --output=b", "git log --output=b", "go build ./...", "go generate", "go mod tidy", "npm install", "make", "sort -o a.txt a.txt", "tar xf x.tar", "dd if=a.txt of=b",
		"truncate -s 0 a.txt", "curl -o b http://x", "wget http://x", "echo $(rm a.txt)", "cat <(touch b)", "true && rm a.txt", "ls; rm a.txt", "if true; then rm a.txt; fi", "(rm a.txt)",
		"rm a.txt &", "f() { rm a.txt; }; f", "trap 'rm a.txt' EXIT", "export PATH=.; ls", "PAGER=x git log", "git -c core.pager=x log", "$X", "kill 4194399", "tee b", "patch -p1", "./x", "source a.txt",
	}
	reading := []string{
		"ls", "ls -la", "ls src", "cat a.txt", "head -5 a.txt", "tail -n 3 a.txt", "wc -l a.txt", "grep alpha a.txt", "grep -rn package src", "find . -name '*.go'", "find src -type f", "sort a.txt",
		"uniq a.txt", "cut -c1-3 a.txt", "tr a b < a.txt", "echo hi", "printf '%s\\n' hi", "pwd", "date", "whoami", "id", "uname -a", "true", "test -f a.txt", "[ -d src ]", "stat a.txt", "file a.txt",
		"du -sh src", "df", "basename a/b", "dirname a/b", "git status", "git log --oneline -5", "git diff", "git diff HEAD -- a.txt", "git show HEAD", "git branch", "git branch -a", "git remote -v", "git blame a.txt", "git rev-parse HEAD", "git ls-files",
		"ls | wc -l", "cat a.txt | grep a | sort | uniq -c", "cd src && ls", "ls && cat a.txt", "ls; pwd", "cat a.txt || true", "ls 2>/dev/null", "ls 2>&1", "go version", "go env GOPATH", "go list ./...", "sed -n 1,3p a.txt",
		"diff a.txt src/x.go", "cmp a.txt src/x.go", "md5sum a.txt", "sha256sum a.txt", "nl a.txt", "tac a.txt", "rg alpha", "seq 3", "which ls", "for f in a.txt; do cat \"$f\"; done",
	}
	b, gate := planBench(t, `{"*":"ask"}`)
	gate.SetPlan(b.call("bash", in{}).SessionID, &permission.Plan{Quiet: true})
	decide := func(command string) error {
		for _, r := range b.plan(command).Requests {
			call := b.call("bash", in{"command": command})
			if err := call.Ask(t.Context(), r); err != nil {
				return err
			}
		}
		return nil
	}
	for _, command := range mutating {
		require.Error(t, decide(command), command)
	}
	for _, command := range reading {
		assert.NoError(t, decide(command), command)
	}
	assert.GreaterOrEqual(t, min(len(mutating), len(reading)), 60)
}

func ExamplePlanMode() {
	gate := &permission.Gate{Rules: permission.Ruleset{{Permission: "*", Pattern: "*", Action: permission.Allow}}}
	ts, err := New(Config{Root: ".", PlanMode: gateMode{gate}})
	if err != nil {
		panic(err)
	}
	defer ts.Close()
	set, err := tool.NewSet(context.Background(), nil, ts.Tools()...)
	if err != nil {
		panic(err)
	}
	ex := &tool.Executor{Approver: gate}
	for _, c := range []*tool.Call{
		tooltest.NewCall("plan_enter", `{}`),
		tooltest.NewCall("write", `{"filePath":"x","content":"x"}`),
		tooltest.NewCall("plan_exit", `{"plan":"Write x."}`),
	} {
		o := ex.Do(context.Background(), set, c)
		fmt.Println(o.Result.Title, o.Result.IsError)
	}
	// Output:
	// Plan mode false
	// Write true
	// Plan approved false
}
