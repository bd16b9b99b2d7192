package clienttool

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/agenttool/tool"
)

// ErrCall is matched by every *[CallError].
var ErrCall = errors.New("client tool call failed")

// Delivery is how far a failed call got. A call that was NotDelivered may be
// tried again blindly; the others may not.
type Delivery int

// The deliveries.
const (
	NotDelivered Delivery = iota // the tool did not run
	Unknown                      // it was written to the client, and may have run
	Started                      // the client began to run it
)

// String returns the name of the constant.
func (d Delivery) String() string {
	switch d {
	case NotDelivered:
		return "not delivered"
	case Started:
		return "started"
	}
	return "unknown"
}

// The codes of a [CallError], of rejections and of error messages. They are stable.
const (
	CodeTimeout         = "timeout"
	CodeCancelled       = "cancelled"
	CodeOffline         = "client_offline"   // it never came online
	CodeGone            = "client_gone"      // it left and did not come back in time, or said goodbye
	CodeRestarted       = "client_restarted" // the process that had the call is gone
	CodeOverloaded      = "overloaded"
	CodeRateLimited     = "rate_limited"
	CodeDenied          = "denied"
	CodeInvalidInput    = "invalid_input"
	CodeUnknownTool     = "unknown_tool"
	CodeToolChanged     = "tool_changed" // it was registered anew with another meaning
	CodeToolError       = "tool_error"   // the tool itself failed
	CodeBadResult       = "bad_result"
	CodeTooLarge        = "too_large"
	CodeHeartbeat       = "heartbeat"    // no progress for CallRequest.HeartbeatTimeout
	CodeUnresponsive    = "unresponsive" // the client does not confirm requests
	CodeDuplicate       = "duplicate"    // there is a call with this request id
	CodeShutdown        = "shutdown"
	CodePanic           = "panic"
	CodeInvalidRequest  = "invalid_request"
	CodeConflict        = "conflict"   // the client id is taken
	CodeSuperseded      = "superseded" // another link has taken over
	CodeUnauthorized    = "unauthorized"
	CodeInvalidSchema   = "invalid_schema"
	CodeInvalidName     = "invalid_name"
	CodeNameTaken       = "name_taken"
	CodeLimit           = "limit"
	CodeNotFound        = "not_found"
	CodeProtocol        = "protocol"
	CodeCallbackRefused = "refused"
	CodeUnavailable     = "unavailable" // it may work later
)

// CallError says why a call of a client's tool failed. It matches [ErrCall], and,
// where the code says the same, tool.ErrTimeout, tool.ErrCancelled, tool.ErrDenied,
// tool.ErrInput and their like in package context.
type CallError struct {
	Code       string
	Delivery   Delivery
	Tool       string // its id on the host
	RequestID  string
	ClientID   string
	RetryAfter time.Duration // of rate_limited
	Cause      error         // may be nil
}

// Error says what happened, for logs.
func (e *CallError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "client tool %s: %s", e.Tool, e.Code)
	if e.Code != CodeToolError {
		fmt.Fprintf(&b, " (%s)", e.Delivery)
	}
	if e.Cause != nil {
		fmt.Fprintf(&b, ": %v", e.Cause)
	}
	return b.String()
}

// Is reports whether target is [ErrCall], or the sentinel of another package that means the same.
func (e *CallError) Is(target error) bool {
	if target == ErrCall {
		return true
	}
	switch e.Code {
	case CodeTimeout, CodeHeartbeat:
		return target == tool.ErrTimeout || target == context.DeadlineExceeded
	case CodeCancelled:
		return target == tool.ErrCancelled || target == context.Canceled
	case CodeDenied:
		return target == tool.ErrDenied
	case CodeInvalidInput:
		return target == tool.ErrInput
	}
	return false
}

// Unwrap returns the cause, or nil.
func (e *CallError) Unwrap() error { return e.Cause }

