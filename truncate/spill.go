package truncate

import (
	"context"
	"errors"
	"fmt"
	"io"
)

// A Spill makes files for whole texts. [Store] is one; a host may bring its own.
// Create must be safe for concurrent use.
type Spill interface {
	Create(ctx context.Context) (SpillFile, error)
}

// SpillFile is a new file for one text, used by one goroutine at a time. After
// the last Write either Close keeps it or Discard removes it.
type SpillFile interface {
	io.WriteCloser
	Path() string // where it can be read; known from the start, and absolute
	Discard() error
}

// ErrPartial is what errors match when a text was stored only in part, because
// a limit of the Store was reached. The file is kept; see [PartialError].
var ErrPartial = errors.New("stored in part")

// PartialError is returned by the Close of a SpillFile that reached a limit. It
// matches [ErrPartial].
type PartialError struct {
	Stored, Total int64 // bytes that are in the file, and that were written to it
}

// Error says how much was stored.
func (e *PartialError) Error() string {
	return fmt.Sprintf("only the first %d of %d bytes were stored", e.Stored, e.Total)
}

// Is makes errors.Is(err, ErrPartial) true.
func (e *PartialError) Is(target error) bool { return target == ErrPartial }

// store keeps text in a new file of sp. The path may be set beside an error that
// matches ErrPartial.
func store(ctx context.Context, sp Spill, text string) (path string, err error) {
	defer func() {
		// A host's own Spill must not take the result down with it.
		if r := recover(); r != nil {
			path, err = "", fmt.Errorf("spill panicked: %v", r)
		}
	}()
	f, err := sp.Create(ctx)
	if err != nil {
		return "", err
	}
	// In pieces, so that a Spill without WriteString costs no second copy of the
	// text and a cancelled context ends a long write.
	const piece = 256 << 10
	for rest := text; rest != ""; {
		n := min(len(rest), piece)
		if err = ctx.Err(); err == nil {
			_, err = io.WriteString(f, rest[:n])
		}
		if err != nil {
			return "", errors.Join(err, f.Discard())
		}
		rest = rest[n:]
	}
	return finish(f)
}

// finish closes f and returns its path if it holds something.
func finish(f SpillFile) (string, error) {
	path := f.Path()
	err := f.Close()
	if err != nil && !errors.Is(err, ErrPartial) {
		return "", errors.Join(err, f.Discard())
	}
	return path, err
}
