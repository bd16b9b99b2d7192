package permission

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/agenttool/tool"
	"github.com/agenttool/tool/schema"
)

// DoomLoop notices a model that goes in circles. Its [DoomLoop.Middleware] looks
// at every call before it runs, and compares it with those before it in the same
// session by the same agent: calls are equal if they name the same tool and their
// arguments are the same JSON, whatever the order of keys.
//
// The third equal call in a row is asked about before it runs, and so is every
// further one, as a request of the permission "doom_loop" with the tool's name as
// its pattern. A different call starts the count anew. So are two or three calls
// that take turns, when they do so for the third time (ABABAB, ABCABCABC).
//
// When the same call failed three times without success between, its error begins
// by saying so, to the model. Denials and cancellations do not count as failures.
//
// The zero value is ready for use. The exported fields must not change once it is
// in use. It is safe for concurrent use and must not be copied. Its memory is
// bounded: what was not heard of for longest is forgotten first.
type DoomLoop struct {
	Limit int // calls in a row, or rounds, or failures, until something is said; 0: 3; at least 2

	// Exempt are tools that wait for something and so are called again and again.
	// They are never asked about and, as different calls, end a row. nil: job_output and job_list.
	Exempt []string

	// Detected, if not nil, is called, in the goroutine of the call, when a loop is noticed, before it is asked about.
	Detected func(Loop)

	mu    sync.Mutex
	rows  map[rowKey]*row
	clock int // counts calls, to tell which row is oldest
}

// LoopKind says how a model repeats itself.
type LoopKind string

// The kinds of loops.
const (
	LoopRepeat  LoopKind = "repeat"  // one call again and again
	LoopCycle   LoopKind = "cycle"   // two or three calls in turn
	LoopFailure LoopKind = "failure" // one call that keeps failing
)

// Loop is what a [DoomLoop] noticed.
type Loop struct {
	Call  *tool.Call
	Kind  LoopKind
	Count int // equal calls, rounds, or failures, including this one; a repeat is counted up to 99
}

type rowKey struct{ session, agent string }

type callKey [16]byte

// row is what one agent did in one session.
type row struct {
	calls    []callKey // the last ones
	same     int       // how many of the last calls were equal
	failures map[callKey]int
	failed   []callKey // keys of failures, oldest first
	used     int
}

const (
	defaultLoopLimit = 3
	maxLoopLimit     = 99
	maxPeriod        = 3    // calls that take turns
	maxRows          = 1024 // agents and sessions
	maxFailures      = 64   // per row
)

func (d *DoomLoop) limit() int {
	switch {
	case d.Limit == 0:
		return defaultLoopLimit
	case d.Limit < 2:
		return 2
	}
	return min(d.Limit, maxLoopLimit)
}

func (d *DoomLoop) exempt(name string) bool {
	if d.Exempt == nil {
		return name == "job_output" || name == "job_list"
	}
	return slices.Contains(d.Exempt, name)
}

// Middleware returns the middleware, for [tool.Executor].Middleware. All that is
// returned by one DoomLoop share its memory.
func (d *DoomLoop) Middleware() tool.Middleware {
	return func(next tool.RunFunc) tool.RunFunc {
		return func(ctx context.Context, call *tool.Call) (*tool.Result, error) {
			k := rowKey{session: call.SessionID}
			if call.Agent != nil {
				k.agent = call.Agent.Name
			}
			if d.exempt(call.Tool) {
				d.interrupt(k)
				return next(ctx, call)
			}
			key := keyOf(call)
			if loop, found := d.started(k, key); found {
				loop.Call = call
				if err := d.ask(ctx, loop, key); err != nil {
					return nil, err
				}
			}
			res, err := next(ctx, call)
			return d.ended(ctx, k, key, call, res, err)
		}
	}
}

// maxCanonical is the size of arguments, in bytes, up to which they are compared
// as JSON. Longer ones are compared as they are, which costs less.
const maxCanonical = 1 << 20

func keyOf(call *tool.Call) callKey {
	input := []byte(call.Input)
	if len(input) <= maxCanonical {
		if c, err := schema.Canonical(call.Input); err == nil {
			input = c
		}
	}
	h := sha256.New()
	fmt.Fprintf(h, "%s\x00", strings.ToLower(call.Tool))
	h.Write(input)
	return callKey(h.Sum(nil)[:len(callKey{})])
}

// row returns the row of k. It is called with d.mu held.
func (d *DoomLoop) row(k rowKey) *row {
	d.clock++
	r := d.rows[k]
	if r == nil {
		if d.rows == nil {
			d.rows = make(map[rowKey]*row)
		}
		if len(d.rows) >= maxRows {
			var oldest rowKey
			age := d.clock
			for o, or := range d.rows {
				if or.used < age {
					oldest, age = o, or.used
				}
			}
			delete(d.rows, oldest)
		}
		r = &row{failures: make(map[callKey]int)}
		d.rows[k] = r
	}
	r.used = d.clock
	return r
}

// interrupt ends the row of k without starting another.
func (d *DoomLoop) interrupt(k rowKey) {
	d.mu.Lock()
	defer d.mu.Unlock()
	r := d.row(k)
	r.calls, r.same = r.calls[:0], 0
}

