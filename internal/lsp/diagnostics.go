package lsp

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"
)

const (
	quiet         = 150 * time.Millisecond // after which diagnostics without a version count
	settle        = 500 * time.Millisecond // without news, until what follows in other files counts as told
	pullAgain     = 250 * time.Millisecond // until a server that did not answer is asked again
	maxFiles      = 2000                   // files whose diagnostics are kept
	maxPerFile    = 500                    // diagnostics of a file that are kept
	maxMessage    = 4 << 10                // bytes of a diagnostic's message
	maxData       = 16 << 10               // bytes of what comes with it for the server itself
	maxOthersRead = 50                     // files read for the text of their lines
)

// fileDiagnostics is what a server said last about a file.
type fileDiagnostics struct {
	version int64 // of the document it is about; 0: the server does not say
	at      time.Time
	items   []wireDiagnostic
	pulled  []wireDiagnostic // what it answered when asked
	pull    int64            // the version that was asked about
}

// all are the diagnostics of a file, which may be an open document. Some servers say
// the same when they are asked and without being asked, and the one may be older
// than the other.
func (f *fileDiagnostics) all(d *document) []wireDiagnostic {
	if f.pull == 0 {
		return slices.Clone(f.items)
	}
	out := slices.Clone(f.pulled)
	if d != nil && f.version > 0 && f.version < d.version {
		return out
	}
	for _, it := range f.items {
		same := func(o wireDiagnostic) bool {
			return o.Range == it.Range && o.Message == it.Message && o.Source == it.Source && severity(o) == severity(it)
		}
		if !slices.ContainsFunc(f.pulled, same) {
			out = append(out, it)
		}
	}
	return out
}

// published takes what a server pushes.
func (s *session) published(raw json.RawMessage) {
	var p publishDiagnostics
	if json.Unmarshal(raw, &p) != nil {
		return
	}
	path, err := filePath(p.URI)
	if err != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.diagnosticsOf(path)
	if f == nil {
		return
	}
	f.at, f.items, f.version = time.Now(), trimDiagnostics(p.Diagnostics), 0
	if p.Version != nil {
		f.version = *p.Version
	}
	s.answered = true
	s.signal()
}

// diagnosticsOf returns the entry of a file, nil if there are too many.
func (s *session) diagnosticsOf(path string) *fileDiagnostics {
	f := s.diags[path]
	if f == nil {
		if len(s.diags) >= maxFiles && s.docs[path] == nil {
			return nil
		}
		f = &fileDiagnostics{}
		s.diags[path] = f
	}
	return f
}

func trimDiagnostics(list []wireDiagnostic) []wireDiagnostic {
	list = slices.Clone(list[:min(len(list), maxPerFile)])
	for i := range list {
		list[i].Message = clip(list[i].Message, maxMessage)
		if len(list[i].Data) > maxData {
			list[i].Data = nil
		}
	}
	return list
}

// fresh reports whether what is known about a document is about its content as it
// is, and if not when to look again at the latest; 0 means when there is news.
func (s *session) fresh(path string) (bool, time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d, f := s.docs[path], s.diags[path]
	switch {
	case d == nil || f == nil || !d.sent:
		return false, 0
	case s.caps.DiagnosticProvider != nil: // what it tells by itself need not be all
		return f.pull >= d.version, 0
	case f.version > 0:
		return f.version >= d.version, 0
	case !f.at.After(d.at):
		return false, 0
	}
	if rest := quiet - time.Since(f.at); rest > 0 {
		return false, rest
	}
	return true, 0
}

// await waits until what is known about the documents is about their content as it
// is, or ctx ends, and returns those of which that is not so.
func (s *session) await(ctx context.Context, paths []string) (late []string) {
	pulls := s.pulls()
	for {
		event := s.events()
		late = late[:0]
		var again time.Duration
		for _, p := range paths {
			ok, wait := s.fresh(p)
			if !ok && pulls {
				s.pull(ctx, p)
				if ok, _ = s.fresh(p); !ok {
					wait = pullAgain
				}
			}
			if !ok {
				late = append(late, p)
				if wait > 0 && (again == 0 || wait < again) {
					again = wait
				}
			}
		}
		if len(late) == 0 || !s.sleep(ctx, event, again) {
			return late
		}
	}
}

// refreshed forgets what the server answered when it was asked: it says itself
// that it would answer otherwise now.
func (s *session) refreshed() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.diags {
		f.pull = 0
	}
	s.signal()
}

// sleep waits for news, or for d if that is not 0. It returns false when there is
// nothing more to wait for.
func (s *session) sleep(ctx context.Context, event <-chan struct{}, d time.Duration) bool {
	var timer <-chan time.Time
	if d > 0 {
		t := time.NewTimer(d)
		defer t.Stop()
		timer = t.C
	}
	select {
	case <-event:
	case <-timer:
	case <-s.over:
		return false
	case <-ctx.Done():
		return false
	}
	return true
}

// settled waits until there has been no news for a moment.
func (s *session) settled(ctx context.Context, quiet time.Duration) {
	for {
		event := s.events()
		t := time.NewTimer(quiet)
		select {
		case <-event:
			t.Stop()
		case <-t.C:
			return
		case <-s.over:
			t.Stop()
			return
		case <-ctx.Done():
			t.Stop()
			return
		}
	}
}

func (s *session) pulls() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.initialized && s.caps.DiagnosticProvider != nil
}

