package builtin

import (
	"context"
	_ "embed" // descriptions
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/agenttool/tool"
	"github.com/agenttool/tool/truncate"
)

//go:embed bash.md
var bashDescription string

type bashInput struct {
	Command     string `json:"command" jsonschema:"command text" alias:"cmd,script,code"`
	Timeout     int    `json:"timeout,omitempty" jsonschema:"milliseconds until it is ended (default 120000)" minimum:"1" maximum:"600000" alias:"timeout_ms,timeoutMs"`
	Workdir     string `json:"workdir,omitempty" jsonschema:"directory to run in (default: the project)" alias:"cwd,working_dir,working_directory,workingDirectory,dir"`
	Description string `json:"description,omitempty" jsonschema:"what it does, in a few words, for the user"`
}

func defineBash(ts *Toolset) (operation, error) {
	if ts.shell == "" {
		return operation{}, nil
	}
	return define(ts, tool.Def{
		Name: "bash", Title: "Shell", Description: strings.TrimSpace(bashDescription),
		Hints:   tool.Hints{Destructive: true, OpenWorld: true},
		Timeout: -1, MaxOutput: -1,
		Aliases: []string{"shell", "run_command", "execute_command", "run_shell_command", "terminal", "exec"},
	}, ts.planBash)
}

// maxArgument is what may be passed to the shell: systems refuse longer arguments.
const maxArgument = 100 << 10

func (ts *Toolset) planBash(_ context.Context, _ *tool.Call, in bashInput) (*plan, error) {
	switch {
	case strings.TrimSpace(in.Command) == "":
		return nil, errors.New("the command is empty")
	case strings.ContainsRune(in.Command, 0):
		return nil, errors.New("the command contains a NUL byte")
	case len(in.Command) > maxArgument:
		return nil, fmt.Errorf("the command has %d bytes, more than the %d a shell takes; write it to a file and run that", len(in.Command), maxArgument)
	}
	dir, err := ts.searchBase(in.Workdir)
	if err != nil {
		return nil, fmt.Errorf("workdir: %w", err)
	}
	p := &plan{shell: ts.analyse(in.Command, dir.abs)}
	if !dir.inside {
		p.shell.ExternalDirs = unique(append([]string{dir.abs}, p.shell.ExternalDirs...))
	}
	p.asks = ts.askBash(in, dir, p.shell)
	if !dir.isDir() {
		p.fail = fmt.Errorf("workdir %s is not a directory", in.Workdir)
		if dir.inside {
			return nil, p.fail
		}
	}
	limit := ts.limits.CommandTime
	if in.Timeout > 0 {
		limit = time.Duration(in.Timeout) * time.Millisecond
	}
	limit = min(limit, ts.limits.MaxCommandTime)
	p.apply = func(ctx context.Context, call *tool.Call) (*outcome, error) {
		res, err := ts.runBash(ctx, call, in, dir, limit)
		if res == nil {
			return nil, err
		}
		return &outcome{result: res}, err
	}
	return p, nil
}

// askBash returns the questions of a command: directories, then files, then the
// commands themselves.
func (ts *Toolset) askBash(in bashInput, dir location, a *analysis) []ask {
	var asks []ask
	if len(a.ExternalDirs) > 0 {
		var patterns []string
		for _, d := range a.ExternalDirs {
			patterns = append(patterns, dirPattern(d))
		}
		asks = append(asks, ask{req: &tool.Request{
			Permission: "external_directory", Title: "Access directories outside the project",
			Patterns: patterns, Always: patterns,
			Metadata: map[string]any{"filepath": a.ExternalDirs[0], "parentDir": a.ExternalDirs[0], "directories": a.ExternalDirs, "command": in.Command},
		}})
	}
	for _, s := range a.Secrets {
		asks = append(asks, ask{req: pathRequest("read", "Read "+ts.display(s), ts.display(s), true)})
	}
	for _, w := range a.Writes {
		l, err := ts.fsys.resolve(w)
		if err != nil {
			continue // then the shell cannot write it either
		}
		asks = append(asks, ask{req: pathRequest("edit", "Write "+l.display, l.display, l.secret || l.protected)})
	}
	if len(a.Patterns) == 0 {
		return asks // nothing but cd
	}
	return append(asks, ask{
		req: &tool.Request{
			Permission: "bash", Title: clip(firstLine(in), 200),
			Patterns: a.Patterns, Always: append([]string{}, a.Always...),
			Metadata: map[string]any{"command": in.Command, "workdir": dir.abs, "description": in.Description, "reasons": a.Reasons},
		},
		effect: in.Command + "\x00" + dir.abs,
	})
}

