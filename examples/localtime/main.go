// Localtime lends one tool, the clock of the machine it runs on, to an agent that is
// somewhere else. Host and client talk HTTP over a loopback address here, as they
// would over a network, and a script stands in for the model.
//
//	go run ./examples/localtime
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"time"
	_ "time/tzdata" // time zones also where the system has none

	"github.com/agenttool/tool"
	"github.com/agenttool/tool/clienttool"
	"github.com/agenttool/tool/clienttool/httptransport"
	"github.com/agenttool/tool/permission"
)

const (
	session = "ses_demo"
	token   = "example" // a host hands out something better
)

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := run(ctx, os.Stdout, time.Now); err != nil {
		fmt.Fprintln(os.Stderr, "localtime:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer, now func() time.Time) error {
	hub, err := clienttool.NewHub(clienttool.Options{})
	if err != nil {
		return err
	}
	defer hub.Close()
	base, stop, err := serve(hub)
	if err != nil {
		return err
	}
	defer stop()

	// The client's side, which would be another process.
	client := clienttool.NewClient("laptop", httptransport.Dial(base, httptransport.DialOptions{
		Header: http.Header{"Authorization": {"Bearer " + token}},
	}), clienttool.ClientOptions{SessionID: session})
	if err := client.AddTool(clock(now)); err != nil {
		return err
	}
	registered := make(chan struct{}, 1)
	defer hub.Subscribe(0, func(e clienttool.Event) {
		if e.Type == clienttool.EventRegistered {
			registered <- struct{}{}
		}
	})()
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

	// The agent's side. Its rules let it use the clients' clocks without asking.
	var registry tool.Registry
	registry.AddSource(hub)
	agent := &tool.Agent{Name: "demo", SessionID: session}
	set, err := registry.Resolve(ctx, agent)
	if err != nil {
		return err
	}
	ex := &tool.Executor{Approver: &permission.Gate{Rules: permission.Ruleset{
		{Permission: clienttool.Permission, Pattern: "client_*_get_local_time", Action: permission.Allow},
	}}}
	for i, input := range []string{`{"timezone":"America/New_York"}`, `{}`, `{"timezone":"Mars/Olympus_Mons"}`} {
		fmt.Fprintf(out, "> get_local_time %s\n", input)
		o := ex.Do(ctx, set, &tool.Call{ID: fmt.Sprint("call_", i+1), Tool: "client_laptop_get_local_time", SessionID: session, Agent: agent, Input: []byte(input)})
		if o.Err != nil {
			fmt.Fprintln(out, "error:", o.Result.Text)
			continue
		}
		fmt.Fprintf(out, "%s: %s\n", o.Result.Title, o.Result.Text)
	}
	return nil
}

// clock is an ordinary tool; that it runs elsewhere is none of its business.
func clock(now func() time.Time) tool.Tool {
	type in struct {
		Timezone string `json:"timezone,omitempty" jsonschema:"time zone, such as America/New_York" default:"UTC"`
	}
	return tool.Define(tool.Def{Name: "get_local_time", Description: "Get the current local time on the client machine", Parallel: true},
		func(_ context.Context, _ *tool.Call, in in) (*tool.Result, error) {
			zone, err := time.LoadLocation(in.Timezone)
			if err != nil {
				return nil, fmt.Errorf("there is no time zone %q; use a name such as Europe/Berlin", in.Timezone)
			}
			return &tool.Result{Title: "Local time (" + in.Timezone + ")", Text: now().In(zone).Format("1/2/2006, 3:04:05 PM")}, nil
		})
}

// serve mounts the hub below /client-tools on a loopback address.
func serve(hub *clienttool.Hub) (base string, stop func(), err error) {
	guard := httptransport.Guard{Authenticate: func(r *http.Request) (clienttool.Peer, error) {
		if strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ") != token {
			return clienttool.Peer{}, errors.New("wrong token")
		}
		return clienttool.Peer{Principal: "user"}, nil
	}}
	mux := http.NewServeMux()
	mux.Handle("/client-tools/", http.StripPrefix("/client-tools", httptransport.Handler(hub, httptransport.Options{Guard: guard})))
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	server := &http.Server{Handler: mux}
	served := make(chan error, 1)
	go func() { served <- server.Serve(ln) }()
	return "http://" + ln.Addr().String() + "/client-tools", func() { server.Close(); <-served }, nil
}
