package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/agenttool/tool/schema"
)

// Sentinels. Each matches, through [errors.Is], the one error type named
// beside it; ErrHidden and ErrAbort are returned by tools as they are or wrapped.
var (
	// ErrNotFound matches *[NotFoundError].
	ErrNotFound = errors.New("tool not found")
	// ErrDenied matches *[DeniedError].
	ErrDenied = errors.New("permission denied")
	// ErrInput matches *[InputError].
	ErrInput = errors.New("invalid arguments")
	// ErrTimeout matches *[TimeoutError].
	ErrTimeout = errors.New("tool timed out")
	// ErrPanic matches *[PanicError].
	ErrPanic = errors.New("tool panicked")
	// ErrCancelled matches *[CancelledError].
	ErrCancelled = errors.New("call cancelled")
	// ErrResolve matches *[ResolveError].
	ErrResolve = errors.New("tool left out")

	// ErrHidden is returned from [Tool.Spec] by a tool that is not offered to
	// this agent. It is not a failure: the tool is left out without a word.
	ErrHidden = errors.New("tool is not offered")

	// ErrAbort is returned from [Tool.Run] to end the turn: the remaining calls
	// are cancelled and [Executor.Run] returns an error that matches it. Every
	// other error of a tool is text for the model.
	ErrAbort = errors.New("turn aborted by a tool")
)

// Issue is one thing that is wrong with the arguments of a call.
type Issue = schema.Issue

// InputError says why the arguments of a call were refused. The tool did not run.
// It matches [ErrInput].
type InputError struct {
	Tool    string          // the tool that was called
	Issues  []Issue         // every problem, in a stable order
	Input   json.RawMessage // the arguments as they came
	Example json.RawMessage // a minimal corrected example; nil if none is known
	CutOff  bool            // the arguments end in the middle, as when the model hit its output limit
	Err     error           // what schema reported

	text string // from Def.InputError
}

// maxInputText bounds what an InputError tells the model, in bytes.
const maxInputText = 1024

// Error returns the text that the model reads: every problem with its JSON
// Pointer, and one corrected example, in at most 1 KiB.
func (e *InputError) Error() string {
	if e.text != "" {
		return e.text
	}
	var b strings.Builder
	if e.CutOff {
		fmt.Fprintf(&b, "The arguments of your %s call were cut off (output limit reached); nothing was run. ", e.Tool)
		b.WriteString("Send a shorter call, or split the work over several calls.")
		return b.String()
	}
	fmt.Fprintf(&b, "The %s tool was called with invalid arguments:\n", e.Tool)
	if len(e.Issues) == 0 && e.Err != nil {
		err := e.Err
		if se, ok := err.(*schema.Error); ok && se.Err != nil {
			err = se.Err // without the words for hosts
		}
		fmt.Fprintf(&b, "- %s\n", clip(err.Error(), 400))
	}
	const reserve = 120 // for the closing lines
	for i, is := range e.Issues {
		line := "- " + is.String() + "\n"
		if b.Len()+len(line) > maxInputText-reserve {
			fmt.Fprintf(&b, "- and %d more\n", len(e.Issues)-i)
			break
		}
		b.WriteString(line)
	}
	b.WriteString("Please rewrite the input so it satisfies the expected schema.")
	if ex := string(e.Example); ex != "" && b.Len()+len(ex)+len("\nExample: ") <= maxInputText {
		b.WriteString("\nExample: ")
		b.WriteString(ex)
	}
	return b.String()
}

// Is reports whether target is [ErrInput].
func (e *InputError) Is(target error) bool { return target == ErrInput }

// Unwrap returns what schema reported, or nil.
func (e *InputError) Unwrap() error { return e.Err }

// NotFoundError says that a name is not among the tools offered. It matches [ErrNotFound].
type NotFoundError struct {
	Name      string   // as it was called
	Nearest   []string // the most similar names on offer, best first; may be empty
	Available []string // every name on offer, sorted
}

// Error names the tools that may have been meant.
func (e *NotFoundError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "There is no tool %q.", clip(e.Name, 80))
	switch {
	case len(e.Available) == 0:
		b.WriteString(" No tools are available.")
	case len(e.Nearest) > 0:
		fmt.Fprintf(&b, " Did you mean %s?", strings.Join(e.Nearest, " or "))
		fallthrough
	default:
		const most = 40
		names := e.Available
		more := ""
		if len(names) > most {
			more = fmt.Sprintf(" and %d more", len(names)-most)
			names = names[:most]
		}
		fmt.Fprintf(&b, " Available tools: %s%s.", strings.Join(names, ", "), more)
	}
	return b.String()
}

// Is reports whether target is [ErrNotFound].
func (e *NotFoundError) Is(target error) bool { return target == ErrNotFound }

// DeniedError says that a permission was not granted. It matches [ErrDenied].
type DeniedError struct {
	Request *Request // what was asked, with the ids of session, message and call; may be nil
	Reason  string   // why, or what the user answered; read by the model
	EndTurn bool     // the user wants the turn to stop here
	Err     error    // the approver's own error, if any
}

// maxReason bounds a reason, in bytes; users write them, too.
const maxReason = 8 << 10

