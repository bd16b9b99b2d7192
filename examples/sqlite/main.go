// Sqlite lends one tool, which answers read-only queries of a database on a laptop, to
// an agent that is somewhere else. The database is embedded and written in Go. It is
// opened so that nothing in it can change; rows, bytes and time of a query are bounded.
// A script stands in for the model.
//
//	go run .
//
// The module is one of its own, so that nobody who imports the library gets SQLite.
package main

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/agenttool/tool"
	"github.com/agenttool/tool/clienttool"
	"github.com/agenttool/tool/permission"
)

const session = "ses_demo"

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := demo(ctx, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "sqlite:", err)
		os.Exit(1)
	}
}

// demo makes a small database and runs the example over it.
func demo(ctx context.Context, out io.Writer) error {
	dir, err := os.MkdirTemp("", "sqlite-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "shop.db")
	if err := fill(ctx, file); err != nil {
		return err
	}
	return run(ctx, out, file)
}

// fill makes the database, as whoever owns it would have.
func fill(ctx context.Context, file string) error {
	db, err := sql.Open("sqlite", file)
	if err != nil {
		return err
	}
	defer db.Close()
	_, err = db.ExecContext(ctx, `
		CREATE TABLE orders (id INTEGER PRIMARY KEY, customer TEXT NOT NULL, cents INTEGER NOT NULL, note TEXT);
		INSERT INTO orders VALUES (1, 'Ada', 1250, NULL), (2, 'Grace', 990, 'gift; wrap it'), (3, 'Ada', 4000, NULL);`)
	return err
}

func run(ctx context.Context, out io.Writer, file string) error {
	db, err := openReadOnly(ctx, file)
	if err != nil {
		return err
	}
	defer db.Close()
	hub, err := clienttool.NewHub(clienttool.Options{})
	if err != nil {
		return err
	}
	defer hub.Close()

	// The client's side. Both are in one process here, so a pipe will do.
	served := make(chan error, 1)
	transport := clienttool.DialFunc(func(context.Context) (clienttool.Conn, error) {
		host, client := clienttool.Pipe(16)
		go func() { served <- hub.Serve(context.WithoutCancel(ctx), clienttool.Peer{Principal: "user"}, host) }()
		return client, nil
	})
	registered := make(chan struct{}, 1)
	client := clienttool.NewClient("laptop", transport, clienttool.ClientOptions{
		SessionID: session, OnTools: func(clienttool.ToolsInfo) { registered <- struct{}{} },
	})
	if err := client.AddTool(queryTool(db)); err != nil {
		return err
	}
	cctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- client.Run(cctx) }()
	defer func() { cancel(); <-ended; <-served }()
	<-registered

	// The agent's side. Whoever may query is asked for once, by its rules.
	var registry tool.Registry
	registry.AddSource(hub)
	agent := &tool.Agent{Name: "demo", SessionID: session}
	set, err := registry.Resolve(ctx, agent)
	if err != nil {
		return err
	}
	ex := &tool.Executor{Approver: &permission.Gate{Rules: permission.Ruleset{
		{Permission: clienttool.Permission, Pattern: "client_laptop_query_database", Action: permission.Allow},
		{Permission: "query_database", Pattern: "*", Action: permission.Allow},
	}}}
	for i, q := range []string{
		"SELECT customer, count(*) AS orders, sum(cents) / 100.0 AS total FROM orders GROUP BY customer ORDER BY customer",
		"SELECT note FROM orders WHERE note LIKE '%;%'",
		"DELETE FROM orders",
		"WITH gone AS (SELECT 1) DELETE FROM orders",
		"SELECT * FROM invoices",
	} {
		fmt.Fprintf(out, "> %s\n", q)
		o := ex.Do(ctx, set, &tool.Call{ID: fmt.Sprint("call_", i+1), Tool: "client_laptop_query_database", SessionID: session, Agent: agent,
			Input: fmt.Appendf(nil, `{"query":%q}`, q)})
		if o.Err != nil {
			fmt.Fprintln(out, "error:", o.Result.Text)
			continue
		}
		fmt.Fprintf(out, "%s (%v rows): %s\n", o.Result.Title, o.Result.Metadata["rowCount"], o.Result.Text)
	}
	return nil
}