func (ts *Toolset) display(abs string) string {
	if within(ts.fsys.dir, abs) {
		return ts.fsys.rel(abs)
	}
	return filepath.ToSlash(abs)
}

func firstLine(in bashInput) string {
	if in.Description != "" {
		return visible(in.Description)
	}
	line, _, _ := strings.Cut(strings.TrimSpace(in.Command), "\n")
	return visible(line)
}

// expandHome does what a shell does with a leading ~.
func (ts *Toolset) expandHome(word string) string {
	if word != "~" && !strings.HasPrefix(word, "~/") {
		return word
	}
	for _, kv := range ts.env {
		if home, ok := strings.CutPrefix(kv, "HOME="); ok && home != "" {
			return home + word[1:]
		}
	}
	if home, err := os.UserHomeDir(); err == nil {
		return home + word[1:]
	}
	return word
}

const (
	updateEvery = 50 * time.Millisecond
	updateBytes = 8 << 10 // of output in an update: its end
)

// runBash runs the command. The result is there also if the call was cancelled.
func (ts *Toolset) runBash(ctx context.Context, call *tool.Call, in bashInput, dir location, limit time.Duration) (*tool.Result, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	out := truncate.NewCollector(&truncate.CollectorOptions{Spill: ts.cfg.Spill, Errors: 20})
	defer out.Close()
	p := &process{
		argv: shellArgs(ts.shell, in.Command), dir: dir.abs, env: ts.env,
		timeout: limit, grace: ts.limits.KillGrace, out: out,
	}
	stop := reportProgress(call, in, out)
	e, err := p.run(ctx)
	stop()
	out.End()
	if err != nil {
		return nil, err
	}
	// Keeping the output must not fail because the call was cancelled.
	cut := out.Cut(context.WithoutCancel(ctx), truncate.Policy{
		MaxBytes: ts.limits.CommandOutput, MaxLines: -1, Keep: truncate.HeadTail, Errors: 20,
		Hint: func(c truncate.Cut) string { return cutHint(call, c) },
	})
	aborted := ctx.Err() != nil
	text := strings.TrimRight(cut.Text, "\n")
	if text == "" {
		text = "(no output)"
	}
	meta := map[string]any{
		"output": text, "description": in.Description, "exit": any(e.code),
		"timedOut": e.timedOut, "aborted": aborted, "truncated": cut.Truncated,
	}
	if e.signal != "" {
		meta["exit"], meta["signal"] = nil, e.signal
	}
	if cut.Path != "" {
		meta["outputPath"] = cut.Path
	}
	res := &tool.Result{Title: firstLine(in), Text: text + "\n" + status(e, limit, aborted), Metadata: meta}
	if aborted {
		return res, ctx.Err()
	}
	return res, nil
}

// status is the last line of every result.
func status(e ended, limit time.Duration, aborted bool) string {
	took := e.took.Round(10 * time.Millisecond)
	switch {
	case e.timedOut:
		return fmt.Sprintf("[timed out after %s and was ended; give a longer timeout if it needs one]", limit)
	case aborted:
		return fmt.Sprintf("[cancelled after %s]", took)
	case e.signal != "":
		return fmt.Sprintf("[ended by signal: %s, %s]", e.signal, took)
	}
	return fmt.Sprintf("[exit %d, %s]", e.code, took)
}

func cutHint(call *tool.Call, c truncate.Cut) string {
	if c.Path == "" || !call.Offers("read") {
		return ""
	}
	return fmt.Sprintf("See the rest with read filePath=%q.", c.Path)
}

// reportProgress shows the end of the output while it grows, until stop is called.
func reportProgress(call *tool.Call, in bashInput, out *truncate.Collector) (stop func()) {
	show := func(text string) {
		call.Update(tool.Update{
			Title: firstLine(in), Text: text,
			Metadata: map[string]any{"output": text, "description": in.Description},
		})
	}
	show("")
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(updateEvery)
		defer tick.Stop()
		var seen int64
		for {
			select {
			case <-quit:
				return
			case <-tick.C:
				if s := out.Snapshot(updateBytes); s.Raw != seen {
					seen = s.Raw
					show(s.Text)
				}
			}
		}
	}()
	return func() {
		close(quit)
		<-done
	}
}
