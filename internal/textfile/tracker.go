package textfile

import (
	"bytes"
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/agenttool/tool/internal/fsroot"
)

// TrackerOptions configure a Tracker. Nil and the zero value give the defaults.
type TrackerOptions struct {
	// KeepBytes bounds the content kept for each session, so that a later change can be shown as a difference; 0 means 8 MiB,
	// negative none.
	KeepBytes int
	// MaxFiles bounds the records of one session; the ones longest unused go first. 0 means 4096.
	MaxFiles int
}

// A Tracker remembers, for each session and file, which content the session has seen and which of its lines. What counts as
// changed is decided by content, not by clocks. A Tracker is safe for concurrent use and touches no file except in
// [Tracker.CheckTracked].
type Tracker struct {
	keep, most int

	mu       sync.Mutex
	sessions map[string]*session
	now      func() time.Time
}

type session struct {
	seq   int64
	files map[string]*tracked
	kept  int // bytes of content
}

type tracked struct {
	Record
	content []byte // as last seen; nil when not kept
	at      int64  // when it was recorded, nanoseconds
	noted   Hash   // foreign content that was reported already
	gone    bool   // its absence was reported already
}

// A Record is what one session knows about one file.
type Record struct {
	// Path is the resolved name, Display how it was shown.
	Path    string `json:"path"`
	Display string `json:"display,omitempty"`
	// State is the version that was seen. Its Hash is zero for files too large to be read as a whole.
	State State `json:"state"`
	// Encoding and EOL are how the file was decoded.
	Encoding Encoding `json:"encoding,omitzero"`
	EOL      EOL      `json:"eol"`
	// Lines is the number of lines; 0 means unknown or none.
	Lines int `json:"lines,omitempty"`
	// Seen are the lines that were shown to the session or written by it, in order.
	Seen []LineRange `json:"seen,omitempty"`
	// Seq orders the records of a session by last use.
	Seq int64 `json:"seq"`
	// Own reports that the content was written by the session itself.
	Own bool `json:"own,omitempty"`
}

// Unseen returns which of the lines first to last the session has not seen.
func (r *Record) Unseen(first, last int) []LineRange {
	return missingLines(r.Seen, LineRange{first, last})
}

// SawAll reports whether every line of the file was seen. It is false while the number of lines is unknown, except for an
// empty file.
func (r *Record) SawAll() bool {
	if r.Lines == 0 {
		return r.State.Size == 0
	}
	return len(r.Unseen(1, r.Lines)) == 0
}

// NewTracker returns an empty Tracker.
func NewTracker(opts *TrackerOptions) *Tracker {
	if opts == nil {
		opts = &TrackerOptions{}
	}
	return &Tracker{
		keep: cmp.Or(opts.KeepBytes, 8<<20), most: cmp.Or(opts.MaxFiles, 4096),
		sessions: make(map[string]*session), now: time.Now,
	}
}

// An Observation is what a tool found out about a file when it showed or wrote it.
type Observation struct {
	State    State
	Encoding Encoding
	EOL      EOL
	Lines    int         // 0: unknown
	Seen     []LineRange // lines shown; nil: none
	Raw      []byte      // the whole content, not changed afterwards by anybody; nil: not at hand
}

// Observe makes an Observation of a whole decoded file, of which the ranges were shown.
func (f *File) Observe(st State, seen ...LineRange) Observation {
	return Observation{State: st, Encoding: f.Encoding, EOL: f.EOL, Lines: f.Lines(), Seen: seen, Raw: f.Raw}
}

