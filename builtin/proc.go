package builtin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"time"
)

// process is one command to run.
type process struct {
	argv    []string
	dir     string
	env     []string
	timeout time.Duration
	grace   time.Duration // between asking it to end and ending it
	out     io.Writer     // gets stdout and stderr as they come; one goroutine writes
}

// ended is how a process ended.
type ended struct {
	code     int    // exit code; -1 if a signal ended it
	signal   string // its name, if one did
	timedOut bool
	took     time.Duration
}

const (
	drainIdle = 100 * time.Millisecond // of silence after the exit, until output is taken to be complete
	drainMost = 2 * time.Second
)

// run starts the process and waits for its end, for ctx, or for the timeout, and
// then ends what it left running. All output is in p.out when it returns. The
// error says why the process could not be started; ctx's end is not an error.
func (p *process) run(ctx context.Context) (ended, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return ended{}, err
	}
	defer r.Close()
	cmd := exec.Command(p.argv[0], p.argv[1:]...)
	cmd.Dir, cmd.Env = p.dir, p.env
	cmd.Stdout, cmd.Stderr = w, w
	ownGroup(cmd)
	start := time.Now()
	err = cmd.Start()
	w.Close()
	if err != nil {
		return ended{}, startError(err)
	}

	// The time of the last output, for the drain below.
	var last atomic.Int64
	copied := make(chan struct{})
	go func() {
		defer close(copied)
		buf := make([]byte, 32<<10)
		for {
			n, err := r.Read(buf)
			if n > 0 {
				p.out.Write(buf[:n])
				last.Store(int64(time.Since(start)))
			}
			if err != nil {
				return
			}
		}
	}()
	exited := make(chan struct{})
	go func() {
		defer close(exited)
		cmd.Wait() // its error is in ProcessState
	}()

	var e ended
	timer := time.NewTimer(p.timeout)
	defer timer.Stop()
	select {
	case <-exited:
	case <-timer.C:
		e.timedOut = true
		p.end(cmd, exited)
	case <-ctx.Done():
		p.end(cmd, exited)
	}
	e.took = time.Since(start)
	drain(copied, func() time.Duration { return time.Since(start) - max(time.Duration(last.Load()), e.took) })
	killGroup(cmd)
	r.SetReadDeadline(time.Now())
	r.Close()
	<-copied
	e.code, e.signal = cmd.ProcessState.ExitCode(), endSignal(cmd.ProcessState)
	return e, nil
}

// end asks the process and its children to end, and after the grace ends them.
func (p *process) end(cmd *exec.Cmd, exited <-chan struct{}) {
	termGroup(cmd)
	grace := time.NewTimer(p.grace)
	defer grace.Stop()
	select {
	case <-exited:
		return
	case <-grace.C:
	}
	killGroup(cmd)
	<-exited
}

// drain waits for the rest of the output: until the pipe is closed, or nothing
// came for a while although something still holds it.
func drain(copied <-chan struct{}, idle func() time.Duration) {
	deadline := time.NewTimer(drainMost)
	defer deadline.Stop()
	for {
		wait := drainIdle - idle()
		if wait <= 0 {
			return
		}
		timer := time.NewTimer(wait)
		select {
		case <-copied:
			timer.Stop()
			return
		case <-deadline.C:
			timer.Stop()
			return
		case <-timer.C:
		}
	}
}

// startError says what is wrong instead of naming a system call.
func startError(err error) error {
	switch {
	case errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("the shell or the working directory does not exist: %w", err)
	case errors.Is(err, os.ErrPermission):
		return fmt.Errorf("the shell may not be run, or the working directory not be entered: %w", err)
	}
	return fmt.Errorf("the command could not be started: %w", err)
}

// findShell returns the absolute path of the shell that runs commands, "" if
// there is none and none was asked for.
func findShell(name string) (string, error) {
	if name != "" {
		p, err := exec.LookPath(name)
		if err != nil {
			return "", fmt.Errorf("builtin: Config.Shell: %w", err)
		}
		return absolute(p)
	}
	for _, name := range []string{"bash", "sh"} {
		if p, err := exec.LookPath(name); err == nil {
			return absolute(p)
		}
	}
	return "", nil
}

// shellArgs is how a shell is told to run text and nothing else. -p keeps bash
// from reading files and functions that the environment names.
func shellArgs(shell, text string) []string {
	base := strings.TrimSuffix(strings.ToLower(baseName(shell)), ".exe")
	if base == "bash" {
		return []string{shell, "--noprofile", "--norc", "-p", "-c", text}
	}
	return []string{shell, "-c", text}
}
