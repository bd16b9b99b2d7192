package proc

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/agenttool/tool/truncate"
)

// ErrNoInput is returned by WriteInput if the process reads no input from here:
// its Spec did not ask for it, it was closed, or the process has ended.
var ErrNoInput = errors.New("the process takes no input: it has none, it was closed, or the process has ended")

// WriteInput writes to the standard input of the process. It returns when all is
// written, which may be never if the process does not read; then ctx ends it,
// and the error says how much was written.
func (p *Process) WriteInput(ctx context.Context, b []byte) error {
	p.inputMu.Lock()
	f := p.input
	p.inputMu.Unlock()
	if f == nil {
		return ErrNoInput
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	p.writeMu.Lock()
	defer p.writeMu.Unlock()
	_ = f.SetWriteDeadline(time.Time{})
	stop := context.AfterFunc(ctx, func() { _ = f.SetWriteDeadline(time.Now()) })
	defer stop()
	n, err := f.Write(b)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, os.ErrDeadlineExceeded):
		return fmt.Errorf("wrote %d of %d bytes, the process does not read on: %w", n, len(b), context.Cause(ctx))
	}
	return fmt.Errorf("wrote %d of %d bytes: %w", n, len(b), ErrNoInput)
}

// CloseInput ends the standard input of the process. Without one, or after the
// process ended, it does nothing.
func (p *Process) CloseInput() error {
	p.inputMu.Lock()
	defer p.inputMu.Unlock()
	if p.input == nil {
		return nil
	}
	err := p.input.Close()
	p.input = nil
	return err
}

// Since returns at most size bytes of the output that came after cursor, which
// is 0 at first and the Next of the last Chunk then.
func (p *Process) Since(cursor int64, size int) truncate.Chunk {
	return p.out.collect.Since(cursor, size)
}

// Until is what [Process.WaitUntil] waits for. Every condition that is set ends
// the wait.
type Until struct {
	Match  *regexp.Regexp // matches the output after Cursor, as far as memory holds it
	Cursor int64
	Idle   time.Duration // nothing came for so long from now on; 0 = not waited for
	Exit   bool          // the leader has ended
}

// Reason is why a wait ended.
type Reason int

const (
	ReasonDone    Reason = iota // the process is done, nothing more will come
	ReasonExit                  // its leader has ended
	ReasonMatch                 // the output matched
	ReasonIdle                  // nothing came for a while
	ReasonContext               // the context ended first
)

// matchEvery is how often new output is searched at most.
const matchEvery = 20 * time.Millisecond

// WaitUntil waits for the first of the conditions, the end of the process, or
// that of ctx. match is what Match found.
func (p *Process) WaitUntil(ctx context.Context, u Until) (why Reason, match string) {
	changed, cancel := p.out.subscribe()
	defer cancel()
	exited := p.exited
	if !u.Exit {
		exited = nil
	}
	begin := time.Now()
	for {
		if u.Match != nil {
			if m, ok := p.match(u); ok {
				return ReasonMatch, m
			}
		}
		var idle <-chan time.Time
		if u.Idle > 0 {
			rest := u.Idle - min(p.out.quiet(), time.Since(begin))
			if rest <= 0 {
				return ReasonIdle, ""
			}
			idle = time.After(rest)
		}
		select {
		case <-p.done:
			// What came last has not been looked at yet.
			if u.Match != nil {
				if m, ok := p.match(u); ok {
					return ReasonMatch, m
				}
			}
			return ReasonDone, ""
		case <-ctx.Done():
			return ReasonContext, ""
		case <-idle:
		case <-exited:
			// Let its last output come in, as a Result does.
			p.settle(ctx)
			if u.Match != nil {
				if m, ok := p.match(u); ok {
					return ReasonMatch, m
				}
			}
			return ReasonExit, ""
		case <-changed:
			// Output comes in small pieces; do not search for each of them.
			select {
			case <-time.After(matchEvery):
			case <-p.done:
			case <-ctx.Done():
			}
		}
	}
}

// settle waits until the output has been quiet for a moment.
func (p *Process) settle(ctx context.Context) {
	end := time.Now().Add(p.spec.MaxDrain)
	for begin := time.Now(); time.Now().Before(end); {
		select {
		case <-p.out.ended:
			return
		case <-ctx.Done():
			return
		case <-time.After(p.spec.Idle / 4):
			if min(p.out.quiet(), time.Since(begin)) >= p.spec.Idle {
				return
			}
		}
	}
}

// match searches what came after the cursor.
func (p *Process) match(u Until) (string, bool) {
	var b strings.Builder
	for cursor := u.Cursor; ; {
		c := p.Since(cursor, 1<<20)
		b.WriteString(c.Text)
		if c.Next <= cursor || c.Next >= c.End {
			b.WriteString(c.Pending)
			break
		}
		cursor = c.Next
	}
	text := b.String()
	loc := u.Match.FindStringIndex(text)
	if loc == nil {
		return "", false
	}
	return text[loc[0]:loc[1]], true
}
