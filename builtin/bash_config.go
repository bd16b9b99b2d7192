package builtin

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agenttool/tool/internal/proc"
)

// TimeoutPolicy says what happens to a command that reaches its timeout.
type TimeoutPolicy int

// The policies.
const (
	TimeoutKill TimeoutPolicy = iota // it is ended, and its output returned
	TimeoutJob                       // it goes on as a job, which job_output reads
)

// BashConfig says how commands run and what is asked about them. The zero value
// is ready for use.
type BashConfig struct {
	// OnTimeout is what happens at the timeout of a call.
	OnTimeout TimeoutPolicy

	// KillLeftovers ends what a command leaves running. Otherwise that becomes a
	// job, which the result names.
	KillLeftovers bool

	// NoJobs switches jobs off: their tools are not offered, and what reaches its
	// timeout or is left running is ended.
	NoJobs bool

	// MaxJobs is how many jobs may run at once; 0 means 32. What would be one more
	// is ended.
	MaxJobs int

	// MinimalEnv gives commands only the variables that programs need to find
	// their way: paths, user, language, the homes of tools. Otherwise they get the
	// host's environment without what loads code into every program and without
	// what looks like a secret.
	MinimalEnv bool

	// KeepEnv are names of variables that commands get although they look like
	// secrets or are not among the minimal ones, as "GH_TOKEN" or "AWS_*".
	// Variables that load code into programs are never kept.
	KeepEnv []string

	// ProjectPath keeps directories of PATH that are inside the project. Otherwise
	// they are removed, so that no file of the project passes for a program.
	ProjectPath bool

	// BenignEnv are further variables that a command line may set without a
	// question, beside such as CI and NODE_ENV. A trailing * stands for any rest.
	BenignEnv []string

	// TrustUnknown asks nothing about files that are not known before a command
	// runs, as in cat "$f": the rule for the command decides. Otherwise that is a
	// question of leaving the project.
	TrustUnknown bool

	// AllowReadOnly lets commands that provably change nothing run without a rule,
	// unless a rule that names them asks or denies.
	AllowReadOnly bool

	// Sandbox, if not nil, starts the commands; see [DetectSandbox]. They may then
	// write to the project, to the directory for temporary files, and to files
	// outside that were asked about, and to what SandboxPolicy says beside: caches
	// such as GOCACHE are not in it by themselves. What was enforced is in the
	// result's metadata under "sandbox".
	Sandbox       Sandbox
	SandboxPolicy SandboxPolicy

	// NoHints leaves out the hint that a program wants a terminal.
	NoHints bool
}

const defaultMaxJobs = 32

// openShell finds the shell and makes the environment of commands.
func (ts *Toolset) openShell() error {
	name := ts.cfg.Shell
	if strings.ContainsAny(name, `/\`) {
		abs, err := filepath.Abs(name)
		if err != nil {
			return fmt.Errorf("builtin: Config.Shell: %w", err)
		}
		name = abs
	}
	sh, err := proc.FindShell(name)
	if err != nil && (name != "" || !errors.Is(err, proc.ErrNoShell)) {
		return fmt.Errorf("builtin: Config.Shell: %w", err)
	}
	ts.shell = sh
	if ts.env, err = commandEnv(nil, &ts.cfg); err != nil {
		return err
	}
	ts.jobs.max = ts.cfg.Bash.MaxJobs
	if ts.jobs.max <= 0 {
		ts.jobs.max = defaultMaxJobs
	}
	return nil
}

// commandEnv is the environment of commands: the host's, which is that of this
// process if it is nil, filtered, and what the configuration says.
func commandEnv(host []string, cfg *Config) ([]string, error) {
	opt := proc.EnvOptions{Base: host, Keep: cfg.Bash.KeepEnv, Roots: []string{cfg.Root}, KeepPath: cfg.Bash.ProjectPath}
	if cfg.Bash.MinimalEnv {
		opt.Mode = proc.EnvMinimal
	}
	var drop []string
	for _, kv := range cfg.Env {
		name, _, set := strings.Cut(kv, "=")
		switch {
		case name == "" || strings.ContainsRune(kv, 0):
			return nil, fmt.Errorf("builtin: Config.Env: %q is not NAME=value", kv)
		case set:
			opt.Set = append(opt.Set, kv)
			drop = slices.DeleteFunc(drop, func(d string) bool { return d == name })
		default:
			opt.Set = slices.DeleteFunc(opt.Set, func(s string) bool { return strings.HasPrefix(s, name+"=") })
			drop = append(drop, name)
		}
	}
	env, _ := proc.Environ(&opt)
	return slices.DeleteFunc(env, func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return slices.Contains(drop, name)
	}), nil
}
