package builtin

import (
	"context"
	_ "embed" // descriptions
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/agenttool/tool"
	"github.com/agenttool/tool/truncate"
)

//go:embed task.md
var taskDescription string

const (
	maxAgents      = 40      // that the description lists
	maxAgentList   = 8 << 10 // bytes of the list
	maxAgentText   = 400     // bytes of one agent's description
	maxTaskPrompt  = 256 << 10
	maxTaskTitle   = 200
	summaryInText  = 20 // calls that a text about an unfinished run lists
	filesInText    = 50
	taskPermission = "task"
)

type taskInput struct {
	Description  string `json:"description" jsonschema:"the task in 3 to 5 words, for the user" alias:"title"`
	Prompt       string `json:"prompt" jsonschema:"the task, complete" minLength:"1" alias:"task,instructions,message"`
	SubagentType string `json:"subagent_type" jsonschema:"name of the subagent" alias:"subagentType,agent,agent_type,subagent"`
	SessionID    string `json:"session_id,omitempty" jsonschema:"goes on with this subagent" alias:"sessionId,sessionID,task_id,taskId,resume"`
	Command      string `json:"command,omitempty" jsonschema:"the user's command that asked for this"`
}

func defineTask(ts *Toolset) (operation, error) {
	if ts.task.Runner == nil {
		return operation{}, nil
	}
	return define(ts, tool.Def{
		Name: "task", Title: "Task", Describe: ts.describeTask,
		Hints: tool.Hints{Destructive: true, OpenWorld: true}, Parallel: true, Timeout: -1, MaxOutput: -1,
		Aliases: []string{"Task", "agent", "spawn_agent", "dispatch_agent", "new_task"},
	}, ts.planTask)
}

func (ts *Toolset) describeTask(ctx context.Context, caller *tool.Agent) (string, error) {
	if len(caller.Lineage()) > ts.task.Depth {
		return "", tool.ErrHidden
	}
	agents, err := ts.agents(ctx, caller)
	if err != nil {
		return "", err
	}
	if len(agents) == 0 {
		return "", tool.ErrHidden
	}
	return strings.TrimSpace(taskDescription) + "\n" + agentList(agents), nil
}

// agents returns those that caller may start, each name once.
func (ts *Toolset) agents(ctx context.Context, caller *tool.Agent) ([]Subagent, error) {
	list, err := ts.task.Runner.Subagents(ctx, caller)
	if err != nil {
		return nil, fmt.Errorf("the subagents are not known: %w", err)
	}
	seen := make(map[string]bool)
	return slices.DeleteFunc(slices.Clone(list), func(a Subagent) bool {
		again := a.Name == "" || seen[a.Name]
		seen[a.Name] = true
		return again || ts.denied(caller, taskPermission, a.Name)
	}), nil
}

// denied says whether a name is not even to be mentioned to the agent.
func (ts *Toolset) denied(agent *tool.Agent, permission, name string) bool {
	return ts.cfg.Denied != nil && ts.cfg.Denied(agent, permission, name)
}

