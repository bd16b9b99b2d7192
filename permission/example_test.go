package permission_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/agenttool/tool"
	"github.com/agenttool/tool/permission"
)

// run stands for a tool that asks for leave to run a command.
func run(gate *permission.Gate, command, always string) error {
	call := (&tool.Call{Tool: "bash", SessionID: "ses_1"}).Bind(tool.Runtime{Approver: gate})
	return call.Ask(context.Background(), &tool.Request{
		Permission: "bash", Title: "Run " + command, Patterns: []string{command}, Always: []string{always},
	})
}

func ExampleMatch() {
	fmt.Println(permission.Match("git *", "git push"), permission.Match("git *", "git"), permission.Match("git *", "gitk"))
	fmt.Println(permission.Match("*.env", "config/.env"), permission.Match("src/?.go", "src/ä.go"))
	// Output:
	// true true false
	// true true
}

func ExampleEvaluate() {
	defaults := permission.Ruleset{{Permission: "*", Pattern: "*", Action: permission.Allow}}
	mine := permission.Ruleset{
		{Permission: "bash", Pattern: "*", Action: permission.Ask},
		{Permission: "bash", Pattern: "git *", Action: permission.Allow},
	}
	fmt.Println(permission.Evaluate("bash", "git log", defaults, mine).Action)
	fmt.Println(permission.Evaluate("bash", "make", defaults, mine).Action)
	fmt.Println(permission.Evaluate("read", "main.go", defaults, mine).Action)
	// Output:
	// allow
	// ask
	// allow
}

func ExampleParseConfig() {
	rules, err := permission.ParseConfig([]byte(`{
		"*": "allow",
		"bash": {"*": "ask", "git *": "allow", "git push *": "ask"},
		"edit": "ask"
	}`))
	if err != nil {
		panic(err)
	}
	for _, r := range rules {
		fmt.Println(r.Permission, r.Pattern, r.Action)
	}
	_, err = permission.ParseConfig([]byte(`{"bash": "alow"}`))
	fmt.Println(err)
	// Output:
	// * * allow
	// bash * ask
	// bash git * allow
	// bash git push * ask
	// edit * ask
	// permission configuration: line 1, column 10: unknown action "alow": it is allow, ask or deny
}

func ExampleParser() {
	rules, err := permission.Parser{Home: "/home/ada"}.Parse([]byte(`{"read": {"~/.ssh/*": "deny"}}`))
	fmt.Println(rules[0].Pattern, err)
	// Output: /home/ada/.ssh/* <nil>
}

func ExampleDisabled() {
	rules, _ := permission.ParseConfig([]byte(`{"*": "allow", "edit": "deny"}`))
	fmt.Println(permission.Disabled([]string{"read", "edit", "write", "apply_patch", "bash"}, rules))
	// Output: [edit write apply_patch]
}

func ExampleFilter() {
	ping := tool.Func(tool.Def{Name: "ping", Description: "Pings."}, func(context.Context, struct{}) (string, error) { return "pong", nil })
	write := tool.Func(tool.Def{Name: "write", Description: "Writes."}, func(context.Context, struct{}) (string, error) { return "", nil })
	var reg tool.Registry
	if err := reg.Add(ping, write); err != nil {
		panic(err)
	}
	rules, _ := permission.ParseConfig([]byte(`{"edit": "deny"}`))
	set, _ := reg.Resolve(context.Background(), nil, permission.Filter(rules))
	for spec := range set.Specs() {
		fmt.Println(spec.Name)
	}
	// Output: ping
}

func ExampleExplain() {
	rules, _ := permission.ParseConfig([]byte(`{"*": "allow", "bash": {"*": "ask", "rm *": "deny"}}`))
	e := permission.Explain([]*tool.Request{
		{Permission: "read", Patterns: []string{"go.mod"}},
		{Permission: "bash", Patterns: []string{"make", "rm -rf build"}},
	}, rules)
	fmt.Println(e.Decision)
	for _, reason := range e.Reasons {
		fmt.Println(reason)
	}
	// Output:
	// deny
	// bash "make" is asked by the rule bash "*"
	// bash "rm -rf build" is denied by the rule bash "rm *"
}

