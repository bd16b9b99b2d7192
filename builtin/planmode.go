package builtin

import (
	"context"
	_ "embed" // descriptions
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/agenttool/tool"
	"github.com/agenttool/tool/internal/fsroot"
	"github.com/agenttool/tool/internal/textfile"
)

//go:embed plan_enter.md
var planEnterDescription string

//go:embed plan_exit.md
var planExitDescription string

// PlanMode is how the host keeps a session from changing anything while it
// plans, as with Gate.SetPlan of package permission. That the mode holds is its
// part; the tools only switch it. It must be safe for concurrent use.
type PlanMode interface {
	// Planning reports whether the session is in plan mode itself, not because
	// the one that started it is.
	Planning(sessionID string) bool
	// Enter puts the call's session in plan mode.
	Enter(ctx context.Context, call *tool.Call) error
	// Exit takes the call's session out of it. The user has approved the plan.
	Exit(ctx context.Context, call *tool.Call, plan string) error
}

type planEnterInput struct {
	Reason string `json:"reason,omitempty" jsonschema:"why, in a few words, for the user"`
}

type planExitInput struct {
	Plan     string `json:"plan,omitempty" jsonschema:"the plan, as Markdown" alias:"text"`
	FilePath string `json:"filePath,omitempty" jsonschema:"file that has the plan, in its place" alias:"file_path,path,planPath"`
}

// maxPlan is how long a plan may be, in bytes: a person reads it.
const maxPlan = 256 << 10

func definePlanEnter(ts *Toolset) (operation, error) {
	if ts.cfg.PlanMode == nil {
		return operation{}, nil
	}
	return define(ts, tool.Def{
		Name: "plan_enter", Title: "Plan", Description: strings.TrimSpace(planEnterDescription),
		Hints: tool.Hints{Idempotent: true}, Timeout: -1, Aliases: []string{"enter_plan_mode", "EnterPlanMode"},
	}, ts.planPlanEnter)
}

func definePlanExit(ts *Toolset) (operation, error) {
	if ts.cfg.PlanMode == nil {
		return operation{}, nil
	}
	return define(ts, tool.Def{
		Name: "plan_exit", Title: "Carry out plan", Description: strings.TrimSpace(planExitDescription),
		Timeout: -1, Aliases: []string{"exit_plan_mode", "ExitPlanMode"},
	}, ts.planPlanExit)
}

func (ts *Toolset) planPlanEnter(_ context.Context, call *tool.Call, in planEnterInput) (*plan, error) {
	if ts.cfg.PlanMode.Planning(call.SessionID) {
		return unasked(func(context.Context) (*tool.Result, error) {
			return &tool.Result{Title: "Plan mode", Text: "The session is in plan mode already. Show the plan with plan_exit when it is complete."}, nil
		})
	}
	return &plan{
		asks: []ask{{req: &tool.Request{
			Permission: "plan_enter", Title: "Switch to plan mode", Patterns: []string{"*"}, Always: []string{"*"},
			Metadata: map[string]any{"description": in.Reason},
		}}},
		apply: func(ctx context.Context, call *tool.Call) (*outcome, error) {
			if err := ts.cfg.PlanMode.Enter(ctx, call); err != nil {
				return nil, fmt.Errorf("plan mode: %w", err)
			}
			return &outcome{result: &tool.Result{
				Title:    "Plan mode",
				Text:     "The session is in plan mode: files and commands that change something are denied. Look around, then show the plan with plan_exit.",
				Metadata: map[string]any{"planning": true},
			}}, nil
		},
	}, nil
}

func (ts *Toolset) planPlanExit(ctx context.Context, call *tool.Call, in planExitInput) (*plan, error) {
	if !ts.cfg.PlanMode.Planning(call.SessionID) {
		return nil, errors.New("the session is not in plan mode, so there is nothing to leave: go on with the work")
	}
	text, meta := in.Plan, map[string]any{}
	if in.FilePath != "" {
		if strings.TrimSpace(in.Plan) != "" {
			return nil, errors.New("give the plan or the file that has it, not both")
		}
		l, err := ts.fsys.resolve(in.FilePath)
		if err != nil {
			return nil, err
		}
		if text, err = ts.planText(ctx, l); err != nil {
			return nil, err
		}
		meta["filepath"] = l.abs
	}
	switch {
	case strings.TrimSpace(text) == "":
		return nil, errors.New("there is no plan; write one first")
	case len(text) > maxPlan:
		return nil, fmt.Errorf("the plan has %d bytes, which nobody reads; keep it under %d", len(text), maxPlan)
	}
	meta["plan"] = text
	return &plan{
		// Not to be granted for good: each plan is a new one.
		asks: []ask{{req: &tool.Request{
			Permission: "plan_exit", Title: "Carry out this plan", Patterns: []string{"*"}, Always: []string{}, Metadata: meta,
		}, effect: text}},
		apply: func(ctx context.Context, call *tool.Call) (*outcome, error) {
			if err := ts.cfg.PlanMode.Exit(ctx, call, text); err != nil {
				return nil, fmt.Errorf("plan mode: %w", err)
			}
			return &outcome{result: &tool.Result{
				Title: "Plan approved", Text: "The user approved the plan, and plan mode has ended. Carry it out.",
				Metadata: map[string]any{"planning": false, "plan": text},
			}}, nil
		},
	}, nil
}

// planText reads the file of a plan, which is one of the project's own.
func (ts *Toolset) planText(ctx context.Context, l location) (string, error) {
	switch {
	case !l.inside || l.secret:
		return "", &fsroot.PathError{Path: l.given, Why: "is not a file of the project to keep a plan in", Err: fsroot.ErrOutside}
	case !l.exists():
		return "", &fsroot.PathError{Path: l.given, Why: "does not exist; write the plan to it first, or give the plan itself", Err: fs.ErrNotExist}
	}
	raw, _, err := textfile.ReadFile(ctx, ts.fsys.root, l.Path, maxPlan)
	if err != nil {
		return "", err
	}
	return clean(raw), nil
}
