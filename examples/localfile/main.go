// Localfile lends one tool, which reads files of one directory of a laptop, to an
// agent that is somewhere else. The client keeps the directory's bounds, whatever the
// host asks for; the host asks its user before it reads, whatever the client offers.
// The two sides talk WebSocket over a loopback address; a script stands in for the
// model, and another for the user.
//
//	go run ./examples/localfile
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/agenttool/tool"
	"github.com/agenttool/tool/clienttool"
	"github.com/agenttool/tool/clienttool/httptransport"
	"github.com/agenttool/tool/clienttool/wstransport"
	"github.com/agenttool/tool/permission"
)

const (
	session = "ses_demo"
	token   = "example" // a host hands out something better
	maxFile = 64 << 10
)

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := demo(ctx, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "localfile:", err)
		os.Exit(1)
	}
}

// demo makes a directory with a few files and runs the example over it.
func demo(ctx context.Context, out io.Writer) error {
	dir, err := os.MkdirTemp("", "localfile-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	shared := filepath.Join(dir, "shared")
	if err := os.Mkdir(shared, 0o700); err != nil {
		return err
	}
	for name, text := range map[string]string{"shared/notes.txt": "milk\nbread\n", "shared/diary.txt": "Dear diary,\n", "secret.txt": "not shared\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	return run(ctx, out, shared)
}

func run(ctx context.Context, out io.Writer, dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	hub, err := clienttool.NewHub(clienttool.Options{})
	if err != nil {
		return err
	}
	defer hub.Close()
	url, stop, err := serve(hub)
	if err != nil {
		return err
	}
	defer stop()

	// The client's side, which would be another process.
	registered := make(chan struct{}, 1)
	client := clienttool.NewClient("laptop", wstransport.Dial(url, wstransport.DialOptions{
		Header: http.Header{"Authorization": {"Bearer " + token}},
	}), clienttool.ClientOptions{SessionID: session, OnTools: func(clienttool.ToolsInfo) { registered <- struct{}{} }})
	if err := client.AddTool(readFile(root)); err != nil {
		return err
	}
	cctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- client.Run(cctx) }()
	defer func() { cancel(); <-ended }()
	select {
	case <-registered:
	case err := <-ended:
		ended <- err
		return err
	}

	// The agent's side.
	var registry tool.Registry
	registry.AddSource(hub)
	agent := &tool.Agent{Name: "demo", SessionID: session}
	set, err := registry.Resolve(ctx, agent)
	if err != nil {
		return err
	}
	ex := &tool.Executor{Approver: &permission.Gate{Prompt: user(out)}}
	for i, path := range []string{"notes.txt", "../secret.txt", "none.txt", "diary.txt"} {
		fmt.Fprintf(out, "> read_local_file %s\n", path)
		o := ex.Do(ctx, set, &tool.Call{ID: fmt.Sprint("call_", i+1), Tool: "client_laptop_read_local_file", SessionID: session, Agent: agent,
			Input: fmt.Appendf(nil, `{"path":%q}`, path)})
		state := "ok"
		if o.Err != nil {
			state = "error"
		}
		fmt.Fprintf(out, "%s: %s\n", state, strings.TrimRight(o.Result.Text, "\n"))
	}
	return nil
}

// user answers the questions: the diary is nobody's business.
func user(out io.Writer) func(context.Context, permission.Prompt) (permission.Answer, error) {
	return func(_ context.Context, p permission.Prompt) (permission.Answer, error) {
		answer := permission.Answer{Reply: permission.Once}
		for _, pattern := range p.Patterns {
			if strings.HasSuffix(pattern.Raw, "diary.txt") {
				answer = permission.Answer{Reply: permission.Reject, Message: "Not my diary"}
			}
		}
		if p.Request.Permission != clienttool.Permission {
			fmt.Fprintf(out, "%s %s? %s\n", p.Request.Permission, p.Patterns[0].Display, answer.Reply)
		}
		return answer, nil
	}
}

// readFile reads files of one directory. Asked through the call, the question goes to the host.
func readFile(root *os.Root) tool.Tool {
	type in struct {
		Path string `json:"path" jsonschema:"path of the file, from the shared directory" minLength:"1"`
	}
	return tool.Define(tool.Def{Name: "read_local_file", Description: "Read a file from the client's local filesystem", Hints: tool.Hints{ReadOnly: true}, Parallel: true},
		func(ctx context.Context, call *tool.Call, in in) (*tool.Result, error) {
			f, err := root.Open(filepath.FromSlash(in.Path)) // os.Root leads nowhere else, links or not
			if errors.Is(err, os.ErrNotExist) {
				return nil, fmt.Errorf("there is no file %s in the shared directory", in.Path)
			}
			if err != nil {
				return nil, fmt.Errorf("%s is not shared: only files of one directory are", in.Path)
			}
			defer f.Close()
			if err := call.Ask(ctx, &tool.Request{Permission: "read", Patterns: []string{in.Path}}); err != nil {
				return nil, err
			}
			b, err := io.ReadAll(io.LimitReader(f, maxFile+1))
			switch {
			case err != nil:
				return nil, fmt.Errorf("%s cannot be read", in.Path)
			case len(b) > maxFile:
				return nil, fmt.Errorf("%s is larger than %d bytes", in.Path, maxFile)
			case !utf8.Valid(b):
				return nil, fmt.Errorf("%s is not text", in.Path)
			}
			return &tool.Result{Title: "Read " + in.Path, Text: string(b)}, nil
		})
}

// serve mounts the hub below /client-tools on a loopback address.
func serve(hub *clienttool.Hub) (url string, stop func(), err error) {
	guard := httptransport.Guard{Authenticate: func(r *http.Request) (clienttool.Peer, error) {
		if strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ") != token {
			return clienttool.Peer{}, errors.New("wrong token")
		}
		return clienttool.Peer{Principal: "user"}, nil
	}}
	mux := http.NewServeMux()
	mux.Handle("/client-tools/ws/", http.StripPrefix("/client-tools", wstransport.Handler(hub, wstransport.Options{Guard: guard})))
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	server := &http.Server{Handler: mux}
	served := make(chan error, 1)
	go func() { served <- server.Serve(ln) }()
	return "ws://" + ln.Addr().String() + "/client-tools/ws/laptop", func() { server.Close(); <-served }, nil
}