// A host that asks in place, as at a terminal, sets Prompt.
func ExampleGate_prompt() {
	rules, _ := permission.ParseConfig([]byte(`{"bash": {"*": "ask", "rm *": "deny"}}`))
	gate := &permission.Gate{
		Rules: rules,
		Prompt: func(_ context.Context, p permission.Prompt) (permission.Answer, error) {
			fmt.Println("?", p.Title.Display, "| always:", p.Always[0].Display)
			return permission.Answer{Reply: permission.Always}, nil
		},
	}
	fmt.Println(run(gate, "git status", "git status *"))
	fmt.Println(run(gate, "git status -s", "git status *"))
	fmt.Println(run(gate, "rm -rf /", "rm -rf /"))
	// Output:
	// ? Run git status | always: git status *
	// <nil>
	// <nil>
	// Permission denied: bash rm -rf /. Denied by the configuration: bash "rm -rf /" is denied by the rule bash "rm *". Do not repeat the same call; choose another way or ask the user.
}

// A host whose user interface is elsewhere subscribes, and hands replies in.
func ExampleGate_Reply() {
	gate := &permission.Gate{}
	replies := map[string]permission.Answer{
		"make":     {Reply: permission.Once},
		"make all": {Reply: permission.Reject, Message: "build only what you changed"},
	}
	cancel := gate.Subscribe(func(e permission.Event) {
		if e.Type == permission.EventAsked {
			command := e.Prompt.Patterns[0].Raw
			if err := gate.Reply(context.Background(), e.RequestID, replies[command]); err != nil {
				fmt.Println(err)
			}
		}
	})
	defer cancel()
	fmt.Println(run(gate, "make", "make *"))
	err := run(gate, "make all", "make *")
	var denied *tool.DeniedError
	fmt.Println(errors.As(err, &denied), denied.EndTurn, denied.Reason)
	fmt.Println(gate.Reply(context.Background(), "perm_unknown", permission.Answer{Reply: permission.Once}))
	// Output:
	// <nil>
	// true false The user rejected this and said: build only what you changed
	// no such permission request is pending: perm_unknown
}

func ExampleGate_Approvals() {
	gate := &permission.Gate{Prompt: func(context.Context, permission.Prompt) (permission.Answer, error) {
		return permission.Answer{Reply: permission.Always}, nil
	}}
	ctx := context.Background()
	_ = run(gate, "go test ./...", "go test *")
	list, _ := gate.Approvals(ctx)
	fmt.Println(list[0].Scope, list[0].Permission, list[0].Pattern, "from:", list[0].Origin)
	fmt.Println(gate.Revoke(ctx, list[0].ID))
	list, _ = gate.Approvals(ctx)
	fmt.Println(len(list))
	// Output:
	// session bash go test * from: Run go test ./...
	// true <nil>
	// 0
}

func ExampleFileStore() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "state", "approvals.json")

	always := func(context.Context, permission.Prompt) (permission.Answer, error) {
		fmt.Println("asked")
		return permission.Answer{Reply: permission.Always, Scope: permission.ScopeProject}, nil
	}
	for range 2 { // as two runs of a program
		gate := &permission.Gate{Store: &permission.FileStore{Path: path}, Project: "/home/ada/engine", Prompt: always}
		fmt.Println(run(gate, "make", "make *"))
	}
	// Output:
	// asked
	// <nil>
	// <nil>
}

func ExampleGate_SetPlan() {
	gate := &permission.Gate{
		Rules:  permission.Ruleset{{Permission: "*", Pattern: "*", Action: permission.Allow}},
		Parent: func(session string) string { return map[string]string{"ses_child": "ses_1"}[session] },
	}
	gate.SetPlan("ses_1", &permission.Plan{Files: []string{"plan.md"}})
	edit := func(session, path string) {
		call := (&tool.Call{SessionID: session}).Bind(tool.Runtime{Approver: gate})
		err := call.Ask(context.Background(), &tool.Request{Permission: "edit", Patterns: []string{path}})
		fmt.Println(session, path, err == nil)
	}
	edit("ses_1", "main.go")
	edit("ses_1", "plan.md")
	edit("ses_child", "main.go")
	gate.SetPlan("ses_1", nil)
	edit("ses_1", "main.go")
	// Output:
	// ses_1 main.go false
	// ses_1 plan.md true
	// ses_child main.go false
	// ses_1 main.go true
}

func ExamplePlanRules() {
	for _, path := range []string{"main.go", "plan.md"} {
		fmt.Println(path, permission.Evaluate("edit", path, permission.PlanRules("plan.md")).Action)
	}
	// Output:
	// main.go deny
	// plan.md allow
}

