package discover

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/agenttool/tool"
	"github.com/agenttool/tool/internal/proc"
	"github.com/agenttool/tool/truncate"
)

const (
	maxOutput    = 8 << 20 // bytes of standard output that are taken
	maxErrorText = 4 << 10 // bytes of standard error that the model reads
	maxShown     = 4 << 10 // bytes of arguments that a question shows
)

// tool makes the tool that runs the program.
func (p *program) tool() (tool.Tool, error) {
	return tool.Raw(tool.Def{
		Name: p.Name, Description: p.Description, Input: p.Input,
		Hints: p.Hints, Parallel: p.Parallel, Timeout: -1,
	}, p.run)
}

// request is what a call asks.
func (p *program) request(call *tool.Call) *tool.Request {
	args := call.Input
	if len(args) > maxShown {
		args = append(bytes.Clone(args[:maxShown]), "…"...)
	}
	return &tool.Request{
		Permission: p.Name, Title: "Run " + strings.Join(p.argv, " "), Patterns: []string{p.digest}, Always: []string{p.digest},
		Metadata: map[string]any{"command": p.argv, "input": string(args), "manifest": p.file, "description": p.Description},
	}
}

func (p *program) run(ctx context.Context, call *tool.Call) (*tool.Result, error) {
	if err := call.Ask(ctx, p.request(call)); err != nil {
		return nil, err
	}
	if err := p.again(); err != nil {
		return nil, err
	}
	agent := ""
	if call.Agent != nil {
		agent = call.Agent.Name
	}
	env, _ := proc.Environ(&proc.EnvOptions{Keep: p.source.Keep, Roots: []string{p.source.Root}, Set: []string{
		"TOOL_NAME=" + p.Name, "TOOL_DIR=" + p.dirOfManifest(), "TOOL_SESSION_ID=" + plain(call.SessionID),
		"TOOL_MESSAGE_ID=" + plain(call.MessageID), "TOOL_CALL_ID=" + plain(call.ID), "TOOL_AGENT=" + plain(agent),
	}})
	out := &limited{most: maxOutput}
	limit := p.limit()
	ps, err := proc.Start(ctx, &proc.Spec{
		Path: p.argv[0], Args: p.argv[1:], Dir: p.source.Root, Env: env, Input: true, Stdout: out, Timeout: limit, Leftovers: proc.LeftoversKill,
		Show: truncate.Policy{MaxBytes: maxErrorText, MaxLines: -1, Keep: truncate.Tail},
	})
	if err != nil {
		return nil, fmt.Errorf("%s cannot be started: %w", p.Name, err)
	}
	defer ps.Close()
	feed, stop := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() {
		_ = ps.WriteInput(feed, call.Input) // a program need not read what it does not use
		_ = ps.CloseInput()
	})
	res := ps.Wait()
	stop()
	wg.Wait()
	<-ps.Done()
	text, cut := out.bytes()
	r, err := p.result(text)
	if cut {
		err = errors.Join(err, fmt.Errorf("%s wrote more than %d bytes; the rest is lost", p.Name, maxOutput))
	}
	switch {
	case ctx.Err() != nil:
		return r, context.Cause(ctx)
	case res.TimedOut:
		return r, &tool.TimeoutError{Tool: p.Name, Limit: limit}
	case res.Exit != 0:
		failed := fmt.Errorf("%s failed (%s)", p.Name, res.Status())
		if e := strings.TrimSpace(res.Text); e != "" {
			failed = fmt.Errorf("%w: %s", failed, e)
		}
		if p.Output == "result" && err != nil && len(bytes.TrimSpace(text)) > 0 && json.Valid(text) {
			failed = errors.Join(err, failed) // it said why
		}
		return r, failed
	}
	return r, err
}

func (p *program) dirOfManifest() string {
	return p.file[:strings.LastIndexAny(p.file, `/\`)]
}

// plain is a value for the environment.
func plain(s string) string { return strings.ReplaceAll(s, "\x00", "") }

// limited keeps the first bytes that are written to it.
type limited struct {
	mu   sync.Mutex
	buf  []byte
	most int
	cut  bool
}

// Write never fails, so that the program can go on.
func (l *limited) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	room := l.most - len(l.buf)
	l.cut = l.cut || len(b) > room
	l.buf = append(l.buf, b[:min(room, len(b))]...)
	return len(b), nil
}

func (l *limited) bytes() ([]byte, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf, l.cut
}