// ModelText says what happened, whether the tool may have run, and what to do next.
func (e *CallError) ModelText() string {
	cause := ""
	if e.Cause != nil {
		cause = strings.TrimRight(clip(tool.ModelText(e.Cause), maxErrorBytes), " \n")
	}
	switch e.Code {
	case CodeToolError:
		if cause == "" {
			return "The tool failed and gave no reason."
		}
		return cause
	case CodeInvalidInput, CodeDenied:
		if cause != "" {
			return cause
		}
	case CodeUnknownTool:
		return fmt.Sprintf("There is no tool %q any more. It did not run. Use another tool.", e.Tool)
	case CodeToolChanged:
		return "The tool was changed by its owner while the call was waiting. It did not run. Look at its description again before calling it."
	case CodeRateLimited:
		return fmt.Sprintf("The tool did not run: its client takes no more calls for %s. Wait, or use another tool.", e.RetryAfter.Round(time.Millisecond))
	case CodeBadResult:
		return "The tool ran, but its result could not be used" + because(cause) + ". It may have taken effect; check before retrying."
	case CodeTooLarge:
		if e.Delivery == NotDelivered {
			return "The tool did not run: its arguments are too large. Send less in one call."
		}
		return "The tool ran, but its result is too large. It may have taken effect; ask for less in one call."
	}
	var what string
	switch e.Code {
	case CodeTimeout:
		what = "The tool did not finish in time"
	case CodeHeartbeat:
		what = "The tool stopped reporting progress"
	case CodeCancelled:
		what = "The call was cancelled" + because(cause)
	case CodeOffline:
		what = "The client that runs the tool is not connected"
	case CodeGone:
		what = "The client that runs the tool disconnected"
	case CodeRestarted:
		what = "The client that ran the tool was restarted"
	case CodeOverloaded:
		what = "Too many calls are waiting for the client that runs the tool"
	case CodeUnresponsive:
		what = "The client that runs the tool does not respond"
	case CodeShutdown:
		what = "The host is shutting down"
	default:
		what = "The call failed" + because(cause)
	}
	switch e.Delivery {
	case NotDelivered:
		return what + ". The tool did not run; the call may be repeated."
	case Started:
		return what + " while the tool was running. It may have taken effect; check before retrying."
	}
	return what + ". The tool may have run; check before retrying."
}

func because(cause string) string {
	if cause == "" {
		return ""
	}
	return ": " + strings.TrimSuffix(cause, ".")
}

// RefusedError says why the hub refused an attach, a registration or a message.
type RefusedError struct {
	Code       string // see the Code constants
	RetryAfter time.Duration
	Err        error
}

// ErrRefused is matched by every *[RefusedError].
var ErrRefused = errors.New("refused")

// Error says what was refused and why.
func (e *RefusedError) Error() string { return fmt.Sprintf("refused (%s): %v", e.Code, e.Err) }

// Is reports whether target is [ErrRefused].
func (e *RefusedError) Is(target error) bool { return target == ErrRefused }

// Unwrap returns the reason.
func (e *RefusedError) Unwrap() error { return e.Err }

func refused(code, text string) *RefusedError {
	return &RefusedError{Code: code, Err: errors.New(text)}
}

// What a stranger's words are cut to, in bytes.
const (
	maxTitleBytes    = 256
	maxErrorBytes    = 8 << 10
	maxMetadataBytes = 64 << 10
)

// clip shortens s to about n bytes at a rune boundary and makes it valid UTF-8.
func clip(s string, n int) string {
	if len(s) > n {
		for n > 0 && !utf8.RuneStart(s[n]) {
			n--
		}
		s = s[:n] + "…"
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

// oneLine is s for a title or a log: clipped, and without control characters,
// which could move a cursor or forge a line, and without what nobody sees.
func oneLine(s string, n int) string {
	return strings.Map(func(r rune) rune {
		switch {
		case control(r), r == '\u2028', r == '\u2029':
			return ' '
		case unseen(r):
			return -1
		}
		return r
	}, clip(s, n))
}

// plainText drops control characters except tab and newline, and what nobody sees.
func plainText(s string, n int) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && (control(r) || unseen(r)) {
			return -1
		}
		return r
	}, clip(s, n))
}

func control(r rune) bool { return r < ' ' || r >= 0x7f && r <= 0x9f }

// unseen reports whether r turns text around or hides in it, so that a user reads
// something else than a model does: directions, blanks of no width, tags and private
// selectors. The joiners that scripts and emoji need are not among them.
func unseen(r rune) bool {
	switch {
	case r == '\u200b', r == '\u200e', r == '\u200f', r == '\u061c', r == '\ufeff',
		'\u202a' <= r && r <= '\u202e', '\u2060' <= r && r <= '\u206f', '\U000e0000' <= r && r <= '\U000e0fff':
		return true
	}
	return false
}
