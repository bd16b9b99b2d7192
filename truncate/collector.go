package truncate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"
)

// The sizes of a Collector whose options leave them at zero.
const (
	DefaultCollectorHead = 64 << 10
	DefaultCollectorTail = 128 << 10
)

// spillAfter is how much raw output waits in memory before a file is made for
// it: most commands never need one.
const spillAfter = 64 << 10

// ErrNotKept is returned by [Collector.Keep] if there is no Spill, or if the
// Collector was closed without the whole having been kept.
var ErrNotKept = errors.New("the full text was not kept")

// CollectorOptions configure a [Collector]. The zero value is good.
type CollectorOptions struct {
	// Head and Tail are how many bytes of either end stay in memory. 0 means
	// 64 KiB and 128 KiB, negative means none.
	Head, Tail int
	// Spill stores the raw bytes once there are many. Nil means that what
	// memory does not hold is lost.
	Spill Spill
	// Filter makes what is shown out of what is written. Nil shows it as it is.
	Filter Filter
	// Errors is how many lines that look like errors are remembered of the part
	// that memory does not hold; see Policy.Errors. Its first 64 MiB are searched.
	Errors int
	// Fold makes Cut show a run of at least so many equal lines as one line and
	// a count. 0 or less means never.
	Fold int
}

// Filter turns the raw bytes of an output into text, step by step. It must keep
// the number of lines, so that line numbers hold for both. Only the goroutine
// that writes to the Collector uses it.
type Filter interface {
	// Append appends to dst what src adds for good, and returns it.
	Append(dst, src []byte) []byte
	// Pending returns what would follow if the input ended here, but may still
	// change, such as the unfinished last line. It is valid until the next Append.
	Pending() []byte
}

// Collector is the writer for output of unknown size, such as that of a
// process: it keeps the head and the tail in fixed memory and, with a Spill, the
// whole in a file. One goroutine writes and then calls End; meanwhile and later
// the other methods may be called by any.
type Collector struct {
	opt     CollectorOptions
	scratch []byte // the writer's

	mu      sync.Mutex
	head    []byte
	ring    ring
	size    int64 // behind the filter, without pending
	lines   int64 // newlines in that
	raw     int64
	last    byte // of the text without pending
	pending []byte
	errs    lineScanner
	ended   bool

	// Writing to the file may take long; it has a lock of its own so that
	// Snapshot never waits for a disk.
	spillMu  sync.Mutex
	held     []byte // raw bytes for which no file was made yet
	file     SpillFile
	path     string
	spillErr error
	kept     bool // somebody was given the path
	whole    bool // nothing more will be written
	closed   bool
}

// NewCollector returns an empty Collector. Nil options mean the defaults.
func NewCollector(opt *CollectorOptions) *Collector {
	c := &Collector{}
	if opt != nil {
		c.opt = *opt
	}
	if c.opt.Head == 0 {
		c.opt.Head = DefaultCollectorHead
	}
	if c.opt.Tail == 0 {
		c.opt.Tail = DefaultCollectorTail
	}
	c.opt.Head, c.opt.Tail = max(0, c.opt.Head), max(0, c.opt.Tail)
	c.ring.max = c.opt.Tail
	c.errs.max = c.opt.Errors
	return c
}

