package builtin

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/agenttool/tool"
	"github.com/agenttool/tool/truncate"
)

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
	res := &tool.Result{Title: in.title(), Text: text + "\n" + status(e, limit, aborted), Metadata: meta}
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
			Title: in.title(), Text: text,
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
