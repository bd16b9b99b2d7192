package lsp

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Stamp is how a file is told to have changed without reading it. The zero Stamp
// is that of no file.
type Stamp struct {
	Size    int64
	ModTime int64 // nanoseconds of Unix time
}

// Files is how a Client looks at files. It may be called concurrently.
type Files interface {
	// Text returns the content of a file, as a language server reads it: without
	// a byte order mark. An error means that the file is not to be looked at.
	Text(path string) (string, error)
	// Stat returns the stamp of a file. The error wraps fs.ErrNotExist if there is none.
	Stat(path string) (Stamp, error)
	// Scan returns the files of the workspace whose name has one of the extensions
	// or is one of the names, and whether those are all.
	Scan(ctx context.Context, exts, names []string) (files map[string]Stamp, whole bool)
}

// diskFiles are the files as they are.
type diskFiles struct{ root string }

func (diskFiles) Text(path string) (string, error) {
	b, err := os.ReadFile(path)
	return strings.TrimPrefix(string(b), "\uFEFF"), err
}

func (diskFiles) Stat(path string) (Stamp, error) {
	fi, err := os.Stat(path)
	if err != nil {
		return Stamp{}, err
	}
	return Stamp{fi.Size(), fi.ModTime().UnixNano()}, nil
}

func (d diskFiles) Scan(ctx context.Context, exts, names []string) (map[string]Stamp, bool) {
	out := make(map[string]Stamp)
	err := filepath.WalkDir(d.root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || ctx.Err() != nil {
			return ctx.Err()
		}
		if !e.Type().IsRegular() || !slices.Contains(exts, filepath.Ext(path)) && !slices.Contains(names, e.Name()) {
			return nil
		}
		if fi, err := e.Info(); err == nil {
			out[path] = Stamp{fi.Size(), fi.ModTime().UnixNano()}
		}
		return nil
	})
	return out, err == nil
}

// scanTime bounds how long the workspace is looked at for changed files.
const scanTime = 500 * time.Millisecond

// Kinds of changes of watched files.
const (
	fileCreated = 1
	fileChanged = 2
	fileDeleted = 3
)

// scan looks for files that changed since the last scan, by other hands or by
// commands, and tells the server of them. It passes over some, and reports whether
// there was something to tell.
func (s *session) scan(ctx context.Context, except ...string) bool {
	ctx, cancel := context.WithTimeout(ctx, scanTime)
	defer cancel()
	exts, names := s.cfg.watched()
	now, whole := s.srv.client.opt.Files.Scan(ctx, exts, names)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, path := range except {
		delete(now, path)
		if st, ok := s.files[path]; ok {
			now[path] = st
		}
	}
	var events []map[string]any
	if s.initialized {
		events = s.watched(now, whole)
	}
	switch {
	case whole || s.files == nil:
		s.files, s.filesWhole = now, whole
	default:
		for path, st := range now {
			s.files[path] = st
		}
	}
	s.watch(events)
	return len(events) > 0
}

// watched compares the files with those of the last scan.
func (s *session) watched(now map[string]Stamp, whole bool) (events []map[string]any) {
	for _, path := range sortedKeys(now) {
		old, had := s.files[path]
		switch {
		case !had && s.filesWhole:
			events = append(events, fileEvent(path, fileCreated))
		case had && old != now[path]:
			events = append(events, fileEvent(path, fileChanged))
		}
	}
	if !whole {
		return events
	}
	for _, path := range sortedKeys(s.files) {
		if _, ok := now[path]; !ok {
			events = append(events, fileEvent(path, fileDeleted))
		}
	}
	return events
}

func fileEvent(path string, kind int) map[string]any {
	return map[string]any{"uri": fileURI(path), "type": kind}
}

func (s *session) watch(events []map[string]any) {
	if len(events) > 0 && s.initialized {
		_ = s.conn.notify("workspace/didChangeWatchedFiles", map[string]any{"changes": events})
	}
}

// refresh brings the open documents up to what is on disk, and tells the server
// of other files that changed, but for some. It reports whether there were any.
func (s *session) refresh(ctx context.Context, except ...string) (changed bool) {
	type open struct {
		path  string
		stamp Stamp
	}
	s.mu.Lock()
	list := make([]open, 0, len(s.docs))
	for _, d := range s.docs {
		list = append(list, open{d.path, d.stamp})
	}
	s.mu.Unlock()
	for _, d := range list {
		if slices.Contains(except, d.path) {
			continue
		}
		st, err := s.srv.client.opt.Files.Stat(d.path)
		switch {
		case err == nil && st == d.stamp:
		case err == nil:
			changed = s.reload(d.path) == nil || changed
		default:
			changed = true
			s.mu.Lock()
			s.closeLocked(d.path)
			s.mu.Unlock()
		}
	}
	changed = s.scan(ctx, except...) || changed
	if changed {
		s.refreshed() // what it answered was about other files
	}
	return changed
}

// reload makes the server see what is on disk as the content of the file.
func (s *session) reload(path string) error {
	text, st, err := s.read(path)
	if err != nil {
		return fmt.Errorf("the file is not given to language servers: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.openLocked(path, text)
	s.docs[path].stamp = st
	return nil
}

// read returns the content of a file and its stamp. That is taken first: if the
// file changes in between, it is read again the next time.
func (s *session) read(path string) (string, Stamp, error) {
	files := s.srv.client.opt.Files
	st, err := files.Stat(path)
	if err != nil {
		return "", st, err
	}
	text, err := files.Text(path)
	return text, st, err
}

// location converts a range of a file. Without the file's text the columns are
// taken as they are, which is right for lines of ASCII.
func (s *session) location(path string, r wireRange, lines *Lines) Location {
	l := Location{Path: path}
	if lines == nil {
		l.Start = Position{clampInt(r.Start.Line) + 1, clampInt(r.Start.Character) + 1}
		l.End = Position{clampInt(r.End.Line) + 1, clampInt(r.End.Character) + 1}
		return l
	}
	l.Start, l.End = lines.FromWire(r.Start, s.enc), lines.FromWire(r.End, s.enc)
	return l
}

// maxTexts is how many files of an answer are read for their columns.
const maxTexts = 500

// texts finds the lines of files, each once.
type texts struct {
	s     *session
	lines map[string]*Lines
}

func (t *texts) of(path string) *Lines {
	if l, ok := t.lines[path]; ok {
		return l
	}
	l, _ := t.s.lines(path)
	if l == nil && len(t.lines) < maxTexts {
		l = t.s.srv.client.linesOf(path)
	}
	if t.lines == nil {
		t.lines = make(map[string]*Lines)
	}
	t.lines[path] = l
	return l
}

func (t *texts) location(uri string, r wireRange) (Location, error) {
	path, err := filePath(uri)
	if err != nil {
		return Location{}, err
	}
	return t.s.location(path, r, t.of(path)), nil
}
