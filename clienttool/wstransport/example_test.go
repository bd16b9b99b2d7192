package wstransport_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/agenttool/tool"
	"github.com/agenttool/tool/clienttool"
	"github.com/agenttool/tool/clienttool/httptransport"
	"github.com/agenttool/tool/clienttool/wstransport"
)

// WebSocket beside the routes of HTTP, below one path.
func Example() {
	hub, err := clienttool.NewHub(clienttool.Options{})
	if err != nil {
		panic(err)
	}
	defer hub.Close()
	guard := httptransport.Guard{Authenticate: func(r *http.Request) (clienttool.Peer, error) {
		return clienttool.Peer{Principal: r.Header.Get("X-User")}, nil // a real host checks
	}}
	mux := http.NewServeMux()
	mux.Handle("/client-tools/ws/", http.StripPrefix("/client-tools", wstransport.Handler(hub, wstransport.Options{Guard: guard})))
	mux.Handle("/client-tools/", http.StripPrefix("/client-tools", httptransport.Handler(hub, httptransport.Options{Guard: guard})))
	srv := httptest.NewServer(mux)
	defer srv.Close()

	ready := make(chan struct{}, 8)
	client := clienttool.NewClient("laptop", wstransport.Dial(srv.URL+"/client-tools/ws/laptop", wstransport.DialOptions{
		Header: http.Header{"X-User": {"ada"}},
	}), clienttool.ClientOptions{OnTools: func(clienttool.ToolsInfo) { ready <- struct{}{} }})
	err = client.AddTool(tool.Func(tool.Def{Name: "double", Description: "Doubles."}, func(_ context.Context, in struct {
		N int `json:"n"`
	}) (int, error) {
		return 2 * in.N, nil
	}))
	if err != nil {
		panic(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- client.Run(ctx) }()
	<-ready
	res, err := hub.Execute(ctx, clienttool.CallRequest{Tool: "client_laptop_double", Input: []byte(`{"n":21}`)})
	if err != nil {
		panic(err)
	}
	fmt.Println(res.Output)
	cancel()
	<-ended
	// Output: 42
}
