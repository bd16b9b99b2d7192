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
	for {
		n, err := o.pipe.Read(buf)
		if n > 0 {
			if sniffed < sniffLen {
				head := buf[:min(n, sniffLen-sniffed)]
				sniffed += len(head)
				if bytes.IndexByte(head, 0) >= 0 {
					o.binary.Store(true)
				}
			}
			o.collect.Write(buf[:n])
			o.touch()
		}
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
	for {
		n, err := o.raw.Read(buf)
		if n > 0 {
			// After an error of the writer the pipe is still emptied, so that the
			// process does not hang.
			if failed == nil {
				failed = writeSafely(o.sink, buf[:n])
			}
			o.touch()
		}
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

// touch notes that something came.
func (o *output) touch() {
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

// waiting returns whether bytes wait to be read.
func (o *output) waiting() bool {
	return unread(o.pipe) > 0 || o.raw != nil && unread(o.raw) > 0
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
