package builtin

import (
	"context"
	"time"

	"github.com/agenttool/tool/truncate"
)

// Config says what a [Toolset] works on. Only Root is required.
type Config struct {
	// Root is the project directory: where relative names start, and beyond which
	// everything is asked for. It must exist. A relative name is taken from the
	// process's working directory, once, in [New].
	Root string

	// Shell is the shell that runs commands, a path or a name that is looked up
	// in PATH, once. It must understand POSIX syntax. "" means bash, else sh; with
	// neither, bash is not offered. The user's $SHELL is never consulted, because
	// what is analysed is what runs.
	Shell string

	// Env is laid over the filtered environment of commands, as "NAME=value"; a
	// bare "NAME" removes the variable. Nil changes nothing.
	Env []string

	// Spill keeps the full output of commands when what is shown of it was cut,
	// usually a *[truncate.Store]; nil keeps nothing. If it has a method
	// Dir() string, as the store has, files below that directory may be read and
	// searched without a permission being asked. The host closes it.
	Spill truncate.Spill

	// Secrets are further names of secret files, beside the .env family and
	// private SSH keys. A pattern without a slash is for base names, one with a
	// slash for the path relative to Root; * and ** as in glob, case is ignored.
	Secrets []string

	// Protected are further files and directories, in the same form, whose change
	// needs a permission of its own: the host's configuration, rules and plugins.
	Protected []string

	// OnFileChange, if not nil, is told of every file that write and edit changed,
	// after the change and before the call ends. No lock is held. It may be called
	// concurrently; a panic in it is recovered and noted in the result's metadata.
	OnFileChange func(ctx context.Context, ch FileChange)

	// Limits bound what the tools do. The zero value means the defaults.
	Limits Limits
}

// Limits bound what the tools do. In each, 0 means the default.
type Limits struct {
	ReadLines int // lines that read shows if the call has no limit; 2000
	ReadBytes int // text that read shows, in bytes; 50 KiB
	LineRunes int // runes of a line that read and grep show; 2000

	FileBytes int64 // largest file that write and edit take on, in bytes; 64 MiB
	Matches   int   // files that glob and lines that grep shows; 100

	SearchTime time.Duration // after which glob and grep return what they have; 20 s

	CommandTime    time.Duration // of a command if the call has no timeout; 120 s
	MaxCommandTime time.Duration // the longest timeout that a call gets; 600 s
	CommandOutput  int           // output of a command that is shown, in bytes; 30 000
	KillGrace      time.Duration // between asking a command to end and ending it; 2 s
}

func (l Limits) withDefaults() Limits {
	def(&l.ReadLines, 2000)
	def(&l.ReadBytes, 50<<10)
	def(&l.LineRunes, 2000)
	def(&l.FileBytes, 64<<20)
	def(&l.Matches, 100)
	def(&l.SearchTime, 20*time.Second)
	def(&l.CommandTime, 120*time.Second)
	def(&l.MaxCommandTime, 600*time.Second)
	def(&l.CommandOutput, 30_000)
	def(&l.KillGrace, 2*time.Second)
	return l
}

func def[T int | int64 | time.Duration](p *T, v T) {
	if *p <= 0 {
		*p = v
	}
}

// FileChange is one change of a file by a tool.
type FileChange struct {
	Path   string // absolute, links resolved
	Before string // SHA-256 of the content before, in hex; "" if there was no file
	After  string // SHA-256 of the content after, in hex

	SessionID string
	Tool      string // "write" or "edit"
	CallID    string
}
