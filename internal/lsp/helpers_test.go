package lsp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// memFiles are files in memory, below /w.
type memFiles struct {
	mu    sync.Mutex
	files map[string]string
	times map[string]int64
	clock int64
}

func newMemFiles(files map[string]string) *memFiles {
	m := &memFiles{files: make(map[string]string), times: make(map[string]int64)}
	for name, text := range files {
		m.put(name, text)
	}
	return m
}

func (m *memFiles) put(name, text string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.clock++
	m.files[name], m.times[name] = text, m.clock
}

func (m *memFiles) remove(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.files, name)
}

func (m *memFiles) Text(name string) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	text, ok := m.files[name]
	if !ok {
		return "", fs.ErrNotExist
	}
	return text, nil
}

func (m *memFiles) Stat(name string) (Stamp, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	text, ok := m.files[name]
	if !ok {
		return Stamp{}, fs.ErrNotExist
	}
	return Stamp{int64(len(text)), m.times[name]}, nil
}

func (m *memFiles) Scan(_ context.Context, exts, names []string) (map[string]Stamp, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := make(map[string]Stamp)
	for name, text := range m.files {
		if slices.Contains(exts, path.Ext(name)) || slices.Contains(names, path.Base(name)) {
			out[name] = Stamp{int64(len(text)), m.times[name]}
		}
	}
	return out, true
}

// fake is a scripted server in this process.
type fake struct {
	in     *io.PipeReader
	toIn   *io.PipeWriter
	out    *io.PipeWriter
	fromIn *io.PipeReader
	done   chan struct{}
	on     map[string]func(f *fake, m *incoming)
	caps   string
	stderr string
	deaf   bool // it reads nothing

	mu    sync.Mutex
	outMu sync.Mutex
	seen  []incoming
	texts map[string]string // of documents, by URI, as this server sees them
	enc   Encoding
}

type script = map[string]func(f *fake, m *incoming)

const allCaps = `{"textDocumentSync":{"openClose":true,"change":2,"save":{"includeText":true}},"hoverProvider":true,"definitionProvider":true,
"referencesProvider":{},"implementationProvider":true,"documentSymbolProvider":true,"workspaceSymbolProvider":true,"callHierarchyProvider":true,
"renameProvider":{"prepareProvider":true},"codeActionProvider":{"resolveProvider":true}}`

func newFake(on script) *fake {
	f := &fake{on: on, caps: allCaps, done: make(chan struct{}), texts: make(map[string]string), enc: UTF16}
	f.in, f.toIn = io.Pipe()
	f.fromIn, f.out = io.Pipe()
	return f
}

func (f *fake) Read(b []byte) (int, error)  { return f.fromIn.Read(b) }
func (f *fake) Write(b []byte) (int, error) { return f.toIn.Write(b) }
func (f *fake) Done() <-chan struct{}       { return f.done }
func (f *fake) Stderr() string              { return f.stderr }

func (f *fake) Status() string {
	select {
	case <-f.done:
		return "exit 7"
	default:
		return ""
	}
}

func (f *fake) Stop() {
	f.die()
	_ = f.fromIn.Close()
	<-f.done
}

// die ends the server without a word.
func (f *fake) die() {
	_ = f.in.Close()
	_ = f.out.Close()
}

func (f *fake) run() {
	defer close(f.done)
	defer f.die()
	if f.deaf {
		b := make([]byte, 1)
		for {
			if _, err := f.fromIn.Read(b[:0]); err != nil {
				return
			}
		}
	}
	r := newFramer(f.in)
	for {
		body, err := r.next()
		if err != nil {
			return
		}
		var m incoming
		if json.Unmarshal(body, &m) != nil {
			return
		}
		f.mu.Lock()
		f.seen = append(f.seen, m)
		f.mu.Unlock()
		f.sync(&m)
		if h := f.on[m.Method]; h != nil {
			h(f, &m)
			continue
		}
		switch {
		case m.Method == "initialize":
			f.reply(&m, json.RawMessage(`{"capabilities":`+f.caps+`}`))
		case m.Method == "exit":
			return
		case len(m.ID) > 0 && m.Method != "":
			f.reply(&m, nil)
		}
	}
}