// Write implements io.Writer; it never fails. An error of the Spill shows in the Cut.
func (c *Collector) Write(p []byte) (int, error) {
	if c.opt.Spill != nil {
		c.spill(p)
	}
	text, pending := p, []byte(nil)
	if c.opt.Filter != nil {
		c.scratch = c.opt.Filter.Append(c.scratch[:0], p)
		text, pending = c.scratch, c.opt.Filter.Pending()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.raw += int64(len(p))
	c.add(text)
	c.pending = append(c.pending[:0], pending...)
	return len(p), nil
}

// End says that there is no more to come: what was pending is now for good.
func (c *Collector) End() {
	c.mu.Lock()
	c.add(c.pending)
	c.pending, c.ended = nil, true
	c.mu.Unlock()
	c.spillMu.Lock()
	c.whole = true
	c.spillMu.Unlock()
}

// add appends to what is kept. c.mu is held.
func (c *Collector) add(text []byte) {
	if len(text) > 0 {
		c.last = text[len(text)-1]
	}
	if n := min(len(text), c.opt.Head-len(c.head)); n > 0 && c.size == int64(len(c.head)) {
		c.head = append(c.head, text[:n]...)
		c.lines += int64(bytes.Count(text[:n], newline))
		c.size += int64(n)
		text = text[n:]
	}
	if len(text) == 0 {
		return
	}
	c.errs.scan(text, c.size, c.lines)
	c.ring.write(text)
	c.lines += int64(bytes.Count(text, newline))
	c.size += int64(len(text))
}

var newline = []byte{'\n'}

// Snapshot is the state of a [Collector].
type Snapshot struct {
	Text  string // the end of the text, valid UTF-8, from the beginning of a line if that was possible
	Bytes int64  // of the whole text
	Lines int64
	Raw   int64 // bytes that were written
}

// Snapshot returns the counters and at most size bytes of the end of the text.
func (c *Collector) Snapshot(size int) Snapshot {
	c.mu.Lock()
	s := Snapshot{Bytes: c.size + int64(len(c.pending)), Lines: c.lines, Raw: c.raw}
	s.Lines += int64(bytes.Count(c.pending, newline))
	if c.open() {
		s.Lines++
	}
	want := max(0, size-len(c.pending))
	var b strings.Builder
	if c.ring.off == 0 && want > c.ring.len() {
		b.Write(c.head[max(0, len(c.head)-(want-c.ring.len())):])
	}
	c.ring.tail(&b, want)
	b.Write(c.pending)
	c.mu.Unlock()
	text := b.String()
	whole := int64(len(text)) == s.Bytes
	s.Text = text[tailStart(text, max(0, size), -1, whole):]
	if good := valid(s.Text); len(good) != len(s.Text) {
		s.Text = good[tailStart(good, max(0, size), -1, true):]
	}
	return s
}

// open reports whether the text ends within a line. c.mu is held.
func (c *Collector) open() bool {
	last := c.last
	if n := len(c.pending); n > 0 {
		last = c.pending[n-1]
	}
	return last != '\n' && c.size+int64(len(c.pending)) > 0
}

// Chunk is what came since a cursor.
type Chunk struct {
	Text    string // valid UTF-8
	Pending string // what follows so far but may still change: an unfinished line
	Next    int64  // the cursor to go on from
	End     int64  // the cursor behind all there is; more than Next if size was too small
	Dropped int64  // bytes between the given cursor and Text that memory no longer holds
}

// Since returns at most size bytes, and never less than a character, of what came
// since cursor (0: the beginning). A cursor beyond the end counts as the end.
func (c *Collector) Since(cursor int64, size int) Chunk {
	c.mu.Lock()
	defer c.mu.Unlock()
	size = max(size, utf8.UTFMax)
	headLen, ringStart := int64(len(c.head)), int64(len(c.head))+c.ring.off
	ch := Chunk{End: c.size, Pending: valid(string(c.pending))}
	cursor = max(0, min(cursor, c.size))
	var b []byte
	if cursor < headLen {
		b = append(b, c.head[cursor:min(headLen, cursor+int64(size))]...)
		if c.ring.off == 0 {
			b = c.ring.appendRange(b, 0, size-len(b))
		}
	} else {
		from := cursor
		if cursor < ringStart {
			from = ringStart
			// The ring may begin within a character.
			for n := 0; n < 3 && from < c.size && c.ring.at(int(from-ringStart))&0xC0 == 0x80; n++ {
				from++
			}
			ch.Dropped = from - cursor
		}
		b = c.ring.appendRange(b, int(from-ringStart), size)
		cursor = from
	}
	// A character that is cut waits for its rest, unless that will not come.
	end := cursor + int64(len(b))
	if lost := end == headLen && c.ring.off > 0; !lost && (end < c.size || !c.ended) {
		b = b[:wholeRunes(b)]
	}
	ch.Next = cursor + int64(len(b))
	ch.Text = valid(string(b))
	return ch
}

// wholeRunes returns how much of b is left without an unfinished character at its end.
func wholeRunes(b []byte) int {
	for n := len(b) - 1; n >= 0 && n >= len(b)-utf8.UTFMax+1; n-- {
		if utf8.RuneStart(b[n]) {
			if !utf8.FullRune(b[n:]) {
				return n
			}
			break
		}
	}
	return len(b)
}

// Cut bounds the text as it is now; p.Spill is not used. If something is left
// out, the whole is kept, see Keep. ctx is only for the Spill.
func (c *Collector) Cut(ctx context.Context, p Policy) Cut {
	src := c.source()
	l := p.limits()
	if src.at < 0 {
		if _, ok, fits := l.fits(src.text); fits {
			text := src.text
			if !ok {
				text = repair(text)
				_, _, fits = l.fits(text)
			}
			if fits {
				return Cut{Text: text, Head: text, TotalBytes: src.bytes, TotalLines: src.totalLines()}
			}
		}
	}
	path, err := c.Keep(ctx)
	if errors.Is(err, ErrNotKept) {
		err = nil // nobody asked for it
	}
	return p.cut(l, src, path, err)
}

// source returns what memory holds.
func (c *Collector) source() *source {
	c.mu.Lock()
	gap := c.ring.off
	front := string(c.head)
	if gap > 0 {
		front = front[:wholeRunes(c.head)]
	}
	var b strings.Builder
	b.Grow(c.ring.len() + len(c.pending))
	c.ring.tail(&b, c.ring.len())
	b.Write(c.pending)
	src := &source{
		at: -1, bytes: int(c.size) + len(c.pending),
		newlines: int(c.lines) + bytes.Count(c.pending, newline),
		open:     c.open(),
	}
	if gap > 0 {
		src.joint = c.ring.before == '\n'
		for _, e := range c.errs.found {
			if e.off < int64(len(c.head))+gap {
				src.errs = append(src.errs, e)
			}
		}
	}
	c.mu.Unlock()
	back := b.String()
	if gap == 0 {
		front, back = front+back, ""
	}
	if c.opt.Fold > 0 {
		front, src.folds = foldRuns(front, c.opt.Fold, src.folds, 0)
		back, src.folds = foldRuns(back, c.opt.Fold, src.folds, len(front))
	}
	src.text = front
	if gap > 0 {
		src.text, src.at = front+back, len(front)
		src.gapLines = src.newlines - strings.Count(src.text, "\n")
		for _, f := range src.folds {
			src.gapLines -= f.lines
		}
	}
	return src
}

// foldRuns replaces what repeats a line of text at least least-1 times by a
// count, and appends to folds where; base is what off counts from.
func foldRuns(text string, least int, folds []fold, base int) (string, []fold) {
	var b strings.Builder
	copied := 0 // of text
	for i := 0; i < len(text); {
		nl := strings.IndexByte(text[i:], '\n')
		if nl < 0 {
			break
		}
		line := text[i : i+nl+1]
		end, n := i+len(line), 1
		for strings.HasPrefix(text[end:], line) {
			end += len(line)
			n++
		}
		if n >= least {
			mark := fmt.Sprintf("… ×%d\n", n)
			if len(mark) < end-i-len(line) {
				b.WriteString(text[copied : i+len(line)])
				b.WriteString(mark)
				copied = end
				folds = append(folds, fold{off: base + b.Len(), lines: n - 2, bytes: end - i - len(line) - len(mark)})
			}
		}
		i = end
	}
	if copied == 0 {
		return text, folds
	}
	b.WriteString(text[copied:])
	return b.String(), folds
}

// Keep sees to it that the raw bytes are in a file, now and from now on, and
// returns its path. The error is ErrNotKept if there is no Spill; from End on it
// matches ErrPartial if a limit of the Spill was reached.
func (c *Collector) Keep(ctx context.Context) (path string, err error) {
	c.spillMu.Lock()
	defer c.spillMu.Unlock()
	if c.path == "" && c.spillErr == nil {
		if c.opt.Spill == nil || c.closed {
			return "", ErrNotKept
		}
		c.startFile(ctx)
	}
	c.kept = c.kept || c.path != ""
	if c.whole && c.file != nil {
		f := c.file
		c.guard(f.Close) // says whether the file is whole
		c.file = nil
	}
	return c.path, c.spillErr
}

// spill stores p, or holds it back as long as it is little.
func (c *Collector) spill(p []byte) {
	c.spillMu.Lock()
	defer c.spillMu.Unlock()
	if c.spillErr != nil || c.closed {
		return
	}
	if c.file == nil {
		if len(c.held)+len(p) <= spillAfter {
			c.held = append(c.held, p...)
			return
		}
		c.startFile(context.Background())
	}
	c.put(p)
}

// startFile makes the file and writes what was held back. c.spillMu is held, as
// it is for all that use the file.
func (c *Collector) startFile(ctx context.Context) {
	c.guard(func() error {
		f, err := c.opt.Spill.Create(ctx)
		if err != nil {
			return err
		}
		c.file, c.path = f, f.Path()
		return nil
	})
	c.put(c.held)
	c.held = nil
}

func (c *Collector) put(p []byte) {
	if c.file == nil || len(p) == 0 {
		return
	}
	c.guard(func() error {
		_, err := c.file.Write(p)
		return err
	})
}

// guard runs an operation on the Spill, which may be the host's and may panic.
// After an error there is no file.
func (c *Collector) guard(op func() error) {
	err := protect(op)
	if err == nil {
		return
	}
	if errors.Is(err, ErrPartial) {
		c.spillErr = err
		return
	}
	if f := c.file; f != nil {
		c.file = nil
		err = errors.Join(err, protect(f.Discard))
	}
	c.path, c.spillErr, c.held = "", err, nil
}

func protect(op func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("spill panicked: %v", r)
		}
	}()
	return op()
}

// Close ends the file: it stays if Keep or a Cut gave its path away, and is
// removed if not. The text in memory stays readable. The error is that of the
// file; closing twice is harmless.
func (c *Collector) Close() error {
	c.spillMu.Lock()
	defer c.spillMu.Unlock()
	if c.closed {
		return c.spillErr
	}
	c.closed, c.held = true, nil
	if f := c.file; f != nil {
		if c.kept {
			c.guard(f.Close)
		} else {
			c.guard(f.Discard)
			c.path = ""
		}
		c.file = nil
	}
	return c.spillErr
}
