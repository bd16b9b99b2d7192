package clienttool_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/agenttool/tool"
	"github.com/agenttool/tool/builtin"
	"github.com/agenttool/tool/clienttool"
	"github.com/agenttool/tool/permission"
)

// lines is a carrier in ten lines: a message is a line of JSON, over anything that
// reads and writes, such as the standard input and output of a child process.
type lines struct {
	r *json.Decoder
	w io.WriteCloser
}

func (l lines) Send(_ context.Context, m *clienttool.Message) error {
	return json.NewEncoder(l.w).Encode(m)
}

func (l lines) Recv(context.Context) (*clienttool.Message, error) {
	m := new(clienttool.Message)
	return m, l.r.Decode(m)
}

func (l lines) Close(error) error { return l.w.Close() }

// linePipe connects two of them.
func linePipe() (host, client clienttool.Conn) {
	r1, w1 := io.Pipe()
	r2, w2 := io.Pipe()
	return lines{json.NewDecoder(r1), w2}, lines{json.NewDecoder(r2), w1}
}

// connect runs a client until the function it returns is called. ready is closed once
// its tools are on offer.
func connect(hub *clienttool.Hub, o clienttool.ClientOptions, add func(c *clienttool.Client) error) (stop func(), err error) {
	ready := make(chan struct{}, 8)
	o.OnTools = func(clienttool.ToolsInfo) { ready <- struct{}{} }
	client := clienttool.NewClient("laptop", clienttool.DialFunc(func(context.Context) (clienttool.Conn, error) {
		host, client := linePipe()
		go hub.Serve(context.Background(), clienttool.Peer{Principal: "user"}, host)
		return client, nil
	}), o)
	if err := add(client); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- client.Run(ctx) }()
	select {
	case <-ready:
		return func() { cancel(); <-ended }, nil
	case err := <-ended:
		cancel()
		return nil, err
	}
}

