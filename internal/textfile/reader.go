package textfile

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/agenttool/tool/internal/fsroot"
)

const (
	smallFile    = 1 << 20  // bytes up to which a file is read as a whole
	hashedFile   = 16 << 20 // bytes up to which a shown file is hashed
	scanBudget   = 32 << 20 // bytes looked at to count lines and runes beyond what is shown
	tailBudget   = 64 << 20 // bytes looked at backwards for the last lines
	kernelBytes  = 1 << 20  // bytes read of a kernel file
	kernelWait   = 2 * time.Second
	kernelStuck  = 4  // reads of kernel files that may hang at a time
	indexedFiles = 64 // files whose line index is kept
)

// A Reader shows parts of text files of any size, without loading them. It keeps an index of line positions for the files it has
// seen, dropped as soon as the file changes. The zero value with Root set is ready; it is safe for concurrent use and must not
// be copied.
type Reader struct {
	// Root reaches the files.
	Root *fsroot.Root
	// Limit is the number of lines shown when a Query does not say; 0 means 2000.
	Limit int
	// LineRunes is how much of a long line is shown; 0 means 2000 characters.
	LineRunes int
	// MaxBytes bounds the text of one View; 0 means 50 KiB.
	MaxBytes int

	mu    sync.Mutex
	index map[string]*lineIndex
	order []string // keys of index, the one longest unused first
	stuck int
}

// A Query says what to show. The zero value asks for the beginning.
type Query struct {
	// Offset is the first line, counted from 1; 0 means 1. A negative one asks for the last -Offset lines.
	Offset int
	// Limit is the number of lines; 0 means the Reader's. With a negative Offset it counts from there.
	Limit int
	// LineOffset skips so many characters of the first line: the way through a line too long to show.
	LineOffset int
	// Ranges, when not empty, replaces Offset and Limit: several stretches, shown in the order of the file, overlaps once.
	Ranges []Range
	// Decode says what is known about the encoding; nil means nothing.
	Decode *DecodeOptions
}

// A Range is Limit lines from Offset on, as in a [Query].
type Range struct{ Offset, Limit int }

// A Line is one line of a View.
type Line struct {
	// Number counts from 1. When the lines before are uncounted, as at the end of a huge file, it counts from the end: -1 is
	// the last line.
	Number int
	// Text is the line without its end, made visible; see [Visible].
	Text string
	// From is the number of characters skipped before Text; -1 means that the beginning of the line was not looked for.
	From int
	// Runes is the number of characters of the file that Text stands for.
	Runes int
	// More is the number of characters after Text that are not shown, or a lower bound when MoreAtLeast is set.
	More        int
	MoreAtLeast bool
}

// A View is what a [Reader] found.
type View struct {
	Lines []Line
	// Total is the number of lines; with TotalAtLeast a lower bound, since counting all of a huge file would take too long.
	Total        int
	TotalAtLeast bool
	// Partial: there is more than is shown. Next asks for it; for a line that is cut, Next goes on in that line when it is the
	// last one shown.
	Partial bool
	Next    Query
	// BeyondEnd: the Offset was after the last line; Lines are the last lines of the file.
	BeyondEnd bool
	// Escapes is the number of characters shown as escapes.
	Escapes int
	// Binary is set, and Lines is empty, when the file is no text.
	Binary *Binary

	Encoding Encoding
	EOL      EOL // of the whole file when it is small, else of its beginning
	// Guessed and Lossy are as in [File].
	Guessed, Lossy bool
	NoFinalNewline bool // the last line of the file was shown and is not ended
	Size           int64
	// State is the version that was read. Hash is zero over 16 MiB.
	State State
	// File is the decoded file, when it is small; nil else.
	File *File
}

// Seen returns the lines that the view shows in full.
func (v *View) Seen() []LineRange {
	var out []LineRange
	for _, l := range v.Lines {
		if l.Number > 0 && l.From == 0 && l.More == 0 {
			out = append(out, LineRange{l.Number, l.Number})
		}
	}
	return mergeLines(out)
}

// Observe makes an [Observation] for a [Tracker] of what was shown.
func (v *View) Observe() Observation {
	if v.File != nil {
		return v.File.Observe(v.State, v.Seen()...)
	}
	o := Observation{State: v.State, Encoding: v.Encoding, EOL: v.EOL, Seen: v.Seen()}
	if !v.TotalAtLeast {
		o.Lines = v.Total
	}
	return o
}

