// Browser runs an agent's side that serves a web page. The tab that opens it lends
// its tools to the agent: it reads the title, asks its user for a number, draws,
// and remembers. The host cuts the connection in the middle of the drawing, which
// nobody has to notice.
//
//	go run ./examples/browser         # open the address that it prints
//	go run ./examples/browser -once   # the agent begins when a tab is there, and the program ends with it
//
// The address holds a key after the #, which browsers do not send. The page proves
// with it that it was opened by the user who started the program: as a header
// where a browser can send one, and as a one-time ticket for the WebSocket.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:0", "a loopback address to listen on")
	once := flag.Bool("once", false, "run the agent as soon as a tab has connected, and end with it")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	h, err := newHost(*addr, os.Stdout)
	if err == nil {
		fmt.Println("open", h.url())
		err = h.run(ctx, *once)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "browser:", err)
		os.Exit(1)
	}
}
