package lsp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// session is one run of a server, from its start to its end.
type session struct {
	srv  *server
	cfg  *Server
	root string
	proc Process
	conn *conn

	begun time.Time
	ready chan struct{}   // closed when the handshake succeeded, or failed with err
	ctx   context.Context // ends when it is to end
	end   context.CancelFunc
	over  chan struct{} // closed when nothing of it is left
	turn  chan struct{} // held by who compares diagnostics before and after a change

	mu          sync.Mutex
	err         error // why it did not become ready, or ended
	caps        serverCapabilities
	enc         Encoding
	initialized bool
	answered    bool // it has said something beside the handshake
	calm        bool // it has gone through the project once, and then said nothing for a while
	docs        map[string]*document
	version     int64 // the last that was given to a document
	uses        int64
	diags       map[string]*fileDiagnostics
	told        map[string][]located // what was wrong when the last change was told about; nil: nothing is left to tell
	owed        map[string][]located // what a file had before changes whose diagnostics came too late
	files       map[string]Stamp     // of the files that the server watches
	filesWhole  bool                 // files has them all
	progress    map[string]*task
	tasks       int
	event       chan struct{} // closed at the next news
	busy        int           // who uses it
	lastUse     time.Time
}

// task is something that the server is busy with.
type task struct {
	title, message string
	percentage     int
	order          int
}

// newSession returns a session that run brings to life.
func newSession(srv *server) *session {
	now := time.Now()
	ctx, cancel := context.WithCancel(srv.client.ctx)
	return &session{
		srv: srv, cfg: srv.cfg, root: srv.root, begun: now, lastUse: now,
		ctx: ctx, end: cancel, ready: make(chan struct{}), over: make(chan struct{}), turn: make(chan struct{}, 1),
		enc: UTF16, docs: make(map[string]*document), diags: make(map[string]*fileDiagnostics),
		owed: make(map[string][]located), progress: make(map[string]*task), event: make(chan struct{}),
	}
}

// run starts the server and sees it through.
func (s *session) run() {
	defer close(s.over)
	defer s.end()
	err := s.start()
	if err == nil {
		err = s.handshake()
	}
	if err == nil {
		close(s.ready)
		err = s.serve()
	}
	if s.ctx.Err() != nil {
		err = nil
	}
	if s.proc != nil {
		if err != nil {
			err = s.obituary(err)
		}
		s.shutdown(err == nil)
	}
	s.mu.Lock()
	if s.err = err; err == nil {
		s.err = ErrClosed
	}
	s.signal()
	s.mu.Unlock()
	s.srv.ended(s, err)
	select {
	case <-s.ready:
	default:
		close(s.ready)
	}
}

func (s *session) start() (err error) {
	c := s.srv.client
	if c.opt.Start != nil {
		s.proc, err = c.opt.Start(s.cfg, s.root)
	} else {
		s.proc, err = startCommand(s.cfg, c.opt.Env, c.opt.Root, s.root)
	}
	if err != nil {
		s.proc = nil
		return err
	}
	s.conn = newConn(s.proc, s)
	return nil
}

