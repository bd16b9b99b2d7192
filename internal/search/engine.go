package search

import (
	"container/list"
	"context"
	"errors"
	"os"
	"runtime"
	"sync"
	"time"

	"github.com/agenttool/tool/internal/search/pattern"
)

// Options configure an Engine. The zero value is ready for use.
type Options struct {
	// Workers is how many goroutines a search uses at most; 0 means GOMAXPROCS,
	// at most 16. Each has at most two files open.
	Workers int
	// ExcludesFile is the path of the user's own ignore file, such as the one
	// that UserExcludes finds. "" means none. It may lie anywhere.
	ExcludesFile string
	// RootOnly keeps the engine from reading the ignore files between the root
	// and the top of the repository around it.
	RootOnly bool
	// TempSuffix, if not empty, is the end of the names of temporary files that
	// searches pass over.
	TempSuffix string
	// MaxPattern is the longest pattern in bytes; 0 means
	// pattern.DefaultMaxLen.
	MaxPattern int
	// Decode supplies encodings other than UTF-8 and UTF-16 with a byte order
	// mark. It gets the first up to 64 KiB of a file that holds a NUL or is
	// not UTF-8, and returns a function that turns the whole content into UTF-8, or nil if it
	// knows none: a file with a NUL is binary then, another is searched as it is. The function
	// returns an error for content that is no text after all. Both are called concurrently, and
	// neither may keep what it is given.
	Decode func(sample []byte) func(content []byte) ([]byte, error)
	// MaxWhole is the largest file that is held in memory, for multiline search
	// and decoding, in bytes; 0 means 16 MiB.
	MaxWhole int

	portable bool // for tests: use os.Root alone
	block    int  // for tests: the size of a block
}

// An Engine searches. It keeps a few compiled patterns and buffers between
// calls and is safe for concurrent use. Engines share nothing.
type Engine struct {
	opt Options

	mu    sync.Mutex
	plans map[planKey]*list.Element
	lru   *list.List // of *plan
	idle  []*scratch
}

type planKey struct {
	expr string
	opt  pattern.Options
}

type plan struct {
	key planKey
	p   *pattern.Pattern
}

const (
	maxPlans  = 16
	blockSize = 1 << 20
	firstRead = 64 << 10
)

// New returns an engine.
func New(opt Options) *Engine {
	if opt.Workers <= 0 {
		opt.Workers = min(runtime.GOMAXPROCS(0), 16)
	}
	if opt.MaxWhole <= 0 {
		opt.MaxWhole = 16 << 20
	}
	if opt.block <= 0 {
		opt.block = blockSize
	}
	return &Engine{opt: opt, plans: map[planKey]*list.Element{}, lru: list.New()}
}

// pattern compiles expr or finds it compiled.
func (e *Engine) pattern(expr string, o pattern.Options) (*pattern.Pattern, error) {
	o.MaxLen = e.opt.MaxPattern
	key := planKey{expr, o}
	e.mu.Lock()
	if el, ok := e.plans[key]; ok {
		e.lru.MoveToFront(el)
		e.mu.Unlock()
		return el.Value.(*plan).p, nil
	}
	e.mu.Unlock()
	p, err := pattern.Compile(expr, o)
	if err != nil {
		return nil, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if el, ok := e.plans[key]; ok {
		return el.Value.(*plan).p, nil
	}
	e.plans[key] = e.lru.PushFront(&plan{key, p})
	if e.lru.Len() > maxPlans {
		old := e.lru.Remove(e.lru.Back()).(*plan)
		delete(e.plans, old.key)
	}
	return p, nil
}

// scratch are the buffers of a worker.
type scratch struct {
	list  listing
	files listing // what a directory has left after filtering
	path  []byte
	buf   []byte // file content
	at    []int32
	lines []rawLine
	text  []byte
	conv  []byte
}

// keepBuffer is how much of each buffer survives a call.
const keepBuffer = 4 << 20

func (e *Engine) scratch() *scratch {
	e.mu.Lock()
	defer e.mu.Unlock()
	if n := len(e.idle); n > 0 {
		s := e.idle[n-1]
		e.idle = e.idle[:n-1]
		return s
	}
	return &scratch{buf: make([]byte, min(firstRead, e.opt.block))}
}

func (e *Engine) putScratch(s *scratch) {
	if cap(s.buf) > keepBuffer || cap(s.text) > keepBuffer || cap(s.list.names) > keepBuffer || cap(s.lines) > keepBuffer/64 || cap(s.at) > keepBuffer/4 {
		return
	}
	s.conv = nil
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.idle) < e.opt.Workers {
		e.idle = append(e.idle, s)
	}
}

// open makes the filesystem of a search.
func (e *Engine) open(root *os.Root) (filesystem, error) {
	if e.opt.portable {
		return newRootFS(root), nil
	}
	return newFS(root)
}

// withTimeout is the context of a query.
func withTimeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	if d > 0 {
		return context.WithTimeout(ctx, d)
	}
	return context.WithCancel(ctx)
}

// ended tells a deadline, which leaves a partial result, from a cancellation,
// which is an error.
func ended(outer, inner context.Context) (timedOut bool, err error) {
	if err := outer.Err(); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return false, err
	}
	return inner.Err() != nil, nil
}
