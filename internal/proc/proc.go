package proc

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/agenttool/tool/truncate"
)

// The times of a Spec that leaves them at zero.
const (
	DefaultGrace       = 2 * time.Second
	DefaultIdle        = 100 * time.Millisecond
	DefaultMaxDrain    = 2 * time.Second
	DefaultUpdateEvery = 50 * time.Millisecond
	DefaultQuiet       = 20 * time.Second
)

// Marker is the environment variable by which everything that a command
// started is found. Its value lists the ids of the calls, the latest last: a
// command may itself be a host that runs commands.
const Marker = "TOOLCALL_ID"

// Spec says what to run and how. It is not changed, and not to be changed while
// the process runs.
type Spec struct {
	Path string   // the program; absolute
	Args []string // its arguments, without its name
	// Dir is the working directory; "" is that of this process. If it
	// is gone, Start fails with a *DirError unless NearestDir is set: then the
	// nearest parent that exists is used, and the Result says so.
	Dir        string
	NearestDir bool
	// Env is the whole environment; nil means that of a zero EnvOptions.
	Env []string
	// Input gives the process a pipe for WriteInput as its standard input.
	// Otherwise that is empty.
	Input bool
	// Stdout receives what the process writes to its standard output, as it is,
	// by a goroutine of the Process. What is collected and shown is then the
	// standard error alone. If it is an io.Closer it is closed when no more will
	// come. Nil collects both, in the order in which they were written.
	Stdout io.Writer

	// Timeout is how long the leader may run; 0 means no limit.
	Timeout time.Duration
	// OnTimeout says what happens then.
	OnTimeout OnTimeout
	// Leftovers says what happens with processes that are left when the leader ends.
	Leftovers Leftovers
	// Grace is the time between the polite signal and the other one; 0 means
	// DefaultGrace, negative none.
	Grace time.Duration
	// Idle is how long after the leader's end, and after every byte since, more
	// output is waited for; MaxDrain bounds that. 0 means the default.
	Idle, MaxDrain time.Duration

	// Collect configures what is kept of the output. Its Filter is set by Start.
	Collect truncate.CollectorOptions
	// Show bounds Result.Text.
	Show truncate.Policy
	// Update is told how things stand until the Process is ready, from one
	// goroutine of its own, at most every UpdateEvery (0: DefaultUpdateEvery).
	// The last one has Final set and the text of the Result. It must return soon.
	Update      func(Update)
	UpdateEvery time.Duration
	// Quiet is after how long without output the process is suspected to wait
	// for input; 0 means DefaultQuiet.
	Quiet time.Duration

	// Start starts cmd instead of cmd.Start, for a sandbox. It must not call
	// Wait, and must leave SysProcAttr's Setsid and the standard streams as they are.
	Start func(ctx context.Context, cmd *exec.Cmd) error
}

// OnTimeout is what happens to a process that exceeds its timeout.
type OnTimeout int

const (
	TimeoutKill   OnTimeout = iota // it is stopped
	TimeoutDetach                  // it goes on; the Result has Running set
)

// Leftovers is what happens to processes which outlive the leader.
type Leftovers int

const (
	LeftoversKeep Leftovers = iota // they go on, and the Process with them
	LeftoversKill                  // they are stopped
)

// Process is a running or finished command. Its methods may be called concurrently.
type Process struct {
	spec  Spec
	id    string
	dir   string
	notes []string
	cmd   *exec.Cmd
	group *group
	out   *output
	start time.Time

	inputMu sync.Mutex
	input   *os.File // nil: none, or closed
	writeMu sync.Mutex

	exited chan struct{} // the leader has ended
	detach chan struct{}
	once   sync.Once
	kill   chan struct{}
	grace  atomic.Int64 // of that kill
	killed sync.Once

	ready chan struct{}
	done  chan struct{}
	// settled and updated are nil without Spec.Update: the first Result is
	// there, and the last Update was delivered.
	settled, updated chan struct{}

	// Of the goroutine that runs the process, until ready or done is closed.
	outcome outcome

	mu     sync.Mutex
	result *Result // non-nil from ready on
}

// outcome is what the running goroutine learns.
type outcome struct {
	timedOut, cancelled, killed bool
	stopped                     bool          // by us
	ended                       time.Duration // when the leader did; 0: not yet
	waiting                     string
	left, ending                []Member // left over, and going on or ended by us
}