// handshake initializes the server.
func (s *session) handshake() error {
	ctx, cancel := context.WithTimeoutCause(s.ctx, s.cfg.StartTimeout, fmt.Errorf("%w: it did not start up within %s", ErrSlow, s.cfg.StartTimeout))
	defer cancel()
	s.scan(ctx)
	params := map[string]any{
		"processId": os.Getpid(), "clientInfo": map[string]any{"name": "agenttool"},
		"rootUri": fileURI(s.root), "rootPath": s.root,
		"workspaceFolders": s.folders(), "capabilities": clientCapabilities(),
	}
	if s.cfg.InitOptions != nil {
		params["initializationOptions"] = s.cfg.InitOptions
	}
	var result struct {
		Capabilities serverCapabilities `json:"capabilities"`
	}
	if err := s.conn.call(ctx, "initialize", params, &result); err != nil {
		return fmt.Errorf("starting up: %w", err)
	}
	enc := Encoding(result.Capabilities.PositionEncoding)
	switch enc {
	case UTF8, UTF16, UTF32:
	case "":
		enc = UTF16
	default:
		return fmt.Errorf("%w: it counts characters in %q, which was not offered", ErrProtocol, clip(string(enc), 50))
	}
	if err := s.conn.notify("initialized", struct{}{}); err != nil {
		return err
	}
	if s.cfg.Settings != nil {
		_ = s.conn.notify("workspace/didChangeConfiguration", map[string]any{"settings": s.cfg.Settings})
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.caps, s.enc, s.initialized = result.Capabilities, enc, true
	open := slices.Collect(maps.Values(s.docs))
	slices.SortFunc(open, func(a, b *document) int { return int(a.used - b.used) })
	for _, d := range open {
		s.sendOpen(d)
	}
	return nil
}

func (s *session) folders() []map[string]string {
	return []map[string]string{{"uri": fileURI(s.root), "name": filepath.Base(s.root)}}
}

// serve waits until the server ends, is to end, or is idle.
func (s *session) serve() error {
	var idle <-chan time.Time
	var timer *time.Timer
	if s.cfg.IdleTimeout > 0 {
		timer = time.NewTimer(s.cfg.IdleTimeout)
		defer timer.Stop()
		idle = timer.C
	}
	for {
		select {
		case <-s.ctx.Done():
			return nil
		case <-s.conn.done:
			return s.conn.cause()
		case <-idle:
			s.mu.Lock()
			rest := s.cfg.IdleTimeout - time.Since(s.lastUse)
			if s.busy > 0 {
				rest = s.cfg.IdleTimeout
			}
			s.mu.Unlock()
			if rest <= 0 {
				return nil
			}
			timer.Reset(rest)
		}
	}
}

// obituary adds to an error how the process ended and what it said last.
func (s *session) obituary(err error) error {
	// Whoever closed the pipe is usually about to end.
	select {
	case <-s.proc.Done():
	case <-time.After(200 * time.Millisecond):
	}
	return &CrashError{Server: s.cfg.Name, Err: err, Status: s.proc.Status(), Stderr: s.proc.Stderr()}
}

// CrashError says that a server ended by itself, did not start up, or broke the
// protocol and was ended. It matches [ErrCrashed].
type CrashError struct {
	Server string
	Err    error
	Status string // "exit 2"; "" if it was ended
	Stderr string // what it said last
}

func (e *CrashError) Error() string {
	var b strings.Builder
	b.WriteString(e.Server)
	if e.Status != "" && !errors.Is(e.Err, ErrProtocol) && !errors.Is(e.Err, ErrSlow) {
		b.WriteString(" ended (" + e.Status + ")")
	} else {
		b.WriteString(" failed: " + e.Err.Error())
	}
	if e.Stderr != "" {
		tail := e.Stderr
		if len(tail) > 1000 {
			tail = "…" + tail[len(tail)-1000:]
		}
		b.WriteString(". It said:\n" + strings.ToValidUTF8(tail, "\uFFFD"))
	}
	return b.String()
}

func (e *CrashError) Unwrap() []error { return []error{ErrCrashed, e.Err} }

// shutdown ends the server, politely if it still listens: in three seconds at most.
func (s *session) shutdown(polite bool) {
	if polite && s.listens() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		if s.conn.call(ctx, "shutdown", nil, nil) == nil {
			_ = s.conn.notify("exit", nil)
			select {
			case <-s.proc.Done():
			case <-time.After(stopGrace):
			}
		}
		cancel()
	}
	s.conn.fail(ErrClosed)
	s.proc.Stop()
	s.conn.wg.Wait()
}

// listens reports whether the handshake succeeded and the connection still is.
func (s *session) listens() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.initialized && s.conn.cause() == nil
}

// cause returns why the session is not or no longer usable; nil if it is.
func (s *session) cause() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return s.err
	}
	if s.initialized {
		if err := s.conn.cause(); err != nil {
			return err
		}
	}
	return nil
}