// Read shows part of a file. Size is never an error. Errors are those of [fsroot.Root.Open], [fsroot.ErrIsDir] for a
// directory, or that of ctx.
func (r *Reader) Read(ctx context.Context, p *fsroot.Path, q Query) (*View, error) {
	f, info, err := r.Root.Open(p)
	if err != nil {
		return nil, err
	}
	defer func() {
		if f != nil {
			_ = f.Close()
		}
	}()
	if err := fsroot.CheckRegular(p.Given, info.Mode()); err != nil {
		return nil, err
	}
	v := &View{Size: info.Size(), State: State{Stat: StatOf(info)}}
	s := &source{ctx: ctx, r: f, size: info.Size()}
	switch {
	case p.Kernel || info.Size() == 0:
		// Files that the kernel makes up say that they are empty.
		own := f
		f = nil // readKernel closes it, also when it has to give up waiting
		raw, err := r.readKernel(ctx, own)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.Display, err)
		}
		if err := v.small(s, raw, q.Decode); err != nil {
			return nil, err
		}
	case info.Size() <= smallFile:
		raw, st, err := readOpen(ctx, f, info, p.Display, 4*smallFile)
		if errors.Is(err, ErrUnstable) {
			raw, st, err = ReadFile(ctx, r.Root, p, 4*smallFile)
		}
		if err != nil {
			return nil, err
		}
		v.State = st
		if err := v.small(s, raw, q.Decode); err != nil {
			return nil, err
		}
	default:
		if err := v.large(s, q.Decode); err != nil {
			return nil, err
		}
	}
	if v.Binary != nil {
		return v, nil
	}
	start := int64(0)
	if v.Encoding.BOM {
		start = int64(len(s.c.bom()))
	}
	x := r.takeIndex(p.Key(), v.State.Stat, start)
	defer r.putIndex(p.Key(), x)
	if v.State.Hash.IsZero() && info.Size() <= hashedFile {
		if x.hash.IsZero() || time.Since(info.ModTime()) < racyTime {
			if x.hash, _, err = hashOpen(ctx, f); err != nil {
				return nil, err
			}
		}
		v.State.Hash = x.hash
	}
	d := &display{
		v: v, s: s, x: x, start: start, budget: scanBudget,
		runes: cmp.Or(r.LineRunes, 2000), left: cmp.Or(r.MaxBytes, 50<<10), limit: cmp.Or(r.Limit, 2000),
	}
	return v, d.run(q)
}

// small sets a view up for content that is in memory.
func (v *View) small(s *source, raw []byte, opts *DecodeOptions) error {
	v.Size = int64(len(raw))
	if v.State.Hash.IsZero() {
		v.State.Hash = Sum(raw)
	}
	s.r, s.size = bytes.NewReader(raw), int64(len(raw))
	f, err := Decode(raw, opts)
	if errors.Is(err, ErrBinary) {
		v.Binary = newBinary(raw, v.Size)
		return nil
	}
	if err != nil {
		return err
	}
	v.File = f
	v.take(s, f)
	return nil
}

// large sets a view up for a file that is read by pieces, from its first piece.
func (v *View) large(s *source, opts *DecodeOptions) error {
	s.c = utf8Codec
	sample, err := s.at(0)
	if err != nil {
		return err
	}
	sample = bytes.Clone(sample)
	var f *File
	for cut := 0; cut < 4; cut++ { // the sample may end inside a character
		f, err = Decode(sample[:len(sample)-cut], opts)
		if errors.Is(err, ErrBinary) {
			v.Binary = newBinary(sample, v.Size)
			return nil
		}
		if err != nil {
			return err
		}
		if !f.Lossy {
			break
		}
	}
	v.take(s, f)
	return nil
}

func (v *View) take(s *source, f *File) {
	v.Encoding, v.EOL, v.Guessed, v.Lossy = f.Encoding, f.EOL, f.Guessed, f.Lossy
	s.c = f.codec
}

// takeIndex takes the index of a file out, so that no other call uses it meanwhile, or makes a new one.
func (r *Reader) takeIndex(key string, st Stat, start int64) *lineIndex {
	r.mu.Lock()
	defer r.mu.Unlock()
	x := r.index[key]
	delete(r.index, key)
	if i := slices.Index(r.order, key); i >= 0 {
		r.order = slices.Delete(r.order, i, i+1)
	}
	if x == nil || !x.stat.sameVersion(st) || x.entries[0] != start {
		x = newIndex(st, start)
	}
	return x
}

func (r *Reader) putIndex(key string, x *lineIndex) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.index == nil {
		r.index = make(map[string]*lineIndex)
	}
	if _, ok := r.index[key]; ok {
		return // a call at the same time was quicker
	}
	r.index[key] = x
	r.order = append(r.order, key)
	if len(r.order) > indexedFiles {
		delete(r.index, r.order[0])
		r.order = slices.Delete(r.order, 0, 1)
	}
}

// readKernel reads a file of unknown size up to a limit, and closes it. Such a read can hang in the kernel and cannot be
// cancelled; then the goroutine is left to end by itself, at most a few at a time.
func (r *Reader) readKernel(ctx context.Context, f *os.File) ([]byte, error) {
	r.mu.Lock()
	if r.stuck >= kernelStuck {
		r.mu.Unlock()
		_ = f.Close()
		return nil, fmt.Errorf("too many reads of kernel files are hanging: %w", fs.ErrPermission)
	}
	r.stuck++
	r.mu.Unlock()
	type result struct {
		raw []byte
		err error
	}
	done := make(chan result, 1)
	go func() {
		raw, err := io.ReadAll(io.LimitReader(f, kernelBytes))
		_ = f.Close()
		r.mu.Lock()
		r.stuck--
		r.mu.Unlock()
		done <- result{raw, err}
	}()
	timer := time.NewTimer(kernelWait)
	defer timer.Stop()
	select {
	case res := <-done:
		return res.raw, res.err
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-timer.C:
		return nil, fmt.Errorf("reading it hangs in the kernel: %w", os.ErrDeadlineExceeded)
	}
}
