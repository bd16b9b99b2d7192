package main

import (
	"context"
	"errors"
	"net/http"
	"os"
	"time"

	"github.com/agenttool/tool/builtin"
	"github.com/agenttool/tool/clienttool"
	"github.com/agenttool/tool/clienttool/wstransport"
)

// work serves the built-in tools over dir to the host at url.
func work(ctx context.Context, url, token, dir string) error {
	ctx = untilClosed(ctx, os.Stdin)
	tools, err := builtin.New(builtin.Config{Root: dir})
	if err != nil {
		return err
	}
	defer tools.Close()
	transport := wstransport.Dial(url, wstransport.DialOptions{Header: http.Header{"Authorization": {"Bearer " + token}}})
	client := clienttool.NewClient("worker", transport, clienttool.ClientOptions{
		SessionID: session,
		Backoff:   clienttool.Backoff{Min: 20 * time.Millisecond, Max: time.Second},
	})
	for _, t := range tools.Tools() {
		if err := client.AddTool(t); err != nil {
			return err
		}
	}
	if err := client.Run(ctx); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}
