package httptransport

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/agenttool/tool/clienttool"
)

// stream writes frames as events. It is a [clienttool.Sender].
type stream struct {
	w      http.ResponseWriter
	rc     *http.ResponseController
	limit  time.Duration
	epoch  string
	legacy bool
	ready  chan struct{} // closed when the headers are out, or will never be

	gen uint64
	buf []byte

	once sync.Once
	done chan struct{} // closed by Close

	writing sync.Mutex // held while w is used
}

// canFlush reports whether w, or what it wraps, can send what was written so far.
func canFlush(w http.ResponseWriter) bool {
	for {
		switch v := w.(type) {
		case http.Flusher, interface{ FlushError() error }:
			return true
		case interface{ Unwrap() http.ResponseWriter }:
			w = v.Unwrap()
		default:
			return false
		}
	}
}

func newStream(w http.ResponseWriter, limit time.Duration, epoch string, legacy bool) *stream {
	return &stream{w: w, rc: http.NewResponseController(w), limit: limit, epoch: epoch, legacy: legacy,
		ready: make(chan struct{}), done: make(chan struct{})}
}

// open writes the headers. A comment goes with them, as some proxies hold headers
// back until there is something to go with them. A legacy client is told at once
// where it stands, so that it can show that when it comes back before any event.
func (s *stream) open(gen, seq uint64) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	defer close(s.ready)
	s.gen = gen
	h := s.w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-cache, no-transform")
	h.Set("X-Accel-Buffering", "no")
	h.Set("X-Content-Type-Options", "nosniff")
	s.rc.SetReadDeadline(time.Time{}) // a stream has no end that a server could know
	s.rc.SetWriteDeadline(time.Now().Add(s.limit))
	s.w.WriteHeader(http.StatusOK)
	first := ": ok\nretry: 1000\n"
	if s.legacy {
		first += "id: " + s.id(seq) + "\n"
	}
	if _, err := s.w.Write([]byte(first + "\n")); err != nil {
		return err
	}
	return s.flush()
}

// id names a frame of this stream.
func (s *stream) id(seq uint64) string { return fmt.Sprintf("%s.%d.%d", s.epoch, s.gen, seq) }

func (s *stream) flush() error {
	err := s.rc.Flush()
	s.rc.SetWriteDeadline(time.Time{})
	return err
}

// Send implements [clienttool.Sender].
func (s *stream) Send(ctx context.Context, m *clienttool.Message) error {
	select {
	case <-s.ready:
	case <-s.done:
		return clienttool.ErrClosed
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if ctx.Err() != nil {
		s.Close(nil)
		return context.Cause(ctx)
	}
	stop := context.AfterFunc(ctx, func() { s.Close(nil) })
	defer stop()
	s.writing.Lock()
	defer s.writing.Unlock()
	select {
	case <-s.done:
		return clienttool.ErrClosed
	default:
	}
	name, id := "", ""
	var data []byte
	var err error
	switch {
	case s.legacy && m.Type == clienttool.TypeRequest:
		name = "tool-request"
		data, err = marshal(m.Request)
	case s.legacy:
		name = m.Type
		fallthrough
	default:
		data, err = clienttool.EncodeMessage(nil, m)
	}
	if err != nil {
		return err
	}
	if s.legacy {
		id = s.id(m.Seq)
	}
	s.buf = appendEvent(s.buf[:0], name, id, data)
	s.rc.SetWriteDeadline(time.Now().Add(s.limit))
	if _, err := s.w.Write(s.buf); err != nil {
		return err
	}
	if len(s.buf) > 64<<10 {
		s.buf = nil // one large frame does not make every stream large
	}
	return s.flush()
}

// marshal encodes v on one line without escaping HTML characters.
func marshal(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), err
}

// Close implements [clienttool.Sender]. It frees a Send that hangs.
func (s *stream) Close(error) error {
	s.once.Do(func() {
		close(s.done)
		if s.writing.TryLock() { // nobody writes, and the response may end as it should
			s.writing.Unlock()
			return
		}
		s.rc.SetWriteDeadline(time.Now())
	})
	return nil
}