// request is conn.call, again if the server says that it is worth trying, and
// with its end explained.
func (s *session) request(ctx context.Context, method string, params, result any) error {
	for try := 1; ; try++ {
		err := s.conn.call(ctx, method, params, result)
		var re *RPCError
		switch {
		case err == nil:
			s.mu.Lock()
			s.answered = true
			s.mu.Unlock()
			return nil
		case errors.As(err, &re) && (re.Code == codeContentModified || re.Code == codeServerCancelled) && try < 4:
			if !s.sleep(ctx, nil, time.Duration(try)*100*time.Millisecond) && ctx.Err() != nil {
				return context.Cause(ctx)
			}
			continue
		case errors.As(err, &re) && re.Code == codeMethodNotFound:
			return fmt.Errorf("%s: %s is %w by it", s.cfg.Name, method, ErrUnsupported)
		case errors.As(err, &re):
			return fmt.Errorf("%s: %w", s.cfg.Name, err)
		case s.conn.cause() != nil:
			select {
			case <-s.over: // its end says more
			case <-ctx.Done():
				return err
			}
			if cause := s.cause(); cause != nil {
				return cause
			}
		}
		return err
	}
}

func (s *session) events() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.event
}

// signal tells all who wait that there is news. s.mu is held.
func (s *session) signal() {
	close(s.event)
	s.event = make(chan struct{})
}

// working says what the server is busy with, "" if it says nothing of the kind.
func (s *session) working() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var first *task
	for _, t := range s.progress {
		if first == nil || t.order < first.order {
			first = t
		}
	}
	if first == nil {
		return ""
	}
	text := first.title
	if first.message != "" {
		text += ": " + first.message
	}
	if first.percentage > 0 {
		text += fmt.Sprintf(" (%d%%)", first.percentage)
	}
	return text
}

// notified takes what the server tells without being asked.
func (s *session) notified(method string, params json.RawMessage) {
	switch method {
	case "textDocument/publishDiagnostics":
		s.published(params)
	case "$/progress":
		s.progressed(params)
	}
}

const maxTasks = 100

func (s *session) progressed(raw json.RawMessage) {
	var p struct {
		Token json.RawMessage `json:"token"`
		Value struct {
			Kind       string  `json:"kind"`
			Title      string  `json:"title"`
			Message    *string `json:"message"`
			Percentage *int    `json:"percentage"`
		} `json:"value"`
	}
	if json.Unmarshal(raw, &p) != nil || len(p.Token) > 1<<10 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	token := string(p.Token)
	t := s.progress[token]
	switch {
	case p.Value.Kind == "end":
		delete(s.progress, token)
	case p.Value.Kind == "begin" && len(s.progress) < maxTasks:
		s.tasks++
		t = &task{title: clip(p.Value.Title, 200), order: s.tasks}
		s.progress[token] = t
	}
	if t != nil {
		if m := p.Value.Message; m != nil {
			t.message = clip(*m, 200)
		}
		if n := p.Value.Percentage; n != nil {
			t.percentage = max(0, min(*n, 100))
		}
	}
	s.signal()
}

// requested answers the server's requests. Nothing is run or changed for it.
func (s *session) requested(method string, params json.RawMessage) (any, *RPCError) {
	switch method {
	case "workspace/configuration":
		var p struct {
			Items []struct {
				Section string `json:"section"`
			} `json:"items"`
		}
		if err := json.Unmarshal(params, &p); err != nil {
			return nil, &RPCError{Code: codeInvalidParams, Message: err.Error()}
		}
		out := make([]any, len(p.Items))
		for i, it := range p.Items {
			out[i] = s.cfg.settings(it.Section)
		}
		return out, nil
	case "workspace/workspaceFolders":
		return s.folders(), nil
	case "workspace/applyEdit":
		return map[string]any{"applied": false, "failureReason": "files are changed only after the user has seen the change"}, nil
	case "window/showDocument":
		return map[string]any{"success": false}, nil
	case "workspace/diagnostic/refresh":
		s.refreshed()
		return nil, nil
	case "client/registerCapability", "client/unregisterCapability", "window/workDoneProgress/create", "window/showMessageRequest",
		"workspace/semanticTokens/refresh", "workspace/inlayHint/refresh", "workspace/codeLens/refresh", "workspace/foldingRange/refresh",
		"workspace/inlineValue/refresh":
		return nil, nil
	}
	return nil, &RPCError{Code: codeMethodNotFound, Message: "the client does not know " + clip(method, 100)}
}
