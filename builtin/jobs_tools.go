package builtin

import (
	"context"
	_ "embed" // descriptions
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/agenttool/tool"
	"github.com/agenttool/tool/internal/proc"
)

//go:embed job_output.md
var jobOutputDescription string

//go:embed job_input.md
var jobInputDescription string

//go:embed job_kill.md
var jobKillDescription string

//go:embed job_list.md
var jobListDescription string

type jobOutputInput struct {
	Job   string `json:"job" jsonschema:"id of the job" alias:"id,jobId,job_id,jobID,bash_id,shell_id"`
	Since *int64 `json:"since,omitempty" jsonschema:"position to read from (default: where you stopped)" minimum:"0" alias:"cursor,offset"`
	Wait  int    `json:"wait,omitempty" jsonschema:"milliseconds to wait at most" minimum:"0" maximum:"30000" alias:"timeout,waitMs,wait_ms"`
	Until string `json:"until,omitempty" jsonschema:"exit, or a regular expression for the output" alias:"pattern,filter"`
	Idle  int    `json:"idle,omitempty" jsonschema:"milliseconds of silence to wait for" minimum:"0" maximum:"30000" alias:"idleMs,idle_ms"`
}

type jobInputInput struct {
	Job   string `json:"job" jsonschema:"id of the job" alias:"id,jobId,job_id,jobID"`
	Input string `json:"input,omitempty" jsonschema:"text to write" alias:"text,data,chars"`
	Close bool   `json:"close,omitempty" jsonschema:"end the input after that" alias:"eof"`
}

type jobKillInput struct {
	Job string `json:"job" jsonschema:"id of the job" alias:"id,jobId,job_id,jobID,shell_id"`
}

type jobListInput struct{}

// maxWait is how long job_output waits if the call names a condition and no time.
const maxWait = 30 * time.Second

// defineJob defines a tool that is there only if jobs are.
func defineJob[In any](ts *Toolset, def tool.Def, makePlan func(ctx context.Context, call *tool.Call, in In) (*plan, error)) (operation, error) {
	if ts.shell == nil || ts.cfg.Bash.NoJobs {
		return operation{}, nil
	}
	def.Timeout, def.MaxOutput = -1, -1
	def.Description = strings.TrimSpace(def.Description)
	return define(ts, def, makePlan)
}

func defineJobOutput(ts *Toolset) (operation, error) {
	return defineJob(ts, tool.Def{
		Name: "job_output", Title: "Job output", Description: jobOutputDescription, Parallel: true,
		Hints: tool.Hints{ReadOnly: true}, Aliases: []string{"bash_output", "BashOutput"},
	}, ts.planJobOutput)
}

func defineJobInput(ts *Toolset) (operation, error) {
	return defineJob(ts, tool.Def{
		Name: "job_input", Title: "Job input", Description: jobInputDescription,
		Hints: tool.Hints{Destructive: true, OpenWorld: true}, Aliases: []string{"write_stdin"},
	}, ts.planJobInput)
}

func defineJobKill(ts *Toolset) (operation, error) {
	return defineJob(ts, tool.Def{
		Name: "job_kill", Title: "End job", Description: jobKillDescription,
		Hints: tool.Hints{Destructive: true}, Aliases: []string{"kill_bash", "KillBash", "kill_shell", "KillShell"},
	}, ts.planJobKill)
}

func defineJobList(ts *Toolset) (operation, error) {
	return defineJob(ts, tool.Def{
		Name: "job_list", Title: "Jobs", Description: jobListDescription, Parallel: true,
		Hints: tool.Hints{ReadOnly: true},
	}, ts.planJobList)
}

// unasked is a plan that asks nothing.
func unasked(apply func(ctx context.Context) (*tool.Result, error)) (*plan, error) {
	return &plan{apply: func(ctx context.Context, _ *tool.Call) (*outcome, error) {
		res, err := apply(ctx)
		if res == nil {
			return nil, err
		}
		return &outcome{result: res}, err
	}}, nil
}

