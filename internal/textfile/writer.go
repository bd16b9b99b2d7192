package textfile

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"

	"github.com/agenttool/tool/internal/fsroot"
)

// An Op is what a [Change] does.
type Op uint8

// The operations.
const (
	Create Op = iota // a file that does not exist, with the directories above it
	Update           // other content for an existing file
	Delete           // an existing file or link; see [fsroot.Root.ResolveLink]
	Move             // another name, and other content unless Content is nil
)

func (o Op) String() string { return [...]string{"create", "update", "delete", "move"}[o&3] }

// A Change is one step of a [Writer.Commit].
type Change struct {
	Op   Op
	Path *fsroot.Path
	To   *fsroot.Path // Move: the new name, which must not exist; one that differs only in case may be the same file
	// Content is what the file will hold; for a Move nil keeps what it holds. The slice is not kept.
	Content []byte
	// Splices, if not nil, take the place of Content in an Update of a file that is too large to be held. Such a change is the only
	// one of its commit, and is refused where the file would have to be written in place.
	Splices []Splice
	// Base is the hash of the content that the change was planned from; another content at the time of writing is [ErrStale].
	// Zero means that any content will do.
	Base Hash
	// Executable creates the file with 0777 instead of 0666, less the umask.
	Executable bool
}

// writes reports whether the file gets content from the Change.
func (ch *Change) writes() bool {
	return ch.Op == Create || ch.Op == Update || ch.Op == Move && ch.Content != nil
}

// A Result is what became of one Change.
type Result struct {
	Op        Op
	Path      *fsroot.Path // the file as it is now called
	Unchanged bool         // the content was the same, and nothing was touched
	InPlace   bool         // the file was written over rather than replaced
	Note      string       // why in place, or what could not be kept; for the model
	State     State        // of the file now; zero after Delete
	MadeDirs  bool
	Made      []fsroot.Made // the directories that were made for it, outermost first
}

// Errors that callers test for with errors.Is, beside those of package fsroot and io/fs.
var (
	// ErrStale: the file does not have the content that the change was planned from.
	ErrStale = errors.New("file changed meanwhile")
	// ErrReadOnly: the file's mode, or its file system, does not allow writing.
	ErrReadOnly = errors.New("read-only")
	// ErrConflict: two changes of one commit are about the same file.
	ErrConflict = errors.New("two changes to one file")
	// ErrNotRestored: a commit failed and something could not be put back.
	ErrNotRestored = errors.New("could not be put back")
)

// A CommitError says which change failed. Unless Left has entries, every file is as it was before.
type CommitError struct {
	Path string
	Err  error
	Left []string // what could not be put back, and where its content is
}

func (e *CommitError) Error() string {
	msg := e.Err.Error()
	var named *fsroot.PathError
	if !errors.As(e.Err, &named) {
		msg = e.Path + ": " + msg
	}
	if len(e.Left) == 0 {
		return msg + "; nothing was changed"
	}
	return msg + "; undoing failed: " + strings.Join(e.Left, "; ")
}

// Unwrap returns the cause, and [ErrNotRestored] when there is something left.
func (e *CommitError) Unwrap() []error {
	if len(e.Left) > 0 {
		return []error{e.Err, ErrNotRestored}
	}
	return []error{e.Err}
}

// A Writer commits changes to files so that all of them happen or none. A file is replaced in one step, by renaming a finished
// new one over it, whenever nothing would be lost by that: permissions, owner, extended attributes and access lists are
// copied first. A file with further hard links, or with properties that cannot be copied, is written in place, with a
// recovery copy beside it until that is done. The zero value is not usable: Root must be set. A Writer is safe for concurrent use,
// but two commits to one file at the same time are the caller's to keep apart: see [Locks].
type Writer struct {
	// Root reaches the files.
	Root *fsroot.Root
	// NoSync leaves out the calls that make the change survive a power failure.
	NoSync bool
	// Fault, when not nil, is called before each step that touches the disk, with its name (mkdir, temp, write, meta, sync, check,
	// backup, replace, remove) and the path; an error makes the step fail. For tests.
	Fault func(step, path string) error

	mu    sync.Mutex
	swept map[string]bool
}