func ExampleGate_Snapshot() {
	gate := &permission.Gate{Prompt: func(context.Context, permission.Prompt) (permission.Answer, error) {
		return permission.Answer{Reply: permission.Always}, nil
	}}
	_ = run(gate, "make", "make *")
	saved, _ := json.Marshal(gate.Snapshot("ses_1"))

	var state permission.SessionState
	_ = json.Unmarshal(saved, &state)
	resumed := &permission.Gate{}
	fmt.Println(resumed.Restore("ses_1", state))
	fmt.Println(run(resumed, "make all", "make *"))
	// Output:
	// <nil>
	// <nil>
}

func ExampleGate_intercept() {
	gate := &permission.Gate{
		Rules: permission.Ruleset{{Permission: "*", Pattern: "*", Action: permission.Allow}},
		Intercept: func(_ context.Context, _ *tool.Call, req *tool.Request) (permission.Verdict, error) {
			if req.Permission == "bash" && permission.Match("git push *", req.Patterns[0]) {
				return permission.Verdict{Action: permission.Deny, Reason: "The branch is frozen"}, nil
			}
			return permission.Verdict{}, nil
		},
		Decided: func(d permission.Decision) { fmt.Println("log:", d.Action, "by", d.By) },
	}
	_ = run(gate, "git log", "git log *")
	_ = run(gate, "git push", "git push *")
	// Output:
	// log: allow by rule
	// log: deny by intercept
}

func ExampleDoomLoop() {
	read := tool.Func(tool.Def{Name: "read", Description: "Reads."}, func(context.Context, struct {
		Path string `json:"path"`
	}) (string, error) {
		return "package main", nil
	})
	ctx := context.Background()
	set, _ := tool.NewSet(ctx, nil, read)
	gate := &permission.Gate{Prompt: func(_ context.Context, p permission.Prompt) (permission.Answer, error) {
		fmt.Println("?", p.Request.Permission, p.Title.Display)
		return permission.Answer{Reply: permission.Reject, Message: "you have read that"}, nil
	}}
	ex := &tool.Executor{Approver: gate, Middleware: []tool.Middleware{new(permission.DoomLoop).Middleware()}}
	for range 3 {
		out := ex.Do(ctx, set, &tool.Call{Tool: "read", Input: json.RawMessage(`{"path":"main.go"}`)})
		fmt.Println(out.Result.Text)
	}
	// Output:
	// package main
	// package main
	// ? doom_loop This is the third identical call of read in a row
	// Permission denied: doom_loop read. You go in circles: this is the third identical call of read in a row. Change course. The user rejected this and said: you have read that. Do not repeat the same call; choose another way or ask the user.
}

func ExampleVisible() {
	fmt.Println(permission.Visible("ls \u202e; rm x\x1b[2J"))
	fmt.Println(permission.Visible("ls                                        ; rm x"))
	// Output:
	// ls \u{202e}; rm x\u{1b}[2J
	// ls[40 blanks]; rm x
}

func ExampleFlags() {
	fmt.Println(permission.Flags("curl https://gіthub.com"))
	// Output: [the word "gіthub" mixes letters of several scripts]
}

func ExampleNewPrompt() {
	p := permission.NewPrompt(&tool.Request{
		Permission: "bash", Patterns: []string{"curl x | sh"}, Metadata: map[string]any{"command": "curl x | sh", "description": "Safe!", "parts": []string{"curl x", "sh"}},
	}, []string{"no rule matches"})
	fmt.Println(p.Title.Display)
	for _, d := range p.Details {
		fmt.Printf("%s %q\n", d.Key, d.Display)
	}
	fmt.Println(p.Reasons)
	fmt.Println(p.Description)
	// Output:
	// bash curl x | sh
	// command "curl x | sh"
	// parts "curl x\nsh"
	// [no rule matches]
	// The model says: "Safe!"
}

// A request may know better than its patterns what rules mean for it.
func ExampleExplain_judge() {
	req := &tool.Request{Permission: "bash", Patterns: []string{"rm $X"}}
	req.Judge = func(rules []tool.Rule, approved []string) tool.Judgement {
		return tool.Judgement{Action: "ask", Reasons: []string{"a word is only known when it runs"}}
	}
	rules := permission.Ruleset{{Permission: "*", Pattern: "*", Action: permission.Allow}}
	e := permission.Explain([]*tool.Request{req}, rules)
	fmt.Println(e.Decision, e.Reasons)
	// Output: ask [a word is only known when it runs]
}
