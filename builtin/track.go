package builtin

import (
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"slices"
	"sync"
	"time"
)

// digest is the SHA-256 of a file's content.
type digest [sha256.Size]byte

func (d digest) String() string { return hex.EncodeToString(d[:]) }

// seen is what a session knows of a file.
type seen struct {
	known bool // sum is valid; huge files are told apart by size and time only
	sum   digest
	size  int64
	mtime time.Time
	shown []span // lines, ascending and apart
	lines int    // of the file
}

type span struct{ from, to int } // both included, from 1

// whole reports whether every line was shown.
func (s seen) whole() bool {
	return s.lines == 0 || len(s.shown) == 1 && s.shown[0].from <= 1 && s.shown[0].to >= s.lines
}

// tracker remembers what was read, by session and resolved path. The zero value is ready.
type tracker struct {
	mu    sync.Mutex
	files map[[2]string]seen
}

// read records that lines of a file were shown. What was shown of the same
// content before still counts.
func (t *tracker) read(session, path string, s seen) {
	t.mu.Lock()
	defer t.mu.Unlock()
	key := [2]string{session, path}
	if old, ok := t.files[key]; ok && old.sameContent(s) {
		s.shown = append(s.shown, old.shown...)
	}
	s.shown = join(s.shown)
	if t.files == nil {
		t.files = make(map[[2]string]seen)
	}
	t.files[key] = s
}

// wrote records that the session gave a file its content. Whoever knew all of
// the file before, or wrote all of it, knows all of it now.
func (t *tracker) wrote(session, path string, data []byte, info fs.FileInfo, whole bool) {
	s := seen{known: true, sum: sha256.Sum256(data), size: int64(len(data)), lines: countLines(data)}
	if info != nil {
		s.mtime = info.ModTime()
	}
	if whole && s.lines > 0 {
		s.shown = []span{{1, s.lines}}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.files == nil {
		t.files = make(map[[2]string]seen)
	}
	t.files[[2]string{session, path}] = s
}

func (t *tracker) get(session, path string) (seen, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s, ok := t.files[[2]string{session, path}]
	return s, ok
}

func (s seen) sameContent(o seen) bool {
	if s.known && o.known {
		return s.sum == o.sum
	}
	return s.size == o.size && s.mtime.Equal(o.mtime)
}

// is reports whether the file still has the content that was seen.
func (s seen) is(data []byte, info fs.FileInfo) bool {
	if s.known {
		return s.sum == sha256.Sum256(data)
	}
	return s.size == info.Size() && s.mtime.Equal(info.ModTime())
}

func join(spans []span) []span {
	slices.SortFunc(spans, func(a, b span) int { return a.from - b.from })
	var out []span
	for _, s := range spans {
		if n := len(out); n > 0 && s.from <= out[n-1].to+1 {
			out[n-1].to = max(out[n-1].to, s.to)
			continue
		}
		out = append(out, s)
	}
	return out
}
