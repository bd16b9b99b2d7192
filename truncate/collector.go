package truncate

import (
	"context"
	"errors"
)

// CollectorOptions configure a [Collector]. The zero value is good.
type CollectorOptions struct {
	Head, Tail int // bytes kept of either end; 0 = 64 KiB and 128 KiB
	// Spill stores the raw bytes when they are more than memory holds, or when
	// a Cut leaves something out. Nil: they are lost.
	Spill  Spill
	Filter Filter // makes what is shown out of what is written; nil = as it is
	Errors int    // errors to remember of the part that memory does not hold; see Policy.Errors
	Fold   int    // runs of at least so many equal lines are shown as one line and a count; 0 = never
}

// Filter turns the raw bytes of an output into text, step by step. It is used by
// the writing goroutine only.
type Filter interface {
	Append(dst, src []byte) []byte // appends to dst what src adds for good
	Pending() []byte               // what would be added if the input ended here; may still change
}

// Collector is the writer for output of unknown size.
type Collector struct{}

// Snapshot is the state of a Collector while it is written.
type Snapshot struct {
	Text         string // the last part, valid UTF-8
	Bytes, Lines int64  // of the whole text, behind the Filter
	Raw          int64  // bytes written
}

// Chunk is what came since a cursor.
type Chunk struct {
	Text    string
	Next    int64 // the cursor for the next time
	Dropped int64 // bytes between the cursor and Text that are gone
}

func NewCollector(opt *CollectorOptions) *Collector        { return &Collector{} }
func (c *Collector) Write(p []byte) (int, error)           { return len(p), nil }
func (c *Collector) End()                                  {}
func (c *Collector) Snapshot(max int) Snapshot             { return Snapshot{} }
func (c *Collector) Since(cursor int64, max int) Chunk     { return Chunk{} }
func (c *Collector) Cut(ctx context.Context, p Policy) Cut { return Cut{} }
func (c *Collector) Keep(ctx context.Context) (path string, err error) {
	return "", errors.New("not stored")
}
func (c *Collector) Close() error { return nil }