func (ts *Toolset) planJobOutput(_ context.Context, call *tool.Call, in jobOutputInput) (*plan, error) {
	j, err := ts.jobs.get(call.SessionID, in.Job)
	if err != nil {
		return nil, err
	}
	if j.past != nil {
		return unasked(func(context.Context) (*tool.Result, error) { return j.pastResult(), nil })
	}
	until := proc.Until{Idle: time.Duration(in.Idle) * time.Millisecond, Exit: true}
	switch in.Until {
	case "":
		if in.Idle == 0 {
			until.Match = anything
		}
	case "exit":
	default:
		if until.Match, err = regexp.Compile("(?m)" + in.Until); err != nil {
			return nil, fmt.Errorf("until: %w", err)
		}
	}
	wait := time.Duration(in.Wait) * time.Millisecond
	if wait == 0 && (in.Until != "" || in.Idle > 0) {
		wait = maxWait
	}
	return unasked(func(ctx context.Context) (*tool.Result, error) {
		return ts.readJob(ctx, call.SessionID, j, in.Since, until, wait)
	})
}

// anything matches any output at all.
var anything = regexp.MustCompile(`(?s).`)

// readJob waits for what until says and returns what is new.
func (ts *Toolset) readJob(ctx context.Context, session string, j *job, since *int64, until proc.Until, wait time.Duration) (*tool.Result, error) {
	j.mu.Lock()
	until.Cursor = j.cursor
	j.mu.Unlock()
	if since != nil {
		until.Cursor = *since
	}
	note := ""
	if wait > 0 {
		limited, cancel := context.WithTimeout(ctx, wait)
		why, match := j.p.WaitUntil(limited, until)
		cancel()
		if err := ctx.Err(); err != nil {
			return nil, context.Cause(ctx)
		}
		if why == proc.ReasonExit || why == proc.ReasonDone {
			j.settle(ctx)
		}
		note = waited(why, match, until, wait)
	}
	c := j.p.Since(until.Cursor, ts.limits.CommandOutput)
	j.mu.Lock()
	j.cursor = max(j.cursor, c.Next)
	j.mu.Unlock()
	text := c.Text
	if c.Next >= c.End {
		text += c.Pending
	}
	if c.Dropped > 0 {
		text = fmt.Sprintf("[%d bytes before this are no longer kept]\n", c.Dropped) + text
	}
	if text = strings.TrimRight(text, "\n"); text == "" {
		text = "(no new output)"
	}
	status := j.status()
	more := ""
	if c.Next < c.End {
		more = fmt.Sprintf("\n[%d more bytes: call again]", c.End-c.Next)
	}
	meta := map[string]any{
		"job": j.id, "output": text, "next": c.Next, "dropped": c.Dropped, "running": j.active(),
		"command": j.command, "description": j.description, "truncated": c.Next < c.End,
	}
	if res := j.p.Result(); res != nil && !res.Running && res.Exit >= 0 {
		meta["exit"] = res.Exit
	}
	end := fmt.Sprintf("\n[%s: %s; next=%d]", j.id, status, c.Next)
	if changed := ts.drifted(ctx, session, meta); changed != "" {
		end += "\n[" + changed + "]"
	}
	return &tool.Result{Title: j.id + ": " + commandTitle(j.command), Text: text + more + note + end, Metadata: meta}, nil
}

// waited says how the wait ended if the output does not.
func waited(why proc.Reason, match string, until proc.Until, wait time.Duration) string {
	switch {
	case why == proc.ReasonMatch && until.Match != anything:
		return fmt.Sprintf("\n[matched %q]", clip(visible(match), 100))
	case why == proc.ReasonContext:
		return fmt.Sprintf("\n[waited %s in vain]", proc.Took(wait))
	}
	return ""
}

