package truncate

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// The limits of a Store whose options leave them at zero.
const (
	DefaultMaxFile  = 64 << 20
	DefaultMaxTotal = 512 << 20
	DefaultMaxAge   = 7 * 24 * time.Hour
)

// sweepEvery is how often a store in use looks for files that got too old.
const sweepEvery = time.Hour

var (
	// ErrClosed is returned by Create after Close.
	ErrClosed = errors.New("the store for full texts is closed")
	// ErrNotPrivate is what errors of OpenStore match if the directory is open
	// to other users and cannot be made private: it holds files that are not
	// the store's, is a symbolic link, or belongs to somebody else.
	ErrNotPrivate = errors.New("not a private directory")
)

// StoreOptions are the limits of a [Store]. In each, 0 means the default and
// negative means no limit.
type StoreOptions struct {
	// MaxFile bounds a file, in bytes (64 MiB). What is written beyond is
	// counted but not stored, and Close of the file returns a *PartialError.
	MaxFile int64
	// MaxTotal bounds all files of the directory together, in bytes (512 MiB).
	// The least recently used ones are removed for new ones.
	MaxTotal int64
	// MaxAge is how long a file stays after it was last written or touched (7 days).
	MaxAge time.Duration
}

// Store keeps whole texts as files in a private directory: mode 0700, files
// 0600 with unguessable names. It removes what is too old or too much when it is
// opened and, at most hourly, when a file is made; it starts no goroutine. Files
// in the directory that it did not make are left alone, and links are not
// followed. Several stores may share a directory, also from several processes;
// each counts what the others wrote when it sweeps. A Store is a [Spill] and is
// safe for concurrent use. The host that opened it closes it.
type Store struct {
	dir string
	opt StoreOptions
	// create makes a file; tests replace it to have disks fail.
	create func(root *os.Root, name string) (diskFile, error)

	mu     sync.Mutex
	root   *os.Root
	closed bool
	swept  time.Time
	total  int64 // bytes in the directory as far as known
	open   map[string]*storeFile
}

// diskFile is what a storeFile needs of an *os.File.
type diskFile interface {
	io.Writer
	io.StringWriter
	io.Closer
}

// OpenStore opens the store in dir, which is made if it does not exist, and
// sweeps it. A directory that other users may enter is made private if it is
// empty or holds only a store's files; otherwise the error matches
// [ErrNotPrivate]. A nil opt means the defaults.
func OpenStore(dir string, opt *StoreOptions) (*Store, error) {
	s := &Store{open: map[string]*storeFile{}, create: createFile}
	if opt != nil {
		s.opt = *opt
	}
	if s.opt.MaxFile == 0 {
		s.opt.MaxFile = DefaultMaxFile
	}
	if s.opt.MaxTotal == 0 {
		s.opt.MaxTotal = DefaultMaxTotal
	}
	if s.opt.MaxAge == 0 {
		s.opt.MaxAge = DefaultMaxAge
	}
	if dir == "" {
		return nil, errors.New("open store: no directory given")
	}
	var err error
	if s.dir, err = filepath.Abs(dir); err != nil {
		return nil, fmt.Errorf("open store: %w", err)
	}
	if s.root, err = openPrivate(s.dir); err != nil {
		return nil, fmt.Errorf("open store: %w", err)
	}
	// What cannot be listed or removed now is no reason to have no store.
	_ = s.Sweep(context.Background())
	return s, nil
}

// openPrivate opens dir, made if need be, and sees to it that it is private.
func openPrivate(dir string) (*os.Root, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	li, err := os.Lstat(dir)
	if err != nil {
		return nil, err
	}
	if !li.IsDir() { // MkdirAll accepts a link to a directory
		return nil, fmt.Errorf("%s is a link: %w; name the directory itself", dir, ErrNotPrivate)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	if err := makePrivate(root, li); err != nil {
		root.Close()
		return nil, err
	}
	return root, nil
}

func makePrivate(root *os.Root, li fs.FileInfo) error {
	fi, err := root.Stat(".")
	if err != nil {
		return err
	}
	if !os.SameFile(fi, li) {
		return fmt.Errorf("%s was replaced while it was opened: %w", root.Name(), ErrNotPrivate)
	}
	if !ownedByUs(fi) {
		return fmt.Errorf("%s belongs to another user: %w; choose one of your own", root.Name(), ErrNotPrivate)
	}
	if !openToOthers(fi) {
		return nil
	}
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !isStoreName(e.Name()) {
			return fmt.Errorf("%s has mode %v and holds other files: %w; give the store a directory of its own",
				root.Name(), fi.Mode().Perm(), ErrNotPrivate)
		}
	}
	return root.Chmod(".", 0o700)
}

// Dir returns the absolute path of the directory.
func (s *Store) Dir() string { return s.dir }

// Create makes a new file for a text. The error is ErrClosed after Close, and
// the file system's otherwise.
func (s *Store) Create(ctx context.Context) (SpillFile, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, ErrClosed
	}
	if now := time.Now(); now.Sub(s.swept) >= sweepEvery {
		_ = s.sweep(ctx, 0) // a file that cannot be removed does not stop a new one
	}
	f, name, err := s.createNew()
	if errors.Is(err, fs.ErrNotExist) {
		// Somebody cleaned up the directory itself.
		root, rerr := openPrivate(s.dir)
		if rerr != nil {
			return nil, rerr
		}
		s.root.Close()
		s.root, s.total = root, 0
		f, name, err = s.createNew()
	}
	if err != nil {
		return nil, err
	}
	sf := &storeFile{store: s, name: name, f: f}
	s.open[name] = sf
	return sf, nil
}

