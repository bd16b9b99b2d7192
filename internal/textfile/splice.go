package textfile

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/agenttool/tool/internal/fsroot"
)

// A Splice replaces the bytes [Start, End) of a file that is too large to be held.
type Splice struct {
	Start, End int64
	New        []byte
}

// A Found is where a text is in a file.
type Found struct {
	Offset      int64
	First, Last int // lines, from 1
}

// A Search is what [FindBytes] found out about a file.
type Search struct {
	State State
	Found []Found // in order, not overlapping if all were asked for; at most most of them
	More  bool    // there are others
	Head  []byte  // the first bytes, by which its kind is told
}

const (
	spliceChunk = 1 << 20
	spliceHead  = 64 << 10
)

// FindBytes looks for text in a regular file of any size, holding no more of it than a few chunks. Overlapping occurrences are
// found too, unless apart is set. text must not be empty.
func FindBytes(ctx context.Context, root *fsroot.Root, p *fsroot.Path, text []byte, apart bool, most int) (*Search, error) {
	for range 3 {
		s, err := findBytes(ctx, root, p, text, apart, most)
		if !errors.Is(err, ErrUnstable) {
			return s, err
		}
	}
	return nil, fmt.Errorf("%s: %w", p.Display, ErrUnstable)
}

func findBytes(ctx context.Context, root *fsroot.Root, p *fsroot.Path, text []byte, apart bool, most int) (*Search, error) {
	f, info, err := root.Open(p)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if err := fsroot.CheckRegular(p.Display, info.Mode()); err != nil {
		return nil, err
	}
	s := &Search{}
	sum := sha256.New()
	buf := make([]byte, 0, spliceChunk+len(text))
	var base int64    // offset of buf in the file
	lines := 0        // line breaks before counted
	var counted int64 // up to here
	from := int64(0)  // where the next occurrence may begin
	line := func(at int64) int {
		lines += bytes.Count(buf[counted-base:at-base], []byte{'\n'})
		counted = at
		return lines + 1
	}
	for eof := false; !eof; {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		n, err := f.ReadAt(buf[len(buf):cap(buf)], base+int64(len(buf)))
		sum.Write(buf[len(buf) : len(buf)+n])
		buf = buf[:len(buf)+n]
		if eof = errors.Is(err, io.EOF); err != nil && !eof {
			return nil, fmt.Errorf("%s: %w", p.Display, err)
		}
		if s.Head == nil {
			s.Head = bytes.Clone(buf[:min(len(buf), spliceHead)])
		}
		for {
			i := bytes.Index(buf[max(0, from-base):], text)
			if i < 0 {
				break
			}
			at := max(from, base) + int64(i)
			if len(s.Found) == most {
				s.More = true
				break
			}
			first := line(at)
			s.Found = append(s.Found, Found{Offset: at, First: first, Last: first + bytes.Count(bytes.TrimSuffix(text, []byte{'\n'}), []byte{'\n'})})
			if from = at + 1; apart {
				from = at + int64(len(text))
			}
		}
		// What may be the beginning of an occurrence stays.
		keep := min(len(buf), len(text)-1)
		next := base + int64(len(buf)-keep)
		line(max(counted, next))
		copy(buf, buf[len(buf)-keep:])
		buf, base = buf[:keep], next
	}
	after, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p.Display, err)
	}
	s.State = State{Stat: StatOf(after)}
	sum.Sum(s.State.Hash[:0])
	if !s.State.sameVersion(withCtime(StatOf(info), s.State.Ctime)) {
		return nil, ErrUnstable
	}
	return s, nil
}

// ReadSpan returns the bytes [start, end) of a file, less where it ends earlier.
func ReadSpan(root *fsroot.Root, p *fsroot.Path, start, end int64) ([]byte, error) {
	f, _, err := root.Open(p)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	buf := make([]byte, end-start)
	n, err := f.ReadAt(buf, start)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: %w", p.Display, err)
	}
	return buf[:n], nil
}

// spliced copies src to dst with the splices made, and returns the hash of what it wrote.
func spliced(ctx context.Context, dst io.Writer, src *os.File, splices []Splice) (Hash, error) {
	sum := sha256.New()
	out := io.MultiWriter(dst, sum)
	buf := make([]byte, spliceChunk)
	upTo := func(pos, end int64) error {
		for end < 0 || pos < end {
			if err := ctx.Err(); err != nil {
				return err
			}
			want := int64(len(buf))
			if end >= 0 {
				want = min(want, end-pos)
			}
			n, err := src.ReadAt(buf[:want], pos)
			if _, werr := out.Write(buf[:n]); werr != nil {
				return werr
			}
			pos += int64(n)
			if errors.Is(err, io.EOF) {
				if end >= 0 && pos < end {
					return fmt.Errorf("%w: it became shorter", ErrStale)
				}
				return nil
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
	pos := int64(0)
	for _, s := range splices {
		if s.Start < pos || s.End < s.Start {
			return Hash{}, ErrSpan
		}
		if err := upTo(pos, s.Start); err != nil {
			return Hash{}, err
		}
		if _, err := out.Write(s.New); err != nil {
			return Hash{}, err
		}
		pos = s.End
	}
	if err := upTo(pos, -1); err != nil {
		return Hash{}, err
	}
	var h Hash
	sum.Sum(h[:0])
	return h, nil
}