// Commit makes all changes or none. Nothing is touched before every change was found possible: the files exist or not as they
// should, are regular, may be written, and have the content that was planned from. Then all new content is put on disk beside
// the files, and only then the files are exchanged, each after one more look at its content. On an error, or when ctx
// ends, everything is put back: content, links, and directories that were made. The error is a *[CommitError] with the cause
// inside: [ErrStale], [ErrReadOnly], [ErrConflict], [fs.ErrExist], [fs.ErrNotExist] or what the system said.
//
// No changes are no error.
func (w *Writer) Commit(ctx context.Context, changes []Change) ([]Result, error) {
	c := &commit{w: w, ctx: ctx}
	defer c.close()
	for i := range changes {
		if err := c.prepare(&changes[i]); err != nil {
			return nil, &CommitError{Path: changes[i].Path.Given, Err: err}
		}
	}
	if err := c.conflicts(); err != nil {
		return nil, err
	}
	for _, phase := range []func(*job) error{c.stage, c.swap} {
		for _, j := range c.jobs {
			err := ctx.Err()
			if err == nil && !j.noop {
				err = phase(j)
			}
			if err != nil {
				return nil, &CommitError{Path: j.change.Path.Given, Err: err, Left: c.rollback()}
			}
		}
	}
	return c.finish(), nil
}

// A commit is one run of Commit.
type commit struct {
	w    *Writer
	ctx  context.Context
	jobs []*job
	undo []func() (left string) // in the order of the steps they undo
}

// A job is one change under way.
type job struct {
	change *Change
	dir    *fsroot.Dir // of change.Path; nil while missing
	toDir  *fsroot.Dir // of change.To
	base   string
	info   fs.FileInfo // of the existing file; nil for Create
	hash   Hash        // of its content
	before []byte      // its content, where it may be needed to put it back
	target *fsroot.Path

	capable bool // the file had capabilities
	spliced Hash // of the new content, if it is spliced
	noop    bool
	inPlace bool
	copied  bool // Move across file systems: content goes into a new file
	note    string
	temp    string // staged file, in the target's directory
	made    []fsroot.Made
	cleanup []func() // after success
}

func (c *commit) close() {
	for _, j := range c.jobs {
		for _, d := range []*fsroot.Dir{j.dir, j.toDir} {
			if d != nil {
				_ = d.Close()
			}
		}
	}
}

func (c *commit) fault(step string, p *fsroot.Path) error {
	if c.w.Fault != nil {
		return c.w.Fault(step, p.Display)
	}
	return nil
}

// prepare finds out whether a change is possible, without touching anything.
func (c *commit) prepare(ch *Change) error {
	j := &job{change: ch, base: ch.Path.Base(), target: ch.Path}
	c.jobs = append(c.jobs, j)
	if err := c.ctx.Err(); err != nil {
		return err
	}
	var err error
	j.dir, err = c.w.Root.Parent(ch.Path)
	if ch.Op == Create {
		if errors.Is(err, fs.ErrNotExist) && !ch.Path.Dangling {
			return nil // the directories are made when everything was found possible
		}
		if err != nil {
			return err
		}
		return c.prepareCreate(j)
	}
	if err != nil {
		return err
	}
	if j.info, err = j.dir.Lstat(j.base); err != nil {
		return err
	}
	if j.info.Mode()&fs.ModeSymlink != 0 && !ch.writes() {
		if !ch.Base.IsZero() {
			return fmt.Errorf("%w: it is a link now", ErrStale)
		}
		return c.prepareMove(j)
	}
	if err := fsroot.CheckRegular(ch.Path.Given, j.info.Mode()); err != nil {
		return err
	}
	if ch.Op == Delete || ch.writes() {
		if j.info.Mode().Perm()&0o222 == 0 {
			return fmt.Errorf("%w: its mode is %04o; if it may be changed, make it writable with chmod first", ErrReadOnly, j.info.Mode().Perm())
		}
	}
	if err := c.look(j); err != nil {
		return err
	}
	if !ch.Base.IsZero() && ch.Base != j.hash {
		return fmt.Errorf("%w: read it again and plan the change anew", ErrStale)
	}
	if ch.Op == Update && ch.Splices == nil && Sum(ch.Content) == j.hash {
		j.noop = true
		return nil
	}
	if ch.writes() {
		if err := c.writable(j); err != nil {
			return err
		}
	}
	return c.prepareMove(j)
}

func (c *commit) prepareCreate(j *job) error {
	info, err := j.dir.Lstat(j.base)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := fsroot.CheckRegular(j.change.Path.Given, info.Mode()); err != nil {
		return err
	}
	j.info = info
	if err := c.readBefore(j); err != nil {
		return err
	}
	if Sum(j.change.Content) != j.hash {
		return fmt.Errorf("%w with other content; read it, then edit it", fs.ErrExist)
	}
	j.noop = true
	return nil
}

