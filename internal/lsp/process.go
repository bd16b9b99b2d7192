package lsp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/agenttool/tool/internal/proc"
	"github.com/agenttool/tool/truncate"
)

// Process is a server that runs. Its Read and Write fail once it has ended.
type Process interface {
	io.ReadWriter // its standard output, and its standard input

	Done() <-chan struct{} // closed when nothing of it is left
	Stop()                 // ends it and all that it started, and waits for that
	Status() string        // how it ended, "exit 2"; "" while it runs
	Stderr() string        // the end of what it wrote to its standard error
}

const (
	stderrKept = 4 << 10
	stopGrace  = 500 * time.Millisecond
)

// command is a Process of package proc.
type command struct {
	p   *proc.Process
	out *io.PipeReader
}

// startCommand starts the program of a server. Only Stop ends it.
func startCommand(cfg *Server, env []string, workspace, dir string) (Process, error) {
	env = append(slices.Clone(env), cfg.Env...)
	path, err := findProgram(cfg, env, workspace)
	if err != nil {
		return nil, err
	}
	r, w := io.Pipe()
	p, err := proc.Start(context.Background(), &proc.Spec{
		Path: path, Args: cfg.Args, Dir: dir, Env: env, Input: true, Stdout: w, Grace: stopGrace, Leftovers: proc.LeftoversKill,
		Collect: truncate.CollectorOptions{}, Show: truncate.Policy{MaxBytes: stderrKept, MaxLines: -1, Keep: truncate.Tail},
	})
	if err != nil {
		return nil, err
	}
	return &command{p: p, out: r}, nil
}

// findProgram looks a command up in PATH of env. What lies inside the workspace
// is taken only if the host named it by its path: a project must not bring the
// program that is run because somebody opened it.
func findProgram(cfg *Server, env []string, workspace string) (string, error) {
	missing := func(why string) error {
		hint := ""
		if cfg.Hint != "" {
			hint = ". To install it: " + cfg.Hint
		}
		return fmt.Errorf("%s is %w: %s%s", cfg.Name, ErrNotFound, why, hint)
	}
	if cfg.Command == "" {
		return "", missing("no command is configured")
	}
	if filepath.IsAbs(cfg.Command) {
		if _, err := exec.LookPath(cfg.Command); err != nil {
			return "", missing(cfg.Command + " cannot be run")
		}
		return cfg.Command, nil
	}
	if filepath.Base(cfg.Command) != cfg.Command {
		return "", missing("the command " + cfg.Command + " is neither a name nor an absolute path")
	}
	list := ""
	for _, kv := range env {
		if name, value, _ := strings.Cut(kv, "="); strings.EqualFold(name, "PATH") {
			list = value
		}
	}
	for _, dir := range filepath.SplitList(list) {
		if !filepath.IsAbs(dir) {
			continue
		}
		path, err := exec.LookPath(filepath.Join(dir, cfg.Command))
		if err != nil || !filepath.IsAbs(path) {
			continue
		}
		if real, err := filepath.EvalSymlinks(path); err != nil || inside(workspace, path) || inside(workspace, real) {
			continue
		}
		return path, nil
	}
	return "", missing(cfg.Command + " was not found in PATH")
}

// inside reports whether a path is dir or below it.
func inside(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && (rel == "." || filepath.IsLocal(rel))
}

func (c *command) Read(b []byte) (int, error) { return c.out.Read(b) }

func (c *command) Write(b []byte) (int, error) {
	if err := c.p.WriteInput(context.Background(), b); err != nil {
		return 0, err
	}
	return len(b), nil
}

func (c *command) Done() <-chan struct{} { return c.p.Done() }

func (c *command) Stop() {
	_ = c.out.CloseWithError(errors.New("the server was ended")) // frees who fills the pipe
	_ = c.p.CloseInput()
	_ = c.p.Close()
}

func (c *command) Status() string {
	r := c.p.Result()
	if r == nil || r.Running {
		return ""
	}
	return r.Status()
}

func (c *command) Stderr() string {
	end := c.p.Since(1<<62, 1).End
	chunk := c.p.Since(max(0, end-stderrKept), stderrKept)
	return strings.TrimSpace(chunk.Text + chunk.Pending)
}