// Start starts what spec says. While the Process is not ready, it is stopped
// when ctx ends; a job (see [Process.Detach]) is not. The error is a *StartError
// or a *DirError, or that of ctx.
func Start(ctx context.Context, spec *Spec) (*Process, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	p := &Process{
		spec: *spec, id: strings.ToLower(rand.Text()),
		exited: make(chan struct{}), detach: make(chan struct{}), kill: make(chan struct{}),
		ready: make(chan struct{}), done: make(chan struct{}),
	}
	p.spec.defaults()
	if !filepath.IsAbs(spec.Path) {
		return nil, &StartError{Path: spec.Path, Err: errors.New("the program must be named by an absolute path")}
	}
	if err := p.chooseDir(); err != nil {
		return nil, err
	}
	if err := p.launch(ctx); err != nil {
		return nil, err
	}
	go func() {
		p.group.waitExit()
		close(p.exited)
	}()
	if p.spec.Update != nil {
		p.settled, p.updated = make(chan struct{}), make(chan struct{})
		go p.update()
	}
	go func() {
		p.run(ctx)
		close(p.done)
	}()
	return p, nil
}

func (s *Spec) defaults() {
	for _, d := range []struct {
		v   *time.Duration
		def time.Duration
	}{
		{&s.Grace, DefaultGrace}, {&s.Idle, DefaultIdle}, {&s.MaxDrain, DefaultMaxDrain},
		{&s.UpdateEvery, DefaultUpdateEvery}, {&s.Quiet, DefaultQuiet},
	} {
		if *d.v == 0 {
			*d.v = d.def
		}
	}
	s.Grace = max(0, s.Grace)
	if s.Env == nil {
		s.Env, _ = Environ(nil)
	}
}

// chooseDir settles the working directory.
func (p *Process) chooseDir() error {
	dir := p.spec.Dir
	if dir == "" {
		wd, err := os.Getwd()
		if err != nil {
			// It was removed. Its name is all that may be left of it.
			if wd = os.Getenv("PWD"); wd == "" {
				wd = string(filepath.Separator)
			}
		}
		dir = wd
	}
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	p.dir = dir
	if fi, err := os.Stat(dir); err == nil && fi.IsDir() {
		return nil
	}
	near := NearestDir(dir)
	if !p.spec.NearestDir {
		return &DirError{Dir: dir, Nearest: near}
	}
	p.dir = near
	p.notes = append(p.notes, fmt.Sprintf("The directory %s does not exist any more; the command ran in %s.", dir, near))
	return nil
}

// NearestDir returns dir if it is a directory, else the nearest parent that is.
func NearestDir(dir string) string {
	dir = filepath.Clean(dir)
	for {
		if fi, err := os.Stat(dir); err == nil && fi.IsDir() {
			return dir
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return dir
		}
		dir = parent
	}
}

// launch makes the pipes and starts the leader.
func (p *Process) launch(ctx context.Context) (err error) {
	var theirs, ours []*os.File
	defer func() {
		for _, f := range theirs {
			f.Close() // so that the pipe ends when the last process closes it
		}
		if err != nil {
			for _, f := range ours {
				f.Close()
			}
		}
	}()
	pipe := func() (r, w *os.File) {
		if err == nil {
			if r, w, err = os.Pipe(); err != nil {
				err = &StartError{Path: p.spec.Path, Err: err}
			}
		}
		return r, w
	}
	outR, outW := pipe()
	if err != nil {
		return err
	}
	theirs, ours = append(theirs, outW), append(ours, outR)
	growPipe(outR)

	cmd := exec.Command(p.spec.Path, p.spec.Args...)
	cmd.Dir = p.dir
	cmd.Env = p.environ()
	cmd.Stdout, cmd.Stderr = outW, outW
	var rawR *os.File
	if p.spec.Stdout != nil {
		var rawW *os.File
		if rawR, rawW = pipe(); err != nil {
			return err
		}
		theirs, ours = append(theirs, rawW), append(ours, rawR)
		cmd.Stdout = rawW
	}
	if p.spec.Input {
		inR, inW := pipe()
		if err != nil {
			return err
		}
		theirs, ours = append(theirs, inR), append(ours, inW)
		cmd.Stdin, p.input = inR, inW
	}
	prepare(cmd)
	p.cmd = cmd
	p.start = time.Now()
	if err = p.startCmd(ctx); err != nil {
		return err
	}
	p.group = newGroup(cmd, p.id, p.start)
	p.out = newOutput(p, outR, rawR)
	return nil
}

