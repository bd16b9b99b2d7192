package permission

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// ErrStore matches *[StoreError].
var ErrStore = errors.New("approvals cannot be read or written")

// StoreError says why a [FileStore] could not do its work. It matches [ErrStore].
type StoreError struct {
	Path string
	Err  error
}

// Error names the file and the problem.
func (e *StoreError) Error() string { return fmt.Sprintf("approvals in %s: %v", e.Path, e.Err) }

// Is reports whether target is [ErrStore].
func (e *StoreError) Is(target error) bool { return target == ErrStore }

// Unwrap returns the problem.
func (e *StoreError) Unwrap() error { return e.Err }

// FileStore is a [Store] in a JSON file, which several processes may use at the
// same time. The file must be where no tool can write, or a model could grant
// itself what it likes.
//
// The file is made with mode 0600, in a directory that is made with mode 0700 if
// it does not exist, and replaced as a whole. A lock file beside it, Path with
// ".lock" added, keeps processes apart while they change it (on Unix and Windows).
// On Unix, a file or directory that belongs to somebody else or that others may
// write is refused. A file that is a link or not a plain file, is
// too large, or is not what a FileStore wrote, is an error, never an empty list,
// and is left as it is. Errors are *[StoreError].
//
// It is safe for concurrent use and must not be copied.
type FileStore struct {
	Path string // of the file, absolute

	mu sync.Mutex // serialises the writers of this process
}

const (
	storeVersion = 1
	maxStoreSize = 16 << 20
	lockRetry    = 10 * time.Millisecond
	lockPatience = 10 * time.Second // for another process to finish
)

type storeFile struct {
	Version   int        `json:"version"`
	Approvals []Approval `json:"approvals"`
}

// List reads the file. One that does not exist has no approvals.
func (s *FileStore) List(ctx context.Context) ([]Approval, error) {
	if err := ctx.Err(); err != nil {
		return nil, s.fail(err)
	}
	list, err := s.read()
	return list, s.fail(err)
}

// Add adds approvals to the file, all or none.
func (s *FileStore) Add(ctx context.Context, as ...Approval) error {
	return s.change(ctx, func(list []Approval) ([]Approval, bool, error) {
		list, err := merge(list, as)
		return list, true, err
	})
}

// Remove removes an approval from the file.
func (s *FileStore) Remove(ctx context.Context, id string) (found bool, err error) {
	err = s.change(ctx, func(list []Approval) ([]Approval, bool, error) {
		list, found = without(list, id)
		return list, found, nil
	})
	return found && err == nil, err
}

func (s *FileStore) fail(err error) error {
	if err == nil {
		return nil
	}
	return &StoreError{Path: s.Path, Err: err}
}

// change replaces the file by what f makes of it, if f says so, and lets no
// other process do the same meanwhile.
func (s *FileStore) change(ctx context.Context, f func([]Approval) (list []Approval, changed bool, err error)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.directory(); err != nil {
		return s.fail(err)
	}
	unlock, err := s.lock(ctx)
	if err != nil {
		return s.fail(err)
	}
	defer unlock()
	list, err := s.read()
	if err != nil {
		return s.fail(err)
	}
	list, changed, err := f(list)
	if err != nil || !changed {
		return s.fail(err)
	}
	return s.fail(s.write(list))
}

// directory makes sure that the file's directory is there and private.
func (s *FileStore) directory() error {
	if !filepath.IsAbs(s.Path) {
		return errors.New("the path is not absolute")
	}
	dir := filepath.Dir(s.Path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	return checkPrivate("its directory", info)
}

// lock waits for the lock file, for a while.
func (s *FileStore) lock(ctx context.Context) (unlock func(), err error) {
	f, err := openLock(s.Path + ".lock")
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, lockPatience)
	defer cancel()
	for {
		ok, err := tryLock(f)
		if err != nil {
			return nil, errors.Join(err, f.Close())
		}
		if ok {
			return func() { f.Close() }, nil // which gives the lock up
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(fmt.Errorf("another process holds the lock: %w", context.Cause(ctx)), f.Close())
		case <-time.After(lockRetry):
		}
	}
}

func (s *FileStore) read() ([]Approval, error) {
	if !filepath.IsAbs(s.Path) {
		return nil, errors.New("the path is not absolute")
	}
	// Looked at before it is opened, as opening a pipe would wait, and again after,
	// as it may have been exchanged between.
	before, err := os.Lstat(s.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if !before.Mode().IsRegular() {
		return nil, fmt.Errorf("not a plain file (%s)", before.Mode().Type())
	}
	dir, err := os.Stat(filepath.Dir(s.Path))
	if err != nil {
		return nil, err
	}
	if err := checkPrivate("its directory", dir); err != nil {
		return nil, err
	}
	f, err := os.Open(s.Path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !os.SameFile(before, info) {
		return nil, errors.New("the file was exchanged while it was opened; try again")
	}
	if err := checkPrivate("the file", info); err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(f, maxStoreSize+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxStoreSize {
		return nil, fmt.Errorf("larger than %d bytes", maxStoreSize)
	}
	return parseStore(data)
}

func parseStore(data []byte) ([]Approval, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	var c storeFile
	if err := dec.Decode(&c); err != nil {
		return nil, fmt.Errorf("not a file of approvals: %w", err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, errors.New("not a file of approvals: something follows its end")
	}
	if c.Version != storeVersion {
		return nil, fmt.Errorf("a file of version %d; this is version %d", c.Version, storeVersion)
	}
	list, err := merge(nil, c.Approvals)
	if err != nil {
		return nil, fmt.Errorf("not a file of approvals: %w", err)
	}
	return list, nil
}

// write replaces the file, or leaves it as it is.
func (s *FileStore) write(list []Approval) (err error) {
	data, err := json.MarshalIndent(storeFile{storeVersion, list}, "", "\t")
	if err != nil {
		return err
	}
	if len(data) >= maxStoreSize {
		return fmt.Errorf("the approvals would take more than %d bytes", maxStoreSize)
	}
	f, err := os.CreateTemp(filepath.Dir(s.Path), filepath.Base(s.Path)+".*.tmp") // mode 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			os.Remove(f.Name())
		}
	}()
	if _, err = f.Write(append(data, '\n')); err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), s.Path)
}