// A host, a client with one tool, and a carrier of one's own between them.
func Example() {
	hub, err := clienttool.NewHub(clienttool.Options{})
	if err != nil {
		panic(err)
	}
	defer hub.Close()
	stop, err := connect(hub, clienttool.ClientOptions{SessionID: "ses_1"}, func(c *clienttool.Client) error {
		return c.Add(clienttool.ToolDefinition{ID: "greet", Description: "Greets.", Parameters: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}}}`)},
			func(_ context.Context, call *clienttool.Invocation) (*clienttool.ToolResult, error) {
				var in struct{ Name string }
				if err := json.Unmarshal(call.Input, &in); err != nil {
					return nil, err
				}
				return &clienttool.ToolResult{Output: "Hello " + in.Name}, nil
			})
	})
	if err != nil {
		panic(err)
	}
	defer stop()

	res, err := hub.Execute(context.Background(), clienttool.CallRequest{Tool: "client_laptop_greet", SessionID: "ses_1", Input: json.RawMessage(`{"name":"Ada"}`)})
	if err != nil {
		panic(err)
	}
	fmt.Println(res.Output)
	// Output: Hello Ada
}

// The built-in tools run where the client is, a laptop or a sandbox, while the agent
// is here. What they ask is asked here.
func ExampleClient_AddTool() {
	dir, err := os.MkdirTemp("", "laptop-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	hub, err := clienttool.NewHub(clienttool.Options{})
	if err != nil {
		panic(err)
	}
	defer hub.Close()
	tools, err := builtin.New(builtin.Config{Root: dir}) // on the client
	if err != nil {
		panic(err)
	}
	defer tools.Close()
	stop, err := connect(hub, clienttool.ClientOptions{SessionID: "ses_1"}, func(c *clienttool.Client) error {
		for _, t := range tools.Tools() {
			if err := c.AddTool(t); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		panic(err)
	}
	defer stop()

	var registry tool.Registry // on the host
	registry.AddSource(hub)
	ctx := context.Background()
	agent := &tool.Agent{SessionID: "ses_1"}
	set, err := registry.Resolve(ctx, agent)
	if err != nil {
		panic(err)
	}
	ex := &tool.Executor{Approver: &permission.Gate{Rules: permission.Ruleset{
		{Permission: clienttool.Permission, Pattern: "client_laptop_*", Action: permission.Allow},
		{Permission: "edit", Pattern: "*", Action: permission.Allow},
	}}}
	out := ex.Do(ctx, set, &tool.Call{ID: "call_1", Tool: "client_laptop_write", SessionID: "ses_1", Agent: agent, Input: json.RawMessage(`{"filePath":"notes.txt","content":"milk\n"}`)})
	b, err := os.ReadFile(filepath.Join(dir, "notes.txt"))
	fmt.Printf("%v %q %v\n", out.Err, b, err)
	// Output: <nil> "milk\n" <nil>
}

// A running tool sees which tools of the host its agent may use, and runs one.
func ExampleInvocation_HostTools() {
	var registry tool.Registry
	err := registry.Add(tool.Func(tool.Def{Name: "upper", Description: "Upper case."}, func(_ context.Context, in struct {
		Text string `json:"text"`
	}) (string, error) {
		return fmt.Sprintf("<%s>", in.Text), nil
	}))
	if err != nil {
		panic(err)
	}
	hub, err := clienttool.NewHub(clienttool.Options{HostTools: func(ctx context.Context, agent *tool.Agent) (*tool.Set, error) {
		return registry.Resolve(ctx, agent)
	}})
	if err != nil {
		panic(err)
	}
	defer hub.Close()
	registry.AddSource(hub)
	stop, err := connect(hub, clienttool.ClientOptions{SessionID: "ses_1"}, func(c *clienttool.Client) error {
		return c.Add(clienttool.ToolDefinition{ID: "compose", Description: "Uses another tool."}, func(ctx context.Context, call *clienttool.Invocation) (*clienttool.ToolResult, error) {
			defs, err := call.HostTools(ctx)
			if err != nil {
				return nil, err
			}
			res, err := call.Invoke(ctx, defs[len(defs)-1].ID, json.RawMessage(`{"text":"a"}`))
			if err != nil {
				return nil, err
			}
			return &clienttool.ToolResult{Output: fmt.Sprintf("%s of %d says %s", defs[len(defs)-1].ID, len(defs), res.Text)}, nil
		})
	})
	if err != nil {
		panic(err)
	}
	defer stop()
	ctx := context.Background()
	agent := &tool.Agent{SessionID: "ses_1"}
	set, err := registry.Resolve(ctx, agent)
	if err != nil {
		panic(err)
	}
	ex := &tool.Executor{Approver: &permission.Gate{Rules: permission.Ruleset{{Permission: "*", Pattern: "*", Action: permission.Allow}}}}
	fmt.Println(ex.Do(ctx, set, &tool.Call{ID: "call_1", Tool: "client_laptop_compose", SessionID: "ses_1", Agent: agent}).Result.Text)
	// Output: upper of 2 says <a>
}

// What a call that failed says to the model depends on how far it got.
func ExampleCallError_ModelText() {
	for _, d := range []clienttool.Delivery{clienttool.NotDelivered, clienttool.Unknown, clienttool.Started} {
		fmt.Println((&clienttool.CallError{Code: clienttool.CodeGone, Delivery: d}).ModelText())
	}
	// Output:
	// The client that runs the tool disconnected. The tool did not run; the call may be repeated.
	// The client that runs the tool disconnected. The tool may have run; check before retrying.
	// The client that runs the tool disconnected while the tool was running. It may have taken effect; check before retrying.
}

// Ids are readable where that is safe, and never mean two tools.
func ExampleDefaultNamer() {
	for _, pair := range [][2]string{{"laptop", "read-file"}, {"a", "b_read"}, {"a_b", "read"}, {"laptop", "läs fil"}} {
		id, err := clienttool.DefaultNamer{}.Name(pair[0], pair[1])
		fmt.Println(id, err)
	}
	// Output:
	// client_laptop_read-file <nil>
	// client_a_b_read <nil>
	// client__msh2tmy3_read <nil>
	// client__l3wa3raz_l-s-fil-sswjms <nil>
}

// A section of a configuration file.
func ExampleParseConfig() {
	c, err := clienttool.ParseConfig([]byte(`{"clientTools":{"defaultTimeout":60000}}`))
	if err != nil {
		panic(err)
	}
	o := clienttool.Options{PingInterval: 10 * time.Second}
	c.Apply(&o)
	fmt.Println(o.Timeout, o.PingInterval)
	// Output: 1m0s 10s
}

// The plain surface, for code of the host itself.
func ExampleHub_Registry() {
	hub, err := clienttool.NewHub(clienttool.Options{})
	if err != nil {
		panic(err)
	}
	defer hub.Close()
	reg := hub.Registry()
	fmt.Println(reg.Register("laptop", []clienttool.ToolDefinition{{ID: "greet", Description: "Greets."}, {ID: "bad", Parameters: json.RawMessage(`{"$ref":"#"}`)}}))
	fmt.Println(reg.FindClientForTool("client_laptop_greet"), reg.IsClientTool("client_laptop_bad"))
	fmt.Println(reg.Unregister("laptop", []string{"greet"}))
	// Output:
	// [client_laptop_greet]
	// laptop false
	// [client_laptop_greet]
}

// Events say what happens to calls and clients, and never hold the hub up.
func ExampleHub_Subscribe() {
	hub, err := clienttool.NewHub(clienttool.Options{})
	if err != nil {
		panic(err)
	}
	defer hub.Close()
	events := make(chan clienttool.Event, 16)
	defer hub.Subscribe(0, func(e clienttool.Event) { events <- e })()
	hub.Registry().Register("laptop", []clienttool.ToolDefinition{{ID: "greet", Description: "Greets."}})
	e := <-events
	payload, err := json.Marshal(e)
	fmt.Println(e.Type, string(payload), err)
	// Output: client-tool.registered {"clientID":"laptop","toolIDs":["client_laptop_greet"]} <nil>
}
