package lsp

import "errors"

// Position is a place in a text. Lines and characters (runes) count from 1.
type Position struct {
	Line, Column int
}

// Location is a stretch of a file. Column 0 means that the file's text was not
// at hand, so that only the line is known.
type Location struct {
	Path       string // absolute
	Start, End Position
}

// Symbol is something that has a name.
type Symbol struct {
	Name, Kind, Detail string
	Container          string // what it belongs to, if the server says so
	Location           Location
	Depth              int // of nesting within the file
}

// Call is one end of a call, with the places where it is called.
type Call struct {
	Symbol Symbol
	Sites  []Location // in the caller's file
}

// Diagnostic is something that a server says about a place.
type Diagnostic struct {
	Location
	Severity int // 1 error, 2 warning, 3 information, 4 hint
	Code     string
	Source   string
	Message  string
}

// TextEdit replaces what is between two positions.
type TextEdit struct {
	Start, End Position
	NewText    string
}

// FileEdit is what a server wants done to one file.
type FileEdit struct {
	Op    string // "edit", "create", "rename" or "delete"
	Path  string
	To    string // of a rename
	Edits []TextEdit

	// Text is the content that the positions of Edits refer to.
	Text string
}

// Action is a code action that a server offers.
type Action struct {
	Title, Kind string
	Preferred   bool
	Disabled    string // why it cannot be applied; "" if it can
}

// The errors of a Client.
var (
	ErrNoServer    = errors.New("no language server")         // none is configured for the file
	ErrClosed      = errors.New("the client is closed")       // by Close
	ErrUnsupported = errors.New("not supported")              // by the server
	ErrCrashed     = errors.New("the language server failed") // it ended, or broke the protocol
	ErrSlow        = errors.New("no answer in time")          // within the server's timeout
	ErrNotFound    = errors.New("not installed")              // its program
)
