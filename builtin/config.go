package builtin

import (
	"context"
	"time"

	"github.com/agenttool/tool"
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

	// Bash says how commands run and what is asked about them.
	Bash BashConfig

	// PlanMode switches plan mode on and off. Nil: plan_enter and plan_exit are not
	// offered.
	PlanMode PlanMode

	// Spill keeps the full output of commands when what is shown of it was cut,
	// usually a *[truncate.Store]; nil keeps nothing. If it has a method
	// Dir() string, as the store has, files below that directory may be read and
	// searched without a permission being asked. The host closes it.
	Spill truncate.Spill

	// Secrets are further names of secret files, beside the .env family and
	// private SSH keys. A pattern without a slash is for base names and for
	// directories of the project, one with a slash for the path relative to Root;
	// * stays within a name, "dir/**" is everything below, case is ignored, and a
	// leading "!" takes names out again.
	Secrets []string

	// Protected are further files and directories, in the same form, whose change
	// needs a permission of its own: the host's configuration, rules and plugins.
	Protected []string

	// Charset is the encoding that is tried for files that are neither UTF-8 nor
	// UTF-16 and for which .editorconfig says nothing: "gbk", "windows-1252" ….
	// "" means that it is guessed.
	Charset string

	// IgnoreSettings makes new files UTF-8 with the line ends they are given,
	// whatever .editorconfig and .gitattributes say.
	IgnoreSettings bool

	// ReadFirst makes edit, multiedit and apply_patch treat a file of which the
	// session was never shown anything as one whose lines were not shown: only
	// exact text that is there once is changed. Without it, text that differs in
	// blanks alone is accepted too.
	ReadFirst bool

	// NoteUnchanged makes read answer with a short note when the session has been
	// shown the lines already and they have not changed since.
	NoteUnchanged bool

	// AllowPlaceholders lets write and edit put in lines such as "… rest of the
	// code unchanged"; by default they are refused, since they would replace code.
	AllowPlaceholders bool

	// RejectSyntaxErrors refuses changes after which a Go or JSON file has syntax
	// errors that it had not before; by default they are only reported.
	RejectSyntaxErrors bool

	// ExecutableScripts gives new files that begin with "#!" the execute bits.
	ExecutableScripts bool

	// Images prepares images for the model, PDF reads the text of PDF files; nil
	// describes such files by type and size. Package builtin/media has both.
	Images ImageCodec
	PDF    PDFText

	// Accepts says whether the agent's model takes attachments of a MIME type;
	// agent may be nil. A nil Accepts takes images and nothing else. An image that
	// is not taken is described, a PDF that is taken is attached beside its text.
	Accepts func(agent *tool.Agent, mime string) bool

	// Instructions, if not nil, is asked after a file was read for text to add to
	// the result, such as notes that the host keeps beside the file at path.
	Instructions func(ctx context.Context, call *tool.Call, path string) string

	// Formatter, if not nil, formats the new content of files before anybody is
	// asked about it, so that what is shown is what is written.
	Formatter Formatter

	// Diagnostics, if not nil, says what is wrong in files, as a compiler or a
	// language server sees it: in those given, and in others as far as it knows. It
	// is asked twice for a change: once it is approved, about the files as they are,
	// and again when they are written. What the second answer has and the first had
	// not is reported to the model, so it need not compare. It must not change or
	// keep what it is given. With an error there is no answer: if the first one is
	// missing, what is wrong in the changed files is reported as perhaps older, and
	// without the second nothing is.
	Diagnostics func(ctx context.Context, files []SourceFile) ([]Diagnostic, error)

	// OnFileChange, if not nil, is told of every file that a tool changed, after
	// the change and before the call ends.
	//
	// The functions above may be called concurrently, and never while a lock is
	// held. A panic in one is recovered, and one that does not return within
	// [Limits].HookTime is left behind; the change is made all the same, and the
	// result's metadata says what happened. The context ends with that time.
	OnFileChange func(ctx context.Context, ch FileChange)

	// LanguageServers are started when they are needed, for the tool lsp and to tell
	// after a change what is wrong that was not before. Being listed is what allows
	// a server to be run. Nil starts none.
	LanguageServers []LanguageServer

	// LSP does the same for a host that has language servers running; it excludes
	// LanguageServers. Without either the tool lsp is not offered.
	LSP LSP

	// Web says how webfetch reaches the web. The zero value is the strict default.
	Web WebConfig

	// Search says who answers websearch and codesearch. The zero value offers neither.
	Search SearchConfig

	// Asker puts the questions of the tool question to the user; nil does not offer it.
	Asker Asker

	// OnTodoChange, if not nil, is told of every change that todowrite made to a
	// list, before the call ends. Like the functions above it may be called
	// concurrently, with no lock held; [TodoChange.Revision] is the order.
	OnTodoChange func(ctx context.Context, ch TodoChange)

	// Task says who runs subagents, and within which limits.
	Task TaskConfig

	// Skills says where skills come from.
	Skills SkillConfig

	// Denied says that the configuration denies a permission for a name, such as
	// that of a subagent, so that the name is not even shown to the agent, which may be
	// nil. Nil denies nothing. What is shown is asked about all the same.
	Denied func(agent *tool.Agent, permission, name string) bool

	// Limits bound what the tools do. The zero value means the defaults.
	Limits Limits
}

// Limits bound what the tools do. In each, 0 means the default.
type Limits struct {
	ReadLines int // lines that read shows if the call has no limit; 2000
	ReadBytes int // text that read shows, in bytes; 50 KiB
	LineRunes int // runes of a line that read and grep show; 2000

	FileBytes  int64 // largest file that is held to be changed, in bytes; in larger ones edit replaces exact text only; 64 MiB
	WriteBytes int   // largest content that write takes, in bytes; 10 MiB
	MediaBytes int64 // largest image or PDF that is looked into, in bytes; 64 MiB
	Matches    int   // files that glob and lines that grep shows; 100
	Entries    int   // entries that ls shows; 200

	HookTime time.Duration // for each call of Config.Formatter, Diagnostics, Instructions and OnFileChange; 10 s
	// DiagnosticsTime is how long a change waits for language servers to say what is
	// wrong now; 2 s. One that is only just starting up may take 8 s from its start.
	// HookTime bounds both.
	DiagnosticsTime time.Duration

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
	def(&l.WriteBytes, 10<<20)
	def(&l.MediaBytes, 64<<20)
	def(&l.Matches, 100)
	def(&l.Entries, 200)
	def(&l.HookTime, 10*time.Second)
	def(&l.DiagnosticsTime, 2*time.Second)
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

// Formatter formats source text, as gofmt does. It returns content itself when it
// has nothing to change. An error leaves the content as it is. It must not write
// the file at path, which is absolute and may not exist yet.
type Formatter interface {
	Format(ctx context.Context, path string, content []byte) ([]byte, error)
}

// FormatterFunc is a function that is a [Formatter].
type FormatterFunc func(ctx context.Context, path string, content []byte) ([]byte, error)

// Format calls f.
func (f FormatterFunc) Format(ctx context.Context, path string, content []byte) ([]byte, error) {
	return f(ctx, path, content)
}