// planJobInput asks as for a command: what a program reads may make it run anything.
func (ts *Toolset) planJobInput(_ context.Context, call *tool.Call, in jobInputInput) (*plan, error) {
	j, err := ts.jobs.get(call.SessionID, in.Job)
	if err != nil {
		return nil, err
	}
	if j.past != nil {
		return nil, fmt.Errorf("%s takes no input: it %s", j.id, j.past.status)
	}
	if in.Input == "" && !in.Close {
		return nil, fmt.Errorf("there is nothing to write; give input, or close")
	}
	p, err := unasked(func(ctx context.Context) (*tool.Result, error) {
		if in.Input != "" {
			limited, cancel := context.WithTimeout(ctx, maxWait)
			defer cancel()
			if err := j.p.WriteInput(limited, []byte(in.Input)); err != nil {
				return nil, fmt.Errorf("%s: %w", j.id, err)
			}
		}
		text := fmt.Sprintf("Wrote %d bytes to %s.", len(in.Input), j.id)
		if in.Close {
			if err := j.p.CloseInput(); err != nil {
				return nil, fmt.Errorf("%s: %w", j.id, err)
			}
			text += " Its input is closed."
		}
		return &tool.Result{Title: j.id, Text: text, Metadata: map[string]any{"job": j.id}}, nil
	})
	if in.Input != "" {
		p.asks = []ask{{req: &tool.Request{
			Permission: "bash", Title: "Write to " + j.id + ": " + commandTitle(in.Input), Patterns: []string{in.Input}, Always: []string{}, Opaque: true,
			Metadata: map[string]any{"job": j.id, "command": j.command, "input": in.Input},
		}, effect: j.id}}
	}
	return p, err
}

func (ts *Toolset) planJobKill(_ context.Context, call *tool.Call, in jobKillInput) (*plan, error) {
	j, err := ts.jobs.get(call.SessionID, in.Job)
	if err != nil {
		return nil, err
	}
	if j.past != nil {
		return nil, fmt.Errorf("%s cannot be ended: it %s", j.id, j.past.status)
	}
	return unasked(func(ctx context.Context) (*tool.Result, error) {
		was := j.active()
		res, err := j.p.Kill(ctx)
		if err != nil {
			return nil, fmt.Errorf("%s is still ending: %w", j.id, err)
		}
		text := j.id + ": " + jobEnd(res)
		if !was {
			text = j.id + " had ended before: " + jobEnd(res)
		}
		if len(res.Leftovers) > 0 {
			text += "; could not be ended: " + memberNames(res.Leftovers)
		}
		return &tool.Result{Title: j.id, Text: text, Metadata: map[string]any{"job": j.id, "running": j.active(), "killed": was}}, nil
	})
}

func (ts *Toolset) planJobList(_ context.Context, call *tool.Call, _ jobListInput) (*plan, error) {
	return unasked(func(context.Context) (*tool.Result, error) {
		list := ts.jobs.of(call.SessionID)
		lines, meta := []string{}, []map[string]any{}
		for _, j := range list {
			status := j.status()
			lines = append(lines, fmt.Sprintf("%s: %s: %s", j.id, status, commandTitle(j.command)))
			meta = append(meta, map[string]any{"job": j.id, "status": status, "command": j.command, "description": j.description, "running": j.active()})
			if j.p != nil {
				meta[len(meta)-1]["pid"] = j.p.PID()
			}
		}
		text := "There are no jobs."
		if len(lines) > 0 {
			text = strings.Join(lines, "\n")
		}
		return &tool.Result{Title: plural(len(list), "job"), Text: text, Metadata: map[string]any{"jobs": meta}}, nil
	})
}

// pastResult is what is left to read of a job of an earlier run of the program.
func (j *job) pastResult() *tool.Result {
	text := strings.TrimRight(j.past.output, "\n")
	if text == "" {
		text = "(no output)"
	}
	meta := map[string]any{"job": j.id, "output": text, "running": false, "command": j.command, "description": j.description, "truncated": false}
	if j.past.exit != nil {
		meta["exit"] = *j.past.exit
	}
	return &tool.Result{Title: j.id + ": " + commandTitle(j.command), Text: fmt.Sprintf("%s\n[%s: %s]", text, j.id, j.past.status), Metadata: meta}
}