// prepareMove checks the target of a Move; for other operations there is nothing to check.
func (c *commit) prepareMove(j *job) error {
	ch := j.change
	if ch.Op != Move {
		return nil
	}
	if ch.To == nil || ch.To.Resolved == ch.Path.Resolved {
		return fmt.Errorf("the new name is the old one")
	}
	j.target = ch.To
	var err error
	j.toDir, err = c.w.Root.Parent(ch.To)
	if errors.Is(err, fs.ErrNotExist) && !ch.To.Dangling {
		return nil
	}
	if err != nil {
		return err
	}
	info, err := j.toDir.Lstat(ch.To.Base())
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case caseOnly(ch) && StatOf(info).sameVersion(StatOf(j.info)):
		return nil
	}
	return fmt.Errorf("%s: %w; delete it first or choose another name", ch.To.Display, fs.ErrExist)
}

// caseOnly reports whether a Move changes nothing but the case or the Unicode form of the name on a file system that
// ignores it.
func caseOnly(ch *Change) bool { return ch.To.Key() == ch.Path.Key() }

// look finds out what the existing file holds.
func (c *commit) look(j *job) error {
	if j.change.Splices == nil {
		return c.readBefore(j)
	}
	f, info, err := j.dir.Open(j.base)
	if err != nil {
		return err
	}
	defer f.Close()
	j.info = info
	j.hash, _, err = hashOpen(c.ctx, f)
	return err
}

// readBefore reads the existing file.
func (c *commit) readBefore(j *job) error {
	f, info, err := j.dir.Open(j.base)
	if err != nil {
		return err
	}
	defer f.Close()
	j.info = info
	raw, st, err := readOpen(c.ctx, f, info, j.change.Path.Display, maxWritten)
	if err != nil {
		return err
	}
	j.hash, j.before = st.Hash, raw
	return nil
}

// maxWritten bounds the files that a Writer changes: their content is held to be put back.
const maxWritten = 256 << 20

// inPlaceRefused is why a file that is too large to be held is not changed.
func inPlaceRefused(why string) error {
	return fmt.Errorf("the file is too large to be written in place, as it would have to be: %s; change it with a command", why)
}

// conflicts finds changes that are about one file, also under two names.
func (c *commit) conflicts() error {
	if len(c.jobs) > 1 {
		for _, j := range c.jobs {
			if j.change.Splices != nil {
				return &CommitError{Path: j.change.Path.Given, Err: errors.New("the file is too large to be changed together with others")}
			}
		}
	}
	seen := make(map[string]string)
	inodes := make(map[[2]uint64]string)
	for _, j := range c.jobs {
		paths := []*fsroot.Path{j.change.Path}
		if j.change.Op == Move && !caseOnly(j.change) {
			paths = append(paths, j.change.To)
		}
		for _, p := range paths {
			if other, ok := seen[p.Key()]; ok {
				return &CommitError{Path: p.Given, Err: fmt.Errorf("%w: %s and %s; put them into one", ErrConflict, other, p.Given)}
			}
			seen[p.Key()] = p.Given
		}
		if j.info == nil {
			continue
		}
		if st := StatOf(j.info); st.Inode != 0 {
			id := [2]uint64{st.Device, st.Inode}
			if other, ok := inodes[id]; ok {
				return &CommitError{Path: j.change.Path.Given, Err: fmt.Errorf("%w: %s and %s are the same file", ErrConflict, other, j.change.Path.Given)}
			}
			inodes[id] = j.change.Path.Given
		}
	}
	return nil
}

// rollback undoes what was done, newest first.
func (c *commit) rollback() (left []string) {
	for i := len(c.undo) - 1; i >= 0; i-- {
		if l := c.undo[i](); l != "" {
			left = append(left, l)
		}
	}
	c.undo = nil
	return left
}

// finish removes the recovery copies and describes the files as they are now.
func (c *commit) finish() []Result {
	results := make([]Result, 0, len(c.jobs))
	synced := make(map[string]bool)
	for _, j := range c.jobs {
		for _, f := range j.cleanup {
			f()
		}
		r := Result{Op: j.change.Op, Path: j.target, Unchanged: j.noop, InPlace: j.inPlace, Note: j.note, MadeDirs: len(j.made) > 0, Made: j.made}
		dir := j.dir
		if j.toDir != nil {
			dir = j.toDir
		}
		if !c.w.NoSync && !j.noop {
			for _, d := range []*fsroot.Dir{j.dir, j.toDir} {
				if d != nil && !synced[d.Path()] {
					synced[d.Path()] = true
					_ = d.Sync() // best effort: the content itself is on disk
				}
			}
		}
		if j.change.Op != Delete {
			if info, err := dir.Lstat(j.target.Base()); err == nil {
				r.State = State{Stat: StatOf(info), Hash: j.hash}
				switch {
				case j.change.Splices != nil:
					r.State.Hash = j.spliced
				case j.change.writes():
					r.State.Hash = Sum(j.change.Content)
				}
			}
		}
		results = append(results, r)
	}
	return results
}
