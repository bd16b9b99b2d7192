package search

import (
	"bytes"
	"encoding/binary"
	"errors"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/agenttool/tool/internal/search/lazydfa"
)

var errTooLarge = errors.New("too large to be held in memory")

// search reads a file and searches it. The file is known to be regular only
// after it was asked; a file that turns out to hold nothing of interest in one
// read never is.
func (g *grepWorker) search(f file, rel []byte, local bool) {
	n, err := g.fill(f, 0, local)
	if err != nil {
		g.w.failed(string(rel), err)
		return
	}
	g.w.stats.Bytes += int64(n)
	buf := g.w.buf
	whole := n < len(buf)
	head := buf[:min(n, firstRead)]
	if enc := g.encoding(head, whole); enc != nil {
		g.decoded(f, rel, n, whole, enc)
		return
	}
	if bytes.IndexByte(head, 0) >= 0 {
		g.w.stats.Binary++
		return
	}
	g.w.stats.Searched++
	g.e.reset(g, rel)
	text := bytes.TrimPrefix(buf[:n], bom)
	switch {
	case whole && g.p.Multiline:
		g.multiline(f, text)
	case whole:
		if g.binary(text) {
			return
		}
		g.lastBlock(f, text)
	case g.p.Multiline:
		text, err := g.all(f, n)
		if err != nil {
			g.w.stats.Searched--
			g.tooLarge(rel, err)
			return
		}
		g.multiline(f, bytes.TrimPrefix(text, bom))
	default:
		g.blocks(f, rel, n)
	}
	g.finish(f)
}

var bom = []byte("\xef\xbb\xbf")

func (g *grepWorker) tooLarge(rel []byte, err error) {
	if !errors.Is(err, errTooLarge) {
		g.w.failed(string(rel), err)
		return
	}
	g.w.stats.TooLarge++
	g.w.stats.problem(string(rel), err)
}

// binary reports whether text, all of a file, has a NUL, and counts it.
func (g *grepWorker) binary(text []byte) bool {
	if len(text) <= firstRead || bytes.IndexByte(text[firstRead:], 0) < 0 {
		return false
	}
	g.w.stats.Searched--
	g.w.stats.Binary++
	return true
}

// fill reads into the worker's buffer behind what it has, until the buffer is
// full or the file ends, growing it up to the size of a block. It returns how
// much the buffer holds; it is less than its length if the file ended.
func (g *grepWorker) fill(f file, have int, local bool) (int, error) {
	w := g.w
	limit := w.opt.block
	for {
		if have == len(w.buf) {
			if len(w.buf) >= limit {
				return have, nil
			}
			size := limit
			if in, err := f.stat(); err != nil {
				return have, err
			} else if in.kind != kindFile {
				return 0, errNotRegular
			} else if in.size < int64(limit) {
				size = max(int(in.size)+1, have+1)
			}
			w.grow(min(size, limit), have)
		}
		n, err := f.read(w.buf[have:])
		if err != nil {
			return have, err
		}
		have += n
		// A local file system returns less than asked for only at the end.
		if n == 0 || local && have < len(w.buf) {
			return have, nil
		}
		if w.stop.Load() {
			return have, nil
		}
	}
}

// grow makes the buffer longer and keeps what it has.
func (w *worker) grow(size, have int) {
	if cap(w.buf) >= size {
		w.buf = w.buf[:size]
		return
	}
	buf := make([]byte, size)
	copy(buf, w.buf[:have])
	w.buf = buf
}

// all returns the whole content of a file of which n bytes are in the buffer.
func (g *grepWorker) all(f file, n int) ([]byte, error) {
	out := append(g.w.conv[:0], g.w.buf[:n]...)
	for {
		if len(out) > g.whole {
			return nil, errTooLarge
		}
		if g.w.stop.Load() {
			return out, nil
		}
		k, err := f.read(g.w.buf)
		if err != nil {
			return nil, err
		}
		if k == 0 {
			g.w.conv = out
			return out, nil
		}
		g.w.stats.Bytes += int64(k)
		out = append(out, g.w.buf[:k]...)
	}
}

// encoding returns what turns the content into UTF-8, nil if it is UTF-8 or
// unknown.
func (g *grepWorker) encoding(head []byte, whole bool) func([]byte) ([]byte, error) {
	if len(head) >= 2 {
		switch {
		case head[0] == 0xFF && head[1] == 0xFE:
			return func(b []byte) ([]byte, error) { return fromUTF16(b[2:], binary.LittleEndian), nil }
		case head[0] == 0xFE && head[1] == 0xFF:
			return func(b []byte) ([]byte, error) { return fromUTF16(b[2:], binary.BigEndian), nil }
		}
	}
	if g.decode == nil {
		return nil
	}
	sample := head
	if !whole || len(head) == firstRead {
		sample = head[:len(head)-partialRune(head)]
	}
	if utf8.Valid(sample) && bytes.IndexByte(sample, 0) < 0 {
		return nil
	}
	return g.decode(head)
}