// startCmd starts p.cmd, again if what stood in the way passes by itself.
func (p *Process) startCmd(ctx context.Context) error {
	start := p.spec.Start
	if start == nil {
		start = func(_ context.Context, cmd *exec.Cmd) error { return cmd.Start() }
	}
	for try := 1; ; try++ {
		err := start(ctx, p.cmd)
		if err == nil && p.cmd.Process == nil {
			err = errors.New("the sandbox did not start it")
		}
		if err == nil {
			return nil
		}
		if p.spec.Start == nil && try < 4 && passing(err) {
			// exec.Cmd can be started only once, also if that failed.
			c := p.cmd
			p.cmd = &exec.Cmd{Path: c.Path, Args: c.Args, Env: c.Env, Dir: c.Dir, Stdin: c.Stdin, Stdout: c.Stdout, Stderr: c.Stderr, SysProcAttr: c.SysProcAttr}
			time.Sleep(time.Duration(try) * 20 * time.Millisecond)
			continue
		}
		if _, serr := os.Stat(p.dir); serr != nil {
			return &DirError{Dir: p.dir, Nearest: NearestDir(p.dir)}
		}
		return &StartError{Path: p.spec.Path, Err: err}
	}
}

// environ returns the environment with the mark and the working directory.
func (p *Process) environ() []string {
	env := make([]string, 0, len(p.spec.Env)+2)
	chain := ""
	for _, kv := range p.spec.Env {
		switch name, value, _ := strings.Cut(kv, "="); name {
		case Marker:
			chain = value
		case "PWD":
		default:
			env = append(env, kv)
		}
	}
	ids := strings.Fields(chain)
	if len(ids) > 7 {
		ids = ids[len(ids)-7:]
	}
	return append(env, Marker+"="+strings.Join(append(ids, p.id), " "), "PWD="+p.dir)
}

// ID returns the id by which the processes are found; it is unguessable.
func (p *Process) ID() string { return p.id }

// PID returns the process id of the leader.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Dir returns the working directory that the process was started in.
func (p *Process) Dir() string { return p.dir }

// Started returns when the process was started.
func (p *Process) Started() time.Time { return p.start }

// Ready is closed when there is a Result.
func (p *Process) Ready() <-chan struct{} { return p.ready }

// Done is closed when nothing of the process is left, and the Result is final.
func (p *Process) Done() <-chan struct{} { return p.done }

// Wait waits until the Process is ready and returns the Result. It takes no
// context: what ends the process is the context of Start, its timeout, and Kill,
// and the output is wanted then too.
func (p *Process) Wait() *Result {
	<-p.ready
	return p.Result()
}

// Result returns the latest Result: nil before the Process is ready, and final
// once it is done.
func (p *Process) Result() *Result {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.result
}

// Detach makes the process a job: it is ready at once, and neither the context
// of Start nor its timeout ends it any more.
func (p *Process) Detach() { p.once.Do(func() { close(p.detach) }) }

// Kill stops the process and everything that it started, politely first, and
// waits until that is done or ctx ends. It returns the final Result; if the
// leader had ended before, that does not have Killed set.
func (p *Process) Kill(ctx context.Context) (*Result, error) {
	p.stopWithin(p.spec.Grace)
	select {
	case <-p.done:
		return p.Result(), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Close stops what is left of the process, in a hurry, and waits for it. What it
// printed stays readable. Closing twice is harmless.
func (p *Process) Close() error {
	p.stopWithin(min(p.spec.Grace, 500*time.Millisecond))
	<-p.done
	return p.CloseInput()
}

func (p *Process) inputFile() *os.File {
	p.inputMu.Lock()
	defer p.inputMu.Unlock()
	return p.input
}

func (p *Process) stopWithin(grace time.Duration) {
	p.killed.Do(func() {
		p.grace.Store(int64(grace))
		close(p.kill)
	})
}
