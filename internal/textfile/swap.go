package textfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/agenttool/tool/internal/fsroot"
)

// swap makes one change visible.
func (c *commit) swap(j *job) error {
	switch j.change.Op {
	case Create:
		return c.swapCreate(j, j.dir)
	case Delete:
		return c.swapDelete(j)
	case Move:
		return c.swapMove(j)
	}
	return c.swapUpdate(j, j.dir, j.base)
}

// unchanged looks at the existing file once more, just before it is replaced or removed.
func (c *commit) unchanged(j *job, dir *fsroot.Dir, base string) error {
	if err := c.fault("check", j.change.Path); err != nil {
		return err
	}
	if j.info.Mode()&fs.ModeSymlink != 0 {
		return nil
	}
	f, _, err := dir.Open(base)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: it was removed", ErrStale)
	}
	if err != nil {
		return err
	}
	defer f.Close()
	sum, _, err := hashOpen(c.ctx, f)
	if err == nil && sum != j.hash {
		err = fmt.Errorf("%w: read it again and plan the change anew", ErrStale)
	}
	return err
}

// many reports whether something could fail after this job, so that its old file must be kept for a while.
func (c *commit) many() bool { return len(c.jobs) > 1 }

func (c *commit) swapCreate(j *job, dir *fsroot.Dir) error {
	if err := c.fault("replace", j.target); err != nil {
		return err
	}
	base := j.target.Base()
	err := dir.Link(j.temp, base) // unlike rename it fails when somebody was quicker
	switch {
	case err == nil:
		_ = dir.Remove(j.temp)
	case errors.Is(err, fs.ErrExist):
		return fmt.Errorf("%w since just now; read it, then edit it", fs.ErrExist)
	default: // a file system without hard links
		if _, serr := dir.Lstat(base); serr == nil {
			return fmt.Errorf("%w since just now; read it, then edit it", fs.ErrExist)
		}
		if err := dir.Rename(j.temp, base); err != nil {
			return err
		}
	}
	mine, _ := dir.Lstat(base)
	c.undo = append(c.undo, func() string {
		now, err := dir.Lstat(base)
		if err != nil || mine == nil || !os.SameFile(now, mine) {
			return "" // no longer the file that was made
		}
		if err := dir.Remove(base); err != nil {
			return j.target.Display + " was created and could not be removed"
		}
		return ""
	})
	return nil
}

func (c *commit) swapUpdate(j *job, dir *fsroot.Dir, base string) error {
	if err := c.unchanged(j, dir, base); err != nil {
		return err
	}
	if j.inPlace {
		return c.writeInPlace(j, dir, base)
	}
	backup := ""
	if c.many() {
		if err := c.fault("backup", j.target); err != nil {
			return err
		}
		backup = tempName(base, true, time.Now())
		if err := dir.Link(base, backup); err != nil {
			if err := c.copyAside(j, dir, base, backup); err != nil {
				return err
			}
		}
	}
	dropBackup := func() {
		if backup != "" {
			_ = dir.Remove(backup)
		}
	}
	err := c.fault("replace", j.target)
	if err == nil {
		err = dir.Rename(j.temp, base)
	}
	if err != nil {
		dropBackup()
		if isPinned(err) && j.change.Splices != nil {
			return inPlaceRefused("its name cannot be given to a new file")
		}
		if isPinned(err) { // a mount point, or a directory whose entries are not ours to replace
			_ = dir.Remove(j.temp)
			j.inPlace, j.note = true, "written in place: the name cannot be given to a new file"
			return c.writeInPlace(j, dir, base)
		}
		return err
	}
	c.undo = append(c.undo, func() string {
		if backup == "" {
			return ""
		}
		if err := dir.Rename(backup, base); err != nil {
			return fmt.Sprintf("%s was changed; its old content is in %s", j.target.Display, backup)
		}
		return ""
	})
	j.cleanup = append(j.cleanup, dropBackup)
	return nil
}

// copyAside makes a copy of the file, for file systems without hard links.
func (c *commit) copyAside(j *job, dir *fsroot.Dir, base, name string) error {
	src, info, err := dir.Open(base)
	if err != nil {
		return err
	}
	defer src.Close()
	f, err := newLike(dir, name, src)
	if err != nil {
		return err
	}
	_, err = f.Write(j.before)
	if err == nil {
		err = copyMeta(f, src, info)
		if errors.Is(err, errKeep) {
			err = nil // it only has to hold the content
		}
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		_ = dir.Remove(name)
	}
	return err
}

