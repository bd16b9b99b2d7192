package builtin

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/agenttool/tool"
	"github.com/agenttool/tool/internal/proc"
	"github.com/agenttool/tool/truncate"
)

const (
	foldLines  = 10                     // equal lines that are shown as one and a count
	errorLines = 20                     // lines of the part left out that look like errors
	firstLook  = 500 * time.Millisecond // how long a background command is watched: most that fail do so at once
)

// running is one command on its way.
type running struct {
	ts    *Toolset
	call  *tool.Call
	in    bashInput
	dir   string
	limit time.Duration
	hint  string // what to know before it has even ended

	writes   []string         // files that it would write
	enforced *SandboxEnforced // nil without a sandbox
}

// run runs the command. The result is there also if the call was cancelled.
func (r *running) run(ctx context.Context) (*tool.Result, error) {
	ts := r.ts
	path, args, remove, err := ts.shell.Command(context.WithoutCancel(ctx), r.in.Command, ts.cfg.Spill)
	if err != nil {
		return nil, err
	}
	spec := &proc.Spec{
		Path: path, Args: args, Dir: r.dir, Env: ts.env, Input: r.in.Background,
		Timeout: r.limit, Grace: ts.limits.KillGrace, Leftovers: proc.LeftoversKeep,
		Collect: truncate.CollectorOptions{Spill: ts.cfg.Spill, Errors: errorLines, Fold: foldLines},
		Show: truncate.Policy{
			MaxBytes: ts.limits.CommandOutput, MaxLines: -1, Keep: truncate.HeadTail, Errors: errorLines,
			Hint: func(c truncate.Cut) string { return cutHint(r.call, c) },
		},
		Update: r.update,
	}
	if ts.cfg.Bash.OnTimeout == TimeoutJob && !ts.cfg.Bash.NoJobs {
		spec.OnTimeout = proc.TimeoutDetach
	}
	if ts.cfg.Bash.KillLeftovers || ts.cfg.Bash.NoJobs {
		spec.Leftovers = proc.LeftoversKill
	}
	if r.in.Background {
		spec.Timeout = 0
	}
	if ts.cfg.Bash.Sandbox != nil {
		spec.Start = r.sandboxed
	}
	p, err := proc.Start(ctx, spec)
	if err != nil {
		remove()
		var dir *proc.DirError
		if errors.As(err, &dir) && r.in.Workdir != "" {
			return nil, fmt.Errorf("workdir: %w", err)
		}
		return nil, err
	}
	if r.in.Background {
		look, cancel := context.WithTimeout(ctx, firstLook)
		p.WaitUntil(look, proc.Until{Exit: true})
		cancel()
		if ctx.Err() == nil {
			p.Detach()
		}
	}
	res := p.Wait()
	if !res.Running && len(res.Leftovers) == 0 {
		<-p.Done()
		remove()
		return r.result(ctx, p, p.Result(), nil)
	}
	j, err := ts.jobs.adopt(r, p, res, remove)
	if err != nil {
		_ = p.Close()
		remove()
		final := p.Result()
		note := *final
		note.Notes = append(append([]string{}, final.Notes...), err.Error())
		return r.result(ctx, p, &note, nil)
	}
	return r.result(ctx, p, res, j)
}

// update shows how things stand. It is called from one goroutine, at most 20
// times a second.
func (r *running) update(u proc.Update) {
	if u.Final {
		u.Text = shownOutput(u.Text)
	}
	meta := map[string]any{"output": u.Text, "description": r.in.Description}
	if u.Waiting != "" {
		meta["waiting_for_input"] = u.Waiting
	}
	if r.hint != "" {
		meta["hint"] = r.hint
	}
	r.call.Update(tool.Update{Title: r.in.title(), Text: u.Text, Metadata: meta})
}