// Saw records that the session was shown part of a file. Lines seen earlier stay seen as long as the content is the same; after
// a change by others, those outside the changed part, if the earlier content is still kept.
func (t *Tracker) Saw(id string, p *fsroot.Path, o Observation) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.session(id)
	old := s.files[p.Key()]
	seen := o.Seen
	own := false
	if old != nil {
		same := old.State.Hash == o.State.Hash && !o.State.Hash.IsZero() || o.State.Hash.IsZero() && old.State.sameVersion(o.State.Stat)
		switch {
		case same:
			seen = append(slices.Clone(seen), old.Seen...)
			own = old.Own
			if o.Raw == nil {
				o.Raw = old.content
			}
			if o.Lines == 0 {
				o.Lines = old.Lines
			}
		case old.content != nil && o.Raw != nil:
			seen = append(slices.Clone(seen), carryOver(old, o)...)
		}
	}
	t.put(s, p, o, seen, own)
}

// Wrote records that the session itself changed the file: before is what it was made from, spans what was replaced. A nil
// before means that the whole content is the session's. After it no reading is needed to edit again.
func (t *Tracker) Wrote(id string, p *fsroot.Path, o Observation, before *File, spans []Span) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.session(id)
	seen := []LineRange{{1, o.Lines}}
	if before != nil {
		var had []LineRange
		if old := s.files[p.Key()]; old != nil {
			had = old.Seen
			if old.State.Hash != Sum(before.Raw) && old.content != nil {
				had = carryOver(old, before.Observe(State{}))
			}
		}
		seen = shiftSeen(had, lineEdits(before, spans))
	}
	t.put(s, p, o, seen, true)
}

// carryOver returns the lines seen of an earlier content as lines of a later one, without the changed part.
func carryOver(old *tracked, o Observation) []LineRange {
	a, err1 := Decode(old.content, nil)
	b, err2 := Decode(o.Raw, nil)
	if err1 != nil || err2 != nil {
		return nil
	}
	e := commonEnds(a.Text, b.Text)
	shifted := shiftSeen(old.Seen, []lineEdit{e})
	if e.count == 0 {
		return shifted
	}
	changed := LineRange{e.first, e.first + e.count - 1}
	var out []LineRange
	for _, r := range shifted {
		out = append(out, missingLines([]LineRange{changed}, r)...)
	}
	return out
}

// Removed forgets the file in all sessions: it was deleted by one of them.
func (t *Tracker) Removed(p *fsroot.Path) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, s := range t.sessions {
		s.drop(p.Key())
	}
}

// Moved gives the session's record of from to the path to, with the State it has there.
func (t *Tracker) Moved(id string, from, to *fsroot.Path, st State) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.session(id)
	old := s.files[from.Key()]
	if old == nil {
		return
	}
	o := Observation{State: st, Encoding: old.Encoding, EOL: old.EOL, Lines: old.Lines, Raw: old.content}
	s.drop(from.Key())
	t.put(s, to, o, old.Seen, old.Own)
}

// Get returns the session's record of the file. It shares nothing with the Tracker.
func (t *Tracker) Get(id string, p *fsroot.Path) (Record, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if s := t.sessions[id]; s != nil {
		if f := s.files[p.Key()]; f != nil {
			return f.copy(), true
		}
	}
	return Record{}, false
}

// A Freshness says how a file's present content relates to what a session knows.
type Freshness struct {
	// Known: the session has a record of the file.
	Known bool
	// Fresh: the content is the one that the session has seen or written last.
	Fresh bool
	// Record is the session's record, as of before the check.
	Record Record
	// Before is the content that the session knows, when Known and not Fresh and it was kept: what to show the difference to.
	Before []byte
	// By is the other session of this Tracker that wrote the present content; "" means unknown, or not a session.
	By string
}

