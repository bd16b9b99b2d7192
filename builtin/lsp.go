package builtin

import "context"

// LSP knows the project's code as an editor does. The tool lsp and the problems
// that are told after a change stand on it. [Config].LanguageServers starts
// servers that implement it; a host that has servers running already implements
// it itself.
//
// Positions count lines and characters (runes) from 1. Paths are absolute, with
// links resolved. All methods are called concurrently, with no lock held. What
// comes back is treated as foreign: paths outside of the project are not opened.
type LSP interface {
	// Open says that a session looks at the file, so that it can be loaded. It
	// must return at once.
	Open(path string)

	// Changed says that files were changed, after they were written: what each
	// held before and holds now. It returns what is wrong now and was not before,
	// in those files and in others. It should answer within two seconds or so and
	// name in the report who is late; ctx ends after [Limits].HookTime.
	Changed(ctx context.Context, before, after []SourceFile) (*LSPReport, error)

	// Query answers a question about code. An error is told to the model as it is.
	Query(ctx context.Context, q *LSPQuery) (*LSPAnswer, error)
}

// LSPReport is what there is to say after a change.
type LSPReport struct {
	New []Diagnostic // that were not there before

	// Unsure are paths of which it is not known what was wrong with them before:
	// New has all that is wrong with them now.
	Unsure []string

	// Late says who has not answered in time, in a few words each; the model is
	// told that there may be more.
	Late []string
}

// LSPOperation is what an [LSPQuery] is about.
type LSPOperation string

// The operations.
const (
	LSPDefinition      LSPOperation = "definition"
	LSPReferences      LSPOperation = "references"
	LSPHover           LSPOperation = "hover"
	LSPImplementation  LSPOperation = "implementation"
	LSPDocumentSymbol  LSPOperation = "documentSymbol"
	LSPWorkspaceSymbol LSPOperation = "workspaceSymbol"
	LSPIncomingCalls   LSPOperation = "incomingCalls"
	LSPOutgoingCalls   LSPOperation = "outgoingCalls"
	LSPDiagnostics     LSPOperation = "diagnostics"
	LSPRename          LSPOperation = "rename"
	LSPCodeActions     LSPOperation = "codeActions"
)

// LSPQuery is a question about code.
type LSPQuery struct {
	Operation LSPOperation
	Path      string      // "" only for workspaceSymbol, and diagnostics of the project
	At        LSPPosition // what is asked about; zero for whole files
	End       LSPPosition // for codeActions: up to where
	Query     string      // for workspaceSymbol: a name or part of one
	NewName   string      // for rename
	Action    string      // for codeActions: the title of the one to carry out; "" lists them
}

// LSPPosition is a place in a text.
type LSPPosition struct {
	Line   int `json:"line"`
	Column int `json:"column"`
}

// LSPLocation is a stretch of a file.
type LSPLocation struct {
	Path  string
	Start LSPPosition
	End   LSPPosition
}

// LSPSymbol is something that has a name.
type LSPSymbol struct {
	Name      string
	Kind      string // "function", "struct" …
	Detail    string // such as its type; "" if unknown
	Container string // what it belongs to; "" if unknown
	Location  LSPLocation
	Depth     int // of nesting, for documentSymbol
}

// LSPCall is the other end of a call, and where the calls are.
type LSPCall struct {
	Symbol LSPSymbol
	Sites  []LSPLocation // in the file of the caller
}

// LSPAction is something that can be done to the code at a place.
type LSPAction struct {
	Title     string
	Kind      string // "quickfix", "refactor.extract" …
	Preferred bool
	Disabled  string // why it cannot be carried out; "" if it can
}

// LSPFileEdit is what is to become of one file. The tool does it, if the user
// agrees.
type LSPFileEdit struct {
	Operation string // "edit", "create", "rename" or "delete"; "rename" and "create" may come with Edits
	Path      string
	To        string // of "rename"
	Edits     []LSPTextEdit

	// Text is what the file holds for whoever made the Edits. If it has changed
	// since, they are asked for again.
	Text string
}

// LSPTextEdit replaces what is between two positions.
type LSPTextEdit struct {
	Start, End LSPPosition
	NewText    string
}

// LSPAnswer is the answer to an [LSPQuery]. What does not belong to its operation
// is empty; an empty answer means that nothing was found.
type LSPAnswer struct {
	Server       string        // who answers, for messages
	Locations    []LSPLocation // of definition, references, implementation
	Declarations []LSPLocation // of references: where the symbol is declared
	Hover        string        // Markdown
	Symbols      []LSPSymbol
	Calls        []LSPCall
	Diagnostics  []Diagnostic
	Actions      []LSPAction
	Edits        []LSPFileEdit // of rename, and of codeActions with an Action; no file twice

	// Busy says with what the server is still busy, so that the answer may lack
	// something; "" if it is ready.
	Busy string
}