// writeInPlace writes over the file. The old content stays in a copy beside it, where one can be made, and in memory.
func (c *commit) writeInPlace(j *job, dir *fsroot.Dir, base string) error {
	if err := c.fault("backup", j.target); err != nil {
		return err
	}
	backup := tempName(base, true, time.Now())
	if f, err := dir.Create(backup, 0o600); err == nil {
		_, err = f.Write(j.before)
		if err == nil && !c.w.NoSync {
			err = f.Sync()
		}
		if cerr := f.Close(); err == nil {
			err = cerr
		}
		if err != nil {
			_ = dir.Remove(backup)
			return noSpace(err, j.target)
		}
	} else {
		backup = ""
	}
	dropBackup := func() {
		if backup != "" {
			_ = dir.Remove(backup)
		}
	}
	f, info, err := dir.OpenWrite(base)
	if err != nil {
		dropBackup()
		return err
	}
	restore := func() string {
		f, _, err := dir.OpenWrite(base)
		if err == nil {
			err = overwrite(f, j.before, int64(len(j.change.Content)), !c.w.NoSync)
			if cerr := f.Close(); err == nil {
				err = cerr
			}
		}
		switch {
		case err == nil:
			dropBackup()
			return ""
		case backup == "":
			return fmt.Sprintf("%s may be incomplete (%v), and no copy could be made", j.target.Display, err)
		}
		return fmt.Sprintf("%s may be incomplete (%v); its old content is in %s", j.target.Display, err, backup)
	}
	err = c.fault("replace", j.target)
	if err == nil {
		err = overwrite(f, j.change.Content, info.Size(), !c.w.NoSync)
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		if left := restore(); left != "" {
			return fmt.Errorf("%w; %s", noSpace(err, j.target), left)
		}
		return noSpace(err, j.target)
	}
	c.undo = append(c.undo, restore)
	j.cleanup = append(j.cleanup, dropBackup)
	return nil
}

// overwrite gives an open file of size bytes new content. What goes beyond the old end is written first: if the disk is full,
// that fails while the old content is still whole.
func overwrite(f *os.File, content []byte, size int64, sync bool) error {
	if n := int64(len(content)); n > size {
		if _, err := f.WriteAt(content[size:], size); err != nil {
			return errors.Join(err, f.Truncate(size))
		}
		if _, err := f.WriteAt(content[:size], 0); err != nil {
			return err
		}
	} else {
		if _, err := f.WriteAt(content, 0); err != nil {
			return err
		}
		if err := f.Truncate(n); err != nil {
			return err
		}
	}
	if sync {
		if err := f.Sync(); err != nil {
			return err
		}
	}
	info, err := f.Stat()
	if err == nil && info.Size() != int64(len(content)) {
		err = fmt.Errorf("the file has %d bytes instead of %d: %w", info.Size(), len(content), io.ErrShortWrite)
	}
	return err
}

func (c *commit) swapDelete(j *job) error {
	if err := c.unchanged(j, j.dir, j.base); err != nil {
		return err
	}
	if err := c.fault("remove", j.change.Path); err != nil {
		return err
	}
	if !c.many() {
		return j.dir.Remove(j.base)
	}
	backup := tempName(j.base, true, time.Now())
	if err := j.dir.Rename(j.base, backup); err != nil {
		return err
	}
	c.undo = append(c.undo, func() string {
		if _, err := j.dir.Lstat(j.base); err == nil {
			return fmt.Sprintf("%s was made anew by somebody; the old file is in %s", j.change.Path.Display, backup)
		}
		if err := j.dir.Rename(backup, j.base); err != nil {
			return fmt.Sprintf("%s was removed; it is in %s", j.change.Path.Display, backup)
		}
		return ""
	})
	j.cleanup = append(j.cleanup, func() { _ = j.dir.Remove(backup) })
	return nil
}

func (c *commit) swapMove(j *job) error {
	ch := j.change
	if j.copied {
		if err := c.unchanged(j, j.dir, j.base); err != nil {
			return err
		}
		if err := c.swapCreate(j, j.toDir); err != nil {
			return err
		}
		if err := c.fault("remove", ch.Path); err != nil {
			return err
		}
		if !c.many() {
			return j.dir.Remove(j.base)
		}
		return c.swapDelete(j)
	}
	if err := c.unchanged(j, j.dir, j.base); err != nil {
		return err
	}
	if err := c.fault("replace", ch.To); err != nil {
		return err
	}
	if caseOnly(ch) {
		if err := j.dir.Rename(j.base, ch.To.Base()); err != nil {
			return err
		}
		c.undo = append(c.undo, func() string { return c.left(ch, j.dir.Rename(ch.To.Base(), j.base)) })
	} else {
		if err := c.w.Root.Move(ch.Path, ch.To); err != nil {
			return err
		}
		c.undo = append(c.undo, func() string { return c.left(ch, c.w.Root.Move(ch.To, ch.Path)) })
	}
	if !ch.writes() {
		return nil
	}
	return c.swapUpdate(j, j.toDir, ch.To.Base())
}

func (c *commit) left(ch *Change, err error) string {
	if err == nil {
		return ""
	}
	return fmt.Sprintf("%s is still called %s", ch.Path.Display, ch.To.Display)
}
