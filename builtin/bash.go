package builtin

import (
	"context"
	_ "embed" // descriptions
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/agenttool/tool"
	"github.com/agenttool/tool/internal/proc"
	"github.com/agenttool/tool/internal/shellscan"
)

//go:embed bash.md
var bashDescription string

type bashInput struct {
	Command     string `json:"command" jsonschema:"command text" alias:"cmd,script,code"`
	Timeout     int    `json:"timeout,omitempty" jsonschema:"milliseconds until it is ended (default 120000)" minimum:"1" maximum:"600000" alias:"timeout_ms,timeoutMs"`
	Workdir     string `json:"workdir,omitempty" jsonschema:"directory to run in (default: the project)" alias:"cwd,working_dir,working_directory,workingDirectory,dir"`
	Background  bool   `json:"background,omitempty" jsonschema:"run as a job: return at once, without a timeout, and keep its input open" alias:"run_in_background,runInBackground,is_background"`
	Description string `json:"description,omitempty" jsonschema:"what it does, in a few words, for the user"`
}

// bashAlone is what there is of it without jobs.
type bashAlone struct {
	Command     string `json:"command" jsonschema:"command text" alias:"cmd,script,code"`
	Timeout     int    `json:"timeout,omitempty" jsonschema:"milliseconds until it is ended (default 120000)" minimum:"1" maximum:"600000" alias:"timeout_ms,timeoutMs"`
	Workdir     string `json:"workdir,omitempty" jsonschema:"directory to run in (default: the project)" alias:"cwd,working_dir,working_directory,workingDirectory,dir"`
	Description string `json:"description,omitempty" jsonschema:"what it does, in a few words, for the user"`
}

// jobsLine is what the description says about jobs.
var jobsLine = regexp.MustCompile(`(?m)^.*job_output.*$`)

func defineBash(ts *Toolset) (operation, error) {
	if ts.shell == nil {
		return operation{}, nil
	}
	def := tool.Def{
		Name: "bash", Title: "Shell", Description: strings.TrimSpace(bashDescription),
		Hints:   tool.Hints{Destructive: true, OpenWorld: true},
		Timeout: -1, MaxOutput: -1,
		Aliases: []string{"shell", "run_command", "execute_command", "run_shell_command", "terminal", "exec"},
	}
	if !ts.cfg.Bash.NoJobs {
		return define(ts, def, ts.planBash)
	}
	def.Description = jobsLine.ReplaceAllString(def.Description, "- What a command leaves running is ended with it.")
	return define(ts, def, func(ctx context.Context, call *tool.Call, in bashAlone) (*plan, error) {
		return ts.planBash(ctx, call, bashInput{Command: in.Command, Timeout: in.Timeout, Workdir: in.Workdir, Description: in.Description})
	})
}

// maxCommand is the longest text that is run, in bytes. Above what a system takes
// as an argument it needs a file of the spill store.
const maxCommand = 1 << 20

func (ts *Toolset) planBash(_ context.Context, _ *tool.Call, in bashInput) (*plan, error) {
	switch {
	case strings.TrimSpace(in.Command) == "":
		return nil, errors.New("the command is empty")
	case strings.ContainsRune(in.Command, 0):
		return nil, errors.New("the command contains a NUL byte")
	case len(in.Command) > maxCommand, len(in.Command) > proc.MaxCommand && ts.cfg.Spill == nil:
		return nil, fmt.Errorf("the command has %d bytes, which is too long for a shell; write it to a file and run that", len(in.Command))
	}
	dir, err := ts.searchBase(in.Workdir)
	if err != nil {
		return nil, fmt.Errorf("workdir: %w", err)
	}
	s := &shellPlan{Script: shellscan.Analyze(in.Command, ts.scanOptions(dir.abs)), in: in, dir: dir.abs}
	if !dir.inside {
		s.outside = dir.abs
	}
	ts.markFiles(s.Script)
	p := &plan{shell: s.analysis(), asks: s.asks()}
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
	r := &running{ts: ts, in: in, dir: dir.abs, limit: limit, writes: s.writes()}
	if !ts.cfg.Bash.NoHints {
		r.hint = interactiveHint(s.Script, !ts.cfg.Bash.NoJobs)
	}
	p.apply = func(ctx context.Context, call *tool.Call) (*outcome, error) {
		r.call = call
		res, err := r.run(ctx)
		if res == nil {
			return nil, err
		}
		return &outcome{result: res}, err
	}
	return p, nil
}

// title is what a call is called where nothing is decided by it: in the words of
// the model, if there are any.
func (in bashInput) title() string {
	if words := strings.Join(strings.Fields(in.Description), " "); words != "" {
		return clip(visible(words), 200)
	}
	return commandTitle(in.Command)
}

// commandTitle is the first line of a command, which is the title of a question:
// what the model says about the command never is.
func commandTitle(command string) string {
	line, _, more := strings.Cut(strings.TrimSpace(command), "\n")
	if more {
		line += " …"
	}
	return clip(visible(line), 200)
}