// Check compares the content of a file, as just read, with what the session knows. Only content counts: if merely the times
// changed, the record is brought up to date and the file is Fresh.
func (t *Tracker) Check(id string, p *fsroot.Path, now State) Freshness {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.sessions[id]
	if s == nil || s.files[p.Key()] == nil {
		return Freshness{}
	}
	f := s.files[p.Key()]
	fr := Freshness{Known: true, Record: f.copy()}
	if f.State.Hash.IsZero() {
		fr.Fresh = f.State.sameVersion(now.Stat)
	} else {
		fr.Fresh = f.State.Hash == now.Hash
	}
	if fr.Fresh {
		f.State, f.at = now, t.now().UnixNano()
		f.noted, f.gone = Hash{}, false
		return fr
	}
	fr.Before = f.content
	for other, o := range t.sessions {
		if x := o.files[p.Key()]; other != id && x != nil && x.Own && x.State.Hash == now.Hash {
			fr.By = other
			break
		}
	}
	return fr
}

// Holding returns the name of another file than but whose content, as the session knows it, has the text, which is in UTF-8 with
// LF line ends: of several the one used last, "" if there is none. Only files of which the content is still kept are searched.
func (t *Tracker) Holding(id, text string, but *fsroot.Path) string {
	t.mu.Lock()
	var list []*tracked
	if s := t.sessions[id]; s != nil {
		for k, f := range s.files {
			if k != but.Key() && f.content != nil {
				list = append(list, &tracked{Record: Record{Display: f.Display, Seq: f.Seq}, content: f.content})
			}
		}
	}
	t.mu.Unlock()
	slices.SortFunc(list, func(a, b *tracked) int { return cmp.Compare(b.Seq, a.Seq) })
	lf, crlf := []byte(text), []byte(strings.ReplaceAll(text, "\n", "\r\n"))
	for _, f := range list {
		if bytes.Contains(f.content, lf) || bytes.Contains(f.content, crlf) {
			return f.Display
		}
	}
	return ""
}

// Fork gives the session child a copy of what parent knows. A child that has records keeps those it has.
func (t *Tracker) Fork(parent, child string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := t.sessions[parent]
	if p == nil || parent == child {
		return
	}
	c := t.session(child)
	for _, k := range slices.SortedFunc(maps.Keys(p.files), func(a, b string) int { return cmp.Compare(p.files[a].Seq, p.files[b].Seq) }) {
		if c.files[k] != nil {
			continue
		}
		f := *p.files[k]
		f.Record = f.copy()
		f.Own = false
		c.seq++
		f.Seq = c.seq
		c.files[k] = &f
		c.kept += len(f.content)
	}
}

// Forget drops everything that is known about a session.
func (t *Tracker) Forget(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.sessions, id)
}

func (t *Tracker) session(id string) *session {
	s := t.sessions[id]
	if s == nil {
		s = &session{files: make(map[string]*tracked)}
		t.sessions[id] = s
	}
	return s
}

func (t *Tracker) put(s *session, p *fsroot.Path, o Observation, seen []LineRange, own bool) {
	s.drop(p.Key())
	s.seq++
	f := &tracked{at: t.now().UnixNano(), Record: Record{
		Path: p.Resolved, Display: p.Display, State: o.State, Encoding: o.Encoding, EOL: o.EOL, Lines: o.Lines, Seen: mergeLines(seen), Seq: s.seq, Own: own,
	}}
	s.files[p.Key()] = f
	if o.Raw != nil && len(o.Raw) <= t.keep {
		f.content = o.Raw
		s.kept += len(o.Raw)
	}
	for s.kept > t.keep || len(s.files) > t.most {
		oldest := ""
		for k, c := range s.files {
			if c != f && (len(s.files) > t.most || c.content != nil) && (oldest == "" || c.Seq < s.files[oldest].Seq) {
				oldest = k
			}
		}
		if oldest == "" {
			return
		}
		if len(s.files) > t.most {
			s.drop(oldest)
		} else {
			s.kept -= len(s.files[oldest].content)
			s.files[oldest].content = nil
		}
	}
}

func (s *session) drop(key string) {
	if f := s.files[key]; f != nil {
		s.kept -= len(f.content)
		delete(s.files, key)
	}
}

func (f *tracked) copy() Record {
	r := f.Record
	r.Seen = slices.Clone(r.Seen)
	return r
}
