package lsp

import (
	"strings"
	"time"
	"unicode/utf8"
)

// maxDocuments is how many files a server has open at once. Beyond that, the one
// that was not used for the longest time is closed.
const maxDocuments = 100

// document is a file that a server has open.
type document struct {
	path, uri, language string
	version             int64
	text                string
	used                int64     // greater means later
	stamp               Stamp     // of the file when text was read; zero if it was not
	sent                bool      // the server knows of it
	at                  time.Time // when it was last sent
}

// open makes the server see text as the content of the file, and returns the
// version of that. Nothing is waited for.
func (s *session) open(path, text string) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.openLocked(path, text)
}

func (s *session) openLocked(path, text string) int64 {
	s.uses++
	d := s.docs[path]
	if d == nil {
		s.version++
		d = &document{path: path, uri: fileURI(path), language: s.cfg.language(path), version: s.version, text: text, used: s.uses}
		s.docs[path] = d
		s.sendOpen(d)
		s.evict(d)
		return d.version
	}
	d.used = s.uses
	if d.text != text {
		s.change(d, text)
	}
	return d.version
}

// touch gives an open document a new version, though it is as it was: what the
// server says from then on about it is about other files as they are now.
func (s *session) touch(path string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if d := s.docs[path]; d != nil {
		s.change(d, d.text)
	}
}

func (s *session) change(d *document, text string) {
	s.version++
	old := d.text
	d.version, d.text = s.version, text
	if !d.sent {
		return
	}
	d.at = time.Now()
	version := d.version
	change := map[string]any{"text": text}
	if s.caps.TextDocumentSync.Change == 2 {
		change = difference(old, text, s.enc)
	}
	if s.caps.TextDocumentSync.Change == 0 {
		// It does not take changes, but it cannot refuse to have a file opened.
		_ = s.conn.notify("textDocument/didClose", map[string]any{"textDocument": textDocumentID{URI: d.uri}})
		s.sendOpen(d)
	} else {
		_ = s.conn.notify("textDocument/didChange", map[string]any{
			"textDocument": textDocumentID{URI: d.uri, Version: &version}, "contentChanges": []any{change},
		}) // if it fails the connection is over, and so is the document
	}
}

func (s *session) sendOpen(d *document) {
	if !s.initialized {
		return // it is sent with the others when the server is ready
	}
	d.sent, d.at = true, time.Now()
	_ = s.conn.notify("textDocument/didOpen", map[string]any{
		"textDocument": textDocumentItem{URI: d.uri, LanguageID: d.language, Version: d.version, Text: d.text},
	})
}

// evict closes the document that was not used for the longest time, if there are
// too many.
func (s *session) evict(keep *document) {
	if len(s.docs) <= maxDocuments {
		return
	}
	var oldest *document
	for _, d := range s.docs {
		if d != keep && (oldest == nil || d.used < oldest.used) {
			oldest = d
		}
	}
	s.closeLocked(oldest.path)
}

func (s *session) closeLocked(path string) {
	d := s.docs[path]
	if d == nil {
		return
	}
	delete(s.docs, path)
	if d.sent {
		_ = s.conn.notify("textDocument/didClose", map[string]any{"textDocument": textDocumentID{URI: d.uri}})
	}
}

// saved tells the server that what it sees is on disk.
func (s *session) saved(path string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := s.docs[path]
	if d == nil || !d.sent || !s.caps.TextDocumentSync.Save {
		return
	}
	params := map[string]any{"textDocument": textDocumentID{URI: d.uri}}
	if s.caps.TextDocumentSync.SaveText {
		params["text"] = d.text
	}
	_ = s.conn.notify("textDocument/didSave", params)
}

// has reports whether a file is open.
func (s *session) has(path string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.docs[path] != nil
}

// documents returns the paths of the open documents.
func (s *session) documents() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return sortedKeys(s.docs)
}

// lines returns the lines of an open document and its version; nil if it is not open.
func (s *session) lines(path string) (*Lines, int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if d := s.docs[path]; d != nil {
		return NewLines(d.text), d.version
	}
	return nil, 0
}

// difference is the one change that makes new of old, as an incremental
// TextDocumentContentChangeEvent. It cuts neither a character nor a line end.
func difference(old, new string, enc Encoding) map[string]any {
	n := 0
	for n < len(old) && n < len(new) && old[n] == new[n] {
		n++
	}
	for n > 0 && (!boundary(old, n) || !boundary(new, n)) {
		n--
	}
	m := 0
	for m < len(old)-n && m < len(new)-n && old[len(old)-1-m] == new[len(new)-1-m] {
		m++
	}
	for m > 0 && (!boundary(old, len(old)-m) || !boundary(new, len(new)-m)) {
		m--
	}
	return map[string]any{
		"range": wireRange{wireAt(old, n, enc), wireAt(old, len(old)-m, enc)},
		"text":  new[n : len(new)-m],
	}
}

// boundary reports whether a text can be cut at i.
func boundary(s string, i int) bool {
	if i == 0 || i == len(s) {
		return true
	}
	return utf8.RuneStart(s[i]) && (s[i-1] != '\r' || s[i] != '\n')
}

// wireAt is the position of a byte offset in the server's count.
func wireAt(text string, offset int, enc Encoding) wirePosition {
	start := strings.LastIndexByte(text[:offset], '\n') + 1
	head := text[start:offset]
	return wirePosition{Line: int64(strings.Count(text[:start], "\n")), Character: int64(wireColumn(head, len(head), enc))}
}