// result says what became of the command; j is the job that it is now, if any.
func (r *running) result(ctx context.Context, p *proc.Process, res *proc.Result, j *job) (*tool.Result, error) {
	text := shownOutput(res.Text)
	meta := map[string]any{
		"output": text, "description": r.in.Description, "exit": any(res.Exit),
		"timedOut": res.TimedOut, "aborted": res.Cancelled, "truncated": res.Cut.Truncated,
	}
	if res.Exit < 0 || res.Running {
		meta["exit"] = nil
	}
	if res.Signal != "" {
		meta["signal"] = res.Signal
	}
	if res.Cut.Path != "" {
		meta["outputPath"] = res.Cut.Path
	}
	if res.Waiting != "" {
		meta["waiting_for_input"] = res.Waiting
	}
	if j != nil {
		meta["job"] = j.id
	}
	if r.enforced != nil {
		meta["sandbox"] = sandboxMeta(r.enforced)
	}
	if members := append(append([]proc.Member{}, res.Leftovers...), res.Ended...); len(members) > 0 {
		meta["leftovers"] = membersMeta(members)
	}
	lines := append([]string{text}, "["+r.status(res, j)+"]")
	notes := append(slices.Clone(res.Notes), r.notes(res)...)
	if note := r.ts.drifted(ctx, r.call.SessionID, meta); note != "" {
		notes = append(notes, note)
	}
	for _, n := range notes {
		lines = append(lines, "["+strings.TrimSuffix(n, ".")+"]")
	}
	out := &tool.Result{Title: r.in.title(), Text: strings.Join(lines, "\n"), Metadata: meta}
	if res.Cancelled {
		return out, ctx.Err()
	}
	return out, nil
}

// shownOutput is the output of a command that is over, as part of a result.
func shownOutput(text string) string {
	if text = strings.TrimRight(text, "\n"); text == "" {
		return "(no output)"
	}
	return text
}

// status is the line behind every output.
func (r *running) status(res *proc.Result, j *job) string {
	if j == nil {
		if res.TimedOut {
			return fmt.Sprintf("timed out after %s and was ended; give a longer timeout if it needs one", proc.Took(r.limit))
		}
		return res.Status()
	}
	how := fmt.Sprintf("read on with job_output job=%q, end it with job_kill", j.id)
	switch {
	case res.TimedOut:
		return fmt.Sprintf("timed out after %s, still running as %s; %s", proc.Took(r.limit), j.id, how)
	case res.Running:
		return fmt.Sprintf("running as %s; %s", j.id, how)
	}
	return fmt.Sprintf("%s; left running as %s: %s; %s", res.Status(), j.id, memberNames(res.Leftovers), how)
}

// notes are what the model should know beside the output.
func (r *running) notes(res *proc.Result) []string {
	var notes []string
	if len(res.Ended) > 0 && !res.TimedOut && !res.Cancelled {
		notes = append(notes, "ended what it left running: "+memberNames(res.Ended))
	}
	if res.Waiting != "" {
		answer := "pass the option that answers it, such as -y, or put the answer into the command with a pipe"
		if !r.ts.cfg.Bash.NoJobs {
			answer += ", or run it with background and answer with job_input"
		}
		notes = append(notes, fmt.Sprintf("it seems to wait for input at %q, and there is none: %s", clip(visible(res.Waiting), 200), answer))
	}
	if r.hint != "" {
		notes = append(notes, r.hint)
	}
	return notes
}

// memberNames lists processes, but not without end.
func memberNames(list []proc.Member) string {
	const most = 5
	var names []string
	for _, m := range list[:min(len(list), most)] {
		names = append(names, fmt.Sprintf("%s (pid %d)", visible(m.Command), m.PID))
	}
	if n := len(list) - most; n > 0 {
		names = append(names, fmt.Sprintf("and %d more", n))
	}
	return strings.Join(names, ", ")
}

func membersMeta(list []proc.Member) []map[string]any {
	out := make([]map[string]any, len(list))
	for i, m := range list {
		out[i] = map[string]any{"pid": m.PID, "command": visible(m.Command)}
	}
	return out
}

// drifted names the files that the session has read and that are not what they
// were then, "" if there are none. Each change is told once.
func (ts *Toolset) drifted(ctx context.Context, session string, meta map[string]any) string {
	const most = 10
	list, _ := ts.memory.tracker.CheckTracked(context.WithoutCancel(ctx), session, ts.fsys.root)
	if len(list) == 0 {
		return ""
	}
	all := make([]string, len(list))
	shown := make([]string, len(list))
	for i, d := range list {
		all[i], shown[i] = d.Display, visible(d.Display)
		if d.Gone {
			shown[i] += " (gone)"
		}
	}
	slices.Sort(all)
	slices.Sort(shown)
	meta["changedFiles"] = all
	more := ""
	if n := len(shown) - most; n > 0 {
		more = fmt.Sprintf(" and %d more", n)
	}
	return "changed since you read them: " + strings.Join(shown[:min(len(shown), most)], ", ") + more
}

func cutHint(call *tool.Call, c truncate.Cut) string {
	if c.Path == "" || !call.Offers("read") {
		return ""
	}
	return fmt.Sprintf("See the rest with read filePath=%q.", c.Path)
}
