package builtin_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/agenttool/tool"
	"github.com/agenttool/tool/builtin"
	"github.com/agenttool/tool/permission"
)

// saved is what a host keeps of a session: what the tools know of it, and what
// the gate does. Neither package needs the other for it.
type saved struct {
	Tools  json.RawMessage         `json:"tools"`
	Grants permission.SessionState `json:"grants"`
}

func ExampleToolset_Restore() {
	dir, err := os.MkdirTemp("", "example-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("one\n"), 0o666); err != nil {
		panic(err)
	}
	ctx := context.Background()
	start := func(answer permission.Reply) (*builtin.Toolset, *permission.Gate, func(name, input string)) {
		tools, err := builtin.New(builtin.Config{Root: dir})
		if err != nil {
			panic(err)
		}
		gate := &permission.Gate{Prompt: func(_ context.Context, p permission.Prompt) (permission.Answer, error) {
			fmt.Println("asked:", p.Title.Display)
			return permission.Answer{Reply: answer}, nil
		}}
		set, err := tool.NewSet(ctx, nil, tools.Tools()...)
		if err != nil {
			panic(err)
		}
		ex := &tool.Executor{Approver: gate}
		return tools, gate, func(name, input string) {
			out := ex.Do(ctx, set, &tool.Call{ID: "1", Tool: name, SessionID: "s", Input: []byte(input)})
			fmt.Println(name+":", out.Err == nil)
		}
	}

	tools, gate, call := start(permission.Always)
	call("read", `{"filePath":"a.txt"}`)
	call("todowrite", `{"todos":[{"content":"improve a.txt"}]}`)
	state, err := tools.Snapshot("s")
	if err != nil {
		panic(err)
	}
	kept, err := json.Marshal(saved{state, gate.Snapshot("s")})
	if err != nil {
		panic(err)
	}
	_ = tools.Close()

	// The program ends here, and another one goes on.
	var back saved
	if err := json.Unmarshal(kept, &back); err != nil {
		panic(err)
	}
	tools, gate, call = start(permission.Once)
	defer tools.Close()
	if err := tools.Restore("s", back.Tools); err != nil {
		panic(err)
	}
	if err := gate.Restore("s", back.Grants); err != nil {
		panic(err)
	}
	fmt.Println(tools.Todos("s")[0].Content)
	call("read", `{"filePath":"a.txt"}`)                       // still allowed
	call("write", `{"filePath":"a.txt","content":"better\n"}`) // and known to have been read
	// Output:
	// asked: Read a.txt
	// read: true
	// asked: Update the todo list
	// todowrite: true
	// improve a.txt
	// read: true
	// asked: Overwrite a.txt
	// write: true
}

func ExampleSkillConfig() {
	dir, err := os.MkdirTemp("", "example-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	skill := filepath.Join(dir, ".agent", "skills", "release")
	if err := os.MkdirAll(skill, 0o777); err != nil {
		panic(err)
	}
	text := "---\nname: release\ndescription: How a release of this project is made\n---\nTag it, then run checklist.sh.\n"
	if err := os.WriteFile(filepath.Join(skill, "SKILL.md"), []byte(text), 0o666); err != nil {
		panic(err)
	}
	tools, err := builtin.New(builtin.Config{Root: dir, Skills: builtin.SkillConfig{Dirs: []string{".agent/skills"}}})
	if err != nil {
		panic(err)
	}
	defer tools.Close()
	list, problems := tools.Skills(context.Background())
	fmt.Println(list[0].Name+":", list[0].Description, problems)
	// Output: release: How a release of this project is made []
}