func (s *Store) createNew() (diskFile, string, error) {
	for range 8 {
		name := newName()
		f, err := s.create(s.root, name)
		if !errors.Is(err, fs.ErrExist) {
			return f, name, err
		}
	}
	return nil, "", fs.ErrExist
}

// createFile makes the file exclusively, which also means that no link is
// followed, and locks it against the sweeps of other stores.
func createFile(root *os.Root, name string) (diskFile, error) {
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	lockFile(f)
	return f, nil
}

// Touch marks the file at path as used just now, so that it is among the last
// to be removed. It reports whether path is a file of this store.
func (s *Store) Touch(path string) bool {
	name := filepath.Base(path)
	if filepath.Clean(path) != filepath.Join(s.dir, name) || !isStoreName(name) {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	fi, err := s.root.Lstat(name)
	if err != nil || !fi.Mode().IsRegular() {
		return false
	}
	now := time.Now()
	return s.root.Chtimes(name, now, now) == nil
}

// Close ends the store: Create fails from now on. Files that are open may be
// finished, and those that are there stay. Closing twice is harmless.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	return s.release()
}

// release closes the directory when the store and all its files are closed.
func (s *Store) release() error {
	if !s.closed || len(s.open) > 0 || s.root == nil {
		return nil
	}
	err := s.root.Close()
	s.root = nil
	return err
}

// grant returns how many of n more bytes may be stored, after making room.
func (s *Store) grant(n int64) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if limit := s.opt.MaxTotal; limit >= 0 {
		if s.total+n > limit {
			// An eighth more than needed, so that the next writes need no sweep.
			_ = s.sweep(context.Background(), n+limit/8)
		}
		n = max(0, min(n, limit-s.total))
	}
	s.total += n
	return n
}

// storeFile is a file that is being written.
type storeFile struct {
	store  *Store
	name   string
	f      diskFile
	stored int64
	total  int64
	full   bool // a limit was reached: only count from now on
	done   bool
}

// Path implements SpillFile.
func (f *storeFile) Path() string { return filepath.Join(f.store.dir, f.name) }

// Write implements io.Writer. Beyond the limits it only counts.
func (f *storeFile) Write(p []byte) (int, error) {
	return f.write(len(p), func(n int) (int, error) { return f.f.Write(p[:n]) })
}

// WriteString spares the copy that Write would need.
func (f *storeFile) WriteString(s string) (int, error) {
	return f.write(len(s), func(n int) (int, error) { return f.f.WriteString(s[:n]) })
}

func (f *storeFile) write(size int, put func(n int) (int, error)) (int, error) {
	if f.done {
		return 0, fs.ErrClosed
	}
	f.total += int64(size)
	if f.full {
		return size, nil
	}
	n := int64(size)
	if limit := f.store.opt.MaxFile; limit >= 0 {
		n = min(n, limit-f.stored)
	}
	n = f.store.grant(n)
	f.full = n < int64(size)
	if n > 0 {
		wrote, err := put(int(n))
		f.stored += int64(wrote)
		if err != nil {
			f.full = true
			f.store.settle(int64(wrote) - n)
			return wrote, err
		}
	}
	return size, nil
}

// Close implements SpillFile. The error is a *PartialError if a limit was reached.
func (f *storeFile) Close() error {
	if f.done {
		return fs.ErrClosed
	}
	f.done = true
	err := f.f.Close()
	f.store.forget(f.name)
	if err == nil && f.stored < f.total {
		return &PartialError{Stored: f.stored, Total: f.total}
	}
	return err
}

// Discard implements SpillFile; it also works after Close.
func (f *storeFile) Discard() error {
	var errs []error
	s := f.store
	closed := f.done
	if !closed {
		f.done = true
		errs = append(errs, f.f.Close())
	}
	s.mu.Lock()
	if s.root != nil {
		err := s.root.Remove(f.name)
		if err == nil {
			s.total = max(0, s.total-f.stored)
		} else if !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	} else if err := os.Remove(f.Path()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		errs = append(errs, err)
	}
	s.mu.Unlock()
	if !closed {
		s.forget(f.name)
	}
	return errors.Join(errs...)
}

func (s *Store) settle(delta int64) {
	s.mu.Lock()
	s.total = max(0, s.total+delta)
	s.mu.Unlock()
}

func (s *Store) forget(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, name)
	_ = s.release()
}

// Names are "out_", 100 random bits in lower-case base32, and ".txt".
const (
	namePrefix = "out_"
	nameSuffix = ".txt"
	nameRandom = 20
)

func newName() string {
	return namePrefix + strings.ToLower(rand.Text()[:nameRandom]) + nameSuffix
}

// isStoreName reports whether a store could have made the name.
func isStoreName(name string) bool {
	s, ok := strings.CutPrefix(name, namePrefix)
	if !ok {
		return false
	}
	s, ok = strings.CutSuffix(s, nameSuffix)
	if !ok || len(s) != nameRandom {
		return false
	}
	return strings.Trim(s, "abcdefghijklmnopqrstuvwxyz234567") == ""
}
