package tool_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/agenttool/tool"
	"github.com/agenttool/tool/truncate"
)

type greetIn struct {
	Name string `json:"name" jsonschema:"whom to greet"`
}

var greet = tool.Define(tool.Def{Name: "greet", Description: "Say hi.", Parallel: true},
	func(ctx context.Context, call *tool.Call, in greetIn) (*tool.Result, error) {
		return tool.Text("Hi " + in.Name), nil
	})

func Example() {
	var reg tool.Registry
	if err := reg.Add(greet); err != nil {
		panic(err)
	}
	set, err := reg.Resolve(context.Background(), nil)
	if err != nil {
		panic(err)
	}
	for spec := range set.Specs() { // for the model
		fmt.Println(spec.Name, string(spec.Input))
	}
	var ex tool.Executor
	outs, err := ex.Run(context.Background(), set, // what the model answered
		&tool.Call{ID: "1", Tool: "greet", Input: json.RawMessage(`{"name":"Bo"}`)},
		&tool.Call{ID: "2", Tool: "greet", Input: json.RawMessage(`{"nam":"Bo"}`)})
	for _, o := range outs {
		fmt.Printf("%s: %s\n", o.Call.ID, o.Result.Text)
	}
	fmt.Println(err)
	// Output:
	// greet {"type":"object","properties":{"name":{"type":"string","description":"whom to greet"}},"required":["name"],"additionalProperties":false}
	// 1: Hi Bo
	// 2: The greet tool was called with invalid arguments:
	// - /name: want string, got nothing (required)
	// - /nam: unknown key; did you mean "name"? legal keys: "name"
	// Please rewrite the input so it satisfies the expected schema.
	// Example: {"name":"Bo"}
	// <nil>
}

func ExampleFunc() {
	type in struct {
		Text string `json:"text"`
	}
	type out struct {
		Words int `json:"words"`
	}
	count := tool.Func(tool.Def{Name: "count", Description: "Count words."},
		func(_ context.Context, in in) (out, error) { return out{len(strings.Fields(in.Text))}, nil })
	res, err := count.Run(context.Background(), &tool.Call{Input: json.RawMessage(`{"text":"one two"}`)})
	fmt.Println(res.Text, err)
	// Output: {"words":2} <nil>
}

func ExampleRaw() {
	echo, err := tool.Raw(tool.Def{
		Name: "echo", Description: "Echo a number.",
		Input: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer","maximum":9}},"required":["n"]}`),
	}, func(_ context.Context, call *tool.Call) (*tool.Result, error) {
		return tool.Text(string(call.Input)), nil
	})
	if err != nil {
		panic(err)
	}
	res, err := echo.Run(context.Background(), &tool.Call{Tool: "echo", Input: json.RawMessage(`{"n":"7"}`)})
	fmt.Println(res.Text, err)
	_, err = echo.Run(context.Background(), &tool.Call{Tool: "echo", Input: json.RawMessage(`{"n":10}`)})
	fmt.Println(errors.Is(err, tool.ErrInput))
	// Output:
	// {"n":7} <nil>
	// true
}

// A tool asks before it does something. Without an approver the answer is no.
func ExampleCall_Ask() {
	remove := tool.Define(tool.Def{Name: "remove", Description: "Remove a file."},
		func(ctx context.Context, call *tool.Call, in struct {
			Path string `json:"path"`
		}) (*tool.Result, error) {
			req := &tool.Request{Permission: "edit", Title: "Remove " + in.Path, Patterns: []string{in.Path}}
			if err := call.Ask(ctx, req); err != nil {
				return nil, err
			}
			return tool.Text("removed"), nil
		})
	set, err := tool.NewSet(context.Background(), nil, remove)
	if err != nil {
		panic(err)
	}
	ex := tool.Executor{Approver: tool.ApproverFunc(func(_ context.Context, _ *tool.Call, req *tool.Request) error {
		fmt.Println("asked:", req.Title)
		return &tool.DeniedError{Reason: "Keep it, it is still needed"}
	})}
	out := ex.Do(context.Background(), set, &tool.Call{ID: "1", Tool: "remove", Input: json.RawMessage(`{"path":"a.txt"}`)})
	fmt.Println(out.Result.Text)
	// Output:
	// asked: Remove a.txt
	// Permission denied: edit a.txt. Keep it, it is still needed. Do not repeat the same call; choose another way or ask the user.
}

// A tool reports progress; the host observes every step.
func ExampleCall_Update() {
	work := tool.Define(tool.Def{Name: "work", Description: "Work."},
		func(ctx context.Context, call *tool.Call, _ struct{}) (*tool.Result, error) {
			call.Update(tool.Update{Title: "half way"})
			return tool.Text("done"), nil
		})
	set, err := tool.NewSet(context.Background(), nil, work)
	if err != nil {
		panic(err)
	}
	ex := tool.Executor{Observe: func(ev tool.Event) {
		switch {
		case ev.Update != nil:
			fmt.Println(ev.State, ev.Update.Title)
		case ev.Last():
			fmt.Println(ev.State, ev.Result.Text)
		default:
			fmt.Println(ev.State)
		}
	}}
	ex.Do(context.Background(), set, &tool.Call{ID: "1", Tool: "work"})
	// Output:
	// pending
	// running
	// running half way
	// completed done
}

