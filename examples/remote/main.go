// Remote runs an agent's side and a worker as two processes. The worker serves the
// built-in tools over a directory of its own; the host calls them as if they were
// local, asks the questions they have, and loses the connection on purpose in the
// middle of a command, which nobody has to notice.
//
//	go run ./examples/remote
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
)

// The worker is this program again, with these in its environment: where the host
// is, which token proves who it is, and which directory it serves.
const (
	envURL   = "REMOTE_URL"
	envToken = "REMOTE_TOKEN"
	envDir   = "REMOTE_DIR"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var err error
	if url := os.Getenv(envURL); url != "" {
		err = work(ctx, url, os.Getenv(envToken), os.Getenv(envDir))
	} else {
		err = run(ctx, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "remote:", err)
		os.Exit(1)
	}
}

// startWorker starts the worker. It ends when its standard input does, so that it
// does not outlive a host that was killed.
func startWorker(url, token, dir string) (stop func() error, err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), envURL+"="+url, envToken+"="+token, envDir+"="+dir)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return func() error {
		in.Close()
		return cmd.Wait()
	}, nil
}

// untilClosed returns a context that ends with ctx or when standard input is closed.
func untilClosed(ctx context.Context, in io.Reader) context.Context {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		io.Copy(io.Discard, in)
		cancel()
	}()
	return ctx
}