// sync keeps the documents as a server does.
func (f *fake) sync(m *incoming) {
	var p struct {
		TextDocument textDocumentItem `json:"textDocument"`
		Changes      []struct {
			Range *wireRange `json:"range"`
			Text  string     `json:"text"`
		} `json:"contentChanges"`
	}
	_ = json.Unmarshal(m.Params, &p)
	f.mu.Lock()
	defer f.mu.Unlock()
	switch uri := p.TextDocument.URI; m.Method {
	case "textDocument/didOpen":
		f.texts[uri] = p.TextDocument.Text
	case "textDocument/didClose":
		delete(f.texts, uri)
	case "textDocument/didChange":
		for _, ch := range p.Changes {
			if ch.Range == nil {
				f.texts[uri] = ch.Text
				continue
			}
			l := NewLines(f.texts[uri])
			from, to := l.Offset(l.FromWire(ch.Range.Start, f.enc)), l.Offset(l.FromWire(ch.Range.End, f.enc))
			f.texts[uri] = f.texts[uri][:from] + ch.Text + f.texts[uri][to:]
		}
	}
}

func (f *fake) raw(s string) {
	f.outMu.Lock()
	defer f.outMu.Unlock()
	_, _ = io.WriteString(f.out, s) // fails when the client has gone
}

func (f *fake) send(v any) {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	f.raw(string(frame(b)))
}

func (f *fake) reply(m *incoming, result any) {
	f.send(map[string]any{"jsonrpc": "2.0", "id": m.ID, "result": result})
}

func (f *fake) fail(m *incoming, code int, text string) {
	f.send(map[string]any{"jsonrpc": "2.0", "id": m.ID, "error": map[string]any{"code": code, "message": text}})
}

func (f *fake) notify(method string, params any) {
	f.send(map[string]any{"jsonrpc": "2.0", "method": method, "params": params})
}

// publish says that lines of a file are wrong. version 0 is none.
func (f *fake) publish(path string, version int64, wrong ...string) {
	list := []wireDiagnostic{}
	for i, w := range wrong {
		line, text, ok := strings.Cut(w, ":")
		n := int64(i)
		if ok {
			_, _ = fmt.Sscan(line, &n)
			w = text
		}
		list = append(list, wireDiagnostic{Range: wireRange{wirePosition{n, 0}, wirePosition{n, 1}}, Severity: 1, Message: w, Source: "fake"})
	}
	p := map[string]any{"uri": fileURI(path), "diagnostics": list}
	if version > 0 {
		p["version"] = version
	}
	f.notify("textDocument/publishDiagnostics", p)
}

// got returns the messages of a method.
func (f *fake) got(method string) []incoming {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []incoming
	for _, m := range f.seen {
		if m.Method == method {
			out = append(out, m)
		}
	}
	return out
}

// park is a client over fake servers: the n-th start takes the n-th of them, the
// last one again and again.
type park struct {
	*Client
	files *memFiles
	mu    sync.Mutex
	all   []*fake
}

func newPark(t testing.TB, files map[string]string, srv Server, make func(n int) *fake) *park {
	p := &park{files: newMemFiles(files)}
	if srv.Name == "" {
		srv.Name = "fake"
	}
	if srv.Languages == nil {
		srv.Languages = map[string]string{".go": "go"}
	}
	p.Client = New(Options{Root: "/w", Servers: []Server{srv}, Files: p.files, Start: func(*Server, string) (Process, error) {
		p.mu.Lock()
		defer p.mu.Unlock()
		f := make(len(p.all))
		if f == nil {
			return nil, fmt.Errorf("cannot start")
		}
		p.all = append(p.all, f)
		go f.run()
		return f, nil
	}})
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	return p
}

func (p *park) last() *fake {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.all[len(p.all)-1]
}

func (p *park) starts() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.all)
}

// serve is newPark with one script for every start.
func serve(t testing.TB, files map[string]string, on script) *park {
	return newPark(t, files, Server{}, func(int) *fake { return newFake(on) })
}

func hover(text string) func(*fake, *incoming) {
	return func(f *fake, m *incoming) { f.reply(m, map[string]any{"contents": text}) }
}

func compact(raw json.RawMessage) string {
	var b bytes.Buffer
	_ = json.Compact(&b, raw)
	return b.String()
}

// How long a test waits for what should come at once, and how often it looks.
const (
	testTime = time.Minute
	testTick = 5 * time.Millisecond
)