// A tool calls another one, with the same permissions and events.
func ExampleCall_Invoke() {
	twice := tool.Define(tool.Def{Name: "twice", Description: "Greet twice."},
		func(ctx context.Context, call *tool.Call, in greetIn) (*tool.Result, error) {
			a, err := call.Invoke(ctx, "greet", call.Input)
			if err != nil {
				return nil, err
			}
			b, err := call.Invoke(ctx, "greet", json.RawMessage(`{"name":"again"}`))
			if err != nil {
				return nil, err
			}
			return tool.Text(a.Text + ", " + b.Text), nil
		})
	set, err := tool.NewSet(context.Background(), nil, greet, twice)
	if err != nil {
		panic(err)
	}
	var ex tool.Executor
	out := ex.Do(context.Background(), set, &tool.Call{ID: "1", Tool: "twice", Input: json.RawMessage(`{"name":"Bo"}`)})
	fmt.Println(out.Result.Text)
	// Output: Hi Bo, Hi again
}

// A framework with its own loop binds what it has and runs tools itself.
func ExampleCall_Bind() {
	call := (&tool.Call{ID: "1", Tool: "greet", Input: json.RawMessage(`{"name":"Bo"}`)}).Bind(tool.Runtime{
		Update: func(_ *tool.Call, u tool.Update) { fmt.Println(u.Title) },
	})
	res, err := greet.Run(context.Background(), call)
	fmt.Println(res.Text, err)
	// Output: Hi Bo <nil>
}

func ExampleExecutor_Start() {
	set, err := tool.NewSet(context.Background(), nil, greet)
	if err != nil {
		panic(err)
	}
	var ex tool.Executor
	batch := ex.Start(context.Background(), set)
	for i, name := range []string{"Ada", "Bo"} { // as the calls arrive
		batch.Go(&tool.Call{ID: fmt.Sprint(i), Tool: "greet", Input: json.RawMessage(fmt.Sprintf(`{"name":%q}`, name))})
	}
	outs, err := batch.Wait()
	for _, o := range outs {
		fmt.Println(o.Result.Text)
	}
	fmt.Println(err)
	// Output:
	// Hi Ada
	// Hi Bo
	// <nil>
}

// A middleware sees every call, also of unknown tools.
func ExampleMiddleware() {
	logged := func(next tool.RunFunc) tool.RunFunc {
		return func(ctx context.Context, call *tool.Call) (*tool.Result, error) {
			res, err := next(ctx, call)
			fmt.Println(call.Tool, err == nil)
			return res, err
		}
	}
	set, err := tool.NewSet(context.Background(), nil, greet)
	if err != nil {
		panic(err)
	}
	ex := tool.Executor{Middleware: []tool.Middleware{logged}}
	ex.Do(context.Background(), set, &tool.Call{ID: "1", Tool: "greet", Input: json.RawMessage(`{"name":"Bo"}`)})
	ex.Do(context.Background(), set, &tool.Call{ID: "2", Tool: "delete_everything"})
	// Output:
	// greet true
	// delete_everything false
}

func ExampleRegistry_Resolve() {
	admin := tool.Define(tool.Def{Name: "admin", Describe: func(_ context.Context, a *tool.Agent) (string, error) {
		if !a.Flag("admin") {
			return "", tool.ErrHidden
		}
		return "Administrate, " + a.Name + ".", nil
	}}, func(context.Context, *tool.Call, struct{}) (*tool.Result, error) { return nil, nil })
	var reg tool.Registry
	if err := reg.Add(greet, admin); err != nil {
		panic(err)
	}
	for _, agent := range []*tool.Agent{nil, {Name: "root", Flags: map[string]bool{"admin": true}}} {
		set, err := reg.Resolve(context.Background(), agent)
		if err != nil {
			panic(err)
		}
		for spec := range set.Specs() {
			fmt.Println(agent != nil, spec.Name)
		}
	}
	// Output:
	// false greet
	// true admin
	// true greet
}

func ExampleTruncator() {
	long := tool.Define(tool.Def{Name: "long", Description: "Much text."},
		func(context.Context, *tool.Call, struct{}) (*tool.Result, error) {
			return tool.Text(strings.Repeat("line\n", 10000)), nil
		})
	set, err := tool.NewSet(context.Background(), nil, long)
	if err != nil {
		panic(err)
	}
	ex := tool.Executor{Truncate: tool.Truncator(truncate.Policy{MaxLines: 100})}
	out := ex.Do(context.Background(), set, &tool.Call{ID: "1", Tool: "long"})
	fmt.Println(out.Result.Metadata["truncated"], out.Result.Truncated.Lines >= 9900)
	// Output: true true
}

func ExampleSerialize() {
	ex := tool.Executor{
		Timeout: time.Minute,
		// Calls of one message run one after the other.
		Middleware: []tool.Middleware{tool.Serialize(func(c *tool.Call) string { return c.MessageID })},
	}
	set, err := tool.NewSet(context.Background(), nil, greet)
	if err != nil {
		panic(err)
	}
	out := ex.Do(context.Background(), set, &tool.Call{ID: "1", MessageID: "m", Tool: "greet", Input: json.RawMessage(`{"name":"Bo"}`)})
	fmt.Println(out.Result.Text)
	// Output: Hi Bo
}
