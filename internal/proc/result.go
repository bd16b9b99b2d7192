package proc

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/agenttool/tool/truncate"
)

// Result is what became of a process. It is not changed; a job gets a new one
// when it is done.
type Result struct {
	// Text is what to show of the output: cleaned, folded and cut as the Spec says.
	Text string
	// Cut tells what was left out, and where the raw output is. Its Text is that
	// of the Result unless the output is binary.
	Cut truncate.Cut
	// Binary says that the output is no text; Text says where it was saved.
	Binary bool
	Raw    int64 // bytes that were written

	Exit   int    // the exit code; -1 if the leader did not end by itself, or runs
	Signal string // the signal that ended the leader, "" if none did

	Running   bool // the leader runs on: it is a job now
	TimedOut  bool // the timeout was reached
	Cancelled bool // the context of Start ended
	Killed    bool // Kill or Close ended the leader

	// Duration is how long the leader ran, or has run.
	Duration time.Duration
	// CPU is the processor time of the leader and the children it waited for,
	// user and system; 0 while it runs.
	CPU time.Duration
	// Leftovers are processes that outlive the leader and go on, in a Result that
	// is not final; in a final one, those that could not be ended.
	Leftovers []Member
	// Ended are processes that outlived the leader and were ended.
	Ended []Member
	// Waiting is the prompt at which the process seems to wait for input, if it
	// was stopped or detached at its timeout; "" if it does not seem to.
	Waiting string
	Dir     string   // the working directory
	Notes   []string // what the model should know beside the output, as sentences
}

// Status says in a line how the process ended: "exit 0, 1.2s".
func (r *Result) Status() string {
	took := Took(r.Duration)
	switch {
	case r.Running && r.TimedOut:
		return "still running after " + took
	case r.Running:
		return "running, " + took
	case r.TimedOut:
		return "timed out after " + took
	case r.Cancelled:
		return "cancelled after " + took
	case r.Killed:
		return "killed after " + took
	case r.Signal != "":
		return "killed by " + r.Signal + ", " + took
	}
	return fmt.Sprintf("exit %d, %s", r.Exit, took)
}

// Took writes a duration as short as it is useful: 12ms, 3.4s, 2m05s, 1h02m.
func Took(d time.Duration) string {
	switch {
	case d < time.Second:
		return fmt.Sprintf("%dms", d.Milliseconds())
	case d < 99500*time.Millisecond:
		return strings.TrimSuffix(fmt.Sprintf("%.1f", d.Seconds()), ".0") + "s"
	case d < time.Hour:
		d = d.Round(time.Second)
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	}
	d = d.Round(time.Minute)
	return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
}

// exitOf fills in how the leader ended.
func (r *Result) exitOf(ps *os.ProcessState) {
	r.Exit = -1
	if ps == nil {
		return
	}
	r.Exit = ps.ExitCode()
	r.Signal = exitSignal(ps)
	r.CPU = ps.UserTime() + ps.SystemTime()
}

// binaryText is shown instead of output that is no text.
func binaryText(raw int64, path string) string {
	if path == "" {
		return fmt.Sprintf("[binary output, %d bytes, not saved]", raw)
	}
	return fmt.Sprintf("[binary output, %d bytes, saved to %s]", raw, path)
}

// shownCommand makes a readable line of arguments that are separated by NUL.
func shownCommand(b []byte) string {
	const limit = 200
	s := strings.TrimRight(strings.ReplaceAll(string(b), "\x00", " "), " \n")
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == utf8.RuneError {
			return '?'
		}
		return r
	}, s)
	if name, rest, ok := strings.Cut(s, " "); ok && filepath.IsAbs(name) {
		s = filepath.Base(name) + " " + rest
	}
	if len(s) > limit {
		n := limit
		for !utf8.RuneStart(s[n]) {
			n--
		}
		s = s[:n] + "…"
	}
	return s
}
