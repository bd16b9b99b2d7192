package truncate

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"time"
)

// Sweep removes the store's files that are too old and, oldest first, as many as
// are over the quota. Files that are being written, here or by another store
// over the same directory, stay. What cannot be removed is skipped and reported.
// After Close it returns ErrClosed.
func (s *Store) Sweep(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return ErrClosed
	}
	return s.sweep(ctx, 0)
}

// sweep does the work of Sweep and also makes room for so many more bytes.
// s.mu is held.
func (s *Store) sweep(ctx context.Context, room int64) error {
	if s.root == nil {
		return ErrClosed
	}
	now := time.Now()
	s.swept = now
	files, total, err := s.list(ctx)
	if err != nil {
		return err
	}
	var errs []error
	slices.SortFunc(files, func(a, b storedFile) int { return a.used.Compare(b.used) })
	for _, f := range files {
		old := s.opt.MaxAge >= 0 && now.Sub(f.used) > s.opt.MaxAge
		over := s.opt.MaxTotal >= 0 && total+room > s.opt.MaxTotal
		if !old && !over {
			break // the rest is younger, and there is room
		}
		if err := ctx.Err(); err != nil {
			errs = append(errs, err)
			break
		}
		removed, err := s.remove(f.name)
		if err != nil {
			errs = append(errs, err)
		}
		if removed {
			total -= f.size
		}
	}
	s.total = total
	return errors.Join(errs...)
}

// storedFile is a finished file of the store.
type storedFile struct {
	name string
	size int64
	used time.Time
}

// list returns the finished files, and the bytes of these and those being written.
func (s *Store) list(ctx context.Context) (files []storedFile, total int64, err error) {
	d, err := s.root.Open(".")
	if err != nil {
		return nil, 0, err
	}
	defer d.Close()
	for {
		entries, err := d.ReadDir(256)
		for _, e := range entries {
			if !isStoreName(e.Name()) || !e.Type().IsRegular() {
				continue
			}
			fi, err := s.root.Lstat(e.Name())
			if err != nil || !fi.Mode().IsRegular() {
				continue // gone, or replaced
			}
			total += fi.Size()
			if s.open[e.Name()] == nil {
				files = append(files, storedFile{e.Name(), fi.Size(), fi.ModTime()})
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return files, total, nil
		case err != nil:
			return nil, 0, err
		case ctx.Err() != nil:
			return nil, 0, ctx.Err()
		}
	}
}

// remove removes a file unless somebody is writing it.
func (s *Store) remove(name string) (bool, error) {
	f, err := s.root.OpenFile(name, os.O_RDONLY|openNoFollow, 0)
	if err == nil {
		defer f.Close()
		if !lockFile(f) {
			return false, nil
		}
	} else if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	// One that cannot be opened, for its mode or for want of descriptors, can
	// be removed all the same.
	if err := s.root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	return true, nil
}