// partialRune is the length of an incomplete rune at the end of b.
func partialRune(b []byte) int {
	for i := 1; i <= min(len(b), utf8.UTFMax-1); i++ {
		if c := b[len(b)-i]; utf8.RuneStart(c) {
			if !utf8.FullRune(b[len(b)-i:]) {
				return i
			}
			return 0
		}
	}
	return 0
}

func fromUTF16(b []byte, order binary.ByteOrder) []byte {
	out := make([]byte, 0, len(b))
	for i := 0; i+1 < len(b); i += 2 {
		r := rune(order.Uint16(b[i:]))
		if utf16.IsSurrogate(r) {
			r2 := rune(utf8.RuneError)
			if i+3 < len(b) {
				r2 = rune(order.Uint16(b[i+2:]))
			}
			if r = utf16.DecodeRune(r, r2); r != utf8.RuneError {
				i += 2
			}
		}
		out = utf8.AppendRune(out, r)
	}
	return out
}

// decoded searches a file in another encoding, of which n bytes were read.
func (g *grepWorker) decoded(f file, rel []byte, n int, whole bool, enc func([]byte) ([]byte, error)) {
	content := g.w.buf[:n]
	if !whole {
		var err error
		if content, err = g.all(f, n); err != nil {
			g.tooLarge(rel, err)
			return
		}
	}
	text, err := enc(content)
	if err != nil || len(text) > lazydfa.MaxText {
		g.w.stats.Binary++
		return
	}
	g.w.stats.Searched++
	g.e.reset(g, rel)
	if g.p.Multiline {
		g.multiline(f, text)
	} else {
		g.lastBlock(f, text)
	}
	g.finish(f)
}

// lastBlock searches the end of a file, or all of it, and keeps the lines that
// follow the last match.
func (g *grepWorker) lastBlock(f file, text []byte) {
	if g.block(f, text) && g.e.keep {
		g.e.follow(text, len(text))
	}
}

// block searches text, which is whole lines. It returns false if the rest of the file
// is of no interest.
func (g *grepWorker) block(f file, text []byte) bool {
	at := g.m.Lines(text, g.w.at[:0])
	g.w.at = at
	if len(at) == 0 && g.e.count == 0 && len(g.others) > 0 && g.matches.Load() == 0 {
		for i, m := range g.others {
			g.w.at = m.Lines(text, g.w.at[:0])
			g.grep.others[i].lines.Add(int64(len(g.w.at)))
		}
	}
	return g.hits(f, text, at)
}

// hits takes the matching lines of a text.
func (g *grepWorker) hits(f file, text []byte, at []int32) bool {
	if len(at) == 0 {
		return true
	}
	if g.e.count == 0 && !g.e.open(f) {
		return false
	}
	g.e.count += len(at)
	if g.q.Output == FilesOnly {
		return false
	}
	if g.e.keep {
		for _, a := range at {
			if !g.e.hit(text, int(a)) {
				break
			}
		}
	}
	if g.prune.Load() && !g.e.wants() {
		g.partial.Store(true)
		return false
	}
	return true
}

// open looks at the status of a file that has matches: only a regular file
// counts, and its lines are only kept if it is new enough.
func (e *emitter) open(f file) bool {
	in, err := f.stat()
	if err != nil || in.kind != kindFile {
		e.g.w.stats.Searched--
		return false
	}
	e.info = in
	late := e.g.top.late(in.mtime, e.rel)
	if late && e.g.prune.Load() {
		e.g.w.stats.Older++
		e.g.partial.Store(true)
		return false
	}
	e.keep = e.g.q.Output == Lines && !late
	e.opened = true
	return true
}

// finish records a file that was searched.
func (g *grepWorker) finish(f file) {
	e := &g.e
	if e.count == 0 || !e.opened {
		return
	}
	weight := 1
	count := e.count
	if g.q.Output == FilesOnly {
		count = 1
	}
	g.matches.Add(int64(count))
	g.files.Add(1)
	k := key{e.info.mtime, ""}
	if g.top.late(k.mtime, e.rel) {
		return
	}
	fm := FileMatch{ModTime: time.Unix(0, e.info.mtime), Size: e.info.size, Count: count}
	if g.q.Output == Lines {
		if !e.keep {
			return
		}
		weight = e.matches
		fm.Lines = e.take()
		if g.perFile >= 0 && e.matches >= g.perFile {
			fm.More = count - e.matches
		}
	}
	k.path = string(e.rel)
	fm.Path = k.path
	g.top.add(k, weight, fm)
}
