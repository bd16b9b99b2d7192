package search

import "bytes"

// blocks searches a file that is larger than a block, of which the first n
// bytes are in the buffer. A block ends at its last line break; what follows is
// moved to the front of the next.
func (g *grepWorker) blocks(f file, rel []byte, n int) {
	w := g.w
	skip := 0
	if bytes.HasPrefix(w.buf[:n], bom) {
		skip = len(bom)
	}
	for {
		if w.stop.Load() {
			return
		}
		have := n
		last := have < len(w.buf)
		text := w.buf[skip:have]
		if bytes.IndexByte(text, 0) >= 0 {
			w.stats.Searched--
			w.stats.Binary++
			return
		}
		if last {
			g.lastBlock(f, text)
			return
		}
		end := bytes.LastIndexByte(text, '\n') + 1
		if end == 0 {
			var more bool
			if n, more = g.long(f, rel, text); !more {
				return
			}
			skip = 0
		} else {
			if !g.block(f, text[:end]) {
				return
			}
			g.e.next(text[:end])
			n = copy(w.buf, text[end:])
			skip = 0
		}
		got, err := g.fill(f, n, false)
		if err != nil {
			w.failed(string(rel), err)
			g.partial.Store(true)
			return
		}
		w.stats.Bytes += int64(got - n)
		n = got
		if n == 0 {
			return
		}
	}
}

// margin is how much of a long line's text before the current piece is kept to be
// shown.
const margin = 4 << 10

// long searches a line that is longer than a block and begins with text. It
// returns how much of what follows the line is at the front of the buffer, and
// whether the search goes on.
func (g *grepWorker) long(f file, rel, text []byte) (n int, more bool) {
	w, e := g.w, &g.e
	line := g.m.Stream()
	for _, a := range g.grep.others {
		a.partly.Store(true)
	}
	found := false
	tail := make([]byte, 0, 2*margin)
	offset := 0     // of the current piece in the line
	var head []byte // the beginning, as context for others should it come to that
	take := func(piece []byte, at int) bool {
		found = true
		if e.count == 0 && !e.open(f) {
			return false
		}
		e.count++
		if g.q.Output == FilesOnly {
			return false
		}
		if !e.keep {
			return true
		}
		if !e.wants() {
			e.pending = 0
			return true
		}
		e.lead(nil, 0)
		// Enough of the line to show: what is kept of before, and around the match.
		begin := max(at-margin, 0)
		part := append(bytes.Clone(tail), piece[begin:min(at+margin, len(piece))]...)
		if begin > 0 {
			part = bytes.Clone(piece[begin:min(at+margin, len(piece))])
		}
		cutOff := offset + begin
		if begin == 0 {
			cutOff = offset - len(tail)
		}
		e.keepLine(e.no, part, at-begin+len(part)-len(piece[begin:min(at+margin, len(piece))]))
		l := &e.lines[len(e.lines)-1]
		if cutOff > 0 {
			l.before = true
			if l.column > 0 {
				l.column += cutOff
			}
		}
		l.after = true
		e.matches++
		e.pending = g.q.After
		return true
	}
	for {
		piece, ends := text, false
		if i := bytes.IndexByte(text, '\n'); i >= 0 {
			piece, ends = text[:i], true
		}
		head = append(head, piece[:min(len(piece), margin-len(head))]...)
		if at := line.Feed(piece); at >= 0 {
			if !take(piece, at) {
				return 0, false
			}
		}
		if ends || len(text) == 0 {
			if line.Finish() && !take(piece, len(piece)) {
				return 0, false
			}
			switch {
			case found:
				e.forget()
			case e.pending > 0 && e.keep:
				e.keepContext(e.no, head)
				e.lines[len(e.lines)-1].after = len(head) == margin
				e.pending--
			default:
				e.remember(head)
			}
			e.no++
			if !ends {
				return 0, false
			}
			return copy(w.buf, text[len(piece)+1:]), true
		}
		if keep := piece[max(len(piece)-margin, 0):]; len(keep) == margin || len(tail)+len(keep) > margin {
			tail = append(tail[:0], keep...)
		} else {
			tail = append(tail, keep...)
		}
		offset += len(piece)
		if w.stop.Load() {
			return 0, false
		}
		k, err := f.read(w.buf)
		if err != nil {
			w.failed(string(rel), err)
			g.partial.Store(true)
			return 0, false
		}
		w.stats.Bytes += int64(k)
		text = w.buf[:k]
		if bytes.IndexByte(text, 0) >= 0 {
			w.stats.Searched--
			w.stats.Binary++
			return 0, false
		}
	}
}
