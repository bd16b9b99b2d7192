package lsp

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"
)

// Change is a file that was changed, on disk already.
type Change struct {
	Path    string // absolute
	From    string // where it was, if it was moved
	Before  string // its content before; "" if Created
	Created bool   // there was no file
	Deleted bool   // there is no file
}

// Report is what servers say of changes.
type Report struct {
	New  []Diagnostic // that were not there before the change; by file and line
	Late []string     // servers that did not answer in time
	// Unsure are files for which it is not known what was wrong with them before, so that New
	// has all that is wrong with them now.
	Unsure []string
}

// maxCompared is how many changed files are opened to hear what is new in them.
// Of more the server only learns that they changed.
const maxCompared = 50

// starting is how long after its start a server gets for its first answer, beyond
// the time that is given for diagnostics.
const starting = 8 * time.Second

// Changed lets the servers see changes, and returns what is wrong now that was not
// before. It waits for them up to limit, and for one that is only just starting up
// to eight seconds from its start. It fails only if ctx ends or a server does; the
// report has what is known all the same.
func (c *Client) Changed(ctx context.Context, changes []Change, limit time.Duration) (*Report, error) {
	begin := time.Now()
	by := make(map[*server][]Change)
	var order []*server
	for _, ch := range changes {
		for _, srv := range c.serversFor(ch.Path) {
			if by[srv] == nil {
				order = append(order, srv)
			}
			by[srv] = append(by[srv], ch)
		}
	}
	report := &Report{}
	var errs []error
	type part struct {
		n   int
		r   *Report
		err error
	}
	parts := make(chan part, len(order))
	for i, srv := range order {
		err := c.own(func() {
			r, err := srv.changed(ctx, by[srv], begin.Add(limit))
			parts <- part{i, r, err}
		})
		if err != nil {
			return report, err
		}
	}
	all := make([]part, len(order))
	for range order {
		p := <-parts
		all[p.n] = p
	}
	for _, p := range all {
		errs = append(errs, p.err)
		report.New = append(report.New, p.r.New...)
		report.Late = append(report.Late, p.r.Late...)
		report.Unsure = append(report.Unsure, p.r.Unsure...)
	}
	sortDiagnostics(report.New)
	slices.Sort(report.Unsure)
	report.Unsure = slices.Compact(report.Unsure)
	return report, errors.Join(errs...)
}

// changed is Changed for one server.
func (s *server) changed(ctx context.Context, changes []Change, deadline time.Time) (*Report, error) {
	r := &Report{}
	cur, wait, err := s.current()
	if err != nil || wait > 0 {
		return r, err // it will read the files when it is started
	}
	cur.mu.Lock()
	if first := cur.begun.Add(starting); !cur.answered && first.After(deadline) {
		deadline = first
	}
	cur.mu.Unlock()
	ctx, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	late := func() (*Report, error) {
		if err := cur.cause(); err != nil {
			return r, err
		}
		r.Late = []string{s.cfg.Name}
		if w := cur.working(); w != "" {
			r.Late[0] += " (" + w + ")"
		}
		return r, nil
	}
	select {
	case cur.turn <- struct{}{}:
		defer func() { <-cur.turn }()
	case <-ctx.Done():
		cur.apply(changes)
		return late()
	}
	if _, release, err := s.use(ctx); err == nil {
		defer release()
	} else {
		cur.apply(changes)
		return late()
	}
	if !cur.compare(ctx, changes, r) {
		return late()
	}
	return r, nil
}

// compare fills in the report, and reports whether everything was known in time.
func (s *session) compare(ctx context.Context, changes []Change, r *Report) bool {
	var had, named []string
	for _, ch := range changes[:min(len(changes), maxCompared)] {
		named = append(named, ch.Path)
		if was := cmp.Or(ch.From, ch.Path); !ch.Created && !ch.Deleted {
			s.open(was, ch.Before)
			had = append(had, was)
		}
		if ch.From != "" {
			named = append(named, ch.From)
		}
	}
	foreign := s.refresh(ctx, named...)
	if foreign {
		for _, path := range had {
			s.touch(path)
		}
	}
	// What was wrong before may take most of the time, but not all of it.
	until, _ := ctx.Deadline()
	first, cancel := context.WithTimeout(ctx, time.Until(until)*2/3)
	unknown := s.await(first, had)
	s.mu.Lock()
	calm := s.calm
	s.mu.Unlock()
	if !calm && s.rest(first) {
		s.settled(first, settle)
	}
	cancel()
	before := s.known(named)
	s.mu.Lock()
	if told := s.told; told != nil && !foreign {
		// What came too late to be told with the last change is told with this one.
		for path := range before {
			if !slices.Contains(named, path) {
				before[path] = told[path]
			}
		}
	}
	if !calm {
		// It may go through the project for the first time. What it says only later
		// about files that it has said nothing about need not be new.
		for path := range s.diags {
			if before[path] == nil {
				before[path] = []located{}
			}
		}
	}
	for _, path := range named {
		if owed, ok := s.owed[path]; ok {
			before[path] = owed
			unknown = slices.DeleteFunc(unknown, func(p string) bool { return p == path })
		}
	}
	s.mu.Unlock()
	for _, ch := range changes {
		if ch.From != "" {
			before[ch.Path] = append(before[ch.Path], before[ch.From]...)
			if slices.Contains(unknown, ch.From) {
				unknown = append(unknown, ch.Path)
			}
		}
	}

	sent := time.Now()
	there := s.apply(changes)
	late := s.await(ctx, there)
	// What follows for other files comes later, the more so the longer this took.
	calmAfter := max(settle, min(2*time.Since(sent)/3, 1500*time.Millisecond))
	if len(late) < len(there) || len(there) == 0 {
		s.settled(ctx, calmAfter)
	}
	after := s.known(named)
	fresh := s.since(changes, late, after, before, calm)
	if len(fresh) > 0 && len(there) > 1 {
		// Some of it may be from between the changes.
		s.settled(ctx, 2*calmAfter)
		after = s.known(named)
		fresh = s.since(changes, late, after, before, calm)
	}
	r.New = append(r.New, fresh...)
	s.mu.Lock()
	s.calm = s.calm || ctx.Err() == nil
	s.told = after
	for _, path := range named {
		if delete(s.owed, path); slices.Contains(late, path) && !slices.Contains(unknown, path) {
			s.owed[path] = before[path]
		}
	}
	s.mu.Unlock()
	for _, path := range unknown {
		if !slices.Contains(late, path) && len(after[path]) > 0 {
			r.Unsure = append(r.Unsure, path)
		}
	}
	return len(late) == 0
}

