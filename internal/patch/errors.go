package patch

import (
	"errors"
	"fmt"
	"strings"
)

// Why a patch was refused. Every error of this package is an [*Error], or
// several of them joined, that wraps one of these; an error for a hunk also
// wraps the sentinel of package match that tells why it has no place.
var (
	ErrSyntax  = errors.New("malformed patch")
	ErrBinary  = errors.New("binary patch")
	ErrEmpty   = errors.New("patch changes nothing")
	ErrMissing = errors.New("file does not exist")
	ErrExists  = errors.New("file exists already")
	ErrRead    = errors.New("file cannot be read")
	ErrHunk    = errors.New("hunk does not apply")
)

// An Error says why a patch was refused. Its text is meant for the model that
// wrote the patch; it says that nothing was changed.
type Error struct {
	Reason error  // one of the sentinels
	Path   string // of the file concerned, empty when the patch as a whole is
	Hunk   int    // number of the hunk in its file, from 1, 0 if none is concerned
	Line   int    // line of the patch text, from 1, 0 if unknown
	Cause  error  // what package match or the read function said, or nil

	message string
}

func (e *Error) Error() string { return e.message + "\nNothing was changed." }

// Unwrap returns the Reason and the Cause.
func (e *Error) Unwrap() []error {
	if e.Cause == nil {
		return []error{e.Reason}
	}
	return []error{e.Reason, e.Cause}
}

// Errors are the refusals of several files or hunks of one patch.
type Errors []*Error

// explained is how many refusals are given in full.
const explained = 2

func (es Errors) Error() string {
	var b strings.Builder
	for i, e := range es {
		msg := e.message
		if i >= explained {
			msg, _, _ = strings.Cut(msg, "\n")
		}
		if i == 12 {
			fmt.Fprintf(&b, "… and %d more\n", len(es)-i)
			break
		}
		b.WriteString(msg + "\n")
	}
	b.WriteString("Nothing was changed.")
	return b.String()
}

// Unwrap returns the single errors.
func (es Errors) Unwrap() []error {
	out := make([]error, len(es))
	for i, e := range es {
		out[i] = e
	}
	return out
}

func (es Errors) err() error {
	switch len(es) {
	case 0:
		return nil
	case 1:
		return es[0]
	}
	return es
}

func syntax(line int, format string, args ...any) *Error {
	msg := fmt.Sprintf(format, args...)
	if line > 0 {
		msg = fmt.Sprintf("line %d of the patch: %s", line, msg)
	}
	return &Error{Reason: ErrSyntax, Line: line, message: msg}
}
