package textfile

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"

	"github.com/agenttool/tool/internal/fsroot"
)

// A Hash is the SHA-256 of a file's bytes. The zero Hash means unknown.
type Hash [sha256.Size]byte

// Sum returns the hash of b.
func Sum(b []byte) Hash { return sha256.Sum256(b) }

// IsZero reports whether the hash is unknown.
func (h Hash) IsZero() bool { return h == Hash{} }

// MarshalText writes the hash in hexadecimal, an unknown one as nothing.
func (h Hash) MarshalText() ([]byte, error) {
	if h.IsZero() {
		return nil, nil
	}
	return hex.AppendEncode(nil, h[:]), nil
}

// UnmarshalText reads what MarshalText wrote.
func (h *Hash) UnmarshalText(b []byte) error {
	if len(b) == 0 {
		*h = Hash{}
		return nil
	}
	if len(b) != 2*len(h) {
		return fmt.Errorf("a hash has %d digits, not %d", 2*len(h), len(b))
	}
	_, err := hex.Decode(h[:], b)
	return err
}

// A Stat is what the file system says about a file. Two equal Stats mean that the content is very likely the same; only a
// Hash is sure.
type Stat struct {
	Size    int64  `json:"size"`
	Mtime   int64  `json:"mtime"`           // nanoseconds since 1970
	Ctime   int64  `json:"ctime,omitempty"` // of the inode, where the system has it; no program can set it back
	Inode   uint64 `json:"inode,omitempty"`
	Device  uint64 `json:"device,omitempty"`
	links   uint64
	uid     uint32
	gid     uint32
	regular bool
}

// StatOf takes the Stat out of a description of a file.
func StatOf(info fs.FileInfo) Stat {
	s := Stat{Size: info.Size(), Mtime: info.ModTime().UnixNano(), links: 1, regular: info.Mode().IsRegular()}
	s.fromSys(info)
	return s
}

// sameVersion reports whether nothing that the file system tells has changed.
func (s Stat) sameVersion(o Stat) bool {
	return s.Size == o.Size && s.Mtime == o.Mtime && s.Ctime == o.Ctime && s.Inode == o.Inode && s.Device == o.Device
}

// A State is one version of a file.
type State struct {
	Stat
	Hash Hash `json:"hash"`
}

// A TooLargeError says that a file is over the limit for what was asked.
type TooLargeError struct {
	Path  string
	Size  int64
	Limit int64
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("%s: %d bytes are more than the limit of %d; use a command for files of this size", e.Path, e.Size, e.Limit)
}

// ErrUnstable: the file was being written while it was read, several times over.
var ErrUnstable = errors.New("file keeps changing while it is read; try again")

const chunkSize = 64 << 10

// ReadFile reads a whole regular file of at most limit bytes (0 means 64 MiB) and returns its bytes with the State they were
// read in. A file that changes meanwhile is read again, at most three times.
func ReadFile(ctx context.Context, root *fsroot.Root, p *fsroot.Path, limit int64) ([]byte, State, error) {
	if limit == 0 {
		limit = 64 << 20
	}
	for range 3 {
		f, info, err := root.Open(p)
		if err != nil {
			return nil, State{}, err
		}
		raw, st, err := readOpen(ctx, f, info, p.Display, limit)
		_ = f.Close()
		if !errors.Is(err, ErrUnstable) {
			return raw, st, err
		}
	}
	return nil, State{}, fmt.Errorf("%s: %w", p.Display, ErrUnstable)
}

func readOpen(ctx context.Context, f *os.File, info fs.FileInfo, name string, limit int64) ([]byte, State, error) {
	if err := fsroot.CheckRegular(name, info.Mode()); err != nil {
		return nil, State{}, err
	}
	if info.Size() > limit {
		return nil, State{}, &TooLargeError{name, info.Size(), limit}
	}
	raw := make([]byte, 0, info.Size()+1)
	for {
		if err := ctx.Err(); err != nil {
			return nil, State{}, err
		}
		if int64(len(raw)) > limit {
			return nil, State{}, &TooLargeError{name, int64(len(raw)), limit}
		}
		if len(raw) == cap(raw) {
			raw = append(raw, 0)[:len(raw)]
		}
		n, err := f.Read(raw[len(raw):min(cap(raw), len(raw)+16*chunkSize)])
		raw = raw[:len(raw)+n]
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, State{}, fmt.Errorf("%s: %w", name, err)
		}
	}
	after, err := f.Stat()
	if err != nil {
		return nil, State{}, fmt.Errorf("%s: %w", name, err)
	}
	st := State{Stat: StatOf(after), Hash: Sum(raw)}
	if !st.sameVersion(withCtime(StatOf(info), st.Ctime)) || st.Size != int64(len(raw)) && st.Size != 0 {
		return nil, State{}, ErrUnstable
	}
	return raw, st, nil
}

// withCtime lets a change of the inode alone, such as a new link, pass as no change of the content.
func withCtime(s Stat, ctime int64) Stat {
	s.Ctime = ctime
	return s
}

// hashOpen returns the hash of an open file from its beginning, and its first bytes up to keep.
func hashOpen(ctx context.Context, f io.ReaderAt) (Hash, int64, error) {
	h := sha256.New()
	n, err := copyChunks(ctx, h, f)
	var sum Hash
	h.Sum(sum[:0])
	return sum, n, err
}

func copyChunks(ctx context.Context, h hash.Hash, f io.ReaderAt) (int64, error) {
	buf := make([]byte, chunkSize)
	var at int64
	for {
		if err := ctx.Err(); err != nil {
			return at, err
		}
		n, err := f.ReadAt(buf, at)
		h.Write(buf[:n])
		at += int64(n)
		if err == io.EOF {
			return at, nil
		}
		if err != nil {
			return at, err
		}
	}
}