// since compares what is known with what was. If that was not all, files that
// were not changed count only if it has something about them.
func (s *session) since(changes []Change, late []string, after, before map[string][]located, all bool) (out []Diagnostic) {
	stretch := make(map[string]edited)
	s.mu.Lock()
	for _, ch := range changes {
		if d := s.docs[ch.Path]; d != nil {
			stretch[ch.Path] = editedLines(ch.Before, d.text)
		}
	}
	s.mu.Unlock()
	for _, path := range sortedKeys(after) {
		_, changed := stretch[path]
		_, had := before[path]
		if !slices.Contains(late, path) && (all || had || changed) {
			out = append(out, without(after[path], before[path], stretch[path])...)
		}
	}
	return out
}

// apply makes the server see changes, and returns the files that there are now.
// It hears of all of them at once, so that it need not look at what is between.
func (s *session) apply(changes []Change) (there []string) {
	var events []map[string]any
	gone := func(path string) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.closeLocked(path)
		delete(s.diags, path)
		delete(s.files, path)
		events = append(events, fileEvent(path, fileDeleted))
	}
	for _, ch := range changes {
		if ch.From != "" {
			gone(ch.From)
		}
		if ch.Deleted {
			gone(ch.Path)
			continue
		}
		kind := fileChanged
		if ch.Created || ch.From != "" {
			kind = fileCreated
		}
		events = append(events, fileEvent(ch.Path, kind))
	}
	type content struct {
		text  string
		stamp Stamp
	}
	now := make(map[string]content)
	for i, ch := range changes {
		if ch.Deleted || i >= maxCompared && !s.has(ch.Path) {
			continue
		}
		if text, st, err := s.read(ch.Path); err == nil {
			now[ch.Path] = content{text, st}
			there = append(there, ch.Path)
		}
	}
	s.mu.Lock()
	s.watch(events)
	for _, path := range there {
		s.openLocked(path, now[path].text)
		s.docs[path].stamp = now[path].stamp
		if s.files != nil {
			s.files[path] = now[path].stamp
		}
	}
	s.mu.Unlock()
	for _, path := range there {
		s.saved(path)
	}
	return there
}

// Diagnostics returns what servers say about a file, or if path is "" about all
// files that they know of, by file and line. working says with what a server is
// still busy that has not said all.
func (c *Client) Diagnostics(ctx context.Context, path string, limit time.Duration) (list []Diagnostic, working string, err error) {
	servers := c.workspaceServers()
	if path != "" {
		servers = c.serversFor(path)
	}
	if len(servers) == 0 {
		return nil, "", c.noServer(path)
	}
	var busy []string
	for _, srv := range servers {
		found, late, err := srv.diagnostics(ctx, path, limit)
		if err != nil {
			return nil, "", err
		}
		if list = append(list, found...); late != "" {
			busy = append(busy, late)
		}
	}
	sortDiagnostics(list)
	return list, strings.Join(busy, ", "), nil
}

func (s *server) diagnostics(ctx context.Context, path string, limit time.Duration) (list []Diagnostic, late string, err error) {
	cur, release, err := s.use(ctx)
	if err != nil {
		return nil, "", err
	}
	defer release()
	wait, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	changed := cur.refresh(wait)
	var named []string
	if path != "" {
		if err := cur.reload(path); err != nil {
			return nil, "", err
		}
		if named = []string{path}; changed {
			cur.touch(path)
		}
	}
	var open []string
	if path == "" && changed {
		open = cur.documents()
		for _, p := range open {
			cur.touch(p)
		}
	}
	done := len(cur.await(wait, append(open, named...))) == 0
	if path == "" {
		cur.rest(wait)
		cur.settled(wait, settle)
		named = cur.spokenOf()
	}
	if ctx.Err() != nil {
		return nil, "", context.Cause(ctx)
	}
	if err := cur.cause(); err != nil {
		return nil, "", err
	}
	cur.mu.Lock()
	cur.told = nil // all is told now
	cur.mu.Unlock()
	for p, found := range cur.known(named) {
		if path == "" || p == path {
			for _, d := range found {
				list = append(list, d.Diagnostic)
			}
		}
	}
	w := cur.working()
	switch {
	case w != "":
		late = s.cfg.Name + " is busy: " + w
	case !done:
		late = s.cfg.Name + " has not answered yet"
	}
	return list, late, nil
}

// rest waits until the server has nothing to do, as far as it says.
func (s *session) rest(ctx context.Context) bool {
	for {
		event := s.events()
		if s.working() == "" {
			return true
		}
		if !s.sleep(ctx, event, 0) {
			return false
		}
	}
}
