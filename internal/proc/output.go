package proc

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/agenttool/tool/truncate"
)

// sniffLen is how much of the output is searched for a NUL, the sign that it is
// no text.
const sniffLen = 4 << 10

// output reads what the process writes. One goroutine owns each pipe; nobody
// who wants to see the output ever holds it up.
type output struct {
	collect *truncate.Collector
	pipe    *os.File // closed by finish
	raw     *os.File // the pipe for Spec.Stdout; nil: none
	sink    io.Writer
	start   time.Time

	eof     chan struct{} // no process holds the pipe any more, or finish was called
	rawDone chan struct{} // the same for raw
	ended   chan struct{} // both
	last    atomic.Int64  // when the last byte came, since start
	binary  atomic.Bool
	// Set by each reader before it takes bytes out of its pipe, until they are
	// where they belong.
	busy, rawBusy atomic.Bool
	taken         atomic.Int64 // bytes that were read and are where they belong

	mu      sync.Mutex
	watch   map[chan struct{}]struct{} // told of every change; each holds one signal
	watched atomic.Int32
}

func newOutput(p *Process, pipe, raw *os.File) *output {
	opt := p.spec.Collect
	opt.Filter = &cleaner{}
	o := &output{
		collect: truncate.NewCollector(&opt), pipe: pipe, raw: raw, sink: p.spec.Stdout, start: p.start,
		eof: make(chan struct{}), rawDone: make(chan struct{}), watch: map[chan struct{}]struct{}{},
	}
	go o.read()
	if raw == nil {
		close(o.rawDone)
		o.ended = o.eof
		return o
	}
	o.ended = make(chan struct{})
	go o.readRaw()
	go func() {
		<-o.eof
		<-o.rawDone
		close(o.ended)
	}()
	return o
}

// read passes the output on until nobody can write any more or finish is called.
func (o *output) read() {
	defer close(o.eof)
	buf := make([]byte, 64<<10)
	sniffed := 0
	read := pipeReader(o.pipe, &o.busy)
	for {
		n, err := read(buf)
		if n > 0 {
			if sniffed < sniffLen {
				head := buf[:min(n, sniffLen-sniffed)]
				sniffed += len(head)
				if bytes.IndexByte(head, 0) >= 0 {
					o.binary.Store(true)
				}
			}
			o.collect.Write(buf[:n])
			o.touch(n)
		}
		o.busy.Store(false)
		if err != nil {
			return
		}
	}
}

// readRaw passes the standard output to the writer of the Spec.
func (o *output) readRaw() {
	defer close(o.rawDone)
	buf := make([]byte, 64<<10)
	var failed error
	read := pipeReader(o.raw, &o.rawBusy)
	for {
		n, err := read(buf)
		if n > 0 {
			// After an error of the writer the pipe is still emptied, so that the
			// process does not hang.
			if failed == nil {
				failed = writeSafely(o.sink, buf[:n])
			}
			o.touch(n)
		}
		o.rawBusy.Store(false)
		if err != nil {
			return
		}
	}
}

// writeSafely calls a writer that is not ours.
func writeSafely(w io.Writer, p []byte) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("writer panicked: %v", r)
		}
	}()
	_, err = w.Write(p)
	return err
}

// touch notes that n bytes came.
func (o *output) touch(n int) {
	o.taken.Add(int64(n))
	o.last.Store(int64(time.Since(o.start)))
	if o.watched.Load() > 0 {
		o.wake()
	}
}

func (o *output) wake() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for c := range o.watch {
		select {
		case c <- struct{}{}:
		default:
		}
	}
}

// subscribe returns a channel that gets a signal when something came since the
// last one was taken.
func (o *output) subscribe() (c chan struct{}, cancel func()) {
	c = make(chan struct{}, 1)
	o.mu.Lock()
	o.watch[c] = struct{}{}
	o.mu.Unlock()
	o.watched.Add(1)
	return c, func() {
		o.watched.Add(-1)
		o.mu.Lock()
		delete(o.watch, c)
		o.mu.Unlock()
	}
}

// quiet returns for how long nothing has come.
func (o *output) quiet() time.Duration {
	return time.Since(o.start) - time.Duration(o.last.Load())
}

// unread returns how many bytes wait in the pipes.
func (o *output) unread() int64 {
	n := unread(o.pipe)
	if o.raw != nil {
		n += unread(o.raw)
	}
	return int64(n)
}

// waiting returns whether bytes wait to be read, or were read and are on their
// way: on a machine with too much to do that can take a while. To look into the
// pipes first and at the readers then misses nothing that was written before.
func (o *output) waiting() bool {
	return o.unread() > 0 || o.busy.Load() || o.rawBusy.Load()
}

// mark returns a function that reports whether everything has been read that had
// been written when mark was called.
func (o *output) mark() (caughtUp func() bool) {
	want := o.taken.Load() + o.unread()
	return func() bool { return o.taken.Load() >= want }
}

// finish ends the reading, also if a stranger still holds the pipe, and then the
// text. What is in the pipe and was not read is lost.
func (o *output) finish() {
	stopReading(o.pipe)
	if o.raw != nil {
		stopReading(o.raw)
		select {
		case <-o.rawDone:
		case <-time.After(time.Second): // its writer does not return
		}
	}
	if c, ok := o.sink.(io.Closer); ok {
		_ = protect(c.Close)
	}
	<-o.eof
	<-o.rawDone
	o.pipe.Close()
	if o.raw != nil {
		o.raw.Close()
	}
	o.collect.End()
	o.wake()
}

// stopReading frees the goroutine that reads f: by a deadline where pipes know
// those, else by closing it.
func stopReading(f *os.File) {
	if err := f.SetReadDeadline(time.Now()); errors.Is(err, os.ErrNoDeadline) {
		f.Close()
	}
}

func protect(f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	return f()
}