// pull asks for the diagnostics of an open document.
func (s *session) pull(ctx context.Context, path string) {
	s.mu.Lock()
	d := s.docs[path]
	if d == nil || s.diagnosticsOf(path).pull >= d.version {
		s.mu.Unlock()
		return
	}
	version, uri := d.version, d.uri
	s.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, s.cfg.RequestTimeout)
	defer cancel()
	var r diagnosticReport
	if s.request(ctx, "textDocument/diagnostic", map[string]any{"textDocument": textDocumentID{URI: uri}}, &r) != nil {
		return // what is not known stays pending
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	keep := func(path string, version int64, r diagnosticReport) {
		f := s.diagnosticsOf(path)
		if f == nil {
			return
		}
		if f.pull = version; r.Kind != "unchanged" {
			f.pulled = trimDiagnostics(r.Items)
		}
	}
	keep(path, version, r)
	for uri, related := range r.RelatedDocuments {
		if p, err := filePath(uri); err == nil && p != path {
			v := int64(0)
			if d := s.docs[p]; d != nil {
				v = d.version
			}
			keep(p, v, related)
		}
	}
	s.signal()
}

// known returns what the server last said, by file: about the files named, and
// what is wrong in others. Each comes with the text of its line.
func (s *session) known(named []string) map[string][]located {
	type entry struct {
		items []wireDiagnostic
		lines *Lines
	}
	found := make(map[string]entry)
	s.mu.Lock()
	for path, f := range s.diags {
		e := entry{items: f.all(s.docs[path])}
		if !slices.Contains(named, path) {
			e.items = slices.DeleteFunc(e.items, func(d wireDiagnostic) bool { return severity(d) != 1 })
		}
		if len(e.items) == 0 {
			continue
		}
		if d := s.docs[path]; d != nil {
			e.lines = NewLines(d.text)
		}
		found[path] = e
	}
	s.mu.Unlock()
	out := make(map[string][]located, len(found))
	read := 0
	for _, path := range sortedKeys(found) {
		e := found[path]
		if e.lines == nil && read < maxOthersRead {
			read++
			e.lines = s.srv.client.linesOf(path)
		}
		for _, d := range e.items {
			out[path] = append(out[path], s.located(path, d, e.lines))
		}
	}
	return out
}

// spokenOf returns the paths of the files that the server has said something about.
func (s *session) spokenOf() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return sortedKeys(s.diags)
}

// located is a diagnostic and the text of its line, by which it is known again
// after lines have moved.
type located struct {
	Diagnostic
	line string
}

// words are what is said, without where.
func (l located) words() string {
	return strings.Join([]string{string(rune('0' + l.Severity)), l.Code, l.Source, l.Message}, "\x00")
}

func (l located) key() string { return l.words() + "\x00" + l.line }

func (s *session) located(path string, d wireDiagnostic, lines *Lines) located {
	out := located{Diagnostic: Diagnostic{
		Location: s.location(path, d.Range, lines), Severity: severity(d), Code: codeText(d.Code), Source: clip(d.Source, 100), Message: d.Message,
	}}
	if lines != nil {
		out.line = strings.TrimSpace(lines.Line(out.Start.Line))
	}
	return out
}

// severity of a diagnostic; the protocol leaves one that is missing to the client.
func severity(d wireDiagnostic) int {
	if d.Severity < 1 || d.Severity > 4 {
		return 1
	}
	return d.Severity
}

// codeText is a code, which may be a number or a string.
func codeText(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return clip(s, 100)
	}
	var n json.Number
	if json.Unmarshal(raw, &n) == nil {
		return n.String()
	}
	return ""
}

// without returns what after has and before has not, each as often as it is more.
// Line numbers do not count, since lines move; but what was said about a line that
// was changed may be said about what it became.
func without(after, before []located, e edited) []Diagnostic {
	had, moved := make(map[string]int), make(map[string]int)
	for _, d := range before {
		had[d.key()]++
	}
	var rest []located
	for _, d := range after {
		if k := d.key(); had[k] > 0 {
			had[k]--
			continue
		}
		rest = append(rest, d)
	}
	for _, d := range before {
		if k := d.key(); had[k] > 0 && d.Start.Line > e.same && d.Start.Line <= e.oldEnd {
			had[k]--
			moved[d.words()]++
		}
	}
	var out []Diagnostic
	for _, d := range rest {
		if k := d.words(); moved[k] > 0 && d.Start.Line > e.same && d.Start.Line <= e.newEnd {
			moved[k]--
			continue
		}
		out = append(out, d.Diagnostic)
	}
	return out
}

// edited is the stretch of a file in which it was changed: after the lines that are
// the same at its beginning, up to a line of either text.
type edited struct{ same, oldEnd, newEnd int }

func editedLines(before, after string) edited {
	a, b := strings.Split(before, "\n"), strings.Split(after, "\n")
	n, m := 0, 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	for m < len(a)-n && m < len(b)-n && a[len(a)-1-m] == b[len(b)-1-m] {
		m++
	}
	return edited{n, len(a) - m, len(b) - m}
}

func sortDiagnostics(list []Diagnostic) {
	slices.SortStableFunc(list, func(a, b Diagnostic) int {
		if c := strings.Compare(a.Path, b.Path); c != 0 {
			return c
		}
		if a.Start.Line != b.Start.Line {
			return a.Start.Line - b.Start.Line
		}
		return a.Start.Column - b.Start.Column
	})
}
