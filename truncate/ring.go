package truncate

import "strings"

// ring holds the last max bytes of what is written to it.
type ring struct {
	max    int
	buf    []byte
	start  int   // of the oldest byte, once buf is full
	off    int64 // bytes that were overwritten
	before byte  // the last of these
}

func (r *ring) len() int { return len(r.buf) }

// at returns the ith oldest byte.
func (r *ring) at(i int) byte {
	i += r.start
	if i >= len(r.buf) {
		i -= len(r.buf)
	}
	return r.buf[i]
}

func (r *ring) write(p []byte) {
	if lost := len(r.buf) + len(p) - r.max; lost > 0 {
		if lost <= len(r.buf) {
			r.before = r.at(lost - 1)
		} else {
			r.before = p[lost-len(r.buf)-1]
		}
		r.off += int64(lost)
		if len(p) > r.max {
			p = p[len(p)-r.max:]
		}
	}
	if n := min(r.max-len(r.buf), len(p)); n > 0 {
		r.buf = append(r.buf, p[:n]...)
		p = p[n:]
	}
	for len(p) > 0 {
		n := copy(r.buf[r.start:], p)
		if r.start += n; r.start == len(r.buf) {
			r.start = 0
		}
		p = p[n:]
	}
}

// parts returns the bytes from the ith oldest on, n at most, in two pieces.
func (r *ring) parts(i, n int) (a, b []byte) {
	n = max(0, min(n, len(r.buf)-i))
	i += r.start
	if i >= len(r.buf) {
		i -= len(r.buf)
	}
	a = r.buf[i:min(len(r.buf), i+n)]
	return a, r.buf[:n-len(a)]
}

func (r *ring) appendRange(dst []byte, i, n int) []byte {
	a, b := r.parts(i, n)
	return append(append(dst, a...), b...)
}

// tail writes the last n bytes, or all, to w.
func (r *ring) tail(w *strings.Builder, n int) {
	i := max(0, len(r.buf)-n)
	a, b := r.parts(i, n)
	w.Write(a)
	w.Write(b)
}