// Error says what was denied, why, and not to repeat it.
func (e *DeniedError) Error() string {
	var b strings.Builder
	b.WriteString("Permission denied")
	if r := e.Request; r != nil && r.Permission != "" {
		fmt.Fprintf(&b, ": %s", r.Permission)
		if len(r.Patterns) > 0 {
			fmt.Fprintf(&b, " %s", clip(strings.Join(r.Patterns, ", "), 300))
		}
	}
	b.WriteString(".")
	if e.Reason != "" {
		b.WriteString(" ")
		reason := strings.TrimSpace(clip(e.Reason, maxReason))
		b.WriteString(reason)
		if !strings.HasSuffix(reason, ".") && !strings.HasSuffix(reason, "!") && !strings.HasSuffix(reason, "?") {
			b.WriteString(".")
		}
	}
	b.WriteString(" Do not repeat the same call; choose another way or ask the user.")
	return b.String()
}

// ModelText is the same as Error: the approver's own error is not for the model.
func (e *DeniedError) ModelText() string { return e.Error() }

// Is reports whether target is [ErrDenied].
func (e *DeniedError) Is(target error) bool { return target == ErrDenied }

// Unwrap returns the approver's own error, or nil.
func (e *DeniedError) Unwrap() error { return e.Err }

// TimeoutError says that a call ran longer than it may. Time spent asking the
// user does not count. It matches [ErrTimeout] and [context.DeadlineExceeded].
type TimeoutError struct {
	Tool  string
	Limit time.Duration
}

// Error names the limit.
func (e *TimeoutError) Error() string {
	return fmt.Sprintf("The %s tool was stopped: it ran longer than its limit of %s. Do less in one call.", e.Tool, e.Limit)
}

// Is reports whether target is [ErrTimeout] or [context.DeadlineExceeded].
func (e *TimeoutError) Is(target error) bool {
	return target == ErrTimeout || target == context.DeadlineExceeded
}

// CancelledError says that a call ended, or was never started, because its
// context did. It matches [ErrCancelled], and [context.Canceled] or whatever
// else Cause matches.
type CancelledError struct {
	Cause  error // see [context.Cause]
	NotRun bool  // the tool was never started
}

// Error gives the cause, so that "the user pressed escape" reaches the model.
func (e *CancelledError) Error() string {
	if errors.Is(e.Cause, ErrAbort) {
		if e.NotRun {
			return "Not run: another call ended the turn."
		}
		return "Cancelled: another call ended the turn."
	}
	word := "Cancelled"
	if e.NotRun {
		word = "Not run"
	}
	switch e.Cause {
	case nil, context.Canceled:
		return word + ": the turn was cancelled."
	case context.DeadlineExceeded:
		return word + ": its time was over."
	}
	return fmt.Sprintf("%s: %s.", word, strings.TrimSuffix(clip(e.Cause.Error(), 500), "."))
}

// Is reports whether target is [ErrCancelled] or [context.Canceled].
func (e *CancelledError) Is(target error) bool {
	return target == ErrCancelled || target == context.Canceled
}

// Unwrap returns the cause.
func (e *CancelledError) Unwrap() error { return e.Cause }

// PanicError is a recovered panic of a tool or a middleware. Value and Stack are
// for the host; the model reads ModelText only. It matches [ErrPanic].
type PanicError struct {
	Tool  string
	Value any
	Stack []byte
}

// Error gives the panic value, for logs.
func (e *PanicError) Error() string {
	if e.Tool == "" {
		return fmt.Sprintf("panicked: %v", e.Value)
	}
	return fmt.Sprintf("tool %s panicked: %v", e.Tool, e.Value)
}

// ModelText says that the tool failed, without value or stack.
func (e *PanicError) ModelText() string {
	return fmt.Sprintf("The %s tool failed with an internal error. It may have done part of its work: check before you go on, and do not repeat the same call.", e.Tool)
}

// Is reports whether target is [ErrPanic].
func (e *PanicError) Is(target error) bool { return target == ErrPanic }

// Unwrap returns the panic value if it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// ResolveError says which tool [Registry.Resolve] left out, and why. It matches [ErrResolve].
type ResolveError struct {
	Tool string // "" when a [Source] itself failed
	Err  error
}

// Error names the tool and the reason.
func (e *ResolveError) Error() string {
	if e.Tool == "" {
		return fmt.Sprintf("source left out: %v", e.Err)
	}
	return fmt.Sprintf("tool %q left out: %v", e.Tool, e.Err)
}

// Is reports whether target is [ErrResolve].
func (e *ResolveError) Is(target error) bool { return target == ErrResolve }

// Unwrap returns the reason.
func (e *ResolveError) Unwrap() error { return e.Err }

// ModelText returns the words of err that are meant for the model: those of the
// first error in err's tree that has a method ModelText() string, else err.Error().
// An error has that method when its two audiences need different words.
func ModelText(err error) string {
	if err == nil {
		return ""
	}
	var m interface{ ModelText() string }
	if errors.As(err, &m) {
		return m.ModelText()
	}
	return err.Error()
}

// clip shortens s to about n bytes at a rune boundary and makes it valid UTF-8.
func clip(s string, n int) string {
	if len(s) > n {
		for n > 0 && n < len(s) && s[n]&0xC0 == 0x80 {
			n--
		}
		s = s[:n] + "…"
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}
