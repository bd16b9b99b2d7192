package truncate

import (
	"context"
	"time"
)

// StoreOptions are the limits of a [Store]. In each, 0 means the default and
// negative means no limit.
type StoreOptions struct {
	MaxFile  int64         // bytes of one file; 64 MiB
	MaxTotal int64         // bytes of all files; 512 MiB
	MaxAge   time.Duration // since a file was last written or used; 7 days
}

// Store keeps whole texts as files in a private directory.
type Store struct{}

// OpenStore opens the store in dir.
func OpenStore(dir string, opt *StoreOptions) (*Store, error) { return nil, nil }

func (s *Store) Create(ctx context.Context) (SpillFile, error) { return nil, nil }
func (s *Store) Dir() string                                   { return "" }
func (s *Store) Sweep(ctx context.Context) error               { return nil }
func (s *Store) Touch(path string) bool                        { return false }
func (s *Store) Close() error                                  { return nil }
