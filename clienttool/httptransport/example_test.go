package httptransport_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/agenttool/tool"
	"github.com/agenttool/tool/clienttool"
	"github.com/agenttool/tool/clienttool/httptransport"
)

// A host mounts the routes, and a client reaches it by one address.
func Example() {
	hub, err := clienttool.NewHub(clienttool.Options{})
	if err != nil {
		panic(err)
	}
	defer hub.Close()
	guard := httptransport.Guard{Authenticate: func(r *http.Request) (clienttool.Peer, error) {
		if r.Header.Get("Authorization") != "Bearer secret" {
			return clienttool.Peer{}, errors.New("wrong token")
		}
		return clienttool.Peer{Principal: "user"}, nil
	}}
	mux := http.NewServeMux()
	mux.Handle("/client-tools/", http.StripPrefix("/client-tools", httptransport.Handler(hub, httptransport.Options{Guard: guard})))
	srv := httptest.NewServer(mux)
	defer srv.Close()
	defer srv.CloseClientConnections()

	ready := make(chan struct{}, 8)
	client := clienttool.NewClient("laptop", httptransport.Dial(srv.URL+"/client-tools", httptransport.DialOptions{
		Header: http.Header{"Authorization": {"Bearer secret"}},
	}), clienttool.ClientOptions{OnTools: func(clienttool.ToolsInfo) { ready <- struct{}{} }})
	err = client.AddTool(tool.Func(tool.Def{Name: "greet", Description: "Greets."}, func(_ context.Context, in struct {
		Name string `json:"name"`
	}) (string, error) {
		return "Hello " + in.Name, nil
	}))
	if err != nil {
		panic(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- client.Run(ctx) }()
	<-ready
	res, err := hub.Execute(ctx, clienttool.CallRequest{Tool: "client_laptop_greet", Input: []byte(`{"name":"Ada"}`)})
	if err != nil {
		panic(err)
	}
	fmt.Println(res.Output)
	cancel()
	<-ended
	// Output: Hello Ada
}

// A ticket stands in for credentials where a browser cannot send a header.
func ExampleTickets() {
	tickets := &httptransport.Tickets{}
	guard := httptransport.Guard{Tickets: tickets}
	ticket, err := tickets.Issue(clienttool.Peer{Principal: "user", ClientID: "tab"})
	if err != nil {
		panic(err)
	}
	for range 2 {
		r := httptest.NewRequest("GET", "/client-tools/pending/tab?ticket="+ticket, nil)
		p, status, err := guard.Peer(r)
		fmt.Println(p.Principal, p.ClientID, status, err)
	}
	// Output:
	// user tab 0 <nil>
	//   401 the ticket is not valid
}
