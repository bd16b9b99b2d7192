package builtin

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/agenttool/tool"
	"github.com/agenttool/tool/internal/proc"
	"github.com/agenttool/tool/internal/search"
	"github.com/agenttool/tool/internal/textfile"
)

// ErrClosed is returned by calls of a [Toolset] that was closed, and is the cause
// of the end of those that Close interrupts.
var ErrClosed = errors.New("the toolset is closed")

// Toolset is the built-in tools over one project directory. It is safe for
// concurrent use. Two toolsets never see each other's reads or commands, also
// when they share a directory.
type Toolset struct {
	cfg     Config
	limits  Limits
	fsys    *fsys
	memory  memory
	history history
	locks   textfile.Locks
	reader  textfile.Reader
	writer  textfile.Writer
	hooks   hooks
	stuck   stuck
	shell   *proc.Shell // nil if there is none
	env     []string    // of commands
	jobs    jobs
	todos   todos
	task    TaskConfig
	tasks   taskSessions
	skills  skillSet
	lsp     LSP              // nil if there is none
	servers *languageServers // the same, if it is ours to close
	queries hooks            // of lsp
	web     *webState
	found   searches

	ops []operation // in the order in which Tools returns them
	set *tool.Set   // of the same, whoever is offered them, for names as a model writes them

	engine *search.Engine // of glob and grep

	ctx    context.Context // ends with Close
	cancel context.CancelCauseFunc
	mu     sync.Mutex
	closed bool
	active sync.WaitGroup
}

// operation is one tool: as the host gets it, and its plan for a call.
type operation struct {
	tool tool.Tool
	spec *tool.Spec // for every agent, without its description
	plan func(ctx context.Context, call *tool.Call) (*plan, error)
}

// New returns the tools for cfg.Root. The error says what of cfg is wrong. It
// starts nothing; [Toolset.Close] ends what calls start.
func New(cfg Config) (*Toolset, error) {
	ts := &Toolset{cfg: cfg, limits: cfg.Limits.withDefaults(), task: cfg.Task.withDefaults(), engine: newEngine()}
	var err error
	if err = ts.openShell(); err != nil {
		return nil, err
	}
	spill := ""
	if d, ok := cfg.Spill.(interface{ Dir() string }); ok {
		spill = d.Dir()
	}
	if ts.fsys, err = openFS(cfg.Root, spill, cfg.Secrets, cfg.Protected); err != nil {
		return nil, err
	}
	ts.hooks.limit = ts.limits.HookTime
	if err = ts.openLSP(); err != nil {
		ts.fsys.close()
		return nil, err
	}
	ts.memory.tracker = textfile.NewTracker(nil)
	// Paths carry the grant that they were resolved under, so that both also
	// reach what is outside of the root but was granted to a call.
	ts.reader.Root, ts.writer.Root = ts.fsys.root, ts.fsys.root
	ts.reader.Limit, ts.reader.LineRunes, ts.reader.MaxBytes = ts.limits.ReadLines, ts.limits.LineRunes, ts.limits.ReadBytes
	ts.ctx, ts.cancel = context.WithCancelCause(context.Background())
	for _, define := range []func(*Toolset) (operation, error){defineRead, defineLs, defineWrite, defineEdit, defineMultiedit, defineApplyPatch, defineGlob, defineGrep, defineLSP, defineBash, defineJobOutput, defineJobInput, defineJobKill, defineJobList, defineTodoWrite, defineTodoRead, defineBatch, defineWebfetch, defineWebsearch, defineCodesearch, defineQuestion, definePlanEnter, definePlanExit, defineTask, defineSkill} {
		op, err := define(ts)
		if err == nil && op.tool != nil {
			ts.ops = append(ts.ops, op)
		}
		if err != nil {
			ts.fsys.close()
			return nil, fmt.Errorf("builtin: %w", err)
		}
	}
	if ts.set, err = ts.nameSet(); err != nil {
		ts.fsys.close()
		return nil, fmt.Errorf("builtin: %w", err)
	}
	return ts, nil
}

// Root returns the project directory: absolute, with links resolved.
func (ts *Toolset) Root() string { return ts.fsys.dir }

// Tools returns the tools that can work here, always in the same order.
func (ts *Toolset) Tools() []tool.Tool {
	out := make([]tool.Tool, len(ts.ops))
	for i, op := range ts.ops {
		out[i] = op.tool
	}
	return out
}

// Tool returns the tool of exactly this name.
func (ts *Toolset) Tool(name string) (tool.Tool, bool) {
	for _, op := range ts.ops {
		if op.tool.Name() == name {
			return op.tool, true
		}
	}
	return nil, false
}

// Plan returns what a run of call would do and ask, without doing or asking
// anything; the file system is only looked at. Names are found as a [tool.Set]
// does it: exactly, by alias, or but for case; otherwise the error is a
// *[tool.NotFoundError]. Arguments that do not fit are a *[tool.InputError].
// Other errors are those the run would end with before it asks anything. Errors
// about files that take a permission of their own are not known yet: the run
// tells them only after it was allowed to.
func (ts *Toolset) Plan(ctx context.Context, call *tool.Call) (*Plan, error) {
	t, _, err := ts.set.Lookup(call.Tool)
	if err != nil {
		return nil, err
	}
	if err := ts.begin(); err != nil {
		return nil, err
	}
	defer ts.active.Done()
	for _, op := range ts.ops {
		if op.tool.Name() == t.Name() {
			p, err := op.plan(ctx, call)
			if err != nil {
				return nil, err
			}
			return p.public(t.Name()), nil
		}
	}
	return nil, &tool.NotFoundError{Name: call.Tool}
}

// Close ends every command, job and call that runs, waits for them, and
// releases the directory. Calls fail with ErrClosed from then on. It must not be
// called from within a call. Closing twice is harmless.
func (ts *Toolset) Close() error {
	ts.mu.Lock()
	first := !ts.closed
	ts.closed = true
	ts.mu.Unlock()
	ts.cancel(ErrClosed)
	ts.active.Wait()
	ts.jobs.close()
	if ts.servers != nil {
		_ = ts.servers.close() // it has no error to report
	}
	if first {
		return ts.fsys.close()
	}
	return nil
}

// begin counts one more user of the directory; ts.active.Done is due afterwards.
func (ts *Toolset) begin() error {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if ts.closed {
		return ErrClosed
	}
	ts.active.Add(1)
	return nil
}
