package textfile

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"github.com/agenttool/tool/internal/fsroot"
)

const (
	driftFiles = 500
	driftTime  = 50 * time.Millisecond
	driftBytes = 1 << 20 // content read to show the difference
	racyTime   = 2 * time.Second
)

// A Drift is a file that changed since the session last saw it.
type Drift struct {
	Path, Display string
	// Gone: the file no longer exists, or is no regular file any more.
	Gone bool
	// Before and After are the content as the session knows it and as it is; nil when not kept or over 1 MiB.
	Before, After []byte
}

// CheckTracked finds out which of the files that the session knows were changed by others, as after running a command. It looks
// at the 500 files used last and for at most 50 ms; complete is false when that was not enough. Each change is returned once;
// the record itself stays as it is, so that [Tracker.Check] still finds it stale.
func (t *Tracker) CheckTracked(ctx context.Context, id string, root *fsroot.Root) (drifts []Drift, complete bool) {
	ctx, cancel := context.WithTimeout(ctx, driftTime)
	defer cancel()
	type item struct {
		key string
		f   tracked
	}
	var items []item
	t.mu.Lock()
	if s := t.sessions[id]; s != nil {
		for k, f := range s.files {
			items = append(items, item{k, *f})
		}
	}
	t.mu.Unlock()
	slices.SortFunc(items, func(a, b item) int { return cmp.Compare(b.f.Seq, a.f.Seq) })
	complete = len(items) <= driftFiles
	for _, it := range items[:min(len(items), driftFiles)] {
		if ctx.Err() != nil {
			return drifts, false
		}
		d, now, changed, err := look(ctx, root, &it.f)
		if err != nil {
			complete = false
			continue
		}
		t.mu.Lock()
		var f *tracked
		if s := t.sessions[id]; s != nil {
			f = s.files[it.key]
		}
		switch {
		case f == nil || f.Seq != it.f.Seq:
			changed = false // a call running at the same time saw or wrote it
		case !changed:
			if !now.Hash.IsZero() {
				f.State, f.at = now, t.now().UnixNano()
			}
			f.gone, f.noted = false, Hash{}
		case d.Gone && f.gone, !d.Gone && !f.gone && f.noted == now.Hash && !now.Hash.IsZero():
			changed = false
		default:
			f.gone, f.noted = d.Gone, now.Hash
		}
		t.mu.Unlock()
		if changed {
			drifts = append(drifts, d)
		}
	}
	return drifts, complete
}

// look compares one file with its record. A zero now.Hash with changed false means that the file system says nothing new.
func look(ctx context.Context, root *fsroot.Root, f *tracked) (d Drift, now State, changed bool, err error) {
	d = Drift{Path: f.Path, Display: f.Display, Before: f.content}
	p, err := root.ResolveIn(filepath.Dir(f.Path), f.Path, true)
	if err != nil && (errors.Is(err, fsroot.ErrNotDir) || errors.Is(err, fs.ErrNotExist)) {
		d.Gone = true
		return d, now, true, nil
	}
	if err != nil {
		return d, now, false, err
	}
	if !p.Exists || !p.Info.Mode().IsRegular() {
		d.Gone = true
		return d, now, true, nil
	}
	st := StatOf(p.Info)
	same := st.sameVersion(f.State.Stat)
	if same && f.at-st.Mtime > int64(racyTime) && f.noted.IsZero() && !f.gone {
		return d, now, false, nil
	}
	if f.State.Hash.IsZero() {
		return d, State{Stat: st}, !same, nil
	}
	raw, now, err := ReadFile(ctx, root, p, driftBytes)
	if err == nil {
		d.After = raw
		return d, now, now.Hash != f.State.Hash, nil
	}
	var large *TooLargeError
	if !errors.As(err, &large) {
		return d, now, false, err
	}
	file, info, err := root.Open(p)
	if err != nil {
		return d, now, false, err
	}
	defer file.Close()
	sum, _, err := hashOpen(ctx, file)
	return d, State{Stat: StatOf(info), Hash: sum}, sum != f.State.Hash, err
}

// snapshot is the stored form of a session.
type snapshot struct {
	Version int             `json:"version"`
	Files   []snapshotEntry `json:"files"`
}

type snapshotEntry struct {
	Key string `json:"key"`
	Record
}

// Snapshot returns the session's records as JSON for [Tracker.Restore], in the order of their use. Content is not part of
// it. A session without records gives an empty list.
func (t *Tracker) Snapshot(id string) ([]byte, error) {
	out := snapshot{Version: 1, Files: []snapshotEntry{}}
	t.mu.Lock()
	if s := t.sessions[id]; s != nil {
		for _, k := range slices.Sorted(maps.Keys(s.files)) {
			out.Files = append(out.Files, snapshotEntry{k, s.files[k].copy()})
		}
	}
	t.mu.Unlock()
	slices.SortFunc(out.Files, func(a, b snapshotEntry) int { return cmp.Compare(a.Seq, b.Seq) })
	return json.Marshal(out)
}

// Restore puts what Snapshot returned in the place of the session's records. On an error nothing is changed.
func (t *Tracker) Restore(id string, data []byte) error {
	var in snapshot
	if err := json.Unmarshal(data, &in); err != nil {
		return fmt.Errorf("read tracking: %w", err)
	}
	if in.Version != 1 {
		return fmt.Errorf("read tracking: version %d is not known", in.Version)
	}
	s := &session{files: make(map[string]*tracked)}
	for _, e := range in.Files[max(0, len(in.Files)-t.most):] {
		if e.Key == "" || !filepath.IsAbs(e.Path) {
			return fmt.Errorf("read tracking: record without an absolute path")
		}
		if e.Lines < 0 || e.State.Size < 0 {
			return fmt.Errorf("read tracking: record of a file with less than nothing in it")
		}
		s.seq++
		e.Seq = s.seq
		e.Seen = mergeLines(e.Seen)
		s.files[e.Key] = &tracked{Record: e.Record}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sessions[id] = s
	return nil
}