func agentList(agents []Subagent) string {
	var b strings.Builder
	for i, a := range agents {
		line := "- " + oneLine(clip(a.Name, 64))
		if d := strings.Join(strings.Fields(a.Description), " "); d != "" {
			line += ": " + oneLine(clip(d, maxAgentText))
		}
		if i == maxAgents || b.Len()+len(line) > maxAgentList {
			fmt.Fprintf(&b, "and %d more, which are found by name", len(agents)-i)
			break
		}
		b.WriteString(line + "\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func noAgent(name string, agents []Subagent) error {
	var names []string
	for _, a := range agents {
		names = append(names, a.Name)
	}
	text := fmt.Sprintf("there is no subagent %q", clip(name, 80))
	if near := alike(name, names); len(near) > 0 {
		text += "; did you mean " + strings.Join(near, " or ") + "?"
	}
	return errors.New(text + " There are:\n" + agentList(agents))
}

func (ts *Toolset) planTask(ctx context.Context, call *tool.Call, in taskInput) (*plan, error) {
	if inBatch(ctx) {
		return nil, errors.New("task cannot be called within batch; several task calls in one message run side by side")
	}
	if depth := max(len(call.Agent.Lineage())-1, ts.tasks.depth(call.SessionID)); depth >= ts.task.Depth {
		return nil, errors.New("subagents cannot start further ones here; do the work yourself")
	}
	switch {
	case strings.TrimSpace(in.Prompt) == "":
		return nil, errors.New("the prompt is empty; say what the subagent is to do and to report")
	case len(in.Prompt) > maxTaskPrompt:
		return nil, fmt.Errorf("the prompt has %d bytes; at most %d are taken. Name files for the subagent to read instead", len(in.Prompt), maxTaskPrompt)
	}
	agents, err := ts.agents(ctx, call.Agent)
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(agents, func(a Subagent) bool { return a.Name == in.SubagentType })
	if at < 0 {
		at = slices.IndexFunc(agents, func(a Subagent) bool { return strings.EqualFold(a.Name, in.SubagentType) })
	}
	if at < 0 {
		return nil, noAgent(in.SubagentType, agents)
	}
	agent := agents[at]
	if in.SessionID != "" {
		if err := ts.tasks.resumable(call.SessionID, in.SessionID, agent.Name); err != nil {
			return nil, err
		}
	}
	title := oneLine(clip(strings.Join(strings.Fields(in.Description), " "), maxTaskTitle))
	p := &plan{apply: func(ctx context.Context, call *tool.Call) (*outcome, error) {
		res, err := ts.runTask(ctx, call, in, agent, title)
		if res == nil {
			return nil, err
		}
		return &outcome{result: res}, err
	}}
	if !slices.Contains(invoked(call).Agents, agent.Name) {
		p.asks = []ask{{req: &tool.Request{
			Permission: taskPermission, Title: "Start the subagent " + agent.Name,
			Patterns: []string{agent.Name}, Always: []string{agent.Name},
			Metadata: map[string]any{"description": in.Description, "prompt": in.Prompt, "subagent_type": agent.Name, "session_id": in.SessionID},
		}, effect: in.Prompt}}
	}
	return p, nil
}

// runTask runs a subagent and puts together what comes back. The result is there
// beside an error, unless the run never began.
func (ts *Toolset) runTask(ctx context.Context, call *tool.Call, in taskInput, agent Subagent, title string) (*tool.Result, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	run := &SubagentRun{
		SessionID: in.SessionID, ParentID: call.SessionID, MessageID: call.MessageID, CallID: call.ID,
		Title: title + " (@" + agent.Name + " subagent)", Prompt: in.Prompt, Command: in.Command, Resumed: in.SessionID != "",
		Subagent: agent, ts: ts, call: call, ctx: ctx,
		state: runState{limits: ts.task, cancel: cancel, update: call.Update, byCall: make(map[*tool.Call]*TaskCall), changed: make(map[string]bool)},
	}
	leave, err := ts.tasks.enter(ctx, run, ts.task.Parallel)
	if err != nil {
		return nil, err
	}
	defer leave()
	if !run.Resumed {
		ts.Fork(run.ParentID, run.SessionID)
	}
	if run.Agent, run.set, err = ts.subagent(ctx, run); err != nil {
		return nil, err
	}
	run.state.begin()
	call.Update(tool.Update{Title: title, Metadata: map[string]any{"sessionId": run.SessionID, "agent": agent.Name}})
	answer, err := run.work(ctx)
	run.state.end()
	return run.result(ctx, answer, err)
}

// subagent makes the agent of a run and what it is offered.
func (ts *Toolset) subagent(ctx context.Context, run *SubagentRun) (*tool.Agent, *tool.Set, error) {
	// Who asks which session's rules and approvals hold follows the agents.
	caller := &tool.Agent{}
	if run.call.Agent != nil {
		*caller = *run.call.Agent
	}
	caller.SessionID = run.ParentID
	child := &tool.Agent{
		Name: run.Subagent.Name, Model: run.Subagent.Model, Provider: run.Subagent.Provider,
		Client: caller.Client, SessionID: run.SessionID, Flags: caller.Flags, Values: caller.Values, Parent: caller,
	}
	if child.Model == "" {
		child.Model, child.Provider = caller.Model, caller.Provider
	}
	offered, known := run.call.Offered(), func(string) bool { return true }
	if offered == nil {
		var err error
		if offered, err = tool.NewSet(ctx, child, ts.Tools()...); offered == nil {
			return nil, nil, err
		}
		if rt := run.call.Runtime(); rt.Offers != nil {
			known = rt.Offers
		}
	}
	set, err := offered.For(ctx, child, func(_ *tool.Agent, spec *tool.Spec) bool {
		return run.Subagent.has(spec.Name) && known(spec.Name)
	})
	if set.Len() == 0 && err != nil {
		return nil, nil, fmt.Errorf("the subagent has no tools: %w", err)
	}
	return child, set, nil
}

// result is what the caller gets. Nothing of the run happens any more.
func (r *SubagentRun) result(ctx context.Context, answer string, err error) (*tool.Result, error) {
	s := &r.state
	s.mu.Lock()
	defer s.mu.Unlock()
	files := s.files()
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx) // whatever the runner made of it
	}
	res := &tool.Result{
		Title: strings.TrimSuffix(r.Title, " (@"+r.Subagent.Name+" subagent)"), EndTurn: s.endTurn,
		Metadata: map[string]any{
			"sessionId": r.SessionID, "agent": r.Subagent.Name, "model": r.Agent.Model,
			"summary": s.list(), "calls": s.calls, "turns": s.turns, "files": files,
		},
	}
	if strings.TrimSpace(answer) == "" {
		answer = s.said
	}
	var b strings.Builder
	switch {
	case err != nil:
		res.Metadata["stopped"] = err.Error()
		b.WriteString("The subagent did not finish.")
		if strings.TrimSpace(answer) != "" {
			b.WriteString(" The last it said:\n" + answer)
		} else {
			b.WriteString(" It had said nothing.")
		}
		if len(s.summary) > 0 {
			b.WriteString("\n\nIts last calls:" + callList(s.list()))
		}
	case strings.TrimSpace(answer) == "":
		b.WriteString("The subagent ended without an answer.")
		if len(s.summary) > 0 {
			b.WriteString(" Its last calls:" + callList(s.list()))
		}
	default:
		b.WriteString(answer)
	}
	cut := truncate.Policy{MaxBytes: s.limits.Output, MaxLines: -1, Keep: truncate.HeadTail, Spill: r.ts.cfg.Spill}.Apply(context.WithoutCancel(ctx), b.String())
	res.Truncated = &tool.Truncation{Bytes: cut.Bytes, Lines: cut.Lines, Path: cut.Path}
	res.Metadata["truncated"] = cut.Truncated
	if cut.Path != "" {
		res.Metadata["outputPath"] = cut.Path
	}
	res.Text = cut.Text + "\n\n" + r.footer(s.calls, files)
	switch {
	case s.abort != nil:
		return res, s.abort
	case err == nil:
		return res, nil
	case errors.Is(err, ErrSubagentBudget), errors.Is(err, ErrSubagentIdle):
		return res, fmt.Errorf("%w. Give a subagent less to do at once, or go on with this one by its session_id", err)
	}
	return res, err
}

// footer tells how to go on, and what is different now.
func (r *SubagentRun) footer(calls int, files []string) string {
	text := fmt.Sprintf("[subagent %s, %s, session_id %s]", oneLine(r.Subagent.Name), plural(calls, "call"), r.SessionID)
	if len(files) == 0 {
		return text
	}
	more := ""
	if n := len(files) - filesInText; n > 0 {
		files, more = files[:filesInText], fmt.Sprintf(" and %d more", n)
	}
	names := make([]string, len(files))
	for i, f := range files {
		names[i] = oneLine(f)
	}
	return text + "\nFiles it changed: " + strings.Join(names, ", ") + more
}

func callList(calls []TaskCall) string {
	var b strings.Builder
	for _, c := range calls[max(0, len(calls)-summaryInText):] {
		fmt.Fprintf(&b, "\n- %s: %s", oneLine(c.Tool), c.State)
		if c.Title != "" {
			b.WriteString(", " + c.Title)
		}
	}
	return b.String()
}
