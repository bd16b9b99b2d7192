package proc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/agenttool/tool/truncate"
)

// Dialect is the language that a shell reads.
type Dialect int

const (
	Bash Dialect = iota
	POSIX
	PowerShell
	Cmd
)

// Shell is a program that runs command lines.
type Shell struct {
	Path    string // absolute
	Dialect Dialect
}

// ErrNoShell is returned by FindShell if the system has none.
var ErrNoShell = errors.New("no shell found: name one in the configuration")

// FindShell returns the shell at path or, if that is empty, the first one that
// the system has: bash or sh, on Windows also PowerShell or cmd. $SHELL does not
// count: what is analysed as bash must not be run by another shell. It is looked up
// once, by the host, so that no later PATH has a say.
func FindShell(path string) (*Shell, error) {
	names := shellNames()
	if path != "" {
		names = []string{path}
	}
	for _, name := range names {
		found, err := exec.LookPath(name)
		if err != nil || !filepath.IsAbs(found) {
			continue
		}
		return &Shell{Path: found, Dialect: dialectOf(found)}, nil
	}
	if path != "" {
		return nil, fmt.Errorf("shell %s: %w", path, ErrNoShell)
	}
	return nil, ErrNoShell
}

func dialectOf(path string) Dialect {
	name := strings.TrimSuffix(strings.ToLower(filepath.Base(path)), ".exe")
	switch name {
	case "bash":
		return Bash
	case "pwsh", "powershell":
		return PowerShell
	case "cmd":
		return Cmd
	}
	return POSIX
}

// Args returns the arguments that make the shell run command, which is passed on
// as it is, and without any file of the user's being read first.
func (s *Shell) Args(command string) []string {
	switch s.Dialect {
	case Bash:
		// -p keeps bash from taking functions and options from the environment.
		return []string{"--noprofile", "--norc", "-p", "-c", command}
	case PowerShell:
		return []string{"-NoProfile", "-NonInteractive", "-Command", command}
	case Cmd:
		return []string{"/d", "/s", "/c", command}
	}
	return []string{"-c", command}
}

// MaxCommand is the longest command, in bytes, that is passed as an argument:
// Linux allows 128 KiB with the final NUL.
const MaxCommand = 128<<10 - 1

// Command returns the program and the arguments that run command. One that is
// too long for an argument is put in a file of spill, which remove removes when
// the process has ended; without a spill that is a *StartError. remove is never nil.
func (s *Shell) Command(ctx context.Context, command string, spill truncate.Spill) (path string, args []string, remove func(), err error) {
	remove = func() {}
	if strings.ContainsRune(command, 0) {
		return "", nil, remove, &StartError{Path: s.Path, Err: errors.New("the command has a NUL character in it, where the system would cut it off")}
	}
	if len(command) <= MaxCommand {
		return s.Path, s.Args(command), remove, nil
	}
	if spill == nil || s.Dialect == PowerShell || s.Dialect == Cmd {
		return "", nil, remove, &StartError{Path: s.Path, Err: errTooBig}
	}
	f, err := spill.Create(ctx)
	if err != nil {
		return "", nil, remove, fmt.Errorf("storing a long command: %w", err)
	}
	if _, err = io.WriteString(f, command); err == nil {
		err = f.Close()
	}
	if err != nil {
		return "", nil, remove, fmt.Errorf("storing a long command: %w", errors.Join(err, f.Discard()))
	}
	args = []string{f.Path()}
	if s.Dialect == Bash {
		args = []string{"--noprofile", "--norc", "-p", f.Path()}
	}
	return s.Path, args, func() { _ = f.Discard() }, nil
}

// firstThere returns the names of programs and, where they are usually installed,
// their paths.
func firstThere(paths ...string) []string {
	var there []string
	for _, p := range paths {
		if !filepath.IsAbs(p) {
			there = append(there, p)
			continue
		}
		if fi, err := os.Stat(p); err == nil && !fi.IsDir() {
			there = append(there, p)
		}
	}
	return there
}