// started notes a call and reports the loop that it closes.
func (d *DoomLoop) started(k rowKey, key callKey) (Loop, bool) {
	limit := d.limit()
	d.mu.Lock()
	defer d.mu.Unlock()
	r := d.row(k)
	if len(r.calls) > 0 && r.calls[len(r.calls)-1] == key {
		r.same = min(r.same+1, maxLoopLimit)
	} else {
		r.same = 1
	}
	if len(r.calls) >= maxPeriod*limit {
		r.calls = slices.Delete(r.calls, 0, 1)
	}
	r.calls = append(r.calls, key)
	if r.same >= limit {
		return Loop{Kind: LoopRepeat, Count: r.same}, true
	}
	for period := 2; period <= maxPeriod; period++ {
		if r.turns(period, limit) {
			return Loop{Kind: LoopCycle, Count: limit}, true
		}
	}
	return Loop{}, false
}

// turns reports whether the last calls are limit rounds of the same period calls.
func (r *row) turns(period, limit int) bool {
	n := period * limit
	if len(r.calls) < n {
		return false
	}
	last := r.calls[len(r.calls)-n:]
	for i := period; i < n; i++ {
		if last[i] != last[i-period] {
			return false
		}
	}
	return true
}

// maxLoopInput bounds how much of the arguments the question shows, in bytes.
const maxLoopInput = 2000

// ask asks whether a call that closes a loop may run.
func (d *DoomLoop) ask(ctx context.Context, loop Loop, key callKey) error {
	call := loop.Call
	what := fmt.Sprintf("this is the %s identical call of %s in a row", ordinal(loop.Count), call.Tool)
	if loop.Kind == LoopCycle {
		what = fmt.Sprintf("the same calls, %s among them, take turns for the %s time", call.Tool, ordinal(loop.Count))
	}
	err := d.tell(loop)
	if err == nil {
		err = call.Ask(ctx, &tool.Request{
			Permission: "doom_loop",
			Title:      strings.ToUpper(what[:1]) + what[1:],
			Patterns:   []string{call.Tool},
			Always:     []string{call.Tool},
			Metadata: map[string]any{
				"tool":  call.Tool,
				"input": clip(string(call.Input), maxLoopInput),
				"call":  hex.EncodeToString(key[:]), // which tells apart what was cut alike
			},
		})
	}
	var denied *tool.DeniedError
	if errors.As(err, &denied) {
		told := *denied
		told.Reason = "You go in circles: " + what + ". Change course. " + denied.Reason
		return &told
	}
	return err
}

func (d *DoomLoop) tell(loop Loop) error {
	if d.Detected == nil {
		return nil
	}
	if err := guard(func() error { d.Detected(loop); return nil }); err != nil {
		return denied(nil, checkFailed, err)
	}
	return nil
}

// ended notes how a call ended, and makes a failure that repeats itself say so.
func (d *DoomLoop) ended(ctx context.Context, k rowKey, key callKey, call *tool.Call, res *tool.Result, err error) (*tool.Result, error) {
	failed := err != nil || res != nil && res.IsError
	if failed && (ctx.Err() != nil || errors.Is(err, tool.ErrDenied) || errors.Is(err, tool.ErrCancelled) || errors.Is(err, tool.ErrAbort)) {
		return res, err
	}
	n := d.failure(k, key, failed)
	if n < d.limit() {
		return res, err
	}
	if terr := d.tell(Loop{Call: call, Kind: LoopFailure, Count: n}); terr != nil {
		return res, errors.Join(err, terr)
	}
	note := fmt.Sprintf("This is the %s identical failing call of %s. It will fail again: do not repeat it. "+
		"Check what you assume about the arguments, or choose another way.", ordinal(n), call.Tool)
	if err != nil {
		return res, &repeatedError{note, err}
	}
	r := *res
	r.Text = note + "\n\n" + res.Text
	return &r, nil
}

// failure counts a failure, or forgets those before a success, and returns the count.
func (d *DoomLoop) failure(k rowKey, key callKey, failed bool) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	r := d.row(k)
	old := r.failures[key]
	if !failed {
		if old > 0 {
			delete(r.failures, key)
			r.failed = slices.DeleteFunc(r.failed, func(o callKey) bool { return o == key })
		}
		return 0
	}
	if old == 0 {
		if len(r.failed) >= maxFailures {
			delete(r.failures, r.failed[0])
			r.failed = slices.Delete(r.failed, 0, 1)
		}
		r.failed = append(r.failed, key)
	}
	r.failures[key] = min(old+1, maxLoopLimit)
	return r.failures[key]
}

// repeatedError is a tool's error with a word to the model before it. For the
// host it is that error.
type repeatedError struct {
	note string
	err  error
}

func (e *repeatedError) Error() string     { return e.note + "\n\n" + e.err.Error() }
func (e *repeatedError) ModelText() string { return e.note + "\n\n" + tool.ModelText(e.err) }
func (e *repeatedError) Unwrap() error     { return e.err }

// ordinal spells small ordinals out.
func ordinal(n int) string {
	words := [...]string{"", "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"}
	if n < len(words) {
		return words[n]
	}
	suffix := "th"
	if n/10%10 != 1 {
		switch n % 10 {
		case 1:
			suffix = "st"
		case 2:
			suffix = "nd"
		case 3:
			suffix = "rd"
		}
	}
	return fmt.Sprintf("%d%s", n, suffix)
}
